// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where files go. */
#include "file/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "file/attr.h"
#include "file/beneath.h"
#include "os/os.h"
#include "util/num.h"

struct iw_place_dir {
	char *name;
	struct iw_xmeta meta; /* what it points to is owned */
};

void iw_place_reset(struct iw_place *p)
{
	*p = (struct iw_place){ .base = -1, .parent = -1 };
	iw_list_init(&p->parts);
}

static void forget_parent(struct iw_place *p)
{
	if (p->parent >= 0)
		close(p->parent);
	free(p->parent_name);
	p->parent = -1;
	p->parent_name = NULL;
}

void iw_place_close(struct iw_place *p)
{
	if (p->base >= 0)
		close(p->base);
	free(p->as);
	forget_parent(p);
	for (size_t i = 0; i < p->ndirs; i++) {
		free(p->dirs[i].name);
		free((void *)(uintptr_t)p->dirs[i].meta.xattr);
	}
	free(p->dirs);
	iw_names_fini(&p->seen);
	iw_place_reset(p);
}

void iw_place_stdout(struct iw_place *p)
{
	iw_place_reset(p);
	p->to_stdout = true;
}

/* --- which directory --- */

static bool ends_in_slash(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] == '/';
}

/* The path is no directory: it can be the name of one file, if not more than a file is needed. */
static int name_of_one(struct iw_place *p, const char *path, bool many, int errnum,
		       struct iw_file_fault *why)
{
	if (errnum == ENOENT && (many || ends_in_slash(path)))
		return iw_file_fail(why, IW_XC_NOENT, "the target directory does not exist");
	if (errnum == ENOTDIR && (many || ends_in_slash(path)))
		return iw_file_fail(why, IW_XC_TARGET, "the target is no directory");
	if (errnum != ENOENT && errnum != ENOTDIR)
		return iw_file_errno(why, errnum, "open the target directory");
	p->as = strdup(path);
	if (!p->as)
		return iw_file_fail(why, IW_XC_LIMIT, "no memory");
	return 0;
}

int iw_place_beneath(struct iw_place *p, int root, const char *path, bool many,
		     struct iw_file_fault *why)
{
	const char *leaf;
	int parent;

	iw_place_reset(p);
	p->base = iw_beneath_open(root, path, O_RDONLY | O_DIRECTORY, 0);
	if (p->base >= 0)
		return 0;
	if (name_of_one(p, path, many, errno, why) != 0)
		return -1;
	/* Its directory must be there, and inside; better said now than for the file. */
	parent = iw_beneath_parent(root, p->as, &leaf);
	if (parent < 0) {
		iw_file_errno(why, errno, "open the target's directory");
		iw_place_close(p);
		return -1;
	}
	close(parent);
	p->base = fcntl(root, F_DUPFD_CLOEXEC, 3);
	if (p->base < 0) {
		iw_file_errno(why, errno, "open the target directory");
		iw_place_close(p);
		return -1;
	}
	return 0;
}

int iw_place_local(struct iw_place *p, const char *path, bool many, struct iw_file_fault *why)
{
	const char *slash = strrchr(path, '/');
	char *dir;

	iw_place_reset(p);
	p->base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->base >= 0)
		return 0;
	if (name_of_one(p, slash ? slash + 1 : path, many || ends_in_slash(path), errno, why) != 0)
		return -1;
	dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	p->base = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(dir);
	if (p->base < 0) {
		iw_file_errno(why, errno, "open the target's directory");
		iw_place_close(p);
		return -1;
	}
	return 0;
}

/* --- what is taken --- */

static int make_base(struct iw_place *p, struct iw_file_fault *why);

static int check_limits(struct iw_place *p, const struct iw_xmeta *m, const char *name,
			struct iw_file_fault *why)
{
	const struct iw_limits *l = p->limits;
	uint64_t depth = 1, size = m->kind == IW_XFER_FILE ? m->size : 0;
	size_t longest = 0;

	for (const char *c = name;; depth++) {
		size_t n = strcspn(c, "/");

		longest = IW_MAX(longest, n);
		if (c[n] == '\0')
			break;
		c += n + 1;
	}
	if (l->name && longest > l->name)
		return iw_file_fail(why, IW_XC_LIMIT, "longer than a name may be here");
	if (l->depth && depth > l->depth)
		return iw_file_fail(why, IW_XC_LIMIT, "deeper than a tree may be here");
	if (l->size && size > l->size)
		return iw_file_fail(why, IW_XC_LIMIT, "larger than a file may be here");
	if (l->files && p->files >= l->files)
		return iw_file_fail(why, IW_XC_LIMIT, "more files than are taken here");
	if (l->quota && (p->octets > l->quota || size > l->quota - p->octets))
		return iw_file_fail(why, IW_XC_LIMIT, "more octets than are taken here");
	return 0;
}

void iw_place_seen(struct iw_place *p, const char *name, size_t len)
{
	if (p->opts & IW_XOPT_DELETE && !iw_names_add(&p->seen, name, len))
		p->unsure = true;
}

int iw_place_admit(struct iw_place *p, const struct iw_xmeta *m, char *name, size_t cap,
		   struct iw_file_fault *why)
{
	bool renamed = p->as && m->top;
	const char *from = renamed ? p->as : m->name;
	size_t len = renamed ? strlen(p->as) : m->name_len;

	if (len >= cap)
		return iw_file_fail(why, IW_XC_NAME, "the name is too long");
	memcpy(name, from, len);
	name[len] = '\0';
	/* What lies in a directory says that the target is to become one, if that came on another connection. */
	if (p->as && !m->top) {
		if (p->opts & IW_XOPT_DRY_RUN)
			return iw_file_fail(why, IW_XC_WOULD, "");
		if (make_base(p, why) != 0)
			return -1;
	}
	iw_place_seen(p, name, len);
	if (p->filter && iw_filter_excludes_deep(p->filter, name, m->kind == IW_XFER_DIR))
		return iw_file_fail(why, IW_XC_EXCLUDED, "");
	if (p->limits && check_limits(p, m, name, why) != 0)
		return -1;
	if (renamed && m->kind != IW_XFER_DIR) {
		if (p->used_up)
			return iw_file_fail(why, IW_XC_TARGET, "the target takes one file alone");
		p->used_up = m->share == 0;
	}
	p->files++;
	p->octets += m->kind == IW_XFER_FILE ? (m->share ? m->part_len : m->size) : 0;
	return 0;
}

void iw_place_return(struct iw_place *p, const struct iw_xmeta *m)
{
	uint64_t size = m->kind != IW_XFER_FILE ? 0 : m->share ? m->part_len : m->size;

	p->files -= IW_MIN(p->files, (uint64_t)1);
	p->octets -= IW_MIN(p->octets, size);
	if (p->as && m->top)
		p->used_up = false;
}

/* --- directories --- */

bool iw_is_temp(const char *name)
{
	size_t len = strlen(name);

	return strncmp(name, ".iw-", 4) == 0 && ((len == 25 && strcmp(name + 20, ".part") == 0) ||
						 (len == 28 && strcmp(name + 20, ".journal") == 0));
}

/* Temporaries that nobody went on with for long, and nobody works with now. */
static void sweep(const struct iw_place *p, int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct timespec now;
	struct dirent *de;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	while ((de = readdir(dir)) != NULL) {
		struct stat st;
		int part;

		if (!iw_is_temp(de->d_name) ||
		    fstatat(dirfd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode) ||
		    (now.tv_sec - st.st_mtim.tv_sec) < (time_t)(p->limits->max_age_ns / IW_SEC(1)))
			continue;
		part = openat(dirfd, de->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (part >= 0 && flock(part, LOCK_EX | LOCK_NB) == 0)
			(void)unlinkat(dirfd, de->d_name, 0); /* the next transfer tries again */
		if (part >= 0)
			close(part);
	}
	closedir(dir);
}

/* Makes the directories of path, which is terminated, as far as they are missing. */
static int make_parents(struct iw_place *p, char *path)
{
	for (char *c = strchr(path, '/');; c = strchr(c + 1, '/')) {
		const char *leaf;
		int parent, err;

		if (c)
			*c = '\0';
		parent = iw_beneath_parent(p->base, path, &leaf);
		err = parent < 0 || (mkdirat(parent, leaf, 0777) < 0 && errno != EEXIST);
		if (parent >= 0)
			close(parent);
		if (err)
			return -1;
		if (!c)
			return 0;
		*c = '/';
	}
}

int iw_place_parent(struct iw_place *p, const char *name, const char **leaf,
		    struct iw_file_fault *why)
{
	const char *slash = strrchr(name, '/');
	size_t len = slash ? (size_t)(slash - name) : 0;
	char *path;
	int fd;

	*leaf = slash ? slash + 1 : name;
	if (p->parent >= 0 && strlen(p->parent_name) == len &&
	    memcmp(p->parent_name, name, len) == 0)
		return p->parent;
	forget_parent(p);
	path = strndup(name, len);
	if (!path)
		return iw_file_fail(why, IW_XC_LIMIT, "no memory");
	fd = iw_beneath_open(p->base, path, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0 && errno == ENOENT && !p->as) {
		/* Its own announcement travels on another connection, or was left out. */
		if (p->opts & IW_XOPT_DRY_RUN) {
			free(path);
			return iw_file_fail(why, IW_XC_WOULD, "");
		}
		if (make_parents(p, path) == 0)
			fd = iw_beneath_open(p->base, path, O_RDONLY | O_DIRECTORY, 0);
	}
	if (fd < 0) {
		iw_file_errno(why, errno, "open its directory");
		free(path);
		return -1;
	}
	if (p->limits && p->limits->max_age_ns && !(p->opts & IW_XOPT_DRY_RUN))
		sweep(p, fd);
	p->parent = fd;
	p->parent_name = path;
	return fd;
}

/* A directory that did not exist becomes the base: what arrives keeps its names below it. */
static int make_base(struct iw_place *p, struct iw_file_fault *why)
{
	const char *leaf;
	int parent = iw_beneath_parent(p->base, p->as, &leaf), base;

	if (parent < 0)
		return iw_file_errno(why, errno, "open the target's directory");
	if (mkdirat(parent, leaf, 0777) < 0 && errno != EEXIST) {
		iw_file_errno(why, errno, "make the target directory");
		close(parent);
		return -1;
	}
	base = iw_beneath_open(parent, leaf, O_RDONLY | O_DIRECTORY, 0);
	if (base < 0)
		iw_file_errno(why, errno, "open the target directory");
	close(parent);
	if (base < 0)
		return -1;
	close(p->base);
	free(p->as);
	forget_parent(p);
	p->as = NULL;
	p->base = base;
	return 0;
}

/* It gets its attributes when all that goes into it is there. */
static int keep_dir(struct iw_place *p, const char *name, const struct iw_xmeta *m,
		    struct iw_file_fault *why)
{
	struct iw_place_dir d = { .name = strdup(name), .meta = *m };
	uint8_t *xattr = m->xattr ? malloc(m->xattr_len + 1) : NULL;

	if (p->ndirs == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 64;
		struct iw_place_dir *dirs = reallocarray(p->dirs, cap, sizeof(*dirs));

		if (dirs) {
			p->dirs = dirs;
			p->cap = cap;
		}
	}
	if (!d.name || (m->xattr && !xattr) || p->ndirs == p->cap) {
		free(d.name);
		free(xattr);
		return iw_file_fail(why, IW_XC_LIMIT, "no memory for a directory");
	}
	if (xattr)
		memcpy(xattr, m->xattr, m->xattr_len);
	d.meta.xattr = xattr;
	d.meta.name = d.meta.target = NULL;
	p->dirs[p->ndirs++] = d;
	return 0;
}

static int make_dir(struct iw_place *p, const char *name, const struct iw_xmeta *m,
		    struct iw_file_fault *why)
{
	bool dry = p->opts & IW_XOPT_DRY_RUN;
	const char *leaf;
	struct stat st;
	int parent;

	if (p->as && m->top && dry)
		return iw_file_fail(why, IW_XC_WOULD, "");
	if (p->as && m->top) {
		char own[PATH_MAX];

		if (make_base(p, why) != 0)
			return -1;
		if (m->name_len >= sizeof(own))
			return iw_file_fail(why, IW_XC_NAME, "the name is too long");
		memcpy(own, m->name, m->name_len);
		own[m->name_len] = '\0';
		return make_dir(p, own, m, why);
	}
	parent = iw_place_parent(p, name, &leaf, why);
	if (parent < 0)
		return -1;
	if (dry) {
		if (fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return iw_file_fail(why, IW_XC_WOULD, "");
	} else if (mkdirat(parent, leaf, (m->mode & 0777) | 0700) == 0) {
		return keep_dir(p, name, m, why);
	} else if (errno != EEXIST) {
		return iw_file_errno(why, errno, "make the directory");
	} else if (fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		return iw_file_errno(why, errno, "look at the directory");
	}
	/* A link to a directory is no directory here: it may lead anywhere. */
	if (!S_ISDIR(st.st_mode))
		return iw_file_errno(why, EEXIST, "make the directory");
	return keep_dir(p, name, m, why);
}

/* --- what is there already --- */

static uint32_t mode_of(const struct iw_place *p, const struct iw_xmeta *m)
{
	return m->mode & (m->owned && p->opts & IW_XOPT_OWNER ? 07777 : 0777);
}

int iw_place_dress(const struct iw_place *p, int fd, const struct iw_xmeta *m,
		   struct iw_file_fault *why)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = (time_t)m->mtime_s,
					     .tv_nsec = (long)m->mtime_ns } };

	if (m->owned && p->opts & IW_XOPT_OWNER && fchown(fd, m->uid, m->gid) < 0)
		return iw_file_errno(why, errno, "set its owner");
	if (m->xattr && p->opts & IW_XOPT_XATTR &&
	    iw_attr_write(fd, m->xattr, m->xattr_len, why) != 0)
		return -1;
	if (fchmod(fd, mode_of(p, m)) < 0)
		return iw_file_errno(why, errno, "set its mode");
	if (!iw_xfer_is_stream(m->kind) && futimens(fd, times) < 0)
		return iw_file_errno(why, errno, "set its time");
	return 0;
}

/* The same file in another dress. What fails here fails no transfer: the octets are right. */
static void dress_old(struct iw_place *p, int parent, const char *leaf, const struct stat *st,
		      const struct iw_xmeta *m)
{
	struct iw_file_fault why;
	int fd;

	if ((st->st_mode & 07777) == mode_of(p, m) && !(p->opts & (IW_XOPT_OWNER | IW_XOPT_XATTR)))
		return;
	fd = openat(parent, leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (iw_place_dress(p, fd, m, &why) != 0)
		(void)why;
	close(fd);
}

static bool is_older(const struct iw_xmeta *m, const struct stat *st)
{
	return m->mtime_s < st->st_mtim.tv_sec ||
	       (m->mtime_s == st->st_mtim.tv_sec && m->mtime_ns < (uint32_t)st->st_mtim.tv_nsec);
}

int iw_place_look(struct iw_place *p, int parent, const char *leaf, const struct iw_xmeta *m,
		  bool *there, struct iw_file_fault *why)
{
	struct stat st;

	*there = fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*there && errno != ENOENT)
		return iw_file_errno(why, errno, "look at the old file");
	if (*there) {
		if (S_ISDIR(st.st_mode))
			return iw_file_fail(why, IW_XC_TARGET, "the target is a directory");
		if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
			return iw_file_fail(why, IW_XC_TARGET, "the target is no regular file");
		if (p->opts & IW_XOPT_NO_CLOBBER)
			return iw_file_fail(why, IW_XC_EXISTS, "");
		if (p->opts & IW_XOPT_UPDATE && m->kind == IW_XFER_FILE && is_older(m, &st))
			return iw_file_fail(why, IW_XC_NEWER, "");
		if (!(p->opts & IW_XOPT_FORCE) && S_ISREG(st.st_mode) && m->kind == IW_XFER_FILE &&
		    (uint64_t)st.st_size == m->size && st.st_mtim.tv_sec == m->mtime_s &&
		    (uint32_t)st.st_mtim.tv_nsec == m->mtime_ns) {
			if (!(p->opts & IW_XOPT_DRY_RUN))
				dress_old(p, parent, leaf, &st, m);
			return iw_file_fail(why, IW_XC_SAME, "");
		}
	}
	if (p->opts & IW_XOPT_DRY_RUN)
		return iw_file_fail(why, IW_XC_WOULD, "");
	return 0;
}

/* --- links --- */

static int temp_name(char name[static IW_TEMP_NAME], struct iw_file_fault *why)
{
	uint64_t number;

	if (iw_os_random(&number, sizeof(number)) != 0)
		return iw_file_fail(why, IW_XC_IO, "no random number for a temporary name");
	snprintf(name, IW_TEMP_NAME, ".iw-%016llx.part", (unsigned long long)number);
	return 0;
}

/* What is under a temporary name takes the place of leaf. */
static int take_name(int parent, const char *temp, const char *leaf, struct iw_file_fault *why)
{
	if (renameat(parent, temp, parent, leaf) == 0)
		return 0;
	iw_file_errno(why, errno, "give it its name");
	(void)unlinkat(parent, temp, 0);
	return -1;
}

static int make_symlink(struct iw_place *p, int parent, const char *leaf, const struct iw_xmeta *m,
			struct iw_file_fault *why)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = (time_t)m->mtime_s,
					     .tv_nsec = (long)m->mtime_ns } };
	char temp[IW_TEMP_NAME], to[PATH_MAX], old[PATH_MAX];
	ssize_t n;

	if (m->target_len == 0 || m->target_len >= sizeof(to) ||
	    memchr(m->target, '\0', m->target_len))
		return iw_file_fail(why, IW_XC_NAME, "what the link says cannot be said in a link");
	memcpy(to, m->target, m->target_len);
	to[m->target_len] = '\0';
	n = readlinkat(parent, leaf, old, sizeof(old));
	if (n >= 0 && (size_t)n == m->target_len && memcmp(old, to, (size_t)n) == 0 &&
	    !(p->opts & IW_XOPT_FORCE)) {
		if (!(p->opts & IW_XOPT_DRY_RUN))
			(void)utimensat(parent, leaf, times, AT_SYMLINK_NOFOLLOW);
		return iw_file_fail(why, IW_XC_SAME, "");
	}
	if (p->opts & IW_XOPT_DRY_RUN)
		return iw_file_fail(why, IW_XC_WOULD, "");
	if (temp_name(temp, why) != 0)
		return -1;
	if (symlinkat(to, parent, temp) < 0)
		return iw_file_errno(why, errno, "make the link");
	if ((m->owned && p->opts & IW_XOPT_OWNER &&
	     fchownat(parent, temp, m->uid, m->gid, AT_SYMLINK_NOFOLLOW) < 0) ||
	    utimensat(parent, temp, times, AT_SYMLINK_NOFOLLOW) < 0) {
		iw_file_errno(why, errno, "set the link's owner and time");
		(void)unlinkat(parent, temp, 0);
		return -1;
	}
	return take_name(parent, temp, leaf, why);
}

static int make_hardlink(struct iw_place *p, int parent, const char *leaf, const struct iw_xmeta *m,
			 struct iw_file_fault *why)
{
	char temp[IW_TEMP_NAME], to[PATH_MAX];
	const char *first_leaf;
	struct stat st, old;
	int first, err;

	if (m->target_len >= sizeof(to))
		return iw_file_fail(why, IW_XC_NAME, "the name that it is linked to is too long");
	memcpy(to, m->target, m->target_len);
	to[m->target_len] = '\0';
	first = iw_beneath_parent(p->base, to, &first_leaf);
	if (first < 0)
		return iw_file_errno(why, errno, "open the directory of what it is linked to");
	err = fstatat(first, first_leaf, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
	if (!err && !S_ISREG(st.st_mode))
		err = EINVAL;
	if (err) {
		close(first);
		return iw_file_errno(why, err, "look at what it is linked to");
	}
	if (fstatat(parent, leaf, &old, AT_SYMLINK_NOFOLLOW) == 0 && old.st_dev == st.st_dev &&
	    old.st_ino == st.st_ino) {
		close(first);
		return iw_file_fail(why, IW_XC_SAME, "");
	}
	if (p->opts & IW_XOPT_DRY_RUN) {
		close(first);
		return iw_file_fail(why, IW_XC_WOULD, "");
	}
	if (temp_name(temp, why) != 0) {
		close(first);
		return -1;
	}
	err = linkat(first, first_leaf, parent, temp, 0) < 0 ? errno : 0;
	close(first);
	if (err)
		return iw_file_errno(why, err, "make the link");
	return take_name(parent, temp, leaf, why);
}

int iw_place_make(struct iw_place *p, const char *name, const struct iw_xmeta *m,
		  struct iw_file_fault *why)
{
	struct iw_xmeta any = *m;
	const char *leaf;
	int parent;
	bool there;

	if (m->kind == IW_XFER_DIR)
		return make_dir(p, name, m, why);
	parent = iw_place_parent(p, name, &leaf, why);
	if (parent < 0)
		return -1;
	if (iw_place_look(p, parent, leaf, &any, &there, why) != 0 && why->code != IW_XC_WOULD)
		return -1;
	if (m->kind == IW_XFER_SYMLINK)
		return make_symlink(p, parent, leaf, m, why);
	return make_hardlink(p, parent, leaf, m, why);
}

/* --- the end --- */

struct final {
	struct iw_place *p;
	void (*tell)(void *ctx, const char *name);
	void *ctx;
	uint64_t *gone, *failed;
};

/* A file, or a directory with all that is in it. Links are removed, not followed. */
static void remove_all(struct final *f, int dirfd, const char *leaf, const char *name)
{
	bool dry = f->p->opts & IW_XOPT_DRY_RUN;
	int fd = openat(dirfd, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *de;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && (de = readdir(dir)) != NULL) {
		char *below;

		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		if (asprintf(&below, "%s/%s", name, de->d_name) < 0) {
			++*f->failed;
			continue;
		}
		remove_all(f, fd, de->d_name, below);
		free(below);
	}
	if (!dry && unlinkat(dirfd, leaf, dir ? AT_REMOVEDIR : 0) < 0) {
		++*f->failed;
	} else {
		++*f->gone;
		f->tell(f->ctx, name);
	}
	if (dir)
		closedir(dir);
}

static void remove_strangers(struct final *f, const struct iw_place_dir *d)
{
	int fd = iw_beneath_open(f->p->base, d->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *de;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		++*f->failed;
		return;
	}
	while ((de = readdir(dir)) != NULL) {
		char *name;

		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0 ||
		    iw_is_temp(de->d_name))
			continue;
		if (asprintf(&name, "%s/%s", d->name, de->d_name) < 0) {
			++*f->failed;
			continue;
		}
		if (!iw_names_has(&f->p->seen, name, strlen(name)))
			remove_all(f, fd, de->d_name, name);
		free(name);
	}
	closedir(dir);
}

static void dress_dir(struct final *f, const struct iw_place_dir *d)
{
	int fd = iw_beneath_open(f->p->base, d->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	struct iw_file_fault why;

	if (fd < 0 || iw_place_dress(f->p, fd, &d->meta, &why) != 0)
		++*f->failed;
	if (fd >= 0) {
		(void)fsync(fd); /* its names were put on storage with their files */
		close(fd);
	}
}

void iw_place_final(struct iw_place *p, void (*tell)(void *ctx, const char *name), void *ctx,
		    uint64_t *gone, uint64_t *failed)
{
	struct final f = { .p = p, .tell = tell, .ctx = ctx, .gone = gone, .failed = failed };

	*gone = *failed = 0;
	if (p->opts & IW_XOPT_DELETE && !p->unsure)
		for (size_t i = 0; i < p->ndirs; i++)
			remove_strangers(&f, &p->dirs[i]);
	/* What lies deeper comes later in the list: a parent's time is set after its children's. */
	if (!(p->opts & IW_XOPT_DRY_RUN))
		for (size_t i = p->ndirs; i > 0; i--)
			dress_dir(&f, &p->dirs[i - 1]);
}
