/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests that you can read: one or two cases for each step. ./check has many more. Octets are
 * written in hexadecimal; a group of octets is a field. Run them with `make test`.
 */
#include <stdio.h>
#include <string.h>

#include "ddp.h"
#include "read.h"

static const char *test; /* the present one */
static bool failed;      /* it has failed: only its first failure is printed */
static int failures;     /* tests */

static void fail(const char *what, const char *expected, const char *seen)
{
	if (failed)
		return;
	printf("FAIL: %s: %s\n  expected %s\n  seen     %s\n", test, what, expected, seen);
	failed = true;
	failures++;
}

static void begin(const char *name)
{
	if (test && !failed)
		printf("ok    %s\n", test);
	failed = false;
	test = name;
}

static void expect_number(const char *what, uint64_t expected, uint64_t seen)
{
	char a[32], b[32];

	snprintf(a, sizeof(a), "0x%llx", (unsigned long long)expected);
	snprintf(b, sizeof(b), "0x%llx", (unsigned long long)seen);
	if (expected != seen)
		fail(what, a, b);
}

/* expected: such as "0102 03"; blanks mean nothing. */
static void expect_octets(const char *what, const char *expected, const uint8_t *seen, size_t len)
{
	const char *e = expected;
	char text[1000] = "";
	size_t n = 0;

	for (size_t i = 0; i < len && i < 300; i++) {
		while (*e == ' ')
			text[n++] = *e++;
		n += (size_t)snprintf(text + n, 3, "%02x", seen[i]);
		e += strnlen(e, 2);
	}
	if (strcmp(expected, text) != 0)
		fail(what, *expected ? expected : "no octets", *text ? text : "no octets");
}

/* --- what the tests work with ----------------------------------------------------------------- */

static uint8_t memory[200], sink[200], out[1500];

/* STag 0x5700: 200 octets, 00 01 02 ..., from TO 0x1000; the peer may read them. */
static struct region region = { 0x5700, 0, RIGHT_REMOTE_READ, 0x1000, sizeof(memory), memory };

/* A Read of 120 octets from TO 0x1008, to STag 0x1122 and TO 0xfffffffe of the peer. */
static const struct read_request request = { 0x1122, 0xfffffffe, 120, 0x5700, 0x1008 };

static const char request_text[] = "00001122 00000000fffffffe 00000078 00005700 0000000000001008";

static struct stream *new_stream(uint32_t ird, uint32_t ord)
{
	struct stream_config config = {
		.number = 1, .ird = ird, .ord = ord, .depth = 4, .regions = &region, .n_regions = 1
	};

	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = (uint8_t)i;
	memset(sink, 0xee, sizeof(sink));
	return stream_new(&config);
}

static enum error ask(struct stream *s, const struct read_request *r)
{
	uint8_t message[READ_REQUEST_LEN] = { 0 };

	request_encode(message, r);
	return stream_request(s, message, sizeof(message));
}

static enum error post(struct stream *s, uint64_t id, enum kind kind, uint32_t len)
{
	struct operation op = {
		.id = id,
		.kind = kind,
		.len = len,
		.data = (const uint8_t *)"abcdefgh",
		.sink = sink,
		.sink_stag = 0x3300 + (uint32_t)id,
		.sink_to = 0x10,
		.remote_stag = 0x4400,
		.remote_to = 0x20,
	};

	return stream_post(s, &op);
}

/* Takes the next segment, of at most 128 octets, and compares it. NULL: expects no segment. */
static void expect_segment(struct stream *s, const char *what, const char *expected)
{
	size_t len = stream_next_segment(s, out, DDP_MULPDU_MIN);

	expect_octets(what, expected ? expected : "", out, len);
}

/* The same without the payload: only the header, of header octets, and the length are compared. */
static void expect_header(struct stream *s, const char *what, const char *expected, size_t header,
			  size_t expected_len)
{
	size_t len = stream_next_segment(s, out, DDP_MULPDU_MIN);

	expect_number("the length of the segment", expected_len, len);
	expect_octets(what, expected, out, len < header ? len : header);
}

/* A segment of a Read Response, with `len` octets of 0x77. */
static enum error answer(struct stream *s, bool last, uint32_t stag, uint64_t to, size_t len)
{
	uint8_t segment[DDP_TAGGED_LEN + 100];

	put_tagged(segment, OP_READ_RESPONSE, last, stag, to);
	memset(segment + DDP_TAGGED_LEN, 0x77, 100);
	return stream_response(s, segment, DDP_TAGGED_LEN + len);
}

static void expect_completion(struct stream *s, uint64_t id, enum error status)
{
	struct completion c = { 0 };

	expect_number("there is a completion", 1, stream_next_completion(s, &c));
	expect_number("the operation that completes", id, c.id);
	expect_number("its status", status, c.status);
}

static void expect_no_completion(struct stream *s)
{
	struct completion c;

	expect_number("there is a completion", 0, stream_next_completion(s, &c));
}

/* --- the tests -------------------------------------------------------------------------------- */

static void header(void)
{
	uint8_t octets[READ_REQUEST_LEN + 1] = { 0 };
	struct read_request r = { 0 };

	begin("1 header: a Read Request is encoded");
	request_encode(octets, &request);
	expect_octets("the header", request_text, octets, READ_REQUEST_LEN);

	begin("1 header: a Read Request is decoded");
	expect_number("the result", ERR_NONE, request_decode(&r, octets, READ_REQUEST_LEN));
	expect_number("sink_stag", 0x1122, r.sink_stag);
	expect_number("sink_to", 0xfffffffe, r.sink_to);
	expect_number("size", 120, r.size);
	expect_number("source_stag", 0x5700, r.source_stag);
	expect_number("source_to", 0x1008, r.source_to);

	begin("1 header: a message of 29 octets is not a Read Request");
	expect_number("the result", ERR_REQUEST, request_decode(&r, octets, READ_REQUEST_LEN + 1));
}

static enum error check(uint32_t stag, uint64_t to, uint32_t size, const uint8_t **source)
{
	struct read_request r = { .size = size, .source_stag = stag, .source_to = to };

	*source = memory;
	return source_check(&region, 1, 1, &r, source);
}

static void source(void)
{
	const uint8_t *at;

	begin("2 source: the last octet of a region");
	expect_number("the result", ERR_NONE, check(0x5700, 0x1000 + 199, 1, &at));
	expect_number("its place in the memory", 199, (uint64_t)(at - memory));

	begin("2 source: one octet after the region");
	expect_number("the result", ERR_SOURCE_BOUNDS, check(0x5700, 0x1000 + 199, 2, &at));

	begin("2 source: an STag that is not registered");
	expect_number("the result", ERR_SOURCE_STAG, check(0x5701, 0x1000, 1, &at));

	begin("2 source: nothing is checked for 0 octets");
	expect_number("the result", ERR_NONE, check(0x5701, 0x1000, 0, &at));
	expect_number("there is a source", 0, at != NULL);
}

static void response(void)
{
	struct stream *s = new_stream(1, 0);

	begin("3 response: 120 octets in two segments");
	expect_number("the result", ERR_NONE, ask(s, &request));
	/* T, RDMAP's Read Response, STag and TO of the sink; 114 octets of payload. */
	expect_header(s, "the first header", "81 42 00001122 00000000fffffffe", 14, 128);
	/* T and L; the TO is 114 octets higher; the last 6 of the 120 octets. */
	expect_segment(s, "the second segment", "c1 42 00001122 0000000100000070 7a7b7c7d7e7f");
	expect_segment(s, "nothing after it", NULL);
	stream_free(s);
}

static void queue(void)
{
	struct stream *s = new_stream(2, 0);
	struct read_request small = { 0x1133, 0, 2, 0x5700, 0x1000 };

	begin("4 queue: two Requests are answered in order, the third is too many");
	expect_number("the first Request", ERR_NONE, ask(s, &request));
	expect_number("the second Request", ERR_NONE, ask(s, &small));
	expect_header(s, "the first Response", "81 42 00001122 00000000fffffffe", 14, 128);
	expect_header(s, "its end", "c1 42 00001122 0000000100000070", 14, 20);
	expect_segment(s, "the second Response", "c1 42 00001133 0000000000000000 0001");
	ask(s, &small);
	ask(s, &small);
	expect_number("the third at once", ERR_NO_BUFFER, ask(s, &small));
	stream_free(s);
}

static void posts(void)
{
	struct stream *s = new_stream(0, 2);

	begin("5 post: a Send, an RDMA Write and an RDMA Read");
	expect_number("the results", 0,
		      post(s, 1, KIND_SEND, 3) | post(s, 2, KIND_WRITE, 2) |
			      post(s, 3, KIND_READ, 8));
	expect_segment(s, "the Send", "41 43 00000000 00000000 00000001 00000000 616263");
	expect_segment(s, "the RDMA Write", "c1 40 00004400 0000000000000020 6162");
	expect_segment(s, "the Read Request",
		       "41 41 00000000 00000001 00000001 00000000"
		       " 00003303 0000000000000010 00000008 00004400 0000000000000020");
	expect_segment(s, "nothing after it", NULL);
	stream_free(s);
}

static void place(void)
{
	struct stream *s = new_stream(0, 1);

	begin("6 place: a Response of two segments");
	post(s, 1, KIND_READ, 5);
	stream_next_segment(s, out, DDP_MULPDU_MIN);
	expect_number("the first segment", ERR_NONE, answer(s, false, 0x3301, 0x10, 3));
	expect_octets("the sink", "777777 eeee ee", sink, 6);
	expect_number("the second segment", ERR_NONE, answer(s, true, 0x3301, 0x13, 2));
	expect_octets("the sink", "7777777777 ee", sink, 6);
	stream_free(s);
}

static void limits(void)
{
	struct stream *s = new_stream(1, 1);

	begin("7 limits: with ORD 1 the second Read waits, and the Send after it");
	post(s, 1, KIND_READ, 1);
	post(s, 2, KIND_READ, 1);
	post(s, 3, KIND_SEND, 1);
	expect_header(s, "the first Request", "41 41", 2, 46);
	expect_segment(s, "nothing", NULL);
	ask(s, &(struct read_request){ .sink_stag = 0x1144 });
	expect_segment(s, "a Response does not wait", "c1 42 00001144 0000000000000000");
	answer(s, true, 0x3301, 0x10, 1);
	expect_header(s, "the second Request", "41 41 00000000 00000001 00000002", 14, 46);
	expect_segment(s, "the Send", "41 43 00000000 00000000 00000001 00000000 61");
	stream_free(s);
}

static void completion(void)
{
	struct stream *s = new_stream(0, 1);

	begin("8 completion: a Send completes after the Read before it");
	post(s, 1, KIND_READ, 1);
	post(s, 2, KIND_SEND, 1);
	while (stream_next_segment(s, out, DDP_MULPDU_MIN) > 0)
		;
	expect_no_completion(s);
	answer(s, true, 0x3301, 0x10, 1);
	expect_completion(s, 1, ERR_NONE);
	expect_completion(s, 2, ERR_NONE);
	expect_no_completion(s);
	stream_free(s);
}

static void errors(void)
{
	struct stream *s = new_stream(0, 1);

	begin("9 errors: a Response to no Read");
	expect_number("the result", ERR_UNEXPECTED, answer(s, true, 0x3301, 0x10, 1));
	stream_free(s);

	s = new_stream(0, 1);
	begin("9 errors: a Response that is too short cancels what is posted");
	post(s, 1, KIND_READ, 5);
	post(s, 2, KIND_SEND, 1);
	stream_next_segment(s, out, DDP_MULPDU_MIN);
	expect_number("the result", ERR_SINK_BOUNDS, answer(s, true, 0x3301, 0x10, 4));
	expect_octets("the sink", "eeeeeeeeee", sink, 5);
	expect_segment(s, "no Send any more", NULL);
	expect_completion(s, 1, ERR_CANCELED);
	expect_completion(s, 2, ERR_CANCELED);
	stream_free(s);
}

int main(void)
{
	header();
	source();
	response();
	queue();
	posts();
	place();
	limits();
	completion();
	errors();
	begin(NULL);
	printf("%s\n", failures ? "there are failures; the first one is the one to look at"
				: "all visible tests pass; now ./check");
	return failures ? 1 : 0;
}
