/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Congestion control of one path, behind a small table of functions: what there is to know comes in as
 * arguments, what it decides is cwnd and ssthresh.
 */
#ifndef IW_SCTP_CC_H
#define IW_SCTP_CC_H

#include <stdbool.h>
#include <stdint.h>

struct iw_sctp_cc {
	uint32_t cwnd, ssthresh; /* octets */
	uint32_t pmdcs; /* largest DATA chunk, header included, that the path takes in one packet */
	uint32_t pba;   /* partial_bytes_acked (RFC 9260 7.2.2) */
	/* CUBIC only (RFC 9438): */
	uint32_t w_max; /* octets */
	uint32_t w_est; /* what Reno would have now, octets */
	uint64_t epoch; /* ns; when this growth began; 0: not yet */
	uint64_t k;     /* ns from epoch to w_max */
};

/* What one SACK said about one path. */
struct iw_sctp_cc_ack {
	uint32_t octets;        /* newly acknowledged, chunk headers and padding counted */
	uint32_t flight_before; /* in flight before the SACK */
	bool in_recovery;       /* fast recovery: the window does not grow */
	bool all_acked;         /* nothing is outstanding any more */
	uint32_t l;             /* RFC 9260 7.2.1 */
	uint64_t srtt;          /* ns */
	uint64_t now;
};

struct iw_sctp_cc_ops {
	const char *name;
	void (*ack)(struct iw_sctp_cc *c, const struct iw_sctp_cc_ack *ack);
	void (*loss)(struct iw_sctp_cc *c);    /* found by SACKs, once a recovery */
	void (*timeout)(struct iw_sctp_cc *c); /* T3-rtx expired */
};

extern const struct iw_sctp_cc_ops iw_sctp_cc_rfc9260;

/* A new path (RFC 9260 7.2.1); pmdcs in octets. */
void iw_sctp_cc_init(struct iw_sctp_cc *c, uint32_t pmdcs, bool ipv4);
/* Nothing was sent for an RTO (RFC 9260 7.2.1); first: for the first time since data was last
 * sent. */
void iw_sctp_cc_idle(struct iw_sctp_cc *c, bool first);
/* The row of that name, "rfc9260" or "cubic", or NULL. */
const struct iw_sctp_cc_ops *iw_sctp_cc_find(const char *name);

#endif
