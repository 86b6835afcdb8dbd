// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* initiator HOST PORT TEXT: RDMA Writes TEXT into the responder's buffer, then notifies it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iwarp/verbs.h>

static _Noreturn void die(const char *what, const struct iw_fault *why)
{
	fprintf(stderr, "initiator: %s: %s\n", what, why->text);
	exit(1);
}

static uint32_t get32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The peer's advertisement is in its Private Data: STag and length. */
static void write_board(struct iw_qp *qp, const char *text)
{
	struct iw_sge octets = { text, strlen(text) }, note = { "written", 7 };
	struct iw_send_wr write = {
		.op = IW_WR_WRITE, .flags = IW_WR_UNSIGNALED, .sge = &octets, .nsge = 1
	};
	struct iw_send_wr send = { .op = IW_WR_SEND, .sge = &note, .nsge = 1 };
	struct iw_fault why = { .text = "not possible" };
	struct iw_qp_info info;

	iw_qp_info(qp, &info);
	if (info.private_data_len != 8 || get32(info.private_data + 4) < octets.len)
		die("the peer's buffer is too small", &why);
	write.remote_stag = get32(info.private_data);
	/* A Send is delivered after everything before it was placed (RFC 5040 5.5). */
	if (iw_post_send(qp, &write, &why) || iw_post_send(qp, &send, &why))
		die("post", &why);
}

int main(int argc, char **argv)
{
	struct iw_endpoint_attr to = { .size = sizeof(to) };
	struct iw_qp_attr qa = { .size = sizeof(qa) };
	struct iw_async_event ev = { .type = IW_EV_CONNECT_REQUEST };
	struct iw_fault why = { .text = "out of memory" };
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_qp *qp;
	struct iw_wc wc;

	if (argc != 4) {
		fprintf(stderr, "usage: initiator HOST PORT TEXT\n");
		return 2;
	}
	to.host = argv[1];
	to.port = (uint16_t)strtoul(argv[2], NULL, 10);
	if (iw_ctx_new(&ctx, NULL, &why) || iw_pd_new(&pd, ctx) || iw_cq_new(&qa.send_cq, ctx))
		die("set up", &why);
	qa.recv_cq = qa.send_cq;
	if (iw_qp_new(&qp, pd, &qa, &why) || iw_connect(qp, &to, NULL, &why))
		die("connect", &why);

	while (ev.type != IW_EV_CLOSED) {
		if (iw_cq_wait(qa.send_cq, -1) < 0)
			die("wait", &why);
		while (iw_cq_poll(qa.send_cq, &wc, 1) > 0) {
			if (wc.status == IW_OK)
				iw_disconnect(wc.qp); /* the Send is complete */
			else
				fprintf(stderr, "initiator: send: %s\n", iw_err_text(wc.status));
		}
		while (iw_next_event(ctx, &ev))
			if (ev.type == IW_EV_ESTABLISHED)
				write_board(ev.qp, argv[3]);
	}
	why = ev.fault;
	iw_ctx_free(ctx);
	if (why.err)
		die("connection", &why);
	printf("written\n");
	return 0;
}
