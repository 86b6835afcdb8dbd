// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Decisions: which units a rule chooses, and that nothing but the seed and the numbers decide. */
#include "ddp-impair/rules/decision.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "impair_maker.h"

static struct impair_maker m;
static struct iw_rules_flow flow;
static struct iw_decision d[IW_DECISIONS_MAX];
static uint8_t fpdu[600];

static void begin(uint64_t seed, const char *rules)
{
	impair_init(&m, IW_RULE_TCP, seed, rules);
	assert_int_equal(iw_rules_flow_init(&flow, m.rules), 0);
}

static void end(void)
{
	iw_rules_flow_fini(&flow, m.rules);
	impair_fini(&m);
}

/* The decisions for the FPDU with this number: an RDMA Write of payload octets. */
static size_t decide(uint64_t number, size_t payload)
{
	struct iw_unit u = { .conn = 1, .number = number, .octets = fpdu };

	u.have = impair_fpdu(fpdu, number, payload);
	u.at_ns = number * 1000;
	iw_unit_read_fpdu(&u);
	return iw_rules_decide(m.rules, &flow, &u, d);
}

/* Returns the numbers, from 1 to 30, of the units that the rule chooses, as a set of bits. */
static uint32_t chosen(uint64_t seed, const char *rule)
{
	uint32_t set = 0;

	begin(seed, rule);
	for (uint64_t n = 1; n <= 30; n++)
		if (decide(n, 100))
			set |= 1u << n;
	end();
	return set;
}

static void counting_conditions_choose_units(void **state)
{
	(void)state;
	assert_int_equal(chosen(1, "fpdu nth=5: drop"), 1u << 5);
	assert_int_equal(chosen(1, "fpdu every=10: drop"), 1u << 10 | 1u << 20 | 1u << 30);
	assert_int_equal(chosen(1, "fpdu count=3..5: drop"), 7u << 3);
	assert_int_equal(chosen(1, "fpdu opcode=send: drop"), 0);
	assert_int_equal(chosen(1, "fpdu from=responder: drop"), 0);
	assert_int_equal(chosen(1, "fpdu conn=2: drop"), 0);
	assert_int_equal(chosen(1, "fpdu len=1..50: drop"), 0);
	assert_int_equal(chosen(1, "fpdu to=7: drop"), 1u << 7);
	assert_int_equal(chosen(1, "fpdu mo=0: drop"), 0);
	assert_int_equal(chosen(1, "fpdu after=4us until=6us: drop"), 3u << 4);
}

static void chances_depend_on_the_seed(void **state)
{
	uint32_t a = chosen(7, "fpdu prob=30%: drop");

	(void)state;
	assert_int_equal(a, chosen(7, "fpdu prob=30%: drop"));
	assert_int_not_equal(a, chosen(8, "fpdu prob=30%: drop"));
	assert_in_range(__builtin_popcount(a), 3, 16);
	assert_int_equal(chosen(7, "fpdu prob=0%: drop"), 0);
	/* A higher chance chooses the same units and more. */
	assert_int_equal(a & chosen(7, "fpdu prob=60%: drop"), a);
}

static void chances_depend_on_connection_and_direction(void **state)
{
	struct iw_unit u = { .octets = fpdu };
	uint32_t set[4] = { 0 };

	(void)state;
	u.have = impair_fpdu(fpdu, 0, 100);
	iw_unit_read_fpdu(&u);
	begin(7, "fpdu prob=50%: drop");
	for (unsigned i = 0; i < 4; i++) {
		u.conn = 1 + i / 2;
		u.from = i % 2;
		for (u.number = 1; u.number < 30; u.number++)
			set[i] |= (uint32_t)iw_rules_decide(m.rules, &flow, &u, d) << u.number;
	}
	assert_true(set[0] != set[1] && set[0] != set[2] && set[0] != set[3] && set[1] != set[2]);
	end();
}

static void actions_follow_one_another_up_to_an_end(void **state)
{
	(void)state;
	begin(1, "fpdu: flip-bit payload\nfpdu: delay 5ms\nfpdu nth=2: drop\nfpdu: duplicate");
	assert_int_equal(decide(1, 100), 3);
	assert_int_equal(d[0].rule, 1);
	assert_int_equal(d[1].ns, IW_MSEC(5));
	assert_int_equal(d[2].action->kind, IW_ACTION_DUPLICATE);
	assert_int_equal(decide(2, 100), 3);
	assert_int_equal(d[2].action->kind, IW_ACTION_DROP);
	end();
}

static void a_bit_is_in_its_part(void **state)
{
	static const char *const rules[] = { "fpdu: flip-bit header", "fpdu: flip-bit payload",
					     "fpdu: flip-bit trailer", "fpdu: flip-bit any" };
	/* 2 + 14 octets of headers, 101 of payload, 3 + 4 of padding and CRC. */
	static const size_t from[] = { 0, 16, 117, 0 }, to[] = { 16, 117, 124, 124 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		begin(i + 1, rules[i]);
		for (uint64_t n = 1; n < 200; n++) {
			assert_int_equal(decide(n, 101), 1);
			assert_in_range(d[0].pick, from[i] * 8, to[i] * 8 - 1);
		}
		end();
	}
}

static void an_action_that_does_not_fit_is_left_out(void **state)
{
	(void)state;
	begin(1, "fpdu: flip-bit payload\nfpdu: swap-words\nfpdu: truncate 500\nfpdu: set mo=1");
	assert_int_equal(decide(1, 0), 0);
	end();
}

static void a_field_that_is_not_complete_meets_no_condition(void **state)
{
	struct iw_unit u = { .conn = 1, .number = 1, .octets = fpdu };

	(void)state;
	begin(1, "fpdu stag=0: drop\nfpdu fpdu.crc=0: drop");
	memset(fpdu, 0, sizeof(fpdu));
	for (size_t ulpdu = 0; ulpdu < 14; ulpdu++) {
		fpdu[1] = (uint8_t)ulpdu;
		fpdu[2] = 0x80;
		u.have = iw_mpa_fpdu_len(ulpdu);
		iw_unit_read_fpdu(&u);
		assert_int_equal(iw_rules_decide(m.rules, &flow, &u, d), 1);
		assert_int_equal(d[0].rule, 2);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counting_conditions_choose_units),
		cmocka_unit_test(chances_depend_on_the_seed),
		cmocka_unit_test(chances_depend_on_connection_and_direction),
		cmocka_unit_test(actions_follow_one_another_up_to_an_end),
		cmocka_unit_test(a_bit_is_in_its_part),
		cmocka_unit_test(an_action_that_does_not_fit_is_left_out),
		cmocka_unit_test(a_field_that_is_not_complete_meets_no_condition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
