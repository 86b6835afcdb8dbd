// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Each line, when parsed, has the values that were written. */
#include "cli/json.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <json-c/json.h>

#include "cli_capture.h"

struct sink {
	int fd;
	struct iw_json w;
	char text[65536];
};

static void open_sink(struct sink *s)
{
	s->fd = memfd_create("json", 0);
	assert_true(s->fd >= 0);
	iw_json_init(&s->w, s->fd);
}

static void read_sink(struct sink *s)
{
	iw_json_fini(&s->w);
	capture_read(s->fd, s->text, sizeof(s->text));
}

/* Parses the only line of the output, which must be valid for a strict parser. */
static struct json_object *only_line(struct sink *s)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *o;
	char *end;

	read_sink(s);
	end = strchr(s->text, '\n');
	assert_non_null(end);
	assert_int_equal(end[1], '\0');
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	o = json_tokener_parse_ex(tok, s->text, (int)(end - s->text));
	if (!o || json_tokener_get_error(tok) != json_tokener_success)
		fail_msg("not JSON: %s", s->text);
	assert_int_equal(json_tokener_get_parse_end(tok), end - s->text);
	json_tokener_free(tok);
	return o;
}

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v))
		fail_msg("no key %s in %s", key, json_object_to_json_string(o));
	return v;
}

static void schema_and_event_come_first(void **state)
{
	struct sink s;

	(void)state;
	open_sink(&s);
	iw_json_begin(&s.w, "result");
	iw_json_u64(&s.w, "octets", 42);
	iw_json_bool(&s.w, "done", true);
	assert_int_equal(iw_json_end(&s.w), 0);
	read_sink(&s);
	assert_string_equal(s.text,
			    "{\"schema\":1,\"event\":\"result\",\"octets\":42,\"done\":true}\n");
}

static void one_object_a_line(void **state)
{
	struct sink s;

	(void)state;
	open_sink(&s);
	for (int i = 0; i < 3; i++) {
		iw_json_begin(&s.w, "reply");
		iw_json_str(&s.w, "text", "two/two\nlines");
		assert_int_equal(iw_json_end(&s.w), 0);
	}
	read_sink(&s);
	for (int i = 0, pos = 0; i < 3; i++) {
		static const char line[] =
			"{\"schema\":1,\"event\":\"reply\",\"text\":\"two/two\\nlines\"}\n";

		assert_memory_equal(s.text + pos, line, strlen(line));
		pos += (int)strlen(line);
	}
}

static void integers_are_exact_and_never_exceed_2_53(void **state)
{
	struct json_object *o;
	struct sink s;

	(void)state;
	open_sink(&s);
	iw_json_begin(&s.w, "result");
	iw_json_u64(&s.w, "largest", (UINT64_C(1) << 53) - 1);
	iw_json_u64(&s.w, "above", (UINT64_C(1) << 53) + 1);
	iw_json_u64(&s.w, "max", UINT64_MAX);
	iw_json_i64(&s.w, "least", INT64_MIN);
	iw_json_i64(&s.w, "most", INT64_MAX);
	iw_json_i64(&s.w, "below_0", -5);
	iw_json_hex(&s.w, "to", UINT64_MAX - 1);
	iw_json_decimal(&s.w, "time_ns", UINT64_MAX);
	assert_int_equal(iw_json_end(&s.w), 0);
	o = only_line(&s);
	assert_non_null(strstr(s.text, "\"largest\":9007199254740991,\"above\":9007199254740991,"
				       "\"max\":9007199254740991,\"least\":-9007199254740991,"
				       "\"most\":9007199254740991,\"below_0\":-5,"
				       "\"to\":\"0xfffffffffffffffe\","
				       "\"time_ns\":\"18446744073709551615\"}"));
	json_object_put(o);
}

static void fractions_read_back_and_stay_short(void **state)
{
	static const struct {
		double v;
		const char *text;
	} rows[] = {
		{ 0.0, "0.0" },
		{ -0.0, "-0.0" },
		{ 0.1, "0.1" },
		{ 5.0, "5.0" },
		{ 1e300, "1e+300" },
		{ 41.25, "41.25" },
		{ 1e15, "1e+15" },
		{ 123456789012345680.0, "1.2345678901234568e+17" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ DBL_MAX, "1.7976931348623157e+308" },
		{ DBL_TRUE_MIN, "4.94065645841247e-324" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_object *o;
		char expected[64];
		struct sink s;

		open_sink(&s);
		iw_json_begin(&s.w, "e");
		iw_json_f64(&s.w, "v", rows[i].v);
		assert_int_equal(iw_json_end(&s.w), 0);
		o = only_line(&s);
		assert_true(json_object_get_double(member(o, "v")) == rows[i].v);
		snprintf(expected, sizeof(expected), "\"v\":%s}", rows[i].text);
		if (!strstr(s.text, expected))
			fail_msg("%s, not %s", s.text, expected);
		json_object_put(o);
	}
}

static int write_not_finite(const void *arg)
{
	struct iw_json w;
	int err;

	iw_json_init(&w, STDOUT_FILENO);
	iw_json_begin(&w, "e");
	iw_json_f64(&w, "v", *(const double *)arg);
	iw_json_u64(&w, "n", 1);
	err = iw_json_end(&w);
	iw_json_fini(&w);
	return err != 0;
}

static void number_that_is_not_finite_is_never_written(void **state)
{
	double rows[] = { NAN, INFINITY, -INFINITY };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct capture c;

		capture_run(&c, write_not_finite, &rows[i]);
		if (c.status == -SIGABRT) {
			assert_non_null(strstr(c.err, "isfinite"));
			assert_string_equal(c.out, "");
		} else {
			assert_int_equal(c.status, 0);
			assert_string_equal(c.out, "{\"schema\":1,\"event\":\"e\",\"n\":1}\n");
		}
	}
}

static void string_round_trips(const char *text, size_t len)
{
	struct json_object *o, *v;
	struct sink s;

	open_sink(&s);
	iw_json_begin(&s.w, "e");
	iw_json_text(&s.w, "name", text, len);
	assert_int_equal(iw_json_end(&s.w), 0);
	o = only_line(&s);
	v = member(o, "name");
	assert_int_equal(json_object_get_string_len(v), len);
	assert_memory_equal(json_object_get_string(v), text, len);
	assert_false(json_object_object_get_ex(o, "name_b64", NULL));
	json_object_put(o);
}

static void valid_utf8_round_trips_whatever_it_holds(void **state)
{
	char all[129];

	(void)state;
	for (int i = 0; i < 128; i++)
		all[i] = (char)i;
	string_round_trips(all, 128);
	string_round_trips("", 0);
	string_round_trips("gr\xc3\xbc\xc3\x9f \"\\/ \xf0\x9f\x98\x80 \xe2\x80\xa8", 20);
}

static void other_octets_come_as_text_and_base64(void **state)
{
	static const char name[] = "caf\xe9\n\xff";
	struct json_object *o;
	struct sink s;

	(void)state;
	open_sink(&s);
	iw_json_begin(&s.w, "e");
	iw_json_str(&s.w, "name", name);
	iw_json_open_array(&s.w, "list");
	iw_json_str(&s.w, NULL, "plain");
	iw_json_str(&s.w, NULL, name);
	iw_json_close(&s.w);
	assert_int_equal(iw_json_end(&s.w), 0);
	o = only_line(&s);
	assert_string_equal(json_object_get_string(member(o, "name")), "caf\\xe9\n\\xff");
	assert_string_equal(json_object_get_string(member(o, "name_b64")), "Y2Fm6Qr/");
	assert_string_equal(json_object_get_string(json_object_array_get_idx(member(o, "list"), 0)),
			    "plain");
	assert_string_equal(json_object_get_string(member(
				    json_object_array_get_idx(member(o, "list"), 1), "text_b64")),
			    "Y2Fm6Qr/");
	json_object_put(o);
}

static void objects_and_arrays_nest(void **state)
{
	struct sink s;

	(void)state;
	open_sink(&s);
	iw_json_begin(&s.w, "e");
	iw_json_open_array(&s.w, "streams");
	for (uint64_t i = 0; i < 2; i++) {
		iw_json_open_object(&s.w, NULL);
		iw_json_u64(&s.w, "id", i);
		iw_json_open_array(&s.w, "gaps");
		iw_json_u64(&s.w, NULL, i);
		iw_json_close(&s.w);
		iw_json_close(&s.w);
	}
	iw_json_close(&s.w);
	iw_json_open_object(&s.w, "empty");
	iw_json_close(&s.w);
	iw_json_str(&s.w, "absent", NULL);
	iw_json_i64(&s.w, "last", -1);
	assert_int_equal(iw_json_end(&s.w), 0);
	read_sink(&s);
	assert_string_equal(s.text,
			    "{\"schema\":1,\"event\":\"e\",\"streams\":[{\"id\":0,\"gaps\":[0]},"
			    "{\"id\":1,\"gaps\":[1]}],\"empty\":{},\"last\":-1}\n");
}

/* A datagram socket keeps the boundaries of writes. */
static void a_line_is_written_with_one_system_call(void **state)
{
	char buf[4096];
	struct iw_json w;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	iw_json_init(&w, pair[0]);
	for (int i = 0; i < 2; i++) {
		ssize_t n;

		iw_json_begin(&w, "e");
		iw_json_str(&w, "text", "some text");
		assert_int_equal(iw_json_end(&w), 0);
		n = recv(pair[1], buf, sizeof(buf), MSG_DONTWAIT);
		assert_true(n > 0);
		assert_int_equal(buf[n - 1], '\n');
	}
	assert_int_equal(recv(pair[1], buf, sizeof(buf), MSG_DONTWAIT), -1);
	close(pair[0]);
	close(pair[1]);
}

#define BIG 1000000

/* True if the parent sleeps: the pipe is full, and it waits until it is writable. */
static bool parent_sleeps(void)
{
	char path[64], text[256], *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
	fd = open(path, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

/* Exit status 0: a line with BIG octets of text arrived complete. */
static int read_when_full(int fd)
{
	size_t total = 0, around = strlen("{\"schema\":1,\"event\":\"e\",\"big\":\"\"}\n");
	int size = fcntl(fd, F_GETPIPE_SZ), queued = 0;
	char buf[1000];
	ssize_t n;

	alarm(20);
	while (queued < size || !parent_sleeps())
		if (ioctl(fd, FIONREAD, &queued) < 0)
			return 2;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		total += (size_t)n;
		if (buf[n - 1] == '\n')
			break;
	}
	return total == BIG + around ? 0 : 1;
}

static void line_longer_than_the_pipe_gets_through_in_pieces(void **state)
{
	static char big[BIG + 1];
	int ends[2], status;
	struct iw_json w;
	pid_t pid;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_int_equal(fcntl(ends[0], F_SETFL, 0), 0);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		_exit(read_when_full(ends[0]));
	}
	iw_json_init(&w, ends[1]);
	iw_json_begin(&w, "e");
	iw_json_str(&w, "big", big);
	assert_int_equal(iw_json_end(&w), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(status, 0);
}

static void closed_pipe_is_an_error_that_stays(void **state)
{
	struct iw_json w;
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	iw_json_init(&w, ends[1]);
	iw_json_begin(&w, "e");
	assert_int_equal(iw_json_end(&w), IW_E_CLOSED);
	assert_int_equal(w.os_errno, EPIPE);
	iw_json_begin(&w, "f");
	iw_json_open_object(&w, "o");
	iw_json_str(&w, "name", "\xff");
	iw_json_f64(&w, "v", 1.5);
	iw_json_close(&w);
	assert_int_equal(iw_json_end(&w), IW_E_CLOSED);
	iw_json_fini(&w);
	close(ends[1]);
}

static void full_device_is_an_error(void **state)
{
	int fd = open("/dev/full", O_WRONLY);
	struct iw_json w;

	(void)state;
	assert_true(fd >= 0);
	iw_json_init(&w, fd);
	iw_json_begin(&w, "e");
	assert_int_equal(iw_json_end(&w), IW_E_OS);
	assert_int_equal(w.os_errno, ENOSPC);
	close(fd);
}

static void unfinished_line_is_dropped(void **state)
{
	struct sink s;

	(void)state;
	open_sink(&s);
	iw_json_begin(&s.w, "e");
	iw_json_open_array(&s.w, "a");
	read_sink(&s);
	assert_string_equal(s.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schema_and_event_come_first),
		cmocka_unit_test(one_object_a_line),
		cmocka_unit_test(integers_are_exact_and_never_exceed_2_53),
		cmocka_unit_test(fractions_read_back_and_stay_short),
		cmocka_unit_test(number_that_is_not_finite_is_never_written),
		cmocka_unit_test(valid_utf8_round_trips_whatever_it_holds),
		cmocka_unit_test(other_octets_come_as_text_and_base64),
		cmocka_unit_test(objects_and_arrays_nest),
		cmocka_unit_test(a_line_is_written_with_one_system_call),
		cmocka_unit_test(line_longer_than_the_pipe_gets_through_in_pieces),
		cmocka_unit_test(closed_pipe_is_an_error_that_stays),
		cmocka_unit_test(full_device_is_an_error),
		cmocka_unit_test(unfinished_line_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
