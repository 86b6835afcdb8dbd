/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A source and a sink of cmd/transfer/protocol joined in memory: queue pairs that keep order, receives of exact sizes, STags with bounds and
 * rights, files that are made up and files that are checked. Whatever a real queue pair would end with a Terminate (a Send without a
 * receive, a Write outside its window or to a revoked STag) fails the test. Which side moves next is drawn from a seed.
 */
#ifndef TESTS_XFER_PAIR_H
#define TESTS_XFER_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "transfer/protocol/xfer.h"

#define XPAIR_FILES 300
#define XPAIR_RECVS 128
#define XPAIR_OPS   256

/* What happens to a file on its way. */
enum mishap {
	FINE,
	CANNOT_OPEN,   /* source: no such file */
	SHRINKS,       /* source: a LOAD fails */
	CHANGES,       /* source: FINISH fails */
	EXISTS,        /* sink: CREATE says the same is there */
	CANNOT_CREATE, /* sink: CREATE fails */
	DISK_FULL,     /* sink: the second STORE fails */
	CANNOT_COMMIT, /* sink */
};

struct xpair_file {
	enum iw_xfer_kind kind;
	char name[64];
	uint64_t size;
	/* 0: all data; else only each such chunk holds data, the others are holes */
	uint64_t data_every;
	bool zeros;          /* data, but all of them zero */
	uint64_t source_had; /* as the source heard */
	uint64_t had;        /* chunks from the first on that the sink has already */
	uint64_t differs;    /* one of them, if not 0: the source's chunk differs */
	bool range_late;     /* NEXT_RANGE is not answered here, but by the test */
	uint8_t list[64];    /* of a pack */
	size_t list_len;
	uint8_t want,
		wanted; /* members of a pack, a bit each: what the sink says, and what the source hears */
	enum mishap mishap;
	/* what came of it */
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
	struct iw_xact act;
};

struct xpair_reg {
	bool live;
	uint32_t stag;
	uint64_t to;
	uint32_t len;
	enum iw_xright right;
	uint64_t written; /* octets from the first on */
};

struct xpair_side {
	struct iw_xfer *x;
	struct xpair_recv recv[XPAIR_RECVS];
	uint32_t nrecvs;
	uint32_t queue[XPAIR_RECVS]; /* posted, in order */
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
	unsigned hold_store; /* sink: answers to STORE come so many steps late */
	struct iw_xact held;
	unsigned held_for;
	unsigned hold_load;
	struct iw_xact held_load;
	unsigned held_load_for;
	/* Alters a message on its way, or NULL. Returns false to swallow it. */
	bool (*meddle)(struct xpair *p, bool from_source, uint8_t *msg, size_t *len, size_t cap);
	unsigned meddled, flip_at; /* a meddler's own: messages seen, the one to change */
	bool flipped;
	bool more_later; /* source: NEXT_FILE is not answered after the last file */
	bool spoil;      /* source: an octet of each buffer changes behind the hash */
	/* what would be a Terminate, or a wrong digest, ends the connection or the file, not the
	 * test */
	bool tolerant;
	/* one side alone: its Sends complete and go nowhere, its Reads and Writes stay
	 * outstanding */
	bool lone;
	bool any_meta;       /* what FILES says of mode and time is not looked at */
	uint64_t stop_after; /* steps; 0: no limit */
	unsigned creates, finals;
	const char *gone; /* sink: names for the source, each with a NUL after it */
	size_t gone_len;
	void (*on_name)(struct xpair *p, bool source, const char *name,
			size_t len);          /* GONE, REMOVE */
	uint32_t opts;                        /* of OPENED */
	char last_text[IW_XFER_TEXT_MAX + 1]; /* of the last RESULT */
};

struct xpair_opts {
	bool pull;
	enum iw_xfer_mode mode;
	enum iw_xfer_digest digest;
	uint32_t source_slots, sink_slots;
	uint64_t seed;
	uint32_t opts;      /* of OPEN */
	const char *listed; /* push: names that may be removed */
	size_t listed_len;
};

void xpair_init(struct xpair *p, const struct xpair_opts *o);
/* Control messages have digests from now on: call it before the first one. */
void xpair_seal(struct xpair *p);
struct xpair_file *xpair_add(struct xpair *p, enum iw_xfer_kind kind, const char *name,
			     uint64_t size);
/* Until nothing moves any more; a transfer that neither ends nor moves goes on to its deadlines. */
void xpair_run(struct xpair *p);
/* Hands the side a control message as if its peer had sent it. */
void xpair_inject(struct xpair *p, struct xpair_side *to, const uint8_t *msg, size_t len);
/* All actions that a side has to do now. */
void xpair_act_all(struct xpair *p, struct xpair_side *s);
/* The same for both sides, and nothing moves between them. */
void xpair_drain(struct xpair *p);
void xpair_fini(struct xpair *p);
uint64_t xpair_rand(struct xpair *p);

#endif
