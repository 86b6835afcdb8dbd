// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * stag-reg: registers Tagged Buffers in a running ddp-recv, advertises, lists, watches and revokes
 * them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/human.h"
#include "cli/option.h"
#include "cli/parse.h"
#include "cli/signals.h"
#include "cli/table.h"
#include "cli/text.h"
#include "os/os.h"
#include "rm/control.h"
#include "rm/uri.h"
#include "util/num.h"
#include "util/text.h"

#define INTERVAL_MIN IW_MSEC(10)
#define INTERVAL_MAX IW_SEC(60) /* a manager drops who is idle for two minutes */

enum {
	KEY_CONTROL = 0xb001, /* no character: long only */
	KEY_SIZE,
	KEY_ACCESS,
	KEY_RANGE,
	KEY_PD,
	KEY_STREAM,
	KEY_EXPIRES,
	KEY_USES,
	KEY_NO_KEY,
	KEY_HOST,
	KEY_SHELL,
	KEY_URI,
	KEY_ALL,
	KEY_INTERVAL,
};

enum form { FORM_TEXT, FORM_SHELL, FORM_URI };

struct opts {
	struct iw_cli *cli;
	const char *control; /* NULL: the default of the port */
	const char *host;    /* in Advertisements; NULL: the listener's */
	enum form form;
	/* add */
	const char *file;
	bool has_size;
	struct iw_rm_request add;
	/* show, watch, revoke */
	uint32_t *stags;
	size_t nstags;
	bool all;
	/* watch */
	uint64_t interval_ns, count;
	int fd;
};

/*
 * --- options -----------------------------------------------------------------------------------
 */

/* clang-format off */
static const struct argp_option control_options[] = {
	{ "control", KEY_CONTROL, "PATH", 0,
	  "The server's control socket (default $XDG_RUNTIME_DIR/iwarp/recv-PORT.sock, else in /run/iwarp)", 0 },
	{ 0 },
};

static const struct argp_option advert_options[] = {
	{ "host", KEY_HOST, "NAME", 0,
	  "The host of the Advertisement (default the address that the server listens on, or this host's name)", 1 },
	{ "shell", KEY_SHELL, NULL, 0, "Write the Advertisement as assignments of IW_STAG, IW_URI and others, for eval", 1 },
	{ "uri", KEY_URI, NULL, 0, "Write the Advertisement as one URI", 1 },
	{ 0 },
};

static const struct argp_option add_options[] = {
	{ "size", KEY_SIZE, "N", 0, "Register N octets of new memory, all zeros, in place of a file", 0 },
	{ "access", KEY_ACCESS, "r|w|rw", 0, "What peers may do: read, write, both (default r)", 0 },
	{ "range", KEY_RANGE, "OFF:LEN", 0, "Register this part of the file; without LEN to its end", 0 },
	{ "pd", KEY_PD, "NAME", 0,
	  "In this protection domain, which all buffers of that name share (default: in one of its own)", 0 },
	{ "stream", KEY_STREAM, "ID", 0, "For this one connection, as watch and show tell it", 0 },
	{ "expires", KEY_EXPIRES, "TIME", 0, "Revoke it after this time, such as 30s, 10m or 2h", 0 },
	{ "uses", KEY_USES, "N", 0, "Revoke it after N operations", 0 },
	{ "no-key", KEY_NO_KEY, NULL, 0, "Let in whoever names the STag, without a key", 0 },
	{ 0 },
};

static const struct argp_option watch_options[] = {
	{ "interval", KEY_INTERVAL, "TIME", 0, "Look that often (default 1s)", 0 },
	{ "count", 'c', "N", 0, "End after N looks (default: never)", 0 },
	{ 0 },
};

static const struct argp_option revoke_options[] = {
	{ "all", KEY_ALL, NULL, 0, "Revoke every buffer", 0 },
	{ 0 },
};
/* clang-format on */

static error_t parse_control(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	if (key != KEY_CONTROL)
		return ARGP_ERR_UNKNOWN;
	if (!*arg)
		argp_error(state, "--control \"\": expected a path");
	o->control = arg;
	return 0;
}

static error_t parse_advert(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_HOST:
		if (!*arg || strlen(arg) > 200 || strpbrk(arg, " /?#@[]'\"\\"))
			argp_error(state, "--host \"%s\": expected a name or an address", arg);
		o->host = arg;
		return 0;
	case KEY_SHELL:
		o->form = FORM_SHELL;
		return 0;
	case KEY_URI:
		o->form = FORM_URI;
		return 0;
	case ARGP_KEY_END:
		if (o->form != FORM_TEXT && o->cli->json)
			argp_error(state, "--json, --shell, --uri: one of them");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp control_argp = { .options = control_options, .parser = parse_control };
static const struct argp advert_argp = { .options = advert_options, .parser = parse_advert };

static const struct argp_child plain_kids[] = { { &control_argp, 0, NULL, 0 },
						{ &iw_cli_argp, 0, "Common options:", -1 },
						{ 0 } };
static const struct argp_child advert_kids[] = { { &control_argp, 0, NULL, 0 },
						 { &advert_argp, 0, NULL, 1 },
						 { &iw_cli_argp, 0, "Common options:", -1 },
						 { 0 } };

/* Eight hexadecimal digits, as they stand in the URI; with 0x in front as well. */
static uint32_t parse_stag(const struct argp_state *state, const char *arg)
{
	const char *digits = strncmp(arg, "0x", 2) == 0 ? arg + 2 : arg;
	char *end;
	unsigned long v;

	if (strlen(digits) != 8 || strspn(digits, "0123456789abcdefABCDEF") != 8)
		argp_error(state, "\"%s\": expected an STag of eight hexadecimal digits", arg);
	v = strtoul(digits, &end, 16);
	if (v == 0)
		argp_error(state, "STag 0 is none");
	return (uint32_t)v;
}

static void add_stag(struct opts *o, const struct argp_state *state, const char *arg)
{
	uint32_t *stags = reallocarray(o->stags, o->nstags + 1, sizeof(*stags));

	if (!stags)
		argp_failure(state, IW_EXIT_FAILED, 0, "no memory for the arguments");
	o->stags = stags;
	o->stags[o->nstags++] = parse_stag(state, arg);
}

static void parse_range(struct opts *o, const struct argp_state *state, const char *arg)
{
	const char *colon = strchr(arg, ':');
	char off[32];

	if (!colon || colon - arg >= (int)sizeof(off))
		argp_error(state, "--range \"%s\": expected OFF:LEN", arg);
	snprintf(off, sizeof(off), "%.*s", (int)(colon - arg), arg);
	o->add.off = *off ? iw_cli_size(state, "--range", off, 0, INT64_MAX) : 0;
	o->add.len = colon[1] ? iw_cli_size(state, "--range", colon + 1, 1, INT64_MAX) : 0;
	if (o->add.off > INT64_MAX - o->add.len)
		argp_error(state, "--range \"%s\": ends above 2^63 - 1", arg);
}

static void check_add(struct opts *o, const struct argp_state *state)
{
	if (!o->file && !o->has_size)
		argp_error(state, "expected FILE, or --size N");
	if (o->file && o->has_size)
		argp_error(state,
			   "--size is for new memory, not for a file: --range tells a part of it");
	if (o->has_size && o->add.off)
		argp_error(state, "--range is for files");
	if (*o->add.domain && o->add.stream)
		argp_error(state, "--pd, --stream: one of them");
}

static error_t parse_add(int key, char *arg, struct argp_state *state)
{
	static const char *const access[] = { "r", "w", "rw", NULL };
	struct opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		state->child_inputs[1] = o;
		state->child_inputs[2] = o->cli;
		return 0;
	case KEY_SIZE:
		o->has_size = o->add.memory = true;
		o->add.len = iw_cli_size(state, "--size", arg, 1, INT64_MAX);
		return 0;
	case KEY_ACCESS:
		o->add.access = (unsigned)iw_cli_enum(state, "--access", arg, access) + 1;
		return 0;
	case KEY_RANGE:
		parse_range(o, state, arg);
		return 0;
	case KEY_PD:
		if (!iw_rm_name_valid(arg, strlen(arg)))
			argp_error(state, "--pd \"%s\": expected 1 to %u letters, digits, . _ or -",
				   arg, IW_RM_NAME_MAX);
		snprintf(o->add.domain, sizeof(o->add.domain), "%s", arg);
		return 0;
	case KEY_STREAM:
		o->add.stream = (uint32_t)iw_cli_u64(state, "--stream", arg, 1, UINT32_MAX);
		return 0;
	case KEY_EXPIRES:
		o->add.lifetime_ms = iw_cli_duration(state, "--expires", arg, IW_MSEC(1),
						     IW_SEC(UINT64_C(366) * 86400)) /
				     IW_MSEC(1);
		return 0;
	case KEY_USES:
		o->add.uses = (uint32_t)iw_cli_u64(state, "--uses", arg, 1, UINT32_MAX - 1);
		return 0;
	case KEY_NO_KEY:
		o->add.open = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->file)
			argp_error(state, "\"%s\": one file at a time", arg);
		o->file = arg;
		return 0;
	case ARGP_KEY_END:
		check_add(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_stags(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	add_stag(o, state, arg);
	return 0;
}

static error_t parse_list(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = o;
	state->child_inputs[1] = o->cli;
	return 0;
}

static error_t parse_show(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		state->child_inputs[1] = o;
		state->child_inputs[2] = o->cli;
		return 0;
	case ARGP_KEY_END:
		if (o->nstags != 1)
			argp_error(state, "expected one STag");
		return 0;
	default:
		return parse_stags(key, arg, state);
	}
}

static error_t parse_watch(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_INTERVAL:
		o->interval_ns =
			iw_cli_duration(state, "--interval", arg, INTERVAL_MIN, INTERVAL_MAX);
		return 0;
	case 'c':
		o->count = iw_cli_u64(state, "--count", arg, 1, UINT64_MAX);
		return 0;
	case ARGP_KEY_INIT:
		return parse_list(key, arg, state);
	case ARGP_KEY_END:
		if (o->nstags > 1)
			argp_error(state, "expected one STag, or none for all");
		return 0;
	default:
		return parse_stags(key, arg, state);
	}
}

static error_t parse_revoke(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_ALL:
		o->all = true;
		return 0;
	case ARGP_KEY_INIT:
		return parse_list(key, arg, state);
	case ARGP_KEY_END:
		if (o->all == (o->nstags > 0))
			argp_error(state, "expected STags, or --all");
		return 0;
	default:
		return parse_stags(key, arg, state);
	}
}

/*
 * --- asking -------------------------------------------------------------------------------------
 */

static int start(struct opts *o, struct iw_fault *why)
{
	char by_default[IW_RM_PATH_MAX];
	const char *path = o->control;
	int err = 0;

	if (!path) {
		err = iw_rm_default_path(by_default, o->cli->port, why);
		path = by_default;
	}
	return err ? err : iw_rm_connect(&o->fd, path, why);
}

static int ask(struct opts *o, const struct iw_rm_request *q, int file, struct iw_fault *why)
{
	return iw_rm_ask(o->fd, q, file, o->cli->timeout_ns, why);
}

/* 1: *r is one more of the answer; 0: it was the last, END. */
static int next_answer(struct opts *o, struct iw_rm_reply *r, struct iw_fault *why)
{
	int err = iw_rm_answer(o->fd, r, o->cli->timeout_ns, why);

	return err ? err : r->kind != IW_RM_END;
}

static int end_line(struct opts *o, struct iw_fault *why)
{
	return iw_json_end(&o->cli->out) == 0
		       ? 0
		       : iw_fail(why, IW_E_CLOSED, "standard output takes nothing more");
}

/*
 * --- what a buffer looks like -------------------------------------------------------------------
 */

static const char *stag_text(char buf[static 9], uint32_t stag)
{
	snprintf(buf, 9, "%08x", stag);
	return buf;
}

/* Every address is no address that somebody else could connect to. */
static bool is_any(const char *host)
{
	return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static void make_uri(struct iw_uri *u, const struct opts *o, const struct iw_rm_buffer *b)
{
	*u = (struct iw_uri){ .port = b->port,
			      .stag = b->stag,
			      .to = b->to,
			      .len = b->len,
			      .access = b->access,
			      .key = b->key };
	snprintf(u->transport, sizeof(u->transport), "%s", b->transport);
	if (o->host)
		snprintf(u->host, sizeof(u->host), "%s", o->host);
	else if (!is_any(b->host) || gethostname(u->host, sizeof(u->host)) < 0)
		snprintf(u->host, sizeof(u->host), "%s", b->host);
	u->host[sizeof(u->host) - 1] = '\0';
}

static const char *endpoint_text(char *buf, size_t cap, const struct iw_uri *u)
{
	bool v6 = strchr(u->host, ':') != NULL;

	snprintf(buf, cap, "%s%s%s:%u", v6 ? "[" : "", u->host, v6 ? "]" : "", (unsigned)u->port);
	return buf;
}

static const char *key_text(char buf[static 2 * IW_CLAIM_KEY_LEN + 1],
			    const struct iw_claim_key *key)
{
	for (size_t i = 0; i < IW_CLAIM_KEY_LEN; i++)
		snprintf(buf + 2 * i, 3, "%02x", key->octets[i]);
	return buf;
}

static const char *what_text(const struct iw_rm_buffer *b)
{
	return b->memory ? "new memory" : b->label[0] ? b->label : "a file";
}

/* A line of what came from elsewhere, without what could move the cursor. */
static void print_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void print_line(const char *fmt, ...)
{
	char raw[1024], line[4 * sizeof(raw)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	iw_printable(line, sizeof(line), raw, strlen(raw), true);
	puts(line);
}

static const char *life_text(char buf[static IW_HUMAN_TEXT], uint64_t left_ms)
{
	return left_ms == UINT64_MAX ? "" : iw_human_time(buf, IW_MSEC(left_ms));
}

static void put_tally_json(struct iw_json *w, const struct iw_tally *t)
{
	iw_json_u64(w, "writes", t->writes);
	iw_json_u64(w, "write_octets", t->write_octets);
	iw_json_u64(w, "reads", t->reads);
	iw_json_u64(w, "read_octets", t->read_octets);
}

static int write_buffer_json(struct opts *o, const char *event, const struct iw_rm_buffer *b,
			     bool advert, struct iw_fault *why)
{
	struct iw_json *w = &o->cli->out;
	char stag[9], endpoint[300], key[2 * IW_CLAIM_KEY_LEN + 1], uri[IW_URI_TEXT];
	struct iw_uri u;

	make_uri(&u, o, b);
	iw_json_begin(w, event);
	iw_json_str(w, "stag", stag_text(stag, b->stag));
	iw_json_u64(w, "to", b->to);
	iw_json_u64(w, "length_octets", b->len);
	iw_json_str(w, "access", iw_access_text(b->access));
	iw_json_str(w, "endpoint", endpoint_text(endpoint, sizeof(endpoint), &u));
	iw_json_str(w, "transport", b->transport);
	iw_json_str(w, "kind", b->memory ? "memory" : "file");
	if (!b->memory)
		iw_json_str(w, "file", b->label);
	if (b->domain[0])
		iw_json_str(w, "pd", b->domain);
	if (b->stream)
		iw_json_u64(w, "stream", b->stream);
	if (b->left_ms != UINT64_MAX)
		iw_json_u64(w, "left_ns", IW_MSEC(b->left_ms));
	if (b->uses)
		iw_json_u64(w, "uses", b->uses);
	iw_json_bool(w, "needs_key", !b->open);
	if (advert && b->key.set)
		iw_json_str(w, "key", key_text(key, &b->key));
	if (advert)
		iw_json_str(w, "uri", iw_uri_format(uri, &u));
	put_tally_json(w, &b->tally);
	return end_line(o, why);
}

static void write_shell(const struct opts *o, const struct iw_rm_buffer *b)
{
	char endpoint[300], key[2 * IW_CLAIM_KEY_LEN + 1], uri[IW_URI_TEXT];
	struct iw_uri u;

	/*
	 * Nothing in here has an apostrophe: the host was checked, or is an address or this host's
	 * name.
	 */
	make_uri(&u, o, b);
	printf("IW_STAG='%08x'\nIW_TO='%" PRIu64 "'\nIW_LEN='%" PRIu64 "'\nIW_ACCESS='%s'\n",
	       b->stag, b->to, b->len, iw_access_text(b->access));
	printf("IW_ENDPOINT='%s'\nIW_TRANSPORT='%s'\n",
	       endpoint_text(endpoint, sizeof(endpoint), &u), b->transport);
	printf("IW_KEY='%s'\nIW_URI='%s'\n", b->key.set ? key_text(key, &b->key) : "",
	       iw_uri_format(uri, &u));
}

static void add_row(struct iw_table *t, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void add_row(struct iw_table *t, const char *name, const char *fmt, ...)
{
	char text[IW_URI_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	iw_table_add(t, name);
	iw_table_add(t, text);
}

static int write_table(struct iw_table *t, struct iw_fault *why)
{
	int err = iw_table_write(t, stdout, 0);

	iw_table_fini(t);
	return err ? iw_fail(why, err, "no memory for the table") : 0;
}

static int write_text(const struct opts *o, const struct iw_rm_buffer *b, struct iw_fault *why)
{
	char endpoint[300], size[IW_HUMAN_TEXT], left[IW_HUMAN_TEXT], uri[IW_URI_TEXT];
	struct iw_table t;
	struct iw_uri u;

	make_uri(&u, o, b);
	iw_table_init(&t, "ll");
	add_row(&t, "STag", "%08x", b->stag);
	add_row(&t, "TO", "%" PRIu64, b->to);
	add_row(&t, "length", "%" PRIu64 " (%s)", b->len, iw_human_size(size, b->len));
	add_row(&t, "access", "%s", iw_access_text(b->access));
	add_row(&t, "endpoint", "%s, %s", endpoint_text(endpoint, sizeof(endpoint), &u),
		b->transport);
	add_row(&t, "of", "%s", what_text(b));
	if (b->domain[0])
		add_row(&t, "PD", "%s", b->domain);
	if (b->stream)
		add_row(&t, "stream", "%u", b->stream);
	if (b->left_ms != UINT64_MAX)
		add_row(&t, "expires in", "%s", life_text(left, b->left_ms));
	if (b->uses)
		add_row(&t, "uses", "%" PRIu64 " of %u", b->tally.writes + b->tally.reads, b->uses);
	add_row(&t, "URI", "%s", iw_uri_format(uri, &u));
	return write_table(&t, why);
}

static int write_advert(struct opts *o, const struct iw_rm_buffer *b, struct iw_fault *why)
{
	char uri[IW_URI_TEXT];
	struct iw_uri u;

	if (o->cli->json)
		return write_buffer_json(o, "buffer", b, true, why);
	switch (o->form) {
	case FORM_TEXT:
		return write_text(o, b, why);
	case FORM_SHELL:
		write_shell(o, b);
		return 0;
	case FORM_URI:
		make_uri(&u, o, b);
		puts(iw_uri_format(uri, &u));
		return 0;
	}
	return 0;
}

/*
 * --- add ----------------------------------------------------------------------------------------
 */

static int open_file(const struct opts *o, int *fd, struct iw_fault *why)
{
	*fd = -1;
	if (!o->file)
		return 0;
	/* A FIFO would be waited for. */
	*fd = open(o->file,
		   (o->add.access & IW_CLAIM_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
	return *fd < 0 ? iw_os_fail(why, errno, "%s", o->file) : 0;
}

static int work_add(struct opts *o, struct iw_fault *why)
{
	struct iw_rm_reply r;
	int fd, err = open_file(o, &fd, why);

	if (err)
		return err;
	if (o->file)
		snprintf(o->add.label, sizeof(o->add.label), "%s", o->file);
	err = start(o, why);
	if (!err)
		err = ask(o, &o->add, fd, why);
	if (fd >= 0)
		close(fd);
	if (!err)
		err = next_answer(o, &r, why);
	if (err < 0)
		return err;
	if (r.kind != IW_RM_BUFFER)
		return iw_fail(why, IW_E_FORMAT, "the server does not tell the buffer");
	return write_advert(o, &r.buffer, why);
}

/*
 * --- list, show ---------------------------------------------------------------------------------
 */

static void list_row(struct iw_table *t, const struct iw_rm_buffer *b)
{
	char size[IW_HUMAN_TEXT], in[IW_HUMAN_TEXT], out[IW_HUMAN_TEXT], left[IW_HUMAN_TEXT];
	char scope[16];

	snprintf(scope, sizeof(scope), "stream %u", b->stream);
	iw_table_addf(t, "%08x", b->stag);
	iw_table_add(t, iw_access_text(b->access));
	iw_table_add(t, iw_human_size(size, b->len));
	iw_table_add(t, iw_human_size(in, b->tally.write_octets));
	iw_table_add(t, iw_human_size(out, b->tally.read_octets));
	iw_table_add(t, life_text(left, b->left_ms));
	iw_table_add(t, b->stream ? scope : b->domain);
	iw_table_add(t, what_text(b));
}

static int result_json(struct opts *o, const char *key, uint64_t n, struct iw_fault *why)
{
	iw_json_begin(&o->cli->out, "result");
	iw_json_u64(&o->cli->out, key, n);
	return end_line(o, why);
}

static int work_list(struct opts *o, struct iw_fault *why)
{
	const struct iw_rm_request q = { .op = IW_RM_LIST };
	static const char *const head[] = { "STag", "access", "length", "written",
					    "read", "left",   "PD",     "of" };
	struct iw_rm_reply r;
	struct iw_table t;
	int more, err = start(o, why);

	if (!err)
		err = ask(o, &q, -1, why);
	if (err)
		return err;
	iw_table_init(&t, "llrrrlll");
	for (size_t i = 0; i < IW_ARRAY_LEN(head); i++)
		iw_table_add(&t, head[i]);
	while ((more = next_answer(o, &r, why)) > 0 && !err) {
		if (r.kind != IW_RM_BUFFER)
			continue;
		if (o->cli->json)
			err = write_buffer_json(o, "buffer", &r.buffer, false, why);
		else
			list_row(&t, &r.buffer);
	}
	err = more < 0 ? more : err;
	if (!err && o->cli->json) {
		iw_table_fini(&t);
		return result_json(o, "buffers", r.count, why);
	}
	if (!err && r.count > 0)
		return write_table(&t, why);
	iw_table_fini(&t);
	return err;
}

static int write_peer_json(struct opts *o, const struct iw_rm_peer *p, struct iw_fault *why)
{
	struct iw_json *w = &o->cli->out;

	iw_json_begin(w, "peer");
	iw_json_str(w, "peer", p->addr);
	iw_json_u64(w, "stream", p->stream);
	iw_json_bool(w, "ended", p->ended);
	if (p->ended)
		iw_json_str(w, "text", p->why);
	iw_json_u64(w, "age_ns", IW_MSEC(p->age_ms));
	put_tally_json(w, &p->tally);
	return end_line(o, why);
}

static void peer_row(struct iw_table *t, const struct iw_rm_peer *p)
{
	char in[IW_HUMAN_TEXT], out[IW_HUMAN_TEXT];

	iw_table_addf(t, "%u", p->stream);
	iw_table_add(t, p->addr);
	iw_table_addf(t, "%" PRIu64, p->tally.writes);
	iw_table_add(t, iw_human_size(in, p->tally.write_octets));
	iw_table_addf(t, "%" PRIu64, p->tally.reads);
	iw_table_add(t, iw_human_size(out, p->tally.read_octets));
	iw_table_addf(t, "%s%s%s", p->ended ? "ended" : "connected", p->why[0] ? ": " : "", p->why);
}

static int no_such(const struct opts *o, uint32_t stag)
{
	(void)o;
	iw_log_error("STag %08x: no such buffer, or not any more", stag);
	return IW_EXIT_NO;
}

/* A buffer's account, its peers behind it. *status: whether there is such a buffer. */
static int work_show(struct opts *o, int *status, struct iw_fault *why)
{
	const struct iw_rm_request q = { .op = IW_RM_LIST, .stag = o->stags[0], .peers = true };
	static const char *const head[] = { "stream", "peer", "writes", "written",
					    "reads",  "read", "state" };
	struct iw_rm_reply r;
	struct iw_table t;
	size_t peers = 0;
	int more, err = start(o, why);

	if (!err)
		err = ask(o, &q, -1, why);
	if (err)
		return err;
	iw_table_init(&t, "rlrrrrl");
	for (size_t i = 0; i < IW_ARRAY_LEN(head); i++)
		iw_table_add(&t, head[i]);
	while ((more = next_answer(o, &r, why)) > 0 && !err) {
		if (r.kind == IW_RM_BUFFER) {
			err = write_advert(o, &r.buffer, why);
		} else if (r.kind == IW_RM_PEER && o->cli->json) {
			err = write_peer_json(o, &r.peer, why);
		} else if (r.kind == IW_RM_PEER) {
			peer_row(&t, &r.peer);
			peers++;
		}
	}
	err = more < 0 ? more : err;
	if (!err && r.count == 0)
		*status = no_such(o, o->stags[0]);
	if (!err && peers > 0 && o->form == FORM_TEXT) {
		putchar('\n');
		return write_table(&t, why);
	}
	iw_table_fini(&t);
	return err;
}

/*
 * --- watch --------------------------------------------------------------------------------------
 */

/* What was told of a buffer (stream 0) or of one of its peers. */
struct seen {
	uint32_t stag, stream;
	struct iw_tally tally;
	bool ended, there;
};

struct watch {
	struct opts *o;
	struct seen *seen;
	size_t n, cap;
	size_t hint; /* answers come in the same order each time: where the last one was found */
	uint64_t now, before; /* of this look and the one before; 0: none yet */
};

static struct seen *find_seen(struct watch *w, uint32_t stag, uint32_t stream)
{
	for (size_t i = 0; i < w->n; i++) {
		size_t at = (w->hint + i) % w->n;

		if (w->seen[at].stag != stag || w->seen[at].stream != stream)
			continue;
		w->hint = at + 1;
		return &w->seen[at];
	}
	return NULL;
}

static struct seen *new_seen(struct watch *w, uint32_t stag, uint32_t stream)
{
	if (w->n == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 16;
		struct seen *more = reallocarray(w->seen, cap, sizeof(*more));

		if (!more)
			return NULL;
		w->seen = more;
		w->cap = cap;
	}
	w->seen[w->n] = (struct seen){ .stag = stag, .stream = stream, .there = true };
	return &w->seen[w->n++];
}

static uint64_t rate(const struct watch *w, uint64_t octets)
{
	return w->before ? iw_bits_per_second(octets, w->now - w->before) : 0;
}

static void print_peer(const struct watch *w, uint32_t stag, const struct iw_rm_peer *p,
		       const struct iw_tally *was)
{
	char in[IW_HUMAN_TEXT], out[IW_HUMAN_TEXT], in_rate[IW_HUMAN_TEXT], out_rate[IW_HUMAN_TEXT];

	print_line("%08x  %-21s  written %s in %" PRIu64 " (%s)  read %s in %" PRIu64 " (%s)%s%s%s",
		   stag, p->addr, iw_human_size(in, p->tally.write_octets), p->tally.writes,
		   iw_human_rate(in_rate, rate(w, p->tally.write_octets - was->write_octets)),
		   iw_human_size(out, p->tally.read_octets), p->tally.reads,
		   iw_human_rate(out_rate, rate(w, p->tally.read_octets - was->read_octets)),
		   p->ended ? "  ended" : "", p->why[0] ? ": " : "", p->why);
}

static int peer_json(struct watch *w, uint32_t stag, const struct iw_rm_peer *p,
		     const struct iw_tally *was, struct iw_fault *why)
{
	struct iw_json *j = &w->o->cli->out;
	char text[9];

	iw_json_begin(j, "interval");
	iw_json_str(j, "stag", stag_text(text, stag));
	iw_json_str(j, "peer", p->addr);
	iw_json_u64(j, "stream", p->stream);
	iw_json_bool(j, "ended", p->ended);
	if (p->ended)
		iw_json_str(j, "text", p->why);
	put_tally_json(j, &p->tally);
	iw_json_u64(j, "new_write_octets", p->tally.write_octets - was->write_octets);
	iw_json_u64(j, "new_read_octets", p->tally.read_octets - was->read_octets);
	iw_json_u64(j, "interval_ns", w->before ? w->now - w->before : 0);
	return end_line(w->o, why);
}

/* A line for each peer of whom there is news. */
static int on_peer(struct watch *w, uint32_t stag, const struct iw_rm_peer *p, struct iw_fault *why)
{
	struct seen *s = find_seen(w, stag, p->stream);
	struct iw_tally was;
	bool news = !s;
	int err = 0;

	if (!s)
		s = new_seen(w, stag, p->stream);
	if (!s)
		return iw_fail(why, IW_E_NOMEM, "no memory for what was seen");
	was = s->tally;
	news = news || s->ended != p->ended || memcmp(&was, &p->tally, sizeof(was)) != 0;
	s->tally = p->tally;
	s->ended = p->ended;
	s->there = true;
	if (news && w->o->cli->json)
		err = peer_json(w, stag, p, &was, why);
	else if (news)
		print_peer(w, stag, p, &was);
	return err;
}

static int on_buffer(struct watch *w, const struct iw_rm_buffer *b, struct iw_fault *why)
{
	struct seen *s = find_seen(w, b->stag, 0);
	char size[IW_HUMAN_TEXT];

	if (s) {
		s->there = true;
		return 0;
	}
	if (!new_seen(w, b->stag, 0))
		return iw_fail(why, IW_E_NOMEM, "no memory for what was seen");
	if (w->o->cli->json)
		return write_buffer_json(w->o, "buffer", b, false, why);
	print_line("%08x  registered: %s, %s of %s", b->stag, iw_access_text(b->access),
		   iw_human_size(size, b->len), what_text(b));
	return 0;
}

static int on_gone(struct watch *w, const struct seen *s, struct iw_fault *why)
{
	char text[9];

	if (s->stream)
		return 0;
	if (!w->o->cli->json) {
		printf("%08x  gone\n", s->stag);
		return 0;
	}
	iw_json_begin(&w->o->cli->out, "gone");
	iw_json_str(&w->o->cli->out, "stag", stag_text(text, s->stag));
	return end_line(w->o, why);
}

/* What was there at the last look and is not at this one. */
static int sweep(struct watch *w, struct iw_fault *why)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < w->n; i++) {
		struct seen *s = &w->seen[i];

		if (s->there)
			w->seen[kept++] = *s;
		else if (!err)
			err = on_gone(w, s, why);
	}
	w->n = kept;
	return err;
}

/* One look: 1: there are buffers; 0: none. */
static int look(struct watch *w, struct iw_fault *why)
{
	struct opts *o = w->o;
	const struct iw_rm_request q = { .op = IW_RM_LIST,
					 .stag = o->nstags ? o->stags[0] : 0,
					 .peers = true };
	struct iw_rm_reply r;
	uint32_t stag = 0;
	int more, err = ask(o, &q, -1, why);

	if (err)
		return err;
	w->now = iw_os_now();
	for (size_t i = 0; i < w->n; i++)
		w->seen[i].there = false;
	while ((more = next_answer(o, &r, why)) > 0 && !err) {
		if (r.kind == IW_RM_BUFFER) {
			stag = r.buffer.stag;
			err = on_buffer(w, &r.buffer, why);
		} else if (r.kind == IW_RM_PEER) {
			err = on_peer(w, stag, &r.peer, why);
		}
	}
	if (more < 0)
		return more;
	if (!err)
		err = sweep(w, why);
	w->before = w->now;
	/* Whoever reads along wants it now. */
	if (!err && fflush(stdout) != 0)
		err = iw_fail(why, IW_E_CLOSED, "standard output takes nothing more");
	return err ? err : r.count > 0;
}

/* True: somebody asked to stop. */
static bool pause_for(uint64_t ns)
{
	struct pollfd pfd = { .fd = iw_signals_fd(), .events = POLLIN };

	return poll(&pfd, 1, (int)((ns + IW_MSEC(1) - 1) / IW_MSEC(1))) > 0;
}

/* Until stopped, or the buffer that is watched is gone. */
static int work_watch(struct opts *o, int *status, struct iw_fault *why)
{
	struct watch w = { .o = o };
	int more, err = start(o, why);

	if (err)
		return err;
	more = look(&w, why);
	if (more == 0 && o->nstags)
		*status = no_such(o, o->stags[0]);
	for (uint64_t n = 1; more >= 0 && !(more == 0 && o->nstags) && n != o->count; n++) {
		if (pause_for(o->interval_ns))
			break;
		more = look(&w, why);
	}
	free(w.seen);
	return more < 0 ? more : 0;
}

/*
 * --- revoke -------------------------------------------------------------------------------------
 */

static int revoke_one(struct opts *o, uint32_t stag, uint64_t *revoked, struct iw_fault *why)
{
	const struct iw_rm_request q = { .op = IW_RM_REVOKE, .stag = stag };
	struct iw_rm_reply r;
	int more, err = ask(o, &q, -1, why);

	if (err)
		return err;
	while ((more = next_answer(o, &r, why)) > 0)
		;
	if (more < 0)
		return more;
	*revoked += r.count;
	return r.count > 0;
}

static int work_revoke(struct opts *o, int *status, struct iw_fault *why)
{
	uint64_t revoked = 0;
	int err = start(o, why), one;

	if (err)
		return err;
	if (o->all) {
		one = revoke_one(o, 0, &revoked, why);
		if (one < 0)
			return one;
	}
	for (size_t i = 0; i < o->nstags; i++) {
		one = revoke_one(o, o->stags[i], &revoked, why);
		if (one < 0)
			return one;
		if (one == 0)
			*status = no_such(o, o->stags[i]);
	}
	if (o->cli->json)
		return result_json(o, "revoked", revoked, why);
	if (!o->cli->quiet)
		printf("revoked %" PRIu64 "\n", revoked);
	return 0;
}

/*
 * --- commands -----------------------------------------------------------------------------------
 */

enum work { WORK_ADD, WORK_LIST, WORK_SHOW, WORK_WATCH, WORK_REVOKE };

static int do_work(enum work work, struct opts *o, int *status, struct iw_fault *why)
{
	switch (work) {
	case WORK_ADD:
		return work_add(o, why);
	case WORK_LIST:
		return work_list(o, why);
	case WORK_SHOW:
		return work_show(o, status, why);
	case WORK_WATCH:
		return work_watch(o, status, why);
	case WORK_REVOKE:
		return work_revoke(o, status, why);
	}
	return 0;
}

static int run(struct iw_cli *cli, int argc, char **argv, const struct argp *argp, enum work work)
{
	struct opts o = { .cli = cli,
			  .add = { .op = IW_RM_ADD, .access = IW_CLAIM_READ },
			  .interval_ns = IW_SEC(1),
			  .fd = -1 };
	struct iw_fault why = { 0 };
	int status;

	argp_parse(argp, argc, argv, 0, NULL, &o);
	status = iw_cli_start(cli);
	if (status == IW_EXIT_OK && do_work(work, &o, &status, &why) != 0)
		status = iw_cli_fail(cli, &why);
	if (o.fd >= 0)
		close(o.fd);
	free(o.stags);
	return status;
}

static int cmd_add(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp argp = {
		.options = add_options,
		.parser = parse_add,
		.args_doc = "FILE\n--size N",
		.doc = "Register a file, or new memory, and tell the Advertisement.",
		.children = advert_kids,
	};

	return run(cli, argc, argv, &argp, WORK_ADD);
}

static int cmd_list(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_list,
		.doc = "List what is registered.",
		.children = plain_kids,
	};

	return run(cli, argc, argv, &argp, WORK_LIST);
}

static int cmd_show(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_show,
		.args_doc = "STAG",
		.doc = "Tell all of one buffer: its Advertisement with the key, and its peers.",
		.children = advert_kids,
	};

	return run(cli, argc, argv, &argp, WORK_SHOW);
}

static int cmd_watch(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp argp = {
		.options = watch_options,
		.parser = parse_watch,
		.args_doc = "[STAG]",
		.doc = "Tell what peers do, until interrupted or until the buffer is gone.",
		.children = plain_kids,
	};

	return run(cli, argc, argv, &argp, WORK_WATCH);
}

static int cmd_revoke(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp argp = {
		.options = revoke_options,
		.parser = parse_revoke,
		.args_doc = "STAG...\n--all",
		.doc = "Revoke buffers. When it returns, nothing more is placed in them, and nothing read from them.",
		.children = plain_kids,
	};

	return run(cli, argc, argv, &argp, WORK_REVOKE);
}

static const struct iw_command commands[] = {
	{ "add", cmd_add, "register a file or new memory, tell its Advertisement" },
	{ "list", cmd_list, "what is registered" },
	{ "show", cmd_show, "all of one buffer, with its peers" },
	{ "watch", cmd_watch, "what peers do, as it happens" },
	{ "revoke", cmd_revoke, "end buffers: nothing more is placed or read" },
	{ 0 },
};

int main(int argc, char **argv)
{
	struct iw_cli cli;
	int status;

	iw_cli_init(&cli, "stag-reg", "tcp");
	status = iw_cli_command(
		&cli, commands,
		"Registers Tagged Buffers in a running ddp-recv, for ddp-send --to and ddp-recv --from.",
		argc, argv);
	return iw_cli_finish(&cli, status);
}
