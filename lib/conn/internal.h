/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to lib/conn: the object, and the functions that its files share. */
#ifndef IW_CONN_INTERNAL_H
#define IW_CONN_INTERNAL_H

#include <stdalign.h>

#include "conn/conn.h"

#include "util/num.h"
#include "util/text.h"
#include "util/txbuf.h"

#define IW_CONN_PART     512u       /* octets: see iw_conn_moved */
#define IW_CONN_SETUP_NS IW_SEC(10) /* default, the same as MPA's for a Reply */

/*
 * The operations of an LLP adaptation: MPA (over_tcp.c) or a DDP stream session (over_sctp.c). Each
 * returns 0 or true, or a negative error with *why set. Sending and receiving are not among them:
 * the interfaces for octets and for messages differ (see conn.h).
 */
struct adaptation_ops {
	/* Creates the adaptation's object in space, and starts the set-up at now. */
	int (*init)(struct iw_conn *c, uint64_t now, struct iw_fault *why);
	/* Releases what the adaptation owns. */
	void (*fini)(struct iw_conn *c);
	size_t (*size)(void); /* bytes of the adaptation's object in space */
	/*
	 * True if segments may be sent: this end is in full operation, and the peer accepts them.
	 */
	bool (*may_send)(const struct iw_conn *c);
	/*
	 * True if output is outstanding: the transport has not taken a start-up frame or a batch;
	 * over SCTP also if the peer has not acknowledged a message.
	 */
	bool (*sending)(const struct iw_conn *c);
	/* True if the Reply that refuses an invalid Request is pending (RFC 5044 C.2.1). */
	bool (*final_reply)(const struct iw_conn *c);
	uint64_t (*deadline)(const struct iw_conn *c); /* of the set-up, ns */
	/* Fails if that deadline has passed. */
	int (*timeout)(struct iw_conn *c, uint64_t now, struct iw_fault *why);
	/* The peer has closed its side. Fails if the set-up or an FPDU is incomplete. */
	int (*peer_ended)(struct iw_conn *c, struct iw_fault *why);
	int (*accept)(struct iw_conn *c, uint16_t ird, uint16_t ord, const uint8_t *pd,
		      size_t pd_len, struct iw_fault *why);
	int (*reject)(struct iw_conn *c, const uint8_t *pd, size_t pd_len, struct iw_fault *why);
	bool (*retry_rev1)(const struct iw_conn *c); /* as iw_conn_retry_rev1 */
	const struct iw_agreed *(*agreed)(const struct iw_conn *c);
	size_t (*mulpdu)(const struct iw_conn *c);
	/* True if the transport refers, or will refer, to memory of operations. */
	bool (*has_batch)(const struct iw_conn *c);
	/* Drops the output that the transport has not taken. */
	void (*drop_batch)(struct iw_conn *c);
	/* The connection is closed: drops pending output; over SCTP also releases the session. */
	void (*closed)(struct iw_conn *c);
	bool (*wants_tx)(const struct iw_conn *c); /* as iw_conn_wants_tx */
	/*
	 * Returns the cause of a stall, as text, if nothing is `sending` and no Read is
	 * outstanding.
	 */
	const char *(*stalled)(const struct iw_conn *c);
};
extern const struct adaptation_ops iw_conn_tcp_ops, iw_conn_sctp_ops;

struct over_sctp;

struct iw_conn {
	struct iw_conn_cfg cfg;
	const struct adaptation_ops *ops;
	enum iw_conn_state state;
	struct iw_mpa *mpa;     /* over TCP; in space */
	struct over_sctp *sctp; /* over SCTP; in space */
	struct iw_rdmap *rdmap; /* borrowed; NULL: a responder that has not accepted */
	struct iw_fault fault;  /* the first one */
	bool peer_fin;
	bool draining; /* after a fault: the octets of this read are dropped */

	struct iw_txbuf *tx;       /* the pending batch; NULL: none */
	struct iw_vec startup_vec; /* the pending start-up frame */
	/* The transport took only a part of the batch: the next batch must begin a TCP segment. */
	bool tx_cut_short;
	uint64_t tx_pos, sent_pos; /* octets of FPDUs: framed so far; taken by the transport */
	bool starved;              /* no batch buffer was free */
	uint64_t starved_at;

	uint64_t last_tx;                /* when the transport last took octets */
	uint64_t moved_at;               /* time of the last progress: see iw_conn_moved */
	uint64_t seen_steps, seen_fpdus; /* their values at the last iw_conn_moved */
	uint64_t part_from;              /* rx_octets where the incomplete FPDU began, or later */
	uint64_t part;                   /* octets after that, in whole IW_CONN_PART */
	bool tx_moves;                   /* when the transport takes the batch, that is progress */
	size_t tx_bytes;                 /* octets of the whole batch */
	uint64_t tx_payload;             /* octets of payload in it */
	uint64_t decide_at, linger_at;   /* deadlines: the ULP's answer; the peer's FIN */
	uint64_t nudge_at, nudge_ns;     /* time of the next nudge; wait for the one after it */
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
/* Ends the connection after a fault found by this end, or reported by the peer's Terminate. */
void iw_conn_fault(struct iw_conn *c, const struct iw_fault *why, uint64_t now);
/* Enters TERMINATING, and starts the time limit for the peer's FIN. */
void iw_conn_terminating(struct iw_conn *c, uint64_t now);
/* Enters CLOSED. why (may be NULL) applies if there was no fault before. */
void iw_conn_closed(struct iw_conn *c, const struct iw_fault *why, bool abort);

/*
 * Call it after each receive and each pull. Returns true and sets moved_at if that was progress: a
 * step of struct iw_rdmap_moved, or IW_CONN_PART more octets of an incomplete FPDU. Such parts are
 * progress because one FPDU can take long on a slow path. A peer cannot use them to delay the stall
 * limit for ever: an FPDU has less than 66 KiB.
 */
bool iw_conn_moved(struct iw_conn *c, uint64_t now);

/* The peer's FIN has arrived, or the peer has ended the session. */
void iw_conn_peer_ended(struct iw_conn *c, uint64_t now);
/* True if the rdmap may have a segment, and the state permits sending it. */
bool iw_conn_may_fill(const struct iw_conn *c);
/* True if a connection that ends has nothing more to send than its FIN. */
bool iw_conn_all_out(const struct iw_conn *c);
/* This end has closed its side: the caller sends the FIN, or the session's Terminate, now. */
void iw_conn_shut(struct iw_conn *c, uint64_t now);

/* send.c */
/* Frees the batch, even if the transport has not taken all of it. */
void iw_conn_drop_batch(struct iw_conn *c);

/* nudge.c */
/* Full operation begins: enables nudges if the configuration and the peer permit them. */
void iw_conn_nudge_begin(struct iw_conn *c);
/* FPDUs of this end were sent; octets of the peer have arrived; the time is now. */
void iw_conn_nudge_sent(struct iw_conn *c, uint64_t now);
void iw_conn_nudge_heard(struct iw_conn *c);
void iw_conn_nudge_timeout(struct iw_conn *c, uint64_t now);

/* startup.c */
/* The set-up has succeeded: starts the rdmap. */
void iw_conn_established(struct iw_conn *c, uint64_t now);
/* Ends a connection whose peer has accepted, but with an unacceptable IRD, RTR or CRC. */
void iw_conn_unacceptable(struct iw_conn *c, const struct iw_fault *why, uint64_t now);
/* Reports the rejection by the peer's ULP, and stores it in c->fault. */
void iw_conn_rejected(struct iw_conn *c);
/* True if a rejecting Reply ended MPA and the ULP keeps the stream: send no FIN, read no octet. */
bool iw_conn_leaves_stream(const struct iw_conn *c);

#endif
