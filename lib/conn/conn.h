/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One connection: joins rdmap and ddp to an LLP adaptation: mpa over a stream of octets (TCP), or a
 * session of sctpmap over messages (SCTP). The caller passes received octets or messages and the
 * time, and gets octets or messages to send, a deadline and events. So the same code runs on a
 * socket, in the simulator and under a fuzzer.
 *
 * Threads: none, no locks; a connection belongs to one thread at a time.
 *
 * Over a stream:
 *   in:   n = iw_conn_rx_vec(c, scratch, vec)   -> receive into vec
 *                                               -> iw_conn_received(c, bytes, now)
 *         or, at the end of the stream,            iw_conn_eof(c, now)
 *   out:  iw_conn_send(c, &tx, now)             -> send tx -> iw_conn_sent(c, bytes, now)
 *         iw_conn_fin_due(c, now)               -> shut down the transport's sending side
 * Over messages, where many connections share an association. The caller drives the association
 * (struct iw_sctpmap) and sends its control messages:
 *   in:   s = iw_sctpmap_receive(..., &seg)     -> iw_conn_arrived(the conn of s, &seg, ..., now)
 *         s = iw_sctpmap_acked(...)             -> iw_conn_acked(the conn of s, now)
 *   out:  m = iw_conn_next_msg(c, now)          -> send *m   -> iw_conn_msg_taken(c, kept, now)
 *         iw_sctpmap_control(...)
 * Both:
 *   time: iw_conn_deadline(c)                   -> iw_conn_timeout(c, now)
 *   then: while (iw_conn_next_event(c, &ev)) ...; completions: iw_rdmap_next_completion(rdmap, ...)
 *
 * Every call can produce output. So after each call, call iw_conn_send and iw_conn_fin_due, or
 * iw_conn_next_msg and iw_sctpmap_control.
 *
 * Differences over SCTP: segments are placed as they arrive, in any order, and delivered in the
 * sender's order. The Terminate of the session replaces the FIN, in both directions. The MULPDU is
 * that of the association. There are no FPDUs, markers or MPA CRC. When the association ends
 * (iw_conn_lost), no RDMAP Terminate is sent (RFC 5043 11.3).
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
#include "util/trace.h"
#include "util/vec.h"

enum iw_conn_state {
	IW_CONN_SETUP,   /* start-up of MPA or of the session */
	IW_CONN_OPEN,    /* full operation */
	IW_CONN_CLOSING, /* orderly end: completes the posted operations, then sends the FIN */
	/*
	 * After a fault or a rejection: sends its Terminate or Reply, if it may, then the FIN.
	 * Input is dropped.
	 */
	IW_CONN_TERMINATING,
	IW_CONN_FIN_SENT, /* this end sends nothing more; receives until the peer's FIN */
	IW_CONN_CLOSED,   /* the transport must be closed */
};
/* Returns the name, "setup" for example. Never NULL. */
const char *iw_conn_state_name(enum iw_conn_state s);

struct iw_conn_cfg {
	const struct iw_mem *mem; /* borrowed for the life of the connection, as are all pools */
	struct iw_pool *txbufs;   /* buffers of sizeof(struct iw_txbuf); over TCP */
	/*
	 * mpa.spill: buffers of IW_MPA_SPILL_LEN. Over SCTP only initiator, peer_to_peer, rtr, ird,
	 * ord, ird_max, pd and timeout_ns apply, and rev 2 means an enhanced session (RFC 6581 7).
	 */
	struct iw_mpa_cfg mpa;
	/*
	 * Over SCTP. Initiator: assoc, on which a session is started. Responder: session, whose
	 * IW_DSS_REQUEST was not taken yet; the connection releases it. Both NULL: over TCP.
	 */
	struct iw_sctpmap *assoc;
	struct iw_dss *session;
	/*
	 * Initiator: required. Responder: NULL until iw_conn_accept. Borrowed: must outlive the
	 * connection's use of it.
	 */
	struct iw_rdmap *rdmap;
	/* IRD and ORD if they are not negotiated (0x3fff, RFC 6581 9.1); 0: 16. */
	uint16_t unnegotiated_reads;
	/*
	 * Initiator: the set-up limit shown in messages, ns: mpa.timeout_ns plus the time of the
	 * name look-up. 0: mpa.timeout_ns.
	 */
	uint64_t whole_setup_ns;
	/* Responder: the limit for the ULP's answer to a Request, ns; 0: 10 s */
	uint64_t decide_ns;
	/*
	 * The limit without progress while octets or Reads are outstanding, ns; 0: 30 s.
	 * Zero-length RDMA Writes and zero-length Reads of the peer are not progress.
	 */
	uint64_t stall_ns;
	/*
	 * Initiator, for a responder that may not notice a first FPDU that arrives soon after its
	 * Reply (Linux siw). If the peer sends nothing for wait_ns after this end has sent, a
	 * zero-length RDMA Write follows. The wait doubles each time, and there are at most `most`
	 * such Writes. wait_ns 0: never. insist: also if the peer has sent something, which need
	 * not be an answer.
	 */
	struct iw_conn_nudge {
		uint64_t wait_ns;
		unsigned most;
		bool insist;
	} nudge;
	/*
	 * The limit for the peer's FIN, ns; 0: 10 s. After an orderly end it begins with our FIN,
	 * and restarts with each progress. After a fault or a rejection it begins at that event.
	 */
	uint64_t linger_ns;
	/*
	 * Over TCP: if set-up ends without RDMA, send no FIN: the ULP continues to use the stream.
	 */
	bool keep_stream;
	/* Borrowed for life; may be NULL. */
	const struct iw_tracer *tracer;
};

enum iw_event_type {
	/* Responder: see iw_conn_agreed; answer with iw_conn_accept or iw_conn_reject. */
	IW_EVENT_REQUEST,
	/* Full operation. Posted work of a responder waits for the initiator's first FPDU. */
	IW_EVENT_ESTABLISHED,
	IW_EVENT_REJECTED,    /* by the peer; iw_conn_agreed has its Private Data */
	IW_EVENT_PEER_CLOSED, /* the peer's FIN at an FPDU boundary: half closed */
	/* The last event: close the transport. fault.err is IW_OK after an orderly end. */
	IW_EVENT_CLOSED,
};
struct iw_event {
	enum iw_event_type type;
	struct iw_fault fault; /* REJECTED, CLOSED */
	bool abort;            /* CLOSED: reset the transport instead of lingering */
};

/* Octets to send on the stream. */
struct iw_tx {
	struct iw_vec *vec; /* borrowed until iw_conn_sent; at most IW_TXBUF_VECS */
	size_t nvec, bytes;
	bool eor; /* octets sent later must begin a new TCP segment (MSG_EOR) */
};

/* Bytes of the longest header of a message: DDP-SSN, DDP header, and a whole Terminate. */
#define IW_CONN_MSG_HDR (IW_SCTP_SSN_LEN + IW_DDP_UNTAGGED_LEN + IW_RDMAP_TERM_MAX)

/* A message for the association: user data of one DATA chunk. */
struct iw_conn_msg {
	uint16_t stream;
	uint32_t ppid;
	bool untagged; /* do not delay it for bundling (RFC 5043 11.2) */
	uint8_t hdr[IW_CONN_MSG_HDR];
	size_t hdr_len;
	/*
	 * True: vec's memory belongs to a posted operation and stays unchanged until that
	 * completes, so the transport may keep it. False: the memory may change or be revoked when
	 * the message is taken, so the transport must copy it.
	 */
	bool kept;
	bool last; /* of its operation; if kept, that completes after the acknowledgement */
	struct iw_vec vec[IW_RDMAP_SGE_MAX];
	size_t nvec;
	size_t bytes; /* of hdr and vec */
};

struct iw_conn;
/*
 * Creates a connection over a transport that is connected or connecting: the time limit of the
 * set-up begins at now. Private Data in cfg is copied. *out is owned by the caller until
 * iw_conn_free. IW_E_INVAL: a value of cfg.mpa is impossible. IW_E_NOMEM: no memory. Over SCTP also
 * IW_E_STATE and IW_E_LIMIT, as iw_dss_initiate.
 */
IW_MUST_CHECK int iw_conn_new(struct iw_conn **out, const struct iw_conn_cfg *cfg, uint64_t now,
			      struct iw_fault *why);
/* Frees c and releases its session. Does not flush the rdmap. c may be NULL. */
void iw_conn_free(struct iw_conn *c);
enum iw_conn_state iw_conn_state(const struct iw_conn *c);
/*
 * Return the tracer of cfg, and the number of the queue pair (0: a responder that has not
 * accepted), for the events that the transport traces.
 */
const struct iw_tracer *iw_conn_tracer(const struct iw_conn *c);
uint32_t iw_conn_stream(const struct iw_conn *c);
/*
 * Returns the agreed parameters (borrowed). Over SCTP rev is 2 for an enhanced session, crc is set,
 * and there are no markers.
 */
const struct iw_agreed *iw_conn_agreed(const struct iw_conn *c);
/*
 * Returns the session; the caller may set its owner (iw_dss_set_owner). NULL: over TCP, or the
 * connection is closed.
 */
struct iw_dss *iw_conn_session(const struct iw_conn *c);
/* Returns the rdmap (borrowed). NULL: a responder that has not accepted. */
const struct iw_rdmap *iw_conn_rdmap(const struct iw_conn *c);
/* Returns the MULPDU, octets (RFC 5044 4.5); over SCTP that of the association. */
size_t iw_conn_mulpdu(const struct iw_conn *c);
/*
 * Initiator: returns the form of RTR that it sends first, one of enum iw_rtr. Responder: the agreed
 * set. IW_RTR_NONE: no RTR.
 */
uint8_t iw_conn_rtr(const struct iw_conn *c);
/* Over TCP: sets the EMSS, in octets. */
void iw_conn_set_emss(struct iw_conn *c, size_t emss);
/* True if each FPDU begins a TCP segment: call iw_conn_set_emss before each batch. */
bool iw_conn_aligned(const struct iw_conn *c);
/* Initiator: returns the time limit of the set-up, ns. */
uint64_t iw_conn_setup_ns(const struct iw_conn *c);
/*
 * Returns the set-up limit that error messages show, ns: whole_setup_ns of cfg, or
 * iw_conn_setup_ns.
 */
uint64_t iw_conn_whole_setup_ns(const struct iw_conn *c);
/*
 * True if the initiator may retry on a new connection with Rev 1 (RFC 6581 10). Valid after
 * IW_EVENT_REJECTED and IW_EVENT_CLOSED. The connection has not changed the rdmap then: pass it to
 * the new connection, or flush it (iw_rdmap_flush).
 */
bool iw_conn_retry_rev1(const struct iw_conn *c);

/* --- in --------------------------------------------------------------------------------------- */

/*
 * Over TCP: fills vec with the memory for the next octets, and returns the number of elements. 0:
 * reading pauses, because the ULP's answer is pending or nothing more can be received. scratch is
 * lent as in iw_mpa_rx_vec. IW_E_NOMEM: no spill buffer is free, retry later.
 */
IW_MUST_CHECK int iw_conn_rx_vec(struct iw_conn *c, struct iw_vec scratch, struct iw_vec vec[2]);
/*
 * Processes bytes octets received into the vec of iw_conn_rx_vec. Must follow each iw_conn_rx_vec
 * that returned more than 0, with bytes 0 if nothing arrived: it ends the loan of scratch.
 */
void iw_conn_received(struct iw_conn *c, size_t bytes, uint64_t now);
/* Over TCP: the peer's FIN has arrived. Call it once. */
void iw_conn_eof(struct iw_conn *c, uint64_t now);
/* The transport has failed with *why: reset, unreachable, ... IW_EVENT_CLOSED follows. */
void iw_conn_lost(struct iw_conn *c, const struct iw_fault *why, uint64_t now);
/* False if nothing can be received now: the transport need not be polled for reading. */
bool iw_conn_wants_rx(const struct iw_conn *c);
/*
 * Over SCTP: processes what iw_sctpmap_receive returned for the session of c: its segment
 * (borrowed), which RDMAP places, and the units of the session if seg->more is set. lend: as in
 * iw_rdmap_receive_seq; NULL: the message is not lendable.
 */
void iw_conn_arrived(struct iw_conn *c, const struct iw_dss_segment *seg, struct iw_lend *lend,
		     uint64_t now);
/* Over SCTP: processes the pending units of the session. */
void iw_conn_take_units(struct iw_conn *c, uint64_t now);

/* --- out -------------------------------------------------------------------------------------- */

/*
 * False if neither iw_conn_send nor iw_conn_fin_due (over SCTP: iw_conn_next_msg) has output. A
 * cheap check after a receive; after true, these may still have none.
 */
bool iw_conn_wants_tx(const struct iw_conn *c);
/*
 * Over TCP: returns true and the pending octets in *tx, the same until iw_conn_sent. False: none
 * now. Repeat it after iw_conn_sent, until it returns false or the transport is full.
 */
bool iw_conn_send(struct iw_conn *c, struct iw_tx *tx, uint64_t now);
/* The transport has taken the first bytes octets of the last batch. */
void iw_conn_sent(struct iw_conn *c, size_t bytes, uint64_t now);
/* Returns true once, when all output is sent: then shut down the transport's sending side. */
bool iw_conn_fin_due(struct iw_conn *c, uint64_t now);

/*
 * Over SCTP: returns the next message (borrowed), the same one until iw_conn_msg_taken. NULL: none
 * now. After the last message it queues the session's Terminate, which the association sends.
 */
const struct iw_conn_msg *iw_conn_next_msg(struct iw_conn *c, uint64_t now);
/*
 * The transport has no room for the last message now. Copies its payload, unless the memory belongs
 * to an operation that has not ended: the source of a Read Response may be revoked, and unmapped,
 * before there is room. Without memory for the copy, the connection ends at once (IW_E_NOMEM).
 */
void iw_conn_msg_refused(struct iw_conn *c);
/*
 * The transport has taken the last message. kept: the transport refers to its memory until the
 * acknowledgement, and the operation completes only then. If the connection ends before, the
 * transport must end its use of the memory before the caller asks for completions.
 */
void iw_conn_msg_taken(struct iw_conn *c, bool kept, uint64_t now);
/*
 * Over TCP: the peer's transport has acknowledged octets that were sent before. Restarts the stall
 * limit of pending output.
 */
void iw_conn_drained(struct iw_conn *c, uint64_t now);
/* Over SCTP: messages of the session were acknowledged. */
void iw_conn_acked(struct iw_conn *c, uint64_t now);

/* --- time and events -------------------------------------------------------------------------- */

/* Returns the next deadline in ns; IW_TIME_NEVER: none. */
uint64_t iw_conn_deadline(const struct iw_conn *c);
/* Handles the deadlines that have passed. A call before the deadline is harmless. */
void iw_conn_timeout(struct iw_conn *c, uint64_t now);
/* Returns the next event. False: none is pending. */
bool iw_conn_next_event(struct iw_conn *c, struct iw_event *ev);

/* --- the ULP ---------------------------------------------------------------------------------- */

/*
 * True for a closed connection with keep_stream whose two ends are in streaming mode: a rejecting
 * Reply was received or sent (RFC 5044 7.1.2 rules 2 and 3), or a responder got no valid Request
 * and sent nothing. *octets: the octets that this responder has read (borrowed).
 */
bool iw_conn_is_streaming(const struct iw_conn *c, struct iw_vec *octets);
/*
 * Responder: accepts after IW_EVENT_REQUEST. rdmap is borrowed, and must be in state IDLE. ird, ord
 * and pd are as in iw_mpa_accept. If there is no memory to start the rdmap, returns 0 and
 * IW_EVENT_CLOSED follows. IW_E_STATE: no Request is pending, or the connection has ended.
 * IW_E_INVAL: as iw_mpa_accept; answer again.
 */
IW_MUST_CHECK int iw_conn_accept(struct iw_conn *c, struct iw_rdmap *rdmap, uint16_t ird,
				 uint16_t ord, const uint8_t *pd, size_t pd_len, uint64_t now,
				 struct iw_fault *why);
/*
 * Responder: rejects after IW_EVENT_REQUEST, with Private Data (copied). IW_EVENT_CLOSED follows
 * with IW_E_REJECTED when the peer has received the Reply. With keep_stream it follows when the
 * transport has taken the Reply, and no octet after the Request is read before that. If no Request
 * is pending or pd is too long, it follows at once, without a Reply.
 */
void iw_conn_reject(struct iw_conn *c, const uint8_t *pd, size_t pd_len, uint64_t now);
/* Starts an orderly end; see iw_rdmap_close. During set-up it is iw_conn_abort. */
void iw_conn_close(struct iw_conn *c, uint64_t now);
/* Ends the connection at once, without a Terminate. IW_EVENT_CLOSED follows. */
void iw_conn_abort(struct iw_conn *c, uint64_t now);

struct iw_conn_counts {
	uint64_t tx_octets, rx_octets; /* of the stream with start-up; over SCTP: of segments */
	uint64_t tx_fpdus, rx_fpdus;   /* over SCTP: segments */
	uint64_t nudges;
};
const struct iw_conn_counts *iw_conn_counts(const struct iw_conn *c);
/* Octets of Sends, RDMA Writes and Read Responses, without headers. */
struct iw_conn_payload {
	uint64_t tx; /* taken by the transport */
	uint64_t rx; /* placed */
	/* Over TCP: octets of an incomplete FPDU, in steps of 512, headers included. */
	uint64_t rx_part;
};
void iw_conn_payload(const struct iw_conn *c, struct iw_conn_payload *out);

#endif
