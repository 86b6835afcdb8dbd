// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDMA Read Request headers. */
#include "wire/ddp.h"

#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_rreq r;
	int n = iw_rreq_decode(&r, data, len);

	must(n == (len < IW_RDMAP_RREQ_LEN ? 0 : IW_RDMAP_RREQ_LEN));
	if (n)
		MUST_COME_BACK(&r, n, iw_rreq_encode, iw_rreq_print);
	return 0;
}
