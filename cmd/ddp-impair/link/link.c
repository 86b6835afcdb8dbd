// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One direction of a bad link: random decisions from a seed, a rate, and a heap of frames sorted by
 * due time. */
#include "ddp-impair/link/link.h"

#include <string.h>

#include "util/heap.h"
#include "util/num.h"

#define ETHERNET 14
/* The offset after Ethernet and the longest headers of a datagram, IPv6 and UDP. It is an even
 * distance from the IP header, as the words of the Internet checksum are. */
#define PAYLOAD  (ETHERNET + 40 + 8)

struct held {
	struct iw_timer timer;
	struct iw_link_frame frame;
	uint8_t data[];
};

struct iw_link {
	struct iw_link_cfg cfg;
	const struct iw_mem *mem;
	struct iw_heap due;
	uint64_t counted;   /* frames to which the chances apply */
	uint64_t link_free; /* when the last frame has been transmitted */
	uint64_t last_due;  /* due time of the last frame that is not late */
	uint64_t extra;     /* additional delay of the present frame */
	/* Due time of the last frame that had one, and how many before it had the same. */
	uint64_t extra_due, extra_same;
	uint64_t held; /* octets */
	struct iw_link_stat stat;
};

/* --- random decisions ------------------------------------------------------------------------- */

/* The random numbers of a frame. The order must not change, because seeds depend on it. */
enum draw {
	DRAW_LOSS,
	DRAW_DUPLICATE,
	DRAW_CORRUPT,
	DRAW_SWAP,
	DRAW_LATE,
	DRAW_JITTER,
	DRAW_WHERE,
	DRAWS
};

/* splitmix64: the n-th number depends only on the seed and n. */
static uint64_t draw(const struct iw_link *l, enum draw what)
{
	return iw_mix64(l->cfg.seed + (l->counted * DRAWS + what) * 0x9e3779b97f4a7c15u);
}

/* 0..n-1 */
static uint64_t draw_below(const struct iw_link *l, enum draw what, uint64_t n)
{
	return draw(l, what) % n;
}

static bool happens(const struct iw_link *l, enum draw what, uint32_t chance)
{
	return draw_below(l, what, IW_LINK_ALL) < chance;
}

static bool is_lost(const struct iw_link *l)
{
	return l->counted == l->cfg.drop_nth || happens(l, DRAW_LOSS, l->cfg.loss);
}

static bool invert_bit(const struct iw_link *l, struct held *h)
{
	uint64_t bit;

	if (h->frame.len <= ETHERNET)
		return false;
	bit = draw_below(l, DRAW_WHERE, (h->frame.len - ETHERNET) * 8);
	h->data[ETHERNET + bit / 8] ^= (uint8_t)(1u << bit % 8);
	return true;
}

/* Swaps the first two neighbouring words that differ, searched from a random place, wrapping around
 * at the end. */
static bool swap_words(const struct iw_link *l, struct held *h)
{
	size_t pairs = h->frame.len < PAYLOAD + 4 ? 0 : (h->frame.len - PAYLOAD) / 2 - 1;
	size_t first = pairs ? (size_t)draw_below(l, DRAW_WHERE, pairs) : 0;

	for (size_t i = 0; i < pairs; i++) {
		uint8_t *p = h->data + PAYLOAD + (first + i) % pairs * 2;
		uint8_t word[2];

		if (memcmp(p, p + 2, 2) == 0)
			continue;
		memcpy(word, p, 2);
		memmove(p, p + 2, 2);
		memcpy(p + 2, word, 2);
		return true;
	}
	return false;
}

/* --- frames in flight ------------------------------------------------------------------------- */

static size_t size_of(const struct held *h)
{
	return sizeof(*h) + h->frame.len;
}

static struct held *hold(struct iw_link *l, const void *frame, size_t len)
{
	struct held *h = NULL;

	if (l->held + len <= l->cfg.hold_bytes)
		h = iw_mem_alloc(l->mem, sizeof(*h) + len);
	if (!h) {
		l->stat.hold_full++;
		return NULL;
	}
	h->timer.at = IW_TIME_NEVER;
	h->frame = (struct iw_link_frame){ h->data, len };
	memcpy(h->data, frame, len);
	l->held += len;
	return h;
}

static void release(struct iw_link *l, struct held *h)
{
	l->held -= h->frame.len;
	iw_mem_free(l->mem, h, size_of(h));
}

static void schedule(struct iw_link *l, struct held *h, uint64_t due)
{
	if (iw_heap_set(&l->due, &h->timer, due) < 0) {
		l->stat.hold_full++;
		release(l, h);
	}
}

/* --- input ------------------------------------------------------------------------------------ */

static uint64_t wire_ns(const struct iw_link *l, uint64_t bytes)
{
	return l->cfg.rate_bits ? bytes * 8 * IW_SEC(1) / l->cfg.rate_bits : 0;
}

/* Returns when a frame that arrives now has been transmitted; IW_TIME_NEVER if the queue is
 * full. */
static uint64_t transmitted_at(struct iw_link *l, size_t len, uint64_t now)
{
	uint64_t from = IW_MAX(now, l->link_free);

	if (l->cfg.rate_bits && from - now > wire_ns(l, l->cfg.queue_bytes))
		return IW_TIME_NEVER;
	l->link_free = from + wire_ns(l, len);
	return l->link_free;
}

/* Returns the due time of a frame that others may overtake. */
static uint64_t overtaken(struct iw_link *l, uint64_t due)
{
	l->extra_same = due == l->extra_due ? l->extra_same + 1 : 0;
	l->extra_due = due;
	return iw_time_add(due, l->extra_same);
}

/* Returns a due time after those of all earlier frames, even if its delay is shorter. */
static uint64_t in_order(struct iw_link *l, uint64_t due)
{
	if (l->extra)
		return overtaken(l, iw_time_add(due, l->extra));
	l->last_due = IW_MAX(due, l->last_due + 1);
	return l->last_due;
}

static uint64_t delay_of(const struct iw_link *l)
{
	return l->cfg.delay_ns + draw_below(l, DRAW_JITTER, l->cfg.jitter_ns + 1);
}

/* Forwards a frame to which the chances apply and that is not lost. */
static void pass(struct iw_link *l, const void *frame, size_t len, uint64_t left)
{
	struct held *h = hold(l, frame, len), *copy = NULL;
	uint64_t due = left + delay_of(l);

	if (!h)
		return;
	if (happens(l, DRAW_CORRUPT, l->cfg.corrupt) && invert_bit(l, h))
		l->stat.corrupted++;
	if (happens(l, DRAW_SWAP, l->cfg.swap) && swap_words(l, h))
		l->stat.swapped++;
	if (happens(l, DRAW_DUPLICATE, l->cfg.duplicate))
		copy = hold(l, h->data, len);
	if (happens(l, DRAW_LATE, l->cfg.late)) {
		l->stat.late++;
		schedule(l, h, iw_time_add(due + l->cfg.late_ns, l->extra));
	} else {
		schedule(l, h, in_order(l, due));
	}
	if (copy) {
		l->stat.duplicated++;
		schedule(l, copy, in_order(l, due));
	}
}

void iw_link_push_delayed(struct iw_link *l, const void *frame, size_t len, uint64_t extra_ns,
			  uint64_t now)
{
	l->extra = extra_ns;
	iw_link_push(l, frame, len, now);
	l->extra = 0;
}

void iw_link_push(struct iw_link *l, const void *frame, size_t len, uint64_t now)
{
	uint64_t left = transmitted_at(l, len, now);
	struct held *h;

	l->stat.frames++;
	l->stat.bytes += len;
	if (left == IW_TIME_NEVER) {
		l->stat.queue_full++;
		return;
	}
	if (len < l->cfg.min_len || (l->cfg.max_len > 0 && len > l->cfg.max_len)) {
		h = hold(l, frame, len);
		if (h)
			schedule(l, h, in_order(l, left + l->cfg.delay_ns));
		return;
	}
	l->counted++;
	if (is_lost(l))
		l->stat.lost++;
	else
		pass(l, frame, len, left);
}

void iw_link_pass(struct iw_link *l, size_t len)
{
	l->stat.frames++;
	l->stat.bytes += len;
	l->stat.passed++;
	l->stat.passed_bytes += len;
}

/* --- output ----------------------------------------------------------------------------------- */

struct iw_link_frame *iw_link_pop(struct iw_link *l, uint64_t now)
{
	struct iw_timer *t = iw_heap_first(&l->due);
	struct held *h;

	if (!t || t->at > now)
		return NULL;
	h = iw_container_of(t, struct held, timer);
	iw_heap_del(&l->due, t);
	l->stat.passed++;
	l->stat.passed_bytes += h->frame.len;
	return &h->frame;
}

void iw_link_put(struct iw_link *l, struct iw_link_frame *f)
{
	release(l, iw_container_of(f, struct held, frame));
}

uint64_t iw_link_deadline(const struct iw_link *l)
{
	const struct iw_timer *t = iw_heap_first(&l->due);

	return t ? t->at : IW_TIME_NEVER;
}

const struct iw_link_stat *iw_link_stat(const struct iw_link *l)
{
	return &l->stat;
}

/* --- begin and end ---------------------------------------------------------------------------- */

int iw_link_new(struct iw_link **out, const struct iw_link_cfg *cfg, const struct iw_mem *mem)
{
	struct iw_link *l;

	if (cfg->loss > IW_LINK_ALL || cfg->duplicate > IW_LINK_ALL || cfg->corrupt > IW_LINK_ALL ||
	    cfg->swap > IW_LINK_ALL || cfg->late > IW_LINK_ALL ||
	    cfg->queue_bytes > IW_LINK_QUEUE_MAX)
		return IW_E_INVAL;
	l = iw_mem_alloc(mem, sizeof(*l));
	if (!l)
		return IW_E_NOMEM;
	l->cfg = *cfg;
	l->mem = mem;
	iw_heap_init(&l->due, mem);
	*out = l;
	return 0;
}

void iw_link_free(struct iw_link *l)
{
	struct iw_timer *t;

	if (!l)
		return;
	while ((t = iw_heap_first(&l->due))) {
		iw_heap_del(&l->due, t);
		release(l, iw_container_of(t, struct held, timer));
	}
	iw_heap_fini(&l->due);
	iw_mem_free(l->mem, l, sizeof(*l));
}
