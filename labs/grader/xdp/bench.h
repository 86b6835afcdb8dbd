/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 9: the student's program on one frame after the other, and recipes for frames.
 *
 * A bench has streams and sockets in the program's maps. Its frames are run natively, in the
 * student's process, or are collected for a run in the kernel.
 */
#ifndef LABS_GRADER_XDP_BENCH_H
#define LABS_GRADER_XDP_BENCH_H

#include "labs/grader/lab.h"
#include "labs/grader/xdp/frame.h"
#include "labs/grader/xdp/kernel.h"

/* Values of the headers. */
enum {
	CASES = 40,
	NOISE = 2048,
	STREAMS = 10,
	ARP = 0x0806,
	VLAN = 0x8100,
	SERVICE = 0x88a8,
	SACK = 3,
	HEARTBEAT = 4,
	COOKIE_ECHO = 10,
	COOKIE_ACK = 11,
	I_DATA = 64,
	MF = 0x2000,
	DF = 0x4000,
	HOP_BY_HOP = 0,
	FRAGMENT = 44,
	DESTINATION = 60,
};

/* Names of XDP_ABORTED to XDP_REDIRECT. */
enum { XDP_ACTIONS = 5 };
extern const char *const xdp_actions[XDP_ACTIONS];

/* The state of a step. */
struct xdp_bench {
	struct lab_run *run;
	struct xdp_tables tables;
	uint64_t counters[XDP_COUNTERS]; /* as last seen */
	struct xdp_set *set;             /* frames are added to it; NULL: they are run */
	uint8_t noise[NOISE];
	uint16_t number; /* of the last frame */
};

/* A recipe with the memory that it needs. */
struct xdp_plan {
	struct xdp_recipe r;
	struct xdp_chunks chunks;
};

/*
 * Streams 1 to 3 differ from stream 0 in one field each; further ones are random. Each has a
 * different slot, and all slots of queue 0 have a socket.
 */
bool xdp_open_bench(struct xdp_bench *b, struct lab_run *run, struct xdp_set *set);
/* Add an entry to a map. False after a failure, as all functions below. */
bool xdp_add_stream(struct xdp_bench *b, uint32_t tag, uint16_t port, uint16_t stream,
		    uint32_t slot);
bool xdp_add_socket(struct xdp_bench *b, uint32_t entry);
/* Returns the counter that had 1 added since the last frame; XDP_NONE: none, or several. */
enum xdp_counter xdp_counted(struct xdp_bench *b);
/* "description; frame of N octets: hexadecimal", as far as it has room. */
void xdp_describe(char *dst, size_t cap, const char *text, const uint8_t *frame, size_t len);
/* Runs a frame and compares, or collects it. text: what it is. */
bool xdp_try_frame(struct xdp_bench *b, const struct xdp_frame *f, uint32_t queue,
		   const char *text);

/* --- plans --- */

enum xdp_segment { XDP_SEGMENT_TAGGED, XDP_SEGMENT_UNTAGGED };

/* Appends a DATA chunk with a segment of that many octets of payload. */
void xdp_add_segment(struct xdp_bench *b, struct xdp_chunks *c, enum xdp_segment kind,
		     uint16_t stream, size_t payload);
/* SCTP over IPv4 for a registered stream, without chunks. */
void xdp_plan_for(struct xdp_bench *b, struct xdp_plan *p, const struct xdp_stream *s);
/* The same with one tagged segment. */
const struct xdp_stream *xdp_plan_segment(struct xdp_bench *b, struct xdp_plan *p);
/* As xdp_try_frame, on queue 0. */
bool xdp_try_plan(struct xdp_bench *b, const struct xdp_plan *p, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Frames that end after each of their octets, from `from` on: with the lengths of the whole packet,
 * and with lengths that agree with the end. */
bool xdp_try_ends(struct xdp_bench *b, const struct xdp_plan *p, const char *what, size_t from);
/* Sets one 8- or 16-bit field of the frame of a plan. */
bool xdp_try_field(struct xdp_bench *b, const struct xdp_plan *p,
		   size_t (*at)(const struct xdp_frame *), size_t off, unsigned octets,
		   unsigned value, const char *what);

/* --- xdp_steps.c: the frames of each step --- */

bool xdp_frames_of_path(struct xdp_bench *b);
bool xdp_frames_of_truncated(struct xdp_bench *b);
bool xdp_frames_of_ipv4(struct xdp_bench *b);
bool xdp_frames_of_vlan(struct xdp_bench *b);
bool xdp_frames_of_udp(struct xdp_bench *b);
bool xdp_frames_of_ipv6(struct xdp_bench *b);
bool xdp_frames_of_chunks(struct xdp_bench *b);
bool xdp_frames_of_socket(struct xdp_bench *b);

/* --- xdp_trace.c --- */

/* As struct lab.trace. A table if the path ends in .txt, otherwise a capture. */
bool xdp_trace(struct lab_run *run, const char *path);

#endif
