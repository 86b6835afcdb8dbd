// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ddp-dump: what a capture says of MPA, DDP and RDMAP, one line a segment. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "capture/capture.h"
#include "cli/cli.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "os/os.h"
#include "util/num.h"

struct opts {
	struct iw_cli cli;
	const char *file;
};

struct result {
	struct iw_cap_totals totals;
	bool complete; /* the whole capture was read */
};

/* --- lines --- */

/* Local time of day, as tcpdump has it. The hour and minute change seldom, so they are kept. */
static void print_time(struct iw_text *t, uint64_t time_ns)
{
	static char hms[16];
	static time_t of = -1;
	time_t sec = (time_t)(time_ns / 1000000000u);
	uint32_t us = (uint32_t)(time_ns % 1000000000u / 1000);
	char digits[] = ".000000 ";

	if (sec != of) {
		struct tm tm;

		if (!localtime_r(&sec, &tm) || strftime(hms, sizeof(hms), "%H:%M:%S", &tm) == 0)
			hms[0] = '\0';
		of = sec;
	}
	for (size_t i = 6; i > 0; i--, us /= 10)
		digits[i] = (char)('0' + us % 10);
	iw_text_str(t, hms);
	iw_text_str(t, digits);
}

static void write_human(const struct iw_cap_event *ev)
{
	char line[IW_CAP_LINE];
	struct iw_text t;

	iw_text_init(&t, line, sizeof(line));
	print_time(&t, ev->time_ns);
	iw_text_fmt(&t, "%U %s > %s ", ev->frame, ev->flow->name[ev->from],
		    ev->flow->name[1 - ev->from]);
	iw_cap_event_print(&t, ev);
	puts(line);
}

static void write_json(const struct iw_cap_event *ev)
{
	char line[IW_CAP_LINE];
	struct iw_text t;

	iw_text_init(&t, line, sizeof(line));
	iw_cap_event_json(&t, ev);
	puts(line);
}

/* --- result --- */

static int status_of(const struct result *r)
{
	return r->totals.iwarp_flows && !r->totals.errors ? IW_EXIT_OK : IW_EXIT_NO;
}

static void write_result_json(const struct result *r, int status)
{
	char line[IW_CAP_LINE];
	struct iw_text t;

	iw_text_init(&t, line, sizeof(line));
	iw_cap_totals_json(&t, &r->totals, r->complete, status);
	puts(line);
}

/* The summary is talk, so that standard output holds the events alone. What is zero and usually
 * is stays unsaid. */
static void write_result_human(const struct result *r)
{
	static const struct {
		const char *text;
		size_t offset;
	} rows[] = {
#define IW_X_(name, what) { what, offsetof(struct iw_cap_totals, name) },
		IW_CAP_TOTALS_LIST(IW_X_)
#undef IW_X_
	};

	if (!iw_log_on(IW_LOG_WARN))
		return;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		uint64_t v = *(const uint64_t *)(const void *)((const char *)&r->totals +
							       rows[i].offset);

		if (v || iw_log_on(IW_LOG_INFO))
			fprintf(stderr, "%12llu %s\n", (unsigned long long)v, rows[i].text);
	}
	if (!r->totals.iwarp_flows)
		fputs("nothing iWARP found: no TCP connection with an MPA Request or Reply\n",
		      stderr);
}

/* --- work --- */

static void *heap_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void heap_free(void *ctx, void *p, size_t size)
{
	(void)ctx;
	(void)size;
	free(p);
}

static const struct iw_mem heap = { heap_alloc, heap_free, NULL };

static void tell_events(const struct opts *o, struct iw_cap *c)
{
	const struct iw_cap_event *ev;

	while ((ev = iw_cap_next(c)) && !ferror(stdout)) {
		if (o->cli.json)
			write_json(ev);
		else
			write_human(ev);
	}
}

/* Until the file ends, output fails, or somebody asks to stop. 0, or the error that ended it. */
static int decode(const struct opts *o, struct iw_cap_source *s, struct iw_cap *c, struct result *r,
		  struct iw_fault *why)
{
	struct iw_cap_frame frame;
	int ret = 0;

	while (!ferror(stdout) && !iw_signals_stop()) {
		ret = iw_cap_read(s, &frame, why);
		if (ret <= 0) {
			r->complete = ret == 0;
			break;
		}
		ret = iw_cap_push(c, &frame);
		if (ret < 0) {
			(void)iw_fail(why, ret, "frame %U: no memory for another connection",
				      frame.number);
			break;
		}
		tell_events(o, c);
	}
	/* What came before a damage is good, and its end is told. */
	iw_cap_finish(c);
	tell_events(o, c);
	r->totals = *iw_cap_totals(c);
	return ret < 0 ? ret : 0;
}

static int run(struct opts *o)
{
	struct iw_cap_cfg cfg = { .mem = &heap };
	struct iw_cap_source *source = NULL;
	struct iw_cap *cap = NULL;
	struct iw_fault why = { 0 };
	struct result result = { .complete = false };
	int status;

	if (iw_os_random(&cfg.seed, sizeof(cfg.seed)) < 0)
		cfg.seed = iw_os_now();
	if (iw_cap_open_file(&source, o->file, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	if (iw_cap_new(&cap, &cfg) < 0) {
		(void)iw_fail(&why, IW_E_NOMEM, "out of memory");
		status = iw_cli_fail(&o->cli, &why);
		goto out;
	}
	if (decode(o, source, cap, &result, &why) < 0) {
		/* The writer of the error line knows nothing of the lines that wait in stdio's
		 * buffer. */
		(void)fflush(stdout);
		status = iw_cli_fail(&o->cli, &why);
	} else {
		status = status_of(&result);
	}
	if (o->cli.json)
		write_result_json(&result, status);
	else
		write_result_human(&result);
out:
	iw_cap_free(cap);
	iw_cap_close(source);
	return status;
}

/* --- options --- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->cli;
		return 0;
	case 'r':
		if (arg[0] == '\0')
			argp_error(state, "--read \"\": empty; expected the name of a file, or -");
		o->file = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\": no argument expected; a capture is named by -r FILE",
			   arg);
		return 0;
	case ARGP_KEY_END:
		if (!o->file)
			argp_error(state, "nothing to read: name a capture by -r FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "read", 'r', "FILE", 0, "Read the capture FILE (pcap or pcapng); - is standard input",
	  0 },
	{ 0 },
};
static const struct argp_child kids[] = { { &iw_cli_argp, 0, "Common options:", -1 }, { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Decode iWARP in a capture: MPA, DDP and RDMAP over TCP, a line a segment, with CRC "
	       "verdicts.\v"
	       "Exit status: 0 iWARP found and no rule broken; 1 no iWARP, or CRC or protocol errors; "
	       "2 usage; 3 built without libpcap; 4 the capture cannot be read.",
	.children = kids,
};

int main(int argc, char **argv)
{
	struct opts o = { 0 };
	int status;

	iw_cli_init(&o.cli, "ddp-dump", "tcp");
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	status = iw_cli_start(&o.cli);
	if (status == IW_EXIT_OK)
		status = run(&o);
	return iw_cli_finish(&o.cli, status);
}
