// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ddp-impair: relays a connection and applies rules to its protocol units: drops, delays, changes,
 * or inserts them.
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/confine.h"
#include "cli/option.h"
#include "cli/parse.h"
#include "cli/usage.h"
#include "ddp-impair/impair.h"
#include "ddp-impair/link_option.h"
#include "ddp-impair/rule_file.h"
#include "os/os.h"
#include "util/num.h"

/* --rule and --rules, in the order of the command line. */
struct rule_option {
	const char *text; /* the rule, or the path of the file */
	bool file;
};

struct opts {
	struct iw_cli cli;
	struct iw_relay relay;
	const char *record, *replay, *pcap, *between;
	char *listen, *to; /* owned copies, which are cut at the port */
	struct rule_option *rule;
	size_t rules;
	uint64_t seconds;
	bool check;
	char interface[2][IF_NAMESIZE];
};

enum {
	KEY_LISTEN = 0x9001, /* above any character: long options only */
	KEY_TO,
	KEY_BETWEEN,
	KEY_RULE,
	KEY_RULES,
	KEY_LINK,
	KEY_LINK_AB,
	KEY_LINK_BA,
	KEY_SEED,
	KEY_RECORD,
	KEY_REPLAY,
	KEY_PCAP,
	KEY_SECONDS,
	KEY_TIMEOUT,
	KEY_CHECK,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "listen", KEY_LISTEN, "[ADDR:]PORT", 0, "Relay connections to this port; port 0: the system chooses one (default address: this machine only, 127.0.0.1)", 1 },
	{ "to", KEY_TO, "HOST:PORT", 0, "Relay them to this endpoint", 1 },
	{ "transport", 't', "NAME", 0, "tcp: relay streams (default); udp: relay datagrams, with SCTP in them", 1 },
	{ "between", KEY_BETWEEN, "A,B", 0, "Forward Ethernet frames between the interfaces A and B", 1 },
	{ "timeout", KEY_TIMEOUT, "TIME", 0, "Give up a connection to HOST after this time (default 10s)", 1 },
	{ "seconds", KEY_SECONDS, "N", 0, "End after this time (default: end by a signal)", 1 },

	{ "rule", KEY_RULE, "RULE", 0, "Apply this rule, 'UNIT [KEY=VALUE...]: ACTION [ARGUMENT...]'; may be repeated", 2 },
	{ "rules", KEY_RULES, "FILE", 0, "Apply the rules in FILE, one a line; lines that begin with # are skipped", 2 },
	{ "link", KEY_LINK, "SETTINGS", 0, "Both directions have this link: loss=1%,delay=10ms,rate=100M,...", 2 },
	{ "link-ab", KEY_LINK_AB, "SETTINGS", 0, "The direction from A to B, or from initiators to HOST", 2 },
	{ "link-ba", KEY_LINK_BA, "SETTINGS", 0, "The direction from B to A, or from HOST to initiators", 2 },
	{ "seed", KEY_SEED, "N", 0, "Seed of all random decisions (default 1)", 2 },

	{ "record", KEY_RECORD, "FILE", 0, "Write every decision to FILE", 3 },
	{ "replay", KEY_REPLAY, "FILE", 0, "Repeat the decisions in FILE instead of applying rules", 3 },
	{ "pcap", KEY_PCAP, "FILE", 0, "Write what leaves, in both directions, to a capture", 3 },
	{ "check", KEY_CHECK, 0, 0, "Only check the rules, the links and the replay, then exit", 3 },
	{ 0 },
};
/* clang-format on */

static const char *file_name(const struct argp_state *state, const char *option, const char *arg)
{
	if (arg[0] == '\0' || strcmp(arg, "-") == 0)
		argp_error(state, "%s \"%s\": expected the name of a file", option, arg);
	return arg;
}

/*
 * Divides "HOST:PORT" or "[ADDR]:PORT" in place. *host is NULL if there is only a port and need_host
 * is false.
 */
static void endpoint(const struct argp_state *state, const char *option, char *text, bool need_host,
		     const char **host, uint16_t *port)
{
	char *colon = strrchr(text, ':');
	bool many = colon && strchr(text, ':') != colon;

	if (many && (text[0] != '[' || colon[-1] != ']'))
		argp_error(state,
			   "%s \"%s\": expected brackets around an IPv6 address, as in [::1]:7471",
			   option, text);
	if (need_host && (!colon || colon == text))
		argp_error(state, "%s \"%s\": expected HOST:PORT, such as 10.0.0.1:7471", option,
			   text);
	*port = iw_cli_port(state, option, colon ? colon + 1 : text, need_host ? 1 : 0);
	*host = colon && colon != text ? text : NULL;
	if (colon)
		*colon = '\0';
}

static char *copy(const struct argp_state *state, char *old, const char *arg)
{
	char *p = strdup(arg);

	if (!p)
		argp_failure(state, IW_EXIT_FAILED, errno, "%s", arg);
	free(old);
	return p;
}

static void add_rule(const struct argp_state *state, struct opts *o, const char *text, bool file)
{
	struct rule_option *p = reallocarray(o->rule, o->rules + 1, sizeof(*p));

	if (!p)
		argp_failure(state, IW_EXIT_FAILED, errno, "%s", text);
	o->rule = p;
	o->rule[o->rules++] = (struct rule_option){ text, file };
}

static void set_link(const struct argp_state *state, struct opts *o, const char *option,
		     const char *arg, unsigned directions)
{
	struct iw_fault why = { 0 };

	for (unsigned d = 0; d < 2; d++) {
		if (!(directions & 1u << d))
			continue;
		if (iw_settings_parse(&o->relay.link[d], arg, &why) < 0)
			argp_error(state, "%s %s", option, why.text);
		o->relay.linked[d] = true;
	}
}

static error_t end_option(int key, char *arg, const struct argp_state *state, struct opts *o)
{
	static const char *const transports[] = { "tcp", "udp", NULL };

	switch (key) {
	case KEY_LISTEN:
		o->listen = copy(state, o->listen, arg);
		return 0;
	case KEY_TO:
		o->to = copy(state, o->to, arg);
		return 0;
	case 't':
		o->cli.transport = transports[iw_cli_enum(state, "--transport", arg, transports)];
		o->cli.transport_given = true;
		return 0;
	case KEY_BETWEEN:
		o->between = arg;
		return 0;
	case KEY_TIMEOUT:
		o->relay.connect_timeout_ns =
			iw_cli_duration(state, "--timeout", arg, IW_MSEC(1), IW_SEC(24 * 3600));
		return 0;
	case KEY_SECONDS:
		o->seconds = iw_cli_u64(state, "--seconds", arg, 1, UINT32_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t rule_option(int key, char *arg, const struct argp_state *state, struct opts *o)
{
	switch (key) {
	case KEY_RULE:
		add_rule(state, o, arg, false);
		return 0;
	case KEY_RULES:
		add_rule(state, o, file_name(state, "--rules", arg), true);
		return 0;
	case KEY_LINK:
		set_link(state, o, "--link", arg, 3);
		return 0;
	case KEY_LINK_AB:
		set_link(state, o, "--link-ab", arg, 1);
		return 0;
	case KEY_LINK_BA:
		set_link(state, o, "--link-ba", arg, 2);
		return 0;
	case KEY_SEED:
		o->relay.seed = iw_cli_u64(state, "--seed", arg, 1, UINT32_MAX);
		return 0;
	case KEY_RECORD:
		o->record = file_name(state, "--record", arg);
		return 0;
	case KEY_REPLAY:
		o->replay = file_name(state, "--replay", arg);
		return 0;
	case KEY_PCAP:
		o->pcap = file_name(state, "--pcap", arg);
		return 0;
	case KEY_CHECK:
		o->check = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void split_interfaces(const struct argp_state *state, struct opts *o)
{
	const char *comma = strchr(o->between, ',');
	size_t first = comma ? (size_t)(comma - o->between) : 0,
	       second = comma ? strlen(comma + 1) : 0;

	if (first == 0 || second == 0 || first >= IF_NAMESIZE || second >= IF_NAMESIZE ||
	    strchr(comma + 1, ','))
		argp_error(state, "--between \"%s\": expected two interfaces, as in veth0,veth1",
			   o->between);
	memcpy(o->interface[0], o->between, first);
	memcpy(o->interface[1], comma + 1, second);
	o->relay.between[0] = o->interface[0];
	o->relay.between[1] = o->interface[1];
	if (strcmp(o->interface[0], o->interface[1]) == 0)
		argp_error(state, "--between \"%s\": the same interface twice", o->between);
}

static void split_endpoints(const struct argp_state *state, struct opts *o)
{
	struct iw_relay *r = &o->relay;

	if (!o->listen && !o->to)
		argp_error(state, "expected --listen PORT and --to HOST:PORT, or --between A,B");
	if (!o->listen || !o->to)
		argp_error(state, "--%s needs --%s", o->listen ? "listen" : "to",
			   o->listen ? "to HOST:PORT" : "listen PORT");
	endpoint(state, "--listen", o->listen, false, &r->listen_host, &r->listen_port);
	endpoint(state, "--to", o->to, true, &r->to_host, &r->to_port);
}

static void check_options(const struct argp_state *state, struct opts *o)
{
	if (o->between && (o->listen || o->to || o->cli.transport_given))
		argp_error(state, "--between and --%s exclude each other",
			   o->listen ? "listen"
			   : o->to   ? "to"
				     : "transport");
	if (o->between)
		split_interfaces(state, o);
	else if (!o->check || o->listen || o->to)
		split_endpoints(state, o);
	if (o->replay && o->rules)
		argp_error(state,
			   "--replay and --rule%s exclude each other: the record has the decisions",
			   o->rule[0].file ? "s" : "");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;
	error_t ret;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->cli;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(
			state,
			"\"%s\": unexpected argument; endpoints are named by --listen and --to, or by --between",
			arg);
		return 0;
	case ARGP_KEY_END:
		check_options(state, o);
		return 0;
	default:
		ret = end_option(key, arg, state, o);
		return ret == ARGP_ERR_UNKNOWN ? rule_option(key, arg, state, o) : ret;
	}
}

static const struct argp_child kids[] = { { &iw_cli_report_argp, 0, "Common options:", -2 },
					  { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Relay an iWARP connection and apply rules to its protocol units: drop, delay, change, "
	       "cut or insert them.\v"
	       "Example: ddp-impair --listen 7472 --to 10.0.0.1:7471"
	       " --rule 'fpdu opcode=write nth=100: flip-bit payload'\n\n"
	       "Exit status: 0 ended by a signal or --seconds; 1 a replay did not meet all units of its "
	       "record, or frames were lost without a setting; 2 wrong usage, a bad rule, or a file of "
	       "rules or decisions that cannot be read; 3 not permitted or not built; 4 failed.",
	.children = kids,
};

/* --- the run ---------------------------------------------------------------------------------- */

static enum iw_rule_carrier carrier_of(const struct opts *o)
{
	return o->between                             ? IW_RULE_FRAMES
	       : strcmp(o->cli.transport, "udp") == 0 ? IW_RULE_UDP
						      : IW_RULE_TCP;
}

static int add_rules(struct opts *o, struct iw_fault *why)
{
	for (size_t i = 0; i < o->rules; i++) {
		int err = o->rule[i].file ? iw_relay_rules_add(o->relay.rules, o->rule[i].text, why)
					  : iw_rules_add(o->relay.rules, o->rule[i].text, why);

		if (err < 0)
			return err;
	}
	return 0;
}

static int check_link(const struct opts *o, struct iw_fault *why)
{
	static const char *const options_of[] = { "--link-ab", "--link-ba" };
	const struct iw_relay *r = &o->relay;

	for (unsigned d = 0; d < 2; d++) {
		const char *name = iw_settings_not_stream(&r->link[d]);

		if (carrier_of(o) == IW_RULE_TCP && r->linked[d] && name)
			return iw_fail(
				why, IW_E_INVAL,
				"%s %s: TCP would repair it, so it has no effect in a stream; use --between, or a rule",
				r->linked[!d] ? "--link" : options_of[d], name);
	}
	return 0;
}

/* Reads what the options name: rules, the files of injected octets, and the replay. */
static int read_inputs(struct opts *o, struct iw_fault *why)
{
	struct iw_relay *r = &o->relay;
	struct iw_relay_log_cfg log = { .cli = &o->cli, .replay = o->replay };
	int err = iw_rules_new(&r->rules, carrier_of(o), r->seed, iw_relay_rules_load, NULL,
			       &iw_os_heap);

	if (err < 0)
		return iw_fail(why, err, "out of memory");
	log.rules = r->rules;
	err = check_link(o, why);
	if (err == 0)
		err = add_rules(o, why);
	if (err == 0)
		err = iw_relay_log_open(&r->log, &log, why);
	r->need_units = iw_rules_count(r->rules) > 0 || o->replay;
	return err;
}

/* After the inputs were read: an output may have the name of one. */
static int open_outputs(struct opts *o, struct iw_fault *why)
{
	struct iw_relay *r = &o->relay;
	int err = o->record ? iw_relay_log_record(r->log, o->record, why) : 0;

	if (err == 0 && o->pcap)
		err = iw_relay_capture_open(&r->capture, o->pcap, o->between != NULL, why);
	return err;
}

/* --check: reports what was read. */
static int show_checked(struct opts *o)
{
	uint64_t rules = iw_rules_count(o->relay.rules),
		 decisions = iw_relay_log_unused(o->relay.log);
	struct iw_json *out = &o->cli.out;

	if (o->cli.json) {
		iw_json_begin(out, "checked");
		iw_json_u64(out, "rules", rules);
		iw_json_u64(out, "recorded_decisions", decisions);
		return iw_json_end(out) < 0 ? IW_EXIT_FAILED : IW_EXIT_OK;
	}
	if (!o->cli.quiet)
		printf("valid: rules: %" PRIu64 ", recorded decisions: %" PRIu64 "\n", rules,
		       decisions);
	return IW_EXIT_OK;
}

static int relay(struct opts *o)
{
	struct iw_fault why = { 0 };

	if (open_outputs(o, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	switch (carrier_of(o)) {
	case IW_RULE_TCP:
		return iw_relay_tcp(&o->relay);
	case IW_RULE_UDP:
		return iw_relay_udp(&o->relay);
	case IW_RULE_FRAMES:
		return iw_relay_frames(&o->relay);
	}
	return IW_EXIT_FAILED;
}

/* A bad rule, and a file of rules, octets or decisions that cannot be read, are errors of usage. */
static int bad_input(struct opts *o, struct iw_fault *why)
{
	if (why->err != IW_E_NOMEM)
		why->err = IW_E_INVAL;
	return iw_cli_fail(&o->cli, why);
}

static int close_all(struct opts *o, int status)
{
	struct iw_fault why = { 0 };

	if (iw_relay_log_close(o->relay.log, &why) < 0)
		status = iw_cli_fail(&o->cli, &why);
	if (iw_relay_capture_close(o->relay.capture, &why) < 0)
		status = iw_cli_fail(&o->cli, &why);
	iw_rules_free(o->relay.rules);
	free(o->rule);
	free(o->listen);
	free(o->to);
	return status;
}

static int run(struct opts *o)
{
	struct iw_relay *r = &o->relay;
	struct iw_fault why = { 0 };
	int status;

	/* Each connection needs two descriptors, and more without rules. */
	iw_cli_allow_descriptors();
	r->cli = &o->cli;
	r->end_ns = o->seconds ? iw_os_now() + IW_SEC(o->seconds) : IW_TIME_NEVER;
	/* Two links with the same seed would make the same decisions. */
	r->link[0].seed = 2 * r->seed;
	r->link[1].seed = 2 * r->seed + 1;
	if (read_inputs(o, &why) < 0)
		status = bad_input(o, &why);
	else
		status = o->check ? show_checked(o) : relay(o);
	return close_all(o, status);
}

static unsigned confine(struct iw_cli *cli, uint64_t *caps)
{
	(void)cli;
	(void)caps;
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const transports[] = { "tcp", "udp", NULL };
	static struct opts o = { .relay = { .seed = 1,
					    .connect_timeout_ns = IW_SEC(IW_CLI_SETUP_S) } };
	int status;

	iw_cli_init(&o.cli, "ddp-impair", "tcp");
	o.cli.transports = transports;
	o.cli.confine = confine;
	iw_settings_default(&o.relay.link[0]);
	iw_settings_default(&o.relay.link[1]);
	iw_cli_parse(&o.cli, &argp, argc, argv, 0, &o);
	status = iw_cli_start(&o.cli);
	if (status == IW_EXIT_OK)
		status = run(&o);
	return iw_cli_finish(&o.cli, status);
}
