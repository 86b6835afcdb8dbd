/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory for the data of many connections, in pieces. A piece is often smaller than a huge page, so
 * pieces are cut from blocks, and the blocks are in huge pages (iw_os_map). With small pages, most
 * accesses to the data would miss the TLB, and look up page tables.
 *
 * Threads: struct iw_bench_blocks and its pieces belong to one thread at a time.
 */
#ifndef IW_DDP_BENCH_BLOCKS_H
#define IW_DDP_BENCH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

/* Where pieces are cut from. All zero: no block. */
struct iw_bench_blocks {
	struct iw_bench_block *open; /* new small pieces are cut from it; NULL: none */
};

struct iw_bench_piece {
	uint8_t *base; /* at a page's boundary; the piece has whole pages */
	size_t len;    /* bytes */
	struct iw_bench_block *block;
};

/*
 * Cuts a piece of len zeroed bytes. The caller owns it until iw_bench_piece_put; *from is borrowed
 * until then. False: len is 0, or no memory; *p is unchanged.
 */
IW_MUST_CHECK bool iw_bench_piece_get(struct iw_bench_piece *p, struct iw_bench_blocks *from,
				      size_t len);
/*
 * Returns the pages of a piece to the kernel. A huge page that another piece shares may stay in
 * memory as a whole, so a piece in use can hold up to 2 MiB more than its length at each end. Unmaps
 * the block after its last piece.
 */
void iw_bench_piece_put(const struct iw_bench_piece *p, struct iw_bench_blocks *from);

#endif
