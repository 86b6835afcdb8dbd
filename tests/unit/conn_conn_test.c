// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whole connections, two engines in memory: set-up, transfer, every way to end. */
#include "conn/conn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"
#include "util/num.h"
#include "util/txbuf.h"

static struct pair *fresh(void)
{
	struct pair *p = malloc(sizeof(*p));

	assert_non_null(p);
	pair_init(p, 42);
	return p;
}

static struct pair *up(struct pair *p)
{
	pair_start(p);
	pair_run(p);
	assert_true(end_has_event(&p->a, IW_EVENT_ESTABLISHED));
	assert_true(end_has_event(&p->b, IW_EVENT_ESTABLISHED));
	return p;
}

static void done(struct pair *p)
{
	pair_free(p);
	free(p);
}

static void post_recv(struct end *e, void *buf, uint32_t cap)
{
	assert_int_equal(iw_rdmap_post_recv(e->rdmap, 500, buf, cap), 0);
}

static void post_send(struct pair *p, struct end *e, const void *buf, size_t len, uint64_t cookie)
{
	struct iw_op op = { .cookie = cookie, .kind = IW_OPK_SEND, .nsge = 1 };

	op.sge[0] = (struct iw_vec){ (void *)(uintptr_t)buf, len };
	assert_int_equal(iw_rdmap_post(e->rdmap, &op, p->now), 0);
}

static void post_write(struct pair *p, struct end *e, const void *buf, size_t len, uint32_t stag,
		       uint64_t to)
{
	struct iw_op op = {
		.cookie = 600, .kind = IW_OPK_WRITE, .nsge = 1, .remote_stag = stag, .remote_to = to
	};

	op.sge[0] = (struct iw_vec){ (void *)(uintptr_t)buf, len };
	assert_int_equal(iw_rdmap_post(e->rdmap, &op, p->now), 0);
}

static void post_read(struct pair *p, struct end *e, uint32_t sink, uint64_t sink_to, uint32_t len,
		      uint32_t stag, uint64_t to)
{
	struct iw_op op = { .cookie = 700,
			    .kind = IW_OPK_READ,
			    .len = len,
			    .remote_stag = stag,
			    .remote_to = to,
			    .sink_stag = sink,
			    .sink_to = sink_to };

	assert_int_equal(iw_rdmap_post(e->rdmap, &op, p->now), 0);
}

static void assert_closed(struct end *e, int err)
{
	const struct iw_fault *why = end_closed_fault(e);

	assert_non_null(why);
	if (why->err != err)
		print_message("%s: %s: %s\n", e->name, iw_err_name(why->err), why->text);
	assert_string_equal(iw_err_name(why->err), iw_err_name(err));
}

/* Write, Send, Read from both ends, verified. */
static void exchange(struct pair *p)
{
	enum { LEN = 200000 };
	static uint8_t src[LEN], wr[LEN], rd[LEN], msg[2][64];
	uint32_t wstag, rstag, sink;
	unsigned i, ok = 0;

	pattern_fill(src, LEN, 9, 0);
	memset(wr, 0, LEN);
	memset(rd, 0, LEN);
	memset(msg, 0, sizeof(msg));
	wstag = end_register(&p->b, wr, LEN, 0x100000000u, IW_RIGHT_REMOTE_WRITE, false);
	rstag = end_register(&p->b, src, LEN, 5, IW_RIGHT_REMOTE_READ, true);
	sink = end_register(&p->a, rd, LEN, 77, IW_RIGHT_READ_SINK, true);
	post_recv(&p->b, msg[0], 64);
	post_recv(&p->a, msg[1], 64);
	post_write(p, &p->a, src, LEN, wstag, 0x100000000u);
	post_send(p, &p->a, "written", 8, 1);
	post_read(p, &p->a, sink, 77, LEN, rstag, 5);
	pair_run(p);
	assert_string_equal((char *)msg[0], "written");
	assert_true(pattern_is(wr, LEN, 9, 0));
	assert_true(pattern_is(rd, LEN, 9, 0));
	post_send(p, &p->b, "thanks", 7, 2);
	pair_run(p);
	assert_string_equal((char *)msg[1], "thanks");
	for (i = 0; i < p->a.ndone; i++)
		ok += p->a.done[i].status == 0;
	assert_int_equal(ok, 4);
	assert_int_equal(p->a.ndone, 4);
	assert_int_equal(p->b.ndone, 2);
}

static void close_both(struct pair *p)
{
	iw_conn_close(p->a.conn, p->now);
	pair_run(p);
	assert_true(end_has_event(&p->b, IW_EVENT_PEER_CLOSED));
	assert_null(end_closed_fault(&p->a)); /* half closed: b may still send */
	iw_conn_close(p->b.conn, p->now);
	pair_run(p);
	assert_closed(&p->a, IW_OK);
	assert_closed(&p->b, IW_OK);
}

/* DDP-04, MPA-26, MPA-27, MPA-28, MPA-29: any split of the stream; CRC and markers in every
 * combination, each direction */
static void every_split_of_the_stream_gives_the_same_result(void **state)
{
	static const size_t chunks[] = { 1, 2, 3, 7, 64, 511, 1448, 4096, SIZE_MAX };
	unsigned mode, i;

	(void)state;
	for (mode = 0; mode < 8; mode++) {
		for (i = 0; i < IW_ARRAY_LEN(chunks); i++) {
			struct pair *p = fresh();

			p->chunk = chunks[i];
			p->a.cfg.mpa.crc = p->b.cfg.mpa.crc = mode & 1 ? IW_MPA_CRC_OFF
								       : IW_MPA_CRC_WANTED;
			p->a.cfg.mpa.markers = mode & 2;
			p->b.cfg.mpa.markers = mode & 4;
			up(p);
			assert_int_equal(iw_conn_params(p->a.conn)->crc, !(mode & 1));
			assert_int_equal(iw_conn_params(p->a.conn)->rx_markers, !!(mode & 2));
			assert_int_equal(iw_conn_params(p->b.conn)->rx_markers, !!(mode & 4));
			exchange(p);
			close_both(p);
			done(p);
		}
	}
}

/* DDP-10, DDP-11, DDP-77, DDP-78, DDP-79: short writes, a window of a few octets; then an orderly
 * end of either half in turn */
static void transport_that_takes_a_few_octets_at_a_time(void **state)
{
	static const size_t windows[] = { 1, 5, 100, 2000 };
	unsigned i;

	(void)state;
	for (i = 0; i < IW_ARRAY_LEN(windows); i++) {
		struct pair *p = fresh();

		p->ab.window = p->ba.window = windows[i];
		up(p);
		exchange(p);
		close_both(p);
		done(p);
	}
}

/* ENH-13, ENH-16, MPA-44: all three RTR forms; the ULP sees none of them */
static void each_rtr_form_opens_the_responders_way(void **state)
{
	unsigned form;

	(void)state;
	for (form = 1; form <= 4; form <<= 1) {
		struct pair *p = fresh();

		p->a.cfg.mpa.peer_to_peer = true;
		p->a.cfg.mpa.rtr = p->b.cfg.mpa.rtr = (uint8_t)form;
		up(p);
		assert_true(iw_conn_params(p->b.conn)->peer_to_peer);
		/* The responder speaks first: the RTR has opened its way. */
		exchange(p);
		close_both(p);
		done(p);
	}
	{
		struct pair *p = fresh();
		static uint8_t buf[8];

		p->a.cfg.mpa.peer_to_peer = true;
		up(p);
		post_recv(&p->a, buf, 8);
		post_send(p, &p->b, "first", 6, 1);
		pair_run(p);
		assert_string_equal((char *)buf, "first");
		done(p);
	}
}

/* MPA-44: without a first FPDU from the initiator the responder stays silent */
static void responder_sends_nothing_before_the_first_fpdu(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t buf[8];
	uint64_t sent = p->ba.sent;

	(void)state;
	post_recv(&p->a, buf, 8);
	post_recv(&p->b, buf, 8);
	post_send(p, &p->b, "eager", 6, 1);
	pair_run(p);
	assert_int_equal(p->ba.sent, sent);
	post_send(p, &p->a, "go", 3, 1);
	pair_run(p);
	assert_true(p->ba.sent > sent);
	assert_string_equal((char *)buf, "eager");
	done(p);
}

/* MPA-44, MPA-52: a bad first FPDU: reported, closed, and not even a Terminate is sent */
static void bad_first_fpdu_closes_without_a_terminate(void **state)
{
	struct pair *p = up(fresh());
	static const uint8_t bad[24] = {
		0x00, 0x12, 0x41, 0x43, 0, 0, 0, 0, 0,    0,    0,    0,
		0,    0,    0,    1,    0, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef
	};
	uint64_t sent = p->ba.sent;

	(void)state;
	pair_inject(p, &p->b, bad, sizeof(bad));
	pair_run(p);
	assert_closed(&p->b, IW_E_MPA_CRC);
	assert_int_equal(p->ba.sent, sent);
	assert_non_null(strstr(end_closed_fault(&p->b)->text, "CRC"));
	done(p);
}

/* DDP-06, DDP-85, RDMAP-37, MPA-50, MPA-53, DDP-84, DDP-105: a later CRC error: Terminate 2/0/2,
 * then FIN; what the peer had sent is drained */
static void crc_error_in_full_operation_is_told_by_a_terminate(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t buf[2][64];

	(void)state;
	post_recv(&p->b, buf[0], 64);
	post_recv(&p->b, buf[1], 64);
	post_send(p, &p->a, "one", 4, 1);
	pair_run(p);
	post_send(p, &p->a, "two", 4, 2);
	while (p->ab.len == 0) {
		struct iw_tx tx;

		assert_true(iw_conn_send(p->a.conn, &tx, p->now));
		pair_inject(p, &p->b, tx.vec[0].base, tx.vec[0].len);
		iw_conn_sent(p->a.conn, tx.bytes, p->now);
	}
	p->ab.buf[p->ab.off + 21] ^= 1; /* one bit of the payload */
	pair_run(p);
	assert_closed(&p->b, IW_E_MPA_CRC);
	assert_int_equal(end_closed_fault(&p->b)->term, IW_TERM(2, 0, 2));
	assert_closed(&p->a, IW_E_PEER_TERMINATE);
	assert_int_equal(end_closed_fault(&p->a)->term, IW_TERM(2, 0, 2));
	assert_true(end_closed_fault(&p->a)->from_peer);
	assert_int_equal(buf[1][0], 0); /* nothing of it was placed */
	done(p);
}

/* RDMAP-37: both ends learn what was wrong, in words */
static void terminate_reaches_the_peer_with_its_reason(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t octets[5000];

	(void)state;
	post_write(p, &p->a, octets, sizeof(octets), 0x1234, 0);
	pair_run(p);
	assert_closed(&p->b, IW_E_DDP_STAG);
	assert_closed(&p->a, IW_E_PEER_TERMINATE);
	assert_int_equal(end_closed_fault(&p->a)->term, IW_TERM(1, 1, 0));
	assert_non_null(strstr(end_closed_fault(&p->b)->text, "0x00001234"));
	assert_string_equal(end_closed_fault(&p->b)->clause, "RFC 5041 7.1");
	done(p);
}

/* The input is drained while the Terminate is on its way, so that no reset destroys it. */
static void input_is_drained_behind_a_terminate(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t octets[300000];

	(void)state;
	p->chunk = 1000;
	post_write(p, &p->a, octets, 100, 0x1234, 0);
	post_write(p, &p->a, octets, sizeof(octets), 0x1234, 0);
	pair_run(p);
	assert_closed(&p->a, IW_E_PEER_TERMINATE);
	assert_closed(&p->b, IW_E_DDP_STAG);
	assert_int_equal(p->ab.len, 0);
	done(p);
}

/* MPA-40, MPA-31, MPA-51: garbage instead of a Request closes at once, at its first wrong octet */
static void garbage_instead_of_a_request_closes(void **state)
{
	struct pair *p = fresh();

	(void)state;
	pair_start(p);
	pair_inject(p, &p->b, "GET / HTTP/1.1\r\n", 16);
	while (end_closed_fault(&p->b) == NULL && pair_step(p))
		;
	assert_closed(&p->b, IW_E_MPA_FRAME);
	assert_int_equal(p->ba.sent, 0);
	done(p);
}

/* MPA-46 */
static void two_initiators_find_out(void **state)
{
	struct pair *p = fresh();

	(void)state;
	p->b.cfg.mpa.initiator = true;
	pair_start(p);
	pair_run(p);
	assert_closed(&p->a, IW_E_MPA_FRAME);
	assert_closed(&p->b, IW_E_MPA_FRAME);
	done(p);
}

/* MPA-47, SEC-29: every wait has its end */
static void silent_peers_time_out_in_every_state(void **state)
{
	struct pair *p = fresh();
	static uint8_t buf[64];

	(void)state;
	/* Two responders: nobody ever sends. */
	p->a.cfg.mpa.initiator = false;
	pair_start(p);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_closed(&p->a, IW_E_TIMEOUT);
	done(p);

	/* The ULP never answers. */
	p = fresh();
	p->b.no_answer = true;
	p->a.cfg.mpa.timeout_ns = IW_SEC(100);
	pair_start(p);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_closed(&p->b, IW_E_TIMEOUT);
	done(p);

	/* The Reply never comes. */
	p = fresh();
	p->b.no_answer = true;
	p->b.cfg.decide_ns = IW_SEC(100);
	pair_start(p);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_closed(&p->a, IW_E_TIMEOUT);
	done(p);

	/* The peer stops taking octets. */
	p = up(fresh());
	post_recv(&p->b, buf, 64);
	p->ab.window = 0;
	post_send(p, &p->a, "x", 1, 1);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_closed(&p->a, IW_E_TIMEOUT);
	assert_int_equal(p->a.done[0].status, IW_E_TIMEOUT);
	done(p);

	/* The peer never answers a Read. */
	p = up(fresh());
	p->ba.window = 0;
	post_read(p, &p->a, end_register(&p->a, buf, 64, 0, IW_RIGHT_READ_SINK, true), 0, 8,
		  end_register(&p->b, buf, 64, 0, IW_RIGHT_REMOTE_READ, true), 0);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_closed(&p->a, IW_E_TIMEOUT);
	done(p);

	/* The peer never closes its side. */
	p = up(fresh());
	iw_conn_close(p->a.conn, p->now);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_closed(&p->a, IW_E_TIMEOUT);
	done(p);

	/* An idle connection has no deadline at all. */
	p = up(fresh());
	assert_false(pair_tick(p));
	done(p);
}

/* MPA-41, MPA-43, ENH-07 */
static void rejection_carries_private_data_both_ways(void **state)
{
	struct pair *p = fresh();

	(void)state;
	p->a.cfg.mpa.pd = (const uint8_t *)"please";
	p->a.cfg.mpa.pd_len = 6;
	p->b.reject = true;
	memcpy(p->b.pd, "no room", 7);
	p->b.pd_len = 7;
	pair_start(p);
	pair_run(p);
	assert_true(end_has_event(&p->a, IW_EVENT_REJECTED));
	assert_closed(&p->a, IW_E_REJECTED);
	assert_closed(&p->b, IW_E_REJECTED);
	assert_int_equal(iw_conn_params(p->a.conn)->pd_len, 7);
	assert_memory_equal(iw_conn_params(p->a.conn)->pd, "no room", 7);
	assert_memory_equal(iw_conn_params(p->b.conn)->pd, "please", 6);
	assert_int_equal(iw_conn_params(p->b.conn)->peer_ird, 4);
	done(p);
}

/* What a responder's Reply makes of an initiator that cannot live with it: the Terminate that lies
 * on the wire. */
static uint32_t terminate_answering(const uint8_t tail[8], enum iw_mpa_crc crc, int err)
{
	struct pair *p = fresh();
	uint8_t reply[24] = "MPA ID Rep Frame";
	struct iw_terminate t;
	struct iw_ddp h;

	memcpy(reply + 16, tail, 8);
	p->a.cfg.mpa.crc = crc;
	p->b.no_answer = true;
	pair_start(p);
	pair_run(p);
	pair_inject(p, &p->a, reply, sizeof(reply));
	while (pair_step(p))
		;
	assert_false(end_has_event(&p->a, IW_EVENT_ESTABLISHED));
	assert_int_equal(p->ab.len,
			 28); /* the responder's engine is still deciding, so nobody took it */
	assert_int_equal(iw_ddp_decode(&h, p->ab.buf + p->ab.off + 2, 22), 18);
	assert_int_equal(h.opcode, IW_OP_TERM);
	assert_true(iw_terminate_decode(&t, p->ab.buf + p->ab.off + 20, 4) > 0);
	iw_conn_abort(p->a.conn, p->now);
	end_poll(p, &p->a);
	assert_closed(&p->a, err);
	done(p);
	return IW_TERM(t.layer, t.etype, t.code);
}

/* ENH-10, ENH-11: the responder's ORD is 8192 */
static void reply_that_needs_more_ird_than_there_is_terminates(void **state)
{
	(void)state;
	assert_int_equal(
		terminate_answering((const uint8_t[]){ 0x50, 2, 0, 4, 0x00, 0x04, 0x20, 0x00 },
				    IW_MPA_CRC_WANTED, IW_E_MPA_IRD),
		IW_TERM(2, 0, 6));
}

/* ENH-18: any other reason of our own, here a CRC that is required and not promised */
static void reply_that_cannot_be_accepted_for_another_reason_terminates(void **state)
{
	(void)state;
	assert_int_equal(
		terminate_answering((const uint8_t[]){ 0x10, 2, 0, 4, 0x00, 0x04, 0x00, 0x04 },
				    IW_MPA_CRC_REQUIRED, IW_E_MPA_LOCAL),
		IW_TERM(2, 0, 5));
}

/* RDMAP-39: the first error is the one that is told */
static void first_of_two_errors_is_reported(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t octets[64];

	(void)state;
	post_send(p, &p->a, octets, 64, 1);          /* no receive is posted: the first */
	post_write(p, &p->a, octets, 64, 0x1234, 0); /* an STag that is none: the second */
	pair_run(p);
	assert_closed(&p->b, IW_E_DDP_NOBUF);
	assert_int_equal(end_closed_fault(&p->a)->term, IW_TERM(1, 2, 2));
	done(p);
}

/* DDP-03, DDP-80, DDP-81, DDP-83, DDP-86, MPA-49: the stream may end at any octet; every operation
 * completes, once */
static void stream_cut_at_every_octet(void **state)
{
	uint64_t cut, last = 1;
	static uint8_t src[3000], dst[3000], msg[64];

	(void)state;
	for (cut = 0; cut < last; cut++) {
		struct pair *p = fresh();
		uint32_t stag;
		unsigned i;

		p->chunk = 100;
		p->ab.cut_at = cut;
		pair_start(p);
		stag = end_register(&p->b, dst, sizeof(dst), 0, IW_RIGHT_REMOTE_WRITE, false);
		post_recv(&p->b, msg, 64);
		pair_run(p);
		if (end_has_event(&p->a, IW_EVENT_ESTABLISHED)) {
			post_write(p, &p->a, src, sizeof(src), stag, 0);
			post_send(p, &p->a, "end", 4, 601);
			pair_run(p);
			assert_int_equal(p->a.ndone, 2);
		}
		if (p->cut) {
			assert_non_null(end_closed_fault(&p->a));
			assert_non_null(end_closed_fault(&p->b));
			last = cut + 2;
		}
		/* Its receive: filled or flushed, once the connection had it. */
		assert_int_equal(p->b.ndone, end_has_event(&p->b, IW_EVENT_ESTABLISHED));
		for (i = 0; i < p->a.ndone; i++)
			assert_int_equal(p->a.done[i].cookie, 600 + i);
		done(p);
	}
	assert_true(last > 3000);
}

/* MPA-50 (1): FIN inside an FPDU is a lost connection, not an orderly end */
static void fin_inside_an_fpdu_is_a_fault(void **state)
{
	struct pair *p = up(fresh());

	(void)state;
	pair_inject(p, &p->b, "\x00\x20\x41", 3);
	pair_run(p);
	iw_conn_eof(p->b.conn, p->now);
	end_poll(p, &p->b);
	assert_closed(&p->b, IW_E_MPA_LOST);
	done(p);
}

/* DDP-01: FPDUs above the MSS: between ends that both know how; towards others an FPDU fits the
 * MSS */
static void large_fpdus_only_where_both_ends_agree(void **state)
{
	unsigned mode;

	(void)state;
	for (mode = 0; mode < 4; mode++) {
		struct pair *p = fresh();

		p->a.cfg.mpa.max_ulpdu = mode & 1 ? 64768 : 0;
		p->b.cfg.mpa.max_ulpdu = mode & 2 ? 32000 : 0;
		p->a.cfg.mpa.pd = (const uint8_t *)"hello";
		p->a.cfg.mpa.pd_len = 5;
		memcpy(p->b.pd, "welcome", 7);
		p->b.pd_len = 7;
		up(p);
		assert_int_equal(iw_conn_mulpdu(p->a.conn), mode == 3 ? 32000 : 1442);
		assert_int_equal(iw_conn_mulpdu(p->b.conn), mode == 3 ? 32000 : 1442);
		assert_int_equal(iw_conn_aligned(p->a.conn), mode != 3);
		/* The ULP sees its own Private Data alone. */
		assert_int_equal(iw_conn_params(p->b.conn)->pd_len, 5);
		assert_int_equal(iw_conn_params(p->a.conn)->pd_len, 7);
		exchange(p);
		done(p);
	}
}

/* RDMAP-19: IRD and ORD in force are the negotiated ones */
static void ird_and_ord_are_negotiated(void **state)
{
	struct pair *p = fresh();
	static uint8_t src[4096], dst[4096];
	uint32_t rstag, sink;
	unsigned i;

	(void)state;
	p->a.cfg.mpa.ord = 1;
	p->b.ird = 1;
	up(p);
	assert_int_equal(iw_conn_params(p->a.conn)->ord, 1);
	pattern_fill(src, sizeof(src), 1, 0);
	rstag = end_register(&p->b, src, sizeof(src), 0, IW_RIGHT_REMOTE_READ, true);
	sink = end_register(&p->a, dst, sizeof(dst), 0, IW_RIGHT_READ_SINK, true);
	for (i = 0; i < 32; i++)
		post_read(p, &p->a, sink, i * 128, 128, rstag, i * 128);
	pair_run(p);
	assert_int_equal(p->a.ndone, 32);
	assert_memory_equal(src, dst, sizeof(src));
	done(p);
}

/* An allocation that fails is an error of its call; what is there goes on. */
static void memory_that_runs_out_ends_the_connection_not_the_program(void **state)
{
	size_t n;

	(void)state;
	for (n = 1; n < 40; n++) {
		struct pair *p = fresh();
		struct iw_fault why = { 0 };
		struct iw_conn *extra = NULL;
		int err;

		up(p);
		p->b.mem.fail_at = n;
		err = iw_conn_new(&extra, &p->b.cfg, p->now, &why);
		if (err < 0)
			assert_int_equal(err, IW_E_NOMEM);
		else
			iw_conn_free(extra);
		p->b.mem.fail_at = 0;
		done(p);
	}
}

/* Starved of batch buffers a connection tries again soon instead of hanging */
static void no_batch_buffer_means_later(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t buf[8];
	void *hog;

	(void)state;
	post_recv(&p->b, buf, 8);
	hog = iw_pool_get(&p->a.txbufs);
	p->a.txbufs.max = 1;
	post_send(p, &p->a, "later", 6, 1);
	pair_run(p);
	assert_int_equal(buf[0], 0);
	assert_true(iw_conn_deadline(p->a.conn) <= p->now + IW_MSEC(10));
	iw_pool_put(&p->a.txbufs, hog);
	assert_true(pair_tick(p));
	pair_run(p);
	assert_string_equal((char *)buf, "later");
	done(p);
}

/* A local abort completes everything at once and tells nobody. */
static void abort_completes_everything(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t buf[100000];

	(void)state;
	p->ab.window = 1000;
	post_write(p, &p->a, buf, sizeof(buf), 1, 0);
	post_recv(&p->a, buf, 8);
	assert_true(pair_step(p));
	iw_conn_abort(p->a.conn, p->now);
	end_poll(p, &p->a);
	assert_closed(&p->a, IW_E_CANCELED);
	assert_int_equal(p->a.ndone, 2);
	done(p);
}

/* SEC-06, RDMAP-09, RDMAP-37: what was revoked is found on the way out. The Terminate ends the
 * connection like any other, also while it is being closed. */
static void read_source_revoked_midway_ends_the_connection(void **state)
{
	enum { LEN = 600000 }; /* several batches, each of them copied */
	static uint8_t src[LEN], dst[LEN];
	unsigned closing;

	(void)state;
	for (closing = 0; closing < 2; closing++) {
		struct pair *p = up(fresh());
		uint32_t stag = end_register(&p->b, src, LEN, 0, IW_RIGHT_REMOTE_READ, false);
		uint32_t sink = end_register(&p->a, dst, LEN, 0, IW_RIGHT_READ_SINK, true);

		p->ba.window = 3000;
		post_read(p, &p->a, sink, 0, LEN, stag, 0);
		while (p->ba.sent < 30000)
			assert_true(pair_step(p));
		if (closing)
			iw_conn_close(p->b.conn, p->now);
		assert_int_equal(iw_stag_del(p->b.stags, stag), 0);
		pair_run(p);
		assert_closed(&p->b, IW_E_RP_STAG);
		assert_closed(&p->a, IW_E_PEER_TERMINATE);
		assert_int_equal(end_closed_fault(&p->a)->term, IW_TERM(0, 1, 0));
		assert_int_equal(p->a.ndone, 1);
		assert_int_equal(p->a.done[0].status, IW_E_PEER_TERMINATE);
		done(p);
	}
}

/* DDP-70, RDMAP-30: its octets belong to the batch until the transport has taken them */
static void operation_in_a_batch_is_not_completed_by_a_fault_found_while_filling_it(void **state)
{
	enum { LEN = 40 * 1428 }; /* whole TCP segments: the batch goes on behind them */
	static uint8_t src[LEN], dst[LEN], written[LEN];
	struct pair *p = up(fresh());
	uint32_t stag = end_register(&p->b, src, LEN, 0, IW_RIGHT_REMOTE_READ, false);
	uint32_t target = end_register(&p->a, written, LEN, 0, IW_RIGHT_REMOTE_WRITE, false);
	uint32_t sink = end_register(&p->a, dst, LEN, 0, IW_RIGHT_READ_SINK, true);

	(void)state;
	memset(written, 0, LEN);
	pattern_fill(src, LEN, 4, 0);
	post_read(p, &p->a, sink, 0, 10, stag, 0);
	pair_run(p); /* a Response had the last turn: the next is the Write's */
	post_read(p, &p->a, sink, 0, 10, stag, 0);
	assert_true(pair_step(p));
	post_write(p, &p->b, src, LEN, target, 0);
	assert_int_equal(iw_stag_del(p->b.stags, stag), 0);
	p->ba.window = 0;
	pair_step(p);
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_TERMINATING);
	assert_int_equal(p->b.ndone, 0);
	p->ba.window = 1 << 20;
	pair_run(p);
	assert_int_equal(p->b.ndone, 1);
	assert_int_equal(p->b.done[0].status, 0);
	assert_true(pattern_is(written, LEN, 4, 0));
	assert_closed(&p->b, IW_E_RP_STAG);
	assert_closed(&p->a, IW_E_PEER_TERMINATE);
	done(p);
}

/* Both connections begin anew, with the queue pairs as they are. */
static void reconnect(struct pair *p)
{
	struct end *ends[] = { &p->a, &p->b };
	struct iw_fault why = { 0 };
	unsigned i;

	for (i = 0; i < 2; i++) {
		struct end *e = ends[i];

		iw_conn_free(e->conn);
		e->cfg.rdmap = e->cfg.mpa.initiator ? e->rdmap : NULL;
		assert_int_equal(iw_conn_new(&e->conn, &e->cfg, p->now, &why), 0);
		iw_conn_set_emss(e->conn, 1448);
		e->nevents = 0;
		e->shut = e->out->fin = e->out->fin_seen = false;
		e->out->len = 0;
	}
}

/* ENH-06: neither the rejected connection nor its end have touched what it was given */
static void queue_pair_kept_for_rev_1_works_as_a_new_one(void **state)
{
	static const uint8_t reject[21] = "MPA ID Rep Frame\x60\x01";
	static uint8_t src[100], dst[100];
	struct pair *p = fresh();
	uint32_t stag, sink;

	(void)state;
	p->b.no_answer = true;
	pair_start(p);
	pair_run(p);
	pair_inject(p, &p->a, reject, 20);
	pair_run(p);
	assert_true(end_has_event(&p->a, IW_EVENT_REJECTED));
	assert_int_equal(iw_conn_state(p->a.conn), IW_CONN_FIN_SENT);
	assert_true(iw_conn_retry_rev1(p->a.conn));
	p->b.no_answer = false;
	p->a.cfg.mpa.rev = 1;
	reconnect(p);
	pair_run(p);
	pattern_fill(src, 100, 1, 0);
	stag = end_register(&p->a, src, 100, 0, IW_RIGHT_REMOTE_READ, false);
	sink = end_register(&p->b, dst, 100, 0, IW_RIGHT_READ_SINK, true);
	post_send(p, &p->a, src, 0, 1);
	post_recv(&p->b, NULL, 0);
	post_read(p, &p->b, sink, 0, 100, stag, 0);
	pair_run(p);
	assert_true(pattern_is(dst, 100, 1, 0));
	close_both(p);
	done(p);
}

/* ENH-18: the Reply was fine, and this end has no memory for its Reads */
static void initiator_without_memory_says_so(void **state)
{
	unsigned n;

	(void)state;
	for (n = 1; n <= 3; n++) {
		struct pair *p = fresh();

		pair_start(p);
		while (p->ba.len == 0)
			assert_true(pair_step(p));
		p->a.mem.fail_at = n;
		while (p->a.mem.fail_at != 0)
			assert_true(pair_step(p));
		pair_run(p);
		assert_false(end_has_event(&p->a, IW_EVENT_ESTABLISHED));
		assert_closed(&p->a, IW_E_MPA_LOCAL);
		assert_non_null(strstr(end_closed_fault(&p->a)->text, "memory"));
		assert_closed(&p->b, IW_E_PEER_TERMINATE);
		assert_int_equal(end_closed_fault(&p->b)->term, IW_TERM(2, 0, 5));
		done(p);
	}
}

/* One step of the wires, then so much time, with the timers that fire. */
static void pass(struct pair *p, uint64_t ns)
{
	pair_step(p);
	p->now += ns;
	iw_conn_timeout(p->a.conn, p->now);
	iw_conn_timeout(p->b.conn, p->now);
	end_poll(p, &p->a);
	end_poll(p, &p->b);
}

/* DDP-74: a graceful end waits for Reads as long as their octets come */
static void long_read_may_outlast_the_close(void **state)
{
	enum { LEN = 50000 };
	static uint8_t src[LEN], dst[LEN];
	struct pair *p = fresh();
	unsigned i;

	(void)state;
	p->a.cfg.stall_ns = IW_SEC(1);
	p->chunk = 500;
	up(p);
	p->ba.window = 2000;
	pattern_fill(src, LEN, 5, 0);
	post_read(p, &p->a, end_register(&p->a, dst, LEN, 0, IW_RIGHT_READ_SINK, true), 0, LEN,
		  end_register(&p->b, src, LEN, 0, IW_RIGHT_REMOTE_READ, true), 0);
	iw_conn_close(p->a.conn, p->now);
	for (i = 0; i < 1000 && p->a.ndone == 0; i++)
		pass(p, IW_MSEC(400));
	assert_true(i > 50);
	assert_int_equal(p->a.done[0].status, 0);
	assert_true(pattern_is(dst, LEN, 5, 0));
	iw_conn_close(p->b.conn, p->now);
	pair_run(p);
	assert_closed(&p->a, IW_OK);
	done(p);
}

/* DDP-77, DDP-79: what comes is taken as long as it comes; silence ends the wait */
static void peer_may_go_on_sending_behind_our_orderly_end(void **state)
{
	enum { LEN = 50000 };
	static uint8_t src[LEN], dst[LEN];
	struct pair *p = fresh();
	unsigned i;

	(void)state;
	p->a.cfg.linger_ns = IW_SEC(1);
	p->chunk = 500;
	up(p);
	post_recv(&p->b, NULL, 0);
	post_send(p, &p->a, src, 0, 1);
	pair_run(p);
	p->ba.window = 2000;
	pattern_fill(src, LEN, 6, 0);
	post_write(p, &p->b, src, LEN,
		   end_register(&p->a, dst, LEN, 0, IW_RIGHT_REMOTE_WRITE, false), 0);
	iw_conn_close(p->a.conn, p->now);
	for (i = 0; i < 1000 && p->ba.sent < LEN; i++)
		pass(p, IW_MSEC(400));
	assert_true(i > 50);
	pair_run(p);
	assert_true(pattern_is(dst, LEN, 6, 0));
	assert_null(end_closed_fault(&p->a));
	pass(p, IW_MSEC(999));
	assert_null(end_closed_fault(&p->a));
	pass(p, IW_MSEC(1));
	assert_closed(&p->a, IW_E_TIMEOUT);
	assert_non_null(strstr(end_closed_fault(&p->a)->text, "within 1000 ms"));
	done(p);
}

/* SEC-29: behind a fault the time is short, whatever comes */
static void peer_cannot_keep_a_failed_connection_by_sending(void **state)
{
	struct pair *p = fresh();
	static uint8_t octets[100];
	unsigned i;

	(void)state;
	p->b.cfg.linger_ns = IW_SEC(1);
	up(p);
	post_write(p, &p->a, octets, 100, 0x1234, 0);
	while (iw_conn_state(p->b.conn) == IW_CONN_OPEN)
		assert_true(pair_step(p));
	p->b.out->window = 0; /* and it takes nothing, not even the Terminate */
	for (i = 0; i < 2; i++) {
		pair_inject(p, &p->b, octets, 100);
		pass(p, IW_MSEC(499));
		assert_null(end_closed_fault(&p->b));
	}
	pair_inject(p, &p->b, octets, 100);
	pass(p, IW_MSEC(2));
	assert_closed(&p->b, IW_E_DDP_STAG); /* the first fault is the one that is told */
	done(p);
}

/* MPA-43, MPA-51: also while the Request waits for the transport */
static void garbage_before_the_request_is_out_closes_at_once(void **state)
{
	struct pair *p = fresh();

	(void)state;
	p->ab.window = 0;
	pair_start(p);
	pair_step(p);
	pair_inject(p, &p->a, "SSH-2.0-OpenSSH_9.2", 19);
	pair_step(p);
	assert_closed(&p->a, IW_E_MPA_FRAME);
	assert_int_equal(p->ab.sent, 0);
	done(p);
}

/* MPA-52, DDP-104, RDMAP-37: what comes behind a fault is dropped even when MPA could not take it,
 * so that no reset overtakes the Terminate */
static void nothing_behind_a_fault_is_looked_at(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t octets[100];

	(void)state;
	post_write(p, &p->a, octets, 100, 0x1234, 0);
	while (iw_conn_state(p->b.conn) == IW_CONN_OPEN)
		assert_true(pair_step(p));
	assert_true(iw_conn_send(p->b.conn, &(struct iw_tx){ 0 }, p->now));
	pair_inject(p, &p->b, octets, 100);
	assert_true(pair_step(p));
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_FIN_SENT);
	pair_inject(p, &p->b, octets, 100);
	pair_run(p);
	assert_closed(&p->b, IW_E_DDP_STAG);
	assert_false(p->b.events[p->b.nevents - 1].abort);
	assert_closed(&p->a, IW_E_PEER_TERMINATE);
	done(p);
}

/* DDP-77, DDP-79, RDMAP-39: a half-closed peer takes Sends and Writes, and cannot answer Reads */
static void reads_are_refused_when_the_peer_has_closed_its_side(void **state)
{
	struct pair *p = up(fresh());
	struct iw_op read = { .kind = IW_OPK_READ };
	static uint8_t buf[8];

	(void)state;
	post_recv(&p->b, NULL, 0);
	post_recv(&p->b, buf, 8);
	post_send(p, &p->a, buf, 0, 1);
	pair_run(p);
	assert_int_equal(iw_rdmap_post(p->a.rdmap, &read, p->now), 0);
	pair_run(p);
	iw_conn_close(p->b.conn, p->now);
	pair_run(p);
	assert_true(end_has_event(&p->a, IW_EVENT_PEER_CLOSED));
	assert_int_equal(iw_rdmap_post(p->a.rdmap, &read, p->now), IW_E_STATE);
	post_send(p, &p->a, "late", 5, 2);
	pair_run(p);
	assert_string_equal((char *)buf, "late");
	iw_conn_close(p->a.conn, p->now);
	pair_run(p);
	assert_closed(&p->a, IW_OK);
	assert_closed(&p->b, IW_OK);
	done(p);
}

/* DDP-76, DDP-80: Reads that are out, and Reads that wait for their turn */
static void fin_before_a_read_was_answered_is_a_fault(void **state)
{
	static uint8_t buf[8];
	unsigned sent;

	(void)state;
	for (sent = 0; sent < 2; sent++) {
		struct pair *p = up(fresh());
		uint32_t sink = end_register(&p->b, buf, 8, 0, IW_RIGHT_READ_SINK, true);

		if (sent) {
			post_recv(&p->b, NULL, 0);
			post_send(p, &p->a, buf, 0, 1); /* opens b's way */
			pair_run(p);
		}
		post_recv(&p->a, NULL, 0);
		post_send(p, &p->b, buf, 0, 2);
		post_read(p, &p->b, sink, 0, 8, 1, 0);
		p->ba.window = sent ? 24 : 0; /* the Send alone */
		pair_step(p);
		iw_conn_close(p->a.conn, p->now);
		pair_run(p);
		assert_closed(&p->b, IW_E_CLOSED);
		assert_non_null(strstr(end_closed_fault(&p->b)->text, "Reads of ours unanswered"));
		assert_int_equal(p->b.ndone, sent ? 3 : 2);
		assert_int_equal(p->b.done[p->b.ndone - 1].kind, IW_OPK_READ);
		done(p);
	}
}

/* MPA-44, DDP-83: a responder's operations that never may go out do not wait for ever */
static void initiator_that_ends_without_an_fpdu_ends_what_waits_for_it(void **state)
{
	unsigned late;

	(void)state;
	for (late = 0; late < 2; late++) {
		struct pair *p = up(fresh());

		if (!late)
			post_send(p, &p->b, "eager", 6, 1);
		iw_conn_close(p->a.conn, p->now);
		pair_run(p);
		if (late) {
			assert_true(end_has_event(&p->b, IW_EVENT_PEER_CLOSED));
			assert_null(end_closed_fault(&p->b));
			post_send(p, &p->b, "eager", 6, 1);
			pair_run(p);
		}
		assert_closed(&p->b, IW_E_CLOSED);
		assert_int_equal(p->b.ndone, 1);
		assert_int_equal(p->b.done[0].status, IW_E_CLOSED);
		done(p);
	}
}

/* MPA-41: the time that the ULP took to decide is not the peer's */
static void rejection_after_a_long_wait_still_goes_out(void **state)
{
	struct pair *p = fresh();

	(void)state;
	p->a.cfg.mpa.timeout_ns = IW_SEC(100);
	p->b.cfg.decide_ns = IW_SEC(100);
	p->b.no_answer = true;
	pair_start(p);
	pair_run(p);
	p->now += IW_SEC(60);
	iw_conn_reject(p->b.conn, NULL, 0, p->now);
	assert_true(iw_conn_deadline(p->b.conn) > p->now);
	iw_conn_timeout(p->b.conn, p->now);
	pair_run(p);
	assert_closed(&p->a, IW_E_REJECTED);
	assert_closed(&p->b, IW_E_REJECTED);
	done(p);
}

/* SEC-29 */
static void time_outs_say_what_did_not_happen(void **state)
{
	static uint8_t buf[8];
	struct pair *p = fresh();

	(void)state;
	/* The Request. */
	p->a.cfg.stall_ns = IW_MSEC(1500);
	p->ab.window = 0;
	pair_start(p);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_closed(&p->a, IW_E_TIMEOUT);
	assert_non_null(strstr(end_closed_fault(&p->a)->text, "takes no octets for 1500 ms"));
	done(p);

	/* A Read. */
	p = up(fresh());
	p->ba.window = 0;
	post_read(p, &p->a, end_register(&p->a, buf, 8, 0, IW_RIGHT_READ_SINK, true), 0, 8,
		  end_register(&p->b, buf, 8, 0, IW_RIGHT_REMOTE_READ, true), 0);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_non_null(strstr(end_closed_fault(&p->a)->text, "answers no RDMA Read"));
	done(p);

	/* The first FPDU, before which a responder may not send: closing waits for it. */
	p = up(fresh());
	post_send(p, &p->b, buf, 8, 1);
	iw_conn_close(p->b.conn, p->now);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_closed(&p->b, IW_E_TIMEOUT);
	assert_non_null(strstr(end_closed_fault(&p->b)->text, "the initiator sends no FPDU"));
	done(p);
}

/* RDMAP-39, RDMAP-27: each end reports its own fault, and each Terminate goes out once */
static void both_ends_may_fail_at_once(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t octets[100];
	uint64_t before;

	(void)state;
	post_recv(&p->b, NULL, 0);
	post_send(p, &p->a, octets, 0, 1);
	pair_run(p);
	post_write(p, &p->a, octets, 100, 0x1234, 0);
	post_send(p, &p->b, octets, 100, 2); /* for which a has no buffer */
	assert_true(pair_step(p));
	assert_int_equal(iw_conn_state(p->a.conn), IW_CONN_TERMINATING);
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_TERMINATING);
	before = p->ab.sent;
	pair_run(p);
	assert_int_equal(p->ab.sent - before, 2 + 18 + 4 + 2 + 18 + 4 /* one Terminate, headers */);
	assert_closed(&p->a, IW_E_DDP_NOBUF);
	assert_closed(&p->b, IW_E_DDP_STAG);
	done(p);
}

/* RDMAP-37, RDMAP-38: what the transport has begun to take is finished, or the peer would take the
 * Terminate for a part of it; then it is the last */
static void terminate_follows_the_batch_that_is_half_out(void **state)
{
	enum { LEN = 60000 };
	static uint8_t src[LEN], dst[LEN];
	struct pair *p = up(fresh());
	uint32_t stag = end_register(&p->a, dst, LEN, 0, IW_RIGHT_REMOTE_WRITE, false);

	(void)state;
	post_recv(&p->b, NULL, 0);
	post_send(p, &p->a, src, 0, 1);
	pair_run(p);
	p->b.ndone = 0;
	pattern_fill(src, LEN, 8, 0);
	memset(dst, 0, LEN);
	p->ba.window = 1000;
	post_write(p, &p->b, src, LEN, stag, 0); /* ends a batch: its last FPDU is short */
	post_write(p, &p->b, src, LEN, stag, 0);
	post_write(p, &p->a, src, 100, 0x1234, 0);
	assert_true(pair_step(p));
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_TERMINATING);
	assert_int_equal(p->b.ndone, 0);
	pair_run(p);
	assert_true(pattern_is(dst, LEN, 8, 0));
	assert_closed(&p->a, IW_E_PEER_TERMINATE);
	assert_closed(&p->b, IW_E_DDP_STAG);
	assert_int_equal(p->b.ndone, 2);
	assert_int_equal(p->b.done[0].status, 0);
	assert_int_equal(p->b.done[1].status, IW_E_DDP_STAG);
	done(p);
}

/* RDMAP-37: a Terminate is not lost where memory is short for a while */
static void terminate_waits_for_a_batch_buffer(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t octets[100];
	void *hog;

	(void)state;
	post_write(p, &p->a, octets, 100, 0x1234, 0);
	hog = iw_pool_get(&p->b.txbufs);
	p->b.txbufs.max = 1;
	pair_run(p);
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_TERMINATING);
	assert_true(iw_conn_deadline(p->b.conn) <= p->now + IW_MSEC(10));
	iw_pool_put(&p->b.txbufs, hog);
	pair_run(p);
	assert_closed(&p->a, IW_E_PEER_TERMINATE);
	assert_closed(&p->b, IW_E_DDP_STAG);
	done(p);
}

/* MPA-42: the peer went away while the ULP thought about its Request */
static void answers_to_a_request_that_has_gone_are_refused(void **state)
{
	struct pair *p = fresh();
	struct iw_fault why = { 0 };

	(void)state;
	p->b.no_answer = true;
	pair_start(p);
	assert_int_equal(iw_conn_accept(p->b.conn, p->b.rdmap, 1, 1, NULL, 0, p->now, &why),
			 IW_E_STATE); /* there is none yet */
	pair_run(p);
	/* What cannot be sent may be decided anew. */
	assert_int_equal(iw_conn_accept(p->b.conn, p->b.rdmap, 0x4000, 1, NULL, 0, p->now, &why),
			 IW_E_INVAL);
	iw_fail(&why, IW_E_OS, "test: reset");
	iw_conn_lost(p->b.conn, &why, p->now);
	end_poll(p, &p->b);
	assert_closed(&p->b, IW_E_OS);
	assert_int_equal(iw_conn_accept(p->b.conn, p->b.rdmap, 1, 1, NULL, 0, p->now, &why),
			 IW_E_STATE);
	iw_conn_reject(p->b.conn, NULL, 0, p->now);
	assert_false(iw_conn_send(p->b.conn, &(struct iw_tx){ 0 }, p->now));
	assert_int_equal(p->b.nevents, 2); /* the Request, the end */
	assert_int_equal(iw_rdmap_state(p->b.rdmap), IW_RDMAP_IDLE);
	done(p);
}

/* DDP-83: in either role */
static void close_during_set_up_is_an_abort(void **state)
{
	struct pair *p = fresh();

	(void)state;
	p->b.no_answer = true;
	pair_start(p);
	post_recv(&p->a, NULL, 0);
	pair_run(p);
	iw_conn_close(p->a.conn, p->now);
	iw_conn_close(p->b.conn, p->now);
	iw_conn_close(p->b.conn, p->now); /* once is enough */
	end_poll(p, &p->a);
	end_poll(p, &p->b);
	assert_closed(&p->a, IW_E_CANCELED);
	assert_closed(&p->b, IW_E_CANCELED);
	assert_true(p->a.events[0].abort);
	assert_int_equal(p->a.ndone, 1);
	assert_int_equal(p->a.done[0].status, IW_E_CANCELED);
	assert_int_equal(iw_conn_deadline(p->a.conn), IW_TIME_NEVER);
	done(p);
}

/* MPA-55: RDMA Consortium peers: markers and CRC both ways, versions 0, whatever was asked for */
static void rdmac_peers_are_served_when_permitted(void **state)
{
	struct pair *p = fresh();

	(void)state;
	p->a.cfg.mpa.rev = 0;
	p->a.cfg.mpa.rdmac = p->b.cfg.mpa.rdmac = true;
	up(p);
	assert_int_equal(iw_conn_params(p->a.conn)->dv, 0);
	assert_int_equal(iw_conn_params(p->b.conn)->dv, 0);
	assert_true(iw_conn_params(p->a.conn)->rx_markers && iw_conn_params(p->b.conn)->rx_markers);
	exchange(p);
	done(p);
	p = fresh(); /* not permitted: refused */
	p->a.cfg.mpa.rev = 0;
	p->a.cfg.mpa.rdmac = true;
	pair_start(p);
	pair_run(p);
	assert_non_null(end_closed_fault(&p->b));
	assert_int_not_equal(end_closed_fault(&p->b)->err, IW_OK);
	assert_non_null(end_closed_fault(&p->a));
	done(p);
}

/* ENH-02, ENH-05: Rev 1 */
static void rev_1_works_without_negotiated_reads(void **state)
{
	struct pair *p = fresh();

	(void)state;
	p->a.cfg.mpa.rev = 1;
	up(p);
	assert_int_equal(iw_conn_params(p->b.conn)->rev, 1);
	assert_false(iw_conn_params(p->b.conn)->enhanced);
	exchange(p);
	close_both(p);
	done(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split_of_the_stream_gives_the_same_result),
		cmocka_unit_test(transport_that_takes_a_few_octets_at_a_time),
		cmocka_unit_test(each_rtr_form_opens_the_responders_way),
		cmocka_unit_test(responder_sends_nothing_before_the_first_fpdu),
		cmocka_unit_test(bad_first_fpdu_closes_without_a_terminate),
		cmocka_unit_test(crc_error_in_full_operation_is_told_by_a_terminate),
		cmocka_unit_test(terminate_reaches_the_peer_with_its_reason),
		cmocka_unit_test(input_is_drained_behind_a_terminate),
		cmocka_unit_test(garbage_instead_of_a_request_closes),
		cmocka_unit_test(two_initiators_find_out),
		cmocka_unit_test(silent_peers_time_out_in_every_state),
		cmocka_unit_test(rejection_carries_private_data_both_ways),
		cmocka_unit_test(reply_that_needs_more_ird_than_there_is_terminates),
		cmocka_unit_test(reply_that_cannot_be_accepted_for_another_reason_terminates),
		cmocka_unit_test(first_of_two_errors_is_reported),
		cmocka_unit_test(stream_cut_at_every_octet),
		cmocka_unit_test(fin_inside_an_fpdu_is_a_fault),
		cmocka_unit_test(large_fpdus_only_where_both_ends_agree),
		cmocka_unit_test(ird_and_ord_are_negotiated),
		cmocka_unit_test(memory_that_runs_out_ends_the_connection_not_the_program),
		cmocka_unit_test(no_batch_buffer_means_later),
		cmocka_unit_test(abort_completes_everything),
		cmocka_unit_test(read_source_revoked_midway_ends_the_connection),
		cmocka_unit_test(
			operation_in_a_batch_is_not_completed_by_a_fault_found_while_filling_it),
		cmocka_unit_test(queue_pair_kept_for_rev_1_works_as_a_new_one),
		cmocka_unit_test(initiator_without_memory_says_so),
		cmocka_unit_test(long_read_may_outlast_the_close),
		cmocka_unit_test(peer_may_go_on_sending_behind_our_orderly_end),
		cmocka_unit_test(peer_cannot_keep_a_failed_connection_by_sending),
		cmocka_unit_test(garbage_before_the_request_is_out_closes_at_once),
		cmocka_unit_test(nothing_behind_a_fault_is_looked_at),
		cmocka_unit_test(reads_are_refused_when_the_peer_has_closed_its_side),
		cmocka_unit_test(fin_before_a_read_was_answered_is_a_fault),
		cmocka_unit_test(initiator_that_ends_without_an_fpdu_ends_what_waits_for_it),
		cmocka_unit_test(rejection_after_a_long_wait_still_goes_out),
		cmocka_unit_test(time_outs_say_what_did_not_happen),
		cmocka_unit_test(both_ends_may_fail_at_once),
		cmocka_unit_test(terminate_follows_the_batch_that_is_half_out),
		cmocka_unit_test(terminate_waits_for_a_batch_buffer),
		cmocka_unit_test(answers_to_a_request_that_has_gone_are_refused),
		cmocka_unit_test(close_during_set_up_is_an_abort),
		cmocka_unit_test(rdmac_peers_are_served_when_permitted),
		cmocka_unit_test(rev_1_works_without_negotiated_reads),
	};

	return cmocka_run_group_tests_name("conn", tests, NULL, NULL);
}
