/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --doctor: reports what this machine can run, what it cannot run, why, and what would change that.
 * The checks fill one struct, from which the text and the JSON are written.
 */
#ifndef IW_CLI_DOCTOR_H
#define IW_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <iwarp/err.h>

struct iw_cli;

enum iw_verdict {
	IW_VERDICT_OK,
	IW_VERDICT_WARN, /* works, but slower or smaller than it could */
	IW_VERDICT_NO,   /* not available here */
};

#define IW_DOCTOR_CHECKS 40

struct iw_doctor {
	const char *tool;
	const char *transport; /* NULL: the tool opens no connection */
	/*
	 * The transport and everything else that the tool needs are available, and confinement
	 * works.
	 */
	bool can_run;
	size_t n;
	struct iw_check {
		char subject[32]; /* "transport tcp", "locked memory" */
		enum iw_verdict verdict;
		char seen[200];   /* what was found */
		char advice[200]; /* what would change it, or "" */
	} checks[IW_DOCTOR_CHECKS];
};

/*
 * Checks the machine, each transport in cli->transports (NULL: sets it to all transports), and what
 * cli->doctor_needs adds. For a tool that can use -t xdp, also loads and unloads the steering
 * program, and checks the interface cli->interface unless it is NULL. Opens sockets but sends
 * nothing. Tests confinement in a child process. cli->tool and cli->transport are kept.
 */
void iw_doctor_examine(struct iw_doctor *d, struct iw_cli *cli);

/*
 * Adds a check. probe returns 0; 1: available, with a remark in *why; or an error with the reason
 * in *why. advice: what to do if the probe returns IW_E_NOTSUP; NULL: the reason already says so.
 * Returns false if the probe failed.
 */
bool iw_doctor_probe(struct iw_doctor *d, const char *subject, int (*probe)(struct iw_fault *why),
		     const char *advice);

/*
 * Examines the machine and writes the result, in JSON to cli->out or as a table to f. Returns
 * IW_EXIT_OK: the tool can run here; IW_EXIT_CANNOT: it cannot; IW_EXIT_FAILED: the result could
 * not be written.
 */
int iw_cli_doctor(struct iw_cli *cli, FILE *f);

#endif
