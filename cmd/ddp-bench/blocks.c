// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pieces of memory, cut from blocks in huge pages. */
#include "ddp-bench/blocks.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/os.h"

/* Bytes of a block that several pieces share. A larger piece has a block of its own. */
#define SHARED ((size_t)32 << 20)

/*
 * Pieces are cut in order. The space of a freed piece is not used again, so each piece is new from
 * the kernel, and zeroed.
 */
struct iw_bench_block {
	uint8_t *base;
	size_t len, cut;
	unsigned pieces; /* in use */
};

static size_t whole_pages(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return len > SIZE_MAX - page ? len : (len + page - 1) / page * page;
}

static struct iw_bench_block *block_new(size_t len)
{
	struct iw_bench_block *b = malloc(sizeof(*b));

	if (!b)
		return NULL;
	*b = (struct iw_bench_block){ .base = iw_os_map(len), .len = len };
	if (!b->base) {
		free(b);
		return NULL;
	}
	return b;
}

/* Returns a block with at least len bytes left, or NULL. */
static struct iw_bench_block *block_for(struct iw_bench_blocks *from, size_t len)
{
	struct iw_bench_block *b = from->open;

	if (len >= SHARED)
		return block_new(len);
	if (b && b->len - b->cut >= len)
		return b;
	b = block_new(SHARED);
	if (b)
		from->open = b;
	else /* There may still be memory for this piece alone. */
		b = block_new(len);
	return b;
}

bool iw_bench_piece_get(struct iw_bench_piece *p, struct iw_bench_blocks *from, size_t len)
{
	size_t size = whole_pages(len);
	struct iw_bench_block *b = len > 0 ? block_for(from, size) : NULL;

	if (!b)
		return false;
	*p = (struct iw_bench_piece){ .base = b->base + b->cut, .len = len, .block = b };
	b->cut += size;
	b->pieces++;
	return true;
}

void iw_bench_piece_put(const struct iw_bench_piece *p, struct iw_bench_blocks *from)
{
	struct iw_bench_block *b = p->block;

	b->pieces--;
	if (b->pieces > 0) {
		(void)madvise(p->base, whole_pages(p->len), MADV_DONTNEED);
		return;
	}
	if (from->open == b)
		from->open = NULL;
	iw_os_unmap(b->base, b->len);
	free(b);
}
