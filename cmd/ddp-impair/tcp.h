/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside ddp-impair: the relay of TCP streams. tcp.c has the listener and the loop, tcp_conn.c the
 * two sockets of a connection, tcp_flow.c what happens to the octets of one direction.
 *
 * A direction is named by the end that sends in it: 0 the initiator, 1 the responder.
 */
#ifndef IW_DDP_IMPAIR_TCP_H
#define IW_DDP_IMPAIR_TCP_H

#include "ddp-impair/impair.h"
#include "ddp-impair/queue.h"
#include "ddp-impair/rules/framer.h"
#include "util/heap.h"
#include "util/list.h"

#define IW_TCP_IN   (256u << 10) /* octets read at once; more than the longest unit */
#define IW_TCP_HELD 64           /* units that reorder holds at a time */

/* A unit that others overtake. */
struct iw_tcp_held {
	struct iw_unit unit;
	uint8_t *octets; /* owned: without markers */
	struct iw_decision decision[IW_DECISIONS_MAX];
	size_t decisions;
	uint64_t left; /* units that overtake it */
};

struct iw_tcp_flow {
	uint8_t *in;           /* owned; NULL with a pipe */
	int pipe[2];           /* owned; plain octets pass through it without a copy; -1: none */
	size_t in_len, in_off; /* in_off: octets that have left, if plain */
	bool in_ended;         /* the end has closed its direction, or reset the connection */
	bool in_reset;         /* by a reset, which follows its octets instead of a FIN */
	bool discard, ended;   /* by a rule: further octets are dropped; nothing more leaves */
	bool fin_sent;
	struct iw_queue out;
	struct iw_rules_flow rules;
	/* Buffers for one unit, a part each of flat (owned): as it arrived without markers; edited;
	 * with markers again. */
	uint8_t *flat, *edited, *marked;
	uint32_t out_pos;         /* octets of FPDUs that left, modulo 2^32 */
	struct iw_tcp_held *held; /* owned; NULL until the first */
	size_t held_count;
	uint64_t batch_left; /* coalesce: units that still join the batch */
	uint64_t batch_ns;
	/* The link: when its last octet is sent, when it arrives, and the pieces so far. */
	uint64_t busy_ns, arrive_ns, sent, now_ns;
	uint64_t octets, units; /* that left; that arrived */
};

struct iw_tcp_conn;

/* One of the two sockets. */
struct iw_tcp_end {
	struct iw_tcp_conn *conn;
	int fd; /* owned; -1: none */
	unsigned side;
	uint32_t events; /* that epoll reports */
	bool full;       /* the socket takes no more for the moment */
};

struct iw_tcp_conn {
	struct iw_list link;
	struct iw_timer timer;
	struct iw_tcp *tcp;
	struct iw_tcp_end end[2];
	struct iw_tcp_flow flow[2];
	struct iw_framer framer;
	struct iw_relay_capture_stream capture;
	uint32_t number;
	size_t address; /* of the endpoint that it tries */
	uint64_t begin_ns, connect_ns;
	unsigned reset_by; /* the end from which a reset comes */
	bool connected, closing, closed;
	bool resetting;    /* both ends are reset when they have acknowledged all, or at close_ns */
	uint64_t close_ns; /* when to give up an orderly end */
};

#define IW_TCP_ADDRESSES 8

struct iw_tcp {
	struct iw_relay *relay;
	struct iw_list conns; /* of struct iw_tcp_conn */
	struct iw_list closed;
	struct iw_heap timers;
	struct iw_addr to[IW_TCP_ADDRESSES];
	size_t addresses;
	int listener, epoll;
	/* No free descriptors: when to poll the listener again; IW_TIME_NEVER: it is polled. */
	uint64_t resume_ns;
	bool warned; /* of that, since the last connection was accepted */
	size_t open;
	uint32_t next;
	bool plain; /* octets pass as they are, at once */
	/* results */
	uint64_t connections, refused, octets[2], units[2];
};

/* --- tcp_conn.c --- */

/* Takes the accepted socket fd, and connects to the endpoint. */
void iw_relay_tcp_conn_new(struct iw_tcp *t, int fd, const struct iw_addr *peer, uint64_t now);
/* The socket is ready, or the time of the connection has come. */
void iw_relay_tcp_conn_ready(struct iw_tcp_end *e, uint32_t events, uint64_t now);
void iw_relay_tcp_conn_timeout(struct iw_tcp_conn *c, uint64_t now);
/* Closes the connection and moves it to the list of those to free. */
void iw_relay_tcp_conn_close(struct iw_tcp_conn *c, bool reset);
void iw_relay_tcp_conn_free(struct iw_tcp_conn *c);

/* --- tcp_flow.c --- */

/* Initializes both directions, so that iw_relay_tcp_flow_fini() is allowed after an error too.
 * IW_E_NOMEM. */
IW_MUST_CHECK int iw_relay_tcp_flow_init(struct iw_tcp_flow f[static 2], struct iw_tcp *t);
void iw_relay_tcp_flow_fini(struct iw_tcp_flow *f, struct iw_tcp *t);
/* Divides the octets that have arrived into units, applies the rules, and queues them. */
void iw_relay_tcp_flow_run(struct iw_tcp_conn *c, unsigned from, uint64_t now);
/* True if more octets can be read. */
bool iw_relay_tcp_flow_reads(const struct iw_tcp_conn *c, unsigned from);

#endif
