/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One end of a DDP association, driven from memory. Its output is queued; a test selects the
 * message that arrives next, in any order. Events of sessions are recorded for the test.
 */
#ifndef TESTS_SCTPMAP_END_H
#define TESTS_SCTPMAP_END_H

#include <assert.h>
#include <string.h>

#include "counting_mem.h"
#include "sctpmap/session.h"
#include "util/num.h"

#define LINE_MAX  512
#define UNITS_MAX 512

struct line_msg {
	uint16_t stream;
	uint32_t ppid;
	uint8_t data[1024];
	size_t len;
};

struct told {
	enum iw_dss_unit_kind kind;
	uint64_t seq;
	uint8_t first; /* first octet of the segment */
	size_t len;
	int err;
};

struct map_end {
	struct counting_mem mem;
	struct iw_sctpmap *a;
	size_t nline, ntold;
	struct iw_dss *last;            /* the session of the last event */
	struct line_msg line[LINE_MAX]; /* sent, and not yet taken by the test */
	struct told told[UNITS_MAX];
};

static inline void map_end_init_with(struct map_end *e, struct iw_sctpmap_cfg cfg)
{
	int err;

	memset(e, 0, offsetof(struct map_end, line));
	counting_mem_init(&e->mem);
	cfg.mem = &e->mem.mem;
	err = iw_sctpmap_new(&e->a, &cfg, NULL);
	assert(err == 0);
	(void)err;
}

static inline void map_end_init(struct map_end *e, bool initiator, uint16_t streams,
				uint32_t backlog, const struct iw_sctpmap_profile *profile)
{
	map_end_init_with(e, (struct iw_sctpmap_cfg){
				     .profile = profile,
				     .initiator = initiator,
				     .streams = streams,
				     .backlog = backlog,
			     });
}

static inline int map_end_up(struct map_end *e, uint16_t in, uint16_t out)
{
	struct iw_sctpmap_peer p = {
		.indicated = true,
		.adaptation = iw_sctpmap_profile(e->a)->adaptation,
		.in = in,
		.out = out,
	};

	return iw_sctpmap_up(e->a, &p, NULL);
}

/* Checks that no memory and no buffer is left. */
static inline void map_end_fini(struct map_end *e)
{
	iw_sctpmap_free(e->a);
	assert(e->mem.blocks == 0 && e->mem.wrong_size == 0);
}

static inline void map_end_take_units(struct map_end *e, struct iw_dss *s)
{
	struct iw_dss_unit u;

	while (s && iw_dss_next(s, &u)) {
		assert(e->ntold < UNITS_MAX);
		e->told[e->ntold++] = (struct told){
			.kind = u.kind,
			.seq = u.seq,
			.first = u.len ? u.data[0] : 0,
			.len = u.len,
			.err = u.why ? u.why->err : 0,
		};
		e->last = s;
	}
}

static inline struct iw_dss *map_end_gets(struct map_end *e, uint16_t stream, uint32_t ppid,
					  const void *data, size_t len)
{
	struct iw_dss_segment seg;
	struct iw_dss *s = iw_sctpmap_receive(e->a, stream, ppid, data, len, &seg);

	if (seg.data) {
		assert(s && e->ntold < UNITS_MAX);
		e->told[e->ntold++] = (struct told){
			.kind = IW_DSS_SEGMENT,
			.seq = seg.seq,
			.first = seg.len ? seg.data[0] : 0,
			.len = seg.len,
		};
		e->last = s;
	}
	if (seg.more)
		map_end_take_units(e, s);
	return s;
}

/* Submits all control messages that may be sent now; they are queued in the line. */
static inline void map_end_flush(struct map_end *e)
{
	struct iw_sctpmap_msg m;

	while (iw_sctpmap_control(e->a, &m)) {
		struct line_msg *l = &e->line[e->nline++];

		assert(e->nline <= LINE_MAX && m.len <= sizeof(l->data));
		l->stream = m.stream;
		l->ppid = m.ppid;
		l->len = m.len;
		memcpy(l->data, m.data, m.len);
		iw_sctpmap_control_taken(e->a, m.stream);
	}
}

/* A segment of @len octets, each with the value @mark. */
static inline void map_end_sends(struct map_end *e, struct iw_dss *s, uint8_t mark, size_t len)
{
	struct line_msg *l = &e->line[e->nline++];

	assert(e->nline <= LINE_MAX && len + 2 <= sizeof(l->data));
	l->stream = iw_dss_stream(s);
	l->ppid = iw_sctpmap_profile(e->a)->ppid_segment;
	l->len = len + 2;
	memset(l->data, mark, sizeof(l->data));
	iw_put_be16(l->data, iw_dss_ssn(s));
	iw_dss_taken(s);
}

/*
 * Message i in @from's line arrives at @to; its acknowledgement does not arrive yet. Returns the
 * stream of the message.
 */
static inline uint16_t line_unacked(struct map_end *from, size_t i, struct map_end *to)
{
	struct line_msg m = from->line[i];

	assert(i < from->nline);
	memmove(&from->line[i], &from->line[i + 1], (--from->nline - i) * sizeof(m));
	map_end_gets(to, m.stream, m.ppid, m.data, m.len);
	map_end_flush(to);
	return m.stream;
}

static inline void map_end_acked(struct map_end *e, uint16_t stream, uint32_t n)
{
	map_end_take_units(e, iw_sctpmap_acked(e->a, stream, n));
	map_end_flush(e);
}

/* Message i in @from's line arrives at @to and is acknowledged. */
static inline void line_arrives(struct map_end *from, size_t i, struct map_end *to)
{
	map_end_acked(from, line_unacked(from, i, to), 1);
}

static inline void line_all(struct map_end *x, struct map_end *y)
{
	map_end_flush(x);
	map_end_flush(y);
	while (x->nline + y->nline > 0) {
		while (x->nline > 0)
			line_arrives(x, 0, y);
		while (y->nline > 0)
			line_arrives(y, 0, x);
	}
}

#endif
