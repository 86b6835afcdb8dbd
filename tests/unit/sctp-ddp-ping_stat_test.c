// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Statistics of round trips, and the Private Data of an Initiate. */
#include "sctp-ddp-ping/stat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sctp-ddp-ping/ping.h"

static struct iw_ping_stat all, one, other;
static struct iw_ping_figures f;

static int setup(void **state)
{
	(void)state;
	memset(&all, 0, sizeof(all));
	memset(&one, 0, sizeof(one));
	memset(&other, 0, sizeof(other));
	iw_ping_stat_init(&all);
	iw_ping_stat_init(&one);
	iw_ping_stat_init(&other);
	return 0;
}

static void send_and_reply(struct iw_ping_stat *s, uint64_t rtt)
{
	s->sent++;
	all.sent++;
	iw_ping_stat_reply(s, &all, rtt);
}

static void result_without_packets_has_no_statistics(void **state)
{
	static const struct iw_ping_figures none;

	(void)state;
	iw_ping_figures(&f, &one);
	assert_memory_equal(&f, &none, sizeof(f));
}

static void message_without_a_reply_is_counted_as_lost(void **state)
{
	(void)state;
	one.sent = 3;
	iw_ping_figures(&f, &one);
	assert_int_equal(f.lost, 3);
	assert_int_equal(f.min, 0);
	iw_ping_stat_reply(&one, &all, 7);
	iw_ping_figures(&f, &one);
	assert_int_equal(f.sent, 3);
	assert_int_equal(f.received, 1);
	assert_int_equal(f.lost, 2);
}

static void figures_of_one_stream(void **state)
{
	(void)state;
	for (uint64_t v = 1; v <= 100; v++)
		send_and_reply(&one, v);
	one.late = 4;
	iw_ping_figures(&f, &one);
	assert_int_equal(f.min, 1);
	assert_int_equal(f.avg, 50);
	assert_int_equal(f.p50, 50);
	assert_int_equal(f.p99, 99);
	assert_int_equal(f.max, 100);
	assert_int_equal(f.jitter, 1);
	assert_int_equal(f.late, 4);
}

/* Changes up and down are equal; one round trip has no change. */
static void jitter_is_the_mean_change(void **state)
{
	(void)state;
	send_and_reply(&one, 1000);
	iw_ping_figures(&f, &one);
	assert_int_equal(f.jitter, 0);
	send_and_reply(&one, 1600);
	send_and_reply(&one, 1400);
	iw_ping_figures(&f, &one);
	assert_int_equal(f.jitter, 400);
}

/* The difference between two streams is not jitter. */
static void streams_together_jitter_by_their_own_changes(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		send_and_reply(&one, 100);
		send_and_reply(&other, 9000);
	}
	iw_ping_figures(&f, &all);
	assert_int_equal(f.jitter, 0);
	assert_int_equal(f.received, 20);
	assert_int_equal(f.min, 100);
	assert_int_equal(f.max, 9000);
	assert_int_equal(f.avg, 4550);
}

static void a_hello_decodes_to_what_was_encoded(void **state)
{
	struct iw_ping_hello in = { .size = IW_PING_SIZE_MAX, .window = 0xabcd }, out = { 0 };
	uint8_t buf[IW_PING_HELLO_LEN + 1] = { 0 };

	(void)state;
	iw_ping_hello_encode(buf, &in);
	assert_memory_equal(buf, "iwP\1\1\0\0\0\xab\xcd", IW_PING_HELLO_LEN);
	assert_true(iw_ping_hello_decode(&out, buf, IW_PING_HELLO_LEN));
	assert_int_equal(out.size, in.size);
	assert_int_equal(out.window, in.window);
	assert_true(iw_ping_hello_decode(&out, buf, sizeof(buf)));
}

static void octets_that_are_not_a_hello_are_refused(void **state)
{
	struct iw_ping_hello h;
	uint8_t buf[IW_PING_HELLO_LEN];

	(void)state;
	for (size_t len = 0; len < sizeof(buf); len++) {
		iw_ping_hello_encode(buf, &(struct iw_ping_hello){ 64, 1 });
		assert_false(iw_ping_hello_decode(&h, buf, len));
	}
	buf[3] = 2;
	assert_false(iw_ping_hello_decode(&h, buf, sizeof(buf)));
	iw_ping_hello_encode(buf, &(struct iw_ping_hello){ 64, 0 });
	assert_false(iw_ping_hello_decode(&h, buf, sizeof(buf)));
	iw_ping_hello_encode(buf, &(struct iw_ping_hello){ IW_PING_SIZE_MAX + 1, 1 });
	assert_false(iw_ping_hello_decode(&h, buf, sizeof(buf)));
}

/* Each kind of the list in sctp-ddp-ping(1). */
static void failures_name_the_state_of_the_far_end(void **state)
{
	static const struct {
		struct iw_fault why;
		bool associated;
		enum iw_far_end what;
	} rows[] = {
		{ { .err = IW_OK }, true, IW_FAR_ANSWERS },
		{ { .err = IW_E_REJECTED }, true, IW_FAR_REJECTED },
		{ { .err = IW_E_DSS_NODDP }, false, IW_FAR_NO_DDP },
		{ { .err = IW_E_CLOSED, .from_peer = true }, false, IW_FAR_ABORT },
		{ { .err = IW_E_CLOSED, .from_peer = true }, true, IW_FAR_OTHER },
		{ { .err = IW_E_CLOSED }, false, IW_FAR_ICMP },
		{ { .err = IW_E_TIMEOUT }, false, IW_FAR_SILENT },
		{ { .err = IW_E_TIMEOUT }, true, IW_FAR_OTHER },
		{ { .err = IW_E_OS, .os_errno = 111 /* ECONNREFUSED */ }, false, IW_FAR_ABORT },
		{ { .err = IW_E_OS, .os_errno = 113 /* EHOSTUNREACH */ }, false, IW_FAR_ICMP },
		{ { .err = IW_E_OS, .os_errno = 101 /* ENETUNREACH */ }, false, IW_FAR_NOT_TRIED },
		{ { .err = IW_E_NOENT }, false, IW_FAR_NOT_TRIED },
		{ { .err = IW_E_PERM }, false, IW_FAR_NOT_TRIED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(iw_ping_far_end(&rows[i].why, rows[i].associated), rows[i].what);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(result_without_packets_has_no_statistics, setup),
		cmocka_unit_test_setup(message_without_a_reply_is_counted_as_lost, setup),
		cmocka_unit_test_setup(figures_of_one_stream, setup),
		cmocka_unit_test_setup(jitter_is_the_mean_change, setup),
		cmocka_unit_test_setup(streams_together_jitter_by_their_own_changes, setup),
		cmocka_unit_test(a_hello_decodes_to_what_was_encoded),
		cmocka_unit_test(octets_that_are_not_a_hello_are_refused),
		cmocka_unit_test(failures_name_the_state_of_the_far_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
