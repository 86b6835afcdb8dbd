// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Keeps the descriptors of iw_ctx_fd and iw_cq_fd readable while events or completions are pending.
 */
#include "verbs/internal.h"

void iw_verbs_sync_wakeups_slowly(struct iw_ctx *ctx)
{
	iw_loop_wakeup_set(&ctx->wakeup, ctx->nevents || ctx->ncompletions);
	for (struct iw_list *n = ctx->cqs.next; n != &ctx->cqs; n = n->next) {
		struct iw_cq *cq = iw_container_of(n, struct iw_cq, all);

		iw_loop_wakeup_set(&cq->wakeup, cq->len > 0);
	}
}
