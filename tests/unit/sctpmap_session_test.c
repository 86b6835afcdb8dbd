// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* DDP stream sessions: the legal sequences of RFC 5043 6 with messages in any order, and illegal
 * ones. */
#include "sctpmap/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sctpmap_end.h"
#include "wire/sctpddp.h"

/* The most memory that one early message needs. */
#define SEEN_PAGE 512

static struct map_end act, pas;

static void two_ends(uint16_t streams, uint32_t backlog, const struct iw_sctpmap_profile *p)
{
	map_end_init(&act, true, streams, backlog, p);
	map_end_init(&pas, false, streams, backlog, p);
	assert_int_equal(map_end_up(&act, streams, streams), 0);
	assert_int_equal(map_end_up(&pas, streams, streams), 0);
}

static int set_up(void **state)
{
	(void)state;
	two_ends(4, 0, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	iw_sctpmap_down(act.a);
	iw_sctpmap_down(pas.a);
	map_end_fini(&act);
	map_end_fini(&pas);
	return 0;
}

static struct iw_dss *initiate(const struct iw_offer *o)
{
	static const struct iw_offer plain;
	struct iw_dss *s;

	assert_int_equal(iw_dss_initiate(&s, act.a, o ? o : &plain, NULL), 0);
	map_end_flush(&act);
	return s;
}

static void accept_plain(struct iw_dss *s)
{
	static const struct iw_offer plain;

	assert_int_equal(iw_dss_accept(s, &plain, NULL), 0);
	map_end_take_units(&pas, s);
	map_end_flush(&pas);
}

/* An open session whose Accept is acknowledged; the events so far are dropped. */
static void open_one(struct iw_dss **a, struct iw_dss **p)
{
	*a = initiate(NULL);
	line_arrives(&act, act.nline - 1, &pas);
	*p = pas.last;
	accept_plain(*p);
	line_all(&act, &pas);
	assert_int_equal(iw_dss_state(*a), IW_DSS_OPEN);
	act.ntold = pas.ntold = 0;
}

static void expect_control(const struct line_msg *m, uint16_t ssn, uint16_t fn, const char *pd)
{
	struct iw_sctp_control c;

	assert_int_equal(m->ppid, IW_SCTP_PPID_CONTROL);
	assert_true(iw_wire_sctp_control_decode(&c, m->data, m->len) > 0);
	assert_int_equal(c.ssn, ssn);
	assert_int_equal(c.fn, fn);
	assert_int_equal(c.pd_len, strlen(pd));
	assert_memory_equal(c.pd, pd, c.pd_len);
}

static void control_to(struct map_end *e, uint16_t stream, uint16_t ssn, uint16_t fn, size_t pd_len)
{
	static const uint8_t zeros[1024];
	uint8_t buf[1100];
	struct iw_sctp_control c = { ssn, fn, zeros, pd_len };
	int len = iw_wire_sctp_control_encode(buf, sizeof(buf), &c);

	map_end_gets(e, stream, IW_SCTP_PPID_CONTROL, buf, (size_t)len);
	map_end_flush(e);
}

static void segment_to(struct map_end *e, uint16_t stream, uint16_t ssn, uint8_t mark, size_t len)
{
	uint8_t buf[2048];

	memset(buf, mark, sizeof(buf));
	iw_put_be16(buf, ssn);
	map_end_gets(e, stream, IW_SCTP_PPID_SEGMENT, buf, len + 2);
	map_end_flush(e);
}

static void expect_told(const struct map_end *e, size_t i, enum iw_dss_unit_kind kind, uint64_t seq,
			uint8_t first)
{
	assert_true(i < e->ntold);
	assert_int_equal(e->told[i].kind, kind);
	if (kind == IW_DSS_SEGMENT) {
		assert_int_equal(e->told[i].seq, seq);
		assert_int_equal(e->told[i].first, first);
	}
}

static void expect_fault(struct map_end *e, int err)
{
	assert_int_equal(e->ntold, 1);
	expect_told(e, 0, IW_DSS_FAULT, 0, 0);
	assert_int_equal(e->told[0].err, err);
}

/* --- the legal sequences ---------------------------------------------------------------------- */

/* SCTP-04, SCTP-05, SCTP-06, SCTP-07, SCTP-08, SCTP-12, SCTP-13, SCTP-16, SCTP-20, SCTP-21, SCTP-23,
 * SCTP-24, SCTP-25, SCTP-27, SCTP-30 */
static void accepted_session_runs_from_initiate_to_both_terminates(void **state)
{
	struct iw_offer o = { .pd = (const uint8_t *)"hello", .pd_len = 5 };
	struct iw_dss *a = initiate(&o), *p;

	(void)state;
	assert_int_equal(act.nline, 1);
	expect_control(&act.line[0], 0, IW_SCTP_FN_INITIATE, "hello");
	line_arrives(&act, 0, &pas);
	expect_told(&pas, 0, IW_DSS_REQUEST, 0, 0);
	p = pas.last;
	assert_int_equal(iw_dss_stream(p), iw_dss_stream(a));
	assert_int_equal(iw_dss_agreed(p)->pd_len, 5);
	assert_memory_equal(iw_dss_agreed(p)->pd, "hello", 5);

	o = (struct iw_offer){ .pd = (const uint8_t *)"welcome", .pd_len = 7 };
	assert_int_equal(iw_dss_accept(p, &o, NULL), 0);
	map_end_flush(&pas);
	expect_control(&pas.line[0], 0, IW_SCTP_FN_ACCEPT, "welcome");
	line_arrives(&pas, 0, &act);
	expect_told(&act, 0, IW_DSS_ACCEPTED, 0, 0);
	assert_memory_equal(iw_dss_agreed(a)->pd, "welcome", 7);

	map_end_sends(&act, a, 'a', 30);
	map_end_sends(&act, a, 'b', 30);
	assert_int_equal(iw_get_be16(act.line[0].data), 1);
	assert_int_equal(iw_get_be16(act.line[1].data), 2);
	map_end_sends(&pas, p, 'c', 30);
	line_all(&act, &pas);
	expect_told(&pas, 1, IW_DSS_SEGMENT, 0, 'a');
	expect_told(&pas, 2, IW_DSS_SEGMENT, 1, 'b');
	expect_told(&act, 1, IW_DSS_SEGMENT, 0, 'c');

	iw_dss_terminate(a);
	map_end_flush(&act);
	expect_control(&act.line[0], 3, IW_SCTP_FN_TERMINATE, "");
	line_arrives(&act, 0, &pas);
	expect_told(&pas, 3, IW_DSS_TERMINATED, 0, 0);
	assert_false(iw_dss_over(p));
	/* One session has not sent its last message. */
	assert_false(iw_sctpmap_sessions_ended(act.a));
	assert_false(iw_sctpmap_sessions_ended(pas.a));
	iw_dss_terminate(p);
	map_end_flush(&pas);
	assert_true(iw_sctpmap_sessions_ended(pas.a));
	assert_false(iw_sctpmap_sessions_ended(act.a));
	expect_control(&pas.line[0], 2, IW_SCTP_FN_TERMINATE, "");
	line_all(&act, &pas);
	expect_told(&act, 2, IW_DSS_TERMINATED, 0, 0);
	assert_true(iw_sctpmap_sessions_ended(act.a));
	assert_true(iw_dss_over(a));
	assert_true(iw_dss_over(p));
	iw_dss_release(a);
	iw_dss_release(p);
	assert_int_equal(iw_sctpmap_sessions(act.a), 0);
	assert_int_equal(iw_sctpmap_sessions(pas.a), 0);
}

/* SCTP-28, SCTP-29: only the ULP rejects; SCTP-08, SCTP-13 */
static void rejected_session_ends_with_the_reject(void **state)
{
	struct iw_dss *a = initiate(NULL);

	(void)state;
	line_arrives(&act, 0, &pas);
	assert_int_equal(pas.nline, 0);
	assert_int_equal(iw_dss_reject(pas.last, (const uint8_t *)"no", 2, NULL), 0);
	iw_dss_release(pas.last);
	map_end_flush(&pas);
	expect_control(&pas.line[0], 0, IW_SCTP_FN_REJECT, "no");
	line_all(&act, &pas);
	assert_int_equal(act.ntold, 1);
	expect_told(&act, 0, IW_DSS_REJECTED, 0, 0);
	assert_memory_equal(iw_dss_agreed(a)->pd, "no", 2);
	assert_true(iw_dss_over(a));
	iw_dss_release(a);
	assert_int_equal(act.nline, 0);
	assert_int_equal(iw_sctpmap_sessions(act.a), 0);
	assert_int_equal(iw_sctpmap_sessions(pas.a), 0);
}

/* SCTP-14, SCTP-15, SCTP-31, SCTP-32: a finite backlog; further Initiates are answered with
 * Terminate */
static void initiate_beyond_the_backlog_is_answered_with_terminate(void **state)
{
	struct iw_dss *a[3], *p;

	tear_down(state);
	two_ends(4, 2, NULL);
	for (int i = 0; i < 3; i++)
		a[i] = initiate(NULL);
	line_arrives(&act, 0, &pas);
	p = pas.last;
	line_arrives(&act, 0, &pas);
	line_arrives(&act, 0, &pas);
	assert_int_equal(pas.ntold, 2);
	assert_int_equal(pas.nline, 1);
	expect_control(&pas.line[0], 0, IW_SCTP_FN_TERMINATE, "");
	line_all(&act, &pas);
	assert_int_equal(act.ntold, 1);
	expect_told(&act, 0, IW_DSS_REFUSED, 0, 0);
	assert_ptr_equal(act.last, a[2]);
	assert_true(iw_dss_over(a[2]));
	iw_dss_release(a[2]);
	/* The ULP has answered one session, so the backlog has space for another. */
	accept_plain(p);
	line_all(&act, &pas);
	a[2] = initiate(NULL);
	line_all(&act, &pas);
	assert_int_equal(iw_dss_state(a[2]), IW_DSS_INITIATING);
	assert_int_equal(pas.ntold, 3);
}

/* SCTP-09, SCTP-10 */
static void private_data_is_zero_to_512_octets(void **state)
{
	static const uint8_t pd[513];
	struct iw_offer o = { .pd = pd, .pd_len = 513 };
	struct iw_fault why;
	struct iw_dss *s;

	(void)state;
	assert_int_equal(iw_dss_initiate(&s, act.a, &o, &why), IW_E_INVAL);
	o.pd_len = 512;
	s = initiate(&o);
	assert_int_equal(act.line[0].len, 516);
	line_arrives(&act, 0, &pas);
	assert_int_equal(iw_dss_agreed(pas.last)->pd_len, 512);
	assert_int_equal(iw_dss_accept(pas.last, &(struct iw_offer){ .pd = pd, .pd_len = 513 },
				       &why),
			 IW_E_INVAL);
	assert_int_equal(iw_dss_reject(pas.last, pd, 513, &why), IW_E_INVAL);
	/* The ULP may still decide. */
	accept_plain(pas.last);
	expect_control(&pas.line[0], 0, IW_SCTP_FN_ACCEPT, "");
	line_all(&act, &pas);
	iw_dss_release(s);
	iw_dss_release(pas.last);
}

/* SCTP-10: a peer's Initiate is refused too, without a session */
static void initiate_with_too_much_private_data_is_refused(void **state)
{
	(void)state;
	control_to(&pas, 1, 0, IW_SCTP_FN_INITIATE, 513);
	assert_int_equal(pas.ntold, 0);
	expect_control(&pas.line[0], 0, IW_SCTP_FN_TERMINATE, "");
}

/*
 * SEC-14: what is subtracted from the receive window: stored segments, and records of segments that
 * arrived early.
 */
static void memory_of_messages_is_reported_until_they_are_placed(void **state)
{
	struct iw_dss *a = initiate(NULL), *p;

	(void)state;
	assert_int_equal(iw_sctpmap_held(act.a), 0);
	line_arrives(&act, 0, &pas);
	p = pas.last;
	accept_plain(p);
	/* Before the Accept, which has DDP-SSN 0. */
	segment_to(&act, 0, 2, 'y', 200);
	assert_int_equal(iw_sctpmap_held(act.a), 256 + 48);
	segment_to(&act, 0, 1, 'x', 200);
	assert_int_equal(iw_sctpmap_held(act.a), 512 + 2 * 48);
	line_arrives(&pas, 0, &act);
	assert_int_equal(act.ntold, 3);
	assert_int_equal(iw_sctpmap_held(act.a), 0);
	/* Placed at once, but not in order yet. */
	segment_to(&act, 0, 5, 'z', 200);
	segment_to(&act, 0, 4, 'z', 200);
	assert_int_equal(iw_sctpmap_held(act.a), 2 * 48);
	segment_to(&act, 0, 3, 'z', 200);
	assert_int_equal(iw_sctpmap_held(act.a), 0);
	segment_to(&act, 0, 30000, 'z', 200);
	assert_int_equal(iw_sctpmap_held(act.a), 48);
	/* A released session uses no memory. */
	iw_sctpmap_down(act.a);
	iw_dss_release(a);
	assert_int_equal(iw_sctpmap_held(act.a), 0);
	iw_dss_release(p);
}

/* SEC-14: the peer opens a session, and the ULP rejects it. */
static void a_rejected_session_keeps_no_segments(void **state)
{
	struct iw_dss *p;

	(void)state;
	control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
	p = pas.last;
	segment_to(&pas, 0, 1, 'x', 1000);
	assert_int_equal(iw_sctpmap_held(pas.a), 1024);
	assert_int_equal(iw_dss_reject(p, NULL, 0, NULL), 0);
	assert_int_equal(iw_sctpmap_held(pas.a), 0);
	iw_dss_release(p);
}

/* --- order ------------------------------------------------------------------------------------ */

/* SCTP-38, SCTP-76: stored, then delivered in the order of arrival, before later segments */
static void segment_that_overtakes_the_accept_waits_for_it(void **state)
{
	struct iw_dss *a = initiate(NULL), *p;
	size_t idle;

	(void)state;
	line_arrives(&act, 0, &pas);
	p = pas.last;
	accept_plain(p);
	idle = act.mem.bytes + SEEN_PAGE;
	segment_to(&act, 0, 2, 'y', 9);
	segment_to(&act, 0, 1, 'x', 16);
	assert_int_equal(act.ntold, 0);
	assert_int_equal(iw_dss_state(a), IW_DSS_INITIATING);
	line_arrives(&pas, 0, &act);
	assert_int_equal(act.ntold, 3);
	expect_told(&act, 0, IW_DSS_ACCEPTED, 0, 0);
	expect_told(&act, 1, IW_DSS_SEGMENT, 1, 'y');
	assert_int_equal(act.told[1].len, 9);
	expect_told(&act, 2, IW_DSS_SEGMENT, 0, 'x');
	assert_int_equal(act.told[2].len, 16);
	assert_in_range(act.mem.bytes, 1, idle);
	iw_dss_release(a);
	iw_dss_release(p);
}

/* SCTP-76: RFC 5043 6.6, while the ULP decides */
static void segments_wait_for_the_decision_and_are_dropped_by_a_reject(void **state)
{
	struct iw_dss *a = initiate(NULL);
	size_t idle;

	(void)state;
	line_arrives(&act, 0, &pas);
	idle = pas.mem.bytes;
	segment_to(&pas, 0, 1, 'x', 100);
	assert_int_equal(pas.ntold, 1);
	assert_true(pas.mem.bytes > idle);
	assert_int_equal(iw_dss_reject(pas.last, NULL, 0, NULL), 0);
	assert_int_equal(pas.mem.bytes, idle);
	map_end_take_units(&pas, pas.last);
	assert_int_equal(pas.ntold, 1);
	segment_to(&pas, 0, 2, 'y', 100);
	assert_int_equal(pas.ntold, 1);
	iw_dss_release(a);
	iw_dss_release(pas.last);

	a = initiate(NULL);
	line_all(&act, &pas);
	segment_to(&pas, iw_dss_stream(a), 1, 'z', 100);
	accept_plain(pas.last);
	expect_told(&pas, 2, IW_DSS_SEGMENT, 0, 'z');
	iw_dss_release(a);
	iw_dss_release(pas.last);
}

/* SCTP-76, SCTP-61: storage is limited */
static void segments_above_the_reordering_limit_end_the_session(void **state)
{
	struct iw_dss *a = initiate(NULL);
	size_t idle = act.mem.bytes + SEEN_PAGE;
	uint16_t ssn = 1;

	(void)state;
	while (act.ntold == 0 && ssn < 1000)
		segment_to(&act, 0, ssn++, 'x', 1442);
	expect_fault(&act, IW_E_LIMIT);
	assert_in_range(ssn, 40, 50); /* 66 KiB */
	assert_in_range(act.mem.bytes, 1, idle);
	iw_dss_release(a);
}

/* SCTP-21, SCTP-56, SCTP-57: its DDP-SSN determines its position */
static void terminate_that_overtakes_segments_takes_effect_after_them(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	for (int i = 0; i < 3; i++)
		map_end_sends(&act, a, (uint8_t)('a' + i), 20);
	iw_dss_terminate(a);
	map_end_flush(&act);
	line_arrives(&act, 3, &pas);
	assert_int_equal(pas.ntold, 0);
	assert_int_equal(iw_dss_late(p), 0);
	line_arrives(&act, 2, &pas);
	line_arrives(&act, 0, &pas);
	assert_int_equal(pas.ntold, 2);
	assert_int_equal(iw_dss_late(p), 2);
	expect_told(&pas, 0, IW_DSS_SEGMENT, 2, 'c');
	line_arrives(&act, 0, &pas);
	expect_told(&pas, 2, IW_DSS_SEGMENT, 1, 'b');
	expect_told(&pas, 3, IW_DSS_TERMINATED, 0, 0);
	iw_dss_release(a);
	iw_dss_release(p);
	line_all(&act, &pas);
	assert_int_equal(iw_sctpmap_sessions(act.a) + iw_sctpmap_sessions(pas.a), 0);
}

/* SCTP-06, SCTP-58: 70,000 segments, the numbers wrap, gaps of all sizes close */
static void numbers_wrap_and_every_segment_keeps_its_place(void **state)
{
	struct iw_dss *a, *p;
	uint64_t sent = 0;

	(void)state;
	open_one(&a, &p);
	while (sent < 70000) {
		size_t n = 1 + sent % 97;

		for (size_t i = 0; i < n; i++)
			map_end_sends(&act, a, (uint8_t)(sent + i), 1);
		/* The last one arrives first. */
		for (size_t i = n; i > 0; i--) {
			pas.ntold = 0;
			line_arrives(&act, i - 1, &pas);
			assert_int_equal(pas.ntold, 1);
			expect_told(&pas, 0, IW_DSS_SEGMENT, sent + i - 1, (uint8_t)(sent + i - 1));
		}
		sent += n;
	}
	assert_int_equal(iw_dss_acked(a), sent);
	assert_int_equal(iw_dss_sent(a), sent);
	iw_dss_release(a);
	iw_dss_release(p);
	line_all(&act, &pas);
	assert_int_equal(iw_sctpmap_sessions(pas.a), 0);
}

/* SCTP-58, SCTP-59 */
static void no_more_than_32767_messages_are_unacknowledged(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	assert_int_equal(iw_dss_room(a), 32767);
	for (int i = 0; i < 32767; i++)
		iw_dss_taken(a);
	assert_int_equal(iw_dss_room(a), 0);
	assert_ptr_equal(iw_sctpmap_acked(act.a, 0, 5), a);
	assert_int_equal(iw_dss_room(a), 5);
	iw_sctpmap_all_acked(act.a);
	assert_int_equal(iw_dss_room(a), 32767);
	assert_int_equal(iw_dss_acked(a), 32767);
	iw_dss_release(a);
	iw_dss_release(p);
}

/* --- what may be sent when -------------------------------------------------------------------- */

/* SCTP-36: the Accept proves that the Initiate has arrived; SCTP-18 */
static void active_side_sends_no_segment_before_the_accept(void **state)
{
	struct iw_dss *a = initiate(NULL);

	(void)state;
	assert_int_equal(iw_dss_room(a), 0);
	line_arrives(&act, 0, &pas);
	assert_int_equal(iw_dss_room(a), 0);
	accept_plain(pas.last);
	line_all(&act, &pas);
	assert_int_equal(iw_dss_room(a), 32767);
	iw_dss_release(a);
	iw_dss_release(pas.last);
}

/* SCTP-38: messages that could overtake the Accept are not sent */
static void passive_side_waits_until_the_accept_has_arrived(void **state)
{
	struct iw_dss *a = initiate(NULL);

	(void)state;
	line_arrives(&act, 0, &pas);
	assert_int_equal(iw_dss_accept(pas.last, &(struct iw_offer){ 0 }, NULL), 0);
	assert_int_equal(iw_dss_room(pas.last), 0);
	map_end_flush(&pas);
	assert_int_equal(iw_dss_room(pas.last), 0);
	segment_to(&pas, 0, 1, 'x', 20);
	assert_int_equal(iw_dss_room(pas.last), 32766);
	line_all(&act, &pas);
	assert_int_equal(iw_dss_room(pas.last), 32767);
	iw_dss_release(a);
	iw_dss_release(pas.last);
}

/* SCTP-35: a Terminate must not overtake the Initiate or the Accept */
static void terminate_waits_until_our_first_message_has_arrived(void **state)
{
	struct iw_dss *a = initiate(NULL);

	(void)state;
	iw_dss_terminate(a);
	map_end_flush(&act);
	assert_int_equal(act.nline, 1);
	line_arrives(&act, 0, &pas);
	assert_int_equal(act.nline, 1);
	expect_control(&act.line[0], 1, IW_SCTP_FN_TERMINATE, "");
	accept_plain(pas.last);
	iw_dss_terminate(pas.last);
	map_end_flush(&pas);
	assert_int_equal(pas.nline, 1);
	expect_control(&pas.line[0], 0, IW_SCTP_FN_ACCEPT, "");
	line_arrives(&pas, 0, &act);
	assert_int_equal(pas.nline, 1);
	expect_control(&pas.line[0], 1, IW_SCTP_FN_TERMINATE, "");
	iw_dss_release(a);
	iw_dss_release(pas.last);
	line_all(&act, &pas);
	assert_int_equal(iw_sctpmap_sessions(act.a) + iw_sctpmap_sessions(pas.a), 0);
}

/* SCTP-18: an Initiate that SCTP has not accepted leaves nothing allocated */
static void session_released_before_its_initiate_was_sent_is_removed(void **state)
{
	struct iw_dss *s;

	(void)state;
	assert_int_equal(iw_dss_initiate(&s, act.a, &(struct iw_offer){ 0 }, NULL), 0);
	iw_dss_release(s);
	map_end_flush(&act);
	assert_int_equal(act.nline, 0);
	assert_int_equal(iw_sctpmap_sessions(act.a), 0);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* SCTP-37, SCTP-77: both Terminates have arrived, and everything is acknowledged */
static void stream_is_free_when_nothing_of_the_session_is_outstanding(void **state)
{
	struct iw_dss *a, *p, *b;

	(void)state;
	open_one(&a, &p);
	map_end_sends(&act, a, 'x', 10);
	iw_dss_terminate(a);
	map_end_flush(&act);
	iw_dss_release(a);
	/* The Terminate has arrived and is acknowledged, the segment is not. */
	map_end_gets(&pas, 0, act.line[1].ppid, act.line[1].data, act.line[1].len);
	(void)iw_sctpmap_acked(act.a, 0, 1);
	b = initiate(NULL);
	assert_int_equal(iw_dss_stream(b), 1);
	iw_dss_release(b);
	line_arrives(&act, 0, &pas);
	assert_int_equal(pas.told[1].kind, IW_DSS_TERMINATED);
	/* Everything is acknowledged, but the peer has not sent its last message. */
	assert_int_equal(iw_sctpmap_sessions(act.a), 2);
	iw_dss_release(p);
	map_end_flush(&pas);
	act.nline = 0;
	line_arrives(&pas, 0, &act);
	assert_int_equal(iw_sctpmap_sessions(act.a), 1);
	b = initiate(NULL);
	assert_int_equal(iw_dss_stream(b), 0);
	iw_dss_release(b);
}

/* SCTP-37: the stream does not wait until the former session is released */
static void stream_of_a_session_that_has_ended_is_reused(void **state)
{
	struct iw_dss *a, *p, *b;

	(void)state;
	open_one(&a, &p);
	iw_dss_terminate(a);
	iw_dss_terminate(p);
	line_all(&act, &pas);
	assert_true(iw_dss_over(a) && iw_dss_over(p));
	b = initiate(NULL);
	assert_int_equal(iw_dss_stream(b), 0);
	line_all(&act, &pas);
	assert_ptr_not_equal(pas.last, p);
	assert_int_equal(iw_dss_state(pas.last), IW_DSS_DECIDING);
	iw_dss_release(a);
	iw_dss_release(p);
	assert_int_equal(iw_sctpmap_sessions(act.a), 1);
	assert_int_equal(iw_sctpmap_sessions(pas.a), 1);
	accept_plain(pas.last);
	line_all(&act, &pas);
	assert_int_equal(iw_dss_state(b), IW_DSS_OPEN);
	iw_dss_release(b);
	iw_dss_release(pas.last);
}

/* SCTP-37: both have sent their last message, but a segment of ours may still arrive */
static void stream_is_not_free_before_all_is_acknowledged(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	map_end_sends(&act, a, 'x', 10);
	iw_dss_terminate(a);
	map_end_flush(&act);
	for (size_t i = 0; i < 2; i++)
		map_end_gets(&pas, 0, act.line[i].ppid, act.line[i].data, act.line[i].len);
	act.nline = 0;
	iw_dss_terminate(p);
	line_all(&act, &pas);
	assert_int_equal(act.told[0].kind, IW_DSS_TERMINATED);
	assert_true(iw_dss_over(p));
	assert_false(iw_dss_over(a));
	(void)iw_sctpmap_acked(act.a, 0, 1);
	assert_false(iw_dss_over(a));
	assert_int_equal(iw_sctpmap_sessions(act.a), 1);
	(void)iw_sctpmap_acked(act.a, 0, 1);
	assert_true(iw_dss_over(a));
	assert_int_equal(iw_sctpmap_sessions(act.a), 0);
	iw_dss_release(a);
	iw_dss_release(p);
}

/* --- streams used again ----------------------------------------------------------------------- */

/*
 * The session's n segments and the Terminate of the passive side have arrived, but their
 * acknowledgements have not: the active side has everything, and may begin another session.
 */
static void end_unacked(struct iw_dss *a, struct iw_dss *p, unsigned n)
{
	iw_dss_terminate(a);
	map_end_flush(&act);
	line_arrives(&act, 0, &pas);
	while (n-- > 0)
		map_end_sends(&pas, p, 'x', 10);
	iw_dss_terminate(p);
	map_end_flush(&pas);
	while (pas.nline > 0)
		(void)line_unacked(&pas, 0, &act);
	assert_true(iw_dss_over(a));
	assert_false(iw_dss_over(p));
	iw_dss_release(a);
	act.ntold = pas.ntold = 0;
}

/* SCTP-37: the message is delivered before the acknowledgement in the same packet */
static void initiate_proves_that_the_terminate_has_arrived(void **state)
{
	struct iw_dss *a, *p;
	size_t idle = pas.mem.bytes;

	(void)state;
	open_one(&a, &p);
	end_unacked(a, p, 0);
	iw_dss_release(p);
	assert_int_equal(iw_sctpmap_sessions(pas.a), 1);
	a = initiate(NULL);
	assert_int_equal(iw_dss_stream(a), 0);
	(void)line_unacked(&act, 0, &pas);
	assert_int_equal(pas.ntold, 1);
	expect_told(&pas, 0, IW_DSS_REQUEST, 0, 0);
	assert_null(iw_sctpmap_replaced(pas.a));
	/* The former session was freed, once. */
	p = pas.last;
	assert_int_equal(iw_sctpmap_sessions(pas.a), 1);
	assert_int_equal(pas.mem.bytes, idle + iw_dss_memory(p));
	accept_plain(p);
	line_all(&act, &pas);
	assert_int_equal(iw_dss_state(a), IW_DSS_OPEN);
	iw_dss_release(a);
	iw_dss_release(p);
}

/* SCTP-37, SCTP-58: they belong to the former session, and acknowledge no message of the next
 * one */
static void late_acknowledgements_are_those_of_the_former_session(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	end_unacked(a, p, 3);
	iw_dss_release(p);
	a = initiate(NULL);
	line_arrives(&act, 0, &pas);
	p = pas.last;
	accept_plain(p);
	iw_dss_terminate(p);
	map_end_flush(&pas);
	assert_int_equal(pas.nline, 1);
	/* Three segments and a Terminate, in two acknowledgements. */
	map_end_acked(&pas, 0, 3);
	assert_int_equal(pas.nline, 1);
	map_end_acked(&pas, 0, 1);
	assert_true(iw_dss_outstanding(p));
	assert_int_equal(pas.nline, 1);
	/* The Accept is acknowledged: now the Terminate cannot overtake it. */
	line_arrives(&pas, 0, &act);
	assert_int_equal(pas.nline, 1);
	expect_control(&pas.line[0], 1, IW_SCTP_FN_TERMINATE, "");
	iw_dss_release(a);
	iw_dss_release(p);
}

/* SCTP-37: one acknowledgement covers messages of both sessions */
static void acknowledgement_of_two_sessions_is_divided(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	end_unacked(a, p, 3);
	iw_dss_release(p);
	a = initiate(NULL);
	line_arrives(&act, 0, &pas);
	p = pas.last;
	accept_plain(p);
	(void)line_unacked(&pas, 0, &act);
	map_end_acked(&pas, 0, 5);
	assert_false(iw_dss_outstanding(p));
	map_end_sends(&pas, p, 'x', 1);
	map_end_sends(&pas, p, 'y', 1);
	map_end_acked(&pas, 0, 1);
	assert_int_equal(iw_dss_acked(p), 1);
	iw_dss_release(a);
	iw_dss_release(p);
}

/* SCTP-37: its owner is notified that everything has arrived, and releases it later */
static void owner_of_the_former_session_is_notified(void **state)
{
	struct iw_dss *a, *p, *b;

	(void)state;
	open_one(&a, &p);
	end_unacked(a, p, 2);
	b = initiate(NULL);
	line_arrives(&act, 0, &pas);
	assert_ptr_not_equal(pas.last, p);
	assert_ptr_equal(iw_sctpmap_replaced(pas.a), p);
	assert_null(iw_sctpmap_replaced(pas.a));
	assert_true(iw_dss_over(p));
	assert_int_equal(iw_dss_acked(p), iw_dss_sent(p));
	assert_false(iw_dss_outstanding(p));
	assert_ptr_equal(iw_sctpmap_session(pas.a, 0), pas.last);
	accept_plain(pas.last);
	line_all(&act, &pas);
	assert_int_equal(iw_dss_state(b), IW_DSS_OPEN);
	iw_dss_release(p);
	assert_ptr_equal(iw_sctpmap_session(pas.a, 0), pas.last);
	assert_int_equal(iw_sctpmap_sessions(pas.a), 1);
	/* A session that is released before the caller asks for it is not returned. */
	p = pas.last;
	map_end_acked(&pas, 0, 3);
	end_unacked(b, p, 0);
	b = initiate(NULL);
	line_arrives(&act, 0, &pas);
	iw_dss_release(p);
	assert_null(iw_sctpmap_replaced(pas.a));
	iw_dss_release(b);
	iw_dss_release(pas.last);
}

/* RFC 5043 6.2: one Terminate ends a session, if this end has sent it */
static void initiate_after_our_terminate_alone_begins_the_next_session(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	iw_dss_terminate(p);
	map_end_flush(&pas);
	line_arrives(&pas, 0, &act);
	pas.ntold = 0;
	control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
	assert_int_equal(pas.ntold, 1);
	expect_told(&pas, 0, IW_DSS_REQUEST, 0, 0);
	assert_ptr_equal(iw_sctpmap_replaced(pas.a), p);
	map_end_take_units(&pas, p);
	expect_told(&pas, 1, IW_DSS_TERMINATED, 0, 0);
	iw_dss_release(p);
	iw_dss_release(iw_sctpmap_session(pas.a, 0));
	iw_dss_release(a);
}

/*
 * SCTP-22, SCTP-37: before our Terminate was sent, the Initiate proves nothing; it is answered, and
 * the stream is not lost
 */
static void initiate_in_a_session_is_illegal_and_answered(void **state)
{
	struct iw_dss *a, *p;

	for (int ended = 0; ended < 2; ended++) {
		tear_down(state);
		set_up(state);
		open_one(&a, &p);
		if (ended)
			control_to(&pas, 0, 1, IW_SCTP_FN_TERMINATE, 0);
		pas.ntold = 0;
		control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
		expect_fault(&pas, IW_E_DSS_ILLEGAL);
		assert_null(iw_sctpmap_replaced(pas.a));
		assert_int_equal(pas.nline, 1);
		expect_control(&pas.line[0], 1, IW_SCTP_FN_TERMINATE, "");
		iw_dss_release(p);
		pas.ntold = 0;
		control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
		assert_int_equal(pas.ntold, 1);
		expect_told(&pas, 0, IW_DSS_REQUEST, 0, 0);
		iw_dss_release(pas.last);
		iw_dss_release(a);
	}
}

/* SCTP-37: if SCTP reports only that everything is acknowledged */
static void all_acknowledged_is_that_of_both_sessions(void **state)
{
	struct iw_dss *a, *p;

	tear_down(state);
	map_end_init(&act, true, 4, 0, NULL);
	map_end_init_with(&pas, (struct iw_sctpmap_cfg){ .streams = 4, .all_acked_only = true });
	assert_int_equal(map_end_up(&act, 4, 4), 0);
	assert_int_equal(map_end_up(&pas, 4, 4), 0);
	a = initiate(NULL);
	/*
	 * A hundred thousand messages are never reported as acknowledged, because other sessions
	 * send.
	 */
	for (int i = 0; i < 20; i++) {
		line_arrives(&act, 0, &pas);
		p = pas.last;
		accept_plain(p);
		(void)line_unacked(&pas, 0, &act);
		map_end_sends(&act, a, 'x', 10);
		line_arrives(&act, 0, &pas);
		for (int n = 0; n < 5000; n++)
			iw_dss_taken(p);
		iw_dss_terminate(a);
		map_end_flush(&act);
		line_arrives(&act, 0, &pas);
		iw_dss_release(p);
		map_end_flush(&pas);
		assert_int_equal(pas.nline, 1);
		pas.nline = 0;
		iw_dss_release(a);
		iw_sctpmap_free(act.a);
		map_end_init(&act, true, 4, 0, NULL);
		assert_int_equal(map_end_up(&act, 4, 4), 0);
		pas.ntold = 0;
		a = initiate(NULL);
	}
	line_arrives(&act, 0, &pas);
	p = pas.last;
	accept_plain(p);
	(void)line_unacked(&pas, 0, &act);
	assert_true(iw_dss_outstanding(p));
	iw_sctpmap_all_acked(pas.a);
	assert_false(iw_dss_outstanding(p));
	assert_int_equal(iw_sctpmap_sessions(pas.a), 1);
	iw_dss_release(a);
	iw_dss_release(p);
}

/*
 * SCTP-37: the Initiate waits while all streams are in use, one of them only until its last
 * acknowledgement
 */
static void initiate_waits_for_the_last_acknowledgement_on_its_stream(void **state)
{
	struct iw_dss *a, *p, *b;

	tear_down(state);
	two_ends(1, 0, NULL);
	open_one(&a, &p);
	iw_dss_terminate(p);
	map_end_flush(&pas);
	line_arrives(&pas, 0, &act);
	iw_dss_release(a);
	map_end_flush(&act);
	(void)line_unacked(&act, 0, &pas);
	iw_dss_release(p);
	assert_int_equal(iw_sctpmap_sessions(act.a), 1);
	b = initiate(NULL);
	assert_int_equal(iw_dss_stream(b), 0);
	assert_int_equal(act.nline, 0);
	assert_true(iw_dss_waits_for_stream(b));
	map_end_acked(&act, 0, 1);
	assert_int_equal(act.nline, 1);
	assert_false(iw_dss_waits_for_stream(b));
	line_arrives(&act, 0, &pas);
	accept_plain(pas.last);
	line_all(&act, &pas);
	assert_int_equal(iw_dss_state(b), IW_DSS_OPEN);
	iw_dss_release(b);
	iw_dss_release(pas.last);
}

/* SCTP-37: a session that is not released keeps its stream */
static void initiate_does_not_wait_for_a_session_in_use(void **state)
{
	struct iw_dss *a, *p, *b;

	tear_down(state);
	two_ends(1, 0, NULL);
	open_one(&a, &p);
	iw_dss_terminate(a);
	iw_dss_terminate(p);
	map_end_flush(&act);
	map_end_flush(&pas);
	line_arrives(&pas, 0, &act);
	(void)line_unacked(&act, 0, &pas);
	assert_int_equal(iw_dss_initiate(&b, act.a, &(struct iw_offer){ 0 }, NULL), IW_E_LIMIT);
	iw_dss_release(a);
	b = initiate(NULL);
	assert_int_equal(act.nline, 0);
	iw_dss_release(b);
	iw_dss_release(p);
}

/* SCTP-58: a peer that acknowledges nothing cannot begin sessions without end */
static void messages_of_former_sessions_have_a_limit(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	for (int i = 0; i < 32767; i++)
		iw_dss_taken(p);
	iw_dss_release(p);
	map_end_flush(&pas);
	control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
	p = pas.last;
	accept_plain(p);
	segment_to(&pas, 0, 1, 'x', 1);
	assert_int_equal(iw_dss_room(p), 32766);
	for (int i = 0; i < 32766; i++)
		iw_dss_taken(p);
	iw_dss_release(p);
	map_end_flush(&pas);
	/* The Accept and both Terminates make 65,536. */
	pas.ntold = 0;
	control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
	assert_int_equal(pas.ntold, 0);
	map_end_acked(&pas, 0, 1);
	control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
	assert_int_equal(pas.ntold, 1);
	expect_told(&pas, 0, IW_DSS_REQUEST, 0, 0);
	iw_dss_release(a);
	iw_dss_release(pas.last);
}

/* SCTP-32, SCTP-58: requests above the backlog, from a peer that acknowledges nothing */
static void terminates_without_a_session_have_a_limit(void **state)
{
	struct iw_dss *p;
	int sent = 0;

	tear_down(state);
	two_ends(2, 1, NULL);
	control_to(&pas, 1, 0, IW_SCTP_FN_INITIATE, 0);
	p = pas.last;
	for (int i = 0; i < 32768; i++) {
		control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
		map_end_flush(&pas);
		sent += (int)pas.nline;
		pas.nline = 0;
	}
	assert_int_equal(sent, 32767);
	map_end_acked(&pas, 0, 1);
	control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
	map_end_flush(&pas);
	assert_int_equal(pas.nline, 1);
	iw_dss_release(p);
}

/* SCTP-32: messages of former sessions are not counted, because this SCTP does not report how many
 * are acknowledged */
static void initiate_gets_a_terminate_where_single_messages_are_not_acknowledged(void **state)
{
	struct iw_dss *p;

	tear_down(state);
	map_end_init(&act, true, 2, 0, NULL);
	map_end_init_with(&pas, (struct iw_sctpmap_cfg){
					.streams = 2, .backlog = 1, .all_acked_only = true });
	assert_int_equal(map_end_up(&pas, 2, 2), 0);
	for (int i = 0; i < 3; i++) {
		control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
		p = pas.last;
		accept_plain(p);
		segment_to(&pas, 0, 1, 'x', 1);
		while (iw_dss_room(p) > 0)
			iw_dss_taken(p);
		iw_dss_release(p);
		map_end_flush(&pas);
		pas.nline = 0;
	}
	control_to(&pas, 1, 0, IW_SCTP_FN_INITIATE, 0);
	p = pas.last;
	for (int i = 0; i < 2; i++) {
		control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
		map_end_flush(&pas);
		assert_int_equal(pas.nline, 1);
		expect_control(&pas.line[0], 0, IW_SCTP_FN_TERMINATE, "");
		pas.nline = 0;
	}
	iw_dss_release(p);
}

/* SCTP-37: a session with missing messages does not end in order */
static void initiate_while_messages_are_missing_is_a_fault_of_the_former_session(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	iw_dss_terminate(p);
	map_end_flush(&pas);
	/* The segment with DDP-SSN 1 is missing. */
	segment_to(&pas, 0, 2, 'y', 1);
	pas.ntold = 0;
	control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
	assert_ptr_equal(iw_sctpmap_replaced(pas.a), p);
	expect_told(&pas, 0, IW_DSS_REQUEST, 0, 0);
	map_end_take_units(&pas, p);
	expect_told(&pas, 1, IW_DSS_FAULT, 0, 0);
	assert_int_equal(pas.told[1].err, IW_E_DSS_ILLEGAL);
	assert_int_equal(pas.ntold, 2);
	iw_dss_release(p);
	iw_dss_release(iw_sctpmap_session(pas.a, 0));
	iw_dss_release(a);
}

/* SCTP-37: a session that is released while it waits leaves nothing allocated */
static void session_released_while_it_waits_for_its_stream_is_removed(void **state)
{
	struct iw_dss *a, *p, *b;

	tear_down(state);
	two_ends(1, 0, NULL);
	open_one(&a, &p);
	iw_dss_terminate(p);
	map_end_flush(&pas);
	line_arrives(&pas, 0, &act);
	iw_dss_release(a);
	map_end_flush(&act);
	b = initiate(NULL);
	iw_dss_release(b);
	assert_int_equal(iw_sctpmap_sessions(act.a), 0);
	line_arrives(&act, 0, &pas);
	assert_int_equal(act.nline, 0);
	b = initiate(NULL);
	assert_int_equal(act.nline, 1);
	iw_dss_release(b);
	iw_dss_release(p);
}

/*
 * SCTP-37: kernel SCTP reports acknowledgements only when no message is outstanding, so the other
 * sessions pause
 */
static void sessions_pause_so_that_all_is_acknowledged(void **state)
{
	struct iw_dss *a, *p, *b, *busy;

	tear_down(state);
	map_end_init_with(&act, (struct iw_sctpmap_cfg){
					.streams = 2, .initiator = true, .all_acked_only = true });
	map_end_init(&pas, false, 2, 0, NULL);
	assert_int_equal(map_end_up(&act, 2, 2), 0);
	assert_int_equal(map_end_up(&pas, 2, 2), 0);
	open_one(&busy, &p);
	open_one(&a, &p);
	iw_sctpmap_all_acked(act.a);
	iw_dss_terminate(p);
	map_end_flush(&pas);
	line_arrives(&pas, 0, &act);
	iw_dss_release(a);
	map_end_flush(&act);
	act.nline = 0;
	assert_true(iw_dss_room(busy) > 0);
	b = initiate(NULL);
	assert_int_equal(iw_dss_stream(b), 1);
	assert_int_equal(act.nline, 0);
	assert_int_equal(iw_dss_room(busy), 0);
	iw_sctpmap_all_acked(act.a);
	map_end_flush(&act);
	assert_int_equal(act.nline, 1);
	assert_true(iw_dss_room(busy) > 0);
	iw_dss_release(b);
	iw_dss_release(p);
	iw_dss_release(busy);
}

/*
 * SCTP-37: a stream whose peer has not ended its session is not used again, and the message says so
 */
static void stream_without_the_peers_terminate_is_not_used_again(void **state)
{
	struct iw_dss *a, *p, *b;
	struct iw_fault why;

	tear_down(state);
	two_ends(1, 0, NULL);
	open_one(&a, &p);
	iw_dss_release(a);
	line_all(&act, &pas);
	assert_int_equal(iw_dss_initiate(&b, act.a, &(struct iw_offer){ 0 }, &why), IW_E_LIMIT);
	assert_non_null(strstr(why.text, "1 of them wait for the peer's Terminate"));
	iw_dss_release(p);
}

/* SCTP-35: the messages that prove that the Accept has arrived, and those that do not */
static void terminate_follows_an_accept_that_was_answered(void **state)
{
	struct iw_dss *a, *p;

	for (int segments = 0; segments < 2; segments++) {
		tear_down(state);
		set_up(state);
		a = initiate(NULL);
		line_arrives(&act, 0, &pas);
		p = pas.last;
		accept_plain(p);
		iw_dss_terminate(p);
		(void)line_unacked(&pas, 0, &act);
		if (segments)
			segment_to(&pas, 0, 1, 'x', 1);
		/* Without segments it may be the Terminate of a peer that has aborted its
		 * Initiate. */
		else
			control_to(&pas, 0, 1, IW_SCTP_FN_TERMINATE, 0);
		assert_int_equal(pas.nline, segments);
		map_end_acked(&pas, 0, 1);
		assert_int_equal(pas.nline, 1);
		expect_control(&pas.line[0], 1, IW_SCTP_FN_TERMINATE, "");
		iw_dss_release(a);
		iw_dss_release(p);
	}
}

/* SCTP-22: the Initiate is not sent yet when its answer arrives */
static void answer_to_an_initiate_that_was_not_sent_is_illegal(void **state)
{
	static const uint16_t fns[] = { IW_SCTP_FN_ACCEPT, IW_SCTP_FN_REJECT,
					IW_SCTP_FN_TERMINATE };
	struct iw_dss *s;

	for (size_t i = 0; i < IW_ARRAY_LEN(fns); i++) {
		tear_down(state);
		set_up(state);
		assert_int_equal(iw_dss_initiate(&s, act.a, &(struct iw_offer){ 0 }, NULL), 0);
		control_to(&act, 0, 0, fns[i], 0);
		expect_fault(&act, IW_E_DSS_ILLEGAL);
		assert_int_equal(act.nline, 0);
		assert_int_equal(iw_sctpmap_sessions(act.a), 0);
		iw_dss_release(s);
	}
}

/* SCTP-37: the initiator's stream is free when its Terminate is acknowledged */
static void initiator_asks_for_the_acknowledgement_of_its_terminate(void **state)
{
	struct iw_sctpmap_msg m;
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	iw_dss_release(a);
	assert_true(iw_sctpmap_control(act.a, &m));
	assert_true(m.ack_now);
	iw_dss_release(p);
	assert_true(iw_sctpmap_control(pas.a, &m));
	assert_false(m.ack_now);
}

/* --- refusals --------------------------------------------------------------------------------- */

/* SCTP-32: refusals need no memory, and the stream is used again at once */
static void every_initiate_is_answered(void **state)
{
	enum { N = 100 };
	size_t idle;

	tear_down(state);
	two_ends(N, 1, NULL);
	control_to(&pas, 0, 0, IW_SCTP_FN_INITIATE, 0);
	assert_int_equal(pas.ntold, 1);
	idle = pas.mem.bytes;
	pas.mem.fail_from = pas.mem.calls + 1;
	for (uint16_t stream = 1; stream < N; stream++)
		control_to(&pas, stream, 0, IW_SCTP_FN_INITIATE, 0);
	pas.mem.fail_from = 0;
	assert_int_equal(pas.mem.bytes, idle);
	assert_int_equal(pas.nline, N - 1);
	for (uint16_t stream = 1; stream < N; stream++) {
		assert_int_equal(pas.line[stream - 1].stream, stream);
		expect_control(&pas.line[stream - 1], 0, IW_SCTP_FN_TERMINATE, "");
	}
	/* The ULP has decided. The next Initiate arrives before the refusal is acknowledged. */
	accept_plain(pas.last);
	pas.nline = pas.ntold = 0;
	control_to(&pas, 7, 0, IW_SCTP_FN_INITIATE, 0);
	assert_int_equal(pas.ntold, 1);
	expect_told(&pas, 0, IW_DSS_REQUEST, 0, 0);
	accept_plain(pas.last);
	map_end_acked(&pas, 7, 1);
	assert_true(iw_dss_outstanding(pas.last));
	map_end_acked(&pas, 7, 1);
	assert_false(iw_dss_outstanding(pas.last));
	iw_dss_release(pas.last);
	assert_int_equal(iw_sctpmap_sessions(pas.a), 2);
}

/* SCTP-32: messages that follow an unacknowledged refusal are not answered, an Initiate is */
static void one_refusal_answers_what_the_peer_sent_before_it(void **state)
{
	(void)state;
	assert_true(iw_sctpmap_sessions_ended(pas.a));
	for (uint16_t ssn = 1; ssn < 10; ssn++)
		map_end_gets(&pas, 2, IW_SCTP_PPID_SEGMENT, (const uint8_t[]){ 0, (uint8_t)ssn, 1 },
			     3);
	/* Not sent yet: this Terminate also answers an Initiate. */
	map_end_gets(&pas, 2, IW_SCTP_PPID_CONTROL, "\0\0\0\1", 4);
	assert_int_equal(pas.ntold, 0);
	assert_false(iw_sctpmap_sessions_ended(pas.a));
	map_end_flush(&pas);
	assert_int_equal(pas.nline, 1);
	assert_true(iw_sctpmap_sessions_ended(pas.a));
	segment_to(&pas, 2, 10, 'x', 1);
	assert_int_equal(pas.nline, 1);
	map_end_acked(&pas, 2, 1);
	segment_to(&pas, 2, 11, 'x', 1);
	assert_int_equal(pas.nline, 2);
	control_to(&pas, 2, 0, IW_SCTP_FN_INITIATE, 0);
	assert_int_equal(pas.ntold, 1);
	iw_dss_release(pas.last);
}

/* SCTP-37: the initiator does not use a stream with its outstanding refusal either */
static void initiator_does_not_use_a_stream_that_it_refuses(void **state)
{
	struct iw_dss *a, *b;

	(void)state;
	map_end_gets(&act, 0, IW_SCTP_PPID_CONTROL, "\0\0\0\1", 4);
	assert_int_equal(iw_dss_initiate(&a, act.a, &(struct iw_offer){ 0 }, NULL), 0);
	assert_int_equal(iw_dss_stream(a), 1);
	map_end_flush(&act);
	b = initiate(NULL);
	assert_int_equal(iw_dss_stream(b), 2);
	iw_dss_release(b);
	map_end_acked(&act, 0, 1);
	b = initiate(NULL);
	assert_int_equal(iw_dss_stream(b), 0);
	iw_dss_release(a);
	iw_dss_release(b);
	tear_down(state);
	set_up(state);
	map_end_gets(&act, 0, IW_SCTP_PPID_CONTROL, "\0\0\0\1", 4);
	map_end_flush(&act);
	a = initiate(NULL);
	assert_int_equal(iw_dss_stream(a), 1);
	iw_dss_release(a);
}

/* SCTP-77: the association answers for a released session */
static void terminate_of_the_peer_is_answered_after_the_session_is_released(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	iw_dss_release(p);
	map_end_flush(&pas);
	assert_int_equal(pas.nline, 1);
	map_end_sends(&act, a, 'x', 10);
	line_arrives(&pas, 0, &act);
	expect_told(&act, 0, IW_DSS_TERMINATED, 0, 0);
	iw_dss_release(a);
	line_all(&act, &pas);
	assert_int_equal(pas.ntold, 0);
	assert_int_equal(iw_sctpmap_sessions(act.a) + iw_sctpmap_sessions(pas.a), 0);
}

/* SCTP-77: two ends without a session must not answer each other for ever */
static void terminate_without_a_session_is_not_answered(void **state)
{
	(void)state;
	control_to(&pas, 2, 0, IW_SCTP_FN_TERMINATE, 0);
	control_to(&act, 2, 7, IW_SCTP_FN_TERMINATE, 0);
	assert_int_equal(pas.nline + act.nline, 0);
	assert_int_equal(pas.ntold + act.ntold, 0);
}

/* SCTP-73, SCTP-72: nothing is sent after the association has ended */
static void on_a_dead_association_nothing_is_sent(void **state)
{
	struct iw_dss_segment seg;
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	iw_sctpmap_down(act.a);
	iw_dss_terminate(a);
	map_end_flush(&act);
	assert_int_equal(act.nline, 0);
	assert_int_equal(iw_dss_room(a), 0);
	assert_null(iw_sctpmap_receive(act.a, 0, 16, (const uint8_t *)"\0\1x", 3, &seg));
	iw_dss_release(a);
	assert_int_equal(iw_sctpmap_sessions(act.a), 0);
	iw_dss_release(p);
}

/* --- illegal messages ------------------------------------------------------------------------- */

/* SCTP-22, SCTP-62, DDP-08, DDP-09: nothing more is accepted from the stream */
static void message_that_fits_no_sequence_ends_the_session(void **state)
{
	/* clang-format off */
	static const struct {
		uint32_t ppid;
		uint16_t ssn, fn;
	} rows[] = {
		{ IW_SCTP_PPID_CONTROL, 1, IW_SCTP_FN_INITIATE },
		{ IW_SCTP_PPID_CONTROL, 1, IW_SCTP_FN_ACCEPT },
		{ IW_SCTP_PPID_CONTROL, 1, IW_SCTP_FN_REJECT },
		{ IW_SCTP_PPID_CONTROL, 0, IW_SCTP_FN_ACCEPT },     /* once more */
		{ IW_SCTP_PPID_CONTROL, 1, IW_SCTP_FN_ENH_ACCEPT },
		{ IW_SCTP_PPID_CONTROL, 1, 8 },
		{ IW_SCTP_PPID_CONTROL, 1, 0xffff },                /* SCTP-33: not requested */
		{ IW_SCTP_PPID_SEGMENT, 0, 0 },                     /* a duplicate */
		{ IW_SCTP_PPID_SEGMENT, 32768, 0 },                 /* beyond the window */
		{ IW_SCTP_PPID_SEGMENT, 65535, 0 },
		{ 18, 1, 0 },                                       /* SCTP-01 */
		{ 0, 1, 0 },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_dss *a, *p;
		uint8_t m[4];

		open_one(&a, &p);
		iw_put_be16(m, rows[i].ssn);
		iw_put_be16(m + 2, rows[i].fn);
		map_end_gets(&act, 0, rows[i].ppid, m, sizeof(m));
		expect_fault(&act, IW_E_DSS_ILLEGAL);
		map_end_flush(&act);
		assert_int_equal(act.nline, 1);
		expect_control(&act.line[0], 1, IW_SCTP_FN_TERMINATE, "");
		/* Later messages are dropped. */
		segment_to(&act, 0, 1, 'x', 20);
		assert_int_equal(act.ntold, 1);
		tear_down(state);
		set_up(state);
	}
}

/* SCTP-22 */
static void messages_of_a_few_octets_end_the_session(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	map_end_gets(&act, 0, IW_SCTP_PPID_SEGMENT, (const uint8_t *)"", 1);
	expect_fault(&act, IW_E_DSS_ILLEGAL);
	map_end_gets(&pas, 0, IW_SCTP_PPID_CONTROL, (const uint8_t *)"\0\1\0", 3);
	expect_fault(&pas, IW_E_DSS_ILLEGAL);
	iw_dss_release(a);
	iw_dss_release(p);
}

/* SCTP-22, SCTP-16, DDP-13: a number occurs twice; DDP-76: a message follows the last one */
static void duplicate_numbers_and_messages_after_the_terminate_end_the_session(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	segment_to(&pas, 0, 5, 'x', 1);
	segment_to(&pas, 0, 5, 'x', 1);
	assert_int_equal(pas.ntold, 2);
	expect_told(&pas, 1, IW_DSS_FAULT, 0, 0);
	segment_to(&act, 0, 3, 'x', 1);
	control_to(&act, 0, 2, IW_SCTP_FN_TERMINATE, 0);
	expect_told(&act, 1, IW_DSS_FAULT, 0, 0);
	iw_dss_release(a);
	iw_dss_release(p);
	tear_down(state);
	set_up(state);
	open_one(&a, &p);
	control_to(&act, 0, 2, IW_SCTP_FN_TERMINATE, 0);
	segment_to(&act, 0, 3, 'x', 1);
	expect_fault(&act, IW_E_DSS_ILLEGAL);
	control_to(&pas, 0, 2, IW_SCTP_FN_TERMINATE, 0);
	control_to(&pas, 0, 1, IW_SCTP_FN_TERMINATE, 0);
	expect_fault(&pas, IW_E_DSS_ILLEGAL);
	iw_dss_release(a);
	iw_dss_release(p);
}

/* SCTP-22, SCTP-23: while the ULP decides, and while this end waits for the answer */
static void before_the_accept_other_messages_are_illegal(void **state)
{
	struct iw_dss *a = initiate(NULL);

	(void)state;
	line_arrives(&act, 0, &pas);
	pas.ntold = 0;
	control_to(&pas, 0, 1, IW_SCTP_FN_INITIATE, 0);
	expect_fault(&pas, IW_E_DSS_ILLEGAL);
	assert_int_equal(pas.nline, 1);
	expect_control(&pas.line[0], 0, IW_SCTP_FN_TERMINATE, "");
	iw_dss_release(pas.last);
	segment_to(&act, 0, 0, 'x', 10);
	expect_fault(&act, IW_E_DSS_ILLEGAL);
	iw_dss_release(a);
}

/* SCTP-22: only the association's initiator begins sessions */
static void initiate_to_the_end_that_initiates_is_refused(void **state)
{
	struct iw_fault why;
	struct iw_dss *s;

	(void)state;
	control_to(&act, 3, 0, IW_SCTP_FN_INITIATE, 0);
	assert_int_equal(act.ntold, 0);
	expect_control(&act.line[0], 0, IW_SCTP_FN_TERMINATE, "");
	assert_int_equal(iw_dss_initiate(&s, pas.a, &(struct iw_offer){ 0 }, &why), IW_E_STATE);
}

/* SCTP-22: neither a session nor an Initiate */
static void stray_messages_are_answered_with_terminate(void **state)
{
	struct iw_dss_segment seg;
	(void)state;
	segment_to(&pas, 0, 0, 'x', 20);
	control_to(&pas, 1, 0, IW_SCTP_FN_ACCEPT, 0);
	control_to(&pas, 2, 1, IW_SCTP_FN_INITIATE, 0);
	control_to(&pas, 3, 0, IW_SCTP_FN_ENH_INITIATE, 3);
	assert_int_equal(pas.ntold, 0);
	assert_int_equal(pas.nline, 4);
	for (size_t i = 0; i < 4; i++)
		expect_control(&pas.line[i], 0, IW_SCTP_FN_TERMINATE, "");
	assert_null(iw_sctpmap_receive(pas.a, 4, 17, (const uint8_t *)"\0\0\0\1", 4, &seg));
	iw_sctpmap_all_acked(pas.a);
	assert_int_equal(iw_sctpmap_sessions(pas.a), 0);
}

/* SCTP-11: Terminate has no Private Data; what a peer sends there is ignored */
static void private_data_of_a_terminate_is_ignored(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	control_to(&pas, 0, 1, IW_SCTP_FN_TERMINATE, 9);
	expect_told(&pas, 0, IW_DSS_TERMINATED, 0, 0);
	assert_int_equal(iw_dss_agreed(p)->pd_len, 0);
	iw_dss_release(a);
	iw_dss_release(p);
}

/* --- enhanced --------------------------------------------------------------------------------- */

/* ENH-19: Function Codes 5 and 6, with IRD and ORD before the Private Data */
static void enhanced_session_agrees_on_read_depths(void **state)
{
	struct iw_offer o = {
		.enhanced = true, .ird = 8, .ord = 32, .pd = (const uint8_t *)"q", .pd_len = 1
	};
	struct iw_dss *a = initiate(&o);

	(void)state;
	assert_int_equal(iw_get_be16(act.line[0].data + 2), IW_SCTP_FN_ENH_INITIATE);
	assert_int_equal(act.line[0].len, 9);
	line_arrives(&act, 0, &pas);
	assert_int_equal(iw_dss_agreed(pas.last)->peer_ird, 8);
	assert_int_equal(iw_dss_agreed(pas.last)->peer_ord, 32);
	assert_int_equal(iw_dss_agreed(pas.last)->pd_len, 1);
	o = (struct iw_offer){ .ird = 4, .ord = 16, .pd = (const uint8_t *)"rs", .pd_len = 2 };
	assert_int_equal(iw_dss_accept(pas.last, &o, NULL), 0);
	map_end_flush(&pas);
	assert_int_equal(iw_get_be16(pas.line[0].data + 2), IW_SCTP_FN_ENH_ACCEPT);
	assert_int_equal(iw_dss_agreed(pas.last)->ord, 8);
	line_all(&act, &pas);
	expect_told(&act, 0, IW_DSS_ACCEPTED, 0, 0);
	assert_int_equal(act.told[0].err, 0);
	assert_int_equal(iw_dss_agreed(a)->ird, 8);
	assert_int_equal(iw_dss_agreed(a)->ord, 4);
	assert_memory_equal(iw_dss_agreed(a)->pd, "rs", 2);
	iw_dss_release(a);
	iw_dss_release(pas.last);
}

/* Sends may overtake each other, so a Send is not accepted as RTR. */
static void ready_to_receive_is_a_write_or_a_read(void **state)
{
	struct iw_offer o = { .enhanced = true, .peer_to_peer = true, .rtr = 7, .ord = 1 };
	struct iw_dss *a = initiate(&o);
	struct iw_dss *s;

	(void)state;
	line_arrives(&act, 0, &pas);
	assert_true(iw_dss_agreed(pas.last)->peer_to_peer);
	assert_int_equal(iw_dss_agreed(pas.last)->rtr, IW_RTR_WRITE | IW_RTR_READ);
	assert_int_equal(iw_dss_accept(pas.last, &(struct iw_offer){ .rtr = 5 }, NULL), 0);
	assert_int_equal(iw_dss_agreed(pas.last)->ird, 1);
	line_all(&act, &pas);
	assert_int_equal(iw_dss_agreed(a)->rtr, IW_RTR_READ);
	o.rtr = IW_RTR_SEND;
	assert_int_equal(iw_dss_initiate(&s, act.a, &o, NULL), IW_E_INVAL);
	iw_dss_release(a);
	iw_dss_release(pas.last);
}

/* ENH-05, RFC 6581 9.2: B, C and D have no meaning without A. */
static void forms_without_the_peer_to_peer_model_are_ignored(void **state)
{
	static const uint8_t initiate[] = { 0, 0, 0, 5, 0x40, 0x10, 0xc0, 0x10 };

	(void)state;
	map_end_gets(&pas, 0, IW_SCTP_PPID_CONTROL, initiate, sizeof(initiate));
	assert_false(iw_dss_agreed(pas.last)->peer_to_peer);
	assert_int_equal(iw_dss_agreed(pas.last)->rtr, 0);
	assert_int_equal(iw_dss_agreed(pas.last)->peer_ird, 16);
	iw_dss_release(pas.last);
}

/* The depths in the answer may be unusable. The session is open nevertheless, so that RDMAP can
 * send a Terminate. */
static void unacceptable_accept_is_answered_with_the_reason(void **state)
{
	struct iw_offer o = { .enhanced = true, .ird = 1, .ord = 1 };
	struct iw_dss *a = initiate(&o);

	(void)state;
	line_arrives(&act, 0, &pas);
	/* An ORD above our IRD, which a responder should not request. */
	map_end_gets(&act, 0, IW_SCTP_PPID_CONTROL, (const uint8_t[]){ 0, 0, 0, 6, 0, 9, 0, 9 }, 8);
	assert_int_equal(act.ntold, 1);
	expect_told(&act, 0, IW_DSS_ACCEPTED, 0, 0);
	assert_int_equal(act.told[0].err, IW_E_MPA_IRD);
	assert_true(iw_dss_room(a) > 0);
	iw_dss_release(a);
	iw_dss_release(pas.last);
}

/* ENH-19: an enhanced Initiate needs an enhanced Accept; a rejection may be of either kind. */
static void answers_of_the_wrong_kind_end_the_session(void **state)
{
	/* clang-format off */
	static const struct {
		bool enhanced;
		uint16_t fn;
		size_t pd_len;
		enum iw_dss_unit_kind told;
	} rows[] = {
		{ true,  IW_SCTP_FN_ACCEPT,       0, IW_DSS_FAULT    },
		{ false, IW_SCTP_FN_ENH_ACCEPT,   4, IW_DSS_FAULT    },
		{ true,  IW_SCTP_FN_ENH_ACCEPT,   3, IW_DSS_FAULT    },
		{ true,  IW_SCTP_FN_REJECT,       3, IW_DSS_REJECTED },
		{ true,  IW_SCTP_FN_ENH_REJECT,   3, IW_DSS_REJECTED },
		{ false, IW_SCTP_FN_REJECT,     513, IW_DSS_FAULT    },
		{ true,  IW_SCTP_FN_TERMINATE,    0, IW_DSS_REFUSED  },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_offer o = { .enhanced = rows[i].enhanced };
		struct iw_dss *a = initiate(&o);

		control_to(&act, 0, 0, rows[i].fn, rows[i].pd_len);
		assert_int_equal(act.ntold, 1);
		expect_told(&act, 0, rows[i].told, 0, 0);
		iw_dss_release(a);
		tear_down(state);
		set_up(state);
	}
}

/* --- memory ----------------------------------------------------------------------------------- */

/* SCTP-61: nothing is allocated for an impossible number */
static void wrong_numbers_use_no_memory(void **state)
{
	struct iw_dss *a, *p;
	size_t calls;

	(void)state;
	open_one(&a, &p);
	calls = pas.mem.calls;
	segment_to(&pas, 0, 40000, 'x', 1);
	expect_fault(&pas, IW_E_DSS_ILLEGAL);
	assert_int_equal(pas.mem.calls, calls);
	iw_dss_release(a);
	iw_dss_release(p);
}

/* SCTP-61: nor for a number after the peer's last message */
static void numbers_after_the_terminate_use_no_memory(void **state)
{
	struct iw_dss *a, *p;
	size_t calls;

	(void)state;
	open_one(&a, &p);
	control_to(&pas, 0, 1, IW_SCTP_FN_TERMINATE, 0);
	expect_told(&pas, 0, IW_DSS_TERMINATED, 0, 0);
	calls = pas.mem.calls;
	segment_to(&pas, 0, 3, 'x', 1);
	assert_int_equal(pas.ntold, 2);
	expect_told(&pas, 1, IW_DSS_FAULT, 0, 0);
	assert_int_equal(pas.told[1].err, IW_E_DSS_ILLEGAL);
	assert_int_equal(pas.mem.calls, calls);
	iw_dss_release(a);
	iw_dss_release(p);
}

static void session_ends_without_memory_for_early_segments(void **state)
{
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	pas.mem.fail_from = pas.mem.calls + 1;
	segment_to(&pas, 0, 2, 'x', 1);
	expect_fault(&pas, IW_E_NOMEM);
	/* Refusals need no memory. */
	pas.nline = 0;
	control_to(&pas, 1, 0, IW_SCTP_FN_INITIATE, 0);
	segment_to(&pas, 2, 0, 'x', 1);
	assert_int_equal(pas.nline, 2);
	assert_int_equal(iw_sctpmap_sessions(pas.a), 1);
	pas.mem.fail_from = 0;
	iw_dss_release(a);
	iw_dss_release(p);
}

/* The octets that the peer has sent for a session, including chunk headers of 16 octets and
 * padding. */
#define INITIATE_LEN 20
#define SEGMENT_LEN  36

/* SEC-14: many pending sessions, each with one early or stored segment */
static void memory_of_sessions_not_accepted_is_bounded(void **state)
{
	static const uint16_t ssns[] = { 1, 2, 32000 };

	for (size_t i = 0; i < IW_ARRAY_LEN(ssns); i++) {
		size_t idle, sent = 0;

		tear_down(state);
		two_ends(900, 0, NULL);
		idle = pas.mem.bytes;
		for (uint16_t stream = 0; stream < 900; stream++) {
			pas.ntold = 0;
			control_to(&pas, stream, 0, IW_SCTP_FN_INITIATE, 0);
			segment_to(&pas, stream, ssns[i], 'x', 14);
			sent += INITIATE_LEN + SEGMENT_LEN;
			pas.nline = 0;
		}
		/* Little more than the objects of the sessions, with space for the longest Private
		 * Data. */
		assert_in_range(pas.mem.bytes - idle, 900, 32 * sent);
		assert_int_equal(iw_sctpmap_memory(pas.a), pas.mem.bytes);
	}
}

/* SEC-14: memory that the peer controls stays below the limit for sessions plus the association's
 * first window */
static void sessions_not_accepted_fit_the_receive_window(void **state)
{
	static const size_t window = 40000;
	const size_t most = IW_SCTPMAP_PENDING_MAX + window;
	struct iw_sctpmap_peer peer = { true, IW_SCTP_ADAPTATION_DDP, 4000, 4000, window };
	size_t idle, accepted = 0;

	tear_down(state);
	map_end_init(&act, true, 4000, 0, NULL);
	map_end_init(&pas, false, 4000, 0, NULL);
	assert_int_equal(iw_sctpmap_up(pas.a, &peer, NULL), 0);
	idle = pas.mem.bytes;
	for (uint16_t stream = 0; stream < 4000; stream++) {
		pas.ntold = pas.nline = 0;
		control_to(&pas, stream, 0, IW_SCTP_FN_INITIATE, 0);
		accepted += pas.ntold;
		for (uint16_t ssn = 1; ssn <= 40; ssn++)
			segment_to(&pas, stream, ssn, 'x', 1000);
		assert_in_range(pas.mem.bytes - idle, 1, most);
	}
	assert_in_range(accepted, 1000, 1500);
	/* The last ones are refused. */
	pas.ntold = pas.nline = 0;
	control_to(&pas, 3999, 0, IW_SCTP_FN_INITIATE, 0);
	assert_int_equal(pas.nline, 1);
	expect_control(&pas.line[0], 0, IW_SCTP_FN_TERMINATE, "");
}

/* SEC-14: the limit applies to pending sessions, not to accepted ones */
static void accepted_sessions_leave_the_limit(void **state)
{
	struct iw_sctpmap_peer peer = { true, IW_SCTP_ADAPTATION_DDP, 200, 200, 20000 };

	tear_down(state);
	map_end_init(&act, true, 200, 0, NULL);
	map_end_init(&pas, false, 200, 0, NULL);
	assert_int_equal(iw_sctpmap_up(pas.a, &peer, NULL), 0);
	for (uint16_t stream = 0; stream < 200; stream++) {
		pas.ntold = pas.nline = 0;
		control_to(&pas, stream, 0, IW_SCTP_FN_INITIATE, 0);
		segment_to(&pas, stream, 2, 'x', 1000);
		assert_int_equal(pas.ntold, 1);
		accept_plain(pas.last);
		assert_int_equal(pas.ntold, 2);
		segment_to(&pas, stream, 3000, 'x', 1000);
		assert_int_equal(pas.ntold, 3);
	}
}

/* SEC-14: the charge of a session ends with it, and the memory of an accepted one is charged to its owner */
static void memory_of_sessions_is_counted(void **state)
{
	size_t idle = pas.mem.bytes, before;
	struct iw_dss *a, *p;

	(void)state;
	open_one(&a, &p);
	before = iw_dss_memory(p);
	assert_int_equal(iw_sctpmap_memory(pas.a), idle + before);
	segment_to(&pas, 0, 2, 'x', 1);
	segment_to(&pas, 0, 30000, 'x', 1);
	assert_in_range(iw_dss_memory(p), before + 1, before + 1024);
	assert_int_equal(iw_sctpmap_memory(pas.a), pas.mem.bytes);
	for (uint16_t ssn = 3; ssn < 30000; ssn++) {
		pas.ntold = 0;
		segment_to(&pas, 0, ssn, 'x', 1);
	}
	assert_in_range(iw_dss_memory(p), before + 1, before + 4096 + 512);
	iw_dss_release(p);
	iw_dss_release(a);
	line_all(&act, &pas);
	line_all(&pas, &act);
	line_all(&act, &pas);
}

/* Draft 02: other numbers, DDP-SSN from 1 */
static void profile_of_the_draft_counts_from_one(void **state)
{
	struct iw_dss *a;

	tear_down(state);
	two_ends(4, 0, &iw_sctpmap_draft_02);
	a = initiate(NULL);
	assert_int_equal(act.line[0].ppid, 2);
	assert_int_equal(iw_get_be16(act.line[0].data), 1);
	line_arrives(&act, 0, &pas);
	accept_plain(pas.last);
	line_all(&act, &pas);
	expect_told(&act, 0, IW_DSS_ACCEPTED, 0, 0);
	map_end_sends(&act, a, 'x', 20);
	assert_int_equal(act.line[0].ppid, 1);
	assert_int_equal(iw_get_be16(act.line[0].data), 2);
	line_all(&act, &pas);
	expect_told(&pas, 1, IW_DSS_SEGMENT, 0, 'x');
	iw_dss_release(a);
	iw_dss_release(pas.last);
}

/* Delivers a message of @octets to e; the only reply must be a Terminate with the octets
 * @terminate. */
static void expect_terminate_for(struct map_end *e, const uint8_t *octets, size_t len,
				 const uint8_t terminate[4])
{
	size_t before = e->nline;

	map_end_gets(e, 0, iw_sctpmap_profile(e->a)->ppid_control, octets, len);
	map_end_flush(e);
	assert_int_equal(e->nline, before + 1);
	assert_int_equal(e->line[before].ppid, iw_sctpmap_profile(e->a)->ppid_control);
	assert_int_equal(e->line[before].len, 4);
	assert_memory_equal(e->line[before].data, terminate, 4);
}

/*
 * Draft 02 3.1: Function Codes 5 to 7 of RFC 6581 fit none of its legal patterns, so the session is
 * terminated. The caller gets no session to decide on. SCTP-22
 */
static void the_draft_has_no_enhanced_sessions(void **state)
{
	static const uint8_t enhanced_initiate[] = { 0, 1, 0, 5, 0, 16, 0, 16, 'q' };
	static const uint8_t initiate_octets[] = { 0, 1, 0, 1 }, terminate[] = { 0, 1, 0, 4 };
	static const uint8_t answers[][8] = { { 0, 1, 0, 6, 0, 16, 0, 16 }, { 0, 1, 0, 7 } };
	struct iw_offer o = { .enhanced = true, .ird = 16, .ord = 16 };
	struct iw_fault why;
	struct iw_dss *s;

	for (size_t i = 0; i < IW_ARRAY_LEN(answers); i++) {
		tear_down(state);
		two_ends(4, 0, &iw_sctpmap_draft_02);
		assert_int_equal(iw_dss_initiate(&s, act.a, &o, &why), IW_E_INVAL);
		assert_non_null(strstr(why.text, "profile sctp-draft-02: it has no enhanced"));
		assert_int_equal(iw_sctpmap_sessions(act.a), 0);
		s = initiate(NULL);
		assert_int_equal(act.line[0].len, sizeof(initiate_octets));
		assert_memory_equal(act.line[0].data, initiate_octets, sizeof(initiate_octets));
		expect_terminate_for(&pas, enhanced_initiate, sizeof(enhanced_initiate), terminate);
		assert_int_equal(pas.ntold, 0);
		act.nline = 0;
		map_end_take_units(&act, iw_sctpmap_acked(act.a, 0, 1));
		expect_terminate_for(&act, answers[i], sizeof(answers[i]),
				     (const uint8_t[4]){ 0, 2, 0, 4 });
		expect_fault(&act, IW_E_DSS_ILLEGAL);
		iw_dss_release(s);
		act.nline = pas.nline = 0;
	}
}

/* ENH-06, SCTP-22: the responder acts as an end without RFC 6581. Plain Initiates are served. */
static void a_plain_responder_terminates_enhanced_initiates(void **state)
{
	static const uint8_t enhanced_initiate[] = { 0, 0, 0, 5, 0, 16, 0, 16 };
	static const uint8_t initiate_octets[] = { 0, 0, 0, 1 }, terminate[] = { 0, 0, 0, 4 };
	struct iw_sctpmap_cfg cfg = { .mem = &pas.mem.mem, .streams = 4, .plain = true };

	(void)state;
	iw_sctpmap_free(pas.a);
	assert_int_equal(iw_sctpmap_new(&pas.a, &cfg, NULL), 0);
	assert_int_equal(map_end_up(&pas, 4, 4), 0);
	expect_terminate_for(&pas, enhanced_initiate, sizeof(enhanced_initiate), terminate);
	assert_int_equal(pas.ntold, 0);
	map_end_gets(&pas, 1, IW_SCTP_PPID_CONTROL, initiate_octets, sizeof(initiate_octets));
	expect_told(&pas, 0, IW_DSS_REQUEST, 0, 0);
	assert_false(iw_dss_agreed(pas.last)->enhanced);
	iw_dss_release(pas.last);
	pas.nline = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(accepted_session_runs_from_initiate_to_both_terminates),
		TEST(rejected_session_ends_with_the_reject),
		TEST(initiate_beyond_the_backlog_is_answered_with_terminate),
		TEST(private_data_is_zero_to_512_octets),
		TEST(initiate_with_too_much_private_data_is_refused),
		TEST(segment_that_overtakes_the_accept_waits_for_it),
		TEST(segments_wait_for_the_decision_and_are_dropped_by_a_reject),
		TEST(segments_above_the_reordering_limit_end_the_session),
		TEST(terminate_that_overtakes_segments_takes_effect_after_them),
		TEST(numbers_wrap_and_every_segment_keeps_its_place),
		TEST(no_more_than_32767_messages_are_unacknowledged),
		TEST(active_side_sends_no_segment_before_the_accept),
		TEST(passive_side_waits_until_the_accept_has_arrived),
		TEST(terminate_waits_until_our_first_message_has_arrived),
		TEST(session_released_before_its_initiate_was_sent_is_removed),
		TEST(stream_is_free_when_nothing_of_the_session_is_outstanding),
		TEST(stream_is_not_free_before_all_is_acknowledged),
		TEST(stream_of_a_session_that_has_ended_is_reused),
		TEST(initiate_proves_that_the_terminate_has_arrived),
		TEST(late_acknowledgements_are_those_of_the_former_session),
		TEST(acknowledgement_of_two_sessions_is_divided),
		TEST(owner_of_the_former_session_is_notified),
		TEST(initiate_after_our_terminate_alone_begins_the_next_session),
		TEST(initiate_in_a_session_is_illegal_and_answered),
		TEST(all_acknowledged_is_that_of_both_sessions),
		TEST(initiate_waits_for_the_last_acknowledgement_on_its_stream),
		TEST(initiate_does_not_wait_for_a_session_in_use),
		TEST(messages_of_former_sessions_have_a_limit),
		TEST(terminates_without_a_session_have_a_limit),
		TEST(initiate_gets_a_terminate_where_single_messages_are_not_acknowledged),
		TEST(initiate_while_messages_are_missing_is_a_fault_of_the_former_session),
		TEST(session_released_while_it_waits_for_its_stream_is_removed),
		TEST(sessions_pause_so_that_all_is_acknowledged),
		TEST(stream_without_the_peers_terminate_is_not_used_again),
		TEST(terminate_follows_an_accept_that_was_answered),
		TEST(answer_to_an_initiate_that_was_not_sent_is_illegal),
		TEST(initiator_asks_for_the_acknowledgement_of_its_terminate),
		TEST(every_initiate_is_answered),
		TEST(one_refusal_answers_what_the_peer_sent_before_it),
		TEST(initiator_does_not_use_a_stream_that_it_refuses),
		TEST(terminate_of_the_peer_is_answered_after_the_session_is_released),
		TEST(terminate_without_a_session_is_not_answered),
		TEST(on_a_dead_association_nothing_is_sent),
		TEST(message_that_fits_no_sequence_ends_the_session),
		TEST(messages_of_a_few_octets_end_the_session),
		TEST(duplicate_numbers_and_messages_after_the_terminate_end_the_session),
		TEST(before_the_accept_other_messages_are_illegal),
		TEST(initiate_to_the_end_that_initiates_is_refused),
		TEST(stray_messages_are_answered_with_terminate),
		TEST(private_data_of_a_terminate_is_ignored),
		TEST(enhanced_session_agrees_on_read_depths),
		TEST(ready_to_receive_is_a_write_or_a_read),
		TEST(forms_without_the_peer_to_peer_model_are_ignored),
		TEST(unacceptable_accept_is_answered_with_the_reason),
		TEST(answers_of_the_wrong_kind_end_the_session),
		TEST(wrong_numbers_use_no_memory),
		TEST(numbers_after_the_terminate_use_no_memory),
		TEST(memory_of_sessions_not_accepted_is_bounded),
		TEST(sessions_not_accepted_fit_the_receive_window),
		TEST(memory_of_messages_is_reported_until_they_are_placed),
		TEST(a_rejected_session_keeps_no_segments),
		TEST(accepted_sessions_leave_the_limit),
		TEST(memory_of_sessions_is_counted),
		TEST(session_ends_without_memory_for_early_segments),
		TEST(profile_of_the_draft_counts_from_one),
		TEST(the_draft_has_no_enhanced_sessions),
		TEST(a_plain_responder_terminates_enhanced_initiates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
