// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Packs of the source: the directory that their members share. */
#include "transfer/files/pack.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/num.h"

enum { PACKS = 300, MEMBERS = 200, TIMEOUT_S = 60 };

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

/* Returns NULL, or what is wrong. */
static const char *share_a_directory(void)
{
	struct iw_dir_ref *dir = iw_dir_new(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	void *own, *other = NULL;
	pthread_t t;
	int fd;

	if (!dir || pthread_create(&t, NULL, pack_and_free, dir) != 0)
		return "no directory, or no thread";
	fd = dir->fd;
	own = pack_and_free(dir);
	if (pthread_join(t, &other) != 0 || own != dir || other != dir)
		return "a pack was not created";
	if (atomic_load(&dir->refs) != 1 || fcntl(fd, F_GETFD) == -1)
		return "the directory does not have one reference";
	iw_dir_put(dir);
	return fcntl(fd, F_GETFD) == -1 ? NULL : "the last reference did not close the directory";
}

/*
 * In a process of its own: wrong references destroy the heap, and cmocka's handler of a signal
 * would wait for a lock of the heap.
 */
static void packs_of_two_threads_share_a_directory(void **state)
{
	const char *fault;
	pid_t child;
	int status;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		static const int caught[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS };

		for (size_t i = 0; i < IW_ARRAY_LEN(caught); i++)
			signal(caught[i], SIG_DFL);
		alarm(TIMEOUT_S);
		fault = share_a_directory();
		if (fault)
			fprintf(stderr, "%s\n", fault);
		_exit(fault != NULL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		fail_msg("ended by signal %d", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packs_of_two_threads_share_a_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
