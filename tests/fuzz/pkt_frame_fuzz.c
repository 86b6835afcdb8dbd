// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Arbitrary Ethernet frames: a packet that is found is within the frame, and a header built from
 * the result parses the same. */
#include "pkt/frame.h"

#include "fuzz/property.h"
#include "util/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t ether[14] = { 0 }, again[IW_FRAME_HEAD_MAX + 65536];
	struct iw_xdp_meta notes;
	struct iw_frame f, g;
	size_t n;

	/* Arbitrary metadata for an arbitrary frame: a packet that is found is within it. */
	if (size > sizeof(notes)) {
		memcpy(&notes, data, sizeof(notes));
		if (iw_frame_from_meta(&f, data, size, &notes))
			must(f.at <= size && f.len <= size - f.at);
	}
	if (!iw_frame_parse(&f, data, size))
		return 0;
	must(f.at <= size && f.len <= size - f.at);
	must(f.src.len > 0 && f.src.sa.sa_family == f.dst.sa.sa_family);
	iw_put_be16(ether + 12, f.src.sa.sa_family == AF_INET ? 0x0800 : 0x86dd);
	n = iw_frame_head(again, ether, &f.src, &f.dst, data + f.at, f.len);
	memcpy(again + n, data + f.at, f.len);
	must(iw_frame_parse(&g, again, n + f.len));
	must(g.at == n && g.len == f.len);
	must(iw_addr_equal(&f.src, &g.src) && iw_addr_equal(&f.dst, &g.dst));
	must(iw_addr_port(&f.src) == iw_addr_port(&g.src));
	return 0;
}
