/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A network of many hosts for the simulator. A host has up to HOST_ADDRS addresses, and an SCTP
 * endpoint unless its port is 0. Hosts that share an IP address (NAT) have different UDP ports. One
 * host, the watched one, has a ledger (ledger.h) of the octets that it sends to each address. A run
 * depends only on its seed.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "counting_mem.h"
#include "rng.h"
#include "sctp/sctp.h"
#include "sim/ledger.h"
#include "util/num.h"
#include "wire/sctp.h"

enum { WORLD_HOSTS = 40, HOST_ADDRS = 14, HOST_TAGS = 16, WORLD_MTU = 1500, WORLD_PACKET = 65536 };

struct world;

struct host {
	char name[24];
	struct world *w;
	struct iw_sctp *s; /* NULL: no SCTP on this host */
	struct iw_sctp_cfg cfg;
	struct counting_mem mem;
	size_t peak; /* the most bytes that may be allocated at a time */
	struct rng random;
	struct iw_sctp_addr addr[HOST_ADDRS]; /* as the network sees them, including the UDP port */
	unsigned naddrs;
	unsigned dead; /* a bit for each address that no packet reaches */
	/* Address parameters added to its INIT and INIT ACK chunks (borrowed). */
	const uint8_t *list;
	size_t list_len;
	uint32_t tag[HOST_TAGS]; /* Initiate Tags of its last INITs and INIT ACKs */
	unsigned ntags;
	bool hostile; /* the ledger does not limit packets to this host's addresses */
	bool dirty;   /* may have output or events */
	/* Called for each message and event; NULL: ignored. */
	void (*on_message)(struct host *h, const struct iw_sctp_recv *m);
	void (*on_event)(struct host *h, const struct iw_sctp_event *ev);
	void *user;
};

struct world_packet {
	uint64_t at, order;
	struct iw_sctp_addr src, dst;
	bool spoofed; /* src is forged */
	size_t len;
	uint8_t *data;
};

struct world {
	uint64_t now;
	struct rng rng;
	struct host host[WORLD_HOSTS];
	unsigned nhosts;
	/* Chances in thousandths. */
	unsigned loss, dup;
	uint64_t delay, jitter;
	struct host *watched;
	struct ledger ledger;
	/* Called for each packet that a host sends; false: the packet is lost. May be NULL. */
	bool (*tap)(struct world *w, struct host *from, const struct iw_sctp_addr *dst,
		    const uint8_t *data, size_t len);
	/*
	 * The network, instead of loss, dup, delay and jitter: sets *at to the time of arrival of a
	 * packet with len octets of SCTP; false: it is lost. NULL: not used.
	 */
	bool (*route)(struct world *w, const struct host *from, size_t len, uint64_t *at);
	void *user; /* owned by the scenario */
	struct world_packet *fly;
	size_t nfly, cap;
	uint64_t order;
	char failure[300]; /* the first failure; "": none */
};

void world_init(struct world *w, uint64_t seed);
/* Adds a host with one address. Change its cfg, then call world_start. port 0: no endpoint. */
struct host *world_host(struct world *w, const char *name, struct iw_sctp_addr addr, uint16_t port);
void world_start(struct world *w);
/* The host loses its state: it gets a new endpoint, without notice to the peers. */
void world_restart(struct host *h);
/* Frees everything. Memory that an endpoint has not freed is a failure. */
void world_free(struct world *w);
/* Sends all pending output, or processes one packet or one deadline. Returns false if nothing is
 * pending. */
bool world_step(struct world *w, uint64_t until);
/* Steps to time until, or to the first failure. */
void world_run(struct world *w, uint64_t until);
/* Sends a packet with any source, and with a correct checksum. */
void world_inject(struct world *w, const struct iw_sctp_addr *src, const struct iw_sctp_addr *dst,
		  const uint8_t *data, size_t len);
bool world_fail(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct iw_sctp_addr world_ipv4(unsigned a, unsigned b, unsigned c, unsigned d, uint16_t udp_port);
struct host *world_owner(struct world *w, const struct iw_sctp_addr *addr);
/* The most bytes that an endpoint with that many associations and queued messages may allocate. */
size_t world_memory_limit(const struct host *h, unsigned assocs, unsigned queued);
static inline bool world_chance(struct world *w, unsigned in_a_thousand)
{
	return in_a_thousand > 0 && rng_below(&w->rng, 1000) < in_a_thousand;
}

#endif
