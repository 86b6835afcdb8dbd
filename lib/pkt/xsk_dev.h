/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside pkt: an interface that the AF_XDP workers of this process share.
 *
 * Job: one UMEM, registered for each queue; its frames, their shares, and application memory in it.
 * The first user of an interface opens it together with the steering program; the last one closes
 * it.
 * Neighbours: pkt/xsk.c has the workers and their rings, pkt/xsk_loan.c the frames that they lend.
 * Threads: one lock of the process protects the list of interfaces, their workers, and the
 * registration of queues. A lock of each interface protects its fill and completion rings and its
 * free frames.
 */
#ifndef IW_PKT_XSK_DEV_H
#define IW_PKT_XSK_DEV_H

#include "pkt/xsk.h"

#include <net/if.h>
#include <pthread.h>
#include <sys/stat.h>
#include <xdp/xsk.h>

#include "pkt/umem.h"
#include "util/list.h"

#define IW_XSK_QUEUES_MAX  64
#define IW_XSK_WORKERS_MAX 8 /* of one process on one interface */
#define IW_XSK_LOANS       4 /* a quarter of the frames of a ring can be lent */
/* Descriptors of a transmit ring: a packet sent without a copy has more descriptors than frames. */
#define IW_XSK_RING_TX     (2 * IW_XSK_TX)
/* Room in front of each received frame: XDP_PACKET_HEADROOM, and the program's metadata. */
#define IW_XSK_HEADROOM    (256 + sizeof(struct iw_xdp_meta))

/* The UMEM is registered for each queue. libxdp lets further sockets share it through the
 * descriptor that registered it, and the kernel accepts sockets of the same queue only. */
struct iw_xsk_queue {
	struct xsk_umem *reg;
	/* Under the interface's lock: */
	struct xsk_ring_prod fill;
	struct xsk_ring_cons comp;
	uint32_t frames; /* in the fill ring, in receive rings, or being read */
};

/* A frame that the application reads in place. Only its worker's thread uses this. */
struct iw_xsk_loan {
	uint16_t times; /* how often it is lent and not yet given back */
	/* The queue that it returns to, if its batch ended while it was lent. */
	uint8_t queue;
	bool apart; /* its batch has ended */
};

struct iw_xsk_dev {
	struct iw_list all;
	struct stat ns; /* network namespace, without which interface indices have no meaning */
	char name[IF_NAMESIZE];
	unsigned refs; /* under the process's lock */
	struct iw_steer *steer;
	struct iw_umem *umem;
	unsigned queues, workers_max;
	uint32_t ring_rx; /* frames of one worker on one queue */
	uint32_t packet_max;
	enum iw_xsk_mode mode;
	enum iw_xdp_mode attached;
	bool sg;
	pthread_mutex_t lock;
	bool worker[IW_XSK_WORKERS_MAX]; /* this share is in use */
	/*
	 * For each frame reserved for sending (IW_XSK_TX for each share): it is in flight. The
	 * owner of the share sets it; any worker that finds the frame in a completion ring clears
	 * it.
	 */
	uint8_t *busy;
	struct iw_xsk_loan *loan; /* of each frame */
	/* The application's memory. */
	uint64_t lent_at;
	size_t lent_len;
	struct iw_xsk_queue queue[IW_XSK_QUEUES_MAX];
};

/* Adds a user of the interface; opens it for the first one. Errors as iw_xsk_open. */
IW_MUST_CHECK int iw_xsk_dev_get(struct iw_xsk_dev **out, const struct iw_xsk_cfg *cfg,
				 struct iw_fault *why);
void iw_xsk_dev_put(struct iw_xsk_dev *d);

/* The process's lock. Hold it for iw_xsk_dev_join, and while a new worker sets up queues. */
void iw_xsk_devs_lock(void);
void iw_xsk_devs_unlock(void);
/* Reserves a share for a new worker. IW_E_LIMIT: none is free. */
IW_MUST_CHECK int iw_xsk_dev_join(struct iw_xsk_dev *d, unsigned *share, struct iw_fault *why);
/* Releases the share of a worker whose sockets are closed. Takes the process's lock itself. */
void iw_xsk_dev_leave(struct iw_xsk_dev *d, unsigned share);
/* Registers the UMEM for a queue, unless this was done before. IW_E_LIMIT: locked memory;
 * IW_E_OS. */
IW_MUST_CHECK int iw_xsk_dev_register(struct iw_xsk_dev *d, unsigned q, struct iw_fault *why);
/*
 * Adds the frames that a new worker's receive ring can hold to the fill ring of the queue, unless a
 * worker that left has left them there. False: there are fewer, because workers that left have lent
 * theirs.
 */
bool iw_xsk_dev_bring(struct iw_xsk_dev *d, unsigned q);

static inline struct iw_xsk_loan *iw_xsk_loan_at(const struct iw_xsk_dev *d, uint64_t addr)
{
	return &d->loan[iw_umem_frame(d->umem, addr)];
}

/* Under the interface's lock: give a queue frames to receive into; collect the frames that it has
 * sent. */
void iw_xsk_dev_fill(struct iw_xsk_dev *d, unsigned q, const uint64_t *addr, uint32_t n,
		     enum iw_frame_owner from);
void iw_xsk_dev_reap(struct iw_xsk_dev *d, unsigned q);
/* Marks a sent frame as no longer in flight. */
void iw_xsk_dev_sent(struct iw_xsk_dev *d, uint64_t addr);

#endif
