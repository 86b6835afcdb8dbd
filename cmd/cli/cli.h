/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cli: what every tool shares. Linked into the tools, not into the library.
 *
 * A tool is: an options struct with defaults, an argp parser, a call, a result struct, a writer.
 *
 * struct opts { struct iw_cli cli; uint64_t count; };
 *
 * case ARGP_KEY_INIT: state->child_inputs[0] = &o->cli; return 0; case 'c': o->count =
 * iw_cli_u64(state, "--count", arg, 1, COUNT_MAX); return 0; ...
 * static const struct argp_child kids[] = { { &iw_cli_argp, 0, "Common options:", -1 }, { 0 } };
 *
 * int main(int argc, char **argv) {
 *		struct opts o = { .count = 10 };
 *		int status;
 *
 *		iw_cli_init(&o.cli, "ddp-thing", "tcp");
 *		argp_parse(&argp, argc, argv, 0, NULL, &o);
 *		status = iw_cli_start(&o.cli);
 *		if (status == IW_EXIT_OK)
 *			status = work(&o);
 *		return iw_cli_finish(&o.cli, status);
 * }
 *
 * A required argument is missed in ARGP_KEY_END (not ARGP_KEY_NO_ARGS): --doctor, which needs none,
 * has run and ended the tool by then. Results go to standard output, talk to standard error
 * (cli/log.h). The other headers of the room: option.h and parse.h (numbers), endpoint.h
 * (HOST:PATH), command.h (subcommands), json.h, table.h, human.h, progress.h, trace.h, doctor.h,
 * signals.h, confine.h, exit.h.
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
#define IW_CLI_PROGRESS_S 30 /* no progress */
#define IW_CLI_SETUP_S    10 /* setting a connection up */

struct iw_doctor;

/* The common options, and what goes with them. Strings are borrowed from argv. */
struct iw_cli {
	const char *tool;               /* "ddp-send" */
	const char *transport;          /* "tcp", "sctp", "udp", "raw" or "xdp" */
	bool transport_given;           /* the user has named it */
	bool port_given, timeout_given; /* the same for these */
	uint16_t port;                  /* 0: the system's choice, for listeners */
	const char *bind;               /* address, name or "*"; NULL: not given */
	const char *interface;          /* NULL: not given */
	uint64_t timeout_ns;            /* no progress for so long: give up */
	uint64_t setup_timeout_ns;      /* the same while a connection is set up */
	bool json;
	bool quiet;
	bool doctor;
	/* For --doctor: the transports that the tool can use, ended by NULL; an empty list if it opens no connection.
	 * NULL: all that the library has. */
	const char *const *transports;
	/* What else the tool needs: adds checks with iw_doctor_probe() (cli/doctor.h). NULL: nothing. */
	void (*doctor_needs)(struct iw_doctor *d);
	/* What a tool's --doctor does behind the common checks, whose exit status it is given: returns the
	 * one to end with. NULL: nothing. */
	int (*doctor_also)(struct iw_cli *cli, int status);
	/* What --doctor tries, after all options are parsed: returns a set of enum iw_confine_how (cli/confine.h), and
	 * adds to *caps what the tool keeps beside that. NULL: the tool is not confined. */
	unsigned (*confine)(struct iw_cli *cli, uint64_t *caps);
	bool confined; /* by iw_confine() */
	enum iw_log_level level;
	const char *trace_path; /* NULL: not given */

	struct iw_json out; /* standard output, when json is set; ready after iw_cli_start() */
	struct iw_trace_file trace; /* open after iw_cli_start() when --trace was given */
};

/* The argp children that read the common options into the struct iw_cli that is their input. Each tool takes one. */
extern const struct argp iw_cli_argp;           /* a tool that opens connections */
extern const struct argp iw_cli_interface_argp; /* one that opens none, but works on an interface */
extern const struct argp
	iw_cli_control_argp; /* one that talks to a listener by its control socket */

/*
 * Before argp_parse: the defaults, argp's version and exit status for bad usage, and the
 * log's name. Standard descriptors that are closed are opened on /dev/null, so that no socket is
 * ever taken for one. @tool and @transport (the tool's default) are kept.
 */
void iw_cli_init(struct iw_cli *cli, const char *tool, const char *transport);

/*
 * After argp_parse: sets the log's level, the signals (cli/signals.h), the JSON writer, and opens
 * the trace. IW_EXIT_OK, or the status to end with; the user has been told.
 */
IW_MUST_CHECK int iw_cli_start(struct iw_cli *cli);

/*
 * Whether the chosen transport can run here: IW_EXIT_OK, or IW_EXIT_CANNOT after telling why. For
 * tools that open a connection, before anything else.
 */
IW_MUST_CHECK int iw_cli_check_transport(struct iw_cli *cli);
/* True if it is the name of a transport, built or not. */
bool iw_cli_is_transport(const char *name);

/*
 * Tells of a failure, on standard error and, with --json, as an "error" event: "tool", "error" (the
 * constant's name), "text", and where known "clause", "errno", "terminate" (layer, etype, code),
 * "from_peer", "exit_status". Returns the exit status that goes with it.
 */
int iw_cli_fail(struct iw_cli *cli, const struct iw_fault *why);

/* For --doctor of a tool that examines only this machine: warns that @host (NULL: not given) was not contacted. */
void iw_cli_warn_of_host(const char *host);

/* The "error" event alone. 0, or the error of iw_json_end(). */
int iw_cli_error_event(struct iw_cli *cli, const struct iw_fault *why, int status);

/*
 * Writes what stdio holds of standard output. 0, or IW_E_OS if any of it was lost: the tool ends, and iw_cli_finish()
 * reports the reason.
 */
IW_MUST_CHECK int iw_cli_flush(void);

/*
 * At the end of main: closes the trace and makes sure that standard output took everything. Returns
 * @status, or IW_EXIT_FAILED when output was lost and @status was IW_EXIT_OK or IW_EXIT_NO.
 */
IW_MUST_CHECK int iw_cli_finish(struct iw_cli *cli, int status);

#endif
