// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CRC32c by tables, by the CPU's CRC instruction, or by isa-l.
 *
 * "reg" is the CRC register: reflected, before the final complement. The run function of each
 * engine takes and returns complemented values.
 */
#include "wire/crc32c.h"

#include <limits.h>
#include <string.h>

#include "util/num.h"

#if defined(__x86_64__)
#define HAVE_SSE42 1
#include <immintrin.h>
#endif
#if defined(__ARM_FEATURE_CRC32)
#define HAVE_ARMV8 1
#include <arm_acle.h>
#endif
#if defined(IW_HAVE_ISAL)
#include <isa-l/crc.h>
#endif

/* --- tables, eight octets at a time ----------------------------------------------------------- */

/*
 * Entry i of table k is what an octet with value i adds to the register k + 1 octets later. The map
 * is linear, so the compiler can compute each entry by exclusive or from those of 1, 2, 4 .. 128.
 */
#define ENTRY(i, b0, b1, b2, b3, b4, b5, b6, b7)                                                   \
	(((i)&1 ? (b0) : 0) ^ ((i)&2 ? (b1) : 0) ^ ((i)&4 ? (b2) : 0) ^ ((i)&8 ? (b3) : 0) ^       \
	 ((i)&16 ? (b4) : 0) ^ ((i)&32 ? (b5) : 0) ^ ((i)&64 ? (b6) : 0) ^ ((i)&128 ? (b7) : 0))
#define ENTRIES4(i, ...)                                                                           \
	ENTRY((i), __VA_ARGS__), ENTRY((i) + 1, __VA_ARGS__), ENTRY((i) + 2, __VA_ARGS__),         \
		ENTRY((i) + 3, __VA_ARGS__)
#define ENTRIES16(i, ...)                                                                          \
	ENTRIES4((i), __VA_ARGS__), ENTRIES4((i) + 4, __VA_ARGS__),                                \
		ENTRIES4((i) + 8, __VA_ARGS__), ENTRIES4((i) + 12, __VA_ARGS__)
#define ENTRIES64(i, ...)                                                                          \
	ENTRIES16((i), __VA_ARGS__), ENTRIES16((i) + 16, __VA_ARGS__),                             \
		ENTRIES16((i) + 32, __VA_ARGS__), ENTRIES16((i) + 48, __VA_ARGS__)
#define TABLE(...)                                                                                 \
	{                                                                                          \
		ENTRIES64(0, __VA_ARGS__), ENTRIES64(64, __VA_ARGS__),                             \
			ENTRIES64(128, __VA_ARGS__), ENTRIES64(192, __VA_ARGS__)                   \
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

		reg = tables[7][lo & 0xff] ^ tables[6][lo >> 8 & 0xff] ^
		      tables[5][lo >> 16 & 0xff] ^ tables[4][lo >> 24] ^ tables[3][hi & 0xff] ^
		      tables[2][hi >> 8 & 0xff] ^ tables[1][hi >> 16 & 0xff] ^ tables[0][hi >> 24];
	}
	while (len--)
		reg = tables[0][(reg ^ *p++) & 0xff] ^ reg >> 8;
	return ~reg;
}

/* --- the CPU's instruction -------------------------------------------------------------------- */

#if defined(HAVE_SSE42)
#define SSE42        __attribute__((target("sse4.2")))
#define SSE42_PCLMUL __attribute__((target("sse4.2,pclmul")))

/* x86 is little-endian, which is the order that the instruction needs. */
static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

SSE42 static uint64_t sse42_words(uint64_t reg, const uint8_t *p, size_t n)
{
	while (n--) {
		reg = _mm_crc32_u64(reg, load64(p));
		p += 8;
	}
	return reg;
}

/* The last 0..7 octets. */
SSE42 static uint32_t sse42_rest(uint32_t reg, const uint8_t *p, size_t len)
{
	if (len & 4) {
		reg = _mm_crc32_u32(reg, iw_get_le32(p));
		p += 4;
	}
	if (len & 2) {
		reg = _mm_crc32_u16(reg, (uint16_t)(p[0] | p[1] << 8));
		p += 2;
	}
	if (len & 1)
		reg = _mm_crc32_u8(reg, *p);
	return reg;
}

SSE42 static uint32_t run_sse42(uint32_t crc, const void *data, size_t len)
{
	uint32_t reg = (uint32_t)sse42_words(~crc, data, len / 8);

	return ~sse42_rest(reg, (const uint8_t *)data + (len & ~(size_t)7), len);
}

/*
 * The instruction accepts a word each cycle and has a latency of three cycles, so three runs of
 * words, "lanes", fill its pipeline. Then the registers of the first two lanes are advanced over
 * the words that follow: a register times x^(64 w) modulo the polynomial is the register w words
 * later. This needs one carry-less multiplication by x^(64 w - 33), whose result is an operand of
 * the instruction: a product of reflected numbers has one factor x too many, and the instruction
 * multiplies by x^32 when it reduces.
 *
 * Three lanes of 64 words cover an FPDU of 1500 octets at once; longer lanes gain little. Below 96
 * octets, joining the lanes costs more than it saves: at 80 octets both methods take the same time.
 */
#define LANE_MAX  64 /* words */
#define LANES_MIN 96 /* octets */

/* x^(64 w - 33) modulo the polynomial, reflected, for w = 1, 2 .. LANE_MAX. */
/* clang-format off */
static const uint32_t shift_by_words[LANE_MAX] = {
	0x00000001, 0x493c7d27, 0xf20c0dfe, 0xba4fc28e, 0x3da6d0cb, 0xddc0152b, 0x1c291d04, 0x9e4addf8,
	0x740eef02, 0x39d3b296, 0x083a6eec, 0x0715ce53, 0xc49f4f67, 0x47db8317, 0x2ad91c30, 0x0d3b6092,
	0x6992cea2, 0xc96cfdc0, 0x7e908048, 0x878a92a7, 0x1b3d8f29, 0xdaece73e, 0xf1d0f55e, 0xab7aff2a,
	0xa87ab8a8, 0x2162d385, 0x8462d800, 0x83348832, 0x71d111a8, 0x299847d5, 0xffd852c6, 0xb9e02b86,
	0xdcb17aa4, 0x18b33a4e, 0xf37c5aee, 0xb6dd949b, 0x6051d5a2, 0x78d9ccb7, 0x18b0d4ff, 0xbac2fd7b,
	0x21f3d99c, 0xa60ce07b, 0x8f158014, 0xce7f39f4, 0xa00457f7, 0x61d82e56, 0x8d6d2c43, 0xd270f1a2,
	0x00ac29cf, 0xc619809d, 0xe9adf796, 0x2b3cac5d, 0x96638b34, 0x65863b64, 0xe0e9f351, 0x1b03397f,
	0x9af01f2d, 0xebb883bd, 0x2cff42cf, 0xb3e32c28, 0x88f25a3a, 0x064f7f26, 0x4e36f0b0, 0xdd7e3b0c,
};
/* clang-format on */

SSE42_PCLMUL static inline uint64_t multiply(uint32_t a, uint32_t b)
{
	__m128i product =
		_mm_clmulepi64_si128(_mm_cvtsi32_si128((int)a), _mm_cvtsi32_si128((int)b), 0);

	return (uint64_t)_mm_cvtsi128_si64(product);
}

SSE42_PCLMUL static uint32_t run_sse42x3(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t a = (uint32_t)~crc;

	while (len >= LANES_MIN) {
		size_t words = IW_MIN(len / 24, (size_t)LANE_MAX);
		const uint8_t *pb = p + 8 * words;
		const uint8_t *pc = pb + 8 * words;
		uint32_t one = shift_by_words[words - 1];
		uint32_t two = (uint32_t)_mm_crc32_u64(0, multiply(one, one));
		uint64_t b = 0, c = 0;

		for (size_t i = words - 1; i; i--) {
			a = _mm_crc32_u64(a, load64(p));
			b = _mm_crc32_u64(b, load64(pb));
			c = _mm_crc32_u64(c, load64(pc));
			p += 8;
			pb += 8;
			pc += 8;
		}
		a = _mm_crc32_u64(a, load64(p));
		b = _mm_crc32_u64(b, load64(pb));
		/*
		 * The products of the first two lanes are added to the last word of the third lane,
		 * so one instruction reduces all three.
		 */
		a = _mm_crc32_u64(c, load64(pc) ^ multiply((uint32_t)a, two) ^
					     multiply((uint32_t)b, one));
		p = pc + 8;
		len -= 24 * words;
	}
	a = sse42_words(a, p, len / 8);
	return ~sse42_rest((uint32_t)a, p + (len & ~(size_t)7), len);
}
#endif

#if defined(HAVE_ARMV8)
static uint32_t run_armv8(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t reg = ~crc;

#if defined(__aarch64__)
	for (; len >= 8; p += 8, len -= 8)
		reg = __crc32cd(reg, iw_get_le32(p) | (uint64_t)iw_get_le32(p + 4) << 32);
#endif
	for (; len >= 4; p += 4, len -= 4)
		reg = __crc32cw(reg, iw_get_le32(p));
	while (len--)
		reg = __crc32cb(reg, *p++);
	return ~reg;
}
#endif

/* --- isa-l ------------------------------------------------------------------------------------ */

#if defined(IW_HAVE_ISAL)
/* crc32_iscsi() takes and returns the register. Its length is an int, its pointer is not const. */
#define ISAL_CHUNK ((size_t)1 << 30)

/*
 * isa-l may use vectors of 256 or 512 bits, and then leaves data in the upper halves of the vector
 * registers. Until these are cleared, SSE instructions (128 bits) run slowly in the whole program.
 */
#if defined(__x86_64__)
__attribute__((target("avx"))) static void zero_upper(void)
{
	_mm256_zeroupper();
}

static inline void clear_upper_halves(void)
{
	if (iw_likely(__builtin_cpu_supports("avx")))
		zero_upper();
}
#else
static inline void clear_upper_halves(void)
{
}
#endif

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
	clear_upper_halves();
	return ~reg;
}
#endif

/* --- choosing --------------------------------------------------------------------------------- */

/*
 * isa-l costs more per call than the three lanes, and it processes the octets after its last block
 * of 256 one word at a time. So it gets only whole blocks of long runs. GB/s in cache, measured on
 * a Zen 4; "both": isa-l for whole blocks, lanes for the rest:
 *
 *     octets       16    64   256   512   640   768  1024  1442  4096  64K
 *     lanes       5.9   9.1    17    22    23    25    25    26    28   28
 *     isa-l       1.7   4.3    14    25    18    30    35    27    50   56
 *     both                          23    20    30    35    33    50   56
 */
#define ISAL_MIN   768
#define ISAL_BLOCK 256

#if defined(HAVE_SSE42)
static uint32_t run_instruction(uint32_t crc, const void *data, size_t len)
{
	if (iw_unlikely(!__builtin_cpu_supports("sse4.2")))
		return run_table(crc, data, len);
	if (iw_unlikely(!__builtin_cpu_supports("pclmul")))
		return run_sse42(crc, data, len);
	return run_sse42x3(crc, data, len);
}
#elif defined(HAVE_ARMV8)
#define run_instruction run_armv8
#endif

uint32_t iw_crc32c(uint32_t crc, const void *data, size_t len)
{
#if defined(HAVE_SSE42) || defined(HAVE_ARMV8)
#if defined(IW_HAVE_ISAL)
	if (len >= ISAL_MIN) {
		size_t whole = len & ~(size_t)(ISAL_BLOCK - 1);

		crc = run_isal(crc, data, whole);
		data = (const uint8_t *)data + whole;
		len -= whole;
	}
#endif
	return run_instruction(crc, data, len);
#else
	/* Without assembly, isa-l uses one table, octet by octet: our eight tables are faster. */
	return run_table(crc, data, len);
#endif
}

/*
 * Bytes copied before their CRC is computed, while they are in the first-level cache. Measured with
 * sources that are not in the cache: all blocks of at least 4 KiB are equally fast. Blocks of 1 and
 * 2 KiB are half as fast, and so is a single loop that loads, stores and computes, because the CPU
 * then prefetches less far ahead.
 */
#define COPY_BLOCK 4096
/*
 * Hides the range of n from the compiler. gcc copies up to 8 KiB with "rep movs" if it knows the
 * limit; memcpy() of the C library takes half the time for the octets of a packet.
 */
#define HIDE(n)    __asm__("" : "+r"(n))

uint32_t iw_crc32c_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	const uint8_t *from = src;
	uint8_t *to = dst;

	while (len) {
		size_t n = IW_MIN(len, (size_t)COPY_BLOCK);

		HIDE(n);
		memcpy(to, from, n);
		crc = iw_crc32c(crc, to, n);
		to += n;
		from += n;
		len -= n;
	}
	return crc;
}

#if defined(HAVE_ARMV8)
#define ROW_ARMV8 { "armv8", run_armv8 },
#else
#define ROW_ARMV8
#endif
#if defined(IW_HAVE_ISAL)
#define ROW_ISAL    { "isal", run_isal },
#define X86_ENGINES 4
#else
#define ROW_ISAL
#define X86_ENGINES 3
#endif

/* A list for each set of CPU features. The lists are constant, so threads need no lock. */
size_t iw_crc32c_engines(const struct iw_crc32c_engine **out)
{
#if defined(HAVE_SSE42)
	static const struct iw_crc32c_engine lists[][X86_ENGINES] = {
		{ { "table", run_table }, { "sse42", NULL }, { "sse42x3", NULL }, ROW_ISAL },
		{ { "table", run_table }, { "sse42", run_sse42 }, { "sse42x3", NULL }, ROW_ISAL },
		{ { "table", run_table },
		  { "sse42", run_sse42 },
		  { "sse42x3", run_sse42x3 },
		  ROW_ISAL },
	};
	bool sse42 = __builtin_cpu_supports("sse4.2");
	bool pclmul = __builtin_cpu_supports("pclmul");

	*out = lists[sse42 ? 1 + pclmul : 0];
	return X86_ENGINES;
#else
	static const struct iw_crc32c_engine list[] = { { "table", run_table },
							ROW_ARMV8 ROW_ISAL };

	*out = list;
	return IW_ARRAY_LEN(list);
#endif
}
