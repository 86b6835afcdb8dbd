// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* AF_XDP sockets: an interface that the workers of this process share, and their rings. */
#include "pkt/xsk.h"

#ifdef IW_HAVE_XDP

#include <assert.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xdp/xsk.h>

#include "os/os.h"
#include "pkt/umem.h"
#include "util/lend.h"
#include "util/list.h"
#include "util/num.h"
#include "util/text.h"

/* Linux 6.6; older headers lack them. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif
/* Linux 6.17: packets that one call sends in copy mode, 32 unless said otherwise. */
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

#define QUEUES_MAX  64
#define WORKERS_MAX 8                  /* of one process on one interface */
#define UMEM_MOST   (24 * 1024 * 1024) /* octets; workers become fewer, not frames */
#define RING_RX     2048               /* of all queues of one worker */
#define RING_TX                                                                                    \
	(2 *                                                                                       \
	 IW_XSK_TX) /* descriptors: a packet that is sent in place has more of them than frames */
#define RING_RX_MIN  256 /* of one */
#define LOANS        4   /* one of so many frames of a ring can be lent */
/* In front of each received frame: XDP_PACKET_HEADROOM, and what the program notes. */
#define HEAD         (256 + sizeof(struct iw_xdp_meta))
#define ETHER_LEN    18                /* with a VLAN tag */
#define SNDBUF       (8 * 1024 * 1024) /* copy mode: skbs on their way count against it */
#define TX_BUDGET    256
#define MEMORY_MOST  ((size_t)1 << 30) /* of the program's own */
#define SETTLE_TIME  IW_SEC(1)
/* Packets are dense when the first comes so soon behind a batch; their batch is over when none came for so long, or when
 * there are enough. */
#define DENSE_NS     10000
#define PAUSE_NS     4000
#define ENOUGH       32
#define BIND_TRIES   100 /* a queue is free only some time after its last socket was closed */
#define BIND_WAIT_NS 10000000

/*
 * The UMEM is registered for each queue. libxdp lets a further socket share it by the descriptor that registered
 * it, and the kernel takes a socket of the same queue there and no other.
 */
struct queue {
	struct xsk_umem *reg;
	/* Under the lock: */
	struct xsk_ring_prod fill;
	struct xsk_ring_cons comp;
	uint32_t frames; /* in the fill ring, in receive rings, being read */
};

/* A frame whose octets the program reads where they are; the thread of its worker alone looks at it. */
struct loan {
	uint16_t times; /* lent, and not given back yet */
	uint8_t sock;   /* of the worker's, from when its batch is over and the frame is not */
	bool apart;     /* it is over */
};

struct dev {
	struct iw_list all;
	struct stat ns; /* network namespace: interface numbers mean nothing without */
	unsigned ifindex;
	char name[IF_NAMESIZE];
	unsigned refs; /* under devs_lock */
	struct iw_steer *steer;
	struct iw_umem *umem;
	unsigned queues, workers_max;
	uint32_t ring_rx; /* of one worker on one queue */
	uint32_t packet_max;
	uint16_t bind_flags;
	enum iw_xsk_mode mode;
	enum iw_xdp_mode attached;
	bool sg;
	pthread_mutex_t lock;
	struct iw_xsk *worker[WORKERS_MAX];
	/* Of each frame that is set apart for sending, IW_XSK_TX for each share: on its way. Its owner sets it, and
	 * whoever finds it in a completion ring clears it. */
	uint8_t *busy;
	struct loan *loan; /* of each frame */
	/* Memory of the program's own. */
	uint64_t lent_at;
	size_t lent_len;
	struct queue queue[QUEUES_MAX];
};

struct iw_xsk {
	struct iw_lender lender;
	struct dev *dev;
	unsigned share; /* our place in dev->worker */
	uint32_t worker;
	bool steered, busy_poll;
	unsigned nsocks, next; /* next: the queue that is read first */
	struct xsk_socket *sock[QUEUES_MAX];
	int fd[QUEUES_MAX];
	struct xsk_ring_cons rx[QUEUES_MAX];
	struct xsk_ring_prod tx; /* on queue tx_queue, whose descriptor is fd[0] */
	unsigned tx_queue;
	uint32_t room_frames; /* that room() gives at once */
	uint32_t at,
		put; /* the frame, of our share, that room() is at; descriptors since the flush */
	bool broken;
	/* iw_xsk_ripe: of the batch that gathers, what was there at the last look, and since when; when the first look behind
	 * the last batch was. */
	unsigned shown;
	bool took, dense;
	uint64_t took_at, grew_at;
	/* Frames of the last batch, by queue. */
	uint64_t *held[QUEUES_MAX];
	uint32_t nheld[QUEUES_MAX];
	/* Frames that are lent: all, by queue those whose batch is over, and those of the latter that came back. */
	uint32_t lent, lent_max, apart[QUEUES_MAX];
	uint64_t *back;
	uint32_t nback;
	bool closed;     /* and waits for them */
	uint8_t *joined; /* IW_XSK_BATCH packets of several frames, put together */
	size_t joined_len;
	uint64_t nrx, ntx, in_place;
	uint64_t *sends, *recvs; /* the caller's counts of system calls */
};

struct iw_xdp_memory {
	struct dev *dev;
};

static pthread_mutex_t devs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct iw_list devs = { &devs, &devs };
static volatile uint64_t *counted; /* iw_xsk_count_at */

/* --- sizes ------------------------------------------------------------------------------------ */

static uint32_t ring_of(unsigned queues)
{
	uint32_t n = RING_RX;

	while (n > RING_RX_MIN && n * queues > RING_RX)
		n /= 2;
	return n;
}

/* A frame for each packet where that fits; else pages, so that packets are of few frames. */
static uint32_t frame_size_for(const struct iw_xsk_cfg *cfg)
{
	if (cfg->frame_size)
		return cfg->frame_size;
	return cfg->mtu + ETHER_LEN + HEAD <= 2048 ? 2048 : 4096;
}

/* --- the interface ---------------------------------------------------------------------------- */

static int make_umem(struct dev *d, uint32_t frame_size, size_t lent, struct iw_fault *why)
{
	uint32_t share = d->queues * d->ring_rx + IW_XSK_TX;
	uint32_t workers = UMEM_MOST / (share * frame_size);
	struct iw_umem_cfg cfg = {
		.frames = IW_MAX(IW_MIN(workers, (uint32_t)WORKERS_MAX), 1u) * share,
		.share = share,
		.lent = (uint32_t)((lent + frame_size - 1) / frame_size),
		.frame_size = frame_size,
		.times = d->queues,
	};
	int err = iw_umem_new(&d->umem, &cfg, why);

	if (err)
		return err;
	d->workers_max = (d->umem->frames - cfg.lent) / share;
	d->busy = calloc(d->workers_max, IW_XSK_TX);
	d->loan = calloc(d->umem->frames, sizeof(*d->loan));
	if (!d->busy || !d->loan)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	(void)iw_umem_set_apart(d->umem, d->workers_max * IW_XSK_TX, IW_FRAME_SENDER);
	d->lent_at = iw_umem_set_apart(d->umem, cfg.lent, IW_FRAME_LENT);
	d->lent_len = lent;
	return 0;
}

static int register_umem(struct dev *d, struct queue *q, struct iw_fault *why)
{
	struct xsk_umem_config cfg = {
		/* All frames fit, whoever gives them back. */
		.fill_size = WORKERS_MAX * d->ring_rx,
		.comp_size = WORKERS_MAX * RING_TX,
		.frame_size = d->umem->frame_size,
	};
	int err = -xsk_umem__create(&q->reg, d->umem->area,
				    (uint64_t)d->umem->frames * d->umem->frame_size, &q->fill,
				    &q->comp, &cfg);

	if (err == ENOBUFS)
		return iw_fail(
			why, IW_E_LIMIT,
			"xdp: locked memory is limited (RLIMIT_MEMLOCK) and %U octets are too "
			"much: raise it with ulimit -l",
			(uint64_t)d->umem->len);
	return err ? iw_os_fail(why, err, "xdp: register %zu octets with AF_XDP", d->umem->len) : 0;
}

/* Sockets first: the UMEM's own descriptor holds the first one. */
static void unregister_umem(struct dev *d)
{
	for (unsigned q = 0; q < d->queues; q++)
		if (d->queue[q].reg)
			(void)xsk_umem__delete(d->queue[q].reg);
}

/* Of the program's own memory. */
static uint32_t memory_frames(const struct dev *d)
{
	return (uint32_t)((d->lent_len + d->umem->frame_size - 1) / d->umem->frame_size);
}

/* When the last worker has gone nobody reads a frame, and each is where it is said to be. */
static void check_frames(const struct dev *d)
{
	uint32_t has[IW_FRAME_OWNERS], kernel = 0, apart = d->workers_max * IW_XSK_TX;

	iw_umem_census(d->umem, has);
	for (unsigned q = 0; q < d->queues; q++)
		kernel += d->queue[q].frames;
	assert(has[IW_FRAME_ENGINE] == 0 && has[IW_FRAME_LOAN] == 0);
	assert(has[IW_FRAME_KERNEL] == kernel);
	assert(has[IW_FRAME_SENDER] + has[IW_FRAME_TX] == apart);
	assert(has[IW_FRAME_FREE] == d->umem->nfree);
	assert(has[IW_FRAME_LENT] == memory_frames(d));
	(void)kernel;
	(void)apart;
}

static void dev_free(struct dev *d)
{
	if (d->loan)
		check_frames(d);
	unregister_umem(d);
	iw_umem_put(d->umem);
	iw_steer_close(d->steer);
	pthread_mutex_destroy(&d->lock);
	free(d->busy);
	free(d->loan);
	free(d);
}

static int dev_new(struct dev **out, const struct iw_xsk_cfg *cfg, size_t lent,
		   struct iw_fault *why)
{
	struct iw_steer_cfg sc = { .interface = cfg->interface, .mode = cfg->attached };
	const struct iw_steer_facts *f;
	struct dev *d = calloc(1, sizeof(*d));
	uint32_t frame_size = frame_size_for(cfg);
	int err;

	if (!d)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	pthread_mutex_init(&d->lock, NULL);
	strncpy(d->name, cfg->interface, sizeof(d->name) - 1);
	d->mode = cfg->mode;
	d->attached = cfg->attached;
	err = iw_steer_open(&d->steer, &sc, why);
	if (err) {
		dev_free(d);
		return err;
	}
	f = iw_steer_facts(d->steer);
	d->ifindex = f->ifindex;
	d->queues = IW_MIN(f->queues, (unsigned)QUEUES_MAX);
	d->ring_rx = ring_of(d->queues);
	d->sg = true; /* until the kernel says no */
	if (f->queues > QUEUES_MAX)
		err = iw_fail(
			why, IW_E_LIMIT,
			"xdp: interface %s has %u queues and %u are taken care of: ethtool -L %s "
			"combined %u",
			cfg->interface, (unsigned)f->queues, (unsigned)QUEUES_MAX, cfg->interface,
			(unsigned)QUEUES_MAX);
	if (!err)
		err = make_umem(d, frame_size, lent, why);
	if (err) {
		dev_free(d);
		return err;
	}
	*out = d;
	return 0;
}

static struct dev *dev_find(const char *name, const struct stat *ns)
{
	for (struct iw_list *n = devs.next; n != &devs; n = n->next) {
		struct dev *d = iw_container_of(n, struct dev, all);

		if (strcmp(d->name, name) == 0 && d->ns.st_ino == ns->st_ino &&
		    d->ns.st_dev == ns->st_dev)
			return d;
	}
	return NULL;
}

static int dev_get(struct dev **out, const struct iw_xsk_cfg *cfg, size_t lent,
		   struct iw_fault *why)
{
	struct stat ns = { 0 };
	struct dev *d;
	int err = 0;

	(void)stat("/proc/thread-self/ns/net", &ns);
	pthread_mutex_lock(&devs_lock);
	d = dev_find(cfg->interface, &ns);
	if (d && lent > 0)
		err = iw_fail(
			why, IW_E_BUSY,
			"xdp: this process uses interface %s already: memory in its UMEM is to "
			"be had before the first connection there",
			cfg->interface);
	if (!d) {
		err = dev_new(&d, cfg, lent, why);
		if (!err) {
			d->ns = ns;
			iw_list_add_tail(&devs, &d->all);
		}
	}
	if (!err && (d->mode != cfg->mode || d->attached != cfg->attached))
		err = iw_fail(why, IW_E_BUSY,
			      "xdp: this process uses interface %s otherwise already: all of its "
			      "connections there want the same",
			      cfg->interface);
	if (!err) {
		d->refs++;
		*out = d;
	}
	pthread_mutex_unlock(&devs_lock);
	return err;
}

static void dev_put(struct dev *d)
{
	pthread_mutex_lock(&devs_lock);
	if (--d->refs == 0) {
		iw_list_del(&d->all);
		dev_free(d);
	}
	pthread_mutex_unlock(&devs_lock);
}

int iw_xsk_memory_new(struct iw_xdp_memory **out, const struct iw_xsk_cfg *cfg, size_t len,
		      struct iw_fault *why)
{
	struct iw_xdp_memory *m = calloc(1, sizeof(*m));
	int err = m ? 0 : IW_E_NOMEM;

	if (err)
		return iw_fail(why, err, "xdp: no memory");
	if (len == 0 || len > MEMORY_MOST)
		err = iw_fail(why, IW_E_INVAL, "xdp: %U octets of memory in the UMEM: 1 to %U",
			      (uint64_t)len, (uint64_t)MEMORY_MOST);
	if (!err)
		err = dev_get(&m->dev, cfg, len, why);
	if (err) {
		free(m);
		return err;
	}
	*out = m;
	return 0;
}

void *iw_xsk_memory_at(struct iw_xdp_memory *m)
{
	return iw_umem_at(m->dev->umem, m->dev->lent_at);
}

void iw_xsk_memory_free(struct iw_xdp_memory *m)
{
	if (m)
		dev_put(m->dev);
	free(m);
}

/* --- frames, under the lock ------------------------------------------------------------------- */

static void fill(struct dev *d, unsigned q, const uint64_t *addr, uint32_t n,
		 enum iw_frame_owner from)
{
	struct xsk_ring_prod *r = &d->queue[q].fill;
	uint32_t at;

	if (n == 0)
		return;
	/* It has room for all frames there are. */
	if (xsk_ring_prod__reserve(r, n, &at) != n) {
		assert(!"the fill ring has room");
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t base = addr[i] & ~(uint64_t)(d->umem->frame_size - 1);

		iw_umem_pass(d->umem, base, from, IW_FRAME_KERNEL);
		*xsk_ring_prod__fill_addr(r, at + i) = base;
	}
	xsk_ring_prod__submit(r, n);
}

static void reap(struct dev *d, unsigned q)
{
	struct xsk_ring_cons *r = &d->queue[q].comp;
	uint32_t at, n = xsk_ring_cons__peek(r, UINT32_MAX, &at);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t addr = *xsk_ring_cons__comp_addr(r, at + i);

		/* Of the program's own memory nothing is to be told. */
		if (iw_umem_frame(d->umem, addr) >= d->workers_max * IW_XSK_TX)
			continue;
		iw_umem_pass(d->umem, addr, IW_FRAME_TX, IW_FRAME_SENDER);
		__atomic_store_n(&d->busy[iw_umem_frame(d->umem, addr)], 0, __ATOMIC_RELEASE);
	}
	if (n > 0)
		xsk_ring_cons__release(r, n);
}

/* --- loans ------------------------------------------------------------------------------------ */

static struct loan *loan_of(const struct dev *d, uint64_t addr)
{
	return &d->loan[iw_umem_frame(d->umem, addr)];
}

struct iw_lender *iw_xsk_lend(struct iw_xsk *x, const uint8_t *data)
{
	struct dev *d = x->dev;
	uint64_t addr = (uint64_t)(data - d->umem->area);
	struct loan *l = loan_of(d, addr);

	assert(!l->apart && l->times < UINT16_MAX);
	if (l->times++ == 0) {
		assert(x->lent < x->lent_max);
		iw_umem_pass(d->umem, addr, IW_FRAME_ENGINE, IW_FRAME_LOAN);
		x->lent++;
	}
	return &x->lender;
}

/* Of the last batch's frames those that are lent stay behind when the others go. */
static void set_apart(struct iw_xsk *x, unsigned i)
{
	uint32_t kept = 0;

	for (uint32_t k = 0; k < x->nheld[i]; k++) {
		struct loan *l = loan_of(x->dev, x->held[i][k]);

		if (l->times > 0) {
			l->apart = true;
			l->sock = (uint8_t)i;
			x->apart[i]++;
		} else {
			x->held[i][kept++] = x->held[i][k];
		}
	}
	x->nheld[i] = kept;
}

/* Those that came back go with them. */
static void rejoin(struct iw_xsk *x)
{
	for (uint32_t k = 0; k < x->nback; k++) {
		unsigned i = loan_of(x->dev, x->back[k])->sock;

		x->held[i][x->nheld[i]++] = x->back[k];
	}
	x->nback = 0;
}

/* True: it is not lent any more, and its batch, with which it would have gone, is over. */
static bool is_back(struct iw_xsk *x, uint64_t addr)
{
	struct loan *l = loan_of(x->dev, addr);

	assert(l->times > 0);
	if (--l->times > 0)
		return false;
	iw_umem_pass(x->dev->umem, addr, IW_FRAME_LOAN, IW_FRAME_ENGINE);
	x->lent--;
	if (!l->apart)
		return false;
	l->apart = false;
	x->apart[l->sock]--;
	return true;
}

/* Its worker has left, and took it out of the count of its queue. */
static void take_back_late(struct iw_xsk *x, uint64_t addr)
{
	struct dev *d = x->dev;

	pthread_mutex_lock(&d->lock);
	if (is_back(x, addr))
		iw_umem_give(d->umem, addr, IW_FRAME_ENGINE);
	pthread_mutex_unlock(&d->lock);
	if (x->lent > 0)
		return;
	free(x);
	dev_put(d);
}

static void take_back(struct iw_lender *lender, const uint8_t *data)
{
	struct iw_xsk *x = iw_container_of(lender, struct iw_xsk, lender);
	uint64_t addr = (uint64_t)(data - x->dev->umem->area);

	if (x->closed)
		take_back_late(x, addr);
	else if (is_back(x, addr))
		x->back[x->nback++] = addr;
}

/* --- a worker --------------------------------------------------------------------------------- */

static void pause_ns(long ns)
{
	const struct timespec t = { .tv_nsec = ns };

	(void)nanosleep(&t, NULL);
}

/* What the kernel does not have is left out, and what it was is told afterwards. */
static int create(struct iw_xsk *x, unsigned i, unsigned q, uint16_t flags)
{
	struct dev *d = x->dev;
	struct xsk_socket_config cfg = {
		.rx_size = d->ring_rx,
		.tx_size = RING_TX,
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
	struct dev *d = x->dev;
	uint16_t flags = (uint16_t)(modes[d->mode] | XDP_USE_NEED_WAKEUP);
	int err = 0, tries = BIND_TRIES;

	if (!d->queue[q].reg)
		err = register_umem(d, &d->queue[q], why);
	if (err)
		return err;
	do {
		err = create(x, i, q, (uint16_t)(flags | (d->sg ? XDP_USE_SG : 0)));
		/* Before Linux 6.6 no packet is of several frames. */
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
			"xdp: queue %u of interface %s is taken: another program has an AF_XDP "
			"socket on it; one process at a time can have a queue",
			(unsigned)q, d->name);
	if (err == EOPNOTSUPP && d->mode == IW_XSK_ZEROCOPY)
		return iw_fail(why, IW_E_NOTSUP,
			       "xdp: interface %s: its driver has no zero-copy%s: leave it out",
			       d->name, d->sg ? " for frames of several buffers" : "");
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

static int take_share(struct iw_xsk *x, struct iw_fault *why)
{
	struct dev *d = x->dev;

	for (unsigned i = 0; i < d->workers_max; i++)
		if (!d->worker[i]) {
			d->worker[i] = x;
			x->share = i;
			return 0;
		}
	return iw_fail(
		why, IW_E_LIMIT,
		"xdp: %u workers of this process use interface %s, and its frames are shared "
		"out: use fewer at once",
		(unsigned)d->workers_max, d->name);
}

/* The frames that its receive ring can hold, unless a worker that left has left them there. False: there are not so
 * many, because workers that left have lent theirs. */
static bool bring_frames(struct iw_xsk *x, unsigned q)
{
	struct dev *d = x->dev;
	uint64_t addr[RING_RX];
	uint32_t want = 0, n;

	for (unsigned i = 0; i < d->workers_max; i++)
		want += d->worker[i] ? d->ring_rx : 0;
	pthread_mutex_lock(&d->lock);
	want -= IW_MIN(want, d->queue[q].frames);
	n = iw_umem_take(d->umem, addr, IW_MIN(want, d->ring_rx), IW_FRAME_ENGINE);
	d->queue[q].frames += n;
	fill(d, q, addr, n, IW_FRAME_ENGINE);
	pthread_mutex_unlock(&d->lock);
	return n == want;
}

static int open_sockets(struct iw_xsk *x, const struct iw_xsk_cfg *cfg, struct iw_fault *why)
{
	struct dev *d = x->dev;
	int by_queue[QUEUES_MAX], err;
	bool all = true;

	x->tx_queue = x->share % d->queues;
	for (unsigned i = 0; i < d->queues; i++) {
		/* The one that sends comes first. */
		unsigned q = (x->tx_queue + i) % d->queues;

		/* All of a ring, and all that come back. */
		x->held[i] = malloc((d->ring_rx + d->ring_rx / LOANS + IW_XSK_FRAGS) *
				    sizeof(*x->held[i]));
		if (!x->held[i])
			return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
		err = bind_queue(x, i, q, why);
		if (err)
			return err;
		x->nsocks++;
		by_queue[q] = x->fd[i];
		set_options(x, x->fd[i], cfg->busy_poll);
		all &= bring_frames(x, q);
	}
	x->lent_max = all ? d->ring_rx / LOANS : 0;
	x->back = malloc(d->ring_rx / LOANS * sizeof(*x->back));
	if (!x->back)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	/* A packet of several frames is put together here. */
	x->joined_len = d->sg ? (size_t)IW_XSK_FRAGS * d->umem->frame_size : 0;
	x->joined = d->sg ? malloc(IW_XSK_BATCH * x->joined_len) : NULL;
	if (d->sg && !x->joined)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	d->packet_max = (d->umem->frame_size - (uint32_t)HEAD) * (d->sg ? IW_XSK_FRAGS : 1);
	x->room_frames = (IW_XSK_HEAD + cfg->mtu + d->umem->frame_size - 1) / d->umem->frame_size;
	x->room_frames = IW_MIN(x->room_frames, d->sg ? (uint32_t)IW_XSK_FRAGS : 1u);
	err = iw_steer_worker_add(d->steer, &x->worker, by_queue, d->queues, why);
	x->steered = err == 0;
	return err;
}

int iw_xsk_open(struct iw_xsk **out, const struct iw_xsk_cfg *cfg, struct iw_fault *why)
{
	struct iw_xsk *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	x->lender.take_back = take_back;
	x->share = WORKERS_MAX;
	x->sends = cfg->sends;
	x->recvs = cfg->recvs;
	err = dev_get(&x->dev, cfg, 0, why);
	if (err) {
		free(x);
		return err;
	}
	pthread_mutex_lock(&devs_lock);
	err = take_share(x, why);
	if (!err)
		err = open_sockets(x, cfg, why);
	pthread_mutex_unlock(&devs_lock);
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

/* --- the end of a batch, and of a worker ------------------------------------------------------ */

static void return_held(struct iw_xsk *x)
{
	struct dev *d = x->dev;
	bool any = x->nback > 0;

	for (unsigned i = 0; i < x->nsocks; i++)
		any |= x->nheld[i] > 0;
	if (!any)
		return;
	if (x->lent > 0)
		for (unsigned i = 0; i < x->nsocks; i++)
			set_apart(x, i);
	rejoin(x);
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < x->nsocks; i++) {
		fill(d, queue_of(x, i), x->held[i], x->nheld[i], IW_FRAME_ENGINE);
		x->nheld[i] = 0;
	}
	pthread_mutex_unlock(&d->lock);
}

/* Takes what lies in the receive ring back, of packets that nobody will read. */
static void drain(struct iw_xsk *x, unsigned i)
{
	struct dev *d = x->dev;
	uint32_t at, n = xsk_ring_cons__peek(&x->rx[i], d->ring_rx, &at);

	for (uint32_t k = 0; k < n; k++) {
		x->held[i][k] = xsk_ring_cons__rx_desc(&x->rx[i], at + k)->addr;
		iw_umem_pass(d->umem, x->held[i][k], IW_FRAME_KERNEL, IW_FRAME_ENGINE);
	}
	x->nheld[i] = n;
	xsk_ring_cons__release(&x->rx[i], n);
}

/* What lies in the transmit ring goes on its way. */
static void flush(struct iw_xsk *x)
{
	for (int tries = 64; tries > 0 && !x->broken && xsk_prod_nb_free(&x->tx, RING_TX) < RING_TX;
	     tries--)
		if (sendto(x->fd[0], NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN &&
		    errno != EBUSY && errno != ENOBUFS)
			break;
	/* What it did not take stays ours. */
	for (uint32_t at = __atomic_load_n(x->tx.consumer, __ATOMIC_ACQUIRE);
	     at != x->tx.cached_prod; at++) {
		uint64_t addr = xsk_ring_prod__tx_desc(&x->tx, at)->addr;

		if (iw_umem_frame(x->dev->umem, addr) >= x->dev->workers_max * IW_XSK_TX)
			continue;
		iw_umem_pass(x->dev->umem, addr, IW_FRAME_TX, IW_FRAME_SENDER);
		x->dev->busy[iw_umem_frame(x->dev->umem, addr)] = 0;
	}
}

/*
 * The last worker has left, and somebody holds the interface: its queues are as they were before the first one came.
 * The UMEM is registered anew for the next one, because libxdp has the rings that belong to it no more.
 */
static void forget_queues(struct dev *d)
{
	struct iw_umem *u = d->umem;
	uint32_t f, apart = d->workers_max * IW_XSK_TX;
	uint64_t addr[IW_XSK_BATCH];

	unregister_umem(d);
	memset(d->queue, 0, sizeof(d->queue));
	for (f = 0; f < apart; f++)
		if (d->busy[f]) {
			iw_umem_pass(u, (uint64_t)f * u->frame_size, IW_FRAME_TX, IW_FRAME_SENDER);
			d->busy[f] = 0;
		}
	/* All that are neither apart nor lent are the kernel's, and then free. */
	pthread_mutex_lock(&d->lock);
	while (iw_umem_take(u, addr, IW_ARRAY_LEN(addr), IW_FRAME_KERNEL) > 0)
		continue;
	for (f = apart + memory_frames(d); f < u->frames; f++)
		if (d->loan[f].times == 0)
			iw_umem_give(u, (uint64_t)f * u->frame_size, IW_FRAME_KERNEL);
	pthread_mutex_unlock(&d->lock);
}

static bool has_workers(const struct dev *d)
{
	for (unsigned i = 0; i < d->workers_max; i++)
		if (d->worker[i])
			return true;
	return false;
}

/* Frames that are lent come home later, and x goes with the last of them. */
static void leave_loans(struct iw_xsk *x)
{
	struct dev *d = x->dev;

	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < x->nsocks; i++)
		d->queue[queue_of(x, i)].frames -= x->apart[i];
	pthread_mutex_unlock(&d->lock);
	x->closed = true;
}

void iw_xsk_close(struct iw_xsk *x)
{
	struct dev *d;

	if (!x)
		return;
	d = x->dev;
	if (x->nsocks > 0)
		flush(x);
	if (x->steered)
		iw_steer_worker_remove(d->steer, x->worker);
	/* Packets that were on their way into a ring when it was taken off the map have a poll of their
	 * driver to get there. */
	if (d->refs > 1)
		pause_ns(1000000);
	return_held(x);
	for (unsigned i = 0; i < x->nsocks; i++)
		drain(x, i);
	return_held(x);
	if (x->lent > 0)
		leave_loans(x);
	for (unsigned i = 0; i < x->nsocks; i++)
		xsk_socket__delete(x->sock[i]);
	for (unsigned i = 0; i < QUEUES_MAX; i++)
		free(x->held[i]);
	free(x->joined);
	free(x->back);
	pthread_mutex_lock(&devs_lock);
	if (x->share < WORKERS_MAX)
		d->worker[x->share] = NULL;
	if (d->refs > 1 && !has_workers(d))
		forget_queues(d);
	pthread_mutex_unlock(&devs_lock);
	if (x->closed)
		return;
	dev_put(d);
	free(x);
}

/* --- what there is to tell -------------------------------------------------------------------- */

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
	struct dev *d = x->dev;

	*out = (struct iw_xsk_facts){
		.native = iw_steer_facts(d->steer)->native,
		.zerocopy = has_zerocopy(x->fd[0]),
		.multi_buffer = d->sg,
		.need_wakeup = true,
		.busy_poll = x->busy_poll,
		.huge_pages = d->umem->huge,
		.queues = d->queues,
		.workers_max = d->workers_max,
		.frame_size = d->umem->frame_size,
		.frames = d->umem->frames,
		.ring_rx = d->ring_rx,
		.loans = x->lent_max,
		.packet_max = d->packet_max,
		.rx = x->nrx,
		.tx = x->ntx,
	};
	for (unsigned i = 0; i < x->nsocks; i++) {
		struct xdp_statistics s;

		socket_counts(x->fd[i], &s);
		out->rx_dropped += s.rx_dropped;
		out->rx_ring_full += s.rx_ring_full;
		out->rx_fill_empty += s.rx_fill_ring_empty_descs;
		out->tx_invalid += s.tx_invalid_descs;
	}
}

void iw_xsk_tell(struct iw_xsk *x)
{
	struct dev *d = x->dev;

	for (unsigned i = 0; i < x->nsocks; i++) {
		struct iw_xdp_sock now = {
			.pid = (uint32_t)getpid(),
			.flags = IW_XDP_SOCK_NEED_WAKEUP | (d->sg ? IW_XDP_SOCK_SG : 0) |
				 (x->busy_poll ? IW_XDP_SOCK_BUSY_POLL : 0) |
				 (has_zerocopy(x->fd[i]) ? IW_XDP_SOCK_ZEROCOPY : 0),
			.rx = i == 0 ? x->nrx : 0,
			.tx = i == 0 ? x->ntx : 0,
		};
		struct xdp_statistics s;

		socket_counts(x->fd[i], &s);
		now.rx_dropped = s.rx_dropped;
		now.rx_ring_full = s.rx_ring_full;
		now.rx_fill_empty = s.rx_fill_ring_empty_descs;
		now.tx_invalid = s.tx_invalid_descs;
		(void)!iw_steer_tell_socket(d->steer, x->worker, queue_of(x, i), &now);
	}
}

/* --- in --------------------------------------------------------------------------------------- */

/* The program's notes lie in front of the frame; a frame of before has none, its magic was wiped. */
static const struct iw_xdp_meta *take_meta(const uint8_t *data)
{
	const struct iw_xdp_meta *m =
		(const struct iw_xdp_meta *)(const void *)(data - sizeof(struct iw_xdp_meta));

	return m->magic == IW_XDP_META_MAGIC ? m : NULL;
}

static void wipe_meta(struct dev *d, uint64_t addr)
{
	memset(iw_umem_at(d->umem, addr) - sizeof(struct iw_xdp_meta), 0, sizeof(uint32_t));
}

/* One packet: of k descriptors from at on. */
static void take_packet(struct iw_xsk *x, unsigned i, uint32_t at, uint32_t k, unsigned slot,
			struct iw_xsk_rx *out)
{
	const struct xdp_desc *first = xsk_ring_cons__rx_desc(&x->rx[i], at);
	struct iw_umem *u = x->dev->umem;
	uint8_t *to;

	out->data = iw_umem_at(u, first->addr);
	out->len = first->len;
	out->meta = take_meta(out->data);
	/* Each packet of this batch before it may be lent as well. */
	out->lendable = k == 1 && x->lent + slot < x->lent_max;
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
	/* All that is there: the kernel shows whole packets, and so none is cut. */
	uint32_t at, n = xsk_ring_cons__peek(r, UINT32_MAX, &at), used = 0;

	while (used < n && got < cap) {
		uint32_t k = 1;

		while (used + k < n &&
		       xsk_ring_cons__rx_desc(r, at + used + k - 1)->options & XDP_PKT_CONTD)
			k++;
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

void iw_xsk_count_at(volatile uint64_t *packets)
{
	counted = packets;
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
	if (iw_unlikely(counted != NULL) && got > 0)
		*counted += got;
	return got;
}

/* --- out -------------------------------------------------------------------------------------- */

/* Copy mode: the call does the sending, a budget of packets at a time. */
static int kick(struct iw_xsk *x, struct iw_fault *why)
{
	for (int tries = IW_XSK_TX / 32 + 2; tries > 0; tries--) {
		if (!xsk_ring_prod__needs_wakeup(&x->tx))
			return 0;
		if (x->sends)
			++*x->sends;
		if (sendto(x->fd[0], NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
			return 0;
		if (errno == EAGAIN && xsk_prod_nb_free(&x->tx, RING_TX) < RING_TX)
			continue;
		if (errno == EAGAIN || errno == EBUSY || errno == ENOBUFS || errno == ENETDOWN)
			return 0;
		x->broken = true;
		return iw_os_fail(why, errno, "xdp: send on %s", x->dev->name);
	}
	return 0;
}

/* So many frames of ours from there on are free. */
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
	reap(x->dev, x->tx_queue);
	pthread_mutex_unlock(&x->dev->lock);
}

/* Frames of ours in a row; false: not now. */
static bool find_room(struct iw_xsk *x, uint32_t n)
{
	/* And descriptors for them, and for the most that a packet has beside its own frames. */
	if (xsk_prod_nb_free(&x->tx, n + IW_XSK_FRAGS) < n + IW_XSK_FRAGS)
		return false;
	if (x->at + n > IW_XSK_TX)
		x->at = 0;
	if (iw_likely(is_free(x, x->at, n)))
		return true;
	reap_own(x);
	if (is_free(x, x->at, n))
		return true;
	/* Whatever else is free is as good. */
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

uint8_t *iw_xsk_room(struct iw_xsk *x, size_t *cap)
{
	*cap = (size_t)x->room_frames * x->dev->umem->frame_size - IW_XSK_HEAD;
	if (!find_room(x, x->room_frames))
		return NULL;
	return iw_umem_at(x->dev->umem, addr_at(x)) + IW_XSK_HEAD;
}

bool iw_xsk_owns(const struct iw_xsk *x, const void *p, size_t len)
{
	const struct dev *d = x->dev;
	const uint8_t *from = iw_umem_at(d->umem, d->lent_at), *at = p;

	return d->lent_len > 0 && d->sg && at >= from && at - from <= (ptrdiff_t)d->lent_len &&
	       len <= d->lent_len - (size_t)(at - from) &&
	       len <= (IW_XSK_FRAGS - 3) * (size_t)d->umem->frame_size;
}

uint64_t iw_xsk_in_place(const struct iw_xsk *x)
{
	return x->in_place;
}

static void describe(struct iw_xsk *x, uint64_t addr, size_t len, bool more)
{
	uint32_t at = 0;

	/* There is one: find_room has seen to it. */
	(void)xsk_ring_prod__reserve(&x->tx, 1, &at);
	*xsk_ring_prod__tx_desc(&x->tx, at) = (struct xdp_desc){
		.addr = addr, .len = (uint32_t)len, .options = more ? XDP_PKT_CONTD : 0
	};
	x->put++;
}

void iw_xsk_put(struct iw_xsk *x, const uint8_t *head, size_t head_len, size_t len,
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
	/* No descriptor may cross a frame's end. */
	addr = rest_len > 0 ? (uint64_t)(rest - u->area) : 0;
	for (left = rest_len; left > 0; left -= n) {
		n = IW_MIN(left, (size_t)(u->frame_size - addr % u->frame_size));
		describe(x, addr, n, left > n);
		addr += n;
	}
	x->in_place += rest_len;
	x->ntx++;
}

int iw_xsk_settle(struct iw_xsk *x, struct iw_fault *why)
{
	uint64_t end = iw_os_now() + SETTLE_TIME;

	while (x->dev->lent_len > 0) {
		int err;

		reap_own(x);
		/* A packet's own frame comes back when all of it has been read. */
		if (is_free(x, 0, IW_XSK_TX))
			break;
		err = kick(x, why);
		if (err)
			return err;
		if (iw_os_now() < end)
			continue;
		x->broken = true;
		return iw_fail(why, IW_E_OS, "xdp: interface %s takes no packets", x->dev->name);
	}
	return 0;
}

bool iw_xsk_unsent(const struct iw_xsk *x)
{
	return x->put > 0;
}

int iw_xsk_flush(struct iw_xsk *x, struct iw_fault *why)
{
	int err;

	if (x->put == 0)
		return 0;
	if (x->broken)
		return iw_fail(why, IW_E_OS, "xdp: the socket on %s is broken", x->dev->name);
	xsk_ring_prod__submit(&x->tx, x->put);
	x->put = 0;
	err = kick(x, why);
	/* What has come back is written to again first: it is still in the cache. */
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
			return iw_fail(why, IW_E_LIMIT,
				       "xdp: a packet of %U octets takes %u frames of %u octets",
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
		iw_xsk_put(x, tx[i].head, tx[i].head_len, tx[i].len, NULL, 0);
	}
	return iw_xsk_flush(x, why);
}

#endif
