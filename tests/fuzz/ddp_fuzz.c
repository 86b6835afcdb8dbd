// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Segments with any header, in any order, while buffers are posted and STags are registered and
 * revoked. A simple model of the stream decides what may be placed where. After each step:
 *   - all memory, with the guard octets, is as in the model: everything permitted is placed, and
 *     nothing else;
 *   - each message is delivered once, in the sender's order, when all earlier segments have
 *     arrived;
 *   - after a fault nothing is placed or delivered.
 * Messages are also cut: each octet is sent once, in order, and only the last segment has L set.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counting_mem.h"
#include "ddp/ddp.h"
#include "ddp/internal.h"
#include "rng.h"
#include "util/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define AREA    2048
#define REGIONS 6
#define PAYLOAD 64 /* most octets of a segment */
#define STREAM  7
#define PD      3
#define BUFS    4096 /* Untagged Buffers of one queue in a run */
#define SEQS    4096 /* segments of a run */
#define RIGHT   IW_RIGHT_REMOTE_WRITE

#define check(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* --- the input -------------------------------------------------------------------------------- */

struct input {
	const uint8_t *at;
	size_t left;
};

static uint32_t octet(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

/* Mostly small, sometimes the maximum. */
static uint32_t number(struct input *in)
{
	uint32_t n = octet(in);

	if (n < 0xc0)
		return n & 0x3f;
	if (n < 0xf0)
		return octet(in);
	return UINT32_MAX - octet(in);
}

/* --- the model -------------------------------------------------------------------------------- */

struct model_region {
	bool live;
	uint32_t stag;
	struct iw_region r;
};

struct model_buf {
	size_t off; /* in the area */
	uint32_t cap;
};

struct model_queue {
	struct model_buf bufs[BUFS];
	size_t first, last; /* those between are posted */
	uint32_t first_msn;
	uint32_t depth;
};

struct segment {
	bool arrived, last;
	uint8_t hdr[IW_DDP_HDR_MAX];
	size_t len;
};

struct run {
	struct counting_mem mem;
	struct rng rng;
	struct iw_stag_table *stags;
	struct iw_ddp_stream *d;
	bool in_order;
	uint8_t dv;
	uint8_t real[AREA], model[AREA];
	struct model_region regions[REGIONS];
	struct model_queue queues[IW_DDP_QUEUES];
	struct segment segments[SEQS];
	uint64_t delivered_to; /* all earlier L segments have been delivered */
	uint8_t payload[PAYLOAD];
};

static int run_random(void *ctx, void *buf, size_t len)
{
	rng_fill(ctx, buf, len);
	return 0;
}

/* Finds where the model places the segment. False: it refuses it. */
static bool model_place(const struct run *r, const struct iw_ddp *h, size_t len, size_t *off)
{
	*off = 0;
	if (h->dv != r->dv)
		return false;
	if (h->tagged) {
		if (len == 0)
			return true;
		for (size_t i = 0; i < REGIONS; i++) {
			const struct model_region *m = &r->regions[i];

			if (!m->live || m->stag != h->stag)
				continue;
			if (m->r.pd != PD || (m->r.stream && m->r.stream != STREAM) ||
			    !(m->r.rights & RIGHT))
				return false;
			/* Octet by octet, so that no sum can overflow. */
			for (uint64_t to = h->to, k = 0; k < len; k++, to++)
				if (to < m->r.to || to - m->r.to >= m->r.len)
					return false;
			*off = (size_t)(m->r.base - r->real) + (size_t)(h->to - m->r.to);
			return true;
		}
		return false;
	}
	if (h->qn >= IW_DDP_QUEUES)
		return false;

	const struct model_queue *q = &r->queues[h->qn];

	for (size_t i = q->first; i < q->last; i++) {
		if (h->msn != (uint32_t)(q->first_msn + (i - q->first)))
			continue;
		if ((uint64_t)h->mo + len > q->bufs[i].cap)
			return false;
		*off = q->bufs[i].off + h->mo;
		return true;
	}
	return false;
}

static void check_fault(const struct run *r, int ret, const struct iw_fault *why)
{
	check(ret < 0);
	check(why->err == ret);
	check(why->text[0] != '\0');
	check(why->clause && why->clause[0] != '\0');
	check(why->term == iw_err_term(ret) && why->term != IW_NOTERM);
	check(r->d->failed);
}

/* --- the steps -------------------------------------------------------------------------------- */

static void deliver(struct run *r)
{
	struct iw_ddp_msg m;
	struct iw_fault why = { 0 };
	bool failed = r->d->failed;
	int ret;

	while ((ret = iw_ddp_deliver(r->d, &m, &why)) > 0) {
		uint8_t hdr[IW_DDP_HDR_MAX] = { 0 };
		uint64_t seq = r->delivered_to;

		/* The next L segment in the sender's order; all earlier segments have arrived. */
		for (;; seq++) {
			check(seq < SEQS);
			check(r->segments[seq].arrived);
			if (r->segments[seq].last)
				break;
		}
		check(seq < iw_ddp_next_seq(r->d));
		r->delivered_to = seq + 1;
		check(iw_wire_ddp_encode(hdr, sizeof(hdr), &m.last) > 0);
		check(memcmp(hdr, r->segments[seq].hdr, sizeof(hdr)) == 0);
		check(m.last_len == r->segments[seq].len);
		check(m.tagged == m.last.tagged);
		if (!m.tagged) {
			struct model_queue *q = &r->queues[m.qn];

			check(m.qn < IW_DDP_QUEUES && q->first < q->last);
			check(m.msn == q->first_msn);
			check(m.base == r->real + q->bufs[q->first].off);
			check(m.cookie == q->first);
			check(m.len == (uint64_t)m.last.mo + m.last_len);
			check(m.len <= q->bufs[q->first].cap);
			q->first++;
			q->first_msn++;
		}
	}
	if (ret < 0) {
		check(!failed);
		check_fault(r, ret, &why);
		check(iw_ddp_deliver(r->d, &m, &why) == 0);
	}
}

static void header(struct run *r, struct input *in, struct iw_ddp *h, size_t *len)
{
	uint32_t how = octet(in);
	const struct model_region *m = &r->regions[octet(in) % REGIONS];

	*h = (struct iw_ddp){
		.tagged = how & 1,
		.last = how & 2,
		.dv = r->dv,
		.rv = 1,
		.opcode = how & 4 ? (uint8_t)(octet(in) & 0xf) : 3,
		.rsvd_ddp = how >> 4,
	};
	*len = octet(in) % (PAYLOAD + 1);
	if ((how & 0x18) == 0x18)
		h->dv = octet(in) & 3;
	if (h->tagged) {
		h->stag = (how & 0xe0) == 0xe0 ? number(in) : m->stag;
		h->to = m->r.to + (uint64_t)(int64_t)(int32_t)number(in);
		return;
	}
	h->inval_stag = number(in);
	h->qn = octet(in) % 16 ? octet(in) % 3 : number(in);
	h->msn = h->qn < IW_DDP_QUEUES ? r->queues[h->qn].first_msn : 0;
	if (how & 0x20)
		h->msn += (uint32_t)(int32_t)(int8_t)octet(in);
	h->mo = number(in);
}

static void segment(struct run *r, struct input *in)
{
	struct iw_ddp h;
	struct iw_fault why = { 0 };
	bool failed = r->d->failed;
	uint64_t next = iw_ddp_next_seq(r->d), seq = next;
	size_t len, off;
	int ret = 0;

	header(r, in, &h, &len);
	if (!r->in_order) {
		uint32_t far = octet(in) % 16;

		seq = far < 12 ? next + far : next >= far ? next - far : 0;
	}
	if (seq >= SEQS)
		return;
	rng_fill(&r->rng, r->payload, len);

	/* RFC 5041 3, item 11: the LLP does not repeat a segment that was in order. */
	if (seq >= next) {
		bool may = model_place(r, &h, len, &off);

		if (r->in_order)
			ret = iw_ddp_in_order(r->d, &h, len, &why);
		if (ret == 0) {
			ret = iw_ddp_place(r->d, &h, r->payload, len, RIGHT, 1, &why);
			check(failed ? ret == 0 : (ret == 0) == may);
			if (ret == 0 && !failed && len > 0)
				memcpy(r->model + off, r->payload, len);
		}
		if (ret < 0) {
			check(!failed);
			check_fault(r, ret, &why);
			return;
		}
	}
	ret = iw_ddp_arrive(r->d, seq, &h, len, &why);
	if (ret == IW_E_LIMIT || ret == IW_E_NOMEM) {
		check(!r->in_order && seq > next && r->d->failed == failed);
		return;
	}
	if (ret < 0) {
		check(!r->in_order && !failed);
		check_fault(r, ret, &why);
		return;
	}
	if (!failed && seq >= next && !r->segments[seq].arrived) {
		struct segment *s = &r->segments[seq];

		s->arrived = true;
		s->last = h.last;
		s->len = len;
		check(iw_wire_ddp_encode(s->hdr, sizeof(s->hdr), &h) > 0);
	}
}

static void post(struct run *r, struct input *in)
{
	uint32_t qn = octet(in) % 5;
	uint32_t cap = octet(in) % 129;
	size_t off = octet(in) * 8 % (AREA - 128);
	struct model_queue *q;
	int ret;

	if (qn < IW_DDP_QUEUES && r->queues[qn].last == BUFS)
		return;
	ret = iw_ddp_post(r->d, qn, r->real + off, cap,
			  qn < IW_DDP_QUEUES ? r->queues[qn].last : 0);
	if (qn >= IW_DDP_QUEUES || r->queues[qn].depth == 0) {
		check(ret == IW_E_INVAL);
		return;
	}
	q = &r->queues[qn];
	if (q->last - q->first == q->depth) {
		check(ret == IW_E_FULL);
		return;
	}
	check(ret == 0);
	q->bufs[q->last++] = (struct model_buf){ off, cap };
	check(iw_ddp_posted(r->d, qn) == q->last - q->first);
}

static void deepen(struct run *r, struct input *in)
{
	uint32_t qn = octet(in) % 5, depth = octet(in);
	int ret = iw_ddp_set_depth(r->d, qn, depth);

	if (qn >= IW_DDP_QUEUES) {
		check(ret == IW_E_INVAL);
		return;
	}
	check(ret == 0 || ret == IW_E_NOMEM);
	if (ret == 0)
		r->queues[qn].depth = IW_MAX(r->queues[qn].depth, depth);
}

static void registration(struct run *r, struct input *in)
{
	struct model_region *m = &r->regions[octet(in) % REGIONS];
	uint32_t how = octet(in);
	size_t off = octet(in) * 8 % AREA;
	uint64_t len = octet(in);
	struct iw_fault why = { 0 };

	if (m->live) {
		check(iw_stag_del(r->stags, m->stag) == 0);
		check(iw_stag_del(r->stags, m->stag) == IW_E_NOENT);
		m->live = false;
		return;
	}
	m->r = (struct iw_region){
		.rights = how & 1 ? 7 : (how >> 1 & 7),
		.pd = (how & 0x30) == 0x30 ? PD + 1 : PD,
		.stream = (how & 0xc0) == 0xc0 ? STREAM + 1
			  : how & 0x40         ? 0
					       : STREAM,
		.base = r->real + off,
		.len = IW_MIN(len, AREA - off),
		.to = (uint64_t)(int64_t)(int32_t)number(in),
		.expires = IW_TIME_NEVER,
		.uses = UINT32_MAX,
	};
	m->live = iw_stag_add(r->stags, &m->r, &m->stag, &why) == 0;
	if (m->live)
		check(m->stag != 0 && m->r.rights != 0 && m->r.to <= UINT64_MAX - m->r.len);
	else
		check(why.err != 0);
}

static void cut(struct run *r, struct input *in)
{
	struct iw_ddp_out o = { .len = number(in) };
	size_t mulpdu = 19 + octet(in);
	uint64_t sum = 0;

	o.len %= 3000;
	o.hdr.tagged = octet(in) & 1;
	o.hdr.qn = octet(in) % IW_DDP_QUEUES;
	o.hdr.to = number(in);
	iw_ddp_out_begin(r->d, &o);
	do {
		uint8_t hdr[IW_DDP_HDR_MAX];
		struct iw_ddp h;
		uint32_t off, len;
		size_t n = iw_ddp_cut(&o, mulpdu, hdr, &off, &len);

		check(iw_wire_ddp_decode(&h, hdr, n) == (int)n);
		check(n + len <= mulpdu && off == sum);
		check(h.dv == r->dv && h.rsvd_ddp == 0);
		sum += len;
		check(h.last == (sum == o.len) && h.last == o.ended);
		check(o.ended || len > 0);
	} while (!o.ended);
}

static void flush(struct run *r)
{
	for (uint32_t qn = 0; qn < IW_DDP_QUEUES; qn++) {
		struct model_queue *q = &r->queues[qn];
		uint64_t cookie;

		for (; q->first < q->last; q->first++) {
			check(iw_ddp_unpost(r->d, qn, &cookie));
			check(cookie == q->first);
		}
		check(!iw_ddp_unpost(r->d, qn, &cookie));
	}
}

static bool begin(struct run *r, struct input *in)
{
	uint32_t how = octet(in), early = octet(in);
	struct iw_ddp_cfg cfg = {
		.mem = &r->mem.mem,
		.pd = PD,
		.stream = STREAM,
		.queue_depth = { 8, 2, 1, 0 },
	};
	struct iw_fault why = { 0 };

	counting_mem_init(&r->mem);
	r->rng.state = how;
	r->dv = how >> 1 & 1;
	/* An LLP that keeps order, with and without room for early segments. */
	r->in_order = how & 1;
	cfg.dv = r->dv;
	cfg.early_max = r->in_order && (how & 4) ? 0 : early % 12;
	if (how & 8)
		r->mem.fail_from = 1 + octet(in) % 32;
	if (iw_stag_table_new(&r->stags, &r->mem.mem, run_random, &r->rng) < 0) {
		r->stags = NULL;
		return false;
	}
	cfg.stags = r->stags;
	if (iw_ddp_new(&r->d, &cfg, &why) < 0) {
		check(why.err == IW_E_NOMEM);
		r->d = NULL;
		return false;
	}
	for (uint32_t qn = 0; qn < IW_DDP_QUEUES; qn++) {
		r->queues[qn].depth = cfg.queue_depth[qn];
		r->queues[qn].first_msn = 1;
	}
	if (how & 16) { /* close before the wrap */
		r->queues[0].first_msn = UINT32_MAX - (how >> 6);
		r->d->queues[0].first = r->d->queues[0].next_out = r->queues[0].first_msn;
	}
	memset(r->real, 0xee, sizeof(r->real));
	memset(r->model, 0xee, sizeof(r->model));
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { data, len };
	struct run *r = calloc(1, sizeof(*r));

	if (!r)
		return 0;
	if (begin(r, &in)) {
		while (in.left > 0) {
			uint32_t what = octet(&in) % 32;

			if (what < 20)
				segment(r, &in);
			else if (what < 25)
				post(r, &in);
			else if (what < 29)
				registration(r, &in);
			else if (what == 29)
				deepen(r, &in);
			else
				cut(r, &in);
			deliver(r);
			check(memcmp(r->real, r->model, AREA) == 0);
		}
		if (len % 2)
			flush(r);
	}
	iw_ddp_free(r->d);
	iw_stag_table_free(r->stags);
	check(r->mem.blocks == 0 && r->mem.wrong_size == 0);
	free(r);
	return 0;
}
