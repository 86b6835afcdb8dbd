// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sockets of kernel SCTP: options, and the events that epoll watches for. */
#include "llp/sctp_kernel.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "os/sock.h"
#include "util/num.h"
#include "util/text.h"

#define BUFFERS (2 * 1024 * 1024) /* octets: the default of send and receive buffer */
/*
 * Our delay of a SACK. The initiator at the other end reuses a stream only after acknowledgements,
 * so the delay must be short.
 */
#define SACK_MS 10

int iw_port_kernel_set(int fd, int option, const void *value, socklen_t len, const char *name,
		       struct iw_fault *why)
{
	if (setsockopt(fd, IPPROTO_SCTP, option, value, len) == 0)
		return 0;
	return iw_os_fail(why, errno, "sctp: set %s", name);
}

static int subscribe(int fd, uint16_t type, struct iw_fault *why)
{
	struct sctp_event e = { .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = type, .se_on = 1 };

	return iw_port_kernel_set(fd, SCTP_EVENT, &e, sizeof(e), "SCTP_EVENT", why);
}

/* The system caps the sizes: a larger value is not an error. */
static void set_buffers(int fd, const struct iw_llp_cfg *cfg)
{
	(void)!iw_sock_set_buffers(fd, cfg->sndbuf ? cfg->sndbuf : BUFFERS,
				   cfg->rcvbuf ? cfg->rcvbuf : BUFFERS);
}

int iw_port_kernel_prepare(int fd, const struct iw_port_cfg *cfg, struct iw_fault *why)
{
	static const uint16_t events[] = { SCTP_ASSOC_CHANGE, SCTP_ADAPTATION_INDICATION,
					   SCTP_SENDER_DRY_EVENT, SCTP_PARTIAL_DELIVERY_EVENT };
	struct sctp_initmsg init = {
		.sinit_num_ostreams = cfg->llp.streams,
		.sinit_max_instreams = cfg->llp.streams,
	};
	/* Host order: the stack converts it. */
	struct sctp_setadaptation ind = { .ssb_adaptation_ind = cfg->adaptation };
	struct sctp_sack_info sack = { .sack_delay = SACK_MS, .sack_freq = 2 };
	const int on = 1;
	int err;

	set_buffers(fd, &cfg->llp);
	err = iw_port_kernel_set(fd, SCTP_INITMSG, &init, sizeof(init), "SCTP_INITMSG", why);
	if (!err)
		err = iw_port_kernel_set(fd, SCTP_ADAPTATION_LAYER, &ind, sizeof(ind),
					 "SCTP_ADAPTATION_LAYER", why);
	if (!err)
		err = iw_port_kernel_set(fd, SCTP_NODELAY, &on, sizeof(on), "SCTP_NODELAY", why);
	if (!err)
		err = iw_port_kernel_set(fd, SCTP_DISABLE_FRAGMENTS, &on, sizeof(on),
					 "SCTP_DISABLE_FRAGMENTS", why);
	if (!err)
		err = iw_port_kernel_set(fd, SCTP_DELAYED_SACK, &sack, sizeof(sack),
					 "SCTP_DELAYED_SACK", why);
	if (!err)
		err = iw_port_kernel_set(fd, SCTP_RECVRCVINFO, &on, sizeof(on), "SCTP_RECVRCVINFO",
					 why);
	for (size_t i = 0; i < IW_ARRAY_LEN(events) && !err; i++)
		err = subscribe(fd, events[i], why);
	return err;
}

int iw_port_kernel_new_socket(int *fd, struct kport *k, int family, struct iw_fault *why)
{
	size_t sndbuf, rcvbuf;
	int err;

	*fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_SCTP);
	if (*fd < 0)
		return iw_os_fail(why, errno, "sctp: open a socket");
	err = iw_port_kernel_prepare(*fd, &k->cfg, why);
	if (iw_sock_buffers(*fd, &sndbuf, &rcvbuf) == 0)
		k->port.window = (uint32_t)IW_MIN(rcvbuf, (size_t)UINT32_MAX);
	if (!err && k->interface[0] &&
	    setsockopt(*fd, SOL_SOCKET, SO_BINDTODEVICE, k->interface,
		       (socklen_t)strlen(k->interface)) < 0)
		err = errno == ENODEV
			      ? iw_fail(why, IW_E_NOENT,
					"-I %s: no such interface; `ip link` lists them",
					k->interface)
			      : iw_os_fail(why, errno, "sctp: bind to interface %s", k->interface);
	if (err) {
		close(*fd);
		*fd = -1;
	}
	return err;
}

int iw_port_kernel_watch(struct kport *k, int fd, void *owner, uint32_t events, bool add)
{
	struct epoll_event ev = { .events = events, .data.ptr = owner };

	return epoll_ctl(k->port.fd, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &ev);
}

void iw_port_kernel_watch_assoc(struct kport *k, struct kassoc *x)
{
	uint32_t events = EPOLLIN | (x->full || x->connecting ? EPOLLOUT : 0);

	if (x->fd >= 0 && events != x->armed &&
	    iw_port_kernel_watch(k, x->fd, x, events, false) == 0)
		x->armed = events;
}
