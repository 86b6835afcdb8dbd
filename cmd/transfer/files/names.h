/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A set of names, of which it keeps 128 bits each: what a source announced, against which the target's directories are held by
 * --delete. The hash is keyed at random, so that no peer can choose names that look alike.
 */
#ifndef IW_FILE_NAMES_H
#define IW_FILE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iw_names {
	struct iw_names_key {
		uint64_t high, low; /* both 0: free */
	} * rows;
	size_t n, cap;
	uint64_t seed;
};

/* False: no memory. */
bool iw_names_add(struct iw_names *s, const char *name, size_t len);
bool iw_names_has(const struct iw_names *s, const char *name, size_t len);
void iw_names_fini(struct iw_names *s);

/* Returns a copy of the len octets of name, terminated by NUL; owned by the caller. NULL: no memory. */
char *iw_name_terminated(const char *name, size_t len);

#endif
