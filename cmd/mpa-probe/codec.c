// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Frames ULPDUs with the engine of lib/mpa. */
#include "mpa-probe/codec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mpa/mpa.h"
#include "os/os.h"
#include "util/mem.h"
#include "util/num.h"
#include "util/pool.h"
#include "util/text.h"
#include "util/txbuf.h"

#define PUT_MAX 1024
#define SCRATCH (64 * 1024)

struct unit {
	uint64_t pos;
	size_t off, len;
};

struct iw_codec {
	struct iw_pool spill;
	struct iw_mpa *mpa;
	struct iw_txbuf *tx;
	uint8_t *scratch;
	uint8_t out[2 * PUT_MAX];
	/* ULPDUs received, one after another. The memory is used again once all are taken. */
	uint8_t *store;
	size_t stored, cap;
	struct unit *units;
	size_t nunits, units_cap, next;
};

/* Passes octets to the engine, as many as it accepts. */
static int push(struct iw_codec *c, const uint8_t *octets, size_t len, size_t *taken)
{
	struct iw_vec vec[2];
	int n = iw_mpa_rx_vec(c->mpa, (struct iw_vec){ c->scratch, SCRATCH }, vec);

	*taken = 0;
	for (int i = 0; i < n; i++) {
		size_t k = IW_MIN(vec[i].len, len - *taken);

		if (k)
			memcpy(vec[i].base, octets + *taken, k);
		*taken += k;
	}
	if (n > 0)
		iw_mpa_received(c->mpa, *taken);
	return n;
}

/*
 * Performs a start-up that leads to the agreement on the wire: the engine's Request is discarded,
 * its Reply is made here. Revision 1 is enough for all connections, since the revisions differ only
 * above MPA.
 */
static int agree(struct iw_codec *c, const struct iw_codec_cfg *cfg, struct iw_fault *why)
{
	const struct iw_mpa_frame f = { .kind = IW_MPA_REPLY,
					.rev = 1,
					.flags = (uint8_t)((cfg->crc ? IW_MPA_C : 0) |
							   (cfg->tx_markers ? IW_MPA_M : 0)) };
	uint8_t reply[IW_MPA_FRAME_LEN];
	struct iw_mpa_unit u;
	size_t taken;
	int n;

	iw_mpa_start(c->mpa, 0);
	iw_mpa_tx_startup_sent(c->mpa, iw_mpa_tx_startup(c->mpa).len);
	iw_wire_mpa_frame_encode(reply, sizeof(reply), &f);
	n = push(c, reply, sizeof(reply), &taken);
	assert(n == 1 && taken == sizeof(reply));
	n = iw_mpa_next(c->mpa, &u, why);
	iw_mpa_rx_end(c->mpa);
	return n < 0 ? n : 0;
}

int iw_codec_new(struct iw_codec **out, const struct iw_codec_cfg *cfg, struct iw_fault *why)
{
	struct iw_codec *c = calloc(1, sizeof(*c));
	int err;

	*out = NULL;
	if (!c)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	iw_pool_init(&c->spill, &iw_os_heap, IW_MPA_SPILL_LEN, 0, 1);
	c->mpa = calloc(1, iw_mpa_size());
	c->tx = malloc(sizeof(*c->tx));
	c->scratch = malloc(SCRATCH);
	if (!c->mpa || !c->tx || !c->scratch) {
		err = iw_fail(why, IW_E_NOMEM, "out of memory");
		free(c->mpa);
		c->mpa = NULL;
		goto fail;
	}
	iw_txbuf_init(c->tx);
	err = iw_mpa_init(c->mpa,
			  &(struct iw_mpa_cfg){
				  .spill = &c->spill,
				  .initiator = true,
				  .rev = 1,
				  .crc = cfg->crc ? IW_CRC_WANTED : IW_CRC_OFF,
				  .markers = cfg->rx_markers,
			  },
			  why);
	if (!err)
		err = agree(c, cfg, why);
	if (err)
		goto fail;
	/* The caller decides where TCP segments end. */
	iw_mpa_set_emss(c->mpa, 65535);
	*out = c;
	return 0;
fail:
	iw_codec_free(c);
	return err;
}

void iw_codec_free(struct iw_codec *c)
{
	if (!c)
		return;
	if (c->mpa)
		iw_mpa_fini(c->mpa);
	iw_pool_fini(&c->spill);
	free(c->mpa);
	free(c->tx);
	free(c->scratch);
	free(c->store);
	free(c->units);
	free(c);
}

size_t iw_codec_put(struct iw_codec *c, const uint8_t *ulpdu, size_t len, const uint8_t **octets)
{
	size_t n, done = 0;

	assert(len >= IW_MPA_ULPDU_MIN && len <= PUT_MAX);
	n = iw_mpa_wrap(c->mpa, c->tx, ulpdu, len, NULL, 0, true);
	assert(n > 0 && n <= sizeof(c->out));
	for (size_t i = c->tx->first; i < c->tx->nvec; i++) {
		memcpy(c->out + done, c->tx->vec[i].base, c->tx->vec[i].len);
		done += c->tx->vec[i].len;
	}
	iw_txbuf_init(c->tx);
	*octets = c->out;
	return n;
}

static int grow(void **p, size_t *cap, size_t need, size_t size)
{
	size_t want = IW_MAX(2 * *cap, need);
	void *q;

	if (need <= *cap)
		return 0;
	q = realloc(*p, want * size);
	if (!q)
		return IW_E_NOMEM;
	*p = q;
	*cap = want;
	return 0;
}

static int keep(struct iw_codec *c, const struct iw_mpa_unit *u)
{
	void *store = c->store, *units = c->units;
	int err = grow(&store, &c->cap, c->stored + u->len, 1);

	c->store = store;
	if (!err)
		err = grow(&units, &c->units_cap, c->nunits + 1, sizeof(*c->units));
	c->units = units;
	if (err)
		return err;
	memcpy(c->store + c->stored, u->data, u->len);
	c->units[c->nunits++] = (struct unit){ u->pos, c->stored, u->len };
	c->stored += u->len;
	return 0;
}

int iw_codec_feed(struct iw_codec *c, const uint8_t *octets, size_t len, struct iw_fault *why)
{
	if (c->next == c->nunits)
		c->next = c->nunits = c->stored = 0;
	while (len > 0) {
		struct iw_mpa_unit u;
		size_t taken;
		int n = push(c, octets, len, &taken), got = 0, err = 0;

		if (n < 0)
			return iw_fail(why, n, "out of memory");
		if (n == 0)
			return 0; /* it failed before, or accepts nothing more */
		while (!err && (got = iw_mpa_next(c->mpa, &u, why)) > 0)
			if (u.kind == IW_MPA_UNIT_ULPDU)
				err = keep(c, &u);
		iw_mpa_rx_end(c->mpa);
		if (err)
			return iw_fail(why, err, "out of memory");
		if (got < 0)
			return got;
		octets += taken;
		len -= taken;
	}
	return 0;
}

bool iw_codec_next(struct iw_codec *c, struct iw_codec_ulpdu *out)
{
	const struct unit *u;

	if (c->next == c->nunits)
		return false;
	u = &c->units[c->next++];
	*out = (struct iw_codec_ulpdu){ u->pos, c->store + u->off, u->len };
	return true;
}
