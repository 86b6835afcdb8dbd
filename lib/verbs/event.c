// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asynchronous events. */
#include "verbs/internal.h"

void iw_verbs_event(struct iw_ctx *ctx, struct event_source *s, enum iw_ev_type type)
{
	if (!s->pending)
		iw_list_add_tail(&ctx->events, &s->link);
	s->pending |= 1u << type;
	ctx->nevents++;
}

void iw_verbs_forget_events(struct iw_ctx *ctx, struct event_source *s)
{
	ctx->nevents -= (unsigned)__builtin_popcount(s->pending);
	s->pending = 0;
	iw_list_del(&s->link);
}

static enum iw_ev_type take_first(struct iw_ctx *ctx, struct event_source *s)
{
	enum iw_ev_type type = (enum iw_ev_type)__builtin_ctz(s->pending);

	s->pending &= s->pending - 1;
	ctx->nevents--;
	if (!s->pending)
		iw_list_del(&s->link);
	return type;
}

bool iw_next_event(struct iw_ctx *ctx, struct iw_async_event *ev)
{
	struct iw_list *n = iw_list_first(&ctx->events);
	struct event_source *s;
	struct conn_owner *owner;

	if (!n)
		return false;
	s = iw_container_of(n, struct event_source, link);
	owner = iw_container_of(s, struct conn_owner, events);
	*ev = (struct iw_async_event){ .type = take_first(ctx, s) };
	if (owner->kind == OWNER_QP) {
		ev->qp = iw_container_of(owner, struct iw_qp, owner);
		if (ev->type == IW_EV_REJECTED || ev->type == IW_EV_CLOSED)
			ev->fault = ev->qp->fault;
		else if (ev->type == IW_EV_CONNECT_REQUEST)
			ev->req = &ev->qp->adoption->req;
	} else {
		ev->req = iw_container_of(owner, struct iw_conn_req, owner);
		ev->req->taken = true;
		ev->listener = ev->req->listener;
	}
	iw_verbs_sync_wakeups(ctx);
	return true;
}
