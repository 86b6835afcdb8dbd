// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ddp-bench: how fast data moves from memory to memory, and what it costs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/stag_bench.h"
#include "bench/xdp_bench.h"
#include "cli/cli.h"
#include "cli/conn.h"
#include "cli/human.h"
#include "cli/option.h"
#include "cli/parse.h"
#include "cli/signals.h"
#include "cli/table.h"
#include "cli/term.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define SIZES_MAX    64
#define SIZE_DEFAULT ((uint64_t)1 << 20)
#define BALL_DEFAULT 64
/* Enough to keep TCP busy, and little more memory than caches hold. */
#define DEPTH_OCTETS ((uint64_t)2 << 20)
#define DEPTH_LEAST  2
#define DEPTH_MOST   64
#define TIME_MAX     IW_SEC(24 * 3600)
#define WARMUP       IW_SEC(1)
enum task { TASK_RUN, TASK_LISTEN, TASK_STAG, TASK_XDP };

struct opts {
	struct iw_cli cli;
	enum task task;
	bool listen, once;
	const char *host, *mode_name;
	size_t mode;
	uint64_t sizes[SIZES_MAX];
	size_t nsizes;
	bool run_option;    /* one that only a client has */
	bool listen_option; /* one that only a listener has */
	uint32_t depth;
	uint64_t count, time_ns, warmup_ns, interval_ns, spin_ns, memory;
	bool no_verify;
	struct iw_conn_opts conn;
};

/* --- options ---------------------------------------------------------------------------------- */

enum {
	KEY_TIME = 0x9001, /* no character: long only; not those of the common options */
	KEY_DEPTH,
	KEY_INTERVAL,
	KEY_SPIN,
	KEY_NO_VERIFY,
	KEY_ONCE,
	KEY_MEMORY,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "listen", 'l', NULL, 0, "Serve clients until interrupted", 1 },
	{ "once", KEY_ONCE, NULL, 0, "Serve one client, then exit with the status of its run", 1 },
	{ "memory", KEY_MEMORY, "SIZE", 0, "Memory for all clients together (default 1G)", 1 },

	{ "size", 's', "SIZE[,SIZE...]", 0,
	  "Octets of a message (default 1M, for pingpong 64); several are run one after another,"
	  " each over a connection of its own", 2 },
	{ "time", KEY_TIME, "TIME", 0, "Length of the measurement (default 10s)", 2 },
	{ "count", 'n', "COUNT", 0, "Measure so many messages instead", 2 },
	{ "warmup", 'w', "TIME", 0, "Move data that long before the measurement (default 1s)", 2 },
	{ "depth", KEY_DEPTH, "COUNT", 0,
	  "Messages outstanding (default as many as make 2M, from 2 to 64)", 2 },
	{ "interval", KEY_INTERVAL, "TIME", 0,
	  "Between intermediate results (default 1s); 0 for none", 2 },
	{ "no-verify", KEY_NO_VERIFY, NULL, 0,
	  "Do not compare what arrived with what was sent", 2 },

	{ "spin", KEY_SPIN, "TIME", 0,
	  "Poll that long before sleeping: shorter latency for CPU time (default 0)", 3 },
	{ 0 },
};
/* clang-format on */

/* "64,1K,1M" */
static void parse_sizes(struct opts *o, const struct argp_state *state, const char *arg)
{
	const char *p = arg;

	for (;;) {
		size_t len = strcspn(p, ",");
		char one[32];

		if (len >= sizeof(one) || o->nsizes == SIZES_MAX)
			argp_error(state, "--size \"%s\": expected at most %d sizes", arg,
				   SIZES_MAX);
		memcpy(one, p, len);
		one[len] = '\0';
		o->sizes[o->nsizes++] = iw_cli_size(state, "--size", one, 0, IW_BENCH_SIZE_MAX);
		if (p[len] == '\0')
			return;
		p += len + 1;
	}
}

static error_t run_option(int key, const char *arg, const struct argp_state *state, struct opts *o)
{
	switch (key) {
	case 's':
		parse_sizes(o, state, arg);
		break;
	case 'n':
		o->count = iw_cli_u64(state, "--count", arg, 1, UINT64_MAX / 2);
		break;
	case KEY_TIME:
		o->time_ns = iw_cli_duration(state, "--time", arg, IW_MSEC(1), TIME_MAX);
		break;
	case 'w':
		o->warmup_ns = iw_cli_duration(state, "--warmup", arg, 0, TIME_MAX);
		break;
	case KEY_DEPTH:
		o->depth = (uint32_t)iw_cli_u64(state, "--depth", arg, 1, IW_BENCH_DEPTH_MAX);
		break;
	case KEY_INTERVAL:
		o->interval_ns = iw_cli_duration(state, "--interval", arg, 0, TIME_MAX);
		break;
	case KEY_NO_VERIFY:
		o->no_verify = true;
		break;
	case KEY_SPIN:
		o->spin_ns = iw_cli_duration(state, "--spin", arg, 0, IW_SEC(10));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	o->run_option = true;
	return 0;
}

static error_t listen_option(int key, const char *arg, const struct argp_state *state,
			     struct opts *o)
{
	switch (key) {
	case 'l':
		o->listen = true;
		return 0;
	case KEY_ONCE:
		o->once = true;
		break;
	case KEY_MEMORY:
		o->memory = iw_cli_size(state, "--memory", arg, 1 << 16, UINT64_MAX);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	o->listen_option = true;
	return 0;
}

static void check_options(const struct argp_state *state, struct opts *o)
{
	if (o->listen) {
		if (o->host)
			argp_error(state, "--listen takes no argument: \"%s\"", o->host);
		if (o->run_option)
			argp_error(state, "--listen: what is measured is the client's choice");
		o->task = TASK_LISTEN;
		return;
	}
	if (o->listen_option)
		argp_error(state, "--once and --memory go with --listen");
	if (o->host && !o->mode_name && strcmp(o->host, "stag") == 0) {
		if (o->run_option || o->conn.given || o->spin_ns)
			argp_error(state, "stag: takes no options of its own");
		o->task = TASK_STAG;
		return;
	}
	if (o->host && !o->mode_name && strcmp(o->host, "xdp") == 0) {
		if (o->nsizes || o->depth || o->warmup_ns != WARMUP || o->no_verify ||
		    o->count > IW_XDP_BENCH_PAIRS)
			argp_error(state,
				   "xdp: takes --time, the length of each run, and --count, the "
				   "pairs of runs, up to 5; and none of the others");
		o->task = TASK_XDP;
		return;
	}
	if (!o->host || !o->mode_name)
		argp_error(state, "expected HOST and write, read, send or pingpong; or --listen;"
				  " or stag; or xdp");
	o->mode = iw_cli_enum(state, "MODE", o->mode_name, iw_bench_mode_names);
	if (o->count && o->time_ns)
		argp_error(state, "--count and --time: expected one of them");
	if (o->cli.port == 0)
		argp_error(state, "--port 0: a client needs the server's");
	if (!o->nsizes)
		o->sizes[o->nsizes++] = o->mode == IW_BENCH_PINGPONG ? BALL_DEFAULT : SIZE_DEFAULT;
	if (!o->count && !o->time_ns)
		o->time_ns = IW_SEC(10);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;
	error_t err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->conn;
		state->child_inputs[1] = &o->cli;
		return 0;
	case ARGP_KEY_ARG:
		if (o->mode_name)
			argp_error(state, "\"%s\": one argument too many", arg);
		if (o->host)
			o->mode_name = arg;
		else
			o->host = arg;
		return 0;
	case ARGP_KEY_END:
		check_options(state, o);
		return 0;
	default:
		err = run_option(key, arg, state, o);
		return err == ARGP_ERR_UNKNOWN ? listen_option(key, arg, state, o) : err;
	}
}

/* --- a client's results ----------------------------------------------------------------------- */

static double cpu_seconds(const struct iw_bench_end *e)
{
	return (double)(e->used.user_ns + e->used.sys_ns) / 1e9;
}

/* Of both ends; 0 where nothing was moved. */
static double cpu_seconds_per_gib(const struct iw_bench_result *r)
{
	if (!r->octets)
		return 0;
	return (cpu_seconds(&r->client) + cpu_seconds(&r->server)) * 1073741824.0 /
	       (double)r->octets;
}

static double messages_per_second(const struct iw_bench_result *r)
{
	return r->duration_ns ? (double)r->messages * 1e9 / (double)r->duration_ns : 0;
}

static const struct {
	const char *name, *key;
	uint32_t millionths;
} percentiles[] = {
	{ "p50", "p50_ns", 500000 },    { "p90", "p90_ns", 900000 },  { "p99", "p99_ns", 990000 },
	{ "p99.9", "p999_ns", 999000 }, { "max", "max_ns", 1000000 },
};

static int write_interval_json(struct iw_json *w, const struct iw_bench_interval *iv)
{
	iw_json_begin(w, "interval");
	iw_json_u64(w, "start_ns", iv->start_ns);
	iw_json_u64(w, "end_ns", iv->end_ns);
	iw_json_u64(w, "octets", iv->octets);
	iw_json_u64(w, "messages", iv->messages);
	iw_json_u64(w, "bits_per_second",
		    iw_bits_per_second(iv->octets, iv->end_ns - iv->start_ns));
	return iw_json_end(w);
}

static void write_interval_human(const struct iw_bench_interval *iv)
{
	char size[IW_HUMAN_TEXT], rate[IW_HUMAN_TEXT];

	printf("%6.1f s  %10s  %10" PRIu64 " messages  %s\n", (double)iv->end_ns / 1e9,
	       iw_human_size(size, iv->octets), iv->messages,
	       iw_human_rate(rate, iw_bits_per_second(iv->octets, iv->end_ns - iv->start_ns)));
	fflush(stdout);
}

static void write_end_json(struct iw_json *w, const char *key, const struct iw_bench_end *e)
{
	iw_json_open_object(w, key);
	iw_json_u64(w, "window_ns", e->used.at_ns);
	iw_json_u64(w, "cpu_user_ns", e->used.user_ns);
	iw_json_u64(w, "cpu_sys_ns", e->used.sys_ns);
	iw_json_u64(w, "sleeps", e->used.switches);
	iw_json_u64(w, "tx_octets", e->used.tx_octets);
	iw_json_u64(w, "rx_octets", e->used.rx_octets);
	iw_json_u64(w, "tx_fpdus", e->used.tx_fpdus);
	iw_json_u64(w, "rx_fpdus", e->used.rx_fpdus);
	iw_json_u64(w, "tx_calls", e->used.tx_calls);
	iw_json_u64(w, "rx_calls", e->used.rx_calls);
	iw_json_u64(w, "retransmits", e->used.retransmits);
	iw_json_str(w, "cc", e->cc[0] ? e->cc : NULL);
	iw_json_str(w, "kernel", e->kernel);
	iw_json_close(w);
}

/* The path that data goes by. */
static const struct iw_assoc_path_info *primary(const struct iw_assoc_info *a)
{
	for (unsigned i = 0; i < IW_MIN(a->npaths, (unsigned)IW_ASSOC_PATHS); i++)
		if (a->path[i].primary)
			return &a->path[i];
	return &a->path[0];
}

static void write_association_json(struct iw_json *w, const struct iw_assoc_info *a)
{
	iw_json_u64(w, "streams", a->out);
	iw_json_u64(w, "stream", a->stream);
	iw_json_u64(w, "path_mtu", primary(a)->mtu);
	iw_json_u64(w, "srtt_ns", primary(a)->srtt_ns);
}

static void write_connection_json(struct iw_json *w, const struct iw_bench_result *r)
{
	const struct iw_qp_info *i = &r->info;

	iw_json_str(w, "local", i->local);
	iw_json_str(w, "peer", i->peer);
	iw_json_bool(w, "crc", i->crc);
	if (r->assoc.in) {
		write_association_json(w, &r->assoc);
	} else {
		iw_json_u64(w, "rev", i->rev);
		iw_json_bool(w, "tx_markers", i->tx_markers);
		iw_json_bool(w, "rx_markers", i->rx_markers);
		iw_json_bool(w, "large_fpdus", i->large_fpdus);
		iw_json_u64(w, "emss", i->emss);
	}
	iw_json_u64(w, "mulpdu", i->mulpdu);
	iw_json_u64(w, "ird", i->ird);
	iw_json_u64(w, "ord", i->ord);
}

static int write_result_json(struct iw_json *w, const struct opts *o,
			     const struct iw_bench_result *r)
{
	iw_json_begin(w, "result");
	iw_json_str(w, "mode", iw_bench_mode_names[r->mode]);
	iw_json_str(w, "transport", o->cli.transport);
	iw_json_u64(w, "size_octets", r->size);
	iw_json_u64(w, "depth", r->depth);
	iw_json_str(w, "receiver", r->receiver_is_server ? "server" : "client");
	iw_json_u64(w, "duration_ns", r->duration_ns);
	iw_json_u64(w, "octets", r->octets);
	iw_json_u64(w, "messages", r->messages);
	iw_json_u64(w, "bits_per_second", iw_bits_per_second(r->octets, r->duration_ns));
	iw_json_f64(w, "messages_per_second", messages_per_second(r));
	if (r->round_trips && r->round_trips->n) {
		iw_json_open_object(w, "half_round_trip");
		for (size_t i = 0; i < IW_ARRAY_LEN(percentiles); i++)
			iw_json_u64(w, percentiles[i].key,
				    iw_hist_at(r->round_trips, percentiles[i].millionths) / 2);
		iw_json_u64(w, "round_trips", r->round_trips->n);
		iw_json_close(w);
	}
	if (r->octets)
		iw_json_f64(w, "cpu_seconds_per_gib", cpu_seconds_per_gib(r));
	write_end_json(w, "client", &r->client);
	write_end_json(w, "server", &r->server);
	iw_json_u64(w, "server_clients", r->server_clients);
	write_connection_json(w, r);
	if (r->verdict != IW_BENCH_UNCHECKED)
		iw_json_bool(w, "verified", r->verdict == IW_BENCH_GOOD);
	iw_json_str(w, "mismatch", r->verdict == IW_BENCH_BAD ? r->mismatch : NULL);
	iw_json_str(w, "version", iw_version());
	return iw_json_end(w);
}

static void add_connection(struct iw_table *t, const struct opts *o,
			   const struct iw_bench_result *r)
{
	const struct iw_qp_info *i = &r->info;
	char rtt[IW_HUMAN_TEXT];

	if (r->assoc.in) {
		const struct iw_assoc_path_info *p = primary(&r->assoc);

		iw_table_add(t, "association");
		iw_table_addf(t,
			      "%s, stream %u of %u, path MTU %u, MULPDU %u, round trip %s,"
			      " congestion control %s and %s",
			      o->cli.transport, r->assoc.stream, r->assoc.out, p->mtu, i->mulpdu,
			      iw_human_latency(rtt, p->srtt_ns),
			      r->client.cc[0] ? r->client.cc : "the kernel's",
			      r->server.cc[0] ? r->server.cc : "the kernel's");
		return;
	}
	iw_table_add(t, "connection");
	iw_table_addf(t,
		      "%s, MPA rev %u, CRC %s, markers %s, MULPDU %u, EMSS %u,"
		      " congestion control %s and %s",
		      o->cli.transport, i->rev, i->crc ? "on" : "off",
		      i->tx_markers || i->rx_markers ? "on" : "off", i->mulpdu, i->emss,
		      r->client.cc, r->server.cc);
}

static int write_result_human(const struct opts *o, const struct iw_bench_result *r)
{
	static const char *const verdicts[] = { "not verified", "verified", "WRONG DATA" };
	char a[IW_HUMAN_TEXT], b[IW_HUMAN_TEXT];
	struct iw_table t;
	int err;

	iw_table_init(&t, "ll");
	iw_table_add(&t, iw_bench_mode_names[r->mode]);
	iw_table_addf(&t, "%s, %" PRIu64 " messages a second: %" PRIu64 " of %s in %.3f s, %s",
		      iw_human_rate(a, iw_bits_per_second(r->octets, r->duration_ns)),
		      (uint64_t)messages_per_second(r), r->messages, iw_human_size(b, r->size),
		      (double)r->duration_ns / 1e9, verdicts[r->verdict]);
	iw_table_add(&t, "receiver");
	iw_table_addf(&t, "the %s: its clock and its counts",
		      r->receiver_is_server ? "server" : "client");
	if (r->round_trips && r->round_trips->n) {
		iw_table_add(&t, "half round trip");
		for (size_t k = 0; k < IW_ARRAY_LEN(percentiles); k++) {
			char part[64];

			snprintf(part, sizeof(part), "%s %s", percentiles[k].name,
				 iw_human_latency(a, iw_hist_at(r->round_trips,
								percentiles[k].millionths) /
							     2));
			if (k)
				iw_table_add(&t, "");
			iw_table_add(&t, part);
		}
	}
	iw_table_add(&t, "CPU");
	iw_table_addf(&t, "client %.3f s, server %.3f s, %.3f s/GiB", cpu_seconds(&r->client),
		      cpu_seconds(&r->server), cpu_seconds_per_gib(r));
	if (r->server_clients > 1) {
		iw_table_add(&t, "");
		iw_table_addf(&t, "the server's is for %" PRIu64 " clients", r->server_clients);
	}
	iw_table_add(&t, r->assoc.in ? "segments" : "FPDUs");
	iw_table_addf(&t,
		      "%" PRIu64 " out, %" PRIu64 " in; system calls %" PRIu64 " and %" PRIu64
		      "; at the server %" PRIu64 " and %" PRIu64,
		      r->client.used.tx_fpdus, r->client.used.rx_fpdus, r->client.used.tx_calls,
		      r->client.used.rx_calls, r->server.used.tx_calls, r->server.used.rx_calls);
	add_connection(&t, o, r);
	iw_table_add(&t, "sent again");
	iw_table_addf(&t, "%" PRIu64 " %s by the client, %" PRIu64 " by the server",
		      r->client.used.retransmits, r->assoc.in ? "chunks" : "segments",
		      r->server.used.retransmits);
	err = iw_table_write(&t, stdout, iw_term_columns(1));
	iw_table_fini(&t);
	return err;
}

/* --- a client --------------------------------------------------------------------------------- */

static uint32_t default_depth(uint64_t size)
{
	uint64_t n = DEPTH_OCTETS / IW_MAX(size, (uint64_t)1);

	return (uint32_t)IW_MAX((uint64_t)DEPTH_LEAST, IW_MIN(n, (uint64_t)DEPTH_MOST));
}

static int tell_interval(struct opts *o, const struct iw_bench_interval *iv)
{
	if (o->cli.json)
		return write_interval_json(&o->cli.out, iv);
	if (!o->cli.quiet)
		write_interval_human(iv);
	return 0;
}

static int tell_result(struct opts *o, const struct iw_bench_result *r)
{
	int err = o->cli.json ? write_result_json(&o->cli.out, o, r) : write_result_human(o, r);

	if (err)
		return IW_EXIT_FAILED;
	if (r->verdict != IW_BENCH_BAD)
		return IW_EXIT_OK;
	iw_log_error("the data is not what was sent: %s", r->mismatch);
	return IW_EXIT_NO;
}

static int run_size(struct opts *o, uint64_t size)
{
	struct iw_bench_cfg cfg = {
		.mode = (enum iw_bench_mode)o->mode,
		.size = size,
		.depth = o->depth ? o->depth : default_depth(size),
		.count = o->count,
		.time_ns = o->time_ns,
		.warmup_ns = o->warmup_ns,
		.interval_ns = o->interval_ns,
		.verify = !o->no_verify,
		.setup_ns = o->cli.setup_timeout_ns,
		.timeout_ns = o->cli.timeout_ns,
		.spin_ns = o->spin_ns,
		.trace = o->cli.trace.f ? iw_cli_trace_line : NULL,
		.trace_ctx = &o->cli.trace,
	};
	struct iw_bench_client *c;
	struct iw_bench_interval iv;
	struct iw_fault why = { 0 };
	int err, status;

	iw_conn_opts_param(&o->conn, &o->cli, o->listen ? NULL : o->host, &cfg.conn);
	iw_log_info("%s to %s port %u: messages of %" PRIu64 " octets, %u outstanding",
		    iw_bench_mode_names[cfg.mode], o->host, o->cli.port, size, cfg.depth);
	if (iw_bench_client_new(&c, &cfg, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	do {
		err = iw_bench_client_next(c, &iv, &why);
		if (err == IW_BENCH_INTERVAL && tell_interval(o, &iv) != 0)
			err = iw_fail(&why, IW_E_OS, "standard output takes no more");
	} while (err == IW_BENCH_INTERVAL);
	status = err ? iw_cli_fail(&o->cli, &why) : tell_result(o, iw_bench_client_result(c));
	iw_bench_client_free(c);
	return status;
}

static int run_client(struct opts *o)
{
	int status = IW_EXIT_OK;

	for (size_t i = 0; i < o->nsizes && status == IW_EXIT_OK; i++)
		status = run_size(o, o->sizes[i]);
	return status;
}

/* --- a listener ------------------------------------------------------------------------------- */

static int write_news_json(struct iw_json *w, const struct iw_bench_news *n)
{
	static const char *const events[] = { "stopped", "client", "served", "refused" };

	iw_json_begin(w, events[n->kind]);
	if (n->kind != IW_BENCH_STOPPED)
		iw_json_str(w, "peer", n->peer);
	if (n->kind == IW_BENCH_CAME || n->kind == IW_BENCH_LEFT) {
		iw_json_str(w, "mode", iw_bench_mode_names[n->mode]);
		iw_json_u64(w, "size_octets", n->size);
		iw_json_u64(w, "depth", n->depth);
	}
	if (n->kind == IW_BENCH_LEFT) {
		iw_json_u64(w, "rx_octets", n->rx_octets);
		iw_json_u64(w, "tx_octets", n->tx_octets);
	}
	if (n->fault.err) {
		iw_json_str(w, "error", iw_err_name(n->fault.err));
		iw_json_str(w, "text", n->fault.text);
	}
	return iw_json_end(w);
}

static void write_news_human(const struct iw_bench_news *n)
{
	char size[IW_HUMAN_TEXT], rx[IW_HUMAN_TEXT], tx[IW_HUMAN_TEXT];

	switch (n->kind) {
	case IW_BENCH_STOPPED:
		return;
	case IW_BENCH_CAME:
		printf("%s: %s, %u outstanding of %s\n", n->peer, iw_bench_mode_names[n->mode],
		       n->depth, iw_human_size(size, n->size));
		break;
	case IW_BENCH_LEFT:
		printf("%s: %s in, %s out%s%s\n", n->peer, iw_human_size(rx, n->rx_octets),
		       iw_human_size(tx, n->tx_octets), n->fault.err ? "; " : "", n->fault.text);
		break;
	case IW_BENCH_TURNED_AWAY:
		printf("%s: refused: %s\n", n->peer, n->fault.text);
		break;
	}
	fflush(stdout);
}

static int tell_news(struct opts *o, const struct iw_bench_news *n)
{
	if (o->cli.json)
		return write_news_json(&o->cli.out, n);
	if (!o->cli.quiet)
		write_news_human(n);
	return 0;
}

static int tell_listening(struct opts *o, const struct iw_bench_server *s)
{
	if (!o->cli.json) {
		if (!o->cli.quiet)
			printf("listening on %s%s\n", iw_bench_server_addr(s),
			       o->cli.bind
				       ? ""
				       : ", for clients of this machine: --bind ADDR for others");
		fflush(stdout);
		return 0;
	}
	iw_json_begin(&o->cli.out, "listening");
	iw_json_str(&o->cli.out, "address", iw_bench_server_addr(s));
	iw_json_u64(&o->cli.out, "port", iw_bench_server_port(s));
	return iw_json_end(&o->cli.out);
}

static int serve(struct opts *o, struct iw_bench_server *s)
{
	struct iw_bench_news news = { .kind = IW_BENCH_CAME };
	struct iw_fault why = { 0 };
	int status = IW_EXIT_OK;

	if (tell_listening(o, s) != 0)
		return IW_EXIT_FAILED;
	while (news.kind != IW_BENCH_STOPPED) {
		if (iw_bench_server_next(s, &news, &why) < 0)
			return iw_cli_fail(&o->cli, &why);
		if (tell_news(o, &news) != 0)
			return IW_EXIT_FAILED;
		/* A server that goes on does not fail with a client. */
		if (o->once && news.kind == IW_BENCH_LEFT && news.fault.err)
			status = iw_cli_fail(&o->cli, &news.fault);
	}
	return status;
}

static int run_listener(struct opts *o)
{
	struct iw_bench_server_cfg cfg = {
		.memory = o->memory,
		.once = o->once,
		.setup_ns = o->cli.setup_timeout_ns,
		.timeout_ns = o->cli.timeout_ns,
		.spin_ns = o->spin_ns,
		.trace = o->cli.trace.f ? iw_cli_trace_line : NULL,
		.trace_ctx = &o->cli.trace,
	};
	struct iw_bench_server *s;
	struct iw_fault why = { 0 };
	int status;

	iw_conn_opts_param(&o->conn, &o->cli, o->listen ? NULL : o->host, &cfg.conn);
	if (iw_bench_server_new(&s, &cfg, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	status = serve(o, s);
	iw_bench_server_free(s);
	return status;
}

/* --- the STag table --------------------------------------------------------------------------- */

static int run_stag(struct opts *o)
{
	struct iw_stag_bench_cfg cfg = { .seed = iw_os_now() };
	struct iw_stag_bench r;
	struct iw_fault why = { 0 };

	if (iw_bench_stag(&r, &cfg, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	if (!o->cli.json) {
		printf("a segment of 1448 octets checked and placed: %.0f ns among 1,000 STags,"
		       " %.0f ns among 1,000,000\n"
		       "ratio %.2f, of %zu pairs %.2f to %.2f\n",
		       r.ns_small, r.ns_large, r.ratio, r.pairs, r.ratio_min, r.ratio_max);
		return IW_EXIT_OK;
	}
	iw_json_begin(&o->cli.out, "result");
	iw_json_str(&o->cli.out, "mode", "stag");
	iw_json_f64(&o->cli.out, "segment_of_1000_ns", r.ns_small);
	iw_json_f64(&o->cli.out, "segment_of_1000000_ns", r.ns_large);
	iw_json_f64(&o->cli.out, "ratio", r.ratio);
	iw_json_f64(&o->cli.out, "ratio_min", r.ratio_min);
	iw_json_f64(&o->cli.out, "ratio_max", r.ratio_max);
	iw_json_u64(&o->cli.out, "pairs", r.pairs);
	iw_json_str(&o->cli.out, "version", iw_version());
	return iw_json_end(&o->cli.out) ? IW_EXIT_FAILED : IW_EXIT_OK;
}

/* --- the fast path and its baselines ------------------------------------------------------------ */

static void tell_pair(void *ctx, const struct iw_xdp_figure *f, const struct iw_xdp_pair *p)
{
	struct opts *o = ctx;
	struct iw_json *w = &o->cli.out;

	if (!o->cli.json) {
		if (!o->cli.quiet)
			printf("%s %-6s  %6.2f Gb/s, bare AF_XDP %6.2f Gb/s, ratio %.2f, lost %" PRIu64
			       "\n",
			       f->id, f->buffers, p->ours / 1e9, p->bare / 1e9, p->ours / p->bare,
			       p->lost);
		fflush(stdout);
		return;
	}
	iw_json_begin(w, "pair");
	iw_json_str(w, "figure", f->id);
	iw_json_str(w, "buffers", f->buffers);
	iw_json_u64(w, "mtu_octets", f->mtu);
	iw_json_u64(w, "frame_octets", f->frame);
	iw_json_f64(w, "bits_per_second", p->ours);
	iw_json_f64(w, "frames_per_second", p->ours_frames);
	iw_json_f64(w, "bare_bits_per_second", p->bare);
	iw_json_f64(w, "bare_frames_per_second", p->bare_frames);
	iw_json_u64(w, "lost", p->lost);
	(void)!iw_json_end(w);
}

static void tell_baseline(void *ctx, const struct iw_xdp_baseline *b)
{
	struct opts *o = ctx;

	if (!o->cli.json) {
		if (!o->cli.quiet)
			printf("%-20s %6.2f Gb/s\n", b->name, b->bits / 1e9);
		fflush(stdout);
		return;
	}
	iw_json_begin(&o->cli.out, "baseline");
	iw_json_str(&o->cli.out, "name", b->name);
	iw_json_f64(&o->cli.out, "bits_per_second", b->bits);
	(void)!iw_json_end(&o->cli.out);
}

static void write_figure(struct iw_json *w, const struct iw_xdp_figure *f)
{
	iw_json_open_object(w, f->buffers);
	iw_json_f64(w, "ratio", f->ratio);
	iw_json_f64(w, "ratio_min", f->ratio_min);
	iw_json_f64(w, "ratio_max", f->ratio_max);
	iw_json_u64(w, "pairs", f->pairs);
	iw_json_f64(w, "bits_per_second", f->median.ours);
	iw_json_f64(w, "frames_per_second", f->median.ours_frames);
	iw_json_f64(w, "bare_bits_per_second", f->median.bare);
	iw_json_f64(w, "bare_frames_per_second", f->median.bare_frames);
	iw_json_u64(w, "lost", f->median.lost);
	iw_json_u64(w, "mtu_octets", f->mtu);
	iw_json_u64(w, "frame_octets", f->frame);
	iw_json_bool(w, "pass", f->ratio >= IW_XDP_BENCH_BAR);
	iw_json_close(w);
}

static int run_xdp(struct opts *o)
{
	struct iw_xdp_bench_cfg cfg = {
		.window_ns = o->time_ns,
		.pairs = (unsigned)o->count,
		.ctx = o,
		.on_pair = tell_pair,
		.on_baseline = tell_baseline,
	};
	struct iw_json *w = &o->cli.out;
	struct iw_xdp_bench r;
	struct iw_fault why = { 0 };

	if (iw_xdp_bench(&r, &cfg, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	if (!o->cli.json) {
		for (size_t i = 0; i < IW_ARRAY_LEN(r.figure); i++)
			printf("%s %-6s  ratio %.2f (%.2f to %.2f), bar %.2f\n", r.figure[i].id,
			       r.figure[i].buffers, r.figure[i].ratio, r.figure[i].ratio_min,
			       r.figure[i].ratio_max, IW_XDP_BENCH_BAR);
		return IW_EXIT_OK;
	}
	iw_json_begin(w, "result");
	iw_json_str(w, "mode", "xdp");
	iw_json_f64(w, "bar", IW_XDP_BENCH_BAR);
	iw_json_open_object(w, "p5");
	write_figure(w, &r.figure[0]);
	write_figure(w, &r.figure[1]);
	iw_json_close(w);
	iw_json_open_object(w, "p6");
	write_figure(w, &r.figure[2]);
	write_figure(w, &r.figure[3]);
	iw_json_close(w);
	iw_json_str(w, "version", iw_version());
	return iw_json_end(w) ? IW_EXIT_FAILED : IW_EXIT_OK;
}

/* --- main ------------------------------------------------------------------------------------- */

static const struct argp_child kids[] = { { &iw_conn_argp, 0, NULL, 3 },
					  { &iw_cli_argp, 0, "Common options:", -2 },
					  { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "HOST write|read|send|pingpong\n--listen\nstag\nxdp",
	.doc = "Measure DDP from memory to memory: RDMA Write, RDMA Read, Send, or a Send there"
	       " and back; or, with stag, what a look-up among a million STags costs; or, with"
	       " xdp, what -t xdp is worth beside bare AF_XDP and the other transports, in two"
	       " network namespaces of its own.\v"
	       "Figures are the receiver's, on the receiver's clock, between two marks in the"
	       " data; what arrived is compared with what was sent afterwards.\n\n"
	       "Exit status: 0 measured, data verified; 1 the server refused, or the data is wrong;"
	       " 2 usage; 3 cannot run here; 4 failed on the way.",
	.children = kids,
};

static int work(struct opts *o)
{
	int status;

	if (o->task == TASK_STAG)
		return run_stag(o);
	if (o->task == TASK_XDP)
		return run_xdp(o);
	status = iw_cli_check_transport(&o->cli);
	if (status != IW_EXIT_OK)
		return status;
	return o->task == TASK_LISTEN ? run_listener(o) : run_client(o);
}

int main(int argc, char **argv)
{
	struct opts o = {
		.warmup_ns = WARMUP,
		.interval_ns = IW_SEC(1),
	};
	int status;

	iw_cli_init(&o.cli, "ddp-bench", "tcp");
	iw_conn_opts_init(&o.conn);
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	status = iw_cli_start(&o.cli);
	if (status == IW_EXIT_OK)
		status = work(&o);
	return iw_cli_finish(&o.cli, status);
}
