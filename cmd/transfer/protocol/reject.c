// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The reason of a rejected connection, in its Private Data. */
#include "transfer/protocol/reject.h"

#include <string.h>

#include "util/text.h"

void iw_rejection_encode(struct iw_cbor_out *o, uint32_t code, const char *text)
{
	iw_cbor_uint(o, IW_REJECTION_CODE);
	iw_cbor_uint(o, code);
	iw_cbor_uint(o, IW_REJECTION_TEXT);
	/* The head of a text of this length takes two octets. */
	iw_cbor_text(o, text, iw_cbor_cut(text, IW_XFER_PD_MAX - o->len - 2));
}

int iw_rejection_decode(const struct iw_cbor_rec *rec, uint32_t *code,
			char text[static IW_XFER_TEXT_MAX + 1], struct iw_fault *why)
{
	const uint8_t *said;
	size_t len;
	int err = iw_cbor_get_u32(rec, IW_REJECTION_CODE, UINT32_MAX, code, why);

	if (err)
		return err;
	if (*code == IW_XFER_CODE_OK)
		return iw_fail(why, IW_E_FORMAT, "Private Data: a rejection with code 0");
	if (!iw_cbor_has(rec, IW_REJECTION_TEXT))
		return 0;
	err = iw_cbor_get_string(rec, IW_REJECTION_TEXT, IW_CBOR_TEXT, IW_XFER_TEXT_MAX, &said,
				 &len, why);
	if (err)
		return err;
	memcpy(text, said, len);
	text[len] = '\0';
	return 0;
}
