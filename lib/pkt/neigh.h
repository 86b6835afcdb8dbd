/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where packets go next: route and neighbour of an address, asked of the kernel through netlink, and followed.
 *
 * Job: for a carrier that builds Ethernet frames itself, the first octets of a frame to an address. Nothing is
 * resolved here: an address whose way is not known, or not through this interface, is left to the kernel, which
 * then resolves it and tells. Neighbours: pkt/xdp.c.
 * Threads: none, no locks.
 */
#ifndef IW_PKT_NEIGH_H
#define IW_PKT_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "os/addr.h"

#define IW_ETHER_LEN 14

/* How packets get to a peer. */
struct iw_hop {
	struct iw_addr peer, asked; /* whom, and from which address of ours: len 0: any */
	bool direct; /* a frame with this head gets there; else the kernel must send the packet */
	bool stale;  /* the kernel wants to hear whether the neighbour is still there */
	uint32_t mtu;
	struct iw_addr local; /* the source that the route prefers, without port */
	uint8_t ether[IW_ETHER_LEN];
	uint64_t until;  /* the kernel's answer is good for so long */
	uint64_t nudged; /* when the kernel was last given a packet to find that out */
	uint64_t since;  /* of the table's changes */
};

enum iw_neigh_news { IW_NEIGH_SAME, IW_NEIGH_CHANGED, IW_NEIGH_GONE };

struct iw_neigh;

/*
 * Of one Ethernet interface. IW_E_NOENT: no such interface; IW_E_NOTSUP: it is no Ethernet; IW_E_NOMEM;
 * IW_E_OS.
 */
IW_MUST_CHECK int iw_neigh_open(struct iw_neigh **out, const char *interface, struct iw_fault *why);
void iw_neigh_close(struct iw_neigh *n); /* n may be NULL */

int iw_neigh_fd(const struct iw_neigh *n);       /* readable: call iw_neigh_follow */
uint32_t iw_neigh_mtu(const struct iw_neigh *n); /* of the interface, now */

/* A loopback address, or an address of the interface: no frame from there gets to it. */
bool iw_neigh_is_own(struct iw_neigh *n, const struct iw_addr *peer);

/* Reads what the kernel told. GONE: the interface is no more. */
enum iw_neigh_news iw_neigh_follow(struct iw_neigh *n);

/* The way to peer from an address of ours (len 0: any); borrowed until the next call with n. Asks the kernel only
 * when it is new or something has changed. */
const struct iw_hop *iw_neigh_hop(struct iw_neigh *n, const struct iw_addr *peer,
				  const struct iw_addr *local, uint64_t now);
/*
 * True, once a second while the kernel does not know whether the neighbour of peer is still there: give it this
 * packet to send, and it finds out. Otherwise who moved to another MAC address would not be noticed.
 */
bool iw_neigh_nudge(struct iw_neigh *n, const struct iw_addr *peer, uint64_t now);

#endif
