/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A directory for one test, and functions for files in it. */
#ifndef TESTS_UNIT_FILE_TMP_H
#define TESTS_UNIT_FILE_TMP_H

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char tmp_name[64];
static int tmp_fd = -1;

static inline void tmp_make(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(tmp_name, sizeof(tmp_name), "%.40s/iw-file-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(tmp_name));
	tmp_fd = open(tmp_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tmp_fd >= 0);
}

static inline int tmp_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void tmp_remove(void)
{
	close(tmp_fd);
	nftw(tmp_name, tmp_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void put_file(const char *name, const void *octets, size_t len)
{
	int fd = openat(tmp_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, octets, len), len);
	close(fd);
}

static inline void put_dir(const char *name)
{
	assert_int_equal(mkdirat(tmp_fd, name, 0755), 0);
}

static inline void put_link(const char *to, const char *name)
{
	assert_int_equal(symlinkat(to, tmp_fd, name), 0);
}

/* Returns the whole file, terminated by NUL; owned by the caller. */
static inline char *get_file(const char *name, size_t *len)
{
	int fd = openat(tmp_fd, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *p;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	p = malloc((size_t)st.st_size + 1);
	assert_non_null(p);
	assert_int_equal(read(fd, p, (size_t)st.st_size), st.st_size);
	p[st.st_size] = '\0';
	*len = (size_t)st.st_size;
	close(fd);
	return p;
}

static inline void assert_file_is(const char *name, const char *text)
{
	size_t len;
	char *p = get_file(name, &len);

	assert_int_equal(len, strlen(text));
	assert_memory_equal(p, text, len);
	free(p);
}

static inline bool is_there(const char *name)
{
	struct stat st;

	return fstatat(tmp_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

#endif
