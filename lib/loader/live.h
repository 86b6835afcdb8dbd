/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bursts of packets that the steering program sends: the worker has the kernel run the program on
 * live frames (BPF_PROG_RUN).
 *
 * Job: in copy mode each packet sent through an AF_XDP socket costs an skb, and the far end of a
 * veth pair copies it once more for its own program. Here one call makes a frame for each packet
 * and passes it on, about four times as fast. The call itself costs as much as a dozen packets, so
 * it is for bursts only.
 * Neighbours: pkt/xsk.c, which sends all other packets through its rings; map "live" in
 * xdp/shared.h is the program's side.
 * Threads: none, no locks; an object belongs to its worker's thread.
 */
#ifndef IW_LOADER_LIVE_H
#define IW_LOADER_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/steer.h"

/* Fewer packets are faster through a socket. */
#define IW_LIVE_LEAST 16

struct iw_live;

/*
 * Creates an object for a worker on a veth interface, whose far end has taken a packet when the
 * call that sends it returns. The queue of another driver may be full, and that driver does not
 * report the lost packet. s is borrowed for the life of the object. Returns NULL if live frames
 * cannot be used: another driver; an MTU for which a live frame has no room; a program inside a
 * dispatcher; Linux before 5.18; no memory.
 */
struct iw_live *iw_live_new(struct iw_steer *s, uint32_t worker, const char *interface,
			    uint32_t mtu);
void iw_live_free(struct iw_live *l); /* l may be NULL */

/*
 * True while the driver reports that the far end accepts frames, and the thread is in the network
 * namespace of the interface. Asks the driver about once a second. False before Linux 6.3, which
 * does not report it.
 */
bool iw_live_ready(struct iw_live *l, uint64_t now);
/*
 * Returns memory for up to *cap octets of the next packet after its head; NULL: a whole burst is
 * pending.
 */
uint8_t *iw_live_room(struct iw_live *l, size_t *cap);
/* Queues the packet of len octets in that memory, with the head (borrowed) in front of it. */
void iw_live_put(struct iw_live *l, const uint8_t *head, size_t head_len, size_t len);
/*
 * Return the number of pending packets, and the i-th of them (owned by l), which begins with its
 * Ethernet header.
 */
unsigned iw_live_waiting(const struct iw_live *l);
const uint8_t *iw_live_packet(const struct iw_live *l, unsigned i, size_t *len);
/*
 * Sends the pending packets in order and returns how many were sent. The caller sends the others
 * another way.
 */
unsigned iw_live_send(struct iw_live *l);
/* Drops the pending packets, sent or not. */
void iw_live_clear(struct iw_live *l);

#endif
