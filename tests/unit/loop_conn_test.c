// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop over a transport of two joined sockets that a test controls: it accepts fewer octets,
 * runs out of memory, fails, or never connects.
 */
#include "loop/loop.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "counting_mem.h"
#include "ddp/stag.h"
#include "loop/internal.h"
#include "os/os.h"
#include "rdmap/rdmap.h"
#include "util/num.h"
#include "util/text.h"

/* ---------------------------------------------------------------- the transport */

struct fake {
	struct iw_stream llp;
	size_t take_at_most;  /* a send accepts at most this many; 0: no limit */
	bool again_next_time; /* every second send finds the socket full */
	unsigned nomem;       /* this many sends fail for lack of memory */
	bool send_fails;
	bool full; /* a send accepts nothing */
	/* octets not acknowledged; reduced by the second number at each query */
	uint64_t unacked, drains;
	bool flood; /* a receive always fills the whole buffer */
	unsigned sends, recvs, tries;
	int next_fd; /* of the next connect; -1: it fails */
	bool connects, next_connects;
	bool holding;
	unsigned holds, sends_held;
	bool *closed, *aborted;
};

static struct fake *fake_of(struct iw_stream *l)
{
	return iw_container_of(l, struct fake, llp);
}

static int64_t fake_recv(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			 struct iw_fault *why)
{
	struct fake *f = fake_of(l);
	size_t sum = 0;
	ssize_t got;

	f->recvs++;
	if (f->flood) {
		for (size_t i = 0; i < nvec; i++) {
			memset(vec[i].base, 0, vec[i].len);
			sum += vec[i].len;
		}
		return (int64_t)sum;
	}
	got = recv(l->fd, vec[0].base, vec[0].len, MSG_DONTWAIT);
	if (got < 0 && errno == EAGAIN)
		return IW_E_AGAIN;
	return got < 0 ? iw_fail(why, IW_E_CLOSED, "fake: receive") : got;
}

static int64_t fake_send(struct iw_stream *l, const struct iw_vec *vec, size_t nvec, bool eor,
			 struct iw_fault *why)
{
	struct fake *f = fake_of(l);
	int64_t sum = 0;

	(void)eor;
	f->sends++;
	f->sends_held += f->holding;
	if (f->nomem) {
		f->nomem--;
		return iw_fail(why, IW_E_NOMEM, "fake: no memory");
	}
	if (f->send_fails)
		return iw_fail(why, IW_E_CLOSED, "fake: send failed");
	if (f->full)
		return IW_E_AGAIN;
	if (f->take_at_most) {
		f->again_next_time = !f->again_next_time;
		if (!f->again_next_time)
			return IW_E_AGAIN;
	}
	for (size_t i = 0; i < nvec; i++) {
		size_t len = vec[i].len;
		ssize_t put;

		if (f->take_at_most)
			len = IW_MIN(len, f->take_at_most - (size_t)sum);
		put = send(l->fd, vec[i].base, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (put < 0)
			return sum               ? sum
			       : errno == EAGAIN ? IW_E_AGAIN
						 : iw_fail(why, IW_E_CLOSED, "fake: send");
		sum += put;
		if ((size_t)put < vec[i].len)
			break;
	}
	return sum;
}

static int fake_hold_short(struct iw_stream *l, bool on, struct iw_fault *why)
{
	struct fake *f = fake_of(l);

	(void)why;
	assert_int_not_equal(f->holding, on);
	f->holding = on;
	f->holds++;
	return 0;
}

static uint64_t fake_unacked(struct iw_stream *l)
{
	struct fake *f = fake_of(l);

	f->unacked -= f->unacked > 0 ? f->drains : 0;
	return f->unacked;
}

static int fake_shutdown(struct iw_stream *l, struct iw_fault *why)
{
	(void)why;
	shutdown(l->fd, SHUT_WR);
	return 0;
}

static void fake_refresh(struct iw_stream *l)
{
	(void)l;
}

static int fake_connected(struct iw_stream *l, struct iw_fault *why)
{
	(void)why;
	return fake_of(l)->connects ? 0 : IW_E_AGAIN;
}

static int fake_try_next(struct iw_stream *l, struct iw_fault *why)
{
	struct fake *f = fake_of(l);

	f->tries++;
	close(l->fd);
	l->fd = f->next_fd;
	l->untried = 0;
	f->connects = f->next_connects;
	return l->fd < 0 ? iw_fail(why, IW_E_OS, "fake: no other address") : IW_E_AGAIN;
}

static int fake_no_answer(struct iw_stream *l, uint64_t waited, struct iw_fault *why)
{
	(void)waited;
	return iw_fail(why, IW_E_TIMEOUT, "connect to %s: no answer", l->peer);
}

static void fake_close(struct iw_stream *l, bool abort)
{
	struct fake *f = fake_of(l);

	if (l->fd >= 0)
		close(l->fd);
	if (f->closed)
		*f->closed = true;
	if (f->aborted)
		*f->aborted = abort;
	free(f);
}

static const struct iw_stream_ops fake_ops = {
	.name = "fake",
	.recv = fake_recv,
	.send = fake_send,
	.hold_short = fake_hold_short,
	.unacked = fake_unacked,
	.shutdown = fake_shutdown,
	.refresh = fake_refresh,
	.connected = fake_connected,
	.try_next = fake_try_next,
	.no_answer = fake_no_answer,
	.close = fake_close,
};

static struct fake *fake_new(int fd)
{
	struct fake *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->llp.ops = &fake_ops;
	f->llp.fd = fd;
	f->next_fd = -1;
	snprintf(f->llp.peer, sizeof(f->llp.peer), "a fake peer");
	return f;
}

static void join(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
}

/* ---------------------------------------------------------------- two ends in one loop */

struct side {
	struct iw_rdmap *rdmap;
	struct iw_conn *conn;
	struct iw_loop_conn *link;
	struct fake *fake;
	bool established, closed, peer_closed;
	struct iw_fault fault;
	unsigned completed, failed;
};

static struct counting_mem mem;
static struct iw_loop *loop;
static struct iw_stag_table *stags;
static struct side a, b; /* a initiates */
static uint64_t setup_ns, stall_ns;

static int fixed_random(void *ctx, void *buf, size_t len)
{
	(void)ctx;
	return iw_os_random(buf, len);
}

static int open_loop(void **state)
{
	struct iw_fault why;

	(void)state;
	counting_mem_init(&mem);
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	setup_ns = stall_ns = IW_SEC(5);
	assert_int_equal(iw_loop_new(&loop, &mem.mem, &why), 0);
	assert_int_equal(iw_stag_table_new(&stags, &mem.mem, fixed_random, NULL), 0);
	return 0;
}

static void side_free(struct side *s)
{
	iw_loop_conn_free(s->link, true);
	iw_conn_free(s->conn);
	iw_rdmap_free(s->rdmap);
	memset(s, 0, sizeof(*s));
}

static int close_loop(void **state)
{
	(void)state;
	side_free(&a);
	side_free(&b);
	iw_stag_table_free(stags);
	iw_loop_free(loop);
	assert_int_equal(mem.blocks, 0);
	assert_int_equal(mem.wrong_size, 0);
	return 0;
}

static void side_open(struct side *s, uint32_t stream)
{
	struct iw_rdmap_cfg cfg = { .mem = &mem.mem,
				    .stags = stags,
				    .pd = 1,
				    .stream = stream,
				    .sq_depth = 64,
				    .rq_depth = 8 };
	struct iw_fault why;

	assert_int_equal(iw_rdmap_new(&s->rdmap, &cfg, &why), 0);
}

static void side_link(struct side *s, int fd, bool initiator, bool connecting)
{
	struct iw_conn_cfg cfg = {
		.mem = &mem.mem,
		.txbufs = iw_loop_txbufs(loop),
		.mpa = { .spill = iw_loop_spill(loop),
			 .initiator = initiator,
			 .rev = 2,
			 .offer.rtr = 7,
			 .offer.ird = 4,
			 .offer.ord = 4,
			 .timeout_ns = setup_ns },
		.rdmap = initiator ? s->rdmap : NULL,
		.decide_ns = setup_ns,
		.stall_ns = stall_ns,
	};
	struct iw_fault why;

	s->fake = fake_new(fd);
	if (connecting)
		s->fake->llp.untried = 1;
	assert_int_equal(iw_conn_new(&s->conn, &cfg, iw_os_now(), &why), 0);
	assert_int_equal(
		iw_loop_stream_new(&s->link, loop, &s->fake->llp, s->conn, s, connecting, &why), 0);
	assert_ptr_equal(iw_loop_conn_owner(s->link), s);
}

static void take_news(void)
{
	struct iw_completion c;
	struct iw_fault why;
	struct iw_event ev;
	struct iw_loop_conn *k;

	while ((k = iw_loop_next_conn(loop))) {
		struct side *s = iw_loop_conn_owner(k);

		while (iw_conn_next_event(s->conn, &ev)) {
			s->established |= ev.type == IW_EVENT_ESTABLISHED;
			s->peer_closed |= ev.type == IW_EVENT_PEER_CLOSED;
			if (ev.type == IW_EVENT_REQUEST) {
				assert_int_equal(iw_conn_accept(s->conn, s->rdmap, 4, 4, NULL, 0,
								iw_os_now(), &why),
						 0);
				iw_loop_conn_kick(k);
			}
			if (ev.type == IW_EVENT_CLOSED) {
				s->closed = true;
				s->fault = ev.fault;
			}
		}
		while (iw_rdmap_next_completion(s->rdmap, &c)) {
			s->completed++;
			s->failed += c.status != 0;
		}
	}
}

static void turn(uint64_t wait_ns)
{
	struct iw_fault why;

	iw_loop_flush(loop);
	take_news();
	if (iw_loop_wait(loop, wait_ns ? iw_os_now() + wait_ns : 0, &why) < 0)
		fail_msg("%s", why.text);
	take_news();
}

#define until(cond)                                                                                \
	do {                                                                                       \
		uint64_t limit_ = iw_os_now() + IW_SEC(10);                                        \
		while (!(cond)) {                                                                  \
			assert_true(iw_os_now() < limit_);                                         \
			turn(IW_MSEC(1));                                                          \
		}                                                                                  \
	} while (0)

static void establish(void)
{
	int fd[2];

	join(fd);
	side_open(&a, 1);
	side_open(&b, 2);
	side_link(&a, fd[0], true, false);
	side_link(&b, fd[1], false, false);
	until(a.established && b.established);
}

static uint32_t region(void *p, size_t len)
{
	struct iw_region r = { .rights = IW_RIGHT_REMOTE_WRITE,
			       .pd = 1,
			       .base = p,
			       .len = len,
			       .expires = IW_TIME_NEVER,
			       .uses = UINT32_MAX };
	uint32_t stag;

	assert_int_equal(iw_stag_add(stags, &r, &stag, NULL), 0);
	return stag;
}

static void write_to(struct side *s, uint32_t stag, const void *p, size_t len)
{
	struct iw_op op = { .kind = IW_OPK_WRITE,
			    .sge = { { (void *)(uintptr_t)p, len } },
			    .nsge = 1,
			    .remote_stag = stag };

	assert_int_equal(iw_rdmap_post(s->rdmap, &op, iw_os_now()), 0);
	iw_loop_conn_kick(s->link);
}

/* ---------------------------------------------------------------- tests */

static void transport_that_accepts_little_gets_everything(void **state)
{
	const size_t len = 100000;
	unsigned char *src = malloc(len), *dst = calloc(1, len);

	(void)state;
	assert_non_null(src);
	assert_non_null(dst);
	for (size_t i = 0; i < len; i++)
		src[i] = (unsigned char)(i ^ i >> 8);
	establish();
	a.fake->take_at_most = 37;
	write_to(&a, region(dst, len), src, len);
	until(a.completed == 1 && memcmp(src, dst, len) == 0);
	assert_int_equal(a.failed, 0);
	assert_true(a.fake->sends > len / 37);
	free(src);
	free(dst);
}

/* MPA-25: FPDUs that are cut off for lack of space must not become a short segment */
static void short_segments_are_held_while_much_output_is_queued(void **state)
{
	const size_t len = 1000000;
	unsigned char *src = calloc(1, len), *dst = malloc(len);

	(void)state;
	assert_non_null(src);
	assert_non_null(dst);
	establish();
	write_to(&a, region(dst, len), src, 100);
	until(a.completed == 1);
	assert_int_equal(a.fake->holds, 0); /* not worth a system call */
	a.fake->sends = 0;
	write_to(&a, region(dst, len), src, len);
	until(a.completed == 2 && memcmp(src, dst, len) == 0);
	assert_int_equal(a.fake->holds, 2); /* corking is switched on and off */
	assert_false(a.fake->holding);
	assert_int_equal(a.fake->sends_held, a.fake->sends);
	free(src);
	free(dst);
}

static void transport_without_memory_is_retried_later(void **state)
{
	unsigned char dst[4] = { 0 };
	uint64_t begun;

	(void)state;
	establish();
	a.fake->nomem = 3;
	a.fake->sends = 0;
	begun = iw_os_now();
	write_to(&a, region(dst, sizeof(dst)), "abc", 4);
	until(memcmp(dst, "abc", 4) == 0);
	assert_int_equal(a.fake->sends, 4);
	assert_true(iw_os_now() - begun >= IW_MSEC(30));
	assert_false(a.closed);
}

/* A large buffer stays full for a long time on a slow link, although the peer reads all the
 * time. */
static void full_socket_whose_octets_are_acknowledged_has_not_stalled(void **state)
{
	unsigned char dst[4] = { 0 };
	uint64_t end;

	(void)state;
	stall_ns = IW_MSEC(100);
	establish();
	a.fake->full = true;
	a.fake->unacked = UINT64_C(1) << 40;
	a.fake->drains = 1;
	write_to(&a, region(dst, sizeof(dst)), "abc", 4);
	end = iw_os_now() + IW_MSEC(350);
	until(iw_os_now() >= end);
	assert_false(a.closed);
	a.fake->drains = 0;
	until(a.closed);
	assert_int_equal(a.fault.err, IW_E_TIMEOUT);
}

/* RDMAP-39, RDMAP-37: the reported reason is the peer's Terminate, not the failure of the socket */
static void terminate_received_before_a_socket_broke_is_read(void **state)
{
	(void)state;
	establish();
	write_to(&a, 0xbad0bad0, "x", 1);
	until(b.fault.err || iw_conn_state(b.conn) == IW_CONN_FIN_SENT || b.closed);
	/* a has not read it yet. Its next send fails. */
	assert_false(a.closed);
	a.fake->send_fails = true;
	write_to(&a, 0xbad0bad0, "y", 1);
	until(a.closed);
	assert_true(a.fault.from_peer);
	assert_int_equal(a.fault.err, IW_E_PEER_TERMINATE);
}

static void broken_socket_without_input_reports_its_error(void **state)
{
	(void)state;
	establish();
	a.fake->send_fails = true;
	write_to(&a, 1, "x", 1);
	turn(IW_MSEC(1));
	/* Only the end of the stream shows it. */
	shutdown(b.fake->llp.fd, SHUT_RDWR);
	until(a.closed);
	assert_int_equal(a.fault.err, IW_E_CLOSED);
	assert_string_equal(a.fault.text, "fake: send failed");
	assert_int_equal(a.failed, 1);
}

/*
 * A hang-up is reported whatever events are requested. While nothing may be read, it must not cause
 * a busy loop.
 */
static void hang_up_without_input_causes_no_busy_loop(void **state)
{
	struct iw_event ev;
	struct iw_loop_conn *k;
	uint64_t begun;
	unsigned turns = 0;
	int fd[2];

	(void)state;
	setup_ns = IW_MSEC(150);
	join(fd);
	side_open(&a, 1);
	side_open(&b, 2);
	side_link(&a, fd[0], true, false);
	side_link(&b, fd[1], false, false);
	/* Up to the ULP's decision, which is not made. */
	for (bool asked = false; !asked;) {
		iw_loop_flush(loop);
		assert_true(iw_loop_wait(loop, iw_os_now() + IW_MSEC(5), NULL) >= 0);
		while ((k = iw_loop_next_conn(loop)))
			while (iw_conn_next_event(((struct side *)iw_loop_conn_owner(k))->conn,
						  &ev))
				asked |= ev.type == IW_EVENT_REQUEST;
	}
	side_free(&a); /* closes the peer's end */
	begun = iw_os_now();
	until((turns++, b.closed));
	assert_true(iw_os_now() - begun > IW_MSEC(100));
	assert_true(turns < 400); /* of 1 ms each */
	assert_int_equal(b.fault.err, IW_E_TIMEOUT);
}

static void address_that_does_not_answer_shares_its_time_with_the_next(void **state)
{
	int black_hole[2], fd[2];
	uint64_t begun = iw_os_now();

	(void)state;
	setup_ns = IW_SEC(2);
	join(black_hole);
	join(fd);
	side_open(&a, 1);
	side_open(&b, 2);
	side_link(&a, black_hole[0], true, true);
	a.fake->next_fd = fd[0];
	a.fake->next_connects = true;
	side_link(&b, fd[1], false, false);
	until(a.established && b.established);
	assert_int_equal(a.fake->tries, 1);
	assert_in_range(iw_os_now() - begun, IW_MSEC(990), IW_MSEC(1900));
	close(black_hole[1]);
}

static void no_address_that_answers_is_a_time_out(void **state)
{
	int black_hole[2], second[2];
	uint64_t begun = iw_os_now();

	(void)state;
	setup_ns = IW_MSEC(600);
	join(black_hole);
	join(second);
	side_open(&a, 1);
	side_link(&a, black_hole[0], true, true);
	a.fake->next_fd = second[0];
	until(a.closed);
	assert_int_equal(a.fake->tries, 1);
	assert_int_equal(a.fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(a.fault.text, "a fake peer"));
	assert_true(iw_os_now() - begun >= IW_MSEC(599));
	close(black_hole[1]);
	close(second[1]);
}

/* A connection with endless input has a budget; the others get their turn. */
static void flooded_connection_does_not_delay_the_others(void **state)
{
	struct side c = { 0 }, d = { 0 };
	unsigned char dst[4] = { 0 };
	int fd[2];

	(void)state;
	establish();
	join(fd);
	side_open(&c, 3);
	side_open(&d, 4);
	side_link(&c, fd[0], true, false);
	side_link(&d, fd[1], false, false);
	until(c.established && d.established);
	/* d refuses a Write and drains its input, which never ends. */
	write_to(&c, 0xbad0bad0, "x", 1);
	until(iw_conn_state(d.conn) == IW_CONN_FIN_SENT);
	d.fake->flood = true;
	d.fake->recvs = 0;
	assert_int_equal(write(fd[0], "x", 1), 1); /* unread octets keep it readable */
	write_to(&a, region(dst, sizeof(dst)), "abc", 4);
	for (int i = 0; i < 50 && memcmp(dst, "abc", 4) != 0; i++) {
		unsigned before = d.fake->recvs;

		turn(0);
		assert_true(d.fake->recvs - before <= 8);
	}
	assert_true(d.fake->recvs > 0);
	assert_memory_equal(dst, "abc", 4);
	side_free(&c);
	side_free(&d);
}

/* The loop polls for more input only while little data moves. */
static void octets_in_both_directions_count_as_moved_data(void **state)
{
	static unsigned char src[3000] = { 1 }, dst[sizeof(src)];

	(void)state;
	establish();
	loop->near.octets = 0;
	write_to(&a, region(dst, sizeof(dst)), src, sizeof(src));
	for (int i = 0; i < 50 && memcmp(dst, src, sizeof(src)) != 0; i++)
		turn(0);
	assert_memory_equal(dst, src, sizeof(src));
	assert_in_range(loop->near.octets, 2 * sizeof(src), 3 * sizeof(src));
}

static void transport_is_closed_or_aborted_with_its_connection(void **state)
{
	(void)state;
	for (int abort = 0; abort < 2; abort++) {
		bool closed = false, aborted = !abort;

		establish();
		a.fake->closed = &closed;
		a.fake->aborted = &aborted;
		iw_loop_conn_free(a.link, abort);
		a.link = NULL;
		assert_true(closed);
		assert_int_equal(aborted, abort);
		until(b.closed || b.peer_closed);
		side_free(&a);
		side_free(&b);
	}
}

static void lack_of_memory_leaks_nothing(void **state)
{
	struct iw_conn_cfg cfg = { .mem = &mem.mem,
				   .mpa = { .initiator = true,
					    .rev = 2,
					    .offer.rtr = 7,
					    .offer.ird = 1,
					    .offer.ord = 1 } };
	struct iw_fault why;
	size_t blocks, n;
	int err;

	(void)state;
	for (n = 1;; n++) {
		struct iw_loop *l;

		mem.calls = 0;
		mem.fail_from = n;
		blocks = mem.blocks;
		err = iw_loop_new(&l, &mem.mem, &why);
		mem.fail_from = 0;
		if (!err) {
			iw_loop_free(l);
			break;
		}
		assert_int_equal(err, IW_E_NOMEM);
		assert_int_equal(mem.blocks, blocks);
	}
	assert_true(n > 1);
	cfg.txbufs = iw_loop_txbufs(loop);
	cfg.mpa.spill = iw_loop_spill(loop);
	assert_int_equal(iw_conn_new(&a.conn, &cfg, iw_os_now(), &why), 0);
	for (n = 1;; n++) {
		bool closed = false;
		struct fake *f;
		struct iw_loop_conn *k;
		int fd[2];

		join(fd);
		f = fake_new(fd[0]);
		f->closed = &closed;
		mem.calls = 0;
		mem.fail_from = n;
		blocks = mem.blocks;
		err = iw_loop_stream_new(&k, loop, &f->llp, a.conn, NULL, false, &why);
		mem.fail_from = 0;
		close(fd[1]);
		if (!err) {
			iw_loop_conn_free(k, true);
			break;
		}
		assert_int_equal(err, IW_E_NOMEM);
		assert_true(closed); /* the loop owned the descriptor and closed it */
		assert_int_equal(mem.blocks, blocks);
	}
	assert_true(n > 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, open_loop, close_loop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(transport_that_accepts_little_gets_everything),
		test(short_segments_are_held_while_much_output_is_queued),
		test(transport_without_memory_is_retried_later),
		test(full_socket_whose_octets_are_acknowledged_has_not_stalled),
		test(terminate_received_before_a_socket_broke_is_read),
		test(broken_socket_without_input_reports_its_error),
		test(hang_up_without_input_causes_no_busy_loop),
		test(address_that_does_not_answer_shares_its_time_with_the_next),
		test(no_address_that_answers_is_a_time_out),
		test(flooded_connection_does_not_delay_the_others),
		test(octets_in_both_directions_count_as_moved_data),
		test(transport_is_closed_or_aborted_with_its_connection),
		test(lack_of_memory_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
