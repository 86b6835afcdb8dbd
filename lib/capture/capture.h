/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture: captured frames in, iWARP events out. What ddp-dump is made of.
 *
 * Job: find TCP in captured frames, put each direction of a connection back in order, find the MPA
 * Request, follow what it negotiates, walk FPDUs and markers, check CRCs, decode DDP and RDMAP, and
 * say what of it breaks a rule. Everything is judged from what was captured; a capture may have
 * holes, and a hole is not the fault of the peers.
 *
 *     iw_cap_push(c, &frame);              one frame, borrowed until iw_cap_next has returned NULL
 *     while ((ev = iw_cap_next(c))) ...    what it told
 *     iw_cap_finish(c);                    no more frames
 *     while ((ev = iw_cap_next(c))) ...    what was still waiting
 *     iw_cap_totals(c)
 *
 * Neighbours: lib/wire decodes headers; ddp-dump and the tests call it. The decoder (all files but
 * source.c) makes no system call and prints nothing, so tests and fuzzers drive it; source.c reads
 * capture files through libpcap.
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
#include "wire/ddp.h"
#include "wire/mpa.h"

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
	uint8_t addr[16]; /* IPv4: the first four */
	uint16_t port;
};

/* Longest text of iw_cap_end_print, with its NUL. */
#define IW_CAP_END_TEXT 56

/* One TCP connection. Owned by the decoder; valid as long as the event that refers to it. */
struct iw_cap_flow {
	/* from 0, in order of appearance; every TCP connection has one, iWARP or not */
	uint32_t id;
	struct iw_cap_end end[2];
	/* the ends as text: written once, printed with every event */
	char name[2][IW_CAP_END_TEXT];
	int initiator; /* end[initiator] sent the MPA Request; -1: not known */
};

enum iw_cap_kind { IW_CAP_MPA, IW_CAP_DDP, IW_CAP_TCP, IW_CAP_ERROR };
const char *iw_cap_kind_name(enum iw_cap_kind k); /* "mpa", "ddp", "tcp", "error" */

/* RFC 5044 4.4. */
enum iw_cap_crc {
	IW_CAP_CRC_OFF, /* not negotiated, so not checked */
	IW_CAP_CRC_GOOD,
	IW_CAP_CRC_BAD,
	IW_CAP_CRC_ABSENT, /* cannot be checked: octets of the FPDU were not captured */
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
	X(RESERVED,  "reserved-not-zero",   "RFC 5041 4.1",                             \
	  "reserved bits are not zero")                                                 \
	X(TERM_BITS, "terminate-bit-order", "RFC 5040 4.8",                             \
	  "layer and type are exchanged and M, D, R in the low bits")                   \
	X(TERM_LEN,  "terminate-length",    "RFC 5040 4.8",                             \
	  "the DDP Segment Length leaves the header out")
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

/* A Request or Reply. */
struct iw_cap_mpa {
	struct iw_mpa_frame frame; /* pd: borrowed, valid as long as the event */
	bool enhanced;             /* RFC 6581: S = 1 and Rev 2 or above; enh is valid */
	struct iw_mpa_enhanced enh;
	const uint8_t *pd; /* the ULP's own Private Data, behind the enhanced data */
	size_t pd_len;
	/* A Reply that accepts: what is agreed from here on. */
	bool agreed;
	bool crc_on;
	bool markers_to_responder, markers_to_initiator;
};

/* One FPDU. What is missing from the capture is left out: see has_header. */
struct iw_cap_ddp {
	/* the DDP header is whole and was captured; otherwise only lengths and verdicts are
	 * valid */
	bool has_header;
	struct iw_ddp hdr;
	uint16_t ulpdu_len; /* ULPDU_Length */
	/* octets of payload behind the DDP header (RDMAP's own headers count as payload here) */
	size_t len;
	/* where the FPDU begins: octets since the end of the start-up frame, this direction */
	uint64_t position;
	/* captured frame in which the FPDU begins (event.frame: where it is complete) */
	uint64_t first_frame;
	bool aligned; /* begins where a TCP segment begins */
	enum iw_cap_crc crc;
	/* the CRC field, its first octet on top, as hex dumps and other tools show it */
	uint32_t crc_wire;
	uint32_t crc_computed; /* likewise; valid when crc is GOOD or BAD */
	enum iw_cap_marker marker;
	unsigned markers;                /* how many */
	uint64_t missing;                /* octets of this FPDU that were not captured */
	unsigned deviations;             /* enum iw_cap_deviation */
	const struct iw_rreq *rreq;      /* Read Request, decoded; else NULL */
	const struct iw_terminate *term; /* Terminate, as RFC 5040 4.8 reads it; else NULL */
	/* with IW_CAP_DEV_TERM_BITS: what the sender meant */
	const struct iw_terminate *term_exchanged;
	/* the first octets of the FPDU, ULPDU_Length first, markers left out; borrowed */
	const uint8_t *head;
	size_t head_len;
};

enum iw_cap_tcp_kind {
	IW_CAP_TCP_LOSS,   /* octets are not in the capture */
	IW_CAP_TCP_RESYNC, /* FPDU boundaries found again */
	IW_CAP_TCP_FIN,
	IW_CAP_TCP_RESET,
	IW_CAP_TCP_FORGOTTEN, /* too many connections at once: this one is no longer followed */
};
/* "loss", "resync", "fin", "reset", "forgotten" */
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
};
/* "gap", "snap", "limit", "end", "marker", "crc", "shape", "" */
const char *iw_cap_why_name(enum iw_cap_why w);

struct iw_cap_tcp {
	enum iw_cap_tcp_kind kind;
	enum iw_cap_why why;
	uint32_t seq;    /* sequence number at which it happened */
	uint64_t octets; /* LOSS: how many are missing; RESYNC: how many could not be decoded */
	bool sync;       /* LOSS: the FPDU boundaries are still known */
	/* what the direction was in the middle of, static text: "an FPDU", "MPA set-up", ... */
	const char *where;
};

struct iw_cap_event {
	enum iw_cap_kind kind;
	const struct iw_cap_flow *flow;
	unsigned from; /* flow->end[from] sent it */
	uint64_t time_ns;
	uint64_t frame; /* number of the captured frame that completed it */
	union {
		struct iw_cap_mpa mpa;
		struct iw_cap_ddp ddp;
		struct iw_cap_tcp tcp;
		/* a rule broken by the sender; offset: position of the FPDU */
		struct iw_fault error;
	};
};

/* One list makes the struct, the JSON keys and the lines of the man page. */
/* clang-format off */
#define IW_CAP_TOTALS_LIST(X)                                                                   \
	X(frames,           "frames in the capture")                                            \
	X(octets,           "octets of frames captured")                                        \
	X(tcp_frames,       "frames that carried TCP")                                          \
	X(other_frames,     "frames that carried something else")                               \
	X(fragments,        "IP fragments, which are not put together")                         \
	X(malformed,        "frames with headers that contradict their length")                 \
	X(cut_frames,       "frames that the snap length cut short")                            \
	X(flows,            "TCP connections")                                                  \
	X(iwarp_flows,      "connections with an MPA Request or Reply")                         \
	X(segments,         "DDP segments decoded")                                             \
	X(payload_octets,   "octets behind the DDP headers of these")                           \
	X(aligned,          "segments whose FPDU begins a TCP segment")                         \
	X(crc_good,         "FPDUs with a good CRC")                                            \
	X(crc_bad,          "FPDUs with a bad CRC")                                             \
	X(crc_off,          "FPDUs for which no CRC is negotiated")                             \
	X(crc_absent,       "FPDUs whose CRC cannot be checked, since octets were not captured")\
	X(markers,          "markers seen")                                                     \
	X(terminates,       "Terminate messages")                                               \
	X(errors,           "rules broken: the number of error events")                         \
	X(deviations,       "harmless departures from the RFCs")                                \
	X(headless,         "FPDUs whose DDP header was not captured or is cut short")          \
	X(losses,           "holes in iWARP connections")                                       \
	X(lost_octets,      "octets in these holes")                                            \
	X(undecoded_octets, "octets of iWARP connections captured but not decoded")             \
	X(repeated_octets,  "octets of TCP that came more than once")                           \
	X(out_of_order,     "TCP segments that came ahead of their turn")                       \
	X(forgotten,        "connections dropped because too many were open at once")
/* clang-format on */
struct iw_cap_totals {
#define IW_X_(name, text) uint64_t name;
	IW_CAP_TOTALS_LIST(IW_X_)
#undef IW_X_
};

/* A zero stands for the default. */
struct iw_cap_limits {
	uint32_t flows; /* most TCP connections followed at once; default 65,536 */
	/* most memory for what one direction keeps ahead of its turn; default 8 MiB */
	size_t direction_octets;
	size_t total_octets; /* the same for all of them; default 64 MiB */
	/* how far into each direction the MPA key is looked for; default 256 KiB. A TCP segment
	 * that begins with it is noticed anywhere. */
	uint64_t search_octets;
};

struct iw_cap_cfg {
	const struct iw_mem *mem; /* borrowed for life */
	uint64_t seed; /* random, so that nobody can make connections that collide in the table */
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

/* --- json.c --- */

/* Longest line with its NUL: the Private Data of 512 octets as hex digits and as text of which
 * each octet may need two, and the rest. */
#define IW_CAP_LINE 8192

/*
 * The event as one line of JSON, without a newline: "schema" and "event" first, as the tools' JSON
 * writer has it. That one builds a tree of objects for a line and writes it at once; a capture has
 * a million lines, so here they are put together as text.
 */
void iw_cap_event_json(struct iw_text *t, const struct iw_cap_event *ev);
/* The counters as a "result" line, with what the caller knows: did it read the whole capture,
 * and the exit status. */
void iw_cap_totals_json(struct iw_text *t, const struct iw_cap_totals *totals, bool complete,
			int exit_status);

/* --- source.c --- */

/* A capture being read. */
struct iw_cap_source;

/*
 * Opens a pcap or pcapng file; "-" is standard input. IW_E_NOTSUP: built without libpcap; IW_E_OS:
 * the file cannot be opened; IW_E_FORMAT: it is no capture, or its link type is none of enum
 * iw_cap_link. *why tells the user.
 */
IW_MUST_CHECK int iw_cap_open_file(struct iw_cap_source **out, const char *path,
				   struct iw_fault *why);
/* 1: *f is the next frame, borrowed until the next call; 0: the file ends; IW_E_FORMAT: it is
 * damaged here (*why says how), what was read before is good. */
IW_MUST_CHECK int iw_cap_read(struct iw_cap_source *s, struct iw_cap_frame *f,
			      struct iw_fault *why);
/* s may be NULL. */
void iw_cap_close(struct iw_cap_source *s);

#endif
