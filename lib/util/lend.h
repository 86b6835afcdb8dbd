/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loans of received octets: a packet stays in the transport's memory until the ULP returns it. A
 * lender lives until all of its loans are returned, even if its transport was closed before.
 */
#ifndef IW_UTIL_LEND_H
#define IW_UTIL_LEND_H

#include <stdbool.h>
#include <stdint.h>

/* The transport offers to lend a received buffer. The receiver accepts by setting taken. */
struct iw_lend {
	uint64_t loan; /* the id of the loan, above 0 */
	bool taken;
};

struct iw_lender {
	/* Ends the loan of data. Called exactly once for each loan. It may free the lender. */
	void (*take_back)(struct iw_lender *l, const uint8_t *data);
};

#endif
