// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Removes temporaries that no transfer has resumed for a long time. */
#include "transfer/files/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "transfer/files/temp.h"
#include "util/num.h"

/* Removes the temporary if it is old, and no transfer has it locked. */
static void sweep_one(int dirfd, const char *name, uint64_t age_ns, time_t now,
		      struct iw_account *account)
{
	struct stat st;
	int part;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !iw_temp_is_own(&st) ||
	    now - st.st_mtim.tv_sec < (time_t)(age_ns / IW_SEC(1)))
		return;
	part = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (part >= 0 && fstat(part, &st) == 0 && iw_temp_is_own(&st) &&
	    flock(part, LOCK_EX | LOCK_NB) == 0 && iw_temp_is_named(part, dirfd, name) &&
	    unlinkat(dirfd, name, 0) == 0)
		iw_account_resume(account, &st); /* on failure the next transfer tries again */
	if (part >= 0)
		close(part);
}

void iw_place_sweep(int fd, struct iw_account *account, uint64_t age_ns, uint64_t limit_ns,
		    bool (*stop)(void *ctx), void *ctx)
{
	uint64_t until = iw_time_add(iw_os_now(), limit_ns);
	DIR *dir = fdopendir(fd);
	struct timespec now;
	struct dirent *de;

	if (!dir) {
		close(fd);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	for (unsigned i = 1; (de = readdir(dir)) != NULL; i++) {
		if (iw_temp_is_name(de->d_name))
			sweep_one(dirfd(dir), de->d_name, age_ns, now.tv_sec, account);
		if (i % 256 == 0 && (stop(ctx) || iw_os_now() >= until))
			break;
	}
	closedir(dir);
}
