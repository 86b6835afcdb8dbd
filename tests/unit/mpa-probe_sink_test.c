// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sink: which connections it keeps, counts and ends. */
#include "mpa-probe/sink.h"

#include <pthread.h>
#include <signal.h>

#include "cli/param.h"
#include "verbs_end.h"

#include "cli/signals.h"
#include "util/num.h"

static struct iw_probe_sink *sink;
static struct iw_fault why;
static pthread_t thread;
static unsigned up;
static struct iw_probe_sink_news left[8];
static unsigned nleft;

static void *serve(void *arg)
{
	struct iw_probe_sink_news news;
	int err;

	(void)arg;
	while ((err = iw_probe_sink_next(sink, &news, &why)) == 0 &&
	       news.kind != IW_PROBE_SINK_STOPPED) {
		up += news.kind == IW_PROBE_SINK_UP;
		if (news.kind == IW_PROBE_SINK_LEFT && nleft < IW_ARRAY_LEN(left))
			left[nleft++] = news;
	}
	assert_int_equal(err, 0);
	return NULL;
}

static void sink_start(const struct iw_probe_sink_cfg *cfg)
{
	up = nleft = 0;
	if (iw_probe_sink_new(&sink, cfg, &why) != 0)
		fail_msg("%s", why.text);
	assert_int_equal(strncmp(iw_probe_sink_addr(sink), "127.0.0.1:", 10), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
}

/* The sink ends because of `once`. */
static void sink_end(void)
{
	pthread_join(thread, NULL);
	iw_probe_sink_free(sink);
}

static struct iw_cli_param to_sink(void)
{
	return (struct iw_cli_param){ IW_CLI_PARAM_SIZES, .at.host = "127.0.0.1",
				      .at.port = iw_probe_sink_port(sink) };
}

static void sends_are_counted_and_forgotten(void **state)
{
	const struct iw_probe_sink_cfg cfg = { .once = true };
	struct iw_cli_param p;
	static uint8_t data[5000];
	struct end e;

	(void)state;
	sink_start(&cfg);
	end_open(&e);
	p = to_sink();
	assert_int_equal(iw_connect(e.qp, &p.at, &p.protocol, &why), 0);
	end_until(&e, NULL, e.seen[IW_EV_ESTABLISHED]);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(end_send(&e, 1, data, sizeof(data), 0), 0);
		end_until(&e, NULL, e.nwc == i + 1);
	}
	iw_disconnect(e.qp);
	end_until(&e, NULL, e.seen[IW_EV_CLOSED]);
	end_close(&e);
	sink_end();
	assert_int_equal(up, 1);
	assert_int_equal(nleft, 1);
	assert_string_equal(left[0].fault.text, "");
	assert_int_equal(left[0].sends, 100);
	assert_int_equal(left[0].octets, 100 * sizeof(data));
}

static void send_longer_than_its_buffer_ends_that_connection(void **state)
{
	const struct iw_probe_sink_cfg cfg = { .once = true };
	static uint8_t data[65537];
	struct iw_cli_param p;
	struct end e;

	(void)state;
	sink_start(&cfg);
	end_open(&e);
	p = to_sink();
	assert_int_equal(iw_connect(e.qp, &p.at, &p.protocol, &why), 0);
	end_until(&e, NULL, e.seen[IW_EV_ESTABLISHED]);
	assert_int_equal(end_send(&e, 1, data, sizeof(data), 0), 0);
	end_until(&e, NULL, e.seen[IW_EV_CLOSED]);
	assert_non_null(strstr(e.fault.text, "Terminate"));
	end_close(&e);
	sink_end();
	assert_int_equal(left[0].sends, 0);
	assert_int_not_equal(left[0].fault.err, 0);
}

static void silent_client_is_disconnected(void **state)
{
	const struct iw_probe_sink_cfg cfg = { .once = true, .idle_ns = MS(100) };
	struct iw_cli_param p;
	struct end e;

	(void)state;
	sink_start(&cfg);
	end_open(&e);
	p = to_sink();
	assert_int_equal(iw_connect(e.qp, &p.at, &p.protocol, &why), 0);
	end_until(&e, NULL, e.seen[IW_EV_CLOSED]);
	end_close(&e);
	sink_end();
	assert_int_equal(left[0].fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(left[0].fault.text, "100 ms"));
}

/* Zero-length operations work, but do not keep a connection alive. */
static void zero_length_operations_are_not_progress(void **state)
{
	const struct iw_probe_sink_cfg cfg = { .once = true, .idle_ns = MS(300) };
	double limit = end_clock() + 10;
	struct iw_cli_param p;
	struct end e;

	(void)state;
	sink_start(&cfg);
	end_open(&e);
	p = to_sink();
	assert_int_equal(iw_connect(e.qp, &p.at, &p.protocol, &why), 0);
	end_until(&e, NULL, e.seen[IW_EV_ESTABLISHED]);
	assert_int_equal(end_read(&e, 1, NULL, 0, 0, 1, 0), 0);
	end_until(&e, NULL, end_wc(&e, 1));
	assert_int_equal(end_wc(&e, 1)->status, IW_OK);
	for (unsigned i = 0; !e.seen[IW_EV_CLOSED]; i += 3) {
		assert_true(end_clock() < limit);
		(void)!end_read(&e, 10 + i, NULL, 0, 0, 1, 0);
		(void)!end_write(&e, 11 + i, NULL, 0, 1, 0, 0);
		(void)!end_send(&e, 12 + i, NULL, 0, 0);
		end_run(&e, NULL, 20);
	}
	end_close(&e);
	sink_end();
	assert_int_equal(left[0].fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(left[0].fault.text, "no payload received for 300 ms"));
}

static void sends_with_payload_keep_a_connection(void **state)
{
	const struct iw_probe_sink_cfg cfg = { .once = true, .idle_ns = MS(1000) };
	struct iw_cli_param p;
	struct end e;

	(void)state;
	sink_start(&cfg);
	end_open(&e);
	p = to_sink();
	assert_int_equal(iw_connect(e.qp, &p.at, &p.protocol, &why), 0);
	end_until(&e, NULL, e.seen[IW_EV_ESTABLISHED]);
	for (unsigned i = 0; i < 15; i++) {
		assert_int_equal(end_send(&e, i, "x", 1, 0), 0);
		end_until(&e, NULL, e.nwc == i + 1);
		end_run(&e, NULL, 100);
	}
	iw_disconnect(e.qp);
	end_until(&e, NULL, e.seen[IW_EV_CLOSED]);
	end_close(&e);
	sink_end();
	assert_string_equal(left[0].fault.text, "");
}

static void once_accepts_one_connection_at_a_time(void **state)
{
	const struct iw_probe_sink_cfg cfg = { .once = true };
	struct iw_cli_param p;
	struct end a, b;

	(void)state;
	sink_start(&cfg);
	end_open(&a);
	end_open(&b);
	p = to_sink();
	assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &why), 0);
	end_until(&a, NULL, a.seen[IW_EV_ESTABLISHED]);
	p = to_sink();
	assert_int_equal(iw_connect(b.qp, &p.at, &p.protocol, &why), 0);
	end_until(&b, NULL, b.seen[IW_EV_REJECTED]);
	/* It does not end while the first client is connected. */
	end_run(&a, NULL, 150);
	assert_int_equal(a.seen[IW_EV_CLOSED], 0);
	iw_disconnect(a.qp);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	end_close(&a);
	end_close(&b);
	sink_end();
	assert_int_equal(nleft, 1);
	assert_string_equal(left[0].fault.text, "");
}

static bool is_let_in(struct end *e)
{
	struct iw_cli_param p = to_sink();

	end_open(e);
	assert_int_equal(iw_connect(e->qp, &p.at, &p.protocol, &why), 0);
	end_until(e, NULL, e->seen[IW_EV_ESTABLISHED] || e->seen[IW_EV_REJECTED]);
	return e->seen[IW_EV_ESTABLISHED];
}

/*
 * Of two clients one sends payload: the idle one is ended for a new client. This is the last test,
 * since it asks the process to stop.
 */
static void client_above_the_limit_is_refused_until_an_idle_one_is_closed(void **state)
{
	const struct iw_probe_sink_cfg cfg = { .clients = 2,
					       .setup_ns = MS(200),
					       .yield_ns = MS(1500) };
	static struct end busy, idle, late;
	double limit = end_clock() + 20;
	unsigned refused = 0, n = 0;

	(void)state;
	assert_int_equal(iw_signals_init(&why), 0);
	sink_start(&cfg);
	assert_true(is_let_in(&busy));
	assert_true(is_let_in(&idle));
	while (!is_let_in(&late)) {
		end_close(&late);
		refused++;
		assert_true(end_clock() < limit);
		assert_int_equal(end_send(&busy, n++, "x", 1, 0), 0);
		end_until(&busy, NULL, busy.nwc == n);
		end_run(&busy, &idle, 50);
	}
	assert_true(refused > 0);
	end_until(&idle, &busy, idle.seen[IW_EV_CLOSED]);
	assert_int_equal(busy.seen[IW_EV_CLOSED], 0);

	/* The others end with the sink. */
	assert_int_equal(raise(SIGTERM), 0);
	end_until(&busy, NULL, busy.seen[IW_EV_PEER_CLOSED] || busy.seen[IW_EV_CLOSED]);
	end_until(&late, NULL, late.seen[IW_EV_PEER_CLOSED] || late.seen[IW_EV_CLOSED]);
	end_close(&busy);
	end_close(&idle);
	end_close(&late);
	sink_end();
	assert_int_equal(up, 3);
	assert_int_equal(left[0].fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(left[0].fault.text, "closed to accept a new connection"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_are_counted_and_forgotten),
		cmocka_unit_test(send_longer_than_its_buffer_ends_that_connection),
		cmocka_unit_test(silent_client_is_disconnected),
		cmocka_unit_test(zero_length_operations_are_not_progress),
		cmocka_unit_test(sends_with_payload_keep_a_connection),
		cmocka_unit_test(once_accepts_one_connection_at_a_time),
		cmocka_unit_test(client_above_the_limit_is_refused_until_an_idle_one_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
