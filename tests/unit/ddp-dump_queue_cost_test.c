// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* No order of TSNs and DDP-SSNs, which the peer chooses, makes SCTP costly to decode. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"
#include "ddp-dump/internal.h"
#include "rng.h"

#define MOST 40 /* queue elements visited for each chunk, on average */

enum { N = 4000, B = 2, E = 1, UNORDERED = 4 };

static uint16_t order[N];
static uint64_t chunks;

static void shuffle(uint64_t seed)
{
	struct rng r = { seed };

	for (size_t i = 0; i < N; i++)
		order[i] = (uint16_t)i;
	for (size_t i = N - 1; i > 0; i--) {
		size_t j = rng_below(&r, (uint32_t)i + 1);
		uint16_t other = order[j];

		order[j] = order[i];
		order[i] = other;
	}
}

static void begin(struct maker *m)
{
	maker_init(m, NULL);
	sctp_set_up(m);
	say_control(m, 0, 0, 0, 1, NULL, 0);
	say_control(m, 1, 0, 0, 2, NULL, 0);
	chunks = 0;
}

static struct sctp_dir *sctp_dir(const struct maker *m)
{
	struct flow *f = iw_container_of(iw_list_first(&m->cap->lru[LRU_IWARP]), struct flow, link);

	return &f->assoc->dir[0];
}

static void end(struct maker *m)
{
	assert_true(m->cap->steps <= chunks * MOST);
	maker_finish(m);
	assert_true(m->cap->steps <= chunks * MOST);
	assert_true(maker_fini(m));
}

/* Sends a chunk of end 0, ahead of the next TSN by a distance. Without data it is of another
 * protocol. */
static void put(struct maker *m, uint32_t ahead, uint8_t flags, const void *data, size_t len)
{
	uint8_t chunk[256];

	chunks++;
	say_chunks(m, 0, chunk,
		   make_data(chunk, UNORDERED | flags, m->tsn[0] + ahead, 0, data ? 16 : 99,
			     data ? data : "", len));
}

static void single_fragments_in_any_order_find_their_places(void **state)
{
	for (int reverse = 0; reverse < 2; reverse++) {
		struct maker m;

		(void)state;
		begin(&m);
		shuffle(1);
		for (size_t i = 0; i < N; i++)
			put(&m, 2 * (reverse ? (uint32_t)(N - i) : order[i]) + 1, 0, "x", 1);
		assert_int_equal(sctp_dir(&m)->blocks, N);
		end(&m);
	}
}

static void put_part(struct maker *m, const uint8_t *message, uint32_t i)
{
	uint8_t flags = (uint8_t)((i == 0 ? B : 0) | (i == N - 1 ? E : 0));

	put(m, i, flags, message + 5 * (size_t)i, 5);
}

static void message_of_thousands_of_fragments_is_put_together(void **state)
{
	static uint8_t message[5 * N];

	(void)state;
	iw_put_be16(message, 1);
	(void)make_send(message + 2, 1, 0, true, 0);
	for (int in_order = 0; in_order < 2; in_order++) {
		struct maker m;

		begin(&m);
		shuffle(2);
		for (uint32_t i = 0; i < N; i++)
			put_part(&m, message, in_order ? i : order[i]);
		assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
		assert_int_equal(nth(&m, IW_CAP_DDP, 0)->ev.ddp.chunk.fragments, N);
		assert_int_equal(nth(&m, IW_CAP_DDP, 0)->ev.ddp.hdr.opcode, IW_OP_SEND);
		assert_int_equal(sctp_dir(&m)->blocks, 0);
		end(&m);
	}
}

/* Each chunk moves the window by one TSN, and the kept fragments are ahead of it. */
static void handling_a_loss_does_not_visit_fragments_ahead(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	for (uint32_t i = 0; i < N; i++)
		put(&m, 8000 + 2 * i, B, "x", 1);
	for (uint32_t i = 0; i < 2 * N - 1; i++)
		put(&m, TSN_WINDOW + i, B | E, NULL, 0);
	assert_int_equal(sctp_dir(&m)->blocks, N);
	assert_int_equal(sctp_dir(&m)->losses, 2 * N - 1);
	/* The same number again: half of them lose the TSN after them. */
	for (uint32_t i = 2 * N - 1; i < 3 * N; i++)
		put(&m, TSN_WINDOW + i, B | E, NULL, 0);
	assert_in_range(sctp_dir(&m)->blocks, 1, N - 1);
	end(&m);
}

/* Each chunk makes the whole window lost. */
static void losses_of_whole_windows_use_a_word_for_64_of_them(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	for (uint32_t i = 2; i < 200; i++)
		put(&m, i * TSN_WINDOW, B | E, NULL, 0);
	assert_int_equal(sctp_dir(&m)->losses, 198);
	assert_in_range(m.cap->steps, 1, chunks * (TSN_WINDOW / 64 + MOST));
	maker_finish(&m);
	assert_true(maker_fini(&m));
}

static void put_send(struct maker *m, uint32_t ahead, uint16_t ssn)
{
	uint8_t p[64];

	iw_put_be16(p, ssn);
	put(m, ahead, B | E, p, 2 + make_send(p + 2, ssn, 0, true, 5));
}

static void early_messages_in_any_order_find_their_places(void **state)
{
	for (int reverse = 0; reverse < 2; reverse++) {
		struct maker m;

		(void)state;
		begin(&m);
		shuffle(3);
		/* DDP-SSN 1 arrives last. */
		for (uint32_t i = 0; i < N; i++)
			put_send(&m, i, (uint16_t)(2 + (reverse ? N - 1 - i : order[i])));
		assert_int_equal(sctp_dir(&m)->blocks, N);
		put_send(&m, N, 1);
		assert_int_equal(sctp_dir(&m)->blocks, 0);
		assert_int_equal(count_kind(&m, IW_CAP_DDP), N + 1);
		assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
		end(&m);
	}
}

/* Messages of all sizes, in fragments that arrive in random order, some of them twice. */
static void fragments_of_many_messages_are_put_together(void **state)
{
	static struct {
		uint16_t message;
		uint8_t flags;
	} part[N];
	struct rng r = { 4 };

	(void)state;
	for (uint64_t round = 0; round < 10; round++) {
		uint16_t messages = 0;
		uint64_t fragments = 0;
		struct maker m;

		begin(&m);
		for (size_t i = 0; i < N; messages++) {
			size_t n = rng_below(&r, 30) + 1;

			n = IW_MIN(n, N - i);

			fragments += n;
			for (size_t k = 0; k < n; k++, i++) {
				part[i].message = (uint16_t)(messages + 1);
				part[i].flags = (uint8_t)((k == 0 ? B : 0) | (k == n - 1 ? E : 0));
			}
		}
		shuffle(5 + round);
		for (size_t i = 0; i < N; i++) {
			uint32_t at = order[i];
			uint8_t p[64] = { 0 };
			size_t n = 5;

			if (part[at].flags & B) {
				iw_put_be16(p, part[at].message);
				n = 2 + make_send(p + 2, part[at].message, 0, true, 3);
			}
			put(&m, at, part[at].flags, p, n);
			if (rng_below(&r, 8) == 0)
				put(&m, at, part[at].flags, p, n);
		}
		assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
		assert_int_equal(count_kind(&m, IW_CAP_DDP), messages);
		for (size_t i = 0; i < messages; i++)
			fragments -= nth(&m, IW_CAP_DDP, i)->ev.ddp.chunk.fragments;
		assert_int_equal(fragments, 0);
		assert_int_equal(sctp_dir(&m)->blocks, 0);
		end(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_fragments_in_any_order_find_their_places),
		cmocka_unit_test(message_of_thousands_of_fragments_is_put_together),
		cmocka_unit_test(handling_a_loss_does_not_visit_fragments_ahead),
		cmocka_unit_test(losses_of_whole_windows_use_a_word_for_64_of_them),
		cmocka_unit_test(early_messages_in_any_order_find_their_places),
		cmocka_unit_test(fragments_of_many_messages_are_put_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
