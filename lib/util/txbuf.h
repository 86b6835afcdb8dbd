/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A batch on its way out: runs of octets that the transport gathers into one send. Headers, trailers and copied payload lie
 * in the batch's own arena; other payload is referred to where it is (kept by whoever posted it until it completes).
 * A batch is one pool buffer, held only while it has octets that the transport has not taken.
 */
#ifndef IW_UTIL_TXBUF_H
#define IW_UTIL_TXBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

#define IW_TXBUF_VECS  1024         /* as many as one sendmsg takes */
#define IW_TXBUF_ARENA (272 * 1024) /* a full batch of copied payload with its headers */
#define IW_TXBUF_BATCH (256 * 1024) /* a batch is full from here on */

struct iw_txbuf {
	size_t first, nvec; /* vec[first..nvec) is not yet taken by the transport */
	size_t used;        /* octets of the arena */
	size_t bytes;       /* octets not yet taken */
	/* the batch ends a record: what follows must begin a TCP segment (MSG_EOR) */
	bool eor;
	struct iw_vec vec[IW_TXBUF_VECS];
	uint8_t arena[IW_TXBUF_ARENA];
};

/* Empties the batch; the arena's octets are not touched. */
void iw_txbuf_init(struct iw_txbuf *t);
/* len octets at the arena's end, appended to the batch; the caller fills them. Adjacent runs of the arena share a vec.
 * NULL: the arena or the vecs are full, nothing is appended. len 0 appends nothing. */
uint8_t *iw_txbuf_grow(struct iw_txbuf *t, size_t len);
/* Appends a reference to octets elsewhere. false: the vecs are full. len 0 appends nothing. */
bool iw_txbuf_refer(struct iw_txbuf *t, const void *base, size_t len);
/* True when that many more octets of arena and vecs are there. */
bool iw_txbuf_has_room(const struct iw_txbuf *t, size_t arena, size_t vecs);
/* The transport took bytes octets (at most t->bytes: asserted). When it has them all, t is as
 * iw_txbuf_init leaves it. */
void iw_txbuf_sent(struct iw_txbuf *t, size_t bytes);

#endif
