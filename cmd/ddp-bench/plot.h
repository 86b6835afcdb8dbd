/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A diagram of results by message size, drawn with gnuplot. */
#ifndef IW_DDP_BENCH_PLOT_H
#define IW_DDP_BENCH_PLOT_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

/* The results for one message size. */
struct iw_bench_point {
	uint64_t size;            /* octets */
	double bits, messages;    /* per second */
	uint64_t p50, p99, p9999; /* latency, ns */
};

/*
 * Checks before a measurement that gnuplot is installed. IW_E_NOTSUP: it is not; *why names the
 * package.
 */
IW_MUST_CHECK int iw_bench_plot_can(struct iw_fault *why);
/* Checks before a measurement that path can be created. IW_E_INVAL: the name is too long; others by
 * errno. */
IW_MUST_CHECK int iw_bench_plot_check(const char *path, struct iw_fault *why);
/*
 * Draws the throughput at the top and the latency at the bottom, as SVG into path. The file appears
 * there when it is complete. title names the measurement, latency what the times are. Errors: those
 * of iw_bench_plot_can() and iw_bench_plot_check(); IW_E_OS: gnuplot failed and printed the reason,
 * or the file cannot be written.
 */
IW_MUST_CHECK int iw_bench_plot(const char *path, const char *title, const char *latency,
				const struct iw_bench_point *p, size_t n, struct iw_fault *why);

#endif
