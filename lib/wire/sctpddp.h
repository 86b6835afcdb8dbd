/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RFC 5043 5.2: what DATA chunks of a DDP association carry: DDP-SSN and segment, or DDP-SSN,
 * function code, Private Data.
 */
#ifndef IW_WIRE_SCTPDDP_H
#define IW_WIRE_SCTPDDP_H

#include <stddef.h>
#include <stdint.h>

#include "util/text.h"

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
/* "Initiate", "Enhanced Accept", ...; "unassigned" for the rest. */
const char *iw_wire_sctp_fn_name(uint16_t fn);

/* PPID 17. pd points into the decoded octets (borrowed). */
struct iw_sctp_control {
	uint16_t ssn, fn;
	const uint8_t *pd;
	size_t pd_len;
};
/*
 * Consumed octets, all of them: a message is a whole one. 0: fewer than the 4 octets of DDP-SSN and
 * Function Code. Private Data above 512 octets decodes too. IW_E_INVAL: len above INT_MAX.
 */
int iw_wire_sctp_control_decode(struct iw_sctp_control *out, const uint8_t *src, size_t len);
/* Octets written, or IW_E_INVAL when cap is too small. */
int iw_wire_sctp_control_encode(uint8_t *dst, size_t cap, const struct iw_sctp_control *in);
/* "DDP Stream Session Initiate DDP-SSN 0 Private Data 3": one line, no newline. */
void iw_wire_sctp_control_print(struct iw_text *t, const struct iw_sctp_control *c);

/* PPID 16: the segment follows behind. Consumed octets (2), 0: more are needed. */
int iw_wire_sctp_segment_decode(uint16_t *ssn, const uint8_t *src, size_t len);
/* Octets written (2), or IW_E_INVAL when cap is too small. */
int iw_wire_sctp_segment_encode(uint8_t *dst, size_t cap, uint16_t ssn);

#endif
