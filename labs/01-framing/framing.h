/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA framing (RFC 5044 4): DDP segments, which MPA calls ULPDUs, in a stream of octets. You write
 * these functions in framing.c.
 *
 * An FPDU is a ULPDU with what MPA adds:
 *
 *	0       2                 2 + len             2 + len + pad
 *	+-------+-----------------+-------------------+-------+
 *	| len   | ULPDU           | 0 to 3 zero octets| CRC32c|
 *	+-------+-----------------+-------------------+-------+
 *	  2       len               pad                 4       octets
 */
#ifndef FRAMING_H
#define FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPDU_HEAD_LEN  2     /* octets: ULPDU_Length, most significant octet first */
#define FPDU_CRC_LEN   4     /* octets, least significant octet first */
#define FPDU_ULPDU_MAX 64768 /* octets: the largest ULPDU (RFC 5044 3, MULPDU) */
#define MARKER_SPACING 512   /* octets of the stream from one marker to the next */
#define MARKER_LEN     4     /* octets: 2 zero octets, then FPDUPTR, most significant octet first */

enum fpdu_status {
	FPDU_OK = 0,
	FPDU_MORE = 1,       /* the FPDU is not complete yet */
	FPDU_BAD_CRC = 2,    /* the CRC is not that of the octets before it */
	FPDU_BAD_LENGTH = 3, /* ULPDU_Length is above FPDU_ULPDU_MAX */
};

/* Step crc. Returns the CRC32c (Castagnoli) of len octets (RFC 3720 12.1; test values in its B.4). */
uint32_t crc32c(const uint8_t *octets, size_t len);

/* Step size. Returns the octets of the FPDU for a ULPDU of ulpdu_len octets. */
size_t fpdu_size(size_t ulpdu_len);

/*
 * Steps build and room. Writes the FPDU of a ULPDU to dst. Returns its octets, or 0 if they are more
 * than cap, or if the ULPDU is longer than FPDU_ULPDU_MAX; then dst is unchanged.
 */
size_t fpdu_build(uint8_t *dst, size_t cap, const uint8_t *ulpdu, size_t ulpdu_len);

struct fpdu {
	const uint8_t *ulpdu; /* points into the stream */
	size_t ulpdu_len;
	size_t size; /* octets of the FPDU */
};

/*
 * Steps parse and damage. Reads the FPDU that begins at stream, of which len octets have arrived.
 * Fills *fpdu and returns FPDU_OK only if the FPDU is complete and its CRC is right. A length above
 * the limit is reported as soon as it is known.
 */
enum fpdu_status fpdu_parse(const uint8_t *stream, size_t len, struct fpdu *fpdu);

/* Step stream. The receiving end of a stream, which TCP may split anywhere. */
struct framer;

/* Returns a receiver that waits for its first FPDU, or NULL without memory. */
struct framer *framer_new(void);
/* Frees it and all that it has stored. */
void framer_free(struct framer *f);
/* Stores a copy of the next octets of the stream. Returns false without memory. */
bool framer_put(struct framer *f, const uint8_t *octets, size_t len);
/*
 * Returns FPDU_OK and the next ULPDU, which is valid until the next call of a function with this
 * receiver; FPDU_MORE if no complete FPDU is stored. After an error it returns this error forever:
 * the receiver cannot know where the next FPDU begins (RFC 5044 8).
 */
enum fpdu_status framer_next(struct framer *f, const uint8_t **ulpdu, size_t *ulpdu_len);

/*
 * Step markers. As fpdu_build(), with markers (RFC 5044 4.3). pos: position of the FPDU in the
 * stream, in octets since the first octet after MPA's start-up, markers included. A marker is at
 * each position that is a multiple of MARKER_SPACING; also before ULPDU_Length, if pos is one.
 * FPDUPTR is the number of octets from the begin of ULPDU_Length to the marker; 0 for a marker
 * directly before it. The CRC includes the markers. Returns the octets, markers included.
 */
size_t fpdu_build_marked(uint8_t *dst, size_t cap, uint32_t pos, const uint8_t *ulpdu,
			 size_t ulpdu_len);

#endif
