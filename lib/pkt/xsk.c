// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* AF_XDP sockets: the workers of this process, and their rings. */
#include "pkt/xsk.h"

#include <assert.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "loader/live.h"
#include "os/os.h"
#include "pkt/xsk_dev.h"
#include "pkt/xsk_loan.h"
#include "util/num.h"
#include "util/text.h"

/* Linux 6.6; older headers lack them. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif
/* Linux 6.17: packets that one call sends in copy mode; the default is 32. */
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9
#endif
/* Linux 5.11 */
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69
#endif
#ifndef SO_BUSY_POLL_BUDGET
#define SO_BUSY_POLL_BUDGET 70
#endif

#define SNDBUF       (8 * 1024 * 1024) /* copy mode: limits the skbs in flight */
#define TX_BUDGET    256               /* XDP_MAX_TX_SKB_BUDGET */
#define SETTLE_TIME  IW_SEC(1)         /* iw_xsk_settle gives up */
#define SETTLE_SOON  IW_MSEC(10)       /* a working interface has accepted the packets by then */
/* Packets are dense if the first one arrives at most DENSE_NS after a batch. A batch of dense
 * packets is complete after a pause of PAUSE_NS, or with ENOUGH packets. */
#define DENSE_NS     10000
#define PAUSE_NS     4000
#define ENOUGH       32
#define EXPECTED     8   /* prefetch the frame that is this many descriptors ahead */
#define BIND_TRIES   100 /* a queue becomes free some time after its last socket was closed */
#define BIND_WAIT_NS 10000000

struct iw_xsk {
	struct iw_xsk_dev *dev;
	struct iw_xsk_loans *loans; /* freed with the last loan */
	unsigned share;             /* index in dev->worker */
	uint32_t worker;            /* number in the steering program, if steered */
	bool steered, busy_poll;
	unsigned nsocks, next; /* next: the queue to read first */
	struct xsk_socket *sock[IW_XSK_QUEUES_MAX];
	int fd[IW_XSK_QUEUES_MAX];
	struct xsk_ring_cons rx[IW_XSK_QUEUES_MAX];
	struct xsk_ring_prod tx; /* on queue tx_queue; its descriptor is fd[0] */
	unsigned tx_queue;
	uint32_t room_frames; /* frames of one packet of the MTU */
	/* The frame of our share that iw_xsk_room offers next; descriptors since the flush. */
	uint32_t at, put;
	struct iw_live *live; /* NULL: all packets use the rings */
	bool room_live;       /* the memory of the last iw_xsk_room belongs to live */
	bool broken;
	/* Index in the transmit ring after the descriptors that take_back_unread() made invalid.
	 * voids: the kernel has not read all of them, as far as is known. */
	uint32_t voided;
	bool voids;
	/* iw_xsk_ripe: the descriptors pending at the last check; a receive has happened since the
	 * last check; the pending packets are dense; the time of the first check after the last
	 * receive; the time when shown last increased. */
	unsigned shown;
	bool took, dense;
	uint64_t took_at, grew_at;
	/* Frames of the last batch, by queue. */
	uint64_t *held[IW_XSK_QUEUES_MAX];
	uint32_t nheld[IW_XSK_QUEUES_MAX];
	uint8_t *joined;   /* copies of IW_XSK_BATCH packets with several frames */
	size_t joined_len; /* octets of one copy */
	uint64_t nrx, ntx, nlive, in_place;
	uint64_t *sends, *recvs; /* as in struct iw_xsk_cfg */
};

/* --- a worker --------------------------------------------------------------------------------- */

static void pause_ns(long ns)
{
	const struct timespec t = { .tv_nsec = ns };

	(void)nanosleep(&t, NULL);
}

/* Creates a socket with the given bind flags. Returns 0 or an errno. */
static int create(struct iw_xsk *x, unsigned i, unsigned q, uint16_t flags)
{
	struct iw_xsk_dev *d = x->dev;
	struct xsk_socket_config cfg = {
		.rx_size = d->ring_rx,
		.tx_size = IW_XSK_RING_TX,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = flags,
	};

	return -xsk_socket__create_shared(&x->sock[i], d->name, q, d->queue[q].reg, &x->rx[i],
					  i == 0 ? &x->tx : NULL, &d->queue[q].fill,
					  &d->queue[q].comp, &cfg);
}

static int bind_queue(struct iw_xsk *x, unsigned i, unsigned q, struct iw_fault *why)
{
	static const uint16_t modes[] = {
		[IW_XSK_ANY] = 0, [IW_XSK_COPY] = XDP_COPY, [IW_XSK_ZEROCOPY] = XDP_ZEROCOPY
	};
	struct iw_xsk_dev *d = x->dev;
	uint16_t flags = (uint16_t)(modes[d->mode] | XDP_USE_NEED_WAKEUP);
	int err = iw_xsk_dev_register(d, q, why), tries = BIND_TRIES;

	if (err)
		return err;
	do {
		err = create(x, i, q, (uint16_t)(flags | (d->sg ? XDP_USE_SG : 0)));
		/* Linux before 6.6 has no packets of several frames. */
		if (err == EINVAL && d->sg) {
			d->sg = false;
			err = create(x, i, q, flags);
		}
		if (err == EBUSY)
			pause_ns(BIND_WAIT_NS);
	} while (err == EBUSY && --tries > 0);
	if (err == EBUSY)
		return iw_fail(
			why, IW_E_BUSY,
			"xdp: queue %u of interface %s is in use: another program has an AF_XDP "
			"socket on it; end that program first",
			(unsigned)q, d->name);
	if (err == EOPNOTSUPP && d->mode == IW_XSK_ZEROCOPY)
		return iw_fail(
			why, IW_E_NOTSUP,
			"xdp: interface %s: its driver does not support zero-copy%s: leave out --require zerocopy",
			d->name, d->sg ? " for multi-buffer frames" : "");
	if (err == ENETDOWN)
		return iw_fail(why, IW_E_OS, "xdp: interface %s is down: ip link set %s up",
			       d->name, d->name);
	if (err)
		return iw_os_fail(why, err, "xdp: bind a socket to queue %u of %s", q, d->name);
	x->fd[i] = xsk_socket__fd(x->sock[i]);
	return 0;
}

static void set_options(struct iw_xsk *x, int fd, bool busy_poll)
{
	const int sndbuf = SNDBUF, budget = TX_BUDGET, yes = 1, us = 20, polls = 64;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof(sndbuf)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	(void)setsockopt(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof(budget));
	if (busy_poll)
		x->busy_poll =
			setsockopt(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &yes, sizeof(yes)) == 0 &&
			setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us)) == 0 &&
			setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL_BUDGET, &polls, sizeof(polls)) == 0;
}

static int open_sockets(struct iw_xsk *x, const struct iw_xsk_cfg *cfg, struct iw_fault *why)
{
	struct iw_xsk_dev *d = x->dev;
	int by_queue[IW_XSK_QUEUES_MAX], err;
	bool all = true;

	x->tx_queue = x->share % d->queues;
	for (unsigned i = 0; i < d->queues; i++) {
		/* The sending socket comes first. */
		unsigned q = (x->tx_queue + i) % d->queues;

		/* Room for a full ring, and for all returned loans. */
		x->held[i] = malloc((d->ring_rx + d->ring_rx / IW_XSK_LOANS + IW_XSK_FRAGS) *
				    sizeof(*x->held[i]));
		if (!x->held[i])
			return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
		err = bind_queue(x, i, q, why);
		if (err)
			return err;
		x->nsocks++;
		by_queue[q] = x->fd[i];
		set_options(x, x->fd[i], cfg->busy_poll);
		all &= iw_xsk_dev_bring(d, q);
	}
	if (!all)
		x->loans->most = 0;
	/* Packets of several frames are copied together here. */
	x->joined_len = d->sg ? (size_t)IW_XSK_FRAGS * d->umem->frame_size : 0;
	x->joined = d->sg ? malloc(IW_XSK_BATCH * x->joined_len) : NULL;
	if (d->sg && !x->joined)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	d->packet_max =
		(d->umem->frame_size - (uint32_t)IW_XSK_HEADROOM) * (d->sg ? IW_XSK_FRAGS : 1);
	x->room_frames = (IW_XSK_HEAD + cfg->mtu + d->umem->frame_size - 1) / d->umem->frame_size;
	x->room_frames = IW_MIN(x->room_frames, d->sg ? (uint32_t)IW_XSK_FRAGS : 1u);
	err = iw_steer_worker_add(d->steer, &x->worker, by_queue, d->queues, why);
	if (err)
		return err;
	x->steered = true;
	/* A live frame is always a copy, so with application memory all packets use the rings. */
	if (d->lent_len == 0)
		x->live = iw_live_new(d->steer, x->worker, d->name, cfg->mtu);
	return 0;
}

int iw_xsk_open(struct iw_xsk **out, const struct iw_xsk_cfg *cfg, struct iw_fault *why)
{
	struct iw_xsk *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	x->share = IW_XSK_WORKERS_MAX;
	x->sends = cfg->sends;
	x->recvs = cfg->recvs;
	err = iw_xsk_dev_get(&x->dev, cfg, why);
	if (!err) {
		err = iw_xsk_loans_new(&x->loans, x->dev, why);
		if (err)
			iw_xsk_dev_put(x->dev);
	}
	if (err) {
		free(x);
		return err;
	}
	iw_xsk_devs_lock();
	err = iw_xsk_dev_join(x->dev, &x->share, why);
	if (!err)
		err = open_sockets(x, cfg, why);
	iw_xsk_devs_unlock();
	if (err) {
		iw_xsk_close(x);
		return err;
	}
	*out = x;
	return 0;
}

static unsigned queue_of(const struct iw_xsk *x, unsigned i)
{
	return (x->tx_queue + i) % x->dev->queues;
}

static unsigned sock_of(const struct iw_xsk *x, unsigned q)
{
	return (q + x->dev->queues - x->tx_queue) % x->dev->queues;
}

/* --- the end of a batch, and of a worker ------------------------------------------------------ */

/* At the end of a batch: removes lent frames from the frames to return, and adds those whose loans
 * were returned meanwhile. */
static void part_lent(struct iw_xsk *x)
{
	struct iw_xsk_loans *l = x->loans;

	if (l->out > 0)
		for (unsigned i = 0; i < x->nsocks; i++)
			x->nheld[i] = iw_xsk_loans_stay(l, queue_of(x, i), x->held[i], x->nheld[i]);
	for (uint32_t k = 0; k < l->nback; k++) {
		unsigned i = sock_of(x, iw_xsk_loan_at(x->dev, l->back[k])->queue);

		x->held[i][x->nheld[i]++] = l->back[k];
	}
	l->nback = 0;
}

static void return_held(struct iw_xsk *x)
{
	struct iw_xsk_dev *d = x->dev;
	bool any = x->loans->nback > 0;

	for (unsigned i = 0; i < x->nsocks; i++)
		any |= x->nheld[i] > 0;
	if (!any)
		return;
	part_lent(x);
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < x->nsocks; i++) {
		iw_xsk_dev_fill(d, queue_of(x, i), x->held[i], x->nheld[i], IW_FRAME_ENGINE);
		x->nheld[i] = 0;
	}
	pthread_mutex_unlock(&d->lock);
}

/* Takes the frames of unread packets out of the receive ring, into held. */
static void drain(struct iw_xsk *x, unsigned i)
{
	struct iw_xsk_dev *d = x->dev;
	uint32_t at, n = xsk_ring_cons__peek(&x->rx[i], d->ring_rx, &at);

	for (uint32_t k = 0; k < n; k++) {
		x->held[i][k] = xsk_ring_cons__rx_desc(&x->rx[i], at + k)->addr;
		iw_umem_pass(d->umem, x->held[i][k], IW_FRAME_KERNEL, IW_FRAME_ENGINE);
	}
	x->nheld[i] = n;
	xsk_ring_cons__release(&x->rx[i], n);
}

/* Sends the packets in the transmit ring as far as the kernel accepts them, before the socket
 * closes. */
static void flush(struct iw_xsk *x)
{
	for (int tries = 64;
	     tries > 0 && !x->broken && xsk_prod_nb_free(&x->tx, IW_XSK_RING_TX) < IW_XSK_RING_TX;
	     tries--)
		if (sendto(x->fd[0], NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN &&
		    errno != EBUSY && errno != ENOBUFS)
			break;
	/* Releases the frames of the packets that the kernel did not accept. */
	for (uint32_t at = __atomic_load_n(x->tx.consumer, __ATOMIC_ACQUIRE);
	     at != x->tx.cached_prod; at++)
		iw_xsk_dev_sent(x->dev, xsk_ring_prod__tx_desc(&x->tx, at)->addr);
}

void iw_xsk_close(struct iw_xsk *x)
{
	struct iw_xsk_dev *d;
	bool all_home;

	if (!x)
		return;
	d = x->dev;
	if (x->nsocks > 0)
		flush(x);
	iw_live_free(x->live);
	if (x->steered)
		iw_steer_worker_remove(d->steer, x->worker);
	/* Packets that the program was redirecting when the socket left the map reach the receive
	 * ring within one poll of their driver. Wait for that, because other users of the interface
	 * need the frames. */
	if (d->refs > 1)
		pause_ns(1000000);
	return_held(x);
	for (unsigned i = 0; i < x->nsocks; i++)
		drain(x, i);
	return_held(x);
	all_home = iw_xsk_loans_leave(x->loans);
	for (unsigned i = 0; i < x->nsocks; i++)
		xsk_socket__delete(x->sock[i]);
	for (unsigned i = 0; i < IW_XSK_QUEUES_MAX; i++)
		free(x->held[i]);
	free(x->joined);
	if (x->share < IW_XSK_WORKERS_MAX)
		iw_xsk_dev_leave(d, x->share);
	if (all_home)
		iw_xsk_dev_put(d);
	free(x);
}

/* --- facts ------------------------------------------------------------------------------------ */

struct iw_steer *iw_xsk_steer(struct iw_xsk *x)
{
	return x->dev->steer;
}

uint32_t iw_xsk_worker(const struct iw_xsk *x)
{
	return x->worker;
}

unsigned iw_xsk_fds(const struct iw_xsk *x, const int **fd)
{
	*fd = x->fd;
	return x->nsocks;
}

static bool has_zerocopy(int fd)
{
	struct xdp_options o = { 0 };
	socklen_t len = sizeof(o);

	return getsockopt(fd, SOL_XDP, XDP_OPTIONS, &o, &len) == 0 &&
	       o.flags & XDP_OPTIONS_ZEROCOPY;
}

static void socket_counts(int fd, struct xdp_statistics *s)
{
	socklen_t len = sizeof(*s);

	memset(s, 0, sizeof(*s));
	(void)getsockopt(fd, SOL_XDP, XDP_STATISTICS, s, &len);
}

void iw_xsk_facts(struct iw_xsk *x, struct iw_xsk_facts *out)
{
	struct iw_xsk_dev *d = x->dev;

	*out = (struct iw_xsk_facts){
		.native = iw_steer_facts(d->steer)->native,
		.zerocopy = has_zerocopy(x->fd[0]),
		.multi_buffer = d->sg,
		.queues = d->queues,
		.ring_rx = d->ring_rx,
		.loans = x->loans->most,
		.packet_max = d->packet_max,
		.tx = x->ntx,
		.live = x->nlive,
	};
	for (unsigned i = 0; i < x->nsocks; i++) {
		struct xdp_statistics s;

		socket_counts(x->fd[i], &s);
		out->rx_ring_full += s.rx_ring_full;
	}
}

void iw_xsk_publish(struct iw_xsk *x)
{
	struct iw_xsk_dev *d = x->dev;

	for (unsigned i = 0; i < x->nsocks; i++) {
		struct iw_xdp_sock now = {
			.pid = (uint32_t)getpid(),
			.flags = IW_XDP_SOCK_NEED_WAKEUP | (d->sg ? IW_XDP_SOCK_SG : 0) |
				 (x->busy_poll ? IW_XDP_SOCK_BUSY_POLL : 0) |
				 (has_zerocopy(x->fd[i]) ? IW_XDP_SOCK_ZEROCOPY : 0),
			.rx = i == 0 ? x->nrx : 0,
			.tx = i == 0 ? x->ntx : 0,
			.live = i == 0 ? x->nlive : 0,
		};
		struct xdp_statistics s;

		socket_counts(x->fd[i], &s);
		now.rx_dropped = s.rx_dropped;
		now.rx_ring_full = s.rx_ring_full;
		now.rx_fill_empty = s.rx_fill_ring_empty_descs;
		now.tx_invalid = s.tx_invalid_descs;
		(void)!iw_steer_publish_socket(d->steer, x->worker, queue_of(x, i), &now);
	}
}

/* --- in --------------------------------------------------------------------------------------- */

/* Returns the program's metadata in front of the frame; NULL: none. wipe_meta() has erased the
 * magic of earlier packets in this frame. */
static const struct iw_xdp_meta *take_meta(const uint8_t *data)
{
	const struct iw_xdp_meta *m =
		(const struct iw_xdp_meta *)(const void *)(data - sizeof(struct iw_xdp_meta));

	return m->magic == IW_XDP_META_MAGIC ? m : NULL;
}

static void wipe_meta(struct iw_xsk_dev *d, uint64_t addr)
{
	memset(iw_umem_at(d->umem, addr) - sizeof(struct iw_xdp_meta), 0, sizeof(uint32_t));
}

/* Fills *out with the packet number slot of the batch, of k descriptors beginning with `at`. */
static void take_packet(struct iw_xsk *x, unsigned i, uint32_t at, uint32_t k, unsigned slot,
			struct iw_xsk_rx *out)
{
	const struct xdp_desc *first = xsk_ring_cons__rx_desc(&x->rx[i], at);
	struct iw_umem *u = x->dev->umem;
	uint8_t *to;

	out->data = iw_umem_at(u, first->addr);
	out->len = first->len;
	out->meta = take_meta(out->data);
	/* The caller may lend all packets before this one, too. */
	out->lendable = k == 1 && x->loans->out + slot < x->loans->most;
	if (iw_likely(k == 1))
		return;
	to = x->joined + slot * x->joined_len;
	out->data = to;
	out->len = 0;
	for (uint32_t j = 0; j < k; j++) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&x->rx[i], at + j);

		if (d->len > x->joined_len - out->len)
			continue;
		memcpy(to + out->len, iw_umem_at(u, d->addr), d->len);
		out->len += d->len;
	}
}

static unsigned recv_from(struct iw_xsk *x, unsigned i, struct iw_xsk_rx *out, unsigned got,
			  unsigned cap)
{
	struct xsk_ring_cons *r = &x->rx[i];
	struct iw_umem *u = x->dev->umem;
	/* Peek all pending descriptors: the kernel publishes only whole packets, so the last packet
	 * is complete. */
	uint32_t at, n = xsk_ring_cons__peek(r, UINT32_MAX, &at), used = 0;

	while (used < n && got < cap) {
		uint32_t k = 1;

		while (used + k < n &&
		       xsk_ring_cons__rx_desc(r, at + used + k - 1)->options & XDP_PKT_CONTD)
			k++;
		if (used + EXPECTED < n) {
			const uint8_t *data = iw_umem_at(
				u, xsk_ring_cons__rx_desc(r, at + used + EXPECTED)->addr);

			__builtin_prefetch(data - sizeof(struct iw_xdp_meta));
			__builtin_prefetch(data);
		}
		take_packet(x, i, at + used, k, got, &out[got]);
		for (uint32_t j = 0; j < k; j++) {
			uint64_t addr = xsk_ring_cons__rx_desc(r, at + used + j)->addr;

			iw_umem_pass(u, addr, IW_FRAME_KERNEL, IW_FRAME_ENGINE);
			x->held[i][x->nheld[i]++] = addr;
		}
		used += k;
		got++;
	}
	if (used < n)
		xsk_ring_cons__cancel(r, n - used);
	if (used > 0)
		xsk_ring_cons__release(r, used);
	return got;
}

/* Lets the driver receive: with busy polling, or if it waits for frames in the fill ring. */
static void wake_fill(struct iw_xsk *x, unsigned i)
{
	if (!x->busy_poll && !xsk_ring_prod__needs_wakeup(&x->dev->queue[queue_of(x, i)].fill))
		return;
	if (x->recvs)
		++*x->recvs;
	(void)recvfrom(x->fd[i], NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

unsigned iw_xsk_waiting(const struct iw_xsk *x)
{
	unsigned n = 0;

	for (unsigned i = 0; i < x->nsocks; i++)
		n += __atomic_load_n(x->rx[i].producer, __ATOMIC_ACQUIRE) - x->rx[i].cached_cons;
	return n;
}

bool iw_xsk_ripe(struct iw_xsk *x, uint64_t now)
{
	unsigned n = iw_xsk_waiting(x);

	if (x->took) {
		x->took = false;
		x->took_at = now;
		x->shown = 0;
	}
	if (n == 0)
		return false;
	if (x->shown == 0)
		x->dense = now - x->took_at < DENSE_NS;
	if (n >= ENOUGH || !x->dense)
		return true;
	if (n != x->shown) {
		x->shown = n;
		x->grew_at = now;
	}
	return now - x->grew_at > PAUSE_NS;
}

unsigned iw_xsk_recv(struct iw_xsk *x, struct iw_xsk_rx *out, unsigned cap)
{
	unsigned got = 0;

	x->took = true;
	cap = IW_MIN(cap, (unsigned)IW_XSK_BATCH);
	for (unsigned i = 0; i < x->nsocks; i++)
		for (uint32_t k = 0; k < x->nheld[i]; k++)
			wipe_meta(x->dev, x->held[i][k]);
	return_held(x);
	for (unsigned k = 0; k < x->nsocks && got < cap; k++) {
		unsigned i = (x->next + k) % x->nsocks;

		got = recv_from(x, i, out, got, cap);
		if (got == 0)
			wake_fill(x, i);
	}
	x->next = x->nsocks > 1 ? (x->next + 1) % x->nsocks : 0;
	x->nrx += got;
	return got;
}

struct iw_lender *iw_xsk_lend(struct iw_xsk *x, const uint8_t *data)
{
	return iw_xsk_loans_add(x->loans, data);
}

/* --- out -------------------------------------------------------------------------------------- */

/* True if the kernel has yet to skip descriptors that take_back_unread() made invalid. */
static bool has_voids(struct iw_xsk *x)
{
	if (x->voids)
		x->voids = (int32_t)(x->voided -
				     __atomic_load_n(x->tx.consumer, __ATOMIC_ACQUIRE)) > 0;
	return x->voids;
}

/* Lets the kernel send. In copy mode, one system call sends a limited number of packets, or skips
 * one invalid descriptor, so it is repeated. Returns 0, also if the interface is full or down;
 * IW_E_OS: the socket is broken. */
static int kick(struct iw_xsk *x, struct iw_fault *why)
{
	int tries = IW_XSK_TX / 32 + 2 + (x->voids ? IW_XSK_RING_TX : 0);

	for (; tries > 0; tries--) {
		bool voids = has_voids(x);

		if (!xsk_ring_prod__needs_wakeup(&x->tx))
			return 0;
		if (x->sends)
			++*x->sends;
		if (sendto(x->fd[0], NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0) {
			if (!voids)
				return 0;
			continue;
		}
		if (errno == EAGAIN && xsk_prod_nb_free(&x->tx, IW_XSK_RING_TX) < IW_XSK_RING_TX)
			continue;
		if (errno == EAGAIN || errno == EBUSY || errno == ENOBUFS || errno == ENETDOWN)
			return 0;
		x->broken = true;
		return iw_os_fail(why, errno, "xdp: send on %s", x->dev->name);
	}
	return 0;
}

/* True if n frames of our share, beginning with `at`, are free. */
static bool is_free(const struct iw_xsk *x, uint32_t at, uint32_t n)
{
	const uint8_t *busy = x->dev->busy + x->share * IW_XSK_TX;

	for (uint32_t i = at; i < at + n; i++)
		if (__atomic_load_n(&busy[i], __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static void reap_own(struct iw_xsk *x)
{
	pthread_mutex_lock(&x->dev->lock);
	iw_xsk_dev_reap(x->dev, x->tx_queue);
	pthread_mutex_unlock(&x->dev->lock);
}

/* Sets x->at to n contiguous free frames of our share. False: none are free now. */
static bool find_room(struct iw_xsk *x, uint32_t n)
{
	/* They need descriptors, and so does the rest of a packet, in application memory. */
	if (xsk_prod_nb_free(&x->tx, n + IW_XSK_FRAGS) < n + IW_XSK_FRAGS)
		return false;
	if (x->at + n > IW_XSK_TX)
		x->at = 0;
	if (iw_likely(is_free(x, x->at, n)))
		return true;
	reap_own(x);
	if (is_free(x, x->at, n))
		return true;
	/* Otherwise use any free frames. */
	for (uint32_t at = 0; at + n <= IW_XSK_TX; at += n)
		if (is_free(x, at, n)) {
			x->at = at;
			return true;
		}
	return false;
}

static uint64_t addr_at(const struct iw_xsk *x)
{
	return (uint64_t)(x->share * IW_XSK_TX + x->at) * x->dev->umem->frame_size;
}

/* True if the next packet is sent as a live frame (loader/live.h). */
static bool goes_live(struct iw_xsk *x)
{
	if (!x->live)
		return false;
	/* A burst uses either the rings or live frames. */
	return iw_live_waiting(x->live) > 0 || (x->put == 0 && iw_live_ready(x->live, iw_os_now()));
}

static void flush_live(struct iw_xsk *x);

uint8_t *iw_xsk_room(struct iw_xsk *x, size_t *cap)
{
	x->room_live = goes_live(x);
	if (x->room_live) {
		uint8_t *to = iw_live_room(x->live, cap);

		if (to)
			return to;
		flush_live(x);
		return iw_live_room(x->live, cap);
	}
	*cap = (size_t)x->room_frames * x->dev->umem->frame_size - IW_XSK_HEAD;
	if (!find_room(x, x->room_frames))
		return NULL;
	return iw_umem_at(x->dev->umem, addr_at(x)) + IW_XSK_HEAD;
}

bool iw_xsk_owns(const struct iw_xsk *x, const void *p, size_t len)
{
	const struct iw_xsk_dev *d = x->dev;
	const uint8_t *from = iw_umem_at(d->umem, d->lent_at), *at = p;

	return d->lent_len > 0 && d->sg && at >= from && at - from <= (ptrdiff_t)d->lent_len &&
	       len <= d->lent_len - (size_t)(at - from) &&
	       len <= (IW_XSK_FRAGS - 3) * (size_t)d->umem->frame_size;
}

uint64_t iw_xsk_in_place(const struct iw_xsk *x)
{
	return x->in_place;
}

/* Writes a descriptor into the transmit ring. more: the packet continues in the next one. */
static void describe(struct iw_xsk *x, uint64_t addr, size_t len, bool more)
{
	uint32_t at = 0;

	/* Cannot fail: find_room has checked that a descriptor is free. */
	(void)xsk_ring_prod__reserve(&x->tx, 1, &at);
	*xsk_ring_prod__tx_desc(&x->tx, at) = (struct xdp_desc){
		.addr = addr, .len = (uint32_t)len, .options = more ? XDP_PKT_CONTD : 0
	};
	x->put++;
}

/* Writes the head of a packet in front of its octets in the frames at addr_at, and descriptors for
 * all of it. */
static void put_frames(struct iw_xsk *x, const uint8_t *head, size_t head_len, size_t len,
		       const uint8_t *rest, size_t rest_len)
{
	struct iw_umem *u = x->dev->umem;
	uint64_t base = addr_at(x), addr = base + IW_XSK_HEAD - head_len;
	size_t n, left = head_len + len;

	assert(head_len <= IW_XSK_HEAD);
	memcpy(iw_umem_at(u, addr), head, head_len);
	for (; left > 0; left -= n) {
		n = IW_MIN(left, (size_t)(base + u->frame_size - addr));
		describe(x, addr, n, left > n || rest_len > 0);
		iw_umem_pass(u, base, IW_FRAME_SENDER, IW_FRAME_TX);
		x->dev->busy[iw_umem_frame(u, base)] = 1;
		x->at++;
		base += u->frame_size;
		addr = base;
	}
	/* No descriptor may cross the end of a frame. */
	addr = rest_len > 0 ? (uint64_t)(rest - u->area) : 0;
	for (left = rest_len; left > 0; left -= n) {
		n = IW_MIN(left, (size_t)(u->frame_size - addr % u->frame_size));
		describe(x, addr, n, left > n);
		addr += n;
	}
	x->in_place += rest_len;
	x->ntx++;
}

/*
 * Withdraws packets that the kernel has not read because the interface is down or full. In copy
 * mode the kernel reads the ring only during our system calls, so not now. It may have seen the
 * producer index, so the descriptors remain, changed into invalid ones: the kernel skips and counts
 * these. A driver with zero-copy may read at any time, so nothing can be withdrawn.
 */
static void take_back_unread(struct iw_xsk *x)
{
	uint32_t at = __atomic_load_n(x->tx.consumer, __ATOMIC_ACQUIRE);

	if (at == x->tx.cached_prod || has_zerocopy(x->fd[0]))
		return;
	for (; at != x->tx.cached_prod; at++) {
		struct xdp_desc *d = xsk_ring_prod__tx_desc(&x->tx, at);

		iw_xsk_dev_sent(x->dev, d->addr);
		*d = (struct xdp_desc){ .addr = UINT64_MAX };
	}
	x->voided = at;
	x->voids = true;
}

void iw_xsk_put(struct iw_xsk *x, const uint8_t *head, size_t head_len, size_t len,
		const uint8_t *rest, size_t rest_len)
{
	if (x->room_live)
		iw_live_put(x->live, head, head_len, len);
	else
		put_frames(x, head, head_len, len, rest, rest_len);
}

/* Copies a packet that was meant for a live frame into the transmit ring. Without room there it is
 * lost. */
static void put_whole(struct iw_xsk *x, const uint8_t *packet, size_t len)
{
	size_t head = IW_MIN(len, (size_t)IW_XSK_HEAD);

	if (!find_room(x, x->room_frames))
		return;
	memcpy(iw_umem_at(x->dev->umem, addr_at(x)) + IW_XSK_HEAD, packet + head, len - head);
	put_frames(x, packet, head, len - head, NULL, 0);
}

/* Sends the pending live packets. Those too few for a burst, or not accepted, use the ring. */
static void flush_live(struct iw_xsk *x)
{
	unsigned n = iw_live_waiting(x->live), sent = 0;

	if (n >= IW_LIVE_LEAST || !find_room(x, n * x->room_frames)) {
		if (x->sends)
			++*x->sends;
		sent = iw_live_send(x->live);
		x->ntx += sent;
		x->nlive += sent;
	}
	for (; sent < n; sent++) {
		size_t len;
		const uint8_t *packet = iw_live_packet(x->live, sent, &len);

		put_whole(x, packet, len);
	}
	iw_live_clear(x->live);
}

int iw_xsk_settle(struct iw_xsk *x, struct iw_fault *why)
{
	uint64_t begun = iw_os_now(), now = begun;

	while (x->dev->lent_len > 0) {
		int err;

		reap_own(x);
		/* The kernel completes a packet's frame after it has read the whole packet, with
		 * its rest. */
		if (is_free(x, 0, IW_XSK_TX))
			break;
		if (now - begun > SETTLE_TIME) {
			x->broken = true;
			return iw_fail(why, IW_E_OS, "xdp: interface %s accepts no packets",
				       x->dev->name);
		}
		err = kick(x, why);
		if (err)
			return err;
		now = iw_os_now();
		if (now - begun <= SETTLE_SOON)
			continue;
		take_back_unread(x);
		pause_ns(100000);
	}
	return 0;
}

bool iw_xsk_unsent(const struct iw_xsk *x)
{
	return x->put > 0 || (x->live && iw_live_waiting(x->live) > 0);
}

int iw_xsk_flush(struct iw_xsk *x, struct iw_fault *why)
{
	int err;

	if (x->live && iw_live_waiting(x->live) > 0)
		flush_live(x);
	if (x->put == 0)
		return 0;
	if (x->broken)
		return iw_fail(why, IW_E_OS, "xdp: the socket on %s is broken", x->dev->name);
	xsk_ring_prod__submit(&x->tx, x->put);
	x->put = 0;
	err = kick(x, why);
	/* Start again at the first frames: completed ones are still in the cache. */
	reap_own(x);
	x->at = 0;
	return err;
}

bool iw_xsk_retry(struct iw_xsk *x)
{
	reap_own(x);
	if (find_room(x, IW_XSK_TX / 2))
		return true;
	return kick(x, NULL) < 0;
}

int iw_xsk_send(struct iw_xsk *x, const struct iw_xsk_tx *tx, unsigned n, struct iw_fault *why)
{
	uint32_t fs = x->dev->umem->frame_size, need = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t frames = (uint32_t)((IW_XSK_HEAD + tx[i].len + fs - 1) / fs);

		if (frames > (x->dev->sg ? IW_XSK_FRAGS : 1))
			return iw_fail(
				why, IW_E_LIMIT,
				"xdp: a packet of %U octets needs %u frames of %u octets, which is too many",
				(uint64_t)(tx[i].head_len + tx[i].len), frames, fs);
		need += frames;
	}
	if (need > IW_XSK_TX || !find_room(x, need)) {
		int err = kick(x, why);

		if (err)
			return err;
		if (need > IW_XSK_TX || !find_room(x, need))
			return IW_E_AGAIN;
	}
	for (unsigned i = 0; i < n; i++) {
		uint8_t *to = iw_umem_at(x->dev->umem, addr_at(x)) + IW_XSK_HEAD;

		if (tx[i].data)
			memcpy(to, tx[i].data, tx[i].len);
		put_frames(x, tx[i].head, tx[i].head_len, tx[i].len, NULL, 0);
	}
	return iw_xsk_flush(x, why);
}
