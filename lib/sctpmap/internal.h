/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside sctpmap: the two objects, and what the files call of each other. */
#ifndef IW_SCTPMAP_INTERNAL_H
#define IW_SCTPMAP_INTERNAL_H

#include "sctpmap/session.h"

#include "util/list.h"
#include "util/num.h"
#include "util/text.h"

/*
 * A bit for each number in the window: set if that message arrived early. A page of bits is allocated when the first
 * early message that belongs to it arrives, and kept until the session ends.
 */
#define SEEN_BITS  32768
#define SEEN_PAGES 32
#define PAGE_BITS  (SEEN_BITS / SEEN_PAGES)
#define PAGE_WORDS (PAGE_BITS / 64)
#define NEVER      UINT64_MAX

_Static_assert(SEEN_BITS > IW_SCTPMAP_WINDOW, "a place for each number of the window");

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
	 * A bit for each stream on which the peer gets a Terminate without a session, and how many
	 * are set.
	 */
	uint64_t *refused;
	uint32_t nrefused;
	uint8_t bye[IW_SCTPMAP_CONTROL_MAX - IW_SCTP_PD_MAX]; /* that Terminate */
	uint16_t lowest;                                      /* streams below it are not free */
	struct iw_dss *replaced;                              /* see iw_sctpmap_replaced */
	uint32_t sessions, deciding;
	size_t bytes;   /* allocated, this object included */
	size_t pending; /* of that: held for the peer by sessions that are not accepted */
	size_t objects; /* of that: the objects of those sessions, at most IW_SCTPMAP_PENDING_MAX */
	size_t window; /* receive window of the association, octets: the limit of pending without objects */
	size_t held;    /* buffers of segments that came before their session was agreed on */
	uint32_t early; /* messages of all sessions that arrived before one with a lower number */
	struct iw_list all;
	struct iw_list due; /* sessions with a control message that may go */
};

/* The state of set-up. */
struct talk {
	struct iw_offer
		offer; /* without its Private Data; of rtr only the forms that SCTP can have */
	struct iw_agreed agreed;
	uint8_t out[IW_SCTPMAP_CONTROL_MAX];
};

/*
 * Numbers of messages run from 0 for the first of the session, in 64 bits; on the wire they are
 * the low 16 bits, from the profile's first DDP-SSN on.
 */
struct iw_dss {
	struct iw_sctpmap *a;
	struct iw_list all, due; /* in a->all; in a->due */
	void *owner;
	uint16_t stream;
	enum iw_dss_state state;
	bool active, accepted, released;
	struct talk *talk;
	size_t bytes;   /* allocated for it, this object included */
	size_t pending; /* its part of a->pending */
	size_t object;  /* its part of a->objects */

	/* Out. */
	uint64_t tx_next, tx_acked;
	bool ending;   /* our last message is a Terminate that was not taken yet */
	bool tx_last;  /* our last message was taken */
	bool answered; /* active: by the peer */
	uint8_t bye[IW_SCTPMAP_CONTROL_MAX - IW_SCTP_PD_MAX]; /* our Terminate */
	size_t out_len; /* in talk->out: Initiate or answer, not taken yet; 0: none */

	/* In. */
	uint64_t rx_next;   /* the lowest number missing */
	uint64_t rx_behind; /* behind the highest one seen */
	uint64_t late;      /* that came behind one of a higher number */
	uint64_t rx_last;   /* of the peer's Terminate; NEVER: not seen */
	bool rx_done;       /* the peer has said its last, and all before it is here */
	uint32_t early;     /* numbers seen above rx_next */
	uint64_t **seen;    /* SEEN_PAGES; NULL: no message arrived early so far */
	uint8_t *held;      /* segments that came before the session was agreed on; NULL: none */
	size_t held_size, held_len, held_at;

	/* To be told. */
	bool news, told_end;
	enum iw_dss_unit_kind news_kind;
	struct iw_fault fault;
};

/* A Terminate without a session is pending on this stream. */
static inline bool iw_sctpmap_refuses(const struct iw_sctpmap *a, uint16_t stream)
{
	return a->refused[stream / 64] >> stream % 64 & 1;
}

/* session.c */
/*
 * Begins a session on a stream without one, for this end (active) or the peer. NULL: no memory, or
 * the peer has reached the limit of the association.
 */
struct iw_dss *iw_dss_new(struct iw_sctpmap *a, uint16_t stream, bool active);
/*
 * True if the stream can carry another session as soon as our messages have arrived: SCTP has taken
 * our last one, and the peer has ended its side or begins another session, which it may do only
 * when nothing is outstanding (RFC 5043 6.6).
 */
bool iw_dss_may_leave(const struct iw_dss *s);
/*
 * The session is over and leaves its stream. Its unacknowledged messages are counted in a->former.
 * Frees a released session.
 */
void iw_dss_leave(struct iw_dss *s);
/* The stream may have become free, or its new session may have waited for that. */
void iw_dss_stream_changed(struct iw_sctpmap *a, uint16_t stream);
/* True if n more octets may be allocated for messages of the peer. Always true in an accepted session. */
bool iw_dss_may_hold(const struct iw_dss *s, size_t n);
/* Zeroed memory that is charged to the session; NULL: no memory. */
void *iw_dss_alloc(struct iw_dss *s, size_t n);
void iw_dss_give_back(struct iw_dss *s, void *p, size_t n);
/* The segments held are no longer needed. */
void iw_dss_drop_held(struct iw_dss *s);
/* At once, whatever is outstanding. */
void iw_dss_free(struct iw_dss *s);
void iw_dss_set_state(struct iw_dss *s, enum iw_dss_state to);
/* Something has changed that a control message may have waited for, or the session's end: when it is
 * over its stream is free. True: it was released too, and is gone. */
bool iw_dss_look(struct iw_dss *s);
/* The ULP is to be told; news that were not taken yet are out of date. */
void iw_dss_tell(struct iw_dss *s, enum iw_dss_unit_kind kind);
/* s->fault is why. Our Terminate follows, where it can. */
void iw_dss_fail(struct iw_dss *s);
/* Neither end says more than it has said: a rejection. */
void iw_dss_rejected(struct iw_dss *s);
/* The control message that may go now; false: none. */
bool iw_dss_control(struct iw_dss *s, struct iw_sctpmap_msg *m);
void iw_dss_control_taken(struct iw_dss *s);

/* arrive.c */
void iw_dss_control_arrived(struct iw_dss *s, const uint8_t *data, size_t len);
void iw_dss_segment_arrived(struct iw_dss *s, const uint8_t *data, size_t len,
			    struct iw_dss_segment *seg);
/* True if iw_dss_next has a unit. */
bool iw_dss_has_unit(const struct iw_dss *s);

/* agree.c */
/* The header of our next control message. Returns its length. */
size_t iw_dss_encode_head(const struct iw_dss *s, uint8_t *to, size_t size, enum iw_sctp_fn fn);
IW_MUST_CHECK int iw_dss_check_offer(const struct iw_offer *o, bool active, struct iw_fault *why);
void iw_dss_build_initiate(struct iw_dss *s, const struct iw_offer *o);
void iw_dss_take_initiate(struct iw_dss *s, const struct iw_sctp_control *c);
/* IW_E_INVAL: decide again. */
IW_MUST_CHECK int iw_dss_build_accept(struct iw_dss *s, const struct iw_offer *o,
				      struct iw_fault *why);
IW_MUST_CHECK int iw_dss_build_reject(struct iw_dss *s, const uint8_t *pd, size_t pd_len,
				      struct iw_fault *why);
/* Negative: this end cannot live with what the Accept says. */
IW_MUST_CHECK int iw_dss_take_accept(struct iw_dss *s, const struct iw_sctp_control *c,
				     struct iw_fault *why);
void iw_dss_take_reject(struct iw_dss *s, const struct iw_sctp_control *c);

#endif
