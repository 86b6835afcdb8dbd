// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The tables of header fields, and the meanings of their values. */
#include "wire/field.h"

#include <string.h>

#include <iwarp/err.h>

#include "util/num.h"
#include "wire/atomic.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/sctp.h"
#include "wire/sctpddp.h"

/* --- meanings --- */

static void print_key(struct iw_text *t, uint64_t v, const uint8_t *hdr)
{
	(void)v;
	if (memcmp(hdr, IW_MPA_REQUEST_KEY, IW_MPA_KEY_LEN) == 0)
		iw_text_str(t, "\"" IW_MPA_REQUEST_KEY "\": a Request");
	else if (memcmp(hdr, IW_MPA_REPLY_KEY, IW_MPA_KEY_LEN) == 0)
		iw_text_str(t, "\"" IW_MPA_REPLY_KEY "\": a Reply");
	else
		iw_text_str(t, "not a key of MPA");
}

static void print_rev(struct iw_text *t, uint64_t v, const uint8_t *hdr)
{
	static const char *const text[] = { "RDMA Consortium", "RFC 5044", "RFC 6581" };

	(void)hdr;
	iw_text_str(t, v < IW_ARRAY_LEN(text) ? text[v] : "not known");
}

static void print_depth(struct iw_text *t, uint64_t v, const uint8_t *hdr)
{
	(void)hdr;
	iw_text_str(t, v == IW_MPA_IRD_ORD_MAX ? "not negotiated here"
					       : "RDMA Read Requests outstanding at once");
}

static void print_opcode(struct iw_text *t, uint64_t v, const uint8_t *hdr)
{
	(void)hdr;
	iw_text_str(t, iw_opcode_name((uint8_t)v));
}

static void print_inval(struct iw_text *t, uint64_t v, const uint8_t *hdr)
{
	(void)v;
	iw_text_str(t, iw_opcode_info(hdr[1] & 0xf)->invalidates
			       ? "the receiver invalidates it when it delivers the message"
			       : "no meaning in this message; zero");
}

static void print_qn(struct iw_text *t, uint64_t v, const uint8_t *hdr)
{
	static const char *const text[] = { [IW_QN_SEND] = "Sends and Immediate Data",
					    [IW_QN_RREQ] = "RDMA Read and Atomic Requests",
					    [IW_QN_TERM] = "Terminates",
					    [IW_QN_ATOMIC_RSP] = "Atomic Responses" };

	(void)hdr;
	iw_text_str(t, v < IW_ARRAY_LEN(text) ? text[v] : "not assigned");
}

static void print_layer(struct iw_text *t, uint64_t v, const uint8_t *hdr)
{
	(void)hdr;
	iw_text_str(t, iw_wire_layer_name((uint8_t)v));
}

static void print_code(struct iw_text *t, uint64_t v, const uint8_t *hdr)
{
	iw_wire_term_print(t, IW_TERM(hdr[0] >> 4, hdr[0] & 0xfu, (uint32_t)v));
}

static void print_aop(struct iw_text *t, uint64_t v, const uint8_t *hdr)
{
	(void)hdr;
	iw_text_str(t, iw_atomic_op_name((uint8_t)v));
}

static void print_chunk_type(struct iw_text *t, uint64_t v, const uint8_t *hdr)
{
	(void)hdr;
	iw_text_str(t, iw_wire_sctp_chunk_name((uint8_t)v));
}

static void print_fn_code(struct iw_text *t, uint64_t v, const uint8_t *hdr)
{
	(void)hdr;
	iw_text_fmt(t, "DDP Stream Session %s", iw_wire_sctp_fn_name((uint16_t)v));
}

/* --- tables --- */

/*
 * The columns zero, other and print of struct iw_field: one text for every value; one for 0 and one
 * for all others; a function; or no meaning in the header alone.
 */
#define TEXT(text)         text, NULL, NULL
#define TEXTS(zero, other) zero, other, NULL
#define RESERVED           TEXTS("reserved, zero", "reserved, should be zero")
#define PRINT(function)    NULL, NULL, function
#define CONTEXT            NULL, NULL, NULL

/* Name; the octets of its word; its bits in the word; clause; meaning. */
/* clang-format off */
static const struct iw_field mpa_frame[] = {
	{ "Key",        0, 16,  0,  0, "RFC 5044 7.1.1", PRINT(print_key) },
	{ "M",         16,  1,  0,  1, "RFC 5044 7.1.1", TEXTS("no markers in what the sender of this frame receives",
	                                                       "markers in what the sender of this frame receives") },
	{ "C",         16,  1,  1,  1, "RFC 5044 7.1.1", TEXTS("CRCs are not asked for",
	                                                       "CRCs are asked for") },
	{ "R",         16,  1,  2,  1, "RFC 5044 7.1.1", TEXTS("not rejected",
	                                                       "the connection is rejected") },
	{ "S",         16,  1,  3,  1, "RFC 6581 6",     TEXTS("no enhanced data",
	                                                       "the Private Data begin with the enhanced data") },
	{ "Res",       16,  1,  4,  4, "RFC 5044 7.1.1", RESERVED },
	{ "Rev",       17,  1,  0,  0, "RFC 5044 7.1.1", PRINT(print_rev) },
	{ "PD_Length", 18,  2,  0,  0, "RFC 5044 7.1.1", TEXT("octets of Private Data, at most 512") },
};

static const struct iw_field mpa_enhanced[] = {
	{ "A",    0,  2,  0,  1, "RFC 6581 9.2", TEXTS("client-server model",
	                                               "peer-to-peer model: the initiator sends an RTR frame") },
	{ "B",    0,  2,  1,  1, "RFC 6581 9.2", TEXTS("no RTR by Send",
	                                               "RTR by a zero-length Send") },
	{ "IRD",  0,  2,  2, 14, "RFC 6581 9.1", PRINT(print_depth) },
	{ "C",    2,  2,  0,  1, "RFC 6581 9.2", TEXTS("no RTR by RDMA Write",
	                                               "RTR by a zero-length RDMA Write") },
	{ "D",    2,  2,  1,  1, "RFC 6581 9.2", TEXTS("no RTR by RDMA Read",
	                                               "RTR by a zero-length RDMA Read") },
	{ "ORD",  2,  2,  2, 14, "RFC 6581 9.1", PRINT(print_depth) },
};

static const struct iw_field mpa_fpdu[] = {
	{ "ULPDU_Length",  0,  2,  0,  0, "RFC 5044 4.1", TEXT("octets of DDP segment between this field and the pad") },
};

static const struct iw_field mpa_crc[] = {
	{ "CRC",  0,  4,  0,  0, "RFC 5044 4.4", CONTEXT },
};

static const struct iw_field mpa_marker[] = {
	{ "RESERVED",  0,  2,  0,  0, "RFC 5044 4.2", RESERVED },
	{ "FPDUPTR",   2,  2,  0,  0, "RFC 5044 4.2", TEXTS("an FPDU begins right behind",
	                                                    "octets back to the ULPDU_Length of this FPDU") },
};

/* RFC 5041 4.1, RFC 5040 4.1: the first two octets of either header. */
#define DDP_CONTROL \
	{ "T",       0,  1,  0,  1, "RFC 5041 4.1", TEXTS("Untagged Buffer Model: QN, MSN and MO say where the payload goes", \
	                                                  "Tagged Buffer Model: STag and TO say where the payload goes") }, \
	{ "L",       0,  1,  1,  1, "RFC 5041 4.1", TEXTS("more segments of the message follow", \
	                                                  "the last segment of its message") }, \
	{ "Rsvd",    0,  1,  2,  4, "RFC 5041 4.1", RESERVED }, \
	{ "DV",      0,  1,  6,  2, "RFC 5041 4.1", TEXT("version of DDP, expected 1") }, \
	{ "RV",      1,  1,  0,  2, "RFC 5040 4.1", TEXT("version of RDMAP, expected 1") }, \
	{ "Rsv",     1,  1,  2,  2, "RFC 5040 4.1", RESERVED }, \
	{ "Opcode",  1,  1,  4,  4, "RFC 5040 4.1", PRINT(print_opcode) }

static const struct iw_field ddp_tagged[] = {
	DDP_CONTROL,
	{ "STag",  2,  4,  0,  0, "RFC 5041 4.2", TEXT("the receiver's Tagged Buffer") },
	{ "TO",    6,  8,  0,  0, "RFC 5041 4.2", TEXT("Tagged Offset of the payload in it") },
};

static const struct iw_field ddp_untagged[] = {
	DDP_CONTROL,
	{ "Invalidate STag",  2,  4,  0,  0, "RFC 5040 4.1", PRINT(print_inval) },
	{ "QN",               6,  4,  0,  0, "RFC 5041 4.3", PRINT(print_qn) },
	{ "MSN",             10,  4,  0,  0, "RFC 5041 4.3", TEXT("number of the message on its queue, from 1") },
	{ "MO",              14,  4,  0,  0, "RFC 5041 4.3", TEXT("offset of the payload in the message") },
};

static const struct iw_field rreq[] = {
	{ "Data Sink STag",          0,  4,  0,  0, "RFC 5040 4.4", TEXT("where the Read Response goes: the requester's buffer") },
	{ "Data Sink TO",            4,  8,  0,  0, "RFC 5040 4.4", TEXT("offset in it") },
	{ "RDMA Read Message Size", 12,  4,  0,  0, "RFC 5040 4.4", TEXT("octets that are asked for") },
	{ "Data Source STag",       16,  4,  0,  0, "RFC 5040 4.4", TEXT("the responder's buffer to read from") },
	{ "Data Source TO",         20,  8,  0,  0, "RFC 5040 4.4", TEXT("offset in it") },
};

static const struct iw_field terminate[] = {
	{ "Layer",       0,  1,  0,  4, "RFC 5040 4.8", PRINT(print_layer) },
	{ "Error Type",  0,  1,  4,  4, "RFC 5040 4.8", TEXT("of that layer") },
	{ "Error Code",  1,  1,  0,  0, "RFC 5040 4.8", PRINT(print_code) },
	{ "M",           2,  1,  0,  1, "RFC 5040 4.8", TEXTS("no DDP Segment Length",
	                                                      "the DDP Segment Length is valid") },
	{ "D",           2,  1,  1,  1, "RFC 5040 4.8", TEXTS("no DDP header",
	                                                      "the DDP header of the segment follows") },
	{ "R",           2,  1,  2,  1, "RFC 5040 4.8", TEXTS("no RDMAP header",
	                                                      "the RDMAP header of the Read Request follows") },
	{ "Reserved",    2,  2,  3, 13, "RFC 5040 4.8", RESERVED },
};

static const struct iw_field terminate_length[] = {
	{ "DDP Segment Length",  0,  2,  0,  0, "RFC 5040 4.8", TEXT("octets of the segment that was wrong") },
};

static const struct iw_field atomic_req[] = {
	{ "Reserved",              0,  4,  0, 28, "RFC 7306 5.2.1", RESERVED },
	{ "AOpCode",               0,  4, 28,  4, "RFC 7306 5.2.1", PRINT(print_aop) },
	{ "Request Identifier",    4,  4,  0,  0, "RFC 7306 5.2.1", TEXT("comes back in the Atomic Response") },
	{ "Remote STag",           8,  4,  0,  0, "RFC 7306 5.2.1", TEXT("the responder's buffer") },
	{ "Remote Tagged Offset", 12,  8,  0,  0, "RFC 7306 5.2.1", TEXT("of the eight octets, whose address is a multiple of 8") },
	{ "Add or Swap Data",     20,  8,  0,  0, "RFC 7306 5.2.1", TEXT("what is added, or put in place") },
	{ "Add or Swap Mask",     28,  8,  0,  0, "RFC 7306 5.2.1", TEXT("bits that pass no carry on, or bits that are swapped") },
	{ "Compare Data",         36,  8,  0,  0, "RFC 7306 5.2.1", TEXT("of a CmpSwap: what must be there") },
	{ "Compare Mask",         44,  8,  0,  0, "RFC 7306 5.2.1", TEXT("of a CmpSwap: bits that are compared") },
};

static const struct iw_field atomic_rsp[] = {
	{ "Original Request Identifier",  0,  4,  0,  0, "RFC 7306 5.2.2", TEXT("that of the Atomic Request") },
	{ "Original Remote Data Value",   4,  8,  0,  0, "RFC 7306 5.2.2", TEXT("the value before the operation") },
};

static const struct iw_field immediate[] = {
	{ "Immediate Data",  0,  8,  0,  0, "RFC 7306 6.2", TEXT("eight octets of the ULP") },
};

static const struct iw_field sctp[] = {
	{ "Source Port",       0,  2,  0,  0, "RFC 9260 3.1", TEXT("of SCTP") },
	{ "Destination Port",  2,  2,  0,  0, "RFC 9260 3.1", TEXT("of SCTP") },
	{ "Verification Tag",  4,  4,  0,  0, "RFC 9260 3.1", TEXTS("none: the packet holds an INIT",
	                                                            "the one that the receiver gave itself") },
	{ "Checksum",          8,  4,  0,  0, "RFC 9260 6.8", CONTEXT },
};

static const struct iw_field sctp_data[] = {
	{ "Type",                    0,  1,  0,  0, "RFC 9260 3.2",   PRINT(print_chunk_type) },
	{ "Res",                     1,  1,  0,  4, "RFC 9260 3.3.1", RESERVED },
	{ "I",                       1,  1,  4,  1, "RFC 9260 3.3.1", TEXTS("may be acknowledged late",
	                                                                    "to be acknowledged at once") },
	{ "U",                       1,  1,  5,  1, "RFC 9260 3.3.1", TEXTS("ordered, which DDP is never (RFC 5043 10)",
	                                                                    "unordered, as all of DDP (RFC 5043 10)") },
	{ "B",                       1,  1,  6,  1, "RFC 9260 3.3.1", TEXTS("not the first fragment",
	                                                                    "the first fragment of its message") },
	{ "E",                       1,  1,  7,  1, "RFC 9260 3.3.1", TEXTS("not the last fragment",
	                                                                    "the last fragment of its message") },
	{ "Length",                  2,  2,  0,  0, "RFC 9260 3.3.1", TEXT("octets of the chunk without its padding") },
	{ "TSN",                     4,  4,  0,  0, "RFC 9260 3.3.1", TEXT("number of the chunk in this direction") },
	{ "Stream Identifier",       8,  2,  0,  0, "RFC 9260 3.3.1", TEXT("the DDP stream, the same both ways (RFC 5043 8)") },
	{ "Stream Sequence Number", 10,  2,  0,  0, "RFC 9260 3.3.1", TEXT("of no meaning in an unordered chunk") },
	{ "PPID",                   12,  4,  0,  0, "RFC 5043 5.2",   CONTEXT },
};

static const struct iw_field sctp_chunk[] = {
	{ "Type",    0,  1,  0,  0, "RFC 9260 3.2", PRINT(print_chunk_type) },
	{ "Flags",   1,  1,  0,  0, "RFC 9260 3.2", CONTEXT },
	{ "Length",  2,  2,  0,  0, "RFC 9260 3.2", TEXT("octets of the chunk without its padding") },
};

static const struct iw_field sctp_sack[] = {
	{ "Type",                       0,  1,  0,  0, "RFC 9260 3.2",   PRINT(print_chunk_type) },
	{ "Flags",                      1,  1,  0,  0, "RFC 9260 3.3.4", RESERVED },
	{ "Length",                     2,  2,  0,  0, "RFC 9260 3.3.4", TEXT("octets of the chunk without its padding") },
	{ "Cumulative TSN Ack",         4,  4,  0,  0, "RFC 9260 3.3.4", TEXT("all DATA chunks up to this one have arrived") },
	{ "a_rwnd",                     8,  4,  0,  0, "RFC 9260 3.3.4", TEXT("octets that the sender has room for") },
	{ "Number of Gap Ack Blocks",  12,  2,  0,  0, "RFC 9260 3.3.4", TEXT("runs of chunks that arrived after a missing one") },
	{ "Number of Duplicate TSNs",  14,  2,  0,  0, "RFC 9260 3.3.4", TEXT("chunks that arrived again") },
};

static const struct iw_field sctp_init[] = {
	{ "Type",                        0,  1,  0,  0, "RFC 9260 3.2",   PRINT(print_chunk_type) },
	{ "Flags",                       1,  1,  0,  0, "RFC 9260 3.3.2", RESERVED },
	{ "Length",                      2,  2,  0,  0, "RFC 9260 3.3.2", TEXT("octets of the chunk without its padding") },
	{ "Initiate Tag",                4,  4,  0,  0, "RFC 9260 3.3.2", TEXT("the Verification Tag in what the peer sends from now on") },
	{ "a_rwnd",                      8,  4,  0,  0, "RFC 9260 3.3.2", TEXT("octets that the sender has room for") },
	{ "Number of Outbound Streams", 12,  2,  0,  0, "RFC 9260 3.3.2", TEXT("wanted; as many as inbound (RFC 5043 8)") },
	{ "Number of Inbound Streams",  14,  2,  0,  0, "RFC 9260 3.3.2", TEXT("at most") },
	{ "Initial TSN",                16,  4,  0,  0, "RFC 9260 3.3.2", TEXT("of the first DATA chunk") },
};

#define DDP_SSN \
	{ "DDP-SSN",  0,  2,  0,  0, "RFC 5043 5.2.1", TEXT("place of the message in its session, from 0 (draft -02: from 1)") }

static const struct iw_field ddp_ssn[] = {
	DDP_SSN,
};

static const struct iw_field session[] = {
	DDP_SSN,
	{ "Function Code",  2,  2,  0,  0, "RFC 5043 5.2.3", PRINT(print_fn_code) },
};
/* clang-format on */

#define LAYOUT(name, octets)                                                                       \
	const struct iw_layout iw_wire_layout_##name = { name, IW_ARRAY_LEN(name), octets };

LAYOUT(mpa_frame, IW_MPA_FRAME_LEN)
LAYOUT(mpa_enhanced, IW_MPA_ENHANCED_LEN)
LAYOUT(mpa_fpdu, IW_MPA_HEAD_LEN)
LAYOUT(mpa_crc, IW_MPA_CRC_LEN)
LAYOUT(mpa_marker, IW_MPA_MARKER_LEN)
LAYOUT(ddp_tagged, IW_DDP_TAGGED_LEN)
LAYOUT(ddp_untagged, IW_DDP_UNTAGGED_LEN)
LAYOUT(rreq, IW_RDMAP_RREQ_LEN)
LAYOUT(terminate, IW_RDMAP_TERM_MIN)
LAYOUT(terminate_length, IW_RDMAP_TERM_LEN_LEN)
LAYOUT(atomic_req, IW_RDMAP_ATOMIC_REQ_LEN)
LAYOUT(atomic_rsp, IW_RDMAP_ATOMIC_RSP_LEN)
LAYOUT(immediate, IW_RDMAP_IMM_LEN)
LAYOUT(sctp, IW_SCTP_HDR_LEN)
LAYOUT(sctp_data, IW_SCTP_DATA_HDR_LEN)
LAYOUT(sctp_chunk, IW_SCTP_CHUNK_HDR_LEN)
LAYOUT(sctp_sack, IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_SACK_LEN)
LAYOUT(sctp_init, IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_INIT_LEN)
LAYOUT(ddp_ssn, IW_SCTP_SSN_LEN)
LAYOUT(session, IW_SCTP_CONTROL_LEN)

uint64_t iw_wire_field_get(const struct iw_field *f, const uint8_t *hdr)
{
	uint64_t v = 0;

	if (f->len > sizeof(v))
		return 0;
	for (size_t i = 0; i < f->len; i++)
		v = v << 8 | hdr[f->off + i];
	if (f->bits)
		v = v >> (f->len * 8u - f->bit - f->bits) & ((1ull << f->bits) - 1);
	return v;
}

bool iw_wire_field_print(struct iw_text *t, const struct iw_field *f, const uint8_t *hdr)
{
	uint64_t v = iw_wire_field_get(f, hdr);

	if (f->print)
		f->print(t, v, hdr);
	else if (f->zero)
		iw_text_str(t, v && f->other ? f->other : f->zero);
	return f->print || f->zero;
}
