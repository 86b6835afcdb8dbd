// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Over SCTP: a DDP stream session of sctpmap. Passes its units to the ULP or to RDMAP, and makes
 * one message of each segment of RDMAP, with the DDP-SSN before it.
 */
#include "conn/conn.h"

#include <assert.h>
#include <string.h>

#include "conn/internal.h"

/* RFC 5041 4.1 */
#define DDP_T 0x80
#define DDP_L 0x40

struct over_sctp {
	struct iw_dss *session; /* NULL: closed */
	struct iw_sctpmap *assoc;
	size_t mulpdu;           /* the last value, for a closed session */
	struct iw_agreed agreed; /* a copy, for a closed session */
	uint64_t setup_at;       /* initiator: the deadline of the peer's answer */
	bool refused;            /* the peer's layer refused the session */
	bool pending;            /* msg is a segment that the association has not taken yet */
	/* Counts of segments of the session, up to and including the last one that ... */
	uint64_t moves; /* is progress: see iw_conn_moved */
	uint64_t acked; /* was acknowledged when progress was last checked */
	uint64_t kept;  /* has memory that the transport keeps */
	struct iw_conn_msg msg;
	uint8_t *copy; /* owned: the payload of msg after the association has refused it; or NULL */
	size_t copy_len;
};

static size_t size(void)
{
	return sizeof(struct over_sctp);
}

/* RFC 6581 10: without enhanced functionality the enhanced function codes MUST NOT be used. */
static bool wants_enhanced(const struct iw_mpa_cfg *m)
{
	return m->rev >= 2 && iw_offer_is_enhanced(&m->offer);
}

static int init(struct iw_conn *c, uint64_t now, struct iw_fault *why)
{
	struct over_sctp *o = (struct over_sctp *)(void *)c->space;
	const struct iw_mpa_cfg *m = &c->cfg.mpa;
	struct iw_offer offer = m->offer;
	int err = 0;

	offer.enhanced = wants_enhanced(m);
	c->sctp = o;
	o->session = c->cfg.session;
	o->setup_at = IW_TIME_NEVER;
	if (m->initiator) {
		err = iw_dss_initiate(&o->session, c->cfg.assoc, &offer, why);
		o->setup_at = iw_time_add(now, iw_conn_setup_ns(c));
	}
	if (err == 0)
		o->assoc = iw_dss_assoc(o->session);
	return err;
}

static void free_copy(struct iw_conn *c)
{
	struct over_sctp *o = c->sctp;

	if (iw_likely(o->copy == NULL))
		return;
	iw_mem_free(c->cfg.mem, o->copy, o->copy_len);
	o->copy = NULL;
}

static void fini(struct iw_conn *c)
{
	free_copy(c);
	iw_dss_release(c->sctp->session);
}

struct iw_dss *iw_conn_session(const struct iw_conn *c)
{
	return c->sctp != NULL ? c->sctp->session : NULL;
}

/* --- operations of the adaptation ------------------------------------------------------------- */

static bool may_send(const struct iw_conn *c)
{
	return iw_dss_state(c->sctp->session) == IW_DSS_OPEN;
}

static bool sending(const struct iw_conn *c)
{
	const struct over_sctp *o = c->sctp;

	return o->pending || iw_dss_outstanding(o->session) || iw_dss_control_due(o->session);
}

/* Not necessary: the association sends control messages even after the connection has ended. */
static bool final_reply(const struct iw_conn *c)
{
	(void)c;
	return false;
}

static uint64_t deadline(const struct iw_conn *c)
{
	return c->state == IW_CONN_SETUP ? c->sctp->setup_at : IW_TIME_NEVER;
}

static int timeout(struct iw_conn *c, uint64_t now, struct iw_fault *why)
{
	if (now < deadline(c))
		return 0;
	if (iw_dss_waits_for_stream(c->sctp->session))
		return iw_fail(
			why, IW_E_TIMEOUT,
			"sctp: the peer has not acknowledged the previous session on stream %u, and no other stream is free",
			(uint32_t)iw_dss_stream(c->sctp->session));
	if (iw_dss_control_due(c->sctp->session))
		return iw_fail(
			why, IW_E_TIMEOUT,
			"sctp: no answer to the INIT within %t; is a listener with the same transport running there?",
			iw_conn_setup_ns(c));
	return iw_fail(why, IW_E_TIMEOUT, "sctp: no answer to the Initiate on stream %u within %t",
		       (uint32_t)iw_dss_stream(c->sctp->session), iw_conn_setup_ns(c));
}

static int peer_ended(struct iw_conn *c, struct iw_fault *why)
{
	if (c->state != IW_CONN_SETUP)
		return 0;
	return iw_fail(why, IW_E_CLOSED, "sctp: the session ended before it was accepted");
}

static int accept(struct iw_conn *c, uint16_t ird, uint16_t ord, const uint8_t *pd, size_t pd_len,
		  struct iw_fault *why)
{
	struct iw_offer offer = {
		.rtr = c->cfg.mpa.offer.rtr,
		.ird = ird,
		.ord = ord,
		.pd = pd,
		.pd_len = pd_len,
	};

	return iw_dss_accept(c->sctp->session, &offer, why);
}

static int reject(struct iw_conn *c, const uint8_t *pd, size_t pd_len, struct iw_fault *why)
{
	return iw_dss_reject(c->sctp->session, pd, pd_len, why);
}

/*
 * A peer that knows only RFC 5043 refuses an Enhanced Initiate, because it fits no legal sequence.
 */
static bool retry_rev1(const struct iw_conn *c)
{
	return c->sctp->refused && wants_enhanced(&c->cfg.mpa);
}

static const struct iw_agreed *agreed(const struct iw_conn *c)
{
	return c->sctp->session != NULL ? iw_dss_agreed(c->sctp->session) : &c->sctp->agreed;
}

static size_t mulpdu(const struct iw_conn *c)
{
	struct over_sctp *o = c->sctp;

	if (o->session != NULL)
		o->mulpdu = iw_sctpmap_mulpdu(o->assoc);
	return o->mulpdu;
}

static bool has_batch(const struct iw_conn *c)
{
	const struct over_sctp *o = c->sctp;

	return o->pending || (o->session != NULL && iw_dss_acked(o->session) < o->kept);
}

static void drop_batch(struct iw_conn *c)
{
	c->sctp->pending = false;
	free_copy(c);
	if (c->rdmap != NULL)
		iw_rdmap_hold(c->rdmap, false);
}

/*
 * Releases the session: the association then ends it. What the connection needs later is copied,
 * because the association may be freed first.
 */
static void closed(struct iw_conn *c)
{
	drop_batch(c);
	if (c->sctp->session != NULL)
		c->sctp->agreed = *iw_dss_agreed(c->sctp->session);
	iw_dss_release(c->sctp->session);
	c->sctp->session = NULL;
}

static bool wants_tx(const struct iw_conn *c)
{
	const struct over_sctp *o = c->sctp;

	if (c->state == IW_CONN_CLOSED)
		return false;
	return c->state != IW_CONN_OPEN || o->pending ||
	       (iw_rdmap_wants_tx(c->rdmap) && iw_dss_room(o->session) > 0);
}

static const char *stalled(const struct iw_conn *c)
{
	(void)c;
	return "the association accepts no messages";
}

const struct adaptation_ops iw_conn_sctp_ops = {
	.init = init,
	.fini = fini,
	.size = size,
	.may_send = may_send,
	.sending = sending,
	.final_reply = final_reply,
	.deadline = deadline,
	.timeout = timeout,
	.peer_ended = peer_ended,
	.accept = accept,
	.reject = reject,
	.retry_rev1 = retry_rev1,
	.agreed = agreed,
	.mulpdu = mulpdu,
	.has_batch = has_batch,
	.drop_batch = drop_batch,
	.closed = closed,
	.wants_tx = wants_tx,
	.stalled = stalled,
};

/* --- in --------------------------------------------------------------------------------------- */

static void take_segment(struct iw_conn *c, uint64_t seq, const uint8_t *data, size_t len,
			 struct iw_lend *lend, uint64_t now)
{
	struct iw_fault why;

	c->counts.rx_octets += IW_SCTP_SSN_LEN + len;
	if (c->fault.err != 0 || c->rdmap == NULL)
		return;
	iw_fault_none(&why);
	c->counts.rx_fpdus++;
	if (iw_rdmap_receive_seq(c->rdmap, seq, data, len, lend, now, &why) < 0)
		iw_conn_fault(c, &why, now);
}

static void accepted(struct iw_conn *c, const struct iw_dss_unit *u, uint64_t now)
{
	if (c->state != IW_CONN_SETUP)
		return;
	if (u->why != NULL)
		iw_conn_unacceptable(c, u->why, now);
	else
		iw_conn_established(c, now);
}

static void refused(struct iw_conn *c)
{
	bool enhanced = wants_enhanced(&c->cfg.mpa);
	struct iw_fault why = { 0 };

	c->sctp->refused = true;
	if (enhanced)
		iw_fail(&why, IW_E_REJECTED,
			"sctp: the peer answered the Enhanced Initiate (--rev 2) with Terminate: use "
			"--rev 1 if the peer has it; otherwise it has no room for the session");
	else
		iw_fail(&why, IW_E_REJECTED,
			"sctp: the peer answered the Initiate with Terminate: it has no room for the "
			"session");
	iw_conn_closed(c, &why, false);
}

static void take_unit(struct iw_conn *c, const struct iw_dss_unit *u, uint64_t now)
{
	switch (u->kind) {
	case IW_DSS_SEGMENT:
		take_segment(c, u->seq, u->data, u->len, NULL, now);
		return;
	case IW_DSS_REQUEST:
		c->decide_at = iw_time_add(now, c->cfg.decide_ns);
		iw_conn_event(c, IW_EVENT_REQUEST, NULL, false);
		return;
	case IW_DSS_ACCEPTED:
		accepted(c, u, now);
		return;
	case IW_DSS_REJECTED:
		iw_conn_rejected(c);
		iw_conn_closed(c, NULL, false);
		return;
	case IW_DSS_REFUSED:
		refused(c);
		return;
	case IW_DSS_TERMINATED:
		iw_conn_peer_ended(c, now);
		return;
	case IW_DSS_FAULT:
		iw_conn_fault(c, u->why, now);
		/* A second fault: the session has ended, and the pending segment must not follow. */
		if (c->state == IW_CONN_TERMINATING)
			iw_conn_closed(c, NULL, true);
		return;
	}
}

void iw_conn_arrived(struct iw_conn *c, const struct iw_dss_segment *seg, struct iw_lend *lend,
		     uint64_t now)
{
	struct iw_dss_unit u;

	if (c->sctp->session == NULL)
		return;
	if (iw_likely(seg->data != NULL))
		take_segment(c, seg->seq, seg->data, seg->len, lend, now);
	if (iw_unlikely(seg->more))
		while (c->sctp->session != NULL && iw_dss_next(c->sctp->session, &u))
			take_unit(c, &u, now);
	(void)iw_conn_moved(c, now);
}

void iw_conn_take_units(struct iw_conn *c, uint64_t now)
{
	static const struct iw_dss_segment none = { .more = true };

	iw_conn_arrived(c, &none, NULL, now);
}

/*
 * Reports progress to RDMAP. Copied messages are complete when they are taken, kept ones when they
 * are acknowledged. Operations complete in order, so one kept message delays the completion of all
 * later ones.
 */
static void report_sent(struct iw_conn *c)
{
	struct over_sctp *o = c->sctp;
	uint64_t sent = iw_dss_sent(o->session);

	iw_rdmap_hold(c->rdmap, has_batch(c));
	iw_rdmap_sent(c->rdmap, sent, has_batch(c) ? iw_dss_acked(o->session) : sent);
}

void iw_conn_acked(struct iw_conn *c, uint64_t now)
{
	c->last_tx = now;
	if (c->sctp->session != NULL && c->sctp->acked < c->sctp->moves) {
		c->moved_at = now;
		c->sctp->acked = iw_dss_acked(c->sctp->session);
	}
	if (c->sctp->kept > 0 && c->sctp->session != NULL)
		report_sent(c);
}

/* --- out -------------------------------------------------------------------------------------- */

/* Pulls the next segment from RDMAP into o->msg. False: RDMAP has no segment now. */
static bool next_segment(struct iw_conn *c, uint64_t now)
{
	struct over_sctp *o = c->sctp;
	struct iw_conn_msg *m = &o->msg;
	const struct iw_fault *why;
	struct iw_segment seg;

	if (!iw_conn_may_fill(c) || iw_dss_room(o->session) == 0)
		return false;
	o->pending = iw_rdmap_pull(c->rdmap, iw_sctpmap_mulpdu(o->assoc), &seg, now) > 0;
	if (o->pending) {
		m->stream = iw_dss_stream(o->session);
		m->ppid = iw_sctpmap_profile(o->assoc)->ppid_segment;
		iw_wire_sctp_segment_encode(m->hdr, sizeof(m->hdr), iw_dss_ssn(o->session));
		memcpy(m->hdr + IW_SCTP_SSN_LEN, seg.hdr, seg.hdr_len);
		m->hdr_len = IW_SCTP_SSN_LEN + seg.hdr_len;
		m->untagged = !(seg.hdr[0] & DDP_T);
		m->last = seg.hdr[0] & DDP_L;
		m->kept = !seg.copy;
		m->nvec = seg.npayload;
		memcpy(m->vec, seg.payload, seg.npayload * sizeof(seg.payload[0]));
		m->bytes = m->hdr_len + seg.payload_len;
		iw_rdmap_pulled(c->rdmap, iw_dss_sent(o->session) + 1);
		c->last_tx = now;
		if (iw_conn_moved(c, now))
			o->moves = iw_dss_sent(o->session) + 1;
	}
	/* iw_rdmap_pull detects that the source of a Read Response was revoked. */
	why = iw_rdmap_fault(c->rdmap);
	if (iw_unlikely(why != NULL))
		iw_conn_fault(c, why, now);
	return o->pending;
}

/* After the last segment: queues the session's Terminate, which the association sends. */
static void shut(struct iw_conn *c, uint64_t now)
{
	struct iw_dss *s = c->sctp->session;
	bool rejected = iw_dss_state(s) == IW_DSS_ENDING;

	if (!rejected)
		iw_dss_terminate(s);
	iw_conn_shut(c, now);
	/* After a rejection the session has ended: do not wait for the peer. */
	if (rejected)
		iw_conn_closed(c, NULL, false);
}

const struct iw_conn_msg *iw_conn_next_msg(struct iw_conn *c, uint64_t now)
{
	struct over_sctp *o = c->sctp;

	if (o->pending || next_segment(c, now))
		return &o->msg;
	if (c->state != IW_CONN_CLOSED && iw_conn_all_out(c))
		shut(c, now);
	return NULL;
}

void iw_conn_msg_refused(struct iw_conn *c)
{
	struct over_sctp *o = c->sctp;
	struct iw_conn_msg *m = &o->msg;
	struct iw_fault why;
	size_t at = 0;

	assert(o->pending);
	if (m->kept || o->copy != NULL || m->bytes == m->hdr_len)
		return;
	o->copy_len = m->bytes - m->hdr_len;
	o->copy = iw_mem_alloc(c->cfg.mem, o->copy_len);
	if (o->copy == NULL) {
		iw_fail(&why, IW_E_NOMEM, "sctp: no memory for a segment that waits to be sent");
		iw_conn_closed(c, &why, true);
		return;
	}
	for (size_t i = 0; i < m->nvec; i++) {
		memcpy(o->copy + at, m->vec[i].base, m->vec[i].len);
		at += m->vec[i].len;
	}
	m->vec[0] = (struct iw_vec){ o->copy, at };
	m->nvec = 1;
}

void iw_conn_msg_taken(struct iw_conn *c, bool kept, uint64_t now)
{
	struct over_sctp *o = c->sctp;

	assert(o->pending);
	o->pending = false;
	free_copy(c);
	c->last_tx = now;
	if (o->acked < o->moves)
		c->moved_at = now;
	c->counts.tx_octets += o->msg.bytes;
	c->counts.tx_fpdus++;
	iw_dss_taken(o->session);
	if (kept)
		o->kept = iw_dss_sent(o->session);
	/*
	 * An operation with kept memory cannot complete before its last segment: report that one
	 * only.
	 */
	if (kept && !o->msg.last)
		iw_rdmap_hold(c->rdmap, true);
	else
		report_sent(c);
}
