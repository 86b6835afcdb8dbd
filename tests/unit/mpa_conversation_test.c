// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whole conversations between two ends: any split of the streams gives the same units. */
#include "mpa/mpa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mpa_end.h"
#include "rng.h"

struct variant {
	const char *name;
	uint8_t rev;
	bool p2p, crc;
	bool markers_i, markers_r;
	uint32_t large;
};

static const struct variant variants[] = {
	{ "rev 1, crc", 1, false, true, false, false, 0 },
	{ "rev 1, no crc", 1, false, false, false, false, 0 },
	{ "rev 2, crc, markers", 2, false, true, true, true, 0 },
	{ "rev 2, no crc, markers", 2, false, false, true, true, 0 },
	{ "rev 2, crc, markers one way", 2, true, true, true, false, 0 },
	{ "rev 2, no crc, markers the other way, long FPDUs", 2, true, false, false, true, 64768 },
	{ "rdmac", 0, false, true, true, true, 0 },
};

static struct iw_mpa_cfg cfg_of(const struct variant *v, bool initiator)
{
	static const uint8_t pd[] = "private data of the initiator";
	struct iw_mpa_cfg cfg = mpa_cfg(initiator, v->rev);

	cfg.offer.peer_to_peer = v->p2p && initiator;
	cfg.crc = v->crc ? IW_CRC_WANTED : IW_CRC_OFF;
	cfg.markers = initiator ? v->markers_i : v->markers_r;
	cfg.max_ulpdu = v->large;
	cfg.offer.pd = pd;
	cfg.offer.pd_len = sizeof(pd);
	return cfg;
}

/* A few FPDUs. Some end where a marker is due, some begin or end a pad. */
static void send_some(struct mpa_end *e, struct octets *stream, uint64_t seed)
{
	static const size_t lengths[] = { 14, 18, 19, 20, 21, 506, 502, 900, 46 };
	struct rng r = { seed };
	uint8_t ulpdu[900];

	for (size_t i = 0; i < IW_ARRAY_LEN(lengths); i++) {
		struct iw_vec payload = { ulpdu + 14, lengths[i] - 14 };

		rng_fill(&r, ulpdu, lengths[i]);
		assert_true(iw_mpa_wrap(e->m, e->t, ulpdu, 14, &payload, 1, true) > 0);
		mpa_end_drain(e, stream);
	}
}

/* The streams of both directions, and the units received from each at once. */
struct talk {
	struct octets ab, ba, log_a, log_b;
};

static void talk(const struct variant *v, struct talk *t)
{
	struct mpa_end a, b;

	*t = (struct talk){ 0 };
	mpa_end_open(&a, cfg_of(v, true));
	mpa_end_open(&b, cfg_of(v, false));
	iw_mpa_set_emss(a.m, 1448);
	iw_mpa_set_emss(b.m, 1448);
	mpa_end_drain(&a, &t->ab);
	assert_int_equal(mpa_end_feed(&b, t->ab.p, t->ab.len, SIZE_MAX), t->ab.len);
	mpa_end_drain(&b, &t->ba);
	assert_int_equal(mpa_end_feed(&a, t->ba.p, t->ba.len, SIZE_MAX), t->ba.len);
	assert_true(iw_mpa_may_send(a.m));
	assert_false(iw_mpa_may_send(b.m));

	size_t start = t->ab.len;

	send_some(&a, &t->ab, 1);
	assert_int_equal(mpa_end_feed(&b, t->ab.p + start, t->ab.len - start, SIZE_MAX),
			 t->ab.len - start);
	assert_true(iw_mpa_may_send(b.m));
	start = t->ba.len;
	send_some(&b, &t->ba, 2);
	assert_int_equal(mpa_end_feed(&a, t->ba.p + start, t->ba.len - start, SIZE_MAX),
			 t->ba.len - start);
	assert_int_equal(a.err, 0);
	assert_int_equal(b.err, 0);
	assert_int_equal(a.ulpdus, 9);
	assert_int_equal(b.ulpdus, 9);
	octets_add(&t->log_a, a.log.p, a.log.len);
	octets_add(&t->log_b, b.log.p, b.log.len);
	mpa_end_close(&a);
	mpa_end_close(&b);
}

static void talk_free(struct talk *t)
{
	octets_free(&t->ab);
	octets_free(&t->ba);
	octets_free(&t->log_a);
	octets_free(&t->log_b);
}

static void expect_log(const struct mpa_end *e, const struct octets *log)
{
	assert_int_equal(e->log.len, log->len);
	assert_memory_equal(e->log.p, log->p, log->len);
}

/*
 * MPA-26, MPA-27, MPA-28, MPA-29, MPA-40, MPA-43: each stream in two pieces, split at every octet.
 */
static void two_pieces_give_the_same_units_wherever_the_cut(void **state)
{
	(void)state;
	for (size_t v = 0; v < IW_ARRAY_LEN(variants); v++) {
		struct talk t;

		talk(&variants[v], &t);
		for (int initiator = 0; initiator <= 1; initiator++) {
			const struct octets *in = initiator ? &t.ba : &t.ab;

			for (size_t split = 0; split <= in->len; split++) {
				struct mpa_end e;

				mpa_end_open(&e, cfg_of(&variants[v], initiator));
				assert_int_equal(mpa_end_feed_split(&e, in->p, in->len, split),
						 in->len);
				expect_log(&e, initiator ? &t.log_a : &t.log_b);
				mpa_end_close(&e);
			}
		}
		talk_free(&t);
	}
}

/* MPA-26, MPA-28: pieces of any fixed size from one octet, scratch of any size from one octet. */
static void pieces_of_any_size_give_the_same_units(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 5, 7, 19, 20, 21, 64, 511, 512, 513, 1000 };

	(void)state;
	for (size_t v = 0; v < IW_ARRAY_LEN(variants); v++) {
		struct talk t;

		talk(&variants[v], &t);
		for (int initiator = 0; initiator <= 1; initiator++) {
			const struct octets *in = initiator ? &t.ba : &t.ab;

			for (size_t i = 0; i < 2 * IW_ARRAY_LEN(sizes); i++) {
				size_t size = sizes[i / 2];
				struct mpa_end e;

				mpa_end_open(&e, cfg_of(&variants[v], initiator));
				if (i & 1)
					e.scratch_len = size;
				assert_int_equal(mpa_end_feed(&e, in->p, in->len,
							      i & 1 ? SIZE_MAX : size),
						 in->len);
				expect_log(&e, initiator ? &t.log_a : &t.log_b);
				assert_int_equal(e.spill.out, 0);
				mpa_end_close(&e);
			}
		}
		talk_free(&t);
	}
}

/*
 * MPA-22, MPA-50, MPA-52: a wrong octet gives the same fault with every piece size, and no unit
 * that the valid stream does not have.
 */
static void a_wrong_octet_gives_the_same_fault_whatever_the_pieces(void **state)
{
	(void)state;
	for (size_t v = 0; v < IW_ARRAY_LEN(variants); v++) {
		struct rng r = { v + 1 };
		struct talk t;

		talk(&variants[v], &t);
		for (int i = 0; i < 150; i++) {
			bool initiator = i & 1;
			struct octets *in = initiator ? &t.ba : &t.ab;
			size_t at = rng_below(&r, in->len);
			uint8_t was = in->p[at];
			struct mpa_end whole, single, split;

			in->p[at] ^= (uint8_t)(1 + rng_below(&r, 255));
			mpa_end_open(&whole, cfg_of(&variants[v], initiator));
			mpa_end_open(&single, cfg_of(&variants[v], initiator));
			mpa_end_open(&split, cfg_of(&variants[v], initiator));
			mpa_end_feed(&whole, in->p, in->len, SIZE_MAX);
			mpa_end_feed(&single, in->p, in->len, 1);
			mpa_end_feed_split(&split, in->p, in->len, rng_below(&r, in->len + 1));
			expect_log(&single, &whole.log);
			expect_log(&split, &whole.log);
			assert_int_equal(single.err, whole.err);
			assert_int_equal(iw_mpa_state(single.m), iw_mpa_state(whole.m));
			/*
			 * In full operation CRC detects every wrong octet, so an undetected one
			 * belongs to start-up.
			 */
			if (variants[v].crc && at >= 20 + 4 + 30 + IW_MPA_BLOCK_LEN)
				assert_true(whole.err != 0 || whole.ulpdus < 9);
			mpa_end_close(&whole);
			mpa_end_close(&single);
			mpa_end_close(&split);
			in->p[at] = was;
		}
		talk_free(&t);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_pieces_give_the_same_units_wherever_the_cut),
		cmocka_unit_test(pieces_of_any_size_give_the_same_units),
		cmocka_unit_test(a_wrong_octet_gives_the_same_fault_whatever_the_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
