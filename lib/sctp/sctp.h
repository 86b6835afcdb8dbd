/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SCTP in user space (RFC 9260), as far as DDP over SCTP (RFC 5043) uses it.
 *
 * Job: associations. Sends unordered messages, each as one DATA chunk. Returns received unordered
 * messages once, in the order of arrival, from where they are in the packet.
 * Neighbours: lib/pkt carries packets (UDP, raw IP, AF_XDP). lib/sctpmap and lib/conn make DDP
 * streams of the messages. lib/wire encodes and decodes the chunks.
 * Threads: no threads, no locks. An endpoint with all its associations belongs to one thread at a
 * time. The engine makes no system call and reads no clock: `now` is monotonic, in nanoseconds.
 *
 * Input:   iw_sctp_input(s, packet, now) checks the packet and finds its association
 *          while (iw_sctp_next(s, &m)) ...            the messages in the packet
 * Output:  iw_sctp_send(a, &msg, now) queues a message as a chunk with a TSN
 *          while ((n = iw_sctp_output(s, ...)) > 0)   whole packets, in the carrier's memory
 * Timers:  iw_sctp_deadline(s), iw_sctp_timeout(s, now)
 * Events:  while (iw_sctp_next_event(s, &ev)) ...     after any of the above
 *
 * A carrier reads a batch of packets, passes each to iw_sctp_input and iw_sctp_next, and then calls
 * iw_sctp_output until it returns 0. One SACK acknowledges the batch, or several batches
 * (iw_sctp_sack_can_wait).
 *
 * The engine sends only unfragmented, unordered messages. It reassembles received fragments of
 * unordered messages within a bound. Ordered DATA ends the association (cause 13): RFC 5043 10
 * forbids it, so an SCTP that only DDP uses need not deliver it. The engine never lists an address
 * of its own in a chunk. The peer may have up to IW_SCTP_PATHS_MAX addresses. ASCONF, adding
 * streams, ECN and partial reliability are not supported.
 *
 * Deliberate deviations:
 *   - One SACK acknowledges a batch of packets (RFC 9260 6.2: at least every second packet).
 *   - Losses are also detected by time (RACK with a tail-loss probe, as in RFC 8985), because
 *     RTO.Min is one second.
 *   - In fast recovery, cubic reduces the DATA in flight over a round trip instead of at once (RFC
 *     9937), so that DATA may be sent above the reduced cwnd (RFC 9260 6.1 B).
 *   - Pacing limits bursts instead of Max.Burst (RFC 9260 6.1 D leaves the means open): cwnd is
 *     spread over a round trip, at 1.25 times that rate, or twice that rate in slow start. A burst
 *     is cfg.burst packets or the octets of one millisecond, whichever is more.
 *   - L (RFC 9260 7.2.1) can be configured.
 *   - An association uses at most IW_SCTP_PATHS_MAX addresses of its peer. Packets from further
 *     addresses do not belong to it.
 */
#ifndef IW_SCTP_SCTP_H
#define IW_SCTP_SCTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/mem.h"
#include "util/num.h"
#include "util/trace.h"
#include "util/vec.h"

#define IW_SCTP_PATHS_MAX    16  /* addresses of one peer; further ones that it lists are ignored */
#define IW_SCTP_SEND_HDR_MAX 56  /* octets of a message that iw_sctp_send always copies */
#define IW_SCTP_SEND_VECS    2   /* slices that a message refers to; more are copied */
#define IW_SCTP_MTU_MIN      576 /* least path MTU of IPv4: smaller packets would be IP fragments */
#define IW_SCTP_MTU_MIN6     1280 /* least path MTU of IPv6 */
#define IW_SCTP_MTU_BASE     1200 /* where the search for the path MTU begins (RFC 8899 5.1.2) */

struct iw_sctp;       /* an endpoint: one SCTP port on one carrier */
struct iw_sctp_assoc; /* an association */
struct iw_sctp_cc_ops;

/* --- addresses and packets -------------------------------------------------------------------- */

/*
 * The source or destination of a packet. Plain data. Set all fields: comparisons use every octet.
 */
struct iw_sctp_addr {
	uint8_t ip[16];    /* IPv6; IPv4 as ::ffff:a.b.c.d */
	uint32_t scope;    /* interface index of a link-local address, else 0 */
	uint16_t udp_port; /* RFC 6951: the remote UDP port; 0: SCTP directly on IP */
	uint16_t zero;
};
/* True if both name the same host and interface, whatever the UDP port. */
bool iw_sctp_addr_same_ip(const struct iw_sctp_addr *a, const struct iw_sctp_addr *b);
/* True for an IPv6 link-local address, which is valid only together with its interface. */
bool iw_sctp_addr_has_scope(const struct iw_sctp_addr *a);
/* False for multicast, broadcast, reserved and unspecified addresses (RFC 9260 8.4). */
bool iw_sctp_addr_is_unicast(const struct iw_sctp_addr *a);
/* True for an IPv4-mapped address. */
bool iw_sctp_addr_is_ipv4(const struct iw_sctp_addr *a);

struct iw_sctp_packet {
	struct iw_sctp_addr peer;  /* source of a received packet, destination of one to send */
	struct iw_sctp_addr local; /* our address of it; all zero: not known, the carrier chooses */
	const uint8_t *data;       /* received packets: from the SCTP common header on */
	size_t len;
	/*
	 * Packets to send: the end of the packet, after the octets that iw_sctp_output wrote. It
	 * stays in the memory of the caller of iw_sctp_send. The checksum covers it. NULL unless
	 * the message was sent with in_place.
	 */
	const uint8_t *rest;
	size_t rest_len;
	/*
	 * Packets to send: larger than the path MTU, so send it without DF, with IP fragmentation
	 * (RFC 9260 6.9).
	 */
	bool fragment;
};

/* --- endpoint --------------------------------------------------------------------------------- */

/* RFC 9260 16, in nanoseconds. 0 selects the recommended value, which is given beside the field. */
struct iw_sctp_times {
	uint64_t rto_initial, rto_min, rto_max; /* 1 s, 1 s, 60 s */
	uint64_t cookie_life;                   /* 60 s */
	uint64_t hb_interval;                   /* 30 s */
	uint64_t sack_delay;                    /* 200 ms; at most 500 ms */
	uint64_t pmtu_raise;                    /* 600 s (RFC 8899 5.1.1) */
	uint32_t assoc_max_retrans;             /* 10 */
	uint32_t path_max_retrans;              /* 5 */
	uint32_t max_init_retransmits;          /* 8 */
};

struct iw_sctp_cfg {
	const struct iw_mem *mem; /* borrowed for the life of the endpoint */
	/*
	 * Fills buf with len unpredictable octets, for tags, TSNs, cookie keys and nonces. Returns
	 * 0 or a negative error. random_ctx is borrowed for the life of the endpoint.
	 */
	int (*random)(void *ctx, void *buf, size_t len);
	void *random_ctx;
	uint16_t port; /* our SCTP port; 1 to 65535 */
	bool listen;   /* accept associations; otherwise an INIT is answered with ABORT */
	/*
	 * Streams requested and the most accepted, the same in both directions (RFC 5043 8);
	 * 1..65535.
	 */
	uint16_t streams;
	/* The Adaptation Layer Indication in our INIT and INIT ACK (RFC 5061 4.2.6). */
	uint32_t adaptation;
	/*
	 * Refuse peers whose Adaptation Layer Indication is missing or different (RFC 5043 11.1).
	 */
	bool adaptation_required;
	uint32_t rwnd; /* most octets received and not yet released; at least 1500 */
	/*
	 * Memory for fragments of the peer's messages, octets; at most half of rwnd is used. Each
	 * fragment is charged its data and 64 octets. At most 4,096 fragments are kept. 0: 128 KiB.
	 * A message that needs more ends the association.
	 */
	uint32_t reasm_max;
	/*
	 * The carrier's largest IP packet, where the path MTU search ends; at least
	 * IW_SCTP_MTU_MIN.
	 */
	uint32_t mtu;
	/*
	 * Octets that DTLS adds to each packet below UDP; 0: no DTLS. Over DTLS, associations are
	 * single-homed (RFC 8261 6.1): addresses in INIT and INIT ACK are ignored, and a packet from
	 * another UDP port belongs to another peer. Packets have no checksum if both ends accept that
	 * (RFC 9653).
	 */
	uint32_t dtls_overhead;
	uint32_t assocs_max; /* associations at the same time; further ones are refused (cause 4) */
	const struct iw_sctp_cc_ops *cc; /* cc.h; NULL: iw_sctp_cc_rfc9260 */
	/*
	 * Packets sent at once when the window opens; the rest is paced over the round trip. 0: 4
	 * (Max.Burst). Set it higher for a carrier with segmentation offload.
	 */
	uint32_t burst;
	/* L of RFC 9260 7.2.1. 0: 1. Set it higher if the peer acknowledges batches. */
	uint32_t abc_l;
	struct iw_sctp_times times;
	const struct iw_tracer *tracer; /* borrowed for the life of the endpoint; may be NULL */
};

/*
 * Creates an endpoint. cfg is copied; cfg->mem and cfg->random_ctx are borrowed for the life of the
 * endpoint. IW_E_INVAL: a value of cfg is out of range, see why; IW_E_NOMEM; or the error of the
 * random source.
 */
IW_MUST_CHECK int iw_sctp_new(struct iw_sctp **out, const struct iw_sctp_cfg *cfg,
			      struct iw_fault *why);
/* Frees the endpoint and its associations. The peers are not notified. s may be NULL. */
void iw_sctp_free(struct iw_sctp *s);

/* --- packets in ------------------------------------------------------------------------------- */

/*
 * Begins to process a received packet. The packet and its octets are borrowed until iw_sctp_next
 * returns false. iw_sctp_next processes the chunks, so call it until it returns false. The caller
 * need not handle bad packets: they are dropped, or iw_sctp_output sends the answer.
 */
void iw_sctp_input(struct iw_sctp *s, const struct iw_sctp_packet *p, uint64_t now);

struct iw_sctp_recv {
	struct iw_sctp_assoc *assoc;
	uint16_t stream;
	uint32_t ppid;       /* host order */
	const uint8_t *data; /* in the packet; a reassembled message is in the engine's memory */
	size_t len;          /* above 0 */
};
/*
 * Returns the next message of the packet. Each message of an association is returned exactly once,
 * in the order of arrival, which may differ from the order of sending. The octets of *out are
 * borrowed until the next call with s. False: the whole packet is processed.
 */
bool iw_sctp_next(struct iw_sctp *s, struct iw_sctp_recv *out);

/*
 * Reports that a packet to peer was too big, as ICMP or the local stack said. mtu: the largest IP
 * packet that would have passed, octets; 0: not reported. head (borrowed): the first len octets of
 * that packet from the SCTP common header on, as far as ICMP quotes them. The report is ignored
 * unless head proves that we sent the packet (RFC 9260 10, ICMP5, ICMP6): 8 octets with the peer's
 * Verification Tag, or 20 octets of our INIT.
 */
void iw_sctp_too_big(struct iw_sctp *s, const struct iw_sctp_addr *peer, const uint8_t *head,
		     size_t len, uint32_t mtu, uint64_t now);
/*
 * Reports that peer does not process SCTP: ICMP protocol unreachable, unrecognized next header, or
 * for SCTP in UDP port unreachable (RFC 6951 5.5). It ends the association in any state, as an
 * ABORT would, with DOWN and IW_E_CLOSED (RFC 9260 10, ICMP8). In SHUTDOWN-ACK-SENT only the
 * SHUTDOWN COMPLETE is missing, and the end is orderly. If the quoted packet is an INIT, the report
 * applies only in COOKIE-WAIT. head as above.
 */
void iw_sctp_unreachable(struct iw_sctp *s, const struct iw_sctp_addr *peer, const uint8_t *head,
			 size_t len, uint64_t now);

/* --- packets out ------------------------------------------------------------------------------ */

/*
 * Writes the next whole packet, with its checksum, to buf (cap octets, at least cfg.mtu), and sets
 * *out to its addresses; data and len stay unset. Returns the octets written to buf, without
 * out->rest; 0: nothing to send now, or cap is too small. Consecutive packets of the same length to
 * the same destination can be sent as one batch with segmentation offload.
 */
size_t iw_sctp_output(struct iw_sctp *s, uint8_t *buf, size_t cap, struct iw_sctp_packet *out,
		      uint64_t now);

/*
 * True if the only output is one SACK, for DATA that arrived in sequence and once, and whose sender
 * has not asked for the SACK (I bit, RFC 7053). A carrier that expects more packets within microseconds may
 * then process them first, so that one SACK acknowledges all of them.
 */
bool iw_sctp_sack_can_wait(const struct iw_sctp *s);

/* --- time ------------------------------------------------------------------------------------- */

/* Returns the time at which to call iw_sctp_timeout next; IW_TIME_NEVER: no timer is running. */
uint64_t iw_sctp_deadline(const struct iw_sctp *s);
/*
 * Handles the timers that have expired. An early call is harmless. Call iw_sctp_output afterwards.
 */
void iw_sctp_timeout(struct iw_sctp *s, uint64_t now);

/* --- events ----------------------------------------------------------------------------------- */

enum iw_sctp_event_kind {
	IW_SCTP_EV_UP,     /* established: an association of ours, or a new one of a listener */
	IW_SCTP_EV_MTU,    /* iw_sctp_max_message has changed */
	IW_SCTP_EV_PATH,   /* a path was confirmed, failed or recovered: see iw_sctp_path */
	IW_SCTP_EV_DONE,   /* messages are done: call iw_sctp_next_done */
	IW_SCTP_EV_ROOM,   /* iw_sctp_send accepts messages again after IW_E_AGAIN */
	IW_SCTP_EV_ENDING, /* the peer shuts the association down: no more messages can be sent */
	/*
	 * The association has ended: iw_sctp_why returns the reason. Drain iw_sctp_next_done, then
	 * call iw_sctp_assoc_free. The restart of a peer ends its association; if the restarted
	 * peer is accepted, it gets a new association with an UP of its own.
	 */
	IW_SCTP_EV_DOWN,
};
struct iw_sctp_event {
	enum iw_sctp_event_kind kind;
	struct iw_sctp_assoc *assoc;
};
/*
 * Returns the next event; false: no event is pending. An event that recurs before the caller takes
 * it is reported once.
 */
bool iw_sctp_next_event(struct iw_sctp *s, struct iw_sctp_event *out);

/* --- associations ----------------------------------------------------------------------------- */

enum iw_sctp_state {
	IW_SCTP_CLOSED,
	IW_SCTP_COOKIE_WAIT,
	IW_SCTP_COOKIE_ECHOED,
	IW_SCTP_ESTABLISHED,
	IW_SCTP_SHUTDOWN_PENDING,
	IW_SCTP_SHUTDOWN_SENT,
	IW_SCTP_SHUTDOWN_RECEIVED,
	IW_SCTP_SHUTDOWN_ACK_SENT,
};
/* Returns the name of the state in RFC 9260 4, such as "COOKIE-WAIT". Never NULL. For tests. */
const char *iw_sctp_state_name(enum iw_sctp_state state);

/*
 * Opens an association with the peer's SCTP port; UP or DOWN follows. peer must be a unicast
 * address and is copied. user is the caller's pointer for iw_sctp_user. The endpoint owns the
 * association until DOWN; then the caller frees it. IW_E_INVAL: port is 0; IW_E_BUSY: there is an
 * association with that peer already; IW_E_LIMIT: there are assocs_max associations; IW_E_NOMEM; or
 * the error of the random source.
 */
IW_MUST_CHECK int iw_sctp_connect(struct iw_sctp *s, struct iw_sctp_assoc **out,
				  const struct iw_sctp_addr *peer, uint16_t port, void *user,
				  uint64_t now);
/*
 * Shuts the association down: iw_sctp_send refuses further messages. DOWN follows with err 0 once
 * all messages of both sides are acknowledged. Before the association is established, aborts it
 * (IW_E_CANCELED). Has no effect on an association that is ending already.
 *
 * While messages of ours are outstanding, the shutdown lasts as long as the peer acknowledges them.
 * If the peer acknowledges but never delivers, the caller has to abort. A silent peer ends the
 * association with IW_E_TIMEOUT after assoc_max_retrans retransmissions (RFC 9260 8.1), six minutes
 * with the default times. From the first SHUTDOWN or SHUTDOWN ACK on, the association ends within 5
 * rto_max, five minutes, whatever is lost and whatever the peer sends (RFC 9260 9.2, T2 and T5):
 * with IW_E_TIMEOUT, or with IW_E_CLOSED if the peer aborts it. The same limits apply to a shutdown
 * by the peer, which IW_SCTP_EV_ENDING reports.
 */
void iw_sctp_shutdown(struct iw_sctp_assoc *a, uint64_t now);
/*
 * Ends the association at once: sends the peer an ABORT with cause 12 and the text reason
 * (borrowed; NULL: no text). DOWN follows.
 */
void iw_sctp_abort(struct iw_sctp_assoc *a, const char *reason, uint64_t now);
/*
 * Frees the association after DOWN. Before DOWN, it also drops the association without notifying
 * the peer, and no further event is reported. Messages not reported as done are forgotten: the
 * caller owns their memory again.
 */
void iw_sctp_assoc_free(struct iw_sctp_assoc *a);

/*
 * Returns the caller's own pointer. NULL for a new association of a listener until the caller sets
 * it.
 */
void *iw_sctp_user(const struct iw_sctp_assoc *a);
void iw_sctp_set_user(struct iw_sctp_assoc *a, void *user);
/* For tests: product code follows the events UP, ENDING and DOWN. */
enum iw_sctp_state iw_sctp_assoc_state(const struct iw_sctp_assoc *a);
/*
 * Returns why the association ended; err is 0 after an orderly shutdown. Borrowed until
 * iw_sctp_assoc_free.
 */
const struct iw_fault *iw_sctp_why(const struct iw_sctp_assoc *a);

struct iw_sctp_facts {
	bool initiator;
	uint16_t peer_port;
	uint32_t tag, peer_tag; /* Verification Tags: of packets to us, of packets to the peer */
	uint16_t streams_out, streams_in; /* agreed; stream ids are below */
	bool peer_has_adaptation;
	uint32_t peer_adaptation;
	uint32_t peer_rwnd; /* octets that the peer can receive now */
	unsigned paths;     /* addresses of the peer */
	unsigned primary;   /* the path that new DATA uses */
	/*
	 * DATA chunks: first transmissions, retransmissions, and cumulatively acknowledged ones.
	 * The peer cannot renege on those, unlike on chunks that only gap blocks acknowledge
	 * (RFC 9260 6.2): message seq is acknowledged if seq < acked.
	 */
	uint64_t sent, resent, acked;
	uint64_t acked_octets;         /* user data of the acknowledged chunks */
	uint64_t received, duplicates; /* DATA chunks received for the first time, and again */
	uint64_t fast_retransmits, timeouts, tail_probes;
	const char *cc; /* the name of the controller in use, never "auto" */
	size_t memory;  /* octets allocated for the association now */
};
/* Copies the current facts of the association. */
void iw_sctp_facts(const struct iw_sctp_assoc *a, struct iw_sctp_facts *out);

/*
 * Replaces the congestion controller of the association. The new one continues from the current
 * windows. cc is borrowed for the life of the association.
 */
void iw_sctp_set_cc(struct iw_sctp_assoc *a, const struct iw_sctp_cc_ops *cc);

enum iw_sctp_path_state { IW_SCTP_PATH_ACTIVE, IW_SCTP_PATH_INACTIVE }; /* RFC 9260 8.2 */
struct iw_sctp_path {
	struct iw_sctp_addr addr;
	enum iw_sctp_path_state state;
	/*
	 * RFC 9260 5.4: it is proven that the address belongs to the peer. The caller named it, or
	 * the peer answered an INIT ACK or a HEARTBEAT that was sent to it. Other addresses get
	 * only HEARTBEATs and HEARTBEAT ACKs.
	 */
	bool confirmed;
	uint32_t mtu, cwnd, ssthresh, flight; /* octets */
	uint64_t srtt, rto;                   /* ns; srtt 0: not measured yet */
	/* Octets a second, 0: cwnd in a round trip; octets that are sent at once at most. */
	uint64_t pacing, burst;
	uint32_t errors; /* consecutive unanswered transmissions */
};
/* Copies the facts of path i, 0 to facts.paths - 1. IW_E_INVAL: there is no such path. */
IW_MUST_CHECK int iw_sctp_path(const struct iw_sctp_assoc *a, unsigned i, struct iw_sctp_path *out);

/* --- messages out ----------------------------------------------------------------------------- */

struct iw_sctp_send {
	uint16_t stream;
	uint32_t ppid;      /* host order */
	const uint8_t *hdr; /* the message's first octets, copied: at most IW_SCTP_SEND_HDR_MAX */
	size_t hdr_len;
	/*
	 * The other octets. Kept (the caller leaves them untouched until the message is done)
	 * unless copy is set.
	 */
	const struct iw_vec *vec;
	size_t nvec;
	bool copy; /* copy those octets now, because they may change or be revoked */
	/*
	 * Do not copy kept octets into the packet: the carrier reads them from their place
	 * (iw_sctp_packet.rest).
	 */
	bool in_place;
	bool sack_now;   /* I bit: request an acknowledgement without delay */
	uint64_t cookie; /* returned when the message is done */
};
/*
 * Prepares a message whose hdr is longer than IW_SCTP_SEND_HDR_MAX, such as a Terminate that quotes
 * a Read Request: hdr becomes the first slice. all must have room for m->nvec + 1 slices. It
 * replaces m->vec, and is borrowed like it.
 */
void iw_sctp_send_long_hdr(struct iw_sctp_send *m, struct iw_vec *all);
/*
 * Returns the octets of the largest message that needs no fragmentation. A packet with it has room
 * for a SACK without gap blocks. Never less than 518 (RFC 5043 9).
 */
size_t iw_sctp_max_message(const struct iw_sctp_assoc *a);
/*
 * Queues a message as one chunk. iw_sctp_output sends it when the peer's window, congestion control
 * and pacing permit. *seq (may be NULL): the message's number, counted from 0 on this association.
 * m->hdr is copied. The octets of m->vec are kept until the message is done, or copied (m->copy).
 * IW_E_AGAIN: the queue is full, retry after ROOM. It holds at most a few batches of unsent
 * messages, so that a changed MTU and the caller's priorities take effect soon.
 * IW_E_INVAL: the message is empty, stream is not below facts.streams_out, or hdr_len is too long.
 * IW_E_LIMIT: larger than iw_sctp_max_message was at any time. A message that no longer fits
 * because the MTU has become smaller is accepted and sent with IP fragmentation.
 * IW_E_STATE: the association is not established, or is ending.
 * IW_E_NOMEM: retry later.
 */
IW_MUST_CHECK int iw_sctp_send(struct iw_sctp_assoc *a, const struct iw_sctp_send *m,
			       uint64_t *seq);
/*
 * Copies the octets of all unacknowledged messages of the stream, so that the caller owns the
 * memory that they refer to again. IW_E_NOMEM: some could not be copied; the association must end
 * before the caller may use the memory.
 */
IW_MUST_CHECK int iw_sctp_release_memory(struct iw_sctp_assoc *a, uint16_t stream);

struct iw_sctp_done {
	uint64_t seq, cookie;
	uint16_t stream;
	/*
	 * 0: acknowledged cumulatively. IW_E_CANCELED: the association ended before that. The
	 * message may have arrived, but certainly has not if sent is false.
	 */
	int status;
	bool sent;
};
/*
 * Returns the next message that is done, in the order of sending, each message once. The caller
 * owns the message's memory again. False: no further message is done.
 */
bool iw_sctp_next_done(struct iw_sctp_assoc *a, struct iw_sctp_done *out);
/*
 * An alternative to iw_sctp_next_done for callers that need no cookies. Returns the number of
 * consecutive acknowledged messages of one stream, and sets *stream to it; 0: no further message is
 * acknowledged.
 */
uint32_t iw_sctp_next_acked(struct iw_sctp_assoc *a, uint16_t *stream);

/* --- the receive window ----------------------------------------------------------------------- */

/*
 * Sets how many octets of received messages the caller still holds. They reduce the advertised
 * window. Queues a SACK if the window opens or grows by a quarter of rwnd (RFC 9260 6.2).
 */
void iw_sctp_set_held(struct iw_sctp_assoc *a, uint32_t octets);

#endif
