// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The list of a pack from a peer: an accepted list can be read to its end, and written again
 * without change.
 */
#include "transfer/protocol/pack.h"

#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t again[IW_XFER_LIST_MAX * 2];
	struct iw_xfer_pack_out out;
	struct iw_xfer_entry e;
	struct iw_xfer_entries l;
	struct iw_fault why;
	uint32_t n, m = 0;
	uint64_t sum = 0;

	if (len > IW_XFER_LIST_MAX || iw_xfer_pack_check(data, len, &n, &why) != 0)
		return 0;
	must(n >= 1 && n <= IW_XFER_MEMBERS);
	must(iw_xfer_pack_open(&l, data, len, &why) == 0);
	iw_xfer_pack_begin(&out, again, sizeof(again));
	while (iw_xfer_entries_next(&l, &e, &why) == 1) {
		struct iw_xfer_meta meta;

		iw_xfer_pack_meta(&meta, &e);
		must(iw_xfer_has_data(meta.kind) == (meta.kind == IW_XFER_FILE));
		sum += meta.kind == IW_XFER_FILE ? meta.size + 1 : 0;
		/* Links without a target are refused later, by iw_place_make. */
		if (!meta.target)
			meta.target = "";
		must(iw_xfer_pack_add(&out, &meta));
		m++;
	}
	must(m == n && sum <= IW_XFER_CHUNK);
	must(iw_xfer_pack_check(again, iw_xfer_pack_end(&out), &m, &why) == 0 && m == n);
	return 0;
}
