// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Atomic Request and Atomic Response headers. */
#include "wire/atomic.h"

#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_atomic_req req;
	struct iw_atomic_rsp rsp;
	int n = iw_atomic_req_decode(&req, data, len);

	must(n == (len < IW_RDMAP_ATOMIC_REQ_LEN ? 0 : IW_RDMAP_ATOMIC_REQ_LEN));
	if (n)
		MUST_COME_BACK(&req, n, iw_atomic_req_encode, iw_atomic_req_print);
	n = iw_atomic_rsp_decode(&rsp, data, len);
	must(n == (len < IW_RDMAP_ATOMIC_RSP_LEN ? 0 : IW_RDMAP_ATOMIC_RSP_LEN));
	if (n)
		MUST_COME_BACK(&rsp, n, iw_atomic_rsp_encode, iw_atomic_rsp_print);
	return 0;
}
