// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Contexts: create, apply the attributes, free with all their objects. */
#include "verbs/internal.h"

#include <stdlib.h>

#include "os/os.h"

/* Reports an STag that was registered, or (r NULL) is no longer registered, to all ports. */
static void report_stag(void *arg, uint32_t stag, const struct iw_region *r)
{
	struct iw_ctx *ctx = arg;

	if (r)
		iw_loop_stag(ctx->loop, stag, r->pd, r->stream, r->expires);
	else
		iw_loop_stag(ctx->loop, stag, 0, 0, 0);
}

static int random_octets(void *ctx, void *buf, size_t len)
{
	(void)ctx;
	return iw_os_random(buf, len);
}

static void take_options(struct iw_ctx *ctx, const struct iw_ctx_attr *a)
{
	ctx->setup_ns = a->setup_ns ? a->setup_ns : IW_SETUP_NS_DEFAULT;
	ctx->stall_ns = a->stall_ns ? a->stall_ns : IW_STALL_NS_DEFAULT;
	ctx->spin_ns = a->spin_ns;
	ctx->trace_sink = (struct iw_trace_sink){ .line = a->trace, .ctx = a->trace_ctx };
	iw_verbs_trace_listeners(ctx, iw_trace_probed());
}

int iw_verbs_ctx_new(struct iw_ctx **out, const struct iw_ctx_attr *attr, const struct iw_mem *mem,
		     struct iw_fault *why)
{
	struct iw_ctx_attr a;
	struct iw_ctx *ctx;
	int err;

	*out = NULL;
	err = iw_verbs_take(&a, sizeof(a), attr, attr ? attr->size : 0, "struct iw_ctx_attr", why);
	if (err)
		return err;
	ctx = iw_mem_alloc(mem, sizeof(*ctx));
	if (!ctx)
		return iw_fail(why, IW_E_NOMEM, "context: no memory");
	ctx->mem = *mem;
	take_options(ctx, &a);
	iw_list_init(&ctx->pds);
	iw_list_init(&ctx->mrs);
	iw_list_init(&ctx->cqs);
	iw_list_init(&ctx->qps);
	iw_list_init(&ctx->listeners);
	iw_list_init(&ctx->events);
	err = iw_loop_new(&ctx->loop, &ctx->mem, why);
	if (err)
		goto fail_ctx;
	err = iw_stag_table_new(&ctx->stags, &ctx->mem, random_octets, NULL);
	if (err) {
		iw_fail(why, err, "context: create the table of STags: %s", iw_err_text(err));
		goto fail_loop;
	}
	iw_stag_watch(ctx->stags, report_stag, ctx);
	*out = ctx;
	return 0;
fail_loop:
	iw_loop_free(ctx->loop);
fail_ctx:
	iw_mem_free(mem, ctx, sizeof(*ctx));
	return err;
}

int iw_ctx_new(struct iw_ctx **out, const struct iw_ctx_attr *attr, struct iw_fault *why)
{
	return iw_verbs_ctx_new(out, attr, &iw_os_heap, why);
}

void iw_ctx_free(struct iw_ctx *ctx)
{
	struct iw_mem mem;
	struct iw_list *n;

	if (!ctx)
		return;
	while ((n = iw_list_first(&ctx->listeners)))
		iw_listener_free(iw_container_of(n, struct iw_listener, all));
	while ((n = iw_list_first(&ctx->qps)))
		iw_qp_free(iw_container_of(n, struct iw_qp, all));
	while ((n = iw_list_first(&ctx->mrs)))
		iw_mr_revoke(iw_container_of(n, struct iw_mr, all));
	/* Without queue pairs and regions neither can be busy. */
	while ((n = iw_list_first(&ctx->cqs)))
		iw_cq_free(iw_container_of(n, struct iw_cq, all));
	while ((n = iw_list_first(&ctx->pds)))
		iw_pd_free(iw_container_of(n, struct iw_pd, all));
	iw_loop_wakeup_close(&ctx->wakeup);
	iw_stag_table_free(ctx->stags);
	iw_loop_free(ctx->loop);
	mem = ctx->mem;
	iw_mem_free(&mem, ctx, sizeof(*ctx));
}

int iw_ctx_fd(struct iw_ctx *ctx, struct iw_fault *why)
{
	int err;

	if (!ctx->wakeup.loop) {
		err = iw_loop_wakeup_open(&ctx->wakeup, ctx->loop, why);
		if (err)
			return err;
		ctx->has_wakeup = true;
		iw_verbs_sync_wakeups(ctx);
	}
	return ctx->wakeup.fd;
}

int iw_ctx_wake_fd(struct iw_ctx *ctx, int fd, struct iw_fault *why)
{
	return iw_loop_wake_fd(ctx->loop, fd, why);
}

const char *iw_version(void)
{
	return IW_VERSION;
}
