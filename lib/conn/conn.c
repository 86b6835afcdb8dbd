// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One connection's life: set-up, full operation, the orderly end and the other ones; its deadlines
 * and events. */
#include "conn/conn.h"

#include <assert.h>
#include <string.h>

#include "conn/internal.h"

/* Reads at once where the peers do not say: what most implementations keep ready. */
#define UNNEGOTIATED_READS 16
#define DECIDE_NS          IW_SEC(10)
#define STALL_NS           IW_SEC(30)
#define LINGER_NS          IW_SEC(10)
/* How soon a batch is tried again that found no buffer. */
#define RETRY_NS           IW_MSEC(5)

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

/* --- events ----------------------------------------------------------------------------------- */

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

bool iw_conn_next_event(struct iw_conn *c, struct iw_event *ev)
{
	if (c->next_event == c->nevents)
		return false;
	*ev = c->events[c->next_event++];
	return true;
}

/* --- construction ----------------------------------------------------------------------------- */

int iw_conn_new(struct iw_conn **out, const struct iw_conn_cfg *cfg, uint64_t now,
		struct iw_fault *why)
{
	const struct below *below = cfg->assoc || cfg->session ? &iw_conn_over_sctp
							       : &iw_conn_over_tcp;
	size_t size = sizeof(struct iw_conn) + below->size();
	struct iw_conn *c;
	int err;

	*out = NULL;
	c = iw_mem_alloc(cfg->mem, size);
	if (c == NULL)
		return iw_fail(why, IW_E_NOMEM, "conn: no memory for a connection");
	c->cfg = *cfg;
	c->below = below;
	c->rdmap = cfg->rdmap;
	if (c->cfg.unnegotiated_reads == 0)
		c->cfg.unnegotiated_reads = UNNEGOTIATED_READS;
	if (c->cfg.decide_ns == 0)
		c->cfg.decide_ns = DECIDE_NS;
	if (c->cfg.stall_ns == 0)
		c->cfg.stall_ns = STALL_NS;
	if (c->cfg.linger_ns == 0)
		c->cfg.linger_ns = LINGER_NS;
	c->decide_at = c->linger_at = c->nudge_at = IW_TIME_NEVER;
	c->moved_at = c->last_tx = now;
	err = below->init(c, now, why);
	c->cfg.mpa.offer.pd = NULL; /* borrowed for the call */
	if (err < 0) {
		iw_mem_free(cfg->mem, c, size);
		return err;
	}
	*out = c;
	return 0;
}

void iw_conn_free(struct iw_conn *c)
{
	if (c == NULL)
		return;
	if (c->tx != NULL)
		iw_pool_put(c->cfg.txbufs, c->tx);
	c->below->fini(c);
	iw_mem_free(c->cfg.mem, c, sizeof(*c) + c->below->size());
}

enum iw_conn_state iw_conn_state(const struct iw_conn *c)
{
	return c->state;
}

const struct iw_agreed *iw_conn_agreed(const struct iw_conn *c)
{
	return c->below->agreed(c);
}

size_t iw_conn_mulpdu(const struct iw_conn *c)
{
	return c->below->mulpdu(c);
}

void iw_conn_set_emss(struct iw_conn *c, size_t emss)
{
	if (c->mpa != NULL)
		iw_mpa_set_emss(c->mpa, emss);
}

bool iw_conn_aligned(const struct iw_conn *c)
{
	return c->mpa != NULL && iw_mpa_aligned(c->mpa);
}

uint64_t iw_conn_setup_ns(const struct iw_conn *c)
{
	return c->cfg.mpa.timeout_ns != 0 ? c->cfg.mpa.timeout_ns : IW_CONN_SETUP_NS;
}

uint64_t iw_conn_whole_setup_ns(const struct iw_conn *c)
{
	return c->cfg.whole_setup_ns != 0 ? c->cfg.whole_setup_ns : iw_conn_setup_ns(c);
}

bool iw_conn_retry_rev1(const struct iw_conn *c)
{
	return c->below->retry_rev1(c);
}

const struct iw_conn_counts *iw_conn_counts(const struct iw_conn *c)
{
	return &c->counts;
}

/* --- ends ------------------------------------------------------------------------------------- */

/* The last step: nothing moves any more, everything outstanding completes, the ULP is told once. */
void iw_conn_closed(struct iw_conn *c, const struct iw_fault *why, bool abort)
{
	if (c->state == IW_CONN_CLOSED)
		return;
	if (c->fault.err == 0 && why != NULL)
		c->fault = *why;
	c->below->closed(c);
	/* Before a retry the queue pair stays as it is, with what was posted. */
	if (c->rdmap != NULL && !c->below->retry_rev1(c))
		iw_rdmap_flush(c->rdmap, c->fault.err);
	iw_conn_set_state(c, IW_CONN_CLOSED);
	iw_conn_event(c, IW_EVENT_CLOSED, &c->fault, abort);
}

void iw_conn_terminating(struct iw_conn *c, uint64_t now)
{
	iw_conn_set_state(c, IW_CONN_TERMINATING);
	c->linger_at = iw_time_add(now, c->cfg.linger_ns);
}

/* Where a Terminate may go out it goes first, then the FIN, and the input is drained so that no
 * reset destroys it on its way (RFC 5040 6.2.1). Where none may, the transport is closed at once. */
void iw_conn_fault(struct iw_conn *c, const struct iw_fault *why, uint64_t now)
{
	if (c->state == IW_CONN_CLOSED || c->state == IW_CONN_TERMINATING)
		return;
	c->fault = *why;
	if (c->below->last_words(c)) {
		iw_conn_terminating(c, now);
		return;
	}
	if (c->state == IW_CONN_FIN_SENT || !c->below->may_send(c)) {
		iw_conn_closed(c, NULL, true);
		return;
	}
	iw_rdmap_fail(c->rdmap, why); /* does nothing when it is the one that reported */
	if (iw_rdmap_state(c->rdmap) == IW_RDMAP_TERMINATED)
		c->below->drop_batch(c); /* the peer takes nothing more */
	iw_rdmap_hold(c->rdmap, c->below->has_batch(c));
	iw_conn_terminating(c, now);
}

void iw_conn_lost(struct iw_conn *c, const struct iw_fault *why, uint64_t now)
{
	struct iw_fault end = { 0 }, named = *why;

	(void)now;
	/* It knows whether that means Rev 1. */
	if (c->state == IW_CONN_SETUP)
		(void)!c->below->peer_ended(c, &end);
	/* A reset in place of the MPA Reply: what the initiator waits for says more. */
	if (end.err != 0 && why->err == IW_E_CLOSED && c->mpa != NULL && c->cfg.mpa.initiator)
		memcpy(named.text, end.text, sizeof(named.text));
	iw_conn_closed(c, &named, true);
}

void iw_conn_abort(struct iw_conn *c, uint64_t now)
{
	struct iw_fault why = { 0 };

	(void)now;
	iw_fail(&why, IW_E_CANCELED, "conn: aborted by this end");
	iw_conn_closed(c, &why, true);
}

void iw_conn_close(struct iw_conn *c, uint64_t now)
{
	if (c->state == IW_CONN_SETUP) {
		iw_conn_abort(c, now);
	} else if (c->state == IW_CONN_OPEN) {
		iw_rdmap_close(c->rdmap);
		iw_conn_set_state(c, IW_CONN_CLOSING);
		c->last_tx = c->moved_at = now;
	}
}

/* The peer's FIN in full operation. */
static void half_closed(struct iw_conn *c)
{
	struct iw_fault why = { 0 };
	int err = c->below->peer_ended(c, &why);

	if (err == 0 && !iw_rdmap_rx_shut(c->rdmap))
		err = iw_fail(
			&why, IW_E_CLOSED,
			"conn: the peer closed the connection without answers to our RDMA Reads");
	if (err < 0)
		iw_conn_closed(c, &why, true);
	else
		iw_conn_event(c, IW_EVENT_PEER_CLOSED, NULL, false);
}

void iw_conn_eof(struct iw_conn *c, uint64_t now)
{
	iw_conn_peer_ended(c, now);
}

void iw_conn_peer_ended(struct iw_conn *c, uint64_t now)
{
	struct iw_fault why = { 0 };

	(void)now;
	c->peer_fin = true;
	switch (c->state) {
	case IW_CONN_SETUP:
		(void)!c->below->peer_ended(c, &why);
		iw_conn_closed(c, &why, true);
		break;
	case IW_CONN_OPEN:
	case IW_CONN_CLOSING:
		half_closed(c);
		break;
	case IW_CONN_FIN_SENT:
		(void)!c->below->peer_ended(c, &why);
		iw_conn_closed(c, &why, false);
		break;
	case IW_CONN_TERMINATING: /* the Terminate still goes out */
	case IW_CONN_CLOSED:
		break;
	}
}

/* --- our side's end --------------------------------------------------------------------------- */

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
	/* A queue pair that may try again with Rev 1 has not begun, and so has nothing to end. */
	if (c->state == IW_CONN_CLOSING)
		iw_rdmap_tx_shut(c->rdmap);
	c->linger_at = IW_MIN(c->linger_at, iw_time_add(now, c->cfg.linger_ns));
	if (c->peer_fin)
		iw_conn_closed(c, NULL, false);
	else
		iw_conn_set_state(c, IW_CONN_FIN_SENT);
}

const struct iw_rdmap *iw_conn_rdmap(const struct iw_conn *c)
{
	return c->rdmap;
}

/* --- the responder's answer ------------------------------------------------------------------- */

int iw_conn_accept(struct iw_conn *c, struct iw_rdmap *rdmap, uint16_t ird, uint16_t ord,
		   const uint8_t *pd, size_t pd_len, uint64_t now, struct iw_fault *why)
{
	int err;

	if (c->state != IW_CONN_SETUP)
		return iw_fail(why, IW_E_STATE, "conn: no Request is pending");
	err = c->below->accept(c, ird, ord, pd, pd_len, why);
	if (err < 0)
		return err;
	c->rdmap = rdmap;
	c->decide_at = IW_TIME_NEVER;
	iw_conn_established(c, now);
	return 0;
}

void iw_conn_reject(struct iw_conn *c, const uint8_t *pd, size_t pd_len, uint64_t now)
{
	struct iw_fault why = { 0 };

	if (c->state != IW_CONN_SETUP)
		return;
	if (c->below->reject(c, pd, pd_len, &why) < 0) {
		iw_conn_closed(c, &why, true);
		return;
	}
	iw_fail(&c->fault, IW_E_REJECTED, "conn: rejected by this end");
	c->decide_at = IW_TIME_NEVER;
	c->last_tx = now;
	/* The Reply, then our FIN, unless the ULP gets TCP back (RFC 5044 7.1.2 rule 2). */
	iw_conn_terminating(c, now);
}

/* --- time ------------------------------------------------------------------------------------- */

static bool reading(const struct iw_conn *c)
{
	return c->rdmap != NULL && iw_rdmap_waiting(c->rdmap);
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

void iw_conn_payload(const struct iw_conn *c, struct iw_conn_payload *out)
{
	const struct iw_rdmap_moved *m = c->rdmap != NULL ? iw_rdmap_moved(c->rdmap) : NULL;
	uint64_t taken = c->tx != NULL ? c->tx_bytes - c->tx->bytes : 0;

	*out = (struct iw_conn_payload){ .rx_part = c->part };
	if (m == NULL)
		return;
	out->rx = m->rx_payload;
	out->tx = m->tx_payload;
	if (c->tx != NULL)
		out->tx -= c->tx_payload - IW_MIN(c->tx_payload, taken);
}

/* Something is outstanding: how long may it stand still? */
static uint64_t stall_deadline(const struct iw_conn *c)
{
	if (c->below->sending(c))
		return iw_time_add(c->last_tx, c->cfg.stall_ns);
	if (reading(c) || c->state == IW_CONN_CLOSING)
		return iw_time_add(c->moved_at, c->cfg.stall_ns);
	return IW_TIME_NEVER;
}

static const char *stalled(const struct iw_conn *c)
{
	if (c->below->sending(c))
		return "the peer accepts no data";
	if (reading(c))
		return "the peer does not answer an RDMA Read";
	return c->below->stalled(c);
}

/* After an orderly end payload is still wanted (RFC 5041 6.2.1), and extends the time. Nothing else
 * that the peer sends does. */
static uint64_t linger_deadline(const struct iw_conn *c)
{
	if (c->linger_at == IW_TIME_NEVER || c->fault.err != 0)
		return c->linger_at;
	return IW_MAX(c->linger_at, iw_time_add(c->moved_at, c->cfg.linger_ns));
}

uint64_t iw_conn_deadline(const struct iw_conn *c)
{
	uint64_t at;

	if (c->state == IW_CONN_CLOSED)
		return IW_TIME_NEVER;
	at = IW_MIN(c->below->deadline(c), c->decide_at);
	at = IW_MIN(at, linger_deadline(c));
	at = IW_MIN(at, c->nudge_at);
	if (c->starved)
		at = IW_MIN(at, iw_time_add(c->starved_at, RETRY_NS));
	return IW_MIN(at, stall_deadline(c));
}

/* Negative when one of the deadlines has passed. */
static int too_late(struct iw_conn *c, uint64_t now, struct iw_fault *why)
{
	int err = c->below->timeout(c, now, why);

	if (err < 0)
		return err;
	if (now >= c->decide_at)
		return iw_fail(why, IW_E_TIMEOUT, "conn: the Request was not answered within %U ms",
			       c->cfg.decide_ns / 1000000);
	if (now >= linger_deadline(c))
		return iw_fail(why, IW_E_TIMEOUT,
			       "conn: the peer did not close its side within %U ms",
			       c->cfg.linger_ns / 1000000);
	if (now >= stall_deadline(c))
		return iw_fail(why, IW_E_TIMEOUT, "conn: %s for %U ms", stalled(c),
			       c->cfg.stall_ns / 1000000);
	return 0;
}

void iw_conn_timeout(struct iw_conn *c, uint64_t now)
{
	struct iw_fault why = { 0 };

	c->starved = false;
	iw_conn_nudge_timeout(c, now);
	if (c->state != IW_CONN_CLOSED && too_late(c, now, &why) < 0)
		iw_conn_closed(c, &why, true);
}
