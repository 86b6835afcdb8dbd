/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Octets from the text of an RFC, or computed, or captured on a wire, with their origin. */
#ifndef TESTS_VECTORS_VECTOR_H
#define TESTS_VECTORS_VECTOR_H

#include <stddef.h>
#include <stdint.h>

struct vector {
	const char *name;
	const char *clause;
	const uint8_t *octets;
	size_t len;
};

/* clang-format off */
#define VECTOR(array, clause) { #array, clause, array, sizeof(array) }
#define VECTOR_COUNT(list)    (sizeof(list) / sizeof((list)[0]))
/* clang-format on */

#endif
