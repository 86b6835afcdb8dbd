/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UMEM: the memory that AF_XDP sockets receive frames into and send them from.
 *
 * Job: an array of frames of one size, each with exactly one owner at any time. Builds with asserts
 * record the owner of each frame and check it at every change, so that a frame that is freed twice
 * or lost fails at that place.
 * Neighbours: pkt/xsk.c moves frames between the rings. Nothing here calls AF_XDP.
 * Threads: no locks; the caller holds the lock of the interface (pkt/xsk_dev.h).
 */
#ifndef IW_PKT_UMEM_H
#define IW_PKT_UMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

enum iw_frame_owner {
	IW_FRAME_FREE,   /* in the free list */
	IW_FRAME_KERNEL, /* in the fill ring, or in a receive ring and not yet read */
	IW_FRAME_ENGINE, /* received, and the engine reads it */
	IW_FRAME_LOAN,   /* received, and lent to the application */
	IW_FRAME_SENDER, /* reserved for one worker to send from; not in flight */
	IW_FRAME_LENT,   /* reserved permanently, as memory of the application */
	IW_FRAME_TX,     /* in the transmit or completion ring */
	IW_FRAME_OWNERS,
};

struct iw_umem {
	uint8_t *area;
	size_t len;          /* octets, whole pages */
	uint32_t frame_size; /* a power of two */
	uint32_t frames;
	/* Entries of free[], a stack: the frame freed last is most likely still in the cache, so it
	 * is taken first. */
	uint32_t nfree;
	uint32_t *free;
	uint8_t *owner; /* enum iw_frame_owner of each frame; only set with asserts */
};

struct iw_umem_cfg {
	/* `share` is what one worker needs. The UMEM has as many whole shares as RLIMIT_MEMLOCK
	 * allows, `frames` frames at most. */
	uint32_t frames, share;
	uint32_t lent;       /* further frames, as memory of the application */
	uint32_t frame_size; /* octets, a power of two */
	unsigned times;      /* registrations to come; each counts for RLIMIT_MEMLOCK */
};
/*
 * Allocates a UMEM, in huge pages if the system has some free. The caller owns *out and frees it
 * with iw_umem_free. IW_E_LIMIT: RLIMIT_MEMLOCK does not allow the lent frames and one share; *why
 * says what to set; IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_umem_new(struct iw_umem **out, const struct iw_umem_cfg *cfg,
			      struct iw_fault *why);
/* u may be NULL. */
void iw_umem_free(struct iw_umem *u);

/* Takes up to @n free frames for the owner @to, as addresses in the UMEM. Returns how many. */
uint32_t iw_umem_take(struct iw_umem *u, uint64_t *addr, uint32_t n, enum iw_frame_owner to);
/* Takes @n contiguous frames, which must be free, and returns the address of the first in the UMEM.
 * Only before the first iw_umem_give. */
uint64_t iw_umem_reserve(struct iw_umem *u, uint32_t n, enum iw_frame_owner to);
/* Frees a frame; addr may be any address in it. */
void iw_umem_give(struct iw_umem *u, uint64_t addr, enum iw_frame_owner from);
/* Changes the owner of a frame. */
void iw_umem_pass(struct iw_umem *u, uint64_t addr, enum iw_frame_owner from,
		  enum iw_frame_owner to);
/* Counts the frames of each owner into @out; all zero in builds without asserts. */
void iw_umem_census(const struct iw_umem *u, uint32_t out[static IW_FRAME_OWNERS]);

static inline uint8_t *iw_umem_at(const struct iw_umem *u, uint64_t addr)
{
	return u->area + addr;
}

static inline uint32_t iw_umem_frame(const struct iw_umem *u, uint64_t addr)
{
	return (uint32_t)(addr / u->frame_size);
}

#endif
