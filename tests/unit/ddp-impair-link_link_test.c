// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One direction of a bad link: faults from the seed, delay, order, rate, queue, memory limit. */
#include "ddp-impair/link/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "counting_mem.h"
#include "rng.h"
#include "util/num.h"

enum { LEN = 1514, MANY = 20000 };

static struct counting_mem mem;

static struct iw_link *link_of(struct iw_link_cfg cfg)
{
	struct iw_link *im;

	counting_mem_init(&mem);
	if (!cfg.hold_bytes)
		cfg.hold_bytes = 1 << 30;
	assert_int_equal(iw_link_new(&im, &cfg, &mem.mem), 0);
	return im;
}

static void end_of(struct iw_link *im)
{
	iw_link_free(im);
	assert_int_equal(mem.blocks, 0);
	assert_int_equal(mem.wrong_size, 0);
}

/* Frame k begins with k, in full words. */
static void push(struct iw_link *im, uint32_t k, size_t len, uint64_t now)
{
	uint8_t frame[LEN];
	struct rng r = { k };

	rng_fill(&r, frame, sizeof(frame));
	iw_put_be32(frame, k);
	iw_link_push(im, frame, len, now);
}

/* The number of the next frame; UINT32_MAX if none is due. */
static uint32_t pop(struct iw_link *im, uint64_t now)
{
	struct iw_link_frame *f = iw_link_pop(im, now);
	uint32_t k;

	if (!f)
		return UINT32_MAX;
	k = iw_get_be32(f->data);
	iw_link_put(im, f);
	return k;
}

/* Which of MANY frames get through. */
static void run(bool got[static MANY], struct iw_link_cfg cfg)
{
	struct iw_link *im = link_of(cfg);
	uint32_t k;

	memset(got, 0, MANY * sizeof(*got));
	for (uint32_t i = 0; i < MANY; i++)
		push(im, i, 100, i);
	while ((k = pop(im, IW_TIME_NEVER - 1)) != UINT32_MAX)
		got[k] = true;
	end_of(im);
}

static void without_settings_everything_passes_at_once_and_in_order(void **state)
{
	struct iw_link *im = link_of((struct iw_link_cfg){ .seed = 1 });

	(void)state;
	assert_true(iw_link_deadline(im) == IW_TIME_NEVER);
	for (uint32_t i = 0; i < 100; i++)
		push(im, i, LEN, 5000);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(pop(im, 5200), i);
	assert_int_equal(pop(im, 5200), UINT32_MAX);
	assert_int_equal(iw_link_stat(im)->passed, 100);
	assert_int_equal(iw_link_stat(im)->passed_bytes, 100 * LEN);
	end_of(im);
}

static void a_seed_gives_each_fault_the_same_frames_whatever_else_is_set(void **state)
{
	static bool one[MANY], same[MANY], other[MANY], more[MANY];
	unsigned lost = 0, differ = 0;

	(void)state;
	run(one, (struct iw_link_cfg){ .seed = 7, .loss = 10000 });
	run(same, (struct iw_link_cfg){ .seed = 7,
					.loss = 10000,
					.duplicate = 50000,
					.corrupt = 30000,
					.late = 20000,
					.late_ns = 90,
					.jitter_ns = 50,
					.delay_ns = 10 });
	run(other, (struct iw_link_cfg){ .seed = 8, .loss = 10000 });
	run(more, (struct iw_link_cfg){ .seed = 7, .loss = 20000 });
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(one[i], same[i]);
		differ += one[i] != other[i];
		lost += !one[i];
		if (!one[i])
			assert_false(more[i]);
	}
	/* 200 are expected, 14 are one standard deviation. */
	assert_in_range(lost, 130, 270);
	assert_true(differ > lost);
}

static void the_nth_frame_of_some_length_is_lost_and_no_other(void **state)
{
	struct iw_link *im =
		link_of((struct iw_link_cfg){ .seed = 1, .drop_nth = 3, .min_len = 1000 });

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		push(im, i, i % 2 ? LEN : 60, 0);
	for (uint32_t i = 0; i < 10; i++)
		if (i != 5) /* the third long one */
			assert_int_equal(pop(im, 100), i);
	assert_int_equal(iw_link_stat(im)->lost, 1);
	end_of(im);
}

static void frames_outside_the_length_range_are_never_lost(void **state)
{
	struct iw_link *im = link_of((struct iw_link_cfg){
		.seed = 1, .loss = IW_LINK_ALL, .min_len = 101, .max_len = 200 });

	(void)state;
	push(im, 1, 100, 0);
	push(im, 2, 101, 0);
	push(im, 3, 200, 0);
	push(im, 4, 201, 0);
	assert_int_equal(pop(im, 100), 1);
	assert_int_equal(pop(im, 100), 4);
	assert_int_equal(pop(im, 100), UINT32_MAX);
	end_of(im);
}

static void delay_is_exact_and_jitter_keeps_the_order(void **state)
{
	struct iw_link_cfg cfg = { .seed = 3, .delay_ns = IW_MSEC(10) };
	struct iw_link *im = link_of(cfg);
	uint64_t earliest = IW_TIME_NEVER, latest = 0, now;

	(void)state;
	push(im, 0, LEN, 1000);
	assert_true(iw_link_deadline(im) == IW_MSEC(10) + 1000);
	assert_int_equal(pop(im, IW_MSEC(10) + 999), UINT32_MAX);
	assert_int_equal(pop(im, IW_MSEC(10) + 1000), 0);
	end_of(im);

	cfg.jitter_ns = IW_MSEC(2);
	im = link_of(cfg);
	for (uint32_t i = 0; i < 1000; i++)
		push(im, i, LEN, i * IW_MSEC(5));
	for (uint32_t i = 0; i < 1000; i++) {
		now = iw_link_deadline(im);
		assert_int_equal(pop(im, now), i);
		earliest = IW_MIN(earliest, now - i * IW_MSEC(5));
		latest = IW_MAX(latest, now - i * IW_MSEC(5));
	}
	assert_in_range(earliest, IW_MSEC(10), IW_MSEC(10) + IW_MSEC(1) / 10);
	assert_in_range(latest, IW_MSEC(12) - IW_MSEC(1) / 10, IW_MSEC(12));
	end_of(im);

	/* Jitter never lets a frame of a burst overtake an earlier one. */
	im = link_of(cfg);
	for (uint32_t i = 0; i < 1000; i++)
		push(im, i, LEN, i);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(pop(im, IW_SEC(1)), i);
	end_of(im);
}

static void only_late_frames_are_overtaken(void **state)
{
	struct iw_link *im =
		link_of((struct iw_link_cfg){ .seed = 4, .late = 100000, .late_ns = 10 });
	uint32_t k, next = 0;
	unsigned overtaken = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		push(im, i, LEN, i);
	while ((k = pop(im, IW_SEC(1))) != UINT32_MAX) {
		if (k < next)
			overtaken++;
		else
			next = k + 1;
	}
	assert_int_equal(overtaken, iw_link_stat(im)->late);
	assert_in_range(overtaken, 60, 140);
	assert_int_equal(iw_link_stat(im)->passed, 1000);
	end_of(im);
}

static void a_duplicate_equals_the_frame_and_follows_it_at_once(void **state)
{
	struct iw_link *im = link_of((struct iw_link_cfg){ .seed = 1, .duplicate = IW_LINK_ALL });
	struct iw_link_frame *a, *b;

	(void)state;
	push(im, 1, LEN, 0);
	push(im, 2, LEN, 0);
	for (uint32_t k = 1; k <= 2; k++) {
		a = iw_link_pop(im, 100);
		b = iw_link_pop(im, 100);
		assert_int_equal(iw_get_be32(a->data), k);
		assert_int_equal(a->len, b->len);
		assert_memory_equal(a->data, b->data, LEN);
		/* returned in any order */
		iw_link_put(im, b);
		iw_link_put(im, a);
	}
	assert_int_equal(iw_link_stat(im)->duplicated, 2);
	end_of(im);
}

static unsigned bits_between(const uint8_t *a, const uint8_t *b, size_t len)
{
	unsigned n = 0;

	for (size_t i = 0; i < len; i++)
		n += (unsigned)__builtin_popcount((unsigned)(a[i] ^ b[i]));
	return n;
}

static void corruption_inverts_one_bit_after_the_ethernet_header(void **state)
{
	struct iw_link *im = link_of((struct iw_link_cfg){ .seed = 1, .corrupt = IW_LINK_ALL });
	uint8_t frame[LEN], places[LEN] = { 0 };
	struct iw_link_frame *f;
	struct rng r = { 5 };

	(void)state;
	rng_fill(&r, frame, sizeof(frame));
	for (int i = 0; i < MANY; i++) {
		iw_link_push(im, frame, LEN, 0);
		f = iw_link_pop(im, IW_SEC(1));
		assert_int_equal(bits_between(f->data, frame, LEN), 1);
		assert_memory_equal(f->data, frame, 14);
		for (size_t at = 14; at < LEN; at++)
			places[at] |= f->data[at] ^ frame[at];
		iw_link_put(im, f);
	}
	/* The inverted bits are distributed over the whole frame. */
	for (size_t at = 14; at < LEN; at++)
		assert_true(places[at] != 0);
	/* A frame that has only a header is unchanged. */
	iw_link_push(im, frame, 14, IW_SEC(1));
	f = iw_link_pop(im, IW_SEC(2));
	assert_memory_equal(f->data, frame, 14);
	iw_link_put(im, f);
	assert_int_equal(iw_link_stat(im)->corrupted, MANY);
	end_of(im);
}

/* RFC 1071, of whole words */
static uint16_t internet_sum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += iw_get_be16(p + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void swapped_words_leave_the_internet_checksum_right(void **state)
{
	struct iw_link *im = link_of((struct iw_link_cfg){ .seed = 1, .swap = IW_LINK_ALL });
	uint8_t frame[LEN];
	struct iw_link_frame *f;
	struct rng r = { 6 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		rng_fill(&r, frame, sizeof(frame));
		/* Sometimes only a few words differ. */
		if (i % 2)
			memset(frame + 70, 0x11, LEN - 80);
		iw_link_push(im, frame, LEN, 0);
		f = iw_link_pop(im, IW_SEC(1));
		assert_memory_not_equal(f->data, frame, LEN);
		assert_memory_equal(f->data, frame, 62);
		assert_int_equal(internet_sum(f->data + 14, LEN - 14),
				 internet_sum(frame + 14, LEN - 14));
		iw_link_put(im, f);
	}
	assert_int_equal(iw_link_stat(im)->swapped, 1000);
	/* Nothing to swap: all words are equal, or the frame has no payload. */
	memset(frame, 0, sizeof(frame));
	iw_link_push(im, frame, LEN, 0);
	iw_link_push(im, frame, 65, 0);
	for (int i = 0; i < 2; i++) {
		f = iw_link_pop(im, IW_SEC(1));
		assert_memory_equal(f->data, frame, f->len);
		iw_link_put(im, f);
	}
	assert_int_equal(iw_link_stat(im)->swapped, 1000);
	end_of(im);
}

static void a_rate_spaces_frames_and_its_queue_is_finite(void **state)
{
	/* 1,000 octets take 80 us; 10,000 may wait. */
	struct iw_link *im = link_of((struct iw_link_cfg){
		.seed = 1, .rate_bits = 100000000, .queue_bytes = 10000, .delay_ns = IW_MSEC(1) });
	uint64_t at = 0;

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		push(im, i, 1000, 0);
	/* One frame is being transmitted, and ten are queued. */
	assert_int_equal(iw_link_stat(im)->queue_full, 9);
	for (uint32_t i = 0; i < 11; i++) {
		at = iw_link_deadline(im);
		assert_true(at == (i + 1) * 80000 + IW_MSEC(1));
		assert_int_equal(pop(im, at), i);
	}
	/* After a long idle time the rate is the same. */
	push(im, 30, 1000, IW_SEC(1));
	push(im, 31, 1000, IW_SEC(1));
	assert_true(iw_link_deadline(im) == IW_SEC(1) + 80000 + IW_MSEC(1));
	assert_int_equal(pop(im, IW_SEC(2)), 30);
	assert_true(iw_link_deadline(im) == IW_SEC(1) + 160000 + IW_MSEC(1));
	end_of(im);
}

static void held_frames_are_limited_and_drops_are_counted(void **state)
{
	struct iw_link *im =
		link_of((struct iw_link_cfg){ .seed = 1, .hold_bytes = 3 * LEN, .delay_ns = 10 });

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		push(im, i, LEN, 0);
	assert_int_equal(iw_link_stat(im)->hold_full, 2);
	assert_int_equal(pop(im, 1000), 0);
	push(im, 5, LEN, 1000);
	assert_int_equal(iw_link_stat(im)->hold_full, 2);
	end_of(im);
}

static void without_memory_frames_are_dropped_and_counted(void **state)
{
	struct iw_link_cfg cfg = { .seed = 1, .hold_bytes = 1 << 20 };
	struct iw_link *im;

	(void)state;
	for (size_t n = 1; n < 4; n++) {
		counting_mem_init(&mem);
		mem.fail_from = n;
		if (n == 1) {
			assert_int_equal(iw_link_new(&im, &cfg, &mem.mem), IW_E_NOMEM);
			continue;
		}
		assert_int_equal(iw_link_new(&im, &cfg, &mem.mem), 0);
		push(im, 0, LEN, 0);
		assert_int_equal(iw_link_stat(im)->hold_full, 1);
		assert_int_equal(pop(im, 1000), UINT32_MAX);
		end_of(im);
	}
}

static void chances_above_one_are_refused(void **state)
{
	struct iw_link *im;

	(void)state;
	counting_mem_init(&mem);
	assert_int_equal(iw_link_new(&im, &(struct iw_link_cfg){ .loss = IW_LINK_ALL + 1 },
				     &mem.mem),
			 IW_E_INVAL);
	assert_int_equal(iw_link_new(&im,
				     &(struct iw_link_cfg){ .queue_bytes = IW_LINK_QUEUE_MAX + 1 },
				     &mem.mem),
			 IW_E_INVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_settings_everything_passes_at_once_and_in_order),
		cmocka_unit_test(a_seed_gives_each_fault_the_same_frames_whatever_else_is_set),
		cmocka_unit_test(the_nth_frame_of_some_length_is_lost_and_no_other),
		cmocka_unit_test(frames_outside_the_length_range_are_never_lost),
		cmocka_unit_test(delay_is_exact_and_jitter_keeps_the_order),
		cmocka_unit_test(only_late_frames_are_overtaken),
		cmocka_unit_test(a_duplicate_equals_the_frame_and_follows_it_at_once),
		cmocka_unit_test(corruption_inverts_one_bit_after_the_ethernet_header),
		cmocka_unit_test(swapped_words_leave_the_internet_checksum_right),
		cmocka_unit_test(a_rate_spaces_frames_and_its_queue_is_finite),
		cmocka_unit_test(held_frames_are_limited_and_drops_are_counted),
		cmocka_unit_test(without_memory_frames_are_dropped_and_counted),
		cmocka_unit_test(chances_above_one_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
