/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the sink: its state. */
#ifndef IW_TRANSFER_PROTOCOL_SINK_H
#define IW_TRANSFER_PROTOCOL_SINK_H

#include "transfer/protocol/internal.h"

/*
 * Twice what a source may have open at once. When it has received the RESULT of an old file it may
 * announce a new one, while the sink still waits for a message about the old one, or has not
 * forgotten it yet.
 */
#define TABLE    (2 * IW_XFER_FILES)
#define RANGES   IW_XFER_RANGES
#define JOBS     IW_XFER_WINDOWS
#define OPEN_MAX 32u /* files created and not settled: each needs one or two descriptors */

enum file_state { FREE, QUEUED, OPEN, COMMITTING, SETTLED };

struct file {
	enum file_state state;
	uint32_t id;
	void *user;
	bool has_user; /* CREATE was answered with a file: COMMIT or ABANDON follows */
	struct iw_xfer_meta meta;
	char *text; /* owned: the octets that meta points to */
	size_t text_len;
	struct iw_list haves;
	uint8_t wanted[IW_XFER_MEMBERS / 8]; /* PACK: bits of the wanted members */
	uint32_t nwanted;                    /* octets of wanted in use */
	uint8_t *codes;                      /* codes of a pack's members; owned */
	size_t ncodes;
	char *why; /* the reason of the first failed member of a pack; owned. NULL: none failed */
	size_t why_len;
	bool creating, went, go_due; /* CREATE has no answer; GO was decided; GO must be sent */
	bool ended;                  /* its end was received in DONE */
	bool sent, shown;            /* RESULT was sent to the peer; passed to the driver */
	bool commit_due;
	uint64_t asked_to; /* end of the last requested range; ranges are in ascending order */
	uint64_t asked;    /* octets in all ranges */
	uint64_t settled;  /* octets stored or zero */
	uint64_t had;      /* octets that existed before */
	uint64_t high;     /* end of the last chunk */
	uint32_t slots, jobs, offers; /* in use for this file */
	uint64_t end_size;
	struct iw_xfer_digest end_digest;
	struct outcome outcome;
};

/* Chunks that an earlier transfer has stored. */
struct have {
	struct iw_list link;
	uint64_t off, len;
	size_t sent; /* chunks sent to the peer so far */
	size_t octets_len;
	uint8_t octets[];
};

struct range {
	uint32_t id; /* 0: dropped */
	uint64_t next, end;
};

enum slot_state {
	S_FREE,
	S_REGISTERING,
	S_GRANTED,  /* mode write: the peer may write */
	S_REVOKING, /* mode write: dropped, its registration is being revoked */
	S_READABLE, /* mode read: registered, the RDMA Read is pending */
	S_READING,
	S_STORING, /* a job uses it */
};

struct slot {
	enum slot_state state;
	uint32_t id;
	uint64_t off;
	uint32_t len;
	uint32_t stag; /* mode write: of this side; mode read: of the peer */
	bool grant_due;
	struct iw_xfer_digest digest; /* mode read */
};

/* mode read: an offer of the source. */
struct offer {
	uint32_t id;
	uint64_t off;
	uint32_t len, stag;
	struct iw_xfer_digest digest;
};

/* A chunk that has arrived and must be stored. */
struct job {
	uint32_t id;
	uint64_t off;
	uint32_t len;
	bool open; /* mode send: its DONE has not arrived */
	/* its slot must be revoked before the data are examined (RFC 5042 6.2.2) */
	bool registered;
	bool written; /* mode write: the peer has written all of it (RFC 5042 6.3.2) */
	struct iw_xfer_digest digest;
	struct iw_xfer_piece piece[IW_XFER_PIECES];
	uint32_t npieces;
};

struct release {
	uint32_t id;
	uint64_t off;
};

struct sink {
	struct file file[TABLE]; /* the file with number id is file[id % TABLE] */
	uint32_t next_id, create_id, nfiles, nopen;
	struct range range[RANGES];
	uint32_t range_head, nranges;
	struct slot slot[IW_XFER_WINDOWS];
	uint32_t registering; /* the slot of the unanswered REGISTER, or IW_XFER_WINDOWS */
	uint32_t ngrants;     /* slots with grant_due */
	struct fifo readable; /* slots in state READABLE */
	uint32_t nreading;    /* slots in state READING */
	uint64_t in_windows;  /* mode write: octets in windows without DONE, at the last report */
	struct fifo revoking;
	struct offer offer[IW_XFER_WINDOWS];
	uint32_t offer_head, noffers;
	struct release release[IW_XFER_WINDOWS];
	uint32_t nreleases;
	struct job job[JOBS];
	uint32_t job_head, njobs;
	bool storing;   /* STORE of the first job has no answer yet */
	uint8_t *attrs; /* received for file next_id; owned */
	/* Octets kept; octets announced, which are more if they are not accepted. */
	size_t attrs_len, attrs_announced;
	bool opened_due;
	enum { NO_BYE, BYE_HEARD, FINAL_ASKED, BYE_DUE, BYE_SAID } bye;
	struct iw_list paths; /* pull: paths to request */
	uint32_t npaths;
	bool paths_end, paths_sent;
};

static inline struct file *find(struct sink *s, uint32_t id)
{
	struct file *f = &s->file[id % TABLE];

	return id != 0 && f->state != FREE && f->id == id ? f : NULL;
}

/*
 * True if a file with this number was announced. If find returns NULL, it was forgotten; messages
 * about it may still arrive.
 */
static inline bool is_past(const struct sink *s, uint32_t id)
{
	return id != 0 && id < s->next_id;
}

static inline enum iw_xfer_mode mode(const struct iw_xfer *x)
{
	return x->cfg.mine.mode;
}

static inline struct range *range_at(struct sink *s, uint32_t i)
{
	return &s->range[(s->range_head + i) % RANGES];
}

static inline struct job *job_at(struct sink *s, uint32_t i)
{
	return &s->job[(s->job_head + i) % JOBS];
}

/* --- sink.c --- */
/*
 * Settle f with this code and text, and drop its ranges and those windows that no DONE will end.
 * Ignored if f is settled.
 */
void iw_xfer_sink_settle_len(struct iw_xfer *x, struct file *f, uint32_t code, const char *text,
			     size_t text_len, bool by_peer);
void iw_xfer_sink_settle(struct iw_xfer *x, struct file *f, uint32_t code, const char *text);

/* --- sink_store.c; those that take an action are steps of iw_xfer_sink_next --- */
/* Removes dropped ranges from the head of the ring. */
void iw_xfer_sink_trim_ranges(struct sink *s);
/* Removes the ranges of a file from the ring. */
void iw_xfer_sink_drop_ranges(struct sink *s, uint32_t id);
/* Drops a granted window: it is revoked, and its contents are ignored. */
void iw_xfer_sink_drop_window(struct sink *s, uint32_t i);
/* Drops the windows of f whose GRANT was not sent yet; with all, every window of f. */
void iw_xfer_sink_drop_windows(struct sink *s, const struct file *f, bool all);
/*
 * Queues a chunk that has arrived. There is room: in modes write and read each job has a slot, and
 * iw_xfer_sink_data limits the jobs of mode send.
 */
void iw_xfer_sink_push_job(struct sink *s, struct file *f, const struct job *j);
/* Counts len octets at off, which are stored or are zeros. */
void iw_xfer_sink_settled(struct iw_xfer *x, struct file *f, uint64_t off, uint64_t len);
/*
 * Removes the first job, of which *j is a copy: frees its slot, or counts its receives, which the
 * driver posts again, as new credit. stored: counts its octets.
 */
void iw_xfer_sink_finish_job(struct iw_xfer *x, const struct job *j, bool stored);
bool iw_xfer_sink_next_register(struct iw_xfer *x, struct iw_xfer_act *act);
bool iw_xfer_sink_next_read(struct iw_xfer *x, struct iw_xfer_act *act);
bool iw_xfer_sink_next_job(struct iw_xfer *x, struct iw_xfer_act *act);
bool iw_xfer_sink_next_revoke(struct iw_xfer *x, struct iw_xfer_act *act);

/* --- sink_out.c: steps of iw_xfer_sink_next; the action is a SEND --- */
bool iw_xfer_sink_send_get(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_sink_send_haves(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_sink_send_go(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_sink_send_grants(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_sink_send_releases(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_sink_send_results(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
bool iw_xfer_sink_send_bye(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);

#endif
