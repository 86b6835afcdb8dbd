/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fixed cases for your module, in the order of the steps. Read them: each shows one rule. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrival.h"

static int failures;

static void number(const char *what, uint64_t expected, uint64_t seen)
{
	if (expected == seen) {
		printf("ok    %s\n", what);
		return;
	}
	printf("FAIL: %s: expected %" PRIu64 ", seen %" PRIu64 "\n", what, expected, seen);
	failures++;
}

/* All octets in these tests are printable. */
static void octets(const char *what, const void *expected, const void *seen, size_t len)
{
	if (memcmp(expected, seen, len) == 0) {
		printf("ok    %s\n", what);
		return;
	}
	printf("FAIL: %s: expected \"%.*s\", seen \"%.*s\"\n", what, (int)len,
	       (const char *)expected, (int)len, (const char *)seen);
	failures++;
}

/* --- step 1 ----------------------------------------------------------------------------------- */

static uint64_t number_or_never(uint64_t next, uint16_t ssn)
{
	uint64_t n = 0;

	return number_of(&n, next, ssn) ? n : UINT64_MAX;
}

static void test_number(void)
{
	number("1: the next segment", 1, number_or_never(1, 1));
	number("1: a copy of the Accept, which had number 0", 0, number_or_never(1, 0));
	number("1: nothing was sent before number 0", UINT64_MAX, number_or_never(1, 65535));
	number("1: after 65535 comes DDP-SSN 0", 65536, number_or_never(65530, 0));
	number("1: and an old 65535 stays what it was", 65535, number_or_never(65540, 65535));
}

/* --- steps 2 to 6: chunks of one session ------------------------------------------------------ */

/*
 * Two messages with two segments each: A is tagged, B is untagged and has MSN 1. The first octet
 * after the DDP-SSN has T (0x80), L (0x40) and the DDP version 1; the next one is RDMAP's.
 */
static const uint8_t a1[] = {
	0x00, 0x01,                                     /* DDP-SSN 1 */
	0x81, 0x40,                                     /* T, RDMA Write */
	0x00, 0x00, 0x00, 0x05,                         /* STag 5 */
	0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, /* TO 0x100000002 */
	'a',  'b',  'c',
};
static const uint8_t a2[] = {
	0x00, 0x02,                                     /* DDP-SSN 2 */
	0xc1, 0x40,                                     /* T, L, RDMA Write */
	0x00, 0x00, 0x00, 0x05,                         /* STag 5 */
	0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x05, /* TO 0x100000005 */
	'd',  'e',
};
static const uint8_t b1[] = {
	0x00, 0x03,             /* DDP-SSN 3 */
	0x01, 0x43,             /* Send */
	0x00, 0x00, 0x00, 0x00, /* no Invalidate STag */
	0x00, 0x00, 0x00, 0x00, /* QN 0 */
	0x00, 0x00, 0x00, 0x01, /* MSN 1 */
	0x00, 0x00, 0x00, 0x00, /* MO 0 */
	'v',  'w',
};
static const uint8_t b2[] = {
	0x00, 0x04,             /* DDP-SSN 4 */
	0x41, 0x43,             /* L, Send */
	0x00, 0x00, 0x00, 0x00, /* no Invalidate STag */
	0x00, 0x00, 0x00, 0x00, /* QN 0 */
	0x00, 0x00, 0x00, 0x01, /* MSN 1 */
	0x00, 0x00, 0x00, 0x02, /* MO 2 */
	'x',  'y',
};

/* One octet for an STag that is not registered. */
static const uint8_t stranger[] = {
	0x00, 0x01, 0xc1, 0x40, 0x00, 0x00, 0x00, 0x06, 0x00,
	0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, '!',
};

enum { BUFFER = 8, AFTER = 16 };
/* Two buffers of BUFFER octets. Octets placed after their end are a failed test, not a crash. */
static uint8_t tagged[BUFFER + AFTER], untagged[BUFFER + AFTER];

static struct receiver *session(uint32_t window)
{
	struct receiver *r = receiver_new(window);

	memset(tagged, '.', sizeof(tagged));
	memset(untagged, '.', sizeof(untagged));
	if (!r || !receiver_register(r, 5, 0x100000000, tagged, BUFFER) ||
	    !receiver_post(r, untagged, BUFFER)) {
		printf("FAIL: a new receiver with two buffers\n");
		exit(1);
	}
	return r;
}

/* Passes a chunk to the receiver, in memory that does not stay. */
static enum arrival arrive(struct receiver *r, const uint8_t *chunk, size_t len)
{
	uint8_t *copy = malloc(len);
	enum arrival result;
	struct segment s;

	memcpy(copy, chunk, len);
	chunk_decode(&s, copy, len);
	result = receiver_arrive(r, &s);
	free(copy);
	return result;
}
#define ARRIVE(r, chunk) arrive(r, chunk, sizeof(chunk))

static void test_place(void)
{
	struct receiver *r = session(8);

	number("2: the second segment comes first", ARRIVAL_PLACED, ARRIVE(r, a2));
	octets("2: and is placed at once", ".....de.", tagged, 8);
	number("2: so does that of an untagged message", ARRIVAL_PLACED, ARRIVE(r, b2));
	octets("2: it is placed at its MO", "..xy....", untagged, 8);
	number("2: the first segment", ARRIVAL_PLACED, ARRIVE(r, a1));
	octets("2: its octets are before the others", "..abcde.", tagged, 8);
	receiver_free(r);
}

static void test_deliver(void)
{
	struct receiver *r = session(8);
	struct delivery d = { 0 };

	ARRIVE(r, a2);
	number("3: a message with a hole is not delivered", false, receiver_deliver(r, &d));
	number("3: its segment is early", 1, receiver_early(r));
	ARRIVE(r, b1);
	ARRIVE(r, b2);
	number("3: a complete message waits for the one before it", false, receiver_deliver(r, &d));
	ARRIVE(r, a1);
	number("3: the hole is filled: the first message", true, receiver_deliver(r, &d));
	number("3: it is tagged", true, d.tagged);
	number("3: its TO is that of its first octet", 0x100000002, d.to);
	number("3: its length is that of all segments", 5, d.len);
	number("3: then the second message", true, receiver_deliver(r, &d));
	number("3: it is untagged, with MSN 1", 1, d.tagged ? 0 : d.msn);
	number("3: its length", 4, d.len);
	number("3: and no third one", false, receiver_deliver(r, &d));
	number("3: no segment is early", 0, receiver_early(r));
	receiver_free(r);
}

static void test_duplicate(void)
{
	struct receiver *r = session(8);
	uint8_t other[sizeof(a2)];
	struct delivery d;

	memcpy(other, a2, sizeof(a2));
	memcpy(other + sizeof(a2) - 2, "XX", 2);
	ARRIVE(r, a2);
	number("4: a copy of an early segment", ARRIVAL_DUPLICATE, ARRIVE(r, other));
	ARRIVE(r, a1);
	while (receiver_deliver(r, &d))
		;
	number("4: a copy of a delivered segment", ARRIVAL_DUPLICATE, ARRIVE(r, other));
	octets("4: nothing is placed again", "..abcde.", tagged, 8);
	receiver_free(r);
}

static void test_window(void)
{
	struct receiver *r = session(3);

	number("5: the last segment of the window", ARRIVAL_PLACED, ARRIVE(r, b1));
	number("5: the first segment after it", ARRIVAL_BEYOND, ARRIVE(r, b2));
	octets("5: which is not placed", "vw......", untagged, 8);
	receiver_free(r);
}

static void test_check(void)
{
	uint8_t longer[sizeof(a1) + 10] = { 0 };
	struct receiver *r = session(8);

	number("6: an STag that is not registered", ARRIVAL_STAG, ARRIVE(r, stranger));
	number("6: after an error the receiver has stopped", ARRIVAL_STOPPED, ARRIVE(r, a1));
	receiver_free(r);
	r = session(8);
	memcpy(longer, a1, sizeof(a1));
	number("6: octets after the end of the buffer", ARRIVAL_BOUNDS, ARRIVE(r, longer));
	octets("6: not even a part of the segment is placed", "........", tagged, 8);
	receiver_free(r);
}

/* --- step 7 ----------------------------------------------------------------------------------- */

static void test_stream(void)
{
	struct stream *s = stream_new(0xfffffffe, 8);
	uint8_t read[16] = { 0 };

	if (!s) {
		printf("FAIL: stream_new() returned NULL\n");
		failures++;
		return;
	}
	number("7: octets after a hole are kept", 3,
	       stream_arrive(s, 1, (const uint8_t *)"def", 3));
	number("7: but cannot be read", 0, stream_read(s, read, sizeof(read)));
	number("7: they are held", 3, stream_held(s));
	number("7: the hole is filled, one octet twice", 3,
	       stream_arrive(s, 0xfffffffe, (const uint8_t *)"abcd", 4));
	number("7: nothing is held", 0, stream_held(s));
	number("7: all octets can be read", 6, stream_read(s, read, sizeof(read)));
	octets("7: in order", "abcdef", read, 6);
	number("7: a copy of them is dropped", 0,
	       stream_arrive(s, 0xfffffffe, (const uint8_t *)"abcdef", 6));
	number("7: octets after the window are dropped", 8,
	       stream_arrive(s, 4, (const uint8_t *)"ghijklmnop", 10));
	stream_free(s);
}

/* --- steps 8 and 9: the example of the README ------------------------------------------------- */

static const struct journey example[] = {
	/* stream, last, octets, sent, arrived */
	{ 0, false, 1000, 0, 50 }, { 0, true, 1000, 10, 160 }, /* was lost, and sent again */
	{ 1, true, 500, 20, 70 },  { 0, true, 1000, 30, 80 },  { 1, false, 500, 40, 90 },
	{ 1, true, 500, 50, 110 }, { 0, true, 1000, 60, 170 },
};
#define SEGMENTS (sizeof(example) / sizeof(*example))

static void test_delays(void)
{
	struct delay d[SEGMENTS] = { 0 };

	number("8: messages", 5, delays(d, example, SEGMENTS, OVER_SCTP));
	number("8: SCTP: the second message is placed when it arrives", 50, d[1].placed);
	number("8: SCTP: and delivered, because its stream is complete", 50, d[1].delivered);
	number("8: SCTP: the third one is placed when it arrives", 50, d[2].placed);
	number("8: SCTP: but waits for the first one of its stream", 130, d[2].delivered);
	delays(d, example, SEGMENTS, OVER_TCP);
	number("8: TCP: the second message waits for another stream", 140, d[1].placed);
	number("8: TCP: and is delivered then", 140, d[1].delivered);
}

static void test_figures(void)
{
	static const uint64_t values[] = { 30, 10, 21 };
	uint64_t many[200];

	number("9: SCTP holds nothing", 0, held_most(example, SEGMENTS, OVER_SCTP));
	number("9: TCP holds all that came before the retransmission", 2500,
	       held_most(example, SEGMENTS, OVER_TCP));
	number("9: the mean, rounded down", 20, summarize(values, 3).mean);
	number("9: the 99th percentile of three values", 30, summarize(values, 3).p99);
	for (size_t i = 0; i < 200; i++)
		many[i] = 200 - i;
	number("9: the 99th percentile of 1 to 200", 198, summarize(many, 200).p99);
}

int main(void)
{
	test_number();
	test_place();
	test_deliver();
	test_duplicate();
	test_window();
	test_check();
	test_stream();
	test_delays();
	test_figures();
	printf("%s\n", failures ? "some tests failed" : "all tests passed");
	return failures ? 1 : 0;
}
