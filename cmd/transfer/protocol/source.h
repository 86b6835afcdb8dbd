/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the source: its state. */
#ifndef IW_TRANSFER_PROTOCOL_SOURCE_H
#define IW_TRANSFER_PROTOCOL_SOURCE_H

#include "transfer/protocol/internal.h"

#define FILES        IW_XFER_FILES
#define RANGES       IW_XFER_RANGES
#define DONES        IW_XFER_WINDOWS
#define STREAM_AHEAD (8u << 20) /* octets of a stream requested ahead of the granted ones */

enum file_state { FREE, NEW, ASKED, GOING, CHECKING, ENDING, ENDED };

struct file {
	enum file_state state;
	uint32_t id;
	void *user;
	struct iw_xfer_meta meta;
	bool scanned;     /* the search found no data after cursor */
	bool asked_check; /* FINISH was issued */
	bool asking;      /* NEXT_RANGE has no answer yet */
	uint64_t cursor;  /* the offset where the search for data continues */
	uint64_t size;    /* of a stream: octets loaded so far */
	uint64_t settled; /* octets that were moved, are zero, or are the same at the sink */
	uint64_t had;     /* octets that the sink reported in HAVE */
	uint32_t ranges, grants, slots; /* of this file: entries of the rings; slots in use */
	struct iw_xfer_digest digest;
	struct outcome mine, result; /* failure on this side; result from the sink */
	size_t attrs_sent; /* octets of its extended attributes sent before the announcement */
	uint8_t *codes;    /* codes of a pack's members; owned */
	size_t ncodes;
};

/* Data of a file that wait for a window (mode write) or a slot. */
struct range {
	uint32_t id; /* 0: dropped */
	uint64_t next, end;
};

struct grant {
	uint32_t id; /* 0: dropped */
	uint64_t off;
	uint32_t len, stag;
};

enum slot_state { S_FREE, S_LOADING, S_LOADED, S_POSTED, S_REGISTERING, S_REGISTERED, S_OFFERED };

struct slot {
	enum slot_state state;
	uint32_t id;
	uint64_t off;
	uint32_t len;
	uint32_t stag; /* of the grant; mode read: of this side */
	/* mode send: the next piece to post; pieces posted and not completed */
	uint32_t next_piece, pieces;
	struct iw_xfer_digest digest;
	uint8_t hdr[IW_XFER_PIECES][IW_XFER_DATA_HDR];
};

/* A loaded chunk that DONE must report to the sink. */
struct done {
	uint32_t id;
	uint64_t off;
	uint32_t len;
	bool zero;
	struct iw_xfer_digest digest;
};

/* A HAVE, or the wanted members of a GO, that the driver has not been given yet. */
struct note {
	struct iw_list link;
	enum iw_xfer_act_type type; /* HAVE, WANTED */
	uint32_t id;
	uint64_t off, chunks_len;
	size_t len;
	uint8_t octets[];
};

struct source {
	struct file file[FILES];             /* the file with number id is file[id % FILES] */
	uint32_t next_id, oldest_id, nfiles; /* oldest_id: files before it are closed */
	uint32_t scan_id;                    /* files before it are scanned, or failed */
	bool next_asked;                     /* NEXT_FILE has no answer yet */
	bool no_more, bye_sent;
	uint64_t bye_files, bye_failed;

	struct range range[RANGES];
	uint32_t range_head, nranges, unsent; /* unsent: at the tail, not sent in a WANT yet */
	uint32_t nasking;                     /* files whose NEXT_RANGE has no answer yet */
	struct grant grant[IW_XFER_WINDOWS];
	uint32_t grant_head, ngrants;
	struct slot slot[IW_XFER_WINDOWS];
	struct fifo loaded; /* slots in state LOADED, in the order of loading */
	struct fifo offers; /* registered slots to be offered, in order */
	struct fifo revoke; /* slots whose registration is to be revoked */
	uint32_t loading;   /* the slot of the unanswered LOAD, or IW_XFER_WINDOWS */
	struct done done[DONES];
	uint32_t done_head, ndone;
	uint64_t done_octets;

	struct iw_list paths; /* pull: requested, not passed to the driver yet */
	uint32_t npaths;
	struct path *shown; /* the one that the last PATH passed */
	struct iw_list notes;
	struct note *noted; /* the one that was passed last */
	bool paths_end;
	struct iw_xfer_meta gone; /* of the file of the last RESULT */
	struct outcome gone_outcome;
	uint8_t *gone_codes;
	size_t gone_ncodes;
};

static inline struct file *find(struct source *s, uint32_t id)
{
	struct file *f = &s->file[id % FILES];

	return id != 0 && f->state != FREE && f->id == id ? f : NULL;
}

static inline enum iw_xfer_mode mode(const struct iw_xfer *x)
{
	return x->cfg.mine.mode;
}

static inline struct range *range_at(struct source *s, uint32_t i)
{
	return &s->range[(s->range_head + i) % RANGES];
}

static inline struct grant *grant_at(struct source *s, uint32_t i)
{
	return &s->grant[(s->grant_head + i) % IW_XFER_WINDOWS];
}

/* --- source_queue.c --- */
/* Removes the first range from the ring. */
void iw_xfer_source_pop_range(struct source *s);
/* Remove dropped ranges, or grants, from the head of the ring. */
void iw_xfer_source_trim_ranges(struct source *s);
void iw_xfer_source_trim_grants(struct source *s);
/* Notes that the NEXT_RANGE of f is answered, or needs no answer any more. */
void iw_xfer_source_stop_asking(struct source *s, struct file *f);
/* Drops the ranges and grants of f, and ends the search for more data. */
void iw_xfer_source_drop_rest(struct source *s, struct file *f);
/* Queues a chunk for DONE. There is always room: see may_load. */
void iw_xfer_source_push_done(struct source *s, const struct done *d);
/* Frees slot i for the next chunk. */
void iw_xfer_source_free_slot(struct iw_xfer *x, uint32_t i);

/* --- source.c --- */
/* Ends f with this code; DONE reports it to the sink. text may be NULL. */
void iw_xfer_source_end_file(struct iw_xfer *x, struct file *f, enum iw_xfer_code code,
			     const char *text);
/*
 * Queues a HAVE or WANTED about the file of e for the driver, with a copy of len octets.
 * IW_E_NOMEM: no memory; the transfer has failed.
 */
int iw_xfer_source_note(struct iw_xfer *x, enum iw_xfer_act_type type,
			const struct iw_xfer_entry *e, const uint8_t *octets, size_t len);

/* --- source_load.c: steps of iw_xfer_source_next, which return true with the next action --- */
bool iw_xfer_source_load(struct iw_xfer *x, struct iw_xfer_act *act);
bool iw_xfer_source_move(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_source_revoke(struct iw_xfer *x, struct iw_xfer_act *act);

/* --- source_out.c: likewise; the action is a SEND --- */
bool iw_xfer_source_send_files(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_source_send_wants(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_source_send_done(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_source_send_offers(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_source_send_removes(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_source_send_bye(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);

#endif
