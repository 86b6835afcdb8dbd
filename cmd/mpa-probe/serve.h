/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The listener of mpa-probe: a personality (shim.h) in front of the sink or of rping's server. Each
 * event is shown when it occurs. It starts no thread.
 */
#ifndef IW_MPA_PROBE_SERVE_H
#define IW_MPA_PROBE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/cli.h"
#include "cli/param.h"
#include "mpa-probe/conn_show.h"
#include "mpa-probe/personality.h"
#include "mpa-probe/rping.h"

struct iw_serve_cfg {
	struct iw_cli *cli;                    /* confined once it listens (cli/confine.h); kept */
	struct iw_cli_param conn;              /* to listen; its strings are kept */
	struct iw_personality_cfg personality; /* personality.row is set */
	bool lose_early_fpdus;                 /* as in struct iw_shim */
	const struct iw_rping_cfg *rping;      /* rping's server; NULL: the sink */
	bool once; /* stops after one connection, or one that was turned away */
	/*
	 * Time limit without payload, or without progress of rping, after which a connection is
	 * ended; 0: 30 s.
	 */
	uint64_t idle_ns;
	void (*trace)(void *trace_ctx, const char *line); /* as in struct iw_ctx_attr */
	void *trace_ctx;
};

/*
 * Serves until the process is asked to stop (cli/signals.h), the one connection of `once` has
 * ended, or show->err is set. Returns 0 and the exit status in *status: with `once` that of the
 * connection, else IW_EXIT_OK. Errors are those of iw_probe_sink_new(), iw_rping_run_new() and
 * iw_confine_plain().
 */
IW_MUST_CHECK int iw_serve(const struct iw_serve_cfg *cfg, struct iw_serve_show *show, int *status,
			   struct iw_fault *why);

#endif
