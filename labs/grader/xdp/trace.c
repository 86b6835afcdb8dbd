/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 9: a Write whose segments arrive in frames of several shapes, between other traffic. */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ddp-impair/capture.h"
#include "labs/grader/xdp/bench.h"
#include "util/num.h"

enum {
	TRACE_SEGMENTS = 48,
	TRACE_PAYLOAD = 1024,
	TRACE_STAG = 0x1a2b3c00,
};

struct trace {
	FILE *table;                      /* a table instead of a capture */
	struct iw_relay_capture *capture; /* frames that the program redirects */
	unsigned int captured;
};

/* A tagged segment of a Write: number i of a buffer. */
static void trace_segment(struct xdp_plan *p, const struct xdp_bench *b, uint16_t stream,
			  unsigned i)
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
	if (t->table) {
		fprintf(t->table, "%-46s %5zu  %-12s %5s  %s\n", text, f->len,
			action < XDP_ACTIONS ? xdp_actions[action] : "?", to, xdp_counter_names[c]);
	} else if (action == XDP_REDIRECT) {
		iw_relay_capture_frame(t->capture, f->at, f->len);
		t->captured++;
	}
}

static bool trace_frame(struct xdp_bench *b, struct trace *t, const struct xdp_plan *p,
			const char *text)
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
	trace_row(t, &f, text, action, entry, xdp_counted(b));
	usleep(1000);
	return true;
}

/* What else arrives at the interface meanwhile. */
static bool trace_other(struct xdp_bench *b, struct trace *t, unsigned i)
{
	const struct xdp_stream *s = &b->tables.streams[0];
	struct xdp_plan p;
	const char *text;

	xdp_plan_for(b, &p, s);
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream, 100);
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
static bool trace_write(struct xdp_bench *b, struct trace *t)
{
	const struct xdp_stream *s = &b->tables.streams[0];

	for (unsigned n = 0; n < TRACE_SEGMENTS; n++) {
		unsigned i = n % 8 == 2 ? n + 3 : n % 8 == 5 ? n - 3 : n;
		struct xdp_plan p;
		char text[120];

		xdp_plan_for(b, &p, s);
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

bool xdp_trace(struct lab_run *run, const char *path)
{
	static struct xdp_bench b;
	size_t len = strlen(path);
	bool table = len > 4 && !strcmp(path + len - 4, ".txt"), ok;
	struct trace t = { 0 };
	struct iw_fault why = { 0 };

	if (!xdp_open_bench(&b, run, NULL))
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
	if (iw_relay_capture_close(t.capture, &why))
		return lab_fail(run, "%s", why.text);
	return ok && lab_expect_true(run, t.captured,
				     "the program has redirected no frame, so there is nothing to "
				     "draw; `make table` shows what it does");
}
