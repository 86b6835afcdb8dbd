/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Associations of many initiators with one listener, and messages both ways on each. Every message
 * must arrive exactly once and unchanged, and an association must end only when its initiator shuts
 * it down, or the run fails.
 */
#ifndef TESTS_SIM_TALK_H
#define TESTS_SIM_TALK_H

#include "sim/world.h"

enum { TALK_FLOWS = 64, TALK_MSGS = 64, TALK_MSG_MAX = 1000 };

enum talk_side { INITIATOR, LISTENER };

struct talk;

/* One association between an initiator and the listener. */
struct flow {
	struct talk *t;
	struct host *h; /* the initiator */
	unsigned number;
	struct talk_end {
		struct iw_sctp_assoc *a;
		bool up, down;
		unsigned want, sent, came, acked; /* want: at most TALK_MSGS */
		bool seen[TALK_MSGS];             /* messages of the other end that were received */
	} end[2];
	bool shut;
	/* the initiator has restarted: the listener's association may end in any way */
	bool lost;
	uint64_t up_at; /* when both ends were up */
};

struct talk {
	struct world *w;
	struct host *listener;
	struct flow flow[TALK_FLOWS];
	unsigned nflows;
	unsigned strangers, strangers_now; /* associations of the listener with other peers */
	struct iw_sctp_assoc *stranger;    /* the latest of them, while it exists */
};

void talk_init(struct talk *t, struct world *w, struct host *listener);
/* Returns NULL on failure. */
struct flow *talk_open(struct talk *t, struct host *h, const struct iw_sctp_addr *to,
		       unsigned want);
/* Each flow may send a message. */
void talk_work(struct talk *t);
bool flow_up(const struct flow *f);
/* Adds that many messages in each direction. */
void flow_more(struct flow *f, unsigned messages);
/* All messages wanted so far have arrived and are acknowledged. */
bool flow_done(const struct flow *f);
bool flow_over(const struct flow *f);
void flow_shutdown(struct flow *f);
/* The initiator of the flow restarts (RFC 9260 5.2.4). */
void flow_restart(struct flow *f);
/* Steps until fn is true, at most until time @until. Returns false if it never was, or on a
 * failure. */
bool talk_until(struct talk *t, bool (*fn)(const struct talk *t), uint64_t until);
void talk_run(struct talk *t, uint64_t until);
bool talk_all_up(const struct talk *t);
bool talk_all_done(const struct talk *t);
bool talk_all_over(const struct talk *t);
/* The largest number of messages queued for sending at one end. */
unsigned talk_queued(const struct talk *t);

#endif
