// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Complete connections between two engines in memory: set-up, transfer, every way to end. */
#include "conn/conn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"
#include "trace_log.h"
#include "util/num.h"
#include "util/txbuf.h"
#include "wire/crc32c.h"

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

/* Write, Send and Read from both ends, verified. */
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

/* DDP-04, MPA-26, MPA-27, MPA-28, MPA-29: the stream is split in every way, with every combination
 * of CRC and markers in each direction */
static void every_split_of_the_stream_gives_the_same_result(void **state)
{
	static const size_t chunks[] = { 1, 2, 3, 7, 64, 511, 1448, 4096, SIZE_MAX };
	unsigned mode, i;

	(void)state;
	for (mode = 0; mode < 8; mode++) {
		for (i = 0; i < IW_ARRAY_LEN(chunks); i++) {
			struct pair *p = fresh();

			p->chunk = chunks[i];
			p->a.cfg.mpa.crc = p->b.cfg.mpa.crc = mode & 1 ? IW_CRC_OFF : IW_CRC_WANTED;
			p->a.cfg.mpa.markers = mode & 2;
			p->b.cfg.mpa.markers = mode & 4;
			up(p);
			assert_int_equal(iw_conn_agreed(p->a.conn)->crc, !(mode & 1));
			assert_int_equal(iw_conn_agreed(p->a.conn)->rx_markers, !!(mode & 2));
			assert_int_equal(iw_conn_agreed(p->b.conn)->rx_markers, !!(mode & 4));
			exchange(p);
			close_both(p);
			done(p);
		}
	}
}

/* DDP-10, DDP-11, DDP-77, DDP-78, DDP-79, MPA-49: short writes and a window of a few octets; then
 * an orderly end, begun by either side in turn */
static void transport_may_accept_a_few_octets_at_a_time(void **state)
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

/* ENH-16: all three RTR forms; the ULP does not see them */
static void each_rtr_form_opens_the_responders_way(void **state)
{
	unsigned form;

	(void)state;
	/* If several are agreed on, one of them is sent. */
	for (form = 1; form <= 7; form++) {
		struct pair *p = fresh();

		p->a.cfg.mpa.offer.peer_to_peer = true;
		p->a.cfg.mpa.offer.rtr = p->b.cfg.mpa.offer.rtr = (uint8_t)form;
		up(p);
		assert_int_equal(iw_conn_counts(p->a.conn)->tx_fpdus, 1);
		assert_true(iw_conn_agreed(p->b.conn)->peer_to_peer);
		/* The responder sends first: the RTR permits it. */
		exchange(p);
		close_both(p);
		done(p);
	}
	{
		struct pair *p = fresh();
		static uint8_t buf[8];

		p->a.cfg.mpa.offer.peer_to_peer = true;
		up(p);
		post_recv(&p->a, buf, 8);
		post_send(p, &p->b, "first", 6, 1);
		pair_run(p);
		assert_string_equal((char *)buf, "first");
		done(p);
	}
}

/* ENH-16: a responder without data waits for the RTR and answers it before its FIN */
static void responder_may_close_before_the_rtr_has_arrived(void **state)
{
	unsigned form;

	(void)state;
	for (form = 1; form <= 4; form <<= 1) {
		struct pair *p = fresh();

		p->a.cfg.mpa.offer.peer_to_peer = true;
		p->a.cfg.mpa.offer.rtr = p->b.cfg.mpa.offer.rtr = (uint8_t)form;
		pair_start(p);
		while (!end_has_event(&p->b, IW_EVENT_ESTABLISHED))
			assert_true(pair_step(p));
		iw_conn_close(p->b.conn, p->now);
		pair_run(p);
		assert_true(end_has_event(&p->a, IW_EVENT_PEER_CLOSED));
		iw_conn_close(p->a.conn, p->now);
		pair_run(p);
		assert_closed(&p->a, IW_OK);
		assert_closed(&p->b, IW_OK);
		done(p);
	}
	{
		/* the RTR is never sent: the responder does not wait for it */
		struct pair *p = fresh();

		p->a.cfg.mpa.offer.peer_to_peer = true;
		p->ab.window = 24; /* only the Request */
		p->ba.not_before = UINT64_MAX;
		pair_start(p);
		while (!end_has_event(&p->b, IW_EVENT_ESTABLISHED))
			assert_true(pair_step(p));
		iw_conn_close(p->b.conn, p->now);
		pair_step(p);
		assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_CLOSING);
		iw_conn_eof(p->b.conn, p->now);
		pair_step(p);
		assert_closed(&p->b, IW_OK);
		done(p);
	}
}

/* MPA-44: without a first FPDU from the initiator the responder sends nothing */
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

/* MPA-44: a bad first FPDU is reported and closes the connection, without a Terminate; the good
 * FPDU after it is ignored */
static void bad_first_fpdu_closes_without_a_terminate(void **state)
{
	struct pair *p = up(fresh());
	static const uint8_t bad[24] = {
		0x00, 0x12, 0x41, 0x43, 0, 0, 0, 0, 0,    0,    0,    0,
		0,    0,    0,    1,    0, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef
	};
	uint64_t sent = p->ba.sent;

	(void)state;
	post_recv(&p->b, NULL, 0);
	pair_inject(p, &p->b, bad, sizeof(bad));
	post_send(p, &p->a, NULL, 0, 1);
	pair_run(p);
	assert_closed(&p->b, IW_E_MPA_CRC);
	assert_int_equal(p->b.ndone, 1);
	assert_int_equal(p->b.done[0].status, IW_E_CANCELED);
	assert_int_equal(p->ba.sent, sent);
	assert_non_null(strstr(end_closed_fault(&p->b)->text, "CRC"));
	done(p);
}

/* DDP-06, DDP-85, RDMAP-37, MPA-50, MPA-53, DDP-84, DDP-105: a later CRC error causes Terminate
 * 2/0/2, then FIN; octets that the peer had already sent are drained */
static void crc_error_in_full_operation_sends_a_terminate(void **state)
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
	assert_int_equal(buf[1][0], 0); /* nothing of the FPDU was placed */
	done(p);
}

/* RDMAP-37: both ends report the cause as text */
static void terminate_reaches_the_peer_with_its_reason(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t octets[5000];

	(void)state;
	post_write(p, &p->a, octets, 0, 0, 0);
	post_write(p, &p->a, octets, sizeof(octets), 0x1234, 0);
	pair_run(p);
	assert_closed(&p->b, IW_E_DDP_STAG);
	assert_int_equal(end_closed_fault(&p->b)->offset, 20); /* after the first FPDU */
	assert_closed(&p->a, IW_E_PEER_TERMINATE);
	assert_int_equal(end_closed_fault(&p->a)->term, IW_TERM(1, 1, 0));
	assert_non_null(strstr(end_closed_fault(&p->b)->text, "0x00001234"));
	assert_string_equal(end_closed_fault(&p->b)->clause, "RFC 5041 7.1");
	done(p);
}

/* RDMAP-37: the input is drained while the Terminate is in flight, so that no reset destroys it,
 * whichever end found the fault */
static void input_is_drained_after_a_terminate(void **state)
{
	static uint8_t octets[300000];
	unsigned by_mpa;

	(void)state;
	for (by_mpa = 0; by_mpa < 2; by_mpa++) {
		struct pair *p = up(fresh());
		struct iw_vec vec[2];

		post_recv(&p->b, NULL, 0);
		post_send(p, &p->a, octets, 0, 1);
		pair_run(p);
		p->chunk = 1000;
		if (by_mpa)
			pair_inject(p, &p->b,
				    "\x00\x12\x41\x43\x00\x00\x00\x00\x00\x00\x00\x00"
				    "\x00\x00\x00\x02\x00\x00\x00\x00"
				    "bad!",
				    24);
		else
			post_write(p, &p->a, octets, 100, 0x1234, 0);
		post_write(p, &p->a, octets, sizeof(octets), 0x1234, 0);
		while (iw_conn_state(p->b.conn) == IW_CONN_OPEN)
			assert_true(pair_step(p));
		assert_true(p->ab.len > 100000);
		assert_int_equal(iw_conn_rx_vec(p->b.conn, (struct iw_vec){ octets, 7 }, vec), 1);
		assert_ptr_equal(vec[0].base, octets);
		assert_int_equal(vec[0].len, 7);
		iw_conn_received(p->b.conn, 0, p->now);
		pair_run(p);
		assert_closed(&p->a, IW_E_PEER_TERMINATE);
		assert_closed(&p->b, by_mpa ? IW_E_MPA_CRC : IW_E_DDP_STAG);
		assert_int_equal(p->ab.len, 0);
		done(p);
	}
}

/* MPA-40, MPA-31, MPA-51: garbage instead of a Request closes the connection at its first wrong
 * octet */
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
static void two_initiators_detect_each_other(void **state)
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

/* MPA-47, SEC-29: every wait has a time-out */
static void silent_peers_time_out_in_every_state(void **state)
{
	struct pair *p = fresh();
	static uint8_t buf[64];

	(void)state;
	/* Two responders: neither sends. */
	p->a.cfg.mpa.initiator = false;
	pair_start(p);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_closed(&p->a, IW_E_TIMEOUT);
	done(p);

	/* The ULP never decides about the Request. */
	p = fresh();
	p->b.no_answer = true;
	p->a.cfg.mpa.timeout_ns = IW_SEC(100);
	pair_start(p);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_closed(&p->b, IW_E_TIMEOUT);
	assert_non_null(strstr(end_closed_fault(&p->b)->text, "within 10000 ms"));
	done(p);

	/* The Reply never arrives. */
	p = fresh();
	p->b.no_answer = true;
	p->b.cfg.decide_ns = IW_SEC(100);
	pair_start(p);
	pair_run(p);
	assert_true(pair_tick(p));
	assert_closed(&p->a, IW_E_TIMEOUT);
	done(p);

	/* The peer stops reading. */
	p = up(fresh());
	post_recv(&p->b, buf, 64);
	p->ab.window = 0;
	p->now += IW_SEC(100);
	post_send(p, &p->a, "x", 1, 1);
	pair_run(p);
	assert_int_equal(iw_conn_deadline(p->a.conn), p->now + IW_SEC(30));
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

	/* An idle connection has no deadline. */
	p = up(fresh());
	assert_false(pair_tick(p));
	done(p);
}

/* The ULPs' protocols differ: a CBOR text string, and one that follows its length. */
static void reason_of_a_rejection_is_the_text_at_its_end(void **state)
{
	static const struct {
		const char *pd;
		size_t len;
		const char *text;
	} cases[] = {
		{ "\xa1\x0f\x78\x20the directory is not served here", 36,
		  "connection: \"the directory is not served here\"" },
		{ "iwB\x08\0\0\0\x09too large", 17, "connection: \"too large\"" },
		{ "\1\2\3ab", 5, "(5 octets of Private Data)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair *p = fresh();

		p->b.reject = true;
		memcpy(p->b.pd, cases[i].pd, cases[i].len);
		p->b.pd_len = cases[i].len;
		pair_start(p);
		pair_run(p);
		assert_closed(&p->a, IW_E_REJECTED);
		if (!strstr(end_closed_fault(&p->a)->text, cases[i].text))
			fail_msg("\"%s\" lacks \"%s\"", end_closed_fault(&p->a)->text,
				 cases[i].text);
		done(p);
	}
}

/* MPA-41, MPA-43, ENH-07 */
static void rejection_carries_private_data_both_ways(void **state)
{
	struct pair *p = fresh();

	(void)state;
	p->a.cfg.mpa.offer.pd = (const uint8_t *)"please";
	p->a.cfg.mpa.offer.pd_len = 6;
	p->a.cfg.mpa.offer.ord = 3;
	p->b.cfg.mpa.offer.ird = 6;
	p->b.cfg.mpa.offer.ord = 2;
	p->b.reject = true;
	memcpy(p->b.pd, "no room", 7);
	p->b.pd_len = 7;
	pair_start(p);
	pair_run(p);
	assert_true(end_has_event(&p->a, IW_EVENT_REJECTED));
	assert_closed(&p->a, IW_E_REJECTED);
	assert_non_null(strstr(end_closed_fault(&p->a)->text,
			       "the peer rejected the connection: \"no room\""));
	assert_closed(&p->b, IW_E_REJECTED);
	assert_false(p->a.events[p->a.nevents - 1].abort); /* FINs in both directions */
	assert_false(p->b.events[p->b.nevents - 1].abort);
	assert_int_equal(iw_conn_agreed(p->a.conn)->pd_len, 7);
	assert_memory_equal(iw_conn_agreed(p->a.conn)->pd, "no room", 7);
	assert_memory_equal(iw_conn_agreed(p->b.conn)->pd, "please", 6);
	assert_int_equal(iw_conn_agreed(p->b.conn)->peer_ird, 4);
	assert_int_equal(iw_conn_agreed(p->b.conn)->peer_ord, 3);
	assert_int_equal(iw_conn_agreed(p->a.conn)->peer_ird, 6);
	assert_int_equal(iw_conn_agreed(p->a.conn)->peer_ord, 2);
	done(p);
}

/* MPA-41: a ULP that continues to use TCP reads every octet after the Request, and no FIN is
 * sent. */
static void rejection_with_keep_stream_keeps_the_connection(void **state)
{
	struct pair *p = fresh();
	struct iw_vec octets, vec[2];
	struct iw_tx tx;

	(void)state;
	p->b.reject = true;
	p->b.cfg.keep_stream = true;
	p->ba.window = 7;
	pair_start(p);
	while (p->ba.sent == 0)
		assert_true(pair_step(p));
	/* Part of the Reply was sent. */
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_TERMINATING);
	assert_false(iw_conn_wants_rx(p->b.conn));
	assert_int_equal(iw_conn_rx_vec(p->b.conn,
					(struct iw_vec){ p->b.scratch, p->b.scratch_len }, vec),
			 0);
	assert_false(iw_conn_is_streaming(p->b.conn, &octets));
	assert_false(iw_conn_fin_due(p->b.conn, p->now));
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_TERMINATING);
	assert_true(iw_conn_send(p->b.conn, &tx, p->now));
	assert_int_equal(tx.bytes, 24 - p->ba.sent);
	iw_conn_sent(p->b.conn, tx.bytes, p->now);
	assert_false(iw_conn_send(p->b.conn, &tx, p->now));
	assert_false(iw_conn_fin_due(p->b.conn, p->now));
	end_poll(p, &p->b);
	assert_closed(&p->b, IW_E_REJECTED);
	assert_false(p->b.events[p->b.nevents - 1].abort);
	assert_true(iw_conn_is_streaming(p->b.conn, &octets));
	assert_int_equal(octets.len, 0);
	done(p);
}

/* MPA-41, DDP-74: the FIN follows the last pending octet, here of a Reply or an RTR that the
 * transport accepts in pieces. */
static void fin_waits_for_the_last_octet(void **state)
{
	struct pair *p = fresh();

	(void)state;
	p->b.reject = true;
	p->ba.window = 7;
	pair_start(p);
	pair_run(p);
	assert_closed(&p->a, IW_E_REJECTED);
	assert_closed(&p->b, IW_E_REJECTED);
	assert_int_equal(p->ba.sent, 24);
	done(p);

	p = fresh();
	p->a.cfg.mpa.offer.peer_to_peer = true;
	p->ab.window = 7;
	pair_start(p);
	while (iw_conn_state(p->a.conn) != IW_CONN_OPEN)
		assert_true(pair_step(p));
	iw_conn_close(p->a.conn, p->now);
	while (!p->ab.fin)
		assert_true(pair_step(p));
	assert_int_equal(iw_conn_counts(p->a.conn)->tx_fpdus, 1);
	pair_run(p);
	assert_true(end_has_event(&p->b, IW_EVENT_PEER_CLOSED));
	assert_int_equal(iw_conn_counts(p->b.conn)->rx_fpdus, 1);
	done(p);
}

/* Private Data that is too long ends the connection without a Reply. */
static void rejection_that_cannot_be_built_closes(void **state)
{
	static const uint8_t pd[513];
	struct pair *p = fresh();

	(void)state;
	p->b.no_answer = true;
	pair_start(p);
	pair_run(p);
	iw_conn_reject(p->b.conn, pd, sizeof(pd), p->now);
	end_poll(p, &p->b);
	assert_closed(&p->b, IW_E_INVAL);
	assert_int_equal(p->ba.sent, 0);
	done(p);
}

/* Returns the Terminate on the wire that answers a responder's Reply which the initiator cannot
 * accept. */
static uint32_t terminate_answering(const uint8_t tail[8], enum iw_crc_policy crc, int err)
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
	assert_int_equal(p->ab.len, 28); /* unread: the responder's ULP is still deciding */
	assert_int_equal(iw_wire_ddp_decode(&h, p->ab.buf + p->ab.off + 2, 22), 18);
	assert_int_equal(h.opcode, IW_OP_TERM);
	assert_int_equal(h.dv, 1);
	assert_int_equal(h.rv, 1);
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
				    IW_CRC_WANTED, IW_E_MPA_IRD),
		IW_TERM(2, 0, 6));
}

/* ENH-18: another local reason, here a required CRC that the Reply does not promise */
static void reply_that_cannot_be_accepted_for_another_reason_terminates(void **state)
{
	(void)state;
	assert_int_equal(
		terminate_answering((const uint8_t[]){ 0x10, 2, 0, 4, 0x00, 0x04, 0x00, 0x04 },
				    IW_CRC_REQUIRED, IW_E_MPA_LOCAL),
		IW_TERM(2, 0, 5));
}

/* RDMAP-39: the first error is reported */
static void first_of_two_errors_is_reported(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t octets[64];

	(void)state;
	post_send(p, &p->a, octets, 64, 1);          /* no receive is posted: first error */
	post_write(p, &p->a, octets, 64, 0x1234, 0); /* an invalid STag: second error */
	pair_run(p);
	assert_closed(&p->b, IW_E_DDP_NOBUF);
	assert_int_equal(end_closed_fault(&p->a)->term, IW_TERM(1, 2, 2));
	done(p);
}

/* Of the first len octets, some are equal to src's and the rest are unchanged. */
static bool is_prefix(const uint8_t *dst, const uint8_t *src, size_t len, uint8_t before)
{
	while (len > 0 && dst[len - 1] == before)
		len--;
	return memcmp(dst, src, len) == 0;
}

/* Checks what a cut stream leaves of two operations and a receive. Each has completed once: in
 * order, with success if the transport sent it, the next with the reason, and the last as
 * canceled. */
static void assert_ended_by_cut(const struct pair *p)
{
	static const int flushed[] = { IW_E_OS, IW_E_CANCELED };
	unsigned i, failed = 0;

	assert_int_equal(p->a.ndone, end_has_event(&p->a, IW_EVENT_ESTABLISHED) ? 2 : 0);
	for (i = 0; i < p->a.ndone; i++) {
		assert_int_equal(p->a.done[i].cookie, 600 + i);
		if (failed > 0 || p->a.done[i].status != 0)
			assert_int_equal(p->a.done[i].status, flushed[failed++]);
	}
	/* The receive, if the connection was established. */
	assert_int_equal(p->b.ndone, end_has_event(&p->b, IW_EVENT_ESTABLISHED));
	if (p->b.ndone > 0 && p->b.done[0].status != 0)
		assert_int_equal(p->b.done[0].status, IW_E_CANCELED);
}

/* DDP-03, DDP-80, DDP-81, DDP-83, DDP-86: the stream ends at every octet */
static void stream_cut_at_every_octet(void **state)
{
	static uint8_t src[3000], dst[3000], msg[64];
	uint64_t cut;
	bool hit = true;

	(void)state;
	pattern_fill(src, sizeof(src), 7, 0);
	for (cut = 0; hit; cut++) {
		struct pair *p = fresh();
		uint32_t stag;

		p->chunk = 100;
		p->ab.cut_at = cut;
		pair_start(p);
		memset(dst, 0xee, sizeof(dst));
		stag = end_register(&p->b, dst, sizeof(dst), 0, IW_RIGHT_REMOTE_WRITE, false);
		post_recv(&p->b, msg, 64);
		pair_run(p);
		if (end_has_event(&p->a, IW_EVENT_ESTABLISHED)) {
			post_write(p, &p->a, src, sizeof(src), stag, 0);
			post_send(p, &p->a, "end", 4, 601);
			pair_run(p);
		}
		hit = p->cut;
		if (hit) {
			assert_closed(&p->a, IW_E_OS);
			assert_closed(&p->b, IW_E_OS);
			assert_true(is_prefix(dst, src, sizeof(dst), 0xee));
		}
		assert_ended_by_cut(p);
		done(p);
	}
	assert_true(cut > 3000);
	assert_memory_equal(dst, src, sizeof(src));
}

/* MPA-50 (1): FIN inside an FPDU means a lost connection, not an orderly end */
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

/* DDP-01: FPDUs above the MSS are sent only if both ends support them; to other peers an FPDU fits
 * the MSS */
static void large_fpdus_only_where_both_ends_agree(void **state)
{
	unsigned mode;

	(void)state;
	for (mode = 0; mode < 4; mode++) {
		struct pair *p = fresh();

		p->a.cfg.mpa.max_ulpdu = mode & 1 ? 64768 : 0;
		p->b.cfg.mpa.max_ulpdu = mode & 2 ? 32000 : 0;
		p->a.cfg.mpa.offer.pd = (const uint8_t *)"hello";
		p->a.cfg.mpa.offer.pd_len = 5;
		memcpy(p->b.pd, "welcome", 7);
		p->b.pd_len = 7;
		up(p);
		assert_int_equal(iw_conn_mulpdu(p->a.conn), mode == 3 ? 32000 : 1442);
		assert_int_equal(iw_conn_mulpdu(p->b.conn), mode == 3 ? 32000 : 1442);
		assert_int_equal(iw_conn_aligned(p->a.conn), mode != 3);
		/* The ULP sees only its own Private Data. */
		assert_int_equal(iw_conn_agreed(p->b.conn)->pd_len, 5);
		assert_int_equal(iw_conn_agreed(p->a.conn)->pd_len, 7);
		exchange(p);
		done(p);
	}
}

/* RDMAP-19, ENH-07, ENH-10: the negotiated IRD and ORD are in force */
static void ird_and_ord_are_negotiated(void **state)
{
	struct pair *p = fresh();
	static uint8_t src[4096], dst[4096];
	uint32_t rstag, sink;
	unsigned i;

	(void)state;
	p->a.cfg.mpa.offer.ord = 3;
	p->a.cfg.mpa.offer.ird_max = 8;
	p->b.ird = 1;
	p->b.ord = 2;
	up(p);
	assert_int_equal(iw_conn_agreed(p->b.conn)->peer_ord, 3);
	assert_int_equal(iw_conn_agreed(p->a.conn)->peer_ird, 1);
	assert_int_equal(iw_conn_agreed(p->a.conn)->ord, 1);
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

/* A failed creation leaves nothing allocated. */
static void connection_that_cannot_be_made_is_an_error(void **state)
{
	struct pair *p = up(fresh());
	struct iw_conn_cfg cfg = p->b.cfg;
	struct iw_fault why = { 0 };
	struct iw_conn *c = p->b.conn;

	(void)state;
	p->b.mem.fail_at = 1;
	assert_int_equal(iw_conn_new(&c, &cfg, p->now, &why), IW_E_NOMEM);
	assert_null(c);
	assert_non_null(strstr(why.text, "memory"));
	c = p->b.conn;
	cfg.mpa.rev = 3;
	assert_int_equal(iw_conn_new(&c, &cfg, p->now, &why), IW_E_INVAL);
	assert_null(c);
	iw_conn_free(NULL);
	done(p);
}

/* Without batch buffers a connection retries soon instead of hanging */
static void connection_without_a_batch_buffer_retries_later(void **state)
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
	assert_true(iw_conn_deadline(p->a.conn) > p->now);
	assert_true(pair_tick(p));
	assert_int_equal(iw_conn_deadline(p->a.conn), IW_TIME_NEVER); /* until the next retry */
	iw_pool_put(&p->a.txbufs, hog);
	pair_run(p);
	assert_string_equal((char *)buf, "later");
	assert_int_equal(iw_conn_deadline(p->a.conn), IW_TIME_NEVER);
	done(p);
}

/* A local abort completes all operations at once and sends nothing; later events change nothing.
 * The batch buffer is returned. */
static void abort_completes_everything(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t buf[100000];
	struct iw_conn_counts before;
	struct iw_fault why = { 0 };
	struct iw_vec vec[2];
	void *batch;

	(void)state;
	p->ab.window = 1000;
	p->a.txbufs.max = 1;
	post_write(p, &p->a, buf, sizeof(buf), 1, 0);
	post_recv(&p->a, buf, 8);
	assert_true(pair_step(p));
	iw_conn_abort(p->a.conn, p->now);
	end_poll(p, &p->a);
	assert_closed(&p->a, IW_E_CANCELED);
	assert_int_equal(p->a.ndone, 2);
	batch = iw_pool_get(&p->a.txbufs);
	assert_non_null(batch);
	iw_pool_put(&p->a.txbufs, batch);
	iw_conn_abort(p->a.conn, p->now);
	iw_conn_close(p->a.conn, p->now);
	iw_conn_eof(p->a.conn, p->now);
	iw_fail(&why, IW_E_OS, "test: reset");
	iw_conn_lost(p->a.conn, &why, p->now);
	iw_conn_timeout(p->a.conn, p->now + IW_SEC(1000));
	before = *iw_conn_counts(p->a.conn);
	iw_conn_received(p->a.conn, 1, p->now);
	iw_conn_sent(p->a.conn, 1, p->now);
	assert_memory_equal(&before, iw_conn_counts(p->a.conn), sizeof(before));
	assert_false(iw_conn_fin_due(p->a.conn, p->now));
	assert_false(iw_conn_wants_rx(p->a.conn));
	assert_int_equal(iw_conn_rx_vec(p->a.conn, (struct iw_vec){ buf, 1 }, vec), 0);
	end_poll(p, &p->a);
	assert_int_equal(p->a.nevents, 2); /* established, closed */
	assert_int_equal(iw_conn_deadline(p->a.conn), IW_TIME_NEVER);
	done(p);
}

/* A queue pair that is freed during a transfer leaves nothing allocated. */
static void connection_may_be_freed_with_a_batch_under_way(void **state)
{
	struct pair *p = up(fresh());
	static uint8_t buf[100000];

	(void)state;
	p->ab.window = 1000;
	post_write(p, &p->a, buf, sizeof(buf), 1, 0);
	assert_true(pair_step(p));
	assert_null(end_closed_fault(&p->a));
	done(p);
}

/* SEC-24, RDMAP-37: the revocation is detected when a Read Response is built. The Terminate ends
 * the connection like any other, also while it is being closed. */
static void read_source_revoked_midway_ends_the_connection(void **state)
{
	enum { LEN = 600000 }; /* several batches, all copied */
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

/* DDP-70, RDMAP-30: the operation's octets belong to the batch until the transport has sent them */
static void operation_in_a_batch_is_not_completed_by_a_fault_found_while_filling_it(void **state)
{
	enum { LEN = 40 * 1428 }; /* whole TCP segments: the batch continues after them */
	static uint8_t src[LEN], dst[LEN], written[LEN];
	struct pair *p = up(fresh());
	uint32_t stag = end_register(&p->b, src, LEN, 0, IW_RIGHT_REMOTE_READ, false);
	uint32_t target = end_register(&p->a, written, LEN, 0, IW_RIGHT_REMOTE_WRITE, false);
	uint32_t sink = end_register(&p->a, dst, LEN, 0, IW_RIGHT_READ_SINK, true);

	(void)state;
	memset(written, 0, LEN);
	pattern_fill(src, LEN, 4, 0);
	post_read(p, &p->a, sink, 0, 10, stag, 0);
	pair_run(p); /* a Response had the last turn: the Write has the next one */
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

/* Both connections start again, with unchanged queue pairs. */
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

/* ENH-06: neither the rejected connection nor its end has changed the posted operations */
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

/* ENH-18: the Reply was acceptable, but this end has no memory for its Reads */
static void initiator_without_memory_fails_with_the_error(void **state)
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

/* A responder without memory closes the connection and sends no accepting Reply before. */
static void responder_without_memory_closes(void **state)
{
	struct pair *p = fresh();
	struct iw_fault why = { 0 };

	(void)state;
	p->b.no_answer = true;
	pair_start(p);
	pair_run(p);
	p->b.mem.fail_at = 1;
	assert_int_equal(iw_conn_accept(p->b.conn, p->b.rdmap, 4, 4, NULL, 0, p->now, &why), 0);
	pair_run(p);
	assert_int_equal(p->ba.sent, 0);
	assert_closed(&p->b, IW_E_MPA_LOCAL);
	assert_false(end_has_event(&p->b, IW_EVENT_ESTABLISHED));
	assert_closed(&p->a, IW_E_MPA_LOST);
	done(p);
}

/* Makes one step of the streams, then advances the time, with the timers that expire. */
static void pass(struct pair *p, uint64_t ns)
{
	pair_step(p);
	p->now += ns;
	iw_conn_timeout(p->a.conn, p->now);
	iw_conn_timeout(p->b.conn, p->now);
	end_poll(p, &p->a);
	end_poll(p, &p->b);
}

/* DDP-74: everything that was posted is sent before the FIN, in as many batches as necessary */
static void close_waits_for_posted_operations(void **state)
{
	enum { LEN = 600000 };
	static uint8_t src[LEN], dst[LEN];
	struct pair *p = up(fresh());

	(void)state;
	pattern_fill(src, LEN, 2, 0);
	post_write(p, &p->a, src, LEN,
		   end_register(&p->b, dst, LEN, 0, IW_RIGHT_REMOTE_WRITE, false), 0);
	iw_conn_close(p->a.conn, p->now);
	pair_run(p);
	assert_int_equal(p->a.done[0].status, 0);
	assert_true(pattern_is(dst, LEN, 2, 0));
	iw_conn_close(p->b.conn, p->now);
	pair_run(p);
	assert_closed(&p->a, IW_OK);
	assert_closed(&p->b, IW_OK);
	done(p);
}

/* A graceful close waits for Reads as long as their octets arrive. */
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

/* DDP-77, DDP-79: octets are accepted as long as they arrive; silence ends the wait */
static void peer_may_continue_to_send_after_our_orderly_end(void **state)
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

/* RFC 5041 5.2: a zero-length RDMA Write; a peer may send any number of them. */
static void inject_empty_write(struct pair *p, struct end *to)
{
	uint8_t fpdu[20] = { 0, 14, 0xc1, 0x40 };
	uint32_t crc = iw_crc32c(0, fpdu, 16);

	for (unsigned i = 0; i < 4; i++)
		fpdu[16 + i] = (uint8_t)(crc >> 8 * i);
	pair_inject(p, to, fpdu, sizeof(fpdu));
}

/* Injects the start of a Write of 60000 octets, one octet in each call. */
static void inject_octet(struct pair *p, struct end *to)
{
	static const uint8_t start[] = { 60000 >> 8, 60000 & 255, 0xc1, 0x40 };
	static unsigned n;

	pair_inject(p, to, n < sizeof(start) ? &start[n] : (const uint8_t *)"", 1);
	n++;
}

/* SEC-29 */
static void octets_without_payload_do_not_extend_a_deadline(void **state)
{
	static void (*const inject[])(struct pair *, struct end *) = { inject_empty_write,
								       inject_octet };
	static uint8_t buf[8];
	unsigned i, n;

	(void)state;
	for (i = 0; i < IW_ARRAY_LEN(inject); i++) {
		struct pair *p = fresh();

		/* Injects an RDMA Read. */
		p->a.cfg.stall_ns = IW_SEC(1);
		up(p);
		p->ba.window = 0;
		post_read(p, &p->a, end_register(&p->a, buf, 8, 0, IW_RIGHT_READ_SINK, true), 0, 8,
			  end_register(&p->b, buf, 8, 0, IW_RIGHT_REMOTE_READ, true), 0);
		for (n = 0; n < 20 && !end_closed_fault(&p->a); n++) {
			inject[i](p, &p->a);
			pass(p, IW_MSEC(300));
		}
		assert_closed(&p->a, IW_E_TIMEOUT);
		assert_non_null(
			strstr(end_closed_fault(&p->a)->text, "does not answer an RDMA Read"));
		done(p);
	}

	/* The peer's FIN follows ours. */
	struct pair *p = fresh();

	p->a.cfg.linger_ns = IW_SEC(1);
	up(p);
	iw_conn_close(p->a.conn, p->now);
	for (n = 0; n < 20 && !end_closed_fault(&p->a); n++) {
		inject_empty_write(p, &p->a);
		pass(p, IW_MSEC(300));
	}
	assert_closed(&p->a, IW_E_TIMEOUT);
	assert_non_null(strstr(end_closed_fault(&p->a)->text, "did not close its side"));
	done(p);
}

/* SEC-29: after a fault the time is short, whatever arrives */
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
	p->b.out->window = 0; /* and it reads nothing, not even the Terminate */
	for (i = 0; i < 2; i++) {
		pair_inject(p, &p->b, octets, 100);
		pass(p, IW_MSEC(499));
		assert_null(end_closed_fault(&p->b));
	}
	pair_inject(p, &p->b, octets, 100);
	pass(p, IW_MSEC(2));
	assert_closed(&p->b, IW_E_DDP_STAG); /* the first fault is reported */
	done(p);
}

/* SEC-29: nor by reading slowly what was sent before the fault */
static void peer_cannot_keep_a_failed_connection_by_receiving(void **state)
{
	static uint8_t src[50000], dst[50000];
	struct pair *p = fresh();
	unsigned i;

	(void)state;
	p->b.cfg.linger_ns = IW_SEC(1);
	p->chunk = 100;
	up(p);
	post_write(p, &p->a, src, 10, /* permits the responder to send */
		   end_register(&p->b, dst, sizeof(dst), 0, IW_RIGHT_REMOTE_WRITE, false), 0);
	pair_run(p);
	p->b.out->window = 100;
	post_write(p, &p->b, src, sizeof(src),
		   end_register(&p->a, dst, sizeof(dst), 0, IW_RIGHT_REMOTE_WRITE, false), 0);
	assert_true(pair_step(p));
	post_write(p, &p->a, src, 100, 0x1234, 0);
	while (iw_conn_state(p->b.conn) == IW_CONN_OPEN)
		assert_true(pair_step(p));
	for (i = 0; i < 2; i++) {
		pass(p, IW_MSEC(499));
		assert_null(end_closed_fault(&p->b));
	}
	pass(p, IW_MSEC(2));
	assert_closed(&p->b, IW_E_DDP_STAG);
	done(p);
}

/* MPA-43, MPA-51: also while the Request is still queued */
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
	p->ab.window = 1000;
	assert_false(iw_conn_send(p->a.conn, &(struct iw_tx){ 0 }, p->now));
	assert_int_equal(p->ab.sent, 0);
	done(p);
}

/* MPA-52, DDP-104, RDMAP-37: octets after a fault are dropped even if MPA could not decode them, so
 * that no reset overtakes the Terminate */
static void nothing_after_a_fault_is_read(void **state)
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

/* DDP-77, DDP-79, RDMAP-39: a half-closed peer accepts Sends and Writes, but cannot answer Reads */
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
	assert_false(iw_conn_wants_rx(p->a.conn));
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

/* DDP-76, DDP-80: Reads that were sent, and Reads that wait for their turn */
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
			post_send(p, &p->a, buf, 0, 1); /* permits b to send */
			pair_run(p);
		}
		post_recv(&p->a, NULL, 0);
		post_send(p, &p->b, buf, 0, 2);
		post_read(p, &p->b, sink, 0, 8, 1, 0);
		p->ba.window = sent ? 24 : 0; /* only the Send */
		pair_step(p);
		iw_conn_close(p->a.conn, p->now);
		pair_run(p);
		assert_closed(&p->b, IW_E_CLOSED);
		assert_non_null(
			strstr(end_closed_fault(&p->b)->text, "without answers to our RDMA Reads"));
		assert_int_equal(p->b.ndone, sent ? 3 : 2);
		assert_int_equal(p->b.done[p->b.ndone - 1].kind, IW_OPK_READ);
		done(p);
	}
}

/* DDP-80: a Read that crosses our FIN cannot be answered: both ends report that */
static void read_that_crosses_the_fin_is_a_fault(void **state)
{
	static uint8_t buf[8];
	struct pair *p = up(fresh());

	(void)state;
	post_recv(&p->b, NULL, 0);
	post_send(p, &p->a, buf, 0, 1);
	pair_run(p);
	iw_conn_close(p->a.conn, p->now);
	post_read(p, &p->b, end_register(&p->b, buf, 8, 0, IW_RIGHT_READ_SINK, true), 0, 8, 1, 0);
	pair_run(p);
	assert_closed(&p->a, IW_E_CLOSED);
	assert_non_null(strstr(end_closed_fault(&p->a)->text, "after our orderly close"));
	assert_closed(&p->b, IW_E_CLOSED);
	done(p);
}

/* MPA-44, DDP-83: operations of a responder that may never be sent do not wait for ever */
static void responder_ends_when_the_initiator_closes_without_an_fpdu(void **state)
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

/* MPA-41: the ULP's time to decide is not part of the peer's time */
static void answer_after_a_long_wait_is_still_sent(void **state)
{
	struct pair *p = fresh();
	struct iw_fault why = { 0 };

	(void)state;
	p->a.cfg.mpa.timeout_ns = IW_SEC(100);
	p->b.cfg.decide_ns = IW_SEC(61);
	p->b.no_answer = true;
	pair_start(p);
	pair_run(p);
	p->now += IW_SEC(60);
	iw_conn_reject(p->b.conn, NULL, 0, p->now);
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_TERMINATING);
	assert_int_equal(iw_conn_deadline(p->b.conn), p->now + IW_SEC(10));
	iw_conn_timeout(p->b.conn, p->now);
	pair_run(p);
	assert_closed(&p->a, IW_E_REJECTED);
	assert_closed(&p->b, IW_E_REJECTED);
	done(p);

	p = fresh(); /* the same for the other answer */
	p->a.cfg.mpa.timeout_ns = IW_SEC(100);
	p->b.cfg.decide_ns = IW_SEC(61);
	p->b.no_answer = true;
	pair_start(p);
	pair_run(p);
	p->now += IW_SEC(60);
	assert_int_equal(iw_conn_accept(p->b.conn, p->b.rdmap, 1, 1, NULL, 0, p->now, &why), 0);
	assert_int_equal(iw_conn_deadline(p->b.conn), p->now + IW_SEC(30));
	pair_run(p);
	assert_true(end_has_event(&p->a, IW_EVENT_ESTABLISHED));
	done(p);
}

/* SEC-29 */
static void time_outs_name_what_did_not_happen(void **state)
{
	static uint8_t buf[8];
	struct pair *p = fresh();
	struct iw_vec vec[2];
	uint64_t at;

	(void)state;
	/* The Request. */
	p->a.cfg.stall_ns = IW_MSEC(1500);
	p->ab.window = 0;
	pair_start(p);
	pair_run(p);
	assert_int_equal(iw_conn_deadline(p->a.conn), p->now + IW_MSEC(1500));
	assert_true(pair_tick(p));
	assert_closed(&p->a, IW_E_TIMEOUT);
	assert_non_null(strstr(end_closed_fault(&p->a)->text, "accepts no data for 1500 ms"));
	done(p);

	/* A Read. */
	p = up(fresh());
	p->ba.window = 0;
	post_read(p, &p->a, end_register(&p->a, buf, 8, 0, IW_RIGHT_READ_SINK, true), 0, 8,
		  end_register(&p->b, buf, 8, 0, IW_RIGHT_REMOTE_READ, true), 0);
	pair_run(p);
	at = iw_conn_deadline(p->a.conn);
	assert_int_equal(at, p->now + IW_SEC(30));
	assert_int_equal(iw_conn_rx_vec(p->a.conn, (struct iw_vec){ buf, 8 }, vec), 1);
	iw_conn_received(p->a.conn, 0, p->now + 1); /* zero octets are not progress */
	assert_int_equal(iw_conn_deadline(p->a.conn), at);
	assert_true(pair_tick(p));
	assert_non_null(strstr(end_closed_fault(&p->a)->text, "does not answer an RDMA Read"));
	done(p);

	/* The first FPDU, before which a responder may not send: the close waits for it. */
	p = up(fresh());
	post_send(p, &p->b, buf, 8, 1);
	p->now += IW_SEC(100);
	iw_conn_close(p->b.conn, p->now);
	assert_int_equal(iw_rdmap_post_recv(p->b.rdmap, 1, buf, 8), 0);
	assert_int_equal(iw_rdmap_post(p->b.rdmap, &(struct iw_op){ 0 }, p->now), IW_E_STATE);
	pair_run(p);
	assert_int_equal(iw_conn_deadline(p->b.conn), p->now + IW_SEC(30));
	assert_true(pair_tick(p));
	assert_closed(&p->b, IW_E_TIMEOUT);
	assert_non_null(strstr(end_closed_fault(&p->b)->text, "the initiator sent no FPDU"));
	done(p);
}

/* RDMAP-39, RDMAP-27: each end reports its own fault, and each Terminate is sent once */
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
	post_send(p, &p->b, octets, 100, 2); /* a has no buffer for it */
	assert_true(pair_step(p));
	assert_int_equal(iw_conn_state(p->a.conn), IW_CONN_TERMINATING);
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_TERMINATING);
	before = p->ab.sent;
	pair_run(p);
	assert_int_equal(p->ab.sent - before,
			 2 + 18 + 4 + 2 + 18 + 4 /* only the Terminate: headers */);
	assert_closed(&p->a, IW_E_DDP_NOBUF);
	assert_closed(&p->b, IW_E_DDP_STAG);
	done(p);
}

/* RDMAP-37, RDMAP-38: a partly sent FPDU is completed, otherwise the peer would decode the
 * Terminate as a part of it; then the Terminate is the last FPDU */
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

/* RDMAP-38: an operation with octets in the batch completes after the batch was sent, not before */
static void operation_interrupted_by_a_fault_ends_after_its_batch(void **state)
{
	enum { LEN = 600000 };
	static uint8_t src[LEN], dst[LEN];
	struct pair *p = up(fresh());

	(void)state;
	post_recv(&p->b, NULL, 0);
	post_send(p, &p->a, src, 0, 1);
	pair_run(p);
	p->b.ndone = 0;
	p->ba.window = 1000;
	post_write(p, &p->b, src, LEN,
		   end_register(&p->a, dst, LEN, 0, IW_RIGHT_REMOTE_WRITE, false), 0);
	post_write(p, &p->a, src, 100, 0x1234, 0);
	while (iw_conn_state(p->b.conn) != IW_CONN_FIN_SENT) {
		assert_int_equal(p->b.ndone, 0);
		assert_true(pair_step(p));
	}
	assert_int_equal(p->b.ndone, 1);
	assert_int_equal(p->b.done[0].status, IW_E_DDP_STAG);
	done(p);
}

/* The vectors passed to the transport add up to its byte count. */
static void assert_tx(const struct iw_tx *tx, size_t bytes, bool eor)
{
	size_t i, n = 0;

	for (i = 0; i < tx->nvec; i++)
		n += tx->vec[i].len;
	assert_int_equal(n, bytes);
	assert_int_equal(tx->bytes, bytes);
	assert_int_equal(tx->eor, eor);
}

/* MPA-25: with aligned FPDUs, a batch that the transport accepted in two parts ends at the end of a
 * segment. So does a start-up frame, and an FPDU that does not fill its segment. After whole
 * segments the next batch may follow. Without alignment, no segment end is marked. */
static void batches_mark_the_end_of_each_segment(void **state)
{
	static uint8_t src[1428 * 3];
	unsigned large;

	(void)state;
	for (large = 0; large < 2; large++) {
		struct pair *p = fresh();
		size_t whole = large ? 4304 : 3 * 1448;
		struct iw_tx tx;

		p->a.cfg.mpa.max_ulpdu = p->b.cfg.mpa.max_ulpdu = large ? 10000 : 0;
		pair_start(p);
		assert_true(iw_conn_send(p->a.conn, &tx, p->now));
		assert_int_equal(tx.nvec, 1);
		assert_tx(&tx, large ? 32 : 24, true);
		pair_run(p);
		post_write(p, &p->a, src, sizeof(src), 0, 0);
		assert_true(iw_conn_send(p->a.conn, &tx, p->now));
		assert_tx(&tx, whole, false);
		iw_conn_sent(p->a.conn, 100, p->now);
		assert_true(iw_conn_send(p->a.conn, &tx, p->now));
		assert_tx(&tx, whole - 100, !large);
		iw_conn_sent(p->a.conn, tx.bytes, p->now);
		post_write(p, &p->a, src, sizeof(src), 0, 0);
		assert_true(iw_conn_send(p->a.conn, &tx, p->now));
		assert_tx(&tx, whole, false);
		iw_conn_sent(p->a.conn, tx.bytes, p->now);
		post_write(p, &p->a, src, 100, 0, 0);
		assert_true(iw_conn_send(p->a.conn, &tx, p->now));
		assert_tx(&tx, 120, !large);
		done(p);
	}
}

/* Octets of another connection in the buffer do not matter. */
static void batch_buffer_may_hold_anything(void **state)
{
	struct pair *p = up(fresh());
	struct end *ends[] = { &p->a, &p->b };
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		void *used[2] = { iw_pool_get(&ends[i]->txbufs), iw_pool_get(&ends[i]->txbufs) };

		memset(used[0], 0xff, sizeof(struct iw_txbuf));
		memset(used[1], 0xff, sizeof(struct iw_txbuf));
		iw_pool_put(&ends[i]->txbufs, used[0]);
		iw_pool_put(&ends[i]->txbufs, used[1]);
	}
	exchange(p);
	done(p);
}

/* RDMAP-37: a Terminate is not lost during a temporary shortage of memory */
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

/* The peer disconnected while the ULP was deciding about its Request */
static void decisions_on_a_request_that_has_ended_are_refused(void **state)
{
	struct pair *p = fresh();
	struct iw_fault why = { 0 };

	(void)state;
	p->b.no_answer = true;
	pair_start(p);
	assert_int_equal(iw_conn_accept(p->b.conn, p->b.rdmap, 1, 1, NULL, 0, p->now, &why),
			 IW_E_STATE); /* there is no Request yet */
	pair_run(p);
	/* After an answer that cannot be sent, the ULP may decide again. */
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
	assert_int_equal(p->b.nevents, 2); /* the Request and the end */
	assert_int_equal(iw_rdmap_state(p->b.rdmap), IW_RDMAP_IDLE);
	done(p);

	p = fresh(); /* the ULP itself aborts it */
	p->b.no_answer = true;
	pair_start(p);
	pair_run(p);
	iw_conn_abort(p->b.conn, p->now);
	assert_int_equal(iw_conn_accept(p->b.conn, p->b.rdmap, 1, 1, NULL, 0, p->now, &why),
			 IW_E_STATE);
	iw_conn_reject(p->b.conn, NULL, 0, p->now);
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_CLOSED);
	done(p);
}

/* DDP-83: in either role */
static void close_during_set_up_is_an_abort(void **state)
{
	struct pair *p = fresh();
	struct iw_fault why = { .err = IW_E_OS };

	(void)state;
	p->b.no_answer = true;
	pair_start(p);
	post_recv(&p->a, NULL, 0);
	pair_run(p);
	iw_conn_close(p->a.conn, p->now);
	iw_conn_close(p->b.conn, p->now);
	iw_conn_close(p->b.conn, p->now); /* the second call has no effect */
	end_poll(p, &p->a);
	end_poll(p, &p->b);
	assert_closed(&p->a, IW_E_CANCELED);
	assert_closed(&p->b, IW_E_CANCELED);
	assert_true(p->a.events[0].abort);
	assert_int_equal(p->a.ndone, 1);
	assert_int_equal(p->a.done[0].status, IW_E_CANCELED);
	assert_int_equal(iw_conn_deadline(p->a.conn), IW_TIME_NEVER);
	iw_conn_lost(p->a.conn, &why, p->now); /* after a close this is no reason to retry */
	assert_false(iw_conn_retry_rev1(p->a.conn));
	done(p);
}

/* The transport may ask before it sends: the answer is never "no" while something is pending. */
static void wants_tx_is_true_only_with_pending_output(void **state)
{
	struct pair *p = fresh();
	static uint8_t buf[3000];

	(void)state;
	pair_start(p);
	assert_true(iw_conn_wants_tx(p->a.conn)); /* the Request */
	pair_run(p);
	assert_false(iw_conn_wants_tx(p->a.conn));
	assert_false(iw_conn_wants_tx(p->b.conn));
	post_send(p, &p->b, buf, 8, 1); /* may not be sent yet; iw_conn_send() decides that */
	assert_true(iw_conn_wants_tx(p->b.conn));
	p->ab.window = 100;
	post_write(p, &p->a, buf, 3000, 0, 0);
	assert_true(iw_conn_wants_tx(p->a.conn));
	pair_step(p);
	assert_true(iw_conn_wants_tx(p->a.conn)); /* the rest of the batch */
	iw_conn_close(p->a.conn, p->now);
	p->ab.window = 1 << 20;
	while (iw_conn_state(p->a.conn) == IW_CONN_CLOSING) {
		assert_true(iw_conn_wants_tx(p->a.conn)); /* the FIN is pending */
		assert_true(pair_step(p));
	}
	done(p);

	p = fresh(); /* a responder's Reply, although full operation has begun for it */
	p->ba.window = 3;
	p->ba.not_before = UINT64_MAX;
	pair_start(p);
	while (pair_step(p))
		;
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_OPEN);
	assert_true(iw_conn_wants_tx(p->b.conn));
	done(p);
}

static void octets_and_fpdus_are_counted(void **state)
{
	struct pair *p = up(fresh());
	const struct iw_conn_counts *a = iw_conn_counts(p->a.conn), *b = iw_conn_counts(p->b.conn);
	uint64_t start_up = a->tx_octets;
	static uint8_t octets[3000];

	(void)state;
	assert_true(start_up >= 20);
	assert_int_equal(b->rx_octets, start_up);
	p->ab.window = 100; /* in pieces */
	post_write(p, &p->a, octets, sizeof(octets), 0, 0);
	pair_step(p);
	iw_conn_sent(p->a.conn, 0, p->now);
	assert_int_equal(a->tx_octets, start_up + 100);
	assert_int_equal(a->tx_fpdus, 3);
	assert_int_equal(b->rx_octets, start_up + 100);
	assert_int_equal(b->rx_fpdus, 0);
	p->ab.window = 1500;
	pair_step(p);
	assert_int_equal(b->rx_fpdus, 1);
	assert_int_equal(a->tx_octets, p->ab.sent);
	done(p);
}

static void states_have_names(void **state)
{
	static const char *const names[] = { "setup",       "open",     "closing",
					     "terminating", "fin-sent", "closed" };
	unsigned i;

	(void)state;
	for (i = 0; i < IW_ARRAY_LEN(names); i++)
		assert_string_equal(iw_conn_state_name((enum iw_conn_state)i), names[i]);
	assert_string_equal(iw_conn_state_name((enum iw_conn_state)i), "unknown");
}

/* Posts Reads until no more requests are sent; the peer does not answer them. */
static unsigned reads_under_way(struct pair *p, struct end *e)
{
	uint64_t before = iw_conn_counts(e->conn)->tx_fpdus;
	struct iw_op op = { .kind = IW_OPK_READ };
	unsigned i;

	for (i = 0; i < 40; i++)
		assert_int_equal(iw_rdmap_post(e->rdmap, &op, p->now), 0);
	e->in->not_before = UINT64_MAX;
	while (pair_step(p))
		;
	return (unsigned)(iw_conn_counts(e->conn)->tx_fpdus - before);
}

/* RDMAP-19, RDMAP-36, SEC-12, MPA-47: configured values and defaults */
static void depths_and_times_are_those_configured(void **state)
{
	static const struct {
		uint16_t cfg, reads;
		uint64_t ns, decide, linger, stall;
	} cases[] = {
		{ 0, 16, 0, IW_SEC(10), IW_SEC(10), IW_SEC(30) },
		{ 3, 3, IW_SEC(40), IW_SEC(40), IW_SEC(40), IW_SEC(40) },
	};
	struct iw_fault why = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < IW_ARRAY_LEN(cases); i++) {
		struct pair *p = fresh();

		p->a.cfg.unnegotiated_reads = p->b.cfg.unnegotiated_reads = cases[i].cfg;
		p->a.cfg.linger_ns = p->a.cfg.stall_ns = p->b.cfg.decide_ns = cases[i].ns;
		p->a.cfg.mpa.offer.ird = p->a.cfg.mpa.offer.ord = IW_MPA_IRD_ORD_MAX;
		p->a.cfg.mpa.offer.peer_to_peer =
			true; /* otherwise the Request would not be enhanced */
		p->b.no_answer = true;
		pair_start(p);
		assert_int_equal(iw_conn_deadline(p->a.conn), p->now + IW_SEC(10));
		pair_run(p);
		assert_int_equal(iw_conn_deadline(p->b.conn), p->now + cases[i].decide);
		assert_int_equal(iw_conn_accept(p->b.conn, p->b.rdmap, IW_MPA_IRD_ORD_MAX,
						IW_MPA_IRD_ORD_MAX, NULL, 0, p->now, &why),
				 0);
		pair_run(p);
		assert_int_equal(reads_under_way(p, &p->a), cases[i].reads);
		assert_int_equal(iw_conn_deadline(p->a.conn), p->now + cases[i].stall);
		done(p);

		p = fresh();
		p->a.cfg.linger_ns = cases[i].ns;
		up(p);
		p->now += IW_SEC(100);
		iw_conn_close(p->a.conn, p->now);
		pair_run(p);
		assert_int_equal(iw_conn_deadline(p->a.conn), p->now + cases[i].linger);
		done(p);
	}
}

/* ENH-06: a reset that answers the Request may mean that the peer did not understand it: the queue
 * pair is kept. Later a reset ends it. */
static void initiator_that_loses_the_connection_may_try_rev_1(void **state)
{
	enum { BEFORE, RESET, FIN, LATER, WHEN } when;

	(void)state;
	for (when = BEFORE; when < WHEN; when++) {
		struct pair *p = fresh();
		struct iw_fault why = { 0 };
		bool retry = when == RESET || when == FIN;

		p->b.no_answer = when != LATER;
		if (when == BEFORE) { /* part of the Request */
			p->ab.window = 3;
			p->ab.not_before = UINT64_MAX;
		}
		pair_start(p);
		post_recv(&p->a, NULL, 0);
		pair_run(p);
		iw_fail(&why, IW_E_OS, "test: reset");
		if (when == FIN)
			iw_conn_eof(p->a.conn, p->now);
		else
			iw_conn_lost(p->a.conn, &why, p->now);
		end_poll(p, &p->a);
		assert_closed(&p->a, when == FIN ? IW_E_MPA_LOST : IW_E_OS);
		assert_true(p->a.events[p->a.nevents - 1].abort);
		assert_int_equal(iw_conn_retry_rev1(p->a.conn), retry);
		assert_int_equal(p->a.ndone, !retry);
		assert_int_equal(iw_rdmap_state(p->a.rdmap),
				 retry ? IW_RDMAP_IDLE : IW_RDMAP_CLOSED);
		done(p);
	}
}

/* RDMAP-27, RDMAP-38: the peer would only drop it; each operation in it ends at once */
static void nothing_of_a_batch_is_sent_after_the_peers_terminate(void **state)
{
	static uint8_t src[60000];
	struct pair *p = up(fresh());
	uint64_t sent;

	(void)state;
	post_recv(&p->b, NULL, 0);
	post_send(p, &p->a, src, 0, 1);
	pair_run(p);
	p->a.ndone = 0;
	p->ab.window = 3000;
	post_write(p, &p->a, src, sizeof(src), 0x1234, 0);
	while (!end_has_event(&p->a, IW_EVENT_CLOSED) &&
	       iw_conn_state(p->a.conn) != IW_CONN_TERMINATING)
		assert_true(pair_step(p));
	sent = p->ab.sent;
	assert_int_equal(p->a.ndone, 1);
	assert_int_equal(p->a.done[0].status, IW_E_PEER_TERMINATE);
	pair_run(p);
	assert_int_equal(p->ab.sent, sent);
	assert_closed(&p->a, IW_E_PEER_TERMINATE);
	assert_false(p->a.events[p->a.nevents - 1].abort);
	done(p);
}

static void fpdus_are_traced_alike_at_both_ends(void **state)
{
	static uint8_t data[100000], sink[100000];
	static struct trace_log out, in;
	struct pair *p = fresh();
	uint64_t at = 0, before;
	size_t n;

	(void)state;
	p->b.cfg.mpa.markers = true; /* a sends them */
	p->a.cfg.tracer = &out.tracer;
	p->b.cfg.tracer = &in.tracer;
	up(p);
	before = iw_conn_counts(p->b.conn)->rx_octets;
	trace_log_on(&out);
	trace_log_on(&in);
	post_write(p, &p->a, data, sizeof(data),
		   end_register(&p->b, sink, sizeof(sink), 0, IW_RIGHT_REMOTE_WRITE, false), 0);
	pair_run(p);
	n = trace_log_count(&out, IW_TRACE_fpdu_sent);
	assert_true(n > 10);
	assert_int_equal(n, out.n);
	assert_int_equal(n, in.n);
	for (size_t i = 0; i < n; i++) {
		const struct iw_trace_event *s = trace_log_get(&out, IW_TRACE_fpdu_sent, i);
		const struct iw_trace_event *r = trace_log_get(&in, IW_TRACE_fpdu_received, i);

		assert_non_null(r);
		assert_int_equal(s->stream, iw_rdmap_stream(p->a.rdmap));
		assert_int_equal(r->stream, iw_rdmap_stream(p->b.rdmap));
		assert_true(s->fpdu_sent.offset_octets == at && s->fpdu_sent.markers);
		assert_true(s->fpdu_sent.crc && r->fpdu_received.crc && r->fpdu_received.markers);
		assert_true(r->fpdu_received.offset_octets == at);
		assert_true(r->fpdu_received.octets == s->fpdu_sent.octets);
		assert_true(r->fpdu_received.ulpdu_octets == s->fpdu_sent.ulpdu_octets);
		assert_true(s->fpdu_sent.octets > s->fpdu_sent.ulpdu_octets + 6);
		at += s->fpdu_sent.octets;
	}
	assert_int_equal(at, iw_conn_counts(p->b.conn)->rx_octets - before);
	done(p);
}

/* MPA-55: RDMA Consortium peers: markers and CRC in both directions, and versions 0, whatever was
 * requested */
static void rdmac_peers_are_served_when_permitted(void **state)
{
	struct pair *p = fresh();

	(void)state;
	p->a.cfg.mpa.rev = 0;
	p->a.cfg.mpa.rdmac = p->b.cfg.mpa.rdmac = true;
	up(p);
	assert_int_equal(iw_conn_agreed(p->a.conn)->dv, 0);
	assert_int_equal(iw_conn_agreed(p->b.conn)->dv, 0);
	assert_true(iw_conn_agreed(p->a.conn)->rx_markers && iw_conn_agreed(p->b.conn)->rx_markers);
	exchange(p);
	done(p);
	p = fresh(); /* not permitted: refused */
	p->a.cfg.mpa.rev = 0;
	p->a.cfg.mpa.rdmac = true;
	pair_start(p);
	pair_run(p);
	assert_closed(&p->b, IW_E_MPA_FRAME);
	assert_int_equal(p->ba.sent, 20); /* a final Reply that rejects (RFC 5044 C.2.1) */
	assert_false(p->b.events[p->b.nevents - 1].abort);
	assert_closed(&p->a, IW_E_MPA_FRAME);
	assert_non_null(strstr(end_closed_fault(&p->a)->text, "expected Rev 0 (profile rdmac)"));
	done(p);
}

/* ENH-02, ENH-05: Rev 1 */
static void rev_1_works_without_negotiated_reads(void **state)
{
	struct pair *p = fresh();

	(void)state;
	p->a.cfg.mpa.rev = 1;
	up(p);
	assert_int_equal(iw_conn_agreed(p->b.conn)->rev, 1);
	assert_false(iw_conn_agreed(p->b.conn)->enhanced);
	exchange(p);
	close_both(p);
	done(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fpdus_are_traced_alike_at_both_ends),
		cmocka_unit_test(every_split_of_the_stream_gives_the_same_result),
		cmocka_unit_test(transport_may_accept_a_few_octets_at_a_time),
		cmocka_unit_test(each_rtr_form_opens_the_responders_way),
		cmocka_unit_test(responder_may_close_before_the_rtr_has_arrived),
		cmocka_unit_test(responder_sends_nothing_before_the_first_fpdu),
		cmocka_unit_test(bad_first_fpdu_closes_without_a_terminate),
		cmocka_unit_test(crc_error_in_full_operation_sends_a_terminate),
		cmocka_unit_test(terminate_reaches_the_peer_with_its_reason),
		cmocka_unit_test(input_is_drained_after_a_terminate),
		cmocka_unit_test(garbage_instead_of_a_request_closes),
		cmocka_unit_test(two_initiators_detect_each_other),
		cmocka_unit_test(silent_peers_time_out_in_every_state),
		cmocka_unit_test(rejection_carries_private_data_both_ways),
		cmocka_unit_test(reason_of_a_rejection_is_the_text_at_its_end),
		cmocka_unit_test(rejection_with_keep_stream_keeps_the_connection),
		cmocka_unit_test(fin_waits_for_the_last_octet),
		cmocka_unit_test(rejection_that_cannot_be_built_closes),
		cmocka_unit_test(reply_that_needs_more_ird_than_there_is_terminates),
		cmocka_unit_test(reply_that_cannot_be_accepted_for_another_reason_terminates),
		cmocka_unit_test(first_of_two_errors_is_reported),
		cmocka_unit_test(stream_cut_at_every_octet),
		cmocka_unit_test(fin_inside_an_fpdu_is_a_fault),
		cmocka_unit_test(large_fpdus_only_where_both_ends_agree),
		cmocka_unit_test(ird_and_ord_are_negotiated),
		cmocka_unit_test(connection_that_cannot_be_made_is_an_error),
		cmocka_unit_test(connection_without_a_batch_buffer_retries_later),
		cmocka_unit_test(abort_completes_everything),
		cmocka_unit_test(connection_may_be_freed_with_a_batch_under_way),
		cmocka_unit_test(states_have_names),
		cmocka_unit_test(octets_and_fpdus_are_counted),
		cmocka_unit_test(wants_tx_is_true_only_with_pending_output),
		cmocka_unit_test(depths_and_times_are_those_configured),
		cmocka_unit_test(initiator_that_loses_the_connection_may_try_rev_1),
		cmocka_unit_test(nothing_of_a_batch_is_sent_after_the_peers_terminate),
		cmocka_unit_test(read_source_revoked_midway_ends_the_connection),
		cmocka_unit_test(
			operation_in_a_batch_is_not_completed_by_a_fault_found_while_filling_it),
		cmocka_unit_test(queue_pair_kept_for_rev_1_works_as_a_new_one),
		cmocka_unit_test(initiator_without_memory_fails_with_the_error),
		cmocka_unit_test(responder_without_memory_closes),
		cmocka_unit_test(close_waits_for_posted_operations),
		cmocka_unit_test(long_read_may_outlast_the_close),
		cmocka_unit_test(peer_may_continue_to_send_after_our_orderly_end),
		cmocka_unit_test(octets_without_payload_do_not_extend_a_deadline),
		cmocka_unit_test(peer_cannot_keep_a_failed_connection_by_sending),
		cmocka_unit_test(peer_cannot_keep_a_failed_connection_by_receiving),
		cmocka_unit_test(garbage_before_the_request_is_out_closes_at_once),
		cmocka_unit_test(nothing_after_a_fault_is_read),
		cmocka_unit_test(reads_are_refused_when_the_peer_has_closed_its_side),
		cmocka_unit_test(fin_before_a_read_was_answered_is_a_fault),
		cmocka_unit_test(read_that_crosses_the_fin_is_a_fault),
		cmocka_unit_test(responder_ends_when_the_initiator_closes_without_an_fpdu),
		cmocka_unit_test(answer_after_a_long_wait_is_still_sent),
		cmocka_unit_test(time_outs_name_what_did_not_happen),
		cmocka_unit_test(both_ends_may_fail_at_once),
		cmocka_unit_test(terminate_follows_the_batch_that_is_half_out),
		cmocka_unit_test(operation_interrupted_by_a_fault_ends_after_its_batch),
		cmocka_unit_test(batches_mark_the_end_of_each_segment),
		cmocka_unit_test(batch_buffer_may_hold_anything),
		cmocka_unit_test(terminate_waits_for_a_batch_buffer),
		cmocka_unit_test(decisions_on_a_request_that_has_ended_are_refused),
		cmocka_unit_test(close_during_set_up_is_an_abort),
		cmocka_unit_test(rdmac_peers_are_served_when_permitted),
		cmocka_unit_test(rev_1_works_without_negotiated_reads),
	};

	return cmocka_run_group_tests_name("conn", tests, NULL, NULL);
}
