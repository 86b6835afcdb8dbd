/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to lib/sctpmap: the two objects, and the functions that its files share. */
#ifndef IW_SCTPMAP_INTERNAL_H
#define IW_SCTPMAP_INTERNAL_H

#include "sctpmap/session.h"

#include "util/list.h"
#include "util/num.h"
#include "util/text.h"

/*
 * A bit for each number in the window: set if that message arrived early. A page of bits is
 * allocated when its first early message arrives, and kept until the session ends.
 */
#define SEEN_BITS  32768
#define SEEN_PAGES 32
#define PAGE_BITS  (SEEN_BITS / SEEN_PAGES)
#define PAGE_WORDS (PAGE_BITS / 64)
#define NEVER      UINT64_MAX

_Static_assert(SEEN_BITS > IW_SCTPMAP_WINDOW, "a bit for each number of the window");

struct iw_sctpmap {
	struct iw_sctpmap_cfg cfg;
	const struct iw_sctpmap_profile *profile;
	bool up, down;
	bool draining; /* no segment is sent until everything is acknowledged */
	uint16_t streams;
	size_t mulpdu;
	struct iw_dss **by_stream; /* cfg.streams places */
	/*
	 * For each stream, our unacknowledged messages of sessions that have left the stream:
	 * acknowledgements are subtracted here first. UINT16_MAX: that many or more.
	 */
	uint16_t *former;
	/*
	 * A bit for each stream on which a Terminate without a session is pending, and the number
	 * of such streams.
	 */
	uint64_t *refused;
	uint32_t nrefused;
	uint8_t terminate[IW_SCTPMAP_CONTROL_MAX - IW_SCTP_PD_MAX]; /* that Terminate, encoded */
	uint16_t lowest;         /* streams below it are not free */
	struct iw_dss *replaced; /* see iw_sctpmap_replaced */
	uint32_t sessions;       /* streams with a session */
	uint32_t deciding;       /* sessions in the state IW_DSS_DECIDING; at most cfg.backlog */
	size_t bytes;            /* allocated, this object included */
	size_t pending;          /* of bytes: held for the peer by sessions that are not accepted */
	size_t objects;          /* of pending: those sessions; at most IW_SCTPMAP_PENDING_MAX */
	/* Receive window of the association, octets: the limit of pending without objects. */
	size_t window;
	size_t held;    /* bytes of buffers for segments that arrived before the session was open */
	uint32_t early; /* messages of all sessions that arrived before one with a lower number */
	struct iw_list all; /* sessions */
	struct iw_list due; /* sessions with a control message that may be sent */
};

/* The negotiation of a session. */
struct setup {
	/* Without its Private Data; rtr has only the forms that SCTP permits. */
	struct iw_offer offer;
	struct iw_agreed agreed;
	uint8_t out[IW_SCTPMAP_CONTROL_MAX];
};

/*
 * Messages of a session have 64-bit numbers, beginning at 0. The DDP-SSN of a message is the low 16
 * bits of its number plus the profile's first DDP-SSN.
 */
struct iw_dss {
	struct iw_sctpmap *a;
	struct iw_list all, due; /* in a->all; in a->due */
	void *owner;
	uint16_t stream;
	enum iw_dss_state state;
	bool active;   /* this end has initiated it */
	bool accepted; /* it was open */
	bool released; /* no caller holds it */
	struct setup *setup;
	size_t bytes;   /* allocated for the session, this object included */
	size_t pending; /* part of a->pending */
	size_t object;  /* part of a->objects */

	/* Out. */
	uint64_t tx_next;  /* number of our next message */
	uint64_t tx_acked; /* our messages below it are acknowledged */
	bool ending;       /* our last message is a Terminate that SCTP has not accepted yet */
	bool tx_last;      /* SCTP has accepted our last message */
	bool answered;     /* active: the peer has answered the Initiate */
	uint8_t terminate[IW_SCTPMAP_CONTROL_MAX - IW_SCTP_PD_MAX]; /* our Terminate */
	/*
	 * Octets in setup->out: an Initiate or an answer that SCTP has not accepted yet; 0: none.
	 */
	size_t out_len;

	/* In. */
	uint64_t rx_next; /* the lowest number that has not arrived */
	uint64_t rx_end;  /* the highest number that has arrived, plus 1 */
	uint64_t late;    /* messages that arrived after one with a higher number */
	uint64_t rx_last; /* number of the peer's Terminate; NEVER: it has not arrived */
	bool rx_done;     /* the peer's last message and all earlier ones have arrived */
	uint32_t early;   /* messages above rx_next that have arrived */
	uint64_t **seen;  /* SEEN_PAGES; NULL: no message arrived early so far */
	uint8_t *held;    /* segments that arrived before the session was open; NULL: none */
	size_t held_size, held_len; /* bytes allocated, used */
	size_t held_at;             /* where iw_dss_next continues */

	/* Units for the caller that holds the session. */
	bool report_due, end_reported;
	enum iw_dss_unit_kind report_kind;
	struct iw_fault fault;
};

/* A Terminate without a session is pending on this stream. */
static inline bool iw_sctpmap_refuses(const struct iw_sctpmap *a, uint16_t stream)
{
	return a->refused[stream / 64] >> stream % 64 & 1;
}

/* session.c */
/*
 * Creates a session on a stream without one, for this end (active) or the peer. NULL: no memory, or
 * the peer has reached the limit of the association.
 */
struct iw_dss *iw_dss_new(struct iw_sctpmap *a, uint16_t stream, bool active);
/*
 * True if the stream can carry another session as soon as our messages have arrived: SCTP has taken
 * our last message, and the peer has ended its side or initiates another session, which it may do
 * only when nothing is outstanding (RFC 5043 6.6).
 */
bool iw_dss_may_leave(const struct iw_dss *s);
/*
 * The session is over and leaves its stream. Its unacknowledged messages are counted in a->former.
 * Frees a released session.
 */
void iw_dss_leave(struct iw_dss *s);
/* The stream may have become free, or its new session may have waited for that. */
void iw_dss_stream_changed(struct iw_sctpmap *a, uint16_t stream);
/* True if n more bytes may be allocated for the peer's messages. Always true after the Accept. */
bool iw_dss_may_hold(const struct iw_dss *s, size_t n);
/* Allocates n zeroed bytes, charged to the session. NULL: no memory. */
void *iw_dss_alloc(struct iw_dss *s, size_t n);
/* Frees n bytes of iw_dss_alloc. p may be NULL. */
void iw_dss_dealloc(struct iw_dss *s, void *p, size_t n);
/* Frees the held segments. */
void iw_dss_drop_held(struct iw_dss *s);
/* Frees the session at once, even if messages are outstanding. */
void iw_dss_free(struct iw_dss *s);
/* Changes the state to one of its successors (asserted). The held segments end with ENDING. */
void iw_dss_set_state(struct iw_dss *s, enum iw_dss_state to);
/*
 * Call it after a change that a control message or the end of the session may wait for. Frees the
 * stream of a session that is over. Returns true if the session was released before, and is now
 * freed.
 */
bool iw_dss_update(struct iw_dss *s);
/* Queues a unit for the caller. Replaces one that iw_dss_next has not returned yet. */
void iw_dss_report(struct iw_dss *s, enum iw_dss_unit_kind kind);
/* Ends the session with s->fault. Our Terminate follows, if it may be sent. */
void iw_dss_fail(struct iw_dss *s);
/* Ends a session that was rejected: neither end sends another message. */
void iw_dss_rejected(struct iw_dss *s);
/* Fills *m with the control message that may be sent now. False: none. */
bool iw_dss_control(struct iw_dss *s, struct iw_sctpmap_msg *m);
/* SCTP has accepted the control message of iw_dss_control. */
void iw_dss_control_taken(struct iw_dss *s);

/* arrive.c */
/* Processes a control message (data is borrowed). An illegal one ends the session with a fault. */
void iw_dss_control_arrived(struct iw_dss *s, const uint8_t *data, size_t len);
/*
 * Processes a message with a segment (data is borrowed). Fills *seg if the caller may pass it to
 * DDP now; keeps a copy if the session is not open yet. An illegal one ends the session with a
 * fault.
 */
void iw_dss_segment_arrived(struct iw_dss *s, const uint8_t *data, size_t len,
			    struct iw_dss_segment *seg);
/* True if iw_dss_next has a unit. */
bool iw_dss_has_unit(const struct iw_dss *s);

/* agree.c */
/* Encodes the header of our next control message. Returns its length in octets. */
size_t iw_dss_encode_head(const struct iw_dss *s, uint8_t *to, size_t size, enum iw_sctp_fn fn);
/* Checks o for an Initiate (active) or an Accept. IW_E_INVAL: it is impossible over SCTP. */
IW_MUST_CHECK int iw_dss_check_offer(const struct iw_offer *o, bool active, struct iw_fault *why);
/* Puts an Initiate with the offer (copied) into s->setup->out. */
void iw_dss_build_initiate(struct iw_dss *s, const struct iw_offer *o);
/* Copies what the peer's Initiate offers into s->setup->agreed. */
void iw_dss_take_initiate(struct iw_dss *s, const struct iw_sctp_control *c);
/*
 * Put the answer into s->setup->out: an Accept with the values agreed on, or a Reject.
 * IW_E_INVAL: too much Private Data; the request is still pending.
 */
IW_MUST_CHECK int iw_dss_build_accept(struct iw_dss *s, const struct iw_offer *o,
				      struct iw_fault *why);
IW_MUST_CHECK int iw_dss_build_reject(struct iw_dss *s, const uint8_t *pd, size_t pd_len,
				      struct iw_fault *why);
/*
 * Copies the values of the peer's Accept. IW_E_MPA_IRD, IW_E_MPA_RTR: this end cannot accept them
 * (RFC 6581 9).
 */
IW_MUST_CHECK int iw_dss_take_accept(struct iw_dss *s, const struct iw_sctp_control *c,
				     struct iw_fault *why);
/* Copies the Private Data of the peer's Reject. */
void iw_dss_take_reject(struct iw_dss *s, const struct iw_sctp_control *c);

#endif
