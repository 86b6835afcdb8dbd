// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Limits of what a receiver accepts. */
#include "transfer/files/account.h"

#include <fts.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transfer/files/temp.h"
#include "util/num.h"

/* One lock for all accounts, because an account and that of the process are charged together. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void iw_account_fini(struct iw_account *a)
{
	iw_account_return(a, a->would_octets, a->would_files);
	a->would_octets = a->would_files = 0;
	free(a->left);
	a->left = NULL;
	a->nleft = a->cap = 0;
}

/* --- limits --- */

static bool is_above(uint64_t used, uint64_t more, uint64_t max)
{
	uint64_t sum;

	return iw_add_wraps(used, more, &sum) || (max && more > 0 && sum > max);
}

static int above(struct iw_file_fault *why, const char *what, uint64_t used, uint64_t more,
		 const char *limit, uint64_t max)
{
	char text[IW_XFER_TEXT_MAX];

	snprintf(text, sizeof(text),
		 "%llu more %s%s, %llu used so far: above the receiver's %s %llu",
		 (unsigned long long)more, what, more == 1 ? "" : "s", (unsigned long long)used,
		 limit, (unsigned long long)max);
	return iw_file_fail(why, IW_XFER_CODE_LIMIT, text);
}

static int take(struct iw_account *a, uint64_t octets, uint64_t files, struct iw_file_fault *why)
{
	if (is_above(a->octets, octets, a->max_octets))
		return above(why, "octet", a->octets, octets,
			     a->limit ? a->limit : "what can be counted",
			     a->max_octets ? a->max_octets : UINT64_MAX);
	if (is_above(a->files, files, a->max_files))
		return above(why, "file", a->files, files, "--max-files", a->max_files);
	if (a->all && take(a->all, octets, files, why) != 0)
		return -1;
	a->octets += octets;
	a->files += files;
	return 0;
}

int iw_account_take(struct iw_account *a, uint64_t octets, uint64_t files,
		    struct iw_file_fault *why)
{
	int err;

	pthread_mutex_lock(&lock);
	err = take(a, octets, files, why);
	pthread_mutex_unlock(&lock);
	return err;
}

void iw_account_would(struct iw_account *a, uint64_t octets, uint64_t files)
{
	pthread_mutex_lock(&lock);
	a->would_octets += octets;
	a->would_files += files;
	pthread_mutex_unlock(&lock);
}

void iw_account_return(struct iw_account *a, uint64_t octets, uint64_t files)
{
	pthread_mutex_lock(&lock);
	for (; a; a = a->all) {
		a->octets -= IW_MIN(a->octets, octets);
		a->files -= IW_MIN(a->files, files);
	}
	pthread_mutex_unlock(&lock);
}

static int may_rest(const struct iw_account *a, struct iw_file_fault *why)
{
	char text[IW_XFER_TEXT_MAX];

	for (; a; a = a->all) {
		if (!a->max_resting || a->resting < a->max_resting)
			continue;
		snprintf(text, sizeof(text),
			 "%llu files wait for missing parts: the limit is %llu%s",
			 (unsigned long long)a->resting, (unsigned long long)a->max_resting,
			 a->all ? " for one transfer" : " because of the limit on open files");
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, text);
	}
	return 0;
}

int iw_account_may_rest(const struct iw_account *a, struct iw_file_fault *why)
{
	int err;

	pthread_mutex_lock(&lock);
	err = may_rest(a, why);
	pthread_mutex_unlock(&lock);
	return err;
}

void iw_account_rest(struct iw_account *a)
{
	pthread_mutex_lock(&lock);
	for (; a; a = a->all)
		a->resting++;
	pthread_mutex_unlock(&lock);
}

void iw_account_wake(struct iw_account *a)
{
	pthread_mutex_lock(&lock);
	for (; a; a = a->all)
		a->resting -= a->resting > 0;
	pthread_mutex_unlock(&lock);
}

/* --- temporaries that stay on storage: a hash table with linear probing --- */

static size_t first_place(size_t cap, uint64_t dev, uint64_t ino)
{
	return (size_t)((ino ^ dev << 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (cap - 1);
}

static struct iw_left *place_of(struct iw_left *rows, size_t cap, uint64_t dev, uint64_t ino)
{
	size_t i = first_place(cap, dev, ino);

	while (rows[i].ino && (rows[i].ino != ino || rows[i].dev != dev))
		i = (i + 1) & (cap - 1);
	return &rows[i];
}

static bool make_room(struct iw_account *a)
{
	size_t cap = a->cap ? a->cap * 2 : 16;
	struct iw_left *rows;

	if (a->nleft * 2 < a->cap)
		return true;
	rows = calloc(cap, sizeof(*rows));
	if (!rows)
		return false;
	for (size_t i = 0; i < a->cap; i++)
		if (a->left[i].ino)
			*place_of(rows, cap, a->left[i].dev, a->left[i].ino) = a->left[i];
	free(a->left);
	a->left = rows;
	a->cap = cap;
	return true;
}

/* Removes an entry, and moves up later ones that probing would not find any more. */
static void take_out(struct iw_account *a, struct iw_left *row)
{
	size_t hole = (size_t)(row - a->left), i = hole, mask = a->cap - 1;

	for (;;) {
		struct iw_left *next;

		i = (i + 1) & mask;
		next = &a->left[i];
		if (!next->ino)
			break;
		if (((i - first_place(a->cap, next->dev, next->ino)) & mask) < ((i - hole) & mask))
			continue;
		a->left[hole] = *next;
		hole = i;
	}
	a->left[hole] = (struct iw_left){ .ino = 0 };
	a->nleft--;
}

/* Holes use no storage, and a journal is shorter than its block. */
static uint64_t octets_of(const struct stat *st)
{
	return IW_MIN((uint64_t)st->st_size, (uint64_t)st->st_blocks * 512);
}

static void resume(struct iw_account *a, const struct stat *st)
{
	for (; a; a = a->all) {
		struct iw_left *row = a->cap ? place_of(a->left, a->cap, st->st_dev, st->st_ino)
					     : NULL;

		if (!row || !row->ino)
			continue;
		a->octets -= IW_MIN(a->octets, row->octets);
		a->files -= IW_MIN(a->files, row->files);
		take_out(a, row);
	}
}

void iw_account_resume(struct iw_account *a, const struct stat *st)
{
	pthread_mutex_lock(&lock);
	resume(a, st);
	pthread_mutex_unlock(&lock);
}

static void leave(struct iw_account *a, const struct stat *st, bool is_file)
{
	resume(a, st);
	for (; a; a = a->all) {
		struct iw_left row = { .dev = st->st_dev,
				       .ino = st->st_ino,
				       .octets = IW_MIN(octets_of(st), UINT64_MAX - a->octets),
				       .files = is_file };

		a->octets += row.octets;
		a->files += row.files;
		if (!make_room(a))
			continue;
		*place_of(a->left, a->cap, row.dev, row.ino) = row;
		a->nleft++;
	}
}

void iw_account_leave(struct iw_account *a, const struct stat *st, bool is_file)
{
	pthread_mutex_lock(&lock);
	leave(a, st, is_file);
	pthread_mutex_unlock(&lock);
}

static bool is_journal(const char *name)
{
	return strlen(name) == sizeof(".iw-0123456789abcdef.journal") - 1;
}

void iw_account_scan(struct iw_account *a, const char *dir)
{
	char *const paths[] = { (char *)(uintptr_t)dir, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *e;

	while (tree && (e = fts_read(tree)) != NULL)
		if (e->fts_info == FTS_F && iw_temp_is_name(e->fts_name) &&
		    iw_temp_is_own(e->fts_statp))
			iw_account_leave(a, e->fts_statp, !is_journal(e->fts_name));
	if (tree)
		fts_close(tree);
}
