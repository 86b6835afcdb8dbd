/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pseudo-random numbers that are the same in every run (splitmix64). */
#ifndef TESTS_RNG_H
#define TESTS_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* 0..n-1 */
static inline size_t rng_below(struct rng *r, size_t n)
{
	return (size_t)(rng_next(r) % n);
}

static inline void rng_fill(struct rng *r, void *p, size_t len)
{
	uint8_t *o = p;

	while (len--)
		*o++ = (uint8_t)rng_next(r);
}

#endif
