// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Decodes, encodes and prints Atomic Request and Atomic Response (RFC 7306 5.2). */
#include "wire/atomic.h"

#include <iwarp/err.h>

#include "util/num.h"

#define OP_BITS 4
#define OP_MASK 0xf

const char *iw_atomic_op_name(uint8_t op)
{
	switch ((enum iw_atomic_op)op) {
	case IW_ATOMIC_FETCH_ADD:
		return "FetchAdd";
	case IW_ATOMIC_CMP_SWAP:
		return "CmpSwap";
	}
	return "unassigned";
}

int iw_atomic_req_decode(struct iw_atomic_req *out, const uint8_t *src, size_t len)
{
	*out = (struct iw_atomic_req){ 0 };
	if (len < IW_RDMAP_ATOMIC_REQ_LEN)
		return 0;
	out->rsvd = iw_get_be32(src) >> OP_BITS;
	out->op = src[3] & OP_MASK;
	out->id = iw_get_be32(src + 4);
	out->stag = iw_get_be32(src + 8);
	out->to = iw_get_be64(src + 12);
	out->data = iw_get_be64(src + 20);
	out->mask = iw_get_be64(src + 28);
	out->compare = iw_get_be64(src + 36);
	out->compare_mask = iw_get_be64(src + 44);
	return IW_RDMAP_ATOMIC_REQ_LEN;
}

int iw_atomic_req_encode(uint8_t *dst, size_t cap, const struct iw_atomic_req *in)
{
	if (cap < IW_RDMAP_ATOMIC_REQ_LEN)
		return IW_E_INVAL;
	iw_put_be32(dst, in->rsvd << OP_BITS | (in->op & OP_MASK));
	iw_put_be32(dst + 4, in->id);
	iw_put_be32(dst + 8, in->stag);
	iw_put_be64(dst + 12, in->to);
	iw_put_be64(dst + 20, in->data);
	iw_put_be64(dst + 28, in->mask);
	iw_put_be64(dst + 36, in->compare);
	iw_put_be64(dst + 44, in->compare_mask);
	return IW_RDMAP_ATOMIC_REQ_LEN;
}

static void put(struct iw_text *t, const char *name, uint64_t v)
{
	iw_text_fmt(t, " %s ", name);
	iw_text_hex(t, v, 1);
}

void iw_atomic_req_print(struct iw_text *t, const struct iw_atomic_req *r)
{
	bool swap = r->op == IW_ATOMIC_CMP_SWAP;

	iw_text_str(t, iw_atomic_op_name(r->op));
	if (r->op != IW_ATOMIC_FETCH_ADD && !swap)
		iw_text_fmt(t, " AOpCode %u", (uint32_t)r->op);
	iw_text_fmt(t, " Request Identifier %u Remote STag %x", r->id, r->stag);
	put(t, "TO", r->to);
	put(t, swap ? "Swap Data" : "Add Data", r->data);
	put(t, swap ? "Swap Mask" : "Add Mask", r->mask);
	/*
	 * RFC 7306 5.2.1: a FetchAdd sends 0 and all ones in these, and its receiver ignores them.
	 */
	if (swap || r->compare)
		put(t, "Compare Data", r->compare);
	if (swap || r->compare_mask != UINT64_MAX)
		put(t, "Compare Mask", r->compare_mask);
	if (r->rsvd)
		put(t, "Reserved", r->rsvd);
}

int iw_atomic_rsp_decode(struct iw_atomic_rsp *out, const uint8_t *src, size_t len)
{
	*out = (struct iw_atomic_rsp){ 0 };
	if (len < IW_RDMAP_ATOMIC_RSP_LEN)
		return 0;
	out->id = iw_get_be32(src);
	out->value = iw_get_be64(src + 4);
	return IW_RDMAP_ATOMIC_RSP_LEN;
}

int iw_atomic_rsp_encode(uint8_t *dst, size_t cap, const struct iw_atomic_rsp *in)
{
	if (cap < IW_RDMAP_ATOMIC_RSP_LEN)
		return IW_E_INVAL;
	iw_put_be32(dst, in->id);
	iw_put_be64(dst + 4, in->value);
	return IW_RDMAP_ATOMIC_RSP_LEN;
}

void iw_atomic_rsp_print(struct iw_text *t, const struct iw_atomic_rsp *r)
{
	iw_text_fmt(t, "Original Request Identifier %u Original Remote Data Value ", r->id);
	iw_text_hex(t, r->value, 1);
}
