// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The queue of a stream: order, times and pieces. */
#include "ddp-impair/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "util/num.h"

static struct iw_queue q;
static enum iw_queue_end ended;

static int begin(void **state)
{
	(void)state;
	return iw_queue_init(&q, 1000);
}

static int end(void **state)
{
	(void)state;
	iw_queue_fini(&q);
	return 0;
}

/* Takes what may leave, copied to out; at most `most` octets. */
static size_t leave(uint64_t now, uint8_t *out, size_t most)
{
	struct iovec iov[2];
	size_t n, len;
	int parts;

	n = IW_MIN(iw_queue_peek(&q, now, iov, &parts, &ended), most);
	len = n;
	for (int i = 0; i < parts && len; i++) {
		size_t part = IW_MIN(len, iov[i].iov_len);

		memcpy(out, iov[i].iov_base, part);
		out += part;
		len -= part;
	}
	iw_queue_take(&q, n, now);
	return n;
}

static void octets_leave_in_order(void **state)
{
	uint8_t in[400], out[1000], put = 0, got = 0;
	struct rng r = { 5 };

	(void)state;
	for (size_t i = 0; i < 3000; i++) {
		size_t n = rng_below(&r, sizeof(in)), left;

		if (iw_queue_has_room(&q, n)) {
			for (size_t k = 0; k < n; k++)
				in[k] = put++;
			if (rng_below(&r, 3) == 0)
				iw_queue_part(&q);
			iw_queue_put(&q, in, n, 0, 0);
		}
		left = leave(i, out, rng_below(&r, 500));
		for (size_t k = 0; k < left; k++)
			assert_int_equal(out[k], got++);
	}
	while (leave(5000, out, 1000))
		;
	assert_int_equal(q.len, 0);
	assert_int_equal(q.pieces, 0);
}

static void a_piece_waits_for_its_time(void **state)
{
	uint8_t out[100];

	(void)state;
	iw_queue_put(&q, "abc", 3, 0, 0);
	iw_queue_put(&q, "def", 3, 50, 0);
	iw_queue_put(&q, "ghi", 3, 0, 0);
	assert_int_equal(iw_queue_due(&q), 0);
	assert_int_equal(leave(10, out, 100), 3);
	assert_int_equal(iw_queue_due(&q), 50);
	assert_int_equal(leave(49, out, 100), 0);
	assert_int_equal(leave(50, out, 100), 6);
	assert_memory_equal(out, "defghi", 6);
	assert_int_equal(iw_queue_due(&q), IW_TIME_NEVER);
}

static void a_gap_begins_when_the_piece_before_has_left(void **state)
{
	uint8_t out[100];

	(void)state;
	iw_queue_put(&q, "ab", 2, 0, 0);
	iw_queue_part(&q);
	iw_queue_put(&q, "cdef", 4, 0, 20);
	assert_int_equal(leave(7, out, 1), 1);
	assert_int_equal(leave(100, out, 100), 1);
	assert_int_equal(iw_queue_due(&q), 120);
	assert_int_equal(leave(119, out, 100), 0);
	/* The rest of a piece that has begun to leave does not wait again. */
	assert_int_equal(leave(120, out, 2), 2);
	assert_int_equal(leave(121, out, 100), 2);
}

static void pieces_apart_are_not_joined(void **state)
{
	uint8_t out[100];

	(void)state;
	iw_queue_put(&q, "ab", 2, 0, 0);
	iw_queue_put(&q, "cd", 2, 0, 0);
	iw_queue_part(&q);
	iw_queue_put(&q, "ef", 2, 0, 0);
	assert_int_equal(leave(1, out, 100), 4);
	assert_int_equal(leave(1, out, 100), 2);
}

static void the_end_follows_all_octets(void **state)
{
	uint8_t out[100];

	(void)state;
	iw_queue_put(&q, "ab", 2, 10, 0);
	iw_queue_end(&q, IW_QUEUE_RESET, 0);
	assert_int_equal(leave(9, out, 100), 0);
	assert_int_equal(ended, IW_QUEUE_OPEN);
	assert_int_equal(leave(10, out, 100), 2);
	assert_int_equal(leave(10, out, 100), 0);
	assert_int_equal(ended, IW_QUEUE_RESET);
	iw_queue_clear(&q);
	assert_int_equal(iw_queue_due(&q), IW_TIME_NEVER);
}

static void a_held_piece_can_be_released(void **state)
{
	uint8_t out[100];

	(void)state;
	iw_queue_put(&q, "ab", 2, IW_TIME_NEVER, 0);
	assert_int_equal(iw_queue_due(&q), IW_TIME_NEVER);
	iw_queue_release(&q, 5);
	assert_int_equal(leave(5, out, 100), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(octets_leave_in_order),
		TEST(a_piece_waits_for_its_time),
		TEST(a_gap_begins_when_the_piece_before_has_left),
		TEST(pieces_apart_are_not_joined),
		TEST(the_end_follows_all_octets),
		TEST(a_held_piece_can_be_released),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
