// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* No order and no overlaps of TCP segments, which the sender chooses, make them costly to decode or
 * change the result. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"
#include "ddp-dump/internal.h"
#include "rng.h"

#define MOST 40 /* visited pieces for each segment, on average */

static uint8_t octets[64 * 1024];
static uint64_t segments;

static void begin(struct maker *m)
{
	struct rng r = { 1 };

	maker_init(m, NULL);
	set_up(m, IW_MPA_C, IW_MPA_C);
	segments = 0;
	for (size_t i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)rng_next(&r);
}

/* Sends len octets of the stream at a position, regardless of earlier segments. */
static void put(struct maker *m, size_t at, size_t len)
{
	segments++;
	(void)tcp(m, 0, ACK, m->seq[0] + (uint32_t)at, m->seq[1], octets + at, len);
}

static void end(struct maker *m)
{
	assert_true(m->cap->steps <= segments * MOST);
	maker_finish(m);
	assert_true(maker_fini(m));
}

/* Every second octet, without the first one. */
static void put_single_octets(struct maker *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put(m, 2 * i + 1, 1);
}

static void single_octets_in_any_order_find_their_places(void **state)
{
	enum { N = 4000 };
	static uint16_t order[N];
	struct rng r = { 2 };
	struct maker m;

	(void)state;
	begin(&m);
	for (size_t i = 0; i < N; i++)
		order[i] = (uint16_t)i;
	for (size_t i = N - 1; i > 0; i--) {
		size_t j = rng_below(&r, (uint32_t)i + 1);
		uint16_t other = order[j];

		order[j] = order[i];
		order[i] = other;
	}
	for (size_t i = 0; i < N; i++)
		put(&m, 2 * (size_t)order[i] + 1, 1);
	/* Again, and in reverse order. */
	for (size_t i = 0; i < N; i++)
		put(&m, 2 * (size_t)order[i] + 1, 1);
	for (size_t i = N; i-- > 0;)
		put(&m, 2 * i + 1, 1);
	assert_int_equal(m.cap->totals.repeated_octets, 2 * N);
	end(&m);
}

static void segments_over_thousands_of_pieces_take_as_long_as_others(void **state)
{
	struct maker m;
	struct flow *f;

	(void)state;
	begin(&m);
	/* So few that the octets between them fit in memory too. */
	put_single_octets(&m, 1500);
	f = iw_container_of(iw_list_first(&m.cap->lru[LRU_IWARP]), struct flow, link);
	assert_int_equal(f->dir[0].blocks, 1500);
	for (size_t i = 0; i < 2000; i++)
		put(&m, 1 + 3 * i % 1500, 1400);
	/* The pieces were joined, so that there is room for others. */
	assert_in_range(f->dir[0].blocks, 1, 1000);
	end(&m);
}

static size_t some(struct rng *r, uint32_t most, size_t there)
{
	size_t n = (size_t)rng_below(r, most) + 1;

	return IW_MIN(n, there);
}

/* Sends in overlapping pieces of all sizes. Repeated octets differ from their first copy, which
 * applies. */
static void overlapping_pieces_keep_the_octets_that_arrived_first(void **state)
{
	static uint8_t stream[64 * 1024], garbage[64 * 1024];
	struct rng r = { 3 };
	uint8_t ulpdu[1024];

	(void)state;
	for (int round = 0; round < 30; round++) {
		size_t len = 0, sends = 0;
		struct maker m;

		begin(&m);
		/* At most as many pieces as one direction may have. */
		while (len < (round % 2 ? 6000u : 40000u)) {
			size_t n = make_send(ulpdu, (uint32_t)++sends, 0, true, rng_below(&r, 900));

			len += make_fpdu(stream + len, len, false, true, ulpdu, n);
		}
		/* The first octet is missing; runs of few octets, with holes between them. */
		for (size_t at = 1; at < len;) {
			size_t n = some(&r, round % 2 ? 3 : 40, len - at);

			(void)tcp(&m, 0, ACK, m.seq[0] + (uint32_t)at, m.seq[1], stream + at, n);
			/* Different octets, none of them new. */
			memset(garbage, round, n);
			if (rng_below(&r, 4) == 0)
				(void)tcp(&m, 0, ACK, m.seq[0] + (uint32_t)at, m.seq[1], garbage,
					  n);
			at += n + rng_below(&r, 3);
		}
		/* Segments over all octets, in random order. */
		for (int i = 0; i < 60; i++) {
			size_t at = 1 + rng_below(&r, (uint32_t)len - 1);
			size_t n = some(&r, 3000, len - at);

			(void)tcp(&m, 0, ACK, m.seq[0] + (uint32_t)at, m.seq[1], stream + at, n);
		}
		for (size_t at = 0; at < len; at += 1400) {
			size_t n = IW_MIN((size_t)1400, len - at);

			(void)tcp(&m, 0, ACK, m.seq[0] + (uint32_t)at, m.seq[1], stream + at, n);
		}
		assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
		assert_int_equal(count_kind(&m, IW_CAP_DDP), sends);
		for (size_t i = 0; i < sends; i++)
			assert_int_equal(nth(&m, IW_CAP_DDP, i)->ev.ddp.crc, IW_CAP_CRC_GOOD);
		maker_finish(&m);
		assert_true(maker_fini(&m));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_octets_in_any_order_find_their_places),
		cmocka_unit_test(segments_over_thousands_of_pieces_take_as_long_as_others),
		cmocka_unit_test(overlapping_pieces_keep_the_octets_that_arrived_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
