// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The payload of segments, and the transfer protocol in Private Data and Sends. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"
#include "cbor/cbor.h"
#include "transfer/protocol/hello.h"
#include "transfer/protocol/msg.h"

static char transfers[8192]; /* the texts of all messages, one line each */
static uint8_t payload[70000];
static size_t payload_len, payloads;
static bool malformed;
static char json[IW_CAP_LINE];
static struct iw_cap_field field[IW_CAP_FIELDS_MAX];
static struct iw_cap_scratch scratch;
static size_t fields;

static void look_at(const struct iw_cap_event *ev)
{
	const struct iw_cap_transfer *m = iw_cap_transfer_of(ev);
	size_t at = strlen(transfers);
	struct iw_text t;

	if (ev->kind == IW_CAP_DDP && ev->ddp.payload) {
		payload_len = ev->ddp.payload_len;
		memcpy(payload, ev->ddp.payload, payload_len);
		payloads++;
	}
	if (!m)
		return;
	iw_text_init(&t, transfers + at, sizeof(transfers) - at - 1);
	iw_cap_transfer_print(&t, m);
	memcpy(transfers + at + t.len, "\n", 2);
	iw_text_init(&t, json, sizeof(json));
	iw_cap_transfer_json(&t, m);
	fields = iw_cap_explain(field, IW_ARRAY_LEN(field), &scratch, ev);
	malformed |= m->malformed;
}

static size_t hello(uint8_t *pd, enum iw_xfer_digest_kind digest)
{
	struct iw_hello h = { .major_max = 3,
			      .major_min = 3,
			      .role = IW_XFER_SOURCE,
			      .mode = IW_XFER_WRITE,
			      .digest = digest,
			      .recvs = 16,
			      .recv_size = 65536,
			      .files = 1,
			      .ranges = 1,
			      .patience_ms = 1000 };

	return iw_hello_encode(pd, &h);
}

static void begin(struct maker *m)
{
	maker_init_payload(m, NULL, NULL, true);
	m->each = look_at;
	transfers[0] = '\0';
	payload_len = payloads = 0;
	malformed = false;
}

static void begin_tcp(struct maker *m, enum iw_xfer_digest_kind digest)
{
	uint8_t pd[IW_XFER_PD_MAX];
	size_t n = hello(pd, digest);

	begin(m);
	handshake(m);
	say_mpa(m, 0, false, 0, 1, pd, n);
	say_mpa(m, 1, true, 0, 1, pd, n);
}

static void begin_sctp(struct maker *m)
{
	uint8_t pd[IW_XFER_PD_MAX];
	size_t n = hello(pd, IW_XFER_NONE);

	begin(m);
	sctp_set_up(m);
	say_control(m, 0, 0, 0, 1, pd, n);
	say_control(m, 1, 0, 0, 2, pd, n);
}

static void end(struct maker *m)
{
	maker_finish(m);
	assert_true(maker_fini(m));
}

/* Sends at most len octets from mo on as a segment of a Send. */
static size_t segment(uint8_t *p, uint32_t msn, const uint8_t *msg, size_t total, size_t mo,
		      size_t len)
{
	struct iw_ddp h = {
		.dv = 1, .rv = 1, .opcode = IW_OP_SEND, .msn = msn, .mo = (uint32_t)mo
	};
	int n;

	len = IW_MIN(len, total - mo);
	h.last = mo + len == total;
	n = iw_wire_ddp_encode(p, IW_DDP_HDR_MAX, &h);
	assert_true(n > 0);
	memcpy(p + n, msg + mo, len);
	return (size_t)n + len;
}

static void say_message(struct maker *m, uint32_t msn, const uint8_t *msg, size_t len)
{
	static uint8_t p[66000], fpdu[67000];
	size_t n = make_fpdu(fpdu, 0, false, false, p, segment(p, msn, msg, len, 0, len));

	/* Sends it in TCP segments that begin anywhere. */
	for (size_t at = 0; at < n; at += 1000)
		say(m, 0, fpdu + at, IW_MIN(n - at, (size_t)1000));
}

/* Makes a FILES message with one file, whose name has name_len octets. */
static size_t files(uint8_t *p, size_t cap, size_t name_len)
{
	static char name[IW_XFER_NAME_MAX];
	struct iw_xfer_entry e = { .has = IW_XFER_HAS(ID) | IW_XFER_HAS(NAME) | IW_XFER_HAS(KIND) |
					  IW_XFER_HAS(SIZE),
				   .id = 7,
				   .name = name,
				   .name_len = name_len,
				   .size = 1234567 };
	struct iw_cbor_out o;

	memset(name, 'n', sizeof(name));
	name[0] = '\x1b';
	iw_cbor_out_init(&o, p, cap);
	iw_cbor_map(&o, 3);
	iw_cbor_uint(&o, IW_XFER_KEY_TYPE);
	iw_cbor_uint(&o, IW_XFER_MSG_FILES);
	iw_cbor_uint(&o, IW_XFER_KEY_CREDIT);
	iw_cbor_uint(&o, 20);
	iw_cbor_uint(&o, IW_XFER_KEY_LIST);
	iw_cbor_array(&o, 1);
	iw_xfer_entry_put(&o, &e);
	assert_false(o.full);
	return o.len;
}

static void payload_of_an_fpdu_in_many_tcp_segments_is_kept_whole(void **state)
{
	uint8_t fpdu[9000], ulpdu[9000];
	struct maker m;
	size_t n;

	(void)state;
	begin(&m);
	set_up(&m, 0, 0);
	n = make_write(ulpdu, 7, 0, true, 8000);
	n = make_fpdu(fpdu, 0, false, false, ulpdu, n);
	for (size_t at = 0; at < n; at += 7)
		say(&m, 0, fpdu + at, IW_MIN(n - at, (size_t)7));
	assert_int_equal(payload_len, 8000);
	assert_memory_equal(payload, ulpdu + IW_DDP_TAGGED_LEN, 8000);
	end(&m);
}

static void payload_before_a_hole_is_kept(void **state)
{
	uint8_t fpdu[3000], ulpdu[3000];
	struct maker m;
	size_t n;

	(void)state;
	begin(&m);
	set_up(&m, 0, 0);
	n = make_fpdu(fpdu, 0, false, false, ulpdu, make_write(ulpdu, 7, 0, true, 2000));
	say(&m, 0, fpdu, 500);
	m.seq[0] += 500;
	say(&m, 0, fpdu + 1000, n - 1000);
	end(&m);
	assert_int_equal(payloads, 1);
	assert_int_equal(payload_len, 500 - IW_MPA_HEAD_LEN - IW_DDP_TAGGED_LEN);
	assert_memory_equal(payload, ulpdu + IW_DDP_TAGGED_LEN, payload_len);
}

static void message_over_tcp_is_named_with_its_entries(void **state)
{
	uint8_t msg[600];
	struct maker m;

	(void)state;
	begin_tcp(&m, IW_XFER_NONE);
	say_message(&m, 1, msg, files(msg, sizeof(msg), 3));
	assert_non_null(strstr(transfers, "ddp-transfer version 3, source, mode write"));
	assert_non_null(strstr(transfers,
			       "ddp-transfer FILES credit 20: file 7 file \".nn\" size 1234567\n"));
	assert_non_null(strstr(
		json,
		"\"message\":\"FILES\",\"type\":3,\"credit\":20,\"entries\":"
		"[{\"file\":7,\"name\":\".nn\",\"kind\":\"file\",\"size_octets\":1234567}]}"));
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);
}

static void keys_are_explained_with_name_value_and_section(void **state)
{
	const struct iw_cap_field *f = NULL;
	uint8_t msg[600];
	struct maker m;

	(void)state;
	begin_tcp(&m, IW_XFER_NONE);
	say_message(&m, 1, msg, files(msg, sizeof(msg), 3));
	for (size_t i = 0; i < fields; i++)
		if (strcmp(field[i].name, "6 size") == 0)
			f = &field[i];
	assert_non_null(f);
	assert_string_equal(f->header, "ddp-transfer");
	assert_int_equal(f->value, 1234567);
	assert_string_equal(f->clause, "ddp-transfer(7) Entries");
	assert_string_equal(f->meaning, "octets of the file");
	end(&m);
}

static void segments_of_a_message_over_sctp_are_put_together_in_any_order(void **state)
{
	static const unsigned order[] = { 2, 0, 3, 1 };
	uint8_t msg[5000], p[2000];
	struct maker m;
	size_t len;

	(void)state;
	begin_sctp(&m);
	len = files(msg, sizeof(msg), 3900);
	for (unsigned i = 0; i < 4; i++) {
		assert_null(strstr(transfers, "FILES"));
		say_segment(&m, 0, 0, (uint16_t)(1 + order[i]), p,
			    segment(p, 1, msg, len, order[i] * 1000u, 1000));
	}
	assert_non_null(strstr(transfers, "FILES credit 20: file 7"));
	assert_false(malformed);
	end(&m);
}

static void duplicate_octets_do_not_complete_a_message(void **state)
{
	uint8_t msg[5000], p[2000];
	struct maker m;
	size_t len;

	(void)state;
	begin_sctp(&m);
	len = files(msg, sizeof(msg), 2900);
	/* The sum of these lengths is the length of the message. */
	say_segment(&m, 0, 0, 1, p, segment(p, 1, msg, len, 0, 1000));
	say_segment(&m, 0, 0, 2, p, segment(p, 1, msg, len, 0, 1000));
	say_segment(&m, 0, 0, 3, p, segment(p, 1, msg, len, 2000, 1000));
	assert_null(strstr(transfers, "FILES"));
	say_segment(&m, 0, 0, 4, p, segment(p, 1, msg, len, 1000, 1000));
	assert_non_null(strstr(transfers, "FILES"));
	end(&m);
}

static void data_messages_are_recognized_by_their_first_octet(void **state)
{
	uint8_t msg[4000] = { 0 }, p[2000];
	struct maker m;

	(void)state;
	begin_sctp(&m);
	iw_xfer_data_encode(msg, 9, 262144);
	for (unsigned i = 0; i < 4; i++)
		say_segment(&m, 0, 0, (uint16_t)(1 + i), p,
			    segment(p, 1, msg, sizeof(msg), i * 1000u, 1000));
	assert_non_null(strstr(transfers, "ddp-transfer data: file 9 offset 262144\n"));
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);
}

static void malformed_message_is_an_error_and_is_not_decoded(void **state)
{
	uint8_t msg[600];
	struct maker m;
	size_t len;

	(void)state;
	begin_tcp(&m, IW_XFER_NONE);
	len = files(msg, sizeof(msg), 3);
	say_message(&m, 1, msg, len - 1);
	assert_true(malformed);
	assert_non_null(strstr(transfers, "malformed"));
	assert_null(strstr(transfers, "FILES"));
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	assert_string_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.clause, "ddp-transfer(7) MESSAGES");
	end(&m);
}

static void digest_after_a_message_is_no_part_of_its_map(void **state)
{
	uint8_t msg[600] = { 0 };
	struct maker m;
	size_t len;

	(void)state;
	begin_tcp(&m, IW_XFER_SHA256);
	len = files(msg, sizeof(msg), 3);
	say_message(&m, 1, msg, len + 32);
	assert_non_null(strstr(transfers, "FILES"));
	assert_string_equal(field[fields - 1].name, "digest");
	assert_int_equal(field[fields - 1].len, 32);
	say_message(&m, 2, msg, 10);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	end(&m);
}

static void sends_of_another_protocol_are_not_decoded(void **state)
{
	uint8_t msg[600];
	struct maker m;

	(void)state;
	begin(&m);
	set_up(&m, 0, 0);
	say_message(&m, 1, msg, files(msg, sizeof(msg), 3));
	assert_string_equal(transfers, "");
	end(&m);
}

/* A sanitizer detects writes past the kept payload. */
static void fpdus_without_a_ddp_header_are_kept_within_bounds(void **state)
{
	static const uint8_t zeros[4];
	uint8_t fpdu[64];
	struct maker m;

	(void)state;
	for (size_t len = 0; len < sizeof(zeros); len++) {
		size_t n = make_fpdu(fpdu, 0, false, false, zeros, len);

		begin_tcp(&m, IW_XFER_NONE);
		for (size_t at = 0; at < n; at++)
			say(&m, 0, fpdu + at, 1);
		end(&m);
		assert_int_equal(payloads, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fpdus_without_a_ddp_header_are_kept_within_bounds),
		cmocka_unit_test(payload_of_an_fpdu_in_many_tcp_segments_is_kept_whole),
		cmocka_unit_test(payload_before_a_hole_is_kept),
		cmocka_unit_test(message_over_tcp_is_named_with_its_entries),
		cmocka_unit_test(keys_are_explained_with_name_value_and_section),
		cmocka_unit_test(segments_of_a_message_over_sctp_are_put_together_in_any_order),
		cmocka_unit_test(duplicate_octets_do_not_complete_a_message),
		cmocka_unit_test(data_messages_are_recognized_by_their_first_octet),
		cmocka_unit_test(malformed_message_is_an_error_and_is_not_decoded),
		cmocka_unit_test(digest_after_a_message_is_no_part_of_its_map),
		cmocka_unit_test(sends_of_another_protocol_are_not_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
