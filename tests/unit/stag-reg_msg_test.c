// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Control messages: decoding returns what was encoded, and rejects illegal messages. */
#include "stag-reg/msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cbor/cbor.h"
#include "util/num.h"

static void fill_text(char *p, size_t cap)
{
	memset(p, 'x', cap - 1);
	p[cap - 1] = '\0';
}

/* Copies to a block of exactly this size, so that a sanitizer detects a read after its end. */
static uint8_t *exact(const uint8_t *msg, size_t len)
{
	uint8_t *p = malloc(len ? len : 1);

	assert_non_null(p);
	memcpy(p, msg, len);
	return p;
}

static void a_request_decodes_when_complete_and_no_part_of_it_does(void **state)
{
	struct iw_manager_request q[] = {
		{ .op = IW_MANAGER_ADD, .memory = true, .len = 1, .access = 3, .open = true },
		{ .op = IW_MANAGER_ADD,
		  .off = INT64_MAX - 5,
		  .len = 5,
		  .access = 1,
		  .lifetime_ms = UINT64_MAX / 1000000u - 1,
		  .uses = UINT32_MAX - 1 },
		{ .op = IW_MANAGER_ADD, .access = 2, .stream = UINT32_MAX },
		{ .op = IW_MANAGER_LIST, .peers = true },
		{ .op = IW_MANAGER_REVOKE, .stag = UINT32_MAX },
	};

	(void)state;
	fill_text(q[1].label, sizeof(q[1].label));
	fill_text(q[1].domain, sizeof(q[1].domain));
	fill_text(q[1].host, sizeof(q[1].host));
	q[1].label[0] = '\xff'; /* a name may be any octets */
	for (size_t i = 0; i < IW_ARRAY_LEN(q); i++) {
		uint8_t msg[IW_MANAGER_MSG_MAX];
		struct iw_manager_request back;
		struct iw_fault why;
		size_t len = iw_manager_request_encode(msg, &q[i]);

		assert_true(len <= sizeof(msg));
		if (iw_manager_request_decode(&back, msg, len, &why) != 0)
			fail_msg("case %zu: %s", i, why.text);
		assert_memory_equal(&back, &q[i], sizeof(back));
		for (size_t cut = 0; cut < len; cut++) {
			uint8_t *part = exact(msg, cut);

			assert_true(iw_manager_request_decode(&back, part, cut, &why) < 0);
			free(part);
		}
		/* A message with an additional octet is rejected too. */
		msg[len] = 0;
		assert_int_equal(iw_manager_request_decode(&back, msg, len + 1, &why), IW_E_FORMAT);
	}
}

static void an_answer_decodes_when_complete_and_no_part_of_it_does(void **state)
{
	struct iw_manager_reply r[] = {
		{ .kind = IW_MANAGER_END, .count = UINT64_MAX },
		{ .kind = IW_MANAGER_ERROR, .err = IW_E_NOENT },
		{ .kind = IW_MANAGER_BUFFER,
		  .buffer = { .stag = 1,
			      .to = UINT64_MAX,
			      .access = 3,
			      .stream = UINT32_MAX,
			      .left_ms = UINT64_MAX,
			      .uses = UINT32_MAX,
			      .key = { .set = true },
			      .open = true,
			      .memory = true,
			      .port = UINT16_MAX,
			      .tally = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX } } },
		{ .kind = IW_MANAGER_PEER,
		  .peer = { .stream = UINT32_MAX,
			    .tally = { 1, 2, 3, 4 },
			    .age_ms = UINT64_MAX,
			    .ended = true } },
	};

	(void)state;
	fill_text(r[1].text, sizeof(r[1].text));
	fill_text(r[2].buffer.domain, sizeof(r[2].buffer.domain));
	fill_text(r[2].buffer.label, sizeof(r[2].buffer.label));
	fill_text(r[2].buffer.transport, sizeof(r[2].buffer.transport));
	fill_text(r[2].buffer.host, sizeof(r[2].buffer.host));
	fill_text(r[3].peer.addr, sizeof(r[3].peer.addr));
	fill_text(r[3].peer.why, sizeof(r[3].peer.why));
	for (size_t i = 0; i < IW_ARRAY_LEN(r); i++) {
		uint8_t msg[IW_MANAGER_MSG_MAX];
		struct iw_manager_reply back;
		struct iw_fault why;
		size_t len = iw_manager_reply_encode(msg, &r[i]);

		assert_true(len < sizeof(msg));
		if (iw_manager_reply_decode(&back, msg, len, &why) != 0)
			fail_msg("case %zu: %s", i, why.text);
		assert_memory_equal(&back, &r[i], sizeof(back));
		for (size_t cut = 0; cut < len; cut++) {
			uint8_t *part = exact(msg, cut);

			assert_true(iw_manager_reply_decode(&back, part, cut, &why) < 0);
			free(part);
		}
	}
}

/* One wrong key in an ADD that is otherwise right. */
struct breach {
	unsigned key;
	uint64_t v;
	const char *text; /* in place of v */
	size_t len;
};

static void requests_against_the_rules_are_refused(void **state)
{
	static const struct breach bad[] = {
		{ .key = 0, .v = 0 },                       /* no such operation */
		{ .key = 0, .v = 4 },                       /* nor this */
		{ .key = 0, .v = UINT64_MAX },              /* nor this */
		{ .key = 2, .v = (uint64_t)INT64_MAX + 1 }, /* offset */
		{ .key = 3, .v = UINT64_MAX },              /* length */
		{ .key = 3, .v = INT64_MAX },               /* with the offset too much */
		{ .key = 4, .v = 0 },                       /* no access */
		{ .key = 4, .v = 4 },                       /* READ_SINK cannot be granted */
		{ .key = 1, .v = 1 },                       /* a number instead of true */
		{ .key = 6, .text = "a/b", .len = 3 },      /* no name of a domain */
		{ .key = 6, .text = "a\0b", .len = 3 },     /* nor this */
		{ .key = 6, .text = "123456789012345678901234567890123", .len = 33 },
		{ .key = 7, .v = UINT64_C(1) << 32 },
		{ .key = 8, .v = UINT64_MAX / 1000000u }, /* too large in nanoseconds */
		{ .key = 9, .v = UINT32_MAX },            /* means "no limit" in the STag table */
		{ .key = 10, .text = "x\0y", .len = 3 },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(bad); i++) {
		const uint64_t usual[] = { [0] = IW_MANAGER_ADD, [2] = 10, [3] = 10, [4] = 1 };
		uint8_t msg[IW_MANAGER_MSG_MAX];
		struct iw_manager_request q;
		struct iw_cbor_out o;
		struct iw_fault why = { 0 };
		size_t pairs = 0;

		for (int pass = 0; pass < 2; pass++) {
			iw_cbor_out_init(&o, msg, sizeof(msg));
			iw_cbor_map(&o, pairs);
			pairs = 0;
			for (unsigned key = 0; key < 11; key++) {
				bool needed = key < IW_ARRAY_LEN(usual) && key != 1;

				if (key != bad[i].key && !needed)
					continue;
				pairs++;
				iw_cbor_uint(&o, key);
				if (key != bad[i].key)
					iw_cbor_uint(&o, usual[key]);
				else if (bad[i].text)
					iw_cbor_bytes(&o, bad[i].text, bad[i].len);
				else
					iw_cbor_uint(&o, bad[i].v);
			}
		}
		if (iw_manager_request_decode(&q, msg, o.len, &why) >= 0)
			fail_msg("case %zu is taken", i);
		assert_true(why.text[0]);
	}
}

/* The host is printed between quotes of a shell and in a URI. */
static void a_host_that_could_end_its_quotes_is_refused(void **state)
{
	static const char *const bad[] = { "a'b", "a b", "a/b", "a\"b", "a\nb", "a@b", "[::1]" };

	(void)state;
	assert_true(iw_manager_host_valid("fe80::1%eth0"));
	assert_true(iw_manager_host_valid("board.example"));
	assert_false(iw_manager_host_valid(""));
	for (size_t i = 0; i < IW_ARRAY_LEN(bad); i++) {
		struct iw_manager_request q = { .op = IW_MANAGER_ADD, .access = 1 }, request;
		struct iw_manager_reply r = { .kind = IW_MANAGER_BUFFER, .buffer.access = 1 },
					reply;
		uint8_t msg[IW_MANAGER_MSG_MAX];
		struct iw_fault why;

		snprintf(q.host, sizeof(q.host), "%s", bad[i]);
		snprintf(r.buffer.host, sizeof(r.buffer.host), "%s", bad[i]);
		assert_int_equal(iw_manager_request_decode(
					 &request, msg, iw_manager_request_encode(msg, &q), &why),
				 IW_E_FORMAT);
		assert_non_null(strstr(why.text, "host"));
		assert_int_equal(iw_manager_reply_decode(&reply, msg,
							 iw_manager_reply_encode(msg, &r), &why),
				 IW_E_FORMAT);
		assert_non_null(strstr(why.text, "host"));
	}
}

/* The transport is printed as the host is. */
static void a_transport_that_could_end_its_quotes_is_refused(void **state)
{
	static const char *const bad[] = { "';id;'", "t\x1b[2J", "tcp:", "TCP" };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(bad); i++) {
		struct iw_manager_reply r = { .kind = IW_MANAGER_BUFFER, .buffer.access = 1 },
					reply;
		uint8_t msg[IW_MANAGER_MSG_MAX];
		struct iw_fault why;

		snprintf(r.buffer.transport, sizeof(r.buffer.transport), "%s", bad[i]);
		assert_int_equal(iw_manager_reply_decode(&reply, msg,
							 iw_manager_reply_encode(msg, &r), &why),
				 IW_E_FORMAT);
		assert_non_null(strstr(why.text, "transport"));
	}
}

/* A request with stream and domain; an answer with an error of a newer version. */
static void contradictory_messages_are_refused_but_unknown_errors_are_not(void **state)
{
	struct iw_manager_request q = {
		.op = IW_MANAGER_ADD, .access = 1, .stream = 1, .domain = "a"
	};
	uint8_t msg[IW_MANAGER_MSG_MAX];
	struct iw_cbor_out o;
	struct iw_manager_reply r;
	struct iw_fault why;

	(void)state;
	assert_int_equal(iw_manager_request_decode(&q, msg, iw_manager_request_encode(msg, &q),
						   &why),
			 IW_E_FORMAT);
	iw_cbor_out_init(&o, msg, sizeof(msg));
	iw_cbor_map(&o, 3);
	iw_cbor_uint(&o, 0);
	iw_cbor_uint(&o, IW_MANAGER_ERROR);
	iw_cbor_uint(&o, 1);
	iw_cbor_bytes(&o, "OUT_OF_TUNE", 11);
	iw_cbor_uint(&o, 99);
	iw_cbor_bool(&o, true);
	assert_int_equal(iw_manager_reply_decode(&r, msg, o.len, &why), 0);
	assert_int_equal(r.err, IW_E_OS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_decodes_when_complete_and_no_part_of_it_does),
		cmocka_unit_test(an_answer_decodes_when_complete_and_no_part_of_it_does),
		cmocka_unit_test(requests_against_the_rules_are_refused),
		cmocka_unit_test(a_host_that_could_end_its_quotes_is_refused),
		cmocka_unit_test(a_transport_that_could_end_its_quotes_is_refused),
		cmocka_unit_test(contradictory_messages_are_refused_but_unknown_errors_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
