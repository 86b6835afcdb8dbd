// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The options that both transfer tools have. */
#include "transfer/options.h"

#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/confine.h"
#include "cli/human.h"
#include "cli/option.h"
#include "cli/passed.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "cli/usage.h"
#include "transfer/files/digest.h"
#include "transfer/files/walk.h"
#include "transfer/remote.h"
#include "util/num.h"
#include "util/text.h"

#define MAX_AGE       IW_SEC(7 * 24 * 3600)
#define MAX_CONNS     1024
/* Enough for one transfer in mode send, which needs most of it for receives. */
#define MEMORY_MODEST (UINT64_C(33) << 20)
/*
 * In bits per second. A slower transfer seems to hang: the user probably meant KiB/s, the unit of
 * rsync.
 */
#define RATE_MODEST   100000

enum {
	/* not a character: long options only; other numbers than those of the common options */
	KEY_DIGEST = 0xa001,
	KEY_FORCE,
	KEY_INCLUDE,
	KEY_EXCLUDE,
	KEY_NO_CLOBBER,
	KEY_DELETE,
	KEY_YES,
	KEY_OWNER,
	KEY_SETID,
	KEY_XATTR,
	KEY_VERIFY,
	KEY_BWLIMIT,
	KEY_QUOTA,
	KEY_MAX_TRANSFER,
	KEY_MAX_SIZE,
	KEY_MAX_FILES,
	KEY_MAX_DEPTH,
	KEY_MAX_NAME,
	KEY_MAX_CONNS,
	KEY_MAX_MEMORY,
	KEY_MAX_AGE,
	KEY_ONCE,
	KEY_REDIAL,
	KEY_STATS,
	KEY_PARTIAL,
	KEY_PROGRESS,
	KEY_EXCLUDE_FROM,
	KEY_DELETE_WHEN,
	KEY_SIZE_ONLY,
	KEY_IGNORE_EXISTING,
};

/* For receivers only. */
/* clang-format off */
static const struct argp_option limit_options[] = {
	{ NULL, 0, NULL, 0, "Limits:", 5 },
	{ "quota", KEY_QUOTA, "SIZE", 0,
	  "Accept at most SIZE octets; a listener: in all transfers together", 5 },
	{ "max-transfer", KEY_MAX_TRANSFER, "SIZE", 0,
	  "Accept at most SIZE octets of one transfer", 5 },
	{ "max-size", KEY_MAX_SIZE, "SIZE", 0, "Reject files larger than SIZE", 5 },
	{ "max-files", KEY_MAX_FILES, "N", 0,
	  "Accept at most N files, directories and links, counted as for --quota", 5 },
	{ "max-depth", KEY_MAX_DEPTH, "N", 0, "Reject names with more than N components", 5 },
	{ "max-name", KEY_MAX_NAME, "N", 0, "Reject names with a component of more than N octets", 5 },
	{ "max-age", KEY_MAX_AGE, "TIME", 0,
	  "Delete partial files that are not resumed within TIME (default 7d; 0: never)", 5 },
	{ 0 },
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Which files:", 1 },
	{ NULL, 0, NULL, 0, "Owners and attributes:", 2 },
	{ NULL, 0, NULL, 0, "The transfer:", 3 },
	{ NULL, 0, NULL, 0, "Listeners:", 4 },
	{ NULL, 0, NULL, 0, "Registered buffers:", 6 },
	{ NULL, 0, NULL, 0, "For users of rsync and scp:", 7 },
	{ "mode", 'm', "write|read|send", 0,
	  "Move data by RDMA Write (default), RDMA Read or Send; set by the connecting side", 3 },
	{ "digest", KEY_DIGEST, "none|xxh3|sha256", 0,
	  "The digest that both ends compare (default xxh3); set by the connecting side", 3 },
	{ "force", KEY_FORCE, NULL, 0, "Also send files that exist at the target with the same size and time", 1 },
	{ "checksum", 'c', NULL, 0,
	  "Compare files of the same size by digest instead of modification time", 1 },
	{ "dry-run", 'n', NULL, 0, "Change nothing; report what would be done", 1 },
	{ "update", 'u', NULL, 0, "Do not replace files that are newer at the target", 1 },
	{ "no-clobber", KEY_NO_CLOBBER, NULL, 0, "Do not replace files that exist at the target", 1 },
	{ "include", KEY_INCLUDE, "PATTERN", 0,
	  "Send names that match; the first matching pattern decides", 1 },
	{ "exclude", KEY_EXCLUDE, "PATTERN", 0, "Do not send names that match", 1 },
	{ "delete", KEY_DELETE, NULL, 0,
	  "Remove files from the target's directories that the source does not have;"
	  " a listening ddp-recv: permit it", 1 },
	{ "yes", KEY_YES, NULL, 0, "Do not ask for confirmation of --delete", 1 },
	{ "owner", KEY_OWNER, NULL, 0,
	  "Send owners and groups, by number; a listening ddp-recv: accept them", 2 },
	{ "setid", KEY_SETID, NULL, 0,
	  "With --owner: also set-user-ID and set-group-ID bits; a listening ddp-recv: accept them", 2 },
	{ "xattr", KEY_XATTR, NULL, 0,
	  "Send extended attributes, with --owner also ACLs; a listening ddp-recv: accept them", 2 },
	{ "verify", KEY_VERIFY, NULL, 0, "Read each file again from storage before it gets its name", 3 },
	{ "jobs", 'j', "N", 0, "Use N connections; large files are sent in parts (default 1)", 3 },
	{ "bwlimit", KEY_BWLIMIT, "RATE", 0, "Move at most RATE bits a second, such as 100M", 3 },
	{ "max-connections", KEY_MAX_CONNS, "N", 0, "A listener: hold at most N connections (default 1024)", 4 },
	{ "max-memory", KEY_MAX_MEMORY, "SIZE", 0,
	  "A listener: use at most SIZE octets of memory for peers (default: a quarter of the machine's)", 4 },
	{ "redial", KEY_REDIAL, "N", 0,
	  "Set a lost connection up again, up to N times without progress (default 5; 0: never)", 3 },
	{ "once", KEY_ONCE, NULL, 0, "A listener: accept one transfer, then exit with its status", 4 },
	{ "stats", KEY_STATS, NULL, 0, "Print totals at the end of each transfer", 3 },
	{ "archive", 'a', NULL, 0, "No effect: for users of rsync and scp; -a, -r and -P are always on", 7 },
	{ "recursive", 'r', NULL, 0, "See --archive", 7 },
	{ NULL, 'P', NULL, 0, "See --archive", 7 },
	{ "partial", KEY_PARTIAL, NULL, OPTION_HIDDEN, NULL, 1 },
	{ "progress", KEY_PROGRESS, NULL, OPTION_HIDDEN, NULL, 1 },
	{ "compress", 'z', NULL, OPTION_HIDDEN, NULL, 1 },
	{ NULL, 'C', NULL, OPTION_HIDDEN, NULL, 1 },
	{ "rsh", 'e', "", OPTION_ARG_OPTIONAL | OPTION_HIDDEN, NULL, 1 },
	{ NULL, 'i', NULL, OPTION_HIDDEN, NULL, 1 },
	{ NULL, 'o', NULL, OPTION_HIDDEN, NULL, 1 },
	{ "copy-links", 'L', NULL, OPTION_HIDDEN, NULL, 1 },
	{ "acls", 'A', NULL, OPTION_HIDDEN, NULL, 1 },
	{ "xattrs", 'X', NULL, OPTION_HIDDEN, NULL, 1 },
	{ "hard-links", 'H', NULL, OPTION_HIDDEN, NULL, 1 },
	{ "exclude-from", KEY_EXCLUDE_FROM, "", OPTION_ARG_OPTIONAL | OPTION_HIDDEN, NULL, 1 },
	{ "include-from", KEY_EXCLUDE_FROM, "", OPTION_ARG_OPTIONAL | OPTION_HIDDEN, NULL, 1 },
	{ "delete-before", KEY_DELETE_WHEN, NULL, OPTION_HIDDEN, NULL, 1 },
	{ "delete-during", KEY_DELETE_WHEN, NULL, OPTION_HIDDEN, NULL, 1 },
	{ "delete-after", KEY_DELETE_WHEN, NULL, OPTION_HIDDEN, NULL, 1 },
	{ "size-only", KEY_SIZE_ONLY, NULL, OPTION_HIDDEN, NULL, 1 },
	{ "ignore-existing", KEY_IGNORE_EXISTING, NULL, OPTION_HIDDEN, NULL, 1 },
	{ 0 },
};
/* clang-format on */

#define NO_COMPRESSION                                                                             \
	"contents are not compressed: leave it out; to compress a stream: tar cz DIR | ddp-send - HOST:FILE"

/* Options of rsync and scp that do not exist here. */
static const struct habit {
	int key;
	const char *name, *why;
} habits[] = {
	{ 'z', "-z, --compress", NO_COMPRESSION },
	{ 'C', "-C", NO_COMPRESSION },
	{ 'e', "-e, --rsh", "the command for ssh is --ssh=COMMAND, as in --ssh='ssh -p 2222'" },
	{ 'i', "-i", "options of ssh belong to its command, as in --ssh='ssh -i FILE'" },
	{ 'o', "-o", "options of ssh belong to its command, as in --ssh='ssh -o OPTION'" },
	{ 'L', "-L, --copy-links", "symbolic links are sent as links; name their targets instead" },
	{ 'A', "-A, --acls", "use --owner --xattr, which send ACLs too" },
	{ 'X', "-X, --xattrs", "use --xattr" },
	{ 'H', "-H, --hard-links", "hard links are always kept: leave it out" },
	{ KEY_EXCLUDE_FROM, "--exclude-from, --include-from",
	  "patterns are not read from a file; give each one with --exclude or --include" },
	{ KEY_DELETE_WHEN, "--delete-before, --delete-during, --delete-after",
	  "use --delete, which removes after all files are sent" },
	{ KEY_SIZE_ONLY, "--size-only",
	  "files of the same size are compared by modification time, or by digest with --checksum" },
	{ KEY_IGNORE_EXISTING, "--ignore-existing", "use --no-clobber" },
};

/* Returns true if key is an option of rsync or scp, which it rejects. */
static bool refuse_habit(int key, const struct argp_state *state)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(habits); i++) {
		if (habits[i].key != key)
			continue;
		argp_error(state, "%s: %s", habits[i].name, habits[i].why);
		return true;
	}
	return false;
}

static void add_arg(struct iw_transfer_opts *o, const struct argp_state *state, char *arg)
{
	if (o->nargs == o->cap) {
		size_t cap = o->cap ? o->cap * 2 : 16;
		char **args = reallocarray(o->args, cap, sizeof(*args));

		if (!args)
			argp_failure(state, IW_EXIT_FAILED, 0, "no memory for the arguments");
		o->args = args;
		o->cap = cap;
	}
	o->args[o->nargs++] = arg;
}

/* clang-format off */
static const struct limit {
	int key;
	const char *option;
	size_t at; /* offset in struct iw_limits */
	uint64_t (*read)(const struct argp_state *state, const char *option, const char *arg,
			 uint64_t min, uint64_t max);
	uint64_t min;
} limits[] = {
	{ KEY_QUOTA,        "--quota",        offsetof(struct iw_limits, quota),      iw_cli_size,     1 },
	{ KEY_MAX_TRANSFER, "--max-transfer", offsetof(struct iw_limits, transfer),   iw_cli_size,     1 },
	{ KEY_MAX_SIZE,     "--max-size",     offsetof(struct iw_limits, size),       iw_cli_size,     1 },
	{ KEY_MAX_FILES,    "--max-files",    offsetof(struct iw_limits, files),      iw_cli_u64,      1 },
	{ KEY_MAX_DEPTH,    "--max-depth",    offsetof(struct iw_limits, depth),      iw_cli_u64,      1 },
	{ KEY_MAX_NAME,     "--max-name",     offsetof(struct iw_limits, name),       iw_cli_u64,      1 },
	{ KEY_MAX_AGE,      "--max-age",      offsetof(struct iw_limits, max_age_ns), iw_cli_duration, 0 },
};
/* clang-format on */

static error_t parse_limit(int key, char *arg, struct argp_state *state)
{
	struct iw_transfer_opts *o = state->input;

	for (size_t i = 0; i < IW_ARRAY_LEN(limits); i++) {
		const struct limit *l = &limits[i];

		if (l->key != key)
			continue;
		*(uint64_t *)((char *)&o->cfg.limits + l->at) =
			l->read(state, l->option, arg, l->min, UINT64_MAX);
		o->limit = l->option;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp iw_transfer_limit_argp = { .options = limit_options, .parser = parse_limit };

static void check_pattern(const char *pattern, const char *option, const struct argp_state *state)
{
	const char *fault = iw_filter_fault(pattern);

	if (fault)
		argp_error(state, "%s \"%s\": %s", option, pattern, fault);
}

/* Options that only set an option of the transfer. */
static const struct flag {
	int key;
	uint32_t opt;
	const char *choice; /* its name, if only the connecting side can choose it */
} flags[] = {
	{ KEY_FORCE, IW_XFER_OPT_FORCE, NULL },
	{ 'c', IW_XFER_OPT_CHECKSUM, "--checksum" },
	{ 'n', IW_XFER_OPT_DRY_RUN, "--dry-run" },
	{ 'u', IW_XFER_OPT_UPDATE, "--update" },
	{ KEY_NO_CLOBBER, IW_XFER_OPT_NO_CLOBBER, NULL },
	{ KEY_DELETE, IW_XFER_OPT_DELETE, NULL },
	{ KEY_OWNER, IW_XFER_OPT_OWNER, NULL },
	{ KEY_SETID, IW_XFER_OPT_SETID, NULL },
	{ KEY_XATTR, IW_XFER_OPT_XATTR, NULL },
	{ KEY_VERIFY, IW_XFER_OPT_VERIFY, NULL },
};

/* Returns true if key is one of flags. */
static bool set_flag(struct iw_transfer_opts *o, int key)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(flags); i++) {
		if (flags[i].key != key)
			continue;
		o->cfg.opts |= flags[i].opt;
		if (flags[i].choice)
			o->choice = flags[i].choice;
		return true;
	}
	return false;
}

/* In the order of kids. */
static void set_child_inputs(struct iw_transfer_opts *o, const struct argp_state *state)
{
	state->child_inputs[0] = &o->conn;
	state->child_inputs[1] = &o->secure;
	state->child_inputs[2] = o; /* of start-up by ssh */
	state->child_inputs[3] = &o->cli;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const modes[] = { "write", "read", "send", NULL };
	static const char *const digests[] = { "none", "xxh3", "sha256", NULL };
	struct iw_transfer_opts *o = state->input;
	struct iw_transfer_cfg *cfg = &o->cfg;

	switch (key) {
	case ARGP_KEY_INIT:
		set_child_inputs(o, state);
		return 0;
	case ARGP_KEY_ARG:
		add_arg(o, state, arg);
		return 0;
	case 'm':
		cfg->mode = (enum iw_xfer_mode)(iw_cli_enum(state, "--mode", arg, modes) + 1);
		o->choice = "--mode";
		return 0;
	case KEY_DIGEST:
		cfg->digest =
			(enum iw_xfer_digest_kind)iw_cli_enum(state, "--digest", arg, digests);
		o->choice = "--digest";
		return 0;
	case KEY_INCLUDE:
	case KEY_EXCLUDE:
		check_pattern(arg, key == KEY_INCLUDE ? "--include" : "--exclude", state);
		if (!iw_filter_add(&cfg->filter, arg, key == KEY_INCLUDE))
			argp_failure(state, IW_EXIT_FAILED, 0, "no memory for a pattern");
		return 0;
	case KEY_YES:
		o->yes = true;
		return 0;
	case 'j':
		cfg->jobs = (unsigned)iw_cli_u64(state, "--jobs", arg, 1, IW_XFER_CONNS_MAX);
		o->choice = "--jobs";
		return 0;
	case KEY_BWLIMIT:
		cfg->rate = iw_cli_rate(state, "--bwlimit", arg, 1, UINT64_MAX);
		return 0;
	case KEY_REDIAL:
		cfg->redials = (unsigned)iw_cli_u64(state, "--redial", arg, 0, 1000);
		o->choice = "--redial";
		o->redials_given = cfg->redials > 0;
		return 0;
	case KEY_MAX_MEMORY:
		cfg->memory = iw_cli_size(state, "--max-memory", arg, 1, UINT64_MAX);
		o->listening = "--max-memory";
		return 0;
	case KEY_MAX_CONNS:
		cfg->limits.conns = iw_cli_u64(state, "--max-connections", arg, 1, UINT64_MAX);
		o->listening = "--max-connections";
		return 0;
	case KEY_ONCE:
		cfg->once = true;
		return 0;
	case KEY_STATS:
		cfg->stats = true;
		return 0;
	case 'P':
		o->partial = true;
		return 0;
	case 'a':
	case 'r':
	case KEY_PARTIAL:
	case KEY_PROGRESS:
		return 0;
	default:
		if (set_flag(o, key) || refuse_habit(key, state))
			return 0;
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child kids[] = { { &iw_cli_conn_argp, 0, "The connection:", 8 },
					  { &iw_cli_secure_argp, 0, "Encryption:", 9 },
					  { &iw_transfer_ssh_argp, 0, "Start-up by ssh:", 10 },
					  { &iw_cli_argp, 0, "Common options:", -2 },
					  { 0 } };
const struct argp iw_transfer_argp = { .options = options, .parser = parse, .children = kids };

/* Options of the transfer that do not set o->choice. */
static const struct {
	uint32_t opt;
	const char *name;
} named[] = {
	{ IW_XFER_OPT_FORCE, "--force" },   { IW_XFER_OPT_NO_CLOBBER, "--no-clobber" },
	{ IW_XFER_OPT_DELETE, "--delete" }, { IW_XFER_OPT_OWNER, "--owner" },
	{ IW_XFER_OPT_SETID, "--setid" },   { IW_XFER_OPT_XATTR, "--xattr" },
	{ IW_XFER_OPT_VERIFY, "--verify" },
};

/* Returns a given option that has no meaning with --to or --from. NULL: none. */
static const char *transfer_option(const struct iw_transfer_opts *o)
{
	const struct iw_transfer_cfg *cfg = &o->cfg;

	if (o->choice || o->limit || o->listening)
		return o->choice ? o->choice : o->limit ? o->limit : o->listening;
	if (cfg->listen || cfg->once)
		return cfg->listen ? "--listen" : "--once";
	if (cfg->stats)
		return "--stats";
	if (cfg->control)
		return "--control";
	if (cfg->rate)
		return "--bwlimit";
	if (cfg->filter.n > 0)
		return cfg->filter.rules[0].include ? "--include" : "--exclude";
	if (cfg->require_digest != IW_DIGEST_BY_ADDRESS)
		return "--require-digest";
	if (cfg->safe_links || cfg->drop_partial)
		return cfg->safe_links ? "--safe-links" : "--no-keep-partial";
	for (size_t i = 0; i < IW_ARRAY_LEN(named); i++)
		if (cfg->opts & named[i].opt)
			return named[i].name;
	return NULL;
}

static void check_uri(struct iw_transfer_opts *o, const struct argp_state *state)
{
	const struct iw_transfer_cfg *cfg = &o->cfg;

	if (o->nargs > 0)
		argp_error(state, "%s: unexpected argument \"%s\"; the data %s standard %s",
			   o->uri_option, o->args[0], cfg->to_stdout ? "go to" : "come from",
			   cfg->to_stdout ? "output" : "input");
	if (transfer_option(o))
		argp_error(state, "%s: %s applies to transfers only", o->uri_option,
			   transfer_option(o));
	if (cfg->to_stdout && o->cli.json)
		argp_error(state, "--json: not possible when the data go to standard output");
	if (o->cli.port != IW_CLI_PORT && o->cli.port != o->uri.port)
		argp_error(state, "--port %u: the URI says %u", (unsigned)o->cli.port,
			   (unsigned)o->uri.port);
	if (o->cli.transport_given && strcmp(o->cli.transport, o->uri.transport) != 0)
		argp_error(state, "--transport %s: the URI says %s; leave -t out", o->cli.transport,
			   o->uri.transport);
	o->cli.port = o->uri.port;
	o->cli.transport = o->uri.transport;
}

/* Returns an option for the connecting side that a listener was given. NULL: none. */
static const char *of_initiator(const struct iw_transfer_opts *o)
{
	/* A listening source sends what the peer requests. */
	for (size_t i = 0; i < IW_ARRAY_LEN(named) && o->cfg.role == IW_XFER_SOURCE; i++)
		if (o->cfg.opts & named[i].opt)
			return named[i].name;
	return o->choice;
}

static void check_listener(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	const char *option = of_initiator(o);

	if (option)
		argp_error(state, "%s is set by the connecting side, not by a listener", option);
	if (o->yes)
		argp_error(state, "--yes: a listener does not ask: leave it out");
}

static void check_initiator(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	if (o->listening)
		argp_error(state, "%s applies to listeners only", o->listening);
	if (o->cfg.once)
		argp_error(state, "--once applies to listeners only");
	if (o->cfg.cli->port == 0)
		argp_error(
			state,
			"--port 0: only a listener can have its port chosen; give the listener's port");
	if (o->cli.bind && strcmp(o->cli.bind, "*") == 0)
		argp_error(
			state,
			"--bind \"*\": every address is for a listener; expected one address of this machine, or leave --bind out");
}

/* Rejects options that have no effect on a stream, if a stream is the only operand. */
static void check_stream(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	const char *option = o->cfg.opts & IW_XFER_OPT_DELETE     ? "--delete"
			     : o->cfg.opts & IW_XFER_OPT_CHECKSUM ? "--checksum"
			     : o->redials_given                   ? "--redial"
								  : NULL;

	if (option)
		argp_error(state, "-: %s has no effect on a stream: leave it out", option);
}

/* Rejects combinations that have no effect. */
static void check_pairs(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	uint32_t opts = o->cfg.opts;

	if (opts & IW_XFER_OPT_CHECKSUM && o->cfg.digest == IW_XFER_NONE)
		argp_error(state, "--checksum needs a digest: remove --digest none");
	if (opts & IW_XFER_OPT_VERIFY && o->cfg.digest == IW_XFER_NONE)
		argp_error(state, "--verify needs a digest: remove --digest none");
	if (opts & IW_XFER_OPT_FORCE && opts & IW_XFER_OPT_NO_CLOBBER)
		argp_error(
			state,
			"--force replaces what exists, and --no-clobber keeps it: remove one of them");
	if (opts & IW_XFER_OPT_FORCE && opts & IW_XFER_OPT_CHECKSUM)
		argp_error(
			state,
			"--force sends every file, so --checksum has no effect: remove one of them");
	if ((opts & (IW_XFER_OPT_OWNER | IW_XFER_OPT_SETID)) == IW_XFER_OPT_SETID)
		argp_error(
			state,
			"--setid needs --owner: otherwise set-id programs would run with the rights of the receiving user");
	if (o->yes && !(opts & IW_XFER_OPT_DELETE))
		argp_error(state, "--yes has no effect without --delete: leave it out");
}

/*
 * Patterns that only include have no effect, because a name that no pattern matches is sent anyway.
 */
static void check_includes(const struct iw_filter *f, const struct argp_state *state)
{
	for (size_t i = 0; i < f->n; i++)
		if (!f->rules[i].include)
			return;
	if (f->n > 0)
		argp_error(
			state,
			"--include \"%s\": no effect without --exclude, because names that match no pattern are sent; to send only these, add --exclude '*' after it",
			f->rules[0].pattern);
}

void iw_transfer_opts_check(struct iw_transfer_opts *o, const struct argp_state *state)
{
	iw_cli_conn_check(state, &o->conn, o->cfg.cli->transport);
	iw_cli_check_udp_port(state, o->conn.any_udp_port, o->cfg.listen);
	iw_transfer_ssh_check(o, state);
	if (o->uri_option)
		check_uri(o, state);
	iw_cli_secure_check(state, &o->secure, o->cfg.cli->transport);
	if (o->uri_option)
		return;
	check_pairs(o, state);
	if (o->cfg.listen)
		check_listener(o, state);
	else
		check_initiator(o, state);
	if (o->is_stream || o->cfg.to_stdout)
		check_stream(o, state);
	check_includes(&o->cfg.filter, state);
	if (o->cfg.opts & IW_XFER_OPT_DELETE && !o->cfg.listen && !o->yes &&
	    !(o->cfg.opts & IW_XFER_OPT_DRY_RUN) && !isatty(STDIN_FILENO))
		argp_error(
			state,
			"--delete asks for confirmation, and standard input is not a terminal: add --yes");
	if (o->cfg.to_stdout && o->cfg.opts & IW_XFER_OPT_DRY_RUN)
		argp_error(
			state,
			"--dry-run: not possible when the data go to standard output, which has nothing to compare with");
	if (o->cfg.to_stdout && o->cfg.cli->json)
		argp_error(state, "--json: not possible when the data go to standard output");
}

void iw_transfer_opts_port(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	const char *arg = o->partial && o->nargs > 0 ? o->args[0] : "";

	if (*arg && arg[strspn(arg, "0123456789")] == '\0' && access(arg, F_OK) != 0)
		argp_error(
			state,
			"-P %s: the port is -p %s; -P takes no value, and is accepted as in rsync",
			arg, arg);
}

void iw_transfer_endpoint(struct iw_endpoint *e, const char *text, const struct argp_state *state)
{
	const char *why, *scope;

	if (iw_endpoint_parse(e, text, &why) != 0)
		argp_error(state, "\"%s\": %s", text, why);
	scope = e->is_remote && strchr(e->host, ':') ? strchr(e->host, '%') : NULL;
	/* A scope may also be the number of an interface. */
	if (scope && scope[1 + strspn(scope + 1, "0123456789")] != '\0' &&
	    if_nametoindex(scope + 1) == 0)
		argp_error(state, "\"%s\": no interface %s here; `ip link` lists them", text,
			   scope + 1);
}

/* Other tools write HOST:PORT for a port, and HOST:~ for a home directory. */
static void note_path(const struct iw_transfer_opts *o)
{
	const char *path = o->cfg.role == IW_XFER_SOURCE ? o->peer.path : o->cfg.paths[0];
	size_t len = strcspn(path, "/");
	char first[8];

	snprintf(first, sizeof(first), "%.*s", (int)IW_MIN(len, sizeof(first) - 1), path);
	if (!o->cli.port_given && len >= 4 && len < sizeof(first) - 1 && iw_cli_is_port(first))
		iw_log_warn("\"%s\" is taken as the name of the %s; a port is given with -p %s",
			    path, o->cfg.role == IW_XFER_SOURCE ? "target" : "source", first);
	if (path[0] == '~' && (path[1] == '/' || path[1] == '\0'))
		iw_log_warn(
			"\"%s\": ~ is not a home directory here; paths are relative to the directory that the listener serves",
			path);
}

#define SHOWN 10 /* names shown before the question */

/*
 * Asks the user. n: the number that the peer counted. The list is shorter if it has names that the
 * protocol cannot carry.
 */
static bool confirm(uint64_t n, const struct iw_removals *r)
{
	char answer[16], name[4096];

	for (size_t i = 0; i < r->n && i < SHOWN; i++) {
		iw_printable(name, sizeof(name), r->name[i], strlen(r->name[i]), true);
		fprintf(stderr, "%s: would be removed\n", name);
	}
	if (r->n > SHOWN)
		fprintf(stderr, "... and %zu more: -n --delete lists all of them\n", r->n - SHOWN);
	if (n > r->n)
		fprintf(stderr, "%llu more will not be removed: their names are too long to list\n",
			(unsigned long long)n - r->n);
	fprintf(stderr,
		"%zu %s not at the source would be removed from the target. Continue? [y/N] ", r->n,
		r->n == 1 ? "file or directory that is" : "files and directories that are");
	if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
		return true;
	fprintf(stderr, "nothing was sent or removed\n");
	return false;
}

/* Runs the transfer that removes the confirmed names and no others. */
static int run_confirmed(struct iw_transfer_opts *o, const struct iw_removals *r)
{
	int status = o->ssh.again ? o->ssh.again(o) : IW_EXIT_OK;
	struct iw_transfer_cfg cfg = o->cfg;
	char *text = NULL;

	if (status != IW_EXIT_OK)
		return status;
	cfg.spared = r->spared;
	if (r->n == 0)
		cfg.opts &= ~(uint32_t)(IW_XFER_OPT_DELETE |
					IW_XFER_OPT_NAMES); /* nothing was confirmed */
	if (r->n > 0 && cfg.role == IW_XFER_SOURCE) {
		text = iw_removals_join(r, &cfg.listed_len);
		if (!text) {
			iw_log_error("no memory for the names to remove");
			return IW_EXIT_FAILED;
		}
		cfg.listed = text;
		cfg.opts |= IW_XFER_OPT_LISTED;
		cfg.removals = NULL;
	}
	status = iw_transfer_run(&cfg);
	free(text);
	return status;
}

#define NOT_ENDED UINT64_MAX /* in place of a number of names: the dry run failed as a whole */

/* --delete: a dry run finds the names that would be removed. Without --yes the user is asked. */
static int run_asking(struct iw_transfer_opts *o)
{
	struct iw_removals removals = { .n = 0 };
	struct iw_transfer_cfg dry = o->cfg;
	uint64_t gone = NOT_ENDED;
	int status;

	dry.opts |= IW_XFER_OPT_DRY_RUN;
	dry.would_remove = &gone;
	dry.removals = o->cfg.removals = &removals;
	status = iw_transfer_run(&dry);
	iw_removals_sort(&removals);
	if (gone == NOT_ENDED)
		fprintf(stderr, "nothing was sent or removed\n");
	/* The second run reports the failures of single files. */
	else if ((status == IW_EXIT_OK || status == IW_EXIT_NO) && !iw_signals_stop())
		status = removals.n > 0 && !o->yes && !confirm(gone, &removals)
				 ? IW_EXIT_NO
				 : run_confirmed(o, &removals);
	iw_removals_fini(&removals);
	o->cfg.removals = NULL;
	return status;
}

void iw_transfer_opts_uri(struct iw_transfer_opts *o, const char *option, const char *arg,
			  const struct argp_state *state)
{
	iw_remote_arg(&o->uri, option, arg, state);
	o->uri_option = option;
}

/*
 * True if only this side knows the patterns. The sink would remove excluded names, so it gets a
 * list of the names to remove.
 */
static bool knows_patterns(const struct iw_transfer_opts *o)
{
	return o->cfg.role == IW_XFER_SOURCE && o->cfg.filter.n > 0;
}

/* A socket from a service manager has an address already. */
static int take_socket(struct iw_transfer_opts *o, struct iw_fault *why)
{
	int fd = iw_cli_passed_socket(why);

	if (fd <= 0)
		return fd;
	if (strcmp(o->cli.transport, "tcp") != 0)
		return iw_fail(why, IW_E_INVAL,
			       "--transport %s: a socket passed by LISTEN_FDS needs -t tcp",
			       o->cli.transport);
	if (o->cli.bind)
		return iw_fail(
			why, IW_E_INVAL,
			"--bind %s: the socket passed by LISTEN_FDS has an address; remove --bind",
			o->cli.bind);
	if (o->cli.port != IW_CLI_PORT)
		return iw_fail(
			why, IW_E_INVAL,
			"--port %u: the socket passed by LISTEN_FDS has a port; remove --port",
			(uint32_t)o->cli.port);
	o->cfg.conn.at.listen_fd = fd;
	return 0;
}

/* Returns the options of the transfer that follow from the operands. */
static uint32_t operand_opts(const struct iw_transfer_cfg *cfg)
{
	uint32_t opts = cfg->npaths > 1 ? IW_XFER_OPT_MANY : 0;

	for (size_t i = 0; i < cfg->npaths; i++)
		if (iw_walk_is_contents(cfg->paths[i]))
			opts |= IW_XFER_OPT_CONTENTS;
	return opts;
}

/* Sets the credentials for the peer. NULL: a listener. */
static int encrypt(struct iw_transfer_opts *o, struct iw_cli_param *conn, const char *peer,
		   struct iw_fault *why)
{
	bool local = !peer && iw_cli_secure_is_local(&o->cli, conn->at.listen_fd);
	int err = iw_cli_secure_open(&o->secure, peer, o->cli.port, local, why);

	conn->at.tls = o->secure.creds;
	o->cfg.secure = &o->secure;
	return err;
}

bool iw_transfer_runs_twice(const struct iw_transfer_opts *o)
{
	uint32_t opts = o->cfg.opts;

	return opts & IW_XFER_OPT_DELETE && !(opts & IW_XFER_OPT_DRY_RUN) &&
	       (!o->yes || knows_patterns(o));
}

/* The end of run for an initiator, whose peer is known. */
static int run_initiator(struct iw_transfer_opts *o)
{
	return iw_transfer_runs_twice(o) ? run_asking(o) : iw_transfer_run(&o->cfg);
}

static int run(struct iw_transfer_opts *o)
{
	struct iw_fault why = { 0 };
	struct iw_remote_cfg remote = {
		.cli = &o->cli, .from = o->cfg.to_stdout, .uri = o->uri, .secure = &o->secure
	};
	bool listen = o->cfg.listen;
	char rate[IW_HUMAN_TEXT];

	o->cfg.opts |= operand_opts(&o->cfg);
	if (o->uri_option) {
		iw_cli_conn_param(&o->conn, &o->cli, o->uri.host, &remote.conn);
		if (encrypt(o, &remote.conn, o->uri.host, &why) != 0)
			return iw_cli_fail(&o->cli, &why);
		return iw_remote_run(&remote);
	}
	if (listen && o->cfg.role == IW_XFER_SINK && o->cfg.memory < MEMORY_MODEST)
		iw_log_warn(
			"--max-memory: a transfer needs 4M, and with --mode=send 33M; peers that need more are rejected");
	if (listen && o->cfg.role == IW_XFER_SOURCE && o->cfg.memory < IW_TRANSFER_MEMORY)
		iw_log_warn("--max-memory: a transfer needs 4M; all peers are rejected");
	if (!listen && !o->ssh.on)
		note_path(o);
	if (o->cfg.rate > 0 && o->cfg.rate < RATE_MODEST)
		iw_log_warn("--bwlimit: %s, in bits per second; for 1 MB/s give 8M",
			    iw_human_rate(rate, o->cfg.rate));
	iw_cli_conn_param(&o->conn, &o->cli, listen ? NULL : o->peer.host, &o->cfg.conn);
	if ((listen && take_socket(o, &why) != 0) ||
	    /* ssh start-up makes its own keys. */
	    (!o->ssh.on && encrypt(o, &o->cfg.conn, listen ? NULL : o->peer.host, &why) != 0))
		return iw_cli_fail(&o->cli, &why);
	/* As many peers may connect at the same moment. */
	o->cfg.conn.at.backlog = 1024;
	if (o->cfg.opts & IW_XFER_OPT_DELETE && !listen && o->cfg.role == IW_XFER_SOURCE)
		o->cfg.opts |= IW_XFER_OPT_NAMES;
	if (listen)
		return iw_transfer_run(&o->cfg);
	return o->ssh.on ? iw_transfer_ssh_run(o, run_initiator) : run_initiator(o);
}

static uint64_t quarter_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 4 : UINT64_C(1) << 30;
}

/* For --doctor. Without operands the tool is a listener. */
static unsigned confine_how(struct iw_cli *cli, uint64_t *caps)
{
	const struct iw_transfer_opts *o = iw_container_of(cli, struct iw_transfer_opts, cli);
	struct iw_transfer_cfg cfg = o->cfg;

	/* Uses only standard input and output. */
	if (o->uri_option)
		return 0;
	cfg.listen = cfg.listen || o->nargs < 2;
	cfg.conn.at.cc = o->conn.cc;
	return iw_transfer_confine(&cfg, caps);
}

int iw_transfer_main(int argc, char **argv, const struct argp *argp, const char *tool,
		     enum iw_xfer_role role)
{
	struct iw_transfer_opts o = { .cfg = { .role = role,
					       .mode = IW_XFER_WRITE,
					       .digest = IW_XFER_XXH3,
					       .jobs = 1,
					       .redials = 5,
					       .memory = quarter_of_memory(),
					       .limits = { .max_age_ns = MAX_AGE,
							   .conns = MAX_CONNS } } };
	int status;

	o.cfg.cli = &o.cli;
	iw_cli_init(&o.cli, tool, "tcp");
	o.cli.confine = confine_how;
	o.cli.doctor_needs = iw_cli_secure_doctor;
	iw_cli_conn_init(&o.conn);
	iw_cli_secure_init(&o.secure);
	iw_cli_parse(&o.cli, argp, argc, argv, 0, &o);
	status = iw_cli_start(&o.cli);
	if (status == IW_EXIT_OK && !o.ssh.server)
		status = iw_cli_check_transport(&o.cli);
	if (status == IW_EXIT_OK)
		status = o.ssh.server ? iw_transfer_ssh_serve(&o) : run(&o);
	status = iw_cli_finish(&o.cli, status);
	iw_cli_secure_close(&o.secure);
	iw_filter_fini(&o.cfg.filter);
	free(o.args);
	return status;
}
