// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* CRC32c: vectors, and each engine compared with the definition and with the others. */
#include "wire/crc32c.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "rng.h"
#include "util/num.h"
#include "vectors/crc32c.h"
#include "vectors/mpa.h"
#include "vectors/sctp.h"

/* The definition (RFC 9260 appendix A, RFC 3720 12.1): the reflected polynomial, one bit at a
 * time. */
static uint32_t by_definition(uint32_t crc, const uint8_t *p, size_t len)
{
	uint32_t reg = ~crc;

	while (len--) {
		reg ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			reg = reg & 1 ? reg >> 1 ^ 0x82f63b78 : reg >> 1;
	}
	return ~reg;
}

static const struct iw_crc32c_engine dispatch = { "iw_crc32c", iw_crc32c };

/* The engines that run here, and then iw_crc32c(). */
static size_t runnable(const struct iw_crc32c_engine *out[8])
{
	const struct iw_crc32c_engine *list;
	size_t all = iw_crc32c_engines(&list), n = 0;

	assert_true(all >= 1 && all < 8);
	for (size_t i = 0; i < all; i++)
		if (list[i].run)
			out[n++] = &list[i];
	out[n++] = &dispatch;
	return n;
}

/* MPA-21 */
static void every_engine_gives_the_rfc_3720_vectors(void **state)
{
	const struct iw_crc32c_engine *e[8];
	size_t n = runnable(e);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t v = 0; v < IW_ARRAY_LEN(crc32c_vectors); v++) {
			const struct vector *in = &crc32c_vectors[v].in;
			uint8_t wire[4];

			iw_put_le32(wire, e[i]->run(0, in->octets, in->len));
			if (memcmp(wire, crc32c_vectors[v].crc, 4) != 0)
				fail_msg("engine %s: wrong CRC of %s", e[i]->name, in->name);
		}
}

/* MPA-21: RFC 5044 figures 5 and 6, and computed FPDUs. */
static void every_engine_gives_the_crc_of_each_fpdu(void **state)
{
	static const struct vector marked[] = {
		VECTOR(figure5, "RFC 5044 figure 5"),
		VECTOR(figure6, "RFC 5044 figure 6"),
		VECTOR(figure5_rdmac, "RFC 5044 appendix C"),
		VECTOR(fpdu_behind_512, "RFC 5044 4.3"),
	};
	const struct iw_crc32c_engine *e[8];
	size_t n = runnable(e);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t v = 0; v < VECTOR_COUNT(fpdu_vectors) + VECTOR_COUNT(marked); v++) {
			const struct vector *f = v < VECTOR_COUNT(fpdu_vectors)
							 ? &fpdu_vectors[v]
							 : &marked[v - VECTOR_COUNT(fpdu_vectors)];
			uint8_t wire[4];

			iw_put_le32(wire, e[i]->run(0, f->octets, f->len - 4));
			if (memcmp(wire, f->octets + f->len - 4, 4) != 0)
				fail_msg("engine %s: wrong CRC of %s", e[i]->name, f->name);
		}
}

/* RFC 9260 6.8: the CRC of the packet with a checksum field of 0. */
static void sctp_checksum_is_the_same_crc(void **state)
{
	uint8_t packet[64], wire[4];

	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(sctp_vectors); v++) {
		assert_true(sctp_vectors[v].len <= sizeof(packet));
		memcpy(packet, sctp_vectors[v].octets, sctp_vectors[v].len);
		memset(packet + SCTP_CHECKSUM_POS, 0, 4);
		iw_put_le32(wire, iw_crc32c(0, packet, sctp_vectors[v].len));
		assert_memory_equal(wire, sctp_vectors[v].octets + SCTP_CHECKSUM_POS, 4);
	}
}

/* RFC 3720 12.1: the CRC of any data followed by their CRC is a constant, here 0x48674bc7. */
static void data_with_its_crc_leave_the_known_remainder(void **state)
{
	(void)state;
	for (size_t v = 0; v < VECTOR_COUNT(fpdu_vectors); v++)
		assert_true(iw_crc32c(0, fpdu_vectors[v].octets, fpdu_vectors[v].len) ==
			    0x48674bc7);
}

/* All lengths up to several steps of each engine, and all alignments of a word. */
static void engines_agree_with_the_definition_at_every_length_and_alignment(void **state)
{
	const struct iw_crc32c_engine *e[8];
	size_t n = runnable(e);
	static uint8_t buf[2200];
	struct rng r = { 3 };

	(void)state;
	rng_fill(&r, buf, sizeof(buf));
	for (size_t align = 0; align < 8; align++) {
		uint32_t expected = (uint32_t)rng_next(&r), seed = expected;

		for (size_t len = 0; len + align <= sizeof(buf); len++) {
			for (size_t i = 0; i < n; i++)
				if (e[i]->run(seed, buf + align, len) != expected)
					fail_msg("engine %s, length %zu, alignment %zu", e[i]->name,
						 len, align);
			if (len + align < sizeof(buf))
				expected = by_definition(expected, buf + align + len, 1);
		}
	}
}

static void engines_agree_at_random_lengths(void **state)
{
	const struct iw_crc32c_engine *e[8];
	size_t n = runnable(e), cap = 300000;
	uint8_t *buf = malloc(cap);
	struct rng r = { 4 };

	(void)state;
	assert_non_null(buf);
	rng_fill(&r, buf, cap);
	for (int round = 0; round < 2000; round++) {
		/* mostly short, sometimes long */
		size_t most = rng_below(&r, 20) ? 9000 : cap - 64;
		size_t len = rng_below(&r, most), at = rng_below(&r, 64);
		uint32_t seed = (uint32_t)rng_next(&r);
		uint32_t expected = e[0]->run(seed, buf + at, len);

		for (size_t i = 1; i < n; i++)
			if (e[i]->run(seed, buf + at, len) != expected)
				fail_msg("engine %s against %s: length %zu at %zu", e[i]->name,
					 e[0]->name, len, at);
	}
	free(buf);
}

/* An allocation of exactly the length, so that a sanitizer detects a read past its end. */
static void no_engine_reads_past_the_end(void **state)
{
	const struct iw_crc32c_engine *e[8];
	size_t n = runnable(e);

	(void)state;
	for (size_t len = 0; len <= 1600; len += len < 300 ? 1 : 7) {
		uint8_t *exact = malloc(len ? len : 1);

		assert_non_null(exact);
		memset(exact, (int)len, len ? len : 1);
		for (size_t i = 0; i < n; i++)
			assert_true(e[i]->run(0, exact, len) == by_definition(0, exact, len));
		free(exact);
	}
}

static void pieces_give_the_crc_of_the_whole(void **state)
{
	const struct iw_crc32c_engine *e[8];
	size_t n = runnable(e);
	static uint8_t buf[5000];
	struct rng r = { 5 };

	(void)state;
	rng_fill(&r, buf, sizeof(buf));
	for (size_t i = 0; i < n; i++) {
		uint32_t whole = e[i]->run(0, buf, sizeof(buf));

		for (int round = 0; round < 300; round++) {
			uint32_t crc = 0;
			size_t at = 0;

			while (at < sizeof(buf)) {
				size_t len = rng_below(&r, 1200);

				len = IW_MIN(len, sizeof(buf) - at);
				crc = e[i]->run(crc, buf + at, len);
				at += len;
			}
			assert_true(crc == whole);
		}
	}
}

/*
 * The length of isa-l is an int: longer data needs several calls. Pages that are never written need
 * no memory.
 */
static void isal_takes_more_than_an_int_can_count(void **state)
{
	const struct iw_crc32c_engine *list;
	size_t n = iw_crc32c_engines(&list), len = (size_t)UINT_MAX + 4099, at = 0;
	uint32_t expected = 0;
	uint8_t *p;

	(void)state;
	if (strcmp(list[n - 1].name, "isal") != 0 || SIZE_MAX == UINT_MAX) {
		print_message("# needs isal: built without isa-l, or 32-bit\n");
		skip();
	}
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	if (p == MAP_FAILED) {
		print_message("# needs memory: 4 GiB of address space were refused\n");
		skip();
	}
	p[UINT_MAX] = 1;
	p[len - 1] = 2;
	while (at < len) {
		size_t piece = IW_MIN((size_t)1 << 20, len - at);

		expected = iw_crc32c(expected, p + at, piece);
		at += piece;
	}
	assert_true(list[n - 1].run(0, p, len) == expected);
	munmap(p, len);
}

static void copy_copies_and_sums_what_arrived(void **state)
{
	size_t cap = 70000;
	uint8_t *src = malloc(cap), *dst = malloc(cap);
	struct rng r = { 6 };

	(void)state;
	assert_non_null(src);
	assert_non_null(dst);
	rng_fill(&r, src, cap);
	for (int round = 0; round < 500; round++) {
		size_t len = rng_below(&r, rng_below(&r, 8) ? 9000 : cap - 64);
		size_t from = rng_below(&r, 64), to = rng_below(&r, 63) + 1;
		uint32_t seed = (uint32_t)rng_next(&r);

		memset(dst, 0xee, len + 64);
		assert_true(iw_crc32c_copy(seed, dst + to, src + from, len) ==
			    iw_crc32c(seed, src + from, len));
		assert_memory_equal(dst + to, src + from, len);
		assert_int_equal(dst[to - 1], 0xee);
		assert_int_equal(dst[to + len], 0xee);
	}
	free(src);
	free(dst);
}

static void engines_have_names_and_the_table_always_runs(void **state)
{
	const struct iw_crc32c_engine *list, *again;
	size_t n = iw_crc32c_engines(&list);

	(void)state;
	assert_int_equal(iw_crc32c_engines(&again), n);
	assert_ptr_equal(list, again);
	assert_string_equal(list[0].name, "table");
	assert_non_null(list[0].run);
	for (size_t i = 0; i < n; i++) {
		assert_true(strlen(list[i].name) > 0);
		print_message("engine %s: %s\n", list[i].name,
			      list[i].run ? "runs" : "not on this CPU");
	}
}

#if defined(__x86_64__)
#define STORE(n) "vmovdqu %%ymm" #n ", 32*" #n "(%0)\n\t"

/* The number of bytes in the upper halves of the vector registers that are not 0. */
__attribute__((target("avx"))) static unsigned in_upper_halves(void)
{
	uint8_t reg[16][32];
	unsigned n = 0;

	__asm__ volatile(STORE(0) STORE(1) STORE(2) STORE(3) STORE(4) STORE(5) STORE(6) STORE(7)
				 STORE(8) STORE(9) STORE(10) STORE(11) STORE(12) STORE(13) STORE(14)
					 STORE(15)
			 :
			 : "r"(reg)
			 : "memory");
	for (size_t i = 0; i < IW_ARRAY_LEN(reg); i++)
		for (size_t k = sizeof(reg[i]) / 2; k < sizeof(reg[i]); k++)
			n += reg[i][k] != 0;
	return n;
}

__attribute__((target("avx"))) static void clear_upper_halves(void)
{
	__asm__ volatile("vzeroupper");
}

/* Otherwise all later instructions for 128 bits are slow, which doubles the time of a bulk
 * transfer. */
static void upper_halves_of_vector_registers_are_left_clear(void **state)
{
	static uint8_t data[65536];
	struct rng r = { 7 };
	const struct iw_crc32c_engine *e[8];
	size_t n = runnable(e);

	(void)state;
	if (!__builtin_cpu_supports("avx"))
		return; /* it has none */
	rng_fill(&r, data, sizeof(data));
	for (size_t i = 0; i < n; i++)
		for (size_t len = 1; len <= sizeof(data); len *= 2) {
			clear_upper_halves();
			(void)e[i]->run(0, data, len);
			if (in_upper_halves() > 0)
				fail_msg("%s: %zu octets", e[i]->name, len);
		}
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_engine_gives_the_rfc_3720_vectors),
		cmocka_unit_test(every_engine_gives_the_crc_of_each_fpdu),
		cmocka_unit_test(sctp_checksum_is_the_same_crc),
		cmocka_unit_test(data_with_its_crc_leave_the_known_remainder),
		cmocka_unit_test(engines_agree_with_the_definition_at_every_length_and_alignment),
		cmocka_unit_test(engines_agree_at_random_lengths),
		cmocka_unit_test(no_engine_reads_past_the_end),
		cmocka_unit_test(pieces_give_the_crc_of_the_whole),
		cmocka_unit_test(isal_takes_more_than_an_int_can_count),
		cmocka_unit_test(copy_copies_and_sums_what_arrived),
#if defined(__x86_64__)
		cmocka_unit_test(upper_halves_of_vector_registers_are_left_clear),
#endif
		cmocka_unit_test(engines_have_names_and_the_table_always_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
