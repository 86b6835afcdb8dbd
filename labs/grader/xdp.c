/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 9: an XDP program that steers DDP segments to AF_XDP sockets. */
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ddp-impair/capture.h"
#include "labs/grader/lab.h"
#include "labs/grader/xdp_frame.h"
#include "labs/grader/xdp_kernel.h"
#include "util/num.h"

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

static const char *const actions[] = {
	[XDP_ABORTED] = "XDP_ABORTED", [XDP_DROP] = "XDP_DROP",         [XDP_PASS] = "XDP_PASS",
	[XDP_TX] = "XDP_TX",           [XDP_REDIRECT] = "XDP_REDIRECT",
};

static const char *const places[] = {
	[XDP_NOWHERE] = "nowhere",
	[XDP_SOCKET_A] = "the AF_XDP socket of the even slots",
	[XDP_SOCKET_B] = "the AF_XDP socket of the odd slots",
	[XDP_KERNEL] = "the kernel's network stack",
	[XDP_TWICE] = "several times",
	[XDP_CHANGED] = "with other octets",
};

/* The state of a step. */
struct bench {
	struct lab_run *run;
	struct xdp_tables tables;
	uint64_t counters[XDP_COUNTERS]; /* as last seen */
	struct xdp_set *set;             /* frames are added to it; NULL: they are run */
	uint8_t noise[NOISE];
	uint16_t number; /* of the last frame */
};

/* A recipe with the memory that it needs. */
struct plan {
	struct xdp_recipe r;
	struct xdp_chunks chunks;
};

/* --- the student's program, natively ------------------------------------------------------------ */

/* "description; frame of N octets: hexadecimal", as far as it has room. */
static void describe(char *dst, size_t cap, const char *text, const uint8_t *frame, size_t len)
{
	size_t at = (size_t)snprintf(dst, cap, "%s; frame of %zu octets: ", text, len);

	for (size_t i = 0; i < len && at + 8 < cap; i++)
		at += (size_t)snprintf(dst + at, cap - at, "%s%02x", i && i % 4 == 0 ? " " : "",
				       frame[i]);
}

/* Returns the counter that had 1 added since the last frame; XDP_NONE: none, or several. */
static enum xdp_counter counted(struct bench *b)
{
	enum xdp_counter found = XDP_NONE;
	unsigned n = 0;

	for (unsigned i = 0; i < XDP_COUNTERS; i++) {
		uint64_t now = lab_get_u64(b->run);

		if (now != b->counters[i]) {
			found = now == b->counters[i] + 1 ? i : XDP_NONE;
			n++;
		}
		b->counters[i] = now;
	}
	return n == 1 ? found : XDP_NONE;
}

static bool compare(struct bench *b, const uint8_t *frame, size_t len, struct xdp_verdict expected)
{
	uint32_t action = lab_get_u32(b->run), entry = lab_get_u32(b->run);
	enum xdp_counter c = counted(b);
	struct lab_octets after = lab_get_octets(b->run);

	return lab_results_end(b->run) &&
	       lab_expect_name(b->run, "the counter that had 1 added", xdp_counter_names,
			       XDP_COUNTERS + 1, expected.counter, c) &&
	       lab_expect_name(b->run, "the result of the program", actions, IW_ARRAY_LEN(actions),
			       xdp_redirects(expected.counter) ? XDP_REDIRECT : XDP_PASS, action) &&
	       (!xdp_redirects(expected.counter) ||
		lab_expect_number(b->run, "the entry of xsks to which the frame is redirected",
				  expected.entry, entry)) &&
	       lab_expect_octets(b->run, "the frame after the run", frame, len, after.at,
				 after.len);
}

static bool run_natively(struct bench *b, const uint8_t *frame, size_t len, uint32_t queue,
			 const char *text)
{
	char description[250];

	describe(description, sizeof(description), text, frame, len);
	lab_case(b->run, "%s", description);
	lab_call(b->run, "run");
	lab_put_u32(b->run, queue);
	lab_put_octets(b->run, frame, len);
	return lab_run_call(b->run) &&
	       compare(b, frame, len, xdp_judge(&b->tables, frame, len, queue));
}

/* The kernel's test run has receive queue 0 only, and frames with an Ethernet header. */
static bool add_to_set(struct bench *b, const uint8_t *frame, size_t len, uint32_t queue,
		       const char *text)
{
	struct xdp_case *c = &b->set->cases[b->set->n];
	uint8_t *copy;

	if (queue || len < 14 || b->set->n == XDP_SET_MAX)
		return true;
	copy = malloc(len);
	if (!copy)
		return lab_fail(b->run, "no memory");
	memcpy(copy, frame, len);
	c->frame = copy;
	c->len = len;
	snprintf(c->text, sizeof(c->text), "%s", text);
	b->set->n++;
	return true;
}

static bool try_frame(struct bench *b, const struct xdp_frame *f, uint32_t queue, const char *text)
{
	if (b->set)
		return add_to_set(b, f->at, f->len, queue, text);
	return run_natively(b, f->at, f->len, queue, text);
}

static bool add_stream(struct bench *b, uint32_t tag, uint16_t port, uint16_t stream, uint32_t slot)
{
	b->tables.streams[b->tables.n++] = (struct xdp_stream){ tag, port, stream, slot };
	if (b->set)
		return true;
	lab_call(b->run, "register");
	lab_put_u32(b->run, tag);
	lab_put_u16(b->run, port);
	lab_put_u16(b->run, stream);
	lab_put_u32(b->run, slot);
	return lab_run_call(b->run) &&
	       lab_expect_true(b->run, lab_get_u8(b->run) == 1,
			       "the map streams does not accept a stream; was steer.h changed?");
}

static bool add_socket(struct bench *b, uint32_t entry)
{
	b->tables.socket[entry] = true;
	if (b->set)
		return true;
	lab_call(b->run, "socket");
	lab_put_u32(b->run, entry);
	return lab_run_call(b->run) &&
	       lab_expect_true(b->run, lab_get_u8(b->run) == 1,
			       "the map xsks does not accept a socket; was steer.h changed?");
}

/*
 * Streams 1 to 3 differ from stream 0 in one field each; further ones are random. Each has a
 * different slot, and all slots of queue 0 have a socket.
 */
static bool open_bench(struct bench *b, struct lab_run *run, struct xdp_set *set)
{
	uint32_t tag = 0x81000000u | (uint32_t)lab_below(run, 0xffffff);
	uint16_t port = (uint16_t)(0x1d2f + lab_below(run, 100)),
		 stream = (uint16_t)(0x0102 + lab_below(run, 50));
	bool ok;

	memset(b, 0, sizeof(*b));
	b->run = run;
	b->set = set;
	lab_fill(run, b->noise, sizeof(b->noise));
	ok = add_stream(b, tag, port, stream, 3) && add_stream(b, tag ^ 1, port, stream, 1) &&
	     add_stream(b, tag, (uint16_t)(port + 1), stream, 6) &&
	     add_stream(b, tag, port, (uint16_t)(stream + 1), 0);
	for (uint32_t i = 4; ok && i < STREAMS; i++)
		ok = add_stream(b, (uint32_t)lab_random(run),
				(uint16_t)(1000 + lab_below(run, 60000)), (uint16_t)lab_random(run),
				i + 3);
	for (uint32_t i = 0; ok && i < XDP_SLOTS; i++)
		ok = add_socket(b, i);
	return ok;
}

/* --- plans ---------------------------------------------------------------------------------------- */

enum segment { TAGGED, UNTAGGED };

/* Appends a DATA chunk with a segment; returns the octets of its user data. */
static void add_segment(struct bench *b, struct xdp_chunks *c, enum segment kind, uint16_t stream,
			size_t payload)
{
	uint8_t user[1500];
	size_t header = kind == TAGGED ? 2 + 14 : 2 + 18;

	lab_fill(b->run, user, header + payload);
	user[2] = kind == TAGGED ? 0xc1 : 0x41; /* T, L, DV */
	user[3] = kind == TAGGED ? 0x40 : 0x43;
	xdp_data(c, XDP_DATA_WHOLE, stream, XDP_PPID_SEGMENT, user, header + payload);
}

/* SCTP over IPv4 for a registered stream, without chunks. */
static void plan_for(struct bench *b, struct plan *p, const struct xdp_stream *s)
{
	memset(p, 0, sizeof(*p));
	p->r.tag = s->tag;
	p->r.port = s->port;
	p->r.number = ++b->number;
	p->r.chunks = &p->chunks;
	p->r.noise = b->noise;
}

/* The same with one tagged segment. */
static const struct xdp_stream *plan_segment(struct bench *b, struct plan *p)
{
	const struct xdp_stream *s = &b->tables.streams[lab_below(b->run, STREAMS)];

	plan_for(b, p, s);
	add_segment(b, &p->chunks, TAGGED, s->stream, lab_below(b->run, 40));
	return s;
}

static bool try_plan(struct bench *b, const struct plan *p, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool try_plan(struct bench *b, const struct plan *p, const char *format, ...)
{
	struct xdp_frame f;
	char text[120];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	xdp_build(&f, &p->r);
	return try_frame(b, &f, 0, text);
}

/* Frames that end after each of their octets, from `from` on: with the lengths of the whole packet,
 * and with lengths that agree with the end. */
static bool try_ends(struct bench *b, const struct plan *p, const char *what, size_t from)
{
	struct xdp_frame whole, f;
	char text[120];

	xdp_build(&whole, &p->r);
	for (size_t end = from; end < whole.len; end++) {
		f = whole;
		f.len = end;
		snprintf(text, sizeof(text), "%s, of which only %zu octets are there", what, end);
		if (!try_frame(b, &f, 0, text))
			return false;
		f = whole;
		xdp_cut(&f, &p->r, end);
		snprintf(text, sizeof(text),
			 "%s that ends after %zu octets; the lengths in its headers agree", what,
			 end);
		if (!try_frame(b, &f, 0, text))
			return false;
	}
	return true;
}

/* Sets one 8- or 16-bit field of the frame of a plan. */
static bool try_field(struct bench *b, const struct plan *p, size_t (*at)(const struct xdp_frame *),
		      size_t off, unsigned octets, unsigned value, const char *what)
{
	struct xdp_frame f;
	char text[120];

	xdp_build(&f, &p->r);
	if (octets == 1)
		f.at[at(&f) + off] = (uint8_t)value;
	else
		iw_put_be16(f.at + at(&f) + off, (uint16_t)value);
	snprintf(text, sizeof(text), "%s is %u", what, value);
	return try_frame(b, &f, 0, text);
}

static size_t at_ip(const struct xdp_frame *f)
{
	return f->ip;
}

static size_t at_udp(const struct xdp_frame *f)
{
	return f->payload;
}

static size_t at_chunks(const struct xdp_frame *f)
{
	return f->chunks;
}

/* --- step 1: the straight path ---------------------------------------------------------------------- */

static bool registered(struct bench *b)
{
	struct plan p;

	for (size_t i = 0; i < STREAMS; i++) {
		const struct xdp_stream *s = &b->tables.streams[i];

		plan_for(b, &p, s);
		add_segment(b, &p.chunks, TAGGED, s->stream, 20);
		if (!try_plan(
			    b, &p,
			    "SCTP on IPv4, a segment of a registered stream: tag 0x%08x, port %u, stream %u",
			    s->tag, s->port, s->stream))
			return false;
	}
	return true;
}

/* A segment for a tag, port and stream that differ from those of stream 0. */
static bool unregistered(struct bench *b)
{
	const struct xdp_stream *s = &b->tables.streams[0];
	const struct xdp_stream others[] = {
		{ .tag = s->tag ^ 2, .port = s->port, .stream = s->stream },
		{ .tag = s->tag ^ 0x01000000, .port = s->port, .stream = s->stream },
		{ .tag = s->tag, .port = s->port ^ 0x0100, .stream = s->stream },
		{ .tag = s->tag, .port = s->port ^ 0x0080, .stream = s->stream },
		{ .tag = s->tag, .port = s->port, .stream = s->stream ^ 0x0100 },
		{ .tag = s->tag, .port = s->port, .stream = s->stream ^ 0x0080 },
		{ .tag = 0, .port = 0, .stream = 0 },
	};
	struct plan p;

	for (size_t i = 0; i < IW_ARRAY_LEN(others); i++) {
		plan_for(b, &p, &others[i]);
		add_segment(b, &p.chunks, TAGGED, others[i].stream, 20);
		if (!try_plan(
			    b, &p,
			    "a segment of a stream that is not registered: tag 0x%08x, port %u, stream %u",
			    others[i].tag, others[i].port, others[i].stream))
			return false;
	}
	return true;
}

static bool other_payloads(struct bench *b)
{
	static const uint32_t ppids[] = { XDP_PPID_CONTROL, 0,          15,        0x10000000,
					  0x1000,           0x00010010, 0xffffffff };
	const struct xdp_stream *s = &b->tables.streams[0];
	uint8_t user[40] = { 0, 0, 0xc1, 0x40 };
	struct plan p;

	for (size_t i = 0; i < IW_ARRAY_LEN(ppids); i++) {
		plan_for(b, &p, s);
		xdp_data(&p.chunks, XDP_DATA_WHOLE, s->stream, ppids[i], user, sizeof(user));
		if (!try_plan(b, &p, "a DATA chunk with payload protocol identifier 0x%08x",
			      ppids[i]))
			return false;
	}
	return true;
}

static bool other_protocols(struct bench *b)
{
	static const uint8_t protocols[] = { 6, 1, 131, 133, 255 };
	static const uint16_t types[] = { ARP, 0x0008, 0x0801, 0x0900, 0x86de, 0xffff, 0x0005 };
	struct plan p;

	for (size_t i = 0; i < IW_ARRAY_LEN(protocols); i++) {
		plan_segment(b, &p);
		p.r.protocol = protocols[i];
		if (!try_plan(b, &p, "IPv4 with protocol %u", protocols[i]))
			return false;
	}
	for (size_t i = 0; i < IW_ARRAY_LEN(types); i++) {
		plan_segment(b, &p);
		p.r.type = types[i];
		if (!try_plan(b, &p, "a frame of type 0x%04x", types[i]))
			return false;
	}
	return true;
}

static bool frames_of_path(struct bench *b)
{
	struct plan p;

	if (!registered(b) || !unregistered(b) || !other_payloads(b) || !other_protocols(b))
		return false;
	plan_for(b, &p, &b->tables.streams[0]);
	xdp_chunk(&p.chunks, SACK, 0, b->noise, 12);
	if (!try_plan(b, &p, "an SCTP packet with a SACK chunk only"))
		return false;
	for (unsigned i = 0; i < CASES; i++) {
		const struct xdp_stream *s = plan_segment(b, &p);

		p.r.tag ^= lab_below(b->run, 4) ? 0 : 1u << lab_below(b->run, 32);
		if (!try_plan(b, &p, "a segment: tag 0x%08x, port %u, stream %u", p.r.tag, s->port,
			      s->stream))
			return false;
	}
	return true;
}

/* --- step 2: frames that end too early --------------------------------------------------------------- */

static bool wrong_lengths(struct bench *b)
{
	static const unsigned ihls[] = { 0, 1, 2, 3, 4 }, versions[] = { 0, 5, 6, 15 };
	struct plan p;
	struct xdp_frame f;
	unsigned total;

	plan_segment(b, &p);
	xdp_build(&f, &p.r);
	total = (unsigned)(f.len - f.ip);
	for (size_t i = 0; i < IW_ARRAY_LEN(ihls); i++)
		if (!try_field(b, &p, at_ip, 0, 1, 0x40 + ihls[i],
			       "the first octet of IPv4 (version and IHL)"))
			return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(versions); i++)
		if (!try_field(b, &p, at_ip, 0, 1, versions[i] << 4 | 5,
			       "the first octet of IPv4 (version and IHL)"))
			return false;
	/* With an IHL of 4, the packet would still have chunks: the checksum of SCTP is a COOKIE ACK. */
	f.at[f.ip] = 0x44;
	memcpy(f.at + f.sctp + 8, (uint8_t[]){ COOKIE_ACK, 0, 0, 4 }, 4);
	if (!try_frame(b, &f, 0, "IPv4 with an IHL of 4, and what looks like chunks after it"))
		return false;
	return try_field(b, &p, at_ip, 2, 2, total + 1,
			 "one octet is missing: the total length of IPv4") &&
	       try_field(b, &p, at_ip, 2, 2, 0xffff, "the total length of IPv4") &&
	       try_field(b, &p, at_ip, 2, 2, 0, "the total length of IPv4") &&
	       try_field(b, &p, at_ip, 2, 2, 19, "the total length of IPv4");
}

static bool frames_of_truncated(struct bench *b)
{
	const struct xdp_stream *s = &b->tables.streams[0];
	struct plan p;
	static const uint16_t lengths[] = { 0, 1, 2, 3, 4, 5, 12, 15 };
	struct xdp_frame f;
	unsigned len;

	plan_for(b, &p, s);
	add_segment(b, &p.chunks, TAGGED, s->stream, 9);
	if (!try_ends(b, &p, "SCTP on IPv4 with a segment", 0) || !wrong_lengths(b))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(lengths); i++)
		if (!try_field(b, &p, at_chunks, 2, 2, lengths[i], "the length of the DATA chunk"))
			return false;
	xdp_build(&f, &p.r);
	/* The chunk has 41 octets and 3 of padding: a length of 44 is still within the packet. */
	len = (unsigned)(f.len - f.chunks);
	return try_field(b, &p, at_chunks, 2, 2, len, "the length of the DATA chunk") &&
	       try_field(b, &p, at_chunks, 2, 2, len + 1,
			 "the packet has one octet less; the length of the DATA chunk") &&
	       try_field(b, &p, at_chunks, 2, 2, 0xffff, "the length of the DATA chunk");
}

/* --- step 3: IPv4 -------------------------------------------------------------------------------------- */

/* Octets after an IP or UDP packet must not be taken for chunks: here they are a valid segment. */
static bool trailers(struct bench *b, struct plan *p, const char *where)
{
	struct xdp_chunks after = { .len = 0 };

	add_segment(b, &after, TAGGED, b->tables.streams[0].stream, 20);
	p->r.trailer = after.at;
	p->r.trailer_len = after.len;
	p->chunks.len = 0;
	xdp_chunk(&p->chunks, COOKIE_ACK, 0, NULL, 0);
	if (!try_plan(b, p,
		      "a DATA chunk after the end of the %s packet, which has a COOKIE ACK only",
		      where))
		return false;
	p->chunks.len = 0;
	return try_plan(b, p, "a DATA chunk after the end of the %s packet, which has no chunks",
			where);
}

static bool padded(struct bench *b, struct plan *p)
{
	static const uint8_t zeroes[46];

	for (size_t n = 1; n <= 46; n += 5) {
		p->r.trailer = zeroes;
		p->r.trailer_len = n;
		if (!try_plan(b, p, "IPv4 with a segment, and %zu octets of Ethernet padding", n))
			return false;
	}
	p->chunks.len = 0;
	xdp_chunk(&p->chunks, COOKIE_ACK, 0, NULL, 0);
	p->r.trailer_len = 10;
	return try_plan(b, p, "a COOKIE ACK, padded to 60 octets as Ethernet does");
}

static bool frames_of_ipv4(struct bench *b)
{
	static const uint16_t fragments[] = { MF,     1,      0x1fff, MF | 1, MF | DF,
					      0x0100, 0x1000, 0x0800, DF,     0 };
	const struct xdp_stream *s = &b->tables.streams[0];
	struct plan p;

	for (unsigned words = 0; words <= 10; words++) {
		plan_segment(b, &p);
		p.r.options = words;
		if (!try_plan(b, &p, "IPv4 with %u octets of options", 4 * words))
			return false;
	}
	for (size_t i = 0; i < IW_ARRAY_LEN(fragments); i++) {
		plan_segment(b, &p);
		p.r.fragment = fragments[i];
		if (!try_plan(b, &p, "IPv4 with flags and fragment offset 0x%04x", fragments[i]))
			return false;
	}
	plan_for(b, &p, s);
	add_segment(b, &p.chunks, TAGGED, s->stream, 20);
	if (!padded(b, &p))
		return false;
	plan_for(b, &p, s);
	if (!trailers(b, &p, "IPv4"))
		return false;
	plan_segment(b, &p);
	if (!try_field(b, &p, at_ip, 2, 2, 20,
		       "the frame has a segment after the IPv4 packet, whose total length"))
		return false;
	p.r.options = 4;
	return try_ends(b, &p, "IPv4 with 16 octets of options, and a segment", 14);
}

/* --- step 4: VLAN -------------------------------------------------------------------------------------- */

static bool frames_of_vlan(struct bench *b)
{
	struct plan p;

	for (unsigned i = 0; i < CASES; i++) {
		plan_segment(b, &p);
		p.r.vlans = i % 5;
		p.r.type = i % 10 == 7 ? ARP : 0;
		p.r.options = i % 3;
		for (unsigned k = 0; k < 4; k++) {
			p.r.vlan[k].type = (i + k) % 4 ? VLAN : SERVICE;
			p.r.vlan[k].control = (uint16_t)(i % 2 ? lab_random(b->run) : 0x0800);
		}
		if (p.r.vlans == 1)
			p.r.vlan[0].type = i % 2 ? VLAN : SERVICE;
		if (!try_plan(b, &p, "%u VLAN tags, then type 0x%04x", p.r.vlans,
			      p.r.type ? p.r.type : 0x0800))
			return false;
	}
	plan_segment(b, &p);
	p.r.vlans = 2;
	p.r.vlan[0].type = SERVICE;
	p.r.vlan[1].type = VLAN;
	return try_ends(b, &p, "a frame with two VLAN tags", 14);
}

/* --- step 5: UDP ---------------------------------------------------------------------------------------- */

static bool udp_lengths(struct bench *b)
{
	struct plan p;
	struct xdp_frame f;
	unsigned len;

	plan_for(b, &p, &b->tables.streams[0]);
	p.r.udp = true;
	add_segment(b, &p.chunks, TAGGED, b->tables.streams[0].stream, 20);
	xdp_build(&f, &p.r);
	len = (unsigned)(f.len - f.payload);
	return try_field(b, &p, at_udp, 4, 2, 0, "the length of UDP") &&
	       try_field(b, &p, at_udp, 4, 2, 7, "the length of UDP") &&
	       try_field(b, &p, at_udp, 4, 2, 8, "the length of UDP") &&
	       try_field(b, &p, at_udp, 4, 2, 19, "the length of UDP") &&
	       try_field(b, &p, at_udp, 4, 2, 20, "the length of UDP") &&
	       try_field(b, &p, at_udp, 4, 2, len - 1,
			 "one octet less than the DATA chunk needs: the length of UDP") &&
	       try_field(b, &p, at_udp, 4, 2, len + 1,
			 "one octet more than IP has: the length of UDP") &&
	       try_field(b, &p, at_udp, 4, 2, 0xffff, "the length of UDP");
}

/* The length of UDP ends before that of IP: what follows is no chunk. */
static bool udp_trailer(struct bench *b)
{
	struct plan p;
	struct xdp_frame f;

	plan_for(b, &p, &b->tables.streams[0]);
	p.r.udp = true;
	xdp_chunk(&p.chunks, COOKIE_ACK, 0, NULL, 0);
	add_segment(b, &p.chunks, TAGGED, b->tables.streams[0].stream, 20);
	xdp_build(&f, &p.r);
	iw_put_be16(f.at + f.payload + 4, 8 + 12 + 4);
	return try_frame(
		b, &f, 0,
		"a DATA chunk after the end of the UDP datagram, which has a COOKIE ACK only");
}

static bool frames_of_udp(struct bench *b)
{
	static const uint16_t ports[] = { XDP_UDP_PORT, 9898,   9900, 0xab26,
					  0x26aa,       0x25ab, 53,   65535 };
	struct plan p;

	for (size_t i = 0; i < IW_ARRAY_LEN(ports); i++) {
		plan_segment(b, &p);
		p.r.udp = true;
		p.r.udp_port = ports[i];
		p.r.udp_source = i % 2 ? XDP_UDP_PORT : (uint16_t)(40000 + i);
		if (!try_plan(b, &p, "SCTP in UDP from port %u to port %u", p.r.udp_source,
			      ports[i]))
			return false;
	}
	for (unsigned i = 0; i < CASES; i++) {
		plan_segment(b, &p);
		p.r.udp = true;
		p.r.options = i % 11;
		p.r.vlans = i % 3;
		p.r.vlan[0].type = p.r.vlan[1].type = VLAN;
		p.r.udp_source = (uint16_t)(1024 + lab_below(b->run, 60000));
		if (!try_plan(b, &p,
			      "SCTP in UDP, after %u VLAN tags and %u octets of IPv4 options",
			      p.r.vlans, 4 * p.r.options))
			return false;
	}
	plan_segment(b, &p);
	p.r.udp = true;
	return udp_lengths(b) && udp_trailer(b) &&
	       try_ends(b, &p, "SCTP in UDP on IPv4 with a segment", 14);
}

/* --- step 6: IPv6 ---------------------------------------------------------------------------------------- */

static void add_extension(struct plan *p, uint8_t next, uint8_t len, uint16_t fragment)
{
	unsigned i = p->r.extensions++;

	p->r.extension[i].next = next;
	p->r.extension[i].len = len;
	p->r.extension[i].fragment = fragment;
}

static const struct xdp_stream *plan_ipv6(struct bench *b, struct plan *p)
{
	const struct xdp_stream *s = plan_segment(b, p);

	p->r.v6 = true;
	return s;
}

static bool one_extension(struct bench *b)
{
	static const struct {
		uint8_t next, len;
		uint16_t fragment;
		const char *text;
	} kinds[] = {
		{ HOP_BY_HOP, 0, 0, "hop-by-hop options of 8 octets" },
		{ HOP_BY_HOP, 1, 0, "hop-by-hop options of 16 octets" },
		{ DESTINATION, 0, 0, "destination options of 8 octets" },
		{ DESTINATION, 20, 0, "destination options of 168 octets" },
		{ DESTINATION, 255, 0, "destination options of 2,048 octets" },
		{ FRAGMENT, 0, 0, "a fragment header of a whole packet" },
		{ FRAGMENT, 7, 0, "a fragment header with 7 in its reserved octet" },
		{ FRAGMENT, 0, 6, "a fragment header with its reserved bits set" },
		{ FRAGMENT, 0, 1, "a fragment header with the M flag" },
		{ FRAGMENT, 0, 8, "a fragment header with an offset" },
		{ FRAGMENT, 0, 0x8000, "a fragment header with an offset" },
		{ FRAGMENT, 0, 0x0801, "a fragment header with an offset and the M flag" },
		{ 43, 0, 0, "a routing header" },
		{ 51, 0, 0, "an authentication header" },
		{ 59, 0, 0, "no next header" },
	};
	struct plan p;

	for (size_t i = 0; i < IW_ARRAY_LEN(kinds); i++) {
		plan_ipv6(b, &p);
		p.r.udp = i % 2;
		add_extension(&p, kinds[i].next, kinds[i].len, kinds[i].fragment);
		if (!try_plan(b, &p, "IPv6 with %s", kinds[i].text))
			return false;
	}
	return true;
}

static bool many_extensions(struct bench *b)
{
	struct plan p;

	for (unsigned i = 0; i < CASES; i++) {
		unsigned n = i % 7;

		plan_ipv6(b, &p);
		p.r.udp = i % 2;
		for (unsigned k = 0; k < n; k++)
			add_extension(&p,
				      (uint8_t[]){ HOP_BY_HOP, DESTINATION, FRAGMENT }[(k + i) % 3],
				      (uint8_t)lab_below(b->run, 4), 0);
		if (!try_plan(b, &p, "IPv6 with %u extension headers", n))
			return false;
	}
	return true;
}

static bool ipv6_lengths(struct bench *b)
{
	struct plan p;
	struct xdp_frame f;
	unsigned len;

	plan_ipv6(b, &p);
	xdp_build(&f, &p.r);
	len = (unsigned)(f.len - f.ip - 40);
	if (!try_field(b, &p, at_ip, 0, 1, 0x45, "the first octet of IPv6 (version)") ||
	    !try_field(b, &p, at_ip, 4, 2, len + 1,
		       "one octet is missing: the payload length of IPv6") ||
	    !try_field(b, &p, at_ip, 4, 2, 0xffff, "the payload length of IPv6") ||
	    !try_field(b, &p, at_ip, 4, 2, 0, "the payload length of IPv6") ||
	    !try_field(b, &p, at_ip, 4, 2, 11, "the payload length of IPv6") ||
	    !try_field(b, &p, at_ip, 4, 2, 12, "the payload length of IPv6"))
		return false;
	add_extension(&p, DESTINATION, 1, 0);
	xdp_build(&f, &p.r);
	return try_field(b, &p, at_ip, 4, 2, 8,
			 "an extension header of 16 octets, and the payload length of IPv6") &&
	       try_field(b, &p, at_ip, 41, 1, 100,
			 "an extension header ends after the packet: its length");
}

static bool frames_of_ipv6(struct bench *b)
{
	struct plan p;

	for (unsigned i = 0; i < CASES; i++) {
		plan_ipv6(b, &p);
		p.r.udp = i % 2;
		p.r.protocol = i % 10 == 9 ? 58 : 0;
		p.r.vlans = i % 3;
		p.r.vlan[0].type = p.r.vlan[1].type = VLAN;
		if (!try_plan(b, &p, "%s on IPv6, after %u VLAN tags",
			      p.r.protocol ? "ICMPv6"
			      : i % 2      ? "SCTP in UDP"
					   : "SCTP",
			      p.r.vlans))
			return false;
	}
	if (!one_extension(b) || !many_extensions(b) || !ipv6_lengths(b))
		return false;
	plan_for(b, &p, &b->tables.streams[0]);
	p.r.v6 = true;
	if (!trailers(b, &p, "IPv6"))
		return false;
	plan_ipv6(b, &p);
	add_extension(&p, DESTINATION, 1, 0);
	add_extension(&p, FRAGMENT, 0, 0);
	return try_ends(b, &p, "IPv6 with two extension headers, and a segment", 14);
}

/* --- step 7: chunks --------------------------------------------------------------------------------------- */

/* Chunks of each length before the segment; their contents look like a DATA chunk. */
static bool before_data(struct bench *b)
{
	static const uint8_t types[] = { SACK, HEARTBEAT, COOKIE_ECHO, I_DATA, 0xc0, 0x80 };
	struct plan p;

	for (unsigned len = 0; len <= 40; len += len < 9 ? 1 : 7) {
		const struct xdp_stream *s = &b->tables.streams[len % STREAMS];
		uint8_t content[40] = { 0, 3, 0, 20 };

		plan_for(b, &p, s);
		xdp_chunk(&p.chunks, types[len % IW_ARRAY_LEN(types)], 0, content, len);
		add_segment(b, &p.chunks, TAGGED, s->stream, lab_below(b->run, 30));
		if (!try_plan(b, &p, "a chunk of type %u and length %u, then a segment",
			      types[len % IW_ARRAY_LEN(types)], 4 + len))
			return false;
	}
	return true;
}

static bool many_chunks(struct bench *b)
{
	struct plan p;

	for (unsigned n = 1; n <= 10; n++) {
		const struct xdp_stream *s = &b->tables.streams[n - 1];

		plan_for(b, &p, s);
		for (unsigned i = 0; i < n; i++)
			xdp_chunk(&p.chunks, i % 2 ? SACK : HEARTBEAT, 0, b->noise,
				  lab_below(b->run, 20));
		add_segment(b, &p.chunks, TAGGED, s->stream, 20);
		if (!try_plan(b, &p, "%u other chunks, then a segment", n))
			return false;
	}
	return true;
}

/* The end of the packet after a chunk that is not DATA. */
static bool chunk_ends(struct bench *b)
{
	const struct xdp_stream *s = &b->tables.streams[0];
	struct plan p;
	struct xdp_frame f;

	plan_for(b, &p, s);
	xdp_chunk(&p.chunks, HEARTBEAT, 0, b->noise, 5);
	add_segment(b, &p.chunks, TAGGED, s->stream, 9);
	if (!try_ends(b, &p, "a HEARTBEAT of 9 octets and a segment", 46))
		return false;
	xdp_build(&f, &p.r);
	for (unsigned len = 0; len < 4; len++) {
		iw_put_be16(f.at + f.chunks + 2, (uint16_t)len);
		if (!try_frame(b, &f, 0, "a HEARTBEAT with a length below 4, then a segment"))
			return false;
	}
	iw_put_be16(f.at + f.chunks + 2, (uint16_t)(f.len - f.chunks + 1));
	return try_frame(b, &f, 0, "a HEARTBEAT that ends after the packet") &&
	       try_field(b, &p, at_chunks, 2, 2, 0xffff,
			 "the length of a HEARTBEAT before the segment") &&
	       try_field(b, &p, at_chunks, 2, 2, 0xfffc,
			 "the length of a HEARTBEAT before the segment");
}

/* The first DATA chunk decides. */
static bool two_data(struct bench *b)
{
	const struct xdp_stream *s = &b->tables.streams[0];
	uint8_t user[30] = { 0, 0, 0xc1 };
	struct plan p;

	plan_for(b, &p, s);
	xdp_data(&p.chunks, XDP_DATA_WHOLE, s->stream, XDP_PPID_CONTROL, user, sizeof(user));
	add_segment(b, &p.chunks, TAGGED, s->stream, 20);
	if (!try_plan(b, &p, "a DATA chunk with session control, then one with a segment"))
		return false;
	p.chunks.len = 0;
	add_segment(b, &p.chunks, TAGGED, s->stream ^ 0x0400, 20);
	add_segment(b, &p.chunks, TAGGED, s->stream, 20);
	if (!try_plan(
		    b, &p,
		    "a segment of a stream that is not registered, then one of a registered stream"))
		return false;
	p.chunks.len = 0;
	add_segment(b, &p.chunks, UNTAGGED, s->stream, 20);
	add_segment(b, &p.chunks, TAGGED, s->stream + 1, 20);
	return try_plan(b, &p, "an untagged segment, then a tagged one of another stream");
}

/* Segments of each kind: whole, fragments of messages, and too short for a DDP header. */
static bool segment_kinds(struct bench *b)
{
	static const uint8_t controls[] = { 0xc1, 0x41, 0x81, 0x01, 0x80, 0x7f, 0xff, 0x00 };
	const struct xdp_stream *s = &b->tables.streams[0];
	struct plan p;

	for (unsigned flags = 0; flags < 16; flags++) {
		uint8_t user[24];

		lab_fill(b->run, user, sizeof(user));
		user[2] = controls[flags % IW_ARRAY_LEN(controls)];
		plan_for(b, &p, s);
		xdp_data(&p.chunks, (uint8_t)flags, s->stream, XDP_PPID_SEGMENT, user,
			 sizeof(user));
		if (!try_plan(b, &p, "a DATA chunk with flags 0x%02x and DDP control octet 0x%02x",
			      flags, user[2]))
			return false;
	}
	for (unsigned len = 0; len <= 6; len++) {
		uint8_t user[8] = { 0xff, 0xff, len % 2 ? 0xc1 : 0x41, 0xff };

		plan_for(b, &p, s);
		xdp_data(&p.chunks, XDP_DATA_WHOLE, s->stream, XDP_PPID_SEGMENT, user, len);
		if (!try_plan(b, &p, "a DATA chunk with %u octets of user data", len))
			return false;
	}
	return true;
}

static bool frames_of_chunks(struct bench *b)
{
	struct plan p;

	if (!before_data(b) || !many_chunks(b) || !chunk_ends(b) || !two_data(b) ||
	    !segment_kinds(b))
		return false;
	for (unsigned i = 0; i < CASES; i++) {
		const struct xdp_stream *s = &b->tables.streams[lab_below(b->run, STREAMS)];

		plan_for(b, &p, s);
		p.r.v6 = i % 2;
		p.r.udp = lab_below(b->run, 2);
		p.r.vlans = (unsigned)lab_below(b->run, 3);
		p.r.vlan[0].type = p.r.vlan[1].type = VLAN;
		for (uint64_t n = lab_below(b->run, 4); n; n--)
			xdp_chunk(&p.chunks, (uint8_t)(1 + lab_below(b->run, 200)), 0, b->noise,
				  lab_below(b->run, 50));
		add_segment(b, &p.chunks, i % 3 ? TAGGED : UNTAGGED, s->stream,
			    lab_below(b->run, 900));
		if (!try_plan(b, &p, "random chunks, then a segment"))
			return false;
	}
	return true;
}

/* --- step 8: sockets -------------------------------------------------------------------------------------- */

static bool try_queue(struct bench *b, const struct xdp_stream *s, uint32_t queue)
{
	struct xdp_frame f;
	struct plan p;
	char text[120];

	plan_for(b, &p, s);
	add_segment(b, &p.chunks, TAGGED, s->stream, 20);
	xdp_build(&f, &p.r);
	snprintf(text, sizeof(text), "receive queue %u, a segment of a stream with slot %u", queue,
		 s->slot);
	return try_frame(b, &f, queue, text);
}

/*
 * All entries of queue 0 have a socket; of the others, every second slot. So a wrong entry is
 * mostly another socket.
 */
static bool frames_of_socket(struct bench *b)
{
	static const uint32_t slots[] = { 16, 17, 31, 63, 64, 0x7fffffff, 0xfffffff0, 0xffffffff };

	for (uint32_t i = XDP_SLOTS; i < XDP_ENTRIES; i += 2)
		if (!add_socket(b, i + (i / XDP_SLOTS) % 2))
			return false;
	for (uint32_t queue = 0; queue < XDP_QUEUES + 2; queue++)
		for (size_t i = 0; i < STREAMS; i++)
			if (!try_queue(b, &b->tables.streams[i], queue))
				return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(slots); i++) {
		struct xdp_stream s = {
			.tag = 0x70000000 + (uint32_t)i, .port = 7000, .stream = 7, .slot = slots[i]
		};

		if (!add_stream(b, s.tag, s.port, s.stream, s.slot) || !try_queue(b, &s, 0) ||
		    !try_queue(b, &s, 1) || !try_queue(b, &s, 3))
			return false;
	}
	return try_queue(b, &b->tables.streams[0], 0x10000000) &&
	       try_queue(b, &b->tables.streams[0], 0xffffffff);
}

/* --- the steps that run natively --------------------------------------------------------------------------- */

static bool natively(struct lab_run *run, bool (*frames)(struct bench *))
{
	static struct bench b;

	return open_bench(&b, run, NULL) && frames(&b);
}

static bool step_path(struct lab_run *run)
{
	return natively(run, frames_of_path);
}

static bool step_truncated(struct lab_run *run)
{
	return natively(run, frames_of_truncated);
}

static bool step_ipv4(struct lab_run *run)
{
	return natively(run, frames_of_ipv4);
}

static bool step_vlan(struct lab_run *run)
{
	return natively(run, frames_of_vlan);
}

static bool step_udp(struct lab_run *run)
{
	return natively(run, frames_of_udp);
}

static bool step_ipv6(struct lab_run *run)
{
	return natively(run, frames_of_ipv6);
}

static bool step_chunks(struct lab_run *run)
{
	return natively(run, frames_of_chunks);
}

static bool step_socket(struct lab_run *run)
{
	return natively(run, frames_of_socket);
}

/* --- steps 9 and 10: the kernel ------------------------------------------------------------------------------ */

static void free_set(struct xdp_set *set)
{
	for (size_t i = 0; set && i < set->n; i++)
		free((void *)(uintptr_t)set->cases[i].frame);
	free(set);
}

/* The object file, if it is there. */
static bool object_file(struct lab_run *run, char *path, size_t cap)
{
	struct stat st;

	lab_case(run, "build/steer.o, which clang makes of steer.bpf.c");
	snprintf(path, cap, "%s/build/steer.o", lab_folder(run));
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return lab_fail(
			run,
			"there is no build/steer.o: `make bpf` says why; it needs clang and libbpf-dev");
	return true;
}

static const struct xdp_kernel_result *in_kernel(struct bench *b, enum xdp_kernel_work work)
{
	const struct xdp_kernel_result *r;
	char path[4096];

	if (!object_file(b->run, path, sizeof(path)))
		return NULL;
	r = xdp_kernel_run(path, work, &b->tables, b->set);
	if (!r)
		lab_fail(b->run, "no process for the program");
	else if (!r->ok)
		lab_fail(b->run, "%s", r->text);
	return r && r->ok ? r : NULL;
}

static void describe_case(struct bench *b, size_t i)
{
	const struct xdp_case *c = &b->set->cases[i];
	char text[250];

	describe(text, sizeof(text), c->text, c->frame, c->len);
	lab_case(b->run, "in the kernel: %s", text);
}

static bool compare_test_run(struct bench *b, const struct xdp_kernel_result *r)
{
	for (size_t i = 0; i < b->set->n; i++) {
		const struct xdp_case *c = &b->set->cases[i];
		struct xdp_verdict expected = xdp_judge(&b->tables, c->frame, c->len, 0);

		describe_case(b, i);
		if (!lab_expect_name(b->run, "the counter that had 1 added", xdp_counter_names,
				     XDP_COUNTERS + 1, expected.counter, r->of[i].counter) ||
		    !lab_expect_name(b->run, "the result of the program", actions,
				     IW_ARRAY_LEN(actions),
				     xdp_redirects(expected.counter) ? XDP_REDIRECT : XDP_PASS,
				     r->of[i].action))
			return false;
	}
	return true;
}

static bool collect_all(struct bench *b)
{
	return frames_of_path(b) && frames_of_truncated(b) && frames_of_ipv4(b) &&
	       frames_of_vlan(b) && frames_of_udp(b) && frames_of_ipv6(b) && frames_of_chunks(b) &&
	       frames_of_socket(b);
}

static bool step_verifier(struct lab_run *run)
{
	static struct bench b;
	struct xdp_set *set = calloc(1, sizeof(*set));
	const struct xdp_kernel_result *r = NULL;

	if (!set)
		return lab_fail(run, "no memory");
	if (open_bench(&b, run, set) && collect_all(&b))
		r = in_kernel(&b, XDP_TEST_RUN);
	if (r && !compare_test_run(&b, r))
		r = NULL;
	free_set(set);
	return r;
}

/* Frames of several kinds, of at least 60 octets, for streams whose slots alternate. */
static bool collect_mixture(struct bench *b)
{
	struct plan p;

	for (unsigned i = 0; i < 64; i++) {
		const struct xdp_stream *s = &b->tables.streams[i % STREAMS];

		plan_for(b, &p, s);
		p.r.v6 = i % 2;
		p.r.udp = i / 2 % 2;
		p.r.tag ^= i % 7 == 3 ? 0x100 : 0;
		p.r.fragment = i % 16 == 6 ? MF : 0;
		if (i % 5 == 4)
			xdp_chunk(&p.chunks, SACK, 0, b->noise, 12);
		if (i % 11 == 10)
			xdp_data(&p.chunks, XDP_DATA_WHOLE, s->stream, XDP_PPID_CONTROL, b->noise,
				 30);
		else
			add_segment(b, &p.chunks, i % 3 ? TAGGED : UNTAGGED, s->stream,
				    20 + lab_below(b->run, 1300));
		if (!try_plan(b, &p, "frame %u, %s%s", i, p.r.v6 ? "IPv6" : "IPv4",
			      p.r.udp ? " with UDP" : ""))
			return false;
	}
	return true;
}

static bool compare_places(struct bench *b, const struct xdp_kernel_result *r)
{
	for (size_t i = 0; i < b->set->n; i++) {
		const struct xdp_case *c = &b->set->cases[i];
		struct xdp_verdict v = xdp_judge(&b->tables, c->frame, c->len, 0);
		enum xdp_where expected = xdp_redirects(v.counter) ? xdp_socket_of(v.entry)
								   : XDP_KERNEL;

		describe_case(b, i);
		if (!lab_expect_name(
			    b->run,
			    "the place where the frame arrived after it crossed a veth pair",
			    places, IW_ARRAY_LEN(places), expected, r->of[i].where))
			return false;
	}
	return true;
}

static bool step_veth(struct lab_run *run)
{
	static struct bench b;
	struct xdp_set *set = calloc(1, sizeof(*set));
	const struct xdp_kernel_result *r = NULL;

	if (!set)
		return lab_fail(run, "no memory");
	if (open_bench(&b, run, set) && collect_mixture(&b))
		r = in_kernel(&b, XDP_VETH);
	if (r && !compare_places(&b, r))
		r = NULL;
	free_set(set);
	return r;
}

/* --- trace -------------------------------------------------------------------------------------------------- */

enum {
	TRACE_SEGMENTS = 48,
	TRACE_PAYLOAD = 1024,
	TRACE_STAG = 0x1a2b3c00,
};

struct trace {
	FILE *table;                      /* a table instead of a capture */
	struct iw_relay_capture *capture; /* frames that the program redirects */
};

/* A tagged segment of a Write: number i of a buffer. */
static void trace_segment(struct plan *p, const struct bench *b, uint16_t stream, unsigned i)
{
	uint8_t user[16 + TRACE_PAYLOAD];

	iw_put_be16(user, (uint16_t)i);
	user[2] = i == TRACE_SEGMENTS - 1 ? 0xc1 : 0x81;
	user[3] = 0x40;
	iw_put_be32(user + 4, TRACE_STAG);
	iw_put_be64(user + 8, (uint64_t)i * TRACE_PAYLOAD);
	memcpy(user + 16, b->noise, TRACE_PAYLOAD);
	xdp_data(&p->chunks, 4 | XDP_DATA_WHOLE, stream, XDP_PPID_SEGMENT, user, sizeof(user));
	iw_put_be32(p->chunks.at + p->chunks.len - sizeof(user) - 12, 1000 + i);
}

static void trace_row(struct trace *t, const struct xdp_frame *f, const char *text, uint32_t action,
		      uint32_t entry, enum xdp_counter c)
{
	char to[16] = "-";

	if (action == XDP_REDIRECT)
		snprintf(to, sizeof(to), "%u", entry);
	if (t->table)
		fprintf(t->table, "%-46s %5zu  %-12s %5s  %s\n", text, f->len,
			action < IW_ARRAY_LEN(actions) ? actions[action] : "?", to,
			xdp_counter_names[c]);
	else if (action == XDP_REDIRECT)
		iw_relay_capture_frame(t->capture, f->at, f->len);
}

static bool trace_frame(struct bench *b, struct trace *t, const struct plan *p, const char *text)
{
	struct xdp_frame f;
	uint32_t action, entry;

	xdp_build(&f, &p->r);
	lab_case(b->run, "%s", text);
	lab_call(b->run, "run");
	lab_put_u32(b->run, 0);
	lab_put_octets(b->run, f.at, f.len);
	if (!lab_run_call(b->run))
		return false;
	action = lab_get_u32(b->run);
	entry = lab_get_u32(b->run);
	trace_row(t, &f, text, action, entry, counted(b));
	usleep(1000);
	return true;
}

/* What else arrives at the interface meanwhile. */
static bool trace_other(struct bench *b, struct trace *t, unsigned i)
{
	const struct xdp_stream *s = &b->tables.streams[0];
	struct plan p;
	const char *text;

	plan_for(b, &p, s);
	add_segment(b, &p.chunks, TAGGED, s->stream, 100);
	switch (i % 6) {
	case 0:
		p.r.type = ARP;
		text = "ARP";
		break;
	case 1:
		p.r.protocol = 6;
		text = "TCP on IPv4";
		break;
	case 2:
		p.r.tag ^= 0x5000;
		text = "a segment of another association";
		break;
	case 3:
		p.chunks.len = 0;
		xdp_chunk(&p.chunks, SACK, 0, b->noise, 12);
		text = "a SACK";
		break;
	case 4:
		p.r.udp = true;
		p.r.udp_port = 53;
		text = "UDP to port 53";
		break;
	default:
		p.r.fragment = MF;
		text = "a fragment of an IPv4 packet";
		break;
	}
	return trace_frame(b, t, &p, text);
}

/* Segments of one Write, in an order as after losses, each in another shape of frame. */
static bool trace_write(struct bench *b, struct trace *t)
{
	const struct xdp_stream *s = &b->tables.streams[0];

	for (unsigned n = 0; n < TRACE_SEGMENTS; n++) {
		unsigned i = n % 8 == 2 ? n + 3 : n % 8 == 5 ? n - 3 : n;
		struct plan p;
		char text[120];

		plan_for(b, &p, s);
		p.r.udp = true;
		if (i / 16 == 1)
			p.r.options = 2;
		p.r.vlans = i / 16 == 2 ? 1 : 0;
		p.r.vlan[0].type = VLAN;
		p.r.vlan[0].control = 100;
		if (i % 4 == 3)
			xdp_chunk(&p.chunks, SACK, 0, b->noise, 12);
		trace_segment(&p, b, s->stream, i);
		snprintf(text, sizeof(text), "segment %u%s%s%s", i,
			 p.r.options ? ", IPv4 options" : "", p.r.vlans ? ", VLAN tag" : "",
			 i % 4 == 3 ? ", after a SACK" : "");
		if (!trace_frame(b, t, &p, text) || (n % 6 == 5 && !trace_other(b, t, n / 6)))
			return false;
	}
	return true;
}

static bool trace(struct lab_run *run, const char *path)
{
	static struct bench b;
	size_t len = strlen(path);
	bool table = len > 4 && !strcmp(path + len - 4, ".txt"), ok;
	struct trace t = { 0 };
	struct iw_fault why = { 0 };

	if (!open_bench(&b, run, NULL))
		return false;
	if (table) {
		t.table = fopen(path, "we");
		if (!t.table)
			return lab_fail(run, "%s: %m", path);
		fprintf(t.table, "%-46s %5s  %-12s %5s  %s\n", "frame", "octets", "result", "entry",
			"counter");
	} else if (iw_relay_capture_open(&t.capture, path, true, &why)) {
		return lab_fail(run, "%s", why.text);
	}
	ok = trace_write(&b, &t);
	if (t.table)
		return !fclose(t.table) && ok;
	return !iw_relay_capture_close(t.capture, &why) && ok;
}

/* --- speed -------------------------------------------------------------------------------------------------- */

enum { RUNS = 3, TIMES = 6000000, TIMES_OURS = 20000000 };

static double median(double v[static RUNS])
{
	double low = IW_MIN(v[0], v[1]), high = IW_MAX(v[0], v[1]);

	return v[2] < low ? low : v[2] > high ? high : v[2];
}

/* Returns million frames a second; 0 after lab_fail(). */
static double student_speed(struct bench *b, const struct xdp_frame *f, struct xdp_verdict expected)
{
	uint64_t begin = lab_now(), ns;

	lab_call(b->run, "repeat");
	lab_put_u32(b->run, TIMES);
	lab_put_u32(b->run, 0);
	lab_put_octets(b->run, f->at, f->len);
	if (!lab_run_call_within(b->run, 20000))
		return 0;
	ns = lab_now() - begin;
	if (!lab_expect_number(b->run, "the result of the program", XDP_REDIRECT,
			       lab_get_u32(b->run)) ||
	    !lab_expect_number(b->run, "the entry of the last run", expected.entry,
			       lab_get_u32(b->run)))
		return 0;
	return 1e3 * TIMES / (double)ns;
}

static double our_speed(const struct bench *b, const struct xdp_frame *f,
			struct xdp_verdict expected)
{
	uint64_t begin = lab_now(), right = 0;
	struct xdp_verdict v;

	for (unsigned i = 0; i < TIMES_OURS; i++) {
		v = xdp_judge(&b->tables, f->at, f->len, 0);
		right += v.entry == expected.entry;
		asm volatile("" ::: "memory"); /* parse it again */
	}
	return right == TIMES_OURS ? 1e3 * TIMES_OURS / (double)(lab_now() - begin) : 0;
}

static int native_speed(struct bench *b, const struct xdp_frame *f, struct lab_speed *out)
{
	struct xdp_verdict expected = xdp_judge(&b->tables, f->at, f->len, 0);
	double student[RUNS], ours[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		student[i] = student_speed(b, f, expected);
		ours[i] = our_speed(b, f, expected);
		if (student[i] <= 0)
			return -1;
	}
	*out = (struct lab_speed){ "frames, natively, beside the grader's", "million/s",
				   median(student), median(ours) };
	return 1;
}

/* Without root, or without clang, there is no such measurement. */
static int kernel_speed(struct bench *b, const struct xdp_frame *f, struct lab_speed *out)
{
	static struct xdp_set set;
	const struct xdp_kernel_result *r;
	char path[4096];

	set.n = 1;
	set.cases[0] = (struct xdp_case){ .frame = f->at, .len = f->len };
	snprintf(path, sizeof(path), "%s/build/steer.o", lab_folder(b->run));
	if (geteuid() || access(path, R_OK))
		return 0;
	r = xdp_kernel_run(path, XDP_SPEED, &b->tables, &set);
	if (!r || !r->ok) {
		lab_fail(b->run, "%s", r ? r->text : "no process for the program");
		return -1;
	}
	*out = (struct lab_speed){ "frames, in the kernel, beside ddp-xdp's", "million/s",
				   1e3 / r->student_ns, 1e3 / r->ours_ns };
	return 1;
}

static int speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	static struct bench b;
	struct xdp_frame f;
	struct plan p;
	int n, more;

	if (cap < 2 || !open_bench(&b, run, NULL))
		return -1;
	plan_for(&b, &p, &b.tables.streams[0]);
	p.r.udp = true;
	add_segment(&b, &p.chunks, TAGGED, b.tables.streams[0].stream, 1000);
	xdp_build(&f, &p.r);
	n = native_speed(&b, &f, results);
	if (n < 0)
		return -1;
	more = kernel_speed(&b, &f, results + n);
	return more < 0 ? -1 : n + more;
}

/* --- the lab ------------------------------------------------------------------------------------------------ */

static const struct lab_step steps[] = {
	{ "path", "segments on SCTP and IPv4 are recognised", 10, "RFC 5043 5.2", 0, step_path },
	{ "truncated", "nothing is read after the end of a frame", 12, "RFC 791 3.1, RFC 9260 3.2",
	  0, step_truncated },
	{ "ipv4", "options, fragments, padding of Ethernet", 10, "RFC 791 3.1", 0, step_ipv4 },
	{ "vlan", "up to two VLAN tags", 6, "IEEE 802.1Q 9.6", 0, step_vlan },
	{ "udp", "SCTP in UDP", 7, "RFC 6951 5.1", 0, step_udp },
	{ "ipv6", "IPv6 with extension headers", 12, "RFC 8200 3, 4", 0, step_ipv6 },
	{ "chunks", "chunks before the segment; kinds of segments", 13, "RFC 9260 3.2, 6.10", 0,
	  step_chunks },
	{ "socket", "the socket of the slot, for the queue", 5, "README, step 8", 0, step_socket },
	{ "verifier", "the kernel accepts and runs the program", 15, "README, step 9",
	  LAB_NEEDS_ROOT, step_verifier },
	{ "veth", "frames arrive at AF_XDP sockets", 10, "README, step 10", LAB_NEEDS_ROOT,
	  step_veth },
	{ 0 },
};

const struct lab lab_xdp = {
	.number = 9,
	.folder = "09-xdp",
	.title = "steering with XDP",
	.steps = steps,
	.trace = trace,
	.speed = speed,
};
