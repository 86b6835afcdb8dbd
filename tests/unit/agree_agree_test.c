// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Negotiation of IRD, ORD and RTR, as rows of a table (RFC 6581 9). */
#include "agree/agree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

#define NONE IW_MPA_IRD_ORD_MAX

static const struct iw_agree_words words = { "mpa", "Request", "Reply" };

static struct iw_mpa_enhanced enhanced(bool p2p, uint8_t rtr, uint16_t ird, uint16_t ord)
{
	struct iw_mpa_enhanced e = { .peer_to_peer = p2p, .ird = ird, .ord = ord };

	iw_agree_put_rtr(&e, rtr);
	return e;
}

/* ENH-13, ENH-14 */
static void request_has_the_forms_only_with_peer_to_peer(void **state)
{
	struct iw_offer o = { .rtr = IW_RTR_WRITE | IW_RTR_READ, .ird = 3, .ord = 7 };
	struct iw_mpa_enhanced e;

	(void)state;
	e = iw_offer_request(&o);
	assert_false(e.peer_to_peer);
	assert_int_equal(iw_agree_get_rtr(&e), IW_RTR_NONE);
	assert_int_equal(e.ird, 3);
	assert_int_equal(e.ord, 7);
	o.peer_to_peer = true;
	e = iw_offer_request(&o);
	assert_true(e.peer_to_peer);
	assert_int_equal(iw_agree_get_rtr(&e), IW_RTR_WRITE | IW_RTR_READ);
}

/* RFC 6581 10 */
static void offer_without_anything_enhanced_is_not_enhanced(void **state)
{
	(void)state;
	assert_false(iw_offer_is_enhanced(&(struct iw_offer){ .ird = NONE, .ord = NONE }));
	assert_true(iw_offer_is_enhanced(&(struct iw_offer){ .ird = 0, .ord = NONE }));
	assert_true(iw_offer_is_enhanced(&(struct iw_offer){ .ird = NONE, .ord = 1 }));
	assert_true(iw_offer_is_enhanced(
		&(struct iw_offer){ .ird = NONE, .ord = NONE, .peer_to_peer = true }));
}

static void offer_with_an_impossible_value_is_refused_with_the_limit(void **state)
{
	static const struct {
		struct iw_offer o;
		const char *text;
	} rows[] = {
		{ { .ird = NONE + 1 }, "mpa: IRD 16384: expected at most 16383" },
		{ { .ord = NONE + 1 }, "mpa: ORD 16384: expected at most 16383" },
		{ { .ird_max = NONE + 1 }, "mpa: largest IRD 16384: expected at most 16383" },
		{ { .rtr = 8 }, "Send (1), Write (2) and Read (4)" },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_fault why = { 0 };

		assert_int_equal(iw_offer_check(&rows[i].o, "mpa", &why), IW_E_INVAL);
		assert_non_null(strstr(why.text, rows[i].text));
	}
	assert_int_equal(iw_offer_check(&(struct iw_offer){ .ird = NONE, .rtr = IW_RTR_ALL }, "mpa",
					NULL),
			 0);
}

/* ENH-08, ENH-12, ENH-14: the responder. */
static void responder_fits_its_ord_and_mirrors_what_is_not_negotiated(void **state)
{
	static const struct {
		uint16_t peer_ird, peer_ord, ird, ord;
		uint8_t rtr;
		uint16_t own_ird, own_ord, wire_ird, wire_ord;
	} rows[] = {
		{ 4, 4, 8, 8, 0, 8, 4, 8, 4 }, /* ORD at most the initiator's IRD */
		{ 16, 4, 8, 8, 0, 8, 8, 8, 8 },
		{ 0, 0, 8, 8, 0, 8, 0, 8, 0 },
		{ NONE, 4, 8, 8, 0, 8, 8, 8, NONE }, /* 0x3fff is mirrored */
		{ 4, NONE, 8, 8, 0, 8, 4, NONE, 4 },
		{ NONE, NONE, 8, 8, 0, 8, 8, NONE, NONE },
		{ 4, 4, 0, 8, IW_RTR_READ, 1, 4, 1, 4 }, /* a Read as RTR needs a place */
		{ 4, 4, 0, 8, IW_RTR_WRITE, 0, 4, 0, 4 },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_agreed a = {
			.peer_ird = rows[i].peer_ird,
			.peer_ord = rows[i].peer_ord,
			.peer_to_peer = rows[i].rtr != 0,
			.rtr = rows[i].rtr,
		};
		struct iw_mpa_enhanced e = iw_agreed_accept(&a, rows[i].ird, rows[i].ord);

		assert_int_equal(a.ird, rows[i].own_ird);
		assert_int_equal(a.ord, rows[i].own_ord);
		assert_int_equal(e.ird, rows[i].wire_ird);
		assert_int_equal(e.ord, rows[i].wire_ord);
		assert_int_equal(e.peer_to_peer, rows[i].rtr != 0);
		assert_int_equal(iw_agree_get_rtr(&e), rows[i].rtr);
	}
}

/* ENH-09 */
static void rejection_has_the_values_of_an_acceptance_and_changes_nothing(void **state)
{
	const struct iw_agreed a = { .peer_ird = 2, .peer_ord = NONE, .ird = 5, .ord = 6 };
	struct iw_mpa_enhanced e = iw_agreed_reject(&a, 9, 9);

	(void)state;
	assert_int_equal(e.ird, NONE);
	assert_int_equal(e.ord, 2);
	assert_int_equal(a.ird, 5);
	assert_int_equal(a.ord, 6);
}

/* ENH-15 */
static void responder_answers_with_common_forms_or_with_its_own(void **state)
{
	(void)state;
	assert_int_equal(iw_agreed_rtr(IW_RTR_ALL, IW_RTR_WRITE), IW_RTR_WRITE);
	assert_int_equal(iw_agreed_rtr(IW_RTR_SEND | IW_RTR_READ, IW_RTR_WRITE | IW_RTR_READ),
			 IW_RTR_READ);
	assert_int_equal(iw_agreed_rtr(IW_RTR_SEND, IW_RTR_WRITE), IW_RTR_WRITE);
	assert_int_equal(iw_agreed_rtr(IW_RTR_NONE, IW_RTR_ALL), IW_RTR_ALL);
}

/* ENH-16 */
static void initiator_prefers_a_write_then_a_read(void **state)
{
	(void)state;
	assert_int_equal(iw_agreed_rtr_form(IW_RTR_ALL), IW_RTR_WRITE);
	assert_int_equal(iw_agreed_rtr_form(IW_RTR_SEND | IW_RTR_READ), IW_RTR_READ);
	assert_int_equal(iw_agreed_rtr_form(IW_RTR_SEND), IW_RTR_SEND);
	assert_int_equal(iw_agreed_rtr_form(IW_RTR_NONE), IW_RTR_NONE);
}

/* ENH-10, ENH-11, ENH-12: the initiator. */
static void initiator_fits_its_depths_or_ends_the_connection(void **state)
{
	static const struct {
		uint16_t ird, ord, ird_max, peer_ird, peer_ord, own_ird, own_ord;
		int err;
	} rows[] = {
		{ 8, 8, 0, 4, 8, 8, 4, 0 }, /* ORD at most the responder's IRD */
		{ 8, 8, 0, 8, 8, 8, 8, 0 },
		{ 8, 8, 0, NONE, 4, 8, 8, 0 }, /* not negotiated */
		{ 8, 8, 0, 8, NONE, 8, 8, 0 },
		{ 8, 8, 16, 8, 12, 12, 8, 0 }, /* IRD is raised to the responder's ORD */
		{ 8, 8, 16, 8, 16, 16, 8, 0 },
		{ 8, 8, 16, 8, 17, 8, 8, IW_E_MPA_IRD },
		{ 8, 8, 0, 8, 9, 8, 8, IW_E_MPA_IRD },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		const struct iw_offer o = { .ird = rows[i].ird,
					    .ord = rows[i].ord,
					    .ird_max = rows[i].ird_max };
		struct iw_agreed a = { .ird = o.ird, .ord = o.ord };
		struct iw_mpa_enhanced e = enhanced(false, 0, rows[i].peer_ird, rows[i].peer_ord);
		struct iw_fault why = { 0 };

		assert_int_equal(iw_agreed_take_reply(&a, &o, &e, &words, &why), rows[i].err);
		assert_int_equal(a.ird, rows[i].own_ird);
		assert_int_equal(a.ord, rows[i].own_ord);
		if (rows[i].err)
			assert_non_null(strstr(why.text, "mpa: the responder's ORD is"));
	}
}

/* ENH-14, ENH-16, ENH-17 */
static void initiator_takes_a_common_form_or_ends_the_connection(void **state)
{
	static const struct {
		bool asked, answered;
		uint8_t ours, theirs;
		uint16_t ord, peer_ird;
		uint8_t rtr;
		uint16_t own_ord;
		int err;
	} rows[] = {
		{ true, true, IW_RTR_ALL, IW_RTR_WRITE, 4, 4, IW_RTR_WRITE, 4, 0 },
		{ true, true, IW_RTR_WRITE, IW_RTR_ALL, 4, 4, IW_RTR_WRITE, 4, 0 },
		{ true, true, IW_RTR_WRITE, IW_RTR_SEND, 4, 4, 0, 4, IW_E_MPA_RTR },
		/* A Read takes a place of the ORD, and needs one of the responder's IRD. */
		{ true, true, IW_RTR_READ, IW_RTR_READ, 0, 4, IW_RTR_READ, 1, 0 },
		{ true, true, IW_RTR_READ, IW_RTR_READ, 4, 0, 0, 0, IW_E_MPA_RTR },
		{ true, true, IW_RTR_ALL, IW_RTR_READ | IW_RTR_SEND, 4, 0, IW_RTR_SEND, 0, 0 },
		/* The model is mirrored. */
		{ true, false, IW_RTR_ALL, 0, 4, 4, 0, 4, IW_E_MPA_RTR },
		{ false, true, IW_RTR_ALL, IW_RTR_WRITE, 4, 4, 0, 4, IW_E_MPA_RTR },
		/* With A = 0 the flags are ignored. */
		{ false, false, IW_RTR_ALL, IW_RTR_WRITE, 4, 4, 0, 4, 0 },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		const struct iw_offer o = { .peer_to_peer = rows[i].asked,
					    .rtr = rows[i].ours,
					    .ird = 4,
					    .ord = rows[i].ord };
		struct iw_agreed a = { .ird = o.ird, .ord = o.ord };
		struct iw_mpa_enhanced e =
			enhanced(rows[i].answered, rows[i].theirs, rows[i].peer_ird, 4);

		assert_int_equal(iw_agreed_take_reply(&a, &o, &e, &words, NULL), rows[i].err);
		assert_int_equal(a.rtr, rows[i].rtr);
		assert_int_equal(a.ord, rows[i].own_ord);
		assert_int_equal(a.peer_to_peer, rows[i].asked && rows[i].answered);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_has_the_forms_only_with_peer_to_peer),
		cmocka_unit_test(offer_without_anything_enhanced_is_not_enhanced),
		cmocka_unit_test(offer_with_an_impossible_value_is_refused_with_the_limit),
		cmocka_unit_test(responder_fits_its_ord_and_mirrors_what_is_not_negotiated),
		cmocka_unit_test(rejection_has_the_values_of_an_acceptance_and_changes_nothing),
		cmocka_unit_test(responder_answers_with_common_forms_or_with_its_own),
		cmocka_unit_test(initiator_prefers_a_write_then_a_read),
		cmocka_unit_test(initiator_fits_its_depths_or_ends_the_connection),
		cmocka_unit_test(initiator_takes_a_common_form_or_ends_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
