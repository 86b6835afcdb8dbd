/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the tests of lib/ddp: an STag table, a stream, memory between guard octets, and
 * headers.
 */
#ifndef TESTS_DDP_FIXTURE_H
#define TESTS_DDP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "counting_mem.h"
#include "ddp/ddp.h"
#include "ddp/internal.h"
#include "rng.h"
#include "util/num.h"

#define PD        3
#define STREAM    7
#define NOW       IW_SEC(5)
#define GUARD     64
#define AREA      4096
#define UNTOUCHED 0xee

/* Octets with guards before and after them, and the expected contents of both. */
struct area {
	uint8_t real[GUARD + AREA + GUARD];
	uint8_t model[GUARD + AREA + GUARD];
};

struct fixture {
	struct counting_mem mem;
	struct rng rng;
	struct iw_stag_table *stags;
	struct iw_ddp_stream *d;
	struct iw_fault why;
	struct area area;
};

static inline int fixture_random(void *ctx, void *buf, size_t len)
{
	rng_fill(ctx, buf, len);
	return 0;
}

static inline void area_init(struct area *a)
{
	memset(a->real, UNTOUCHED, sizeof(a->real));
	memset(a->model, UNTOUCHED, sizeof(a->model));
}

static inline uint8_t *area_at(struct area *a, size_t off)
{
	return a->real + GUARD + off;
}

/* Adds the payload to the expected contents. */
static inline void area_expect(struct area *a, size_t off, const void *data, size_t len)
{
	assert_true(off + len <= AREA);
	if (len > 0)
		memcpy(a->model + GUARD + off, data, len);
}

#define area_check(a) assert_memory_equal((a)->real, (a)->model, sizeof((a)->real))

static inline void fixture_table(struct fixture *f)
{
	counting_mem_init(&f->mem);
	f->rng.state = 1;
	f->why = (struct iw_fault){ 0 };
	f->d = NULL;
	area_init(&f->area);
	assert_int_equal(iw_stag_table_new(&f->stags, &f->mem.mem, fixture_random, &f->rng), 0);
}

/* The stream of most tests. Queue depths: Sends 8, Read Requests 2, Terminate 1, no QN 3. */
static inline struct iw_ddp_cfg fixture_cfg(struct fixture *f, uint32_t early_max)
{
	return (struct iw_ddp_cfg){
		.mem = &f->mem.mem,
		.stags = f->stags,
		.pd = PD,
		.stream = STREAM,
		.dv = 1,
		.queue_depth = { 8, 2, 1, 0 },
		.early_max = early_max,
	};
}

static inline void fixture_init(struct fixture *f, uint32_t early_max)
{
	struct iw_ddp_cfg cfg;

	fixture_table(f);
	cfg = fixture_cfg(f, early_max);
	assert_int_equal(iw_ddp_new(&f->d, &cfg, &f->why), 0);
}

static inline void fixture_fini(struct fixture *f)
{
	iw_ddp_free(f->d);
	iw_stag_table_free(f->stags);
	assert_int_equal(f->mem.blocks, 0);
	assert_int_equal(f->mem.wrong_size, 0);
}

/* A registration of octets off..off+len of the area at TO to, for the stream of the fixture. */
static inline struct iw_region region(struct fixture *f, size_t off, size_t len, uint64_t to,
				      uint8_t rights)
{
	assert_true(off + len <= AREA);
	return (struct iw_region){
		.rights = rights,
		.pd = PD,
		.stream = STREAM,
		.base = area_at(&f->area, off),
		.len = len,
		.to = to,
		.expires = IW_TIME_NEVER,
		.uses = UINT32_MAX,
	};
}

static inline uint32_t add(struct fixture *f, struct iw_region r)
{
	uint32_t stag = 0;

	assert_int_equal(iw_stag_add(f->stags, &r, &stag, &f->why), 0);
	return stag;
}

static inline struct iw_ddp tagged(uint32_t stag, uint64_t to, bool last)
{
	return (struct iw_ddp){
		.tagged = true,
		.last = last,
		.dv = 1,
		.rv = 1,
		.opcode = IW_OP_WRITE,
		.stag = stag,
		.to = to,
	};
}

static inline struct iw_ddp untagged(uint32_t qn, uint32_t msn, uint32_t mo, bool last)
{
	return (struct iw_ddp){
		.last = last,
		.dv = 1,
		.rv = 1,
		.opcode = qn == IW_QN_SEND   ? IW_OP_SEND
			  : qn == IW_QN_RREQ ? IW_OP_RREQ
					     : IW_OP_TERM,
		.qn = qn,
		.msn = msn,
		.mo = mo,
	};
}

/* Sets the next MSN of an idle queue, in both directions: an MSN wraps after 2^32 messages. */
static inline void set_msn(struct fixture *f, uint32_t qn, uint32_t msn)
{
	f->d->queues[qn].first = msn;
	f->d->queues[qn].next_out = msn;
}

static inline int place(struct fixture *f, struct iw_ddp h, const void *payload, size_t len)
{
	return iw_ddp_place(f->d, &h, payload, len, IW_RIGHT_REMOTE_WRITE, NOW, &f->why);
}

/* Asserts the error of the last fault, its Terminate and its clause, and that it has a text. */
#define assert_fault(f, wanted)                                                                    \
	do {                                                                                       \
		assert_int_equal((f)->why.err, (wanted));                                          \
		assert_int_equal((f)->why.term, iw_err_term(wanted));                              \
		assert_string_equal((f)->why.clause, iw_err_clause(wanted));                       \
		assert_true((f)->why.text[0] != '\0');                                             \
	} while (0)

#endif
