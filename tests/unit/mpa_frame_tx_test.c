// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ULPDUs in, FPDUs out: lib/mpa/frame_tx.c. */
#include "mpa/mpa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mpa/internal.h"
#include "mpa_end.h"
#include "mpa_ref.h"
#include "rng.h"
#include "vectors/mpa.h"

/*
 * Wraps one ULPDU: its first hdr_len octets as the header, the rest in pieces. Returns the result
 * of iw_mpa_wrap().
 */
static size_t wrap_in(struct mpa_end *e, const uint8_t *ulpdu, size_t len, size_t hdr_len,
		      size_t pieces, bool copy)
{
	struct iw_vec payload[IW_MPA_PAYLOAD_VECS];
	size_t left = len - hdr_len, at = hdr_len;

	for (size_t i = 0; i < pieces; i++) {
		size_t n = i + 1 == pieces ? left : left / 2;

		payload[i] =
			(struct iw_vec){ .base = (uint8_t *)(uintptr_t)(ulpdu + at), .len = n };
		at += n;
		left -= n;
	}
	return iw_mpa_wrap(e->m, e->t, ulpdu, hdr_len, payload, pieces, copy);
}

static size_t wrap(struct mpa_end *e, const uint8_t *ulpdu, size_t len)
{
	return wrap_in(e, ulpdu, len, 14, len > 14, false);
}

static void expect_sent(struct mpa_end *e, const void *octets, size_t len)
{
	struct octets out = { 0 };

	mpa_end_drain(e, &out);
	assert_int_equal(out.len, len);
	assert_memory_equal(out.p, octets, len);
	octets_free(&out);
}

static uint8_t *random_ulpdu(size_t len, uint64_t seed)
{
	struct rng r = { seed };
	uint8_t *p = malloc(len);

	assert_non_null(p);
	rng_fill(&r, p, len);
	return p;
}

/* --- vectors ---------------------------------------------------------------------------------- */

/* MPA-01, MPA-06, MPA-07, MPA-21 */
static void vectors_are_what_is_sent(void **state)
{
	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(fpdu_vectors); v++) {
		const struct vector *x = &fpdu_vectors[v];

		for (int copy = 0; copy <= 1; copy++) {
			size_t ulpdu = iw_get_be16(x->octets);
			struct mpa_end e;

			ref_open_full(&e, true, true, false, 0);
			assert_int_equal(wrap_in(&e, x->octets + 2, ulpdu, 14, ulpdu > 14, copy),
					 x->len);
			expect_sent(&e, x->octets, x->len);
			mpa_end_close(&e);
		}
	}
}

/* MPA-09..13, MPA-15, MPA-45, MPA-21: figures 5 and 6 */
static void figures_5_and_6_are_what_is_sent(void **state)
{
	uint8_t *first = random_ulpdu(482, 1), second[42];
	struct octets out = { 0 };
	struct mpa_end e;

	(void)state;
	ref_open_full(&e, true, true, true, 0);
	assert_int_equal(wrap(&e, figure5 + 6, 42), sizeof(figure5));
	expect_sent(&e, figure5, sizeof(figure5));
	mpa_end_close(&e);

	memcpy(second, figure6 + 2, 18);
	memcpy(second + 18, figure6 + 24, 24);
	ref_open_full(&e, true, true, true, 0);
	assert_int_equal(wrap(&e, first, 482), FIGURE6_POS);
	mpa_end_drain(&e, &out);
	assert_int_equal(wrap(&e, second, 42), sizeof(figure6));
	expect_sent(&e, figure6, sizeof(figure6));
	octets_free(&out);
	free(first);
	mpa_end_close(&e);
}

/* MPA-10..13, MPA-15, MPA-21 */
static void marked_vectors_are_what_is_sent(void **state)
{
	static const uint8_t send[18] = { 0x41, 0x43, [13] = 1 };

	(void)state;
	for (size_t v = 0; v < IW_ARRAY_LEN(marked_vectors); v++) {
		uint8_t *ulpdu = calloc(1, marked_vectors[v].ulpdu);
		struct octets out = { 0 };
		struct mpa_end e;

		assert_non_null(ulpdu);
		memcpy(ulpdu, send, sizeof(send));
		for (size_t i = 0; i < marked_vectors[v].payload; i++)
			ulpdu[18 + i] = (uint8_t)i;
		ref_open_full(&e, true, true, true, 0);
		assert_int_equal(wrap(&e, ulpdu, marked_vectors[v].ulpdu), marked_vectors[v].total);
		mpa_end_drain(&e, &out);
		assert_int_equal(out.len, marked_vectors[v].total);
		for (size_t k = 0; k < 3; k++)
			if (k == 0 || marked_vectors[v].marker[k].pos)
				assert_memory_equal(out.p + marked_vectors[v].marker[k].pos,
						    marked_vectors[v].marker[k].octets, 4);
		assert_memory_equal(out.p + out.len - 4, marked_vectors[v].crc, 4);
		if (v == 0) {
			/* The marker due after the CRC belongs to the next FPDU. */
			assert_int_equal(wrap(&e, fpdu_behind_512 + 6, 18),
					 sizeof(fpdu_behind_512));
			expect_sent(&e, fpdu_behind_512, sizeof(fpdu_behind_512));
		}
		octets_free(&out);
		free(ulpdu);
		mpa_end_close(&e);
	}
}

/* --- against the reference -------------------------------------------------------------------- */

/* MPA-01, MPA-06, MPA-07, MPA-10..13, MPA-15, MPA-19: any length in any pieces, copied or not. */
static void framed_stream_equals_the_reference(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct rng r = { seed };
		bool markers = seed & 1, crc = seed & 2;
		struct octets expected = { 0 }, out = { 0 };
		uint8_t *ulpdu = random_ulpdu(20000, seed);
		struct mpa_end e;

		ref_open_full(&e, true, crc, markers, 64768);
		for (int i = 0; i < 12; i++) {
			size_t len = 14 + rng_below(&r, rng_below(&r, 4) ? 1500 : 15000);
			size_t hdr = 14 + rng_below(&r, IW_MIN(len - 14 + 1, (size_t)50));
			size_t pieces = rng_below(&r, IW_MPA_PAYLOAD_VECS + 1);

			if (pieces == 0)
				len = hdr;
			assert_int_equal(
				wrap_in(&e, ulpdu + i, len, hdr, pieces, rng_below(&r, 2)),
				markers ? iw_wire_mpa_fpdu_len_marked((uint32_t)expected.len, len)
					: iw_mpa_fpdu_len(len));
			ref_fpdu(&expected, expected.len, markers, crc, ulpdu + i, len);
			assert_int_equal(e.m->tx.pos, expected.len);
			if (rng_below(&r, 3) == 0)
				mpa_end_drain(&e, &out);
		}
		mpa_end_drain(&e, &out);
		assert_int_equal(out.len, expected.len);
		assert_memory_equal(out.p, expected.p, expected.len);
		octets_free(&out);
		octets_free(&expected);
		free(ulpdu);
		mpa_end_close(&e);
	}
}

/* MPA-02, MPA-03, MPA-12: the longest ULPDU, whose last marker has the largest FPDUPTR. */
static void the_longest_ulpdu_is_sent(void **state)
{
	uint8_t *ulpdu = random_ulpdu(IW_MPA_ULPDU_MAX, 9);

	(void)state;
	for (int markers = 0; markers <= 1; markers++) {
		for (int copy = 0; copy <= 1; copy++) {
			struct octets expected = { 0 };
			struct mpa_end e;

			ref_fpdu(&expected, 0, markers, true, ulpdu, IW_MPA_ULPDU_MAX);
			ref_open_full(&e, true, true, markers, 64768);
			assert_int_equal(wrap_in(&e, ulpdu, IW_MPA_ULPDU_MAX, 14, 3, copy),
					 expected.len);
			expect_sent(&e, expected.p, expected.len);
			octets_free(&expected);
			mpa_end_close(&e);
		}
	}
	free(ulpdu);
}

/* MPA-14, MPA-11 */
static void markers_continue_across_the_wrap_of_the_sequence_space(void **state)
{
	const uint64_t wrap_at = (uint64_t)1 << 32;
	uint8_t *ulpdu = random_ulpdu(1400, 2);

	(void)state;
	for (uint64_t before = 0; before <= 1500; before += 4) {
		struct octets expected = { 0 };
		uint64_t pos = wrap_at - before;
		struct mpa_end e;

		ref_open_full(&e, true, true, true, 64768);
		e.m->tx.pos = pos;
		for (size_t i = 0; i < 3; i++) {
			ref_fpdu(&expected, pos + expected.len, true, true, ulpdu, 700 + 300 * i);
			assert_true(wrap(&e, ulpdu, 700 + 300 * i) > 0);
		}
		expect_sent(&e, expected.p, expected.len);
		octets_free(&expected);
		mpa_end_close(&e);
	}
	free(ulpdu);
}

/* MPA-08, MPA-20: the field is there without CRC, too. */
static void without_crc_the_field_is_sent_as_zero(void **state)
{
	uint8_t fpdu[sizeof(fpdu_send_hello)];
	struct mpa_end e;

	(void)state;
	memcpy(fpdu, fpdu_send_hello, sizeof(fpdu));
	memset(fpdu + sizeof(fpdu) - 4, 0, 4);
	ref_open_full(&e, true, false, false, 0);
	assert_int_equal(wrap(&e, fpdu + 2, 23), sizeof(fpdu));
	expect_sent(&e, fpdu, sizeof(fpdu));
	mpa_end_close(&e);
}

/* MPA-55 */
static void an_rdmac_end_sends_markers_and_crc(void **state)
{
	static const uint8_t reply[] = { KEY_REP, 0xc0, 0, 0, 0 };
	struct octets sink = { 0 };
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, mpa_cfg(true, 0));
	mpa_end_feed(&e, reply, sizeof(reply), SIZE_MAX);
	mpa_end_drain(&e, &sink);
	assert_int_equal(wrap(&e, figure5_rdmac + 6, 42), sizeof(figure5_rdmac));
	expect_sent(&e, figure5_rdmac, sizeof(figure5_rdmac));
	octets_free(&sink);
	mpa_end_close(&e);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* MPA-22: a copied payload is sent as it was summed, even if its owner changes it. */
static void copied_payload_may_change_after_the_copy(void **state)
{
	static const size_t lengths[] = { 100, 1442, 4096, 4200, 30000 };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(lengths); i++) {
		uint8_t *ulpdu = random_ulpdu(lengths[i], i);
		struct octets expected = { 0 };
		struct mpa_end e;

		ref_fpdu(&expected, 0, false, true, ulpdu, lengths[i]);
		ref_open_full(&e, true, true, false, 64768);
		assert_int_equal(wrap_in(&e, ulpdu, lengths[i], 18, 2, true), expected.len);
		assert_int_equal(e.t->nvec, 1);
		memset(ulpdu, 0xff, lengths[i]);
		expect_sent(&e, expected.p, expected.len);
		octets_free(&expected);
		free(ulpdu);
		mpa_end_close(&e);
	}
}

/* Long payload is not copied. The trailer of one FPDU and the header of the next are one run. */
static void long_payload_is_referred_to_where_it_is(void **state)
{
	uint8_t *ulpdu = random_ulpdu(1442, 3);
	struct mpa_end e;

	(void)state;
	ref_open_full(&e, true, true, false, 64768);
	for (size_t i = 1; i <= 10; i++) {
		assert_int_equal(wrap(&e, ulpdu, 1442), 1448);
		assert_int_equal(e.t->nvec, 2 * i + 1);
		assert_ptr_equal(e.t->vec[2 * i - 1].base, ulpdu + 14);
		assert_int_equal(e.t->vec[2 * i - 1].len, 1428);
		assert_int_equal(e.t->used, i * 20);
	}
	free(ulpdu);
	mpa_end_close(&e);
}

/* A full batch takes nothing, and a refused FPDU leaves it unchanged. */
static void a_full_batch_appends_nothing(void **state)
{
	uint8_t *ulpdu = random_ulpdu(60000, 4);

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		size_t len = kind == 2 ? 20 : 60000, bytes, before;
		struct mpa_end e;

		ref_open_full(&e, true, true, false, 64768);
		/* full by octets referred to, by the arena, by octets of short FPDUs */
		while (wrap_in(&e, ulpdu, len, 14, 1, kind == 1) > 0)
			;
		bytes = e.t->bytes;
		before = e.m->tx.pos;
		assert_int_equal(bytes, before);
		assert_true(bytes >= 4 * 60000);
		if (kind != 1) {
			assert_true(bytes >= IW_TXBUF_BATCH);
			assert_true(bytes - iw_mpa_fpdu_len(len) < IW_TXBUF_BATCH);
		}
		assert_int_equal(iw_mpa_room(e.m, e.t), 0);
		assert_int_equal(wrap_in(&e, ulpdu, len, 14, 1, kind == 1), 0);
		assert_int_equal(e.t->bytes, bytes);
		assert_int_equal(e.m->tx.pos, before);
		iw_txbuf_sent(e.t, e.t->bytes);
		assert_int_equal(iw_mpa_room(e.m, e.t), 64768);
		assert_true(wrap_in(&e, ulpdu, len, 14, 1, kind == 1) > 0);
		mpa_end_close(&e);
	}
	free(ulpdu);
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* MPA-23, MPA-24, MPA-02, MPA-03 */
static void mulpdu_follows_the_emss(void **state)
{
	static const struct {
		size_t emss, marked, plain;
	} rows[] = {
		{ 0, 128, 128 },         { 128, 128, 128 },       { 536, 522, 530 },
		{ 1220, 1202, 1214 },    { 1440, 1422, 1434 },    { 1448, 1430, 1442 },
		{ 1460, 1442, 1454 },    { 8948, 8870, 8942 },    { 8960, 8882, 8954 },
		{ 16384, 16250, 16378 }, { 65483, 64768, 64768 }, { SIZE_MAX, 64768, 64768 },
	};

	(void)state;
	for (int markers = 0; markers <= 1; markers++) {
		struct mpa_end e;

		ref_open_full(&e, true, true, markers, 0);
		/* The default is 536. MPA-23: each change applies to the next segment. */
		assert_int_equal(iw_mpa_mulpdu_now(e.m), markers ? 522 : 530);
		for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
			iw_mpa_set_emss(e.m, rows[i].emss);
			assert_int_equal(iw_mpa_mulpdu_now(e.m),
					 markers ? rows[i].marked : rows[i].plain);
		}
		mpa_end_close(&e);
	}
}

/*
 * MPA-23, MPA-25: at any position of the stream, the FPDU of a whole MULPDU fits one TCP segment.
 */
static void an_fpdu_of_the_mulpdu_fits_a_segment(void **state)
{
	(void)state;
	for (int markers = 0; markers <= 1; markers++) {
		struct mpa_end e;

		ref_open_full(&e, true, true, markers, 0);
		for (size_t emss = 160; emss < 9100; emss += emss < 1600 ? 1 : 37) {
			iw_mpa_set_emss(e.m, emss);
			for (uint32_t pos = 0; pos < 512; pos += 4) {
				size_t max = iw_mpa_mulpdu_now(e.m);
				size_t fpdu = markers ? iw_wire_mpa_fpdu_len_marked(pos, max)
						      : iw_mpa_fpdu_len(max);

				assert_true(fpdu <= emss);
			}
		}
		mpa_end_close(&e);
	}
}

/* --- alignment -------------------------------------------------------------------------------- */

/*
 * MPA-25: a batch of FPDUs of exactly EMSS octets needs no end of record; one with a shorter FPDU
 * at its end does.
 */
static void a_batch_that_ends_within_a_segment_ends_a_record(void **state)
{
	uint8_t *ulpdu = random_ulpdu(1442, 5);
	struct mpa_end e;

	(void)state;
	ref_open_full(&e, true, true, false, 0);
	iw_mpa_set_emss(e.m, 1448);
	assert_true(iw_mpa_aligned(e.m));
	for (int i = 0; i < 5; i++) {
		assert_int_equal(wrap(&e, ulpdu, 1442), 1448);
		assert_false(e.t->eor);
	}
	assert_int_equal(wrap(&e, ulpdu, 500), 508);
	assert_true(e.t->eor);
	/* Nothing is appended after it. */
	assert_int_equal(wrap(&e, ulpdu, 1442), 0);
	assert_int_equal(e.t->bytes, 5 * 1448 + 508);
	iw_txbuf_sent(e.t, e.t->bytes);
	assert_false(e.t->eor);
	assert_int_equal(wrap(&e, ulpdu, 1442), 1448);
	mpa_end_close(&e);
	free(ulpdu);
}

/* MPA-25: a short FPDU ends its batch, so that the next FPDU begins a segment. */
static void nothing_follows_a_short_fpdu_in_its_segment(void **state)
{
	uint8_t *ulpdu = random_ulpdu(1442, 6);
	struct mpa_end e;

	(void)state;
	ref_open_full(&e, true, true, false, 0);
	iw_mpa_set_emss(e.m, 1448);
	assert_int_equal(iw_mpa_room(e.m, e.t), 1442);
	assert_int_equal(wrap(&e, ulpdu, 14), 20);
	assert_true(e.t->eor);
	assert_int_equal(iw_mpa_room(e.m, e.t), 0);
	assert_int_equal(wrap(&e, ulpdu, 14), 0);
	iw_txbuf_sent(e.t, e.t->bytes);
	assert_int_equal(iw_mpa_room(e.m, e.t), 1442);
	mpa_end_close(&e);
	free(ulpdu);
}

/*
 * MPA-25, MPA-24: an FPDU above the EMSS (if that is below 136 octets, or has just shrunk) is sent
 * alone, from boundary to boundary.
 */
static void an_fpdu_above_the_emss_is_sent_alone(void **state)
{
	uint8_t *ulpdu = random_ulpdu(1442, 7);
	struct mpa_end e;

	(void)state;
	ref_open_full(&e, true, true, false, 0);
	iw_mpa_set_emss(e.m, 88);
	assert_int_equal(iw_mpa_room(e.m, e.t), 128);
	assert_int_equal(wrap(&e, ulpdu, 128), 136);
	assert_true(e.t->eor);
	assert_int_equal(iw_mpa_room(e.m, e.t), 0);
	assert_int_equal(wrap(&e, ulpdu, 14), 0);
	mpa_end_close(&e);
	free(ulpdu);
}

/* MPA-25: no alignment if long FPDUs were agreed. */
static void long_fpdus_are_not_aligned(void **state)
{
	uint8_t *ulpdu = random_ulpdu(1442, 8);
	struct mpa_end e;

	(void)state;
	ref_open_full(&e, true, true, false, 64768);
	iw_mpa_set_emss(e.m, 1448);
	assert_false(iw_mpa_aligned(e.m));
	for (int i = 0; i < 50; i++) {
		assert_int_equal(iw_mpa_room(e.m, e.t), 64768);
		assert_int_equal(wrap(&e, ulpdu, 100 + 3 * (size_t)i),
				 iw_mpa_fpdu_len(100 + 3 * (size_t)i));
		assert_false(e.t->eor);
	}
	mpa_end_close(&e);
	free(ulpdu);
}

/*
 * MPA-25, MPA-23: each segment of a stream cut by iw_mpa_room() begins with an FPDU and contains
 * all of it.
 */
static void fpdus_of_the_size_of_room_fit_their_segments(void **state)
{
	uint8_t *ulpdu = random_ulpdu(9000, 10);

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		static const size_t sizes[] = { 536, 1208, 1448, 1460, 8948, 1447 };
		struct rng r = { seed };
		bool markers = seed & 1;
		struct mpa_end e;
		size_t emss = sizes[seed % IW_ARRAY_LEN(sizes)], batches = 0;

		ref_open_full(&e, true, true, markers, 0);
		iw_mpa_set_emss(e.m, emss);
		while (batches < 20) {
			size_t room = iw_mpa_room(e.m, e.t);

			for (; room; room = iw_mpa_room(e.m, e.t)) {
				size_t len = rng_below(&r, 3) ? room
							      : 14 + rng_below(&r, room - 14 + 1);
				size_t fpdu =
					wrap_in(&e, ulpdu, len, 14, len > 14, rng_below(&r, 2));

				assert_true(room >= 128);
				assert_true(fpdu > 0);
				assert_true(fpdu <= emss);
				assert_int_equal(e.t->eor, fpdu != emss);
			}
			batches++;
			iw_txbuf_sent(e.t, e.t->bytes);
		}
		mpa_end_close(&e);
	}
	free(ulpdu);
}

/*
 * MPA-10, MPA-32: markers are sent only if the peer demands them, even if this end demands them
 * too.
 */
static void markers_are_sent_only_when_the_peer_asked(void **state)
{
	static const uint8_t reply[] = { KEY_REP, 0x40, 1, 0, 0 };
	struct iw_mpa_cfg cfg = mpa_cfg(true, 1);
	struct octets sink = { 0 };
	struct mpa_end e;

	(void)state;
	cfg.markers = true;
	mpa_end_open(&e, cfg);
	mpa_end_feed(&e, reply, sizeof(reply), SIZE_MAX);
	mpa_end_drain(&e, &sink);
	assert_int_equal(wrap(&e, fpdu_send_hello + 2, 23), sizeof(fpdu_send_hello));
	expect_sent(&e, fpdu_send_hello, sizeof(fpdu_send_hello));
	octets_free(&sink);
	mpa_end_close(&e);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_are_what_is_sent),
		cmocka_unit_test(figures_5_and_6_are_what_is_sent),
		cmocka_unit_test(marked_vectors_are_what_is_sent),
		cmocka_unit_test(framed_stream_equals_the_reference),
		cmocka_unit_test(the_longest_ulpdu_is_sent),
		cmocka_unit_test(markers_continue_across_the_wrap_of_the_sequence_space),
		cmocka_unit_test(without_crc_the_field_is_sent_as_zero),
		cmocka_unit_test(an_rdmac_end_sends_markers_and_crc),
		cmocka_unit_test(copied_payload_may_change_after_the_copy),
		cmocka_unit_test(long_payload_is_referred_to_where_it_is),
		cmocka_unit_test(a_full_batch_appends_nothing),
		cmocka_unit_test(mulpdu_follows_the_emss),
		cmocka_unit_test(an_fpdu_of_the_mulpdu_fits_a_segment),
		cmocka_unit_test(a_batch_that_ends_within_a_segment_ends_a_record),
		cmocka_unit_test(nothing_follows_a_short_fpdu_in_its_segment),
		cmocka_unit_test(an_fpdu_above_the_emss_is_sent_alone),
		cmocka_unit_test(long_fpdus_are_not_aligned),
		cmocka_unit_test(fpdus_of_the_size_of_room_fit_their_segments),
		cmocka_unit_test(markers_are_sent_only_when_the_peer_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
