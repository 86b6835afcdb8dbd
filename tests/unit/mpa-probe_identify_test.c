// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which implementation fits which facts. */
#include "mpa-probe/identify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct iw_facts facts;
static struct iw_verdict v;

static int fresh(void **state)
{
	(void)state;
	memset(&facts, 0, sizeof(facts));
	return 0;
}

static void is(enum iw_fact f)
{
	facts.is[f] = IW_YES;
}

static void is_not(enum iw_fact f)
{
	facts.is[f] = IW_NO;
}

static void looks_like(enum iw_impl impl)
{
	iw_identify(&v, &facts);
	assert_string_equal(iw_impl_name(v.impl), iw_impl_name(impl));
}

static void like_siw(void)
{
	is(IW_FACT_ECHOES_RESERVED);
	is(IW_FACT_MARKERS_REFUSED);
	is_not(IW_FACT_MARKERS_OBEYED);
	is(IW_FACT_C_FOLLOWS);
	is(IW_FACT_DEPTH_128);
	is(IW_FACT_RTR_WRITE_ALONE);
	is_not(IW_FACT_BLOCK);
}

static void like_us(void)
{
	is_not(IW_FACT_ECHOES_RESERVED);
	is(IW_FACT_MARKERS_OBEYED);
	is(IW_FACT_RTR_ALL);
	is_not(IW_FACT_RTR_READ_ALONE);
	is_not(IW_FACT_RTR_WRITE_ALONE);
	is(IW_FACT_DEPTH_16);
	is(IW_FACT_C_ALWAYS);
}

static void no_facts_identify_no_implementation(void **state)
{
	(void)state;
	looks_like(IW_IMPL_UNKNOWN);
	assert_int_equal(v.npro, 0);
}

static void siw_is_identified_by_its_habits(void **state)
{
	(void)state;
	like_siw();
	looks_like(IW_IMPL_SIW);
	assert_int_equal(v.ncontra, 0);
	assert_true(v.npro >= 5);
}

static void one_habit_that_siw_cannot_have_rules_it_out(void **state)
{
	(void)state;
	like_siw();
	is_not(IW_FACT_ECHOES_RESERVED);
	iw_identify(&v, &facts);
	assert_int_not_equal(v.impl, IW_IMPL_SIW);
}

static void missing_optional_habit_lowers_the_score_of_siw_and_is_reported(void **state)
{
	unsigned whole;

	(void)state;
	like_siw();
	looks_like(IW_IMPL_SIW);
	whole = v.score;
	is_not(IW_FACT_DEPTH_128);
	looks_like(IW_IMPL_SIW);
	assert_true(v.score < whole);
	assert_int_equal(v.ncontra, 1);
	assert_int_equal(v.contra[0].fact, IW_FACT_DEPTH_128);
	assert_false(v.contra[0].is);
}

static void our_block_is_enough(void **state)
{
	(void)state;
	is(IW_FACT_BLOCK);
	looks_like(IW_IMPL_LIBIWARP);
}

static void our_tools_are_identified_by_their_private_data(void **state)
{
	(void)state;
	is(IW_FACT_OWN_TOOL);
	looks_like(IW_IMPL_LIBIWARP);
}

static void without_our_block_the_sum_of_our_habits_decides(void **state)
{
	(void)state;
	like_us();
	is_not(IW_FACT_BLOCK);
	looks_like(IW_IMPL_LIBIWARP);
	is_not(IW_FACT_DEPTH_16);
	looks_like(IW_IMPL_UNKNOWN);
}

static void chelsio_and_intel_differ_in_the_model_they_need(void **state)
{
	(void)state;
	is_not(IW_FACT_ECHOES_RESERVED);
	is(IW_FACT_C_ALWAYS);
	is(IW_FACT_MARKERS_OBEYED);
	is(IW_FACT_RTR_READ_ALONE);
	is_not(IW_FACT_RTR_ALL);
	is(IW_FACT_DEPTH_32);
	is_not(IW_FACT_NEEDS_P2P);
	looks_like(IW_IMPL_CHELSIO);
	is(IW_FACT_NEEDS_P2P);
	is_not(IW_FACT_DEPTH_32);
	looks_like(IW_IMPL_INTEL);
}

static void windows_is_identified_by_its_header_and_plain_by_its_absence(void **state)
{
	(void)state;
	is(IW_FACT_REV1_ONLY);
	is_not(IW_FACT_ECHOES_RESERVED);
	is(IW_FACT_SMBD_HEADER);
	looks_like(IW_IMPL_WINDOWS);
	is_not(IW_FACT_SMBD_HEADER);
	is(IW_FACT_C_NEVER);
	is(IW_FACT_MARKERS_OBEYED);
	looks_like(IW_IMPL_PLAIN);
}

static void rdmac_is_identified_by_the_revision_of_its_reply(void **state)
{
	(void)state;
	is(IW_FACT_REV1_ONLY);
	is_not(IW_FACT_ECHOES_RESERVED);
	is(IW_FACT_MARKERS_OBEYED);
	is_not(IW_FACT_REPLY_REV0);
	looks_like(IW_IMPL_PLAIN);
	is(IW_FACT_REPLY_REV0);
	looks_like(IW_IMPL_RDMAC);
	/* Its Private Data is better evidence. */
	is(IW_FACT_OWN_TOOL);
	looks_like(IW_IMPL_LIBIWARP);
}

static void unknown_implementation_lists_the_facts_found(void **state)
{
	(void)state;
	is(IW_FACT_MARKERS_WANTED);
	is_not(IW_FACT_C_ALWAYS);
	looks_like(IW_IMPL_UNKNOWN);
	assert_int_equal(v.npro, 1);
	assert_int_equal(v.pro[0].fact, IW_FACT_MARKERS_WANTED);
}

static void every_fact_and_implementation_has_its_words(void **state)
{
	(void)state;
	for (int i = 0; i < IW_FACTS; i++) {
		assert_true(strlen(iw_fact_name((enum iw_fact)i)) > 3);
		assert_true(strlen(iw_fact_text((enum iw_fact)i, true)) > 10);
		assert_true(strlen(iw_fact_text((enum iw_fact)i, false)) > 10);
		assert_string_not_equal(iw_fact_text((enum iw_fact)i, true),
					iw_fact_text((enum iw_fact)i, false));
	}
	for (int i = 0; i < IW_IMPLS; i++)
		assert_true(strlen(iw_impl_text((enum iw_impl)i)) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(no_facts_identify_no_implementation, fresh),
		cmocka_unit_test_setup(siw_is_identified_by_its_habits, fresh),
		cmocka_unit_test_setup(one_habit_that_siw_cannot_have_rules_it_out, fresh),
		cmocka_unit_test_setup(
			missing_optional_habit_lowers_the_score_of_siw_and_is_reported, fresh),
		cmocka_unit_test_setup(our_block_is_enough, fresh),
		cmocka_unit_test_setup(our_tools_are_identified_by_their_private_data, fresh),
		cmocka_unit_test_setup(without_our_block_the_sum_of_our_habits_decides, fresh),
		cmocka_unit_test_setup(chelsio_and_intel_differ_in_the_model_they_need, fresh),
		cmocka_unit_test_setup(windows_is_identified_by_its_header_and_plain_by_its_absence,
				       fresh),
		cmocka_unit_test_setup(rdmac_is_identified_by_the_revision_of_its_reply, fresh),
		cmocka_unit_test_setup(unknown_implementation_lists_the_facts_found, fresh),
		cmocka_unit_test_setup(every_fact_and_implementation_has_its_words, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
