// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A batch of output: appends octets, and removes those that the transport took from the front. */
#include "util/txbuf.h"

#include <assert.h>

#include "util/num.h"

/* vec and arena are not cleared (288 KiB): nvec and used say how much of them is valid. */
void iw_txbuf_init(struct iw_txbuf *t)
{
	t->first = t->nvec = t->used = t->bytes = 0;
	t->eor = false;
}

static struct iw_vec *last_vec(struct iw_txbuf *t)
{
	return t->nvec > t->first ? &t->vec[t->nvec - 1] : NULL;
}

uint8_t *iw_txbuf_grow(struct iw_txbuf *t, size_t len)
{
	uint8_t *run = t->arena + t->used;
	struct iw_vec *last = last_vec(t);

	if (len > IW_TXBUF_ARENA - t->used)
		return NULL;
	if (len == 0)
		return run;
	/* Only an earlier run of the arena can end where this one begins: extend its vec. */
	if (last && (uint8_t *)last->base + last->len == run) {
		last->len += len;
	} else {
		if (t->nvec == IW_TXBUF_VECS)
			return NULL;
		t->vec[t->nvec++] = (struct iw_vec){ .base = run, .len = len };
	}
	t->used += len;
	t->bytes += len;
	return run;
}

bool iw_txbuf_refer(struct iw_txbuf *t, const void *base, size_t len)
{
	union {
		const void *in;
		void *out;
	} p = { .in = base }; /* struct iovec has no const; the kernel only reads when it sends */

	if (len == 0)
		return true;
	if (t->nvec == IW_TXBUF_VECS)
		return false;
	t->vec[t->nvec++] = (struct iw_vec){ .base = p.out, .len = len };
	t->bytes += len;
	return true;
}

bool iw_txbuf_has_room(const struct iw_txbuf *t, size_t arena, size_t vecs)
{
	return arena <= IW_TXBUF_ARENA - t->used && vecs <= IW_TXBUF_VECS - t->nvec;
}

void iw_txbuf_sent(struct iw_txbuf *t, size_t bytes)
{
	assert(bytes <= t->bytes);
	if (bytes == t->bytes) {
		iw_txbuf_init(t);
		return;
	}
	t->bytes -= bytes;
	while (bytes) {
		struct iw_vec *v = &t->vec[t->first];
		size_t n = IW_MIN(bytes, v->len);

		v->base = (uint8_t *)v->base + n;
		v->len -= n;
		bytes -= n;
		if (v->len == 0)
			t->first++;
	}
}
