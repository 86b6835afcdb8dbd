/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers as text with one decimal, the same in every locale. Each function writes into buf and
 * returns it.
 */
#ifndef IW_CLI_HUMAN_H
#define IW_CLI_HUMAN_H

#include <stdint.h>

#define IW_HUMAN_TEXT 32

/* Octets, in powers of 1024: "512 B", "64.0 MiB", "16.0 EiB". */
const char *iw_human_size(char buf[static IW_HUMAN_TEXT], uint64_t octets);

/* Bits per second, in powers of 1000: "950 b/s", "41.2 Gb/s". */
const char *iw_human_rate(char buf[static IW_HUMAN_TEXT], uint64_t bits_per_second);

/* A latency: "85 ns", "7.3 us", "1.2 ms", "30.0 s". */
const char *iw_human_latency(char buf[static IW_HUMAN_TEXT], uint64_t ns);

/* A duration in whole seconds, rounded up: "0:07", "12:34", "1:02:03". */
const char *iw_human_time(char buf[static IW_HUMAN_TEXT], uint64_t ns);

/*
 * Returns bits per second, without an overflow in between. 0: ns is 0; UINT64_MAX: the rate does
 * not fit.
 */
uint64_t iw_bits_per_second(uint64_t octets, uint64_t ns);

#endif
