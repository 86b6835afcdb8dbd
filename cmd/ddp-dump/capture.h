/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The decoder of ddp-dump: takes captured frames and returns iWARP events.
 *
 * Over TCP it reassembles each direction of a connection, finds the MPA Request, follows what the
 * two ends negotiate, and checks FPDUs, markers and CRCs. Over SCTP (on IP or in UDP) it follows
 * the TSNs of each association, its DDP Stream Sessions and their DDP-SSNs. It decodes DDP and
 * RDMAP, and reports each rule that a peer breaks. A capture may have holes; a hole is never
 * reported as a peer's fault.
 *
 *     iw_cap_push(c, &frame);              one frame, borrowed until iw_cap_next returns NULL
 *     while ((ev = iw_cap_next(c))) ...    the events of this frame
 *     iw_cap_finish(c);                    no more frames
 *     while ((ev = iw_cap_next(c))) ...    the events of data that was still queued
 *     iw_cap_totals(c)
 *
 * The decoder (all files except ddp-dump.c, source.c, save.c and show.c) makes no system call and
 * prints nothing, so tests and fuzzers can drive it. source.c reads captures through libpcap.
 * save.c (ddp-dump/save.h) copies frames to a file. show.c (ddp-dump/show.h) writes events for
 * people and as JSON.
 *
 * There are no locks: one decoder belongs to one thread at a time.
 *
 * struct iw_cap_limits bounds the memory. A frame that arrives in order is decoded in place.
 * Only data that arrives out of order is copied, to blocks of a pool; so a decoder allocates
 * nothing in the steady state.
 */
#ifndef IW_DDP_DUMP_CAPTURE_H
#define IW_DDP_DUMP_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "packet/packet.h"
#include "util/mem.h"
#include "util/text.h"
#include "wire/atomic.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/sctp.h"
#include "wire/sctpddp.h"

struct iw_cap_frame {
	uint64_t number;  /* from 1 */
	uint64_t time_ns; /* since 1970 */
	enum iw_packet_link link;
	const uint8_t *data;
	size_t len;      /* captured octets */
	size_t wire_len; /* octets of the frame; more than len if the snap length cut it */
};

/* Size of the longest text of iw_cap_end_print, with its NUL. */
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
	/* From 0, in order of appearance. Flows without iWARP have an id too. */
	uint32_t id;
	enum iw_cap_over over;
	struct iw_packet_end end[2];
	/* The ends as text: formatted once, because it is printed with each event. */
	char name[2][IW_CAP_END_TEXT];
	/* end[initiator] sent the MPA Request or the INIT; -1: unknown. */
	int initiator;
};

enum iw_cap_kind {
	IW_CAP_MPA,     /* a Request or Reply */
	IW_CAP_SESSION, /* a DDP Stream Session Control message */
	IW_CAP_DDP,     /* a DDP segment */
	IW_CAP_TCP,     /* an event of a connection */
	IW_CAP_SCTP,    /* an event of an association */
	IW_CAP_ALIGN,   /* the histogram of one direction of a TCP connection */
	IW_CAP_ERROR,   /* the sender broke a rule */
};
/* "mpa", "session", "ddp", "tcp", "sctp", "align", "error" */
const char *iw_cap_kind_name(enum iw_cap_kind k);

/* The CRC of an FPDU (RFC 5044 4.4); over SCTP, the checksum of the packet (RFC 9260 6.8). */
enum iw_cap_crc {
	/* Not negotiated, so not checked. Over SCTP: the checksum is 0, captured before the
	 * sender's hardware computed it. */
	IW_CAP_CRC_OFF,
	IW_CAP_CRC_GOOD,
	IW_CAP_CRC_BAD,
	IW_CAP_CRC_ABSENT, /* cannot be checked: not all octets that it covers were captured */
	IW_CAP_CRC_COUNT_
};
const char *iw_cap_crc_name(enum iw_cap_crc v); /* "off", "good", "bad", "absent" */

/* The markers of an FPDU (RFC 5044 4.3). */
enum iw_cap_marker {
	IW_CAP_MARKER_OFF,  /* not negotiated for this direction */
	IW_CAP_MARKER_NONE, /* negotiated, but no marker is due in this FPDU */
	IW_CAP_MARKER_GOOD, /* all of them point to this FPDU */
	IW_CAP_MARKER_BAD,
	IW_CAP_MARKER_COUNT_
};
const char *iw_cap_marker_name(enum iw_cap_marker v); /* "off", "none", "good", "bad" */

/*
 * Deviations from the RFCs that are known of peers in the field and do no harm. They are reported
 * with the event and are not errors. One list makes the bits, the names and the clauses.
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
/* index: the number of the bit, 0 to IW_CAP_DEV_COUNT - 1. */
const struct iw_cap_deviation_info *iw_cap_deviation_info(unsigned index);

/* The part of the transfer protocol of ddp-send and ddp-recv in an event: man/ddp-transfer.7. */
enum iw_cap_transfer_kind {
	IW_CAP_TRANSFER_NONE,
	IW_CAP_TRANSFER_HELLO,   /* Private Data */
	IW_CAP_TRANSFER_MESSAGE, /* a control message, with the segment that completes it */
	IW_CAP_TRANSFER_DATA,    /* the first segment of a data message */
};
struct iw_cap_transfer {
	enum iw_cap_transfer_kind kind;
	/* It breaks the rules of the protocol and is not decoded. An error event follows. */
	bool malformed;
	const uint8_t *p; /* HELLO, MESSAGE: the CBOR map; borrowed, valid as long as the event */
	size_t len;
	size_t digest_len; /* MESSAGE: length of the digest after the map */
	/* DATA */
	uint32_t file;
	uint64_t offset;
};

/* A Request or Reply. */
struct iw_cap_mpa {
	struct iw_mpa_frame frame; /* pd: borrowed, valid as long as the event */
	bool enhanced;             /* RFC 6581 6: S is 1, and Rev at least 2; enh is valid */
	struct iw_mpa_enhanced enh;
	const uint8_t *pd; /* the ULP's Private Data, after the enhanced data */
	size_t pd_len;
	struct iw_cap_transfer transfer;
	/* The set-up is complete: what the two ends have agreed. */
	bool agreed;
	bool crc_on;
	bool markers_to_responder, markers_to_initiator;
};

/* The DATA chunk that carried a message, or its last fragment. */
struct iw_cap_chunk {
	uint16_t stream, ssn; /* ssn: DDP-SSN */
	uint32_t tsn;
	uint64_t fragments;  /* number of DATA chunks of the message */
	enum iw_cap_crc crc; /* of the packet */
	/* The common header and the header of the DATA chunk, as captured; borrowed. */
	const uint8_t *head;
	size_t head_len;
};

/* A DDP Stream Session Control message (RFC 5043 5.2.3). */
struct iw_cap_session {
	struct iw_cap_chunk chunk;
	struct iw_sctp_control control; /* pd: borrowed, valid as long as the event */
	bool enhanced;                  /* RFC 6581 7; enh is valid */
	struct iw_mpa_enhanced enh;
	const uint8_t *pd; /* the ULP's Private Data, after the enhanced data */
	size_t pd_len;     /* its captured octets */
	struct iw_cap_transfer transfer;
};

/* A marker in an FPDU. */
struct iw_cap_mark {
	uint32_t at;                /* octets from the beginning of the FPDU */
	struct iw_mpa_marker field; /* zeroes if the marker was not captured */
};
/* Most markers of one FPDU: a ULPDU of 65,535 octets and its framing, a marker each 508 octets. */
#define IW_CAP_MARKS_MAX 131

/* One DDP segment: over TCP an FPDU, over SCTP a message. */
struct iw_cap_ddp {
	/* The whole DDP header was captured. Otherwise only the lengths, crc and marker are
	 * valid. */
	bool has_header;
	bool faulty; /* it breaks a rule: error events follow */
	struct iw_ddp hdr;
	uint32_t segment_len; /* octets of header and payload: over TCP, ULPDU_Length */
	/* Octets of payload after the DDP header; RDMAP's own headers are payload here. */
	size_t len;
	/* The frame that holds its first octet; event.frame holds its last one. */
	uint64_t first_frame;
	uint64_t missing; /* its octets that were not captured */
	/* The RDMAP header that the opcode requires, if it was captured; the others are NULL.
	 * Borrowed. */
	const struct iw_rreq *rreq;
	const struct iw_atomic_req *atomic_req;
	const struct iw_atomic_rsp *atomic_rsp;
	const uint8_t *imm;              /* the 8 octets of Immediate Data */
	const struct iw_terminate *term; /* as RFC 5040 4.8 reads it */
	/* With IW_CAP_DEV_TERM_BITS: what the sender meant. */
	const struct iw_terminate *term_exchanged;
	/* With cfg.payload: the first payload_len of the len octets of payload; borrowed. Fewer
	 * than len if octets were not captured, or if there was no memory to reassemble them. */
	const uint8_t *payload;
	size_t payload_len;
	struct iw_cap_transfer transfer;
	/* Its first octets without markers: ULPDU_Length or DDP-SSN, then the DDP header;
	 * borrowed. */
	const uint8_t *head;
	size_t head_len;
	enum iw_cap_crc crc;

	/* Over SCTP. */
	struct iw_cap_chunk chunk;

	/* Over TCP. */
	/* Where the FPDU begins: octets of this direction since the end of its start-up frame. */
	uint64_t position;
	uint32_t offset;   /* of the FPDU in its first TCP segment */
	uint32_t segments; /* number of TCP segments that hold a part of it */
	/* The CRC field, its first octet most significant, as hex dumps and other tools show it. */
	uint32_t crc_wire;
	uint32_t crc_computed; /* in the same order; valid if crc is GOOD or BAD */
	const uint8_t *pad;    /* iw_mpa_pad(segment_len) octets, borrowed; NULL: not captured */
	enum iw_cap_marker marker;
	unsigned markers;               /* number of markers */
	const struct iw_cap_mark *mark; /* the markers; borrowed; NULL: not kept */
};

/* RFC 5044 5: an FPDU should begin at the start of a TCP segment. */
static inline bool iw_cap_aligned(const struct iw_cap_ddp *e)
{
	return e->offset == 0;
}

enum iw_cap_tcp_kind {
	IW_CAP_TCP_LOSS,    /* octets are missing from the capture */
	IW_CAP_TCP_RESYNC,  /* the FPDU boundaries are known again */
	IW_CAP_TCP_AGAIN,   /* a segment without new octets */
	IW_CAP_TCP_OVERLAP, /* a segment with old and new octets */
	IW_CAP_TCP_FIN,
	IW_CAP_TCP_RESET,
	IW_CAP_TCP_FORGOTTEN, /* dropped: too many connections at once */
};
/* "loss", "resync", "retransmission", "overlap", "fin", "reset", "forgotten" */
const char *iw_cap_tcp_name(enum iw_cap_tcp_kind k);

enum iw_cap_why {
	IW_CAP_WHY_NONE,
	IW_CAP_WHY_GAP,    /* LOSS: not captured, although the peer acknowledged it */
	IW_CAP_WHY_SNAP,   /* LOSS: cut by the snap length */
	IW_CAP_WHY_LIMIT,  /* LOSS: too much data out of order to keep */
	IW_CAP_WHY_END,    /* LOSS: the capture or the connection ended first */
	IW_CAP_WHY_MARKER, /* RESYNC: a marker points to an FPDU */
	IW_CAP_WHY_CRC,    /* RESYNC: an FPDU with a good CRC at the start of a TCP segment */
	/* RESYNC: CRC is off; a valid header at the start of a TCP segment, and a CRC field of
	 * 0. */
	IW_CAP_WHY_SHAPE,
	/* AGAIN, OVERLAP: the octets differ from the first copy, as far as that is still kept. */
	IW_CAP_WHY_DIFFERS,
};
/* "gap", "snap", "limit", "end", "marker", "crc", "shape", "differs", "" */
const char *iw_cap_why_name(enum iw_cap_why w);

struct iw_cap_tcp {
	enum iw_cap_tcp_kind kind;
	enum iw_cap_why why;
	uint32_t seq; /* the sequence number */
	/* LOSS: missing octets; RESYNC: octets that could not be decoded; AGAIN, OVERLAP: repeated
	 * octets. */
	uint64_t octets;
	bool sync; /* LOSS: the FPDU boundaries are still known */
	/* The phase of the direction, static text: "full operation", "MPA set-up", ... */
	const char *where;
};

enum iw_cap_sctp_kind {
	IW_CAP_SCTP_INIT,
	IW_CAP_SCTP_INIT_ACK,
	IW_CAP_SCTP_COOKIE_ECHO,
	IW_CAP_SCTP_COOKIE_ACK,
	IW_CAP_SCTP_LOSS,  /* DATA chunks are missing from the capture */
	IW_CAP_SCTP_AGAIN, /* a DATA chunk that was received before */
	IW_CAP_SCTP_SACK,  /* with cfg.sacks */
	IW_CAP_SCTP_SHUTDOWN,
	IW_CAP_SCTP_SHUTDOWN_ACK,
	IW_CAP_SCTP_COMPLETE, /* SHUTDOWN COMPLETE */
	IW_CAP_SCTP_ABORT,
	IW_CAP_SCTP_FORGOTTEN, /* dropped: too many associations at once */
};
/* "init", "init-ack", "cookie-echo", "cookie-ack", "loss", "retransmission", "sack",
 * "shutdown", "shutdown-ack", "shutdown-complete", "abort", "forgotten" */
const char *iw_cap_sctp_name(enum iw_cap_sctp_kind k);

struct iw_cap_sctp {
	enum iw_cap_sctp_kind kind;
	enum iw_cap_why why; /* LOSS */
	/* INIT, INIT_ACK: Initial TSN; LOSS: the first lost one; AGAIN: its TSN; SACK: the Cumulative
	 * TSN Ack */
	uint32_t tsn;
	uint32_t chunks; /* LOSS: number of missing chunks */
	/* INIT, INIT_ACK */
	uint16_t os, mis;
	bool has_adaptation;
	bool cut; /* not all parameters were captured, and no adaptation indication among those */
	uint32_t adaptation;
	/* SACK: a_rwnd; numbers of Gap Ack Blocks and of Duplicate TSNs */
	uint32_t rwnd;
	uint16_t gaps, duplicates;
	/* ABORT: the first error cause; 0: the chunk has none. */
	uint16_t cause;
	/* INIT, INIT_ACK: the common header and the chunk up to its parameters; borrowed. */
	const uint8_t *head;
	size_t head_len;
};

/* Where FPDUs of one direction begin in TCP segments, and over how many segments they extend. */
struct iw_cap_align {
	uint64_t fpdus;
	/* [0]: FPDUs at offset 0; [i]: FPDUs at an offset of 2^(i-1) to 2^i - 1 octets. */
	uint64_t offset[18];
	/* [i]: FPDUs in i + 1 segments; the last element: in at least that many. */
	uint64_t segments[8];
};

struct iw_cap_event {
	enum iw_cap_kind kind;
	const struct iw_cap_flow *flow;
	unsigned from; /* flow->end[from] sent it */
	uint64_t time_ns;
	uint64_t frame;      /* number of the frame that completed it */
	unsigned deviations; /* bits of enum iw_cap_deviation */
	/* IW_CAP_ERROR: the DDP stream (over SCTP) that has the error; -1: the whole flow. */
	int sid;
	union {
		struct iw_cap_mpa mpa;
		struct iw_cap_session session;
		struct iw_cap_ddp ddp;
		struct iw_cap_tcp tcp;
		struct iw_cap_sctp sctp;
		struct iw_cap_align align;
		/* A rule that the sender broke; offset: position of the FPDU, over SCTP the TSN. */
		struct iw_fault error;
	};
};

/* One list makes the struct, the JSON keys and the lines of the summary. */
/* clang-format off */
#define IW_CAP_TOTALS_LIST(X)                                                                     \
	X(frames,           "frames in the capture")                                              \
	X(octets,           "octets of frames captured")                                          \
	X(kernel_dropped,   "frames that the kernel dropped: ddp-dump was too slow for them")     \
	X(interface_dropped, "frames that the interface dropped")                                 \
	X(tcp_frames,       "frames that carried TCP")                                            \
	X(sctp_frames,      "frames that carried SCTP, in UDP or not")                            \
	X(other_frames,     "frames that carried something else")                                 \
	X(fragments,        "IP fragments, which are not reassembled")                            \
	X(malformed,        "frames with headers that contradict their length")                   \
	X(cut_frames,       "frames that the snap length cut short")                              \
	X(flows,            "TCP connections and SCTP associations")                              \
	X(iwarp_flows,      "of these with iWARP (an MPA Request or Reply, or DDP over SCTP)")    \
	X(sessions,         "DDP Stream Sessions begun over SCTP")                                \
	X(segments,         "DDP segments decoded")                                               \
	X(payload_octets,   "octets after the DDP headers of these")                              \
	X(aligned,          "segments whose FPDU begins a TCP segment")                           \
	X(crc_good,         "segments with a good CRC")                                           \
	X(crc_bad,          "segments with a bad CRC")                                            \
	X(crc_off,          "segments for which no CRC is negotiated or given")                   \
	X(crc_absent,       "segments whose CRC cannot be checked, since octets were not captured") \
	X(markers,          "markers seen")                                                       \
	X(terminates,       "Terminate messages")                                                 \
	X(errors,           "rules broken: the number of error events")                           \
	X(deviations,       "harmless deviations from the RFCs")                                  \
	X(headless,         "segments whose DDP header was not captured or is cut short")         \
	X(losses,           "holes in iWARP connections")                                         \
	X(lost_octets,      "octets in these holes")                                              \
	X(undecoded_octets, "octets of iWARP connections captured but not decoded")               \
	X(repeated_octets,  "octets of TCP or of DATA chunks that arrived more than once")        \
	X(out_of_order,     "TCP segments and DDP-SSNs that arrived out of order")                \
	X(forgotten,        "connections dropped because too many were open at once")
/* clang-format on */
struct iw_cap_totals {
#define IW_X_(name, text) uint64_t name;
	IW_CAP_TOTALS_LIST(IW_X_)
#undef IW_X_
};

/* Limits; 0 selects the default. */
struct iw_cap_limits {
	uint32_t flows;   /* connections and associations followed at once; default 65,536 */
	uint32_t streams; /* DDP streams over SCTP followed at once; default 65,536 */
	/* Bytes of memory for data of one direction that arrived out of order; default 8 MiB. */
	size_t direction_octets;
	size_t total_octets; /* the same for all directions together; default 64 MiB */
	/* Octets of each direction that are searched for the MPA key; default 256 KiB. A TCP
	 * segment that begins with the key is found anywhere. */
	uint64_t search_octets;
	/* Bytes of memory for the payload of FPDUs that arrive in several TCP segments, if payload
	 * is kept; default 16 MiB. */
	size_t payload_octets;
	/* Incomplete messages of the transfer protocol at once, of about 72 KiB each; default
	 * 128. */
	uint32_t messages;
};

struct iw_sctpmap_profile;
struct iw_cap_cfg {
	const struct iw_mem *mem; /* borrowed for life */
	uint64_t seed; /* random, so that no peer can choose addresses that collide in the table */
	/* UDP is taken for SCTP if one of its ports is this one or 9899; 0: 9899 alone. */
	uint16_t udp_port;
	bool payload; /* keep the payload of segments */
	bool align; /* report an align event for each direction of an iWARP connection at its end */
	bool sacks; /* report each SACK chunk of an association with DDP */
	/* Edition of DDP over SCTP of associations whose INIT was not captured; otherwise the
	 * adaptation indication selects it. NULL: RFC 5043. */
	const struct iw_sctpmap_profile *profile;
	struct iw_cap_limits limits;
};

struct iw_cap;

/* Creates a decoder, owned by the caller. IW_E_NOMEM: out of memory. */
IW_MUST_CHECK int iw_cap_new(struct iw_cap **out, const struct iw_cap_cfg *cfg);
/* Frees the decoder; c may be NULL. */
void iw_cap_free(struct iw_cap *c);

/*
 * Takes one frame, whose octets are borrowed until iw_cap_next returns NULL. IW_E_NOMEM: no memory
 * for a new connection; the frame was ignored. An earlier connection of the same ends may have
 * events: fetch them before the next frame. IW_E_STATE: the caller has not fetched all events of
 * the previous frame.
 */
IW_MUST_CHECK int iw_cap_push(struct iw_cap *c, const struct iw_cap_frame *f);
/* Returns the flow of the last pushed frame, and its sender: flow->end[*from]. Valid until
 * iw_cap_next is called. NULL: the frame carries neither TCP nor SCTP. */
const struct iw_cap_flow *iw_cap_frame_flow(const struct iw_cap *c, unsigned *from);
/* Returns the next event, valid until the next call of one of these functions. NULL: no event is
 * left; push another frame. */
const struct iw_cap_event *iw_cap_next(struct iw_cap *c);
/* Ends the capture: data that is queued after missing octets is decoded as far as possible. Call
 * iw_cap_next until it returns NULL. */
void iw_cap_finish(struct iw_cap *c);
/* Returns the counters so far; owned by the decoder. */
const struct iw_cap_totals *iw_cap_totals(const struct iw_cap *c);

/* --- print.c --- */

/* Appends "10.88.0.2:7174" or "[fe80::1]:7174" (RFC 5952). */
void iw_cap_end_print(struct iw_text *t, const struct iw_packet_end *e);
/* Appends the octets as text. A dot replaces all but printable ASCII, so that a peer cannot send
 * control characters to a terminal. */
void iw_cap_octets_print(struct iw_text *t, const uint8_t *p, size_t len);
/* Appends the event on one line, without time, addresses and newline. Octets of a peer appear as
 * printable ASCII only. */
void iw_cap_event_print(struct iw_text *t, const struct iw_cap_event *ev);

/* Appends p[at] and up to 15 more octets, in hex and as text; at < len. Returns their number. */
size_t iw_cap_hex_line(struct iw_text *t, const uint8_t *p, size_t len, size_t at);

/* --- transfer_show.c --- */

/* Returns the part of the transfer protocol in the event; NULL: the event has none. */
const struct iw_cap_transfer *iw_cap_transfer_of(const struct iw_cap_event *ev);
/* Appends it on one line, as iw_cap_event_print does. */
void iw_cap_transfer_print(struct iw_text *t, const struct iw_cap_transfer *m);
/* Appends it as one complete JSON object. */
void iw_cap_transfer_json(struct iw_text *t, const struct iw_cap_transfer *m);
struct iw_cap_field;
/* Fills out with at most max fields, one for each key of its map; offsets count from the first
 * octet of the map. Returns their number. */
size_t iw_cap_transfer_explain(struct iw_cap_field *out, size_t max,
			       const struct iw_cap_transfer *m);

/* --- json.c --- */

/* Longest control message of the transfer protocol that is reassembled, in octets. */
#define IW_CAP_MESSAGE_MAX    65536
/*
 * Size of the longest line, with its NUL. 8192 bytes hold the 512 octets of Private Data, as hex
 * digits and as text with at most two bytes for each octet, and all short fields. The rest is for
 * the payload of a segment in hex digits, and for a message of the transfer protocol: fewer than 20
 * bytes for each of its octets, since a key and its value have at least two octets.
 */
#define IW_CAP_LINE           (8192 + 2 * 65536 + 20 * IW_CAP_MESSAGE_MAX)
/* The same with all fields explained. */
#define IW_CAP_LINE_EXPLAINED (IW_CAP_LINE + IW_CAP_FIELDS_MAX * 400)

/*
 * Appends the event as one line of JSON, without a newline. "schema" and "event" come first, as in
 * the lines of the tools' JSON writer. That writer builds a tree of objects for each line; a
 * capture has millions of lines, so these are written as text.
 */
void iw_cap_event_json(struct iw_text *t, const struct iw_cap_event *ev);
struct iw_cap_field;
/* The same, with n fields of iw_cap_explain. */
void iw_cap_event_json_explained(struct iw_text *t, const struct iw_cap_event *ev,
				 const struct iw_cap_field *field, size_t n);
/* Appends the octets as a string of JSON. A dot replaces all but printable ASCII. */
void iw_cap_json_string(struct iw_text *t, const uint8_t *p, size_t len);
/* Appends the counters as a "result" line. complete: the capture was read to its end, or as far as
 * requested. exit_status: of the program. */
void iw_cap_totals_json(struct iw_text *t, const struct iw_cap_totals *totals, bool complete,
			int exit_status);

/* --- filter.c --- */

/* A DDP stream: a TCP connection, or one or any stream of an SCTP association. */
struct iw_cap_stream {
	uint32_t flow; /* struct iw_cap_flow.id */
	bool any;
	uint16_t sid;
};

/* Conditions of which an event must meet all. Zeroes: every event is shown. */
struct iw_cap_filter {
	/* Only errors and the segments that cause them, deviations, Terminates, rejections, losses
	 * and resets. */
	bool errors;
	/* Only segments that name one of these STags; borrowed. Empty: all events. */
	const uint32_t *stag;
	size_t stags;
	const struct iw_cap_stream *stream; /* only events of these; borrowed; empty: all events */
	size_t streams;
	/* Private: the last event. An error follows the segment that causes it. */
	bool last_ddp, last_wanted;
	uint32_t last_flow;
	uint64_t last_frame;
};
/* Returns whether the event is to be shown. Call it for every event, in order. */
bool iw_cap_filter(struct iw_cap_filter *f, const struct iw_cap_event *ev);

/* --- explain.c --- */

/* One field of a header. */
struct iw_cap_field {
	const char *header; /* the header that it is in: "MPA FPDU" */
	const char *name;   /* its name in the RFC */
	const char *clause; /* the clause that defines it */
	/* Its octets, counted from the first octet of the FPDU, frame, message or packet, without
	 * markers; those of a marker are counted with the markers before it. */
	uint32_t off, len;
	uint8_t bit, bits; /* within these, from the most significant bit; bits 0: all of them */
	bool is_number;    /* at most eight octets; value is valid */
	uint64_t value;
	char meaning[104];
	const uint8_t *octets; /* len octets, borrowed; NULL: not kept */
};

/* Most keys of a message of the transfer protocol that are explained. */
#define IW_CAP_KEYS_MAX   1024
/* Enough fields for every event. */
#define IW_CAP_FIELDS_MAX (64 + 2 * IW_CAP_MARKS_MAX + IW_CAP_KEYS_MAX)

/* Memory of octets that fields point to. */
struct iw_cap_scratch {
	uint8_t octets[64 + IW_CAP_MARKS_MAX * IW_MPA_MARKER_LEN];
};

/*
 * Fills out with at most max header fields of an mpa, session, ddp or sctp event, in the order of
 * their octets, markers last. The fields borrow from the event and from scratch. Returns their
 * number; 0: the event has none.
 */
size_t iw_cap_explain(struct iw_cap_field *out, size_t max, struct iw_cap_scratch *scratch,
		      const struct iw_cap_event *ev);

/* Lines for people: for each header its octets in hex, and then its fields. The caller sets field
 * and n, and zeroes the rest. */
struct iw_cap_explanation {
	const struct iw_cap_field *field; /* borrowed */
	size_t n;
	size_t i, end; /* the next field; the end of its header */
	uint32_t row, rows;
};
/* Appends the next line, without a newline. False: all lines were written. */
bool iw_cap_explain_line(struct iw_cap_explanation *x, struct iw_text *t);

/* --- align.c --- */

/* Appends the next line of the histogram, without a newline. *at is 0 before the first line. False:
 * all lines were written. */
bool iw_cap_align_line(const struct iw_cap_align *a, unsigned *at, struct iw_text *t);

/* --- source.c --- */

/* The origin of frames. file and interface are borrowed until the source is closed, filter for the
 * call. */
struct iw_cap_source_cfg {
	const char *file;      /* a pcap or pcapng file, "-" is standard input; NULL: live */
	const char *interface; /* live */
	const char *filter;    /* in the syntax of pcap-filter(7); NULL: every frame */
	/* Live; 0: the default. */
	uint32_t snaplen;       /* octets of each frame; default 262,144 */
	uint32_t buffer_octets; /* bytes of the kernel's buffer; default 16 MiB */
	bool not_promiscuous;
};

/* An open capture. */
struct iw_cap_source;

/* Returns 0 if captures can be read. IW_E_NOTSUP: built without libpcap. */
IW_MUST_CHECK int iw_cap_can_read(struct iw_fault *why);

/*
 * Opens a capture; *out is owned by the caller. IW_E_NOTSUP: built without libpcap. IW_E_PERM: the
 * user may not capture, or not read the file. IW_E_NOENT: no such interface or file. IW_E_OS: the
 * interface is down, or the file cannot be opened. IW_E_INVAL: the filter is not valid.
 * IW_E_FORMAT: the file is not a capture, or the link type is not in enum iw_packet_link. IW_E_LIMIT:
 * no free descriptors. IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_cap_open(struct iw_cap_source **out, const struct iw_cap_source_cfg *cfg,
			      struct iw_fault *why);
/*
 * Reads the next frame. 1: *f is the frame, borrowed until the next call. 0: end of the file.
 * IW_E_AGAIN: live, and no frame is queued. IW_E_FORMAT: the file is damaged here; the frames
 * before are good. IW_E_OS: the live capture failed, for example because the interface was removed.
 */
IW_MUST_CHECK int iw_cap_read(struct iw_cap_source *s, struct iw_cap_frame *f,
			      struct iw_fault *why);
/* Returns the descriptor to poll for reading, borrowed from s. -1: the source is a file. */
int iw_cap_source_fd(const struct iw_cap_source *s);
/* Returns the number of frames of a file that the filter has rejected. */
uint64_t iw_cap_source_rejected(const struct iw_cap_source *s);
/* Returns the number of frames that the kernel and the interface have dropped; 0 for a file. */
void iw_cap_source_drops(struct iw_cap_source *s, uint64_t *kernel, uint64_t *interface);
/* Returns the link type as in capture files (LINKTYPE_). */
int iw_cap_source_linktype(const struct iw_cap_source *s);
/* Closes and frees s, which may be NULL. */
void iw_cap_close(struct iw_cap_source *s);

#endif
