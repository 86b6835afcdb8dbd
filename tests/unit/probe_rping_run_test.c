// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* rping's conversation from connecting to closing: a server in a thread, a client in ours. */
#include "probe/rping_run.h"

#include <pthread.h>

#include "verbs_end.h"

#include "util/num.h"

#define ROUNDS 40

/* A server's run, and what it told. */
struct served {
	struct iw_rping_run *run;
	struct iw_fault why;
	int err;
	unsigned up, rounds, left;
	struct iw_rping_news last; /* LEFT */
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct served *s = arg;
	struct iw_rping_news news;

	while ((s->err = iw_rping_run_next(s->run, &news, &s->why)) == 0 &&
	       news.kind != IW_RPING_STOPPED) {
		if (news.kind == IW_RPING_UP)
			s->up++;
		if (news.kind == IW_RPING_ROUND)
			s->rounds++;
		if (news.kind == IW_RPING_LEFT) {
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
					.tell_rounds = true,
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
		.conn = { .host = "127.0.0.1", .port = port },
		.setup_ns = MS(5000),
		.timeout_ns = MS(5000),
	};
}

/* Runs a client to its end: what it told last before it stopped. */
static struct iw_rping_news run_client(const struct iw_rping_run_cfg *cfg, unsigned *rounds)
{
	struct iw_rping_news news, left = { 0 };
	struct iw_rping_run *run;
	struct iw_fault why = { 0 };

	*rounds = 0;
	if (iw_rping_run_new(&run, cfg, &why) != 0)
		fail_msg("%s", why.text);
	do {
		if (iw_rping_run_next(run, &news, &why) != 0)
			fail_msg("%s", why.text);
		if (news.kind == IW_RPING_ROUND)
			++*rounds;
		if (news.kind == IW_RPING_UP) {
			assert_true(news.setup_ns > 0 && news.setup_ns < MS(5000));
			assert_int_equal(news.info.ird, 1);
			assert_int_equal(news.info.ord, 1);
		}
		if (news.kind == IW_RPING_LEFT)
			left = news;
	} while (news.kind != IW_RPING_STOPPED);
	assert_int_equal(left.kind, IW_RPING_LEFT);
	iw_rping_run_free(run);
	return left;
}

static void client_and_server_agree_on_every_round(void **state)
{
	struct iw_rping_run_cfg cfg;
	struct iw_rping_news left;
	struct served s;
	unsigned rounds;

	(void)state;
	serve_once(&s, (struct iw_rping_cfg){ .verify = true }, MS(5000));
	assert_int_equal(strncmp(iw_rping_run_addr(s.run), "127.0.0.1:", 10), 0);
	cfg = client_of(iw_rping_run_port(s.run), 5000, ROUNDS);
	cfg.tell_rounds = true;
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

static void nobody_there_is_told(void **state)
{
	struct iw_rping_run_cfg cfg;
	struct iw_rping_news left;
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
	/* The listener is gone with it. */
	left = run_client(&cfg, &rounds);
	assert_int_not_equal(left.fault.err, 0);
	assert_non_null(strstr(left.fault.text, "refused"));
}

static void server_that_says_nothing_is_given_up(void **state)
{
	struct iw_rping_run_cfg cfg;
	struct served s = { 0 };
	struct end e;
	uint8_t room[64];

	(void)state;
	end_open(&e);
	end_listen_with(&e, (struct iw_conn_param){ 0 });
	assert_int_equal(iw_post_recv(e.qp, 1, room, sizeof(room)), 0);
	cfg = client_of(iw_listener_port(e.listener), 64, 1);
	cfg.timeout_ns = MS(300);
	assert_int_equal(iw_rping_run_new(&s.run, &cfg, &s.why), 0);
	/* Our end is driven here, the client there. */
	assert_int_equal(pthread_create(&s.thread, NULL, serve, &s), 0);
	end_until(&e, NULL, e.seen[IW_EV_CLOSED]);
	served(&s);
	assert_int_equal(s.last.fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(s.last.fault.text, "rping: round 0: the peer says nothing for 3"));
	end_close(&e);
}

/* A server waits for a client's next round as long as it takes, but not in the middle of one. */
static void client_that_stops_in_a_round_is_given_up(void **state)
{
	uint8_t advert[16] = { 0 }, source[8] = "ping", room[64];
	struct served s;
	struct end e;

	(void)state;
	serve_once(&s, (struct iw_rping_cfg){ 0 }, MS(300));
	end_open(&e);
	assert_int_equal(iw_post_recv(e.qp, 2, room, sizeof(room)), 0);
	end_connect_to(&e, "127.0.0.1", iw_rping_run_port(s.run), (struct iw_conn_param){ 0 });
	end_until(&e, NULL, e.seen[IW_EV_ESTABLISHED]);
	end_run(&e, NULL, 600);
	assert_int_equal(e.seen[IW_EV_CLOSED], 0);
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

static void client_that_leaves_in_a_round_is_told(void **state)
{
	struct served s;
	struct end e;
	uint8_t advert[16] = { 0 }, room[64];

	(void)state;
	serve_once(&s, (struct iw_rping_cfg){ 0 }, MS(5000));
	end_open(&e);
	assert_int_equal(iw_post_recv(e.qp, 2, room, sizeof(room)), 0);
	end_connect_to(&e, "127.0.0.1", iw_rping_run_port(s.run), (struct iw_conn_param){ 0 });
	end_until(&e, NULL, e.seen[IW_EV_ESTABLISHED]);
	/* Of length 0: nothing to read, but a round. */
	assert_int_equal(end_send(&e, 1, advert, sizeof(advert), 0), 0);
	end_until(&e, NULL, end_wc(&e, 2));
	iw_disconnect(e.qp);
	end_until(&e, NULL, e.seen[IW_EV_CLOSED]);
	served(&s);
	assert_int_equal(s.last.fault.err, IW_E_REJECTED);
	assert_string_equal(s.last.fault.text,
			    "rping: the client ended the conversation in round 0");
	end_close(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(client_and_server_agree_on_every_round),
		cmocka_unit_test(nobody_there_is_told),
		cmocka_unit_test(server_that_says_nothing_is_given_up),
		cmocka_unit_test(client_that_stops_in_a_round_is_given_up),
		cmocka_unit_test(client_that_leaves_in_a_round_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
