// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The child process that copies between two descriptors of ssh and a socket. */
#include "transfer/ssh/bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define STEP     65536   /* octets that one read or splice moves */
#define PIPE_CAP 1048576 /* octets that a pipe may hold, if the system permits it */
#define FLUSH_NS IW_SEC(10)

/* One direction. */
struct way {
	int from, to; /* -1: this end is closed */
	bool readable, writable;
	bool copies; /* splice(2) cannot move octets between these two */
	size_t at, len;
	uint8_t buf[STEP]; /* if it copies: len octets at `at` are not written yet */
};

/* The child. Inward: from in to the parent's socket. Outward: from there to out. */
struct bridge {
	struct way inward, outward;
	bool alone;     /* the parent has closed its socket or ended */
	uint64_t moved; /* when octets were moved last */
};

static volatile sig_atomic_t parent_ended;

static void note_end(int sig)
{
	(void)sig;
	parent_ended = 1;
}

/* --- one direction ---------------------------------------------------------------------------- */

static void close_end(int *fd, int how)
{
	if (*fd < 0)
		return;
	/* A socket may be open for the other direction too. */
	(void)!shutdown(*fd, how);
	close(*fd);
	*fd = -1;
}

/* Ends a direction: its reader gets the end of the stream, its writer EPIPE. */
static void end_way(struct way *w)
{
	close_end(&w->from, SHUT_RD);
	close_end(&w->to, SHUT_WR);
}

static bool is_open(const struct way *w)
{
	return w->to >= 0;
}

/*
 * Writes octets of the buffer, without blocking: a pipe that poll() reports as writable takes
 * PIPE_BUF octets.
 */
static ssize_t write_some(struct way *w)
{
	ssize_t put = send(w->to, w->buf + w->at, w->len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (put < 0 && errno == ENOTSOCK)
		put = write(w->to, w->buf + w->at, IW_MIN(w->len, (size_t)PIPE_BUF));
	if (put > 0) {
		w->at += (size_t)put;
		w->len -= (size_t)put;
	}
	return put;
}

/* Returns the octets moved; 0: the end of the stream; -1 with errno. */
static ssize_t copy_some(struct way *w)
{
	ssize_t got;

	if (w->len)
		return write_some(w);
	got = read(w->from, w->buf, sizeof(w->buf));
	if (got <= 0)
		return got;
	w->at = 0;
	w->len = (size_t)got;
	return write_some(w);
}

static ssize_t move_some(struct way *w)
{
	ssize_t n;

	if (w->copies)
		return copy_some(w);
	n = splice(w->from, NULL, w->to, NULL, STEP, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0 && (errno == EINVAL || errno == ENOSYS)) {
		w->copies = true;
		return copy_some(w);
	}
	return n;
}

/* Moves octets until one end must be polled again. Returns whether it has moved any. */
static bool move(struct way *w)
{
	bool any = false;

	while ((w->readable || w->len) && w->writable) {
		ssize_t n = move_some(w);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			w->readable = w->writable = false;
			return any;
		}
		if (n <= 0) {
			end_way(w);
			return true;
		}
		any = true;
		/* A blocking read() of the next octets might wait. */
		if (w->copies)
			w->readable = w->writable = false;
	}
	return any;
}

/* --- the loop --------------------------------------------------------------------------------- */

/*
 * What to poll. An end that is known to be readable is left out: it may report POLLHUP until it is
 * read. The other end always reports that its reader is gone.
 */
static void poll_way(struct pollfd p[2], const struct way *w)
{
	bool input = !w->readable && !w->len;

	p[0] = (struct pollfd){ input ? w->from : -1, POLLIN, 0 };
	p[1] = (struct pollfd){ w->to, input || w->writable ? 0 : POLLOUT, 0 };
}

static void polled_way(struct way *w, const struct pollfd p[2])
{
	/* POLLHUP: the rest can be read, or the end of the stream. */
	if (p[0].revents & (POLLIN | POLLHUP | POLLERR))
		w->readable = true;
	if (p[1].revents & POLLOUT)
		w->writable = true;
	if (p[1].revents & (POLLERR | POLLHUP | POLLNVAL))
		end_way(w);
}

static bool is_done(const struct bridge *b)
{
	return !is_open(&b->outward) && (b->alone || !is_open(&b->inward));
}

/* Waits for one of the four ends. False: the parent is gone, and out takes no octets. */
static bool wait_for_ends(struct bridge *b, const sigset_t *unblocked)
{
	static const struct timespec limit = { .tv_sec = 1 };
	struct pollfd p[4];

	/* The signal is blocked here, so it is not missed between this line and ppoll(). */
	if (parent_ended && !b->alone) {
		b->alone = true;
		return true;
	}
	poll_way(p, &b->inward);
	poll_way(p + 2, &b->outward);
	if (ppoll(p, 4, b->alone ? &limit : NULL, unblocked) > 0) {
		/* The parent has closed its socket: no half-close, because inward is still open. */
		if (p[1].revents & POLLHUP)
			b->alone = true;
		polled_way(&b->inward, p);
		polled_way(&b->outward, p + 2);
	}
	return !b->alone || iw_os_now() - b->moved < FLUSH_NS;
}

static void run(struct bridge *b, const sigset_t *unblocked)
{
	while (!is_done(b)) {
		bool any;

		if (!wait_for_ends(b, unblocked))
			return;
		if (b->alone)
			end_way(&b->inward);
		any = move(&b->inward);
		if (move(&b->outward) || any || !b->alone)
			b->moved = iw_os_now();
	}
}

/* --- the process ------------------------------------------------------------------------------ */

/*
 * Makes the four ends descriptors 0 to 3, and closes all others: a listener of the parent must not
 * stay open here.
 */
static int take_ends(struct bridge *b, const int ends[4])
{
	int copy[4];

	for (int i = 0; i < 4; i++) {
		copy[i] = fcntl(ends[i], F_DUPFD, 4);
		if (copy[i] < 0)
			return -1;
	}
	for (int i = 0; i < 4; i++)
		if (dup2(copy[i], i) < 0)
			return -1;
	closefrom(4);
	b->inward.from = 0;
	b->inward.to = 1;
	b->outward.from = 2;
	b->outward.to = 3;
	for (int i = 0; i < 4; i++)
		(void)fcntl(i, F_SETPIPE_SZ, PIPE_CAP);
	return fcntl(b->inward.to, F_SETFL, O_NONBLOCK);
}

/* Ctrl-C and the end of a terminal end the parent; the child then passes on the rest. */
static void set_signals(pid_t parent)
{
	struct sigaction act = { .sa_handler = SIG_IGN };

	sigemptyset(&act.sa_mask);
	(void)sigaction(SIGINT, &act, NULL);
	(void)sigaction(SIGHUP, &act, NULL);
	(void)sigaction(SIGPIPE, &act, NULL);
	act.sa_handler = note_end;
	(void)sigaction(SIGTERM, &act, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		parent_ended = 1;
}

/* The child; before has the signal mask that the parent had. */
_Noreturn static void be_child(struct bridge *b, const int ends[4], pid_t parent,
			       const sigset_t *before)
{
	sigset_t unblocked = *before;

	(void)prctl(PR_SET_NAME, "iw-ssh-bridge");
	(void)prctl(PR_SET_DUMPABLE, 0);
	sigdelset(&unblocked, SIGTERM);
	set_signals(parent);
	if (take_ends(b, ends) < 0)
		_exit(1);
	b->moved = iw_os_now();
	run(b, &unblocked);
	_exit(0);
}

/* Starts the child. SIGTERM is blocked until it has its handler. */
static int start_child(const int ends[4], struct iw_fault *why)
{
	struct bridge *b = calloc(1, sizeof(*b));
	pid_t parent = getpid(), child;
	sigset_t term, before;
	int errnum;

	if (!b)
		return iw_fail(why, IW_E_NOMEM, "ssh: no memory for the process between the pipes");
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &term, &before);
	child = fork();
	errnum = errno;
	if (child == 0)
		be_child(b, ends, parent, &before);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	free(b);
	return child < 0 ? iw_os_fail(why, errnum, "start a process between the pipes of ssh") : 0;
}

/* --- the socket ------------------------------------------------------------------------------- */

static bool is_unix_stream(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/* Sets *same if in and out are one Unix stream socket. */
static int compare(bool *same, int in, int out, struct iw_fault *why)
{
	struct stat a, b;

	if (fstat(in, &a) < 0)
		return iw_fail(why, IW_E_INVAL, "ssh: descriptor %u is not open", (uint32_t)in);
	if (fstat(out, &b) < 0)
		return iw_fail(why, IW_E_INVAL, "ssh: descriptor %u is not open", (uint32_t)out);
	*same = a.st_dev == b.st_dev && a.st_ino == b.st_ino && is_unix_stream(in);
	return 0;
}

static int duplicate(int *fd, int in, struct iw_fault *why)
{
	*fd = fcntl(in, F_DUPFD_CLOEXEC, 0);
	return *fd < 0 ? iw_os_fail(why, errno, "duplicate the socket of ssh") : 0;
}

static int copy_between(int *fd, int in, int out, struct iw_fault *why)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return iw_os_fail(why, errno, "make a socket for the pipes of ssh");
	err = start_child((int[]){ in, pair[1], pair[1], out }, why);
	close(pair[1]);
	if (err)
		close(pair[0]);
	else
		*fd = pair[0];
	return err;
}

/* Closes fd; no other file gets the number of a standard stream. */
static void replace(int fd, int null)
{
	if (fd > 1)
		close(fd);
	else
		(void)!dup2(null, fd);
}

int iw_ssh_bridge(int *fd, int in, int out, struct iw_fault *why)
{
	int null, err;
	bool same;

	*fd = -1;
	err = compare(&same, in, out, why);
	if (err)
		return err;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return iw_os_fail(why, errno, "open /dev/null");
	err = same ? duplicate(fd, in, why) : copy_between(fd, in, out, why);
	if (!err) {
		replace(in, null);
		if (out != in)
			replace(out, null);
	}
	close(null);
	return err;
}
