// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* MPA start-up frames, enhanced data, markers, and the lengths of FPDUs. */
#include "wire/mpa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "util/num.h"
#include "vectors/mpa.h"

#define TEXT 400

static const char *frame_text(char buf[TEXT], const struct iw_mpa_frame *f)
{
	struct iw_text t;

	iw_text_init(&t, buf, TEXT);
	iw_wire_mpa_frame_print(&t, f);
	return buf;
}

/* --- start-up frames --- */

/* MPA-31 */
static void keys_distinguish_request_and_reply(void **state)
{
	struct iw_mpa_frame f;
	uint8_t other[IW_MPA_FRAME_LEN];

	(void)state;
	assert_int_equal(iw_wire_mpa_frame_decode(&f, request_rev1, sizeof(request_rev1)), 20);
	assert_int_equal(f.kind, IW_MPA_REQUEST);
	assert_int_equal(iw_wire_mpa_frame_decode(&f, reply_enhanced, sizeof(reply_enhanced)), 24);
	assert_int_equal(f.kind, IW_MPA_REPLY);
	/* each octet of a key is compared */
	for (size_t i = 0; i < IW_MPA_KEY_LEN; i++) {
		memcpy(other, request_rev1, sizeof(other));
		other[i] ^= 0x20;
		assert_int_equal(iw_wire_mpa_frame_decode(&f, other, sizeof(other)), 20);
		assert_int_equal(f.kind, IW_MPA_OTHER);
		assert_memory_equal(f.key, other, IW_MPA_KEY_LEN);
	}
}

/* MPA-31: the encoded keys. */
static void frames_encode_with_the_key_of_their_kind(void **state)
{
	struct iw_mpa_frame f = { .kind = IW_MPA_REQUEST, .flags = IW_MPA_C, .rev = 1 };
	uint8_t out[IW_MPA_FRAME_LEN];

	(void)state;
	memset(f.key, 0xee, sizeof(f.key));
	assert_int_equal(iw_wire_mpa_frame_encode(out, sizeof(out), &f), 20);
	assert_memory_equal(out, "MPA ID Req Frame", 16);
	assert_memory_equal(out, request_rev1, 20);
	f.kind = IW_MPA_REPLY;
	assert_int_equal(iw_wire_mpa_frame_encode(out, sizeof(out), &f), 20);
	assert_memory_equal(out, "MPA ID Rep Frame", 16);
	f.kind = IW_MPA_OTHER;
	assert_int_equal(iw_wire_mpa_frame_encode(out, sizeof(out), &f), 20);
	assert_memory_equal(out, f.key, 16);
}

/* MPA-34, MPA-35: the bit of each flag; reserved bits are decoded and are not an error. */
static void flags_are_where_the_rfc_has_them(void **state)
{
	uint8_t in[IW_MPA_FRAME_LEN], out[IW_MPA_FRAME_LEN];
	struct iw_mpa_frame f;

	(void)state;
	assert_int_equal(iw_wire_mpa_frame_decode(&f, reply_rejecting, sizeof(reply_rejecting)),
			 23);
	assert_int_equal(f.flags, IW_MPA_C | IW_MPA_R);
	assert_int_equal(f.rev, 1);
	assert_int_equal(f.pd_len, 3);
	assert_memory_equal(f.pd, "no", 3);
	assert_int_equal(iw_wire_mpa_frame_decode(&f, request_rdmac, sizeof(request_rdmac)), 20);
	assert_int_equal(f.flags, IW_MPA_M | IW_MPA_C);
	assert_int_equal(f.rev, 0);
	assert_int_equal(iw_wire_mpa_frame_decode(&f, request_enhanced, sizeof(request_enhanced)),
			 24);
	assert_int_equal(f.flags, IW_MPA_C | IW_MPA_S);
	memcpy(in, request_rev1, sizeof(in));
	for (unsigned flags = 0; flags <= 0xff; flags++) {
		in[16] = (uint8_t)flags;
		assert_int_equal(iw_wire_mpa_frame_decode(&f, in, sizeof(in)), 20);
		assert_int_equal(f.kind, IW_MPA_REQUEST);
		assert_int_equal(f.flags, flags);
		assert_int_equal(iw_wire_mpa_frame_encode(out, sizeof(out), &f), 20);
		assert_memory_equal(in, out, sizeof(in));
	}
}

static void frame_needs_its_private_data(void **state)
{
	struct iw_mpa_frame f;

	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(frame_vectors); v++)
		for (size_t len = 0; len < frame_vectors[v].len; len++) {
			uint8_t *exact = malloc(len ? len : 1);

			assert_non_null(exact);
			memcpy(exact, frame_vectors[v].octets, len);
			assert_int_equal(iw_wire_mpa_frame_decode(&f, exact, len), 0);
			assert_null(f.pd);
			if (len < IW_MPA_FRAME_LEN) {
				assert_int_equal(f.kind, IW_MPA_OTHER);
				assert_int_equal(f.pd_len, 0);
			} else {
				/* so that PD_Length can be rejected before the Private Data
				 * arrive */
				assert_int_not_equal(f.kind, IW_MPA_OTHER);
				assert_int_equal(f.pd_len, frame_vectors[v].len - IW_MPA_FRAME_LEN);
			}
			free(exact);
		}
}

/* The decoder accepts a PD_Length above 512; mpa rejects it. */
static void private_data_of_any_length_decodes(void **state)
{
	static uint8_t in[IW_MPA_FRAME_LEN + 65535], out[IW_MPA_FRAME_LEN + 65535];
	static const uint16_t lengths[] = { 0, 1, 511, 512, 513, 0x1234, 65535 };
	struct iw_mpa_frame f;

	(void)state;
	memcpy(in, request_rev1, IW_MPA_FRAME_LEN);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		int whole = IW_MPA_FRAME_LEN + lengths[i];

		iw_put_be16(in + 18, lengths[i]);
		assert_int_equal(iw_wire_mpa_frame_decode(&f, in, sizeof(in)), whole);
		assert_int_equal(f.pd_len, lengths[i]);
		assert_ptr_equal(f.pd, in + IW_MPA_FRAME_LEN);
		assert_int_equal(iw_wire_mpa_frame_encode(out, sizeof(out), &f), whole);
		assert_memory_equal(in, out, (size_t)whole);
		assert_int_equal(iw_wire_mpa_frame_encode(out, (size_t)whole - 1, &f), IW_E_INVAL);
	}
}

static void frame_without_its_private_data_encodes_as_it_came(void **state)
{
	struct iw_mpa_frame f;
	uint8_t out[IW_MPA_FRAME_LEN];

	(void)state;
	assert_int_equal(iw_wire_mpa_frame_decode(&f, request_siw, IW_MPA_FRAME_LEN + 3), 0);
	assert_int_equal(iw_wire_mpa_frame_encode(out, sizeof(out), &f), IW_MPA_FRAME_LEN);
	assert_memory_equal(out, request_siw, IW_MPA_FRAME_LEN);
}

static void frames_decode_to_what_was_encoded(void **state)
{
	uint8_t in[IW_MPA_FRAME_LEN + 600], out[sizeof(in)];
	struct rng r = { 10 };
	struct iw_mpa_frame f;

	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(frame_vectors); v++) {
		int n = iw_wire_mpa_frame_decode(&f, frame_vectors[v].octets, frame_vectors[v].len);

		assert_int_equal(n, frame_vectors[v].len);
		assert_int_equal(iw_wire_mpa_frame_encode(out, sizeof(out), &f), n);
		assert_memory_equal(out, frame_vectors[v].octets, (size_t)n);
		for (int cap = 0; cap < n; cap++)
			assert_int_equal(iw_wire_mpa_frame_encode(out, (size_t)cap, &f),
					 IW_E_INVAL);
	}
	for (int round = 0; round < 20000; round++) {
		size_t pd_len = rng_below(&r, 600);
		int n;

		rng_fill(&r, in, sizeof(in));
		if (rng_below(&r, 2))
			memcpy(in, rng_below(&r, 2) ? request_rev1 : reply_enhanced,
			       IW_MPA_KEY_LEN);
		iw_put_be16(in + 18, (uint16_t)pd_len);
		n = iw_wire_mpa_frame_decode(&f, in, sizeof(in));
		assert_int_equal(n, IW_MPA_FRAME_LEN + pd_len);
		assert_int_equal(iw_wire_mpa_frame_encode(out, sizeof(out), &f), n);
		assert_memory_equal(in, out, (size_t)n);
	}
}

static void frames_print_on_one_line(void **state)
{
	static const char *const texts[VECTOR_COUNT(frame_vectors)] = {
		"MPA Request Rev 1 C PD_Length 0",   "MPA Request Rev 2 C S PD_Length 4",
		"MPA Reply Rev 2 C S PD_Length 4",   "MPA Reply Rev 1 C R PD_Length 3",
		"MPA Request Rev 0 M C PD_Length 0", "MPA Request Rev 2 S PD_Length 10",
	};
	struct iw_mpa_frame f;
	char buf[TEXT];

	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(frame_vectors); v++) {
		iw_wire_mpa_frame_decode(&f, frame_vectors[v].octets, frame_vectors[v].len);
		assert_string_equal(frame_text(buf, &f), texts[v]);
	}
	f = (struct iw_mpa_frame){ .kind = IW_MPA_OTHER, .flags = 0x0b, .rev = 255, .pd_len = 600 };
	memcpy(f.key, "GET / HTTP/1.1\r\n", IW_MPA_KEY_LEN);
	assert_string_equal(frame_text(buf, &f),
			    "MPA frame with unknown key 474554202f20485454502f312e310d0a Rev 255 "
			    "Res 0xb PD_Length 600");
}

/* --- enhanced data --- */

/* ENH-03: the layout of the 32 bits. */
static void enhanced_data_are_where_the_rfc_has_them(void **state)
{
	static const struct {
		uint8_t octets[4];
		struct iw_mpa_enhanced e;
	} rows[] = {
		{ { 0x80, 0x20, 0x40, 0x01 },
		  { .peer_to_peer = true, .rtr_read = true, .ird = 32, .ord = 1 } },
		{ { 0x80, 0x01, 0x40, 0x20 },
		  { .peer_to_peer = true, .rtr_read = true, .ird = 1, .ord = 32 } },
		{ { 0xc0, 0x00, 0x00, 0x00 }, { .peer_to_peer = true, .rtr_send = true } },
		{ { 0x00, 0x00, 0x80, 0x00 }, { .rtr_write = true } },
		{ { 0x3f, 0xff, 0x00, 0x02 }, { .ird = IW_MPA_IRD_ORD_MAX, .ord = 2 } },
		{ { 0x00, 0x02, 0x3f, 0xff }, { .ird = 2, .ord = IW_MPA_IRD_ORD_MAX } },
		{ { 0xff, 0xff, 0xff, 0xff }, { true, true, true, true, 0x3fff, 0x3fff } },
	};
	struct iw_mpa_enhanced e;
	uint8_t out[4];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t len = 0; len < 4; len++)
			assert_int_equal(iw_wire_mpa_enhanced_decode(&e, rows[i].octets, len), 0);
		assert_int_equal(iw_wire_mpa_enhanced_decode(&e, rows[i].octets, 4), 4);
		assert_int_equal(e.peer_to_peer, rows[i].e.peer_to_peer);
		assert_int_equal(e.rtr_send, rows[i].e.rtr_send);
		assert_int_equal(e.rtr_write, rows[i].e.rtr_write);
		assert_int_equal(e.rtr_read, rows[i].e.rtr_read);
		assert_int_equal(e.ird, rows[i].e.ird);
		assert_int_equal(e.ord, rows[i].e.ord);
		assert_int_equal(iw_wire_mpa_enhanced_encode(out, 3, &e), IW_E_INVAL);
		assert_int_equal(iw_wire_mpa_enhanced_encode(out, 4, &rows[i].e), 4);
		assert_memory_equal(out, rows[i].octets, 4);
	}
}

/* ENH-03: all 32 bits are decoded and encoded, and too large a number does not change a flag. */
static void enhanced_data_decode_to_what_was_encoded(void **state)
{
	struct iw_mpa_enhanced e = { .ird = 0xffff, .ord = 0xffff };
	uint8_t in[4], out[4];
	struct rng r = { 11 };

	(void)state;
	for (int round = 0; round < 100000; round++) {
		struct iw_mpa_enhanced d;

		rng_fill(&r, in, sizeof(in));
		assert_int_equal(iw_wire_mpa_enhanced_decode(&d, in, sizeof(in)), 4);
		assert_int_equal(iw_wire_mpa_enhanced_encode(out, sizeof(out), &d), 4);
		assert_memory_equal(in, out, 4);
	}
	assert_int_equal(iw_wire_mpa_enhanced_encode(out, sizeof(out), &e), 4);
	assert_int_equal(iw_get_be32(out), 0x3fff3fff);
}

static void enhanced_data_print_on_one_line(void **state)
{
	static const struct {
		struct iw_mpa_enhanced e;
		const char *text;
	} rows[] = {
		{ { .ird = 4, .ord = 4 }, "client-server IRD 4 ORD 4" },
		{ { .peer_to_peer = true, .rtr_read = true, .ird = 32, .ord = 1 },
		  "peer-to-peer RTR Read IRD 32 ORD 1" },
		{ { true, true, true, true, 0x3fff, 0 },
		  "peer-to-peer RTR Send Write Read IRD 0x3fff (no automatic negotiation) ORD 0" },
	};
	struct iw_text t;
	char buf[TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		iw_text_init(&t, buf, sizeof(buf));
		iw_wire_mpa_enhanced_print(&t, &rows[i].e);
		assert_string_equal(buf, rows[i].text);
	}
}

/* --- markers --- */

/* MPA-09: RESERVED, then FPDUPTR, 16 bits each. */
static void markers_decode_to_what_was_encoded(void **state)
{
	struct iw_mpa_marker m;
	uint8_t in[4], out[4];
	struct rng r = { 12 };

	(void)state;
	assert_int_equal(
		iw_wire_mpa_marker_decode(&m, figure6 + FIGURE6_MARKER_POS - FIGURE6_POS, 4), 4);
	assert_int_equal(m.reserved, 0);
	assert_int_equal(m.fpduptr, FIGURE6_MARKER_POS - FIGURE6_POS);
	for (size_t len = 0; len < 4; len++)
		assert_int_equal(iw_wire_mpa_marker_decode(&m, figure5, len), 0);
	for (int round = 0; round < 100000; round++) {
		rng_fill(&r, in, sizeof(in));
		assert_int_equal(iw_wire_mpa_marker_decode(&m, in, sizeof(in)), 4);
		assert_int_equal(iw_wire_mpa_marker_encode(out, sizeof(out), &m), 4);
		assert_memory_equal(in, out, 4);
	}
	assert_int_equal(iw_wire_mpa_marker_encode(out, 3, &m), IW_E_INVAL);
}

/* --- lengths of FPDUs --- */

/* MPA-06, MPA-07: length, ULPDU, PAD to four, CRC. */
static void fpdu_is_head_ulpdu_pad_and_crc(void **state)
{
	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(fpdu_vectors); v++) {
		const struct vector *f = &fpdu_vectors[v];
		size_t len = iw_get_be16(f->octets), pad = iw_mpa_pad(len);

		assert_int_equal(iw_mpa_fpdu_len(len), f->len);
		assert_int_equal(IW_MPA_HEAD_LEN + len + pad + IW_MPA_CRC_LEN, f->len);
		for (size_t i = 0; i < pad; i++)
			assert_int_equal(f->octets[IW_MPA_HEAD_LEN + len + i], 0);
	}
	assert_int_equal(iw_mpa_pad(0), 2);
	assert_int_equal(iw_mpa_pad(1), 1);
	assert_int_equal(iw_mpa_pad(2), 0);
	assert_int_equal(iw_mpa_pad(3), 3);
	for (size_t len = 0; len <= 65535; len++) {
		assert_int_equal((IW_MPA_HEAD_LEN + len + iw_mpa_pad(len)) % 4, 0);
		assert_true(iw_mpa_pad(len) < 4);
	}
}

/* RFC 5044 4.3, octet by octet: a marker at each position that is a multiple of 512. */
static size_t walked_len(uint32_t pos, size_t ulpdu_len)
{
	size_t octets = iw_mpa_fpdu_len(ulpdu_len), len = 0;

	while (octets) {
		if ((uint32_t)(pos + len) % 512 == 0)
			len += 4;
		/* up to the next marker or the end */
		do {
			len++;
			octets--;
		} while (octets && (uint32_t)(pos + len) % 512);
	}
	return len;
}

/* RFC 5044 4.3: a marker each 512 octets; one right after a CRC belongs to the next FPDU. */
static void markers_lengthen_an_fpdu_as_the_vectors_do(void **state)
{
	(void)state;
	for (size_t v = 0; v < sizeof(marked_vectors) / sizeof(marked_vectors[0]); v++) {
		assert_int_equal(iw_wire_mpa_fpdu_len_marked(0, marked_vectors[v].ulpdu),
				 marked_vectors[v].total);
		assert_int_equal(walked_len(0, marked_vectors[v].ulpdu), marked_vectors[v].total);
	}
	assert_int_equal(iw_wire_mpa_fpdu_len_marked(0, iw_get_be16(figure5 + 4)), sizeof(figure5));
	assert_int_equal(iw_wire_mpa_fpdu_len_marked(FIGURE6_POS, iw_get_be16(figure6)),
			 sizeof(figure6));
	assert_int_equal(iw_wire_mpa_fpdu_len_marked(512, 18), sizeof(fpdu_behind_512));
	/* figure 6's first FPDU: 492 octets with its marker, a ULPDU of 482 */
	assert_int_equal(iw_wire_mpa_fpdu_len_marked(0, 482), 0x1ec);
}

/* MPA-14: all positions of a block, also where the position wraps. */
static void markers_are_counted_from_every_position(void **state)
{
	static const uint32_t bases[] = { 0, 512 * 1000, 0x80000000, 0xfffffe00, 0xffffff00 };
	static const size_t lens[] = { 0,    1,    2,    14,   18,   22,   482,  498,  502,
				       503,  506,  507,  510,  512,  514,  946,  1010, 1011,
				       1014, 1015, 1018, 1418, 1442, 4096, 65535 };
	struct rng r = { 13 };

	(void)state;
	for (size_t b = 0; b < sizeof(bases) / sizeof(bases[0]); b++)
		for (uint32_t off = 0; off < 1024; off++)
			for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
				if (lens[i] < 2000 || off % 36 == 0)
					assert_int_equal(iw_wire_mpa_fpdu_len_marked(bases[b] + off,
										     lens[i]),
							 walked_len(bases[b] + off, lens[i]));
	for (int round = 0; round < 3000; round++) {
		uint32_t pos = (uint32_t)rng_next(&r);
		size_t len = rng_below(&r, 4000);

		assert_int_equal(iw_wire_mpa_fpdu_len_marked(pos, len), walked_len(pos, len));
	}
}

/* MPA-14: the lengths are the same after the position has wrapped. */
static void wrap_of_the_sequence_space_moves_no_marker(void **state)
{
	(void)state;
	/* 20 octets before the wrap, where a marker is due: it is inside an FPDU of 24 octets */
	assert_int_equal(iw_wire_mpa_fpdu_len_marked(0xffffffecu, 18), 24 + 4);
	/* ends exactly at the wrap: the marker there belongs to the next FPDU */
	assert_int_equal(iw_wire_mpa_fpdu_len_marked(0xffffffe8u, 18), 24);
	assert_int_equal(iw_wire_mpa_fpdu_len_marked(0, 18), 28);
}

/* MPA-23, MPA-24, MPA-02: the formulas of RFC 5044 4.5 and their limits. */
static void mulpdu_follows_the_formulas(void **state)
{
	static const struct {
		size_t emss, marked, plain;
	} rows[] = {
		{ 0, 128, 128 },
		{ 3, 128, 128 },
		{ 127, 128, 128 },
		{ 128, 128, 128 },
		{ 134, 128, 128 },
		{ 136, 128, 130 },
		{ 138, 128, 130 },
		{ 139, 128, 130 },
		{ 140, 130, 134 },
		{ 536, 522, 530 },
		{ 1220, 1202, 1214 },
		{ 1440, 1422, 1434 },
		{ 1448, 1430, 1442 },
		{ 1449, 1430, 1442 },
		{ 1451, 1430, 1442 },
		{ 1452, 1434, 1446 },
		{ 1460, 1442, 1454 },
		{ 8948, 8870, 8942 },
		{ 8960, 8882, 8954 },
		{ 16384, 16250, 16378 },
		{ 64774, 64258, 64766 },
		{ 64776, 64262, 64768 },
		{ 65483, 64768, 64768 },
		{ 100000, 64768, 64768 },
		{ SIZE_MAX, 64768, 64768 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(iw_wire_mpa_mulpdu(rows[i].emss, true), rows[i].marked);
		assert_int_equal(iw_wire_mpa_mulpdu(rows[i].emss, false), rows[i].plain);
	}
}

/*
 * MPA-23: the FPDU of a MULPDU fits in a segment, at any position of the stream.
 */
static void fpdu_of_a_mulpdu_fits_the_emss(void **state)
{
	(void)state;
	for (size_t emss = 152; emss <= 9000; emss++) {
		size_t plain = iw_wire_mpa_mulpdu(emss, false),
		       marked = iw_wire_mpa_mulpdu(emss, true);

		assert_true(iw_mpa_fpdu_len(plain) <= emss);
		assert_true(iw_mpa_fpdu_len(plain + 4) > emss);
		for (uint32_t pos = 0; pos < 512; pos += 4)
			assert_true(iw_wire_mpa_fpdu_len_marked(pos, marked) <= emss);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_distinguish_request_and_reply),
		cmocka_unit_test(frames_encode_with_the_key_of_their_kind),
		cmocka_unit_test(flags_are_where_the_rfc_has_them),
		cmocka_unit_test(frame_needs_its_private_data),
		cmocka_unit_test(private_data_of_any_length_decodes),
		cmocka_unit_test(frame_without_its_private_data_encodes_as_it_came),
		cmocka_unit_test(frames_decode_to_what_was_encoded),
		cmocka_unit_test(frames_print_on_one_line),
		cmocka_unit_test(enhanced_data_are_where_the_rfc_has_them),
		cmocka_unit_test(enhanced_data_decode_to_what_was_encoded),
		cmocka_unit_test(enhanced_data_print_on_one_line),
		cmocka_unit_test(markers_decode_to_what_was_encoded),
		cmocka_unit_test(fpdu_is_head_ulpdu_pad_and_crc),
		cmocka_unit_test(markers_lengthen_an_fpdu_as_the_vectors_do),
		cmocka_unit_test(markers_are_counted_from_every_position),
		cmocka_unit_test(wrap_of_the_sequence_space_moves_no_marker),
		cmocka_unit_test(mulpdu_follows_the_formulas),
		cmocka_unit_test(fpdu_of_a_mulpdu_fits_the_emss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
