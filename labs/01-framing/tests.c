/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Visible tests: `make test`. Change them as you like; the grader has its own. */
#include <stdio.h>
#include <string.h>

#include "framing.h"

static int failed;

static void octets(const char *name, const uint8_t *expected, size_t expected_len,
		   const uint8_t *seen, size_t seen_len)
{
	if (expected_len == seen_len && (!seen_len || !memcmp(expected, seen, seen_len))) {
		printf("ok    %s\n", name);
		return;
	}
	failed++;
	printf("FAIL  %s\n  expected", name);
	for (size_t i = 0; i < expected_len; i++)
		printf(" %02x", expected[i]);
	printf("\n  seen    ");
	for (size_t i = 0; i < seen_len; i++)
		printf(" %02x", seen[i]);
	printf("\n");
}

static void number(const char *name, size_t expected, size_t seen)
{
	failed += expected != seen;
	printf("%s  %s", expected == seen ? "ok  " : "FAIL", name);
	if (expected != seen)
		printf(": expected %zu (0x%zx), seen %zu (0x%zx)", expected, expected, seen, seen);
	printf("\n");
}

/* The ULPDU "hello": 2 + 5 octets, so one octet of padding. */
static const uint8_t hello[] = {
	0x00, 0x05, 'h', 'e', 'l', 'l', 'o', 0x00, 0x9f, 0xd7, 0x3e, 0x48
};

static void test_crc(void)
{
	uint8_t text[32];

	number("crc: the text \"123456789\"", 0xe3069283, crc32c((const uint8_t *)"123456789", 9));
	memset(text, 0, sizeof(text));
	number("crc: 32 zero octets (RFC 3720 B.4)", 0x8a9136aa, crc32c(text, sizeof(text)));
	memset(text, 0xff, sizeof(text));
	number("crc: 32 octets 0xff (RFC 3720 B.4)", 0x62a8ab43, crc32c(text, sizeof(text)));
	number("crc: no octets", 0, crc32c(text, 0));
}

static void test_build(void)
{
	uint8_t dst[64];
	size_t size;

	number("size: a ULPDU of 14 octets", 20, fpdu_size(14));
	number("size: a ULPDU of 15 octets", 24, fpdu_size(15));
	memset(dst, 0xee, sizeof(dst));
	size = fpdu_build(dst, sizeof(dst), (const uint8_t *)"hello", 5);
	octets("build: the FPDU of \"hello\"", hello, sizeof(hello), dst,
	       size <= sizeof(dst) ? size : 0);
	number("room: 11 octets are not enough for 12", 0,
	       fpdu_build(dst, 11, (const uint8_t *)"hello", 5));
}

static void test_parse(void)
{
	uint8_t stream[sizeof(hello) + 3];
	struct fpdu fpdu = { 0 };

	memset(stream, 0xee, sizeof(stream));
	memcpy(stream, hello, sizeof(hello));
	number("parse: an FPDU and three octets of the next", FPDU_OK,
	       fpdu_parse(stream, sizeof(stream), &fpdu));
	octets("parse: its ULPDU", (const uint8_t *)"hello", 5, fpdu.ulpdu,
	       fpdu.ulpdu ? fpdu.ulpdu_len : 0);
	number("parse: all but its last octet", FPDU_MORE,
	       fpdu_parse(stream, sizeof(hello) - 1, &fpdu));
	stream[4] ^= 0x01;
	number("damage: one bit of the ULPDU inverted", FPDU_BAD_CRC,
	       fpdu_parse(stream, sizeof(hello), &fpdu));
}

static void test_stream(void)
{
	struct framer *f = framer_new();
	const uint8_t *ulpdu = NULL;
	size_t len = 0, found = 0;

	if (!f) {
		number("stream: framer_new() returns a receiver", 1, 0);
		return;
	}
	/* Twice the same FPDU, one octet at a time. */
	for (size_t i = 0; i < 2 * sizeof(hello); i++) {
		framer_put(f, &hello[i % sizeof(hello)], 1);
		while (framer_next(f, &ulpdu, &len) == FPDU_OK)
			found += len == 5 && !memcmp(ulpdu, "hello", 5);
	}
	number("stream: two FPDUs, one octet at a time", 2, found);
	framer_free(f);
}

static void test_markers(void)
{
	/* At position 508 a marker follows after 4 octets. At position 512 it is before the length. */
	static const uint8_t at_508[] = { 0x00, 0x05, 'h', 'e',  0x00, 0x00, 0x00, 0x04,
					  'l',  'l',  'o', 0x00, 0x47, 0x97, 0x93, 0x68 };
	static const uint8_t at_512[] = { 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 'h',  'e',
					  'l',  'l',  'o',  0x00, 0x48, 0xd0, 0x76, 0xef };
	uint8_t dst[64];
	size_t size;

	size = fpdu_build_marked(dst, sizeof(dst), 508, (const uint8_t *)"hello", 5);
	octets("markers: at position 508", at_508, sizeof(at_508), dst,
	       size <= sizeof(dst) ? size : 0);
	size = fpdu_build_marked(dst, sizeof(dst), 512, (const uint8_t *)"hello", 5);
	octets("markers: at position 512", at_512, sizeof(at_512), dst,
	       size <= sizeof(dst) ? size : 0);
}

int main(void)
{
	test_crc();
	test_build();
	test_parse();
	test_stream();
	test_markers();
	return failed != 0;
}
