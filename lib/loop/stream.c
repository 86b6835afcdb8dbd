// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A connection over a stream transport (TCP): moves octets between its socket and the engine,
 * watches the socket, and keeps its deadlines.
 */
#include "loop/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "loop/internal.h"
#include "os/os.h"
#include "util/text.h"
#include "util/trace.h"

/*
 * Budget of a connection before the next one is served: reads of at most IW_LOOP_SCRATCH octets,
 * and batches of a struct iw_txbuf.
 */
#define RX_BUDGET   8
#define TX_BUDGET   4
/*
 * Octets of a batch. The socket may take only a part of a longer one, and the part may end within
 * an FPDU. Sent as a short segment, it would move all following FPDUs out of alignment (RFC 5044
 * 5.1).
 */
#define CUT_RISK    16384
/* How long a connection that is out of memory waits before it tries again. */
#define REST_NS     IW_MSEC(10)
/*
 * An EMSS older than this is read again before segments are cut to it. It changes only when the
 * path changes, which is rare.
 */
#define EMSS_AGE_NS IW_MSEC(1)

/* With a trace, how often the congestion control of the transport is read at most. */
#define SAMPLE_NS IW_MSEC(10)

struct stream_conn {
	struct iw_loop_conn lc;
	struct iw_stream *stream; /* owned */
	uint32_t armed;           /* epoll events watched for */
	bool watched;             /* the descriptor is in the epoll set */
	bool direct;              /* not in the epoll set, because the wait is in the socket */
	bool fresh;               /* accepted: the Request may have arrived already */
	bool blocked;             /* the socket is full: wait for EPOLLOUT */
	bool hung;        /* HUP while conn wants no input: not watched until conn wants some */
	bool holding;     /* the transport holds back segments that are not full */
	bool tx_dead;     /* sending failed (send_why); octets that have arrived are still read */
	uint64_t unacked; /* blocked: unacknowledged octets in the socket when last checked */
	uint64_t attempt_at; /* connecting: when the attempt at this address is given up */
	uint64_t rest_until; /* out of memory: no reads and no sends before; 0: not resting */
	uint64_t emss_at;    /* when the EMSS was last read */
	uint32_t emss;       /* as conn knows it; 0: not reported yet */
	const struct iw_tracer *tracer; /* conn's */
	uint64_t sampled_at;            /* when window and rtt were last traced */
	struct iw_fault send_why;
};

static struct stream_conn *stream_of(struct iw_loop_conn *lc)
{
	return iw_container_of(lc, struct stream_conn, lc);
}

static bool over(const struct stream_conn *k)
{
	return iw_loop_conn_over(&k->lc);
}

/* ---------------------------------------------------------------- watching the socket */

static void lost(struct stream_conn *k, const struct iw_fault *why, uint64_t now)
{
	iw_conn_lost(k->lc.conn, why, now);
}

static void watch_for(struct stream_conn *k, uint32_t events, uint64_t now)
{
	struct iw_fault why;

	if (k->watched && events == k->armed)
		return;
	if (iw_loop_watch(k->lc.loop, k->stream->fd, events, &k->lc.watch, !k->watched, &why) !=
	    0) {
		lost(k, &why, now);
		return;
	}
	k->watched = true;
	k->armed = events;
}

/*
 * fired: the events that epoll has just reported, except input that was read. Both kinds of
 * readiness stay watched until they are reported and not needed, so that a steady flow, or a
 * Request that is answered at once, does not switch them off and on again.
 */
static void update_watch(struct stream_conn *k, uint32_t fired, uint64_t now)
{
	uint32_t events = 0;

	if (over(k))
		return;
	if (k->stream->handshake)
		events |= EPOLLIN | (k->stream->unsent ? EPOLLOUT : 0u);
	else if (k->lc.connecting || k->blocked || (k->armed & EPOLLOUT && !(fired & EPOLLOUT)))
		events |= EPOLLOUT;
	if (!k->lc.connecting && iw_conn_wants_rx(k->lc.conn)) {
		events |= EPOLLIN;
		k->hung = false;
	} else if (k->watched && k->armed & EPOLLIN && !(fired & (EPOLLIN | EPOLLERR | EPOLLHUP))) {
		events |= EPOLLIN;
	}
	if (k->rest_until)
		events = 0;
	if (k->hung || (k->direct && events == EPOLLIN))
		return;
	k->direct = false;
	watch_for(k, events, now);
}

/* Returns the nearest deadline of the transport; conn has its own. */
static uint64_t own_deadline(const struct stream_conn *k)
{
	uint64_t at = k->lc.connecting ? k->attempt_at : IW_TIME_NEVER;

	return k->rest_until ? IW_MIN(at, k->rest_until) : at;
}

IW_TRACES static void trace_transport(struct stream_conn *k, uint64_t now)
{
	struct iw_trace_event window = { .kind = IW_TRACE_window };
	struct iw_trace_event rtt = { .kind = IW_TRACE_rtt };
	struct iw_stream_sample s;

	if (k->lc.connecting || over(k) || !k->stream->ops->sample ||
	    now < iw_time_add(k->sampled_at, SAMPLE_NS) || !k->stream->ops->sample(k->stream, &s))
		return;
	k->sampled_at = now;
	window.stream = rtt.stream = iw_conn_stream(k->lc.conn);
	window.window.cwnd_octets = s.cwnd;
	window.window.ssthresh_octets = s.ssthresh;
	window.window.flight_octets = s.flight;
	window.window.retransmits = s.retransmits;
	iw_trace(k->tracer, &window);
	rtt.rtt.srtt_ns = s.srtt;
	rtt.rtt.rttvar_ns = s.rttvar;
	rtt.rtt.rto_ns = s.rto;
	iw_trace(k->tracer, &rtt);
}

/* True if conn can have octets that are not in the socket any more. */
static bool has_pending(const struct stream_conn *k)
{
	return !k->lc.connecting && !k->rest_until && !over(k) && k->stream->ops->pending &&
	       k->stream->ops->pending(k->stream) && iw_conn_wants_rx(k->lc.conn);
}

/* Call it at the end of each function that has served a connection. */
static void settle(struct stream_conn *k, uint32_t fired, uint64_t now)
{
	if (iw_tracing(k->tracer))
		trace_transport(k, now);
	update_watch(k, fired, now);
	if (has_pending(k))
		iw_loop_conn_kick(&k->lc);
	iw_loop_conn_settle(&k->lc, own_deadline(k), now);
}

static void rest(struct stream_conn *k, uint64_t now)
{
	k->rest_until = now + REST_NS;
}

/* ---------------------------------------------------------------- out */

static void report_emss(struct stream_conn *k)
{
	if (k->stream->emss == k->emss)
		return;
	k->emss = k->stream->emss;
	iw_conn_set_emss(k->lc.conn, k->emss);
}

static void refresh_emss(struct stream_conn *k, uint64_t now)
{
	if (!iw_conn_aligned(k->lc.conn) || now < k->emss_at + EMSS_AGE_NS)
		return;
	k->emss_at = now;
	k->stream->ops->refresh(k->stream);
	report_emss(k);
}

/*
 * Sending has failed. While conn wants input, the connection stays up to read what the peer sent
 * before the failure, perhaps a Terminate. The socket is readable now, and the end of its input
 * ends the connection.
 */
static void send_failed(struct stream_conn *k, const struct iw_fault *why, uint64_t now)
{
	if (!iw_conn_wants_rx(k->lc.conn)) {
		lost(k, why, now);
		return;
	}
	k->tx_dead = true;
	k->send_why = *why;
}

static void shut_down(struct stream_conn *k, uint64_t now)
{
	struct iw_fault why;

	if (k->stream->ops->shutdown(k->stream, &why) != 0)
		send_failed(k, &why, now);
	k->blocked = k->stream->unsent;
}

/* While much output is pending, TCP sends full segments only, so that FPDUs stay aligned. */
static void hold_short(struct stream_conn *k, bool on)
{
	struct iw_fault why;

	if (on == k->holding || !k->stream->ops->hold_short)
		return;
	/* After a failure some FPDUs are not aligned, which receivers must accept. */
	if (k->stream->ops->hold_short(k->stream, on, &why) == 0)
		k->holding = on;
}

/*
 * Reports to conn that the peer has acknowledged octets of a full socket. The socket becomes
 * writable only when a third of its buffer is free, which on a slow line can take longer than the
 * stall time-out.
 */
static void check_unacked(struct stream_conn *k, uint64_t now)
{
	uint64_t left;

	if (!k->blocked || !k->stream->ops->unacked)
		return;
	left = k->stream->ops->unacked(k->stream);
	if (left < k->unacked)
		iw_conn_drained(k->lc.conn, now);
	k->unacked = left;
}

/* Sends what an earlier send has left. Returns true if new octets can follow. */
static bool flush_unsent(struct stream_conn *k, uint64_t now)
{
	struct iw_fault why;
	int err = k->stream->ops->flush(k->stream, &why);

	if (err == 0)
		return true;
	if (err == IW_E_AGAIN) {
		k->blocked = true;
		check_unacked(k, now);
	} else {
		send_failed(k, &why, now);
	}
	return false;
}

static void send_out(struct stream_conn *k, uint64_t now)
{
	struct iw_fault why;
	struct iw_tx tx;
	int budget;

	if (k->stream->unsent && !flush_unsent(k, now))
		return;
	for (budget = TX_BUDGET; budget > 0; budget--) {
		int64_t n;

		refresh_emss(k, now);
		if (!iw_conn_send(k->lc.conn, &tx, now))
			break;
		if (tx.bytes > CUT_RISK && iw_conn_aligned(k->lc.conn))
			hold_short(k, true);
		n = k->stream->ops->send(k->stream, tx.vec, tx.nvec, tx.eor, &why);
		if (n == IW_E_NOMEM) {
			rest(k, now);
			return;
		}
		if (n < 0 && n != IW_E_AGAIN) {
			send_failed(k, &why, now);
			return;
		}
		if (n > 0) {
			iw_conn_sent(k->lc.conn, (size_t)n, now);
			k->lc.loop->near.octets += (size_t)n;
		}
		if (n < 0 || (size_t)n < tx.bytes || k->stream->unsent) {
			k->blocked = true;
			check_unacked(k, now);
			return;
		}
		/* Usually nothing else is pending: this check is cheaper than beginning a batch. */
		if (!iw_conn_wants_tx(k->lc.conn)) {
			hold_short(k, false);
			return;
		}
	}
	if (budget == 0) {
		iw_loop_conn_kick(&k->lc);
		return;
	}
	hold_short(k, false);
	if (iw_conn_fin_due(k->lc.conn, now))
		shut_down(k, now);
}

static void pump(struct stream_conn *k, uint64_t now)
{
	if (!k->lc.connecting && !k->blocked && !k->tx_dead && !k->rest_until &&
	    (k->holding || k->stream->unsent || iw_conn_wants_tx(k->lc.conn)))
		send_out(k, now);
}

/* ---------------------------------------------------------------- in */

static void receive_failed(struct stream_conn *k, const struct iw_fault *why, uint64_t now)
{
	lost(k, k->tx_dead ? &k->send_why : why, now);
}

/*
 * Reads once. wait: may wait for octets, and sets *now to the time after the read. Returns 1 if
 * there may be more octets, and 0 if the socket is empty, reading failed or conn wants no more.
 * IW_E_AGAIN: no octets; IW_E_CANCELED: a signal ended the wait.
 */
static int receive_once(struct stream_conn *k, bool wait, uint64_t *now)
{
	const struct iw_vec scratch = { k->lc.loop->scratch, IW_LOOP_SCRATCH };
	struct iw_fault why;
	struct iw_vec vec[2];
	int nvec = iw_conn_rx_vec(k->lc.conn, scratch, vec);
	size_t asked;
	int64_t n;

	if (nvec < 0)
		rest(k, *now);
	if (nvec <= 0)
		return 0;
	asked = vec[0].len + (nvec > 1 ? vec[1].len : 0);
	if (wait) {
		n = k->stream->ops->recv_wait(k->stream, vec, (size_t)nvec, &why);
		*now = iw_os_now();
	} else {
		n = k->stream->ops->recv(k->stream, vec, (size_t)nvec, &why);
	}
	/* After an empty read too: it returns the scratch memory and a spill buffer. */
	iw_conn_received(k->lc.conn, n > 0 ? (size_t)n : 0, *now);
	k->lc.loop->near.octets += n > 0 ? (size_t)n : 0;
	if (n == IW_E_AGAIN || n == IW_E_CANCELED)
		return (int)n;
	if (n < 0 || (n == 0 && k->tx_dead))
		receive_failed(k, &why, *now);
	else if (n == 0)
		iw_conn_eof(k->lc.conn, *now);
	/*
	 * A read that returned less than it asked for has emptied the socket: another call would
	 * return nothing.
	 */
	return n > 0 && (size_t)n == asked;
}

static void receive(struct stream_conn *k, uint64_t now)
{
	int budget = RX_BUDGET;

	while (budget-- > 0 && receive_once(k, false, &now) > 0)
		continue;
}

/* Reads what epoll has reported, and clears EPOLLIN in *events unless the octets have ended. */
static void receive_ready(struct stream_conn *k, uint32_t *events, uint64_t now)
{
	receive(k, now);
	if (!k->stream->at_end)
		*events &= ~(uint32_t)EPOLLIN;
}

/*
 * The socket has failed, or both directions are shut down, while conn wants no input, so that no
 * read reports it.
 */
static void hung_up(struct stream_conn *k, uint64_t now)
{
	socklen_t len = sizeof(int);
	struct iw_fault why;
	int error = 0;

	if (getsockopt(k->stream->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error != 0) {
		iw_os_fail(&why, error, "connection with %s", k->stream->peer);
		if (error == ECONNRESET || error == EPIPE) {
			why.err = IW_E_CLOSED;
			why.clause = iw_err_clause(IW_E_CLOSED);
		}
		lost(k, &why, now);
		return;
	}
	/* epoll would report it in each wait, whatever events are watched for. */
	iw_loop_unwatch(k->lc.loop, k->stream->fd);
	k->watched = false;
	k->hung = true;
}

/* ---------------------------------------------------------------- connecting */

/* Gives this attempt an equal share of the remaining time; untried addresses get the others. */
static void limit_attempt(struct stream_conn *k, uint64_t now)
{
	uint64_t end = iw_conn_deadline(k->lc.conn);

	k->attempt_at = end > now && end != IW_TIME_NEVER
				? now + (end - now) / (k->stream->untried + 1)
				: end;
}

static void transport_up(struct stream_conn *k, uint64_t now)
{
	k->lc.connecting = false;
	k->emss_at = now;
	report_emss(k);
}

/*
 * err and why are the result of an attempt to connect. IW_E_AGAIN: it has failed, and another one
 * has begun, perhaps on another socket.
 */
static void attempt_ended(struct stream_conn *k, int err, const struct iw_fault *why, uint64_t now)
{
	if (err == 0) {
		transport_up(k, now);
	} else if (err == IW_E_AGAIN) {
		/* Closing a descriptor removed it from the set; the new one may have its number. */
		k->watched = false;
		limit_attempt(k, now);
		iw_loop_conn_set_timer(&k->lc, own_deadline(k), now);
	} else {
		lost(k, why, now);
	}
}

static void connecting_ready(struct stream_conn *k, uint64_t now)
{
	int fd = k->stream->fd;
	unsigned untried = k->stream->untried;
	struct iw_fault why = { 0 };
	int err = k->stream->ops->connected(k->stream, &why);

	if (err == IW_E_AGAIN && k->stream->handshake) {
		/* No other address follows: the handshake has all of the time. */
		k->attempt_at = iw_conn_deadline(k->lc.conn);
		iw_loop_conn_set_timer(&k->lc, own_deadline(k), now);
		return;
	}
	if (err == IW_E_AGAIN && k->stream->fd == fd && k->stream->untried == untried)
		return; /* still the same attempt */
	attempt_ended(k, err, &why, now);
}

static void connecting_timeout(struct stream_conn *k, uint64_t now)
{
	struct iw_fault why = { 0 };
	int err;

	if (now >= iw_conn_deadline(k->lc.conn)) {
		(void)k->stream->ops->no_answer(k->stream, iw_conn_whole_setup_ns(k->lc.conn),
						&why);
		lost(k, &why, now);
		return;
	}
	err = k->stream->ops->try_next(k->stream, &why);
	attempt_ended(k, err, &why, now);
}

/* ---------------------------------------------------------------- what the loop calls */

void iw_loop_stream_ready(struct iw_loop_conn *lc, uint32_t events, uint64_t now)
{
	struct stream_conn *k = stream_of(lc);

	if (over(k))
		return;
	if (lc->connecting) {
		connecting_ready(k, now);
		pump(k, now);
		settle(k, events, now);
		return;
	}
	if (events & EPOLLOUT)
		k->blocked = false;
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) {
		if (k->rest_until)
			;
		else if (iw_conn_wants_rx(lc->conn))
			receive_ready(k, &events, now);
		else if (events & (EPOLLERR | EPOLLHUP))
			hung_up(k, now);
	}
	pump(k, now);
	settle(k, events, now);
}

void iw_loop_stream_leave(struct iw_loop_conn *lc)
{
	struct stream_conn *k = stream_of(lc);

	if (!k->direct)
		return;
	k->direct = false;
	if (over(k))
		return;
	watch_for(k, EPOLLIN, iw_os_now());
	iw_loop_note(&lc->loop->ready, &lc->ready);
}

bool iw_loop_stream_can_wait(struct iw_loop_conn *lc)
{
	const struct stream_conn *k = stream_of(lc);

	return k->armed == EPOLLIN && !lc->connecting && !k->blocked && !k->rest_until &&
	       !over(k) && k->stream->ops->recv_wait && iw_conn_wants_rx(lc->conn);
}

int iw_loop_stream_wait(struct iw_loop_conn *lc, bool block, uint64_t *now)
{
	struct stream_conn *k = stream_of(lc);
	int ret;

	/* Out of the epoll set: the kernel would notify the set of each arrival as well. */
	if (k->watched)
		iw_loop_unwatch(lc->loop, k->stream->fd);
	k->watched = false;
	k->direct = true;
	ret = receive_once(k, block, now);
	if (!block)
		*now = iw_os_now();
	if (ret == IW_E_AGAIN || ret == IW_E_CANCELED)
		return ret;
	pump(k, *now);
	settle(k, 0, *now);
	return 0;
}

/* ---------------------------------------------------------------- the operations of a stream */

static void stream_serve(struct iw_loop_conn *lc, uint64_t now)
{
	struct stream_conn *k = stream_of(lc);

	if (has_pending(k) || k->fresh)
		receive(k, now);
	k->fresh = false;
	if (!over(k))
		pump(k, now);
	settle(k, 0, now);
}

static void stream_timer(struct iw_loop_conn *lc, uint64_t now)
{
	struct stream_conn *k = stream_of(lc);

	if (!over(k)) {
		if (now >= k->rest_until)
			k->rest_until = 0;
		if (lc->connecting && now >= IW_MIN(k->attempt_at, iw_conn_deadline(lc->conn)))
			connecting_timeout(k, now);
		else if (!lc->connecting && now >= iw_conn_deadline(lc->conn))
			check_unacked(k, now);
		if (!lc->connecting && now >= iw_conn_deadline(lc->conn))
			iw_conn_timeout(lc->conn, now);
		pump(k, now);
	}
	iw_loop_conn_set_timer(lc, own_deadline(k), now);
	settle(k, 0, now);
}

static void stream_free(struct iw_loop_conn *lc, bool abort)
{
	struct stream_conn *k = stream_of(lc);
	struct iw_loop *l = lc->loop;

	/* Closing the descriptor does not remove a socket that has another descriptor. */
	if (k->watched)
		iw_loop_unwatch(l, k->stream->fd);
	k->stream->ops->close(k->stream, abort);
	l->streams--;
	iw_mem_free(l->mem, k, sizeof(*k));
}

static void stream_ends(struct iw_loop_conn *lc, struct iw_llp_ends *out)
{
	iw_stream_ends(stream_of(lc)->stream, out);
}

static void stream_facts(struct iw_loop_conn *lc, struct iw_llp_facts *out)
{
	struct iw_stream *s = stream_of(lc)->stream;

	if (!lc->connecting && s->ops->facts)
		s->ops->facts(s, out);
}

static bool stream_tls(struct iw_loop_conn *lc, struct iw_tls_info *out)
{
	struct iw_stream *s = stream_of(lc)->stream;

	return s->ops->tls && s->ops->tls(s, out);
}

static int stream_set_cc(struct iw_loop_conn *lc, const char *name, struct iw_fault *why)
{
	struct iw_stream *s = stream_of(lc)->stream;

	return s->ops->set_cc ? s->ops->set_cc(s, name, why)
			      : iw_loop_no_cc(name, s->ops->name, why);
}

static const struct conn_ops stream_ops = {
	.serve = stream_serve,
	.timer = stream_timer,
	.free = stream_free,
	.ends = stream_ends,
	.facts = stream_facts,
	.set_cc = stream_set_cc,
	.tls = stream_tls,
};

int iw_loop_stream_new(struct iw_loop_conn **out, struct iw_loop *l, struct iw_stream *stream,
		       struct iw_conn *conn, void *owner, bool connecting, struct iw_fault *why)
{
	struct stream_conn *k = iw_mem_alloc(l->mem, sizeof(*k));
	uint64_t now = iw_os_now();
	uint32_t events;
	int err;

	if (!k) {
		stream->ops->close(stream, true);
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for a connection");
	}
	k->stream = stream;
	k->tracer = iw_conn_tracer(conn);
	k->attempt_at = IW_TIME_NEVER;
	k->lc.connecting = connecting;
	iw_loop_conn_init(&k->lc, &stream_ops, WATCH_STREAM, l, conn, owner);
	l->streams++;
	k->fresh = !connecting;
	if (connecting)
		limit_attempt(k, now);
	else
		transport_up(k, now);
	err = iw_loop_conn_add_timer(&k->lc, own_deadline(k), now, why);
	/* To a listener on this machine TCP is up already. */
	if (!err && connecting && stream->up)
		connecting_ready(k, now);
	events = k->lc.connecting && !stream->handshake ? EPOLLOUT : EPOLLIN;
	if (!err && !over(k))
		err = iw_loop_watch(l, stream->fd, events, &k->lc.watch, true, why);
	if (err) {
		iw_loop_conn_free(&k->lc, true);
		return err;
	}
	k->watched = !over(k);
	k->armed = events;
	if (!k->lc.connecting || over(k))
		iw_loop_conn_kick(&k->lc); /* an initiator sends its Request */
	*out = &k->lc;
	return 0;
}
