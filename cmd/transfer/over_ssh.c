// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ssh start-up. The local end starts ssh, which starts the other tool at the far end. They agree on
 * a listener and a key; then the local end is an ordinary initiator and the far end an ordinary
 * listener, whose connections are encrypted with keys of that one run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/option.h"
#include "cli/parse.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "os/os.h"
#include "transfer/files/walk.h"
#include "transfer/options.h"
#include "transfer/ssh/far.h"
#include "transfer/ssh/start.h"
#include "util/num.h"
#include "util/text.h"

enum {
	KEY_SSH = 0xc101,
	KEY_FAR_PROGRAM,
	KEY_PORT_RANGE,
	KEY_NO_FALLBACK,
	KEY_SERVER,
}; /* not a character: long options only */

/* clang-format off */
static const struct argp_option options[] = {
	{ "ssh", KEY_SSH, "COMMAND", OPTION_ARG_OPTIONAL,
	  "Start the other end through ssh, or through COMMAND in its place; implied by USER@HOST", 9 },
	{ "far-program", KEY_FAR_PROGRAM, "PATH", 0,
	  "The program to start there (default ddp-recv or ddp-send in its PATH)", 9 },
	{ "ssh-port-range", KEY_PORT_RANGE, "FIRST-LAST", 0,
	  "The far end listens at one of these ports (default: any free port)", 9 },
	{ "no-fallback", KEY_NO_FALLBACK, NULL, 0,
	  "Fail if the port of the far end cannot be reached, instead of using ssh's own connection", 9 },
	{ "ssh-server", KEY_SERVER, NULL, OPTION_HIDDEN, NULL, 9 },
	{ 0 },
};
/* clang-format on */

/* --- options --- */

static void take_range(struct iw_transfer_ssh *s, const char *arg, const struct argp_state *state)
{
	const char *dash = strchr(arg, '-'), *why;
	uint64_t first = 0, last = 0;
	char text[8];

	snprintf(text, sizeof(text), "%.*s", dash ? (int)IW_MIN(dash - arg, 7) : 7, arg);
	if (iw_parse_u64(&first, text, 1, UINT16_MAX, &why) != 0 ||
	    iw_parse_u64(&last, dash ? dash + 1 : text, first, UINT16_MAX, &why) != 0)
		argp_error(
			state,
			"--ssh-port-range \"%s\": expected FIRST-LAST, ports from 1 to 65535, such as 7500-7520",
			arg);
	s->first = (uint16_t)first;
	s->last = (uint16_t)last;
}

static void take_command(struct iw_transfer_ssh *s, const char *arg, const struct argp_state *state)
{
	const char *why = NULL;
	char **words;

	s->on = true;
	if (!arg)
		return;
	s->command = arg;
	switch (iw_ssh_split(&words, arg, &why)) {
	case 0:
		free(words);
		return;
	case IW_E_INVAL:
		argp_error(state, "--ssh=\"%s\": %s; expected a command, such as 'ssh -p 2222'",
			   arg, why);
		return;
	default:
		argp_failure(state, IW_EXIT_FAILED, 0, "no memory for --ssh");
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct iw_transfer_opts *o = state->input;
	struct iw_transfer_ssh *s = &o->ssh;

	switch (key) {
	case KEY_SSH:
		take_command(s, arg, state);
		break;
	case KEY_FAR_PROGRAM:
		if (!arg[0] || arg[0] == '-')
			argp_error(state, "--far-program \"%s\": expected the path of a program",
				   arg);
		s->program = arg;
		break;
	case KEY_PORT_RANGE:
		take_range(s, arg, state);
		break;
	case KEY_NO_FALLBACK:
		s->no_fallback = true;
		break;
	case KEY_SERVER:
		s->server = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (!s->option)
		s->option = options[key - KEY_SSH].name;
	return 0;
}

const struct argp iw_transfer_ssh_argp = { .options = options, .parser = parse };

/* ssh would take such a name as an option. */
static void check_names(const struct iw_endpoint *e, const struct argp_state *state)
{
	if (e->host[0] == '-' || e->user[0] == '-')
		argp_error(state, "\"%s\": the name of a %s cannot begin with a hyphen",
			   e->host[0] == '-' ? e->host : e->user,
			   e->host[0] == '-' ? "host" : "user");
}

/*
 * TLS or ssh authenticates each octet, so MPA's CRC32c would detect nothing more. The request
 * carries the value to the far end. SCTP has a checksum of its own, but ssh may carry the data.
 */
static void set_defaults(struct iw_transfer_opts *o)
{
	if (!iw_cli_conn_gives_crc(&o->conn))
		o->conn.crc = IW_CRC_OFF;
}

void iw_transfer_ssh_check(struct iw_transfer_opts *o, const struct argp_state *state)
{
	struct iw_transfer_ssh *s = &o->ssh;

	if (s->server) {
		if (o->nargs > 0 || s->option)
			argp_error(state, "--ssh-server: ssh start-up uses this option alone");
		return;
	}
	if (s->option && (o->cfg.listen || o->uri_option))
		argp_error(state, "--%s: %s", s->option,
			   o->uri_option ? "a URI names a listener that runs already"
					 : "only with HOST:PATH, not for a listener");
	s->on = s->on || o->peer.user[0];
	if (s->option && !s->on)
		argp_error(state, "--%s: only with USER@HOST or --ssh", s->option);
	if (!s->on)
		return;
	check_names(&o->peer, state);
	if (strcmp(o->cli.transport, "tcp") != 0 && strcmp(o->cli.transport, "udp") != 0)
		argp_error(state, "--transport %s: ssh start-up works with -t tcp and -t udp",
			   o->cli.transport);
	if (o->cli.port_given)
		argp_error(
			state,
			"--port %u: the far end chooses its port; give --ssh-port-range to limit it, and the port of sshd with --ssh='ssh -p %u'",
			(unsigned)o->cli.port, (unsigned)o->cli.port);
	if (o->conn.udp_port)
		argp_error(state,
			   "--udp-port: the far end chooses its port; give --ssh-port-range");
	if (o->conn.profile)
		argp_error(state, "--profile: not possible with ssh start-up");
	if (o->secure.ca || o->secure.psk_file || o->secure.npins > 0)
		argp_error(state, "--%s: ssh authenticates the far end; leave it out",
			   o->secure.ca         ? "ca"
			   : o->secure.psk_file ? "psk-file"
						: "pin");
	set_defaults(o);
}

/* --- the local end --- */

#define PERMITS (IW_XFER_OPT_DELETE | IW_XFER_OPT_OWNER | IW_XFER_OPT_SETID | IW_XFER_OPT_XATTR)

static struct iw_ssh_request request_of(const struct iw_transfer_opts *o, char *const *target)
{
	const struct iw_transfer_cfg *cfg = &o->cfg;
	bool source = cfg->role == IW_XFER_SOURCE;
	struct iw_ssh_request r = {
		.protocol = IW_SSH_PROTOCOL,
		.source = !source,
		.udp = strcmp(o->cli.transport, "udp") == 0,
		.markers = o->conn.markers,
		.verbose = o->cli.level >= IW_LOG_INFO,
		.crc = o->conn.crc,
		.mulpdu = o->conn.mulpdu,
		.opts = cfg->opts & PERMITS,
		.jobs = cfg->jobs,
		.timeout_ms = IW_MAX(o->cli.timeout_ns / IW_MSEC(1), (uint64_t)1),
		.setup_ms = IW_MAX(o->cli.setup_timeout_ns / IW_MSEC(1), (uint64_t)1),
		.first = o->ssh.first,
		.last = o->ssh.last,
		.paths = { .list = source ? target : cfg->paths, .n = source ? 1 : cfg->npaths },
	};

	r.timeout_ms = IW_MIN(r.timeout_ms, IW_SSH_MS_MAX);
	r.setup_ms = IW_MIN(r.setup_ms, IW_SSH_MS_MAX);
	snprintf(r.version, sizeof(r.version), "%s", iw_version());
	snprintf(r.cc, sizeof(r.cc), "%s", o->conn.cc ? o->conn.cc : "");
	return r;
}

/* Credentials of which each connection uses a key of its own. Wipes the secret. */
static int new_keys(struct iw_tls **out, uint8_t secret[IW_SSH_SECRET_LEN], struct iw_fault *why)
{
	const struct iw_tls_attr attr = { .size = sizeof(attr),
					  .psk = secret,
					  .psk_len = IW_SSH_SECRET_LEN,
					  .psk_one_use = true };
	int err = iw_tls_new(out, &attr, why);

	explicit_bzero(secret, IW_SSH_SECRET_LEN);
	return err;
}

/*
 * True if the far end sends wanted under the name that the user gave. Another name, such as .bashrc,
 * would replace a file that the user did not ask for.
 */
static bool has_wanted_name(const char *path, const char *wanted)
{
	bool contents = iw_walk_is_contents(path);
	size_t len, wanted_len;
	const char *name = iw_walk_name(path, &len), *as = iw_walk_name(wanted, &wanted_len);

	/* Only the far end knows the name of its home directory. */
	if (strcmp(wanted, "~") == 0)
		return !contents && name[0] != '.';
	if (contents || iw_walk_is_contents(wanted))
		return contents && iw_walk_is_contents(wanted);
	return len == wanted_len && memcmp(name, as, len) == 0;
}

/* Sink: checks the paths under which the far end offers those of the user. */
static int check_paths(const struct iw_transfer_cfg *cfg, const struct iw_ssh_start *s,
		       struct iw_fault *why)
{
	char offered[64], wanted[64];

	for (size_t i = 0; cfg->role == IW_XFER_SINK && i < s->npaths; i++) {
		if (has_wanted_name(s->paths[i], cfg->paths[i]))
			continue;
		iw_printable(offered, sizeof(offered), s->paths[i], strlen(s->paths[i]), true);
		iw_printable(wanted, sizeof(wanted), cfg->paths[i], strlen(cfg->paths[i]), true);
		return iw_fail(
			why, IW_E_FORMAT,
			"%s: the far end offers \"%s\" in place of \"%s\"; nothing was received",
			s->command.host, offered, wanted);
	}
	return 0;
}

/* Leads the transfer to the listener of the far end. */
static void aim(struct iw_transfer_opts *o, struct iw_ssh_start *s, struct iw_tls *keys)
{
	struct iw_transfer_cfg *cfg = &o->cfg;

	cfg->conn.at.host = s->addr;
	cfg->conn.at.port = s->port;
	cfg->conn.at.udp_port = s->udp_port;
	cfg->conn.at.tls = keys;
	cfg->link = &s->link;
	if (cfg->role == IW_XFER_SOURCE)
		cfg->path = s->paths[0];
	else
		cfg->paths = s->paths;
}

/* For a transfer after a dry run on a blocked port: each of them uses up an ssh. */
static struct {
	struct iw_ssh_start start;
	struct iw_ssh_request request;
	bool prepared;
} second;

static int fail(struct iw_transfer_opts *o, struct iw_fault *why)
{
	why->clause = ""; /* Start-up breaks no rule of an RFC. */
	return iw_cli_fail(&o->cli, why);
}

static int start_again(struct iw_transfer_opts *o)
{
	struct iw_fault why;
	int err = iw_ssh_proceed(&second.start, &second.request, &why);

	if (!err)
		err = iw_ssh_fall_back(&second.start, &o->cfg.pipe, &why);
	return err ? fail(o, &why) : IW_EXIT_OK;
}

static int prepare_again(struct iw_transfer_opts *o, const struct iw_ssh_start *first,
			 struct iw_fault *why)
{
	int err = iw_ssh_prepare(&second.start, &first->command, why);

	second.prepared = !err;
	o->ssh.again = start_again;
	return err;
}

/* The data port cannot be reached, for the reason *why. */
static int fall_back(struct iw_transfer_opts *o, struct iw_ssh_start *s, struct iw_fault *why)
{
	struct iw_transfer_cfg *cfg = &o->cfg;
	struct iw_fault blocked = *why;
	int err = 0;

	if (o->ssh.no_fallback)
		return iw_fail(
			why, blocked.err,
			"%s (--no-fallback); open that port, or choose open ones with --ssh-port-range",
			blocked.text);
	if (iw_transfer_runs_twice(o))
		err = prepare_again(o, s, why);
	if (!err)
		err = iw_ssh_fall_back(s, &cfg->pipe, why);
	if (err)
		return err;
	iw_log_warn("%s: the transfer uses the connection of ssh instead", blocked.text);
	o->cli.transport = cfg->conn.at.transport = "tcp";
	cfg->conn.at.host = o->peer.host;
	cfg->conn.at.tls = NULL;
	cfg->link = NULL;
	cfg->jobs = 1;
	cfg->redials = 0;
	return 0;
}

/* Waits for the answer of the listener. Its Reject is an answer too. */
static int await_answer(struct iw_ctx *ctx, struct iw_cq *cq, struct iw_fault *why)
{
	uint64_t until = iw_time_add(iw_os_now(), 2 * IW_SSH_PROBE_TIMEOUT);
	struct iw_async_event ev;

	while (iw_os_now() < until) {
		if (iw_signals_stop())
			return iw_fail(why, IW_E_CANCELED, "interrupted");
		if (iw_cq_wait(cq, IW_MSEC(100)) < 0)
			break;
		while (iw_next_event(ctx, &ev)) {
			if (ev.type == IW_EV_ESTABLISHED || ev.type == IW_EV_REJECTED)
				return 0;
			*why = ev.fault;
			if (why->err)
				return why->err;
		}
	}
	return iw_fail(why, IW_E_TIMEOUT, "no answer in time");
}

/*
 * Connects to the listener over UDP, without the Private Data of a transfer, so that it rejects the
 * connection. Uses one key. Errors as iw_connect and IW_EV_CLOSED.
 */
static int probe_udp(const struct iw_transfer_cfg *cfg, struct iw_fault *why)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .setup_ns = IW_SSH_PROBE_TIMEOUT };
	struct iw_qp_attr qp_attr = { .size = sizeof(qp_attr), .sq_depth = 1, .rq_depth = 1 };
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_qp *qp;
	int err = iw_ctx_new(&ctx, &attr, why);

	if (err)
		return err;
	err = iw_pd_new(&pd, ctx);
	if (!err)
		err = iw_cq_new(&qp_attr.send_cq, ctx);
	qp_attr.recv_cq = qp_attr.send_cq;
	if (err)
		err = iw_fail(why, err, "no memory for a connection");
	else
		err = iw_qp_new(&qp, pd, &qp_attr, why);
	if (!err)
		err = iw_connect(qp, &cfg->conn.at, &cfg->conn.protocol, why);
	if (!err)
		err = await_answer(ctx, qp_attr.send_cq, why);
	iw_ctx_free(ctx);
	if (!err || err == IW_E_CANCELED)
		return err;
	iw_log_info("%s", why->text);
	return iw_fail(why, err, "connect to %s, UDP port %u: no answer", cfg->conn.at.host,
		       (uint32_t)cfg->conn.at.udp_port);
}

static int reach(struct iw_transfer_opts *o, struct iw_ssh_start *s, struct iw_fault *why)
{
	bool udp = strcmp(o->cli.transport, "udp") == 0;
	int err = udp ? probe_udp(&o->cfg, why) : iw_ssh_probe(s, why);

	return err && err != IW_E_CANCELED ? fall_back(o, s, why) : err;
}

int iw_transfer_ssh_run(struct iw_transfer_opts *o, int (*transfer)(struct iw_transfer_opts *o))
{
	static struct iw_ssh_start s;
	const struct iw_ssh_command command = { .ssh = o->ssh.command,
						.user = o->peer.user,
						.host = o->peer.host,
						.program = o->ssh.program,
						.tool = o->cfg.role == IW_XFER_SOURCE
								? "ddp-recv"
								: "ddp-send" };
	char target[] = "", *path = o->cfg.path ? (char *)(uintptr_t)o->cfg.path : target;
	const struct iw_ssh_request request = request_of(o, &path);
	struct iw_tls *keys = NULL;
	struct iw_fault why;
	int err, status;

	second.request = request;
	if (iw_ssh_start(&s, &command, &request, &why) != 0)
		return fail(o, &why);
	err = check_paths(&o->cfg, &s, &why);
	if (!err)
		err = new_keys(&keys, s.secret, &why);
	if (!err) {
		aim(o, &s, keys);
		err = reach(o, &s, &why);
	}
	status = err ? fail(o, &why) : transfer(o);
	iw_tls_free(keys);
	iw_ssh_end(&s);
	if (second.prepared)
		iw_ssh_end(&second.start);
	return status;
}

/* --- the far end --- */

/* READY still needs the secret. */
static int own_keys(struct iw_tls **out, const struct iw_ssh_far *far, struct iw_fault *why)
{
	uint8_t secret[IW_SSH_SECRET_LEN];

	memcpy(secret, far->secret, sizeof(secret));
	return new_keys(out, secret, why);
}

static int send_failure(void *ctx, const struct iw_fault *why)
{
	iw_ssh_far_error(ctx, why);
	return (int)iw_exit_status(why->err);
}

static int send_ready(void *ctx, uint16_t port, uint16_t udp_port, struct iw_fault *why)
{
	struct iw_ssh_far *far = ctx;
	int err = iw_ssh_far_ready(far, port, udp_port, why);

	iw_ssh_far_forget(far);
	return err;
}

/* Sets the options of a listener that the local end needs. */
static void take_request(struct iw_transfer_opts *o, struct iw_ssh_far *far)
{
	const struct iw_ssh_request *r = &far->request;
	struct iw_transfer_cfg *cfg = &o->cfg;

	o->cli.transport = r->udp ? "udp" : "tcp";
	o->cli.timeout_ns = r->timeout_ms * IW_MSEC(1);
	o->cli.setup_timeout_ns = r->setup_ms * IW_MSEC(1);
	o->cli.port = 0;
	o->cli.bind = far->addr;
	o->conn.crc = (enum iw_crc_policy)r->crc;
	o->conn.mulpdu = r->mulpdu;
	o->conn.markers = r->markers;
	o->conn.cc = r->cc[0] ? r->cc : NULL;
	o->conn.any_udp_port = r->udp && !r->first;
	iw_cli_conn_param(&o->conn, &o->cli, NULL, &cfg->conn);
	cfg->conn.at.backlog = IW_BACKLOG_DEFAULT;
	cfg->listen = true;
	cfg->opts = cfg->role == IW_XFER_SINK ? r->opts & PERMITS : 0;
	cfg->path = far->root.dir;
	cfg->control = "none";
	cfg->require_digest = IW_DIGEST_OPTIONAL;
	cfg->link = &far->link;
	cfg->port_first = r->first;
	cfg->port_last = r->last;
	cfg->listening = send_ready;
	cfg->failed = send_failure;
	cfg->ctx = far;
}

static void set_log(const struct iw_transfer_opts *o, enum iw_log_level level)
{
	iw_log_setup(o->cfg.role == IW_XFER_SINK ? "ddp-recv (far end)" : "ddp-send (far end)",
		     level);
}

int iw_transfer_ssh_serve(struct iw_transfer_opts *o)
{
	static struct iw_ssh_far far;
	struct iw_tls *keys = NULL;
	struct iw_fault why = { .err = IW_OK };
	int status;

	/* The local end reports failures. */
	set_log(o, IW_LOG_NONE);
	if (iw_ssh_far_open(&far, o->cfg.role == IW_XFER_SOURCE, &why) != 0) {
		status = (int)iw_exit_status(why.err);
		if (far.link.fd < 0) {
			set_log(o, IW_LOG_ERROR);
			status = iw_cli_fail(&o->cli, &why);
		}
		iw_ssh_far_close(&far);
		return status;
	}
	if (far.request.verbose)
		set_log(o, IW_LOG_INFO);
	take_request(o, &far);
	if (own_keys(&keys, &far, &why) == 0) {
		o->cfg.conn.at.tls = keys;
		status = iw_transfer_run(&o->cfg);
	} else {
		status = send_failure(&far, &why);
	}
	iw_tls_free(keys);
	iw_ssh_far_close(&far);
	return status;
}
