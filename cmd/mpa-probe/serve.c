// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A listener, from its first connection to its last. */
#include "mpa-probe/serve.h"

#include "cli/confine.h"
#include "cli/exit.h"
#include "cli/param.h"
#include "mpa-probe/rping_run.h"
#include "mpa-probe/shim.h"
#include "mpa-probe/sink.h"

struct server {
	const struct iw_serve_cfg *cfg;
	struct iw_cli_param conn;
	struct iw_shim shim;
	struct iw_serve_show *show;
	unsigned served;
	int status;
};

static void on_request(void *ctx, const struct iw_shim_report *r)
{
	struct server *s = ctx;

	iw_serve_show_request(s->show, r);
}

static void on_left(struct server *s, const struct iw_serve_conn *c)
{
	s->served++;
	if (s->cfg->once)
		s->status = iw_probe_conn_status(c->fault);
	iw_serve_show_conn(s->show, c);
}

static int serve_sink(struct server *s, struct iw_fault *why)
{
	const struct iw_probe_sink_cfg cfg = { .conn = s->conn,
					       .shim = &s->shim,
					       .once = s->cfg->once,
					       .reject = s->cfg->personality.reject,
					       .setup_ns = s->cfg->personality.row->request_ns,
					       .idle_ns = s->cfg->idle_ns,
					       .trace = s->cfg->trace,
					       .trace_ctx = s->cfg->trace_ctx };
	struct iw_probe_sink_news news;
	struct iw_probe_sink *sink;
	int err = iw_probe_sink_new(&sink, &cfg, why);

	if (err)
		return err;
	err = iw_confine_plain(s->cfg->cli, IW_CONFINE_LISTENS, why);
	if (err) {
		iw_probe_sink_free(sink);
		return err;
	}
	iw_serve_show_listening(s->show, iw_probe_sink_addr(sink), iw_probe_sink_port(sink), "sink",
				!s->conn.at.host);
	while (!s->show->err && (err = iw_probe_sink_next(sink, &news, why)) == 0 &&
	       news.kind != IW_PROBE_SINK_STOPPED)
		if (news.kind == IW_PROBE_SINK_LEFT)
			on_left(s, &(struct iw_serve_conn){ .info = &news.info,
							    .tls = &news.tls,
							    .fault = &news.fault,
							    .sends = news.sends,
							    .octets = news.octets });
	iw_probe_sink_free(sink);
	return err;
}

static int serve_rping(struct server *s, struct iw_fault *why)
{
	const struct iw_rping_run_cfg cfg = { .ping = *s->cfg->rping,
					      .conn = s->conn,
					      .shim = &s->shim,
					      .once = s->cfg->once,
					      .setup_ns = s->cfg->personality.row->request_ns,
					      .timeout_ns = s->cfg->idle_ns,
					      .trace = s->cfg->trace,
					      .trace_ctx = s->cfg->trace_ctx };
	struct iw_rping_run_news news;
	struct iw_rping_run *run = NULL;
	int err = iw_rping_run_new(&run, &cfg, why);

	if (err)
		return err;
	err = iw_confine_plain(s->cfg->cli, IW_CONFINE_LISTENS, why);
	if (err) {
		iw_rping_run_free(run);
		return err;
	}
	iw_serve_show_listening(s->show, iw_rping_run_addr(run), iw_rping_run_port(run), "rping",
				!s->conn.at.host);
	while (!s->show->err && (err = iw_rping_run_next(run, &news, why)) == 0 &&
	       news.kind != IW_RPING_RUN_STOPPED)
		if (news.kind == IW_RPING_RUN_LEFT)
			on_left(s, &(struct iw_serve_conn){ .info = &news.info,
							    .tls = &news.tls,
							    .fault = &news.fault,
							    .rping = &news.result,
							    .verify = cfg.ping.verify });
	iw_rping_run_free(run);
	return err;
}

int iw_serve(const struct iw_serve_cfg *cfg, struct iw_serve_show *show, int *status,
	     struct iw_fault *why)
{
	struct server s = { .cfg = cfg,
			    .conn = cfg->conn,
			    .shim = { .personality = cfg->personality,
				      .lose_early_fpdus = cfg->lose_early_fpdus,
				      .report = on_request,
				      .report_ctx = &s },
			    .show = show,
			    .status = IW_EXIT_OK };
	int err;

	iw_personality_engine(&s.conn, &cfg->personality);
	/*
	 * A peer of the RDMA Consortium is also answered if its Request has Rev 1 (RFC 5044
	 * appendix C).
	 */
	s.shim.rev_most = s.conn.protocol.rev > 0   ? (uint8_t)s.conn.protocol.rev
			  : s.conn.protocol.profile ? 1
						    : 0;
	s.shim.rdmac = s.conn.protocol.profile != NULL;
	err = cfg->rping ? serve_rping(&s, why) : serve_sink(&s, why);
	if (err)
		return err;
	/* `once` was to serve a connection, but the only client was turned away. */
	if (cfg->once && !cfg->personality.reject && !s.served && s.shim.turned_away)
		s.status = IW_EXIT_NO;
	iw_serve_show_stopped(show, s.status);
	*status = show->err ? IW_EXIT_FAILED : s.status;
	return 0;
}
