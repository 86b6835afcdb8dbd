/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mpa-probe as functions that fill structs. It finds out whether an iWARP endpoint listens on a TCP
 * port, what this endpoint agrees to, and which implementation it resembles. It can also listen
 * itself, as one of several implementations, and run rping.
 *
 *   play.h         one TCP connection: sends any octets, records what the peer does, and when
 *   ask.h          Requests with any bit set
 *   codec.h        FPDU framing for such a connection
 *   probe.h        one attempt; the probe; the grid
 *   identify.h     fingerprints of implementations
 *   personality.h  the Replies of other implementations, as a table
 *   shim.h         puts these Replies in front of the engine
 *   sink.h         a responder that discards what it receives
 *   rping.h        the conversation of rping
 *
 * A conformance test is an attempt of this header, or a sequence of calls of play.h, followed by
 * checks of the record.
 *
 * mpa-probe uses lib/wire and lib/mpa for octets, lib/llp for sockets, and the public API after
 * start-up. It starts no thread. Each wait has a limit, and ends when the process is asked to stop.
 *
 * A probe connects only to the one address and port that it is given. It makes one connection after
 * another, not faster than requested, up to a number that is known beforehand, and closes each in
 * the ordinary way. The listener cannot distinguish them from connections of its users: a listener
 * that serves a single connection (rping -s) ends with the first.
 */
#ifndef IW_MPA_PROBE_PROBE_H
#define IW_MPA_PROBE_PROBE_H

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
	uint64_t connect_ns; /* limit for TCP to connect */
	uint64_t reply_ns;   /* limit for a pause within the Reply, or before it */
	uint64_t read_ns;    /* limit for the answer to an RDMA Read */
	bool stag0;          /* the first FPDU is a zero-length Write to STag 0 */
};

enum iw_outcome {
	IW_OUTCOME_ACCEPTED,
	IW_OUTCOME_REFUSED,     /* a Reply with R = 1 */
	IW_OUTCOME_CLOSED,      /* FIN without a Reply */
	IW_OUTCOME_RESET,       /* reset without a Reply */
	IW_OUTCOME_SILENT,      /* the peer sent nothing */
	IW_OUTCOME_NOT_MPA,     /* the peer sent something that is not MPA */
	IW_OUTCOME_BAD_REPLY,   /* it begins like a Reply, but is malformed or incomplete */
	IW_OUTCOME_PORT_CLOSED, /* not connected: TCP refused */
	IW_OUTCOME_UNREACHABLE, /* not connected: no answer, or no route */
};
#define IW_OUTCOMES 9
/* Returns "accepted", "refused", ..., as in JSON. */
const char *iw_outcome_name(enum iw_outcome o);

/* How the peer ended the connection by itself after its answer. */
enum iw_ending { IW_ENDING_OPEN, IW_ENDING_FIN, IW_ENDING_RESET };
const char *iw_ending_name(enum iw_ending e);

/* Whether FPDUs work as agreed. */
enum iw_proof {
	IW_PROOF_NONE,   /* not tried */
	IW_PROOF_WORKS,  /* zero-length RDMA Reads were answered as agreed */
	IW_PROOF_TAKEN,  /* the peer kept the connection after our FPDU; it accepts no Reads */
	IW_PROOF_SILENT, /* a Read was not answered */
	IW_PROOF_BROKEN, /* the answer was wrong, or the connection ended */
};
const char *iw_proof_name(enum iw_proof p);

#define IW_ATTEMPT_RAW_MAX (IW_MPA_FRAME_LEN + IW_MPA_PD_MAX)
#define IW_ATTEMPT_ROUNDS  3 /* timed zero-length RDMA Reads in an attempt */

/*
 * The answer of the peer. Also without a Reply it holds what is known about the connection.
 */
struct iw_answer {
	enum iw_outcome outcome;
	struct iw_fault why; /* unless ACCEPTED */
	char text[200];      /* NOT_MPA: the protocol that it seems to be; else "" */

	struct iw_play_facts facts;
	uint64_t connect_ns; /* time to connect */
	uint64_t reply_ns;   /* time from the Request to the end of the Reply */
	uint64_t ended_ns;   /* time from the Request to `ending` */
	enum iw_ending ending;

	/* The first octets received: the Reply, or something else. */
	uint8_t raw[IW_ATTEMPT_RAW_MAX];
	size_t raw_len;

	/* ACCEPTED, REFUSED: */
	uint8_t flags, rev;
	bool enhanced;
	struct iw_mpa_enhanced e; /* as in the Reply */
	uint32_t block;           /* ULPDU size in the block of libiwarp; 0: no block */
	size_t pd_off, pd_len;    /* the ULP's Private Data within raw */

	/* ACCEPTED: the agreement. */
	bool crc, tx_markers, rx_markers;
	uint8_t rtr; /* set of enum iw_rtr that both support; 0: no RTR */
	/* Both support none, and rtr has the forms that the Reply names (RFC 6581 9.2). */
	bool rtr_unasked;
	uint8_t rtr_sent; /* the form that was sent */

	enum iw_proof proof;
	struct iw_fault broken; /* BROKEN: the reason */
	bool sent_first;  /* the peer sent FPDUs before our first one (RFC 5044 7.1.2 rule 4) */
	bool nudged;      /* it answered the first FPDU only after more octets followed */
	unsigned fpdus;   /* FPDUs received */
	unsigned aligned; /* of these, those at the start of a socket read */
	unsigned reads;   /* RDMA Reads answered */
	uint64_t rtt_ns;  /* of the fastest Read; 0: not measured */
	bool terminated;
	struct iw_terminate terminate;
	/* The Terminate arrived with layer and type swapped; terminate has them in order. */
	bool siw_order;
};

/*
 * Makes one attempt: connects, sends the Request, evaluates the answer, tests FPDUs if the peer
 * accepts, and closes. Returns 0 and *out, whatever the peer did, or
 *  - IW_E_CANCELED: the process was asked to stop;
 *  - IW_E_NOMEM;
 *  - IW_E_OS, IW_E_LIMIT, IW_E_PERM, IW_E_INVAL: this machine cannot open the connection.
 */
IW_MUST_CHECK int iw_attempt(const struct iw_attempt_cfg *cfg, const struct iw_ask *ask,
			     struct iw_answer *out, struct iw_fault *why);

/* --- the probe --- */

/* What a connection is for. */
enum iw_purpose {
	IW_PURPOSE_MAIN,    /* the report describes it */
	IW_PURPOSE_FLAGS,   /* reserved bits, C = 0, large IRD and ORD, the block, client-server */
	IW_PURPOSE_MARKERS, /* M = 1 */
	IW_PURPOSE_REV1,
	IW_PURPOSE_STAG0,
	IW_PURPOSE_GRID,
	IW_PURPOSE_CHECK, /* the main Request again: does the listener still accept it? */
};
const char *iw_purpose_name(enum iw_purpose p);

struct iw_probe_attempt {
	enum iw_purpose purpose;
	struct iw_ask ask;
	struct iw_answer answer;
};

/*
 * Three main Requests, three others, 32 of the grid, each of which a check may follow, a check for
 * each of the grid's four revisions, and STag 0.
 */
#define IW_PROBE_ATTEMPTS_MAX (3 + 3 + 2 * 32 + 4 + 1)

struct iw_probe_cfg {
	const char *host; /* a name or an address */
	uint16_t port;
	const char *bind_addr, *interface;
	struct iw_cli_secure *secure; /* open for host; NULL: plain */
	uint64_t timeout_ns;          /* to connect, and for a Reply; 0: 5 s, on loopback 500 ms */
	unsigned per_second;          /* connections at most, after the first five; 0: 20 */
	bool grid;                    /* option --all */
	bool single;                  /* make one connection only */
	const struct iw_ask *only;    /* send only this Request; NULL: the usual ones */
	const uint8_t *pd;            /* Private Data of the usual Requests (borrowed) */
	size_t pd_len;
	/* stop_fd, trace and trace_ctx: as in struct iw_play_cfg. */
	int stop_fd;
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
	/* Called after each connection; NULL: not called. */
	void (*on_attempt)(void *attempt_ctx, const struct iw_probe_attempt *a);
	void *attempt_ctx;
};

struct iw_probe_result {
	char target[80]; /* "127.0.0.1:7471", or the host as given if it has no address */
	bool iwarp;      /* it accepted the main Request */
	/* The attempt that the report describes; NULL: none was made. */
	const struct iw_probe_attempt *main;
	struct iw_probe_attempt *attempts; /* owned */
	size_t nattempts;
	/* During the grid the listener stopped accepting what it had accepted before. */
	bool gone;
	struct iw_verdict verdict;
	uint64_t took_ns;
};

/*
 * Probes a listener. Returns 0 and *out, whatever the listener did. After an error *out has what
 * was done until then. Call iw_probe_free() in either case. Errors are those of iw_attempt(), and
 *  - IW_E_NOENT, IW_E_NOTSUP: the host has no usable address;
 *  - IW_E_AGAIN: the name service did not answer.
 */
IW_MUST_CHECK int iw_probe(struct iw_probe_result *out, const struct iw_probe_cfg *cfg,
			   struct iw_fault *why);
void iw_probe_free(struct iw_probe_result *r);
/* Returns the first attempt for that purpose, or NULL. */
const struct iw_probe_attempt *iw_probe_find(const struct iw_probe_result *r, enum iw_purpose p);

#endif
