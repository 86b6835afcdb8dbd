/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A batch of output: runs of octets that the transport gathers into one send. Headers, trailers and
 * copied payload are in the arena of the batch. Other payload is only referred to; the ULP keeps it
 * until its work request completes. A batch is one pool buffer, in use only while the transport has
 * not taken all octets.
 */
#ifndef IW_UTIL_TXBUF_H
#define IW_UTIL_TXBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

#define IW_TXBUF_VECS  1024         /* the limit of sendmsg() */
#define IW_TXBUF_ARENA (272 * 1024) /* a full batch of copied payload with its headers */
#define IW_TXBUF_BATCH (256 * 1024) /* a batch with at least this many octets is full */

struct iw_txbuf {
	size_t first, nvec; /* the transport has not taken vec[first..nvec) */
	size_t used;        /* bytes of the arena in use */
	size_t bytes;       /* octets that the transport has not taken */
	/* The batch ends a record: the next octet must begin a TCP segment (MSG_EOR). */
	bool eor;
	struct iw_vec vec[IW_TXBUF_VECS];
	uint8_t arena[IW_TXBUF_ARENA];
};

/* Empties the batch. The contents of the arena do not change. */
void iw_txbuf_init(struct iw_txbuf *t);
/* Appends len octets of the arena, which the caller fills, and returns them. Adjacent runs of the
 * arena share a vec. NULL: the arena or the vecs are full; nothing was appended. len may be 0. */
uint8_t *iw_txbuf_grow(struct iw_txbuf *t, size_t len);
/* Appends a reference to octets elsewhere, borrowed until they are sent. False: the vecs are full;
 * nothing was appended. len may be 0. */
bool iw_txbuf_refer(struct iw_txbuf *t, const void *base, size_t len);
/* Returns whether so many more bytes of the arena and so many more vecs are free. */
bool iw_txbuf_has_room(const struct iw_txbuf *t, size_t arena, size_t vecs);
/* Removes the octets that the transport took, at most t->bytes (asserted), from the front. A batch
 * without octets is as iw_txbuf_init() leaves it. */
void iw_txbuf_sent(struct iw_txbuf *t, size_t bytes);

#endif
