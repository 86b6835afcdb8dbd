// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Patterns of names. */
#include "transfer/files/filter.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/*
 * Returns the closing bracket of the set whose text begins at at; NULL: it is missing. An initial
 * ']' is a member of the set.
 */
static const char *closing(const char *at)
{
	if (*at == '!' || *at == '^')
		at++;
	if (*at == ']')
		at++;
	return strchr(at, ']');
}

const char *iw_filter_fault(const char *pattern)
{
	size_t len = strlen(pattern);

	if (len == 0 || strcmp(pattern, "/") == 0)
		return "an empty pattern matches no name; expected a pattern such as '*.o'";
	if (strncmp(pattern, "./", 2) == 0 || strncmp(pattern, "../", 3) == 0)
		return "matches no name: patterns are relative to the source; leave out ./ and ../";
	if (len >= PATH_MAX)
		return "longer than 4095 octets";
	for (const char *at = pattern; *at; at++) {
		if (*at == '\\') {
			if (*++at == '\0')
				return "nothing follows the backslash at its end";
		} else if (*at == '[' && !(at = closing(at + 1))) {
			return "a [ without its ]; write \\[ for the character";
		}
	}
	return NULL;
}

bool iw_filter_add(struct iw_filter *f, const char *pattern, bool include)
{
	if (f->n == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 8;
		struct iw_filter_rule *rules = reallocarray(f->rules, cap, sizeof(*rules));

		if (!rules)
			return false;
		f->rules = rules;
		f->cap = cap;
	}
	f->rules[f->n++] = (struct iw_filter_rule){ .pattern = pattern, .include = include };
	return true;
}

void iw_filter_fini(struct iw_filter *f)
{
	free(f->rules);
	*f = (struct iw_filter){ .n = 0 };
}

/*
 * ** matches any octets, slashes too. The text between two ** is matched by fnmatch, where * does
 * not match a slash.
 */
static bool glob(const char *pattern, const char *name)
{
	const char *stars = strstr(pattern, "**");
	char piece[PATH_MAX], part[PATH_MAX];
	size_t len, most = strlen(name);

	if (!stars)
		return fnmatch(pattern, name, FNM_PATHNAME) == 0;
	len = (size_t)(stars - pattern);
	memcpy(piece, pattern, len);
	piece[len] = '\0';
	while (*stars == '*')
		stars++;
	for (size_t n = 0; n <= most; n++) {
		memcpy(part, name, n);
		part[n] = '\0';
		if (fnmatch(piece, part, FNM_PATHNAME) != 0)
			continue;
		if (*stars == '\0')
			return true;
		for (const char *rest = name + n; *rest; rest++)
			if (glob(stars, rest))
				return true;
	}
	return false;
}

/*
 * As in rsync: an initial slash anchors a pattern at the root of the transfer. Without it the
 * pattern may start at any component.
 */
static bool matches(const char *pattern, const char *name, bool is_dir)
{
	size_t len = strlen(pattern);
	char buf[PATH_MAX];
	const char *slash = strrchr(name, '/');

	if (len == 0 || len >= sizeof(buf) || strlen(name) >= sizeof(buf))
		return false;
	memcpy(buf, pattern, len + 1);
	if (buf[len - 1] == '/') {
		if (!is_dir)
			return false;
		buf[len - 1] = '\0';
	}
	if (buf[0] == '/')
		return glob(buf + 1, name);
	if (!strchr(buf, '/') && !strstr(buf, "**"))
		return fnmatch(buf, slash ? slash + 1 : name, 0) == 0;
	for (; name; name = strchr(name, '/') ? strchr(name, '/') + 1 : NULL)
		if (glob(buf, name))
			return true;
	return false;
}

bool iw_filter_excludes(const struct iw_filter *f, const char *name, bool is_dir)
{
	for (size_t i = 0; i < f->n; i++)
		if (matches(f->rules[i].pattern, name, is_dir))
			return !f->rules[i].include;
	return false;
}

bool iw_filter_excludes_deep(const struct iw_filter *f, const char *name, bool is_dir,
			     bool contents)
{
	char buf[PATH_MAX];
	const char *slash = contents ? name : strchr(name, '/');

	if (f->n == 0 || !slash)
		return false;
	while ((slash = strchr(slash + 1, '/')) != NULL) {
		size_t len = (size_t)(slash - name);

		if (len >= sizeof(buf))
			return false;
		memcpy(buf, name, len);
		buf[len] = '\0';
		if (iw_filter_excludes(f, buf, true))
			return true;
	}
	return iw_filter_excludes(f, name, is_dir);
}
