// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* MPA Request and Reply frames. */
#include "wire/mpa.h"

#include "fuzz/property.h"
#include "util/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_mpa_frame f;
	int n = iw_wire_mpa_frame_decode(&f, data, len);

	if (len < IW_MPA_FRAME_LEN) {
		must(n == 0 && !f.pd && f.pd_len == 0 && f.kind == IW_MPA_OTHER);
		return 0;
	}
	must(f.pd_len == iw_get_be16(data + 18));
	if (n == 0) {
		/* Only the header: it is encoded without its Private Data. */
		must(!f.pd && len - IW_MPA_FRAME_LEN < f.pd_len);
		n = IW_MPA_FRAME_LEN;
	} else {
		must(n == IW_MPA_FRAME_LEN + f.pd_len && (size_t)n <= len);
		must(f.pd == data + IW_MPA_FRAME_LEN);
	}
	MUST_COME_BACK(&f, n, iw_wire_mpa_frame_encode, iw_wire_mpa_frame_print);
	return 0;
}
