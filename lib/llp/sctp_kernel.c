// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The port of kernel SCTP: one-to-one sockets (RFC 6458), a listener and one for each association.
 * One epoll descriptor covers all of them. Messages are unordered and unfragmented. The kernel
 * reports acknowledgements only when all messages are acknowledged (the sender dry event, 6.1.9).
 */
#include "llp/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "llp/internal.h"
#include "llp/sctp_kernel.h"
#include "os/os.h"
#include "os/probe.h"
#include "os/sock.h"
#include "util/num.h"
#include "util/text.h"

#define PEER_ADDRS 64 /* addresses of one peer that are reported */
/* Room for a SACK beside a chunk (RFC 5043 9). */
#define SACK_ROOM  16

void iw_port_kernel_queue_event(struct kport *k, struct kassoc *x, unsigned what)
{
	x->pending |= what;
	if (iw_list_empty(&x->events))
		iw_list_add_tail(&k->events, &x->events);
}

/* --- open ------------------------------------------------------------------------------------- */

static int kernel_available(struct iw_fault *why)
{
	struct iw_fault no;
	int err = iw_os_probe_sctp(&no);

	return err ? iw_fail(why, err, "transport sctp: %s", no.text) : 0;
}

static int kernel_look(struct iw_fault *why)
{
	struct iw_fault found;
	int err = iw_os_look_sctp(&found);

	if (err)
		(void)iw_fail(why, err < 0 ? err : 0, "transport sctp: %s", found.text);
	return err;
}

static int open_listener(struct kport *k, const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	struct iw_addr addr[ADDR_MAX], local;
	char text[IW_ADDR_TEXT];
	uint64_t nofile;
	const int on = 1;
	size_t n = 0;
	int err, errnum;

	err = iw_addr_resolve(addr, ADDR_MAX, &n, cfg->bind_addr ? cfg->bind_addr : cfg->host,
			      cfg->port, why);
	if (!err)
		err = iw_port_kernel_new_socket(&k->listener, k, addr[0].sa.sa_family, why);
	if (!err)
		err = iw_sock_check_interface(&addr[0], cfg->interface, why);
	if (err)
		return err;
	(void)setsockopt(k->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(k->listener, &addr[0].sa, addr[0].len) < 0 ||
	    listen(k->listener, (int)IW_MIN(cfg->backlog, 65535u)) < 0) {
		errnum = errno;
		err = iw_os_fail(why, errnum, "listen on %s (-t sctp)",
				 iw_addr_format(text, &addr[0]));
		iw_sock_add_hint(why, iw_sock_listen_hint(errnum, cfg->port));
		return err;
	}
	if (iw_sock_local(k->listener, &local) != 0)
		return iw_os_fail(why, errno, "sctp: read the listener's address");
	k->port.local_port = iw_addr_port(&local);
	snprintf(k->port.local, sizeof(k->port.local), "%s", iw_addr_format(text, &local));
	if (iw_port_kernel_watch(k, k->listener, NULL, EPOLLIN, true) < 0)
		return iw_os_fail(why, errno, "sctp: watch the listener");
	iw_os_nofile(&nofile, NULL);
	k->port.unused_max = (uint32_t)IW_MIN(IW_MAX(nofile / 8 * 3, 1), UINT32_MAX);
	return 0;
}

static int plan(struct kport *k, const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	struct iw_addr bind[ADDR_MAX];
	size_t n = 0;
	int err = iw_addr_resolve(k->target, ADDR_MAX, &k->ntargets, cfg->host, cfg->port, why);

	if (err || !cfg->bind_addr)
		return err;
	err = iw_addr_resolve(bind, ADDR_MAX, &n, cfg->bind_addr, 0, why);
	if (!err)
		k->bind = bind[0];
	return err;
}

static void kernel_close(struct iw_port *p);

static int kernel_open(struct iw_port **out, const struct iw_port_cfg *cfg, struct iw_fault *why)
{
	struct kport *k;
	int err = kernel_available(why);

	if (err)
		return err;
	k = calloc(1, sizeof(*k));
	if (!k)
		return iw_fail(why, IW_E_NOMEM, "sctp: no memory");
	k->port.ops = &iw_port_sctp_ops;
	k->port.all_acked_only = true;
	k->cfg = *cfg;
	k->listener = -1;
	iw_list_init(&k->assocs);
	iw_list_init(&k->ready);
	iw_list_init(&k->events);
	if (cfg->llp.interface)
		snprintf(k->interface, sizeof(k->interface), "%s", cfg->llp.interface);
	k->buf = malloc(BUF_LEN);
	k->port.fd = epoll_create1(EPOLL_CLOEXEC);
	if (!k->buf || k->port.fd < 0)
		err = iw_os_fail(why, k->buf ? errno : ENOMEM, "sctp: create a port");
	if (!err)
		err = cfg->llp.listen ? open_listener(k, &cfg->llp, why) : plan(k, &cfg->llp, why);
	k->cfg.llp.host = k->cfg.llp.bind_addr = k->cfg.llp.interface = k->cfg.llp.cc = NULL;
	if (!err && cfg->llp.cc)
		err = iw_fail(
			why, IW_E_NOTSUP,
			"sctp: the kernel's SCTP has only one congestion control: leave the choice out");
	if (err) {
		kernel_close(&k->port);
		return err;
	}
	*out = &k->port;
	return 0;
}

/* --- associations ----------------------------------------------------------------------------- */

static struct kassoc *assoc_new(struct kport *k, int fd)
{
	struct kassoc *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->assoc.port = &k->port;
	x->fd = fd;
	iw_list_init(&x->ready);
	iw_list_init(&x->events);
	iw_list_add_tail(&k->assocs, &x->all);
	return x;
}

static void shut_socket(struct kassoc *x)
{
	if (x->fd >= 0)
		close(x->fd);
	x->fd = -1;
	x->armed = 0;
}

void iw_port_kernel_release(struct iw_assoc *a)
{
	struct kassoc *x = assoc_of(a);
	struct kport *k = port_of(a->port);

	if (k->last == x) {
		k->last = NULL;
		k->stashed = false;
	}
	shut_socket(x);
	iw_list_del(&x->all);
	iw_list_del(&x->ready);
	iw_list_del(&x->events);
	free(x->part);
	free(x);
}

static void kernel_close(struct iw_port *p)
{
	struct kport *k = port_of(p);

	while (iw_list_first(&k->assocs))
		iw_port_kernel_release(
			&iw_container_of(iw_list_first(&k->assocs), struct kassoc, all)->assoc);
	if (k->listener >= 0)
		close(k->listener);
	if (p->fd >= 0)
		close(p->fd);
	free(k->buf);
	free(k);
}

int iw_port_kernel_fail_connect(const struct kport *k, int errnum, const struct iw_addr *peer,
				struct iw_fault *why)
{
	char text[IW_ADDR_TEXT];
	int err = iw_os_fail(why, errnum, "connect to %s (-t sctp)", iw_addr_format(text, peer));

	iw_sock_connect_hint(why, errnum, peer, k->interface[0] ? k->interface : NULL,
			     "sctp, raw or xdp");
	return err;
}

/* Starts to connect to the next address for which that is possible. */
static int connect_next(struct kport *k, struct kassoc *x, struct iw_fault *why)
{
	int err = iw_fail(why, IW_E_NOENT, "connect: no address");

	while (k->next_target < k->ntargets) {
		const struct iw_addr *t = &k->target[k->next_target++];
		char text[IW_ADDR_TEXT];

		shut_socket(x);
		err = iw_port_kernel_new_socket(&x->fd, k, t->sa.sa_family, why);
		if (err)
			continue;
		snprintf(x->assoc.peer, sizeof(x->assoc.peer), "%s", iw_addr_format(text, t));
		if ((k->bind.len > 0 && bind(x->fd, &k->bind.sa, k->bind.len) < 0) ||
		    (connect(x->fd, &t->sa, t->len) < 0 && errno != EINPROGRESS)) {
			err = iw_port_kernel_fail_connect(k, errno, t, why);
			continue;
		}
		if (iw_port_kernel_watch(k, x->fd, x, EPOLLIN | EPOLLOUT, true) < 0) {
			err = iw_os_fail(why, errno, "sctp: watch a socket");
			continue;
		}
		x->armed = EPOLLIN | EPOLLOUT;
		return 0;
	}
	shut_socket(x);
	return err;
}

int iw_port_kernel_connect(struct iw_port *p, struct iw_assoc **out, uint64_t now,
			   struct iw_fault *why)
{
	struct kport *k = port_of(p);
	struct kassoc *x = assoc_new(k, -1);
	int err;

	(void)now;
	if (!x)
		return iw_fail(why, IW_E_NOMEM, "sctp: no memory");
	x->connecting = true;
	err = connect_next(k, x, why);
	if (err) {
		iw_port_kernel_release(&x->assoc);
		return err;
	}
	*out = &x->assoc;
	return 0;
}

void iw_port_kernel_went_down(struct kport *k, struct kassoc *x, const struct iw_fault *why)
{
	struct iw_fault next;

	if (x->pending & EVENT_DOWN)
		return;
	if (x->connecting && k->next_target < k->ntargets && connect_next(k, x, &next) == 0)
		return;
	x->assoc.why = *why;
	x->assoc.up = false;
	iw_list_del(&x->ready);
	shut_socket(x);
	iw_port_kernel_queue_event(k, x, EVENT_DOWN);
}

/*
 * Closing with no time to linger is an ABORT (RFC 6458 4.1.8). It carries no reason: Linux rejects
 * SCTP_ABORT in sendmsg on one-to-one sockets.
 */
static void abort_when_closed(struct kassoc *x)
{
	static const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(x->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

/* The peer violated the protocol: the association ends with an ABORT. */
void iw_port_kernel_violated(struct kport *k, struct kassoc *x, const struct iw_fault *why)
{
	abort_when_closed(x);
	iw_port_kernel_went_down(k, x, why);
}

void iw_port_kernel_broken(struct kport *k, struct kassoc *x, const char *step, int errnum)
{
	struct iw_fault why = { 0 };

	iw_os_fail(&why, errnum, "sctp: %s %s", step, x->assoc.peer);
	if (errnum == ECONNRESET || errnum == EPIPE)
		why.err = IW_E_CLOSED;
	iw_port_kernel_went_down(k, x, &why);
}

static void note_ip(struct kassoc *x, const struct iw_addr *peer)
{
	if (peer->sa.sa_family == AF_INET) {
		x->assoc.peer_ip[10] = x->assoc.peer_ip[11] = 0xff;
		memcpy(x->assoc.peer_ip + 12, &peer->in.sin_addr, 4);
	} else {
		memcpy(x->assoc.peer_ip, &peer->in6.sin6_addr, 16);
	}
}

void iw_port_kernel_accept_all(struct kport *k)
{
	for (int budget = READY_MAX; budget > 0; budget--) {
		struct iw_addr peer = { .len = sizeof(peer.in6) };
		char text[IW_ADDR_TEXT];
		struct kassoc *x;
		int fd = accept4(k->listener, &peer.sa, &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		x = iw_port_kernel_prepare(fd, &k->cfg, NULL) == 0 ? assoc_new(k, fd) : NULL;
		if (!x) {
			close(fd);
			continue;
		}
		snprintf(x->assoc.peer, sizeof(x->assoc.peer), "%s", iw_addr_format(text, &peer));
		note_ip(x, &peer);
		x->armed = EPOLLIN;
		if (iw_port_kernel_watch(k, fd, x, EPOLLIN, true) < 0)
			iw_port_kernel_release(&x->assoc);
	}
}

void iw_port_kernel_note_size(struct kassoc *x)
{
	struct sctp_status s = { 0 };
	socklen_t len = sizeof(s);

	if (getsockopt(x->fd, IPPROTO_SCTP, SCTP_STATUS, &s, &len) == 0 &&
	    s.sstat_fragmentation_point > SACK_ROOM)
		x->assoc.max_message = s.sstat_fragmentation_point - SACK_ROOM;
}

/* The kernel sends by itself. */
static int kernel_output(struct iw_port *p, uint64_t now)
{
	(void)p;
	(void)now;
	return 0;
}

static uint64_t kernel_deadline(struct iw_port *p)
{
	(void)p;
	return IW_TIME_NEVER;
}

static void kernel_timeout(struct iw_port *p, uint64_t now)
{
	(void)p;
	(void)now;
}

void iw_port_kernel_shutdown(struct iw_assoc *a, uint64_t now)
{
	(void)now;
	if (assoc_of(a)->fd >= 0)
		(void)shutdown(assoc_of(a)->fd, SHUT_WR);
}

/* Linux rejects SCTP_ABORT (RFC 6458 5.3.4) on one-to-one sockets, so the reason is lost. */
void iw_port_kernel_abort(struct iw_assoc *a, const char *reason, uint64_t now)
{
	struct iw_fault why = { 0 };
	struct kassoc *x = assoc_of(a);

	(void)reason;
	(void)now;
	if (x->fd < 0)
		return;
	abort_when_closed(x);
	x->connecting = false;
	iw_fail(&why, IW_E_CANCELED, "sctp: aborted by this end");
	iw_port_kernel_went_down(port_of(a->port), x, &why);
}

/* Fills out with what the kernel knows of one address. */
static void note_path(int fd, struct sockaddr *sa, socklen_t salen, struct iw_assoc_path *out)
{
	struct sctp_paddrinfo info = { 0 };
	struct iw_addr addr = { .len = salen };
	socklen_t len = sizeof(info);
	char text[IW_ADDR_TEXT];

	memcpy(&addr, sa, salen);
	snprintf(out->addr, sizeof(out->addr), "%s", iw_addr_format(text, &addr));
	memcpy(&info.spinfo_address, sa, salen);
	if (getsockopt(fd, IPPROTO_SCTP, SCTP_GET_PEER_ADDR_INFO, &info, &len) < 0)
		return;
	out->active = info.spinfo_state == SCTP_ACTIVE;
	out->mtu = info.spinfo_mtu;
	out->srtt_ns = IW_MSEC(info.spinfo_srtt);
}

static socklen_t sockaddr_len(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* Calls the kernel directly: libsctp's function makes the same call, and a copy. */
unsigned iw_port_kernel_paths(struct iw_assoc *a, struct iw_assoc_path *out, unsigned cap)
{
	union {
		struct sctp_getaddrs head;
		char octets[sizeof(struct sctp_getaddrs) +
			    PEER_ADDRS * sizeof(struct sockaddr_in6)];
	} all = { 0 };
	struct kassoc *x = assoc_of(a);
	struct sctp_status s = { 0 };
	struct iw_assoc_path primary = { 0 };
	struct sockaddr *sa = (struct sockaddr *)&s.sstat_primary.spinfo_address;
	socklen_t status_len = sizeof(s), all_len = sizeof(all);
	char *at = (char *)all.head.addrs;
	unsigned n;

	if (x->fd < 0 || getsockopt(x->fd, IPPROTO_SCTP, SCTP_STATUS, &s, &status_len) < 0 ||
	    getsockopt(x->fd, IPPROTO_SCTP, SCTP_GET_PEER_ADDRS, &all, &all_len) < 0)
		return 0;
	note_path(x->fd, sa, sockaddr_len(sa), &primary);
	n = IW_MIN(all.head.addr_num, cap);
	for (unsigned i = 0; i < n; i++) {
		sa = (struct sockaddr *)(void *)at;
		out[i] = (struct iw_assoc_path){ 0 };
		note_path(x->fd, sa, sockaddr_len(sa), &out[i]);
		out[i].primary = strcmp(out[i].addr, primary.addr) == 0;
		at += sockaddr_len(sa);
	}
	return n;
}

/*
 * No `held`: the kernel subtracts only unread messages from the window. Reading continues while
 * segments wait for their session, because the Accept that releases them may still be unread. These
 * segments use at most one more window (IW_SCTPMAP_PENDING_MAX).
 */
const struct iw_port_ops iw_port_sctp_ops = {
	.name = "sctp",
	.available = kernel_available,
	.look = kernel_look,
	.open = kernel_open,
	.paths = iw_port_kernel_paths,
	.connect = iw_port_kernel_connect,
	.input = iw_port_kernel_input,
	.next_msg = iw_port_kernel_next_msg,
	.next_event = iw_port_kernel_next_event,
	.send = iw_port_kernel_send,
	.output = kernel_output,
	.deadline = kernel_deadline,
	.timeout = kernel_timeout,
	.shutdown = iw_port_kernel_shutdown,
	.abort = iw_port_kernel_abort,
	.release = iw_port_kernel_release,
	.close = kernel_close,
};
