/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reports of ddp-send and ddp-recv to the user: a line or a JSON object per event, and the
 * progress line on a terminal. The transfer fills plain structs, and this file prints them.
 */
#ifndef IW_TRANSFER_REPORT_H
#define IW_TRANSFER_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "transfer/protocol/xfer.h"

struct iw_report {
	struct iw_cli *cli;
	bool data_on_stdout; /* standard output has data: results must not be mixed with them */
	bool silent;         /* a dry run that reports nothing */
	bool stats;          /* print totals at the end of a transfer */
	bool on_terminal;    /* standard error is a terminal: show a progress line */
	bool lost;           /* standard output failed: its reader is gone */
	struct iw_cli_progress bar;
	bool bar_on;
	char what[192];   /* text of the progress line */
	uint64_t json_at; /* time of the next "progress" event */
	/* The reason of the last failed names, if many names can have it; "": none. */
	char cause[IW_XFER_TEXT_MAX + 1];
	uint64_t repeats; /* further names with this reason, logged with --verbose only */
};

/* The progress of a transfer, and its current file. */
struct iw_report_progress {
	const char *name;               /* NULL: none, or many small ones */
	uint64_t file_done, file_total; /* octets; total 0: not known */
	uint64_t files;                 /* done, or skipped because they exist */
	uint64_t done, total;           /* octets of all files; total 0: not known */
	uint64_t moved;
};

/* The result of a file. */
struct iw_file_report {
	const char *peer;
	const struct iw_xfer_meta *meta;
	/* The path of the local user, shown if the file failed. NULL: meta has the name. */
	const char *typed;
	uint32_t code;
	const char *text;
	bool told_by_peer;
	bool dry_run;
};

/* The result of a transfer. */
struct iw_transfer_report {
	const char *peer;
	enum iw_xfer_role role;
	enum iw_xfer_mode mode;
	enum iw_xfer_digest_kind digest;
	struct iw_xfer_counts counts;
	uint64_t duration_ns;
	uint64_t redials;     /* how often a connection was set up again */
	uint64_t connections; /* established in total */
	bool dry_run;
	uint32_t opts; /* of this side: set of enum iw_xfer_opt */
	/* The patterns excluded at least one entry. */
	bool excluded;
	const struct iw_filter *filter;
	struct iw_qp_info info;
	struct iw_tls_info tls; /* version NULL: not encrypted */
	struct iw_fault fault;
};

/* cli is borrowed until iw_report_fini. */
void iw_report_init(struct iw_report *r, struct iw_cli *cli, bool data_on_stdout);
void iw_report_fini(struct iw_report *r);
/* True if iw_report_progress shows anything. */
bool iw_report_shows_progress(const struct iw_report *r);

/*
 * Reports the address of the listener. udp_port: 0 if SCTP is not in UDP. any_port: the system
 * chose the port; then the line is printed with --quiet too, because the user has no other source
 * for the port. by_default: without --bind; the line says that only this machine can connect.
 */
void iw_report_listening(struct iw_report *r, const char *addr, uint16_t port, uint16_t udp_port,
			 bool any_port, bool by_default);
/* With --verbose: the agreed parameters of qp, and with xdp the mode that was reached. */
void iw_report_connected(const struct iw_qp *qp);
/* Reports a rejected connection. */
void iw_report_rejected(struct iw_report *r, const char *peer, const struct iw_fault *why);
/* Reports the result of a file. */
void iw_report_file(struct iw_report *r, const struct iw_file_report *f);
/* --delete: name was or would be removed at the target. */
void iw_report_gone(struct iw_report *r, const char *peer, const char *name, bool would);
/* Updates the progress line, or writes the next "progress" event if its time has come. */
void iw_report_progress(struct iw_report *r, const struct iw_report_progress *p, uint64_t now);
/* When to call iw_report_progress next; IW_TIME_NEVER: never. */
uint64_t iw_report_deadline(const struct iw_report *r, uint64_t now);
/* Reports the result of a transfer, and the totals with stats. */
void iw_report_transfer(struct iw_report *r, const struct iw_transfer_report *t);

/* Returns the exit status for such a result. */
int iw_report_status(const struct iw_transfer_report *t);

#endif
