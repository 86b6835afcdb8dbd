/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A picture of results over their sizes, drawn by gnuplot. */
#ifndef IW_BENCH_PLOT_H
#define IW_BENCH_PLOT_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct iw_bench_point {
	uint64_t size;
	double bits, messages;    /* a second */
	uint64_t p50, p99, p9999; /* latency, ns */
};

/* Before anything is measured: 0; IW_E_NOTSUP: gnuplot is not there, why says how to get it. */
IW_MUST_CHECK int iw_bench_plot_can(struct iw_fault *why);
/* Before anything is measured: 0, or an error if @path cannot be created. */
IW_MUST_CHECK int iw_bench_plot_check(const char *path, struct iw_fault *why);
/*
 * Throughput above, latency below, into @path as SVG. @title: what was measured; @latency: of what the
 * times are. IW_E_NOTSUP as above; IW_E_OS: gnuplot failed (its own message is above), or the file cannot be
 * written; an incomplete file never has that name.
 */
IW_MUST_CHECK int iw_bench_plot(const char *path, const char *title, const char *latency,
				const struct iw_bench_point *p, size_t n, struct iw_fault *why);

#endif
