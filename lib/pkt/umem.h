/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UMEM: the memory that AF_XDP sockets read frames from and write them to.
 *
 * Job: a run of frames of one size, each with exactly one owner at any time. Neighbours: pkt/xsk.c moves
 * frames between the rings; nothing here calls AF_XDP. Debug builds keep the owner of each frame and assert
 * on every hand-over, so that a frame given twice or forgotten fails where it happens.
 * Threads: no locks; whoever shares a UMEM brings one.
 */
#ifndef IW_PKT_UMEM_H
#define IW_PKT_UMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

enum iw_frame_owner {
	IW_FRAME_FREE,   /* in the free list */
	IW_FRAME_KERNEL, /* fill ring, or a receive ring and not looked at yet */
	IW_FRAME_ENGINE, /* received, and somebody reads it */
	IW_FRAME_LOAN,   /* received, and the program reads it, until it gives it back */
	IW_FRAME_SENDER, /* set apart for one who sends, who writes packets into it */
	IW_FRAME_LENT,   /* set apart for good, as memory of the program's */
	IW_FRAME_TX,     /* transmit or completion ring */
	IW_FRAME_OWNERS,
};

struct iw_umem {
	uint8_t *area;
	size_t len;          /* octets, whole pages */
	uint32_t frame_size; /* a power of two */
	uint32_t frames;
	uint32_t
		nfree; /* in free[], last given first: it is the one most likely still in the cache */
	uint32_t *free;
	uint8_t *owner; /* of each frame, with asserts only */
};

struct iw_umem_cfg {
	uint32_t frames,
		share; /* as many as asked for or as RLIMIT_MEMLOCK allows, in whole shares */
	uint32_t lent; /* and so many more, or none at all */
	uint32_t frame_size;
	unsigned times; /* it will be registered so often, and each counts for the limit */
};
/*
 * @out is owned by the caller, who gives it back with iw_umem_free. Huge pages when the system has some to give.
 * IW_E_LIMIT: what is lent and one share do not fit the limit, *why says what to set; IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_umem_new(struct iw_umem **out, const struct iw_umem_cfg *cfg,
			      struct iw_fault *why);
/* u may be NULL. */
void iw_umem_free(struct iw_umem *u);

/* Up to @n free frames, as addresses in the UMEM; they are @to's now. How many. */
uint32_t iw_umem_take(struct iw_umem *u, uint64_t *addr, uint32_t n, enum iw_frame_owner to);
/* The next @n frames, one behind the other from where it says, of a UMEM that nothing was given back to yet. */
uint64_t iw_umem_set_apart(struct iw_umem *u, uint32_t n, enum iw_frame_owner to);
/* A frame goes back; any address in it will do. */
void iw_umem_give(struct iw_umem *u, uint64_t addr, enum iw_frame_owner from);
/* A frame passes from one owner to another. */
void iw_umem_pass(struct iw_umem *u, uint64_t addr, enum iw_frame_owner from,
		  enum iw_frame_owner to);
/* Frames of each owner into @out; all zero in builds without asserts. */
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
