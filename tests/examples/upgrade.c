// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* upgrade [PORT TEXT]: agrees by text lines on RDMA, then sends TEXT; without TEXT, receives it. */
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <iwarp/verbs.h>

static char note[16]; /* the text of one Send; RDMA is rejected for a longer one */

static int tcp_connection(uint16_t port)
{
	struct sockaddr_in at = { AF_INET, htons(port), { htonl(INADDR_LOOPBACK) }, { 0 } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (port)
		return connect(fd, (struct sockaddr *)&at, len) ? -1 : fd;
	if (bind(fd, (struct sockaddr *)&at, len) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)&at, &len))
		return -1;
	dprintf(1, "listening on 127.0.0.1:%u\n", ntohs(at.sin_port));
	return accept(fd, NULL, NULL);
}

static void on_event(const struct iw_async_event *ev, int fd, const struct iw_sge *text)
{
	struct iw_send_wr send = { .op = IW_WR_SEND, .sge = text, .nsge = 1 };
	struct iw_fault why = { 0 };
	struct iw_req_info req;

	if (ev->type == IW_EV_CONNECT_REQUEST) {
		iw_req_info(ev->req, &req);
		if (req.private_data_len != 1 || req.private_data[0] > sizeof(note))
			iw_reject(ev->req, NULL, 0);
		else if (iw_accept(ev->req, ev->qp, NULL, &why))
			errx(1, "%s", why.text);
	} else if (ev->type == IW_EV_ESTABLISHED) {
		close(fd); /* the queue pair has a descriptor of its own */
		if (text->len && iw_post_send(ev->qp, &send, &why))
			errx(1, "%s", why.text);
	} else if (ev->type == IW_EV_PEER_CLOSED) {
		iw_disconnect(ev->qp);
	}
}

int main(int argc, char **argv)
{
	struct iw_sge text = { argv[argc - 1], argc == 3 ? strlen(argv[2]) : 0 };
	unsigned char size = text.len < 255 ? (unsigned char)text.len : 255;
	struct iw_protocol_attr protocol = { sizeof(protocol), .private_data = &size };
	struct iw_adopt how = { .size = sizeof(how), .responder = !text.len };
	struct iw_qp_attr qa = { .size = sizeof(qa) };
	struct iw_async_event ev = { .type = IW_EV_CONNECT_REQUEST };
	struct iw_fault why = { .text = "out of memory" };
	const void *octets;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_qp *qp;
	struct iw_wc wc;
	size_t len;

	how.fd = tcp_connection(text.len ? (uint16_t)strtoul(argv[1], NULL, 10) : 0);
	/* Both programs send one line. Read no octet after the peer's: its MPA Request may follow. */
	if (dprintf(how.fd, "RDMA\n") < 0 || recv(how.fd, note, 5, MSG_WAITALL) != 5 ||
	    memcmp(note, "RDMA\n", 5) != 0)
		errx(1, "no connection, or no agreement on RDMA");
	protocol.private_data_len = text.len > 0; /* the responder decides by this octet */
	if (iw_ctx_new(&ctx, NULL, &why) || iw_pd_new(&pd, ctx) || iw_cq_new(&qa.send_cq, ctx))
		errx(1, "%s", why.text);
	qa.recv_cq = qa.send_cq;
	if (iw_qp_new(&qp, pd, &qa, &why) || iw_post_recv(qp, 1, note, sizeof(note), &why) ||
	    iw_adopt(qp, &how, &protocol, &why))
		errx(1, "%s", why.text);
	while (ev.type != IW_EV_CLOSED && iw_cq_wait(qa.send_cq, -1) >= 0) {
		while (iw_cq_poll(qa.send_cq, &wc, 1) > 0)
			if (wc.status == IW_OK && wc.op == IW_WC_RECV)
				printf("by RDMA: %.*s\n", (int)wc.len, note);
			else if (wc.status == IW_OK)
				iw_disconnect(qp); /* the Send is complete */
		while (iw_next_event(ctx, &ev))
			on_event(&ev, how.fd, &text);
	}
	if (iw_adopt_streaming(qp, &octets, &len)) {
		if (ev.type != IW_EV_CLOSED || ev.fault.err)
			errx(1, "%s", ev.fault.text[0] ? ev.fault.text : "cannot wait");
	} else if (text.len) {
		dprintf(how.fd, "%s\n", argv[2]);
	} else { /* the octets that the library has read come first */
		printf("as text: %.*s", (int)len, (const char *)octets);
		for (char c; read(how.fd, &c, 1) > 0;)
			putchar(c);
	}
	iw_ctx_free(ctx);
	return 0;
}
