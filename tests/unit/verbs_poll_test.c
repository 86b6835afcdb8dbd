// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Waiting: in iw_progress and iw_cq_wait, in another event loop by poll(), and woken by a
 * descriptor of the program.
 */
#include "verbs_both.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

static void progress_waits_no_longer_than_asked(void **state)
{
	double t = end_clock();

	(void)state;
	assert_int_equal(iw_progress(a.ctx, 0), 0);
	assert_true(end_clock() - t < 1);
	t = end_clock();
	assert_int_equal(iw_progress(a.ctx, (int64_t)MS(50)), 0);
	assert_true(end_clock() - t >= 0.049);
	t = end_clock();
	assert_int_equal(iw_cq_wait(a.cq, (int64_t)MS(50)), 0);
	assert_true(end_clock() - t >= 0.049);
	assert_true(end_clock() - t < 5);
}

static void waits_below_a_millisecond_are_not_rounded_to_nothing(void **state)
{
	double t = end_clock();

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(iw_cq_wait(a.cq, 100000), 0);
	assert_true(end_clock() - t >= 0.0099);
}

static void wait_ends_with_a_completion_and_is_not_disturbed_by_another_queues(void **state)
{
	struct iw_cq *other;
	double t;

	(void)state;
	assert_int_equal(iw_cq_new(&other, b.ctx), 0);
	assert_int_equal(iw_post_recv(b.qp, 1, NULL, 0, NULL), 0);
	end_join(&a, &b);
	b.hold = true;
	assert_int_equal(end_send(&a, 1, NULL, 0, 0), 0);
	end_step(&a, 0);
	assert_int_equal(iw_cq_wait(b.cq, (int64_t)MS(5000)), 1);
	/* The completion stays there: a wait on another queue waits its full time, without using
	 * the processor. */
	t = end_clock();
	assert_int_equal(iw_cq_wait(other, (int64_t)MS(50)), 0);
	assert_true(end_clock() - t >= 0.049);
	assert_int_equal(iw_cq_wait(b.cq, 0), 1);
	assert_int_equal(iw_cq_poll(b.cq, b.wc, 1), 1);
	assert_int_equal(iw_cq_wait(b.cq, 0), 0);
}

static void spinning_wait_gets_its_completion_too(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .spin_ns = MS(20) };
	double t;

	(void)state;
	end_close(&b);
	end_open_with(&b, &attr, 0, 0);
	assert_int_equal(iw_post_recv(b.qp, 1, NULL, 0, NULL), 0);
	end_join(&a, &b);
	assert_int_equal(end_send(&a, 1, NULL, 0, 0), 0);
	end_step(&a, 0);
	assert_int_equal(iw_cq_wait(b.cq, (int64_t)MS(5000)), 1);
	assert_int_equal(iw_cq_poll(b.cq, b.wc, 4), 1);
	t = end_clock();
	assert_int_equal(iw_cq_wait(b.cq, (int64_t)MS(5)), 0);
	assert_true(end_clock() - t < 1);
	assert_int_equal(iw_cq_wait(b.cq, (int64_t)MS(50)), 0);
}

static void longest_spin_time_does_not_wrap(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .spin_ns = UINT64_MAX };
	struct iw_qp_info before, after;

	(void)state;
	end_close(&b);
	end_open_with(&b, &attr, 0, 0);
	iw_qp_info(b.qp, &before);
	assert_int_equal(iw_cq_wait(b.cq, (int64_t)MS(20)), 0);
	iw_qp_info(b.qp, &after);
	assert_true(after.waits - before.waits > 10);
}

/* ---------------------------------------------------------------- other event loops */

/* A whole connection, driven only by poll() on the two descriptors. */
static void connection_lives_on_poll_alone(void **state)
{
	const size_t len = 3000000;
	char *src = calloc(1, len), *dst = malloc(len);
	struct pollfd p[2];
	double limit = end_clock() + 20;
	struct iw_mr *mr;
	bool posted = false;

	(void)state;
	assert_non_null(src);
	assert_non_null(dst);
	src[len - 1] = 'x';
	p[0] = (struct pollfd){ .fd = iw_cq_fd(a.cq, &a.why), .events = POLLIN };
	p[1] = (struct pollfd){ .fd = iw_ctx_fd(b.ctx, &b.why), .events = POLLIN };
	assert_true(p[0].fd >= 0 && p[1].fd >= 0);
	assert_int_equal(iw_cq_fd(a.cq, &a.why), p[0].fd);
	assert_int_equal(fcntl(p[0].fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	mr = end_reg(&b, dst, len, IW_ACCESS_REMOTE_WRITE);
	assert_int_equal(iw_post_recv(b.qp, 5, NULL, 0, NULL), 0);
	end_listen_with(&b, (struct conn_param){ 0 });
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener), (struct conn_param){ 0 });
	while (!(a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED])) {
		assert_true(end_clock() < limit);
		/* No time-out: all pending work makes a descriptor readable. */
		assert_true(poll(p, 2, 5000) > 0);
		if (p[0].revents)
			end_take(&a); /* polling the queue also makes progress */
		if (p[1].revents)
			end_step(&b, 0);
		if (a.seen[IW_EV_ESTABLISHED] && !posted) {
			posted = true;
			assert_int_equal(end_write(&a, 1, src, len, iw_mr_stag(mr), 0, 0), 0);
			assert_int_equal(end_send(&a, 2, NULL, 0, 0), 0);
			iw_disconnect(a.qp);
		}
		if (b.seen[IW_EV_PEER_CLOSED])
			iw_disconnect(b.qp);
	}
	assert_int_equal(a.fault.err, IW_OK);
	assert_int_equal(b.fault.err, IW_OK);
	assert_memory_equal(src, dst, len);
	free(src);
	free(dst);
}

static void descriptor_is_not_readable_without_work(void **state)
{
	int cq, ctx;

	(void)state;
	assert_int_equal(iw_post_recv(b.qp, 1, NULL, 0, NULL), 0);
	end_join(&a, &b);
	cq = iw_cq_fd(b.cq, &b.why);
	ctx = iw_ctx_fd(b.ctx, &b.why);
	end_run(&a, &b, 20);
	assert_false(readable(cq, 0));
	assert_false(readable(ctx, 0));
	/* Octets have arrived: */
	assert_int_equal(end_send(&a, 1, NULL, 0, 0), 0);
	end_step(&a, 0);
	assert_true(readable(cq, 5000));
	assert_true(readable(ctx, 5000));
	/* They became a completion: both descriptors stay readable until it is polled. */
	assert_int_equal(iw_progress(b.ctx, 0), 1);
	assert_true(readable(cq, 0));
	assert_true(readable(ctx, 0));
	assert_int_equal(iw_cq_poll(b.cq, b.wc, 1), 1);
	assert_false(readable(cq, 0));
	assert_false(readable(ctx, 0));
	/* Work was posted: */
	assert_int_equal(end_send(&b, 1, NULL, 0, IW_WR_UNSIGNALED), 0);
	assert_true(readable(cq, 0));
	assert_true(readable(ctx, 0));
	end_step(&b, 0);
	assert_false(readable(cq, 0));
}

static void completions_of_one_queue_do_not_signal_the_descriptor_of_another(void **state)
{
	struct iw_cq *other;
	int fd;

	(void)state;
	assert_int_equal(iw_cq_new(&other, b.ctx), 0);
	assert_int_equal(iw_post_recv(b.qp, 1, NULL, 0, NULL), 0);
	end_join(&a, &b);
	fd = iw_cq_fd(other, &b.why);
	assert_int_equal(end_send(&a, 1, NULL, 0, 0), 0);
	end_step(&a, 0);
	assert_true(readable(fd, 5000)); /* progress is possible */
	assert_int_equal(iw_progress(b.ctx, 0), 1);
	assert_false(readable(fd, 0)); /* and no completion is for this queue */
	assert_true(readable(iw_cq_fd(b.cq, &b.why), 0));
}

static void descriptor_is_readable_until_the_events_are_fetched(void **state)
{
	struct iw_async_event ev;
	int fd;

	(void)state;
	fd = iw_ctx_fd(a.ctx, &a.why);
	iw_abort(a.qp); /* never connected: CLOSED at once */
	assert_true(readable(fd, 0));
	assert_true(iw_next_event(a.ctx, &ev));
	assert_int_equal(ev.type, IW_EV_CLOSED);
	assert_false(readable(fd, 0));
	assert_false(iw_next_event(a.ctx, &ev));
}

static void descriptor_is_not_readable_for_work_of_a_freed_queue_pair(void **state)
{
	int fd;

	(void)state;
	end_join(&a, &b);
	fd = iw_ctx_fd(a.ctx, &a.why);
	end_run(&a, &b, 20);
	assert_int_equal(end_send(&a, 1, NULL, 0, 0), 0);
	iw_qp_free(a.qp);
	end_step(&a, 0);
	assert_false(readable(fd, 0));
}

static void deadlines_make_the_descriptor_readable(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .setup_ns = MS(100) };
	struct end silent;
	int fd;

	(void)state;
	end_open(&silent);
	end_listen_with(&silent, (struct conn_param){ 0 }); /* it makes no progress */
	end_close(&a);
	end_open_with(&a, &attr, 0, 0);
	fd = iw_ctx_fd(a.ctx, &a.why);
	end_connect_to(&a, "127.0.0.1", iw_listener_port(silent.listener),
		       (struct conn_param){ 0 });
	while (!a.seen[IW_EV_CLOSED]) {
		assert_true(readable(fd, 5000));
		end_step(&a, 0);
	}
	assert_int_equal(a.fault.err, IW_E_TIMEOUT);
	end_close(&silent);
}

static void descriptors_created_late_are_readable_for_pending_events(void **state)
{
	(void)state;
	assert_int_equal(iw_post_recv(b.qp, 1, NULL, 0, NULL), 0);
	end_join(&a, &b);
	assert_int_equal(end_send(&a, 1, NULL, 0, 0), 0);
	assert_true(readable(iw_cq_fd(a.cq, &a.why), 0)); /* posted, not sent */
	end_step(&a, 0);
	b.hold = true;
	end_until(&a, &b, iw_progress(b.ctx, 0) == 1);
	assert_true(readable(iw_cq_fd(b.cq, &b.why), 0));
	assert_true(readable(iw_ctx_fd(b.ctx, &b.why), 0));
}

/* ---------------------------------------------------------------- being woken */

static void descriptor_of_the_program_ends_the_wait_and_is_not_read(void **state)
{
	int p[2];
	double t;

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(iw_ctx_wake_fd(a.ctx, p[0], NULL), 0);
	t = end_clock();
	assert_int_equal(iw_cq_wait(a.cq, (int64_t)MS(30)), 0);
	assert_true(end_clock() - t >= 0.029);
	assert_int_equal(write(p[1], "x", 1), 1);
	t = end_clock();
	assert_int_equal(iw_cq_wait(a.cq, (int64_t)MS(10000)), 0);
	assert_int_equal(iw_progress(a.ctx, (int64_t)MS(10000)), 0);
	assert_int_equal(iw_cq_wait(a.cq, -1), 0);
	assert_true(end_clock() - t < 5);
	assert_true(readable(p[0], 0));
	/* Removed, without a replacement. */
	assert_int_equal(iw_ctx_wake_fd(a.ctx, -1, NULL), 0);
	t = end_clock();
	assert_int_equal(iw_cq_wait(a.cq, (int64_t)MS(30)), 0);
	assert_true(end_clock() - t >= 0.029);
	close(p[0]);
	close(p[1]);
}

static void descriptor_that_cannot_be_polled_is_refused(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), p[2];
	char path[] = "/tmp/iw-wake-XXXXXX";
	int file = mkstemp(path);

	(void)state;
	assert_true(file >= 0);
	unlink(path);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(iw_ctx_wake_fd(a.ctx, p[0], NULL), 0);
	assert_true(iw_ctx_wake_fd(a.ctx, file, NULL) < 0);
	assert_true(iw_ctx_wake_fd(a.ctx, 987654, NULL) < 0);
	/* The former descriptor is still in use. */
	assert_int_equal(write(p[1], "x", 1), 1);
	assert_int_equal(iw_cq_wait(a.cq, (int64_t)MS(10000)), 0);
	close(file);
	close(fd);
	close(p[0]);
	close(p[1]);
}

static void nothing(int signo)
{
	(void)signo;
}

static void signal_ends_the_wait(void **state)
{
	struct sigaction sa = { .sa_handler = nothing }, old;
	double t = end_clock();
	pid_t pid;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &sa, &old), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* Several, in case the first one arrives before the wait. */
		for (int i = 0; i < 50; i++) {
			usleep(20000);
			if (kill(getppid(), SIGUSR1) != 0)
				break;
		}
		_exit(0);
	}
	assert_int_equal(iw_cq_wait(a.cq, (int64_t)MS(60000)), 0);
	assert_true(end_clock() - t < 30);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	sigaction(SIGUSR1, &old, NULL);
}

/* ---------------------------------------------------------------- a single busy connection */

/* b has received twice in a row from its only connection, and waits for more. */
static void make_b_eager(unsigned *id)
{
	for (int i = 0; i < 3; i++) {
		assert_int_equal(iw_post_recv(b.qp, *id, NULL, 0, NULL), 0);
		assert_int_equal(end_send(&a, *id, NULL, 0, IW_WR_UNSIGNALED), 0);
		end_step(&a, 0);
		assert_int_equal(iw_cq_wait(b.cq, (int64_t)MS(5000)), 1);
		end_take(&b);
		assert_non_null(end_wc(&b, (*id)++));
	}
}

static void eager_wait_still_sees_new_connections(void **state)
{
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1" };
	unsigned id = 0;
	struct end c;
	double t;

	(void)state;
	end_open(&c);
	b.keep_requests = true;
	end_listen_with(&b, (struct conn_param){ 0 });
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener), (struct conn_param){ 0 });
	end_until(&a, &b, b.req);
	end_accept(&b);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	make_b_eager(&id);
	p.at.port = iw_listener_port(b.listener);
	assert_int_equal(iw_connect(c.qp, &p.at, &p.protocol, &c.why), 0);
	t = end_clock();
	while (!b.req) {
		end_step(&c, 0);
		(void)!iw_cq_wait(b.cq, (int64_t)MS(1000));
		end_take(&b);
	}
	assert_true(end_clock() - t < 0.5);
	end_close(&c);
}

static void eager_wait_is_woken_and_keeps_its_deadlines(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .stall_ns = MS(120) };
	char sink[8], source[8];
	struct iw_mr *mr, *from;
	unsigned id = 0;
	int p[2];
	double t;

	(void)state;
	end_close(&b);
	end_open_with(&b, &attr, 0, 0);
	end_join(&a, &b);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(iw_ctx_wake_fd(b.ctx, p[0], NULL), 0);
	make_b_eager(&id);
	/* The time-out of the wait: */
	t = end_clock();
	assert_int_equal(iw_cq_wait(b.cq, (int64_t)MS(30)), 0);
	assert_in_range((end_clock() - t) * 1e3, 29, 200);
	/* The program's descriptor: */
	make_b_eager(&id);
	assert_int_equal(write(p[1], "x", 1), 1);
	t = end_clock();
	assert_int_equal(iw_cq_wait(b.cq, (int64_t)MS(5000)), 0);
	assert_true(end_clock() - t < 0.5);
	assert_int_equal(iw_ctx_wake_fd(b.ctx, -1, NULL), 0);
	/* A deadline of the connection: the peer does not answer a Read. */
	mr = end_reg(&b, sink, sizeof(sink), IW_ACCESS_READ_SINK);
	from = end_reg(&a, source, sizeof(source), IW_ACCESS_REMOTE_READ);
	make_b_eager(&id);
	assert_int_equal(end_read(&b, 1000, mr, 0, 8, iw_mr_stag(from), 0), 0);
	t = end_clock();
	while (!b.seen[IW_EV_CLOSED]) {
		assert_true(iw_cq_wait(b.cq, -1) >= 0);
		end_take(&b);
	}
	assert_in_range((end_clock() - t) * 1e3, 119, 1000);
	assert_int_equal(b.fault.err, IW_E_TIMEOUT);
	close(p[0]);
	close(p[1]);
}

/* Everything that ends the eager mode, and programs that only poll. */
static void eager_wait_gives_way(void **state)
{
	const size_t len = 8000000;
	char *src = calloc(1, len), *dst = malloc(len);
	struct iw_qp *first;
	struct iw_mr *mr;
	unsigned id = 0;
	double limit;
	int fd;

	(void)state;
	assert_non_null(src);
	assert_non_null(dst);
	end_join(&a, &b);
	make_b_eager(&id);
	/* A program that only polls gets its messages. */
	assert_int_equal(iw_post_recv(b.qp, id, NULL, 0, NULL), 0);
	assert_int_equal(end_send(&a, id, NULL, 0, IW_WR_UNSIGNALED), 0);
	end_step(&a, 0);
	for (limit = end_clock() + 5; !end_wc(&b, id); end_take(&b))
		assert_true(end_clock() < limit);
	id++;
	/* Sending more than the socket accepts, to a slow peer, also ends the mode. */
	make_b_eager(&id);
	mr = end_reg(&a, dst, len, IW_ACCESS_REMOTE_WRITE);
	assert_int_equal(end_write(&b, 5000, src, len, iw_mr_stag(mr), 0, 0), 0);
	for (int i = 0; i < 3; i++)
		assert_true(iw_cq_wait(b.cq, (int64_t)MS(30)) >= 0);
	end_until(&a, &b, end_wc(&b, 5000));
	/* With a second connection, the first one is still served. */
	make_b_eager(&id);
	first = a.qp;
	a.qp = end_add_qp(&a, 1, 1);
	b.keep_requests = true;
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener), (struct conn_param){ 0 });
	end_until(&a, &b, b.req);
	a.qp = first;
	make_b_eager(&id);
	/* An event loop that is added later. */
	close_both(NULL);
	open_both(NULL);
	id = 0;
	end_join(&a, &b);
	make_b_eager(&id);
	fd = iw_cq_fd(b.cq, &b.why);
	assert_false(readable(fd, 20));
	assert_int_equal(iw_post_recv(b.qp, id, NULL, 0, NULL), 0);
	assert_int_equal(end_send(&a, id, NULL, 0, IW_WR_UNSIGNALED), 0);
	end_step(&a, 0);
	assert_true(readable(fd, 500)); /* and not by a deadline */
	free(src);
	free(dst);
}

static void eager_wait_sees_the_end(void **state)
{
	unsigned id = 0;

	(void)state;
	end_join(&a, &b);
	make_b_eager(&id);
	iw_disconnect(a.qp);
	end_step(&a, 0);
	assert_int_equal(iw_cq_wait(b.cq, (int64_t)MS(5000)), 1);
	end_take(&b);
	assert_int_equal(b.seen[IW_EV_PEER_CLOSED], 1);
}

/* ---------------------------------------------------------------- system calls */

/*
 * The system calls for one message: one send at one end. At the other end one receive, and one that
 * finds the socket empty when the queue is polled again.
 */
static void one_message_is_one_send_and_one_receive(void **state)
{
	struct iw_qp_info before, after;
	uint64_t received = 0;
	char buf[64];

	(void)state;
	end_join(&a, &b);
	for (unsigned i = 0; i <= 100; i++) {
		if (i == 1) {
			iw_qp_info(b.qp, &before);
			received = before.rx_sends;
			iw_qp_info(a.qp, &before);
		}
		assert_int_equal(iw_post_recv(b.qp, i, buf, sizeof(buf), NULL), 0);
		assert_int_equal(end_send(&a, i, "a message", 9, IW_WR_UNSIGNALED), 0);
		end_step(&a, 0);
		assert_int_equal(iw_cq_wait(b.cq, (int64_t)MS(5000)), 1);
		end_take(&b);
		assert_non_null(end_wc(&b, i));
	}
	iw_qp_info(a.qp, &after);
	assert_int_equal(after.tx_sends - before.tx_sends, 100);
	iw_qp_info(b.qp, &after);
	assert_in_range(after.rx_sends - received, 100, 200);
}

#define test(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(progress_waits_no_longer_than_asked),
		test(waits_below_a_millisecond_are_not_rounded_to_nothing),
		test(wait_ends_with_a_completion_and_is_not_disturbed_by_another_queues),
		test(spinning_wait_gets_its_completion_too),
		test(longest_spin_time_does_not_wrap),
		test(connection_lives_on_poll_alone),
		test(descriptor_is_not_readable_without_work),
		test(completions_of_one_queue_do_not_signal_the_descriptor_of_another),
		test(descriptor_is_readable_until_the_events_are_fetched),
		test(descriptor_is_not_readable_for_work_of_a_freed_queue_pair),
		test(deadlines_make_the_descriptor_readable),
		test(descriptors_created_late_are_readable_for_pending_events),
		test(descriptor_of_the_program_ends_the_wait_and_is_not_read),
		test(descriptor_that_cannot_be_polled_is_refused),
		test(signal_ends_the_wait),
		test(eager_wait_still_sees_new_connections),
		test(eager_wait_is_woken_and_keeps_its_deadlines),
		test(eager_wait_gives_way),
		test(eager_wait_sees_the_end),
		test(one_message_is_one_send_and_one_receive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
