// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The common part of connections over both kinds of transport: deadlines, and calls by kind. */
#include "loop/loop.h"

#include "loop/internal.h"
#include "util/text.h"

void iw_loop_conn_init(struct iw_loop_conn *k, const struct conn_ops *ops, enum watch_kind kind,
		       struct iw_loop *l, struct iw_conn *conn, void *owner)
{
	k->ops = ops;
	k->watch.kind = kind;
	k->loop = l;
	k->conn = conn;
	k->owner = owner;
	iw_list_init(&k->kicked);
	iw_list_init(&k->ready);
	l->direct_ends = true;
	l->conns++;
}

bool iw_loop_conn_over(const struct iw_loop_conn *k)
{
	return iw_conn_state(k->conn) == IW_CONN_CLOSED;
}

/* Returns a time after now, whatever the engine returns: an expired timer would not let it wait. */
static uint64_t deadline(const struct iw_loop_conn *k, uint64_t at, uint64_t now)
{
	if (iw_loop_conn_over(k))
		return NO_DEADLINE;
	return IW_MAX(IW_MIN(at, iw_conn_deadline(k->conn)), now + 1);
}

int iw_loop_conn_add_timer(struct iw_loop_conn *k, uint64_t at, uint64_t now, struct iw_fault *why)
{
	return iw_loop_add_timer(k->loop, &k->watch, deadline(k, at, now), why);
}

void iw_loop_conn_set_timer(struct iw_loop_conn *k, uint64_t at, uint64_t now)
{
	iw_loop_set_timer(k->loop, &k->watch, deadline(k, at, now));
}

/* A timer that is set for an earlier time stays, and fires once too early: that is cheaper. */
void iw_loop_conn_settle(struct iw_loop_conn *k, uint64_t at, uint64_t now)
{
	at = deadline(k, at, now);
	if (at < k->watch.timer.at)
		iw_loop_set_timer(k->loop, &k->watch, at);
	iw_loop_note(&k->loop->ready, &k->ready);
}

int iw_loop_no_cc(const char *cc, const char *transport, struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOTSUP,
		       "congestion control %s: transport %s has none that can be chosen", cc,
		       transport);
}

void iw_loop_conn_free(struct iw_loop_conn *k, bool abort)
{
	struct iw_loop *l;

	if (!k)
		return;
	l = k->loop;
	iw_heap_del(&l->timers, &k->watch.timer);
	iw_list_del(&k->kicked);
	iw_list_del(&k->ready);
	if (l->direct == &k->watch)
		l->direct = NULL;
	l->conns--;
	k->ops->free(k, abort);
}

void iw_loop_conn_kick(struct iw_loop_conn *k)
{
	if (!iw_list_empty(&k->kicked))
		return;
	iw_list_add_tail(&k->loop->kicked, &k->kicked);
	iw_loop_kick_wakeup(k->loop);
}

void *iw_loop_conn_owner(const struct iw_loop_conn *k)
{
	return k->owner;
}

void iw_loop_conn_set_owner(struct iw_loop_conn *k, void *owner)
{
	k->owner = owner;
}

bool iw_loop_conn_connecting(const struct iw_loop_conn *k)
{
	return k->connecting;
}

void iw_loop_conn_ends(struct iw_loop_conn *k, struct iw_llp_ends *out)
{
	k->ops->ends(k, out);
}

void iw_loop_conn_facts(struct iw_loop_conn *k, struct iw_llp_facts *out)
{
	*out = (struct iw_llp_facts){ 0 };
	k->ops->facts(k, out);
}

bool iw_loop_conn_tls(struct iw_loop_conn *k, struct iw_tls_info *out)
{
	return k->ops->tls && k->ops->tls(k, out);
}

int iw_loop_conn_set_cc(struct iw_loop_conn *k, const char *name, struct iw_fault *why)
{
	return k->ops->set_cc(k, name, why);
}

void iw_loop_conn_accepted(struct iw_loop_conn *k)
{
	if (k->ops->accepted)
		k->ops->accepted(k);
}

size_t iw_loop_conn_memory(struct iw_loop_conn *k)
{
	return k->ops->memory ? k->ops->memory(k) : 0;
}

struct iw_loop_assoc *iw_loop_conn_assoc(struct iw_loop_conn *k)
{
	return k->ops->assoc ? k->ops->assoc(k) : NULL;
}
