// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* DDP headers with the RDMAP control octet, Read Requests, Terminates. */
#include "wire/ddp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "util/num.h"
#include "vectors/mpa.h"
#include "wire/mpa.h"

#define TEXT 600

/* The DDP segment in an FPDU without markers. */
static struct vector segment_of(const struct vector *fpdu)
{
	struct vector s = *fpdu;

	s.octets += IW_MPA_HEAD_LEN;
	s.len = iw_get_be16(fpdu->octets);
	return s;
}

static const char *ddp_text(char buf[TEXT], const struct iw_ddp *h)
{
	struct iw_text t;

	iw_text_init(&t, buf, TEXT);
	iw_wire_ddp_print(&t, h);
	return buf;
}

/* --- DDP header and RDMAP control octet --- */

/* DDP-25: control, RsvdULP, STag, TO. RDMAP-02: RsvdULP is the control octet. */
static void tagged_header_is_14_octets(void **state)
{
	static const uint8_t in[] = {
		0xc1, 0x40, 0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
	};
	struct iw_ddp h;
	uint8_t out[IW_DDP_HDR_MAX];

	(void)state;
	assert_int_equal(iw_ddp_hdr_len(true), 14);
	assert_int_equal(iw_wire_ddp_decode(&h, in, sizeof(in)), 14);
	assert_true(h.tagged);
	assert_true(h.last);
	assert_int_equal(h.rsvd_ddp, 0);
	assert_int_equal(h.dv, 1);
	assert_int_equal(h.rv, 1);
	assert_int_equal(h.rsvd_rdmap, 0);
	assert_int_equal(h.opcode, IW_OP_WRITE);
	assert_true(h.stag == 0x01020304);
	assert_true(h.to == 0x1112131415161718);
	assert_int_equal(h.qn | h.msn | h.mo | h.inval_stag, 0);
	assert_int_equal(iw_wire_ddp_encode(out, sizeof(out), &h), 14);
	assert_memory_equal(in, out, sizeof(in));
}

/*
 * DDP-34: control, RsvdULP of five octets, QN, MSN, MO. RDMAP-05: the Invalidate STag in RsvdULP.
 */
static void untagged_header_is_18_octets(void **state)
{
	static const uint8_t in[] = {
		0x01, 0x44, 0xa1, 0xa2, 0xa3, 0xa4, 0x00, 0x00, 0x01,
		0x02, 0xb1, 0xb2, 0xb3, 0xb4, 0xc1, 0xc2, 0xc3, 0xc4,
	};
	struct iw_ddp h;
	uint8_t out[IW_DDP_HDR_MAX];

	(void)state;
	assert_int_equal(iw_ddp_hdr_len(false), 18);
	assert_int_equal(iw_wire_ddp_decode(&h, in, sizeof(in)), 18);
	assert_false(h.tagged);
	assert_false(h.last);
	assert_int_equal(h.opcode, IW_OP_SEND_INV);
	assert_true(h.inval_stag == 0xa1a2a3a4);
	assert_true(h.qn == 0x0102);
	assert_true(h.msn == 0xb1b2b3b4);
	assert_true(h.mo == 0xc1c2c3c4);
	assert_true(h.stag == 0 && h.to == 0);
	assert_int_equal(iw_wire_ddp_encode(out, sizeof(out), &h), 18);
	assert_memory_equal(in, out, sizeof(in));
}

/* DDP-22, RDMAP-02, RDMAP-03: the place of each bit of the control octets; no value is an error. */
static void control_octets_are_where_the_rfcs_have_them(void **state)
{
	uint8_t in[IW_DDP_HDR_MAX] = { 0 }, out[IW_DDP_HDR_MAX];
	struct iw_ddp h;

	(void)state;
	for (unsigned ddp = 0; ddp <= 0xff; ddp++)
		for (unsigned ulp = 0; ulp <= 0xff; ulp++) {
			int n = ddp & 0x80 ? 14 : 18;

			in[0] = (uint8_t)ddp;
			in[1] = (uint8_t)ulp;
			assert_int_equal(iw_wire_ddp_decode(&h, in, sizeof(in)), n);
			assert_int_equal(h.tagged, ddp >> 7);
			assert_int_equal(h.last, ddp >> 6 & 1);
			assert_int_equal(h.rsvd_ddp, ddp >> 2 & 0xf);
			assert_int_equal(h.dv, ddp & 3);
			assert_int_equal(h.rv, ulp >> 6);
			assert_int_equal(h.rsvd_rdmap, ulp >> 4 & 3);
			assert_int_equal(h.opcode, ulp & 0xf);
			assert_int_equal(iw_wire_ddp_encode(out, sizeof(out), &h), n);
			assert_memory_equal(in, out, (size_t)n);
		}
}

/* Excess high bits of a field do not change other fields. */
static void fields_do_not_change_their_neighbours(void **state)
{
	struct iw_ddp h = { .rsvd_ddp = 0xf0, .dv = 0xfc, .rv = 0xfc, .rsvd_rdmap = 0xfc };
	uint8_t out[IW_DDP_HDR_MAX];

	(void)state;
	h.opcode = 0xf0;
	assert_int_equal(iw_wire_ddp_encode(out, sizeof(out), &h), 18);
	assert_int_equal(out[0], 0);
	assert_int_equal(out[1], 0);
}

/* RFC 5040 figure 4, RFC 7306 figure 2 */
static void control_octets_of_each_message_are_those_of_figure_4(void **state)
{
	static const struct {
		uint8_t opcode;
		bool tagged;
		uint16_t control;
		const char *name;
	} rows[] = {
		{ IW_OP_WRITE, true, 0xc140, "RDMA Write" },
		{ IW_OP_RREQ, false, 0x4141, "RDMA Read Request" },
		{ IW_OP_RRESP, true, 0xc142, "RDMA Read Response" },
		{ IW_OP_SEND, false, 0x4143, "Send" },
		{ IW_OP_SEND_INV, false, 0x4144, "Send with Invalidate" },
		{ IW_OP_SEND_SE, false, 0x4145, "Send with Solicited Event" },
		{ IW_OP_SEND_SE_INV, false, 0x4146, "Send with Solicited Event and Invalidate" },
		{ IW_OP_TERM, false, 0x4147, "Terminate" },
		{ IW_OP_IMM, false, 0x4148, "Immediate Data" },
		{ IW_OP_IMM_SE, false, 0x4149, "Immediate Data with Solicited Event" },
		{ IW_OP_ATOMIC_REQ, false, 0x414a, "Atomic Request" },
		{ IW_OP_ATOMIC_RSP, false, 0x414b, "Atomic Response" },
	};
	uint8_t out[IW_DDP_HDR_MAX];

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_ddp h = { .tagged = rows[i].tagged, .last = true, .dv = 1, .rv = 1 };

		h.opcode = rows[i].opcode;
		assert_true(iw_wire_ddp_encode(out, sizeof(out), &h) > 0);
		assert_int_equal(iw_get_be16(out), rows[i].control);
		h.last = false;
		assert_true(iw_wire_ddp_encode(out, sizeof(out), &h) > 0);
		assert_int_equal(iw_get_be16(out), rows[i].control & ~0x4000);
		assert_string_equal(iw_opcode_name(rows[i].opcode), rows[i].name);
	}
	for (unsigned op = 12; op <= 0xff; op++)
		assert_string_equal(iw_opcode_name((uint8_t)op), "unassigned");
}

/* RFC 5040 figure 4, RFC 7306 figure 2 */
static void each_opcode_has_its_model_queue_and_length(void **state)
{
	static const struct {
		uint8_t opcode;
		bool tagged, invalidates;
		uint8_t qn;
		int len; /* -1: any */
	} rows[] = {
		{ IW_OP_WRITE, true, false, 0, -1 },
		{ IW_OP_RREQ, false, false, 1, 28 },
		{ IW_OP_RRESP, true, false, 0, -1 },
		{ IW_OP_SEND, false, false, 0, -1 },
		{ IW_OP_SEND_INV, false, true, 0, -1 },
		{ IW_OP_SEND_SE, false, false, 0, -1 },
		{ IW_OP_SEND_SE_INV, false, true, 0, -1 },
		{ IW_OP_IMM, false, false, 0, 8 },
		{ IW_OP_IMM_SE, false, false, 0, 8 },
		{ IW_OP_ATOMIC_REQ, false, false, 1, 52 },
		{ IW_OP_ATOMIC_RSP, false, false, 3, 12 },
	};
	const struct iw_opcode_info *term = iw_opcode_info(IW_OP_TERM);

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		const struct iw_opcode_info *op = iw_opcode_info(rows[i].opcode);

		assert_true(op->assigned);
		assert_int_equal(op->tagged, rows[i].tagged);
		assert_int_equal(op->invalidates, rows[i].invalidates);
		assert_int_equal(op->qn, rows[i].qn);
		assert_int_equal(op->payload_min, rows[i].len < 0 ? 0 : rows[i].len);
		assert_int_equal(op->payload_max, rows[i].len < 0 ? IW_OP_ANY_LEN : rows[i].len);
	}
	assert_false(term->tagged);
	assert_int_equal(term->qn, 2);
	assert_int_equal(term->payload_min, 4);
	assert_int_equal(term->payload_max, 52);
	for (unsigned op = 12; op <= 0xff; op++)
		assert_false(iw_opcode_info((uint8_t)op)->assigned);
}

static void header_cut_anywhere_needs_more(void **state)
{
	struct iw_ddp h;

	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(fpdu_vectors); v++) {
		struct vector s = segment_of(&fpdu_vectors[v]);
		size_t hdr = iw_ddp_hdr_len(s.octets[0] & 0x80);

		for (size_t len = 0; len <= s.len; len++) {
			uint8_t *exact = malloc(len ? len : 1);

			assert_non_null(exact);
			memcpy(exact, s.octets, len);
			assert_int_equal(iw_wire_ddp_decode(&h, exact, len), len < hdr ? 0 : hdr);
			free(exact);
		}
	}
}

static void headers_decode_to_what_was_encoded(void **state)
{
	uint8_t in[IW_DDP_HDR_MAX], out[IW_DDP_HDR_MAX];
	struct rng r = { 20 };
	struct iw_ddp h;

	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(fpdu_vectors); v++) {
		struct vector s = segment_of(&fpdu_vectors[v]);
		int n = iw_wire_ddp_decode(&h, s.octets, s.len);

		assert_true(n > 0);
		assert_int_equal(iw_wire_ddp_encode(out, sizeof(out), &h), n);
		assert_memory_equal(out, s.octets, (size_t)n);
		for (int cap = 0; cap < n; cap++)
			assert_int_equal(iw_wire_ddp_encode(out, (size_t)cap, &h), IW_E_INVAL);
	}
	for (int round = 0; round < 200000; round++) {
		int n;

		rng_fill(&r, in, sizeof(in));
		n = iw_wire_ddp_decode(&h, in, sizeof(in));
		assert_int_equal(n, in[0] & 0x80 ? 14 : 18);
		assert_int_equal(iw_wire_ddp_encode(out, sizeof(out), &h), n);
		assert_memory_equal(in, out, (size_t)n);
	}
}

static void headers_print_in_rfc_words(void **state)
{
	static const char *const texts[VECTOR_COUNT(fpdu_vectors)] = {
		"RDMA Write L STag 0x00000001 TO 0x0",
		"Send L MSN 1 MO 0",
		"RDMA Read Request L MSN 1 MO 0",
		"Send L MSN 1 MO 0",
		"Send with Solicited Event and Invalidate L MSN 2 MO 0 Invalidate STag 0x11223344",
		"RDMA Write L STag 0x01020304 TO 0x10",
		"Terminate L MSN 1 MO 0",
		"Terminate L MSN 1 MO 0",
	};
	static const struct {
		struct iw_ddp h;
		const char *text;
	} odd[] = {
		{ { .dv = 1, .rv = 1, .opcode = IW_OP_SEND, .msn = 7, .mo = 1424 },
		  "Send MSN 7 MO 1424" },
		{ { .dv = 1, .rv = 1, .opcode = IW_OP_SEND, .qn = 5, .inval_stag = 9 },
		  "Send QN 5 MSN 0 MO 0 Invalidate STag 0x00000009" },
		{ { .dv = 1, .rv = 1, .opcode = IW_OP_SEND_INV },
		  "Send with Invalidate MSN 0 MO 0 Invalidate STag 0x00000000" },
		{ { .tagged = true, .dv = 0, .rv = 0, .opcode = IW_OP_RRESP, .to = UINT64_MAX },
		  "RDMA Read Response STag 0x00000000 TO 0xffffffffffffffff DV 0 RV 0" },
		/* a tagged opcode in an untagged segment is printed with its queue */
		{ { .dv = 1, .rv = 1, .opcode = IW_OP_WRITE }, "RDMA Write QN 0 MSN 0 MO 0" },
		{ { .rsvd_ddp = 15, .dv = 3, .rv = 2, .rsvd_rdmap = 3, .opcode = 15, .qn = 255 },
		  "unassigned opcode 0xf QN 255 MSN 0 MO 0 DV 3 RV 2 Rsvd 0xf Rsv 0x3" },
	};
	struct iw_ddp h;
	char buf[TEXT];

	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(fpdu_vectors); v++) {
		struct vector s = segment_of(&fpdu_vectors[v]);

		assert_true(iw_wire_ddp_decode(&h, s.octets, s.len) > 0);
		assert_string_equal(ddp_text(buf, &h), texts[v]);
	}
	for (size_t i = 0; i < IW_ARRAY_LEN(odd); i++)
		assert_string_equal(ddp_text(buf, &odd[i].h), odd[i].text);
}

/* --- RDMA Read Request --- */

/* RDMAP-06 */
static void read_request_is_28_octets(void **state)
{
	static const uint8_t in[] = {
		0x01, 0x02, 0x03, 0x04,                         /* Data Sink STag */
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, /* Data Sink TO */
		0x21, 0x22, 0x23, 0x24,                         /* RDMA Read Message Size */
		0x31, 0x32, 0x33, 0x34,                         /* Data Source STag */
		0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, /* Data Source TO */
	};
	struct iw_rreq q;
	uint8_t out[IW_RDMAP_RREQ_LEN];
	struct iw_text t;
	char buf[TEXT];

	(void)state;
	for (size_t len = 0; len < sizeof(in); len++)
		assert_int_equal(iw_rreq_decode(&q, in, len), 0);
	assert_int_equal(iw_rreq_decode(&q, in, sizeof(in)), 28);
	assert_true(q.sink_stag == 0x01020304);
	assert_true(q.sink_to == 0x1112131415161718);
	assert_true(q.size == 0x21222324);
	assert_true(q.src_stag == 0x31323334);
	assert_true(q.src_to == 0x4142434445464748);
	assert_int_equal(iw_rreq_encode(out, sizeof(out), &q), 28);
	assert_memory_equal(in, out, sizeof(in));
	assert_int_equal(iw_rreq_encode(out, sizeof(out) - 1, &q), IW_E_INVAL);
	iw_text_init(&t, buf, sizeof(buf));
	iw_rreq_print(&t, &q);
	assert_string_equal(buf, "Data Sink STag 0x01020304 TO 0x1112131415161718 "
				 "RDMA Read Message Size 555885348 "
				 "Data Source STag 0x31323334 TO 0x4142434445464748");
}

static void read_requests_decode_to_what_was_encoded(void **state)
{
	uint8_t in[IW_RDMAP_RREQ_LEN], out[IW_RDMAP_RREQ_LEN];
	struct rng r = { 21 };
	struct iw_rreq q;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		rng_fill(&r, in, sizeof(in));
		assert_int_equal(iw_rreq_decode(&q, in, sizeof(in)), 28);
		assert_int_equal(iw_rreq_encode(out, sizeof(out), &q), 28);
		assert_memory_equal(in, out, sizeof(in));
	}
}

/* --- Terminate --- */

/*
 * RDMAP-07: layer in the high half of octet 0, error type in the low one; HdrCt from the high bit.
 */
static void terminate_control_is_where_the_rfc_has_it(void **state)
{
	struct iw_terminate m;
	uint8_t in[4] = { 0 }, out[4];

	(void)state;
	for (unsigned b = 0; b <= 0xff; b++) {
		in[0] = (uint8_t)b;
		in[1] = (uint8_t)(b + 1);
		/* M and D need a DDP Segment Length: only R and the reserved bits */
		in[2] = b & 0x3f;
		in[3] = (uint8_t)~b;
		assert_int_equal(iw_terminate_decode(&m, in, sizeof(in)), 4);
		assert_int_equal(m.layer, b >> 4);
		assert_int_equal(m.etype, b & 0xf);
		assert_int_equal(m.code, (b + 1) & 0xff);
		assert_false(m.m);
		assert_false(m.d);
		assert_int_equal(m.r, b >> 5 & 1);
		assert_int_equal(m.rsvd_bits, b & 0x1f);
		assert_int_equal(m.rsvd, ~b & 0xff);
		assert_int_equal(iw_terminate_encode(out, sizeof(out), &m), 4);
		assert_memory_equal(in, out, 4);
	}
}

/* A quirk of Linux siw: layer and error type are exchanged. */
static void terminate_in_the_order_of_siw_is_distinguished_from_that_of_the_rfc(void **state)
{
	static const struct {
		uint8_t octets[4];
		bool siw;
		uint8_t layer, etype;
	} rows[] = {
		{ { 0x10, 0x00, 0x07, 0x00 }, true, 0, 1 },
		{ { 0x21, 0x02, 0x03, 0x00 }, true, 1, 2 },
		{ { 0x21, 0x02, 0x00, 0x00 }, true, 1, 2 },
		{ { 0x11, 0x01, 0x03, 0x00 }, true, 1, 1 },
		{ { 0x00, 0xff, 0x03, 0x00 }, true, 0, 0 },
		/* Both readings are valid. */
		{ { 0x01, 0x00, 0xe0, 0x00 }, false, 0, 0 },
		{ { 0x10, 0x00, 0x00, 0x00 }, false, 0, 0 },
		{ { 0x20, 0x07, 0x00, 0x00 }, false, 0, 0 },
		/* Neither reading is valid. */
		{ { 0x21, 0x77, 0x07, 0x00 }, false, 0, 0 },
		{ { 0x21, 0x02, 0x0b, 0x00 }, false, 0, 0 },
		{ { 0x21, 0x02, 0x03, 0x01 }, false, 0, 0 },
	};
	struct iw_terminate m, meant;

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		assert_int_equal(iw_terminate_decode(&m, rows[i].octets, 4), 4);
		assert_int_equal(iw_terminate_decode_siw(&meant, &m, rows[i].octets, 4),
				 rows[i].siw);
		if (!rows[i].siw)
			continue;
		assert_int_equal(meant.layer, rows[i].layer);
		assert_int_equal(meant.etype, rows[i].etype);
		assert_int_equal(meant.code, rows[i].octets[1]);
		assert_int_equal(meant.m, rows[i].octets[2] & 1);
	}
	/* Too short to decide. */
	assert_int_equal(iw_terminate_decode(&m, rows[0].octets, 3), 0);
	assert_false(iw_terminate_decode_siw(&meant, &m, rows[0].octets, 3));
}

/* RDMAP-07, RDMAP-08: the headers that M, D and R announce, in this order and without gaps. */
static void terminate_carries_what_its_bits_announce(void **state)
{
	struct iw_terminate m;

	(void)state;
	assert_int_equal(iw_terminate_decode(&m, terminate_read, sizeof(terminate_read)), 52);
	assert_true(m.m && m.d && m.r);
	assert_int_equal(m.ddp_len, 46);
	assert_int_equal(m.ddp_hdr_len, 18);
	assert_memory_equal(m.ddp, terminate_read + 6, 18);
	assert_true(m.has_rreq);
	assert_true(m.rreq.sink_stag == 0x7d8afc00);
	assert_true(m.rreq.size == 16);
	assert_true(m.rreq.src_to == 0x55c1de0c5000);
	assert_int_equal(sizeof(terminate_read), IW_RDMAP_TERM_MAX);

	assert_int_equal(iw_terminate_decode(&m, terminate_send, sizeof(terminate_send)), 24);
	assert_true(m.m && m.d && !m.r);
	assert_int_equal(m.ddp_hdr_len, 18);
	assert_false(m.has_rreq);

	/* T shows that the copied header is tagged, with 14 octets */
	assert_int_equal(iw_terminate_decode(&m, fpdu_terminate_stag + 2 + 18, 20), 20);
	assert_int_equal(m.layer, 1);
	assert_int_equal(m.etype, 1);
	assert_int_equal(m.code, 0);
	assert_int_equal(m.ddp_len, 22);
	assert_int_equal(m.ddp_hdr_len, 14);

	/* RFC 5040 4.8: the length MUST be present when the D bit is set */
	assert_int_equal(iw_terminate_decode(&m, terminate_d_only, sizeof(terminate_d_only)), 20);
	assert_true(!m.m && m.d);
	assert_int_equal(m.ddp_hdr_len, 14);

	assert_int_equal(iw_terminate_decode(&m, terminate_odd, sizeof(terminate_odd)), 32);
	assert_true(!m.m && !m.d && m.r);
	assert_true(m.has_rreq);
	assert_int_equal(m.rsvd_bits, 0x1f);

	assert_int_equal(iw_terminate_decode(&m, fpdu_terminate_ird + 2 + 18, 4), 4);
	assert_int_equal(m.layer, 2);
	assert_int_equal(m.etype, 0);
	assert_int_equal(m.code, 6);
}

static void headers_announced_but_missing_are_absent(void **state)
{
	struct iw_terminate m;

	(void)state;
	assert_int_equal(iw_terminate_decode(&m, terminate_r_without_rreq,
					     sizeof(terminate_r_without_rreq)),
			 24);
	assert_true(m.r);
	assert_false(m.has_rreq);
	assert_int_equal(m.ddp_hdr_len, 18);
	/* with the bits exchanged no header is announced, so the octets that follow are not
	 * decoded */
	assert_int_equal(iw_terminate_decode(&m, terminate_siw_read, sizeof(terminate_siw_read)),
			 4);
	assert_true(!m.m && !m.d && !m.r);
	assert_int_equal(m.rsvd_bits, 7);
}

/*
 * All lengths of all vectors: only complete headers are decoded, and they encode to the same
 * octets.
 */
static void terminate_cut_anywhere_gives_its_whole_parts(void **state)
{
	struct iw_terminate m;
	uint8_t out[IW_RDMAP_TERM_MAX];

	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(terminate_vectors); v++)
		for (size_t len = 0; len <= terminate_vectors[v].len; len++) {
			uint8_t *exact = malloc(len ? len : 1);
			int n;

			assert_non_null(exact);
			memcpy(exact, terminate_vectors[v].octets, len);
			n = iw_terminate_decode(&m, exact, len);
			if (len < IW_RDMAP_TERM_MIN) {
				assert_int_equal(n, 0);
			} else {
				assert_in_range(n, IW_RDMAP_TERM_MIN, len);
				assert_int_equal(iw_terminate_encode(out, sizeof(out), &m), n);
				assert_memory_equal(out, exact, (size_t)n);
			}
			free(exact);
		}
}

static void terminates_decode_to_what_was_encoded(void **state)
{
	uint8_t in[64], out[IW_RDMAP_TERM_MAX];
	struct rng r = { 22 };
	struct iw_terminate m;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		size_t len = rng_below(&r, sizeof(in) + 1);
		int n;

		rng_fill(&r, in, sizeof(in));
		n = iw_terminate_decode(&m, in, len);
		if (len < IW_RDMAP_TERM_MIN) {
			assert_int_equal(n, 0);
			continue;
		}
		assert_in_range(n, IW_RDMAP_TERM_MIN, len);
		assert_int_equal(iw_terminate_encode(out, sizeof(out), &m), n);
		assert_memory_equal(in, out, (size_t)n);
		for (int cap = 0; cap < n; cap++)
			assert_int_equal(iw_terminate_encode(out, (size_t)cap, &m), IW_E_INVAL);
	}
}

static void terminate_with_an_impossible_header_length_is_refused(void **state)
{
	struct iw_terminate m = { .m = true, .d = true, .ddp_hdr_len = IW_DDP_HDR_MAX + 1 };
	uint8_t out[300];

	(void)state;
	assert_int_equal(iw_terminate_encode(out, sizeof(out), &m), IW_E_INVAL);
	m.ddp_hdr_len = 255;
	assert_int_equal(iw_terminate_encode(out, sizeof(out), &m), IW_E_INVAL);
	m.ddp_hdr_len = IW_DDP_HDR_MAX;
	assert_int_equal(iw_terminate_encode(out, sizeof(out), &m), 24);
}

static void terminates_print_in_rfc_words(void **state)
{
	static const char *const texts[VECTOR_COUNT(terminate_vectors)] = {
		"Terminate DDP local catastrophic error Reserved 0x0700",
		"Terminate RDMAP remote protection error: invalid STag M D R DDP Segment Length 46 "
		"of RDMA Read Request L MSN 1 MO 0 Data Sink STag 0x7d8afc00 TO 0x55b0db90c000 "
		"RDMA Read Message Size 16 Data Source STag 0x1221ae00 TO 0x55c1de0c5000",
		"Terminate DDP untagged buffer error: invalid MSN: no buffer available M D "
		"DDP Segment Length 18 of Send L MSN 1 MO 0",
		"Terminate RDMAP remote protection error: STag cannot be Invalidated M D R "
		"DDP Segment Length 18 of Send with Invalidate L MSN 1 MO 0 "
		"Invalidate STag 0x00000005",
		"Terminate DDP untagged buffer error: invalid MSN: range is not valid D "
		"DDP Segment Length 0 of RDMA Write L STag 0x00000007 TO 0x0",
		"Terminate layer 15 type 15 code 0xff R Reserved 0x1fff Data Sink STag 0x00000001 "
		"TO 0x2 RDMA Read Message Size 3 Data Source STag 0x00000004 TO 0x5",
	};
	struct iw_terminate m;
	struct iw_text t;
	char buf[TEXT];

	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(terminate_vectors); v++) {
		assert_true(iw_terminate_decode(&m, terminate_vectors[v].octets,
						terminate_vectors[v].len) > 0);
		iw_text_init(&t, buf, sizeof(buf));
		iw_terminate_print(&t, &m);
		assert_string_equal(buf, texts[v]);
	}
	/* M is set, but the octets end before the length */
	assert_int_equal(iw_terminate_decode(&m, (const uint8_t *)"\x20\x02\x80\x00\x00", 5), 4);
	iw_text_init(&t, buf, sizeof(buf));
	iw_terminate_print(&t, &m);
	assert_string_equal(buf, "Terminate LLP error: MPA CRC error M");
}

static void triplets_print_layer_type_and_error(void **state)
{
	static const struct {
		uint32_t term;
		const char *text;
	} rows[] = {
		{ IW_TERM(0, 0, 0x00), "RDMAP local catastrophic error" },
		{ IW_TERM(0, 0, 0xff), "RDMAP local catastrophic error" },
		{ IW_TERM(0, 1, 0x01), "RDMAP remote protection error: base or bounds violation" },
		{ IW_TERM(0, 2, 0x06), "RDMAP remote operation error: unexpected OpCode" },
		{ IW_TERM(1, 0, 0x00), "DDP local catastrophic error" },
		{ IW_TERM(1, 1, 0x01), "DDP tagged buffer error: base or bounds violation" },
		{ IW_TERM(1, 2, 0x01), "DDP untagged buffer error: invalid QN" },
		{ IW_TERM(2, 0, 0x02), "LLP error: MPA CRC error" },
		{ IW_TERM(2, 0, 0x07), "LLP error: no matching RTR option" },
		{ IW_TERM(1, 1, 0x7f), "layer 1 type 1 code 0x7f" },
		{ IW_TERM(1, 0, 0x01), "layer 1 type 0 code 0x01" },
		{ IW_TERM(3, 0, 0x00), "layer 3 type 0 code 0x00" },
	};
	struct iw_text t;
	char buf[TEXT];

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		iw_text_init(&t, buf, sizeof(buf));
		iw_wire_term_print(&t, rows[i].term);
		assert_string_equal(buf, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tagged_header_is_14_octets),
		cmocka_unit_test(untagged_header_is_18_octets),
		cmocka_unit_test(control_octets_are_where_the_rfcs_have_them),
		cmocka_unit_test(fields_do_not_change_their_neighbours),
		cmocka_unit_test(control_octets_of_each_message_are_those_of_figure_4),
		cmocka_unit_test(each_opcode_has_its_model_queue_and_length),
		cmocka_unit_test(header_cut_anywhere_needs_more),
		cmocka_unit_test(headers_decode_to_what_was_encoded),
		cmocka_unit_test(headers_print_in_rfc_words),
		cmocka_unit_test(read_request_is_28_octets),
		cmocka_unit_test(read_requests_decode_to_what_was_encoded),
		cmocka_unit_test(terminate_control_is_where_the_rfc_has_it),
		cmocka_unit_test(terminate_carries_what_its_bits_announce),
		cmocka_unit_test(
			terminate_in_the_order_of_siw_is_distinguished_from_that_of_the_rfc),
		cmocka_unit_test(headers_announced_but_missing_are_absent),
		cmocka_unit_test(terminate_cut_anywhere_gives_its_whole_parts),
		cmocka_unit_test(terminates_decode_to_what_was_encoded),
		cmocka_unit_test(terminate_with_an_impossible_header_length_is_refused),
		cmocka_unit_test(terminates_print_in_rfc_words),
		cmocka_unit_test(triplets_print_layer_type_and_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
