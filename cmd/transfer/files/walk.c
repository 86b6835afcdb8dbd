// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Walks operands and the trees below them. */
#include "transfer/files/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/text.h"
#include "transfer/files/beneath.h"
#include "transfer/files/temp.h"
#include "transfer/protocol/name.h"
#include "util/num.h"

/*
 * Operands of a peer that are kept for comparison. The limit bounds the memory that a peer can use.
 */
#define BEGUN_MOST 1024

struct operand {
	struct iw_list link;
	char path[];
};

void iw_walk_init(struct iw_walk *w, int root)
{
	memset(w, 0, sizeof(*w));
	w->root = root;
	w->local = root == AT_FDCWD;
	iw_list_init(&w->operands);
	iw_list_init(&w->begun);
}

static struct operand *take_operand(struct iw_list *from)
{
	struct iw_list *l = iw_list_first(from);

	if (!l)
		return NULL;
	iw_list_del(l);
	return iw_container_of(l, struct operand, link);
}

void iw_walk_fini(struct iw_walk *w)
{
	struct operand *o;

	while ((o = take_operand(&w->operands)) != NULL || (o = take_operand(&w->begun)) != NULL)
		free(o);
	iw_names_fini(&w->names);
	while (w->depth > 0)
		closedir(w->stack[--w->depth].dir);
	iw_dir_put(w->top);
	w->top = NULL;
}

const char *iw_walk_name(const char *path, size_t *len)
{
	size_t end = strlen(path), begin;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && path[begin - 1] != '/'; begin--)
		;
	*len = end - begin;
	return path + begin;
}

static bool is_dots(const char *name, size_t len)
{
	return (len == 1 && name[0] == '.') || (len == 2 && memcmp(name, "..", 2) == 0);
}

static bool ends_in_slash(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] == '/';
}

bool iw_walk_is_contents(const char *path)
{
	size_t len;
	const char *name = iw_walk_name(path, &len);

	return !path[0] || ends_in_slash(path) || is_dots(name, len);
}

/*
 * The name under which an operand is sent: its last component, or "" for the contents of a
 * directory. A peer requests contents with "" or "."; a slash at the end of its path has no
 * meaning.
 */
static const char *operand_name(const struct iw_walk *w, const char *path, size_t *len)
{
	const char *name = iw_walk_name(path, len);
	bool contents = w->local ? iw_walk_is_contents(path) : *len == 0 || is_dots(name, *len);

	*len = contents ? 0 : IW_MIN(*len, (size_t)IW_XFER_NAME_MAX);
	return name;
}

int iw_walk_add(struct iw_walk *w, const char *path, size_t len)
{
	struct operand *o = malloc(sizeof(*o) + len + 1);
	bool first = iw_list_empty(&w->operands) && w->nbegun == 0;
	const char *name;
	size_t n;

	if (!o)
		return IW_E_NOMEM;
	memcpy(o->path, path, len);
	o->path[len] = '\0';
	name = operand_name(w, o->path, &n);
	/* The contents of a directory may have any name. */
	w->contents |= n == 0;
	w->overlaps |= (w->contents && !first) || iw_names_has(&w->names, name, n);
	if ((w->local || w->names.n < BEGUN_MOST) && !iw_names_add(&w->names, name, n)) {
		free(o);
		return IW_E_NOMEM;
	}
	iw_list_add_tail(&w->operands, &o->link);
	return 0;
}

static void failed(struct iw_entry *e, int errnum, const char *step)
{
	e->what = IW_WALKED_FAILED;
	iw_file_errno(&e->why, errnum, step);
}

/*
 * Sets the failure for a file of another kind. operand: of the local user, who can send it as a
 * stream; NULL: not an operand. local: the local user can exclude it.
 */
static void wrong_kind(struct iw_entry *e, const char *operand, bool local)
{
	bool streams = operand && !S_ISSOCK(e->st.st_mode);
	char name[80], how[160] = "";

	if (streams && strlen(operand) < sizeof(name) / 2) {
		iw_printable(name, sizeof(name), operand, strlen(operand), false);
		snprintf(how, sizeof(how), "; to send its data, use: ddp-send - HOST:NAME <%s",
			 name);
	} else if (streams) {
		snprintf(how, sizeof(how),
			 "; to send its data, use ddp-send - HOST:NAME with it as standard input");
	} else if (!operand && local) {
		snprintf(how, sizeof(how), "; --exclude leaves it out");
	}
	e->what = IW_WALKED_FAILED;
	e->why.code = IW_XFER_CODE_KIND;
	snprintf(e->why.text, sizeof(e->why.text), "%s cannot be sent as a file%s",
		 iw_file_kind(e->st.st_mode), how);
}

/* Sets e->what according to e->st. */
static void look(const struct iw_walk *w, struct iw_entry *e, const char *operand)
{
	if (S_ISREG(e->st.st_mode)) {
		e->what = IW_WALKED_FILE;
	} else if (S_ISDIR(e->st.st_mode)) {
		e->what = IW_WALKED_DIR;
	} else if (S_ISLNK(e->st.st_mode)) {
		e->what = IW_WALKED_LINK;
	} else {
		wrong_kind(e, operand, w->local);
	}
}

/* Reads the directory e->fd next; takes ownership of it. */
static void descend(struct iw_walk *w, struct iw_entry *e, size_t name_len)
{
	DIR *dir = w->depth < IW_WALK_DEPTH ? fdopendir(e->fd) : NULL;

	if (dir) {
		w->stack[w->depth++] = (struct iw_walk_dir){ .dir = dir, .name_len = name_len };
		return;
	}
	if (w->depth < IW_WALK_DEPTH) {
		failed(e, errno, "read the directory");
	} else {
		e->what = IW_WALKED_FAILED;
		iw_file_fail(&e->why, IW_XFER_CODE_LIMIT, "it is more than 1024 directories deep");
	}
	close(e->fd);
	e->fd = -1;
}

/*
 * Below a directory no link is followed. Opening a pipe or device must not block or have effects.
 */
#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

int iw_walk_open(const struct iw_entry *e, struct iw_file_fault *why)
{
	int fd = e->fd >= 0 ? e->fd : openat(e->dir, e->leaf, OPEN_FLAGS | O_NOFOLLOW);

	return fd >= 0 ? fd : iw_file_errno(why, errno, "open it");
}

static void read_link(struct iw_walk *w, struct iw_entry *e)
{
	ssize_t n = readlinkat(e->dir, e->leaf, w->target, sizeof(w->target));

	if (n < 0) {
		failed(e, errno, "read the link");
	} else if ((size_t)n == sizeof(w->target)) {
		e->what = IW_WALKED_FAILED;
		iw_file_fail(&e->why, IW_XFER_CODE_NAME, "the target of the link is too long");
	} else {
		w->target[n] = '\0';
		e->target = w->target;
	}
}

static void enter(struct iw_walk *w, struct iw_entry *e)
{
	e->fd = openat(e->dir, e->leaf, OPEN_FLAGS | O_NOFOLLOW | O_DIRECTORY);
	if (e->fd < 0)
		failed(e, errno, "open it");
	else
		descend(w, e, e->name_len);
}

/* The next entry of the innermost directory. False: there are no more. */
static bool next_below(struct iw_walk *w, struct iw_entry *e)
{
	struct iw_walk_dir *d = &w->stack[w->depth - 1];
	struct dirent *de;
	size_t len, at = d->name_len;

	do {
		errno = 0;
		de = readdir(d->dir);
		if (!de && errno != 0) {
			w->name[at] = '\0';
			e->name_len = at;
			failed(e, errno, "read the directory");
			/* The directory is closed, so that this is reported once. */
			closedir(d->dir);
			w->depth--;
			return true;
		}
		if (!de)
			return false;
	} while (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0 ||
		 iw_temp_is_name(de->d_name));
	len = strlen(de->d_name);
	if (at + 1 + len > IW_XFER_NAME_MAX) {
		e->name_len = at;
		e->what = IW_WALKED_FAILED;
		iw_file_fail(&e->why, IW_XFER_CODE_NAME, "a name below it is too long");
		return true;
	}
	if (at > 0)
		w->name[at++] = '/';
	memcpy(w->name + at, de->d_name, len + 1);
	e->name_len = at + len;
	e->dir = dirfd(d->dir);
	e->leaf = w->name + at;
	e->root = w->top;
	e->path = w->name + w->top_len + (w->top_len > 0);
	if (fstatat(e->dir, e->leaf, &e->st, AT_SYMLINK_NOFOLLOW) < 0) {
		failed(e, errno, "get its attributes");
		return true;
	}
	look(w, e, NULL);
	if (w->filter && iw_filter_excludes(w->filter, w->name, e->what == IW_WALKED_DIR)) {
		e->what = IW_WALKED_FAILED;
		iw_file_fail(&e->why, IW_XFER_CODE_EXCLUDED, "");
	} else if (e->what == IW_WALKED_LINK) {
		read_link(w, e);
	} else if (e->what == IW_WALKED_DIR) {
		enter(w, e);
	}
	return true;
}

/*
 * For reports standard input gets the last component of the path at the target. The target itself
 * uses the whole path.
 */
static void name_stream(const struct iw_walk *w, struct iw_entry *e)
{
	e->name = iw_walk_name(w->stream ? w->stream : "", &e->name_len);
	if (e->name_len > IW_XFER_NAME_MAX || iw_xfer_name_fault(e->name, e->name_len)) {
		e->name = "stdin";
		e->name_len = 5;
	}
}

/* Starts with the operand e->fd, a directory; takes ownership of it. */
static void begin_tree(struct iw_walk *w, struct iw_entry *e)
{
	iw_dir_put(w->top);
	w->top = iw_dir_new(fcntl(e->fd, F_DUPFD_CLOEXEC, 3));
	w->top_len = e->name_len;
	if (w->top && w->top->fd >= 0) {
		descend(w, e, e->name_len);
		return;
	}
	failed(e, w->top ? errno : ENOMEM, "hold the directory open");
	close(e->fd);
	e->fd = -1;
}

/* The name does not exist, and looks like a pattern. */
static void explain_pattern(const struct iw_walk *w, struct iw_file_fault *why)
{
	snprintf(
		why->text, sizeof(why->text), "cannot open it: no such file or directory; %s",
		w->local
			? "only the shell expands wildcards: the pattern matches nothing, or is quoted"
			: "wildcards are not expanded: name the directory, and select files with --include and --exclude");
}

/* The path of the local user is a symbolic link to a name that does not exist. */
static void explain_link(const char *path, struct iw_file_fault *why)
{
	char target[100], name[100];
	ssize_t n = readlink(path, target, sizeof(target));

	if (n <= 0)
		return;
	iw_printable(name, sizeof(name), target, (size_t)n, true);
	snprintf(why->text, sizeof(why->text),
		 "cannot open it: no such file or directory; it is a symbolic link to \"%s\"",
		 name);
}

static bool has_parent(const char *path)
{
	for (; path; path = strchr(path, '/') ? strchr(path, '/') + 1 : NULL)
		if (strncmp(path, "..", 2) == 0 && (path[2] == '/' || path[2] == '\0'))
			return true;
	return false;
}

/* A requested path leads out of the served directory, or continues below a file. */
static void explain_path(const char *path, int errnum, struct iw_file_fault *why)
{
	if (errnum == EXDEV && path[0] == '/')
		(void)iw_file_fail(
			why, IW_XFER_CODE_NAME,
			"the path is absolute; paths are relative to the served directory");
	else if (errnum == EXDEV && has_parent(path))
		(void)iw_file_fail(
			why, IW_XFER_CODE_NAME,
			"the path leads out of the served directory by \"..\"; paths are relative to it");
	else if (errnum == ENOTDIR)
		(void)iw_file_fail(
			why, IW_XFER_CODE_NAME,
			"a component before a slash is a file; end the path with the file's name");
}

static void open_operand(struct iw_walk *w, const char *path, struct iw_entry *e)
{
	const char *name;

	e->top = true;
	e->operand = path;
	if (w->local && strcmp(path, "-") == 0) {
		e->what = IW_WALKED_STREAM;
		e->fd = STDIN_FILENO;
		name_stream(w, e);
		return;
	}
	name = operand_name(w, path, &e->name_len);
	memcpy(w->name, name, e->name_len);
	w->name[e->name_len] = '\0';
	e->dir = AT_FDCWD;
	if (w->local)
		e->fd = open(path, OPEN_FLAGS);
	else
		e->fd = iw_beneath_open(w->root, path, OPEN_FLAGS, 0);
	if (e->fd < 0) {
		int err = errno;

		failed(e, err, "open it");
		explain_path(path, err, &e->why);
		if (e->why.code == IW_XFER_CODE_NOENT && strpbrk(path, "*?["))
			explain_pattern(w, &e->why);
		else if (e->why.code == IW_XFER_CODE_NOENT && w->local)
			explain_link(path, &e->why);
		return;
	}
	if (fstat(e->fd, &e->st) < 0)
		failed(e, errno, "get its attributes");
	else
		look(w, e, w->local ? path : NULL);
	if (e->what == IW_WALKED_DIR)
		begin_tree(w, e);
	if (e->what != IW_WALKED_FILE && e->what != IW_WALKED_DIR) {
		close(e->fd);
		e->fd = -1;
	}
}

/* The part of name below the directory of that operand name. NULL: name is not below it. */
static const char *part_below(const char *name, const char *operand, size_t len)
{
	if (len == 0)
		return name;
	if (strncmp(name, operand, len) != 0 || (name[len] != '/' && name[len] != '\0'))
		return NULL;
	return name + len + (name[len] == '/');
}

/*
 * The path below operand that corresponds to the entry. False: the operand cannot contain that
 * name.
 */
static bool path_of(const struct iw_walk *w, const char *operand, char path[PATH_MAX])
{
	size_t len;
	const char *name = operand_name(w, operand, &len), *rest = part_below(w->name, name, len);
	bool slash = rest && rest[0] && operand[0] && !ends_in_slash(operand);

	return rest &&
	       snprintf(path, PATH_MAX, "%s%s%s", operand, slash ? "/" : "", rest) < PATH_MAX;
}

/* True if the patterns exclude the file of that name in the operand. */
static bool was_excluded(const struct iw_walk *w, const char *operand)
{
	size_t len;

	(void)operand_name(w, operand, &len);
	return w->filter && iw_filter_excludes_deep(w->filter, w->name, false, len == 0);
}

/* True if path is a file or link other than the entry. Directories of the same name are merged. */
static bool is_another(const struct iw_walk *w, const char *path, const struct iw_entry *e)
{
	int fd, flags = O_PATH | O_CLOEXEC | (e->top ? 0 : O_NOFOLLOW);
	struct stat st;
	bool another;

	fd = w->local ? open(path, flags) : iw_beneath_open(w->root, path, flags, 0);
	if (fd < 0)
		return false;
	another = fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) &&
		  (st.st_dev != e->st.st_dev || st.st_ino != e->st.st_ino);
	close(fd);
	return another;
}

static void refuse_name(struct iw_entry *e, const char *path, const char *earlier)
{
	char one[60], other[60];

	iw_printable(one, sizeof(one), path, strlen(path), true);
	iw_printable(other, sizeof(other), earlier, strlen(earlier), true);
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
	e->what = IW_WALKED_FAILED;
	e->why.code = IW_XFER_CODE_NAME;
	snprintf(e->why.text, sizeof(e->why.text),
		 "%s and %s would have one name at the target; use two target directories", one,
		 other);
}

static void compare_with_earlier(struct iw_walk *w, struct iw_entry *e)
{
	const char *operand = iw_container_of(w->begun.prev, struct operand, link)->path;
	char path[PATH_MAX], earlier[PATH_MAX];

	if (!path_of(w, operand, path))
		return;
	for (struct iw_list *l = w->begun.next; l != w->begun.prev; l = l->next) {
		operand = iw_container_of(l, struct operand, link)->path;
		if (path_of(w, operand, earlier) && is_another(w, earlier, e) &&
		    !was_excluded(w, operand)) {
			refuse_name(e, path, earlier);
			return;
		}
	}
}

/* Moves the next operand to the list of begun ones. NULL: none is left. */
static struct operand *begin_operand(struct iw_walk *w)
{
	struct operand *o = take_operand(&w->operands);

	if (!o)
		return NULL;
	if (!w->local && w->nbegun > BEGUN_MOST)
		free(take_operand(&w->begun));
	w->nbegun++;
	iw_list_add_tail(&w->begun, &o->link);
	return o;
}

static bool next_entry(struct iw_walk *w, struct iw_entry *e)
{
	struct operand *o;

	while (w->depth > 0) {
		if (next_below(w, e))
			return true;
		closedir(w->stack[--w->depth].dir);
	}
	o = begin_operand(w);
	if (o)
		open_operand(w, o->path, e);
	return o;
}

void iw_walk_next(struct iw_walk *w, struct iw_entry *e)
{
	*e = (struct iw_entry){ .fd = -1, .dir = -1, .name = w->name };
	if (!next_entry(w, e))
		e->what = IW_WALKED_END;
	else if (w->overlaps && (e->what == IW_WALKED_FILE || e->what == IW_WALKED_LINK))
		compare_with_earlier(w, e);
}
