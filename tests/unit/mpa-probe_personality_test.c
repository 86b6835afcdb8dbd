// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Replies of personalities, octet for octet. Those of Linux siw are compared with captures. */
#include "mpa-probe/personality.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/param.h"
#include "mpa/mpa.h"
#include "util/num.h"

#define REQ "MPA ID Req Frame"
#define REP "MPA ID Rep Frame"

static struct iw_personality_cfg cfg;
static struct iw_personality_answer answer;

static const struct iw_personality *personality(const char *name)
{
	for (size_t i = 0; i < IW_PERSONALITIES; i++)
		if (strcmp(iw_personalities[i].name, name) == 0)
			return &iw_personalities[i];
	fail_msg("no personality %s", name);
	return NULL;
}

static void be(const char *name)
{
	cfg = (struct iw_personality_cfg){ .row = personality(name) };
}

static void ask(const char *octets, size_t len)
{
	iw_personality_answer(&answer, &cfg, (const uint8_t *)octets, len, false);
}

/* A string literal with NULs, without the final one. */
#define ASK(s) ask(s, sizeof(s) - 1)
#define REPLIES(v, s)                                                                              \
	do {                                                                                       \
		assert_int_equal(answer.verdict, v);                                               \
		assert_int_equal(answer.reply_len, sizeof(s) - 1);                                 \
		assert_memory_equal(answer.reply, s, sizeof(s) - 1);                               \
	} while (0)
#define ENDS(v)                                                                                    \
	do {                                                                                       \
		assert_int_equal(answer.verdict, v);                                               \
		assert_int_equal(answer.reply_len, 0);                                             \
		assert_true(answer.text[0]);                                                       \
	} while (0)

/* Decodes the Request for the engine. */
static struct iw_mpa_frame told(struct iw_mpa_enhanced *e)
{
	struct iw_mpa_frame f;

	assert_int_equal(iw_wire_mpa_frame_decode(&f, answer.request, answer.request_len),
			 answer.request_len);
	assert_int_equal(f.kind, IW_MPA_REQUEST);
	assert_int_equal(f.rev, 2);
	assert_true(f.flags & IW_MPA_S);
	assert_int_equal(iw_wire_mpa_enhanced_decode(e, f.pd, f.pd_len), 4);
	return f;
}

/* --- Linux siw: tests/vectors/traces/probe-mpa --- */

static void siw_answers_as_in_the_capture(void **state)
{
	(void)state;
	be("siw");
	ASK(REQ "\x10\x02\0\4\0\1\0\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x10\x02\0\4\0\1\0\1");
	ASK(REQ "\x50\x02\0\4\0\1\0\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x50\x02\0\4\0\1\0\1");
	ASK(REQ "\x90\x02\0\4\0\1\0\1");
	REPLIES(IW_PERSONALITY_REJECT, REP "\x30\x02\0\4\0\0\0\0");
	ASK(REQ "\x10\x02\0\4\x80\1\x80\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x10\x02\0\4\x80\1\x80\1");
	ASK(REQ "\x10\x02\0\4\x80\1\x40\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x10\x02\0\4\x80\1\x40\1");
	ASK(REQ "\x10\x02\0\4\x80\1\xc0\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x10\x02\0\4\x80\1\x80\1");
	ASK(REQ "\x50\x02\0\4\x80\1\xc0\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x50\x02\0\4\x80\1\x80\1");
	ASK(REQ "\x10\x02\0\x08\0\1\0\1\0\x11\x22\x33");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x10\x02\0\4\0\1\0\1");
	ASK(REQ "\x17\x02\0\4\0\1\0\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x17\x02\0\4\0\1\0\1");
	ASK(REQ "\0\0\0\0");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\0\0\0\0");
	ASK(REQ "\0\x03\0\0");
	ENDS(IW_PERSONALITY_CLOSE);
	ASK(REQ "\0\x01\0\0");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\0\x01\0\0");
}

/* From siw_cm.c, siw_proc_mpareq: cases that the captures do not have. */
static void siw_answers_as_its_source_says(void **state)
{
	(void)state;
	be("siw");
	/* Only Send is offered: it answers Write nevertheless. */
	ASK(REQ "\x10\x02\0\4\xc0\1\0\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x10\x02\0\4\x80\1\x80\1");
	/* Depths above its limit. */
	ASK(REQ "\x10\x02\0\4\x3f\xfe\x3f\xfe");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x10\x02\0\4\0\x80\0\x80");
	/* M = 1 in Rev 1: the refusal has no enhanced data. */
	ASK(REQ "\x80\x01\0\0");
	REPLIES(IW_PERSONALITY_REJECT, REP "\x20\x01\0\0");
	/* S = 1 without the four octets. */
	ASK(REQ "\x10\x02\0\2\0\1");
	REPLIES(IW_PERSONALITY_REJECT, REP "\x30\x02\0\0");
	/* 257 octets of Private Data: it does not wait for them. */
	ASK(REQ "\0\x01\1\1");
	ENDS(IW_PERSONALITY_CLOSE);
	/* Another key: it is checked once the Request is complete. */
	ASK("GET / HTTP/1.0\r\n\0\1\0\0");
	ENDS(IW_PERSONALITY_CLOSE);
	/* Octets follow the Request. */
	iw_personality_answer(&answer, &cfg, (const uint8_t *)REQ "\0\1\0\0", 20, true);
	ENDS(IW_PERSONALITY_CLOSE);
}

/* --- the others --- */

static void chelsio_has_crc_always_one_form_and_resets(void **state)
{
	(void)state;
	be("chelsio");
	ASK(REQ "\x17\x02\0\4\0\1\0\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x50\x02\0\4\0\1\0\1");
	ASK(REQ "\x10\x02\0\4\x80\1\xc0\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x50\x02\0\4\x80\1\x40\1");
	/* Only Write is offered: it answers Read nevertheless. Only Send: client-server. */
	ASK(REQ "\x10\x02\0\4\x80\1\x80\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x50\x02\0\4\x80\1\x40\1");
	ASK(REQ "\x10\x02\0\4\xc0\1\0\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x50\x02\0\4\0\1\0\1");
	/* An IRD of 0 is raised for the Read. */
	ASK(REQ "\x10\x02\0\4\x80\0\x40\0");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x50\x02\0\4\x80\1\x40\0");
	ASK(REQ "\x10\x02\0\4\x3f\xfe\x3f\xfe");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x50\x02\0\4\0\x20\0\x20");
	ASK(REQ "\x90\x02\0\4\0\1\0\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x50\x02\0\4\0\1\0\1");
	ASK(REQ "\0\x03\0\0");
	ENDS(IW_PERSONALITY_RESET);
	assert_true(personality("chelsio")->drops_stag0);
}

static void windows_puts_ird_and_ord_into_its_private_data(void **state)
{
	(void)state;
	be("windows");
	ASK(REQ "\x40\x01\0\x08\0\0\0\x04\0\0\0\x02");
	/* Its IRD follows their ORD, its ORD their IRD. */
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x40\x01\0\x08\0\0\0\x02\0\0\0\x04");
	assert_false(answer.legacy_little);
	ASK(REQ "\x40\x01\0\x08\x04\0\0\0\x02\0\0\0");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x40\x01\0\x08\0\0\0\x02\0\0\0\x04");
	assert_true(answer.legacy_little);
	ASK(REQ "\x40\x01\0\x08\0\0\xff\xff\0\0\xff\xff");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\x40\x01\0\x08\0\0\0\x10\0\0\0\x10");
	ASK(REQ "\x40\x02\0\0");
	ENDS(IW_PERSONALITY_CLOSE);
}

static void plain_supports_rev_1_only_and_requests_nothing(void **state)
{
	(void)state;
	be("plain");
	ASK(REQ "\xc0\x01\0\0");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\0\x01\0\0");
	assert_true(answer.crc);
	ASK(REQ "\0\x01\0\0");
	assert_false(answer.crc);
	/* In Rev 1, S is a reserved bit and ignored. */
	ASK(REQ "\x1f\x01\0\0");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\0\x01\0\0");
	ASK(REQ "\x10\x02\0\4\0\1\0\1");
	ENDS(IW_PERSONALITY_CLOSE);
	ASK(REQ "\0\0\0\0");
	ENDS(IW_PERSONALITY_CLOSE);
}

/* --- settings of the user --- */

static void options_override_habits(void **state)
{
	(void)state;
	be("siw");
	cfg.set_crc = true;
	cfg.crc = IW_PERSONALITY_CRC_ALWAYS;
	cfg.markers = true;
	cfg.pd = (const uint8_t *)"hi";
	cfg.pd_len = 2;
	cfg.rtr = IW_RTR_SEND | IW_RTR_READ;
	ASK(REQ "\x10\x02\0\4\xc0\1\xc0\1");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\xd0\x02\0\6\xc0\1\x40\1hi");
	cfg.crc = IW_PERSONALITY_CRC_NEVER;
	cfg.markers = false;
	cfg.rev_most = 1;
	ASK(REQ "\x10\x02\0\4\0\1\0\1");
	ENDS(IW_PERSONALITY_CLOSE);
	ASK(REQ "\x40\x01\0\0");
	REPLIES(IW_PERSONALITY_ACCEPT, REP "\0\x01\0\2hi");
	cfg.reject = true;
	ASK(REQ "\x40\x01\0\0");
	REPLIES(IW_PERSONALITY_REJECT, REP "\x20\x01\0\2hi");
}

/* --- the engine's side --- */

static void engine_gets_the_agreement_of_the_personality(void **state)
{
	struct iw_mpa_enhanced e;
	struct iw_mpa_frame f;

	(void)state;
	be("siw");
	ASK(REQ "\x50\x02\0\6\x80\x03\xc0\x07hi");
	f = told(&e);
	assert_true(f.flags & IW_MPA_C);
	assert_false(f.flags & IW_MPA_M);
	assert_true(e.peer_to_peer && e.rtr_write && !e.rtr_read && !e.rtr_send);
	/* The Reply allows the initiator 7 Reads and this end 3. */
	assert_int_equal(e.ord, 7);
	assert_int_equal(e.ird, 3);
	assert_int_equal(f.pd_len, 6);
	assert_memory_equal(f.pd + 4, "hi", 2);

	be("plain");
	ASK(REQ "\x80\x01\0\2hi");
	f = told(&e);
	assert_true(f.flags & IW_MPA_M);
	assert_false(f.flags & IW_MPA_C);
	assert_false(e.peer_to_peer);
	assert_int_equal(e.ird, 1);
	assert_memory_equal(f.pd + 4, "hi", 2);

	/* C of the Reply alone turns CRC on: the engine gets C = 1. */
	be("chelsio");
	ASK(REQ "\x10\x02\0\4\0\1\0\1");
	assert_true(told(&e).flags & IW_MPA_C);
	assert_true(answer.crc);
}

static void incomplete_request_reports_how_much_is_missing(void **state)
{
	static const char whole[] = REQ "\x10\x02\0\6\0\1\0\1hi";

	(void)state;
	be("siw");
	for (size_t i = 0; i < 26; i++) {
		ask(whole, i);
		assert_int_equal(answer.verdict, IW_PERSONALITY_MORE);
		assert_int_equal(answer.need, i < 20 ? 20 : 26);
	}
	ask(whole, 26);
	assert_int_equal(answer.verdict, IW_PERSONALITY_ACCEPT);
}

static void engine_can_continue_after_a_personalitys_reply(void **state)
{
	struct iw_cli_param param = { .protocol.crc = IW_CRC_WANTED };

	(void)state;
	be("siw");
	iw_personality_engine(&param, &cfg);
	assert_int_equal(param.protocol.crc, IW_CRC_OFF);
	assert_int_equal(param.protocol.ird, 128);
	param = (struct iw_cli_param){ .protocol.crc = IW_CRC_WANTED };
	be("rfc");
	cfg.set_crc = true;
	cfg.crc = IW_PERSONALITY_CRC_NEVER;
	cfg.rev_most = 1;
	iw_personality_engine(&param, &cfg);
	assert_int_equal(param.protocol.crc, IW_CRC_OFF);
	assert_int_equal(param.protocol.rev, 1);
}

static void names_and_rows_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < IW_PERSONALITIES; i++) {
		assert_string_equal(iw_personality_names[i], iw_personalities[i].name);
		assert_true(iw_personalities[i].request_ns > 0);
		assert_int_equal(iw_personalities[i].native, i == 0);
	}
	assert_null(iw_personality_names[IW_PERSONALITIES]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siw_answers_as_in_the_capture),
		cmocka_unit_test(siw_answers_as_its_source_says),
		cmocka_unit_test(chelsio_has_crc_always_one_form_and_resets),
		cmocka_unit_test(windows_puts_ird_and_ord_into_its_private_data),
		cmocka_unit_test(plain_supports_rev_1_only_and_requests_nothing),
		cmocka_unit_test(options_override_habits),
		cmocka_unit_test(engine_gets_the_agreement_of_the_personality),
		cmocka_unit_test(incomplete_request_reports_how_much_is_missing),
		cmocka_unit_test(engine_can_continue_after_a_personalitys_reply),
		cmocka_unit_test(names_and_rows_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
