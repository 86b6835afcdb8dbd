/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of your module, for reading and for `make test`. Each has the octets of a frame as they are
 * on the wire. The grader's cases are other ones: add your own here when ./check finds a fault.
 */
#include <stdio.h>
#include <string.h>

#include "startup.h"

static int failures;

/* --- comparisons ----------------------------------------------------------------------------- */

static void print_octets(const char *label, const uint8_t *octets, size_t len)
{
	printf("    %s", label);
	for (size_t i = 0; i < len; i++)
		printf(" %02x", octets[i]);
	printf("\n");
}

static void expect_octets(const char *what, const void *expected, size_t expected_len,
			  const uint8_t *seen, size_t seen_len)
{
	if (expected_len == seen_len && memcmp(expected, seen, seen_len) == 0) {
		printf("ok    %s\n", what);
		return;
	}
	printf("FAIL: %s\n", what);
	print_octets("expected", expected, expected_len);
	print_octets("seen    ", seen, seen_len);
	failures++;
}

static void expect(const char *what, unsigned long expected, unsigned long seen)
{
	if (expected == seen) {
		printf("ok    %s\n", what);
		return;
	}
	printf("FAIL: %s: expected %lu, seen %lu\n", what, expected, seen);
	failures++;
}

static const char *const results[] = {
	[STARTUP_DONE] = "STARTUP_DONE",
	[STARTUP_REJECTED] = "STARTUP_REJECTED",
	[STARTUP_MORE] = "STARTUP_MORE",
	[STARTUP_BAD_KEY] = "STARTUP_BAD_KEY",
	[STARTUP_BAD_REV] = "STARTUP_BAD_REV",
	[STARTUP_BAD_LENGTH] = "STARTUP_BAD_LENGTH",
	[STARTUP_BAD_FORMAT] = "STARTUP_BAD_FORMAT",
	[STARTUP_LOST] = "STARTUP_LOST",
	[STARTUP_NO_IRD] = "STARTUP_NO_IRD",
	[STARTUP_NO_RTR] = "STARTUP_NO_RTR",
};

static void expect_result(const char *what, enum startup_result expected, enum startup_result seen)
{
	if (expected == seen) {
		printf("ok    %s\n", what);
		return;
	}
	printf("FAIL: %s: expected %s, seen %s\n", what, results[expected], results[seen]);
	failures++;
}

/* Returns NULL after a failure. */
static struct startup *new_end(const struct config *cfg)
{
	struct startup *s = startup_new(cfg);

	if (!s) {
		printf("FAIL: startup_new() returned NULL\n");
		failures++;
	}
	return s;
}

/* --- frames ---------------------------------------------------------------------------------- */

/* clang-format off */
/* Rev 1 with CRC, without Private Data. */
static const uint8_t request_1[] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'q', ' ', 'F', 'r', 'a', 'm', 'e',
	0x40,       /* C */
	0x01,       /* Rev */
	0x00, 0x00, /* PD_Length */
};
static const uint8_t reply_1[] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'p', ' ', 'F', 'r', 'a', 'm', 'e',
	0x40, 0x01, 0x00, 0x00,
};

/* Rev 2, enhanced, client-server: IRD 4, ORD 200, Private Data "hi". */
static const uint8_t request_2[] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'q', ' ', 'F', 'r', 'a', 'm', 'e',
	0x50,       /* C, S */
	0x02,       /* Rev */
	0x00, 0x06, /* PD_Length: 4 + 2 */
	0x00, 0x04, /* A 0, B 0, IRD 4 */
	0x00, 0xc8, /* C 0, D 0, ORD 200 */
	'h', 'i',
};
/* The Reply of a responder that wants IRD 16 and ORD 16. ORD is at most the initiator's IRD. */
static const uint8_t reply_2[] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'p', ' ', 'F', 'r', 'a', 'm', 'e',
	0x50, 0x02, 0x00, 0x04,
	0x00, 0x10, /* IRD 16 */
	0x00, 0x04, /* ORD 4 */
};

/* Rev 2, peer-to-peer: A, all forms of RTR, IRD 1, ORD 1; and a Reply that offers Send and Read. */
static const uint8_t request_p2p[] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'q', ' ', 'F', 'r', 'a', 'm', 'e',
	0x50, 0x02, 0x00, 0x04,
	0xc0, 0x01, /* A, B (Send), IRD 1 */
	0xc0, 0x01, /* C (Write), D (Read), ORD 1 */
};
static const uint8_t reply_p2p[] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'p', ' ', 'F', 'r', 'a', 'm', 'e',
	0x50, 0x02, 0x00, 0x04,
	0xc0, 0x01, /* A, B (Send), IRD 1 */
	0x40, 0x01, /* D (Read), ORD 1 */
};
/* clang-format on */

/* --- steps ----------------------------------------------------------------------------------- */

static void build(void)
{
	struct frame f = { .kind = FRAME_REQUEST, .c = true, .rev = 1 };
	uint8_t dst[FRAME_MAX];
	size_t len = frame_build(dst, sizeof(dst), &f);

	expect_octets("build: a Request of Rev 1", request_1, sizeof(request_1), dst, len);
	f = (struct frame){ .kind = FRAME_REQUEST, .c = true, .s = true, .rev = 2 };
	f.pd = request_2 + HEAD_LEN;
	f.pd_len = sizeof(request_2) - HEAD_LEN;
	len = frame_build(dst, sizeof(dst), &f);
	expect_octets("build: a Request of Rev 2", request_2, sizeof(request_2), dst, len);
	expect("build: no room", 0, frame_build(dst, sizeof(request_2) - 1, &f));
}

static void parse(void)
{
	struct frame f = { 0 };
	size_t used = 0;

	expect_result("parse: a Request", STARTUP_DONE,
		      frame_parse(&f, &used, FRAME_REQUEST, 2, request_2, sizeof(request_2)));
	expect("parse: its length", sizeof(request_2), used);
	expect_octets("parse: its Private Data", request_2 + HEAD_LEN, 6, f.pd,
		      f.pd ? f.pd_len : 0);
	expect_result("parse: 19 octets", STARTUP_MORE,
		      frame_parse(&f, &used, FRAME_REQUEST, 2, request_1, 19));
	expect_result("parse: a Reply where a Request must come", STARTUP_BAD_KEY,
		      frame_parse(&f, &used, FRAME_REQUEST, 2, reply_1, sizeof(reply_1)));
	expect_result("parse: another protocol, one octet of it", STARTUP_BAD_KEY,
		      frame_parse(&f, &used, FRAME_REQUEST, 2, (const uint8_t *)"GET", 1));
	expect_result("parse: Rev 2, and only Rev 1 is supported", STARTUP_BAD_REV,
		      frame_parse(&f, &used, FRAME_REQUEST, 1, request_2, sizeof(request_2)));
}

static void enhanced(void)
{
	struct enhanced e = {
		.peer_to_peer = true, .rtr = RTR_SEND | RTR_READ, .ird = 1, .ord = 1
	};
	uint8_t dst[ENHANCED_LEN] = { 0 };

	enhanced_put(dst, &e);
	expect_octets("enhanced: put", reply_p2p + HEAD_LEN, ENHANCED_LEN, dst, sizeof(dst));
	memset(&e, 0, sizeof(e));
	enhanced_get(&e, request_2 + HEAD_LEN);
	expect("enhanced: get, IRD", 4, e.ird);
	expect("enhanced: get, ORD", 200, e.ord);
}

static const struct config initiator = {
	.initiator = true,
	.rev = 2,
	.crc = true,
	.rtr = RTR_SEND | RTR_WRITE | RTR_READ,
	.ird = 1,
	.ord = 1,
	.ird_max = 1,
	.peer_to_peer = true,
};
static const struct config responder = {
	.rev = 2,
	.crc = true,
	.rtr = RTR_SEND | RTR_WRITE | RTR_READ,
};

static void stream(void)
{
	struct startup *s = new_end(&initiator);
	uint8_t dst[FRAME_MAX], three[3] = { 0 };
	size_t taken, len;

	if (!s)
		return;
	len = startup_output(s, dst, 5);
	len += startup_output(s, dst + len, sizeof(dst) - len);
	expect_octets("stream: the Request, in two parts", request_p2p, sizeof(request_p2p), dst,
		      len);
	startup_free(s);

	s = new_end(&responder);
	if (!s)
		return;
	expect_result("stream: 7 octets", STARTUP_MORE, startup_receive(s, request_1, 7, &taken));
	memcpy(dst, request_1 + 7, 13);
	memcpy(dst + 13, three, 3);
	expect_result("stream: the rest, and 3 octets more", STARTUP_DONE,
		      startup_receive(s, dst, 16, &taken));
	expect("stream: of which 13 belong to the frame", 13, taken);
	startup_free(s);
}

static void answer(void)
{
	struct startup *s = new_end(&responder);
	uint8_t dst[FRAME_MAX];
	size_t taken;

	if (!s)
		return;
	startup_receive(s, request_1, sizeof(request_1), &taken);
	expect("answer: accepted", true, startup_answer(s, true, 1, 1, NULL, 0));
	expect_octets("answer: the Reply of Rev 1", reply_1, sizeof(reply_1), dst,
		      startup_output(s, dst, sizeof(dst)));
	expect("answer: CRC is in use", true, startup_agreed(s)->crc);
	startup_free(s);
}

static void depths(void)
{
	struct startup *s = new_end(&responder);
	uint8_t dst[FRAME_MAX];
	size_t taken;

	if (!s)
		return;
	startup_receive(s, request_2, sizeof(request_2), &taken);
	startup_answer(s, true, 16, 16, NULL, 0);
	expect_octets("depths: ORD at most the initiator's IRD", reply_2, sizeof(reply_2), dst,
		      startup_output(s, dst, sizeof(dst)));
	expect("depths: the ORD in use", 4, startup_agreed(s)->ord);
	startup_free(s);
}

static void rtr_and_order(void)
{
	struct startup *s = new_end(&initiator);
	uint8_t dst[FRAME_MAX];
	size_t taken;

	if (!s)
		return;
	startup_output(s, dst, sizeof(dst));
	startup_receive(s, reply_p2p, sizeof(reply_p2p), &taken);
	expect("rtr: Send and Read are offered, Read is better", RTR_READ, startup_rtr(s));
	expect("order: nothing before the RTR", false, startup_may_send(s));
	startup_rtr_sent(s);
	expect("order: after the RTR", true, startup_may_send(s));
	startup_free(s);
}

static void retry(void)
{
	struct startup *s = new_end(&initiator);
	uint8_t dst[FRAME_MAX];

	if (!s)
		return;
	startup_output(s, dst, sizeof(dst));
	expect_result("retry: the stream ended before the Reply", STARTUP_LOST, startup_closed(s));
	expect("retry: so the peer may have only Rev 1", true, startup_retry_rev1(s));
	startup_free(s);
}

int main(void)
{
	build();
	parse();
	enhanced();
	stream();
	answer();
	depths();
	rtr_and_order();
	retry();
	printf(failures ? "\n%d of these tests failed\n" : "\nall of these tests passed\n",
	       failures);
	return failures != 0;
}
