// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lists of names for --delete: GONE of a sink, REMOVE of a source. */
#include <string.h>

#include "util/text.h"
#include "transfer/protocol/internal.h"

/* --- out --- */

/* False: the message is full. A name that is too long for the protocol is skipped. */
static bool put_name(struct draft *d, const char *name, size_t len, size_t *n)
{
	size_t before = d->o.len;

	if (len == 0 || len > IW_XFER_NAME_MAX)
		return true;
	iw_cbor_bytes(&d->o, name, len);
	if (d->o.full) {
		d->o.full = false;
		d->o.len = before;
		return false;
	}
	++*n;
	return true;
}

static size_t put_names(struct iw_xfer *x, struct draft *d)
{
	size_t n = 0;

	while (x->names_left > 0) {
		size_t len = strnlen(x->names_at, x->names_left);

		if (!put_name(d, x->names_at, len, &n))
			break;
		len = IW_MIN(len + 1, x->names_left);
		x->names_at += len;
		x->names_left -= len;
	}
	return n;
}

bool iw_xfer_send_names(struct iw_xfer *x, struct iw_xfer_act *act, enum iw_xfer_msg_type type,
			uint64_t now)
{
	struct draft d;
	size_t place, n;

	if (x->names_left == 0 || !iw_xfer_draft_begin(x, &d, type, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XFER_KEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	n = put_names(x, &d);
	iw_cbor_array_end(&d.o, place, n);
	if (n > 0) {
		iw_xfer_draft_send(x, &d, act, now);
		return true;
	}
	iw_xfer_draft_drop(x, &d);
	/* The name does not fit into the peer's first, small receives: use these up. */
	if (x->names_left > 0 && x->link.tx_from != UINT64_MAX &&
	    x->link.tx_count + 1 < x->link.tx_from)
		x->link.nop_due = true;
	return false;
}

/* --- in --- */

int iw_xfer_take_names(struct iw_xfer *x, const struct iw_xfer_msg *m)
{
	const char *what = iw_xfer_msg_name(m->type);
	struct iw_cbor_in in;
	struct iw_cbor_item item;
	struct iw_fault why;
	size_t n;

	if (iw_cbor_get_array(&m->rec, IW_XFER_KEY_LIST, &in, &n, &why) != 0)
		return iw_xfer_breach(x, "%s", why.text);
	if (n == 0)
		return iw_xfer_breach(x, "%s without names", what);
	for (; n > 0; n--) {
		if (iw_cbor_next(&in, &item) != 1 || item.kind != IW_CBOR_BYTES)
			return iw_xfer_breach(x, "%s: a name that is not a byte string", what);
		if (item.len == 0 || item.len > IW_XFER_NAME_MAX || memchr(item.p, '\0', item.len))
			return iw_xfer_breach(x, "%s: a name of %U octets, or with a NUL octet",
					      what, (uint64_t)item.len);
		if (!iw_xfer_path_add(x, &x->names, item.p, item.len)) {
			iw_fail(&why, IW_E_NOMEM, "no memory for a name");
			iw_xfer_fail(x, &why);
			return IW_E_NOMEM;
		}
	}
	return 0;
}

bool iw_xfer_show_name(struct iw_xfer *x, struct iw_xfer_act *act)
{
	iw_xfer_path_free(x, x->name_shown);
	x->name_shown = iw_xfer_path_take(&x->names);
	if (!x->name_shown)
		return false;
	act->type = x->cfg.role == IW_XFER_SINK ? IW_XFER_ACT_REMOVE : IW_XFER_ACT_GONE;
	act->name = x->name_shown->octets;
	act->name_len = x->name_shown->len;
	return true;
}

void iw_xfer_names_fini(struct iw_xfer *x)
{
	iw_xfer_path_free(x, x->name_shown);
	while ((x->name_shown = iw_xfer_path_take(&x->names)) != NULL)
		iw_xfer_path_free(x, x->name_shown);
}
