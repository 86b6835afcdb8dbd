/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The output of ddp-bench, as text or as JSON lines. */
#ifndef IW_DDP_BENCH_SHOW_H
#define IW_DDP_BENCH_SHOW_H

#include "cli/json.h"
#include "ddp-bench/bench.h"
#include "ddp-bench/xdp_bench.h"

struct iw_bench_show {
	struct iw_json *json; /* borrowed; NULL: text on standard output */
	const char *transport;
	bool any_port; /* the system chooses the port, so it is shown even if quiet */
	bool quiet;    /* write results only */
	bool rows;     /* text: a row for each size */
};

/* Values calculated from a result. */
double iw_bench_messages_per_second(const struct iw_bench_result *r);
/* Returns a quantile in ns, given in millionths: of half a round trip (pingpong), or of the time
 * from posting to completion. */
uint64_t iw_bench_latency(const struct iw_bench_result *r, uint32_t millionths);

/* The functions that return int return 0, or an error of iw_json_end or iw_cli_flush. */
IW_MUST_CHECK int iw_bench_show_interval(const struct iw_bench_show *s,
					 const struct iw_bench_interval *iv);
/* Prints the heading of the rows, if `rows` is set. */
void iw_bench_show_head(const struct iw_bench_show *s);
IW_MUST_CHECK int iw_bench_show_result(const struct iw_bench_show *s,
				       const struct iw_bench_result *r);
/* Writes the environment as objects within the JSON object that is open. */
void iw_bench_show_environment(struct iw_json *w, const struct iw_bench_environment *e);

/* `ddp-bench xdp`: prints what is measured. Nothing with JSON or quiet. */
void iw_bench_show_xdp_head(const struct iw_bench_show *s);
/* Print a pair or a baseline as soon as it is known, and the whole result at the end. */
void iw_bench_show_pair(const struct iw_bench_show *s, const struct iw_xdp_figure *f,
			const struct iw_xdp_pair *p);
void iw_bench_show_baseline(const struct iw_bench_show *s, const struct iw_xdp_baseline *b);
IW_MUST_CHECK int iw_bench_show_xdp(const struct iw_bench_show *s, const struct iw_xdp_bench *r);

/* Writes the address and ports of a server. reachable: the user chose the address with --bind. */
IW_MUST_CHECK int iw_bench_show_listening(const struct iw_bench_show *s,
					  const struct iw_bench_server *server, bool reachable);
IW_MUST_CHECK int iw_bench_show_news(const struct iw_bench_show *s, const struct iw_bench_news *n);

#endif
