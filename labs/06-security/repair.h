/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Second half of the lab: the table of registrations, without the faults of the careless server.
 *
 * The table knows no memory and no network. The server asks it before each access, and does only
 * what it allows.
 */
#ifndef REPAIR_H
#define REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "security.h"

/* You define it in repair.c. */
struct table;

/*
 * Creates a table for at most `capacity` registrations at a time (1 to 65536). Each call of random
 * returns 32 bits that a peer cannot predict; ctx is passed to it. Returns NULL if there is no
 * memory. The caller frees the table with table_free().
 */
struct table *table_new(uint32_t capacity, uint32_t (*random)(void *ctx), void *ctx);

/* Frees the table and all that belongs to it. NULL is allowed. */
void table_free(struct table *t);

/*
 * Registers a buffer and returns its STag. Returns 0, and changes nothing, if the table is full or
 * if r->to + r->len is 2^64 or more. So 0 is never an STag.
 *
 * A peer that knows any number of STags must not be able to predict another one: all 32 bits come
 * from random(), afresh for each registration (RFC 5040 8.1.1, item 8: STags are difficult to
 * predict and sparsely populate the full range). No two present registrations have the same STag.
 * What a peer remembers is worth nothing: a new buffer does not get the STag of a former one, except
 * by chance.
 */
uint32_t table_register(struct table *t, const struct region *r);

/*
 * May this access be done? Checks, in this order:
 *
 *	an access of zero octets is always allowed, with any STag (RFC 5041 7.1, RFC 5040 7.2 speak
 *	of non-zero lengths alone); *at is then 0
 *	INVALID_STAG     the STag is not registered: it never was, or is no longer
 *	NOT_ASSOCIATED   the buffer has another pd, or a stream that is neither 0 nor a->stream
 *	ACCESS_RIGHTS    the buffer does not have the right a->right
 *	TO_WRAP          a->to + a->len is 2^64 or more
 *	BASE_OR_BOUNDS   the access begins before the first octet of the buffer, or ends after its
 *	                 last one (each octet counts: RFC 5042 6.2.1)
 *
 * ALLOWED: *at is the position of the first octet in the server's memory. Otherwise *at is
 * unchanged.
 */
enum verdict table_access(const struct table *t, const struct access *a, uint64_t *at);

/*
 * The server revokes a registration. As soon as the function returns, no access with this STag is
 * allowed (RFC 5041 8.3.1, item 6), and its place in the table is free. Returns false if the STag
 * is not registered.
 */
bool table_deregister(struct table *t, uint32_t stag);

/*
 * The peer asks for that, with a Send with Invalidate that arrived on a stream (RFC 5040 7.2, items
 * 4 and 5, and 8.1.1, item 7). Checks, in this order:
 *
 *	INVALID_STAG       the STag is not registered
 *	NOT_ASSOCIATED     the buffer has another pd, or a stream that is neither 0 nor `stream`
 *	CANNOT_INVALIDATE  the buffer is shared by all streams of its domain (its stream is 0): one
 *	                   of them must not be able to take it from the others
 *
 * ALLOWED: the STag is revoked, as by table_deregister().
 */
enum verdict table_invalidate(struct table *t, uint32_t stag, uint32_t pd, uint32_t stream);

#endif
