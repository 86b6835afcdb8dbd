/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Session transports: messages on SCTP associations. "sctp" is the kernel's SCTP; "udp", "raw" and
 * "xdp" are the user-space engine on three packet carriers. A port is what the loop polls: one
 * socket or several. It has associations, and each association has many streams of messages.
 *
 * Job: moves messages, and knows nothing of DDP. Neighbours: lib/loop drives it, lib/sctp is the
 * engine. All messages are unordered and unfragmented (RFC 5043 9, 10). Streams come in pairs.
 * Threads: none, no locks; a port with its associations belongs to one thread at a time.
 *
 *   in:   while (input(p, now, why) > 0)
 *                 do {
 *                         while (next_msg(p, &m)) ...      m.data is borrowed until the next call
 *                         while (next_event(p, &ev)) ...
 *                 } while (there was an event: a message may have been held until it was taken);
 *   out:  send(a, &m, now) until it returns IW_E_AGAIN; then output(p, now, why)
 *   time: deadline(p), timeout(p, now); then events and output
 */
#ifndef IW_LLP_PORT_H
#define IW_LLP_PORT_H

#include "llp/llp.h"
#include "util/lend.h"
#include "util/trace.h"
#include "util/vec.h"

struct iw_port;

struct iw_port_cfg {
	struct iw_llp_cfg llp;
	uint16_t streams;    /* in each direction */
	uint32_t adaptation; /* the Adaptation Layer Indication of this end (RFC 5061 4.2.6) */
	/* "xdp": payload protocols of segments and of session control; 0: those of RFC 5043. */
	uint32_t ppid_segment, ppid_control;
	const struct iw_tracer *tracer; /* borrowed for the life of the port; may be NULL */
};

/* An association. Implementations embed it. The port owns it until release. */
struct iw_assoc {
	struct iw_port *port;
	void *user; /* the caller's; NULL on a new association of a listener */
	char local[64], peer[64];
	uint8_t peer_ip[16]; /* after UP: an address of the peer, IPv4 as ::ffff:0:0/96 */
	/*
	 * After UP: the indication of the peer (RFC 5061 4.2.6), and the agreed numbers of streams.
	 */
	bool up;
	bool indicated; /* INIT or INIT ACK had an Adaptation Layer Indication */
	uint32_t adaptation;
	uint16_t in, out;
	size_t max_message;  /* octets; longer messages would be fragmented. Changes with the MTU */
	struct iw_fault why; /* after DOWN; err is 0 after an orderly end */
};

/* An address of the peer. */
struct iw_assoc_path {
	char addr[64];
	bool active, primary;
	uint32_t mtu;     /* octets of an IP packet; 0: not known */
	uint64_t srtt_ns; /* 0: not measured yet */
};

/* A received message. */
struct iw_port_msg {
	struct iw_assoc *assoc;
	uint16_t stream;
	uint32_t ppid;       /* host order */
	const uint8_t *data; /* borrowed until the next call */
	size_t len;
	bool lendable; /* lend accepts it */
};

enum iw_assoc_event_type {
	IW_ASSOC_UP,        /* established */
	IW_ASSOC_MTU,       /* max_message has changed */
	IW_ASSOC_ROOM,      /* send accepts messages again */
	IW_ASSOC_ACKED,     /* n more messages of the stream are acknowledged, cumulatively */
	IW_ASSOC_ALL_ACKED, /* all messages of all streams are acknowledged (all_acked_only) */
	IW_ASSOC_DOWN,      /* the last event: release the association */
};
struct iw_assoc_event {
	enum iw_assoc_event_type what;
	struct iw_assoc *assoc;
	uint16_t stream;
	uint32_t n;
};

/* A message to send. */
struct iw_port_out {
	uint16_t stream;
	uint32_t ppid;      /* host order */
	const uint8_t *hdr; /* the first octets, borrowed */
	size_t hdr_len;
	const struct iw_vec *vec; /* the rest: borrowed, or kept (see send) */
	size_t nvec;
	bool keep;    /* the port may keep vec's memory until the acknowledgement: see send */
	bool last;    /* with keep: the caller will wait for the acknowledgement */
	bool ack_now; /* the peer should not delay the acknowledgement (RFC 7053) */
};

/* send has kept the memory of the message. */
#define IW_PORT_KEPT 1

struct iw_port_ops {
	const char *name;
	/* Returns what iw_llp_available returns for this transport. */
	int (*available)(struct iw_fault *why);
	/* Returns what iw_llp_look returns. NULL: available has no side effect. */
	int (*look)(struct iw_fault *why);
	/*
	 * Opens a listener, or a port to connect from. *out is owned by the caller until close.
	 * Returns 0; IW_E_NOTSUP: not built, not supported here, or no such congestion control;
	 * IW_E_PERM: a capability is missing; IW_E_BUSY: another listener uses the SCTP port;
	 * IW_E_NOENT: no such interface; IW_E_NOMEM; other errors: resolving or binding failed.
	 * *why says what would help.
	 */
	int (*open)(struct iw_port **out, const struct iw_port_cfg *cfg, struct iw_fault *why);
	/*
	 * Starts the association with the host of cfg. UP or DOWN follows. *out is owned by the
	 * port until release. Returns 0; IW_E_NOMEM; other errors: no address of the host could be
	 * tried (*why: the last failure).
	 */
	int (*connect)(struct iw_port *p, struct iw_assoc **out, uint64_t now,
		       struct iw_fault *why);
	/*
	 * Optional. Fills *why for an association that is not established waited ns after connect:
	 * the target, the transport, and what to check.
	 */
	void (*no_answer)(struct iw_assoc *a, uint64_t waited, struct iw_fault *why);
	/*
	 * Reads one batch. Returns 1: messages and events may be pending; 0: nothing was left to
	 * read; negative: the port is broken (*why).
	 */
	int (*input)(struct iw_port *p, uint64_t now, struct iw_fault *why);
	/*
	 * NULL: the port has no rings in memory. Returns true if input would find a packet. Makes
	 * no system call, and is cheap enough to call in a loop.
	 */
	bool (*peek)(struct iw_port *p, uint64_t now);
	/*
	 * NULL: as for peek. on (the state after open): fd becomes readable when a packet arrives,
	 * so the caller can sleep on it. Call peek once more before sleeping. off: fd reports
	 * nothing about the rings, and an arriving packet wakes no sleeper.
	 */
	void (*rest)(struct iw_port *p, bool on);
	/*
	 * Only if waits is set. Like input, but waits about 10 ms for the first packet. *now is set
	 * to the time after the wait. IW_E_AGAIN: none arrived; IW_E_CANCELED: interrupted by a
	 * signal. For a process with one port this wakes faster than a poll.
	 */
	int (*input_wait)(struct iw_port *p, uint64_t *now, struct iw_fault *why);
	/* Returns the next message. False: none is pending, or an event must be taken first. */
	bool (*next_msg)(struct iw_port *p, struct iw_port_msg *out);
	/*
	 * NULL: no message is lendable. Keeps data, a part of the message that next_msg returned
	 * last, until it is returned to the lender.
	 */
	struct iw_lender *(*lend)(struct iw_port *p, const uint8_t *data);
	/* Returns the next event. False: none is pending. */
	bool (*next_event)(struct iw_port *p, struct iw_assoc_event *out);
	/*
	 * Queues a message. Returns 0: the message was copied; IW_PORT_KEPT: vec's memory is kept
	 * until the acknowledgement. IW_E_AGAIN: the queue is full, retry after ROOM; IW_E_NOMEM:
	 * retry later; other errors: the association has ended, and DOWN follows.
	 */
	int (*send)(struct iw_assoc *a, const struct iw_port_out *m, uint64_t now);
	/*
	 * Sets how many octets of received messages the caller still holds (initially 0). They
	 * reduce the receive window of the association. NULL: the transport cannot subtract them
	 * (kernel SCTP).
	 */
	void (*held)(struct iw_assoc *a, size_t octets);
	/*
	 * NULL: the port never keeps memory. Ends every use of the memory that messages of that
	 * stream have kept (IW_PORT_KEPT): unacknowledged octets are copied, and the caller owns
	 * the memory again. If there is no memory for the copies, the association is aborted.
	 */
	void (*release_memory)(struct iw_assoc *a, uint16_t stream, uint64_t now);
	/*
	 * For a carrier that checks segments before this process reads them; NULL: the carrier does
	 * not. The STag is registered for this Protection Domain and DDP stream (stream 0: for all
	 * streams of the PD; RFC 5041 8.2). pd 0: the STag is no longer registered. The STag is
	 * invalid from expires (monotonic ns; IW_TIME_NEVER), without another call.
	 */
	void (*stag)(struct iw_port *p, uint32_t stag, uint32_t pd, uint32_t stream,
		     uint64_t expires);
	/*
	 * As stag. The session on SCTP stream number of an established association is this DDP
	 * stream. pd 0: the session has ended.
	 */
	void (*session)(struct iw_assoc *a, uint16_t number, uint32_t pd, uint32_t stream);
	/*
	 * Sends all packets that are due. Returns 0, or IW_E_AGAIN if the socket or the ring is
	 * full: retry when fd is writable.
	 */
	int (*output)(struct iw_port *p, uint64_t now);
	/* Returns the next deadline in ns; IW_TIME_NEVER: none. */
	uint64_t (*deadline)(struct iw_port *p);
	/* Handles the deadlines that have passed. Then take events, and call output. */
	void (*timeout)(struct iw_port *p, uint64_t now);
	/*
	 * Starts an orderly end (RFC 9260 9.2): DOWN follows when the messages of both ends are
	 * acknowledged. Has no effect after the end.
	 */
	void (*shutdown)(struct iw_assoc *a, uint64_t now);
	/*
	 * Ends the association at once. Sends an ABORT with the reason (RFC 9260 3.3.10.12; NULL:
	 * without one; kernel SCTP ignores it). DOWN follows, unless the association is released
	 * first.
	 */
	void (*abort)(struct iw_assoc *a, const char *reason, uint64_t now);
	/*
	 * Frees the association, in any state. Sends the peer nothing, except that kernel SCTP
	 * shuts an established association down.
	 */
	void (*release)(struct iw_assoc *a);
	/* Optional. Sets the fields of *out that the transport knows. */
	void (*facts)(struct iw_assoc *a, struct iw_llp_facts *out);
	/* NULL: there is no choice. IW_E_NOTSUP: no such controller; the current one stays. */
	int (*set_cc)(struct iw_assoc *a, const char *name, struct iw_fault *why);
	/*
	 * Fills out with at most cap addresses of the peer. Returns their number; 0 after the end
	 * of the association. May make system calls.
	 */
	unsigned (*paths)(struct iw_assoc *a, struct iw_assoc_path *out, unsigned cap);
	/*
	 * NULL: the transport has no encryption. Fills *out (without size) for an association that
	 * is established and encrypted. False: it is not.
	 */
	bool (*tls)(struct iw_assoc *a, struct iw_tls_info *out);
	/*
	 * Frees the port with its sockets. "sctp" also frees its associations; release others
	 * first.
	 */
	void (*close)(struct iw_port *p);
};

struct iw_port {
	const struct iw_port_ops *ops;
	int fd;         /* to be polled; owned by the port */
	bool waits;     /* input_wait may be called */
	char local[64]; /* of a listener */
	uint16_t local_port;
	uint16_t local_udp_port; /* 0: not in UDP */
	bool all_acked_only;     /* acknowledgements are reported only by IW_ASSOC_ALL_ACKED */
	uint32_t window;         /* receive window of each association, octets; 0: not known */
	unsigned loans;          /* messages that can be lent at once; 0: the port does not lend */
	/* Most associations of a listener without a session; each uses a descriptor. 0: no limit */
	uint32_t unused_max;
	uint64_t sends, recvs; /* system calls that moved octets */
};

/*
 * Memory that "xdp" sends without a copy. The functions and their errors are those of
 * iw_xdp_memory_new and its siblings in <iwarp/verbs.h>.
 */
struct iw_xdp_memory;
IW_MUST_CHECK int iw_port_memory_new(struct iw_xdp_memory **out, const struct iw_llp_cfg *cfg,
				     size_t len, struct iw_fault *why);
void *iw_port_memory_addr(struct iw_xdp_memory *m);
void iw_port_memory_free(struct iw_xdp_memory *m);

/* Returns the session transport with this name, or NULL. */
const struct iw_port_ops *iw_port_find(const char *name);

#endif
