// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An interface that the AF_XDP workers of this process share: its UMEM with the registrations, and
 * its workers. */
#include "pkt/xsk_dev.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "os/probe.h"
#include "util/num.h"
#include "util/text.h"

#define UMEM_MOST   (24 * 1024 * 1024) /* octets; limits the workers, not the frames of each */
#define RING_RX     2048               /* descriptors of one worker, on all queues */
#define RING_RX_MIN 256                /* on one queue */
#define ETHER_LEN   18                 /* with a VLAN tag */
#define MEMORY_MOST ((size_t)1 << 30)  /* of application memory */

struct iw_xdp_memory {
	struct iw_xsk_dev *dev;
};

static pthread_mutex_t devs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct iw_list devs = { &devs, &devs };

/* --- sizes ------------------------------------------------------------------------------------ */

static uint32_t ring_of(unsigned queues)
{
	uint32_t n = RING_RX;

	while (n > RING_RX_MIN && n * queues > RING_RX)
		n /= 2;
	return n;
}

/* Returns 2048 if a packet of the MTU fits in such a frame, else a page, so that packets need few
 * frames. */
static uint32_t frame_size_for(const struct iw_xsk_cfg *cfg)
{
	if (cfg->frame_size)
		return cfg->frame_size;
	return cfg->mtu + ETHER_LEN + IW_XSK_HEADROOM <= 2048 ? 2048 : 4096;
}

/* --- the interface ---------------------------------------------------------------------------- */

static int make_umem(struct iw_xsk_dev *d, uint32_t frame_size, size_t lent, struct iw_fault *why)
{
	uint32_t share = d->queues * d->ring_rx + IW_XSK_TX;
	uint32_t workers = UMEM_MOST / (share * frame_size);
	struct iw_umem_cfg cfg = {
		.frames = IW_MAX(IW_MIN(workers, (uint32_t)IW_XSK_WORKERS_MAX), 1u) * share,
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
	(void)iw_umem_reserve(d->umem, d->workers_max * IW_XSK_TX, IW_FRAME_SENDER);
	d->lent_at = iw_umem_reserve(d->umem, cfg.lent, IW_FRAME_LENT);
	d->lent_len = lent;
	return 0;
}

int iw_xsk_dev_register(struct iw_xsk_dev *d, unsigned n, struct iw_fault *why)
{
	struct iw_xsk_queue *q = &d->queue[n];
	struct xsk_umem_config cfg = {
		/* Room for all frames, whichever worker returns them. */
		.fill_size = IW_XSK_WORKERS_MAX * d->ring_rx,
		.comp_size = IW_XSK_WORKERS_MAX * IW_XSK_RING_TX,
		.frame_size = d->umem->frame_size,
	};
	const uint64_t len = (uint64_t)d->umem->frames * d->umem->frame_size;
	uint64_t limit;
	int err;

	if (q->reg)
		return 0;
	err = -xsk_umem__create(&q->reg, d->umem->area, len, &q->fill, &q->comp, &cfg);
	if (err == ENOBUFS) {
		iw_os_memlock(&limit, NULL);
		return iw_fail(
			why, IW_E_LIMIT,
			"xdp: the limit of locked memory is %U octets; the frames need %U, and other "
			"processes of this user have locked a part of it: raise it with ulimit -l, "
			"or run with CAP_IPC_LOCK",
			limit, d->queues * len);
	}
	return err ? iw_os_fail(why, err, "xdp: register %zu octets with AF_XDP", d->umem->len) : 0;
}

/* Call it after the sockets are closed: the first socket uses the descriptor of the UMEM. */
static void unregister_umem(struct iw_xsk_dev *d)
{
	for (unsigned q = 0; q < d->queues; q++)
		if (d->queue[q].reg)
			(void)xsk_umem__delete(d->queue[q].reg);
}

/* Returns the number of frames of application memory. */
static uint32_t memory_frames(const struct iw_xsk_dev *d)
{
	return (uint32_t)((d->lent_len + d->umem->frame_size - 1) / d->umem->frame_size);
}

/* After the last worker has closed, no frame is in use. Checks that the frames of each owner are as
 * many as they must be then. */
static void check_frames(const struct iw_xsk_dev *d)
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

static void dev_free(struct iw_xsk_dev *d)
{
	if (d->loan)
		check_frames(d);
	unregister_umem(d);
	iw_umem_free(d->umem);
	iw_steer_close(d->steer);
	pthread_mutex_destroy(&d->lock);
	free(d->busy);
	free(d->loan);
	free(d);
}

static int dev_new(struct iw_xsk_dev **out, const struct iw_xsk_cfg *cfg, size_t lent,
		   struct iw_fault *why)
{
	struct iw_steer_cfg sc = { .interface = cfg->interface, .mode = cfg->attached };
	const struct iw_steer_facts *f;
	struct iw_xsk_dev *d = calloc(1, sizeof(*d));
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
	d->queues = IW_MIN(f->queues, (unsigned)IW_XSK_QUEUES_MAX);
	d->ring_rx = ring_of(d->queues);
	d->sg = true; /* until the kernel rejects it */
	if (f->queues > IW_XSK_QUEUES_MAX)
		err = iw_fail(
			why, IW_E_LIMIT,
			"xdp: interface %s has %u queues, and at most %u are supported: ethtool -L %s "
			"combined %u",
			cfg->interface, (unsigned)f->queues, (unsigned)IW_XSK_QUEUES_MAX,
			cfg->interface, (unsigned)IW_XSK_QUEUES_MAX);
	if (!err)
		err = make_umem(d, frame_size, lent, why);
	if (err) {
		dev_free(d);
		return err;
	}
	*out = d;
	return 0;
}

static struct iw_xsk_dev *dev_find(const char *name, const struct stat *ns)
{
	for (struct iw_list *n = devs.next; n != &devs; n = n->next) {
		struct iw_xsk_dev *d = iw_container_of(n, struct iw_xsk_dev, all);

		if (strcmp(d->name, name) == 0 && d->ns.st_ino == ns->st_ino &&
		    d->ns.st_dev == ns->st_dev)
			return d;
	}
	return NULL;
}

/* Rejects application memory on an interface that is open: its UMEM cannot grow, and the sockets of
 * a queue cannot use a second one. */
static int refuse_memory(const struct iw_xsk_dev *d, size_t len, struct iw_fault *why)
{
	if (d->lent_len > 0)
		return iw_fail(
			why, IW_E_BUSY,
			"xdp: interface %s has %U octets of memory in its UMEM already, for all its connections "
			"together: use them, or free them and allocate %U at once",
			d->name, (uint64_t)d->lent_len, (uint64_t)(d->lent_len + len));
	return iw_fail(
		why, IW_E_BUSY,
		"xdp: this process uses interface %s already: memory in its UMEM must be allocated "
		"before its first connection: close its connections and try again",
		d->name);
}

static int dev_get(struct iw_xsk_dev **out, const struct iw_xsk_cfg *cfg, size_t lent,
		   struct iw_fault *why)
{
	struct stat ns = { 0 };
	struct iw_xsk_dev *d;
	int err = 0;

	(void)stat("/proc/thread-self/ns/net", &ns);
	pthread_mutex_lock(&devs_lock);
	d = dev_find(cfg->interface, &ns);
	if (d && lent > 0)
		err = refuse_memory(d, lent, why);
	if (!d) {
		err = dev_new(&d, cfg, lent, why);
		if (!err) {
			d->ns = ns;
			iw_list_add_tail(&devs, &d->all);
		}
	}
	if (!err && (d->mode != cfg->mode || d->attached != cfg->attached))
		err = iw_fail(
			why, IW_E_BUSY,
			"xdp: this process uses interface %s with other options already: use the "
			"same options for all its connections",
			cfg->interface);
	if (!err) {
		d->refs++;
		*out = d;
	}
	pthread_mutex_unlock(&devs_lock);
	return err;
}

int iw_xsk_dev_get(struct iw_xsk_dev **out, const struct iw_xsk_cfg *cfg, struct iw_fault *why)
{
	return dev_get(out, cfg, 0, why);
}

void iw_xsk_dev_put(struct iw_xsk_dev *d)
{
	pthread_mutex_lock(&devs_lock);
	if (--d->refs == 0) {
		iw_list_del(&d->all);
		dev_free(d);
	}
	pthread_mutex_unlock(&devs_lock);
}

/* --- frames, under the lock ------------------------------------------------------------------- */

void iw_xsk_dev_fill(struct iw_xsk_dev *d, unsigned q, const uint64_t *addr, uint32_t n,
		     enum iw_frame_owner from)
{
	struct xsk_ring_prod *r = &d->queue[q].fill;
	uint32_t at;

	if (n == 0)
		return;
	/* Cannot fail: the ring has room for all frames. */
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

void iw_xsk_dev_sent(struct iw_xsk_dev *d, uint64_t addr)
{
	uint32_t frame = iw_umem_frame(d->umem, addr);

	/* Application memory has no entry in busy[]. */
	if (frame >= d->workers_max * IW_XSK_TX)
		return;
	iw_umem_pass(d->umem, addr, IW_FRAME_TX, IW_FRAME_SENDER);
	__atomic_store_n(&d->busy[frame], 0, __ATOMIC_RELEASE);
}

void iw_xsk_dev_reap(struct iw_xsk_dev *d, unsigned q)
{
	struct xsk_ring_cons *r = &d->queue[q].comp;
	uint32_t at, n = xsk_ring_cons__peek(r, UINT32_MAX, &at);

	for (uint32_t i = 0; i < n; i++)
		iw_xsk_dev_sent(d, *xsk_ring_cons__comp_addr(r, at + i));
	if (n > 0)
		xsk_ring_cons__release(r, n);
}

/* --- workers ---------------------------------------------------------------------------------- */

void iw_xsk_devs_lock(void)
{
	pthread_mutex_lock(&devs_lock);
}

void iw_xsk_devs_unlock(void)
{
	pthread_mutex_unlock(&devs_lock);
}

int iw_xsk_dev_join(struct iw_xsk_dev *d, unsigned *share, struct iw_fault *why)
{
	for (unsigned i = 0; i < d->workers_max; i++)
		if (!d->worker[i]) {
			d->worker[i] = true;
			*share = i;
			return 0;
		}
	return iw_fail(why, IW_E_LIMIT,
		       "xdp: %u workers of this process use interface %s, and no frames are "
		       "left: use fewer at once",
		       (unsigned)d->workers_max, d->name);
}

bool iw_xsk_dev_bring(struct iw_xsk_dev *d, unsigned q)
{
	uint64_t addr[RING_RX];
	uint32_t want = 0, n;

	for (unsigned i = 0; i < d->workers_max; i++)
		want += d->worker[i] ? d->ring_rx : 0;
	pthread_mutex_lock(&d->lock);
	want -= IW_MIN(want, d->queue[q].frames);
	n = iw_umem_take(d->umem, addr, IW_MIN(want, d->ring_rx), IW_FRAME_ENGINE);
	d->queue[q].frames += n;
	iw_xsk_dev_fill(d, q, addr, n, IW_FRAME_ENGINE);
	pthread_mutex_unlock(&d->lock);
	return n == want;
}

/*
 * Resets the queues when the last worker has closed but application memory, or a loan, keeps the
 * interface open. libxdp no longer has the rings of the UMEM then, so the next worker registers it
 * again.
 */
static void forget_queues(struct iw_xsk_dev *d)
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
	/* Frees the frames of the kernel: those that are neither reserved nor lent. */
	pthread_mutex_lock(&d->lock);
	while (iw_umem_take(u, addr, IW_ARRAY_LEN(addr), IW_FRAME_KERNEL) > 0)
		continue;
	for (f = apart + memory_frames(d); f < u->frames; f++)
		if (d->loan[f].times == 0)
			iw_umem_give(u, (uint64_t)f * u->frame_size, IW_FRAME_KERNEL);
	pthread_mutex_unlock(&d->lock);
}

static bool has_workers(const struct iw_xsk_dev *d)
{
	for (unsigned i = 0; i < d->workers_max; i++)
		if (d->worker[i])
			return true;
	return false;
}

void iw_xsk_dev_leave(struct iw_xsk_dev *d, unsigned share)
{
	pthread_mutex_lock(&devs_lock);
	d->worker[share] = false;
	if (d->refs > 1 && !has_workers(d))
		forget_queues(d);
	pthread_mutex_unlock(&devs_lock);
}

/* --- application memory ----------------------------------------------------------------------- */

int iw_xsk_memory_new(struct iw_xdp_memory **out, const struct iw_xsk_cfg *cfg, size_t len,
		      struct iw_fault *why)
{
	struct iw_xdp_memory *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	if (len == 0 || len > MEMORY_MOST)
		err = iw_fail(why, IW_E_INVAL, "xdp: %U octets of memory in the UMEM: 1 to %U",
			      (uint64_t)len, (uint64_t)MEMORY_MOST);
	else
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
		iw_xsk_dev_put(m->dev);
	free(m);
}
