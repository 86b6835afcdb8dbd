/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Byte order, checked arithmetic, mixing, jitter, powers of two and container_of, for all rooms. */
#ifndef IW_UTIL_NUM_H
#define IW_UTIL_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define iw_container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define IW_ARRAY_LEN(a)                    (sizeof(a) / sizeof((a)[0]))
/* These two evaluate an argument twice. */
#define IW_MIN(a, b)                       ((a) < (b) ? (a) : (b))
#define IW_MAX(a, b)                       ((a) > (b) ? (a) : (b))
#define iw_likely(x)                       __builtin_expect(!!(x), 1)
#define iw_unlikely(x)                     __builtin_expect(!!(x), 0)

#define IW_TIME_NEVER UINT64_MAX /* no deadline; all times are in nanoseconds */
#define IW_SEC(n)     ((uint64_t)(n)*1000000000u)
#define IW_MSEC(n)    ((uint64_t)(n)*1000000u)

/*
 * Advances a generator and returns its state; the high bits vary most. It spreads timers and
 * phases: nothing secret is made from it.
 */
static inline uint32_t iw_next_jitter(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state;
}

static inline uint16_t iw_get_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t iw_get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t iw_get_be64(const uint8_t *p)
{
	return (uint64_t)iw_get_be32(p) << 32 | iw_get_be32(p + 4);
}

static inline uint32_t iw_get_le32(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static inline uint64_t iw_get_le64(const uint8_t *p)
{
	return (uint64_t)iw_get_le32(p + 4) << 32 | iw_get_le32(p);
}

static inline void iw_put_be16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void iw_put_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline void iw_put_be64(uint8_t *p, uint64_t v)
{
	iw_put_be32(p, (uint32_t)(v >> 32));
	iw_put_be32(p + 4, (uint32_t)v);
}

static inline void iw_put_le32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
}

/* Returns the smallest power of two that is at least n; n is at most 2^31. 1 for n = 0. */
static inline uint32_t iw_pow2_at_least(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

/*
 * The output function of splitmix64 (Steele, Lea, Flood 2014): a permutation of the numbers of 64
 * bits, in which every input bit reaches every output bit. Not for secrets.
 */
static inline uint64_t iw_mix64(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* True if a + b does not fit in 64 bits; otherwise *sum is the sum. */
static inline bool iw_add_wraps(uint64_t a, uint64_t b, uint64_t *sum)
{
	return __builtin_add_overflow(a, b, sum);
}

/* Saturates at IW_TIME_NEVER. */
static inline uint64_t iw_time_add(uint64_t t, uint64_t ns)
{
	return ns > IW_TIME_NEVER - t ? IW_TIME_NEVER : t + ns;
}

/* RFC 1982: the serial number a, modulo 2^32, is before b. */
static inline bool iw_seq32_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

#endif
