/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The STag table: Tagged Buffers and the access rights to them (RFC 5041 8, RFC 5042 6).
 *
 * One table serves all streams of a context. The table selects STags at random, such that each has
 * a slot of its own: a look-up loads exactly one cache line, with any number of registrations.
 * iw_stag_prefetch lets the receiver load that line while it checks the CRC. A revocation is
 * effective when iw_stag_del returns. The table doubles when half of its slots are in use. It never
 * shrinks.
 *
 * Threads: no locks; the table belongs to one thread at a time.
 */
#ifndef IW_DDP_STAG_H
#define IW_DDP_STAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/mem.h"

/*
 * The most registrations of one table. At most one STag in 256 is valid, so that a guessed one is
 * seldom valid (RFC 5042 6.1.1).
 */
#define IW_STAG_MAX (1u << 24)

enum iw_right {
	IW_RIGHT_REMOTE_READ = 1,  /* source of the peer's RDMA Reads */
	IW_RIGHT_REMOTE_WRITE = 2, /* target of the peer's RDMA Writes */
	IW_RIGHT_READ_SINK = 4,    /* target only of Read Responses to our own RDMA Reads */
};

/*
 * One registration: exactly one cache line on 64-bit machines. The owner may later change rights,
 * expires, uses, owner and tallied through iw_stag_get. The other fields belong to the table.
 */
struct iw_region {
	uint32_t stag;  /* set by the table */
	uint8_t rights; /* set of enum iw_right */
	bool live;      /* set by the table: false in a free slot */
	bool tallied;   /* owner points to a struct iw_stag_tally */
	uint8_t reserved;
	uint32_t pd;      /* protection domain: always checked */
	uint32_t stream;  /* 0: all streams of pd; otherwise this one alone (RFC 5041 8.2) */
	uint8_t *base;    /* kept by the owner until revoked; may be NULL when len is 0 */
	uint64_t len;     /* octets */
	uint64_t to;      /* Tagged Offset of base[0]; to + len is below 2^64 */
	uint64_t expires; /* end of validity, monotonic ns; IW_TIME_NEVER: no end */
	uint32_t uses;    /* operations left; UINT32_MAX: no limit */
	uint32_t busy;    /* operations in progress: Read Responses that have not ended */
	void *owner;      /* the owner's pointer; see tallied */
};

/* Accesses of peers to registered memory: completed operations, and octets. */
struct iw_stag_tally {
	uint64_t writes, write_octets;
	uint64_t reads, read_octets;
	uint64_t covered; /* see iw_stag_covered */
};

struct iw_stag_table;
/*
 * Creates an empty table. random fills buf with len octets that peers cannot predict, and returns 0
 * or a negative error. It is called once for many STags, and not before the first add. mem and
 * random_ctx are borrowed for the life of the table. *out is owned by the caller until
 * iw_stag_table_free. IW_E_NOMEM: no memory.
 */
IW_MUST_CHECK int iw_stag_table_new(struct iw_stag_table **out, const struct iw_mem *mem,
				    int (*random)(void *ctx, void *buf, size_t len),
				    void *random_ctx);
/* Frees the table. The registered memory belongs to its owners. t may be NULL. */
void iw_stag_table_free(struct iw_stag_table *t);
/*
 * Sets a function that the table calls after each registration, with r (borrowed), and after each
 * revocation, with r NULL. An STag is also revoked when its uses are spent. ctx is borrowed until
 * on_change is replaced. on_change NULL: no function is called.
 */
void iw_stag_watch(struct iw_stag_table *t,
		   void (*on_change)(void *ctx, uint32_t stag, const struct iw_region *r),
		   void *ctx);

/*
 * Registers *r under a random STag: never 0, not in use, and not the last one revoked in the same
 * slot. *r is copied; its stag, live and busy are ignored. r->base is kept until the STag is
 * revoked.
 * IW_E_INVAL: no right or an unknown one, no uses, no memory, memory that ends above the address
 * space, or to + len is 2^64 or more. (So no buffer can contain TO 2^64 - 1: the sum that must not
 * wrap, RFC 5041 7.1, would.)
 * IW_E_LIMIT: there are IW_STAG_MAX registrations, or the random source repeats itself. IW_E_NOMEM:
 * no memory for a larger table. After these two, or an error of the random source, nothing has
 * changed: retry later.
 */
IW_MUST_CHECK int iw_stag_add(struct iw_stag_table *t, const struct iw_region *r, uint32_t *stag,
			      struct iw_fault *why);
/*
 * Revokes the STag, even while operations use it. IW_E_NOENT: not registered, or revoked already.
 */
int iw_stag_del(struct iw_stag_table *t, uint32_t stag);
/*
 * Returns the registration of the STag, or NULL. The pointer is valid until the next call of
 * iw_stag_add, iw_stag_del, iw_stag_used or iw_stag_end.
 */
struct iw_region *iw_stag_get(struct iw_stag_table *t, uint32_t stag);
/*
 * Loads the slot of stag into the cache, for a look-up that follows soon. It need not be
 * registered.
 */
void iw_stag_prefetch(const struct iw_stag_table *t, uint32_t stag);
/*
 * Returns the registrations one by one, in no particular order; NULL after the last one. Set *pos
 * to 0 before the first call. The registration just returned may be revoked. If none is added in
 * between, each one that stays registered is returned once.
 */
struct iw_region *iw_stag_each(struct iw_stag_table *t, size_t *pos);

/* An access to check. */
struct iw_stag_use {
	uint32_t pd, stream; /* of the stream that asks for it */
	uint8_t right;       /* one enum iw_right */
	bool begun;          /* belongs to an operation after iw_stag_begin: see there */
	uint64_t to, len;    /* TO, octets */
	uint64_t now;
};
enum iw_stag_verdict {
	IW_STAG_OK,
	IW_STAG_INVALID, /* unknown, revoked or expired, or its uses are spent */
	IW_STAG_ASSOC,   /* of another protection domain or stream */
	IW_STAG_RIGHTS,
	IW_STAG_WRAP, /* to + len is 2^64 or more */
	IW_STAG_BOUNDS,
};
/*
 * Checks an access before any octet is moved (RFC 5041 7.1, RFC 5040 7.2), in the order of enum
 * iw_stag_verdict. Only IW_STAG_OK sets *where, the address for u->to. Both RFCs exempt zero-length
 * accesses; the callers skip the check for these. If called, it checks them like others, and both
 * ends of the range are valid.
 */
enum iw_stag_verdict iw_stag_check(struct iw_stag_table *t, uint32_t stag,
				   const struct iw_stag_use *u, uint8_t **where);
/*
 * Returns the error for a verdict other than IW_STAG_OK: iw_stag_ddp_error for a tagged segment
 * (RFC 5041 7.2), iw_stag_rdmap_error for the source of a Read Request (RFC 5040 figure 9). DDP has
 * no code for missing rights; it reports an invalid STag, like Linux siw. why (may be NULL) gets
 * STag, TO, length and the reason.
 */
int iw_stag_ddp_error(struct iw_stag_table *t, enum iw_stag_verdict v, uint32_t stag,
		      const struct iw_stag_use *u, struct iw_fault *why);
int iw_stag_rdmap_error(struct iw_stag_table *t, enum iw_stag_verdict v, uint32_t stag,
			const struct iw_stag_use *u, struct iw_fault *why);

/*
 * Take one of the uses of a registration: iw_stag_used for a complete operation, a delivered RDMA
 * Write; iw_stag_begin at the beginning of a Read Response, which ends with iw_stag_end. In
 * between, the registration stays valid for checks with begun set, even if its uses are spent. When
 * no use is left and no operation is in progress, the registration is revoked, and iw_stag_used or
 * iw_stag_end returns true. STags that are not registered are ignored.
 */
bool iw_stag_used(struct iw_stag_table *t, uint32_t stag);
void iw_stag_begin(struct iw_stag_table *t, uint32_t stag);
bool iw_stag_end(struct iw_stag_table *t, uint32_t stag);

/*
 * Adds a completed operation of len octets to the tally of the registration, if it has one: a Write
 * (right IW_RIGHT_REMOTE_WRITE) or a Read. Call it before iw_stag_used or iw_stag_end, which may
 * revoke the STag. An STag that is not registered is ignored.
 */
void iw_stag_tally(struct iw_stag_table *t, uint32_t stag, uint8_t right, uint64_t len);

/*
 * An RDMA Write of the len octets from to is complete, without gaps. If the registration is
 * tallied, updates covered: the number of octets at its start that are written without a gap. A
 * Write that begins after them adds nothing, so only Writes in ascending order cover everything.
 * Octets that are written twice are counted once. Call it before iw_stag_used, like iw_stag_tally.
 */
void iw_stag_covered(struct iw_stag_table *t, uint32_t stag, uint64_t to, uint64_t len);

#endif
