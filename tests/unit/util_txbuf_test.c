// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Batches of output. */
#include "util/txbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"

static struct iw_txbuf *make(void)
{
	struct iw_txbuf *t = malloc(sizeof(*t));

	assert_non_null(t);
	memset(t, 0xee, sizeof(*t));
	iw_txbuf_init(t);
	return t;
}

static void expect_empty(const struct iw_txbuf *t)
{
	assert_int_equal(t->bytes, 0);
	assert_int_equal(t->nvec, t->first);
	assert_int_equal(t->used, 0);
	assert_false(t->eor);
	assert_true(iw_txbuf_has_room(t, IW_TXBUF_ARENA, IW_TXBUF_VECS));
}

static void adjacent_runs_of_the_arena_share_a_vec(void **state)
{
	struct iw_txbuf *t = make();
	static const char payload[] = "payload";

	(void)state;
	expect_empty(t);
	memcpy(iw_txbuf_grow(t, 4), "head", 4);
	memcpy(iw_txbuf_grow(t, 3), "er1", 3);
	assert_int_equal(t->nvec, 1);
	assert_true(iw_txbuf_refer(t, payload, 7));
	assert_int_equal(t->nvec, 2);
	assert_ptr_equal(t->vec[1].base, payload);
	memcpy(iw_txbuf_grow(t, 4), "tail", 4);
	memcpy(iw_txbuf_grow(t, 6), "header", 6);
	assert_int_equal(t->nvec, 3);
	assert_int_equal(t->vec[2].len, 10);
	assert_memory_equal(t->vec[2].base, "tailheader", 10);
	assert_int_equal(t->bytes, 4 + 3 + 7 + 4 + 6);
	assert_int_equal(t->used, 17);
	free(t);
}

static void nothing_is_appended_for_a_length_of_zero(void **state)
{
	struct iw_txbuf *t = make();

	(void)state;
	assert_non_null(iw_txbuf_grow(t, 0));
	assert_true(iw_txbuf_refer(t, t, 0));
	expect_empty(t);
	free(t);
}

static void a_full_arena_and_full_vecs_append_nothing(void **state)
{
	struct iw_txbuf *t = make();

	(void)state;
	assert_non_null(iw_txbuf_grow(t, IW_TXBUF_ARENA));
	assert_null(iw_txbuf_grow(t, 1));
	assert_int_equal(t->bytes, IW_TXBUF_ARENA);
	assert_false(iw_txbuf_has_room(t, 1, 0));
	assert_true(iw_txbuf_has_room(t, 0, IW_TXBUF_VECS - 1));
	assert_null(iw_txbuf_grow(t, SIZE_MAX));

	iw_txbuf_init(t);
	for (size_t i = 0; i < IW_TXBUF_VECS; i++)
		assert_true(iw_txbuf_refer(t, "x", 1));
	assert_false(iw_txbuf_refer(t, "x", 1));
	assert_null(iw_txbuf_grow(t, 1));
	assert_int_equal(t->bytes, IW_TXBUF_VECS);
	assert_false(iw_txbuf_has_room(t, 0, 1));
	assert_true(iw_txbuf_has_room(t, IW_TXBUF_ARENA, 0));
	free(t);
}

static void the_last_vec_still_grows_when_all_are_used(void **state)
{
	struct iw_txbuf *t = make();

	(void)state;
	for (size_t i = 0; i < IW_TXBUF_VECS - 1; i++)
		assert_true(iw_txbuf_refer(t, "x", 1));
	assert_non_null(iw_txbuf_grow(t, 1));
	assert_non_null(iw_txbuf_grow(t, 1));
	assert_int_equal(t->nvec, IW_TXBUF_VECS);
	free(t);
}

/* Each octet is sent once and in order, however many the transport takes at a time. */
static void short_writes_lose_and_repeat_nothing(void **state)
{
	static uint8_t user[5000];
	struct rng r = { 3 };

	(void)state;
	rng_fill(&r, user, sizeof(user));
	for (int round = 0; round < 200; round++) {
		struct iw_txbuf *t = make();
		uint8_t expected[60000];
		size_t len = 0, got = 0;

		for (int i = 0; i < 40; i++) {
			size_t n = rng_below(&r, 200), at = rng_below(&r, sizeof(user) - 200);

			if (rng_below(&r, 2))
				memcpy(iw_txbuf_grow(t, n), user + at, n);
			else
				assert_true(iw_txbuf_refer(t, user + at, n));
			memcpy(expected + len, user + at, n);
			len += n;
			/* The transport takes octets while the batch grows. */
			for (size_t take = rng_below(&r, 3) ? 0 : rng_below(&r, t->bytes + 1);
			     take;) {
				struct iw_vec *v = &t->vec[t->first];
				size_t part = v->len < take ? v->len : take;

				assert_true(t->first < t->nvec);
				assert_memory_equal(v->base, expected + got, part);
				got += part;
				take -= part;
				iw_txbuf_sent(t, part);
			}
			assert_int_equal(t->bytes, len - got);
		}
		t->eor = true;
		while (t->bytes) {
			struct iw_vec v = t->vec[t->first];

			assert_true(v.len > 0);
			assert_memory_equal(v.base, expected + got, v.len);
			got += v.len;
			iw_txbuf_sent(t, v.len);
		}
		assert_int_equal(got, len);
		iw_txbuf_sent(t, 0);
		expect_empty(t);
		free(t);
	}
}

static void one_write_may_use_several_vecs(void **state)
{
	struct iw_txbuf *t = make();

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_true(iw_txbuf_refer(t, "abcd", 4));
	t->eor = true;
	iw_txbuf_sent(t, 10);
	assert_int_equal(t->first, 2);
	assert_int_equal(t->bytes, 10);
	assert_memory_equal(t->vec[2].base, "cd", 2);
	assert_true(t->eor);
	iw_txbuf_sent(t, 10);
	expect_empty(t);
	free(t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(adjacent_runs_of_the_arena_share_a_vec),
		cmocka_unit_test(nothing_is_appended_for_a_length_of_zero),
		cmocka_unit_test(a_full_arena_and_full_vecs_append_nothing),
		cmocka_unit_test(the_last_vec_still_grows_when_all_are_used),
		cmocka_unit_test(short_writes_lose_and_repeat_nothing),
		cmocka_unit_test(one_write_may_use_several_vecs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
