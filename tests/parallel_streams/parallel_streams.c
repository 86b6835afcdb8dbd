// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sends eight sequences of small messages from one end to the other, in turn, and records what both
 * ends see. Over SCTP a sequence is a DDP stream of one association. Over TCP all sequences share
 * one connection, which has one DDP stream. A lost message delays the later messages of its stream;
 * the trace shows in how many sequences.
 *
 *   parallel_streams serve TRANSPORT ADDR PORT
 *	prints "listening", ends when the sender has disconnected
 *   parallel_streams send TRANSPORT ADDR PORT MESSAGES MS
 *	sends MESSAGES of each sequence, one every MS milliseconds
 *
 * The trace is on standard output, with a clock that both ends share: "posted" and "delivered" with
 * sequence and number, and the library's own events. Exit status: 0 if all messages were delivered
 * intact and in order.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iwarp/verbs.h>

#include "conn_param.h"
#include "os/os.h"
#include "program.h"
#include "util/num.h"

enum { SEQUENCES = 8, LEN = 100, RECVS = 64, LIMIT_S = 60 };

struct message {
	uint8_t octets[LEN]; /* sequence, number, then the sequence in each octet */
};

struct stream {
	struct iw_qp *qp;
	struct message in[RECVS];
	bool up;
};

struct ends {
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct conn_param param;
	struct stream stream[SEQUENCES];
	unsigned nstreams, up, gone; /* nstreams: created */
	uint32_t next[SEQUENCES];    /* the number expected next on the sequence */
	bool failed;
};

static void trace(void *ctx, const char *line)
{
	(void)ctx;
	puts(line);
}

static void say(const char *event, unsigned sequence, uint32_t number)
{
	printf("{\"event\":\"%s\",\"t_ns\":%" PRIu64 ",\"sequence\":%u,\"number\":%" PRIu32 "}\n",
	       event, iw_os_now(), sequence, number);
}

static void make_message(struct message *m, unsigned sequence, uint32_t number)
{
	memset(m->octets, (int)sequence, LEN);
	iw_put_be32(m->octets + 1, number);
}

static struct stream *make_stream(struct ends *e)
{
	struct stream *s = &e->stream[e->nstreams];
	struct iw_qp_attr attr = { .size = sizeof(attr),
				   .send_cq = e->cq,
				   .recv_cq = e->cq,
				   .sq_depth = 1024,
				   .user = s };
	struct iw_fault why;

	if (e->nstreams == SEQUENCES)
		die("streams", "more than eight");
	if (iw_qp_new(&s->qp, e->pd, &attr, &why) < 0)
		die("queue pair", why.text);
	for (unsigned i = 0; i < RECVS; i++)
		if (iw_post_recv(s->qp, i, &s->in[i], LEN, NULL) < 0)
			die("queue pair", "no receive");
	e->nstreams++;
	return s;
}

/* --- events ----------------------------------------------------------------------------------- */

static void delivered(struct ends *e, const struct iw_wc *wc)
{
	struct stream *s = iw_qp_user(wc->qp);
	struct message *m = &s->in[wc->wr_id], want;
	unsigned sequence = m->octets[0];

	if (sequence >= SEQUENCES || wc->len != LEN)
		die("message", "not one of ours");
	make_message(&want, sequence, e->next[sequence]);
	if (memcmp(m, &want, LEN) != 0)
		die("message", "not the next of its sequence");
	say("delivered", sequence, e->next[sequence]++);
	if (iw_post_recv(s->qp, wc->wr_id, m, LEN, NULL) < 0)
		die("message", "no receive");
}

static void happened(struct ends *e, const struct iw_async_event *ev)
{
	struct conn_param answer = { CONN_PARAM_SIZES };
	struct iw_fault why;

	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST:
		if (iw_accept(ev->req, make_stream(e)->qp, &answer.protocol, &why) < 0)
			die("accept", why.text);
		break;
	case IW_EV_ESTABLISHED:
		e->up++;
		break;
	case IW_EV_PEER_CLOSED:
		iw_disconnect(ev->qp);
		break;
	case IW_EV_CLOSED:
	case IW_EV_REJECTED:
		e->gone++;
		if (ev->fault.err != IW_OK) {
			fprintf(stderr, "parallel_streams: %s\n", ev->fault.text);
			e->failed = true;
		}
		break;
	}
}

/* Waits until that time, or until an event. */
static void look(struct ends *e, uint64_t until)
{
	uint64_t now = iw_os_now();
	struct iw_async_event ev;
	struct iw_wc wc[16];
	int n;

	if (iw_cq_wait(e->cq, until > now ? (int64_t)(until - now) : 0) < 0)
		die("wait", "failed");
	while ((n = iw_cq_poll(e->cq, wc, IW_ARRAY_LEN(wc))) > 0)
		for (int i = 0; i < n; i++)
			if (wc[i].op == IW_WC_RECV && wc[i].status == IW_OK)
				delivered(e, &wc[i]);
	while (iw_next_event(e->ctx, &ev))
		happened(e, &ev);
}

/* --- the two ends ----------------------------------------------------------------------------- */

static void serve(struct ends *e, uint64_t limit)
{
	struct iw_listener *l;
	struct iw_fault why;

	if (iw_listen(&l, e->ctx, &e->param.at, &e->param.protocol, &why) < 0)
		die("listen", why.text);
	puts("{\"event\":\"listening\"}");
	fflush(stdout);
	while ((e->nstreams == 0 || e->gone < e->nstreams) && iw_os_now() < limit)
		look(e, limit);
}

static void connect_all(struct ends *e, unsigned streams, uint64_t limit)
{
	struct iw_fault why;

	for (unsigned i = 0; i < streams; i++) {
		e->param.at.beside = i ? e->stream[0].qp : NULL;
		if (iw_connect(make_stream(e)->qp, &e->param.at, &e->param.protocol, &why) < 0)
			die("connect", why.text);
	}
	while (e->up < streams && e->gone == 0 && iw_os_now() < limit)
		look(e, limit);
}

static void send_all(struct ends *e, uint32_t messages, uint64_t interval, uint64_t limit)
{
	uint64_t began = iw_os_now();
	struct message *m = calloc((size_t)messages * SEQUENCES, sizeof(*m));

	if (!m)
		die("messages", "no memory");
	for (uint64_t i = 0; i < (uint64_t)messages * SEQUENCES && e->gone == 0; i++) {
		unsigned sequence = i % SEQUENCES;
		struct iw_sge sge = { &m[i], LEN };
		struct iw_send_wr wr = { .op = IW_WR_SEND, .sge = &sge, .nsge = 1 };

		while (iw_os_now() < began + i * interval / SEQUENCES)
			look(e, began + i * interval / SEQUENCES);
		make_message(&m[i], sequence, (uint32_t)(i / SEQUENCES));
		say("posted", sequence, (uint32_t)(i / SEQUENCES));
		if (iw_post_send(e->stream[sequence % e->nstreams].qp, &wr, NULL) < 0)
			die("send", "refused");
	}
	for (unsigned i = 0; i < e->nstreams; i++)
		iw_disconnect(e->stream[i].qp);
	while (e->gone < e->nstreams && iw_os_now() < limit)
		look(e, limit);
	free(m);
}

int main(int argc, char **argv)
{
	static struct ends e;
	struct iw_ctx_attr attr = { .size = sizeof(attr), .trace = trace };
	uint64_t limit = iw_os_now() + IW_SEC(LIMIT_S);
	struct iw_fault why;
	bool server, good;

	if (argc < 5 || (strcmp(argv[1], "serve") == 0 ? argc != 5 : argc != 7)) {
		fprintf(stderr, "usage: parallel_streams serve TRANSPORT ADDR PORT\n"
				"       parallel_streams send  TRANSPORT ADDR PORT MESSAGES MS\n");
		return PROGRAM_USAGE;
	}
	server = argc == 5;
	e.param = (struct conn_param){ CONN_PARAM_SIZES, .at.transport = argv[2],
				       .at.host = argv[3],
				       .at.port = (uint16_t)number(argv[4], UINT16_MAX) };
	if (iw_ctx_new(&e.ctx, &attr, &why) < 0 || iw_pd_new(&e.pd, e.ctx) < 0 ||
	    iw_cq_new(&e.cq, e.ctx) < 0)
		die("begin", why.text);
	if (server) {
		serve(&e, limit);
	} else {
		connect_all(&e, strcmp(argv[2], "tcp") == 0 ? 1 : SEQUENCES, limit);
		send_all(&e, (uint32_t)number(argv[5], 10000), IW_MSEC(number(argv[6], 10000)),
			 limit);
	}
	good = !e.failed && e.nstreams > 0 && e.gone == e.nstreams;
	iw_ctx_free(e.ctx);
	return good ? 0 : 1;
}
