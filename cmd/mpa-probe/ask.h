/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA Requests as a prober wants them: every bit can be set, nothing is refused (RFC 5044 7.1.1, RFC
 * 6581 6 and 9). No system call, no state.
 */
#ifndef IW_PROBE_ASK_H
#define IW_PROBE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agree/agree.h"
#include "util/text.h"
#include "wire/mpa.h"

#define IW_ASK_MAX (IW_MPA_FRAME_LEN + IW_MPA_PD_MAX)

struct iw_ask {
	uint8_t rev;
	bool rdmac;        /* of --profile rdmac; not on the wire */
	bool crc, markers; /* C, M */
	uint8_t reserved;  /* the four reserved bits of the flags */
	bool enhanced;     /* S, and the four octets of RFC 6581 9 */
	bool peer_to_peer; /* A; the rest counts only with enhanced */
	uint8_t rtr;       /* set of enum iw_rtr: B, C, D */
	uint16_t ird, ord;
	uint32_t block;    /* above 0: libiwarp's own block (mpa/mpa.h) with this ULPDU size */
	const uint8_t *pd; /* the ULP's Private Data (borrowed) */
	size_t pd_len;
};

/* Octets written: 20 and the Private Data. What does not fit the 512 octets of Private Data is
 * cut. */
size_t iw_ask_encode(uint8_t dst[static IW_ASK_MAX], const struct iw_ask *a);
/* "Rev 2 C=1 M=0 peer-to-peer RTR Send Write Read IRD 16 ORD 16": one line, no newline. */
void iw_ask_print(struct iw_text *t, const struct iw_ask *a);

/* Prints a set: "Send Write", or "none". */
void iw_ask_rtr_print(struct iw_text *t, uint8_t rtr);
/* Returns "send", "write" or "read" for a set of one form, else "none". */
const char *iw_ask_rtr_name(uint8_t rtr);

/* Octets in front of the ULP's Private Data: libiwarp's block, *ulpdu set. False: there is none. */
bool iw_ask_is_block(const uint8_t *pd, size_t len, uint32_t *ulpdu);

/*
 * The IRD/ORD Negotiate Header that Windows puts into the Private Data of Rev 1 ([MS-SMBD] 6.1): two
 * big-endian words. Some old Linux clients send them in little-endian order.
 */
#define IW_SMBD_LEN 8
enum iw_smbd { IW_SMBD_NONE, IW_SMBD_BIG, IW_SMBD_LITTLE };
/* What the first octets of the Private Data look like, with *ird and *ord: depths from 1 to 65535 in
 * the one order or the other; both words 0 or larger in both orders is none. */
enum iw_smbd iw_smbd_decode(const uint8_t *pd, size_t len, uint32_t *ird, uint32_t *ord);
void iw_smbd_encode(uint8_t dst[static IW_SMBD_LEN], uint32_t ird, uint32_t ord);

#endif
