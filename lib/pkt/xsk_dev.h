/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside pkt: an interface that the AF_XDP workers of this process share.
 *
 * Job: one UMEM, registered for each queue; its frames, the shares of the workers, and application
 * memory in it. The first user of an interface (a worker, a loan, or application memory) opens it
 * together with the steering program; the last one closes it.
 * Neighbours: pkt/xsk.c has the workers and their rings, pkt/xsk_loan.c the frames that they lend.
 * Threads: one lock, the process's lock, protects the list of interfaces, their workers, and the
 * registration of queues. The lock of an interface protects its fill and completion rings and its
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
#define IW_XSK_LOANS       4 /* of ring_rx frames, one in four can be lent */
/* Descriptors of a transmit ring: a packet sent without a copy has more descriptors than frames. */
#define IW_XSK_RING_TX     (2 * IW_XSK_TX)
/* Room in front of each received frame: XDP_PACKET_HEADROOM, and the program's metadata. */
#define IW_XSK_HEADROOM    (256 + sizeof(struct iw_xdp_meta))

/* The UMEM is registered anew for each queue: libxdp lets further sockets share a registration, but
 * the kernel accepts only sockets of the queue for which it was made. */
struct iw_xsk_queue {
	struct xsk_umem *reg;
	/* Under the interface's lock: */
	struct xsk_ring_prod fill;
	struct xsk_ring_cons comp;
	uint32_t frames; /* in the fill ring, in receive rings, or being read */
};

/* The loans of a frame, which the application reads in place. Only the thread of its worker uses
 * this. */
struct iw_xsk_loan {
	uint16_t times; /* loans of the frame that are not yet returned */
	uint8_t queue;  /* with apart: the queue that the frame returns to */
	bool apart;     /* its batch ended while it was lent */
};

struct iw_xsk_dev {
	struct iw_list all;
	struct stat ns; /* network namespace, without which interface indices have no meaning */
	char name[IF_NAMESIZE];
	unsigned refs; /* users; under the process's lock */
	struct iw_steer *steer;
	struct iw_umem *umem;
	unsigned queues, workers_max;
	uint32_t ring_rx; /* frames of one worker on one queue */
	uint32_t packet_max;
	enum iw_xsk_mode mode;
	enum iw_xdp_mode attached;
	bool sg; /* packets may have several frames (XDP_USE_SG) */
	pthread_mutex_t lock;
	bool worker[IW_XSK_WORKERS_MAX]; /* by share: a worker uses it */
	/*
	 * For each frame reserved for sending (IW_XSK_TX for each share): 1 while it is in flight.
	 * The worker that owns the share sets it; any worker that finds the frame in a completion
	 * ring clears it.
	 */
	uint8_t *busy;
	struct iw_xsk_loan *loan; /* of each frame */
	/* The application's memory: address in the UMEM, and octets. */
	uint64_t lent_at;
	size_t lent_len;
	struct iw_xsk_queue queue[IW_XSK_QUEUES_MAX];
};

/* Adds a user of the interface, and opens the interface for the first one. The user releases *out
 * with iw_xsk_dev_put. Errors as iw_xsk_open. */
IW_MUST_CHECK int iw_xsk_dev_get(struct iw_xsk_dev **out, const struct iw_xsk_cfg *cfg,
				 struct iw_fault *why);
void iw_xsk_dev_put(struct iw_xsk_dev *d);

/* The process's lock. Hold it for iw_xsk_dev_join, iw_xsk_dev_register and iw_xsk_dev_bring. */
void iw_xsk_devs_lock(void);
void iw_xsk_devs_unlock(void);
/* Reserves a share for a new worker. IW_E_LIMIT: none is free. */
IW_MUST_CHECK int iw_xsk_dev_join(struct iw_xsk_dev *d, unsigned *share, struct iw_fault *why);
/* Releases the share of a worker whose sockets are closed. Takes the process's lock itself. */
void iw_xsk_dev_leave(struct iw_xsk_dev *d, unsigned share);
/* Registers the UMEM for a queue, unless it is registered already. IW_E_LIMIT: RLIMIT_MEMLOCK;
 * IW_E_OS. */
IW_MUST_CHECK int iw_xsk_dev_register(struct iw_xsk_dev *d, unsigned q, struct iw_fault *why);
/*
 * Brings the frames of queue q to ring_rx for each worker: adds up to ring_rx free frames to its
 * fill ring. It adds fewer if a closed worker has left frames there. False: too few frames are
 * free, because loans of closed workers are not yet returned.
 */
bool iw_xsk_dev_bring(struct iw_xsk_dev *d, unsigned q);

static inline struct iw_xsk_loan *iw_xsk_loan_at(const struct iw_xsk_dev *d, uint64_t addr)
{
	return &d->loan[iw_umem_frame(d->umem, addr)];
}

/* Adds n frames, by addresses in them, to the fill ring of queue q. Hold the interface's lock. */
void iw_xsk_dev_fill(struct iw_xsk_dev *d, unsigned q, const uint64_t *addr, uint32_t n,
		     enum iw_frame_owner from);
/* Takes the sent frames from the completion ring of queue q. Hold the interface's lock. */
void iw_xsk_dev_reap(struct iw_xsk_dev *d, unsigned q);
/* Marks a sent frame as no longer in flight. */
void iw_xsk_dev_sent(struct iw_xsk_dev *d, uint64_t addr);

#endif
