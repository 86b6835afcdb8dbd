/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which names are left out: patterns of --include and --exclude in the order they were given; the first that matches decides, and what
 * none matches is sent. A pattern without a slash is compared with the last component, one with a slash with all of the name; one
 * that ends in a slash means directories alone. * and ? do not match a slash, ** does. What lies below an excluded directory is excluded.
 */
#ifndef IW_FILE_FILTER_H
#define IW_FILE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct iw_filter {
	struct iw_filter_rule {
		const char *pattern; /* borrowed for life */
		bool include;
	} * rules;
	size_t n, cap;
};

/* False: no memory. */
bool iw_filter_add(struct iw_filter *f, const char *pattern, bool include);
void iw_filter_fini(struct iw_filter *f);
/* Is this one excluded? The directories that it lies in are not looked at. name is terminated. */
bool iw_filter_excludes(const struct iw_filter *f, const char *name, bool is_dir);
/* The same, or one of those directories but the first component, which the user named. */
bool iw_filter_excludes_deep(const struct iw_filter *f, const char *name, bool is_dir);

#endif
