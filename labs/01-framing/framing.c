/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "framing.h"

uint32_t crc32c(const uint8_t *octets, size_t len)
{
	/* TODO step crc */
	return 0;
}

size_t fpdu_size(size_t ulpdu_len)
{
	/* TODO step size */
	return 0;
}

size_t fpdu_build(uint8_t *dst, size_t cap, const uint8_t *ulpdu, size_t ulpdu_len)
{
	/* TODO steps build and room */
	return 0;
}

enum fpdu_status fpdu_parse(const uint8_t *stream, size_t len, struct fpdu *fpdu)
{
	/* TODO steps parse and damage */
	return FPDU_MORE;
}

struct framer {
	/* TODO step stream: what has arrived, and how much of it was returned */
	int nothing;
};

struct framer *framer_new(void)
{
	/* TODO step stream */
	return NULL;
}

void framer_free(struct framer *f)
{
	/* TODO step stream */
}

bool framer_put(struct framer *f, const uint8_t *octets, size_t len)
{
	/* TODO step stream */
	return false;
}

enum fpdu_status framer_next(struct framer *f, const uint8_t **ulpdu, size_t *ulpdu_len)
{
	/* TODO step stream */
	return FPDU_MORE;
}

size_t fpdu_build_marked(uint8_t *dst, size_t cap, uint32_t pos, const uint8_t *ulpdu,
			 size_t ulpdu_len)
{
	/* TODO step markers */
	return 0;
}
