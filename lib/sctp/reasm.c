// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fragments of a peer's messages (RFC 9260 6.9), put together within a bound. We send none and RFC 5043 9 asks
 * peers not to, so nothing here is made for speed: fragments lie in a list by TSN.
 */
#include "sctp/internal.h"

#include <string.h>

static struct fragment *of(struct iw_list *l)
{
	return container(l, struct fragment, list);
}

static void drop(struct iw_sctp_assoc *a, struct fragment *f)
{
	a->in.fragment_octets -= f->len;
	iw_list_del(&f->list);
	iw_mem_free(a->s->cfg.mem, f, sizeof(*f) + f->len);
}

void iw_sctp_fragments_fini(struct iw_sctp_assoc *a)
{
	struct iw_list *l;

	while ((l = iw_list_first(&a->in.fragments)))
		drop(a, of(l));
	iw_mem_free(a->s->cfg.mem, a->in.whole, a->in.whole_len);
	a->in.whole = NULL;
	a->in.whole_len = 0;
}

/*
 * Room for len octets more at tsn: those with the highest TSNs give way to a lower one, for without it nothing
 * moves (6.2). Fragments at or below cum are acknowledged for good and stay.
 */
static bool make_room(struct iw_sctp_assoc *a, uint32_t tsn, size_t len)
{
	struct inq *q = &a->in;

	while (q->fragment_octets + len > a->s->cfg.reasm_max) {
		struct fragment *last;

		if (iw_list_empty(&q->fragments))
			return false;
		last = of(q->fragments.prev);
		if (!iw_seq32_before(tsn, last->tsn) || !iw_seq32_before(q->cum, last->tsn))
			return false;
		iw_sctp_inq_forget(q, last->tsn);
		q->sack_now = true;
		drop(a, last);
	}
	return true;
}

static struct fragment *keep(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c,
			     const struct iw_sctp_data *d)
{
	struct fragment *f = iw_mem_alloc(a->s->cfg.mem, sizeof(*f) + d->len);
	struct iw_list *at = a->in.fragments.prev;

	if (!f)
		return NULL;
	f->tsn = d->tsn;
	f->ppid = d->ppid;
	f->stream = d->stream;
	f->flags = c->flags;
	f->len = (uint16_t)d->len;
	memcpy(f->data, d->data, d->len);
	while (at != &a->in.fragments && iw_seq32_before(d->tsn, of(at)->tsn))
		at = at->prev;
	iw_list_init(&f->list);
	iw_list_add_tail(at->next, &f->list);
	a->in.fragment_octets += f->len;
	return f;
}

/* The fragments around f that follow each other from a first to a last one; false: some are missing. */
static bool complete(struct iw_sctp_assoc *a, struct fragment *f, struct fragment **first,
		     struct fragment **last)
{
	struct iw_list *head = &a->in.fragments;
	struct fragment *from = f, *to = f;

	while (!(from->flags & IW_SCTP_DATA_B)) {
		if (from->list.prev == head || of(from->list.prev)->tsn + 1 != from->tsn)
			return false;
		from = of(from->list.prev);
	}
	while (!(to->flags & IW_SCTP_DATA_E)) {
		if (to->list.next == head || of(to->list.next)->tsn != to->tsn + 1)
			return false;
		to = of(to->list.next);
	}
	*first = from;
	*last = to;
	return true;
}

static int put_together(struct iw_sctp_assoc *a, struct fragment *first,
			const struct fragment *last, struct iw_sctp_recv *out)
{
	const struct fragment *f;
	size_t len = 0;
	uint8_t *whole;
	bool end;

	for (f = first;; f = of(f->list.next)) {
		if (f->stream != first->stream || f->ppid != first->ppid ||
		    (f != first && f->flags & IW_SCTP_DATA_B) ||
		    (f != last && f->flags & IW_SCTP_DATA_E)) {
			iw_sctp_kill(a, IW_SCTP_CAUSE_PROTOCOL, NULL, 0, IW_E_FORMAT,
				     "sctp: fragments that are not of one message, TSN %u", f->tsn);
			return -1;
		}
		len += f->len;
		if (f == last)
			break;
	}
	whole = iw_mem_alloc(a->s->cfg.mem, len);
	if (!whole)
		return -1;
	*out = (struct iw_sctp_recv){
		.assoc = a, .stream = first->stream, .ppid = first->ppid, .data = whole, .len = len
	};
	len = 0;
	do {
		struct fragment *next = of(first->list.next);

		end = first == last;
		memcpy(whole + len, first->data, first->len);
		len += first->len;
		drop(a, first);
		first = next;
	} while (!end);
	iw_mem_free(a->s->cfg.mem, a->in.whole, a->in.whole_len);
	a->in.whole = whole;
	a->in.whole_len = (uint32_t)len;
	return 1;
}

int iw_sctp_fragment(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c,
		     const struct iw_sctp_data *d, struct iw_sctp_recv *out)
{
	struct fragment *f, *first, *last;
	int got;

	if (!make_room(a, d->tsn, d->len)) {
		/* Everything kept is in sequence, and so is this one: the message is larger than the bound. */
		if (d->tsn == a->in.cum + 1)
			iw_sctp_kill(a, IW_SCTP_CAUSE_RESOURCE, NULL, 0, IW_E_LIMIT,
				     "sctp: a message in fragments of more than %u octets",
				     a->s->cfg.reasm_max);
		return -1;
	}
	f = keep(a, c, d);
	if (!f)
		return -1;
	if (!complete(a, f, &first, &last))
		return 0;
	got = put_together(a, first, last, out);
	if (got < 0 && a->linked)
		drop(a, f);
	return got;
}
