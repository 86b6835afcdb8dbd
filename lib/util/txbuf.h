/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A batch of output: runs of octets that the transport gathers into one send. The arena of the
 * batch holds headers, trailers and copied payload. To other payload the batch only refers; the ULP
 * keeps it until its work request completes. A batch is one pool buffer. It is in use only until
 * the transport has taken all octets.
 */
#ifndef IW_UTIL_TXBUF_H
#define IW_UTIL_TXBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

#define IW_TXBUF_VECS  1024         /* the most that sendmsg() takes (UIO_MAXIOV) */
#define IW_TXBUF_ARENA (272 * 1024) /* bytes: a full batch of copied payload with its headers */
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
/*
 * Appends len octets (may be 0) of the arena and returns them; the caller fills them in. Adjacent
 * runs of the arena share a vec. NULL: the arena or the vecs are full; nothing was appended.
 */
uint8_t *iw_txbuf_grow(struct iw_txbuf *t, size_t len);
/*
 * Appends a reference to len octets (may be 0) outside of the arena. They are borrowed until the
 * transport has taken them. False: the vecs are full; nothing was appended.
 */
bool iw_txbuf_refer(struct iw_txbuf *t, const void *base, size_t len);
/* Returns true if at least that many bytes of the arena and that many vecs are free. */
bool iw_txbuf_has_room(const struct iw_txbuf *t, size_t arena, size_t vecs);
/*
 * Removes from the front the octets that the transport has taken: at most t->bytes (asserted). If
 * none is left, the batch is empty as after iw_txbuf_init().
 */
void iw_txbuf_sent(struct iw_txbuf *t, size_t bytes);

#endif
