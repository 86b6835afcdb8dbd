/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Congestion control of one path. A controller is a table of functions that update struct
 * iw_sctp_cc, BBR also its model of the path, and nothing else. The time is an argument.
 */
#ifndef IW_SCTP_CC_H
#define IW_SCTP_CC_H

#include <stdbool.h>
#include <stdint.h>

struct iw_sctp_bbr;

struct iw_sctp_cc {
	uint32_t cwnd, ssthresh; /* octets */
	uint32_t pmdcs; /* largest DATA chunk that fits into one packet, with its header, octets */
	uint32_t pba;   /* partial_bytes_acked (RFC 9260 7.2.2), octets */
	/* Before the last reduction, for iw_sctp_cc_undo; 0: nothing can be undone. */
	uint32_t cwnd_before, ssthresh_before, w_max_before;
	/* CUBIC only (RFC 9438): */
	uint32_t w_max; /* octets */
	uint32_t w_est; /* the window that Reno would have now, octets */
	uint64_t w_due; /* by which it will grow next, in octets times cwnd: less than an octet */
	uint64_t epoch; /* ns; when the current growth began; 0: it has not begun */
	uint64_t k;     /* ns from epoch to w_max */
	/* BBR only: the rate at which DATA is sent, octets a second; 0: cwnd in a round trip. */
	uint64_t pacing;
	struct iw_sctp_bbr *bbr; /* its model of the path (borrowed); NULL: none yet */
};

/* One measurement of the rate at which a path delivers DATA. */
struct iw_sctp_cc_sample {
	uint64_t rate;            /* octets a second; 0: not measured */
	uint64_t rtt;             /* ns; 0: not measured */
	uint64_t delivered, lost; /* on the path so far, octets */
	/* When the chunk acknowledged here was sent: the totals, and octets in flight with it. */
	uint64_t delivered_then, lost_then;
	uint32_t flight_then;
	bool app_limited; /* the user or the peer's window limited the rate */
};

/* The effect of one SACK on one path. */
struct iw_sctp_cc_ack {
	uint32_t octets;        /* newly acknowledged, with chunk headers and padding */
	uint32_t flight_before; /* in flight before the SACK, octets */
	uint32_t flight;        /* in flight after it, octets */
	bool in_recovery;       /* fast recovery: the window does not grow */
	bool all_acked;         /* nothing is outstanding after the SACK */
	uint32_t l;             /* slow start adds at most l times pmdcs (RFC 9260 7.2.1) */
	uint64_t srtt;          /* ns */
	uint64_t now;           /* ns */
	/* NULL: the controller has no model, or the SACK allows no measurement. */
	const struct iw_sctp_cc_sample *sample;
};

struct iw_sctp_cc_ops {
	const char *name;
	void (*ack)(struct iw_sctp_cc *c, const struct iw_sctp_cc_ack *ack);
	void (*loss)(struct iw_sctp_cc *c);    /* SACKs show a loss; called once in each recovery */
	void (*timeout)(struct iw_sctp_cc *c); /* T3-rtx has expired */
	bool prr;                              /* recovery follows RFC 9937 */
	bool models;                           /* needs samples and struct iw_sctp_bbr */
};

extern const struct iw_sctp_cc_ops iw_sctp_cc_rfc9260, iw_sctp_cc_cubic, iw_sctp_cc_bbr;
/*
 * Not a controller, so without functions, but a choice: the association begins with cubic, and
 * rate.c chooses cubic or bbr by the round-trip time of its path.
 */
extern const struct iw_sctp_cc_ops iw_sctp_cc_auto;

/* Initializes the windows of a new path (RFC 9260 7.2.1); pmdcs in octets. */
void iw_sctp_cc_init(struct iw_sctp_cc *c, uint32_t pmdcs, bool ipv4);
/*
 * Reduces cwnd because no DATA was sent for an RTO (RFC 9260 7.2.1). first: the first RTO since
 * DATA was sent, so ssthresh keeps the window reached.
 */
void iw_sctp_cc_idle(struct iw_sctp_cc *c, bool first);
/* Records the windows before a reduction. */
void iw_sctp_cc_save(struct iw_sctp_cc *c);
/* Restores them: nothing was lost. No effect without iw_sctp_cc_save, or when repeated. */
void iw_sctp_cc_undo(struct iw_sctp_cc *c);
/* Returns the one named "auto", "rfc9260", "cubic" or "bbr"; NULL: not found. */
const struct iw_sctp_cc_ops *iw_sctp_cc_find(const char *name);

#endif
