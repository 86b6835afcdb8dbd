/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Structs and functions of the decoder's files. decode.c takes a frame through them in this order.
 * A file calls only files that come later, and flow.c:
 *
 *     packet.c    link, IP, UDP and TCP headers
 *     flow.c      the table of connections and associations
 *       over TCP
 *     stream.c    reassembly of one direction; holes, and when they count as lost
 *     startup.c   the MPA key, Request and Reply, and what they negotiate
 *     fpdu.c      FPDUs and markers; the search for FPDU boundaries after a hole
 *     phase.c     the phases of a direction
 *       over SCTP
 *     sctp.c      packets and chunks; new, repeated and lost TSNs; fragments
 *     session.c   DDP Stream Sessions, and the order of their DDP-SSNs
 *       over both
 *     queue.c     sorted queues of data that arrived out of order
 *     segment.c   DDP and RDMAP of one segment, and their rules
 *     transfer.c  the transfer protocol of ddp-send and ddp-recv in Private Data and Sends
 *     event.c     the queue of events
 *
 * A step decodes octets up to the end of one FPDU, or one chunk. It makes only a few events, so
 * they fit in a queue of fixed size, and the caller fetches them without a callback.
 *
 * Over TCP, events are reported in the order of the stream. Over SCTP they are reported as their
 * chunks arrive; the rules of order are checked once all earlier DDP-SSNs have arrived or are lost.
 */
#ifndef IW_DDP_DUMP_INTERNAL_H
#define IW_DDP_DUMP_INTERNAL_H

#include "ddp-dump/capture.h"
#include "sctpmap/sctpmap.h"
#include "util/list.h"
#include "util/num.h"
#include "util/pool.h"

#define BLOCK_LEN    2048 /* bytes of a block of the pool: room for a full Ethernet segment */
#define EVENTS_MAX   16   /* more than one step makes */
/* Octets that the peer has acknowledged count as lost after this many more packets, or this time:
 * a capture from several receive queues holds packets slightly out of order. */
#define HOLE_PACKETS 32
#define HOLE_NS      IW_SEC(1)
#define SEGMENT_MAX  65536
#define HEAD_MAX     (IW_MPA_HEAD_LEN + IW_DDP_UNTAGGED_LEN + IW_RDMAP_TERM_MAX)
/* Octets from the beginning of a marker to the end of the next one. */
#define BLOCK_MARKED (IW_MPA_MARKER_SPACING + IW_MPA_MARKER_LEN)

/* Levels of the skip list of a queue. Each has about a quarter of the elements of the next
 * lower. */
#define LEVELS 5

/*
 * A queue sorted by key, and an element of it. The peer chooses the order in which elements arrive,
 * so a skip list finds a place in few steps in every order. Keys are compared as serial numbers
 * (RFC 1982).
 */
struct queue {
	struct iw_list list;
	struct iw_list level[LEVELS];
};
struct queued {
	struct iw_list link;          /* queue.list */
	struct iw_list level[LEVELS]; /* queue.level */
	unsigned levels;              /* the element is in this many levels, from the lowest up */
	uint64_t key;
};

/* TCP payload that arrived out of order, or that is queued until the other direction's start-up
 * frame is known. One block of the pool. */
struct piece {
	struct queued q; /* dir.queue, in the order of seq, without overlap */
	uint32_t seq, len;
	uint32_t missing; /* octets after it that the snap length cut */
	uint32_t off;     /* of its first octet in its TCP segment */
	uint64_t time_ns, frame;
	uint8_t data[];
};
#define PIECE_MAX (BLOCK_LEN - (uint32_t)sizeof(struct piece))

/* Octets in order, from one TCP segment. */
struct run {
	const uint8_t *p;
	size_t len;
	uint64_t time_ns, frame;
	uint32_t off; /* of the first octet in its TCP segment */
};
#define OFF_UNKNOWN UINT32_MAX

/* clang-format off */
/*	   name    text in events */
#define PHASE_LIST(X)                                                  \
	X(SEARCH,  "streaming mode")          /* search for an MPA key */                     \
	X(FRAME,   "an MPA start-up frame")                                                   \
	X(WAIT,    "MPA set-up")              /* own frame received, the other's not */       \
	X(FIRST,   "MPA set-up")              /* the first four octets, which may be a marker */ \
	X(FPDU,    "full operation")                                                          \
	X(RESYNC,  "octets without known FPDU boundaries")                                    \
	X(PLAIN,   "octets that are not followed")
/* clang-format on */
enum phase {
#define IW_X_(name, text) PHASE_##name,
	PHASE_LIST(IW_X_)
#undef IW_X_
		PHASE_COUNT
};

/* One direction of a TCP connection. */
struct dir {
	enum phase phase;
	bool known;     /* next is valid */
	uint32_t next;  /* sequence number of the next octet in order */
	bool isn_known; /* its SYN was captured */
	uint32_t isn;
	bool acked_known;
	uint32_t acked; /* the peer has acknowledged the octets before this one */
	bool fin_known, fin_reported;
	uint32_t fin_seq;
	uint64_t fin_time_ns, fin_frame;
	bool hole_watched;
	/* hole_watched: flow.packets, acked and the time when the peer's ACK for the hole
	 * arrived. */
	uint32_t hole_packets, hole_acked;
	uint64_t hole_time_ns;
	bool lost_known; /* all holes before lost_to are lost */
	uint32_t lost_to;
	struct queue queue; /* struct piece */
	uint32_t blocks;    /* in queue */
	bool snap_reported; /* a harmless loss by snap length was reported; others are not */
	/* SEARCH */
	uint8_t match;    /* octets of the key that match so far */
	bool match_reply; /* the key is that of a Reply */
	bool match_start; /* the key is at the start of a TCP segment */
	uint64_t searched;
};

/* The order of untagged messages in one direction of a DDP stream (RFC 5041 4.3). */
struct order {
	struct {
		bool known; /* msn and mo are those of the next segment; false after a hole */
		uint32_t msn, mo;
	} queue[4];
	bool terminated; /* by an RDMAP Terminate */
};

/* --- the transfer protocol --- */

/* Messages of one direction that are reassembled at the same time. */
#define TRANSFER_PARTS 4

struct transfer_room {
	uint8_t octets[IW_CAP_MESSAGE_MAX];
	uint8_t have[IW_CAP_MESSAGE_MAX / 8]; /* a bit for each octet */
};
/* A Send of several segments. */
struct transfer_part {
	bool used, ended; /* ended: total is known */
	uint32_t msn, total, got;
	struct transfer_room *room; /* NULL: the message is not reassembled */
};
/* A DDP stream that may carry the transfer protocol. */
struct transfer {
	bool on;
	uint8_t digest_len; /* octets of the digest after each control message */
	struct transfer_part part[2][TRANSFER_PARTS];
};

enum crc_mode {
	CRC_OFF,
	CRC_ON,
	CRC_UNKNOWN, /* a start-up frame was not captured: the first FPDU decides */
};

/* How the beginning of an FPDU was found. If it is not CERTAIN, the FPDU is reported only if its
 * CRC or its header proves it. */
enum tentative {
	CERTAIN,
	AFTER_INVALID, /* after an FPDU that was not valid */
	BY_SEGMENT,    /* after a hole: at the start of a TCP segment */
	BY_MARKER,     /* after a hole: a marker points here */
};

/* The FPDUs of one direction. */
struct fpdus {
	bool markers;
	bool markers_known; /* negotiated; otherwise the first four octets decide */
	bool pos_known;     /* pos counts from the place of the first marker */
	/* Octets missing right after the start-up frame: FPDU boundaries are unknown from the
	 * start. */
	uint64_t lost_early;
	uint64_t pos; /* octets since the end of the start-up frame */
	enum tentative tentative;
	uint64_t skipped; /* octets since the boundaries were lost */

	/* The current FPDU. */
	bool begun;
	uint32_t off, segments; /* offset and segments of struct iw_cap_ddp */
	uint64_t start, start_frame, last_frame;
	uint64_t head_pos;  /* of its ULPDU_Length */
	uint32_t got, need; /* octets without markers; need is 0 until ULPDU_Length is known */
	uint16_t ulpdu_len;
	uint32_t crc;
	uint8_t crc_wire[IW_MPA_CRC_LEN];
	bool pad_not_zero;
	uint8_t pad[3];
	uint64_t missing;
	uint8_t mark[IW_MPA_MARKER_LEN];
	bool mark_missing;
	uint32_t marks, bad_marks;
	struct iw_cap_mark *list; /* IW_CAP_MARKS_MAX of them; allocated when markers are in use */
	/* Its first body_len octets without markers, from ULPDU_Length on: in place, or in an
	 * allocation of body_size bytes. */
	const uint8_t *body;
	uint8_t *body_own;
	size_t body_len, body_size;
	bool body_asked; /* the decision whether to keep them was made */
	uint8_t head[HEAD_MAX];
	uint8_t head_len;

	/* FRAME: the frame. FIRST, RESYNC: octets that are decoded before the next ones. */
	uint8_t buf[IW_MPA_FRAME_LEN + IW_MPA_PD_MAX];
	uint16_t buf_len, replay_at, replay_len;
	/* FRAME: octets of the frame so far, captured or not; the first buf_len are without a
	 * hole. */
	uint32_t frame_seen;
	struct run replay_run; /* time and frame of the replayed octets */

	struct order order;
	uint64_t count;
	struct iw_cap_align align;
};

/* What an MPA frame offered. */
struct offer {
	bool seen;
	uint8_t flags, rev;
	bool enhanced;
	uint16_t ird;
};

/* A connection with an MPA key. */
struct mpa {
	struct offer request, reply;
	bool reply_first; /* a Reply was captured, but no Request so far */
	bool request_end_known;
	/* reply_first: the sequence number after the Request, from the ACK of the Reply. */
	uint32_t request_end;
	enum crc_mode crc;
	bool agreed; /* full operation: FPDUs follow */
	struct transfer transfer;
	struct fpdus fpdus[2];
};

/* --- over SCTP --- */

/* TSNs that can be out of order at the same time. */
#define TSN_WINDOW 16384

/* A queued DATA chunk: a fragment of an incomplete message, or a whole message that arrived before
 * earlier DDP-SSNs. One block of the pool. */
struct held {
	struct queued q;    /* sctp_dir.fragments by TSN, side.early by DDP-SSN */
	struct held *other; /* a fragment at an end of its run: the fragment at the other end */
	uint32_t tsn, ppid; /* ppid: as in struct msg */
	uint16_t sid, ssn;
	uint8_t flags;
	bool stayed;  /* an early message that an Initiate left in the queue */
	uint32_t len; /* octets of user data on the wire */
	uint64_t time_ns, frame;
	uint16_t head_len;
	uint8_t head[IW_SCTP_CONTROL_LEN + IW_SCTP_PD_MAX]; /* the longest header that is decoded */
};

static inline struct held *held_of(struct iw_list *l)
{
	return iw_container_of(l, struct held, q.link);
}

/* One direction of an association. */
struct sctp_dir {
	bool init_seen;
	/* The Verification Tag of packets to the sender; if known, it is in the table. */
	bool tag_known;
	uint32_t tag;
	size_t tag_bucket;
	struct sctp_dir *tag_next;
	struct flow *f;
	unsigned d; /* f->assoc->dir[d] is this */
	uint16_t os, mis;
	bool has_adaptation;
	/* Not all parameters of its INIT or INIT ACK were captured, and no adaptation indication
	 * among those. */
	bool init_cut;
	uint32_t adaptation;
	bool tsn_known;
	uint32_t cum;                   /* all TSNs up to this one were captured or are lost */
	uint32_t high;                  /* the highest captured one */
	uint64_t seen[TSN_WINDOW / 64]; /* a bit for each TSN above cum, by its low bits */
	bool lossy;                     /* TSNs are lost, or the beginning was not captured */
	uint32_t losses;                /* number of loss events */
	bool foreign_reported;          /* a foreign PPID was reported */
	bool acked_known;
	uint32_t acked; /* the peer has acknowledged all TSNs up to this one */
	bool hole_watched;
	uint32_t hole_packets, hole_acked; /* as in struct dir */
	uint64_t hole_time_ns;
	/* cum as a number that does not wrap, so that old fragments sort before new ones. */
	uint64_t cum_wide;
	struct queue fragments; /* struct held */
	uint32_t blocks;        /* of the pool: fragments and early messages */
	uint32_t check_at;      /* a lost DDP-SSN can be reported once cum has reached this TSN */
};

/* An SCTP association that carries DDP, or whose INIT indicates DDP. */
struct assoc {
	struct sctp_dir dir[2];
	const struct iw_sctpmap_profile *profile; /* edition of DDP over SCTP */
	bool ddp_counted;                         /* counted among the iWARP flows */
	bool shut;                                /* by SHUTDOWN COMPLETE: all data was sent */
	struct iw_list streams;                   /* struct stream, all of this association */
	struct iw_list waiting;                   /* streams with early messages */
};

enum session_state {
	SESSION_UNKNOWN, /* the Initiate was not captured */
	SESSION_NONE,
	SESSION_ASKED, /* Initiate */
	SESSION_OPEN,  /* Accept */
	SESSION_CLOSED,
};

/* One direction of a DDP stream. */
struct side {
	bool known;    /* next is valid */
	uint16_t next; /* the next DDP-SSN in order */
	/* sctp_dir.losses at the last message in order. If that has grown since, next may be
	 * lost. */
	uint32_t losses;
	bool ended; /* by a Session Terminate */
	struct order order;
	struct queue early; /* struct held */
};

/* A DDP stream: the SCTP streams of one id in both directions (RFC 5043 6). */
struct stream {
	struct stream *hash_next;
	size_t bucket;
	struct iw_list lru, of_flow, waiting;
	struct flow *f;
	uint16_t sid;
	enum session_state state;
	unsigned active; /* side[active] sent the Initiate */
	struct transfer transfer;
	struct side side[2];
};

/* A complete message of one or more DATA chunks. */
struct msg {
	uint16_t sid;
	uint32_t tsn;
	uint32_t ppid; /* that of RFC 5043 in every edition */
	const uint8_t *p;
	size_t have, len; /* octets at p; octets of the message on the wire */
	uint64_t first_frame;
	uint64_t fragments;
	unsigned deviations;
};

struct flow {
	struct iw_cap_flow pub;
	struct flow *hash_next;
	size_t bucket;
	struct iw_list link; /* cap.lru[..] or cap.closing */
	uint32_t packets;
	bool flush;   /* missing octets will not arrive any more */
	bool closing; /* in cap.closing: freed when the flush is complete */
	bool reset, reset_reported;
	unsigned reset_from;
	uint64_t reset_time_ns, reset_frame;
	struct dir dir[2];
	struct mpa *mpa;     /* NULL: no MPA key so far */
	struct assoc *assoc; /* NULL: no DDP over SCTP so far */
	bool closed;         /* over SCTP: by ABORT or SHUTDOWN COMPLETE */
};

/* Classes of flows, in the order in which they are dropped when the table is full. */
enum lru { LRU_CLOSED, LRU_PLAIN, LRU_IWARP, LRU_COUNT };

struct iw_cap {
	const struct iw_mem *mem;
	uint64_t seed;
	struct iw_cap_limits limits;
	struct flow **bucket;
	size_t buckets; /* a power of two */
	uint32_t flows, next_id;
	struct sctp_dir **tag_bucket; /* as many */
	struct stream **stream_bucket;
	size_t stream_buckets;
	uint32_t streams;
	struct iw_list stream_lru;
	uint16_t udp_port;
	bool align, payload, sacks;
	const struct iw_sctpmap_profile *profile;
	struct iw_list lru[LRU_COUNT];
	struct iw_list closing; /* removed from the table, to be flushed and freed */
	struct iw_pool pool;
	uint32_t dir_blocks; /* most blocks of one direction */
	uint64_t level_rng;  /* random numbers for the levels of queue elements; never 0 */
	/* Visited queue elements: the cost of data that arrives out of order. */
	uint64_t steps;

	/* The current frame. */
	struct flow *cur;
	unsigned cur_dir;
	uint64_t now_ns, frame;
	/* TCP */
	uint32_t cur_seq, cur_missing;
	struct run cur_run;
	uint32_t cur_first;            /* sequence number of its first octet */
	uint32_t cur_whole, cur_again; /* octets of payload; those that were received before */
	bool cur_differs;              /* these differ from the first copy */
	/* SCTP: consecutive packets. There are several if the frame was captured before the
	 * sender's segmentation offload. */
	struct {
		const uint8_t *p;
		size_t len, end; /* captured octets of all packets; the end of the first */
		size_t missing;  /* octets after them that were not captured */
		size_t pos;      /* of the next chunk; 0: the packet header was not decoded yet */
		enum iw_cap_crc crc;
		uint8_t head[IW_SCTP_HDR_LEN + IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_INIT_LEN];
	} pkt;
	struct stream *drain; /* early messages of this stream may be the next in order */

	struct iw_cap_event event[EVENTS_MAX];
	unsigned event_first, events;
	bool event_out; /* the caller has event[event_first] */
	/* Memory that events point to. */
	uint8_t pd[IW_SCTP_CONTROL_LEN + IW_SCTP_PD_MAX];
	struct iw_rreq rreq;
	struct iw_atomic_req atomic_req;
	struct iw_atomic_rsp atomic_rsp;
	struct iw_terminate term, term_exchanged;
	uint8_t head[HEAD_MAX];
	uint8_t *segment;              /* SEGMENT_MAX bytes, allocated for the first kept payload */
	struct transfer_room *message; /* the last message of several segments */
	size_t body_octets;            /* bytes of all fpdus.body_own */
	uint32_t message_rooms;        /* of all parts, and message */
	struct iw_cap_totals totals;
};

/*
 * In all functions: f->...[d] is the direction, d its sender. The callee borrows c and f. A
 * function that makes events needs free entries in the queue of events, which each step has.
 */

/* --- event.c --- */

/* Appends an event, zeroed except for its kind, flow, sender, time and frame. */
struct iw_cap_event *iw_cap_event_new(struct iw_cap *c, enum iw_cap_kind kind, struct flow *f,
				      unsigned d, uint64_t time_ns, uint64_t frame);
/* Appends an error event of the whole flow. The caller fills its fault with iw_fail(). */
struct iw_fault *iw_cap_event_error(struct iw_cap *c, struct flow *f, unsigned d, uint64_t time_ns,
				    uint64_t frame);
/* Appends an event of n missing octets over TCP, and counts them. where: text of the phase. */
void iw_cap_report_loss(struct iw_cap *c, struct flow *f, unsigned d, uint64_t n,
			enum iw_cap_why why, bool sync, const char *where);

/* --- phase.c --- */

/* Changes the phase; the change must be a legal one (asserted). */
void iw_cap_set_phase(struct dir *s, enum phase to);
const char *iw_cap_phase_text(enum phase p);

/* --- flow.c --- */

/* Makes an empty table. IW_E_NOMEM: out of memory; call iw_cap_flows_fini() in this case too. */
IW_MUST_CHECK int iw_cap_flows_init(struct iw_cap *c);
/* Frees the table, which must be empty. */
void iw_cap_flows_fini(struct iw_cap *c);
/* Returns the flow between these ends, and the index of its sender, end[0]. NULL: not found. */
struct flow *iw_cap_flow_find(struct iw_cap *c, enum iw_cap_over over,
			      const struct iw_packet_end end[2], unsigned *from);
/* Returns the association between these ports, at any addresses, whose receiver chose this
 * Verification Tag, and the index of the sender. NULL: not found. */
struct flow *iw_cap_flow_find_tag(struct iw_cap *c, const struct iw_packet_end end[2], uint32_t tag,
				  unsigned *from);
/* Enters the tag of packets to the sender of w into the table; replaces an earlier one. */
void iw_cap_flow_set_tag(struct iw_cap *c, struct sctp_dir *w, uint32_t tag);
/* Removes the tag from the table, if it is there. */
void iw_cap_flow_drop_tag(struct iw_cap *c, struct sctp_dir *w);
/* Adds a flow; end[0] is its sender. If the table is full, the least interesting flow moves to
 * c->closing. NULL: out of memory. */
struct flow *iw_cap_flow_add(struct iw_cap *c, enum iw_cap_over over,
			     const struct iw_packet_end end[2]);
/* Formats the ends as text. Call it before the first event of the flow. */
void iw_cap_flow_name(struct flow *f);
/* Marks the flow as the most recently used one of its class. */
void iw_cap_flow_touch(struct iw_cap *c, struct flow *f);
/* Moves the flow from the table to c->closing. */
void iw_cap_flow_close(struct iw_cap *c, struct flow *f);
/* Frees a flow in c->closing. Each file has freed its part before. */
void iw_cap_flow_free(struct iw_cap *c, struct flow *f);

/* --- queue.c --- */

void iw_cap_queue_init(struct queue *q);
/* Returns the last element whose key is at most key; &q->list: there is no such element. */
struct iw_list *iw_cap_queue_seek(struct iw_cap *c, struct queue *q, uint64_t key);
/* Inserts e after at, which iw_cap_queue_seek() returned for this key. e is borrowed until
 * removed. */
void iw_cap_queue_add(struct iw_cap *c, struct queue *q, struct iw_list *at, struct queued *e,
		      uint64_t key);
void iw_cap_queue_del(struct queued *e);
/* Returns a block for a queued message or fragment, counted for w. NULL: a limit is reached. */
struct held *iw_cap_held_new(struct iw_cap *c, struct sctp_dir *w);
/* Removes h from its queue and frees the block. */
void iw_cap_held_free(struct iw_cap *c, struct sctp_dir *w, struct held *h);

/* --- stream.c --- */

/* Does one step of work on a direction. False: nothing to do. */
bool iw_cap_stream_step(struct iw_cap *c, struct flow *f, unsigned d);
/* Reports the octets of the current segment that were received before. */
void iw_cap_report_again(struct iw_cap *c, struct flow *f, unsigned d);
/* Frees the queued octets of the direction. */
void iw_cap_stream_drop(struct iw_cap *c, struct dir *s);

/* --- startup.c --- */

/* Takes octets of the run and returns their number. 0: the direction waits for the other's
 * frame. */
size_t iw_cap_startup_run(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r);
/* The next n octets are lost. */
void iw_cap_startup_gap(struct iw_cap *c, struct flow *f, unsigned d, uint64_t n,
			enum iw_cap_why why);
/* The missing start-up frame will not arrive: continues without it. */
void iw_cap_startup_give_up(struct iw_cap *c, struct flow *f);
/* If a Reply arrived first and the stream has passed the end of the Request: continues without the
 * Request. False: nothing was done. */
bool iw_cap_startup_check(struct iw_cap *c, struct flow *f);
/* Frees f->mpa. */
void iw_cap_startup_drop(struct iw_cap *c, struct flow *f);

/* --- fpdu.c --- */

/* Full operation begins. markers_known: the two ends have agreed on markers. */
void iw_cap_fpdu_start(struct fpdus *w, bool markers, bool markers_known);
/* The FPDU boundaries are lost: searches for the next one. */
void iw_cap_fpdu_resync(struct flow *f, unsigned d);
/* Takes octets of the run, at most to the end of one FPDU, and returns their number. */
size_t iw_cap_fpdu_run(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r);
/* Decodes octets that were kept in fpdus.buf. False: no octets are kept. */
bool iw_cap_fpdu_replay(struct iw_cap *c, struct flow *f, unsigned d);
/* The stream has ended: counts the octets that were not decoded. */
void iw_cap_fpdu_end(struct iw_cap *c, struct flow *f, unsigned d);
/* The next n octets are lost. */
void iw_cap_fpdu_gap(struct iw_cap *c, struct flow *f, unsigned d, uint64_t n, enum iw_cap_why why);
/* Frees the memory of the direction. */
void iw_cap_fpdu_drop(struct iw_cap *c, struct fpdus *w);

/* --- segment.c --- */

/* How well the first octets of an FPDU fit DDP. */
enum shape {
	SHAPE_NONE,   /* not at all */
	SHAPE_LOOSE,  /* lengths and opcode are valid */
	SHAPE_STRICT, /* so are versions, reserved bits and the queue */
};
/* head: the FPDU from ULPDU_Length on, head_len octets without markers. */
enum shape iw_cap_segment_shape(const uint8_t *head, size_t head_len, uint16_t ulpdu_len);
/* Reports the complete FPDU of f->mpa->fpdus[d], and the rules that it breaks. */
void iw_cap_segment_report(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r,
			   enum iw_cap_crc crc);
/* Fills ev->ddp and the deviations from a segment of len octets, of which the first have octets are
 * at p. */
void iw_cap_segment_decode(struct iw_cap *c, struct iw_cap_event *ev, const uint8_t *p, size_t have,
			   size_t len);
/*
 * Checks the rules for a segment by itself. rdmac: versions may be 0 (RFC 5044 C). Returns 0, or
 * the error of the first broken rule, of RFC 5041, 5040 or 7306:
 *  - IW_E_FORMAT: shorter than a DDP header, or a payload length that the opcode does not allow;
 *  - IW_E_DDP_VERSION_T, IW_E_DDP_VERSION_U: DV; IW_E_RO_VERSION: RV;
 *  - IW_E_RO_OPCODE: an opcode or AOpCode that is not assigned, or not in this kind of segment;
 *  - IW_E_DDP_QN: the wrong queue for the opcode.
 */
IW_MUST_CHECK int iw_cap_segment_check(struct iw_fault *why, const struct iw_cap_ddp *e,
				       bool rdmac);
/*
 * Checks the order of messages. Returns 0, or
 *  - IW_E_STATE: a segment follows a Terminate (RFC 5040 5.4);
 *  - IW_E_DDP_MSN, IW_E_DDP_MO: not the next MSN of the queue, or MO of the message (RFC 5041 4.3).
 */
IW_MUST_CHECK int iw_cap_order_check(struct iw_fault *why, const struct order *o,
				     const struct iw_cap_ddp *e);
/* Continues the order after this segment. */
void iw_cap_order_note(struct order *o, const struct iw_cap_ddp *e);
/* A stream begins: MSN 1 is next on each queue. */
void iw_cap_order_start(struct order *o);
/* After a hole: the next MSN and MO of each queue are unknown. */
void iw_cap_order_forget(struct order *o);
/* Adds the segment to the totals. */
void iw_cap_segment_count(struct iw_cap *c, const struct iw_cap_event *ev);

/* Copies the payload, if it is wanted, from the segment of *ev, whose first have octets are at p.
 * Sets *payload, which is valid until the next event, and returns its length. */
size_t iw_cap_segment_payload(struct iw_cap *c, struct iw_cap_event *ev, const struct transfer *t,
			      const uint8_t *p, size_t have, const uint8_t **payload);

/* --- transfer.c --- */

/* Decodes the Private Data of a Request (or Initiate) or of its answer, and so decides whether the
 * stream carries the transfer protocol. *out borrows from pd. Returns 0, or the error of
 * iw_hello_decode: the Private Data break the protocol. */
IW_MUST_CHECK int iw_cap_transfer_hello(struct iw_cap *c, struct transfer *t, bool request,
					const uint8_t *pd, size_t len, struct iw_cap_transfer *out,
					struct iw_fault *why);
/* Returns whether the payload of the segment is to be kept. Its first have octets are at
 * segment. */
bool iw_cap_payload_wanted(const struct iw_cap *c, const struct transfer *t, const uint8_t *segment,
			   size_t have);
/* Decodes the transfer protocol in a segment, of whose payload have octets are known. ev borrows
 * from payload. Returns 0, or the error of a message that breaks the protocol: IW_E_TRUNC: shorter
 * than its digest; IW_E_FORMAT: malformed; others of iw_xfer_msg_decode. */
IW_MUST_CHECK int iw_cap_transfer_segment(struct iw_cap *c, struct transfer *t, unsigned d,
					  struct iw_cap_event *ev, const uint8_t *payload,
					  size_t have, struct iw_fault *why);
/* Frees incomplete messages; the stream does not carry the transfer protocol any more. */
void iw_cap_transfer_drop(struct iw_cap *c, struct transfer *t);
/* Returns whether messages of this type have entries under key 4. */
bool iw_cap_transfer_has_entries(uint32_t type);

/* --- sctp.c --- */

struct iw_packet;
/* Returns the association of the packet, and the index of its sender. NULL: a new association. */
struct flow *iw_cap_sctp_flow(struct iw_cap *c, const struct iw_packet *p, unsigned *from);
/* Takes the packet as the current frame. */
void iw_cap_sctp_begin(struct iw_cap *c, const struct iw_packet *p);
/* Does one step of work. False: nothing to do. */
bool iw_cap_sctp_step(struct iw_cap *c, struct flow *f);
/* Does one step of work on queued data of an association that has ended. False: nothing is
 * queued. */
bool iw_cap_sctp_flush(struct iw_cap *c, struct flow *f);
/* Frees f->assoc, if there is one. */
void iw_cap_sctp_drop(struct iw_cap *c, struct flow *f);

/* --- session.c --- */

/* Makes an empty table of streams. IW_E_NOMEM: out of memory; call iw_cap_streams_fini() in this
 * case too. */
IW_MUST_CHECK int iw_cap_streams_init(struct iw_cap *c);
/* Frees the table, which must be empty. */
void iw_cap_streams_fini(struct iw_cap *c);
/* Decodes and reports a message of a DDP stream. */
void iw_cap_session_message(struct iw_cap *c, struct flow *f, unsigned d, const struct msg *m);
/* Checks an early message that is the next in order now. False: the next one has not arrived. */
bool iw_cap_session_drain(struct iw_cap *c);
/* Skips a lost DDP-SSN before an early message of this direction. end: no more messages can arrive,
 * so all missing ones are lost. False: none is lost. */
bool iw_cap_session_give_up(struct iw_cap *c, struct flow *f, unsigned d, bool end);
/* Frees all streams of the association. */
void iw_cap_session_drop(struct iw_cap *c, struct flow *f);

#endif
