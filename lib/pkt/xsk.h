/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * AF_XDP sockets of this process on one interface.
 *
 * Job: frames in and out, in batches on all four rings. An interface (pkt/xsk_dev.h) is opened by the
 * first worker and closed by the last: a queue takes one UMEM alone (the kernel refuses a second with EBUSY),
 * so the workers of a process share it, with the steering program in front. Neighbours: pkt/xdp.c stands on
 * it, loader/steer.h loads the program, pkt/umem.h has the frames.
 * Threads: a worker belongs to one thread at a time. What workers share is the fill and completion rings and
 * the free frames; one lock a UMEM is held while a batch of addresses is moved and across no system call.
 *
 * The shares, so that no worker can starve another: each brings ring_rx frames a queue into the fill rings when
 * it comes, and no worker's receive ring holds more than as many; a worker that reads nothing has its own
 * share stuck there and no more, and what arrives for it then is dropped and counted. Each has IW_XSK_TX frames
 * to send with and no more. What it lends is of its own share, and a quarter of that at most.
 */
#ifndef IW_PKT_XSK_H
#define IW_PKT_XSK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "loader/steer.h"
#include "util/lend.h"

#define IW_XSK_BATCH 64  /* packets of one receive, at most */
#define IW_XSK_TX    512 /* frames of one worker on their way out, at most */
#define IW_XSK_FRAGS 17  /* frames of one packet, at most (MAX_SKB_FRAGS) */
#define IW_XSK_HEAD  128 /* octets of a packet's head, at most */

enum iw_xsk_mode { IW_XSK_ANY, IW_XSK_COPY, IW_XSK_ZEROCOPY };

/* The first worker's settings hold; a later one that demands others is refused. */
struct iw_xsk_cfg {
	const char *interface;     /* borrowed for the call */
	enum iw_xsk_mode mode;     /* ZEROCOPY: or an error */
	enum iw_xdp_mode attached; /* where the program runs */
	bool busy_poll;
	uint32_t mtu;
	uint64_t *sends,
		*recvs; /* system calls that send or ask for frames are counted there; kept; may be NULL */
	uint32_t frame_size; /* 2048 or 4096; 0: 2048 when a packet of the MTU fits one frame */
};

struct iw_xsk_facts {
	bool native, zerocopy, multi_buffer;
	unsigned queues;
	uint32_t ring_rx;      /* packets of one frame that can wait for a worker, on one queue */
	uint32_t loans;        /* packets that can be lent at once */
	uint32_t packet_max;   /* octets of a frame on the wire that can come in */
	uint64_t tx;           /* packets */
	uint64_t live;         /* of tx: sent by the program, in bursts (loader/live.h) */
	uint64_t rx_ring_full; /* XDP_STATISTICS, of all queues */
};

/* A packet that came: in the UMEM when it is of one frame, else put together. */
struct iw_xsk_rx {
	const uint8_t *data; /* from the Ethernet header on; borrowed until the next receive */
	size_t len;
	const struct iw_xdp_meta *meta; /* NULL: none */
	bool lendable;                  /* iw_xsk_lend takes it */
};
/* A packet to go: two pieces, both borrowed for the call. data NULL: what the frame holds goes again, for
 * measuring what it costs to send and nothing else. */
struct iw_xsk_tx {
	const uint8_t *head, *data;
	size_t head_len, len;
};

struct iw_xsk;

/*
 * A worker with a socket for each queue. *why says what was seen and what would help: IW_E_NOTSUP, IW_E_PERM,
 * IW_E_NOENT as iw_steer_open; IW_E_BUSY: a queue is another's; IW_E_LIMIT: locked memory, or more workers than
 * the UMEM has shares for; IW_E_NOMEM, IW_E_OS.
 */
IW_MUST_CHECK int iw_xsk_open(struct iw_xsk **out, const struct iw_xsk_cfg *cfg,
			      struct iw_fault *why);
void iw_xsk_close(struct iw_xsk *x); /* x may be NULL */

/*
 * Memory of the program's own, @len octets, in the UMEM of an interface: what lies there is sent without a copy in
 * user space. To be had before the first worker on the interface, which then stays open, program and all, until
 * this is given back. IW_E_BUSY: the interface is in use already; else as iw_xsk_open.
 */
struct iw_xdp_memory;
IW_MUST_CHECK int iw_xsk_memory_new(struct iw_xdp_memory **out, const struct iw_xsk_cfg *cfg,
				    size_t len, struct iw_fault *why);
void *iw_xsk_memory_at(struct iw_xdp_memory *m);
/* The memory itself goes with the last worker. m may be NULL. */
void iw_xsk_memory_free(struct iw_xdp_memory *m);

struct iw_steer *iw_xsk_steer(struct iw_xsk *x);
uint32_t iw_xsk_worker(const struct iw_xsk *x);
void iw_xsk_facts(struct iw_xsk *x, struct iw_xsk_facts *out);
/* Tells ddp-xdp status what the kernel counted. Costs system calls. */
void iw_xsk_tell(struct iw_xsk *x);

/* Descriptors to be polled, n of them; the first one is that which sends. */
unsigned iw_xsk_fds(const struct iw_xsk *x, const int **fd);

/* Descriptors that wait to be received, as the kernel has shown them by now. */
unsigned iw_xsk_waiting(const struct iw_xsk *x);
/*
 * For who looks at the rings again and again, @now being the time of this look: whether to receive. Packets that
 * follow each other closely are left until they are some, or the next one keeps away: who takes each as soon as it
 * comes takes the rings' cache lines from who fills them, packet by packet, and slows him down.
 */
bool iw_xsk_ripe(struct iw_xsk *x, uint64_t now);
/* Up to @cap packets, IW_XSK_BATCH at most; the frames of the last batch go back to the kernel first. */
unsigned iw_xsk_recv(struct iw_xsk *x, struct iw_xsk_rx *out, unsigned cap);
/*
 * What lies at @data, in a packet of the last batch that is lendable, stays there until the lender has it back, each
 * time that it was lent. A worker that is closed meanwhile keeps the interface open until then, the program too.
 */
struct iw_lender *iw_xsk_lend(struct iw_xsk *x, const uint8_t *data);
/*
 * The way out in place: room() for a packet, written there; put() with its head, which goes in front, and its last
 * octets, which may lie in memory of iw_xsk_memory_new (rest NULL: there are none); then room()
 * for the next one, and in the end flush().
 * room: memory for @cap octets of a packet behind its head, those of the MTU at least; the same until put. NULL:
 * all is on its way: poll the first descriptor for output, or ask retry().
 */
uint8_t *iw_xsk_room(struct iw_xsk *x, size_t *cap);
void iw_xsk_put(struct iw_xsk *x, const uint8_t *head, size_t head_len, size_t len,
		const uint8_t *rest, size_t rest_len);
/* Whether that can be the rest of a packet. */
bool iw_xsk_owns(const struct iw_xsk *x, const void *p, size_t len);
/* Octets of such rests that descriptors were written for, so far. */
uint64_t iw_xsk_in_place(const struct iw_xsk *x);
/* Waits until nothing that was put is read any more; what an interface that is down does not take is lost. IW_E_OS: that
 * cannot be had (zero-copy), or what it took does not come back: the socket sends no more, so that this holds all the
 * same. */
IW_MUST_CHECK int iw_xsk_settle(struct iw_xsk *x, struct iw_fault *why);
bool iw_xsk_unsent(const struct iw_xsk *x); /* something was put since the flush */
/* All that was put goes on its way, as far as the kernel takes it. 0; IW_E_OS: the socket is broken. */
IW_MUST_CHECK int iw_xsk_flush(struct iw_xsk *x, struct iw_fault *why);
/*
 * Packets from elsewhere into the transmit ring, all or none, and on their way. 0; IW_E_AGAIN: no room: poll the first
 * descriptor for output; IW_E_LIMIT: a packet of too many frames; IW_E_OS: the socket is broken.
 */
IW_MUST_CHECK int iw_xsk_send(struct iw_xsk *x, const struct iw_xsk_tx *tx, unsigned n,
			      struct iw_fault *why);
/* For who does not poll: whether there is room again, at least for half of what can be on its way; what waits in
 * the ring is sent as far as it goes. */
bool iw_xsk_retry(struct iw_xsk *x);

#endif
