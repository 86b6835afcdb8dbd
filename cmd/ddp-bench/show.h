/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What ddp-bench prints of runs, for people and as JSON lines. */
#ifndef IW_BENCH_SHOW_H
#define IW_BENCH_SHOW_H

#include "ddp-bench/bench.h"
#include "ddp-bench/xdp_bench.h"
#include "cli/json.h"

struct iw_bench_show {
	struct iw_json *json; /* NULL: for people, on standard output */
	const char *transport;
	bool any_port; /* the system chooses the port: it is shown though quiet */
	bool quiet;    /* results alone */
	bool rows;     /* a row for each size */
};

/* What one result comes to. */
double iw_bench_messages_per_second(const struct iw_bench_result *r);
/* ns: half a round trip, or from posting to completion. */
uint64_t iw_bench_latency(const struct iw_bench_result *r, uint32_t millionths);

/* Each: 0, or an error of writing. */
IW_MUST_CHECK int iw_bench_show_interval(const struct iw_bench_show *s,
					 const struct iw_bench_interval *iv);
/* The head of the rows, if it is to be rows. */
void iw_bench_show_head(const struct iw_bench_show *s);
IW_MUST_CHECK int iw_bench_show_result(const struct iw_bench_show *s,
				       const struct iw_bench_result *r);
/* As objects of a line that was begun. */
void iw_bench_show_environment(struct iw_json *w, const struct iw_bench_environment *e);

/* Of `ddp-bench xdp`: in words, what is measured. Nothing with JSON or quiet. */
void iw_bench_show_xdp_head(const struct iw_bench_show *s);
/* Each as soon as it is known, and all of it. */
void iw_bench_show_pair(const struct iw_bench_show *s, const struct iw_xdp_figure *f,
			const struct iw_xdp_pair *p);
void iw_bench_show_baseline(const struct iw_bench_show *s, const struct iw_xdp_baseline *b);
IW_MUST_CHECK int iw_bench_show_xdp(const struct iw_bench_show *s, const struct iw_xdp_bench *r);

IW_MUST_CHECK int iw_bench_show_listening(const struct iw_bench_show *s,
					  const struct iw_bench_server *server, bool reachable);
IW_MUST_CHECK int iw_bench_show_news(const struct iw_bench_show *s, const struct iw_bench_news *n);

#endif
