// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One socket for two descriptors: pipes, sockets, half-close, a peer or a parent that is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "transfer/ssh/bridge.h"

#define LIMIT_MS 20000
#define LARGE    (8 * 1048576) /* more than all buffers between the ends */

/* What sshd holds: it writes to far_in and reads from far_out. fd is what the program uses. */
static int far_in, far_out, fd;

static void open_pipes(int *in, int *out)
{
	int a[2], b[2];

	assert_int_equal(pipe2(a, O_CLOEXEC), 0);
	assert_int_equal(pipe2(b, O_CLOEXEC), 0);
	*in = a[0];
	far_in = a[1];
	far_out = b[0];
	*out = b[1];
}

static int set_up(void **state)
{
	int in, out;

	(void)state;
	open_pipes(&in, &out);
	assert_int_equal(iw_ssh_bridge(&fd, in, out, NULL), 0);
	return 0;
}

static void drop(int *f)
{
	if (*f >= 0)
		close(*f);
	*f = -1;
}

/* Ends every child within the limit; returns how many there were. */
static int reap(void)
{
	uint64_t limit = iw_os_now() + LIMIT_MS * (uint64_t)1000000;
	int n = 0;

	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			return n;
		if (pid > 0)
			n++;
		else if (iw_os_now() > limit)
			return -1;
		else
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

static int tear_down(void **state)
{
	(void)state;
	drop(&far_in);
	drop(&far_out);
	drop(&fd);
	assert_int_not_equal(reap(), -1);
	return 0;
}

static void await(int f, short events)
{
	struct pollfd p = { f, events, 0 };

	assert_int_equal(poll(&p, 1, LIMIT_MS), 1);
}

static void expect(int f, const char *text)
{
	size_t len = strlen(text), got = 0;
	char buf[64];

	while (got < len) {
		ssize_t n;

		await(f, POLLIN);
		n = read(f, buf + got, len - got);
		assert_true(n > 0);
		got += (size_t)n;
	}
	assert_memory_equal(buf, text, len);
}

static void expect_end(int f)
{
	char c;

	await(f, POLLIN);
	assert_int_equal(read(f, &c, 1), 0);
}

static void put(int f, const char *text)
{
	assert_int_equal(write(f, text, strlen(text)), strlen(text));
}

static void octets_pass_both_ways(void **state)
{
	int type = 0;
	socklen_t len = sizeof(type);

	(void)state;
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len), 0);
	assert_int_equal(type, SOCK_STREAM);
	put(far_in, "request");
	expect(fd, "request");
	put(fd, "answer");
	expect(far_out, "answer");
}

static void half_close_passes_and_the_other_way_stays_open(void **state)
{
	(void)state;
	put(fd, "last");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	expect(far_out, "last");
	expect_end(far_out);
	put(far_in, "still here");
	expect(fd, "still here");
	drop(&far_in);
	expect_end(fd);
	assert_int_equal(reap(), 1);
}

static void end_of_in_passes_and_out_stays_open(void **state)
{
	(void)state;
	put(far_in, "all");
	drop(&far_in);
	expect(fd, "all");
	expect_end(fd);
	put(fd, "answer");
	expect(far_out, "answer");
	drop(&fd);
	expect_end(far_out);
	assert_int_equal(reap(), 1);
}

/* Without a way out, a write must fail and not wait forever. */
static void gone_reader_of_out_is_epipe(void **state)
{
	static const char some[4096];
	ssize_t n = 1;

	(void)state;
	drop(&far_out);
	for (int i = 0; i < 10000 && n > 0; i++)
		n = send(fd, some, sizeof(some), MSG_NOSIGNAL);
	assert_int_equal(n, -1);
	assert_int_equal(errno, EPIPE);
	put(far_in, "the other way");
	expect(fd, "the other way");
}

static void closed_socket_flushes_and_ends_the_child(void **state)
{
	(void)state;
	put(fd, "the end");
	drop(&fd);
	expect(far_out, "the end");
	expect_end(far_out);
	/* in is closed too: ssh gets EPIPE for what it still sends. */
	assert_int_equal(reap(), 1);
	assert_int_equal(write(far_in, "x", 1), -1);
	assert_int_equal(errno, EPIPE);
}

/* Octets i, i + 1, ... in both directions at once, through buffers that are always full. */
struct flow {
	int fd;
	bool writes;
	size_t at;
};

static uint8_t octet_at(size_t i)
{
	return (uint8_t)(i * 7 + i / 251);
}

static void flow_some(struct flow *f)
{
	uint8_t buf[30011];
	size_t want = LARGE - f->at < sizeof(buf) ? LARGE - f->at : sizeof(buf);
	ssize_t n;

	if (f->writes)
		for (size_t i = 0; i < want; i++)
			buf[i] = octet_at(f->at + i);
	n = f->writes ? write(f->fd, buf, want) : read(f->fd, buf, want);
	if (n < 0 && errno == EAGAIN)
		return;
	assert_true(n > 0);
	if (!f->writes)
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(buf[i], octet_at(f->at + (size_t)i));
	f->at += (size_t)n;
}

static bool flows_done(const struct flow *f)
{
	for (int i = 0; i < 4; i++)
		if (f[i].at < LARGE)
			return false;
	return true;
}

static void assert_full_buffers_flow(int to, int from)
{
	struct flow f[4] = {
		{ to, true, 0 }, { fd, false, 0 }, { fd, true, 0 }, { from, false, 0 }
	};

	for (int i = 0; i < 4; i++)
		assert_int_equal(fcntl(f[i].fd, F_SETFL, O_NONBLOCK), 0);
	while (!flows_done(f)) {
		struct pollfd p[4];

		for (int i = 0; i < 4; i++)
			p[i] = (struct pollfd){ f[i].at < LARGE ? f[i].fd : -1,
						f[i].writes ? POLLOUT : POLLIN, 0 };
		assert_true(poll(p, 4, LIMIT_MS) > 0);
		for (int i = 0; i < 4; i++)
			if (p[i].revents)
				flow_some(&f[i]);
	}
}

static void full_buffers_do_not_block_the_other_way(void **state)
{
	static const char some[65536];

	(void)state;
	assert_full_buffers_flow(far_in, far_out);
	/* far_out is not read. */
	while (send(fd, some, sizeof(some), MSG_DONTWAIT) > 0)
		;
	put(far_in, "passes");
	expect(fd, "passes");
}

/* splice(2) does not move octets from a socket to a socket: the child copies them. */
static void two_sockets_are_copied(void **state)
{
	int in[2], out[2];

	(void)state;
	tear_down(NULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out), 0);
	assert_int_equal(iw_ssh_bridge(&fd, in[0], out[0], NULL), 0);
	far_in = in[1];
	far_out = out[1];
	assert_full_buffers_flow(far_in, far_out);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	expect_end(far_out);
	assert_int_equal(shutdown(far_in, SHUT_WR), 0);
	expect_end(fd);
	assert_int_equal(reap(), 1);
}

static void one_socket_needs_no_child(void **state)
{
	int pair[2], copy;

	(void)state;
	tear_down(NULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	copy = dup(pair[0]);
	assert_int_equal(iw_ssh_bridge(&fd, pair[0], copy, NULL), 0);
	assert_int_equal(reap(), 0);
	assert_int_equal(fcntl(copy, F_GETFD), -1);
	far_in = far_out = pair[1];
	put(far_in, "request");
	expect(fd, "request");
	drop(&fd);
	expect_end(far_out);
	far_in = -1;
}

static bool refers_to_null(int f)
{
	struct stat a, null;

	return fstat(f, &a) == 0 && stat("/dev/null", &null) == 0 && a.st_rdev == null.st_rdev &&
	       S_ISCHR(a.st_mode);
}

/* A listener of the parent must not stay open in the child. */
static void child_holds_no_other_descriptor(void **state)
{
	int in, out, other[2];

	(void)state;
	tear_down(NULL);
	open_pipes(&in, &out);
	assert_int_equal(pipe2(other, O_CLOEXEC), 0);
	assert_int_equal(iw_ssh_bridge(&fd, in, out, NULL), 0);
	close(other[1]);
	expect_end(other[0]);
	close(other[0]);
}

/* In a process of its own: its standard streams are the pipes, as sshd starts it. */
static void use_standard_streams(int in, int out)
{
	int mine;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(10);
	close(in);
	close(out);
	close(far_in);
	close(far_out);
	if (iw_ssh_bridge(&mine, 0, 1, NULL) || mine < 2)
		_exit(11);
	if (!refers_to_null(0) || !refers_to_null(1))
		_exit(12);
	if (write(mine, "ready", 5) != 5)
		_exit(13);
	for (;;)
		pause();
}

/* kill -9 of the program: ssh gets the end of the stream, and no process is left. */
static void killed_parent_leaves_no_process(void **state)
{
	int in, out;
	pid_t pid;

	(void)state;
	tear_down(NULL);
	/* The child of the killed process becomes a child of this one. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	open_pipes(&in, &out);
	pid = fork();
	if (pid == 0)
		use_standard_streams(in, out);
	close(in);
	close(out);
	expect(far_out, "ready");
	kill(pid, SIGKILL);
	expect_end(far_out);
	assert_int_equal(reap(), 2);
}

/* Waits to be killed; a child of it keeps its descriptors until go has ended. */
static void leave_the_socket_open(int in, int out, const int go[2])
{
	int mine;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (iw_ssh_bridge(&mine, in, out, NULL))
		_exit(1);
	if (fork() == 0) {
		close(far_in);
		close(far_out);
		close(go[1]);
		(void)!read(go[0], &c, 1);
		_exit(0);
	}
	if (write(mine, "ready", 5) != 5)
		_exit(2);
	for (;;)
		pause();
}

/* Then the socket is not closed, but in and out are. */
static void ended_parent_is_noticed_by_its_signal(void **state)
{
	int in, out, go[2];
	pid_t pid;

	(void)state;
	tear_down(NULL);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	open_pipes(&in, &out);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		leave_the_socket_open(in, out, go);
	close(in);
	close(out);
	close(go[0]);
	expect(far_out, "ready");
	kill(pid, SIGKILL);
	/* in has no reader any more. */
	await(far_in, POLLERR);
	assert_int_equal(write(far_in, "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	close(go[1]);
	expect_end(far_out);
	assert_int_equal(reap(), 3);
}

static void bad_descriptor_is_refused_and_the_other_unchanged(void **state)
{
	struct iw_fault why = { 0 };
	int in, out, mine;

	(void)state;
	tear_down(NULL);
	open_pipes(&in, &out);
	assert_int_equal(iw_ssh_bridge(&mine, -1, out, &why), IW_E_INVAL);
	assert_int_equal(iw_ssh_bridge(&mine, in, 1 << 20, &why), IW_E_INVAL);
	assert_string_equal(why.text, "ssh: descriptor 1048576 is not open");
	put(out, "unchanged");
	expect(far_out, "unchanged");
	close(in);
	close(out);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(octets_pass_both_ways),
		test(half_close_passes_and_the_other_way_stays_open),
		test(end_of_in_passes_and_out_stays_open),
		test(gone_reader_of_out_is_epipe),
		test(closed_socket_flushes_and_ends_the_child),
		test(full_buffers_do_not_block_the_other_way),
		test(two_sockets_are_copied),
		test(one_socket_needs_no_child),
		test(child_holds_no_other_descriptor),
		test(killed_parent_leaves_no_process),
		test(ended_parent_is_noticed_by_its_signal),
		test(bad_descriptor_is_refused_and_the_other_unchanged),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
