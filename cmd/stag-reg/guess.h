/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Limits wrong claims. A key cannot be guessed. The STag of a buffer without a key has only 32
 * bits, so a peer that can try without limit finds it.
 *
 * After IW_GUESS_FREE wrong claims an address (IPv4: all of it; IPv6: its /64 network) must wait
 * for IW_GUESS_WAIT_MIN. Each further wrong claim doubles the wait, up to IW_GUESS_WAIT_MAX. The
 * entry of an address is deleted IW_GUESS_FORGET after its last wrong claim. All addresses together
 * may make IW_GUESS_BURST wrong claims, and IW_GUESS_RATE more of them each second. So an attacker
 * gains nothing by using many addresses, and the entries are at most IW_GUESS_MAX. No entry is ever
 * dropped to make room for another.
 *
 * The caller does not apply the limits to claims with the right key: a peer that shares its address
 * with an attacker (NAT) can still connect.
 */
#ifndef IW_STAG_REG_GUESS_H
#define IW_STAG_REG_GUESS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/list.h"
#include "util/num.h"

#define IW_GUESS_FREE     10u
#define IW_GUESS_WAIT_MIN IW_SEC(1)
#define IW_GUESS_WAIT_MAX IW_SEC(256)
#define IW_GUESS_FORGET   IW_SEC(600)
#define IW_GUESS_BURST    1000u
#define IW_GUESS_RATE     10u /* a second */
#define IW_GUESS_MAX      (IW_GUESS_BURST + IW_GUESS_RATE * (IW_GUESS_FORGET / IW_SEC(1)) + 1)
#define IW_GUESS_BUCKETS  1024u

struct iw_guesses {
	struct iw_list buckets[IW_GUESS_BUCKETS];
	struct iw_list all; /* by the time of the last wrong claim, the oldest first */
	unsigned count;
	uint64_t credit;    /* wrong claims that all addresses may still make, times 1 s */
	uint64_t credit_at; /* when credit was last updated */
	bool reported;      /* it was logged that credit is used up */
};

void iw_guesses_init(struct iw_guesses *g, uint64_t now);
void iw_guesses_fini(struct iw_guesses *g);
/*
 * Returns the nanoseconds for which claims from addr ("192.0.2.1:4791", "[2001:db8::1]:4791") are
 * still rejected; 0: check the next claim. now, here and below: iw_os_now.
 */
uint64_t iw_guess_wait(struct iw_guesses *g, const char *addr, uint64_t now);
/*
 * Records that a claim from addr was checked and was wrong. Logs a warning when the address must
 * wait for the first time, and when the limit of all addresses together is reached.
 */
void iw_guess_wrong(struct iw_guesses *g, const char *addr, uint64_t now);

#endif
