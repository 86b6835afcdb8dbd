// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Closes idle connections when the memory is used up. A connection is idle if it has moved no
 * octets of files for some time. The first to be closed is the largest one of the address that
 * holds the most memory (RFC 5042 6.4.2).
 */
#include "transfer/internal.h"
#include "util/text.h"

/* The time between two updates by iw_hub_reckon. */
#define RECKON     IW_SEC(1)
/* The time between two runs of iw_hub_relieve that close connections. */
#define RELIEF     IW_MSEC(250)
/* A connection without progress for this time is idle. If --timeout is shorter, it applies. */
#define IDLE_MOST  IW_SEC(5)
/* An address that holds at most this much loses no connection. */
#define VICTIM_MIN (256u << 10)

static uint64_t idle_time(const struct hub *h)
{
	return IW_MIN(IDLE_MOST, h->cli->timeout_ns);
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
	/* Associations without an open session, and connections that only claim buffers. */
	h->assoc_bytes = h->listener ? iw_listener_memory(h->listener) : 0;
	h->assoc_bytes += h->manager ? iw_manager_peer_memory(h->manager) : 0;
	if (!iw_budget_may(&h->budget, NULL, SESSION_BASE) && h->relieve_at == IW_TIME_NEVER)
		h->relieve_at = h->now;
	h->reckon_at = h->now + RECKON;
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
		iw_session_sample(s);
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

	h->budget.other = (h->manager ? iw_manager_memory(h->manager) : 0) + h->assoc_bytes;
	if (h->now < h->relieve_at)
		return;
	h->relieve_at = is_short(h) ? h->now + RELIEF : IW_TIME_NEVER;
	among = short_share(h);
	/* Some memory may have been freed meanwhile. */
	iw_hub_slot_freed(h);
	/* Closes one large connection, or several small ones. */
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
	iw_session_sample(idlest);
	if (idlest->payload_at == h->now)
		return;
	iw_fail(&why, IW_E_LIMIT,
		"idle for %U s, while this listener holds its maximum of %U connections",
		(h->now - idlest->payload_at) / IW_SEC(1), h->max_conns);
	evict(idlest, &why);
}
