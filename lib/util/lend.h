/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that is lent: octets that came stay where they are until whoever reads them there gives them back, to a
 * lender who lives as long as anything of his is out, whatever else of him has ended by then.
 */
#ifndef IW_UTIL_LEND_H
#define IW_UTIL_LEND_H

#include <stdbool.h>
#include <stdint.h>

/* That octets which came may stay: whoever has a use for that says so. */
struct iw_lend {
	uint64_t loan; /* how it will be called, above 0 */
	bool taken;
};

struct iw_lender {
	/* data: as it was lent, once for each time. The lender may be gone afterwards. */
	void (*take_back)(struct iw_lender *l, const uint8_t *data);
};

#endif
