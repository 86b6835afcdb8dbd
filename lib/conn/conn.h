/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One connection: ties rdmap and ddp to an LLP adaptation: mpa over a stream of octets (TCP), or a
 * session of sctpmap over messages (SCTP). The engine API: octets or messages, `now` and calls in;
 * the same, a deadline and events out. The same code runs under a socket, in the simulator and under
 * a fuzzer.
 *
 * Threads: none, no locks; a connection belongs to one thread at a time.
 *
 * Over a stream:
 *   in:   n = iw_conn_rx_vec(c, scratch, vec)   -> receive into vec
 *                                               -> iw_conn_received(c, bytes, now)
 *         or, at the end of the stream,            iw_conn_eof(c, now)
 *   out:  iw_conn_send(c, &tx, now)             -> send tx -> iw_conn_sent(c, bytes, now)
 *         iw_conn_fin_due(c, now)               -> shut the transport's sending side
 * Over messages, where many connections share an association (struct iw_sctpmap, which the driver
 * feeds and which sends what control messages they need):
 *   in:   s = iw_sctpmap_receive(..., &seg)     -> iw_conn_arrived(the conn of s, &seg, ..., now)
 *         s = iw_sctpmap_acked(...)             -> iw_conn_acked(the conn of s, now)
 *   out:  m = iw_conn_next_msg(c, now)          -> send *m   -> iw_conn_msg_taken(c, kept, now)
 *         iw_sctpmap_control(...)
 * Both:
 *   time: iw_conn_deadline(c)                   -> iw_conn_timeout(c, now)
 *   then: while (iw_conn_next_event(c, &ev)) ...; completions: iw_rdmap_next_completion(rdmap, ...)
 *
 * Whatever was called, the way out is looked at again afterwards: iw_conn_send, then
 * iw_conn_fin_due; or iw_conn_next_msg, then the association's control messages.
 *
 * What is different over SCTP: segments are placed as they arrive, in any order, and delivered in the
 * sender's; the session's Terminate stands where the FIN does, in both directions; the MULPDU is the
 * association's; there are no FPDUs, markers or CRC of ours. When the association goes down
 * (iw_conn_lost) no Terminate of RDMAP is sent (RFC 5043 11.3).
 */
#ifndef IW_CONN_CONN_H
#define IW_CONN_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "mpa/mpa.h"
#include "rdmap/rdmap.h"
#include "sctpmap/session.h"
#include "util/mem.h"
#include "util/pool.h"
#include "util/vec.h"

enum iw_conn_state {
	IW_CONN_SETUP,       /* MPA start-up */
	IW_CONN_OPEN,        /* full operation */
	IW_CONN_CLOSING,     /* graceful: draining what is posted, then the FIN */
	IW_CONN_TERMINATING, /* a fault or a rejection: what tells the peer of it goes out (where it
				may), then the FIN; input is dropped */
	IW_CONN_FIN_SENT,    /* we send no more; input until the peer's FIN */
	IW_CONN_CLOSED,      /* the transport is to be closed */
};
/* "setup", "open", ... Never NULL. */
const char *iw_conn_state_name(enum iw_conn_state s);

struct iw_conn_cfg {
	const struct iw_mem *mem; /* borrowed for life, as are the pools */
	struct iw_pool *txbufs;   /* buffers of sizeof(struct iw_txbuf); over TCP */
	/*
	 * mpa.spill: buffers of IW_MPA_SPILL_LEN. Over SCTP initiator, peer_to_peer, rtr, ird, ord,
	 * ird_max, pd and timeout_ns count, and rev 2 means an enhanced session (RFC 6581 7).
	 */
	struct iw_mpa_cfg mpa;
	/* Over SCTP: initiator: where a session is begun; responder: the session asked for, whose
	 * IW_DSS_REQUEST was not taken yet. Both NULL: over TCP. */
	struct iw_sctpmap *assoc;
	struct iw_dss *session;
	/* Initiator: needed; responder: NULL until iw_conn_accept. Owned by the queue pair,
	 * outlives the connection's use. */
	struct iw_rdmap *rdmap;
	/* IRD and ORD in force where they are not negotiated (0x3fff); 0: 16 */
	uint16_t unnegotiated_reads;
	/* Initiator: the set-up limit that messages show, ns: mpa.timeout_ns and what the name look-up took.
	 * 0: mpa.timeout_ns. */
	uint64_t whole_setup_ns;
	/* Responder: the ULP must have answered a Request by then; 0: 10 s */
	uint64_t decide_ns;
	/* octets or Reads outstanding and no progress, of which zero-length RDMA Writes and Reads of
	 * the peer's are none; 0: 30 s */
	uint64_t stall_ns;
	/* Initiator, for a responder that may not notice a first FPDU that comes soon behind its
	 * Reply (Linux siw): how long it may say nothing to what was sent before a zero-length RDMA
	 * Write follows, doubled each time, and how often. 0: never. insist: also when something
	 * was heard, which it may have said by itself. */
	struct iw_conn_nudge {
		uint64_t wait_ns;
		unsigned most;
		bool insist;
	} nudge;
	/* How long the peer's FIN is awaited: behind an orderly end from our FIN on, or from the
	 * last octets that came; behind any other from its cause on. 0: 10 s */
	uint64_t linger_ns;
	/* Over TCP: no FIN if set-up ends without RDMA: the ULP continues to use the stream. */
	bool keep_stream;
};

enum iw_event_type {
	/* Responder: iw_conn_agreed; answer with iw_conn_accept or iw_conn_reject. */
	IW_EVENT_REQUEST,
	/* Full operation. What a responder posts waits for the initiator's first FPDU. */
	IW_EVENT_ESTABLISHED,
	IW_EVENT_REJECTED,    /* the peer said no: iw_conn_agreed has its Private Data */
	IW_EVENT_PEER_CLOSED, /* the peer's FIN at an FPDU boundary: half closed */
	/* The last one: close the transport; fault.err IW_OK for an orderly end. */
	IW_EVENT_CLOSED,
};
struct iw_event {
	enum iw_event_type type;
	struct iw_fault fault; /* REJECTED, CLOSED */
	bool abort;            /* CLOSED: no point in lingering: close hard */
};

/* A batch for the stream. */
struct iw_tx {
	struct iw_vec *vec; /* borrowed until iw_conn_sent; at most IW_TXBUF_VECS */
	size_t nvec, bytes;
	bool eor; /* behind it a new TCP segment must begin */
};

/* DDP-SSN, DDP header, at most a whole Terminate behind it. */
#define IW_CONN_MSG_HDR (IW_SCTP_SSN_LEN + IW_DDP_UNTAGGED_LEN + IW_RDMAP_TERM_MAX)

/* A message for the association: user data of one DATA chunk. */
struct iw_conn_msg {
	uint16_t stream;
	uint32_t ppid;
	bool untagged; /* not to be delayed for bundling (RFC 5043 11.2) */
	uint8_t hdr[IW_CONN_MSG_HDR];
	size_t hdr_len;
	/* The memory behind it is the poster's. Not kept: it may change or be revoked as soon as the
	 * message was taken, so the transport copies it then. */
	bool kept;
	bool last; /* of an operation, which may wait for its acknowledgement to complete */
	struct iw_vec vec[IW_RDMAP_SGE_MAX];
	size_t nvec;
	size_t bytes; /* of both */
};

struct iw_conn;
/* The transport stands, or will soon: the time for start-up begins. IW_E_INVAL: a value of cfg.mpa
 * is impossible; IW_E_NOMEM. */
IW_MUST_CHECK int iw_conn_new(struct iw_conn **out, const struct iw_conn_cfg *cfg, uint64_t now,
			      struct iw_fault *why);
/* c may be NULL. Nothing is told to the rdmap. */
void iw_conn_free(struct iw_conn *c);
enum iw_conn_state iw_conn_state(const struct iw_conn *c);
/* Over SCTP the same struct tells of the session: rev 2 when it is enhanced, CRC on, no markers. */
const struct iw_agreed *iw_conn_agreed(const struct iw_conn *c);
/* The driver marks it as it likes (iw_dss_set_owner). NULL: over TCP, or closed. */
struct iw_dss *iw_conn_session(const struct iw_conn *c);
/* NULL: a responder that has not been accepted. */
const struct iw_rdmap *iw_conn_rdmap(const struct iw_conn *c);
size_t iw_conn_mulpdu(const struct iw_conn *c);
/* Initiator: the form of RTR that it sends first, one of enum iw_rtr; responder: the set agreed
 * on; IW_RTR_NONE: none. */
uint8_t iw_conn_rtr(const struct iw_conn *c);
void iw_conn_set_emss(struct iw_conn *c, size_t emss);
/* FPDUs are aligned with segments: the transport should refresh its EMSS before each batch. */
bool iw_conn_aligned(const struct iw_conn *c);
/* Of an initiator: how long its set-up may take, ns. */
uint64_t iw_conn_setup_ns(const struct iw_conn *c);
/* The set-up limit as the user gave it, including the time of the name look-up, ns. For messages. */
uint64_t iw_conn_whole_setup_ns(const struct iw_conn *c);
/* The initiator may retry on a new connection with Rev 1 (RFC 6581 10): meaningful after
 * IW_EVENT_REJECTED and IW_EVENT_CLOSED. The rdmap has then been left as it was: give it to the new
 * connection, or flush it (iw_rdmap_flush). */
bool iw_conn_retry_rev1(const struct iw_conn *c);

/* --- in --------------------------------------------------------------------------------------- */

/* n of vec filled; 0: reading pauses (a decision is due, or closed). scratch as in iw_mpa_rx_vec.
 * IW_E_NOMEM: try later. */
IW_MUST_CHECK int iw_conn_rx_vec(struct iw_conn *c, struct iw_vec scratch, struct iw_vec vec[2]);
/* Must follow each iw_conn_rx_vec that returned more than 0, with bytes 0 when nothing arrived:
 * scratch is the caller's again then. */
void iw_conn_received(struct iw_conn *c, size_t bytes, uint64_t now);
/* FIN; once. */
void iw_conn_eof(struct iw_conn *c, uint64_t now);
/* Reset, unreachable, ... */
void iw_conn_lost(struct iw_conn *c, const struct iw_fault *why, uint64_t now);
/* False while nothing is to be read: the transport need not be watched for reading. */
bool iw_conn_wants_rx(const struct iw_conn *c);
/*
 * Over SCTP: takes what iw_sctpmap_receive returned for the session of c: its segment, which RDMAP
 * places, and if seg->more is set its units. lend: the message may stay where it is, as in
 * iw_rdmap_receive_seq; NULL: it may not.
 */
void iw_conn_arrived(struct iw_conn *c, const struct iw_dss_segment *seg, struct iw_lend *lend,
		     uint64_t now);
/* Over SCTP: takes the units that the session has now. */
void iw_conn_take_units(struct iw_conn *c, uint64_t now);

/* --- out -------------------------------------------------------------------------------------- */

/* False: neither has iw_conn_send anything to give nor iw_conn_fin_due to say. A question that costs
 * little, for a transport that has just received. */
bool iw_conn_wants_tx(const struct iw_conn *c);
/* True when *tx holds octets. Call again after iw_conn_sent until false or until the transport is
 * full. */
bool iw_conn_send(struct iw_conn *c, struct iw_tx *tx, uint64_t now);
/* The transport has taken the first bytes octets of the tx given last. */
void iw_conn_sent(struct iw_conn *c, size_t bytes, uint64_t now);
/* True once: everything is out and the FIN is due (shut the transport's sending side). */
bool iw_conn_fin_due(struct iw_conn *c, uint64_t now);

/* Over SCTP: the next message, the same until it was taken; NULL: none now. When everything is out
 * that is to go, the session's Terminate is due, which the association sends. */
const struct iw_conn_msg *iw_conn_next_msg(struct iw_conn *c, uint64_t now);
/* The transport has taken the message given last. kept: it refers to its memory until that is acknowledged, and the
 * operation completes then. When the connection ends before, the transport must be done with the memory before
 * completions are asked for. */
void iw_conn_msg_taken(struct iw_conn *c, bool kept, uint64_t now);
/* Over a stream: the peer's transport has acknowledged octets that were sent before. Its time to take more begins anew. */
void iw_conn_drained(struct iw_conn *c, uint64_t now);
/* Over SCTP: some messages of the session were acknowledged. */
void iw_conn_acked(struct iw_conn *c, uint64_t now);

/* --- time and events -------------------------------------------------------------------------- */

/* IW_TIME_NEVER: none. */
uint64_t iw_conn_deadline(const struct iw_conn *c);
/* Too early does no harm. */
void iw_conn_timeout(struct iw_conn *c, uint64_t now);
bool iw_conn_next_event(struct iw_conn *c, struct iw_event *ev);

/* --- the ULP ---------------------------------------------------------------------------------- */

/* True for a closed connection with keep_stream whose two ends are in streaming mode: a rejecting
 * Reply was received or sent (RFC 5044 7.1.2 rules 2 and 3), or a responder got no valid Request
 * and sent nothing. *octets: the octets that this responder has read (borrowed). */
bool iw_conn_is_streaming(const struct iw_conn *c, struct iw_vec *octets);
/* The responder's answer to IW_EVENT_REQUEST. rdmap: in state IDLE. ird, ord, pd as in
 * iw_mpa_accept. IW_E_STATE: no Request waits, the connection has ended perhaps; IW_E_INVAL: as
 * iw_mpa_accept: decide again. 0 and IW_EVENT_CLOSED: accepted, but there was no memory. */
IW_MUST_CHECK int iw_conn_accept(struct iw_conn *c, struct iw_rdmap *rdmap, uint16_t ird,
				 uint16_t ord, const uint8_t *pd, size_t pd_len, uint64_t now,
				 struct iw_fault *why);
/* The other answer. IW_EVENT_CLOSED follows: with IW_E_REJECTED when the peer has taken it (with
 * keep_stream: when the transport has, and no octet after the Request is read before that); at
 * once, and without a Reply, when there is no Request to answer or pd is too long. */
void iw_conn_reject(struct iw_conn *c, const uint8_t *pd, size_t pd_len, uint64_t now);
/* Graceful end; see iw_rdmap_close. During set-up as iw_conn_abort. */
void iw_conn_close(struct iw_conn *c, uint64_t now);
/* At once, without a Terminate. IW_EVENT_CLOSED follows. */
void iw_conn_abort(struct iw_conn *c, uint64_t now);

struct iw_conn_counts {
	uint64_t tx_octets, rx_octets; /* of the stream, start-up included */
	uint64_t tx_fpdus, rx_fpdus;
	uint64_t nudges;
};
const struct iw_conn_counts *iw_conn_counts(const struct iw_conn *c);
/* Octets of Sends, RDMA Writes and Read Responses, without headers. */
struct iw_conn_payload {
	uint64_t tx; /* that the transport has taken */
	uint64_t rx; /* that were placed */
	uint64_t
		rx_part; /* over TCP: of an FPDU that is still incomplete, in steps of 512, headers included */
};
void iw_conn_payload(const struct iw_conn *c, struct iw_conn_payload *out);

#endif
