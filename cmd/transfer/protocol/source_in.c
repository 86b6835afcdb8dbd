// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The source: received messages. */
#include "transfer/protocol/source.h"

#include "util/text.h"

/* --- messages in --- */

static int on_get(struct iw_xfer *x, const struct iw_xfer_msg *m)
{
	struct source *s = x->src;
	struct iw_cbor_in in;
	struct iw_cbor_item item;
	struct iw_fault why;
	size_t n;

	if (x->cfg.initiator || s->paths_end)
		return iw_xfer_breach(x, "GET %s",
				      s->paths_end ? "after the last one"
						   : "to a source that pushes");
	if (iw_cbor_get_bool(&m->rec, IW_XFER_KEY_LAST, &s->paths_end, &why) != 0 ||
	    iw_cbor_get_array(&m->rec, IW_XFER_KEY_LIST, &in, &n, &why) != 0)
		return iw_xfer_breach(x, "%s", why.text);
	for (; n > 0; n--) {
		if (iw_cbor_next(&in, &item) != 1 || item.kind != IW_CBOR_BYTES)
			return iw_xfer_breach(x, "GET: a path that is not a byte string");
		if (item.len > IW_XFER_NAME_MAX || s->npaths >= IW_XFER_PATHS_MAX)
			return iw_xfer_breach(x, "GET: a path of %U octets, %u paths",
					      (uint64_t)item.len, s->npaths);
		if (!iw_xfer_path_add(x, &s->paths, item.p, item.len)) {
			iw_fail(&why, IW_E_NOMEM, "no memory for a path");
			iw_xfer_fail(x, &why);
			return IW_E_NOMEM;
		}
		s->npaths++;
	}
	return 0;
}

static int on_go(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	struct file *f = find(x->src, e->id);

	if (!f || f->state == NEW)
		return iw_xfer_breach(x, "GO for file %u, which is not announced", e->id);
	if ((f->meta.kind == IW_XFER_PACK) != ((e->has & IW_XFER_HAS(WANTED)) != 0))
		return iw_xfer_breach(x, "GO for file %u %s the members that are wanted", e->id,
				      f->meta.kind == IW_XFER_PACK ? "without" : "with");
	/* If the file failed meanwhile, its END will be sent, and nothing is noted. */
	if (f->state != ASKED)
		return f->mine.known ? 0 : iw_xfer_breach(x, "GO for file %u comes twice", e->id);
	f->state = GOING;
	if (e->wanted_len == 0)
		return 0;
	return iw_xfer_source_note(x, IW_XFER_ACT_WANTED, e, e->wanted, e->wanted_len);
}

static int on_have(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	struct file *f = find(x->src, e->id);
	uint64_t n = (e->len + IW_XFER_CHUNK - 1) / IW_XFER_CHUNK;
	uint64_t begin, end;

	if (!f || f->state == NEW)
		return iw_xfer_breach(x, "HAVE for file %u, which is not announced", e->id);
	if (f->mine.known)
		return 0;
	begin = f->meta.share ? f->meta.part_off : 0;
	end = iw_xfer_meta_end(&f->meta);
	if (f->state != ASKED || f->meta.kind != IW_XFER_FILE || e->len == 0 || e->off < begin ||
	    e->off % IW_XFER_CHUNK != 0 || e->off > end || e->len > end - e->off ||
	    (e->off + e->len != end && e->len % IW_XFER_CHUNK != 0) ||
	    e->chunks_len != n * iw_xfer_digest_len(x->cfg.mine.digest))
		return iw_xfer_breach(x, "HAVE of %U octets at %U of file %u", e->len, e->off,
				      e->id);
	if (e->len > iw_xfer_meta_size(&f->meta) - f->had)
		return iw_xfer_breach(x, "HAVE of more octets than file %u", e->id);
	f->had += e->len;
	return iw_xfer_source_note(x, IW_XFER_ACT_HAVE, e, e->chunks, e->chunks_len);
}

/*
 * The next GRANT must be for the first sent range of that file. Ranges of other files may be
 * settled without a GRANT.
 */
static struct range *first_sent(struct source *s, uint32_t id)
{
	for (uint32_t i = 0; i < s->nranges - s->unsent; i++)
		if (range_at(s, i)->id == id)
			return range_at(s, i);
	return NULL;
}

static int on_grant(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	struct source *s = x->src;
	struct file *f = find(s, e->id);
	struct range *r;

	if (mode(x) != IW_XFER_WRITE)
		return iw_xfer_breach(x, "GRANT in mode %s", iw_xfer_mode_name(mode(x)));
	if (!f && e->id < s->next_id && e->id != 0)
		return 0; /* sent before the peer learned that the file ended */
	if (!f || f->state == NEW || f->state == ASKED)
		return iw_xfer_breach(x, "GRANT for file %u before GO", e->id);
	if (f->state != GOING || (iw_xfer_is_stream(f->meta.kind) && f->scanned && f->ranges == 0))
		return 0; /* likewise */
	r = first_sent(s, e->id);
	if (!r || r->next != e->off || e->len == 0 || e->len > IW_XFER_CHUNK ||
	    e->len > r->end - r->next ||
	    e->off / IW_XFER_CHUNK != (e->off + e->len - 1) / IW_XFER_CHUNK ||
	    (e->off + e->len != r->end && (e->off + e->len) % IW_XFER_CHUNK != 0))
		return iw_xfer_breach(
			x, "GRANT of %U octets at %U of file %u: not the next range of WANT",
			e->len, e->off, e->id);
	if (s->ngrants == IW_XFER_WINDOWS)
		return iw_xfer_breach(x, "more than %u windows", IW_XFER_WINDOWS);
	*grant_at(s, s->ngrants++) = (struct grant){
		.id = e->id, .off = e->off, .len = (uint32_t)e->len, .stag = e->stag
	};
	f->grants++;
	r->next += e->len;
	if (r->next == r->end) {
		r->id = 0;
		f->ranges--;
		iw_xfer_source_trim_ranges(s);
	}
	return 0;
}

static int on_release(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	struct source *s = x->src;

	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++) {
		struct slot *sl = &s->slot[i];

		if (sl->state != S_OFFERED || sl->id != e->id || sl->off != e->off)
			continue;
		/* In this state the offer is not found again. */
		sl->state = S_POSTED;
		fifo_put(&s->revoke, i);
		return 0;
	}
	return iw_xfer_breach(x, "RELEASE of octet %U of file %u, which is not offered", e->off,
			      e->id);
}

static int on_result(struct iw_xfer *x, const struct iw_xfer_entry *e)
{
	struct source *s = x->src;
	struct file *f = find(s, e->id);

	if (!f || f->state == NEW || f->result.known)
		return iw_xfer_breach(x, "RESULT for file %u, which is %s", e->id,
				      f && f->result.known ? "settled" : "not announced");
	if (e->code == IW_XFER_CODE_OK && f->meta.kind != IW_XFER_PACK &&
	    iw_xfer_has_data(f->meta.kind) && f->state != ENDED)
		return iw_xfer_breach(x, "RESULT: file %u is done, before it has ended", e->id);
	if (e->codes_len > 0) {
		if (f->meta.kind != IW_XFER_PACK || e->codes_len != f->meta.members || f->codes)
			return iw_xfer_breach(x, "RESULT of %U members of file %u",
					      (uint64_t)e->codes_len, e->id);
		f->codes = iw_xfer_copy(x, e->codes, e->codes_len);
		f->ncodes = f->codes ? e->codes_len : 0;
	}
	iw_xfer_set_outcome(&f->result, e->code, e->text, e->text_len, true);
	if (f->state == ASKED) {
		/* The source sends END only after GO. */
		iw_xfer_source_drop_rest(s, f);
		f->state = ENDED;
	} else if (f->state != ENDED) {
		/* It may have failed on this side too; then its END is due already. */
		iw_xfer_source_end_file(x, f, IW_XFER_CODE_CANCELED, NULL);
	}
	return 0;
}

static int on_bye(struct iw_xfer *x, const struct iw_xfer_msg *m)
{
	struct iw_fault why;

	if (x->state != ST_BYE)
		return iw_xfer_breach(x, "BYE from the sink %s",
				      x->src->bye_sent ? "comes twice" : "before the source's BYE");
	if (iw_cbor_get_uint(&m->rec, IW_XFER_KEY_FAILED, UINT64_MAX, &x->counts.peer_failed,
			     &why) != 0)
		return iw_xfer_breach(x, "%s", why.text);
	if (iw_cbor_has(&m->rec, IW_XFER_KEY_GONE) &&
	    iw_cbor_get_uint(&m->rec, IW_XFER_KEY_GONE, UINT64_MAX, &x->counts.gone, &why) != 0)
		return iw_xfer_breach(x, "%s", why.text);
	if (iw_cbor_has(&m->rec, IW_XFER_KEY_MADE) &&
	    iw_cbor_get_uint(&m->rec, IW_XFER_KEY_MADE, UINT64_MAX, &x->counts.made, &why) != 0)
		return iw_xfer_breach(x, "%s", why.text);
	if (iw_cbor_has(&m->rec, IW_XFER_KEY_STAYED) &&
	    iw_cbor_get_uint(&m->rec, IW_XFER_KEY_STAYED, UINT64_MAX, &x->counts.stayed, &why) != 0)
		return iw_xfer_breach(x, "%s", why.text);
	iw_xfer_set_state(x, ST_CLOSING);
	return 0;
}

/* GONE arrives after the BYE of the source, and before the BYE of the sink. */
static int on_gone(struct iw_xfer *x, const struct iw_xfer_msg *m)
{
	if (x->state != ST_BYE || !x->cfg.initiator || !(x->cfg.opts & IW_XFER_OPT_NAMES))
		return iw_xfer_breach(x, "GONE that was not requested");
	return iw_xfer_take_names(x, m);
}

int iw_xfer_source_message(struct iw_xfer *x, const struct iw_xfer_msg *m, uint64_t now)
{
	(void)now;
	switch (m->type) {
	case IW_XFER_MSG_GET:
		return on_get(x, m);
	case IW_XFER_MSG_GO:
		return iw_xfer_each_entry(x, m, IW_XFER_KEY_LIST, on_go);
	case IW_XFER_MSG_HAVE:
		return iw_xfer_each_entry(x, m, IW_XFER_KEY_LIST, on_have);
	case IW_XFER_MSG_GRANT:
		return iw_xfer_each_entry(x, m, IW_XFER_KEY_LIST, on_grant);
	case IW_XFER_MSG_RELEASE:
		return iw_xfer_each_entry(x, m, IW_XFER_KEY_LIST, on_release);
	case IW_XFER_MSG_RESULT:
		return iw_xfer_each_entry(x, m, IW_XFER_KEY_LIST, on_result);
	case IW_XFER_MSG_GONE:
		return on_gone(x, m);
	case IW_XFER_MSG_BYE:
		return on_bye(x, m);
	default:
		return iw_xfer_breach(x, "message %s (%u) from a sink", iw_xfer_msg_name(m->type),
				      m->type);
	}
}
