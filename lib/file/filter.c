// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Patterns of names. */
#include "file/filter.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

static bool matches(const char *pattern, const char *name, bool is_dir)
{
	size_t len = strlen(pattern);
	char buf[PATH_MAX];
	const char *slash;

	if (len == 0 || len >= sizeof(buf))
		return false;
	memcpy(buf, pattern, len + 1);
	if (buf[len - 1] == '/') {
		if (!is_dir)
			return false;
		buf[len - 1] = '\0';
	}
	if (!strchr(buf, '/')) {
		slash = strrchr(name, '/');
		return fnmatch(buf, slash ? slash + 1 : name, 0) == 0;
	}
	return fnmatch(buf[0] == '/' ? buf + 1 : buf, name, strstr(buf, "**") ? 0 : FNM_PATHNAME) ==
	       0;
}

bool iw_filter_excludes(const struct iw_filter *f, const char *name, bool is_dir)
{
	for (size_t i = 0; i < f->n; i++)
		if (matches(f->rules[i].pattern, name, is_dir))
			return !f->rules[i].include;
	return false;
}

bool iw_filter_excludes_deep(const struct iw_filter *f, const char *name, bool is_dir)
{
	char buf[PATH_MAX];
	const char *slash = strchr(name, '/');

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
