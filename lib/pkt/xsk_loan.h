/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside pkt: the frames that an AF_XDP worker lends.
 *
 * Job: keeps a frame that the application reads in place when the batch of the frame ends. When the
 * loan is returned, the frame returns to its queue. If the worker has closed before, the frame
 * becomes free, and the last loan to be returned releases the interface.
 * Threads: loans are made and returned in the worker's thread, also after the worker has closed.
 */
#ifndef IW_PKT_XSK_LOAN_H
#define IW_PKT_XSK_LOAN_H

#include "pkt/xsk_dev.h"

struct iw_xsk_loans {
	struct iw_lender lender;
	struct iw_xsk_dev *dev;
	uint32_t out, most; /* frames that are lent; that can be lent at once */
	/* Lent frames whose batch has ended, by queue. */
	uint32_t apart[IW_XSK_QUEUES_MAX];
	/* Frames returned after the end of their batch, for the next batch to pass on. */
	uint64_t *back;
	uint32_t nback;
	bool closed;
};

/* Allocates the loans of a worker that uses d. The worker owns *out until iw_xsk_loans_leave, which
 * frees it, at once or after the last loan. IW_E_NOMEM. */
IW_MUST_CHECK int iw_xsk_loans_new(struct iw_xsk_loans **out, struct iw_xsk_dev *d,
				   struct iw_fault *why);
/* Lends data in a frame that the engine owns, of a batch that has not ended. The caller lends at
 * most `most` frames at once. */
struct iw_lender *iw_xsk_loans_add(struct iw_xsk_loans *l, const uint8_t *data);
/* Ends a batch whose n frames return to queue q: removes from addr those that are lent, and returns
 * how many remain. */
uint32_t iw_xsk_loans_stay(struct iw_xsk_loans *l, unsigned q, uint64_t *addr, uint32_t n);
/* Call it when the worker closes. True: the caller must release d. False: frames are still lent;
 * the return of the last one releases d. */
bool iw_xsk_loans_leave(struct iw_xsk_loans *l);

#endif
