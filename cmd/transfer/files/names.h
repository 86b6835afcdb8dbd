/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A set of names, stored as hashes of 128 bits. --delete compares the directories of the target
 * with the names that a source announced. The hash has a random seed, so a peer cannot choose names
 * that collide.
 */
#ifndef IW_TRANSFER_FILES_NAMES_H
#define IW_TRANSFER_FILES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iw_names {
	struct iw_names_key {
		uint64_t high, low; /* low 0: free */
	} * rows;
	size_t n, cap;
	uint64_t seed;
};

/* Adds the len octets of name. False: no memory, or no random seed. */
bool iw_names_add(struct iw_names *s, const char *name, size_t len);
/* True if the set has the name. */
bool iw_names_has(const struct iw_names *s, const char *name, size_t len);
void iw_names_fini(struct iw_names *s);

/*
 * Returns a copy of the len octets of name, terminated by NUL; owned by the caller. NULL: no
 * memory.
 */
char *iw_name_terminated(const char *name, size_t len);

#endif
