/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/xdp/bench.h"

#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/num.h"

const char *const xdp_actions[XDP_ACTIONS] = {
	[XDP_ABORTED] = "XDP_ABORTED", [XDP_DROP] = "XDP_DROP",         [XDP_PASS] = "XDP_PASS",
	[XDP_TX] = "XDP_TX",           [XDP_REDIRECT] = "XDP_REDIRECT",
};

/* --- the student's program, natively ------------------------------------------------------------ */

void xdp_describe(char *dst, size_t cap, const char *text, const uint8_t *frame, size_t len)
{
	size_t at = (size_t)snprintf(dst, cap, "%s; frame of %zu octets: ", text, len);

	for (size_t i = 0; i < len && at + 8 < cap; i++)
		at += (size_t)snprintf(dst + at, cap - at, "%s%02x", i && i % 4 == 0 ? " " : "",
				       frame[i]);
}

enum xdp_counter xdp_counted(struct xdp_bench *b)
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

static bool compare(struct xdp_bench *b, const uint8_t *frame, size_t len,
		    struct xdp_verdict expected)
{
	uint32_t action = lab_get_u32(b->run), entry = lab_get_u32(b->run);
	enum xdp_counter c = xdp_counted(b);
	struct lab_octets after = lab_get_octets(b->run);

	return lab_results_end(b->run) &&
	       lab_expect_name(b->run, "the counter that had 1 added", xdp_counter_names,
			       XDP_COUNTERS + 1, expected.counter, c) &&
	       lab_expect_name(b->run, "the result of the program", xdp_actions, XDP_ACTIONS,
			       xdp_redirects(expected.counter) ? XDP_REDIRECT : XDP_PASS, action) &&
	       (!xdp_redirects(expected.counter) ||
		lab_expect_number(b->run, "the entry of xsks to which the frame is redirected",
				  expected.entry, entry)) &&
	       lab_expect_octets(b->run, "the frame after the run", frame, len, after.at,
				 after.len);
}

static bool run_natively(struct xdp_bench *b, const uint8_t *frame, size_t len, uint32_t queue,
			 const char *text)
{
	char description[250];

	xdp_describe(description, sizeof(description), text, frame, len);
	lab_case(b->run, "%s", description);
	lab_call(b->run, "run");
	lab_put_u32(b->run, queue);
	lab_put_octets(b->run, frame, len);
	return lab_run_call(b->run) &&
	       compare(b, frame, len, xdp_judge(&b->tables, frame, len, queue));
}

/* The kernel's test run has receive queue 0 only, and frames with an Ethernet header. */
static bool add_to_set(struct xdp_bench *b, const uint8_t *frame, size_t len, uint32_t queue,
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

bool xdp_try_frame(struct xdp_bench *b, const struct xdp_frame *f, uint32_t queue, const char *text)
{
	if (b->set)
		return add_to_set(b, f->at, f->len, queue, text);
	return run_natively(b, f->at, f->len, queue, text);
}

bool xdp_add_stream(struct xdp_bench *b, uint32_t tag, uint16_t port, uint16_t stream,
		    uint32_t slot)
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

bool xdp_add_socket(struct xdp_bench *b, uint32_t entry)
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

bool xdp_open_bench(struct xdp_bench *b, struct lab_run *run, struct xdp_set *set)
{
	uint32_t tag = 0x81000000u | (uint32_t)lab_below(run, 0xffffff);
	uint16_t port = (uint16_t)(0x1d2f + lab_below(run, 100)),
		 stream = (uint16_t)(0x0102 + lab_below(run, 50));
	bool ok;

	memset(b, 0, sizeof(*b));
	b->run = run;
	b->set = set;
	lab_fill(run, b->noise, sizeof(b->noise));
	ok = xdp_add_stream(b, tag, port, stream, 3) &&
	     xdp_add_stream(b, tag ^ 1, port, stream, 1) &&
	     xdp_add_stream(b, tag, (uint16_t)(port + 1), stream, 6) &&
	     xdp_add_stream(b, tag, port, (uint16_t)(stream + 1), 0);
	for (uint32_t i = 4; ok && i < STREAMS; i++)
		ok = xdp_add_stream(b, (uint32_t)lab_random(run),
				    (uint16_t)(1000 + lab_below(run, 60000)),
				    (uint16_t)lab_random(run), i + 3);
	for (uint32_t i = 0; ok && i < XDP_SLOTS; i++)
		ok = xdp_add_socket(b, i);
	return ok;
}

/* --- plans ---------------------------------------------------------------------------------------- */

void xdp_add_segment(struct xdp_bench *b, struct xdp_chunks *c, enum xdp_segment kind,
		     uint16_t stream, size_t payload)
{
	uint8_t user[1500];
	size_t header = kind == XDP_SEGMENT_TAGGED ? 2 + 14 : 2 + 18;

	lab_fill(b->run, user, header + payload);
	user[2] = kind == XDP_SEGMENT_TAGGED ? 0xc1 : 0x41; /* T, L, DV */
	user[3] = kind == XDP_SEGMENT_TAGGED ? 0x40 : 0x43;
	xdp_data(c, XDP_DATA_WHOLE, stream, XDP_PPID_SEGMENT, user, header + payload);
}

void xdp_plan_for(struct xdp_bench *b, struct xdp_plan *p, const struct xdp_stream *s)
{
	memset(p, 0, sizeof(*p));
	p->r.tag = s->tag;
	p->r.port = s->port;
	p->r.number = ++b->number;
	p->r.chunks = &p->chunks;
	p->r.noise = b->noise;
}

const struct xdp_stream *xdp_plan_segment(struct xdp_bench *b, struct xdp_plan *p)
{
	const struct xdp_stream *s = &b->tables.streams[lab_below(b->run, STREAMS)];

	xdp_plan_for(b, p, s);
	xdp_add_segment(b, &p->chunks, XDP_SEGMENT_TAGGED, s->stream, lab_below(b->run, 40));
	return s;
}

bool xdp_try_plan(struct xdp_bench *b, const struct xdp_plan *p, const char *format, ...)
{
	struct xdp_frame f;
	char text[120];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	xdp_build(&f, &p->r);
	return xdp_try_frame(b, &f, 0, text);
}

bool xdp_try_ends(struct xdp_bench *b, const struct xdp_plan *p, const char *what, size_t from)
{
	struct xdp_frame whole, f;
	char text[120];

	xdp_build(&whole, &p->r);
	for (size_t end = from; end < whole.len; end++) {
		f = whole;
		f.len = end;
		snprintf(text, sizeof(text), "%s, of which only %zu octets are there", what, end);
		if (!xdp_try_frame(b, &f, 0, text))
			return false;
		f = whole;
		xdp_cut(&f, &p->r, end);
		snprintf(text, sizeof(text),
			 "%s that ends after %zu octets; the lengths in its headers agree", what,
			 end);
		if (!xdp_try_frame(b, &f, 0, text))
			return false;
	}
	return true;
}

bool xdp_try_field(struct xdp_bench *b, const struct xdp_plan *p,
		   size_t (*at)(const struct xdp_frame *), size_t off, unsigned octets,
		   unsigned value, const char *what)
{
	struct xdp_frame f;
	char text[120];

	xdp_build(&f, &p->r);
	if (octets == 1)
		f.at[at(&f) + off] = (uint8_t)value;
	else
		iw_put_be16(f.at + at(&f) + off, (uint16_t)value);
	snprintf(text, sizeof(text), "%s is %u", what, value);
	return xdp_try_frame(b, &f, 0, text);
}
