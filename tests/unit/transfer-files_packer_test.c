// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Packs of the source: the directory that their members share. */
#include "transfer/files/pack.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PACKS = 300, MEMBERS = 200 };

/* Creates and frees packs whose members share the directory ctx. Returns ctx; NULL: it failed. */
static void *pack_and_free(void *ctx)
{
	struct iw_dir_ref *dir = ctx;
	const struct iw_xfer_meta m = { .kind = IW_XFER_FILE, .name = "f", .name_len = 1 };
	const struct stat st = { 0 };

	for (int i = 0; i < PACKS; i++) {
		struct iw_packer *p = iw_packer_new();

		if (!p)
			return NULL;
		for (int n = 0; n < MEMBERS; n++)
			if (!iw_packer_add(p, &m, dir, "f", &st))
				return NULL;
		iw_packer_free(p);
	}
	return ctx;
}

static void packs_of_two_threads_share_a_directory(void **state)
{
	struct iw_dir_ref *dir = iw_dir_new(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	void *other;
	pthread_t t;
	int fd;

	(void)state;
	assert_non_null(dir);
	fd = dir->fd;
	assert_int_equal(pthread_create(&t, NULL, pack_and_free, dir), 0);
	assert_ptr_equal(pack_and_free(dir), dir);
	assert_int_equal(pthread_join(t, &other), 0);
	assert_ptr_equal(other, dir);
	assert_int_equal(atomic_load(&dir->refs), 1);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	iw_dir_put(dir);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packs_of_two_threads_share_a_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
