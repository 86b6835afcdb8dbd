/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside ddp-impair: sockets and clients of the carrier of datagrams. */
#ifndef IW_DDP_IMPAIR_UDP_H
#define IW_DDP_IMPAIR_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "ddp-impair/impair.h"
#include "ddp-impair/direction.h"
#include "os/addr.h"
#include "util/list.h"

#define IW_UDP_RUN         65536 /* octets of a run that the kernel has joined */
#define IW_UDP_BATCH       3     /* runs of one receive: they stay in the second-level cache */
#define IW_UDP_SEGS        64    /* datagrams of one send (UDP_MAX_SEGMENTS) */
#define IW_UDP_CLIENTS_MAX 4096  /* at once; a further one replaces the oldest */
#define IW_UDP_BUCKETS     1024

struct iw_udp_client {
	struct iw_udp_client *next; /* of its bucket */
	struct iw_list list;        /* in the order of arrival */
	struct iw_addr addr;
	int fd; /* connected to the server */
	uint32_t number;
	uint64_t used; /* time of its last datagram */
	struct iw_flow flow;
};

struct iw_udp {
	struct iw_relay *r;
	int fd, epoll;
	bool no_gso; /* this path does not support it */
	bool plain;  /* datagrams pass unchanged and at once */
	struct iw_addr local, server;
	struct iw_relay_direction direction[2]; /* by enum iw_unit_from */
	struct iw_flow_cfg flow_cfg;
	struct iw_udp_client *bucket[IW_UDP_BUCKETS];
	struct iw_list list;
	struct iw_udp_client **by_number; /* [number % IW_UDP_CLIENTS_MAX] */
	uint32_t clients;                 /* so far */
	uint64_t refused;                 /* datagrams without a client, or that no socket took */
	uint64_t sweep_at;
	uint8_t *buf; /* IW_UDP_BATCH runs */
};

/* Opens the listening socket. Errors of iw_addr_resolve() and iw_os_fail(). */
IW_MUST_CHECK int iw_udp_open(struct iw_udp *u, struct iw_fault *why);
/* Closes all sockets and forgets all clients. */
void iw_udp_close(struct iw_udp *u);

/* Datagrams of one size that arrived together; the last may be shorter. */
struct iw_udp_run {
	struct iw_addr peer; /* the listening socket: the client */
	uint8_t *octets;     /* borrowed until the next receive */
	size_t len, seg;
};
/* Receives at most IW_UDP_BATCH runs. Returns their number; the error of iw_os_fail(). Errors about
 * earlier datagrams are no errors here. */
IW_MUST_CHECK int iw_udp_receive(struct iw_udp *u, int fd,
				 struct iw_udp_run run[static IW_UDP_BATCH], struct iw_fault *why);
/* Sends a run onwards. from: enum iw_unit_from. What the kernel refuses is lost and counted. */
void iw_udp_send_run(struct iw_udp *u, const struct iw_udp_client *c, unsigned from,
		     const struct iw_udp_run *run);
/* Sends n datagrams to their clients (by number) or from them to the server; n is at most
 * IW_UDP_SEGS. */
void iw_udp_send_many(struct iw_udp *u, unsigned from, const uint32_t *client,
		      const struct iovec *iov, size_t n);

/* Clients by address and by number; NULL: none. */
struct iw_udp_client *iw_udp_client_find(struct iw_udp *u, const struct iw_addr *addr);
struct iw_udp_client *iw_udp_client_get(struct iw_udp *u, uint32_t number);
/* Opens the socket of a new client. NULL: no memory or descriptors. */
struct iw_udp_client *iw_udp_client_add(struct iw_udp *u, const struct iw_addr *addr, uint64_t now);
/* Replaces the socket of the client towards the server by one with another port, if the system has
 * one. */
void iw_udp_client_rebind(struct iw_udp *u, struct iw_udp_client *c);
/* Forgets the clients that sent and received nothing since that time. */
void iw_udp_clients_sweep(struct iw_udp *u, uint64_t since);

#endif
