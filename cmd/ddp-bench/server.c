// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The server: serves any number of clients, at once or one after another, within limits. */
#include "ddp-bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/human.h"
#include "cli/param.h"
#include "cli/pattern.h"
#include "cli/signals.h"
#include "ddp-bench/internal.h"
#include "os/cc.h"
#include "os/os.h"
#include "util/list.h"

#define POLL      64
#define CLIENTS   1024
/*
 * News kept until the caller takes them. If one turn of the loop makes more, the latest are lost.
 */
#define NEWS      64
/* The clock is not read in turns with messages, which are answered at once. It is read in other
 * turns, and at the latest after this many. */
#define UNCLOCKED 64

enum session_state {
	EXPECTED, /* accepted; GO not received yet */
	RUNNING,
	LEAVING, /* disconnected or aborted; IW_EV_CLOSED will follow */
};

/* The content of a receive, until the receive with the same number completes again. */
struct holding {
	uint64_t message; /* send: number of the message plus 1; 0: no message */
	const uint8_t *data;
	uint64_t loan; /* the id of the loan; 0: the data is in the inbox */
};

struct session {
	struct iw_bench_server *server;
	struct iw_list all;
	struct iw_qp *qp;
	struct iw_mr *mr;
	enum session_state state;
	char peer[64];
	enum iw_bench_mode mode;
	uint64_t size, seed;
	uint32_t depth;
	uint64_t need;      /* octets of memory counted against the server's limit */
	struct memory data; /* write, read: depth slots of size octets */
	struct inbox inbox;
	struct outbox outbox;
	uint64_t seen;        /* time of the last progress, ns */
	uint64_t seen_octets; /* octets of the LLP at that time */
	uint64_t messages;    /* send: messages received */
	uint64_t echoed;   /* pingpong: number of the receive last sent back plus 1; 0: none yet */
	uint64_t credited; /* send: messages in the last CREDIT */
	uint64_t wrong;    /* send: messages with a wrong length or stamp */
	bool ready;        /* GO was received */
	bool done;         /* the last MARK was received */
	bool loan;         /* Sends may stay in the receive buffers */
	uint64_t loans;    /* Sends that stayed there */
	struct holding *holds; /* by receive */
	struct iw_fault fault; /* why this end aborted it; err 0: it did not */
};

struct iw_bench_server {
	struct iw_bench_server_cfg cfg;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_listener *listener;
	struct iw_list sessions;
	uint32_t nsessions;
	uint64_t memory; /* in use */
	struct iw_bench_blocks blocks;
	uint64_t now;
	unsigned unclocked; /* turns since the clock was read */
	bool served;        /* once: the client has left */
	struct iw_bench_news news[NEWS];
	unsigned first_news, nnews;
};

/* --- news ------------------------------------------------------------------------------------- */

static void report(struct iw_bench_server *s, enum iw_bench_news_kind kind, const char *peer,
		   const struct session *of, const struct iw_fault *why)
{
	struct iw_bench_news *n;
	struct iw_qp_info info;

	if (s->nnews == NEWS)
		return;
	n = &s->news[(s->first_news + s->nnews++) % NEWS];
	*n = (struct iw_bench_news){ .kind = kind };
	snprintf(n->peer, sizeof(n->peer), "%s", peer);
	if (why)
		n->fault = *why;
	if (!of)
		return;
	n->mode = of->mode;
	n->size = of->size;
	n->depth = of->depth;
	iw_qp_info(of->qp, &info);
	n->rx_octets = info.rx_octets;
	n->tx_octets = info.tx_octets;
}

/* --- sessions --------------------------------------------------------------------------------- */

/* Returns the loan of a receive, if it has one. */
static void put_back(const struct session *k, struct holding *h)
{
	/* Cannot fail: each loan is one of this context, and is returned once. */
	if (h->loan)
		(void)!iw_loan_return(k->server->ctx, h->loan, NULL);
	h->loan = 0;
}

static void session_free(struct session *k)
{
	struct iw_bench_server *s = k->server;

	iw_qp_free(k->qp);
	iw_mr_revoke(k->mr);
	iw_bench_memory_put(&k->data);
	iw_bench_memory_put(&k->inbox.mem);
	for (uint32_t i = 0; k->holds && i < k->inbox.n; i++)
		put_back(k, &k->holds[i]);
	free(k->holds);
	iw_list_del(&k->all);
	s->nsessions--;
	s->memory -= k->need;
	free(k);
}

/* Aborts the session. IW_EV_CLOSED follows, and reports *why. */
static void give_up(struct session *k, const struct iw_fault *why)
{
	if (k->state == LEAVING)
		return;
	k->state = LEAVING;
	k->fault = *why;
	iw_abort(k->qp);
}

static int answer(struct session *k, const struct iw_bench_msg *m, struct iw_fault *why)
{
	int err = iw_bench_send_msg(&k->outbox, k->qp, m, 0, 0);

	if (err == IW_E_FULL)
		return iw_fail(why, IW_E_LIMIT,
			       "the client sends requests faster than it reads the answers");
	return err ? iw_fail(why, err, "post %s: %s", iw_bench_type_name(m->type), iw_err_text(err))
		   : 0;
}

/* --- requests in Private Data ----------------------------------------------------------------- */

static int check_cc(const char *name, const char *transport, struct iw_fault *why)
{
	int fd, err;

	/* Over SCTP the association checks the name when it is set. */
	if (name[0] == '\0' || (transport && strcmp(transport, "tcp") != 0))
		return 0;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return iw_os_fail(why, errno, "congestion control: open a socket");
	err = iw_tcp_set_cc(fd, name, why);
	close(fd);
	return err;
}

/* Checks a request and decodes it into *m. Fills *k as far as the request is valid. */
static int judge(struct session *k, const struct iw_req_info *req, struct iw_bench_msg *m,
		 struct iw_fault *why)
{
	struct iw_bench_server *s = k->server;
	char size[IW_HUMAN_TEXT], needed[IW_HUMAN_TEXT], left[IW_HUMAN_TEXT], all[IW_HUMAN_TEXT];
	uint64_t need;
	int err = iw_bench_msg_decode(m, req->private_data, req->private_data_len, why);

	if (err || m->type != IW_BENCH_RUN)
		return iw_fail(
			why, IW_E_FORMAT,
			"the Private Data is not a RUN of ddp-bench: is the client a ddp-bench?");
	if (m->run.version != IW_BENCH_VERSION)
		return iw_fail(why, IW_E_FORMAT, "version %U of ddp-bench's protocol; expected %u",
			       m->run.version, (uint32_t)IW_BENCH_VERSION);
	if (m->run.mode > IW_BENCH_PINGPONG)
		return iw_fail(why, IW_E_INVAL, "unknown mode %U; expected 0 to %u", m->run.mode,
			       (uint32_t)IW_BENCH_PINGPONG);
	if (m->run.size > IW_BENCH_SIZE_MAX || m->run.depth < 1 ||
	    m->run.depth > IW_BENCH_DEPTH_MAX)
		return iw_fail(
			why, IW_E_INVAL,
			"%U messages outstanding of %U octets each; expected 1 to %u of at most %U",
			m->run.depth, m->run.size, (uint32_t)IW_BENCH_DEPTH_MAX,
			(uint64_t)IW_BENCH_SIZE_MAX);
	k->mode = (enum iw_bench_mode)m->run.mode;
	k->size = m->run.size;
	k->depth = (uint32_t)m->run.depth;
	k->seed = m->run.seed;
	k->loan = m->run.loan != 0;
	iw_bench_inbox_shape(&k->inbox, true, k->mode, k->size, k->depth);
	need = iw_bench_memory_need(k->size, k->depth) + (uint64_t)k->inbox.n * k->inbox.cap;
	if (s->nsessions > s->cfg.clients)
		return iw_fail(
			why, IW_E_LIMIT,
			"the server has %u clients already, which is its limit; try again later",
			s->cfg.clients);
	if (need > s->cfg.memory - s->memory)
		return iw_fail(
			why, IW_E_LIMIT,
			"--size %s, --depth %u: %s of memory are needed; %s of the server's %s are free: use a smaller --size or --depth, or give the server more --memory",
			iw_human_size(size, k->size), k->depth, iw_human_size(needed, need),
			iw_human_size(left, s->cfg.memory - s->memory),
			iw_human_size(all, s->cfg.memory));
	k->need = need;
	s->memory += need;
	return check_cc(m->text, s->cfg.conn.at.transport, why);
}

/* Accepts a request. Takes ownership of req, also on failure. */
static int admit(struct session *k, struct iw_conn_req *req, struct iw_fault *why)
{
	const struct iw_protocol_attr protocol = { .size = sizeof(protocol),
						   .ird = iw_bench_reads(k->depth) };

	return iw_accept(req, k->qp, &protocol, why);
}

static int make_queues(struct session *k, struct iw_fault *why)
{
	struct iw_bench_server *s = k->server;
	struct iw_qp_attr qa = {
		.size = sizeof(qa),
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.sq_depth = 2 * OUTBOX,
		.rq_depth = k->inbox.n,
		.user = k,
		.loans = k->loan,
	};
	int err = iw_qp_new(&k->qp, s->pd, &qa, why);

	if (err)
		return err;
	k->holds = calloc(k->inbox.n, sizeof(*k->holds));
	if (!k->holds)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	return iw_bench_inbox_open(&k->inbox, &s->blocks, k->qp, why);
}

static void turn_away(struct iw_conn_req *req, const struct iw_fault *why)
{
	struct iw_bench_msg m = { .type = IW_BENCH_REFUSED };
	uint8_t private_data[IW_BENCH_MSG_MAX];

	snprintf(m.text, sizeof(m.text), "%.*s", (int)sizeof(m.text) - 1, why->text);
	iw_reject(req, private_data, iw_bench_msg_encode(private_data, &m));
}

static void on_request(struct iw_bench_server *s, struct iw_conn_req *req)
{
	struct session *k = calloc(1, sizeof(*k));
	struct iw_fault why = { 0 };
	struct iw_bench_msg m;
	struct iw_req_info info;
	char peer[64];
	int err;

	iw_req_info(req, &info);
	snprintf(peer, sizeof(peer), "%s", info.peer);
	if (!k) {
		(void)iw_fail(&why, IW_E_NOMEM, "out of memory");
		turn_away(req, &why);
		report(s, IW_BENCH_TURNED_AWAY, peer, NULL, &why);
		return;
	}
	k->server = s;
	k->seen = s->now;
	memcpy(k->peer, peer, sizeof(peer));
	iw_list_add_tail(&s->sessions, &k->all);
	s->nsessions++;
	err = judge(k, &info, &m, &why);
	if (!err)
		err = make_queues(k, &why);
	if (!err && m.text[0])
		err = iw_req_set_cc(req, m.text, &why);
	if (err)
		turn_away(req, &why);
	else
		err = admit(k, req, &why);
	if (err) {
		report(s, IW_BENCH_TURNED_AWAY, peer, NULL, &why);
		session_free(k);
	}
}

/* --- messages of the client ------------------------------------------------------------------- */

static int prepare_memory(struct session *k, struct iw_bench_msg *ready, struct iw_fault *why)
{
	struct iw_mr_attr mr = { .qp = k->qp };
	int err;

	if (k->mode != IW_BENCH_WRITE && k->mode != IW_BENCH_READ)
		return 0;
	err = iw_bench_memory_get(&k->data, &k->server->blocks,
				  iw_bench_memory_need(k->size, k->depth), why);
	if (!err)
		err = iw_bench_memory_fill(&k->data, k->mode == IW_BENCH_READ ? &k->seed : NULL,
					   why);
	if (err)
		return err;
	mr.access = k->mode == IW_BENCH_READ ? IW_ACCESS_REMOTE_READ : IW_ACCESS_REMOTE_WRITE;
	mr.addr = k->data.base;
	mr.len = k->data.len;
	err = iw_os_random(&mr.to, sizeof(mr.to));
	if (err)
		return iw_fail(why, err, "random numbers: %s", iw_err_text(err));
	/* Any offset that does not overflow. Not 0, which a faulty client might assume. */
	mr.to = (mr.to >> 2) + 1;
	err = iw_mr_reg(&k->mr, k->server->pd, &mr, why);
	if (err)
		return err;
	ready->ready.stag = iw_mr_stag(k->mr);
	ready->ready.to = mr.to;
	return 0;
}

static int on_go(struct session *k, struct iw_fault *why)
{
	struct iw_bench_msg m = { .type = IW_BENCH_READY };
	int err = k->state == EXPECTED ? 0 : iw_fail(why, IW_E_FORMAT, "the client sent GO twice");

	if (!err)
		err = prepare_memory(k, &m, why);
	if (err)
		return err;
	k->state = RUNNING;
	k->ready = true;
	iw_bench_kernel(m.text, sizeof(m.text));
	report(k->server, IW_BENCH_CAME, k->peer, k, NULL);
	return answer(k, &m, why);
}

static int on_mark(struct session *k, const struct iw_bench_msg *mark, struct iw_fault *why)
{
	struct iw_bench_msg m = { .type = IW_BENCH_REPORT };
	struct iw_bench_report *r = &m.report;
	char cc[16];

	iw_bench_sample_take(&r->sample, k->qp, cc);
	snprintf(m.text, sizeof(m.text), "%s", cc);
	r->number = mark->mark.number;
	r->clients = k->server->nsessions;
	k->done = mark->mark.last;
	if (k->mode == IW_BENCH_WRITE) {
		/* Writes cause no completion here, but all octets sent before this Send are
		 * placed. */
		if (mark->mark.octets > r->sample.rx_octets)
			return iw_fail(why, IW_E_FORMAT,
				       "the client reports %U octets as sent; %U were received",
				       mark->mark.octets, r->sample.rx_octets);
		r->octets = mark->mark.octets;
	} else {
		r->messages = k->messages;
		r->octets = k->messages * k->size;
		r->loans = k->loans;
	}
	return answer(k, &m, why);
}

/* Adds the messages that no later one has replaced to the digest, in their order. */
static void digest_messages(const struct session *k, struct iw_pattern_digest *d,
			    struct iw_bench_checked *out)
{
	uint64_t first = k->messages;

	for (uint32_t i = 0; i < k->inbox.n; i++)
		if (k->holds[i].message)
			first = IW_MIN(first, k->holds[i].message - 1);
	out->first = first;
	out->last = k->messages;
	out->wrong = k->wrong;
	for (uint64_t n = first; n < k->messages; n++)
		for (uint32_t i = 0; i < k->inbox.n; i++)
			if (k->holds[i].message == n + 1)
				iw_pattern_digest_add(d, k->holds[i].data, k->size);
}

static int on_check(struct session *k, const struct iw_bench_msg *check, struct iw_fault *why)
{
	struct iw_bench_msg m = { .type = IW_BENCH_CHECKED };
	struct iw_pattern_digest d;

	if (check->check.slots > k->depth)
		return iw_fail(why, IW_E_FORMAT,
			       "the client requests a digest of %U slots; there are %u",
			       check->check.slots, k->depth);
	if (!iw_pattern_digest_init(&d))
		return iw_fail(why, IW_E_NOMEM, "out of memory for the digest");
	if (k->mode == IW_BENCH_SEND)
		digest_messages(k, &d, &m.checked);
	else if (k->data.base)
		iw_pattern_digest_add(&d, k->data.base, check->check.slots * k->size);
	m.checked.digest = iw_pattern_digest_end(&d);
	return answer(k, &m, why);
}

static int on_message(struct session *k, const struct iw_wc *wc, struct iw_fault *why)
{
	struct iw_bench_msg m;
	int err = iw_bench_msg_decode(&m, k->holds[wc->wr_id].data, wc->len, why);

	if (err)
		return err;
	if (k->state == EXPECTED && m.type != IW_BENCH_GO)
		return iw_fail(why, IW_E_FORMAT,
			       "the first message of the client is %s; expected GO",
			       iw_bench_type_name(m.type));
	switch (m.type) {
	case IW_BENCH_GO:
		return on_go(k, why);
	case IW_BENCH_MARK:
		return on_mark(k, &m, why);
	case IW_BENCH_CHECK:
		return on_check(k, &m, why);
	case IW_BENCH_RUN:
	case IW_BENCH_READY:
	case IW_BENCH_REPORT:
	case IW_BENCH_CREDIT:
	case IW_BENCH_CHECKED:
	case IW_BENCH_REFUSED:
		break;
	}
	return iw_fail(why, IW_E_FORMAT, "the client sent %s, which only a server sends",
		       iw_bench_type_name(m.type));
}

/* --- data ------------------------------------------------------------------------------------- */

static int repost(struct session *k, uint64_t i, struct iw_fault *why)
{
	int err = inbox_post(&k->inbox, k->qp, i);

	/* The session has ended; an event with the reason follows. */
	if (err == IW_E_STATE)
		return 0;
	return err ? iw_fail(why, err, "post a receive: %s", iw_err_text(err)) : 0;
}

/*
 * Sends a message back from its buffer. The client sends the next one after it has received this
 * one, so the receive can be posted again.
 */
static int echo(struct session *k, const struct iw_wc *wc, struct iw_fault *why)
{
	struct iw_sge sge = { k->holds[wc->wr_id].data, wc->len };
	struct iw_send_wr wr = {
		.op = IW_WR_SEND, .flags = IW_WR_UNSIGNALED, .sge = &sge, .nsge = 1
	};
	int err = iw_post_send(k->qp, &wr, why);
	uint64_t before = k->echoed;

	if (err)
		return err;
	k->echoed = wc->wr_id + 1;
	return before ? repost(k, before - 1, why) : 0;
}

/*
 * Sends a CREDIT after each quarter of depth messages, so that a client with depth messages in
 * flight never waits for it.
 */
static int credit_if_due(struct session *k, struct iw_fault *why)
{
	struct iw_bench_msg m = { .type = IW_BENCH_CREDIT };

	if (k->messages - k->credited < (k->depth + 3) / 4)
		return 0;
	k->credited = k->messages;
	m.credit.messages = k->messages;
	return answer(k, &m, why);
}

static int on_data(struct session *k, const struct iw_wc *wc, struct iw_fault *why)
{
	int err;

	if (k->state == EXPECTED || (k->mode != IW_BENCH_SEND && k->mode != IW_BENCH_PINGPONG))
		return iw_fail(why, IW_E_FORMAT, "the client sent data that its run does not have");
	if (k->mode == IW_BENCH_PINGPONG)
		return echo(k, wc, why);
	if (wc->len != k->size ||
	    !iw_pattern_stamped(k->holds[wc->wr_id].data, wc->len, k->messages))
		k->wrong++;
	k->messages++;
	k->loans += wc->loan > 0;
	k->holds[wc->wr_id].message = k->messages;
	err = repost(k, wc->wr_id, why);
	return err ? err : credit_if_due(k, why);
}

/* Records the content of a completed receive, and returns the loan of its previous content. */
static void hold(struct session *k, const struct iw_wc *wc)
{
	struct holding *h = &k->holds[wc->wr_id];

	put_back(k, h);
	*h = (struct holding){
		.data = wc->loan ? wc->data : inbox_at(&k->inbox, wc->wr_id),
		.loan = wc->loan,
	};
}

static void on_completion(struct iw_bench_server *s, const struct iw_wc *wc)
{
	struct session *k = iw_qp_user(wc->qp);
	struct iw_fault why;
	int err = 0;

	/* After a failed operation, an event with its reason follows. */
	if (wc->status != IW_OK)
		return;
	if (wc->op == IW_WC_RECV)
		hold(k, wc);
	if (k->state == LEAVING)
		return;
	k->seen = s->now;
	if (wc->op != IW_WC_RECV) {
		outbox_done(&k->outbox, wc->wr_id);
		return;
	}
	if (wc->solicited) {
		err = on_message(k, wc, &why);
		if (!err)
			err = repost(k, wc->wr_id, &why);
	} else {
		err = on_data(k, wc, &why);
	}
	if (err)
		give_up(k, &why);
}

/* --- events and time -------------------------------------------------------------------------- */

static void on_closed(struct session *k, const struct iw_fault *fault)
{
	struct iw_bench_server *s = k->server;
	struct iw_fault why = k->fault.err ? k->fault : *fault;

	if (!k->ready) {
		if (!why.err)
			(void)iw_fail(&why, IW_E_CLOSED,
				      "the client closed the connection before it sent GO");
		report(s, IW_BENCH_TURNED_AWAY, k->peer, k, &why);
	} else {
		if (!why.err && !k->done)
			(void)iw_fail(&why, IW_E_CLOSED,
				      "the client closed the connection during its run");
		report(s, IW_BENCH_LEFT, k->peer, k, &why);
		s->served = true;
	}
	session_free(k);
}

static void on_event(struct iw_bench_server *s, const struct iw_async_event *ev)
{
	struct session *k = ev->qp ? iw_qp_user(ev->qp) : NULL;

	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST:
		on_request(s, ev->req);
		break;
	case IW_EV_ESTABLISHED:
		k->seen = s->now;
		break;
	case IW_EV_REJECTED: /* only for initiators */
		break;
	case IW_EV_PEER_CLOSED:
		if (k->state == RUNNING)
			k->state = LEAVING;
		iw_disconnect(k->qp);
		break;
	case IW_EV_CLOSED:
		on_closed(k, &ev->fault);
		break;
	}
}

static uint64_t session_deadline(const struct session *k)
{
	const struct iw_bench_server_cfg *cfg = &k->server->cfg;

	if (k->state == LEAVING)
		return IW_TIME_NEVER; /* the library ends it */
	return iw_time_add(k->seen, k->state == EXPECTED ? cfg->setup_ns : cfg->timeout_ns);
}

/* Aborts a session without progress. Writes cause no completion here, so received octets are
 * progress, too. */
static void look_at_clock(struct session *k)
{
	struct iw_fault why;
	struct iw_qp_info info;

	if (k->server->now < session_deadline(k))
		return;
	iw_qp_info(k->qp, &info);
	if (k->state == RUNNING && info.rx_octets + info.tx_octets != k->seen_octets) {
		k->seen_octets = info.rx_octets + info.tx_octets;
		k->seen = k->server->now;
		return;
	}
	(void)iw_fail(&why, IW_E_TIMEOUT, "the client made no progress for %U ms (--timeout)",
		      (k->server->now - k->seen) / 1000000);
	give_up(k, &why);
}

static int64_t time_to_wait(struct iw_bench_server *s)
{
	uint64_t until = IW_TIME_NEVER, now = s->now;

	for (struct iw_list *n = s->sessions.next; n != &s->sessions; n = n->next)
		until = IW_MIN(until, session_deadline(iw_container_of(n, struct session, all)));
	if (until == IW_TIME_NEVER)
		return -1;
	return until > now ? (int64_t)(until - now) : 0;
}

static bool has_message(const struct iw_wc *wc, int n)
{
	for (int i = 0; i < n; i++)
		if (wc[i].op == IW_WC_RECV)
			return true;
	return false;
}

static int turn(struct iw_bench_server *s, struct iw_fault *why)
{
	struct iw_async_event ev;
	struct iw_wc wc[POLL];
	int n = iw_cq_wait(s->cq, time_to_wait(s));

	if (n > 0)
		n = iw_cq_poll(s->cq, wc, POLL);
	if (n < 0)
		return iw_fail(why, n, "wait: %s", iw_err_text(n));
	if (!has_message(wc, n) || ++s->unclocked == UNCLOCKED) {
		s->now = iw_os_now();
		s->unclocked = 0;
	}
	for (int i = 0; i < n; i++)
		on_completion(s, &wc[i]);
	while (iw_next_event(s->ctx, &ev))
		on_event(s, &ev);
	for (struct iw_list *i = s->sessions.next, *next; i != &s->sessions; i = next) {
		next = i->next;
		look_at_clock(iw_container_of(i, struct session, all));
	}
	return 0;
}

int iw_bench_server_next(struct iw_bench_server *s, struct iw_bench_news *news,
			 struct iw_fault *why)
{
	while (!s->nnews) {
		int err;

		if (iw_signals_stop() ||
		    (s->cfg.once && s->served && iw_list_empty(&s->sessions))) {
			*news = (struct iw_bench_news){ .kind = IW_BENCH_STOPPED };
			return 0;
		}
		err = turn(s, why);
		if (err)
			return err;
	}
	*news = s->news[s->first_news];
	s->first_news = (s->first_news + 1) % NEWS;
	s->nnews--;
	return 0;
}

/* --- the server ------------------------------------------------------------------------------- */

static int start(struct iw_bench_server *s, struct iw_fault *why)
{
	struct iw_ctx_attr attr = {
		.size = sizeof(attr),
		.setup_ns = s->cfg.setup_ns,
		.stall_ns = s->cfg.timeout_ns,
		.spin_ns = s->cfg.spin_ns,
		.trace = s->cfg.trace,
		.trace_ctx = s->cfg.trace_ctx,
	};
	int err = iw_cli_context(&s->ctx, &s->pd, &s->cq, &attr, why);

	return err ? err
		   : iw_listen(&s->listener, s->ctx, &s->cfg.conn.at, &s->cfg.conn.protocol, why);
}

/* Returns half of the machine's memory. It is allocated only as clients request it. */
static uint64_t default_memory(void)
{
	uint64_t all = iw_bench_memory_of_machine();

	return all == UINT64_MAX ? (uint64_t)1 << 30 : all / 2;
}

int iw_bench_server_new(struct iw_bench_server **out, const struct iw_bench_server_cfg *cfg,
			struct iw_fault *why)
{
	struct iw_bench_server *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	s->cfg = *cfg;
	s->cfg.memory = s->cfg.memory ? s->cfg.memory : default_memory();
	s->cfg.clients = s->cfg.clients ? s->cfg.clients : CLIENTS;
	iw_list_init(&s->sessions);
	s->now = iw_os_now();
	err = start(s, why);
	if (err) {
		iw_bench_server_free(s);
		return err;
	}
	*out = s;
	return 0;
}

const struct iw_listener *iw_bench_server_listener(const struct iw_bench_server *s)
{
	return s->listener;
}

void iw_bench_server_free(struct iw_bench_server *s)
{
	struct iw_list *n;

	if (!s)
		return;
	while ((n = iw_list_first(&s->sessions)))
		session_free(iw_container_of(n, struct session, all));
	iw_ctx_free(s->ctx);
	free(s);
}
