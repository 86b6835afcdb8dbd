// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A ring of octets, with a ring of pieces. */
#include "ddp-impair/queue.h"

#include <stdlib.h>
#include <string.h>

#include "util/num.h"

#define SPARE_PIECES 512

int iw_queue_init(struct iw_queue *q, size_t cap)
{
	*q = (struct iw_queue){ .cap = cap };
	q->ring = malloc(cap);
	q->piece = calloc(IW_QUEUE_PIECES, sizeof(*q->piece));
	if (q->ring && q->piece)
		return 0;
	iw_queue_fini(q);
	return IW_E_NOMEM;
}

void iw_queue_fini(struct iw_queue *q)
{
	free(q->ring);
	free(q->piece);
	*q = (struct iw_queue){ .cap = 0 };
}

bool iw_queue_has_room(const struct iw_queue *q, size_t octets)
{
	return q->cap - q->len >= octets && q->pieces + SPARE_PIECES <= IW_QUEUE_PIECES;
}

static struct iw_queue_piece *piece_at(const struct iw_queue *q, size_t i)
{
	return &q->piece[(q->first + i) % IW_QUEUE_PIECES];
}

static struct iw_queue_piece *last_piece(const struct iw_queue *q)
{
	return q->pieces ? piece_at(q, q->pieces - 1) : NULL;
}

static void copy_in(struct iw_queue *q, const uint8_t *p, size_t len)
{
	size_t at = (q->head + q->len) % q->cap, n = IW_MIN(len, q->cap - at);

	memcpy(q->ring + at, p, n);
	memcpy(q->ring, p + n, len - n);
	q->len += len;
}

static struct iw_queue_piece *add_piece(struct iw_queue *q)
{
	struct iw_queue_piece *p = piece_at(q, q->pieces++);

	*p = (struct iw_queue_piece){ .len = 0 };
	q->apart = false;
	return p;
}

void iw_queue_put(struct iw_queue *q, const void *octets, size_t len, uint64_t at_ns,
		  uint64_t gap_ns)
{
	struct iw_queue_piece *p = last_piece(q);

	if (len == 0)
		return;
	if (!p || q->apart || p->apart || p->end || gap_ns || p->at_ns != at_ns) {
		p = add_piece(q);
		p->at_ns = at_ns;
		p->gap_ns = gap_ns;
	}
	copy_in(q, octets, len);
	p->len += len;
}

void iw_queue_part(struct iw_queue *q)
{
	struct iw_queue_piece *p = last_piece(q);

	if (p)
		p->apart = true;
	q->apart = true;
}

void iw_queue_end(struct iw_queue *q, enum iw_queue_end end, uint64_t at_ns)
{
	struct iw_queue_piece *p = add_piece(q);

	p->at_ns = at_ns;
	p->end = end;
}

void iw_queue_release(struct iw_queue *q, uint64_t at_ns)
{
	struct iw_queue_piece *p = last_piece(q);

	if (p)
		p->at_ns = IW_MIN(p->at_ns, at_ns);
}

uint64_t iw_queue_due(const struct iw_queue *q)
{
	const struct iw_queue_piece *p = piece_at(q, 0);

	if (!q->pieces)
		return IW_TIME_NEVER;
	return p->gap_ns ? IW_MAX(p->at_ns, iw_time_add(q->left_ns, p->gap_ns)) : p->at_ns;
}

size_t iw_queue_peek(const struct iw_queue *q, uint64_t now, struct iovec iov[2], int *n,
		     enum iw_queue_end *end)
{
	size_t len = 0, first;

	*end = IW_QUEUE_OPEN;
	*n = 0;
	if (iw_queue_due(q) > now)
		return 0;
	*end = piece_at(q, 0)->end;
	for (size_t i = 0; i < q->pieces; i++) {
		const struct iw_queue_piece *p = piece_at(q, i);

		if (p->end || (i && (p->gap_ns || p->at_ns > now)))
			break;
		len += p->len;
		if (p->apart)
			break;
	}
	if (!len)
		return 0;
	first = IW_MIN(len, q->cap - q->head);
	iov[(*n)++] = (struct iovec){ q->ring + q->head, first };
	if (len > first)
		iov[(*n)++] = (struct iovec){ q->ring, len - first };
	return len;
}

void iw_queue_take(struct iw_queue *q, size_t len, uint64_t now)
{
	if (!len)
		return;
	q->head = (q->head + len) % q->cap;
	q->len -= len;
	q->left_ns = now;
	while (len && q->pieces) {
		struct iw_queue_piece *p = piece_at(q, 0);
		size_t n = IW_MIN(len, p->len);

		p->len -= n;
		len -= n;
		/* The rest of a piece that has begun to leave waits for nothing more. */
		p->gap_ns = 0;
		if (p->len)
			break;
		q->first = (q->first + 1) % IW_QUEUE_PIECES;
		q->pieces--;
	}
	if (!q->len)
		q->head = 0;
}

void iw_queue_clear(struct iw_queue *q)
{
	q->head = q->len = q->first = q->pieces = 0;
	q->apart = false;
}
