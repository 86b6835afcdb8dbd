/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two SCTP endpoints and the network between them, for unit tests and the simulator. One seed
 * determines all events. Time is a variable.
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

/* One direction of the link. Probabilities are in thousandths. */
struct net_link {
	uint64_t delay, jitter;            /* ns */
	unsigned loss, dup, corrupt, late; /* late: a packet is delayed by up to late_by more */
	uint64_t late_by;
	/* larger packets are dropped unless they may be fragmented; 0: no limit */
	uint32_t mtu;
	bool hole;             /* drop larger packets even if they may be fragmented */
	bool icmp;             /* report dropped packets to their sender */
	uint64_t ns_per_octet; /* a bottleneck; 0: none */
	uint64_t queue;        /* its queue, ns of sending; packets beyond it are dropped */
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
	bool lists;    /* its INIT and INIT ACK list addr, like those of a multihomed host */
	unsigned dead; /* bits of the addresses that no packet reaches */
	struct rng random;
	struct iw_sctp_assoc *a; /* the association opened or established last */
	struct iw_sctp_event event[NET_EVENTS];
	unsigned nevents;
	uint64_t packets, octets; /* sent */
	/* Called for each received message; NULL: messages are only counted. */
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
	/* Called for each packet that is sent. It may change the packet, or drop it (false). */
	bool (*tap)(struct net *n, struct net_end *from, uint8_t *data, size_t len);
	void *tap_user;
	struct iw_sctp_addr tap_to; /* the destination of the packet passed to tap */
	uint64_t last_move;         /* when the last packet was sent */
};

/* Configures both ends. Change cfg if necessary, then call net_start. */
void net_init(struct net *n, uint64_t seed);
void net_start(struct net *n);
/* Creates an endpoint from e->cfg; net_start calls it for both. */
void net_make(struct net_end *e);
/* Frees everything; aborts if an engine has leaked memory. */
void net_free(struct net *n);
/* a opens an association to b. */
void net_connect(struct net *n);
/* Sends all output, then handles one packet or one deadline. False: no further event is pending. */
bool net_step(struct net *n);
/* Calls net_step until now reaches until, or no event is pending. */
void net_run(struct net *n, uint64_t until);
/* Runs until both ends have an established association, at most a minute. */
bool net_up(struct net *n);
/* Delivers a packet of the test to e from src now, after correcting its checksum. */
void net_inject(struct net *n, struct net_end *e, const struct iw_sctp_addr *src, uint8_t *data,
		size_t len);
bool net_has_event(const struct net_end *e, enum iw_sctp_event_kind kind);
struct iw_sctp_addr net_addr(unsigned host);
/* The number of messages that are cumulatively acknowledged. */
uint64_t net_acked(const struct iw_sctp_assoc *a);

#endif
