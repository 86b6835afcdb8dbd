/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DDP over SCTP (RFC 5043): an association and the DDP stream sessions on it.
 *
 * Job: the two payloads of the DATA chunks of a DDP association; the Adaptation Layer Indication;
 * the sessions (session.h), from the Initiate to the last acknowledgement. An association has many
 * sessions, each on a pair of SCTP streams with the same number. Neighbours: lib/conn has one
 * session for each connection; lib/loop moves messages between the association and SCTP, the
 * kernel's or ours; lib/wire encodes and decodes. Of DDP it knows only the length of the header.
 * Threads: none, no locks; an association and its sessions belong to one thread at a time.
 *
 *   set-up: iw_sctpmap_up()       what the peer indicated, and the numbers of streams
 *   in:     s = iw_sctpmap_receive(a, stream, ppid, data, len, &seg)
 *           seg.data: a segment of an open session, for DDP
 *           if (seg.more)
 *                   while (iw_dss_next(s, &u)) ...      other units of the session
 *           iw_sctpmap_replaced(a)              the session that the message replaced, if any
 *   out:    iw_sctpmap_control(a, &m)           a control message that may be sent now
 *                                            -> iw_sctpmap_control_taken(a, m.stream)
 *           iw_dss_room(s), iw_dss_ssn(s)       a segment: the caller prepends the DDP-SSN
 *                                            -> iw_dss_taken(s)
 *   acks:   s = iw_sctpmap_acked(a, stream, n)
 *   end:    iw_sctpmap_down(a)                  nothing is sent or expected any more
 *
 * The caller must send all messages unordered and unfragmented (RFC 5043 9, 10).
 */
#ifndef IW_SCTPMAP_SCTPMAP_H
#define IW_SCTPMAP_SCTPMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "agree/agree.h"
#include "util/mem.h"
#include "wire/sctpddp.h"

/* RFC 5043 10: the limit of unacknowledged chunks of one stream. */
#define IW_SCTPMAP_WINDOW      32767
/* RFC 5043 9: the smallest segment size, in octets, that may be reported to DDP. */
#define IW_SCTPMAP_SEGMENT_MIN 516
/* Octets of user data of the longest control message. */
#define IW_SCTPMAP_CONTROL_MAX (4 + IW_SCTP_PD_MAX)
/*
 * The most octets of segments that a session holds before it is established. An initial window of
 * SCTP is 4,380 octets. A session whose peer sends more before the answer fails.
 */
#define IW_SCTPMAP_HOLD_LEN    (66 * 1024)
/*
 * The most bytes used by the sessions of one association that the peer has initiated and this end
 * has not accepted. Further sessions are refused, as above the backlog. A refusal needs no memory.
 * A peer may initiate a thousand sessions in one batch of packets, before this end has processed
 * the first. The early segments of all sessions not accepted yet use at most the receive window.
 */
#define IW_SCTPMAP_PENDING_MAX (2 * 1024 * 1024)

/* The numbers of one edition of the mapping. */
struct iw_sctpmap_profile {
	const char *name;
	uint32_t ppid_segment, ppid_control;
	uint32_t adaptation; /* indicated, and expected of the peer */
	uint16_t first_ssn;  /* of a session */
	/* Function Codes 5 to 7 (RFC 6581 7) exist. If false, sessions use codes 1 to 4 only. */
	bool enhanced;
};
/* RFC 5043 with RFC 6581; and draft-ietf-rddp-sctp-02 of August 2005. */
extern const struct iw_sctpmap_profile iw_sctpmap_rfc, iw_sctpmap_draft_02;
/* Returns the profile named "rfc" or "sctp-draft-02"; NULL for another name. Static. */
const struct iw_sctpmap_profile *iw_sctpmap_profile_find(const char *name);

struct iw_sctpmap;
struct iw_dss;

struct iw_sctpmap_cfg {
	const struct iw_mem *mem;                 /* borrowed for the life of the association */
	const struct iw_sctpmap_profile *profile; /* static; NULL: RFC 5043 */
	/*
	 * True: this end sent the INIT, and initiates the sessions on every stream. False: it
	 * answers. Only one end may initiate, because simultaneous Initiates fit no legal sequence
	 * (RFC 5043 6.2).
	 */
	bool initiator;
	uint16_t streams; /* wanted, at least 1 (RFC 5043 8) */
	/*
	 * Responder: the most sessions that wait for the ULP; 0: 128. Further sessions are refused
	 * with a Terminate (RFC 5043 6.4).
	 */
	uint32_t backlog;
	/* SCTP reports acknowledgements only by iw_sctpmap_all_acked. */
	bool all_acked_only;
	/*
	 * Responder: act as an end without RFC 6581, whatever the profile: an Enhanced Initiate is
	 * answered with Terminate (RFC 5043 6.1: it fits no legal sequence).
	 */
	bool plain;
	/*
	 * Time-out of an association without an open session, ns; 0: none. Only lib/loop uses it,
	 * for unused.h.
	 */
	uint64_t unused_ns;
};

/*
 * Creates an association that is not up yet. *out is owned by the caller until iw_sctpmap_free.
 * IW_E_INVAL: cfg->streams is 0. IW_E_NOMEM: no memory.
 */
IW_MUST_CHECK int iw_sctpmap_new(struct iw_sctpmap **out, const struct iw_sctpmap_cfg *cfg,
				 struct iw_fault *why);
/* Frees a with all its sessions, released or not. a may be NULL. */
void iw_sctpmap_free(struct iw_sctpmap *a);
/* Returns the profile of the association. Static. */
const struct iw_sctpmap_profile *iw_sctpmap_profile(const struct iw_sctpmap *a);
/* True if the enhanced forms of Initiate, Accept and Reject are used on the association. */
bool iw_sctpmap_enhanced(const struct iw_sctpmap *a);

/* Facts about the peer and the association, known after the set-up of SCTP. */
struct iw_sctpmap_peer {
	bool indicated; /* INIT or INIT ACK had an Adaptation Layer Indication */
	uint32_t adaptation;
	uint16_t in, out; /* agreed numbers of streams */
	uint32_t window;  /* receive window of this end, octets; 0: IW_SCTPMAP_PENDING_MAX */
};
/*
 * Records that the association is established: pending Initiates may be sent. peer is copied. If
 * the two ends have different numbers of streams, the smaller applies (RFC 5043 8), and sessions on
 * higher streams end with IW_E_LIMIT. IW_E_DSS_NODDP: the peer indicated nothing, or another value:
 * DDP must not be used, abort the association (RFC 5043 11.1).
 */
IW_MUST_CHECK int iw_sctpmap_up(struct iw_sctpmap *a, const struct iw_sctpmap_peer *peer,
				struct iw_fault *why);
/*
 * Records that the SCTP association is ending or has ended: no message is sent or expected any
 * more. Frees the released sessions. The others do not change until they are released.
 */
void iw_sctpmap_down(struct iw_sctpmap *a);
/*
 * Returns the number of usable streams: before iw_sctpmap_up the wanted, then the agreed number.
 * For tests: product code learns of the limit by IW_E_LIMIT.
 */
uint16_t iw_sctpmap_streams(const struct iw_sctpmap *a);
/* Returns the bytes allocated for the association and its sessions. */
size_t iw_sctpmap_memory(const struct iw_sctpmap *a);
/*
 * Returns the octets that received messages still use: segments held until their session is
 * established, and records of segments that arrived early. The caller subtracts them from the
 * receive window.
 */
size_t iw_sctpmap_held(const struct iw_sctpmap *a);
/* Returns the number of streams with a session, sessions released before their end included. */
uint32_t iw_sctpmap_sessions(const struct iw_sctpmap *a);
/*
 * True if both ends have sent the last message of every session, and no Terminate without a session
 * is pending. Acknowledgements may be missing.
 */
bool iw_sctpmap_sessions_ended(const struct iw_sctpmap *a);

/*
 * Sets the most octets of user data of one chunk that fits a packet of the path. Call it whenever
 * the path MTU changes. Default: 518.
 */
void iw_sctpmap_set_chunk(struct iw_sctpmap *a, size_t user_data);
/* Returns the largest allowed DDP segment in octets, at least 516 (RFC 5043 9). */
size_t iw_sctpmap_mulpdu(const struct iw_sctpmap *a);

/* --- in --------------------------------------------------------------------------------------- */

/* A DDP segment in a received message. */
struct iw_dss_segment {
	const uint8_t *data; /* points into the message; NULL: no segment for an open session */
	size_t len;
	uint64_t seq; /* position in the sender's order: 0, 1, 2, ... */
	bool more;    /* the session has units (iw_dss_next) */
};

/*
 * Processes one message (data is borrowed) and fills *seg. Returns the session of the message, or
 * NULL if no caller has the session. An Initiate creates a session. Any other message on a stream
 * without a session is dropped, and answered with a Terminate unless it is a Terminate itself.
 *
 * If this end has sent the last message of a session, an Initiate on its stream ends that session.
 * The peer sends one only when nothing is outstanding (RFC 5043 6.6), so our Terminate has arrived
 * even if its acknowledgement has not. Call iw_sctpmap_replaced before the next message. In all
 * other states of a session an Initiate is illegal.
 */
struct iw_dss *iw_sctpmap_receive(struct iw_sctpmap *a, uint16_t stream, uint32_t ppid,
				  const uint8_t *data, size_t len, struct iw_dss_segment *seg);
/*
 * Returns, once, the session that the last message has ended by starting another session on its
 * stream. NULL: no session was replaced, or it was released before. The session is over: its owner
 * should check it as after iw_sctpmap_acked, and take its units. SCTP may still refer to the memory
 * of its messages.
 */
struct iw_dss *iw_sctpmap_replaced(struct iw_sctpmap *a);
/* Returns the session on the stream; NULL: the stream has no session. */
struct iw_dss *iw_sctpmap_session(const struct iw_sctpmap *a, uint16_t stream);
/*
 * Records that n more messages of the stream are acknowledged. Messages of former sessions are
 * counted first. Returns the session on the stream, whose owner should check iw_dss_acked and
 * iw_dss_over. NULL: the stream has no session, or it was released.
 */
struct iw_dss *iw_sctpmap_acked(struct iw_sctpmap *a, uint16_t stream, uint32_t n);
/*
 * Records that all messages of all streams are acknowledged, for an SCTP that reports nothing more
 * precise (RFC 6458 6.1.9, the sender dry event). The owners of all sessions should check them, as
 * after iw_sctpmap_acked.
 */
void iw_sctpmap_all_acked(struct iw_sctpmap *a);

/* --- out -------------------------------------------------------------------------------------- */

struct iw_sctpmap_msg {
	uint16_t stream;
	uint32_t ppid;
	const uint8_t *data; /* borrowed until iw_sctpmap_control_taken */
	size_t len;
	bool ack_now; /* request the acknowledgement at once: the stream is reusable after it */
};
/* Fills *m with the next control message that may be sent. False: none now. */
bool iw_sctpmap_control(struct iw_sctpmap *a, struct iw_sctpmap_msg *m);
/* Records that SCTP has accepted the control message on this stream. */
void iw_sctpmap_control_taken(struct iw_sctpmap *a, uint16_t stream);

#endif
