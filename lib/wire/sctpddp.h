/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * User data of DATA chunks that carry DDP (RFC 5043 5.2): DDP-SSN and segment, or DDP-SSN, Function
 * Code and Private Data. Neither decoders nor encoders check values: lib/sctpmap does.
 */
#ifndef IW_WIRE_SCTPDDP_H
#define IW_WIRE_SCTPDDP_H

#include <stddef.h>
#include <stdint.h>

#define IW_SCTP_PPID_SEGMENT           16
#define IW_SCTP_PPID_CONTROL           17
#define IW_SCTP_ADAPTATION_DDP         1
/* draft-ietf-rddp-sctp-02: "DDP and RDMA" */
#define IW_SCTP_ADAPTATION_DDP_RDMA_02 2
#define IW_SCTP_PD_MAX                 512
#define IW_SCTP_SSN_LEN                2
/* DDP-SSN and Function Code */
#define IW_SCTP_CONTROL_LEN            4

enum iw_sctp_fn {
	IW_SCTP_FN_INITIATE = 1,
	IW_SCTP_FN_ACCEPT = 2,
	IW_SCTP_FN_REJECT = 3,
	IW_SCTP_FN_TERMINATE = 4,
	IW_SCTP_FN_ENH_INITIATE = 5, /* RFC 6581 7 */
	IW_SCTP_FN_ENH_ACCEPT = 6,
	IW_SCTP_FN_ENH_REJECT = 7,
};
/* Returns "Initiate", "Enhanced Accept", ..., or "unassigned". */
const char *iw_wire_sctp_fn_name(uint16_t fn);

/* A DDP Stream Session Control message, PPID 17. */
struct iw_sctp_control {
	uint16_t ssn, fn;
	const uint8_t *pd; /* borrowed from the decoded octets */
	size_t pd_len;
};
/*
 * Decodes a whole message, and returns len. 0: fewer than the 4 octets of DDP-SSN and Function
 * Code. IW_E_INVAL: len is above INT_MAX. More than 512 octets of Private Data are not an error
 * here.
 */
int iw_wire_sctp_control_decode(struct iw_sctp_control *out, const uint8_t *src, size_t len);
/* Returns the length. IW_E_INVAL: cap is too small, or pd_len is close to INT_MAX. */
int iw_wire_sctp_control_encode(uint8_t *dst, size_t cap, const struct iw_sctp_control *in);

/*
 * Decodes the DDP-SSN before a DDP segment, PPID 16. Returns its length, 2. 0: more octets are
 * needed.
 */
int iw_wire_sctp_segment_decode(uint16_t *ssn, const uint8_t *src, size_t len);
/* Encodes that DDP-SSN. Returns its length, 2. IW_E_INVAL: cap is too small. */
int iw_wire_sctp_segment_encode(uint8_t *dst, size_t cap, uint16_t ssn);

#endif
