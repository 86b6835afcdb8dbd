/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames ULPDUs for a connection of play.h. It uses the engine of lib/mpa and gives it a start-up
 * that ends in the agreement seen on the wire. Use lib/wire for FPDUs that no engine would send.
 */
#ifndef IW_MPA_PROBE_CODEC_H
#define IW_MPA_PROBE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct iw_codec;

struct iw_codec_cfg {
	bool crc;                    /* in use: generated and checked */
	bool tx_markers, rx_markers; /* markers in FPDUs to the peer, from the peer */
};

/* One FPDU from the peer. */
struct iw_codec_ulpdu {
	uint64_t pos; /* of its first octet in the stream, from the first octet after start-up */
	const uint8_t *data; /* owned by the codec; valid until the next iw_codec_feed() */
	size_t len;
};

/* Returns 0 and *out, or IW_E_NOMEM. */
IW_MUST_CHECK int iw_codec_new(struct iw_codec **out, const struct iw_codec_cfg *cfg,
			       struct iw_fault *why);
/* NULL is allowed. */
void iw_codec_free(struct iw_codec *c);
/*
 * Frames a ULPDU of 14 to 1024 octets as the next FPDU to send. Returns its length. *octets is
 * owned by the codec and valid until the next call.
 */
size_t iw_codec_put(struct iw_codec *c, const uint8_t *ulpdu, size_t len, const uint8_t **octets);
/*
 * Takes octets from the peer, in any pieces. The codec keeps each ULPDU until iw_codec_next() takes
 * it, also after a fault. Returns 0, or
 *  - IW_E_MPA_CRC, IW_E_MPA_MARKER, IW_E_MPA_LOCAL: the stream is invalid; later octets are
 *    ignored;
 *  - IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_codec_feed(struct iw_codec *c, const uint8_t *octets, size_t len,
				struct iw_fault *why);
/* Takes the next ULPDU received. Returns false if none is left. */
bool iw_codec_next(struct iw_codec *c, struct iw_codec_ulpdu *out);

#endif
