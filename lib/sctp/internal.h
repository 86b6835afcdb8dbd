/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of this room share: the data first, then who does what with it.
 *
 * A chunk to send has a number counted from 0, its seq; its TSN is the first TSN plus seq. Seqs have 64 bits and
 * never wrap, so the way out compares them as numbers; TSNs from the peer become seqs once, in sack.c. The way in
 * works on TSNs with serial arithmetic.
 */
#ifndef IW_SCTP_INTERNAL_H
#define IW_SCTP_INTERNAL_H

#include "sctp/cc.h"
#include "sctp/sctp.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/pool.h"
#include "util/text.h"
#include "wire/sctp.h"

/* --- hash tables: chains through the objects (table.c) ---------------------------------------- */

struct link {
	struct link *next;
	uint64_t hash;
};
struct table {
	const struct iw_mem *mem;
	struct link **bucket;
	size_t size, count; /* size: a power of two */
};

int iw_sctp_table_init(struct table *t, const struct iw_mem *mem);
void iw_sctp_table_fini(struct table *t);
/* Never fails: when there is no memory for more buckets, chains grow longer. */
void iw_sctp_table_add(struct table *t, struct link *l, uint64_t hash);
void iw_sctp_table_del(struct table *t, struct link *l);
/* The first link with that hash, then the next one; NULL. */
struct link *iw_sctp_table_find(const struct table *t, uint64_t hash);
struct link *iw_sctp_table_next(const struct link *l);

/* --- SipHash-2-4, 128 bits out (siphash.c) ---------------------------------------------------- */

#define SIP_KEY_LEN 16
#define SIP_MAC_LEN 16
void iw_sctp_siphash(uint8_t mac[static SIP_MAC_LEN], const uint8_t key[static SIP_KEY_LEN],
		     const void *data, size_t len);

/* --- the state cookie (cookie.c) -------------------------------------------------------------- */

/* All that an association is made of, so that nothing is kept before COOKIE ECHO (RFC 9260 5.1.3). */
struct cookie {
	uint64_t made; /* ns */
	uint32_t my_tag, peer_tag;
	uint32_t my_tsn, peer_tsn; /* initial ones */
	uint32_t peer_rwnd;
	uint32_t tie_local, tie_peer; /* RFC 9260 5.2.2; 0: there was no association */
	uint16_t my_port, peer_port;
	uint16_t streams_out, streams_in;
	bool peer_has_adaptation;
	uint32_t peer_adaptation;
	struct iw_sctp_addr peer[IW_SCTP_PATHS_MAX]; /* the source of the INIT first */
	unsigned npeers;
};
/* MAC, key number, the fields above, scope and UDP port of the first address, the addresses. */
#define COOKIE_MAX                                                                                 \
	(SIP_MAC_LEN + 1 + 8 + 7 * 4 + 4 * 2 + 1 + 4 + 1 + 4 + 2 + 16 * IW_SCTP_PATHS_MAX)

/* Two keys: the one cookies are made with, and the one before, which is still taken. */
struct cookie_keys {
	uint8_t key[2][SIP_KEY_LEN];
	uint8_t current; /* number of cookies' key; the key itself is key[current & 1] */
	uint64_t born;   /* of the current one */
	bool previous;   /* the other one is there */
};
#define COOKIE_KEY_LIFE IW_SEC(3600)

/* --- in: what has arrived (inq.c, reasm.c, ack.c) --------------------------------------------- */

#define DUPS_MAX 16 /* duplicates reported in one SACK */

/* A fragment that waits for the others of its message. */
struct fragment {
	uint32_t tsn, ppid;
	uint16_t stream, len;
	uint8_t flags;
	uint8_t data[];
};

struct inq {
	uint32_t cum;  /* the last TSN received in sequence */
	uint32_t high; /* the highest received; cum when none is above it */
	/* Which TSNs above cum are here: bit tsn mod map_bits. NULL until one arrives out of order. */
	uint64_t *map;
	uint32_t map_bits; /* a power of two, at least 64 */
	uint32_t dups[DUPS_MAX];
	unsigned ndups;
	unsigned packets; /* with DATA since the last SACK */
	bool any;         /* DATA has been received: the first was acknowledged at once */
	bool sack_now;
	bool detour; /* the last SACK for repeats went to another address than theirs */
	bool data_seen, new_seen;   /* in the packet under way */
	uint64_t sack_at;           /* the delayed SACK */
	uint32_t held;              /* by the user */
	uint32_t advertised;        /* in the last SACK, INIT or INIT ACK */
	struct fragment **fragment; /* by TSN; NULL until the first one */
	uint32_t nfragments, fragment_places;
	/* Charged for them: their data and a fixed amount each. */
	uint32_t fragment_octets;
	uint8_t *
		whole; /* the message put together last: the user looks at it until the next call */
	uint32_t whole_len;
};

/* --- out: what is to be sent (outq.c, sack.c, loss.c, output.c) ------------------------------- */

enum chunk_state {
	CHUNK_UNSENT,
	CHUNK_FLIGHT,
	CHUNK_LOST,  /* to be sent again */
	CHUNK_GAPPED /* acknowledged by a gap block: may be taken back */
};
/* One octet a chunk: its state, and above it the miss indications so far (RFC 9260 7.2.4). */
#define STATE_OF(octet)  ((enum chunk_state)((octet)&3))
#define MISSES_OF(octet) ((octet) >> 2)
#define MISSES_MAX       3

/* What is so short is copied into a buffer of that length, not of a packet's: there may be many. */
#define SHORT_LEN 512

struct out_chunk {
	uint64_t cookie;
	uint64_t sent_at; /* the last time */
	struct iw_vec vec[IW_SCTP_SEND_VECS];
	uint8_t *copy; /* a buffer of one of the endpoint's pools, or NULL */
	uint32_t ppid;
	uint16_t stream, len; /* len: all user data */
	uint16_t sends;       /* how often; saturates */
	uint8_t path;         /* it was sent on last */
	uint8_t hdr_len;
	bool sack_now, in_place;
	uint8_t hdr[IW_SCTP_SEND_HDR_MAX];
};

struct outq {
	struct out_chunk *ring; /* size of them, by seq; NULL until the first message */
	uint8_t *state;
	uint32_t size; /* a power of two */
	uint32_t tsn0; /* TSN of seq 0 */
	/* first <= una <= next <= end. Below first: reported done; below una: acknowledged; below next: sent. */
	uint64_t first, una, next, end;
	uint64_t gap_end;   /* behind the highest seq that a gap block acknowledged; at least una */
	uint64_t lost_from; /* no chunk below it is LOST */
	uint32_t nlost;
	uint32_t flight_data;   /* user data in flight: counts against the peer's window */
	uint32_t unsent_octets; /* chunks queued and never sent */
	uint32_t unsent_max;    /* no more are taken then */
	size_t copy_octets;     /* of the buffers that chunks were copied into */
	bool wanted;            /* somebody got IW_E_AGAIN */
	/* Loss recovery. */
	bool in_recovery;
	uint64_t recovery_end; /* it ends when this seq is una */
	uint64_t resent_end; /* something below this seq was sent again; done with when it is una */
	uint64_t rack_at, tlp_at; /* timers */
	bool tlp_out;        /* a tail-loss probe is under way, nothing new acknowledged since */
	uint64_t tlp_seq;    /* the chunk that it was */
	uint64_t persist_at; /* zero window: when to probe */
	bool probe_window;   /* send one chunk although the window is shut */
	bool probe_repeated; /* lost to the window that is open now: sent once more, not by T3 */
	bool window_answers; /* a SACK came since the last T3 while the window was shut */
};

/* --- paths (path.c, pmtu.c) ------------------------------------------------------------------- */

struct path {
	struct iw_sctp_assoc *a;
	struct link by_addr;
	struct iw_sctp_addr addr;
	enum iw_sctp_path_state state;
	bool confirmed; /* 5.4; never reset */
	uint8_t index;
	uint32_t errors;
	/* Round trips, ns; srtt 0: not measured. */
	uint64_t srtt, rttvar, rto, rtt_min;
	uint64_t rtt_seq; /* the next measurement: a chunk from here on, so one a round trip */
	/* Data. */
	struct iw_sctp_cc cc;
	uint32_t flight, nflight; /* octets with headers and padding, chunks */
	uint64_t t3_at;
	uint64_t last_sent; /* DATA; 0: none yet */
	int64_t tokens;     /* octets that pacing lets go now */
	uint64_t tokens_at;
	uint64_t pace_at;
	bool one_packet; /* in flight at most: since a timeout nothing was acknowledged (7.2.1) */
	bool rtx_pass;   /* the retransmission of one packet that no window holds back */
	/* RACK: of the chunk sent last among those acknowledged: when, its seq, its round trip. */
	uint64_t rack_sent, rack_seq, rack_rtt;
	/* Of the SACK under way: octets acknowledged, flight before it, a round trip (0: none). */
	uint32_t newly, flight_before;
	uint64_t sample;
	/* Heartbeats. */
	bool hb_due, hb_out;
	bool verify_due; /* unconfirmed: waits for its turn to get a HEARTBEAT */
	uint64_t hb_at, hb_sent;
	uint8_t hb_nonce[8];
	/* Path MTU. */
	uint32_t pmtu;
	uint32_t probe_size,
		probe_fails; /* size under way, 0: none; smallest that is known to fail */
	unsigned probe_tries;
	bool probe_due;
	bool pmtu_proven; /* a probe has shown that packets of that size pass */
	uint64_t probe_at, probe_sent;
	uint8_t probe_nonce[8];
};

/* DATA may go there. */
static inline bool path_is_usable(const struct path *p)
{
	return p->confirmed && p->state == IW_SCTP_PATH_ACTIVE;
}

/* --- the association and the endpoint --------------------------------------------------------- */

/* Control chunks that wait to be sent. */
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
	struct iw_list all, ready, pending;
	void *user;
	enum iw_sctp_state state;
	bool initiator, linked;
	unsigned events; /* bits of enum iw_sctp_event_kind */
	unsigned tx;
	uint16_t peer_port;
	uint16_t streams_out, streams_in;
	uint32_t my_tag, peer_tag, tie_local, tie_peer;
	uint32_t my_tsn;        /* initial */
	uint32_t peer_rwnd;     /* as last advertised */
	uint32_t peer_rwnd_max; /* the largest advertised */
	bool peer_has_adaptation;
	uint32_t peer_adaptation;
	struct iw_sctp_addr local;
	struct path *paths; /* the first is the primary path and always confirmed */
	unsigned npaths;
	/* The confirmed path of the peer's last packet, for answers. */
	unsigned from;
	/* HEARTBEATs to unconfirmed addresses: timer, earliest time of the next, last path. */
	uint64_t verify_at, verify_from;
	unsigned verify_turn;
	uint8_t *cookie; /* to echo */
	size_t cookie_len;
	uint8_t *report; /* parameters of the INIT ACK to be reported with the COOKIE ECHO */
	size_t report_len;
	uint64_t setup_at, guard_at; /* T1 or T2; T5 */
	unsigned tries;
	unsigned alternate; /* the last path, except the data path, that a retransmission used */
	unsigned shutdown_path; /* where SHUTDOWN, or SHUTDOWN ACK, was sent last */
	unsigned stale;         /* cookies of the peer's that it then called so */
	uint64_t setup_rto;
	uint32_t errors;
	uint32_t told_max;  /* iw_sctp_max_message as the user knows it */
	uint32_t most_told; /* the largest that it was */
	struct inq in;
	struct outq out;
	const struct iw_sctp_cc_ops *cc;
	struct iw_fault why;
	struct iw_sctp_facts count; /* its counters alone are kept here */
};

/* Packets that belong to no association, and chunks that are answered at once: ready to go. */
struct reply {
	struct iw_sctp_packet to;
	size_t len;
};
#define REPLIES_MAX 64

struct cursor {
	const struct iw_sctp_packet *pkt; /* the caller's */
	struct iw_sctp_hdr hdr;
	size_t pos; /* of the next chunk; pkt.len: done */
	struct iw_sctp_assoc *a;
	struct path *path;
	uint64_t now;
	bool open;       /* a packet is under way */
	bool complained; /* an ERROR answers it already */
	bool echoed;     /* a HEARTBEAT ACK was sent to its unconfirmed source */
};

struct iw_sctp {
	struct iw_sctp_cfg cfg;
	struct table tags, addrs;
	struct iw_heap timers;
	struct iw_list all, ready, pending;
	unsigned count; /* associations linked */
	struct cookie_keys keys;
	uint8_t hash_key[SIP_KEY_LEN];
	uint32_t jitter;               /* a cheap generator, seeded: nothing secret comes from it */
	struct iw_pool copies, shorts; /* of any chunk, of those up to SHORT_LEN */
	struct reply *reply;
	uint8_t *reply_data; /* REPLIES_MAX * cfg.mtu */
	unsigned reply_first, replies;
	uint64_t strangers_at; /* when all that were answered are paid for */
	uint64_t verify_at;    /* the same for HEARTBEATs to unconfirmed addresses */
	struct cursor cur;
	unsigned turn; /* packets that the first ready association has had in a row */
};

#define container(l, type, member) iw_container_of(l, type, member)

/* endpoint.c */
void iw_sctp_touch(struct iw_sctp_assoc *a); /* it may have something to send, or a new deadline */
void iw_sctp_raise(struct iw_sctp_assoc *a, enum iw_sctp_event_kind kind);
int iw_sctp_random32(struct iw_sctp *s, uint32_t *out); /* never 0 */
uint32_t iw_sctp_jitter(struct iw_sctp *s);
void iw_sctp_reschedule(struct iw_sctp_assoc *a);

/* assoc.c */
int iw_sctp_assoc_new(struct iw_sctp_assoc **out, struct iw_sctp *s, uint32_t my_tag,
		      uint32_t my_tsn, const struct iw_sctp_addr *peer, unsigned npeers,
		      uint16_t peer_port);
void iw_sctp_set_state(struct iw_sctp_assoc *a, enum iw_sctp_state to);
/* Ends it: out of the tables, DOWN for its user. err 0: in order. fmt as iw_text_fmt has it. */
void iw_sctp_down(struct iw_sctp_assoc *a, int err, const char *fmt, ...);
/* ABORT to the peer with that cause, then as iw_sctp_down. */
void iw_sctp_kill(struct iw_sctp_assoc *a, uint16_t cause, const void *info, size_t info_len,
		  int err, const char *fmt, ...);
void iw_sctp_established(struct iw_sctp_assoc *a, uint64_t now);
/* Replaces the paths. The first is confirmed, the others are not. */
int iw_sctp_set_paths(struct iw_sctp_assoc *a, const struct iw_sctp_addr *peer, unsigned n);
/* The path is confirmed from now on, and iw_sctp_by_addr finds it. */
void iw_sctp_set_confirmed(struct path *p);
/* The peer's packets arrive from another UDP port now (RFC 6951 5.4). */
void iw_sctp_set_udp_port(struct path *p, uint16_t udp_port);
struct iw_sctp_assoc *iw_sctp_by_tag(const struct iw_sctp *s, uint32_t tag);
/*
 * Finds a path by IP address, UDP port and SCTP port. Confirmed paths only: an unconfirmed address
 * never blocks the real owner of that address (RFC 5062 3).
 */
struct path *iw_sctp_by_addr(const struct iw_sctp *s, const struct iw_sctp_addr *addr,
			     uint16_t port);
struct path *iw_sctp_path_of(const struct iw_sctp_assoc *a, const struct iw_sctp_addr *addr);
/* Unreported and unread parts of its memory are given back. */
void iw_sctp_slim(struct iw_sctp_assoc *a);

/* cookie.c */
int iw_sctp_cookie_keys_init(struct iw_sctp *s);
/* The octets of a cookie, its MAC made with the current key, which is changed when it is old; or an error. */
int iw_sctp_cookie_seal(struct iw_sctp *s, uint8_t dst[static COOKIE_MAX], const struct cookie *c,
			uint64_t now);
/* False: not one of ours. */
bool iw_sctp_cookie_open(const struct iw_sctp *s, struct cookie *c, const uint8_t *src, size_t len);

/* params.c */
struct init_params {
	struct iw_sctp_addr peer[IW_SCTP_PATHS_MAX]; /* the packet's source first */
	unsigned npeers;
	bool has_adaptation, host_name, malformed;
	uint32_t adaptation;
	const uint8_t *cookie;
	size_t cookie_len;
	/* Those to be reported, one behind the other, as they were. */
	uint8_t report[512];
	size_t report_len;
};
void iw_sctp_params_read(struct init_params *out, const struct iw_sctp_init *in,
			 const struct iw_sctp_packet *pkt);

/* handshake.c: chunk handlers */
void iw_sctp_on_init(struct iw_sctp *s, const struct iw_sctp_chunk *c);
void iw_sctp_on_init_ack(struct iw_sctp *s, const struct iw_sctp_chunk *c);
/* The association that the rest of the packet belongs to, in s->cur; false: the packet is to be dropped. */
bool iw_sctp_on_cookie_echo(struct iw_sctp *s, const struct iw_sctp_chunk *c);
void iw_sctp_on_cookie_ack(struct iw_sctp_assoc *a, uint64_t now);
void iw_sctp_on_stale_cookie(struct iw_sctp_assoc *a);
void iw_sctp_setup_timeout(struct iw_sctp_assoc *a, uint64_t now);
/* The INIT chunk; octets or an error. */
int iw_sctp_put_init(struct iw_sctp_assoc *a, uint8_t *dst, size_t cap);

/* reply.c */
/* A packet of one chunk; the value's octets may be given in two parts. Dropped when too many wait. */
void iw_sctp_reply(struct iw_sctp *s, const struct iw_sctp_packet *to, uint16_t peer_port,
		   uint32_t vtag, uint8_t type, uint8_t flags, const void *value, size_t len);
/* Octets of a value that fits into such a packet, a multiple of four. */
size_t iw_sctp_reply_room(const struct iw_sctp *s, const struct iw_sctp_packet *to);
/* ABORT or ERROR with one cause. info is cut at its end if it does not fit. */
void iw_sctp_reply_cause(struct iw_sctp *s, const struct iw_sctp_packet *to, uint16_t peer_port,
			 uint32_t vtag, uint8_t type, uint8_t flags, uint16_t cause,
			 const void *info, size_t len);
void iw_sctp_assoc_reply(struct iw_sctp_assoc *a, uint8_t type, const void *value, size_t len);
void iw_sctp_assoc_error(struct iw_sctp_assoc *a, uint16_t cause, const void *info, size_t len);
/* A packet that no association takes (RFC 9260 8.4). */
void iw_sctp_out_of_the_blue(struct iw_sctp *s, const struct iw_sctp_packet *pkt,
			     const struct iw_sctp_hdr *h);
/* 8.4 (3): an INIT that is alone in the packet s->cur is at, and for a port where nobody listens. */
void iw_sctp_nobody_listens(struct iw_sctp *s, const struct iw_sctp_chunk *init);
size_t iw_sctp_take_reply(struct iw_sctp *s, uint8_t *buf, size_t cap, struct iw_sctp_packet *out);
/* A rate limiter: a burst of 100, then one every 1 ms. *at is its state, 0 at first. */
bool iw_sctp_within_rate(uint64_t *at, uint64_t now);
/* Where a packet of a goes: to that path. */
void iw_sctp_address(const struct iw_sctp_assoc *a, const struct path *p,
		     struct iw_sctp_packet *to);

/* inq.c */
void iw_sctp_inq_init(struct inq *q, uint32_t peer_tsn);
void iw_sctp_inq_fini(struct iw_sctp_assoc *a);
/* True: *out is a message for the user. */
bool iw_sctp_on_data(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c,
		     struct iw_sctp_recv *out);
/* The packet has been gone through: when is the SACK due? */
void iw_sctp_inq_packet_done(struct iw_sctp_assoc *a, uint64_t now);
bool iw_sctp_inq_has(const struct inq *q, uint32_t tsn);
void iw_sctp_inq_forget(struct inq *q, uint32_t tsn); /* above cum: reneged */
uint32_t iw_sctp_window(const struct iw_sctp_assoc *a);

/* reasm.c */
/* A fragment: 1 *out is a message, 0 it is kept, -1 there is no room and it was not received. */
int iw_sctp_fragment(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c,
		     const struct iw_sctp_data *d, struct iw_sctp_recv *out);
void iw_sctp_fragments_fini(struct iw_sctp_assoc *a);
/* Frees the array while it is empty. */
void iw_sctp_fragments_slim(struct iw_sctp_assoc *a);

/* ack.c */
uint32_t iw_sctp_shown_window(const struct iw_sctp_assoc *a);
/* The SACK chunk, in at most cap octets; octets written, 0: no room. Clears what it reports. */
size_t iw_sctp_put_sack(struct iw_sctp_assoc *a, uint8_t *dst, size_t cap);

/* outq.c */
void iw_sctp_outq_init(struct outq *q, uint32_t tsn);
void iw_sctp_outq_fini(struct iw_sctp_assoc *a);
void iw_sctp_outq_slim(struct iw_sctp_assoc *a);
static inline uint32_t chunk_octets(uint32_t len) /* header, user data, padding */
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
void iw_sctp_release(struct iw_sctp_assoc *a, struct out_chunk *c);
void iw_sctp_tell_room(struct iw_sctp_assoc *a);
/* FLIGHT becomes LOST. */
void iw_sctp_mark_lost(struct iw_sctp_assoc *a, uint64_t seq);
/* A chunk leaves FLIGHT or LOST because the peer has it. */
void iw_sctp_leave(struct iw_sctp_assoc *a, uint64_t seq);
/* iw_sctp_max_message as if every path MTU were proven: such messages are accepted too. */
uint32_t iw_sctp_max_unproven(const struct iw_sctp_assoc *a);
/* iw_sctp_max_message is max from now on, as the user is told. */
void iw_sctp_know_max(struct iw_sctp_assoc *a, uint32_t max);
/* After a change of path MTU or path state: tells the user when iw_sctp_max_message is another. */
void iw_sctp_check_max(struct iw_sctp_assoc *a);

/* sack.c */
void iw_sctp_on_sack(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c, uint64_t now);
/* SHUTDOWN acknowledges as well: everything up to tsn. False: the association is gone. */
bool iw_sctp_on_cum(struct iw_sctp_assoc *a, uint32_t tsn, uint64_t now);

/* loss.c */
/* After a SACK: chunks sent before one that was acknowledged, and long enough ago, are lost. */
void iw_sctp_find_lost(struct iw_sctp_assoc *a, uint64_t now);
void iw_sctp_begin_recovery(struct iw_sctp_assoc *a, unsigned paths_hit);
void iw_sctp_arm_tlp(struct iw_sctp_assoc *a, uint64_t now);
void iw_sctp_loss_timeouts(struct iw_sctp_assoc *a, uint64_t now);
void iw_sctp_t3(struct iw_sctp_assoc *a, struct path *p, uint64_t now);

/* path.c */
void iw_sctp_path_init(struct path *p, struct iw_sctp_assoc *a, const struct iw_sctp_addr *addr,
		       unsigned index);
void iw_sctp_rtt(struct path *p, uint64_t rtt);
void iw_sctp_path_alive(struct path *p, uint64_t now);
/* DATA or a HEARTBEAT was not answered. False: the association has ended. */
bool iw_sctp_path_failed(struct path *p, bool heartbeat);
void iw_sctp_hb_start(struct path *p, uint64_t now);
/* Sends the next HEARTBEAT to an unconfirmed address if it is time, else sets the timer. */
void iw_sctp_verify_next(struct iw_sctp_assoc *a, uint64_t now);
void iw_sctp_on_heartbeat_ack(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c, uint64_t now);
void iw_sctp_path_timeouts(struct path *p, uint64_t now);
/* The path for new data. */
struct path *iw_sctp_data_path(const struct iw_sctp_assoc *a);
/* Another one that works, or the same. */
struct path *iw_sctp_other_path(const struct iw_sctp_assoc *a, struct path *p);
/*
 * 6.4.1: the path for a retransmission after p has timed out. The data path gets every second one,
 * so unreachable addresses cannot end an association whose data path works.
 */
struct path *iw_sctp_rtx_path(struct iw_sctp_assoc *a, struct path *p);
/*
 * Returns the index of the path for a control chunk that was not answered on path `from`: the data
 * path and the other confirmed ones, active or not, take turns.
 */
unsigned iw_sctp_turn_path(struct iw_sctp_assoc *a, unsigned from);
void iw_sctp_path_confirm(struct path *p, uint64_t now);
/* The HEARTBEAT that is due, with a PAD when it probes: octets, 0: none. */
size_t iw_sctp_put_heartbeat(struct path *p, uint8_t *dst, size_t cap, bool probe, uint64_t now);

/* pace.c */
bool iw_sctp_pace_allows(struct path *p, uint64_t now);
void iw_sctp_pace_spend(struct path *p, uint32_t octets);

/* pmtu.c */
uint32_t iw_sctp_overhead_to(const struct iw_sctp_addr *addr); /* IP, UDP and SCTP headers */
uint32_t iw_sctp_overhead(const struct path *p);
uint32_t
iw_sctp_payload(const struct path *p); /* octets of chunks in a packet, a multiple of four */
/*
 * The payload for messages, which cannot be cut again after the first transmission: that of the
 * path MTU if a probe has shown that it passes, else that of the least one.
 */
uint32_t iw_sctp_proven_payload(const struct path *p);
/* Packets on that path are sent without DF. */
bool iw_sctp_pmtu_fragments(const struct path *p);
void iw_sctp_pmtu_start(struct path *p, uint64_t now);
void iw_sctp_pmtu_answered(struct path *p, uint64_t now);
/* The peer answers again after errors of the path. */
void iw_sctp_pmtu_retry(struct path *p, uint64_t now);
void iw_sctp_pmtu_timeout(struct path *p, uint64_t now);
void iw_sctp_pmtu_lower(struct path *p, uint32_t mtu, uint64_t now);
/* RFC 8899 4.3, a black hole: after a timeout of the path, and after a chunk that went so often was lost once more. */
void iw_sctp_pmtu_timed_out(struct path *p, uint64_t now);
void iw_sctp_pmtu_lost(struct path *p, unsigned sends, uint64_t now);

/* output.c */
size_t iw_sctp_assoc_output(struct iw_sctp_assoc *a, uint8_t *buf, size_t cap,
			    struct iw_sctp_packet *out, uint64_t now);

/* shutdown.c */
void iw_sctp_shutdown_progress(struct iw_sctp_assoc *a,
			       uint64_t now); /* all acknowledged? on to the next state */
void iw_sctp_on_shutdown(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c, uint64_t now);
void iw_sctp_on_shutdown_ack(struct iw_sctp_assoc *a);
void iw_sctp_on_shutdown_complete(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c);
void iw_sctp_on_abort(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c);
void iw_sctp_shutdown_timeout(struct iw_sctp_assoc *a, uint64_t now);

#endif
