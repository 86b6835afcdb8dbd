// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Whole runs over loopback: a client against the server, against servers that send false messages,
 * and the server against misbehaving clients.
 */
#include "ddp-bench/bench.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/param.h"
#include "cli/pattern.h"
#include "ddp-bench/msg.h"
#include "util/num.h"

/* --- the server, in a thread ------------------------------------------------------------------ */

struct served {
	struct iw_bench_server *s;
	pthread_t thread;
	uint16_t port;
	struct iw_bench_news left; /* the client that has disconnected */
	struct iw_bench_news away; /* the last client that was rejected */
	unsigned came, turned_away;
};

static void *serve(void *arg)
{
	struct served *t = arg;
	struct iw_bench_news news;
	struct iw_fault why;

	do {
		if (iw_bench_server_next(t->s, &news, &why) < 0)
			break;
		if (news.kind == IW_BENCH_CAME)
			t->came++;
		if (news.kind == IW_BENCH_LEFT)
			t->left = news;
		if (news.kind == IW_BENCH_TURNED_AWAY) {
			t->away = news;
			t->turned_away++;
		}
	} while (news.kind != IW_BENCH_STOPPED);
	return NULL;
}

/* The server serves one client to its end. */
static uint16_t start_server(struct served *t, const struct iw_bench_server_cfg *like)
{
	struct iw_bench_server_cfg cfg = *like;
	struct iw_fault why;

	memset(t, 0, sizeof(*t));
	cfg.conn.at.size = sizeof(cfg.conn.at);
	cfg.conn.protocol.size = sizeof(cfg.conn.protocol);
	cfg.once = true;
	if (!cfg.setup_ns)
		cfg.setup_ns = IW_SEC(10);
	if (!cfg.timeout_ns)
		cfg.timeout_ns = IW_SEC(10);
	if (iw_bench_server_new(&t->s, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	assert_int_equal(pthread_create(&t->thread, NULL, serve, t), 0);
	t->port = iw_listener_port(iw_bench_server_listener(t->s));
	return t->port;
}

static void end_server(struct served *t)
{
	pthread_join(t->thread, NULL);
	iw_bench_server_free(t->s);
}

static const struct iw_bench_server_cfg plain_server;

/* --- the client ------------------------------------------------------------------------------- */

static struct iw_bench_cfg run_of(uint16_t port, enum iw_bench_mode mode, uint64_t size,
				  uint64_t count)
{
	return (struct iw_bench_cfg){
		.mode = mode,
		.conn = { IW_CLI_PARAM_SIZES, .at.host = "127.0.0.1", .at.port = port },
		.size = size,
		.depth = 4,
		.count = count,
		.verify = true,
		.setup_ns = IW_SEC(10),
		.timeout_ns = IW_SEC(10),
	};
}

/* Returns 0 or the error of the run. The caller frees the client. */
static int run(struct iw_bench_client **c, const struct iw_bench_cfg *cfg, unsigned *intervals,
	       struct iw_fault *why)
{
	struct iw_bench_interval iv;
	uint64_t end = 0;
	int ret = iw_bench_client_new(c, cfg, why);

	if (ret)
		return ret;
	while ((ret = iw_bench_client_next(*c, &iv, why)) == IW_BENCH_INTERVAL) {
		/* Intervals have no gap between them. */
		assert_true(iv.start_ns == end);
		assert_true(iv.end_ns > iv.start_ns);
		end = iv.end_ns;
		++*intervals;
	}
	return ret;
}

/* A whole run that must succeed. */
static struct iw_bench_result good_run(const struct iw_bench_cfg *cfg, unsigned *intervals)
{
	struct iw_bench_client *c;
	struct iw_bench_result r;
	struct iw_fault why = { 0 };

	if (run(&c, cfg, intervals, &why) != IW_BENCH_DONE)
		fail_msg("%s", why.text);
	r = *iw_bench_client_result(c);
	r.round_trips = NULL;
	iw_bench_client_free(c);
	if (r.verdict == IW_BENCH_BAD)
		fail_msg("%s", r.mismatch);
	return r;
}

static void counted_run(enum iw_bench_mode mode, uint64_t size, uint64_t count)
{
	struct served t;
	uint16_t port = start_server(&t, &plain_server);
	struct iw_bench_cfg cfg = run_of(port, mode, size, count);
	unsigned intervals = 0;
	struct iw_bench_result r = good_run(&cfg, &intervals);

	end_server(&t);
	assert_int_equal(r.verdict, IW_BENCH_GOOD);
	assert_int_equal(r.messages, count);
	assert_int_equal(r.octets, count * size);
	assert_true(r.duration_ns > 0);
	assert_int_equal(intervals, 0);
	assert_int_equal(t.came, 1);
	assert_int_equal(t.left.fault.err, IW_OK);
	/* The server has no rate. */
	assert_int_equal(t.left.mode, mode == IW_BENCH_RATE ? IW_BENCH_SEND : mode);
	/* Octets sent by one end in the window were received by the other: the data and more. */
	assert_true(r.client.used.tx_octets + r.client.used.rx_octets >= r.octets);
	assert_true(r.server.used.tx_octets + r.server.used.rx_octets >= r.octets);
	assert_true(r.server.kernel[0] && r.client.kernel[0]);
	assert_string_equal(r.server.kernel, r.client.kernel);
}

static void every_mode_moves_and_verifies_its_data(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 7, 8, 9, 64, 1447, 65535, 65536, 65537, 1048576 };

	(void)state;
	for (int mode = 0; mode < IW_BENCH_MODES; mode++)
		for (size_t i = 0; i < IW_ARRAY_LEN(sizes); i++)
			counted_run((enum iw_bench_mode)mode, sizes[i], 23);
}

/* Unused slots are not compared. */
static void fewer_messages_than_slots_verify(void **state)
{
	(void)state;
	for (int mode = 0; mode < IW_BENCH_MODES; mode++)
		counted_run((enum iw_bench_mode)mode, 1000, 1);
}

static void a_timed_run_has_warm_up_and_intervals(void **state)
{
	struct served t;
	struct iw_bench_cfg cfg = run_of(start_server(&t, &plain_server), IW_BENCH_WRITE, 65536, 0);
	unsigned intervals = 0;
	struct iw_bench_result r;

	(void)state;
	cfg.time_ns = IW_MSEC(300);
	cfg.warmup_ns = IW_MSEC(100);
	cfg.interval_ns = IW_MSEC(100);
	r = good_run(&cfg, &intervals);
	end_server(&t);
	assert_in_range(intervals, 2, 4);
	assert_in_range(r.client.used.at_ns, IW_MSEC(290), IW_SEC(5));
	assert_true(r.receiver_is_server);
	assert_true(r.octets == r.messages * 65536);
	assert_true(r.server_clients == 1);
	/* The result excludes the warm-up: the server received more than it reports. */
	assert_true(t.left.rx_octets > r.octets + r.octets / 20);
}

static void a_client_sets_the_congestion_control_of_the_server(void **state)
{
	struct served t;
	struct iw_bench_cfg cfg = run_of(start_server(&t, &plain_server), IW_BENCH_READ, 1000, 10);
	unsigned intervals = 0;
	struct iw_bench_result r;

	(void)state;
	cfg.conn.at.cc = "reno";
	r = good_run(&cfg, &intervals);
	end_server(&t);
	assert_string_equal(r.client.cc, "reno");
	assert_string_equal(r.server.cc, "reno");
}

static void pingpong_measures_every_round_trip(void **state)
{
	struct served t;
	struct iw_bench_cfg cfg =
		run_of(start_server(&t, &plain_server), IW_BENCH_PINGPONG, 64, 200);
	const struct iw_bench_result *r;
	struct iw_bench_client *c;
	struct iw_fault why = { 0 };
	unsigned intervals = 0;

	(void)state;
	cfg.warmup_ns = IW_MSEC(20);
	if (run(&c, &cfg, &intervals, &why) != IW_BENCH_DONE)
		fail_msg("%s", why.text);
	r = iw_bench_client_result(c);
	assert_int_equal(r->round_trips->n, 200);
	assert_int_equal(r->depth, 1);
	assert_false(r->receiver_is_server);
	assert_true(iw_hist_at(r->round_trips, 500000) <= r->round_trips->max);
	assert_true(r->round_trips->max <= r->duration_ns);
	iw_bench_client_free(c);
	end_server(&t);
}

/* --- several connections and streams ---------------------------------------------------------- */

static void lanes_run(enum iw_bench_mode mode, const char *transport, uint32_t connections,
		      uint32_t streams, uint64_t count)
{
	struct iw_bench_server_cfg like = { .conn = { .at.transport = transport } };
	struct served t;
	struct iw_bench_cfg cfg = run_of(start_server(&t, &like), mode, 5000, count);
	const struct iw_bench_result *r;
	uint64_t client_end, told = 0;
	struct iw_bench_interval iv;
	struct iw_bench_client *c;
	struct iw_fault why = { 0 };
	int ret;

	cfg.conn.at.transport = transport;
	cfg.connections = connections;
	cfg.streams = streams;
	cfg.warmup_ns = IW_MSEC(20);
	cfg.interval_ns = IW_MSEC(20);
	cfg.time_ns = count ? 0 : IW_MSEC(150);
	assert_int_equal(iw_bench_client_new(&c, &cfg, &why), 0);
	client_end = 0;
	while ((ret = iw_bench_client_next(c, &iv, &why)) == IW_BENCH_INTERVAL) {
		assert_true(iv.start_ns == client_end && iv.end_ns > iv.start_ns);
		client_end = iv.end_ns;
		told += iv.octets;
	}
	if (ret != IW_BENCH_DONE)
		fail_msg("%s", why.text);
	r = iw_bench_client_result(c);
	assert_int_equal(r->verdict, IW_BENCH_GOOD);
	if (count)
		assert_int_equal(r->messages, count);
	assert_true(r->messages > 0 && r->octets == r->messages * 5000);
	assert_true(told == 0 || (told == r->octets && client_end == r->duration_ns));
	assert_true(r->server_clients == connections * streams);
	assert_true(r->client.used.tx_octets + r->client.used.rx_octets >= r->octets);
	assert_int_equal(mode == IW_BENCH_PINGPONG ? r->round_trips->n : r->completions->n,
			 r->messages);
	iw_bench_client_free(c);
	end_server(&t);
	/* --once waits for all of them. */
	assert_int_equal(t.came, connections * streams);
	assert_int_equal(t.left.fault.err, IW_OK);
}

static void several_connections_are_one_result(void **state)
{
	(void)state;
	for (int mode = 0; mode < IW_BENCH_MODES; mode++) {
		lanes_run((enum iw_bench_mode)mode, "tcp", 3, 1, 0);
		lanes_run((enum iw_bench_mode)mode, "tcp", 5, 1, 101);
	}
	/* Lanes that have no message of their own. */
	lanes_run(IW_BENCH_WRITE, "tcp", 4, 1, 2);
	lanes_run(IW_BENCH_READ, "tcp", 40, 1, 400);
}

/* RFC 5043 8: each stream of the association is a separate DDP stream. */
static void several_streams_of_associations_are_one_result(void **state)
{
	(void)state;
	for (int mode = 0; mode < IW_BENCH_MODES; mode++)
		lanes_run((enum iw_bench_mode)mode, "udp", 1, 4, 103);
	lanes_run(IW_BENCH_WRITE, "udp", 2, 3, 0);
}

static void streams_beyond_the_agreed_number_are_refused(void **state)
{
	struct iw_bench_cfg tcp = run_of(1, IW_BENCH_WRITE, 1, 1);
	struct iw_bench_cfg many = run_of(1, IW_BENCH_WRITE, 1, 1);
	struct iw_bench_client *c;
	struct iw_fault why;

	(void)state;
	tcp.streams = 2;
	many.connections = UINT32_MAX;
	many.streams = 2;
	many.conn.at.transport = "udp";
	assert_int_equal(iw_bench_client_new(&c, &tcp, &why), IW_E_INVAL);
	assert_int_equal(iw_bench_client_new(&c, &many, &why), IW_E_INVAL);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void refused_run(const struct iw_bench_server_cfg *server, const struct iw_bench_cfg *like,
			const char *words)
{
	struct served t;
	uint16_t port = start_server(&t, server);
	struct iw_bench_cfg cfg = *like, good = run_of(port, IW_BENCH_WRITE, 1, 1);
	struct iw_bench_client *c;
	struct iw_fault why = { 0 };
	unsigned intervals = 0;

	cfg.conn.at.port = port;
	cfg.conn.at.transport = good.conn.at.transport = server->conn.at.transport;
	assert_int_equal(run(&c, &cfg, &intervals, &why), IW_E_REJECTED);
	/* Over SCTP no clause of MPA applies. */
	assert_string_equal(why.clause, server->conn.at.transport ? "" : iw_err_clause(why.err));
	if (!strstr(why.text, words))
		fail_msg("\"%s\" lacks \"%s\"", why.text, words);
	iw_bench_client_free(c);
	/* The server continues. */
	good_run(&good, &intervals);
	end_server(&t);
	assert_int_equal(t.turned_away, 1);
	assert_non_null(strstr(t.away.fault.text, words));
}

static void more_memory_than_the_server_gives_is_refused(void **state)
{
	struct iw_bench_server_cfg small = { .memory = 1 << 20 };
	struct iw_bench_cfg cfg = run_of(0, IW_BENCH_WRITE, 1 << 20, 1);

	(void)state;
	refused_run(&small, &cfg, "of memory are needed");
	small.conn.at.transport = "udp";
	refused_run(&small, &cfg, "of memory are needed");
}

static void a_congestion_control_that_the_server_lacks_is_refused(void **state)
{
	struct iw_bench_cfg cfg = run_of(0, IW_BENCH_WRITE, 1, 1);
	struct iw_bench_client *c;
	struct iw_fault why = { 0 };

	(void)state;
	cfg.conn.at.cc = "nosuch";
	/* Our own end lacks it too, and reports it first. */
	cfg.conn.at.port = 1;
	assert_int_equal(iw_bench_client_new(&c, &cfg, &why), IW_E_NOTSUP);
	assert_null(c);
}

static void impossible_runs_are_refused_before_anything_is_sent(void **state)
{
	struct iw_bench_cfg big = run_of(1, IW_BENCH_WRITE, IW_BENCH_SIZE_MAX + 1, 1);
	struct iw_bench_cfg deep = run_of(1, IW_BENCH_WRITE, 1, 1);
	struct iw_bench_cfg endless = run_of(1, IW_BENCH_WRITE, 1, 0);
	struct iw_bench_client *c;
	struct iw_fault why;

	(void)state;
	deep.depth = 0;
	assert_int_equal(iw_bench_client_new(&c, &big, &why), IW_E_INVAL);
	assert_int_equal(iw_bench_client_new(&c, &deep, &why), IW_E_INVAL);
	assert_int_equal(iw_bench_client_new(&c, &endless, &why), IW_E_INVAL);
}

/* --- an end that can send any message -------------------------------------------------------- */

struct raw {
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_qp *qp;
	struct iw_listener *listener;
	struct iw_mr *mr;
	uint8_t in[16][2048], out[16][IW_BENCH_MSG_MAX], sink[4096];
	unsigned sent;
	struct iw_async_event event; /* the last one except PEER_CLOSED */
};

static void raw_open(struct raw *r)
{
	struct iw_qp_attr qa = { .size = sizeof(qa) };
	struct iw_fault why = { 0 };

	memset(r, 0, sizeof(*r));
	assert_int_equal(iw_ctx_new(&r->ctx, NULL, &why), 0);
	assert_int_equal(iw_pd_new(&r->pd, r->ctx), 0);
	assert_int_equal(iw_cq_new(&r->cq, r->ctx), 0);
	qa.send_cq = qa.recv_cq = r->cq;
	assert_int_equal(iw_qp_new(&r->qp, r->pd, &qa, &why), 0);
	for (uint64_t i = 0; i < IW_ARRAY_LEN(r->in); i++)
		assert_int_equal(iw_post_recv(r->qp, i, r->in[i], sizeof(r->in[i]), NULL), 0);
}

/* Waits for the next message (returns 1) or the end of the connection (returns 0). */
static int raw_next(struct raw *r, struct iw_bench_msg *m)
{
	for (;;) {
		struct iw_async_event ev;
		struct iw_fault why = { 0 };
		struct iw_wc wc;

		assert_true(iw_cq_wait(r->cq, (int64_t)IW_SEC(10)) == 1);
		while (iw_next_event(r->ctx, &ev)) {
			if (ev.type == IW_EV_PEER_CLOSED)
				iw_disconnect(r->qp);
			else
				r->event = ev;
			if (ev.type == IW_EV_CONNECT_REQUEST)
				assert_int_equal(iw_accept(ev.req, r->qp, NULL, &why), 0);
			if (ev.type == IW_EV_CLOSED || ev.type == IW_EV_REJECTED)
				return 0;
			if (ev.type == IW_EV_ESTABLISHED && !r->listener)
				return 1;
		}
		while (iw_cq_poll(r->cq, &wc, 1) == 1) {
			if (wc.op != IW_WC_RECV || wc.status != IW_OK || !wc.solicited)
				continue;
			if (iw_bench_msg_decode(m, r->in[wc.wr_id], wc.len, &why) != 0)
				fail_msg("%s", why.text);
			assert_int_equal(iw_post_recv(r->qp, wc.wr_id, r->in[wc.wr_id],
						      sizeof(r->in[0]), NULL),
					 0);
			return 1;
		}
	}
}

/* Sent with the next wait; its completion is not checked. */
static void raw_send(struct raw *r, const void *p, size_t len, unsigned flags)
{
	uint8_t *out = r->out[r->sent++ % IW_ARRAY_LEN(r->out)];
	struct iw_sge sge = { out, len };
	struct iw_send_wr wr = {
		.op = IW_WR_SEND, .flags = flags | IW_WR_UNSIGNALED, .sge = &sge, .nsge = 1
	};

	memcpy(out, p, len);
	assert_int_equal(iw_post_send(r->qp, &wr, NULL), 0);
}

static void raw_tell(struct raw *r, const struct iw_bench_msg *m)
{
	uint8_t buf[IW_BENCH_MSG_MAX];

	raw_send(r, buf, iw_bench_msg_encode(buf, m), IW_WR_SOLICITED);
}

static void raw_connect(struct raw *r, uint16_t port, const void *private_data, size_t len)
{
	struct iw_cli_param p = {
		IW_CLI_PARAM_SIZES,
		.at.host = "127.0.0.1",
		.at.port = port,
		.protocol.private_data = private_data,
		.protocol.private_data_len = len,
	};
	struct iw_fault why = { 0 };

	raw_open(r);
	assert_int_equal(iw_connect(r->qp, &p.at, &p.protocol, &why), 0);
}

/* Connects with that RUN. Returns 1 if accepted, or 0 and *m if rejected. */
static int raw_run(struct raw *r, uint16_t port, uint64_t version, uint64_t mode, uint64_t size,
		   uint64_t depth, const char *cc, struct iw_bench_msg *m)
{
	struct iw_bench_msg run = { .type = IW_BENCH_RUN,
				    .run = { version, mode, size, depth, 1 } };
	uint8_t pd[IW_BENCH_MSG_MAX];
	struct iw_qp_info info;
	struct iw_fault why = { 0 };
	size_t len;

	snprintf(run.text, sizeof(run.text), "%s", cc);
	len = iw_bench_msg_encode(pd, &run);
	raw_connect(r, port, pd, len);
	if (raw_next(r, m))
		return 1;
	assert_int_equal(r->event.type, IW_EV_REJECTED);
	iw_qp_info(r->qp, &info);
	if (iw_bench_msg_decode(m, info.private_data, info.private_data_len, &why) != 0)
		fail_msg("%s", why.text);
	assert_int_equal(m->type, IW_BENCH_REFUSED);
	return 0;
}

static void requests_beyond_the_limits_are_refused_with_a_reason(void **state)
{
	static const struct {
		uint64_t version, mode, size, depth;
		const char *cc, *words;
	} wishes[] = {
		{ 2, 0, 1, 1, "", "version 2" },
		{ 1, 4, 1, 1, "", "mode 4" },
		{ 1, UINT64_MAX, 1, 1, "", "mode" },
		{ 1, 0, UINT64_MAX, 1, "", "at most" },
		{ 1, 0, 1, UINT64_MAX, "", "at most" },
		{ 1, 0, IW_BENCH_SIZE_MAX, IW_BENCH_DEPTH_MAX, "", "of memory are needed" },
		{ 1, 2, 1 << 29, 1, "", "of memory are needed" },
		{ 1, 0, 1, 0, "", "at most" },
		{ 1, 0, 1, 1, "nosuch", "nosuch" },
		{ 1, 0, 1, 1, "../../../etc/passwd", "congestion control" },
	};
	struct served t;
	struct iw_bench_server_cfg bounded = { .memory = 1 << 30 };
	uint16_t port = start_server(&t, &bounded);
	struct iw_bench_cfg good = run_of(port, IW_BENCH_WRITE, 1, 1);
	unsigned intervals = 0;

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(wishes); i++) {
		struct iw_bench_msg m;
		struct raw r;

		assert_int_equal(raw_run(&r, port, wishes[i].version, wishes[i].mode,
					 wishes[i].size, wishes[i].depth, wishes[i].cc, &m),
				 0);
		if (!strstr(m.text, wishes[i].words))
			fail_msg("\"%s\" lacks \"%s\"", m.text, wishes[i].words);
		iw_ctx_free(r.ctx);
	}
	good_run(&good, &intervals);
	end_server(&t);
	assert_int_equal(t.turned_away, IW_ARRAY_LEN(wishes));
}

static void private_data_of_another_protocol_is_refused(void **state)
{
	struct served t;
	uint16_t port = start_server(&t, &plain_server);
	struct iw_bench_cfg good = run_of(port, IW_BENCH_WRITE, 1, 1);
	struct iw_bench_msg m;
	unsigned intervals = 0;
	struct raw r;

	(void)state;
	for (size_t len = 0; len < 8; len++) {
		raw_connect(&r, port, "not ours", len);
		assert_int_equal(raw_next(&r, &m), 0);
		assert_int_equal(r.event.type, IW_EV_REJECTED);
		iw_ctx_free(r.ctx);
	}
	good_run(&good, &intervals);
	end_server(&t);
	assert_int_equal(t.turned_away, 8);
}

/* --- clients that misbehave ------------------------------------------------------------------- */

/* What the server reports about the client at its end. */
static void expect_end(struct served *t, struct raw *r, const char *words)
{
	struct iw_bench_msg m;

	while (raw_next(r, &m))
		;
	iw_ctx_free(r->ctx);
	end_server(t);
	if (!strstr(t->left.fault.text, words))
		fail_msg("\"%s\" lacks \"%s\"", t->left.fault.text, words);
}

/* The same for a peer that never became a client: the server waits for another one. */
static void expect_turned_away(struct served *t, struct raw *r, const char *words)
{
	struct iw_bench_cfg good = run_of(t->port, IW_BENCH_WRITE, 1, 1);
	struct iw_bench_msg m;
	unsigned intervals = 0;

	while (raw_next(r, &m))
		;
	iw_ctx_free(r->ctx);
	good_run(&good, &intervals);
	end_server(t);
	if (!strstr(t->away.fault.text, words))
		fail_msg("\"%s\" lacks \"%s\"", t->away.fault.text, words);
}

static void set_up(struct served *t, struct raw *r, enum iw_bench_mode mode,
		   struct iw_bench_msg *ready)
{
	struct iw_bench_msg go = { .type = IW_BENCH_GO };

	assert_int_equal(raw_run(r, start_server(t, &plain_server), 1, mode, 64, 2, "", ready), 1);
	raw_tell(r, &go);
	assert_int_equal(raw_next(r, ready), 1);
	assert_int_equal(ready->type, IW_BENCH_READY);
}

static void a_client_that_sends_nothing_is_disconnected(void **state)
{
	struct iw_bench_server_cfg hasty = { .setup_ns = IW_MSEC(100), .timeout_ns = IW_MSEC(100) };
	struct iw_bench_msg m;
	struct served t;
	struct raw r;

	(void)state;
	assert_int_equal(raw_run(&r, start_server(&t, &hasty), 1, 0, 64, 2, "", &m), 1);
	expect_turned_away(&t, &r, "made no progress");
}

static void a_client_that_falls_silent_is_disconnected(void **state)
{
	struct iw_bench_server_cfg hasty = { .timeout_ns = IW_MSEC(100) };
	struct iw_bench_msg go = { .type = IW_BENCH_GO }, m;
	struct served t;
	struct raw r;

	(void)state;
	assert_int_equal(raw_run(&r, start_server(&t, &hasty), 1, 0, 64, 2, "", &m), 1);
	raw_tell(&r, &go);
	assert_int_equal(raw_next(&r, &m), 1);
	expect_end(&t, &r, "made no progress");
}

static void a_message_out_of_turn_ends_the_run(void **state)
{
	struct iw_bench_msg mark = { .type = IW_BENCH_MARK }, m;
	struct served t;
	struct raw r;

	(void)state;
	assert_int_equal(raw_run(&r, start_server(&t, &plain_server), 1, 0, 64, 2, "", &m), 1);
	raw_tell(&r, &mark);
	expect_turned_away(&t, &r, "first message of the client is MARK");
}

static void messages_that_only_servers_send_end_the_run(void **state)
{
	struct iw_bench_msg m = { .type = IW_BENCH_REPORT }, ready;
	struct served t;
	struct raw r;

	(void)state;
	set_up(&t, &r, IW_BENCH_WRITE, &ready);
	raw_tell(&r, &m);
	expect_end(&t, &r, "sent REPORT");
}

static void garbage_instead_of_a_message_ends_the_run(void **state)
{
	struct iw_bench_msg ready;
	struct served t;
	struct raw r;

	(void)state;
	set_up(&t, &r, IW_BENCH_WRITE, &ready);
	raw_send(&r, "garbage garbage", 15, IW_WR_SOLICITED);
	expect_end(&t, &r, "not one of ddp-bench");
}

static void a_second_go_ends_the_run(void **state)
{
	struct iw_bench_msg go = { .type = IW_BENCH_GO }, ready;
	struct served t;
	struct raw r;

	(void)state;
	set_up(&t, &r, IW_BENCH_READ, &ready);
	raw_tell(&r, &go);
	expect_end(&t, &r, "GO twice");
}

static void unexpected_data_message_ends_the_run(void **state)
{
	struct iw_bench_msg ready;
	struct served t;
	struct raw r;

	(void)state;
	set_up(&t, &r, IW_BENCH_WRITE, &ready);
	raw_send(&r, "data", 4, 0);
	expect_end(&t, &r, "data that its run does not have");
}

static void a_count_of_more_octets_than_arrived_ends_the_run(void **state)
{
	struct iw_bench_msg mark = { .type = IW_BENCH_MARK, .mark = { 0, 1000000, 0 } }, ready;
	struct served t;
	struct raw r;

	(void)state;
	set_up(&t, &r, IW_BENCH_WRITE, &ready);
	raw_tell(&r, &mark);
	expect_end(&t, &r, "1000000 octets");
}

static void a_check_of_more_octets_than_exist_ends_the_run(void **state)
{
	struct iw_bench_msg check = { .type = IW_BENCH_CHECK, .check = { 3 } }, ready;
	struct served t;
	struct raw r;

	(void)state;
	set_up(&t, &r, IW_BENCH_READ, &ready);
	raw_tell(&r, &check);
	expect_end(&t, &r, "3 slots");
}

/* The server's memory has the size and the access that the client requested. */
static void a_write_beyond_the_memory_is_a_fault_of_ddp(void **state)
{
	uint8_t octets[129] = { 0 };
	struct iw_sge sge = { octets, sizeof(octets) };
	struct iw_send_wr wr = { .op = IW_WR_WRITE, .sge = &sge, .nsge = 1 };
	struct iw_bench_msg ready;
	struct served t;
	struct raw r;

	(void)state;
	set_up(&t, &r, IW_BENCH_WRITE, &ready);
	wr.remote_stag = (uint32_t)ready.ready.stag;
	wr.remote_to = ready.ready.to;
	assert_int_equal(iw_post_send(r.qp, &wr, NULL), 0);
	expect_end(&t, &r, "");
	assert_int_equal(t.left.fault.err, IW_E_DDP_BOUNDS);
}

static void a_wrong_stamp_or_length_is_counted(void **state)
{
	struct iw_bench_msg check = { .type = IW_BENCH_CHECK }, m;
	uint8_t octets[64] = { 0 };
	struct served t;
	struct raw r;

	(void)state;
	set_up(&t, &r, IW_BENCH_SEND, &m);
	raw_send(&r, octets, 64, 0); /* number 0: valid */
	raw_send(&r, octets, 64, 0); /* number 0 again */
	octets[7] = 2;
	raw_send(&r, octets, 63, 0); /* number 2, but short */
	raw_tell(&r, &check);
	do
		assert_int_equal(raw_next(&r, &m), 1);
	while (m.type == IW_BENCH_CREDIT);
	assert_int_equal(m.type, IW_BENCH_CHECKED);
	assert_int_equal(m.checked.wrong, 2);
	assert_int_equal(m.checked.first, 0);
	assert_int_equal(m.checked.last, 3);
	iw_disconnect(r.qp);
	expect_end(&t, &r, "during its run");
}

/* --- servers that send false messages --------------------------------------------------------- */

enum lie {
	NO_LIE,
	WRONG_DIGEST,
	WRONG_MESSAGES,
	REPORT_TWICE,
	READY_TWICE,
	TOO_MUCH_CREDIT,
	DATA_UNASKED,
	SILENCE,
	REFUSAL,
	GOODBYE
};

struct liar {
	struct raw r;
	pthread_t thread;
	enum lie lie;
	enum iw_bench_mode mode;
	uint64_t messages;
};

static void lie_about_mark(struct liar *l, const struct iw_bench_msg *mark)
{
	struct iw_bench_msg m = { .type = IW_BENCH_REPORT };

	m.report.number = mark->mark.number;
	m.report.messages = l->messages;
	m.report.octets = l->mode == IW_BENCH_WRITE ? mark->mark.octets : l->messages * 64;
	m.report.sample.at_ns = (mark->mark.number + 1) * 1000;
	raw_tell(&l->r, &m);
	if (l->lie == REPORT_TWICE)
		raw_tell(&l->r, &m);
}

static void lie_about_check(struct liar *l)
{
	struct iw_bench_msg m = { .type = IW_BENCH_CHECKED };
	struct iw_pattern_digest d;

	assert_true(iw_pattern_digest_init(&d));
	iw_pattern_digest_add(&d, l->r.sink, 64);
	m.checked.digest = iw_pattern_digest_end(&d) ^ (l->lie == WRONG_DIGEST);
	m.checked.last = 1;
	m.checked.wrong = l->lie == WRONG_MESSAGES;
	raw_tell(&l->r, &m);
}

static void lie_about_go(struct liar *l)
{
	struct iw_bench_msg m = { .type = IW_BENCH_READY };

	if (l->lie == REFUSAL) {
		m.type = IW_BENCH_REFUSED;
		snprintf(m.text, sizeof(m.text), "not today");
	}
	if (l->lie == SILENCE)
		return;
	m.ready.stag = iw_mr_stag(l->r.mr);
	raw_tell(&l->r, &m);
	if (l->lie == READY_TWICE)
		raw_tell(&l->r, &m);
	if (l->lie == DATA_UNASKED)
		raw_send(&l->r, "data", 4, 0);
	if (l->lie == GOODBYE)
		iw_disconnect(l->r.qp);
	if (l->lie == TOO_MUCH_CREDIT) {
		m.type = IW_BENCH_CREDIT;
		m.credit.messages = 1000;
		raw_tell(&l->r, &m);
	}
}

static void *serve_lies(void *arg)
{
	struct liar *l = arg;
	struct iw_bench_msg m;

	while (raw_next(&l->r, &m)) {
		if (m.type == IW_BENCH_GO)
			lie_about_go(l);
		else if (l->lie == GOODBYE)
			continue; /* we have shut down already */
		else if (m.type == IW_BENCH_MARK)
			lie_about_mark(l, &m);
		else if (m.type == IW_BENCH_CHECK)
			lie_about_check(l);
	}
	return NULL;
}

/*
 * A run of one message of 64 octets, against a server that serves it except for one false message.
 */
static int run_against(enum lie lie, enum iw_bench_mode mode, struct iw_bench_result *result,
		       struct iw_fault *why)
{
	struct liar l = { .lie = lie, .mode = mode, .messages = mode == IW_BENCH_SEND };
	struct iw_cli_param p = { IW_CLI_PARAM_SIZES };
	struct iw_mr_attr ma = { .addr = l.r.sink, .len = 64, .access = IW_ACCESS_REMOTE_WRITE };
	struct iw_bench_cfg cfg;
	struct iw_bench_client *c;
	unsigned intervals = 0;
	int ret;

	raw_open(&l.r);
	assert_int_equal(iw_mr_reg(&l.r.mr, l.r.pd, &ma, why), 0);
	assert_int_equal(iw_listen(&l.r.listener, l.r.ctx, &p.at, &p.protocol, why), 0);
	cfg = run_of(iw_listener_port(l.r.listener), mode, 64, 1);
	cfg.setup_ns = cfg.timeout_ns = lie == SILENCE ? IW_MSEC(200) : IW_SEC(10);
	assert_int_equal(pthread_create(&l.thread, NULL, serve_lies, &l), 0);
	memset(why, 0, sizeof(*why));
	ret = run(&c, &cfg, &intervals, why);
	*result = *iw_bench_client_result(c);
	iw_bench_client_free(c);
	pthread_join(l.thread, NULL);
	iw_ctx_free(l.r.ctx);
	return ret;
}

static void the_same_server_without_a_lie_verifies(void **state)
{
	struct iw_bench_result r;
	struct iw_fault why;

	(void)state;
	if (run_against(NO_LIE, IW_BENCH_WRITE, &r, &why) != IW_BENCH_DONE)
		fail_msg("%s", why.text);
	assert_int_equal(r.verdict, IW_BENCH_GOOD);
}

static void another_digest_is_a_mismatch(void **state)
{
	struct iw_bench_result r;
	struct iw_fault why;

	(void)state;
	assert_int_equal(run_against(WRONG_DIGEST, IW_BENCH_WRITE, &r, &why), IW_BENCH_DONE);
	assert_int_equal(r.verdict, IW_BENCH_BAD);
	assert_non_null(strstr(r.mismatch, "digest"));
}

static void wrong_messages_are_a_mismatch(void **state)
{
	struct iw_bench_result r;
	struct iw_fault why;

	(void)state;
	assert_int_equal(run_against(WRONG_MESSAGES, IW_BENCH_SEND, &r, &why), IW_BENCH_DONE);
	assert_int_equal(r.verdict, IW_BENCH_BAD);
	assert_non_null(strstr(r.mismatch, "1 of them wrong"));
}

static void servers_that_break_the_protocol_are_detected(void **state)
{
	static const struct {
		enum lie lie;
		int err;
		const char *words;
	} lies[] = {
		{ REPORT_TWICE, IW_E_FORMAT, "sent REPORT, which is not expected" },
		{ READY_TWICE, IW_E_FORMAT, "sent READY, which is not expected" },
		{ TOO_MUCH_CREDIT, IW_E_FORMAT, "sent CREDIT, which is not expected" },
		{ DATA_UNASKED, IW_E_FORMAT, "data without a request" },
		{ REFUSAL, IW_E_REJECTED, "not today" },
		{ SILENCE, IW_E_TIMEOUT, "the listener accepted, then sent nothing for" },
		{ GOODBYE, IW_E_CLOSED, "closed" },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(lies); i++) {
		struct iw_bench_result r;
		struct iw_fault why;
		int ret = run_against(lies[i].lie, IW_BENCH_WRITE, &r, &why);

		if (ret != lies[i].err || !strstr(why.text, lies[i].words))
			fail_msg("lie %d: %d \"%s\", expected %d \"%s\"", (int)lies[i].lie, ret,
				 why.text, lies[i].err, lies[i].words);
	}
}

/* --- several at once -------------------------------------------------------------------------- */

struct runner {
	pthread_t thread;
	struct iw_bench_cfg cfg;
	struct iw_bench_result result;
	int ret;
	struct iw_fault why;
};

static void *run_one(void *arg)
{
	struct runner *n = arg;
	struct iw_bench_client *c = NULL;
	unsigned intervals = 0;

	n->ret = run(&c, &n->cfg, &intervals, &n->why);
	if (c)
		n->result = *iw_bench_client_result(c);
	iw_bench_client_free(c);
	return NULL;
}

static void concurrent_clients_are_all_served(void **state)
{
	struct runner n[8];
	struct served t;
	uint64_t most = 0;
	uint16_t port = start_server(&t, &plain_server);

	(void)state;
	/*
	 * The server of these tests serves one client, which must be the last to end: otherwise the
	 * server would end before.
	 */
	for (size_t i = 0; i < IW_ARRAY_LEN(n); i++) {
		memset(&n[i], 0, sizeof(n[i]));
		n[i].cfg = run_of(port, (enum iw_bench_mode)(i % IW_BENCH_MODES), 3000, 0);
		n[i].cfg.time_ns = IW_MSEC(300);
		n[i].cfg.warmup_ns = IW_MSEC(300);
		assert_int_equal(pthread_create(&n[i].thread, NULL, run_one, &n[i]), 0);
	}
	for (size_t i = 0; i < IW_ARRAY_LEN(n); i++)
		pthread_join(n[i].thread, NULL);
	end_server(&t);
	for (size_t i = 0; i < IW_ARRAY_LEN(n); i++) {
		if (n[i].ret == IW_BENCH_DONE)
			assert_int_equal(n[i].result.verdict, IW_BENCH_GOOD);
		most = n[i].result.server_clients > most ? n[i].result.server_clients : most;
	}
	assert_int_equal(most, IW_ARRAY_LEN(n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mode_moves_and_verifies_its_data),
		cmocka_unit_test(fewer_messages_than_slots_verify),
		cmocka_unit_test(a_timed_run_has_warm_up_and_intervals),
		cmocka_unit_test(a_client_sets_the_congestion_control_of_the_server),
		cmocka_unit_test(pingpong_measures_every_round_trip),
		cmocka_unit_test(several_connections_are_one_result),
		cmocka_unit_test(several_streams_of_associations_are_one_result),
		cmocka_unit_test(streams_beyond_the_agreed_number_are_refused),
		cmocka_unit_test(more_memory_than_the_server_gives_is_refused),
		cmocka_unit_test(a_congestion_control_that_the_server_lacks_is_refused),
		cmocka_unit_test(impossible_runs_are_refused_before_anything_is_sent),
		cmocka_unit_test(requests_beyond_the_limits_are_refused_with_a_reason),
		cmocka_unit_test(private_data_of_another_protocol_is_refused),
		cmocka_unit_test(a_client_that_sends_nothing_is_disconnected),
		cmocka_unit_test(a_client_that_falls_silent_is_disconnected),
		cmocka_unit_test(a_message_out_of_turn_ends_the_run),
		cmocka_unit_test(messages_that_only_servers_send_end_the_run),
		cmocka_unit_test(garbage_instead_of_a_message_ends_the_run),
		cmocka_unit_test(a_second_go_ends_the_run),
		cmocka_unit_test(unexpected_data_message_ends_the_run),
		cmocka_unit_test(a_count_of_more_octets_than_arrived_ends_the_run),
		cmocka_unit_test(a_check_of_more_octets_than_exist_ends_the_run),
		cmocka_unit_test(a_write_beyond_the_memory_is_a_fault_of_ddp),
		cmocka_unit_test(a_wrong_stamp_or_length_is_counted),
		cmocka_unit_test(the_same_server_without_a_lie_verifies),
		cmocka_unit_test(another_digest_is_a_mismatch),
		cmocka_unit_test(wrong_messages_are_a_mismatch),
		cmocka_unit_test(servers_that_break_the_protocol_are_detected),
		cmocka_unit_test(concurrent_clients_are_all_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
