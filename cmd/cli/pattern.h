/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Test data in which an octet in the wrong place is detected: a pseudo-random stream made from a
 * seed, with the number of the message in the first eight octets of each message that is long
 * enough.
 */
#ifndef IW_CLI_PATTERN_H
#define IW_CLI_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills buf with the octets from at to at + len of the stream of the seed. */
void iw_pattern_fill(void *buf, size_t len, uint64_t seed, uint64_t at);
/* True if buf holds these octets. */
bool iw_pattern_holds(const void *buf, size_t len, uint64_t seed, uint64_t at);

#define IW_PATTERN_STAMP 8 /* octets of a stamp; shorter messages have none */
/* Writes the number into the first octets of the message, if it is long enough. */
void iw_pattern_stamp(void *msg, size_t len, uint64_t number);
/* True if the message has this number, or is too short for one. */
bool iw_pattern_stamped(const void *msg, size_t len, uint64_t number);

/* A digest over pieces of memory. */
struct iw_pattern_digest {
	void *state; /* owned */
};
/* False: out of memory. */
bool iw_pattern_digest_init(struct iw_pattern_digest *d);
void iw_pattern_digest_add(struct iw_pattern_digest *d, const void *p, size_t len);
/* Returns the digest and frees the state. */
uint64_t iw_pattern_digest_end(struct iw_pattern_digest *d);

#endif
