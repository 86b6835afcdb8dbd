/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory of a run: what its messages are sent from and placed in. */
#ifndef IW_DDP_BENCH_MEMORY_H
#define IW_DDP_BENCH_MEMORY_H

#include "cli/param.h"
#include "ddp-bench/blocks.h"

struct memory {
	uint8_t *base;
	size_t len;
	struct iw_bench_piece piece;  /* owned; base NULL: the memory is not a piece */
	struct iw_bench_blocks *from; /* what the piece was cut from */
	struct iw_xdp_memory *umem;   /* owned: memory in a UMEM; NULL: ordinary memory */
};

/*
 * Allocates zeroed memory of len octets (0: 1), in pages of its own. The caller frees it with
 * iw_bench_memory_put; *from is borrowed until then. IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_bench_memory_get(struct memory *m, struct iw_bench_blocks *from, uint64_t len,
				      struct iw_fault *why);
/* The same in the UMEM of conn's interface, from which "xdp" sends without a copy. Errors: those of
 * iw_xdp_memory_new. */
IW_MUST_CHECK int iw_bench_memory_get_umem(struct memory *m, const struct iw_cli_param *conn,
					   uint64_t len, struct iw_fault *why);
/*
 * Writes all octets, so that no page is touched for the first time within the window: with the
 * pattern of *seed, or zeros if seed is NULL. IW_E_CANCELED: a signal asked the process to stop.
 */
IW_MUST_CHECK int iw_bench_memory_fill(struct memory *m, const uint64_t *seed,
				       struct iw_fault *why);
/* Returns the octets of physical memory of this machine; UINT64_MAX: not known. */
uint64_t iw_bench_memory_of_machine(void);
/* Sets *m to len octets of *all, beginning at offset `at`. Valid as long as *all is. */
void iw_bench_memory_part(struct memory *m, const struct memory *all, uint64_t at, uint64_t len);
/* Frees the memory, unless it is a part of other memory, and sets *m to zero. */
void iw_bench_memory_put(struct memory *m);
/*
 * Returns the octets that an end needs for depth operations of size octets; UINT64_MAX: one of them
 * is above its limit.
 */
uint64_t iw_bench_memory_need(uint64_t size, uint64_t depth);

#endif
