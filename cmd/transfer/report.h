/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What ddp-send and ddp-recv tell their users: one line or one JSON object for each thing that happened, the progress line on a
 * terminal. The transfer fills plain structs, and this writes them.
 */
#ifndef IW_FILE_REPORT_H
#define IW_FILE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "transfer/protocol/xfer.h"

struct iw_report {
	struct iw_cli *cli;
	bool data_on_stdout; /* results would be in the way of the data */
	bool silent;         /* a look that nobody is told of */
	bool stats;          /* print totals at the end of a transfer */
	bool on_terminal;    /* standard error is one: a progress line makes sense */
	bool lost;           /* standard output failed: nobody listens any more */
	struct iw_cli_progress bar;
	bool bar_on;
	char what[192];   /* of the bar */
	uint64_t json_at; /* the next "progress" event */
	/* Of the last names that failed for a reason that many names can have in common; "": none. */
	char cause[IW_XFER_TEXT_MAX + 1];
	uint64_t repeats; /* further names with this cause, logged for --verbose only */
};

/* How far a transfer is, and the file that moves. */
struct iw_report_progress {
	const char *name;               /* NULL: none, or many small ones together */
	uint64_t file_done, file_total; /* octets; total 0: not known */
	uint64_t files;                 /* done, or found to be there */
	uint64_t done, total;           /* octets of all files; total 0: not known */
	uint64_t moved;
};

/* One file's end. */
struct iw_file_report {
	const char *peer;
	const struct iw_xmeta *meta;
	const char *
		typed; /* the path of the local user, shown if it failed; NULL: meta has the name */
	uint32_t code;
	const char *text;
	bool told_by_peer;
	bool dry_run;
};

/* One transfer's end. */
struct iw_transfer_report {
	const char *peer;
	enum iw_xfer_role role;
	enum iw_xfer_mode mode;
	enum iw_xfer_digest digest;
	struct iw_xfer_counts counts;
	uint64_t duration_ns;
	uint64_t redials;     /* connections set up again */
	uint64_t connections; /* set up in all */
	bool dry_run;
	uint32_t opts; /* of this side: a set of enum iw_xopt */
	/* The patterns left out at least one entry. */
	bool excluded;
	const struct iw_filter *filter;
	struct iw_qp_info info;
	struct iw_fault fault;
};

/* cli is kept. */
void iw_report_init(struct iw_report *r, struct iw_cli *cli, bool data_on_stdout);
void iw_report_fini(struct iw_report *r);
/* True if iw_report_progress shows anything. */
bool iw_report_shows_progress(const struct iw_report *r);

/*
 * udp_port: 0 if SCTP is not in UDP. any_port: the system has chosen a port. Then the line is
 * printed with --quiet too, because it is the only source of the port.
 */
void iw_report_listening(struct iw_report *r, const char *addr, uint16_t port, uint16_t udp_port,
			 bool any_port, bool by_default);
/* For --verbose: what was agreed on in the set-up of @qp, and over xdp the mode that was reached. */
void iw_report_connected(const struct iw_qp *qp);
/* Reports a rejected connection. */
void iw_report_rejected(struct iw_report *r, const char *peer, const struct iw_fault *why);
void iw_report_file(struct iw_report *r, const struct iw_file_report *f);
/* --delete: name is no more at the target, or would not be. */
void iw_report_gone(struct iw_report *r, const char *peer, const char *name, bool would);
/* Cheap when it is not time to draw. */
void iw_report_progress(struct iw_report *r, const struct iw_report_progress *p, uint64_t now);
/* When iw_report_progress wants to be called again; IW_TIME_NEVER: not at all. */
uint64_t iw_report_deadline(const struct iw_report *r, uint64_t now);
void iw_report_transfer(struct iw_report *r, const struct iw_transfer_report *t);

/* The exit status of such an end. */
int iw_report_status(const struct iw_transfer_report *t);

#endif
