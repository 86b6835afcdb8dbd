// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where the loop waits for a port of a message transport: in epoll, or in the port itself. */
#include "loop/loop.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "counting_mem.h"
#include "loop/internal.h"
#include "os/os.h"
#include "sctpmap/session.h"
#include "sctpmap/unused.h"
#include "util/num.h"
#include "wire/sctpddp.h"

struct fake {
	struct iw_port port;
	struct iw_assoc assoc; /* created by connect */
	bool asked;            /* its shutdown was requested */
	bool down;             /* its end is not reported yet */
	/* The peer confirms after the shutdown of this association was requested. NULL: the peer is
	 * unreachable. */
	const struct fake *waits_for;
	int peer; /* octets written there arrive at the port */
	unsigned inputs, waits, outputs;
	bool full;      /* the port must become writable first */
	bool interrupt; /* a signal interrupts the next wait in the port */
	unsigned sent;
};

static struct fake *fake_of(struct iw_port *p)
{
	return iw_container_of(p, struct fake, port);
}

static int take(struct fake *f, int flags)
{
	char octet;

	if (recv(f->port.fd, &octet, 1, flags) == 1)
		return 1;
	return errno == EAGAIN ? IW_E_AGAIN : IW_E_OS;
}

static int fake_input(struct iw_port *p, uint64_t now, struct iw_fault *why)
{
	int got = take(fake_of(p), MSG_DONTWAIT);

	(void)now;
	(void)why;
	fake_of(p)->inputs++;
	return got == IW_E_AGAIN ? 0 : got;
}

static int fake_input_wait(struct iw_port *p, uint64_t *now, struct iw_fault *why)
{
	struct fake *f = fake_of(p);

	(void)why;
	f->waits++;
	*now = iw_os_now();
	if (f->interrupt) {
		f->interrupt = false;
		return IW_E_CANCELED;
	}
	return take(f, MSG_DONTWAIT);
}

static bool fake_next_msg(struct iw_port *p, struct iw_port_msg *out)
{
	(void)p;
	(void)out;
	return false;
}

static bool fake_next_event(struct iw_port *p, struct iw_assoc_event *out)
{
	(void)p;
	(void)out;
	return false;
}

static int fake_output(struct iw_port *p, uint64_t now)
{
	(void)now;
	fake_of(p)->outputs++;
	return fake_of(p)->full ? IW_E_AGAIN : 0;
}

static uint64_t fake_deadline(struct iw_port *p)
{
	(void)p;
	return IW_TIME_NEVER;
}

static void fake_timeout(struct iw_port *p, uint64_t now)
{
	(void)p;
	(void)now;
}

static void fake_close(struct iw_port *p)
{
	close(p->fd);
}

static int fake_connect(struct iw_port *p, struct iw_assoc **out, uint64_t now,
			struct iw_fault *why)
{
	struct fake *f = fake_of(p);

	(void)now;
	(void)why;
	f->assoc =
		(struct iw_assoc){ .port = p, .up = true, .in = 1, .out = 1, .max_message = 1000 };
	*out = &f->assoc;
	return 0;
}

static void fake_shutdown(struct iw_assoc *a, uint64_t now)
{
	(void)now;
	fake_of(a->port)->asked = true;
}

static void fake_abort(struct iw_assoc *a, const char *reason, uint64_t now)
{
	(void)reason;
	(void)now;
	a->up = false;
}

static void fake_release(struct iw_assoc *a)
{
	a->port = NULL;
}

/* The peer confirms only after the shutdown of another association has begun too. */
static void parting_timeout(struct iw_port *p, uint64_t now)
{
	struct fake *f = fake_of(p);

	(void)now;
	f->down = f->assoc.up && f->asked && f->waits_for && f->waits_for->asked;
}

static bool parting_next_event(struct iw_port *p, struct iw_assoc_event *out)
{
	struct fake *f = fake_of(p);

	if (!f->down)
		return false;
	f->down = f->assoc.up = false;
	*out = (struct iw_assoc_event){ .what = IW_ASSOC_DOWN, .assoc = &f->assoc };
	return true;
}

static int fake_send(struct iw_assoc *a, const struct iw_port_out *m, uint64_t now)
{
	(void)m;
	(void)now;
	fake_of(a->port)->sent++;
	return 0;
}

static const struct iw_port_ops parting_ops = {
	.name = "udp",
	.connect = fake_connect,
	.input = fake_input,
	.next_msg = fake_next_msg,
	.next_event = parting_next_event,
	.send = fake_send,
	.output = fake_output,
	.deadline = fake_deadline,
	.timeout = parting_timeout,
	.shutdown = fake_shutdown,
	.abort = fake_abort,
	.release = fake_release,
	.close = fake_close,
};

static const struct iw_port_ops ops = {
	.name = "udp",
	.input = fake_input,
	.input_wait = fake_input_wait,
	.next_msg = fake_next_msg,
	.next_event = fake_next_event,
	.output = fake_output,
	.deadline = fake_deadline,
	.timeout = fake_timeout,
	.close = fake_close,
};

/*
 * A listener's port: an association comes up, and messages arrive on its stream 0, each after an
 * octet at the port.
 */
enum { COMING = 8 };
static struct {
	bool up, down;
	unsigned n, at;
	struct {
		uint32_t ppid;
		uint8_t data[600];
		size_t len;
	} msg[COMING];
	size_t held;
	unsigned told;
} coming;

static bool coming_next_msg(struct iw_port *p, struct iw_port_msg *out)
{
	struct fake *f = fake_of(p);

	if (!f->assoc.user || coming.at == coming.n)
		return false;
	*out = (struct iw_port_msg){ .assoc = &f->assoc,
				     .ppid = coming.msg[coming.at].ppid,
				     .data = coming.msg[coming.at].data,
				     .len = coming.msg[coming.at].len };
	coming.at++;
	return true;
}

static bool coming_next_event(struct iw_port *p, struct iw_assoc_event *out)
{
	struct fake *f = fake_of(p);

	if (coming.down) {
		coming.down = f->assoc.up = false;
		*out = (struct iw_assoc_event){ .what = IW_ASSOC_DOWN, .assoc = &f->assoc };
		return true;
	}
	if (!coming.up)
		return false;
	coming.up = false;
	f->assoc = (struct iw_assoc){ .port = p,
				      .up = true,
				      .indicated = true,
				      .adaptation = IW_SCTP_ADAPTATION_DDP,
				      .in = 1,
				      .out = 1,
				      .max_message = 1000 };
	*out = (struct iw_assoc_event){ .what = IW_ASSOC_UP, .assoc = &f->assoc };
	return true;
}

static int coming_send(struct iw_assoc *a, const struct iw_port_out *m, uint64_t now)
{
	(void)a;
	(void)m;
	(void)now;
	return 0;
}

static void coming_held(struct iw_assoc *a, size_t octets)
{
	(void)a;
	coming.held = octets;
	coming.told++;
}

static void coming_segment(uint16_t ssn)
{
	uint8_t *to = coming.msg[coming.n].data;

	coming.msg[coming.n].ppid = IW_SCTP_PPID_SEGMENT;
	coming.msg[coming.n].len = sizeof(coming.msg[0].data);
	assert_int_equal(iw_wire_sctp_segment_encode(to, sizeof(coming.msg[0].data), ssn), 2);
	coming.n++;
}

static const struct iw_port_ops coming_ops = {
	.name = "udp",
	.input = fake_input,
	.next_msg = coming_next_msg,
	.next_event = coming_next_event,
	.send = coming_send,
	.held = coming_held,
	.output = fake_output,
	.deadline = fake_deadline,
	.timeout = fake_timeout,
	.shutdown = fake_shutdown,
	.abort = fake_abort,
	.release = fake_release,
	.close = fake_close,
};

static struct counting_mem mem;
static struct iw_loop *loop;

static struct iw_loop_listener *listen_on(struct fake *f)
{
	static const struct iw_sctpmap_cfg cfg = { .streams = 1 };
	struct iw_loop_listener *g;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	*f = (struct fake){ .port = { .ops = &ops, .fd = fd[0], .waits = true }, .peer = fd[1] };
	assert_int_equal(iw_loop_listener_new_port(&g, loop, &f->port, &cfg, NULL, NULL), 0);
	return g;
}

static void stop(struct fake *f, struct iw_loop_listener *g)
{
	iw_loop_listener_free(g);
	iw_loop_flush(loop);
	close(f->peer);
}

static int arrive(struct fake *f)
{
	assert_int_equal(write(f->peer, "", 1), 1);
	return iw_loop_wait(loop, iw_os_now() + IW_SEC(1), NULL);
}

/* Everything else is polled each ms, so on a slow machine epoll is polled in between. */
static void until_it_waits_there(struct fake *f)
{
	unsigned before = f->waits;

	for (int i = 0; i < 10000 && f->waits == before; i++)
		assert_int_equal(arrive(f), 0);
	assert_true(f->waits > before);
}

static int set_up(void **state)
{
	int err;

	(void)state;
	counting_mem_init(&mem);
	err = iw_loop_new(&loop, &mem.mem, NULL);
	/* Input that is there already would end each wait while it polls. */
	if (!err)
		loop->near.allowed = false;
	return err;
}

static int tear_down(void **state)
{
	(void)state;
	iw_loop_free(loop);
	return mem.blocks == 0 && mem.wrong_size == 0 ? 0 : -1;
}

static void a_sole_port_is_waited_for_directly_and_answers_at_once(void **state)
{
	struct fake f;
	struct iw_loop_listener *g = listen_on(&f);
	unsigned arrivals;

	(void)state;
	until_it_waits_there(&f);
	arrivals = f.inputs + f.waits;
	assert_true(f.outputs >= arrivals);
	stop(&f, g);
}

static void a_full_port_is_polled_with_epoll(void **state)
{
	struct fake f;
	struct iw_loop_listener *g = listen_on(&f);
	unsigned waits;

	(void)state;
	until_it_waits_there(&f);
	f.full = true;
	assert_int_equal(arrive(&f), 0);
	waits = f.waits;
	for (int i = 0; i < 100; i++)
		assert_int_equal(arrive(&f), 0);
	assert_int_equal(f.waits, waits);
	f.full = false;
	until_it_waits_there(&f);
	stop(&f, g);
}

static void with_two_ports_neither_delays_the_other(void **state)
{
	struct fake one, two;
	struct iw_loop_listener *g = listen_on(&one), *h;
	unsigned waits;

	(void)state;
	until_it_waits_there(&one);
	h = listen_on(&two);
	waits = one.waits;
	for (int i = 0; i < 100; i++) {
		unsigned before = two.inputs;

		assert_int_equal(arrive(&one), 0);
		while (two.inputs == before)
			assert_int_equal(arrive(&two), 0);
	}
	assert_int_equal(one.waits + two.waits, waits);
	stop(&two, h);
	until_it_waits_there(&one);
	stop(&one, g);
}

/*
 * After short waits, waits for input that does not arrive. Returns how often the loop asked for it in
 * the port. A busy machine can make waits long, so that the loop does not poll.
 */
static unsigned asks_in_port(struct fake *f, int short_waits)
{
	unsigned before;

	for (int i = 0; i < short_waits; i++)
		assert_int_equal(arrive(f), 0);
	before = f->inputs;
	assert_int_equal(iw_loop_wait(loop, iw_os_now() + IW_MSEC(25), NULL), 0);
	return f->inputs - before;
}

static void after_short_waits_a_sole_port_is_polled_before_the_wait_in_it(void **state)
{
	uint64_t limit = iw_os_now() + IW_SEC(10);
	struct iw_loop_listener *g;
	unsigned waits, asks;
	struct fake f;

	(void)state;
	g = listen_on(&f);
	until_it_waits_there(&f);
	assert_int_equal(asks_in_port(&f, 100), 0);
	loop->near.allowed = true;
	do {
		assert_true(iw_os_now() < limit);
		loop->near.skip = 0;
		waits = f.waits;
		asks = asks_in_port(&f, 100);
	} while (asks < 3 || f.waits == waits);
	/* That poll was unsuccessful. */
	assert_true(loop->near.skip > 0);
	assert_int_equal(asks_in_port(&f, 0), 0);
	stop(&f, g);
}

static void after_short_waits_several_ports_are_polled_with_epoll(void **state)
{
	uint64_t limit = iw_os_now() + IW_SEC(10);
	struct iw_loop_listener *g[2];
	struct fake one, two;
	uint64_t before;

	(void)state;
	g[0] = listen_on(&one);
	g[1] = listen_on(&two);
	loop->near.allowed = true;
	do {
		assert_true(iw_os_now() < limit);
		loop->near.skip = 0;
		for (int i = 0; i < 10; i++)
			assert_int_equal(arrive(&one), 0);
		before = iw_loop_waits(loop);
		assert_int_equal(iw_loop_wait(loop, iw_os_now() + IW_MSEC(1), NULL), 0);
	} while (iw_loop_waits(loop) - before < 4);
	assert_true(loop->near.skip > 0);
	before = iw_loop_waits(loop);
	assert_int_equal(iw_loop_wait(loop, iw_os_now() + IW_MSEC(1), NULL), 0);
	assert_in_range(iw_loop_waits(loop) - before, 1, 2);
	stop(&one, g[0]);
	stop(&two, g[1]);
}

static void a_signal_ends_the_wait_in_a_port(void **state)
{
	struct fake f;
	struct iw_loop_listener *g = listen_on(&f);
	int ret = 0;

	(void)state;
	until_it_waits_there(&f);
	f.interrupt = true;
	for (int i = 0; i < 10000 && ret == 0; i++)
		ret = arrive(&f);
	assert_int_equal(ret, IW_LOOP_WOKEN);
	assert_false(f.interrupt);
	stop(&f, g);
}

static void wait_without_input_ends_at_its_deadline(void **state)
{
	struct fake f;
	struct iw_loop_listener *g = listen_on(&f);
	unsigned inputs;
	uint64_t until;

	(void)state;
	until_it_waits_there(&f);
	until = iw_os_now() + IW_MSEC(50);
	while (iw_os_now() < until)
		assert_int_equal(iw_loop_wait(loop, until, NULL), 0);
	/* The port is watched again. */
	inputs = f.inputs;
	while (f.inputs == inputs)
		assert_int_equal(arrive(&f), 0);
	stop(&f, g);
}

/* A wait in the port would report the wake descriptor up to 20 ms late to a program whose threads
 * wake it for each message. */
static void a_program_that_is_woken_often_does_not_wait_in_a_port(void **state)
{
	struct fake f;
	struct iw_loop_listener *g = listen_on(&f);
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	uint64_t count;

	(void)state;
	assert_int_equal(iw_loop_wake_fd(loop, wake, NULL), 0);
	for (int i = 0; i < 200; i++) {
		assert_int_equal(arrive(&f), 0);
		assert_int_equal(eventfd_write(wake, 1), 0);
		assert_int_equal(iw_loop_wait(loop, iw_os_now() + IW_SEC(1), NULL), IW_LOOP_WOKEN);
		assert_int_equal(read(wake, &count, sizeof(count)), sizeof(count));
	}
	assert_int_equal(f.waits, 0);
	until_it_waits_there(&f);
	assert_int_equal(iw_loop_wake_fd(loop, -1, NULL), 0);
	close(wake);
	stop(&f, g);
}

static struct iw_loop_assoc *connect_by(struct fake *f, const struct fake *waits_for)
{
	const struct iw_sctpmap_cfg cfg = { .mem = &mem.mem, .streams = 1, .initiator = true };
	struct iw_loop_assoc *t;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	*f = (struct fake){ .port = { .ops = &parting_ops, .fd = fd[0] },
			    .peer = fd[1],
			    .waits_for = waits_for };
	assert_int_equal(iw_loop_assoc_connect(&t, loop, &f->port, &cfg, NULL), 0);
	return t;
}

/* Returns the time until all have ended. */
static uint64_t free_loop(struct fake *f, size_t n)
{
	uint64_t began = iw_os_now();

	iw_loop_free(loop);
	loop = NULL;
	for (size_t i = 0; i < n; i++) {
		assert_true(f[i].asked);
		close(f[i].peer);
	}
	return iw_os_now() - began;
}

static void the_end_of_all_associations_begins_at_once(void **state)
{
	struct fake f[4] = { { .peer = -1 } };

	(void)state;
	/* The peer of the first port confirms only after the shutdown of the last port has begun
	 * too. */
	for (size_t i = 0; i < IW_ARRAY_LEN(f); i++)
		connect_by(&f[i], &f[IW_ARRAY_LEN(f) - 1 - i]);
	assert_true(free_loop(f, IW_ARRAY_LEN(f)) < IW_SEC(2));
}

static void unreachable_peers_are_awaited_in_the_same_three_seconds(void **state)
{
	struct fake f[4] = { { .peer = -1 } };
	uint64_t took;

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(f); i++)
		connect_by(&f[i], NULL);
	took = free_loop(f, IW_ARRAY_LEN(f));
	assert_in_range(took, IW_SEC(2), IW_SEC(5));
}

/* --- associations without a session --- */

enum { CROWD = IW_UNUSED_PER_ADDR + 20, SHORT_MS = 30 };

/* A listener's port with associations whose peers send nothing. */
static struct {
	struct fake f;
	struct iw_assoc assoc[CROWD];
	bool aborted[CROWD], shut[CROWD], gone[CROWD], confirms;
	size_t n, announced;
	size_t memory;    /* of each association */
	char reason[128]; /* of the last ABORT */
	bool no_memory;   /* for messages */
	unsigned refused, sent;
} crowd;

static bool crowd_next_event(struct iw_port *p, struct iw_assoc_event *out)
{
	(void)p;
	for (size_t i = 0; i < crowd.announced; i++)
		if (crowd.shut[i] && crowd.confirms && !crowd.gone[i] && crowd.assoc[i].up) {
			crowd.assoc[i].up = false;
			*out = (struct iw_assoc_event){ .what = IW_ASSOC_DOWN,
							.assoc = &crowd.assoc[i] };
			return true;
		}
	if (crowd.announced == crowd.n)
		return false;
	*out = (struct iw_assoc_event){ .what = IW_ASSOC_UP,
					.assoc = &crowd.assoc[crowd.announced++] };
	return true;
}

static void crowd_shutdown(struct iw_assoc *a, uint64_t now)
{
	(void)now;
	crowd.shut[a - crowd.assoc] = true;
}

static void crowd_abort(struct iw_assoc *a, const char *reason, uint64_t now)
{
	(void)now;
	a->up = false;
	crowd.aborted[a - crowd.assoc] = true;
	strncpy(crowd.reason, reason ? reason : "", sizeof(crowd.reason) - 1);
}

static void crowd_release(struct iw_assoc *a)
{
	crowd.gone[a - crowd.assoc] = true;
}

static int crowd_connect(struct iw_port *p, struct iw_assoc **out, uint64_t now,
			 struct iw_fault *why)
{
	(void)p;
	(void)now;
	(void)why;
	crowd.n = 1;
	*out = &crowd.assoc[0];
	return 0;
}

static int crowd_send(struct iw_assoc *a, const struct iw_port_out *m, uint64_t now)
{
	(void)a;
	(void)m;
	(void)now;
	crowd.refused += crowd.no_memory;
	crowd.sent += !crowd.no_memory;
	return crowd.no_memory ? IW_E_NOMEM : 0;
}

static void crowd_facts(struct iw_assoc *a, struct iw_llp_facts *out)
{
	(void)a;
	out->memory = crowd.memory;
}

static const struct iw_port_ops crowd_ops = {
	.name = "udp",
	.connect = crowd_connect,
	.input = fake_input,
	.next_msg = fake_next_msg,
	.next_event = crowd_next_event,
	.send = crowd_send,
	.output = fake_output,
	.deadline = fake_deadline,
	.timeout = fake_timeout,
	.shutdown = crowd_shutdown,
	.abort = crowd_abort,
	.facts = crowd_facts,
	.release = crowd_release,
	.close = fake_close,
};

static void open_crowd(void)
{
	int fd[2];

	memset(&crowd, 0, sizeof(crowd));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	crowd.f = (struct fake){ .port = { .ops = &crowd_ops, .fd = fd[0] }, .peer = fd[1] };
	for (size_t i = 0; i < CROWD; i++)
		crowd.assoc[i] = (struct iw_assoc){ .port = &crowd.f.port,
						    .up = true,
						    .indicated = true,
						    .adaptation = iw_sctpmap_rfc.adaptation,
						    .in = 1,
						    .out = 1,
						    .max_message = 1000,
						    .peer_ip = { [10] = 0xff, 0xff, 127, 1 } };
}

/* unused_max: of the port. */
static struct iw_loop_listener *listen_for_crowd_of(uint32_t unused_max, uint64_t unused_ns)
{
	const struct iw_sctpmap_cfg cfg = { .mem = &mem.mem, .streams = 1, .unused_ns = unused_ns };
	struct iw_loop_listener *g;

	open_crowd();
	crowd.f.port.unused_max = unused_max;
	assert_int_equal(iw_loop_listener_new_port(&g, loop, &crowd.f.port, &cfg, NULL, NULL), 0);
	return g;
}

static struct iw_loop_listener *listen_for_crowd(void)
{
	return listen_for_crowd_of(0, IW_MSEC(SHORT_MS));
}

static size_t count(const bool *what)
{
	size_t n = 0;

	for (size_t i = 0; i < CROWD; i++)
		n += what[i];
	return n;
}

/* Brings n more associations up. */
static void come(size_t n)
{
	crowd.n += n;
	assert_int_equal(write(crowd.f.peer, "", 1), 1);
	assert_int_equal(iw_loop_wait(loop, iw_os_now() + IW_SEC(1), NULL), 0);
	iw_loop_flush(loop);
}

static void run_until_gone(size_t n)
{
	uint64_t until = iw_os_now() + IW_SEC(10);

	while (count(crowd.gone) < n && iw_os_now() < until) {
		iw_loop_flush(loop);
		assert_int_equal(iw_loop_wait(loop, iw_os_now() + IW_MSEC(10), NULL), 0);
	}
	iw_loop_flush(loop);
	assert_int_equal(count(crowd.gone), n);
}

/* SEC-29 */
static void associations_without_a_session_are_aborted_after_the_time_out(void **state)
{
	struct iw_loop_listener *g = listen_for_crowd();
	uint64_t began = iw_os_now();
	size_t blocks = mem.blocks;

	(void)state;
	come(200);
	assert_int_equal(count(crowd.gone), 0);
	run_until_gone(200);
	assert_true(iw_os_now() - began >= IW_MSEC(SHORT_MS));
	assert_int_equal(count(crowd.aborted), 200);
	assert_non_null(strstr(crowd.reason, "no DDP stream session within 30 ms (RFC 5043"));
	assert_true(mem.blocks <= blocks + 2); /* the table and the heap stay */
	iw_loop_listener_free(g);
	iw_loop_flush(loop);
	close(crowd.f.peer);
}

static void above_the_limit_of_an_address_the_oldest_is_aborted(void **state)
{
	struct iw_loop_listener *g = listen_for_crowd();

	(void)state;
	for (size_t i = IW_UNUSED_PER_ADDR + 10; i < CROWD; i++)
		crowd.assoc[i].peer_ip[15] = 2;
	come(IW_UNUSED_PER_ADDR);
	assert_int_equal(count(crowd.aborted), 0);
	come(20);
	/* The first ten: associations of the other address have limits of their own. */
	assert_int_equal(count(crowd.aborted), 10);
	for (size_t i = 0; i < 10; i++)
		assert_true(crowd.aborted[i] && crowd.gone[i]);
	assert_non_null(strstr(crowd.reason, "too many associations"));
	iw_loop_listener_free(g);
	crowd.confirms = true;
	run_until_gone(CROWD);
	close(crowd.f.peer);
}

/* The transport needs a descriptor for each association. */
static void a_port_can_keep_fewer_than_the_general_limit(void **state)
{
	struct iw_loop_listener *g = listen_for_crowd_of(12, IW_SEC(60));

	(void)state;
	crowd.confirms = true;
	for (size_t i = 0; i < 20; i++)
		crowd.assoc[i].peer_ip[15] = (uint8_t)(i / 2);
	come(20);
	assert_int_equal(count(crowd.aborted), 8);
	/* One address may have a quarter of the limit, and cannot evict all others. */
	for (size_t i = 20; i < 40; i++)
		crowd.assoc[i].peer_ip[15] = 100;
	come(20);
	assert_int_equal(count(crowd.aborted), 28);
	for (size_t i = 11; i < 20; i++)
		assert_false(crowd.aborted[i]);
	iw_loop_listener_free(g);
	run_until_gone(40);
	close(crowd.f.peer);
}

/* SEC-29: fragments use memory although no message is complete */
static void memory_that_grows_without_messages_is_limited(void **state)
{
	struct iw_loop_listener *g = listen_for_crowd_of(0, IW_SEC(60));
	uint64_t until = iw_os_now() + IW_SEC(10);

	(void)state;
	crowd.confirms = true;
	come(10);
	crowd.memory = IW_UNUSED_PER_ADDR_BYTES / 4;
	while (count(crowd.aborted) == 0 && iw_os_now() < until) {
		assert_int_equal(iw_loop_wait(loop, iw_os_now() + IW_MSEC(100), NULL), 0);
		iw_loop_flush(loop);
	}
	assert_int_equal(count(crowd.aborted), 7);
	assert_non_null(strstr(crowd.reason, "too much memory"));
	/* A smaller limit takes effect the next time the loop checks the memory. */
	iw_loop_listener_limit_unused(g, 4 * crowd.memory + 4 * 4096);
	until = iw_os_now() + IW_SEC(10);
	while (count(crowd.aborted) == 7 && iw_os_now() < until) {
		assert_int_equal(iw_loop_wait(loop, iw_os_now() + IW_MSEC(100), NULL), 0);
		iw_loop_flush(loop);
	}
	assert_int_equal(count(crowd.aborted), 9);
	assert_in_range(iw_loop_listener_memory(g), crowd.memory, crowd.memory + 4096);
	iw_loop_listener_free(g);
	run_until_gone(10);
	close(crowd.f.peer);
}

static void a_closed_listener_ends_unused_associations_in_order(void **state)
{
	struct iw_loop_listener *g = listen_for_crowd();

	(void)state;
	crowd.confirms = true;
	come(3);
	iw_loop_listener_free(g);
	run_until_gone(3);
	assert_int_equal(count(crowd.shut), 3);
	assert_int_equal(count(crowd.aborted), 0);
	close(crowd.f.peer);
}

static void a_peer_that_ignores_shutdown_is_aborted(void **state)
{
	struct iw_loop_listener *g = listen_for_crowd();

	(void)state;
	come(3);
	iw_loop_listener_free(g);
	iw_loop_flush(loop);
	assert_int_equal(count(crowd.shut), 3);
	assert_int_equal(count(crowd.gone), 0);
	run_until_gone(3);
	assert_int_equal(count(crowd.aborted), 3);
	assert_non_null(strstr(crowd.reason, "not completed within 30 ms"));
	close(crowd.f.peer);
}

/*
 * SEC-29: the connection has ended, but its session is not over, because the peer does not
 * terminate it.
 */
static void an_initiator_aborts_if_its_session_does_not_end(void **state)
{
	const struct iw_sctpmap_cfg cfg = {
		.mem = &mem.mem, .streams = 1, .initiator = true, .unused_ns = IW_MSEC(SHORT_MS)
	};
	const struct iw_offer offer = { .ird = 1, .ord = 1 };
	struct iw_loop_assoc *t;
	struct iw_dss *s;

	(void)state;
	open_crowd();
	assert_int_equal(iw_loop_assoc_connect(&t, loop, &crowd.f.port, &cfg, NULL), 0);
	assert_int_equal(iw_dss_initiate(&s, iw_loop_assoc_map(t), &offer, NULL), 0);
	iw_loop_flush(loop); /* UP, and the Initiate is sent */
	iw_dss_release(s);
	iw_loop_flush(loop);
	assert_int_equal(count(crowd.gone), 0);
	run_until_gone(1);
	assert_int_equal(count(crowd.aborted), 1);
	assert_int_equal(count(crowd.shut), 0);
	close(crowd.f.peer);
}

/* It ends without a connection, so the next flush has work. */
static void a_new_association_without_a_connection_makes_wake_ups_readable(void **state)
{
	const struct iw_sctpmap_cfg cfg = { .mem = &mem.mem, .streams = 1, .initiator = true };
	struct iw_loop_wakeup wakeup = { 0 };
	struct iw_loop_assoc *t;
	struct pollfd p = { .events = POLLIN };

	(void)state;
	open_crowd();
	crowd.confirms = true;
	assert_int_equal(iw_loop_wakeup_open(&wakeup, loop, NULL), 0);
	p.fd = wakeup.fd;
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(iw_loop_assoc_connect(&t, loop, &crowd.f.port, &cfg, NULL), 0);
	assert_int_equal(poll(&p, 1, 0), 1);
	run_until_gone(1);
	iw_loop_wakeup_close(&wakeup);
	close(crowd.f.peer);
}

static void a_control_message_is_offered_again_to_a_port_without_memory(void **state)
{
	const struct iw_sctpmap_cfg cfg = {
		.mem = &mem.mem, .streams = 1, .initiator = true, .unused_ns = IW_MSEC(300)
	};
	const struct iw_offer offer = { .ird = 1, .ord = 1 };
	uint64_t until = iw_os_now() + IW_MSEC(200);
	struct iw_loop_assoc *t;
	struct iw_dss *s;

	(void)state;
	open_crowd();
	assert_int_equal(iw_loop_assoc_connect(&t, loop, &crowd.f.port, &cfg, NULL), 0);
	assert_int_equal(iw_dss_initiate(&s, iw_loop_assoc_map(t), &offer, NULL), 0);
	crowd.no_memory = true;
	iw_loop_flush(loop); /* UP */
	iw_loop_flush(loop);
	assert_int_equal(crowd.refused, 1);
	crowd.no_memory = false;
	while (crowd.sent == 0 && iw_os_now() < until) {
		assert_int_equal(iw_loop_wait(loop, iw_os_now() + IW_MSEC(10), NULL), 0);
		iw_loop_flush(loop);
	}
	assert_int_equal(crowd.sent, 1);
	iw_dss_release(s);
	run_until_gone(1);
	close(crowd.f.peer);
}

/* An association comes up at the listener, and its peer requests a session. */
static struct iw_loop_listener *session_is_requested(struct fake *f)
{
	const struct iw_sctpmap_cfg cfg = { .mem = &mem.mem, .streams = 1 };
	const struct iw_sctp_control initiate = { .fn = IW_SCTP_FN_INITIATE };
	struct iw_loop_listener *g;
	int fd[2];

	memset(&coming, 0, sizeof(coming));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	*f = (struct fake){ .port = { .ops = &coming_ops, .fd = fd[0] }, .peer = fd[1] };
	assert_int_equal(iw_loop_listener_new_port(&g, loop, &f->port, &cfg, NULL, NULL), 0);
	coming.up = true;
	coming.msg[0].ppid = IW_SCTP_PPID_CONTROL;
	coming.msg[0].len = (size_t)iw_wire_sctp_control_encode(coming.msg[0].data, 600, &initiate);
	coming.n = 1;
	assert_int_equal(arrive(f), 0);
	return g;
}

/* Otherwise the program could accept it, and a peer could collect requests without an association. */
static void a_request_of_a_lost_association_is_not_offered(void **state)
{
	struct iw_loop_assoc *assoc;
	struct iw_loop_listener *g;
	static struct fake f;
	struct iw_dss *s;

	(void)state;
	g = session_is_requested(&f);
	coming.down = true;
	assert_int_equal(arrive(&f), 0);
	assert_false(iw_loop_listener_next_session(g, &assoc, &s));
	stop(&f, g);
}

/* The loop reports the association's memory once per turn, and only if it has changed. */
static void octets_held_for_unaccepted_sessions_are_reported_to_the_port(void **state)
{
	const struct iw_offer offer = { 0 };
	struct iw_loop_assoc *assoc;
	struct iw_dss_unit u;
	struct iw_dss *s;
	struct iw_loop_listener *g;
	static struct fake f; /* its association lives as long as the loop */
	unsigned units = 0;

	(void)state;
	g = session_is_requested(&f);
	iw_loop_flush(loop);
	assert_int_equal(coming.told, 0);
	for (uint16_t ssn = 1; ssn <= 3; ssn++)
		coming_segment(ssn);
	assert_int_equal(arrive(&f), 0);
	iw_loop_flush(loop);
	assert_int_equal(coming.told, 1);
	assert_in_range(coming.held, 3 * 598, 3 * 598 * 2);
	assert_true(iw_loop_listener_next_session(g, &assoc, &s));
	iw_loop_flush(loop);
	assert_int_equal(coming.told, 1);
	assert_int_equal(iw_dss_accept(s, &offer, NULL), 0);
	while (iw_dss_next(s, &u))
		units += u.kind == IW_DSS_SEGMENT;
	assert_int_equal(units, 3);
	coming_segment(4);
	assert_int_equal(arrive(&f), 0);
	assert_true(loop->near.octets >= 598);
	iw_loop_flush(loop);
	assert_int_equal(coming.held, 0);
	assert_int_equal(coming.told, 2);
	stop(&f, g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_request_of_a_lost_association_is_not_offered,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			octets_held_for_unaccepted_sessions_are_reported_to_the_port, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_sole_port_is_waited_for_directly_and_answers_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_port_is_polled_with_epoll, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(with_two_ports_neither_delays_the_other, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			after_short_waits_a_sole_port_is_polled_before_the_wait_in_it, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			after_short_waits_several_ports_are_polled_with_epoll, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_signal_ends_the_wait_in_a_port, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(wait_without_input_ends_at_its_deadline, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_program_that_is_woken_often_does_not_wait_in_a_port, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_end_of_all_associations_begins_at_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			unreachable_peers_are_awaited_in_the_same_three_seconds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			associations_without_a_session_are_aborted_after_the_time_out, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(above_the_limit_of_an_address_the_oldest_is_aborted,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_port_can_keep_fewer_than_the_general_limit,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_that_grows_without_messages_is_limited,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_closed_listener_ends_unused_associations_in_order,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_peer_that_ignores_shutdown_is_aborted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(an_initiator_aborts_if_its_session_does_not_end,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_new_association_without_a_connection_makes_wake_ups_readable, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_control_message_is_offered_again_to_a_port_without_memory, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
