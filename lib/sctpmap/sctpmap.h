/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DDP over SCTP (RFC 5043): an association and the DDP stream sessions on it.
 *
 * Job: the two payloads of a DDP association's DATA chunks; the adaptation indication; sessions
 * (session.h) from Initiate to the last acknowledgement, many to an association, each on a pair of
 * SCTP streams of the same number. Neighbours: lib/conn has one session for each connection;
 * lib/loop carries the messages between an association and whatever SCTP is below, ours or the
 * kernel's; lib/wire describes the octets. It knows nothing of DDP but the length of its header.
 * Threads: none, no locks; an association and its sessions belong to one thread at a time.
 *
 *   set-up: iw_sctpmap_up()       what the peer indicated, how many streams there are
 *   in:     s = iw_sctpmap_receive(a, stream, ppid, data, len, &seg)
 *           seg.data: a segment of an open session, for DDP
 *           if (seg.more)
 *                   while (iw_dss_next(s, &u)) ...      other news of the session
 *           iw_sctpmap_replaced(a)              the session that the message replaced, if any
 *   out:    iw_sctpmap_control(a, &m)           a control message that may go now
 *                                            -> iw_sctpmap_control_taken(a, m.stream)
 *           iw_dss_room(s), iw_dss_ssn(s)       a segment: the caller puts the DDP-SSN in front
 *                                            -> iw_dss_taken(s)
 *   acks:   s = iw_sctpmap_acked(a, stream, n)
 *   end:    iw_sctpmap_down(a)                  nothing is sent or expected any more
 *
 * All messages are unordered, and none is fragmented (RFC 5043 9, 10): the caller sees to it.
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

/* RFC 5043 10: chunks of one stream that are not acknowledged. */
#define IW_SCTPMAP_WINDOW      32767
/* RFC 5043 9: the smallest size of a segment that DDP is told. */
#define IW_SCTPMAP_SEGMENT_MIN 516
/* User data of a chunk: the longest control message. */
#define IW_SCTPMAP_CONTROL_MAX (4 + IW_SCTP_PD_MAX)
/*
 * The octets of segments that a session holds at most before it is established. An initial window of SCTP is 4,380 octets;
 * a session whose peer sends more before the answer fails.
 */
#define IW_SCTPMAP_HOLD_LEN    (66 * 1024)
/*
 * Bytes that the sessions of one association which the peer has begun and this end has not accepted
 * use at most: further sessions are refused, as above the backlog. A refusal needs no memory. A
 * peer may begin a thousand sessions in one batch of packets, before this end has processed the
 * first one. The early segments of all sessions not accepted yet use at most the receive window.
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
/* "rfc", "sctp-draft-02"; NULL: no such name. */
const struct iw_sctpmap_profile *iw_sctpmap_profile_find(const char *name);

struct iw_sctpmap;
struct iw_dss;

struct iw_sctpmap_cfg {
	const struct iw_mem *mem;                 /* borrowed for life */
	const struct iw_sctpmap_profile *profile; /* static; NULL: RFC 5043 */
	/*
	 * This end initiates the sessions, on every stream; else it answers. Simultaneous Initiates
	 * fit no legal sequence (RFC 5043 6.2), so one end alone sends any: whose INIT it was.
	 */
	bool initiator;
	uint16_t streams; /* wanted, at least 1 (RFC 5043 8) */
	/* Responder: sessions that wait for the ULP at once; 0: 128. Further ones are answered with
	 * Terminate (RFC 5043 6.4). */
	uint32_t backlog;
	/* SCTP reports acknowledgements by iw_sctpmap_all_acked alone. */
	bool all_acked_only;
	/*
	 * Responder: act as an end without RFC 6581, whatever the profile: an Enhanced Initiate is
	 * answered with Terminate (RFC 5043 6.1: it fits no legal sequence).
	 */
	bool plain;
	/* For lib/loop: time-out of an association without an open session (unused.h); 0: none. */
	uint64_t unused_ns;
};

/* IW_E_INVAL, IW_E_NOMEM. */
IW_MUST_CHECK int iw_sctpmap_new(struct iw_sctpmap **out, const struct iw_sctpmap_cfg *cfg,
				 struct iw_fault *why);
/* With every session, released or not. a may be NULL. */
void iw_sctpmap_free(struct iw_sctpmap *a);
const struct iw_sctpmap_profile *iw_sctpmap_profile(const struct iw_sctpmap *a);
/* True if the enhanced forms of Initiate, Accept and Reject are used on the association. */
bool iw_sctpmap_enhanced(const struct iw_sctpmap *a);

/* What the association's set-up told of the peer. */
struct iw_sctpmap_peer {
	bool indicated; /* INIT or INIT ACK had an Adaptation Layer Indication */
	uint32_t adaptation;
	uint16_t in, out; /* streams that SCTP agreed on */
	uint32_t window;  /* ours for receiving, octets; 0: IW_SCTPMAP_PENDING_MAX */
};
/*
 * The association stands. IW_E_DSS_NODDP: the peer indicated nothing, or something else: DDP must
 * not be spoken (RFC 5043 11.1), abort the association. Of unequal numbers of streams the smaller
 * counts (RFC 5043 8): sessions begun on others end with IW_E_LIMIT.
 */
IW_MUST_CHECK int iw_sctpmap_up(struct iw_sctpmap *a, const struct iw_sctpmap_peer *peer,
				struct iw_fault *why);
/* The association is going down or is gone: no message is sent or expected any more, sessions do not
 * change but may be released. */
void iw_sctpmap_down(struct iw_sctpmap *a);
/* Usable streams: wanted, then agreed on. */
uint16_t iw_sctpmap_streams(const struct iw_sctpmap *a);
/* Octets allocated for the association and its sessions. */
size_t iw_sctpmap_memory(const struct iw_sctpmap *a);
/*
 * Octets that received messages still use: segments kept until their session is agreed on, and
 * records of segments that arrived before an earlier one. The caller subtracts them from the
 * receive window.
 */
size_t iw_sctpmap_held(const struct iw_sctpmap *a);
/* Sessions not free yet, those included that were released before their end. */
uint32_t iw_sctpmap_sessions(const struct iw_sctpmap *a);
/* Both ends have said their last on every session: only acknowledgements are missing, perhaps. */
bool iw_sctpmap_all_said(const struct iw_sctpmap *a);

/* The most user data of one chunk that fits a packet of the path, whenever that changes. Before the
 * first call: 518. */
void iw_sctpmap_set_chunk(struct iw_sctpmap *a, size_t user_data);
/* The largest DDP segment: 516 at least. Longer ones must not be sent (RFC 5043 9). */
size_t iw_sctpmap_mulpdu(const struct iw_sctpmap *a);

/* --- in --------------------------------------------------------------------------------------- */

/* A DDP segment, in the message that arrived. */
struct iw_dss_segment {
	const uint8_t *data; /* points into the message; NULL: it has none for an open session */
	size_t len;
	uint64_t seq; /* its number in the order of the sender: 0, 1, 2, ... */
	bool more;    /* the session has units (iw_dss_next) */
};

/*
 * Takes one message (borrowed), and fills *seg. Returns its session; NULL: none. A message for a
 * stream without a session is dropped; if it is not a Terminate, it is answered with one. An Initiate
 * makes a session.
 *
 * On a stream where this end has sent the last message of a session, an Initiate ends that session.
 * The peer sends one only when nothing is outstanding (RFC 5043 6.6), so our Terminate has arrived
 * even if its acknowledgement has not. The caller must check iw_sctpmap_replaced before the next
 * message. In all other states of a session an Initiate is illegal.
 */
struct iw_dss *iw_sctpmap_receive(struct iw_sctpmap *a, uint16_t stream, uint32_t ppid,
				  const uint8_t *data, size_t len, struct iw_dss_segment *seg);
/*
 * Returns, once, the session that the last message has ended by beginning another one on its
 * stream. NULL: none, or it was released before. The session is over: its owner should check it as
 * after iw_sctpmap_acked, and take its units. SCTP may still refer to the memory of its messages.
 */
struct iw_dss *iw_sctpmap_replaced(struct iw_sctpmap *a);
/* The session that messages of the stream belong to; NULL: none. */
struct iw_dss *iw_sctpmap_session(const struct iw_sctpmap *a, uint16_t stream);
/*
 * n more messages of the stream are acknowledged, those of former sessions first. Returns the
 * stream's session, whose owner should check iw_dss_acked and iw_dss_over. NULL: none, or it was
 * released before.
 */
struct iw_dss *iw_sctpmap_acked(struct iw_sctpmap *a, uint16_t stream, uint32_t n);
/* All messages of all streams are acknowledged, where SCTP tells only that (RFC 6458 6.1.9, the
 * sender dry event). Owners of all sessions should look, as above. */
void iw_sctpmap_all_acked(struct iw_sctpmap *a);

/* --- out -------------------------------------------------------------------------------------- */

struct iw_sctpmap_msg {
	uint16_t stream;
	uint32_t ppid;
	const uint8_t *data; /* borrowed until _control_taken */
	size_t len;
	bool ack_now; /* its stream can be used again when this is acknowledged */
};
/* The next control message that may be sent; false: none now. */
bool iw_sctpmap_control(struct iw_sctpmap *a, struct iw_sctpmap_msg *m);
/* SCTP has taken it. */
void iw_sctpmap_control_taken(struct iw_sctpmap *a, uint16_t stream);

#endif
