/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The STag table: Tagged Buffers and who may do what with them (RFC 5041 8, RFC 5042 6).
 *
 * One table serves all streams of a context. The table itself draws the STags, at random and so
 * that no two of them meet in one slot: a look-up costs exactly one cache line at any number of
 * registrations, and iw_stag_prefetch lets the receiver start that line's way into the cache while
 * it checks the CRC. Revocation has taken effect when iw_stag_del returns. The table grows by
 * doubling, keeps at most half of its slots in use, and keeps its size until it is freed.
 */
#ifndef IW_DDP_STAG_H
#define IW_DDP_STAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/mem.h"

/* Most registrations of one table: one STag in 256 is valid then, so that they stay sparse (RFC
 * 5042 6.1.1). */
#define IW_STAG_MAX (1u << 24)

enum iw_right {
	IW_RIGHT_REMOTE_READ = 1,  /* source of the peer's RDMA Reads */
	IW_RIGHT_REMOTE_WRITE = 2, /* target of the peer's RDMA Writes */
	IW_RIGHT_READ_SINK = 4,    /* target of Read Responses to our own RDMA Reads, and of nothing
				      else */
};

/*
 * One registration. Exactly one cache line on 64-bit machines. Its owner may change rights, expires,
 * uses, owner and tallied later through iw_stag_get; the rest belongs to the table.
 */
struct iw_region {
	uint32_t stag;  /* set by the table */
	uint8_t rights; /* set of enum iw_right */
	bool live;      /* the table's: false in a free slot */
	bool tallied;   /* owner points to a struct iw_stag_tally */
	uint8_t reserved;
	uint32_t pd;     /* protection domain: checked always */
	uint32_t stream; /* 0: any stream of pd; else this stream alone (RFC 5041 8.2 wants both) */
	uint8_t *base;   /* kept by the owner until revoked; may be NULL when len is 0 */
	uint64_t len;    /* octets */
	uint64_t to;     /* Tagged Offset of base[0]; to + len is below 2^64 */
	uint64_t expires; /* monotonic ns, invalid from then on; IW_TIME_NEVER */
	uint32_t uses;    /* operations left; UINT32_MAX: no limit */
	uint32_t busy;    /* operations that have begun and not ended (Read Responses under way) */
	void *owner;      /* the registrant's own */
};

/* What peers did with registered memory: operations that came to their end, and octets. */
struct iw_stag_tally {
	uint64_t writes, write_octets;
	uint64_t reads, read_octets;
	uint64_t covered; /* see iw_stag_covered */
};

struct iw_stag_table;
/*
 * A table without registrations. random fills len octets from a source that peers cannot predict and
 * returns 0 or a negative error; it is asked for many STags at once, and not before the first add.
 * mem and random_ctx are borrowed for the life of the table. IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_stag_table_new(struct iw_stag_table **out, const struct iw_mem *mem,
				    int (*random)(void *ctx, void *buf, size_t len),
				    void *random_ctx);
/* t may be NULL. What was registered stays its owners' memory. */
void iw_stag_table_free(struct iw_stag_table *t);
/*
 * told is called for every STag that is registered from now on, with its registration (borrowed), and for every
 * one that is not any more, however it goes, with NULL. told NULL: nobody wants to know.
 */
void iw_stag_watch(struct iw_stag_table *t,
		   void (*told)(void *ctx, uint32_t stag, const struct iw_region *r), void *ctx);

/*
 * Registers *r (copied; its stag, live and busy are ignored and set in the copy) under a random STag:
 * never 0, not in use, and not the one revoked last of all that stood in its slot.
 * IW_E_INVAL: no rights or unknown ones, no uses, no memory, the memory ends above the address space,
 * or to + len is 2^64 or more (so no buffer can end with the octet at TO 2^64 - 1: the sum that RFC
 * 5041 7.1 forbids to wrap would). IW_E_NOMEM, IW_E_LIMIT (IW_STAG_MAX registrations; or the random
 * source repeats itself), or the random source's error: nothing has changed, try again later.
 */
IW_MUST_CHECK int iw_stag_add(struct iw_stag_table *t, const struct iw_region *r, uint32_t *stag,
			      struct iw_fault *why);
/* Revokes, whatever is under way with it. IW_E_NOENT: not registered (revoked before). */
int iw_stag_del(struct iw_stag_table *t, uint32_t stag);
/* The registration, or NULL. The pointer is valid until the next add, del, used or end. */
struct iw_region *iw_stag_get(struct iw_stag_table *t, uint32_t stag);
/* Hint: stag will be looked up soon. Any value will do. */
void iw_stag_prefetch(const struct iw_stag_table *t, uint32_t stag);
/* Every registration, in no order: start with *pos = 0; NULL at the end. Those there all the time are
 * met once when nothing was added in between; deleting the one just met is fine. */
struct iw_region *iw_stag_each(struct iw_stag_table *t, size_t *pos);

/* Who wants to do what. */
struct iw_stag_use {
	uint32_t pd, stream; /* of the stream */
	uint8_t right;       /* one enum iw_right */
	bool begun;          /* a piece of an operation that iw_stag_begin has counted */
	uint64_t to, len;
	uint64_t now;
};
enum iw_stag_verdict {
	IW_STAG_OK,
	IW_STAG_INVALID, /* unknown, revoked, expired, used up */
	IW_STAG_ASSOC,   /* of another protection domain or stream */
	IW_STAG_RIGHTS,
	IW_STAG_WRAP, /* to + len is 2^64 or more */
	IW_STAG_BOUNDS,
};
/*
 * The one check before any octet moves (RFC 5041 7.1, RFC 5040 7.2), in that order. *where is set on
 * IW_STAG_OK, and only then. Accesses of no octets are exempt by both RFCs: whoever asks for one
 * here has it checked like any other, with both ends of the range allowed.
 */
enum iw_stag_verdict iw_stag_check(struct iw_stag_table *t, uint32_t stag,
				   const struct iw_stag_use *u, uint8_t **where);
/*
 * The error for a verdict other than IW_STAG_OK: of a tagged segment as DDP's (RFC 5041 7.2; it has
 * none for missing rights, which become "invalid STag", as Linux siw does), of a Read Request's source
 * as RDMAP's (RFC 5040 figure 9). why (may be NULL) says STag, TO, length, and what was expected.
 */
int iw_stag_ddp_error(struct iw_stag_table *t, enum iw_stag_verdict v, uint32_t stag,
		      const struct iw_stag_use *u, struct iw_fault *why);
int iw_stag_rdmap_error(struct iw_stag_table *t, enum iw_stag_verdict v, uint32_t stag,
			const struct iw_stag_use *u, struct iw_fault *why);

/*
 * Counting operations against registrations with a limit of uses. An operation that is over at once
 * (an RDMA Write that was delivered) is counted by iw_stag_used. One that lasts (a Read Response) is
 * counted by iw_stag_begin when it begins, which keeps a registration whose uses are spent there for
 * the checks with use.begun set, and given back by iw_stag_end. When no use is left and nothing is
 * busy the registration is revoked, and iw_stag_used or iw_stag_end returns true. An STag that is not
 * registered (any more) is ignored by all three.
 */
bool iw_stag_used(struct iw_stag_table *t, uint32_t stag);
void iw_stag_begin(struct iw_stag_table *t, uint32_t stag);
bool iw_stag_end(struct iw_stag_table *t, uint32_t stag);

/*
 * One operation of len octets has come to its end, a Write (right IW_RIGHT_REMOTE_WRITE) or a Read: it is
 * added up where the registration is tallied. To be called before iw_stag_used or iw_stag_end, which may
 * revoke it. An STag that is not registered is ignored.
 */
void iw_stag_tally(struct iw_stag_table *t, uint32_t stag, uint8_t right, uint64_t len);

/*
 * An RDMA Write of the len octets from to is complete, without gaps. If the registration is tallied, updates covered: the
 * number of octets at its start that are written without a gap. A Write that begins after them adds nothing, so Writes
 * in ascending order cover everything, and octets that are written twice are counted once. Call it before iw_stag_used,
 * like iw_stag_tally.
 */
void iw_stag_covered(struct iw_stag_table *t, uint32_t stag, uint64_t to, uint64_t len);

#endif
