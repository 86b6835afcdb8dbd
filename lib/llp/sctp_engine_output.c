// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages to send: from the caller to the engine, and its packets to the carrier in batches. */
#include "llp/sctp_engine.h"

#include <assert.h>
#include <string.h>

#include "util/num.h"

/* Octets. Copying a shorter message is cheaper than completing only after the acknowledgement. */
#define KEEP_MIN 512
#define OUT_MAX  65000 /* octets of one batch */

/* True if the carrier can send the last octets of the message without a copy. */
static bool can_stay(struct iw_pkt *c, const struct iw_sctp_send *s)
{
	const struct iw_vec *last = s->vec + s->nvec - 1;

	return c->ops->owns && s->nvec > 0 && c->ops->owns(c, last->base, last->len);
}

int iw_port_user_send(struct iw_assoc *a, const struct iw_port_out *m, uint64_t now)
{
	struct iw_sctp_send s = {
		.stream = m->stream,
		.ppid = m->ppid,
		.hdr = m->hdr,
		.hdr_len = m->hdr_len,
		.vec = m->vec,
		.nvec = m->nvec,
	};
	struct iw_vec all[8];
	size_t len = 0;
	int err;

	(void)now;
	if (!assoc_of(a)->a)
		return IW_E_STATE;
	if (iw_unlikely(m->hdr_len > IW_SCTP_SEND_HDR_MAX)) {
		assert(m->nvec < IW_ARRAY_LEN(all));
		iw_sctp_send_long_hdr(&s, all);
	}
	for (size_t i = 0; i < s.nvec; i++)
		len += s.vec[i].len;
	s.copy = !m->keep || len < KEEP_MIN || s.nvec > IW_SCTP_SEND_VECS;
	s.sack_now = m->ack_now || (!s.copy && m->last);
	s.in_place = !s.copy && can_stay(port_of(a->port)->pkt, &s);
	err = iw_sctp_send(assoc_of(a)->a, &s, NULL);
	return err || s.copy ? err : IW_PORT_KEPT;
}

void iw_port_user_release_memory(struct iw_assoc *a, uint16_t stream, uint64_t now)
{
	struct iw_sctp_assoc *engine = assoc_of(a)->a;

	struct iw_pkt *c = port_of(a->port)->pkt;

	/* Without memory for copies, the ABORT ends retransmissions from the caller's memory. */
	if (engine && iw_sctp_release_memory(engine, stream) < 0)
		iw_sctp_abort(engine, "out of memory", advance(port_of(a->port), now));
	if (c->ops->settle)
		c->ops->settle(c);
}

/* Sends the batch. False: the carrier is full, and the batch is kept. */
static bool send_batch(struct user_port *u)
{
	struct iw_sctp_addr peer;
	uint32_t mtu = 0;
	int err;

	if (u->tx.len == 0)
		return true;
	u->tx.data = u->out;
	err = u->pkt->ops->send(u->pkt, &u->tx, &mtu);
	u->stuck = err == IW_E_AGAIN;
	if (err == IW_E_LIMIT) {
		iw_port_to_engine(&peer, &u->tx.peer, u->pkt->udp_port != 0);
		iw_sctp_too_big(u->sctp, &peer, u->out, u->tx.seg, mtu, u->now);
	}
	u->port.sends = u->pkt->sends;
	if (u->stuck)
		return false;
	u->tx.len = 0;
	u->npackets = 0;
	return true;
}

/* True if the packet has the addresses of the one before it. */
static bool is_to_same(const struct user_port *u, const struct iw_sctp_packet *p)
{
	return memcmp(&u->to.peer, &p->peer, sizeof(p->peer)) == 0 &&
	       memcmp(&u->to.local, &p->local, sizeof(p->local)) == 0;
}

/*
 * True if a packet of len octets fits the batch: of the size of the others, or shorter as its last.
 */
static bool fits(const struct user_port *u, const struct iw_sctp_packet *p, size_t len)
{
	const struct iw_pkt_tx *t = &u->tx;

	return len <= t->seg && t->len % t->seg == 0 && u->npackets < u->pkt->seg_max &&
	       t->len + len + (u->npackets + 1) * u->pkt->overhead <= OUT_MAX && !t->fragment &&
	       !p->fragment && is_to_same(u, p);
}

/* Sets the addresses of the next packet. Converts them only if they have changed. */
static void set_addresses(struct user_port *u, const struct iw_sctp_packet *p)
{
	if (u->tx.peer.len > 0 && is_to_same(u, p))
		return;
	u->to = *p;
	iw_port_from_engine(&u->tx.peer, &p->peer, p->peer.udp_port);
	iw_port_from_engine(&u->tx.local, &p->local, 0);
}

/* Begins a batch with the packet of len octets at out + at. */
static void begin_batch(struct user_port *u, const struct iw_sctp_packet *p, size_t at, size_t len)
{
	memmove(u->out, u->out + at, len);
	set_addresses(u, p);
	u->tx.len = u->tx.seg = len;
	u->tx.fragment = p->fragment;
	u->npackets = 1;
}

/*
 * Adds the engine's next packet to the batch. If it does not fit, sends the batch and begins the
 * next one with it. False: no packet is due, or the carrier is full.
 */
static bool add_packet(struct user_port *u, uint64_t now)
{
	struct iw_sctp_packet p;
	size_t at = u->tx.len;
	size_t len = iw_sctp_output(u->sctp, u->out + at, OUT_LEN - at, &p, now);

	if (len == 0)
		return false;
	if (at > 0 && fits(u, &p, len)) {
		u->tx.len += len;
		u->npackets++;
		return true;
	}
	if (at > 0 && !send_batch(u)) {
		u->next = p;
		u->next_at = at;
		u->next_len = len;
		return false;
	}
	begin_batch(u, &p, at, len);
	return true;
}

/* output for a carrier from whose memory the engine's packets are sent: makes no batches. */
static int output_in_place(struct user_port *u, uint64_t now)
{
	const struct iw_pkt_ops *ops = u->pkt->ops;
	struct iw_sctp_packet p;
	uint32_t mtu;
	uint8_t *to;
	size_t cap;

	while ((to = ops->room(u->pkt, &cap)) != NULL) {
		size_t len = iw_sctp_output(u->sctp, to, cap, &p, now);

		if (len == 0)
			break;
		set_addresses(u, &p);
		u->tx.data = to;
		u->tx.len = u->tx.seg = len + p.rest_len;
		u->tx.rest = p.rest;
		u->tx.rest_len = p.rest_len;
		u->tx.fragment = p.fragment;
		mtu = 0;
		if (ops->send(u->pkt, &u->tx, &mtu) == IW_E_LIMIT)
			iw_sctp_too_big(u->sctp, &p.peer, to, len, mtu, now);
	}
	ops->flush(u->pkt);
	u->port.sends = u->pkt->sends;
	return to ? 0 : IW_E_AGAIN;
}

int iw_port_user_output(struct iw_port *p, uint64_t now)
{
	struct user_port *u = port_of(p);

	now = advance(u, now);
	u->packets = 0;
	u->more_until = 0;
	if (u->pkt->ops->room)
		return output_in_place(u, now);
	if (u->stuck && !send_batch(u))
		return IW_E_AGAIN;
	if (u->next_len > 0)
		begin_batch(u, &u->next, u->next_at, u->next_len);
	u->next_len = 0;
	while (add_packet(u, now))
		continue;
	if (!u->stuck)
		(void)send_batch(u);
	return u->stuck ? IW_E_AGAIN : 0;
}

void iw_port_user_abort(struct iw_assoc *a, const char *reason, uint64_t now)
{
	if (!assoc_of(a)->a)
		return;
	now = advance(port_of(a->port), now);
	iw_sctp_abort(assoc_of(a)->a, reason, now);
	/* The caller may release the association next: send the ABORT now. */
	(void)iw_port_user_output(a->port, now);
}

uint64_t iw_port_user_deadline(struct iw_port *p)
{
	struct user_port *u = port_of(p);
	uint64_t at = iw_sctp_deadline(u->sctp);

	if (!u->pkt->ops->deadline)
		return at;
	return IW_MIN(at, u->pkt->ops->deadline(u->pkt));
}

void iw_port_user_timeout(struct iw_port *p, uint64_t now)
{
	struct user_port *u = port_of(p);

	now = advance(u, now);
	if (u->pkt->ops->timeout)
		u->pkt->ops->timeout(u->pkt, now);
	/* A carrier with encryption reports a session that has ended, without a received packet. */
	if (u->pkt->overhead > 0)
		iw_port_take_errors(u, now);
	iw_sctp_timeout(u->sctp, now);
}
