// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sink: messages to the source. */
#include "transfer/protocol/sink.h"

#include <string.h>

/* --- messages out --- */

bool iw_xfer_sink_send_get(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct iw_list *l;
	struct draft d;
	size_t place, n = 0;

	if (!x->cfg.initiator || !s->paths_end || s->paths_sent ||
	    !iw_xfer_draft_begin(x, &d, IW_XFER_MSG_GET, 2, true))
		return false;
	iw_cbor_uint(&d.o, IW_XFER_KEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	while ((l = iw_list_first(&s->paths)) != NULL) {
		struct path *p = iw_container_of(l, struct path, link);
		size_t before = d.o.len;

		iw_cbor_bytes(&d.o, p->octets, p->len);
		/* LAST and its value follow the list, and take two octets. */
		if (d.o.full || d.o.cap - d.o.len < 2) {
			d.o.full = false;
			d.o.len = before;
			break;
		}
		iw_list_del(l);
		iw_xfer_path_free(x, p);
		n++;
	}
	iw_cbor_array_end(&d.o, place, n);
	iw_cbor_uint(&d.o, IW_XFER_KEY_LAST);
	iw_cbor_bool(&d.o, iw_list_empty(&s->paths));
	if (n == 0 && !iw_list_empty(&s->paths)) {
		/* The path is too long for the peer's first, small receives. */
		iw_xfer_draft_drop(x, &d);
		if (x->link.tx_from != UINT64_MAX && x->link.tx_count + 1 < x->link.tx_from)
			x->link.nop_due = true;
		return false;
	}
	s->paths_sent = iw_list_empty(&s->paths);
	iw_xfer_draft_send(x, &d, act, now);
	return true;
}

/* Appends as many chunks of h as fit. */
static bool put_have(struct draft *d, uint32_t id, struct have *h, size_t digest)
{
	size_t all = (size_t)((h->len + IW_XFER_CHUNK - 1) / IW_XFER_CHUNK), n = all - h->sent;
	uint64_t off = (uint64_t)h->sent * IW_XFER_CHUNK;
	size_t room = d->o.cap - d->o.len;
	struct iw_xfer_entry e = { .has = IW_XFER_HAS(ID) | IW_XFER_HAS(OFF) | IW_XFER_HAS(LEN) |
					  IW_XFER_HAS(CHUNKS),
				   .id = id,
				   .off = h->off + off,
				   .chunks = h->octets + h->sent * digest };

	/* The rest of an entry takes less than 48 octets. */
	if (digest > 0)
		n = IW_MIN(n, room > 48 ? (room - 48) / digest : 0);
	e.chunks_len = n * digest;
	e.len = IW_MIN((uint64_t)n * IW_XFER_CHUNK, h->len - off);
	if (n == 0 || !iw_xfer_draft_entry(d, &e))
		return false;
	h->sent += n;
	return true;
}

/* HAVE for a file must precede its GO. */
bool iw_xfer_sink_send_haves(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct sink *s = x->snk;
	size_t digest = iw_xfer_digest_len(x->cfg.mine.digest);

	for (uint32_t i = 0; i < TABLE; i++) {
		struct file *f = &s->file[i];
		struct iw_list *l;
		struct draft d;
		size_t place, n = 0;

		if (f->state == FREE || !f->go_due || iw_list_empty(&f->haves))
			continue;
		if (!iw_xfer_draft_begin(x, &d, IW_XFER_MSG_HAVE, 1, true))
			return false;
		iw_cbor_uint(&d.o, IW_XFER_KEY_LIST);
		place = iw_cbor_array_begin(&d.o);
		while ((l = iw_list_first(&f->haves)) != NULL) {
			struct have *h = iw_container_of(l, struct have, link);

			if (!put_have(&d, f->id, h, digest))
				break;
			n++;
			if ((uint64_t)h->sent * IW_XFER_CHUNK < h->len)
				break;
			iw_list_del(l);
			iw_mem_free(x->mem, h, sizeof(*h) + h->octets_len);
		}
		iw_cbor_array_end(&d.o, place, n);
		iw_xfer_draft_send(x, &d, act, now);
		return true;
	}
	return false;
}

bool iw_xfer_sink_send_go(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;
	bool due = false;

	for (uint32_t i = 0; i < TABLE && !due; i++)
		due = s->file[i].go_due && iw_list_empty(&s->file[i].haves);
	if (!due || !iw_xfer_draft_begin(x, &d, IW_XFER_MSG_GO, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XFER_KEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (uint32_t i = 0; i < TABLE; i++) {
		struct file *f = &s->file[i];
		struct iw_xfer_entry e = { .has = IW_XFER_HAS(ID), .id = f->id };

		if (!f->go_due || !iw_list_empty(&f->haves))
			continue;
		if (f->meta.kind == IW_XFER_PACK) {
			e.has |= IW_XFER_HAS(WANTED);
			e.wanted = f->wanted;
			e.wanted_len = f->nwanted;
		}
		if (!iw_xfer_draft_entry(&d, &e))
			break;
		f->go_due = false;
		n++;
	}
	iw_cbor_array_end(&d.o, place, n);
	iw_xfer_draft_send(x, &d, act, now);
	return true;
}

bool iw_xfer_sink_send_grants(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;
	struct fifo order = { .n = 0 };

	if (s->ngrants == 0 || !iw_xfer_draft_begin(x, &d, IW_XFER_MSG_GRANT, 1, true))
		return false;
	/* In the order of the ranges: by file, then by offset. */
	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++) {
		uint32_t at = order.n;

		if (!s->slot[i].grant_due)
			continue;
		for (; at > 0; at--) {
			const struct slot *o = &s->slot[order.item[at - 1]];

			if (o->id < s->slot[i].id ||
			    (o->id == s->slot[i].id && o->off < s->slot[i].off))
				break;
			order.item[at] = order.item[at - 1];
		}
		order.item[at] = (uint8_t)i;
		order.n++;
	}
	iw_cbor_uint(&d.o, IW_XFER_KEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (; n < order.n; n++) {
		struct slot *sl = &s->slot[order.item[n]];
		struct iw_xfer_entry e = { .has = IW_XFER_HAS(ID) | IW_XFER_HAS(OFF) |
						  IW_XFER_HAS(LEN) | IW_XFER_HAS(STAG),
					   .id = sl->id,
					   .off = sl->off,
					   .len = sl->len,
					   .stag = sl->stag };

		if (!iw_xfer_draft_entry(&d, &e))
			break;
		sl->grant_due = false;
		s->ngrants--;
	}
	iw_cbor_array_end(&d.o, place, n);
	iw_xfer_draft_send(x, &d, act, now);
	return true;
}

bool iw_xfer_sink_send_releases(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;

	if (s->nreleases == 0 || !iw_xfer_draft_begin(x, &d, IW_XFER_MSG_RELEASE, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XFER_KEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (; n < s->nreleases; n++) {
		struct iw_xfer_entry e = { .has = IW_XFER_HAS(ID) | IW_XFER_HAS(OFF),
					   .id = s->release[n].id,
					   .off = s->release[n].off };

		if (!iw_xfer_draft_entry(&d, &e))
			break;
	}
	iw_cbor_array_end(&d.o, place, n);
	s->nreleases -= (uint32_t)n;
	memmove(s->release, s->release + n, s->nreleases * sizeof(s->release[0]));
	iw_xfer_draft_send(x, &d, act, now);
	return true;
}

bool iw_xfer_sink_send_results(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;
	bool due = false;

	for (uint32_t i = 0; i < TABLE && !due; i++)
		due = s->file[i].state == SETTLED && !s->file[i].sent;
	if (!due || !iw_xfer_draft_begin(x, &d, IW_XFER_MSG_RESULT, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XFER_KEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (uint32_t i = 0; i < TABLE; i++) {
		struct file *f = &s->file[i];
		struct iw_xfer_entry e = { .has = IW_XFER_HAS(ID), .id = f->id };

		if (f->state != SETTLED || f->sent)
			continue;
		iw_xfer_outcome_entry(&e, &f->outcome);
		if (f->ncodes > 0) {
			e.has |= IW_XFER_HAS(CODES);
			e.codes = f->codes;
			e.codes_len = f->ncodes;
		}
		if (!iw_xfer_draft_entry(&d, &e))
			break;
		f->sent = true;
		n++;
	}
	iw_cbor_array_end(&d.o, place, n);
	iw_xfer_draft_send(x, &d, act, now);
	return true;
}

bool iw_xfer_sink_send_bye(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;

	size_t pairs = 3u + (x->counts.stayed > 0) + (x->counts.made > 0);

	if (s->bye != BYE_DUE || x->names_left > 0 ||
	    !iw_xfer_draft_begin(x, &d, IW_XFER_MSG_BYE, pairs, true))
		return false;
	s->bye = BYE_SAID;
	iw_cbor_uint(&d.o, IW_XFER_KEY_FILES);
	iw_cbor_uint(&d.o, s->next_id - 1);
	iw_cbor_uint(&d.o, IW_XFER_KEY_FAILED);
	iw_cbor_uint(&d.o, x->counts.files_failed);
	iw_cbor_uint(&d.o, IW_XFER_KEY_GONE);
	iw_cbor_uint(&d.o, x->counts.gone);
	if (x->counts.made > 0) {
		iw_cbor_uint(&d.o, IW_XFER_KEY_MADE);
		iw_cbor_uint(&d.o, x->counts.made);
	}
	if (x->counts.stayed > 0) {
		iw_cbor_uint(&d.o, IW_XFER_KEY_STAYED);
		iw_cbor_uint(&d.o, x->counts.stayed);
	}
	iw_xfer_draft_send(x, &d, act, now);
	iw_xfer_set_state(x, ST_CLOSING);
	return true;
}
