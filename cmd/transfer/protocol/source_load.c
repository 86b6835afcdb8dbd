// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The source: loads chunks, and posts RDMA Writes, registrations or Sends for them. */
#include "transfer/protocol/source.h"

#include <string.h>

/* --- loading --- */

/* Takes the next chunk to load: the first grant (mode write), or the start of the first range. */
static bool next_chunk(struct iw_xfer *x, struct slot *out)
{
	struct source *s = x->src;
	struct range *r;
	struct file *f;
	uint64_t chunk_end;

	if (mode(x) == IW_XFER_WRITE) {
		struct grant *g;

		iw_xfer_source_trim_grants(s);
		if (s->ngrants == 0)
			return false;
		g = grant_at(s, 0);
		*out = (struct slot){ .id = g->id, .off = g->off, .len = g->len, .stag = g->stag };
		find(s, g->id)->grants--;
		g->id = 0;
		iw_xfer_source_trim_grants(s);
		return true;
	}
	iw_xfer_source_trim_ranges(s);
	if (s->nranges == 0)
		return false;
	r = range_at(s, 0);
	f = find(s, r->id);
	if (f->state != GOING)
		return false; /* the sink has not decided about the file */
	chunk_end = IW_MIN((r->next / IW_XFER_CHUNK + 1) * IW_XFER_CHUNK, r->end);
	*out = (struct slot){ .id = r->id, .off = r->next, .len = (uint32_t)(chunk_end - r->next) };
	r->next = chunk_end;
	if (r->next == r->end)
		iw_xfer_source_pop_range(s);
	return true;
}

/*
 * False while a LOAD is unanswered, or while a further chunk might not fit into the ring of DONEs.
 */
static bool may_load(const struct source *s)
{
	return s->loading == IW_XFER_WINDOWS && s->ndone + s->loaded.n < DONES;
}

bool iw_xfer_source_load(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct source *s = x->src;
	struct slot chunk;
	uint32_t i;

	if (!may_load(s) || (mode(x) == IW_XFER_WRITE ? s->ngrants == 0 : s->nranges == 0))
		return false;
	if (!iw_xfer_slot_get(x, &i))
		return false;
	if (!next_chunk(x, &chunk)) {
		iw_xfer_slot_put(x, i);
		return false;
	}
	s->slot[i] = chunk;
	s->slot[i].state = S_LOADING;
	s->loading = i;
	find(s, chunk.id)->slots++;
	act->type = IW_XFER_ACT_LOAD;
	act->id = chunk.id;
	act->file = find(s, chunk.id)->user;
	act->slot = i;
	act->off = chunk.off;
	act->len = chunk.len;
	return true;
}

void iw_xfer_loaded(struct iw_xfer *x, uint32_t id, uint32_t i, const struct iw_xfer_chunk *l,
		    uint64_t now)
{
	struct source *s = x->src;
	struct slot *sl;
	struct file *f;
	struct done d;

	iw_xfer_note_progress(x, now);
	if (!s || s->loading != i || s->slot[i].id != id)
		return;
	s->loading = IW_XFER_WINDOWS;
	sl = &s->slot[i];
	f = find(s, sl->id);
	if (!f || f->mine.known || f->result.known || l->len > sl->len) {
		/* The file has failed. */
		iw_xfer_source_free_slot(x, i);
		return;
	}
	f->size = IW_MAX(f->size, sl->off + l->len);
	if (l->len < sl->len) {
		/* End of a stream: drops further ranges. */
		iw_xfer_source_drop_rest(s, f);
		f->cursor = f->size;
	}
	if (l->len == 0) {
		iw_xfer_source_free_slot(x, i);
		return;
	}
	sl->len = l->len;
	sl->digest = l->digest;
	f->settled += l->len;
	x->counts.settled += l->len;
	if (l->zero) {
		d = (struct done){ .id = sl->id, .off = sl->off, .len = l->len, .zero = true };
		x->counts.zeros += l->len;
		iw_xfer_source_push_done(s, &d);
		iw_xfer_source_free_slot(x, i);
		return;
	}
	x->counts.octets += l->len;
	/* Only now is it known how much of a pack is wanted. */
	if (f->meta.kind == IW_XFER_PACK)
		x->counts.announced += l->len;
	sl->state = S_LOADED;
	fifo_put(&s->loaded, i);
}

/* --- moving --- */

static void moved(struct source *s, const struct slot *sl)
{
	const struct done d = {
		.id = sl->id, .off = sl->off, .len = sl->len, .digest = sl->digest
	};

	iw_xfer_source_push_done(s, &d);
}

static bool post_write(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct source *s = x->src;
	uint32_t i = fifo_first(&s->loaded);
	struct slot *sl = &s->slot[i];

	if (!iw_xfer_link_sq_room(x))
		return false;
	(void)fifo_take(&s->loaded);
	sl->state = S_POSTED;
	act->type = IW_XFER_ACT_WRITE;
	act->cookie = cookie(CK_SLOT, i);
	act->slot = i;
	act->stag = sl->stag;
	act->to = sl->off;
	act->len = sl->len;
	iw_xfer_link_posted(x);
	moved(s, sl);
	return true;
}

static bool post_piece(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct source *s = x->src;
	uint32_t i = fifo_first(&s->loaded), at, n;
	struct slot *sl = &s->slot[i];

	if (iw_xfer_link_size(x) < IW_XFER_PIECE + IW_XFER_DATA_HDR) {
		/* The peer's first receives are too small for a piece: use them up. */
		if (x->link.tx_from != UINT64_MAX)
			x->link.nop_due = true;
		return false;
	}
	/*
	 * Keeps one more credit for the DONE, without which the sink could not reuse its receives.
	 */
	if (!iw_xfer_link_ready(x, true) || x->link.tx_limit - x->link.tx_count <= 2)
		return false;
	n = sl->next_piece++;
	at = n * IW_XFER_PIECE;
	iw_xfer_data_encode(sl->hdr[n], sl->id, sl->off + at);
	act->type = IW_XFER_ACT_DATA;
	act->cookie = cookie(CK_PIECE, i * IW_XFER_PIECES + n);
	act->msg = sl->hdr[n];
	act->msg_len = IW_XFER_DATA_HDR;
	act->slot = i;
	act->slot_off = at;
	act->len = IW_MIN(sl->len - at, IW_XFER_PIECE);
	sl->pieces++;
	iw_xfer_link_data_sent(x, now);
	if (at + act->len == sl->len) {
		(void)fifo_take(&s->loaded);
		sl->state = S_POSTED;
		moved(s, sl);
	}
	return true;
}

static bool register_offer(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct source *s = x->src;
	uint32_t i = fifo_take(&s->loaded);
	struct slot *sl = &s->slot[i];

	sl->state = S_REGISTERING;
	act->type = IW_XFER_ACT_REGISTER;
	act->slot = i;
	act->to = sl->off;
	act->len = sl->len;
	act->right = IW_XFER_RIGHT_REMOTE_READ;
	return true;
}

bool iw_xfer_source_move(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	if (x->src->loaded.n == 0)
		return false;
	switch (mode(x)) {
	case IW_XFER_WRITE:
		return post_write(x, act);
	case IW_XFER_READ:
		return register_offer(x, act);
	case IW_XFER_SEND:
		return post_piece(x, act, now);
	}
	return false;
}

bool iw_xfer_source_revoke(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct source *s = x->src;

	if (s->revoke.n == 0)
		return false;
	act->type = IW_XFER_ACT_REVOKE;
	act->slot = fifo_take(&s->revoke);
	iw_xfer_source_free_slot(x, act->slot);
	return true;
}
