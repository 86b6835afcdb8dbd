/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One end of an MPA connection, driven from memory, for the unit tests and the fuzzer of lib/mpa.
 * It takes a stream in pieces of any size, and writes the units received into a log, with which two
 * runs can be compared.
 */
#ifndef TESTS_MPA_END_H
#define TESTS_MPA_END_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "counting_mem.h"
#include "mpa/mpa.h"
#include "util/num.h"
#include "util/pool.h"
#include "util/txbuf.h"

struct octets {
	uint8_t *p;
	size_t len, cap;
};

static inline void octets_add(struct octets *o, const void *p, size_t len)
{
	if (len == 0)
		return;
	if (o->cap - o->len < len) {
		o->cap = 2 * o->cap + len;
		o->p = realloc(o->p, o->cap);
		assert(o->p);
	}
	memcpy(o->p + o->len, p, len);
	o->len += len;
}

static inline void octets_free(struct octets *o)
{
	free(o->p);
	*o = (struct octets){ 0 };
}

struct mpa_end {
	struct counting_mem mem;
	struct iw_pool spill;
	struct iw_mpa *m;
	struct iw_txbuf *t;
	size_t scratch_len; /* length of scratch in the next reads */
	bool accept;        /* accepts a Request by itself, with ird and ord */
	uint16_t ird, ord;

	/* What was received. */
	struct octets log;  /* each unit: kind, pos, len, data */
	struct octets data; /* only the octets of ULPDUs */
	unsigned units, ulpdus;
	enum iw_mpa_unit_kind last_kind;
	size_t last_len;
	uint64_t last_pos;
	int err; /* error of the fault, or 0 */
	struct iw_fault why;
	unsigned reads; /* reads with two elements */
	unsigned split_reads;
};

#define MPA_END_SCRATCH (8 * 1024)

/* Batches are large, so those of closed ends are used again. */
static struct iw_txbuf *mpa_end_batches[4];

static inline struct iw_txbuf *mpa_end_batch(void)
{
	struct iw_txbuf *t = NULL;

	for (size_t i = 0; i < IW_ARRAY_LEN(mpa_end_batches) && !t; i++) {
		t = mpa_end_batches[i];
		mpa_end_batches[i] = NULL;
	}
	if (!t)
		t = malloc(sizeof(*t));
	assert(t);
	iw_txbuf_init(t);
	return t;
}

static inline void mpa_end_batch_free(struct iw_txbuf *t)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(mpa_end_batches); i++) {
		if (!mpa_end_batches[i]) {
			mpa_end_batches[i] = t;
			return;
		}
	}
	free(t);
}

/* A configuration, except for roles and options. */
static inline struct iw_mpa_cfg mpa_cfg(bool initiator, uint8_t rev)
{
	return (struct iw_mpa_cfg){
		.initiator = initiator,
		.rev = rev,
		.rdmac = rev == 0,
		.offer.rtr = IW_RTR_SEND | IW_RTR_WRITE | IW_RTR_READ,
		.offer.ird = 4,
		.offer.ord = 4,
	};
}

/* Returns 0, or the error of iw_mpa_init(). After an error drop the end, else close it. */
static inline int mpa_end_init(struct mpa_end *e, struct iw_mpa_cfg cfg)
{
	*e = (struct mpa_end){ .scratch_len = MPA_END_SCRATCH,
			       .accept = true,
			       .ird = cfg.offer.ird,
			       .ord = cfg.offer.ord };
	counting_mem_init(&e->mem);
	iw_pool_init(&e->spill, &e->mem.mem, IW_MPA_SPILL_LEN, 0, 0);
	cfg.spill = &e->spill;
	e->m = malloc(iw_mpa_size());
	e->t = mpa_end_batch();
	assert(e->m);
	return iw_mpa_init(e->m, &cfg, &e->why);
}

static inline void mpa_end_open(struct mpa_end *e, struct iw_mpa_cfg cfg)
{
	int ret = mpa_end_init(e, cfg);

	assert(ret == 0);
	(void)ret;
	iw_mpa_start(e->m, 0);
}

static inline void mpa_end_drop(struct mpa_end *e)
{
	free(e->m);
	mpa_end_batch_free(e->t);
}

static inline void mpa_end_close(struct mpa_end *e)
{
	iw_mpa_fini(e->m);
	iw_pool_fini(&e->spill);
	assert(e->mem.blocks == 0 && e->mem.wrong_size == 0);
	mpa_end_drop(e);
	octets_free(&e->log);
	octets_free(&e->data);
}

static inline void mpa_end_units(struct mpa_end *e)
{
	struct iw_mpa_unit u;
	int ret;

	while ((ret = iw_mpa_next(e->m, &u, &e->why)) > 0) {
		uint8_t head[17] = { (uint8_t)u.kind };

		iw_put_be64(head + 1, u.pos);
		iw_put_be64(head + 9, u.len);
		octets_add(&e->log, head, sizeof(head));
		octets_add(&e->log, u.data, u.len);
		octets_add(&e->data, u.data, u.len);
		e->units++;
		e->ulpdus += u.kind == IW_MPA_UNIT_ULPDU;
		e->last_kind = u.kind;
		e->last_len = u.len;
		e->last_pos = u.pos;
		if (u.kind == IW_MPA_UNIT_REQUEST && e->accept) {
			ret = iw_mpa_accept(e->m, e->ird, e->ord, NULL, 0, &e->why);
			assert(ret == 0);
		}
	}
	if (ret < 0 && !e->err) {
		e->err = ret;
		octets_add(&e->log, e->why.text, strlen(e->why.text));
	}
}

/*
 * Reads at most len octets once. Returns how many were taken. Scratch is a block of its own, freed
 * after the read.
 */
static inline size_t mpa_end_read(struct mpa_end *e, const uint8_t *p, size_t len)
{
	struct iw_vec scratch = { malloc(e->scratch_len), e->scratch_len }, vec[2];
	size_t took = 0;
	int n = iw_mpa_rx_vec(e->m, scratch, vec);

	assert(scratch.base);
	if (n <= 0) {
		free(scratch.base);
		return 0;
	}
	e->reads++;
	e->split_reads += n == 2;
	for (int i = 0; i < n; i++) {
		size_t part = IW_MIN(vec[i].len, len - took);

		assert(vec[i].len > 0);
		if (part)
			memcpy(vec[i].base, p + took, part);
		took += part;
	}
	iw_mpa_received(e->m, took);
	mpa_end_units(e);
	iw_mpa_rx_end(e->m);
	free(scratch.base);
	return took;
}

/*
 * Passes the stream in pieces of at most chunk octets. Returns how many were taken before reading
 * paused.
 */
static inline size_t mpa_end_feed(struct mpa_end *e, const void *stream, size_t len, size_t chunk)
{
	size_t done = 0;

	while (done < len) {
		size_t took =
			mpa_end_read(e, (const uint8_t *)stream + done, IW_MIN(chunk, len - done));

		if (took == 0)
			break;
		done += took;
	}
	return done;
}

/* Passes it in two pieces, the first of `split` octets. */
static inline size_t mpa_end_feed_split(struct mpa_end *e, const uint8_t *stream, size_t len,
					size_t split)
{
	size_t done = mpa_end_feed(e, stream, split, split ? split : 1);

	return done + mpa_end_feed(e, stream + done, len - done, len);
}

/* Takes the pending output of the end, start-up octets first. */
static inline void mpa_end_drain(struct mpa_end *e, struct octets *out)
{
	struct iw_vec v = iw_mpa_tx_startup(e->m);

	octets_add(out, v.base, v.len);
	iw_mpa_tx_startup_sent(e->m, v.len);
	for (size_t i = e->t->first; i < e->t->nvec; i++)
		octets_add(out, e->t->vec[i].base, e->t->vec[i].len);
	iw_txbuf_sent(e->t, e->t->bytes);
}

/* Passes the pending output of each end to the other until both have none. */
static inline void mpa_ends_exchange(struct mpa_end *a, struct mpa_end *b)
{
	bool moved = true;

	while (moved) {
		struct octets out = { 0 };

		mpa_end_drain(a, &out);
		moved = mpa_end_feed(b, out.p, out.len, SIZE_MAX) > 0;
		octets_free(&out);
		mpa_end_drain(b, &out);
		moved |= mpa_end_feed(a, out.p, out.len, SIZE_MAX) > 0;
		octets_free(&out);
	}
}

#endif
