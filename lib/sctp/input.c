// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Received packets: finds their association (RFC 9260 8.4, 8.5), then processes their chunks. */
#include "sctp/internal.h"

#include <string.h>

#define IN(state) (1u << (state))
#define SET_UP    (IN(IW_SCTP_COOKIE_WAIT) | IN(IW_SCTP_COOKIE_ECHOED))
#define DATA_OUT                                                                                   \
	(IN(IW_SCTP_ESTABLISHED) | IN(IW_SCTP_SHUTDOWN_PENDING) | IN(IW_SCTP_SHUTDOWN_RECEIVED))
#define DATA_IN (IN(IW_SCTP_ESTABLISHED) | IN(IW_SCTP_SHUTDOWN_PENDING) | IN(IW_SCTP_SHUTDOWN_SENT))
#define UP      (DATA_OUT | DATA_IN | IN(IW_SCTP_SHUTDOWN_ACK_SENT))

/* Returns the association to which the tag and source of the packet belong, or NULL. */
static struct iw_sctp_assoc *find(struct iw_sctp *s, const struct iw_sctp_chunk *first)
{
	struct cursor *cur = &s->cur;
	struct iw_sctp_assoc *a = iw_sctp_by_tag(s, cur->hdr.vtag);

	if (!a || a->peer_port != cur->hdr.sport)
		return NULL;
	cur->path = iw_sctp_path_of(a, &cur->pkt->peer);
	/* An INIT ACK may come from an address that it lists itself (5.1.2). */
	if (!cur->path && a->state == IW_SCTP_COOKIE_WAIT && first->type == IW_SCTP_INIT_ACK)
		cur->path = &a->paths[0];
	return cur->path ? a : NULL;
}

/* ABORT and SHUTDOWN COMPLETE may carry the peer's own tag, with the T bit (8.5.1 B, C). */
static bool is_reflected(const struct iw_sctp *s, const struct iw_sctp_chunk *c,
			 const struct iw_sctp_assoc *a)
{
	return (c->type == IW_SCTP_ABORT || c->type == IW_SCTP_SHUTDOWN_COMPLETE) &&
	       c->flags & IW_SCTP_T && a->peer_tag != 0 && s->cur.hdr.vtag == a->peer_tag;
}

/* Begins to process the chunks of a packet of the association. */
static void begin(struct iw_sctp *s, struct iw_sctp_assoc *a)
{
	struct cursor *cur = &s->cur;

	cur->a = a;
	cur->open = true;
	/* 5.4: an unconfirmed source may be forged, and be that of an uninvolved host. */
	if (cur->path->confirmed) {
		a->local = cur->pkt->local;
		a->from = cur->path->index;
	}
	/* RFC 6951 5.4: the UDP port of the peer's last packet; 0 if that was not in UDP. */
	if (iw_sctp_addr_same_ip(&cur->path->addr, &cur->pkt->peer))
		iw_sctp_set_udp_port(cur->path, cur->pkt->peer.udp_port);
	a->in.data_seen = a->in.new_seen = false;
}

static void demultiplex(struct iw_sctp *s, const struct iw_sctp_chunk *first, bool alone)
{
	struct cursor *cur = &s->cur;
	struct iw_sctp_assoc *a;
	struct path *path;

	if (cur->hdr.vtag == 0) {
		if (first->type == IW_SCTP_INIT && alone)
			iw_sctp_on_init(s, first);
		return;
	}
	if (first->type == IW_SCTP_COOKIE_ECHO) {
		if (!iw_sctp_on_cookie_echo(s, first))
			return;
		cur->path = iw_sctp_path_of(cur->a, &cur->pkt->peer);
		if (!cur->path)
			return;
		cur->pos += (size_t)first->len + iw_sctp_pad(first->len);
		begin(s, cur->a);
		return;
	}
	a = find(s, first);
	if (a) {
		begin(s, a);
		return;
	}
	path = iw_sctp_by_addr(s, &cur->pkt->peer, cur->hdr.sport);
	if (!path) {
		iw_sctp_out_of_the_blue(s, cur->pkt, &cur->hdr);
		return;
	}
	cur->path = path;
	if (is_reflected(s, first, path->a))
		begin(s, path->a);
	else if (first->type == IW_SCTP_SHUTDOWN_ACK && SET_UP & IN(path->a->state))
		iw_sctp_out_of_the_blue(s, cur->pkt, &cur->hdr); /* 8.5.1 E */
}

/*
 * RFC 9653 5.3: after DTLS has authenticated a packet, a checksum of zero is correct too, except
 * with the chunks that begin an association.
 */
static bool checksum_fits(const struct iw_sctp *s, const struct iw_sctp_hdr *h,
			  const struct iw_sctp_packet *p)
{
	if (h->checksum == 0 && s->cfg.dtls_overhead > 0 && p->len > IW_SCTP_HDR_LEN &&
	    p->data[IW_SCTP_HDR_LEN] != IW_SCTP_INIT &&
	    p->data[IW_SCTP_HDR_LEN] != IW_SCTP_COOKIE_ECHO)
		return true;
	return h->checksum == iw_wire_sctp_checksum(p->data, p->len);
}

void iw_sctp_input(struct iw_sctp *s, const struct iw_sctp_packet *p, uint64_t now)
{
	struct cursor *cur = &s->cur;
	struct iw_sctp_chunk first;
	bool alone;
	int n;

	cur->pkt = p;
	cur->pos = IW_SCTP_HDR_LEN;
	cur->a = NULL;
	cur->path = NULL;
	cur->now = now;
	cur->open = cur->complained = cur->echoed = false;
	if (iw_wire_sctp_hdr_decode(&cur->hdr, p->data, p->len) == 0 ||
	    !checksum_fits(s, &cur->hdr, p))
		return;
	if (cur->hdr.sport == 0 || cur->hdr.dport == 0 || !iw_sctp_addr_is_unicast(&p->peer))
		return;
	n = iw_wire_sctp_chunk_decode(&first, p->data + cur->pos, p->len - cur->pos);
	if (n <= 0)
		return;
	alone = cur->pos + (size_t)n == p->len;
	if (cur->hdr.dport == s->cfg.port)
		demultiplex(s, &first, alone);
	else if (cur->hdr.vtag != 0)
		iw_sctp_out_of_the_blue(s, p, &cur->hdr);
	else if (first.type == IW_SCTP_INIT && alone)
		iw_sctp_no_listener(s, &first);
}

/* --- chunks ----------------------------------------------------------------------------------- */

/*
 * 8.3: answers to the source of the packet, confirmed or not. An unconfirmed source may be forged,
 * so it gets one answer for each packet.
 */
static void on_heartbeat(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c)
{
	struct cursor *cur = &a->s->cur;

	if (!cur->path->confirmed && cur->echoed)
		return;
	cur->echoed = true;
	iw_sctp_reply(a->s, a->s->cur.pkt, a->peer_port, a->peer_tag, IW_SCTP_HEARTBEAT_ACK, 0,
		      c->value, c->value_len);
}

static void on_error(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c)
{
	struct iw_sctp_param cause;

	if (iw_wire_sctp_param_decode(&cause, c->value, c->value_len) > 0 &&
	    cause.type == IW_SCTP_CAUSE_STALE_COOKIE)
		iw_sctp_on_stale_cookie(a);
}

/* RFC 9260 3.2. Returns false if the rest of the packet is to be ignored. */
static bool on_unknown(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c)
{
	if (IW_SCTP_UNKNOWN_REPORTS(c->type, 7) && UP & IN(a->state))
		iw_sctp_assoc_error(a, IW_SCTP_CAUSE_CHUNK, c->value - IW_SCTP_CHUNK_HDR_LEN,
				    c->len);
	return IW_SCTP_UNKNOWN_SKIPS(c->type, 7);
}

/* The states in which a chunk is processed; in others it is ignored. No row: every state. */
static const unsigned allowed[] = {
	[IW_SCTP_DATA] = DATA_IN,
	[IW_SCTP_INIT_ACK] = IN(IW_SCTP_COOKIE_WAIT),
	[IW_SCTP_SACK] = DATA_OUT,
	[IW_SCTP_HEARTBEAT] = UP | IN(IW_SCTP_COOKIE_ECHOED),
	[IW_SCTP_HEARTBEAT_ACK] = UP,
	[IW_SCTP_ABORT] = UP | SET_UP,
	[IW_SCTP_SHUTDOWN] = UP,
	[IW_SCTP_SHUTDOWN_ACK] = SET_UP | IN(IW_SCTP_SHUTDOWN_SENT) | IN(IW_SCTP_SHUTDOWN_ACK_SENT),
	[IW_SCTP_ERROR] = UP | SET_UP,
	[IW_SCTP_COOKIE_ACK] = IN(IW_SCTP_COOKIE_ECHOED),
	[IW_SCTP_SHUTDOWN_COMPLETE] = IN(IW_SCTP_SHUTDOWN_ACK_SENT),
};

/* What iw_sctp_next does after a chunk. */
enum next { NEXT_CHUNK, NEXT_PACKET, MESSAGE };

static enum next on_chunk(struct iw_sctp *s, const struct iw_sctp_chunk *c,
			  struct iw_sctp_recv *out)
{
	struct iw_sctp_assoc *a = s->cur.a;
	uint64_t now = s->cur.now;

	if (c->type < IW_ARRAY_LEN(allowed) && allowed[c->type] != 0 &&
	    !(allowed[c->type] & IN(a->state)))
		return NEXT_CHUNK;
	switch ((enum iw_sctp_chunk_type)c->type) {
	case IW_SCTP_DATA:
		return iw_sctp_on_data(a, c, out) ? MESSAGE : NEXT_CHUNK;
	case IW_SCTP_INIT_ACK:
		iw_sctp_on_init_ack(s, c);
		return NEXT_PACKET;
	case IW_SCTP_SACK:
		iw_sctp_on_sack(a, c, now);
		return NEXT_CHUNK;
	case IW_SCTP_HEARTBEAT:
		on_heartbeat(a, c);
		return NEXT_CHUNK;
	case IW_SCTP_HEARTBEAT_ACK:
		iw_sctp_on_heartbeat_ack(a, c, now);
		return NEXT_CHUNK;
	case IW_SCTP_ABORT:
		iw_sctp_on_abort(a, c);
		return NEXT_PACKET;
	case IW_SCTP_SHUTDOWN:
		iw_sctp_on_shutdown(a, c, now);
		return NEXT_CHUNK;
	case IW_SCTP_SHUTDOWN_ACK:
		if (SET_UP & IN(a->state))
			iw_sctp_out_of_the_blue(s, s->cur.pkt, &s->cur.hdr);
		else
			iw_sctp_on_shutdown_ack(a);
		return NEXT_PACKET;
	case IW_SCTP_ERROR:
		on_error(a, c);
		return NEXT_CHUNK;
	case IW_SCTP_COOKIE_ACK:
		iw_sctp_on_cookie_ack(a, now);
		return NEXT_CHUNK;
	case IW_SCTP_SHUTDOWN_COMPLETE:
		iw_sctp_on_shutdown_complete(a, c);
		return NEXT_PACKET;
	case IW_SCTP_INIT:        /* valid only alone, with tag 0 */
	case IW_SCTP_COOKIE_ECHO: /* valid only as the first chunk */
		return NEXT_PACKET;
	case IW_SCTP_PAD:
		return NEXT_CHUNK;
	}
	return on_unknown(a, c) ? NEXT_CHUNK : NEXT_PACKET;
}

bool iw_sctp_next(struct iw_sctp *s, struct iw_sctp_recv *out)
{
	struct cursor *cur = &s->cur;

	while (cur->open) {
		struct iw_sctp_chunk c;
		enum next next = NEXT_PACKET;
		int n = 0;

		if (cur->pos < cur->pkt->len)
			n = iw_wire_sctp_chunk_decode(&c, cur->pkt->data + cur->pos,
						      cur->pkt->len - cur->pos);
		if (n > 0) {
			cur->pos += (size_t)n;
			next = on_chunk(s, &c, out);
		}
		/* If a chunk has ended the association, the rest of the packet is dropped. */
		if (next == NEXT_PACKET && cur->open) {
			cur->open = false;
			iw_sctp_inq_packet_done(cur->a, cur->now);
			iw_sctp_touch(cur->a);
		}
		if (next == MESSAGE && cur->open)
			return true;
	}
	return false;
}

/* --- ICMP (RFC 9260 10) ----------------------------------------------------------------------- */

/*
 * ICMP5, ICMP6: returns the path that the quoted packet was sent to. NULL: the quotation does not
 * prove that we sent the packet, or is too short. The proof is the peer's Verification Tag, or the
 * Initiate Tag of our INIT, whose Verification Tag is 0.
 */
static struct path *sent_to(struct iw_sctp *s, const struct iw_sctp_addr *peer, const uint8_t *head,
			    size_t len, bool *init)
{
	const size_t init_len = IW_SCTP_HDR_LEN + IW_SCTP_CHUNK_HDR_LEN + 4;
	struct path *p;

	if (len < 8 || iw_get_be16(head) != s->cfg.port)
		return NULL;
	p = iw_sctp_by_addr(s, peer, iw_get_be16(head + 2));
	if (!p)
		return NULL;
	*init = iw_get_be32(head + 4) == 0;
	if (!*init)
		return p->a->peer_tag == iw_get_be32(head + 4) ? p : NULL;
	if (len < init_len || head[IW_SCTP_HDR_LEN] != IW_SCTP_INIT)
		return NULL;
	return iw_get_be32(head + init_len - 4) == p->a->my_tag ? p : NULL;
}

void iw_sctp_too_big(struct iw_sctp *s, const struct iw_sctp_addr *peer, const uint8_t *head,
		     size_t len, uint32_t mtu, uint64_t now)
{
	bool init;
	struct path *p = sent_to(s, peer, head, len, &init);

	if (!p)
		return;
	iw_sctp_pmtu_lower(p, mtu, now);
	iw_sctp_touch(p->a);
}

void iw_sctp_unreachable(struct iw_sctp *s, const struct iw_sctp_addr *peer, const uint8_t *head,
			 size_t len, uint64_t now)
{
	bool init;
	struct path *p = sent_to(s, peer, head, len, &init);

	(void)now;
	/* ICMP8 */
	if (!p || (init && p->a->state != IW_SCTP_COOKIE_WAIT))
		return;
	/* As for an ABORT: only the SHUTDOWN COMPLETE is missing. */
	if (p->a->state == IW_SCTP_SHUTDOWN_ACK_SENT)
		iw_sctp_down(p->a, 0, "sctp: shut down");
	else
		iw_sctp_down(p->a, IW_E_CLOSED,
			     "sctp: ICMP reports that the peer does not receive SCTP there");
}
