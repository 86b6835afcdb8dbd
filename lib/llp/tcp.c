// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The TCP transport. It tries the addresses of a host in turn, sends a batch with one sendmsg, and
 * closes so that nothing sent is lost.
 */
#include "llp/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "llp/stream_sock.h"
#include "os/addr.h"
#include "os/cc.h"
#include "os/os.h"
#include "os/sock.h"
#include "util/num.h"
#include "util/text.h"

#define ADDR_MAX    8       /* addresses of one host that are tried */
#define DRAIN_STEP  1048576 /* octets dropped per call when closing */
#define DRAIN_STEPS 64
#define WAIT_US     10000 /* longest wait of tcp_recv_wait */

/* The data of a pending connect; freed when it has succeeded. */
struct attempts {
	struct iw_addr addr[ADDR_MAX];
	size_t n, next;
	struct iw_addr bind[ADDR_MAX];
	size_t nbind; /* 0: any source */
	char interface[IF_NAMESIZE], cc[IW_CC_NAME];
	struct iw_sock_cfg sock;
};

/* A connection or a listener. */
struct tcp {
	struct iw_stream s;
	struct iw_addr peer;
	struct attempts *left; /* while connecting */
	bool wait_asked;       /* enable_wait was called, or must not be */
	bool waits;            /* a receive without MSG_DONTWAIT waits at most WAIT_US */
	bool gives_nodelay;    /* listener: accepted sockets have TCP_NODELAY */
	bool lent;             /* the program owns the connection: closing does not end it */
	bool delay;            /* lent, and TCP_NODELAY was off */
	uint64_t taken;        /* octets that the socket has accepted */
};

static struct tcp *tcp_of(struct iw_stream *l)
{
	return iw_container_of(l, struct tcp, s);
}

static struct tcp *tcp_alloc(struct iw_fault *why)
{
	struct tcp *t = calloc(1, sizeof(*t));

	if (!t) {
		iw_fail(why, IW_E_NOMEM, "tcp: no memory for a connection");
		return NULL;
	}
	t->s.ops = &iw_stream_tcp_ops;
	t->s.fd = -1;
	return t;
}

static void tcp_refresh(struct iw_stream *l)
{
	uint32_t emss;

	if (iw_tcp_emss(l->fd, &emss) == 0)
		l->emss = emss;
}

static void put_text(char *dst, size_t cap, const char *src)
{
	snprintf(dst, cap, "%s", src);
}

static void note_addresses(struct tcp *t, const struct iw_addr *local)
{
	char text[IW_ADDR_TEXT];

	put_text(t->s.local, sizeof(t->s.local), iw_addr_format(text, local));
	t->s.local_port = iw_addr_port(local);
	put_text(t->s.peer, sizeof(t->s.peer), iw_addr_format(text, &t->peer));
}

static void read_addresses(struct tcp *t)
{
	struct iw_addr local;

	if (iw_sock_local(t->s.fd, &local) == 0)
		note_addresses(t, &local);
}

/*
 * Makes the socket blocking with a time-out, so that tcp_recv_wait can wait. All other calls set
 * MSG_DONTWAIT. If the system refuses either setting, tcp_recv_wait does not wait. Most connections
 * never wait in their socket, so this is not part of their set-up.
 */
static void enable_wait(struct tcp *t)
{
	static const struct timeval limit = { .tv_usec = WAIT_US };

	t->wait_asked = true;
	t->waits = setsockopt(t->s.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
		   fcntl(t->s.fd, F_SETFL, 0) == 0;
}

/* --- connecting ------------------------------------------------------------------------------- */

/* Sets *out to the source address of the peer's family; NULL: any source. */
static int pick_source(const struct iw_addr **out, const struct attempts *a,
		       const struct iw_addr *peer, struct iw_fault *why)
{
	*out = NULL;
	if (a->nbind == 0)
		return 0;
	for (size_t i = 0; i < a->nbind; i++)
		if (a->bind[i].sa.sa_family == peer->sa.sa_family) {
			*out = &a->bind[i];
			return 0;
		}
	return iw_sock_other_family(why, peer, &a->bind[0]);
}

/*
 * Starts to connect to the next address for which that is possible. IW_E_AGAIN: started; else every
 * address has failed (why: the last failure).
 */
static int begin_next(struct tcp *t, struct iw_fault *why)
{
	struct attempts *a = t->left;
	int err = IW_E_NOENT;

	while (a->next < a->n) {
		const struct iw_addr *peer = &a->addr[a->next++];
		char text[IW_ADDR_TEXT];

		t->peer = *peer;
		t->s.untried = (unsigned)(a->n - a->next);
		put_text(t->s.peer, sizeof(t->s.peer), iw_addr_format(text, peer));
		err = pick_source(&a->sock.bind, a, peer, why);
		if (!err)
			err = iw_tcp_connect(&t->s.fd, peer, &a->sock, why);
		if (!err) {
			t->s.up = iw_tcp_is_connected(t->s.fd);
			return IW_E_AGAIN;
		}
	}
	return iw_stream_sock_not_again(err, why);
}

static int tcp_try_next(struct iw_stream *l, struct iw_fault *why)
{
	struct tcp *t = tcp_of(l);

	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	if (t->left->next == t->left->n)
		return iw_fail(why, IW_E_TIMEOUT, "connect to %s: no answer", l->peer);
	return begin_next(t, why);
}

static int tcp_no_answer(struct iw_stream *l, uint64_t waited, struct iw_fault *why)
{
	const struct tcp *t = tcp_of(l);
	char hint[IW_SOCK_HINT];
	bool known = iw_sock_why_silent(hint, &t->peer, t->left->sock.interface);

	return iw_fail(why, IW_E_TIMEOUT, "connect to %s: no answer to the TCP SYN within %t; %s",
		       l->peer, waited,
		       known ? hint : "is the address right, and does a firewall let TCP through?");
}

static int tcp_connected(struct iw_stream *l, struct iw_fault *why)
{
	struct tcp *t = tcp_of(l);
	struct iw_addr local;
	int err = iw_tcp_connect_result(l->fd, &t->peer, &local, why);

	if (err == IW_E_AGAIN)
		return err;
	if (err)
		return t->left->next < t->left->n ? tcp_try_next(l, why) : err;
	free(t->left);
	t->left = NULL;
	l->untried = 0;
	note_addresses(t, &local);
	tcp_refresh(l);
	return 0;
}

static void copy_sock(struct iw_sock_cfg *out, const struct iw_llp_cfg *cfg)
{
	*out = (struct iw_sock_cfg){
		.interface = cfg->interface,
		.cc = cfg->cc,
		.sndbuf = cfg->sndbuf,
		.rcvbuf = cfg->rcvbuf,
		.nodelay = true,
	};
}

/* Copies a name; NULL becomes "". IW_E_INVAL: it is too long. */
static int keep_name(char *dst, size_t cap, const char *name, const char *what,
		     struct iw_fault *why)
{
	if (name && strlen(name) >= cap)
		return iw_fail(why, IW_E_INVAL, "%s \"%s\": the name is too long", what, name);
	put_text(dst, cap, name ? name : "");
	return 0;
}

/* Resolves the target and the source, and copies the names in cfg. Errors: as open. */
static int plan_attempts(struct attempts *a, const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	int err = iw_addr_resolve(a->addr, ADDR_MAX, &a->n, cfg->host, cfg->port, why);

	if (err)
		return err;
	if (cfg->bind_addr) {
		err = iw_addr_resolve(a->bind, ADDR_MAX, &a->nbind, cfg->bind_addr, 0, why);
		if (err)
			return err;
	}
	err = keep_name(a->interface, sizeof(a->interface), cfg->interface, "interface", why);
	if (err)
		return err;
	err = keep_name(a->cc, sizeof(a->cc), cfg->cc, "congestion control", why);
	if (err)
		return err;
	copy_sock(&a->sock, cfg);
	a->sock.interface = cfg->interface ? a->interface : NULL;
	a->sock.cc = cfg->cc ? a->cc : NULL;
	return 0;
}

static int open_connecting(struct iw_stream **out, const struct iw_llp_cfg *cfg,
			   struct iw_fault *why)
{
	struct tcp *t = tcp_alloc(why);
	int err;

	if (!t)
		return IW_E_NOMEM;
	t->left = calloc(1, sizeof(*t->left));
	if (!t->left) {
		err = iw_fail(why, IW_E_NOMEM, "tcp: no memory for a connection");
		goto fail;
	}
	err = plan_attempts(t->left, cfg, why);
	if (err)
		goto fail;
	err = begin_next(t, why);
	if (err != IW_E_AGAIN)
		goto fail;
	*out = &t->s;
	return 0;
fail:
	free(t->left);
	free(t);
	return err;
}

/* --- listening -------------------------------------------------------------------------------- */

/*
 * A name may have addresses that are not this host's: the listener then uses the next one. If an
 * address is this host's but in use, the next one would be wrong: half of the clients would reach
 * the server that uses the first.
 */
static bool is_not_here(const struct iw_fault *why)
{
	return why->os_errno == EAFNOSUPPORT || why->os_errno == EADDRNOTAVAIL;
}

static int listen_on_host(int *fd, const struct iw_llp_cfg *cfg, const struct iw_sock_cfg *sock,
			  struct iw_fault *why)
{
	struct iw_addr addr[ADDR_MAX];
	struct iw_fault last = { 0 };
	size_t n = 0;
	int err;

	/* bind_addr of a listener is its address. */
	err = iw_addr_resolve(addr, ADDR_MAX, &n, cfg->bind_addr ? cfg->bind_addr : cfg->host,
			      cfg->port, why);
	if (err)
		return err;
	/* The resolver returns at least one address. */
	for (size_t i = 0; i < n; i++) {
		err = iw_tcp_listen(fd, &addr[i], (int)IW_MIN(cfg->backlog, 65535u), sock, &last);
		if (err == 0 || !is_not_here(&last))
			break;
	}
	if (err && why)
		*why = last;
	return err;
}

static int open_listening(struct iw_stream **out, const struct iw_llp_cfg *cfg,
			  struct iw_fault *why)
{
	char text[IW_ADDR_TEXT];
	struct iw_sock_cfg sock;
	struct iw_addr local;
	struct tcp *t = tcp_alloc(why);
	int err;

	if (!t)
		return IW_E_NOMEM;
	copy_sock(&sock, cfg);
	err = cfg->listen_fd ? iw_tcp_listen_on(&t->s.fd, cfg->listen_fd, &sock, why)
			     : listen_on_host(&t->s.fd, cfg, &sock, why);
	if (err)
		goto fail;
	if (iw_sock_local(t->s.fd, &local) != 0) {
		err = iw_os_fail(why, errno, "read the listener's address");
		goto fail;
	}
	t->s.local_port = iw_addr_port(&local);
	put_text(t->s.local, sizeof(t->s.local), iw_addr_format(text, &local));
	*out = &t->s;
	return 0;
fail:
	if (t->s.fd >= 0)
		close(t->s.fd);
	free(t);
	return err;
}

static int tcp_open(struct iw_stream **out, const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	return cfg->listen ? open_listening(out, cfg, why) : open_connecting(out, cfg, why);
}

static int sock_option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	return getsockopt(fd, level, name, &value, &len) == 0 ? value : -1;
}

/*
 * Linux copies the option from the listener, but no document guarantees that: the first accepted
 * socket shows it.
 */
static int ensure_nodelay(struct tcp *listener, int fd, struct iw_fault *why)
{
	if (listener->gives_nodelay)
		return 0;
	listener->gives_nodelay = sock_option(fd, IPPROTO_TCP, TCP_NODELAY) > 0;
	if (listener->gives_nodelay || iw_tcp_nodelay(fd, true) == 0)
		return 0;
	return iw_os_fail(why, errno, "set TCP_NODELAY");
}

static int tcp_accept(struct iw_stream *l, struct iw_stream **out, struct iw_fault *why)
{
	struct tcp *t;
	int err;

	/*
	 * Allocate first: a connection taken from the queue must not be dropped for lack of memory.
	 */
	t = tcp_alloc(why);
	if (!t)
		return IW_E_LIMIT;
	err = iw_tcp_accept(&t->s.fd, &t->peer, l->fd, why);
	if (err) {
		free(t);
		/* As for descriptors: the connection stays in the queue until memory is freed. */
		return err == IW_E_NOMEM ? IW_E_LIMIT : err;
	}
	err = ensure_nodelay(tcp_of(l), t->s.fd, why);
	if (err) {
		close(t->s.fd);
		free(t);
		return err;
	}
	read_addresses(t);
	tcp_refresh(&t->s);
	*out = &t->s;
	return 0;
}

/* --- adopting --------------------------------------------------------------------------------- */

/*
 * Makes t a stream of the program's connection. Errors: as iw_stream_adopt. The flags of the
 * socket are shared with the program, so each call sets MSG_DONTWAIT instead.
 */
static int adopt(struct tcp *t, int fd, struct iw_fault *why)
{
	t->peer.len = sizeof(t->peer.in6);
	if (sock_option(fd, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_TCP ||
	    getpeername(fd, &t->peer.sa, &t->peer.len) != 0)
		return iw_fail(why, IW_E_INVAL,
			       "adopt: descriptor %u: not a connected TCP or Unix stream socket",
			       (uint32_t)fd);
	t->s.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (t->s.fd < 0)
		return iw_os_fail(why, errno, "duplicate a socket");
	t->lent = true;
	t->wait_asked = true;
	t->delay = sock_option(fd, IPPROTO_TCP, TCP_NODELAY) == 0;
	if (iw_tcp_nodelay(t->s.fd, true) != 0)
		return iw_os_fail(why, errno, "set TCP_NODELAY");
	return 0;
}

int iw_stream_sock_adopt_tcp(struct iw_stream **out, int fd, struct iw_fault *why)
{
	struct tcp *t = tcp_alloc(why);
	int err;

	if (!t)
		return IW_E_NOMEM;
	err = adopt(t, fd, why);
	if (err) {
		t->s.ops->close(&t->s, false);
		return err;
	}
	read_addresses(t);
	tcp_refresh(&t->s);
	*out = &t->s;
	return 0;
}

static void tcp_keep(struct iw_stream *l)
{
	tcp_of(l)->lent = false;
}

/* --- octets ----------------------------------------------------------------------------------- */

static int64_t tcp_recv_wait(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			     struct iw_fault *why)
{
	struct tcp *t = tcp_of(l);

	if (!t->wait_asked)
		enable_wait(t);
	return iw_stream_sock_recv_wait(l, vec, nvec, t->waits ? 0 : MSG_DONTWAIT, why);
}

static int64_t tcp_send(struct iw_stream *l, const struct iw_vec *vec, size_t nvec, bool eor,
			struct iw_fault *why)
{
	int64_t put = iw_stream_sock_send(l, vec, nvec, eor ? MSG_EOR : 0, why);

	if (put > 0)
		tcp_of(l)->taken += (uint64_t)put;
	return put;
}

static uint64_t tcp_unacked(struct iw_stream *l)
{
	return iw_tcp_unacked(l->fd);
}

static int tcp_hold_short(struct iw_stream *l, bool on, struct iw_fault *why)
{
	const int value = on;

	if (setsockopt(l->fd, IPPROTO_TCP, TCP_CORK, &value, sizeof(value)) == 0)
		return 0;
	return iw_os_fail(why, errno, "set TCP_CORK");
}

static int tcp_set_cc(struct iw_stream *l, const char *name, struct iw_fault *why)
{
	return iw_tcp_set_cc(l->fd, name, why);
}

static void tcp_facts(struct iw_stream *l, struct iw_llp_facts *out)
{
	uint64_t taken = tcp_of(l)->taken, unacked;
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	_Static_assert(sizeof(out->cc) == IW_CC_NAME, "a name of congestion control");
	*out = (struct iw_llp_facts){ 0 };
	if (iw_tcp_cc(l->fd, out->cc) != 0)
		out->cc[0] = '\0';
	if (getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
		out->retransmits = info.tcpi_total_retrans;
	unacked = iw_tcp_unacked(l->fd);
	out->acked = taken - IW_MIN(taken, unacked);
}

static bool tcp_sample(struct iw_stream *l, struct iw_stream_sample *out)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	uint64_t mss;

	if (getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
		return false;
	mss = info.tcpi_snd_mss;
	*out = (struct iw_stream_sample){
		.cwnd = info.tcpi_snd_cwnd * mss,
		/* The kernel's "arbitrarily high" is 2^31 - 1 segments. */
		.ssthresh = IW_MIN(info.tcpi_snd_ssthresh * mss, (uint64_t)UINT32_MAX),
		.flight = info.tcpi_unacked * mss,
		.retransmits = info.tcpi_total_retrans,
		.srtt = info.tcpi_rtt * (uint64_t)1000,
		.rttvar = info.tcpi_rttvar * (uint64_t)1000,
		.rto = info.tcpi_rto * (uint64_t)1000,
	};
	return true;
}

/*
 * With unread octets, close() sends a reset, and a reset destroys what the peer has not read yet,
 * for example a Terminate. So this drops unread octets first, with a bounded number of calls.
 */
static void drain(int fd)
{
	for (int i = 0; i < DRAIN_STEPS; i++)
		if (recv(fd, NULL, DRAIN_STEP, MSG_TRUNC | MSG_DONTWAIT) <= 0)
			return;
}

static void tcp_close(struct iw_stream *l, bool abort)
{
	static const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
	struct tcp *t = tcp_of(l);

	if (l->fd >= 0 && t->lent) {
		if (t->delay)
			(void)!iw_tcp_nodelay(l->fd, false);
		close(l->fd);
	} else if (l->fd >= 0) {
		/*
		 * Without SO_LINGER the kernel continues to send its queue to a peer that may never
		 * read it. If setting it fails, the close is still correct.
		 */
		if (abort)
			(void)setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		else if (!l->at_end)
			drain(l->fd);
		close(l->fd);
	}
	free(t->left);
	free(t);
}

const struct iw_stream_ops iw_stream_tcp_ops = {
	.name = "tcp",
	.open = tcp_open,
	.accept = tcp_accept,
	.recv = iw_stream_sock_recv,
	.recv_wait = tcp_recv_wait,
	.send = tcp_send,
	.hold_short = tcp_hold_short,
	.unacked = tcp_unacked,
	.keep = tcp_keep,
	.shutdown = iw_stream_sock_shutdown,
	.refresh = tcp_refresh,
	.connected = tcp_connected,
	.try_next = tcp_try_next,
	.no_answer = tcp_no_answer,
	.set_cc = tcp_set_cc,
	.facts = tcp_facts,
	.sample = tcp_sample,
	.close = tcp_close,
};
