// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ddp-bench: measures throughput, latency and CPU time of DDP from memory to memory. */
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddp-bench/bench.h"
#include "cli/cli.h"
#include "cli/confine.h"
#include "cli/conn.h"
#include "cli/doctor.h"
#include "cli/human.h"
#include "cli/option.h"
#include "cli/parse.h"
#include "cli/secure.h"
#include "cli/signals.h"
#include "cli/table.h"
#include "cli/term.h"
#include "cli/usage.h"
#include "ddp-bench/plot.h"
#include "ddp-bench/show.h"
#include "ddp-bench/stag_bench.h"
#include "ddp-bench/xdp_bench.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define SIZES_MAX     64
#define SIZE_DEFAULT  ((uint64_t)1 << 20)
#define SMALL_DEFAULT 64
/* The default of --depth in octets. It keeps TCP busy, and exceeds the caches only a little. */
#define DEPTH_OCTETS  ((uint64_t)2 << 20)
#define DEPTH_LEAST   2
#define DEPTH_MOST    64
#define DEPTH_RATE    1024
#define SIZE_ALONE    ((uint64_t)256 << 20)
#define TIME_MAX      IW_SEC(24 * 3600)
#define WARMUP        IW_SEC(1)
#define TIME          IW_SEC(10)
/* The default duration for each of several sizes. */
#define WARMUP_EACH   IW_MSEC(200)
#define TIME_LEAST    IW_SEC(1)

enum task { TASK_RUN, TASK_LISTEN, TASK_STAG, TASK_XDP };

struct opts {
	struct iw_cli cli;
	enum task task;
	bool listen, once;
	const char *host, *mode_name;
	size_t mode;
	uint64_t sizes[SIZES_MAX];
	size_t nsizes;
	/* The first option given of each kind; NULL: none was given. */
	const char *run_option;    /* only a client uses it */
	const char *listen_option; /* only a listener uses it */
	const char *not_xdp;       /* the test xdp does not use it */
	const char *plot;
	char between[2][IF_NAMESIZE]; /* for the test xdp; empty: not given */
	uint32_t depth, connections, streams;
	uint64_t count, time_ns, warmup_ns, interval_ns, spin_ns, memory;
	bool no_verify, umem, loan;
	struct iw_cli_conn conn;
	struct iw_cli_secure secure;
};

/* --- options ---------------------------------------------------------------------------------- */

enum {
	/* Long options only: no key is a character. All differ from the keys of the common
	 * options. */
	KEY_TIME = 0x9001,
	KEY_DEPTH,
	KEY_INTERVAL,
	KEY_SPIN,
	KEY_UMEM,
	KEY_LOAN,
	KEY_NO_VERIFY,
	KEY_ONCE,
	KEY_MEMORY,
	KEY_STREAMS,
	KEY_PLOT,
	KEY_BETWEEN,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "listen", 'l', NULL, 0, "Serve clients until SIGINT or SIGTERM", 1 },
	/* Options of iperf3, rejected with an error that names the right option. */
	{ NULL, 'c', "HOST", OPTION_HIDDEN, NULL, 1 },
	{ NULL, 'P', "COUNT", OPTION_HIDDEN, NULL, 1 },
	{ NULL, 'i', "TIME", OPTION_HIDDEN, NULL, 1 },
	{ NULL, 'R', NULL, OPTION_HIDDEN, NULL, 1 },
	{ NULL, 'u', NULL, OPTION_HIDDEN, NULL, 1 },
	{ "once", KEY_ONCE, NULL, 0, "Serve one client, then exit with the status of its run", 1 },
	{ "memory", KEY_MEMORY, "SIZE", 0, "Memory for all clients together (default half of the machine's)", 1 },

	{ "size", 's', "SIZE[-SIZE][,...]", 0,
	  "Octets of a message (default 1M; pingpong and rate: 64); several sizes are measured one"
	  " after another; 64-1M is 64, 128, 256 ... 1M", 2 },
	{ "time", KEY_TIME, "TIME", 0,
	  "Length of the measurement (default 10s, which several sizes share, with at least 1s for"
	  " each); for xdp, length of each run (default 200ms)", 2 },
	{ "count", 'n', "COUNT", 0, "Measure this number of messages instead of a time; for xdp, pairs of runs (default 5)", 2 },
	{ "warmup", 'w', "TIME", 0,
	  "Move data for this time before the measurement (default 1s; several sizes: 200ms each)", 2 },
	{ "depth", KEY_DEPTH, "COUNT", 0,
	  "Messages outstanding on each stream (default: as many as make 2M together, but at least"
	  " 2 and at most 64; rate: at most 1024)", 2 },
	{ "connections", 'j', "COUNT", 0,
	  "Connections, over SCTP associations, at the same time (default 1)", 2 },
	{ "streams", KEY_STREAMS, "COUNT", 0,
	  "Over SCTP: DDP streams in each association (default 1)", 2 },
	{ "plot", KEY_PLOT, "FILE.svg", 0,
	  "Draw throughput and latency against the size as SVG (needs gnuplot)", 2 },
	{ "between", KEY_BETWEEN, "IF,IF", 0,
	  "For xdp: measure between these two interfaces, which are connected to each other and"
	  " have no addresses (default: a new veth pair)", 2 },
	{ "interval", KEY_INTERVAL, "TIME", 0,
	  "Time between intermediate results (default 1s); 0 switches them off", 2 },
	{ "no-verify", KEY_NO_VERIFY, NULL, 0,
	  "Do not compare the received data with the data that was sent", 2 },

	{ "spin", KEY_SPIN, "TIME", 0,
	  "Poll for this time before sleeping: shorter latency, more CPU time (default 0: at most 60us, after short waits)", 3 },
	{ "umem", KEY_UMEM, NULL, 0,
	  "With -t xdp: write or send from memory in the UMEM, without a copy in this process", 3 },
	{ "loan", KEY_LOAN, NULL, 0,
	  "With -t xdp: the server of send, rate or pingpong reads messages where they arrived,"
	  " without a copy", 3 },
	{ 0 },
};
/* clang-format on */

static const char *option_name(int key)
{
	const struct argp_option *o = options;

	while (o->key != key)
		o++;
	return o->name;
}

static void set_between(struct opts *o, const struct argp_state *state, const char *arg)
{
	const char *comma = strchr(arg, ',');
	const char *part[2] = { arg, comma ? comma + 1 : "" };
	size_t len[2] = { comma ? (size_t)(comma - arg) : 0, strlen(part[1]) };

	for (int i = 0; i < 2; i++)
		if (len[i] >= IF_NAMESIZE && !memchr(part[i], ',', len[i]))
			argp_error(state,
				   "--between \"%s\": an interface name has at most %d characters",
				   arg, IF_NAMESIZE - 1);
		else if (len[i] == 0 || memchr(part[i], ',', len[i]))
			argp_error(
				state,
				"--between \"%s\": expected two interface names separated by a comma, such as eth1,eth2",
				arg);
		else
			snprintf(o->between[i], IF_NAMESIZE, "%.*s", (int)len[i], part[i]);
	if (strcmp(o->between[0], o->between[1]) == 0)
		argp_error(state,
			   "--between \"%s\": the same interface twice; expected two interfaces",
			   arg);
}

static void add_size(struct opts *o, const struct argp_state *state, const char *arg, uint64_t size)
{
	if (o->nsizes == SIZES_MAX)
		argp_error(state, "--size \"%s\": too many sizes; expected at most %d", arg,
			   SIZES_MAX);
	o->sizes[o->nsizes++] = size;
}

/* Parses "64" or "64-1M": sizes are doubled up to the last one, which is always included. */
static void add_range(struct opts *o, const struct argp_state *state, const char *arg, char *range)
{
	char *dash = strchr(range, '-');
	uint64_t at, last;

	if (dash && (dash == range || dash[1] == '\0' || strchr(dash + 1, '-')))
		argp_error(
			state,
			"--size \"%s\": not a range; expected the smallest and the largest size, such as 64-1M",
			range);
	if (dash)
		*dash = '\0';
	at = last = iw_cli_size(state, "--size", range, 0, IW_BENCH_SIZE_MAX);
	if (dash)
		last = iw_cli_size(state, "--size", dash + 1, 0, IW_BENCH_SIZE_MAX);
	if (last < at)
		argp_error(
			state,
			"--size %s-%s: the first size is larger than the last; expected %s-%s, the smaller one first",
			range, dash + 1, dash + 1, range);
	for (; at < last; at = at ? 2 * at : 1)
		add_size(o, state, arg, at);
	add_size(o, state, arg, last);
}

/* Parses "64,1K-64K,1M". */
static void parse_sizes(struct opts *o, const struct argp_state *state, const char *arg)
{
	for (const char *p = arg;; p++) {
		size_t len = strcspn(p, ",");
		char one[64];

		if (len == 0)
			argp_error(state, "--size \"%s\": %s; expected sizes such as 64,4K-64K,1M",
				   arg, *arg ? "nothing before or after a comma" : "empty");
		if (len >= sizeof(one))
			argp_error(state,
				   "--size \"%s\": not a size; expected sizes such as 64,4K-64K,1M",
				   arg);
		memcpy(one, p, len);
		one[len] = '\0';
		add_range(o, state, arg, one);
		p += len;
		if (*p == '\0')
			return;
	}
}

static error_t run_option(int key, const char *arg, const struct argp_state *state, struct opts *o)
{
	switch (key) {
	case 'c':
		argp_error(state,
			   "-c %s: a client is ddp-bench HOST MODE, a server ddp-bench --listen",
			   arg);
		return 0;
	case 'P':
		argp_error(state, "-P %s: the number of connections is given with -j", arg);
		return 0;
	case 'i':
		argp_error(state, "-i %s: the time between results is given with --interval", arg);
		return 0;
	case 'R':
		argp_error(state,
			   "-R: use the mode read, in which the server sends: ddp-bench HOST read");
		return 0;
	case 'u':
		argp_error(state, "-u: the transport is given with -t: -t udp");
		return 0;
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
	case 'j':
		o->connections =
			(uint32_t)iw_cli_u64(state, "--connections", arg, 1, IW_BENCH_LANES);
		break;
	case KEY_STREAMS:
		o->streams = (uint32_t)iw_cli_u64(state, "--streams", arg, 1, IW_BENCH_LANES);
		break;
	case KEY_PLOT:
		o->plot = arg;
		break;
	case KEY_BETWEEN:
		set_between(o, state, arg);
		break;
	case KEY_INTERVAL:
		o->interval_ns = iw_cli_duration(state, "--interval", arg, 0, TIME_MAX);
		break;
	case KEY_NO_VERIFY:
		o->no_verify = true;
		break;
	case KEY_UMEM:
		o->umem = true;
		break;
	case KEY_LOAN:
		o->loan = true;
		break;
	case KEY_SPIN:
		o->spin_ns = iw_cli_duration(state, "--spin", arg, 0, IW_SEC(10));
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (!o->run_option && key != KEY_SPIN)
		o->run_option = option_name(key);
	if (!o->not_xdp && key != KEY_TIME && key != 'n' && key != KEY_BETWEEN)
		o->not_xdp = option_name(key);
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
	if (!o->listen_option)
		o->listen_option = option_name(key);
	return 0;
}

static bool is_svg(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcasecmp(dot, ".svg") == 0;
}

/* Returns the name of a given option for connections; NULL: none. Tests make no connection. */
static const char *connection_option(const struct opts *o)
{
	return o->cli.transport_given            ? "transport"
	       : o->cli.interface                ? "interface"
	       : o->cli.bind                     ? "bind"
	       : o->cli.port_given               ? "port"
	       : o->cli.timeout_given            ? "timeout"
	       : o->cli.trace_path               ? "trace"
	       : iw_cli_secure_given(&o->secure) ? iw_cli_secure_given(&o->secure)
						 : iw_cli_conn_given(&o->conn);
}

static void check_test(const struct argp_state *state, const struct opts *o)
{
	const char *given = o->not_xdp, *connection = connection_option(o);

	if (!given && o->task == TASK_STAG)
		given = o->run_option;
	if (given)
		argp_error(
			state, "%s%s: does not apply to the test %s; %s",
			strchr(given, ' ') ? "" : "--", given, o->host,
			o->task == TASK_XDP
				? "only --time (of each run), --count (pairs of runs) and --between do"
				: "it has no options of its own");
	if (connection)
		argp_error(
			state,
			"--%s: does not apply to the test %s, which makes no connection; leave it out",
			connection, o->host);
	if (o->task == TASK_XDP && o->count > IW_XDP_BENCH_PAIRS)
		argp_error(state, "--count %" PRIu64 ": expected 1 to %d for the test xdp",
			   o->count, IW_XDP_BENCH_PAIRS);
}

/* True if there are at least two different sizes for the diagram, which shows 0 as 1. */
static bool has_curve(const struct opts *o)
{
	for (size_t i = 1; i < o->nsizes; i++)
		if (IW_MAX(o->sizes[i], (uint64_t)1) != IW_MAX(o->sizes[0], (uint64_t)1))
			return true;
	return false;
}

static bool is_mode(const char *word)
{
	for (const char *const *n = iw_bench_mode_names; *n; n++)
		if (strcmp(*n, word) == 0)
			return true;
	return false;
}

/* True for the name of a test, which stands in the place of HOST and has no MODE. */
static bool is_test(const char *word)
{
	return strcmp(word, "stag") == 0 || strcmp(word, "xdp") == 0;
}

/* Reports arguments in the wrong order, or one too many. A host may have the name of a mode. */
static void check_order(const struct argp_state *state, const struct opts *o)
{
	if (is_mode(o->mode_name))
		return;
	if (is_test(o->host))
		argp_error(state, "\"%s\": the test %s has no host; leave it out", o->mode_name,
			   o->host);
	if (is_mode(o->host))
		argp_error(state, "\"%s\" is a mode, and the host comes first: ddp-bench HOST %s",
			   o->host, o->host);
}

/* Checks the options given with --listen. */
static void check_listener(const struct argp_state *state, const struct opts *o)
{
	if (o->host && is_test(o->host))
		argp_error(
			state,
			"--listen: does not apply to the test %s, which makes no connection; leave it out",
			o->host);
	if (o->host && is_mode(o->host))
		argp_error(
			state,
			"--listen %s: the client chooses the mode; leave it out here, and run ddp-bench HOST %s there",
			o->host, o->host);
	if (o->host)
		argp_error(state, "--listen takes no argument: \"%s\"; --bind names an address",
			   o->host);
	if (o->run_option)
		argp_error(state,
			   "--%s: the client chooses what is measured; give this option to"
			   " the client, not with --listen",
			   o->run_option);
	iw_cli_conn_check(state, &o->conn, o->cli.transport);
	iw_cli_secure_check(state, &o->secure, o->cli.transport);
}

/* Checks HOST and MODE of a client. */
static void check_operands(const struct argp_state *state, struct opts *o)
{
	if (o->host && !o->mode_name && is_mode(o->host))
		argp_error(state, "%s: a mode without a host; expected ddp-bench HOST %s", o->host,
			   o->host);
	if (!o->host || !o->mode_name)
		argp_error(
			state,
			"%s; expected HOST and write, read, send, pingpong or rate; or --listen; or stag;"
			" or xdp",
			o->host ? "no mode after the host" : "no host");
	check_order(state, o);
	o->mode = iw_cli_enum(state, "MODE", o->mode_name, iw_bench_mode_names);
}

/* Checks the options that say what a client measures. */
static void check_measurement(const struct argp_state *state, const struct opts *o)
{
	if (o->depth > 1 && o->mode == IW_BENCH_PINGPONG)
		argp_error(
			state,
			"--depth %u: pingpong has one message outstanding; expected 1, or write, read,"
			" send or rate",
			o->depth);
	if (o->plot && !is_svg(o->plot))
		argp_error(state,
			   "--plot \"%s\": pictures are SVG; expected a name that ends in .svg",
			   o->plot);
	if (o->plot && !has_curve(o))
		argp_error(
			state,
			"--plot: a picture of one size has no curve; give at least two, such as --size 64-1M");
	if (o->count && o->time_ns)
		argp_error(state, "--count and --time exclude each other; expected one of them");
}

/* Checks the options of a client's connections and streams. */
static void check_connections(const struct argp_state *state, const struct opts *o)
{
	if (o->cli.port == 0)
		argp_error(state,
			   "--port 0: a client needs the server's port; expected 1 to 65535");
	if (o->streams > 1 && strcmp(o->cli.transport, "tcp") == 0)
		argp_error(
			state,
			"--streams %u: -t tcp has no streams; use it with -t sctp, udp, raw or xdp",
			o->streams);
	if (o->connections * o->streams > IW_BENCH_LANES)
		argp_error(state,
			   "--connections %u, --streams %u: %u streams in all; expected at most %d",
			   o->connections, o->streams, o->connections * o->streams, IW_BENCH_LANES);
}

/* Checks the options that avoid copies over -t xdp. */
static void check_copies(const struct argp_state *state, const struct opts *o)
{
	bool xdp = strcmp(o->cli.transport, "xdp") == 0;

	if (o->umem && (!xdp || (o->mode != IW_BENCH_WRITE && o->mode != IW_BENCH_SEND)))
		argp_error(state,
			   "--umem: only for write or send over -t xdp, not for %s over -t %s",
			   o->mode_name, o->cli.transport);
	if (o->loan && (!xdp || o->mode == IW_BENCH_WRITE || o->mode == IW_BENCH_READ))
		argp_error(
			state,
			"--loan: only for send, rate or pingpong over -t xdp, not for %s over -t %s",
			o->mode_name, o->cli.transport);
}

/* Sets the options of a client that were not given and whose default depends on others. */
static void set_defaults(struct opts *o)
{
	if (!o->nsizes)
		o->sizes[o->nsizes++] = o->mode == IW_BENCH_PINGPONG || o->mode == IW_BENCH_RATE
						? SMALL_DEFAULT
						: SIZE_DEFAULT;
	if (!o->count && !o->time_ns)
		o->time_ns = IW_MAX(TIME / o->nsizes, TIME_LEAST);
	if (o->warmup_ns == UINT64_MAX)
		o->warmup_ns = o->nsizes > 1 ? WARMUP_EACH : WARMUP;
}

static void check_client(const struct argp_state *state, struct opts *o)
{
	if (o->between[0][0])
		argp_error(state,
			   "--between: only for the test xdp: ddp-bench xdp --between IF,IF");
	check_operands(state, o);
	iw_cli_conn_check(state, &o->conn, o->cli.transport);
	iw_cli_secure_check(state, &o->secure, o->cli.transport);
	iw_cli_check_udp_port(state, o->conn.any_udp_port, false);
	check_measurement(state, o);
	check_connections(state, o);
	check_copies(state, o);
	set_defaults(o);
}

/* Finds the task that the options request, and checks the options for it. */
static void check_options(const struct argp_state *state, struct opts *o)
{
	if (o->listen) {
		o->task = TASK_LISTEN;
		check_listener(state, o);
		return;
	}
	if (o->listen_option)
		argp_error(state, "--%s: only for a server; add --listen", o->listen_option);
	if (o->host && !o->mode_name && is_test(o->host)) {
		o->task = strcmp(o->host, "xdp") == 0 ? TASK_XDP : TASK_STAG;
		check_test(state, o);
		return;
	}
	check_client(state, o);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;
	error_t err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->conn;
		state->child_inputs[1] = &o->secure;
		state->child_inputs[2] = &o->cli;
		return 0;
	case ARGP_KEY_ARG:
		if (o->mode_name && iw_cli_is_port(arg))
			argp_error(state,
				   "\"%s\": expected HOST and MODE only; give the port with -p %s",
				   arg, arg);
		if (o->mode_name)
			argp_error(state,
				   "\"%s\": one argument too many; expected HOST and MODE only",
				   arg);
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

/* --- a client --------------------------------------------------------------------------------- */

static struct iw_bench_show show_of(struct opts *o)
{
	return (struct iw_bench_show){
		.json = o->cli.json ? &o->cli.out : NULL,
		.transport = o->cli.transport,
		.any_port = o->cli.port == 0 || o->conn.any_udp_port,
		.quiet = o->cli.quiet,
	};
}

static uint32_t default_depth(size_t mode, uint64_t size)
{
	uint64_t most = mode == IW_BENCH_RATE ? DEPTH_RATE : DEPTH_MOST;
	uint64_t n = DEPTH_OCTETS / IW_MAX(size, (uint64_t)1);

	/* Longer messages take so much time that sending them one by one is not slower. */
	if (size > SIZE_ALONE)
		return 1;
	return (uint32_t)IW_MAX((uint64_t)DEPTH_LEAST, IW_MIN(n, most));
}

static int print_result(const struct iw_bench_show *show, const struct iw_bench_result *r)
{
	if (iw_bench_show_result(show, r) != 0)
		return IW_EXIT_FAILED;
	if (r->verdict != IW_BENCH_BAD)
		return IW_EXIT_OK;
	iw_log_error("the received data is not the data that was sent: %s", r->mismatch);
	return IW_EXIT_NO;
}

static void keep_point(struct iw_bench_point *p, const struct iw_bench_result *r)
{
	*p = (struct iw_bench_point){
		.size = r->size,
		.bits = (double)iw_bits_per_second(r->octets, r->duration_ns),
		.messages = iw_bench_messages_per_second(r),
		.p50 = iw_bench_latency(r, 500000),
		.p99 = iw_bench_latency(r, 990000),
		.p9999 = iw_bench_latency(r, 999900),
	};
}

/* Returns what the confined process must still be able to do: open connections again for each
 * further size, and run gnuplot. */
static unsigned confine_how(const struct opts *o)
{
	unsigned again = IW_CONFINE_REOPENS | (o->conn.cc ? IW_CONFINE_CC : 0);

	return (o->nsizes > 1 ? again : 0) | (o->plot ? IW_CONFINE_RUNS : 0);
}

static int run_size(struct opts *o, const struct iw_bench_show *show, uint64_t size,
		    struct iw_bench_point *point)
{
	struct iw_bench_cfg cfg = {
		.mode = (enum iw_bench_mode)o->mode,
		.size = size,
		.depth = o->depth ? o->depth : default_depth(o->mode, size),
		.connections = o->connections,
		.streams = o->streams,
		.count = o->count,
		.time_ns = o->time_ns,
		.warmup_ns = o->warmup_ns,
		.interval_ns = o->interval_ns,
		.verify = !o->no_verify,
		.umem = o->umem,
		.loan = o->loan,
		.setup_ns = o->cli.setup_timeout_ns,
		.timeout_ns = o->cli.timeout_ns,
		.spin_ns = o->spin_ns,
		.trace = o->cli.trace.f ? iw_cli_trace_line : NULL,
		.trace_ctx = &o->cli.trace,
	};
	struct iw_bench_client *c;
	struct iw_bench_interval iv;
	struct iw_fault why = { 0 };
	int err, status, lost = 0;

	iw_cli_conn_param(&o->conn, &o->cli, o->host, &cfg.conn);
	cfg.conn.at.tls = o->secure.creds;
	cfg.secure = &o->secure;
	cfg.conn.at.streams = (uint16_t)IW_MAX((uint32_t)cfg.conn.at.streams, o->streams);
	iw_log_info("%s: %s, port %u: messages of %" PRIu64 " octets, %u outstanding",
		    iw_bench_mode_names[cfg.mode], o->host, o->cli.port, size, cfg.depth);
	if (iw_bench_client_new(&c, &cfg, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	if (iw_confine_plain(&o->cli, confine_how(o), &why) != 0) {
		iw_bench_client_free(c);
		return iw_cli_fail(&o->cli, &why);
	}
	do {
		err = iw_bench_client_next(c, &iv, &why);
		if (err == IW_BENCH_INTERVAL)
			lost = iw_bench_show_interval(show, &iv);
	} while (err == IW_BENCH_INTERVAL && !lost);
	if (lost) {
		status = IW_EXIT_FAILED;
	} else if (err) {
		status = iw_cli_fail(&o->cli, &why);
	} else {
		status = print_result(show, iw_bench_client_result(c));
		keep_point(point, iw_bench_client_result(c));
	}
	iw_bench_client_free(c);
	return status;
}

static int draw(struct opts *o, const struct iw_bench_point *points)
{
	struct iw_fault why = { 0 };
	char title[160];

	snprintf(title, sizeof(title),
		 "ddp-bench %s, %s: %u connection%s of %u stream%s, libiwarp %s", o->mode_name,
		 o->cli.transport, o->connections, o->connections == 1 ? "" : "s", o->streams,
		 o->streams == 1 ? "" : "s", iw_version());
	if (iw_bench_plot(o->plot, title,
			  o->mode == IW_BENCH_PINGPONG ? "half a round trip"
						       : "from posting to completion",
			  points, o->nsizes, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	return IW_EXIT_OK;
}

static int run_client(struct opts *o)
{
	struct iw_bench_show show = show_of(o);
	struct iw_bench_point points[SIZES_MAX];
	struct iw_fault why = { 0 };
	int status = IW_EXIT_OK;

	if (o->plot && (iw_bench_plot_check(o->plot, &why) < 0 || iw_bench_plot_can(&why) < 0))
		return iw_cli_fail(&o->cli, &why);
	if (iw_cli_secure_open(&o->secure, o->host, o->cli.port, false, &why) != 0)
		return iw_cli_fail(&o->cli, &why);
	show.rows = o->nsizes > 1;
	iw_bench_show_head(&show);
	for (size_t i = 0; i < o->nsizes && status == IW_EXIT_OK; i++)
		status = run_size(o, &show, o->sizes[i], &points[i]);
	return status == IW_EXIT_OK && o->plot ? draw(o, points) : status;
}

/* --- a listener ------------------------------------------------------------------------------- */

static int serve(struct opts *o, struct iw_bench_server *s)
{
	struct iw_bench_news news = { .kind = IW_BENCH_CAME };
	struct iw_bench_show show = show_of(o);
	struct iw_fault why = { 0 };
	int status = IW_EXIT_OK;

	if (iw_bench_show_listening(&show, s, o->cli.bind) != 0)
		return IW_EXIT_FAILED;
	while (news.kind != IW_BENCH_STOPPED) {
		if (iw_bench_server_next(s, &news, &why) < 0)
			return iw_cli_fail(&o->cli, &why);
		if (iw_bench_show_news(&show, &news) != 0)
			return IW_EXIT_FAILED;
		/* The failure of a client is a failure of the server only with --once. */
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

	iw_cli_conn_param(&o->conn, &o->cli, NULL, &cfg.conn);
	if (iw_cli_secure_open(&o->secure, NULL, o->cli.port, iw_cli_secure_is_local(&o->cli, 0),
			       &why) != 0)
		return iw_cli_fail(&o->cli, &why);
	cfg.conn.at.tls = o->secure.creds;
	if (iw_bench_server_new(&s, &cfg, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	/* Clients choose the congestion control. */
	status = iw_confine_plain(&o->cli, IW_CONFINE_LISTENS | IW_CONFINE_CC, &why) == 0
			 ? serve(o, s)
			 : iw_cli_fail(&o->cli, &why);
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
		printf("check and place a segment of 1448 octets: %.0f ns with 1,000 STags registered,"
		       " %.0f ns with 1,000,000\n"
		       "ratio %.2f (median of %zu pairs; %.2f to %.2f)\n",
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

/* --- the fast path and its baselines ---------------------------------------------------------- */

static void print_pair(void *ctx, const struct iw_xdp_figure *f, const struct iw_xdp_pair *p)
{
	iw_bench_show_pair(ctx, f, p);
}

static void print_baseline(void *ctx, const struct iw_xdp_baseline *b)
{
	iw_bench_show_baseline(ctx, b);
}

static void print_begin(void *ctx)
{
	iw_bench_show_xdp_head(ctx);
}

static int run_xdp(struct opts *o)
{
	const char *const between[2] = { o->between[0], o->between[1] };
	struct iw_bench_show show = show_of(o);
	struct iw_xdp_bench_cfg cfg = {
		.window_ns = o->time_ns,
		.pairs = (unsigned)o->count,
		.ctx = &show,
		.on_begin = print_begin,
		.on_pair = print_pair,
		.on_baseline = print_baseline,
		.between = o->between[0][0] ? between : NULL,
	};
	struct iw_xdp_bench r;
	struct iw_fault why = { 0 };

	if (iw_bench_xdp(&r, &cfg, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	return iw_bench_show_xdp(&show, &r) ? IW_EXIT_FAILED : IW_EXIT_OK;
}

/* --- main ------------------------------------------------------------------------------------- */

static const struct argp_child kids[] = { { &iw_cli_conn_argp, 0, NULL, 3 },
					  { &iw_cli_secure_argp, 0, "Encryption:", 4 },
					  { &iw_cli_argp, 0, "Common options:", -2 },
					  { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "HOST write|read|send|pingpong|rate\n--listen\nstag\nxdp",
	.doc = "Measure DDP from memory to memory between this client and a server (--listen): RDMA Write, RDMA"
	       " Read, Send, a Send and its answer (pingpong), or many small Sends (rate). stag measures a look-up"
	       " among a million STags. xdp compares -t xdp with bare AF_XDP and the other transports, in two"
	       " network namespaces.\v"
	       "Figures are the receiver's, by its own clock, between two marks in the data. Afterwards the"
	       " received data is compared with the data that was sent.\n\n"
	       "Exit status: 0 measured, data correct; 1 the server refused, or the data is wrong; 2 wrong usage;"
	       " 3 cannot run here; 4 the measurement failed.",
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

/* For --doctor. Without operands, it checks a listener. */
static unsigned doctor_confine(struct iw_cli *cli, uint64_t *caps)
{
	const struct opts *o = iw_container_of(cli, struct opts, cli);

	(void)caps;
	/* Clients choose the congestion control. */
	return o->listen || !o->host ? IW_CONFINE_LISTENS | IW_CONFINE_CC : confine_how(o);
}

static void doctor_needs(struct iw_doctor *d)
{
	iw_cli_secure_doctor(d);
	iw_doctor_probe(d, "--plot", iw_bench_plot_can, NULL);
}

/* Warns that --doctor checks only this machine, if a HOST is given. */
static int doctor_also(struct iw_cli *cli, int status)
{
	const struct opts *o = iw_container_of(cli, struct opts, cli);

	/* Without a mode, o->host is the name of a test. */
	iw_cli_warn_of_host(o->mode_name ? o->host : NULL);
	return status;
}

int main(int argc, char **argv)
{
	struct opts o = {
		.connections = 1,
		.streams = 1,
		.warmup_ns = UINT64_MAX, /* not given */
		.interval_ns = IW_SEC(1),
	};
	int status;

	iw_cli_init(&o.cli, "ddp-bench", "tcp");
	o.cli.confine = doctor_confine;
	o.cli.doctor_needs = doctor_needs;
	o.cli.doctor_also = doctor_also;
	iw_cli_conn_init(&o.conn);
	iw_cli_secure_init(&o.secure);
	iw_cli_parse(&o.cli, &argp, argc, argv, 0, &o);
	status = iw_cli_start(&o.cli);
	if (status == IW_EXIT_OK)
		status = work(&o);
	iw_cli_secure_close(&o.secure);
	return iw_cli_finish(&o.cli, status);
}
