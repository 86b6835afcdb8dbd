// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The source: messages to the sink. */
#include "transfer/protocol/source.h"

#include <string.h>

#include "transfer/protocol/pack.h"

/* --- messages out --- */

static void put_digest(struct iw_xfer_entry *e, const struct iw_xfer_digest *d)
{
	if (d->len == 0)
		return;
	e->has |= IW_XFER_HAS(DIGEST);
	e->digest = *d;
}

static bool put_file(struct draft *d, struct file *f)
{
	const struct iw_xfer_meta *m = &f->meta;
	struct iw_xfer_entry e = {
		.has = IW_XFER_HAS(ID) | IW_XFER_HAS(NAME) | IW_XFER_HAS(KIND) | IW_XFER_HAS(TOP),
		.id = f->id,
		.name = m->name,
		.name_len = m->name_len,
		.kind = m->kind,
		.top = m->top,
	};

	if (f->mine.known) {
		iw_xfer_outcome_entry(&e, &f->mine);
		return iw_xfer_draft_entry(d, &e);
	}
	iw_xfer_pack_entry(&e, m);
	if (f->attrs_sent > 0) {
		e.xattr += f->attrs_sent;
		e.xattr_len -= f->attrs_sent;
	}
	e.has |= IW_XFER_HAS(ID);
	e.id = f->id;
	if (m->top) {
		e.has |= IW_XFER_HAS(TOP);
		e.top = true;
	}
	if (m->data) {
		e.has |= IW_XFER_HAS(DATA);
		e.data = m->data;
	}
	if (m->share) {
		e.has |= IW_XFER_HAS(SHARE) | IW_XFER_HAS(OFF) | IW_XFER_HAS(LEN);
		e.share = m->share;
		e.off = m->part_off;
		e.len = m->part_len;
	}
	return iw_xfer_draft_entry(d, &e);
}

/* If the attributes do not fit into one message, ATTRS precede the announcement. */
static bool has_attrs_ahead(const struct file *f)
{
	return !f->mine.known && f->meta.xattr_len - f->attrs_sent > IW_XFER_XATTR_PIECE;
}

static bool put_attrs(struct draft *d, struct file *f)
{
	const struct iw_xfer_entry e = { .has = IW_XFER_HAS(ID) | IW_XFER_HAS(XATTR),
					 .id = f->id,
					 .xattr = f->meta.xattr + f->attrs_sent,
					 .xattr_len = IW_XFER_XATTR_PIECE };

	if (!iw_xfer_draft_entry(d, &e))
		return false;
	f->attrs_sent += IW_XFER_XATTR_PIECE;
	return true;
}

/* The oldest file that is not announced. */
static struct file *first_new(struct source *s)
{
	struct file *best = NULL;

	for (uint32_t i = 0; i < FILES; i++) {
		struct file *f = &s->file[i];

		if (f->state == NEW && (!best || f->id < best->id))
			best = f;
	}
	return best;
}

bool iw_xfer_source_send_files(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct source *s = x->src;
	struct file *f = first_new(s);
	struct draft d;
	size_t place, n = 0;
	bool ahead;

	if (!f)
		return false;
	ahead = has_attrs_ahead(f);
	if (!iw_xfer_draft_begin(x, &d, ahead ? IW_XFER_MSG_ATTRS : IW_XFER_MSG_FILES, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XFER_KEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	if (ahead)
		n = put_attrs(&d, f);
	for (uint32_t id = f->id; id < s->next_id && !ahead; id++, n++) {
		f = find(s, id);
		if (has_attrs_ahead(f) || !put_file(&d, f))
			break;
		f->state = ASKED;
	}
	iw_cbor_array_end(&d.o, place, n);
	if (n > 0) {
		iw_xfer_draft_send(x, &d, act, now);
		return true;
	}
	/* The name is too long for the peer's first, small receives: use these up. */
	iw_xfer_draft_drop(x, &d);
	if (x->link.tx_from != UINT64_MAX && x->link.tx_count + 1 < x->link.tx_from)
		x->link.nop_due = true;
	return false;
}

bool iw_xfer_source_send_wants(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct source *s = x->src;
	struct draft d;
	size_t place, n = 0;

	if (mode(x) != IW_XFER_WRITE || s->unsent == 0)
		return false;
	/* Ranges of files that are not announced yet must wait. */
	if (find(s, range_at(s, s->nranges - s->unsent)->id) &&
	    find(s, range_at(s, s->nranges - s->unsent)->id)->state == NEW)
		return false;
	if (!iw_xfer_draft_begin(x, &d, IW_XFER_MSG_WANT, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XFER_KEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (; s->unsent > 0; s->unsent--) {
		const struct range *r = range_at(s, s->nranges - s->unsent);
		const struct file *f = find(s, r->id);
		struct iw_xfer_entry e = { .has = IW_XFER_HAS(ID) | IW_XFER_HAS(OFF) |
						  IW_XFER_HAS(LEN),
					   .id = r->id,
					   .off = r->next,
					   .len = r->end - r->next };

		if (!f)
			continue;
		if (f->state == NEW || !iw_xfer_draft_entry(&d, &e))
			break;
		n++;
	}
	iw_cbor_array_end(&d.o, place, n);
	iw_xfer_source_trim_ranges(s);
	if (n == 0) {
		iw_xfer_draft_drop(x, &d);
		return false;
	}
	iw_xfer_draft_send(x, &d, act, now);
	return true;
}

static bool has_ending(struct source *s)
{
	for (uint32_t i = 0; i < FILES; i++)
		if (s->file[i].state == ENDING)
			return true;
	return false;
}

/* True if all chunks of f are posted, and their DONEs were sent. */
static bool may_end(const struct source *s, const struct file *f)
{
	if (f->state != ENDING || f->slots == 0)
		return f->state == ENDING;
	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++)
		if (s->slot[i].id == f->id &&
		    (s->slot[i].state == S_LOADED || s->slot[i].state == S_LOADING ||
		     s->slot[i].state == S_REGISTERING || s->slot[i].state == S_REGISTERED))
			return false;
	return true;
}

static size_t put_ends(struct iw_xfer *x, struct draft *d)
{
	struct source *s = x->src;
	size_t n = 0;

	for (uint32_t i = 0; i < FILES; i++) {
		struct file *f = &s->file[i];
		struct iw_xfer_entry e = { .has = IW_XFER_HAS(ID), .id = f->id };

		if (!may_end(s, f))
			continue;
		if (f->mine.known) {
			iw_xfer_outcome_entry(&e, &f->mine);
		} else {
			e.has |= IW_XFER_HAS(SIZE);
			e.size = iw_xfer_is_stream(f->meta.kind) ? f->size : f->meta.size;
			put_digest(&e, &f->digest);
		}
		if (!iw_xfer_draft_entry(d, &e))
			break;
		f->state = ENDED;
		n++;
	}
	return n;
}

static size_t put_dones(struct iw_xfer *x, struct draft *d)
{
	struct source *s = x->src;
	size_t n = 0;

	for (; s->ndone > 0; s->ndone--, s->done_head = (s->done_head + 1) % DONES) {
		const struct done *p = &s->done[s->done_head];
		struct iw_xfer_entry e = { .has = IW_XFER_HAS(ID) | IW_XFER_HAS(OFF) |
						  IW_XFER_HAS(LEN),
					   .id = p->id,
					   .off = p->off,
					   .len = p->len };

		/* In mode read OFFER has reported the chunk already; only zeros are new. */
		if (p->zero) {
			e.has |= IW_XFER_HAS(ZERO);
			e.zero = true;
		} else {
			put_digest(&e, &p->digest);
		}
		if (!iw_xfer_draft_entry(d, &e))
			break;
		s->done_octets -= p->len;
		n++;
	}
	return n;
}

bool iw_xfer_source_send_done(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct source *s = x->src;
	struct draft d;
	size_t place, n, ends = 0;

	if ((s->ndone == 0 && !has_ending(s)) ||
	    !iw_xfer_draft_begin(x, &d, IW_XFER_MSG_DONE, 2, true))
		return false;
	iw_cbor_uint(&d.o, IW_XFER_KEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	n = put_dones(x, &d);
	iw_cbor_array_end(&d.o, place, n);
	iw_cbor_uint(&d.o, IW_XFER_KEY_ENDS);
	place = iw_cbor_array_begin(&d.o);
	if (!d.o.full && s->ndone == 0)
		ends = put_ends(x, &d);
	iw_cbor_array_end(&d.o, place, ends);
	if (n + ends == 0 || d.o.full) {
		iw_xfer_draft_drop(x, &d);
		return false;
	}
	iw_xfer_draft_send(x, &d, act, now);
	return true;
}

bool iw_xfer_source_send_offers(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct source *s = x->src;
	struct draft d;
	size_t place, n = 0;

	if (s->offers.n == 0 || !iw_xfer_draft_begin(x, &d, IW_XFER_MSG_OFFER, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XFER_KEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (; s->offers.n > 0; n++) {
		struct slot *sl = &s->slot[fifo_first(&s->offers)];
		struct iw_xfer_entry e = { .has = IW_XFER_HAS(ID) | IW_XFER_HAS(OFF) |
						  IW_XFER_HAS(LEN) | IW_XFER_HAS(STAG),
					   .id = sl->id,
					   .off = sl->off,
					   .len = sl->len,
					   .stag = sl->stag };

		put_digest(&e, &sl->digest);
		if (!iw_xfer_draft_entry(&d, &e))
			break;
		sl->state = S_OFFERED;
		(void)fifo_take(&s->offers);
	}
	iw_cbor_array_end(&d.o, place, n);
	iw_xfer_draft_send(x, &d, act, now);
	return true;
}

/* Must precede BYE. */
bool iw_xfer_source_send_removes(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	const struct source *s = x->src;

	return s->no_more && s->nfiles == 0 && !s->bye_sent &&
	       iw_xfer_send_names(x, act, IW_XFER_MSG_REMOVE, now);
}

bool iw_xfer_source_send_bye(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct source *s = x->src;
	struct draft d;

	if (!s->no_more || s->nfiles > 0 || s->bye_sent || x->names_left > 0 ||
	    !iw_xfer_draft_begin(x, &d, IW_XFER_MSG_BYE, 2, true))
		return false;
	s->bye_sent = true;
	iw_cbor_uint(&d.o, IW_XFER_KEY_FILES);
	iw_cbor_uint(&d.o, s->bye_files);
	iw_cbor_uint(&d.o, IW_XFER_KEY_FAILED);
	iw_cbor_uint(&d.o, s->bye_failed);
	iw_xfer_draft_send(x, &d, act, now);
	iw_xfer_set_state(x, ST_BYE);
	return true;
}
