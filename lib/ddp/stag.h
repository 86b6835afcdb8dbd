/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The STag table: Tagged Buffers and who may do what with them (RFC 5041 8, RFC 5042 6).
 *
 * One table serves all streams of a context. A look-up costs one cache line at any number of registrations; iw_stag_prefetch lets the
 * receiver start that line's way into the cache while it checks the CRC. Revocation has taken effect when iw_stag_del returns.
 */
#ifndef IW_DDP_STAG_H
#define IW_DDP_STAG_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/mem.h"

enum iw_right {
	IW_RIGHT_REMOTE_READ = 1,  /* source of the peer's RDMA Reads */
	IW_RIGHT_REMOTE_WRITE = 2, /* target of the peer's RDMA Writes */
	IW_RIGHT_READ_SINK = 4,    /* target of Read Responses to our own RDMA Reads, and of nothing else */
};

/* One registration. Exactly one cache line on 64-bit machines. */
struct iw_region {
	uint32_t stag;     /* set by the table */
	uint8_t rights;    /* set of enum iw_right */
	uint8_t reserved[3];
	uint32_t pd;       /* protection domain */
	uint32_t stream;   /* 0: any stream of pd; else this stream alone (RFC 5041 8.2: both are supported) */
	uint8_t *base;     /* kept by the owner until revoked */
	uint64_t len;      /* octets */
	uint64_t to;       /* Tagged Offset of base[0]; to + len does not wrap */
	uint64_t expires;  /* monotonic ns; IW_TIME_NEVER */
	uint32_t uses;     /* operations left; UINT32_MAX: no limit */
	uint32_t busy;     /* operations that have begun and not ended (Read Responses under way) */
	void *owner;       /* the registrant's own */
};

struct iw_stag_table;
/* random fills len octets from a source that peers cannot predict; 0 or a negative error. mem, random_ctx borrowed for life. */
IW_MUST_CHECK int iw_stag_table_new(struct iw_stag_table **out, const struct iw_mem *mem, int (*random)(void *ctx, void *buf, size_t len),
				    void *random_ctx);
void iw_stag_table_free(struct iw_stag_table *t);
size_t iw_stag_count(const struct iw_stag_table *t);

/* Registers *r (copied; its stag field is ignored and set in the copy) under a random STag, never 0 and not in use.
 * IW_E_INVAL: to + len wraps, no rights; IW_E_NOMEM. */
IW_MUST_CHECK int iw_stag_add(struct iw_stag_table *t, const struct iw_region *r, uint32_t *stag, struct iw_fault *why);
/* Revokes. IW_E_NOENT: not registered (revoked before). */
int iw_stag_del(struct iw_stag_table *t, uint32_t stag);
/* The registration, or NULL. The pointer is valid until the next add or del. */
struct iw_region *iw_stag_get(struct iw_stag_table *t, uint32_t stag);
void iw_stag_prefetch(const struct iw_stag_table *t, uint32_t stag);
/* Every registration, in no order: start with *pos = 0; NULL at the end. For listings; add and del in between may skip or repeat. */
struct iw_region *iw_stag_each(struct iw_stag_table *t, size_t *pos);

/* Who wants to do what. */
struct iw_stag_use {
	uint32_t pd, stream;
	uint8_t right;   /* one enum iw_right */
	uint64_t to, len;
	uint64_t now;
};
enum iw_stag_verdict {
	IW_STAG_OK,
	IW_STAG_INVALID, /* unknown, revoked, expired, used up */
	IW_STAG_ASSOC,   /* of another protection domain or stream */
	IW_STAG_RIGHTS,
	IW_STAG_WRAP,    /* to + len wraps 2^64 */
	IW_STAG_BOUNDS,
};
/* The one check before any octet moves (RFC 5041 7.1, RFC 5040 7.2), in that order. *where is set on IW_STAG_OK. */
enum iw_stag_verdict iw_stag_check(struct iw_stag_table *t, uint32_t stag, const struct iw_stag_use *u, uint8_t **where);
/* verdict to error: as a DDP error for tagged segments, as an RDMAP protection error for Read Requests; why says STag, TO, length, range. */
int iw_stag_ddp_error(struct iw_stag_table *t, enum iw_stag_verdict v, uint32_t stag, const struct iw_stag_use *u, struct iw_fault *why);
int iw_stag_rdmap_error(struct iw_stag_table *t, enum iw_stag_verdict v, uint32_t stag, const struct iw_stag_use *u, struct iw_fault *why);
/* Counts one operation against a registration with a limit of uses; the last one revokes it (busy operations may end). */
void iw_stag_used(struct iw_stag_table *t, uint32_t stag);

#endif
