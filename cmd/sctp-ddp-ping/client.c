// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The client: opens an association with a session on each stream, sends messages and times their
 * replies. */
#include "sctp-ddp-ping/ping.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conn_facts.h"
#include "cli/context.h"
#include "cli/listener.h"
#include "cli/param.h"
#include "cli/pattern.h"
#include "cli/signals.h"
#include "os/os.h"
#include "os/sock.h"
#include "util/num.h"
#include "util/text.h"

#define POLL         64
#define WINDOW_MOST  64
#define WINDOW_LEAST 4
/* Messages without a reply on all streams together, at most, and their octets. */
#define SLOTS        4096
#define SLOT_OCTETS  (UINT64_C(64) << 20)
#define SEED         UINT64_C(0x69775070696e67)
#define READ_NS      IW_MSEC(100) /* between two readings of the association's state */
#define CLOSE_NS     IW_SEC(3)    /* limit of the wait for the peer to close its sessions */
#define LAST_NS      IW_SEC(1)    /* limit of the wait for pending replies after a signal */

enum phase { CONNECTING, OPENING, FLOWING, OVER };

/* A message without a reply. */
struct slot {
	uint64_t at;       /* time when it was sent, ns */
	uint8_t *out, *in; /* the message, and the buffer for its reply; cfg.size octets each */
};

struct stream {
	struct iw_qp *qp; /* NULL: no session yet */
	bool open;
	uint64_t sends_done; /* Sends completed */
	struct slot *slots;  /* message n uses slot n % window */
	struct iw_ping_stat stat;
};

struct iw_ping {
	struct iw_ping_cfg cfg;
	uint32_t window;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	enum phase phase;
	uint32_t asked, open, gone; /* sessions: requested, established, ended */
	/* Times in ns. */
	uint64_t now;
	/* When the first message is due; the number of the next message, see due_at(). */
	uint64_t start, due;
	uint64_t heard;     /* of the latest reply, or of the first message without one */
	uint64_t next_read; /* when to read the state of the association next */
	uint32_t mtu;       /* path MTU of the primary address, octets */
	uint64_t stop_at;   /* after a signal: when to end at the latest; 0: no signal */
	bool reported_up;   /* IW_PING_UP was reported */
	bool failed;        /* with fault */
	struct iw_fault fault;
	struct iw_assoc_info assoc;
	struct iw_qp_info session;
	struct iw_tls_info tls;
	size_t pd_len;
	uint8_t private_data[IW_PRIVATE_DATA_MAX];
	struct iw_ping_event events[POLL + 8];
	unsigned nevents, first_event;
	struct iw_ping_stat *all;
	struct stream *streams;
	struct slot *slots;
	uint8_t *octets;
};

static void queue_event(struct iw_ping *p, const struct iw_ping_event *n)
{
	unsigned at = (p->first_event + p->nevents++) % IW_ARRAY_LEN(p->events);

	p->events[at] = *n;
}

/* Keeps the first failure. */
static void fail(struct iw_ping *p, const struct iw_fault *why)
{
	if (!p->failed)
		p->fault = *why;
	p->failed = true;
}

/* --- the state of the association ------------------------------------------------------------- */

/* Reads the state of the association, and reports a changed path MTU of the primary address. Keeps
 * the last state when the association is gone. */
static void read_association(struct iw_ping *p)
{
	struct iw_assoc_info a = { .size = sizeof(a) };

	if (!p->streams[0].qp || iw_qp_assoc(p->streams[0].qp, &a, NULL) != 0)
		return;
	p->assoc = a;
	for (unsigned i = 0; i < a.npaths; i++) {
		if (!a.path[i].primary || a.path[i].mtu == p->mtu)
			continue;
		p->mtu = a.path[i].mtu;
		if (p->reported_up)
			queue_event(p,
				    &(struct iw_ping_event){ .kind = IW_PING_MTU, .mtu = p->mtu });
	}
}

static void count_late(struct iw_ping *p)
{
	struct iw_assoc_info a = { .size = sizeof(a) };

	p->all->late = 0;
	for (uint32_t i = 0; i < p->asked; i++) {
		struct stream *s = &p->streams[i];

		if (s->qp && iw_qp_assoc(s->qp, &a, NULL) == 0)
			s->stat.late = a.late;
		p->all->late += s->stat.late;
	}
}

/* --- sessions --------------------------------------------------------------------------------- */

static int open_session(struct iw_ping *p, uint32_t i, struct iw_fault *why)
{
	struct stream *s = &p->streams[i];
	struct iw_cli_param param = p->cfg.conn;
	uint8_t hello[IW_PING_HELLO_LEN];
	struct iw_qp_attr qa = {
		.size = sizeof(qa),
		.send_cq = p->cq,
		.recv_cq = p->cq,
		.sq_depth = 2 * p->window,
		.rq_depth = p->window,
		.user = s,
	};
	int err = iw_qp_new(&s->qp, p->pd, &qa, why);

	if (err)
		return err;
	for (uint32_t w = 0; w < p->window && !err; w++)
		err = iw_post_recv(s->qp, w, s->slots[w].in, p->cfg.size, NULL);
	if (err)
		return iw_fail(why, err, "post a receive: %s", iw_err_text(err));
	iw_ping_hello_encode(hello, &(struct iw_ping_hello){ p->cfg.size, (uint16_t)p->window });
	param.protocol.private_data = hello;
	param.protocol.private_data_len = sizeof(hello);
	param.protocol.no_reads = true;
	if (i > 0) {
		param.at.beside = p->streams[0].qp;
		param.protocol.rev = p->session.rev;
	}
	err = iw_connect(s->qp, &param.at, &param.protocol, why);
	if (!err)
		p->asked++;
	return err;
}

static int open_others(struct iw_ping *p, struct iw_fault *why)
{
	int err = 0;

	if (p->cfg.streams > p->assoc.out || p->cfg.streams > p->assoc.in)
		return iw_fail(
			why, IW_E_LIMIT,
			"--streams %u: the association has %u outbound and %u inbound streams; use at most %u, or give the listener more --streams",
			p->cfg.streams, (uint32_t)p->assoc.out, (uint32_t)p->assoc.in,
			(uint32_t)IW_MIN(p->assoc.out, p->assoc.in));
	while (!err && p->asked < p->cfg.streams)
		err = open_session(p, p->asked, why);
	return err;
}

static void begin_flow(struct iw_ping *p)
{
	p->phase = FLOWING;
	p->start = p->heard = p->now;
	queue_event(p, &(struct iw_ping_event){ .kind = IW_PING_READY });
}

static void on_established(struct iw_ping *p, struct stream *s)
{
	struct iw_fault why;

	s->open = true;
	p->open++;
	if (p->cfg.secure && iw_cli_secure_established(p->cfg.secure, s->qp, &why) != 0) {
		fail(p, &why);
		return;
	}
	if (s == p->streams) {
		iw_qp_info(s->qp, &p->session);
		(void)iw_cli_facts_tls(&p->tls, s->qp);
		read_association(p);
		p->reported_up = true;
		queue_event(p, &(struct iw_ping_event){ .kind = IW_PING_UP });
		p->phase = OPENING;
		if (open_others(p, &why) != 0)
			fail(p, &why);
	}
	if (p->open == p->cfg.streams)
		begin_flow(p);
}

static void keep_private_data(struct iw_ping *p, const struct stream *s)
{
	struct iw_qp_info info;

	iw_qp_info(s->qp, &info);
	p->pd_len = IW_MIN(info.private_data_len, sizeof(p->private_data));
	if (p->pd_len)
		memcpy(p->private_data, info.private_data, p->pd_len);
}

static void on_rejected(struct iw_ping *p, const struct stream *s, const struct iw_fault *fault)
{
	struct iw_fault why = *fault;
	struct iw_qp_info info;

	iw_qp_info(s->qp, &info);
	iw_cli_wrong_listener(&why, p->private_data, p->pd_len, info.peer,
			      "sctp-ddp-ping --listen");
	fail(p, &why);
}

/* If the association was established, adds the peer's address and the remedy to the text. */
static void add_peer(const struct iw_ping *p, struct iw_fault *why, const char *remedy)
{
	struct iw_text out;
	char text[sizeof(why->text)];

	if (!p->reported_up)
		return;
	memcpy(text, why->text, sizeof(text));
	iw_text_init(&out, why->text, sizeof(why->text));
	iw_text_fmt(&out, "%s: %s; %s", p->session.peer, text, remedy);
}

static void on_closed(struct iw_ping *p, struct stream *s, const struct iw_fault *fault)
{
	struct iw_fault why = *fault;

	p->gone++;
	if (p->phase == OVER)
		return;
	if (p->cfg.secure)
		iw_cli_secure_failed(p->cfg.secure, &why);
	if (!why.err)
		iw_fail(&why, IW_E_CLOSED, "the peer ended the session of stream %u",
			(uint32_t)(s - p->streams));
	if (why.err == IW_E_CLOSED || why.err == IW_E_TIMEOUT)
		add_peer(p, &why, "has the listener ended? Start it again");
	if (iw_ping_far_end(&why, p->reported_up) == IW_FAR_ICMP && strstr(why.text, "listener"))
		iw_sock_add_hint(&why, " For a listener with -t tcp, use mpa-probe");
	fail(p, &why);
}

static void on_event(struct iw_ping *p, const struct iw_async_event *ev)
{
	struct stream *s = iw_qp_user(ev->qp);

	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST: /* only at a listener */
		break;
	case IW_EV_ESTABLISHED:
		if (!p->failed)
			on_established(p, s);
		break;
	case IW_EV_REJECTED:
		read_association(p);
		keep_private_data(p, s);
		on_rejected(p, s, &ev->fault);
		break;
	case IW_EV_PEER_CLOSED:
		iw_disconnect(s->qp);
		break;
	case IW_EV_CLOSED:
		on_closed(p, s, &ev->fault);
		break;
	}
}

/* --- messages --------------------------------------------------------------------------------- */

/* Returns the number of messages without a reply. */
static uint64_t waiting(const struct stream *s)
{
	return s->stat.sent - s->stat.received;
}

/* The send queue has room for 2 * window messages, because the reply to a message may arrive before
 * SCTP's acknowledgement, which completes the Send. */
static bool may_send(const struct iw_ping *p, const struct stream *s)
{
	return (p->cfg.count == 0 || s->stat.sent < p->cfg.count) && waiting(s) < p->window &&
	       s->stat.sent - s->sends_done < 2 * p->window;
}

static int send_one(struct iw_ping *p, struct stream *s, struct iw_fault *why)
{
	struct slot *slot = &s->slots[s->stat.sent % p->window];
	struct iw_sge sge = { slot->out, p->cfg.size };
	struct iw_send_wr wr = { .op = IW_WR_SEND, .sge = &sge, .nsge = 1 };
	int err;

	iw_pattern_stamp(slot->out, p->cfg.size, s->stat.sent + 1);
	err = iw_post_send(s->qp, &wr, NULL);
	/* The session has ended; an event with the reason follows. */
	if (err == IW_E_STATE)
		return 0;
	if (err)
		return iw_fail(why, err, "post a message: %s", iw_err_text(err));
	if (p->all->sent == p->all->received)
		p->heard = p->now;
	slot->at = p->now;
	s->stat.sent++;
	p->all->sent++;
	return 0;
}

/* Returns the time when message m of all streams is due. Streams take turns: it is on stream m %
 * streams. */
static uint64_t due_at(const struct iw_ping *p, uint64_t m)
{
	uint64_t round = m / p->cfg.streams, part = m % p->cfg.streams;

	return p->start + round * p->cfg.interval_ns + part * (p->cfg.interval_ns / p->cfg.streams);
}

static bool all_sent(const struct iw_ping *p)
{
	return p->stop_at || (p->cfg.count && p->all->sent == p->cfg.count * p->cfg.streams);
}

/* Sends the messages that are due. One that is due while the window of its stream is full waits for
 * the window, and all later ones wait with it. */
static int send_by_clock(struct iw_ping *p, struct iw_fault *why)
{
	int err = 0;

	while (!err && !all_sent(p) && p->now >= due_at(p, p->due)) {
		struct stream *s = &p->streams[p->due % p->cfg.streams];

		if (!may_send(p, s))
			break;
		err = send_one(p, s, why);
		p->due++;
	}
	return err;
}

/* For --flood: sends a message on each stream whose last reply has arrived. */
static int send_at_once(struct iw_ping *p, struct iw_fault *why)
{
	int err = 0;

	for (uint32_t i = 0; i < p->cfg.streams && !err; i++)
		if (waiting(&p->streams[i]) == 0 && may_send(p, &p->streams[i]))
			err = send_one(p, &p->streams[i], why);
	return err;
}

static int on_reply(struct iw_ping *p, struct stream *s, const struct iw_wc *wc,
		    struct iw_fault *why)
{
	struct slot *slot = &s->slots[wc->wr_id];
	uint32_t stream = (uint32_t)(s - p->streams);
	uint64_t rtt = p->now - slot->at;
	int err;

	if (waiting(s) == 0)
		return iw_fail(why, IW_E_FORMAT,
			       "stream %u: received a message that is not a reply", stream);
	if (wc->len != p->cfg.size || memcmp(slot->in, slot->out, wc->len) != 0)
		return iw_fail(why, IW_E_FORMAT,
			       "stream %u: the reply to message %U differs from the message",
			       stream, s->stat.received + 1);
	iw_ping_stat_reply(&s->stat, p->all, rtt);
	p->heard = p->now;
	err = iw_post_recv(s->qp, wc->wr_id, slot->in, p->cfg.size, NULL);
	if (err && err != IW_E_STATE)
		return iw_fail(why, err, "post a receive: %s", iw_err_text(err));
	queue_event(p, &(struct iw_ping_event){ .kind = IW_PING_REPLY,
						.stream = stream,
						.number = s->stat.received,
						.rtt_ns = rtt });
	return 0;
}

static int on_completion(struct iw_ping *p, const struct iw_wc *wc, struct iw_fault *why)
{
	struct stream *s = iw_qp_user(wc->qp);

	if (wc->status != IW_OK)
		return 0;
	if (wc->op == IW_WC_RECV)
		return p->phase == FLOWING ? on_reply(p, s, wc, why) : 0;
	s->sends_done++;
	return 0;
}

/* --- time ------------------------------------------------------------------------------------- */

/* Returns the time when run_timers() must be called next. */
static uint64_t deadline(const struct iw_ping *p)
{
	uint64_t at = p->next_read;

	if (p->phase != FLOWING)
		return at; /* the library limits the set-up */
	if (p->stop_at)
		at = IW_MIN(at, p->stop_at);
	if (p->all->sent > p->all->received)
		at = IW_MIN(at, iw_time_add(p->heard, p->cfg.timeout_ns));
	if (!p->cfg.flood && !all_sent(p) && may_send(p, &p->streams[p->due % p->cfg.streams]))
		at = IW_MIN(at, due_at(p, p->due));
	return at;
}

static int64_t time_to_wait(const struct iw_ping *p)
{
	uint64_t at = deadline(p), now = iw_os_now();

	return at > now ? (int64_t)(at - now) : 0;
}

static void end(struct iw_ping *p)
{
	read_association(p);
	count_late(p);
	p->phase = OVER;
}

/* Handles a signal: while messages flow, sends no further one and waits for pending replies; before
 * that, fails with IW_E_CANCELED. */
static void stop(struct iw_ping *p)
{
	struct iw_fault why;

	if (p->phase != FLOWING) {
		(void)iw_fail(&why, IW_E_CANCELED,
			      "interrupted: no session with %s port %u (-t %s) was open yet",
			      p->cfg.conn.at.host, (uint32_t)p->cfg.conn.at.port,
			      p->cfg.conn.at.transport);
		fail(p, &why);
		end(p);
	} else if (!p->stop_at) {
		p->stop_at = p->now + LAST_NS;
		/* The descriptor of signals remains readable, so it must no longer end waits. */
		(void)!iw_ctx_wake_fd(p->ctx, -1, NULL);
	}
}

static int run_timers(struct iw_ping *p, struct iw_fault *why)
{
	if (p->now >= p->next_read) {
		read_association(p);
		p->next_read = p->now + READ_NS;
	}
	if (p->phase != FLOWING)
		return 0;
	if (p->all->sent > p->all->received && p->now >= iw_time_add(p->heard, p->cfg.timeout_ns)) {
		(void)iw_fail(why, IW_E_TIMEOUT, "no reply for %U ms (--timeout)",
			      (p->now - p->heard) / 1000000);
		add_peer(p, why, "is the network up, and does the listener still run?");
		return IW_E_TIMEOUT;
	}
	if ((all_sent(p) && p->all->received == p->all->sent) ||
	    (p->stop_at && p->now >= p->stop_at)) {
		end(p);
		return 0;
	}
	if (p->stop_at)
		return 0;
	return p->cfg.flood ? send_at_once(p, why) : send_by_clock(p, why);
}

/* --- the client ------------------------------------------------------------------------------- */

static int turn(struct iw_ping *p, struct iw_fault *why)
{
	struct iw_async_event ev;
	struct iw_wc wc[POLL];
	int n = iw_cq_wait(p->cq, time_to_wait(p)), err = 0;

	if (n > 0)
		n = iw_cq_poll(p->cq, wc, POLL);
	if (n < 0)
		return iw_fail(why, n, "wait: %s", iw_err_text(n));
	p->now = iw_os_now();
	for (int i = 0; i < n && !err; i++)
		err = on_completion(p, &wc[i], why);
	while (!err && iw_next_event(p->ctx, &ev))
		on_event(p, &ev);
	if (!err && p->failed) {
		*why = p->fault;
		return why->err;
	}
	return err ? err : run_timers(p, why);
}

int iw_ping_next(struct iw_ping *p, struct iw_ping_event *event, struct iw_fault *why)
{
	while (!p->nevents) {
		if (iw_signals_stop() && p->phase != OVER)
			stop(p);
		if (p->failed) {
			*why = p->fault;
			return why->err;
		}
		if (p->phase == OVER) {
			*event = (struct iw_ping_event){ .kind = IW_PING_DONE };
			return 0;
		}
		if (turn(p, why) < 0) {
			fail(p, why);
			end(p);
		}
	}
	*event = p->events[p->first_event];
	p->first_event = (p->first_event + 1) % IW_ARRAY_LEN(p->events);
	p->nevents--;
	return 0;
}

/* Closes the sessions and waits for the peer to close them. Not after a failure: iw_ctx_free then
 * sends an ABORT. */
static void close_sessions(struct iw_ping *p)
{
	uint64_t until;

	p->phase = OVER;
	p->now = iw_os_now();
	until = p->now + CLOSE_NS;
	/* As in stop(). */
	(void)!iw_ctx_wake_fd(p->ctx, -1, NULL);
	for (uint32_t i = 0; i < p->asked; i++)
		iw_disconnect(p->streams[i].qp);
	while (p->gone < p->asked && p->now < until) {
		struct iw_async_event ev;
		struct iw_wc wc[POLL];

		if (iw_cq_wait(p->cq, (int64_t)(until - p->now)) < 0 ||
		    iw_cq_poll(p->cq, wc, POLL) < 0)
			return;
		while (iw_next_event(p->ctx, &ev))
			on_event(p, &ev);
		p->now = iw_os_now();
	}
}

/* Returns how many messages without a reply each stream may have. */
static uint32_t window_of(const struct iw_ping_cfg *cfg)
{
	uint64_t size = IW_MAX(cfg->size, 1u);
	uint64_t n = IW_MIN(SLOTS / cfg->streams, SLOT_OCTETS / size / cfg->streams);

	/* Below WINDOW_LEAST only if the messages are too large for it. */
	if (size * cfg->streams * WINDOW_LEAST <= SLOT_OCTETS)
		n = IW_MAX(n, (uint64_t)WINDOW_LEAST);
	return (uint32_t)IW_MIN(IW_MAX(n, UINT64_C(1)), (uint64_t)WINDOW_MOST);
}

static int make_memory(struct iw_ping *p, struct iw_fault *why)
{
	uint32_t n = p->cfg.streams, size = p->cfg.size;
	uint8_t *at;

	p->streams = calloc(n, sizeof(*p->streams));
	p->all = calloc(1, sizeof(*p->all));
	p->slots = calloc((size_t)n * p->window, sizeof(*p->slots));
	p->octets = calloc((size_t)n * p->window, 2 * (size_t)IW_MAX(size, 1u));
	if (!p->streams || !p->all || !p->slots || !p->octets)
		return iw_fail(
			why, IW_E_NOMEM,
			"no memory for %u streams with messages of %u octets: use fewer or smaller ones",
			n, size);
	iw_ping_stat_init(p->all);
	at = p->octets;
	for (uint32_t i = 0; i < n; i++) {
		struct stream *s = &p->streams[i];

		s->slots = p->slots + (size_t)i * p->window;
		iw_ping_stat_init(&s->stat);
		for (uint32_t w = 0; w < p->window; w++) {
			s->slots[w].out = at;
			s->slots[w].in = at + size;
			iw_pattern_fill(at, size, SEED + i, (uint64_t)w * size);
			at += 2 * (size_t)IW_MAX(size, 1u);
		}
	}
	return 0;
}

static int start(struct iw_ping *p, struct iw_fault *why)
{
	struct iw_ctx_attr attr = {
		.size = sizeof(attr),
		.setup_ns = p->cfg.setup_ns,
		.stall_ns = p->cfg.timeout_ns,
		.trace = p->cfg.trace,
		.trace_ctx = p->cfg.trace_ctx,
	};
	int err = make_memory(p, why);

	if (!err)
		err = iw_cli_context(&p->ctx, &p->pd, &p->cq, &attr, why);
	return err ? err : open_session(p, 0, why);
}

int iw_ping_new(struct iw_ping **out, const struct iw_ping_cfg *cfg, struct iw_fault *why)
{
	struct iw_ping *p = calloc(1, sizeof(*p));
	int err;

	*out = NULL;
	if (!p)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	p->cfg = *cfg;
	/* Fewer streams than the default need no request. */
	if (cfg->streams > IW_STREAMS_DEFAULT)
		p->cfg.conn.at.streams = (uint16_t)cfg->streams;
	p->window = window_of(cfg);
	err = start(p, why);
	if (err) {
		iw_ping_free(p);
		return err;
	}
	*out = p;
	return 0;
}

const struct iw_assoc_info *iw_ping_assoc(const struct iw_ping *p)
{
	return &p->assoc;
}

const struct iw_qp_info *iw_ping_session(const struct iw_ping *p)
{
	return &p->session;
}

const struct iw_tls_info *iw_ping_tls(const struct iw_ping *p)
{
	return &p->tls;
}

uint32_t iw_ping_streams(const struct iw_ping *p)
{
	return p->open;
}

const struct iw_ping_stat *iw_ping_stat_of(const struct iw_ping *p, uint32_t stream)
{
	return &p->streams[stream].stat;
}

const struct iw_ping_stat *iw_ping_stat_all(const struct iw_ping *p)
{
	return p->all;
}

const uint8_t *iw_ping_private_data(const struct iw_ping *p, size_t *len)
{
	*len = p->pd_len;
	return p->pd_len ? p->private_data : NULL;
}

void iw_ping_free(struct iw_ping *p)
{
	if (!p)
		return;
	if (p->open > 0 && !p->failed)
		close_sessions(p);
	iw_ctx_free(p->ctx);
	free(p->octets);
	free(p->slots);
	free(p->streams);
	free(p->all);
	free(p);
}
