// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Private Data that claims a buffer, as Request and as Reply: decoded data stays the same when it
 * is encoded and decoded again. */
#include "stag-reg/claim.h"

#include "fuzz/property.h"

static void check(const uint8_t *data, size_t len, bool reply)
{
	struct iw_claim c, again;
	uint8_t pd[IW_XFER_PD_MAX];
	struct iw_fault why;
	size_t n;

	if (iw_claim_decode(&c, reply, data, len, &why) != 0) {
		must(why.err == IW_E_FORMAT || why.err == IW_E_TRUNC || why.err == IW_E_LIMIT);
		return;
	}
	must(iw_claim_is(data, len));
	must(reply ? c.form != IW_CLAIM_REQUEST : c.form == IW_CLAIM_REQUEST);
	must(c.form != IW_CLAIM_ACCEPT || (c.rights && c.to + c.len >= c.to));
	n = iw_claim_encode(pd, &c);
	must(n > 0 && n <= IW_XFER_PD_MAX);
	must(iw_claim_decode(&again, reply, pd, n, &why) == 0);
	/* A text may have been truncated. */
	memset(c.text, 0, sizeof(c.text));
	memset(again.text, 0, sizeof(again.text));
	must(memcmp(&c, &again, sizeof(c)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	check(data, len, false);
	check(data, len, true);
	return 0;
}
