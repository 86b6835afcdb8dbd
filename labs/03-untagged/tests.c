/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Visible tests of your queues. `make test` builds them with AddressSanitizer and
 * UndefinedBehaviorSanitizer. They stop at the first failure. The grader has many more cases.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "untagged.h"

/* Macros, so that a failure names the line of the test. */
#define NUMBER(what, expected, seen)      number(__LINE__, what, expected, seen)
#define OCTETS(what, expected, seen, len) octets(__LINE__, what, expected, seen, len)
#define RECEIVE(u, segment, expected)                                                              \
	NUMBER("result of untagged_receive()", expected,                                           \
	       untagged_receive(u, segment, sizeof(segment)))

static void number(int line, const char *what, long long expected, long long seen)
{
	if (expected == seen)
		return;
	printf("FAIL: tests.c:%d: %s: expected %lld (0x%llx), seen %lld (0x%llx)\n", line, what,
	       expected, (unsigned long long)expected, seen, (unsigned long long)seen);
	exit(1);
}

static void print_octets(const char *name, const uint8_t *at, size_t len)
{
	printf("\n  %s", name);
	for (size_t i = 0; i < len; i++)
		printf(" %02x", at[i]);
}

static void octets(int line, const char *what, const void *expected, const void *seen, size_t len)
{
	if (memcmp(expected, seen, len) == 0)
		return;
	printf("FAIL: tests.c:%d: %s:", line, what);
	print_octets("expected", expected, len);
	print_octets("seen    ", seen, len);
	printf("\n");
	exit(1);
}

/* A receiver with the same depth and first MSN on all queues. */
static struct untagged *receiver(uint32_t depth, uint32_t first_msn)
{
	const uint32_t depths[UNTAGGED_QUEUES] = { depth, depth, depth };
	const uint32_t firsts[UNTAGGED_QUEUES] = { first_msn, first_msn, first_msn };
	struct untagged *u = untagged_new(depths, firsts);

	NUMBER("untagged_new() returns a receiver", true, u != NULL);
	return u;
}

/* --- segments, octet by octet --- */

/* clang-format off */
/* A Send of one segment, MSN 1. */
static const uint8_t hello[] = {
	0x41, 0x43, 0x00, 0x00, 0x00, 0x00, /* DDP control, RDMAP control, Invalidate STag */
	0x00, 0x00, 0x00, 0x00, /* QN */
	0x00, 0x00, 0x00, 0x01, /* MSN */
	0x00, 0x00, 0x00, 0x00, /* MO */
	'h', 'e', 'l', 'l', 'o',
};
/* The same message in two segments. This one does not have the L flag. */
static const uint8_t first_part[] = {
	0x01, 0x43, 0x00, 0x00, 0x00, 0x00, /* DDP control, RDMAP control, Invalidate STag */
	0x00, 0x00, 0x00, 0x00, /* QN */
	0x00, 0x00, 0x00, 0x01, /* MSN */
	0x00, 0x00, 0x00, 0x00, /* MO */
	'h', 'e', 'l',
};
/* And the second one. */
static const uint8_t last_part[] = {
	0x41, 0x43, 0x00, 0x00, 0x00, 0x00, /* DDP control, RDMAP control, Invalidate STag */
	0x00, 0x00, 0x00, 0x00, /* QN */
	0x00, 0x00, 0x00, 0x01, /* MSN */
	0x00, 0x00, 0x00, 0x03, /* MO */
	'l', 'o',
};
/* A last segment of the same message, for MO 5. */
static const uint8_t last_part_at_5[] = {
	0x41, 0x43, 0x00, 0x00, 0x00, 0x00, /* DDP control, RDMAP control, Invalidate STag */
	0x00, 0x00, 0x00, 0x00, /* QN */
	0x00, 0x00, 0x00, 0x01, /* MSN */
	0x00, 0x00, 0x00, 0x05, /* MO */
	'l', 'o',
};
/* A Send with Invalidate, STag 0x11223344, MSN 2. */
static const uint8_t hi[] = {
	0x41, 0x44, 0x11, 0x22, 0x33, 0x44, /* DDP control, RDMAP control, Invalidate STag */
	0x00, 0x00, 0x00, 0x00, /* QN */
	0x00, 0x00, 0x00, 0x02, /* MSN */
	0x00, 0x00, 0x00, 0x00, /* MO */
	'h', 'i',
};
/* A zero-length Send, MSN 1. */
static const uint8_t empty[] = {
	0x41, 0x43, 0x00, 0x00, 0x00, 0x00, /* DDP control, RDMAP control, Invalidate STag */
	0x00, 0x00, 0x00, 0x00, /* QN */
	0x00, 0x00, 0x00, 0x01, /* MSN */
	0x00, 0x00, 0x00, 0x00, /* MO */
};
/* A Send with the largest MSN, and the one after it. */
static const uint8_t largest[] = {
	0x41, 0x43, 0x00, 0x00, 0x00, 0x00, /* DDP control, RDMAP control, Invalidate STag */
	0x00, 0x00, 0x00, 0x00, /* QN */
	0xff, 0xff, 0xff, 0xff, /* MSN */
	0x00, 0x00, 0x00, 0x00, /* MO */
	'a',
};
static const uint8_t wrapped[] = {
	0x41, 0x43, 0x00, 0x00, 0x00, 0x00, /* DDP control, RDMAP control, Invalidate STag */
	0x00, 0x00, 0x00, 0x00, /* QN */
	0x00, 0x00, 0x00, 0x00, /* MSN */
	0x00, 0x00, 0x00, 0x00, /* MO */
	'b',
};
/* A segment for queue 3. */
static const uint8_t queue_3[] = {
	0x41, 0x43, 0x00, 0x00, 0x00, 0x00, /* DDP control, RDMAP control, Invalidate STag */
	0x00, 0x00, 0x00, 0x03, /* QN */
	0x00, 0x00, 0x00, 0x01, /* MSN */
	0x00, 0x00, 0x00, 0x00, /* MO */
	'x',
};
/* The largest MO. */
static const uint8_t far[] = {
	0x41, 0x43, 0x00, 0x00, 0x00, 0x00, /* DDP control, RDMAP control, Invalidate STag */
	0x00, 0x00, 0x00, 0x00, /* QN */
	0x00, 0x00, 0x00, 0x01, /* MSN */
	0xff, 0xff, 0xff, 0xff, /* MO */
	'l', 'o',
};
/* clang-format on */

/* --- tests --- */

static void buffers_return_in_order(void)
{
	struct untagged *u = receiver(2, 1);
	uint8_t a[8], b[8];
	uint64_t cookie = 0;

	NUMBER("the first post", true, untagged_post(u, 0, a, sizeof(a), 70));
	NUMBER("the second post", true, untagged_post(u, 0, b, sizeof(b), 71));
	NUMBER("a third post on a queue of depth 2", false, untagged_post(u, 0, b, sizeof(b), 72));
	NUMBER("a post on queue 3", false, untagged_post(u, 3, b, sizeof(b), 73));
	NUMBER("the first flush", true, untagged_flush(u, 0, &cookie));
	NUMBER("its cookie", 70, (long long)cookie);
	NUMBER("the second flush", true, untagged_flush(u, 0, &cookie));
	NUMBER("its cookie", 71, (long long)cookie);
	NUMBER("a third flush", false, untagged_flush(u, 0, &cookie));
	untagged_free(u);
}

static void a_message_is_delivered_once(void)
{
	struct untagged *u = receiver(2, 1);
	struct untagged_message m = { 0 };
	uint8_t a[] = "........", b[8];

	untagged_post(u, 0, a, sizeof(a), 70);
	untagged_post(u, 0, b, sizeof(b), 71);
	NUMBER("delivery before the segment", false, untagged_deliver(u, 0, &m));
	RECEIVE(u, hello, UNTAGGED_PLACED);
	OCTETS("the buffer", "hello...", a, 8);
	NUMBER("delivery", true, untagged_deliver(u, 0, &m));
	NUMBER("cookie", 70, (long long)m.cookie);
	NUMBER("memory is that of the buffer", true, m.memory == a);
	NUMBER("MSN", 1, m.msn);
	NUMBER("length", 5, m.length);
	NUMBER("control octet", 0x43, m.control);
	NUMBER("second delivery", false, untagged_deliver(u, 0, &m));
	RECEIVE(u, hi, UNTAGGED_PLACED);
	NUMBER("delivery of MSN 2", true, untagged_deliver(u, 0, &m));
	NUMBER("its Invalidate STag", 0x11223344, m.rsvdulp);
	untagged_free(u);
}

static void a_zero_length_message_uses_a_buffer(void)
{
	struct untagged *u = receiver(2, 1);
	struct untagged_message m = { 0 };
	uint8_t b[8];

	untagged_post(u, 0, NULL, 0, 70);
	untagged_post(u, 0, b, sizeof(b), 71);
	RECEIVE(u, empty, UNTAGGED_PLACED);
	RECEIVE(u, hi, UNTAGGED_PLACED);
	NUMBER("delivery", true, untagged_deliver(u, 0, &m));
	NUMBER("cookie", 70, (long long)m.cookie);
	NUMBER("length", 0, m.length);
	NUMBER("delivery of MSN 2", true, untagged_deliver(u, 0, &m));
	NUMBER("its cookie", 71, (long long)m.cookie);
	untagged_free(u);
}

static void segments_are_placed_at_their_mo(void)
{
	struct untagged *u = receiver(1, 1);
	struct untagged_message m = { 0 };
	static const uint8_t after_one[] = { 'h', 'e', 'l', '.', '.', '.', '.', '.' };
	uint8_t a[] = "........";

	untagged_post(u, 0, a, sizeof(a), 70);
	RECEIVE(u, first_part, UNTAGGED_PLACED);
	OCTETS("the buffer after one segment", after_one, a, 8);
	NUMBER("delivery before the L segment", false, untagged_deliver(u, 0, &m));
	RECEIVE(u, last_part, UNTAGGED_PLACED);
	OCTETS("the buffer after two segments", "hello...", a, 8);
	NUMBER("delivery", true, untagged_deliver(u, 0, &m));
	NUMBER("length", 5, m.length);
	untagged_free(u);
}

static void the_msn_wraps(void)
{
	struct untagged *u = receiver(2, 0xffffffff);
	struct untagged_message m = { 0 };
	uint8_t a[1], b[1];

	untagged_post(u, 0, a, sizeof(a), 70);
	untagged_post(u, 0, b, sizeof(b), 71);
	RECEIVE(u, largest, UNTAGGED_PLACED);
	NUMBER("delivery", true, untagged_deliver(u, 0, &m));
	NUMBER("MSN", 0xffffffff, m.msn);
	RECEIVE(u, wrapped, UNTAGGED_PLACED);
	NUMBER("delivery after the wrap", true, untagged_deliver(u, 0, &m));
	NUMBER("MSN after the wrap", 0, m.msn);
	untagged_free(u);
}

static void segments_may_arrive_in_any_order(void)
{
	struct untagged *u = receiver(2, 1);
	struct untagged_message m = { 0 };
	uint8_t a[8], b[8];

	untagged_post(u, 0, a, sizeof(a), 70);
	untagged_post(u, 0, b, sizeof(b), 71);
	RECEIVE(u, hi, UNTAGGED_PLACED);
	NUMBER("delivery of MSN 2 before MSN 1", false, untagged_deliver(u, 0, &m));
	RECEIVE(u, last_part, UNTAGGED_PLACED);
	NUMBER("delivery with the first octets missing", false, untagged_deliver(u, 0, &m));
	RECEIVE(u, first_part, UNTAGGED_PLACED);
	NUMBER("delivery", true, untagged_deliver(u, 0, &m));
	OCTETS("the message", "hello", a, 5);
	NUMBER("MSN", 1, m.msn);
	NUMBER("next delivery", true, untagged_deliver(u, 0, &m));
	NUMBER("MSN", 2, m.msn);
	untagged_free(u);
}

static void a_repeated_segment_fills_no_hole(void)
{
	struct untagged *u = receiver(1, 1);
	struct untagged_message m = { 0 };
	uint8_t a[8];

	untagged_post(u, 0, a, sizeof(a), 70);
	RECEIVE(u, first_part, UNTAGGED_PLACED);
	RECEIVE(u, first_part, UNTAGGED_NOTHING_NEW);
	RECEIVE(u, last_part_at_5, UNTAGGED_PLACED);
	/* 3 + 3 + 2 octets have arrived, and the message has 7. */
	NUMBER("delivery with a hole", false, untagged_deliver(u, 0, &m));
	untagged_free(u);
}

static void a_wrong_queue_ends_reception(void)
{
	struct untagged *u = receiver(1, 1);
	struct untagged_message m = { 0 };
	uint8_t a[] = "........";

	untagged_post(u, 0, a, sizeof(a), 70);
	RECEIVE(u, queue_3, UNTAGGED_QN);
	RECEIVE(u, hello, UNTAGGED_DROPPED);
	OCTETS("the buffer", "........", a, 8);
	NUMBER("delivery", false, untagged_deliver(u, 0, &m));
	untagged_free(u);
}

/* Gives the result of one segment for a buffer of `size` octets, MSN 1 and depth 1. */
static int result_of(const uint8_t *segment, size_t len, uint32_t size)
{
	struct untagged *u = receiver(1, 1);
	uint8_t *a = malloc(size);
	int result;

	untagged_post(u, 0, a, size, 70);
	result = untagged_receive(u, segment, len);
	untagged_free(u);
	free(a);
	return result;
}

static void wrong_segments_have_their_codes(void)
{
	uint8_t version_0[sizeof(hello)];

	memcpy(version_0, hello, sizeof(hello));
	version_0[0] = 0x40;
	NUMBER("DV 0", UNTAGGED_VERSION, result_of(version_0, sizeof(version_0), 8));
	NUMBER("17 octets", UNTAGGED_LOCAL, result_of(hello, 17, 8));
	NUMBER("MSN 2 with depth 1", UNTAGGED_MSN, result_of(hi, sizeof(hi), 8));
	NUMBER("MO 0xffffffff", UNTAGGED_MO, result_of(far, sizeof(far), 8));
	NUMBER("5 octets for a buffer of 4", UNTAGGED_TOO_LONG, result_of(hello, sizeof(hello), 4));
	NUMBER("5 octets for a buffer of 5", UNTAGGED_PLACED, result_of(hello, sizeof(hello), 5));
}

static void no_buffer_is_not_a_wrong_msn(void)
{
	struct untagged *u = receiver(2, 1);
	uint8_t a[8];

	untagged_post(u, 0, a, sizeof(a), 70);
	/* The queue has room for a buffer with MSN 2, but the owner was too slow. */
	RECEIVE(u, hi, UNTAGGED_NO_BUFFER);
	untagged_free(u);
}

static void a_delivered_message_is_in_the_past(void)
{
	struct untagged *u = receiver(2, 1);
	struct untagged_message m = { 0 };
	uint8_t a[8], b[8];

	untagged_post(u, 0, a, sizeof(a), 70);
	untagged_post(u, 0, b, sizeof(b), 71);
	RECEIVE(u, hello, UNTAGGED_PLACED);
	NUMBER("delivery", true, untagged_deliver(u, 0, &m));
	RECEIVE(u, hello, UNTAGGED_MSN);
	untagged_free(u);
}

static void a_flush_ends_delivery(void)
{
	struct untagged *u = receiver(2, 1);
	struct untagged_message m = { 0 };
	uint8_t a[8], b[8];
	uint64_t cookie = 0;

	untagged_post(u, 0, a, sizeof(a), 70);
	untagged_post(u, 0, b, sizeof(b), 71);
	RECEIVE(u, first_part, UNTAGGED_PLACED);
	RECEIVE(u, hi, UNTAGGED_PLACED);
	NUMBER("flush", true, untagged_flush(u, 0, &cookie));
	NUMBER("its cookie", 70, (long long)cookie);
	NUMBER("delivery after a flush", false, untagged_deliver(u, 0, &m));
	RECEIVE(u, last_part, UNTAGGED_DROPPED);
	/* AddressSanitizer reports memory that untagged_free() leaves, when the program ends. */
	untagged_free(u);
}

#define TEST(name)                                                                                 \
	{                                                                                          \
#name, name                                                                        \
	}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		TEST(buffers_return_in_order),
		TEST(a_message_is_delivered_once),
		TEST(a_zero_length_message_uses_a_buffer),
		TEST(segments_are_placed_at_their_mo),
		TEST(the_msn_wraps),
		TEST(segments_may_arrive_in_any_order),
		TEST(a_repeated_segment_fills_no_hole),
		TEST(a_wrong_queue_ends_reception),
		TEST(wrong_segments_have_their_codes),
		TEST(no_buffer_is_not_a_wrong_msn),
		TEST(a_delivered_message_is_in_the_past),
		TEST(a_flush_ends_delivery),
	};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		tests[i].run();
		printf("ok %s\n", tests[i].name);
	}
	return 0;
}
