// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* DDP Stream Session Control messages, and the DDP-SSN before a segment. */
#include "wire/sctpddp.h"

#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_sctp_control c;
	uint16_t ssn;
	uint8_t out[IW_SCTP_SSN_LEN];
	int n = iw_wire_sctp_segment_decode(&ssn, data, len);

	must(n == (len < IW_SCTP_SSN_LEN ? 0 : IW_SCTP_SSN_LEN));
	if (n) {
		must(iw_wire_sctp_segment_encode(out, sizeof(out), ssn) == n);
		must(memcmp(out, data, sizeof(out)) == 0);
	}
	n = iw_wire_sctp_control_decode(&c, data, len);
	must((size_t)n == (len < 4 ? 0 : len));
	if (n) {
		must(c.pd == data + 4 && c.pd_len == len - 4 && c.ssn == ssn);
		MUST_ENCODE_BACK(&c, n, iw_wire_sctp_control_encode);
	}
	return 0;
}
