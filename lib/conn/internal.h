/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside conn: the object and what its files call of each other. */
#ifndef IW_CONN_INTERNAL_H
#define IW_CONN_INTERNAL_H

#include <stdalign.h>

#include "conn/conn.h"

#include "util/num.h"
#include "util/text.h"
#include "util/txbuf.h"

#define IW_CONN_PART     512u
#define IW_CONN_SETUP_NS IW_SEC(10) /* as MPA waits for a Reply */

/*
 * What the life of a connection asks of the adaptation below. The two ways of octets and messages
 * are not in it: they are called from outside, over_tcp.c and over_sctp.c have each their own.
 */
struct below {
	int (*init)(struct iw_conn *c, uint64_t now, struct iw_fault *why);
	void (*fini)(struct iw_conn *c);
	size_t (*size)(void); /* of what lies in space */
	/* Segments may go: full operation was reached and the peer takes them. */
	bool (*may_send)(const struct iw_conn *c);
	/* Something of the start-up, or a batch, was not taken or (SCTP) not acknowledged yet. */
	bool (*sending)(const struct iw_conn *c);
	/* A last word to the peer goes out even when no segment may: the answer to a bad Request. */
	bool (*last_words)(const struct iw_conn *c);
	uint64_t (*deadline)(const struct iw_conn *c); /* of the start-up */
	int (*timeout)(struct iw_conn *c, uint64_t now, struct iw_fault *why);
	/* The peer has ended its side. Negative: in the middle of something. */
	int (*peer_ended)(struct iw_conn *c, struct iw_fault *why);
	int (*accept)(struct iw_conn *c, uint16_t ird, uint16_t ord, const uint8_t *pd,
		      size_t pd_len, struct iw_fault *why);
	int (*reject)(struct iw_conn *c, const uint8_t *pd, size_t pd_len, struct iw_fault *why);
	bool (*retry_rev1)(const struct iw_conn *c);
	const struct iw_agreed *(*agreed)(const struct iw_conn *c);
	size_t (*mulpdu)(const struct iw_conn *c);
	bool (*has_batch)(const struct iw_conn *c); /* which refers to memory of operations */
	void (*drop_batch)(struct iw_conn *c);
	void (*closed)(struct iw_conn *c);               /* nothing moves any more */
	bool (*wants_tx)(const struct iw_conn *c);       /* as iw_conn_wants_tx */
	const char *(*stalled)(const struct iw_conn *c); /* though nothing of ours is held up */
};
extern const struct below iw_conn_over_tcp, iw_conn_over_sctp;

struct over_sctp;

struct iw_conn {
	struct iw_conn_cfg cfg;
	const struct below *below;
	enum iw_conn_state state;
	struct iw_mpa *mpa;     /* over TCP; lies in space */
	struct over_sctp *sctp; /* over SCTP; lies in space */
	struct iw_rdmap *rdmap; /* borrowed; NULL: responder before its answer */
	struct iw_fault fault;  /* the first one */
	bool peer_fin;
	bool draining; /* this read's octets are dropped */

	struct iw_txbuf *tx;       /* the batch under way, NULL: none */
	struct iw_vec startup_vec; /* a start-up frame under way */
	bool tx_cut_short; /* the transport took part of it: alignment is regained behind it */
	uint64_t tx_pos, sent_pos; /* FPDU octets: wrapped, taken by the transport */
	bool starved;              /* no batch buffer was to be had */
	uint64_t starved_at;

	uint64_t last_tx;  /* when the transport last took octets */
	uint64_t moved_at; /* when there was progress: see iw_conn_moved */
	uint64_t seen_steps, seen_fpdus;
	uint64_t part_from,
		part;    /* where the incomplete FPDU began, or later; octets of it that count */
	bool tx_moves;   /* the batch under way is progress */
	size_t tx_bytes; /* of that batch, when it was new */
	uint64_t tx_payload; /* in it */
	uint64_t decide_at, linger_at;
	uint64_t nudge_at, nudge_ns; /* the next one, and how long the one behind it waits */
	unsigned nudges_left;

	struct iw_event events[IW_EVENT_CLOSED + 1]; /* each type occurs at most once */
	unsigned nevents, next_event;
	struct iw_conn_counts counts;
	alignas(16) uint8_t space[];
};

/* state.c */
void iw_conn_set_state(struct iw_conn *c, enum iw_conn_state to);
void iw_conn_event(struct iw_conn *c, enum iw_event_type type, const struct iw_fault *why,
		   bool abort);
/* A fault of ours, or one that the peer's Terminate told. */
void iw_conn_fault(struct iw_conn *c, const struct iw_fault *why, uint64_t now);
/* Fault or not, Terminate or not: what is left is the FIN and its answer. */
void iw_conn_terminating(struct iw_conn *c, uint64_t now);
/* The end. why: NULL, or what counts when there was no fault before. */
void iw_conn_closed(struct iw_conn *c, const struct iw_fault *why, bool abort);

/*
 * Call it after anything was received or pulled. Returns true, and sets moved_at, if that was progress:
 * what struct iw_rdmap_moved counts, and each IW_CONN_PART octets of an incomplete FPDU. A slow path can
 * need long for one FPDU; a peer gains little by it, because an FPDU has at most 65535 octets.
 */
bool iw_conn_moved(struct iw_conn *c, uint64_t now);

/* The peer's FIN, or its session's end. */
void iw_conn_peer_ended(struct iw_conn *c, uint64_t now);
/* Rdmap has something to send, and it is not too late. */
bool iw_conn_may_fill(const struct iw_conn *c);
/* Everything that is to go has gone, what is sent by the adaptation alone included. */
bool iw_conn_all_out(const struct iw_conn *c);
/* Our side ends here: the FIN, or the session's Terminate, goes now. */
void iw_conn_shut(struct iw_conn *c, uint64_t now);

/* send.c */
/* What is left of the batch is not sent, or nothing is left of it. */
void iw_conn_drop_batch(struct iw_conn *c);

/* nudge.c */
void iw_conn_nudge_begin(struct iw_conn *c);
/* FPDUs of ours have gone out; something of the peer's has come in full operation. */
void iw_conn_nudge_sent(struct iw_conn *c, uint64_t now);
void iw_conn_nudge_heard(struct iw_conn *c);
void iw_conn_nudge_timeout(struct iw_conn *c, uint64_t now);

/* startup.c */
/* The adaptations have agreed: rdmap starts. */
void iw_conn_established(struct iw_conn *c, uint64_t now);
/* An answer that this end cannot live with: IRD, RTR, CRC. */
void iw_conn_unacceptable(struct iw_conn *c, const struct iw_fault *why, uint64_t now);
/* The peer's ULP said no: c->fault says so. */
void iw_conn_rejected(struct iw_conn *c);
/* A Reply ended MPA, and the ULP continues to use the TCP connection: send no FIN, and read no octet. */
bool iw_conn_leaves_stream(const struct iw_conn *c);

#endif
