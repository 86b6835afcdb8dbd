/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that this process holds for peers: in total, and by peer address (RFC 5042 6.4.1, 6.4.2).
 * It only counts; the caller allocates and frees the memory.
 *
 * An address may hold a quarter of the limit, and more while half of the limit is free. An IPv6 /64
 * network counts as one address.
 */
#ifndef IW_TRANSFER_FILES_BUDGET_H
#define IW_TRANSFER_FILES_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/list.h"

#define IW_BUDGET_BUCKETS 256

struct iw_budget {
	uint64_t limit; /* in octets; 0: no limit */
	uint64_t bytes; /* held */
	uint64_t other; /* the part of the limit that is not for peers; set by the caller */
	struct iw_list bucket[IW_BUDGET_BUCKETS];
};

/* One peer address. */
struct iw_holder {
	struct iw_list link;
	uint64_t bytes;
	unsigned refs;  /* iw_budget_join without iw_budget_leave */
	unsigned conns; /* connections, counted by the caller */
	bool local;     /* loopback */
	char addr[64];
};

/* limit: octets; 0: no limit. */
void iw_budget_init(struct iw_budget *a, uint64_t limit);
/*
 * Returns the holder for a peer's address in the form of iw_qp_info: "192.0.2.1:7471",
 * "[::1]:7471". Each call needs an iw_budget_leave. NULL: no memory.
 */
struct iw_holder *iw_budget_join(struct iw_budget *a, const char *peer);
/* Releases h, after the caller has credited all that it held. h may be NULL. */
void iw_budget_leave(struct iw_holder *h);
/* True if n more octets may be held. Here and below, h NULL means no particular peer. */
bool iw_budget_may(const struct iw_budget *a, const struct iw_holder *h, uint64_t n);
/* Counts n octets for h; above the limit too. */
void iw_budget_charge(struct iw_budget *a, struct iw_holder *h, uint64_t n);
/* Returns n octets that were charged for h. */
void iw_budget_credit(struct iw_budget *a, struct iw_holder *h, uint64_t n);
/*
 * True if h has more than three quarters of most connections. A loopback address may have all of
 * them.
 */
bool iw_budget_crowds(const struct iw_holder *h, uint64_t most);

#endif
