// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The target directory: which names are accepted, and the directories and links that are created.
 */
#include "transfer/files/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "cli/text.h"
#include "transfer/files/asked.h"
#include "transfer/files/attr.h"
#include "transfer/files/beneath.h"
#include "transfer/files/temp.h"
#include "util/num.h"

#define SWEEPS    64            /* in the list of a place */
#define MARK_SEED 0x6e616d6564u /* differs from the seed for temporaries of files */

void iw_place_reset(struct iw_place *p)
{
	*p = (struct iw_place){ .base = -1, .parent = -1 };
	iw_list_init(&p->parts);
	iw_list_init(&p->drops);
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
	iw_dirs_fini(&p->dirs);
	while (p->sweeps) {
		struct iw_place_sweep *next = p->sweeps->next;

		close(p->sweeps->fd);
		free(p->sweeps);
		p->sweeps = next;
	}
	iw_names_fini(&p->swept);
	iw_names_fini(&p->seen);
	iw_account_fini(&p->account);
	iw_place_reset(p);
}

size_t iw_place_bytes(const struct iw_place *p)
{
	return p->dirs.bytes + p->seen.cap * sizeof(*p->seen.rows);
}

void iw_place_stdout(struct iw_place *p, bool listens)
{
	iw_place_reset(p);
	p->to_stdout = true;
	p->listens = listens;
}

/* --- which directory --- */

static bool ends_in_slash(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] == '/';
}

static char *without_slashes(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return strndup(path, len);
}

static int not_there(struct iw_file_fault *why, const char *what, const char *path)
{
	char name[100];

	iw_printable(name, sizeof(name), path, strlen(path), true);
	why->code = IW_XFER_CODE_NOENT;
	snprintf(why->text, sizeof(why->text), "%s \"%s\" does not exist; create it first", what,
		 name);
	return -1;
}

/*
 * Names the component of path that is a file where a directory is needed. root: AT_FDCWD if the
 * local user gave path.
 */
static void name_obstacle(struct iw_file_fault *why, int root, const char *path)
{
	const char *end = path;

	do {
		struct stat st = { .st_mode = S_IFDIR };
		char *dir, name[100];
		int fd = -1;

		end += strcspn(end + 1, "/") + 1;
		dir = strndup(path, (size_t)(end - path));
		if (dir && root == AT_FDCWD)
			fd = open(dir, O_PATH | O_CLOEXEC);
		else if (dir)
			fd = iw_beneath_open(root, dir, O_PATH, 0);
		if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode)) {
			iw_printable(name, sizeof(name), dir, strlen(dir), true);
			snprintf(why->text, sizeof(why->text),
				 "\"%s\" is %s, not a directory; name another target", name,
				 iw_file_kind(st.st_mode));
		}
		if (fd >= 0)
			close(fd);
		free(dir);
		if (fd < 0 || !S_ISDIR(st.st_mode))
			return;
	} while (*end);
}

/* Sets *why: the parent directory of the target path cannot be opened. root: see name_obstacle. */
static int no_parent(struct iw_file_fault *why, int errnum, int root, const char *path)
{
	if (errnum == ENOENT)
		not_there(why, "the directory of the target", path);
	else
		iw_file_errno(why, errnum, "open the target's directory");
	if (errnum == ENOTDIR)
		name_obstacle(why, root, path);
	return -1;
}

int iw_place_no_temp(const struct iw_place *p, int errnum, const char *sub, size_t len,
		     struct iw_file_fault *why)
{
	char name[100] = "the target directory", step[160];
	const char *dir = p->typed ? p->typed : "";
	size_t typed = strlen(dir), at;

	/* typed names one file: the directory is its parent. */
	while (p->typed && p->as && typed > 0 && dir[typed - 1] != '/')
		typed--;
	while (typed > 1 && dir[typed - 1] == '/')
		typed--;
	if (p->typed && typed == 0) {
		dir = ".";
		typed = 1;
	}
	at = typed > 0 ? iw_printable(name, sizeof(name), dir, typed, true) : 0;
	if (len > 0 && at + 1 < sizeof(name)) {
		if (at > 0)
			name[at++] = '/';
		iw_printable(name + at, sizeof(name) - at, sub, len, true);
	}
	snprintf(step, sizeof(step), "create a temporary file in %s", name);
	iw_file_errno(why, errnum, step);
	at = strlen(why->text);
	if (errnum == EACCES || errnum == EPERM)
		snprintf(why->text + at, sizeof(why->text) - at,
			 "; user %u needs write permission there", (unsigned)geteuid());
	else if (errnum == EROFS)
		snprintf(why->text + at, sizeof(why->text) - at, "; name another target");
	return -1;
}

/*
 * A file system that is mounted below, such as /dev/shm, does not match. If one of the three is not
 * a mount point, only the directory itself matches.
 */
const char *iw_place_of_kernel(const struct stat *st)
{
	static const char *const dirs[] = { "/dev", "/proc", "/sys" };
	struct stat root, own;

	if (stat("/", &root) < 0)
		return NULL;
	for (size_t i = 0; i < IW_ARRAY_LEN(dirs); i++)
		if (stat(dirs[i], &own) == 0 && st->st_dev == own.st_dev &&
		    (own.st_dev != root.st_dev || st->st_ino == own.st_ino))
			return dirs[i];
	return NULL;
}

static int refuse_kernel_dir(const struct stat *st, bool local, struct iw_file_fault *why)
{
	const char *dir = iw_place_of_kernel(st);

	if (!dir)
		return 0;
	why->code = IW_XFER_CODE_TARGET;
	snprintf(why->text, sizeof(why->text),
		 "no files are stored in %s, which the kernel provides; name another target%s", dir,
		 local ? ", or - for standard output" : "");
	return -1;
}

/* Checks the open base. -1: *why, and p is closed. */
static int check_base(struct iw_place *p, uint32_t opts, bool local, struct iw_file_fault *why)
{
	struct stat st;

	if (fstat(p->base, &st) < 0)
		iw_file_errno(why, errno, "get the attributes of the target directory");
	else if (st.st_nlink == 0)
		iw_file_fail(why, IW_XFER_CODE_NOENT,
			     "the target directory has been removed; name one that exists");
	else if (refuse_kernel_dir(&st, local, why) != 0)
		; /* *why is set */
	else if (!(opts & IW_XFER_OPT_DRY_RUN) && faccessat(p->base, ".", W_OK, AT_EACCESS) != 0 &&
		 errno == EROFS)
		iw_file_fail(
			why, IW_XFER_CODE_TARGET,
			"the target directory is on a read-only file system; name another target");
	else
		return 0;
	iw_place_close(p);
	return -1;
}

/* path is not a directory: it can be the name of one file, or of a new directory. */
static int name_of_one(struct iw_place *p, int root, const char *path, uint32_t opts, int errnum,
		       struct iw_file_fault *why)
{
	bool dir = opts & (IW_XFER_OPT_MANY | IW_XFER_OPT_CONTENTS) || ends_in_slash(path);

	if (errnum == ENOENT && dir && !(opts & IW_XFER_OPT_CONTENTS))
		return not_there(why, "the target directory", path);
	if (errnum == ENOTDIR && dir) {
		(void)iw_file_fail(why, IW_XFER_CODE_TARGET,
				   "the target is not a directory; name another one");
		name_obstacle(why, root, path);
		return -1;
	}
	if (errnum != ENOENT && errnum != ENOTDIR)
		return iw_file_errno(why, errnum, "open the target directory");
	p->as = without_slashes(path);
	if (!p->as)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory");
	return 0;
}

int iw_place_beneath(struct iw_place *p, int root, const char *path, uint32_t opts,
		     struct iw_file_fault *why)
{
	const char *leaf;
	int parent;

	iw_place_reset(p);
	p->base = iw_beneath_open(root, path, O_RDONLY | O_DIRECTORY, 0);
	if (p->base >= 0)
		return check_base(p, opts, false, why);
	if (name_of_one(p, root, path, opts, errno, why) != 0)
		return -1;
	/*
	 * The parent directory must exist below root. Checked here, so that the whole transfer
	 * fails and not each file.
	 */
	parent = iw_beneath_parent(root, p->as, &leaf);
	if (parent < 0) {
		(void)no_parent(why, errno, root, p->as);
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

int iw_place_local(struct iw_place *p, const char *path, uint32_t opts, struct iw_file_fault *why)
{
	char *dir, *slash, *leaf;

	iw_place_reset(p);
	p->base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->base >= 0)
		return check_base(p, opts, true, why);
	if (name_of_one(p, AT_FDCWD, path, opts, errno, why) != 0)
		return -1;
	dir = p->as;
	slash = strrchr(dir, '/');
	leaf = strdup(slash ? slash + 1 : dir);
	if (slash)
		slash[1] = '\0';
	p->base = leaf ? open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(dir);
	p->as = leaf;
	if (p->base < 0) {
		(void)no_parent(why, errno, AT_FDCWD, path);
		iw_place_close(p);
		return -1;
	}
	return check_base(p, opts, true, why);
}

/* --- which names are accepted --- */

static int make_base(struct iw_place *p, struct iw_file_fault *why);

static int above_limit(struct iw_file_fault *why, uint64_t n, const char *what, const char *option,
		       uint64_t limit)
{
	char text[IW_XFER_TEXT_MAX];

	snprintf(text, sizeof(text), "%llu %s: above the receiver's %s %llu", (unsigned long long)n,
		 what, option, (unsigned long long)limit);
	return iw_file_fail(why, IW_XFER_CODE_LIMIT, text);
}

/*
 * The text does not have the number of components. So all names below a directory have the same
 * text, which is logged once.
 */
static int too_deep(struct iw_file_fault *why, uint64_t limit)
{
	char text[IW_XFER_TEXT_MAX];

	snprintf(text, sizeof(text), "more components than the receiver's --max-depth %llu",
		 (unsigned long long)limit);
	return iw_file_fail(why, IW_XFER_CODE_LIMIT, text);
}

int iw_place_size(const struct iw_place *p, uint64_t size, struct iw_file_fault *why)
{
	if (p->limits && p->limits->size && size > p->limits->size)
		return above_limit(why, size, "octets", "--max-size", p->limits->size);
	return 0;
}

uint64_t iw_place_cost(const struct iw_place *p, const struct iw_xfer_meta *m)
{
	uint64_t octets = m->kind == IW_XFER_FILE      ? m->size
			  : m->kind == IW_XFER_SYMLINK ? m->target_len
						       : 0;

	/* No overflow: sizes are below 2^63. */
	return octets + (p->opts & IW_XFER_OPT_XATTR ? m->xattr_len : 0);
}

int iw_place_charge(struct iw_place *p, const struct iw_xfer_meta *m, struct iw_file_fault *why)
{
	return iw_account_take(&p->account, iw_place_cost(p, m), 1, why);
}

void iw_place_would(struct iw_place *p, const struct iw_xfer_meta *m, struct iw_file_fault *why)
{
	if (why->code == IW_XFER_CODE_WOULD && iw_place_charge(p, m, why) == 0) {
		iw_account_would(&p->account, iw_place_cost(p, m), 1);
		(void)iw_file_fail(why, IW_XFER_CODE_WOULD, "");
	}
}

void iw_place_uncharge(struct iw_place *p, const struct iw_xfer_meta *m, uint32_t code)
{
	if (code == IW_XFER_CODE_WOULD)
		iw_account_would(&p->account, iw_place_cost(p, m), 1);
	else
		iw_account_return(&p->account, iw_place_cost(p, m), 1);
}

static int check_limits(struct iw_place *p, const struct iw_xfer_meta *m, const char *name,
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
		return above_limit(why, longest, "octets in a component of the name", "--max-name",
				   l->name);
	if (l->depth && depth > l->depth)
		return too_deep(why, l->depth);
	return iw_place_size(p, size, why);
}

int iw_place_accept(const struct iw_place *p, const struct iw_xfer_meta *m,
		    struct iw_file_fault *why)
{
	const char *fault = p->asked ? iw_asked_fault(p->asked, m) : NULL;

	return fault ? iw_file_fail(why, IW_XFER_CODE_NAME, fault) : 0;
}

const char *iw_place_name(const struct iw_place *p, const struct iw_xfer_meta *m, size_t *len)
{
	*len = m->name_len;
	return iw_place_own_name(p, m->name, len, m->kind == IW_XFER_DIR);
}

static void note_seen(struct iw_place *p, const char *name, size_t len)
{
	if (p->opts & IW_XFER_OPT_DELETE && len > 0 && !iw_names_add(&p->seen, name, len))
		p->unsure = true;
}

void iw_place_seen(struct iw_place *p, const struct iw_xfer_meta *m)
{
	size_t len;
	const char *name = iw_place_name(p, m, &len);

	note_seen(p, name, len);
}

/* Call it before anything is created, because a directory gets its attributes only at the end. */
static int check_attrs(const struct iw_place *p, const struct iw_xfer_meta *m,
		       struct iw_file_fault *why)
{
	/*
	 * For chown(2) this number means no change: the file would keep the owner of this process.
	 */
	if (iw_place_gets_owner(p, m) && (m->uid == UINT32_MAX || m->gid == UINT32_MAX))
		return iw_file_fail(why, IW_XFER_CODE_PROTOCOL,
				    "4294967295 is not the number of an owner or group");
	if (m->xattr && p->opts & IW_XFER_OPT_XATTR)
		return iw_attr_check(p->opts & IW_XFER_OPT_OWNER, m->xattr, m->xattr_len, why);
	return 0;
}

/*
 * A directory that is stored under another name contains a mark until it is complete. Without it,
 * the same command, run again after an interruption, would find a directory and store a second copy
 * below it.
 */
static void name_mark(struct iw_place *p, const struct iw_xfer_meta *m)
{
	const char *slash = memchr(m->name, '/', m->name_len);
	size_t len = slash ? (size_t)(slash - m->name) : m->name_len;

	snprintf(p->mark, sizeof(p->mark), ".iw-%016llx.part",
		 (unsigned long long)XXH3_64bits_withSeed(m->name, len, MARK_SEED));
}

static bool has_mark(const struct iw_place *p)
{
	struct stat st;

	return fstatat(p->base, p->mark, &st, AT_SYMLINK_NOFOLLOW) == 0 && iw_temp_is_own(&st);
}

/* A failure is ignored: the mark matters only after an interruption. */
static void set_mark(const struct iw_place *p)
{
	int fd = iw_temp_open(p->base, p->mark);

	if (fd >= 0)
		close(fd);
}

/*
 * The first name shows what the target is. A path that does not exist becomes the directory for
 * contents, or replaces the name of the one directory that is sent.
 */
static int settle(struct iw_place *p, const struct iw_xfer_meta *m, struct iw_file_fault *why)
{
	bool contents = p->opts & IW_XFER_OPT_CONTENTS;

	if (p->as && m->top && m->kind != IW_XFER_DIR && !contents)
		return 0; /* a single file */
	if (p->as && p->opts & IW_XFER_OPT_DRY_RUN)
		return iw_file_fail(why, IW_XFER_CODE_WOULD, "");
	if (!p->as && p->settled)
		return 0;
	p->settled = true;
	name_mark(p, m);
	if (!p->as) {
		p->renamed = !(p->opts & (IW_XFER_OPT_MANY | IW_XFER_OPT_CONTENTS)) && has_mark(p);
		return 0;
	}
	if (make_base(p, why) != 0)
		return -1;
	p->renamed = !contents;
	if (p->renamed)
		set_mark(p);
	return 0;
}

/* Copies the name that m has below the base. -1: it is too long. */
static int find_name(const struct iw_place *p, const struct iw_xfer_meta *m, char *name, size_t cap,
		     struct iw_file_fault *why)
{
	size_t len;
	const char *from = iw_place_name(p, m, &len);

	if (p->as && m->top) {
		from = p->as;
		len = strlen(p->as);
	}
	if (len >= cap)
		return iw_file_fail(why, IW_XFER_CODE_NAME, "the name is too long");
	memcpy(name, from, len);
	name[len] = '\0';
	return 0;
}

static bool is_excluded(const struct iw_place *p, const struct iw_xfer_meta *m)
{
	char name[PATH_MAX];

	if (!p->filter || m->top || m->name_len == 0 || m->name_len >= sizeof(name))
		return false;
	memcpy(name, m->name, m->name_len);
	name[m->name_len] = '\0';
	return iw_filter_excludes_deep(p->filter, name, m->kind == IW_XFER_DIR,
				       p->opts & IW_XFER_OPT_CONTENTS);
}

int iw_place_admit(struct iw_place *p, const struct iw_xfer_meta *m, char *name, size_t cap,
		   struct iw_file_fault *why)
{
	bool excluded = is_excluded(p, m);

	if (!excluded && settle(p, m, why) != 0)
		return -1;
	if (find_name(p, m, name, cap, why) != 0)
		return -1;
	/* Otherwise a peer could make another transfer resume from its file. */
	if (iw_temp_in_path(name))
		return iw_file_fail(why, IW_XFER_CODE_NAME,
				    "names of this form are reserved for temporary files");
	note_seen(p, name, strlen(name));
	if (excluded)
		return iw_file_fail(why, IW_XFER_CODE_EXCLUDED, "");
	if ((p->limits && check_limits(p, m, name, why) != 0) || check_attrs(p, m, why) != 0)
		return -1;
	if (p->as && p->used_up)
		return iw_file_fail(why, IW_XFER_CODE_TARGET, "the target accepts only one file");
	if (p->as)
		p->used_up = m->share == 0;
	return 0;
}

void iw_place_return(struct iw_place *p, const struct iw_xfer_meta *m)
{
	if (p->as && m->top)
		p->used_up = false;
}

/* --- directories --- */

/* Adds a directory once, even if several paths lead to it. */
static void note_sweep(struct iw_place *p, int dirfd)
{
	struct iw_place_sweep *one;
	struct stat st;
	uint64_t key[2];

	if (p->nsweeps >= SWEEPS || fstat(dirfd, &st) < 0)
		return;
	key[0] = st.st_dev;
	key[1] = st.st_ino;
	if (iw_names_has(&p->swept, (const char *)key, sizeof(key)) ||
	    !iw_names_add(&p->swept, (const char *)key, sizeof(key)))
		return;
	one = malloc(sizeof(*one));
	if (!one)
		return;
	one->fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	one->next = p->sweeps;
	if (one->fd < 0) {
		free(one);
		return;
	}
	p->sweeps = one;
	p->nsweeps++;
}

struct iw_place_sweep *iw_place_sweeps(struct iw_place *p)
{
	struct iw_place_sweep *list = p->sweeps;

	p->sweeps = NULL;
	p->nsweeps = 0;
	return list;
}

/* A directory that is not announced, or not yet, is charged like an announced one. */
static int make_unannounced(struct iw_place *p, int parent, const char *leaf,
			    struct iw_file_fault *why)
{
	int err;

	if (iw_account_take(&p->account, 0, 1, why) != 0)
		return -1;
	if (mkdirat(parent, leaf, 0777) == 0)
		return 0;
	err = errno;
	iw_account_return(&p->account, 0, 1);
	return err == EEXIST ? 0 : iw_file_errno(why, err, "create its directory");
}

/* Creates the missing directories of path, which is terminated. */
static int make_parents(struct iw_place *p, char *path, struct iw_file_fault *why)
{
	for (char *c = strchr(path, '/');; c = strchr(c + 1, '/')) {
		const char *leaf;
		int parent, err;

		if (c)
			*c = '\0';
		parent = iw_beneath_dir_of(p->base, path, &leaf);
		if (parent < 0)
			return iw_file_errno(why, errno, "open its directory");
		err = make_unannounced(p, parent, leaf, why);
		close(parent);
		if (err)
			return -1;
		if (!c)
			return 0;
		*c = '/';
	}
}

static int not_a_directory_text(const char *name, size_t len, mode_t mode,
				struct iw_file_fault *why)
{
	char text[100];

	iw_printable(text, sizeof(text), name, len, true);
	why->code = IW_XFER_CODE_TARGET;
	snprintf(why->text, sizeof(why->text),
		 "at the target, \"%s\" is %s, not a directory; remove it, or name another target",
		 text, iw_file_kind(mode));
	return -1;
}

/* Names the first component of path that is not a directory: it affects all names below it. */
static int not_a_directory(const struct iw_place *p, const char *path, struct iw_file_fault *why)
{
	size_t all = strlen(path);
	char own[PATH_MAX];
	struct stat st;

	for (size_t len = 1; len <= all && len < sizeof(own); len++) {
		const char *leaf;
		int fd;

		if (len < all && path[len] != '/')
			continue;
		memcpy(own, path, len);
		own[len] = '\0';
		fd = iw_beneath_dir_of(p->base, own, &leaf);
		if (fd < 0)
			break;
		if (fstatat(fd, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode)) {
			close(fd);
			return not_a_directory_text(own, len, st.st_mode, why);
		}
		close(fd);
	}
	return iw_file_errno(why, ENOTDIR, "open its directory");
}

int iw_place_parent(struct iw_place *p, const char *name, const char **leaf,
		    struct iw_file_fault *why)
{
	const char *slash = strrchr(name, '/');
	size_t len = slash ? (size_t)(slash - name) : 0;
	struct stat st;
	char *path;
	int fd;

	*leaf = slash ? slash + 1 : name;
	if (p->parent >= 0 && strlen(p->parent_name) == len &&
	    memcmp(p->parent_name, name, len) == 0)
		return p->parent;
	forget_parent(p);
	path = strndup(name, len);
	if (!path)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory");
	/* The user gave the name of a single file: links in it are followed as usual. */
	fd = p->as ? iw_beneath_open(p->base, path, O_RDONLY | O_DIRECTORY, 0)
		   : iw_beneath_dir(p->base, path);
	if (fd < 0 && errno == ENOENT && !p->as) {
		/* The directory is announced on another connection, or was omitted. */
		if (p->opts & IW_XFER_OPT_DRY_RUN) {
			free(path);
			return iw_file_fail(why, IW_XFER_CODE_WOULD, "");
		}
		if (make_parents(p, path, why) != 0) {
			free(path);
			return -1;
		}
		fd = iw_beneath_dir(p->base, path);
	}
	if (fd < 0) {
		if (errno == ENOTDIR && !p->as)
			not_a_directory(p, path, why);
		else
			iw_file_errno(why, errno, "open its directory");
		free(path);
		return -1;
	}
	if (fstat(fd, &st) == 0 && refuse_kernel_dir(&st, false, why) != 0) {
		close(fd);
		free(path);
		return -1;
	}
	if (p->limits && p->limits->max_age_ns && !(p->opts & IW_XFER_OPT_DRY_RUN))
		note_sweep(p, fd);
	p->parent = fd;
	p->parent_is_new = iw_dirs_is_new(&p->dirs, path, len);
	p->parent_name = path;
	return fd;
}

/* Creates the target directory, which becomes the base. */
static int make_base(struct iw_place *p, struct iw_file_fault *why)
{
	const char *leaf, *name;
	int parent = iw_beneath_parent(p->base, p->as, &leaf), base;
	struct stat st;

	if (parent < 0)
		return no_parent(why, errno, p->base, p->as);
	if (make_unannounced(p, parent, leaf, why) != 0) {
		close(parent);
		return -1;
	}
	p->made++;
	base = iw_beneath_dir(parent, leaf);
	name = p->typed ? p->typed : p->as;
	if (base < 0 && errno == ENOTDIR && fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0)
		not_a_directory_text(name, strlen(name), st.st_mode, why);
	else if (base < 0)
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

/*
 * Records the attributes, which are set when everything in the directory is stored. Attributes that
 * this transfer does not set are not recorded.
 */
static int keep_dir(struct iw_place *p, const char *name, const struct iw_xfer_meta *m,
		    struct iw_file_fault *why)
{
	struct iw_xfer_meta kept = *m;

	if (!(p->opts & IW_XFER_OPT_XATTR))
		kept.xattr = NULL;
	if (!iw_dirs_keep(&p->dirs, name, &kept))
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for a directory");
	return 0;
}

static int make_dir(struct iw_place *p, const char *name, const struct iw_xfer_meta *m,
		    struct iw_file_fault *why)
{
	bool dry = p->opts & IW_XFER_OPT_DRY_RUN;
	const char *leaf;
	struct stat st;
	int parent;

	if (name[0] == '\0')
		return keep_dir(p, name, m, why); /* the target itself, which exists */
	parent = iw_place_parent(p, name, &leaf, why);
	if (parent < 0)
		return -1;
	if (dry) {
		if (fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return iw_file_fail(why, IW_XFER_CODE_WOULD, "");
	} else if (mkdirat(parent, leaf, (m->mode & 0777) | 0700) == 0) {
		p->made++;
		if (keep_dir(p, name, m, why) != 0)
			return -1;
		iw_dirs_set_new(&p->dirs, name);
		return 0;
	} else if (errno != EEXIST) {
		return iw_file_errno(why, errno, "create the directory");
	} else if (fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		return iw_file_errno(why, errno, "get the attributes of the directory");
	}
	/* A link to a directory may lead anywhere, so it is not accepted. */
	if (!S_ISDIR(st.st_mode))
		return not_a_directory(p, name, why);
	if (refuse_kernel_dir(&st, false, why) != 0)
		return -1;
	return keep_dir(p, name, m, why);
}

bool iw_place_has(const struct iw_place *p, const struct iw_xfer_meta *m)
{
	struct iw_file_fault why;
	char name[PATH_MAX];
	const char *leaf;
	struct stat st;
	bool is;
	int dir;

	if (p->to_stdout || p->base < 0 || find_name(p, m, name, sizeof(name), &why) != 0)
		return false;
	if (name[0] == '\0')
		return true;
	dir = iw_beneath_dir_of(p->base, name, &leaf);
	if (dir < 0)
		return false;
	is = fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0;
	close(dir);
	if (!is || m->kind == IW_XFER_HARDLINK)
		return is;
	if (m->kind == IW_XFER_DIR)
		return S_ISDIR(st.st_mode);
	if (m->kind == IW_XFER_SYMLINK)
		return S_ISLNK(st.st_mode);
	return m->kind == IW_XFER_FILE && S_ISREG(st.st_mode) && (uint64_t)st.st_size == m->size &&
	       iw_place_same_time(m, &st);
}

int iw_place_make(struct iw_place *p, const char *name, const struct iw_xfer_meta *m,
		  struct iw_file_fault *why)
{
	struct iw_xfer_meta any = *m;
	const char *leaf;
	int parent;
	bool there;

	if (m->kind == IW_XFER_DIR)
		return make_dir(p, name, m, why);
	parent = iw_place_parent(p, name, &leaf, why);
	if (parent < 0)
		return -1;
	if (iw_place_check_old(p, parent, leaf, &any, &there, why) != 0 &&
	    why->code != IW_XFER_CODE_WOULD)
		return -1;
	if (m->kind == IW_XFER_SYMLINK)
		return iw_place_symlink(p, parent, leaf, m, why);
	return iw_place_hardlink(p, parent, leaf, m, why);
}
