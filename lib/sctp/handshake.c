// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Set-up of an association (RFC 9260 5) at both ends: INIT, INIT ACK, COOKIE ECHO, COOKIE ACK. The
 * table in 5.2.4 distinguishes restarts, collisions and duplicates.
 */
#include "sctp/internal.h"

#include <string.h>

#define INIT_RWND_MIN 1500 /* RFC 9260 3.3.2 */

/* --- contents of INIT and INIT ACK ------------------------------------------------------------ */

static int put_number(uint8_t *dst, size_t cap, uint16_t type, uint32_t number)
{
	uint8_t value[4];
	struct iw_sctp_param p = { .type = type, .value = value, .value_len = 4 };

	iw_put_be32(value, number);
	return iw_wire_sctp_param_encode(dst, cap, &p);
}

#define ABILITIES_LEN 16 /* octets that put_abilities writes at most */

/* What both INIT and INIT ACK report about this end. Returns the octets, or an error. */
static int put_abilities(const struct iw_sctp *s, uint8_t *dst, size_t cap)
{
	int n = put_number(dst, cap, IW_SCTP_PARAM_ADAPTATION, s->cfg.adaptation), more;

	/* DTLS has authenticated each packet, so its checksum adds nothing (RFC 9653 5.1). */
	if (n < 0 || s->cfg.dtls_overhead == 0)
		return n;
	more = put_number(dst + n, cap - (size_t)n, IW_SCTP_PARAM_ZERO_CHECKSUM, EDMID_DTLS);
	return more < 0 ? more : n + more;
}

int iw_sctp_put_init(struct iw_sctp_assoc *a, uint8_t *dst, size_t cap)
{
	const struct iw_sctp_cfg *cfg = &a->s->cfg;
	uint8_t params[ABILITIES_LEN], value[IW_SCTP_INIT_LEN + sizeof(params)];
	struct iw_sctp_init init = {
		.tag = a->my_tag,
		.a_rwnd = cfg->rwnd,
		.os = cfg->streams,
		.mis = cfg->streams,
		.tsn = a->my_tsn,
		.params = params,
	};
	struct iw_sctp_chunk c = { .type = IW_SCTP_INIT, .value = value };
	int n = put_abilities(a->s, params, sizeof(params));

	if (n < 0)
		return n;
	init.params_len = (size_t)n;
	n = iw_wire_sctp_init_encode(value, sizeof(value), &init);
	if (n < 0)
		return n;
	c.value_len = (size_t)n;
	return iw_wire_sctp_chunk_encode(dst, cap, &c);
}

/* SX-07, RFC 9260 3.3.2: true if the values of an INIT or INIT ACK are acceptable. */
static bool acceptable(const struct iw_sctp_init *i)
{
	return i->a_rwnd >= INIT_RWND_MIN && i->os > 0 && i->mis > 0;
}

static bool adaptation_fits(const struct iw_sctp *s, const struct init_params *p)
{
	return !s->cfg.adaptation_required ||
	       (p->has_adaptation && p->adaptation == s->cfg.adaptation);
}

/* Draws a random number other than 0, which is not a valid tag (RFC 9260 3.3.2). */
static int random32(struct iw_sctp *s, uint32_t *out)
{
	int err;

	do
		err = s->cfg.random(s->cfg.random_ctx, out, sizeof(*out));
	while (err == 0 && *out == 0);
	return err;
}

static int new_tag(struct iw_sctp *s, uint32_t *tag)
{
	int err;

	do
		err = random32(s, tag);
	while (err == 0 && iw_sctp_by_tag(s, *tag));
	return err;
}

/* --- the initiator ---------------------------------------------------------------------------- */

int iw_sctp_connect(struct iw_sctp *s, struct iw_sctp_assoc **out, const struct iw_sctp_addr *peer,
		    uint16_t port, void *user, uint64_t now)
{
	struct iw_sctp_assoc *a;
	uint32_t tag, tsn;
	int err;

	*out = NULL;
	if (port == 0)
		return IW_E_INVAL;
	if (iw_sctp_by_addr(s, peer, port))
		return IW_E_BUSY;
	if (s->count >= s->cfg.assocs_max)
		return IW_E_LIMIT;
	err = new_tag(s, &tag);
	if (err == 0)
		err = random32(s, &tsn);
	if (err == 0)
		err = iw_sctp_assoc_new(&a, s, tag, tsn, peer, 1, port);
	if (err < 0)
		return err;
	a->initiator = true;
	a->user = user;
	iw_sctp_set_state(a, IW_SCTP_COOKIE_WAIT);
	a->tx = TX_INIT;
	a->setup_rto = s->cfg.times.rto_initial;
	a->setup_at = iw_time_add(now, a->setup_rto);
	iw_sctp_touch(a);
	*out = a;
	return 0;
}

void iw_sctp_setup_timeout(struct iw_sctp_assoc *a, uint64_t now)
{
	const struct iw_sctp_times *t = &a->s->cfg.times;

	if (iw_sctp_tracing(a))
		iw_sctp_trace_timer(a, 0, "init", a->setup_rto);
	if (a->tries++ >= t->max_init_retransmits) {
		iw_sctp_down(a, IW_E_TIMEOUT, "sctp: no answer to %s (RFC 9260 5.1.6)",
			     a->state == IW_SCTP_COOKIE_WAIT ? "INIT" : "COOKIE ECHO");
		return;
	}
	a->tx |= a->state == IW_SCTP_COOKIE_WAIT ? TX_INIT : TX_COOKIE_ECHO;
	a->setup_rto = IW_MIN(2 * a->setup_rto, t->rto_max);
	a->setup_at = iw_time_add(now, a->setup_rto);
}

/*
 * Sets the paths after the INIT ACK: the address that the caller named stays the first, and those
 * that the peer lists follow. Returns 0 or IW_E_NOMEM.
 */
static int learn_paths(struct iw_sctp_assoc *a, const struct iw_sctp_addr *said, unsigned nsaid)
{
	struct iw_sctp_addr peer[IW_SCTP_PATHS_MAX];
	unsigned n = 1;

	peer[0] = a->paths[0].addr;
	for (unsigned i = 0; i < nsaid; i++) {
		if (memcmp(said[i].ip, peer[0].ip, 16) == 0)
			peer[0].udp_port = said[i].udp_port;
		else if (n < IW_SCTP_PATHS_MAX)
			peer[n++] = said[i];
	}
	if (n == 1) {
		iw_sctp_set_udp_port(&a->paths[0], peer[0].udp_port);
		return 0;
	}
	return iw_sctp_set_paths(a, peer, n);
}

static uint8_t *copy_of(const struct iw_mem *mem, const void *src, size_t len)
{
	uint8_t *p = len ? iw_mem_alloc(mem, len) : NULL;

	if (p)
		memcpy(p, src, len);
	return p;
}

void iw_sctp_on_init_ack(struct iw_sctp *s, const struct iw_sctp_chunk *c)
{
	static const uint8_t no_cookie[] = { 0, 0, 0, 1, 0, IW_SCTP_PARAM_COOKIE };
	struct iw_sctp_assoc *a = s->cur.a;
	struct init_params p;
	struct iw_sctp_init i;

	if (a->state != IW_SCTP_COOKIE_WAIT ||
	    iw_wire_sctp_init_decode(&i, c->value, c->value_len) == 0)
		return;
	if (i.tag == 0) { /* 3.3.3 */
		iw_sctp_reply(s, s->cur.pkt, a->peer_port, a->my_tag, IW_SCTP_ABORT, IW_SCTP_T,
			      NULL, 0);
		iw_sctp_down(a, IW_E_FORMAT, "sctp: INIT ACK with Initiate Tag 0");
		return;
	}
	iw_sctp_params_read(&p, s, &i);
	a->peer_tag = i.tag;
	if (!acceptable(&i)) {
		iw_sctp_kill(a, IW_SCTP_CAUSE_INVALID_PARAM, NULL, 0, IW_E_FORMAT,
			     "sctp: INIT ACK with a_rwnd %u, OS %u, MIS %u", i.a_rwnd,
			     (uint32_t)i.os, (uint32_t)i.mis);
		return;
	}
	if (p.host_name) {
		iw_sctp_kill(a, IW_SCTP_CAUSE_ADDRESS, NULL, 0, IW_E_NOTSUP,
			     "sctp: the peer sent a host name as its address");
		return;
	}
	if (p.malformed) {
		iw_sctp_kill(a, IW_SCTP_CAUSE_PROTOCOL, NULL, 0, IW_E_FORMAT,
			     "sctp: INIT ACK with a malformed parameter");
		return;
	}
	if (p.cookie_len == 0) {
		iw_sctp_kill(a, IW_SCTP_CAUSE_MISSING_PARAM, no_cookie, sizeof(no_cookie),
			     IW_E_FORMAT, "sctp: INIT ACK without a State Cookie");
		return;
	}
	a->peer_has_adaptation = p.has_adaptation;
	a->peer_zero_checksum = p.zero_checksum;
	a->peer_adaptation = p.adaptation;
	if (!adaptation_fits(s, &p)) {
		iw_sctp_kill(
			a, IW_SCTP_CAUSE_USER, NULL, 0, IW_E_NOTSUP,
			p.has_adaptation
				? "sctp: the peer's adaptation indication is %x: expected %x"
				: "sctp: the peer has no adaptation indication (RFC 5043 11.1)",
			p.adaptation, s->cfg.adaptation);
		return;
	}
	if (learn_paths(a, p.peer, p.npeers) < 0)
		return; /* T1 repeats the INIT; there may be memory then */
	a->cookie = copy_of(s->cfg.mem, p.cookie, p.cookie_len);
	if (!a->cookie)
		return;
	a->cookie_len = p.cookie_len;
	a->report = copy_of(s->cfg.mem, p.report, p.report_len);
	a->report_len = a->report ? p.report_len : 0;
	a->peer_rwnd = a->peer_rwnd_max = i.a_rwnd;
	a->streams_out = IW_MIN(s->cfg.streams, i.mis);
	a->streams_in = IW_MIN(s->cfg.streams, i.os);
	iw_sctp_inq_init(&a->in, i.tsn);
	a->in.advertised = s->cfg.rwnd;
	/*
	 * 5.4: the COOKIE ECHO is sent to the address that the caller named, not to the source of
	 * the INIT ACK.
	 */
	a->from = 0;
	s->cur.path = &a->paths[0];
	iw_sctp_set_state(a, IW_SCTP_COOKIE_ECHOED);
	a->tx = TX_COOKIE_ECHO;
	a->tries = 0;
	a->setup_rto = s->cfg.times.rto_initial;
	a->setup_at = iw_time_add(s->cur.now, a->setup_rto);
	iw_sctp_touch(a);
}

void iw_sctp_on_cookie_ack(struct iw_sctp_assoc *a, uint64_t now)
{
	if (a->state == IW_SCTP_COOKIE_ECHOED)
		iw_sctp_established(a, now);
}

/* RFC 9260 5.2.6, the first of the three options: starts again with a new INIT. */
void iw_sctp_on_stale_cookie(struct iw_sctp_assoc *a)
{
	if (a->state != IW_SCTP_COOKIE_ECHOED)
		return;
	if (a->stale++ >= a->s->cfg.times.max_init_retransmits) {
		iw_sctp_down(a, IW_E_TIMEOUT, "sctp: the peer rejects every cookie as stale");
		return;
	}
	iw_sctp_forget_setup(a);
	a->peer_tag = 0;
	iw_sctp_set_state(a, IW_SCTP_COOKIE_WAIT);
	a->tx = TX_INIT;
	iw_sctp_touch(a);
}

/* --- INIT ------------------------------------------------------------------------------------- */

static void refuse_init(struct iw_sctp *s, uint32_t tag, uint16_t cause, const void *info,
			size_t len)
{
	iw_sctp_reply_cause(s, s->cur.pkt, s->cur.hdr.sport, tag, IW_SCTP_ABORT, 0, cause, info,
			    len);
}

/*
 * RFC 9260 5.2.2: writes the addresses that the association does not have, as parameters. Returns
 * the octets written.
 */
static size_t new_addresses(const struct iw_sctp_assoc *a, const struct init_params *p,
			    uint8_t *dst, size_t cap)
{
	size_t len = 0;

	for (unsigned i = 0; i < p->npeers; i++) {
		const struct iw_sctp_addr *addr = &p->peer[i];
		bool v4 = iw_sctp_addr_is_ipv4(addr);
		struct iw_sctp_param one = {
			.type = v4 ? IW_SCTP_PARAM_IPV4 : IW_SCTP_PARAM_IPV6,
			.value = addr->ip + (v4 ? 12 : 0),
			.value_len = v4 ? 4 : 16,
		};
		int n;

		if (iw_sctp_path_of(a, addr))
			continue;
		n = iw_wire_sctp_param_encode(dst + len, cap - len, &one);
		if (n > 0)
			len += (size_t)n;
	}
	return len;
}

/* Finds the association of an INIT by its source, or by any address that it lists (5.1.2 D). */
static struct iw_sctp_assoc *find_by_any(const struct iw_sctp *s, const struct iw_sctp_addr *peer,
					 unsigned npeers)
{
	for (unsigned i = 0; i < npeers; i++) {
		struct path *path = iw_sctp_by_addr(s, &peer[i], s->cur.hdr.sport);

		if (path)
			return path->a;
	}
	return NULL;
}

static void send_init_ack(struct iw_sctp *s, const struct cookie *c, const struct init_params *p,
			  uint16_t streams)
{
	uint8_t sealed[COOKIE_MAX], params[sizeof(p->report) * 2 + COOKIE_MAX + 8 + ABILITIES_LEN];
	uint8_t value[IW_SCTP_INIT_LEN + sizeof(params)];
	struct iw_sctp_param one = { .type = IW_SCTP_PARAM_COOKIE, .value = sealed };
	struct iw_sctp_init init = {
		.tag = c->my_tag,
		.a_rwnd = s->cfg.rwnd,
		.os = streams,
		.mis = streams,
		.tsn = c->my_tsn,
		.params = params,
	};
	size_t room = iw_sctp_reply_room(s, s->cur.pkt) - IW_SCTP_INIT_LEN, len, at = 0;
	struct iw_sctp_param reported;
	int n = iw_sctp_cookie_seal(s, sealed, c, s->cur.now);

	if (n < 0)
		return;
	one.value_len = (size_t)n;
	n = iw_wire_sctp_param_encode(params, sizeof(params), &one);
	if (n < 0)
		return;
	len = (size_t)n;
	n = put_abilities(s, params + len, sizeof(params) - len);
	if (n < 0)
		return;
	len += (size_t)n;
	room = IW_MIN(room, sizeof(params));
	while (at < p->report_len &&
	       (n = iw_wire_sctp_param_decode(&reported, p->report + at, p->report_len - at)) > 0) {
		one = (struct iw_sctp_param){ .type = IW_SCTP_PARAM_UNRECOGNIZED,
					      .value = p->report + at,
					      .value_len = reported.len };
		at += (size_t)n;
		n = iw_wire_sctp_param_encode(params + len, room - len, &one);
		/* Reports that do not fit are omitted: the INIT ACK must arrive. */
		if (n > 0)
			len += (size_t)n;
	}
	init.params_len = len;
	n = iw_wire_sctp_init_encode(value, sizeof(value), &init);
	if (n > 0)
		iw_sctp_reply(s, s->cur.pkt, s->cur.hdr.sport, c->peer_tag, IW_SCTP_INIT_ACK, 0,
			      value, (size_t)n);
}

/* Completes the cookie for an existing association. Returns false if no INIT ACK is to be sent. */
static bool tie(struct iw_sctp *s, struct cookie *c, struct iw_sctp_assoc *a,
		const struct init_params *p)
{
	uint8_t added[IW_SCTP_PATHS_MAX * 20];
	size_t len;

	/* 9.2: the peer's SHUTDOWN COMPLETE was lost. */
	if (a->state == IW_SCTP_SHUTDOWN_ACK_SENT) {
		a->tx |= TX_SHUTDOWN_ACK;
		iw_sctp_touch(a);
		return false;
	}
	len = new_addresses(a, p, added, sizeof(added));
	if (a->state == IW_SCTP_COOKIE_WAIT) {
		c->my_tag = a->my_tag;
		c->my_tsn = a->my_tsn;
		/* 5.2.1: the INIT ACK is sent only to an address that the user has named. */
		return iw_sctp_path_of(a, &s->cur.pkt->peer) != NULL;
	}
	if (len > 0) {
		refuse_init(s, c->peer_tag, IW_SCTP_CAUSE_RESTART_ADDRESS, added, len);
		return false;
	}
	if (a->tie_local == 0 && (random32(s, &a->tie_local) < 0 || random32(s, &a->tie_peer) < 0))
		return false;
	c->tie_local = a->tie_local;
	c->tie_peer = a->tie_peer;
	if (a->state == IW_SCTP_COOKIE_ECHOED) {
		c->my_tag = a->my_tag;
		c->my_tsn = a->my_tsn;
	}
	return true;
}

void iw_sctp_on_init(struct iw_sctp *s, const struct iw_sctp_chunk *chunk)
{
	const struct cursor *cur = &s->cur;
	struct iw_sctp_assoc *a;
	struct iw_sctp_init i;
	struct init_params p;
	struct cookie c = { 0 };
	bool collides;

	if (iw_wire_sctp_init_decode(&i, chunk->value, chunk->value_len) == 0 || i.tag == 0)
		return;
	if (!acceptable(&i)) {
		refuse_init(s, i.tag, IW_SCTP_CAUSE_INVALID_PARAM, NULL, 0);
		return;
	}
	iw_sctp_params_read(&p, s, &i);
	if (p.host_name) {
		refuse_init(s, i.tag, IW_SCTP_CAUSE_ADDRESS, NULL, 0);
		return;
	}
	if (p.malformed) {
		refuse_init(s, i.tag, IW_SCTP_CAUSE_PROTOCOL, NULL, 0);
		return;
	}
	a = find_by_any(s, p.peer, p.npeers);
	if (!a && !s->cfg.listen) {
		iw_sctp_no_listener(s, chunk);
		return;
	}
	if (!adaptation_fits(s, &p)) {
		static const char text[] = "adaptation indication";

		refuse_init(s, i.tag, IW_SCTP_CAUSE_USER, text, sizeof(text) - 1);
		return;
	}
	c.made = cur->now;
	c.peer_tag = i.tag;
	c.peer_tsn = i.tsn;
	c.peer_rwnd = i.a_rwnd;
	c.my_port = s->cfg.port;
	c.peer_port = cur->hdr.sport;
	/* RFC 5043 8: the same number of streams in both directions. */
	c.streams_out = c.streams_in = IW_MIN(s->cfg.streams, IW_MIN(i.mis, i.os));
	c.peer_has_adaptation = p.has_adaptation;
	c.peer_zero_checksum = p.zero_checksum;
	c.peer_adaptation = p.adaptation;
	c.npeers = p.npeers;
	memcpy(c.peer, p.peer, p.npeers * sizeof(p.peer[0]));
	if (a && !tie(s, &c, a, &p))
		return;
	if (c.my_tag == 0 && (new_tag(s, &c.my_tag) < 0 || random32(s, &c.my_tsn) < 0))
		return;
	/* 5.2.1: in a collision, the INIT ACK has the parameters of our own INIT. */
	collides = a && a->state < IW_SCTP_ESTABLISHED;
	send_init_ack(s, &c, &p, collides ? s->cfg.streams : c.streams_out);
}

/* --- COOKIE ECHO ------------------------------------------------------------------------------ */

static bool is_stale(const struct iw_sctp *s, const struct cookie *c)
{
	return s->cur.now - c->made > s->cfg.times.cookie_life;
}

static void answer_stale(struct iw_sctp *s, const struct cookie *c)
{
	uint64_t us = (s->cur.now - c->made - s->cfg.times.cookie_life) / 1000;
	uint8_t info[4];

	iw_put_be32(info, us > UINT32_MAX ? UINT32_MAX : (uint32_t)us);
	iw_sctp_reply_cause(s, s->cur.pkt, s->cur.hdr.sport, c->peer_tag, IW_SCTP_ERROR, 0,
			    IW_SCTP_CAUSE_STALE_COOKIE, info, sizeof(info));
}

static void take_cookie(struct iw_sctp_assoc *a, const struct cookie *c)
{
	a->peer_tag = c->peer_tag;
	a->peer_rwnd = a->peer_rwnd_max = c->peer_rwnd;
	a->streams_out = c->streams_out;
	a->streams_in = c->streams_in;
	a->peer_has_adaptation = c->peer_has_adaptation;
	a->peer_zero_checksum = c->peer_zero_checksum;
	a->peer_adaptation = c->peer_adaptation;
	/* Even an association that received no data may have an array for fragments. */
	iw_sctp_inq_fini(a);
	iw_sctp_inq_init(&a->in, c->peer_tsn);
	a->in.advertised = a->s->cfg.rwnd;
}

static bool is_from_listed(const struct cookie *c, const struct iw_sctp_packet *pkt)
{
	for (unsigned i = 0; i < c->npeers; i++)
		if (memcmp(c->peer[i].ip, pkt->peer.ip, 16) == 0)
			return true;
	return false;
}

/*
 * 5.4: the address that the INIT ACK was sent to is confirmed and is the primary path: the cookie
 * was received there. The source of the COOKIE ECHO proves nothing: it may be forged.
 */
static bool open_association(struct iw_sctp *s, const struct cookie *c)
{
	struct iw_sctp_assoc *a;

	if (!is_from_listed(c, s->cur.pkt))
		return false;
	if (!s->cfg.listen || s->count >= s->cfg.assocs_max ||
	    iw_sctp_assoc_new(&a, s, c->my_tag, c->my_tsn, c->peer, c->npeers, c->peer_port) < 0) {
		refuse_init(s, c->peer_tag, IW_SCTP_CAUSE_RESOURCE, NULL, 0);
		return false;
	}
	take_cookie(a, c);
	/*
	 * This is an address of ours even if the source is forged. A NAT drops packets from any
	 * other address of ours.
	 */
	a->local = s->cur.pkt->local;
	a->tx = TX_COOKIE_ACK;
	iw_sctp_established(a, s->cur.now);
	s->cur.a = a;
	return true;
}

/* RFC 9260 5.2.4, action A: reports the old association as ended; a listener opens a new one. */
static bool restarted(struct iw_sctp *s, struct iw_sctp_assoc *a, const struct cookie *c)
{
	/* open_association would refuse it, after the old association had ended. */
	if (!is_from_listed(c, s->cur.pkt))
		return false;
	if (a->state == IW_SCTP_SHUTDOWN_ACK_SENT) {
		a->tx |= TX_SHUTDOWN_ACK;
		iw_sctp_reply_cause(s, s->cur.pkt, s->cur.hdr.sport, c->peer_tag, IW_SCTP_ERROR, 0,
				    IW_SCTP_CAUSE_SHUTTING_DOWN, NULL, 0);
		iw_sctp_touch(a);
		return false;
	}
	iw_sctp_down(a, IW_E_CLOSED, "sctp: the peer has restarted (RFC 9260 5.2.4)");
	return open_association(s, c);
}

/* True if no DATA was received, and no message was ever queued. */
static bool is_unused(const struct iw_sctp_assoc *a)
{
	return a->count.received == 0 && !a->in.map && a->out.end == 0 && a->in.nfragments == 0;
}

/* RFC 9260 5.2.4, action B, on an established association: it stays up, with the peer's new tag. */
static void change_peer_tag(struct iw_sctp_assoc *a, const struct cookie *c)
{
	if (is_unused(a))
		take_cookie(a, c);
	a->peer_tag = c->peer_tag;
	a->tx |= TX_COOKIE_ACK;
	iw_sctp_touch(a);
}

/* Table 12 of RFC 9260 5.2.4. */
static bool cookie_for(struct iw_sctp *s, struct iw_sctp_assoc *a, const struct cookie *c)
{
	bool local = c->my_tag == a->my_tag;
	bool peer = a->peer_tag != 0 && c->peer_tag == a->peer_tag;
	bool setting_up = a->state == IW_SCTP_COOKIE_WAIT || a->state == IW_SCTP_COOKIE_ECHOED;

	if (!(local && peer) && is_stale(s, c)) {
		answer_stale(s, c);
		return false;
	}
	if (local && peer) { /* D */
		s->cur.a = a;
		a->tx |= TX_COOKIE_ACK;
		if (a->state == IW_SCTP_COOKIE_ECHOED)
			iw_sctp_established(a, s->cur.now);
		iw_sctp_touch(a);
		return true;
	}
	if (local && setting_up) { /* B */
		if (learn_paths(a, c->peer, c->npeers) < 0)
			return false;
		s->cur.a = a;
		take_cookie(a, c);
		a->tx = TX_COOKIE_ACK;
		iw_sctp_established(a, s->cur.now);
		return true;
	}
	if (local) { /* B */
		s->cur.a = a;
		change_peer_tag(a, c);
		return true;
	}
	if (!local && !peer && a->tie_local != 0 && c->tie_local == a->tie_local &&
	    c->tie_peer == a->tie_peer)
		return restarted(s, a, c); /* A */
	return false;                      /* C, and all cases that are not in the table */
}

bool iw_sctp_on_cookie_echo(struct iw_sctp *s, const struct iw_sctp_chunk *chunk)
{
	const struct iw_sctp_hdr *h = &s->cur.hdr;
	struct iw_sctp_assoc *a;
	struct cookie c;

	if (!iw_sctp_cookie_open(s, &c, chunk->value, chunk->value_len))
		return false;
	if (c.my_port != h->dport || c.peer_port != h->sport || c.my_tag != h->vtag)
		return false;
	a = iw_sctp_by_tag(s, c.my_tag);
	/* Another association may have been given the tag since the INIT ACK. */
	if (a && (a->peer_port != h->sport || !iw_sctp_path_of(a, &c.peer[0])))
		return false;
	if (!a)
		a = find_by_any(s, c.peer, c.npeers);
	if (a)
		return cookie_for(s, a, &c);
	if (is_stale(s, &c)) {
		answer_stale(s, &c);
		return false;
	}
	return open_association(s, &c);
}
