// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory from the kernel, in huge pages if it is large. A processor's TLB holds the addresses of a
 * few thousand pages. With pages of 4 KiB, nearly every random access to 64 MiB misses it, and the
 * processor reads page tables; with pages of 2 MiB, few do.
 */
#include "os/os.h"

#include <sys/mman.h>
#include <unistd.h>

/* The size of a huge page on x86-64, and on arm64 with 4 KiB pages. */
#define HUGE_PAGE ((size_t)2 << 20)

/* len: at most SIZE_MAX - 2 * HUGE_PAGE. */
static size_t whole_pages(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (len + page - 1) / page * page;
}

static char *map(size_t len)
{
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Returns p. A kernel without transparent huge pages refuses: then the memory has small pages. */
static void *ask_for_huge_pages(void *p, size_t len)
{
	(void)madvise(p, len, MADV_HUGEPAGE);
	return p;
}

void *iw_os_map(size_t len)
{
	size_t lead, tail;
	char *p;

	if (len == 0 || len > SIZE_MAX - 2 * HUGE_PAGE)
		return NULL;
	if (len < HUGE_PAGE)
		return map(len);
	/* One huge page more than needed, so that the memory can begin at a huge page's boundary. */
	len = whole_pages(len);
	p = map(len + HUGE_PAGE);
	if (!p) {
		p = map(len);
		return p ? ask_for_huge_pages(p, len) : NULL;
	}
	lead = -(uintptr_t)p & (HUGE_PAGE - 1);
	tail = HUGE_PAGE - lead;
	if (lead > 0)
		munmap(p, lead);
	p += lead;
	munmap(p + len, tail);
	return ask_for_huge_pages(p, len);
}

void iw_os_unmap(void *p, size_t len)
{
	if (p)
		munmap(p, len);
}
