// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Charges for the memory that sessions and transfers hold. */
#include <stdlib.h>

#include "transfer/internal.h"
#include "util/text.h"

/* --- sessions --- */

bool iw_session_may_take(struct session *s, uint64_t n)
{
	struct hub *h = s->hub;

	if (iw_budget_may(&h->budget, s->holder, n))
		return true;
	if (h->relieve_at == IW_TIME_NEVER)
		h->relieve_at = h->now;
	return false;
}

void iw_session_charge(struct session *s, uint64_t n)
{
	s->bytes += n;
	iw_budget_charge(&s->hub->budget, s->holder, n);
}

void iw_session_credit(struct session *s, uint64_t n)
{
	s->bytes -= n;
	iw_budget_credit(&s->hub->budget, s->holder, n);
}

static void *session_alloc(void *ctx, size_t size)
{
	struct session *s = ctx;
	void *p = calloc(1, size ? size : 1);

	/*
	 * Charged above the limit too: without buffers for messages a transfer can neither continue
	 * nor end in order.
	 */
	if (!p)
		return NULL;
	(void)iw_session_may_take(s, size);
	iw_session_charge(s, size);
	return p;
}

static void session_release(void *ctx, void *p, size_t size)
{
	if (!p)
		return;
	free(p);
	iw_session_credit(ctx, size);
}

void iw_session_account(struct session *s)
{
	s->mem = (struct iw_mem){ session_alloc, session_release, s };
	s->payload_at = s->hub->now;
	s->qp_first = iw_qp_memory(s->qp);
	iw_session_charge(s, SESSION_BASE);
}

void iw_session_settle(struct session *s)
{
	iw_session_credit(s, s->bytes);
	if (s->holder)
		s->holder->conns--;
	iw_budget_leave(s->holder);
	s->holder = NULL;
}

/* Charges whole pages: a page of a receive in which octets have arrived stays in memory. */
void iw_session_used(struct session *s, struct recv *r, size_t len)
{
	size_t pages = IW_MIN((len + 4095) / 4096 * 4096, (size_t)r->size);

	if (pages <= r->used)
		return;
	iw_session_charge(s, pages - r->used);
	r->used = (uint32_t)pages;
}

/* --- transfers --- */

void iw_group_charge(struct group *g, const struct session *s, uint64_t n)
{
	struct hub *h = g->hub;

	if (!g->holder && s->holder)
		g->holder = iw_budget_join(&h->budget, s->peer_text);
	g->bytes += n;
	iw_budget_charge(&h->budget, g->holder, n);
}

void iw_group_credit(struct group *g, uint64_t n)
{
	g->bytes -= n;
	iw_budget_credit(&g->hub->budget, g->holder, n);
}

void iw_group_account(struct group *g, struct session *s, uint64_t bytes)
{
	if (bytes <= g->place_bytes)
		return;
	iw_group_charge(g, s, bytes - g->place_bytes);
	g->place_bytes = bytes;
	iw_group_check(g, s, bytes);
}

void iw_group_check(struct group *g, struct session *s, uint64_t bytes)
{
	struct iw_fault why;

	if (iw_budget_may(&g->hub->budget, g->holder, 0))
		return;
	iw_fail(&why, IW_E_LIMIT,
		"names and attributes of this transfer need %U octets: more than is left of --max-memory",
		bytes);
	iw_xfer_fail(s->x, &why);
}

void iw_group_settle(struct group *g)
{
	iw_group_credit(g, g->bytes);
	iw_budget_leave(g->holder);
}
