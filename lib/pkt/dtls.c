// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SCTP packets in DTLS in UDP (RFC 8261): a carrier around the carrier "udp". Each packet is one
 * record, each record one datagram. A run of packets becomes a run of datagrams of one size, which
 * one call sends with segmentation offload.
 *
 * An initiator begins the handshake with its first packet, an INIT, and sends that packet when the
 * session is established. A listener answers a ClientHello without a valid cookie without state.
 * There is no session without a handshake that the peer has begun, or this end.
 */
#include "pkt/pkt.h"

#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "pkt/dtls_table.h"
#include "pkt/internal.h"
#include "util/num.h"
#include "util/text.h"

#define PLAIN_LEN  (IW_PKT_BATCH * 65536) /* octets: a batch, decrypted */
#define SEALED_LEN (IW_PKT_MAX + IW_PKT_SEGS_MAX * IW_DTLS_MORE)

struct dtls {
	struct iw_pkt pkt;
	struct iw_pkt *udp;
	struct iw_tls *tls;
	struct iw_dtls_listener *listener; /* NULL: an initiator */
	char *name;                        /* initiator: that of the peer's certificate, or NULL */
	struct iw_pkt_sessions sessions;
	uint64_t resend_at; /* the earliest retransmission of a handshake, or before it */
	uint64_t now;       /* of the current receive */
	struct iw_pkt_rx raw[IW_PKT_BATCH];
	uint8_t *plain; /* PLAIN_LEN octets */
	/* The encrypted run that the socket has not accepted; sealed_len 0: none. */
	uint8_t *sealed;
	size_t sealed_len, sealed_seg;
	struct iw_pkt_error gone; /* listener: the last packet to a peer without a session */
	bool has_gone;
};

static struct dtls *dtls_of(struct iw_pkt *c)
{
	return iw_container_of(c, struct dtls, pkt);
}

static void copy_counters(struct dtls *d)
{
	d->pkt.sends = d->udp->sends;
	d->pkt.recvs = d->udp->recvs;
}

/* --- open ------------------------------------------------------------------------------------- */

static const struct iw_pkt_ops dtls_ops;

static int allocate(struct dtls *d, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	int err = iw_pkt_sessions_init(&d->sessions);

	if (err == IW_E_OS)
		return iw_fail(why, err, "udp: no random numbers");
	d->plain = malloc(PLAIN_LEN);
	d->sealed = malloc(SEALED_LEN);
	if (cfg->tls_name)
		d->name = strdup(cfg->tls_name);
	if (err || !d->plain || !d->sealed || (cfg->tls_name && !d->name))
		return iw_fail(why, IW_E_NOMEM, "udp: no memory");
	return 0;
}

static int open_below(struct dtls *d, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	/* The largest IPv4 packet whose SCTP packet fits into a record. */
	const uint32_t most = 20 + 8 + IW_DTLS_MORE + IW_DTLS_PLAIN_MAX;
	struct iw_pkt_cfg plain = *cfg;
	int err;

	plain.tls = NULL;
	err = iw_pkt_udp_ops.open(&d->udp, &plain, why);
	if (err)
		return err;
	d->pkt.fd = d->udp->fd;
	d->pkt.udp_port = d->udp->udp_port;
	d->pkt.seg_max = d->udp->seg_max;
	d->pkt.mtu = IW_MIN(d->udp->mtu, most);
	d->pkt.rcvbuf = d->udp->rcvbuf;
	d->pkt.overhead = IW_DTLS_MORE;
	return 0;
}

int iw_pkt_dtls_open(struct iw_pkt **out, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	struct dtls *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return iw_fail(why, IW_E_NOMEM, "udp: no memory");
	d->pkt.ops = &dtls_ops;
	d->pkt.fd = -1;
	d->resend_at = IW_TIME_NEVER;
	d->tls = iw_tls_creds_get(cfg->tls);
	err = allocate(d, cfg, why);
	/* Only an initiator has a peer. */
	if (!err && cfg->peer.len == 0)
		err = iw_dtls_listener_new(&d->listener, d->tls, why);
	if (!err)
		err = open_below(d, cfg, why);
	if (err) {
		dtls_ops.close(&d->pkt);
		return err;
	}
	*out = &d->pkt;
	return 0;
}

/* --- the handshake ---------------------------------------------------------------------------- */

/* Sends one datagram of a handshake. If it is lost, it is retransmitted. */
static void send_alone(struct dtls *d, const struct iw_addr *peer, const struct iw_addr *local,
		       const uint8_t *data, size_t len)
{
	/* The path MTU is not known yet, so the datagram may be fragmented. */
	const struct iw_pkt_tx tx = { .peer = *peer,
				      .local = *local,
				      .data = data,
				      .len = len,
				      .seg = len,
				      .fragment = true };
	unsigned begun = d->udp->begun;
	uint32_t mtu;

	/* A run that the socket has accepted in part is continued afterwards. */
	d->udp->begun = 0;
	(void)!d->udp->ops->send(d->udp, &tx, &mtu);
	d->udp->begun = begun;
}

/* Sends what the session has to send, apart from packets, and notes when it retransmits. */
static void pump(struct dtls *d, struct iw_pkt_session *s)
{
	uint8_t out[IW_DTLS_HELLO];
	size_t len;

	while ((len = iw_dtls_next(s->dtls, out)) > 0)
		send_alone(d, &s->peer, &s->local, out, len);
	if (s->state == IW_PKT_SESSION_NEW)
		d->resend_at = IW_MIN(d->resend_at, iw_dtls_deadline(s->dtls, iw_os_now()));
}

/* Ends the session. An initiator has no other one, so that its carrier has failed. */
static void end(struct dtls *d, struct iw_pkt_session *s, const struct iw_fault *why)
{
	pump(d, s);
	iw_pkt_session_free(&d->sessions, s);
	if (!d->listener && !d->pkt.failed.err)
		d->pkt.failed = *why;
}

static void send_kept(struct dtls *d, struct iw_pkt_session *s)
{
	uint8_t out[IW_PKT_MAX + IW_DTLS_MORE];
	int64_t n;

	if (!s->kept)
		return;
	n = iw_dtls_seal(s->dtls, out, sizeof(out), s->kept, s->kept_len);
	if (n > 0)
		send_alone(d, &s->peer, &s->local, out, (size_t)n);
	free(s->kept);
	s->kept = NULL;
}

/* Continues the handshake of s. False: it has failed, and s is freed. */
static bool advance(struct dtls *d, struct iw_pkt_session *s)
{
	struct iw_fault why = { 0 };
	int err = iw_dtls_handshake(s->dtls, &why);

	if (err && err != IW_E_AGAIN) {
		end(d, s, &why);
		return false;
	}
	pump(d, s);
	if (!err && s->state == IW_PKT_SESSION_NEW) {
		iw_pkt_session_move(&d->sessions, s, IW_PKT_SESSION_IDLE, d->now);
		send_kept(d, s);
	}
	return true;
}

/* Initiator: keeps the packet, if it is one, until the session is established. */
static void keep(struct iw_pkt_session *s, const struct iw_pkt_tx *tx)
{
	uint8_t *copy = tx->len == tx->seg ? malloc(tx->len) : NULL;

	if (!copy)
		return;
	memcpy(copy, tx->data, tx->len);
	free(s->kept);
	s->kept = copy;
	s->kept_len = tx->len;
}

/* Initiator: forgets the addresses of the host that were tried before. */
static void forget_others(struct dtls *d)
{
	struct iw_list *n;

	while ((n = iw_list_first(&d->sessions.list[IW_PKT_SESSION_NEW])))
		iw_pkt_session_free(&d->sessions, iw_container_of(n, struct iw_pkt_session, order));
}

/* Initiator: begins the session with tx->peer, or waits for it. */
static void begin(struct dtls *d, const struct iw_pkt_tx *tx)
{
	struct iw_pkt_session *s = iw_pkt_session_find(&d->sessions, &tx->peer, false);
	struct iw_dtls *fresh;

	if (s) {
		keep(s, tx);
		return;
	}
	if (d->pkt.failed.err || iw_dtls_connect(&fresh, d->tls, d->name, &d->pkt.failed) != 0)
		return;
	forget_others(d);
	d->now = iw_os_now();
	s = iw_pkt_session_new(&d->sessions, &tx->peer, fresh, d->now);
	if (!s)
		return;
	s->local = tx->local;
	keep(s, tx);
	(void)advance(d, s);
}

/* Returns the octets of key that identify the peer to the cookie. */
static size_t put_key(uint8_t key[IW_DTLS_KEY], const struct iw_addr *peer)
{
	uint16_t port = iw_addr_port(peer);

	memset(key, 0, IW_DTLS_KEY);
	memcpy(key, &port, 2);
	if (peer->sa.sa_family == AF_INET) {
		memcpy(key + 2, &peer->in.sin_addr, 4);
		return 6;
	}
	memcpy(key + 2, &peer->in6.sin6_addr, 16);
	memcpy(key + 18, &peer->in6.sin6_scope_id, 4);
	return 22;
}

/* Listener: answers a ClientHello, or makes the session that it begins. */
static void greet(struct dtls *d, const struct iw_pkt_rx *rx, const uint8_t *hello,
		  const uint8_t *data, size_t len)
{
	struct iw_pkt_session *s = iw_pkt_session_find(&d->sessions, &rx->peer, false);
	uint8_t key[IW_DTLS_KEY], reply[IW_DTLS_HELLO];
	struct iw_dtls *fresh;
	size_t reply_len;
	int err;

	err = iw_dtls_accept(&fresh, d->listener, key, put_key(key, &rx->peer), data, len, reply,
			     &reply_len, d->now);
	if (reply_len > 0)
		send_alone(d, &rx->peer, &rx->local, reply, reply_len);
	if (err)
		return;
	if (!iw_pkt_sessions_make_room(&d->sessions, d->now)) {
		iw_dtls_free(fresh);
		return;
	}
	if (s) /* of a peer that has restarted during its handshake */
		iw_pkt_session_free(&d->sessions, s);
	s = iw_pkt_session_new(&d->sessions, &rx->peer, fresh, d->now);
	if (!s)
		return;
	s->local = rx->local;
	memcpy(s->hello, hello, IW_DTLS_RANDOM);
	(void)advance(d, s);
}

static bool is_hello_of(const struct iw_pkt_session *s, const uint8_t *hello)
{
	return s && memcmp(s->hello, hello, IW_DTLS_RANDOM) == 0;
}

/*
 * Returns the session of a datagram, or NULL: it is processed or dropped. A ClientHello of a peer
 * with an established session is answered too, but the session is replaced only when the new one is
 * established: the ClientHello may be forged or repeated (RFC 6347 4.2.8).
 */
static struct iw_pkt_session *session_for(struct dtls *d, const struct iw_pkt_rx *rx,
					  const uint8_t *data, size_t len)
{
	struct iw_pkt_session *live = iw_pkt_session_find(&d->sessions, &rx->peer, true);
	struct iw_pkt_session *young = iw_pkt_session_find(&d->sessions, &rx->peer, false);
	const uint8_t *hello = iw_dtls_hello(data, len);

	if (!hello)
		return young && (!live || data[0] != IW_DTLS_APPLICATION) ? young : live;
	if (!d->listener || is_hello_of(young, hello))
		return young;
	if (!is_hello_of(live, hello))
		greet(d, rx, hello, data, len);
	return NULL;
}

/* --- in --------------------------------------------------------------------------------------- */

/* The decrypted batch. */
struct filler {
	struct iw_pkt_rx *rx;
	int n;
	const struct iw_pkt_rx *run; /* the received run of rx[n - 1] */
	size_t at;                   /* octets of the plain buffer in use */
};

/* Adds len octets, decrypted at d->plain + f->at, to the run, or begins the next one. */
static void add(struct dtls *d, struct filler *f, const struct iw_pkt_rx *run, size_t len)
{
	struct iw_pkt_rx *r = &f->rx[f->n - 1];

	if (f->n > 0 && f->run == run && len <= r->seg && r->len % r->seg == 0) {
		r->len += len;
	} else if (f->n < IW_PKT_BATCH) {
		r = &f->rx[f->n++];
		*r = (struct iw_pkt_rx){ .peer = run->peer,
					 .local = run->local,
					 .data = d->plain + f->at,
					 .len = len,
					 .seg = len };
		f->run = run;
	} else {
		return; /* dropped: only a peer that packs many records in a datagram comes here */
	}
	f->at += len;
}

/* Processes a datagram with its session. False: the session is freed. */
static bool process(struct dtls *d, struct filler *f, struct iw_pkt_session *s,
		    const struct iw_pkt_rx *run, const uint8_t *data, size_t len)
{
	struct iw_fault why = { 0 };
	int64_t n;

	do {
		if (PLAIN_LEN - f->at < IW_DTLS_PLAIN_MAX)
			return true;
		n = iw_dtls_input(s->dtls, data, len, d->plain + f->at, PLAIN_LEN - f->at, &why);
		len = 0;
		if (iw_likely(n > 0))
			add(d, f, run, (size_t)n);
	} while (n > 0 && iw_dtls_pending(s->dtls));
	if (n < 0) {
		end(d, s, &why);
		return false;
	}
	if (iw_unlikely(s->state == IW_PKT_SESSION_NEW))
		return advance(d, s);
	if (n == 0) /* perhaps a flight that the peer did not receive */
		pump(d, s);
	return true;
}

static void decrypt_run(struct dtls *d, struct filler *f, const struct iw_pkt_rx *run)
{
	struct iw_pkt_session *s = d->sessions.last;
	size_t len, before = f->at;

	if (s && !iw_addr_equal(&s->peer, &run->peer))
		s = NULL;
	for (size_t at = 0; at < run->len; at += len) {
		const uint8_t *data = run->data + at;

		len = IW_MIN(run->seg, run->len - at);
		if (!s || data[0] != IW_DTLS_APPLICATION)
			s = session_for(d, run, data, len);
		if (s && !process(d, f, s, run, data, len))
			s = NULL;
		if (s && s->state == IW_PKT_SESSION_NEW)
			s = NULL;
	}
	if (!s)
		return;
	d->sessions.last = s;
	s->local = run->local;
	if (f->at > before)
		iw_pkt_session_move(&d->sessions, s, IW_PKT_SESSION_USED, d->now);
}

/* Decrypts n received runs. Returns the number of runs of packets. */
static int decrypt(struct dtls *d, struct iw_pkt_rx *rx, int n)
{
	struct filler f = { .rx = rx };

	copy_counters(d);
	if (n <= 0)
		return n;
	d->now = iw_os_now();
	for (int i = 0; i < n; i++)
		if (d->raw[i].len > 0)
			decrypt_run(d, &f, &d->raw[i]);
	copy_counters(d);
	return f.n;
}

static int dtls_recv(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
		     struct iw_fault *why)
{
	struct dtls *d = dtls_of(c);

	return decrypt(d, rx, d->udp->ops->recv(d->udp, d->raw, why));
}

static int dtls_recv_wait(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
			  struct iw_fault *why)
{
	struct dtls *d = dtls_of(c);

	return decrypt(d, rx, d->udp->ops->recv_wait(d->udp, d->raw, why));
}

static void quote(struct iw_pkt_error *e, const uint8_t *packet, size_t len)
{
	e->len = IW_MIN(len, sizeof(e->head));
	memcpy(e->head, packet, e->len);
}

/*
 * Listener: SCTP sends to a peer whose session has ended, so the association cannot continue. It
 * ends as if ICMP had reported that the peer does not process SCTP (RFC 9260 10, ICMP8).
 */
static void note_gone(struct dtls *d, const struct iw_pkt_tx *tx)
{
	d->gone = (struct iw_pkt_error){ .peer = tx->peer, .kind = IW_PKT_NO_PROTOCOL };
	quote(&d->gone, tx->data, IW_MIN(tx->len, tx->seg));
	d->has_gone = true;
}

/*
 * What ICMP quotes is encrypted, and SCTP cannot prove that it is a packet of its own. So SCTP does
 * not rely on ICMP (RFC 8261 6.1), and finds the path MTU by probing (4). Only one report is passed
 * on: nothing listens on the port of the peer, for the packet that waits for the handshake. Packets
 * that this host rejects are reported by send().
 */
static bool dtls_next_error(struct iw_pkt *c, struct iw_pkt_error *out)
{
	struct dtls *d = dtls_of(c);

	if (d->has_gone) {
		*out = d->gone;
		d->has_gone = false;
		return true;
	}
	while (d->udp->ops->next_error(d->udp, out)) {
		const struct iw_pkt_session *s =
			iw_pkt_session_find(&d->sessions, &out->peer, false);

		if (out->kind != IW_PKT_NO_PROTOCOL || !s || !s->kept)
			continue;
		quote(out, s->kept, s->kept_len);
		return true;
	}
	return false;
}

/* --- out -------------------------------------------------------------------------------------- */

/* Encrypts a run. False: the session has ended. */
static bool seal(struct dtls *d, struct iw_pkt_session *s, const struct iw_pkt_tx *tx)
{
	struct iw_fault why = { 0 };
	size_t to = 0, len;

	for (size_t at = 0; at < tx->len; at += len) {
		int64_t n;

		len = IW_MIN(tx->seg, tx->len - at);
		n = iw_dtls_seal(s->dtls, d->sealed + to, SEALED_LEN - to, tx->data + at, len);
		if (n <= 0) {
			iw_fail(&why, IW_E_TLS,
				"the key of the session has reached its limit (RFC 9147 4.5.3): "
				"connect again");
			iw_dtls_close(s->dtls);
			end(d, s, &why);
			return false;
		}
		if (at == 0)
			d->sealed_seg = (size_t)n;
		to += (size_t)n;
	}
	d->sealed_len = to;
	return true;
}

static int dtls_send(struct iw_pkt *c, const struct iw_pkt_tx *tx, uint32_t *mtu)
{
	struct dtls *d = dtls_of(c);
	struct iw_pkt_tx run = *tx;
	struct iw_pkt_session *s;
	int err;

	if (tx->seg > IW_DTLS_PLAIN_MAX) {
		*mtu = d->pkt.mtu;
		return IW_E_LIMIT;
	}
	/* A record must not be encrypted twice: its number is part of the nonce. */
	if (d->sealed_len == 0) {
		s = d->sessions.last;
		if (!s || s->state == IW_PKT_SESSION_NEW || !iw_addr_equal(&s->peer, &tx->peer))
			s = iw_pkt_session_find(&d->sessions, &tx->peer, true);
		if (!s && d->listener)
			note_gone(d, tx);
		else if (!s)
			begin(d, tx);
		if (!s || !seal(d, s, tx))
			return 0;
		d->sessions.last = s;
	}
	run.data = d->sealed;
	run.len = d->sealed_len;
	run.seg = d->sealed_seg;
	err = d->udp->ops->send(d->udp, &run, mtu);
	if (err != IW_E_AGAIN)
		d->sealed_len = 0;
	copy_counters(d);
	return err;
}

/* --- time, end -------------------------------------------------------------------------------- */

static uint64_t dtls_deadline(struct iw_pkt *c)
{
	struct dtls *d = dtls_of(c);
	uint64_t expires = d->listener ? iw_pkt_sessions_deadline(&d->sessions) : IW_TIME_NEVER;

	return IW_MIN(expires, d->resend_at);
}

static void resend(struct dtls *d, uint64_t now)
{
	struct iw_list *all = &d->sessions.list[IW_PKT_SESSION_NEW], *next;

	d->resend_at = IW_TIME_NEVER;
	for (struct iw_list *n = all->next; n != all; n = next) {
		struct iw_pkt_session *s = iw_container_of(n, struct iw_pkt_session, order);
		struct iw_fault why = { 0 };

		next = n->next;
		if (iw_dtls_deadline(s->dtls, now) > now || iw_dtls_timeout(s->dtls, &why) == 0)
			pump(d, s);
		else
			end(d, s, &why);
	}
}

static void dtls_timeout(struct iw_pkt *c, uint64_t now)
{
	struct dtls *d = dtls_of(c);

	d->now = now;
	if (d->listener)
		iw_pkt_sessions_expire(&d->sessions, now);
	if (now >= d->resend_at)
		resend(d, now);
	copy_counters(d);
}

static bool dtls_info(struct iw_pkt *c, const struct iw_addr *peer, struct iw_tls_info *out)
{
	const struct iw_pkt_session *s = iw_pkt_session_find(&dtls_of(c)->sessions, peer, true);

	return s && iw_dtls_info(s->dtls, out);
}

static void close_sessions(struct dtls *d)
{
	for (int i = IW_PKT_SESSION_IDLE; i <= IW_PKT_SESSION_USED; i++) {
		struct iw_list *all = &d->sessions.list[i];

		for (struct iw_list *n = all->next; n != all; n = n->next) {
			struct iw_pkt_session *s = iw_container_of(n, struct iw_pkt_session, order);

			iw_dtls_close(s->dtls);
			pump(d, s);
		}
	}
}

static void dtls_close(struct iw_pkt *c)
{
	struct dtls *d = dtls_of(c);

	if (d->udp) {
		close_sessions(d);
		d->udp->ops->close(d->udp);
	}
	if (d->sessions.bucket)
		iw_pkt_sessions_fini(&d->sessions);
	iw_dtls_listener_free(d->listener);
	iw_tls_creds_put(d->tls);
	free(d->name);
	free(d->plain);
	free(d->sealed);
	free(d);
}

static const struct iw_pkt_ops dtls_ops = {
	.name = "udp",
	.recv = dtls_recv,
	.recv_wait = dtls_recv_wait,
	.send = dtls_send,
	.next_error = dtls_next_error,
	.deadline = dtls_deadline,
	.timeout = dtls_timeout,
	.tls_info = dtls_info,
	.close = dtls_close,
};
