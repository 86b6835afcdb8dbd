/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The next hop of packets: asks the kernel for routes and neighbours through netlink, and follows
 * their changes.
 *
 * Job: gives a carrier that builds Ethernet frames the first octets of a frame to an address. It
 * resolves nothing itself. If the next hop is unknown, or not on this interface, the kernel must
 * send the packet; it then resolves the neighbour and reports it.
 * Neighbours: pkt/xdp.c.
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
	/* The peer, and the local source address that was asked for; len 0: any. */
	struct iw_addr peer, asked;
	/* A frame with this head reaches the peer; else the kernel must send the packet. */
	bool direct;
	bool stale; /* the kernel does not know whether the neighbour is still reachable */
	uint32_t mtu;
	struct iw_addr local; /* the preferred source of the route, without port */
	uint8_t ether[IW_ETHER_LEN];
	uint64_t until;  /* the kernel's answer is valid until then */
	uint64_t nudged; /* when the kernel was last given a packet to find this out */
	uint64_t since;  /* state of the table when this was filled in */
};

enum iw_neigh_news { IW_NEIGH_SAME, IW_NEIGH_CHANGED, IW_NEIGH_GONE };

struct iw_neigh;

/* Opens the table of one Ethernet interface. The caller owns *out and frees it with iw_neigh_close.
 * IW_E_NOENT: no such interface; IW_E_NOTSUP: not an Ethernet interface; IW_E_NOMEM; IW_E_OS. */
IW_MUST_CHECK int iw_neigh_open(struct iw_neigh **out, const char *interface, struct iw_fault *why);
void iw_neigh_close(struct iw_neigh *n); /* n may be NULL */

int iw_neigh_fd(const struct iw_neigh *n);       /* readable: call iw_neigh_follow */
uint32_t iw_neigh_mtu(const struct iw_neigh *n); /* current MTU of the interface */

/* True for a loopback address or an address of the interface: a frame sent there does not
 * reach it. */
bool iw_neigh_is_own(struct iw_neigh *n, const struct iw_addr *peer);

/* Reads the kernel's messages. IW_NEIGH_GONE: the interface no longer exists. */
enum iw_neigh_news iw_neigh_follow(struct iw_neigh *n);

/* Returns the next hop to peer from a local address (len 0: any); borrowed until the next call with
 * n. Asks the kernel only for a new peer, or after a change. */
const struct iw_hop *iw_neigh_hop(struct iw_neigh *n, const struct iw_addr *peer,
				  const struct iw_addr *local, uint64_t now);
/*
 * True at most once a second while the kernel does not know whether the neighbour of peer is still
 * reachable: let the kernel send this packet, so that it finds out. Otherwise a neighbour that
 * moved to another MAC address would remain unnoticed.
 */
bool iw_neigh_nudge(struct iw_neigh *n, const struct iw_addr *peer, uint64_t now);

#endif
