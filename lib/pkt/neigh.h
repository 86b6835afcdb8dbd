/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The next hop of packets: asks the kernel for routes and neighbours through netlink, and follows
 * their changes.
 *
 * Job: returns the Ethernet header of frames to a peer. It resolves no MAC address itself: if the
 * next hop is unknown, or not on this interface, the caller lets the kernel send the packet. The
 * kernel then resolves the neighbour and reports it.
 * Neighbours: pkt/xdp.c, the caller.
 * Threads: none, no locks.
 */
#ifndef IW_PKT_NEIGH_H
#define IW_PKT_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "os/addr.h"

#define IW_ETHER_LEN 14

/* The next hop of packets to a peer. */
struct iw_hop {
	/* The peer, and the local source address that the caller requested; len 0: any. */
	struct iw_addr peer, asked;
	/* True: a frame with the header ether reaches the peer. False: the kernel must send the
	 * packet. */
	bool direct;
	bool stale;           /* the kernel no longer knows whether the neighbour is reachable */
	uint32_t mtu;         /* of the route, octets */
	struct iw_addr local; /* the source address to use, without port */
	uint8_t ether[IW_ETHER_LEN];
	uint64_t until;  /* time, ns: this entry is valid until then */
	uint64_t nudged; /* time, ns: iw_neigh_nudge last returned true */
	uint64_t since;  /* the table's number of changes when this entry was made */
};

enum iw_neigh_news {
	IW_NEIGH_SAME,    /* no change */
	IW_NEIGH_CHANGED, /* next hops or the MTU may have changed */
	IW_NEIGH_GONE     /* the interface no longer exists */
};

struct iw_neigh;

/* Opens the table of one Ethernet interface. The caller owns *out and frees it with iw_neigh_close.
 * IW_E_NOENT: no such interface; IW_E_NOTSUP: not an Ethernet interface; IW_E_NOMEM; IW_E_OS. */
IW_MUST_CHECK int iw_neigh_open(struct iw_neigh **out, const char *interface, struct iw_fault *why);
void iw_neigh_close(struct iw_neigh *n); /* n may be NULL */

int iw_neigh_fd(const struct iw_neigh *n);       /* readable: call iw_neigh_follow */
uint32_t iw_neigh_mtu(const struct iw_neigh *n); /* current MTU of the interface */

/* True for a loopback address and for addresses of this host: no frame through the interface
 * reaches them. */
bool iw_neigh_is_own(struct iw_neigh *n, const struct iw_addr *peer);

/* Reads the kernel's pending notifications. */
enum iw_neigh_news iw_neigh_follow(struct iw_neigh *n);

/* Returns the next hop to peer from a local address (len 0: any); borrowed until the next call with
 * n. now: ns. Asks the kernel only for a new peer, after a change, or when the entry is older than
 * 10 s. */
const struct iw_hop *iw_neigh_hop(struct iw_neigh *n, const struct iw_addr *peer,
				  const struct iw_addr *local, uint64_t now);
/*
 * Returns true at most once a second, while the next hop that was last returned for peer is stale:
 * the caller then lets the kernel send this packet, so that the kernel checks the neighbour.
 * Without this, a neighbour that moved to another MAC address would remain unnoticed. now: ns.
 */
bool iw_neigh_nudge(struct iw_neigh *n, const struct iw_addr *peer, uint64_t now);

#endif
