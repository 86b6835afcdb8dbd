// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Credits, and control messages. The peer's credit is the number of messages that a side may send
 * in total. The last one is kept for NOP and ABORT, so that a side can always send new credit.
 */
#include <string.h>

#include "util/text.h"
#include "transfer/protocol/internal.h"

void iw_xfer_link_init(struct iw_xfer *x)
{
	struct link *l = &x->link;
	const struct iw_hello *mine = &x->cfg.mine;
	bool data = x->cfg.role == IW_XFER_SINK && mine->mode == IW_XFER_SEND;

	l->rx_limit = l->rx_advertised = mine->recvs;
	l->tx_from = UINT64_MAX;
	if (x->cfg.initiator)
		return;
	/* The further receives that a responder posts after OPEN. */
	l->rx_first = mine->recvs;
	l->rx_more = data ? 64 : 16;
	l->rx_size = data ? IW_XFER_PIECE + IW_XFER_DATA_HDR : IW_XFER_MSG_MAX;
}

void iw_xfer_link_fini(struct iw_xfer *x)
{
	for (size_t i = 0; i < OUT_BUFS; i++)
		iw_mem_free(x->mem, x->link.out[i].buf, IW_XFER_MSG_MAX);
}

void iw_xfer_link_peer(struct iw_xfer *x)
{
	x->link.tx_limit = x->cfg.peer.recvs;
	x->link.tx_size = x->cfg.peer.recv_size;
}

bool iw_xfer_link_ready(const struct iw_xfer *x, bool reserve)
{
	const struct link *l = &x->link;

	return (reserve ? iw_xfer_link_sq_room(x) : l->sq_used < x->cfg.sq_depth) &&
	       l->tx_limit > l->tx_count && l->tx_limit - l->tx_count > (reserve ? 1u : 0u);
}

uint32_t iw_xfer_link_size(const struct iw_xfer *x)
{
	return x->link.tx_count + 1 >= x->link.tx_from ? x->link.tx_size_next : x->link.tx_size;
}

/* Returns a free buffer, or OUT_BUFS. With reserve the first one is kept for NOP and ABORT. */
static uint32_t free_out(struct iw_xfer *x, bool reserve)
{
	bool none = true; /* no buffer is in flight, so none will become free */

	for (uint32_t i = reserve ? 1 : 0; i < OUT_BUFS; i++) {
		struct outmsg *m = &x->link.out[i];

		none = none && !m->busy;
		if (m->busy)
			continue;
		if (!m->buf)
			m->buf = iw_mem_alloc(x->mem, IW_XFER_MSG_MAX);
		if (m->buf)
			return i;
	}
	if (none)
		x->lacks = "a message";
	return OUT_BUFS;
}

static size_t digest_len(const struct iw_xfer *x)
{
	return x->cfg.digest ? iw_xfer_digest_len(x->cfg.mine.digest) : 0;
}

/* Appends the digest of a control message. */
static void put_digest(struct iw_xfer *x, struct iw_cbor_out *o)
{
	struct iw_xfer_digest own = { .len = 0 };
	size_t len = digest_len(x);

	if (len == 0)
		return;
	/* The peer refuses a message without its digest, so the transfer fails. */
	if (!x->cfg.digest(x->cfg.digest_ctx, o->buf, o->len, &own))
		x->lacks = "the digest of a message";
	memcpy(o->buf + o->len, own.octets, len);
	o->len += len;
}

int iw_xfer_link_check(struct iw_xfer *x, const uint8_t *msg, size_t *len)
{
	struct iw_xfer_digest own = { .len = 0 };
	size_t n = digest_len(x);

	if (n == 0)
		return 0;
	if (*len >= n && !x->cfg.digest(x->cfg.digest_ctx, msg, *len - n, &own)) {
		x->lacks = "the digest of a message";
		return IW_E_NOMEM;
	}
	if (*len < n || memcmp(own.octets, msg + *len - n, n) != 0)
		return iw_xfer_corrupt(x, "a control message of %U octets does not have its digest",
				       (uint64_t)*len);
	*len -= n;
	return 0;
}

bool iw_xfer_draft_begin(struct iw_xfer *x, struct draft *d, enum iw_xfer_msg_type type,
			 size_t pairs, bool reserve)
{
	struct link *l = &x->link;
	bool sink = x->cfg.role == IW_XFER_SINK;
	size_t cap = IW_MIN(iw_xfer_link_size(x), IW_XFER_MSG_MAX);

	if (!iw_xfer_link_ready(x, reserve))
		return false;
	d->buf = free_out(x, reserve);
	if (d->buf == OUT_BUFS)
		return false;
	cap -= IW_MIN(cap, digest_len(x));
	iw_cbor_out_init(&d->o, l->out[d->buf].buf, cap);
	iw_cbor_map(&d->o, 2 + (l->size_due ? 2 : 0) + (sink ? 2 : 0) + x->binding_due + pairs);
	iw_cbor_uint(&d->o, IW_XFER_KEY_TYPE);
	iw_cbor_uint(&d->o, type);
	iw_cbor_uint(&d->o, IW_XFER_KEY_CREDIT);
	iw_cbor_uint(&d->o, l->rx_limit);
	if (l->size_due) {
		iw_cbor_uint(&d->o, IW_XFER_KEY_SIZE);
		iw_cbor_uint(&d->o, l->rx_size);
		iw_cbor_uint(&d->o, IW_XFER_KEY_FROM);
		iw_cbor_uint(&d->o, l->rx_first + 1);
	}
	if (sink) {
		iw_cbor_uint(&d->o, IW_XFER_KEY_ARRIVED);
		iw_cbor_uint(&d->o, x->arrived);
		iw_cbor_uint(&d->o, IW_XFER_KEY_KEPT);
		iw_cbor_uint(&d->o, x->counts.kept);
	}
	if (x->binding_due) {
		iw_cbor_uint(&d->o, IW_XFER_KEY_BINDING);
		iw_cbor_bytes(&d->o, x->binding, sizeof(x->binding));
	}
	l->out[d->buf].busy = true;
	return true;
}

static void count_sent(struct iw_xfer *x, uint64_t now)
{
	x->link.tx_count++;
	x->link.sq_used++;
	x->link.sent_at = now;
}

void iw_xfer_draft_send(struct iw_xfer *x, struct draft *d, struct iw_xfer_act *act, uint64_t now)
{
	put_digest(x, &d->o);
	act->type = IW_XFER_ACT_SEND;
	act->cookie = cookie(CK_MSG, d->buf);
	act->msg = d->o.buf;
	act->msg_len = d->o.len;
	x->link.rx_advertised = x->link.rx_limit;
	x->link.size_due = false;
	x->link.nop_due = false;
	x->binding_due = false;
	x->counts.msgs_sent++;
	x->counts.control_sent += d->o.len;
	count_sent(x, now);
}

void iw_xfer_draft_drop(struct iw_xfer *x, struct draft *d)
{
	x->link.out[d->buf].busy = false;
}

bool iw_xfer_draft_entry(struct draft *d, const struct iw_xfer_entry *e)
{
	size_t before = d->o.len;

	iw_xfer_entry_put(&d->o, e);
	if (!d->o.full)
		return true;
	d->o.full = false;
	d->o.len = before;
	return false;
}

void iw_xfer_link_data_sent(struct iw_xfer *x, uint64_t now)
{
	x->counts.msgs_sent++;
	count_sent(x, now);
}

/*
 * A NOP alone is not progress: otherwise two sides that wait for each other would never time out.
 */
static void note_report(struct iw_xfer *x, const struct iw_xfer_msg *m, uint64_t now)
{
	bool advances = m->type != IW_XFER_MSG_NOP || m->busy || m->arrived > x->peer_arrived ||
			m->kept > x->counts.kept;

	if (x->cfg.role == IW_XFER_SOURCE) {
		x->peer_arrived = m->arrived;
		x->counts.kept = IW_MAX(x->counts.kept, m->kept);
	}
	if (advances)
		iw_xfer_note_progress(x, now);
}

int iw_xfer_link_received(struct iw_xfer *x, const struct iw_xfer_msg *m, uint64_t now)
{
	struct link *l = &x->link;

	if (m->credit < l->tx_limit)
		return iw_xfer_breach(x, "credit went back from %U to %U", l->tx_limit, m->credit);
	if (m->credit - l->tx_limit > IW_XFER_FILES_MAX)
		return iw_xfer_breach(x, "credit went from %U to %U", l->tx_limit, m->credit);
	l->tx_limit = m->credit;
	note_report(x, m, now);
	if (!m->resized)
		return 0;
	if (l->tx_from != UINT64_MAX || m->size < l->tx_size || m->from <= l->tx_count)
		return iw_xfer_breach(x, "receives of %u octets from message %U on", m->size,
				      m->from);
	l->tx_from = m->from;
	l->tx_size_next = m->size;
	return 0;
}

enum iw_xfer_verdict iw_xfer_link_consumed(struct iw_xfer *x)
{
	struct link *l = &x->link;

	if (l->rx_count <= l->rx_first)
		return IW_XFER_RECV_RETIRE;
	l->rx_limit++;
	return IW_XFER_RECV_REPOST;
}

void iw_xfer_link_reposted(struct iw_xfer *x, uint32_t n)
{
	x->link.rx_limit += n;
}

bool iw_xfer_link_wants_nop(const struct iw_xfer *x)
{
	const struct link *l = &x->link;
	uint64_t posted = l->rx_limit - l->rx_count; /* receives that are posted now */
	uint64_t unsent = l->rx_limit - l->rx_advertised;

	return l->nop_due || l->total_due || l->size_due || (unsent > 0 && unsent * 2 >= posted);
}
