// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Patterns, stamps, digests. */
#include "cli/pattern.h"

#include <string.h>
#include <xxhash.h>

#include "util/num.h"

/* splitmix64: each word depends only on its position, so any piece can be made independently. */
static uint64_t word(uint64_t seed, uint64_t i)
{
	return iw_mix64(seed + (i + 1) * 0x9e3779b97f4a7c15u);
}

static void put_le64(uint8_t p[static 8], uint64_t w)
{
	iw_put_le32(p, (uint32_t)w);
	iw_put_le32(p + 4, (uint32_t)(w >> 32));
}

void iw_pattern_fill(void *buf, size_t len, uint64_t seed, uint64_t at)
{
	uint8_t *p = buf, octets[8];
	uint64_t i = at / 8;
	size_t skip = at % 8;

	if (skip && len) {
		size_t n = IW_MIN(len, 8 - skip);

		put_le64(octets, word(seed, i++));
		memcpy(p, octets + skip, n);
		p += n;
		len -= n;
	}
	for (; len >= 8; len -= 8, p += 8)
		put_le64(p, word(seed, i++));
	if (len) {
		put_le64(octets, word(seed, i));
		memcpy(p, octets, len);
	}
}

bool iw_pattern_holds(const void *buf, size_t len, uint64_t seed, uint64_t at)
{
	const uint8_t *p = buf;
	uint8_t expected[4096];

	while (len) {
		size_t n = IW_MIN(len, sizeof(expected));

		iw_pattern_fill(expected, n, seed, at);
		if (memcmp(p, expected, n) != 0)
			return false;
		p += n;
		at += n;
		len -= n;
	}
	return true;
}

void iw_pattern_stamp(void *msg, size_t len, uint64_t number)
{
	if (len >= IW_PATTERN_STAMP)
		iw_put_be64(msg, number);
}

bool iw_pattern_stamped(const void *msg, size_t len, uint64_t number)
{
	return len < IW_PATTERN_STAMP || iw_get_be64(msg) == number;
}

bool iw_pattern_digest_init(struct iw_pattern_digest *d)
{
	d->state = XXH3_createState();
	if (!d->state)
		return false;
	XXH3_64bits_reset(d->state);
	return true;
}

void iw_pattern_digest_add(struct iw_pattern_digest *d, const void *p, size_t len)
{
	/* It fails only for NULL. */
	if (len)
		(void)XXH3_64bits_update(d->state, p, len);
}

uint64_t iw_pattern_digest_end(struct iw_pattern_digest *d)
{
	uint64_t digest = XXH3_64bits_digest(d->state);

	XXH3_freeState(d->state);
	d->state = NULL;
	return digest;
}
