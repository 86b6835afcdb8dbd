// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Each table of header fields agrees with the codec of its header, and includes all bits. */
#include "wire/field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <iwarp/err.h>

#include "util/num.h"
#include "wire/atomic.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/sctp.h"
#include "wire/sctpddp.h"

#define HDR_MAX 64

struct value {
	const char *name;
	uint64_t v; /* of a field of more than 8 octets: ignored */
};

static size_t first_bit(const struct iw_field *f)
{
	return f->off * 8u + f->bit;
}

static size_t width(const struct iw_field *f)
{
	return f->bits ? f->bits : f->len * 8u;
}

/* Writes the low bits of v to the field, bit by bit. A field of more than 8 octets repeats the bits
 * of v. */
static void put(uint8_t *hdr, const struct iw_field *f, uint64_t v)
{
	size_t end = first_bit(f) + width(f);

	for (size_t i = 0; i < width(f); i++) {
		size_t at = end - 1 - i;

		if (v >> i % 64 & 1)
			hdr[at / 8] |= (uint8_t)(0x80u >> at % 8);
	}
}

/*
 * value has all fields of the header in their order, and the codec has encoded the values to hdr.
 * The table must read the same values there, and must write the same octets.
 */
static void agree(const struct iw_layout *l, const uint8_t *hdr, const struct value *value,
		  size_t n)
{
	uint8_t own[HDR_MAX] = { 0 };

	assert_int_equal(l->fields, n);
	for (size_t i = 0; i < n; i++) {
		const struct iw_field *f = &l->field[i];

		assert_string_equal(f->name, value[i].name);
		if (f->len > 8) {
			memcpy(own + f->off, hdr + f->off, f->len);
			continue;
		}
		assert_true(iw_wire_field_get(f, hdr) == value[i].v);
		put(own, f, value[i].v);
	}
	assert_memory_equal(own, hdr, l->len);
}
#define AGREE(layout, hdr, ...)                                                                    \
	do {                                                                                       \
		static const struct value value_[] = { __VA_ARGS__ };                              \
                                                                                                   \
		agree(layout, hdr, value_, IW_ARRAY_LEN(value_));                                  \
	} while (0)

/* Decodes a header and encodes the result. */
typedef void turn_fn(uint8_t *dst, const uint8_t *src);

/*
 * For each field: sets all of its bits in base, decodes and encodes. The octets must not change, so
 * that the codec uses exactly the bits of the table. fixed: a field that the codec needs as in
 * base.
 */
static void turn(const struct iw_layout *l, turn_fn *fn, const uint8_t *base, const char *fixed)
{
	for (size_t i = 0; i < l->fields; i++) {
		uint8_t src[HDR_MAX], back[HDR_MAX] = { 0 };

		if (fixed && strcmp(l->field[i].name, fixed) == 0)
			continue;
		memcpy(src, base, l->len);
		put(src, &l->field[i], UINT64_MAX);
		fn(back, src);
		assert_memory_equal(back, src, l->len);
	}
}

static void turn_frame(uint8_t *dst, const uint8_t *src)
{
	struct iw_mpa_frame f;

	(void)iw_wire_mpa_frame_decode(&f, src, IW_MPA_FRAME_LEN);
	assert_int_equal(iw_wire_mpa_frame_encode(dst, HDR_MAX, &f), IW_MPA_FRAME_LEN);
}

static void mpa_frame_codec_and_table_agree(void **state)
{
	const struct iw_mpa_frame in = { .kind = IW_MPA_REQUEST,
					 .flags = IW_MPA_M | IW_MPA_R | 0x5,
					 .rev = 0x6b,
					 .pd_len = 0x1a2b };
	static const uint8_t base[IW_MPA_FRAME_LEN];
	uint8_t hdr[HDR_MAX];
	struct iw_mpa_frame out;

	(void)state;
	assert_int_equal(iw_wire_mpa_frame_encode(hdr, sizeof(hdr), &in), IW_MPA_FRAME_LEN);
	AGREE(&iw_wire_layout_mpa_frame, hdr, { "Key", 0 }, { "M", 1 }, { "C", 0 }, { "R", 1 },
	      { "S", 0 }, { "Res", 5 }, { "Rev", 0x6b }, { "PD_Length", 0x1a2b });
	(void)iw_wire_mpa_frame_decode(&out, hdr, IW_MPA_FRAME_LEN);
	assert_int_equal(out.kind, in.kind);
	assert_int_equal(out.flags, in.flags);
	assert_int_equal(out.rev, in.rev);
	assert_int_equal(out.pd_len, in.pd_len);
	turn(&iw_wire_layout_mpa_frame, turn_frame, base, NULL);
}

static void turn_enhanced(uint8_t *dst, const uint8_t *src)
{
	struct iw_mpa_enhanced e;

	assert_int_equal(iw_wire_mpa_enhanced_decode(&e, src, IW_MPA_ENHANCED_LEN), 4);
	assert_int_equal(iw_wire_mpa_enhanced_encode(dst, HDR_MAX, &e), 4);
}

static void mpa_enhanced_codec_and_table_agree(void **state)
{
	const struct iw_mpa_enhanced in = {
		.rtr_send = true, .rtr_write = true, .ird = 0x1234, .ord = 0x2bcd
	};
	static const uint8_t base[IW_MPA_ENHANCED_LEN];
	struct iw_mpa_enhanced out;
	uint8_t hdr[HDR_MAX];

	(void)state;
	assert_int_equal(iw_wire_mpa_enhanced_encode(hdr, sizeof(hdr), &in), 4);
	AGREE(&iw_wire_layout_mpa_enhanced, hdr, { "A", 0 }, { "B", 1 }, { "IRD", 0x1234 },
	      { "C", 1 }, { "D", 0 }, { "ORD", 0x2bcd });
	assert_int_equal(iw_wire_mpa_enhanced_decode(&out, hdr, 4), 4);
	assert_false(out.peer_to_peer);
	assert_true(out.rtr_send && out.rtr_write);
	assert_false(out.rtr_read);
	assert_int_equal(out.ird, in.ird);
	assert_int_equal(out.ord, in.ord);
	turn(&iw_wire_layout_mpa_enhanced, turn_enhanced, base, NULL);
}

static void turn_marker(uint8_t *dst, const uint8_t *src)
{
	struct iw_mpa_marker m;

	assert_int_equal(iw_wire_mpa_marker_decode(&m, src, IW_MPA_MARKER_LEN), 4);
	assert_int_equal(iw_wire_mpa_marker_encode(dst, HDR_MAX, &m), 4);
}

static void mpa_marker_codec_and_table_agree(void **state)
{
	const struct iw_mpa_marker in = { .reserved = 0x1234, .fpduptr = 0xabcd };
	static const uint8_t base[IW_MPA_MARKER_LEN];
	struct iw_mpa_marker out;
	uint8_t hdr[HDR_MAX];

	(void)state;
	assert_int_equal(iw_wire_mpa_marker_encode(hdr, sizeof(hdr), &in), 4);
	AGREE(&iw_wire_layout_mpa_marker, hdr, { "RESERVED", 0x1234 }, { "FPDUPTR", 0xabcd });
	assert_int_equal(iw_wire_mpa_marker_decode(&out, hdr, 4), 4);
	assert_int_equal(out.reserved, in.reserved);
	assert_int_equal(out.fpduptr, in.fpduptr);
	turn(&iw_wire_layout_mpa_marker, turn_marker, base, NULL);
}

/* These three have no codec: their users read them with iw_get_be16() and others. */
static void a_header_of_one_field_is_one_number(void **state)
{
	static const uint8_t hdr[] = { 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0 };

	(void)state;
	AGREE(&iw_wire_layout_mpa_fpdu, hdr, { "ULPDU_Length", 0x1234 });
	AGREE(&iw_wire_layout_mpa_crc, hdr, { "CRC", 0x12345678 });
	AGREE(&iw_wire_layout_immediate, hdr, { "Immediate Data", 0x123456789abcdef0 });
	assert_int_equal(iw_wire_layout_mpa_fpdu.len, IW_MPA_HEAD_LEN);
	assert_int_equal(iw_wire_layout_mpa_crc.len, IW_MPA_CRC_LEN);
	assert_int_equal(iw_wire_layout_immediate.len, IW_RDMAP_IMM_LEN);
}

static void turn_ddp(uint8_t *dst, const uint8_t *src)
{
	struct iw_ddp h;
	int n = iw_wire_ddp_decode(&h, src, IW_DDP_UNTAGGED_LEN);

	assert_true(n > 0);
	assert_int_equal(iw_wire_ddp_encode(dst, HDR_MAX, &h), n);
}

static void ddp_tagged_codec_and_table_agree(void **state)
{
	const struct iw_ddp in = { .tagged = true,
				   .rsvd_ddp = 0xa,
				   .dv = 2,
				   .rv = 3,
				   .rsvd_rdmap = 1,
				   .opcode = 9,
				   .stag = 0x11121314,
				   .to = 0x2122232425262728 };
	static const uint8_t base[IW_DDP_UNTAGGED_LEN] = { 0x80 };
	uint8_t hdr[HDR_MAX];
	struct iw_ddp out;

	(void)state;
	assert_int_equal(iw_wire_ddp_encode(hdr, sizeof(hdr), &in), IW_DDP_TAGGED_LEN);
	AGREE(&iw_wire_layout_ddp_tagged, hdr, { "T", 1 }, { "L", 0 }, { "Rsvd", 0xa }, { "DV", 2 },
	      { "RV", 3 }, { "Rsv", 1 }, { "Opcode", 9 }, { "STag", 0x11121314 },
	      { "TO", 0x2122232425262728 });
	assert_int_equal(iw_wire_ddp_decode(&out, hdr, IW_DDP_TAGGED_LEN), IW_DDP_TAGGED_LEN);
	assert_true(out.tagged);
	assert_false(out.last);
	assert_int_equal(out.rsvd_ddp, in.rsvd_ddp);
	assert_int_equal(out.dv, in.dv);
	assert_int_equal(out.rv, in.rv);
	assert_int_equal(out.rsvd_rdmap, in.rsvd_rdmap);
	assert_int_equal(out.opcode, in.opcode);
	assert_int_equal(out.stag, in.stag);
	assert_true(out.to == in.to);
	turn(&iw_wire_layout_ddp_tagged, turn_ddp, base, NULL);
}

static void ddp_untagged_codec_and_table_agree(void **state)
{
	const struct iw_ddp in = { .last = true,
				   .rsvd_ddp = 5,
				   .dv = 1,
				   .rv = 2,
				   .rsvd_rdmap = 3,
				   .opcode = 6,
				   .inval_stag = 0x11121314,
				   .qn = 0x21222324,
				   .msn = 0x31323334,
				   .mo = 0x41424344 };
	static const uint8_t base[IW_DDP_UNTAGGED_LEN];
	uint8_t hdr[HDR_MAX];
	struct iw_ddp out;

	(void)state;
	assert_int_equal(iw_wire_ddp_encode(hdr, sizeof(hdr), &in), IW_DDP_UNTAGGED_LEN);
	AGREE(&iw_wire_layout_ddp_untagged, hdr, { "T", 0 }, { "L", 1 }, { "Rsvd", 5 }, { "DV", 1 },
	      { "RV", 2 }, { "Rsv", 3 }, { "Opcode", 6 }, { "Invalidate STag", 0x11121314 },
	      { "QN", 0x21222324 }, { "MSN", 0x31323334 }, { "MO", 0x41424344 });
	assert_int_equal(iw_wire_ddp_decode(&out, hdr, IW_DDP_UNTAGGED_LEN), IW_DDP_UNTAGGED_LEN);
	assert_false(out.tagged);
	assert_true(out.last);
	assert_int_equal(out.rsvd_ddp, in.rsvd_ddp);
	assert_int_equal(out.dv, in.dv);
	assert_int_equal(out.rv, in.rv);
	assert_int_equal(out.rsvd_rdmap, in.rsvd_rdmap);
	assert_int_equal(out.opcode, in.opcode);
	assert_int_equal(out.inval_stag, in.inval_stag);
	assert_int_equal(out.qn, in.qn);
	assert_int_equal(out.msn, in.msn);
	assert_int_equal(out.mo, in.mo);
	turn(&iw_wire_layout_ddp_untagged, turn_ddp, base, "T");
}

static void turn_rreq(uint8_t *dst, const uint8_t *src)
{
	struct iw_rreq r;

	assert_int_equal(iw_rreq_decode(&r, src, IW_RDMAP_RREQ_LEN), IW_RDMAP_RREQ_LEN);
	assert_int_equal(iw_rreq_encode(dst, HDR_MAX, &r), IW_RDMAP_RREQ_LEN);
}

static void read_request_codec_and_table_agree(void **state)
{
	const struct iw_rreq in = { .sink_stag = 0x11121314,
				    .sink_to = 0x2122232425262728,
				    .size = 0x31323334,
				    .src_stag = 0x41424344,
				    .src_to = 0x5152535455565758 };
	static const uint8_t base[IW_RDMAP_RREQ_LEN];
	uint8_t hdr[HDR_MAX];
	struct iw_rreq out;

	(void)state;
	assert_int_equal(iw_rreq_encode(hdr, sizeof(hdr), &in), IW_RDMAP_RREQ_LEN);
	AGREE(&iw_wire_layout_rreq, hdr, { "Data Sink STag", 0x11121314 },
	      { "Data Sink TO", 0x2122232425262728 }, { "RDMA Read Message Size", 0x31323334 },
	      { "Data Source STag", 0x41424344 }, { "Data Source TO", 0x5152535455565758 });
	assert_int_equal(iw_rreq_decode(&out, hdr, IW_RDMAP_RREQ_LEN), IW_RDMAP_RREQ_LEN);
	assert_int_equal(out.sink_stag, in.sink_stag);
	assert_true(out.sink_to == in.sink_to);
	assert_int_equal(out.size, in.size);
	assert_int_equal(out.src_stag, in.src_stag);
	assert_true(out.src_to == in.src_to);
	turn(&iw_wire_layout_rreq, turn_rreq, base, NULL);
}

static void turn_terminate(uint8_t *dst, const uint8_t *src)
{
	struct iw_terminate m;

	assert_int_equal(iw_terminate_decode(&m, src, IW_RDMAP_TERM_MIN), IW_RDMAP_TERM_MIN);
	assert_int_equal(iw_terminate_encode(dst, HDR_MAX, &m), IW_RDMAP_TERM_MIN);
}

static const uint8_t control_with_m[IW_RDMAP_TERM_MIN] = { 0, 0, 0x80, 0 };

static void turn_terminate_length(uint8_t *dst, const uint8_t *src)
{
	const int len = IW_RDMAP_TERM_MIN + IW_RDMAP_TERM_LEN_LEN;
	uint8_t in[HDR_MAX], out[HDR_MAX];
	struct iw_terminate m;

	memcpy(in, control_with_m, sizeof(control_with_m));
	memcpy(in + IW_RDMAP_TERM_MIN, src, IW_RDMAP_TERM_LEN_LEN);
	assert_int_equal(iw_terminate_decode(&m, in, (size_t)len), len);
	assert_int_equal(iw_terminate_encode(out, sizeof(out), &m), len);
	memcpy(dst, out + IW_RDMAP_TERM_MIN, IW_RDMAP_TERM_LEN_LEN);
}

static void terminate_codec_and_table_agree(void **state)
{
	const struct iw_terminate in = { .layer = 2,
					 .etype = 5,
					 .code = 0x6b,
					 .m = true,
					 .r = true,
					 .rsvd_bits = 0x15,
					 .rsvd = 0x7c,
					 .ddp_len = 0x1a2b };
	static const uint8_t base[IW_RDMAP_TERM_MIN];
	struct iw_terminate out;
	uint8_t hdr[HDR_MAX];

	(void)state;
	assert_int_equal(iw_terminate_encode(hdr, sizeof(hdr), &in), 6);
	AGREE(&iw_wire_layout_terminate, hdr, { "Layer", 2 }, { "Error Type", 5 },
	      { "Error Code", 0x6b }, { "M", 1 }, { "D", 0 }, { "R", 1 }, { "Reserved", 0x157c });
	AGREE(&iw_wire_layout_terminate_length, hdr + IW_RDMAP_TERM_MIN,
	      { "DDP Segment Length", 0x1a2b });
	assert_int_equal(iw_terminate_decode(&out, hdr, 6), 6);
	assert_int_equal(out.layer, in.layer);
	assert_int_equal(out.etype, in.etype);
	assert_int_equal(out.code, in.code);
	assert_true(out.m && !out.d && out.r);
	assert_int_equal(out.rsvd_bits, in.rsvd_bits);
	assert_int_equal(out.rsvd, in.rsvd);
	assert_int_equal(out.ddp_len, in.ddp_len);
	turn(&iw_wire_layout_terminate, turn_terminate, base, NULL);
	turn(&iw_wire_layout_terminate_length, turn_terminate_length, base, NULL);
}

static void turn_atomic_req(uint8_t *dst, const uint8_t *src)
{
	struct iw_atomic_req r;

	assert_int_equal(iw_atomic_req_decode(&r, src, IW_RDMAP_ATOMIC_REQ_LEN), 52);
	assert_int_equal(iw_atomic_req_encode(dst, HDR_MAX, &r), 52);
}

static void atomic_request_codec_and_table_agree(void **state)
{
	const struct iw_atomic_req in = { .rsvd = 0x1234567,
					  .op = IW_ATOMIC_CMP_SWAP,
					  .id = 0x11121314,
					  .stag = 0x21222324,
					  .to = 0x3132333435363738,
					  .data = 0x4142434445464748,
					  .mask = 0x5152535455565758,
					  .compare = 0x6162636465666768,
					  .compare_mask = 0x7172737475767778 };
	static const uint8_t base[IW_RDMAP_ATOMIC_REQ_LEN];
	struct iw_atomic_req out;
	uint8_t hdr[HDR_MAX];

	(void)state;
	assert_int_equal(iw_atomic_req_encode(hdr, sizeof(hdr), &in), 52);
	AGREE(&iw_wire_layout_atomic_req, hdr, { "Reserved", 0x1234567 }, { "AOpCode", 2 },
	      { "Request Identifier", 0x11121314 }, { "Remote STag", 0x21222324 },
	      { "Remote Tagged Offset", 0x3132333435363738 },
	      { "Add or Swap Data", 0x4142434445464748 },
	      { "Add or Swap Mask", 0x5152535455565758 }, { "Compare Data", 0x6162636465666768 },
	      { "Compare Mask", 0x7172737475767778 });
	assert_int_equal(iw_atomic_req_decode(&out, hdr, 52), 52);
	assert_int_equal(out.rsvd, in.rsvd);
	assert_int_equal(out.op, in.op);
	assert_int_equal(out.id, in.id);
	assert_int_equal(out.stag, in.stag);
	assert_true(out.to == in.to && out.data == in.data && out.mask == in.mask);
	assert_true(out.compare == in.compare && out.compare_mask == in.compare_mask);
	turn(&iw_wire_layout_atomic_req, turn_atomic_req, base, NULL);
}

static void turn_atomic_rsp(uint8_t *dst, const uint8_t *src)
{
	struct iw_atomic_rsp r;

	assert_int_equal(iw_atomic_rsp_decode(&r, src, IW_RDMAP_ATOMIC_RSP_LEN), 12);
	assert_int_equal(iw_atomic_rsp_encode(dst, HDR_MAX, &r), 12);
}

static void atomic_response_codec_and_table_agree(void **state)
{
	const struct iw_atomic_rsp in = { .id = 0x11121314, .value = 0x2122232425262728 };
	static const uint8_t base[IW_RDMAP_ATOMIC_RSP_LEN];
	struct iw_atomic_rsp out;
	uint8_t hdr[HDR_MAX];

	(void)state;
	assert_int_equal(iw_atomic_rsp_encode(hdr, sizeof(hdr), &in), 12);
	AGREE(&iw_wire_layout_atomic_rsp, hdr, { "Original Request Identifier", 0x11121314 },
	      { "Original Remote Data Value", 0x2122232425262728 });
	assert_int_equal(iw_atomic_rsp_decode(&out, hdr, 12), 12);
	assert_int_equal(out.id, in.id);
	assert_true(out.value == in.value);
	turn(&iw_wire_layout_atomic_rsp, turn_atomic_rsp, base, NULL);
}

static void turn_sctp(uint8_t *dst, const uint8_t *src)
{
	struct iw_sctp_hdr h;

	assert_int_equal(iw_wire_sctp_hdr_decode(&h, src, IW_SCTP_HDR_LEN), IW_SCTP_HDR_LEN);
	assert_int_equal(iw_wire_sctp_hdr_encode(dst, HDR_MAX, &h), IW_SCTP_HDR_LEN);
}

static void sctp_common_header_codec_and_table_agree(void **state)
{
	const struct iw_sctp_hdr in = {
		.sport = 0x1112, .dport = 0x2122, .vtag = 0x31323334, .checksum = 0x41424344
	};
	static const uint8_t base[IW_SCTP_HDR_LEN];
	struct iw_sctp_hdr out;
	uint8_t hdr[HDR_MAX];

	(void)state;
	assert_int_equal(iw_wire_sctp_hdr_encode(hdr, sizeof(hdr), &in), IW_SCTP_HDR_LEN);
	/* RFC 9260 appendix A: the least significant octet of the checksum is first. */
	AGREE(&iw_wire_layout_sctp, hdr, { "Source Port", 0x1112 }, { "Destination Port", 0x2122 },
	      { "Verification Tag", 0x31323334 }, { "Checksum", 0x44434241 });
	assert_int_equal(iw_wire_layout_sctp.field[3].off, IW_SCTP_CHECKSUM_POS);
	assert_int_equal(iw_wire_sctp_hdr_decode(&out, hdr, IW_SCTP_HDR_LEN), IW_SCTP_HDR_LEN);
	assert_int_equal(out.sport, in.sport);
	assert_int_equal(out.dport, in.dport);
	assert_int_equal(out.vtag, in.vtag);
	assert_int_equal(out.checksum, in.checksum);
	turn(&iw_wire_layout_sctp, turn_sctp, base, NULL);
}

/* Decodes a chunk with the header at src, and as many octets as its length field says. */
static void decode_chunk(struct iw_sctp_chunk *c, const uint8_t *src, size_t hdr_len)
{
	static uint8_t chunk[UINT16_MAX + 1];

	memcpy(chunk, src, hdr_len);
	assert_true(iw_wire_sctp_chunk_decode(c, chunk, sizeof(chunk)) > 0);
}

static void encode_chunk(uint8_t *dst, const struct iw_sctp_chunk *c)
{
	static uint8_t chunk[UINT16_MAX + 1];

	assert_true(iw_wire_sctp_chunk_encode(chunk, sizeof(chunk), c) > 0);
	memcpy(dst, chunk, IW_SCTP_CHUNK_HDR_LEN);
}

static void turn_data(uint8_t *dst, const uint8_t *src)
{
	uint8_t data_hdr[HDR_MAX];
	struct iw_sctp_chunk c;
	struct iw_sctp_data d;

	decode_chunk(&c, src, IW_SCTP_DATA_HDR_LEN);
	assert_true(iw_wire_sctp_data_decode(&d, c.value, c.value_len) > 0);
	assert_int_equal(iw_wire_sctp_data_encode(data_hdr, HDR_MAX, c.flags, &d),
			 IW_SCTP_DATA_HDR_LEN);
	encode_chunk(dst, &c);
	/* iw_wire_sctp_data_encode() writes the chunk header too. */
	assert_int_equal(data_hdr[0], IW_SCTP_DATA);
	assert_memory_equal(dst + 1, data_hdr + 1, IW_SCTP_CHUNK_HDR_LEN - 1);
	memcpy(dst + IW_SCTP_CHUNK_HDR_LEN, data_hdr + IW_SCTP_CHUNK_HDR_LEN,
	       IW_SCTP_DATA_HDR_LEN - IW_SCTP_CHUNK_HDR_LEN);
}

static void sctp_data_chunk_codec_and_table_agree(void **state)
{
	const struct iw_sctp_data in = { .tsn = 0x11121314,
					 .stream = 0x2122,
					 .ssn = 0x3132,
					 .ppid = 0x41424344,
					 .len = 0x5152 };
	static const uint8_t base[IW_SCTP_DATA_HDR_LEN] = { [3] = IW_SCTP_DATA_HDR_LEN };
	const uint8_t flags = 0xa0 | IW_SCTP_DATA_U | IW_SCTP_DATA_E;
	struct iw_sctp_chunk c;
	struct iw_sctp_data out;
	uint8_t hdr[HDR_MAX];

	(void)state;
	assert_int_equal(iw_wire_sctp_data_encode(hdr, sizeof(hdr), flags, &in),
			 IW_SCTP_DATA_HDR_LEN);
	AGREE(&iw_wire_layout_sctp_data, hdr, { "Type", 0 }, { "Res", 0xa }, { "I", 0 }, { "U", 1 },
	      { "B", 0 }, { "E", 1 }, { "Length", 0x5162 }, { "TSN", 0x11121314 },
	      { "Stream Identifier", 0x2122 }, { "Stream Sequence Number", 0x3132 },
	      { "PPID", 0x41424344 });
	decode_chunk(&c, hdr, IW_SCTP_DATA_HDR_LEN);
	assert_int_equal(c.type, IW_SCTP_DATA);
	assert_int_equal(c.flags, flags);
	assert_int_equal(c.len, IW_SCTP_DATA_HDR_LEN + in.len);
	assert_true(iw_wire_sctp_data_decode(&out, c.value, c.value_len) > 0);
	assert_int_equal(out.tsn, in.tsn);
	assert_int_equal(out.stream, in.stream);
	assert_int_equal(out.ssn, in.ssn);
	assert_int_equal(out.ppid, in.ppid);
	turn(&iw_wire_layout_sctp_data, turn_data, base, NULL);
}

static void turn_init(uint8_t *dst, const uint8_t *src)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_init i;

	decode_chunk(&c, src, IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_INIT_LEN);
	assert_true(iw_wire_sctp_init_decode(&i, c.value, c.value_len) > 0);
	encode_chunk(dst, &c);
	i.params = NULL;
	assert_int_equal(iw_wire_sctp_init_encode(dst + IW_SCTP_CHUNK_HDR_LEN,
						  HDR_MAX - IW_SCTP_CHUNK_HDR_LEN, &i),
			 IW_SCTP_INIT_LEN);
}

static void sctp_init_chunk_codec_and_table_agree(void **state)
{
	const struct iw_sctp_init in = { .tag = 0x11121314,
					 .a_rwnd = 0x21222324,
					 .os = 0x3132,
					 .mis = 0x4142,
					 .tsn = 0x51525354 };
	const struct iw_sctp_chunk chunk = { .type = IW_SCTP_INIT_ACK,
					     .flags = 0x5a,
					     .value_len = IW_SCTP_INIT_LEN };
	static const uint8_t base[] = { [3] = IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_INIT_LEN,
					[IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_INIT_LEN - 1] = 0 };
	struct iw_sctp_init out;
	struct iw_sctp_chunk c;
	uint8_t hdr[HDR_MAX];

	(void)state;
	assert_int_equal(iw_wire_sctp_chunk_encode(hdr, sizeof(hdr), &chunk), 20);
	assert_int_equal(iw_wire_sctp_init_encode(hdr + IW_SCTP_CHUNK_HDR_LEN,
						  sizeof(hdr) - IW_SCTP_CHUNK_HDR_LEN, &in),
			 IW_SCTP_INIT_LEN);
	AGREE(&iw_wire_layout_sctp_init, hdr, { "Type", 2 }, { "Flags", 0x5a }, { "Length", 20 },
	      { "Initiate Tag", 0x11121314 }, { "a_rwnd", 0x21222324 },
	      { "Number of Outbound Streams", 0x3132 }, { "Number of Inbound Streams", 0x4142 },
	      { "Initial TSN", 0x51525354 });
	decode_chunk(&c, hdr, 20);
	assert_int_equal(c.type, chunk.type);
	assert_int_equal(c.flags, chunk.flags);
	assert_int_equal(c.len, 20);
	assert_int_equal(iw_wire_sctp_init_decode(&out, c.value, c.value_len), IW_SCTP_INIT_LEN);
	assert_int_equal(out.tag, in.tag);
	assert_int_equal(out.a_rwnd, in.a_rwnd);
	assert_int_equal(out.os, in.os);
	assert_int_equal(out.mis, in.mis);
	assert_int_equal(out.tsn, in.tsn);
	turn(&iw_wire_layout_sctp_init, turn_init, base, NULL);
}

static void sctp_sack_chunk_codec_and_table_agree(void **state)
{
	static const uint8_t gap[4] = { 0, 2, 0, 3 }, dup[8] = { 1 };
	const struct iw_sctp_sack in = { .cum = 0x11121314,
					 .a_rwnd = 0x21222324,
					 .ngaps = 1,
					 .ndups = 2,
					 .gaps = gap,
					 .dups = dup };
	const struct iw_sctp_chunk chunk = { .type = IW_SCTP_SACK, .flags = 0x5a, .value_len = 24 };
	uint8_t hdr[HDR_MAX];

	(void)state;
	assert_int_equal(iw_wire_sctp_chunk_encode(hdr, sizeof(hdr), &chunk), 28);
	assert_int_equal(iw_wire_sctp_sack_encode(hdr + IW_SCTP_CHUNK_HDR_LEN,
						  sizeof(hdr) - IW_SCTP_CHUNK_HDR_LEN, &in),
			 24);
	AGREE(&iw_wire_layout_sctp_sack, hdr, { "Type", 3 }, { "Flags", 0x5a }, { "Length", 28 },
	      { "Cumulative TSN Ack", 0x11121314 }, { "a_rwnd", 0x21222324 },
	      { "Number of Gap Ack Blocks", 1 }, { "Number of Duplicate TSNs", 2 });
	AGREE(&iw_wire_layout_sctp_chunk, hdr, { "Type", 3 }, { "Flags", 0x5a }, { "Length", 28 });
}

static void turn_control(uint8_t *dst, const uint8_t *src)
{
	struct iw_sctp_control c;

	assert_int_equal(iw_wire_sctp_control_decode(&c, src, IW_SCTP_CONTROL_LEN), 4);
	assert_int_equal(iw_wire_sctp_control_encode(dst, HDR_MAX, &c), 4);
}

static void turn_ssn(uint8_t *dst, const uint8_t *src)
{
	uint16_t ssn;

	assert_int_equal(iw_wire_sctp_segment_decode(&ssn, src, IW_SCTP_SSN_LEN), 2);
	assert_int_equal(iw_wire_sctp_segment_encode(dst, HDR_MAX, ssn), 2);
}

static void ddp_over_sctp_codec_and_table_agree(void **state)
{
	const struct iw_sctp_control in = { .ssn = 0x1112, .fn = 0x2122 };
	static const uint8_t base[IW_SCTP_CONTROL_LEN];
	struct iw_sctp_control out;
	uint8_t hdr[HDR_MAX];
	uint16_t ssn;

	(void)state;
	assert_int_equal(iw_wire_sctp_control_encode(hdr, sizeof(hdr), &in), 4);
	AGREE(&iw_wire_layout_session, hdr, { "DDP-SSN", 0x1112 }, { "Function Code", 0x2122 });
	assert_int_equal(iw_wire_sctp_control_decode(&out, hdr, 4), 4);
	assert_int_equal(out.ssn, in.ssn);
	assert_int_equal(out.fn, in.fn);
	turn(&iw_wire_layout_session, turn_control, base, NULL);

	assert_int_equal(iw_wire_sctp_segment_encode(hdr, sizeof(hdr), 0x3132), 2);
	AGREE(&iw_wire_layout_ddp_ssn, hdr, { "DDP-SSN", 0x3132 });
	assert_int_equal(iw_wire_sctp_segment_decode(&ssn, hdr, 2), 2);
	assert_int_equal(ssn, 0x3132);
	turn(&iw_wire_layout_ddp_ssn, turn_ssn, base, NULL);
}

static const struct iw_layout *const layouts[] = {
	&iw_wire_layout_mpa_frame,        &iw_wire_layout_mpa_enhanced, &iw_wire_layout_mpa_fpdu,
	&iw_wire_layout_mpa_crc,          &iw_wire_layout_mpa_marker,   &iw_wire_layout_ddp_tagged,
	&iw_wire_layout_ddp_untagged,     &iw_wire_layout_rreq,         &iw_wire_layout_terminate,
	&iw_wire_layout_terminate_length, &iw_wire_layout_atomic_req,   &iw_wire_layout_atomic_rsp,
	&iw_wire_layout_immediate,        &iw_wire_layout_sctp,         &iw_wire_layout_sctp_data,
	&iw_wire_layout_sctp_init,        &iw_wire_layout_ddp_ssn,      &iw_wire_layout_session,
	&iw_wire_layout_sctp_chunk,       &iw_wire_layout_sctp_sack,
};

static void each_bit_of_a_header_is_in_one_field(void **state)
{
	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(layouts); i++) {
		const struct iw_layout *l = layouts[i];
		size_t at = 0;

		for (size_t k = 0; k < l->fields; k++) {
			const struct iw_field *f = &l->field[k];

			assert_int_equal(first_bit(f), at);
			assert_true(f->bit + width(f) <= f->len * 8u);
			at += width(f);
			assert_int_equal(strncmp(f->clause, "RFC ", 4), 0);
			assert_true(!f->print || !f->zero);
			assert_true(f->zero || !f->other);
		}
		assert_int_equal(at, l->len * 8);
	}
}

static const char *meaning(const struct iw_layout *l, const char *name, const uint8_t *hdr)
{
	static char text[200];
	struct iw_text t;

	iw_text_init(&t, text, sizeof(text));
	for (size_t i = 0; i < l->fields; i++)
		if (strcmp(l->field[i].name, name) == 0)
			return iw_wire_field_print(&t, &l->field[i], hdr) ? text : NULL;
	fail_msg("no field %s", name);
	return NULL;
}

static void meaning_depends_on_the_value(void **state)
{
	static const uint8_t request[] = IW_MPA_REQUEST_KEY "\x80\x01\x00";
	static const uint8_t reply[] = IW_MPA_REPLY_KEY "\x00\x03\x00";
	static const uint8_t other[IW_MPA_FRAME_LEN] = { 'M', 'P', 'A' };
	static const uint8_t enhanced[] = { 0x3f, 0xff, 0, 1 };
	static const uint8_t invalidate[IW_DDP_UNTAGGED_LEN] = { 0x41, 0x44 };
	static const uint8_t send[IW_DDP_UNTAGGED_LEN] = { 0x41, 0x43, [9] = 4 };
	static const uint8_t queue[] = { 0x12, 0x01, 0, 0 };
	static const uint8_t unassigned[] = { 0x30, 0x00, 0, 0 };

	(void)state;
	assert_string_equal(meaning(&iw_wire_layout_mpa_frame, "Key", request),
			    "\"MPA ID Req Frame\": a Request");
	assert_string_equal(meaning(&iw_wire_layout_mpa_frame, "Key", reply),
			    "\"MPA ID Rep Frame\": a Reply");
	assert_string_equal(meaning(&iw_wire_layout_mpa_frame, "Key", other), "not a key of MPA");
	assert_string_equal(meaning(&iw_wire_layout_mpa_frame, "M", request),
			    "markers in what the sender of this frame receives");
	assert_string_equal(meaning(&iw_wire_layout_mpa_frame, "M", reply),
			    "no markers in what the sender of this frame receives");
	assert_string_equal(meaning(&iw_wire_layout_mpa_frame, "Rev", request), "RFC 5044");
	assert_string_equal(meaning(&iw_wire_layout_mpa_frame, "Rev", reply), "not known");
	assert_string_equal(meaning(&iw_wire_layout_mpa_enhanced, "IRD", enhanced),
			    "not negotiated here");
	assert_string_equal(meaning(&iw_wire_layout_mpa_enhanced, "ORD", enhanced),
			    "RDMA Read Requests outstanding at once");
	assert_string_equal(meaning(&iw_wire_layout_ddp_untagged, "Opcode", invalidate),
			    "Send with Invalidate");
	assert_string_equal(meaning(&iw_wire_layout_ddp_untagged, "Invalidate STag", invalidate),
			    "the receiver invalidates it when it delivers the message");
	assert_string_equal(meaning(&iw_wire_layout_ddp_untagged, "Invalidate STag", send),
			    "no meaning in this message; zero");
	assert_string_equal(meaning(&iw_wire_layout_ddp_untagged, "QN", invalidate),
			    "Sends and Immediate Data");
	assert_string_equal(meaning(&iw_wire_layout_ddp_untagged, "QN", send), "not assigned");
	assert_string_equal(meaning(&iw_wire_layout_terminate, "Layer", queue), "DDP");
	assert_string_equal(meaning(&iw_wire_layout_terminate, "Error Code", queue),
			    "DDP untagged buffer error: invalid QN");
	assert_string_equal(meaning(&iw_wire_layout_terminate, "Layer", unassigned),
			    "not assigned");
}

static void meaning_not_in_the_header_is_left_to_the_caller(void **state)
{
	static const uint8_t hdr[IW_SCTP_DATA_HDR_LEN];

	(void)state;
	assert_null(meaning(&iw_wire_layout_mpa_crc, "CRC", hdr));
	assert_null(meaning(&iw_wire_layout_sctp, "Checksum", hdr));
	assert_null(meaning(&iw_wire_layout_sctp_data, "PPID", hdr));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mpa_frame_codec_and_table_agree),
		cmocka_unit_test(mpa_enhanced_codec_and_table_agree),
		cmocka_unit_test(mpa_marker_codec_and_table_agree),
		cmocka_unit_test(a_header_of_one_field_is_one_number),
		cmocka_unit_test(ddp_tagged_codec_and_table_agree),
		cmocka_unit_test(ddp_untagged_codec_and_table_agree),
		cmocka_unit_test(read_request_codec_and_table_agree),
		cmocka_unit_test(terminate_codec_and_table_agree),
		cmocka_unit_test(atomic_request_codec_and_table_agree),
		cmocka_unit_test(atomic_response_codec_and_table_agree),
		cmocka_unit_test(sctp_common_header_codec_and_table_agree),
		cmocka_unit_test(sctp_data_chunk_codec_and_table_agree),
		cmocka_unit_test(sctp_init_chunk_codec_and_table_agree),
		cmocka_unit_test(sctp_sack_chunk_codec_and_table_agree),
		cmocka_unit_test(ddp_over_sctp_codec_and_table_agree),
		cmocka_unit_test(each_bit_of_a_header_is_in_one_field),
		cmocka_unit_test(meaning_depends_on_the_value),
		cmocka_unit_test(meaning_not_in_the_header_is_left_to_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
