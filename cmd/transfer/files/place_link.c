// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Creates symbolic and hard links at the target. */
#include "transfer/files/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"
#include "transfer/files/beneath.h"
#include "transfer/protocol/name.h"

static int temp_name(char name[static IW_TEMP_NAME], struct iw_file_fault *why)
{
	uint64_t number;

	if (iw_os_random(&number, sizeof(number)) != 0)
		return iw_file_fail(why, IW_XFER_CODE_IO, "no random number for a temporary name");
	snprintf(name, IW_TEMP_NAME, ".iw-%016llx.part", (unsigned long long)number);
	return 0;
}

/* Renames temp to leaf, which it replaces. */
static int take_name(int parent, const char *temp, const char *leaf, struct iw_file_fault *why)
{
	if (renameat(parent, temp, parent, leaf) == 0)
		return 0;
	iw_file_errno(why, errno, "give it its name");
	(void)unlinkat(parent, temp, 0);
	return -1;
}

int iw_place_symlink(struct iw_place *p, int parent, const char *leaf, const struct iw_xfer_meta *m,
		     struct iw_file_fault *why)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = (time_t)m->mtime_s,
					     .tv_nsec = (long)m->mtime_ns } };
	char temp[IW_TEMP_NAME], to[PATH_MAX], old[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (m->target_len == 0 || m->target_len >= sizeof(to) ||
	    memchr(m->target, '\0', m->target_len))
		return iw_file_fail(why, IW_XFER_CODE_NAME,
				    "the target of the link is empty, too long or contains NUL");
	if (p->safe_links && iw_xfer_link_leaves(m->name, m->name_len, m->target, m->target_len,
						 p->opts & IW_XFER_OPT_CONTENTS ? 0 : 1))
		return iw_file_fail(why, IW_XFER_CODE_EXCLUDED,
				    "the link points outside the transferred directory");
	memcpy(to, m->target, m->target_len);
	to[m->target_len] = '\0';
	n = readlinkat(parent, leaf, old, sizeof(old));
	if (n >= 0 && (size_t)n == m->target_len && memcmp(old, to, (size_t)n) == 0 &&
	    !(p->opts & IW_XFER_OPT_FORCE)) {
		/*
		 * A different time is ignored if the link has other names, which would get the time
		 * too.
		 */
		if (!(p->opts & IW_XFER_OPT_DRY_RUN) &&
		    fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 1)
			(void)utimensat(parent, leaf, times, AT_SYMLINK_NOFOLLOW);
		return iw_file_fail(why, IW_XFER_CODE_SAME, "");
	}
	if (p->opts & IW_XFER_OPT_DRY_RUN)
		return iw_file_fail(why, IW_XFER_CODE_WOULD, "");
	if (temp_name(temp, why) != 0)
		return -1;
	if (symlinkat(to, parent, temp) < 0)
		return iw_file_errno(why, errno, "create the link");
	if ((m->owned && p->opts & IW_XFER_OPT_OWNER &&
	     fchownat(parent, temp, m->uid, m->gid, AT_SYMLINK_NOFOLLOW) < 0) ||
	    utimensat(parent, temp, times, AT_SYMLINK_NOFOLLOW) < 0) {
		iw_file_errno(why, errno, "set the link's owner and time");
		(void)unlinkat(parent, temp, 0);
		return -1;
	}
	return take_name(parent, temp, leaf, why);
}

/* A dry run does not create the file that is linked to, so its absence is no error there. */
static int no_first(const struct iw_place *p, int err, const char *doing, struct iw_file_fault *why)
{
	if (err == ENOENT && p->opts & IW_XFER_OPT_DRY_RUN)
		return iw_file_fail(why, IW_XFER_CODE_WOULD, "");
	return iw_file_errno(why, err, doing);
}

int iw_place_hardlink(struct iw_place *p, int parent, const char *leaf,
		      const struct iw_xfer_meta *m, struct iw_file_fault *why)
{
	char temp[IW_TEMP_NAME], to[PATH_MAX];
	size_t len = m->target_len;
	const char *target = iw_place_own_name(p, m->target, &len, false), *first_leaf;
	struct stat st, old;
	int first, err;

	if (len >= sizeof(to))
		return iw_file_fail(why, IW_XFER_CODE_NAME,
				    "the name of the file that it is hard-linked to is too long");
	memcpy(to, target, len);
	to[len] = '\0';
	/* A link to a temporary would expose an unfinished file of another transfer. */
	if (iw_temp_in_path(to))
		return iw_file_fail(why, IW_XFER_CODE_NAME,
				    "names of this form are reserved for temporary files");
	first = iw_beneath_dir_of(p->base, to, &first_leaf);
	if (first < 0)
		return no_first(p, errno,
				"open the directory of the file that it is hard-linked to", why);
	err = fstatat(first, first_leaf, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
	if (!err && !S_ISREG(st.st_mode))
		err = EINVAL;
	if (err) {
		close(first);
		return no_first(p, err, "get the attributes of the file that it is hard-linked to",
				why);
	}
	/* The announcement has the time of the file, which its first name has got if it was stored. */
	if (p->opts & (IW_XFER_OPT_NO_CLOBBER | IW_XFER_OPT_UPDATE) &&
	    !iw_place_same_time(m, &st)) {
		close(first);
		return iw_file_fail(why, IW_XFER_CODE_NOENT,
				    "it is a hard link to a name that the target keeps for "
				    "another file");
	}
	if (fstatat(parent, leaf, &old, AT_SYMLINK_NOFOLLOW) == 0 && old.st_dev == st.st_dev &&
	    old.st_ino == st.st_ino) {
		close(first);
		return iw_file_fail(why, IW_XFER_CODE_SAME, "");
	}
	if (p->opts & IW_XFER_OPT_DRY_RUN) {
		close(first);
		return iw_file_fail(why, IW_XFER_CODE_WOULD, "");
	}
	if (temp_name(temp, why) != 0) {
		close(first);
		return -1;
	}
	err = linkat(first, first_leaf, parent, temp, 0) < 0 ? errno : 0;
	close(first);
	if (err)
		return iw_file_errno(why, err, "create the link");
	return take_name(parent, temp, leaf, why);
}
