// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages over an association: what goes out arrives once, and is known to have. */
#include "sctp/sctp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/sctp_net.h"

static int say(struct net_end *e, uint16_t stream, const void *data, size_t len, uint64_t *seq)
{
	struct iw_vec v = { .len = len };
	struct iw_sctp_send m = {
		.stream = stream, .ppid = 16, .vec = &v, .nvec = 1, .copy = true, .cookie = 77
	};
	union {
		const void *in;
		void *out;
	} u = { .in = data };

	v.base = u.out;
	return iw_sctp_send(e->a, &m, seq);
}

static void set_up_send_and_shut_down(void **state)
{
	struct net n;
	uint64_t seq = 99;
	struct iw_sctp_done d;

	(void)state;
	net_init(&n, 1);
	net_start(&n);
	assert_true(net_up(&n));
	assert_int_equal(say(&n.a, 3, "hello", 5, &seq), 0);
	assert_int_equal(seq, 0);
	assert_int_equal(iw_sctp_acked(n.a.a), 0);
	net_run(&n, n.now + IW_SEC(1));
	assert_int_equal(n.b.messages, 1);
	assert_int_equal(iw_sctp_acked(n.a.a), 1);
	assert_true(iw_sctp_next_done(n.a.a, &d));
	assert_int_equal(d.cookie, 77);
	assert_int_equal(d.status, 0);
	assert_false(iw_sctp_next_done(n.a.a, &d));
	assert_int_equal(iw_sctp_max_message(n.a.a), 1500 - 20 - 12 - 16 - 16);
	iw_sctp_shutdown(n.a.a, n.now);
	net_run(&n, n.now + IW_SEC(1));
	assert_true(net_has_event(&n.a, IW_SCTP_EV_DOWN));
	assert_true(net_has_event(&n.b, IW_SCTP_EV_DOWN));
	assert_int_equal(iw_sctp_why(n.a.a)->err, 0);
	assert_int_equal(iw_sctp_why(n.b.a)->err, 0);
	net_free(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_up_send_and_shut_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
