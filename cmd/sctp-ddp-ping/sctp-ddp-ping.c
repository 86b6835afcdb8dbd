// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sctp-ddp-ping: measures round trips of DDP messages over SCTP, and diagnoses their failure. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/confine.h"
#include "cli/conn.h"
#include "cli/option.h"
#include "cli/secure.h"
#include "cli/param.h"
#include "cli/usage.h"
#include "llp/llp.h"
#include "sctp-ddp-ping/ping.h"
#include "sctp-ddp-ping/show.h"
#include "util/num.h"
#include "wire/sctp.h"

#define SIZE_DEFAULT 64
#define COUNT_MAX    UINT64_C(1000000000000)
#define INTERVAL_MIN UINT64_C(1000) /* ns */
#define INTERVAL_MAX IW_SEC(24 * 3600)
#define DOCTOR_NS    IW_SEC(3) /* limit of the set-up in a diagnosis, without --timeout */

struct opts {
	struct iw_cli cli;
	struct iw_cli_secure secure;
	const char *host;
	bool listen, once, flood, pmtu;
	uint32_t streams; /* 0: not given */
	uint32_t size;
	uint64_t count, interval_ns, memory;
	uint16_t udp_port;
	bool any_udp_port;
	const char *profile;
	int rev; /* 0: not given */
	unsigned xdp;
	/* The first given option that only a client, or only a listener, uses; NULL: none. */
	const char *client_option, *server_option;
	bool interval_given;
};

/* The transports of DDP over SCTP. --doctor HOST tests all but xdp, which needs an interface. */
static const char *const transports[] = { "sctp", "raw", "udp", "xdp", NULL };

/* --- options ---------------------------------------------------------------------------------- */

enum {
	/* Long options only: no key is a character. All differ from the keys of the common
	 * options. */
	KEY_PMTU = 0x9001,
	KEY_ONCE,
	KEY_MEMORY,
	KEY_UDP_PORT,
	KEY_PROFILE,
	KEY_REV,
	KEY_REQUIRE,
	KEY_XDP,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "streams", 'n', "COUNT", 0, "DDP streams, each with its own session (default 1); with --listen at most this many for each association (default " IW_CLI_TEXT(IW_STREAMS_DEFAULT) ")", 1 },
	{ "size", 's', "SIZE", 0, "Octets of a message, 0 to 16M (default 64)", 1 },
	{ "count", 'c', "COUNT", 0, "Stop after this many messages on each stream (default 0: no limit)", 1 },
	{ "interval", 'i', "TIME", 0, "Time between messages of a stream (default 1s)", 1 },
	{ "flood", 'f', NULL, 0, "Send the next message as soon as the reply is received; print only statistics", 1 },
	/* Options of ping(8), rejected with an error that names the right option. */
	{ NULL, 'W', "TIME", OPTION_HIDDEN, NULL, 1 },
	{ NULL, 'w', "TIME", OPTION_HIDDEN, NULL, 1 },
	{ NULL, '4', NULL, OPTION_HIDDEN, NULL, 1 },
	{ NULL, '6', NULL, OPTION_HIDDEN, NULL, 1 },
	{ "pmtu", KEY_PMTU, NULL, 0, "Report the path MTU whenever it changes, and that of each address at the end", 1 },
	{ "udp-port", KEY_UDP_PORT, "N", 0, "UDP port of the listener, for -t udp (default " IW_CLI_TEXT(IW_SCTP_UDP_PORT) ") and -t xdp (default: no UDP); 0: any free port", 1 },
	{ "require", KEY_REQUIRE, "native,zerocopy", 0, IW_CLI_REQUIRE_HELP, 1 },
	{ "xdp", KEY_XDP, "generic,copy,busy-poll", 0, IW_CLI_XDP_HELP, 1 },
	{ "rev", KEY_REV, "1|2", 0, "Set-up of sessions: 2 with RFC 6581, 1 without (default 2, falling back to 1)", 1 },
	{ "profile", KEY_PROFILE, "rfc|sctp-draft-02", 0, "Edition of DDP over SCTP (default rfc, which is RFC 5043)", 1 },

	{ "listen", 'l', NULL, 0, "Return all messages to their senders, until interrupted", 2 },
	{ "once", KEY_ONCE, NULL, 0, "Exit when no session is open any more, after at least one", 2 },
	{ "memory", KEY_MEMORY, "SIZE", 0, "Memory for all sessions (default 256M); sessions that need more are rejected", 2 },
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

static error_t client_option(int key, char *arg, const struct argp_state *state, struct opts *o)
{
	switch (key) {
	case 's':
		o->size = (uint32_t)iw_cli_size(state, "--size", arg, 0, IW_PING_SIZE_MAX);
		break;
	case 'c':
		o->count = iw_cli_u64(state, "--count", arg, 0, COUNT_MAX);
		break;
	case 'i':
		o->interval_ns =
			iw_cli_duration(state, "--interval", arg, INTERVAL_MIN, INTERVAL_MAX);
		o->interval_given = true;
		break;
	case 'f':
		o->flood = true;
		break;
	case KEY_PMTU:
		o->pmtu = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (!o->client_option)
		o->client_option = option_name(key);
	return 0;
}

static error_t other_option(int key, char *arg, const struct argp_state *state, struct opts *o)
{
	switch (key) {
	case 'W':
		argp_error(state, "-W %s: the time to wait for a reply is given with --timeout",
			   arg);
		return 0;
	case 'w':
		argp_error(state, "-w %s: a run is limited by the number of messages, with -c",
			   arg);
		return 0;
	case '4':
	case '6':
		argp_error(state, "-%c: leave it out, and give an IPv%c address instead of a name",
			   key, key);
		return 0;
	case 'n':
		o->streams = (uint32_t)iw_cli_u64(state, "--streams", arg, 1, IW_PING_STREAMS_MAX);
		return 0;
	case KEY_UDP_PORT:
		o->udp_port = (uint16_t)iw_cli_u64(state, "--udp-port", arg, 0, UINT16_MAX);
		o->any_udp_port = o->udp_port == 0;
		return 0;
	case KEY_REQUIRE:
		o->xdp = iw_cli_xdp(state, "--require", arg, o->xdp);
		return 0;
	case KEY_XDP:
		o->xdp = iw_cli_xdp(state, "--xdp", arg, o->xdp);
		return 0;
	case KEY_PROFILE:
		o->profile = iw_cli_profile(state, arg);
		return 0;
	case KEY_REV:
		o->rev = (int)iw_cli_u64(state, "--rev", arg, 1, 2);
		return 0;
	case 'l':
		o->listen = true;
		return 0;
	case KEY_ONCE:
		o->once = true;
		break;
	case KEY_MEMORY:
		o->memory = iw_cli_size(state, "--memory", arg, 1, UINT64_MAX);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (!o->server_option)
		o->server_option = option_name(key);
	return 0;
}

static void check_options(const struct argp_state *state, const struct opts *o)
{
	if (strcmp(o->cli.transport, "tcp") == 0)
		argp_error(
			state,
			"--transport tcp: expected sctp, raw, udp or xdp; for MPA over TCP use mpa-probe");
	if (o->udp_port || o->any_udp_port)
		iw_cli_fits(state, "--udp-port", o->cli.transport);
	iw_cli_check_udp_port(state, o->any_udp_port, o->listen);
	iw_cli_secure_check(state, &o->secure, o->cli.transport);
	if (o->xdp)
		iw_cli_fits(state,
			    o->xdp & (IW_XDP_WANT_NATIVE | IW_XDP_WANT_ZEROCOPY) ? "--require"
										 : "--xdp",
			    o->cli.transport);
	if (o->listen) {
		if (o->host)
			argp_error(state,
				   "--listen takes no argument: \"%s\"; --bind names an address",
				   o->host);
		if (o->client_option)
			argp_error(state, "--%s: only for the connecting side; leave out --listen",
				   o->client_option);
		return;
	}
	if (!o->host)
		argp_error(state, "expected the HOST to ping, or --listen");
	if (o->cli.port == 0)
		argp_error(state, "--port 0: not a port to connect to; use 1 to 65535");
	if (o->server_option)
		argp_error(state, "--%s: only for a listener; add --listen", o->server_option);
	if (o->flood && o->interval_given)
		argp_error(state, "--flood and --interval exclude each other; leave out one");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;
	error_t err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->secure;
		state->child_inputs[1] = &o->cli;
		return 0;
	case ARGP_KEY_ARG:
		iw_cli_host(state, arg, &o->host);
		return 0;
	case ARGP_KEY_END:
		check_options(state, o);
		return 0;
	default:
		err = client_option(key, arg, state, o);
		return err == ARGP_ERR_UNKNOWN ? other_option(key, arg, state, o) : err;
	}
}

/* --- both ends -------------------------------------------------------------------------------- */

static struct iw_ping_show show_of(struct opts *o)
{
	return (struct iw_ping_show){
		.json = o->cli.json ? &o->cli.out : NULL,
		.transport = o->cli.transport,
		.host = o->host,
		.size = o->size,
		.any_port = o->cli.port == 0 || o->any_udp_port,
		.quiet = o->cli.quiet,
		.replies = !o->flood,
		.mtu = o->pmtu,
	};
}

static struct iw_cli_param param_of(const struct opts *o)
{
	return (struct iw_cli_param){
		IW_CLI_PARAM_SIZES,
		.at.transport = o->cli.transport,
		.at.host = o->listen ? o->cli.bind : o->host,
		.at.bind_addr = o->listen ? NULL : o->cli.bind,
		.at.interface = o->cli.interface,
		.at.port = o->cli.port,
		.at.udp_port = o->udp_port,
		.at.any_udp_port = o->any_udp_port,
		.protocol.profile = o->profile,
		.protocol.rev = o->rev,
		.at.xdp = o->xdp,
		.at.tls = o->secure.creds,
	};
}

/* --- the client ------------------------------------------------------------------------------- */

static struct iw_ping_cfg cfg_of(struct opts *o)
{
	return (struct iw_ping_cfg){
		.conn = param_of(o),
		.secure = &o->secure,
		.streams = o->streams ? o->streams : 1,
		.size = o->size,
		.count = o->count,
		.interval_ns = o->interval_ns,
		.flood = o->flood,
		.setup_ns = o->cli.setup_timeout_ns,
		.timeout_ns = o->cli.timeout_ns,
		.trace = o->cli.trace.f ? iw_cli_trace_line : NULL,
		.trace_ctx = &o->cli.trace,
	};
}

/* Returns the exit status. Without any reply it is IW_EXIT_NO, whatever the reason, unless this
 * host could not try. */
static int status_of(const struct iw_fault *why, const struct iw_ping *p)
{
	bool associated = iw_ping_assoc(p)->npaths > 0;

	if (!why->err)
		return iw_ping_stat_all(p)->received ? IW_EXIT_OK : IW_EXIT_NO;
	if (iw_ping_stat_all(p)->received)
		return iw_exit_status(why->err);
	return iw_ping_far_end(why, associated) == IW_FAR_NOT_TRIED ? iw_exit_status(why->err)
								    : IW_EXIT_NO;
}

static int ping(struct opts *o, struct iw_ping *p)
{
	struct iw_ping_show show = show_of(o);
	struct iw_ping_event event;
	struct iw_fault why = { 0 };
	const uint8_t *pd;
	size_t pd_len;
	int err, status, lost = 0;

	do {
		err = iw_ping_next(p, &event, &why);
		if (!err)
			lost = iw_ping_show_event(&show, p, &event);
	} while (!err && !lost && event.kind != IW_PING_DONE);
	if (err)
		iw_log_error("%s", why.text[0] ? why.text : iw_err_text(why.err));
	else
		why = (struct iw_fault){ 0 };
	status = status_of(&why, p);
	pd = iw_ping_private_data(p, &pd_len);
	if (!lost && pd)
		lost = iw_ping_show_rejected(&show, &why, pd, pd_len);
	if (!lost)
		lost = iw_ping_show_result(&show, p, &why, status);
	return lost ? IW_EXIT_FAILED : status;
}

static int run_client(struct opts *o)
{
	struct iw_fault why = { 0 };
	struct iw_ping_cfg cfg;
	struct iw_ping *p;
	int status;

	if (iw_cli_secure_open(&o->secure, o->host, o->cli.port, false, &why) != 0)
		return iw_cli_fail(&o->cli, &why);
	cfg = cfg_of(o);
	iw_log_info("%s port %u over %s", o->host, o->cli.port, o->cli.transport);
	if (iw_ping_new(&p, &cfg, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	status = iw_confine_plain(&o->cli, 0, &why) == 0 ? ping(o, p) : iw_cli_fail(&o->cli, &why);
	iw_ping_free(p);
	return status;
}

/* --- a listener ------------------------------------------------------------------------------- */

static int serve(struct opts *o, struct iw_ping_server *s)
{
	struct iw_ping_show show = show_of(o);
	struct iw_ping_server_event event = { .kind = IW_PING_OPENED };
	struct iw_fault why = { 0 };
	int lost = iw_ping_show_listening(&show, s, !o->cli.bind);

	while (!lost && event.kind != IW_PING_STOPPED) {
		if (iw_ping_server_next(s, &event, &why) < 0)
			return iw_cli_fail(&o->cli, &why);
		lost = iw_ping_show_server_event(&show, &event);
	}
	return lost ? IW_EXIT_FAILED : IW_EXIT_OK;
}

static int run_listener(struct opts *o)
{
	struct iw_ping_server_cfg cfg = {
		.conn = param_of(o),
		.memory = o->memory,
		.once = o->once,
		.setup_ns = o->cli.setup_timeout_ns,
		.timeout_ns = o->cli.timeout_ns,
		.trace = o->cli.trace.f ? iw_cli_trace_line : NULL,
		.trace_ctx = &o->cli.trace,
	};
	struct iw_ping_server *s;
	struct iw_fault why = { 0 };
	int status;

	if (iw_cli_secure_open(&o->secure, NULL, o->cli.port, iw_cli_secure_is_local(&o->cli, 0),
			       &why) != 0)
		return iw_cli_fail(&o->cli, &why);
	cfg.conn.at.tls = o->secure.creds;
	cfg.conn.at.streams = (uint16_t)(o->streams ? o->streams : IW_STREAMS_DEFAULT);
	/* All streams of an association may request a session at once. */
	cfg.conn.at.backlog = cfg.conn.at.streams;
	if (iw_ping_server_new(&s, &cfg, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	status = iw_confine_plain(&o->cli, IW_CONFINE_LISTENS, &why) == 0
			 ? serve(o, s)
			 : iw_cli_fail(&o->cli, &why);
	iw_ping_server_free(s);
	return status;
}

/* --- --doctor HOST ---------------------------------------------------------------------------- */

/* For --doctor HOST, after the checks of this host: diagnoses the far end over each transport that
 * this host can use. */
static int diagnose(struct iw_cli *cli, int status)
{
	struct opts *o = iw_container_of(cli, struct opts, cli);
	struct iw_ping_show show = show_of(o);
	bool answers = false, tried = false;
	int failed = IW_EXIT_NO;

	if (!o->host)
		return status;
	if (o->listen) {
		iw_log_error("--doctor \"%s\" tests a listener there: leave out --listen", o->host);
		return IW_EXIT_USAGE;
	}
	for (const char *const *name = transports; *name; name++) {
		struct iw_ping_cfg cfg = cfg_of(o);
		struct iw_ping_diagnosis d;

		cfg.conn.at.transport = *name;
		if (!cli->timeout_given)
			cfg.setup_ns = DOCTOR_NS;
		if (strcmp(*name, "xdp") == 0 || iw_llp_look(*name, NULL) != 0)
			continue;
		iw_ping_diagnose(&d, &cfg);
		if (iw_ping_show_diagnosis(&show, &d) != 0)
			return IW_EXIT_FAILED;
		answers = answers || d.what == IW_FAR_ANSWERS;
		if (d.what == IW_FAR_NOT_TRIED)
			failed = iw_exit_status(d.fault.err);
		else
			tried = true;
	}
	/* If no transport could be tested, nothing is known about the far end. */
	return answers ? IW_EXIT_OK : tried ? IW_EXIT_NO : failed;
}

/* --- main ------------------------------------------------------------------------------------- */

static const struct argp_child kids[] = { { &iw_cli_secure_argp, 0, "Encryption:", 9 },
					  { &iw_cli_argp, 0, "Common options:", -2 },
					  { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "HOST\n--listen",
	.doc = "Send DDP messages over SCTP to a listening sctp-ddp-ping, and measure the time until"
	       " their replies.\v"
	       "With --doctor HOST: test what answers there, over each transport that this machine"
	       " can run.\n\n"
	       "Exit status: 0 replies; 1 no reply, or no DDP there; 2 wrong usage;"
	       " 3 cannot run here; 4 failed after replies, or on this machine.",
	.children = kids,
};

static int work(struct opts *o)
{
	int status = iw_cli_check_transport(&o->cli);

	if (status != IW_EXIT_OK)
		return status;
	return o->listen ? run_listener(o) : run_client(o);
}

int main(int argc, char **argv)
{
	struct opts o = { .size = SIZE_DEFAULT, .interval_ns = IW_SEC(1) };
	int status;

	/*
	 * The default transport does not depend on the user or the machine, so that both ends use
	 * the same one.
	 */
	iw_cli_init(&o.cli, "sctp-ddp-ping", "udp");
	o.cli.confine = iw_confine_listener;
	iw_cli_secure_init(&o.secure);
	o.cli.transports = transports;
	o.cli.doctor_needs = iw_cli_secure_doctor;
	o.cli.doctor_also = diagnose;
	iw_cli_parse(&o.cli, &argp, argc, argv, 0, &o);
	status = iw_cli_start(&o.cli);
	if (status == IW_EXIT_OK)
		status = work(&o);
	iw_cli_secure_close(&o.secure);
	return iw_cli_finish(&o.cli, status);
}
