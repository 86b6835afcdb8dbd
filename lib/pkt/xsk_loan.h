/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside pkt: the frames that an AF_XDP worker lends.
 *
 * Job: a frame that the application reads in place is kept when its batch ends, and returns to its
 * queue when it is given back. If the worker has closed before, the frame becomes free, and the
 * last one releases the interface.
 * Threads: the worker's thread, also after the worker has closed.
 */
#ifndef IW_PKT_XSK_LOAN_H
#define IW_PKT_XSK_LOAN_H

#include "pkt/xsk_dev.h"

struct iw_xsk_loans {
	struct iw_lender lender;
	struct iw_xsk_dev *dev;
	uint32_t out, most; /* frames that are lent; that can be lent */
	/* Of those lent: frames whose batch has ended, by queue. */
	uint32_t apart[IW_XSK_QUEUES_MAX];
	/* Of these: frames that were given back. */
	uint64_t *back;
	uint32_t nback;
	bool closed;
};

/* For a worker that uses d; iw_xsk_loans_leave frees it. IW_E_NOMEM. */
IW_MUST_CHECK int iw_xsk_loans_new(struct iw_xsk_loans **out, struct iw_xsk_dev *d,
				   struct iw_fault *why);
/* Lends data in a frame that the engine owns, of a batch that has not ended. At most `most` frames
 * can be lent. */
struct iw_lender *iw_xsk_loans_add(struct iw_xsk_loans *l, const uint8_t *data);
/* Ends a batch, whose n frames return to queue q: removes those that are lent from addr. Returns
 * how many remain. */
uint32_t iw_xsk_loans_stay(struct iw_xsk_loans *l, unsigned q, uint64_t *addr, uint32_t n);
/* The worker closes. False: frames are still lent, and the last of them releases d. */
bool iw_xsk_loans_leave(struct iw_xsk_loans *l);

#endif
