// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections over tcp one after another, plain or with TLS: each is set up, and ended in order by
 * the initiator before the next one begins. No data is sent.
 *
 *   connects serve ADDR PORT [CERT KEY]     prints "listening"; after SIGTERM "accepted N"
 *   connects open ADDR PORT SECONDS [PIN]   PIN: 64 hex digits, the key of the listener
 *
 * open prints "connections N failed F ns T". Exit status: 0 no connection failed, 1 at least one
 * failed, 4 it cannot run here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iwarp/verbs.h>

#include "os/os.h"
#include "program.h"
#include "util/num.h"

enum { SECONDS_MAX = 3600 };

struct ends {
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_tls *tls; /* NULL: plain */
	struct iw_endpoint_attr at;
	struct iw_protocol_attr protocol;
	uint64_t established, ended, failed;
	uint64_t until; /* open: no connection begins after this */
	bool over;
};

static void fail_connection(struct ends *e, const char *why)
{
	if (e->failed++ < FAILURES_SHOWN)
		fprintf(stderr, "connects: connection %" PRIu64 ": %s\n", e->ended + 1, why);
}

/* --- open ------------------------------------------------------------------------------------- */

static void begin_next(struct ends *e)
{
	struct iw_fault why;
	struct iw_qp *qp;

	if (iw_os_now() >= e->until) {
		e->over = true;
		return;
	}
	qp = make_qp(e->pd, e->cq, NULL);
	if (iw_connect(qp, &e->at, &e->protocol, &why) != 0)
		die("connect", why.text);
}

static void opened_closed(struct ends *e, const struct iw_async_event *ev)
{
	if (ev->fault.err != IW_OK)
		fail_connection(e, ev->fault.text);
	iw_qp_free(ev->qp);
	e->ended++;
	begin_next(e);
}

/* --- both ends -------------------------------------------------------------------------------- */

static void admit(struct ends *e, struct iw_conn_req *req)
{
	struct iw_qp *qp = make_qp(e->pd, e->cq, NULL);
	struct iw_fault why;

	if (iw_accept(req, qp, NULL, &why) == 0)
		return;
	fail_connection(e, why.text);
	iw_qp_free(qp);
}

static void take_events(struct ends *e, bool open)
{
	struct iw_async_event ev;

	while (iw_next_event(e->ctx, &ev)) {
		if (ev.type == IW_EV_CONNECT_REQUEST)
			admit(e, ev.req);
		else if (ev.type == IW_EV_ESTABLISHED)
			e->established++;
		if ((ev.type == IW_EV_ESTABLISHED && open) || ev.type == IW_EV_PEER_CLOSED)
			iw_disconnect(ev.qp);
		else if (ev.type == IW_EV_CLOSED && open)
			opened_closed(e, &ev);
		else if (ev.type == IW_EV_CLOSED)
			iw_qp_free(ev.qp);
	}
}

static void turn(struct ends *e, bool open)
{
	if (iw_progress(e->ctx, (int64_t)IW_SEC(1)) < 0)
		die("progress", "failed");
	take_events(e, open);
}

static int run_open(struct ends *e, uint64_t seconds)
{
	uint64_t began = iw_os_now();

	e->until = began + IW_SEC(seconds);
	begin_next(e);
	while (!e->over)
		turn(e, true);
	printf("connections %" PRIu64 " failed %" PRIu64 " ns %" PRIu64 "\n", e->established,
	       e->failed, iw_os_now() - began);
	return e->failed > 0;
}

static int run_serve(struct ends *e)
{
	struct iw_listener *l;
	struct iw_fault why;

	end_on_sigterm();
	if (iw_listen(&l, e->ctx, &e->at, &e->protocol, &why) != 0)
		die("listen", why.text);
	printf("listening\n");
	fflush(stdout);
	while (!stopped)
		turn(e, false);
	printf("accepted %" PRIu64 "\n", e->established);
	return e->failed > 0;
}

/* --- arguments -------------------------------------------------------------------------------- */

static void parse_pin(uint8_t pin[IW_TLS_PIN_LEN], const char *text)
{
	int n = 0;

	for (int i = 0; i < IW_TLS_PIN_LEN; i++)
		if (sscanf(text + i * 2, "%2hhx%n", &pin[i], &n) != 1 || n != 2) {
			fprintf(stderr, "connects: \"%s\": a pin is 64 hex digits\n", text);
			exit(PROGRAM_USAGE);
		}
}

static struct iw_tls *make_tls(bool open, char **args)
{
	uint8_t pin[1][IW_TLS_PIN_LEN];
	struct iw_tls_attr attr = { .size = sizeof(attr) };
	struct iw_fault why;
	struct iw_tls *tls;

	if (open) {
		parse_pin(pin[0], args[0]);
		attr.pins = (const uint8_t(*)[IW_TLS_PIN_LEN])pin;
		attr.npins = 1;
	} else {
		attr.cert_file = args[0];
		attr.key_file = args[1];
	}
	if (iw_tls_new(&tls, &attr, &why) != 0)
		die("credentials", why.text);
	return tls;
}

int main(int argc, char **argv)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr) };
	bool open = argc >= 2 && strcmp(argv[1], "open") == 0;
	bool serve = argc >= 2 && strcmp(argv[1], "serve") == 0;
	int plain = open ? 5 : 4;
	struct ends e = { 0 };
	struct iw_fault why;
	int status;

	if (!(open && (argc == 5 || argc == 6)) && !(serve && (argc == 4 || argc == 6))) {
		fprintf(stderr, "usage: connects serve ADDR PORT [CERT KEY]\n"
				"       connects open ADDR PORT SECONDS [PIN]\n");
		return PROGRAM_USAGE;
	}
	e.at = (struct iw_endpoint_attr){ .size = sizeof(e.at),
					  .transport = "tcp",
					  .host = argv[2],
					  .port = (uint16_t)number(argv[3], UINT16_MAX) };
	e.protocol.size = sizeof(e.protocol);
	if (argc > plain)
		e.at.tls = e.tls = make_tls(open, argv + plain);
	if (iw_ctx_new(&e.ctx, &attr, &why) != 0)
		die("context", why.text);
	if (iw_pd_new(&e.pd, e.ctx) != 0 || iw_cq_new(&e.cq, e.ctx) != 0)
		die("context", "no memory");
	status = open ? run_open(&e, number(argv[4], SECONDS_MAX)) : run_serve(&e);
	iw_ctx_free(e.ctx);
	iw_tls_free(e.tls);
	return status;
}
