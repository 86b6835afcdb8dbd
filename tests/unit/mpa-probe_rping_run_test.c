// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* rping's conversation from connect to close: a server in a thread, a client here. */
#include "mpa-probe/rping_run.h"

#include <pthread.h>
#include <signal.h>

#include "cli/param.h"
#include "verbs_end.h"

#include "cli/signals.h"
#include "util/num.h"

#define ROUNDS 40

/* A server's run, and its news. */
struct served {
	struct iw_rping_run *run;
	struct iw_fault why;
	int err;
	unsigned up, rounds, left;
	struct iw_rping_run_news last; /* LEFT */
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct served *s = arg;
	struct iw_rping_run_news news;

	while ((s->err = iw_rping_run_next(s->run, &news, &s->why)) == 0 &&
	       news.kind != IW_RPING_RUN_STOPPED) {
		if (news.kind == IW_RPING_RUN_UP)
			s->up++;
		if (news.kind == IW_RPING_RUN_ROUND)
			s->rounds++;
		if (news.kind == IW_RPING_RUN_LEFT) {
			s->left++;
			s->last = news;
		}
	}
	return NULL;
}

static void serve_once(struct served *s, struct iw_rping_cfg ping, uint64_t timeout_ns)
{
	struct iw_rping_run_cfg cfg = { .ping = ping,
					.once = true,
					.report_rounds = true,
					.setup_ns = MS(5000),
					.timeout_ns = timeout_ns };

	memset(s, 0, sizeof(*s));
	if (iw_rping_run_new(&s->run, &cfg, &s->why) != 0)
		fail_msg("%s", s->why.text);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void served(struct served *s)
{
	pthread_join(s->thread, NULL);
	assert_int_equal(s->err, 0);
	iw_rping_run_free(s->run);
}

static struct iw_rping_run_cfg client_of(uint16_t port, uint32_t size, uint64_t count)
{
	return (struct iw_rping_run_cfg){
		.ping = { .client = true, .size = size, .count = count, .verify = true },
		.conn = { .at.host = "127.0.0.1", .at.port = port },
		.setup_ns = MS(5000),
		.timeout_ns = MS(5000),
	};
}

/* Runs a client to its end. Returns its last news before STOPPED. */
static struct iw_rping_run_news run_client(const struct iw_rping_run_cfg *cfg, unsigned *rounds)
{
	struct iw_rping_run_news news, left = { 0 };
	struct iw_rping_run *run;
	struct iw_fault why = { 0 };

	*rounds = 0;
	if (iw_rping_run_new(&run, cfg, &why) != 0)
		fail_msg("%s", why.text);
	do {
		if (iw_rping_run_next(run, &news, &why) != 0)
			fail_msg("%s", why.text);
		if (news.kind == IW_RPING_RUN_ROUND)
			++*rounds;
		if (news.kind == IW_RPING_RUN_UP) {
			assert_true(news.setup_ns > 0 && news.setup_ns < MS(5000));
			assert_int_equal(news.info.ird, 1);
			assert_int_equal(news.info.ord, 1);
		}
		if (news.kind == IW_RPING_RUN_LEFT)
			left = news;
	} while (news.kind != IW_RPING_RUN_STOPPED);
	assert_int_equal(left.kind, IW_RPING_RUN_LEFT);
	iw_rping_run_free(run);
	return left;
}

static void client_and_server_agree_on_every_round(void **state)
{
	struct iw_rping_run_cfg cfg;
	struct iw_rping_run_news left;
	struct served s;
	unsigned rounds;

	(void)state;
	serve_once(&s, (struct iw_rping_cfg){ .verify = true }, MS(5000));
	assert_int_equal(strncmp(iw_rping_run_addr(s.run), "127.0.0.1:", 10), 0);
	cfg = client_of(iw_rping_run_port(s.run), 5000, ROUNDS);
	cfg.report_rounds = true;
	left = run_client(&cfg, &rounds);
	assert_string_equal(left.fault.text, "");
	assert_int_equal(rounds, ROUNDS);
	assert_int_equal(left.result.verified, ROUNDS);
	served(&s);
	assert_string_equal(s.last.fault.text, "");
	assert_int_equal(s.up, 1);
	assert_int_equal(s.rounds, ROUNDS);
	assert_int_equal(s.last.result.verified, ROUNDS);
	assert_int_equal(s.last.result.read, 5000 * ROUNDS);
}

static void closed_port_is_reported_as_refused(void **state)
{
	struct iw_rping_run_cfg cfg;
	struct iw_rping_run_news left;
	struct served s;
	unsigned rounds;
	uint16_t port;

	(void)state;
	serve_once(&s, (struct iw_rping_cfg){ 0 }, MS(5000));
	port = iw_rping_run_port(s.run);
	cfg = client_of(port, 64, 1);
	left = run_client(&cfg, &rounds);
	assert_int_equal(left.fault.err, 0);
	served(&s);
	/* The listener has ended too. */
	left = run_client(&cfg, &rounds);
	assert_int_not_equal(left.fault.err, 0);
	assert_non_null(strstr(left.fault.text, "refused"));
}

static void server_that_sends_nothing_is_a_time_out(void **state)
{
	struct iw_rping_run_cfg cfg;
	struct served s = { 0 };
	struct end e;
	uint8_t room[64];

	(void)state;
	end_open(&e);
	end_listen_with(&e, (struct conn_param){ 0 });
	assert_int_equal(iw_post_recv(e.qp, 1, room, sizeof(room), NULL), 0);
	cfg = client_of(iw_listener_port(e.listener), 64, 1);
	cfg.timeout_ns = MS(300);
	assert_int_equal(iw_rping_run_new(&s.run, &cfg, &s.why), 0);
	/* This thread drives the listener, the other one the client. */
	assert_int_equal(pthread_create(&s.thread, NULL, serve, &s), 0);
	end_until(&e, NULL, e.seen[IW_EV_CLOSED]);
	served(&s);
	assert_int_equal(s.last.fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(s.last.fault.text, "rping: round 0: no progress for 3"));
	end_close(&e);
}

static void join_server(struct end *e, const struct served *s)
{
	end_open(e);
	end_connect_to(e, "127.0.0.1", iw_rping_run_port(s->run), (struct conn_param){ 0 });
	end_until(e, NULL, e->seen[IW_EV_ESTABLISHED]);
}

static void client_that_never_begins_a_round_is_disconnected(void **state)
{
	struct served s;
	struct end e;

	(void)state;
	serve_once(&s, (struct iw_rping_cfg){ 0 }, MS(300));
	join_server(&e, &s);
	end_until(&e, NULL, e.seen[IW_EV_CLOSED]);
	served(&s);
	assert_int_equal(s.last.fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(s.last.fault.text, "rping: round 0: no progress for 3"));
	end_close(&e);
}

/* Sends a zero-length RDMA Write every 20 ms until the connection ends. */
static void write_nothing_until_closed(struct end *e)
{
	double limit = end_clock() + 10;

	for (unsigned i = 0; !e->seen[IW_EV_CLOSED]; i++) {
		assert_true(end_clock() < limit);
		if (e->nwc < END_WCS - 64)
			(void)!end_write(e, 1000 + i, NULL, 0, 1, 0, 0);
		end_run(e, NULL, 20);
	}
}

static void zero_length_writes_of_a_client_are_not_progress(void **state)
{
	struct served s;
	struct end e;

	(void)state;
	serve_once(&s, (struct iw_rping_cfg){ 0 }, MS(300));
	join_server(&e, &s);
	write_nothing_until_closed(&e);
	served(&s);
	assert_int_equal(s.last.fault.err, IW_E_TIMEOUT);
	end_close(&e);
}

/* After an invalid message the server closes its side, and the peer never does. */
static void client_that_does_not_close_its_side_is_disconnected(void **state)
{
	struct served s;
	struct end e;

	(void)state;
	serve_once(&s, (struct iw_rping_cfg){ 0 }, MS(300));
	join_server(&e, &s);
	assert_int_equal(end_send(&e, 1, "12345", 5, 0), 0);
	write_nothing_until_closed(&e);
	served(&s);
	assert_int_equal(s.last.fault.err, IW_E_FORMAT);
	end_close(&e);
}

static void client_that_stops_in_a_round_is_disconnected(void **state)
{
	uint8_t advert[16] = { 0 }, source[8] = "ping", room[64];
	struct served s;
	struct end e;

	(void)state;
	serve_once(&s, (struct iw_rping_cfg){ 0 }, MS(300));
	end_open(&e);
	assert_int_equal(iw_post_recv(e.qp, 2, room, sizeof(room), NULL), 0);
	end_connect_to(&e, "127.0.0.1", iw_rping_run_port(s.run), (struct conn_param){ 0 });
	end_until(&e, NULL, e.seen[IW_EV_ESTABLISHED]);
	iw_put_be32(advert + 8,
		    iw_mr_stag(end_reg(&e, source, sizeof(source), IW_ACCESS_REMOTE_READ)));
	iw_put_be32(advert + 12, sizeof(source));
	assert_int_equal(end_send(&e, 1, advert, sizeof(advert), 0), 0);
	end_until(&e, NULL, e.seen[IW_EV_CLOSED]);
	served(&s);
	assert_int_equal(s.last.fault.err, IW_E_TIMEOUT);
	assert_int_equal(s.last.result.read, 8);
	assert_string_equal(s.last.result.text, "ping");
	end_close(&e);
}

static void client_that_disconnects_in_a_round_is_reported(void **state)
{
	struct served s;
	struct end e;
	uint8_t advert[16] = { 0 }, room[64];

	(void)state;
	serve_once(&s, (struct iw_rping_cfg){ 0 }, MS(5000));
	end_open(&e);
	assert_int_equal(iw_post_recv(e.qp, 2, room, sizeof(room), NULL), 0);
	end_connect_to(&e, "127.0.0.1", iw_rping_run_port(s.run), (struct conn_param){ 0 });
	end_until(&e, NULL, e.seen[IW_EV_ESTABLISHED]);
	/* Length 0: a round without data. */
	assert_int_equal(end_send(&e, 1, advert, sizeof(advert), 0), 0);
	end_until(&e, NULL, end_wc(&e, 2));
	iw_disconnect(e.qp);
	end_until(&e, NULL, e.seen[IW_EV_CLOSED]);
	served(&s);
	assert_int_equal(s.last.fault.err, IW_E_REJECTED);
	assert_string_equal(s.last.fault.text, "rping: the client ended the connection in round 0");
	end_close(&e);
}

/*
 * Limit 1, and an idle client connected. This is the last test, since it asks the process to stop.
 */
static void silent_client_is_closed_for_a_new_one(void **state)
{
	const struct iw_rping_run_cfg cfg = {
		.clients = 1, .setup_ns = MS(5000), .timeout_ns = MS(20000), .yield_ns = MS(1000)
	};
	double limit = end_clock() + 15;
	struct iw_rping_run_cfg client;
	struct iw_rping_run_news news;
	struct served s = { 0 };
	unsigned rounds;
	struct end e;

	(void)state;
	assert_int_equal(iw_signals_init(&s.why), 0);
	assert_int_equal(iw_rping_run_new(&s.run, &cfg, &s.why), 0);
	assert_int_equal(pthread_create(&s.thread, NULL, serve, &s), 0);
	join_server(&e, &s);
	client = client_of(iw_rping_run_port(s.run), 64, 3);
	do {
		assert_true(end_clock() < limit);
		news = run_client(&client, &rounds);
	} while (news.fault.err == IW_E_REJECTED);
	assert_string_equal(news.fault.text, "");
	assert_int_equal(news.result.rounds, 3);
	end_until(&e, NULL, e.seen[IW_EV_CLOSED]);
	end_close(&e);
	assert_int_equal(raise(SIGTERM), 0);
	served(&s);
	assert_int_equal(s.up, 2);
	assert_int_equal(s.left, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(client_and_server_agree_on_every_round),
		cmocka_unit_test(closed_port_is_reported_as_refused),
		cmocka_unit_test(server_that_sends_nothing_is_a_time_out),
		cmocka_unit_test(client_that_never_begins_a_round_is_disconnected),
		cmocka_unit_test(zero_length_writes_of_a_client_are_not_progress),
		cmocka_unit_test(client_that_does_not_close_its_side_is_disconnected),
		cmocka_unit_test(client_that_stops_in_a_round_is_disconnected),
		cmocka_unit_test(client_that_disconnects_in_a_round_is_reported),
		cmocka_unit_test(silent_client_is_closed_for_a_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
