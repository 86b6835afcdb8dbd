/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two engines joined in memory: by a stream, by an association whose messages arrive in any order,
 * or by two SCTP engines with a bad link between them. The unit tests of conn and the simulator
 * share this file. Time is a variable; chunk sizes, delays, orders and cuts come from one seed.
 */
#ifndef TESTS_UNIT_PAIR_H
#define TESTS_UNIT_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conn/conn.h"
#include "rng.h"
#include "util/heap.h"

/* Returns octet i of pattern number id. */
uint8_t pattern_octet(uint32_t id, uint64_t i);
void pattern_fill(void *buf, size_t len, uint32_t id, uint64_t from);
bool pattern_is(const void *buf, size_t len, uint32_t id, uint64_t from);

/* A malloc that counts, fails the n-th call, and checks that frees have the allocated size. */
struct test_mem {
	struct iw_mem mem;
	size_t calls, live, fail_at; /* fail_at: 1 is the next call; 0: never */
};
void test_mem_init(struct test_mem *t);

/* A message of the association. */
struct wire_msg {
	uint16_t stream;
	uint32_t ppid;
	size_t len;
	uint8_t *data;
};

/* One direction of a TCP connection, or of an association. */
struct wire {
	uint8_t *buf;
	size_t off, len, cap; /* octets in flight */
	/* octets in flight, at most: above this, a write of the sender is short */
	size_t window;
	bool fin; /* the sender has shut its side down */
	bool fin_seen;
	uint64_t sent;       /* octets sent so far */
	uint64_t cut_at;     /* the connection is lost after this many octets; UINT64_MAX: never */
	uint64_t not_before; /* nothing arrives before this time */
	/* For an association: */
	struct wire_msg *msgs; /* messages in flight */
	size_t nmsgs, cap_msgs;
	uint32_t arrived; /* messages not acknowledged yet */
};

struct net;
struct net_end;

#define LOG_MAX 4096
struct end {
	const char *name;
	struct test_mem mem;
	struct iw_stag_table *stags;
	struct iw_pool spill, txbufs;
	struct iw_rdmap *rdmap;
	struct iw_conn *conn;
	struct iw_conn_cfg cfg;
	struct iw_rdmap_cfg rcfg;
	struct iw_sctpmap *assoc;
	uint8_t scratch[65536 + 8192];
	size_t scratch_len; /* how much of scratch is used */
	struct wire *out, *in;
	bool shut;
	/* Over an SCTP engine: */
	struct pair *pair;
	struct net_end *carrier;
	uint64_t given;  /* messages that the engine has accepted */
	bool lent;       /* the engine borrows memory of operations */
	uint16_t stream; /* of the DDP stream session */

	/* The responder's decision. */
	bool reject, no_answer;
	uint16_t ird, ord;
	uint8_t pd[64];
	size_t pd_len;

	struct iw_event events[16];
	unsigned nevents;
	struct iw_completion done[LOG_MAX];
	unsigned ndone;
	size_t first_done; /* for tests that take completions one by one */
};

struct pair {
	struct end a, b; /* a: initiator */
	struct wire ab, ba;
	uint64_t now;
	struct rng rng;    /* a seed replays a run */
	size_t chunk;      /* octets of one read, at most; 0: random */
	uint64_t delay_ns; /* delay of a chunk, at most; 0: none */
	bool cut;          /* the connection was lost */
	bool cut_loses;    /* the octets in flight are lost too */
	bool sctp;         /* set before pair_start */
	/* Set before pair_start, with sctp: messages go through the two SCTP engines and the link
	 * of this net. It is initialised (net_init) and configured, but not started. */
	struct net *net;
	size_t reorder; /* a message overtakes at most this many others */
};

/* Defaults: Rev 2, CRC, no markers, EMSS 1448, IRD = ORD = 4, queues of 64. Change cfg of the ends,
 * then call pair_start. */
void pair_init(struct pair *p, uint64_t seed);
void pair_start(struct pair *p);
void pair_free(struct pair *p);
/* One round for both ends: send, receive, timers. Returns true if something moved. */
bool pair_step(struct pair *p);
/* Makes rounds until nothing moves any more. Time advances only as far as delays require. */
void pair_run(struct pair *p);
/* Advances to the next deadline of either end and handles it. Returns false if there is none. */
bool pair_tick(struct pair *p);
/* Injects octets into an end, as if its peer had sent them. */
void pair_inject(struct pair *p, struct end *to, const void *octets, size_t len);

/* Polls events and completions of an end into its logs. */
void end_poll(struct pair *p, struct end *e);
bool end_has_event(const struct end *e, enum iw_event_type type);
const struct iw_fault *end_closed_fault(const struct end *e); /* NULL: not closed */
uint32_t end_register(struct end *e, void *base, size_t len, uint64_t to, uint8_t rights,
		      bool this_stream);

#endif
