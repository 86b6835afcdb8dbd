/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mpa-probe's listener: a personality in front (mpa-probe/shim.h), the sink or rping's server behind it,
 * and every event told when it happens.
 *
 * Neighbours: mpa-probe/sink.h, mpa-probe/rping_run.h and mpa-probe/conn_show.h below, mpa-probe above. Threads:
 * none.
 */
#ifndef IW_PROBE_SERVE_H
#define IW_PROBE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/cli.h"
#include "mpa-probe/conn_show.h"
#include "mpa-probe/personality.h"
#include "mpa-probe/rping.h"

struct iw_serve_cfg {
	struct iw_cli *cli;        /* confined as soon as it listens (cli/confine.h); kept */
	struct iw_conn_param conn; /* to listen; strings kept */
	struct iw_personality_cfg personality; /* personality.row is set */
	bool lose_early_fpdus;                 /* as in struct iw_shim */
	const struct iw_rping_cfg *rping;      /* NULL: the sink */
	bool once; /* one connection, or one that is turned away, then no more */
	/* without payload, or without progress of rping, a connection ends after that; 0: 30 s */
	uint64_t idle_ns;
	void (*trace)(void *trace_ctx, const char *line); /* as in struct iw_ctx_attr */
	void *trace_ctx;
};

/*
 * Until the process is asked to stop (cli/signals.h), once is done, or show->err is set. 0: *status is
 * the exit status: of the one connection of once, else IW_EXIT_OK. Negative: it cannot go on; as of
 * iw_probe_sink_new and iw_rping_run_new.
 */
IW_MUST_CHECK int iw_serve(const struct iw_serve_cfg *cfg, struct iw_serve_show *show, int *status,
			   struct iw_fault *why);

#endif
