/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside conn: the object and what its files call of each other. */
#ifndef IW_CONN_INTERNAL_H
#define IW_CONN_INTERNAL_H

#include <stdalign.h>

#include "conn/conn.h"

#include "util/num.h"
#include "util/text.h"
#include "util/txbuf.h"

struct iw_conn {
	struct iw_conn_cfg cfg;
	enum iw_conn_state state;
	struct iw_mpa *mpa;     /* lies in mpa_space */
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

	uint64_t last_rx, last_tx; /* when octets last moved */
	uint64_t decide_at, linger_at;
	uint64_t nudge_at, nudge_ns; /* the next one, and how long the one behind it waits */
	unsigned nudges_left;

	struct iw_event events[IW_EVENT_CLOSED + 1]; /* each type occurs at most once */
	unsigned nevents, next_event;
	struct iw_conn_counts counts;
	alignas(16) uint8_t mpa_space[];
};

/* conn.c */
void iw_conn_set_state(struct iw_conn *c, enum iw_conn_state to);
void iw_conn_event(struct iw_conn *c, enum iw_event_type type, const struct iw_fault *why,
		   bool abort);
/* A fault of ours, or one that the peer's Terminate told. */
void iw_conn_fault(struct iw_conn *c, const struct iw_fault *why, uint64_t now);
/* Fault or not, Terminate or not: what is left is the FIN and its answer. */
void iw_conn_terminating(struct iw_conn *c, uint64_t now);
/* The end. why: NULL, or what counts when there was no fault before. */
void iw_conn_closed(struct iw_conn *c, const struct iw_fault *why, bool abort);

/* send.c */
/* What is left of the batch is not sent, or nothing is left of it. */
void iw_conn_drop_batch(struct iw_conn *c);

/* nudge.c */
void iw_conn_nudge_begin(struct iw_conn *c);
/* FPDUs of ours have gone out; something of the peer's has come in full operation. */
void iw_conn_nudge_sent(struct iw_conn *c, uint64_t now);
void iw_conn_nudge_heard(struct iw_conn *c);
void iw_conn_nudge_timeout(struct iw_conn *c, uint64_t now);

/* receive.c */
/* MPA has agreed: rdmap starts. */
void iw_conn_established(struct iw_conn *c, uint64_t now);

#endif
