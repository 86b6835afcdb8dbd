// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sink: what it says. */
#include "xfer/sink.h"

#include <string.h>

/* --- messages out --- */

bool iw_xsnk_send_get(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct iw_list *l;
	struct draft d;
	size_t place, n = 0;

	if (!x->cfg.initiator || !s->paths_end || s->paths_told ||
	    !iw_xdraft_begin(x, &d, IW_XMSG_GET, 2, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	while ((l = iw_list_first(&s->paths)) != NULL) {
		struct path *p = iw_container_of(l, struct path, link);
		size_t before = d.o.len;

		iw_cbor_bytes(&d.o, p->octets, p->len);
		/* Two octets behind the list: LAST and its value. */
		if (d.o.full || d.o.cap - d.o.len < 2) {
			d.o.full = false;
			d.o.len = before;
			break;
		}
		iw_list_del(l);
		iw_xf_path_free(x, p);
		n++;
	}
	iw_cbor_array_end(&d.o, place, n);
	iw_cbor_uint(&d.o, IW_XKEY_LAST);
	iw_cbor_bool(&d.o, iw_list_empty(&s->paths));
	if (n == 0 && !iw_list_empty(&s->paths)) {
		/* Too long for the peer's first, small receives. */
		iw_xdraft_drop(x, &d);
		if (x->link.tx_from != UINT64_MAX && x->link.tx_count + 1 < x->link.tx_from)
			x->link.nop_due = true;
		return false;
	}
	s->paths_told = iw_list_empty(&s->paths);
	iw_xdraft_send(x, &d, act, now);
	return true;
}

bool iw_xsnk_send_go(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;
	bool due = false;

	for (uint32_t i = 0; i < TABLE && !due; i++)
		due = s->file[i].go_due;
	if (!due || !iw_xdraft_begin(x, &d, IW_XMSG_GO, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (uint32_t i = 0; i < TABLE; i++) {
		struct file *f = &s->file[i];
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID), .id = f->id };

		if (!f->go_due)
			continue;
		if (!iw_xdraft_entry(&d, &e))
			break;
		f->go_due = false;
		n++;
	}
	iw_cbor_array_end(&d.o, place, n);
	iw_xdraft_send(x, &d, act, now);
	return true;
}

bool iw_xsnk_send_grants(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;
	struct fifo order = { .n = 0 };

	if (s->ngrants == 0 || !iw_xdraft_begin(x, &d, IW_XMSG_GRANT, 1, true))
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
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (; n < order.n; n++) {
		struct slot *sl = &s->slot[order.item[n]];
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID) | IW_XBIT(IW_XF_OFF) |
					      IW_XBIT(IW_XF_LEN) | IW_XBIT(IW_XF_STAG),
				       .id = sl->id,
				       .off = sl->off,
				       .len = sl->len,
				       .stag = sl->stag };

		if (!iw_xdraft_entry(&d, &e))
			break;
		sl->grant_due = false;
		s->ngrants--;
	}
	iw_cbor_array_end(&d.o, place, n);
	iw_xdraft_send(x, &d, act, now);
	return true;
}

bool iw_xsnk_send_releases(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;

	if (s->nreleases == 0 || !iw_xdraft_begin(x, &d, IW_XMSG_RELEASE, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (; n < s->nreleases; n++) {
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID) | IW_XBIT(IW_XF_OFF),
				       .id = s->release[n].id,
				       .off = s->release[n].off };

		if (!iw_xdraft_entry(&d, &e))
			break;
	}
	iw_cbor_array_end(&d.o, place, n);
	s->nreleases -= (uint32_t)n;
	memmove(s->release, s->release + n, s->nreleases * sizeof(s->release[0]));
	iw_xdraft_send(x, &d, act, now);
	return true;
}

bool iw_xsnk_send_results(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;
	bool due = false;

	for (uint32_t i = 0; i < TABLE && !due; i++)
		due = s->file[i].state == SETTLED && !s->file[i].told;
	if (!due || !iw_xdraft_begin(x, &d, IW_XMSG_RESULT, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (uint32_t i = 0; i < TABLE; i++) {
		struct file *f = &s->file[i];
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID), .id = f->id };

		if (f->state != SETTLED || f->told)
			continue;
		iw_xf_outcome_entry(&e, &f->outcome);
		if (!iw_xdraft_entry(&d, &e))
			break;
		f->told = true;
		n++;
	}
	iw_cbor_array_end(&d.o, place, n);
	iw_xdraft_send(x, &d, act, now);
	return true;
}

bool iw_xsnk_send_bye(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;

	if (!s->bye_due || s->nfiles > 0 || !iw_xdraft_begin(x, &d, IW_XMSG_BYE, 2, true))
		return false;
	s->bye_due = false;
	iw_cbor_uint(&d.o, IW_XKEY_FILES);
	iw_cbor_uint(&d.o, s->next_id - 1);
	iw_cbor_uint(&d.o, IW_XKEY_FAILED);
	iw_cbor_uint(&d.o, x->counts.files_failed);
	iw_xdraft_send(x, &d, act, now);
	iw_xf_set_state(x, ST_CLOSING);
	return true;
}
