/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The associations of a port on which no DDP stream session is open: a deadline for each, a limit
 * for each address of a peer, and a limit for all.
 *
 * A peer can open an association with two packets, and needs no memory for it. RFC 5043 sets no
 * limit for an association without a session. This object sets one, as the time-out for the MPA
 * Request does for a TCP connection. It neither sends nor frees: it returns the association that
 * has to end, and the caller ends it. Threads: none, no locks.
 *
 *   UP, or the last session ended:  iw_unused_add(u, e, addr, now, &evicted)
 *   Initiate arrived:               iw_unused_asked(u, e)
 *   refused, rejected, timed out:   iw_unused_answered(u, e)
 *   session accepted:               iw_unused_remove(u, e)
 *   time:                           iw_unused_deadline(u), then iw_unused_expired(u, now)
 *   SHUTDOWN was sent:              iw_unused_extend(u, e, now)
 *   association gone:               iw_unused_remove(u, e)
 */
#ifndef IW_SCTPMAP_UNUSED_H
#define IW_SCTPMAP_UNUSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/heap.h"
#include "util/list.h"
#include "util/mem.h"

/*
 * Limits of associations without an open session: for one address of a peer, and for a port. Eight
 * programs on one address that open 40 associations each at the same time use 320.
 */
#define IW_UNUSED_PER_ADDR       512
#define IW_UNUSED_MAX            4096
/*
 * Limits of the bytes that these associations hold: for one address, and for a port. On each of
 * them a peer can occupy 2 MiB by sessions that are not accepted, and one receive window by early
 * segments and fragments.
 */
#define IW_UNUSED_PER_ADDR_BYTES ((size_t)64 << 20)
#define IW_UNUSED_MAX_BYTES      ((size_t)256 << 20)
/* The least limit of a port, in bytes. An association without a session holds about 15 KB. */
#define IW_UNUSED_LEAST_BYTES    ((size_t)1 << 20)

struct iw_unused_cfg {
	const struct iw_mem *mem;         /* borrowed until iw_unused_fini */
	uint64_t timeout_ns;              /* of each association; 0: no deadline */
	uint32_t per_addr, max;           /* associations; at least 1 each */
	size_t per_addr_bytes, max_bytes; /* bytes that these associations hold */
	uint64_t secret; /* random, so that no peer can choose addresses that share a bucket */
};

struct iw_unused_addr;

/* A member of the caller's association. Zeroed: not added. */
struct iw_unused_entry {
	struct iw_timer timer;
	uint64_t at;                 /* the deadline while no session is requested */
	struct iw_list all, of_addr; /* in the order in which they were added */
	struct iw_unused_addr *addr; /* NULL: not added */
	size_t bytes;
};

struct iw_unused {
	struct iw_unused_cfg cfg;
	struct iw_heap timers;
	struct iw_list all;
	uint32_t count;
	size_t bytes;
	struct iw_unused_addr **bucket; /* NULL before the first association */
	size_t nbuckets, naddrs;
};

/* Makes u empty. Allocates nothing. */
void iw_unused_init(struct iw_unused *u, const struct iw_unused_cfg *cfg);
/* Frees its own memory. Every entry must have been removed. */
void iw_unused_fini(struct iw_unused *u);

/*
 * Adds e for an association with this IP address (IPv4 as ::ffff:0:0/96). e must not be added
 * already. Sets its deadline to now plus the time-out. The addresses of an IPv6 /64 network share
 * one limit. e is kept until it is removed. On success *evicted is the association that has to end
 * because a limit is exceeded, or NULL. It is the oldest one of this address if the address exceeds
 * its limit, else the oldest of all, and is already removed. IW_E_NOMEM: no memory, e is not added.
 */
IW_MUST_CHECK int iw_unused_add(struct iw_unused *u, struct iw_unused_entry *e,
				const uint8_t addr[16], uint64_t now,
				struct iw_unused_entry **evicted);
/* Removes e. Does nothing if e is not added. */
void iw_unused_remove(struct iw_unused *u, struct iw_unused_entry *e);
/* True if e is added. */
static inline bool iw_unused_has(const struct iw_unused_entry *e)
{
	return e->addr != NULL;
}

/*
 * The peer has requested a session that is not answered yet: extends the deadline of e by one
 * time-out. Further requests do not extend it. The limits still apply.
 */
void iw_unused_asked(struct iw_unused *u, struct iw_unused_entry *e);
/* No request is pending, and none was accepted: restores the deadline. */
void iw_unused_answered(struct iw_unused *u, struct iw_unused_entry *e);
/* No request is pending: sets the deadline of e to now plus the time-out. */
void iw_unused_extend(struct iw_unused *u, struct iw_unused_entry *e, uint64_t now);

/*
 * Records how many bytes the association of e, which is added, holds. If the associations of its
 * address, or all together, then exceed their limit, returns the oldest of them that holds at least
 * half their average: it has to end. The caller has to remove it, and to call again unless it was
 * e. Returns NULL if no limit is exceeded.
 */
IW_MUST_CHECK struct iw_unused_entry *iw_unused_charge(struct iw_unused *u,
						       struct iw_unused_entry *e, size_t bytes);
/* Sets the limit of the bytes of all associations, and that of one address to a quarter of it. */
void iw_unused_limit(struct iw_unused *u, size_t max_bytes);

/* Returns the next deadline in ns; IW_TIME_NEVER: none. */
uint64_t iw_unused_deadline(const struct iw_unused *u);
/* Returns the entry with that deadline if it has passed, else NULL. Remove or extend it. */
struct iw_unused_entry *iw_unused_expired(const struct iw_unused *u, uint64_t now);

/* Returns the number of entries. */
uint32_t iw_unused_count(const struct iw_unused *u);
/* Returns how many of them have that IP address, or its /64 network. For tests. */
uint32_t iw_unused_count_of(const struct iw_unused *u, const uint8_t addr[16]);

#endif
