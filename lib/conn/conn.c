// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One connection's life: set-up, full operation, the orderly end and the other ones; its deadlines and events. */
#include "conn/conn.h"

#include <assert.h>
#include <string.h>

#include "conn/internal.h"

/* Reads at once where the peers do not say: what most implementations keep ready. */
#define UNNEGOTIATED_READS 16
#define DECIDE_NS IW_SEC(10)
#define STALL_NS IW_SEC(30)
#define LINGER_NS IW_SEC(10)
/* How soon a batch is tried again that found no buffer. */
#define RETRY_NS IW_MSEC(5)

static const char *const state_names[] = {
	[IW_CONN_SETUP] = "setup",
	[IW_CONN_OPEN] = "open",
	[IW_CONN_CLOSING] = "closing",
	[IW_CONN_TERMINATING] = "terminating",
	[IW_CONN_FIN_SENT] = "fin-sent",
	[IW_CONN_CLOSED] = "closed",
};

const char *iw_conn_state_name(enum iw_conn_state s)
{
	return s < IW_ARRAY_LEN(state_names) ? state_names[s] : "?";
}

#define TO(s) (1u << IW_CONN_##s)
static const unsigned transitions[] = {
	[IW_CONN_SETUP] = TO(OPEN) | TO(TERMINATING) | TO(FIN_SENT) | TO(CLOSED),
	[IW_CONN_OPEN] = TO(CLOSING) | TO(TERMINATING) | TO(CLOSED),
	[IW_CONN_CLOSING] = TO(TERMINATING) | TO(FIN_SENT) | TO(CLOSED),
	[IW_CONN_TERMINATING] = TO(FIN_SENT) | TO(CLOSED),
	[IW_CONN_FIN_SENT] = TO(CLOSED),
	[IW_CONN_CLOSED] = 0,
};
#undef TO

void iw_conn_set_state(struct iw_conn *c, enum iw_conn_state to)
{
	assert(transitions[c->state] & 1u << to);
	c->state = to;
}

/* --- events --- */

void iw_conn_event(struct iw_conn *c, enum iw_event_type type, const struct iw_fault *why, bool abort)
{
	struct iw_event *e = &c->events[c->nevents];

	assert(c->nevents < IW_ARRAY_LEN(c->events)); /* each type occurs at most once */
	c->nevents++;
	memset(e, 0, sizeof(*e));
	e->type = type;
	e->abort = abort;
	if (why != NULL)
		e->fault = *why;
}

bool iw_conn_next_event(struct iw_conn *c, struct iw_event *ev)
{
	if (c->next_event == c->nevents)
		return false;
	*ev = c->events[c->next_event++];
	return true;
}

/* --- construction --- */

int iw_conn_new(struct iw_conn **out, const struct iw_conn_cfg *cfg, uint64_t now, struct iw_fault *why)
{
	struct iw_conn *c;
	int err;

	*out = NULL;
	c = iw_mem_alloc(cfg->mem, sizeof(*c) + iw_mpa_size());
	if (c == NULL)
		return iw_fail(why, IW_E_NOMEM, "conn: no memory for a connection");
	c->cfg = *cfg;
	c->mpa = (struct iw_mpa *)(void *)c->mpa_space;
	c->rdmap = cfg->rdmap;
	if (c->cfg.unnegotiated_reads == 0)
		c->cfg.unnegotiated_reads = UNNEGOTIATED_READS;
	if (c->cfg.decide_ns == 0)
		c->cfg.decide_ns = DECIDE_NS;
	if (c->cfg.stall_ns == 0)
		c->cfg.stall_ns = STALL_NS;
	if (c->cfg.linger_ns == 0)
		c->cfg.linger_ns = LINGER_NS;
	c->decide_at = c->linger_at = IW_TIME_NEVER;
	c->last_rx = c->last_tx = now;
	err = iw_mpa_init(c->mpa, &cfg->mpa, why);
	if (err < 0) {
		iw_mem_free(cfg->mem, c, sizeof(*c) + iw_mpa_size());
		return err;
	}
	iw_mpa_start(c->mpa, now);
	*out = c;
	return 0;
}

void iw_conn_drop_batch(struct iw_conn *c)
{
	if (c->tx != NULL)
		iw_pool_put(c->cfg.txbufs, c->tx);
	c->tx = NULL;
}

void iw_conn_free(struct iw_conn *c)
{
	if (c == NULL)
		return;
	iw_conn_drop_batch(c);
	iw_mpa_fini(c->mpa);
	iw_mem_free(c->cfg.mem, c, sizeof(*c) + iw_mpa_size());
}

enum iw_conn_state iw_conn_state(const struct iw_conn *c)
{
	return c->state;
}

const struct iw_mpa_params *iw_conn_params(const struct iw_conn *c)
{
	return iw_mpa_params(c->mpa);
}

size_t iw_conn_mulpdu(const struct iw_conn *c)
{
	return iw_mpa_mulpdu_now(c->mpa);
}

void iw_conn_set_emss(struct iw_conn *c, size_t emss)
{
	iw_mpa_set_emss(c->mpa, emss);
}

bool iw_conn_aligned(const struct iw_conn *c)
{
	return iw_mpa_aligned(c->mpa);
}

bool iw_conn_retry_rev1(const struct iw_conn *c)
{
	return iw_mpa_should_retry_rev1(c->mpa);
}

const struct iw_conn_counts *iw_conn_counts(const struct iw_conn *c)
{
	return &c->counts;
}

/* --- ends --- */

/* The last step: nothing moves any more, everything outstanding completes, the ULP is told once. */
void iw_conn_closed(struct iw_conn *c, const struct iw_fault *why, bool abort)
{
	if (c->state == IW_CONN_CLOSED)
		return;
	if (c->fault.err == 0 && why != NULL)
		c->fault = *why;
	iw_conn_drop_batch(c);
	/* Before a retry the queue pair stays as it is, with what was posted. */
	if (c->rdmap != NULL && !iw_mpa_should_retry_rev1(c->mpa))
		iw_rdmap_flush(c->rdmap, c->fault.err != 0 ? c->fault.err : IW_E_CANCELED);
	iw_conn_set_state(c, IW_CONN_CLOSED);
	iw_conn_event(c, IW_EVENT_CLOSED, &c->fault, abort);
}

static bool established(const struct iw_conn *c)
{
	return c->state != IW_CONN_SETUP && c->state != IW_CONN_CLOSED;
}

/* A fault of ours or one told by the peer. Where a Terminate may go out it goes first, then the FIN, and the input is drained
 * so that no reset destroys it on its way (RFC 5040 6.2.1). Where none may, TCP is closed at once. */
void iw_conn_fault(struct iw_conn *c, const struct iw_fault *why, uint64_t now)
{
	if (c->state == IW_CONN_CLOSED || c->state == IW_CONN_TERMINATING)
		return;
	if (c->fault.err == 0)
		c->fault = *why;
	if (c->state == IW_CONN_SETUP && iw_mpa_tx_startup(c->mpa).len > 0) {
		/* A last Reply says why (RFC 5044 appendix C); then the end. */
		iw_conn_set_state(c, IW_CONN_TERMINATING);
		c->linger_at = iw_time_add(now, c->cfg.linger_ns);
		return;
	}
	if (!established(c) || c->state == IW_CONN_FIN_SENT || !iw_mpa_may_send(c->mpa)) {
		iw_conn_closed(c, why, true);
		return;
	}
	iw_rdmap_fail(c->rdmap, why); /* does nothing when it is the one that reported */
	if (iw_rdmap_state(c->rdmap) == IW_RDMAP_TERMINATED)
		iw_conn_drop_batch(c); /* the peer takes nothing more */
	iw_rdmap_hold(c->rdmap, c->tx != NULL);
	iw_conn_set_state(c, IW_CONN_TERMINATING);
	c->linger_at = iw_time_add(now, c->cfg.linger_ns);
}

void iw_conn_lost(struct iw_conn *c, const struct iw_fault *why, uint64_t now)
{
	struct iw_fault ignored = { 0 };

	(void)now;
	if (c->state == IW_CONN_SETUP && iw_mpa_rx_eof(c->mpa, &ignored) < 0 && c->fault.err == 0)
		c->fault = *why; /* the reset says more than MPA's end of stream */
	if (c->state == IW_CONN_FIN_SENT && c->fault.err == 0 && c->peer_fin)
		iw_conn_closed(c, NULL, true);
	else
		iw_conn_closed(c, why, true);
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
		c->last_tx = c->last_rx = now;
	}
}

void iw_conn_eof(struct iw_conn *c, uint64_t now)
{
	struct iw_fault why = { 0 };
	int err = 0;

	c->peer_fin = true;
	switch (c->state) {
	case IW_CONN_CLOSED:
		return;
	case IW_CONN_SETUP:
		err = iw_mpa_rx_eof(c->mpa, &why);
		if (err == 0)
			iw_fail(&why, IW_E_MPA_LOST, "mpa: the peer closed the connection during set-up");
		iw_conn_closed(c, &why, true);
		return;
	case IW_CONN_TERMINATING:
		return; /* the Terminate still goes out */
	case IW_CONN_FIN_SENT:
		if (c->fault.err == 0)
			err = iw_mpa_rx_eof(c->mpa, &why);
		iw_conn_closed(c, err < 0 ? &why : NULL, false);
		return;
	case IW_CONN_OPEN:
	case IW_CONN_CLOSING:
		break;
	}
	err = iw_mpa_rx_eof(c->mpa, &why);
	if (err == 0 && iw_rdmap_waiting(c->rdmap))
		err = iw_fail(&why, IW_E_CLOSED, "conn: the peer closed the connection with RDMA Reads of ours unanswered");
	if (err < 0) {
		iw_conn_closed(c, &why, true);
		return;
	}
	iw_conn_event(c, IW_EVENT_PEER_CLOSED, NULL, false);
	(void)now;
}

/* --- the responder's answer --- */

int iw_conn_accept(struct iw_conn *c, struct iw_rdmap *rdmap, uint16_t ird, uint16_t ord, const uint8_t *pd, size_t pd_len, uint64_t now,
		   struct iw_fault *why)
{
	int err;

	if (c->state != IW_CONN_SETUP || iw_mpa_state(c->mpa) != IW_MPA_DECIDING)
		return iw_fail(why, IW_E_STATE, "conn: no Request is waiting for an answer");
	err = iw_mpa_accept(c->mpa, ird, ord, pd, pd_len, why);
	if (err < 0)
		return err;
	c->rdmap = rdmap;
	c->decide_at = IW_TIME_NEVER;
	iw_conn_established(c, now);
	/* Octets that came behind the Request are held by MPA: they count as received now. */
	iw_conn_received(c, 0, now);
	return 0;
}

void iw_conn_reject(struct iw_conn *c, const uint8_t *pd, size_t pd_len, uint64_t now)
{
	struct iw_fault why = { 0 };

	if (c->state != IW_CONN_SETUP)
		return;
	if (iw_mpa_reject(c->mpa, pd, pd_len, &why) < 0) {
		iw_conn_closed(c, &why, true);
		return;
	}
	iw_fail(&c->fault, IW_E_REJECTED, "conn: rejected by this end");
	c->decide_at = IW_TIME_NEVER;
	/* MPA would leave TCP to the ULP (RFC 5044 7.1.2); here the connection is MPA's alone: Reply, FIN. */
	iw_conn_set_state(c, IW_CONN_TERMINATING);
	c->linger_at = iw_time_add(now, c->cfg.linger_ns);
}

/* --- time --- */

/* Something is outstanding: when did it last move? */
static uint64_t stall_deadline(const struct iw_conn *c)
{
	uint64_t at = IW_TIME_NEVER;

	if (c->state == IW_CONN_CLOSED || c->state == IW_CONN_FIN_SENT)
		return at;
	if (c->tx != NULL || iw_mpa_tx_startup(c->mpa).len > 0 || c->state == IW_CONN_CLOSING)
		at = iw_time_add(c->last_tx, c->cfg.stall_ns);
	if (c->state != IW_CONN_SETUP && c->rdmap != NULL && iw_rdmap_waiting(c->rdmap))
		at = IW_MIN(at, iw_time_add(IW_MAX(c->last_rx, c->last_tx), c->cfg.stall_ns));
	return at;
}

uint64_t iw_conn_deadline(const struct iw_conn *c)
{
	uint64_t at;

	if (c->state == IW_CONN_CLOSED)
		return IW_TIME_NEVER;
	at = IW_MIN(iw_mpa_deadline(c->mpa), c->decide_at);
	at = IW_MIN(at, c->linger_at);
	if (c->starved)
		at = IW_MIN(at, iw_time_add(c->starved_at, RETRY_NS));
	return IW_MIN(at, stall_deadline(c));
}

void iw_conn_timeout(struct iw_conn *c, uint64_t now)
{
	struct iw_fault why = { 0 };

	c->starved = false;
	if (c->state == IW_CONN_CLOSED)
		return;
	if (iw_mpa_timeout(c->mpa, now, &why) < 0) {
		iw_conn_closed(c, &why, true);
	} else if (now >= c->decide_at) {
		iw_fail(&why, IW_E_TIMEOUT, "conn: nobody answered the Request within %U ms", c->cfg.decide_ns / 1000000);
		iw_conn_closed(c, &why, true);
	} else if (now >= c->linger_at) {
		if (c->fault.err == 0)
			iw_fail(&c->fault, IW_E_TIMEOUT, "conn: the peer did not close its side within %U ms", c->cfg.linger_ns / 1000000);
		iw_conn_closed(c, NULL, true);
	} else if (now >= stall_deadline(c)) {
		iw_fail(&why, IW_E_TIMEOUT, "conn: %s for %U ms",
			c->tx != NULL ? "the peer takes no octets" : "the peer answers no RDMA Read", c->cfg.stall_ns / 1000000);
		iw_conn_closed(c, &why, true);
	}
}
