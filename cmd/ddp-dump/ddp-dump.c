// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ddp-dump: decodes MPA, DDP over SCTP, DDP and RDMAP in captures, one line per segment. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ddp-dump/capture.h"
#include "cli/cli.h"
#include "cli/confine.h"
#include "cli/conn.h"
#include "cli/doctor.h"
#include "cli/option.h"
#include "cli/parse.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "cli/usage.h"
#include "ddp-dump/save.h"
#include "ddp-dump/show.h"
#include "os/os.h"
#include "os/probe.h"
#include "sctpmap/sctpmap.h"
#include "util/num.h"
#include "wire/sctp.h"

#define SNAPLEN_MIN 64 /* just more than an Ethernet, an IPv4 and a TCP header */
#define SNAPLEN_MAX 262144
#define BUFFER_MIN  (64 << 10)
#define BUFFER_MAX  (1 << 30)

struct opts {
	struct iw_cli cli;
	const char *write;        /* file that frames are copied to; NULL: none */
	struct iw_cap_save *save; /* that file */
	struct iw_cap_source_cfg source;
	struct iw_cap_filter filter;
	char *expression;          /* the arguments, joined: owned; source.filter is this */
	const char *file_argument; /* the first argument that is the name of a file; NULL: none */
	uint64_t count;            /* frames; 0: all */
	uint16_t udp_port;
	const struct iw_sctpmap_profile *profile;
	bool align, sacks;
	struct iw_cap_show show;
	uint64_t shown; /* events */
};

struct result {
	struct iw_cap_totals totals;
	uint64_t rejected; /* frames of a file that the filter does not match */
	bool complete;     /* the whole capture was read, or as much as requested */
};

/* --- work --- */

static void show_events(struct opts *o, struct iw_cap *c)
{
	const struct iw_cap_event *ev;

	while ((ev = iw_cap_next(c)) && !ferror(stdout)) {
		bool wanted = iw_cap_filter(&o->filter, ev) &&
			      (!o->align || ev->kind == IW_CAP_ALIGN);

		if (wanted) {
			iw_cap_show_event(&o->show, ev);
			o->shown++;
		}
		if (o->save)
			iw_cap_save_event(o->save, ev, wanted && !o->align);
	}
}

/* Waits for frames or a signal, with all output flushed. */
static int wait_for_frames(struct opts *o, struct iw_cap_source *s, struct iw_fault *why)
{
	struct pollfd fds[] = { { .fd = iw_cap_source_fd(s), .events = POLLIN },
				{ .fd = iw_signals_fd(), .events = POLLIN } };

	iw_cap_show_flush(&o->show);
	if (o->save && iw_cap_save_flush(o->save, false, why) < 0)
		return IW_E_OS;
	if (poll(fds, IW_ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
		return iw_os_fail(why, errno, "wait for frames");
	return 0;
}

/* The frame is copied regardless of its events: no events are selected, or its whole connection
 * is. */
static bool is_saved(const struct iw_cap_filter *f, const struct iw_cap_flow *flow)
{
	if (f->errors || f->stags)
		return false;
	for (size_t i = 0; flow && i < f->streams; i++)
		if (f->stream[i].flow == flow->id)
			return true;
	return !f->streams;
}

/* -w failed: appends where decoding stopped (0: at the end). */
static void explain_loss(uint64_t frame, struct iw_fault *why)
{
	size_t len = strlen(why->text);
	char stopped[80] = "";

	if (frame)
		snprintf(stopped, sizeof(stopped),
			 "stopped at frame %llu, the rest was not decoded; ",
			 (unsigned long long)frame);
	snprintf(why->text + len, sizeof(why->text) - len, "; %sthe copy is incomplete", stopped);
}

/* Reads and decodes one frame, or waits until one is captured. 1: continue; 0: end of the file; or
 * an error. */
static int step(struct opts *o, struct iw_cap_source *s, struct iw_cap *c, struct iw_fault *why)
{
	const struct iw_cap_flow *flow;
	struct iw_cap_frame frame;
	unsigned from;
	int ret = iw_cap_read(s, &frame, why);

	if (ret == IW_E_AGAIN)
		return wait_for_frames(o, s, why) < 0 ? IW_E_OS : 1;
	if (ret <= 0)
		return ret;
	ret = iw_cap_push(c, &frame);
	if (ret < 0)
		return iw_fail(why, ret, "frame %U: no memory for another connection",
			       frame.number);
	flow = iw_cap_frame_flow(c, &from);
	if (o->save) {
		ret = iw_cap_save_frame(o->save, &frame, flow, from, is_saved(&o->filter, flow),
					why);
		if (ret < 0) {
			explain_loss(frame.number, why);
			return ret;
		}
	}
	show_events(o, c);
	return 1;
}

/* Decodes until the file ends, output fails or a signal arrives. 0, or the error that ended it. */
static int decode(struct opts *o, struct iw_cap_source *s, struct iw_cap *c, struct result *r,
		  struct iw_fault *why)
{
	const struct iw_cap_totals *totals = iw_cap_totals(c);
	struct iw_fault again;
	int ret = 1;

	while (ret > 0 && !ferror(stdout) && !iw_signals_stop() &&
	       (!o->count || totals->frames < o->count))
		ret = step(o, s, c, why);
	/* After a signal, an interrupted read is not an error. */
	if (ret < 0 && iw_signals_stop())
		ret = 1;
	r->complete = ret == 0 ||
		      (ret > 0 && (!o->source.file || (o->count && totals->frames == o->count)));
	/* Frames before the damaged one are good: their last events are reported too. */
	iw_cap_finish(c);
	show_events(o, c);
	/* The first failure is the one to report. */
	if (o->save && iw_cap_save_flush(o->save, true, ret < 0 ? &again : why) < 0) {
		if (ret >= 0)
			explain_loss(0, why);
		ret = IW_E_OS;
	}
	if (o->save && iw_cap_save_missed(o->save))
		iw_log_warn("%s lacks frames: they were selected too late, after 8192 more frames",
			    o->write);
	r->totals = *totals;
	r->rejected = iw_cap_source_rejected(s);
	iw_cap_source_drops(s, &r->totals.kernel_dropped, &r->totals.interface_dropped);
	return ret < 0 ? ret : 0;
}

static int status_of(const struct result *r)
{
	return r->totals.iwarp_flows && !r->totals.errors ? IW_EXIT_OK : IW_EXIT_NO;
}

static void report_no_iwarp(const struct opts *o, const struct iw_cap_totals *t)
{
	const uint64_t n = t->frames;

	if (t->cut_frames && n != o->count) {
		fprintf(stderr,
			"no iWARP found in %llu frame%s: the snap length cut %llu of them; "
			"capture whole frames, with tcpdump -s 0 or ddp-dump without -s\n",
			(unsigned long long)n, n == 1 ? "" : "s",
			(unsigned long long)t->cut_frames);
		return;
	}
	fprintf(stderr,
		"no iWARP found in %llu frame%s: no TCP connection with an MPA Request or Reply, "
		"no DDP over SCTP; %s\n",
		(unsigned long long)n, n == 1 ? "" : "s",
		n == o->count ? "--count ended it there: use a larger one"
			      : "capture from before a connection begins, and give the UDP port of "
				"SCTP with --udp-port if it is not " IW_CLI_TEXT(IW_SCTP_UDP_PORT));
}

/* Explains why no line was shown. */
static void report_nothing(const struct opts *o, const struct result *r)
{
	const struct iw_cap_totals *t = &r->totals;
	const struct iw_cap_filter *f = &o->filter;
	const char *file = !o->source.file                    ? o->source.interface
			   : strcmp(o->source.file, "-") == 0 ? "standard input"
							      : o->source.file;
	const char *name = o->source.filter && (r->rejected || !o->source.file) ? o->source.filter
										: file;
	char text[400];

	if (o->shown || !iw_log_on(IW_LOG_WARN))
		return;
	(void)iw_printable(text, sizeof(text), name, strlen(name), true);
	if (!t->frames && name != file)
		fprintf(stderr, "the filter \"%s\" matches no frame\n", text);
	else if (!t->frames && !o->source.file)
		fprintf(stderr, "no frame was captured on %s\n", text);
	else if (!t->frames)
		fprintf(stderr, "%s has no frames\n", text);
	else if (!t->iwarp_flows)
		report_no_iwarp(o, t);
	else if (f->errors && !f->streams && !f->stags)
		fprintf(stderr, "no error in %llu frames: --errors shows nothing else\n",
			(unsigned long long)t->frames);
	else if (f->streams == 1 && f->stream->flow >= t->flows)
		fprintf(stderr, "no segment of connection %u; the capture has %llu connection%s\n",
			f->stream->flow, (unsigned long long)t->flows, t->flows == 1 ? "" : "s");
	else if (f->streams == 1 && !f->stream->any && !t->sctp_frames)
		fprintf(stderr,
			"no segment of stream %u: connection %u is TCP, which has no streams; "
			"use --stream %u\n",
			f->stream->sid, f->stream->flow, f->stream->flow);
	else if (f->streams == 1 && !f->stream->any && !f->stags && !f->errors)
		fprintf(stderr, "no segment of stream %u of connection %u\n", f->stream->sid,
			f->stream->flow);
	else if (f->stags == 1 && !f->streams && !f->errors)
		fprintf(stderr, "no segment names the STag 0x%08x\n", *f->stag);
	else if (f->stags || f->streams)
		fprintf(stderr, "no segment matches %s\n",
			!f->stags     ? "--stream"
			: !f->streams ? "--stag"
				      : "--stream and --stag");
}

static int report(struct opts *o, const struct result *r, int err, struct iw_fault *why)
{
	int status = status_of(r);

	if (iw_cap_show_cut(&o->show))
		return status;
	if (err < 0) {
		/* The error line is not written through stdio's buffer, which still holds lines. */
		(void)fflush(stdout);
		status = iw_cli_fail(&o->cli, why);
	}
	iw_cap_show_totals(&o->show, &r->totals, !o->source.file, r->complete, status);
	if (err == 0)
		report_nothing(o, r);
	return status;
}

static int run(struct opts *o)
{
	static char out_buffer[64 << 10];
	struct iw_cap_cfg cfg = { .mem = &iw_os_heap,
				  .udp_port = o->udp_port,
				  .payload = o->show.payload,
				  .align = o->align,
				  .sacks = o->sacks,
				  .profile = o->profile };
	struct iw_cap_source *source = NULL;
	struct iw_cap *cap = NULL;
	struct iw_fault why = { 0 };
	struct result result = { .complete = false };
	int status, err;

	o->show.json = o->cli.json;
	/* Before the first line. */
	if (!isatty(STDOUT_FILENO))
		(void)setvbuf(stdout, out_buffer, _IOFBF, sizeof(out_buffer));
	if (iw_os_random(&cfg.seed, sizeof(cfg.seed)) < 0)
		cfg.seed = iw_os_now();
	if (iw_cap_open(&source, &o->source, &why) < 0)
		return iw_cli_fail(&o->cli, &why);
	if (o->write &&
	    iw_cap_save_open(&o->save, "-w", o->write, iw_cap_source_linktype(source),
			     o->filter.streams || o->filter.stags || o->filter.errors, &why) < 0) {
		status = iw_cli_fail(&o->cli, &why);
		goto out;
	}
	/* All files are open. From here on the tool reads data from peers. */
	if (iw_confine_plain(&o->cli, IW_CONFINE_LISTENS, &why) < 0) {
		status = iw_cli_fail(&o->cli, &why);
		goto out;
	}
	if (iw_cap_new(&cap, &cfg) < 0) {
		(void)iw_fail(&why, IW_E_NOMEM, "out of memory");
		status = iw_cli_fail(&o->cli, &why);
		goto out;
	}
	if (!o->source.file && iw_log_on(IW_LOG_WARN))
		fprintf(stderr, "%s: listening on %s\n", o->cli.tool, o->source.interface);
	err = decode(o, source, cap, &result, &why);
	status = report(o, &result, err, &why);
out:
	iw_cap_free(cap);
	iw_cap_save_close(o->save);
	iw_cap_close(source);
	return status;
}

/* --- options --- */

enum {
	KEY_EXPLAIN = 0x9001, /* above any character: long options only */
	KEY_ALIGN,
	KEY_SACKS,
	KEY_STAG,
	KEY_STREAM,
	KEY_ERRORS,
	KEY_UDP_PORT,
	KEY_PROFILE,
	KEY_NO_PROMISCUOUS,
};

static void *grow(struct argp_state *state, const void *array, size_t n, size_t size)
{
	/* The filter's pointer is const, but this file owns the array. */
	void *p = reallocarray((void *)(uintptr_t)array, n + 1, size);

	if (!p)
		argp_failure(state, IW_EXIT_FAILED, 0, "out of memory");
	return p;
}

static void add_stag(struct argp_state *state, struct iw_cap_filter *f, const char *arg)
{
	const char *digits = strncmp(arg, "0x", 2) == 0 ? arg + 2 : arg;
	size_t len = strlen(digits);
	uint32_t *stag;

	if (len < 1 || len > 8 || strspn(digits, "0123456789abcdefABCDEF") != len)
		argp_error(state, "--stag \"%s\": expected 1 to 8 hex digits, such as 0x0000beef",
			   arg);
	stag = grow(state, f->stag, f->stags, sizeof(*stag));
	stag[f->stags++] = (uint32_t)strtoul(digits, NULL, 16);
	f->stag = stag;
}

/* "3" or "3:17" */
static void add_stream(struct argp_state *state, struct iw_cap_filter *f, char *arg)
{
	struct iw_cap_stream s = { .any = true }, *stream;
	char *colon = strchr(arg, ':');
	uint64_t flow = 0, sid = 0;
	const char *why = NULL, *part = colon ? "before the colon: " : "";
	int err;

	if (colon)
		*colon = '\0';
	err = iw_parse_u64(&flow, arg, 0, UINT32_MAX, &why);
	if (err == 0 && colon) {
		part = "after the colon: ";
		err = iw_parse_u64(&sid, colon + 1, 0, UINT16_MAX, &why);
	}
	if (colon)
		*colon = ':';
	if (err < 0)
		argp_error(
			state,
			"--stream \"%s\": %s%s; expected the number of a connection, such as 3, or "
			"with a stream of SCTP from 0 to 65535, such as 3:0",
			arg, part, why);
	s.flow = (uint32_t)flow;
	s.any = !colon;
	s.sid = (uint16_t)sid;
	stream = grow(state, f->stream, f->streams, sizeof(*stream));
	stream[f->streams++] = s;
	f->stream = stream;
}

static void add_word(struct argp_state *state, struct opts *o, const char *arg)
{
	size_t had = o->expression ? strlen(o->expression) : 0, len = strlen(arg);
	char *p = realloc(o->expression, had + len + 2);
	struct stat st;

	if (!o->file_argument && stat(arg, &st) == 0 && S_ISREG(st.st_mode))
		o->file_argument = arg;
	if (!p)
		argp_failure(state, IW_EXIT_FAILED, 0, "out of memory");
	if (had)
		p[had++] = ' ';
	memcpy(p + had, arg, len + 1);
	o->expression = p;
}

static const char *file_name(const struct argp_state *state, const char *option, const char *arg,
			     bool standard)
{
	if (arg[0] == '\0')
		argp_error(state, "%s \"\": empty; expected the name of a file", option);
	if (!standard && strcmp(arg, "-") == 0)
		argp_error(state, "%s \"-\": the events are written there; use the name of a file",
			   option);
	return arg;
}

static void check_write(const struct argp_state *state, const struct opts *o)
{
	struct stat in, out;
	int err = strcmp(o->source.file, "-") == 0 ? fstat(STDIN_FILENO, &in)
						   : stat(o->source.file, &in);

	if (err == 0 && stat(o->write, &out) == 0 && S_ISREG(in.st_mode) &&
	    in.st_dev == out.st_dev && in.st_ino == out.st_ino)
		argp_error(state, "-w %s: the same file as -r %s; name another file", o->write,
			   o->source.file);
}

/* The option that --align excludes; NULL: none is given. */
static const char *not_with_align(const struct opts *o)
{
	return o->show.explain    ? "--explain"
	       : o->show.payload  ? "--hex"
	       : o->filter.errors ? "--errors"
	       : o->filter.stags  ? "--stag"
	       : o->sacks         ? "--sacks"
				  : NULL;
}

/* An option with one value may be repeated only with the same value. */
static const char *only(const struct argp_state *state, const char *option, const char *had,
			const char *arg)
{
	if (had && arg && strcmp(had, arg) != 0)
		argp_error(state, "%s %s and %s %s exclude each other; leave out one", option, had,
			   option, arg);
	return arg ? arg : had;
}

static void check(struct argp_state *state, struct opts *o)
{
	o->source.interface = only(state, "-i", o->source.interface, o->cli.interface);
	o->source.filter = o->expression;
	if (!o->source.file && !o->source.interface && o->file_argument)
		argp_error(state, "\"%s\": a file, not a filter; read a capture with -r %s",
			   o->file_argument, o->file_argument);
	if (!o->source.file && !o->source.interface && o->expression)
		argp_error(state,
			   "\"%s\": no such file, and a filter needs input: name a capture with "
			   "-r FILE or an interface with -i IF",
			   o->expression);
	if (!o->source.file && !o->source.interface)
		argp_error(state,
			   "no input: name a capture with -r FILE or an interface with -i IF");
	if (o->source.file && o->source.interface)
		argp_error(state,
			   "-r FILE and -i IF exclude each other: read a file or capture live");
	if (o->source.file &&
	    (o->source.snaplen || o->source.buffer_octets || o->source.not_promiscuous))
		argp_error(state, "--%s: only for a live capture; use it with -i IF",
			   o->source.snaplen         ? "snapshot-length"
			   : o->source.buffer_octets ? "buffer-size"
						     : "no-promiscuous-mode");
	if (o->source.file && o->write)
		check_write(state, o);
	if (o->align && not_with_align(o))
		argp_error(state, "--align cannot be combined with %s", not_with_align(o));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->cli;
		return 0;
	case 'r':
		o->source.file =
			only(state, "-r", o->source.file, file_name(state, "--read", arg, true));
		return 0;
	case 'i':
		if (arg[0] == '\0')
			argp_error(state, "-i \"\": empty; expected the name of an interface");
		o->source.interface = only(state, "-i", o->source.interface, arg);
		return 0;
	case 'w':
		o->write = only(state, "-w", o->write, file_name(state, "--write", arg, false));
		return 0;
	case 'c':
		o->count = iw_cli_u64(state, "--count", arg, 1, UINT64_MAX);
		return 0;
	case 's':
		o->source.snaplen = (uint32_t)iw_cli_u64(state, "--snapshot-length", arg,
							 SNAPLEN_MIN, SNAPLEN_MAX);
		return 0;
	case 'B':
		o->source.buffer_octets =
			(uint32_t)iw_cli_size(state, "--buffer-size", arg, BUFFER_MIN, BUFFER_MAX);
		return 0;
	case KEY_NO_PROMISCUOUS:
		o->source.not_promiscuous = true;
		return 0;
	case KEY_UDP_PORT:
		o->udp_port = iw_cli_port(state, "--udp-port", arg, 1);
		return 0;
	case KEY_PROFILE:
		o->profile = iw_sctpmap_profile_find(iw_cli_profile(state, arg));
		return 0;
	case 'n':
		argp_error(state, "-n: addresses are never shown as names: leave it out");
		return 0;
	case 'X':
		argp_error(state, "-X: use -x, which shows the payload in hex and as text");
		return 0;
	case 'x':
		o->show.payload = true;
		return 0;
	case KEY_EXPLAIN:
		o->show.explain = true;
		return 0;
	case KEY_ALIGN:
		o->align = true;
		return 0;
	case KEY_SACKS:
		o->sacks = true;
		return 0;
	case KEY_STAG:
		add_stag(state, &o->filter, arg);
		return 0;
	case KEY_STREAM:
		add_stream(state, &o->filter, arg);
		return 0;
	case KEY_ERRORS:
		o->filter.errors = true;
		return 0;
	case ARGP_KEY_ARG:
		add_word(state, o, arg);
		return 0;
	case ARGP_KEY_END:
		check(state, o);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* clang-format off */
static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Where frames come from:", 1 },
	{ "read", 'r', "FILE", 0, "Read the capture FILE (pcap or pcapng); - is standard input", 0 },
	{ NULL, 'i', "IF", 0, "Capture live on the interface IF, as --interface; any means all interfaces", 0 },
	{ "write", 'w', "FILE", 0, "Copy the selected frames to FILE: pcapng if its name ends in .pcapng, else pcap", 0 },
	{ "count", 'c', "N", 0, "Stop after N frames", 0 },
	{ "snapshot-length", 's', "N", 0, "Live: capture N octets of each frame (default 262144)", 0 },
	{ "buffer-size", 'B', "SIZE", 0, "Live: size of the kernel's buffer (default 16M)", 0 },
	{ "no-promiscuous-mode", KEY_NO_PROMISCUOUS, NULL, 0,
	  "Live: capture only frames to and from this machine", 0 },
	{ "udp-port", KEY_UDP_PORT, "PORT", 0,
	  "Decode SCTP in UDP on PORT in addition to " IW_CLI_TEXT(IW_SCTP_UDP_PORT), 0 },
	{ "profile", KEY_PROFILE, "rfc|sctp-draft-02", 0,
	  "Edition of DDP over SCTP if the capture lacks the INIT (default rfc)", 0 },
	{ NULL, 0, NULL, 0, "What is shown:", 2 },
	/* Options of tcpdump. */
	{ NULL, 'n', NULL, OPTION_HIDDEN, NULL, 0 },
	{ NULL, 'X', NULL, OPTION_HIDDEN, NULL, 0 },
	{ "explain", KEY_EXPLAIN, NULL, 0,
	  "Explain each header field: octets, value, meaning and section", 0 },
	{ "hex", 'x', NULL, 0, "Print the payload of each segment in hex and as text", 0 },
	{ "align", KEY_ALIGN, NULL, 0,
	  "Show only where FPDUs begin in TCP segments: a histogram for each direction", 0 },
	{ "sacks", KEY_SACKS, NULL, 0, "Also show each SACK chunk of SCTP", 0 },
	{ "errors", KEY_ERRORS, NULL, 0,
	  "Show only broken rules, deviations, Terminates, rejections, losses and resets", 0 },
	{ "stag", KEY_STAG, "STAG", 0, "Show only segments that name this STag; may be repeated", 0 },
	{ "stream", KEY_STREAM, "N[:SID]", 0,
	  "Show only connection N, the number after #, or its stream SID; may be repeated", 0 },
	{ 0 },
};
/* clang-format on */
static const struct argp_child kids[] = { { &iw_cli_interface_argp, 0, "Common options:", -2 },
					  { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[FILTER...]",
	.doc = "Decode iWARP in a capture or live: MPA, DDP and RDMAP over TCP, and DDP over SCTP, one "
	       "line per segment, with CRC verdicts. FILTER selects frames, as for tcpdump.\v"
	       "Exit status: 0 iWARP found and no rule broken; 1 no iWARP, or CRC or protocol errors; "
	       "2 wrong usage; 3 built without libpcap, or not permitted; 4 the capture cannot be read.",
	.children = kids,
};

/* --- --doctor --------------------------------------------------------------------------------- */

static const char *const no_transports[] = { NULL };

static void doctor_needs(struct iw_doctor *d)
{
	if (!iw_doctor_probe(d, "capture files", iw_cap_can_read, "build with libpcap"))
		d->can_run = false;
	iw_doctor_probe(d, "live capture", iw_os_probe_packet, "a kernel with CONFIG_PACKET");
}

/* --- main ------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	static struct opts o;
	int status;

	iw_cli_init(&o.cli, "ddp-dump", "tcp");
	o.cli.confine = iw_confine_listener;
	o.cli.transports = no_transports;
	o.cli.doctor_needs = doctor_needs;
	iw_cli_parse(&o.cli, &argp, argc, argv, 0, &o);
	status = iw_cli_start(&o.cli);
	if (status == IW_EXIT_OK)
		status = run(&o);
	free(o.expression);
	free((void *)(uintptr_t)o.filter.stag);
	free((void *)(uintptr_t)o.filter.stream);
	return iw_cli_finish(&o.cli, status);
}
