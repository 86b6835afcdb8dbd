// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The local side of the conversation. */
#include "transfer/ssh/start.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/parse.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "os/addr.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define GREETING       "iwarp-ssh "
/* Time limits: for the far end to answer; for ssh to exit or start; for both to end. */
#define ANSWER_TIMEOUT IW_SEC(60)
#define SSH_TIMEOUT    IW_SEC(5)
#define END_TIMEOUT    IW_SEC(15)
#define SHOWN          60 /* characters of an unexpected text */

static const char *program(const struct iw_ssh_start *s)
{
	return s->command.program ? s->command.program : s->command.tool;
}

/* What was printed is not the far end's first line. */
static int unexpected(const struct iw_ssh_start *s, const char *line, struct iw_fault *why)
{
	char shown[SHOWN + 1];

	iw_printable(shown, sizeof(shown), line, IW_MAX(strcspn(line, "\r\n"), (size_t)1), false);
	return iw_fail(
		why, IW_E_FORMAT,
		"%s printed \"%s\" on standard output before %s answered: a start-up file of the shell there must print nothing without a terminal; nothing was sent",
		s->command.host, shown, program(s));
}

static int check_version(const struct iw_ssh_start *s, char *line, struct iw_fault *why)
{
	char *version = strchr(line + strlen(GREETING), ' ');
	uint64_t protocol;
	const char *fault;

	if (version)
		*version++ = '\0';
	if (iw_parse_u64(&protocol, line + strlen(GREETING), 0, UINT32_MAX, &fault) != 0)
		return unexpected(s, line, why);
	if (protocol == IW_SSH_PROTOCOL)
		return 0;
	return iw_fail(
		why, IW_E_NOTSUP,
		"%s: %s %s there has protocol %U of the ssh start-up, and version %s here has protocol %u: install the same version at both ends",
		s->command.host, program(s), version ? version : "", protocol, iw_version(),
		(uint32_t)IW_SSH_PROTOCOL);
}

static int greet(struct iw_ssh_start *s, struct iw_fault *why)
{
	char line[IW_SSH_LINE_MAX];
	int err = iw_ssh_link_line(&s->link, line, sizeof(line), GREETING,
				   iw_time_add(iw_os_now(), IW_SSH_FIRST_LINE_TIMEOUT), why);

	if (err == IW_E_CLOSED && line[0])
		return unexpected(s, line, why);
	if (err == IW_E_CLOSED) {
		err = iw_ssh_explain_exit(&s->command, s->pid,
					  iw_time_add(iw_os_now(), SSH_TIMEOUT), why);
		s->pid = 0;
		return err;
	}
	if (err == IW_E_TIMEOUT)
		return iw_fail(
			why, IW_E_TIMEOUT,
			"%s: no answer from %s within %t; is ssh waiting for a password, or is the host unreachable?",
			s->command.host, program(s), (uint64_t)IW_SSH_FIRST_LINE_TIMEOUT);
	if (err)
		return err;
	if (strncmp(line, GREETING, strlen(GREETING)) != 0)
		return unexpected(s, line, why);
	return check_version(s, line, why);
}

/* Adds the host and what failed to own, the failure of the pipe or of a message. */
static int name_host(const struct iw_ssh_start *s, const struct iw_fault *own, struct iw_fault *why)
{
	bool pipe = own->err == IW_E_CLOSED || own->err == IW_E_TIMEOUT || own->err == IW_E_OS;

	if (own->err == IW_E_CANCELED || own->err == IW_E_NOMEM) {
		*why = *own;
		return own->err;
	}
	return iw_fail(why, own->err, "%s: %s%s", s->command.host,
		       pipe ? "" : "malformed message of the far end: ", own->text);
}

/* Sends a message, of which only the paths may be too long. */
static int send_message(struct iw_ssh_start *s, const struct iw_ssh_msg *m, struct iw_fault *why)
{
	struct iw_fault own;
	int err = iw_ssh_link_send(&s->link, m, iw_time_add(iw_os_now(), ANSWER_TIMEOUT), &own);

	if (err == IW_E_LIMIT) {
		*why = own;
		return err;
	}
	return err ? name_host(s, &own, why) : 0;
}

/* Receives a message of the type, or an ERROR, which becomes *why. */
static int expect(struct iw_ssh_start *s, struct iw_ssh_msg *m, enum iw_ssh_type type,
		  struct iw_fault *why)
{
	struct iw_fault own;
	int err = iw_ssh_link_recv(&s->link, m, iw_time_add(iw_os_now(), ANSWER_TIMEOUT), &own);

	if (err)
		return name_host(s, &own, why);
	if (m->type == IW_SSH_ERROR)
		return iw_fail(why, IW_E_REJECTED, "%s: %s", s->command.host, m->error);
	if (m->type != type)
		return iw_fail(why, IW_E_FORMAT,
			       "%s: the far end sent message type %u; expected %u", s->command.host,
			       (uint32_t)m->type, (uint32_t)type);
	return 0;
}

static int take_paths(struct iw_ssh_start *s, struct iw_ssh_paths paths, size_t n,
		      struct iw_fault *why)
{
	const char *p;
	size_t len;

	if (paths.n != n)
		return iw_fail(why, IW_E_FORMAT, "%s: the far end sent %U paths; expected %U",
			       s->command.host, (uint64_t)paths.n, (uint64_t)n);
	s->paths = calloc(n + 1, sizeof(*s->paths));
	while (s->paths && iw_ssh_path_next(&paths, &p, &len)) {
		s->paths[s->npaths] = strndup(p, len);
		if (!s->paths[s->npaths])
			break;
		s->npaths++;
	}
	return s->npaths == n ? 0 : iw_fail(why, IW_E_NOMEM, "no memory for the paths");
}

/*
 * The zone of a link-local address has a meaning only on its own machine (RFC 4007 6). That of the
 * host that the user named applies here.
 */
static int take_address(struct iw_ssh_start *s, const char *addr, struct iw_fault *why)
{
	const char *zone = strchr(s->command.host, '%');
	struct iw_addr a;

	snprintf(s->addr, sizeof(s->addr), "%.*s%.15s", (int)strcspn(addr, "%"), addr,
		 strchr(addr, '%') && zone ? zone : "");
	/* A name would be resolved here. */
	if (iw_addr_parse(&a, s->addr, s->port) != 0)
		return iw_fail(why, IW_E_FORMAT, "%s: the far end sent \"%s\" as its address",
			       s->command.host, addr);
	return 0;
}

static int converse(struct iw_ssh_start *s, const struct iw_ssh_request *request,
		    struct iw_fault *why)
{
	struct iw_ssh_msg m = { .type = IW_SSH_REQUEST, .request = *request };
	int err = greet(s, why);

	if (!err)
		err = send_message(s, &m, why);
	if (!err)
		err = expect(s, &m, IW_SSH_READY, why);
	if (!err)
		err = take_paths(s, m.ready.paths, request->paths.n, why);
	if (!err)
		err = take_address(s, m.ready.addr, why);
	if (!err) {
		s->port = m.ready.port;
		s->udp_port = m.ready.udp_port;
		memcpy(s->secret, m.ready.secret, sizeof(s->secret));
	}
	explicit_bzero(&m, sizeof(m));
	explicit_bzero(s->link.buf, sizeof(s->link.buf));
	return err;
}

static int spawn(struct iw_ssh_start *s, const struct iw_ssh_command *command, bool later,
		 struct iw_fault *why)
{
	int fd, err;

	memset(s, 0, sizeof(*s));
	s->command = *command;
	s->pidfd = -1;
	iw_ssh_link_init(&s->link, -1);
	err = iw_ssh_spawn(command, later, &fd, &s->pid, why);
	if (err)
		return err;
	iw_ssh_link_init(&s->link, fd);
	s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	return 0;
}

int iw_ssh_start(struct iw_ssh_start *s, const struct iw_ssh_command *command,
		 const struct iw_ssh_request *request, struct iw_fault *why)
{
	int err = spawn(s, command, false, why);

	if (err)
		return err;
	err = converse(s, request, why);
	/* It may wait for a password, or for a host that does not answer. */
	if ((err == IW_E_CANCELED || err == IW_E_TIMEOUT) && s->pid > 0)
		kill(s->pid, SIGTERM);
	if (err)
		iw_ssh_end(s);
	return err;
}

int iw_ssh_prepare(struct iw_ssh_start *s, const struct iw_ssh_command *command,
		   struct iw_fault *why)
{
	return spawn(s, command, true, why);
}

int iw_ssh_proceed(struct iw_ssh_start *s, const struct iw_ssh_request *request,
		   struct iw_fault *why)
{
	int err = iw_ssh_link_write(&s->link, "", 1, iw_time_add(iw_os_now(), SSH_TIMEOUT), why);

	return err ? err : converse(s, request, why);
}

/* Waits until the connection is established, or the time is over. Returns an errno; -1: a signal. */
static int await_connect(int fd, uint64_t until)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLOUT },
			       { .fd = iw_signals_fd(), .events = POLLIN } };

	for (uint64_t now = iw_os_now(); now < until; now = iw_os_now()) {
		int r = poll(p, 2, (int)((until - now) / IW_MSEC(1)) + 1), errnum = 0;
		socklen_t len = sizeof(errnum);

		if (r < 0 && errno != EINTR)
			return errno;
		if (r > 0 && p[1].revents)
			return -1;
		if (r > 0 && p[0].revents)
			return getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0 ? errno
										       : errnum;
	}
	return ETIMEDOUT;
}

int iw_ssh_probe(const struct iw_ssh_start *s, struct iw_fault *why)
{
	uint64_t until = iw_time_add(iw_os_now(), IW_SSH_PROBE_TIMEOUT);
	char text[IW_ADDR_TEXT];
	struct iw_addr a;
	int fd, errnum;

	if (iw_addr_parse(&a, s->addr, s->port) != 0)
		return iw_fail(why, IW_E_NOENT, "%s is not an address here", s->addr);
	fd = socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return iw_os_fail(why, errno, "make a socket");
	errnum = connect(fd, &a.sa, a.len) < 0 ? errno : 0;
	if (errnum == EINPROGRESS)
		errnum = await_connect(fd, until);
	close(fd);
	if (errnum < 0)
		return iw_fail(why, IW_E_CANCELED, "interrupted");
	if (errnum > 0)
		return iw_os_fail(why, errnum, "connect to %s", iw_addr_format(text, &a));
	return 0;
}

int iw_ssh_fall_back(struct iw_ssh_start *s, int *fd, struct iw_fault *why)
{
	struct iw_ssh_msg m = { .type = IW_SSH_FALLBACK };
	int err = send_message(s, &m, why);

	if (!err)
		err = expect(s, &m, IW_SSH_AGREED, why);
	if (!err)
		*fd = iw_ssh_link_release(&s->link);
	return err;
}

void iw_ssh_end(struct iw_ssh_start *s)
{
	struct pollfd p = { .fd = s->pidfd, .events = POLLIN };
	uint64_t until = iw_time_add(iw_os_now(), END_TIMEOUT);

	/* The far end has nothing to say any more: an ERROR that it sent is not read. */
	iw_ssh_link_fini(&s->link);
	for (uint64_t now = iw_os_now(); s->pidfd >= 0 && now < until; now = iw_os_now())
		if (poll(&p, 1, (int)((until - now) / IW_MSEC(1)) + 1) != -1 || errno != EINTR)
			break;
	if (s->pidfd >= 0)
		close(s->pidfd);
	s->pidfd = -1;
	/* Otherwise it stays in the table of processes until process 1 waits for it. */
	if (s->pid > 0)
		(void)waitpid(s->pid, NULL, WNOHANG);
	s->pid = 0;
	explicit_bzero(s->secret, sizeof(s->secret));
	for (size_t i = 0; i < s->npaths; i++)
		free(s->paths[i]);
	free(s->paths);
	s->paths = NULL;
	s->npaths = 0;
}
