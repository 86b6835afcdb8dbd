// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The memory of a run. */
#include "ddp-bench/memory.h"

#include <string.h>
#include <unistd.h>

#include "cli/human.h"
#include "cli/pattern.h"
#include "cli/signals.h"
#include "ddp-bench/bench.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

/* Octets that are filled between two checks for a signal. */
#define FILL ((size_t)16 << 20)

uint64_t iw_bench_memory_need(uint64_t size, uint64_t depth)
{
	if (size > IW_BENCH_SIZE_MAX || depth > IW_BENCH_DEPTH_MAX)
		return UINT64_MAX;
	return IW_MAX(size, (uint64_t)1) * depth;
}

int iw_bench_memory_get(struct memory *m, struct iw_bench_blocks *from, uint64_t len,
			struct iw_fault *why)
{
	char size[IW_HUMAN_TEXT];

	*m = (struct memory){ .from = from };
	/* Even zero-length messages need an address. */
	if (len > SIZE_MAX || !iw_bench_piece_get(&m->piece, from, len ? (size_t)len : 1))
		return iw_fail(
			why, IW_E_NOMEM,
			"allocate %s: out of memory; use a smaller --size, --depth or --connections",
			iw_human_size(size, len));
	m->base = m->piece.base;
	m->len = m->piece.len;
	return 0;
}

int iw_bench_memory_get_umem(struct memory *m, const struct iw_cli_param *conn, uint64_t len,
			     struct iw_fault *why)
{
	int err = iw_xdp_memory_new(&m->umem, &conn->at, len ? (size_t)len : 1, why);

	if (err)
		return err;
	m->len = len ? (size_t)len : 1;
	m->base = iw_xdp_memory_addr(m->umem);
	return 0;
}

int iw_bench_memory_fill(struct memory *m, const uint64_t *seed, struct iw_fault *why)
{
	for (size_t at = 0; at < m->len; at += FILL) {
		size_t len = IW_MIN(m->len - at, FILL);

		if (iw_signals_stop())
			return iw_fail(why, IW_E_CANCELED, "stopped by a signal");
		if (seed)
			iw_pattern_fill(m->base + at, len, *seed, at);
		else
			memset(m->base + at, 0, len);
	}
	return 0;
}

uint64_t iw_bench_memory_of_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

void iw_bench_memory_part(struct memory *m, const struct memory *all, uint64_t at, uint64_t len)
{
	*m = (struct memory){ .base = all->base + at, .len = (size_t)len };
}

void iw_bench_memory_put(struct memory *m)
{
	if (m->umem)
		iw_xdp_memory_free(m->umem);
	else if (m->piece.base)
		iw_bench_piece_put(&m->piece, m->from);
	*m = (struct memory){ 0 };
}
