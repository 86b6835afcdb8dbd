/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside pkt: what an AF_XDP worker lends.
 *
 * Job: frames that the program reads where they came stay behind when their batch is over, and go back to their
 * queue when they are given back; when the worker has left they become free, and the last one gives the interface
 * back. Threads: its worker's, also after that has left.
 */
#ifndef IW_PKT_XSK_LOAN_H
#define IW_PKT_XSK_LOAN_H

#include "pkt/xsk_dev.h"

struct iw_xsk_loans {
	struct iw_lender lender;
	struct iw_xsk_dev *dev;
	uint32_t out, most; /* frames that are lent, that can be */
	/* Of those that are out whose batch is over: by queue. */
	uint32_t apart[IW_XSK_QUEUES_MAX];
	/* And those of them that came back. */
	uint64_t *back;
	uint32_t nback;
	bool closed;
};

/* For a worker that holds d. 0, and iw_xsk_loans_leave gives it back; IW_E_NOMEM. */
IW_MUST_CHECK int iw_xsk_loans_new(struct iw_xsk_loans **out, struct iw_xsk_dev *d,
				   struct iw_fault *why);
/* Data in a frame that is the engine's and of a batch that is not over yet; most bounds the frames. */
struct iw_lender *iw_xsk_loans_add(struct iw_xsk_loans *l, const uint8_t *data);
/* A batch is over, and these n frames of it go back to queue q: those that are lent do not. How many are left. */
uint32_t iw_xsk_loans_stay(struct iw_xsk_loans *l, unsigned q, uint64_t *addr, uint32_t n);
/* The worker leaves. False: something is out, and the last of it puts d. */
bool iw_xsk_loans_leave(struct iw_xsk_loans *l);

#endif
