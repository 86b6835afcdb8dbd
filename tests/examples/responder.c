// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* responder [PORT]: lets one peer RDMA Write into a buffer, and prints it when notified. */
#include <stdio.h>
#include <stdlib.h>

#include <iwarp/verbs.h>

static char board[4096]; /* the peer may write to it */
static char note[64];    /* the peer's Send */

static _Noreturn void die(const char *what, const struct iw_fault *why)
{
	fprintf(stderr, "responder: %s: %s\n", what, why->text);
	exit(1);
}

static void put32(unsigned char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> (24 - 8 * i));
}

int main(int argc, char **argv)
{
	struct iw_endpoint_attr at = { .size = sizeof(at) };
	struct iw_qp_attr qa = { .size = sizeof(qa) };
	struct iw_protocol_attr answer = { .size = sizeof(answer) };
	struct iw_mr_attr ma = { .addr = board,
				 .len = sizeof(board) - 1,
				 .access = IW_ACCESS_REMOTE_WRITE };
	unsigned char advert[8]; /* our Private Data: STag and length, big-endian */
	struct iw_listener *l;
	struct iw_async_event ev;
	struct iw_fault why = { .text = "out of memory" };
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_mr *mr;
	struct iw_qp *qp;
	struct iw_wc wc;
	int done = 0;

	at.port = (uint16_t)(argc > 1 ? strtoul(argv[1], NULL, 10) : 0);
	if (iw_ctx_new(&ctx, NULL, &why) || iw_listen(&l, ctx, &at, NULL, &why))
		die("listen", &why);
	printf("listening on %s\n", iw_listener_addr(l));
	fflush(stdout);

	if (iw_pd_new(&pd, ctx) || iw_cq_new(&qa.send_cq, ctx))
		die("set up", &why);
	qa.recv_cq = qa.send_cq;
	if (iw_qp_new(&qp, pd, &qa, &why) || iw_post_recv(qp, 1, note, sizeof(note), &why))
		die("queue pair", &why);
	/* With a queue pair, only its connection may use the STag. */
	ma.qp = qp;
	if (iw_mr_reg(&mr, pd, &ma, &why))
		die("register", &why);
	put32(advert, iw_mr_stag(mr));
	put32(advert + 4, (uint32_t)ma.len);
	answer.private_data = advert;
	answer.private_data_len = sizeof(advert);

	while (!done) {
		if (iw_cq_wait(qa.recv_cq, -1) < 0)
			die("wait", &why);
		while (iw_cq_poll(qa.recv_cq, &wc, 1) > 0) {
			if (wc.op != IW_WC_RECV || wc.status != IW_OK)
				continue;
			iw_mr_revoke(mr); /* the peer cannot change it any more */
			printf("note: %.*s\nboard: %s\n", (int)wc.len, note, board);
		}
		while (iw_next_event(ctx, &ev)) {
			if (ev.type == IW_EV_CONNECT_REQUEST) {
				if (iw_accept(ev.req, qp, &answer, &why))
					fprintf(stderr, "responder: accept: %s\n", why.text);
			} else if (ev.type == IW_EV_PEER_CLOSED) {
				iw_disconnect(ev.qp);
			} else if (ev.type == IW_EV_CLOSED) {
				done = 1;
				why = ev.fault;
			}
		}
	}
	iw_ctx_free(ctx);
	if (why.err)
		die("connection", &why);
	return 0;
}
