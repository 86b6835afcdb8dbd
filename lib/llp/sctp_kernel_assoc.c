// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Associations of kernel SCTP: connect, accept, facts, end. */
#include "llp/sctp_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "os/sock.h"
#include "util/num.h"
#include "util/text.h"

#define PEER_ADDRS 64 /* addresses of one peer that are reported */
/* Room for a SACK beside a chunk (RFC 5043 9). */
#define SACK_ROOM  16
/* How long the listener rests when no descriptor or memory is left. */
#define REST_NS    IW_MSEC(100)

void iw_port_kernel_queue_event(struct kport *k, struct kassoc *x, unsigned what)
{
	x->pending |= what;
	if (iw_list_empty(&x->events))
		iw_list_add_tail(&k->events, &x->events);
}

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

int iw_port_kernel_fail_connect(const struct kport *k, int errnum, const struct iw_addr *peer,
				struct iw_fault *why)
{
	char text[IW_ADDR_TEXT];
	int err = iw_os_fail(why, errnum, "connect to %s (-t sctp)", iw_addr_format(text, peer));

	iw_sock_connect_hint(why, errnum, peer, k->interface[0] ? k->interface : NULL,
			     "sctp, raw or xdp");
	return err;
}

/*
 * Starts to connect to the next address for which that is possible. Returns 0, or the error of the
 * last address.
 */
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

/* accept4 has failed with errnum. It took nothing, so the listener stays readable. */
static void rest_if_exhausted(struct kport *k, int errnum, uint64_t now)
{
	int err = iw_os_err(errnum);

	if ((err == IW_E_LIMIT || err == IW_E_NOMEM) &&
	    iw_port_kernel_watch(k, k->listener, NULL, 0, false) == 0)
		k->accept_at = iw_time_add(now, REST_NS);
}

void iw_port_kernel_accept_all(struct kport *k, uint64_t now)
{
	for (int budget = READY_MAX; budget > 0; budget--) {
		struct iw_addr peer = { .len = sizeof(peer.in6) };
		char text[IW_ADDR_TEXT];
		struct kassoc *x;
		int fd = accept4(k->listener, &peer.sa, &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			rest_if_exhausted(k, errno, now);
			return;
		}
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

/* Fills *out with what the kernel knows of one address of the peer. */
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

/* Reads the addresses by getsockopt: sctp_getpaddrs of libsctp does the same, and copies them. */
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
