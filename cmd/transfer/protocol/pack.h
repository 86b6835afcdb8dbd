/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packs (man/ddp-transfer.7): up to IW_XFER_MEMBERS small files announced, asked for, moved and settled as one. The list is a CBOR array
 * with an entry for each member, as in FILES but without a number. The content has for each member that is wanted and is a file one
 * octet, its code, and behind code 0 its octets, as many as the list says.
 */
#ifndef IW_XFER_PACK_H
#define IW_XFER_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "transfer/protocol/msg.h"
#include "transfer/protocol/xfer.h"

/* What is known of a file as an entry: *e gets name, kind and what goes with the kind. It points to what m points to. */
void iw_xpack_entry(struct iw_xentry *e, const struct iw_xmeta *m);
/* The other way; numbers, parts and lists are not among it. */
void iw_xpack_meta(struct iw_xmeta *m, const struct iw_xentry *e);

/* Writes a list. add is false when there is no room for m: the list is as it was before. */
struct iw_xpack_out {
	struct iw_cbor_out o;
	uint32_t n;
};
void iw_xpack_begin(struct iw_xpack_out *p, uint8_t *buf, size_t cap);
bool iw_xpack_add(struct iw_xpack_out *p, const struct iw_xmeta *m);
/* Returns its length. */
size_t iw_xpack_end(struct iw_xpack_out *p);

/* Reads one that iw_xpack_check has found good. */
IW_MUST_CHECK int iw_xpack_open(struct iw_xlist *l, const uint8_t *list, size_t len,
				struct iw_fault *why);
/* *n members, none of them a stream or a pack, sizes together below a chunk with their codes. IW_E_FORMAT, IW_E_LIMIT, IW_E_TRUNC: *why. */
IW_MUST_CHECK int iw_xpack_check(const uint8_t *list, size_t len, uint32_t *n,
				 struct iw_fault *why);

#endif
