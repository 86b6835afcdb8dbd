// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The relay of TCP streams: its listener, its loop and its results. */
#include "ddp-impair/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/confine.h"
#include "cli/signals.h"
#include "os/os.h"
#include "os/sock.h"
#include "util/num.h"
#include "util/text.h"

#define BACKLOG   512
#define BATCH     64
#define RESUME_NS IW_SEC(1) /* until the listener is polled again, if no connection ends */

static int watch(struct iw_tcp *t, int fd, void *ptr, struct iw_fault *why)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = ptr };

	return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? iw_os_fail(why, errno, "epoll")
							       : 0;
}

static int open_listener(struct iw_tcp *t, struct iw_fault *why)
{
	struct iw_relay *r = t->relay;
	struct iw_sock_cfg cfg = { .nodelay = true };
	struct iw_addr at;
	size_t n;
	int err = iw_addr_resolve(&at, 1, &n, r->listen_host, r->listen_port, why);

	return err < 0 ? err : iw_tcp_listen(&t->listener, &at, BACKLOG, &cfg, why);
}

static int open_all(struct iw_tcp *t, struct iw_fault *why)
{
	struct iw_relay *r = t->relay;
	int err = 0;

	t->listener = -1;
	t->resume_ns = IW_TIME_NEVER;
	t->plain = !r->need_units && !r->capture && !r->linked[0] && !r->linked[1];
	iw_list_init(&t->conns);
	iw_list_init(&t->closed);
	iw_heap_init(&t->timers, &iw_os_heap);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0)
		err = iw_os_fail(why, errno, "epoll");
	if (err == 0)
		err = iw_addr_resolve(t->to, IW_TCP_ADDRESSES, &t->addresses, r->to_host,
				      r->to_port, why);
	if (err == 0)
		err = open_listener(t, why);
	if (err == 0)
		err = watch(t, t->listener, &t->listener, why);
	if (err == 0)
		err = watch(t, iw_signals_fd(), NULL, why);
	return err == 0 ? iw_confine_plain(r->cli, 0, why) : err;
}

static void free_closed(struct iw_tcp *t)
{
	struct iw_list *l;

	while ((l = iw_list_first(&t->closed))) {
		iw_list_del(l);
		iw_relay_tcp_conn_free(iw_container_of(l, struct iw_tcp_conn, link));
	}
}

static void close_all(struct iw_tcp *t)
{
	struct iw_list *l;

	while ((l = iw_list_first(&t->conns)))
		iw_relay_tcp_conn_close(iw_container_of(l, struct iw_tcp_conn, link), true);
	free_closed(t);
	iw_heap_fini(&t->timers);
	if (t->listener >= 0)
		(void)close(t->listener);
	if (t->epoll >= 0)
		(void)close(t->epoll);
}

/* --- ready and result --- */

static int show_ready(const struct iw_tcp *t)
{
	struct iw_cli *cli = t->relay->cli;
	char host[IW_ADDR_TEXT], to[IW_ADDR_TEXT];
	struct iw_addr at;

	if (iw_sock_local(t->listener, &at) < 0)
		return 0;
	(void)iw_addr_host(host, &at);
	if (!cli->quiet || t->relay->listen_port == 0)
		fprintf(stderr, "%s: listening on %s port %u, relaying to %s port %u\n", cli->tool,
			host, iw_addr_port(&at), iw_addr_host(to, &t->to[0]), t->relay->to_port);
	if (!cli->json)
		return 0;
	iw_json_begin(&cli->out, "listening");
	iw_json_str(&cli->out, "transport", "tcp");
	iw_json_str(&cli->out, "address", iw_addr_format(to, &at));
	iw_json_u64(&cli->out, "port", iw_addr_port(&at));
	return iw_json_end(&cli->out);
}

static int show_json(const struct iw_tcp *t, int status)
{
	const struct iw_cli *cli = t->relay->cli;
	struct iw_json *out = &t->relay->cli->out;

	iw_json_begin(out, "result");
	iw_json_str(out, "tool", cli->tool);
	iw_json_u64(out, "connections", t->connections);
	iw_json_u64(out, "refused", t->refused);
	iw_json_u64(out, "initiator_octets", t->octets[0]);
	iw_json_u64(out, "responder_octets", t->octets[1]);
	iw_json_u64(out, "initiator_units", t->units[0]);
	iw_json_u64(out, "responder_units", t->units[1]);
	iw_relay_log_show_json(t->relay->log, out);
	iw_json_u64(out, "status", (uint64_t)status);
	return iw_json_end(out);
}

static int show_result(const struct iw_tcp *t)
{
	struct iw_cli *cli = t->relay->cli;
	int status = iw_relay_log_unused(t->relay->log) ? IW_EXIT_NO : IW_EXIT_OK;

	if (cli->json)
		return show_json(t, status) < 0 ? IW_EXIT_FAILED : status;
	if (cli->quiet)
		return status;
	printf("%llu connection%s, %llu refused; octets from initiators %llu, from responders %llu; ",
	       (unsigned long long)t->connections, t->connections == 1 ? "" : "s",
	       (unsigned long long)t->refused, (unsigned long long)t->octets[0],
	       (unsigned long long)t->octets[1]);
	iw_relay_log_show(t->relay->log);
	return status;
}

/* --- the loop --- */

/* A connection cannot be accepted for lack of descriptors or memory: it stays queued. */
static void pause_listener(struct iw_tcp *t, const struct iw_fault *why, uint64_t now)
{
	if (!t->warned)
		iw_log_warn("%s; new connections wait until one ends", why->text);
	t->warned = true;
	(void)epoll_ctl(t->epoll, EPOLL_CTL_DEL, t->listener, NULL);
	t->resume_ns = now + RESUME_NS;
}

static void accept_some(struct iw_tcp *t, uint64_t now)
{
	struct iw_fault why = { 0 };
	struct iw_addr peer;
	int fd, err;

	for (unsigned i = 0; i < BATCH; i++) {
		err = iw_tcp_accept(&fd, &peer, t->listener, &why);
		if (err == IW_E_AGAIN)
			return;
		if (err < 0) {
			pause_listener(t, &why, now);
			return;
		}
		t->warned = false;
		iw_relay_tcp_conn_new(t, fd, &peer, now);
	}
}

/* open: connections before the events of this round. */
static void resume_listener(struct iw_tcp *t, size_t open, uint64_t now)
{
	struct iw_fault why;

	if (t->resume_ns == IW_TIME_NEVER || (t->open >= open && now < t->resume_ns))
		return;
	t->resume_ns = watch(t, t->listener, &t->listener, &why) == 0 ? IW_TIME_NEVER
								      : now + RESUME_NS;
}

static void run_timers(struct iw_tcp *t, uint64_t now)
{
	struct iw_timer *first;

	while ((first = iw_heap_first(&t->timers)) && first->at <= now) {
		struct iw_tcp_conn *c = iw_container_of(first, struct iw_tcp_conn, timer);

		iw_heap_del(&t->timers, first);
		iw_relay_tcp_conn_timeout(c, now);
	}
}

static int wait_events(const struct iw_tcp *t, struct epoll_event *ev)
{
	const struct iw_timer *first = iw_heap_first(&t->timers);
	uint64_t at =
		IW_MIN(IW_MIN(t->relay->end_ns, t->resume_ns), first ? first->at : IW_TIME_NEVER);
	uint64_t now = iw_os_now(), left = at > now ? at - now : 0;
	struct timespec ts = { .tv_sec = (time_t)(left / IW_SEC(1)),
			       .tv_nsec = (long)(left % IW_SEC(1)) };
	int n = epoll_pwait2(t->epoll, ev, BATCH, at == IW_TIME_NEVER ? NULL : &ts, NULL);

	if (n < 0 && errno == ENOSYS)
		n = epoll_wait(t->epoll, ev, BATCH,
			       at == IW_TIME_NEVER ? -1
						   : (int)IW_MIN(left / 1000000 + 1, 1000000u));
	return n;
}

static int loop(struct iw_tcp *t, struct iw_fault *why)
{
	struct epoll_event ev[BATCH];

	while (!iw_signals_stop() && iw_os_now() < t->relay->end_ns) {
		int n = wait_events(t, ev);
		uint64_t now = iw_os_now();
		size_t open = t->open;

		if (n < 0 && errno != EINTR)
			return iw_os_fail(why, errno, "epoll");
		for (int i = 0; i < n; i++) {
			if (ev[i].data.ptr == &t->listener)
				accept_some(t, now);
			else if (ev[i].data.ptr)
				iw_relay_tcp_conn_ready(ev[i].data.ptr, ev[i].events, now);
		}
		run_timers(t, now);
		free_closed(t);
		resume_listener(t, open, now);
	}
	return 0;
}

int iw_relay_tcp(struct iw_relay *r)
{
	struct iw_tcp t = { .relay = r };
	struct iw_fault why = { 0 };
	int err;

	/* Delays must be exact: the default timer slack would add 50 us. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL);
	err = open_all(&t, &why);
	if (err == 0 && show_ready(&t) < 0)
		err = iw_fail(&why, IW_E_OS, "standard output: a write failed");
	if (err == 0)
		err = loop(&t, &why);
	close_all(&t);
	if (err == 0)
		return show_result(&t);
	return iw_cli_fail(r->cli, &why);
}
