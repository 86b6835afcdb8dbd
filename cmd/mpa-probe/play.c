// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One TCP connection: sends octets, records what the peer does. */
#include "mpa-probe/play.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/json.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define READ_MAX  65536
#define SCRAP_MAX 16384
#define TRACE_HEX 1024 /* octets of a read that a line of the trace shows */

static const char *const kind_names[] = {
	[IW_PLAY_CONNECTED] = "connected", [IW_PLAY_SENT] = "sent", [IW_PLAY_RECEIVED] = "received",
	[IW_PLAY_SHUT] = "shut",           [IW_PLAY_FIN] = "fin",   [IW_PLAY_RESET] = "reset",
	[IW_PLAY_LOST] = "lost",
};

uint64_t iw_play_now(const struct iw_play *p)
{
	return iw_os_now() - p->t0;
}

/* --- the record --- */

static void trace(struct iw_play *p, const struct iw_play_note *n, const uint8_t *octets)
{
	char line[2 * TRACE_HEX + 256];
	struct iw_text t;

	iw_text_init(&t, line, sizeof(line));
	iw_text_fmt(&t, "{\"schema\":1,\"event\":\"played\",\"t_ns\":%U,\"time_ns\":\"%U\",",
		    (p->t0 + n->at_ns) & IW_JSON_MAX, p->wall0 + n->at_ns);
	iw_text_fmt(&t, "\"connection\":%u,", p->number);
	iw_text_fmt(&t, "\"since_ns\":%U,\"what\":\"%s\"", n->at_ns, kind_names[n->kind]);
	if (octets) {
		iw_text_fmt(&t, ",\"offset_octets\":%U,\"octets\":%U,\"hex\":\"", (uint64_t)n->off,
			    (uint64_t)n->len);
		iw_text_octets(&t, octets, IW_MIN(n->len, (size_t)TRACE_HEX));
		iw_text_str(&t, "\"");
	}
	if (n->os_errno)
		iw_text_fmt(&t, ",\"errno\":%u", (uint32_t)n->os_errno);
	iw_text_str(&t, "}");
	p->trace(p->trace_ctx, line);
}

static void note(struct iw_play *p, enum iw_play_kind kind, size_t off, const uint8_t *octets,
		 size_t len, int os_errno)
{
	struct iw_play_note n = {
		.kind = kind, .at_ns = iw_play_now(p), .off = off, .len = len, .os_errno = os_errno
	};

	if (p->nnotes < IW_PLAY_NOTES)
		p->notes[p->nnotes++] = n;
	else
		p->notes_lost++;
	if (p->trace)
		trace(p, &n, octets);
}

const struct iw_play_note *iw_play_find(const struct iw_play *p, enum iw_play_kind kind,
					size_t from)
{
	for (size_t i = from; i < p->nnotes; i++)
		if (p->notes[i].kind == kind)
			return &p->notes[i];
	return NULL;
}

/*
 * Records how the connection ended, from the error of a call. It is recorded once: after a send has
 * failed, a receive reports the same error.
 */
static void ended(struct iw_play *p, const struct iw_fault *why)
{
	if (p->reset || p->lost)
		return;
	/*
	 * A peer that closes with unread octets sends a reset. The next send then fails with EPIPE.
	 */
	if (why->os_errno == ECONNRESET || why->os_errno == EPIPE) {
		p->reset = true;
		note(p, IW_PLAY_RESET, 0, NULL, 0, why->os_errno);
		return;
	}
	p->lost = true;
	p->os_errno = why->os_errno;
	note(p, IW_PLAY_LOST, 0, NULL, 0, why->os_errno);
}

/* --- waiting --- */

/* Waits for events on the socket. Returns 1, 0 at time `until`, or IW_E_CANCELED. */
static int ready(const struct iw_play *p, short events, uint64_t until)
{
	struct pollfd fd[2] = { { .fd = p->llp->fd, .events = events },
				{ .fd = p->stop_fd, .events = POLLIN } };

	for (;;) {
		uint64_t now = iw_os_now(), left = now < until ? until - now : 0;
		struct timespec ts = { .tv_sec = (time_t)(left / IW_SEC(1)),
				       .tv_nsec = (long)(left % IW_SEC(1)) };
		int n = ppoll(fd, 2, &ts, NULL);

		if (n > 0 && fd[1].revents)
			return IW_E_CANCELED;
		if (n > 0)
			return 1;
		if (left == 0)
			return 0;
	}
}

/* Waits for ns without reading. Returns 0 or IW_E_CANCELED. */
static int pause_for(const struct iw_play *p, uint64_t ns)
{
	struct pollfd fd = { .fd = p->stop_fd, .events = POLLIN };
	uint64_t until = iw_time_add(iw_os_now(), ns), now;

	while ((now = iw_os_now()) < until) {
		struct timespec ts = { .tv_sec = (time_t)((until - now) / IW_SEC(1)),
				       .tv_nsec = (long)((until - now) % IW_SEC(1)) };

		if (ppoll(&fd, 1, &ts, NULL) > 0)
			return IW_E_CANCELED;
	}
	return 0;
}

/* --- connecting and ending --- */

static short connecting_events(const struct iw_stream *l)
{
	if (!l->handshake)
		return POLLOUT;
	return l->unsent ? POLLIN | POLLOUT : POLLIN;
}

/* Compares the key of the peer with the remembered one. */
static int check_key(struct iw_stream *l, struct iw_cli_secure *secure, struct iw_fault *why)
{
	struct iw_tls_info info = { .size = sizeof(info) };

	return iw_cli_secure_seen(secure, l->ops->tls && l->ops->tls(l, &info) ? &info : NULL, why);
}

int iw_play_connect(struct iw_play *p, const struct iw_play_cfg *cfg, uint64_t limit_ns,
		    struct iw_fault *why)
{
	const struct iw_llp_cfg lc = { .host = cfg->host,
				       .port = cfg->port,
				       .bind_addr = cfg->bind_addr,
				       .interface = cfg->interface,
				       .tls = cfg->secure ? cfg->secure->creds : NULL,
				       .tls_name = cfg->name ? cfg->name : cfg->host };
	uint64_t until;
	int err;

	*p = (struct iw_play){
		.stop_fd = cfg->stop_fd,
		.trace = cfg->trace,
		.trace_ctx = cfg->trace_ctx,
		.number = cfg->number,
		.t0 = iw_os_now(),
		.wall0 = iw_os_wall(),
	};
	until = iw_time_add(p->t0, limit_ns);
	err = iw_stream_open(&p->llp, iw_stream_find("tcp"), &lc, why);
	if (err)
		return err;
	do {
		err = ready(p, connecting_events(p->llp), until);
		if (err < 0)
			return iw_fail(why, err, "connect to %s: interrupted", p->llp->peer);
		if (err == 0)
			return iw_fail(
				why, IW_E_TIMEOUT,
				"no answer within %U ms; is the address right, and does a firewall let the connection through?",
				limit_ns / 1000000);
		err = p->llp->ops->connected(p->llp, why);
	} while (err == IW_E_AGAIN);
	if (!err && cfg->secure)
		err = check_key(p->llp, cfg->secure, why);
	if (err) {
		if (cfg->secure)
			iw_cli_secure_failed(cfg->secure, why);
		return err;
	}
	note(p, IW_PLAY_CONNECTED, 0, NULL, 0, 0);
	return 0;
}

void iw_play_end(struct iw_play *p)
{
	if (p->llp)
		p->llp->ops->close(p->llp, false);
	p->llp = NULL;
	free(p->rx);
	p->rx = NULL;
}

void iw_play_shut(struct iw_play *p)
{
	struct iw_fault why = { 0 };

	if (!p->llp || p->shut)
		return;
	p->shut = true;
	if (p->llp->ops->shutdown(p->llp, &why) != 0) {
		ended(p, &why);
		return;
	}
	note(p, IW_PLAY_SHUT, 0, NULL, 0, 0);
}

/* --- octets --- */

static int room_for_read(struct iw_play *p)
{
	size_t cap = IW_MIN(IW_MAX(2 * p->rx_cap, (size_t)2048), (size_t)IW_PLAY_RX_MAX);
	uint8_t *rx;

	if (p->rx_cap - p->rx_len >= 1024 || p->rx_cap == IW_PLAY_RX_MAX)
		return 0;
	rx = realloc(p->rx, cap);
	if (!rx)
		return IW_E_NOMEM;
	p->rx = rx;
	p->rx_cap = cap;
	return 0;
}

/*
 * Reads once. Returns 1 if octets were received or the connection ended, 0 if not, or IW_E_NOMEM.
 */
static int read_once(struct iw_play *p)
{
	uint8_t scrap[SCRAP_MAX]; /* octets that are not kept */
	struct iw_vec vec;
	struct iw_fault why = { 0 };
	size_t off = p->rx_len;
	int64_t n;
	int err;

	err = room_for_read(p);
	if (err)
		return err;
	vec = (struct iw_vec){ p->rx + p->rx_len, IW_MIN(p->rx_cap - p->rx_len, (size_t)READ_MAX) };
	if (vec.len == 0)
		vec = (struct iw_vec){ scrap, sizeof(scrap) };
	n = p->llp->ops->recv(p->llp, &vec, 1, &why);
	if (n == IW_E_AGAIN)
		return 0;
	if (n < 0) {
		ended(p, &why);
	} else if (n == 0) {
		p->fin = true;
		note(p, IW_PLAY_FIN, 0, NULL, 0, 0);
	} else if (vec.base == scrap) {
		p->rx_lost += (uint64_t)n;
	} else {
		p->rx_len += (size_t)n;
		note(p, IW_PLAY_RECEIVED, off, p->rx + off, (size_t)n, 0);
	}
	return 1;
}

static bool is_pending(struct iw_stream *l)
{
	return l->ops->pending && l->ops->pending(l);
}

int iw_play_wait(struct iw_play *p, size_t want, uint64_t limit_ns)
{
	uint64_t until = iw_time_add(iw_os_now(), limit_ns);
	int err;

	while (p->rx_len < want && !iw_play_over(p) && p->llp) {
		err = is_pending(p->llp) ? 1 : ready(p, POLLIN, until);
		if (err <= 0)
			return err;
		err = read_once(p);
		if (err < 0)
			return err;
	}
	return p->rx_len >= want;
}

/* Sends the octets that the stream has accepted and the socket has not. */
static int flush(struct iw_play *p, uint64_t until)
{
	struct iw_fault why = { 0 };
	int err;

	while (p->llp->unsent) {
		err = ready(p, POLLOUT, until);
		if (err <= 0)
			return err == 0 ? IW_E_TIMEOUT : err;
		err = p->llp->ops->flush(p->llp, &why);
		if (err && err != IW_E_AGAIN) {
			ended(p, &why);
			return IW_E_CLOSED;
		}
	}
	return 0;
}

/* Sends as much as the socket takes until `until`. */
static int send_piece(struct iw_play *p, const uint8_t *octets, size_t len, uint64_t until)
{
	size_t off = (size_t)p->sent, done = 0;
	int err = 0;

	while (done < len && !err) {
		union {
			const uint8_t *in;
			void *out;
		} u = { .in = octets + done }; /* senders only read what an iw_vec points to */
		struct iw_vec vec = { u.out, len - done };
		struct iw_fault why = { 0 };
		int64_t n = p->llp->ops->send(p->llp, &vec, 1, true, &why);

		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (n != IW_E_AGAIN) {
			ended(p, &why);
			err = IW_E_CLOSED;
			break;
		}
		err = ready(p, POLLOUT, until);
		err = err == 0 ? IW_E_TIMEOUT : err < 0 ? err : 0;
	}
	p->sent += done;
	if (!err)
		err = flush(p, until);
	if (done)
		note(p, IW_PLAY_SENT, off, octets, done, 0);
	return err;
}

int iw_play_send(struct iw_play *p, const void *octets, size_t len, size_t piece, uint64_t gap_ns,
		 uint64_t limit_ns)
{
	uint64_t until = iw_time_add(iw_os_now(), limit_ns);
	const uint8_t *o = octets;
	int err = 0;

	if (!p->llp || p->reset || p->lost)
		return IW_E_CLOSED;
	for (size_t done = 0; done < len && !err;) {
		size_t n = piece ? IW_MIN(piece, len - done) : len - done;

		if (done && gap_ns)
			err = pause_for(p, gap_ns);
		if (!err)
			err = send_piece(p, o + done, n, until);
		done += n;
	}
	return err;
}

void iw_play_facts(const struct iw_play *p, struct iw_play_facts *out)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	*out = (struct iw_play_facts){ 0 };
	if (!p->llp)
		return;
	snprintf(out->local, sizeof(out->local), "%s", p->llp->local);
	snprintf(out->peer, sizeof(out->peer), "%s", p->llp->peer);
	p->llp->ops->refresh(p->llp);
	out->mss = p->llp->emss;
	if (getsockopt(p->llp->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0) {
		out->pmtu = info.tcpi_pmtu;
		out->rtt_ns = (uint64_t)info.tcpi_rtt * 1000;
	}
}
