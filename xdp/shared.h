/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface between XDP programs and user space: maps, keys, values, and the metadata in front
 * of a frame.
 *
 * All types have a fixed width, and no compiler adds padding. Numbers are in host order; those
 * marked "wire" are in the order of the packet. Each map names its writers and readers:
 *   program   the steering program (or the named one), for every packet
 *   loader    lib/loader/steer.c, on behalf of a carrier
 *   carrier   lib/pkt/xdp.c; each has one worker (lib/pkt/xsk.h)
 *   status    ddp-xdp status, which only reads
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

/* Version of maps, keys and values. A process does not use an attached program of another
 * version. */
#define IW_XDP_VERSION  4
/* Names of the programs in the kernel. Each ends in the version of the program. */
#define IW_XDP_PROGRAM  "iw_steer_5"
#define IW_XDP_OBSERVER "iw_observe_1"

/* Entries of maps, unless struct iw_steer_cfg has others. */
#define IW_XDP_ENDPOINTS_DEFAULT 1024
#define IW_XDP_ASSOCS_DEFAULT    65536
#define IW_XDP_STAGS_DEFAULT     1048576
/* One of this many events is sampled, unless struct iw_steer_cfg has another number. */
#define IW_XDP_SAMPLE_DEFAULT    256

#define IW_XDP_WORKERS 64 /* on one interface; each has one socket per queue */
#define IW_XDP_HEAD    64 /* octets of a packet that a sampled event shows */

/* --- map "endpoints": hash. loader writes; program reads, for every packet --- */

/*
 * A registered SCTP port. The program looks it up twice: with the packet's destination address,
 * then with the all-zero address, which stands for any address. A packet that matches is ours,
 * whatever its Verification Tag: INITs (tag 0), cookies, ABORTs with a reflected tag. The kernel
 * gets all other packets.
 */
struct iw_xdp_endpoint_key {
	uint32_t addr[4];   /* wire: IPv6; IPv4 as ::ffff:a.b.c.d; zero: any of both families */
	uint16_t sctp_port; /* wire: destination */
	uint16_t udp_port;  /* wire: destination; 0: SCTP directly on IP */
};
struct iw_xdp_endpoint {
	uint32_t id;     /* never 0, never reused by this program */
	uint32_t worker; /* receives packets whose tag matches no association */
	/* The PPIDs of segments and of session control: 16 and 17 (RFC 5043 5.2), or those of a
	 * draft. */
	uint32_t ppid_segment, ppid_control;
};

/* --- map "assocs": hash. loader writes; program reads, for every packet that is ours --- */

/* The tag selects the worker and nothing else. */
struct iw_xdp_assoc_key {
	uint32_t endpoint; /* id */
	uint32_t tag;      /* Verification Tag of packets to us */
};
struct iw_xdp_assoc {
	uint32_t worker;
};

/* --- map "stags": hash. loader writes; program reads, for every tagged segment --- */

struct iw_xdp_stag_key {
	uint32_t endpoint; /* id */
	uint32_t stag;
};
/* The Protection Domain and the DDP stream of an STag or a session. The process that owns the
 * endpoint chooses the numbers. */
struct iw_xdp_home {
	uint32_t pd;
	uint32_t stream; /* of an STag, 0: all streams of the domain may use it */
	/* Of an STag: the CLOCK_MONOTONIC time in ns when it expires; 0: never. */
	uint64_t expires;
};

/* --- map "sessions": hash, struct iw_xdp_stream_key to struct iw_xdp_home. loader writes --- */
/*
 * The program reads it for tagged segments. An entry is the DDP stream that a pair of SCTP streams
 * of an association carries (RFC 5043 6). An STag is valid on the session if both have the same
 * Protection Domain, and the same DDP stream unless that of the STag is 0 (RFC 5041 8.2).
 */

/* --- map "xsks": XSKMAP. loader writes; program redirects through it --- */

/*
 * An AF_XDP socket accepts frames of its own queue only, so a worker has one socket for each queue.
 * When a socket is closed, the kernel removes its entry. The program passes further packets for it
 * to the kernel, and counts them under no_socket.
 */
#define IW_XDP_XSK(queue, worker) ((queue)*IW_XDP_WORKERS + (worker))

/* --- map "sockets": array, indexed as xsks. carrier writes through the loader; status reads --- */

enum iw_xdp_sock_flag {
	IW_XDP_SOCK_ZEROCOPY = 1, /* the actual mode, not the requested one */
	IW_XDP_SOCK_NEED_WAKEUP = 2,
	IW_XDP_SOCK_SG = 4, /* frames of several descriptors */
	IW_XDP_SOCK_BUSY_POLL = 8,
};
/* State that the program cannot see: the kernel reports it only to the owner of the socket. */
struct iw_xdp_sock {
	uint32_t pid; /* 0: no socket */
	uint32_t flags;
	uint64_t rx, tx; /* packets of the worker, in the entry of its first socket */
	uint64_t live;   /* of tx: those that the program sent */
	/* XDP_STATISTICS: packets dropped because no frame was free or they were too long; dropped
	 * because the receive ring was full; times that the fill ring was empty; invalid transmit
	 * descriptors. */
	uint64_t rx_dropped, rx_ring_full, rx_fill_empty, tx_invalid;
};

/* --- map "live": array of arrays of struct iw_xdp_live. worker writes; program reads --- */

/*
 * Indexed by worker. Packets that the program itself sends when a worker runs it on live frames
 * (BPF_PROG_RUN). Each run takes the next packet, writes it into its frame and redirects the frame
 * to the interface. A live frame begins with an order, which names the worker.
 *
 * The kernel reuses the frames within one call, so an order must still be intact when its frame is
 * used again. The packet therefore begins IW_XDP_LIVE_ORDER octets after the order: a program at
 * the far end writes its metadata between them. That program can read and write the order, so an
 * order contains no secret.
 *
 * Live frames arrive on IW_XDP_LIVE_INGRESS, and frames from the wire never do, so no peer can
 * forge an order. An order that names another worker sends nothing unless that worker has a packet
 * pending.
 */
/* The loopback interface of every network namespace, as xdp_md::ingress_ifindex of live frames. */
#define IW_XDP_LIVE_INGRESS 1
#define IW_XDP_LIVE_ORDER   64     /* octets from the beginning of the order to the packet */
#define IW_XDP_LIVE_TYPE    0xb588 /* wire: an EtherType for local experiments (IEEE 802) */
/* At most this many octets of headers are in front of the SCTP packet. */
#define IW_XDP_LIVE_HEAD    128
#define IW_XDP_LIVE_FRAME   3200 /* octets of a frame, at most: a live frame is part of a page */
#define IW_XDP_LIVE_BURST   256  /* packets of one call, at most */

struct iw_xdp_order {
	uint8_t unused[8];
	uint32_t worker;
	uint16_t type; /* IW_XDP_LIVE_TYPE, where a frame has its EtherType */
	uint16_t zero;
};
/* Entry 0 has ifindex, last, next and bad for all packets; each other entry is a packet. The size
 * is an odd number of cache lines. */
struct iw_xdp_live {
	uint32_t ifindex; /* of the interface that sends the packets */
	uint32_t last;    /* the entries next .. last are pending */
	/* The entry to send next; the number of runs that sent nothing. */
	uint32_t next, bad;
	uint32_t at, len; /* the frame: offset in octets[], and length */
	uint8_t octets[3368];
};

/* --- map "counters": per-CPU array of one. program writes; status adds up all CPUs --- */

/* clang-format off */
/* Why the program passed a packet to the kernel: name, key in JSON, meaning. */
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

/* Findings in packets that are ours. The worker receives these packets nevertheless. */
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
	/* Steered to a socket; octets are those of whole frames. */
	uint64_t packets, octets;
	uint64_t passed[IW_XDP_PASS_COUNT]; /* to the kernel, by enum iw_xdp_pass */
	uint64_t seen[IW_XDP_SEEN_COUNT];   /* by enum iw_xdp_seen */
	uint64_t chunks, data;              /* all chunks; DATA chunks of any PPID */
	/* DATA with the PPID of segments, with that of session control, with any other */
	uint64_t segments, controls, foreign;
	uint64_t tl[4];                          /* segments by the flags T and L: 2 * T + L */
	uint64_t opcode[16];                     /* segments by RDMAP opcode */
	uint64_t tagged_octets, untagged_octets; /* of user data after the DDP headers */
	uint64_t events_lost;                    /* the ring buffer was full */
};

/* --- map "streams": LRU per-CPU hash. program writes; status adds up --- */

struct iw_xdp_stream_key {
	uint32_t endpoint, tag;
	uint16_t stream, zero; /* of SCTP */
};
struct iw_xdp_stream {
	uint64_t segments; /* DATA chunks with segments */
	uint64_t octets;   /* of user data after the DDP header */
};

/* --- map "recent": per-CPU array of one. program writes; status reads --- */

/* A cache of the last lookups: packets arrive in runs of one association, and the program looks up
 * a run once. The entry is valid while the map "generation" has the same number as when it was
 * made. */
struct iw_xdp_recent {
	uint64_t generation;
	struct iw_xdp_endpoint_key to;
	uint32_t tag, endpoint, worker;
	uint32_t known;                      /* 1: the tag is that of an association */
	uint32_t stag, stag_stream;          /* an STag, and an SCTP stream on which it is valid */
	uint32_t has_stag;                   /* 1: stag and stag_stream are set */
	uint32_t has_stream, zero;           /* 1: stream and pending are set */
	uint32_t ppid_segment, ppid_control; /* of the endpoint */
	/* Counts not yet added to the entry of this stream in the map "streams". */
	struct iw_xdp_stream_key stream;
	struct iw_xdp_stream pending;
};

/* --- map "generation": array of one uint64_t. loader writes; program reads --- */
/* The loader writes a new number after every change of endpoints, assocs and sessions, and after it
 * removes an STag. */

/* --- map "events": ring buffer. program writes; ddp-xdp status --events reads --- */

enum iw_xdp_event_kind {
	IW_XDP_EV_STAG = 1, /* segments for unknown STags */
	IW_XDP_EV_CHUNK,    /* packets with invalid chunk lengths */
	IW_XDP_EV_FRAGMENT, /* fragments that went to the kernel */
};
struct iw_xdp_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t kind;
	uint32_t every; /* one of this many events of the kind is sampled */
	uint32_t endpoint, tag;
	uint32_t stag;
	uint16_t stream;
	uint16_t len; /* octets of the frame */
	/* The first head_len octets of the packet, beginning with the IP header; for
	 * IW_XDP_EV_STAG, with the DATA chunk. */
	uint8_t head[IW_XDP_HEAD];
	uint16_t head_len;
	uint16_t zero[3];
};

/* --- metadata: in front of a frame's first octet. program writes; carrier reads --- */

/*
 * The positions of headers, so that the carrier need not parse the frame again. The metadata ends
 * where the frame begins. It is present if magic is IW_XDP_META_MAGIC: AF_XDP does not report how
 * much metadata a frame has. The carrier therefore erases magic before it puts a used frame into
 * the fill ring again. Offsets are in octets from the frame's first octet; the carrier checks that
 * they are within the frame.
 */
#define IW_XDP_META_MAGIC 0x69578d01u

enum iw_xdp_meta_flag {
	IW_XDP_META_IPV6 = 1,
	IW_XDP_META_UDP = 2,    /* SCTP in UDP: the UDP header is the 8 octets before sctp */
	IW_XDP_META_ASSOC = 4,  /* the tag is that of a registered association */
	IW_XDP_META_CHUNKS = 8, /* all chunks are within the packet, and all were examined */
	IW_XDP_META_MIXED = 16, /* there are chunks other than DATA with segments */
};
struct iw_xdp_meta {
	uint32_t magic;
	uint16_t ip;       /* offset of the IP header */
	uint16_t sctp;     /* offset of the SCTP common header */
	uint16_t sctp_len; /* octets of the SCTP packet, by the lengths in IP and UDP */
	uint16_t flags;    /* enum iw_xdp_meta_flag */
	uint16_t chunks;   /* chunks examined */
	uint16_t segments; /* of these: DATA chunks with segments */
	uint16_t first;    /* offset of the first such DATA chunk; 0: none */
	uint16_t unknown;  /* tagged segments with an unknown STag */
	uint32_t endpoint; /* id */
	uint32_t tag;
};

/* --- map "flows": LRU hash. the observing program writes; status reads --- */

/* One direction of a TCP connection, beginning with its MPA Request or Reply. */
struct iw_xdp_flow_key {
	uint8_t src[16], dst[16]; /* as in struct iw_xdp_endpoint_key */
	uint16_t sport, dport;    /* wire */
};
enum iw_xdp_markers { IW_XDP_MARKERS_UNKNOWN, IW_XDP_MARKERS_NONE, IW_XDP_MARKERS };
struct iw_xdp_flow {
	/* Sequence numbers: */
	uint32_t start;  /* first octet of full operation, after the start-up frame */
	uint32_t next;   /* first octet of the next FPDU, or of the marker before its length */
	uint32_t length; /* first octet of that FPDU's ULPDU_Length */
	uint32_t end;    /* after the last octet that was seen */
	/* If the last octet seen is the first of a ULPDU_Length: 256 + that octet; else 0. */
	uint32_t half;
	uint32_t lost;    /* 1: the start of the next FPDU is no longer known */
	uint32_t markers; /* enum iw_xdp_markers */
	uint32_t zero;
	/* TCP segments with payload after the start-up frame; octets of their payload. */
	uint64_t segments, octets;
	uint64_t followed; /* of these segments: those in which the start of FPDUs was known */
	uint64_t aligned;  /* of followed: those that begin with an FPDU */
	uint64_t fpdus;
	uint64_t resent; /* segments without new octets */
	uint64_t holes;  /* segments after octets that were not seen */
};

/* --- map "mpa": per-CPU array of one. the observing program writes; status adds up --- */

/* clang-format off */
#define IW_XDP_MPA_LIST(X)                                                                             \
	X(packets,  "TCP segments")                                                                    \
	X(flows,    "directions of connections that began with MPA")                                   \
	X(segments, "TCP segments with payload after the start-up frame")                              \
	X(octets,   "of that payload")                                                                 \
	X(followed, "of these segments, those in which it was known where FPDUs begin")                \
	X(aligned,  "of those, the ones that begin with an FPDU")                                      \
	X(fpdus,    "FPDUs that begin in them")                                                        \
	X(resent,   "segments without new octets")                                                     \
	X(holes,    "segments after octets that were not seen")                                        \
	X(lost,     "flows in which the start of FPDUs is no longer known")
/* clang-format on */

struct iw_xdp_mpa {
#define IW_X_(name, text) uint64_t name;
	IW_XDP_MPA_LIST(IW_X_)
#undef IW_X_
};

/* --- the generating program: constants, set before it is loaded --- */

/* Offset of SCTP: after Ethernet and IPv4 without options. */
#define IW_XDP_GENERATE_AT (14 + 20)
struct iw_xdp_generate {
	uint64_t to;      /* the TO of the first segment */
	uint64_t slots;   /* after this many segments, the TO is that of the first again */
	uint64_t payload; /* octets of a segment */
	/* At most this many segments are in flight. The receiver writes the number of segments that
	 * arrived into map "counter", an array of one uint64_t. */
	uint64_t ahead;
	uint32_t base; /* CRC32c of the packet with zeroes for TSN, DDP-SSN and TO */
	uint32_t zero;
	/* crc[i][v]: what value v adds to base as octet i of TSN, DDP-SSN and TO, in this order. */
	uint32_t crc[14][256];
};

#endif
