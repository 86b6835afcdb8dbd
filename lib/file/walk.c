// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Operands and what is below them. */
#include "file/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/beneath.h"
#include "util/num.h"

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
}

static struct operand *take_operand(struct iw_walk *w)
{
	struct iw_list *l = iw_list_first(&w->operands);

	if (!l)
		return NULL;
	iw_list_del(l);
	return iw_container_of(l, struct operand, link);
}

void iw_walk_fini(struct iw_walk *w)
{
	struct operand *o;

	while ((o = take_operand(w)) != NULL)
		free(o);
	while (w->depth > 0)
		closedir(w->stack[--w->depth].dir);
}

int iw_walk_add(struct iw_walk *w, const char *path, size_t len)
{
	struct operand *o = malloc(sizeof(*o) + len + 1);

	if (!o)
		return IW_E_NOMEM;
	memcpy(o->path, path, len);
	o->path[len] = '\0';
	iw_list_add_tail(&w->operands, &o->link);
	return 0;
}

static void failed(struct iw_entry *e, int errnum, const char *step)
{
	e->what = IW_WALKED_FAILED;
	iw_file_errno(&e->why, errnum, step);
}

/* e->fd is open: what is it? A descriptor that is of no use is closed. */
static void look(struct iw_entry *e)
{
	struct stat st;

	if (fstat(e->fd, &st) < 0) {
		failed(e, errno, "look at it");
	} else if (S_ISREG(st.st_mode)) {
		e->what = IW_WALKED_FILE;
		return;
	} else if (S_ISDIR(st.st_mode)) {
		e->what = IW_WALKED_DIR;
		e->mode = st.st_mode & 0777;
		return;
	} else {
		e->what = IW_WALKED_FAILED;
		iw_file_fail(&e->why, IW_XC_KIND, "it is no regular file and no directory");
	}
	close(e->fd);
	e->fd = -1;
}

/* The directory e->fd, which is given, is what comes next. */
static void descend(struct iw_walk *w, struct iw_entry *e, size_t name_len)
{
	DIR *dir = w->depth < IW_WALK_DEPTH ? fdopendir(e->fd) : NULL;

	if (dir) {
		w->stack[w->depth++] = (struct iw_walk_dir){ .dir = dir, .name_len = name_len };
	} else {
		int errnum = w->depth < IW_WALK_DEPTH ? errno : ELOOP;

		close(e->fd);
		if (errnum == ELOOP) {
			e->what = IW_WALKED_FAILED;
			iw_file_fail(&e->why, IW_XC_LIMIT, "it lies too deep");
		} else {
			failed(e, errnum, "read the directory");
		}
	}
	e->fd = -1;
}

/* No link is followed below a directory, and opening a pipe or a device must neither wait nor do
 * anything. */
#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* The next entry of the innermost directory; false: it has ended. */
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
			/* Once is enough. */
			closedir(d->dir);
			w->depth--;
			return true;
		}
		if (!de)
			return false;
	} while (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0);
	len = strlen(de->d_name);
	if (at + 1 + len > IW_XFER_NAME_MAX) {
		e->name_len = at;
		e->what = IW_WALKED_FAILED;
		iw_file_fail(&e->why, IW_XC_NAME, "a name below it is too long");
		return true;
	}
	if (at > 0)
		w->name[at++] = '/';
	memcpy(w->name + at, de->d_name, len + 1);
	e->name_len = at + len;
	e->fd = openat(dirfd(d->dir), de->d_name, OPEN_FLAGS | O_NOFOLLOW);
	if (e->fd < 0 && errno == ELOOP) {
		e->what = IW_WALKED_FAILED;
		iw_file_fail(&e->why, IW_XC_KIND, "symbolic links are not sent");
	} else if (e->fd < 0) {
		failed(e, errno, "open it");
	} else {
		look(e);
		if (e->what == IW_WALKED_DIR)
			descend(w, e, e->name_len);
	}
	return true;
}

/*
 * The name that an operand travels under: its last component. "." and ".." have none: the directory's own is found for the local user;
 * what a peer asks for as "." or "" is all that is in the served directory.
 */
static void operand_name(struct iw_walk *w, const char *path, struct iw_entry *e)
{
	size_t len = strlen(path), begin;
	char *real = NULL;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (begin = len; begin > 0 && path[begin - 1] != '/'; begin--)
		;
	if (w->local && (len - begin == 0 ||
			 (path[begin] == '.' &&
			  (len - begin == 1 || (len - begin == 2 && path[begin + 1] == '.'))))) {
		real = realpath(path, NULL);
		path = real ? real : path;
		len = strlen(path);
		for (begin = len; begin > 0 && path[begin - 1] != '/'; begin--)
			;
	}
	e->name_len = IW_MIN(len - begin, (size_t)IW_XFER_NAME_MAX);
	memcpy(w->name, path + begin, e->name_len);
	w->name[e->name_len] = '\0';
	if (strcmp(w->name, ".") == 0)
		e->name_len = 0;
	free(real);
}

static void open_operand(struct iw_walk *w, const char *path, struct iw_entry *e)
{
	e->top = true;
	if (w->local && strcmp(path, "-") == 0) {
		e->what = IW_WALKED_STREAM;
		e->fd = STDIN_FILENO;
		e->name = "stdin";
		e->name_len = 5;
		return;
	}
	operand_name(w, path, e);
	if (w->local)
		e->fd = open(path, OPEN_FLAGS);
	else
		e->fd = iw_beneath_open(w->root, path, OPEN_FLAGS, 0);
	if (e->fd < 0) {
		failed(e, errno, "open it");
		return;
	}
	look(e);
	if (e->what == IW_WALKED_DIR)
		descend(w, e, e->name_len);
}

void iw_walk_next(struct iw_walk *w, struct iw_entry *e)
{
	struct operand *o;

	*e = (struct iw_entry){ .fd = -1, .name = w->name };
	while (w->depth > 0) {
		if (next_below(w, e))
			return;
		closedir(w->stack[--w->depth].dir);
	}
	o = take_operand(w);
	if (!o) {
		e->what = IW_WALKED_END;
		return;
	}
	open_operand(w, o->path, e);
	free(o);
}
