/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DDP headers (RFC 5041 4), which include the RDMAP control octet (RFC 5040 4.1), and the RDMAP
 * headers after them. Neither decoders nor encoders check values: lib/ddp and lib/rdmap do.
 * Printers append to one line, without a newline.
 */
#ifndef IW_WIRE_DDP_H
#define IW_WIRE_DDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/text.h"

#define IW_DDP_TAGGED_LEN     14
#define IW_DDP_UNTAGGED_LEN   18
#define IW_DDP_HDR_MAX        IW_DDP_UNTAGGED_LEN
#define IW_RDMAP_RREQ_LEN     28
#define IW_RDMAP_TERM_MIN     4
#define IW_RDMAP_TERM_LEN_LEN 2  /* DDP Segment Length */
#define IW_RDMAP_TERM_MAX     52 /* with DDP Segment Length and both headers: 4 + 2 + 18 + 28 */

enum iw_qn { IW_QN_SEND = 0, IW_QN_RREQ = 1, IW_QN_TERM = 2, IW_QN_ATOMIC_RSP = 3 };

enum iw_opcode {
	IW_OP_WRITE = 0,
	IW_OP_RREQ = 1,
	IW_OP_RRESP = 2,
	IW_OP_SEND = 3,
	IW_OP_SEND_INV = 4,
	IW_OP_SEND_SE = 5,
	IW_OP_SEND_SE_INV = 6,
	IW_OP_TERM = 7,
	IW_OP_IMM = 8, /* RFC 7306 */
	IW_OP_IMM_SE = 9,
	IW_OP_ATOMIC_REQ = 10,
	IW_OP_ATOMIC_RSP = 11,
};
/* Returns "RDMA Write", "RDMA Read Request", ... as in the RFCs, or "unassigned". */
const char *iw_opcode_name(uint8_t opcode);

/* What the RFCs require of the segments of an opcode: RFC 5040 figure 4, RFC 7306 figure 2. */
struct iw_opcode_info {
	const char *name; /* as iw_opcode_name() */
	bool assigned, tagged;
	bool invalidates; /* uses the Invalidate STag */
	uint8_t qn;       /* untagged: the queue of its messages */
	/* Octets after the DDP header, at least and at most; IW_OP_ANY_LEN: no limit. */
	uint8_t payload_min, payload_max;
	const char *clause; /* the clause that defines the length */
};
#define IW_OP_ANY_LEN 255
/*
 * Returns the row of the opcode (static). Never NULL: that of an unassigned opcode, 12 and above,
 * has the name "unassigned" and assigned false.
 */
const struct iw_opcode_info *iw_opcode_info(uint8_t opcode);

/* A DDP header, with all reserved bits. */
struct iw_ddp {
	bool tagged, last;
	uint8_t rsvd_ddp;               /* 4 bits */
	uint8_t dv;                     /* 2 bits */
	uint8_t rv, rsvd_rdmap, opcode; /* 2, 2 and 4 bits of the first RsvdULP octet */
	uint32_t stag;                  /* tagged */
	uint64_t to;
	uint32_t inval_stag; /* untagged: the last 4 RsvdULP octets */
	uint32_t qn, msn, mo;
};

static inline size_t iw_ddp_hdr_len(bool tagged)
{
	return tagged ? IW_DDP_TAGGED_LEN : IW_DDP_UNTAGGED_LEN;
}

/* Returns the length, 14 or 18. 0: more octets are needed. */
int iw_wire_ddp_decode(struct iw_ddp *out, const uint8_t *src, size_t len);
/* Returns the length. IW_E_INVAL: cap is too small. Excess high bits of a field are ignored. */
int iw_wire_ddp_encode(uint8_t *dst, size_t cap, const struct iw_ddp *in);
/* Appends "Send L MSN 1 MO 0" or "RDMA Write STag 0x01020304 TO 0x10". */
void iw_wire_ddp_print(struct iw_text *t, const struct iw_ddp *h);

/* RDMA Read Request (RFC 5040 4.4). */
struct iw_rreq {
	uint32_t sink_stag;
	uint64_t sink_to;
	uint32_t size;
	uint32_t src_stag;
	uint64_t src_to;
};
/* Returns the length, 28. 0: more octets are needed. */
int iw_rreq_decode(struct iw_rreq *out, const uint8_t *src, size_t len);
/* Returns the length, 28. IW_E_INVAL: cap is too small. */
int iw_rreq_encode(uint8_t *dst, size_t cap, const struct iw_rreq *in);
/* Appends "Data Sink STag 0x00000001 TO 0x0 RDMA Read Message Size 0 ...". */
void iw_rreq_print(struct iw_text *t, const struct iw_rreq *r);

/* The layers of a Terminate (RFC 5040 4.8). */
enum iw_layer { IW_LAYER_RDMAP = 0, IW_LAYER_DDP = 1, IW_LAYER_LLP = 2 };
/* Returns "RDMAP", "DDP", "LLP", or "not assigned". */
const char *iw_wire_layer_name(uint8_t layer);

/* Terminate (RFC 5040 4.8). */
struct iw_terminate {
	uint8_t layer, etype, code; /* 4, 4, 8 bits */
	bool m, d, r;
	uint8_t rsvd_bits;           /* 5 low bits of octet 2 */
	uint8_t rsvd;                /* octet 3 */
	uint16_t ddp_len;            /* DDP Segment Length; valid with m */
	uint8_t ddp[IW_DDP_HDR_MAX]; /* with d: the copied header */
	uint8_t ddp_hdr_len;         /* 14 or 18; 0: without d, or the header is incomplete */
	bool has_rreq;               /* with r: all 28 octets are present */
	struct iw_rreq rreq;
	bool len_absent; /* with m or d: there is no DDP Segment Length, and encode writes none */
};
/*
 * Returns the number of decoded octets. 0: fewer than the 4 octets of the control field. Linux siw
 * sends Terminates without the headers that M, D and R announce: then ddp_hdr_len is 0, has_rreq is
 * false, and the return value does not include these headers.
 */
int iw_terminate_decode(struct iw_terminate *out, const uint8_t *src, size_t len);
/*
 * Quirk siw-terminate: on a little-endian machine, Linux siw fills the control field from the low
 * bits: layer in the low half of octet 0; M, D and R in the low bits of octet 2. *as_is is what
 * iw_terminate_decode() made of the len octets at src. Returns true and the corrected decoding in
 * *out if *as_is is invalid (reserved bits are set, or no RFC defines the error) and siw's bit
 * order gives a valid Terminate. If both are valid, RFC 5040 4.8 applies, and it returns false.
 */
bool iw_terminate_decode_siw(struct iw_terminate *out, const struct iw_terminate *as_is,
			     const uint8_t *src, size_t len);
/*
 * Writes the control field; with m or d, DDP Segment Length; with d, ddp_hdr_len octets of ddp;
 * with r and has_rreq, rreq. Returns the length. IW_E_INVAL: cap is too small, or ddp_hdr_len is
 * above IW_DDP_HDR_MAX.
 */
int iw_terminate_encode(uint8_t *dst, size_t cap, const struct iw_terminate *in);
/* Appends "Terminate DDP tagged buffer error: invalid STag M D DDP Segment Length 22 of ...". */
void iw_terminate_print(struct iw_text *t, const struct iw_terminate *m);
/*
 * Appends the error of term, which is IW_TERM(...): "DDP tagged buffer error: base or bounds
 * violation". If no RFC defines it: "layer 1 type 1 code 0x7f".
 */
void iw_wire_term_print(struct iw_text *t, uint32_t term);

#endif
