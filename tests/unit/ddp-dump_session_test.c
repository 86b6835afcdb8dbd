// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* DDP Stream Sessions: legal sequences in the order of the DDP-SSNs (RFC 5043 6). */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"

#define STREAM 5

enum {
	INITIATE = 1,
	ACCEPT,
	REJECT,
	TERMINATE,
	ENH_INITIATE,
	ENH_ACCEPT,
	ENH_REJECT,
	SEGMENT = 100
};

struct step {
	uint8_t from;
	uint16_t ssn, what;
};

struct row {
	const char *clause; /* of the only error; NULL: no error */
	struct step step[12];
};

/* clang-format off */
static const struct row rows[] = {
	/* 6.2: accepted; ended by one side or by both */
	{ NULL,           { { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 0, 1, SEGMENT }, { 1, 1, SEGMENT },
			    { 0, 2, TERMINATE }, { 1, 2, TERMINATE } } },
	{ NULL,           { { 1, 0, INITIATE }, { 0, 0, ACCEPT }, { 0, 1, SEGMENT }, { 1, 1, TERMINATE } } },
	{ NULL,           { { 0, 0, ENH_INITIATE }, { 1, 0, ENH_ACCEPT }, { 0, 1, TERMINATE }, { 1, 1, TERMINATE } } },
	/* 6.6: the active side does not have to wait for the Accept */
	{ NULL,           { { 0, 0, INITIATE }, { 0, 1, SEGMENT }, { 1, 0, ACCEPT } } },
	/* 6.3, 6.4 */
	{ NULL,           { { 0, 0, INITIATE }, { 1, 0, REJECT } } },
	{ NULL,           { { 0, 0, ENH_INITIATE }, { 1, 0, ENH_REJECT } } },
	{ NULL,           { { 0, 0, INITIATE }, { 1, 0, TERMINATE } } },
	{ NULL,           { { 0, 0, INITIATE }, { 1, 0, TERMINATE }, { 0, 1, TERMINATE } } },
	{ NULL,           { { 0, 0, INITIATE }, { 1, 0, TERMINATE }, { 0, 0, INITIATE }, { 1, 0, ACCEPT } } },
	/* consecutive sessions; 6.1: each begins with DDP-SSN 0 */
	{ NULL,           { { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 0, 1, SEGMENT }, { 0, 2, TERMINATE }, { 1, 1, TERMINATE },
			    { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 0, 1, SEGMENT } } },
	{ NULL,           { { 0, 0, INITIATE }, { 1, 0, REJECT }, { 1, 0, INITIATE }, { 0, 0, ACCEPT } } },
	/* early messages */
	{ NULL,           { { 0, 0, INITIATE }, { 1, 2, SEGMENT }, { 1, 1, SEGMENT }, { 1, 0, ACCEPT }, { 1, 3, TERMINATE } } },
	{ NULL,           { { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 0, 2, TERMINATE }, { 0, 1, SEGMENT } } },

	{ "RFC 5043 6.1", { { 0, 1, INITIATE } } },
	{ "RFC 5043 6.2", { { 1, 0, ACCEPT } } },
	{ "RFC 5043 6.2", { { 0, 0, INITIATE }, { 0, 1, ACCEPT } } },
	{ "RFC 5043 6.2", { { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 1, 1, ACCEPT } } },
	{ "RFC 5043 6.3", { { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 1, 1, REJECT } } },
	{ "RFC 5043 6.2", { { 0, 0, INITIATE }, { 0, 0, INITIATE } } },
	{ "RFC 5043 6.2", { { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 0, 0, INITIATE } } },
	{ "RFC 5043 6.2", { { 0, 0, TERMINATE } } },
	{ "RFC 5043 6.1", { { 0, 0, SEGMENT } } },
	{ "RFC 5043 6.1", { { 0, 0, INITIATE }, { 1, 0, REJECT }, { 0, 1, SEGMENT } } },
	{ "RFC 5043 6.2", { { 0, 0, INITIATE }, { 1, 0, SEGMENT }, { 1, 1, ACCEPT } } },
	{ "RFC 5043 6.2", { { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 0, 1, TERMINATE }, { 0, 2, SEGMENT } } },
	{ "RFC 5043 6.2", { { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 0, 1, TERMINATE }, { 0, 2, TERMINATE } } },
	/* the same errors, found when the earlier messages have arrived */
	{ "RFC 5043 6.2", { { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 0, 2, SEGMENT }, { 0, 1, TERMINATE } } },
	{ "RFC 5043 6.2", { { 0, 0, INITIATE }, { 1, 1, ACCEPT }, { 1, 0, ACCEPT } } },
	/* twice: with another TSN it is not a retransmission */
	{ "RFC 5043 6.1", { { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 0, 1, SEGMENT }, { 0, 1, SEGMENT } } },
	{ "RFC 5043 6.1", { { 0, 0, INITIATE }, { 1, 0, ACCEPT }, { 0, 2, SEGMENT }, { 0, 2, SEGMENT }, { 0, 1, SEGMENT } } },
	{ "RFC 5043 5.2.3", { { 0, 0, INITIATE }, { 1, 0, 8 }, { 1, 1, ACCEPT } } },
};
/* clang-format on */

static void play(struct maker *m, const struct step *s)
{
	static const uint8_t enhanced[4];
	uint8_t segment[64];

	if (s->what == SEGMENT)
		/* tagged, because an untagged early segment would need the right MSN */
		say_segment(m, s->from, STREAM, s->ssn, segment,
			    make_write(segment, 1, 0, true, 9));
	else
		say_control(m, s->from, STREAM, s->ssn, s->what, enhanced,
			    s->what == ENH_INITIATE || s->what == ENH_ACCEPT ? 4 : 0);
}

/* RFC 5043 6.1 to 6.6 */
static void sessions_are_judged_by_the_legal_sequences(void **state)
{
	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		size_t errors;
		struct maker m;

		maker_init(&m, NULL);
		sctp_set_up(&m);
		for (const struct step *s = rows[i].step; s->what; s++)
			play(&m, s);
		errors = count_kind(&m, IW_CAP_ERROR);
		if (errors != (rows[i].clause ? 1 : 0))
			fail_msg("row %zu: %zu errors", i, errors);
		if (errors) {
			assert_string_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.clause,
					    rows[i].clause);
			assert_int_equal(nth(&m, IW_CAP_ERROR, 0)->ev.sid, STREAM);
		}
		maker_finish(&m);
		assert_int_equal(count_kind(&m, IW_CAP_ERROR), errors);
		assert_true(maker_fini(&m));
	}
}

static void no_error_is_reported_of_a_session_that_began_before_the_capture(void **state)
{
	static const struct step steps[] = { { 0, 7, SEGMENT },   { 1, 9, SEGMENT },
					     { 1, 8, SEGMENT },   { 0, 8, SEGMENT },
					     { 0, 9, TERMINATE }, { 1, 10, TERMINATE } };
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	for (size_t i = 0; i < IW_ARRAY_LEN(steps); i++)
		play(&m, &steps[i]);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	/* the next session is known from its Initiate */
	play(&m, &(struct step){ 0, 0, INITIATE });
	play(&m, &(struct step){ 1, 0, SEGMENT });
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	/* its end may not have been captured */
	play(&m, &(struct step){ 0, 0, INITIATE });
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	maker_finish(&m);
	assert_true(maker_fini(&m));
}

/* RFC 5041 4.3: MSN and MO are checked in the order of the DDP-SSNs. */
static void msn_and_mo_are_judged_in_the_order_of_the_ddp_ssn(void **state)
{
	static const struct {
		uint16_t ssn;
		uint32_t msn, mo;
		bool last;
	} good[] = {
		{ 2, 1, 10, false }, { 4, 2, 0, true }, { 3, 1, 20, true }, { 1, 1, 0, false }
	};
	uint8_t segment[64];
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	sctp_set_up(&m);
	say_control(&m, 0, 0, 0, INITIATE, NULL, 0);
	say_control(&m, 1, 0, 0, ACCEPT, NULL, 0);
	for (size_t i = 0; i < IW_ARRAY_LEN(good); i++)
		say_segment(&m, 0, 0, good[i].ssn, segment,
			    make_send(segment, good[i].msn, good[i].mo, good[i].last, 10));
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	/* early and wrong: reported with its own frame, after 5 has arrived */
	say_segment(&m, 0, 0, 6, segment, make_send(segment, 9, 0, true, 10));
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	say_segment(&m, 0, 0, 5, segment, make_send(segment, 3, 0, true, 10));
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	assert_int_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.err, IW_E_DDP_MSN);
	assert_int_equal(nth(&m, IW_CAP_ERROR, 0)->ev.frame, m.frame - 1);
	assert_int_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.offset, m.tsn[0] - 2);
	/* the first MSN of a session is 1 */
	say_control(&m, 0, 9, 0, INITIATE, NULL, 0);
	say_segment(&m, 0, 9, 1, segment, make_send(segment, 2, 0, true, 10));
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 2);
	maker_finish(&m);
	assert_true(maker_fini(&m));
}

/* RFC 5043 6.1: the DDP-SSNs give the order. A capture may hold packets slightly out of order. */
static void a_segment_captured_before_its_initiate_belongs_to_its_session(void **state)
{
	uint8_t segment[64];
	struct maker m;
	uint32_t tsn;

	(void)state;
	maker_init(&m, NULL);
	sctp_set_up(&m);
	tsn = m.tsn[0]++;
	say_segment(&m, 0, 0, 1, segment, make_send(segment, 1, 0, true, 5));
	m.tsn[0] = tsn;
	say_control(&m, 0, 0, 0, INITIATE, NULL, 0);
	say_control(&m, 1, 0, 0, ACCEPT, NULL, 0);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	/* So the next MSN is known: it is 2. */
	m.tsn[0] = tsn + 2;
	say_segment(&m, 0, 0, 2, segment, make_send(segment, 3, 0, true, 5));
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	assert_int_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.err, IW_E_DDP_MSN);
	/* No DDP-SSN is missing at the end. */
	say_chunk(&m, 0, 14, 0, NULL, 0);
	maker_finish(&m);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	assert_true(maker_fini(&m));
}

static void an_early_segment_does_not_outlive_a_second_initiate(void **state)
{
	uint8_t segment[64];
	struct maker m;
	size_t errors;
	uint32_t tsn;

	(void)state;
	maker_init(&m, NULL);
	sctp_set_up(&m);
	tsn = m.tsn[0];
	m.tsn[0] = tsn + 9;
	say_segment(&m, 0, 0, 2, segment, make_send(segment, 7, 0, true, 5));
	m.tsn[0] = tsn;
	for (unsigned session = 0; session < 2; session++) {
		say_control(&m, 0, 0, 0, INITIATE, NULL, 0);
		say_control(&m, 1, 0, 0, ACCEPT, NULL, 0);
	}
	errors = count_kind(&m, IW_CAP_ERROR);
	say_segment(&m, 0, 0, 1, segment, make_send(segment, 1, 0, true, 5));
	say_segment(&m, 0, 0, 2, segment, make_send(segment, 2, 0, true, 5));
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), errors);
	assert_true(maker_fini(&m));
}

static void streams_do_not_mix(void **state)
{
	uint8_t segment[64];
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	sctp_set_up(&m);
	for (uint16_t sid = 0; sid < 10; sid++) {
		say_control(&m, sid % 2, sid, 0, INITIATE, NULL, 0);
		say_control(&m, 1 - sid % 2, sid, 0, ACCEPT, NULL, 0);
	}
	for (uint16_t ssn = 1; ssn < 20; ssn++)
		for (uint16_t sid = 0; sid < 10; sid++)
			say_segment(&m, 0, sid, ssn, segment,
				    make_send(segment, ssn, 0, true, sid));
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	assert_int_equal(iw_cap_totals(m.cap)->sessions, 10);
	for (size_t i = 0; i < count_kind(&m, IW_CAP_DDP); i++)
		assert_int_equal(nth(&m, IW_CAP_DDP, i)->ev.ddp.len,
				 nth(&m, IW_CAP_DDP, i)->ev.ddp.chunk.stream);
	maker_finish(&m);
	assert_true(maker_fini(&m));
}

/* RFC 6581 7 and 9 */
static void enhanced_data_precede_the_private_data(void **state)
{
	static const uint8_t pd[] = { 0x80, 0x20, 0x40, 0x01, 'h', 'i' };
	const struct told *t;
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	sctp_set_up(&m);
	say_control(&m, 0, 0, 0, ENH_INITIATE, pd, sizeof(pd));
	t = nth(&m, IW_CAP_SESSION, 0);
	assert_true(t->ev.session.enhanced && t->ev.session.enh.peer_to_peer &&
		    t->ev.session.enh.rtr_read);
	assert_int_equal(t->ev.session.enh.ird, 32);
	assert_int_equal(t->ev.session.enh.ord, 1);
	assert_int_equal(t->ev.session.pd_len, 2);
	assert_memory_equal(t->pd, "hi", 2);
	/* RFC 6581 7: a Reject has no enhanced data, and these messages lack them */
	say_control(&m, 1, 0, 0, ENH_REJECT, pd, sizeof(pd));
	assert_false(nth(&m, IW_CAP_SESSION, 1)->ev.session.enhanced);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	say_control(&m, 0, 0, 0, ENH_INITIATE, pd, 3);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	assert_string_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.clause, "RFC 6581 7");
	maker_finish(&m);
	assert_true(maker_fini(&m));
}

/* RFC 5043 5.2.3: Private Data have at most 512 octets; a Terminate has none */
static void private_data_have_their_bounds(void **state)
{
	uint8_t pd[513] = { 0 };
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	sctp_set_up(&m);
	say_control(&m, 0, 0, 0, INITIATE, pd, 512);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	assert_int_equal(nth(&m, IW_CAP_SESSION, 0)->ev.session.pd_len, 512);
	say_control(&m, 1, 0, 0, ACCEPT, pd, 513);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	say_control(&m, 1, 0, 1, TERMINATE, pd, 1);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 2);
	/* too short for a Function Code */
	say_data(&m, 0, 0, 17, "\0\1\0", 3);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 3);
	maker_finish(&m);
	assert_true(maker_fini(&m));
}

static void a_ddp_ssn_that_never_came_is_an_error_of_an_association_seen_whole(void **state)
{
	(void)state;
	for (int whole = 0; whole < 2; whole++) {
		uint8_t segment[64];
		struct maker m;

		maker_init(&m, NULL);
		if (whole)
			sctp_set_up(&m);
		say_control(&m, 0, 0, 0, INITIATE, NULL, 0);
		say_control(&m, 1, 0, 0, ACCEPT, NULL, 0);
		say_segment(&m, 0, 0, 2, segment, make_write(segment, 1, 0, true, 9));
		say_chunk(&m, 0, 14, 0, NULL, 0);
		maker_finish(&m);
		assert_int_equal(count_kind(&m, IW_CAP_ERROR), whole);
		assert_true(maker_fini(&m));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_are_judged_by_the_legal_sequences),
		cmocka_unit_test(no_error_is_reported_of_a_session_that_began_before_the_capture),
		cmocka_unit_test(msn_and_mo_are_judged_in_the_order_of_the_ddp_ssn),
		cmocka_unit_test(a_segment_captured_before_its_initiate_belongs_to_its_session),
		cmocka_unit_test(an_early_segment_does_not_outlive_a_second_initiate),
		cmocka_unit_test(streams_do_not_mix),
		cmocka_unit_test(enhanced_data_precede_the_private_data),
		cmocka_unit_test(private_data_have_their_bounds),
		cmocka_unit_test(
			a_ddp_ssn_that_never_came_is_an_error_of_an_association_seen_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
