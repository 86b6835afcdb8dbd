/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cli: what the tools share. Linked into the tools, not into the library.
 *
 * A tool consists of a struct of options with defaults, an argp parser, a call that does the work,
 * a struct of results, and writers.
 *
 *	struct opts {
 *		struct iw_cli cli;
 *		uint64_t count;
 *	};
 *
 *	case ARGP_KEY_INIT:
 *		state->child_inputs[0] = &o->cli;
 *		return 0;
 *	case 'c':
 *		o->count = iw_cli_u64(state, "--count", arg, 1, COUNT_MAX);
 *		return 0;
 *
 *	static const struct argp_child kids[] = { { &iw_cli_argp, 0, "Common options:", -2 }, { 0 } };
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct opts o = { .count = 10 };
 *		int status;
 *
 *		iw_cli_init(&o.cli, "ddp-thing", "tcp");
 *		iw_cli_parse(&o.cli, &argp, argc, argv, 0, &o);
 *		status = iw_cli_start(&o.cli);
 *		if (status == IW_EXIT_OK)
 *			status = work(&o);
 *		return iw_cli_finish(&o.cli, status);
 *	}
 *
 * A parser checks for required arguments in ARGP_KEY_END, not in ARGP_KEY_NO_ARGS: --doctor needs
 * no arguments, and ends the tool before ARGP_KEY_END. Results go to standard output, messages to
 * standard error (cli/log.h).
 *
 * Other headers:
 *   arguments    option.h, parse.h, value.h, usage.h, command.h (subcommands), config.h
 *                (configuration files), endpoint.h (HOST:PATH), conn.h and param.h (options of
 *                connections)
 *   output       log.h, json.h, table.h, human.h, text.h, term.h, progress.h, trace.h, conn_facts.h
 *   process      signals.h, exit.h, passed.h (socket activation), confine.h with landlock.h and
 *                seccomp.h, doctor.h
 *   connections  context.h, listener.h
 *   measurement  hist.h, pattern.h
 *
 * Threads: options and the log's settings are set before threads start and only read afterwards.
 */
#ifndef IW_CLI_CLI_H
#define IW_CLI_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "cli/exit.h"
#include "cli/json.h"
#include "cli/log.h"
#include "cli/trace.h"

#define IW_CLI_PORT       7471
/* Default time limits in seconds: without progress, and while a connection is set up. */
#define IW_CLI_PROGRESS_S 30
#define IW_CLI_SETUP_S    10

struct iw_config;
struct iw_doctor;

/* The common options and the output of a tool. Strings are borrowed from argv. */
struct iw_cli {
	const char *tool;               /* "ddp-send" */
	const char *transport;          /* "tcp", "sctp", "udp", "raw" or "xdp" */
	bool transport_given;           /* by the user */
	bool port_given, timeout_given; /* by the user */
	uint16_t port;                  /* 0: the system chooses a listener's port */
	const char *bind;               /* address, name or "*"; NULL: not given */
	const char *interface;          /* NULL: not given */
	uint64_t timeout_ns;            /* the tool gives up after this time without progress */
	uint64_t setup_timeout_ns;      /* the same while a connection is set up */
	bool json;
	bool quiet;
	bool doctor;
	const struct iw_config *config; /* of iw_cli_config_apply; NULL: it read no file */
	/*
	 * For --doctor: the transports that the tool can use, ended by NULL. An empty list: the
	 * tool opens no connection. NULL: all transports of the library.
	 */
	const char *const *transports;
	/*
	 * For --doctor: adds the tool's own checks with iw_doctor_probe (cli/doctor.h). NULL: none.
	 */
	void (*doctor_needs)(struct iw_doctor *d);
	/*
	 * For --doctor, after the common checks: takes their exit status and returns the tool's.
	 * NULL: nothing to do.
	 */
	int (*doctor_also)(struct iw_cli *cli, int status);
	/*
	 * For --doctor, after all options are parsed: returns the set of enum iw_confine_how
	 * (cli/confine.h) that the tool would use, and adds the other capabilities that it keeps to
	 * *caps. NULL: the tool is not confined.
	 */
	unsigned (*confine)(struct iw_cli *cli, uint64_t *caps);
	bool confined; /* by iw_confine */
	enum iw_log_level level;
	const char *trace_path; /* NULL: not given */

	/* Standard output, for use if json is set; ready after iw_cli_init. */
	struct iw_json out;
	/* Open after iw_cli_start if --trace was given. */
	struct iw_trace_file trace;
};

/* The argp children for the common options. Their input is a struct iw_cli. A tool uses one. */
/* For a tool that opens connections. */
extern const struct argp iw_cli_argp;
/* For a tool that works on an interface and opens no connection. */
extern const struct argp iw_cli_interface_argp;
/* For a tool that uses the control socket of a listener. */
extern const struct argp iw_cli_control_argp;
/*
 * The part that all of them have: --json, --verbose, --quiet, --doctor, --no-config. For a tool that
 * names its endpoints with options of its own.
 */
extern const struct argp iw_cli_report_argp;

/*
 * Call before iw_cli_parse. Sets the defaults, argp's version and exit status for usage errors, and
 * the name in messages. Opens closed standard descriptors on /dev/null, so that no socket gets one
 * of their numbers. tool and transport (the tool's default) are kept.
 */
void iw_cli_init(struct iw_cli *cli, const char *tool, const char *transport);

/*
 * Call after iw_cli_parse. Sets the log level and no_new_privs (iw_confine_early), installs the
 * signal handlers (cli/signals.h) and opens the trace. Returns IW_EXIT_OK, or the status with which
 * the tool must end; the failure has been reported.
 */
IW_MUST_CHECK int iw_cli_start(struct iw_cli *cli);

/*
 * Allows the process as many descriptors as its user may have (RLIMIT_NOFILE), for a tool that
 * serves many connections. Without success fewer connections fit.
 */
void iw_cli_allow_descriptors(void);

/*
 * Checks that the chosen transport can run on this machine. Returns IW_EXIT_OK, or what iw_cli_fail
 * returns for the reason. A tool that opens connections calls it first.
 */
IW_MUST_CHECK int iw_cli_check_transport(struct iw_cli *cli);
/* True if name is that of a transport, even if it is not built in. */
bool iw_cli_is_transport(const char *name);

/*
 * Reports a failure on standard error and, with --json, as an "error" event (iwarp-json(5)).
 * Returns the exit status for it (cli/exit.h), or IW_EXIT_FAILED if the event could not be written.
 */
int iw_cli_fail(struct iw_cli *cli, const struct iw_fault *why);

/* For --doctor, which examines only this machine: warns that host was not contacted. NULL: no host
 * was given; does nothing. */
void iw_cli_warn_of_host(const char *host);

/* Writes only the "error" event. Errors of iw_json_end. */
int iw_cli_error_event(struct iw_cli *cli, const struct iw_fault *why, int status);

/*
 * Flushes standard output. IW_E_OS: output was lost. Then the tool must end, and iw_cli_finish
 * reports the reason.
 */
IW_MUST_CHECK int iw_cli_flush(void);

/*
 * Call at the end of main. Closes the trace and flushes standard output. Returns status, or
 * IW_EXIT_FAILED if output was lost and status was IW_EXIT_OK or IW_EXIT_NO.
 */
IW_MUST_CHECK int iw_cli_finish(struct iw_cli *cli, int status);

#endif
