// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory from the kernel: its size, its alignment, and the advice to use huge pages. */
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "address_space.h"

#define MIB ((size_t)1 << 20)

/* Whether the mapping that contains p has the flag "hg": huge pages are advised (proc(5)). */
static bool huge_pages_are_advised(const void *p)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	bool inside = false, advised = false;
	unsigned long from, to;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &from, &to) == 2)
			inside = from <= (uintptr_t)p && (uintptr_t)p < to;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			advised = strstr(line, " hg") != NULL;
	}
	fclose(f);
	return advised;
}

static void memory_is_zeroed_and_of_the_size_that_was_asked_for(void **state)
{
	size_t sizes[] = { 1, 4096, 4097, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 5 * MIB };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *p = iw_os_map(sizes[i]);

		assert_non_null(p);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(p[k], 0);
		memset(p, 0xa5, sizes[i]);
		if (sizes[i] >= 2 * MIB)
			assert_int_equal((uintptr_t)p % (2 * MIB), 0);
		iw_os_unmap(p, sizes[i]);
	}
	iw_os_unmap(NULL, 1);
}

static void no_more_is_mapped_than_was_asked_for(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), before, during;
	void *p[32];

	(void)state;
	(void)mapped_bytes(); /* stdio may map a buffer */
	before = mapped_bytes();
	for (size_t i = 0; i < 32; i++) {
		p[i] = iw_os_map(5 * MIB + 1);
		assert_non_null(p[i]);
	}
	during = mapped_bytes();
	for (size_t i = 0; i < 32; i++)
		iw_os_unmap(p[i], 5 * MIB + 1);
	/* Half of a MiB for what the C library may have mapped meanwhile. */
	assert_in_range(during - before, 32 * (5 * MIB + page), 32 * (5 * MIB + page) + MIB / 2);
	assert_in_range(mapped_bytes(), before - MIB / 2, before + MIB / 2);
}

static void huge_pages_are_advised_for_large_memory(void **state)
{
	uint8_t *p;

	(void)state;
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0) {
		print_message("# needs hugepages: this kernel has no transparent huge pages\n");
		skip();
	}
	p = iw_os_map(8 * MIB);
	assert_non_null(p);
	assert_true(huge_pages_are_advised(p));
	assert_true(huge_pages_are_advised(p + 8 * MIB - 1));
	iw_os_unmap(p, 8 * MIB);
}

static void large_memory_is_mapped_without_space_for_its_alignment(void **state)
{
	struct rlimit before;
	void *p;

	(void)state;
	limit_address_space(9 * MIB, &before);
	p = iw_os_map(8 * MIB);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_non_null(p);
	memset(p, 1, 8 * MIB);
	iw_os_unmap(p, 8 * MIB);
}

static void sizes_that_cannot_be_mapped_are_refused(void **state)
{
	(void)state;
	assert_null(iw_os_map(0));
	assert_null(iw_os_map(SIZE_MAX));
	assert_null(iw_os_map(SIZE_MAX - 4 * MIB));
}

static void heap_gives_zeroed_memory_of_every_size(void **state)
{
	size_t sizes[] = { 0, 1, 64, 2 * MIB - 1, 2 * MIB, 3 * MIB };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *p = iw_mem_alloc(&iw_os_heap, sizes[i]);

		assert_non_null(p);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(p[k], 0);
		memset(p, 0xa5, sizes[i]);
		iw_mem_free(&iw_os_heap, p, sizes[i]);
	}
	iw_mem_free(&iw_os_heap, NULL, 1);
	iw_mem_free(&iw_os_heap, NULL, 4 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed_and_of_the_size_that_was_asked_for),
		cmocka_unit_test(no_more_is_mapped_than_was_asked_for),
		cmocka_unit_test(huge_pages_are_advised_for_large_memory),
		cmocka_unit_test(large_memory_is_mapped_without_space_for_its_alignment),
		cmocka_unit_test(sizes_that_cannot_be_mapped_are_refused),
		cmocka_unit_test(heap_gives_zeroed_memory_of_every_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
