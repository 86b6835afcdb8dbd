// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CRC32c by whatever the machine has: tables, the CPU's CRC instruction, isa-l.
 *
 * Inside, "reg" is the CRC register as it runs (reflected, before the final complement); every engine's run function takes
 * and returns finished values.
 */
#include "wire/crc32c.h"

#include <limits.h>
#include <string.h>

#include "util/num.h"

#if defined(__x86_64__)
#define HAVE_SSE42 1
#include <nmmintrin.h>
#endif
#if defined(__ARM_FEATURE_CRC32)
#define HAVE_ARMV8 1
#include <arm_acle.h>
#endif
#if defined(IW_HAVE_ISAL)
#include <isa-l/crc.h>
#endif

/* --- tables, eight octets a step ------------------------------------------------------------------------------------ */

/*
 * Table k says what octet i does to the register k + 1 octets later. The map is linear, so that eight values of a table, those
 * of the octets 1, 2, 4 .. 128, give the other 248 by exclusive or, which the compiler does.
 */
#define ENTRY(i, b0, b1, b2, b3, b4, b5, b6, b7)                                                                  \
	(((i)&1 ? (b0) : 0) ^ ((i)&2 ? (b1) : 0) ^ ((i)&4 ? (b2) : 0) ^ ((i)&8 ? (b3) : 0) ^                      \
	 ((i)&16 ? (b4) : 0) ^ ((i)&32 ? (b5) : 0) ^ ((i)&64 ? (b6) : 0) ^ ((i)&128 ? (b7) : 0))
#define ENTRIES4(i, ...)                                                                                          \
	ENTRY((i), __VA_ARGS__), ENTRY((i) + 1, __VA_ARGS__), ENTRY((i) + 2, __VA_ARGS__), ENTRY((i) + 3, __VA_ARGS__)
#define ENTRIES16(i, ...)                                                                                         \
	ENTRIES4((i), __VA_ARGS__), ENTRIES4((i) + 4, __VA_ARGS__), ENTRIES4((i) + 8, __VA_ARGS__),               \
		ENTRIES4((i) + 12, __VA_ARGS__)
#define ENTRIES64(i, ...)                                                                                         \
	ENTRIES16((i), __VA_ARGS__), ENTRIES16((i) + 16, __VA_ARGS__), ENTRIES16((i) + 32, __VA_ARGS__),          \
		ENTRIES16((i) + 48, __VA_ARGS__)
#define TABLE(...)                                                                                                \
	{                                                                                                         \
		ENTRIES64(0, __VA_ARGS__), ENTRIES64(64, __VA_ARGS__), ENTRIES64(128, __VA_ARGS__),               \
			ENTRIES64(192, __VA_ARGS__)                                                               \
	}

/* clang-format off */
static const uint32_t tables[8][256] = {
	TABLE(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78),
	TABLE(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9),
	TABLE(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743),
	TABLE(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7, 0x52a0c93f),
	TABLE(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae, 0x6ea2d55c),
	TABLE(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb, 0x1c08b7d6),
	TABLE(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a, 0xf56e0ef4),
	TABLE(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32, 0x34019664),
};
/* clang-format on */

static uint32_t run_table(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t reg = ~crc;

	for (; len >= 8; p += 8, len -= 8) {
		uint32_t lo = reg ^ iw_get_le32(p);
		uint32_t hi = iw_get_le32(p + 4);

		reg = tables[7][lo & 0xff] ^ tables[6][lo >> 8 & 0xff] ^ tables[5][lo >> 16 & 0xff] ^
		      tables[4][lo >> 24] ^ tables[3][hi & 0xff] ^ tables[2][hi >> 8 & 0xff] ^
		      tables[1][hi >> 16 & 0xff] ^ tables[0][hi >> 24];
	}
	while (len--)
		reg = tables[0][(reg ^ *p++) & 0xff] ^ reg >> 8;
	return ~reg;
}

/* --- the CPU's instruction ------------------------------------------------------------------------------------------ */

#if defined(HAVE_SSE42)
__attribute__((target("sse4.2"))) static uint32_t run_sse42(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t reg = (uint32_t)~crc;
	uint64_t v;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&v, p, 8);
		reg = _mm_crc32_u64(reg, v);
	}
	while (len--)
		reg = _mm_crc32_u8((uint32_t)reg, *p++);
	return ~(uint32_t)reg;
}
#endif

#if defined(HAVE_ARMV8)
static uint32_t run_armv8(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t reg = ~crc;

	for (; len >= 8; p += 8, len -= 8) {
		reg = __crc32cw(reg, iw_get_le32(p));
		reg = __crc32cw(reg, iw_get_le32(p + 4));
	}
	while (len--)
		reg = __crc32cb(reg, *p++);
	return ~reg;
}
#endif

/* --- isa-l ---------------------------------------------------------------------------------------------------------- */

#if defined(IW_HAVE_ISAL)
/* crc32_iscsi counts in int, works on the bare register, and takes a pointer that it only reads through as not const. */
#define ISAL_CHUNK ((size_t)1 << 30)

static uint32_t run_isal(uint32_t crc, const void *data, size_t len)
{
	union {
		const void *in;
		unsigned char *out;
	} p = { .in = data };
	uint32_t reg = ~crc;

	while (len) {
		size_t n = IW_MIN(len, ISAL_CHUNK);

		reg = crc32_iscsi(p.out, (int)n, reg);
		p.out += n;
		len -= n;
	}
	return ~reg;
}
#endif

/* --- choosing ------------------------------------------------------------------------------------------------------- */

/* From here on isa-l, with its way of eight lanes and more of setting up, is the faster one. */
#define ISAL_MIN 256

uint32_t iw_crc32c(uint32_t crc, const void *data, size_t len)
{
#if defined(IW_HAVE_ISAL) && (defined(HAVE_SSE42) || defined(HAVE_ARMV8))
	if (len >= ISAL_MIN)
		return run_isal(crc, data, len);
#endif
#if defined(HAVE_SSE42)
	if (iw_likely(__builtin_cpu_supports("sse4.2")))
		return run_sse42(crc, data, len);
#endif
#if defined(HAVE_ARMV8)
	return run_armv8(crc, data, len);
#endif
	return run_table(crc, data, len);
}

/* Small enough that the octets are still in the first-level cache when their CRC is taken. */
#define COPY_BLOCK 4096

uint32_t iw_crc32c_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	const uint8_t *from = src;
	uint8_t *to = dst;

	while (len) {
		size_t n = IW_MIN(len, (size_t)COPY_BLOCK);

		memcpy(to, from, n);
		crc = iw_crc32c(crc, to, n);
		to += n;
		from += n;
		len -= n;
	}
	return crc;
}

size_t iw_crc32c_engines(const struct iw_crc32c_engine **out)
{
	static const struct iw_crc32c_engine engines[] = {
		{ "table", run_table },
#if defined(HAVE_SSE42)
		{ "sse42", run_sse42 },
#endif
#if defined(HAVE_ARMV8)
		{ "armv8", run_armv8 },
#endif
#if defined(IW_HAVE_ISAL)
		{ "isal", run_isal },
#endif
	};

	*out = engines;
	return IW_ARRAY_LEN(engines);
}
