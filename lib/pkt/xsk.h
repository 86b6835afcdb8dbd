/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * AF_XDP sockets of this process on one interface.
 *
 * Job: sends and receives frames in batches, on all four rings. A queue accepts one UMEM only (the
 * kernel rejects a second one with EBUSY). The workers of a process therefore share an interface
 * with its UMEM and steering program (pkt/xsk_dev.h): the first worker opens it, the last one
 * closes it.
 * Neighbours: pkt/xdp.c is the carrier on top; loader/steer.h loads the program; pkt/umem.h has the
 * frames.
 * Threads: a worker belongs to one thread at a time. Workers share the fill and completion rings
 * and the free frames. One lock per UMEM protects them; it is held while a batch of addresses
 * moves, and never across a system call.
 *
 * Shares: no worker can starve another one. Each worker adds ring_rx frames per queue to the fill
 * rings when it opens, and its receive rings hold at most as many. A worker that does not read
 * keeps its own share only; further packets for it are dropped and counted. Each worker sends with
 * at most IW_XSK_TX frames. It lends frames of its own share, at most a quarter of them.
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
#define IW_XSK_TX    512 /* frames of one worker in flight, at most */
#define IW_XSK_FRAGS 17  /* frames of one packet, at most (MAX_SKB_FRAGS) */
#define IW_XSK_HEAD  128 /* octets of a packet's head, at most */

enum iw_xsk_mode { IW_XSK_ANY, IW_XSK_COPY, IW_XSK_ZEROCOPY };

/* The first worker on an interface sets mode and attached; a later one that asks for others gets
 * IW_E_BUSY. */
struct iw_xsk_cfg {
	const char *interface;     /* borrowed for the call */
	enum iw_xsk_mode mode;     /* IW_XSK_ZEROCOPY: or an error */
	enum iw_xdp_mode attached; /* mode of the program */
	bool busy_poll;
	uint32_t mtu;
	/* System calls that send and that ask for frames are added there. Kept; may be NULL. */
	uint64_t *sends, *recvs;
	uint32_t frame_size; /* 2048 or 4096; 0: 2048 if a packet of the MTU fits one frame */
};

struct iw_xsk_facts {
	bool native, zerocopy, multi_buffer;
	unsigned queues;
	uint32_t ring_rx;      /* packets of one frame that can wait for a worker on one queue */
	uint32_t loans;        /* packets that can be lent at once */
	uint32_t packet_max;   /* octets of the largest frame that can be received */
	uint64_t tx;           /* packets */
	uint64_t live;         /* of tx: sent by the program in bursts (loader/live.h) */
	uint64_t rx_ring_full; /* XDP_STATISTICS, of all queues */
};

/* A received packet: in the UMEM if it has one frame, else copied together. */
struct iw_xsk_rx {
	const uint8_t *data; /* begins with the Ethernet header; borrowed until the next receive */
	size_t len;
	const struct iw_xdp_meta *meta; /* NULL: none */
	bool lendable;                  /* iw_xsk_lend accepts data */
};
/* A packet to send, in two pieces; both are borrowed for the call. data NULL: the frame is sent
 * with the octets that it already has, to measure the cost of sending alone. */
struct iw_xsk_tx {
	const uint8_t *head, *data;
	size_t head_len, len;
};

struct iw_xsk;

/*
 * Opens a worker with a socket for each queue. The caller owns *out and frees it with iw_xsk_close.
 * *why names the cause and the remedy. IW_E_NOTSUP, IW_E_PERM, IW_E_NOENT: as iw_steer_open;
 * IW_E_BUSY: another program has a socket on a queue, or this process uses other settings;
 * IW_E_LIMIT: locked memory, or no share of the UMEM is left for another worker; IW_E_NOMEM,
 * IW_E_OS.
 */
IW_MUST_CHECK int iw_xsk_open(struct iw_xsk **out, const struct iw_xsk_cfg *cfg,
			      struct iw_fault *why);
void iw_xsk_close(struct iw_xsk *x); /* x may be NULL */

/*
 * Allocates @len octets of application memory in the UMEM of an interface; packets in it are sent
 * without a copy in user space. Call it before the first worker on the interface opens. The
 * interface and its program then remain open until iw_xsk_memory_free. IW_E_BUSY: the interface is
 * in use already; others as iw_xsk_open.
 */
struct iw_xdp_memory;
IW_MUST_CHECK int iw_xsk_memory_new(struct iw_xdp_memory **out, const struct iw_xsk_cfg *cfg,
				    size_t len, struct iw_fault *why);
void *iw_xsk_memory_at(struct iw_xdp_memory *m);
/* The memory remains until the last worker closes. m may be NULL. */
void iw_xsk_memory_free(struct iw_xdp_memory *m);

/* Borrowed, valid as long as x. */
struct iw_steer *iw_xsk_steer(struct iw_xsk *x);
/* The worker's number in the steering program. */
uint32_t iw_xsk_worker(const struct iw_xsk *x);
void iw_xsk_facts(struct iw_xsk *x, struct iw_xsk_facts *out);
/* Publishes the kernel's counters for `ddp-xdp status`. Costs system calls. */
void iw_xsk_publish(struct iw_xsk *x);

/* Sets *fd to the descriptors to poll and returns their number. The first one also sends. */
unsigned iw_xsk_fds(const struct iw_xsk *x, const int **fd);

/* Descriptors pending in the receive rings, as far as the kernel has published them. */
unsigned iw_xsk_waiting(const struct iw_xsk *x);
/*
 * For a caller that polls the rings: whether to receive at time @now. Packets that follow each
 * other closely are left in the rings until there is a batch, or until none follows. A receiver
 * that takes each packet at once takes the cache lines of the rings from the sender, packet by
 * packet, and slows it down.
 */
bool iw_xsk_ripe(struct iw_xsk *x, uint64_t now);
/* Receives up to @cap packets, IW_XSK_BATCH at most, and returns their number. First gives the
 * frames of the last batch back to the kernel. */
unsigned iw_xsk_recv(struct iw_xsk *x, struct iw_xsk_rx *out, unsigned cap);
/*
 * Lends @data, in a lendable packet of the last batch. It stays there until it was given back to
 * the returned lender as often as it was lent. If the worker closes before, the interface and its
 * program remain open until then.
 */
struct iw_lender *iw_xsk_lend(struct iw_xsk *x, const uint8_t *data);
/*
 * To send without a copy: iw_xsk_room() returns memory for a packet; the caller writes it there;
 * iw_xsk_put() adds its head in front and its last octets. The last octets may be in memory of
 * iw_xsk_memory_new (rest NULL: none). Repeat for more packets, then call iw_xsk_flush(). Returns
 * memory for @cap octets of a packet after its head, at least the MTU; the same memory until
 * iw_xsk_put. NULL: all frames are in flight: poll the first descriptor for output, or ask
 * iw_xsk_retry().
 */
uint8_t *iw_xsk_room(struct iw_xsk *x, size_t *cap);
void iw_xsk_put(struct iw_xsk *x, const uint8_t *head, size_t head_len, size_t len,
		const uint8_t *rest, size_t rest_len);
/* True if this memory can be the rest of a packet. */
bool iw_xsk_owns(const struct iw_xsk *x, const void *p, size_t len);
/* Octets of such rests for which descriptors were written, since iw_xsk_open. */
uint64_t iw_xsk_in_place(const struct iw_xsk *x);
/*
 * Waits until the kernel no longer reads what was put. An interface that is down loses these
 * packets. IW_E_OS: the driver (zero-copy) or the interface does not return frames; the socket then
 * sends no more, so nothing is read in this case either.
 */
IW_MUST_CHECK int iw_xsk_settle(struct iw_xsk *x, struct iw_fault *why);
/* True if packets were put since the last flush. */
bool iw_xsk_unsent(const struct iw_xsk *x);
/* Sends all packets that were put, as far as the kernel accepts them. 0; IW_E_OS: the socket is
 * broken. */
IW_MUST_CHECK int iw_xsk_flush(struct iw_xsk *x, struct iw_fault *why);
/*
 * Copies packets into the transmit ring, all or none, and sends them. 0; IW_E_AGAIN: no room: poll
 * the first descriptor for output; IW_E_LIMIT: a packet needs too many frames; IW_E_OS: the socket
 * is broken.
 */
IW_MUST_CHECK int iw_xsk_send(struct iw_xsk *x, const struct iw_xsk_tx *tx, unsigned n,
			      struct iw_fault *why);
/* For a caller that does not poll: sends pending packets as far as possible, and returns true when
 * at least half of IW_XSK_TX frames are free, or if sending fails. */
bool iw_xsk_retry(struct iw_xsk *x);

#endif
