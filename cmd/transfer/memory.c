// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The memory that sessions and transfers hold. When it is used up, idle connections are closed:
 * those that have moved no octets of files for some time. The first is the largest one of the
 * address that holds the most memory (RFC 5042 6.4.2).
 */
#include <stdlib.h>

#include "transfer/internal.h"
#include "util/text.h"

#define RECKON     IW_SEC(1)
/* The time between two calls of iw_hub_relieve that close connections. */
#define RELIEF     IW_MSEC(250)
/* A connection without progress for this long is idle; for --timeout if that is shorter. */
#define IDLE_MOST  IW_SEC(5)
/* An address that holds at most this much loses no connection. */
#define VICTIM_MIN (256u << 10)

static uint64_t idle_time(const struct hub *h)
{
	return IW_MIN(IDLE_MOST, h->cli->timeout_ns);
}

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

	/* Never refused: without message buffers a transfer cannot continue or end in order. */
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

/* Charges whole pages: once octets have arrived in a page of a receive, it stays in memory. */
void iw_session_used(struct session *s, struct recv *r, size_t len)
{
	size_t pages = IW_MIN((len + 4095) / 4096 * 4096, (size_t)r->size);

	if (pages <= r->used)
		return;
	iw_session_charge(s, pages - r->used);
	r->used = (uint32_t)pages;
}

/* The peer determines how much memory a queue pair needs for segments that arrive out of order. */
static void reckon(struct session *s)
{
	size_t now = iw_qp_memory(s->qp), more = now - IW_MIN(now, s->qp_first);

	iw_session_credit(s, s->qp_bytes);
	iw_session_charge(s, more);
	s->qp_bytes = more;
}

void iw_hub_reckon(struct hub *h)
{
	if (h->now < h->reckon_at)
		return;
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->qp)
			reckon(s);
		iw_session_windows(s);
	}
	if (h->taken)
		(void)iw_group_is_stalled(h->taken);
	/* Associations without an open session, and those with only claims on buffers. */
	h->assoc_bytes = h->listener ? iw_listener_memory(h->listener) : 0;
	h->assoc_bytes += h->rm ? iw_rm_peer_memory(h->rm) : 0;
	if (!iw_budget_may(&h->budget, NULL, SESSION_BASE) && h->relieve_at == IW_TIME_NEVER)
		h->relieve_at = h->now;
	h->reckon_at = h->now + RECKON;
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
	struct iw_fault why;

	if (bytes <= g->place_bytes)
		return;
	iw_group_charge(g, s, bytes - g->place_bytes);
	g->place_bytes = bytes;
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

/* --- relief --- */

static bool may_give_way(const struct session *s)
{
	return s->x && s->phase == PH_UP && !s->evicted && !s->ended;
}

static uint64_t bytes_of_address(const struct session *s)
{
	return s->holder ? s->holder->bytes : s->bytes;
}

/* Compares the memory of the addresses, then that of the connections. */
static bool holds_more(const struct session *s, const struct session *than)
{
	uint64_t a = bytes_of_address(s), b = than ? bytes_of_address(than) : VICTIM_MIN;

	return a > b || (than && a == b && s->bytes > than->bytes);
}

/*
 * Returns the holder whose own share is used up: only its connections can be closed. NULL: no
 * session waits, or all memory is used up.
 */
static const struct iw_holder *short_share(const struct hub *h)
{
	struct iw_list *l = iw_list_first(&h->starved);

	if (!l || !iw_budget_may(&h->budget, NULL, IW_XFER_CHUNK + h->budget.limit / 16))
		return NULL;
	return iw_container_of(l, struct session, starved)->holder;
}

/*
 * Returns the largest idle session, of among only unless that is NULL. Checks the idle time only of
 * sessions larger than the best so far, because the check makes system calls.
 */
static struct session *largest_idle(struct hub *h, const struct iw_holder *among)
{
	struct session *best = NULL;

	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (!may_give_way(s) || (among && s->holder != among) || !holds_more(s, best))
			continue;
		iw_session_look(s);
		if (h->now - s->payload_at >= idle_time(h))
			best = s;
	}
	return best;
}

static void evict(struct session *s, const struct iw_fault *why)
{
	s->evicted = true;
	iw_xfer_fail(s->x, why);
	iw_session_make_ready(s);
}

static bool is_short(const struct hub *h)
{
	return !iw_list_empty(&h->starved) || !iw_budget_may(&h->budget, NULL, SESSION_BASE);
}

void iw_hub_relieve(struct hub *h)
{
	const struct iw_holder *among;
	struct iw_fault why;
	struct session *s;
	uint64_t freed = 0;

	h->budget.other = (h->rm ? iw_rm_memory(h->rm) : 0) + h->assoc_bytes;
	if (h->now < h->relieve_at)
		return;
	h->relieve_at = is_short(h) ? h->now + RELIEF : IW_TIME_NEVER;
	among = short_share(h);
	/* Some memory may have been freed meanwhile. */
	iw_hub_slot_freed(h);
	/* One large connection, or several small ones. */
	while (freed < IW_XFER_CHUNK && (s = largest_idle(h, among)) != NULL) {
		iw_fail(&why, IW_E_LIMIT,
			"%U octets held without progress for %U s, while this side's memory for peers (--max-memory) is used up",
			s->bytes, (h->now - s->payload_at) / IW_SEC(1));
		freed += s->bytes;
		evict(s, &why);
	}
}

void iw_hub_end_idlest(struct hub *h)
{
	struct session *idlest = NULL;
	struct iw_fault why;

	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (may_give_way(s) && iw_xfer_is_idle(s->x) &&
		    h->now - s->payload_at >= h->cli->timeout_ns &&
		    (!idlest || s->payload_at < idlest->payload_at))
			idlest = s;
	}
	if (!idlest)
		return;
	iw_session_look(idlest);
	if (idlest->payload_at == h->now)
		return;
	iw_fail(&why, IW_E_LIMIT,
		"idle for %U s, while this listener holds its maximum of %U connections",
		(h->now - idlest->payload_at) / IW_SEC(1), h->max_conns);
	evict(idlest, &why);
}
