// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loans: frames that the application reads in place. */
#include "pkt/xsk_loan.h"

#include <assert.h>
#include <stdlib.h>

#include "util/num.h"
#include "util/text.h"

struct iw_lender *iw_xsk_loans_add(struct iw_xsk_loans *l, const uint8_t *data)
{
	struct iw_xsk_dev *d = l->dev;
	uint64_t addr = (uint64_t)(data - d->umem->area);
	struct iw_xsk_loan *loan = iw_xsk_loan_at(d, addr);

	assert(!loan->apart && loan->times < UINT16_MAX);
	if (loan->times++ == 0) {
		assert(l->out < l->most);
		iw_umem_pass(d->umem, addr, IW_FRAME_ENGINE, IW_FRAME_LOAN);
		l->out++;
	}
	return &l->lender;
}

uint32_t iw_xsk_loans_stay(struct iw_xsk_loans *l, unsigned q, uint64_t *addr, uint32_t n)
{
	uint32_t left = 0;

	for (uint32_t k = 0; k < n; k++) {
		struct iw_xsk_loan *loan = iw_xsk_loan_at(l->dev, addr[k]);

		if (loan->times > 0) {
			loan->apart = true;
			loan->queue = (uint8_t)q;
			l->apart[q]++;
		} else {
			addr[left++] = addr[k];
		}
	}
	return left;
}

/* Returns one loan of a frame. True: the frame is no longer lent and its batch has ended, so the
 * caller must pass it on. */
static bool is_back(struct iw_xsk_loans *l, uint64_t addr)
{
	struct iw_xsk_loan *loan = iw_xsk_loan_at(l->dev, addr);

	assert(loan->times > 0);
	if (--loan->times > 0)
		return false;
	iw_umem_pass(l->dev->umem, addr, IW_FRAME_LOAN, IW_FRAME_ENGINE);
	l->out--;
	if (!loan->apart)
		return false;
	loan->apart = false;
	l->apart[loan->queue]--;
	return true;
}

static void loans_free(struct iw_xsk_loans *l)
{
	free(l->back);
	free(l);
}

/* Frees a frame whose worker has closed. Its queue no longer counts it (iw_xsk_loans_leave). */
static void take_back_late(struct iw_xsk_loans *l, uint64_t addr)
{
	struct iw_xsk_dev *d = l->dev;

	pthread_mutex_lock(&d->lock);
	if (is_back(l, addr))
		iw_umem_give(d->umem, addr, IW_FRAME_ENGINE);
	pthread_mutex_unlock(&d->lock);
	if (l->out > 0)
		return;
	loans_free(l);
	iw_xsk_dev_put(d);
}

static void take_back(struct iw_lender *lender, const uint8_t *data)
{
	struct iw_xsk_loans *l = iw_container_of(lender, struct iw_xsk_loans, lender);
	uint64_t addr = (uint64_t)(data - l->dev->umem->area);

	if (l->closed)
		take_back_late(l, addr);
	else if (is_back(l, addr))
		l->back[l->nback++] = addr;
}

int iw_xsk_loans_new(struct iw_xsk_loans **out, struct iw_xsk_dev *d, struct iw_fault *why)
{
	uint32_t most = d->ring_rx / IW_XSK_LOANS;
	struct iw_xsk_loans *l = calloc(1, sizeof(*l));

	if (!l)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	*l = (struct iw_xsk_loans){ .lender.take_back = take_back, .dev = d, .most = most };
	l->back = calloc(most, sizeof(*l->back));
	if (!l->back) {
		free(l);
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	}
	*out = l;
	return 0;
}

bool iw_xsk_loans_leave(struct iw_xsk_loans *l)
{
	struct iw_xsk_dev *d = l->dev;

	if (l->out == 0) {
		loans_free(l);
		return true;
	}
	pthread_mutex_lock(&d->lock);
	for (unsigned q = 0; q < d->queues; q++)
		d->queue[q].frames -= l->apart[q];
	pthread_mutex_unlock(&d->lock);
	l->closed = true;
	return false;
}
