/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the room: what source, sink and the link below them share. */
#ifndef IW_XFER_INTERNAL_H
#define IW_XFER_INTERNAL_H

#include "util/list.h"
#include "util/num.h"
#include "transfer/protocol/msg.h"
#include "transfer/protocol/xfer.h"

#define OUT_BUFS 8 /* control messages under way at once */

enum state {
	ST_NEW,     /* the connection is not up */
	ST_OPENING, /* the initiator's OPEN is due */
	ST_RUN,
	ST_BYE,     /* source: BYE is due or sent; sink: BYE was received */
	ST_CLOSING, /* END and CLOSE are due */
	ST_FAILING, /* END and DROP (or CLOSE) are due */
	ST_OVER,
	ST_COUNT
};

/* Numbers of slots in order. */
struct fifo {
	uint8_t item[IW_XFER_WINDOWS];
	uint8_t head, n;
};

static inline void fifo_put(struct fifo *f, uint32_t v)
{
	f->item[(f->head + f->n++) % IW_XFER_WINDOWS] = (uint8_t)v;
}

static inline uint32_t fifo_first(const struct fifo *f)
{
	return f->item[f->head];
}

static inline uint32_t fifo_take(struct fifo *f)
{
	uint32_t v = f->item[f->head];

	f->head = (uint8_t)((f->head + 1) % IW_XFER_WINDOWS);
	f->n--;
	return v;
}

struct outmsg {
	uint8_t *buf; /* NULL until it is first used */
	bool busy;
};

/* One side's count of messages and receives. Messages are counted from 1. */
struct link {
	uint64_t tx_count, tx_limit; /* sent; allowed */
	uint32_t tx_size;            /* octets of the peer's receives before tx_from */
	uint32_t tx_size_next;       /* from tx_from on */
	uint64_t tx_from;            /* UINT64_MAX: no change is known */
	uint64_t rx_count, rx_limit; /* received; receives posted */
	uint64_t rx_told;            /* the limit that the peer knows */
	uint32_t rx_first;           /* receives that are not posted again: the responder's first */
	uint32_t rx_more;            /* receives posted beside them */
	uint32_t rx_size;            /* octets of these */
	bool post_due;               /* POST_RECVS is due */
	bool size_due;               /* the next message tells rx_size */
	bool nop_due, ask_due;       /* a NOP is due; it asks for an answer */
	bool total_due;              /* a NOP is due, with the total of the files */
	bool beat_due;
	uint64_t beats; /* BEATs so far */
	struct outmsg out[OUT_BUFS];
	uint32_t sq_used;
	uint64_t sent_at; /* when the last message was made */
};

enum cookie_kind { CK_MSG = 1, CK_SLOT = 2, CK_PIECE = 3 };

static inline uint64_t cookie(enum cookie_kind kind, uint32_t index)
{
	return (uint64_t)kind << 32 | index;
}

/* A file's end as one side sees it. */
struct outcome {
	bool known;
	bool by_peer;
	uint32_t code;
	char text[IW_XFER_TEXT_MAX + 1];
};

struct source;
struct sink;

struct iw_xfer {
	struct iw_xfer_cfg cfg;
	const struct iw_mem *mem;
	enum state state;
	struct link link;
	struct source *src; /* role source, from start on */
	struct sink *snk;   /* role sink */
	char *path;         /* OPEN's: to be sent, or received. Owned; NULL when it is empty */
	size_t path_len;
	uint64_t heard_at;    /* when octets of the peer arrived last */
	uint64_t progress_at; /* when the transfer advanced last */
	uint64_t payload_at;  /* when octets of a file moved last */
	/* At the last look: octets that arrived here, those of files, and octets of files acknowledged by the peer's transport. */
	uint64_t received, arrived, acked;
	uint64_t peer_arrived; /* octets of files that arrived there, as the peer said last */
	/* sink, mode write: when windows began to fill, or none was partly filled */
	uint64_t windows_at;
	bool open_seen; /* responder */
	const char *
		lacks; /* static: what there is no memory for, without which no message can be sent; NULL: nothing */
	bool abort_due; /* FAILING: an ABORT must be sent */
	bool aborted;   /* an ABORT was sent or received: close in an orderly manner */
	/* To be sent: names, each with a NUL after it. Borrowed from the driver. */
	const char *names_at;
	size_t names_left;
	struct iw_list names;    /* received, not shown yet */
	struct path *name_shown; /* by the last GONE or REMOVE */
	bool end_given;
	bool lost; /* FAILING: because the connection was lost, or the line made errors */
	struct iw_fault fault;
	struct iw_xfer_counts counts;
	uint64_t total, total_paths; /* pull, a source: as given to iw_xfer_total */
	uint32_t nfree;
	/* A stack: the slot freed last is the one in the cache. */
	uint8_t free_slots[IW_XFER_WINDOWS];
};

/* --- state.c --- */
void iw_xfer_set_state(struct iw_xfer *x, enum state to);
/* Fails the transfer with *why; with tell, the peer gets an ABORT if this side may send. Ignored once it is failing or over. */
void iw_xfer_give_up(struct iw_xfer *x, const struct iw_fault *why, bool tell);
/* A breach of the protocol by the peer: fails the transfer. Returns IW_E_FORMAT. */
int iw_xfer_breach(struct iw_xfer *x, const char *fmt, ...);
/* Octets were changed on their way, by the line or in memory: the connection counts as lost. */
int iw_xfer_corrupt(struct iw_xfer *x, const char *fmt, ...);
static inline void iw_xfer_note_progress(struct iw_xfer *x, uint64_t now)
{
	x->progress_at = now;
}
/* The end of the time for something that happened last at a time. */
static inline uint64_t iw_xfer_stall_at(const struct iw_xfer *x, uint64_t last)
{
	return iw_time_add(last, x->cfg.stall_ns);
}
static inline void iw_xfer_note_moved(struct iw_xfer *x, uint64_t now)
{
	x->progress_at = x->payload_at = now;
}
bool iw_xfer_slot_get(struct iw_xfer *x, uint32_t *slot);
void iw_xfer_slot_put(struct iw_xfer *x, uint32_t slot);
/* A path that a sink wants of a source. */
struct path {
	struct iw_list link;
	size_t len;
	char octets[];
};
#define IW_XFER_PATHS_MAX 4096u
bool iw_xfer_path_add(struct iw_xfer *x, struct iw_list *to, const void *octets, size_t len);
/* The first one, given; NULL when there is none. */
struct path *iw_xfer_path_take(struct iw_list *from);
void iw_xfer_path_free(struct iw_xfer *x, struct path *p); /* NULL does no harm */

/* Calls fn with each entry under key of m; what is wrong with them is a breach. */
int iw_xfer_each_entry(struct iw_xfer *x, const struct iw_xmsg *m, unsigned key,
		       int (*fn)(struct iw_xfer *x, const struct iw_xentry *e));
/* Octets of the machine's allocator; NULL when there are none. */
uint8_t *iw_xfer_copy(struct iw_xfer *x, const void *p, size_t len);
/* Where what is meant of a file ends, and how much it is; of streams: IW_XFER_SIZE_MAX, 0. */
static inline uint64_t iw_xfer_meta_end(const struct iw_xmeta *m)
{
	if (m->size == IW_XFER_SIZE_UNKNOWN)
		return IW_XFER_SIZE_MAX;
	return m->share ? m->part_off + m->part_len : m->size;
}
static inline uint64_t iw_xfer_meta_size(const struct iw_xmeta *m)
{
	if (m->size == IW_XFER_SIZE_UNKNOWN)
		return 0;
	return m->share ? m->part_len : m->size;
}

/* --- outcome.c --- */
/* text may be NULL. The first one counts. */
void iw_xfer_set_outcome(struct outcome *o, uint32_t code, const char *text, size_t text_len,
			 bool by_peer);
/* Fills *e with what o says. */
void iw_xfer_outcome_entry(struct iw_xentry *e, const struct outcome *o);
/* Returns how many failed. codes: of a pack's members, or NULL. */
uint64_t iw_xfer_count_result(struct iw_xfer *x, const struct outcome *o, const struct iw_xmeta *m,
			      uint64_t settled, const uint8_t *codes, size_t ncodes);
/* act becomes RESULT. */
void iw_xfer_result_act(struct iw_xact *act, uint32_t id, void *file, const struct iw_xmeta *meta,
			const struct outcome *o);

/* --- names.c --- */
/* act becomes a message of that type with the next names to be sent. False: none are left, or not now. */
bool iw_xfer_send_names(struct iw_xfer *x, struct iw_xact *act, enum iw_xmsg_type type,
			uint64_t now);
/* Queues the names of m for the driver. */
int iw_xfer_take_names(struct iw_xfer *x, const struct iw_xmsg *m);
/* act becomes GONE or REMOVE for the next one. */
bool iw_xfer_show_name(struct iw_xfer *x, struct iw_xact *act);
void iw_xfer_names_fini(struct iw_xfer *x);

/* --- link.c --- */
void iw_xfer_link_init(struct iw_xfer *x);
void iw_xfer_link_fini(struct iw_xfer *x);
void iw_xfer_link_peer(struct iw_xfer *x);
/* May a Send be posted now? With reserve the last credit, and the last place in the send queue,
 * are left for NOP and ABORT. */
bool iw_xfer_link_ready(const struct iw_xfer *x, bool reserve);
/* May any other operation be posted now? */
static inline bool iw_xfer_link_sq_room(const struct iw_xfer *x)
{
	return x->link.sq_used + 1 < x->cfg.sq_depth;
}
/* Octets that the next Send may have. */
uint32_t iw_xfer_link_size(const struct iw_xfer *x);

/* A message being made. */
struct draft {
	struct iw_cbor_out o;
	uint32_t buf;
};
/* False: no credit, no buffer or no room in the send queue. pairs: those beside the ones of
 * every message. */
bool iw_xfer_draft_begin(struct iw_xfer *x, struct draft *d, enum iw_xmsg_type type, size_t pairs,
			 bool reserve);
/* act becomes its SEND. */
void iw_xfer_draft_send(struct iw_xfer *x, struct draft *d, struct iw_xact *act, uint64_t now);
/* It was not worth sending. */
void iw_xfer_draft_drop(struct iw_xfer *x, struct draft *d);
/* Appends the entry under LIST; false when it does not fit: the message is as it was before. */
bool iw_xfer_draft_entry(struct draft *d, const struct iw_xentry *e);

/* Counts an operation that is posted. */
static inline void iw_xfer_link_posted(struct iw_xfer *x)
{
	x->link.sq_used++;
}
/* Counts a data Send. */
void iw_xfer_link_data_sent(struct iw_xfer *x, uint64_t now);
/* Checks the digest after a control message; *len becomes the length without it. A failed check fails the transfer. */
int iw_xfer_link_check(struct iw_xfer *x, const uint8_t *msg, size_t *len);
/* Counts a message received, takes its credit and what it says of the peer's work. */
int iw_xfer_link_received(struct iw_xfer *x, const struct iw_xmsg *m, uint64_t now);
/* After a message was consumed. */
enum iw_xverdict iw_xfer_link_consumed(struct iw_xfer *x);
void iw_xfer_link_reposted(struct iw_xfer *x, uint32_t n);
/* A NOP is to be sent for credit alone, or as a sign of life. */
bool iw_xfer_link_wants_nop(const struct iw_xfer *x);

/* --- source.c --- */
int iw_xfer_source_new(struct iw_xfer *x);
void iw_xfer_source_free(struct iw_xfer *x);
bool iw_xfer_source_next(struct iw_xfer *x, struct iw_xact *act, uint64_t now);
int iw_xfer_source_message(struct iw_xfer *x, const struct iw_xmsg *m, uint64_t now);
void iw_xfer_source_completed(struct iw_xfer *x, uint32_t slot, bool piece, uint64_t now);
void iw_xfer_source_registered(struct iw_xfer *x, uint32_t slot, uint32_t stag);
void iw_xfer_source_file_failed(struct iw_xfer *x, uint32_t id, enum iw_xcode code,
				const char *text);
/* While failing: the next thing to clean up; false when all is clean. */
bool iw_xfer_source_cleanup(struct iw_xfer *x, struct iw_xact *act);
/* It is this side's own files that are waited for. */
bool iw_xfer_source_busy_here(const struct iw_xfer *x);
bool iw_xfer_source_idle(const struct iw_xfer *x);

/* --- sink.c --- */
int iw_xfer_sink_new(struct iw_xfer *x);
void iw_xfer_sink_free(struct iw_xfer *x);
bool iw_xfer_sink_next(struct iw_xfer *x, struct iw_xact *act, uint64_t now);
int iw_xfer_sink_message(struct iw_xfer *x, const struct iw_xmsg *m, uint64_t now);
/* A NOP with the total of the files of some paths: kept if it is about all paths. */
void iw_xfer_sink_total(struct iw_xfer *x, const struct iw_xmsg *m);
/* A data Send: *verdict says what becomes of the receive. */
int iw_xfer_sink_data(struct iw_xfer *x, uint32_t recv, uint32_t id, uint64_t off, uint32_t len,
		      enum iw_xverdict *verdict);
void iw_xfer_sink_completed(struct iw_xfer *x, uint32_t slot, uint64_t now);
void iw_xfer_sink_registered(struct iw_xfer *x, uint32_t slot, uint32_t stag);
void iw_xfer_sink_file_failed(struct iw_xfer *x, uint32_t id, enum iw_xcode code, const char *text);
bool iw_xfer_sink_cleanup(struct iw_xfer *x, struct iw_xact *act);
bool iw_xfer_sink_busy_here(const struct iw_xfer *x);
/* A part of a chunk has been received, and only the peer can complete it. */
bool iw_xfer_sink_amid_chunk(const struct iw_xfer *x);
bool iw_xfer_sink_idle(const struct iw_xfer *x);

#endif
