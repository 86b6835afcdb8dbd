/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ping: round trips of DDP messages over SCTP.
 *
 * A client opens an association with a DDP stream session on each of its streams, sends untagged
 * messages and receives their replies. A server returns each message. A diagnosis reports what
 * answers at the far end. Neighbours: lib/verbs carries the messages, show.h prints. Threads: none.
 *
 * The Private Data of an Initiate is "iwP" and the version, 1; then, big-endian, the length of a
 * message (4 octets) and the maximum of messages without a reply (2 octets). The Private Data of a
 * Reject is the reason as text.
 */
#ifndef IW_SCTP_DDP_PING_PING_H
#define IW_SCTP_DDP_PING_PING_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/param.h"
#include "sctp-ddp-ping/stat.h"

#define IW_PING_STREAMS_MAX UINT16_MAX /* as in struct iw_endpoint_attr */
#define IW_PING_SIZE_MAX    (16u * 1024 * 1024)
#define IW_PING_MEMORY      (UINT64_C(256) * 1024 * 1024) /* of all sessions of a server, octets */

/* --- the Private Data of an Initiate --- */

struct iw_ping_hello {
	uint32_t size;   /* octets of a message */
	uint16_t window; /* maximum of messages without a reply; above 0 */
};
#define IW_PING_HELLO_LEN 10
void iw_ping_hello_encode(uint8_t buf[static IW_PING_HELLO_LEN], const struct iw_ping_hello *h);
/*
 * Returns false if it is malformed or cannot be served. Ignores octets after it, for later
 * versions.
 */
bool iw_ping_hello_decode(struct iw_ping_hello *h, const uint8_t *buf, size_t len);

/* --- the client --- */

struct iw_ping_cfg {
	/* For iw_connect; private_data and streams are replaced. Its strings are kept. */
	struct iw_cli_param conn;
	uint32_t streams;
	uint32_t size;
	uint64_t count; /* messages of a stream; 0: no limit */
	/* Between two messages of a stream. Streams take turns. Ignored with flood. */
	uint64_t interval_ns;
	bool flood; /* send the next message as soon as the reply has arrived */
	uint64_t setup_ns, timeout_ns;
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
};

enum iw_ping_event_kind {
	IW_PING_UP,    /* the association and the session of its first stream are up */
	IW_PING_READY, /* the sessions of all streams are up */
	IW_PING_MTU,   /* the path MTU of the primary address has changed: mtu */
	IW_PING_REPLY, /* a reply has arrived: stream, number, rtt_ns */
	IW_PING_DONE,  /* the end */
};
struct iw_ping_event {
	enum iw_ping_event_kind kind;
	uint32_t stream;
	uint64_t number; /* from 1 */
	uint64_t rtt_ns;
	uint32_t mtu;
};

struct iw_ping;

/* Begins to connect. Errors of iw_connect; IW_E_NOMEM. */
IW_MUST_CHECK int iw_ping_new(struct iw_ping **out, const struct iw_ping_cfg *cfg,
			      struct iw_fault *why);
/*
 * Runs until the next event. A signal that asks the process to stop gives DONE. After an error the
 * client has ended; the statistics remain valid. IW_E_REJECTED: see iw_ping_private_data;
 * IW_E_TIMEOUT: no reply for timeout_ns; IW_E_FORMAT: a reply differs from its message; errors of
 * the connection.
 */
IW_MUST_CHECK int iw_ping_next(struct iw_ping *p, struct iw_ping_event *event,
			       struct iw_fault *why);
/* The last known state of the association. npaths 0: it was never up. */
const struct iw_assoc_info *iw_ping_assoc(const struct iw_ping *p);
/* The session of the first stream. */
const struct iw_qp_info *iw_ping_session(const struct iw_ping *p);
/* The number of streams with a session. */
uint32_t iw_ping_streams(const struct iw_ping *p);
const struct iw_ping_stat *iw_ping_stat_of(const struct iw_ping *p, uint32_t stream);
const struct iw_ping_stat *iw_ping_stat_all(const struct iw_ping *p);
/* The Private Data of the peer's Reject; NULL: none. Owned by p. */
const uint8_t *iw_ping_private_data(const struct iw_ping *p, size_t *len);
void iw_ping_free(struct iw_ping *p);

/* --- the server --- */

struct iw_ping_server_cfg {
	struct iw_cli_param conn; /* for iw_listen */
	uint64_t memory;          /* limit of all sessions, octets; 0: IW_PING_MEMORY */
	bool once;                /* end when no session is open any more, after at least one */
	uint64_t setup_ns, timeout_ns;
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
};

enum iw_ping_server_event_kind {
	IW_PING_STOPPED, /* a signal asked to stop, or the end with once */
	IW_PING_OPENED,  /* a session is set up */
	IW_PING_CLOSED,  /* a session has ended; fault has the reason: err 0: orderly */
	IW_PING_REFUSED, /* a session was rejected; fault has the reason */
};
struct iw_ping_server_event {
	enum iw_ping_server_event_kind kind;
	char peer[64];
	uint32_t stream;
	uint32_t size;
	uint8_t rev;     /* OPENED, CLOSED: of the set-up; 2: enhanced (RFC 6581 7) */
	uint64_t echoed; /* CLOSED: messages returned */
	struct iw_fault fault;
};

struct iw_ping_server;

/* Begins to listen. Errors of iw_listen; IW_E_NOMEM. */
IW_MUST_CHECK int iw_ping_server_new(struct iw_ping_server **out,
				     const struct iw_ping_server_cfg *cfg, struct iw_fault *why);
/* Returns the listener, for its address and ports. Owned by s. */
const struct iw_listener *iw_ping_server_listener(const struct iw_ping_server *s);
/* Runs until the next event. IW_E_OS: waiting failed. */
IW_MUST_CHECK int iw_ping_server_next(struct iw_ping_server *s, struct iw_ping_server_event *event,
				      struct iw_fault *why);
void iw_ping_server_free(struct iw_ping_server *s);

/* --- diagnosis of the far end --- */

enum iw_far_end {
	IW_FAR_ANSWERS,   /* association, session and reply */
	IW_FAR_OTHER,     /* DDP: the session was accepted, but there was no reply, or it ended */
	IW_FAR_REJECTED,  /* DDP: the session was rejected; see private_data */
	IW_FAR_NO_DDP,    /* SCTP without the adaptation indication of DDP */
	IW_FAR_ABORT,     /* SCTP, but no listener at this port */
	IW_FAR_ICMP,      /* an ICMP error of the host or of a router */
	IW_FAR_SILENT,    /* no answer */
	IW_FAR_NOT_TRIED, /* this host cannot use the transport, or has no route */
};
const char *iw_far_end_name(enum iw_far_end e);

struct iw_ping_diagnosis {
	const char *transport;
	enum iw_far_end what;
	struct iw_fault fault;
	struct iw_assoc_info assoc; /* npaths 0: no association */
	uint64_t rtt_ns;            /* ANSWERS */
	size_t private_data_len;
	uint8_t private_data[IW_PRIVATE_DATA_MAX];
};
/*
 * Tests the far end over the transport of cfg->conn with one message. Waits at most setup_ns for
 * the session, and the same time for the reply.
 */
void iw_ping_diagnose(struct iw_ping_diagnosis *out, const struct iw_ping_cfg *cfg);
/* Classifies the failure of a client. associated: the association was up. */
enum iw_far_end iw_ping_far_end(const struct iw_fault *why, bool associated);

#endif
