// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The text of rules: what it means, and what is refused. */
#include "ddp-impair/rules/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "counting_mem.h"
#include "ddp-impair/rules/internal.h"
#include "util/num.h"
#include "wire/ddp.h"

static struct counting_mem mem;
static struct iw_rules *rules;
static struct iw_fault why;

static void begin(enum iw_rule_carrier carrier)
{
	counting_mem_init(&mem);
	assert_int_equal(iw_rules_new(&rules, carrier, 1, NULL, NULL, &mem.mem), 0);
}

static void end(void)
{
	iw_rules_free(rules);
	assert_int_equal(mem.blocks, 0);
}

static const struct iw_rule *parsed(const char *text)
{
	why.text[0] = '\0';
	assert_int_equal(iw_rules_add(rules, text, &why), 0);
	return rules->rule[iw_rules_count(rules) - 1];
}

static void refused(int err, const char *text, const char *said)
{
	size_t n = iw_rules_count(rules);

	assert_int_equal(iw_rules_add(rules, text, &why), err);
	assert_int_equal(iw_rules_count(rules), n);
	if (!strstr(why.text, said))
		fail_msg("%s: \"%s\" lacks \"%s\"", text, why.text, said);
}

static void conditions_are_read(void **state)
{
	const struct iw_rule *r;

	(void)state;
	begin(IW_RULE_TCP);
	r = parsed(
		"fpdu opcode=send,write from=responder conn=3 nth=7 every=2 count=10..20 len=100..200"
		" after=2s until=1.5m prob=0.25% ddp.stag=0x1234 mo=0: drop");
	assert_int_equal(r->kind, IW_UNIT_FPDU);
	assert_int_equal(r->ops, 1 << IW_OP_SEND | 1 << IW_OP_WRITE);
	assert_int_equal(r->from, 1 << IW_UNIT_RESPONDER);
	assert_int_equal(r->conn, 3);
	assert_int_equal(r->nth, 7);
	assert_int_equal(r->every, 2);
	assert_int_equal(r->count.min, 10);
	assert_int_equal(r->count.max, 20);
	assert_int_equal(r->len.max, 200);
	assert_int_equal(r->after_ns, IW_SEC(2));
	assert_int_equal(r->until_ns, IW_SEC(90));
	assert_int_equal(r->prob, 2500);
	assert_int_equal(r->equals, 2);
	assert_int_equal(r->equal[0].value, 0x1234);
	assert_int_equal(r->action.kind, IW_ACTION_DROP);
	r = parsed("mpa-reply:drop");
	assert_int_equal(r->kind, IW_UNIT_REPLY);
	assert_int_equal(r->from, 3);
	assert_int_equal(r->prob, IW_RULE_PROB_ALL);
	assert_true(iw_rules_use(rules, IW_UNIT_REPLY));
	assert_false(iw_rules_use(rules, IW_UNIT_REQUEST));
	end();
}

static void actions_are_read(void **state)
{
	const struct iw_action *a;

	(void)state;
	begin(IW_RULE_TCP);
	a = &parsed("fpdu: flip-bit payload fix-crc")->action;
	assert_string_equal(a->text, "flip-bit payload fix-crc");
	assert_true(a->part == IW_PART_PAYLOAD && a->fix_crc && !a->fix_length);
	a = &parsed("fpdu:\t drop")->action;
	assert_string_equal(a->text, "drop");
	a = &parsed("fpdu: truncate 20..30 fix-length")->action;
	assert_true(a->n.min == 20 && a->n.max == 30 && a->fix_length);
	a = &parsed("fpdu: split 7 5ms")->action;
	assert_true(a->n.min == 7 && a->ns.max == IW_MSEC(5));
	a = &parsed("fpdu: stall forever")->action;
	assert_true(a->ns.min == IW_TIME_NEVER);
	a = &parsed("fpdu: duplicate")->action;
	assert_true(a->n.min == 1 && a->n.max == 1);
	a = &parsed("fpdu: coalesce 4")->action;
	assert_true(a->n.max == 4);
	a = &parsed("fpdu: reset after 9")->action;
	assert_true(a->kind == IW_ACTION_RESET && a->n.min == 9);
	a = &parsed("mpa-reply: set crc=0")->action;
	assert_true(a->kind == IW_ACTION_SET && a->value == 0);
	a = &parsed("fpdu: inject 00ff10 after")->action;
	assert_true(a->after && a->octets_len == 3 && a->octets[1] == 0xff);
	end();
}

static void bad_rules_are_refused_with_a_reason(void **state)
{
	/* clang-format off */
	static const char *const bad[][2] = {
		{ "", "column 1: nothing: expected fpdu" },
		{ "fpd: drop", "\"fpd\": expected fpdu, mpa-request, mpa-reply, packet, chunk or octets; did you mean fpdu?" },
		{ "fpdu nth=5", "column 11: nothing: expected a colon and an action" },
		{ "fpdu nth", "column 9: nothing: expected a colon" },
		{ "fpdu opcod=write: drop", "column 6: \"opcod\": expected a key" },
		{ "fpdu opcode=wrte: drop", "did you mean write?" },
		{ "fpdu from=me: drop", "expected initiator or responder" },
		{ "fpdu nth=0: drop", "\"0\": expected a number from 1 to" },
		{ "fpdu nth=18446744073709551616: drop", "expected a number" },
		{ "fpdu count=3..2: drop", "expected a number or a range" },
		{ "fpdu prob=101%: drop", "expected a percentage" },
		{ "fpdu prob=5: drop", "expected a percentage" },
		{ "fpdu prob=5.%: drop", "expected a percentage" },
		{ "fpdu after=5: drop", "expected a time" },
		{ "fpdu after=25h: drop", "expected a time" },
		{ "fpdu ddp.stag=x: drop", "expected a number" },
		{ "fpdu stag=1 to=2 qn=3 msn=4 mo=5: drop", "at most 4 header fields" },
		{ "mpa-reply ddp.stag=1: drop", "\"ddp.stag\"" },
		{ "fpdu: drip", "did you mean drop?" },
		{ "fpdu: drop now", "expected the end of the rule" },
		{ "fpdu: drop fix-crc", "expected the end of the rule" },
		{ "fpdu: flip-bit", "nothing: expected header, payload, trailer or any" },
		{ "fpdu: delay", "nothing: expected a time" },
		{ "fpdu: delay forever", "stall forever" },
		{ "fpdu: stall 1s..forever", "a time such as 2s, a range such as 1s..3s, or forever" },
		{ "fpdu: stall 0s..1s", "a time such as 2s" },
		{ "fpdu: delay 1.ms", "expected a time" },
		{ "fpdu: reorder 0", "1 to 1000" },
		{ "fpdu: coalesce 1", "2 to 1000 units" },
		{ "fpdu: split 0", "at least 1" },
		{ "fpdu: set stag", "expected FIELD=VALUE" },
		{ "fpdu: set opcode=16", "a value that fits in the field" },
		{ "fpdu: set mpa.rev=1", "expected a header field" },
		{ "fpdu: inject 123", "pairs of hex digits" },
		{ "fpdu: inject zz", "pairs of hex digits" },
		{ "fpdu: inject @file", "files cannot be read here" },
		{ "fpdu: reset at 5", "\"after\"" },
	};
	/* clang-format on */

	(void)state;
	begin(IW_RULE_TCP);
	for (size_t i = 0; i < IW_ARRAY_LEN(bad); i++)
		refused(IW_E_INVAL, bad[i][0], bad[i][1]);
	end();
}

static void a_carrier_refuses_what_it_cannot_do(void **state)
{
	(void)state;
	begin(IW_RULE_TCP);
	refused(IW_E_NOTSUP, "packet: drop", "SCTP packets are not in a TCP stream");
	end();
	begin(IW_RULE_UDP);
	refused(IW_E_NOTSUP, "packet: split 5", "a datagram is not divided");
	refused(IW_E_NOTSUP, "packet: reset", "no connection");
	refused(IW_E_NOTSUP, "fpdu: drop", "UDP carries SCTP");
	(void)parsed("chunk opcode=data data.tsn=5: drop");
	(void)parsed("packet verification-tag=5: drop");
	/* A packet has the common header only, and a chunk does not have it. */
	refused(IW_E_INVAL, "packet tsn=5: drop", "\"tsn\": expected a key");
	refused(IW_E_INVAL, "packet: set data.tsn=5", "expected a header field");
	refused(IW_E_INVAL, "chunk verification-tag=5: drop", "expected a key");
	end();
	begin(IW_RULE_FRAMES);
	refused(IW_E_NOTSUP, "fpdu: truncate 5", "sequence numbers");
	refused(IW_E_NOTSUP, "fpdu: inject 00", "sequence numbers");
	(void)parsed("fpdu: flip-bit any");
	(void)parsed("packet: drop");
	end();
}

static void without_memory_a_rule_is_not_added(void **state)
{
	(void)state;
	for (size_t fail = 1; fail < 6; fail++) {
		int err;

		counting_mem_init(&mem);
		mem.fail_from = fail;
		if (iw_rules_new(&rules, IW_RULE_TCP, 1, NULL, NULL, &mem.mem) == IW_E_NOMEM)
			continue;
		err = iw_rules_add(rules, "fpdu: inject 0011", &why);
		assert_true(err == 0 || err == IW_E_NOMEM);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_are_read),
		cmocka_unit_test(actions_are_read),
		cmocka_unit_test(bad_rules_are_refused_with_a_reason),
		cmocka_unit_test(a_carrier_refuses_what_it_cannot_do),
		cmocka_unit_test(without_memory_a_rule_is_not_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
