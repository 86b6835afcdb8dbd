// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Octets in, checked ULPDUs out: lib/mpa/frame_rx.c. */
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

static void expect_ulpdu(const struct mpa_end *e, const void *ulpdu, size_t len)
{
	assert_int_equal(e->err, 0);
	assert_int_equal(e->ulpdus, 1);
	assert_int_equal(e->data.len, len);
	assert_memory_equal(e->data.p, ulpdu, len);
}

/* A ULPDU whose octets show their position. */
static uint8_t *pattern(size_t len)
{
	uint8_t *p = malloc(len ? len : 1);

	assert_non_null(p);
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 131 + (i >> 8));
	return p;
}

/* --- vectors ---------------------------------------------------------------------------------- */

/*
 * MPA-04, MPA-06, MPA-16, MPA-21, MPA-22, MPA-26, MPA-28: each vector at every split, and octet by
 * octet.
 */
static void vectors_are_delivered_at_every_split(void **state)
{
	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(fpdu_vectors); v++) {
		const struct vector *x = &fpdu_vectors[v];
		size_t ulpdu = iw_get_be16(x->octets);

		for (size_t split = 0; split <= x->len; split++) {
			struct mpa_end e;

			ref_open_full(&e, true, true, false, 0);
			assert_int_equal(mpa_end_feed_split(&e, x->octets, x->len, split), x->len);
			expect_ulpdu(&e, x->octets + 2, ulpdu);
			mpa_end_close(&e);
		}
		for (size_t last = 0; last <= 1; last++) {
			struct mpa_end e;

			ref_open_full(&e, true, true, false, 0);
			/* MPA-28: no unit before its last octet */
			mpa_end_feed(&e, x->octets, x->len - 1 + last, 1);
			assert_int_equal(e.ulpdus, last);
			mpa_end_close(&e);
		}
	}
}

/* MPA-09, MPA-11, MPA-15, MPA-16, MPA-21, MPA-45: figure 5. */
static void figure_5_is_delivered(void **state)
{
	(void)state;
	for (size_t split = 0; split <= sizeof(figure5); split++) {
		struct mpa_end e;

		ref_open_full(&e, true, true, true, 0);
		mpa_end_feed_split(&e, figure5, sizeof(figure5), split);
		expect_ulpdu(&e, figure5 + 6, 42);
		mpa_end_close(&e);
	}
}

/* MPA-12, MPA-16, MPA-21: figure 6, after a first FPDU of 492 octets. */
static void figure_6_is_delivered(void **state)
{
	uint8_t *first = pattern(482);

	(void)state;
	for (size_t split = 0; split <= sizeof(figure6); split++) {
		struct octets stream = { 0 };
		struct mpa_end e;

		ref_fpdu(&stream, 0, true, true, first, 482);
		assert_int_equal(stream.len, FIGURE6_POS);
		ref_open_full(&e, true, true, true, 0);
		mpa_end_feed(&e, stream.p, stream.len, SIZE_MAX);
		octets_free(&e.data);
		e.ulpdus = 0;
		mpa_end_feed_split(&e, figure6, sizeof(figure6), split);
		assert_int_equal(e.ulpdus, 1);
		assert_int_equal(e.last_pos, FIGURE6_POS);
		assert_int_equal(e.data.len, 42);
		assert_memory_equal(e.data.p, figure6 + 2, 18);
		assert_memory_equal(e.data.p + 18, figure6 + 24, 24);
		octets_free(&stream);
		mpa_end_close(&e);
	}
	free(first);
}

static void marked_vector(struct octets *out, size_t v)
{
	static const uint8_t send[18] = { 0x41, 0x43, [13] = 1 };
	uint8_t *ulpdu = calloc(1, marked_vectors[v].ulpdu);

	assert_non_null(ulpdu);
	memcpy(ulpdu, send, sizeof(send));
	for (size_t i = 0; i < marked_vectors[v].payload; i++)
		ulpdu[18 + i] = (uint8_t)i;
	ref_fpdu(out, 0, true, true, ulpdu, marked_vectors[v].ulpdu);
	free(ulpdu);
}

/*
 * MPA-11..13, MPA-15, MPA-21: the reference produces the computed vectors, and they are received at
 * every split.
 */
static void marked_vectors_are_delivered_at_every_split(void **state)
{
	(void)state;
	for (size_t v = 0; v < IW_ARRAY_LEN(marked_vectors); v++) {
		struct octets stream = { 0 };

		marked_vector(&stream, v);
		assert_int_equal(stream.len, marked_vectors[v].total);
		assert_memory_equal(stream.p + stream.len - 4, marked_vectors[v].crc, 4);
		for (size_t split = 0; split <= stream.len; split++) {
			struct mpa_end e;

			ref_open_full(&e, true, true, true, 0);
			mpa_end_feed_split(&e, stream.p, stream.len, split);
			assert_int_equal(e.err, 0);
			assert_int_equal(e.ulpdus, 1);
			assert_int_equal(e.data.len, marked_vectors[v].ulpdu);
			for (size_t i = 0; i < marked_vectors[v].payload; i++)
				assert_int_equal(e.data.p[18 + i], (uint8_t)i);
			mpa_end_close(&e);
		}
		octets_free(&stream);
	}
}

/*
 * MPA-15, MPA-28: a marker due after a CRC belongs to the next FPDU, and this one does not wait for
 * it.
 */
static void a_marker_after_the_crc_is_not_awaited(void **state)
{
	struct octets stream = { 0 };
	struct mpa_end e;

	(void)state;
	marked_vector(&stream, 0);
	assert_int_equal(stream.len, 512);
	ref_open_full(&e, true, true, true, 0);
	mpa_end_feed(&e, stream.p, stream.len, SIZE_MAX);
	assert_int_equal(e.ulpdus, 1);
	octets_free(&e.data);
	mpa_end_feed(&e, fpdu_behind_512, sizeof(fpdu_behind_512), 1);
	assert_int_equal(e.err, 0);
	assert_int_equal(e.ulpdus, 2);
	assert_int_equal(e.last_pos, 512);
	assert_int_equal(e.data.len, 18);
	assert_memory_equal(e.data.p, fpdu_behind_512 + 6, 18);
	octets_free(&stream);
	mpa_end_close(&e);
}

/* MPA-55 */
static void an_rdmac_fpdu_is_delivered(void **state)
{
	static const uint8_t reply[] = { KEY_REP, 0xc0, 0, 0, 0 };
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, mpa_cfg(true, 0));
	mpa_end_feed(&e, reply, sizeof(reply), SIZE_MAX);
	mpa_end_feed(&e, figure5_rdmac, sizeof(figure5_rdmac), SIZE_MAX);
	expect_ulpdu(&e, figure5_rdmac + 6, 42);
	mpa_end_close(&e);
}

/* --- CRC -------------------------------------------------------------------------------------- */

/*
 * MPA-22, MPA-50, MPA-53: a wrong octet anywhere, PAD and CRC included. MPA does not close TCP, and
 * a last message may be sent.
 */
static void any_wrong_octet_is_a_crc_error(void **state)
{
	(void)state;
	for (size_t i = 2; i < sizeof(fpdu_send_hello); i++) {
		uint8_t bad[sizeof(fpdu_send_hello)];
		struct mpa_end e;

		memcpy(bad, fpdu_send_hello, sizeof(bad));
		bad[i] ^= 0x10;
		ref_open_full(&e, true, true, false, 0);
		mpa_end_feed(&e, bad, sizeof(bad), SIZE_MAX);
		assert_int_equal(e.err, IW_E_MPA_CRC);
		assert_int_equal(e.why.term, IW_TERM(2, 0, 2));
		assert_int_equal(e.ulpdus, 0);
		assert_int_equal(iw_mpa_state(e.m), IW_MPA_FAILED);
		assert_true(iw_mpa_may_send(e.m));
		mpa_end_close(&e);
	}
}

/* MPA-15, MPA-22: the CRC also covers the octets of markers. */
static void a_wrong_octet_of_a_marker_is_a_crc_error(void **state)
{
	(void)state;
	for (size_t v = 0; v < IW_ARRAY_LEN(marked_vectors); v++) {
		for (size_t k = 0; k < 3; k++) {
			size_t pos = marked_vectors[v].marker[k].pos;
			struct octets stream = { 0 };
			struct mpa_end e;

			if (k && !pos)
				break;
			marked_vector(&stream, v);
			stream.p[pos] ^= 1;
			ref_open_full(&e, true, true, true, 0);
			mpa_end_feed(&e, stream.p, stream.len, SIZE_MAX);
			assert_int_equal(e.err, IW_E_MPA_CRC);
			octets_free(&stream);
			mpa_end_close(&e);
		}
	}
}

/* MPA-07: pad octets may have any value (those of siw do); the CRC covers the received value. */
static void pad_octets_count_for_the_crc_only(void **state)
{
	struct ref_odd odd = { .pad = 0xa5 };

	(void)state;
	for (size_t len = 14; len < 30; len++) {
		for (int crc = 0; crc <= 1; crc++) {
			uint8_t *ulpdu = pattern(len);
			struct octets stream = { 0 };
			struct mpa_end e;

			ref_fpdu_odd(&stream, 0, false, crc, ulpdu, len, &odd);
			ref_open_full(&e, true, crc, false, 0);
			mpa_end_feed(&e, stream.p, stream.len, SIZE_MAX);
			expect_ulpdu(&e, ulpdu, len);
			octets_free(&stream);
			free(ulpdu);
			mpa_end_close(&e);
		}
	}
}

/* MPA-08, MPA-20, MPA-33: without CRC the field is there, and may have any value. */
static void without_crc_the_field_is_not_checked(void **state)
{
	(void)state;
	for (unsigned value = 0; value < 256; value += 51) {
		uint8_t fpdu[sizeof(fpdu_send_hello)];
		struct mpa_end e;

		memcpy(fpdu, fpdu_send_hello, sizeof(fpdu));
		memset(fpdu + sizeof(fpdu) - 4, (int)value, 4);
		ref_open_full(&e, true, false, false, 0);
		mpa_end_feed(&e, fpdu, sizeof(fpdu), SIZE_MAX);
		expect_ulpdu(&e, fpdu + 2, 23);
		mpa_end_close(&e);
	}
}

/* MPA-19, MPA-22: until the end of the connection. */
static void crc_stays_on(void **state)
{
	struct octets stream = { 0 };
	struct mpa_end e;

	(void)state;
	for (int i = 0; i < 2000; i++)
		octets_add(&stream, fpdu_send_hello, sizeof(fpdu_send_hello));
	octets_add(&stream, fpdu_send_hello, sizeof(fpdu_send_hello));
	stream.p[stream.len - 1] ^= 1;
	ref_open_full(&e, true, true, false, 0);
	mpa_end_feed(&e, stream.p, stream.len, SIZE_MAX);
	assert_int_equal(e.ulpdus, 2000);
	assert_int_equal(e.err, IW_E_MPA_CRC);
	octets_free(&stream);
	mpa_end_close(&e);
}

/* MPA-52, MPA-28: FPDUs before the fault are delivered, those after it are not, even if valid. */
static void nothing_is_delivered_after_a_fault(void **state)
{
	struct octets stream = { 0 };
	struct iw_mpa_unit u;
	struct mpa_end e;

	(void)state;
	octets_add(&stream, fpdu_send_hello, sizeof(fpdu_send_hello));
	octets_add(&stream, fpdu_send_hello, sizeof(fpdu_send_hello));
	stream.p[stream.len - 1] ^= 1;
	octets_add(&stream, fpdu_send_hello, sizeof(fpdu_send_hello));
	for (size_t split = 0; split <= stream.len; split++) {
		ref_open_full(&e, true, true, false, 0);
		mpa_end_feed_split(&e, stream.p, stream.len, split);
		assert_int_equal(e.ulpdus, 1);
		assert_int_equal(e.err, IW_E_MPA_CRC);
		assert_int_equal(e.why.offset, sizeof(fpdu_send_hello));
		assert_int_equal(mpa_end_feed(&e, fpdu_send_hello, sizeof(fpdu_send_hello), 1), 0);
		assert_int_equal(iw_mpa_next(e.m, &u, NULL), IW_E_MPA_CRC);
		assert_int_equal(iw_mpa_rx_eof(e.m, NULL), IW_E_MPA_CRC);
		assert_int_equal(e.ulpdus, 1);
		assert_int_equal(e.spill.out, 0);
		mpa_end_close(&e);
	}
	octets_free(&stream);
}

/* --- markers ---------------------------------------------------------------------------------- */

/*
 * MPA-50, MPA-54, MPA-13, MPA-12, MPA-53: each marker of an FPDU with many, with a valid CRC or
 * without CRC.
 */
static void a_marker_that_points_elsewhere_is_error_3(void **state)
{
	uint8_t *ulpdu = pattern(4000);

	(void)state;
	for (int crc = 0; crc <= 1; crc++) {
		for (uint64_t pos = 0; pos < 512; pos += 52) {
			for (unsigned k = 1; k <= 8; k++) {
				struct ref_odd odd = { .bad_marker = k };
				struct octets stream = { 0 };
				struct mpa_end e;

				ref_fpdu_odd(&stream, pos, true, crc, ulpdu, 4000, &odd);
				ref_open_full(&e, true, crc, true, 0);
				e.m->rx.pos = pos;
				mpa_end_feed(&e, stream.p, stream.len, SIZE_MAX);
				/* eight markers at position 0, seven or eight elsewhere */
				if (e.err == 0) {
					assert_int_equal(k, 8);
				} else {
					assert_int_equal(e.err, IW_E_MPA_MARKER);
					assert_int_equal(e.why.term, IW_TERM(2, 0, 3));
					assert_int_equal(e.ulpdus, 0);
					assert_true(iw_mpa_may_send(e.m));
				}
				octets_free(&stream);
				mpa_end_close(&e);
			}
		}
	}
	free(ulpdu);
}

/* MPA-50: error 3 is for FPDUs with a valid CRC (RFC 5044 8). */
static void a_bad_crc_is_reported_before_a_bad_marker(void **state)
{
	struct ref_odd odd = { .bad_marker = 1 };
	uint8_t *ulpdu = pattern(100);
	struct octets stream = { 0 };
	struct mpa_end e;

	(void)state;
	ref_fpdu_odd(&stream, 0, true, true, ulpdu, 100, &odd);
	stream.p[stream.len - 1] ^= 1;
	ref_open_full(&e, true, true, true, 0);
	mpa_end_feed(&e, stream.p, stream.len, SIZE_MAX);
	assert_int_equal(e.err, IW_E_MPA_CRC);
	octets_free(&stream);
	free(ulpdu);
	mpa_end_close(&e);
}

/* MPA-09: the low two bits count as zero, the reserved field is ignored; the CRC covers both. */
static void reserved_parts_of_markers_are_ignored(void **state)
{
	struct ref_odd odd = { .reserved = 0xbeef, .low_bits = 3 };
	uint8_t *ulpdu = pattern(2000);

	(void)state;
	for (int crc = 0; crc <= 1; crc++) {
		struct octets stream = { 0 };
		struct mpa_end e;

		ref_fpdu_odd(&stream, 0, true, crc, ulpdu, 2000, &odd);
		ref_open_full(&e, true, crc, true, 0);
		mpa_end_feed(&e, stream.p, stream.len, SIZE_MAX);
		expect_ulpdu(&e, ulpdu, 2000);
		octets_free(&stream);
		mpa_end_close(&e);
	}
	free(ulpdu);
}

/*
 * MPA-14, MPA-11: a stream beyond 2^32 octets, with FPDUs and markers before, across and after that
 * position.
 */
static void markers_continue_across_the_wrap_of_the_sequence_space(void **state)
{
	const uint64_t wrap = (uint64_t)1 << 32;
	struct rng r = { 1 };

	(void)state;
	for (uint64_t before = 0; before <= 1200; before += 4) {
		uint8_t *ulpdu = pattern(3000);
		struct octets stream = { 0 }, data = { 0 };
		uint64_t pos = wrap - before;
		struct mpa_end e;

		ref_open_full(&e, true, true, true, 0);
		e.m->rx.pos = pos;
		for (int i = 0; i < 4; i++) {
			size_t len = 14 + rng_below(&r, 900);

			ref_fpdu(&stream, pos + stream.len, true, true, ulpdu, len);
			octets_add(&data, ulpdu, len);
		}
		mpa_end_feed(&e, stream.p, stream.len, 1 + rng_below(&r, 700));
		assert_int_equal(e.err, 0);
		assert_int_equal(e.ulpdus, 4);
		assert_int_equal(e.data.len, data.len);
		assert_memory_equal(e.data.p, data.p, data.len);
		assert_int_equal(e.m->rx.pos, pos + stream.len);
		octets_free(&stream);
		octets_free(&data);
		free(ulpdu);
		mpa_end_close(&e);
	}
}

/* --- lengths ---------------------------------------------------------------------------------- */

/*
 * MPA-06, MPA-28, MPA-50: a ULPDU shorter than a DDP header is a fault, detected when its FPDU is
 * complete.
 */
static void too_short_a_ulpdu_is_a_fault(void **state)
{
	static const uint8_t zeros[14];

	(void)state;
	for (int markers = 0; markers <= 1; markers++) {
		for (int crc = 0; crc <= 1; crc++) {
			for (size_t len = 0; len <= 14; len++) {
				struct octets stream = { 0 };
				struct mpa_end e;

				ref_fpdu(&stream, 0, markers, crc, zeros, len);
				ref_open_full(&e, true, crc, markers, 0);
				mpa_end_feed(&e, stream.p, stream.len - 1, SIZE_MAX);
				assert_int_equal(e.err, 0);
				mpa_end_feed(&e, stream.p + stream.len - 1, 1, 1);
				if (len < 14) {
					assert_int_equal(e.err, IW_E_MPA_LOCAL);
					assert_non_null(strstr(e.why.text, "at least 14"));
					assert_int_equal(e.ulpdus, 0);
				} else {
					assert_int_equal(e.ulpdus, 1);
				}
				octets_free(&stream);
				mpa_end_close(&e);
			}
		}
	}
}

/* MPA-22: a short length with a wrong CRC is a CRC error, since the length cannot be trusted. */
static void a_bad_crc_is_reported_before_a_short_length(void **state)
{
	static const uint8_t fpdu[8];
	struct mpa_end e;

	(void)state;
	ref_open_full(&e, true, true, false, 0);
	mpa_end_feed(&e, fpdu, sizeof(fpdu), SIZE_MAX);
	assert_int_equal(e.err, IW_E_MPA_CRC);
	mpa_end_close(&e);
}

/* MPA-02, MPA-28: a length above 64768 is refused at once; the rest need not arrive. */
static void too_long_a_ulpdu_is_refused_at_once(void **state)
{
	static const uint32_t lengths[] = { 64769, 64770, 65000, 65535 };

	(void)state;
	for (int markers = 0; markers <= 1; markers++) {
		for (size_t i = 0; i < IW_ARRAY_LEN(lengths); i++) {
			uint8_t octets[6] = { 0 };
			size_t head = markers ? 4 : 0;
			struct mpa_end e;

			iw_put_be16(octets + head, (uint16_t)lengths[i]);
			ref_open_full(&e, true, true, markers, 0);
			mpa_end_feed(&e, octets, head + 1, 1);
			assert_int_equal(e.err, 0);
			mpa_end_feed(&e, octets + head + 1, 1, 1);
			assert_int_equal(e.err, IW_E_MPA_LOCAL);
			assert_non_null(strstr(e.why.text, "at most 64768"));
			mpa_end_close(&e);
			/* also within scratch */
			ref_open_full(&e, true, true, markers, 0);
			mpa_end_feed(&e, octets, head + 2, SIZE_MAX);
			assert_int_equal(e.err, IW_E_MPA_LOCAL);
			mpa_end_close(&e);
		}
	}
}

/*
 * MPA-02, MPA-26: any valid length is accepted, whatever our EMSS or agreed size, at splits along
 * it.
 */
static void the_longest_ulpdu_is_delivered(void **state)
{
	uint8_t *ulpdu = pattern(IW_MPA_ULPDU_MAX);

	(void)state;
	for (int markers = 0; markers <= 1; markers++) {
		for (size_t len = IW_MPA_ULPDU_MAX - 3; len <= IW_MPA_ULPDU_MAX; len++) {
			struct octets stream = { 0 };

			ref_fpdu(&stream, 0, markers, true, ulpdu, len);
			for (size_t split = 0; split <= stream.len; split += split < 8 ? 1 : 9973) {
				struct mpa_end e;

				ref_open_full(&e, true, true, markers, 0);
				iw_mpa_set_emss(e.m, 536);
				mpa_end_feed_split(&e, stream.p, stream.len, split);
				expect_ulpdu(&e, ulpdu, len);
				mpa_end_close(&e);
			}
			octets_free(&stream);
		}
	}
	free(ulpdu);
}

/* --- any split -------------------------------------------------------------------------------- */

/* MPA-26, MPA-27, MPA-04, MPA-01: random FPDUs in random pieces through scratch of random size. */
static void random_streams_are_delivered_whatever_the_pieces(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct rng r = { seed };
		bool markers = seed & 1, crc = seed & 2;
		size_t most = seed % 7 == 0 ? 20000 : 600, done = 0;
		struct octets stream = { 0 }, data = { 0 };
		unsigned count = 1 + (unsigned)rng_below(&r, 30);
		uint8_t *ulpdu = malloc(most + 14);
		struct mpa_end e;

		assert_non_null(ulpdu);
		for (unsigned i = 0; i < count; i++) {
			size_t len = 14 + rng_below(&r, most);

			rng_fill(&r, ulpdu, len);
			ref_fpdu(&stream, stream.len, markers, crc, ulpdu, len);
			octets_add(&data, ulpdu, len);
		}
		ref_open_full(&e, true, crc, markers, 0);
		while (done < stream.len) {
			size_t piece = 1 + rng_below(&r, rng_below(&r, 3) ? 40 : 30000);

			e.scratch_len = 1 + rng_below(&r, rng_below(&r, 3) ? 3000 : 60000);
			done += mpa_end_read(&e, stream.p + done, IW_MIN(piece, stream.len - done));
			assert_int_equal(e.err, 0);
		}
		assert_int_equal(e.ulpdus, count);
		assert_int_equal(e.data.len, data.len);
		assert_memory_equal(e.data.p, data.p, data.len);
		assert_int_equal(e.spill.out, 0);
		assert_int_equal(iw_mpa_rx_eof(e.m, NULL), 0);
		octets_free(&stream);
		octets_free(&data);
		free(ulpdu);
		mpa_end_close(&e);
	}
}

/* --- scratch and spill ------------------------------------------------------------------------ */

/* MPA-26: how many octets are asked for, and where they are put, when an FPDU is split. */
static void a_split_fpdu_is_completed_in_the_spill_buffer(void **state)
{
	static uint8_t scratch[256 * 1024];
	uint8_t *ulpdu = pattern(8000);
	struct octets stream = { 0 };
	struct iw_vec vec[2];
	struct mpa_end e;
	size_t fpdu;

	(void)state;
	ref_fpdu(&stream, 0, false, true, ulpdu, 8000);
	fpdu = stream.len;
	ref_open_full(&e, true, true, false, 0);
	assert_int_equal(e.spill.out, 0);

	/* Nothing is known yet: all of scratch. */
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec), 1);
	assert_ptr_equal(vec[0].base, scratch);
	assert_int_equal(vec[0].len, sizeof(scratch));
	iw_mpa_rx_end(e.m);
	assert_int_equal(e.spill.out, 0);

	/* One octet of ULPDU_Length is known: the other one, then scratch. */
	mpa_end_feed(&e, stream.p, 1, 1);
	assert_int_equal(e.spill.out, 1);
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec), 2);
	assert_int_equal(vec[0].len, 1);
	iw_mpa_rx_end(e.m);

	/* The length is known: exactly the rest, then scratch. */
	mpa_end_feed(&e, stream.p + 1, 999, 999);
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec), 2);
	assert_int_equal(vec[0].len, fpdu - 1000);
	assert_ptr_equal(vec[1].base, scratch);
	iw_mpa_rx_end(e.m);

	/*
	 * Complete: the spill buffer is returned. From now on, whole FPDUs of that length are asked
	 * for.
	 */
	mpa_end_feed(&e, stream.p + 1000, fpdu - 1000, SIZE_MAX);
	expect_ulpdu(&e, ulpdu, 8000);
	assert_int_equal(e.spill.out, 0);
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec), 1);
	assert_int_equal(vec[0].len, sizeof(scratch) / fpdu * fpdu);
	iw_mpa_rx_end(e.m);
	/* Scratch shorter than one FPDU is used as it is. */
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, 100 }, vec), 1);
	assert_int_equal(vec[0].len, 100);
	iw_mpa_rx_end(e.m);
	/* Split again: the rest, and whole FPDUs after it. */
	mpa_end_feed(&e, stream.p, 5000, SIZE_MAX);
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec), 2);
	assert_int_equal(vec[0].len, fpdu - 5000);
	assert_int_equal(vec[1].len, sizeof(scratch) / fpdu * fpdu);
	iw_mpa_rx_end(e.m);
	octets_free(&stream);
	free(ulpdu);
	mpa_end_close(&e);
}

/* MPA-28: without memory, no octet is taken from TCP and none is lost. */
static void reading_waits_while_there_is_no_spill_buffer(void **state)
{
	static uint8_t scratch[4096];
	struct iw_vec vec[2];
	struct mpa_end e;

	(void)state;
	ref_open_full(&e, true, true, false, 0);
	e.mem.fail_from = e.mem.calls + 1;
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec),
			 IW_E_NOMEM);
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec),
			 IW_E_NOMEM);
	e.mem.fail_from = 0;
	mpa_end_feed(&e, fpdu_send_hello, sizeof(fpdu_send_hello), 5);
	expect_ulpdu(&e, fpdu_send_hello + 2, 23);
	mpa_end_close(&e);
}

/*
 * If the caller stops because of a fault of its own, the rest of a read is dropped, even if it
 * exceeds any buffer.
 */
static void a_caller_that_stops_early_gets_nothing_more(void **state)
{
	static uint8_t scratch[256 * 1024];
	struct iw_vec vec[2];
	struct iw_mpa_unit u;
	struct mpa_end e;
	size_t n = 0;

	(void)state;
	for (; n + sizeof(fpdu_send_hello) <= sizeof(scratch); n += sizeof(fpdu_send_hello))
		memcpy(scratch + n, fpdu_send_hello, sizeof(fpdu_send_hello));
	for (size_t behind = 0; behind <= 1; behind++) {
		ref_open_full(&e, true, true, false, 0);
		/* also if the first FPDU was split */
		mpa_end_feed(&e, fpdu_send_hello, 10 * behind, 10);
		assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, n }, vec),
				 1 + (int)behind);
		if (behind)
			memcpy(vec[0].base, fpdu_send_hello + 10, vec[0].len);
		iw_mpa_received(e.m, n);
		assert_int_equal(iw_mpa_next(e.m, &u, NULL), 1);
		iw_mpa_rx_end(e.m);
		assert_int_equal(iw_mpa_state(e.m), IW_MPA_FAILED);
		assert_int_equal(iw_mpa_next(e.m, &u, NULL), IW_E_CANCELED);
		assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, n }, vec), 0);
		assert_int_equal(e.spill.out, 0);
		assert_true(iw_mpa_may_send(e.m));
		mpa_end_close(&e);
	}
	/*
	 * The same if the caller takes no unit, when the second part of an FPDU and more octets
	 * were received.
	 */
	ref_open_full(&e, true, true, false, 0);
	mpa_end_feed(&e, fpdu_send_hello, 10, 10);
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, n }, vec), 2);
	iw_mpa_received(e.m, n);
	iw_mpa_rx_end(e.m);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FAILED);
	assert_int_equal(e.spill.out, 0);
	mpa_end_close(&e);
	/* Stopping after the last unit of a read, or before an incomplete one, loses nothing. */
	for (size_t part = 0; part < sizeof(fpdu_send_hello); part++) {
		ref_open_full(&e, true, true, false, 0);
		assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, n }, vec), 1);
		iw_mpa_received(e.m, sizeof(fpdu_send_hello) + part);
		assert_int_equal(iw_mpa_next(e.m, &u, NULL), 1);
		iw_mpa_rx_end(e.m);
		mpa_end_feed(&e, fpdu_send_hello + part, sizeof(fpdu_send_hello) - part, SIZE_MAX);
		assert_int_equal(e.err, 0);
		assert_int_equal(e.ulpdus, 1);
		mpa_end_close(&e);
	}
}

/* The octets that follow are shown for prefetching, as far as they are received. */
static void the_first_octets_are_shown(void **state)
{
	static uint8_t scratch[4096];
	struct iw_vec vec[2];
	struct iw_mpa_unit u;

	(void)state;
	for (size_t more = 0; more < 8; more++) {
		struct mpa_end e;

		memcpy(scratch, fpdu_send_hello, sizeof(fpdu_send_hello));
		memcpy(scratch + sizeof(fpdu_send_hello), fpdu_write_16, 8);
		ref_open_full(&e, true, true, false, 0);
		assert_int_equal(
			iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec), 1);
		iw_mpa_received(e.m, sizeof(fpdu_send_hello) + more);
		assert_int_equal(iw_mpa_next(e.m, &u, NULL), 1);
		assert_int_equal(u.ahead_len, more > 2 ? more - 2 : 0);
		if (u.ahead_len)
			assert_memory_equal(u.ahead, fpdu_write_16 + 2, u.ahead_len);
		assert_int_equal(iw_mpa_next(e.m, &u, NULL), 0);
		iw_mpa_rx_end(e.m);
		mpa_end_close(&e);
	}
}

/* --- the end ---------------------------------------------------------------------------------- */

/*
 * MPA-49, MPA-50: at the end of an FPDU the end is orderly, one octet later it is a loss. Earlier
 * FPDUs stay valid.
 */
static void the_end_of_the_stream_inside_an_fpdu_is_a_loss(void **state)
{
	struct octets stream = { 0 };

	(void)state;
	octets_add(&stream, fpdu_send_hello, sizeof(fpdu_send_hello));
	octets_add(&stream, fpdu_send_hello, sizeof(fpdu_send_hello));
	for (size_t cut = 0; cut <= stream.len; cut++) {
		struct iw_fault why = { 0 };
		struct mpa_end e;

		ref_open_full(&e, true, true, false, 0);
		mpa_end_feed(&e, stream.p, cut, SIZE_MAX);
		assert_int_equal(e.ulpdus, cut / sizeof(fpdu_send_hello));
		if (cut % sizeof(fpdu_send_hello) == 0) {
			assert_int_equal(iw_mpa_rx_eof(e.m, &why), 0);
			assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
		} else {
			assert_int_equal(iw_mpa_rx_eof(e.m, &why), IW_E_MPA_LOST);
			assert_int_equal(why.term, IW_TERM(2, 0, 1));
			assert_int_equal(why.offset,
					 cut / sizeof(fpdu_send_hello) * sizeof(fpdu_send_hello));
			assert_int_equal(iw_mpa_state(e.m), IW_MPA_FAILED);
			assert_int_equal(e.spill.out, 0);
		}
		mpa_end_close(&e);
	}
	octets_free(&stream);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_are_delivered_at_every_split),
		cmocka_unit_test(figure_5_is_delivered),
		cmocka_unit_test(figure_6_is_delivered),
		cmocka_unit_test(marked_vectors_are_delivered_at_every_split),
		cmocka_unit_test(a_marker_after_the_crc_is_not_awaited),
		cmocka_unit_test(an_rdmac_fpdu_is_delivered),
		cmocka_unit_test(any_wrong_octet_is_a_crc_error),
		cmocka_unit_test(a_wrong_octet_of_a_marker_is_a_crc_error),
		cmocka_unit_test(pad_octets_count_for_the_crc_only),
		cmocka_unit_test(without_crc_the_field_is_not_checked),
		cmocka_unit_test(crc_stays_on),
		cmocka_unit_test(nothing_is_delivered_after_a_fault),
		cmocka_unit_test(a_marker_that_points_elsewhere_is_error_3),
		cmocka_unit_test(a_bad_crc_is_reported_before_a_bad_marker),
		cmocka_unit_test(reserved_parts_of_markers_are_ignored),
		cmocka_unit_test(markers_continue_across_the_wrap_of_the_sequence_space),
		cmocka_unit_test(too_short_a_ulpdu_is_a_fault),
		cmocka_unit_test(a_bad_crc_is_reported_before_a_short_length),
		cmocka_unit_test(too_long_a_ulpdu_is_refused_at_once),
		cmocka_unit_test(the_longest_ulpdu_is_delivered),
		cmocka_unit_test(random_streams_are_delivered_whatever_the_pieces),
		cmocka_unit_test(a_split_fpdu_is_completed_in_the_spill_buffer),
		cmocka_unit_test(reading_waits_while_there_is_no_spill_buffer),
		cmocka_unit_test(a_caller_that_stops_early_gets_nothing_more),
		cmocka_unit_test(the_first_octets_are_shown),
		cmocka_unit_test(the_end_of_the_stream_inside_an_fpdu_is_a_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
