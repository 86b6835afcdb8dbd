// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rping's conversation: both sides against each other over loopback, and each against a peer that
 * sends something else.
 */
#include "mpa-probe/rping.h"

#include "cli/param.h"
#include "verbs_end.h"

#include "os/os.h"
#include "util/num.h"

/* One side: an end and its conversation. */
struct side {
	struct end e;
	struct iw_rping *ping;
	unsigned taken; /* completions passed in */
	bool started;
	bool slow;         /* completions of Sends are passed in late, after later ones */
	unsigned held_for; /* in steps */
	const struct iw_wc *held;
	unsigned reads_meanwhile;
	int err;
	struct iw_fault why;
};

static struct side client, server;

static void side_open(struct side *s, const struct iw_rping_cfg *cfg)
{
	memset(s, 0, sizeof(*s));
	end_open(&s->e);
	if (cfg && iw_rping_new(&s->ping, s->e.pd, s->e.qp, cfg, &s->why) != 0)
		fail_msg("%s", s->why.text);
}

static void side_close(struct side *s)
{
	iw_qp_free(s->e.qp);
	iw_rping_free(s->ping);
	end_close(&s->e);
}

static void take(struct side *s, const struct iw_wc *wc)
{
	if (s->err == 0 && wc->status == IW_OK)
		s->err = iw_rping_done(s->ping, wc, iw_os_now(), &s->why);
}

static void release(struct side *s)
{
	if (s->held)
		take(s, s->held);
	s->held = NULL;
}

static void step(struct side *s)
{
	end_step(&s->e, 100000);
	if (!s->ping)
		return;
	if (!s->started && s->e.seen[IW_EV_ESTABLISHED]) {
		s->started = true;
		s->err = iw_rping_start(s->ping, iw_os_now(), &s->why);
	}
	while (s->started && s->taken < s->e.nwc) {
		const struct iw_wc *wc = &s->e.wc[s->taken++];

		if (s->slow && wc->op == IW_WC_SEND) {
			release(s);
			s->held = wc;
			s->held_for = 0;
			continue;
		}
		if (s->held && wc->op == IW_WC_READ)
			s->reads_meanwhile++;
		take(s, wc);
	}
	if (s->held && ++s->held_for == 20)
		release(s);
}

#define steps_until(cond)                                                                          \
	do {                                                                                       \
		double limit_ = end_clock() + 10;                                                  \
		while (!(cond)) {                                                                  \
			if (end_clock() > limit_)                                                  \
				fail_msg("not within 10 s: %s (%s; %s)", #cond, client.why.text,   \
					 server.why.text);                                         \
			step(&client);                                                             \
			step(&server);                                                             \
		}                                                                                  \
	} while (0)

static void join(void)
{
	end_join(&client.e, &server.e);
}

static void converse(uint32_t size, uint64_t count)
{
	struct iw_rping_cfg c = { .client = true, .size = size, .count = count, .verify = true };
	struct iw_rping_cfg s = { .verify = true };
	const struct iw_rping_result *res;

	side_open(&client, &c);
	side_open(&server, &s);
	join();
	steps_until(client.err || server.err ||
		    (iw_rping_over(client.ping) && iw_rping_result(server.ping)->rounds == count));
	assert_string_equal(client.why.text, "");
	assert_string_equal(server.why.text, "");
	res = iw_rping_result(client.ping);
	assert_int_equal(res->rounds, count);
	assert_int_equal(res->verified, count);
	assert_int_equal(res->size, size);
	assert_int_equal(res->written, size * count);
	assert_true(res->min_ns > 0 && res->min_ns <= res->max_ns && res->sum_ns >= res->max_ns);
	res = iw_rping_result(server.ping);
	assert_int_equal(res->verified, count);
	assert_int_equal(res->read, size * count);
	assert_int_equal(res->written, size * count);
	assert_int_equal(res->size, size);
	assert_true(iw_rping_over(server.ping));
	side_close(&client);
	side_close(&server);
}

static void every_octet_is_decoded_as_it_was_encoded(void **state)
{
	(void)state;
	converse(64, 130);
	converse(1, 3);
	converse(27, 3);
	converse(IW_RPING_SIZE_MAX, 12);
}

/* The first two texts are those that rdma-core's rping -v prints. */
static void text_is_that_of_rping(void **state)
{
	uint8_t text[64], next[64];

	(void)state;
	iw_rping_text(text, 64, 0);
	assert_string_equal((char *)text,
			    "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr");
	iw_rping_text(text, 64, 1);
	assert_string_equal((char *)text,
			    "rdma-ping-1: BCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrs");
	iw_rping_text(text, 20, 57);
	assert_string_equal((char *)text, "rdma-ping-57: zABCD");
	iw_rping_text(next, 20, 58);
	assert_string_equal((char *)next, "rdma-ping-58: ABCDE");
	iw_rping_text(text, 1, 0);
	assert_int_equal(text[0], 0);
	iw_rping_text(text, 5, 1234567);
	assert_string_equal((char *)text, "rdma");
}

/* The next Read overwrites the server's buffer only after the Write from it is complete. */
static void next_read_waits_for_the_writes_completion(void **state)
{
	struct iw_rping_cfg c = { .client = true, .size = 3000, .count = 20, .verify = true },
			    s = { .verify = true };

	(void)state;
	side_open(&client, &c);
	side_open(&server, &s);
	server.slow = true;
	join();
	steps_until(client.err || server.err || iw_rping_over(client.ping));
	assert_string_equal(client.why.text, "");
	assert_string_equal(server.why.text, "");
	/*
	 * No Write is held at the first Read, nor when the `continue` before a later Read
	 * completes.
	 */
	assert_int_equal(server.reads_meanwhile, 0);
	assert_true(iw_rping_result(server.ping)->rounds >= 19);
	side_close(&client);
	side_close(&server);
}

static void server_accepts_sizes_up_to_its_limit(void **state)
{
	struct iw_rping_cfg c = { .client = true, .size = 101, .count = 1 }, s = { .size = 100 };

	(void)state;
	side_open(&client, &c);
	side_open(&server, &s);
	join();
	steps_until(server.err);
	assert_int_equal(server.err, IW_E_REJECTED);
	assert_string_equal(
		server.why.text,
		"rping: the client advertises 101 octets: at most 100 are accepted here (--size)");
	assert_int_equal(iw_rping_result(server.ping)->read, 0);
	side_close(&client);
	side_close(&server);
}

static void server_with_limit_0_accepts_only_zero_length_pings(void **state)
{
	struct iw_rping_cfg c = { .client = true, .size = IW_RPING_SIZE_NONE, .count = 1 };
	struct iw_rping_cfg s = { .size = IW_RPING_SIZE_NONE };

	(void)state;
	side_open(&client, &c);
	side_open(&server, &s);
	join();
	steps_until(iw_rping_over(client.ping));
	assert_int_equal(server.err, 0);
	side_close(&client);
	side_close(&server);
	c.size = 1;
	side_open(&client, &c);
	side_open(&server, &s);
	join();
	steps_until(server.err);
	assert_int_equal(server.err, IW_E_REJECTED);
	side_close(&client);
	side_close(&server);
}

/*
 * A server by hand: it answers the first advertisement, and writes len octets of text for the
 * second one.
 */
static void play_server(const void *text, size_t len)
{
	static uint8_t first[16], second[16], go_on[16];

	assert_int_equal(iw_post_recv(server.e.qp, 1, first, sizeof(first), NULL), 0);
	assert_int_equal(iw_post_recv(server.e.qp, 2, second, sizeof(second), NULL), 0);
	join();
	steps_until(end_wc(&server.e, 1));
	assert_int_equal(end_send(&server.e, 3, go_on, sizeof(go_on), 0), 0);
	steps_until(end_wc(&server.e, 2));
	assert_int_equal(end_write(&server.e, 4, text, len, iw_get_be32(second + 8),
				   iw_get_be64(second), 0),
			 0);
	assert_int_equal(end_send(&server.e, 5, go_on, sizeof(go_on), 0), 0);
}

static void client_finds_the_octet_that_differs(void **state)
{
	struct iw_rping_cfg c = { .client = true, .size = 64, .count = 2, .verify = true };
	uint8_t text[64];

	(void)state;
	side_open(&client, &c);
	side_open(&server, NULL);
	iw_rping_text(text, 64, 0);
	text[17] ^= 0x20;
	play_server(text, sizeof(text));
	steps_until(client.err);
	assert_int_equal(client.err, IW_E_FORMAT);
	assert_string_equal(client.why.text,
			    "rping: round 0: octet 17 of 64 is 0x65, expected 0x45");
	assert_int_equal(iw_rping_result(client.ping)->verified, 0);
	side_close(&client);
	side_close(&server);
}

static void client_finds_that_less_was_written(void **state)
{
	struct iw_rping_cfg c = { .client = true, .size = 64, .count = 2, .verify = true };
	uint8_t text[64];

	(void)state;
	side_open(&client, &c);
	side_open(&server, NULL);
	iw_rping_text(text, 64, 0);
	play_server(text, 62);
	steps_until(client.err);
	assert_string_equal(client.why.text,
			    "rping: round 0: octet 62 of 64 is 0x00, expected 0x72");
	side_close(&client);
	side_close(&server);
}

static void message_of_another_length_is_not_rping(void **state)
{
	struct iw_rping_cfg s = { 0 };

	(void)state;
	side_open(&client, NULL);
	side_open(&server, &s);
	join();
	assert_int_equal(end_send(&client.e, 1, "0123456789abcdefg", 17, 0), 0);
	steps_until(server.err);
	assert_int_equal(server.err, IW_E_FORMAT);
	assert_string_equal(server.why.text, "rping: a message of 17 octets: expected 16");
	side_close(&client);
	side_close(&server);
}

/* With an RTR before it, a responder may send first (RFC 6581 9.2); rping's does not. */
static void server_that_sends_out_of_turn_is_reported(void **state)
{
	struct iw_rping_cfg c = { .client = true, .size = 64 };

	(void)state;
	side_open(&client, &c);
	side_open(&server, NULL);
	end_join_with(&client.e, &server.e, (struct conn_param){ .protocol.peer_to_peer = true });
	assert_int_equal(end_send(&server.e, 1, "0123456789abcdef", 16, 0), 0);
	/* No round has begun. */
	while (client.e.nwc == 0) {
		end_step(&client.e, 100000);
		end_step(&server.e, 100000);
	}
	take(&client, &client.e.wc[0]);
	assert_int_equal(client.err, IW_E_FORMAT);
	assert_string_equal(
		client.why.text,
		"rping: the server sent a message before the advertisement that it must wait for");
	side_close(&client);
	side_close(&server);
}

static void client_that_is_stopped_ends_its_round(void **state)
{
	struct iw_rping_cfg c = { .client = true }, s = { 0 };

	(void)state;
	side_open(&client, &c);
	side_open(&server, &s);
	join();
	steps_until(iw_rping_result(client.ping)->rounds >= 5);
	iw_rping_stop(client.ping);
	steps_until(iw_rping_over(client.ping));
	side_close(&client);
	side_close(&server);
}

static void sizes_above_rpings_are_refused(void **state)
{
	struct iw_rping_cfg c = { .client = true, .size = IW_RPING_SIZE_MAX + 1 };
	struct iw_rping *r;
	struct iw_fault why;

	(void)state;
	side_open(&client, NULL);
	assert_int_equal(iw_rping_new(&r, client.e.pd, client.e.qp, &c, &why), IW_E_INVAL);
	side_close(&client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_octet_is_decoded_as_it_was_encoded),
		cmocka_unit_test(text_is_that_of_rping),
		cmocka_unit_test(next_read_waits_for_the_writes_completion),
		cmocka_unit_test(server_accepts_sizes_up_to_its_limit),
		cmocka_unit_test(server_with_limit_0_accepts_only_zero_length_pings),
		cmocka_unit_test(client_finds_the_octet_that_differs),
		cmocka_unit_test(client_finds_that_less_was_written),
		cmocka_unit_test(message_of_another_length_is_not_rping),
		cmocka_unit_test(server_that_sends_out_of_turn_is_reported),
		cmocka_unit_test(client_that_is_stopped_ends_its_round),
		cmocka_unit_test(sizes_above_rpings_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
