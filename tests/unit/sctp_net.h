/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two SCTP endpoints and the network between them, for unit tests and the simulator. Everything
 * that happens comes from one seed; time is a variable.
 */
#ifndef TESTS_SCTP_NET_H
#define TESTS_SCTP_NET_H

#include "counting_mem.h"
#include "rng.h"
#include "sctp/sctp.h"
#include "util/num.h"
#include "wire/sctp.h"

enum { NET_MTU = 1500, NET_PORT_A = 5001, NET_PORT_B = 5002, NET_EVENTS = 64, NET_ADDRS = 3 };

struct net;

/* One direction of the link. Chances are in a thousand. */
struct net_link {
	uint64_t delay, jitter;            /* ns */
	unsigned loss, dup, corrupt, late; /* late: a packet gets up to late_by more */
	uint64_t late_by;
	/* larger packets are dropped unless they may be fragmented; 0: none is too large */
	uint32_t mtu;
	bool hole;             /* and may not: a device drops them that is no router */
	bool icmp;             /* and their sender is told */
	uint64_t ns_per_octet; /* a bottleneck; 0: none */
	uint64_t queue;        /* what it holds, ns of sending; what is more is dropped */
	uint64_t free_at;
	bool cut;
};

struct net_end {
	const char *name;
	struct net *net;
	struct iw_sctp *s;
	struct iw_sctp_cfg cfg;
	struct counting_mem mem;
	struct iw_sctp_addr addr[NET_ADDRS];
	unsigned naddrs;
	bool lists;    /* its INIT and INIT ACK list addr, as those of a multihomed stack do */
	unsigned dead; /* bits of the addresses that nothing reaches */
	struct rng random;
	struct iw_sctp_assoc *a; /* the one that came up last, or that was opened */
	struct iw_sctp_event event[NET_EVENTS];
	unsigned nevents;
	uint64_t packets, octets; /* sent */
	/* For each message that comes up; NULL: they are only counted. */
	void (*on_message)(struct net_end *e, const struct iw_sctp_recv *m);
	void (*on_event)(struct net_end *e, const struct iw_sctp_event *ev);
	void *user;
	unsigned messages;
};

struct flying {
	uint64_t at, order;
	struct net_end *to;
	struct iw_sctp_addr src, dst;
	size_t len;
	uint8_t *data;
};

struct net {
	uint64_t now;
	struct rng rng;
	struct net_end a, b;
	struct net_link ab, ba;
	struct flying *fly;
	size_t nfly, cap;
	uint64_t order;
	/* Sees each packet that is sent, may change it, may drop it (false). */
	bool (*tap)(struct net *n, struct net_end *from, uint8_t *data, size_t len);
	void *tap_user;
	struct iw_sctp_addr tap_to; /* the destination of the packet that tap sees */
	uint64_t last_move;         /* when a packet was sent last */
};

/* Both ends configured as net_cfg says, not made yet: change cfg, then net_start. */
void net_init(struct net *n, uint64_t seed);
void net_start(struct net *n);
/* An endpoint as e->cfg says: net_start does it for both. */
void net_make(struct net_end *e);
/* Frees all; aborts when an engine left memory behind. */
void net_free(struct net *n);
/* a opens an association to b. */
void net_connect(struct net *n);
/* All output, then one packet or one deadline. False: nothing is going to happen any more. */
bool net_step(struct net *n);
/* net_step until now reaches until, or nothing happens. */
void net_run(struct net *n, uint64_t until);
/* Until both have an association that is up, or a minute is over. */
bool net_up(struct net *n);
/* A packet made by hand arrives at e from src now; its checksum is made right. */
void net_inject(struct net *n, struct net_end *e, const struct iw_sctp_addr *src, uint8_t *data,
		size_t len);
bool net_has_event(const struct net_end *e, enum iw_sctp_event_kind kind);
struct iw_sctp_addr net_addr(unsigned host);
/* The number of messages that are cumulatively acknowledged. */
uint64_t net_acked(const struct iw_sctp_assoc *a);

#endif
