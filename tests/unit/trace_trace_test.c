// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Traced events as lines: valid JSON for any text, with every field of the list, and without
 * incomplete fields.
 */
#include "trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

static struct json_object *parse(const char *line)
{
	struct json_object *o = json_tokener_parse(line);

	if (!o)
		fail_msg("not JSON: %s", line);
	assert_null(strchr(line, '\n'));
	return o;
}

static struct json_object *get(struct json_object *o, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v))
		fail_msg("no key %s", key);
	return v;
}

/* Makes an event with its texts set; which texts of the union exist depends on the event. */
static struct iw_trace_event sample(enum iw_trace_kind kind, const char *text)
{
	struct iw_trace_event ev = {
		.kind = kind, .now = 1234567890123, .wall = 1800000000123456789, .stream = 7
	};

	switch (kind) {
#define U64(ev_, name)           ev.ev_.name = UINT64_MAX;
#define HEX(ev_, name)           ev.ev_.name = UINT64_MAX;
#define HEX32(ev_, name)         ev.ev_.name = UINT32_MAX;
#define BOOL(ev_, name)          ev.ev_.name = true;
#define STR(ev_, name)           ev.ev_.name = text;
#define BEGIN(name)              case IW_TRACE_##name:
#define FIELD(event, type, name) type(event, name)
#define END(name)                break;
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END
#undef U64
#undef HEX
#undef HEX32
#undef BOOL
#undef STR
	case IW_TRACE_COUNT:
		break;
	}
	return ev;
}

static void every_event_is_one_object_with_all_its_fields(void **state)
{
	(void)state;
	for (int k = 0; k < IW_TRACE_COUNT; k++) {
		struct iw_trace_event ev = sample((enum iw_trace_kind)k, "text");
		struct json_object *o;
		char line[IW_TRACE_LINE];
		size_t len = iw_trace_json(line, sizeof(line), &ev);

		assert_int_equal(len, strlen(line));
		assert_int_equal(strncmp(line, "{\"schema\":1,\"event\":\"", 21), 0);
		o = parse(line);
		assert_true(json_object_get_int64(get(o, "t_ns")) == 1234567890123);
		assert_string_equal(json_object_get_string(get(o, "time_ns")),
				    "1800000000123456789");
		assert_int_equal(json_object_get_int(get(o, "stream")), 7);
#define U64   json_type_int
#define HEX   json_type_string
#define HEX32 json_type_string
#define BOOL  json_type_boolean
#define STR   json_type_string
#define BEGIN(name)                                                                                \
	if (ev.kind == IW_TRACE_##name) {                                                          \
		assert_string_equal(json_object_get_string(get(o, "event")), #name);
#define FIELD(event, type, name) assert_int_equal(json_object_get_type(get(o, #name)), type);
#define END(name)                }
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END
#undef U64
#undef HEX
#undef HEX32
#undef BOOL
#undef STR
		json_object_put(o);
	}
}

static void texts_are_escaped(void **state)
{
	static const char odd[] = "a \"quoted\" \\ back\nline\ttab \x01 \xff \xc3\xa9";
	struct iw_trace_event ev = sample(IW_TRACE_fault, odd);
	char line[IW_TRACE_LINE];
	struct json_object *o;

	(void)state;
	iw_trace_json(line, sizeof(line), &ev);
	for (const char *p = line; *p; p++)
		assert_in_range((unsigned char)*p, 0x20, 0x7e);
	o = parse(line);
	assert_int_equal(strncmp(json_object_get_string(get(o, "text")),
				 "a \"quoted\" \\ back\nline\ttab \x01 ", 29),
			 0);
	json_object_put(o);
}

static void short_buffer_drops_whole_fields(void **state)
{
	struct iw_trace_event ev = sample(IW_TRACE_established, "some text");
	char line[IW_TRACE_LINE];
	size_t whole = iw_trace_json(line, sizeof(line), &ev), last = 0;

	(void)state;
	for (size_t cap = 128; cap <= whole + 1; cap++) {
		size_t len;

		memset(line, '#', sizeof(line));
		len = iw_trace_json(line, cap, &ev);
		assert_true(len < cap && len >= last);
		assert_int_equal(line[len], '\0');
		assert_int_equal(line[cap], '#');
		json_object_put(parse(line));
		last = len;
	}
	assert_int_equal(last, whole);
}

static void keep_line(void *ctx, const char *line)
{
	strncpy(ctx, line, IW_TRACE_LINE - 1);
}

static void sink_sets_times_and_passes_lines(void **state)
{
	char line[IW_TRACE_LINE] = "";
	struct iw_trace_sink sink = { .line = keep_line, .ctx = line };
	struct iw_tracer t = { iw_trace_emit, &sink };
	struct iw_trace_event ev = sample(IW_TRACE_completion, "OK");

	(void)state;
	assert_true(iw_tracing(&t));
	ev.now = ev.wall = 0;
	iw_trace(&t, &ev);
	assert_true(ev.now > 0 && ev.wall > 0);
	json_object_put(parse(line));
	t.emit = NULL;
	assert_false(iw_tracing(&t) || iw_tracing(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_is_one_object_with_all_its_fields),
		cmocka_unit_test(texts_are_escaped),
		cmocka_unit_test(short_buffer_drops_whole_fields),
		cmocka_unit_test(sink_sets_times_and_passes_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
