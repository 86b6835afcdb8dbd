/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packs (man/ddp-transfer.7): up to IW_XFER_MEMBERS small files that are announced, requested,
 * moved and settled as one. The list is a CBOR array with one entry per member, as in FILES but
 * without a number. The contents have one code octet for each wanted member that is a file; code 0
 * is followed by the octets of the file, as many as the list says.
 */
#ifndef IW_TRANSFER_PROTOCOL_PACK_H
#define IW_TRANSFER_PROTOCOL_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "transfer/protocol/msg.h"
#include "transfer/protocol/xfer.h"

/* Sets name, kind and the fields of that kind in *e. *e points to what m points to. */
void iw_xfer_pack_entry(struct iw_xfer_entry *e, const struct iw_xfer_meta *m);
/* The reverse. Not converted: the file's number, part, list, digest and ident. */
void iw_xfer_pack_meta(struct iw_xfer_meta *m, const struct iw_xfer_entry *e);

/*
 * Writes a list into buf (borrowed), which has cap octets. iw_xfer_pack_add returns false if m does
 * not fit, or the list has IW_XFER_MEMBERS; the list is then unchanged.
 */
struct iw_xfer_pack_out {
	struct iw_cbor_out o;
	uint32_t n;
};
void iw_xfer_pack_begin(struct iw_xfer_pack_out *p, uint8_t *buf, size_t cap);
bool iw_xfer_pack_add(struct iw_xfer_pack_out *p, const struct iw_xfer_meta *m);
/* Returns the length of the list in octets. */
size_t iw_xfer_pack_end(struct iw_xfer_pack_out *p);

/*
 * Opens a list (borrowed) for iw_xfer_entries_next. IW_E_FORMAT: not an array of 1 to
 * IW_XFER_MEMBERS members. The members themselves are checked by iw_xfer_pack_check only.
 */
IW_MUST_CHECK int iw_xfer_pack_open(struct iw_xfer_entries *l, const uint8_t *list, size_t len,
				    struct iw_fault *why);
/*
 * Checks a list; *n: its number of members. IW_E_FORMAT: not a list, a malformed member, or a
 * stream or a pack as a member. IW_E_TRUNC: the list ends early. IW_E_LIMIT: a file without a size,
 * or files that do not fit into a chunk with their codes.
 */
IW_MUST_CHECK int iw_xfer_pack_check(const uint8_t *list, size_t len, uint32_t *n,
				     struct iw_fault *why);

#endif
