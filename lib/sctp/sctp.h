/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SCTP in user space (RFC 9260), as much of it as DDP over SCTP (RFC 5043) uses.
 *
 * Job: associations; unordered messages out, each one DATA chunk; unordered messages in, each where it
 * arrived, in any order, once. Neighbours: lib/pkt carries packets (UDP, raw IP, AF_XDP), lib/sctpmap and
 * lib/conn make DDP streams of the messages, lib/wire describes the octets.
 * Threads: none, no locks; an endpoint with all its associations belongs to one thread at a time. It makes
 * no system call and reads no clock: `now` is monotonic, in nanoseconds.
 *
 * The way in:   iw_sctp_input(s, packet, now)              checksum, whose it is, tag
 *               while (iw_sctp_next(s, &m)) ...            its messages, where they lie in the packet
 * The way out:  iw_sctp_send(a, &msg, now)                 a message becomes a chunk with a TSN
 *               while ((n = iw_sctp_output(s, ...)) > 0)   whole packets, written into the carrier's memory
 * Time:         iw_sctp_deadline(s), iw_sctp_timeout(s, now)
 * Events:       while (iw_sctp_next_event(s, &ev)) ...     after any of the above
 *
 * A carrier reads a batch of packets, gives each to iw_sctp_input and iw_sctp_next, and then calls
 * iw_sctp_output until it returns 0: so a batch is acknowledged by one SACK.
 *
 * What is sent: only unfragmented, unordered messages. What is received: fragments of unordered messages are
 * put together within a bound; ordered DATA ends the association (cause 13): an SCTP used only by DDP need not
 * serve it, and RFC 5043 10 forbids it. Of our own addresses none is ever listed in a chunk; the peer may have
 * up to IW_SCTP_PATHS_MAX. No ASCONF, no streams added later, no ECN, no partial reliability.
 *
 * Deviations, on purpose: one SACK for a batch of packets (RFC 9260 6.2: at least every second packet);
 * losses are also found by time (RACK, with a tail-loss probe, as in RFC 8985), because RTO.Min is a second;
 * bursts are limited by pacing, not by Max.Burst (RFC 9260 6.1 D leaves the means open): cwnd goes out over a round
 * trip, a quarter faster, twice as fast in slow start, in bursts of cfg.burst packets or of what flows in a
 * millisecond, whichever is more; L (7.2.1) is a setting; packets from more than IW_SCTP_PATHS_MAX addresses are not
 * the association's.
 */
#ifndef IW_SCTP_SCTP_H
#define IW_SCTP_SCTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/mem.h"
#include "util/num.h"
#include "util/vec.h"

#define IW_SCTP_PATHS_MAX    16  /* addresses of one peer; further ones that it lists are ignored */
#define IW_SCTP_SEND_HDR_MAX 56  /* octets of a message that iw_sctp_send copies in any case */
#define IW_SCTP_SEND_VECS    2   /* slices of memory it refers to; more are copied */
#define IW_SCTP_MTU_MIN      576 /* least path MTU of IPv4: smaller packets would be IP fragments */
#define IW_SCTP_MTU_MIN6     1280 /* and of IPv6 */
#define IW_SCTP_MTU_BASE     1200 /* where the search for the path MTU begins (RFC 8899 5.1.2) */

struct iw_sctp;       /* an endpoint: one SCTP port on one carrier */
struct iw_sctp_assoc; /* an association */
struct iw_sctp_cc_ops;

/* --- addresses and packets -------------------------------------------------------------------- */

/* Where packets go to and come from. Plain data; all octets count when two are compared: set
 * them all. */
struct iw_sctp_addr {
	uint8_t ip[16];    /* IPv6; IPv4 as ::ffff:a.b.c.d */
	uint32_t scope;    /* interface index of a link-local address, else 0 */
	uint16_t udp_port; /* RFC 6951: the UDP port over there; 0: straight on IP */
	uint16_t zero;
};
/* The same host and interface, whatever the UDP port. */
bool iw_sctp_addr_same_ip(const struct iw_sctp_addr *a, const struct iw_sctp_addr *b);
/* An IPv6 link-local address, which is valid only with its interface. */
bool iw_sctp_addr_has_scope(const struct iw_sctp_addr *a);
/* Not multicast, broadcast, reserved or unspecified. */
bool iw_sctp_addr_is_unicast(const struct iw_sctp_addr *a);
bool iw_sctp_addr_is_ipv4(const struct iw_sctp_addr *a);

struct iw_sctp_packet {
	struct iw_sctp_addr peer;  /* source of a packet received, destination of one to send */
	struct iw_sctp_addr local; /* our end of it; all zero: not known, the carrier's choice */
	const uint8_t *data;       /* from the SCTP common header on; received only */
	size_t len;
	/* To send: octets behind those that were written, left where their sender has them; the checksum is
	 * theirs as well. NULL unless a message was sent so. */
	const uint8_t *rest;
	size_t rest_len;
	/* To send: larger than the path MTU, so it must go with IP fragmentation (RFC 9260 6.9):
	 * without DF. */
	bool fragment;
};

/* --- endpoint --------------------------------------------------------------------------------- */

/* RFC 9260 16; nanoseconds. A zero stands for the value recommended there, which is beside it. */
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
	const struct iw_mem *mem; /* borrowed for life */
	/* Fills len octets from a source that nobody can predict; 0 or an error. For tags, TSNs, cookie keys,
	 * nonces. Borrowed for life. */
	int (*random)(void *ctx, void *buf, size_t len);
	void *random_ctx;
	uint16_t port; /* ours; never 0 */
	bool listen;   /* INITs are answered; otherwise refused with ABORT */
	/* wanted, and the most accepted, both ways alike (RFC 5043 8); 1..65535 */
	uint16_t streams;
	/* Adaptation Layer Indication sent in INIT and INIT ACK (RFC 5061 4.2.6) */
	uint32_t adaptation;
	/* Peers without an Adaptation Layer Indication, or with another value, are refused (RFC
	 * 5043 11.1). */
	bool adaptation_required;
	uint32_t rwnd; /* octets received and not yet released, at most; at least 1500 */
	/*
	 * Memory for fragments of a peer's messages, at most half of rwnd: each fragment is charged
	 * its data and 64 octets. At most 4,096 fragments are kept. 0: 128 KiB. A message that
	 * needs more ends the association.
	 */
	uint32_t reasm_max;
	/* Largest IP packet of the carrier, where the path MTU search ends; >= IW_SCTP_MTU_MIN. */
	uint32_t mtu;
	uint32_t assocs_max; /* associations at once; further ones are refused with cause 4 */
	const struct iw_sctp_cc_ops *cc; /* NULL: &iw_sctp_cc_rfc9260 */
	/* Packets sent in one go when the window opens; what is more follows paced over the round trip. 0: 4
	 * (Max.Burst). A carrier with segmentation offload wants more. */
	uint32_t burst;
	uint32_t abc_l; /* RFC 9260 7.2.1: L. 0: 1. Where the peer acknowledges batches, more. */
	struct iw_sctp_times times;
};

/* IW_E_INVAL: a value of cfg is impossible, why says which; IW_E_NOMEM; the random source's
 * error. */
IW_MUST_CHECK int iw_sctp_new(struct iw_sctp **out, const struct iw_sctp_cfg *cfg,
			      struct iw_fault *why);
/* Frees the associations too, without a word to their peers. s may be NULL. */
void iw_sctp_free(struct iw_sctp *s);

/* --- packets in ------------------------------------------------------------------------------- */

/*
 * A packet arrived. It and its octets are borrowed until iw_sctp_next returns false; what it holds takes effect as
 * iw_sctp_next goes through it, so call that until it does. Nothing that is wrong with a packet is the
 * caller's concern: what must be answered is answered by iw_sctp_output.
 */
void iw_sctp_input(struct iw_sctp *s, const struct iw_sctp_packet *p, uint64_t now);

struct iw_sctp_recv {
	struct iw_sctp_assoc *assoc;
	uint16_t stream;
	uint32_t ppid; /* host order */
	/* in the packet, or in memory of the engine's when it came in fragments */
	const uint8_t *data;
	size_t len; /* above 0 */
};
/*
 * The next message of the packet: each message of an association comes up exactly once, in the order of
 * arrival, which says nothing about the order of sending. *out is borrowed until the next call with s.
 * false: the packet is done with.
 */
bool iw_sctp_next(struct iw_sctp *s, struct iw_sctp_recv *out);

/*
 * An ICMP message or the local stack reports that a packet to peer was too big: mtu is the largest
 * IP packet that would have passed (0: not reported). head: the first octets of that packet from
 * the SCTP common header on, as far as ICMP quotes them. It is ignored unless they prove that the
 * packet was ours (RFC 9260 10, ICMP5, ICMP6): 8 octets with the peer's Verification Tag, or 20
 * octets of our INIT.
 */
void iw_sctp_too_big(struct iw_sctp *s, const struct iw_sctp_addr *peer, const uint8_t *head,
		     size_t len, uint32_t mtu, uint64_t now);
/*
 * ICMP reports that peer does not process SCTP: protocol unreachable, unrecognized next header, and
 * for SCTP in UDP port unreachable (RFC 6951 5.5). As an ABORT (ICMP8): ends the association with
 * DOWN and IW_E_CLOSED, in every state; an INIT only in COOKIE-WAIT. head as above.
 */
void iw_sctp_unreachable(struct iw_sctp *s, const struct iw_sctp_addr *peer, const uint8_t *head,
			 size_t len, uint64_t now);

/* --- packets out ------------------------------------------------------------------------------ */

/*
 * Writes one whole packet, checksum included, to buf (cap octets, at least cfg.mtu), and says in *out where
 * it goes (data and len are not set). The octets that a message refers to are copied and summed in one pass.
 * The length of what was written, rest not counted; 0: nothing is to be sent now. Consecutive packets of one length to one destination make a
 * batch for segmentation offload.
 */
size_t iw_sctp_output(struct iw_sctp *s, uint8_t *buf, size_t cap, struct iw_sctp_packet *out,
		      uint64_t now);

/* --- time ------------------------------------------------------------------------------------- */

/* The nearest moment at which iw_sctp_timeout has something to do; IW_TIME_NEVER. */
uint64_t iw_sctp_deadline(const struct iw_sctp *s);
/* Too early does no harm. Call iw_sctp_output afterwards. */
void iw_sctp_timeout(struct iw_sctp *s, uint64_t now);

/* --- events ----------------------------------------------------------------------------------- */

enum iw_sctp_event_kind {
	IW_SCTP_EV_UP,     /* the association stands: ours, or a new one of a listener */
	IW_SCTP_EV_MTU,    /* iw_sctp_max_message has changed */
	IW_SCTP_EV_PATH,   /* a path was confirmed, failed or recovered: see iw_sctp_path */
	IW_SCTP_EV_DONE,   /* iw_sctp_next_done has something to say */
	IW_SCTP_EV_ROOM,   /* iw_sctp_send takes messages again after IW_E_AGAIN */
	IW_SCTP_EV_ENDING, /* the peer shuts the association down: nothing more can be sent */
	/* The association is no more: iw_sctp_why says why. Take the rest with iw_sctp_next_done, then call
	 * iw_sctp_assoc_free. A peer that restarted is one that has gone; if it was let in again, that is a
	 * new association with its own UP. */
	IW_SCTP_EV_DOWN,
};
struct iw_sctp_event {
	enum iw_sctp_event_kind kind;
	struct iw_sctp_assoc *assoc;
};
/* The next event, false when there is none. An event that happens again before it was taken is
 * told once. */
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
const char *iw_sctp_state_name(enum iw_sctp_state state);

/*
 * Begins an association with peer at port: UP or DOWN follows. user is the caller's, see iw_sctp_user. The
 * association is the endpoint's until DOWN, then the caller's to free. IW_E_INVAL: port 0, no unicast address;
 * IW_E_BUSY: there is one with that peer; IW_E_LIMIT: assocs_max; IW_E_NOMEM; the random source's error.
 */
IW_MUST_CHECK int iw_sctp_connect(struct iw_sctp *s, struct iw_sctp_assoc **out,
				  const struct iw_sctp_addr *peer, uint16_t port, void *user,
				  uint64_t now);
/*
 * No more messages are taken; the association ends when all are acknowledged on both sides, with DOWN and a why
 * that is no failure. Again, or later: no effect. While messages of ours are outstanding that lasts as long as the peer acknowledges
 * (a peer that does and never takes them is the caller's to abort); a silent one ends it, with IW_E_TIMEOUT, after assoc_max_retrans
 * retransmissions (RFC 9260 8.1), six minutes with the usual times. From the first SHUTDOWN or SHUTDOWN ACK on it is over within
 * 5 rto_max, five minutes, whatever is lost and whatever the peer sends (9.2: T2 and T5): IW_E_TIMEOUT, or IW_E_CLOSED when the peer
 * aborts it. The same holds of the peer's shutdown, which IW_SCTP_EV_ENDING tells of.
 */
void iw_sctp_shutdown(struct iw_sctp_assoc *a, uint64_t now);
/* Ends it at once: the peer gets an ABORT with cause 12 and reason (text, NULL: none). DOWN
 * follows. */
void iw_sctp_abort(struct iw_sctp_assoc *a, const char *reason, uint64_t now);
/* After DOWN; before it, the peer is told nothing and no event comes any more. Messages not reported done are
 * forgotten: their memory is the caller's again. */
void iw_sctp_assoc_free(struct iw_sctp_assoc *a);

/* The caller's own pointer; NULL for a new association of a listener until it is set. */
void *iw_sctp_user(const struct iw_sctp_assoc *a);
void iw_sctp_set_user(struct iw_sctp_assoc *a, void *user);
enum iw_sctp_state iw_sctp_assoc_state(const struct iw_sctp_assoc *a);
/* Why it ended: err 0 after an orderly shutdown. Borrowed, valid while a is. */
const struct iw_fault *iw_sctp_why(const struct iw_sctp_assoc *a);

struct iw_sctp_facts {
	bool initiator;
	uint16_t peer_port;
	uint32_t tag, peer_tag; /* Verification Tags: of packets to us, of packets to the peer */
	uint16_t streams_out, streams_in; /* agreed; ids below */
	bool peer_has_adaptation;
	uint32_t peer_adaptation;
	uint32_t peer_rwnd; /* what the peer can take now */
	unsigned paths;     /* addresses of the peer */
	unsigned primary;   /* the path that new DATA uses */
	uint64_t sent, resent,
		acked;         /* DATA chunks: first transmissions, further ones, acknowledged */
	uint64_t acked_octets; /* user data of those */
	uint64_t received, duplicates; /* DATA chunks that came up, and that came again */
	uint64_t fast_retransmits, timeouts, tail_probes;
	const char *cc; /* the controller's name */
	size_t memory;  /* octets held for it now */
};
void iw_sctp_facts(const struct iw_sctp_assoc *a, struct iw_sctp_facts *out);

/* Another controller than the endpoint's, which goes on from where the windows are. Borrowed for life. */
void iw_sctp_set_cc(struct iw_sctp_assoc *a, const struct iw_sctp_cc_ops *cc);

enum iw_sctp_path_state { IW_SCTP_PATH_ACTIVE, IW_SCTP_PATH_INACTIVE }; /* RFC 9260 8.2 */
struct iw_sctp_path {
	struct iw_sctp_addr addr;
	enum iw_sctp_path_state state;
	/*
	 * RFC 9260 5.4: the address is proven to be the peer's: the caller named it, the peer
	 * answered an INIT ACK sent to it, or it answered a HEARTBEAT. Other addresses get
	 * HEARTBEATs and HEARTBEAT ACKs only.
	 */
	bool confirmed;
	uint32_t mtu, cwnd, ssthresh, flight; /* octets */
	uint64_t srtt, rto;                   /* ns; srtt 0: not measured yet */
	uint32_t errors;                      /* unanswered in a row */
};
/* Path i of facts.paths. IW_E_INVAL: there is no such path. */
IW_MUST_CHECK int iw_sctp_path(const struct iw_sctp_assoc *a, unsigned i, struct iw_sctp_path *out);

/* --- messages out ----------------------------------------------------------------------------- */

struct iw_sctp_send {
	uint16_t stream;
	uint32_t ppid;      /* host order */
	const uint8_t *hdr; /* the message's first octets, copied: at most IW_SCTP_SEND_HDR_MAX */
	size_t hdr_len;
	/* Its other octets: kept (the caller leaves them untouched until the message is done)
	 * unless copy. */
	const struct iw_vec *vec;
	size_t nvec;
	bool copy; /* copy those octets now: somebody may change or revoke them */
	/* Those octets, when they are kept, need not be copied into the packet: whoever sends it reads them where
	 * they lie (iw_sctp_packet.rest). */
	bool in_place;
	bool sack_now;   /* I bit: ask for an acknowledgement without delay */
	uint64_t cookie; /* comes back when the message is done */
};
/* For a message whose hdr is too long, as that of a Terminate which tells of a Read Request: hdr becomes the first of its slices, in
 * @all, which is borrowed as m->vec and has room for one more than that. */
void iw_sctp_send_long_hdr(struct iw_sctp_send *m, struct iw_vec *all);
/* Octets of the largest message that needs no fragmentation, never less than 518 (RFC 5043 9); a
 * SACK without gap blocks fits beside it. */
size_t iw_sctp_max_message(const struct iw_sctp_assoc *a);
/* True when iw_sctp_send would take a message: about a batch waits at most behind the windows, so that a
 * changed MTU and the caller's own order of preference apply soon. */
bool iw_sctp_writable(const struct iw_sctp_assoc *a);
/*
 * Queues a message as one chunk. It goes out with iw_sctp_output when the peer's window, congestion control
 * and pacing allow.
 * IW_E_AGAIN: not now, ROOM tells when; IW_E_INVAL: no octets, stream id not below facts.streams_out, hdr_len;
 * IW_E_LIMIT: larger than iw_sctp_max_message ever was (one that fits no more, because the MTU has become
 * smaller since it was cut, goes in IP fragments); IW_E_STATE: not up, or ending; IW_E_NOMEM: try later.
 * *seq (may be NULL): its number, counted from 0 on this association.
 */
IW_MUST_CHECK int iw_sctp_send(struct iw_sctp_assoc *a, const struct iw_sctp_send *m,
			       uint64_t *seq);
/*
 * The memory that messages of that stream refer to is wanted back: what of them is not acknowledged yet is copied now.
 * IW_E_NOMEM: not all could be: the association must end before the memory is the caller's again.
 */
IW_MUST_CHECK int iw_sctp_give_back(struct iw_sctp_assoc *a, uint16_t stream);

struct iw_sctp_done {
	uint64_t seq, cookie;
	uint16_t stream;
	/* 0: acknowledged cumulatively. IW_E_CANCELED: the association has ended before that; the message may
	 * or may not have arrived, and certainly has not when sent is false. */
	int status;
	bool sent;
};
/* Messages in the order of sending, each once: after that its memory is the caller's again. */
bool iw_sctp_next_done(struct iw_sctp_assoc *a, struct iw_sctp_done *out);
/* In its place, for who needs no cookies: so many acknowledged in a row, all of *stream; 0: no more. */
uint32_t iw_sctp_next_acked(struct iw_sctp_assoc *a, uint16_t *stream);

/* --- the receive window ----------------------------------------------------------------------- */

/* The caller keeps so many octets of messages that it was given: they are taken off the window. */
void iw_sctp_set_held(struct iw_sctp_assoc *a, uint32_t octets);

#endif
