// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The Private Data of sctp-ddp-ping: decoded data respects the limits and is encoded to the same
 * octets. */
#include "sctp-ddp-ping/ping.h"

#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_ping_hello h;
	uint8_t buf[IW_PING_HELLO_LEN];

	if (!iw_ping_hello_decode(&h, data, len))
		return 0;
	must(len >= sizeof(buf));
	must(h.window > 0 && h.size <= IW_PING_SIZE_MAX);
	iw_ping_hello_encode(buf, &h);
	must(memcmp(buf, data, sizeof(buf)) == 0);
	return 0;
}
