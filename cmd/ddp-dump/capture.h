/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture: captured frames in, iWARP events out. What ddp-dump is made of.
 *
 * Job: find TCP in captured frames, put each direction of a connection back in order, find the MPA
 * Request, follow what it negotiates, walk FPDUs and markers, check CRCs; find SCTP, on IP and in
 * UDP, follow the TSNs of each association, its DDP Stream Sessions and their DDP-SSNs; decode DDP
 * and RDMAP, and say what of it breaks a rule. Everything is judged from what was captured; a
 * capture may have holes, and a hole is not the fault of the peers.
 *
 *     iw_cap_push(c, &frame);              one frame, borrowed until iw_cap_next has returned NULL
 *     while ((ev = iw_cap_next(c))) ...    what it told
 *     iw_cap_finish(c);                    no more frames
 *     while ((ev = iw_cap_next(c))) ...    what was still waiting
 *     iw_cap_totals(c)
 *
 * Neighbours: lib/wire decodes headers; ddp-dump and the tests call it. The decoder (all files but
 * source.c and show.c) makes no system call and prints nothing, so tests and fuzzers drive it; source.c
 * reads capture files through libpcap, show.c (ddp-dump/show.h) writes what was decoded.
 * Threads: none, no locks; one decoder belongs to one thread at a time.
 * Memory: bounded by struct iw_cap_limits. In the steady state nothing is allocated: a frame that
 * arrives in order is decoded where it lies; only what comes ahead of its turn is copied, into
 * blocks of a pool.
 */
#ifndef IW_CAPTURE_CAPTURE_H
#define IW_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/mem.h"
#include "util/text.h"
#include "wire/atomic.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/sctp.h"
#include "wire/sctpddp.h"

/* What stands in front of the IP header. */
enum iw_cap_link {
	IW_CAP_ETHERNET, /* with any number of VLAN tags */
	IW_CAP_SLL,      /* Linux cooked, version 1 */
	IW_CAP_SLL2,     /* Linux cooked, version 2 */
	IW_CAP_RAW,      /* nothing */
	IW_CAP_NULL,     /* four octets with an address family, in either octet order */
};

struct iw_cap_frame {
	uint64_t number;  /* from 1, as capture tools count */
	uint64_t time_ns; /* since 1970 */
	enum iw_cap_link link;
	const uint8_t *data;
	size_t len;      /* octets captured */
	size_t wire_len; /* octets the frame had; more than len when the capture cut it short */
};

struct iw_cap_end {
	bool v6;
	uint8_t addr[16];  /* IPv4: the first four */
	uint16_t port;     /* of TCP or SCTP */
	uint16_t udp_port; /* SCTP in UDP: below it; else 0 */
};

/* Longest text of iw_cap_end_print, with its NUL. */
#define IW_CAP_END_TEXT 68

enum iw_cap_over {
	IW_CAP_OVER_TCP,
	IW_CAP_OVER_SCTP,
	IW_CAP_OVER_UDP, /* SCTP in UDP, RFC 6951 */
};
const char *iw_cap_over_name(enum iw_cap_over o); /* "tcp", "sctp", "udp" */

/*
 * One TCP connection or SCTP association. Owned by the decoder; valid as long as the event that
 * refers to it.
 */
struct iw_cap_flow {
	/* from 0, in order of appearance; each has one, iWARP or not */
	uint32_t id;
	enum iw_cap_over over;
	struct iw_cap_end end[2];
	/* the ends as text: written once, printed with every event */
	char name[2][IW_CAP_END_TEXT];
	/* end[initiator] sent the MPA Request or the INIT; -1: not known */
	int initiator;
};

enum iw_cap_kind {
	IW_CAP_MPA,     /* a Request or Reply */
	IW_CAP_SESSION, /* a DDP Stream Session control message */
	IW_CAP_DDP,     /* a DDP segment */
	IW_CAP_TCP,     /* what happened to a connection */
	IW_CAP_SCTP,    /* what happened to an association */
	IW_CAP_ALIGN,   /* the histogram of one direction of a TCP connection */
	IW_CAP_ERROR,   /* a rule that the sender broke */
};
/* "mpa", "session", "ddp", "tcp", "sctp", "align", "error" */
const char *iw_cap_kind_name(enum iw_cap_kind k);

/* RFC 5044 4.4; over SCTP the checksum of the packet, RFC 9260 6.8. */
enum iw_cap_crc {
	/* not negotiated, so not checked; over SCTP a checksum of 0, which hardware was to fill in */
	IW_CAP_CRC_OFF,
	IW_CAP_CRC_GOOD,
	IW_CAP_CRC_BAD,
	IW_CAP_CRC_ABSENT, /* cannot be checked: octets that it covers were not captured */
	IW_CAP_CRC_COUNT_
};
const char *iw_cap_crc_name(enum iw_cap_crc v); /* "off", "good", "bad", "absent" */

/* RFC 5044 4.3. */
enum iw_cap_marker {
	IW_CAP_MARKER_OFF,  /* not negotiated for this direction */
	IW_CAP_MARKER_NONE, /* negotiated, but none is due in this FPDU */
	IW_CAP_MARKER_GOOD, /* every one of them points to this FPDU */
	IW_CAP_MARKER_BAD,
	IW_CAP_MARKER_COUNT_
};
const char *iw_cap_marker_name(enum iw_cap_marker v); /* "off", "none", "good", "bad" */

/*
 * Departures from the RFCs that are known of peers in the field and keep nobody from understanding
 * them. They are told with the event and are not errors. One list makes the bits, the names and the
 * clauses.
 */
/* clang-format off */
#define IW_CAP_DEVIATION_LIST(X)                                                        \
	X(PAD,       "pad-not-zero",        "RFC 5044 4.1",                             \
	  "octets of the pad are not zero")                                             \
	X(EARLY,     "responder-first",     "RFC 5044 7.1.2",                           \
	  "the responder sent an FPDU before it had received one")                      \
	X(NO_CRC,    "crc-not-asked",       "RFC 5044 4.4",                             \
	  "neither end asked for CRCs, which are the default")                          \
	X(NO_MARKS,  "markers-refused",     "RFC 5044 4.3",                             \
	  "a Request was rejected that asks for markers, which every sender must have") \
	X(REV_0,     "revision-0",          "RFC 5044 C",                               \
	  "the Consortium's revision was accepted without its markers and CRCs")        \
	X(ORD,       "ord-above-ird",       "RFC 6581 9.1",                             \
	  "the responder's ORD is above the initiator's IRD")                           \
	X(FRAME_RES, "mpa-res-not-zero",    "RFC 5044 7.1.1",                           \
	  "Res bits of a Request or Reply are not zero")                                \
	X(RESERVED,  "reserved-not-zero",   "RFC 5041 4.1",                             \
	  "reserved bits of a DDP, RDMAP or atomic header are not zero")                \
	X(INVALIDATE,"invalidate-zero",     "RFC 5040 4.1",                             \
	  "a Send with Invalidate names no STag")                                       \
	X(TERM_BITS, "terminate-bit-order", "RFC 5040 4.8",                             \
	  "layer and type are exchanged and M, D, R in the low bits")                   \
	X(TERM_LEN,  "terminate-length",    "RFC 5040 4.8",                             \
	  "the DDP Segment Length leaves the header out")                               \
	X(TERM_HDRS, "terminate-headers",   "RFC 5040 4.8",                             \
	  "M, D or R announce what does not follow")                                    \
	X(ORDERED,   "ordered-data",        "RFC 5043 10",                              \
	  "the DATA chunk is not unordered")                                            \
	X(FRAGMENTS, "fragmented",          "RFC 5043 9",                               \
	  "the segment came in several DATA chunks")                                    \
	X(STREAMS,   "streams-unequal",     "RFC 5043 8",                               \
	  "as many streams out as in should have been asked for")
/* clang-format on */
enum iw_cap_deviation_index_ {
#define IW_X_(id, name, clause, text) IW_CAP_DEV_INDEX_##id##_,
	IW_CAP_DEVIATION_LIST(IW_X_)
#undef IW_X_
		IW_CAP_DEV_COUNT
};
enum iw_cap_deviation {
#define IW_X_(id, name, clause, text) IW_CAP_DEV_##id = 1 << IW_CAP_DEV_INDEX_##id##_,
	IW_CAP_DEVIATION_LIST(IW_X_)
#undef IW_X_
};
struct iw_cap_deviation_info {
	const char *name, *clause, *text;
};
/* index: 0 .. IW_CAP_DEV_COUNT - 1, the bit's number. */
const struct iw_cap_deviation_info *iw_cap_deviation_info(unsigned index);

/* What of the transfer protocol of ddp-send and ddp-recv an event carries: man/ddp-transfer.7. */
enum iw_cap_transfer_kind {
	IW_CAP_TRANSFER_NONE,
	IW_CAP_TRANSFER_HELLO,   /* Private Data */
	IW_CAP_TRANSFER_MESSAGE, /* a control message; with the segment that completes it */
	IW_CAP_TRANSFER_DATA,    /* the first segment of a data message */
};
struct iw_cap_transfer {
	enum iw_cap_transfer_kind kind;
	/* It breaks the rules of the protocol: an error event follows, and it is not decoded. */
	bool malformed;
	const uint8_t *p; /* HELLO, MESSAGE: the CBOR map; borrowed, valid as long as the event */
	size_t len;
	size_t digest_len; /* MESSAGE: octets after the map */
	/* DATA */
	uint32_t file;
	uint64_t offset;
};

/* A Request or Reply. */
struct iw_cap_mpa {
	struct iw_mpa_frame frame; /* pd: borrowed, valid as long as the event */
	bool enhanced;             /* RFC 6581: S = 1 and Rev 2 or above; enh is valid */
	struct iw_mpa_enhanced enh;
	const uint8_t *pd; /* the ULP's own Private Data, behind the enhanced data */
	size_t pd_len;
	struct iw_cap_transfer transfer;
	/* A Reply that accepts: what is agreed from here on. */
	bool agreed;
	bool crc_on;
	bool markers_to_responder, markers_to_initiator;
};

/* Where over SCTP a message was found. */
struct iw_cap_chunk {
	uint16_t stream, ssn; /* ssn: DDP-SSN */
	uint32_t tsn;         /* of its last fragment */
	uint64_t fragments;   /* DATA chunks that it came in */
	enum iw_cap_crc crc;  /* of the packet that completed it */
	/* the common header and the DATA chunk's header, as captured; borrowed */
	const uint8_t *head;
	size_t head_len;
};

/* RFC 5043 5.2.3. */
struct iw_cap_session {
	struct iw_cap_chunk chunk;
	struct iw_sctp_control control; /* pd: borrowed, valid as long as the event */
	bool enhanced;                  /* RFC 6581 7; enh is valid */
	struct iw_mpa_enhanced enh;
	const uint8_t *pd; /* the ULP's own Private Data, behind the enhanced data */
	size_t pd_len;     /* octets of it that were captured */
	struct iw_cap_transfer transfer;
};

/* A marker in an FPDU. */
struct iw_cap_mark {
	uint32_t at; /* octets from the beginning of the FPDU; not captured: fields are 0 */
	struct iw_mpa_marker field;
};
/* Most that one FPDU can have: 65,535 octets of ULPDU and what goes with them, one in 508. */
#define IW_CAP_MARKS_MAX 131

/*
 * One DDP segment: over TCP an FPDU, over SCTP a message. What is missing from the capture is left
 * out: see has_header.
 */
struct iw_cap_ddp {
	/* the DDP header is whole and was captured; otherwise only lengths and verdicts are
	 * valid */
	bool has_header;
	bool faulty; /* it breaks a rule: error events follow */
	struct iw_ddp hdr;
	uint32_t segment_len; /* octets of header and payload: over TCP, ULPDU_Length */
	/* octets of payload behind the DDP header (RDMAP's own headers count as payload here) */
	size_t len;
	/* captured frame in which it begins (event.frame: where it is complete) */
	uint64_t first_frame;
	uint64_t missing; /* octets of it that were not captured */
	/* of what follows the one that the opcode says, if it was captured; else NULL; borrowed */
	const struct iw_rreq *rreq;
	const struct iw_atomic_req *atomic_req;
	const struct iw_atomic_rsp *atomic_rsp;
	const uint8_t *imm;              /* Immediate Data: its 8 octets */
	const struct iw_terminate *term; /* as RFC 5040 4.8 reads it */
	/* with IW_CAP_DEV_TERM_BITS: what the sender meant */
	const struct iw_terminate *term_exchanged;
	/* With cfg.payload: the first payload_len octets of the len octets of payload; borrowed. Fewer
	 * than len if octets were not captured or there was no room to put them together. */
	const uint8_t *payload;
	size_t payload_len;
	struct iw_cap_transfer transfer;
	/* its first octets, markers left out: ULPDU_Length or DDP-SSN, then the DDP header; borrowed */
	const uint8_t *head;
	size_t head_len;
	enum iw_cap_crc crc;

	/* over SCTP */
	struct iw_cap_chunk chunk;

	/* over TCP */
	/* where the FPDU begins: octets since the end of the start-up frame, this direction */
	uint64_t position;
	uint32_t offset;   /* where in its TCP segment the FPDU begins */
	uint32_t segments; /* TCP segments that hold a part of it */
	/* the CRC field, its first octet on top, as hex dumps and other tools show it */
	uint32_t crc_wire;
	uint32_t crc_computed; /* likewise; valid when crc is GOOD or BAD */
	const uint8_t *pad;    /* iw_mpa_pad(segment_len) octets; NULL: not captured; borrowed */
	enum iw_cap_marker marker;
	unsigned markers;               /* how many */
	const struct iw_cap_mark *mark; /* these; borrowed */
};

/* RFC 5044 5: an FPDU should begin where its TCP segment begins. */
static inline bool iw_cap_aligned(const struct iw_cap_ddp *e)
{
	return e->offset == 0;
}

enum iw_cap_tcp_kind {
	IW_CAP_TCP_LOSS,    /* octets are not in the capture */
	IW_CAP_TCP_RESYNC,  /* FPDU boundaries found again */
	IW_CAP_TCP_AGAIN,   /* a segment that holds nothing new */
	IW_CAP_TCP_OVERLAP, /* a segment that holds old and new octets */
	IW_CAP_TCP_FIN,
	IW_CAP_TCP_RESET,
	IW_CAP_TCP_FORGOTTEN, /* too many connections at once: this one is no longer followed */
};
/* "loss", "resync", "retransmission", "overlap", "fin", "reset", "forgotten" */
const char *iw_cap_tcp_name(enum iw_cap_tcp_kind k);

enum iw_cap_why {
	IW_CAP_WHY_NONE,
	IW_CAP_WHY_GAP,    /* LOSS: never captured, though the peer acknowledged it */
	IW_CAP_WHY_SNAP,   /* LOSS: the capture was made with a snap length */
	IW_CAP_WHY_LIMIT,  /* LOSS: more out of order than is kept */
	IW_CAP_WHY_END,    /* LOSS: the capture or the connection ended before they came */
	IW_CAP_WHY_MARKER, /* RESYNC: a marker pointed to it */
	IW_CAP_WHY_CRC,    /* RESYNC: an FPDU at the start of a TCP segment with a good CRC */
	/* RESYNC: CRC is off; a sound header at the start of a TCP segment and a CRC field of
	 * zero */
	IW_CAP_WHY_SHAPE,
	/* AGAIN, OVERLAP: octets that were still at hand are others than those that came first */
	IW_CAP_WHY_DIFFERS,
};
/* "gap", "snap", "limit", "end", "marker", "crc", "shape", "differs", "" */
const char *iw_cap_why_name(enum iw_cap_why w);

struct iw_cap_tcp {
	enum iw_cap_tcp_kind kind;
	enum iw_cap_why why;
	uint32_t seq; /* sequence number at which it happened */
	/* LOSS: how many are missing; RESYNC: how many could not be decoded; AGAIN, OVERLAP: how
	 * many came again */
	uint64_t octets;
	bool sync; /* LOSS: the FPDU boundaries are still known */
	/* what the direction was in the middle of, static text: "an FPDU", "MPA set-up", ... */
	const char *where;
};

enum iw_cap_sctp_kind {
	IW_CAP_SCTP_INIT,
	IW_CAP_SCTP_INIT_ACK,
	IW_CAP_SCTP_LOSS,  /* DATA chunks are not in the capture */
	IW_CAP_SCTP_AGAIN, /* a DATA chunk that came before */
	IW_CAP_SCTP_SHUTDOWN,
	IW_CAP_SCTP_COMPLETE, /* SHUTDOWN COMPLETE */
	IW_CAP_SCTP_ABORT,
	IW_CAP_SCTP_FORGOTTEN, /* too many associations at once: this one is no longer followed */
};
/* "init", "init-ack", "loss", "retransmission", "shutdown", "shutdown-complete", "abort",
 * "forgotten" */
const char *iw_cap_sctp_name(enum iw_cap_sctp_kind k);

struct iw_cap_sctp {
	enum iw_cap_sctp_kind kind;
	enum iw_cap_why why; /* LOSS */
	uint32_t tsn;        /* INIT, INIT_ACK: the first; LOSS, AGAIN: the chunk's */
	uint32_t chunks;     /* LOSS: how many */
	/* INIT, INIT_ACK */
	uint16_t os, mis;
	bool has_adaptation;
	bool cut; /* not all parameters were captured, and no adaptation indication */
	uint32_t adaptation;
	/* ABORT: the first cause, 0: none is given */
	uint16_t cause;
	/* INIT, INIT_ACK: the common header and the chunk up to its parameters; borrowed */
	const uint8_t *head;
	size_t head_len;
};

/* Where FPDUs of one direction begin in TCP segments, and how many segments they touch. */
struct iw_cap_align {
	uint64_t fpdus;
	/* [0]: begins its segment; [i]: begins at an offset of 2^(i-1) to 2^i - 1 octets */
	uint64_t offset[18];
	/* [i]: lies in i + 1 segments; the last one: in that many or more */
	uint64_t segments[8];
};

struct iw_cap_event {
	enum iw_cap_kind kind;
	const struct iw_cap_flow *flow;
	unsigned from; /* flow->end[from] sent it */
	uint64_t time_ns;
	uint64_t frame;      /* number of the captured frame that completed it */
	unsigned deviations; /* enum iw_cap_deviation */
	union {
		struct iw_cap_mpa mpa;
		struct iw_cap_session session;
		struct iw_cap_ddp ddp;
		struct iw_cap_tcp tcp;
		struct iw_cap_sctp sctp;
		struct iw_cap_align align;
		/* a rule broken by the sender; offset: position of the FPDU */
		struct iw_fault error;
	};
};

/* One list makes the struct, the JSON keys and the lines of the man page. */
/* clang-format off */
#define IW_CAP_TOTALS_LIST(X)                                                                   \
	X(frames,           "frames in the capture")                                            \
	X(octets,           "octets of frames captured")                                        \
	X(kernel_dropped,   "frames that the kernel dropped: ddp-dump was too slow for them")   \
	X(interface_dropped, "frames that the interface dropped")                               \
	X(tcp_frames,       "frames that carried TCP")                                          \
	X(sctp_frames,      "frames that carried SCTP, in UDP or not")                          \
	X(other_frames,     "frames that carried something else")                               \
	X(fragments,        "IP fragments, which are not reassembled")                         \
	X(malformed,        "frames with headers that contradict their length")                 \
	X(cut_frames,       "frames that the snap length cut short")                            \
	X(flows,            "TCP connections and SCTP associations")                            \
	X(iwarp_flows,      "of these with iWARP (an MPA Request or Reply, or DDP over SCTP)") \
	X(sessions,         "DDP Stream Sessions begun over SCTP")                              \
	X(segments,         "DDP segments decoded")                                             \
	X(payload_octets,   "octets after the DDP headers of these")                           \
	X(aligned,          "segments whose FPDU begins a TCP segment")                         \
	X(crc_good,         "segments with a good CRC")                                          \
	X(crc_bad,          "segments with a bad CRC")                                           \
	X(crc_off,          "segments for which no CRC is negotiated or given")                  \
	X(crc_absent,       "segments whose CRC cannot be checked, since octets were not captured")\
	X(markers,          "markers seen")                                                     \
	X(terminates,       "Terminate messages")                                               \
	X(errors,           "rules broken: the number of error events")                         \
	X(deviations,       "harmless deviations from the RFCs")                                \
	X(headless,         "segments whose DDP header was not captured or is cut short")          \
	X(losses,           "holes in iWARP connections")                                       \
	X(lost_octets,      "octets in these holes")                                            \
	X(undecoded_octets, "octets of iWARP connections captured but not decoded")             \
	X(repeated_octets,  "octets of TCP or of DATA chunks that arrived more than once")                           \
	X(out_of_order,     "TCP segments and DDP-SSNs that arrived out of order")                       \
	X(forgotten,        "connections dropped because too many were open at once")
/* clang-format on */
struct iw_cap_totals {
#define IW_X_(name, text) uint64_t name;
	IW_CAP_TOTALS_LIST(IW_X_)
#undef IW_X_
};

/* A zero stands for the default. */
struct iw_cap_limits {
	uint32_t flows;   /* most connections and associations followed at once; default 65,536 */
	uint32_t streams; /* most DDP streams over SCTP followed at once; default 65,536 */
	/* most memory for what one direction keeps ahead of its turn; default 8 MiB */
	size_t direction_octets;
	size_t total_octets; /* the same for all of them; default 64 MiB */
	/* how far into each direction the MPA key is looked for; default 256 KiB. A TCP segment
	 * that begins with it is noticed anywhere. */
	uint64_t search_octets;
	/* most memory for segments that arrive in several TCP segments and whose payload is kept;
	 * default 16 MiB */
	size_t payload_octets;
	/* most messages of the transfer protocol that are incomplete at once, of about 72 KiB each;
	 * default 128 */
	uint32_t messages;
};

struct iw_sctpmap_profile;
struct iw_cap_cfg {
	const struct iw_mem *mem; /* borrowed for life */
	uint64_t seed; /* random, so that nobody can make connections that collide in the table */
	/* SCTP is looked for in UDP to or from this port and from or to 9899; 0: 9899 alone */
	uint16_t udp_port;
	bool payload; /* keep the payload of segments */
	bool align;   /* tell an align event for each direction of an iWARP connection at its end */
	/* Edition of DDP over SCTP of associations whose INIT was not captured; those whose was have the one that
	 * their adaptation indication says. NULL: RFC 5043. */
	const struct iw_sctpmap_profile *profile;
	struct iw_cap_limits limits;
};

struct iw_cap;

/* Makes a decoder, owned by the caller. IW_E_NOMEM: there is none. */
IW_MUST_CHECK int iw_cap_new(struct iw_cap **out, const struct iw_cap_cfg *cfg);
/* c may be NULL. */
void iw_cap_free(struct iw_cap *c);

/*
 * Takes one frame; its octets are borrowed until iw_cap_next has returned NULL. IW_E_NOMEM: a
 * connection could not be added and nothing of the frame was looked at; the caller stops, or
 * fetches events and goes on. IW_E_STATE: events of the last frame have not been fetched.
 */
IW_MUST_CHECK int iw_cap_push(struct iw_cap *c, const struct iw_cap_frame *f);
/* The connection of the frame that was pushed last, and who sent it, until iw_cap_next is called; NULL:
 * the frame carries neither TCP nor SCTP. */
const struct iw_cap_flow *iw_cap_frame_flow(const struct iw_cap *c, unsigned *from);
/* The next event, valid until the next call of any of these functions; NULL: there is none
 * before another frame is pushed. */
const struct iw_cap_event *iw_cap_next(struct iw_cap *c);
/* No more frames will come: what was waiting for missing octets is decoded as far as it goes.
 * Then call iw_cap_next until NULL. */
void iw_cap_finish(struct iw_cap *c);
/* Counters so far; owned by the decoder. */
const struct iw_cap_totals *iw_cap_totals(const struct iw_cap *c);

/* --- print.c --- */

/* "10.88.0.2:7174", "[fe80::1]:7174". RFC 5952 form. */
void iw_cap_end_print(struct iw_text *t, const struct iw_cap_end *e);
/* The octets as text: what is not printable ASCII becomes a dot, so that nothing from a peer
 * reaches a terminal as control. */
void iw_cap_octets_print(struct iw_text *t, const uint8_t *p, size_t len);
/* What an event says, on one line, without time and addresses and without a newline. Nothing
 * that a peer sent can get into a terminal as anything but printable ASCII. */
void iw_cap_event_print(struct iw_text *t, const struct iw_cap_event *ev);

/* Appends the octets p[at] and up to 15 more, in hex and as text; returns how many. len is not 0. */
size_t iw_cap_hex_line(struct iw_text *t, const uint8_t *p, size_t len, size_t at);

/* --- transfer_show.c --- */

/* The part of the transfer protocol that an event carries; NULL: none. */
const struct iw_cap_transfer *iw_cap_transfer_of(const struct iw_cap_event *ev);
/* What it says, on one line, as iw_cap_event_print. */
void iw_cap_transfer_print(struct iw_text *t, const struct iw_cap_transfer *m);
/* The same as a JSON object, complete. */
void iw_cap_transfer_json(struct iw_text *t, const struct iw_cap_transfer *m);
struct iw_cap_field;
/* Its keys as fields, each with its octets, counted from the first octet of the map; at most max. */
size_t iw_cap_transfer_explain(struct iw_cap_field *out, size_t max,
			       const struct iw_cap_transfer *m);

/* --- json.c --- */

/* Most octets of a control message of the transfer protocol that are put together. */
#define IW_CAP_MESSAGE_MAX    65536
/*
 * Longest line with its NUL: the Private Data of 512 octets as hex digits and as text of which each
 * octet may need two, and the rest; the payload of a segment as hex digits; and a message of the
 * transfer protocol, of which an octet becomes less than 20 (a key and its value are two octets at
 * least).
 */
#define IW_CAP_LINE           (8192 + 2 * 65536 + 20 * IW_CAP_MESSAGE_MAX)
/* The same with every field explained. */
#define IW_CAP_LINE_EXPLAINED (IW_CAP_LINE + IW_CAP_FIELDS_MAX * 400)

/*
 * The event as one line of JSON, without a newline: "schema" and "event" first, as the tools' JSON
 * writer has it. That one builds a tree of objects for a line and writes it at once; a capture has
 * a million lines, so here they are put together as text.
 */
void iw_cap_event_json(struct iw_text *t, const struct iw_cap_event *ev);
struct iw_cap_field;
/* The same with n fields of iw_cap_explain. */
void iw_cap_event_json_explained(struct iw_text *t, const struct iw_cap_event *ev,
				 const struct iw_cap_field *field, size_t n);
/* The counters as a "result" line, with what the caller knows: did it read the whole capture,
 * and the exit status. */
void iw_cap_totals_json(struct iw_text *t, const struct iw_cap_totals *totals, bool complete,
			int exit_status);

/* --- filter.c --- */

/* A DDP stream: a TCP connection, or one stream or any of an SCTP association. */
struct iw_cap_stream {
	uint32_t flow; /* struct iw_cap_flow.id */
	bool any;
	uint16_t sid;
};

/* What somebody wants to see; an event must satisfy all of it. Zeroes: everything. */
struct iw_cap_filter {
	bool errors; /* errors, and the segments that make them; deviations, Terminates, refusals,
		      * losses, resets */
	/* segments that name one of these STags; none: any segment, and what is no segment;
	 * borrowed */
	const uint32_t *stag;
	size_t stags;
	const struct iw_cap_stream *stream; /* one of these; none: any; borrowed */
	size_t streams;
	/* its own: the last event, since errors follow the segment that they are about */
	bool last_ddp, last_wanted;
	uint32_t last_flow;
	uint64_t last_frame;
};
/* Is it wanted? To be asked of every event, in order. */
bool iw_cap_filter(struct iw_cap_filter *f, const struct iw_cap_event *ev);

/* --- explain.c --- */

/* One field of a header. */
struct iw_cap_field {
	const char *header; /* "MPA FPDU": which one it is in */
	const char *name;   /* as the RFC calls it */
	const char *clause; /* where the RFC defines it */
	/* its octets: from the first one of the unit, markers left out, and how many; a marker's:
	 * with those before it */
	uint32_t off, len;
	uint8_t bit, bits; /* within these, from the most significant bit; bits 0: all of them */
	bool is_number;    /* up to eight octets, and this is what they say: */
	uint64_t value;
	char meaning[104];
	const uint8_t *octets; /* len of them, borrowed; NULL: not kept */
};

/* Keys of a message of the transfer protocol that are explained. */
#define IW_CAP_KEYS_MAX   1024
/* Enough for every event. */
#define IW_CAP_FIELDS_MAX (64 + 2 * IW_CAP_MARKS_MAX + IW_CAP_KEYS_MAX)

/* Octets that fields point to. */
struct iw_cap_scratch {
	uint8_t octets[64 + IW_CAP_MARKS_MAX * IW_MPA_MARKER_LEN];
};

/*
 * The header fields of an mpa, session, ddp or sctp event in the order of their octets, markers last;
 * at most max. They borrow from the event and from scratch. 0: the event has none.
 */
size_t iw_cap_explain(struct iw_cap_field *out, size_t max, struct iw_cap_scratch *scratch,
		      const struct iw_cap_event *ev);

/* Lines for people: for each header its octets in hex, and below them its fields. To begin with, n
 * and field are set and the rest is zero. */
struct iw_cap_explanation {
	const struct iw_cap_field *field; /* borrowed */
	size_t n;
	size_t i, end; /* the next field; the end of its header */
	uint32_t row, rows;
};
/* Appends the next line, without a newline; false: there is none. */
bool iw_cap_explain_line(struct iw_cap_explanation *x, struct iw_text *t);

/* --- align.c --- */

/* Appends the next line of the picture, without a newline; *at is 0 to begin with. False: there is
 * none. */
bool iw_cap_align_line(const struct iw_cap_align *a, unsigned *at, struct iw_text *t);

/* --- source.c --- */

/* Where frames come from. file and interface are borrowed until the capture is closed, filter for
 * the call. */
struct iw_cap_source_cfg {
	const char *file;      /* a pcap or pcapng file, "-" is standard input; NULL: live */
	const char *interface; /* live */
	const char *filter;    /* as tcpdump has it (pcap-filter(7)); NULL: every frame */
	/* live; 0: the default */
	uint32_t snaplen;       /* octets of each frame, 262,144 */
	uint32_t buffer_octets; /* of the kernel's, 16 MiB */
	bool not_promiscuous;
};

/* A capture being read. */
struct iw_cap_source;

/* Whether captures can be read: 0, or IW_E_NOTSUP (built without libpcap). */
IW_MUST_CHECK int iw_cap_can_read(struct iw_fault *why);

/*
 * Opens it. IW_E_NOTSUP: built without libpcap; IW_E_PERM: this user may not capture; IW_E_OS,
 * IW_E_NOENT: the file or the interface cannot be opened; IW_E_INVAL: the filter makes no sense;
 * IW_E_FORMAT: the file is no capture, or its link type is none of enum iw_cap_link. *why tells the
 * user.
 */
IW_MUST_CHECK int iw_cap_open(struct iw_cap_source **out, const struct iw_cap_source_cfg *cfg,
			      struct iw_fault *why);
/*
 * 1: *f is the next frame, borrowed until the next call; 0: the file ends; IW_E_AGAIN: live, and
 * none is there now; IW_E_FORMAT: the file is damaged here (*why says how), what was read before is
 * good; IW_E_OS: the interface went away.
 */
IW_MUST_CHECK int iw_cap_read(struct iw_cap_source *s, struct iw_cap_frame *f,
			      struct iw_fault *why);
/* Live: becomes readable when frames are there. -1: a file. */
int iw_cap_source_fd(const struct iw_cap_source *s);
/* Frames of a file that the filter rejected so far. */
uint64_t iw_cap_source_rejected(const struct iw_cap_source *s);
/* What the kernel and the interface have dropped so far; 0 for a file. */
void iw_cap_source_drops(struct iw_cap_source *s, uint64_t *kernel, uint64_t *interface);
/* The link type as capture files have it (LINKTYPE_). */
int iw_cap_source_linktype(const struct iw_cap_source *s);
/* s may be NULL. */
void iw_cap_close(struct iw_cap_source *s);

#endif
