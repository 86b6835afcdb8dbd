/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the input of a fuzz target as a list of choices. After its end, all choices are 0. */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "util/num.h"

struct input {
	const uint8_t *p;
	size_t len;
};

static inline uint8_t u8(struct input *in)
{
	if (!in->len)
		return 0;
	in->len--;
	return *in->p++;
}

static inline uint16_t u16(struct input *in)
{
	uint16_t high = u8(in);

	return (uint16_t)(high << 8 | u8(in));
}

/* Takes n octets of the input, or the rest of it. */
static inline const uint8_t *take(struct input *in, size_t *n)
{
	const uint8_t *p = in->p;

	*n = IW_MIN(*n, in->len);
	in->p += *n;
	in->len -= *n;
	return p;
}

#endif
