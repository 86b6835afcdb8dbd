// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* upgrade [PORT TEXT]: agrees by text lines on RDMA, then sends TEXT; without TEXT, receives it. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iwarp/verbs.h>

static char note[16]; /* the text of one Send; RDMA is rejected for a longer one */

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "upgrade: %s\n", why);
	exit(1);
}

static int tcp_connection(const char *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at.sin_port = htons((uint16_t)(port ? strtoul(port, NULL, 10) : 0));
	if (port)
		return connect(fd, (struct sockaddr *)&at, len) ? -1 : fd;
	if (bind(fd, (struct sockaddr *)&at, len) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)&at, &len))
		return -1;
	printf("listening on 127.0.0.1:%u\n", ntohs(at.sin_port));
	fflush(stdout);
	return accept(fd, NULL, NULL);
}

/* Reads no octet after the line: the MPA Request may follow. */
static int received(int fd, const char *line)
{
	char got[8] = "";

	return recv(fd, got, strlen(line), MSG_WAITALL) > 0 && !strcmp(got, line);
}

static void on_event(const struct iw_async_event *ev, int fd, const char *text)
{
	struct iw_sge octets = { text, text ? strlen(text) : 0 };
	struct iw_send_wr send = { .op = IW_WR_SEND, .sge = &octets, .nsge = 1 };
	struct iw_fault why = { .text = "cannot send" };
	struct iw_req_info req;

	if (ev->type == IW_EV_CONNECT_REQUEST) {
		iw_req_info(ev->req, &req);
		if (req.private_data_len != 1 || req.private_data[0] > sizeof(note))
			iw_reject(ev->req, NULL, 0);
		else if (iw_accept(ev->req, ev->qp, NULL, &why))
			die(why.text);
	} else if (ev->type == IW_EV_ESTABLISHED) {
		close(fd); /* the queue pair has a descriptor of its own */
		if (text && iw_post_send(ev->qp, &send, &why))
			die(why.text);
	} else if (ev->type == IW_EV_PEER_CLOSED) {
		iw_disconnect(ev->qp);
	}
}

/* Without RDMA: the octets that the library has read come first. */
static void stream(int fd, const char *text, const void *octets, size_t len)
{
	char c;

	if (text && dprintf(fd, "%s\n", text) < 0)
		die("cannot write");
	if (text)
		return;
	printf("as text: %.*s", (int)len, (const char *)octets);
	while (read(fd, &c, 1) > 0)
		putchar(c);
}

int main(int argc, char **argv)
{
	const char *text = argc == 3 ? argv[2] : NULL;
	unsigned char want = (unsigned char)(text && strlen(text) < 255 ? strlen(text) : 255);
	struct iw_protocol_attr protocol = { .size = sizeof(protocol) };
	struct iw_adopt how = { .size = sizeof(how), .responder = !text };
	struct iw_qp_attr qa = { .size = sizeof(qa) };
	struct iw_async_event ev = { .type = IW_EV_CONNECT_REQUEST };
	struct iw_fault why = { .text = "out of memory" };
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_qp *qp;
	struct iw_wc wc;
	const void *octets;
	size_t len;

	if (iw_ctx_new(&ctx, NULL, &why) || iw_pd_new(&pd, ctx) || iw_cq_new(&qa.send_cq, ctx))
		die(why.text);
	qa.recv_cq = qa.send_cq;
	if (iw_qp_new(&qp, pd, &qa, &why) || iw_post_recv(qp, 1, note, sizeof(note), &why))
		die(why.text);

	how.fd = tcp_connection(text ? argv[1] : NULL);
	if (how.fd < 0 || (text && dprintf(how.fd, "RDMA?\n") < 0) ||
	    !received(how.fd, text ? "yes\n" : "RDMA?\n") ||
	    (!text && dprintf(how.fd, "yes\n") < 0))
		die("no connection, or no agreement on it");

	/* The responder decides by the initiator's Private Data. */
	protocol.private_data = &want;
	protocol.private_data_len = text ? 1 : 0;
	if (iw_adopt(qp, &how, &protocol, &why))
		die(why.text);
	while (ev.type != IW_EV_CLOSED) {
		if (iw_cq_wait(qa.send_cq, -1) < 0)
			die("cannot wait");
		while (iw_cq_poll(qa.send_cq, &wc, 1) > 0)
			if (wc.status == IW_OK && wc.op == IW_WC_RECV)
				printf("by RDMA: %.*s\n", (int)wc.len, note);
			else if (wc.status == IW_OK)
				iw_disconnect(qp); /* the Send is complete */
		while (iw_next_event(ctx, &ev))
			on_event(&ev, how.fd, text);
	}
	if (iw_adopt_streaming(qp, &octets, &len) == 0)
		stream(how.fd, text, octets, len);
	else if (ev.fault.err)
		die(ev.fault.text);
	iw_ctx_free(ctx);
	return 0;
}
