// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The quirk siw-first-fpdu: when an initiator sends zero-length RDMA Writes, and when not. */
#include "conn/conn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pair.h"
#include "util/num.h"

#define WAIT IW_MSEC(500)

static const struct iw_conn_nudge silent = { WAIT, 3, false }, always = { WAIT, 3, true };

static void post(struct pair *p, struct end *e)
{
	static uint8_t octets[100];
	struct iw_op op = { .kind = IW_OPK_SEND, .sge[0] = { octets, sizeof(octets) }, .nsge = 1 };

	assert_int_equal(iw_rdmap_post(e->rdmap, &op, p->now), 0);
	pair_run(p);
}

static void take_time(struct pair *p, uint64_t ns)
{
	uint64_t end = p->now + ns;

	while (p->now < end) {
		p->now = IW_MIN(end, p->now + IW_MSEC(10));
		iw_conn_timeout(p->a.conn, p->now);
		iw_conn_timeout(p->b.conn, p->now);
		pair_run(p);
	}
}

/* A connected pair, with receives on both sides; @form of RTR, or none. */
static struct pair *up(struct iw_conn_nudge nudge, uint8_t form)
{
	static uint8_t room[2][4][128];
	struct pair *p = malloc(sizeof(*p));

	assert_non_null(p);
	pair_init(p, 42);
	p->a.cfg.mpa.crc = p->b.cfg.mpa.crc = IW_CRC_OFF;
	p->a.cfg.nudge = p->b.cfg.nudge = nudge;
	p->a.cfg.mpa.offer.peer_to_peer = form != IW_RTR_NONE;
	if (form != IW_RTR_NONE)
		p->a.cfg.mpa.offer.rtr = p->b.cfg.mpa.offer.rtr = form;
	pair_start(p);
	pair_run(p);
	assert_true(end_has_event(&p->a, IW_EVENT_ESTABLISHED));
	for (int i = 0; i < 4; i++) {
		assert_int_equal(iw_rdmap_post_recv(p->a.rdmap, 1, room[0][i], 128), 0);
		assert_int_equal(iw_rdmap_post_recv(p->b.rdmap, 1, room[1][i], 128), 0);
	}
	return p;
}

static void done(struct pair *p)
{
	pair_free(p);
	free(p);
}

static unsigned nudges(const struct end *e)
{
	return (unsigned)iw_conn_counts(e->conn)->nudges;
}

/* RDMAP-12, DDP-57: zero-length, to an STag that is not registered, invisible to the ULP */
static void silence_is_answered_by_empty_writes_ever_more_seldom(void **state)
{
	struct pair *p = up(silent, IW_RTR_NONE);

	(void)state;
	take_time(p, IW_SEC(5));
	assert_int_equal(nudges(&p->a), 0); /* nothing was sent that could be lost */
	post(p, &p->a);
	take_time(p, WAIT - IW_MSEC(10));
	assert_int_equal(nudges(&p->a), 0);
	take_time(p, IW_MSEC(20));
	assert_int_equal(nudges(&p->a), 1);
	take_time(p, 2 * WAIT - IW_MSEC(30));
	assert_int_equal(nudges(&p->a), 1);
	take_time(p, IW_MSEC(40));
	assert_int_equal(nudges(&p->a), 2);
	take_time(p, IW_SEC(60));
	assert_int_equal(nudges(&p->a), 3);
	assert_int_equal(iw_conn_counts(p->b.conn)->rx_fpdus, 4);
	assert_int_equal(p->b.ndone, 1);
	assert_int_equal(p->a.ndone, 1);
	assert_null(end_closed_fault(&p->a));
	assert_null(end_closed_fault(&p->b));
	/* The connection continues to work. */
	post(p, &p->b);
	assert_int_equal(p->a.ndone, 2);
	done(p);
}

static void peer_that_answers_is_not_nudged(void **state)
{
	struct pair *p = up(silent, IW_RTR_NONE);

	(void)state;
	post(p, &p->a);
	take_time(p, WAIT / 2);
	post(p, &p->b);
	take_time(p, IW_SEC(60));
	post(p, &p->a);
	take_time(p, IW_SEC(60));
	assert_int_equal(nudges(&p->a), 0);
	done(p);
}

static void unsolicited_fpdu_is_not_an_answer(void **state)
{
	/* A zero-length RDMA Write; siw does not wait for the initiator's first FPDU. */
	static const uint8_t early[20] = { 0x00, 0x0e, 0xc1, 0x40 };
	struct pair *p = up(silent, IW_RTR_NONE);

	(void)state;
	pair_inject(p, &p->a, early, sizeof(early));
	pair_run(p);
	assert_int_equal(iw_conn_counts(p->a.conn)->rx_fpdus, 1);
	post(p, &p->a);
	take_time(p, WAIT + IW_MSEC(20));
	assert_int_equal(nudges(&p->a), 1);
	done(p);

	p = up(silent, IW_RTR_SEND);
	/* The RTR was the first FPDU; the peer sends, so it has received the RTR. */
	post(p, &p->b);
	take_time(p, IW_SEC(60));
	assert_int_equal(nudges(&p->a), 0);
	done(p);
	p = up(always, IW_RTR_SEND);
	post(p, &p->b);
	take_time(p, IW_SEC(60));
	assert_int_equal(nudges(&p->a), 3);
	assert_null(end_closed_fault(&p->b));
	done(p);
}

/* ENH-16: the RTR may have been lost */
static void rtr_that_is_not_answered_is_followed_by_a_nudge(void **state)
{
	struct pair *p = up(silent, IW_RTR_WRITE);

	(void)state;
	take_time(p, WAIT + IW_MSEC(20));
	assert_int_equal(nudges(&p->a), 1);
	assert_int_equal(iw_conn_counts(p->b.conn)->rx_fpdus, 2);
	done(p);
	p = up(silent, IW_RTR_READ); /* the Read was answered */
	take_time(p, IW_SEC(60));
	assert_int_equal(nudges(&p->a), 0);
	done(p);
}

static void no_nudge_follows_a_second_fpdu(void **state)
{
	struct pair *p = up(silent, IW_RTR_NONE);

	(void)state;
	for (int i = 0; i < 4; i++) {
		post(p, &p->a);
		take_time(p, WAIT - IW_MSEC(20));
	}
	assert_int_equal(nudges(&p->a), 0);
	done(p);
}

static void only_a_silent_peer_is_nudged(void **state)
{
	struct pair *p = up((struct iw_conn_nudge){ 0 }, IW_RTR_NONE);

	(void)state;
	post(p, &p->a);
	take_time(p, IW_SEC(20));
	assert_int_equal(nudges(&p->a), 0);
	done(p);

	/* The initiator waits before it sends; the responder does not. */
	p = up(always, IW_RTR_READ);
	post(p, &p->b);
	take_time(p, IW_SEC(20));
	assert_int_equal(nudges(&p->b), 0);
	done(p);

	/* A peer that has sent something. */
	p = malloc(sizeof(*p));
	assert_non_null(p);
	pair_init(p, 42);
	p->a.cfg.nudge = always;
	p->a.cfg.mpa.max_ulpdu = p->b.cfg.mpa.max_ulpdu = 32768;
	pair_start(p);
	pair_run(p);
	assert_true(iw_conn_agreed(p->a.conn)->peer_max_ulpdu > 0);
	assert_int_equal(iw_rdmap_post_recv(p->b.rdmap, 1, (uint8_t[128]){ 0 }, 128), 0);
	post(p, &p->a);
	take_time(p, IW_SEC(20));
	assert_int_equal(nudges(&p->a), 0);
	done(p);
}

static void nothing_follows_our_fin(void **state)
{
	struct pair *p = up(always, IW_RTR_NONE);

	(void)state;
	post(p, &p->a);
	iw_conn_close(p->a.conn, p->now);
	pair_run(p);
	assert_int_equal(iw_conn_state(p->a.conn), IW_CONN_FIN_SENT);
	take_time(p, WAIT * 4);
	assert_int_equal(nudges(&p->a), 0);
	iw_conn_close(p->b.conn, p->now);
	pair_run(p);
	assert_int_equal(end_closed_fault(&p->a)->err, IW_OK);
	assert_int_equal(end_closed_fault(&p->b)->err, IW_OK);
	done(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_is_answered_by_empty_writes_ever_more_seldom),
		cmocka_unit_test(peer_that_answers_is_not_nudged),
		cmocka_unit_test(unsolicited_fpdu_is_not_an_answer),
		cmocka_unit_test(rtr_that_is_not_answered_is_followed_by_a_nudge),
		cmocka_unit_test(no_nudge_follows_a_second_fpdu),
		cmocka_unit_test(only_a_silent_peer_is_nudged),
		cmocka_unit_test(nothing_follows_our_fin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
