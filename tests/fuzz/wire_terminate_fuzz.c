// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Terminate headers: complete, truncated, or announcing parts that are missing. */
#include "wire/ddp.h"

#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_terminate m;
	int n = iw_terminate_decode(&m, data, len);

	if (len < IW_RDMAP_TERM_MIN) {
		must(n == 0);
		return 0;
	}
	must(n >= IW_RDMAP_TERM_MIN && n <= IW_RDMAP_TERM_MAX && (size_t)n <= len);
	must(m.ddp_hdr_len == 0 || m.ddp_hdr_len == IW_DDP_TAGGED_LEN ||
	     m.ddp_hdr_len == IW_DDP_UNTAGGED_LEN);
	must(m.d || m.ddp_hdr_len == 0);
	must(m.r || !m.has_rreq);
	must(!m.len_absent || ((m.m || m.d) && n == IW_RDMAP_TERM_MIN));
	MUST_COME_BACK(&m, n, iw_terminate_encode, iw_terminate_print);
	return 0;
}
