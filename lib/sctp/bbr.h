/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR: congestion control by a model of the path. The model is the highest delivery rate and the
 * lowest round-trip time of the last seconds. DATA is paced at that rate. The window holds about
 * twice their product, the bandwidth-delay product (BDP). After the published ideas of BBR versions
 * 1 to 3 (draft-ietf-ccwg-bbr).
 */
#ifndef IW_SCTP_BBR_H
#define IW_SCTP_BBR_H

#include "sctp/cc.h"

enum iw_sctp_bbr_state {
	IW_SCTP_BBR_STARTUP, /* doubles the rate in each round trip until it no longer grows */
	IW_SCTP_BBR_DRAIN,   /* removes the queue that STARTUP made */
	/* The four phases of bandwidth probing, in this order, again and again: */
	IW_SCTP_BBR_DOWN,   /* removes the queue that UP made */
	IW_SCTP_BBR_CRUISE, /* sends at the measured rate */
	IW_SCTP_BBR_REFILL, /* fills the path for a round trip */
	IW_SCTP_BBR_UP,     /* sends faster, to find out whether more is delivered */
	IW_SCTP_BBR_RTT,    /* empties the path, to measure the lowest round-trip time */
};

/* Rates are octets a second, times ns, amounts octets. */
struct iw_sctp_bbr {
	enum iw_sctp_bbr_state state;
	/* The highest rate in this cycle of the phases and in the one before. */
	uint64_t rate_max[2];
	uint64_t rtt_min, rtt_min_at;
	uint64_t round; /* it ends when a chunk sent after its beginning is acknowledged */
	uint64_t round_delivered, round_lost; /* totals at the beginning of the round */
	uint64_t lost;                        /* the total as of the last sample */
	uint64_t round_rate, last_rate;       /* the highest in this round, in the last one */
	uint32_t last_delivered;              /* in the last round */
	bool responded;                       /* to the losses of this round */
	/* STARTUP: the last rate that was FULL_GROWTH above the one before; rounds since then. */
	uint64_t full_rate;
	unsigned full_rounds;
	bool full; /* the rate no longer grows */
	/* Bounds after losses; UINT32_MAX, UINT64_MAX: none. lo: until the next REFILL. */
	uint32_t flight_hi, flight_lo;
	uint64_t rate_lo;
	unsigned up_rounds;
	uint64_t phase_round, phase_at; /* when the phase began */
	unsigned cruise_rounds;
	uint32_t random;    /* state of a generator that keeps flows from probing at once */
	uint64_t rtt_until; /* RTT: its end; 0: the path is not empty yet */
	/* Acknowledgements that arrive in bursts: octets above the expected ones in two windows. */
	uint64_t acks_at, acks;
	uint32_t extra[2];
	uint64_t extra_round;
};

/* Prepares the model of a path with no measurement. seed: any number. */
void iw_sctp_bbr_init(struct iw_sctp_bbr *b, uint32_t seed);
/* Returns the name of the state, for traces. */
const char *iw_sctp_bbr_state_name(enum iw_sctp_bbr_state state);

#endif
