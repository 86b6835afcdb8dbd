// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The output for buffers and peers of a manager. The answers are in a socket before the requests.
 */
#include "stag-reg/watch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli_capture.h"
#include "stag-reg_far_end.h"

static struct capture c;

static int set_up(void **state)
{
	(void)state;
	return join_far_end(UINT64_C(5000000000));
}

static struct iw_manager_buffer buffer(uint32_t stag)
{
	return (struct iw_manager_buffer){ .stag = stag,
					   .to = 4096,
					   .len = 2048,
					   .access = IW_CLAIM_READ | IW_CLAIM_WRITE,
					   .left_ms = UINT64_MAX,
					   .open = true,
					   .label = "board",
					   .transport = "tcp",
					   .host = "127.0.0.1",
					   .port = 7471 };
}

static void tell_buffer(uint32_t stag)
{
	answer(&(struct iw_manager_reply){ .kind = IW_MANAGER_BUFFER, .buffer = buffer(stag) });
}

static void tell_peer(uint32_t stream, uint64_t writes, bool ended)
{
	answer(&(struct iw_manager_reply){
		.kind = IW_MANAGER_PEER,
		.peer = { .stream = stream,
			  .addr = "192.0.2.1:5",
			  .tally = { .writes = writes, .write_octets = 1024 * writes },
			  .ended = ended } });
}

struct job {
	struct iw_manager_watch_cfg cfg;
	bool json;
};

/* Returns exit status 9: not found; 8: an error. */
static int watch(const void *arg)
{
	const struct job *job = arg;
	struct iw_json json;
	struct iw_manager_print print = { .json = job->json ? &json : NULL };
	struct iw_fault why = { 0 };
	bool found;
	int err;

	iw_json_init(&json, STDOUT_FILENO);
	err = iw_manager_watch(&admin, &print, &job->cfg, &found, &why);
	iw_json_fini(&json);
	if (err)
		fprintf(stderr, "%s\n", why.text);
	return err ? 8 : found ? 0 : 9;
}

static void watch_reports_only_changes(void **state)
{
	const struct job job = { .cfg = { .interval_ns = 1, .count = 4 } };

	(void)state;
	tell_buffer(0xa);
	tell_peer(1, 1, false);
	answer_end(1);
	/* the same buffer and another one */
	tell_buffer(0xa);
	tell_peer(1, 1, false);
	tell_buffer(0xb);
	answer_end(2);
	/* a peer of the other buffer did something */
	tell_buffer(0xa);
	tell_peer(1, 1, false);
	tell_buffer(0xb);
	tell_peer(1, 3, true);
	answer_end(2);
	/* the buffer has ended; its peers are not reported */
	tell_buffer(0xb);
	tell_peer(1, 3, true);
	answer_end(1);
	capture_run(&c, watch, &job);
	assert_string_equal(c.err, "");
	assert_int_equal(c.status, 0);
	/* The rates of later operations depend on the clock. */
	assert_non_null(strstr(c.out,
			       "0000000a  registered: rw, 2.0 KiB of board\n"
			       "0000000a  192.0.2.1:5            written 1.0 KiB in 1 (0 b/s)  "
			       "read 0 B in 0 (0 b/s)\n"
			       "0000000b  registered: rw, 2.0 KiB of board\n"
			       "0000000b  192.0.2.1:5            written 3.0 KiB in 3 ("));
	assert_non_null(strstr(c.out, "  ended\n"));
	assert_string_equal(strstr(c.out, "  ended\n"), "  ended\n0000000a  gone\n");
}

static void json_has_totals_and_what_is_new(void **state)
{
	const struct job job = { .cfg = { .interval_ns = 1, .count = 2, .stag = 0xa },
				 .json = true };

	(void)state;
	tell_buffer(0xa);
	tell_peer(1, 1, false);
	answer_end(1);
	tell_buffer(0xa);
	tell_peer(1, 3, false);
	answer_end(1);
	capture_run(&c, watch, &job);
	assert_int_equal(c.status, 0);
	assert_non_null(strstr(c.out,
			       "\"writes\":1,\"write_octets\":1024,\"reads\":0,\"read_octets\":0,"
			       "\"new_write_octets\":1024,\"new_read_octets\":0,"
			       "\"interval_ns\":0}\n"));
	assert_non_null(strstr(c.out,
			       "\"writes\":3,\"write_octets\":3072,\"reads\":0,\"read_octets\":0,"
			       "\"new_write_octets\":2048,\"new_read_octets\":0,"));
}

static void watch_of_one_buffer_ends_with_that_buffer(void **state)
{
	const struct job job = { .cfg = { .interval_ns = 1, .stag = 0xa } };

	(void)state;
	tell_buffer(0xa);
	answer_end(1);
	answer_end(0);
	capture_run(&c, watch, &job);
	assert_int_equal(c.status, 0);
	assert_string_equal(c.out, "0000000a  registered: rw, 2.0 KiB of board\n0000000a  gone\n");
}

static void buffer_that_never_existed_is_not_found(void **state)
{
	const struct job job = { .cfg = { .interval_ns = 1, .stag = 0xa } };

	(void)state;
	answer_end(0);
	capture_run(&c, watch, &job);
	assert_int_equal(c.status, 9);
	assert_string_equal(c.out, "");
}

static void watch_waits_for_the_first_buffer(void **state)
{
	const struct job job = { .cfg = { .interval_ns = 1, .count = 2 } };

	(void)state;
	answer_end(0);
	tell_buffer(0xa);
	answer_end(1);
	capture_run(&c, watch, &job);
	assert_int_equal(c.status, 0);
	assert_string_equal(c.out, "0000000a  registered: rw, 2.0 KiB of board\n");
}

static void a_manager_that_closes_the_socket_is_an_error(void **state)
{
	const struct job job = { .cfg = { .interval_ns = 1 } };

	(void)state;
	tell_buffer(0xa);
	answer_end(1);
	shutdown(manager, SHUT_WR);
	capture_run(&c, watch, &job);
	assert_int_equal(c.status, 8);
	assert_non_null(strstr(c.err, "closed the control socket"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, leave_far_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(watch_reports_only_changes),
		TEST(json_has_totals_and_what_is_new),
		TEST(watch_of_one_buffer_ends_with_that_buffer),
		TEST(buffer_that_never_existed_is_not_found),
		TEST(watch_waits_for_the_first_buffer),
		TEST(a_manager_that_closes_the_socket_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
