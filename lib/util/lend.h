/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loans of received octets: a packet stays in the transport's memory until its reader returns it. A
 * lender lives until all of its loans are returned, even if its transport has ended before.
 */
#ifndef IW_UTIL_LEND_H
#define IW_UTIL_LEND_H

#include <stdbool.h>
#include <stdint.h>

/* The offer to keep a received buffer on loan. The receiver sets taken to accept it. */
struct iw_lend {
	uint64_t loan; /* the id of the loan, above 0 */
	bool taken;
};

struct iw_lender {
	/* Returns a loan; called once for each loan, with its data. It may free the lender. */
	void (*take_back)(struct iw_lender *l, const uint8_t *data);
};

#endif
