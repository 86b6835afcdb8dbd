/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When the loop polls before it sleeps.
 *
 * If the peer is on this machine or on a fast network, an answer to a small message, or the next
 * step of a set-up, takes less time than a processor needs to fall asleep and to wake up. So after a
 * few waits in a row that were short, and between which little data moved, the loop polls for as
 * long as a short wait takes. With more data the processors do not sleep, and polling would only
 * take time from them.
 *
 * If the peer needs this processor, all polling is in vain. So an unsuccessful poll ends it for the
 * next waits, and each further one for twice as many.
 *
 * It makes no system call and reads no clock.
 */
#ifndef IW_LOOP_NEAR_H
#define IW_LOOP_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A wait that ends within this time is short; the loop polls for as long. */
#define IW_NEAR_NS       60000u
/* The waits in a row that must be short before the loop polls. */
#define IW_NEAR_AFTER    4
/* The most octets of messages that may move between two of them. */
#define IW_NEAR_OCTETS   1024
/* The most waits without polling after an unsuccessful poll. */
#define IW_NEAR_SKIP_MAX 1024

struct iw_near {
	bool allowed;  /* false: iw_near_begin always returns false */
	size_t octets; /* received and sent since the last wait began; the loop adds them */
	bool was_short;
	unsigned in_row; /* short waits with few octets */
	/* The waits in which polling is left out; their number after the next unsuccessful poll. */
	unsigned skip, skip_next;
};

/* Call it when a wait of at most ns begins. Returns true if the loop should poll first. */
bool iw_near_begin(struct iw_near *n, uint64_t ns);
/*
 * Call it after polling. tries: how often the loop has asked. found: the last attempt was
 * successful. If the first one was, *n is unchanged: polling neither saved nor cost time.
 */
void iw_near_polled(struct iw_near *n, unsigned tries, bool found);
/* Call it when the wait has ended after ns. found: something was ready before its time-out. */
void iw_near_end(struct iw_near *n, uint64_t ns, bool found);

#endif
