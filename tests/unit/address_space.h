/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The address space of the test: what is mapped, and a limit for it. Include cmocka.h first. */
#ifndef IW_TEST_ADDRESS_SPACE_H
#define IW_TEST_ADDRESS_SPACE_H

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static inline size_t mapped_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/*
 * Permits only `more` bytes beyond those that are mapped, until setrlimit(RLIMIT_AS, before). Skips
 * the test with a sanitizer, which reserves address space.
 */
static inline void limit_address_space(size_t more, struct rlimit *before)
{
	struct rlimit r;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("# needs rlimit: the sanitizers reserve address space\n");
	skip();
#endif
	assert_int_equal(getrlimit(RLIMIT_AS, before), 0);
	r = (struct rlimit){ .rlim_cur = mapped_bytes() + more, .rlim_max = before->rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &r), 0);
}

#endif
