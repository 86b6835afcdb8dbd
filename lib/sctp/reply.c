// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Packets that only answer a received packet. They are made when that packet arrives, and kept in a
 * ring of the endpoint until the carrier takes them. A flood fills the ring. Answers that do not
 * fit are dropped, which is no worse than a packet lost on the way. A packet gets at most one
 * answer of about its own size, with two exceptions: an INIT ACK carries a cookie, and each
 * HEARTBEAT from a confirmed address gets an answer.
 */
#include "sctp/internal.h"

#include <string.h>

#define RATE_BURST 100
#define RATE_GAP   IW_MSEC(1)

void iw_sctp_address(const struct iw_sctp_assoc *a, const struct path *p, struct iw_sctp_packet *to)
{
	*to = (struct iw_sctp_packet){ .peer = p->addr, .local = a->local };
}

size_t iw_sctp_reply_room(const struct iw_sctp *s, const struct iw_sctp_packet *to)
{
	return (s->cfg.mtu - iw_sctp_overhead_to(s, &to->peer) - IW_SCTP_CHUNK_HDR_LEN) & ~3u;
}

/*
 * A HEARTBEAT ACK repeats what the peer has sent (8.3), so it may exceed the MTU. It is then sent
 * with IP fragmentation. If it does not fit into a place of the ring, it is dropped, as if it were
 * lost on the way.
 */
static void add(struct iw_sctp *s, const struct iw_sctp_packet *to, const struct iw_sctp_hdr *h,
		const struct iw_sctp_chunk *c)
{
	unsigned at = (s->reply_first + s->replies) % REPLIES_MAX;
	uint8_t *p = s->reply_data + (size_t)at * s->cfg.mtu;
	int n;

	if (s->replies == REPLIES_MAX || iw_wire_sctp_hdr_encode(p, s->cfg.mtu, h) < 0)
		return;
	n = iw_wire_sctp_chunk_encode(p + IW_SCTP_HDR_LEN, s->cfg.mtu - IW_SCTP_HDR_LEN, c);
	if (n < 0)
		return;
	n += IW_SCTP_HDR_LEN;
	iw_put_le32(p + IW_SCTP_CHECKSUM_POS, iw_wire_sctp_checksum(p, (size_t)n));
	s->reply[at] =
		(struct reply){ .to = { .peer = to->peer, .local = to->local }, .len = (size_t)n };
	s->reply[at].to.fragment = c->value_len > iw_sctp_reply_room(s, to);
	s->replies++;
}

void iw_sctp_reply(struct iw_sctp *s, const struct iw_sctp_packet *to, uint16_t peer_port,
		   uint32_t vtag, uint8_t type, uint8_t flags, const void *value, size_t len)
{
	struct iw_sctp_chunk c = { .type = type, .flags = flags, .value = value, .value_len = len };
	struct iw_sctp_hdr h = { .sport = s->cfg.port, .dport = peer_port, .vtag = vtag };

	add(s, to, &h, &c);
}

void iw_sctp_reply_cause(struct iw_sctp *s, const struct iw_sctp_packet *to, uint16_t peer_port,
			 uint32_t vtag, uint8_t type, uint8_t flags, uint16_t cause,
			 const void *info, size_t len)
{
	uint8_t value[IW_SCTP_MTU_BASE - 100];
	size_t room = IW_MIN(sizeof(value), iw_sctp_reply_room(s, to)) - IW_SCTP_CHUNK_HDR_LEN;
	struct iw_sctp_param p = { .type = cause, .value = info, .value_len = IW_MIN(len, room) };

	if (iw_wire_sctp_param_encode(value, sizeof(value), &p) < 0)
		return;
	/* The chunk length does not include the padding of the cause. */
	iw_sctp_reply(s, to, peer_port, vtag, type, flags, value,
		      IW_SCTP_CHUNK_HDR_LEN + p.value_len);
}

void iw_sctp_assoc_reply(struct iw_sctp_assoc *a, uint8_t type, const void *value, size_t len)
{
	struct iw_sctp_packet to;

	iw_sctp_address(a, &a->paths[a->from], &to);
	iw_sctp_reply(a->s, &to, a->peer_port, a->peer_tag, type, 0, value, len);
}

void iw_sctp_assoc_error(struct iw_sctp_assoc *a, uint16_t cause, const void *info, size_t len)
{
	struct iw_sctp_packet to;

	if (a->s->cur.complained) /* one ERROR for each packet, however many errors it has */
		return;
	a->s->cur.complained = true;
	iw_sctp_address(a, &a->paths[a->from], &to);
	iw_sctp_reply_cause(a->s, &to, a->peer_port, a->peer_tag, IW_SCTP_ERROR, 0, cause, info,
			    len);
}

size_t iw_sctp_take_reply(struct iw_sctp *s, uint8_t *buf, size_t cap, struct iw_sctp_packet *out)
{
	const struct reply *r = &s->reply[s->reply_first];

	if (cap < r->len)
		return 0;
	*out = r->to;
	memcpy(buf, s->reply_data + (size_t)s->reply_first * s->cfg.mtu, r->len);
	s->reply_first = (s->reply_first + 1) % REPLIES_MAX;
	s->replies--;
	return r->len;
}

/* The chunks of a packet on which the answer depends (RFC 9260 8.4). */
struct contents {
	bool abort, shutdown_ack, ignore;
};

static struct contents look_through(const struct iw_sctp_packet *pkt)
{
	struct contents has = { 0 };
	size_t pos = IW_SCTP_HDR_LEN;
	struct iw_sctp_chunk c;
	struct iw_sctp_param cause;
	int n;

	while ((n = iw_wire_sctp_chunk_decode(&c, pkt->data + pos, pkt->len - pos)) > 0) {
		has.abort |= c.type == IW_SCTP_ABORT;
		has.shutdown_ack |= c.type == IW_SCTP_SHUTDOWN_ACK;
		has.ignore |= c.type == IW_SCTP_SHUTDOWN_COMPLETE || c.type == IW_SCTP_COOKIE_ACK ||
			      (c.type == IW_SCTP_ERROR &&
			       iw_wire_sctp_param_decode(&cause, c.value, c.value_len) > 0 &&
			       cause.type == IW_SCTP_CAUSE_STALE_COOKIE);
		pos += (size_t)n;
	}
	return has;
}

bool iw_sctp_within_rate(uint64_t *at, uint64_t now)
{
	uint64_t paid = IW_MAX(*at, now);

	if (paid - now >= RATE_BURST * RATE_GAP)
		return false;
	*at = paid + RATE_GAP;
	return true;
}

/*
 * Answers a packet that belongs to no association, from the port to which it was sent, even if that
 * port is not ours.
 */
static void answer_stranger(struct iw_sctp *s, const struct iw_sctp_packet *pkt,
			    const struct iw_sctp_hdr *h, uint32_t vtag, uint8_t type, uint8_t flags)
{
	struct iw_sctp_chunk c = { .type = type, .flags = flags };
	struct iw_sctp_hdr back = { .sport = h->dport, .dport = h->sport, .vtag = vtag };

	/* The rate limit makes such packets cost their sender more than this end. */
	if (iw_sctp_within_rate(&s->strangers_at, s->cur.now))
		add(s, pkt, &back, &c);
}

void iw_sctp_out_of_the_blue(struct iw_sctp *s, const struct iw_sctp_packet *pkt,
			     const struct iw_sctp_hdr *h)
{
	struct contents has = look_through(pkt);

	if (has.abort)
		return;
	if (has.shutdown_ack)
		answer_stranger(s, pkt, h, h->vtag, IW_SCTP_SHUTDOWN_COMPLETE, IW_SCTP_T);
	else if (!has.ignore)
		answer_stranger(s, pkt, h, h->vtag, IW_SCTP_ABORT, IW_SCTP_T);
}

void iw_sctp_no_listener(struct iw_sctp *s, const struct iw_sctp_chunk *init)
{
	struct iw_sctp_init i;

	if (iw_wire_sctp_init_decode(&i, init->value, init->value_len) > 0 && i.tag != 0)
		answer_stranger(s, s->cur.pkt, &s->cur.hdr, i.tag, IW_SCTP_ABORT, 0);
}
