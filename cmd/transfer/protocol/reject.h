/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A rejection in Private Data: its reason as a code and a text. Both protocols with Private Data
 * use it (hello.h, claim.h).
 */
#ifndef IW_TRANSFER_PROTOCOL_REJECT_H
#define IW_TRANSFER_PROTOCOL_REJECT_H

#include <stdint.h>

#include "cbor/cbor.h"
#include "transfer/protocol/hello.h"

/* Keys of the map. */
#define IW_REJECTION_CODE 14u
#define IW_REJECTION_TEXT 15u

/* Writes two pairs of a map. text is cut to the space in IW_XFER_PD_MAX. */
void iw_rejection_encode(struct iw_cbor_out *o, uint32_t code, const char *text);

/*
 * Decodes them; text is terminated by NUL, and unchanged if the map has none. IW_E_FORMAT: a pair
 * is malformed, or code is 0. IW_E_LIMIT: a text of more than IW_XFER_TEXT_MAX octets.
 */
int iw_rejection_decode(const struct iw_cbor_rec *rec, uint32_t *code,
			char text[static IW_XFER_TEXT_MAX + 1], struct iw_fault *why);

#endif
