/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A DDP stream session (RFC 5043 6): from Initiate to the last acknowledgement.
 *
 * The caller holds a session from iw_dss_initiate or from IW_DSS_REQUEST until iw_dss_release. The
 * association owns the object: it terminates a session that was released before its end, so that
 * the stream is used again only when nothing of that session is outstanding (RFC 5043 6.6).
 *
 * The sender's order is that of the DDP-SSNs. Segments are returned as they arrive, each with its
 * number, so that DDP can place them at once. The peer's Terminate is reported when no earlier
 * message is missing. An illegal sequence ends the session as soon as it is detected.
 */
#ifndef IW_SCTPMAP_SESSION_H
#define IW_SCTPMAP_SESSION_H

#include "sctpmap/sctpmap.h"

enum iw_dss_state {
	IW_DSS_INITIATING, /* active: the Initiate was sent, or waits for the association */
	IW_DSS_DECIDING,   /* passive: the request waits for the ULP's answer */
	IW_DSS_OPEN,       /* accepted; also after iw_dss_terminate */
	/*
	 * Rejected, failed or released: our last message is sent or pending. Received segments are
	 * dropped; only the peer's last message is still expected.
	 */
	IW_DSS_ENDING,
};
/* Returns the name, "initiating" for example. Never NULL. */
const char *iw_dss_state_name(enum iw_dss_state s);

/* Octets of IRD and ORD before the Private Data in the enhanced messages (RFC 6581 9). */
#define IW_DSS_ENHANCED_LEN 4

/*
 * Active: starts a session on the lowest free stream. If no stream is free, the session takes one
 * where only acknowledgements are missing. The Initiate is sent when the association is up and the
 * stream is free (RFC 5043 6.6).
 *
 * Private Data: at most 512 octets, 508 in an enhanced session. The peer_to_peer model needs an
 * enhanced session. A Send as RTR is never agreed on: segments of a session can overtake each
 * other, and a Send that overtakes the RTR would be placed by the MSN that the RTR uses up. o is
 * copied. *out is held by the caller until iw_dss_release.
 *
 * IW_E_STATE: the association is down, or the peer initiates. IW_E_LIMIT: all streams have sessions
 * that have not ended. IW_E_INVAL: the offer is impossible, or the profile has no enhanced
 * sessions. IW_E_NOMEM: no memory.
 */
IW_MUST_CHECK int iw_dss_initiate(struct iw_dss **out, struct iw_sctpmap *a,
				  const struct iw_offer *o, struct iw_fault *why);
/*
 * Releases the session. Its association terminates it if it has not ended, and frees it and its
 * stream when it is over. s may be NULL.
 */
void iw_dss_release(struct iw_dss *s);

/* Returns the bytes allocated for the session, a part of iw_sctpmap_memory. */
size_t iw_dss_memory(const struct iw_dss *s);
struct iw_sctpmap *iw_dss_assoc(const struct iw_dss *s);
/* Active: true if the Initiate waits for acknowledgements of the stream's former session. */
bool iw_dss_waits_for_stream(const struct iw_dss *s);
uint16_t iw_dss_stream(const struct iw_dss *s);
enum iw_dss_state iw_dss_state(const struct iw_dss *s);
/*
 * Returns what the two ends have agreed on; complete when the session is open. Borrowed until the
 * release.
 */
const struct iw_agreed *iw_dss_agreed(const struct iw_dss *s);
/* The owner is a pointer of the caller, which lib/sctpmap does not use. NULL after the release. */
void iw_dss_set_owner(struct iw_dss *s, void *owner);
void *iw_dss_owner(const struct iw_dss *s);

/*
 * Passive: accepts the IW_DSS_REQUEST. Segments held so far become units. Of o (copied), rtr, ird,
 * ord and pd apply; the Accept carries what RFC 6581 9.1 permits of them. IW_E_STATE: no request is
 * pending. IW_E_INVAL: too much Private Data, or a depth above 0x3fff: answer again.
 */
IW_MUST_CHECK int iw_dss_accept(struct iw_dss *s, const struct iw_offer *o, struct iw_fault *why);
/*
 * Passive: rejects the IW_DSS_REQUEST with this Private Data (copied). Segments held so far are
 * dropped. IW_E_STATE: no request is pending. IW_E_INVAL: too much Private Data: answer again.
 */
IW_MUST_CHECK int iw_dss_reject(struct iw_dss *s, const uint8_t *pd, size_t pd_len,
				struct iw_fault *why);
/*
 * Queues a Terminate as our last message; no segment may follow it. It is sent as soon as it cannot
 * overtake another control message of ours (RFC 5043 6.6). An open session still receives segments
 * until the peer's Terminate. Does nothing if our last message is queued or sent already.
 */
void iw_dss_terminate(struct iw_dss *s);

/* --- in --------------------------------------------------------------------------------------- */

enum iw_dss_unit_kind {
	IW_DSS_REQUEST, /* passive: the peer's request, in iw_dss_agreed: accept or reject it */
	/*
	 * Active: full operation, unless why names what this end cannot accept (IRD, RTR). RDMAP
	 * may then still send its Terminate.
	 */
	IW_DSS_ACCEPTED,
	IW_DSS_REJECTED,   /* active: by the peer's ULP, with the Private Data of iw_dss_agreed */
	IW_DSS_REFUSED,    /* active: by the peer's layer, which may not know enhanced sessions */
	IW_DSS_SEGMENT,    /* a segment held until the session was established: seq, data, len */
	IW_DSS_TERMINATED, /* the peer's last message, and all earlier ones have arrived */
	IW_DSS_FAULT,      /* why: an illegal sequence; our Terminate follows */
};
struct iw_dss_unit {
	enum iw_dss_unit_kind kind;
	uint64_t seq;        /* position of the segment in the sender's order: 0, 1, 2, ... */
	const uint8_t *data; /* borrowed until the next call */
	size_t len;
	const struct iw_fault *why; /* borrowed; NULL: none */
};
/*
 * Returns the next unit of the session. The segment of the last message is not a unit, because
 * iw_sctpmap_receive has returned it. False: no unit is pending.
 */
bool iw_dss_next(struct iw_dss *s, struct iw_dss_unit *u);

/* --- out -------------------------------------------------------------------------------------- */

/*
 * Returns how many segments may be passed to SCTP now: at most 32,767 unacknowledged messages of a
 * stream are allowed (RFC 5043 10).
 */
uint32_t iw_dss_room(const struct iw_dss *s);
/*
 * Returns how many messages arrived after one that was sent later: reordered on the path, or lost
 * and retransmitted (RFC 4737 3.3).
 */
uint64_t iw_dss_late(const struct iw_dss *s);
/* Returns the DDP-SSN of the next segment. */
uint16_t iw_dss_ssn(const struct iw_dss *s);
/* SCTP has accepted the next segment. iw_dss_room must have been above 0 (asserted). */
void iw_dss_taken(struct iw_dss *s);
/* True if a control message of ours is pending: the Initiate, the answer, or the Terminate. */
bool iw_dss_control_due(const struct iw_dss *s);
/*
 * Returns how many messages after the Initiate or the Accept SCTP has accepted: the segments, and
 * finally our Terminate.
 */
uint64_t iw_dss_sent(const struct iw_dss *s);
/* Returns how many of them are acknowledged cumulatively. */
uint64_t iw_dss_acked(const struct iw_dss *s);
/* True if any message of ours, segment or control message, is unacknowledged. */
bool iw_dss_outstanding(const struct iw_dss *s);
/*
 * True if both ends have sent their last message and all of ours have arrived: the stream is free
 * for another session, even while this one is held. Messages have arrived when they are
 * acknowledged, or when the peer has started another session on the stream.
 */
bool iw_dss_over(const struct iw_dss *s);

#endif
