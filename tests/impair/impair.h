/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * impair: what becomes of the frames that cross a bad link in one direction, and when. Two of them
 * make a link.
 *
 * A frame waits for the link first (a rate and a queue of limited length, as at a router), then the
 * seed decides whether it is lost, changed, doubled or held back, then it is on its way for the
 * delay. What happens to the k-th frame depends on the seed and on k alone: a run with more loss
 * loses the frames of the run with less, and some more, whatever else is set.
 *
 * Jitter never lets a frame overtake another, as in a queue; only one that is chosen to be late is
 * overtaken. Neighbours: whoever carries the frames. No I/O: time is an argument. One thread at a
 * time.
 */
#ifndef IW_IMPAIR_IMPAIR_H
#define IW_IMPAIR_IMPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/mem.h"

#define IW_IMPAIR_ALL       UINT32_C(1000000) /* chances are parts of a million */
#define IW_IMPAIR_QUEUE_MAX (UINT32_C(1) << 30)

struct iw_impair_cfg {
	uint64_t seed;
	/* Chances of each frame, of IW_IMPAIR_ALL. */
	uint32_t loss;
	uint32_t duplicate; /* the copy follows right behind */
	uint32_t corrupt;   /* one bit behind the Ethernet header is turned over */
	uint32_t
		swap; /* two neighbouring 16-bit words of the payload change places: the checksums of IP, TCP
			* and UDP stay right, a CRC does not; a payload of equal words stays as it is */
	uint32_t late;     /* held back for late_ns, so that others overtake it */
	uint64_t drop_nth; /* this frame is lost for certain, counted from 1; 0: none */
	/* Octets: shorter and longer frames are spared all of the above and not counted. max_len 0: none is too long. */
	uint32_t min_len, max_len;

	uint64_t delay_ns;
	uint64_t jitter_ns; /* up to so much is added to the delay of each frame */
	uint64_t late_ns;
	uint64_t rate_bits;   /* a second, of whole frames; 0: as fast as they come */
	uint32_t queue_bytes; /* may wait for the rate; what comes beyond is dropped */
	uint32_t hold_bytes;  /* that the link holds at all, delayed ones included */
};

struct iw_impair_stat {
	uint64_t frames, bytes; /* that came */
	uint64_t lost, duplicated, corrupted, swapped, late;
	uint64_t queue_full; /* dropped: more than queue_bytes waited for the rate */
	uint64_t hold_full;  /* dropped: hold_bytes, or no memory; such a run shows nothing */
	uint64_t passed, passed_bytes;
};

struct iw_impair;

/* A frame on its way out: data is the link's until it is put back. */
struct iw_impair_frame {
	const uint8_t *data;
	size_t len;
};

/*
 * A link without frames; @mem is borrowed and outlives it. IW_E_NOMEM; IW_E_INVAL: a chance above
 * IW_IMPAIR_ALL, a queue above IW_IMPAIR_QUEUE_MAX.
 */
IW_MUST_CHECK int iw_impair_new(struct iw_impair **out, const struct iw_impair_cfg *cfg,
				const struct iw_mem *mem);
/* With all frames that are still on their way; NULL is allowed. */
void iw_impair_free(struct iw_impair *im);

/* A frame came in; it is copied. What cannot be held is dropped and counted. */
void iw_impair_push(struct iw_impair *im, const void *frame, size_t len, uint64_t now);

/*
 * The next frame whose time has come, or NULL. The caller gives each one back, in any order, with
 * iw_impair_put().
 */
struct iw_impair_frame *iw_impair_pop(struct iw_impair *im, uint64_t now);
void iw_impair_put(struct iw_impair *im, struct iw_impair_frame *f);

/* When iw_impair_pop() has something next; IW_TIME_NEVER: the link is empty. */
uint64_t iw_impair_deadline(const struct iw_impair *im);

const struct iw_impair_stat *iw_impair_stat(const struct iw_impair *im);

#endif
