// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The source: announces files, loads their chunks, moves them (mode write: RDMA Writes into granted
 * windows; read: offers; send: Sends, as far as credit allows), and reports the end of each file.
 *
 * States of a file: NEW -(FILES)-> ASKED -(GO)-> GOING -(all loaded)-> CHECKING -(FINISH
 * answered)-> ENDING -(DONE)-> ENDED. The file is forgotten when its RESULT has arrived and none of
 * its chunks is in use.
 */
#include "transfer/protocol/source.h"

#include <assert.h>
#include <string.h>

#include "util/text.h"

int iw_xfer_source_new(struct iw_xfer *x)
{
	struct source *s = iw_mem_alloc(x->mem, sizeof(*s));

	if (!s)
		return IW_E_NOMEM;
	iw_list_init(&s->paths);
	iw_list_init(&s->notes);
	s->next_id = s->oldest_id = s->scan_id = 1;
	s->loading = IW_XFER_WINDOWS;
	x->src = s;
	return 0;
}

/* --- notes --- */

static struct note *take_note(struct source *s)
{
	struct iw_list *l = iw_list_first(&s->notes);

	if (!l)
		return NULL;
	iw_list_del(l);
	return iw_container_of(l, struct note, link);
}

static void free_note(struct iw_xfer *x, struct note *n)
{
	if (n)
		iw_mem_free(x->mem, n, sizeof(*n) + n->len);
}

int iw_xfer_source_note(struct iw_xfer *x, enum iw_xfer_act_type type,
			const struct iw_xfer_entry *e, const uint8_t *octets, size_t len)
{
	struct note *n = iw_mem_alloc(x->mem, sizeof(*n) + len);
	struct iw_fault why;

	if (!n) {
		iw_fail(&why, IW_E_NOMEM, "no memory for messages of the sink");
		iw_xfer_fail(x, &why);
		return IW_E_NOMEM;
	}
	n->type = type;
	n->id = e->id;
	n->off = e->off;
	n->chunks_len = e->len;
	n->len = len;
	if (len > 0)
		memcpy(n->octets, octets, len);
	iw_list_add_tail(&x->src->notes, &n->link);
	return 0;
}

/* Passes the next HAVE or WANTED to the driver. Skips those about files that have ended. */
static bool show_note(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct source *s = x->src;
	struct file *f;

	do {
		if (iw_list_empty(&s->notes))
			return false;
		f = find(s, iw_container_of(iw_list_first(&s->notes), struct note, link)->id);
		if (f && f->state == ASKED)
			return false; /* its GO will arrive */
		free_note(x, s->noted);
		s->noted = take_note(s);
	} while (!f || f->state != GOING);
	act->type = s->noted->type;
	act->id = f->id;
	act->file = f->user;
	act->off = s->noted->off;
	act->len = s->noted->chunks_len;
	act->name = (const char *)s->noted->octets;
	act->name_len = s->noted->len;
	return true;
}

void iw_xfer_source_free(struct iw_xfer *x)
{
	struct source *s = x->src;
	struct path *p;

	while ((p = iw_xfer_path_take(&s->paths)) != NULL)
		iw_xfer_path_free(x, p);
	iw_xfer_path_free(x, s->shown);
	while (!iw_list_empty(&s->notes))
		free_note(x, take_note(s));
	free_note(x, s->noted);
	for (uint32_t i = 0; i < FILES; i++)
		iw_mem_free(x->mem, s->file[i].codes, s->file[i].ncodes);
	iw_mem_free(x->mem, s->gone_codes, s->gone_ncodes);
	iw_mem_free(x->mem, s, sizeof(*s));
	x->src = NULL;
}

/* --- slots --- */

void iw_xfer_source_registered(struct iw_xfer *x, uint32_t i, uint32_t stag)
{
	struct source *s = x->src;
	struct slot *sl = &s->slot[i];

	if (sl->state != S_REGISTERING)
		return;
	sl->state = S_REGISTERED;
	sl->stag = stag;
	fifo_put(&s->offers, i);
}

void iw_xfer_source_completed(struct iw_xfer *x, uint32_t i, bool piece, uint64_t now)
{
	struct slot *sl;

	(void)now;
	if (piece)
		i /= IW_XFER_PIECES;
	if (i >= IW_XFER_WINDOWS)
		return;
	sl = &x->src->slot[i];
	if (piece) {
		sl->pieces--;
		if (sl->pieces > 0 || (uint64_t)sl->next_piece * IW_XFER_PIECE < sl->len)
			return;
	}
	if (sl->state == S_POSTED)
		iw_xfer_source_free_slot(x, i);
}

/* --- files --- */

void iw_xfer_source_end_file(struct iw_xfer *x, struct file *f, enum iw_xfer_code code,
			     const char *text)
{
	struct source *s = x->src;

	/* An unanswered LOAD is not waited for, because its file may be a pipe without data. */
	if (s->loading < IW_XFER_WINDOWS && s->slot[s->loading].id == f->id) {
		iw_xfer_source_free_slot(x, s->loading);
		s->loading = IW_XFER_WINDOWS;
	}
	iw_xfer_set_outcome(&f->mine, code, text, text ? strlen(text) : 0, false);
	iw_xfer_source_drop_rest(s, f);
	if (f->state == GOING || f->state == CHECKING || f->state == ASKED)
		f->state = ENDING;
}

void iw_xfer_source_file_failed(struct iw_xfer *x, uint32_t id, enum iw_xfer_code code,
				const char *text)
{
	struct source *s = x->src;
	struct file *f = find(s, id);

	if (f)
		iw_xfer_source_end_file(x, f, code, text);
}

static struct file *new_file(struct iw_xfer *x, const struct iw_xfer_meta *meta, void *user)
{
	struct source *s = x->src;
	struct file *f = &s->file[s->next_id % FILES];

	if (!s->next_asked || f->state != FREE || s->no_more)
		return NULL;
	s->next_asked = false;
	*f = (struct file){ .state = NEW, .id = s->next_id++, .user = user, .meta = *meta };
	f->scanned = !iw_xfer_has_data(meta->kind) ||
		     (meta->kind == IW_XFER_FILE && meta->size == 0);
	if (iw_xfer_is_stream(meta->kind))
		f->meta.size = IW_XFER_SIZE_UNKNOWN;
	else
		x->counts.announced += iw_xfer_meta_size(&f->meta);
	f->cursor = meta->share ? meta->part_off : 0;
	s->nfiles++;
	return f;
}

void iw_xfer_add(struct iw_xfer *x, const struct iw_xfer_meta *meta, void *user, uint64_t now)
{
	iw_xfer_note_progress(x, now);
	if (x->src)
		(void)new_file(x, meta, user);
}

void iw_xfer_add_failed(struct iw_xfer *x, const struct iw_xfer_meta *meta, void *user,
			enum iw_xfer_code code, const char *text, uint64_t now)
{
	struct file *f;

	iw_xfer_note_progress(x, now);
	if (!x->src)
		return;
	f = new_file(x, meta, user);
	if (f)
		iw_xfer_source_end_file(x, f, code, text);
}

void iw_xfer_no_more(struct iw_xfer *x, uint64_t now)
{
	iw_xfer_note_progress(x, now);
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
	iw_xfer_source_stop_asking(s, f);
	f->scanned = last || len == 0;
	if (len == 0)
		return;
	assert(s->nranges < RANGES);
	s->range[(s->range_head + s->nranges++) % RANGES] =
		(struct range){ .id = id, .next = off, .end = off + len };
	s->unsent++;
	f->ranges++;
	f->cursor = off + len;
	if (f->meta.size != IW_XFER_SIZE_UNKNOWN && f->cursor >= iw_xfer_meta_end(&f->meta))
		f->scanned = true;
}

/* Octets of a stream in ranges that are not being loaded yet. */
static uint64_t ahead(const struct file *f)
{
	return f->cursor - f->size;
}

void iw_xfer_had(struct iw_xfer *x, uint32_t id, uint64_t len, uint64_t now)
{
	struct file *f = x->src ? find(x->src, id) : NULL;

	iw_xfer_note_progress(x, now);
	if (!f || f->mine.known || f->result.known)
		return;
	f->settled += len;
	x->counts.settled += len;
	x->counts.had += len;
}

static bool may_be_had(const struct iw_xfer_meta *m)
{
	return m->kind == IW_XFER_FILE && m->size > IW_XFER_CHUNK;
}

/* Issues NEXT_RANGE for the first file whose data are not all found. */
static bool ask_range(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct source *s = x->src;
	uint32_t cap = mode(x) == IW_XFER_WRITE ? IW_MIN(x->cfg.peer.ranges, RANGES) : RANGES;

	for (uint32_t id = s->scan_id; id < s->next_id; id++) {
		struct file *f = find(s, id);

		if (!f || f->scanned) {
			s->scan_id += id == s->scan_id;
			continue;
		}
		/*
		 * The sink may have stored a part of a large file: waiting for its HAVE is worth
		 * it.
		 */
		if (f->asking || (may_be_had(&f->meta) && f->state != GOING))
			continue;
		if (s->nranges + s->nasking >= cap ||
		    (f->meta.kind == IW_XFER_STREAM && ahead(f) >= STREAM_AHEAD))
			return false;
		f->asking = true;
		s->nasking++;
		act->type = IW_XFER_ACT_NEXT_RANGE;
		act->id = f->id;
		act->file = f->user;
		act->off = f->cursor;
		return true;
	}
	return false;
}

static bool ask_file(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct source *s = x->src;

	/* Pull: waits until the peer has sent all its paths, and the driver has them. */
	if (!x->cfg.initiator && (!s->paths_end || !iw_list_empty(&s->paths)))
		return false;
	while (s->oldest_id < s->next_id && !find(s, s->oldest_id))
		s->oldest_id++;
	if (s->next_asked || s->no_more ||
	    s->next_id - s->oldest_id >= IW_MIN(x->cfg.peer.files, FILES))
		return false;
	s->next_asked = true;
	act->type = IW_XFER_ACT_NEXT_FILE;
	return true;
}

static bool show_path(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct source *s = x->src;

	iw_xfer_path_free(x, s->shown);
	s->shown = iw_xfer_path_take(&s->paths);
	if (!s->shown)
		return false;
	act->type = IW_XFER_ACT_PATH;
	act->name = s->shown->octets;
	act->name_len = s->shown->len;
	return true;
}

/* --- the end of files --- */

/* Issues the FINISH of a file of which all data are loaded. */
static bool check(struct iw_xfer *x, struct iw_xfer_act *act)
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
		act->type = IW_XFER_ACT_FINISH;
		act->id = f->id;
		act->file = f->user;
		act->size = iw_xfer_is_stream(f->meta.kind) ? f->size : f->meta.size;
		return true;
	}
	return false;
}

void iw_xfer_finished(struct iw_xfer *x, uint32_t id, const struct iw_xfer_digest *digest,
		      uint64_t now)
{
	struct file *f = x->src ? find(x->src, id) : NULL;

	iw_xfer_note_progress(x, now);
	if (!f || f->state != CHECKING)
		return;
	f->digest = *digest;
	f->state = ENDING;
}

/* Forgets f, and makes act its RESULT. */
static void close_file(struct iw_xfer *x, struct file *f, const struct outcome *o,
		       struct iw_xfer_act *act)
{
	struct source *s = x->src;

	iw_mem_free(x->mem, s->gone_codes, s->gone_ncodes);
	s->gone_codes = f->codes;
	s->gone_ncodes = f->ncodes;
	f->codes = NULL;
	f->ncodes = 0;
	s->bye_files++;
	s->bye_failed +=
		iw_xfer_count_result(x, o, &f->meta, f->settled, s->gone_codes, s->gone_ncodes);
	s->gone = f->meta;
	s->gone_outcome = *o;
	iw_xfer_result_act(act, f->id, f->user, &s->gone, &s->gone_outcome);
	act->codes = s->gone_codes;
	act->ncodes = s->gone_ncodes;
	iw_xfer_source_drop_rest(s, f);
	f->state = FREE;
	s->nfiles--;
}

/* Issues the RESULT of a file that has ended on both sides. */
static bool result(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct source *s = x->src;

	for (uint32_t i = 0; i < FILES; i++) {
		struct file *f = &s->file[i];

		if (f->state == FREE || !f->result.known || f->slots > 0 || f->state != ENDED)
			continue;
		/* The reason on this side is more useful than the sink's report of the failure. */
		close_file(x, f,
			   f->mine.known && f->mine.code != IW_XFER_CODE_CANCELED ? &f->mine
										  : &f->result,
			   act);
		return true;
	}
	return false;
}

bool iw_xfer_source_next(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct source *s = x->src;

	/* In this order: what frees resources, what the peer waits for, new work. */
	return iw_xfer_source_revoke(x, act) || show_path(x, act) || show_note(x, act) ||
	       iw_xfer_source_move(x, act, now) ||
	       (s->done_octets >= IW_XFER_CHUNK && iw_xfer_source_send_done(x, act, now)) ||
	       (s->offers.n >= 2 && iw_xfer_source_send_offers(x, act, now)) ||
	       iw_xfer_source_load(x, act) || check(x, act) || result(x, act) ||
	       iw_xfer_source_send_offers(x, act, now) || iw_xfer_source_send_done(x, act, now) ||
	       ask_range(x, act) || ask_file(x, act) || iw_xfer_source_send_files(x, act, now) ||
	       iw_xfer_source_send_wants(x, act, now) || iw_xfer_source_send_removes(x, act, now) ||
	       iw_xfer_source_send_bye(x, act, now);
}

/* --- the end --- */

bool iw_xfer_source_cleanup(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct source *s = x->src;
	struct outcome o = { .known = false };

	for (uint32_t i = 0; i < FILES; i++) {
		struct file *f = &s->file[i];

		if (f->state == FREE)
			continue;
		if (f->mine.known && f->mine.code != IW_XFER_CODE_CANCELED)
			o = f->mine;
		else if (f->result.known)
			o = f->result;
		else
			iw_xfer_set_outcome(&o, IW_XFER_CODE_CANCELED, NULL, 0, false);
		close_file(x, f, &o, act);
		return true;
	}
	return false;
}

bool iw_xfer_source_busy_here(const struct iw_xfer *x)
{
	const struct source *s = x->src;

	/* Files that the peer has not settled are the peer's work. */
	if (s->loading < IW_XFER_WINDOWS || (s->next_asked && s->nfiles == 0) || s->nasking > 0)
		return true;
	for (uint32_t i = 0; i < FILES && s->nfiles > 0; i++)
		if (s->file[i].state == CHECKING)
			return true;
	return false;
}

bool iw_xfer_source_idle(const struct iw_xfer *x)
{
	return x->src->nfiles == 0 && iw_list_empty(&x->src->paths);
}
