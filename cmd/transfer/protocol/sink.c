// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sink: accepts files, provides memory for their chunks (mode write: windows; read: buffers for
 * its RDMA Reads; send: receives), has the driver store them, and reports the result of each file.
 *
 * States of a file: QUEUED -(CREATE answered)-> OPEN -(its END, and all is stored)-> COMMITTING
 * -(answered)-> SETTLED. A failure leads to SETTLED from any state. The file is forgotten when its
 * RESULT is sent and, if GO was sent, its END has arrived.
 */
#include "transfer/protocol/sink.h"

#include <assert.h>
#include <string.h>

int iw_xfer_sink_new(struct iw_xfer *x)
{
	struct sink *s = iw_mem_alloc(x->mem, sizeof(*s));

	if (!s)
		return IW_E_NOMEM;
	iw_list_init(&s->paths);
	s->next_id = s->create_id = 1;
	s->registering = IW_XFER_WINDOWS;
	s->opened_due = !x->cfg.initiator;
	x->snk = s;
	return 0;
}

static void free_file(struct iw_xfer *x, struct file *f)
{
	struct iw_list *l;

	while ((l = iw_list_first(&f->haves)) != NULL) {
		struct have *h = iw_container_of(l, struct have, link);

		iw_list_del(l);
		iw_mem_free(x->mem, h, sizeof(*h) + h->octets_len);
	}
	iw_mem_free(x->mem, f->text, f->text_len);
	iw_mem_free(x->mem, f->codes, f->ncodes);
	iw_mem_free(x->mem, f->why, f->why_len);
	f->text = f->why = NULL;
	f->codes = NULL;
	f->state = FREE;
}

void iw_xfer_sink_free(struct iw_xfer *x)
{
	struct sink *s = x->snk;
	struct path *p;

	while ((p = iw_xfer_path_take(&s->paths)) != NULL)
		iw_xfer_path_free(x, p);
	iw_mem_free(x->mem, s->attrs, s->attrs_len);
	for (uint32_t i = 0; i < TABLE; i++)
		if (s->file[i].state != FREE)
			free_file(x, &s->file[i]);
	iw_mem_free(x->mem, s, sizeof(*s));
	x->snk = NULL;
}

/* --- pull: what is wanted --- */

int iw_xfer_want_path(struct iw_xfer *x, const char *name, size_t len)
{
	if (!x->snk && iw_xfer_sink_new(x) != 0)
		return IW_E_NOMEM;
	if (len > IW_XFER_NAME_MAX || x->snk->npaths >= IW_XFER_PATHS_MAX)
		return IW_E_LIMIT;
	if (!iw_xfer_path_add(x, &x->snk->paths, name, len))
		return IW_E_NOMEM;
	x->snk->npaths++;
	return 0;
}

void iw_xfer_want_end(struct iw_xfer *x)
{
	if (x->snk || iw_xfer_sink_new(x) == 0)
		x->snk->paths_end = true;
}

void iw_xfer_sink_total(struct iw_xfer *x, const struct iw_xfer_msg *m)
{
	if (m->paths == x->snk->npaths)
		x->counts.total = m->total;
}

/* --- files --- */

void iw_xfer_sink_settle_len(struct iw_xfer *x, struct file *f, uint32_t code, const char *text,
			     size_t text_len, bool by_peer)
{
	struct sink *s = x->snk;

	if (f->state == SETTLED)
		return;
	if (f->state != QUEUED)
		s->nopen--;
	f->state = SETTLED;
	f->commit_due = false;
	/* The peer owes an END only after it was sent GO. */
	f->went = f->went && !f->go_due;
	f->go_due = false;
	iw_xfer_set_outcome(&f->outcome, code, text, text_len, by_peer);
	iw_xfer_sink_drop_ranges(s, f->id);
	iw_xfer_sink_drop_windows(s, f, !f->went);
}

void iw_xfer_sink_settle(struct iw_xfer *x, struct file *f, uint32_t code, const char *text)
{
	iw_xfer_sink_settle_len(x, f, code, text, text ? strlen(text) : 0, false);
}

static void forget(struct iw_xfer *x, struct file *f)
{
	free_file(x, f);
	x->snk->nfiles--;
}

void iw_xfer_sink_file_failed(struct iw_xfer *x, uint32_t id, enum iw_xfer_code code,
			      const char *text)
{
	struct sink *s = x->snk;
	struct file *f = find(s, id);

	if (s->storing && job_at(s, 0)->id == id) {
		const struct job j = *job_at(s, 0);

		iw_xfer_sink_finish_job(x, &j, false);
	}
	if (!f)
		return;
	f->creating = false;
	iw_xfer_sink_settle(x, f, code, text);
}

static bool next_create(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct sink *s = x->snk;

	if (s->opened_due)
		return false;
	for (; s->create_id < s->next_id; s->create_id++) {
		struct file *f = find(s, s->create_id);

		if (!f || f->state != QUEUED)
			continue;
		if (f->creating || s->nopen >= OPEN_MAX)
			return false;
		f->creating = true;
		act->type = IW_XFER_ACT_CREATE;
		act->id = f->id;
		act->meta = &f->meta;
		return true;
	}
	return false;
}

/* The file whose CREATE or COMMIT is answered. */
static struct file *answered(struct iw_xfer *x, uint32_t id)
{
	return x->snk ? find(x->snk, id) : NULL;
}

bool iw_xfer_have(struct iw_xfer *x, uint32_t id, uint64_t off, const uint8_t *digests, size_t n)
{
	struct file *f = answered(x, id);
	size_t len = n * iw_xfer_digest_len(x->cfg.mine.digest);
	struct have *h;

	if (!f || n == 0)
		return true;
	h = iw_mem_alloc(x->mem, sizeof(*h) + len);
	if (!h)
		return false;
	h->off = off;
	h->len = IW_MIN((uint64_t)n * IW_XFER_CHUNK, iw_xfer_meta_end(&f->meta) - off);
	h->octets_len = len;
	if (len > 0)
		memcpy(h->octets, digests, len);
	iw_list_add_tail(&f->haves, &h->link);
	x->counts.settled += h->len;
	x->counts.had += h->len;
	f->had += h->len;
	return true;
}

void iw_xfer_wanted(struct iw_xfer *x, uint32_t id, const uint8_t *bits, size_t len)
{
	struct file *f = answered(x, id);

	if (!f || len > sizeof(f->wanted))
		return;
	memcpy(f->wanted, bits, len);
	f->nwanted = (uint32_t)len;
}

void iw_xfer_codes(struct iw_xfer *x, uint32_t id, const uint8_t *codes, size_t n, const char *why)
{
	struct file *f = answered(x, id);

	if (!f || f->codes || n > IW_XFER_MEMBERS)
		return;
	f->codes = iw_xfer_copy(x, codes, n);
	f->ncodes = f->codes ? n : 0;
	f->why_len = strlen(why);
	f->why = (char *)iw_xfer_copy(x, why, f->why_len);
	f->why_len = f->why ? f->why_len : 0;
}

void iw_xfer_created(struct iw_xfer *x, uint32_t id, void *user, uint64_t now)
{
	struct file *f = x->snk ? find(x->snk, id) : NULL;

	iw_xfer_note_progress(x, now);
	if (!f || f->state != QUEUED || !f->creating)
		return;
	f->creating = false;
	f->user = user;
	f->has_user = true;
	f->state = OPEN;
	f->went = f->go_due = true;
	x->snk->nopen++;
	x->snk->create_id = IW_MAX(x->snk->create_id, id + 1);
}

/* A pack is complete when its members are settled, even if some failed. */
static void settle_ok(struct iw_xfer *x, struct file *f)
{
	iw_xfer_sink_settle_len(x, f, IW_XFER_CODE_OK, f->why, f->why_len, false);
}

void iw_xfer_made(struct iw_xfer *x, uint32_t id, void *user, uint64_t now)
{
	struct file *f = x->snk ? find(x->snk, id) : NULL;

	iw_xfer_note_progress(x, now);
	if (!f || f->state != QUEUED || !f->creating)
		return;
	f->creating = false;
	f->user = user;
	settle_ok(x, f);
}

void iw_xfer_committed(struct iw_xfer *x, uint32_t id, uint64_t now)
{
	struct file *f = x->snk ? find(x->snk, id) : NULL;

	iw_xfer_note_progress(x, now);
	if (!f || f->state != COMMITTING)
		return;
	f->has_user = false;
	settle_ok(x, f);
}

/* Checks that everything that END covers has arrived. */
static void check_end(struct iw_xfer *x, struct file *f)
{
	if (f->meta.size != IW_XFER_SIZE_UNKNOWN && f->end_size != f->meta.size)
		iw_xfer_sink_settle(x, f, IW_XFER_CODE_CHANGED,
				    "it ended with another size than announced");
	else if (iw_xfer_is_stream(f->meta.kind) ? f->settled != f->end_size
						 : f->settled != f->asked || f->high > f->end_size)
		iw_xfer_sink_settle(x, f, IW_XFER_CODE_PROTOCOL,
				    "it ended before all of its data arrived");
	else if (f->end_digest.len != iw_xfer_digest_len(x->cfg.mine.digest))
		iw_xfer_sink_settle(x, f, IW_XFER_CODE_PROTOCOL,
				    "its digest is of another kind than agreed");
	else
		f->commit_due = true;
}

static bool next_commit(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct sink *s = x->snk;

	for (uint32_t i = 0; i < TABLE && s->nopen > 0; i++) {
		struct file *f = &s->file[i];

		if (f->state == OPEN && f->ended && f->jobs == 0 && f->slots == 0 &&
		    f->offers == 0 && !f->commit_due)
			check_end(x, f);
		if (f->state != OPEN || !f->commit_due)
			continue;
		f->state = COMMITTING;
		f->commit_due = false;
		act->type = IW_XFER_ACT_COMMIT;
		act->id = f->id;
		act->file = f->user;
		act->size = f->end_size;
		act->digest = f->end_digest;
		return true;
	}
	return false;
}

static bool next_abandon(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct sink *s = x->snk;

	for (uint32_t i = 0; i < TABLE; i++) {
		struct file *f = &s->file[i];

		if (f->state != SETTLED || !f->has_user ||
		    (s->storing && job_at(s, 0)->id == f->id))
			continue;
		f->has_user = false;
		act->type = IW_XFER_ACT_ABANDON;
		act->id = f->id;
		act->file = f->user;
		act->code = f->outcome.code;
		return true;
	}
	return false;
}

/* Passes the RESULT of f to the driver. */
static void show_result(struct iw_xfer *x, struct file *f, struct iw_xfer_act *act)
{
	f->shown = true;
	(void)iw_xfer_count_result(x, &f->outcome, &f->meta, f->settled + f->had, f->codes,
				   f->ncodes);
	iw_xfer_result_act(act, f->id, f->user, &f->meta, &f->outcome);
	act->codes = f->codes;
	act->ncodes = f->ncodes;
}

static bool next_result(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct sink *s = x->snk;

	for (uint32_t i = 0; i < TABLE && s->nfiles > 0; i++) {
		struct file *f = &s->file[i];

		if (f->state != SETTLED)
			continue;
		if (!f->shown) {
			if (f->has_user)
				continue; /* ABANDON waits for the end of STORE */
			show_result(x, f, act);
			return true;
		}
		/*
		 * The RESULT is sent, END has arrived, and no chunk is in use: no message can refer
		 * to f any more.
		 */
		if (f->sent && (f->ended || !f->went) && f->slots == 0 && f->jobs == 0 &&
		    f->offers == 0)
			forget(x, f);
	}
	return false;
}

static bool next_opened(struct iw_xfer *x, struct iw_xfer_act *act)
{
	if (!x->snk->opened_due)
		return false;
	x->snk->opened_due = false;
	act->type = IW_XFER_ACT_OPENED;
	act->name = x->path ? x->path : "";
	act->name_len = x->path_len;
	act->opts = x->cfg.opts;
	return true;
}

/* The source has no more files, and all of its files are settled. */
static bool next_final(struct iw_xfer *x, struct iw_xfer_act *act)
{
	if (x->snk->bye != BYE_HEARD || x->snk->nfiles > 0)
		return false;
	x->snk->bye = FINAL_ASKED;
	act->type = IW_XFER_ACT_FINAL;
	return true;
}

void iw_xfer_gone(struct iw_xfer *x, const char *names, size_t len, uint64_t stayed, uint64_t made)
{
	x->counts.made = made;
	x->counts.stayed = stayed;
	if (x->cfg.initiator || !(x->cfg.opts & IW_XFER_OPT_NAMES))
		return;
	x->names_at = names;
	x->names_left = len;
}

void iw_xfer_final(struct iw_xfer *x, uint64_t gone, uint64_t failed, uint64_t now)
{
	iw_xfer_note_progress(x, now);
	if (!x->snk || x->snk->bye != FINAL_ASKED)
		return;
	x->counts.gone = gone;
	x->counts.files_failed += failed;
	x->snk->bye = BYE_DUE;
}

bool iw_xfer_sink_next(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct sink *s = x->snk;

	/* Grants keep the peer busy, so a few of them precede storing. */
	return next_opened(x, act) || iw_xfer_sink_next_revoke(x, act) ||
	       (s->ngrants >= 2 && iw_xfer_sink_send_haves(x, act, now)) ||
	       (s->ngrants >= 2 && iw_xfer_sink_send_go(x, act, now)) ||
	       (s->ngrants >= 2 && iw_xfer_sink_send_grants(x, act, now)) ||
	       iw_xfer_sink_next_read(x, act) || iw_xfer_sink_next_job(x, act) ||
	       iw_xfer_sink_next_register(x, act) || next_create(x, act) ||
	       iw_xfer_sink_send_haves(x, act, now) || iw_xfer_sink_send_go(x, act, now) ||
	       iw_xfer_sink_send_grants(x, act, now) || iw_xfer_sink_send_releases(x, act, now) ||
	       next_commit(x, act) || next_abandon(x, act) || next_result(x, act) ||
	       iw_xfer_sink_send_results(x, act, now) || iw_xfer_sink_send_get(x, act, now) ||
	       next_final(x, act) ||
	       (x->snk->bye == BYE_DUE && iw_xfer_send_names(x, act, IW_XFER_MSG_GONE, now)) ||
	       iw_xfer_sink_send_bye(x, act, now);
}

/* --- the end --- */

bool iw_xfer_sink_cleanup(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct sink *s = x->snk;

	s->storing = false;
	for (uint32_t i = 0; i < TABLE; i++)
		if (s->file[i].state != FREE && s->file[i].state != SETTLED)
			iw_xfer_sink_settle(x, &s->file[i], IW_XFER_CODE_CANCELED, NULL);
	if (next_abandon(x, act))
		return true;
	for (uint32_t i = 0; i < TABLE; i++) {
		struct file *f = &s->file[i];

		if (f->state == FREE || f->shown)
			continue;
		show_result(x, f, act);
		return true;
	}
	return false;
}

bool iw_xfer_sink_busy_here(const struct iw_xfer *x)
{
	const struct sink *s = x->snk;

	struct file *creating = find(x->snk, x->snk->create_id);

	if (s->storing || s->registering < IW_XFER_WINDOWS || s->bye == FINAL_ASKED ||
	    (creating && creating->creating))
		return true;
	for (uint32_t i = 0; i < TABLE && s->nopen > 0; i++)
		if (s->file[i].state == COMMITTING)
			return true;
	return false;
}

bool iw_xfer_sink_amid_chunk(const struct iw_xfer *x)
{
	struct sink *s = x->snk;

	/* A chunk after the first may wait for credit from this side. */
	return s->nreading > 0 || s->in_windows > 0 || (s->njobs > 0 && job_at(s, 0)->open);
}

bool iw_xfer_sink_idle(const struct iw_xfer *x)
{
	return x->snk->nfiles == 0 && (!x->cfg.initiator || x->snk->paths_sent);
}
