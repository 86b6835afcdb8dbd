// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of DTLS sessions: look-up, limits, replacement, ages. The sessions have no keys here. */
#include "pkt/dtls_table.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

static struct iw_pkt_sessions t;

static int open_table(void **state)
{
	(void)state;
	return iw_pkt_sessions_init(&t);
}

static int close_table(void **state)
{
	(void)state;
	iw_pkt_sessions_fini(&t);
	return 0;
}

static struct iw_addr peer(unsigned n)
{
	struct iw_addr a = { .len = sizeof(a.in) };

	a.in.sin_family = AF_INET;
	a.in.sin_addr.s_addr = htonl(0x0a000000 + n / 60000);
	a.in.sin_port = htons((uint16_t)(1 + n % 60000));
	return a;
}

static struct iw_pkt_session *find(unsigned n, bool established)
{
	struct iw_addr a = peer(n);

	return iw_pkt_session_find(&t, &a, established);
}

static struct iw_pkt_session *begin(unsigned n, uint64_t now)
{
	struct iw_addr a = peer(n);
	struct iw_pkt_session *s = iw_pkt_session_new(&t, &a, NULL, now);

	assert_non_null(s);
	return s;
}

static struct iw_pkt_session *establish(unsigned n, uint64_t now)
{
	struct iw_pkt_session *s = begin(n, now);

	iw_pkt_session_move(&t, s, IW_PKT_SESSION_IDLE, now);
	return s;
}

static void session_is_found_by_address_and_state(void **state)
{
	struct iw_pkt_session *s = begin(1, 0);

	(void)state;
	assert_ptr_equal(find(1, false), s);
	assert_null(find(1, true));
	assert_null(find(2, false));
	iw_pkt_session_move(&t, s, IW_PKT_SESSION_IDLE, 0);
	assert_ptr_equal(find(1, true), s);
	assert_null(find(1, false));
	iw_pkt_session_free(&t, s);
	assert_null(find(1, true));
}

/* RFC 6347 4.2.8 */
static void established_session_replaces_the_one_before(void **state)
{
	struct iw_pkt_session *old = establish(1, 0), *s = begin(1, 5);

	(void)state;
	t.last = old;
	assert_ptr_equal(find(1, true), old);
	iw_pkt_session_move(&t, s, IW_PKT_SESSION_IDLE, 6);
	assert_ptr_equal(find(1, true), s);
	assert_int_equal(t.count[IW_PKT_SESSION_IDLE], 1);
	assert_null(t.last);
}

static void oldest_handshake_gives_way(void **state)
{
	(void)state;
	for (unsigned i = 0; i <= IW_PKT_HANDSHAKES_MAX; i++)
		(void)begin(i, i);
	assert_int_equal(t.count[IW_PKT_SESSION_NEW], IW_PKT_HANDSHAKES_MAX);
	assert_null(find(0, false));
	assert_non_null(find(1, false));
	assert_non_null(find(IW_PKT_HANDSHAKES_MAX, false));
}

static void many_sessions_are_found(void **state)
{
	(void)state;
	for (unsigned i = 0; i < IW_PKT_SESSIONS_MAX; i++) {
		assert_true(iw_pkt_sessions_make_room(&t, 0));
		(void)establish(i, 0);
	}
	assert_true(t.mask + 1 >= IW_PKT_SESSIONS_MAX / 2);
	for (unsigned i = 0; i < IW_PKT_SESSIONS_MAX; i++)
		assert_non_null(find(i, true));
	/* The oldest one that never carried a packet gives way. */
	iw_pkt_session_move(&t, find(0, true), IW_PKT_SESSION_USED, 1);
	assert_true(iw_pkt_sessions_make_room(&t, 1));
	assert_null(find(1, true));
	assert_non_null(find(0, true));
}

static void used_session_gives_way_only_after_a_minute_of_silence(void **state)
{
	(void)state;
	for (unsigned i = 0; i < IW_PKT_SESSIONS_MAX; i++)
		iw_pkt_session_move(&t, establish(i, 0), IW_PKT_SESSION_USED, IW_SEC(1));
	assert_false(iw_pkt_sessions_make_room(&t, IW_SEC(61) - 1));
	assert_true(iw_pkt_sessions_make_room(&t, IW_SEC(61)));
	assert_null(find(0, true));
	assert_int_equal(t.count[IW_PKT_SESSION_USED], IW_PKT_SESSIONS_MAX - 1);
}

static void sessions_expire_by_their_state(void **state)
{
	(void)state;
	(void)begin(1, 0);
	(void)establish(2, 0);
	iw_pkt_session_move(&t, establish(3, 0), IW_PKT_SESSION_USED, IW_SEC(1));
	assert_int_equal(iw_pkt_sessions_deadline(&t), IW_SEC(10));
	iw_pkt_sessions_expire(&t, IW_SEC(10) - 1);
	assert_non_null(find(1, false));
	iw_pkt_sessions_expire(&t, IW_SEC(10));
	assert_null(find(1, false));
	assert_int_equal(iw_pkt_sessions_deadline(&t), IW_SEC(30));
	iw_pkt_sessions_expire(&t, IW_SEC(30));
	assert_null(find(2, true));
	assert_int_equal(iw_pkt_sessions_deadline(&t), IW_SEC(301));
	iw_pkt_session_move(&t, find(3, true), IW_PKT_SESSION_USED, IW_SEC(300));
	iw_pkt_sessions_expire(&t, IW_SEC(301));
	assert_non_null(find(3, true));
	iw_pkt_sessions_expire(&t, IW_SEC(600));
	assert_true(iw_pkt_sessions_deadline(&t) == IW_TIME_NEVER);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_table, close_table)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(session_is_found_by_address_and_state),
		TEST(established_session_replaces_the_one_before),
		TEST(oldest_handshake_gives_way),
		TEST(many_sessions_are_found),
		TEST(used_session_gives_way_only_after_a_minute_of_silence),
		TEST(sessions_expire_by_their_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
