// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What source, sink and link share: the state of the transfer, slots, paths, and how a transfer
 * fails.
 */
#include "transfer/protocol/internal.h"

#include <assert.h>
#include <string.h>

#include "util/text.h"

/* --- states --- */

#define TO(s) (1u << ST_##s)
static const unsigned transitions[ST_COUNT] = {
	[ST_NEW] = TO(OPENING) | TO(FAILING),
	[ST_OPENING] = TO(RUN) | TO(FAILING),
	[ST_RUN] = TO(BYE) | TO(FAILING),
	[ST_BYE] = TO(CLOSING) | TO(FAILING),
	[ST_CLOSING] = TO(OVER) | TO(FAILING),
	[ST_FAILING] = TO(OVER),
	[ST_OVER] = 0,
};

void iw_xfer_set_state(struct iw_xfer *x, enum state to)
{
	assert(transitions[x->state] & 1u << to);
	x->state = to;
}

/* --- slots --- */

bool iw_xfer_slot_get(struct iw_xfer *x, uint32_t *slot)
{
	if (x->nfree == 0)
		return false;
	*slot = x->free_slots[--x->nfree];
	return true;
}

void iw_xfer_slot_put(struct iw_xfer *x, uint32_t slot)
{
	assert(x->nfree < x->cfg.slots);
	x->free_slots[x->nfree++] = (uint8_t)slot;
}

/* --- paths and entries --- */

bool iw_xfer_path_add(struct iw_xfer *x, struct iw_list *to, const void *octets, size_t len)
{
	struct path *p = iw_mem_alloc(x->mem, sizeof(*p) + len);

	if (!p)
		return false;
	p->len = len;
	if (len > 0)
		memcpy(p->octets, octets, len);
	iw_list_add_tail(to, &p->link);
	return true;
}

struct path *iw_xfer_path_take(struct iw_list *from)
{
	struct iw_list *l = iw_list_first(from);

	if (!l)
		return NULL;
	iw_list_del(l);
	return iw_container_of(l, struct path, link);
}

void iw_xfer_path_free(struct iw_xfer *x, struct path *p)
{
	if (p)
		iw_mem_free(x->mem, p, sizeof(*p) + p->len);
}

int iw_xfer_each_entry(struct iw_xfer *x, const struct iw_xfer_msg *m, unsigned key,
		       int (*fn)(struct iw_xfer *x, const struct iw_xfer_entry *e))
{
	struct iw_xfer_entries list;
	struct iw_xfer_entry e;
	struct iw_fault why;
	int r = iw_xfer_entries_open(&list, m, key, &why);

	if (r < 0)
		return iw_xfer_breach(x, "%s", why.text);
	while ((r = iw_xfer_entries_next(&list, &e, &why)) > 0) {
		r = fn(x, &e);
		if (r < 0)
			return r;
	}
	return r < 0 ? iw_xfer_breach(x, "%s", why.text) : 0;
}

uint8_t *iw_xfer_copy(struct iw_xfer *x, const void *p, size_t len)
{
	uint8_t *copy = len > 0 ? iw_mem_alloc(x->mem, len) : NULL;

	if (copy)
		memcpy(copy, p, len);
	return copy;
}

/* --- failing --- */

void iw_xfer_give_up(struct iw_xfer *x, const struct iw_fault *why, bool with_abort)
{
	if (x->state == ST_FAILING || x->state == ST_OVER)
		return;
	x->fault = *why;
	/*
	 * An initiator must not send before its OPEN, nor a responder before the first message (RFC
	 * 5044 7.1.2).
	 */
	x->abort_due =
		with_abort && x->state != ST_NEW &&
		(x->state != ST_OPENING || (!x->cfg.initiator && x->counts.msgs_received > 0));
	iw_xfer_set_state(x, ST_FAILING);
}

void iw_xfer_fail(struct iw_xfer *x, const struct iw_fault *why)
{
	iw_xfer_give_up(x, why, true);
}

int iw_xfer_breach(struct iw_xfer *x, const char *fmt, ...)
{
	struct iw_fault why;
	struct iw_text t;
	va_list ap;

	iw_fail(&why, IW_E_FORMAT, "the peer broke the protocol: ");
	iw_text_init(&t, why.text, sizeof(why.text));
	iw_text_str(&t, "the peer broke the protocol: ");
	va_start(ap, fmt);
	iw_text_vfmt(&t, fmt, ap);
	va_end(ap);
	iw_xfer_give_up(x, &why, true);
	return IW_E_FORMAT;
}

int iw_xfer_corrupt(struct iw_xfer *x, const char *fmt, ...)
{
	struct iw_fault why;
	struct iw_text t;
	va_list ap;

	iw_fail(&why, IW_E_FORMAT, " ");
	iw_text_init(&t, why.text, sizeof(why.text));
	va_start(ap, fmt);
	iw_text_vfmt(&t, fmt, ap);
	va_end(ap);
	x->lost |= x->state != ST_FAILING && x->state != ST_OVER;
	iw_xfer_give_up(x, &why, false);
	return IW_E_FORMAT;
}
