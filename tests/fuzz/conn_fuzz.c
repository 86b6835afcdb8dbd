// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A conversation with one engine. The first octet selects the engine's role, CRC and markers, and
 * how the rest is used: as the raw stream from its first octet, or as a list of ULPDUs (length,
 * octets). ULPDUs are framed correctly after a correct start-up, so that the fuzzer's octets reach
 * DDP and RDMAP.
 *
 * For any input: no octet outside the registered memory changes, each operation completes at most
 * once, and the final state does not depend on how the stream is split.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conn/conn.h"
#include "ddp/stag.h"
#include "util/num.h"
#include "util/txbuf.h"
#include "wire/crc32c.h"
#include "wire/mpa.h"

enum { GUARD = 64, LEN = 512, RECVS = 4, OPS = 4, STREAM_MAX = 1 << 16 };
enum { RAW = 1, INITIATOR = 2, CRC_OFF = 4, MARKERS = 8, PEER_TO_PEER = 16, LARGE = 32 };

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

static void *plain_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size ? size : 1);
}

static void plain_free(void *ctx, void *p, size_t size)
{
	(void)ctx;
	(void)size;
	free(p);
}

static const struct iw_mem mem = { plain_alloc, plain_free, NULL };

/* Makes STags that the corpus can name: the table of the fuzzed engine draws 1, 2, 3, ..., which it
 * scatters in the same way in each run. */
static int fixed_random(void *ctx, void *buf, size_t len)
{
	uint8_t *n = ctx, *p = buf;

	while (len-- > 0)
		*p++ = (*n)++;
	return 0;
}

struct engine {
	uint8_t seed;
	struct iw_stag_table *stags;
	struct iw_pool spill, txbufs;
	struct iw_rdmap *rdmap;
	struct iw_conn *conn;
	uint8_t memory[GUARD + LEN + GUARD];
	uint8_t recv[RECVS][GUARD];
	uint8_t scratch[4096 + 70000];
	uint32_t stag;
	unsigned op_done[OPS], recv_done[RECVS];
	uint64_t now;
	/* of everything visible from outside: events, completions of each queue, memory */
	uint32_t digest[3];
};

static void digest(struct engine *e, unsigned which, const void *p, size_t len)
{
	e->digest[which] = iw_crc32c(e->digest[which], p, len);
}

static void poll_all(struct engine *e)
{
	struct iw_completion c;
	struct iw_event ev;
	struct iw_fault why;

	while (iw_conn_next_event(e->conn, &ev)) {
		digest(e, 0, &ev.type, sizeof(ev.type));
		digest(e, 0, &ev.fault.err, sizeof(ev.fault.err));
		digest(e, 0, ev.fault.text, strlen(ev.fault.text));
		if (ev.type == IW_EVENT_REQUEST)
			CHECK(iw_conn_accept(e->conn, e->rdmap, 2, 2, NULL, 0, e->now, &why) == 0);
	}
	while (iw_rdmap_next_completion(e->rdmap, &c)) {
		unsigned *done = c.kind == IW_OPK_RECV ? e->recv_done : e->op_done;

		CHECK(c.cookie < (c.kind == IW_OPK_RECV ? RECVS : OPS));
		CHECK(done[c.cookie]++ == 0);
		digest(e, c.kind == IW_OPK_RECV, &c.cookie, sizeof(c.cookie));
		digest(e, c.kind == IW_OPK_RECV, &c.status, sizeof(c.status));
		digest(e, c.kind == IW_OPK_RECV, &c.len, sizeof(c.len));
	}
}

static void drain(struct engine *e)
{
	struct iw_tx tx;
	unsigned n = 0;

	while (iw_conn_send(e->conn, &tx, e->now)) {
		CHECK(tx.bytes > 0 && ++n < 1000);
		iw_conn_sent(e->conn, tx.bytes, e->now);
		poll_all(e);
	}
	(void)iw_conn_fin_due(e->conn, e->now);
	poll_all(e);
}

static void start(struct engine *e, uint8_t how)
{
	struct iw_conn_cfg cfg = {
		.mem = &mem,
		.txbufs = &e->txbufs,
		.mpa = { .spill = &e->spill,
			 .initiator = how & INITIATOR,
			 .rev = 2,
			 .offer.ird = 2,
			 .offer.ord = 2,
			 .offer.rtr = 7,
			 .crc = how & CRC_OFF ? IW_CRC_OFF : IW_CRC_WANTED,
			 .markers = how & MARKERS,
			 .offer.peer_to_peer = (how & INITIATOR) && (how & PEER_TO_PEER),
			 .max_ulpdu = how & LARGE ? 60000 : 0 },
	};
	struct iw_rdmap_cfg rcfg = {
		.mem = &mem, .pd = 1, .stream = 1, .sq_depth = OPS, .rq_depth = RECVS
	};
	struct iw_region g = { .rights = 7,
			       .pd = 1,
			       .stream = 1,
			       .base = e->memory + GUARD,
			       .len = LEN,
			       .to = 0x1000,
			       .expires = IW_TIME_NEVER,
			       .uses = UINT32_MAX };
	struct iw_fault why;
	unsigned i;

	memset(e, 0, sizeof(*e));
	e->now = IW_SEC(1);
	memset(e->memory, 0xee, sizeof(e->memory));
	memset(e->recv, 0xee, sizeof(e->recv));
	CHECK(iw_stag_table_new(&e->stags, &mem, fixed_random, &e->seed) == 0);
	CHECK(iw_stag_add(e->stags, &g, &e->stag, &why) == 0);
	iw_pool_init(&e->spill, &mem, IW_MPA_SPILL_LEN, 0, 1);
	iw_pool_init(&e->txbufs, &mem, sizeof(struct iw_txbuf), 0, 1);
	rcfg.stags = e->stags;
	CHECK(iw_rdmap_new(&e->rdmap, &rcfg, &why) == 0);
	for (i = 0; i < RECVS; i++)
		CHECK(iw_rdmap_post_recv(e->rdmap, i, e->recv[i], GUARD / 2) == 0);
	cfg.rdmap = how & INITIATOR ? e->rdmap : NULL;
	CHECK(iw_conn_new(&e->conn, &cfg, e->now, &why) == 0);
	iw_conn_set_emss(e->conn, 1448);
}

/* Posts one operation of each kind: the Read gives Responses something to answer. */
static void post_ops(struct engine *e)
{
	struct iw_op op = { .kind = IW_OPK_READ,
			    .len = 100,
			    .remote_stag = 9,
			    .sink_stag = e->stag,
			    .sink_to = 0x1000 };

	if (iw_rdmap_state(e->rdmap) != IW_RDMAP_RTS)
		return;
	(void)!iw_rdmap_post(e->rdmap, &op, e->now);
	op = (struct iw_op){ .cookie = 1, .kind = IW_OPK_SEND };
	(void)!iw_rdmap_post(e->rdmap, &op, e->now);
	op = (struct iw_op){
		.cookie = 2, .kind = IW_OPK_READ, .len = 0, .sink_stag = e->stag, .sink_to = 0x1000
	};
	(void)!iw_rdmap_post(e->rdmap, &op, e->now);
}

/* @chunk 0: all at once. Some octets may be left if reading pauses. */
static void feed(struct engine *e, const uint8_t *octets, size_t len, size_t chunk)
{
	struct iw_vec vec[2];
	size_t scratch = chunk == 0 ? sizeof(e->scratch) : 4096, n, got;
	int i, nvec;

	drain(e);
	while (len > 0) {
		nvec = iw_conn_rx_vec(e->conn, (struct iw_vec){ e->scratch, scratch }, vec);
		CHECK(nvec >= 0);
		if (nvec == 0)
			break;
		got = 0;
		for (i = 0; i < nvec; i++) {
			n = IW_MIN(vec[i].len, len);
			if (chunk != 0)
				n = IW_MIN(n, chunk - got);
			memcpy(vec[i].base, octets, n);
			octets += n;
			len -= n;
			got += n;
		}
		CHECK(got > 0);
		iw_conn_received(e->conn, got, e->now);
		memset(e->scratch, 0xa5, IW_MIN(got, scratch)); /* the loan has ended */
		poll_all(e);
	}
	drain(e);
}

static void finish(struct engine *e)
{
	unsigned i, n = 0;

	iw_conn_eof(e->conn, e->now);
	poll_all(e);
	drain(e);
	while (iw_conn_state(e->conn) != IW_CONN_CLOSED) {
		uint64_t at = iw_conn_deadline(e->conn);

		if (at == IW_TIME_NEVER) { /* a half-closed idle connection has no deadline */
			iw_conn_close(e->conn, e->now);
		} else {
			e->now = IW_MAX(e->now, at);
			iw_conn_timeout(e->conn, e->now);
		}
		drain(e);
		CHECK(++n < 100);
	}
	poll_all(e);
	for (i = 0; i < GUARD; i++)
		CHECK(e->memory[i] == 0xee && e->memory[GUARD + LEN + i] == 0xee);
	for (i = 0; i < RECVS; i++)
		CHECK(e->recv[i][GUARD / 2] == 0xee && e->recv[i][GUARD - 1] == 0xee);
	digest(e, 2, e->memory, sizeof(e->memory));
	digest(e, 2, e->recv, sizeof(e->recv));
	iw_conn_free(e->conn);
	iw_rdmap_free(e->rdmap);
	iw_stag_table_free(e->stags);
	iw_pool_fini(&e->spill);
	iw_pool_fini(&e->txbufs);
}

static size_t put_frame(uint8_t *out, enum iw_mpa_kind kind, uint8_t how)
{
	static const uint8_t enhanced[4] = { 0x00, 0x02, 0x00, 0x02 },
			     p2p[4] = { 0x80, 0x02, 0xc0, 0x02 };
	struct iw_mpa_frame f = {
		.kind = kind,
		.flags = (uint8_t)(IW_MPA_S | (how & CRC_OFF ? 0 : IW_MPA_C)),
		.rev = 2,
		.pd_len = 4,
		.pd = how & PEER_TO_PEER ? p2p : enhanced,
	};
	int n = iw_wire_mpa_frame_encode(out, 64, &f);

	CHECK(n > 0);
	return (size_t)n;
}

/* Builds a stream with correct MPA framing, but without markers: with MARKERS they are missing. */
static size_t build(uint8_t *out, const uint8_t *data, size_t size)
{
	size_t n = 0, len, at, pad;

	while (size > 0) {
		len = *data++;
		size--;
		len = IW_MIN(len, size);
		pad = iw_mpa_pad(len);
		if (n + iw_mpa_fpdu_len(len) > STREAM_MAX)
			break;
		at = n;
		iw_put_be16(out + n, (uint16_t)len);
		memcpy(out + n + 2, data, len);
		memset(out + n + 2 + len, 0, pad);
		n += 2 + len + pad;
		iw_put_le32(out + n, iw_crc32c(0, out + at, n - at));
		n += 4;
		data += len;
		size -= len;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
static void converse(struct engine *e, uint8_t how, const uint8_t *stream, size_t len, size_t chunk)
{
	uint8_t frame[64];
	size_t n;

	start(e, how);
	if (!(how & RAW)) {
		n = put_frame(frame, how & INITIATOR ? IW_MPA_REPLY : IW_MPA_REQUEST, how);
		feed(e, frame, n, chunk);
		post_ops(e);
	}
	feed(e, stream, len, chunk);
	finish(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct engine whole, split;
	static uint8_t stream[STREAM_MAX];
	uint8_t how;
	size_t n;

	if (size < 2 || size > 8192)
		return 0;
	how = data[0];
	if (how & RAW) {
		n = size - 1;
		memcpy(stream, data + 1, n);
	} else {
		n = build(stream, data + 1, size - 1);
	}
	converse(&whole, how, stream, n, 0);
	converse(&split, how, stream, n, 1 + size % 7);
	CHECK(memcmp(whole.digest, split.digest, sizeof(whole.digest)) == 0);
	return 0;
}
