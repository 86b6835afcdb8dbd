// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* secure KEYFILE [PORT TEXT]: sends TEXT over TLS to the same program, which is started without it. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iwarp/verbs.h>

static char note[256]; /* the text of the peer's Send */

/* Only a peer that has read the same file gets a connection; no certificate is needed. */
static struct iw_tls *credentials(const char *path)
{
	struct iw_tls_attr attr = { .size = sizeof(attr) };
	struct iw_fault why = { 0 };
	uint8_t key[IW_TLS_PSK_MAX];
	FILE *f = fopen(path, "rb");
	struct iw_tls *tls;

	if (!f)
		err(1, "%s", path);
	attr.psk = key;
	attr.psk_len = fread(key, 1, sizeof(key), f);
	fclose(f);
	if (iw_tls_new(&tls, &attr, &why))
		errx(1, "%s: %s", path, why.text);
	explicit_bzero(key, sizeof(key)); /* the library has a copy */
	return tls;
}

/* Nothing is posted before the peer is known. */
static void on_established(struct iw_qp *qp, const char *text)
{
	struct iw_tls_info tls = { .size = sizeof(tls) };
	struct iw_sge octets = { text, text ? strlen(text) : 0 };
	struct iw_send_wr send = { .op = IW_WR_SEND, .sge = &octets, .nsge = 1 };
	struct iw_fault why = { 0 };

	if (iw_qp_tls(qp, &tls) || tls.auth != IW_TLS_AUTH_PSK)
		errx(1, "the connection is not encrypted, or its peer is not authenticated");
	printf("%s, %s\n", tls.version, tls.cipher);
	if (text && iw_post_send(qp, &send, &why))
		errx(1, "%s", why.text);
}

static void on_event(const struct iw_async_event *ev, struct iw_qp *qp, const char *text)
{
	struct iw_fault why = { 0 };

	if (ev->type == IW_EV_CONNECT_REQUEST && iw_accept(ev->req, qp, NULL, &why))
		errx(1, "%s", why.text);
	if (ev->type == IW_EV_ESTABLISHED)
		on_established(ev->qp, text);
	if (ev->type == IW_EV_PEER_CLOSED)
		iw_disconnect(ev->qp);
	if (ev->type == IW_EV_CLOSED && ev->fault.err)
		errx(1, "%s", ev->fault.text);
}

int main(int argc, char **argv)
{
	struct iw_endpoint_attr at = { .size = sizeof(at), .host = "127.0.0.1" };
	struct iw_async_event ev = { .type = IW_EV_CONNECT_REQUEST };
	struct iw_qp_attr qa = { .size = sizeof(qa) };
	struct iw_fault why = { .text = "out of memory" };
	struct iw_listener *l;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_qp *qp;
	struct iw_wc wc;

	if (argc != 2 && argc != 4)
		errx(2, "usage: secure KEYFILE [PORT TEXT]");
	at.tls = credentials(argv[1]);
	at.port = (uint16_t)(argc == 4 ? strtoul(argv[2], NULL, 10) : 0);
	if (iw_ctx_new(&ctx, NULL, &why) || iw_pd_new(&pd, ctx) || iw_cq_new(&qa.send_cq, ctx))
		errx(1, "%s", why.text);
	qa.recv_cq = qa.send_cq;
	if (iw_qp_new(&qp, pd, &qa, &why) || iw_post_recv(qp, 1, note, sizeof(note), &why) ||
	    (argc == 4 ? iw_connect(qp, &at, NULL, &why) : iw_listen(&l, ctx, &at, NULL, &why)))
		errx(1, "%s", why.text);
	iw_tls_free(at.tls); /* the connection and the listener keep it */
	if (argc == 2)
		printf("listening on %s\n", iw_listener_addr(l));
	fflush(stdout);
	while (ev.type != IW_EV_CLOSED && iw_cq_wait(qa.send_cq, -1) >= 0) {
		while (iw_next_event(ctx, &ev))
			on_event(&ev, qp, argc == 4 ? argv[3] : NULL);
		while (iw_cq_poll(qa.send_cq, &wc, 1) > 0)
			if (wc.status == IW_OK && wc.op == IW_WC_RECV)
				printf("received: %.*s\n", (int)wc.len, note);
			else if (wc.status == IW_OK)
				iw_disconnect(qp); /* the Send is complete */
	}
	iw_ctx_free(ctx);
	return 0;
}
