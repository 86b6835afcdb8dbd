/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an XDP program and user space both see: maps, keys, values, the metadata in front of a frame.
 *
 * Fixed-width types only, no padding that a compiler could choose. Numbers are in host order unless
 * it says "wire": then they lie as they do in the packet. Each map says who writes and who reads it:
 *   program   the steering program, for every packet
 *   loader    lib/loader/steer.c, on behalf of a carrier
 *   status    ddp-xdp status, which only looks
 */
#ifndef IW_XDP_SHARED_H
#define IW_XDP_SHARED_H

#ifdef __bpf__
#include <linux/types.h>
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
#else
#include <stdint.h>
#endif

/* Of maps, keys and values: who finds a resident program of another number does not touch it. */
#define IW_XDP_VERSION  4
#define IW_XDP_PROGRAM  "iw_steer_5" /* names in the kernel: the version is their end */
#define IW_XDP_OBSERVER "iw_observe_1"

#define IW_XDP_WORKERS 64 /* at once on one interface; a worker has one socket for each queue */
#define IW_XDP_HEAD    64 /* octets of a packet that a sampled event shows */

/* --- map "endpoints": hash. loader writes; program reads, for every packet -------------------- */

/*
 * An SCTP port of ours. Looked up twice: with the packet's destination address, then with the
 * address of all zeroes, which stands for any. What matches is ours, whatever its Verification Tag:
 * INITs (tag 0), cookies, ABORTs with a reflected tag. What does not goes to the kernel.
 */
struct iw_xdp_endpoint_key {
	uint32_t addr[4];   /* wire: IPv6; IPv4 as ::ffff:a.b.c.d; zeroes: any of both */
	uint16_t sctp_port; /* wire: destination */
	uint16_t udp_port;  /* wire: destination; 0: SCTP straight on IP */
};
struct iw_xdp_endpoint {
	uint32_t id;     /* never 0, never used again by this program */
	uint32_t worker; /* gets what no association's tag matches */
	/*
	 * Payload protocols of segments and of session control (RFC 5043 5.2: 16, 17; or a
	 * draft's).
	 */
	uint32_t ppid_segment, ppid_control;
};

/* --- map "assocs": hash. loader writes; program reads, for every packet that is ours ----------- */

/* The tag picks the worker and nothing else. */
struct iw_xdp_assoc_key {
	uint32_t endpoint; /* id */
	uint32_t tag;      /* Verification Tag of packets to us */
};
struct iw_xdp_assoc {
	uint32_t worker;
};

/* --- map "stags": hash. loader writes; program reads, for every tagged segment ----------------- */

struct iw_xdp_stag_key {
	uint32_t endpoint; /* id */
	uint32_t stag;
};
/* Whose it is: a DDP stream and its Protection Domain, by the numbers of the endpoint's owner. */
struct iw_xdp_home {
	uint32_t pd;
	uint32_t stream; /* of an STag, 0: every stream of the domain may name it */
	/* Of an STag: CLOCK_MONOTONIC in ns, from then on it is not known; 0: until it is removed. */
	uint64_t expires;
};

/* --- map "sessions": hash, struct iw_xdp_stream_key to struct iw_xdp_home. loader writes; program reads, for
 * tagged segments. The DDP stream that a pair of SCTP streams of an association carries (RFC 5043 6): an STag
 * is known on it when the domain is its own and the stream, too, or 0 (RFC 5041 8.2) ------------------- */

/* --- map "xsks": XSKMAP. loader writes; program redirects through it --------------------------- */

/* AF_XDP takes frames of the socket's own queue only, so a worker has one socket for each. The kernel
 * takes a closed socket out by itself; then packets go to the kernel and are counted as no_socket. */
#define IW_XDP_XSK(queue, worker) ((queue)*IW_XDP_WORKERS + (worker))

/* --- map "sockets": array, indexed like xsks. the carrier writes through the loader; status reads -- */

enum iw_xdp_sock_flag {
	IW_XDP_SOCK_ZEROCOPY = 1, /* what was obtained, not what was asked for */
	IW_XDP_SOCK_NEED_WAKEUP = 2,
	IW_XDP_SOCK_SG = 4, /* frames of several descriptors */
	IW_XDP_SOCK_BUSY_POLL = 8,
};
/* What the program cannot know: the kernel tells it to the socket's owner alone. */
struct iw_xdp_sock {
	uint32_t pid; /* 0: no socket */
	uint32_t flags;
	uint64_t rx, tx; /* packets */
	uint64_t live;   /* of tx: those that the program sent */
	/* XDP_STATISTICS: no descriptor or too long; ring full; no frame in the fill ring; bad transmit
	 * descriptor */
	uint64_t rx_dropped, rx_ring_full, rx_fill_empty, tx_invalid;
};

/* --- map "live": array of arrays, by worker; of struct iw_xdp_live, which the worker writes and the program reads -- */

/*
 * Packets that the program itself sends when a worker runs it on live frames (BPF_PROG_RUN): each run takes the
 * next one, writes it into its frame and redirects that to the interface. Such a frame begins with an order, which names the
 * worker. Frames are used again within a call, so the order must outlive them: after it there is room for the metadata
 * that a program at the far end puts in front of the packet. That program can read and write the order, so an order
 * contains no secret. The kernel reports that live frames arrive on IW_XDP_LIVE_INGRESS, and frames from the wire never do: so no
 * other sender can forge an order. One that names another worker sends nothing unless that worker has a packet pending.
 */
#define IW_XDP_LIVE_INGRESS                                                                        \
	1                    /* loopback, in every network namespace; its xdp_md::ingress_ifindex */
#define IW_XDP_LIVE_ORDER 64 /* octets from the order to the packet */
#define IW_XDP_LIVE_TYPE  0xb588 /* wire: an EtherType for local experiments (IEEE 802) */
#define IW_XDP_LIVE_HEAD                                                                           \
	128 /* octets of a packet's head, which lies in front of the packet, at most */
#define IW_XDP_LIVE_FRAME 3200 /* octets of a frame, at most: a live frame is part of a page */
#define IW_XDP_LIVE_BURST 256

struct iw_xdp_order {
	uint8_t unused[8];
	uint32_t worker;
	uint16_t type; /* IW_XDP_LIVE_TYPE, where a frame has its EtherType */
	uint16_t zero;
};
/* The first of them, 0, has no packet but what is common to all; an odd number of cache lines. */
struct iw_xdp_live {
	uint32_t ifindex;   /* where packets leave */
	uint32_t last;      /* pending are next .. last */
	uint32_t next, bad; /* the packet whose turn it is; runs that did not send it */
	uint32_t at, len;   /* the frame */
	uint8_t octets[3368];
};

/* --- map "counters": per-CPU array of one. program writes; status and the carrier add up ------- */

/* clang-format off */
/* Why a packet went to the kernel.    name            meaning */
#define IW_XDP_PASS_LIST(X)                                                                            \
	X(ETHER,        "ether",        "neither IPv4 nor IPv6, or too many VLAN tags")                \
	X(VLAN,         "vlan",         "tag of a VLAN, which has an interface of its own")             \
	X(IP_BAD,       "ip_bad",       "truncated or inconsistent IP header")                          \
	X(IP_EXTENSION, "ip_extension", "IPv6 extension headers for the kernel, or too many of them")   \
	X(FRAGMENT,     "fragment",     "fragment of an IP datagram, which the kernel reassembles")     \
	X(PROTOCOL,     "protocol",     "neither SCTP nor UDP")                                        \
	X(UDP_BAD,      "udp_bad",      "truncated or inconsistent UDP header")                         \
	X(SCTP_SHORT,   "sctp_short",   "no room for an SCTP common header")                           \
	X(ENDPOINT,     "endpoint",     "no registered endpoint")                                       \
	X(SOCKET,       "no_socket",    "registered endpoint whose worker has no socket on this queue")

/* What was seen in packets that are ours; none of it keeps them from the worker. */
#define IW_XDP_SEEN_LIST(X)                                                                            \
	X(NO_ASSOC,     "no_assoc",     "unknown Verification Tag: set-up, or another association")     \
	X(NO_META,      "no_meta",      "the driver has no room for metadata")                         \
	X(CHUNK_BAD,    "chunk_bad",    "a chunk that ends after its packet, or has below 4 octets")    \
	X(CHUNK_MORE,   "chunk_more",   "more chunks than the program examines")                        \
	X(DATA_SHORT,   "data_short",   "a DATA chunk without room for its header")                    \
	X(DDP_SHORT,    "ddp_short",    "a segment without room for its DDP header")                   \
	X(DATA_PART,    "data_part",    "a fragment of a user message")                                \
	X(STAG_UNKNOWN, "stag_unknown", "a tagged segment for an STag not registered for its stream")  \
	X(NO_SESSION,   "no_session",   "a tagged segment on a stream that carries no DDP stream")      \
	X(MULTI_BUFFER, "multi_buffer", "a frame of several buffers")
/* clang-format on */

enum iw_xdp_pass {
#define IW_X_(name, key, text) IW_XDP_PASS_##name,
	IW_XDP_PASS_LIST(IW_X_)
#undef IW_X_
		IW_XDP_PASS_COUNT
};
enum iw_xdp_seen {
#define IW_X_(name, key, text) IW_XDP_SEEN_##name,
	IW_XDP_SEEN_LIST(IW_X_)
#undef IW_X_
		IW_XDP_SEEN_COUNT
};

struct iw_xdp_counters {
	uint64_t packets, octets;           /* steered to a socket; octets of whole frames */
	uint64_t passed[IW_XDP_PASS_COUNT]; /* to the kernel, by enum iw_xdp_pass */
	uint64_t seen[IW_XDP_SEEN_COUNT];   /* by enum iw_xdp_seen */
	uint64_t chunks, data;              /* all chunks; DATA chunks of any PPID */
	/* DATA with the PPID of segments, with that of session control, with any other */
	uint64_t segments, controls, foreign;
	uint64_t tl[4];                          /* segments by T and L: 2 * T + L */
	uint64_t opcode[16];                     /* segments by RDMAP opcode */
	uint64_t tagged_octets, untagged_octets; /* of user data behind the DDP headers */
	uint64_t events_lost;                    /* the ring buffer was full */
};

/* --- map "streams": LRU per-CPU hash. program writes; status adds up ---------------------------- */

struct iw_xdp_stream_key {
	uint32_t endpoint, tag;
	uint16_t stream, zero; /* of SCTP */
};
struct iw_xdp_stream {
	uint64_t segments,
		octets; /* DATA chunks with segments; octets of user data after the DDP header */
};

/* --- map "recent": per-CPU array of one. program writes; status reads ----------------------------- */

/*
 * Packets come in runs of one association, and a run is looked up once. What is here holds as long as
 * the map "generation" has the number that it had then.
 */
struct iw_xdp_recent {
	uint64_t generation;
	struct iw_xdp_endpoint_key to;
	uint32_t tag, endpoint, worker;
	uint32_t known;             /* tag is of an association, and these are its: */
	uint32_t stag, stag_stream; /* an STag that is known on an SCTP stream */
	uint32_t has_stag;
	uint32_t has_stream, zero;
	uint32_t ppid_segment, ppid_control; /* of the endpoint */
	/* What is not yet in the map "streams", which has an entry for it. */
	struct iw_xdp_stream_key stream;
	struct iw_xdp_stream pending;
};

/* --- map "generation": array of one uint64_t. loader writes, behind every change of endpoints, of assocs and of
 * sessions, and behind every STag that goes: a number that was not there before; program reads -------- */

/* --- map "events": ring buffer. program writes; ddp-xdp status --events reads -------------------- */

enum iw_xdp_event_kind {
	IW_XDP_EV_STAG = 1, /* segments for unknown STags */
	IW_XDP_EV_CHUNK,    /* packets whose chunk lengths lie */
	IW_XDP_EV_FRAGMENT, /* fragments that went to the kernel */
};
struct iw_xdp_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t kind;
	uint32_t every; /* this one stands for about so many of its kind */
	uint32_t endpoint, tag;
	uint32_t stag;
	uint16_t stream;
	uint16_t len; /* octets of the frame */
	/* The frame's first octets, from the IP header on; of an STag's event from the DATA chunk on. */
	uint8_t head[IW_XDP_HEAD];
	uint16_t head_len;
	uint16_t zero[3];
};

/* --- metadata: in front of a frame's first octet. program writes; the carrier reads -------------- */

/*
 * Where things lie, so that the carrier does not parse again: these octets end where the frame begins.
 * They are there when magic is IW_XDP_META_MAGIC, which holds only if the owner of the UMEM wipes it
 * before a frame goes back into the fill ring: AF_XDP does not tell how much metadata a frame has. The
 * offsets count from the frame's first octet; whoever acts on them checks that they lie within it.
 */
#define IW_XDP_META_MAGIC 0x69578d01u

enum iw_xdp_meta_flag {
	IW_XDP_META_IPV6 = 1,
	IW_XDP_META_UDP = 2,    /* SCTP in UDP: its header is the 8 octets before sctp */
	IW_XDP_META_ASSOC = 4,  /* tag is of an association that the map knows */
	IW_XDP_META_CHUNKS = 8, /* all chunks lie within the packet, and all were looked at */
	IW_XDP_META_MIXED = 16, /* there are other chunks than DATA with segments */
};
struct iw_xdp_meta {
	uint32_t magic;
	uint16_t ip;       /* offset of the IP header */
	uint16_t sctp;     /* offset of the SCTP common header */
	uint16_t sctp_len; /* octets from there to the packet's end as IP and UDP tell it */
	uint16_t flags;    /* enum iw_xdp_meta_flag */
	uint16_t chunks;   /* looked at */
	uint16_t segments; /* DATA chunks with segments among them */
	uint16_t first;    /* offset of the first such chunk; 0: none */
	uint16_t unknown;  /* tagged segments with an unknown STag */
	uint32_t endpoint; /* id */
	uint32_t tag;
};

/* --- the observing program for MPA over TCP: map "flows", LRU hash. program writes; status reads -- */

/* One direction of a connection, from its MPA Request or Reply on. */
struct iw_xdp_flow_key {
	uint8_t src[16], dst[16]; /* as in struct iw_xdp_endpoint_key */
	uint16_t sport, dport;    /* wire */
};
enum iw_xdp_markers { IW_XDP_MARKERS_UNKNOWN, IW_XDP_MARKERS_NONE, IW_XDP_MARKERS };
struct iw_xdp_flow {
	/* Sequence numbers: */
	uint32_t start;  /* of full operation, behind the start-up frame */
	uint32_t next;   /* at which the next FPDU begins, with its marker if one is due there */
	uint32_t length; /* of that FPDU's ULPDU_Length */
	uint32_t end;    /* behind the last octet that was seen */
	/* A length begins with the last octet seen: 256 and that octet; else 0. */
	uint32_t half;
	uint32_t lost;    /* 1: where FPDUs begin is not known any more */
	uint32_t markers; /* enum iw_xdp_markers */
	uint32_t zero;
	uint64_t segments,
		octets;    /* TCP segments with payload behind the start-up frame; their payload */
	uint64_t followed; /* of these segments, those in which it was known where FPDUs begin */
	uint64_t aligned;  /* of those, the ones that begin with an FPDU */
	uint64_t fpdus;
	uint64_t resent; /* segments that brought nothing new */
	uint64_t holes;  /* segments behind octets that were not seen */
};

/* --- map "mpa": per-CPU array of one. program writes; status adds up ------------------------------- */

/* clang-format off */
#define IW_XDP_MPA_LIST(X)                                                                             \
	X(packets,  "TCP segments")                                                                    \
	X(flows,    "directions of connections that were seen to begin with MPA")                      \
	X(segments, "TCP segments with payload in them, behind the start-up frame")                    \
	X(octets,   "of that payload")                                                                 \
	X(followed, "of these segments, those in which it was known where FPDUs begin")                \
	X(aligned,  "of those, the ones that begin with an FPDU")                                      \
	X(fpdus,    "FPDUs that begin in them")                                                        \
	X(resent,   "segments that brought nothing new")                                               \
	X(holes,    "segments behind octets that were not seen")                                       \
	X(lost,     "flows whose FPDUs could not be followed any more")
/* clang-format on */

struct iw_xdp_mpa {
#define IW_X_(name, text) uint64_t name;
	IW_XDP_MPA_LIST(IW_X_)
#undef IW_X_
};

/* --- the generator: constants, set before it is loaded ------------------------------------------- */

#define IW_XDP_GENERATE_AT                                                                         \
	(14 + 20) /* where SCTP begins: behind Ethernet and IPv4 without options */
struct iw_xdp_generate {
	uint64_t to; /* where the first segment goes, and again each slots segments */
	uint64_t slots;
	uint64_t payload; /* octets of a segment */
	uint64_t
		ahead; /* segments under way, at most: map "gate", array of one uint64_t, says how many
			   * have arrived. the receiver writes; program reads */
	uint32_t base; /* CRC32c with zeroes for TSN, DDP-SSN and TO */
	uint32_t zero;
	uint32_t crc[14]
		    [256]; /* what an octet adds: of TSN, DDP-SSN and TO, the first ones first */
};

#endif
