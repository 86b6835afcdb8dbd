/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sctp-ddp-ping: measures round trips of DDP messages over SCTP.
 *
 * A client opens an association with a DDP stream session on each of its streams (RFC 5043), sends
 * untagged messages and receives their replies. A server returns each message to its client. A
 * diagnosis finds out what answers at the far end.
 * Neighbours: lib/verbs transfers the messages, show.h writes the output.
 * Threads: none.
 *
 * The Private Data of a Session Initiate: "iwP" and the version, 1 octet of value 1; then,
 * big-endian, the octets of a message (4 octets) and the most messages that may be without a reply
 * on the stream (2 octets). The Private Data of a Session Reject is the reason as text.
 */
#ifndef IW_SCTP_DDP_PING_PING_H
#define IW_SCTP_DDP_PING_PING_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/param.h"
#include "cli/secure.h"
#include "sctp-ddp-ping/stat.h"

#define IW_PING_STREAMS_MAX UINT16_MAX                    /* as in struct iw_endpoint_attr */
#define IW_PING_SIZE_MAX    (16u * 1024 * 1024)           /* octets of a message */
#define IW_PING_MEMORY      (UINT64_C(256) * 1024 * 1024) /* of all sessions of a server, octets */

/* --- the Private Data of an Initiate --- */

struct iw_ping_hello {
	uint32_t size;   /* octets of a message */
	uint16_t window; /* most messages without a reply; above 0 */
};
#define IW_PING_HELLO_LEN 10
void iw_ping_hello_encode(uint8_t buf[static IW_PING_HELLO_LEN], const struct iw_ping_hello *h);
/*
 * Decodes the Private Data of len octets in buf. Ignores octets after the known fields, for later
 * versions. False: it has another form, or a value that no server accepts.
 */
bool iw_ping_hello_decode(struct iw_ping_hello *h, const uint8_t *buf, size_t len);

/* --- the client --- */

struct iw_ping_cfg {
	/* For iw_connect. The client sets private_data and, if needed, at.streams itself. Strings
	 * are borrowed until iw_ping_free. */
	struct iw_cli_param conn;
	struct iw_cli_secure *secure; /* for the key of the peer; NULL: plain */
	uint32_t streams;             /* at least 1 */
	uint32_t size;                /* octets of a message */
	uint64_t count;               /* messages on each stream; 0: no limit */
	/* Time between two messages of a stream. Streams take turns. Ignored with flood. */
	uint64_t interval_ns;
	bool flood; /* send the next message as soon as the reply has arrived */
	/* Limits of the set-up, and of the time without a reply while one is due. */
	uint64_t setup_ns, timeout_ns;
	void (*trace)(void *trace_ctx, const char *line); /* as in struct iw_ctx_attr */
	void *trace_ctx;
};

enum iw_ping_event_kind {
	IW_PING_UP,    /* the association and the session of its first stream are established */
	IW_PING_READY, /* the sessions of all streams are established */
	IW_PING_MTU,   /* the path MTU of the primary address has changed: mtu */
	IW_PING_REPLY, /* a reply has arrived: stream, number, rtt_ns */
	IW_PING_DONE,  /* all messages have their replies, or a signal has ended the run */
};
struct iw_ping_event {
	enum iw_ping_event_kind kind;
	uint32_t stream;
	uint64_t number; /* of the message on its stream, beginning with 1 */
	uint64_t rtt_ns;
	uint32_t mtu; /* octets */
};

struct iw_ping;

/* Begins to connect. The caller owns *out and frees it with iw_ping_free. Errors: those of
 * iw_connect; IW_E_NOMEM. */
IW_MUST_CHECK int iw_ping_new(struct iw_ping **out, const struct iw_ping_cfg *cfg,
			      struct iw_fault *why);
/*
 * Runs until the next event. After a signal that asks the process to stop (cli/signals.h) the
 * client sends no further message, and DONE follows within a second. After an error the client has
 * ended; the statistics remain valid. IW_E_REJECTED: the server rejected a session, see
 * iw_ping_private_data; IW_E_TIMEOUT: no reply for timeout_ns; IW_E_FORMAT: a reply differs from
 * its message; IW_E_LIMIT: the association has too few streams; IW_E_CANCELED: the signal arrived
 * before all sessions were established; others: of the connection.
 */
IW_MUST_CHECK int iw_ping_next(struct iw_ping *p, struct iw_ping_event *event,
			       struct iw_fault *why);
/* The pointers that these functions return are owned by p. */
/* Returns the last known state of the association. npaths 0: it was never established. */
const struct iw_assoc_info *iw_ping_assoc(const struct iw_ping *p);
/* Returns the state of the session on the first stream, as of its establishment. */
const struct iw_qp_info *iw_ping_session(const struct iw_ping *p);
/* Returns the encryption of the association; version NULL: it is plain. */
const struct iw_tls_info *iw_ping_tls(const struct iw_ping *p);
/* Returns the number of streams whose session was established. */
uint32_t iw_ping_streams(const struct iw_ping *p);
/* Returns the statistics of a stream, which is below cfg.streams; of all streams together. */
const struct iw_ping_stat *iw_ping_stat_of(const struct iw_ping *p, uint32_t stream);
const struct iw_ping_stat *iw_ping_stat_all(const struct iw_ping *p);
/* Returns the Private Data of the peer's Reject, of *len octets; NULL: none. */
const uint8_t *iw_ping_private_data(const struct iw_ping *p, size_t *len);
/* Closes the sessions in order, for at most 3 s; after an error, aborts. p may be NULL. */
void iw_ping_free(struct iw_ping *p);

/* --- the server --- */

struct iw_ping_server_cfg {
	struct iw_cli_param conn; /* for iw_listen; its strings are borrowed as in iw_ping_cfg */
	uint64_t memory;          /* limit of all sessions together, octets; 0: IW_PING_MEMORY */
	bool once;                /* end when the last session has ended, after at least one */
	uint64_t setup_ns, timeout_ns; /* setup_ns and stall_ns of struct iw_ctx_attr */
	void (*trace)(void *trace_ctx, const char *line); /* as there */
	void *trace_ctx;
};

enum iw_ping_server_event_kind {
	IW_PING_STOPPED, /* a signal asked the process to stop, or with once all is done */
	IW_PING_OPENED,  /* a session is established */
	IW_PING_CLOSED,  /* a session has ended; fault has the reason, err 0: in order */
	IW_PING_REFUSED, /* a session was rejected; fault has the reason */
};
struct iw_ping_server_event {
	enum iw_ping_server_event_kind kind;
	char peer[64];
	uint32_t stream;
	uint32_t size;   /* octets of a message; 0: not known */
	uint8_t rev;     /* OPENED, CLOSED: of the set-up; 2: enhanced (RFC 6581 7) */
	uint64_t echoed; /* CLOSED: replies posted */
	struct iw_fault fault;
};

struct iw_ping_server;

/* Begins to listen. The caller owns *out and frees it with iw_ping_server_free. Errors: those of
 * iw_listen; IW_E_NOMEM. */
IW_MUST_CHECK int iw_ping_server_new(struct iw_ping_server **out,
				     const struct iw_ping_server_cfg *cfg, struct iw_fault *why);
/* Returns the listener, for its address and ports. Owned by s. */
const struct iw_listener *iw_ping_server_listener(const struct iw_ping_server *s);
/* Runs until the next event. Errors: those of iw_cq_wait and iw_cq_poll; the server cannot continue
 * then. */
IW_MUST_CHECK int iw_ping_server_next(struct iw_ping_server *s, struct iw_ping_server_event *event,
				      struct iw_fault *why);
void iw_ping_server_free(struct iw_ping_server *s); /* s may be NULL */

/* --- diagnosis of the far end --- */

enum iw_far_end {
	IW_FAR_ANSWERS,   /* the message was returned */
	IW_FAR_OTHER,     /* DDP: the association was established, but no reply arrived */
	IW_FAR_REJECTED,  /* DDP: the peer rejected the session; see private_data */
	IW_FAR_NO_DDP,    /* SCTP without DDP's Adaptation Layer Indication (RFC 5043) */
	IW_FAR_ABORT,     /* SCTP: the peer aborted, such as without a listener at this port */
	IW_FAR_ICMP,      /* the host or a router returned an ICMP error */
	IW_FAR_SILENT,    /* nothing arrived */
	IW_FAR_NOT_TRIED, /* this host cannot use the transport, or has no route */
};
/* Returns the name in JSON: "answers", ... (static). */
const char *iw_far_end_name(enum iw_far_end e);

struct iw_ping_diagnosis {
	const char *transport; /* borrowed from cfg */
	enum iw_far_end what;
	struct iw_fault fault;      /* why there was no reply; err 0: there was one */
	struct iw_assoc_info assoc; /* npaths 0: no association */
	uint64_t rtt_ns;            /* ANSWERS */
	/* Of the peer's Reject; length 0: none. */
	size_t private_data_len;
	uint8_t private_data[IW_PRIVATE_DATA_MAX];
};
/*
 * Tests the far end over the transport of cfg->conn with one message. Waits at most setup_ns for
 * the session, and the same time again for the reply. Failures are results, in *out.
 */
void iw_ping_diagnose(struct iw_ping_diagnosis *out, const struct iw_ping_cfg *cfg);
/* Classifies the failure of a client. associated: the association was established. */
enum iw_far_end iw_ping_far_end(const struct iw_fault *why, bool associated);

#endif
