/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A DDP stream session (RFC 5043 6): from Initiate to the last acknowledgement.
 *
 * Whoever begins a session or is told of one by IW_DSS_REQUEST holds it until iw_dss_release. The
 * object is the association's: a session released before its end is terminated and seen to its end
 * there, so that its stream is used again only when nothing of it is outstanding (RFC 5043 6.6).
 *
 * The order that counts is that of the DDP-SSNs. Segments come up as they arrive, each with its
 * number, so that DDP can place them at once; the peer's Terminate comes up when nothing before it
 * is missing; what was judged illegal ends the session as soon as that is certain.
 */
#ifndef IW_SCTPMAP_SESSION_H
#define IW_SCTPMAP_SESSION_H

#include "sctpmap/sctpmap.h"

enum iw_dss_state {
	IW_DSS_INITIATING, /* active: the Initiate is sent, or waits for the association */
	IW_DSS_DECIDING,   /* passive: the ULP has the request */
	IW_DSS_OPEN,       /* accepted */
	IW_DSS_ENDING,     /* our last message is decided on: what comes in is dropped, but the
			    * peer's last one is noted */
};
/* "initiating", ... Never NULL. */
const char *iw_dss_state_name(enum iw_dss_state s);

#define IW_DSS_ENHANCED_LEN 4 /* in front of the Private Data of the enhanced forms */

/*
 * Active: begins a session on the lowest free stream. If none is free, the session takes one where
 * only acknowledgements are missing. The Initiate is sent when the association is up and the stream
 * is free (RFC 5043 6.6). IW_E_STATE: the association is down, or the peer initiates; IW_E_LIMIT:
 * all streams have sessions that have not ended; IW_E_INVAL: the offer cannot be made, or the
 * profile has no enhanced sessions; IW_E_NOMEM.
 *
 * peer_to_peer of o needs an enhanced session. A Send as RTR is never
 * agreed on: it uses up the MSN by which a Send that overtakes it would be placed, and segments of a
 * session do overtake each other. Private Data: at most 512 octets, less 4 if enhanced.
 */
IW_MUST_CHECK int iw_dss_initiate(struct iw_dss **out, struct iw_sctpmap *a,
				  const struct iw_offer *o, struct iw_fault *why);
/* The session is its association's again: it is terminated if it has not ended, and its stream is
 * free when it has. NULL does nothing. */
void iw_dss_release(struct iw_dss *s);

/* Octets allocated for the session, part of iw_sctpmap_memory. */
size_t iw_dss_memory(const struct iw_dss *s);
struct iw_sctpmap *iw_dss_assoc(const struct iw_dss *s);
/* Active: the Initiate waits for acknowledgements of the stream's former session. */
bool iw_dss_waits_for_stream(const struct iw_dss *s);
uint16_t iw_dss_stream(const struct iw_dss *s);
enum iw_dss_state iw_dss_state(const struct iw_dss *s);
/* What the session has agreed on; complete when it is open. */
const struct iw_agreed *iw_dss_agreed(const struct iw_dss *s);
/* A mark for whoever holds the session. */
void iw_dss_set_owner(struct iw_dss *s, void *owner);
void *iw_dss_owner(const struct iw_dss *s);

/* Passive: the ULP's answers to IW_DSS_REQUEST. Segments that came meanwhile are units now, after
 * the Reject they are dropped. o: rtr, ird and ord count, what goes on the wire follows RFC 6581 9.1.
 * IW_E_STATE: nothing waits for an answer; IW_E_INVAL: too much Private Data, a depth above 0x3fff:
 * decide again. */
IW_MUST_CHECK int iw_dss_accept(struct iw_dss *s, const struct iw_offer *o, struct iw_fault *why);
IW_MUST_CHECK int iw_dss_reject(struct iw_dss *s, const uint8_t *pd, size_t pd_len,
				struct iw_fault *why);
/* Terminate is our last message: no segment may be sent any more. It goes as soon as it cannot
 * overtake a control message of ours (RFC 5043 6.6). What comes in is still taken until the peer's
 * Terminate. */
void iw_dss_terminate(struct iw_dss *s);

/* --- in --------------------------------------------------------------------------------------- */

enum iw_dss_unit_kind {
	IW_DSS_REQUEST,  /* passive: params are filled, answer */
	IW_DSS_ACCEPTED, /* active: full operation, unless why says what cannot be lived with: IRD,
			    * RTR (then a Terminate of RDMAP may still be sent) */
	IW_DSS_REJECTED, /* active: by the peer's ULP, params.pd says more */
	IW_DSS_REFUSED,  /* active: by the peer's layer; it may not know enhanced sessions */
	IW_DSS_SEGMENT,  /* one that was held until the session was agreed on: seq, data, len */
	IW_DSS_TERMINATED, /* the peer's last message, and everything before it is here */
	IW_DSS_FAULT,      /* why: an illegal sequence; our Terminate is on its way */
};
struct iw_dss_unit {
	enum iw_dss_unit_kind kind;
	uint64_t seq;        /* of the segment in the sender's order: 0, 1, 2, ... */
	const uint8_t *data; /* borrowed until the next call */
	size_t len;
	const struct iw_fault *why;
};
/* Takes the next unit of the session, except segments of the message that arrived last. False: none. */
bool iw_dss_next(struct iw_dss *s, struct iw_dss_unit *u);

/* --- out -------------------------------------------------------------------------------------- */

/* Segments may be given to SCTP now: so many, 0: none. */
uint32_t iw_dss_room(const struct iw_dss *s);
/* Messages that came behind one which was sent later: reordered on the way, or lost and sent again
 * (RFC 4737 3.3). */
uint64_t iw_dss_late(const struct iw_dss *s);
/* The DDP-SSN of the next segment. */
uint16_t iw_dss_ssn(const struct iw_dss *s);
/* SCTP has taken that segment: only when there was room (asserted). */
void iw_dss_taken(struct iw_dss *s);
/* Our control message was not taken yet: the Initiate, the answer, the Terminate. */
bool iw_dss_control_due(const struct iw_dss *s);
/* Segments taken by SCTP, and those of them that it has had acknowledged cumulatively. */
uint64_t iw_dss_sent(const struct iw_dss *s);
uint64_t iw_dss_acked(const struct iw_dss *s);
/* Messages of ours of any kind that are not acknowledged yet. */
bool iw_dss_outstanding(const struct iw_dss *s);
/*
 * True if both ends have sent their last message and all of ours have arrived: the stream is free
 * for another session, even while this one is held. Messages have arrived when they are
 * acknowledged, or when the peer has begun another session on the stream.
 */
bool iw_dss_over(const struct iw_dss *s);

#endif
