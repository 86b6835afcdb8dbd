// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The messages on ssh's pipe. */
#include "transfer/ssh/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint8_t buf[IW_SSH_MSG_MAX];

static char first[] = "a b'\"\n", second[] = "\xff\xfe", *two[] = { first, second };

static struct iw_ssh_msg request(void)
{
	return (struct iw_ssh_msg){ .type = IW_SSH_REQUEST,
				    .request = { .protocol = IW_SSH_PROTOCOL,
						 .version = "1.2.3",
						 .source = true,
						 .verbose = true,
						 .crc = IW_CRC_OFF,
						 .mulpdu = IW_MULPDU_MAX,
						 .opts = 0x80000001,
						 .jobs = 4,
						 .timeout_ms = 30000,
						 .setup_ms = 10000,
						 .first = 7000,
						 .last = 7010,
						 .cc = "cubic",
						 .paths = { .list = two, .n = 2 } } };
}

static void assert_paths(struct iw_ssh_paths paths)
{
	const char *p;
	size_t len, n = 0;

	for (; iw_ssh_path_next(&paths, &p, &len); n++) {
		assert_int_equal(len, strlen(two[n]));
		assert_memory_equal(p, two[n], len);
	}
	assert_int_equal(n, 2);
}

static void request_survives_encoding(void **state)
{
	struct iw_ssh_msg in = request(), out;
	struct iw_ssh_request *r = &out.request;
	size_t len = iw_ssh_msg_encode(buf, &in);
	struct iw_fault why = { 0 };

	(void)state;
	assert_int_equal(iw_ssh_msg_decode(&out, buf, len, &why), 0);
	assert_int_equal(out.type, IW_SSH_REQUEST);
	assert_string_equal(r->version, "1.2.3");
	assert_true(r->source && r->verbose && !r->udp && !r->markers);
	assert_int_equal(r->crc, IW_CRC_OFF);
	assert_int_equal(r->mulpdu, IW_MULPDU_MAX);
	assert_int_equal(r->opts, 0x80000001);
	assert_int_equal(r->jobs, 4);
	assert_int_equal(r->timeout_ms, 30000);
	assert_int_equal(r->setup_ms, 10000);
	assert_int_equal(r->first, 7000);
	assert_int_equal(r->last, 7010);
	assert_string_equal(r->cc, "cubic");
	assert_paths(r->paths);
}

static void ready_survives_encoding(void **state)
{
	struct iw_ssh_msg in = { .type = IW_SSH_READY,
				 .ready = { .version = "1.2.3",
					    .addr = "fe80::1%eth0",
					    .port = 7000,
					    .udp_port = 9899,
					    .paths = { .list = two, .n = 2 } } },
			  out;
	struct iw_fault why = { 0 };

	(void)state;
	memset(in.ready.secret, 0xa5, sizeof(in.ready.secret));
	assert_int_equal(iw_ssh_msg_decode(&out, buf, iw_ssh_msg_encode(buf, &in), &why), 0);
	assert_string_equal(out.ready.version, "1.2.3");
	assert_string_equal(out.ready.addr, "fe80::1%eth0");
	assert_int_equal(out.ready.port, 7000);
	assert_int_equal(out.ready.udp_port, 9899);
	assert_memory_equal(out.ready.secret, in.ready.secret, IW_SSH_SECRET_LEN);
	assert_paths(out.ready.paths);
}

static void short_messages_survive_encoding(void **state)
{
	struct iw_ssh_msg error = { .type = IW_SSH_ERROR, .error = "no directory" }, out;
	struct iw_fault why = { 0 };

	(void)state;
	assert_int_equal(iw_ssh_msg_decode(&out, buf, iw_ssh_msg_encode(buf, &error), &why), 0);
	assert_int_equal(out.type, IW_SSH_ERROR);
	assert_string_equal(out.error, "no directory");
	for (enum iw_ssh_type t = IW_SSH_FALLBACK; t <= IW_SSH_AGREED; t++) {
		struct iw_ssh_msg m = { .type = t };

		assert_int_equal(iw_ssh_msg_decode(&out, buf, iw_ssh_msg_encode(buf, &m), &why), 0);
		assert_int_equal(out.type, t);
	}
}

static void every_truncation_is_refused(void **state)
{
	struct iw_ssh_msg in = request(), out;
	size_t len = iw_ssh_msg_encode(buf, &in);
	struct iw_fault why = { 0 };

	(void)state;
	for (size_t i = 0; i < len; i++)
		assert_true(iw_ssh_msg_decode(&out, buf, i, &why) < 0);
	buf[len] = 0;
	assert_int_equal(iw_ssh_msg_decode(&out, buf, len + 1, &why), IW_E_FORMAT);
}

/* Encodes *m and expects that the decoder refuses it with err. */
static void assert_refused(const struct iw_ssh_msg *m, int err, const char *text)
{
	struct iw_fault why = { 0 };
	struct iw_ssh_msg out;

	assert_int_equal(iw_ssh_msg_decode(&out, buf, iw_ssh_msg_encode(buf, m), &why), err);
	if (!strstr(why.text, text))
		fail_msg("\"%s\" lacks \"%s\"", why.text, text);
}

static void values_out_of_range_are_refused(void **state)
{
	struct iw_ssh_msg m;

	(void)state;
	m = request();
	m.request.jobs = 0;
	assert_refused(&m, IW_E_LIMIT, "is 0");
	m = request();
	m.request.mulpdu = IW_MULPDU_MIN - 1;
	assert_refused(&m, IW_E_LIMIT, "MULPDU");
	m = request();
	m.request.first = 0;
	assert_refused(&m, IW_E_LIMIT, "ports");
	m = request();
	m.request.last = 6999;
	assert_refused(&m, IW_E_LIMIT, "ports");
	m = request();
	m.request.source = false;
	assert_refused(&m, IW_E_LIMIT, "targets");
	m = request();
	m.request.paths.n = 0;
	assert_refused(&m, IW_E_LIMIT, "paths");
	m = request();
	m.request.crc = IW_CRC_OFF + 1;
	assert_refused(&m, IW_E_LIMIT, "REQUEST");
}

static void request_of_another_protocol_gives_the_version_only(void **state)
{
	struct iw_ssh_msg m = request(), out;
	struct iw_fault why = { 0 };

	(void)state;
	m.request.protocol = IW_SSH_PROTOCOL + 1;
	m.request.jobs = 0;
	assert_int_equal(iw_ssh_msg_decode(&out, buf, iw_ssh_msg_encode(buf, &m), &why), 0);
	assert_int_equal(out.request.protocol, IW_SSH_PROTOCOL + 1);
	assert_string_equal(out.request.version, "1.2.3");
	assert_int_equal(out.request.paths.n, 0);
}

static void paths_that_do_not_fit_are_not_encoded(void **state)
{
	static char text[IW_SSH_MSG_MAX], *list[IW_SSH_PATHS_MAX + 1];
	struct iw_ssh_msg m = request();

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	m.request.paths = (struct iw_ssh_paths){ .list = (char *[]){ text }, .n = 1 };
	assert_int_equal(iw_ssh_msg_encode(buf, &m), 0);
	for (size_t i = 0; i <= IW_SSH_PATHS_MAX; i++)
		list[i] = first;
	m.request.paths = (struct iw_ssh_paths){ .list = list, .n = IW_SSH_PATHS_MAX + 1 };
	assert_int_equal(iw_ssh_msg_encode(buf, &m), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_survives_encoding),
		cmocka_unit_test(ready_survives_encoding),
		cmocka_unit_test(short_messages_survive_encoding),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(values_out_of_range_are_refused),
		cmocka_unit_test(request_of_another_protocol_gives_the_version_only),
		cmocka_unit_test(paths_that_do_not_fit_are_not_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
