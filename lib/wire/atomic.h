/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RDMAP headers of Atomic Request and Atomic Response, and the length of Immediate Data. They
 * follow the DDP header (RFC 7306). Neither decoders nor encoders check values. Printers append to
 * one line, without a newline.
 */
#ifndef IW_WIRE_ATOMIC_H
#define IW_WIRE_ATOMIC_H

#include <stddef.h>
#include <stdint.h>

#include "util/text.h"

#define IW_RDMAP_ATOMIC_REQ_LEN 52
#define IW_RDMAP_ATOMIC_RSP_LEN 12 /* RFC 7306 figure 6; its section 4 says 32, in error */
#define IW_RDMAP_IMM_LEN        8

/* AOpCode (RFC 7306 figure 5 and 10.1): 1 is reserved, and all other values are unassigned. */
enum iw_atomic_op { IW_ATOMIC_FETCH_ADD = 0, IW_ATOMIC_CMP_SWAP = 2 };
/* Returns "FetchAdd", "CmpSwap", or "unassigned". */
const char *iw_atomic_op_name(uint8_t op);

/* Atomic Request (RFC 7306 5.2.1). */
struct iw_atomic_req {
	uint32_t rsvd; /* 28 bits */
	uint8_t op;    /* AOpCode, 4 bits */
	uint32_t id;   /* Request Identifier */
	uint32_t stag;
	uint64_t to;
	uint64_t data, mask; /* of the Add or the Swap */
	uint64_t compare, compare_mask;
};
/* Returns the length, 52. 0: more octets are needed. */
int iw_atomic_req_decode(struct iw_atomic_req *out, const uint8_t *src, size_t len);
/*
 * Returns the length, 52. Excess high bits of a field are ignored. IW_E_INVAL: cap is too small.
 * The tests need the two encoders, although no tool sends Atomics: they prove that decoding loses
 * no bit, and build the segments that ddp-dump and wire/field.h explain.
 */
int iw_atomic_req_encode(uint8_t *dst, size_t cap, const struct iw_atomic_req *in);
/* Appends "FetchAdd Request Identifier 1 Remote STag 0x00000001 TO 0x0 ...". */
void iw_atomic_req_print(struct iw_text *t, const struct iw_atomic_req *r);

/* Atomic Response (RFC 7306 5.2.2). */
struct iw_atomic_rsp {
	uint32_t id;    /* Original Request Identifier */
	uint64_t value; /* Original Remote Data Value */
};
/* Returns the length, 12. 0: more octets are needed. */
int iw_atomic_rsp_decode(struct iw_atomic_rsp *out, const uint8_t *src, size_t len);
/* Returns the length, 12. IW_E_INVAL: cap is too small. */
int iw_atomic_rsp_encode(uint8_t *dst, size_t cap, const struct iw_atomic_rsp *in);
/* Appends "Original Request Identifier 1 Original Remote Data Value 0x0". */
void iw_atomic_rsp_print(struct iw_text *t, const struct iw_atomic_rsp *r);

#endif
