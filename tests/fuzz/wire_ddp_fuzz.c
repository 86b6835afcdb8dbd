// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* DDP headers with the RDMAP control octet. */
#include "wire/ddp.h"

#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_ddp h;
	int n = iw_wire_ddp_decode(&h, data, len);

	if (len < IW_DDP_TAGGED_LEN) {
		must(n == 0);
		return 0;
	}
	if (n == 0) {
		must(!(data[0] & 0x80) && len < IW_DDP_UNTAGGED_LEN);
		return 0;
	}
	must((size_t)n == iw_ddp_hdr_len(h.tagged) && (size_t)n <= len);
	must(h.tagged == (data[0] >= 0x80));
	must(h.opcode <= 0xf && h.rv <= 3 && h.dv <= 3 && h.rsvd_ddp <= 0xf && h.rsvd_rdmap <= 3);
	MUST_COME_BACK(&h, n, iw_wire_ddp_encode, iw_wire_ddp_print);
	return 0;
}
