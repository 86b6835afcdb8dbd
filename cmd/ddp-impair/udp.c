// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The carrier of datagrams: each client of the listening socket gets a socket of its own towards the
 * server, until it is idle for five minutes. Without rules, a link and a capture, runs of datagrams
 * pass as the kernel joins them (GRO), and leave in one system call (GSO).
 */
#include "ddp-impair/udp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/confine.h"
#include "cli/signals.h"
#include "ddp-impair/impair.h"
#include "ddp-impair/direction.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

enum { READY_MAX = 64, ROUNDS = 4 };

#define IDLE_NS  IW_SEC(300)
#define SWEEP_NS IW_SEC(10)

/* The link carries a header before each datagram, as long as that of Ethernet, which it never
 * changes: the number of the client. */
#define HEAD 14

static uint8_t datagram[HEAD + IW_UDP_RUN];

static struct iw_udp_client *client_of(struct iw_udp *u, const struct iw_addr *from, uint64_t now)
{
	struct iw_udp_client *c = iw_udp_client_find(u, from);

	if (!c)
		c = iw_udp_client_add(u, from, now);
	if (c)
		c->used = now;
	return c;
}

/* --- through the rules and the link ----------------------------------------------------------- */

/* at: HEAD octets, and a datagram of len octets. */
static void push(struct iw_udp *u, const struct iw_udp_client *c, unsigned from, uint8_t *at,
		 size_t len, const struct iw_fate *fate, uint64_t now)
{
	iw_put_be32(at, c->number);
	iw_reorder_push(&u->direction[from].order, 2 * (uint64_t)c->number - 1 + from, at,
			HEAD + len, fate, now);
}

static void inject(struct iw_udp *u, const struct iw_udp_client *c, unsigned from,
		   const struct iw_fate *fate, bool after, uint64_t now)
{
	static const struct iw_fate plain = { 0 };
	static uint8_t injected[HEAD + IW_UDP_RUN];

	for (size_t i = 0; i < fate->injects; i++) {
		const struct iw_action *a = fate->inject[i];
		size_t len = IW_MIN(a->octets_len, IW_UDP_RUN);

		if (a->after != after)
			continue;
		memcpy(injected + HEAD, a->octets, len);
		push(u, c, from, injected, len, &plain, now);
	}
}

static void push_one(struct iw_udp *u, struct iw_udp_client *c, unsigned from,
		     const uint8_t *octets, size_t len, uint64_t now)
{
	struct iw_fate fate = { .len = len };

	memcpy(datagram + HEAD, octets, len);
	if (u->r->need_units)
		iw_flow_datagram(&c->flow, from, datagram + HEAD, len, now, &fate);
	if (fate.rebind)
		iw_udp_client_rebind(u, c);
	inject(u, c, from, &fate, false, now);
	push(u, c, from, datagram, fate.len, &fate, now);
	inject(u, c, from, &fate, true, now);
}

static void take(struct iw_udp *u, struct iw_udp_client *c, unsigned from,
		 const struct iw_udp_run *run, uint64_t now)
{
	if (u->plain) {
		iw_udp_send_run(u, c, from, run);
		return;
	}
	for (size_t at = 0; at < run->len; at += run->seg)
		push_one(u, c, from, run->octets + at, IW_MIN(run->seg, run->len - at), now);
	if (run->len == 0)
		push_one(u, c, from, run->octets, 0, now);
}

/* --- in --------------------------------------------------------------------------------------- */

static int from_clients(struct iw_udp *u, uint64_t now, struct iw_fault *why)
{
	struct iw_udp_run run[IW_UDP_BATCH];
	int n = iw_udp_receive(u, u->fd, run, why);

	for (int i = 0; i < n; i++) {
		struct iw_udp_client *c = client_of(u, &run[i].peer, now);

		if (c)
			take(u, c, IW_UNIT_INITIATOR, &run[i], now);
		else
			u->refused++;
	}
	return n;
}

static int from_server(struct iw_udp *u, struct iw_udp_client *c, uint64_t now,
		       struct iw_fault *why)
{
	struct iw_udp_run run[IW_UDP_BATCH];
	int n = iw_udp_receive(u, c->fd, run, why);

	if (n > 0)
		c->used = now;
	for (int i = 0; i < n; i++)
		take(u, c, IW_UNIT_RESPONDER, &run[i], now);
	return n;
}

/* Reads a socket until it is empty, or a few times: others wait too. */
static int serve(struct iw_udp *u, uint64_t key, struct iw_fault *why)
{
	struct iw_udp_client *c = key ? iw_udp_client_get(u, (uint32_t)key) : NULL;
	int n = 1;

	for (int i = 0; i < ROUNDS && n > 0; i++) {
		uint64_t now = iw_os_now();

		if (key == 0)
			n = from_clients(u, now, why);
		else
			n = c ? from_server(u, c, now, why) : 0;
	}
	return IW_MIN(n, 0);
}

/* --- out -------------------------------------------------------------------------------------- */

static void capture_datagram(struct iw_udp *u, const struct iw_udp_client *c, unsigned from,
			     const struct iw_link_frame *f)
{
	if (u->r->capture)
		iw_relay_capture_datagram(u->r->capture,
					  from == IW_UNIT_INITIATOR ? &c->addr : &u->server,
					  from == IW_UNIT_INITIATOR ? &u->server : &c->addr,
					  f->data + HEAD, f->len - HEAD);
}

static void send_due(struct iw_udp *u, unsigned from, uint64_t now)
{
	struct iw_relay_direction *d = &u->direction[from];
	struct iw_link_frame *f[IW_UDP_SEGS];
	struct iovec iov[IW_UDP_SEGS];
	uint32_t client[IW_UDP_SEGS];
	size_t n;

	iw_reorder_tick(&d->order, now);
	do {
		for (n = 0; n < IW_UDP_SEGS && (f[n] = iw_link_pop(d->link, now)); n++) {
			iov[n] = (struct iovec){ (void *)(uintptr_t)(f[n]->data + HEAD),
						 f[n]->len - HEAD };
			client[n] = iw_get_be32(f[n]->data);
		}
		iw_udp_send_many(u, from, client, iov, n);
		for (size_t i = 0; i < n; i++) {
			const struct iw_udp_client *c = iw_udp_client_get(u, client[i]);

			if (c)
				capture_datagram(u, c, from, f[i]);
			iw_link_put(d->link, f[i]);
		}
	} while (n == IW_UDP_SEGS);
}

/* --- the loop --------------------------------------------------------------------------------- */

static int wait_for(struct iw_udp *u, struct iw_fault *why)
{
	struct pollfd fds[] = { { .fd = u->epoll, .events = POLLIN },
				{ .fd = iw_signals_fd(), .events = POLLIN } };
	uint64_t at = IW_MIN(IW_MIN(u->r->end_ns, u->sweep_at),
			     IW_MIN(iw_relay_direction_deadline(&u->direction[0]),
				    iw_relay_direction_deadline(&u->direction[1])));
	uint64_t now = iw_os_now(), left = at > now ? at - now : 0;
	struct timespec time = { (time_t)(left / IW_SEC(1)), (long)(left % IW_SEC(1)) };

	if (ppoll(fds, IW_ARRAY_LEN(fds), &time, NULL) < 0 && errno != EINTR)
		return iw_os_fail(why, errno, "poll");
	return 0;
}

static int relay(struct iw_udp *u, struct iw_fault *why)
{
	struct epoll_event ready[READY_MAX];
	int err = 0;

	u->sweep_at = iw_os_now() + SWEEP_NS;
	while (!err && !iw_signals_stop() && iw_os_now() < u->r->end_ns) {
		int n = epoll_wait(u->epoll, ready, READY_MAX, 0);
		uint64_t now;

		for (int i = 0; i < n && !err; i++)
			err = serve(u, ready[i].data.u64, why);
		now = iw_os_now();
		for (unsigned d = 0; d < 2; d++)
			send_due(u, d, now);
		if (now >= u->sweep_at) {
			iw_udp_clients_sweep(u, now > IDLE_NS ? now - IDLE_NS : 0);
			u->sweep_at = now + SWEEP_NS;
		}
		if (!err && n <= 0)
			err = wait_for(u, why);
	}
	return err;
}

/* --- begin and end ---------------------------------------------------------------------------- */

static struct iw_link_cfg link_of(const struct iw_relay *r, unsigned d)
{
	struct iw_link_cfg cfg = r->link[d];

	/* The limits are for datagrams without the header. */
	if (cfg.min_len)
		cfg.min_len += HEAD;
	if (cfg.max_len)
		cfg.max_len += HEAD;
	return cfg;
}

static int open_all(struct iw_udp *u, struct iw_fault *why)
{
	int err = iw_udp_open(u, why);

	u->flow_cfg = iw_relay_flow_cfg(u->r);
	u->plain = !u->r->need_units && !u->r->linked[0] && !u->r->linked[1] && !u->r->capture;
	for (unsigned d = 0; d < 2 && !err; d++) {
		struct iw_link_cfg cfg = link_of(u->r, d);

		err = iw_relay_direction_init(&u->direction[d], &cfg, why);
	}
	return err ? err : iw_confine_plain(u->r->cli, IW_CONFINE_REOPENS, why);
}

static int ready(const struct iw_udp *u, struct iw_fault *why)
{
	struct iw_cli *cli = u->r->cli;
	char at[IW_ADDR_TEXT], to[IW_ADDR_TEXT];

	if (!cli->quiet || u->r->listen_port == 0)
		fprintf(stderr, "%s: listening on %s port %u, relaying datagrams to %s port %u\n",
			cli->tool, iw_addr_host(at, &u->local), iw_addr_port(&u->local),
			iw_addr_host(to, &u->server), iw_addr_port(&u->server));
	if (!cli->json)
		return 0;
	iw_json_begin(&cli->out, "listening");
	iw_json_str(&cli->out, "transport", "udp");
	iw_json_str(&cli->out, "address", iw_addr_format(at, &u->local));
	iw_json_u64(&cli->out, "port", iw_addr_port(&u->local));
	return iw_json_end(&cli->out) < 0 ? iw_os_fail(why, EPIPE, "standard output") : 0;
}

static int report(struct iw_udp *u)
{
	const struct iw_relay_count none = { NULL, 0 };
	const struct iw_relay_count counts[] = { { "connections", u->clients },
						 { "refused", u->refused },
						 { NULL, 0 } };
	char host[IW_ADDR_TEXT];
	int err = 0;

	iw_addr_format(host, &u->server);
	if (!u->plain) {
		err = iw_relay_report(u->r, &u->direction[0], "clients", host, &none);
		if (!err)
			err = iw_relay_report(u->r, &u->direction[1], host, "clients", &none);
	}
	return err ? IW_EXIT_FAILED : iw_relay_report_end(u->r, counts, true);
}

int iw_relay_udp(struct iw_relay *r)
{
	static struct iw_udp u;
	struct iw_fault why = { 0 };
	int err, status;

	u = (struct iw_udp){ .r = r, .fd = -1, .epoll = -1 };
	/* Delays must be exact: the default timer slack would add 50 us. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL);
	err = open_all(&u, &why);
	if (!err)
		err = ready(&u, &why);
	if (!err)
		err = relay(&u, &why);
	status = err ? iw_cli_fail(r->cli, &why) : report(&u);
	iw_udp_close(&u);
	for (unsigned d = 0; d < 2; d++)
		iw_relay_direction_fini(&u.direction[d]);
	return status;
}
