/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA start-up frames (RFC 5044 7.1.1, RFC 6581 6 and 9), and the layout of FPDUs and markers
 * (RFC 5044 4). Neither decoders nor encoders check values: lib/mpa does. Printers append to one
 * line, without a newline.
 */
#ifndef IW_WIRE_MPA_H
#define IW_WIRE_MPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/text.h"

/* RFC 5044 7.1.1: on the wire without the NUL. */
#define IW_MPA_REQUEST_KEY    "MPA ID Req Frame"
#define IW_MPA_REPLY_KEY      "MPA ID Rep Frame"
#define IW_MPA_KEY_LEN        16
#define IW_MPA_KEY_DIFFERS    9      /* offset of the one octet in which the keys differ */
#define IW_MPA_FRAME_LEN      20     /* key, flags, Rev, PD_Length */
#define IW_MPA_PD_MAX         512    /* RFC 5044 7.1.1 */
#define IW_MPA_ENHANCED_LEN   4      /* RFC 6581 9 */
#define IW_MPA_IRD_ORD_MAX    0x3fff /* also means: no automatic negotiation */
#define IW_MPA_ULPDU_MIN_MAX  128    /* octets; RFC 5044 3: the smallest MULPDU */
#define IW_MPA_ULPDU_MAX      64768  /* octets; RFC 5044 3: the largest MULPDU */
#define IW_MPA_MARKER_SPACING 512
#define IW_MPA_MARKER_LEN     4
#define IW_MPA_HEAD_LEN       2 /* ULPDU_Length */
#define IW_MPA_CRC_LEN        4

enum iw_mpa_flag {
	IW_MPA_M = 0x80,
	IW_MPA_C = 0x40,
	IW_MPA_R = 0x20,
	IW_MPA_S = 0x10,
	IW_MPA_RES = 0x0f
};
enum iw_mpa_kind { IW_MPA_REQUEST = 0, IW_MPA_REPLY = 1, IW_MPA_OTHER = 2 };

/* A Request or Reply frame. */
struct iw_mpa_frame {
	enum iw_mpa_kind kind;       /* IW_MPA_OTHER: another key */
	uint8_t key[IW_MPA_KEY_LEN]; /* as decoded; encode uses it only for IW_MPA_OTHER */
	uint8_t flags;               /* all eight bits */
	uint8_t rev;
	uint16_t pd_len;
	const uint8_t *pd; /* includes the enhanced data; borrowed from the decoded octets */
};

/* RFC 6581 9: the 32 bits before the ULP's Private Data if S is 1. */
struct iw_mpa_enhanced {
	bool peer_to_peer;                  /* A */
	bool rtr_send, rtr_write, rtr_read; /* B, C, D */
	uint16_t ird, ord;                  /* 14 bits each */
};

/*
 * Returns the length of the frame, 20 plus PD_Length. 0: more octets are needed. If the first 20
 * are complete, *out is filled nevertheless, with pd NULL; otherwise it is zero, with the kind
 * IW_MPA_OTHER. There is no error: any key and any PD_Length decode.
 */
int iw_wire_mpa_frame_decode(struct iw_mpa_frame *out, const uint8_t *src, size_t len);
/*
 * Returns the length. pd NULL: writes only the first 20 octets, with pd_len as PD_Length.
 * IW_E_INVAL: cap is too small.
 */
int iw_wire_mpa_frame_encode(uint8_t *dst, size_t cap, const struct iw_mpa_frame *in);
/* Appends "MPA Request Rev 2 C S PD_Length 4". */
void iw_wire_mpa_frame_print(struct iw_text *t, const struct iw_mpa_frame *f);

/* Returns the length, 4. 0: more octets are needed. */
int iw_wire_mpa_enhanced_decode(struct iw_mpa_enhanced *out, const uint8_t *src, size_t len);
/*
 * Returns the length, 4. Only the low 14 bits of ird and ord are used. IW_E_INVAL: cap is too
 * small.
 */
int iw_wire_mpa_enhanced_encode(uint8_t *dst, size_t cap, const struct iw_mpa_enhanced *in);
/* Appends "peer-to-peer RTR Read IRD 32 ORD 1". */
void iw_wire_mpa_enhanced_print(struct iw_text *t, const struct iw_mpa_enhanced *e);

/* A marker (RFC 5044 4.2). A receiver ignores the two low bits of fpduptr. */
struct iw_mpa_marker {
	uint16_t reserved, fpduptr;
};
/* Returns the length, 4. 0: more octets are needed. */
int iw_wire_mpa_marker_decode(struct iw_mpa_marker *out, const uint8_t *src, size_t len);
/* Returns the length, 4. IW_E_INVAL: cap is too small. */
int iw_wire_mpa_marker_encode(uint8_t *dst, size_t cap, const struct iw_mpa_marker *in);

/* Returns the octets of PAD: 2 + ulpdu_len + PAD is a multiple of 4 (RFC 5044 4.1). */
static inline size_t iw_mpa_pad(size_t ulpdu_len)
{
	return (4 - (IW_MPA_HEAD_LEN + ulpdu_len) % 4) % 4;
}

/* Returns the octets of an FPDU without markers (RFC 5044 4.1). */
static inline size_t iw_mpa_fpdu_len(size_t ulpdu_len)
{
	return IW_MPA_HEAD_LEN + ulpdu_len + iw_mpa_pad(ulpdu_len) + IW_MPA_CRC_LEN;
}

/*
 * Returns the octets of an FPDU with its markers (RFC 5044 4.3): those inside, and the one before
 * ULPDU_Length if one is due there. pos: position of the FPDU, octets since SeqStart modulo 2^32.
 */
size_t iw_wire_mpa_fpdu_len_marked(uint32_t pos, size_t ulpdu_len);

/*
 * Returns the MULPDU (RFC 5044 4.5): the largest ULPDU whose FPDU fits in emss octets, but at least
 * 128 and at most 64768.
 */
size_t iw_wire_mpa_mulpdu(size_t emss, bool markers);

#endif
