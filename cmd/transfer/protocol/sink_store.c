// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sink: provides memory for chunks, and has the driver store those that have arrived. */
#include "transfer/protocol/sink.h"

#include <assert.h>
#include <string.h>

/* --- slots, ranges, offers --- */

static void free_slot(struct iw_xfer *x, uint32_t i)
{
	struct sink *s = x->snk;
	struct slot *sl = &s->slot[i];
	struct file *f = find(s, sl->id);

	if (f)
		f->slots--;
	if (sl->grant_due)
		s->ngrants--;
	*sl = (struct slot){ .state = S_FREE };
	iw_xfer_slot_put(x, i);
}

void iw_xfer_sink_trim_ranges(struct sink *s)
{
	while (s->nranges > 0 && range_at(s, 0)->id == 0) {
		s->range_head = (s->range_head + 1) % RANGES;
		s->nranges--;
	}
}

/* Removes them from the ring, so that dropped ranges do not count against the peer's limit. */
void iw_xfer_sink_drop_ranges(struct sink *s, uint32_t id)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->nranges; i++)
		if (range_at(s, i)->id != id)
			*range_at(s, kept++) = *range_at(s, i);
	s->nranges = kept;
}

void iw_xfer_sink_drop_window(struct sink *s, uint32_t i)
{
	struct slot *sl = &s->slot[i];

	if (sl->grant_due)
		s->ngrants--;
	sl->grant_due = false;
	sl->state = S_REVOKING;
	fifo_put(&s->revoking, i);
}

void iw_xfer_sink_drop_windows(struct sink *s, const struct file *f, bool all)
{
	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++)
		if (s->slot[i].id == f->id && s->slot[i].state == S_GRANTED &&
		    (all || s->slot[i].grant_due))
			iw_xfer_sink_drop_window(s, i);
}

void iw_xfer_sink_push_job(struct sink *s, struct file *f, const struct job *j)
{
	assert(s->njobs < JOBS);
	*job_at(s, s->njobs++) = *j;
	f->jobs++;
}

static void put_release(struct sink *s, uint32_t id, uint64_t off)
{
	/* At most one per offer, and offers are limited to the same number. */
	assert(s->nreleases < IW_XFER_WINDOWS);
	s->release[s->nreleases++] = (struct release){ .id = id, .off = off };
}

void iw_xfer_sink_settled(struct iw_xfer *x, struct file *f, uint64_t off, uint64_t len)
{
	uint64_t size = iw_xfer_meta_size(&f->meta), most = f->settled + len, again = 0;

	/* A chunk of an earlier transfer that the source replaces must not be counted twice. */
	if (f->had > 0 && f->had > size - IW_MIN(size, most))
		again = f->had - (size - IW_MIN(size, most));
	f->had -= again;
	f->settled += len;
	f->high = IW_MAX(f->high, off + len);
	x->counts.settled += len;
	x->counts.settled -= IW_MIN(again, x->counts.settled);
	x->counts.had -= IW_MIN(again, x->counts.had);
}

void iw_xfer_sink_finish_job(struct iw_xfer *x, const struct job *j, bool stored)
{
	struct sink *s = x->snk;
	struct file *f = find(s, j->id);

	f->jobs--;
	if (stored) {
		iw_xfer_sink_settled(x, f, j->off, j->len);
		if (f->meta.kind == IW_XFER_PACK)
			x->counts.announced += j->len;
		x->counts.octets += j->len;
	}
	if (!j->piece[0].in_recv) {
		if (mode(x) == IW_XFER_READ)
			put_release(s, j->id, j->off);
		free_slot(x, j->piece[0].recv);
	} else {
		iw_xfer_link_reposted(x, j->npieces);
	}
	s->job_head = (s->job_head + 1) % JOBS;
	s->njobs--;
	s->storing = false;
}

/* For the next window (mode write), or the next offer (mode read). */
bool iw_xfer_sink_next_register(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct sink *s = x->snk;
	struct slot chunk = { .state = S_REGISTERING };
	struct file *f = NULL;
	uint32_t i;

	if (s->registering != IW_XFER_WINDOWS)
		return false;
	if (mode(x) == IW_XFER_WRITE) {
		struct range *r;
		uint64_t end;

		iw_xfer_sink_trim_ranges(s);
		if (s->nranges == 0)
			return false;
		r = range_at(s, 0);
		f = find(s, r->id);
		if (f->state != OPEN)
			return false; /* its CREATE has no answer yet */
		if (!iw_xfer_slot_get(x, &i))
			return false;
		end = IW_MIN((r->next / IW_XFER_CHUNK + 1) * IW_XFER_CHUNK, r->end);
		chunk.id = r->id;
		chunk.off = r->next;
		chunk.len = (uint32_t)(end - r->next);
		r->next = end;
		if (end == r->end)
			r->id = 0;
	} else {
		const struct offer *o = &s->offer[s->offer_head];

		if (mode(x) != IW_XFER_READ)
			return false;
		for (; s->noffers > 0;
		     s->noffers--, s->offer_head = (s->offer_head + 1) % IW_XFER_WINDOWS) {
			o = &s->offer[s->offer_head];
			f = find(s, o->id);
			if (f->state == OPEN)
				break;
			f->offers--;
			put_release(s, o->id, o->off);
		}
		if (s->noffers == 0 || !iw_xfer_slot_get(x, &i))
			return false;
		chunk.id = o->id;
		chunk.off = o->off;
		chunk.len = o->len;
		chunk.stag = o->stag;
		chunk.digest = o->digest;
		f->offers--;
		s->noffers--;
		s->offer_head = (s->offer_head + 1) % IW_XFER_WINDOWS;
	}
	s->slot[i] = chunk;
	s->registering = i;
	find(s, chunk.id)->slots++;
	act->type = IW_XFER_ACT_REGISTER;
	act->slot = i;
	act->to = chunk.off;
	act->len = chunk.len;
	act->right = mode(x) == IW_XFER_WRITE ? IW_XFER_RIGHT_REMOTE_WRITE
					      : IW_XFER_RIGHT_READ_SINK;
	return true;
}

void iw_xfer_sink_registered(struct iw_xfer *x, uint32_t i, uint32_t stag)
{
	struct sink *s = x->snk;
	struct slot *sl = &s->slot[i];
	struct file *f;

	if (s->registering != i)
		return;
	s->registering = IW_XFER_WINDOWS;
	f = find(s, sl->id);
	if (mode(x) == IW_XFER_READ) {
		sl->state = S_READABLE;
		fifo_put(&s->readable, i);
		return;
	}
	sl->stag = stag;
	if (!f || f->state != OPEN || f->ended) {
		/* The window was not granted yet. */
		sl->state = S_REVOKING;
		fifo_put(&s->revoking, i);
		return;
	}
	sl->state = S_GRANTED;
	sl->grant_due = true;
	s->ngrants++;
}

bool iw_xfer_sink_next_read(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct sink *s = x->snk;
	struct slot *sl;
	uint32_t i;

	if (s->readable.n == 0 || !iw_xfer_link_sq_room(x))
		return false;
	i = fifo_take(&s->readable);
	sl = &s->slot[i];
	sl->state = S_READING;
	s->nreading++;
	act->type = IW_XFER_ACT_READ;
	act->cookie = cookie(CK_SLOT, i);
	act->slot = i;
	act->stag = sl->stag;
	act->to = sl->off;
	act->len = sl->len;
	iw_xfer_link_posted(x);
	return true;
}

void iw_xfer_sink_completed(struct iw_xfer *x, uint32_t i, uint64_t now)
{
	struct sink *s = x->snk;
	struct slot *sl;
	struct job j;

	(void)now;
	if (i >= IW_XFER_WINDOWS || s->slot[i].state != S_READING)
		return;
	sl = &s->slot[i];
	sl->state = S_STORING;
	s->nreading--;
	j = (struct job){ .id = sl->id,
			  .off = sl->off,
			  .len = sl->len,
			  .registered = true,
			  .digest = sl->digest,
			  .npieces = 1 };
	j.piece[0] = (struct iw_xfer_piece){ .recv = i, .len = sl->len };
	iw_xfer_sink_push_job(s, find(s, sl->id), &j);
}

static void repost_act(struct iw_xfer_act *act, const struct job *j)
{
	act->type = IW_XFER_ACT_REPOST;
	memcpy(act->piece, j->piece, sizeof(act->piece));
	act->npieces = j->npieces;
}

/* Revokes the slot of the first job, then stores the job, or drops it if its file has failed. */
bool iw_xfer_sink_next_job(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct sink *s = x->snk;

	while (s->njobs > 0 && !s->storing && !job_at(s, 0)->open) {
		struct job *j = job_at(s, 0);
		struct file *f = find(s, j->id);

		if (j->registered) {
			j->registered = false;
			act->type = IW_XFER_ACT_REVOKE;
			act->slot = j->piece[0].recv;
			return true;
		}
		if (f->state != OPEN) {
			const struct job dead = *j;

			iw_xfer_sink_finish_job(x, &dead, false);
			if (!dead.piece[0].in_recv)
				continue;
			repost_act(act, &dead);
			return true;
		}
		assert(j->written || mode(x) != IW_XFER_WRITE);
		s->storing = true;
		act->type = IW_XFER_ACT_STORE;
		act->id = f->id;
		act->file = f->user;
		act->off = j->off;
		act->len = j->len;
		act->digest = j->digest;
		memcpy(act->piece, j->piece, sizeof(act->piece));
		act->npieces = j->npieces;
		return true;
	}
	return false;
}

/* Only the first job waits for this answer. Answers for dropped windows are ignored. */
void iw_xfer_written(struct iw_xfer *x, uint32_t slot, uint64_t octets)
{
	struct sink *s = x->snk;
	struct job *j = s && s->njobs > 0 ? job_at(s, 0) : NULL;

	if (mode(x) != IW_XFER_WRITE || !j || s->storing || j->registered ||
	    j->piece[0].recv != slot)
		return;
	if (octets < j->len)
		(void)iw_xfer_breach(x,
				     "DONE of %u octets at %U of file %u: %U of them were written",
				     j->len, j->off, j->id, octets);
	j->written = true;
}

/*
 * A gap is an error: octets are written in ascending order, so it would never be filled. A peer
 * that writes single octets all over a window would make this side hold pages for few octets.
 */
void iw_xfer_windows(struct iw_xfer *x, const struct iw_xfer_window *w, uint64_t now)
{
	struct sink *s = x->snk;
	uint64_t sum = 0;

	if (x->state != ST_RUN || !s || mode(x) != IW_XFER_WRITE)
		return;
	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++) {
		const struct slot *sl = &s->slot[i];

		if (sl->state != S_GRANTED)
			continue;
		if (w[i].octets != w[i].whole) {
			(void)iw_xfer_breach(
				x,
				"RDMA Writes into the window at %U of file %u are not in ascending order: %U octets, %U of them without a gap",
				sl->off, sl->id, w[i].octets, w[i].whole);
			return;
		}
		sum += w[i].octets;
	}
	/* The timer starts with the first octet, and restarts when a window is complete. */
	if (sum == 0 || s->in_windows == 0 || sum < s->in_windows)
		x->windows_at = now;
	s->in_windows = sum;
}

void iw_xfer_stored(struct iw_xfer *x, bool kept, uint64_t now)
{
	iw_xfer_note_moved(x, now);
	if (x->snk && x->snk->storing) {
		const struct job j = *job_at(x->snk, 0);

		x->counts.kept += kept ? j.len : 0;
		iw_xfer_sink_finish_job(x, &j, true);
	}
}

bool iw_xfer_sink_next_revoke(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct sink *s = x->snk;

	if (s->revoking.n == 0)
		return false;
	act->type = IW_XFER_ACT_REVOKE;
	act->slot = fifo_take(&s->revoking);
	free_slot(x, act->slot);
	return true;
}
