// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sink: received messages. */
#include "transfer/protocol/sink.h"

#include <string.h>

#include "transfer/protocol/name.h"
#include "transfer/protocol/pack.h"
#include "util/text.h"

/* --- messages in --- */

#define OWNER (IW_XFER_HAS(UID) | IW_XFER_HAS(GID))

/* Attributes are kept only if this transfer sets them. */
static bool takes_xattr(const struct iw_xfer *x)
{
	return x->cfg.opts & IW_XFER_OPT_XATTR;
}

/* Copies name, target (or list) and extended attributes into one piece of memory. */
static bool keep_text(struct iw_xfer *x, struct file *f, const struct iw_xfer_entry *e)
{
	bool pack = e->kind == IW_XFER_PACK, attrs = takes_xattr(x);
	const void *target = pack ? (const void *)e->list : e->target;
	size_t target_len = pack ? e->list_len : e->target_len;
	uint8_t *xattr;

	f->text_len = e->name_len + target_len + 1;
	if (attrs)
		f->text_len += x->snk->attrs_len + e->xattr_len;
	f->text = iw_mem_alloc(x->mem, f->text_len);
	if (!f->text)
		return false;
	f->meta.name = f->text;
	f->meta.name_len = e->name_len;
	memcpy(f->text, e->name, e->name_len);
	f->meta.target = f->text + e->name_len;
	f->meta.target_len = target_len;
	if (target_len > 0)
		memcpy(f->text + e->name_len, target, target_len);
	if (!attrs || !(e->has & IW_XFER_HAS(XATTR)))
		return true;
	xattr = (uint8_t *)f->text + e->name_len + target_len;
	f->meta.xattr = xattr;
	f->meta.xattr_len = x->snk->attrs_len + e->xattr_len;
	if (x->snk->attrs_len > 0)
		memcpy(xattr, x->snk->attrs, x->snk->attrs_len);
	if (e->xattr_len > 0)
		memcpy(xattr + x->snk->attrs_len, e->xattr, e->xattr_len);
	return true;
}

static void forget_attrs(struct iw_xfer *x)
{
	iw_mem_free(x->mem, x->snk->attrs, x->snk->attrs_len);
	x->snk->attrs = NULL;
	x->snk->attrs_len = x->snk->attrs_announced = 0;
}

/* Extended attributes that precede the announcement of their file. */
static int take_attrs(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	struct sink *s = x->snk;
	size_t len = s->attrs_announced + e->xattr_len;
	uint8_t *all;

	if (e->id != s->next_id)
		return iw_xfer_breach(x, "ATTRS: file %u, expected %u", e->id, s->next_id);
	if (e->xattr_len == 0 || len > IW_XFER_XATTR_MAX)
		return iw_xfer_breach(x, "ATTRS: %U octets for file %u", (uint64_t)len, e->id);
	s->attrs_announced = len;
	if (!takes_xattr(x))
		return 0;
	all = iw_mem_alloc(x->mem, len);
	if (!all) {
		struct iw_fault why;

		iw_fail(&why, IW_E_NOMEM, "no memory for extended attributes");
		iw_xfer_fail(x, &why);
		return IW_E_NOMEM;
	}
	if (s->attrs_len > 0)
		memcpy(all, s->attrs, s->attrs_len);
	memcpy(all + s->attrs_len, e->xattr, e->xattr_len);
	iw_mem_free(x->mem, s->attrs, s->attrs_len);
	s->attrs = all;
	s->attrs_len = len;
	return 0;
}

/* Checks a part of a file: whole chunks, except at the end of the file. */
static int take_part(struct iw_xfer *x, struct file *f, const struct iw_xfer_entry *e)
{
	uint64_t size = f->meta.size;

	if (e->kind != IW_XFER_FILE || e->share == 0 || e->len == 0 || e->off > size ||
	    e->len > size - e->off || e->off % IW_XFER_CHUNK != 0 ||
	    (e->off + e->len != size && e->len % IW_XFER_CHUNK != 0))
		return iw_xfer_breach(x, "FILES: part of %U octets at %U of file %u", e->len,
				      e->off, e->id);
	f->meta.share = e->share;
	f->meta.part_off = e->off;
	f->meta.part_len = e->len;
	f->asked_to = e->off;
	return 0;
}

static int take_list(struct iw_xfer *x, struct file *f)
{
	struct iw_fault why;

	if (iw_xfer_pack_check((const uint8_t *)f->meta.target, f->meta.target_len,
			       &f->meta.members, &why) != 0)
		return iw_xfer_breach(x, "FILES: pack %u: %s", f->id, why.text);
	return 0;
}

/*
 * True if a source may send this code for a file. Only the sink can know that a file is done,
 * exists or is kept. A source announces an excluded file only if the sink deletes files that are
 * not announced, and never one that the user named.
 */
static bool may_say(const struct iw_xfer *x, const struct iw_xfer_entry *e, bool announced)
{
	if (!iw_xfer_code_is_fine(e->code))
		return true;
	return e->code == IW_XFER_CODE_EXCLUDED && announced && !e->top &&
	       x->cfg.opts & IW_XFER_OPT_DELETE;
}

/* The source said why it does not send the file. */
static void settle_reported(struct iw_xfer *x, struct file *f, const struct iw_xfer_entry *e,
			    bool announced)
{
	char buf[80];
	struct iw_text t;

	if (may_say(x, e, announced)) {
		iw_xfer_sink_settle_len(x, f, e->code, e->text, e->text_len, true);
		return;
	}
	iw_text_init(&t, buf, sizeof(buf));
	iw_text_fmt(&t, "the source reported %s for it, which only a sink can determine",
		    iw_xfer_code_name(e->code));
	iw_xfer_sink_settle(x, f, IW_XFER_CODE_PROTOCOL, buf);
}

/* Settles f as failed if its name, kind or size is not valid. */
static void settle_invalid(struct iw_xfer *x, struct file *f, const struct iw_xfer_entry *e)
{
	/* A pack has no name. The driver checks the names of its members. */
	const char *fault = e->kind == IW_XFER_PACK ? NULL
						    : iw_xfer_entry_fault(e->name, e->name_len,
									  e->kind == IW_XFER_DIR,
									  e->top, x->cfg.opts);

	if (!fault && e->kind == IW_XFER_HARDLINK)
		fault = iw_xfer_name_fault(e->target, e->target_len);
	if (fault) {
		char buf[64];
		struct iw_text t;

		iw_text_init(&t, buf, sizeof(buf));
		iw_text_fmt(&t, "the name %s", fault);
		iw_xfer_sink_settle(x, f, IW_XFER_CODE_NAME, buf);
	} else if (e->kind >= IW_XFER_KINDS) {
		iw_xfer_sink_settle(x, f, IW_XFER_CODE_KIND, NULL);
	} else if (e->kind == IW_XFER_FILE && !(e->has & IW_XFER_HAS(SIZE))) {
		iw_xfer_sink_settle(x, f, IW_XFER_CODE_PROTOCOL, "a file without a size");
	}
}

static int take_file(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	struct sink *s = x->snk;
	struct file *f = &s->file[s->next_id % TABLE];

	if (e->id != s->next_id || s->next_id == UINT32_MAX)
		return iw_xfer_breach(x, "FILES: file %u, expected %u", e->id, s->next_id);
	if (s->attrs_announced + e->xattr_len > IW_XFER_XATTR_MAX)
		return iw_xfer_breach(x, "FILES: %U octets of attributes for file %u",
				      (uint64_t)(s->attrs_announced + e->xattr_len), e->id);
	if (f->state != FREE)
		return iw_xfer_breach(
			x, "FILES: file %u before file %u is settled: more than %u at once", e->id,
			f->id, IW_XFER_FILES);
	*f = (struct file){ .state = QUEUED, .id = e->id };
	f->meta = (struct iw_xfer_meta){ .kind = (enum iw_xfer_kind)e->kind,
					 .top = e->top,
					 .size = e->has & IW_XFER_HAS(SIZE) ? e->size
									    : IW_XFER_SIZE_UNKNOWN,
					 .mode = e->mode & 07777,
					 .mtime_s = e->mtime_s,
					 .mtime_ns = e->mtime_ns,
					 .owned = (e->has & OWNER) == OWNER,
					 .uid = e->uid,
					 .gid = e->gid,
					 .ident_len = (uint8_t)e->ident_len };
	if (e->has & IW_XFER_HAS(DIGEST) && x->cfg.opts & IW_XFER_OPT_CHECKSUM)
		f->meta.digest = e->digest;
	iw_list_init(&f->haves);
	if (e->ident_len > 0)
		memcpy(f->meta.ident, e->ident, e->ident_len);
	if (!keep_text(x, f, e)) {
		struct iw_fault why;

		f->state = FREE;
		iw_fail(&why, IW_E_NOMEM, "no memory for a name");
		iw_xfer_fail(x, &why);
		return IW_E_NOMEM;
	}
	forget_attrs(x);
	s->next_id++;
	s->nfiles++;
	if (e->kind != IW_XFER_FILE)
		f->meta.size = e->kind < IW_XFER_KINDS && iw_xfer_is_stream(f->meta.kind)
				       ? IW_XFER_SIZE_UNKNOWN
				       : 0;
	if (e->kind == IW_XFER_FILE)
		f->meta.data = IW_MIN(e->data, f->meta.size);
	if (e->has & IW_XFER_HAS(SHARE) && take_part(x, f, e) != 0)
		return IW_E_FORMAT;
	if (e->kind == IW_XFER_PACK && take_list(x, f) != 0)
		return IW_E_FORMAT;
	if (e->has & IW_XFER_HAS(CODE)) {
		settle_reported(x, f, e, true);
		return 0;
	}
	x->counts.announced += iw_xfer_meta_size(&f->meta);
	settle_invalid(x, f, e);
	return 0;
}

/* Where the data of f must end at the latest. */
static uint64_t limit_of(const struct file *f)
{
	return f->meta.kind == IW_XFER_PACK ? IW_XFER_CHUNK : iw_xfer_meta_end(&f->meta);
}

static int on_want(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	struct sink *s = x->snk;
	struct file *f = find(s, e->id);
	uint64_t limit;

	if (mode(x) != IW_XFER_WRITE)
		return iw_xfer_breach(x, "WANT in mode %s", iw_xfer_mode_name(mode(x)));
	if (!f && is_past(s, e->id))
		return 0;
	if (!f)
		return iw_xfer_breach(x, "WANT for file %u, which is not announced", e->id);
	if (f->state == SETTLED)
		return 0;
	limit = limit_of(f);
	if (f->ended || !iw_xfer_has_data(f->meta.kind) || e->len == 0 ||
	    e->off % IW_XFER_CHUNK != 0 || e->off < f->asked_to || e->off > limit ||
	    e->len > limit - e->off ||
	    (e->off + e->len != limit && (e->off + e->len) % IW_XFER_CHUNK != 0))
		return iw_xfer_breach(x, "WANT of %U octets at %U of file %u", e->len, e->off,
				      e->id);
	iw_xfer_sink_trim_ranges(s);
	if (s->nranges == RANGES)
		return iw_xfer_breach(x, "more than %u ranges at once", RANGES);
	*range_at(s, s->nranges++) =
		(struct range){ .id = e->id, .next = e->off, .end = e->off + e->len };
	f->asked_to = e->off + e->len;
	f->asked += e->len;
	return 0;
}

/* Mode read and send: accounts for a chunk that the source offers or has sent. */
static int take_range(struct iw_xfer *x, struct file *f, uint64_t off, uint64_t len,
		      const char *what)
{
	uint64_t limit = limit_of(f);

	if (f->ended || !iw_xfer_has_data(f->meta.kind) ||
	    (f->meta.share && off < f->meta.part_off) || len == 0 || len > IW_XFER_CHUNK ||
	    off % IW_XFER_CHUNK != 0 || off > limit || len > limit - off)
		return iw_xfer_breach(x, "%s: %U octets at %U of file %u", what, len, off, f->id);
	f->asked += len;
	return 0;
}

static int check_digest(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	if (!e->zero && e->digest.len != iw_xfer_digest_len(x->cfg.mine.digest))
		return iw_xfer_breach(x, "octet %U of file %u: a digest of %u octets, expected %u",
				      e->off, e->id, (uint32_t)e->digest.len,
				      (uint32_t)iw_xfer_digest_len(x->cfg.mine.digest));
	return 0;
}

static int on_offer(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	struct sink *s = x->snk;
	struct file *f = find(s, e->id);

	if (mode(x) != IW_XFER_READ)
		return iw_xfer_breach(x, "OFFER in mode %s", iw_xfer_mode_name(mode(x)));
	if (s->noffers + s->nreleases + (x->cfg.slots - x->nfree) >= IW_XFER_WINDOWS)
		return iw_xfer_breach(x, "more than %u offers", IW_XFER_WINDOWS);
	if (!f || !f->went || f->ended)
		return iw_xfer_breach(x, "OFFER for file %u, which is %s", e->id,
				      f && f->ended ? "at its end" : "not going");
	if (check_digest(x, e) != 0)
		return IW_E_FORMAT;
	if (f->state == OPEN) {
		int err = take_range(x, f, e->off, e->len, "OFFER");

		if (err)
			return err;
	}
	s->offer[(s->offer_head + s->noffers++) % IW_XFER_WINDOWS] =
		(struct offer){ .id = e->id,
				.off = e->off,
				.len = (uint32_t)e->len,
				.stag = e->stag,
				.digest = e->digest };
	f->offers++;
	return 0;
}

int iw_xfer_sink_data(struct iw_xfer *x, uint32_t recv, uint32_t id, uint64_t off, uint32_t len,
		      enum iw_xfer_verdict *verdict)
{
	struct sink *s = x->snk;
	struct file *f = find(s, id);
	struct job *p = s->njobs > 0 ? job_at(s, s->njobs - 1) : NULL;

	*verdict = IW_XFER_RECV_REPOST;
	if (x->state != ST_RUN)
		return iw_xfer_breach(x, "data of file %u after BYE", id);
	if (!f && is_past(s, id))
		return 0;
	if (!f || !f->went || f->ended)
		return iw_xfer_breach(x, "data of file %u, which is %s", id,
				      f && f->ended ? "at its end" : "not going");
	if (len > IW_XFER_PIECE)
		return iw_xfer_breach(x, "%u octets of data in one Send", len);
	/* The pieces of a chunk arrive in order; all except the last have full size. */
	if (off % IW_XFER_CHUNK == 0) {
		const struct job j = { .id = id, .off = off, .open = true };

		if (s->njobs == JOBS)
			return iw_xfer_breach(x, "more than %u chunks at once", JOBS);
		iw_xfer_sink_push_job(s, f, &j);
		p = job_at(s, s->njobs - 1);
	} else if (!p || !p->open || p->id != id || off != p->off + p->len ||
		   p->len % IW_XFER_PIECE != 0) {
		return iw_xfer_breach(x, "data at octet %U of file %u: out of order", off, id);
	}
	p->piece[p->npieces++] =
		(struct iw_xfer_piece){ .in_recv = true, .recv = recv, .len = len };
	p->len += len;
	*verdict = IW_XFER_RECV_HOLD;
	return 0;
}

/* Zeros were not sent, and are not stored: octets that were never written read as zeros. */
static void take_zeros(struct iw_xfer *x, struct file *f, uint64_t off, uint64_t len)
{
	iw_xfer_sink_settled(x, f, off, len);
	x->counts.zeros += len;
}

/* Mode send: DONE for a chunk whose pieces have arrived. */
static int done_pieces(struct iw_xfer *x, struct file *f, const struct iw_xfer_entry *e)
{
	struct sink *s = x->snk;

	for (uint32_t i = 0; i < s->njobs; i++) {
		struct job *j = job_at(s, i);

		if (!j->open)
			continue;
		if (j->id != e->id || j->off != e->off || j->len != e->len)
			break;
		if (f->state == OPEN && take_range(x, f, e->off, e->len, "DONE") != 0)
			return IW_E_FORMAT;
		j->digest = e->digest;
		j->open = false;
		return 0;
	}
	return iw_xfer_breach(x, "DONE of %U octets at %U of file %u: not what was sent", e->len,
			      e->off, e->id);
}

/* Mode write: DONE for a window. */
static int done_window(struct iw_xfer *x, struct file *f, const struct iw_xfer_entry *e)
{
	struct sink *s = x->snk;
	struct job j = { .id = e->id,
			 .off = e->off,
			 .len = (uint32_t)e->len,
			 .digest = e->digest,
			 .registered = true,
			 .npieces = 1 };

	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++) {
		struct slot *sl = &s->slot[i];

		if (sl->state != S_GRANTED || sl->grant_due || sl->id != e->id || sl->off != e->off)
			continue;
		/* Only a stream may end inside a window. */
		if (e->len > sl->len || e->len == 0 ||
		    (e->len < sl->len && !iw_xfer_is_stream(f->meta.kind)))
			return iw_xfer_breach(
				x, "DONE of %U octets at %U of file %u: the window has %u", e->len,
				e->off, e->id, sl->len);
		f->asked -= sl->len - (uint32_t)e->len;
		if (f->state != OPEN || e->zero) {
			iw_xfer_sink_drop_window(s, i);
			if (f->state == OPEN)
				take_zeros(x, f, e->off, e->len);
			return 0;
		}
		sl->state = S_STORING;
		j.piece[0] = (struct iw_xfer_piece){ .recv = i, .len = j.len };
		iw_xfer_sink_push_job(s, f, &j);
		return 0;
	}
	return iw_xfer_breach(x, "DONE of octet %U of file %u: no such window is open", e->off,
			      e->id);
}

static int on_done(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	struct sink *s = x->snk;
	struct file *f = find(s, e->id);

	if (!f && is_past(s, e->id))
		return 0;
	if (!f || !f->went || f->ended)
		return iw_xfer_breach(x, "DONE for file %u, which is %s", e->id,
				      f && f->ended ? "at its end" : "not going");
	if (check_digest(x, e) != 0)
		return IW_E_FORMAT;
	if (mode(x) == IW_XFER_WRITE)
		return done_window(x, f, e);
	if (!e->zero)
		return mode(x) == IW_XFER_SEND ? done_pieces(x, f, e)
					       : iw_xfer_breach(x, "DONE of data in mode read");
	if (f->state != OPEN)
		return 0;
	if (take_range(x, f, e->off, e->len, "DONE") != 0)
		return IW_E_FORMAT;
	take_zeros(x, f, e->off, e->len);
	return 0;
}

static int on_end(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	struct sink *s = x->snk;
	struct file *f = find(s, e->id);

	if (!f && is_past(s, e->id))
		return 0;
	if (!f || f->ended)
		return iw_xfer_breach(x, "end of file %u, which %s", e->id,
				      f ? "has ended" : "is not announced");
	for (uint32_t i = 0; i < s->njobs; i++)
		if (job_at(s, i)->open && job_at(s, i)->id == e->id)
			return iw_xfer_breach(
				x, "end of file %u in the middle of the chunk at octet %U", e->id,
				job_at(s, i)->off);
	f->ended = true;
	iw_xfer_sink_drop_ranges(s, f->id);
	iw_xfer_sink_drop_windows(s, f, true);
	if (f->state == SETTLED)
		return 0;
	if (e->has & IW_XFER_HAS(CODE)) {
		settle_reported(x, f, e, false);
		return 0;
	}
	if (!f->went || !(e->has & IW_XFER_HAS(SIZE)))
		return iw_xfer_breach(x, "end of file %u %s", e->id,
				      f->went ? "without its size" : "before GO");
	f->end_size = e->size;
	f->end_digest = e->digest;
	return 0;
}

static int on_bye(struct iw_xfer *x, const struct iw_xfer_msg *m)
{
	struct sink *s = x->snk;
	struct iw_fault why;

	/* Files whose RESULT was sent are only waiting to be forgotten. */
	for (uint32_t i = 0; i < TABLE; i++)
		if (s->file[i].state != FREE &&
		    (!s->file[i].sent || (s->file[i].went && !s->file[i].ended)))
			return iw_xfer_breach(x, "BYE before file %u is settled", s->file[i].id);
	if (iw_cbor_get_uint(&m->rec, IW_XFER_KEY_FAILED, UINT64_MAX, &x->counts.peer_failed,
			     &why) != 0)
		return iw_xfer_breach(x, "%s", why.text);
	s->bye = BYE_HEARD;
	iw_xfer_set_state(x, ST_BYE);
	return 0;
}

static int on_remove(struct iw_xfer *x, const struct iw_xfer_msg *m)
{
	if (x->cfg.initiator || !(x->cfg.opts & IW_XFER_OPT_LISTED))
		return iw_xfer_breach(x, "REMOVE without the option for it");
	return iw_xfer_take_names(x, m);
}

int iw_xfer_sink_message(struct iw_xfer *x, const struct iw_xfer_msg *m, uint64_t now)
{
	int err;

	(void)now;
	if (x->state != ST_RUN)
		return iw_xfer_breach(x, "%s after BYE", iw_xfer_msg_name(m->type));
	switch (m->type) {
	case IW_XFER_MSG_FILES:
		return iw_xfer_each_entry(x, m, IW_XFER_KEY_LIST, take_file);
	case IW_XFER_MSG_ATTRS:
		return iw_xfer_each_entry(x, m, IW_XFER_KEY_LIST, take_attrs);
	case IW_XFER_MSG_WANT:
		return iw_xfer_each_entry(x, m, IW_XFER_KEY_LIST, on_want);
	case IW_XFER_MSG_OFFER:
		return iw_xfer_each_entry(x, m, IW_XFER_KEY_LIST, on_offer);
	case IW_XFER_MSG_DONE:
		err = iw_xfer_each_entry(x, m, IW_XFER_KEY_LIST, on_done);
		return err ? err : iw_xfer_each_entry(x, m, IW_XFER_KEY_ENDS, on_end);
	case IW_XFER_MSG_REMOVE:
		return on_remove(x, m);
	case IW_XFER_MSG_BYE:
		return on_bye(x, m);
	default:
		return iw_xfer_breach(x, "message %s (%u) from a source", iw_xfer_msg_name(m->type),
				      m->type);
	}
}
