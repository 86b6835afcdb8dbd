// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Associations without an open session: their deadline, their number and their memory are limited
 * (sctpmap/unused.h), and those that were used are shut down.
 */
#include "loop/loop.h"

#include "loop/internal.h"
#include "util/text.h"

/* The most expired associations that one turn aborts: each costs a packet. */
#define EXPIRE_BUDGET 64
/* How often the memory of associations without an open session is read. */
#define CHARGE_NS     IW_SEC(1)

_Static_assert(IW_LISTENER_MEMORY_MAX == IW_UNUSED_MAX_BYTES &&
		       IW_LISTENER_MEMORY_MIN == IW_UNUSED_LEAST_BYTES,
	       "limits of iw_listener_limit_memory");

/* Aborts an association without an open session. The ABORT carries the reason. */
static void abort_unused(struct iw_loop_assoc *t, const char *reason, uint64_t now)
{
	struct iw_fault why = { 0 };

	iw_fail(&why, IW_E_TIMEOUT, "sctp: %s: %s", t->llp->peer, reason);
	t->port->llp->ops->abort(t->llp, reason, now);
	iw_loop_assoc_lost(t, &why, now);
}

/* Aborts the oldest association when a peer begins more of them than are permitted. */
static void evict(struct iw_loop_assoc *t, uint64_t now)
{
	char reason[128];
	struct iw_text text;

	iw_text_init(&text, reason, sizeof(reason));
	iw_text_fmt(
		&text,
		"too many associations without a DDP stream session (RFC 5043): at most %u of one "
		"address, %u in all",
		t->port->unused.cfg.per_addr, t->port->unused.cfg.max);
	abort_unused(t, reason, now);
}

/* Ends associations until the memory of those without an open session is within its limits. */
static void charge(struct iw_loop_assoc *t, uint64_t now)
{
	struct iw_unused *u = &t->port->unused;
	size_t bytes;

	if (!iw_unused_has(&t->unused) || now < t->charge_from)
		return;
	bytes = iw_loop_assoc_memory(t);
	while (iw_unused_has(&t->unused)) {
		struct iw_unused_entry *large = iw_unused_charge(u, &t->unused, bytes);

		if (!large)
			return;
		abort_unused(iw_container_of(large, struct iw_loop_assoc, unused),
			     "too much memory without a DDP stream session (RFC 5043)", now);
	}
}

/* Reads the memory once in CHARGE_NS, because fragments of a message fill it without an event. */
void iw_loop_unused_charge(struct iw_loop_port *d, uint64_t now)
{
	if (now < d->charge_at)
		return;
	for (struct iw_list *n = d->assocs.next; n != &d->assocs; n = n->next)
		charge(iw_container_of(n, struct iw_loop_assoc, all), now);
	d->charge_at = iw_unused_count(&d->unused) > 0 ? iw_time_add(now, CHARGE_NS)
						       : IW_TIME_NEVER;
}

/*
 * Sets or removes the deadline of an association (sctpmap/unused.h). One that the peer began has a
 * deadline while this end has no accepted session on it. One that this end began has a deadline
 * when all its connections were freed but a session has not ended.
 */
static void watch_use(struct iw_loop_assoc *t, uint64_t now)
{
	struct iw_unused *u = &t->port->unused;
	bool pending = !iw_list_empty(&t->sessions) || !iw_list_empty(&t->requested);
	bool open = t->active ? pending : t->open > 0;
	bool added = !iw_unused_has(&t->unused);
	struct iw_unused_entry *out = NULL;

	/* T5-shutdown-guard limits the shutdown that an initiator has begun (RFC 9260 9.2). */
	if (!t->llp || !t->llp->up || open || (t->active && t->leaving)) {
		iw_unused_remove(u, &t->unused);
		return;
	}
	if (added && iw_unused_add(u, &t->unused, t->llp->peer_ip, now, &out) < 0) {
		abort_unused(t, "out of memory", now);
		return;
	}
	if (pending)
		iw_unused_asked(u, &t->unused);
	else
		iw_unused_answered(u, &t->unused);
	if (out)
		evict(iw_container_of(out, struct iw_loop_assoc, unused), now);
	/* The Terminate of the last session may still be queued: do not abort before it is sent. */
	if (added)
		t->charge_from = t->served ? iw_time_add(now, CHARGE_NS) : now;
	charge(t, now);
	t->port->charge_at = IW_MIN(t->port->charge_at, iw_time_add(now, CHARGE_NS));
}

/* Ends an association without an open session whose deadline has passed. */
static void expire(struct iw_loop_assoc *t, uint64_t now)
{
	char reason[128];
	struct iw_text text;

	/* Shut down an association that was used; the shutdown gets the same time limit. */
	if (t->served && !t->active && !t->leaving && iw_sctpmap_sessions_ended(t->map)) {
		iw_loop_assoc_shut_down(t, now);
		iw_unused_extend(&t->port->unused, &t->unused, now);
		iw_loop_assoc_touch(t);
		return;
	}
	iw_text_init(&text, reason, sizeof(reason));
	iw_text_fmt(&text, "%s within %U ms (RFC 5043 6)",
		    t->leaving  ? "SHUTDOWN after the last DDP stream session not completed"
		    : t->served ? "last DDP stream session not ended"
				: "no DDP stream session",
		    t->port->unused.cfg.timeout_ns / IW_MSEC(1));
	abort_unused(t, reason, now);
}

void iw_loop_unused_expire(struct iw_loop_port *d, uint64_t now)
{
	struct iw_unused_entry *e;

	for (int budget = EXPIRE_BUDGET;
	     budget > 0 && (e = iw_unused_expired(&d->unused, now)) != NULL; budget--)
		expire(iw_container_of(e, struct iw_loop_assoc, unused), now);
}

/*
 * True if the association has no session, and none can begin: this end initiates its sessions, or
 * the listener on its port is closed.
 */
static bool is_last_session(const struct iw_loop_assoc *t)
{
	return (t->active || !t->port->listener) && iw_list_empty(&t->requested) &&
	       iw_sctpmap_sessions(t->map) == 0;
}

/* An association ends when no session is left, if this end began it or its listener is closed. */
void iw_loop_unused_check(struct iw_loop_assoc *t, uint64_t now)
{
	watch_use(t, now);
	if (!iw_list_empty(&t->sessions))
		return;
	if (!t->llp) {
		if (iw_list_empty(&t->requested))
			iw_loop_assoc_free(t);
		return;
	}
	if (t->leaving || !is_last_session(t))
		return;
	if (t->llp->up) {
		iw_loop_assoc_shut_down(t, now);
		if (iw_unused_has(&t->unused))
			iw_unused_extend(&t->port->unused, &t->unused, now);
	} else {
		t->leaving = true;
		t->port->llp->ops->abort(t->llp, NULL, now);
	}
}

size_t iw_loop_port_memory(const struct iw_loop_port *d)
{
	size_t all = 0;

	for (struct iw_list *n = d->assocs.next; n != &d->assocs; n = n->next) {
		const struct iw_loop_assoc *t = iw_container_of(n, struct iw_loop_assoc, all);

		all += t->open == 0 ? iw_loop_assoc_memory(t) : 0;
	}
	return all;
}

void iw_loop_port_limit_unused(struct iw_loop_port *d, size_t octets)
{
	octets = IW_MAX(octets, IW_UNUSED_LEAST_BYTES);
	iw_unused_limit(&d->unused, IW_MIN(octets, IW_UNUSED_MAX_BYTES));
}
