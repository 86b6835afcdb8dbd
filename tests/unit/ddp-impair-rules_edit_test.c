// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Edits of units, with and without a repaired CRC. */
#include "ddp-impair/rules/edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "ddp-impair/rules/framer.h"
#include "impair_maker.h"

static struct impair_maker m;
static uint8_t before[600], octets[600];
static size_t len;
static struct iw_unit u;

/* Applies the only rule to an FPDU with 100 octets of payload. Returns whether it fits. */
static bool edited(const char *rule, bool markers, uint32_t pos)
{
	struct iw_rules_flow flow;
	struct iw_decision d[IW_DECISIONS_MAX];
	size_t n;
	bool done;

	impair_init(&m, IW_RULE_TCP, 3, rule);
	assert_int_equal(iw_rules_flow_init(&flow, m.rules), 0);
	len = impair_fpdu(before, 5, 100);
	iw_put_le32(before + len - 4, iw_framer_crc(before, len, markers, pos));
	memcpy(octets, before, len);
	u = (struct iw_unit){ .conn = 1,
			      .number = 1,
			      .octets = octets,
			      .have = len,
			      .sealed = true,
			      .markers = markers,
			      .pos = pos };
	iw_unit_read_fpdu(&u);
	n = iw_rules_decide(m.rules, &flow, &u, d);
	done = n == 1 && iw_edit_is(d[0].action->kind) && iw_edit_apply(&d[0], &u, octets, &len);
	iw_rules_flow_fini(&flow, m.rules);
	impair_fini(&m);
	return done;
}

static bool crc_is_right(void)
{
	return iw_get_le32(octets + len - 4) == iw_framer_crc(octets, len, u.markers, u.pos);
}

static size_t bits_changed(void)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += (size_t)__builtin_popcount(before[i] ^ octets[i]);
	return n;
}

static void a_bit_is_inverted(void **state)
{
	(void)state;
	assert_true(edited("fpdu: flip-bit payload", false, 0));
	assert_int_equal(bits_changed(), 1);
	assert_false(crc_is_right());
}

static void the_crc_is_repaired_with_markers_and_without(void **state)
{
	(void)state;
	for (uint32_t pos = 0; pos < 1024; pos += 4) {
		assert_true(edited("fpdu: flip-bit payload fix-crc", pos % 8 == 0, pos));
		assert_memory_not_equal(before, octets, len);
		assert_true(crc_is_right());
	}
}

static void a_field_is_set(void **state)
{
	struct iw_ddp h;

	(void)state;
	assert_true(edited("fpdu: set ddp.stag=0xa1b2c3d4", false, 0));
	assert_true(iw_wire_ddp_decode(&h, octets + 2, len - 2) > 0);
	assert_int_equal(h.stag, 0xa1b2c3d4);
	assert_int_equal(h.to, 5);
	assert_true(edited("fpdu: set to=0xfedcba9876543210 fix-crc", false, 0));
	assert_true(iw_wire_ddp_decode(&h, octets + 2, len - 2) > 0);
	assert_true(h.to == UINT64_C(0xfedcba9876543210) && h.stag == 0x1234 && crc_is_right());
	assert_true(edited("fpdu: set to=18446744073709551615", false, 0));
	assert_true(iw_wire_ddp_decode(&h, octets + 2, len - 2) > 0);
	assert_true(h.to == UINT64_MAX);
	assert_true(edited("fpdu: set opcode=9", false, 0));
	assert_true(iw_wire_ddp_decode(&h, octets + 2, len - 2) > 0);
	assert_true(h.opcode == 9 && h.rv == 1);
	assert_true(edited("fpdu: set last=0 fix-crc", false, 0));
	assert_true(iw_wire_ddp_decode(&h, octets + 2, len - 2) > 0);
	assert_true(!h.last && h.tagged && h.dv == 1 && crc_is_right());
	assert_true(edited("fpdu: set ddp.rsvd=5", false, 0));
	assert_true(iw_wire_ddp_decode(&h, octets + 2, len - 2) > 0);
	assert_true(h.rsvd_ddp == 5 && h.last && h.tagged && h.dv == 1);
	assert_true(edited("fpdu: set length=7", false, 0));
	assert_int_equal(iw_get_be16(octets), 7);
	assert_false(edited("fpdu: set mo=7", false, 0));
}

static void words_change_places(void **state)
{
	(void)state;
	assert_true(edited("fpdu: swap-words", false, 0));
	assert_memory_not_equal(before, octets, len);
	assert_memory_equal(before, octets, 16);
	assert_int_equal(impair_sum(0, before, len), impair_sum(0, octets, len));
}

static void a_unit_is_cut(void **state)
{
	(void)state;
	assert_true(edited("fpdu: truncate 33", false, 0));
	assert_int_equal(len, 33);
	assert_memory_equal(before, octets, len);
	for (size_t n = 20; n < 110; n++) {
		char rule[60] = "fpdu: truncate 000 fix-length";

		rule[15] = (char)('0' + n / 100);
		rule[16] = (char)('0' + n / 10 % 10);
		rule[17] = (char)('0' + n % 10);
		assert_true(edited(rule, true, 512));
		assert_in_range(len, n - 3, n);
		assert_int_equal(len, iw_mpa_fpdu_len(iw_get_be16(octets)));
		assert_true(crc_is_right());
	}
	assert_false(edited("fpdu: truncate 3 fix-length", false, 0));
}

static void without_an_agreed_crc_nothing_is_sealed(void **state)
{
	(void)state;
	(void)edited("fpdu: set stag=0", false, 0);
	u.sealed = false;
	memcpy(before, octets, len);
	iw_edit_seal(&u, octets, len);
	assert_memory_equal(before, octets, len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bit_is_inverted),
		cmocka_unit_test(the_crc_is_repaired_with_markers_and_without),
		cmocka_unit_test(a_field_is_set),
		cmocka_unit_test(words_change_places),
		cmocka_unit_test(a_unit_is_cut),
		cmocka_unit_test(without_an_agreed_crc_nothing_is_sealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
