// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Packets to send: their chunks, their path, and when they are sent (RFC 9260 6.1, 6.10). Control
 * chunks come first; DATA follows them if it uses the same path. A packet is written once, into the
 * carrier's memory, and summed as a whole while it is in the first-level cache.
 */
#include "sctp/internal.h"

#include <string.h>

#include "wire/crc32c.h"

#define COPY_MIN 256 /* octets; shorter pieces are copied, not left in place */

struct packet {
	uint8_t *buf;
	size_t cap, len;
	const uint8_t *rest; /* the end of the packet, after the len octets in buf */
	size_t rest_len;
	struct path *path;
	bool unsummed; /* the checksum is zero (RFC 9653 5.2) */
	size_t fits;   /* octets that fit the path MTU */
	size_t limit;  /* limit of len */
};

/* Begins a packet on path p with the common header. cap: octets of buf. */
static void begin(struct packet *k, struct iw_sctp_assoc *a, struct path *p, uint8_t *buf,
		  size_t cap, uint32_t vtag)
{
	struct iw_sctp_hdr h = { .sport = a->s->cfg.port, .dport = a->peer_port, .vtag = vtag };

	*k = (struct packet){ .buf = buf, .cap = cap, .path = p };
	k->fits = (size_t)IW_SCTP_HDR_LEN + iw_sctp_payload(p);
	k->limit = IW_MIN(k->fits, cap);
	(void)iw_wire_sctp_hdr_encode(buf, cap, &h);
	k->len = IW_SCTP_HDR_LEN;
}

/* The checksum of the whole packet, whose checksum field is 0. */
static uint32_t sum(const struct packet *k)
{
	uint32_t crc;

	if (k->unsummed)
		return 0;
	crc = iw_crc32c(0, k->buf, k->len);
	return k->rest ? iw_crc32c(crc, k->rest, k->rest_len) : crc;
}

/* Completes the packet: checksum, addresses, IP fragmentation. Returns the octets in buf. */
static size_t finish(struct packet *k, const struct iw_sctp_assoc *a, struct iw_sctp_packet *out)
{
	iw_put_le32(k->buf + IW_SCTP_CHECKSUM_POS, sum(k));
	iw_sctp_address(a, k->path, out);
	out->rest = k->rest;
	out->rest_len = k->rest_len;
	out->fragment = k->len + k->rest_len > k->fits || iw_sctp_pmtu_fragments(k->path);
	return k->len;
}

static bool is_empty(const struct packet *k)
{
	return k->len == IW_SCTP_HDR_LEN;
}

/* Appends a chunk to the packet. Returns false if there is no room. */
static bool put(struct packet *k, uint8_t type, const void *value, size_t len)
{
	struct iw_sctp_chunk c = { .type = type, .value = value, .value_len = len };
	int n = iw_wire_sctp_chunk_encode(k->buf + k->len, k->limit - k->len, &c);

	if (n < 0)
		return false;
	k->len += (size_t)n;
	return true;
}

/* --- control ---------------------------------------------------------------------------------- */

static size_t init_packet(struct iw_sctp_assoc *a, uint8_t *buf, size_t cap,
			  struct iw_sctp_packet *out)
{
	struct packet k;
	int n;

	a->tx &= ~(unsigned)TX_INIT;
	begin(&k, a, &a->paths[0], buf, cap, 0);
	n = iw_sctp_put_init(a, buf + k.len, k.limit - k.len);
	if (n < 0)
		return 0;
	k.len += (size_t)n;
	return finish(&k, a, out);
}

static size_t cookie_packet(struct iw_sctp_assoc *a, uint8_t *buf, size_t cap,
			    struct iw_sctp_packet *out)
{
	uint8_t errors[sizeof(((struct init_params *)0)->report) + IW_SCTP_CHUNK_HDR_LEN];
	struct iw_sctp_param p = { .type = IW_SCTP_CAUSE_PARAMS,
				   .value = a->report,
				   .value_len = a->report_len };
	struct packet k;
	int n;

	a->tx &= ~(unsigned)TX_COOKIE_ECHO;
	begin(&k, a, &a->paths[a->from], buf, cap, a->peer_tag);
	/* A cookie above the path MTU is sent with IP fragmentation: the peer needs all of it. */
	k.limit = IW_MAX(k.limit, IW_MIN(cap, k.len + IW_SCTP_CHUNK_HDR_LEN + a->cookie_len + 3));
	if (!put(&k, IW_SCTP_COOKIE_ECHO, a->cookie, a->cookie_len))
		return 0;
	if (a->report_len > 0) {
		n = iw_wire_sctp_param_encode(errors, sizeof(errors), &p);
		if (n > 0)
			(void)put(&k, IW_SCTP_ERROR, errors, (size_t)n);
	}
	return finish(&k, a, out);
}

/* A packet with a HEARTBEAT alone. A path MTU probe is padded to the size probed (RFC 4820). */
static size_t heartbeat_packet(struct path *p, uint8_t *buf, size_t cap, struct iw_sctp_packet *out,
			       uint64_t now)
{
	bool probe = !p->hb_due;
	struct packet k;
	size_t size;

	begin(&k, p->a, p, buf, cap, p->a->peer_tag);
	if (probe) {
		p->probe_due = false;
		k.limit = cap;
	}
	k.len += iw_sctp_put_heartbeat(p, buf + k.len, k.limit - k.len, probe, now);
	if (is_empty(&k))
		return 0;
	if (probe) {
		size = (p->probe_size - iw_sctp_overhead(p)) & ~3u;
		size = size + IW_SCTP_HDR_LEN - k.len - IW_SCTP_CHUNK_HDR_LEN;
		memset(buf + k.len + IW_SCTP_CHUNK_HDR_LEN, 0, size);
		if (!put(&k, IW_SCTP_PAD, NULL, size))
			return 0;
	}
	size = finish(&k, p->a, out);
	out->fragment = false;
	return size;
}

/* Appends a SHUTDOWN, which carries the cumulative TSN (9.2). */
static void put_cum(struct packet *k, struct iw_sctp_assoc *a)
{
	uint8_t cum[4];

	iw_put_be32(cum, a->in.cum);
	if (put(k, IW_SCTP_SHUTDOWN, cum, sizeof(cum)))
		a->tx &= ~(unsigned)TX_SHUTDOWN;
}

static void put_control(struct packet *k, struct iw_sctp_assoc *a)
{
	if (a->tx & TX_COOKIE_ACK && put(k, IW_SCTP_COOKIE_ACK, NULL, 0))
		a->tx &= ~(unsigned)TX_COOKIE_ACK;
	if (a->tx & TX_SACK)
		k->len += iw_sctp_put_sack(a, k->buf + k->len, k->limit - k->len);
	if (a->tx & TX_SHUTDOWN)
		put_cum(k, a);
	if (a->tx & TX_SHUTDOWN_ACK && put(k, IW_SCTP_SHUTDOWN_ACK, NULL, 0))
		a->tx &= ~(unsigned)TX_SHUTDOWN_ACK;
}

/* --- DATA ------------------------------------------------------------------------------------- */

static bool sends_data(const struct iw_sctp_assoc *a)
{
	return a->state == IW_SCTP_ESTABLISHED || a->state == IW_SCTP_SHUTDOWN_PENDING ||
	       a->state == IW_SCTP_SHUTDOWN_RECEIVED;
}

/*
 * RFC 1122 4.2.3.4: the peer's user is reading if more than half of the largest window is free. A
 * chunk that does not fit even then may be larger than the whole window.
 */
static bool window_is_open(const struct iw_sctp_assoc *a)
{
	return a->peer_rwnd > a->peer_rwnd_max / 2;
}

/*
 * 6.1 A: checks whether the peer's window permits the next new chunk. A chunk that does not fit is
 * sent as a zero window probe if nothing is in flight. The probe waits for an RTO if the peer has
 * closed its window.
 */
static bool window_allows(struct iw_sctp_assoc *a, const struct out_chunk *c, uint64_t now)
{
	struct outq *q = &a->out;

	if (a->peer_rwnd >= q->flight_data && a->peer_rwnd - q->flight_data >= c->len) {
		q->persist_at = IW_TIME_NEVER;
		q->probe_window = false;
		return true;
	}
	if (q->una < q->next) /* a SACK for the DATA in flight will report the window */
		return false;
	if (window_is_open(a)) {
		q->persist_at = IW_TIME_NEVER;
		q->probe_window = true;
	}
	if (q->probe_window)
		return true;
	/* While the peer drops the probe, T3 repeats it at growing intervals. */
	if (q->persist_at == IW_TIME_NEVER)
		q->persist_at = iw_time_add(now, iw_sctp_data_path(a)->rto);
	return false;
}

/*
 * Returns the path of the next chunk to send, *seq; lost chunks come first (6.1 C). NULL: none may
 * be sent now.
 */
static struct path *choose(struct iw_sctp_assoc *a, uint64_t *seq, uint64_t now)
{
	struct outq *q = &a->out;
	struct path *p;

	if (q->nlost > 0) {
		*seq = iw_sctp_first_lost(q);
		p = &a->paths[chunk_at(q, *seq)->next_path];
		if (!path_is_usable(p))
			p = iw_sctp_other_path(a, p);
	} else if (q->next < q->end) {
		*seq = q->next;
		if (!window_allows(a, chunk_at(q, *seq), now))
			return NULL;
		p = iw_sctp_data_path(a);
	} else {
		return NULL;
	}
	return p;
}

/* Checks the congestion window (6.1 B) and pacing. */
static bool path_allows(struct path *p, uint64_t now)
{
	if (p->rtx_pass && p->a->out.nlost > 0)
		return true;
	if (p->flight >= iw_sctp_window(p) || (p->one_packet && p->nflight > 0))
		return false;
	return iw_sctp_pace_allows(p, now);
}

/*
 * 7.2.1: reduces cwnd for each RTO in which the path was idle. A path that has not sent DATA yet
 * keeps its initial cwnd, and begins with slow start.
 */
static void after_rest(struct path *p, uint64_t now)
{
	uint64_t rtos;

	if (p->last_sent == 0 || p->nflight > 0)
		return;
	rtos = (now - p->last_sent) / p->rto;
	for (unsigned i = 0; i < IW_MIN(rtos, (uint64_t)16); i++)
		iw_sctp_cc_idle(&p->cc, i == 0);
	if (rtos > 0 && iw_sctp_tracing(p->a))
		iw_sctp_trace_window(p);
}

static void put_octets(struct packet *k, const void *src, size_t len)
{
	memcpy(k->buf + k->len, src, len);
	k->len += len;
}

/* I bit (RFC 7053): set if this end needs the SACK before it can continue. */
static bool wants_sack(const struct iw_sctp_assoc *a, const struct path *p,
		       const struct out_chunk *c)
{
	return c->sack_now || a->state != IW_SCTP_ESTABLISHED || a->out.probe_window ||
	       c->sends > 0 || p->flight + chunk_octets(c->len) >= iw_sctp_window(p);
}

/*
 * Prefetches the octets after the slice, as many as it has: those of the next packet, because large
 * messages are cut in order. Must be inlined: gcc removes a call of a function that only prefetches.
 */
__attribute__((always_inline)) static inline void prefetch_after(const struct iw_vec *v)
{
	for (size_t at = v->len; at < 2 * v->len; at += 64)
		__builtin_prefetch((const uint8_t *)v->base + at);
}

/* Appends the DATA chunk with number seq. The caller has checked that it fits into buf. */
static void put_chunk(struct packet *k, struct iw_sctp_assoc *a, uint64_t seq)
{
	const struct out_chunk *c = chunk_at(&a->out, seq);
	struct iw_sctp_data d = {
		.tsn = a->out.tsn0 + (uint32_t)seq,
		.stream = c->stream,
		.ppid = c->ppid,
		.len = c->len,
	};
	uint8_t flags = IW_SCTP_DATA_U | IW_SCTP_DATA_B | IW_SCTP_DATA_E;
	size_t pad = iw_sctp_pad(c->len), rest = c->len - c->hdr_len;

	if (wants_sack(a, k->path, c))
		flags |= IW_SCTP_DATA_I;
	k->len += (size_t)iw_wire_sctp_data_encode(k->buf + k->len, k->cap - k->len, flags, &d);
	if (c->hdr_len)
		put_octets(k, c->hdr, c->hdr_len);
	for (unsigned i = 0; rest > 0; i++) {
		prefetch_after(&c->vec[i]);
		rest -= c->vec[i].len;
		if (c->in_place && rest == 0 && pad == 0 && c->vec[i].len >= COPY_MIN) {
			k->rest = c->vec[i].base;
			k->rest_len = c->vec[i].len;
		} else if (c->vec[i].len) {
			put_octets(k, c->vec[i].base, c->vec[i].len);
		}
	}
	memset(k->buf + k->len, 0, pad);
	k->len += pad;
}

/* The chunk was written to a packet: updates windows, timers and counters. */
static void sent(struct iw_sctp_assoc *a, struct path *p, uint64_t seq, uint64_t now)
{
	struct outq *q = &a->out;
	struct out_chunk *c = chunk_at(q, seq);
	uint32_t octets = chunk_octets(c->len);
	bool again = c->sends > 0;

	*state_at(q, seq) = CHUNK_FLIGHT;
	if (again) {
		q->nlost--;
		q->resent_end = q->next;
		iw_sctp_note_resent(q, seq);
		a->count.resent++;
	} else {
		q->next++;
		q->unsent_octets -= octets;
		a->count.sent++;
	}
	if (c->sends < UINT16_MAX)
		c->sends++;
	c->sent_at = now;
	c->path = p->index;
	if (a->cc->models)
		iw_sctp_rate_sent(p, octets, now);
	p->flight += octets;
	p->nflight++;
	q->flight_data += c->len;
	p->last_sent = now;
	if (iw_sctp_tracing(a))
		iw_sctp_trace_chunk(a, seq);
	p->prr.sent += octets;
	iw_sctp_pace_spend(p, octets);
	/* 6.3.2 R1. If the earliest chunk of the path is retransmitted, T3 restarts (7.2.4, 4). */
	if (p->t3_at == IW_TIME_NEVER || (again && iw_sctp_is_earliest(p, seq)))
		p->t3_at = iw_time_add(now, p->rto);
}

/*
 * Adds the chosen chunk and as many more as fit, all for the packet's path. Returns true if it
 * added a chunk.
 */
static bool put_data(struct packet *k, struct iw_sctp_assoc *a, uint64_t seq, uint64_t now)
{
	bool any = false, fresh = false;

	/* cwnd is exceeded by at most one packet: a packet is filled once it has begun. */
	do {
		size_t room = k->limit - k->len, need = chunk_octets(chunk_at(&a->out, seq)->len);

		/* A chunk larger than the path MTU is sent alone, with IP fragmentation (6.9). */
		if (need > room && (any || !is_empty(k) || need > k->cap - k->len))
			break;
		if (!any)
			after_rest(k->path, now);
		put_chunk(k, a, seq);
		fresh |= chunk_at(&a->out, seq)->sends == 0;
		sent(a, k->path, seq, now);
		any = true;
	} while (!k->rest && k->len + IW_SCTP_DATA_HDR_LEN < k->limit &&
		 choose(a, &seq, now) == k->path);
	if (!any)
		return false;
	k->path->rtx_pass = false;
	/* The loss of a repeated window probe must not wait for T3, which was backed off. */
	if (fresh || a->out.in_recovery || a->out.probe_repeated)
		iw_sctp_arm_tlp(a, now);
	a->out.probe_repeated = false;
	return true;
}

/*
 * Returns a path with a HEARTBEAT or a path MTU probe due, or NULL. After SHUTDOWN or SHUTDOWN ACK
 * was sent it returns NULL: no more DATA is sent, and T2 detects that the peer is gone (8.3, 9.2).
 */
static struct path *asks(struct iw_sctp_assoc *a, bool probe)
{
	if (a->state == IW_SCTP_SHUTDOWN_SENT || a->state == IW_SCTP_SHUTDOWN_ACK_SENT)
		return NULL;
	for (unsigned i = 0; i < a->npaths; i++)
		if (probe ? a->paths[i].probe_due : a->paths[i].hb_due)
			return &a->paths[i];
	return NULL;
}

size_t iw_sctp_assoc_output(struct iw_sctp_assoc *a, uint8_t *buf, size_t cap,
			    struct iw_sctp_packet *out, uint64_t now)
{
	struct path *from = &a->paths[a->from], *data = NULL, *p;
	struct packet k;
	uint64_t seq;

	if (!a->linked)
		return 0;
	if (a->tx & TX_INIT)
		return init_packet(a, buf, cap, out);
	if (a->tx & TX_COOKIE_ECHO)
		return cookie_packet(a, buf, cap, out);
	if (a->state < IW_SCTP_ESTABLISHED)
		return 0;
	if (a->tx == 0 && (p = asks(a, false)))
		return heartbeat_packet(p, buf, cap, out, now);
	if (sends_data(a)) {
		data = choose(a, &seq, now);
		if (!data && a->cc->models)
			iw_sctp_rate_idle(iw_sctp_data_path(a), now);
		if (data && !path_allows(data, now))
			data = NULL;
	}
	/* 6.1: a packet with DATA also acknowledges the DATA received since the last SACK. */
	if (data == from && a->in.packets > 0)
		a->tx |= TX_SACK;
	/*
	 * Path MTU probes are sent last. A probe may fill a small queue on the path, and the
	 * packets after it would be dropped, each time that the probe is repeated.
	 */
	if (a->tx == 0 && !data)
		return (p = asks(a, true)) ? heartbeat_packet(p, buf, cap, out, now) : 0;
	begin(&k, a, a->tx ? from : data, buf, cap, a->peer_tag);
	k.unsummed = a->peer_zero_checksum;
	put_control(&k, a);
	if (data == k.path && put_data(&k, a, seq, now))
		iw_sctp_report_room(a);
	if (is_empty(&k))
		return 0;
	return finish(&k, a, out);
}
