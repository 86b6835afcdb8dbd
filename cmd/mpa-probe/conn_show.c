// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Shows connections of rping and of listeners, as text and as JSON. */
#include "mpa-probe/conn_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/conn_facts.h"
#include "cli/exit.h"
#include "cli/human.h"
#include "cli/log.h"
#include "mpa-probe/show.h"
#include "util/text.h"

int iw_probe_conn_status(const struct iw_fault *f)
{
	return f->err == IW_E_FORMAT ? IW_EXIT_NO : iw_exit_status(f->err);
}

/* --- pieces --- */

static void connection_json(struct iw_json *w, const struct iw_qp_info *i,
			    const struct iw_tls_info *tls)
{
	iw_cli_facts_ends_json(w, i->local, i->peer);
	iw_cli_facts_json(w, i, true);
	iw_cli_facts_tls_json(w, tls);
	iw_cli_facts_traffic_json(w, i, true);
}

static void fault_json(struct iw_json *w, const struct iw_fault *f)
{
	if (!f->err)
		return;
	iw_json_str(w, "error", iw_err_name(f->err));
	iw_json_str(w, "text", f->text);
	if (f->clause && f->clause[0] && f->err != IW_E_CANCELED)
		iw_json_str(w, "clause", f->clause);
}

/* --- rping's client --- */

static uint64_t average(const struct iw_rping_result *r)
{
	return r->rounds ? r->sum_ns / r->rounds : 0;
}

static int rping_json(struct iw_json *w, const struct iw_rping_run_cfg *cfg,
		      const struct iw_rping_run_outcome *o, int exit_status)
{
	const struct iw_rping_result *r = &o->left.result;

	iw_json_begin(w, "result");
	iw_json_str(w, "app", "rping");
	iw_json_u64(w, "rounds", r->rounds);
	iw_json_u64(w, "size_octets", r->size);
	if (cfg->ping.verify)
		iw_json_u64(w, "rounds_verified", r->verified);
	iw_json_u64(w, "octets_read", r->read);
	iw_json_u64(w, "octets_written", r->written);
	iw_json_u64(w, "setup_ns", o->up.setup_ns);
	iw_json_u64(w, "round_min_ns", r->min_ns);
	iw_json_u64(w, "round_mean_ns", average(r));
	iw_json_u64(w, "round_max_ns", r->max_ns);
	connection_json(w, &o->left.info, &o->left.tls);
	iw_cli_facts_setup_json(w, &o->left.info, true);
	fault_json(w, &o->left.fault);
	iw_json_i64(w, "exit_status", exit_status);
	return iw_json_end(w);
}

static void rping_human(const struct iw_rping_run_cfg *cfg, const struct iw_rping_run_outcome *o)
{
	const struct iw_rping_result *r = &o->left.result;
	const struct iw_qp_info *i = &o->left.info;
	char a[IW_HUMAN_TEXT], b[IW_HUMAN_TEXT], c[IW_HUMAN_TEXT], facts[200];
	struct iw_text t;

	if (!r->rounds && o->left.fault.err) {
		printf("no round was completed\n");
		return;
	}
	if (i->peer[0]) {
		iw_text_init(&t, facts, sizeof(facts));
		iw_cli_facts_text(&t, i, true);
		printf("%s: %s\n", i->peer, facts);
		if (o->left.tls.version) {
			iw_text_init(&t, facts, sizeof(facts));
			iw_cli_facts_tls_text(&t, &o->left.tls);
			printf("%s: %s\n", i->peer, facts);
		}
	}
	printf("%" PRIu64 " round%s of %u octets: %" PRIu64 " octets by RDMA Read, %" PRIu64
	       " by RDMA Write, %s\n",
	       r->rounds, r->rounds == 1 ? "" : "s", r->size, r->read, r->written,
	       !cfg->ping.verify          ? "not verified"
	       : r->verified == r->rounds ? "verified"
					  : "VERIFICATION FAILED");
	if (r->rounds)
		printf("time per round: %s minimum, %s mean, %s maximum\n",
		       iw_human_latency(a, r->min_ns), iw_human_latency(b, average(r)),
		       iw_human_latency(c, r->max_ns));
}

static void rping_hints(const struct iw_rping_run_cfg *cfg, const struct iw_rping_run_outcome *o)
{
	const struct iw_fault *fault = &o->left.fault;

	if (o->left.info.nudges)
		iw_log_info("quirk siw-first-fpdu: sent %" PRIu64
			    " zero-length RDMA Writes so that the peer notices the first FPDU",
			    o->left.info.nudges);
	if (fault->err)
		iw_log_error("%s", fault->text);
	if (fault->err == IW_E_MPA_LOST && cfg->conn.protocol.peer_to_peer && !o->up.info.rev)
		iw_log_warn("a peer that ends the connection like this may support only MPA Rev 1:"
			    " try without --rtr and --peer-to-peer");
	if (fault->err && o->left.info.rev == 1 && !o->left.result.rounds)
		iw_log_warn(
			"the rping server of Linux siw does no RDMA Reads over MPA Rev 1: use --rev 2 with it");
}

int iw_rping_show(struct iw_json *w, const struct iw_rping_run_cfg *cfg,
		  const struct iw_rping_run_outcome *o, int exit_status)
{
	rping_hints(cfg, o);
	if (w)
		return rping_json(w, cfg, o, exit_status);
	rping_human(cfg, o);
	return 0;
}

/* --- a listener's events --- */

static void end_event(struct iw_serve_show *s)
{
	int err = iw_json_end(s->json);

	if (!s->err)
		s->err = err;
}

static void personality_json(struct iw_json *w, const struct iw_personality *p)
{
	iw_json_str(w, "personality", p->name);
	iw_json_bool(w, "emulated", !p->native);
}

static const char *emulated(const struct iw_personality *p)
{
	return p->native ? "" : " (emulated)";
}

void iw_serve_show_listening(struct iw_serve_show *s, const char *addr, uint16_t port,
			     const char *app, bool by_default)
{
	if (s->json) {
		iw_json_begin(s->json, "listening");
		iw_json_str(s->json, "transport", "tcp");
		iw_json_str(s->json, "address", addr);
		iw_json_u64(s->json, "port", port);
		iw_json_str(s->json, "app", app);
		personality_json(s->json, s->personality);
		end_event(s);
		return;
	}
	if (s->quiet && !s->any_port)
		return;
	printf("listening on %s as %s%s, %s%s%s\n", addr, s->personality->name,
	       emulated(s->personality), app, s->rdmac ? ", profile rdmac" : "",
	       by_default ? ", for this machine only: --bind ADDR for others" : "");
	if (!s->err)
		s->err = iw_cli_flush();
}

static void frame_json(struct iw_json *w, const char *key, const uint8_t *frame, size_t len)
{
	if (!frame)
		return;
	iw_json_open_object(w, key);
	iw_probe_frame_write_json(w, frame, len);
	iw_json_close(w);
}

static void request_json(struct iw_serve_show *s, const struct iw_shim_report *r)
{
	struct iw_json *w = s->json;

	iw_json_begin(w, "request");
	iw_json_str(w, "peer", r->peer);
	personality_json(w, r->personality);
	iw_json_str(w, "verdict", iw_personality_verdict_name(r->verdict));
	if (r->text[0])
		iw_json_str(w, "text", r->text);
	frame_json(w, "request", r->request, r->request_len);
	frame_json(w, "reply", r->reply, r->reply_len);
	end_event(s);
}

void iw_serve_show_request(struct iw_serve_show *s, const struct iw_shim_report *r)
{
	char asked[1600], answered[1600];
	struct iw_text t;

	if (s->json) {
		request_json(s, r);
		return;
	}
	if (s->quiet)
		return;
	iw_text_init(&t, asked, sizeof(asked));
	iw_probe_frame_show(&t, r->request, r->request_len);
	iw_text_init(&t, answered, sizeof(answered));
	if (r->reply)
		iw_probe_frame_show(&t, r->reply, r->reply_len);
	printf("%s: Request %s\n", r->peer, asked);
	printf("%s: %s%s: %s%s%s%s%s\n", r->peer, r->personality->name, emulated(r->personality),
	       iw_personality_verdict_name(r->verdict), r->reply ? ", Reply " : "",
	       r->reply ? answered : "", r->text[0] ? ": " : "", r->text);
	if (!s->err)
		s->err = iw_cli_flush();
}

static void closed_json(struct iw_serve_show *s, const struct iw_serve_conn *c)
{
	struct iw_json *w = s->json;

	iw_json_begin(w, "closed");
	personality_json(w, s->personality);
	connection_json(w, c->info, c->tls);
	/* With an emulated personality the engine saw another Request. */
	if (s->personality->native)
		iw_cli_facts_setup_json(w, c->info, true);
	if (c->rping) {
		iw_json_u64(w, "rounds", c->rping->rounds);
		if (c->verify)
			iw_json_u64(w, "rounds_verified", c->rping->verified);
		iw_json_u64(w, "octets_read", c->rping->read);
		iw_json_u64(w, "octets_written", c->rping->written);
	} else {
		iw_json_u64(w, "sends", c->sends);
		iw_json_u64(w, "send_octets", c->octets);
	}
	fault_json(w, c->fault);
	end_event(s);
}

void iw_serve_show_conn(struct iw_serve_show *s, const struct iw_serve_conn *c)
{
	const struct iw_qp_info *i = c->info;
	const struct iw_rping_result *r = c->rping;

	if (s->json) {
		closed_json(s, c);
		return;
	}
	if (s->quiet)
		return;
	if (r)
		printf("%s: %" PRIu64 " round%s, %" PRIu64 " octets by RDMA Read%s, %" PRIu64
		       " by RDMA Write; ",
		       i->peer, r->rounds, r->rounds == 1 ? "" : "s", r->read,
		       c->verify ? ", verified" : "", r->written);
	else
		printf("%s: %" PRIu64 " Sends of %" PRIu64 " octets, %" PRIu64 " FPDUs in, %" PRIu64
		       " out; ",
		       i->peer, c->sends, c->octets, i->rx_fpdus, i->tx_fpdus);
	printf("%s\n", c->fault->err ? c->fault->text : "closed");
	if (!s->err)
		s->err = iw_cli_flush();
}

void iw_serve_show_stopped(struct iw_serve_show *s, int exit_status)
{
	if (!s->json)
		return;
	iw_json_begin(s->json, "stopped");
	iw_json_i64(s->json, "exit_status", exit_status);
	end_event(s);
}
