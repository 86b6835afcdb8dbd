/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conversations with literal octets. A line is a unit: "i" or "r" (initiator, responder), "startup"
 * or "segment", and its octets in hex digits; spaces are ignored. Over SCTP a unit begins with its
 * DDP-SSN (2). Segments have the form that RFC 5041 4.2 and 4.3 show:
 *
 *	tagged     control, RDMAP control, STag (4), TO (8), payload
 *	untagged   control, RDMAP control, Invalidate STag (4), QN (4), MSN (4), MO (4), payload
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

/* clang-format off */
#define KEY_REQUEST "4d504120494420526571204672616d65 "
#define KEY_REPLY   "4d504120494420526570204672616d65 "

/* Rev 1, C, no Private Data. */
#define REQUEST_1 "i startup " KEY_REQUEST "40 01 0000\n"
#define REPLY_1   "r startup " KEY_REPLY "40 01 0000\n"

/* Rev 2 with S: IRD 1 and ORD 1; in the second Reply A and D, so that a Read must come first. */
#define REQUEST_2     "i startup " KEY_REQUEST "50 02 0004 80014001\n"
#define REPLY_2       "r startup " KEY_REPLY "50 02 0004 00010001\n"
#define REPLY_2_READ  "r startup " KEY_REPLY "50 02 0004 80014001\n"
#define REPLY_2_ORD_2 "r startup " KEY_REPLY "50 02 0004 00010002\n"

/* Send, L, MSN 1, "hello". */
#define HELLO "i segment 4143 00000000 00000000 00000001 00000000 68656c6c6f\n"

/* The responder advertises the STag 0x11223344: TO 0x1000, 16 octets, for writes. */
#define ADVERT                                                      \
	"r segment 4143 00000000 00000000 00000001 00000000 42554602 " \
	"11223344 0000000000001000 00000010\n"

/* RDMA Read Request, L, MSN 1: 0 octets; the STags and TOs of such a request are not checked. */
#define READ_NOTHING                                                \
	"i segment 4141 00000000 00000001 00000001 00000000 00000001 " \
	"0000000000000000 00000000 00000001 0000000000000000\n"

#define INITIATE "i startup 0000 0001\n"
#define ACCEPT   "r startup 0000 0002\n"

static const struct test {
	const char *name;
	enum transport over;
	const char *units;
	enum fault fault;
	size_t at; /* if there is a fault */
} tests[] = {
	{ "no units", OVER_TCP, "", FAULT_NONE, 0 },
	{ "a Send in two segments", OVER_TCP,
	  REQUEST_1 REPLY_1 "i segment 0143 00000000 00000000 00000001 00000000 6865\n"
			    "i segment 4143 00000000 00000000 00000001 00000002 6c6c6f\n",
	  FAULT_NONE, 0 },
	{ "an RDMA Write whose header lacks an octet", OVER_TCP,
	  REQUEST_1 REPLY_1 HELLO "i segment c140 11223344 00000000000010\n", FAULT_SHORT, 3 },
	{ "a Send with DV 0", OVER_TCP,
	  REQUEST_1 REPLY_1 "i segment 4043 00000000 00000000 00000001 00000000 68656c6c6f\n",
	  FAULT_VERSION, 2 },
	{ "opcode 12", OVER_TCP,
	  REQUEST_1 REPLY_1 "i segment 414c 00000000 00000000 00000001 00000000\n",
	  FAULT_OPCODE, 2 },
	{ "a Send on QN 4294967295", OVER_TCP,
	  REQUEST_1 REPLY_1 "i segment 4143 00000000 ffffffff 00000001 00000000\n",
	  FAULT_QUEUE, 2 },
	{ "MSN 3 after MSN 1", OVER_TCP,
	  REQUEST_1 REPLY_1 HELLO "i segment 4143 00000000 00000000 00000003 00000000\n",
	  FAULT_MSN, 3 },
	{ "MO 3 after 2 octets", OVER_TCP,
	  REQUEST_1 REPLY_1 "i segment 0143 00000000 00000000 00000001 00000000 6865\n"
			    "i segment 4143 00000000 00000000 00000001 00000003 6c6f\n",
	  FAULT_MO, 3 },
	{ "MSN 2 begins, MSN 1 had no L", OVER_TCP,
	  REQUEST_1 REPLY_1 "i segment 0143 00000000 00000000 00000001 00000000 6865\n"
			    "i segment 4143 00000000 00000000 00000002 00000000 6c6f\n",
	  FAULT_LAST, 3 },
	{ "a Reply with ORD 2 to IRD 1", OVER_TCP, REQUEST_2 REPLY_2_ORD_2 HELLO, FAULT_ORD, 1 },
	{ "the responder speaks first", OVER_TCP, REQUEST_1 REPLY_1 ADVERT, FAULT_FIRST, 2 },
	{ "a Read as the RTR", OVER_TCP, REQUEST_2 REPLY_2_READ READ_NOTHING, FAULT_NONE, 0 },
	{ "a Send where the RTR is due", OVER_TCP, REQUEST_2 REPLY_2_READ HELLO, FAULT_RTR, 2 },
	{ "RDMA Write to the last octets of a buffer", OVER_TCP,
	  REQUEST_1 REPLY_1 HELLO ADVERT "i segment c140 11223344 000000000000100e 6161\n",
	  FAULT_NONE, 0 },
	{ "RDMA Write to a buffer and one octet after it", OVER_TCP,
	  REQUEST_1 REPLY_1 HELLO ADVERT "i segment c140 11223344 000000000000100e 616161\n",
	  FAULT_BOUNDS, 4 },
	{ "RDMA Write to an STag that was not advertised", OVER_TCP,
	  REQUEST_1 REPLY_1 HELLO ADVERT "i segment c140 11223345 0000000000001000 61\n",
	  FAULT_STAG, 4 },
	{ "a zero-length RDMA Write to that STag", OVER_TCP,
	  REQUEST_1 REPLY_1 HELLO ADVERT "i segment c140 11223345 0000000000001000\n",
	  FAULT_NONE, 0 },
	{ "RDMA Write after Send with Invalidate", OVER_TCP,
	  REQUEST_1 REPLY_1 HELLO ADVERT "i segment 4144 11223344 00000000 00000002 00000000\n"
					 "i segment c140 11223344 0000000000001000 61\n",
	  FAULT_INVALIDATED, 5 },
	{ "RDMA Read of a buffer for writes", OVER_TCP,
	  REQUEST_1 REPLY_1 HELLO ADVERT
	  "i segment 4141 00000000 00000001 00000001 00000000 00000001 "
	  "0000000000000000 00000004 11223344 0000000000001000\n",
	  FAULT_RIGHTS, 4 },
	{ "a Read Response to no request", OVER_TCP,
	  REQUEST_1 REPLY_1 HELLO "r segment c142 00000001 0000000000000000 61\n",
	  FAULT_UNREQUESTED, 3 },
	{ "a Read Response with an octet to a request of none", OVER_TCP,
	  REQUEST_1 REPLY_1 READ_NOTHING "r segment c142 00000001 0000000000000000 61\n",
	  FAULT_RESPONSE, 3 },
	{ "two requests, and IRD 1", OVER_TCP,
	  REQUEST_2 REPLY_2 READ_NOTHING
	  "i segment 4141 00000000 00000001 00000002 00000000 00000001 "
	  "0000000000000000 00000000 00000001 0000000000000000\n",
	  FAULT_READS, 3 },
	{ "DDP-SSN 1 twice", OVER_SCTP,
	  INITIATE ACCEPT "i segment 0001 4143 00000000 00000000 00000001 00000000\n"
			  "i segment 0001 4143 00000000 00000000 00000002 00000000\n",
	  FAULT_SSN, 3 },
	{ "a segment before the Accept", OVER_SCTP,
	  INITIATE "r segment 0000 4143 00000000 00000000 00000001 00000000\n", FAULT_EARLY, 1 },
	{ "a Send after a Terminate", OVER_TCP,
	  REQUEST_1 REPLY_1 "i segment 4147 00000000 00000002 00000001 00000000 00000000\n" HELLO,
	  FAULT_AFTER, 3 },
	{ "a Terminate of layer 3", OVER_TCP,
	  REQUEST_1 REPLY_1 "i segment 4147 00000000 00000002 00000001 00000000 30000000\n",
	  FAULT_TERMINATE, 2 },
};

/* clang-format on */
/* --- running them ----------------------------------------------------------------------------- */

static const char *const names[] = {
	[FAULT_NONE] = "none",
	[FAULT_SHORT] = "short",
	[FAULT_VERSION] = "version",
	[FAULT_OPCODE] = "opcode",
	[FAULT_QUEUE] = "queue",
	[FAULT_MSN] = "msn",
	[FAULT_MO] = "mo",
	[FAULT_LAST] = "last",
	[FAULT_STAG] = "stag",
	[FAULT_INVALIDATED] = "invalidated",
	[FAULT_BOUNDS] = "bounds",
	[FAULT_RIGHTS] = "rights",
	[FAULT_ORD] = "ord",
	[FAULT_FIRST] = "first",
	[FAULT_RTR] = "rtr",
	[FAULT_UNREQUESTED] = "unrequested",
	[FAULT_RESPONSE] = "response",
	[FAULT_READS] = "reads",
	[FAULT_SSN] = "ssn",
	[FAULT_EARLY] = "early",
	[FAULT_AFTER] = "after",
	[FAULT_TERMINATE] = "terminate",
};

static const char *name(enum fault fault)
{
	return (size_t)fault < sizeof(names) / sizeof(names[0]) ? names[fault] : "?";
}

static size_t parse_octets(const char *line, const char *end, uint8_t *octets)
{
	size_t digits = 0;

	for (; line < end; line++) {
		const char *hex = "0123456789abcdef", *digit = strchr(hex, *line);

		if (!digit || !*line)
			continue;
		octets[digits / 2] = (uint8_t)(octets[digits / 2] << 4 | (digit - hex));
		digits++;
	}
	return digits / 2;
}

/* Returns the number of units. Each has its own memory, so that a sanitizer sees overruns. */
static size_t parse(const char *text, struct unit *units)
{
	size_t n = 0;

	for (const char *end; *text; text = end + 1) {
		uint8_t octets[256] = { 0 }, *copy;
		size_t len;

		end = strchr(text, '\n');
		len = parse_octets(text + sizeof("i startup"), end, octets);
		copy = malloc(len ? len : 1);
		memcpy(copy, octets, len);
		units[n].from = *text == 'i' ? INITIATOR : RESPONDER;
		units[n].kind = strncmp(text + 2, "startup", 7) ? UNIT_SEGMENT : UNIT_STARTUP;
		units[n].octets = copy;
		units[n].len = len;
		n++;
	}
	return n;
}

static bool run(const struct test *t)
{
	struct unit units[16];
	size_t n = parse(t->units, units), at = 999;
	enum fault fault = fault_find(t->over, units, n, &at);
	bool good = fault == t->fault && (fault == FAULT_NONE || at == t->at);

	if (good)
		printf("ok    %s\n", t->name);
	else if (t->fault == FAULT_NONE)
		printf("FAIL  %s: expected none, seen %s at unit %zu\n", t->name, name(fault), at);
	else
		printf("FAIL  %s: expected %s at unit %zu, seen %s at unit %zu\n", t->name,
		       name(t->fault), t->at, name(fault), at);
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)units[i].octets);
	return good;
}

int main(void)
{
	size_t failed = 0;

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		failed += !run(&tests[i]);
	printf("%zu of %zu tests failed\n", failed, sizeof(tests) / sizeof(tests[0]));
	return failed ? 1 : 0;
}
