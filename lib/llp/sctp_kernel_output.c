// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages to kernel SCTP: unordered, and unfragmented unless the path MTU has become smaller. */
#include "llp/sctp_kernel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "util/num.h"

static ssize_t send_msg(struct kassoc *x, const struct iw_port_out *m)
{
	union {
		struct cmsghdr align;
		uint8_t octets[CMSG_SPACE(sizeof(struct sctp_sndinfo))];
	} control;
	struct sctp_sndinfo info = {
		.snd_sid = m->stream,
		.snd_flags = SCTP_UNORDERED | (m->ack_now ? SCTP_SACK_IMMEDIATELY : 0),
		.snd_ppid = htonl(m->ppid),
	};
	struct iovec iov[8];
	struct msghdr h = {
		.msg_iov = iov,
		.msg_control = control.octets,
		.msg_controllen = sizeof(control.octets),
	};
	struct cmsghdr *c;

	if (m->hdr_len)
		iov[h.msg_iovlen++] = (struct iovec){ (void *)(uintptr_t)m->hdr, m->hdr_len };
	for (size_t i = 0; i < m->nvec; i++)
		iov[h.msg_iovlen++] = (struct iovec){ m->vec[i].base, m->vec[i].len };
	memset(&control, 0, sizeof(control));
	c = CMSG_FIRSTHDR(&h);
	c->cmsg_level = IPPROTO_SCTP;
	c->cmsg_type = SCTP_SNDINFO;
	c->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	return sendmsg(x->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/*
 * Sends a segment that the path MTU has become too small for: in fragments. MTU is reported, so
 * that the following segments are smaller.
 */
static ssize_t send_fragmented(struct kport *k, struct kassoc *x, const struct iw_port_out *m)
{
	const int off = 0, on = 1;
	ssize_t n = -1;
	int errnum;

	if (iw_port_kernel_set(x->fd, SCTP_DISABLE_FRAGMENTS, &off, sizeof(off),
			       "SCTP_DISABLE_FRAGMENTS", NULL) == 0)
		n = send_msg(x, m);
	/* The caller reads errno, and the calls below fail if the association has ended. */
	errnum = errno;
	(void)!iw_port_kernel_set(x->fd, SCTP_DISABLE_FRAGMENTS, &on, sizeof(on),
				  "SCTP_DISABLE_FRAGMENTS", NULL);
	iw_port_kernel_note_size(x);
	iw_port_kernel_queue_event(k, x, EVENT_MTU);
	errno = errnum;
	return n;
}

int iw_port_kernel_send(struct iw_assoc *a, const struct iw_port_out *m, uint64_t now)
{
	struct kassoc *x = assoc_of(a);
	struct kport *k = port_of(a->port);
	ssize_t n;

	if (x->fd < 0)
		return IW_E_STATE;
	if (iw_tracing(k->cfg.tracer))
		iw_port_kernel_sample(k, x, now);
	do
		n = send_msg(x, m);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EMSGSIZE)
		n = send_fragmented(k, x, m);
	k->port.sends++;
	if (n >= 0)
		return 0;
	if (errno != EAGAIN && errno != ENOMEM) {
		iw_port_kernel_broken(k, x, "send to", errno);
		return IW_E_CLOSED;
	}
	x->full = true;
	iw_port_kernel_watch_assoc(k, x);
	return IW_E_AGAIN;
}
