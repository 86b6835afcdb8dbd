// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The source: announces files, loads their chunks, moves them (mode write: into windows it was granted; read: offers them; send:
 * within the credit), and says when a file has ended.
 *
 * A file's way: NEW -(FILES)-> ASKED -(GO)-> GOING -(all loaded)-> CHECKING -(FINISH answered)-> ENDING -(DONE)-> ENDED, and it is
 * forgotten when its RESULT has come and none of its chunks is under way any more.
 */
#include <assert.h>
#include <string.h>

#include "util/text.h"
#include "xfer/internal.h"
#include "xfer/name.h"

#define FILES        IW_XFER_FILES
#define RANGES       IW_XFER_RANGES
#define DONES        IW_XFER_WINDOWS
#define STREAM_AHEAD (8u << 20) /* octets of a stream asked for ahead of what has been granted */

enum file_state { FREE, NEW, ASKED, GOING, CHECKING, ENDING, ENDED };

struct file {
	enum file_state state;
	uint32_t id;
	void *user;
	struct iw_xmeta meta;
	bool scanned;                   /* no data behind cursor */
	bool asked_check;               /* FINISH was handed out */
	uint64_t cursor;                /* from here on it is not known where data are */
	uint64_t size;                  /* of a stream: as far as it has been loaded */
	uint64_t settled;               /* octets moved or found to be zero */
	uint32_t ranges, grants, slots; /* in the rings, and in use, for this file */
	struct iw_xdigest digest;
	struct outcome mine, result; /* what went wrong here; what the sink says */
};

/* Data of a file that wait for a window (mode write) or for a slot. */
struct range {
	uint32_t id; /* 0: dropped */
	uint64_t next, end;
};

struct grant {
	uint32_t id; /* 0: dropped */
	uint64_t off;
	uint32_t len, stag;
};

enum slot_state { S_FREE, S_LOADING, S_LOADED, S_POSTED, S_REGISTERING, S_REGISTERED, S_OFFERED };

struct slot {
	enum slot_state state;
	uint32_t id;
	uint64_t off;
	uint32_t len;
	uint32_t stag;               /* of the grant; mode read: our own */
	uint32_t next_piece, pieces; /* mode send: posted, and posted but not complete */
	struct iw_xdigest digest;
	uint8_t hdr[IW_XPARTS][IW_XFER_DATA_HDR];
};

/* A chunk of which the sink is to be told. */
struct done {
	uint32_t id;
	uint64_t off;
	uint32_t len;
	bool zero;
	struct iw_xdigest digest;
};

struct source {
	struct file file[FILES];             /* number id is in place id % FILES */
	uint32_t next_id, oldest_id, nfiles; /* oldest_id: none before it is open */
	uint32_t scan_id;                    /* files before it are scanned, or dead */
	bool next_asked;                     /* NEXT_FILE is unanswered */
	bool no_more, bye_sent;
	uint64_t bye_files, bye_failed;

	struct range range[RANGES];
	uint32_t range_head, nranges, untold; /* untold: at the tail, not in a WANT yet */
	struct grant grant[IW_XFER_WINDOWS];
	uint32_t grant_head, ngrants;
	struct slot slot[IW_XFER_WINDOWS];
	struct fifo loaded; /* slots in state LOADED, in the order of loading */
	struct fifo offers; /* slots that are registered, and to be offered, in order */
	struct fifo revoke; /* slots whose registration is to end */
	uint32_t loading;   /* the slot, or IW_XFER_WINDOWS */
	struct done done[DONES];
	uint32_t done_head, ndone;
	uint64_t done_octets;

	struct iw_list paths; /* pull: wanted, not handed out yet */
	uint32_t npaths;
	struct path *shown; /* the one that the last PATH showed */
	bool paths_end;
	struct iw_xmeta gone; /* of the file that the last RESULT was about */
	struct outcome gone_outcome;
};

int source_new(struct iw_xfer *x)
{
	struct source *s = iw_mem_alloc(x->mem, sizeof(*s));

	if (!s)
		return IW_E_NOMEM;
	iw_list_init(&s->paths);
	s->next_id = s->oldest_id = s->scan_id = 1;
	s->loading = IW_XFER_WINDOWS;
	x->src = s;
	return 0;
}

void source_free(struct iw_xfer *x)
{
	struct source *s = x->src;
	struct path *p;

	while ((p = xf_path_take(&s->paths)) != NULL)
		xf_path_free(x, p);
	xf_path_free(x, s->shown);
	iw_mem_free(x->mem, s, sizeof(*s));
	x->src = NULL;
}

static struct file *find(struct source *s, uint32_t id)
{
	struct file *f = &s->file[id % FILES];

	return id != 0 && f->state != FREE && f->id == id ? f : NULL;
}

static enum iw_xfer_mode mode(const struct iw_xfer *x)
{
	return x->cfg.mine.mode;
}

/* --- rings --- */

static struct range *range_at(struct source *s, uint32_t i)
{
	return &s->range[(s->range_head + i) % RANGES];
}

static struct grant *grant_at(struct source *s, uint32_t i)
{
	return &s->grant[(s->grant_head + i) % IW_XFER_WINDOWS];
}

static void pop_range(struct source *s)
{
	struct file *f = find(s, range_at(s, 0)->id);

	if (f)
		f->ranges--;
	s->range_head = (s->range_head + 1) % RANGES;
	s->nranges--;
	s->untold = IW_MIN(s->untold, s->nranges);
}

/* Ranges of dead files at the head are of no use to anybody. */
static void trim_ranges(struct source *s)
{
	while (s->nranges > 0 && range_at(s, 0)->id == 0)
		pop_range(s);
}

static void trim_grants(struct source *s)
{
	while (s->ngrants > 0 && grant_at(s, 0)->id == 0) {
		s->grant_head = (s->grant_head + 1) % IW_XFER_WINDOWS;
		s->ngrants--;
	}
}

/* Nothing more of f is asked for or loaded. */
static void drop_rest(struct source *s, struct file *f)
{
	for (uint32_t i = 0; i < s->nranges; i++)
		if (range_at(s, i)->id == f->id)
			range_at(s, i)->id = 0;
	for (uint32_t i = 0; i < s->ngrants; i++)
		if (grant_at(s, i)->id == f->id)
			grant_at(s, i)->id = 0;
	f->ranges = f->grants = 0;
	f->scanned = true;
	trim_ranges(s);
	trim_grants(s);
}

static void push_done(struct source *s, const struct done *d)
{
	assert(s->ndone < DONES);
	s->done[(s->done_head + s->ndone++) % DONES] = *d;
	s->done_octets += d->len;
}

/* --- slots --- */

static void free_slot(struct iw_xfer *x, uint32_t i)
{
	struct source *s = x->src;
	struct file *f = find(s, s->slot[i].id);

	if (f)
		f->slots--;
	s->slot[i].state = S_FREE;
	s->slot[i].id = 0;
	xf_slot_put(x, i);
}

void source_registered(struct iw_xfer *x, uint32_t i, uint32_t stag)
{
	struct source *s = x->src;
	struct slot *sl = &s->slot[i];

	if (sl->state != S_REGISTERING)
		return;
	sl->state = S_REGISTERED;
	sl->stag = stag;
	fifo_put(&s->offers, i);
}

void source_completed(struct iw_xfer *x, uint32_t i, bool piece, uint64_t now)
{
	struct slot *sl;

	(void)now;
	if (piece)
		i /= IW_XPARTS;
	if (i >= IW_XFER_WINDOWS)
		return;
	sl = &x->src->slot[i];
	if (piece) {
		sl->pieces--;
		if (sl->pieces > 0 || (uint64_t)sl->next_piece * IW_XFER_PIECE < sl->len)
			return;
	}
	if (sl->state == S_POSTED)
		free_slot(x, i);
}

/* --- files --- */

static void end_file(struct iw_xfer *x, struct file *f, enum iw_xcode code, const char *text)
{
	struct source *s = x->src;

	/* A LOAD that is unanswered is not waited for: its file may be a pipe that stays silent. */
	if (s->loading < IW_XFER_WINDOWS && s->slot[s->loading].id == f->id) {
		free_slot(x, s->loading);
		s->loading = IW_XFER_WINDOWS;
	}
	xf_outcome(&f->mine, code, text, text ? strlen(text) : 0, false);
	drop_rest(s, f);
	if (f->state == GOING || f->state == CHECKING || f->state == ASKED)
		f->state = ENDING;
}

void source_file_failed(struct iw_xfer *x, uint32_t id, enum iw_xcode code, const char *text)
{
	struct source *s = x->src;
	struct file *f = find(s, id);

	if (f)
		end_file(x, f, code, text);
}

static struct file *new_file(struct iw_xfer *x, const struct iw_xmeta *meta, void *user)
{
	struct source *s = x->src;
	struct file *f = &s->file[s->next_id % FILES];

	if (!s->next_asked || f->state != FREE || s->no_more)
		return NULL;
	s->next_asked = false;
	*f = (struct file){ .state = NEW, .id = s->next_id++, .user = user, .meta = *meta };
	f->scanned = meta->kind == IW_XFER_DIR || (meta->kind == IW_XFER_FILE && meta->size == 0);
	if (meta->kind == IW_XFER_STREAM)
		f->meta.size = IW_XFER_SIZE_UNKNOWN;
	else
		x->counts.announced += meta->size;
	s->nfiles++;
	return f;
}

void iw_xfer_add(struct iw_xfer *x, const struct iw_xmeta *meta, void *user, uint64_t now)
{
	xf_progress(x, now);
	if (x->src)
		(void)new_file(x, meta, user);
}

void iw_xfer_add_failed(struct iw_xfer *x, const struct iw_xmeta *meta, void *user,
			enum iw_xcode code, const char *text, uint64_t now)
{
	struct file *f;

	xf_progress(x, now);
	if (!x->src)
		return;
	f = new_file(x, meta, user);
	if (f)
		end_file(x, f, code, text);
}

void iw_xfer_no_more(struct iw_xfer *x, uint64_t now)
{
	xf_progress(x, now);
	if (!x->src || !x->src->next_asked)
		return;
	x->src->next_asked = false;
	x->src->no_more = true;
}

void iw_xfer_range(struct iw_xfer *x, uint32_t id, uint64_t off, uint64_t len, bool last)
{
	struct source *s = x->src;
	struct file *f = s ? find(s, id) : NULL;

	if (!f || f->scanned)
		return;
	f->scanned = last || len == 0;
	if (len == 0)
		return;
	assert(s->nranges < RANGES);
	s->range[(s->range_head + s->nranges++) % RANGES] =
		(struct range){ .id = id, .next = off, .end = off + len };
	s->untold++;
	f->ranges++;
	f->cursor = off + len;
	if (f->meta.size != IW_XFER_SIZE_UNKNOWN && f->cursor >= f->meta.size)
		f->scanned = true;
}

/* Octets of a stream that are in ranges and not yet being loaded. */
static uint64_t ahead(const struct file *f)
{
	return f->cursor - f->size;
}

static bool ask_range(struct iw_xfer *x, struct iw_xact *act)
{
	struct source *s = x->src;
	uint32_t cap = mode(x) == IW_XFER_WRITE ? IW_MIN(x->cfg.peer.ranges, RANGES) : RANGES;

	while (s->scan_id < s->next_id) {
		struct file *f = find(s, s->scan_id);

		if (f && !f->scanned) {
			if (s->nranges >= cap)
				return false;
			if (f->meta.kind == IW_XFER_STREAM && ahead(f) >= STREAM_AHEAD)
				return false;
			act->type = IW_XACT_NEXT_RANGE;
			act->id = f->id;
			act->file = f->user;
			act->off = f->cursor;
			return true;
		}
		s->scan_id++;
	}
	return false;
}

static bool ask_file(struct iw_xfer *x, struct iw_xact *act)
{
	struct source *s = x->src;

	/* Pull: not before the peer has said what it wants, and its paths have been shown. */
	if (!x->cfg.initiator && (!s->paths_end || !iw_list_empty(&s->paths)))
		return false;
	while (s->oldest_id < s->next_id && !find(s, s->oldest_id))
		s->oldest_id++;
	if (s->next_asked || s->no_more ||
	    s->next_id - s->oldest_id >= IW_MIN(x->cfg.peer.files, FILES))
		return false;
	s->next_asked = true;
	act->type = IW_XACT_NEXT_FILE;
	return true;
}

static bool show_path(struct iw_xfer *x, struct iw_xact *act)
{
	struct source *s = x->src;

	xf_path_free(x, s->shown);
	s->shown = xf_path_take(&s->paths);
	if (!s->shown)
		return false;
	act->type = IW_XACT_PATH;
	act->name = s->shown->octets;
	act->name_len = s->shown->len;
	return true;
}

/* --- loading --- */

/* The next chunk to be loaded: from the head of the grants, or cut from the head of the ranges. */
static bool next_chunk(struct iw_xfer *x, struct slot *out)
{
	struct source *s = x->src;
	struct range *r;
	struct file *f;
	uint64_t chunk_end;

	if (mode(x) == IW_XFER_WRITE) {
		struct grant *g;

		trim_grants(s);
		if (s->ngrants == 0)
			return false;
		g = grant_at(s, 0);
		*out = (struct slot){ .id = g->id, .off = g->off, .len = g->len, .stag = g->stag };
		find(s, g->id)->grants--;
		g->id = 0;
		trim_grants(s);
		return true;
	}
	trim_ranges(s);
	if (s->nranges == 0)
		return false;
	r = range_at(s, 0);
	f = find(s, r->id);
	if (f->state != GOING)
		return false; /* the sink has not said yet whether it wants it */
	chunk_end = IW_MIN((r->next / IW_XFER_CHUNK + 1) * IW_XFER_CHUNK, r->end);
	*out = (struct slot){ .id = r->id, .off = r->next, .len = (uint32_t)(chunk_end - r->next) };
	r->next = chunk_end;
	if (r->next == r->end)
		pop_range(s);
	return true;
}

/* Chunks that the sink has been offered, or will have to be told of: bounded, so that rings never overflow. */
static bool may_load(const struct source *s)
{
	return s->loading == IW_XFER_WINDOWS && s->ndone + s->loaded.n < DONES;
}

static bool load(struct iw_xfer *x, struct iw_xact *act)
{
	struct source *s = x->src;
	struct slot chunk;
	uint32_t i;

	if (!may_load(s) || (mode(x) == IW_XFER_WRITE ? s->ngrants == 0 : s->nranges == 0))
		return false;
	if (!xf_slot_get(x, &i))
		return false;
	if (!next_chunk(x, &chunk)) {
		xf_slot_put(x, i);
		return false;
	}
	s->slot[i] = chunk;
	s->slot[i].state = S_LOADING;
	s->loading = i;
	find(s, chunk.id)->slots++;
	act->type = IW_XACT_LOAD;
	act->id = chunk.id;
	act->file = find(s, chunk.id)->user;
	act->slot = i;
	act->off = chunk.off;
	act->len = chunk.len;
	return true;
}

void iw_xfer_loaded(struct iw_xfer *x, uint32_t i, const struct iw_xloaded *l, uint64_t now)
{
	struct source *s = x->src;
	struct slot *sl;
	struct file *f;
	struct done d;

	xf_progress(x, now);
	if (!s || s->loading != i)
		return;
	s->loading = IW_XFER_WINDOWS;
	sl = &s->slot[i];
	f = find(s, sl->id);
	if (!f || f->mine.known || f->result.known || l->len > sl->len) {
		/* The file has failed meanwhile. */
		free_slot(x, i);
		return;
	}
	f->size = IW_MAX(f->size, sl->off + l->len);
	if (l->len < sl->len) {
		/* The end of a stream: what has been asked for beyond is not needed. */
		drop_rest(s, f);
		f->cursor = f->size;
	}
	if (l->len == 0) {
		free_slot(x, i);
		return;
	}
	sl->len = l->len;
	sl->digest = l->digest;
	f->settled += l->len;
	x->counts.settled += l->len;
	if (l->zero) {
		d = (struct done){ .id = sl->id, .off = sl->off, .len = l->len, .zero = true };
		x->counts.zeros += l->len;
		push_done(s, &d);
		free_slot(x, i);
		return;
	}
	x->counts.octets += l->len;
	sl->state = S_LOADED;
	fifo_put(&s->loaded, i);
}

/* --- moving --- */

static void moved(struct source *s, const struct slot *sl)
{
	const struct done d = {
		.id = sl->id, .off = sl->off, .len = sl->len, .digest = sl->digest
	};

	push_done(s, &d);
}

static bool post_write(struct iw_xfer *x, struct iw_xact *act)
{
	struct source *s = x->src;
	uint32_t i = fifo_first(&s->loaded);
	struct slot *sl = &s->slot[i];

	if (!link_sq_room(x))
		return false;
	(void)fifo_take(&s->loaded);
	sl->state = S_POSTED;
	act->type = IW_XACT_WRITE;
	act->cookie = cookie(CK_SLOT, i);
	act->slot = i;
	act->stag = sl->stag;
	act->to = sl->off;
	act->len = sl->len;
	link_posted(x);
	moved(s, sl);
	return true;
}

static bool post_piece(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct source *s = x->src;
	uint32_t i = fifo_first(&s->loaded), at, n;
	struct slot *sl = &s->slot[i];

	if (link_size(x) < IW_XFER_PIECE + IW_XFER_DATA_HDR) {
		/* The receives that come first in the peer's queue are too small: use them up. */
		if (x->link.tx_from != UINT64_MAX)
			x->link.nop_due = true;
		return false;
	}
	/* One credit more is left for the DONE: without it the sink would keep its receives. */
	if (!link_ready(x, true) || x->link.tx_limit - x->link.tx_count <= 2)
		return false;
	n = sl->next_piece++;
	at = n * IW_XFER_PIECE;
	iw_xdata_encode(sl->hdr[n], sl->id, sl->off + at);
	act->type = IW_XACT_DATA;
	act->cookie = cookie(CK_PIECE, i * IW_XPARTS + n);
	act->msg = sl->hdr[n];
	act->msg_len = IW_XFER_DATA_HDR;
	act->slot = i;
	act->slot_off = at;
	act->len = IW_MIN(sl->len - at, IW_XFER_PIECE);
	sl->pieces++;
	link_data_sent(x, now);
	if (at + act->len == sl->len) {
		(void)fifo_take(&s->loaded);
		sl->state = S_POSTED;
		moved(s, sl);
	}
	return true;
}

static bool register_offer(struct iw_xfer *x, struct iw_xact *act)
{
	struct source *s = x->src;
	uint32_t i = fifo_take(&s->loaded);
	struct slot *sl = &s->slot[i];

	sl->state = S_REGISTERING;
	act->type = IW_XACT_REGISTER;
	act->slot = i;
	act->to = sl->off;
	act->len = sl->len;
	act->right = IW_XRIGHT_REMOTE_READ;
	return true;
}

static bool move(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
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

static bool revoke(struct iw_xfer *x, struct iw_xact *act)
{
	struct source *s = x->src;

	if (s->revoke.n == 0)
		return false;
	act->type = IW_XACT_REVOKE;
	act->slot = fifo_take(&s->revoke);
	free_slot(x, act->slot);
	return true;
}

/* --- messages out --- */

static void put_digest(struct iw_xentry *e, const struct iw_xdigest *d)
{
	if (d->len == 0)
		return;
	e->has |= IW_XBIT(IW_XF_DIGEST);
	e->digest = *d;
}

static bool put_file(struct draft *d, struct file *f)
{
	const struct iw_xmeta *m = &f->meta;
	struct iw_xentry e = {
		.has = IW_XBIT(IW_XF_ID) | IW_XBIT(IW_XF_NAME) | IW_XBIT(IW_XF_KIND) |
		       IW_XBIT(IW_XF_TOP),
		.id = f->id,
		.name = m->name,
		.name_len = m->name_len,
		.kind = m->kind,
		.top = m->top,
	};

	if (f->mine.known) {
		xf_outcome_entry(&e, &f->mine);
		return draft_entry(d, &e);
	}
	e.has |= IW_XBIT(IW_XF_MODE);
	e.mode = m->mode;
	if (m->kind == IW_XFER_FILE) {
		e.has |= IW_XBIT(IW_XF_SIZE);
		e.size = m->size;
	}
	if (m->kind != IW_XFER_STREAM) {
		e.has |= IW_XBIT(IW_XF_MTIME) | IW_XBIT(IW_XF_MTIME_NS);
		e.mtime_s = m->mtime_s;
		e.mtime_ns = m->mtime_ns;
	}
	return draft_entry(d, &e);
}

/* The oldest file that has not been announced. */
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

static bool send_files(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct source *s = x->src;
	struct file *f = first_new(s);
	struct draft d;
	size_t place, n = 0;

	if (!f || !draft_begin(x, &d, IW_XMSG_FILES, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (uint32_t id = f->id; id < s->next_id; id++, n++) {
		f = find(s, id);
		if (!put_file(&d, f))
			break;
		f->state = ASKED;
	}
	iw_cbor_array_end(&d.o, place, n);
	if (n > 0) {
		draft_send(x, &d, act, now);
		return true;
	}
	/* A long name that the peer's first, small receives do not hold: use them up. */
	draft_drop(x, &d);
	if (x->link.tx_from != UINT64_MAX && x->link.tx_count + 1 < x->link.tx_from)
		x->link.nop_due = true;
	return false;
}

static bool send_wants(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct source *s = x->src;
	struct draft d;
	size_t place, n = 0;

	if (mode(x) != IW_XFER_WRITE || s->untold == 0)
		return false;
	/* What is about files that are not announced yet waits for them. */
	if (find(s, range_at(s, s->nranges - s->untold)->id) &&
	    find(s, range_at(s, s->nranges - s->untold)->id)->state == NEW)
		return false;
	if (!draft_begin(x, &d, IW_XMSG_WANT, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (; s->untold > 0; s->untold--) {
		const struct range *r = range_at(s, s->nranges - s->untold);
		const struct file *f = find(s, r->id);
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID) | IW_XBIT(IW_XF_OFF) |
					      IW_XBIT(IW_XF_LEN),
				       .id = r->id,
				       .off = r->next,
				       .len = r->end - r->next };

		if (!f)
			continue;
		if (f->state == NEW || !draft_entry(&d, &e))
			break;
		n++;
	}
	iw_cbor_array_end(&d.o, place, n);
	trim_ranges(s);
	if (n == 0) {
		draft_drop(x, &d);
		return false;
	}
	draft_send(x, &d, act, now);
	return true;
}

static bool has_ending(struct source *s)
{
	for (uint32_t i = 0; i < FILES; i++)
		if (s->file[i].state == ENDING)
			return true;
	return false;
}

/* All chunks of f that are moved have been posted, and their DONEs made before its end. */
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
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID), .id = f->id };

		if (!may_end(s, f))
			continue;
		if (f->mine.known) {
			xf_outcome_entry(&e, &f->mine);
		} else {
			e.has |= IW_XBIT(IW_XF_SIZE);
			e.size = f->meta.kind == IW_XFER_STREAM ? f->size : f->meta.size;
			put_digest(&e, &f->digest);
		}
		if (!draft_entry(d, &e))
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
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID) | IW_XBIT(IW_XF_OFF) |
					      IW_XBIT(IW_XF_LEN),
				       .id = p->id,
				       .off = p->off,
				       .len = p->len };

		/* Mode read has told of the chunk by its OFFER; only zeros are new to the sink. */
		if (p->zero) {
			e.has |= IW_XBIT(IW_XF_ZERO);
			e.zero = true;
		} else {
			put_digest(&e, &p->digest);
		}
		if (!draft_entry(d, &e))
			break;
		s->done_octets -= p->len;
		n++;
	}
	return n;
}

static bool send_done(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct source *s = x->src;
	struct draft d;
	size_t place, n, ends = 0;

	if ((s->ndone == 0 && !has_ending(s)) || !draft_begin(x, &d, IW_XMSG_DONE, 2, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	n = put_dones(x, &d);
	iw_cbor_array_end(&d.o, place, n);
	iw_cbor_uint(&d.o, IW_XKEY_ENDS);
	place = iw_cbor_array_begin(&d.o);
	if (!d.o.full && s->ndone == 0)
		ends = put_ends(x, &d);
	iw_cbor_array_end(&d.o, place, ends);
	if (n + ends == 0 || d.o.full) {
		draft_drop(x, &d);
		return false;
	}
	draft_send(x, &d, act, now);
	return true;
}

static bool send_offers(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct source *s = x->src;
	struct draft d;
	size_t place, n = 0;

	if (s->offers.n == 0 || !draft_begin(x, &d, IW_XMSG_OFFER, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (; s->offers.n > 0; n++) {
		struct slot *sl = &s->slot[fifo_first(&s->offers)];
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID) | IW_XBIT(IW_XF_OFF) |
					      IW_XBIT(IW_XF_LEN) | IW_XBIT(IW_XF_STAG),
				       .id = sl->id,
				       .off = sl->off,
				       .len = sl->len,
				       .stag = sl->stag };

		put_digest(&e, &sl->digest);
		if (!draft_entry(&d, &e))
			break;
		sl->state = S_OFFERED;
		(void)fifo_take(&s->offers);
	}
	iw_cbor_array_end(&d.o, place, n);
	draft_send(x, &d, act, now);
	return true;
}

static bool send_bye(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct source *s = x->src;
	struct draft d;

	if (!s->no_more || s->nfiles > 0 || s->bye_sent ||
	    !draft_begin(x, &d, IW_XMSG_BYE, 2, true))
		return false;
	s->bye_sent = true;
	iw_cbor_uint(&d.o, IW_XKEY_FILES);
	iw_cbor_uint(&d.o, s->bye_files);
	iw_cbor_uint(&d.o, IW_XKEY_FAILED);
	iw_cbor_uint(&d.o, s->bye_failed);
	draft_send(x, &d, act, now);
	xf_set_state(x, ST_BYE);
	return true;
}

/* --- the end of files --- */

static bool check(struct iw_xfer *x, struct iw_xact *act)
{
	struct source *s = x->src;

	for (uint32_t i = 0; i < FILES; i++) {
		struct file *f = &s->file[i];

		if (f->state == GOING && f->scanned && f->ranges == 0 && f->grants == 0 &&
		    (s->loading == IW_XFER_WINDOWS || s->slot[s->loading].id != f->id))
			f->state = CHECKING;
		if (f->state != CHECKING || f->asked_check)
			continue;
		f->asked_check = true;
		act->type = IW_XACT_FINISH;
		act->id = f->id;
		act->file = f->user;
		act->size = f->meta.kind == IW_XFER_STREAM ? f->size : f->meta.size;
		return true;
	}
	return false;
}

void iw_xfer_finished(struct iw_xfer *x, uint32_t id, const struct iw_xdigest *digest, uint64_t now)
{
	struct file *f = x->src ? find(x->src, id) : NULL;

	xf_progress(x, now);
	if (!f || f->state != CHECKING)
		return;
	f->digest = *digest;
	f->state = ENDING;
}

/* Forgets f; act tells of it. */
static void close_file(struct iw_xfer *x, struct file *f, const struct outcome *o,
		       struct iw_xact *act)
{
	struct source *s = x->src;

	xf_count_result(x, o, f->meta.size, f->settled);
	s->bye_files++;
	s->bye_failed += o->code != IW_XC_OK && o->code != IW_XC_SAME;
	s->gone = f->meta;
	s->gone_outcome = *o;
	xf_result_act(act, f->id, f->user, &s->gone, &s->gone_outcome);
	drop_rest(s, f);
	f->state = FREE;
	s->nfiles--;
}

static bool result(struct iw_xfer *x, struct iw_xact *act)
{
	struct source *s = x->src;

	for (uint32_t i = 0; i < FILES; i++) {
		struct file *f = &s->file[i];

		if (f->state == FREE || !f->result.known || f->slots > 0 || f->state != ENDED)
			continue;
		/* Why it failed here says more than that the sink heard of it. */
		close_file(x, f,
			   f->mine.known && f->mine.code != IW_XC_CANCELED ? &f->mine : &f->result,
			   act);
		return true;
	}
	return false;
}

bool source_next(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct source *s = x->src;

	/* What makes room and what the peer waits for comes first; new work last. */
	return revoke(x, act) || show_path(x, act) || move(x, act, now) ||
	       (s->done_octets >= IW_XFER_CHUNK && send_done(x, act, now)) ||
	       (s->offers.n >= 2 && send_offers(x, act, now)) || load(x, act) || check(x, act) ||
	       result(x, act) || send_offers(x, act, now) || send_done(x, act, now) ||
	       ask_range(x, act) || ask_file(x, act) || send_files(x, act, now) ||
	       send_wants(x, act, now) || send_bye(x, act, now);
}

/* --- messages in --- */

static int on_get(struct iw_xfer *x, const struct iw_xmsg *m)
{
	struct source *s = x->src;
	struct iw_cbor_in in;
	struct iw_cbor_item item;
	struct iw_fault why;
	size_t n;

	if (x->cfg.initiator || s->paths_end)
		return xf_breach(x, "GET %s",
				 s->paths_end ? "behind the last one" : "to a source that pushes");
	if (iw_cbor_get_bool(&m->rec, IW_XKEY_LAST, &s->paths_end, &why) != 0 ||
	    iw_cbor_get_array(&m->rec, IW_XKEY_LIST, &in, &n, &why) != 0)
		return xf_breach(x, "%s", why.text);
	for (; n > 0; n--) {
		if (iw_cbor_next(&in, &item) != 1 || item.kind != IW_CBOR_BYTES)
			return xf_breach(x, "GET: a path that is no byte string");
		if (item.len > IW_XFER_NAME_MAX || s->npaths >= XF_PATHS_MAX)
			return xf_breach(x, "GET: a path of %U octets, %u paths",
					 (uint64_t)item.len, s->npaths);
		if (!xf_path_add(x, &s->paths, item.p, item.len)) {
			iw_fail(&why, IW_E_NOMEM, "no memory for a path");
			iw_xfer_fail(x, &why);
			return IW_E_NOMEM;
		}
		s->npaths++;
	}
	return 0;
}

static int on_go(struct iw_xfer *x, const struct iw_xentry *e)
{
	struct file *f = find(x->src, e->id);

	if (!f || f->state == NEW)
		return xf_breach(x, "GO for file %u, which is not announced", e->id);
	/* A file that failed here meanwhile has its END on the way. */
	if (f->state == ASKED)
		f->state = GOING;
	else if (!f->mine.known)
		return xf_breach(x, "GO for file %u comes twice", e->id);
	return 0;
}

/* The range of that file which the next GRANT must be about; those of other files may be settled without one. */
static struct range *first_told(struct source *s, uint32_t id)
{
	for (uint32_t i = 0; i < s->nranges - s->untold; i++)
		if (range_at(s, i)->id == id)
			return range_at(s, i);
	return NULL;
}

static int on_grant(struct iw_xfer *x, const struct iw_xentry *e)
{
	struct source *s = x->src;
	struct file *f = find(s, e->id);
	struct range *r;

	if (mode(x) != IW_XFER_WRITE)
		return xf_breach(x, "GRANT in mode %s", iw_xfer_mode_name(mode(x)));
	if (!f && e->id < s->next_id && e->id != 0)
		return 0; /* it was on the way when the file came to its end */
	if (!f || f->state == NEW || f->state == ASKED)
		return xf_breach(x, "GRANT for file %u before GO", e->id);
	if (f->state != GOING || (f->meta.kind == IW_XFER_STREAM && f->scanned && f->ranges == 0))
		return 0; /* likewise */
	r = first_told(s, e->id);
	if (!r || r->next != e->off || e->len == 0 || e->len > IW_XFER_CHUNK ||
	    e->len > r->end - r->next ||
	    e->off / IW_XFER_CHUNK != (e->off + e->len - 1) / IW_XFER_CHUNK ||
	    (e->off + e->len != r->end && (e->off + e->len) % IW_XFER_CHUNK != 0))
		return xf_breach(x,
				 "GRANT of %U octets at %U of file %u: not what was asked for next",
				 e->len, e->off, e->id);
	if (s->ngrants == IW_XFER_WINDOWS)
		return xf_breach(x, "more than %u windows", IW_XFER_WINDOWS);
	*grant_at(s, s->ngrants++) = (struct grant){
		.id = e->id, .off = e->off, .len = (uint32_t)e->len, .stag = e->stag
	};
	f->grants++;
	r->next += e->len;
	if (r->next == r->end) {
		r->id = 0;
		f->ranges--;
		trim_ranges(s);
	}
	return 0;
}

static int on_release(struct iw_xfer *x, const struct iw_xentry *e)
{
	struct source *s = x->src;

	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++) {
		struct slot *sl = &s->slot[i];

		if (sl->state != S_OFFERED || sl->id != e->id || sl->off != e->off)
			continue;
		/* Not to be found a second time. */
		sl->state = S_POSTED;
		fifo_put(&s->revoke, i);
		return 0;
	}
	return xf_breach(x, "RELEASE of octet %U of file %u, which is not offered", e->off, e->id);
}

static int on_result(struct iw_xfer *x, const struct iw_xentry *e)
{
	struct source *s = x->src;
	struct file *f = find(s, e->id);

	if (!f || f->state == NEW || f->result.known)
		return xf_breach(x, "RESULT for file %u, which is %s", e->id,
				 f && f->result.known ? "settled" : "not announced");
	if (e->code == IW_XC_OK && f->meta.kind != IW_XFER_DIR && f->state != ENDED)
		return xf_breach(x, "RESULT: file %u is done, before it has ended", e->id);
	xf_outcome(&f->result, e->code, e->text, e->text_len, true);
	if (f->state == ASKED) {
		/* No GO, so no END. */
		drop_rest(s, f);
		f->state = ENDED;
	} else if (f->state != ENDED) {
		/* Ours may have failed as well: then its END is due already. */
		end_file(x, f, IW_XC_CANCELED, NULL);
	}
	return 0;
}

static int on_bye(struct iw_xfer *x, const struct iw_xmsg *m)
{
	struct iw_fault why;

	if (!x->src->bye_sent)
		return xf_breach(x, "BYE from a sink that was not bidden farewell");
	if (iw_cbor_get_uint(&m->rec, IW_XKEY_FAILED, UINT64_MAX, &x->counts.peer_failed, &why) !=
	    0)
		return xf_breach(x, "%s", why.text);
	xf_set_state(x, ST_CLOSING);
	return 0;
}

int source_message(struct iw_xfer *x, const struct iw_xmsg *m, uint64_t now)
{
	(void)now;
	switch (m->type) {
	case IW_XMSG_GET:
		return on_get(x, m);
	case IW_XMSG_GO:
		return xf_each(x, m, IW_XKEY_LIST, on_go);
	case IW_XMSG_GRANT:
		return xf_each(x, m, IW_XKEY_LIST, on_grant);
	case IW_XMSG_RELEASE:
		return xf_each(x, m, IW_XKEY_LIST, on_release);
	case IW_XMSG_RESULT:
		return xf_each(x, m, IW_XKEY_LIST, on_result);
	case IW_XMSG_BYE:
		return on_bye(x, m);
	default:
		return xf_breach(x, "message %s (%u) from a sink", iw_xmsg_name(m->type), m->type);
	}
}

/* --- the end --- */

bool source_cleanup(struct iw_xfer *x, struct iw_xact *act)
{
	struct source *s = x->src;
	struct outcome o = { .known = false };

	for (uint32_t i = 0; i < FILES; i++) {
		struct file *f = &s->file[i];

		if (f->state == FREE)
			continue;
		if (f->mine.known && f->mine.code != IW_XC_CANCELED)
			o = f->mine;
		else if (f->result.known)
			o = f->result;
		else
			xf_outcome(&o, IW_XC_CANCELED, NULL, 0, false);
		close_file(x, f, &o, act);
		return true;
	}
	return false;
}

bool source_busy_here(const struct iw_xfer *x)
{
	return x->src->loading < IW_XFER_WINDOWS || x->src->next_asked;
}

bool source_idle(const struct iw_xfer *x)
{
	return x->src->nfiles == 0 && iw_list_empty(&x->src->paths);
}
