// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Wrong claims: the limits of one address and of all addresses together. */
#include "stag-reg/guess.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static struct iw_guesses g;
static uint64_t now;

static int set_up(void **state)
{
	(void)state;
	now = IW_SEC(1000);
	iw_guesses_init(&g, now);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	iw_guesses_fini(&g);
	return 0;
}

static void wrong(const char *addr, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		iw_guess_wrong(&g, addr, now);
}

static void each_wrong_claim_doubles_the_wait_of_its_address(void **state)
{
	uint64_t expected = IW_GUESS_WAIT_MIN;

	(void)state;
	for (unsigned i = 0; i < IW_GUESS_FREE; i++) {
		assert_int_equal(iw_guess_wait(&g, "192.0.2.1:1", now), 0);
		wrong("192.0.2.1:1", 1);
	}
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(iw_guess_wait(&g, "192.0.2.1:2", now), expected);
		assert_int_equal(iw_guess_wait(&g, "192.0.2.2:1", now), 0);
		assert_int_equal(iw_guess_wait(&g, "192.0.2.1:1", now + expected - 1), 1);
		now += expected;
		assert_int_equal(iw_guess_wait(&g, "192.0.2.1:1", now), 0);
		wrong("192.0.2.1:3", 1);
		expected = IW_MIN(2 * expected, IW_GUESS_WAIT_MAX);
	}
}

static void address_is_forgotten_after_a_time_without_wrong_claims(void **state)
{
	(void)state;
	wrong("192.0.2.1:1", IW_GUESS_FREE - 1);
	now += IW_GUESS_FORGET - 1;
	assert_int_equal(iw_guess_wait(&g, "192.0.2.1:1", now), 0);
	assert_int_equal(g.count, 1);
	now++;
	assert_int_equal(iw_guess_wait(&g, "192.0.2.1:1", now), 0);
	assert_int_equal(g.count, 0);
	wrong("192.0.2.1:1", 1);
	assert_int_equal(iw_guess_wait(&g, "192.0.2.1:1", now), 0);
}

static void addresses_of_one_ipv6_network_count_together(void **state)
{
	char addr[64];

	(void)state;
	for (unsigned i = 0; i < IW_GUESS_FREE; i++) {
		snprintf(addr, sizeof(addr), "[2001:db8:1:2:%x::%x]:%u", i, i, i + 1);
		wrong(addr, 1);
	}
	assert_true(iw_guess_wait(&g, "[2001:db8:1:2::1]:9", now) > 0);
	assert_int_equal(iw_guess_wait(&g, "[2001:db8:1:3::1]:9", now), 0);
}

static void ipv4_address_mapped_into_ipv6_is_the_ipv4_address(void **state)
{
	(void)state;
	wrong("[::ffff:192.0.2.1]:1", IW_GUESS_FREE);
	assert_true(iw_guess_wait(&g, "192.0.2.1:1", now) > 0);
	assert_int_equal(iw_guess_wait(&g, "[::ffff:192.0.2.2]:1", now), 0);
	assert_int_equal(iw_guess_wait(&g, "[::c000:201]:1", now), 0); /* not the same */
}

/*
 * An attacker with a million addresses is limited by the rate. The number of entries is bounded,
 * and none is dropped.
 */
static void many_addresses_together_are_limited_and_none_is_dropped(void **state)
{
	unsigned looked_at = 0;
	char addr[64];

	(void)state;
	wrong("198.51.100.1:1", IW_GUESS_FREE + 9); /* waits 256 s */
	for (unsigned i = 0; i < 1000000; i++) {
		snprintf(addr, sizeof(addr), "10.%u.%u.%u:1", i >> 16, i >> 8 & 255, i & 255);
		now += IW_MSEC(1);
		if (iw_guess_wait(&g, addr, now) > 0)
			continue;
		looked_at++;
		iw_guess_wrong(&g, addr, now);
		assert_true(g.count <= IW_GUESS_MAX);
		if (now < IW_SEC(1256))
			assert_true(iw_guess_wait(&g, "198.51.100.1:1", now) > 0);
	}
	assert_true(looked_at <= IW_GUESS_BURST + 1000 * IW_GUESS_RATE);
	assert_true(looked_at > 1000 * IW_GUESS_RATE - 10);
	assert_true(g.count > 5000); /* so the bound was tested */
	now += IW_SEC(1000);
	assert_int_equal(iw_guess_wait(&g, "10.0.0.1:1", now), 0);
	assert_int_equal(g.count, 0);
}

static void clock_far_in_the_future_overflows_nothing(void **state)
{
	(void)state;
	now = UINT64_MAX / 2;
	assert_int_equal(iw_guess_wait(&g, "192.0.2.1:1", now), 0);
	wrong("192.0.2.1:1", 100);
	assert_int_equal(iw_guess_wait(&g, "192.0.2.1:1", now), IW_GUESS_WAIT_MAX);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(each_wrong_claim_doubles_the_wait_of_its_address),
		test(address_is_forgotten_after_a_time_without_wrong_claims),
		test(addresses_of_one_ipv6_network_count_together),
		test(ipv4_address_mapped_into_ipv6_is_the_ipv4_address),
		test(many_addresses_together_are_limited_and_none_is_dropped),
		test(clock_far_in_the_future_overflows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
