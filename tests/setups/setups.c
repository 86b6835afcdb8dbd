// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections one after another: each is set up, carries one zero-length RDMA Read, and is closed in
 * order by both ends before the next one begins.
 *
 *   setups serve KIND ADDR PORT          prints "listening"; the report after SIGTERM
 *   setups open  KIND ADDR PORT LIMIT    LIMIT: a number of connections, or seconds such as 5s
 *
 * KIND:
 *   tcp       TCP connections
 *   udp       SCTP associations in UDP, with one DDP stream session each; the UDP port is PORT too
 *   session   DDP stream sessions on one such association, which another session holds
 *   bare      for comparison, TCP connections without this library: connect and accept, then each
 *             end shuts its direction down, reads the end of the other one, and closes; no octets
 *
 * The report of both ends: "connections N failed F ns T rss FIRST LAST descriptors FIRST LAST". N
 * of open does not include the session that holds the association. FIRST is the resident memory in octets,
 * and the number of descriptors, after CHECKED connections; LAST is the same after the last one.
 * Exit status: 0 no connection failed, 1 at least one failed, 2 usage, 4 it cannot run here.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iwarp/verbs.h>

#include "os/os.h"
#include "program.h"
#include "util/num.h"

enum { CHECKED = 10000, LIMIT_MAX = 100000000, BACKLOG = 128 };

/* What a process uses. */
struct used {
	uint64_t rss, descriptors;
};

struct ends {
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_endpoint_attr at;
	struct iw_qp *holder; /* session, open: it holds the association */
	bool open, session;
	bool leaving; /* open: the last connection, except the holder, has ended */
	uint64_t ended, failed;
	uint64_t count, until; /* open: no connection begins after either; 0: no such limit */
	uint64_t began;        /* ns; serve: when the first connection was accepted */
	bool over;
	struct used first;
};

static void count_failure(struct ends *e, const char *why)
{
	if (e->failed++ < FAILURES_SHOWN)
		fprintf(stderr, "setups: connection %" PRIu64 ": %s\n", e->ended + 1, why);
}

/* --- the report ------------------------------------------------------------------------------- */

static struct used used_now(void)
{
	struct used u = { 0 };
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	DIR *d;

	if (!f || fscanf(f, "%*u %lu", &pages) != 1)
		die("/proc/self/statm", "cannot be read");
	fclose(f);
	u.rss = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	d = opendir("/proc/self/fd");
	if (!d)
		die("/proc/self/fd", "cannot be read");
	while (readdir(d))
		u.descriptors++;
	closedir(d);
	u.descriptors -= 3; /* "." and "..", and the descriptor of the directory */
	return u;
}

static void count_ended(struct ends *e)
{
	if (++e->ended == CHECKED)
		e->first = used_now();
}

static void report(const struct ends *e)
{
	const struct used last = used_now();

	printf("connections %" PRIu64 " failed %" PRIu64 " ns %" PRIu64 " rss %" PRIu64 " %" PRIu64
	       " descriptors %" PRIu64 " %" PRIu64 "\n",
	       e->ended, e->failed, iw_os_now() - e->began, e->first.rss, last.rss,
	       e->first.descriptors, last.descriptors);
}

/* True if another connection may begin. */
static bool may_begin(const struct ends *e)
{
	return !stopped && (!e->count || e->ended < e->count) &&
	       (!e->until || iw_os_now() < e->until);
}

/* --- with the library ------------------------------------------------------------------------- */

static void begin_next(struct ends *e)
{
	struct iw_endpoint_attr at = e->at;
	struct iw_fault why;
	struct iw_qp *qp;

	if (!may_begin(e)) {
		e->over = !e->holder;
		if (e->holder)
			iw_disconnect(e->holder);
		e->leaving = true;
		return;
	}
	at.beside = e->holder;
	qp = make_qp(e->pd, e->cq, NULL);
	if (iw_connect(qp, &at, NULL, &why) != 0)
		die("connect", why.text);
}

static void post_empty_read(struct ends *e, struct iw_qp *qp)
{
	const struct iw_send_wr wr = { .op = IW_WR_READ };
	struct iw_fault why;

	if (iw_post_send(qp, &wr, &why) == 0)
		return;
	count_failure(e, why.text);
	iw_disconnect(qp);
}

static void opened(struct ends *e, struct iw_qp *qp)
{
	if (!e->session || e->holder) {
		post_empty_read(e, qp);
		return;
	}
	e->holder = qp;
	begin_next(e);
}

static void closed(struct ends *e, const struct iw_async_event *ev)
{
	if (ev->qp == e->holder && (!e->leaving || ev->fault.err != IW_OK))
		die("the association ended", ev->fault.text);
	if (ev->fault.err != IW_OK)
		count_failure(e, ev->fault.text);
	iw_qp_free(ev->qp);
	if (e->leaving) {
		e->over = true;
		return;
	}
	count_ended(e);
	if (e->open)
		begin_next(e);
}

static void admit(struct ends *e, struct iw_conn_req *req)
{
	struct iw_qp *qp = make_qp(e->pd, e->cq, NULL);
	struct iw_fault why;

	if (!e->began)
		e->began = iw_os_now();
	if (iw_accept(req, qp, NULL, &why) == 0)
		return;
	count_failure(e, why.text);
	iw_qp_free(qp);
}

static void take_event(struct ends *e, const struct iw_async_event *ev)
{
	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST:
		admit(e, ev->req);
		break;
	case IW_EV_ESTABLISHED:
		if (e->open)
			opened(e, ev->qp);
		break;
	case IW_EV_PEER_CLOSED:
		iw_disconnect(ev->qp);
		break;
	case IW_EV_REJECTED:
		die("connect", ev->fault.text);
	case IW_EV_CLOSED:
		closed(e, ev);
		break;
	}
}

static void turn(struct ends *e)
{
	struct iw_async_event ev;
	struct iw_wc wc;

	if (iw_progress(e->ctx, (int64_t)IW_SEC(1)) < 0)
		die("progress", "failed");
	while (iw_cq_poll(e->cq, &wc, 1) == 1) {
		if (wc.status != IW_OK)
			count_failure(e, "the RDMA Read failed");
		iw_disconnect(wc.qp);
	}
	while (iw_next_event(e->ctx, &ev))
		take_event(e, &ev);
}

static void run_open(struct ends *e)
{
	struct iw_fault why;

	if (!e->session) {
		begin_next(e);
	} else if (iw_connect(make_qp(e->pd, e->cq, NULL), &e->at, NULL, &why) != 0) {
		die("connect", why.text);
	}
	while (!e->over)
		turn(e);
}

static void run_serve(struct ends *e)
{
	struct iw_listener *l;
	struct iw_fault why;

	if (iw_listen(&l, e->ctx, &e->at, NULL, &why) != 0)
		die("listen", why.text);
	printf("listening\n");
	fflush(stdout);
	while (!stopped)
		turn(e);
}

static void run_library(struct ends *e, const char *kind)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr) };
	struct iw_fault why;

	e->session = strcmp(kind, "session") == 0;
	e->at.size = sizeof(e->at);
	e->at.transport = strcmp(kind, "tcp") == 0 ? "tcp" : "udp";
	if (strcmp(kind, "tcp") != 0)
		e->at.udp_port = e->at.port;
	if (iw_ctx_new(&e->ctx, &attr, &why) != 0)
		die("context", why.text);
	if (iw_pd_new(&e->pd, e->ctx) != 0 || iw_cq_new(&e->cq, e->ctx) != 0)
		die("context", "no memory");
	if (e->open)
		run_open(e);
	else
		run_serve(e);
	report(e);
	iw_ctx_free(e->ctx);
}

/* --- plain TCP ---------------------------------------------------------------------------------- */

/* Closes the connection after both ends have shut down their directions. */
static void close_in_order(struct ends *e, int fd, bool first)
{
	char octet;

	if (first && shutdown(fd, SHUT_WR) != 0)
		count_failure(e, strerror(errno));
	if (recv(fd, &octet, 1, 0) != 0)
		count_failure(e, "no end of the peer's octets");
	if (!first && shutdown(fd, SHUT_WR) != 0)
		count_failure(e, strerror(errno));
}

static void bare_open(struct ends *e, const struct sockaddr_in *at)
{
	while (may_begin(e)) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (const struct sockaddr *)at, sizeof(*at)) != 0)
			die("connect", strerror(errno));
		close_in_order(e, fd, true);
		close(fd);
		count_ended(e);
	}
}

static void bare_serve(struct ends *e, const struct sockaddr_in *at)
{
	const int on = 1;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(listener, (const struct sockaddr *)at, sizeof(*at)) != 0 ||
	    listen(listener, BACKLOG) != 0)
		die("listen", strerror(errno));
	printf("listening\n");
	fflush(stdout);
	while (!stopped) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && errno == EINTR)
			continue;
		if (fd < 0)
			die("accept", strerror(errno));
		if (!e->began)
			e->began = iw_os_now();
		close_in_order(e, fd, false);
		close(fd);
		count_ended(e);
	}
	close(listener);
}

static void run_bare(struct ends *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(e->at.port) };

	if (inet_pton(AF_INET, e->at.host, &at.sin_addr) != 1)
		die(e->at.host, "not an IPv4 address");
	if (e->open)
		bare_open(e, &at);
	else
		bare_serve(e, &at);
	report(e);
}

/* --- arguments -------------------------------------------------------------------------------- */

static void parse_limit(struct ends *e, char *text)
{
	size_t len = strlen(text);

	if (len > 0 && text[len - 1] == 's') {
		text[len - 1] = '\0';
		e->until = e->began + IW_SEC(number(text, 3600));
	} else {
		e->count = number(text, LIMIT_MAX);
	}
}

static bool is_kind(const char *text)
{
	static const char *const kinds[] = { "tcp", "udp", "session", "bare" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(text, kinds[i]) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	bool open = argc == 6 && strcmp(argv[1], "open") == 0;
	struct ends e = { .open = open };

	if ((!open && !(argc == 5 && strcmp(argv[1], "serve") == 0)) || !is_kind(argv[2])) {
		fprintf(stderr,
			"usage: setups serve tcp|udp|session|bare ADDR PORT\n"
			"       setups open tcp|udp|session|bare ADDR PORT NUMBER|SECONDSs\n");
		return PROGRAM_USAGE;
	}
	end_on_sigterm();
	e.at.host = argv[3];
	e.at.port = (uint16_t)number(argv[4], UINT16_MAX);
	if (open) {
		e.began = iw_os_now();
		parse_limit(&e, argv[5]);
	}
	if (strcmp(argv[2], "bare") == 0)
		run_bare(&e);
	else
		run_library(&e, argv[2]);
	return e.failed > 0;
}
