// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The 32 bits of enhanced data (RFC 6581 9). */
#include "wire/mpa.h"

#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_mpa_enhanced e;
	int n = iw_wire_mpa_enhanced_decode(&e, data, len);

	must(n == (len < IW_MPA_ENHANCED_LEN ? 0 : IW_MPA_ENHANCED_LEN));
	must(e.ird <= IW_MPA_IRD_ORD_MAX && e.ord <= IW_MPA_IRD_ORD_MAX);
	if (n)
		MUST_COME_BACK(&e, n, iw_wire_mpa_enhanced_encode, iw_wire_mpa_enhanced_print);
	return 0;
}
