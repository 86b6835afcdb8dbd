// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The end of a transfer at its target: with --delete removes names that were not announced; sets
 * the attributes and times of directories.
 */
#include "transfer/files/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transfer/files/beneath.h"
#include "transfer/files/removals.h"
#include "transfer/files/temp.h"

struct final {
	struct iw_place *p;
	iw_place_report *report;
	void *ctx;
	uint64_t *gone, *failed;
};

static void final_failed(struct final *f, const char *name, const struct iw_file_fault *why)
{
	++*f->failed;
	f->report(f->ctx, name, why);
}

static void final_errno(struct final *f, const char *name, int errnum, const char *step)
{
	struct iw_file_fault why;

	iw_file_errno(&why, errnum, step);
	final_failed(f, name, &why);
}

/* True if name may be removed. Excluded names are kept without a report. */
static bool may_remove(struct iw_place *p, const char *name, bool is_dir)
{
	if (p->filter &&
	    iw_filter_excludes_deep(p->filter, name, is_dir, p->opts & IW_XFER_OPT_CONTENTS))
		return false;
	if ((!p->confirmed || iw_removals_has(p->confirmed, name)) &&
	    (!p->listed || iw_names_has(p->listed, name, strlen(name))))
		return true;
	p->unconfirmed++;
	return false;
}

/*
 * Removes a file, or a directory with its contents, except names that must be kept. Links are
 * removed, not followed. False: it still exists.
 */
static bool remove_all(struct final *f, int dirfd, const char *leaf, const char *name)
{
	int fd = openat(dirfd, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	bool dry = f->p->opts & IW_XFER_OPT_DRY_RUN, empty = may_remove(f->p, name, dir != NULL);
	struct dirent *de;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && (de = readdir(dir)) != NULL) {
		char *below;

		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		if (asprintf(&below, "%s/%s", name, de->d_name) < 0) {
			final_errno(f, name, ENOMEM, "remove its contents");
			empty = false;
			continue;
		}
		empty = remove_all(f, fd, de->d_name, below) && empty;
		free(below);
	}
	if (dir)
		closedir(dir);
	if (!empty)
		return false;
	if (!dry && unlinkat(dirfd, leaf, dir ? AT_REMOVEDIR : 0) < 0) {
		final_errno(f, name, errno, "remove it");
		return false;
	}
	++*f->gone;
	f->report(f->ctx, name, NULL);
	return true;
}

static void remove_unannounced(struct final *f, const char *dir_name)
{
	int fd = iw_beneath_dir(f->p->base, dir_name);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *de;

	if (!dir) {
		final_errno(f, dir_name, errno, "search it for names to remove");
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((de = readdir(dir)) != NULL) {
		char *name;

		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0 ||
		    iw_temp_is_name(de->d_name))
			continue;
		if (asprintf(&name, "%s%s%s", dir_name, dir_name[0] ? "/" : "", de->d_name) < 0) {
			final_errno(f, dir_name, ENOMEM, "search it for names to remove");
			continue;
		}
		if (!iw_names_has(&f->p->seen, name, strlen(name)))
			(void)remove_all(f, fd, de->d_name, name);
		free(name);
	}
	closedir(dir);
}

static void set_dir_attrs(struct final *f, size_t i)
{
	const struct iw_xfer_meta meta = iw_dirs_meta(&f->p->dirs, i);
	const char *name = iw_dirs_name(&f->p->dirs, i);
	int fd = iw_beneath_dir(f->p->base, name);
	struct iw_file_fault why;

	if (fd < 0) {
		final_errno(f, name, errno, "open it to set its attributes");
		return;
	}
	if (iw_place_set_attrs(f->p, fd, &meta, &why) != 0)
		final_failed(f, name, &why);
	(void)fsync(fd); /* the names in it were flushed with their files */
	close(fd);
}

void iw_place_final(struct iw_place *p, iw_place_report *report, void *ctx, uint64_t *gone,
		    uint64_t *failed)
{
	struct final f = { .p = p, .report = report, .ctx = ctx, .gone = gone, .failed = failed };

	*gone = *failed = 0;
	/* Before the times of directories are set, because this changes one. */
	if (p->complete && p->renamed)
		(void)unlinkat(p->base, p->mark, 0);
	if (p->opts & IW_XFER_OPT_DELETE && !p->unsure)
		for (size_t i = 0; i < p->dirs.n; i++)
			remove_unannounced(&f, iw_dirs_name(&p->dirs, i));
	/*
	 * Nested directories follow their parents in the list, so the time of a parent is set after
	 * its children's.
	 */
	if (!(p->opts & IW_XFER_OPT_DRY_RUN))
		for (size_t i = p->dirs.n; i > 0; i--)
			set_dir_attrs(&f, i - 1);
}
