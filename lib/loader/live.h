/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside pkt: packets that the steering program sends, run by us on live frames (BPF_PROG_RUN).
 *
 * Job: in copy mode each packet that leaves through an AF_XDP socket costs an skb, which the far end of a veth pair
 * copies once more before its program sees it. Here one call makes a frame of each packet and hands it over, some four
 * times as fast; but the call itself costs as much as a dozen packets, so it is for bursts alone.
 * Neighbours: pkt/xsk.c, whose rings take what does not go this way; "live" in xdp/shared.h is what the program sees.
 * Threads: none, no locks; it belongs to its worker's thread.
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
 * For a worker on a veth interface, whose far end has taken a packet when the call returns: another driver's queue may
 * be full, and says so to nobody. NULL: it cannot be had here: another driver, packets of @mtu octets that a live frame has
 * no room for, a program within a dispatcher, Linux before 6.3.
 */
struct iw_live *iw_live_new(struct iw_steer *s, uint32_t worker, const char *interface,
			    uint32_t mtu);
void iw_live_free(struct iw_live *l); /* l may be NULL */

/* Whether packets go this way now: while the far end takes them, as the driver says; asked now and then. */
bool iw_live_ready(struct iw_live *l, uint64_t now);
/* Memory for up to @cap octets of the next packet behind its head; NULL: a whole burst waits. */
uint8_t *iw_live_room(struct iw_live *l, size_t *cap);
void iw_live_put(struct iw_live *l, const uint8_t *head, size_t head_len, size_t len);
/* How many wait, and one of them, from its Ethernet header on. */
unsigned iw_live_waiting(const struct iw_live *l);
const uint8_t *iw_live_packet(const struct iw_live *l, unsigned i, size_t *len);
/* Sends them; how many went, from the first on: what is left has to go another way. */
unsigned iw_live_send(struct iw_live *l);
/* None wait any more. */
void iw_live_clear(struct iw_live *l);

#endif
