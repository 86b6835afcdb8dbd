// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events as lines of JSON: always valid, with the keys of the man page. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "capture_maker.h"
#include "rng.h"

static char buf[IW_CAP_LINE];

/* Parses the line. The test fails if it is not a JSON object, or is cut. */
static struct json_object *parsed(const struct iw_text *t)
{
	struct json_object *o;

	assert_true(t->len + 1 < t->cap);
	assert_null(strchr(t->buf, '\n'));
	o = json_tokener_parse(t->buf);
	assert_non_null(o);
	assert_true(json_object_is_type(o, json_type_object));
	/* "schema" and "event" first */
	assert_memory_equal(t->buf, "{\"schema\":1,\"event\":\"", 21);
	return o;
}

static struct json_object *event(const struct iw_cap_event *ev)
{
	struct iw_text t;

	iw_text_init(&t, buf, sizeof(buf));
	iw_cap_event_json(&t, ev);
	return parsed(&t);
}

static struct json_object *key(struct json_object *o, const char *name)
{
	struct json_object *v;

	assert_true(json_object_object_get_ex(o, name, &v));
	return v;
}

static bool has(struct json_object *o, const char *name)
{
	return json_object_object_get_ex(o, name, NULL);
}

static const char *text(struct json_object *o, const char *name)
{
	assert_true(json_object_is_type(key(o, name), json_type_string));
	return json_object_get_string(key(o, name));
}

static uint64_t number(struct json_object *o, const char *name)
{
	assert_true(json_object_is_type(key(o, name), json_type_int));
	return json_object_get_uint64(key(o, name));
}

static const struct iw_cap_flow flow = {
	.id = 3,
	.end = { { .addr = { 10, 0, 0, 1 }, .port = 1 },
		 { .v6 = true, .addr = { [15] = 1 }, .port = 2 } },
	.name = { "10.0.0.1:1", "[::1]:2" },
	.initiator = 1,
};

static void every_event_has_the_common_keys(void **state)
{
	struct iw_cap_event ev = {
		.kind = IW_CAP_TCP, .flow = &flow, .from = 1, .time_ns = UINT64_MAX, .frame = 9
	};
	struct json_object *o;

	(void)state;
	ev.tcp = (struct iw_cap_tcp){ .kind = IW_CAP_TCP_FIN, .where = "full operation" };
	o = event(&ev);
	assert_string_equal(text(o, "event"), "tcp");
	assert_string_equal(text(o, "time_ns"), "18446744073709551615");
	assert_int_equal(number(o, "frame"), 9);
	assert_int_equal(number(o, "flow"), 3);
	assert_string_equal(text(o, "from"), "initiator");
	assert_string_equal(text(o, "src"), "[::1]:2");
	assert_string_equal(text(o, "dst"), "10.0.0.1:1");
	json_object_put(o);
	ev.from = 0;
	o = event(&ev);
	assert_string_equal(text(o, "from"), "responder");
	json_object_put(o);
}

static void private_data_of_any_octets_stays_valid(void **state)
{
	struct iw_cap_event ev = { .kind = IW_CAP_MPA, .flow = &flow };
	uint8_t pd[IW_MPA_PD_MAX];
	struct json_object *o;

	(void)state;
	/* all values of an octet; and the longest line, in which each octet needs two characters */
	for (int way = 0; way < 2; way++) {
		for (size_t i = 0; i < sizeof(pd); i++)
			pd[i] = way ? '"' : (uint8_t)i;
		ev.mpa.frame = (struct iw_mpa_frame){
			.kind = IW_MPA_REQUEST, .flags = 0xff, .rev = 255, .pd_len = sizeof(pd)
		};
		ev.mpa.pd = pd;
		ev.mpa.pd_len = sizeof(pd);
		ev.mpa.enhanced = ev.mpa.agreed = true;
		o = event(&ev);
		assert_int_equal(strlen(text(o, "private_data")), 1024);
		assert_int_equal(strlen(text(o, "private_data_text")), 512);
		assert_int_equal(text(o, "private_data_text")[0x41], way ? '"' : 'A');
		json_object_put(o);
	}
}

static void a_tagged_and_an_untagged_segment_have_their_own_keys(void **state)
{
	struct iw_cap_event ev = { .kind = IW_CAP_DDP, .flow = &flow };
	struct json_object *o;

	(void)state;
	ev.ddp.has_header = true;
	ev.ddp.hdr = (struct iw_ddp){
		.tagged = true, .last = true, .dv = 1, .rv = 1, .stag = 0x10, .to = UINT64_MAX
	};
	ev.ddp.len = 7;
	o = event(&ev);
	assert_string_equal(text(o, "op"), "RDMA Write");
	assert_string_equal(text(o, "stag"), "0x00000010");
	assert_string_equal(text(o, "to"), "0xffffffffffffffff");
	assert_true(json_object_get_boolean(key(o, "t")) && json_object_get_boolean(key(o, "l")));
	assert_int_equal(number(o, "payload_octets"), 7);
	assert_false(has(o, "qn") || has(o, "deviations") || has(o, "missing_octets") ||
		     has(o, "crc_expected"));
	json_object_put(o);

	ev.ddp.hdr = (struct iw_ddp){ .dv = 1,
				      .rv = 1,
				      .opcode = IW_OP_SEND_INV,
				      .inval_stag = 5,
				      .qn = 0,
				      .msn = 0xffffffff,
				      .mo = 9 };
	ev.deviations = IW_CAP_DEV_PAD | IW_CAP_DEV_EARLY;
	ev.ddp.crc = IW_CAP_CRC_BAD;
	o = event(&ev);
	assert_int_equal(number(o, "msn"), 0xffffffff);
	assert_int_equal(number(o, "mo"), 9);
	assert_string_equal(text(o, "inval_stag"), "0x00000005");
	assert_false(has(o, "stag"));
	assert_true(has(o, "crc_expected"));
	assert_int_equal(json_object_array_length(key(o, "deviations")), 2);
	json_object_put(o);

	ev.ddp = (struct iw_cap_ddp){ .segment_len = 3, .crc = IW_CAP_CRC_ABSENT, .missing = 2 };
	o = event(&ev);
	assert_false(has(o, "op") || has(o, "payload_octets") || has(o, "crc_field"));
	assert_int_equal(number(o, "missing_octets"), 2);
	json_object_put(o);
}

static void an_error_is_reported_with_its_name_and_clause(void **state)
{
	struct iw_cap_event ev = { .kind = IW_CAP_ERROR, .flow = &flow };
	struct json_object *o;

	(void)state;
	iw_fail(&ev.error, IW_E_DDP_MSN, "ddp: \"quoted\" \\ and \033");
	o = event(&ev);
	assert_string_equal(text(o, "error"), "DDP_MSN");
	assert_string_equal(text(o, "text"), "ddp: \"quoted\" \\ and .");
	assert_string_equal(text(o, "clause"), "RFC 5041 7.1");
	json_object_put(o);
}

static void totals_have_a_key_for_every_counter(void **state)
{
	struct iw_cap_totals totals;
	struct json_object *o;
	struct iw_text t;

	(void)state;
	memset(&totals, 0xff, sizeof(totals));
	iw_text_init(&t, buf, sizeof(buf));
	iw_cap_totals_json(&t, &totals, true, 4);
	o = parsed(&t);
	assert_string_equal(text(o, "event"), "result");
#define IW_X_(name, what) assert_true(number(o, #name) == UINT64_MAX);
	IW_CAP_TOTALS_LIST(IW_X_)
#undef IW_X_
	assert_true(json_object_get_boolean(key(o, "complete")));
	assert_int_equal(number(o, "exit_status"), 4);
	json_object_put(o);
}

static size_t looked_at;

static void look_at(const struct iw_cap_event *ev)
{
	json_object_put(event(ev));
	looked_at++;
}

/* Events of random octets are valid JSON too. */
static void every_event_of_random_streams_is_valid(void **state)
{
	struct rng r = { 5 };
	uint8_t junk[700];

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct maker m;

		maker_init(&m, NULL);
		m.each = look_at;
		m.snap = i % 3 ? 0 : 200;
		set_up(&m, (uint8_t)rng_next(&r), (uint8_t)(rng_next(&r) & ~IW_MPA_R));
		for (int k = 0; k < 200; k++) {
			size_t n = 1 + rng_below(&r, sizeof(junk));

			rng_fill(&r, junk, n);
			junk[0] = 0;
			if (n > 3) {
				junk[2] = k % 2 ? 0x41 : 0xc1;
				junk[3] = 0x40 | (uint8_t)rng_below(&r, 16);
			}
			say(&m, (unsigned)k % 2, junk, n);
		}
		maker_finish(&m);
		assert_true(maker_fini(&m));
	}
	assert_in_range(looked_at, 100, 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_has_the_common_keys),
		cmocka_unit_test(private_data_of_any_octets_stays_valid),
		cmocka_unit_test(a_tagged_and_an_untagged_segment_have_their_own_keys),
		cmocka_unit_test(an_error_is_reported_with_its_name_and_clause),
		cmocka_unit_test(totals_have_a_key_for_every_counter),
		cmocka_unit_test(every_event_of_random_streams_is_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
