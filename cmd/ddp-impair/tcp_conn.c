// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A relayed connection: two sockets, what is read from one and written to the other, and its end. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/log.h"
#include "ddp-impair/tcp.h"
#include "os/os.h"
#include "os/sock.h"
#include "util/num.h"

#define CLOSE_NS   IW_SEC(1) /* that an orderly end, or the last octets before a reset, may take */
#define SPLICE_MAX (1u << 20)
#define POLL_NS    IW_MSEC(1) /* between checks of what the peer has acknowledged */

/* --- readiness --- */

static uint32_t wanted(const struct iw_tcp_conn *c, unsigned side)
{
	uint32_t want = 0;

	if (!c->connected)
		return side == 1 ? EPOLLOUT : 0;
	if (iw_relay_tcp_flow_reads(c, side))
		want |= EPOLLIN;
	if (c->end[side].full)
		want |= EPOLLOUT;
	return want;
}

static int poll_end(struct iw_tcp_end *e)
{
	uint32_t want = wanted(e->conn, e->side);
	struct epoll_event ev = { .events = want, .data.ptr = e };
	int op = !want ? EPOLL_CTL_DEL : e->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (want == e->events || e->fd < 0)
		return 0;
	e->events = want;
	return epoll_ctl(e->conn->tcp->epoll, op, e->fd, &ev);
}

/* Without rules: an end has reset the connection, and its octets have left. */
static bool ends_by_reset(const struct iw_tcp_flow *f)
{
	return f->in_reset && f->in_ended && !f->in_len;
}

static uint64_t deadline(const struct iw_tcp_conn *c, uint64_t now)
{
	uint64_t at = IW_TIME_NEVER;

	if (!c->connected)
		return c->connect_ns;
	if (c->closing)
		return c->close_ns;
	if (c->resetting)
		return IW_MIN(now + POLL_NS, c->close_ns);
	if (c->tcp->plain)
		return ends_by_reset(&c->flow[0]) || ends_by_reset(&c->flow[1]) ? now
										: IW_TIME_NEVER;
	for (unsigned d = 0; d < 2; d++) {
		uint64_t due = iw_queue_due(&c->flow[d].out);

		if (!c->end[!d].full || due > now)
			at = IW_MIN(at, due);
	}
	return at;
}

/* After every step: what to wait for. */
static void wait_for_next(struct iw_tcp_conn *c, uint64_t now)
{
	uint64_t at = deadline(c, now);
	int err = 0;

	if (at == IW_TIME_NEVER)
		iw_heap_del(&c->tcp->timers, &c->timer);
	else if (at != c->timer.at)
		err = iw_heap_set(&c->tcp->timers, &c->timer, at);
	if (err < 0 || poll_end(&c->end[0]) < 0 || poll_end(&c->end[1]) < 0) {
		iw_log_error("connection %u: out of memory; reset", c->number);
		iw_relay_tcp_conn_close(c, true);
	}
}

/* --- the end --- */

void iw_relay_tcp_conn_close(struct iw_tcp_conn *c, bool reset)
{
	struct linger now = { .l_onoff = 1 };
	struct iw_tcp *t = c->tcp;

	if (c->closed)
		return;
	c->closed = true;
	for (unsigned side = 0; side < 2; side++) {
		struct iw_tcp_end *e = &c->end[side];

		t->octets[side] += c->flow[side].octets;
		t->units[side] += c->flow[side].units;
		if (e->fd < 0)
			continue;
		if (reset)
			(void)setsockopt(e->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		(void)close(e->fd);
		e->fd = -1;
	}
	if (t->relay->capture && c->connected && reset)
		iw_relay_capture_end(t->relay->capture, &c->capture, c->reset_by, true);
	iw_heap_del(&t->timers, &c->timer);
	iw_list_del(&c->link);
	iw_list_add_tail(&t->closed, &c->link);
	t->open--;
}

void iw_relay_tcp_conn_free(struct iw_tcp_conn *c)
{
	iw_relay_tcp_flow_fini(&c->flow[0], c->tcp);
	iw_relay_tcp_flow_fini(&c->flow[1], c->tcp);
	free(c);
}

static void send_fin(struct iw_tcp_conn *c, unsigned from)
{
	struct iw_tcp_flow *f = &c->flow[from];

	if (f->fin_sent)
		return;
	f->fin_sent = true;
	(void)shutdown(c->end[!from].fd, SHUT_WR);
	if (c->tcp->relay->capture)
		iw_relay_capture_end(c->tcp->relay->capture, &c->capture, from, false);
}

/* Ends both directions in order; what still arrives is dropped. */
static void close_both(struct iw_tcp_conn *c, uint64_t now)
{
	for (unsigned d = 0; d < 2; d++) {
		struct iw_tcp_flow *f = &c->flow[d];

		send_fin(c, d);
		f->discard = f->ended = true;
		iw_queue_clear(&f->out);
	}
	c->closing = true;
	c->close_ns = now + CLOSE_NS;
}

/* Resets both ends once the octets before have arrived: a reset drops those that have not. */
static void reset_both(struct iw_tcp_conn *c, unsigned from, uint64_t now)
{
	if (!c->resetting) {
		c->resetting = true;
		c->reset_by = from;
		c->close_ns = now + CLOSE_NS;
	}
	if (!iw_tcp_unacked(c->end[!from].fd))
		iw_relay_tcp_conn_close(c, true);
}

/* All octets of this end have left. Passes on what ended its direction: a FIN or a reset. */
static void end_in_order(struct iw_tcp_conn *c, unsigned from, uint64_t now)
{
	if (c->flow[from].in_reset)
		reset_both(c, from, now);
	else
		send_fin(c, from);
}

/*
 * This end has reset the connection, as a failed call reports. Octets that it sent before may still
 * be in the socket or in the queue: the reset follows them, as it does without a relay.
 */
static void was_reset(struct iw_tcp_conn *c, unsigned side)
{
	struct iw_tcp_flow *f = &c->flow[side], *back = &c->flow[!side];

	if (c->closing || back->in_reset) {
		iw_relay_tcp_conn_close(c, true);
		return;
	}
	f->in_reset = true;
	/* Its FIN was passed on before. */
	if (f->fin_sent && !c->tcp->plain)
		iw_queue_end(&f->out, IW_QUEUE_RESET, 0);
	/* Nothing can leave in the other direction any more. */
	iw_queue_clear(&back->out);
	back->in_ended = back->discard = back->ended = true;
}

/* --- octets --- */

static void read_end(struct iw_tcp_conn *c, unsigned side)
{
	struct iw_tcp_flow *f = &c->flow[side];
	ssize_t n;

	if (f->discard)
		f->in_len = 0;
	if (f->pipe[1] >= 0)
		n = splice(c->end[side].fd, NULL, f->pipe[1], NULL, SPLICE_MAX,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	else
		n = recv(c->end[side].fd, f->in + f->in_len, IW_TCP_IN - f->in_len, 0);
	if (n > 0) {
		f->in_len += (size_t)n;
	} else if (n == 0) {
		f->in_ended = true;
	} else if (errno != EAGAIN && errno != EINTR) {
		f->in_ended = true;
		was_reset(c, side);
	}
}

/* all octets were offered to the end that receives direction d; sent: the result of the call. */
static size_t written(struct iw_tcp_conn *c, unsigned d, ssize_t sent, size_t all)
{
	struct iw_tcp_end *e = &c->end[!d];

	if (sent < 0) {
		e->full = errno == EAGAIN || errno == EINTR;
		if (!e->full)
			was_reset(c, !d);
		return 0;
	}
	e->full = (size_t)sent < all;
	c->flow[d].octets += (uint64_t)sent;
	return (size_t)sent;
}

static size_t write_end(struct iw_tcp_conn *c, unsigned d, struct iovec *iov, int n)
{
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = (size_t)n };
	size_t all = iov[0].iov_len + (n > 1 ? iov[1].iov_len : 0);
	size_t sent = written(c, d, sendmsg(c->end[!d].fd, &m, MSG_NOSIGNAL), all), left = sent;

	for (int i = 0; i < n && left && c->tcp->relay->capture; i++) {
		size_t part = IW_MIN(left, iov[i].iov_len);

		iw_relay_capture_octets(c->tcp->relay->capture, &c->capture, d, iov[i].iov_base,
					part);
		left -= part;
	}
	return sent;
}

static size_t write_plain(struct iw_tcp_conn *c, unsigned d)
{
	struct iw_tcp_flow *f = &c->flow[d];
	struct iovec iov = { f->in + f->in_off, f->in_len };

	if (f->pipe[0] < 0)
		return write_end(c, d, &iov, 1);
	return written(c, d,
		       splice(f->pipe[0], NULL, c->end[!d].fd, NULL, f->in_len,
			      SPLICE_F_MOVE | SPLICE_F_NONBLOCK),
		       f->in_len);
}

static void pump_plain(struct iw_tcp_conn *c, unsigned d, uint64_t now)
{
	struct iw_tcp_flow *f = &c->flow[d];

	/* The other end has reset the connection. */
	if (f->ended)
		return;
	if (f->in_len && !c->end[!d].full) {
		size_t n = write_plain(c, d);

		f->in_len -= n;
		f->in_off = f->in_len ? f->in_off + n : 0;
	}
	if (!c->closed && f->in_ended && !f->in_len && !f->ended)
		end_in_order(c, d, now);
}

static void end_direction(struct iw_tcp_conn *c, unsigned d, enum iw_queue_end end, uint64_t now)
{
	switch (end) {
	case IW_QUEUE_FIN:
		end_in_order(c, d, now);
		if (c->flow[d].fin_sent)
			iw_queue_clear(&c->flow[d].out);
		break;
	case IW_QUEUE_CLOSE:
		close_both(c, now);
		break;
	case IW_QUEUE_RESET:
		reset_both(c, d, now);
		break;
	case IW_QUEUE_OPEN:
		break;
	}
}

static void pump_queue(struct iw_tcp_conn *c, unsigned d, uint64_t now)
{
	struct iw_tcp_flow *f = &c->flow[d];

	iw_relay_tcp_flow_run(c, d, now);
	while (!c->closed && !c->end[!d].full) {
		enum iw_queue_end end;
		struct iovec iov[2];
		int n;
		size_t len = iw_queue_peek(&f->out, now, iov, &n, &end);

		if (len == 0) {
			end_direction(c, d, end, now);
			break;
		}
		len = write_end(c, d, iov, n);
		iw_queue_take(&f->out, len, now);
		if (len && !c->closed)
			iw_relay_tcp_flow_run(c, d, now);
	}
}

static void pump(struct iw_tcp_conn *c, uint64_t now)
{
	for (unsigned d = 0; d < 2 && !c->closed; d++) {
		if (c->tcp->plain)
			pump_plain(c, d, now);
		else
			pump_queue(c, d, now);
	}
	if (c->closed)
		return;
	/* Both ends have closed: after an end by a rule, also what they still send was read. */
	if (c->flow[0].fin_sent && c->flow[1].fin_sent && c->flow[0].in_ended &&
	    c->flow[1].in_ended)
		iw_relay_tcp_conn_close(c, false);
	else
		wait_for_next(c, now);
}

/* --- the connection to the endpoint --- */

static int connect_next(struct iw_tcp_conn *c, struct iw_fault *why)
{
	struct iw_sock_cfg cfg = { .nodelay = true };
	struct iw_tcp *t = c->tcp;
	struct iw_tcp_end *e = &c->end[1];
	int err = IW_E_OS;

	if (e->fd >= 0)
		(void)close(e->fd);
	e->fd = -1;
	e->events = 0;
	while (c->address < t->addresses) {
		err = iw_tcp_connect(&e->fd, &t->to[c->address++], &cfg, why);
		if (err == 0)
			return 0;
		e->fd = -1;
	}
	return err;
}

/* The endpoint cannot be reached: the initiator gets a reset, as from the endpoint. */
static void give_up(struct iw_tcp_conn *c, const struct iw_fault *why)
{
	iw_log_warn("connection %u: %s", c->number, why->text);
	c->tcp->refused++;
	iw_relay_tcp_conn_close(c, true);
}

static void connected(struct iw_tcp_conn *c, uint64_t now)
{
	struct iw_addr from, to = c->tcp->to[c->address - 1];

	c->connected = true;
	c->begin_ns = now;
	c->tcp->connections++;
	iw_log_info("connection %u: established", c->number);
	if (!c->tcp->relay->capture)
		return;
	from = c->capture.end[0];
	iw_relay_capture_open_stream(c->tcp->relay->capture, &c->capture, &from, &to);
}

static void connecting(struct iw_tcp_conn *c, uint64_t now)
{
	struct iw_fault why = { 0 };
	int err = iw_tcp_connect_result(c->end[1].fd, &c->tcp->to[c->address - 1], NULL, &why);

	if (err == IW_E_AGAIN)
		return;
	if (err == 0) {
		connected(c, now);
		pump(c, now);
	} else if (c->address < c->tcp->addresses && connect_next(c, &why) == 0) {
		wait_for_next(c, now);
	} else {
		give_up(c, &why);
	}
}

void iw_relay_tcp_conn_ready(struct iw_tcp_end *e, uint32_t events, uint64_t now)
{
	struct iw_tcp_conn *c = e->conn;

	if (c->closed)
		return;
	if (!c->connected) {
		if (e->side == 1)
			connecting(c, now);
		return;
	}
	if (events & EPOLLOUT)
		e->full = false;
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && iw_relay_tcp_flow_reads(c, e->side))
		read_end(c, e->side);
	if (!c->closed)
		pump(c, now);
}

void iw_relay_tcp_conn_timeout(struct iw_tcp_conn *c, uint64_t now)
{
	struct iw_fault why = { 0 };

	if (!c->connected) {
		(void)iw_fail(&why, IW_E_TIMEOUT, "%s: no answer within --timeout",
			      c->tcp->relay->to_host);
		give_up(c, &why);
	} else if (c->closing) {
		iw_relay_tcp_conn_close(c, false);
	} else if (c->resetting && now >= c->close_ns) {
		iw_relay_tcp_conn_close(c, true);
	} else {
		pump(c, now);
	}
}

void iw_relay_tcp_conn_new(struct iw_tcp *t, int fd, const struct iw_addr *peer, uint64_t now)
{
	struct iw_tcp_conn *c = calloc(1, sizeof(*c));
	struct iw_fault why = { 0 };

	if (!c) {
		iw_log_error("out of memory: a connection was refused");
		(void)close(fd);
		return;
	}
	c->tcp = t;
	c->number = ++t->next;
	c->timer.at = IW_TIME_NEVER;
	c->connect_ns = iw_time_add(now, t->relay->connect_timeout_ns);
	c->capture.end[0] = *peer;
	for (unsigned side = 0; side < 2; side++)
		c->end[side] = (struct iw_tcp_end){ .conn = c, .fd = -1, .side = side };
	c->end[0].fd = fd;
	iw_framer_init(&c->framer, c->number);
	iw_list_init(&c->link);
	iw_list_add_tail(&t->conns, &c->link);
	t->open++;
	if (iw_relay_tcp_flow_init(c->flow, t) < 0) {
		(void)iw_fail(&why, IW_E_NOMEM, "out of memory");
		give_up(c, &why);
	} else if (connect_next(c, &why) < 0) {
		give_up(c, &why);
	} else {
		wait_for_next(c, now);
	}
}
