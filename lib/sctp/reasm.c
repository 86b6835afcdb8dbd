// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reassembly of the peer's fragmented messages (RFC 9260 6.9), within a bound. We never fragment,
 * and RFC 5043 9 asks peers not to. The fragments are in an array sorted by TSN, so the search is
 * fast in whatever order the peer sends them.
 */
#include "sctp/internal.h"

#include <string.h>

/* Charged for each fragment in addition to its data: object, array places, allocator overhead. */
#define OVERHEAD  64
#define COUNT_MAX 4096 /* places in the array that is moved when a fragment is inserted */
#define COUNT_MIN 16

_Static_assert(sizeof(struct fragment) + 2 * sizeof(struct fragment *) <= OVERHEAD - 16,
	       "OVERHEAD is at least what a fragment costs");

static uint32_t cost_of(size_t len)
{
	return OVERHEAD + (uint32_t)len;
}

/*
 * Returns the most octets that fragments may use: at most half of rwnd, because the rest of a
 * message could not arrive if its fragments closed the window.
 */
static uint32_t bound(const struct iw_sctp_assoc *a)
{
	return IW_MIN(a->s->cfg.reasm_max, a->s->cfg.rwnd / 2);
}

static void drop(struct iw_sctp_assoc *a, uint32_t from, uint32_t n)
{
	struct inq *q = &a->in;

	for (uint32_t i = from; i < from + n; i++) {
		struct fragment *f = q->fragment[i];

		q->fragment_octets -= cost_of(f->len);
		iw_mem_free(a->s->cfg.mem, f, sizeof(*f) + f->len);
	}
	q->nfragments -= n;
	memmove(q->fragment + from, q->fragment + from + n,
		(q->nfragments - from) * sizeof(struct fragment *));
}

void iw_sctp_fragments_slim(struct iw_sctp_assoc *a)
{
	struct inq *q = &a->in;

	if (q->nfragments > 0)
		return;
	iw_mem_free(a->s->cfg.mem, q->fragment, q->fragment_places * sizeof(struct fragment *));
	q->fragment = NULL;
	q->fragment_places = 0;
}

void iw_sctp_fragments_fini(struct iw_sctp_assoc *a)
{
	if (a->in.nfragments > 0)
		drop(a, 0, a->in.nfragments);
	iw_sctp_fragments_slim(a);
	iw_mem_free(a->s->cfg.mem, a->in.whole, a->in.whole_len);
	a->in.whole = NULL;
	a->in.whole_len = 0;
}

/* Returns the index at which to insert tsn: after all fragments with lower TSNs. */
static uint32_t place_of(const struct inq *q, uint32_t tsn)
{
	uint32_t from = 0, to = q->nfragments;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (iw_seq32_before(q->fragment[mid]->tsn, tsn))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/*
 * Makes room for one more fragment of len octets at tsn. Drops fragments with higher TSNs, highest
 * first, since only the lowest one makes progress (6.2). Fragments at or below cum stay: they are
 * acknowledged cumulatively.
 */
static bool make_room(struct iw_sctp_assoc *a, uint32_t tsn, size_t len)
{
	struct inq *q = &a->in;

	while (q->fragment_octets + cost_of(len) > bound(a) || q->nfragments == COUNT_MAX) {
		uint32_t last;

		if (q->nfragments == 0)
			return false;
		last = q->fragment[q->nfragments - 1]->tsn;
		if (!iw_seq32_before(tsn, last) || !iw_seq32_before(q->cum, last))
			return false;
		iw_sctp_inq_forget(q, last);
		q->sack_now = true;
		drop(a, q->nfragments - 1, 1);
	}
	return true;
}

/* Makes room for one more place in the array. */
static bool grow(struct iw_sctp_assoc *a)
{
	struct inq *q = &a->in;
	uint32_t places = q->fragment_places ? q->fragment_places * 2 : COUNT_MIN;
	struct fragment **more;

	if (q->nfragments < q->fragment_places)
		return true;
	more = iw_mem_array(a->s->cfg.mem, places, sizeof(struct fragment *));
	if (!more)
		return false;
	if (q->fragment)
		memcpy(more, q->fragment, q->nfragments * sizeof(struct fragment *));
	iw_mem_free(a->s->cfg.mem, q->fragment, q->fragment_places * sizeof(struct fragment *));
	q->fragment = more;
	q->fragment_places = places;
	return true;
}

static bool keep(struct iw_sctp_assoc *a, uint32_t at, const struct iw_sctp_chunk *c,
		 const struct iw_sctp_data *d)
{
	struct inq *q = &a->in;
	struct fragment *f;

	if (!grow(a))
		return false;
	f = iw_mem_alloc(a->s->cfg.mem, sizeof(*f) + d->len);
	if (!f)
		return false;
	f->tsn = d->tsn;
	f->ppid = d->ppid;
	f->stream = d->stream;
	f->flags = c->flags;
	f->len = (uint16_t)d->len;
	memcpy(f->data, d->data, d->len);
	memmove(q->fragment + at + 1, q->fragment + at,
		(q->nfragments - at) * sizeof(struct fragment *));
	q->fragment[at] = f;
	q->nfragments++;
	q->fragment_octets += cost_of(f->len);
	return true;
}

/* True if fragment `at` has the TSN that follows that of the fragment before it. */
static bool follows(const struct inq *q, uint32_t at)
{
	return at > 0 && at < q->nfragments && q->fragment[at - 1]->tsn + 1 == q->fragment[at]->tsn;
}

/*
 * True if two consecutive fragments belong to one message, or one ends it and the other begins the
 * next.
 */
static bool fit(const struct fragment *a, const struct fragment *b)
{
	bool ends = a->flags & IW_SCTP_DATA_E, begins = b->flags & IW_SCTP_DATA_B;

	return ends == begins && (ends || (a->stream == b->stream && a->ppid == b->ppid));
}

/* True if fragment `at` fits its neighbours, as far as their TSNs are consecutive. */
static bool fits(const struct inq *q, uint32_t at)
{
	if (follows(q, at) && !fit(q->fragment[at - 1], q->fragment[at]))
		return false;
	return !follows(q, at + 1) || fit(q->fragment[at], q->fragment[at + 1]);
}

/*
 * Finds the n fragments around `at`, from *first on, that form a message. False: some are missing.
 */
static bool complete(const struct inq *q, uint32_t at, uint32_t *first, uint32_t *n)
{
	uint32_t from = at, to = at;

	while (!(q->fragment[from]->flags & IW_SCTP_DATA_B)) {
		if (!follows(q, from))
			return false;
		from--;
	}
	while (!(q->fragment[to]->flags & IW_SCTP_DATA_E)) {
		if (!follows(q, to + 1))
			return false;
		to++;
	}
	*first = from;
	*n = to - from + 1;
	return true;
}

/*
 * Makes the message of n fragments from first in q->whole, and frees them. Returns false if there
 * is no memory.
 */
static bool put_together(struct iw_sctp_assoc *a, uint32_t first, uint32_t n,
			 struct iw_sctp_recv *out)
{
	struct inq *q = &a->in;
	const struct fragment *f = q->fragment[first];
	size_t len = 0;
	uint8_t *whole;

	for (uint32_t i = first; i < first + n; i++)
		len += q->fragment[i]->len;
	whole = iw_mem_alloc(a->s->cfg.mem, len);
	if (!whole)
		return false;
	*out = (struct iw_sctp_recv){
		.assoc = a, .stream = f->stream, .ppid = f->ppid, .data = whole, .len = len
	};
	len = 0;
	for (uint32_t i = first; i < first + n; i++) {
		f = q->fragment[i];
		memcpy(whole + len, f->data, f->len);
		len += f->len;
	}
	drop(a, first, n);
	iw_mem_free(a->s->cfg.mem, q->whole, q->whole_len);
	q->whole = whole;
	q->whole_len = (uint32_t)len;
	return true;
}

int iw_sctp_fragment(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c,
		     const struct iw_sctp_data *d, struct iw_sctp_recv *out)
{
	struct inq *q = &a->in;
	uint32_t at, first, n;

	if (!make_room(a, d->tsn, d->len)) {
		/*
		 * All kept fragments and this one are in sequence: the message exceeds the bound.
		 */
		if (d->tsn == q->cum + 1)
			iw_sctp_kill(a, IW_SCTP_CAUSE_RESOURCE, NULL, 0, IW_E_LIMIT,
				     "sctp: a fragmented message of more than %u octets", bound(a));
		return -1;
	}
	at = place_of(q, d->tsn);
	if (!keep(a, at, c, d))
		return -1;
	if (!fits(q, at)) {
		iw_sctp_kill(a, IW_SCTP_CAUSE_PROTOCOL, NULL, 0, IW_E_FORMAT,
			     "sctp: TSN %u: the fragment does not fit the message before it",
			     d->tsn);
		return -1;
	}
	if (!complete(q, at, &first, &n))
		return 0;
	if (put_together(a, first, n, out))
		return 1;
	drop(a, at, 1);
	return -1;
}
