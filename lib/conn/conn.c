// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A connection: construction, the responder's answer, its ends, deadlines and events. */
#include "conn/conn.h"

#include <assert.h>
#include <string.h>

#include "conn/internal.h"

/* IRD and ORD if they are not negotiated: the limit of most implementations. */
#define UNNEGOTIATED_READS 16
#define DECIDE_NS          IW_SEC(10)
#define STALL_NS           IW_SEC(30)
#define LINGER_NS          IW_SEC(10)
/* If no buffer for a batch is free: the time until the next attempt. */
#define RETRY_NS           IW_MSEC(5)

/* --- events ----------------------------------------------------------------------------------- */

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
	const struct adaptation_ops *ops = cfg->assoc || cfg->session ? &iw_conn_sctp_ops
								      : &iw_conn_tcp_ops;
	size_t size = sizeof(struct iw_conn) + ops->size();
	struct iw_conn *c;
	int err;

	*out = NULL;
	c = iw_mem_alloc(cfg->mem, size);
	if (c == NULL)
		return iw_fail(why, IW_E_NOMEM, "conn: no memory for a connection");
	c->cfg = *cfg;
	c->ops = ops;
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
	err = ops->init(c, now, why);
	c->cfg.mpa.offer.pd = NULL; /* borrowed only during this call */
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
	c->ops->fini(c);
	iw_mem_free(c->cfg.mem, c, sizeof(*c) + c->ops->size());
}

enum iw_conn_state iw_conn_state(const struct iw_conn *c)
{
	return c->state;
}

const struct iw_tracer *iw_conn_tracer(const struct iw_conn *c)
{
	return c->cfg.tracer;
}

uint32_t iw_conn_stream(const struct iw_conn *c)
{
	return c->rdmap != NULL ? iw_rdmap_stream(c->rdmap) : 0;
}

const struct iw_rdmap *iw_conn_rdmap(const struct iw_conn *c)
{
	return c->rdmap;
}

size_t iw_conn_mulpdu(const struct iw_conn *c)
{
	return c->ops->mulpdu(c);
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

uint64_t iw_conn_whole_setup_ns(const struct iw_conn *c)
{
	return c->cfg.whole_setup_ns != 0 ? c->cfg.whole_setup_ns : iw_conn_setup_ns(c);
}

bool iw_conn_retry_rev1(const struct iw_conn *c)
{
	return c->ops->retry_rev1(c);
}

const struct iw_conn_counts *iw_conn_counts(const struct iw_conn *c)
{
	return &c->counts;
}

/* --- ends ------------------------------------------------------------------------------------- */

void iw_conn_lost(struct iw_conn *c, const struct iw_fault *why, uint64_t now)
{
	struct iw_fault end = { 0 }, named = *why;

	(void)now;
	/*
	 * The adaptation finds out whether a retry with Rev 1 is possible. It is not after a refusal
	 * by TLS, which does not depend on the Rev.
	 */
	if (c->state == IW_CONN_SETUP && why->err != IW_E_TLS)
		(void)!c->ops->peer_ended(c, &end);
	/*
	 * The peer reset the connection instead of sending its MPA Reply: MPA's text is more
	 * useful, because it names the missing frame.
	 */
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

void iw_conn_eof(struct iw_conn *c, uint64_t now)
{
	iw_conn_peer_ended(c, now);
}

/* --- the responder's answer ------------------------------------------------------------------- */

int iw_conn_accept(struct iw_conn *c, struct iw_rdmap *rdmap, uint16_t ird, uint16_t ord,
		   const uint8_t *pd, size_t pd_len, uint64_t now, struct iw_fault *why)
{
	int err;

	if (c->state != IW_CONN_SETUP)
		return iw_fail(why, IW_E_STATE, "conn: no Request is pending");
	err = c->ops->accept(c, ird, ord, pd, pd_len, why);
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
	if (c->ops->reject(c, pd, pd_len, &why) < 0) {
		iw_conn_closed(c, &why, true);
		return;
	}
	iw_fail(&c->fault, IW_E_REJECTED, "conn: rejected by this end");
	c->decide_at = IW_TIME_NEVER;
	c->last_tx = now;
	/*
	 * Our FIN follows the Reply, unless the ULP keeps the TCP stream (RFC 5044 7.1.2 rule 2).
	 */
	iw_conn_terminating(c, now);
}

/* --- time ------------------------------------------------------------------------------------- */

static bool reading(const struct iw_conn *c)
{
	return c->rdmap != NULL && iw_rdmap_waiting(c->rdmap);
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

/* The stall limit of outstanding output, Reads or an orderly end; IW_TIME_NEVER: none of these. */
static uint64_t stall_deadline(const struct iw_conn *c)
{
	if (c->ops->sending(c))
		return iw_time_add(c->last_tx, c->cfg.stall_ns);
	if (reading(c) || c->state == IW_CONN_CLOSING)
		return iw_time_add(c->moved_at, c->cfg.stall_ns);
	return IW_TIME_NEVER;
}

static const char *stalled(const struct iw_conn *c)
{
	if (c->ops->sending(c))
		return "the peer accepts no data";
	if (reading(c))
		return "the peer does not answer an RDMA Read";
	return c->ops->stalled(c);
}

/*
 * After an orderly end the peer may still send payload (RFC 5041 6.2.1), which extends the time.
 * Its other messages do not.
 */
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
	at = IW_MIN(c->ops->deadline(c), c->decide_at);
	at = IW_MIN(at, linger_deadline(c));
	at = IW_MIN(at, c->nudge_at);
	if (c->starved)
		at = IW_MIN(at, iw_time_add(c->starved_at, RETRY_NS));
	return IW_MIN(at, stall_deadline(c));
}

/* Returns IW_E_TIMEOUT if a deadline has passed. */
static int too_late(struct iw_conn *c, uint64_t now, struct iw_fault *why)
{
	int err = c->ops->timeout(c, now, why);

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

bool iw_conn_wants_tx(const struct iw_conn *c)
{
	return c->ops->wants_tx(c);
}
