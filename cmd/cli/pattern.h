/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the memory of a run holds, so that any octet in the wrong place shows: a stream of
 * pseudo-random octets made from a seed, and in the first eight octets of a message that is long
 * enough its number.
 */
#ifndef IW_BENCH_PATTERN_H
#define IW_BENCH_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Octets @at .. @at + @len of the stream of @seed into @buf. */
void iw_pattern_fill(void *buf, size_t len, uint64_t seed, uint64_t at);
/* Whether @buf holds just those. */
bool iw_pattern_holds(const void *buf, size_t len, uint64_t seed, uint64_t at);

#define IW_BENCH_STAMP 8 /* octets of a stamp: messages shorter than that have none */
/* The message's number into its first octets, if it is long enough. */
void iw_pattern_stamp(void *msg, size_t len, uint64_t number);
bool iw_pattern_stamped(const void *msg, size_t len, uint64_t number);

/* A digest over pieces of memory. */
struct iw_bench_digest {
	void *state; /* owned */
};
/* false: no memory. */
bool iw_pattern_digest_init(struct iw_bench_digest *d);
void iw_pattern_digest_add(struct iw_bench_digest *d, const void *p, size_t len);
/* The digest; frees what init took. */
uint64_t iw_pattern_digest_end(struct iw_bench_digest *d);

#endif
