/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FPDUs for octets that are played by hand: the engine's own framing (lib/mpa) with its start-up fed
 * to it, so that only what was agreed on the wire counts. For FPDUs that no engine would send, take
 * lib/wire.
 */
#ifndef IW_PROBE_CODEC_H
#define IW_PROBE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct iw_codec;

struct iw_codec_cfg {
	bool crc;                    /* in use: generated and checked */
	bool tx_markers, rx_markers; /* in what is put, in what is got */
};

/* One FPDU that arrived. */
struct iw_codec_ulpdu {
	uint64_t pos;        /* stream octets since full operation began, of its first octet */
	const uint8_t *data; /* owned by the codec */
	size_t len;
};

/* IW_E_NOMEM. */
IW_MUST_CHECK int iw_codec_new(struct iw_codec **out, const struct iw_codec_cfg *cfg,
			       struct iw_fault *why);
/* NULL is fine. */
void iw_codec_free(struct iw_codec *c);
/* The FPDU of a ULPDU of 14 to 1024 octets, to be sent next: *octets (owned by the codec, valid until
 * the next put), its length is returned. */
size_t iw_codec_put(struct iw_codec *c, const uint8_t *ulpdu, size_t len, const uint8_t **octets);
/* Octets as they arrived; any split. 0; a fault (IW_E_MPA_CRC, IW_E_MPA_MARKER, IW_E_MPA_LOCAL), after
 * which nothing more comes up; IW_E_NOMEM. ULPDUs before it can be taken. */
IW_MUST_CHECK int iw_codec_feed(struct iw_codec *c, const uint8_t *octets, size_t len,
				struct iw_fault *why);
/* The next one; false: there is none yet. */
bool iw_codec_next(struct iw_codec *c, struct iw_codec_ulpdu *out);

#endif
