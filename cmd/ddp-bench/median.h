/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The median of a few measurements. */
#ifndef IW_DDP_BENCH_MEDIAN_H
#define IW_DDP_BENCH_MEDIAN_H

#include <stddef.h>

/* Sorts the n values (at least 1) in ascending order and returns their median: for an even n, the
 * mean of the two middle values. */
double iw_bench_median(double *v, size_t n);

#endif
