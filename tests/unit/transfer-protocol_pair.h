/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A source and a sink of cmd/transfer/protocol, joined in memory: queue pairs that keep the order,
 * receives of exact sizes, STags with bounds and rights, generated files at the source, verified
 * ones at the sink. Anything for which a real queue pair would send a Terminate (a Send without a
 * receive, a Write outside its window or to a revoked STag) fails the test. A seed determines which
 * side moves next.
 */
#ifndef TESTS_XFER_PAIR_H
#define TESTS_XFER_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "transfer/protocol/xfer.h"

#define XPAIR_FILES 300
#define XPAIR_RECVS 128
#define XPAIR_OPS   256

/* The failure of a file that the test injects. */
enum mishap {
	FINE,
	CANNOT_OPEN,   /* source: the file does not exist */
	SHRINKS,       /* source: a LOAD fails */
	CHANGES,       /* source: FINISH fails */
	EXISTS,        /* sink: CREATE fails because the same file exists */
	CANNOT_CREATE, /* sink: CREATE fails */
	DISK_FULL,     /* sink: the second STORE fails */
	CANNOT_COMMIT, /* sink */
};

struct xpair_file {
	enum iw_xfer_kind kind;
	char name[64];
	uint64_t size;
	/* 0: all chunks hold data; otherwise only each such one does, and the others are holes. */
	uint64_t data_every;
	bool zeros;          /* data that are all zeros */
	uint64_t source_had; /* chunks that HAVE reported to the source */
	uint64_t had;        /* the sink already has this many chunks from the start */
	uint64_t differs;    /* if not 0: number of the one of these that differs at the source */
	bool range_late;     /* the test answers NEXT_RANGE itself */
	uint8_t list[64];    /* of a pack */
	size_t list_len;
	/* Members of a pack, one bit each: as sent by the sink, as received by the source. */
	uint8_t want, wanted;
	enum mishap mishap;
	/* The result: */
	bool source_done, sink_done;
	uint32_t source_code, sink_code;
	char sink_text[IW_XFER_TEXT_MAX + 1];
	bool created, committed, abandoned;
	unsigned stores;
	uint64_t source_fold, sink_fold; /* of the chunks read and stored */
	uint64_t high;
};

struct xpair_recv {
	uint8_t *buf;
	uint32_t size;
	bool posted;
};

struct xpair_op {
	struct iw_xfer_act act;
};

struct xpair_reg {
	bool live;
	uint32_t stag;
	uint64_t to;
	uint32_t len;
	enum iw_xfer_right right;
	uint64_t written; /* octets written from the start */
};

struct xpair_side {
	struct iw_xfer *x;
	struct xpair_recv recv[XPAIR_RECVS];
	uint32_t nrecvs;
	uint32_t queue[XPAIR_RECVS]; /* posted receives, in order */
	uint32_t queue_head, nqueue;
	struct xpair_op op[XPAIR_OPS];
	uint32_t op_head, nops, sq_depth, most_ops;
	uint8_t *slot[IW_XFER_WINDOWS];
	struct xpair_reg reg[IW_XFER_WINDOWS];
	bool ended, closed, dropped;
	struct iw_fault fault;
	uint64_t sends, most_regs, beats;
};

struct xpair {
	struct xpair_side source, sink;
	struct iw_xfer_cfg source_cfg, sink_cfg;
	struct xpair_file file[XPAIR_FILES];
	unsigned nfiles, next;
	unsigned sink_ids[XPAIR_FILES + 1]; /* sink: id -> file index + 1 */
	uint64_t now, rng;
	uint32_t next_stag;
	bool opened;
	char path[64];
	unsigned paths;
	unsigned hold_store; /* sink: STORE is answered this many steps late */
	struct iw_xfer_act held;
	unsigned held_for;
	unsigned hold_load;
	struct iw_xfer_act held_load;
	unsigned held_load_for;
	/* Changes a message in transit, or NULL. Returns false to drop it. */
	bool (*meddle)(struct xpair *p, bool from_source, uint8_t *msg, size_t *len, size_t cap);
	unsigned meddled, flip_at; /* for meddle: messages seen, the one to change */
	bool flipped;
	bool more_later; /* source: NEXT_FILE is not answered after the last file */
	bool spoil;      /* source: an octet of each buffer changes after it was hashed */
	/*
	 * A violation that would cause a Terminate ends the connection, and a wrong digest fails
	 * the file; neither fails the test.
	 */
	bool tolerant;
	/*
	 * Only one side runs: its Sends complete without effect, its Reads and Writes stay
	 * outstanding.
	 */
	bool lone;
	bool any_meta;       /* mode and time in FILES are not checked */
	uint64_t stop_after; /* steps; 0: no limit */
	unsigned creates, finals;
	const char *gone; /* sink: names for the source, each terminated by NUL */
	size_t gone_len;
	void (*on_name)(struct xpair *p, bool source, const char *name,
			size_t len);          /* GONE, REMOVE */
	uint32_t opts;                        /* of OPENED */
	char last_text[IW_XFER_TEXT_MAX + 1]; /* of the last RESULT */
};

struct xpair_opts {
	bool pull;
	enum iw_xfer_mode mode;
	enum iw_xfer_digest_kind digest;
	uint32_t source_slots, sink_slots;
	uint64_t seed;
	uint32_t opts;      /* of OPEN */
	const char *listed; /* push: names that may be removed */
	size_t listed_len;
};

/* The bytes of memory that machines hold. */
extern size_t xpair_allocated;

void xpair_init(struct xpair *p, const struct xpair_opts *o);
/* From now on control messages have digests. Call it before the first one. */
void xpair_seal(struct xpair *p);
struct xpair_file *xpair_add(struct xpair *p, enum iw_xfer_kind kind, const char *name,
			     uint64_t size);
/* Runs until nothing moves. A transfer that neither ends nor moves runs to its deadlines. */
void xpair_run(struct xpair *p);
/* Gives a side a control message as if the peer had sent it. */
void xpair_inject(struct xpair *p, struct xpair_side *to, const uint8_t *msg, size_t len);
/* Performs all pending actions of a side. */
void xpair_act_all(struct xpair *p, struct xpair_side *s);
/* The same for both sides; nothing moves between them. */
void xpair_drain(struct xpair *p);
void xpair_fini(struct xpair *p);
uint64_t xpair_rand(struct xpair *p);

#endif
