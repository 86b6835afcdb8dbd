// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Encodes and decodes the Private Data of a Session Initiate. */
#include "sctp-ddp-ping/ping.h"

#include <string.h>

#include "util/num.h"

static const uint8_t mark[4] = { 'i', 'w', 'P', 1 };

void iw_ping_hello_encode(uint8_t buf[static IW_PING_HELLO_LEN], const struct iw_ping_hello *h)
{
	memcpy(buf, mark, sizeof(mark));
	iw_put_be32(buf + 4, h->size);
	iw_put_be16(buf + 8, h->window);
}

bool iw_ping_hello_decode(struct iw_ping_hello *h, const uint8_t *buf, size_t len)
{
	if (len < IW_PING_HELLO_LEN || memcmp(buf, mark, sizeof(mark)) != 0)
		return false;
	h->size = iw_get_be32(buf + 4);
	h->window = iw_get_be16(buf + 8);
	return h->window > 0 && h->size <= IW_PING_SIZE_MAX;
}
