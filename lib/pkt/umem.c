// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The memory of AF_XDP frames, and the owner of each frame. */
#include "pkt/umem.h"

#include <assert.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "os/os.h"
#include "os/probe.h"
#include "util/num.h"
#include "util/text.h"

#define HUGE_PAGE ((size_t)2 * 1024 * 1024)

/* Returns how many octets this process may lock. RLIMIT_MEMLOCK does not apply with CAP_IPC_LOCK
 * (xdp_umem_account_pages in Linux). */
static uint64_t lockable(void)
{
	uint64_t soft;

	if (iw_os_has_cap(CAP_IPC_LOCK))
		return UINT64_MAX;
	iw_os_memlock(&soft, NULL);
	return soft;
}

static int too_little(uint64_t have, uint64_t need, struct iw_fault *why)
{
	return iw_fail(
		why, IW_E_LIMIT,
		"xdp: the limit of locked memory is %U octets, and the frames need %U: raise it with "
		"ulimit -l %U, or run with CAP_IPC_LOCK",
		have, need, (need + 1023) / 1024);
}

static void map_area(struct iw_umem *u)
{
	size_t huge = (u->len + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);

	u->area = mmap(NULL, huge, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (u->area != MAP_FAILED) {
		u->len = huge;
		return;
	}
	u->area = iw_os_map(u->len);
}

int iw_umem_new(struct iw_umem **out, const struct iw_umem_cfg *cfg, struct iw_fault *why)
{
	uint64_t one = (uint64_t)cfg->share * cfg->frame_size * cfg->times;
	uint64_t most = lockable(), lent = (uint64_t)cfg->lent * cfg->frame_size * cfg->times;
	struct iw_umem *u;

	assert(cfg->share > 0 && cfg->frames >= cfg->share &&
	       (cfg->frame_size & (cfg->frame_size - 1)) == 0);
	if (most < lent + one)
		return too_little(most, lent + one, why);
	u = calloc(1, sizeof(*u));
	if (!u)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	u->frame_size = cfg->frame_size;
	u->frames = (uint32_t)IW_MIN((uint64_t)(cfg->frames / cfg->share), (most - lent) / one) *
		    cfg->share;
	u->frames += cfg->lent;
	u->len = (size_t)u->frames * cfg->frame_size;
	map_area(u);
	u->free = malloc(u->frames * sizeof(*u->free));
	u->owner = calloc(u->frames, 1);
	if (!u->area || !u->free || !u->owner) {
		int err = iw_fail(why, IW_E_NOMEM, "xdp: no memory for %u frames of %u octets",
				  (unsigned)u->frames, (unsigned)cfg->frame_size);

		iw_umem_free(u);
		return err;
	}
	while (u->nfree < u->frames) {
		u->free[u->nfree] = u->frames - 1 - u->nfree;
		u->nfree++;
	}
	*out = u;
	return 0;
}

void iw_umem_free(struct iw_umem *u)
{
	if (!u)
		return;
	/* MAP_HUGETLB needs a length of whole huge pages, which u->len is then. */
	iw_os_unmap(u->area, u->len);
	free(u->free);
	free(u->owner);
	free(u);
}

void iw_umem_pass(struct iw_umem *u, uint64_t addr, enum iw_frame_owner from,
		  enum iw_frame_owner to)
{
#ifndef NDEBUG
	uint32_t frame = iw_umem_frame(u, addr);

	assert(frame < u->frames && u->owner[frame] == from);
	u->owner[frame] = (uint8_t)to;
#else
	(void)u;
	(void)addr;
	(void)from;
	(void)to;
#endif
}

uint32_t iw_umem_take(struct iw_umem *u, uint64_t *addr, uint32_t n, enum iw_frame_owner to)
{
	n = IW_MIN(n, u->nfree);
	for (uint32_t i = 0; i < n; i++) {
		addr[i] = (uint64_t)u->free[--u->nfree] * u->frame_size;
		iw_umem_pass(u, addr[i], IW_FRAME_FREE, to);
	}
	return n;
}

uint64_t iw_umem_reserve(struct iw_umem *u, uint32_t n, enum iw_frame_owner to)
{
	uint32_t first = u->frames - u->nfree;

	assert(n <= u->nfree);
	for (uint32_t i = 0; i < n; i++) {
		assert(u->free[u->nfree - 1] == first + i);
		iw_umem_pass(u, (uint64_t)u->free[--u->nfree] * u->frame_size, IW_FRAME_FREE, to);
	}
	return (uint64_t)first * u->frame_size;
}

void iw_umem_give(struct iw_umem *u, uint64_t addr, enum iw_frame_owner from)
{
	iw_umem_pass(u, addr, from, IW_FRAME_FREE);
	u->free[u->nfree++] = iw_umem_frame(u, addr);
}

void iw_umem_census(const struct iw_umem *u, uint32_t out[static IW_FRAME_OWNERS])
{
	memset(out, 0, IW_FRAME_OWNERS * sizeof(out[0]));
#ifndef NDEBUG
	for (uint32_t i = 0; i < u->frames; i++)
		out[u->owner[i]]++;
#else
	(void)u;
#endif
}
