/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --doctor: what this machine can run, what it cannot, why, and what would change it. The checks
 * fill one struct, which two writers read.
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
	IW_VERDICT_NO,   /* not here */
};

#define IW_DOCTOR_CHECKS 40

struct iw_doctor {
	const char *tool;
	const char *transport; /* NULL: the tool opens no connection */
	bool can_run; /* the chosen transport and what the tool needs are here, and it can be confined */
	size_t n;
	struct iw_check {
		char subject[32]; /* "transport tcp", "locked memory" */
		enum iw_verdict verdict;
		char seen[200];   /* the fact */
		char advice[200]; /* what would change it, or "" */
	} checks[IW_DOCTOR_CHECKS];
};

/*
 * Checks the machine, the transports in cli->transports with what they need, and what cli->doctor_needs adds; with -t xdp
 * also the interface cli->interface unless it is NULL. The tool's name and transport are kept. Touches the network only by
 * opening sockets; the steering program is loaded and unloaded again. Privileges are given up in a child process.
 */
void iw_doctor_examine(struct iw_doctor *d, struct iw_cli *cli);

/*
 * Adds a check: @probe returns 0, or an error with its reason in *why. @advice says what to do when this machine does not
 * have it (IW_E_NOTSUP), or is NULL when the reason says so. False: the probe failed.
 */
bool iw_doctor_probe(struct iw_doctor *d, const char *subject, int (*probe)(struct iw_fault *why),
		     const char *advice);

/*
 * All of it, as the options in @cli ask: JSON to cli->out, or the table to @f. Returns IW_EXIT_OK
 * when the chosen transport can run, IW_EXIT_CANNOT when it cannot, IW_EXIT_FAILED when the answer
 * was not written.
 */
int iw_cli_doctor(struct iw_cli *cli, FILE *f);

#endif
