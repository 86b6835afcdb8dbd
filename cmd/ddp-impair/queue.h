/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside ddp-impair: what waits to leave in one direction of a stream. Octets are in a ring; pieces
 * say when they may leave, and where a piece must not be joined with the next. Memory is allocated
 * once. No I/O: the time is an argument.
 */
#ifndef IW_DDP_IMPAIR_QUEUE_H
#define IW_DDP_IMPAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <iwarp/err.h>

enum iw_queue_end { IW_QUEUE_OPEN, IW_QUEUE_FIN, IW_QUEUE_CLOSE, IW_QUEUE_RESET };

struct iw_queue_piece {
	uint64_t at_ns;  /* not before this time; IW_TIME_NEVER: never */
	uint64_t gap_ns; /* and not before this time after the piece before has left */
	size_t len;
	bool apart; /* the next piece is not sent with this one */
	enum iw_queue_end end;
};

struct iw_queue {
	uint8_t *ring; /* owned */
	size_t cap, head, len;
	struct iw_queue_piece *piece; /* owned; a ring too */
	size_t first, pieces;
	uint64_t left_ns; /* when the last piece left */
	bool apart;       /* the next octets begin a new piece */
};

#define IW_QUEUE_PIECES 8192

/* cap: octets that it can hold. IW_E_NOMEM. */
IW_MUST_CHECK int iw_queue_init(struct iw_queue *q, size_t cap);
void iw_queue_fini(struct iw_queue *q);

/* True if this many octets and 512 pieces fit. */
bool iw_queue_has_room(const struct iw_queue *q, size_t octets);
/*
 * Appends octets, which are copied; the caller has asked for room. They join the piece before, unless
 * iw_queue_part() was called since or the times differ.
 */
void iw_queue_put(struct iw_queue *q, const void *octets, size_t len, uint64_t at_ns,
		  uint64_t gap_ns);
/* The next octets begin a new piece, and a new segment of TCP. */
void iw_queue_part(struct iw_queue *q);
/* Nothing follows: the direction ends at this time. */
void iw_queue_end(struct iw_queue *q, enum iw_queue_end end, uint64_t at_ns);
/* The last piece may leave at this time. */
void iw_queue_release(struct iw_queue *q, uint64_t at_ns);

/* When the first piece may leave; IW_TIME_NEVER: the queue is empty, or it is held for ever. */
uint64_t iw_queue_due(const struct iw_queue *q);
/*
 * Returns the octets that may leave at once, in at most two parts; 0: none, or the first piece is
 * *end.
 */
size_t iw_queue_peek(const struct iw_queue *q, uint64_t now, struct iovec iov[2], int *n,
		     enum iw_queue_end *end);
/* Removes octets that have left. */
void iw_queue_take(struct iw_queue *q, size_t len, uint64_t now);
/* Drops everything. */
void iw_queue_clear(struct iw_queue *q);

#endif
