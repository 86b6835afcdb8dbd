/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the room: the machine, and what source, sink and link share. */
#ifndef IW_TRANSFER_PROTOCOL_INTERNAL_H
#define IW_TRANSFER_PROTOCOL_INTERNAL_H

#include "transfer/protocol/msg.h"
#include "transfer/protocol/xfer.h"
#include "util/list.h"
#include "util/num.h"

#define OUT_BUFS 8 /* control messages in flight */

enum state {
	ST_NEW,     /* the connection is not established */
	ST_OPENING, /* initiator: OPEN is due; responder: OPEN has not arrived */
	ST_RUN,
	ST_BYE,     /* source: BYE is due or sent; sink: BYE was received */
	ST_CLOSING, /* END and CLOSE are due */
	ST_FAILING, /* END and DROP (or CLOSE) are due */
	ST_OVER,
	ST_COUNT
};

/* A queue of slot numbers, in a ring. */
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

/* The buffer of a control message. */
struct outmsg {
	uint8_t *buf; /* NULL until first used */
	bool busy;
};

/* Credit, receives and messages. Messages are counted from 1. */
struct link {
	uint64_t tx_count, tx_limit; /* sent; allowed */
	uint32_t tx_size;            /* octets of the peer's receives for messages before tx_from */
	uint32_t tx_size_next;       /* for tx_from and later ones */
	uint64_t tx_from;            /* UINT64_MAX: no change was announced */
	uint64_t rx_count, rx_limit; /* received; receives posted */
	uint64_t rx_advertised;      /* the credit that the peer was sent */
	uint32_t rx_first;     /* receives that are posted only once: the responder's first ones */
	uint32_t rx_more;      /* further receives */
	uint32_t rx_size;      /* octets of each of them */
	bool post_due;         /* POST_RECVS is due */
	bool size_due;         /* the next message must report rx_size */
	bool nop_due, ask_due; /* a NOP is due; it must ask for an answer */
	bool total_due;        /* a NOP is due, with the total size of the files */
	bool beat_due;
	uint64_t beats; /* BEATs so far */
	struct outmsg out[OUT_BUFS];
	uint32_t sq_used;
	uint64_t sent_at; /* when the last message was sent */
};

enum cookie_kind { CK_MSG = 1, CK_SLOT = 2, CK_PIECE = 3 };

static inline uint64_t cookie(enum cookie_kind kind, uint32_t index)
{
	return (uint64_t)kind << 32 | index;
}

/* The result of a file, as one side reports it. */
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
	struct source *src; /* role source: after the start */
	struct sink *snk;   /* role sink */
	char *path;         /* Of OPEN, sent or received. Owned; NULL if it is empty. */
	size_t path_len;
	uint64_t heard_at;    /* when octets of the peer last arrived */
	uint64_t progress_at; /* when the transfer last advanced */
	uint64_t payload_at;  /* when octets of a file last moved */
	/*
	 * As last reported by the driver: octets received; of these, octets of files; octets of
	 * files that the peer's transport has acknowledged.
	 */
	uint64_t received, arrived, acked;
	/* octets of files that have arrived at the peer, as it last reported */
	uint64_t peer_arrived;
	/* Sink, mode write: when windows began to fill, or last had no partial chunk. */
	uint64_t windows_at;
	bool open_seen; /* responder: OPEN was received */
	/* With TLS or DTLS: */
	bool bound;       /* binding is set */
	bool binding_due; /* the next message must have it */
	bool unproved;    /* the peer has not sent the same one yet: nothing may be named */
	uint8_t binding[IW_XFER_BINDING_LEN];
	/*
	 * Static text: there is no memory for this, and without it no message can be sent. The next
	 * action fails the transfer. NULL: nothing is lacking.
	 */
	const char *lacks;
	bool abort_due; /* FAILING: an ABORT must be sent */
	bool aborted;   /* an ABORT was sent or received: close in order */
	/* Names to be sent, each terminated by NUL. Borrowed from the driver. */
	const char *names_at;
	size_t names_left;
	struct iw_list names;    /* received, not passed to the driver yet */
	struct path *name_shown; /* passed by the last GONE or REMOVE */
	bool end_given;
	bool lost; /* FAILING because the connection was lost, or octets were corrupted */
	struct iw_fault fault;
	struct iw_xfer_counts counts;
	uint64_t total, total_paths; /* pull, source: the last arguments of iw_xfer_total */
	uint32_t nfree;
	/* A stack, so that the slot freed last, which is in the cache, is used first. */
	uint8_t free_slots[IW_XFER_WINDOWS];
};

/* --- state.c --- */
/* Changes the state. The table in state.c has all permitted transitions. */
void iw_xfer_set_state(struct iw_xfer *x, enum state to);
/*
 * Fails the transfer with *why. with_abort: sends an ABORT if this side may send. Ignored if the
 * transfer is failing or over.
 */
void iw_xfer_give_up(struct iw_xfer *x, const struct iw_fault *why, bool with_abort);
/* The peer broke the protocol: fails the transfer. Returns IW_E_FORMAT. */
int iw_xfer_breach(struct iw_xfer *x, const char *fmt, ...);
/*
 * Octets were corrupted, in transit or in memory: fails the transfer as if the connection was lost.
 * Returns IW_E_FORMAT.
 */
int iw_xfer_corrupt(struct iw_xfer *x, const char *fmt, ...);
/* The transfer has advanced: restarts the time for progress. */
static inline void iw_xfer_note_progress(struct iw_xfer *x, uint64_t now)
{
	x->progress_at = now;
}
/* The deadline for something that last happened at that time. */
static inline uint64_t iw_xfer_stall_at(const struct iw_xfer *x, uint64_t last)
{
	return iw_time_add(last, x->cfg.stall_ns);
}
/* Octets of a file have moved. */
static inline void iw_xfer_note_moved(struct iw_xfer *x, uint64_t now)
{
	x->progress_at = x->payload_at = now;
}
/* Takes a free slot. False: all are in use. */
bool iw_xfer_slot_get(struct iw_xfer *x, uint32_t *slot);
/* Returns it. */
void iw_xfer_slot_put(struct iw_xfer *x, uint32_t slot);
/* A path that a sink requests, or a name of GONE or REMOVE. */
struct path {
	struct iw_list link;
	size_t len;
	char octets[];
};
#define IW_XFER_PATHS_MAX 4096u
/* Adds a copy. False: no memory. */
bool iw_xfer_path_add(struct iw_xfer *x, struct iw_list *to, const void *octets, size_t len);
/* Removes and returns the first one, owned by the caller; NULL: the list is empty. */
struct path *iw_xfer_path_take(struct iw_list *from);
void iw_xfer_path_free(struct iw_xfer *x, struct path *p); /* p may be NULL */

/*
 * Calls fn for each entry under key of m, until it returns an error, which is returned.
 * IW_E_FORMAT: a malformed list or entry, which is a breach.
 */
int iw_xfer_each_entry(struct iw_xfer *x, const struct iw_xfer_msg *m, unsigned key,
		       int (*fn)(struct iw_xfer *x, const struct iw_xfer_entry *e));
/*
 * Returns a copy, owned by the caller, from the machine's allocator. NULL: len is 0, or no memory.
 */
uint8_t *iw_xfer_copy(struct iw_xfer *x, const void *p, size_t len);
/*
 * The offset of the end of the file, or of the part, that m announces, and its length, in octets.
 * For a stream: IW_XFER_SIZE_MAX and 0.
 */
static inline uint64_t iw_xfer_meta_end(const struct iw_xfer_meta *m)
{
	if (m->size == IW_XFER_SIZE_UNKNOWN)
		return IW_XFER_SIZE_MAX;
	return m->share ? m->part_off + m->part_len : m->size;
}
static inline uint64_t iw_xfer_meta_size(const struct iw_xfer_meta *m)
{
	if (m->size == IW_XFER_SIZE_UNKNOWN)
		return 0;
	return m->share ? m->part_len : m->size;
}

/* --- outcome.c --- */
/* Sets *o; a later call is ignored. text may be NULL. */
void iw_xfer_set_outcome(struct outcome *o, uint32_t code, const char *text, size_t text_len,
			 bool by_peer);
/* Copies code and text of o into *e. */
void iw_xfer_outcome_entry(struct iw_xfer_entry *e, const struct outcome *o);
/*
 * Counts the result; returns the number of failed files. settled: octets of the file that were
 * counted as settled. codes: those of a pack's members, or NULL.
 */
uint64_t iw_xfer_count_result(struct iw_xfer *x, const struct outcome *o,
			      const struct iw_xfer_meta *m, uint64_t settled, const uint8_t *codes,
			      size_t ncodes);
/* Makes act the RESULT of a file. */
void iw_xfer_result_act(struct iw_xfer_act *act, uint32_t id, void *file,
			const struct iw_xfer_meta *meta, const struct outcome *o);

/* --- names.c --- */
/*
 * Makes act a message of that type with the next names. False: no names are left, or no message can
 * be sent now.
 */
bool iw_xfer_send_names(struct iw_xfer *x, struct iw_xfer_act *act, enum iw_xfer_msg_type type,
			uint64_t now);
/*
 * Queues copies of the names in m for the driver. IW_E_FORMAT: a breach. IW_E_NOMEM: no memory.
 * Both have failed the transfer.
 */
int iw_xfer_take_names(struct iw_xfer *x, const struct iw_xfer_msg *m);
/* Makes act the GONE or REMOVE of the next queued name. False: no name is queued. */
bool iw_xfer_show_name(struct iw_xfer *x, struct iw_xfer_act *act);
void iw_xfer_names_fini(struct iw_xfer *x);

/* --- link.c --- */
/* Call it when x->cfg is set; cfg.peer may be missing. */
void iw_xfer_link_init(struct iw_xfer *x);
void iw_xfer_link_fini(struct iw_xfer *x);
/* Call it when x->cfg.peer is set: takes the first credit from it. */
void iw_xfer_link_peer(struct iw_xfer *x);
/*
 * True if a Send may be posted now. With reserve the last credit and the last place in the send
 * queue are kept for NOP and ABORT.
 */
bool iw_xfer_link_ready(const struct iw_xfer *x, bool reserve);
/* True if any other operation may be posted now. */
static inline bool iw_xfer_link_sq_room(const struct iw_xfer *x)
{
	return x->link.sq_used + 1 < x->cfg.sq_depth;
}
/* The largest Send that the peer accepts now, in octets. */
uint32_t iw_xfer_link_size(const struct iw_xfer *x);

/* A message under construction. */
struct draft {
	struct iw_cbor_out o;
	uint32_t buf;
};
/*
 * Begins a message with the pairs that every message has; the caller appends as many more as pairs
 * says. reserve: as in iw_xfer_link_ready. False: no credit, no buffer or no room in the send
 * queue.
 */
bool iw_xfer_draft_begin(struct iw_xfer *x, struct draft *d, enum iw_xfer_msg_type type,
			 size_t pairs, bool reserve);
/* Makes act the SEND of d. */
void iw_xfer_draft_send(struct iw_xfer *x, struct draft *d, struct iw_xfer_act *act, uint64_t now);
/* Discards d. */
void iw_xfer_draft_drop(struct iw_xfer *x, struct draft *d);
/* Appends an entry under LIST. False: it does not fit, and d is unchanged. */
bool iw_xfer_draft_entry(struct draft *d, const struct iw_xfer_entry *e);

/* Counts a posted operation. */
static inline void iw_xfer_link_posted(struct iw_xfer *x)
{
	x->link.sq_used++;
}
/* Counts a data Send. */
void iw_xfer_link_data_sent(struct iw_xfer *x, uint64_t now);
/*
 * Verifies the digest at the end of a control message and subtracts its length from *len.
 * IW_E_FORMAT: it is wrong, and the connection counts as lost. IW_E_NOMEM: it cannot be computed.
 * Both fail the transfer.
 */
int iw_xfer_link_check(struct iw_xfer *x, const uint8_t *msg, size_t *len);
/*
 * Takes the peer's credit, the size of its receives and its reports of progress from a received
 * message. IW_E_FORMAT: a breach, which has failed the transfer.
 */
int iw_xfer_link_received(struct iw_xfer *x, const struct iw_xfer_msg *m, uint64_t now);
/*
 * Call it after a message was consumed. Returns REPOST, and counts the receive as new credit; or
 * RETIRE, for one of a responder's first receives.
 */
enum iw_xfer_verdict iw_xfer_link_consumed(struct iw_xfer *x);
/* n held receives were posted again: counts them as new credit for the peer. */
void iw_xfer_link_reposted(struct iw_xfer *x, uint32_t n);
/* True if a NOP must be sent for credit alone, or as a sign of life. */
bool iw_xfer_link_wants_nop(const struct iw_xfer *x);

/* --- binding.c --- */
/*
 * Compares the channel binding of the peer's first message with that of this side. IW_E_TLS: it
 * differs, or only one side has one; this has failed the transfer.
 */
int iw_xfer_check_binding(struct iw_xfer *x, const struct iw_xfer_msg *m);

/* --- source.c --- */
/* Creates x->src. IW_E_NOMEM: no memory. */
int iw_xfer_source_new(struct iw_xfer *x);
void iw_xfer_source_free(struct iw_xfer *x);
/* The next action of the source. False: none now. */
bool iw_xfer_source_next(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
/*
 * Processes a received message. IW_E_FORMAT: a breach. IW_E_NOMEM: no memory. Both have failed the
 * transfer.
 */
int iw_xfer_source_message(struct iw_xfer *x, const struct iw_xfer_msg *m, uint64_t now);
/*
 * A posted operation of a slot has completed. piece: slot is slot * IW_XFER_PIECES + piece instead.
 */
void iw_xfer_source_completed(struct iw_xfer *x, uint32_t slot, bool piece, uint64_t now);
void iw_xfer_source_registered(struct iw_xfer *x, uint32_t slot, uint32_t stag);
void iw_xfer_source_file_failed(struct iw_xfer *x, uint32_t id, enum iw_xfer_code code,
				const char *text);
/* While failing: issues the next result. False: no more files. */
bool iw_xfer_source_cleanup(struct iw_xfer *x, struct iw_xfer_act *act);
/* True if the transfer waits for files of this side. */
bool iw_xfer_source_busy_here(const struct iw_xfer *x);
/* True if no file is open and no requested path is pending. */
bool iw_xfer_source_idle(const struct iw_xfer *x);

/* --- sink.c --- */
/* Creates x->snk. IW_E_NOMEM: no memory. */
int iw_xfer_sink_new(struct iw_xfer *x);
void iw_xfer_sink_free(struct iw_xfer *x);
/* The next action of the sink. False: none now. */
bool iw_xfer_sink_next(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);
/* Processes a received message. Errors as in iw_xfer_source_message. */
int iw_xfer_sink_message(struct iw_xfer *x, const struct iw_xfer_msg *m, uint64_t now);
/* Takes the total size from a NOP, if it covers all requested paths. */
void iw_xfer_sink_total(struct iw_xfer *x, const struct iw_xfer_msg *m);
/*
 * Processes a data Send of len octets; *verdict: what to do with the receive. IW_E_FORMAT: a
 * breach, which has failed the transfer.
 */
int iw_xfer_sink_data(struct iw_xfer *x, uint32_t recv, uint32_t id, uint64_t off, uint32_t len,
		      enum iw_xfer_verdict *verdict);
void iw_xfer_sink_completed(struct iw_xfer *x, uint32_t slot, uint64_t now);
void iw_xfer_sink_registered(struct iw_xfer *x, uint32_t slot, uint32_t stag);
void iw_xfer_sink_file_failed(struct iw_xfer *x, uint32_t id, enum iw_xfer_code code,
			      const char *text);
/* While failing: issues the next ABANDON or RESULT. False: no more files. */
bool iw_xfer_sink_cleanup(struct iw_xfer *x, struct iw_xfer_act *act);
/* True if the transfer waits for work of this side. */
bool iw_xfer_sink_busy_here(const struct iw_xfer *x);
/* True if a chunk was received in part, and only the peer can complete it. */
bool iw_xfer_sink_amid_chunk(const struct iw_xfer *x);
/* True if no file is open, and a pull has sent all its paths. */
bool iw_xfer_sink_idle(const struct iw_xfer *x);

#endif
