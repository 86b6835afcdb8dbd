// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Received messages and notifications of kernel SCTP (RFC 6458 6.1), and the events they cause. */
#include "llp/sctp_kernel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "os/os.h"
#include "os/sock.h"
#include "util/num.h"
#include "util/text.h"

#define READ_MAX 256 /* messages of one association per turn */

static void association_changed(struct kport *k, struct kassoc *x,
				const struct sctp_assoc_change *c)
{
	struct iw_fault why = { 0 };
	struct iw_addr local;
	char text[IW_ADDR_TEXT];
	int errnum = 0;
	socklen_t len = sizeof(errnum);

	switch (c->sac_state) {
	case SCTP_COMM_UP:
	case SCTP_RESTART:
		x->comm_up = true;
		x->connecting = false;
		x->assoc.in = c->sac_inbound_streams;
		x->assoc.out = c->sac_outbound_streams;
		if (iw_sock_local(x->fd, &local) == 0)
			snprintf(x->assoc.local, sizeof(x->assoc.local), "%s",
				 iw_addr_format(text, &local));
		iw_port_kernel_note_size(x);
		/* The sessions of the old association are lost with it (RFC 9260 5.2). */
		if (c->sac_state == SCTP_RESTART) {
			iw_fail(&why, IW_E_CLOSED, "sctp: %s has restarted", x->assoc.peer);
			iw_port_kernel_went_down(k, x, &why);
		}
		break;
	case SCTP_SHUTDOWN_COMP:
		iw_port_kernel_went_down(k, x, &why);
		break;
	case SCTP_COMM_LOST:
		iw_fail(&why, IW_E_CLOSED, "sctp: association with %s lost (cause %u)",
			x->assoc.peer, (uint32_t)ntohs(c->sac_error));
		iw_port_kernel_went_down(k, x, &why);
		break;
	case SCTP_CANT_STR_ASSOC:
		/* The socket's error shows the cause: an ABORT, ICMP, or no answer. */
		if (getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &errnum, &len) == 0 && errnum != 0 &&
		    k->next_target > 0)
			iw_port_kernel_fail_connect(k, errnum, &k->target[k->next_target - 1],
						    &why);
		else
			iw_fail(&why, IW_E_CLOSED, "sctp: connect to %s: no association (cause %u)",
				x->assoc.peer, (uint32_t)ntohs(c->sac_error));
		iw_port_kernel_went_down(k, x, &why);
		break;
	default:
		break;
	}
}

/*
 * True if nothing is outstanding now. The sender dry event does not prove that: further messages
 * may have been sent since.
 */
static bool all_acked(int fd)
{
	uint32_t mem[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(mem);

	return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len) == 0 &&
	       mem[SK_MEMINFO_WMEM_QUEUED] == 0;
}

static void notified(struct kport *k, struct kassoc *x, const uint8_t *data, size_t len)
{
	union sctp_notification n;

	memset(&n, 0, sizeof(n));
	memcpy(&n, data, IW_MIN(len, sizeof(n)));
	if (len < sizeof(n.sn_header))
		return;
	switch (n.sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		association_changed(k, x, &n.sn_assoc_change);
		break;
	case SCTP_ADAPTATION_INDICATION:
		x->assoc.indicated = true;
		x->assoc.adaptation = n.sn_adaptation_event.sai_adaptation_ind;
		break;
	case SCTP_SENDER_DRY_EVENT:
		if (all_acked(x->fd))
			iw_port_kernel_queue_event(k, x, EVENT_ALL_ACKED);
		break;
	case SCTP_PARTIAL_DELIVERY_EVENT:
		/* SCTP_PARTIAL_DELIVERY_ABORTED: the rest of the message will not arrive. */
		x->part_len = 0;
		break;
	default:
		break;
	}
}

/*
 * Reports UP when no notification is left to read, or when the first message arrives. The stack
 * reports the peer's Adaptation Indication directly after COMM_UP, so it is known by then.
 */
static void settle_up(struct kport *k, struct kassoc *x)
{
	if (!x->comm_up || x->reported_up || x->pending & EVENT_DOWN)
		return;
	x->reported_up = x->assoc.up = true;
	iw_port_kernel_queue_event(k, x, EVENT_UP);
	iw_port_kernel_watch_assoc(k, x);
}

int iw_port_kernel_input(struct iw_port *p, uint64_t now, struct iw_fault *why)
{
	struct kport *k = port_of(p);
	struct epoll_event ev[READY_MAX];
	int n = epoll_wait(p->fd, ev, READY_MAX, 0);

	if (n < 0)
		return errno == EINTR ? 0 : iw_os_fail(why, errno, "sctp: wait for sockets");
	for (int i = 0; i < n; i++) {
		struct kassoc *x = ev[i].data.ptr;

		if (!x) {
			iw_port_kernel_accept_all(k, now);
			continue;
		}
		if (ev[i].events & EPOLLOUT && x->full) {
			x->full = false;
			iw_port_kernel_queue_event(k, x, EVENT_ROOM);
			iw_port_kernel_watch_assoc(k, x);
		}
		if (ev[i].events & ~(uint32_t)EPOLLOUT || x->connecting) {
			x->budget = READ_MAX;
			if (iw_list_empty(&x->ready))
				iw_list_add_tail(&k->ready, &x->ready);
			if (iw_tracing(k->cfg.tracer))
				iw_port_kernel_sample(k, x, now);
		}
	}
	return n > 0;
}

static bool find_info(struct msghdr *m, struct sctp_rcvinfo *info)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == IPPROTO_SCTP && c->cmsg_type == SCTP_RCVINFO) {
			memcpy(info, CMSG_DATA(c), sizeof(*info));
			return true;
		}
	return false;
}

static void ordered(struct kport *k, struct kassoc *x)
{
	struct iw_fault why = { 0 };

	iw_fail(&why, IW_E_DSS_ILLEGAL, "sctp: %s sent ordered data (RFC 5043 10)", x->assoc.peer);
	iw_port_kernel_violated(k, x, &why);
}

/* The result of a receive: nothing left, or the end; continue reading; a message is in k->stash. */
enum got { GOT_NONE, GOT_MORE, GOT_MSG };

static enum got take_notification(struct kport *k, struct kassoc *x, size_t len, bool end)
{
	size_t n = IW_MIN(len, sizeof(x->note) - x->note_len), whole = x->note_len + n;

	memcpy(x->note + x->note_len, k->buf, n);
	x->note_len = end ? 0 : whole;
	if (end)
		notified(k, x, x->note, whole);
	return GOT_MORE;
}

/*
 * Appends the len octets in buf to the incomplete message of x. IW_E_DSS_ILLEGAL: it exceeds
 * BUF_LEN. IW_E_NOMEM: no memory.
 */
static int keep_part(struct kport *k, struct kassoc *x, size_t len, struct iw_fault *why)
{
	size_t need = x->part_len + len, cap = IW_MIN(need * 2, (size_t)BUF_LEN);
	uint8_t *more;

	if (need > BUF_LEN)
		return iw_fail(why, IW_E_DSS_ILLEGAL,
			       "sctp: %s sent a message of more than %u octets, the limit",
			       x->assoc.peer, (uint32_t)BUF_LEN);
	if (need > x->part_cap) {
		more = realloc(x->part, cap);
		if (!more)
			return iw_fail(why, IW_E_NOMEM, "sctp: no memory for a message from %s",
				       x->assoc.peer);
		x->part = more;
		x->part_cap = cap;
	}
	memcpy(x->part + x->part_len, k->buf, len);
	x->part_len = need;
	return 0;
}

static enum got take_data(struct kport *k, struct kassoc *x, size_t len, struct msghdr *m)
{
	bool end = m->msg_flags & MSG_EOR, whole = end && x->part_len == 0;
	struct sctp_rcvinfo info;
	struct iw_fault why = { 0 };

	if (!whole && keep_part(k, x, len, &why) != 0) {
		iw_port_kernel_violated(k, x, &why);
		return GOT_NONE;
	}
	if (!end)
		return GOT_MORE;
	k->stash = (struct iw_port_msg){
		.assoc = &x->assoc,
		.data = whole ? k->buf : x->part,
		.len = whole ? len : x->part_len,
	};
	x->part_len = 0;
	if (!find_info(m, &info))
		return GOT_MORE;
	if (!(info.rcv_flags & SCTP_UNORDERED)) {
		ordered(k, x);
		return GOT_NONE;
	}
	k->stash.stream = info.rcv_sid;
	k->stash.ppid = ntohl(info.rcv_ppid);
	return GOT_MSG;
}

/* Reads and handles a message, a part of one, or a notification of x. */
static enum got read_one(struct kport *k, struct kassoc *x)
{
	union {
		struct cmsghdr align;
		uint8_t octets[CMSG_SPACE(sizeof(struct sctp_rcvinfo)) + 64];
	} control;
	struct iovec iov = { k->buf, BUF_LEN };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.octets,
		.msg_controllen = sizeof(control.octets),
	};
	struct iw_fault none = { 0 };
	ssize_t n = recvmsg(x->fd, &m, MSG_DONTWAIT);

	if (n < 0 && errno == EINTR)
		return GOT_MORE;
	if (n < 0) {
		if (errno != EAGAIN && errno != ENOTCONN)
			iw_port_kernel_broken(k, x, "receive from", errno);
		return GOT_NONE;
	}
	if (n == 0) {
		iw_port_kernel_went_down(k, x, &none);
		return GOT_NONE;
	}
	k->port.recvs++;
	if (m.msg_flags & MSG_NOTIFICATION)
		return take_notification(k, x, (size_t)n, m.msg_flags & MSG_EOR);
	return take_data(k, x, (size_t)n, &m);
}

bool iw_port_kernel_next_msg(struct iw_port *p, struct iw_port_msg *out)
{
	struct kport *k = port_of(p);
	struct iw_list *n;

	if (k->stashed) {
		k->stashed = false;
		if (k->stash.assoc->user) {
			*out = k->stash;
			return true;
		}
	}
	while ((n = iw_list_first(&k->ready))) {
		struct kassoc *x = iw_container_of(n, struct kassoc, ready);
		enum got got = GOT_NONE;

		k->last = x;
		while (x->budget > 0 && x->fd >= 0 && (got = read_one(k, x)) == GOT_MORE)
			x->budget--;
		if (got == GOT_MSG) {
			x->budget--;
			settle_up(k, x);
			*out = k->stash;
			k->stashed = !x->assoc.user;
			return !k->stashed;
		}
		settle_up(k, x);
		iw_list_del(&x->ready);
	}
	k->last = NULL;
	return false;
}

bool iw_port_kernel_next_event(struct iw_port *p, struct iw_assoc_event *out)
{
	static const struct {
		unsigned bit;
		enum iw_assoc_event_type what;
	} order[] = {
		{ EVENT_UP, IW_ASSOC_UP },
		{ EVENT_MTU, IW_ASSOC_MTU },
		{ EVENT_ALL_ACKED, IW_ASSOC_ALL_ACKED },
		{ EVENT_ROOM, IW_ASSOC_ROOM },
		{ EVENT_DOWN, IW_ASSOC_DOWN },
	};
	struct kport *k = port_of(p);
	struct iw_list *n = iw_list_first(&k->events);
	struct kassoc *x;

	if (!n)
		return false;
	x = iw_container_of(n, struct kassoc, events);
	for (size_t i = 0; i < IW_ARRAY_LEN(order); i++) {
		if (!(x->pending & order[i].bit))
			continue;
		x->pending &= ~order[i].bit;
		if (!x->pending)
			iw_list_del(&x->events);
		*out = (struct iw_assoc_event){ .what = order[i].what, .assoc = &x->assoc };
		/* The caller has no pointer to the association, so it needs no event. */
		if (out->what == IW_ASSOC_DOWN && !x->assoc.user) {
			iw_port_kernel_release(&x->assoc);
			return iw_port_kernel_next_event(p, out);
		}
		return true;
	}
	iw_list_del(&x->events);
	return false;
}
