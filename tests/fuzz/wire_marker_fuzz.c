// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Markers and their positions. */
#include "wire/mpa.h"

#include "fuzz/property.h"
#include "util/num.h"

/* RFC 5044 4.3, octet by octet: a marker at each position that is a multiple of 512. */
static size_t walked_len(uint32_t pos, size_t ulpdu_len)
{
	size_t len = 0;

	for (size_t left = iw_mpa_fpdu_len(ulpdu_len); left; left--) {
		if ((uint32_t)(pos + len) % IW_MPA_MARKER_SPACING == 0)
			len += IW_MPA_MARKER_LEN;
		len++;
	}
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_mpa_marker m;
	int n = iw_wire_mpa_marker_decode(&m, data, len);

	must(n == (len < IW_MPA_MARKER_LEN ? 0 : IW_MPA_MARKER_LEN));
	if (n)
		MUST_ENCODE_BACK(&m, n, iw_wire_mpa_marker_encode);
	if (len >= 6) {
		uint32_t pos = iw_get_be32(data);
		size_t ulpdu = iw_get_be16(data + 4), emss = pos % 70000;

		must(iw_wire_mpa_fpdu_len_marked(pos, ulpdu) == walked_len(pos, ulpdu));
		must(iw_wire_mpa_mulpdu(emss, true) <= iw_wire_mpa_mulpdu(emss, false));
		must(iw_wire_mpa_mulpdu(emss, true) >= IW_MPA_ULPDU_MIN_MAX);
		must(iw_wire_mpa_mulpdu(emss, false) <= IW_MPA_ULPDU_MAX);
	}
	return 0;
}
