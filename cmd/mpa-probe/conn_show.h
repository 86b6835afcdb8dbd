/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What mpa-probe tells of connections that carry something: of rping's client, and of what a listener
 * serves. For people on standard output, or as JSON.
 */
#ifndef IW_PROBE_CONN_SHOW_H
#define IW_PROBE_CONN_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/json.h"
#include "mpa-probe/personality.h"
#include "mpa-probe/rping_run.h"
#include "mpa-probe/shim.h"

/*
 * The exit status for a connection that ended so. What a peer did or said against the protocol is an
 * answer, also against rping's, which is IW_E_FORMAT.
 */
int iw_probe_conn_status(const struct iw_fault *f);

/*
 * How a client's conversation went, in words on standard error too where they help; w: as the
 * "result" event. 0, or what iw_json_end says.
 */
IW_MUST_CHECK int iw_rping_show(struct iw_json *w, const struct iw_rping_run_cfg *cfg,
				const struct iw_rping_run_outcome *o, int exit_status);

/* --- a listener's events, each when it happens --- */

struct iw_serve_show {
	struct iw_json *json; /* borrowed; NULL: for people */
	bool quiet;           /* nothing for people */
	bool any_port;        /* the system chooses the port: it is shown though quiet */
	bool rdmac;           /* of --profile rdmac */
	const struct iw_personality *personality; /* whose answers they are */
	int err; /* of iw_json_end() or iw_cli_flush(): the listener ends */
};

/* One connection that was served and is over. */
struct iw_serve_conn {
	const struct iw_qp_info *info;
	const struct iw_fault *fault;
	const struct iw_rping_result *rping; /* NULL: it was the sink's */
	bool verify;                         /* rping: the data were looked at */
	uint64_t sends, octets;              /* to the sink */
};

/* by_default: nobody named the address. */
void iw_serve_show_listening(struct iw_serve_show *s, const char *addr, uint16_t port,
			     const char *app, bool by_default);
void iw_serve_show_request(struct iw_serve_show *s, const struct iw_shim_report *r);
void iw_serve_show_conn(struct iw_serve_show *s, const struct iw_serve_conn *c);
void iw_serve_show_stopped(struct iw_serve_show *s, int exit_status);

#endif
