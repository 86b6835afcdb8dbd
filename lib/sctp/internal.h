/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of lib/sctp: the data structures, then the functions of each file.
 *
 * The files in layers, the lowest first: siphash, table, bbr, cc, addr, params, cookie; tracing;
 * lookup, reply, state; outq, path, pmtu, rate, prr; inq, reasm, ack, pace; loss, sack, shutdown;
 * assoc, handshake; input, output; endpoint. A file calls only its own layer and lower ones.
 *
 * Each chunk to send has a number from 0, its seq. Its TSN is the initial TSN plus seq. Seqs have
 * 64 bits and never wrap, so output code compares them as plain numbers; sack.c converts the TSNs
 * of the peer to seqs. Input code works on TSNs with serial arithmetic.
 */
#ifndef IW_SCTP_INTERNAL_H
#define IW_SCTP_INTERNAL_H

#include "sctp/bbr.h"
#include "sctp/cc.h"
#include "sctp/sctp.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/pool.h"
#include "util/text.h"
#include "wire/sctp.h"

/* --- hash tables, chained through the objects (table.c) --------------------------------------- */

struct link {
	struct link *next;
	uint64_t hash;
};
struct table {
	const struct iw_mem *mem;
	struct link **bucket;
	size_t size, count; /* size: a power of two */
};

/* Makes an empty table. mem is borrowed until iw_sctp_table_fini. IW_E_NOMEM: no memory. */
int iw_sctp_table_init(struct table *t, const struct iw_mem *mem);
/* Frees the buckets of t. The links belong to their objects. No effect on a zeroed table. */
void iw_sctp_table_fini(struct table *t);
/* Adds l, which the table keeps. Cannot fail: without memory, chains grow longer. */
void iw_sctp_table_add(struct table *t, struct link *l, uint64_t hash);
void iw_sctp_table_del(struct table *t, struct link *l);
/* Returns the first link with that hash; NULL: not found. */
struct link *iw_sctp_table_find(const struct table *t, uint64_t hash);
/* Returns the next link with the hash of l; NULL: none. */
struct link *iw_sctp_table_next(const struct link *l);

/* --- SipHash-2-4, 128 bits out (siphash.c) ---------------------------------------------------- */

#define SIP_KEY_LEN 16
#define SIP_MAC_LEN 16
void iw_sctp_siphash(uint8_t mac[static SIP_MAC_LEN], const uint8_t key[static SIP_KEY_LEN],
		     const void *data, size_t len);

/* --- the state cookie (cookie.c) -------------------------------------------------------------- */

/*
 * The state of a future association, so that this end stores nothing before the COOKIE ECHO
 * (RFC 9260 5.1.3).
 */
struct cookie {
	uint64_t made; /* time of creation, ns */
	uint32_t my_tag, peer_tag;
	uint32_t my_tsn, peer_tsn; /* initial TSNs */
	uint32_t peer_rwnd;
	uint32_t tie_local, tie_peer; /* Tie-Tags (RFC 9260 5.2.2); 0: there was no association */
	uint16_t my_port, peer_port;
	uint16_t streams_out, streams_in;
	bool peer_has_adaptation, peer_zero_checksum;
	uint32_t peer_adaptation;
	struct iw_sctp_addr peer[IW_SCTP_PATHS_MAX]; /* the source of the INIT first */
	unsigned npeers;
};
/* MAC, key number, the fields above, scope and UDP port of the first address, the addresses. */
#define COOKIE_MAX                                                                                 \
	(SIP_MAC_LEN + 1 + 8 + 7 * 4 + 4 * 2 + 1 + 4 + 1 + 4 + 2 + 16 * IW_SCTP_PATHS_MAX)

/* The key that seals new cookies, and the previous one, whose cookies are still accepted. */
struct cookie_keys {
	uint8_t key[2][SIP_KEY_LEN];
	uint8_t current; /* number of the current key, key[current & 1]; each cookie carries it */
	uint64_t born;   /* when the current key was made */
	bool previous;   /* the other key is valid */
};
#define COOKIE_KEY_LIFE IW_SEC(3600)

/* --- input: received DATA (inq.c, reasm.c, ack.c) --------------------------------------------- */

#define DUPS_MAX 16 /* duplicates reported in one SACK */

/* A fragment that is kept until its message is complete. */
struct fragment {
	uint32_t tsn, ppid;
	uint16_t stream, len;
	uint8_t flags;
	uint8_t data[];
};

struct inq {
	uint32_t cum;  /* the last TSN received in sequence */
	uint32_t high; /* the highest TSN received; cum if none is above it */
	/* Bit TSN % map_bits: TSNs above cum that were received. NULL until one is out of order. */
	uint64_t *map;
	uint32_t map_bits; /* a power of two; 0: no map */
	uint32_t dups[DUPS_MAX];
	unsigned ndups;
	unsigned packets; /* packets with DATA since the last SACK */
	bool any;         /* DATA was received before: only the first is acknowledged at once */
	bool sack_now;    /* the SACK is due after the current packet */
	/*
	 * iw_sctp_sack_can_wait returns false: since the last SACK an I bit asked for one (RFC
	 * 7053), or a chunk has filled a gap (RFC 5681 4.2).
	 */
	bool urgent;
	/* The last SACK for duplicates was sent to another address than their source. */
	bool detour;
	bool data_seen, new_seen;   /* in the current packet: DATA; new DATA */
	uint64_t sack_at;           /* when the delayed SACK is due */
	uint32_t held;              /* octets that the user still holds (iw_sctp_set_held) */
	uint32_t advertised;        /* the window in the last SACK, INIT or INIT ACK */
	struct fragment **fragment; /* in the order of TSNs; NULL until the first one */
	uint32_t nfragments, fragment_places;
	/* Memory charged for the fragments: their data, and a fixed amount for each. */
	uint32_t fragment_octets;
	/* The message reassembled last: valid until the next call of iw_sctp_next. */
	uint8_t *whole;
	uint32_t whole_len;
};

/* --- output: DATA to send (outq.c, sack.c, loss.c, output.c) ---------------------------------- */

enum chunk_state {
	CHUNK_UNSENT,
	CHUNK_FLIGHT,
	CHUNK_LOST,  /* to be retransmitted */
	CHUNK_GAPPED /* acknowledged by a gap block; the peer may renege */
};
/* An octet of outq.state: the chunk's state, above it its miss indications (RFC 9260 7.2.4). */
#define STATE_OF(octet)  ((enum chunk_state)((octet)&3))
#define MISSES_OF(octet) ((octet) >> 2)
#define MISSES_MAX       3

/*
 * Messages up to this length are copied into buffers of this size instead of the size of a packet:
 * many may be queued.
 */
#define SHORT_LEN 512

/* Begins with the fields that SACKs read, so that they touch fewer cache lines. */
struct out_chunk {
	uint64_t sent_at; /* time of the last transmission */
	uint8_t *copy;    /* a buffer of one of the endpoint's pools, or NULL */
	uint64_t cookie;
	uint32_t ppid;
	uint16_t stream, len; /* len: all user data */
	uint16_t sends;       /* number of transmissions; saturates */
	uint8_t path;         /* of the last transmission */
	uint8_t next_path;    /* of a LOST chunk: that of the next transmission */
	uint8_t hdr_len;
	bool sack_now, in_place;
	struct iw_vec vec[IW_SCTP_SEND_VECS];
	uint8_t hdr[IW_SCTP_SEND_HDR_MAX];
};

/* The most retransmissions of one recovery whose reduction can be undone. */
#define UNDO_MAX 64

struct outq {
	struct out_chunk *ring; /* size places, by seq; NULL until the first message */
	uint8_t *state;
	uint32_t size; /* a power of two */
	uint32_t tsn0; /* TSN of seq 0 */
	/*
	 * first <= una <= next <= end. Chunks below first were reported done, below una they were
	 * acknowledged, below next they were sent.
	 */
	uint64_t first, una, next, end;
	/* One above the highest seq that a gap block acknowledged; at least una. */
	uint64_t gap_end;
	uint64_t lost_from; /* no chunk below it is LOST */
	uint32_t nlost;
	uint64_t acked_octets;  /* user data acknowledged so far */
	uint32_t flight_data;   /* user data in flight, counted against the peer's window */
	uint32_t unsent_octets; /* of queued chunks that were never sent */
	uint32_t unsent_max;    /* the limit at which iw_sctp_send returns IW_E_AGAIN */
	size_t copy_octets;     /* size of all buffers with copies of chunks */
	bool wanted; /* iw_sctp_send has returned IW_E_AGAIN: IW_SCTP_EV_ROOM has to follow */
	/* Loss recovery. */
	bool in_recovery;
	uint64_t recovery_end; /* recovery ends when una reaches this seq */
	uint64_t reduced_at;   /* when the recovery began, and the window was reduced */
	/* RFC 8985 6.2: packets overtake each other, so RACK alone finds losses. */
	bool reordered;
	uint8_t margin;      /* quarters of rtt_min that are added to RACK's window */
	uint8_t margin_keep; /* recoveries until margin is reset */
	uint64_t margin_seq; /* margin grows again when una has reached it */
	/* To undo the reduction of the last recovery, if all its retransmissions were spurious: */
	uint32_t undo_tsn[UNDO_MAX]; /* retransmitted in it, and not shown to be spurious yet */
	uint32_t undo_left;          /* entries of undo_tsn */
	bool undo_full;              /* there were more than it holds, so nothing is undone */
	uint64_t undo_until;         /* the time from which nothing is undone */
	/*
	 * The last tail-loss probe among these retransmissions: its TSN, and the ns since the chunk
	 * was sent before. undo_wait 0: they include no probe.
	 */
	uint32_t undo_probe;
	uint64_t undo_wait;
	/* Chunks below it may be out of sending order: one was retransmitted or reneged. */
	uint64_t resent_end;
	uint64_t rack_at, tlp_at; /* timers */
	uint8_t probes;    /* tail-loss probes since a chunk that was sent once was acknowledged */
	bool tlp_out;      /* a tail-loss probe was queued, and nothing was acknowledged since */
	uint64_t tlp_seq;  /* the chunk that the probe repeats */
	uint64_t tlp_wait; /* the time between the chunk's last transmission and the probe, ns */
	uint64_t persist_at; /* when to send a zero window probe */
	bool probe_window;   /* one chunk may be sent although the window is closed */
	/* The peer has dropped a probe and opened its window: the probe is repeated without T3. */
	bool probe_repeated;
	bool window_answers; /* a SACK has arrived since the last T3 timeout */
};

/* --- the model of a path (rate.c) ------------------------------------------------------------- */

#define RATE_MARKS 48

/* The state of the path when the chunks of a burst were sent. Times in ns, amounts in octets. */
struct rate_mark {
	uint64_t sent_at;
	uint64_t delivered, delivered_at; /* the total, and when it last grew */
	uint64_t lost;                    /* the total */
	uint64_t first_sent_at;           /* when the chunk delivered last was sent */
	uint32_t flight;
	bool limited; /* by the user or the peer's window */
};

/* What a controller with a model needs. Allocated when the path first sends DATA. */
struct path_model {
	struct iw_sctp_bbr bbr;
	uint64_t delivered, delivered_at, lost;
	uint64_t first_sent_at;
	uint64_t limited_until; /* the rate is limited until that many octets are delivered */
	uint64_t idle_from;     /* nothing could be sent since; 0: no such time */
	uint64_t spacing;       /* the least time between two marks */
	struct rate_mark mark[RATE_MARKS]; /* a ring, the oldest at first */
	unsigned first, marks;
};

/* --- paths (path.c, pmtu.c) ------------------------------------------------------------------- */

/* Of a path in fast recovery (prr.c); octets. */
struct prr {
	uint32_t full;        /* in flight before the loss; 0: only cwnd limits the path */
	uint32_t window;      /* what may be in flight */
	uint64_t acked, sent; /* since the recovery began */
};

struct path {
	struct iw_sctp_assoc *a;
	struct link by_addr;
	struct iw_sctp_addr addr;
	enum iw_sctp_path_state state;
	bool confirmed; /* RFC 9260 5.4; never reset */
	uint8_t index;
	uint32_t errors;
	/* Round-trip times, ns; srtt 0: not measured. */
	uint64_t srtt, rttvar, rto, rtt_min;
	uint8_t rtt_samples; /* measured so far; saturates */
	/* Only chunks with at least this seq are measured: one in each round trip. */
	uint64_t rtt_seq;
	/* Data. */
	struct iw_sctp_cc cc;
	struct prr prr;
	struct path_model *model; /* NULL: the controller has none, or no DATA was sent yet */
	uint32_t flight, nflight; /* in flight: octets with headers and padding; chunks */
	uint64_t t3_at;
	uint64_t last_sent; /* when DATA was sent last; 0: never */
	int64_t tokens;     /* octets that pacing permits now */
	uint64_t tokens_at;
	uint64_t pace_at;
	/* At most one packet is in flight: nothing was acknowledged since a timeout (7.2.1). */
	bool one_packet;
	bool rtx_pass; /* one packet may be retransmitted whatever cwnd and pacing permit */
	/* RACK: of the acknowledged chunk that was sent last: the time, its seq, its round trip. */
	uint64_t rack_sent, rack_seq, rack_rtt;
	/*
	 * Of the SACK that is being processed: octets acknowledged, the lowest seq of these chunks,
	 * flight before it, a round-trip time (0: none).
	 */
	uint32_t newly, flight_before;
	uint64_t newly_from;
	uint64_t sample;
	uint64_t rack_sent_before, rack_seq_before;
	/* Heartbeats. */
	bool hb_due, hb_out;
	bool verify_due; /* unconfirmed: waits for its turn to get a HEARTBEAT */
	uint64_t hb_at, hb_sent;
	uint8_t hb_nonce[8];
	/* Path MTU. */
	uint32_t pmtu;
	/* The size that is being probed (0: none), and the smallest one that is known to fail. */
	uint32_t probe_size, probe_fails;
	unsigned probe_tries;
	bool probe_due;
	bool pmtu_proven; /* a probe has shown that packets of size pmtu pass */
	/* The timer; when a probe of probe_size was sent last, 0: none was. */
	uint64_t probe_at, probe_sent;
	uint8_t probe_nonce[8];
};

/* DATA may be sent on the path. */
static inline bool path_is_usable(const struct path *p)
{
	return p->confirmed && p->state == IW_SCTP_PATH_ACTIVE;
}

/* --- the association and the endpoint --------------------------------------------------------- */

/* Control chunks that are pending, as bits of iw_sctp_assoc.tx. */
enum tx {
	TX_INIT = 1,
	TX_COOKIE_ECHO = 2,
	TX_COOKIE_ACK = 4,
	TX_SACK = 8,
	TX_SHUTDOWN = 16,
	TX_SHUTDOWN_ACK = 32,
};

struct iw_sctp_assoc {
	struct iw_sctp *s;
	struct link by_tag;
	struct iw_timer timer;
	struct iw_list all, ready, pending; /* in the lists of the endpoint */
	void *user;
	enum iw_sctp_state state;
	bool initiator;
	bool linked;     /* in the tables of the endpoint: not ended */
	unsigned events; /* bits of enum iw_sctp_event_kind */
	unsigned tx;     /* bits of enum tx */
	uint16_t peer_port;
	uint16_t streams_out, streams_in;
	uint32_t my_tag, peer_tag, tie_local, tie_peer;
	uint32_t my_tsn;        /* initial TSN */
	uint32_t peer_rwnd;     /* as last advertised */
	uint32_t peer_rwnd_max; /* the largest advertised */
	bool peer_has_adaptation;
	bool peer_zero_checksum; /* the peer accepts packets without a checksum (RFC 9653) */
	uint32_t peer_adaptation;
	struct iw_sctp_addr local; /* our address that the peer uses; all zero: not known */
	struct path *paths;        /* the first is the primary path and always confirmed */
	unsigned npaths;
	/* The confirmed path of the peer's last packet: answers are sent there. */
	unsigned from;
	/* HEARTBEATs to unconfirmed addresses: timer, earliest time of the next, last path. */
	uint64_t verify_at, verify_from;
	unsigned verify_turn;
	uint8_t *cookie; /* the peer's, for the COOKIE ECHO */
	size_t cookie_len;
	/* Unrecognized parameters of the INIT ACK, to be reported with the COOKIE ECHO. */
	uint8_t *report;
	size_t report_len;
	uint64_t setup_at, guard_at; /* T1 or T2; T5 */
	unsigned tries;              /* retransmissions of T1 or T2 so far */
	unsigned alternate; /* the last path, except the data path, that a retransmission used */
	unsigned shutdown_path; /* the path of the last SHUTDOWN or SHUTDOWN ACK */
	unsigned stale;         /* cookies that the peer has then reported as stale */
	uint64_t setup_rto;     /* of T1 or T2, ns; doubled by each timeout */
	uint32_t errors;        /* consecutive unanswered transmissions (RFC 9260 8.1) */
	uint32_t reported_max;  /* iw_sctp_max_message as of the last UP or MTU event */
	/* The largest reported_max so far, at least iw_sctp_max_unproven at UP. */
	uint32_t most_reported;
	struct inq in;
	struct outq out;
	const struct iw_sctp_cc_ops *cc;
	bool cc_auto; /* iw_sctp_choose_cc may replace cc */
	struct iw_fault why;
	struct iw_sctp_facts count; /* only its counters are maintained here */
};

/* A packet ready to be sent: an answer without an association, or a chunk sent at once. */
struct reply {
	struct iw_sctp_packet to;
	size_t len;
};
#define REPLIES_MAX 64

/* The received packet that is being processed. */
struct cursor {
	const struct iw_sctp_packet *pkt; /* borrowed from the caller of iw_sctp_input */
	struct iw_sctp_hdr hdr;
	size_t pos;              /* of the next chunk; pkt.len: done */
	struct iw_sctp_assoc *a; /* NULL: it belongs to no association */
	struct path *path;       /* from which it arrived */
	uint64_t now;
	bool open;       /* a packet is being processed */
	bool complained; /* the packet was already answered with an ERROR */
	bool echoed;     /* a HEARTBEAT ACK was sent to its unconfirmed source */
};

struct iw_sctp {
	struct iw_sctp_cfg cfg;
	struct table tags, addrs;
	struct iw_heap timers;
	/* Associations: all; those that may have output or a new deadline; those with events. */
	struct iw_list all, ready, pending;
	unsigned count; /* associations in the tables */
	struct cookie_keys keys;
	uint8_t hash_key[SIP_KEY_LEN];
	uint32_t jitter;               /* state of iw_next_jitter */
	struct iw_pool copies, shorts; /* buffers for copies of chunks; for those up to SHORT_LEN */
	struct reply *reply;
	uint8_t *reply_data; /* REPLIES_MAX * cfg.mtu */
	unsigned reply_first, replies;
	uint64_t strangers_at; /* rate limiter of answers to packets without an association */
	uint64_t verify_at;    /* rate limiter of HEARTBEATs to unconfirmed addresses */
	struct cursor cur;
	unsigned turn; /* packets that the first ready association has sent in a row */
};

/* addr.c */
/* The octets of IP, UDP, DTLS and SCTP headers of packets to that address. */
uint32_t iw_sctp_overhead_to(const struct iw_sctp *s, const struct iw_sctp_addr *addr);

/* tracing.c: call these only if iw_sctp_tracing(a). */
static inline bool iw_sctp_tracing(const struct iw_sctp_assoc *a)
{
	return iw_tracing(a->s->cfg.tracer);
}
/* The chunk was written to a packet: chunk_sent, or chunk_retransmitted. */
IW_TRACES void iw_sctp_trace_chunk(const struct iw_sctp_assoc *a, uint64_t seq);
IW_TRACES void iw_sctp_trace_acked(const struct iw_sctp_assoc *a, const struct iw_sctp_sack *s);
IW_TRACES void iw_sctp_trace_lost(const struct iw_sctp_assoc *a, uint64_t seq, const char *reason);
IW_TRACES void iw_sctp_trace_window(const struct path *p);
/* The path has a model, whose state has changed. */
IW_TRACES void iw_sctp_trace_model(const struct path *p);
IW_TRACES void iw_sctp_trace_rtt(const struct path *p, uint64_t rtt);
IW_TRACES void iw_sctp_trace_path(const struct path *p);
IW_TRACES void iw_sctp_trace_timer(const struct iw_sctp_assoc *a, unsigned path, const char *name,
				   uint64_t after);

/* lookup.c */
/* Returns the association with that local Verification Tag; NULL: not found. */
struct iw_sctp_assoc *iw_sctp_by_tag(const struct iw_sctp *s, uint32_t tag);
/*
 * Returns the path with that IP address, UDP port and SCTP port; NULL: not found. Confirmed paths
 * only: an unconfirmed address never blocks the real owner of that address (RFC 5062 3).
 */
struct path *iw_sctp_by_addr(const struct iw_sctp *s, const struct iw_sctp_addr *addr,
			     uint16_t port);
/* Returns the path of a to that IP address, confirmed or not; NULL: none. */
struct path *iw_sctp_path_of(const struct iw_sctp_assoc *a, const struct iw_sctp_addr *addr);
/* Marks the path as confirmed. iw_sctp_by_addr finds it then. */
void iw_sctp_set_confirmed(struct path *p);
/* Sets the UDP port from which the peer's packets arrive now (RFC 6951 5.4). */
void iw_sctp_set_udp_port(struct path *p, uint16_t udp_port);
/* Adds the association to the tables of the endpoint. */
void iw_sctp_link_in(struct iw_sctp_assoc *a);
/*
 * Removes the association from the tables, the timers and the list of ready associations, and stops
 * the processing of its packet. Does nothing if it is not linked.
 */
void iw_sctp_link_out(struct iw_sctp_assoc *a);
/* Removes the paths from the address table, before they are freed. */
void iw_sctp_unlist_paths(struct iw_sctp_assoc *a);

/* state.c */
/* Changes the state, along an edge of RFC 9260 4 (asserted). */
void iw_sctp_set_state(struct iw_sctp_assoc *a, enum iw_sctp_state to);
/* Marks the association as ready: it may have output or a new deadline. */
void iw_sctp_touch(struct iw_sctp_assoc *a);
/* Queues an event for the user. */
void iw_sctp_raise(struct iw_sctp_assoc *a, enum iw_sctp_event_kind kind);
/* Frees the peer's cookie and the report that is sent with it. */
void iw_sctp_forget_setup(struct iw_sctp_assoc *a);
/*
 * Ends the association: removes it from the tables and raises DOWN. err 0: orderly end. fmt as for
 * iw_text_fmt. The input queue is freed only when the user takes DOWN, since its own functions call
 * this one.
 */
void iw_sctp_down(struct iw_sctp_assoc *a, int err, const char *fmt, ...);
/* Sends the peer an ABORT with that cause, then does the same as iw_sctp_down. */
void iw_sctp_kill(struct iw_sctp_assoc *a, uint16_t cause, const void *info, size_t info_len,
		  int err, const char *fmt, ...);

/* assoc.c */
/*
 * Makes an association and adds it to the tables. peer (copied) has npeers addresses, the primary
 * path first. *out is owned by the endpoint. IW_E_NOMEM: no memory.
 */
int iw_sctp_assoc_new(struct iw_sctp_assoc **out, struct iw_sctp *s, uint32_t my_tag,
		      uint32_t my_tsn, const struct iw_sctp_addr *peer, unsigned npeers,
		      uint16_t peer_port);
/* The set-up is complete: raises UP, and starts heartbeats and the path MTU search. */
void iw_sctp_established(struct iw_sctp_assoc *a, uint64_t now);
/*
 * Replaces the paths. The first is confirmed, the others are not. peer is copied. IW_E_NOMEM: no
 * memory, the paths are unchanged.
 */
int iw_sctp_set_paths(struct iw_sctp_assoc *a, const struct iw_sctp_addr *peer, unsigned n);
/* Frees the queues and maps of the association that are empty. */
void iw_sctp_slim(struct iw_sctp_assoc *a);

/* cookie.c */
/* Makes the first key. Returns 0, or the error of the random source. */
int iw_sctp_cookie_keys_init(struct iw_sctp *s);
/*
 * Writes a cookie with a MAC of the current key, which is replaced first if it is old. Returns the
 * octets written, or an error.
 */
int iw_sctp_cookie_seal(struct iw_sctp *s, uint8_t dst[static COOKIE_MAX], const struct cookie *c,
			uint64_t now);
/* Returns false if the cookie is not one of ours, or its key is no longer valid. */
bool iw_sctp_cookie_open(const struct iw_sctp *s, struct cookie *c, const uint8_t *src, size_t len);

/* params.c */
/* The error detection method of RFC 9653 5.1: SCTP over DTLS. */
#define EDMID_DTLS 1

struct init_params {
	struct iw_sctp_addr peer[IW_SCTP_PATHS_MAX]; /* the packet's source first */
	unsigned npeers;
	bool has_adaptation;
	bool zero_checksum; /* for DTLS, which this end uses too (RFC 9653 5.1) */
	bool host_name;     /* a Host Name Address, which must be refused (RFC 9260 3.3.2.1.4) */
	bool malformed;
	bool dtls; /* below SCTP: listed addresses are ignored */
	uint32_t adaptation;
	const uint8_t *cookie;
	size_t cookie_len;
	/* The unrecognized parameters to report, unchanged, one after the other. */
	uint8_t report[512];
	size_t report_len;
};
/*
 * Reads the parameters of an INIT or INIT ACK in the packet of s->cur. out->cookie points into the
 * packet. An error is only recorded: host_name, malformed.
 */
void iw_sctp_params_read(struct init_params *out, const struct iw_sctp *s,
			 const struct iw_sctp_init *in);

/* handshake.c: chunk handlers */
void iw_sctp_on_init(struct iw_sctp *s, const struct iw_sctp_chunk *c);
void iw_sctp_on_init_ack(struct iw_sctp *s, const struct iw_sctp_chunk *c);
/* Sets s->cur.a for the rest of the packet. Returns false if the packet is to be dropped. */
bool iw_sctp_on_cookie_echo(struct iw_sctp *s, const struct iw_sctp_chunk *c);
void iw_sctp_on_cookie_ack(struct iw_sctp_assoc *a, uint64_t now);
void iw_sctp_on_stale_cookie(struct iw_sctp_assoc *a);
/* T1 has expired: repeats INIT or COOKIE ECHO, or ends the association. */
void iw_sctp_setup_timeout(struct iw_sctp_assoc *a, uint64_t now);
/* Writes the INIT chunk. Returns its octets, or an error. */
int iw_sctp_put_init(struct iw_sctp_assoc *a, uint8_t *dst, size_t cap);

/* reply.c */
/* Queues a packet of one chunk. Drops it if too many are queued. */
void iw_sctp_reply(struct iw_sctp *s, const struct iw_sctp_packet *to, uint16_t peer_port,
		   uint32_t vtag, uint8_t type, uint8_t flags, const void *value, size_t len);
/* The octets of the largest chunk value that fits into such a packet, a multiple of four. */
size_t iw_sctp_reply_room(const struct iw_sctp *s, const struct iw_sctp_packet *to);
/* Queues an ABORT or ERROR with one cause. info is truncated if it does not fit. */
void iw_sctp_reply_cause(struct iw_sctp *s, const struct iw_sctp_packet *to, uint16_t peer_port,
			 uint32_t vtag, uint8_t type, uint8_t flags, uint16_t cause,
			 const void *info, size_t len);
/* Queues a packet of one chunk for the confirmed path from which the peer sent last. */
void iw_sctp_assoc_reply(struct iw_sctp_assoc *a, uint8_t type, const void *value, size_t len);
/* The same with an ERROR of one cause, at most one for each received packet. */
void iw_sctp_assoc_error(struct iw_sctp_assoc *a, uint16_t cause, const void *info, size_t len);
/* Answers a packet that belongs to no association (RFC 9260 8.4). */
void iw_sctp_out_of_the_blue(struct iw_sctp *s, const struct iw_sctp_packet *pkt,
			     const struct iw_sctp_hdr *h);
/* 8.4 (3): answers an INIT to a port without a listener. It is alone in the packet of s->cur. */
void iw_sctp_no_listener(struct iw_sctp *s, const struct iw_sctp_chunk *init);
/* Writes the next queued packet. Returns its octets; 0: it does not fit cap. */
size_t iw_sctp_take_reply(struct iw_sctp *s, uint8_t *buf, size_t cap, struct iw_sctp_packet *out);
/* A rate limiter: permits a burst of 100, then one every 1 ms. *at is its state, initially 0. */
bool iw_sctp_within_rate(uint64_t *at, uint64_t now);
/* Fills in the addresses of a packet of the association on that path. */
void iw_sctp_address(const struct iw_sctp_assoc *a, const struct path *p,
		     struct iw_sctp_packet *to);

/* inq.c */
/* peer_tsn: the initial TSN of the peer. */
void iw_sctp_inq_init(struct inq *q, uint32_t peer_tsn);
/* Frees the map, the fragments and the reassembled message. */
void iw_sctp_inq_fini(struct iw_sctp_assoc *a);
/*
 * Processes a DATA chunk. Returns true if *out is a message for the user. A chunk that violates the
 * protocol ends the association.
 */
bool iw_sctp_on_data(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c,
		     struct iw_sctp_recv *out);
/* All chunks of the packet were processed: decides when the SACK is due. */
void iw_sctp_inq_packet_done(struct iw_sctp_assoc *a, uint64_t now);
/* This end reneges on a TSN above cum: a SACK reports it as missing again (RFC 9260 6.2). */
void iw_sctp_inq_forget(struct inq *q, uint32_t tsn);
/* The window that a SACK reports, octets. */
uint32_t iw_sctp_shown_window(const struct iw_sctp_assoc *a);

/* reasm.c */
/*
 * Takes a fragment. Returns 1: *out is a message; 0: the fragment is kept; -1: it is dropped and
 * must not be acknowledged, or the association has ended.
 */
int iw_sctp_fragment(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c,
		     const struct iw_sctp_data *d, struct iw_sctp_recv *out);
void iw_sctp_fragments_fini(struct iw_sctp_assoc *a);
/* Frees the array if it is empty. */
void iw_sctp_fragments_slim(struct iw_sctp_assoc *a);

/* ack.c */
/*
 * Writes the SACK chunk, of at most cap octets, and clears what it reports. Returns its octets, or
 * 0 if there is no room.
 */
size_t iw_sctp_put_sack(struct iw_sctp_assoc *a, uint8_t *dst, size_t cap);

/* outq.c */
/* tsn: our initial TSN. */
void iw_sctp_outq_init(struct outq *q, uint32_t tsn);
/* Frees the ring with the copies of all chunks. */
void iw_sctp_outq_fini(struct iw_sctp_assoc *a);
/* Frees the ring if it is empty. */
void iw_sctp_outq_slim(struct iw_sctp_assoc *a);
/* The octets of a DATA chunk with len octets of user data: header, data, padding. */
static inline uint32_t chunk_octets(uint32_t len)
{
	return IW_SCTP_DATA_HDR_LEN + ((len + 3) & ~3u);
}
static inline struct out_chunk *chunk_at(const struct outq *q, uint64_t seq)
{
	return &q->ring[seq & (q->size - 1)];
}
static inline uint8_t *state_at(const struct outq *q, uint64_t seq)
{
	return &q->state[seq & (q->size - 1)];
}
/* Frees the copy of a chunk, if it has one. */
void iw_sctp_release(struct iw_sctp_assoc *a, struct out_chunk *c);
/*
 * Raises IW_SCTP_EV_ROOM if the user waits for it and at most half of unsent_max is queued: once
 * for each batch.
 */
void iw_sctp_report_room(struct iw_sctp_assoc *a);
/*
 * Changes the state of a chunk from FLIGHT to LOST. reason: for the trace; NULL: the chunk is sent
 * again, but is not considered lost.
 */
void iw_sctp_mark_lost(struct iw_sctp_assoc *a, uint64_t seq, const char *reason);
/* Returns the first chunk that is LOST. There must be one. */
uint64_t iw_sctp_first_lost(struct outq *q);
/* True if no chunk below seq is outstanding on the path, or waits for a retransmission on it. */
bool iw_sctp_is_earliest(const struct path *p, uint64_t seq);
/* Returns the first seq in [from, end) whose chunk is not GAPPED; end if all are GAPPED. */
uint64_t iw_sctp_skip_gapped(const struct outq *q, uint64_t from, uint64_t end);
/*
 * The peer has the chunk: removes it from the counts of its state, FLIGHT or LOST. Stops T3 with
 * the last chunk in flight on its path (RFC 9260 6.3.2, R2). iw_sctp_mark_lost does the same: the
 * retransmission starts T3 again (R1).
 */
void iw_sctp_leave(struct iw_sctp_assoc *a, uint64_t seq);
/* Returns iw_sctp_max_message as if every path MTU were proven: such messages are accepted too. */
uint32_t iw_sctp_max_unproven(const struct iw_sctp_assoc *a);
/* Records max as the iw_sctp_max_message that the user knows. */
void iw_sctp_know_max(struct iw_sctp_assoc *a, uint32_t max);
/*
 * Raises IW_SCTP_EV_MTU if iw_sctp_max_message has changed. Call it after a change of path MTU or
 * path state.
 */
void iw_sctp_check_max(struct iw_sctp_assoc *a);

/* rate.c */
/* Returns the model of the path, which is made if necessary. NULL: no memory; cubic replaces bbr. */
struct path_model *iw_sctp_model(struct path *p);
void iw_sctp_model_free(struct path *p);
/*
 * Chooses the controller, if cfg.cc or iw_sctp_set_cc leaves the choice to the engine. lost: DATA
 * was lost, so that the choice cannot wait for more round trips.
 */
void iw_sctp_choose_cc(struct iw_sctp_assoc *a, bool lost);
/* A chunk of that many octets is sent now, and not counted in p->flight yet. */
void iw_sctp_rate_sent(struct path *p, uint32_t octets, uint64_t now);
/*
 * A SACK acknowledges p->newly octets. newer: one of these chunks was sent after all chunks that
 * were acknowledged before. Returns false if the SACK allows no measurement.
 */
bool iw_sctp_rate_sample(struct path *p, bool newer, uint64_t now, struct iw_sctp_cc_sample *out);
/* Neither the window nor pacing prevents sending, but there is no DATA that may be sent. */
void iw_sctp_rate_idle(struct path *p, uint64_t now);

/* sack.c */
/* Processes a SACK. One for a chunk that was never sent ends the association. */
void iw_sctp_on_sack(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c, uint64_t now);
/* A SHUTDOWN acknowledges everything up to tsn. Returns false if the association has ended. */
bool iw_sctp_on_cum(struct iw_sctp_assoc *a, uint32_t tsn, uint64_t now);

/* loss.c */
/*
 * Call it after a SACK: chunks that were sent before an acknowledged one, and long enough ago, are
 * marked as lost.
 */
void iw_sctp_find_lost(struct iw_sctp_assoc *a, uint64_t now);
/*
 * Begins fast recovery (RFC 9260 7.2.4), and reduces cwnd of the paths in the set paths_hit, unless
 * a recovery is in progress.
 */
void iw_sctp_begin_recovery(struct iw_sctp_assoc *a, unsigned paths_hit, uint64_t now);
/*
 * Chunk seq is retransmitted, perhaps as the tail-loss probe: in a recovery, a duplicate may show
 * later that this was spurious.
 */
void iw_sctp_note_resent(struct outq *q, uint64_t seq);
/*
 * The peer has received chunks twice, as the SACK reports: for retransmissions that were spurious,
 * RACK waits longer from now on. If all those of the recovery were, its reduction of cwnd is undone.
 * Duplicates of other chunks are ignored: the network or the peer has made them.
 */
void iw_sctp_take_dups(struct iw_sctp_assoc *a, const struct iw_sctp_sack *s, uint64_t now);
/* Ends fast recovery. */
void iw_sctp_end_recovery(struct iw_sctp_assoc *a, uint64_t now);
/* Sets the timer of the tail-loss probe, or stops it if no probe is needed. */
void iw_sctp_arm_tlp(struct iw_sctp_assoc *a, uint64_t now);
/* Handles the timers of RACK, tail-loss probe and zero window probe that have expired. */
void iw_sctp_loss_timeouts(struct iw_sctp_assoc *a, uint64_t now);
/* T3-rtx of the path has expired (RFC 9260 6.3.3). May end the association. */
void iw_sctp_t3(struct iw_sctp_assoc *a, struct path *p, uint64_t now);

/* prr.c */
/* The path has lost DATA, and cwnd is reduced. */
void iw_sctp_prr_begin(struct path *p);
/*
 * In fast recovery, a SACK acknowledges p->newly octets. safe: the cumulative TSN has moved, and
 * the SACK shows no further loss.
 */
void iw_sctp_prr_ack(struct path *p, bool safe);
/*
 * Returns the octets that may be in flight: cwnd, or with a controller that follows RFC 9937, less
 * or more in fast recovery, but always one packet.
 */
uint32_t iw_sctp_window(const struct path *p);

/* path.c */
/* Makes path number index of the association: unconfirmed, active, with the initial RTO and MTU. */
void iw_sctp_path_init(struct path *p, struct iw_sctp_assoc *a, const struct iw_sctp_addr *addr,
		       unsigned index);
/* Updates SRTT, RTTVAR and RTO with a measured round trip in ns (RFC 9260 6.3.1). */
void iw_sctp_rtt(struct path *p, uint64_t rtt);
/* The peer has answered on the path: clears the error counters and makes it active. */
void iw_sctp_path_alive(struct path *p, uint64_t now);
/*
 * DATA, or a HEARTBEAT if heartbeat is true, was not answered: counts an error of the path and of
 * the association. Returns false if the association has ended (RFC 9260 8.1, 8.2).
 */
bool iw_sctp_path_failed(struct path *p, bool heartbeat);
/* Starts the HEARTBEATs of the path. */
void iw_sctp_hb_start(struct path *p, uint64_t now);
/* Sends the next HEARTBEAT to an unconfirmed address if it is time, else sets the timer. */
void iw_sctp_verify_next(struct iw_sctp_assoc *a, uint64_t now);
void iw_sctp_on_heartbeat_ack(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c, uint64_t now);
/* The HEARTBEAT timer has expired: the next HEARTBEAT is due, or the last got no answer. */
void iw_sctp_hb_timeout(struct path *p, uint64_t now);
/* Returns the path for new DATA: the primary one, or another if that is inactive. */
struct path *iw_sctp_data_path(const struct iw_sctp_assoc *a);
/* Returns another usable path; p if no other is usable. */
struct path *iw_sctp_other_path(const struct iw_sctp_assoc *a, struct path *p);
/*
 * Returns the path for a retransmission after p has timed out (RFC 9260 6.4.1). Every second
 * retransmission uses the data path, so unreachable addresses cannot end an association whose data
 * path works.
 */
struct path *iw_sctp_rtx_path(struct iw_sctp_assoc *a, struct path *p);
/*
 * Returns the index of the path for a control chunk that was not answered on path `from`: the data
 * path and the other confirmed ones, active or not, take turns.
 */
unsigned iw_sctp_turn_path(struct iw_sctp_assoc *a, unsigned from);
/*
 * Writes a HEARTBEAT; probe: that of a path MTU probe, to which the caller adds the PAD chunk.
 * Returns its octets; 0: it does not fit cap, or the random source failed.
 */
size_t iw_sctp_put_heartbeat(struct path *p, uint8_t *dst, size_t cap, bool probe, uint64_t now);

/* pace.c */
/* The octets of a burst: what the path may send at once after a pause. */
uint64_t iw_sctp_pace_burst(const struct path *p);
/* Returns true if pacing permits a packet now. Otherwise sets p->pace_at. */
bool iw_sctp_pace_allows(struct path *p, uint64_t now);
/* DATA chunks of that many octets were sent. */
void iw_sctp_pace_spend(struct path *p, uint32_t octets);

/* pmtu.c */
/* Sets the path MTU of a new path. No size has failed yet. */
void iw_sctp_pmtu_init(struct path *p);
/* Returns the octets of IP, UDP, DTLS and SCTP headers of packets on that path. */
uint32_t iw_sctp_overhead(const struct path *p);
/* Returns the octets of chunks that fit into a packet of the path MTU, a multiple of four. */
uint32_t iw_sctp_payload(const struct path *p);
/*
 * Returns the payload for messages, which cannot be split again after the first transmission: that
 * of the path MTU if a probe has shown that it passes, else that of the smallest path MTU.
 */
uint32_t iw_sctp_proven_payload(const struct path *p);
/* True if packets on that path are sent without DF. */
bool iw_sctp_pmtu_fragments(const struct path *p);
/* Begins the search for a larger path MTU, also after pmtu_raise (RFC 8899). */
void iw_sctp_pmtu_start(struct path *p, uint64_t now);
/* The probe was acknowledged: its size passes. */
void iw_sctp_pmtu_answered(struct path *p, uint64_t now);
/*
 * The peer answers again after errors of the path: repeats the probe at once. No probe passed
 * during the outage, and the next one would wait for an RTO, which has been backed off.
 */
void iw_sctp_pmtu_retry(struct path *p, uint64_t now);
/* The probe timer has expired: the probe was lost, or pmtu_raise has passed. */
void iw_sctp_pmtu_timeout(struct path *p, uint64_t now);
/* ICMP or the carrier reports the largest packet that passes, in octets; 0: not reported. */
void iw_sctp_pmtu_lower(struct path *p, uint32_t mtu, uint64_t now);
/*
 * Black hole detection (RFC 8899 4.3): after a T3 timeout of the path, and after the loss of a
 * chunk that was sent `sends` times.
 */
void iw_sctp_pmtu_timed_out(struct path *p, uint64_t now);
void iw_sctp_pmtu_lost(struct path *p, unsigned sends, uint64_t now);

/* output.c */
/* Writes the next packet of the association, as iw_sctp_output. 0: nothing to send now. */
size_t iw_sctp_assoc_output(struct iw_sctp_assoc *a, uint8_t *buf, size_t cap,
			    struct iw_sctp_packet *out, uint64_t now);

/* shutdown.c */
/* Changes to the next state of the shutdown if all chunks are acknowledged. */
void iw_sctp_shutdown_progress(struct iw_sctp_assoc *a, uint64_t now);
void iw_sctp_on_shutdown(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c, uint64_t now);
void iw_sctp_on_shutdown_ack(struct iw_sctp_assoc *a);
void iw_sctp_on_shutdown_complete(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c);
void iw_sctp_on_abort(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c);
/* T2 has expired: repeats SHUTDOWN or SHUTDOWN ACK, or ends the association. */
void iw_sctp_shutdown_timeout(struct iw_sctp_assoc *a, uint64_t now);
void iw_sctp_guard_timeout(struct iw_sctp_assoc *a);

#endif
