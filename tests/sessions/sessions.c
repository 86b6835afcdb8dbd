// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * DDP stream sessions one after another on one SCTP association. A first session holds the
 * association; each of the others carries one Send and ends in order before the next one begins.
 * The ends take turns in ending a session first.
 *
 *   sessions serve TRANSPORT ADDR PORT STREAMS             prints "listening", runs until killed
 *   sessions open  TRANSPORT ADDR PORT STREAMS N [busy]    N sessions
 *
 * busy: the first session sends RDMA Writes all the time. Over udp the UDP port is PORT too. open
 * prints "sessions N failed F streams S", where S is the number of streams used. Exit status: 0 no
 * session failed, 1 at least one failed, 4 it cannot run here.
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

enum { LEN = 1000, RECVS = 16, SENDS = 8, N_MAX = 10000000 };
/* the end that ends the session first; the first octet of a Send */
enum who { INITIATOR, RESPONDER };

struct session {
	struct iw_qp *qp;
	uint8_t in[RECVS][LEN];
};

struct ends {
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct conn_param param;
	struct session *first; /* open: it holds the association */
	struct session *now;   /* open: the current one */
	uint8_t out[LEN];
	bool busy;
	unsigned idle; /* Writes that the first session can post */
	uint64_t wanted, ended, failed;
	uint16_t streams; /* used */
};

static struct session *make_session(struct ends *e)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		die("session", "no memory");
	s->qp = make_qp(e->pd, e->cq, s);
	for (uint64_t i = 0; i < RECVS; i++)
		if (iw_post_recv(s->qp, i, s->in[i], LEN, NULL) != 0)
			die("receive", "not posted");
	return s;
}

static void free_session(struct session *s)
{
	iw_qp_free(s->qp);
	free(s);
}

static void send_octets(struct session *s, const uint8_t *octets)
{
	struct iw_sge sge = { octets, LEN };
	struct iw_send_wr wr = { .op = IW_WR_SEND, .sge = &sge, .nsge = 1 };

	/* Drains the completions; a session that has ended reports that by its event. */
	(void)!iw_post_send(s->qp, &wr, NULL);
}

/* A zero-length RDMA Write: no flow control limits these. */
static void fill(struct session *s)
{
	struct iw_send_wr wr = { .op = IW_WR_WRITE };

	(void)!iw_post_send(s->qp, &wr, NULL);
}

/* --- open ------------------------------------------------------------------------------------- */

static void fail_session(struct ends *e, const char *why)
{
	if (e->failed++ < FAILURES_SHOWN)
		fprintf(stderr, "sessions: %" PRIu64 ": %s\n", e->ended, why);
}

static void begin_next(struct ends *e)
{
	struct conn_param p = e->param;
	struct iw_fault why;

	p.at.beside = e->first->qp;
	while (!e->now && e->ended < e->wanted) {
		e->now = make_session(e);
		if (iw_connect(e->now->qp, &p.at, &p.protocol, &why) == 0)
			return;
		fail_session(e, why.text);
		free_session(e->now);
		e->now = NULL;
		e->ended++;
	}
}

static void opened(struct ends *e, struct session *s)
{
	struct iw_assoc_info info = { .size = sizeof(info) };

	if (s == e->first) {
		e->idle = e->busy ? SENDS : 0;
		begin_next(e);
		return;
	}
	if (iw_qp_assoc(s->qp, &info, NULL) == 0)
		e->streams = IW_MAX(e->streams, (uint16_t)(info.stream + 1));
	e->out[0] = e->ended % 2 ? RESPONDER : INITIATOR;
	send_octets(s, e->out);
}

static void closed(struct ends *e, struct session *s, const struct iw_fault *why)
{
	if (s == e->first)
		die("the first session ended", why->text);
	if (why->err != IW_OK)
		fail_session(e, why->text);
	free_session(s);
	e->now = NULL;
	e->ended++;
	begin_next(e);
}

static void sent(struct ends *e, struct session *s)
{
	if (s == e->first)
		e->idle++;
	else if (e->out[0] == INITIATOR)
		iw_disconnect(s->qp);
}

/* --- both ends -------------------------------------------------------------------------------- */

static void admit(struct ends *e, struct iw_conn_req *req)
{
	struct session *s = make_session(e);
	struct iw_fault why;

	if (iw_accept(req, s->qp, NULL, &why) == 0)
		return;
	fprintf(stderr, "sessions: accept: %s\n", why.text);
	free_session(s);
}

static void take_events(struct ends *e, bool open)
{
	struct iw_async_event ev;

	while (iw_next_event(e->ctx, &ev)) {
		struct session *s = ev.qp ? iw_qp_user(ev.qp) : NULL;

		if (ev.type == IW_EV_CONNECT_REQUEST)
			admit(e, ev.req);
		else if (ev.type == IW_EV_ESTABLISHED && open)
			opened(e, s);
		else if (ev.type == IW_EV_PEER_CLOSED)
			iw_disconnect(ev.qp);
		else if (ev.type == IW_EV_CLOSED && open)
			closed(e, s, &ev.fault);
		else if (ev.type == IW_EV_CLOSED)
			free_session(s);
	}
}

static void take_completions(struct ends *e)
{
	struct iw_wc wc;

	while (iw_cq_poll(e->cq, &wc, 1) == 1) {
		struct session *s = iw_qp_user(wc.qp);

		if (wc.status != IW_OK)
			continue;
		if (wc.op != IW_WC_RECV) {
			sent(e, s);
		} else {
			if (s->in[wc.wr_id][0] == RESPONDER)
				iw_disconnect(s->qp);
			else
				(void)!iw_post_recv(s->qp, wc.wr_id, s->in[wc.wr_id], LEN, NULL);
		}
	}
}

static void turn(struct ends *e, bool open)
{
	if (iw_progress(e->ctx, (int64_t)IW_SEC(1)) < 0)
		die("progress", "failed");
	/* Completions of a session come before its last event. */
	take_completions(e);
	take_events(e, open);
	for (; e->idle > 0; e->idle--)
		fill(e->first);
}

static int run_open(struct ends *e)
{
	uint64_t began = iw_os_now();
	struct iw_fault why;

	e->first = make_session(e);
	if (iw_connect(e->first->qp, &e->param.at, &e->param.protocol, &why) != 0)
		die("connect", why.text);
	while (e->ended < e->wanted)
		turn(e, true);
	printf("sessions %" PRIu64 " failed %" PRIu64 " streams %u\n", e->ended, e->failed,
	       (unsigned)e->streams);
	fprintf(stderr, "sessions: %" PRIu64 " ms\n", (iw_os_now() - began) / 1000000);
	return e->failed > 0;
}

static int run_serve(struct ends *e)
{
	struct iw_listener *l;
	struct iw_fault why;

	if (iw_listen(&l, e->ctx, &e->param.at, &e->param.protocol, &why) != 0)
		die("listen", why.text);
	printf("listening\n");
	fflush(stdout);
	for (;;)
		turn(e, false);
}

int main(int argc, char **argv)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr) };
	static struct ends e;
	struct iw_fault why;
	bool open = argc >= 7 && strcmp(argv[1], "open") == 0;
	int status;

	if (!open && (argc != 6 || strcmp(argv[1], "serve") != 0)) {
		fprintf(stderr, "usage: sessions serve TRANSPORT ADDR PORT STREAMS\n"
				"       sessions open TRANSPORT ADDR PORT STREAMS N [busy]\n");
		return PROGRAM_USAGE;
	}
	e.param = (struct conn_param){ CONN_PARAM_SIZES, .at.transport = argv[2],
				       .at.host = argv[3],
				       .at.port = (uint16_t)number(argv[4], UINT16_MAX),
				       .at.streams = (uint16_t)number(argv[5], UINT16_MAX) };
	if (strcmp(argv[2], "udp") == 0)
		e.param.at.udp_port = e.param.at.port;
	e.wanted = open ? number(argv[6], N_MAX) : 0;
	e.busy = argc == 8;
	if (iw_ctx_new(&e.ctx, &attr, &why) != 0)
		die("context", why.text);
	if (iw_pd_new(&e.pd, e.ctx) != 0 || iw_cq_new(&e.cq, e.ctx) != 0)
		die("context", "no memory");
	status = open ? run_open(&e) : run_serve(&e);
	iw_ctx_free(e.ctx);
	return status;
}
