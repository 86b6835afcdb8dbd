// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From the paths of the user to a directory and paths below it. */
#include "transfer/ssh/root.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/text.h"
#include "os/os.h"
#include "transfer/ssh/message.h"
#include "util/text.h"

static int no_memory(struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOMEM, "no memory for the paths");
}

/* Returns the path with the home directory in place of "~" and "." in place of "". NULL: *why. */
static char *expand(const char *p, size_t len, struct iw_fault *why)
{
	const char *home = getenv("HOME");
	char *text = NULL, shown[80];
	int n;

	if (len > 1 && p[0] == '~' && p[1] != '/') {
		iw_printable(shown, sizeof(shown), p, len, true);
		iw_fail(why, IW_E_INVAL,
			"%s: ~ is expanded only as ~/: give the path of another home directory in full",
			shown);
		return NULL;
	}
	if (len > 0 && p[0] == '~' && home && home[0])
		n = asprintf(&text, "%s%.*s", home, (int)(len - 1), p + 1);
	else if (len > 0 && p[0] == '~')
		n = asprintf(&text, ".%.*s", (int)(len - 1), p + 1);
	else
		n = len == 0 ? asprintf(&text, ".") : asprintf(&text, "%.*s", (int)len, p);
	if (n >= 0)
		return text;
	no_memory(why);
	return NULL;
}

/*
 * Splits path at its last component, which may have slashes after it. The directory ends at the
 * returned length: 0 without a directory, 1 for the root directory.
 */
static size_t split(const char *path, const char **name)
{
	size_t end = strlen(path), dir;

	while (end > 0 && path[end - 1] == '/')
		end--;
	while (end > 0 && path[end - 1] != '/')
		end--;
	*name = path + end;
	for (dir = end; dir > 1 && path[dir - 1] == '/'; dir--) {}
	return dir;
}

static char *dir_of(const char *path, size_t len)
{
	return len > 0 ? strndup(path, len) : strdup(".");
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* --- sink --- */

static int check_dir(const char *dir, const char *path, struct iw_fault *why)
{
	struct stat st;

	if (stat(dir, &st) < 0 && errno != ENOENT && errno != ENOTDIR)
		return iw_os_fail(why, errno, "%s: open its directory %s", path, dir);
	if (!is_dir(dir))
		return iw_fail(why, IW_E_NOENT, "%s: no directory %s there: create it first", path,
			       dir);
	return 0;
}

static int find_target(struct iw_ssh_root *out, const char *path, struct iw_fault *why)
{
	const char *name = "";
	size_t len;

	if (is_dir(path)) {
		out->dir = strdup(path);
	} else {
		len = split(path, &name);
		out->dir = dir_of(path, len);
	}
	out->paths[0] = strdup(name);
	out->n = 1;
	if (!out->dir || !out->paths[0])
		return no_memory(why);
	return check_dir(out->dir, path, why);
}

/* --- source --- */

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "./") == 0;
}

/*
 * Returns path without symbolic links in its directory. A path that names the contents of a
 * directory gets a slash at its end. NULL: *why.
 */
static char *resolve(const char *path, struct iw_fault *why)
{
	char real[PATH_MAX], *dir, *text = NULL;
	const char *name;
	size_t len = split(path, &name), end = strlen(name);
	bool contents = end == 0 || name[end - 1] == '/' || is_dots(name);
	int n;

	dir = contents ? strdup(path) : dir_of(path, len);
	if (!dir) {
		no_memory(why);
		return NULL;
	}
	if (!realpath(dir, real)) {
		iw_os_fail(why, errno, "%s: open the directory %s there", path, dir);
		free(dir);
		return NULL;
	}
	free(dir);
	if (strcmp(real, "/") == 0)
		real[0] = '\0';
	n = asprintf(&text, "%s/%s", real, contents ? "" : name);
	if (n >= 0)
		return text;
	no_memory(why);
	return NULL;
}

/* Returns the length of the common parent of a, of which len octets count, and b: "/" or "/x/". */
static size_t common(const char *a, size_t len, const char *b)
{
	size_t end = 1;

	for (size_t i = 0; i < len && a[i] == b[i]; i++)
		if (a[i] == '/')
			end = i + 1;
	return end;
}

static int find_sources(struct iw_ssh_root *out, struct iw_fault *why)
{
	char **full = out->paths;
	size_t len = (size_t)(strrchr(full[0], '/') - full[0]) + 1;

	for (size_t i = 1; i < out->n; i++)
		len = common(full[0], len, full[i]);
	out->dir = strndup(full[0], len > 1 ? len - 1 : len);
	if (!out->dir)
		return no_memory(why);
	for (size_t i = 0; i < out->n; i++)
		memmove(full[i], full[i] + len, strlen(full[i] + len) + 1);
	return 0;
}

int iw_ssh_root_find(struct iw_ssh_root *out, struct iw_ssh_paths paths, bool source,
		     struct iw_fault *why)
{
	const char *p;
	size_t len;
	int err = 0;

	*out = (struct iw_ssh_root){ .paths = calloc(paths.n + 1, sizeof(char *)) };
	if (!out->paths)
		return no_memory(why);
	while (!err && iw_ssh_path_next(&paths, &p, &len)) {
		char *path = expand(p, len, why);

		if (!path)
			err = why->err;
		else if (!source)
			err = find_target(out, path, why);
		else if ((out->paths[out->n] = resolve(path, why)) != NULL)
			out->n++;
		else
			err = why->err;
		free(path);
	}
	if (!err && source)
		err = find_sources(out, why);
	if (err)
		iw_ssh_root_fini(out);
	return err;
}

void iw_ssh_root_fini(struct iw_ssh_root *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->paths[i]);
	free(r->paths);
	free(r->dir);
	*r = (struct iw_ssh_root){ .dir = NULL };
}
