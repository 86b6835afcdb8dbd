/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside pkt: an interface that AF_XDP workers of this process share.
 *
 * Job: one UMEM, registered for each queue; its frames, the shares of them, and memory of the program's own in it.
 * The first who wants an interface opens it, with the steering program, and the last one closes it. Neighbours:
 * pkt/xsk.c has the workers and their rings, pkt/xsk_loan.c what they lend.
 * Threads: who comes and goes, and what a queue is registered as, is under one lock of the process; the fill and
 * completion rings and the free frames are under the interface's.
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
#define IW_XSK_LOANS       4 /* one of so many frames of a ring can be lent */
/* Descriptors of a transmit ring: a packet that is sent in place has more of them than frames. */
#define IW_XSK_RING_TX     (2 * IW_XSK_TX)
/* In front of each received frame: XDP_PACKET_HEADROOM, and what the program notes. */
#define IW_XSK_HEADROOM    (256 + sizeof(struct iw_xdp_meta))

/*
 * The UMEM is registered for each queue. libxdp lets a further socket share it by the descriptor that registered
 * it, and the kernel takes a socket of the same queue there and no other.
 */
struct iw_xsk_queue {
	struct xsk_umem *reg;
	/* Under the interface's lock: */
	struct xsk_ring_prod fill;
	struct xsk_ring_cons comp;
	uint32_t frames; /* in the fill ring, in receive rings, being read */
};

/* A frame whose octets the program reads where they are; the thread of its worker alone looks at it. */
struct iw_xsk_loan {
	uint16_t times; /* lent, and not given back yet */
	uint8_t queue;  /* that it goes back to, from when its batch is over and the frame is not */
	bool apart;     /* it is over */
};

struct iw_xsk_dev {
	struct iw_list all;
	struct stat ns; /* network namespace: interface numbers mean nothing without */
	char name[IF_NAMESIZE];
	unsigned refs; /* under the process's lock */
	struct iw_steer *steer;
	struct iw_umem *umem;
	unsigned queues, workers_max;
	uint32_t ring_rx; /* of one worker on one queue */
	uint32_t packet_max;
	enum iw_xsk_mode mode;
	enum iw_xdp_mode attached;
	bool sg;
	pthread_mutex_t lock;
	bool worker[IW_XSK_WORKERS_MAX]; /* there is one with this share */
	/* Of each frame that is set apart for sending, IW_XSK_TX for each share: on its way. Its owner sets it, and
	 * whoever finds it in a completion ring clears it. */
	uint8_t *busy;
	struct iw_xsk_loan *loan; /* of each frame */
	/* Memory of the program's own. */
	uint64_t lent_at;
	size_t lent_len;
	struct iw_xsk_queue queue[IW_XSK_QUEUES_MAX];
};

/* One more holder; errors as iw_xsk_open. */
IW_MUST_CHECK int iw_xsk_dev_get(struct iw_xsk_dev **out, const struct iw_xsk_cfg *cfg,
				 struct iw_fault *why);
void iw_xsk_dev_put(struct iw_xsk_dev *d);

/* The process's lock: join, and what a new worker does with queues until it is ready, want it. */
void iw_xsk_devs_lock(void);
void iw_xsk_devs_unlock(void);
/* A share for one more worker. IW_E_LIMIT: there is none. */
IW_MUST_CHECK int iw_xsk_dev_join(struct iw_xsk_dev *d, unsigned *share, struct iw_fault *why);
/* The worker's sockets are closed. Takes the process's lock itself. */
void iw_xsk_dev_leave(struct iw_xsk_dev *d, unsigned share);
/* Registers the UMEM for a queue, unless that is done. IW_E_LIMIT: locked memory; IW_E_OS. */
IW_MUST_CHECK int iw_xsk_dev_register(struct iw_xsk_dev *d, unsigned q, struct iw_fault *why);
/*
 * The frames that a new worker's receive ring can hold, unless one that left has left them there. False: there are
 * not so many, because workers that left have lent theirs.
 */
bool iw_xsk_dev_bring(struct iw_xsk_dev *d, unsigned q);

static inline struct iw_xsk_loan *iw_xsk_loan_at(const struct iw_xsk_dev *d, uint64_t addr)
{
	return &d->loan[iw_umem_frame(d->umem, addr)];
}

/* Under the interface's lock: frames for a queue to receive into, and what it has sent. */
void iw_xsk_dev_fill(struct iw_xsk_dev *d, unsigned q, const uint64_t *addr, uint32_t n,
		     enum iw_frame_owner from);
void iw_xsk_dev_reap(struct iw_xsk_dev *d, unsigned q);
/* What lies there is not on its way any more. */
void iw_xsk_dev_sent(struct iw_xsk_dev *d, uint64_t addr);

#endif
