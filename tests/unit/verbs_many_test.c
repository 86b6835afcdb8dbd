// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Thousands of connections in one thread: all are served; idle ones use almost no memory and no
 * processor time.
 */
#include "verbs_end.h"

#include <malloc.h>
#include <sys/resource.h>

#define MANY 2000u

static struct end a, b;
static struct iw_qp *qa[MANY], *qb[MANY];
static unsigned accepted, n;

static void take_all(void)
{
	struct iw_async_event ev;

	while (iw_next_event(a.ctx, &ev))
		a.seen[ev.type]++;
	while (iw_next_event(b.ctx, &ev)) {
		b.seen[ev.type]++;
		if (ev.type == IW_EV_CONNECT_REQUEST) {
			assert_true(accepted < n);
			if (iw_accept(ev.req, qb[accepted], NULL, &b.why) != 0)
				fail_msg("%s", b.why.text);
			accepted++;
		} else if (ev.type == IW_EV_PEER_CLOSED) {
			iw_disconnect(ev.qp);
		}
	}
}

static void step(void)
{
	assert_true(iw_progress(a.ctx, 0) >= 0);
	assert_true(iw_progress(b.ctx, 0) >= 0);
	take_all();
}

#define until(cond)                                                                                \
	do {                                                                                       \
		double limit_ = end_clock() + 60;                                                  \
		while (!(cond)) {                                                                  \
			if (end_clock() > limit_)                                                  \
				fail_msg("not within 60 s: " #cond);                               \
			step();                                                                    \
		}                                                                                  \
	} while (0)

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* This process has both ends of each connection and their sockets: two descriptors each. */
static unsigned as_many_as_allowed(void)
{
	struct rlimit r;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &r), 0);
	if (r.rlim_cur < 2 * MANY + 64) {
		r.rlim_cur = r.rlim_max < 2 * MANY + 64 ? r.rlim_max : 2 * MANY + 64;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
	}
	return r.rlim_cur < 2 * MANY + 64 ? (unsigned)(r.rlim_cur - 64) / 2 : MANY;
}

static size_t in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static struct iw_qp *small_qp(struct end *e)
{
	struct iw_qp_attr attr = { .size = sizeof(attr),
				   .send_cq = e->cq,
				   .recv_cq = e->cq,
				   .sq_depth = 8,
				   .rq_depth = 8 };
	struct iw_qp *qp;

	if (iw_qp_new(&qp, e->pd, &attr, &e->why) != 0)
		fail_msg("%s", e->why.text);
	return qp;
}

static void thousands_of_connections_live_in_one_thread(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr),
				    .setup_ns = MS(60000),
				    .stall_ns = MS(60000) };
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1" };
	static char buf[MANY];
	size_t before, held;
	double t, busy, idle;
	unsigned got = 0;

	(void)state;
	n = as_many_as_allowed();
	end_open_with(&a, &attr, 0, 0);
	end_open_with(&b, &attr, 0, 0);
	end_listen_with(&b, (struct conn_param){ 0 });
	p.at.port = iw_listener_port(b.listener);
	step();
	before = in_use();
	for (unsigned i = 0; i < n; i++) {
		qa[i] = small_qp(&a);
		qb[i] = small_qp(&b);
		assert_int_equal(iw_post_recv(qb[i], i, &buf[i], 1, NULL), 0);
		if (iw_connect(qa[i], &p.at, &p.protocol, &a.why) != 0)
			fail_msg("%u: %s", i, a.why.text);
		if (i % 16 == 0)
			step();
	}
	until(a.seen[IW_EV_ESTABLISHED] == n && b.seen[IW_EV_ESTABLISHED] == n);

	/* A message on each: batches and spill buffers are allocated and freed. */
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(
			iw_post_send(qa[i],
				     &(struct iw_send_wr){ .op = IW_WR_SEND,
							   .flags = IW_WR_UNSIGNALED,
							   .sge = &(struct iw_sge){ "m", 1 },
							   .nsge = 1 },
				     NULL),
			0);
	for (t = end_clock(); got < n; step()) {
		struct iw_wc wc[32];
		int k = iw_cq_poll(b.cq, wc, 32);

		assert_true(k >= 0 && end_clock() < t + 60);
		for (int i = 0; i < k; i++) {
			assert_int_equal(wc[i].status, IW_OK);
			assert_int_equal(buf[wc[i].wr_id], 'm');
			buf[wc[i].wr_id] = 0;
		}
		got += (unsigned)k;
	}

	/* All are idle now: the memory of each end. P12 */
	held = (in_use() - before) / (2 * n);
	print_message("# %u connections, %zu octets an end\n", n, held);
	assert_true(held <= 24 * 1024);

	/*
	 * A turn of the loop does not visit idle connections: one busy connection takes as long as
	 * without them.
	 */
	t = cpu_seconds();
	for (int i = 0; i < 2000; i++) {
		assert_int_equal(iw_progress(b.ctx, 0), 0);
		assert_int_equal(iw_progress(a.ctx, 0), 0);
	}
	busy = cpu_seconds() - t;
	end_close(&a);
	end_close(&b);

	end_open_with(&a, &attr, 0, 0);
	end_open_with(&b, &attr, 0, 0);
	t = cpu_seconds();
	for (int i = 0; i < 2000; i++) {
		assert_int_equal(iw_progress(b.ctx, 0), 0);
		assert_int_equal(iw_progress(a.ctx, 0), 0);
	}
	idle = cpu_seconds() - t;
	assert_true(busy < 10 * idle + 0.01);
	end_close(&a);
	end_close(&b);
}

static void every_connection_ends_in_order(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .setup_ns = MS(60000) };
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1" };

	(void)state;
	n = as_many_as_allowed();
	n = n < 300 ? n : 300;
	accepted = 0;
	end_open_with(&a, &attr, 0, 0);
	end_open_with(&b, &attr, 0, 0);
	end_listen_with(&b, (struct conn_param){ 0 });
	p.at.port = iw_listener_port(b.listener);
	for (unsigned i = 0; i < n; i++) {
		qa[i] = small_qp(&a);
		qb[i] = small_qp(&b);
		assert_int_equal(iw_connect(qa[i], &p.at, &p.protocol, &a.why), 0);
		if (i % 16 == 0)
			step();
	}
	until(a.seen[IW_EV_ESTABLISHED] == n && b.seen[IW_EV_ESTABLISHED] == n);
	for (unsigned i = 0; i < n; i++)
		iw_disconnect(qa[i]);
	until(a.seen[IW_EV_CLOSED] == n && b.seen[IW_EV_CLOSED] == n);
	end_close(&a);
	end_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thousands_of_connections_live_in_one_thread),
		cmocka_unit_test(every_connection_ends_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
