/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * AF_XDP sockets of this process on one interface.
 *
 * Job: sends and receives frames in batches, on all four rings. A worker is a set of AF_XDP
 * sockets, one for each queue of the interface, that belongs to one carrier. A queue accepts one
 * UMEM only (the kernel rejects a second one with EBUSY). The workers of a process therefore share
 * an interface with its UMEM and steering program (pkt/xsk_dev.h): the first worker opens it, the
 * last one closes it.
 * Neighbours: pkt/xdp.c is the carrier on top; loader/steer.h loads the program; pkt/umem.h has the
 * frames.
 * Threads: a worker belongs to one thread at a time. Workers share the fill and completion rings
 * and the free frames. One lock per UMEM protects them; it is held while a batch of addresses
 * moves, and never across a system call.
 *
 * Shares: no worker can starve another one. Each worker adds ring_rx frames per queue to the fill
 * rings when it opens, and its receive rings hold at most as many. A worker that does not read
 * blocks only as many frames as it has added; further packets for it are dropped and counted. Each
 * worker has at most IW_XSK_TX frames in flight, and lends at most a quarter of ring_rx.
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

/* The first worker on an interface sets mode and attached; a later one that requests others gets
 * IW_E_BUSY. */
struct iw_xsk_cfg {
	const char *interface;     /* borrowed until the call returns */
	enum iw_xsk_mode mode;     /* IW_XSK_ZEROCOPY: zero-copy is required */
	enum iw_xdp_mode attached; /* mode of the program */
	bool busy_poll;
	uint32_t mtu; /* octets */
	/* Counters to which the worker adds the system calls that send, and those that wake the
	 * driver to receive. Borrowed until iw_xsk_close; may be NULL. */
	uint64_t *sends, *recvs;
	uint32_t frame_size; /* 2048 or 4096; 0: 2048 if a packet of the MTU fits one frame */
};

struct iw_xsk_facts {
	bool native, zerocopy, multi_buffer;
	unsigned queues;
	uint32_t ring_rx;      /* packets of one frame that can wait for a worker on one queue */
	uint32_t loans;        /* packets that can be lent at once */
	uint32_t packet_max;   /* octets of the largest Ethernet frame that can be received */
	uint64_t tx;           /* packets sent */
	uint64_t live;         /* of tx: sent by the program in bursts (loader/live.h) */
	uint64_t rx_ring_full; /* XDP_STATISTICS, of all queues */
};

/* A received packet: in the UMEM if it has one frame, else a copy of its frames. */
struct iw_xsk_rx {
	const uint8_t *data; /* begins with the Ethernet header; borrowed until the next receive */
	size_t len;
	const struct iw_xdp_meta *meta; /* of the steering program, borrowed as data; NULL: none */
	bool lendable;                  /* iw_xsk_lend accepts data */
};
/* A packet to send, in two pieces; both are borrowed until the call returns. data NULL: the frame
 * is sent with the octets that it already has, to measure the cost of sending alone. */
struct iw_xsk_tx {
	const uint8_t *head, *data;
	size_t head_len, len;
};

struct iw_xsk;

/*
 * Opens a worker with a socket for each queue. The caller owns *out and frees it with iw_xsk_close.
 * *why names the cause and the remedy. IW_E_NOTSUP, IW_E_PERM, IW_E_NOENT: as iw_steer_open;
 * IW_E_NOTSUP also: the driver has no zero-copy; IW_E_BUSY: another program has a socket on a
 * queue, or this process uses the interface with other settings; IW_E_LIMIT: RLIMIT_MEMLOCK, too
 * many queues, or no share of the UMEM is left for another worker; IW_E_NOMEM; IW_E_OS.
 */
IW_MUST_CHECK int iw_xsk_open(struct iw_xsk **out, const struct iw_xsk_cfg *cfg,
			      struct iw_fault *why);
void iw_xsk_close(struct iw_xsk *x); /* x may be NULL */

/*
 * Allocates @len octets of application memory in the UMEM of an interface; packets in it are sent
 * without a copy in user space. Call it before the first worker on the interface opens. The
 * interface and its program then remain open until iw_xsk_memory_free. The caller owns *out and
 * frees it with iw_xsk_memory_free. IW_E_INVAL: len is 0 or above 1 GiB; IW_E_BUSY: this process
 * uses the interface already; others as iw_xsk_open.
 */
struct iw_xdp_memory;
IW_MUST_CHECK int iw_xsk_memory_new(struct iw_xdp_memory **out, const struct iw_xsk_cfg *cfg,
				    size_t len, struct iw_fault *why);
/* Returns the address of the memory, which m owns. */
void *iw_xsk_memory_at(struct iw_xdp_memory *m);
/* The memory remains until the last worker closes. m may be NULL. */
void iw_xsk_memory_free(struct iw_xdp_memory *m);

/* Returns the steering program of the interface, borrowed until x is closed. */
struct iw_steer *iw_xsk_steer(struct iw_xsk *x);
/* Returns the worker's number in the steering program. */
uint32_t iw_xsk_worker(const struct iw_xsk *x);
void iw_xsk_facts(struct iw_xsk *x, struct iw_xsk_facts *out);
/* Publishes this worker's counters, and the kernel's for its sockets, to `ddp-xdp status`. Costs
 * several system calls for each queue. */
void iw_xsk_publish(struct iw_xsk *x);

/* Sets *fd to the descriptors to poll, which x owns, and returns their number. The first one also
 * sends. */
unsigned iw_xsk_fds(const struct iw_xsk *x, const int **fd);

/* Returns the number of descriptors pending in the receive rings, as far as the kernel has
 * published them. */
unsigned iw_xsk_waiting(const struct iw_xsk *x);
/*
 * For a caller that polls the rings: returns whether to receive at time @now, in ns. Packets that
 * follow each other closely are left in the rings until they are a batch, or until none follows. A
 * receiver that takes each packet at once also takes the cache lines of the rings from the sender,
 * and so slows it down.
 */
bool iw_xsk_ripe(struct iw_xsk *x, uint64_t now);
/* Receives up to @cap packets, IW_XSK_BATCH at most, and returns their number. First returns the
 * frames of the last batch to the kernel. */
unsigned iw_xsk_recv(struct iw_xsk *x, struct iw_xsk_rx *out, unsigned cap);
/*
 * Lends @data, part of a lendable packet of the last batch. The octets remain there until they were
 * returned to the lender as often as they were lent. If the worker closes before that, the
 * interface and its program remain open until the last return.
 */
struct iw_lender *iw_xsk_lend(struct iw_xsk *x, const uint8_t *data);
/*
 * To send without a copy: iw_xsk_room() returns memory in a frame; the caller writes a packet there
 * without its head; iw_xsk_put() completes it. Repeat this for further packets, then call
 * iw_xsk_flush().
 * iw_xsk_room: returns memory for *cap octets, at least the MTU; the same memory until iw_xsk_put.
 * NULL: all frames are in flight: poll the first descriptor for output, or call iw_xsk_retry().
 * iw_xsk_put: adds head, of at most IW_XSK_HEAD octets, in front of the len octets that the caller
 * wrote, and rest (NULL: none) after them. rest must be memory that iw_xsk_owns accepts; it is
 * borrowed until iw_xsk_settle returns, head until the call returns.
 */
uint8_t *iw_xsk_room(struct iw_xsk *x, size_t *cap);
void iw_xsk_put(struct iw_xsk *x, const uint8_t *head, size_t head_len, size_t len,
		const uint8_t *rest, size_t rest_len);
/* True if this memory can be the rest of a packet. */
bool iw_xsk_owns(const struct iw_xsk *x, const void *p, size_t len);
/* Returns how many octets of such rests were put since iw_xsk_open. */
uint64_t iw_xsk_in_place(const struct iw_xsk *x);
/*
 * Waits until the kernel no longer reads the packets that were put. Packets on an interface that is
 * down are lost. IW_E_OS: the interface, or its driver (zero-copy), has not returned the frames
 * within a second; the socket then sends no more, so the kernel reads nothing more.
 */
IW_MUST_CHECK int iw_xsk_settle(struct iw_xsk *x, struct iw_fault *why);
/* True if packets were put since the last flush. */
bool iw_xsk_unsent(const struct iw_xsk *x);
/* Sends all packets that were put, as far as the kernel accepts them. IW_E_OS: the socket is
 * broken. */
IW_MUST_CHECK int iw_xsk_flush(struct iw_xsk *x, struct iw_fault *why);
/*
 * Copies n packets into frames, all or none, and sends them. IW_E_AGAIN: no room, poll the first
 * descriptor for output; IW_E_LIMIT: a packet needs too many frames; IW_E_OS: the socket is broken.
 */
IW_MUST_CHECK int iw_xsk_send(struct iw_xsk *x, const struct iw_xsk_tx *tx, unsigned n,
			      struct iw_fault *why);
/* For a caller that does not poll the descriptors: sends pending packets as far as possible.
 * Returns true if at least IW_XSK_TX / 2 frames are free, or if sending failed. */
bool iw_xsk_retry(struct iw_xsk *x);

#endif
