// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The state of a connection: transitions, events, progress, faults, the FIN of either side, and the
 * last step.
 */
#include "conn/conn.h"

#include <assert.h>
#include <string.h>

#include "conn/internal.h"

/* clang-format off */
static const char *const state_names[] = {
	[IW_CONN_SETUP]       = "setup",
	[IW_CONN_OPEN]        = "open",
	[IW_CONN_CLOSING]     = "closing",
	[IW_CONN_TERMINATING] = "terminating",
	[IW_CONN_FIN_SENT]    = "fin-sent",
	[IW_CONN_CLOSED]      = "closed",
};
/* clang-format on */

const char *iw_conn_state_name(enum iw_conn_state s)
{
	return (size_t)s < IW_ARRAY_LEN(state_names) ? state_names[s] : "unknown";
}

#define TO(s) (1u << IW_CONN_##s)

/* clang-format off */
static const unsigned next_states[] = {
	[IW_CONN_SETUP]       = TO(OPEN) | TO(TERMINATING) | TO(CLOSED),
	[IW_CONN_OPEN]        = TO(CLOSING) | TO(TERMINATING) | TO(CLOSED),
	[IW_CONN_CLOSING]     = TO(TERMINATING) | TO(FIN_SENT) | TO(CLOSED),
	[IW_CONN_TERMINATING] = TO(FIN_SENT) | TO(CLOSED),
	[IW_CONN_FIN_SENT]    = TO(CLOSED),
	[IW_CONN_CLOSED]      = 0,
};
/* clang-format on */

#undef TO

void iw_conn_set_state(struct iw_conn *c, enum iw_conn_state to)
{
	assert(next_states[c->state] & 1u << to);
	c->state = to;
}

void iw_conn_event(struct iw_conn *c, enum iw_event_type type, const struct iw_fault *why,
		   bool abort)
{
	assert(c->nevents < IW_ARRAY_LEN(c->events));
	c->events[c->nevents++] = (struct iw_event){
		.type = type,
		.fault = why != NULL ? *why : (struct iw_fault){ 0 },
		.abort = abort,
	};
}

const struct iw_agreed *iw_conn_agreed(const struct iw_conn *c)
{
	return c->ops->agreed(c);
}

uint64_t iw_conn_setup_ns(const struct iw_conn *c)
{
	return c->cfg.mpa.timeout_ns != 0 ? c->cfg.mpa.timeout_ns : IW_CONN_SETUP_NS;
}

/*
 * The last step: stops the adaptation, completes all outstanding operations, and reports CLOSED
 * once.
 */
void iw_conn_closed(struct iw_conn *c, const struct iw_fault *why, bool abort)
{
	if (c->state == IW_CONN_CLOSED)
		return;
	if (c->fault.err == 0 && why != NULL)
		c->fault = *why;
	c->ops->closed(c);
	/* If a retry is possible, the queue pair keeps its posted operations for it. */
	if (c->rdmap != NULL && !c->ops->retry_rev1(c))
		iw_rdmap_flush(c->rdmap, c->fault.err);
	iw_conn_set_state(c, IW_CONN_CLOSED);
	iw_conn_event(c, IW_EVENT_CLOSED, &c->fault, abort);
}

void iw_conn_terminating(struct iw_conn *c, uint64_t now)
{
	iw_conn_set_state(c, IW_CONN_TERMINATING);
	c->linger_at = iw_time_add(now, c->cfg.linger_ns);
}

/*
 * If this end may still send, its Terminate precedes the FIN, and input is drained: unread input
 * would make TCP reset the connection and lose the Terminate in flight (RFC 5040 6.2.1). Otherwise
 * the transport is closed at once.
 */
void iw_conn_fault(struct iw_conn *c, const struct iw_fault *why, uint64_t now)
{
	if (c->state == IW_CONN_CLOSED || c->state == IW_CONN_TERMINATING)
		return;
	/* After this end's Terminate, the peer's session can still violate the protocol. */
	if (c->fault.err == 0)
		c->fault = *why;
	if (c->ops->final_reply(c)) {
		iw_conn_terminating(c, now);
		return;
	}
	if (c->state == IW_CONN_FIN_SENT || !c->ops->may_send(c)) {
		iw_conn_closed(c, NULL, true);
		return;
	}
	iw_rdmap_fail(c->rdmap, why); /* no effect if the rdmap has reported this fault */
	if (iw_rdmap_state(c->rdmap) == IW_RDMAP_TERMINATED)
		c->ops->drop_batch(c); /* after its Terminate the peer accepts no segment */
	iw_rdmap_hold(c->rdmap, c->ops->has_batch(c));
	iw_conn_terminating(c, now);
}

/* The peer's FIN in full operation. */
static void half_closed(struct iw_conn *c)
{
	struct iw_fault why = { 0 };
	int err = c->ops->peer_ended(c, &why);

	if (err == 0 && !iw_rdmap_rx_shut(c->rdmap))
		err = iw_fail(
			&why, IW_E_CLOSED,
			"conn: the peer closed the connection without answers to our RDMA Reads");
	if (err < 0)
		iw_conn_closed(c, &why, true);
	else
		iw_conn_event(c, IW_EVENT_PEER_CLOSED, NULL, false);
}

void iw_conn_peer_ended(struct iw_conn *c, uint64_t now)
{
	struct iw_fault why = { 0 };

	(void)now;
	c->peer_fin = true;
	switch (c->state) {
	case IW_CONN_SETUP:
		(void)!c->ops->peer_ended(c, &why);
		iw_conn_closed(c, &why, true);
		break;
	case IW_CONN_OPEN:
	case IW_CONN_CLOSING:
		half_closed(c);
		break;
	case IW_CONN_FIN_SENT:
		(void)!c->ops->peer_ended(c, &why);
		iw_conn_closed(c, &why, false);
		break;
	case IW_CONN_TERMINATING: /* the Terminate is still sent */
	case IW_CONN_CLOSED:
		break;
	}
}

bool iw_conn_may_fill(const struct iw_conn *c)
{
	switch (c->state) {
	case IW_CONN_OPEN:
	case IW_CONN_CLOSING:
	case IW_CONN_TERMINATING:
		return c->rdmap != NULL && iw_rdmap_wants_tx(c->rdmap);
	case IW_CONN_SETUP:
	case IW_CONN_FIN_SENT:
	case IW_CONN_CLOSED:
		return false;
	}
	return false;
}

bool iw_conn_all_out(const struct iw_conn *c)
{
	if (c->state == IW_CONN_CLOSING)
		return iw_rdmap_drained(c->rdmap);
	return c->state == IW_CONN_TERMINATING &&
	       (c->rdmap == NULL || !iw_rdmap_terminate_due(c->rdmap));
}

void iw_conn_shut(struct iw_conn *c, uint64_t now)
{
	/* In TERMINATING the rdmap has failed, or it was not started and is left for a retry. */
	if (c->state == IW_CONN_CLOSING)
		iw_rdmap_tx_shut(c->rdmap);
	c->linger_at = IW_MIN(c->linger_at, iw_time_add(now, c->cfg.linger_ns));
	if (c->peer_fin)
		iw_conn_closed(c, NULL, false);
	else
		iw_conn_set_state(c, IW_CONN_FIN_SENT);
}

bool iw_conn_moved(struct iw_conn *c, uint64_t now)
{
	uint64_t steps = c->rdmap != NULL ? iw_rdmap_moved(c->rdmap)->steps : 0;
	bool moved = steps != c->seen_steps;
	uint64_t part;

	if (c->counts.rx_fpdus != c->seen_fpdus) {
		c->part_from = c->counts.rx_octets;
		c->part = 0;
	}
	part = (c->counts.rx_octets - c->part_from) / IW_CONN_PART * IW_CONN_PART;
	moved = moved || part > c->part;
	c->part = part;
	c->seen_steps = steps;
	c->seen_fpdus = c->counts.rx_fpdus;
	if (moved)
		c->moved_at = now;
	return moved;
}
