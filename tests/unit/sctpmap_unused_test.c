// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Associations without a session: deadlines, limits for each address, eviction. */
#include "sctpmap/unused.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "counting_mem.h"
#include "rng.h"
#include "util/num.h"

enum { PER_ADDR = 4, MAX = 10, TIMEOUT = 100, ENTRIES = 64 };

static struct counting_mem mem;
static struct iw_unused u;
static struct iw_unused_entry e[ENTRIES];
static struct iw_unused_entry *evicted;

static int set_up(void **state)
{
	(void)state;
	counting_mem_init(&mem);
	memset(e, 0, sizeof(e));
	iw_unused_init(&u, &(struct iw_unused_cfg){ .mem = &mem.mem,
						    .timeout_ns = TIMEOUT,
						    .per_addr = PER_ADDR,
						    .max = MAX,
						    .per_addr_bytes = 1000,
						    .max_bytes = 2000,
						    .secret = 7 });
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < ENTRIES; i++)
		iw_unused_remove(&u, &e[i]);
	assert_int_equal(iw_unused_count(&u), 0);
	iw_unused_fini(&u);
	return mem.blocks == 0 && mem.wrong_size == 0 ? 0 : -1;
}

struct ip {
	uint8_t octet[16];
};

/* 192.0.2.n */
static struct ip v4(uint8_t n)
{
	return (struct ip){ { [10] = 0xff, 0xff, 192, 0, 2, n } };
}

/* 2001:db8:0:net::host */
static struct ip v6(uint8_t net, uint8_t host)
{
	return (struct ip){ { 0x20, 0x01, 0x0d, 0xb8, [7] = net, [15] = host } };
}

static void add(size_t i, struct ip ip, uint64_t now)
{
	assert_int_equal(iw_unused_add(&u, &e[i], ip.octet, now, &evicted), 0);
	assert_true(iw_unused_has(&e[i]));
}

/* SEC-29 */
static void each_association_expires_after_the_time_out(void **state)
{
	(void)state;
	assert_true(iw_unused_deadline(&u) == IW_TIME_NEVER);
	assert_null(iw_unused_expired(&u, IW_TIME_NEVER));
	add(0, v4(1), 1000);
	add(1, v4(2), 1050);
	assert_true(iw_unused_deadline(&u) == 1000 + TIMEOUT);
	assert_null(iw_unused_expired(&u, 1099));
	assert_ptr_equal(iw_unused_expired(&u, 1100), &e[0]);
	/* The entry stays until it is removed. */
	assert_ptr_equal(iw_unused_expired(&u, 1100), &e[0]);
	iw_unused_remove(&u, &e[0]);
	assert_false(iw_unused_has(&e[0]));
	assert_null(iw_unused_expired(&u, 1149));
	assert_ptr_equal(iw_unused_expired(&u, 1150), &e[1]);
}

static void without_a_time_out_nothing_expires(void **state)
{
	(void)state;
	u.cfg.timeout_ns = 0;
	add(0, v4(1), 1000);
	assert_true(iw_unused_deadline(&u) == IW_TIME_NEVER);
	assert_null(iw_unused_expired(&u, IW_TIME_NEVER));
}

static void removing_twice_or_before_adding_does_nothing(void **state)
{
	(void)state;
	iw_unused_remove(&u, &e[0]);
	add(0, v4(1), 0);
	iw_unused_remove(&u, &e[0]);
	iw_unused_remove(&u, &e[0]);
	assert_int_equal(iw_unused_count(&u), 0);
	assert_int_equal(iw_unused_count_of(&u, v4(1).octet), 0);
	assert_true(iw_unused_deadline(&u) == IW_TIME_NEVER);
}

/* A peer cannot keep an association for ever with sessions that are refused or not answered. */
static void requests_postpone_the_deadline_once_and_a_refusal_restores_it(void **state)
{
	(void)state;
	add(0, v4(1), 1000);
	add(1, v4(1), 1010);
	iw_unused_asked(&u, &e[0]);
	assert_ptr_equal(iw_unused_expired(&u, 1199), &e[1]);
	iw_unused_remove(&u, &e[1]);
	iw_unused_asked(&u, &e[0]);
	assert_true(iw_unused_deadline(&u) == 1000 + 2 * TIMEOUT);
	assert_null(iw_unused_expired(&u, 1199));
	assert_ptr_equal(iw_unused_expired(&u, 1200), &e[0]);
	iw_unused_answered(&u, &e[0]);
	assert_true(iw_unused_deadline(&u) == 1000 + TIMEOUT);
	iw_unused_asked(&u, &e[0]);
	assert_true(iw_unused_deadline(&u) == 1000 + 2 * TIMEOUT);
}

static void an_extended_deadline_stays_after_a_request(void **state)
{
	(void)state;
	add(0, v4(1), 1000);
	iw_unused_extend(&u, &e[0], 1090);
	assert_true(iw_unused_deadline(&u) == 1090 + TIMEOUT);
	iw_unused_asked(&u, &e[0]);
	assert_true(iw_unused_deadline(&u) == 1090 + 2 * TIMEOUT);
	iw_unused_answered(&u, &e[0]);
	assert_null(iw_unused_expired(&u, 1100));
	assert_ptr_equal(iw_unused_expired(&u, 1190), &e[0]);
}

/*
 * SEC-29: the peer that takes more than its share loses its own oldest association, not that of
 * another peer.
 */
static void the_oldest_of_an_address_above_its_limit_is_evicted(void **state)
{
	(void)state;
	add(20, v4(2), 0);
	for (size_t i = 0; i < PER_ADDR; i++) {
		add(i, v4(1), i);
		assert_null(evicted);
	}
	add(PER_ADDR, v4(1), 50);
	assert_ptr_equal(evicted, &e[0]);
	assert_false(iw_unused_has(&e[0]));
	assert_int_equal(iw_unused_count_of(&u, v4(1).octet), PER_ADDR);
	assert_int_equal(iw_unused_count_of(&u, v4(2).octet), 1);
	add(PER_ADDR + 1, v4(1), 51);
	assert_ptr_equal(evicted, &e[1]);
	assert_true(iw_unused_has(&e[20]));
}

static void an_association_with_a_request_can_be_evicted(void **state)
{
	(void)state;
	for (size_t i = 0; i < PER_ADDR; i++)
		add(i, v4(1), 0);
	iw_unused_asked(&u, &e[0]);
	add(PER_ADDR, v4(1), 0);
	assert_ptr_equal(evicted, &e[0]);
}

/* SEC-29 */
static void the_oldest_of_all_is_evicted_above_the_limit_of_the_port(void **state)
{
	(void)state;
	for (size_t i = 0; i < MAX; i++) {
		add(i, v4((uint8_t)i), 0);
		assert_null(evicted);
	}
	add(MAX, v4(MAX), 0);
	assert_ptr_equal(evicted, &e[0]);
	assert_int_equal(iw_unused_count(&u), MAX);
	add(MAX + 1, v4(2), 0);
	assert_ptr_equal(evicted, &e[1]);
}

/*
 * SEC-29: of the associations that share the memory limit of an address, those with less than half
 * the average stay.
 */
static void above_the_memory_limit_the_oldest_large_association_ends(void **state)
{
	(void)state;
	add(0, v4(1), 0);
	add(1, v4(1), 0);
	add(2, v4(2), 0);
	assert_null(iw_unused_charge(&u, &e[0], 10));
	assert_null(iw_unused_charge(&u, &e[1], 990));
	assert_ptr_equal(iw_unused_charge(&u, &e[1], 991), &e[1]);
	/* If another association grows, the large one must end. */
	assert_ptr_equal(iw_unused_charge(&u, &e[0], 20), &e[1]);
	/* The memory of a removed association no longer counts. */
	iw_unused_remove(&u, &e[1]);
	assert_null(iw_unused_charge(&u, &e[0], 1000));
	add(4, v4(1), 0);
	assert_ptr_equal(iw_unused_charge(&u, &e[4], 1), &e[0]);
	iw_unused_remove(&u, &e[4]);
	/* The limit of all associations together. */
	assert_null(iw_unused_charge(&u, &e[0], 300));
	assert_null(iw_unused_charge(&u, &e[2], 900));
	add(3, v4(3), 0);
	assert_null(iw_unused_charge(&u, &e[3], 800));
	assert_ptr_equal(iw_unused_charge(&u, &e[3], 801), &e[2]);
	assert_ptr_equal(iw_unused_charge(&u, &e[0], 310), &e[2]);
	assert_null(iw_unused_charge(&u, &e[2], 100));
	/* An association that has freed memory may stay. */
	assert_null(iw_unused_charge(&u, &e[3], 0));
	iw_unused_remove(&u, &e[0]);
	iw_unused_remove(&u, &e[2]);
	iw_unused_remove(&u, &e[3]);
	assert_int_equal(u.bytes, 0);
}

/* SEC-29: a few octets more than the average do not make an association large. */
static void among_equal_associations_the_oldest_ends(void **state)
{
	(void)state;
	add(0, v4(1), 0);
	add(1, v4(1), 0);
	add(2, v4(2), 0);
	add(3, v4(3), 0);
	assert_null(iw_unused_charge(&u, &e[0], 480));
	assert_null(iw_unused_charge(&u, &e[1], 510));
	assert_ptr_equal(iw_unused_charge(&u, &e[1], 530), &e[0]);
	assert_null(iw_unused_charge(&u, &e[1], 510));
	assert_null(iw_unused_charge(&u, &e[2], 500));
	assert_ptr_equal(iw_unused_charge(&u, &e[3], 520), &e[0]);
	/* Less than half the average: not large. */
	assert_null(iw_unused_charge(&u, &e[3], 0));
	assert_null(iw_unused_charge(&u, &e[0], 240));
	assert_ptr_equal(iw_unused_charge(&u, &e[1], 770), &e[1]);
	for (int i = 0; i < 4; i++)
		iw_unused_remove(&u, &e[i]);
}

/* SEC-29: the limit holds however the associations come to hold their memory. */
static void large_associations_that_are_silent_do_not_exceed_the_memory_limit(void **state)
{
	size_t ended = 0;

	(void)state;
	u.cfg.per_addr = u.cfg.max = ENTRIES;
	for (size_t i = 0; i < ENTRIES; i++) {
		struct iw_unused_entry *large;

		add(i, v4(1), 0);
		for (size_t bytes = 0; bytes <= 300; bytes += 100) {
			while ((large = iw_unused_charge(&u, &e[i], bytes)) != NULL) {
				assert_ptr_not_equal(large, &e[i]);
				iw_unused_remove(&u, large);
				ended++;
			}
			assert_true(u.bytes <= 1000);
		}
	}
	assert_int_equal(ended, ENTRIES - 3);
	/* A single association above the limit must end, too. */
	add(0, v4(2), 0);
	assert_ptr_equal(iw_unused_charge(&u, &e[0], 1001), &e[0]);
}

static void one_address_may_hold_a_quarter_of_a_changed_limit(void **state)
{
	(void)state;
	iw_unused_limit(&u, 400);
	for (uint8_t i = 0; i < 4; i++) {
		add(i, v4(i), 0);
		assert_null(iw_unused_charge(&u, &e[i], 100));
	}
	assert_ptr_equal(iw_unused_charge(&u, &e[3], 101), &e[3]);
	assert_null(iw_unused_charge(&u, &e[3], 100));
	add(4, v4(4), 0);
	assert_ptr_equal(iw_unused_charge(&u, &e[4], 1), &e[0]);
}

static void the_addresses_of_a_64_network_are_one(void **state)
{
	(void)state;
	for (uint8_t i = 0; i <= PER_ADDR; i++)
		add(i, v6(1, i), 0);
	assert_ptr_equal(evicted, &e[0]);
	assert_int_equal(iw_unused_count_of(&u, v6(1, 99).octet), PER_ADDR);
	add(20, v6(2, 1), 0);
	assert_null(evicted);
	/* Each IPv4 address has its own limit, although all share the first 96 bits. */
	add(21, v4(1), 0);
	add(22, v4(2), 0);
	assert_int_equal(iw_unused_count_of(&u, v4(1).octet), 1);
}

/* Whichever allocation fails, the association is not added, and a later addition works. */
static void without_memory_an_association_is_not_added(void **state)
{
	static const size_t allocations = 3; /* table, address, heap */

	(void)state;
	for (size_t n = 1; n <= allocations; n++) {
		mem.calls = 0;
		mem.fail_from = n;
		assert_int_equal(iw_unused_add(&u, &e[0], v4(1).octet, 0, &evicted), IW_E_NOMEM);
		assert_null(evicted);
		assert_false(iw_unused_has(&e[0]));
		assert_int_equal(iw_unused_count_of(&u, v4(1).octet), 0);
		iw_unused_fini(&u);
		assert_int_equal(mem.blocks, 0);
	}
	mem.fail_from = 0;
	add(0, v4(1), 0);
}

static void a_table_that_cannot_grow_still_finds_every_address(void **state)
{
	(void)state;
	u.cfg.max = u.cfg.per_addr = ENTRIES;
	add(0, v4(0), 0);
	for (uint8_t i = 1; i < 40; i++) {
		/* The allocations of the larger table and then of the address fail. */
		if (i == 16)
			mem.fail_from = mem.calls + 1;
		if (i == 16)
			assert_int_equal(iw_unused_add(&u, &e[i], v4(i).octet, 0, &evicted),
					 IW_E_NOMEM);
		mem.fail_from = 0;
		if (i != 16)
			add(i, v4(i), 0);
	}
	for (uint8_t i = 0; i < 40; i++)
		assert_int_equal(iw_unused_count_of(&u, v4(i).octet), i != 16);
}

/*
 * Compares order, counts, deadlines and evictions with those of a linear search, while addresses
 * are added and removed.
 */
static void any_sequence_agrees_with_a_plain_search(void **state)
{
	uint64_t since[ENTRIES], at[ENTRIES], now = 0, turn = 0;
	unsigned whose[ENTRIES];
	bool in[ENTRIES] = { false }, asked[ENTRIES] = { false };
	struct rng r = { 3 };

	(void)state;
	u.cfg.max = 30;
	for (int step = 0; step < 50000; step++) {
		size_t i = rng_below(&r, ENTRIES), n = 0, of = 0, oldest = ENTRIES,
		       oldest_of = ENTRIES;
		uint64_t nearest = IW_TIME_NEVER;

		now += rng_below(&r, 10);
		switch (rng_below(&r, 5)) {
		case 0:
			iw_unused_remove(&u, &e[i]);
			in[i] = false;
			break;
		case 1:
			if (in[i])
				iw_unused_asked(&u, &e[i]);
			asked[i] = true;
			break;
		case 2:
			if (in[i])
				iw_unused_answered(&u, &e[i]);
			asked[i] = false;
			break;
		case 3:
			if (in[i] && !asked[i]) {
				iw_unused_extend(&u, &e[i], now);
				at[i] = now + TIMEOUT;
			}
			break;
		default:
			if (in[i])
				break;
			whose[i] = (unsigned)rng_below(&r, 12);
			add(i, v4((uint8_t)whose[i]), now);
			in[i] = true;
			asked[i] = false;
			at[i] = now + TIMEOUT;
			since[i] = turn++;
			for (size_t k = 0; k < ENTRIES; k++) {
				if (!in[k])
					continue;
				n++;
				if (oldest == ENTRIES || since[k] < since[oldest])
					oldest = k;
				if (whose[k] != whose[i])
					continue;
				of++;
				if (oldest_of == ENTRIES || since[k] < since[oldest_of])
					oldest_of = k;
			}
			if (of > PER_ADDR)
				oldest = oldest_of;
			else if (n <= 30)
				oldest = ENTRIES;
			assert_ptr_equal(evicted, oldest == ENTRIES ? NULL : &e[oldest]);
			if (evicted) {
				in[oldest] = false;
				of -= whose[oldest] == whose[i];
			}
			assert_int_equal(iw_unused_count_of(&u, v4((uint8_t)whose[i]).octet), of);
		}
		for (size_t k = 0; k < ENTRIES; k++)
			if (in[k])
				nearest = IW_MIN(nearest, at[k] + (asked[k] ? TIMEOUT : 0u));
		assert_true(iw_unused_deadline(&u) == nearest);
		assert_int_equal(iw_unused_expired(&u, now) != NULL, nearest <= now);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_association_expires_after_the_time_out),
		TEST(without_a_time_out_nothing_expires),
		TEST(removing_twice_or_before_adding_does_nothing),
		TEST(requests_postpone_the_deadline_once_and_a_refusal_restores_it),
		TEST(an_extended_deadline_stays_after_a_request),
		TEST(the_oldest_of_an_address_above_its_limit_is_evicted),
		TEST(an_association_with_a_request_can_be_evicted),
		TEST(the_oldest_of_all_is_evicted_above_the_limit_of_the_port),
		TEST(above_the_memory_limit_the_oldest_large_association_ends),
		TEST(among_equal_associations_the_oldest_ends),
		TEST(large_associations_that_are_silent_do_not_exceed_the_memory_limit),
		TEST(one_address_may_hold_a_quarter_of_a_changed_limit),
		TEST(the_addresses_of_a_64_network_are_one),
		TEST(without_memory_an_association_is_not_added),
		TEST(a_table_that_cannot_grow_still_finds_every_address),
		TEST(any_sequence_agrees_with_a_plain_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
