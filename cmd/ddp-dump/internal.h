/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the decoder's files share. A frame goes through them in this order:
 *
 *     packet.c    link, IP, UDP and TCP headers
 *     decode.c    the decoder: which connection; one step after another until an event is there
 *     flow.c      the table of connections and associations
 *     queue.c     sorted queues of data that arrived out of order
 *       over TCP
 *     stream.c    one direction of TCP in order; holes, and when they are given up
 *     startup.c   the MPA key, Request and Reply, and what they negotiate
 *     fpdu.c      FPDUs and markers; finding them again after a hole
 *       over SCTP
 *     sctp.c      packets and chunks; which TSNs came, came again, are lost; fragments
 *     session.c   DDP Stream Sessions, and the order of their DDP-SSNs
 *       and then
 *     segment.c   DDP and RDMAP of one segment, and the rules that it may break
 *     transfer.c  the transfer protocol of ddp-send and ddp-recv in Private Data and Sends
 *     phase.c     the phases of a direction of TCP
 *     event.c     the ring of events
 *
 * A step reads a stretch of octets up to the end of at most one FPDU, or one chunk, so that it makes
 * a handful of events at most: they wait in a ring of fixed size, and no caller has to hand in a
 * callback.
 *
 * Events are told when their octets are there: of TCP in the order of the stream, of SCTP as they
 * come. The rules of order over SCTP are judged when the DDP-SSNs before have come too.
 */
#ifndef IW_CAPTURE_INTERNAL_H
#define IW_CAPTURE_INTERNAL_H

#include "ddp-dump/capture.h"
#include "sctpmap/sctpmap.h"
#include "util/list.h"
#include "util/num.h"
#include "util/pool.h"

#define BLOCK_LEN    2048 /* of the pool: room for one full Ethernet segment */
#define EVENTS_MAX   16   /* more than one step makes */
/* So many packets, or so long, must follow an ACK for missing octets before these count as lost:
 * captures of several queues hold packets in slightly wrong order. */
#define HOLE_PACKETS 32
#define HOLE_NS      IW_SEC(1)
#define SEGMENT_MAX  65536
#define HEAD_MAX     (IW_MPA_HEAD_LEN + IW_DDP_UNTAGGED_LEN + IW_RDMAP_TERM_MAX)
/* From a marker to behind the next one. */
#define BLOCK_MARKED (IW_MPA_MARKER_SPACING + IW_MPA_MARKER_LEN)

/* Lanes over a queue: each has about a quarter of the elements of the one below it. */
#define LANES 5

/*
 * A queue sorted by key, and an element of it. The peer chooses the order in which elements arrive;
 * a place is found in a few steps in every order. Keys are compared as serial numbers (RFC 1982).
 */
struct queue {
	struct iw_list list;
	struct iw_list lane[LANES];
};
struct queued {
	struct iw_list link;        /* queue.list */
	struct iw_list lane[LANES]; /* queue.lane */
	unsigned lanes;             /* it is in this many, from the lowest up */
	uint64_t key;
};

/* TCP payload that came ahead of its turn, or that waits for the other direction; one block of
 * the pool. */
struct piece {
	struct queued q; /* dir.queue, in the order of seq, without overlap */
	uint32_t seq, len;
	uint32_t missing; /* octets behind it that the snap length cut */
	uint32_t off;     /* of its first octet in its TCP segment */
	uint64_t time_ns, frame;
	uint8_t data[];
};
#define PIECE_MAX (BLOCK_LEN - (uint32_t)sizeof(struct piece))

/* Octets in order that one TCP segment brought. */
struct run {
	const uint8_t *p;
	size_t len;
	uint64_t time_ns, frame;
	uint32_t off; /* where in the segment they begin */
};
#define OFF_UNKNOWN UINT32_MAX

/* clang-format off */
/*	   name    what a direction that is in it is in the middle of */
#define PHASE_LIST(X)                                                  \
	X(SEARCH,  "streaming mode")          /* looking for an MPA key */          \
	X(FRAME,   "an MPA start-up frame")                                         \
	X(WAIT,    "MPA set-up")              /* own frame seen, the other not */   \
	X(FIRST,   "MPA set-up")              /* four octets tell about markers */  \
	X(FPDU,    "full operation")                                                \
	X(HUNT,    "octets without known FPDU boundaries")                          \
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
	uint32_t acked; /* the peer has acknowledged up to here */
	bool fin_known, fin_told;
	uint32_t fin_seq;
	uint64_t fin_time_ns, fin_frame;
	bool hole_watched;
	/* flow.packets when the peer was seen to have acknowledged the hole */
	uint32_t hole_packets, hole_acked;
	uint64_t hole_time_ns;
	bool lost_known; /* every hole before lost_to is lost */
	uint32_t lost_to;
	struct queue queue; /* struct piece */
	uint32_t blocks;    /* in queue */
	/* SEARCH */
	uint8_t match;    /* octets of the key seen */
	bool match_reply; /* it is the Reply's */
	bool match_start; /* it began where a TCP segment begins */
	bool snap_told;   /* a loss by snap length that did no harm was told */
	uint64_t searched;
};

/* The rules of order in one direction of a DDP stream, RFC 5041 4.3. */
struct order {
	struct {
		bool known; /* what is next; not so behind a hole */
		uint32_t msn, mo;
	} queue[4];
	bool terminated; /* by an RDMAP Terminate */
};

/* --- the transfer protocol --- */

/* Messages of one direction that are put together at once. */
#define TRANSFER_PARTS 4

struct transfer_room {
	uint8_t octets[IW_CAP_MESSAGE_MAX];
	uint8_t have[IW_CAP_MESSAGE_MAX / 8]; /* a bit for each octet */
};
/* A Send of several segments. */
struct transfer_part {
	bool used, ended; /* ended: total is known */
	uint32_t msn, total, got;
	struct transfer_room *room; /* NULL: the message is not put together */
};
/* A DDP stream that may carry the transfer protocol. */
struct transfer {
	bool on;
	uint8_t digest_len; /* octets after each control message */
	struct transfer_part part[2][TRANSFER_PARTS];
};

enum crc_mode {
	CRC_OFF,
	CRC_ON,
	CRC_UNKNOWN, /* a start-up frame was not captured: the first FPDU tells */
};

enum tentative {
	CERTAIN, /* where the FPDU begins is known */
	/* it follows one that made no sense: tell it only if it makes sense itself */
	AFTER_NONSENSE,
	BY_SEGMENT, /* boundaries were lost; this is the start of a TCP segment */
	BY_MARKER,  /* boundaries were lost; a marker pointed here */
};

/* The FPDUs of one direction. */
struct walk {
	bool markers;
	bool markers_known; /* negotiated; otherwise the first four octets tell */
	bool pos_known;     /* pos counts from where the first marker was due */
	/* octets missing right behind the start-up frame: full operation begins with a search */
	uint64_t lost_early;
	uint64_t pos; /* octets since the end of the start-up frame */
	enum tentative tentative;
	uint64_t skipped; /* octets since the boundaries were lost */

	/* the FPDU under way */
	bool begun;
	uint32_t off, segments; /* as struct iw_cap_ddp has them */
	uint64_t start, start_frame, last_frame;
	uint64_t head_pos;  /* of its ULPDU_Length */
	uint32_t got, need; /* octets without markers; need is 0 until ULPDU_Length is there */
	uint16_t ulpdu_len;
	uint32_t crc;
	uint8_t crc_wire[IW_MPA_CRC_LEN];
	bool pad_not_zero;
	uint8_t pad[3];
	uint64_t missing;
	uint8_t mark[IW_MPA_MARKER_LEN];
	bool mark_missing;
	uint32_t marks, bad_marks;
	struct iw_cap_mark *list; /* IW_CAP_MARKS_MAX of them, with the first FPDU that has one */
	/* Its first body_len octets without markers, ULPDU_Length first: where they lie, or in a
	 * block of body_size octets of its own. */
	const uint8_t *body;
	uint8_t *body_own;
	size_t body_len, body_size;
	bool body_asked; /* whether they are kept was decided */
	uint8_t head[HEAD_MAX];
	uint8_t head_len;

	/* FRAME: the frame. FIRST, HUNT: octets that are walked before those that come next. */
	uint8_t buf[IW_MPA_FRAME_LEN + IW_MPA_PD_MAX];
	uint16_t buf_len, replay_at, replay_len;
	/* FRAME: octets gone by, captured or not; buf_len of them without a hole */
	uint32_t frame_seen;
	struct run replay_run; /* time and frame of the replayed octets */

	struct order order;
	uint64_t fpdus;
	struct iw_cap_align align;
};

/* What an MPA frame said. */
struct said {
	bool seen;
	uint8_t flags, rev;
	bool enhanced;
	uint16_t ird;
};

/* A connection in which an MPA key was seen. */
struct follow {
	struct said request, reply;
	bool reply_first; /* a Reply, and no Request yet */
	bool request_end_known;
	/* reply_first: the sequence number behind the Request, from the Reply's ACK */
	uint32_t request_end;
	enum crc_mode crc;
	bool agreed; /* FPDUs may come */
	struct transfer transfer;
	struct walk walk[2];
};

/* --- over SCTP --- */

/* TSNs that can be out of order at once. */
#define TSN_WINDOW 16384

/* A DATA chunk that waits: a fragment for the rest of its message, or a whole message for the
 * DDP-SSNs before it. One block of the pool. */
struct held {
	struct queued q;    /* way.fragments by TSN, side.early by DDP-SSN */
	struct held *other; /* fragments: the other end of its run, if it is at an end */
	uint32_t tsn, ppid; /* ppid: as in struct msg */
	uint16_t sid, ssn;
	uint8_t flags;
	uint32_t len; /* octets of user data it had on the wire */
	uint64_t time_ns, frame;
	uint16_t head_len;
	uint8_t head[IW_SCTP_CONTROL_LEN + IW_SCTP_PD_MAX]; /* longest of what is looked at */
};

static inline struct held *held_of(struct iw_list *l)
{
	return iw_container_of(l, struct held, q.link);
}

/* One direction of an association. */
struct way {
	bool init_seen;
	/* the Verification Tag in packets to the sender; in the table when it is known */
	bool tag_known;
	uint32_t tag;
	size_t tag_bucket;
	struct way *tag_next;
	struct flow *f;
	unsigned d; /* f->assoc->way[d] is this */
	uint16_t os, mis;
	bool has_adaptation;
	bool init_cut; /* not all parameters of its INIT or INIT ACK were captured, and no adaptation indication */
	uint32_t adaptation;
	bool tsn_known;
	uint32_t cum;                   /* every TSN up to here was captured or given up */
	uint32_t high;                  /* the highest one captured */
	uint64_t seen[TSN_WINDOW / 64]; /* a bit for each TSN behind cum, by its low bits */
	bool lossy;                     /* TSNs were given up, or the beginning was not captured */
	uint32_t losses;                /* how often TSNs were given up */
	bool foreign_told;              /* that there are other PPIDs */
	bool acked_known;
	uint32_t acked; /* the peer has acknowledged up to here */
	bool hole_watched;
	uint32_t hole_packets, hole_acked;
	uint64_t hole_time_ns;
	/* cum as a number that does not wrap, so that old fragments stay before new ones */
	uint64_t cum_wide;
	struct queue fragments; /* struct held */
	uint32_t blocks;        /* of the pool, fragments and early messages */
	uint32_t look_at; /* the TSN that must be passed before a lost DDP-SSN can be reported */
};

/* An SCTP association that carries DDP, or whose INIT says that it may. */
struct assoc {
	struct way way[2];
	const struct iw_sctpmap_profile *profile; /* edition of DDP over SCTP */
	bool ddp_told;                            /* counted among the iWARP flows */
	bool shut;                                /* it ended in good order: nothing is missing */
	struct iw_list streams;                   /* struct stream, all of this association */
	struct iw_list waiting;                   /* those that hold early messages */
};

enum session_state {
	SESSION_UNKNOWN, /* its beginning was not captured */
	SESSION_NONE,
	SESSION_ASKED, /* Initiate */
	SESSION_OPEN,  /* Accept */
	SESSION_CLOSED,
};

/* One direction of a DDP stream. */
struct side {
	bool known;    /* next is valid */
	uint16_t next; /* DDP-SSN in turn */
	uint32_t
		losses; /* of its way, when the last message was in turn: more since, and next may be lost */
	bool ended; /* Session Terminate */
	struct order order;
	struct queue early; /* struct held */
};

/* A pair of SCTP streams of one id (RFC 5043 6). */
struct stream {
	struct stream *hash_next;
	size_t bucket;
	struct iw_list lru, of_flow, waiting;
	struct flow *f;
	uint16_t sid;
	enum session_state state;
	unsigned active; /* who sent the Initiate */
	struct transfer transfer;
	struct side side[2];
};

/* A message of DATA chunks that is whole. */
struct msg {
	uint16_t sid;
	uint32_t tsn;
	uint32_t ppid; /* RFC 5043's, whatever the edition */
	const uint8_t *p;
	size_t have, len; /* octets captured (or kept of it); octets it has */
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
	bool flush;   /* no octets will fill a hole any more */
	bool closing; /* in cap.closing: it ends when the flush is done */
	bool reset, reset_told;
	unsigned reset_from;
	uint64_t reset_time_ns, reset_frame;
	struct dir dir[2];
	struct follow *follow; /* NULL: no MPA key seen */
	struct assoc *assoc;   /* NULL: no DDP over SCTP seen */
	bool closed;           /* over SCTP: ABORT or SHUTDOWN COMPLETE */
};

/* In the order in which they are dropped when the table is full. */
enum lru { LRU_CLOSED, LRU_PLAIN, LRU_IWARP, LRU_COUNT };

struct iw_cap {
	const struct iw_mem *mem;
	uint64_t seed;
	struct iw_cap_limits limits;
	struct flow **bucket;
	size_t buckets; /* a power of two */
	uint32_t flows, next_id;
	struct way **tag_bucket; /* as many */
	struct stream **stream_bucket;
	size_t stream_buckets;
	uint32_t streams;
	struct iw_list stream_lru;
	uint16_t udp_port;
	bool align, payload;
	const struct iw_sctpmap_profile *profile;
	struct iw_list lru[LRU_COUNT];
	struct iw_list closing; /* taken out of the table, to be flushed and freed */
	struct iw_pool pool;
	uint32_t dir_blocks; /* most that one direction may hold */
	uint64_t lane_rng;   /* which elements of queues are in which lanes; not 0 */
	/* queue elements visited: the cost of data that arrives out of order */
	uint64_t steps;

	/* the frame at hand */
	struct flow *cur;
	unsigned cur_dir;
	uint64_t now_ns, frame;
	/* TCP */
	uint32_t cur_seq, cur_missing;
	struct run cur_run;
	uint32_t cur_first;            /* sequence number of its first octet */
	uint32_t cur_whole, cur_again; /* octets of payload; of these, octets that came before */
	bool cur_differs;              /* and are others now */
	/* SCTP: packets behind each other, more than one when they were captured above segmentation
	 * offload */
	struct {
		const uint8_t *p;
		size_t len, end; /* captured of all; of the first packet */
		size_t missing;  /* octets behind them that were not captured */
		size_t pos;      /* of the next chunk; 0: the packet is not begun */
		enum iw_cap_crc crc;
		uint8_t head[IW_SCTP_HDR_LEN + IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_INIT_LEN];
	} pkt;
	struct stream *drain; /* whose early messages may be in turn */

	struct iw_cap_event event[EVENTS_MAX];
	unsigned event_first, events;
	bool event_out; /* event[event_first] is with the caller */
	/* what events point to */
	uint8_t pd[IW_SCTP_CONTROL_LEN + IW_SCTP_PD_MAX];
	struct iw_rreq rreq;
	struct iw_atomic_req atomic_req;
	struct iw_atomic_rsp atomic_rsp;
	struct iw_terminate term, term_exchanged;
	uint8_t head[HEAD_MAX];
	uint8_t *segment;              /* SEGMENT_MAX octets, with the first one that is kept */
	struct transfer_room *message; /* of several segments, the last one that became whole */
	size_t body_octets;            /* of all walk.body_own */
	uint32_t message_rooms;        /* of all parts, and message */
	struct iw_cap_totals totals;
};

/* event.c: a new event, zeroed but for who, when and kind. */
struct iw_cap_event *iw_cap_event_new(struct iw_cap *c, enum iw_cap_kind kind, struct flow *f,
				      unsigned d, uint64_t time_ns, uint64_t frame);
/* event.c: a new error event, whose fault the caller fills by iw_fail. */
struct iw_fault *iw_cap_event_error(struct iw_cap *c, struct flow *f, unsigned d, uint64_t time_ns,
				    uint64_t frame);
/* event.c: a loss event, and the counters. */
void iw_cap_report_loss(struct iw_cap *c, struct flow *f, unsigned d, uint64_t n,
			enum iw_cap_why why, bool sync, const char *where);

/* phase.c */
void iw_cap_set_phase(struct dir *s, enum phase to);
const char *iw_cap_phase_text(enum phase p);

/* flow.c */
IW_MUST_CHECK int iw_cap_flows_init(struct iw_cap *c);
void iw_cap_flows_fini(struct iw_cap *c);
/* The connection of these ends and the index of the sender, or NULL. */
struct flow *iw_cap_flow_find(struct iw_cap *c, enum iw_cap_over over,
			      const struct iw_cap_end end[2], unsigned *from);
/* The association between these ports whose receiver has given itself this Verification Tag,
 * whatever the addresses, and the index of the sender; or NULL. */
struct flow *iw_cap_flow_find_tag(struct iw_cap *c, const struct iw_cap_end end[2], uint32_t tag,
				  unsigned *from);
/* The packets to the sender of w carry this tag. */
void iw_cap_flow_set_tag(struct iw_cap *c, struct way *w, uint32_t tag);
void iw_cap_flow_drop_tag(struct iw_cap *c, struct way *w);
/* A new one, end[0] being the sender. May move the least interesting one to c->closing. NULL:
 * out of memory. */
struct flow *iw_cap_flow_add(struct iw_cap *c, enum iw_cap_over over,
			     const struct iw_cap_end end[2]);
/* Its ends as text, before the first event of it. */
void iw_cap_flow_name(struct flow *f);
/* Moves it to the end of the list it now belongs to. */
void iw_cap_flow_touch(struct iw_cap *c, struct flow *f);
/* Out of the table, into c->closing. */
void iw_cap_flow_close(struct iw_cap *c, struct flow *f);
void iw_cap_flow_free(struct iw_cap *c, struct flow *f);

/* queue.c */
void iw_cap_queue_init(struct queue *q);
/* The last element whose key is at most key, or q->list. */
struct iw_list *iw_cap_queue_seek(struct iw_cap *c, struct queue *q, uint64_t key);
/* Inserts e after at, which iw_cap_queue_seek() returned for this key. */
void iw_cap_queue_add(struct iw_cap *c, struct queue *q, struct iw_list *at, struct queued *e,
		      uint64_t key);
void iw_cap_queue_del(struct queued *e);
/* A block for a message that waits; NULL: no room. */
struct held *iw_cap_held_new(struct iw_cap *c, struct way *w);
void iw_cap_held_free(struct iw_cap *c, struct way *w, struct held *h);

/* stream.c */
/* Does one step of work on a direction; false: there is none. */
bool iw_cap_stream_step(struct iw_cap *c, struct flow *f, unsigned d);
/* Forgets what the direction holds. */
void iw_cap_stream_drop(struct iw_cap *c, struct dir *s);

/* startup.c */
/* Octets taken of the run; 0 when the direction waits for the other one. */
size_t iw_cap_startup_run(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r);
/* That many octets are missing. */
void iw_cap_startup_gap(struct iw_cap *c, struct flow *f, unsigned d, uint64_t n,
			enum iw_cap_why why);
/* The frame that a direction waits for will not come: goes on with what is known. */
void iw_cap_startup_give_up(struct iw_cap *c, struct flow *f);
/* A Reply came first: has the place been reached where the Request must have ended? */
bool iw_cap_startup_check(struct iw_cap *c, struct flow *f);
/* Frees f->follow. */
void iw_cap_startup_drop(struct iw_cap *c, struct flow *f);

/* fpdu.c */
void iw_cap_walk_start(struct walk *w, bool markers, bool markers_known);
/* The boundaries are lost. */
void iw_cap_walk_hunt(struct flow *f, unsigned d);
/* Octets taken of the run, at most to the end of one FPDU. */
size_t iw_cap_walk_run(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r);
/* Octets that were set aside come first; false: there are none. */
bool iw_cap_walk_replay(struct iw_cap *c, struct flow *f, unsigned d);
/* The stream has ended: counts what was not decoded. */
void iw_cap_walk_end(struct iw_cap *c, struct flow *f, unsigned d);
void iw_cap_walk_gap(struct iw_cap *c, struct flow *f, unsigned d, uint64_t n, enum iw_cap_why why);
/* Frees what the walk owns. */
void iw_cap_walk_drop(struct iw_cap *c, struct walk *w);

/* segment.c */
/* What the octets at the front of an FPDU look like. */
enum shape {
	SHAPE_NONE,   /* not DDP at all */
	SHAPE_LOOSE,  /* lengths and opcode fit */
	SHAPE_STRICT, /* so do versions, reserved bits and the queue */
};
enum shape iw_cap_segment_shape(const uint8_t *head, size_t head_len, uint16_t ulpdu_len);
/* The ddp event of the FPDU that w has finished, and the errors found in it. */
void iw_cap_segment_report(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r,
			   enum iw_cap_crc crc);
/* Fills what *ev says of a segment of len octets, of which have lie at p, and the deviations in it. */
void iw_cap_segment_decode(struct iw_cap *c, struct iw_cap_event *ev, const uint8_t *p, size_t have,
			   size_t len);
/* The first rule that the segment breaks wherever it stands; rdmac: versions 0 are right. */
IW_MUST_CHECK int iw_cap_segment_check(struct iw_fault *why, const struct iw_cap_ddp *e,
				       bool rdmac);
/* The first rule of order that it breaks. */
IW_MUST_CHECK int iw_cap_order_check(struct iw_fault *why, const struct order *o,
				     const struct iw_cap_ddp *e);
void iw_cap_order_note(struct order *o, const struct iw_cap_ddp *e);
/* MSN 1 is next on each queue. */
void iw_cap_order_start(struct order *o);
/* Behind a hole nothing is known. */
void iw_cap_order_forget(struct order *o);
/* Into the totals. */
void iw_cap_segment_count(struct iw_cap *c, const struct iw_cap_event *ev);

/* Fills *payload with the payload of the segment of *ev, of which have octets lie at p, header first;
 * returns how many. They stay valid until the next event. */
size_t iw_cap_segment_payload(struct iw_cap *c, struct iw_cap_event *ev, const struct transfer *t,
			      const uint8_t *p, size_t have, const uint8_t **payload);

/* transfer.c */
/* The Private Data of a Request (or Initiate) or of its answer: is this stream one of the transfer
 * protocol? 0, or the error that the sender made. */
IW_MUST_CHECK int iw_cap_transfer_hello(struct iw_cap *c, struct transfer *t, bool request,
					const uint8_t *pd, size_t len, struct iw_cap_transfer *out,
					struct iw_fault *why);
/* Is the payload of this segment to be kept? have octets of it lie at segment. */
bool iw_cap_payload_wanted(const struct iw_cap *c, const struct transfer *t, const uint8_t *segment,
			   size_t have);
/* A segment has arrived, with have octets of its payload. 0, or the error that the sender made. */
IW_MUST_CHECK int iw_cap_transfer_segment(struct iw_cap *c, struct transfer *t, unsigned d,
					  struct iw_cap_event *ev, const uint8_t *payload,
					  size_t have, struct iw_fault *why);
/* Forgets what is incomplete. */
void iw_cap_transfer_drop(struct iw_cap *c, struct transfer *t);
/* The message has entries under key 4. */
bool iw_cap_transfer_has_entries(uint32_t type);

/* sctp.c */
struct packet;
/* A packet has come: which association it belongs to, or NULL for a new one. */
struct flow *iw_cap_sctp_flow(struct iw_cap *c, const struct packet *p, unsigned *from);
void iw_cap_sctp_begin(struct iw_cap *c, const struct packet *p);
/* Does one step of work; false: there is none. */
bool iw_cap_sctp_step(struct iw_cap *c, struct flow *f);
/* Nothing more can come: what waits is let go; false: nothing waits. */
bool iw_cap_sctp_flush(struct iw_cap *c, struct flow *f);
/* Forgets what the association holds. */
void iw_cap_sctp_drop(struct iw_cap *c, struct flow *f);

/* session.c */
IW_MUST_CHECK int iw_cap_streams_init(struct iw_cap *c);
void iw_cap_streams_fini(struct iw_cap *c);
/* A message of a DDP stream has come. */
void iw_cap_session_message(struct iw_cap *c, struct flow *f, unsigned d, const struct msg *m);
/* An early message that is in turn now; false: there is none. */
bool iw_cap_session_drain(struct iw_cap *c);
/* A DDP-SSN before an early message of this direction that is lost is given up; false: there is
 * none. end: no more can come. */
bool iw_cap_session_give_up(struct iw_cap *c, struct flow *f, unsigned d, bool end);
void iw_cap_session_drop(struct iw_cap *c, struct flow *f);

/* stream.c: the current segment brought octets that came before. */
void iw_cap_report_again(struct iw_cap *c, struct flow *f, unsigned d);

#endif
