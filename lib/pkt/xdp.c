// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SCTP packets in Ethernet frames through AF_XDP.
 *
 * The carrier also opens a "raw" or "udp" carrier on the same addresses and ports, called the
 * kernel's carrier here. Its sockets keep the kernel from answering our peers with ICMP, and
 * receive ICMP errors and datagrams that the kernel has reassembled. It sends packets whose next
 * hop is not known yet (the kernel then resolves the neighbour), packets to be fragmented, and from
 * time to time a packet that lets the kernel check the neighbour.
 */
#include "pkt/pkt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <iwarp/verbs.h>

#include "os/os.h"
#include "os/probe.h"
#include "pkt/frame.h"
#include "pkt/internal.h"
#include "pkt/neigh.h"
#include "pkt/xsk.h"
#include "util/num.h"
#include "util/text.h"

#define ETHER_MAX   18 /* with a VLAN tag */
#define BATCHES_MAX 16 /* of rejected packets in one call */

/* Sources of events of pkt.fd, an epoll descriptor: the sockets of the rings, of which the first
 * one also sends; the kernel's carrier; netlink. */
enum source { FROM_SOCKET, FROM_SENDER, FROM_KERNEL, FROM_NETLINK };

struct xdp {
	struct iw_pkt pkt;
	struct iw_pkt *kernel; /* the kernel's carrier */
	struct iw_neigh *neigh;
	struct iw_xsk *xsk;
	uint32_t endpoint; /* id in the steering program */
	bool kernel_ready; /* the kernel's carrier may have packets or errors */
	bool resting;      /* the sockets are in the epoll set */
	bool waiting;      /* for room to send */
	bool broken;
	struct iw_fault why; /* set with broken */
	uint64_t now;
	/* The last packet since the flush, and its next hop. NULL: no packet yet, or the kernel
	 * sent it. */
	struct iw_pkt_tx to;
	const struct iw_hop *hop;
	/* The headers of a frame to `to` with an SCTP packet of head_for octets. */
	uint8_t head[IW_FRAME_HEAD_MAX];
	size_t head_len, head_for;
	char interface[16];
};

static struct xdp *xdp_of(struct iw_pkt *c)
{
	return iw_container_of(c, struct xdp, pkt);
}

/* --- open ------------------------------------------------------------------------------------- */

static int xdp_available(struct iw_fault *why)
{
	struct iw_fault no;
	int err = iw_pkt_raw_check("xdp", why);

	if (err == IW_E_PERM)
		return iw_fail(
			why, err,
			"transport xdp: needs CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON and CAP_NET_RAW");
	if (err)
		return err;
	err = iw_os_probe_xdp(&no);
	return err ? iw_fail(why, err, "transport xdp: %s", no.text) : 0;
}

static int watch(struct xdp *x, int op, int fd, uint32_t events, enum source from,
		 struct iw_fault *why)
{
	struct epoll_event ev = { .events = events, .data.u32 = from };

	x->pkt.recvs++;
	return epoll_ctl(x->pkt.fd, op, fd, &ev) < 0 ? iw_os_fail(why, errno, "xdp: watch a socket")
						     : 0;
}

static int watch_rings(struct xdp *x, struct iw_fault *why)
{
	const int *fd;
	unsigned n = iw_xsk_fds(x->xsk, &fd);
	int err = 0;

	for (unsigned i = 0; i < n && !err; i++) {
		uint32_t events = i == 0 && x->waiting ? EPOLLIN | EPOLLOUT : EPOLLIN;

		err = watch(x, EPOLL_CTL_ADD, fd[i], events, i == 0 ? FROM_SENDER : FROM_SOCKET,
			    why);
	}
	x->resting = true;
	return err;
}

/* Combines the sockets into one descriptor to poll. */
static int join(struct xdp *x, struct iw_fault *why)
{
	int err;

	x->pkt.fd = epoll_create1(EPOLL_CLOEXEC);
	if (x->pkt.fd < 0)
		return iw_os_fail(why, errno, "xdp: create an epoll descriptor");
	err = watch(x, EPOLL_CTL_ADD, x->kernel->fd, EPOLLIN, FROM_KERNEL, why);
	if (!err)
		err = watch(x, EPOLL_CTL_ADD, iw_neigh_fd(x->neigh), EPOLLIN, FROM_NETLINK, why);
	return err ? err : watch_rings(x, why);
}

static const char *mode_text(const struct iw_xsk_facts *f)
{
	if (f->native)
		return f->zerocopy ? "native, zero-copy" : "native, copied";
	return "generic, copied"; /* generic mode has no zero-copy */
}

static int check_mtu(struct xdp *x, const struct iw_xsk_facts *f, struct iw_fault *why)
{
	if (iw_neigh_mtu(x->neigh) + ETHER_MAX <= f->packet_max)
		return 0;
	return iw_fail(
		why, IW_E_NOTSUP,
		"xdp: interface %s has an MTU of %u: without multi-buffer frames "
		"(Linux 6.6, and support in the driver) the limit is %u: ip link set %s mtu %u",
		x->interface, iw_neigh_mtu(x->neigh), f->packet_max - ETHER_MAX, x->interface,
		f->packet_max - ETHER_MAX);
}

static struct iw_xsk_cfg settings(const struct iw_pkt_cfg *cfg)
{
	return (struct iw_xsk_cfg){
		.interface = cfg->interface,
		.attached = cfg->xdp & IW_XDP_WANT_NATIVE    ? IW_XDP_NATIVE
			    : cfg->xdp & IW_XDP_WANT_GENERIC ? IW_XDP_GENERIC
							     : IW_XDP_ANY,
		.mode = cfg->xdp & IW_XDP_WANT_ZEROCOPY ? IW_XSK_ZEROCOPY
			: cfg->xdp & IW_XDP_WANT_COPY   ? IW_XSK_COPY
							: IW_XSK_ANY,
		.busy_poll = (cfg->xdp & IW_XDP_WANT_BUSY_POLL) != 0,
		.frame_size = cfg->xdp & IW_XDP_WANT_SMALL_FRAMES ? 2048 : 0,
	};
}

static int open_all(struct xdp *x, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	const struct iw_steer_ppids ppids = { cfg->ppid_segment, cfg->ppid_control };
	struct iw_xsk_cfg xc = settings(cfg);
	struct iw_xsk_facts facts;
	char text[IW_ADDR_TEXT];
	int err = iw_neigh_open(&x->neigh, cfg->interface, why);

	if (!err && iw_addr_is_loopback(&cfg->bind))
		err = iw_fail(
			why, IW_E_INVAL,
			"transport xdp: a loopback address cannot be reached through %s: use an "
			"address of that interface with --bind, or * for all",
			cfg->interface);
	if (!err && cfg->peer.len > 0 && iw_neigh_is_own(x->neigh, &cfg->peer))
		err = iw_fail(why, IW_E_INVAL,
			      "transport xdp: %s cannot be reached through %s; use udp or raw",
			      iw_addr_host(text, &cfg->peer), cfg->interface);
	if (!err)
		err = (cfg->udp ? &iw_pkt_udp_ops : &iw_pkt_raw_ops)->open(&x->kernel, cfg, why);
	if (err)
		return err;
	xc.mtu = iw_neigh_mtu(x->neigh);
	xc.sends = &x->pkt.sends;
	xc.recvs = &x->pkt.recvs;
	err = iw_xsk_open(&x->xsk, &xc, why);
	if (err)
		return err;
	iw_xsk_facts(x->xsk, &facts);
	err = check_mtu(x, &facts, why);
	if (!err)
		err = join(x, why);
	/* The last step: with the endpoint, the program begins to redirect packets to us. */
	if (!err)
		err = iw_steer_endpoint_add(iw_xsk_steer(x->xsk), &x->endpoint, &cfg->bind,
					    cfg->sctp_port, x->kernel->udp_port,
					    iw_xsk_worker(x->xsk),
					    cfg->ppid_segment ? &ppids : NULL, why);
	if (err)
		return err;
	x->pkt.udp_port = x->kernel->udp_port;
	x->pkt.mtu = IW_MIN(x->kernel->mtu, xc.mtu);
	/* The engine's receive window is half of this. So the packets in the window, of up to 2048
	 * octets each, find free descriptors. */
	x->pkt.rcvbuf = (size_t)facts.ring_rx * 2048;
	x->pkt.loans = facts.loans;
	x->pkt.xdp_mode = mode_text(&facts);
	iw_xsk_publish(x->xsk);
	return 0;
}

static int xdp_open(struct iw_pkt **out, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	struct xdp *x;
	int err;

	if (!cfg->interface)
		return iw_fail(why, IW_E_INVAL,
			       "transport xdp: no interface is given: name it with -I");
	x = calloc(1, sizeof(*x));
	if (!x)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	x->pkt.ops = &iw_pkt_xdp_ops;
	x->pkt.fd = -1;
	x->pkt.seg_max = 1;
	strncpy(x->interface, cfg->interface, sizeof(x->interface) - 1);
	err = open_all(x, cfg, why);
	if (err) {
		x->pkt.ops->close(&x->pkt);
		return err;
	}
	*out = &x->pkt;
	return 0;
}

static void xdp_close(struct iw_pkt *c)
{
	struct xdp *x = xdp_of(c);

	/* In this order: iw_xsk_close removes the endpoint from the program and closes the AF_XDP
	 * sockets. The kernel's carrier closes after that: without it, the kernel may answer
	 * packets. */
	iw_xsk_close(x->xsk);
	if (x->kernel)
		x->kernel->ops->close(x->kernel);
	iw_neigh_close(x->neigh);
	if (c->fd >= 0)
		close(c->fd);
	free(x);
}

static void xdp_assoc(struct iw_pkt *c, uint32_t tag, bool up)
{
	struct xdp *x = xdp_of(c);
	struct iw_steer *s = iw_xsk_steer(x->xsk);

	/* If the map is full, the program steers the packets to the endpoint's worker, which is
	 * this one. */
	if (up)
		(void)!iw_steer_assoc_add(s, x->endpoint, tag, iw_xsk_worker(x->xsk), NULL);
	else
		iw_steer_assoc_remove(s, x->endpoint, tag);
	iw_xsk_publish(x->xsk);
}

/* If the map is full, the program counts the segments under stag_unknown, but steers them. */
static void xdp_stag(struct iw_pkt *c, uint32_t stag, uint32_t pd, uint32_t stream,
		     uint64_t expires)
{
	struct xdp *x = xdp_of(c);
	const struct iw_xdp_home home = { pd, stream, expires == IW_TIME_NEVER ? 0 : expires };

	if (pd)
		(void)!iw_steer_stag_add(iw_xsk_steer(x->xsk), x->endpoint, stag, &home);
	else
		iw_steer_stag_remove(iw_xsk_steer(x->xsk), x->endpoint, stag);
}

/* If the map is full, the program counts the segments under no_session, but steers them. */
static void xdp_session(struct iw_pkt *c, uint32_t tag, uint16_t number, uint32_t pd,
			uint32_t stream)
{
	struct xdp *x = xdp_of(c);
	const struct iw_xdp_home home = { .pd = pd, .stream = stream };

	if (pd)
		(void)!iw_steer_session_add(iw_xsk_steer(x->xsk), x->endpoint, tag, number, &home);
	else
		iw_steer_session_remove(iw_xsk_steer(x->xsk), x->endpoint, tag, number);
}

/* --- in --------------------------------------------------------------------------------------- */

static int broken(struct xdp *x, struct iw_fault *why)
{
	if (why)
		*why = x->why;
	return x->why.err;
}

static void follow(struct xdp *x)
{
	if (iw_neigh_follow(x->neigh) != IW_NEIGH_GONE)
		return;
	x->broken = true;
	iw_fail(&x->why, IW_E_OS, "xdp: interface %s is gone", x->interface);
}

/*
 * Transmission failed (x->why); the next receive returns the error. Perhaps no frame arrives to
 * wake the caller's loop, so this also watches the netlink socket for EPOLLOUT: that socket is
 * always writable. (The descriptor of carrier "raw", an epoll descriptor, never is.)
 */
static void break_down(struct xdp *x)
{
	x->broken = true;
	follow(x);
	(void)watch(x, EPOLL_CTL_MOD, iw_neigh_fd(x->neigh), EPOLLIN | EPOLLOUT, FROM_NETLINK,
		    NULL);
}

/* Checks the sources other than the rings. */
static void look_around(struct xdp *x)
{
	struct epoll_event ev[8];
	int n = epoll_wait(x->pkt.fd, ev, IW_ARRAY_LEN(ev), 0);

	x->pkt.recvs++;
	for (int i = 0; i < n; i++) {
		if (ev[i].data.u32 == FROM_KERNEL)
			x->kernel_ready = true;
		/* A socket reports that its interface is gone before netlink does. */
		else if (ev[i].data.u32 == FROM_NETLINK || ev[i].events & (EPOLLERR | EPOLLHUP))
			follow(x);
	}
}

/* Parses a frame. False: it has no SCTP packet for our UDP port (0: without UDP). */
static bool take_apart(const struct xdp *x, struct iw_frame *f, const struct iw_xsk_rx *got)
{
	bool ok = got->meta ? iw_frame_from_meta(f, got->data, got->len, got->meta)
			    : iw_frame_parse(f, got->data, got->len);

	return ok && iw_addr_port(&f->dst) == x->pkt.udp_port;
}

static int take_batch(struct xdp *x, struct iw_pkt_rx rx[static IW_PKT_BATCH])
{
	struct iw_xsk_rx got[IW_PKT_BATCH];
	unsigned n;
	int kept = 0, batches = 0;

	do {
		n = iw_xsk_recv(x->xsk, got, IW_PKT_BATCH);
		for (unsigned i = 0; i < n; i++) {
			struct iw_frame f;

			if (!take_apart(x, &f, &got[i]))
				continue;
			rx[kept].peer = f.src;
			rx[kept].local = f.dst;
			rx[kept].data = got[i].data + f.at;
			rx[kept].len = rx[kept].seg = f.len;
			rx[kept].lendable = got[i].lendable;
			kept++;
		}
		/* The caller takes 0 to mean that no packet is pending. So a batch whose packets
		 * were all rejected is followed by the next one. After BATCHES_MAX of them the rings
		 * wake the caller again. */
	} while (n > 0 && kept == 0 && ++batches < BATCHES_MAX);
	return kept;
}

static void xdp_rest(struct iw_pkt *c, bool on)
{
	struct xdp *x = xdp_of(c);
	const int *fd;
	unsigned n = iw_xsk_fds(x->xsk, &fd);

	if (on == x->resting)
		return;
	if (on) {
		/* If this fails for lack of memory, only the caller's timers wake it. */
		(void)!watch_rings(x, NULL);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		(void)watch(x, EPOLL_CTL_DEL, fd[i], 0, FROM_SOCKET, NULL);
	x->resting = false;
}

/* While the caller polls, this lets packets gather into a batch (iw_xsk_ripe): each batch costs an
 * acknowledgement, which both ends must process. */
static bool xdp_peek(struct iw_pkt *c, uint64_t now)
{
	struct xdp *x = xdp_of(c);

	if (iw_unlikely(x->broken))
		return true;
	if (x->resting)
		return iw_xsk_waiting(x->xsk) > 0;
	return (x->waiting && iw_xsk_retry(x->xsk)) || iw_xsk_ripe(x->xsk, now);
}

static int xdp_recv(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
		    struct iw_fault *why)
{
	struct xdp *x = xdp_of(c);
	int n = take_batch(x, rx);

	if (n > 0)
		return n;
	look_around(x);
	if (iw_unlikely(x->broken))
		return broken(x, why);
	if (!x->kernel_ready)
		return 0;
	c->recvs++;
	return x->kernel->ops->recv(x->kernel, rx, why);
}

static struct iw_lender *xdp_lend(struct iw_pkt *c, const uint8_t *data)
{
	return iw_xsk_lend(xdp_of(c)->xsk, data);
}

static bool xdp_next_error(struct iw_pkt *c, struct iw_pkt_error *out)
{
	struct xdp *x = xdp_of(c);

	if (!x->kernel_ready)
		return false;
	x->kernel_ready = x->kernel->ops->next_error(x->kernel, out);
	return x->kernel_ready;
}

/* --- out -------------------------------------------------------------------------------------- */

static void wait_for_room(struct xdp *x, bool on)
{
	const int *fd;

	if (x->waiting == on)
		return;
	if (!x->resting) {
		x->waiting = on;
		return;
	}
	(void)iw_xsk_fds(x->xsk, &fd);
	if (watch(x, EPOLL_CTL_MOD, fd[0], on ? EPOLLIN | EPOLLOUT : EPOLLIN, FROM_SENDER, NULL) ==
	    0)
		x->waiting = on;
}

static uint8_t *xdp_room(struct iw_pkt *c, size_t *cap)
{
	struct xdp *x = xdp_of(c);
	uint8_t *room = iw_xsk_room(x->xsk, cap);

	wait_for_room(x, room == NULL);
	return room;
}

/* Returns the next hop; packets to the same address since the flush reuse it. NULL: the kernel must
 * send this packet. */
static const struct iw_hop *find_hop(struct xdp *x, const struct iw_pkt_tx *tx)
{
	struct iw_addr peer = tx->peer, local = tx->local;

	if (x->hop && memcmp(&tx->peer, &x->to.peer, sizeof(peer)) == 0 &&
	    memcmp(&tx->local, &x->to.local, sizeof(local)) == 0)
		return x->hop;
	iw_addr_set_port(&peer, 0);
	if (local.len > 0)
		iw_addr_set_port(&local, 0);
	x->now = iw_os_now();
	x->to = *tx;
	x->head_for = 0;
	x->hop = iw_neigh_hop(x->neigh, &peer, &local, x->now);
	if (!x->hop->direct || iw_neigh_nudge(x->neigh, &peer, x->now))
		x->hop = NULL;
	return x->hop;
}

static int send_by_kernel(struct xdp *x, const struct iw_pkt_tx *tx, uint32_t *mtu)
{
	/* tx->data is the memory that xdp_room() returned, so it may be written. */
	uint8_t *data = (uint8_t *)(uintptr_t)tx->data;

	if (tx->rest_len > 0)
		memcpy(data + tx->len - tx->rest_len, tx->rest, tx->rest_len);
	x->pkt.sends++;
	return x->kernel->ops->send(x->kernel, tx, mtu);
}

static bool xdp_owns(struct iw_pkt *c, const void *p, size_t len)
{
	/* With UDP, the checksum would have to read all octets nevertheless. */
	return c->udp_port == 0 && iw_xsk_owns(xdp_of(c)->xsk, p, len);
}

static void xdp_settle(struct iw_pkt *c)
{
	struct xdp *x = xdp_of(c);

	if (!x->broken && iw_xsk_settle(x->xsk, &x->why) < 0)
		break_down(x);
}

static int xdp_send(struct iw_pkt *c, const struct iw_pkt_tx *tx, uint32_t *mtu)
{
	struct xdp *x = xdp_of(c);
	size_t ip = (tx->peer.sa.sa_family == AF_INET ? 20 : 40) + (c->udp_port ? 8 : 0);
	const struct iw_hop *hop;

	if (x->broken)
		return 0;
	hop = tx->fragment ? NULL : find_hop(x, tx);
	if (!hop)
		return send_by_kernel(x, tx, mtu);
	if (ip + tx->len > hop->mtu) {
		*mtu = hop->mtu;
		return IW_E_LIMIT;
	}
	/* With UDP the headers contain a checksum of the payload, so each packet needs its own. */
	if (x->head_for != tx->len || c->udp_port) {
		struct iw_addr from = hop->local;

		iw_addr_set_port(&from, c->udp_port);
		x->head_len =
			iw_frame_head(x->head, hop->ether, &from, &tx->peer, tx->data, tx->len);
		x->head_for = tx->len;
	}
	iw_xsk_put(x->xsk, x->head, x->head_len, tx->len - tx->rest_len, tx->rest, tx->rest_len);
	c->in_place = iw_xsk_in_place(x->xsk);
	return 0;
}

static void xdp_flush(struct iw_pkt *c)
{
	struct xdp *x = xdp_of(c);

	x->hop = NULL;
	if (x->broken || !iw_xsk_unsent(x->xsk))
		return;
	if (iw_xsk_flush(x->xsk, &x->why) < 0)
		break_down(x);
}

int iw_pkt_memory_new(struct iw_xdp_memory **out, const struct iw_pkt_cfg *cfg, size_t len,
		      struct iw_fault *why)
{
	struct iw_xsk_cfg xc = settings(cfg);
	struct iw_neigh *neigh = NULL;
	int err = xdp_available(why);

	if (!err && !cfg->interface)
		err = iw_fail(why, IW_E_INVAL, "memory for transport xdp: no interface is given");
	if (!err)
		err = iw_neigh_open(&neigh, cfg->interface, why);
	if (err)
		return err;
	xc.mtu = iw_neigh_mtu(neigh);
	iw_neigh_close(neigh);
	return iw_xsk_memory_new(out, &xc, len, why);
}

void *iw_pkt_memory_addr(struct iw_xdp_memory *m)
{
	return iw_xsk_memory_at(m);
}

void iw_pkt_memory_free(struct iw_xdp_memory *m)
{
	iw_xsk_memory_free(m);
}

const struct iw_pkt_ops iw_pkt_xdp_ops = {
	.name = "xdp",
	.available = xdp_available,
	.open = xdp_open,
	.recv = xdp_recv,
	.lend = xdp_lend,
	.peek = xdp_peek,
	.rest = xdp_rest,
	.room = xdp_room,
	.flush = xdp_flush,
	.owns = xdp_owns,
	.settle = xdp_settle,
	.send = xdp_send,
	.next_error = xdp_next_error,
	.assoc = xdp_assoc,
	.stag = xdp_stag,
	.session = xdp_session,
	.close = xdp_close,
};
