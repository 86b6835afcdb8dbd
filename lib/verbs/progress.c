// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Progress: runs turns of the loop, and collects the events and completions of each turn. */
#include "verbs/internal.h"

#include <limits.h>

#include "os/os.h"

/* Processes the events and completions of all connections and listeners that were served. */
static void collect(struct iw_ctx *ctx)
{
	struct iw_loop_conn *k;
	struct iw_loop_listener *g;

	while ((k = iw_loop_next_conn(ctx->loop))) {
		struct conn_owner *owner = iw_loop_conn_owner(k);

		if (owner->kind == OWNER_QP)
			iw_verbs_qp_collect(iw_container_of(owner, struct iw_qp, owner));
		else
			iw_verbs_req_collect(iw_container_of(owner, struct iw_conn_req, owner));
	}
	while ((g = iw_loop_next_listener(ctx->loop)))
		iw_verbs_listener_accept(iw_loop_listener_owner(g));
}

int iw_verbs_turn(struct iw_ctx *ctx, const struct iw_cq *cq, int64_t timeout_ns, uint64_t *end)
{
	bool probed = iw_trace_probed();
	uint64_t until = 0;
	int ret;

	if (iw_unlikely(probed != ctx->trace_sink.probes))
		iw_verbs_trace_listeners(ctx, probed);
	iw_loop_flush(ctx->loop);
	collect(ctx);
	/*
	 * Posted work may have completed already: then do not wait. The loop checks the sockets in
	 * any case, so that a steady flow in one direction does not block the other direction.
	 */
	if (!ctx->nevents && !(cq ? cq->len : ctx->ncompletions) && timeout_ns) {
		if (!*end)
			*end = iw_verbs_until(timeout_ns);
		until = *end;
	}
	ret = iw_loop_wait(ctx->loop, until, NULL);
	collect(ctx);
	return ret;
}

uint64_t iw_verbs_until(int64_t timeout_ns)
{
	if (timeout_ns <= 0)
		return timeout_ns < 0 ? IW_TIME_NEVER : 0;
	return iw_time_add(iw_os_now(), (uint64_t)timeout_ns);
}

int iw_progress(struct iw_ctx *ctx, int64_t timeout_ns)
{
	uint64_t end = 0;
	int err = iw_verbs_turn(ctx, NULL, timeout_ns, &end);

	iw_verbs_sync_wakeups(ctx);
	if (err < 0)
		return err;
	return (int)IW_MIN(ctx->nevents + ctx->ncompletions, (unsigned)INT_MAX);
}

int iw_cq_poll(struct iw_cq *cq, struct iw_wc *wc, int n)
{
	uint64_t end = 0;
	int ret = 0;
	uint32_t got;

	if (n <= 0)
		return 0;
	if (cq->len == 0)
		ret = iw_verbs_turn(cq->ctx, cq, 0, &end);
	got = iw_verbs_cq_take(cq, wc, (uint32_t)n);
	if (iw_unlikely(!iw_list_empty(&cq->starved)))
		iw_verbs_cq_feed(cq);
	iw_verbs_sync_wakeups(cq->ctx);
	return ret < 0 && got == 0 ? ret : (int)got;
}

int iw_cq_wait(struct iw_cq *cq, int64_t timeout_ns)
{
	struct iw_ctx *ctx = cq->ctx;
	uint64_t spin_end = ctx->spin_ns && timeout_ns ? iw_time_add(iw_os_now(), ctx->spin_ns) : 0;
	uint64_t end = spin_end ? iw_verbs_until(timeout_ns) : 0;
	uint64_t now;
	int ret;

	do {
		ret = iw_verbs_turn(ctx, cq, spin_end ? 0 : timeout_ns, &end);
		if (ret || cq->len || ctx->nevents)
			break;
		now = iw_os_now();
		if (now >= spin_end)
			spin_end = 0;
	} while (now < end);
	iw_verbs_sync_wakeups(ctx);
	if (ret < 0)
		return ret;
	return cq->len || ctx->nevents;
}
