/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The patterns of --include and --exclude, with rsync's semantics. The first pattern that matches a
 * name decides; a name that matches none is sent.
 *
 * A pattern without a slash and without ** is compared with the last component of the name. A
 * pattern that begins with a slash is compared with the whole name, any other one with the end of
 * the name, starting at any component. A pattern that ends in a slash is for directories only. *
 * and ? do not match a slash, ** does. All names below an excluded directory are excluded.
 */
#ifndef IW_TRANSFER_FILES_FILTER_H
#define IW_TRANSFER_FILES_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct iw_filter {
	struct iw_filter_rule {
		const char *pattern; /* borrowed until iw_filter_fini */
		bool include;
	} * rules;
	size_t n, cap;
};

/* Returns what is wrong with pattern, for an error message; NULL: nothing. */
const char *iw_filter_fault(const char *pattern);
/* Adds a pattern that iw_filter_fault accepts. False: no memory. */
bool iw_filter_add(struct iw_filter *f, const char *pattern, bool include);
void iw_filter_fini(struct iw_filter *f);
/* True if a pattern excludes name, which is terminated. Its parent directories are not checked. */
bool iw_filter_excludes(const struct iw_filter *f, const char *name, bool is_dir);
/*
 * True if a pattern excludes name or one of its parent directories. Without contents, the first
 * component is the operand, which patterns never exclude; with contents, it is checked too.
 */
bool iw_filter_excludes_deep(const struct iw_filter *f, const char *name, bool is_dir,
			     bool contents);

#endif
