// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mpa-probe: tests whether the listener on a TCP port speaks iWARP, and identifies its
 * implementation; or listens itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/confine.h"
#include "cli/option.h"
#include "cli/param.h"
#include "cli/parse.h"
#include "cli/secure.h"
#include "cli/signals.h"
#include "cli/term.h"
#include "cli/usage.h"
#include "mpa-probe/conn_show.h"
#include "mpa-probe/probe.h"
#include "mpa-probe/rping_run.h"
#include "mpa-probe/serve.h"
#include "mpa-probe/show.h"
#include "mpa/mpa.h"
#include "util/num.h"

#define COUNT_DEFAULT 10
#define COUNT_MAX     1000000000u

enum app { APP_NONE, APP_RPING };

struct opts {
	struct iw_cli cli;
	struct iw_cli_secure secure;
	const char *host;
	bool listen, all, single, once, reject, no_verify;
	enum app app;
	size_t personality;
	bool persona_given;
	uint64_t count;
	bool count_given;
	uint32_t size;
	bool size_given;
	unsigned rate;
	enum iw_quirk quirk;
	/* Fields of the Request, or of a listener's Reply. */
	bool rev_given, crc_given, markers, peer_to_peer, rdmac;
	/* The first option given of each kind; NULL: none was given. */
	const char *probe_option;   /* only a probe uses it */
	const char *rping_option;   /* only rping's client uses it */
	const char *listen_option;  /* only a listener uses it */
	const char *request_option; /* selects a single Request */
	uint8_t rev, rtr;
	enum iw_crc_policy crc;
	uint8_t pd[IW_MPA_PD_MAX];
	size_t pd_len;
};

/* --- options --- */

enum {
	KEY_APP = 0x9001, /* not a character: long options only; distinct from the common options */
	KEY_SINGLE,
	KEY_RATE,
	KEY_PERSONALITY,
	KEY_ONCE,
	KEY_REJECT,
	KEY_VERIFY,
	KEY_NO_VERIFY,
	KEY_REV,
	KEY_PROFILE,
	KEY_CRC,
	KEY_MARKERS,
	KEY_RTR,
	KEY_P2P,
	KEY_PD,
	KEY_QUIRK,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "all", 'a', NULL, 0, "Try revisions 2, 1, 0 and 3, CRC, markers and RTR forms, and print the answer to each Request", 1 },
	{ "single", KEY_SINGLE, NULL, 0, "Make only one connection, for a listener that serves only one", 1 },
	{ "rate", KEY_RATE, "COUNT", 0, "At most this many connections per second, after the first five (default 20)", 1 },

	{ "app", KEY_APP, "rping", 0, "Run as the client of rping, or with --listen as its server: Sends, RDMA Reads and RDMA Writes, with verified data", 2 },
	{ "count", 'c', "COUNT", 0, "rping: number of rounds (default 10); 0 is no limit", 2 },
	{ NULL, 'C', "COUNT", OPTION_HIDDEN, NULL, 2 }, /* rping's name of --count */
	{ "size", 's', "SIZE", 0, "rping: octets of a ping, 0 to 65535 (default 64); for a server the largest accepted size (default 65535)", 2 },
	{ "verify", KEY_VERIFY, NULL, 0, "rping: compare the data (the default)", 2 },
	{ "no-verify", KEY_NO_VERIFY, NULL, 0, "rping: do not compare the data", 2 },

	{ "listen", 'l', NULL, 0, "Run as a responder until interrupted", 3 },
	{ "personality", KEY_PERSONALITY, "NAME", 0, "Answer Requests like an implementation: rfc (default, this library); emulated: siw, chelsio, windows, plain", 3 },
	{ "reject", KEY_REJECT, NULL, 0, "Refuse every Request", 3 },
	{ "once", KEY_ONCE, NULL, 0, "Serve one connection, then exit with its status", 3 },

	{ "rev", KEY_REV, "0..255", 0, "MPA revision of the only Request that is tried; for a listener the highest accepted one", 4 },
	{ "profile", KEY_PROFILE, "rfc|rdmac", 0, "Edition of the wire protocols: rfc (default), or rdmac (RDMA Consortium): version 0 of DDP, RDMAP, and MPA with markers and CRC", 4 },
	{ "crc", KEY_CRC, "wanted|required|off", 0, "The C flag of the Request, or of a listener's Reply (default wanted); rping: required refuses a Reply with C = 0", 4 },
	{ "markers", KEY_MARKERS, NULL, 0, "Demand MPA markers in what this end receives (M = 1)", 4 },
	{ "rtr", KEY_RTR, "FORM[,FORM...]", 0, "RTR forms: send, write, read. Request the peer-to-peer model and offer these; for a listener those that it accepts", 4 },
	{ "peer-to-peer", KEY_P2P, NULL, 0, "Request the peer-to-peer model, with all RTR forms unless --rtr is given", 4 },
	{ "private-data", KEY_PD, "DATA", 0, "Private Data of the Request or the Reply: text, or octets as 0xHEX", 4 },
	{ "quirk", KEY_QUIRK, "NAME", 0, "siw-first-fpdu: send zero-length RDMA Writes after the first FPDU; none: never (default: if nothing is received for 500 ms). With --listen, siw-first-fpdu: ignore a first FPDU that arrives too soon, as Linux siw does", 4 },
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

static void remember(struct opts *o, int key)
{
	const char **kind = NULL;

	switch (key) {
	case 'a':
	case KEY_SINGLE:
	case KEY_RATE:
		kind = &o->probe_option;
		break;
	case 'c':
	case 's':
	case KEY_NO_VERIFY:
	case KEY_QUIRK:
		kind = &o->rping_option;
		break;
	case KEY_PERSONALITY:
	case KEY_REJECT:
	case KEY_ONCE:
		kind = &o->listen_option;
		break;
	case KEY_REV:
	case KEY_CRC:
	case KEY_MARKERS:
	case KEY_RTR:
	case KEY_P2P:
		kind = &o->request_option;
		break;
	}
	if (kind && !*kind)
		*kind = option_name(key);
}

static uint8_t parse_forms(const struct argp_state *state, const char *arg)
{
	static const char *const names[] = { "send", "write", "read", NULL };
	static const uint8_t bits[] = { IW_RTR_SEND, IW_RTR_WRITE, IW_RTR_READ };
	const char *p = arg;
	uint8_t set = 0;

	for (;;) {
		size_t len = strcspn(p, ",");
		char one[16];

		if (len >= sizeof(one))
			argp_error(
				state,
				"--rtr \"%s\": expected send, write or read, separated by commas",
				arg);
		memcpy(one, p, len);
		one[len] = '\0';
		set |= bits[iw_cli_enum(state, "--rtr", one, names)];
		if (p[len] == '\0')
			return set;
		p += len + 1;
	}
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static void parse_pd(struct opts *o, const struct argp_state *state, const char *arg)
{
	size_t len = strlen(arg);

	/* The last of several options applies. */
	o->pd_len = 0;
	if (strncmp(arg, "0x", 2) != 0) {
		if (len > sizeof(o->pd))
			argp_error(state, "--private-data: %zu octets: expected at most %d", len,
				   IW_MPA_PD_MAX);
		memcpy(o->pd, arg, len);
		o->pd_len = len;
		return;
	}
	if (len / 2 - 1 > sizeof(o->pd))
		argp_error(state, "--private-data: %zu octets: expected at most %d", len / 2 - 1,
			   IW_MPA_PD_MAX);
	if (len % 2)
		argp_error(
			state,
			"--private-data \"%s\": an odd number of hexadecimal digits; expected two for each octet",
			arg);
	for (size_t i = 2; i < len; i += 2) {
		int high = hex_digit(arg[i]), low = hex_digit(arg[i + 1]);

		if (high < 0 || low < 0)
			argp_error(
				state,
				"--private-data \"%s\": not a hexadecimal number; after 0x, expected two digits for each octet",
				arg);
		o->pd[o->pd_len++] = (uint8_t)(high << 4 | low);
	}
}

static error_t task_option(int key, char *arg, const struct argp_state *state, struct opts *o)
{
	static const char *const apps[] = { "rping", NULL };

	switch (key) {
	case 'a':
		o->all = true;
		return 0;
	case KEY_SINGLE:
		o->single = true;
		return 0;
	case KEY_RATE:
		o->rate = (unsigned)iw_cli_u64(state, "--rate", arg, 1, 10000);
		return 0;
	case KEY_APP:
		(void)iw_cli_enum(state, "--app", arg, apps);
		o->app = APP_RPING;
		return 0;
	case 'C':
		argp_error(state, "-C %s: the number of rounds of --app rping is given with -c",
			   arg);
		return 0;
	case 'c':
		o->count = iw_cli_u64(state, "--count", arg, 0, COUNT_MAX);
		o->count_given = true;
		return 0;
	case 's':
		o->size = (uint32_t)iw_cli_size(state, "--size", arg, 0, IW_RPING_SIZE_MAX);
		o->size_given = true;
		return 0;
	case KEY_VERIFY:
		o->no_verify = false;
		return 0;
	case KEY_NO_VERIFY:
		o->no_verify = true;
		return 0;
	case 'l':
		o->listen = true;
		return 0;
	case KEY_PERSONALITY:
		o->personality = iw_cli_enum(state, "--personality", arg, iw_personality_names);
		o->persona_given = true;
		return 0;
	case KEY_REJECT:
		o->reject = true;
		return 0;
	case KEY_ONCE:
		o->once = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t mpa_option(int key, char *arg, const struct argp_state *state, struct opts *o)
{
	static const char *const crc[] = { "wanted", "required", "off", NULL };
	static const char *const profiles[] = { "rfc", "rdmac", NULL };
	static const char *const quirks[] = { "siw-first-fpdu", "none", NULL };

	switch (key) {
	case KEY_REV:
		o->rev = (uint8_t)iw_cli_u64(state, "--rev", arg, 0, 255);
		o->rev_given = true;
		return 0;
	case KEY_PROFILE:
		o->rdmac = iw_cli_enum(state, "--profile", arg, profiles) == 1;
		return 0;
	case KEY_CRC:
		o->crc = (enum iw_crc_policy)iw_cli_enum(state, "--crc", arg, crc);
		o->crc_given = true;
		return 0;
	case KEY_MARKERS:
		o->markers = true;
		return 0;
	case KEY_RTR:
		o->rtr = parse_forms(state, arg);
		o->peer_to_peer = true;
		return 0;
	case KEY_P2P:
		o->peer_to_peer = true;
		return 0;
	case KEY_PD:
		parse_pd(o, state, arg);
		return 0;
	case KEY_QUIRK:
		o->quirk = iw_cli_enum(state, "--quirk", arg, quirks) == 0 ? IW_QUIRK_ON
									   : IW_QUIRK_OFF;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void check_listen(const struct argp_state *state, const struct opts *o)
{
	const struct iw_personality *p = &iw_personalities[o->personality];

	if (o->host)
		argp_error(state, "--listen takes no argument: \"%s\"; --bind names an address",
			   o->host);
	if (o->probe_option)
		argp_error(state, "--%s: needs a host to probe; leave out --listen",
			   o->probe_option);
	if (o->count_given)
		argp_error(state, "--count: only for the connecting side; leave out --listen");
	if (o->size_given && o->app != APP_RPING)
		argp_error(state, "--size: only for rping; add --app rping");
	if (o->app == APP_RPING && o->reject)
		argp_error(state, "--reject: not with --app rping, which needs a connection");
	if (o->rev_given && o->rev > 2 && p->native)
		argp_error(state, "--rev %u: a listener supports 0, 1 and 2", o->rev);
	if (o->rdmac && !p->native)
		argp_error(state, "--profile rdmac needs --personality rfc");
	if (o->rev_given && !p->native && (o->rev < 1 || o->rev > p->rev_most))
		argp_error(state, "--rev %u: with --personality %s, expected %s", o->rev, p->name,
			   p->rev_most > 1 ? "1 or 2, the highest accepted revision"
					   : "1, its only revision");
	if (o->peer_to_peer && !o->rtr)
		argp_error(
			state,
			"--peer-to-peer is for the initiator; use --rtr for the forms that a listener accepts");
}

static void check_rping(const struct argp_state *state, const struct opts *o)
{
	if (o->probe_option)
		argp_error(state, "--%s: only for probing; leave it out, or --app rping",
			   o->probe_option);
	if (o->rev_given && o->rev > 2)
		argp_error(state, "--rev %u: rping supports 0, 1 and 2", o->rev);
	if (o->pd_len)
		argp_error(state,
			   "--private-data: not with --app rping, which has no Private Data");
}

/* --profile rdmac uses Rev 0 with markers (RFC 5044 appendix C). */
static void check_rdmac(const struct argp_state *state, struct opts *o)
{
	if (o->rev_given && o->rev != 0)
		argp_error(state, "--profile rdmac implies --rev 0, not --rev %u", o->rev);
	if (o->crc_given && o->crc == IW_CRC_OFF)
		argp_error(state,
			   "--crc off: with --profile rdmac the CRC is always on; leave it out");
	if (o->peer_to_peer)
		argp_error(state, "--%s: --profile rdmac uses Rev 0, which has no RTR forms",
			   o->rtr ? "rtr" : "peer-to-peer");
	if (o->all)
		argp_error(state,
			   "--all tries several revisions: not with --profile rdmac, which uses 0");
	o->rev_given = true;
	o->markers = true;
}

static void check_options(const struct argp_state *state, struct opts *o)
{
	if (o->rdmac)
		check_rdmac(state, o);
	if (strcmp(o->cli.transport, "tcp") != 0)
		argp_error(state,
			   "--transport %s: MPA needs tcp; for DDP over SCTP use sctp-ddp-ping",
			   o->cli.transport);
	iw_cli_secure_check(state, &o->secure, o->cli.transport);
	if (o->peer_to_peer && o->rev_given && o->rev < 2)
		argp_error(state, "--%s: Rev %u has no RTR forms; use --rev 2",
			   o->rtr ? "rtr" : "peer-to-peer", o->rev);
	if (o->listen) {
		check_listen(state, o);
		return;
	}
	if (!o->host)
		argp_error(state, "expected the HOST to probe, or --listen");
	if (o->cli.port == 0)
		argp_error(state, "--port 0: not a port to connect to; use 1 to 65535");
	if (o->listen_option)
		argp_error(state, "--%s: only for a listener; add --listen", o->listen_option);
	if (o->app == APP_RPING) {
		check_rping(state, o);
		return;
	}
	if (o->rping_option && strcmp(o->rping_option, "quirk") == 0)
		argp_error(
			state,
			"--quirk: only for rping and for a listener; add --app rping or --listen");
	if (o->rping_option)
		argp_error(state, "--%s: only for rping; add --app rping", o->rping_option);
	if (o->all && (o->single || o->request_option))
		argp_error(state, "--%s: not with --all, which tries many Requests; leave out one",
			   o->single ? "single" : o->request_option);
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
		err = task_option(key, arg, state, o);
		if (err == ARGP_ERR_UNKNOWN)
			err = mpa_option(key, arg, state, o);
		if (err == 0)
			remember(o, key);
		return err;
	}
}

/* --- the probe --- */

struct progress {
	struct opts *o;
	unsigned number;
	int err; /* the first error of writing JSON */
};

static void on_attempt(void *ctx, const struct iw_probe_attempt *at)
{
	struct progress *p = ctx;

	p->number++;
	if (p->o->cli.json && !p->err)
		p->err = iw_probe_attempt_write_json(&p->o->cli.out, p->number, at);
	iw_probe_attempt_log(p->number, at);
}

/* Makes the Request that the options describe. Returns true if they describe one. */
static bool own_request(const struct opts *o, struct iw_ask *ask)
{
	*ask = (struct iw_ask){ .rev = o->rev_given ? o->rev : 2,
				.rdmac = o->rdmac,
				.crc = o->crc != IW_CRC_OFF,
				.markers = o->markers,
				.peer_to_peer = o->peer_to_peer,
				.rtr = o->rtr ? o->rtr : IW_RTR_ALL,
				.ird = 16,
				.ord = 16,
				.pd = o->pd,
				.pd_len = o->pd_len };
	ask->enhanced = ask->rev >= 2;
	if (!o->peer_to_peer)
		ask->rtr = 0;
	return o->rev_given || o->crc_given || o->markers || o->peer_to_peer;
}

static int show(struct opts *o, const struct iw_probe_result *r, int status)
{
	unsigned columns = iw_cli_columns(fileno(stdout));
	int err;

	if (o->cli.json)
		return iw_probe_write_json(&o->cli.out, r, status);
	err = iw_probe_show(r, stdout, columns);
	if (!err && o->all && r->iwarp) {
		putchar('\n');
		err = iw_probe_show_grid(r, stdout, columns);
	}
	return err;
}

static int run_probe(struct opts *o)
{
	struct progress p = { .o = o };
	struct iw_probe_cfg cfg = { .host = o->host,
				    .port = o->cli.port,
				    .bind_addr = o->cli.bind,
				    .interface = o->cli.interface,
				    .secure = o->secure.creds ? &o->secure : NULL,
				    .per_second = o->rate,
				    .grid = o->all,
				    .single = o->single,
				    .pd = o->pd,
				    .pd_len = o->pd_len,
				    .stop_fd = iw_signals_fd(),
				    .on_attempt = on_attempt,
				    .attempt_ctx = &p };
	struct iw_probe_result r;
	struct iw_fault why = { 0 };
	struct iw_ask ask;
	int err, status;

	if (own_request(o, &ask))
		cfg.only = &ask;
	/* The default limits of all tools suit transfers; the probe has defaults of its own. */
	if (o->cli.timeout_given)
		cfg.timeout_ns = o->cli.timeout_ns;
	if (o->cli.trace_path) {
		cfg.trace = iw_cli_trace_line;
		cfg.trace_ctx = &o->cli.trace;
	}
	err = iw_probe(&r, &cfg, &why);
	if (err) {
		status = iw_cli_fail(&o->cli, &why);
		iw_probe_free(&r);
		return status;
	}
	status = iw_probe_status(&r);
	if (show(o, &r, status) != 0 || p.err)
		status = IW_EXIT_FAILED;
	iw_probe_free(&r);
	return status;
}

/* --- connections: rping and listeners --- */

static void connection_param(struct iw_cli_param *p, const struct opts *o)
{
	*p = (struct iw_cli_param){ IW_CLI_PARAM_SIZES,
				    .at.host = o->listen ? o->cli.bind : o->host,
				    .at.bind_addr = o->listen ? NULL : o->cli.bind,
				    .at.interface = o->cli.interface,
				    .at.port = o->cli.port,
				    .at.tls = o->secure.creds,
				    .protocol.rev = o->rev_given ? o->rev : 0,
				    .protocol.profile = o->rev_given && o->rev == 0 ? "rdmac"
										    : NULL,
				    .protocol.crc = o->crc,
				    .protocol.markers = o->markers,
				    .protocol.peer_to_peer = !o->listen && o->peer_to_peer,
				    .protocol.rtr = o->rtr,
				    .protocol.siw_first_fpdu = o->quirk };
}

static enum iw_personality_crc personality_crc(enum iw_crc_policy crc)
{
	return crc == IW_CRC_OFF ? IW_PERSONALITY_CRC_NEVER : IW_PERSONALITY_CRC_ALWAYS;
}

/* The size for struct iw_rping_cfg, in which 0 selects the default. */
static uint32_t ping_size(const struct opts *o)
{
	return o->size_given && o->size == 0 ? IW_RPING_SIZE_NONE : o->size;
}

static int run_ping(struct opts *o)
{
	struct iw_rping_run_cfg cfg = {
		.ping = { .client = true,
			  .size = ping_size(o),
			  .count = o->count_given ? o->count : COUNT_DEFAULT,
			  .verify = !o->no_verify },
		.report_rounds = true,
		.secure = &o->secure,
		.setup_ns = o->cli.setup_timeout_ns,
		.timeout_ns = o->cli.timeout_ns,
	};
	struct iw_rping_run *run = NULL;
	struct iw_rping_run_outcome out;
	struct iw_fault why = { 0 };
	int err, status;

	connection_param(&cfg.conn, o);
	if (o->cli.trace_path) {
		cfg.trace = iw_cli_trace_line;
		cfg.trace_ctx = &o->cli.trace;
	}
	err = iw_rping_run_new(&run, &cfg, &why);
	if (!err)
		err = iw_rping_run_to_end(run, &out, &why);
	iw_rping_run_free(run);
	if (err)
		return iw_cli_fail(&o->cli, &why);
	status = iw_probe_conn_status(&out.left.fault);
	if (iw_rping_show(o->cli.json ? &o->cli.out : NULL, &cfg, &out, status) != 0)
		status = IW_EXIT_FAILED;
	return status;
}

static int run_listener(struct opts *o)
{
	const struct iw_rping_cfg rping = { .size = ping_size(o), .verify = !o->no_verify };
	struct iw_serve_cfg cfg = { .cli = &o->cli,
				    .personality = { .row = &iw_personalities[o->personality],
						     .set_crc = o->crc_given,
						     .crc = personality_crc(o->crc),
						     .markers = o->markers,
						     .rev_most = o->rev,
						     .rtr = o->rtr,
						     .reject = o->reject,
						     .pd = o->pd,
						     .pd_len = o->pd_len },
				    .lose_early_fpdus = o->quirk == IW_QUIRK_ON,
				    .rping = o->app == APP_RPING ? &rping : NULL,
				    .once = o->once,
				    .idle_ns = o->cli.timeout_ns };
	struct iw_serve_show show = { .json = o->cli.json ? &o->cli.out : NULL,
				      .quiet = o->cli.quiet,
				      .any_port = o->cli.port == 0,
				      .personality = cfg.personality.row };
	struct iw_fault why = { 0 };
	int status;

	connection_param(&cfg.conn, o);
	show.rdmac = cfg.conn.protocol.profile != NULL;
	if (o->cli.trace_path) {
		cfg.trace = iw_cli_trace_line;
		cfg.trace_ctx = &o->cli.trace;
	}
	return iw_serve(&cfg, &show, &status, &why) == 0 ? status : iw_cli_fail(&o->cli, &why);
}

/* --- main --- */

static const struct argp_child kids[] = { { &iw_cli_secure_argp, 0, "Encryption:", 9 },
					  { &iw_cli_argp, 0, "Common options:", -2 },
					  { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "HOST\n--app rping HOST\n--listen",
	.doc = "Find out whether an iWARP endpoint listens on a TCP port, what it agrees to, and which implementation it looks like.\v"
	       "Exit status: 0 an iWARP endpoint; 1 not one, or it refused, or rping data was wrong; 2 wrong usage; "
	       "3 cannot run here; 4 failed.",
	.children = kids,
};

static int run(struct opts *o)
{
	struct iw_fault why = { 0 };

	if (iw_cli_secure_open(&o->secure, o->listen ? NULL : o->host, o->cli.port,
			       o->listen && iw_cli_secure_is_local(&o->cli, 0), &why) != 0)
		return iw_cli_fail(&o->cli, &why);
	if (o->listen)
		return run_listener(o);
	/* TCP connections need no privileges. */
	if (iw_confine_plain(&o->cli, IW_CONFINE_REOPENS, &why) != 0)
		return iw_cli_fail(&o->cli, &why);
	return o->app == APP_RPING ? run_ping(o) : run_probe(o);
}

/* For --doctor. Without a host, it checks a listener. TCP needs no privileges. */
static unsigned confine_how(struct iw_cli *cli, uint64_t *caps)
{
	const struct opts *o = iw_container_of(cli, struct opts, cli);

	(void)caps;
	return o->listen || !o->host ? IW_CONFINE_LISTENS : IW_CONFINE_REOPENS;
}

/* MPA runs over TCP only. */
static const char *const transports[] = { "tcp", NULL };

/* --doctor examines only this machine. */
static int doctor_also(struct iw_cli *cli, int status)
{
	iw_cli_warn_of_host(iw_container_of(cli, struct opts, cli)->host);
	return status;
}

int main(int argc, char **argv)
{
	struct opts o = { .quirk = IW_QUIRK_AUTO };
	int status;

	iw_cli_init(&o.cli, "mpa-probe", "tcp");
	o.cli.confine = confine_how;
	o.cli.doctor_needs = iw_cli_secure_doctor;
	o.cli.doctor_also = doctor_also;
	o.cli.transports = transports;
	iw_cli_secure_init(&o.secure);
	iw_cli_parse(&o.cli, &argp, argc, argv, 0, &o);
	status = iw_cli_start(&o.cli);
	if (status == IW_EXIT_OK)
		status = run(&o);
	iw_cli_secure_close(&o.secure);
	return iw_cli_finish(&o.cli, status);
}
