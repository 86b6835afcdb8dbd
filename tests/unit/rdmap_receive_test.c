// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Receiving: a test feeds one stream with segments and reads the Terminate that it sends. */
#include "rdmap/rdmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"
#include "rdmap/internal.h" /* iw_rdmap_local_fault, for any fault with any header */
#include "trace_log.h"
#include "util/num.h"

static struct trace_log log_; /* of all streams here; off unless a test switches it on */

#define STREAM 7
#define PD     3
#define NOW    IW_SEC(5)

struct fixture {
	struct test_mem mem;
	struct rng rng;
	struct iw_stag_table *stags;
	struct iw_rdmap *r;
	uint8_t buf[4096]; /* tests register parts of it; the rest guards them */
	uint8_t recv[8][256];
	uint32_t msn[3]; /* of the next message to r */
	struct iw_fault why;
};

static int test_random(void *ctx, void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len-- > 0)
		*p++ = (uint8_t)rng_next(ctx);
	return 0;
}

static struct fixture *fresh_with(uint32_t early_max, bool loans)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct iw_rdmap_cfg cfg;

	assert_non_null(f);
	test_mem_init(&f->mem);
	assert_int_equal(iw_stag_table_new(&f->stags, &f->mem.mem, test_random, &f->rng), 0);
	cfg = (struct iw_rdmap_cfg){ .mem = &f->mem.mem,
				     .stags = f->stags,
				     .pd = PD,
				     .stream = STREAM,
				     .sq_depth = 8,
				     .rq_depth = 8,
				     .early_max = early_max,
				     .loans = loans,
				     .tracer = &log_.tracer };
	assert_int_equal(iw_rdmap_new(&f->r, &cfg, &f->why), 0);
	f->msn[0] = f->msn[1] = f->msn[2] = 1;
	memset(f->buf, 0xee, sizeof(f->buf));
	return f;
}

static struct fixture *fresh(uint32_t early_max)
{
	return fresh_with(early_max, false);
}

static struct fixture *with(struct iw_rdmap_params p)
{
	struct fixture *f = fresh(0);

	assert_int_equal(iw_rdmap_start(f->r, &p, &f->why), 0);
	return f;
}

static struct fixture *started(void)
{
	return with((struct iw_rdmap_params){ .dv = 1, .ird = 2, .ord = 2 });
}

static void done(struct fixture *f)
{
	iw_rdmap_free(f->r);
	iw_stag_table_free(f->stags);
	assert_int_equal(f->mem.live, 0);
	free(f);
}

static uint32_t reg(struct fixture *f, uint8_t rights, uint32_t pd, uint32_t stream)
{
	struct iw_region g = { .rights = rights,
			       .pd = pd,
			       .stream = stream,
			       .base = f->buf + 1024,
			       .len = 1024,
			       .to = 0x1000,
			       .expires = IW_TIME_NEVER,
			       .uses = UINT32_MAX };
	uint32_t stag = 0;

	assert_int_equal(iw_stag_add(f->stags, &g, &stag, &f->why), 0);
	return stag;
}

static void post(struct fixture *f, unsigned i, uint32_t cap)
{
	assert_int_equal(iw_rdmap_post_recv(f->r, 100 + i, f->recv[i], cap), 0);
}

static int feed(struct fixture *f, const struct iw_ddp *h, const void *payload, size_t len)
{
	uint8_t ulpdu[2048];
	int n = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), h);

	memcpy(ulpdu + n, payload, len);
	memset(&f->why, 0, sizeof(f->why));
	return iw_rdmap_receive(f->r, ulpdu, (size_t)n + len, NOW, &f->why);
}

static struct iw_ddp tagged(uint8_t opcode, uint32_t stag, uint64_t to)
{
	return (struct iw_ddp){ .tagged = true,
				.last = true,
				.dv = 1,
				.rv = 1,
				.opcode = opcode,
				.stag = stag,
				.to = to };
}

static struct iw_ddp untagged(struct fixture *f, uint8_t opcode, uint32_t qn)
{
	return (struct iw_ddp){ .last = true,
				.dv = 1,
				.rv = 1,
				.opcode = opcode,
				.qn = qn,
				.msn = qn < 3 ? f->msn[qn]++ : 1 };
}

static int feed_write(struct fixture *f, uint32_t stag, uint64_t to, size_t len)
{
	static const uint8_t octets[2000];
	struct iw_ddp h = tagged(IW_OP_WRITE, stag, to);

	return feed(f, &h, octets, len);
}

static int feed_rreq(struct fixture *f, uint32_t src_stag, uint64_t src_to, uint32_t size)
{
	struct iw_rreq q = { .sink_stag = 0x5151,
			     .sink_to = 0x77,
			     .size = size,
			     .src_stag = src_stag,
			     .src_to = src_to };
	struct iw_ddp h = untagged(f, IW_OP_RREQ, IW_QN_RREQ);
	uint8_t body[IW_RDMAP_RREQ_LEN];

	iw_rreq_encode(body, sizeof(body), &q);
	return feed(f, &h, body, sizeof(body));
}

static bool pull(struct fixture *f, struct iw_segment *seg, struct iw_ddp *h)
{
	static uint64_t pos;

	if (iw_rdmap_pull(f->r, 1442, seg, NOW) <= 0)
		return false;
	assert_true(iw_wire_ddp_decode(h, seg->hdr, seg->hdr_len) > 0);
	pos += seg->hdr_len + seg->payload_len;
	iw_rdmap_pulled(f->r, pos);
	iw_rdmap_sent(f->r, pos, pos);
	return true;
}

/* Asserts the stream's fault and its only Terminate, after which nothing is sent (RFC 5040 5.4). */
static struct iw_terminate assert_terminates(struct fixture *f, int err, uint32_t term)
{
	struct iw_terminate t;
	struct iw_segment seg;
	struct iw_ddp h;

	assert_string_equal(iw_err_name(f->why.err), iw_err_name(err));
	assert_true(strlen(f->why.text) > 0);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(h.opcode, IW_OP_TERM);
	assert_int_equal(h.qn, IW_QN_TERM);
	assert_int_equal(h.msn, 1);
	assert_true(h.last);
	assert_true(iw_terminate_decode(&t, seg.hdr + IW_DDP_UNTAGGED_LEN,
					seg.hdr_len - IW_DDP_UNTAGGED_LEN) > 0);
	assert_int_equal(IW_TERM(t.layer, t.etype, t.code), term);
	assert_false(pull(f, &seg, &h));
	assert_true(f->r->term_sent);
	return t;
}

static void assert_untouched(struct fixture *f)
{
	size_t i;

	for (i = 0; i < sizeof(f->buf); i++)
		assert_int_equal(f->buf[i], 0xee);
}

static struct iw_completion next(struct fixture *f)
{
	struct iw_completion c;

	assert_true(iw_rdmap_next_completion(f->r, &c));
	return c;
}

/* --- valid messages --------------------------------------------------------------------------- */

/* RDMAP-01, RDMAP-22, DDP-68 */
static void sends_are_delivered_in_order_each_with_one_buffer(void **state)
{
	struct fixture *f = started();
	struct iw_completion c;
	struct iw_ddp h;
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++)
		post(f, i, 256);
	for (i = 0; i < 3; i++) {
		h = untagged(f, IW_OP_SEND, IW_QN_SEND);
		/* the first one is empty, and uses a buffer too */
		assert_int_equal(feed(f, &h, "hello", i), 0);
	}
	for (i = 0; i < 3; i++) {
		c = next(f);
		assert_int_equal(c.cookie, 100 + i);
		assert_int_equal(c.len, i);
		assert_int_equal(c.status, 0);
		assert_memory_equal(f->recv[i], "hello", i);
	}
	assert_false(iw_rdmap_next_completion(f->r, &c));
	done(f);
}

/* RDMAP-25, DDP-36 */
static void solicited_event_is_reported(void **state)
{
	struct fixture *f = started();
	struct iw_ddp h;

	(void)state;
	post(f, 0, 256);
	post(f, 1, 256);
	h = untagged(f, IW_OP_SEND_SE, IW_QN_SEND);
	assert_int_equal(feed(f, &h, "x", 1), 0);
	h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	assert_int_equal(feed(f, &h, "x", 1), 0);
	assert_true(next(f).solicited);
	assert_false(next(f).solicited);
	done(f);
}

/* RDMAP-11: placed, without a completion for the ULP */
static void write_is_placed_and_not_delivered(void **state)
{
	struct fixture *f = started();
	uint32_t stag = reg(f, IW_RIGHT_REMOTE_WRITE, PD, 0);
	struct iw_completion c;

	(void)state;
	assert_int_equal(feed_write(f, stag, 0x1000, 1024), 0);
	assert_int_equal(f->buf[1023], 0xee);
	assert_int_equal(f->buf[1024], 0);
	assert_int_equal(f->buf[2047], 0);
	assert_int_equal(f->buf[2048], 0xee);
	assert_false(iw_rdmap_next_completion(f->r, &c));
	done(f);
}

/* RDMAP-12, DDP-56, DDP-57 */
static void zero_length_write_checks_neither_stag_nor_to(void **state)
{
	struct fixture *f = started();

	(void)state;
	assert_int_equal(feed_write(f, 0, UINT64_MAX, 0), 0);
	assert_int_equal(feed_write(f, 0xdead, 12, 0), 0);
	assert_int_equal(iw_rdmap_state(f->r), IW_RDMAP_RTS);
	done(f);
}

/* RDMAP-24, DDP-36, DDP-113 */
static void send_with_invalidate_revokes_a_stag_of_this_stream(void **state)
{
	struct fixture *f = started();
	uint32_t stag = reg(f, IW_RIGHT_REMOTE_WRITE, PD, STREAM);
	struct iw_completion c;
	struct iw_ddp h;

	(void)state;
	post(f, 0, 256);
	post(f, 1, 256);
	h = untagged(f, IW_OP_SEND_SE_INV, IW_QN_SEND);
	h.inval_stag = stag;
	assert_int_equal(feed(f, &h, "bye", 3), 0);
	c = next(f);
	assert_true(c.invalidated && c.solicited);
	assert_int_equal(c.inval_stag, stag);
	assert_null(iw_stag_get(f->stags, stag));
	/* in flight after it: refused */
	assert_int_equal(feed_write(f, stag, 0x1000, 1), IW_E_DDP_STAG);
	assert_untouched(f);
	done(f);
}

/*
 * RDMAP-24, RDMAP-41, SEC-08: not an unknown STag, nor one of the whole protection domain or of
 * another stream
 */
static void invalidate_of_a_stag_that_is_not_this_streams_alone_terminates(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct fixture *f = started();
		uint32_t stag = i == 0 ? 0x1234
				       : reg(f, IW_RIGHT_REMOTE_WRITE, PD, i == 1 ? 0 : STREAM + 1);
		struct iw_ddp h = untagged(f, IW_OP_SEND_INV, IW_QN_SEND);
		struct iw_completion c;

		post(f, 0, 256);
		h.inval_stag = stag;
		assert_int_equal(feed(f, &h, "x", 1), IW_E_RP_INVAL);
		c = next(f);
		assert_int_equal(c.status, IW_E_RP_INVAL);
		assert_int_equal(c.len, 0);
		assert_int_equal(c.octets, 1);
		if (i > 0)
			assert_non_null(iw_stag_get(f->stags, stag));
		assert_terminates(f, IW_E_RP_INVAL, IW_TERM(0, 1, 9)); /* the same code for all */
		done(f);
	}
}

/* --- faults and their Terminates -------------------------------------------------------------- */

/* RDMAP-03, RDMAP-40, RDMAP-07: the Terminate includes DDP header and length */
static void wrong_rdmap_version_terminates(void **state)
{
	struct fixture *f = started();
	struct iw_ddp h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	struct iw_terminate t;

	(void)state;
	post(f, 0, 256);
	h.rv = 2;
	assert_int_equal(feed(f, &h, "abc", 3), IW_E_RO_VERSION);
	t = assert_terminates(f, IW_E_RO_VERSION, IW_TERM(0, 2, 5));
	assert_true(t.m && t.d && !t.r);
	assert_int_equal(t.ddp_len, 21);
	assert_int_equal(t.ddp_hdr_len, IW_DDP_UNTAGGED_LEN);
	done(f);
}

/* DDP-23, DDP-24, DDP-82: DDP errors are reported before those of RDMAP */
static void wrong_ddp_version_terminates(void **state)
{
	struct fixture *f = started();
	struct iw_ddp h = untagged(f, IW_OP_SEND, IW_QN_SEND);

	(void)state;
	h.dv = 0;
	h.rv = 3;
	assert_int_equal(feed(f, &h, "abc", 3), IW_E_DDP_VERSION_U);
	assert_terminates(f, IW_E_DDP_VERSION_U, IW_TERM(1, 2, 6));
	done(f);
	f = started();
	h = tagged(IW_OP_WRITE, reg(f, IW_RIGHT_REMOTE_WRITE, PD, 0), 0x1000);
	h.dv = 2;
	assert_int_equal(feed(f, &h, "abc", 3), IW_E_DDP_VERSION_T);
	assert_terminates(f, IW_E_DDP_VERSION_T, IW_TERM(1, 1, 4));
	assert_untouched(f);
	done(f);
	f = started();
	h = tagged(IW_OP_RRESP, 0, 0); /* also unrequested */
	h.dv = 0;
	assert_int_equal(feed(f, &h, "abc", 3), IW_E_DDP_VERSION_T);
	done(f);
}

/* RDMAP-40 */
static void unknown_opcodes_terminate(void **state)
{
	unsigned op;

	(void)state;
	for (op = 8; op < 16; op++) {
		struct fixture *f = started();
		struct iw_ddp h = untagged(f, (uint8_t)op, IW_QN_SEND);

		post(f, 0, 256);
		assert_int_equal(feed(f, &h, "abc", 3), IW_E_RO_OPCODE);
		/* DDP-104: DDP itself has no fault, but further segments are dropped. */
		assert_int_equal(feed_write(f, reg(f, IW_RIGHT_REMOTE_WRITE, PD, 0), 0x1000, 8), 0);
		assert_untouched(f);
		f->why = *iw_rdmap_fault(f->r);
		assert_terminates(f, IW_E_RO_OPCODE, IW_TERM(0, 2, 6));
		done(f);
	}
}

/* RDMAP-04: T flag, opcode and QN are those of figure 4 */
static void opcode_in_the_wrong_model_or_queue_terminates(void **state)
{
	static const struct {
		uint8_t opcode;
		bool tagged;
		uint32_t qn;
	} bad[] = {
		{ IW_OP_WRITE, false, 0 }, { IW_OP_RRESP, false, 0 }, { IW_OP_SEND, true, 0 },
		{ IW_OP_RREQ, true, 0 },   { IW_OP_TERM, true, 0 },   { IW_OP_SEND, false, 1 },
		{ IW_OP_SEND, false, 2 },  { IW_OP_RREQ, false, 0 },  { IW_OP_TERM, false, 0 },
		{ IW_OP_TERM, false, 1 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < IW_ARRAY_LEN(bad); i++) {
		struct fixture *f = started();
		struct iw_ddp h = bad[i].tagged ? tagged(bad[i].opcode, reg(f, 7, PD, 0), 0x1000)
						: untagged(f, bad[i].opcode, bad[i].qn);

		post(f, 0, 256);
		assert_int_equal(feed(f, &h, "abcdefgh", 8), IW_E_RO_OPCODE);
		if (!bad[i].tagged && bad[i].opcode <= IW_OP_RRESP && bad[i].opcode != IW_OP_RREQ)
			assert_non_null(strstr(f->why.text, "in an untagged segment"));
		if (bad[i].tagged)
			assert_non_null(strstr(f->why.text, "in a tagged segment"));
		assert_terminates(f, IW_E_RO_OPCODE, IW_TERM(0, 2, 6));
		assert_untouched(f);
		done(f);
	}
}

/* DDP-87 */
static void unknown_queue_terminates(void **state)
{
	static const uint32_t qns[] = { 3, 4, 255, UINT32_MAX };
	size_t i;

	(void)state;
	for (i = 0; i < IW_ARRAY_LEN(qns); i++) {
		struct fixture *f = started();
		struct iw_ddp h = untagged(f, IW_OP_SEND, qns[i]);

		assert_int_equal(feed(f, &h, "abc", 3), IW_E_DDP_QN);
		assert_terminates(f, IW_E_DDP_QN, IW_TERM(1, 2, 1));
		done(f);
	}
}

/* DDP-88, DDP-90, RDMAP-23 */
static void sends_that_fit_no_buffer_terminate(void **state)
{
	struct fixture *f = started();
	struct iw_ddp h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	uint8_t octets[256] = { 0 };

	(void)state;
	assert_int_equal(feed(f, &h, "abc", 3), IW_E_DDP_NOBUF);
	assert_terminates(f, IW_E_DDP_NOBUF, IW_TERM(1, 2, 2));
	done(f);

	f = started();
	post(f, 0, 16);
	memset(f->recv[0], 0x11, 256);
	h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	assert_int_equal(feed(f, &h, octets, 17), IW_E_DDP_TOOLONG);
	assert_int_equal(f->recv[0][0], 0x11); /* not even the first octet was placed */
	assert_terminates(f, IW_E_DDP_TOOLONG, IW_TERM(1, 2, 5));
	done(f);

	f = started();
	post(f, 0, 16);
	post(f, 1, 16);
	f->msn[0] = 2;
	h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	assert_int_equal(feed(f, &h, octets, 3), IW_E_DDP_MSN);
	assert_terminates(f, IW_E_DDP_MSN, IW_TERM(1, 2, 3));
	done(f);

	f = started();
	post(f, 0, 16);
	h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	h.mo = 4;
	assert_int_equal(feed(f, &h, octets, 3), IW_E_DDP_MO);
	assert_terminates(f, IW_E_DDP_MO, IW_TERM(1, 2, 4));
	done(f);
}

/* DDP-101: messages do not interleave; nothing of the second one is placed */
static void write_inside_a_send_terminates(void **state)
{
	struct fixture *f = started();
	uint32_t stag = reg(f, IW_RIGHT_REMOTE_WRITE, PD, 0);
	struct iw_ddp h = untagged(f, IW_OP_SEND, IW_QN_SEND);

	(void)state;
	post(f, 0, 256);
	h.last = false;
	assert_int_equal(feed(f, &h, "abc", 3), 0);
	assert_int_equal(feed_write(f, stag, 0x1000, 8), IW_E_DDP_STAG);
	assert_terminates(f, IW_E_DDP_STAG, IW_TERM(1, 1, 0));
	assert_untouched(f);
	done(f);
}

/* DDP-96..100, DDP-101, DDP-108, DDP-109, DDP-116, SEC-01, SEC-02, SEC-03 */
static void writes_outside_the_grant_send_a_terminate(void **state)
{
	static const struct {
		uint8_t rights;
		uint32_t pd, stream;
		uint64_t to;
		size_t len;
		int err;
		uint32_t term;
	} bad[] = {
		{ IW_RIGHT_REMOTE_READ, PD, 0, 0x1000, 8, IW_E_DDP_STAG, IW_TERM(1, 1, 0) },
		/* a sink of Reads is not a target of Writes */
		{ IW_RIGHT_READ_SINK, PD, 0, 0x1000, 8, IW_E_DDP_STAG, IW_TERM(1, 1, 0) },
		{ IW_RIGHT_REMOTE_WRITE, PD + 1, 0, 0x1000, 8, IW_E_DDP_ASSOC, IW_TERM(1, 1, 0) },
		{ IW_RIGHT_REMOTE_WRITE, PD, STREAM + 1, 0x1000, 8, IW_E_DDP_ASSOC,
		  IW_TERM(1, 1, 0) },
		{ IW_RIGHT_REMOTE_WRITE, PD, 0, 0x0fff, 8, IW_E_DDP_BOUNDS, IW_TERM(1, 1, 1) },
		{ IW_RIGHT_REMOTE_WRITE, PD, 0, 0x13f9, 8, IW_E_DDP_BOUNDS, IW_TERM(1, 1, 1) },
		{ IW_RIGHT_REMOTE_WRITE, PD, 0, 0x1400, 1, IW_E_DDP_BOUNDS, IW_TERM(1, 1, 1) },
		{ IW_RIGHT_REMOTE_WRITE, PD, 0, UINT64_MAX - 3, 8, IW_E_DDP_WRAP,
		  IW_TERM(1, 1, 3) },
	};
	size_t i;

	(void)state;
	for (i = 0; i < IW_ARRAY_LEN(bad); i++) {
		struct fixture *f = started();
		uint32_t stag = reg(f, bad[i].rights, bad[i].pd, bad[i].stream);
		struct iw_terminate t;

		assert_int_equal(feed_write(f, stag, bad[i].to, bad[i].len), bad[i].err);
		t = assert_terminates(f, bad[i].err, bad[i].term);
		assert_true(t.m && t.d && !t.r);
		assert_int_equal(t.ddp_hdr_len, IW_DDP_TAGGED_LEN);
		assert_int_equal(t.ddp_len, IW_DDP_TAGGED_LEN + bad[i].len);
		assert_untouched(f);
		done(f);
	}
}

/* DDP-104, DDP-105, RDMAP-38: silently dropped; posted operations complete in error, once */
static void after_an_error_everything_is_dropped_and_flushed(void **state)
{
	struct fixture *f = started();
	uint32_t stag = reg(f, IW_RIGHT_REMOTE_WRITE, PD, 0);
	struct iw_completion c;
	struct iw_ddp h;

	(void)state;
	post(f, 0, 256);
	post(f, 1, 256);
	assert_int_equal(feed_write(f, stag + 1, 0x1000, 8), IW_E_DDP_STAG);
	assert_int_equal(feed_write(f, stag, 0x1000, 8), 0);
	h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	assert_int_equal(feed(f, &h, "x", 1), 0);
	assert_untouched(f);
	assert_int_equal(next(f).status, IW_E_CANCELED);
	assert_int_equal(next(f).status, IW_E_CANCELED);
	assert_false(iw_rdmap_next_completion(f->r, &c));
	assert_int_equal(iw_rdmap_post_recv(f->r, 1, f->recv[2], 16), IW_E_STATE);
	f->why = *iw_rdmap_fault(f->r);
	assert_terminates(f, IW_E_DDP_STAG, IW_TERM(1, 1, 0));
	done(f);
}

/* --- inbound Reads ---------------------------------------------------------------------------- */

/* RDMAP-06, RDMAP-13, RDMAP-15, RDMAP-20, RDMAP-34 */
static void reads_are_answered_in_order_with_the_sinks_stag(void **state)
{
	struct fixture *f = started();
	uint32_t stag = reg(f, IW_RIGHT_REMOTE_READ, PD, 0);
	struct iw_segment seg;
	struct iw_completion c;
	struct iw_ddp h;

	(void)state;
	assert_int_equal(feed_rreq(f, stag, 0x1000, 3), 0);
	assert_int_equal(feed_rreq(f, stag, 0x1010, 1000), 0);
	assert_false(iw_rdmap_next_completion(f->r, &c)); /* RDMAP-14: no completion for the ULP */
	assert_true(pull(f, &seg, &h));
	assert_int_equal(h.opcode, IW_OP_RRESP);
	assert_int_equal(h.stag, 0x5151);
	assert_int_equal(h.to, 0x77);
	assert_int_equal(seg.payload_len, 3);
	assert_true(seg.copy && h.last);
	assert_ptr_equal(seg.payload[0].base, f->buf + 1024);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(seg.payload_len, 1000);
	assert_ptr_equal(seg.payload[0].base, f->buf + 1024 + 0x10);
	assert_false(pull(f, &seg, &h));
	done(f);
}

/* RDMAP-17, RDMAP-18 */
static void zero_length_read_is_answered_without_looking_at_the_source(void **state)
{
	struct fixture *f = started();
	struct iw_segment seg;
	struct iw_ddp h;

	(void)state;
	assert_int_equal(feed_rreq(f, 0, UINT64_MAX, 0), 0);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(h.opcode, IW_OP_RRESP);
	assert_true(h.last);
	assert_int_equal(seg.payload_len, 0);
	done(f);
}

/* RDMAP-16, RDMAP-42, RDMAP-43, SEC-05, SEC-25: the Terminate includes the request */
static void reads_outside_the_grant_send_a_terminate(void **state)
{
	static const struct {
		uint8_t rights;
		uint32_t pd, stream;
		uint64_t to;
		uint32_t size;
		int err;
		uint32_t term;
	} bad[] = {
		{ 0, 0, 0, 0x1000, 1, IW_E_RP_STAG, IW_TERM(0, 1, 0) },
		{ IW_RIGHT_REMOTE_WRITE, PD, 0, 0x1000, 8, IW_E_RP_RIGHTS, IW_TERM(0, 1, 2) },
		{ IW_RIGHT_REMOTE_READ, PD + 1, 0, 0x1000, 8, IW_E_RP_ASSOC, IW_TERM(0, 1, 0) },
		{ IW_RIGHT_REMOTE_READ, PD, STREAM + 1, 0x1000, 8, IW_E_RP_ASSOC,
		  IW_TERM(0, 1, 0) },
		{ IW_RIGHT_REMOTE_READ, PD, 0, 0x1000, 1025, IW_E_RP_BOUNDS, IW_TERM(0, 1, 1) },
		{ IW_RIGHT_REMOTE_READ, PD, 0, UINT64_MAX - 1, 8, IW_E_RP_WRAP, IW_TERM(0, 1, 4) },
	};
	size_t i;

	(void)state;
	for (i = 0; i < IW_ARRAY_LEN(bad); i++) {
		struct fixture *f = started();
		uint32_t stag = bad[i].rights != 0 ? reg(f, bad[i].rights, bad[i].pd, bad[i].stream)
						   : 0xbad;
		struct iw_terminate t;

		assert_int_equal(feed_rreq(f, stag, bad[i].to, bad[i].size), bad[i].err);
		t = assert_terminates(f, bad[i].err, bad[i].term);
		assert_true(t.m && t.d && t.r && t.has_rreq);
		assert_int_equal(t.ddp_len, IW_DDP_UNTAGGED_LEN + IW_RDMAP_RREQ_LEN);
		assert_int_equal(t.rreq.src_stag, stag);
		assert_int_equal(t.rreq.src_to, bad[i].to);
		assert_int_equal(t.rreq.size, bad[i].size);
		done(f);
	}
}

/*
 * SEC-01, SEC-02, SEC-09: a peer that tries STags gets the same octets for an unregistered one and
 * for one of another domain or stream, in bounds, out of bounds, and wrapping.
 */
static void foreign_stag_and_unknown_stag_get_the_same_terminate(void **state)
{
	static const uint64_t tos[] = { 0x1000, 0, UINT64_MAX - 3 };
	enum { WRITE, READ, INVALIDATE, WAYS };

	(void)state;
	for (int way = 0; way < WAYS; way++)
		for (size_t i = 0; i < IW_ARRAY_LEN(tos); i++) {
			struct iw_terminate said[3];

			for (int who = 0; who < 3; who++) { /* unknown, of a domain, of a stream */
				struct fixture *f = started();
				struct iw_ddp h = untagged(f, IW_OP_SEND_INV, IW_QN_SEND);
				const uint8_t rights = IW_RIGHT_REMOTE_READ | IW_RIGHT_REMOTE_WRITE;
				uint32_t stag = who == 0   ? 0xbad
						: who == 1 ? reg(f, rights, PD + 1, 0)
							   : reg(f, rights, PD, STREAM + 1);
				struct iw_segment seg;

				post(f, 0, 256);
				h.inval_stag = stag;
				if (way == WRITE)
					assert_true(feed_write(f, stag, tos[i], 8) < 0);
				else if (way == READ)
					assert_true(feed_rreq(f, stag, tos[i], 8) < 0);
				else
					assert_true(feed(f, &h, "x", 1) < 0);
				assert_true(pull(f, &seg, &h));
				assert_int_equal(h.opcode, IW_OP_TERM);
				assert_true(iw_terminate_decode(
						    &said[who], seg.hdr + IW_DDP_UNTAGGED_LEN,
						    seg.hdr_len - IW_DDP_UNTAGGED_LEN) > 0);
				assert_int_equal(iw_rdmap_fault(f->r)->term,
						 IW_TERM(said[who].layer, said[who].etype,
							 said[who].code));
				assert_int_equal(said[who].layer, said[0].layer);
				assert_int_equal(said[who].etype, said[0].etype);
				assert_int_equal(said[who].code, said[0].code);
				assert_int_equal(said[who].m, said[0].m);
				assert_int_equal(said[who].d, said[0].d);
				assert_int_equal(said[who].r, said[0].r);
				done(f);
			}
		}
}

/* RDMAP-42, SEC-24: a source is valid until it expires, also during a Response */
static void expired_read_source_terminates(void **state)
{
	struct fixture *f = started();
	uint32_t stag = reg(f, IW_RIGHT_REMOTE_READ, PD, 0);
	struct iw_segment seg;
	struct iw_ddp h;

	(void)state;
	iw_stag_get(f->stags, stag)->expires = NOW;
	assert_int_equal(feed_rreq(f, stag, 0x1000, 1), IW_E_RP_STAG);
	done(f);
	f = started();
	stag = reg(f, IW_RIGHT_REMOTE_READ, PD, 0);
	iw_stag_get(f->stags, stag)->expires = NOW + 1;
	assert_int_equal(feed_rreq(f, stag, 0x1000, 1000), 0);
	assert_int_equal(iw_rdmap_pull(f->r, 14 + 400, &seg, NOW), 1);
	iw_rdmap_pulled(f->r, 1);
	iw_stag_get(f->stags, stag)->expires = NOW;
	assert_true(pull(f, &seg, &h));
	assert_int_equal(h.opcode, IW_OP_TERM);
	done(f);
}

/* A Read Request after our graceful close cannot be answered, not even with a Terminate. */
static void read_request_after_our_end_is_a_fault(void **state)
{
	struct fixture *f = started();
	struct iw_segment seg;
	struct iw_ddp h;

	(void)state;
	iw_rdmap_close(f->r);
	iw_rdmap_tx_shut(f->r);
	assert_int_equal(feed_rreq(f, 0, 0, 0), IW_E_CLOSED);
	assert_false(pull(f, &seg, &h));
	done(f);
}

/* RDMAP-19, RDMAP-36: IRD buffers; a slot is free once the LLP has taken its Response */
static void more_reads_than_ird_find_no_buffer(void **state)
{
	struct fixture *f = started();
	uint32_t stag = reg(f, IW_RIGHT_REMOTE_READ, PD, 0);
	struct iw_segment seg;
	struct iw_ddp h;

	(void)state;
	assert_int_equal(feed_rreq(f, stag, 0x1000, 1), 0);
	assert_int_equal(feed_rreq(f, stag, 0x1000, 2), 0);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(feed_rreq(f, stag, 0x1000, 3), 0); /* one was answered */
	assert_int_equal(feed_rreq(f, stag, 0x1000, 4), IW_E_DDP_NOBUF);
	assert_terminates(f, IW_E_DDP_NOBUF, IW_TERM(1, 2, 2));
	done(f);
}

/* RDMAP-19: with an IRD of 0 the answer is the same, not "invalid QN" */
static void read_request_with_ird_zero_finds_no_buffer(void **state)
{
	struct fixture *f = with((struct iw_rdmap_params){ .dv = 1 });

	(void)state;
	assert_int_equal(feed_rreq(f, 1, 0, 1), IW_E_DDP_NOBUF);
	done(f);
}

/* RDMAP-06: exactly 28 octets */
static void read_request_of_another_length_terminates(void **state)
{
	static const uint8_t octets[29];
	struct fixture *f = started();
	struct iw_ddp h = untagged(f, IW_OP_RREQ, IW_QN_RREQ);

	(void)state;
	assert_int_equal(feed(f, &h, octets, 27), IW_E_RO_STREAM);
	assert_terminates(f, IW_E_RO_STREAM, IW_TERM(0, 2, 7));
	done(f);
	f = started();
	h = untagged(f, IW_OP_RREQ, IW_QN_RREQ);
	assert_int_equal(feed(f, &h, octets, 29), IW_E_DDP_TOOLONG);
	assert_terminates(f, IW_E_DDP_TOOLONG, IW_TERM(1, 2, 5));
	done(f);
}

/* RDMAP-06, RDMAP-15: the same request in two segments */
static void read_request_may_come_in_pieces(void **state)
{
	struct fixture *f = started();
	struct iw_rreq q = { .sink_stag = 0x5151,
			     .sink_to = 0x77,
			     .size = 9,
			     .src_stag = reg(f, IW_RIGHT_REMOTE_READ, PD, 0),
			     .src_to = 0x1000 };
	struct iw_ddp h = untagged(f, IW_OP_RREQ, IW_QN_RREQ);
	uint8_t body[IW_RDMAP_RREQ_LEN];
	struct iw_segment seg;

	(void)state;
	iw_rreq_encode(body, sizeof(body), &q);
	h.last = false;
	assert_int_equal(feed(f, &h, body, 10), 0);
	assert_false(pull(f, &seg, &h));
	h = (struct iw_ddp){ .last = true,
			     .dv = 1,
			     .rv = 1,
			     .opcode = IW_OP_RREQ,
			     .qn = IW_QN_RREQ,
			     .msn = 1,
			     .mo = 10 };
	assert_int_equal(feed(f, &h, body + 10, 18), 0);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(h.stag, 0x5151);
	assert_int_equal(seg.payload_len, 9);
	done(f);
}

/* RDMAP-09, SEC-24: revoked during the Response: the Terminate includes the advanced request */
static void read_source_revoked_midway_terminates_with_the_rest(void **state)
{
	struct fixture *f = started();
	uint32_t stag = reg(f, IW_RIGHT_REMOTE_READ, PD, 0);
	struct iw_terminate t;
	struct iw_segment seg;
	struct iw_ddp h;

	(void)state;
	assert_int_equal(feed_rreq(f, stag, 0x1000, 1000), 0);
	assert_int_equal(iw_rdmap_pull(f->r, 14 + 400, &seg, NOW), 1);
	iw_rdmap_pulled(f->r, 1);
	assert_int_equal(iw_stag_del(f->stags, stag), 0);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(h.opcode, IW_OP_TERM);
	assert_true(iw_terminate_decode(&t, seg.hdr + 18, seg.hdr_len - 18) > 0);
	assert_int_equal(IW_TERM(t.layer, t.etype, t.code), IW_TERM(0, 1, 0));
	assert_true(t.has_rreq);
	assert_int_equal(t.rreq.src_to, 0x1000 + 400);
	assert_int_equal(t.rreq.sink_to, 0x77 + 400);
	assert_int_equal(t.rreq.size, 600);
	assert_int_equal(t.rreq.src_stag, stag);
	assert_int_equal(t.ddp_len, IW_DDP_UNTAGGED_LEN + IW_RDMAP_RREQ_LEN);
	assert_true(iw_wire_ddp_decode(&h, t.ddp, t.ddp_hdr_len) > 0); /* of the request */
	assert_true(h.opcode == IW_OP_RREQ && h.qn == IW_QN_RREQ && h.msn == 1);
	assert_int_equal(iw_rdmap_fault(f->r)->err, IW_E_RP_STAG);
	done(f);
}

/* --- Read Responses --------------------------------------------------------------------------- */

static void start_read(struct fixture *f, uint32_t sink, uint64_t to, uint32_t len)
{
	struct iw_op op = { .cookie = 55,
			    .kind = IW_OPK_READ,
			    .len = len,
			    .remote_stag = 9,
			    .remote_to = 10,
			    .sink_stag = sink,
			    .sink_to = to };
	struct iw_segment seg;
	struct iw_ddp h;

	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), 0);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(h.opcode, IW_OP_RREQ);
}

static int feed_response(struct fixture *f, uint32_t stag, uint64_t to, size_t len, bool last)
{
	static const uint8_t octets[2000];
	struct iw_ddp h = tagged(IW_OP_RRESP, stag, to);

	h.last = last;
	return feed(f, &h, octets, len);
}

/* RDMAP-33, RDMAP-21 */
static void read_completes_when_its_whole_response_is_delivered(void **state)
{
	struct fixture *f = started();
	uint32_t sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	struct iw_completion c;

	(void)state;
	start_read(f, sink, 0x1100, 500);
	assert_false(iw_rdmap_next_completion(f->r, &c));
	assert_int_equal(feed_response(f, sink, 0x1100, 300, false), 0);
	assert_false(iw_rdmap_next_completion(f->r, &c));
	assert_int_equal(feed_response(f, sink, 0x1100 + 300, 200, true), 0);
	c = next(f);
	assert_int_equal(c.cookie, 55);
	assert_int_equal(c.status, 0);
	assert_int_equal(c.len, 500);
	assert_int_equal(f->buf[1024 + 0x100 - 1], 0xee);
	assert_int_equal(f->buf[1024 + 0x100], 0);
	assert_int_equal(f->buf[1024 + 0x100 + 499], 0);
	assert_int_equal(f->buf[1024 + 0x100 + 500], 0xee);
	done(f);
}

/* RDMAP-21, RDMAP-40: unrequested, short, long, or to another sink: the segment is not placed */
static void responses_that_are_not_what_was_asked_terminate(void **state)
{
	struct fixture *f = started();
	uint32_t sink = reg(f, IW_RIGHT_READ_SINK, PD, 0), other;

	(void)state;
	assert_int_equal(feed_response(f, sink, 0x1000, 8, true), IW_E_RO_OPCODE); /* unrequested */
	assert_untouched(f);
	assert_terminates(f, IW_E_RO_OPCODE, IW_TERM(0, 2, 6));
	done(f);

	f = started();
	sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	start_read(f, sink, 0x1000, 100);
	assert_int_equal(feed_response(f, sink, 0x1000, 99, true), IW_E_DDP_BOUNDS); /* short */
	assert_int_equal(next(f).status, IW_E_DDP_BOUNDS); /* the Read completes, in error */
	assert_terminates(f, IW_E_DDP_BOUNDS, IW_TERM(1, 1, 1));
	done(f);

	f = started();
	sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	start_read(f, sink, 0x1000, 100);
	assert_int_equal(feed_response(f, sink, 0x1000, 101, true), IW_E_DDP_BOUNDS); /* long */
	assert_untouched(f);
	done(f);

	f = started();
	sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	start_read(f, sink, 0x1000, 100);
	/* complete, but without the L segment */
	assert_int_equal(feed_response(f, sink, 0x1000, 100, false), 0);
	assert_int_equal(feed_response(f, sink, 0x1064, 1, true), IW_E_DDP_BOUNDS);
	assert_int_equal(f->buf[1024 + 100], 0xee);
	done(f);

	f = started();
	sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	other = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	start_read(f, sink, 0x1000, 100);
	/* to another sink of ours */
	assert_int_equal(feed_response(f, other, 0x1000, 100, true), IW_E_DDP_STAG);
	assert_untouched(f);
	assert_terminates(f, IW_E_DDP_STAG, IW_TERM(1, 1, 0));
	done(f);

	f = started();
	sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	start_read(f, sink, 0x1000, 100);
	/* within the sink, but not at the requested TO */
	assert_int_equal(feed_response(f, sink, 0x1001, 100, true), IW_E_DDP_BOUNDS);
	assert_untouched(f);
	done(f);

	f = started();
	sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	start_read(f, sink, 0x1000, 100);
	assert_int_equal(feed_response(f, sink, 0x1032, 10, false), IW_E_DDP_BOUNDS); /* a gap */
	assert_untouched(f);
	done(f);

	f = started();
	sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	start_read(f, sink, 0x1000, 100);
	/* empty, for a Read that is not */
	assert_int_equal(feed_response(f, sink, 0x1000, 0, true), IW_E_DDP_BOUNDS);
	done(f);
}

/* RDMAP-18 */
static void zero_length_read_completes_with_any_stag_in_the_response(void **state)
{
	struct fixture *f = started();
	uint32_t sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);

	(void)state;
	start_read(f, sink, 0x1000, 0);
	assert_int_equal(feed_response(f, 0, 99, 0, true), 0);
	assert_int_equal(next(f).status, 0);
	done(f);
}

/* SEC-06: nothing is placed in a sink that was revoked during its Read */
static void response_to_a_revoked_sink_terminates(void **state)
{
	struct fixture *f = started();
	uint32_t sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);

	(void)state;
	start_read(f, sink, 0x1000, 100);
	assert_int_equal(iw_stag_del(f->stags, sink), 0);
	assert_int_equal(feed_response(f, sink, 0x1000, 100, true), IW_E_DDP_STAG);
	assert_untouched(f);
	done(f);
}

/* --- Terminates from the peer ----------------------------------------------------------------- */

/*
 * RDMAP-26, RDMAP-27, RDMAP-38: accepted with every code, also if truncated to its control field;
 * nothing is sent after it
 */
static void peers_terminate_is_understood_and_ends_everything(void **state)
{
	static const size_t lens[] = { 4, 6, 24, 52 };
	size_t i;
	unsigned term;

	(void)state;
	for (term = 0; term < 0x3000; term += 0x101) {
		for (i = 0; i < IW_ARRAY_LEN(lens); i++) {
			struct fixture *f = started();
			struct iw_op op = { .cookie = 1, .kind = IW_OPK_SEND };
			struct iw_ddp h = untagged(f, IW_OP_TERM, IW_QN_TERM);
			uint8_t body[52] = { (uint8_t)(term >> 8), (uint8_t)term, 0xe0 };
			struct iw_segment seg;

			assert_int_equal(iw_rdmap_post(f->r, &op, NOW), 0);
			if (i & 1) /* also during a graceful close */
				iw_rdmap_close(f->r);
			assert_int_equal(feed(f, &h, body, lens[i]), IW_E_PEER_TERMINATE);
			assert_true(f->why.from_peer);
			assert_int_equal(f->why.term, 0x10000 | term);
			assert_int_equal(iw_rdmap_state(f->r), IW_RDMAP_TERMINATED);
			assert_int_equal(iw_rdmap_pull(f->r, 1442, &seg, NOW), 0);
			assert_int_equal(next(f).status, IW_E_PEER_TERMINATE);
			assert_int_equal(iw_rdmap_post(f->r, &op, NOW), IW_E_STATE);
			done(f);
		}
	}
}

/*
 * RDMAP-26: its buffer is always posted, whatever arrived before. An unfinished message does not
 * delay it.
 */
static void terminate_is_taken_in_the_middle_of_a_message(void **state)
{
	struct fixture *f = started();
	struct iw_ddp h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	uint8_t body[4] = { 0x11, 0x01, 0, 0 };

	(void)state;
	post(f, 0, 256);
	h.last = false;
	assert_int_equal(feed(f, &h, "abc", 3), 0);
	h = untagged(f, IW_OP_TERM, IW_QN_TERM);
	assert_int_equal(feed(f, &h, body, 4), IW_E_PEER_TERMINATE);
	assert_int_equal(f->why.term, IW_TERM(1, 1, 1));
	assert_non_null(strstr(f->why.text, "the peer sent Terminate DDP tagged buffer error"));
	done(f);
}

/*
 * Linux siw on a little-endian machine. The octets are from traces/term-badread, term-norecv and
 * term-oobwrite.
 */
static void terminate_of_siw_is_reported_with_its_meaning(void **state)
{
	static const struct {
		const char *body;
		size_t len;
		uint32_t term;
		const char *text;
	} rows[] = {
		{ "\x10\x00\x07\x00\x00\x00\x41\x41\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x10\x00\x00\x00\x00"
		  "\x7d\x8a\xfc\x00\x00\x00\x55\xb0\xdb\x90\xc0\x00\x00\x00\x00\x10\x12\x21\xae\x00\x00\x00\x55\xc1"
		  "\xde\x0c\x50\x00",
		  52, IW_TERM(0, 1, 0), "RDMAP remote protection error: invalid STag M D R" },
		{ "\x21\x02\x03\x00\x00\x10\x41\x43\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00",
		  24, IW_TERM(1, 2, 2), "DDP untagged buffer error: " },
		{ "\x11\x01\x03\x00\x00\x10\xc1\x40\x77\xb4\xf9\x00\x00\x00\x56\x25\xeb\xdd\xef\xf1",
		  20, IW_TERM(1, 1, 1), "DDP tagged buffer error: base or bounds violation M D" },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct fixture *f = started();
		struct iw_ddp h = untagged(f, IW_OP_TERM, IW_QN_TERM);

		assert_int_equal(feed(f, &h, rows[i].body, rows[i].len), IW_E_PEER_TERMINATE);
		assert_int_equal(f->why.term, rows[i].term);
		assert_non_null(strstr(f->why.text, "(siw: layer and type exchanged)"));
		assert_non_null(strstr(f->why.text, rows[i].text));
		done(f);
	}
}

/* RDMAP-26 */
static void terminate_of_three_octets_ends_the_stream_too(void **state)
{
	struct fixture *f = started();
	struct iw_ddp h = untagged(f, IW_OP_TERM, IW_QN_TERM);

	(void)state;
	assert_int_equal(feed(f, &h, "abc", 3), IW_E_PEER_TERMINATE);
	assert_int_equal(f->why.err, IW_E_PEER_TERMINATE);
	assert_int_equal(f->why.term, IW_NOTERM);
	assert_true(f->why.from_peer);
	assert_non_null(strstr(f->why.text, "Terminate of 3 octets"));
	assert_int_equal(iw_rdmap_state(f->r), IW_RDMAP_TERMINATED);
	done(f);
}

/* ENH-18: without memory for the Reads, a Terminate can still be sent */
static void start_without_memory_can_still_send_a_terminate(void **state)
{
	struct iw_rdmap_params p = { .initiator = true, .dv = 1, .ird = 5, .ord = 5, .rtr = 1 };
	size_t n;

	(void)state;
	for (n = 1; n <= 3; n++) {
		struct fixture *f = fresh(0);

		f->mem.fail_at = n;
		assert_int_equal(iw_rdmap_start(f->r, &p, &f->why), IW_E_NOMEM);
		assert_int_equal(iw_rdmap_state(f->r), IW_RDMAP_IDLE);
		iw_fail(&f->why, IW_E_MPA_LOCAL, "test");
		iw_rdmap_fail(f->r, &f->why);
		assert_terminates(f, IW_E_MPA_LOCAL, IW_TERM(2, 0, 5));
		done(f);
	}
}

static void queue_pair_is_what_was_asked_for_or_an_error(void **state)
{
	static const uint32_t depths[][2] = {
		{ 0, 1 }, { 1, 0 }, { (1 << 20) + 1, 1 }, { 1, (1 << 20) + 1 }
	};
	struct fixture *f = fresh(0);
	struct iw_rdmap_cfg cfg = { .mem = &f->mem.mem, .stags = f->stags, .pd = 1, .stream = 2 };
	struct iw_rdmap *r = f->r;
	size_t n;
	int err;

	(void)state;
	assert_int_equal(iw_rdmap_pd(f->r), PD);
	assert_int_equal(iw_rdmap_stream(f->r), STREAM);
	for (n = 0; n < IW_ARRAY_LEN(depths); n++) {
		cfg.sq_depth = depths[n][0];
		cfg.rq_depth = depths[n][1];
		r = f->r;
		assert_int_equal(iw_rdmap_new(&r, &cfg, &f->why), IW_E_INVAL);
		assert_null(r);
	}
	cfg.sq_depth = cfg.rq_depth = 1 << 20;
	assert_int_equal(iw_rdmap_new(&r, &cfg, &f->why), 0);
	iw_rdmap_free(r);
	cfg.stream = 0;
	assert_int_equal(iw_rdmap_new(&r, &cfg, &f->why), IW_E_INVAL);
	/* Whichever allocation fails, no memory leaks (done checks). */
	cfg.stream = 2;
	cfg.sq_depth = cfg.rq_depth = 1;
	for (n = 1;; n++) {
		memset(&f->why, 0, sizeof(f->why));
		f->mem.fail_at = n;
		err = iw_rdmap_new(&r, &cfg, &f->why);
		if (err == 0)
			break;
		assert_int_equal(err, IW_E_NOMEM);
		assert_int_equal(f->why.err, IW_E_NOMEM);
	}
	assert_true(n > 4);
	f->mem.fail_at = 0;
	iw_rdmap_free(r);
	iw_rdmap_free(NULL);
	done(f);
}

/* RDMAP-19, RDMAP-22: one receive, one operation, one Read in each direction, repeatedly */
static void depths_of_one_are_enough(void **state)
{
	struct iw_rdmap_params p = { .initiator = true, .dv = 1, .ird = 1, .ord = 1 };
	struct fixture *f = fresh(0);
	struct iw_rdmap_cfg cfg = { .mem = &f->mem.mem,
				    .stags = f->stags,
				    .pd = PD,
				    .stream = STREAM,
				    .sq_depth = 1,
				    .rq_depth = 1 };
	uint32_t stag = reg(f, 7, PD, 0);
	struct iw_segment seg;
	struct iw_ddp h;
	unsigned i;

	(void)state;
	iw_rdmap_free(f->r);
	assert_int_equal(iw_rdmap_new(&f->r, &cfg, &f->why), 0);
	assert_int_equal(iw_rdmap_start(f->r, &p, &f->why), 0);
	for (i = 0; i < 5; i++) {
		start_read(f, stag, 0x1000, 3);
		assert_int_equal(iw_rdmap_post(f->r, &(struct iw_op){ 0 }, NOW), IW_E_FULL);
		assert_int_equal(feed_response(f, stag, 0x1000, 3, true), 0);
		assert_int_equal(next(f).cookie, 55);
		assert_int_equal(feed_rreq(f, stag, 0x1000, 4), 0);
		assert_true(pull(f, &seg, &h));
		assert_int_equal(seg.payload_len, 4);
		post(f, 0, 16);
		h = untagged(f, IW_OP_SEND, IW_QN_SEND);
		assert_int_equal(feed(f, &h, "abcde", 5), 0);
		assert_int_equal(next(f).len, 5);
	}
	done(f);
}

/* RDMAP-03: the reserved bits are ignored */
static void reserved_bits_are_ignored(void **state)
{
	struct fixture *f = started();
	struct iw_ddp h = untagged(f, IW_OP_SEND, IW_QN_SEND);

	(void)state;
	post(f, 0, 256);
	h.rsvd_rdmap = 3;
	h.rsvd_ddp = 15;
	h.inval_stag = 0x1234; /* ignored in a Send without Invalidate (RDMAP-05) */
	assert_int_equal(feed(f, &h, "x", 1), 0);
	assert_false(next(f).invalidated);
	done(f);
}

/* SEC-24: each complete Write takes one use, unless it is empty */
static void write_uses_up_its_registration_when_it_has_been_delivered(void **state)
{
	static const uint8_t octets[8];
	struct fixture *f = started();
	uint32_t stag = reg(f, IW_RIGHT_REMOTE_WRITE, PD, 0);
	struct iw_ddp h = tagged(IW_OP_WRITE, stag, 0x1000);

	(void)state;
	iw_stag_get(f->stags, stag)->uses = 2;
	assert_int_equal(feed(f, &h, octets, 0), 0);
	assert_int_equal(feed(f, &h, octets, 1), 0);
	h.last = false;
	assert_int_equal(feed(f, &h, octets, 8), 0);
	h.last = true;
	h.to += 8;
	assert_int_equal(feed(f, &h, octets, 8), 0);
	assert_null(iw_stag_get(f->stags, stag));
	assert_int_equal(feed(f, &h, octets, 8), IW_E_DDP_STAG);
	done(f);
}

/* RDMAP-07, DDP-103: M, D and R; the Terminate includes the header of the segment at fault */
static void terminates_carry_the_headers_of_figure_10(void **state)
{
	static const struct {
		int err;
		bool headers;
	} cases[] = {
		{ IW_E_MPA_CRC, false },   { IW_E_MPA_LOCAL, false }, { IW_E_RDMAP_LOCAL, false },
		{ IW_E_DDP_LOCAL, false }, { IW_E_RP_UNSPEC, true },  { IW_E_RO_UNSPEC, true },
		{ IW_E_DDP_STAG, true },   { IW_E_DDP_MO, true },
	};
	static const struct iw_rreq rreq = { .size = 5 };
	size_t i;

	(void)state;
	for (i = 0; i < IW_ARRAY_LEN(cases); i++) {
		struct fixture *f = started();
		struct iw_ddp h = tagged(IW_OP_WRITE, 0x1234, 0x5678), of;
		bool protection = cases[i].err == IW_E_RP_UNSPEC;
		struct iw_terminate t;

		iw_fail(&f->why, cases[i].err, "test");
		iw_rdmap_local_fault(f->r, &f->why, &h, 70000, &rreq);
		t = assert_terminates(f, cases[i].err, iw_err_term(cases[i].err));
		assert_int_equal(t.m, cases[i].headers);
		assert_int_equal(t.d, cases[i].headers);
		assert_int_equal(t.r, protection);
		assert_int_equal(t.has_rreq, protection);
		assert_int_equal(t.ddp_len, cases[i].headers ? UINT16_MAX : 0);
		if (cases[i].headers) {
			assert_int_equal(t.ddp_hdr_len, IW_DDP_TAGGED_LEN);
			assert_true(iw_wire_ddp_decode(&of, t.ddp, t.ddp_hdr_len) > 0);
			assert_true(of.stag == 0x1234 && of.to == 0x5678);
		}
		if (protection)
			assert_int_equal(t.rreq.size, 5);
		done(f);
	}
}

/* RDMAP-07: without a segment at fault, the Terminate includes no headers */
static void terminate_without_a_segment_has_no_headers(void **state)
{
	struct fixture *f = started();
	struct iw_terminate t;

	(void)state;
	iw_fail(&f->why, IW_E_RO_GLOBAL, "test");
	iw_rdmap_fail(f->r, &f->why);
	t = assert_terminates(f, IW_E_RO_GLOBAL, IW_TERM(0, 2, 8));
	assert_false(t.m || t.d || t.r);
	done(f);
}

/* There is no peer yet, and no agreed version for a Terminate. */
static void fault_before_the_start_ends_the_queue_pair_in_silence(void **state)
{
	struct fixture *f = fresh(0);
	struct iw_fault why = { 0 };
	struct iw_segment seg;
	struct iw_ddp h;

	(void)state;
	post(f, 0, 16);
	assert_int_equal(iw_rdmap_post(f->r, &(struct iw_op){ 0 }, NOW), IW_E_STATE);
	iw_rdmap_close(f->r); /* there is no connection to close */
	assert_int_equal(iw_rdmap_state(f->r), IW_RDMAP_IDLE);
	assert_null(iw_rdmap_fault(f->r));
	iw_fail(&why, IW_E_MPA_CRC, "test");
	iw_rdmap_fail(f->r, &why);
	assert_int_equal(iw_rdmap_fault(f->r)->err, IW_E_MPA_CRC);
	assert_false(iw_rdmap_terminate_due(f->r));
	assert_false(pull(f, &seg, &h));
	assert_int_equal(next(f).status, IW_E_CANCELED);
	done(f);
}

/* DDP-45 */
static void segment_shorter_than_its_header_ends_the_stream(void **state)
{
	uint8_t octets[18] = { 0x41, 0x43 };
	size_t len;

	(void)state;
	for (len = 0; len < 18; len++) {
		struct fixture *f = started();

		octets[0] = 0x41;
		assert_int_equal(iw_rdmap_receive(f->r, octets, len, NOW, &f->why), IW_E_DDP_LOCAL);
		assert_terminates(f, IW_E_DDP_LOCAL, IW_TERM(1, 0, 0));
		done(f);
	}
}

/* --- RTR -------------------------------------------------------------------------------------- */

/* ENH-16: the ULP sees no form; after a Send form, its first Send has MSN 2 */
static void rtr_of_each_form_is_hidden_from_the_ulp(void **state)
{
	unsigned form;

	(void)state;
	for (form = 1; form <= 4; form <<= 1) {
		struct fixture *f =
			with((struct iw_rdmap_params){ .dv = 1, .ird = 2, .ord = 2, .rtr = 7 });
		struct fixture *i = with((struct iw_rdmap_params){
			.initiator = true, .dv = 1, .ird = 2, .ord = 2, .rtr = (uint8_t)form });
		struct iw_op op = { .kind = IW_OPK_SEND };
		struct iw_segment seg;
		struct iw_completion c;
		struct iw_rreq q;
		struct iw_ddp h;

		post(f, 0, 256);
		assert_int_equal(iw_rdmap_post(i->r, &op, NOW), 0);
		assert_true(pull(i, &seg, &h));
		assert_int_equal(h.opcode, form == 1   ? IW_OP_SEND
					   : form == 2 ? IW_OP_WRITE
						       : IW_OP_RREQ);
		if (h.tagged)
			assert_int_not_equal(h.stag, 0);
		if (form == 4) {
			assert_true(iw_rreq_decode(&q, seg.hdr + 18, seg.hdr_len - 18) > 0);
			assert_true(q.size == 0 && q.sink_stag != 0 && q.src_stag != 0);
		}
		assert_int_equal(iw_rdmap_receive(f->r, seg.hdr, seg.hdr_len, NOW, &f->why), 0);
		assert_false(iw_rdmap_next_completion(f->r, &c));
		assert_true(pull(i, &seg, &h));
		assert_int_equal(h.opcode, IW_OP_SEND);
		assert_int_equal(h.msn, form == 1 ? 2 : 1);
		assert_int_equal(iw_rdmap_receive(f->r, seg.hdr, seg.hdr_len, NOW, &f->why), 0);
		assert_int_equal(next(f).cookie, 100);
		if (form == 4) { /* answered; the initiator hides the answer from its ULP */
			assert_true(pull(f, &seg, &h));
			assert_int_equal(h.opcode, IW_OP_RRESP);
			assert_true(iw_rdmap_waiting(i->r));
			assert_int_equal(iw_rdmap_receive(i->r, seg.hdr, seg.hdr_len, NOW, &i->why),
					 0);
			assert_false(iw_rdmap_waiting(i->r));
		}
		assert_int_equal(next(i).status, 0);
		assert_false(iw_rdmap_next_completion(i->r, &c));
		done(f);
		done(i);
	}
}

/* ENH-16: nothing is sent before the RTR, not even the answer to an early Read Request */
static void rtr_is_sent_before_everything_else(void **state)
{
	struct fixture *f = with((struct iw_rdmap_params){
		.initiator = true, .dv = 1, .ird = 2, .ord = 2, .rtr = IW_RTR_WRITE });
	struct iw_op op = { .kind = IW_OPK_SEND };
	struct iw_segment seg;
	struct iw_ddp h;

	(void)state;
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), 0);
	assert_int_equal(feed_rreq(f, reg(f, IW_RIGHT_REMOTE_READ, PD, 0), 0x1000, 1), 0);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(h.opcode, IW_OP_WRITE);
	assert_int_equal(seg.payload_len, 0);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(h.opcode, IW_OP_RRESP);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(h.opcode, IW_OP_SEND);
	done(f);
}

/* ENH-17: the responder accepts only the agreed forms */
static void first_frame_that_is_no_rtr_terminates(void **state)
{
	struct fixture *f = with((struct iw_rdmap_params){ .dv = 1, .ird = 2, .ord = 2, .rtr = 2 });
	struct iw_ddp h = untagged(f, IW_OP_SEND, IW_QN_SEND);

	(void)state;
	post(f, 0, 256);
	/* a Send form, but only the Write was agreed */
	assert_int_equal(feed(f, &h, "", 0), IW_E_MPA_RTR);
	assert_terminates(f, IW_E_MPA_RTR, IW_TERM(2, 0, 7));
	done(f);
	f = with((struct iw_rdmap_params){ .dv = 1, .ird = 2, .ord = 2, .rtr = 7 });
	h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	post(f, 0, 256);
	assert_int_equal(feed(f, &h, "data", 4), IW_E_MPA_RTR);
	done(f);
	f = with((struct iw_rdmap_params){ .dv = 1, .ird = 2, .ord = 2, .rtr = 7 });
	h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	h.last = false; /* not the last segment */
	post(f, 0, 256);
	assert_int_equal(feed(f, &h, "", 0), IW_E_MPA_RTR);
	done(f);
	f = with((struct iw_rdmap_params){ .dv = 1, .ird = 2, .ord = 2, .rtr = 7 });
	/* a Read that is not empty */
	assert_int_equal(feed_rreq(f, reg(f, IW_RIGHT_REMOTE_READ, PD, 0), 0x1000, 1),
			 IW_E_MPA_RTR);
	done(f);
	f = with((struct iw_rdmap_params){ .dv = 1, .ird = 2, .ord = 2, .rtr = 7 });
	h = (struct iw_ddp){ .tagged = true,
			     .dv = 1,
			     .rv = 1,
			     .last = true,
			     .opcode = IW_OP_WRITE,
			     .stag = reg(f, IW_RIGHT_REMOTE_WRITE, PD, 0),
			     .to = 0x1000 };
	assert_int_equal(feed(f, &h, "data", 4), IW_E_MPA_RTR);
	done(f);
}

/* ENH-17: the initiator may send a Terminate instead of the RTR */
static void terminate_may_take_the_place_of_the_rtr(void **state)
{
	struct fixture *f = with((struct iw_rdmap_params){ .dv = 1, .ird = 2, .ord = 2, .rtr = 7 });
	struct iw_ddp h = untagged(f, IW_OP_TERM, IW_QN_TERM);

	(void)state;
	assert_int_equal(feed(f, &h, "\x20\x07\x00\x00", 4), IW_E_PEER_TERMINATE);
	assert_int_equal(f->why.term, IW_TERM(2, 0, 7));
	done(f);
}

/* --- an LLP that does not keep order ---------------------------------------------------------- */

static int feed_seq(struct fixture *f, uint64_t seq, const struct iw_ddp *h, const void *payload,
		    size_t len)
{
	uint8_t ulpdu[2048];
	int n = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), h);

	memcpy(ulpdu + n, payload, len);
	return iw_rdmap_receive_seq(f->r, seq, ulpdu, (size_t)n + len, NULL, NOW, &f->why);
}

/* A segment that the LLP lends, in ulpdu. */
struct lendable {
	uint8_t ulpdu[512];
	size_t hdr;
	struct iw_lend lend;
};

static int feed_octets(struct fixture *f, uint64_t seq, const struct iw_ddp *h, const void *payload,
		       size_t len, struct lendable *l)
{
	*l = (struct lendable){ .lend = { .loan = 7 + seq } };
	l->hdr = (size_t)iw_wire_ddp_encode(l->ulpdu, sizeof(l->ulpdu), h);
	memcpy(l->ulpdu + l->hdr, payload, len);
	return iw_rdmap_receive_seq(f->r, seq, l->ulpdu, l->hdr + len, &l->lend, NOW, &f->why);
}

static int feed_lendable(struct fixture *f, uint64_t seq, const struct iw_ddp *h, const char *text,
			 struct lendable *l)
{
	return feed_octets(f, seq, h, text, strlen(text), l);
}

static struct fixture *unordered(void)
{
	struct fixture *f = fresh(64);
	struct iw_rdmap_params p = { .dv = 1, .ird = 2, .ord = 2 };

	assert_int_equal(iw_rdmap_start(f->r, &p, &f->why), 0);
	return f;
}

/* RDMAP-28, RDMAP-32, DDP-05, DDP-63, DDP-66: placed at once, processed in the sender's order */
static void early_segments_are_placed_and_wait_for_their_turn(void **state)
{
	struct fixture *f = unordered();
	uint32_t w = reg(f, IW_RIGHT_REMOTE_WRITE | IW_RIGHT_REMOTE_READ, PD, STREAM);
	struct iw_rreq q = { .sink_stag = 1, .size = 4, .src_stag = w, .src_to = 0x1000 };
	struct iw_ddp send = untagged(f, IW_OP_SEND, IW_QN_SEND),
		      rreq = untagged(f, IW_OP_RREQ, IW_QN_RREQ);
	struct iw_ddp write = tagged(IW_OP_WRITE, w, 0x1000);
	uint8_t body[IW_RDMAP_RREQ_LEN];
	struct iw_completion c;
	struct iw_segment seg;
	struct iw_ddp h;

	(void)state;
	post(f, 0, 256);
	iw_rreq_encode(body, sizeof(body), &q);
	assert_int_equal(feed_seq(f, 2, &rreq, body, sizeof(body)), 0);
	assert_int_equal(feed_seq(f, 1, &send, "yes", 3), 0);
	assert_false(iw_rdmap_next_completion(f->r, &c));
	/* the Read Request was placed but not delivered: the Response does not begin */
	assert_false(pull(f, &seg, &h));
	assert_memory_equal(f->recv[0], "yes", 3);
	assert_int_equal(feed_seq(f, 0, &write, "data", 4), 0);
	assert_int_equal(next(f).len, 3);
	assert_true(pull(f, &seg, &h));
	assert_memory_equal(seg.payload[0].base, "data", 4);
	done(f);
}

static struct fixture *lending(bool loans)
{
	struct fixture *f = fresh_with(64, loans);
	struct iw_rdmap_params p = { .dv = 1, .ird = 2, .ord = 2 };

	assert_int_equal(iw_rdmap_start(f->r, &p, &f->why), 0);
	for (unsigned i = 0; i < 4; i++)
		post(f, i, 8);
	return f;
}

/* Asserts the next completion and where its octets are: in the lent segment l, or in the buffer. */
static void must_come(struct fixture *f, unsigned i, const char *payload, const struct lendable *l)
{
	static const uint8_t nothing[8];
	struct iw_completion c = next(f);

	assert_int_equal(c.cookie, 100 + i);
	assert_int_equal(c.status, 0);
	assert_int_equal(c.len, strlen(payload));
	if (!l) {
		assert_int_equal(c.loan, 0);
		assert_memory_equal(f->recv[i], payload, c.len);
		return;
	}
	assert_int_equal(c.loan, l->lend.loan);
	assert_ptr_equal(c.data, l->ulpdu + l->hdr);
	assert_memory_equal(c.data, payload, c.len);
	assert_memory_equal(f->recv[i], nothing, sizeof(nothing));
}

/* DDP-68: the Send consumes its buffer nevertheless; an early Send is copied */
static void a_send_received_in_order_can_stay_in_the_umem(void **state)
{
	struct fixture *f = lending(true);
	struct lendable l[4];
	struct iw_ddp h[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		h[i] = untagged(f, IW_OP_SEND, IW_QN_SEND);
	assert_int_equal(feed_lendable(f, 0, &h[0], "one", &l[0]), 0);
	/* Early: copied at once and not lent, also when a duplicate arrives. */
	assert_int_equal(feed_lendable(f, 2, &h[2], "three", &l[2]), 0);
	assert_memory_equal(f->recv[2], "three", 5);
	assert_int_equal(feed_lendable(f, 2, &h[2], "three", &l[3]), 0);
	assert_false(l[2].lend.taken || l[3].lend.taken);
	assert_int_equal(feed_lendable(f, 1, &h[1], "two", &l[1]), 0);
	assert_int_equal(feed_lendable(f, 3, &h[3], "four", &l[3]), 0);
	assert_true(l[0].lend.taken && l[1].lend.taken && l[3].lend.taken);
	must_come(f, 0, "one", &l[0]);
	must_come(f, 1, "two", &l[1]);
	must_come(f, 2, "three", NULL);
	must_come(f, 3, "four", &l[3]);
	done(f);
}

static void only_whole_sends_stay_and_only_where_that_is_wanted(void **state)
{
	struct fixture *f = lending(false);
	struct iw_ddp h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	struct iw_rreq q = { .sink_stag = 1, .size = 4, .src_to = 0x1000 };
	uint8_t body[IW_RDMAP_RREQ_LEN];
	struct iw_segment seg;
	struct lendable l;
	uint32_t w;

	(void)state;
	assert_int_equal(feed_lendable(f, 0, &h, "one", &l), 0);
	assert_false(l.lend.taken);
	must_come(f, 0, "one", NULL);
	done(f);
	f = lending(true);
	h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	h.last = false;
	assert_int_equal(feed_lendable(f, 0, &h, "on", &l), 0);
	assert_false(l.lend.taken);
	h.last = true;
	h.mo = 2;
	assert_int_equal(feed_lendable(f, 1, &h, "e", &l), 0);
	assert_false(l.lend.taken);
	must_come(f, 0, "one", NULL);
	w = reg(f, IW_RIGHT_REMOTE_WRITE | IW_RIGHT_REMOTE_READ, PD, STREAM);
	h = untagged(f, IW_OP_RREQ, IW_QN_RREQ);
	q.src_stag = w;
	iw_rreq_encode(body, sizeof(body), &q);
	assert_int_equal(feed_octets(f, 2, &h, body, sizeof(body), &l), 0);
	assert_false(l.lend.taken);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(h.stag, q.sink_stag);
	h = tagged(IW_OP_WRITE, w, 0x1000);
	assert_int_equal(feed_lendable(f, 3, &h, "data", &l), 0);
	assert_false(l.lend.taken);
	assert_memory_equal(f->buf + 1024, "data", 4);
	done(f);
}

/* DDP-87 ff.: checked first, like a segment that is copied */
static void faulty_send_does_not_stay_in_the_umem(void **state)
{
	struct fixture *f = lending(true);
	struct iw_ddp h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	struct iw_completion c;
	struct lendable l;

	(void)state;
	assert_int_equal(feed_lendable(f, 0, &h, "too long", &l), 0); /* as long as its buffer */
	h.msn++;
	assert_int_equal(feed_lendable(f, 1, &h, "too long.", &l), IW_E_DDP_TOOLONG);
	assert_false(l.lend.taken);
	done(f);
	f = lending(true);
	h = untagged(f, IW_OP_SEND, IW_QN_SEND);
	h.msn = 2; /* has a buffer, but is not the next in order */
	assert_int_equal(feed_lendable(f, 0, &h, "one", &l), IW_E_DDP_MSN);
	assert_false(l.lend.taken);
	done(f);
	f = lending(true);
	h = untagged(f, IW_OP_SEND_INV, IW_QN_SEND);
	h.inval_stag = 0x12345678;
	assert_int_equal(feed_lendable(f, 0, &h, "one", &l), IW_E_RP_INVAL);
	assert_false(l.lend.taken);
	c = next(f);
	assert_int_equal(c.status, IW_E_RP_INVAL);
	assert_int_equal(c.loan, 0);
	done(f);
}

/* RDMAP-20, RDMAP-21: the segments of two Responses arrive interleaved */
static void responses_may_interleave_on_an_unordered_llp(void **state)
{
	struct fixture *f = unordered();
	uint32_t sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	struct iw_ddp r1a, r1b, r2;
	struct iw_completion c;

	(void)state;
	start_read(f, sink, 0x1000, 8);
	start_read(f, sink, 0x1008, 4);
	r1a = tagged(IW_OP_RRESP, sink, 0x1000);
	r1a.last = false;
	r1b = tagged(IW_OP_RRESP, sink, 0x1004);
	r2 = tagged(IW_OP_RRESP, sink, 0x1008);
	assert_int_equal(feed_seq(f, 2, &r2, "IJKL", 4), 0);
	assert_int_equal(feed_seq(f, 1, &r1b, "EFGH", 4), 0);
	assert_false(iw_rdmap_next_completion(f->r, &c));
	assert_int_equal(feed_seq(f, 0, &r1a, "ABCD", 4), 0);
	assert_int_equal(next(f).len, 8);
	assert_int_equal(next(f).len, 4);
	assert_memory_equal(f->buf + 1024, "ABCDEFGHIJKL", 12);
	done(f);
}

/* RDMAP-20: the second Response arrives first, and is longer than the sink of the first Read */
static void early_response_to_the_longer_of_two_overlapping_sinks_is_placed(void **state)
{
	struct fixture *f = unordered();
	uint32_t sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	struct iw_ddp h = tagged(IW_OP_RRESP, sink, 0x1000);

	(void)state;
	start_read(f, sink, 0x1000, 4);
	start_read(f, sink, 0x1000, 8);
	assert_int_equal(feed_seq(f, 1, &h, "ABCDEFGH", 8), 0);
	assert_int_equal(feed_seq(f, 0, &h, "ABCD", 4), 0);
	assert_int_equal(next(f).len, 4);
	assert_int_equal(next(f).len, 8);
	assert_memory_equal(f->buf + 1024, "ABCDEFGH", 8);
	done(f);
}

/*
 * SEC-23: overlapping segments add up to the requested length. The octets in the gap are unchanged.
 */
static void response_with_a_gap_under_an_overlap_terminates(void **state)
{
	static const struct {
		uint64_t to;
		bool last;
	} pieces[] = { { 0x1000, false }, { 0x1000, false }, { 0x1008, true } };
	struct fixture *f = unordered();
	uint32_t sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	struct iw_ddp h;

	(void)state;
	start_read(f, sink, 0x1000, 12);
	for (uint64_t i = 0; i < 3; i++) {
		h = tagged(IW_OP_RRESP, sink, pieces[i].to);
		h.last = pieces[i].last;
		assert_int_equal(feed_seq(f, i, &h, "ABCD", 4), i < 2 ? 0 : IW_E_DDP_BOUNDS);
	}
	assert_terminates(f, IW_E_DDP_BOUNDS, IW_TERM(1, 1, 1));
	assert_int_equal(next(f).status, IW_E_DDP_BOUNDS);
	done(f);
}

/* DDP-63: a duplicate of an early segment is ignored */
static void repeated_response_segments_are_harmless(void **state)
{
	struct fixture *f = unordered();
	uint32_t sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	struct iw_ddp first, second;

	(void)state;
	start_read(f, sink, 0x1000, 8);
	first = tagged(IW_OP_RRESP, sink, 0x1000);
	first.last = false;
	second = tagged(IW_OP_RRESP, sink, 0x1004);
	assert_int_equal(feed_seq(f, 1, &second, "EFGH", 4), 0);
	assert_int_equal(feed_seq(f, 1, &second, "EFGH", 4), 0);
	assert_int_equal(feed_seq(f, 0, &first, "ABCD", 4), 0);
	assert_int_equal(next(f).status, 0);
	assert_memory_equal(f->buf + 1024, "ABCDEFGH", 8);
	done(f);
}

/* RDMAP-20, RDMAP-34: both were requested, but the oldest Read must be answered first */
static void responses_in_another_order_than_their_requests_terminate(void **state)
{
	unsigned elsewhere;

	(void)state;
	for (elsewhere = 0; elsewhere < 2; elsewhere++) {
		struct fixture *f = unordered();
		uint32_t sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
		uint32_t other = elsewhere ? reg(f, IW_RIGHT_READ_SINK, PD, 0) : sink;
		int err = elsewhere ? IW_E_DDP_STAG : IW_E_DDP_BOUNDS;
		struct iw_terminate t;
		struct iw_ddp h;

		start_read(f, sink, 0x1000, 1);
		start_read(f, other, 0x1010, 1);
		h = tagged(IW_OP_RRESP, other, 0x1010);
		assert_int_equal(feed_seq(f, 0, &h, "I", 1), err);
		t = assert_terminates(f, err, elsewhere ? IW_TERM(1, 1, 0) : IW_TERM(1, 1, 1));
		assert_true(t.d && t.ddp_len == 15);
		assert_int_equal(next(f).status, err);
		done(f);
	}
}

/* RDMAP-21: two Responses to one Read: the second one is refused when it is the next in order */
static void second_response_to_a_read_terminates(void **state)
{
	struct fixture *f = unordered();
	struct iw_ddp h = tagged(IW_OP_RRESP, 0, 0);

	(void)state;
	start_read(f, reg(f, IW_RIGHT_READ_SINK, PD, 0), 0x1000, 0);
	assert_int_equal(feed_seq(f, 1, &h, "", 0), 0);
	assert_int_equal(feed_seq(f, 0, &h, "", 0), IW_E_RO_OPCODE);
	assert_terminates(f, IW_E_RO_OPCODE, IW_TERM(0, 2, 6));
	assert_int_equal(next(f).status, 0);
	done(f);
}

/* The hint reads no octets outside of the ULPDU, and changes nothing. */
static void prefetching_any_octets_is_harmless(void **state)
{
	struct fixture *f = started();
	uint8_t *octets;
	size_t len;

	(void)state;
	for (len = 0; len < 20; len++) {
		octets = malloc(len ? len : 1); /* a sanitizer detects reads beyond its ends */
		assert_non_null(octets);
		memset(octets, 0xff, len);
		iw_rdmap_prefetch(f->r, octets, len);
		free(octets);
	}
	done(f);
}

static void early_response_beyond_the_sink_of_a_later_read_is_a_bounds_violation(void **state)
{
	struct fixture *f = unordered();
	uint32_t first = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	uint32_t second = reg(f, IW_RIGHT_READ_SINK, PD, 0);
	struct iw_ddp h = tagged(IW_OP_RRESP, second, 0x1004);

	(void)state;
	start_read(f, first, 0x1000, 8);
	start_read(f, second, 0x1000, 8);
	assert_int_equal(feed_seq(f, 1, &h, "12345", 5), IW_E_DDP_BOUNDS);
	assert_untouched(f);
	done(f);
}

/* RDMAP-21: refused before any of it is placed */
static void response_beyond_every_read_is_refused_on_an_unordered_llp(void **state)
{
	static const struct {
		uint64_t to;
		size_t len;
	} bad[] = { { 0x0fff, 1 }, { 0x1000, 9 }, { 0x1004, 5 }, { 0x1008, 1 }, { 0x1010, 1 } };
	size_t i;

	(void)state;
	for (i = 0; i < IW_ARRAY_LEN(bad); i++) {
		struct fixture *f = unordered();
		uint32_t sink = reg(f, IW_RIGHT_READ_SINK, PD, 0);
		struct iw_ddp h;

		start_read(f, sink, 0x1000, 8);
		h = tagged(IW_OP_RRESP, sink, bad[i].to);
		assert_int_equal(feed_seq(f, 3, &h, "123456789", bad[i].len), IW_E_DDP_BOUNDS);
		assert_untouched(f);
		done(f);
	}
}

/* DDP-102, DDP-103, RDMAP-37: detected when it is the next in order, reported with its header */
static void early_segment_that_breaks_the_order_terminates_at_its_turn(void **state)
{
	struct fixture *f = unordered();
	uint32_t stag = reg(f, IW_RIGHT_REMOTE_WRITE, PD, STREAM);
	struct iw_ddp write = tagged(IW_OP_WRITE, stag, 0x1000);
	struct iw_ddp send = untagged(f, IW_OP_SEND, IW_QN_SEND);
	struct iw_terminate t;
	struct iw_ddp of;

	(void)state;
	post(f, 0, 256);
	write.last = false;
	assert_int_equal(feed_seq(f, 1, &send, "xyz", 3), 0);
	assert_int_equal(feed_seq(f, 0, &write, "data", 4), IW_E_DDP_MSN);
	t = assert_terminates(f, IW_E_DDP_MSN, IW_TERM(1, 2, 3));
	assert_int_equal(t.ddp_len, IW_DDP_UNTAGGED_LEN + 3);
	assert_true(iw_wire_ddp_decode(&of, t.ddp, t.ddp_hdr_len) > 0);
	assert_false(of.tagged);
	assert_int_equal(of.opcode, IW_OP_SEND);
	assert_int_equal(next(f).status, IW_E_CANCELED);
	done(f);
}

/* --- events ----------------------------------------------------------------------------------- */

static void segments_and_messages_are_traced(void **state)
{
	struct fixture *f = started();
	uint32_t stag = reg(f, IW_RIGHT_REMOTE_WRITE | IW_RIGHT_REMOTE_READ, PD, STREAM);
	const struct iw_trace_event *ev;
	struct iw_segment seg;
	struct iw_ddp h;

	(void)state;
	post(f, 0, 256);
	trace_log_on(&log_);
	h = untagged(f, IW_OP_SEND_SE, IW_QN_SEND);
	assert_int_equal(feed(f, &h, "hello", 5), 0);
	h = tagged(IW_OP_WRITE, stag, 0x1010);
	h.last = false;
	assert_int_equal(feed(f, &h, "0123456789", 10), 0);
	assert_int_equal(feed_write(f, stag, 0x101a, 20), 0);
	assert_int_equal(feed_rreq(f, stag, 0x1000, 100), 0);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(trace_log_count(&log_, IW_TRACE_segment_received), 4);
	assert_int_equal(trace_log_count(&log_, IW_TRACE_placed), 4);
	assert_int_equal(trace_log_count(&log_, IW_TRACE_delivered), 3);
	assert_int_equal(trace_log_count(&log_, IW_TRACE_segment_sent), 1);
	assert_int_equal(log_.n, 12);

	ev = trace_log_get(&log_, IW_TRACE_segment_received, 0);
	assert_int_equal(ev->stream, STREAM);
	assert_string_equal(ev->segment_received.opcode, iw_opcode_name(IW_OP_SEND_SE));
	assert_true(!ev->segment_received.tagged && ev->segment_received.last);
	assert_true(ev->segment_received.msn == 1 && ev->segment_received.octets == 5);
	ev = trace_log_get(&log_, IW_TRACE_segment_received, 1);
	assert_true(ev->segment_received.tagged && !ev->segment_received.last);
	assert_true(ev->segment_received.stag == stag && ev->segment_received.to == 0x1010);
	ev = trace_log_get(&log_, IW_TRACE_delivered, 1);
	assert_string_equal(ev->delivered.opcode, iw_opcode_name(IW_OP_WRITE));
	assert_true(ev->delivered.stag == stag && ev->delivered.to == 0x1010);
	assert_int_equal(ev->delivered.octets, 30);
	ev = trace_log_get(&log_, IW_TRACE_segment_sent, 0);
	assert_string_equal(ev->segment_sent.opcode, iw_opcode_name(IW_OP_RRESP));
	assert_true(ev->segment_sent.tagged && ev->segment_sent.stag == 0x5151);
	assert_true(ev->segment_sent.to == 0x77 && ev->segment_sent.octets == 100);
	log_.tracer.emit = NULL;
	done(f);
}

static void segment_that_breaks_a_rule_is_traced_but_not_delivered(void **state)
{
	struct fixture *f = started();
	const struct iw_trace_event *ev;
	struct iw_segment seg;
	struct iw_ddp h;

	(void)state;
	trace_log_on(&log_);
	assert_true(feed_write(f, 0x77, 0x1000, 20) < 0);
	assert_true(pull(f, &seg, &h));
	assert_int_equal(log_.n, 2);
	assert_non_null(trace_log_get(&log_, IW_TRACE_segment_received, 0));
	ev = trace_log_get(&log_, IW_TRACE_segment_sent, 0);
	assert_string_equal(ev->segment_sent.opcode, iw_opcode_name(IW_OP_TERM));
	assert_int_equal(ev->segment_sent.octets, seg.hdr_len - IW_DDP_UNTAGGED_LEN);
	log_.tracer.emit = NULL;
	done(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_are_delivered_in_order_each_with_one_buffer),
		cmocka_unit_test(solicited_event_is_reported),
		cmocka_unit_test(write_is_placed_and_not_delivered),
		cmocka_unit_test(zero_length_write_checks_neither_stag_nor_to),
		cmocka_unit_test(send_with_invalidate_revokes_a_stag_of_this_stream),
		cmocka_unit_test(invalidate_of_a_stag_that_is_not_this_streams_alone_terminates),
		cmocka_unit_test(wrong_rdmap_version_terminates),
		cmocka_unit_test(wrong_ddp_version_terminates),
		cmocka_unit_test(unknown_opcodes_terminate),
		cmocka_unit_test(opcode_in_the_wrong_model_or_queue_terminates),
		cmocka_unit_test(unknown_queue_terminates),
		cmocka_unit_test(sends_that_fit_no_buffer_terminate),
		cmocka_unit_test(writes_outside_the_grant_send_a_terminate),
		cmocka_unit_test(after_an_error_everything_is_dropped_and_flushed),
		cmocka_unit_test(reads_are_answered_in_order_with_the_sinks_stag),
		cmocka_unit_test(zero_length_read_is_answered_without_looking_at_the_source),
		cmocka_unit_test(reads_outside_the_grant_send_a_terminate),
		cmocka_unit_test(foreign_stag_and_unknown_stag_get_the_same_terminate),
		cmocka_unit_test(more_reads_than_ird_find_no_buffer),
		cmocka_unit_test(read_request_with_ird_zero_finds_no_buffer),
		cmocka_unit_test(read_request_of_another_length_terminates),
		cmocka_unit_test(read_request_may_come_in_pieces),
		cmocka_unit_test(read_source_revoked_midway_terminates_with_the_rest),
		cmocka_unit_test(read_completes_when_its_whole_response_is_delivered),
		cmocka_unit_test(responses_that_are_not_what_was_asked_terminate),
		cmocka_unit_test(zero_length_read_completes_with_any_stag_in_the_response),
		cmocka_unit_test(response_to_a_revoked_sink_terminates),
		cmocka_unit_test(peers_terminate_is_understood_and_ends_everything),
		cmocka_unit_test(terminate_is_taken_in_the_middle_of_a_message),
		cmocka_unit_test(terminate_of_siw_is_reported_with_its_meaning),
		cmocka_unit_test(terminate_of_three_octets_ends_the_stream_too),
		cmocka_unit_test(segment_shorter_than_its_header_ends_the_stream),
		cmocka_unit_test(rtr_of_each_form_is_hidden_from_the_ulp),
		cmocka_unit_test(first_frame_that_is_no_rtr_terminates),
		cmocka_unit_test(rtr_is_sent_before_everything_else),
		cmocka_unit_test(early_segments_are_placed_and_wait_for_their_turn),
		cmocka_unit_test(a_send_received_in_order_can_stay_in_the_umem),
		cmocka_unit_test(only_whole_sends_stay_and_only_where_that_is_wanted),
		cmocka_unit_test(faulty_send_does_not_stay_in_the_umem),
		cmocka_unit_test(responses_may_interleave_on_an_unordered_llp),
		cmocka_unit_test(early_response_to_the_longer_of_two_overlapping_sinks_is_placed),
		cmocka_unit_test(response_with_a_gap_under_an_overlap_terminates),
		cmocka_unit_test(repeated_response_segments_are_harmless),
		cmocka_unit_test(responses_in_another_order_than_their_requests_terminate),
		cmocka_unit_test(response_beyond_every_read_is_refused_on_an_unordered_llp),
		cmocka_unit_test(
			early_response_beyond_the_sink_of_a_later_read_is_a_bounds_violation),
		cmocka_unit_test(early_segment_that_breaks_the_order_terminates_at_its_turn),
		cmocka_unit_test(start_without_memory_can_still_send_a_terminate),
		cmocka_unit_test(queue_pair_is_what_was_asked_for_or_an_error),
		cmocka_unit_test(depths_of_one_are_enough),
		cmocka_unit_test(reserved_bits_are_ignored),
		cmocka_unit_test(write_uses_up_its_registration_when_it_has_been_delivered),
		cmocka_unit_test(terminates_carry_the_headers_of_figure_10),
		cmocka_unit_test(terminate_without_a_segment_has_no_headers),
		cmocka_unit_test(fault_before_the_start_ends_the_queue_pair_in_silence),
		cmocka_unit_test(expired_read_source_terminates),
		cmocka_unit_test(read_request_after_our_end_is_a_fault),
		cmocka_unit_test(terminate_may_take_the_place_of_the_rtr),
		cmocka_unit_test(write_inside_a_send_terminates),
		cmocka_unit_test(second_response_to_a_read_terminates),
		cmocka_unit_test(segments_and_messages_are_traced),
		cmocka_unit_test(segment_that_breaks_a_rule_is_traced_but_not_delivered),
		cmocka_unit_test(prefetching_any_octets_is_harmless),
	};

	return cmocka_run_group_tests_name("rdmap_receive", tests, NULL, NULL);
}
