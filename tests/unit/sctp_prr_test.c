// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Proportional rate reduction: what each SACK of a recovery permits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sctp/internal.h"

enum { CHUNK = 1468, FLIGHT = 100 };

static struct iw_sctp s;
static struct path path[2];
static struct iw_sctp_assoc a;

/* A hundred chunks were in flight on path 0 when one of them was found lost. */
static void lose_one(const struct iw_sctp_cc_ops *cc)
{
	memset(&s, 0, sizeof(s));
	memset(path, 0, sizeof(path));
	a = (struct iw_sctp_assoc){ .s = &s, .cc = cc, .paths = path, .npaths = 2 };
	for (unsigned i = 0; i < 2; i++) {
		path[i].a = &a;
		path[i].index = (uint8_t)i;
		path[i].cc.pmdcs = CHUNK;
		path[i].cc.cwnd = FLIGHT * CHUNK;
		path[i].cc.ssthresh = UINT32_MAX;
		path[i].flight_before = path[i].flight = FLIGHT * CHUNK;
	}
	path[0].flight -= CHUNK;
	iw_sctp_begin_recovery(&a, 1, IW_SEC(1));
}

/* Sends all that path 0 may send; returns the number of chunks. */
static unsigned send_all(void)
{
	unsigned n = 0;

	for (; path[0].flight < iw_sctp_window(&path[0]); n++) {
		path[0].flight += CHUNK;
		path[0].prr.sent += CHUNK;
	}
	return n;
}

/* A SACK acknowledges one chunk. Returns the number of chunks sent after it. */
static unsigned acknowledge(bool safe)
{
	path[0].flight -= CHUNK;
	path[0].newly = CHUNK;
	iw_sctp_prr_ack(&path[0], safe);
	return send_all();
}

/* CUBIC reduces the window to seven tenths: of ten chunks acknowledged, seven are followed. */
static void path_reaches_the_reduced_window_without_a_pause(void **state)
{
	unsigned sent = 0, pause = 0;

	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	assert_int_equal(send_all(), 0);
	for (unsigned i = 1; i < FLIGHT; i++) {
		unsigned n = acknowledge(true);

		assert_true(n <= 2);
		sent += n;
		pause = n ? 0 : pause + 1;
		assert_true(pause <= 2);
		if (i == 10)
			assert_in_range(sent, 7, 8); /* a chunk begun is sent whole */
	}
	assert_in_range(path[0].flight, path[0].cc.cwnd - CHUNK, path[0].cc.cwnd);
}

/* Less than cwnd is in flight: the path grows by a chunk with each SACK that shows no loss. */
static void many_losses_cause_no_burst(void **state)
{
	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	path[0].flight = 20 * CHUNK;
	assert_int_equal(acknowledge(false), 1);
	assert_int_equal(acknowledge(true), 2);
	assert_int_equal(acknowledge(false), 1);
	path[0].flight = path[0].cc.cwnd;
	assert_int_equal(acknowledge(true), 1);
}

/* What was acknowledged and not followed yet may follow, but no more than cwnd permits. */
static void chunks_that_were_permitted_may_be_sent_later(void **state)
{
	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	path[0].flight = 20 * CHUNK;
	path[0].prr.acked = 30 * CHUNK;
	assert_int_equal(acknowledge(false), 31);
	path[0].prr.acked = 200 * CHUNK;
	acknowledge(false);
	assert_in_range(path[0].flight, path[0].cc.cwnd, path[0].cc.cwnd + CHUNK - 1);
}

/* RFC 9937 6.2: only an acknowledgement changes the limit. */
static void sack_without_news_permits_nothing(void **state)
{
	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	path[0].flight = 20 * CHUNK;
	path[0].prr.window = path[0].flight;
	path[0].newly = 0;
	iw_sctp_prr_ack(&path[0], true);
	assert_int_equal(send_all(), 0);
}

static void cwnd_limits_everything_else(void **state)
{
	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	assert_true(iw_sctp_window(&path[0]) != path[0].cc.cwnd);
	assert_int_equal(iw_sctp_window(&path[1]), path[1].cc.cwnd); /* no loss on this path */
	iw_sctp_end_recovery(&a);
	assert_int_equal(iw_sctp_window(&path[0]), path[0].cc.cwnd);
	/* Only path 1 has lost a chunk in the next recovery. */
	iw_sctp_begin_recovery(&a, 2, IW_SEC(2));
	assert_int_equal(iw_sctp_window(&path[0]), path[0].cc.cwnd);
	assert_true(iw_sctp_window(&path[1]) != path[1].cc.cwnd);
	/* RFC 9260 6.1 B permits nothing above cwnd, and bbr paces itself. */
	lose_one(&iw_sctp_cc_rfc9260);
	assert_int_equal(iw_sctp_window(&path[0]), path[0].cc.cwnd);
	assert_false(iw_sctp_cc_bbr.prr);
	assert_true(iw_sctp_cc_auto.prr);
}

static void undone_reduction_restores_the_window(void **state)
{
	const uint32_t tsn = 10;
	uint8_t dup[4];
	const struct iw_sctp_sack sack = { .ndups = 1, .dups = dup };

	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	iw_sctp_note_resent(&a.out, tsn);
	iw_put_be32(dup, tsn);
	iw_sctp_take_dups(&a, &sack);
	assert_int_equal(iw_sctp_window(&path[0]), FLIGHT * CHUNK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_reaches_the_reduced_window_without_a_pause),
		cmocka_unit_test(many_losses_cause_no_burst),
		cmocka_unit_test(chunks_that_were_permitted_may_be_sent_later),
		cmocka_unit_test(sack_without_news_permits_nothing),
		cmocka_unit_test(cwnd_limits_everything_else),
		cmocka_unit_test(undone_reduction_restores_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
