/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A diagram of results by message size, drawn with gnuplot. */
#ifndef IW_DDP_BENCH_PLOT_H
#define IW_DDP_BENCH_PLOT_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct iw_bench_point {
	uint64_t size;
	double bits, messages;    /* per second */
	uint64_t p50, p99, p9999; /* latency, ns */
};

/*
 * To be called before a measurement. Returns 0, or IW_E_NOTSUP: gnuplot is not installed; why has
 * the package.
 */
IW_MUST_CHECK int iw_bench_plot_can(struct iw_fault *why);
/* To be called before a measurement. Returns 0, or an error if path cannot be created. */
IW_MUST_CHECK int iw_bench_plot_check(const char *path, struct iw_fault *why);
/*
 * Draws throughput at the top and latency at the bottom as SVG into path, which never has an
 * incomplete file. title: the measurement. latency: what the times are. Returns 0, or
 *  - IW_E_NOTSUP: see iw_bench_plot_can();
 *  - IW_E_OS: gnuplot failed and printed the reason, or the file cannot be written.
 */
IW_MUST_CHECK int iw_bench_plot(const char *path, const char *title, const char *latency,
				const struct iw_bench_point *p, size_t n, struct iw_fault *why);

#endif
