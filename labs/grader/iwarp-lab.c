/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The grader of the teaching labs. Students call it through ./check and make. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/json.h"
#include "cli/log.h"
#include "labs/grader/capture/conversation.h"
#include "labs/grader/peer/peer.h"
#include "labs/grader/run.h"

enum {
	MEASURES_MAX = 8, /* of one speed test */
};

static const struct lab *const all_labs[] = {
	&lab_framing,  &lab_tagged, &lab_untagged, &lab_read, &lab_startup,
	&lab_security, &lab_sctp,   &lab_capture,  &lab_xdp,  &lab_measure,
};

enum key {
	KEY_STUDENT = 256,
	KEY_FOLDER,
	KEY_SEED,
	KEY_STEP,
	KEY_SANITIZED,
	KEY_JSON,
	KEY_BRIEF,
	KEY_REPORT,
	KEY_TO,
	KEY_BIND,
	KEY_COUNT,
	KEY_SIZE
};

static const struct argp_option options[] = {
	{ "student", KEY_STUDENT, "FILE", 0, "The program of the student (build/student)", 0 },
	{ "folder", KEY_FOLDER, "DIR", 0, "The folder of the student's files (default: .)", 0 },
	{ "seed", KEY_SEED, "N", 0, "Hidden cases of this seed (default: 0)", 0 },
	{ "step", KEY_STEP, "NAME", 0, "Only this step", 0 },
	{ "sanitized", KEY_SANITIZED, NULL, 0, "The program was built with sanitizers", 0 },
	{ "json", KEY_JSON, NULL, 0, "One line of JSON", 0 },
	{ "brief", KEY_BRIEF, NULL, 0, "check: only the points, and the first failing step", 0 },
	{ "report", KEY_REPORT, NULL, 0, "check: the report, also after --brief", 0 },
	{ "port", 'p', "PORT", 0, "peer: the TCP port (default: 7174, that of rping)", 0 },
	{ "to", KEY_TO, "HOST", 0, "peer: connect as the client of rping, instead of listening",
	  0 },
	{ "bind", KEY_BIND, "ADDRESS", 0,
	  "peer: listen on this address (default: 127.0.0.1); '*': all", 0 },
	{ "count", KEY_COUNT, "N", 0, "peer: rounds of the client (default: 10)", 0 },
	{ "size", KEY_SIZE, "N", 0, "peer: octets of a ping of the client (default: 64)", 0 },
	{ "output", 'o', "PATH", 0, "trace: the file to write; captures: the folder", 0 },
	{ 0 },
};

struct command {
	const char *name;
	enum iw_exit (*run)(const struct command *self);
	/* What the command line said. */
	const struct lab *lab;
	struct lab_run_cfg cfg;
	struct peer_cfg peer;
	const char *output;
	bool json, brief, report;
};

static struct command given;

/* --- the commands -------------------------------------------------------------------------------- */

static enum iw_exit cannot(int err, const struct iw_fault *why)
{
	iw_log_error("%s", why->text[0] ? why->text : iw_err_text(err));
	return iw_exit_status(err);
}

static enum iw_exit check(const struct command *c)
{
	struct iw_fault why = { 0 };
	struct lab_run *run;
	int err = lab_run_new(&run, &c->cfg, &why);
	enum iw_exit status = IW_EXIT_OK;

	if (err)
		return cannot(err, &why);
	err = lab_run_steps(run, &why);
	if (!err && c->json)
		err = lab_report_json(run);
	else if (!err && c->brief)
		lab_report_brief(run);
	if (!err && !c->json && (c->report || !c->brief))
		lab_report(run);
	if (err)
		status = cannot(err, &why);
	else if (lab_first_failure(run) || lab_points_missing(run))
		status = IW_EXIT_NO;
	lab_run_free(run);
	return status;
}

/* Runs work with a new process of the module, and reports its failure. */
static enum iw_exit with_module(const struct command *c,
				bool (*work)(struct lab_run *run, const struct command *c))
{
	struct iw_fault why = { 0 };
	struct lab_run *run;
	enum iw_exit status = IW_EXIT_OK;
	int err = lab_run_new(&run, &c->cfg, &why);

	if (err)
		return cannot(err, &why);
	if (!work(run, c)) {
		lab_report_failure(lab_first_failure(run));
		status = IW_EXIT_NO;
	}
	lab_run_free(run);
	return status;
}

static bool work_trace(struct lab_run *run, const struct command *c)
{
	return lab_run_trace(run, c->output);
}

static enum iw_exit trace(const struct command *c)
{
	return with_module(c, work_trace);
}

static bool work_peer(struct lab_run *run, const struct command *c)
{
	return lab_run_peer(run, &c->peer);
}

static enum iw_exit peer(const struct command *c)
{
	return with_module(c, work_peer);
}

static void show_speed(const struct lab_speed *r, const struct command *c)
{
	struct iw_json w;

	if (!c->json) {
		printf("  %-40s yours %8.2f %s, ours %8.2f %s, ratio %.3g\n", r->what, r->student,
		       r->unit, r->ours, r->unit, r->student / r->ours);
		return;
	}
	iw_json_init(&w, 1);
	iw_json_begin(&w, "speed");
	iw_json_u64(&w, "lab", c->lab->number);
	iw_json_str(&w, "what", r->what);
	iw_json_str(&w, "unit", r->unit);
	iw_json_f64(&w, "student", r->student);
	iw_json_f64(&w, "ours", r->ours);
	iw_json_f64(&w, "ratio", r->student / r->ours);
	if (iw_json_end(&w))
		exit(IW_EXIT_FAILED);
	iw_json_fini(&w);
}

static bool work_speed(struct lab_run *run, const struct command *c)
{
	struct lab_speed results[MEASURES_MAX];
	int n = lab_run_speed(run, results, MEASURES_MAX);

	if (n < 0)
		fprintf(stderr, "nothing was measured: a result is wrong; pass ./check first\n");
	for (int i = 0; i < n; i++)
		show_speed(&results[i], c);
	return n >= 0;
}

static enum iw_exit speed(const struct command *c)
{
	return with_module(c, work_speed);
}

static enum iw_exit list(const struct command *c)
{
	(void)c;
	for (size_t i = 0; i < sizeof(all_labs) / sizeof(all_labs[0]); i++) {
		printf("%u %s: %s\n", all_labs[i]->number, all_labs[i]->folder, all_labs[i]->title);
		for (const struct lab_step *s = all_labs[i]->steps; s->name; s++)
			printf("    %-12s %3u  %-16s %s\n", s->name, s->points, s->clause,
			       s->about);
	}
	return IW_EXIT_OK;
}

/* The captures of lab 8 with other faults than those of the tarball. */
static enum iw_exit captures(const struct command *c)
{
	if (captures_write(c->cfg.seed, c->output)) {
		iw_log_error("%s: the captures cannot be written: %m", c->output);
		return IW_EXIT_FAILED;
	}
	return IW_EXIT_OK;
}

static const struct command commands[] = {
	{ .name = "check", .run = check },       { .name = "trace", .run = trace },
	{ .name = "speed", .run = speed },       { .name = "peer", .run = peer },
	{ .name = "captures", .run = captures }, { .name = "list", .run = list },
};

/* --- the command line ----------------------------------------------------------------------------- */

static void choose_command(const char *name, struct argp_state *state)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(name, commands[i].name)) {
			given.name = commands[i].name;
			given.run = commands[i].run;
			return;
		}
	argp_error(state, "%s: not a command; use check, trace, speed, peer, captures or list",
		   name);
}

static void choose_lab(const char *text, struct argp_state *state)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	for (size_t i = 0; !*end && i < sizeof(all_labs) / sizeof(all_labs[0]); i++)
		if (all_labs[i]->number == number)
			given.cfg.lab = given.lab = all_labs[i];
	if (!given.lab)
		argp_error(state, "%s: not a lab; use 1 to 10", text);
}

static uint64_t number_within(const char *option, const char *text, uint64_t min, uint64_t max,
			      struct argp_state *state)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v < min || v > max)
		argp_error(state, "%s %s: not a number; use %llu to %llu", option, text,
			   (unsigned long long)min, (unsigned long long)max);
	return v;
}

static bool has_step(const struct lab *lab, const char *name)
{
	for (const struct lab_step *s = lab->steps; s->name; s++)
		if (!strcmp(s->name, name))
			return true;
	return false;
}

static void complete(struct argp_state *state)
{
	if (!given.name)
		argp_error(state, "no command; use check, trace, speed, peer, captures or list");
	if (!strcmp(given.name, "captures") && !given.output)
		argp_error(state, "no --output DIR");
	if (!strcmp(given.name, "list") || !strcmp(given.name, "captures"))
		return;
	if (!given.lab)
		argp_error(state, "no lab; use 1 to 10");
	if (!given.cfg.program)
		argp_error(state, "no --student FILE; ./check and make set it");
	if (given.cfg.step && !has_step(given.lab, given.cfg.step))
		argp_error(state, "--step %s: not a step of this lab; `iwarp-lab list` has them",
			   given.cfg.step);
	if (!strcmp(given.name, "peer") && given.lab->number > 5)
		argp_error(state, "peer: labs 1 to 5 have one");
	if (!strcmp(given.name, "trace") && !given.output)
		argp_error(state, "no --output FILE");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_STUDENT:
		given.cfg.program = arg;
		return 0;
	case KEY_FOLDER:
		given.cfg.folder = arg;
		return 0;
	case KEY_SEED:
		given.cfg.seed = number_within("--seed", arg, 0, UINT64_MAX, state);
		return 0;
	case KEY_STEP:
		given.cfg.step = arg;
		return 0;
	case KEY_SANITIZED:
		given.cfg.sanitized = true;
		return 0;
	case KEY_BRIEF:
		given.brief = true;
		return 0;
	case KEY_REPORT:
		given.report = true;
		return 0;
	case KEY_JSON:
		given.json = true;
		return 0;
	case 'p':
		given.peer.port = (uint16_t)number_within("--port", arg, 0, 65535, state);
		return 0;
	case KEY_TO:
		given.peer.to = arg;
		return 0;
	case KEY_BIND:
		given.peer.bind = arg;
		return 0;
	case KEY_COUNT:
		given.peer.rounds = number_within("--count", arg, 1, UINT64_MAX, state);
		return 0;
	case KEY_SIZE:
		given.peer.size = (uint32_t)number_within("--size", arg, 26, PEER_PING_MAX, state);
		return 0;
	case 'o':
		given.output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0)
			choose_command(arg, state);
		else if (state->arg_num == 1)
			choose_lab(arg, state);
		else
			argp_error(state, "%s: too many arguments", arg);
		return 0;
	case ARGP_KEY_END:
		complete(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "COMMAND LAB",
		.doc = "Grades the teaching labs of iwarp-tools. Commands: check, trace, speed, peer, "
		       "captures, list.",
	};

	argp_err_exit_status = IW_EXIT_USAGE;
	iw_log_setup("iwarp-lab", IW_LOG_WARN);
	given.cfg.folder = ".";
	given.peer = (struct peer_cfg){
		.bind = "127.0.0.1", .port = PEER_PORT, .rounds = 10, .size = 64
	};
	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	return given.run(&given);
}
