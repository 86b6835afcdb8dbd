// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sending: the order of operations, and their completion. */
#include "rdmap/rdmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"
#include "rdmap/internal.h" /* sets the slot numbers just before their wrap */
#include "util/num.h"

#define NOW IW_SEC(5)

struct fixture {
	struct test_mem mem;
	struct rng rng;
	uint64_t pos;
	struct iw_stag_table *stags;
	struct iw_rdmap *r;
	uint8_t buf[4096];
	uint32_t sink, rreq_msn, read_msn;
	struct iw_fault why;
};

static int test_random(void *ctx, void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len-- > 0)
		*p++ = (uint8_t)rng_next(ctx);
	return 0;
}

static struct fixture *with(struct iw_rdmap_params p, uint32_t first)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct iw_rdmap_cfg cfg;
	struct iw_region g;

	test_mem_init(&f->mem);
	assert_int_equal(iw_stag_table_new(&f->stags, &f->mem.mem, test_random, &f->rng), 0);
	cfg = (struct iw_rdmap_cfg){ .mem = &f->mem.mem,
				     .stags = f->stags,
				     .pd = 1,
				     .stream = 2,
				     .sq_depth = 8,
				     .rq_depth = 8 };
	assert_int_equal(iw_rdmap_new(&f->r, &cfg, &f->why), 0);
	f->r->sq_head = f->r->sq_untaken = f->r->sq_unsent = f->r->sq_tail = first;
	f->r->in_head = f->r->in_unsent = f->r->in_tail = first;
	f->r->outr_head = f->r->outr_tail = first;
	assert_int_equal(iw_rdmap_start(f->r, &p, &f->why), 0);
	g = (struct iw_region){ .rights = IW_RIGHT_READ_SINK | IW_RIGHT_REMOTE_READ,
				.pd = 1,
				.base = f->buf,
				.len = sizeof(f->buf),
				.expires = IW_TIME_NEVER,
				.uses = UINT32_MAX };
	assert_int_equal(iw_stag_add(f->stags, &g, &f->sink, &f->why), 0);
	f->rreq_msn = 1;
	return f;
}

static struct fixture *started(uint16_t ord)
{
	return with((struct iw_rdmap_params){ .initiator = true, .dv = 1, .ird = 2, .ord = ord },
		    0);
}

static void done(struct fixture *f)
{
	iw_rdmap_free(f->r);
	iw_stag_table_free(f->stags);
	assert_int_equal(f->mem.live, 0);
	free(f);
}

static int post(struct fixture *f, uint64_t cookie, enum iw_op_kind kind, unsigned flags,
		uint32_t len)
{
	struct iw_op op = { .cookie = cookie,
			    .kind = kind,
			    .flags = flags,
			    .len = len,
			    .remote_stag = 5,
			    .remote_to = 6,
			    .sink_stag = f->sink };

	if (kind != IW_OPK_READ) {
		op.sge[0] = (struct iw_vec){ f->buf, len };
		op.nsge = 1;
	}
	return iw_rdmap_post(f->r, &op, NOW);
}

/* Pulls the next segment and returns its opcode; -1: nothing to send. */
static int pull(struct fixture *f, size_t mulpdu, struct iw_segment *seg)
{
	struct iw_ddp h;

	memset(seg, 0xff, sizeof(*seg)); /* earlier contents are ignored */
	if (iw_rdmap_pull(f->r, mulpdu, seg, NOW) <= 0)
		return -1;
	assert_true(iw_wire_ddp_decode(&h, seg->hdr, seg->hdr_len) > 0);
	assert_true(seg->hdr_len + seg->payload_len <= mulpdu);
	f->pos += seg->hdr_len + seg->payload_len;
	iw_rdmap_pulled(f->r, f->pos);
	return h.opcode;
}

static int opcode(struct fixture *f)
{
	struct iw_segment seg;

	return pull(f, 1442, &seg);
}

static void respond(struct fixture *f, uint32_t len)
{
	struct iw_ddp h = { .tagged = true,
			    .last = true,
			    .dv = 1,
			    .rv = 1,
			    .opcode = IW_OP_RRESP,
			    .stag = f->sink };
	uint8_t ulpdu[2048] = { 0 };
	int n = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h);

	assert_int_equal(iw_rdmap_receive(f->r, ulpdu, (size_t)n + len, NOW, &f->why), 0);
}

static int request_of(struct fixture *f, uint32_t size)
{
	struct iw_ddp h = { .last = true,
			    .dv = 1,
			    .rv = 1,
			    .opcode = IW_OP_RREQ,
			    .qn = IW_QN_RREQ,
			    .msn = f->rreq_msn++ };
	struct iw_rreq q = { .sink_stag = 1, .size = size, .src_stag = f->sink };
	uint8_t ulpdu[64];
	int n = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h);

	n += iw_rreq_encode(ulpdu + n, sizeof(ulpdu) - (size_t)n, &q);
	return iw_rdmap_receive(f->r, ulpdu, (size_t)n, NOW, &f->why);
}

static void request(struct fixture *f, uint32_t size)
{
	assert_int_equal(request_of(f, size), 0);
}

static int64_t next(struct fixture *f)
{
	struct iw_completion c;

	if (!iw_rdmap_next_completion(f->r, &c))
		return -1;
	return c.status < 0 ? -1000 - (int64_t)c.cookie : (int64_t)c.cookie;
}

/* RDMAP-30, DDP-70 */
static void nothing_completes_before_the_llp_has_accepted_it(void **state)
{
	struct fixture *f = started(2);
	struct iw_segment seg;

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_SEND, 0, 2000), 0);
	assert_int_equal(pull(f, 1442, &seg), IW_OP_SEND);
	assert_int_equal(pull(f, 1442, &seg), IW_OP_SEND);
	iw_rdmap_sent(f->r, f->pos - 1, f->pos - 1);
	assert_int_equal(next(f), -1);
	iw_rdmap_sent(f->r, f->pos, f->pos);
	assert_int_equal(next(f), 1);
	assert_int_equal(next(f), -1);
	done(f);
}

/* RDMAP-31: a Send and a Write after an outstanding Read complete after it */
static void operations_complete_in_the_order_of_posting(void **state)
{
	struct fixture *f = started(2);
	struct iw_completion c;

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_READ, 0, 100), 0);
	assert_int_equal(post(f, 2, IW_OPK_SEND, 0, 10), 0);
	assert_int_equal(post(f, 3, IW_OPK_WRITE, 0, 10), 0);
	assert_int_equal(opcode(f), IW_OP_RREQ);
	/* only its completion is delayed, not its transmission */
	assert_int_equal(opcode(f), IW_OP_SEND);
	assert_int_equal(opcode(f), IW_OP_WRITE);
	iw_rdmap_sent(f->r, f->pos, f->pos);
	assert_int_equal(next(f), -1);
	respond(f, 100);
	assert_true(iw_rdmap_next_completion(f->r, &c));
	assert_true(c.cookie == 1 && c.kind == IW_OPK_READ && c.len == 100);
	assert_true(iw_rdmap_next_completion(f->r, &c));
	assert_true(c.cookie == 2 && c.kind == IW_OPK_SEND && c.len == 0);
	assert_true(iw_rdmap_next_completion(f->r, &c));
	assert_true(c.cookie == 3 && c.kind == IW_OPK_WRITE && c.len == 0);
	done(f);
}

/*
 * RDMAP-31, RDMAP-33, RDMAP-19: slot numbers wrap at 2^32 in each queue without loss, also for the
 * Read of slot 2^32 - 1. The depths are not powers of two.
 */
static void queues_continue_where_their_numbers_wrap(void **state)
{
	struct fixture *f =
		with((struct iw_rdmap_params){ .dv = 1, .ird = 3, .ord = 3 }, UINT32_MAX - 4);
	unsigned i;

	(void)state;
	for (i = 0; i < 12; i += 2) {
		assert_int_equal(post(f, i, IW_OPK_READ, 0, 8), 0);
		assert_int_equal(post(f, i + 1, IW_OPK_SEND, 0, 8), 0);
		request(f, 5);
		assert_int_equal(opcode(f), IW_OP_RRESP);
		assert_int_equal(opcode(f), IW_OP_RREQ);
		assert_int_equal(opcode(f), IW_OP_SEND);
		iw_rdmap_sent(f->r, f->pos, f->pos);
		assert_int_equal(next(f), -1);
		respond(f, 8);
		assert_int_equal(next(f), i);
		assert_int_equal(next(f), i + 1);
		assert_int_equal(next(f), -1);
	}
	assert_true(f->r->sq_tail < 100 && f->r->in_tail < 100 && f->r->outr_tail < 100);
	assert_true(iw_rdmap_drained(f->r));
	done(f);
}

/* RDMAP-29, DDP-60 */
static void messages_are_sent_in_the_order_of_posting_never_interleaved(void **state)
{
	struct fixture *f = started(2);

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_WRITE, 0, 3000), 0);
	assert_int_equal(post(f, 2, IW_OPK_SEND, 0, 10), 0);
	assert_int_equal(opcode(f), IW_OP_WRITE);
	request(f, 50);
	assert_int_equal(opcode(f), IW_OP_WRITE);
	assert_int_equal(opcode(f), IW_OP_WRITE);
	assert_int_equal(opcode(f), IW_OP_RRESP); /* sent between two messages */
	assert_int_equal(opcode(f), IW_OP_SEND);
	assert_int_equal(opcode(f), -1);
	done(f);
}

/* RDMAP-36, SEC-12 */
static void reads_above_ord_wait_and_hold_back_what_follows(void **state)
{
	struct fixture *f = started(2);

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_READ, 0, 8), 0);
	assert_int_equal(post(f, 2, IW_OPK_READ, 0, 8), 0);
	assert_int_equal(post(f, 3, IW_OPK_READ, 0, 8), 0);
	assert_int_equal(post(f, 4, IW_OPK_SEND, 0, 8), 0);
	assert_int_equal(opcode(f), IW_OP_RREQ);
	assert_int_equal(opcode(f), IW_OP_RREQ);
	assert_int_equal(opcode(f), -1);
	respond(f, 8);
	assert_int_equal(opcode(f), IW_OP_RREQ);
	assert_int_equal(opcode(f), IW_OP_SEND);
	done(f);
}

static void read_with_ord_zero_is_refused_at_once(void **state)
{
	struct fixture *f = started(0);

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_READ, 0, 8), IW_E_LIMIT);
	done(f);
}

/* RFC 5040 5.5: a fence */
static void fenced_operation_waits_for_earlier_reads(void **state)
{
	struct fixture *f = started(2);

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_READ, 0, 8), 0);
	assert_int_equal(post(f, 2, IW_OPK_SEND, IW_OPF_FENCE, 8), 0);
	assert_int_equal(opcode(f), IW_OP_RREQ);
	assert_int_equal(opcode(f), -1);
	respond(f, 8);
	assert_int_equal(opcode(f), IW_OP_SEND);
	done(f);
}

static void unsignaled_operations_report_only_failures(void **state)
{
	struct fixture *f = started(2);

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_WRITE, IW_OPF_UNSIGNALED, 8), 0);
	assert_int_equal(post(f, 2, IW_OPK_WRITE, 0, 8), 0);
	assert_int_equal(post(f, 3, IW_OPK_WRITE, IW_OPF_UNSIGNALED, 8), 0);
	assert_int_equal(opcode(f), IW_OP_WRITE);
	assert_int_equal(opcode(f), IW_OP_WRITE);
	iw_rdmap_sent(f->r, f->pos, f->pos);
	assert_int_equal(next(f), 2);
	assert_int_equal(next(f), -1);
	iw_rdmap_flush(f->r, IW_E_CANCELED);
	assert_int_equal(next(f), -1003);
	assert_int_equal(next(f), -1);
	done(f);
}

static void impossible_operations_are_refused(void **state)
{
	struct fixture *f = started(2);
	struct iw_op op = { .kind = IW_OPK_RECV };
	unsigned i;

	(void)state;
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), IW_E_INVAL);
	op.kind = IW_OPK_SEND;
	op.nsge = IW_RDMAP_SGE_MAX + 1;
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), IW_E_INVAL);
	/* A sink that is not registered, is too small, or has expired. */
	op = (struct iw_op){ .kind = IW_OPK_READ, .len = 4096, .sink_stag = f->sink };
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), 0);
	op.len++;
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), IW_E_INVAL);
	op.len = 1;
	op.sink_stag++;
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), IW_E_INVAL);
	op.sink_stag--;
	iw_stag_get(f->stags, f->sink)->expires = NOW;
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), IW_E_INVAL);
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW - 1), 0);
	for (i = 2; i < 8; i++)
		assert_int_equal(post(f, i, IW_OPK_SEND, 0, 1), 0);
	assert_int_equal(post(f, 9, IW_OPK_SEND, 0, 1), IW_E_FULL);
	done(f);
}

/* DDP-47: a message has less than 2^32 octets, whatever its slices */
static void message_of_2_to_the_32_octets_is_refused(void **state)
{
	struct fixture *f = started(2);
	struct iw_op op = { .kind = IW_OPK_SEND, .nsge = 2 };
	struct iw_segment seg;
	size_t i;

	(void)state;
	op.sge[0] = (struct iw_vec){ f->buf, 0x80000000u };
	op.sge[1] = (struct iw_vec){ f->buf, 0x80000000u };
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), IW_E_INVAL);
	op.kind = IW_OPK_WRITE;
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), IW_E_INVAL);
	op.sge[1].len--;
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), 0);
	op.nsge = 1; /* the other slice is ignored */
	op.sge[0].len = UINT32_MAX;
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), 0);
	assert_int_equal(pull(f, 1442, &seg), IW_OP_WRITE);
	assert_int_equal(seg.payload_len, 1428);
	op.nsge = IW_RDMAP_SGE_MAX;
	for (i = 0; i < IW_RDMAP_SGE_MAX; i++)
		op.sge[i].len = SIZE_MAX / IW_RDMAP_SGE_MAX + 1; /* together 0, modulo 2^64 */
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), IW_E_INVAL);
	done(f);
}

/* RDMAP-39: an operation occupies its slot until its completion is polled */
static void receives_are_refused_when_their_queue_is_full(void **state)
{
	struct fixture *f = started(2);
	struct iw_ddp h = { .last = true, .dv = 1, .rv = 1, .opcode = IW_OP_SEND, .msn = 1 };
	uint8_t ulpdu[IW_DDP_UNTAGGED_LEN];
	unsigned i;

	(void)state;
	assert_int_equal(iw_rdmap_post_recv(f->r, 0, NULL, 1), IW_E_INVAL);
	for (i = 0; i < 8; i++)
		assert_int_equal(iw_rdmap_post_recv(f->r, i, NULL, 0), 0);
	assert_int_equal(iw_rdmap_post_recv(f->r, 8, NULL, 0), IW_E_FULL);
	for (i = 0; i < 8; i++, h.msn++) {
		assert_int_equal(iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h), sizeof(ulpdu));
		assert_int_equal(iw_rdmap_receive(f->r, ulpdu, sizeof(ulpdu), NOW, &f->why), 0);
		assert_int_equal(iw_rdmap_post_recv(f->r, 8, NULL, 0), IW_E_FULL);
	}
	for (i = 0; i < 8; i++) {
		assert_int_equal(next(f), i);
		assert_int_equal(iw_rdmap_post_recv(f->r, 8 + i, NULL, 0), 0);
		assert_int_equal(iw_rdmap_post_recv(f->r, 99, NULL, 0), IW_E_FULL);
	}
	done(f);
}

/* RDMAP-36, RDMAP-19: a pulled Response may still be queued in a batch */
static void read_slot_is_free_when_the_llp_has_taken_its_response(void **state)
{
	struct fixture *f = started(2);

	(void)state;
	request(f, 8);
	request(f, 8);
	assert_int_equal(opcode(f), IW_OP_RRESP);
	iw_rdmap_sent(f->r, f->pos - 1, f->pos - 1);
	assert_int_equal(request_of(f, 8), IW_E_DDP_NOBUF);
	done(f);
	f = started(2);
	request(f, 8);
	request(f, 8);
	assert_int_equal(opcode(f), IW_OP_RRESP);
	iw_rdmap_sent(f->r, f->pos, f->pos);
	request(f, 8);
	assert_int_equal(request_of(f, 8), IW_E_DDP_NOBUF);
	done(f);
}

/* DDP-77: a Read queued when the peer closes its sending side never gets its Response */
static void reads_without_a_response_are_reported_when_the_peer_has_closed(void **state)
{
	struct fixture *f = started(1);

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_SEND, 0, 8), 0);
	assert_true(iw_rdmap_rx_shut(f->r));
	assert_int_equal(post(f, 2, IW_OPK_READ, 0, 8), IW_E_STATE);
	assert_int_equal(post(f, 2, IW_OPK_WRITE, 0, 8), 0);
	done(f);
	f = started(1);
	assert_int_equal(post(f, 1, IW_OPK_SEND, 0, 8), 0);
	assert_int_equal(post(f, 2, IW_OPK_READ, 0, 8), 0);
	assert_int_equal(opcode(f), IW_OP_SEND);
	assert_false(iw_rdmap_rx_shut(f->r)); /* the Read is queued */
	assert_int_equal(opcode(f), IW_OP_RREQ);
	assert_false(iw_rdmap_rx_shut(f->r)); /* the Read was sent */
	respond(f, 8);
	assert_true(iw_rdmap_rx_shut(f->r));
	done(f);
}

/* DDP-75: after a graceful close no operation is accepted; posted ones are still sent */
static void close_drains_and_refuses(void **state)
{
	struct fixture *f = started(2);

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_SEND, 0, 8), 0);
	assert_int_equal(post(f, 2, IW_OPK_READ, 0, 8), 0);
	iw_rdmap_close(f->r);
	assert_int_equal(post(f, 3, IW_OPK_SEND, 0, 8), IW_E_STATE);
	assert_false(iw_rdmap_drained(f->r));
	assert_int_equal(opcode(f), IW_OP_SEND);
	assert_int_equal(opcode(f), IW_OP_RREQ);
	iw_rdmap_sent(f->r, f->pos, f->pos);
	assert_false(iw_rdmap_drained(f->r)); /* the Read is outstanding */
	request(f, 4);
	respond(f, 8);
	assert_false(iw_rdmap_drained(f->r)); /* the peer's Read is answered first */
	assert_int_equal(opcode(f), IW_OP_RRESP);
	iw_rdmap_sent(f->r, f->pos, f->pos);
	assert_true(iw_rdmap_drained(f->r));
	done(f);
}

/*
 * RDMAP-38, DDP-83: each operation completes once, the oldest with the reason, the others as
 * canceled. Memory that a batch refers to is kept until the batch is released.
 */
static void flush_completes_everything_once(void **state)
{
	struct fixture *f = started(2);
	struct iw_fault why = { 0 };
	struct iw_completion c;

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_WRITE, 0, 8), 0);
	assert_int_equal(post(f, 2, IW_OPK_WRITE, 0, 8), 0);
	assert_int_equal(post(f, 3, IW_OPK_WRITE, 0, 8), 0);
	assert_int_equal(opcode(f), IW_OP_WRITE);
	iw_rdmap_sent(f->r, f->pos, f->pos);
	assert_int_equal(opcode(f), IW_OP_WRITE); /* in an unsent batch */
	iw_fail(&why, IW_E_MPA_CRC, "test");
	iw_rdmap_hold(f->r, true);
	iw_rdmap_fail(f->r, &why);
	assert_int_equal(next(f), 1);
	assert_int_equal(next(f), -1); /* the batch still refers to its memory */
	iw_rdmap_hold(f->r, false);
	assert_true(iw_rdmap_next_completion(f->r, &c));
	assert_int_equal(c.status, IW_E_MPA_CRC);
	assert_true(iw_rdmap_next_completion(f->r, &c));
	assert_int_equal(c.status, IW_E_CANCELED);
	assert_int_equal(next(f), -1);
	assert_true(iw_rdmap_wants_tx(f->r));
	assert_int_equal(opcode(f), IW_OP_TERM);
	assert_false(iw_rdmap_wants_tx(f->r));
	assert_int_equal(opcode(f), -1); /* RDMAP-27: nothing after a Terminate */
	done(f);
}

/* SEC-24: a zero-length Read names a source, but does not use it */
static void zero_length_read_uses_no_read_slot(void **state)
{
	struct fixture *f = started(2);

	(void)state;
	request(f, 4);
	request(f, 4);
	assert_int_equal(opcode(f), IW_OP_RRESP);
	assert_int_equal(opcode(f), IW_OP_RRESP);
	iw_rdmap_sent(f->r, f->pos, f->pos); /* both slots were used */
	request(f, 0);
	request(f, 4);
	assert_int_equal(iw_stag_get(f->stags, f->sink)->busy, 1);
	assert_int_equal(opcode(f), IW_OP_RRESP);
	assert_int_equal(iw_stag_get(f->stags, f->sink)->busy, 1);
	assert_int_equal(opcode(f), IW_OP_RRESP);
	assert_int_equal(iw_stag_get(f->stags, f->sink)->busy, 0);
	done(f);
}

/* RDMAP-39, DDP-83: after a first fault, a second one has no effect */
static void first_of_two_ends_applies(void **state)
{
	struct fixture *f = started(2);
	struct iw_fault why = { 0 };
	struct iw_completion c;

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_READ, 0, 8), 0);
	assert_int_equal(post(f, 2, IW_OPK_WRITE, 0, 8), 0);
	assert_int_equal(opcode(f), IW_OP_RREQ);
	assert_true(iw_rdmap_waiting(f->r));
	iw_fail(&why, IW_E_MPA_CRC, "first");
	iw_rdmap_hold(f->r, true);
	iw_rdmap_fail(f->r, &why);
	assert_false(iw_rdmap_waiting(f->r)); /* no Response is expected */
	iw_fail(&why, IW_E_MPA_MARKER, "second");
	iw_rdmap_fail(f->r, &why);
	assert_int_equal(iw_rdmap_fault(f->r)->err, IW_E_MPA_CRC);
	assert_int_equal(iw_rdmap_state(f->r), IW_RDMAP_TERMINATING);
	assert_true(iw_rdmap_terminate_due(f->r));
	iw_rdmap_flush(f->r, IW_E_OS); /* no longer held */
	assert_false(iw_rdmap_terminate_due(f->r));
	assert_true(iw_rdmap_next_completion(f->r, &c));
	assert_int_equal(c.status, IW_E_MPA_CRC);
	assert_int_equal(c.len, 0);
	iw_rdmap_flush(f->r, IW_E_OS);
	assert_true(iw_rdmap_next_completion(f->r, &c));
	assert_int_equal(c.status, IW_E_CANCELED);
	assert_false(iw_rdmap_next_completion(f->r, &c));
	assert_int_equal(opcode(f), -1);
	assert_false(iw_rdmap_wants_tx(f->r));
	done(f);
	f = started(2); /* a fault after the flush has no effect */
	iw_rdmap_flush(f->r, IW_E_OS);
	iw_rdmap_fail(f->r, &why);
	assert_null(iw_rdmap_fault(f->r));
	assert_int_equal(iw_rdmap_state(f->r), IW_RDMAP_CLOSED);
	done(f);
}

/* DDP-105, RDMAP-37: due from the fault until the LLP has taken it; not every fault has one */
static void terminate_is_due_until_the_llp_has_accepted_it(void **state)
{
	struct fixture *f = started(2);
	struct iw_fault why = { 0 };

	(void)state;
	assert_false(iw_rdmap_terminate_due(f->r));
	iw_fail(&why, IW_E_MPA_CRC, "test");
	iw_rdmap_fail(f->r, &why);
	assert_true(iw_rdmap_terminate_due(f->r));
	assert_int_equal(opcode(f), IW_OP_TERM);
	iw_rdmap_sent(f->r, f->pos - 1, f->pos - 1);
	assert_true(iw_rdmap_terminate_due(f->r));
	assert_false(f->r->term_sent);
	iw_rdmap_sent(f->r, f->pos, f->pos);
	assert_false(iw_rdmap_terminate_due(f->r));
	assert_true(f->r->term_sent);
	done(f);
	f = started(2);
	iw_fail(&why, IW_E_TIMEOUT, "test");
	iw_rdmap_fail(f->r, &why);
	assert_int_equal(iw_rdmap_state(f->r), IW_RDMAP_TERMINATING);
	assert_false(iw_rdmap_terminate_due(f->r));
	assert_false(iw_rdmap_wants_tx(f->r));
	assert_int_equal(opcode(f), -1);
	iw_rdmap_sent(f->r, f->pos, f->pos);
	assert_false(f->r->term_sent);
	done(f);
}

/* SEC-24: a Read in progress has taken its use of the registration */
static void read_source_with_one_use_serves_one_read(void **state)
{
	struct fixture *f = started(2);

	(void)state;
	iw_stag_get(f->stags, f->sink)->uses = 1;
	request(f, 4);
	assert_int_equal(request_of(f, 4), IW_E_RP_STAG);
	done(f);
	f = started(2);
	iw_stag_get(f->stags, f->sink)->uses = 1;
	request(f, 4);
	assert_int_equal(opcode(f), IW_OP_RRESP);
	assert_null(iw_stag_get(f->stags, f->sink)); /* used up */
	done(f);
}

/* SEC-24: a Read that will not be answered no longer keeps its registration busy */
static void reads_never_answered_release_their_sources(void **state)
{
	enum { FLUSH, FAULT, FREE, WAYS } way;

	(void)state;
	for (way = FLUSH; way < WAYS; way++) {
		struct fixture *f = started(2);
		struct iw_fault why = { 0 };

		request(f, 4);
		request(f, 4);
		assert_int_equal(opcode(f), IW_OP_RRESP); /* this one was released already */
		iw_stag_get(f->stags, f->sink)->uses = 0;
		assert_int_equal(iw_stag_get(f->stags, f->sink)->busy, 1);
		if (way == FLUSH) {
			iw_rdmap_flush(f->r, IW_E_CANCELED);
		} else if (way == FAULT) {
			iw_fail(&why, IW_E_MPA_CRC, "test");
			iw_rdmap_fail(f->r, &why);
		} else {
			iw_rdmap_free(f->r);
			f->r = NULL;
		}
		assert_null(iw_stag_get(f->stags, f->sink));
		done(f);
	}
}

/* DDP-46: the slices of an operation are one message, cut at the MULPDU, not at slices */
static void pieces_are_gathered_into_segments(void **state)
{
	struct fixture *f = started(2);
	struct iw_op op = { .kind = IW_OPK_SEND, .nsge = 4 };
	uint8_t out[4096];
	struct iw_segment seg;
	size_t i, n = 0;

	(void)state;
	pattern_fill(out, 3000, 3, 0);
	/* no slice is adjacent to the one before */
	op.sge[0] = (struct iw_vec){ f->buf + 4095, 1 };
	op.sge[1] = (struct iw_vec){ f->buf + 2000, 0 };
	op.sge[2] = (struct iw_vec){ f->buf + 1000, 1999 };
	op.sge[3] = (struct iw_vec){ f->buf, 1000 };
	memcpy(f->buf + 4095, out, 1);
	memcpy(f->buf + 1000, out + 1, 1999);
	memcpy(f->buf, out + 2000, 1000);
	memset(out, 0, sizeof(out));
	assert_int_equal(iw_rdmap_post(f->r, &op, NOW), 0);
	while (pull(f, 518, &seg) == IW_OP_SEND) {
		for (i = 0; i < seg.npayload; i++) {
			assert_true(seg.payload[i].len > 0);
			memcpy(out + n, seg.payload[i].base, seg.payload[i].len);
			n += seg.payload[i].len;
		}
	}
	assert_int_equal(n, 3000);
	assert_true(pattern_is(out, n, 3, 0));
	done(f);
}

/* Pulls the next segment and decodes its header. */
static struct iw_ddp header(struct fixture *f, struct iw_segment *seg, size_t mulpdu)
{
	struct iw_ddp h;

	assert_true(pull(f, mulpdu, seg) >= 0);
	assert_true(iw_wire_ddp_decode(&h, seg->hdr, seg->hdr_len) > 0);
	return h;
}

/* RDMAP-03, RDMAP-10, DDP-24: each segment of a Write has STag, TO and version */
static void write_names_its_sink_in_every_segment(void **state)
{
	unsigned dv;

	(void)state;
	for (dv = 0; dv < 2; dv++) {
		struct fixture *f =
			with((struct iw_rdmap_params){ .initiator = true, .dv = (uint8_t)dv }, 0);
		struct iw_segment seg;
		struct iw_ddp h;
		unsigned i;

		assert_int_equal(post(f, 1, IW_OPK_WRITE, IW_OPF_SOLICITED, 250), 0);
		for (i = 0; i < 3; i++) {
			h = header(f, &seg, 114);
			assert_true(h.tagged && h.opcode == IW_OP_WRITE);
			assert_int_equal(h.stag, 5);
			assert_int_equal(h.to, 6 + 100 * i);
			assert_int_equal(h.last, i == 2);
			assert_int_equal(h.dv, dv);
			assert_int_equal(h.rv, dv);
			assert_int_equal(h.rsvd_ddp | h.rsvd_rdmap, 0);
			assert_int_equal(seg.hdr_len, IW_DDP_TAGGED_LEN);
			assert_int_equal(seg.npayload, 1);
			assert_ptr_equal(seg.payload[0].base, f->buf + 100 * i);
			assert_int_equal(seg.payload[0].len, i == 2 ? 50 : 100);
			assert_int_equal(seg.payload_len, seg.payload[0].len);
			assert_false(seg.copy); /* the ULP keeps it */
		}
		assert_int_equal(opcode(f), -1);
		done(f);
	}
}

/* RDMAP-04, RDMAP-05: the four Sends, on QN 0, with MSN 1, 2, 3, 4 */
static void sends_have_their_opcode(void **state)
{
	static const uint8_t opcodes[] = { IW_OP_SEND, IW_OP_SEND_SE, IW_OP_SEND_INV,
					   IW_OP_SEND_SE_INV };
	struct fixture *f = started(2);
	struct iw_op op = { .kind = IW_OPK_SEND, .inval_stag = 0x1234 };
	struct iw_segment seg;
	struct iw_ddp h;

	(void)state;
	for (op.flags = 0; op.flags < 4; op.flags++) {
		assert_int_equal(iw_rdmap_post(f->r, &op, NOW), 0);
		h = header(f, &seg, 1442);
		assert_int_equal(h.opcode, opcodes[op.flags]);
		assert_int_equal(h.inval_stag, op.flags & IW_OPF_INVALIDATE ? 0x1234 : 0);
		assert_true(!h.tagged && h.last && h.dv == 1 && h.rv == 1 && h.mo == 0);
		assert_int_equal(h.qn, 0);
		assert_int_equal(h.msn, op.flags + 1);
		assert_int_equal(seg.npayload, 0);
	}
	done(f);
}

/* RDMAP-06, RDMAP-13, RDMAP-18: one segment on QN 1, also for a zero-length Read */
static void read_request_names_source_and_sink(void **state)
{
	struct fixture *f = started(2);
	struct iw_op op = { .kind = IW_OPK_READ,
			    .len = 9,
			    .remote_stag = 0x77,
			    .remote_to = 0x100000001,
			    .sink_stag = f->sink,
			    .sink_to = 12 };
	struct iw_segment seg;
	struct iw_rreq q;
	struct iw_ddp h;
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++, op.len = 0) {
		assert_int_equal(iw_rdmap_post(f->r, &op, NOW), 0);
		h = header(f, &seg, 128);
		assert_true(!h.tagged && h.last && h.opcode == IW_OP_RREQ && h.mo == 0);
		assert_true(h.qn == 1 && h.msn == i + 1 && h.inval_stag == 0);
		assert_int_equal(seg.hdr_len, IW_DDP_UNTAGGED_LEN + IW_RDMAP_RREQ_LEN);
		assert_int_equal(seg.payload_len, 0);
		assert_int_equal(iw_rreq_decode(&q, seg.hdr + 18, 28), 28);
		assert_true(q.size == op.len && q.src_stag == 0x77 && q.src_to == 0x100000001);
		assert_true(q.sink_stag == f->sink && q.sink_to == 12);
	}
	done(f);
}

/* DDP-02: a changed MULPDU applies to the next segment */
static void changed_mulpdu_applies_to_the_next_segment(void **state)
{
	struct fixture *f = started(2);
	struct iw_segment seg;

	(void)state;
	assert_int_equal(post(f, 1, IW_OPK_WRITE, 0, 4000), 0);
	assert_int_equal(pull(f, 1014, &seg), IW_OP_WRITE);
	assert_int_equal(seg.payload_len, 1000);
	assert_int_equal(pull(f, 2014, &seg), IW_OP_WRITE);
	assert_int_equal(seg.payload_len, 2000);
	assert_int_equal(pull(f, 128, &seg), IW_OP_WRITE);
	assert_int_equal(seg.payload_len, 114);
	done(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_completes_before_the_llp_has_accepted_it),
		cmocka_unit_test(operations_complete_in_the_order_of_posting),
		cmocka_unit_test(queues_continue_where_their_numbers_wrap),
		cmocka_unit_test(messages_are_sent_in_the_order_of_posting_never_interleaved),
		cmocka_unit_test(reads_above_ord_wait_and_hold_back_what_follows),
		cmocka_unit_test(read_with_ord_zero_is_refused_at_once),
		cmocka_unit_test(fenced_operation_waits_for_earlier_reads),
		cmocka_unit_test(unsignaled_operations_report_only_failures),
		cmocka_unit_test(impossible_operations_are_refused),
		cmocka_unit_test(reads_without_a_response_are_reported_when_the_peer_has_closed),
		cmocka_unit_test(close_drains_and_refuses),
		cmocka_unit_test(flush_completes_everything_once),
		cmocka_unit_test(read_source_with_one_use_serves_one_read),
		cmocka_unit_test(reads_never_answered_release_their_sources),
		cmocka_unit_test(pieces_are_gathered_into_segments),
		cmocka_unit_test(changed_mulpdu_applies_to_the_next_segment),
		cmocka_unit_test(message_of_2_to_the_32_octets_is_refused),
		cmocka_unit_test(receives_are_refused_when_their_queue_is_full),
		cmocka_unit_test(read_slot_is_free_when_the_llp_has_taken_its_response),
		cmocka_unit_test(zero_length_read_uses_no_read_slot),
		cmocka_unit_test(first_of_two_ends_applies),
		cmocka_unit_test(terminate_is_due_until_the_llp_has_accepted_it),
		cmocka_unit_test(write_names_its_sink_in_every_segment),
		cmocka_unit_test(sends_have_their_opcode),
		cmocka_unit_test(read_request_names_source_and_sink),
	};

	return cmocka_run_group_tests_name("rdmap_order", tests, NULL, NULL);
}
