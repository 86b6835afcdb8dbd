/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Encodes MPA Requests in which every bit can be set, valid or not (RFC 5044 7.1.1, RFC 6581 6 and
 * 9), and reads known contents of Private Data. No system call, no state.
 */
#ifndef IW_MPA_PROBE_ASK_H
#define IW_MPA_PROBE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agree/agree.h"
#include "util/text.h"
#include "wire/mpa.h"

#define IW_ASK_MAX (IW_MPA_FRAME_LEN + IW_MPA_PD_MAX)

struct iw_ask {
	uint8_t rev;
	bool rdmac;        /* --profile rdmac was given; not on the wire */
	bool crc, markers; /* C, M */
	uint8_t reserved;  /* the four reserved bits of the flags */
	/* S, and the octets of RFC 6581 9. If false, the fields up to ord are ignored. */
	bool enhanced;
	bool peer_to_peer; /* A */
	uint8_t rtr;       /* set of enum iw_rtr: B, C, D */
	uint16_t ird, ord;
	uint32_t block; /* above 0: adds the block of libiwarp (mpa/mpa.h) with this ULPDU size */
	const uint8_t *pd; /* the ULP's Private Data (borrowed) */
	size_t pd_len;
};

/*
 * Encodes a Request. Private Data above 512 octets is cut. Returns the length: 20 and the Private
 * Data.
 */
size_t iw_ask_encode(uint8_t dst[static IW_ASK_MAX], const struct iw_ask *a);
/* Appends "Rev 2 C=1 M=0 peer-to-peer RTR Send Write Read IRD 16 ORD 16", without a newline. */
void iw_ask_print(struct iw_text *t, const struct iw_ask *a);

/* Appends the names in a set: "Send Write", or "none". */
void iw_ask_rtr_print(struct iw_text *t, uint8_t rtr);
/* Returns "send", "write" or "read" for a set of one form, else "none". */
const char *iw_ask_rtr_name(uint8_t rtr);

/*
 * Returns true if the Private Data begins with the block of libiwarp, and sets *ulpdu to its ULPDU
 * size. The ULP's Private Data follows the block.
 */
bool iw_ask_is_block(const uint8_t *pd, size_t len, uint32_t *ulpdu);

/*
 * The IRD/ORD Negotiate Header, with which Private Data of Windows begins in Rev 1 ([MS-SMBD] 6.1):
 * two big-endian words. Some old Linux clients send them in little-endian order.
 */
#define IW_SMBD_LEN 8
enum iw_smbd { IW_SMBD_NONE, IW_SMBD_BIG, IW_SMBD_LITTLE };
/*
 * Returns the byte order in which both words are depths from 1 to 65535, and sets *ird and *ord.
 * Returns IW_SMBD_NONE if neither order fits, or if len is below 8.
 */
enum iw_smbd iw_smbd_decode(const uint8_t *pd, size_t len, uint32_t *ird, uint32_t *ord);
/* Writes the header in big-endian order. */
void iw_smbd_encode(uint8_t dst[static IW_SMBD_LEN], uint32_t ird, uint32_t ord);

#endif
