/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probe: what mpa-probe does, as functions that fill structs.
 *
 * Job: find out what listens at a TCP port, whether it is an iWARP endpoint, what it agrees to and whose
 * it looks like; be one, with other people's habits; play rping.
 *   play.h     the core: one connection by hand, octets out, what comes back with its time
 *   ask.h      Requests with any bit set       codec.h    the engine's framing for a connection by hand
 *   probe.h    one attempt, the probe, the grid           identify.h fingerprints
 *   personality.h  the Replies of other implementations, as tables  shim.h     those answers in front of the engine
 *   rping.h    rping's conversation            sink.h     a responder that takes what comes
 * A conformance case, when there are some, is a script for play.h or an attempt of this header, with a
 * verdict on what was recorded; both ends can be played.
 *
 * Neighbours: cmd/mpa-probe above; lib/wire and lib/mpa for octets, lib/llp for sockets, the public API
 * for everything behind start-up. Threads: none. Waits have limits and end when the process was asked
 * to stop.
 *
 * It touches what it was told to and nothing else: one address and port, connections one after another,
 * in a number that is known beforehand and not faster than asked for. Of each it ends in the ordinary way.
 * A listener sees them as connections of its users: one that serves a single connection (rping -s) is
 * used up by the first.
 */
#ifndef IW_PROBE_PROBE_H
#define IW_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "mpa-probe/ask.h"
#include "mpa-probe/identify.h"
#include "mpa-probe/play.h"
#include "wire/ddp.h"

/* --- one attempt --- */

struct iw_attempt_cfg {
	struct iw_play_cfg play;
	uint64_t connect_ns; /* until TCP stands */
	uint64_t reply_ns;   /* between two octets of the Reply */
	uint64_t read_ns;    /* until an RDMA Read is answered */
	bool stag0;          /* the first FPDU is a Write of no octets to STag 0 */
};

enum iw_outcome {
	IW_OUTCOME_ACCEPTED,
	IW_OUTCOME_REFUSED,     /* a Reply with R = 1 */
	IW_OUTCOME_CLOSED,      /* FIN without a Reply */
	IW_OUTCOME_RESET,       /* the same by a reset */
	IW_OUTCOME_SILENT,      /* nothing came */
	IW_OUTCOME_NOT_MPA,     /* something else came */
	IW_OUTCOME_BAD_REPLY,   /* it begins as a Reply and is none */
	IW_OUTCOME_PORT_CLOSED, /* no connection: refused */
	IW_OUTCOME_UNREACHABLE, /* no connection: no answer, no way */
};
#define IW_OUTCOMES 9
/* "accepted", "refused", ... as JSON has them. */
const char *iw_outcome_name(enum iw_outcome o);

/* What the peer did to the connection on its own behind its answer. */
enum iw_ending { IW_ENDING_OPEN, IW_ENDING_FIN, IW_ENDING_RESET };
const char *iw_ending_name(enum iw_ending e);

/* Whether the connection works as agreed: FPDUs went out, and were answered. */
enum iw_proof {
	IW_PROOF_NONE,   /* not tried */
	IW_PROOF_WORKS,  /* RDMA Reads of no octets were answered as agreed */
	IW_PROOF_TAKEN,  /* our FPDUs were taken; a Read could not be asked for */
	IW_PROOF_SILENT, /* no answer */
	IW_PROOF_BROKEN, /* an answer that is wrong, or the connection ended: why */
};
const char *iw_proof_name(enum iw_proof p);

#define IW_ATTEMPT_RAW_MAX (IW_MPA_FRAME_LEN + IW_MPA_PD_MAX)
#define IW_ATTEMPT_ROUNDS  3 /* RDMA Reads of no octets in an attempt */

struct iw_answer {
	enum iw_outcome outcome;
	struct iw_fault why; /* but ACCEPTED */
	char text[200];      /* NOT_MPA: what it seems to be instead; else "" */

	struct iw_play_facts facts;
	uint64_t connect_ns, reply_ns; /* to connect; from the Request to the Reply's end */
	uint64_t ended_ns;             /* from the Request to ending */
	enum iw_ending ending;

	uint8_t raw
		[IW_ATTEMPT_RAW_MAX]; /* what came first: the Reply, as it was, or something else */
	size_t raw_len;

	/* ACCEPTED, REFUSED: */
	uint8_t flags, rev;
	bool enhanced;
	struct iw_mpa_enhanced e; /* as the peer said it */
	uint32_t block;           /* libiwarp's; 0: none */
	size_t pd_off, pd_len;    /* the ULP's Private Data, in raw */

	/* ACCEPTED: what both said comes to this */
	bool crc, tx_markers, rx_markers;
	uint8_t rtr; /* set that both support; 0: none asked for */
	/* it is none of those asked for, but what the Reply names in their place */
	bool rtr_unasked;
	uint8_t rtr_sent; /* the one that went out */

	enum iw_proof proof;
	struct iw_fault broken;
	bool sent_first;  /* it sent FPDUs before ours (RFC 5044 7.1.2 rule 4) */
	bool nudged;      /* answered only when more octets followed the first FPDU */
	unsigned fpdus;   /* FPDUs that arrived */
	unsigned aligned; /* of those, such that began a read */
	unsigned reads;   /* RDMA Reads that were answered */
	uint64_t rtt_ns;  /* the fastest of them, 0: none */
	bool terminated;
	struct iw_terminate terminate;
	bool siw_order; /* its layer and type were exchanged, which is undone here */
};

/* Connects, asks, looks at the answer, tries the connection if there is one, and ends it. 0: *out tells
 * what came of it; negative: it could not be tried (IW_E_CANCELED, IW_E_NOMEM, IW_E_LIMIT, IW_E_PERM,
 * IW_E_INVAL), why says how. */
IW_MUST_CHECK int iw_attempt(const struct iw_attempt_cfg *cfg, const struct iw_ask *ask,
			     struct iw_answer *out, struct iw_fault *why);

/* --- the probe --- */

/* What a connection was for. */
enum iw_purpose {
	IW_PURPOSE_MAIN,    /* the report is about it */
	IW_PURPOSE_FLAGS,   /* reserved bits, C = 0, large IRD and ORD, the block, client-server */
	IW_PURPOSE_MARKERS, /* M = 1 */
	IW_PURPOSE_REV1,
	IW_PURPOSE_STAG0,
	IW_PURPOSE_GRID,
	IW_PURPOSE_CHECK, /* the main one again: is the listener still there? */
};
const char *iw_purpose_name(enum iw_purpose p);

struct iw_probe_attempt {
	enum iw_purpose purpose;
	struct iw_ask ask;
	struct iw_answer answer;
};

#define IW_PROBE_ATTEMPTS_MAX 64

struct iw_probe_cfg {
	const char *host; /* a name or an address */
	uint16_t port;
	const char *bind_addr, *interface;
	uint64_t timeout_ns;       /* for a connection, for a Reply; 0: 5 s, on loopback 500 ms */
	unsigned per_second;       /* connections; 0: 20. The first five come at once */
	bool grid;                 /* --all */
	bool single;               /* one connection, no more */
	const struct iw_ask *only; /* this Request and no other; NULL: the usual ones */
	const uint8_t *pd;         /* Private Data of the usual Requests (borrowed) */
	size_t pd_len;
	int stop_fd;
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
	/* Called after each connection; may be NULL. */
	void (*on_attempt)(void *attempt_ctx, const struct iw_probe_attempt *a);
	void *attempt_ctx;
};

struct iw_probe_result {
	char target[80]; /* "127.0.0.1:7471", or as it was named when there is no address */
	bool iwarp;      /* it has accepted a Request */
	/* the connection that the report is about; NULL: none was tried */
	const struct iw_probe_attempt *main;
	struct iw_probe_attempt *attempts; /* owned */
	size_t nattempts;
	/* in the middle of the grid the listener no longer accepted what it had accepted */
	bool gone;
	struct iw_verdict verdict;
	uint64_t took_ns;
};

/* 0: *out is the result, whatever it says. Negative: could not be tried, or the host is not to be found
 * (IW_E_NOENT), or asked to stop; *out tells of what was done before. iw_probe_free in any case. */
IW_MUST_CHECK int iw_probe(struct iw_probe_result *out, const struct iw_probe_cfg *cfg,
			   struct iw_fault *why);
void iw_probe_free(struct iw_probe_result *r);
/* The first attempt of that purpose; NULL: there is none. */
const struct iw_probe_attempt *iw_probe_find(const struct iw_probe_result *r, enum iw_purpose p);

#endif
