/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA on the wire: start-up frames (RFC 5044 7.1.1, RFC 6581 6 and 9), FPDU and marker layout (RFC
 * 5044 4). Decoders judge nothing, encoders refuse no odd value: that is for mpa.
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
#define IW_MPA_KEY_DIFFERS    9      /* octets before the first one in which they differ */
#define IW_MPA_FRAME_LEN      20     /* key, flags, Rev, PD_Length */
#define IW_MPA_PD_MAX         512    /* RFC 5044 7.1.1 */
#define IW_MPA_ENHANCED_LEN   4      /* RFC 6581 9 */
#define IW_MPA_IRD_ORD_MAX    0x3fff /* and: no automatic negotiation */
#define IW_MPA_ULPDU_MIN_MAX  128    /* RFC 5044 3: MULPDU is never below */
#define IW_MPA_ULPDU_MAX      64768  /* RFC 5044 3: and never above */
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

/*
 * A Request or Reply frame. pd points into the decoded octets (borrowed), enhanced data included.
 */
struct iw_mpa_frame {
	enum iw_mpa_kind kind;       /* IW_MPA_OTHER: the key is neither */
	uint8_t key[IW_MPA_KEY_LEN]; /* as seen; encode uses it only for IW_MPA_OTHER */
	uint8_t flags;               /* all eight bits, reserved ones too */
	uint8_t rev;
	uint16_t pd_len;
	const uint8_t *pd;
};

/* RFC 6581 9: the 32 bits in front of the Private Data when S = 1. */
struct iw_mpa_enhanced {
	bool peer_to_peer;                  /* A */
	bool rtr_send, rtr_write, rtr_read; /* B, C, D */
	uint16_t ird, ord;                  /* 14 bits each */
};

/*
 * Consumed octets; 0: more octets are needed (20 plus PD_Length); never an error: PD_Length above
 * 512 and foreign keys decode too. When the frame header is there but its Private Data is not,
 * returns 0 with out filled but pd NULL. With fewer than 20 octets out is zero and its kind
 * IW_MPA_OTHER.
 */
int iw_wire_mpa_frame_decode(struct iw_mpa_frame *out, const uint8_t *src, size_t len);
/*
 * Octets written, or IW_E_INVAL when cap is too small. pd NULL: the 20 octets alone, PD_Length as
 * it stands in pd_len.
 */
int iw_wire_mpa_frame_encode(uint8_t *dst, size_t cap, const struct iw_mpa_frame *in);
/* "MPA Request Rev 2 C S PD_Length 4": one line, no newline. */
void iw_wire_mpa_frame_print(struct iw_text *t, const struct iw_mpa_frame *f);

/* Consumed octets (4), 0: more are needed. */
int iw_wire_mpa_enhanced_decode(struct iw_mpa_enhanced *out, const uint8_t *src, size_t len);
/* Octets written (4), or IW_E_INVAL when cap is too small. Of ird and ord the low 14 bits count. */
int iw_wire_mpa_enhanced_encode(uint8_t *dst, size_t cap, const struct iw_mpa_enhanced *in);
/* "peer-to-peer RTR Read IRD 32 ORD 1": one line, no newline. */
void iw_wire_mpa_enhanced_print(struct iw_text *t, const struct iw_mpa_enhanced *e);

/* RFC 5044 4.2. fpduptr as seen: its two low bits are for the reader to ignore. */
struct iw_mpa_marker {
	uint16_t reserved, fpduptr;
};
/* Consumed octets (4), 0: more are needed. */
int iw_wire_mpa_marker_decode(struct iw_mpa_marker *out, const uint8_t *src, size_t len);
/* Octets written (4), or IW_E_INVAL when cap is too small. */
int iw_wire_mpa_marker_encode(uint8_t *dst, size_t cap, const struct iw_mpa_marker *in);
/* "Marker FPDUPTR 0x0014": one line, no newline. */
void iw_wire_mpa_marker_print(struct iw_text *t, const struct iw_mpa_marker *m);

/* Octets of PAD behind a ULPDU: 2 + len + pad is a multiple of 4 (RFC 5044 4.1). */
static inline size_t iw_mpa_pad(size_t ulpdu_len)
{
	return (4 - (IW_MPA_HEAD_LEN + ulpdu_len) % 4) % 4;
}

/* Octets of a whole FPDU without markers. */
static inline size_t iw_mpa_fpdu_len(size_t ulpdu_len)
{
	return IW_MPA_HEAD_LEN + ulpdu_len + iw_mpa_pad(ulpdu_len) + IW_MPA_CRC_LEN;
}

/*
 * Stream octets of the FPDU that begins at stream position pos (octets since SeqStart, modulo 2^32
 * is enough), markers included: the one in front of ULPDU_Length if one is due at pos, and those
 * inside (RFC 5044 4.3).
 */
size_t iw_wire_mpa_fpdu_len_marked(uint32_t pos, size_t ulpdu_len);

/*
 * RFC 5044 4.5: the largest ULPDU whose FPDU fits an EMSS of that many octets, within 128..64768.
 */
size_t iw_wire_mpa_mulpdu(size_t emss, bool markers);

#endif
