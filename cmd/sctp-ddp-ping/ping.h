/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ping: round trips over DDP/SCTP, what sctp-ddp-ping is made of.
 *
 * Job: a client opens one association with a DDP stream session on each of its streams, sends untagged
 * messages and takes their replies; a server sends back what it gets; a look at the far end says what
 * answers there. No printing, which is show.h's. Neighbours: lib/verbs carries it all.
 * Threads: none.
 *
 * The Private Data of an Initiate is "iwP" and the version, 1; then, big-endian, the octets of a
 * message (4) and how many messages may be without a reply (2). A Reject's is text, the reason.
 */
#ifndef IW_PING_PING_H
#define IW_PING_PING_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/param.h"
#include "sctp-ddp-ping/stat.h"

#define IW_PING_STREAMS_MAX UINT16_MAX /* as in struct iw_conn_param */
#define IW_PING_SIZE_MAX    (16u * 1024 * 1024)
#define IW_PING_MEMORY      (UINT64_C(256) * 1024 * 1024) /* of a server, for all sessions */

/* --- what a session is asked for with --- */

struct iw_ping_hello {
	uint32_t size;   /* octets of a message */
	uint16_t window; /* messages without a reply, at most; above 0 */
};
#define IW_PING_HELLO_LEN 10
void iw_ping_hello_encode(uint8_t buf[static IW_PING_HELLO_LEN], const struct iw_ping_hello *h);
/* Whether it is one that can be served. Octets behind it are left to later versions. */
bool iw_ping_hello_decode(struct iw_ping_hello *h, const uint8_t *buf, size_t len);

/* --- the client --- */

struct iw_ping_cfg {
	/* connect; Private Data and streams are ours. Its strings are kept. */
	struct iw_cli_param conn;
	uint32_t streams;
	uint32_t size;
	uint64_t count; /* messages of a stream; 0: no end */
	uint64_t
		interval_ns; /* between two messages of a stream, which take turns; flood: no matter */
	bool flood;          /* the next one when the reply is here */
	uint64_t setup_ns, timeout_ns;
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
};

enum iw_ping_event_kind {
	IW_PING_UP,    /* the association, and the session of its first stream: see iw_ping_assoc */
	IW_PING_READY, /* the sessions of all streams */
	IW_PING_MTU,   /* the path MTU of the primary address is now mtu */
	IW_PING_REPLY, /* stream, number, rtt_ns */
	IW_PING_DONE,  /* all that is to be known is known */
};
struct iw_ping_event {
	enum iw_ping_event_kind kind;
	uint32_t stream;
	uint64_t number; /* from 1 */
	uint64_t rtt_ns;
	uint32_t mtu;
};

struct iw_ping;

/* Begins to connect. IW_E_NOMEM, or what iw_connect says. */
IW_MUST_CHECK int iw_ping_new(struct iw_ping **out, const struct iw_ping_cfg *cfg,
			      struct iw_fault *why);
/*
 * Goes on until there is something to tell: 0. Negative: it came to nothing, or to an end on the way;
 * statistics so far can be asked for. IW_E_REJECTED: iw_ping_private_data tells what came with it;
 * IW_E_TIMEOUT: no reply for timeout_ns; IW_E_FORMAT: a reply is not what was sent; others of the
 * connection. Asked to stop by a signal is DONE.
 */
IW_MUST_CHECK int iw_ping_next(struct iw_ping *p, struct iw_ping_event *event,
			       struct iw_fault *why);
/* As it was known last; npaths 0: it never was up. */
const struct iw_assoc_info *iw_ping_assoc(const struct iw_ping *p);
const struct iw_qp_info *iw_ping_session(const struct iw_ping *p); /* of the first stream */
uint32_t iw_ping_streams(const struct iw_ping *p);                 /* those with a session */
const struct iw_ping_stat *iw_ping_stat_of(const struct iw_ping *p, uint32_t stream);
const struct iw_ping_stat *iw_ping_stat_all(const struct iw_ping *p);
/* Octets of Private Data that the peer answered with; NULL: none. Borrowed until it is freed. */
const uint8_t *iw_ping_private_data(const struct iw_ping *p, size_t *len);
void iw_ping_free(struct iw_ping *p);

/* --- the server --- */

struct iw_ping_server_cfg {
	struct iw_cli_param conn; /* listen */
	uint64_t memory;          /* octets for all sessions; 0: IW_PING_MEMORY */
	bool once;                /* ends when somebody was here and nobody is any more */
	uint64_t setup_ns, timeout_ns;
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
};

enum iw_ping_server_event_kind {
	IW_PING_STOPPED, /* asked to stop, or once and done */
	IW_PING_OPENED,  /* a session is set up */
	IW_PING_CLOSED,  /* and gone; fault says how: err 0 orderly */
	IW_PING_REFUSED, /* one that was not accepted; fault says why */
};
struct iw_ping_server_event {
	enum iw_ping_server_event_kind kind;
	char peer[64];
	uint32_t stream;
	uint32_t size;
	uint8_t rev;     /* CAME, LEFT: of the set-up; 2: enhanced (RFC 6581 7) */
	uint64_t echoed; /* LEFT */
	struct iw_fault fault;
};

struct iw_ping_server;

IW_MUST_CHECK int iw_ping_server_new(struct iw_ping_server **out,
				     const struct iw_ping_server_cfg *cfg, struct iw_fault *why);
const char *iw_ping_server_addr(const struct iw_ping_server *s);
uint16_t iw_ping_server_port(const struct iw_ping_server *s);
/* 0: SCTP is not in UDP. */
uint16_t iw_ping_server_udp_port(const struct iw_ping_server *s);
IW_MUST_CHECK int iw_ping_server_next(struct iw_ping_server *s, struct iw_ping_server_event *event,
				      struct iw_fault *why);
void iw_ping_server_free(struct iw_ping_server *s);

/* --- diagnosis of the far end --- */

enum iw_far_end {
	IW_FAR_ANSWERS, /* association, session, reply */
	IW_FAR_OTHER, /* DDP, but the session was accepted by something that does not reply, or ended it */
	IW_FAR_REJECTED,  /* DDP; the session was rejected, private_data says more */
	IW_FAR_NO_DDP,    /* SCTP without adaptation indication, or with another one */
	IW_FAR_ABORT,     /* SCTP, but nobody there at this port */
	IW_FAR_ICMP,      /* a host, or a router, says that nothing is there */
	IW_FAR_SILENT,    /* nothing at all */
	IW_FAR_NOT_TRIED, /* this host cannot */
};
const char *iw_far_end_name(enum iw_far_end e);

struct iw_ping_diagnosis {
	const char *transport;
	enum iw_far_end what;
	struct iw_fault fault;
	struct iw_assoc_info assoc; /* npaths 0: there was none */
	uint64_t rtt_ns;            /* ANSWERS */
	size_t private_data_len;
	uint8_t private_data[IW_PRIVATE_DATA_MAX];
};
/*
 * One try over @conn's transport, as long as setup_ns for the session and as much again for the
 * reply.
 */
void iw_ping_diagnose(struct iw_ping_diagnosis *out, const struct iw_ping_cfg *cfg);
/* What a failure of a client says of the far end. */
enum iw_far_end iw_ping_far_end(const struct iw_fault *why, bool associated);

#endif
