/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * link: one direction of a bad link. It decides which frames are lost or changed, and when the
 * others arrive. Two objects make a link.
 *
 * A frame first waits for the link, which has a rate and a queue of limited length like a router.
 * Then the seed decides whether the frame is lost, changed, duplicated or held back. Then it
 * travels for the delay. The decisions for the k-th frame depend only on the seed and on k: a run
 * with more loss loses the same frames as the run with less, and some more, regardless of the other
 * settings.
 *
 * Jitter never reorders frames, as in a queue; only a frame that is chosen to be late is overtaken.
 * The caller carries the frames. No I/O: the time is an argument. One thread at a time.
 */
#ifndef IW_DDP_IMPAIR_LINK_LINK_H
#define IW_DDP_IMPAIR_LINK_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/mem.h"

#define IW_LINK_ALL       UINT32_C(1000000) /* chances are in millionths */
#define IW_LINK_QUEUE_MAX (UINT32_C(1) << 30)

struct iw_link_cfg {
	uint64_t seed;
	/* The chance of each frame, in units of 1 / IW_LINK_ALL. */
	uint32_t loss;
	uint32_t duplicate; /* the copy follows directly */
	uint32_t corrupt;   /* one bit after the Ethernet header is inverted */
	/* Two neighbouring 16-bit words of the payload are swapped: the checksums of IP, TCP and UDP
	 * stay correct, a CRC does not. A payload of equal words is not changed. */
	uint32_t swap;
	uint32_t late;     /* held back for late_ns, so that others overtake it */
	uint64_t drop_nth; /* this frame is lost in any case; the first is 1; 0: none */
	/* Lengths in octets. Shorter and longer frames are exempt from all of the above and are not
	 * counted. max_len 0: no upper limit. */
	uint32_t min_len, max_len;

	uint64_t delay_ns;
	uint64_t jitter_ns; /* at most this is added to the delay of each frame */
	uint64_t late_ns;
	uint64_t rate_bits;   /* bits per second, of whole frames; 0: no limit */
	uint32_t queue_bytes; /* octets that may wait for the rate; further frames are dropped */
	uint32_t hold_bytes;  /* octets in the whole link, including delayed frames */
};

struct iw_link_stat {
	uint64_t frames, bytes; /* received */
	uint64_t lost, duplicated, corrupted, swapped, late;
	uint64_t queue_full; /* dropped because of queue_bytes */
	/* dropped because of hold_bytes, or without memory; the results of such a run are
	 * invalid */
	uint64_t hold_full;
	uint64_t passed, passed_bytes;
};

struct iw_link;

/* A frame that leaves the link. The link owns data, until iw_link_put() ends the loan. */
struct iw_link_frame {
	const uint8_t *data;
	size_t len;
};

/*
 * Creates a link without frames. @mem is borrowed until iw_link_free(). IW_E_NOMEM: no memory.
 * IW_E_INVAL: a chance above IW_LINK_ALL, or a queue above IW_LINK_QUEUE_MAX.
 */
IW_MUST_CHECK int iw_link_new(struct iw_link **out, const struct iw_link_cfg *cfg,
			      const struct iw_mem *mem);
/* Frees the link and all frames in it; NULL is allowed. */
void iw_link_free(struct iw_link *l);

/* Adds a frame, which is copied. A frame for which there is no space is dropped and counted. */
void iw_link_push(struct iw_link *l, const void *frame, size_t len, uint64_t now);

/* Counts a frame that the caller forwards itself, because the link has no settings. */
void iw_link_pass(struct iw_link *l, size_t len);

/*
 * Like iw_link_push() for a frame that is delayed by extra_ns more than the settings say, so that
 * others overtake it. Frames that become due at the same time in this way keep their order.
 */
void iw_link_push_delayed(struct iw_link *l, const void *frame, size_t len, uint64_t extra_ns,
			  uint64_t now);

/*
 * Returns the next frame that is due, or NULL. The caller returns each frame with iw_link_put(),
 * in any order.
 */
struct iw_link_frame *iw_link_pop(struct iw_link *l, uint64_t now);
void iw_link_put(struct iw_link *l, struct iw_link_frame *f);

/* Returns when iw_link_pop() has the next frame; IW_TIME_NEVER if the link is empty. */
uint64_t iw_link_deadline(const struct iw_link *l);

const struct iw_link_stat *iw_link_stat(const struct iw_link *l);

#endif
