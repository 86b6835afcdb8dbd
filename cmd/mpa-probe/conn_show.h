/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The output of mpa-probe about the conversation of rping's client, and about the connections of a
 * listener: text on standard output, or JSON.
 */
#ifndef IW_MPA_PROBE_CONN_SHOW_H
#define IW_MPA_PROBE_CONN_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/json.h"
#include "mpa-probe/personality.h"
#include "mpa-probe/rping_run.h"
#include "mpa-probe/shim.h"

/*
 * Returns the exit status for a connection that ended with this fault. A violation of rping's
 * protocol (IW_E_FORMAT) is IW_EXIT_NO, as are violations of the wire protocols.
 */
int iw_probe_conn_status(const struct iw_fault *f);

/*
 * Shows how a client's conversation went, with hints on standard error. w: writes the "result"
 * event of JSON instead of text; may be NULL. Returns 0, or an error of iw_json_end().
 */
IW_MUST_CHECK int iw_rping_show(struct iw_json *w, const struct iw_rping_run_cfg *cfg,
				const struct iw_rping_run_outcome *o, int exit_status);

/* --- events of a listener, each shown when it occurs --- */

struct iw_serve_show {
	struct iw_json *json; /* borrowed; NULL: text */
	bool quiet;           /* no text */
	bool any_port;        /* the kernel chooses the port; it is shown even if quiet */
	bool rdmac;           /* --profile rdmac was given */
	const struct iw_personality *personality; /* answers the Requests */
	int err; /* the first error of iw_json_end() or iw_cli_flush(); then the listener stops */
};

/* A connection that has ended. */
struct iw_serve_conn {
	const struct iw_qp_info *info;
	const struct iw_tls_info *tls; /* version NULL: not encrypted */
	const struct iw_fault *fault;
	const struct iw_rping_result *rping; /* NULL: a connection of the sink */
	bool verify;                         /* rping: the data were compared */
	uint64_t sends, octets;              /* sink: Sends received, and their payload */
};

/* by_default: the user gave no address to listen on. */
void iw_serve_show_listening(struct iw_serve_show *s, const char *addr, uint16_t port,
			     const char *app, bool by_default);
void iw_serve_show_request(struct iw_serve_show *s, const struct iw_shim_report *r);
void iw_serve_show_conn(struct iw_serve_show *s, const struct iw_serve_conn *c);
void iw_serve_show_stopped(struct iw_serve_show *s, int exit_status);

#endif
