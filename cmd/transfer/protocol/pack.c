// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lists of small files. */
#include "transfer/protocol/pack.h"

#include <string.h>

#include "util/num.h"
#include "util/text.h"

void iw_xfer_pack_entry(struct iw_xfer_entry *e, const struct iw_xfer_meta *m)
{
	*e = (struct iw_xfer_entry){ .has = IW_XFER_HAS(NAME) | IW_XFER_HAS(KIND) |
					    IW_XFER_HAS(MODE),
				     .name = m->name,
				     .name_len = m->name_len,
				     .kind = m->kind,
				     .mode = m->mode };
	if (m->kind == IW_XFER_FILE) {
		e->has |= IW_XFER_HAS(SIZE);
		e->size = m->size;
	}
	if (!iw_xfer_is_stream(m->kind)) {
		e->has |= IW_XFER_HAS(MTIME) | IW_XFER_HAS(MTIME_NS);
		e->mtime_s = m->mtime_s;
		e->mtime_ns = m->mtime_ns;
	}
	if (m->kind == IW_XFER_SYMLINK || m->kind == IW_XFER_HARDLINK) {
		e->has |= IW_XFER_HAS(TARGET);
		e->target = m->target;
		e->target_len = m->target_len;
	}
	if (m->kind == IW_XFER_PACK) {
		e->has |= IW_XFER_HAS(LIST);
		e->list = (const uint8_t *)m->target;
		e->list_len = m->target_len;
	}
	if (m->owned) {
		e->has |= IW_XFER_HAS(UID) | IW_XFER_HAS(GID);
		e->uid = m->uid;
		e->gid = m->gid;
	}
	if (m->xattr) {
		e->has |= IW_XFER_HAS(XATTR);
		e->xattr = m->xattr;
		e->xattr_len = m->xattr_len;
	}
	if (m->digest.len > 0) {
		e->has |= IW_XFER_HAS(DIGEST);
		e->digest = m->digest;
	}
	if (m->ident_len > 0) {
		e->has |= IW_XFER_HAS(IDENT);
		e->ident = m->ident;
		e->ident_len = m->ident_len;
	}
}

void iw_xfer_pack_meta(struct iw_xfer_meta *m, const struct iw_xfer_entry *e)
{
	const unsigned owner = IW_XFER_HAS(UID) | IW_XFER_HAS(GID);

	*m = (struct iw_xfer_meta){ .kind = (enum iw_xfer_kind)e->kind,
				    .name = e->name,
				    .name_len = e->name_len,
				    .size = e->size,
				    .mode = e->mode & 07777,
				    .mtime_s = e->mtime_s,
				    .mtime_ns = e->mtime_ns,
				    .target = e->target,
				    .target_len = e->target_len,
				    .owned = (e->has & owner) == owner,
				    .uid = e->uid,
				    .gid = e->gid };
	if (e->has & IW_XFER_HAS(XATTR)) {
		m->xattr = e->xattr;
		m->xattr_len = e->xattr_len;
	}
}

void iw_xfer_pack_begin(struct iw_xfer_pack_out *p, uint8_t *buf, size_t cap)
{
	iw_cbor_out_init(&p->o, buf, cap);
	p->n = 0;
	(void)iw_cbor_array_begin(&p->o);
}

bool iw_xfer_pack_add(struct iw_xfer_pack_out *p, const struct iw_xfer_meta *m)
{
	struct iw_xfer_entry e;
	size_t before = p->o.len;

	if (p->n == IW_XFER_MEMBERS)
		return false;
	iw_xfer_pack_entry(&e, m);
	iw_xfer_entry_put(&p->o, &e);
	if (p->o.full) {
		p->o.full = false;
		p->o.len = before;
		return false;
	}
	p->n++;
	return true;
}

size_t iw_xfer_pack_end(struct iw_xfer_pack_out *p)
{
	iw_cbor_array_end(&p->o, 0, p->n);
	return p->o.len;
}

int iw_xfer_pack_open(struct iw_xfer_entries *l, const uint8_t *list, size_t len,
		      struct iw_fault *why)
{
	struct iw_cbor_item head;

	*l = (struct iw_xfer_entries){ .in = { .p = list, .len = len },
				       .type = IW_XFER_MSG_FILES,
				       .ends = true };
	if (iw_cbor_next(&l->in, &head) != 1 || head.kind != IW_CBOR_ARRAY || head.u == 0 ||
	    head.u > IW_XFER_MEMBERS)
		return iw_fail(why, IW_E_FORMAT, "its list is not an array of 1 to %u members",
			       IW_XFER_MEMBERS);
	l->left = (size_t)head.u;
	return 0;
}

int iw_xfer_pack_check(const uint8_t *list, size_t len, uint32_t *n, struct iw_fault *why)
{
	struct iw_xfer_entry e;
	struct iw_xfer_entries l;
	uint64_t sum = 0;
	int r = iw_xfer_pack_open(&l, list, len, why);

	if (r < 0)
		return r;
	*n = (uint32_t)l.left;
	while ((r = iw_xfer_entries_next(&l, &e, why)) > 0) {
		if (e.kind == IW_XFER_STREAM || e.kind >= IW_XFER_PACK)
			return iw_fail(why, IW_E_FORMAT, "a member of kind %u", e.kind);
		if (e.kind != IW_XFER_FILE)
			continue;
		if (!(e.has & IW_XFER_HAS(SIZE)) || e.size >= IW_XFER_CHUNK)
			return iw_fail(why, IW_E_LIMIT, "a member of %U octets", e.size);
		sum += e.size + 1;
	}
	if (r < 0)
		return r;
	if (sum > IW_XFER_CHUNK)
		return iw_fail(why, IW_E_LIMIT, "members of %U octets together", sum);
	return 0;
}
