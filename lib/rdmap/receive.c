// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The way in: a segment is judged by its opcode's row, checked and placed by DDP, and acts when its message is delivered. */
#include "rdmap/rdmap.h"

#include <assert.h>
#include <string.h>

#include "rdmap/internal.h"

typedef int handler(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why);
static handler on_send, on_write, on_rreq, on_rresp, on_term;

struct rdmap_row {
	bool supported, tagged;
	uint8_t qn;    /* untagged */
	uint8_t right; /* tagged: what the STag must allow */
	handler *deliver;
};

/* RFC 5040 figure 4. A missing row is zero: not supported. */
/* clang-format off */
static const struct rdmap_row rows[16] = {
	/*                      sup.  tagged  queue         right                  when delivered */
	[IW_OP_WRITE]       = { true, true,   0,            IW_RIGHT_REMOTE_WRITE, on_write },
	[IW_OP_RREQ]        = { true, false,  IW_QN_RREQ,   0,                     on_rreq  },
	[IW_OP_RRESP]       = { true, true,   0,            IW_RIGHT_READ_SINK,    on_rresp },
	[IW_OP_SEND]        = { true, false,  IW_QN_SEND,   0,                     on_send  },
	[IW_OP_SEND_INV]    = { true, false,  IW_QN_SEND,   0,                     on_send  },
	[IW_OP_SEND_SE]     = { true, false,  IW_QN_SEND,   0,                     on_send  },
	[IW_OP_SEND_SE_INV] = { true, false,  IW_QN_SEND,   0,                     on_send  },
	[IW_OP_TERM]        = { true, false,  IW_QN_TERM,   0,                     on_term  },
};
/* clang-format on */

static bool is_invalidate(uint8_t opcode)
{
	return opcode == IW_OP_SEND_INV || opcode == IW_OP_SEND_SE_INV;
}

static bool is_solicited(uint8_t opcode)
{
	return opcode == IW_OP_SEND_SE || opcode == IW_OP_SEND_SE_INV;
}

/* --- when a message is delivered --- */

/* RFC 5040 5.3 and 8.1.1 (7): only an STag that is valid on this one stream; one shared by a protection domain stays. */
static int invalidate(struct iw_rdmap *r, uint32_t stag, struct iw_fault *why)
{
	const struct iw_region *g = iw_stag_get(r->cfg.stags, stag);

	if (g == NULL)
		return iw_fail(why, IW_E_RO_INVAL, "rdmap: Send with Invalidate of STag %x: no such STag", stag);
	if (g->stream != r->cfg.stream || g->pd != r->cfg.pd)
		return iw_fail(why, IW_E_RP_INVAL, "rdmap: Send with Invalidate of STag %x: not associated with this stream alone", stag);
	return iw_stag_del(r->cfg.stags, stag);
}

static int on_send(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why)
{
	struct iw_completion *c = &r->done[(r->done_head + r->done_len) % r->done_cap];
	int err;

	(void)now;
	memset(c, 0, sizeof(*c));
	c->cookie = m->cookie;
	c->kind = IW_OPK_RECV;
	c->len = (uint32_t)m->len;
	c->solicited = is_solicited(m->opcode);
	if (is_invalidate(m->opcode)) {
		err = invalidate(r, m->inval_stag, why);
		c->status = err;
		c->invalidated = err == 0;
		c->inval_stag = m->inval_stag;
		r->done_len++; /* the buffer is consumed either way: its receive completes, in error when the Invalidate failed */
		return err;
	}
	r->done_len++;
	return 0;
}

/* RFC 5040 5.1: a valid RDMA Write is not delivered to the ULP. */
static int on_write(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why)
{
	(void)now;
	(void)why;
	if (m->len > 0)
		iw_stag_used(r->cfg.stags, m->stag);
	return 0;
}

static int check_source(struct iw_rdmap *r, const struct iw_rreq *q, uint64_t now, struct iw_fault *why)
{
	struct iw_stag_use use = {
		.pd = r->cfg.pd, .stream = r->cfg.stream, .right = IW_RIGHT_REMOTE_READ, .to = q->src_to, .len = q->size, .now = now
	};
	enum iw_stag_verdict v;
	uint8_t *where;

	v = iw_stag_check(r->cfg.stags, q->src_stag, &use, &where);
	if (v != IW_STAG_OK)
		return iw_stag_rdmap_error(r->cfg.stags, v, q->src_stag, &use, why);
	iw_stag_begin(r->cfg.stags, q->src_stag);
	return 0;
}

static int on_rreq(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why)
{
	struct inbound_read *in = in_at(r, (uint32_t)m->cookie);
	struct iw_rreq q;
	int err;

	assert((uint32_t)m->cookie == r->in_tail);
	if (iw_rreq_decode(&q, m->base, m->len) <= 0)
		return iw_fail(why, IW_E_RO_STREAM, "rdmap: Read Request of %U octets: expected %u", m->len, IW_RDMAP_RREQ_LEN);
	in->rreq = q;
	in->msg = *m;
	memset(&in->out, 0, sizeof(in->out));
	in->counted = false;
	if (r->tx_shut)
		return iw_fail(why, IW_E_CLOSED, "rdmap: Read Request behind our orderly close: it cannot be answered");
	if (q.size > 0) { /* size 0: the source STag and TO are not validated (RFC 5040 5.2.1) */
		err = check_source(r, &q, now, why);
		if (err < 0)
			return err;
		in->counted = true;
	}
	r->in_tail++;
	return 0;
}

static int on_rresp(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why)
{
	struct outbound_read *o = outr_at(r, r->outr_head);

	(void)now;
	if (r->outr_head == r->outr_tail)
		return iw_fail(why, IW_E_RO_OPCODE, "rdmap: Read Response to STag %x: no RDMA Read is outstanding", m->stag);
	if (o->size > 0 && (m->stag != o->stag || m->to != o->to))
		return iw_fail(why, m->stag != o->stag ? IW_E_DDP_STAG : IW_E_DDP_BOUNDS,
			       "rdmap: Read Response to STag %x TO %X: the oldest RDMA Read has STag %x TO %X", m->stag, m->to, o->stag, o->to);
	if (m->len != o->size || o->got != o->size)
		return iw_fail(why, IW_E_DDP_BOUNDS, "rdmap: Read Response of %U octets: asked for %u", m->len, o->size);
	if (o->slot != NO_SLOT)
		sq_at(r, o->slot)->answered = true;
	r->outr_head++;
	return 0;
}

static int on_term(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why)
{
	(void)now;
	iw_rdmap_peer_terminate(r, m, why);
	return IW_E_PEER_TERMINATE;
}

/* --- when a segment arrives --- */

/* DDP's own checks come first (RFC 5040 7.2): version, and a QN that exists; then RDMAP's version, opcode, model and queue. */
static int judge(struct iw_rdmap *r, const struct iw_ddp *h, size_t len, uint64_t now, struct iw_fault *why)
{
	const struct rdmap_row *row = &rows[h->opcode];
	uint8_t *where;
	int err;

	if (h->dv != r->params.dv || (!h->tagged && h->qn > IW_QN_TERM)) {
		err = iw_ddp_check(r->ddp, h, len, 0, now, &where, why);
		if (err < 0)
			return err;
	}
	if (h->rv != r->params.dv)
		return iw_fail(why, IW_E_RO_VERSION, "rdmap: version %u: expected %u", h->rv, r->params.dv);
	if (!row->supported)
		return iw_fail(why, IW_E_RO_OPCODE, "rdmap: OpCode %b: not one of RFC 5040", h->opcode);
	if (row->tagged != h->tagged)
		return iw_fail(why, IW_E_RO_OPCODE, "rdmap: %s in %s segment: expected %s", iw_opcode_name(h->opcode),
			       h->tagged ? "a tagged" : "an untagged", row->tagged ? "a tagged one" : "an untagged one");
	if (!h->tagged && row->qn != h->qn)
		return iw_fail(why, IW_E_RO_OPCODE, "rdmap: %s on QN %u: expected QN %u", iw_opcode_name(h->opcode), h->qn, row->qn);
	return 0;
}

/* RFC 6581 9.2: the first frame of the peer-to-peer model is one of the RTR forms agreed on; a Send uses up MSN 1 and no buffer of the ULP's. */
static int first_frame(struct iw_rdmap *r, const struct iw_ddp *h, size_t len, bool *swallowed, struct iw_fault *why)
{
	uint8_t form = 0;

	if (h->last && h->opcode == IW_OP_SEND && len == 0 && h->msn == iw_ddp_next_msn(r->ddp, IW_QN_SEND) && h->mo == 0)
		form = 1;
	else if (h->last && h->opcode == IW_OP_WRITE && len == 0)
		form = 2;
	else if (h->last && h->opcode == IW_OP_RREQ && len == IW_RDMAP_RREQ_LEN)
		form = 4;
	if (h->opcode == IW_OP_TERM)
		return 0; /* the initiator could not go on: RFC 6581 9 */
	if (!(form & r->rtr_expected))
		return iw_fail(why, IW_E_MPA_RTR, "rdmap: first frame is %s of %U octets: expected an RTR of the set %b",
			       iw_opcode_name(h->opcode), (uint64_t)len, r->rtr_expected);
	r->rtr_expected = 0;
	if (form == 1) {
		iw_ddp_skip_msn(r->ddp, IW_QN_SEND);
		*swallowed = true;
	}
	return 0;
}

/* The outstanding Read that a Response segment belongs to: the oldest where the LLP keeps order, else the one whose sink it names. */
static struct outbound_read *find_read(struct iw_rdmap *r, const struct iw_ddp *h, size_t len, bool in_order)
{
	uint32_t n;

	if (r->outr_head == r->outr_tail)
		return NULL;
	if (in_order || len == 0)
		return outr_at(r, r->outr_head);
	for (n = r->outr_head; n != r->outr_tail; n++) {
		struct outbound_read *o = outr_at(r, n);

		if (h->stag == o->stag && h->to - o->to < o->size)
			return o;
	}
	return outr_at(r, r->outr_head);
}

/* Before anything of a Read Response is placed: asked for, to that sink, within what was asked. */
static int check_response(struct iw_rdmap *r, const struct iw_ddp *h, size_t len, bool in_order, struct outbound_read **out, struct iw_fault *why)
{
	struct outbound_read *o = find_read(r, h, len, in_order);
	uint64_t at;

	*out = o;
	if (o == NULL)
		return iw_fail(why, IW_E_RO_OPCODE, "rdmap: Read Response to STag %x: no RDMA Read is outstanding", h->stag);
	if (len == 0)
		return 0; /* STag and TO of a zero-length segment are not checked (RFC 5041 5.2); the total is, on delivery */
	if (h->stag != o->stag)
		return iw_fail(why, IW_E_DDP_STAG, "rdmap: Read Response to STag %x: the oldest RDMA Read has STag %x", h->stag, o->stag);
	at = h->to - o->to;
	if (in_order ? at != o->got : at >= o->size)
		return iw_fail(why, IW_E_DDP_BOUNDS, "rdmap: Read Response at TO %X: expected %X", h->to, o->to + o->got);
	if (len > o->size - at || o->got + len > o->size)
		return iw_fail(why, IW_E_DDP_BOUNDS, "rdmap: Read Response with %U octets at TO %X: %u were asked for at TO %X", (uint64_t)len, h->to,
			       o->size, o->to);
	return 0;
}

static int deliver_all(struct iw_rdmap *r, uint64_t now, struct iw_fault *why)
{
	struct iw_ddp_msg m;
	int err;

	while ((err = iw_ddp_deliver(r->ddp, &m, why)) > 0) {
		err = rows[m.opcode].deliver(r, &m, now, why);
		if (err == IW_E_PEER_TERMINATE)
			return err;
		if (err < 0) {
			const struct iw_rreq *q = m.opcode == IW_OP_RREQ ? &in_at(r, (uint32_t)m.cookie)->rreq : NULL;

			iw_rdmap_local_fault(r, why, &m.last, iw_ddp_hdr_len(m.tagged) + m.last_len, q);
			return err;
		}
	}
	return err;
}

static int receive(struct iw_rdmap *r, bool in_order, uint64_t seq, const uint8_t *ulpdu, size_t len, uint64_t now, struct iw_fault *why)
{
	struct outbound_read *o = NULL;
	struct iw_ddp h;
	int hdr, err;
	bool swallowed = false;

	if (r->state != IW_RDMAP_RTS && r->state != IW_RDMAP_CLOSING)
		return 0; /* RFC 5041 7.1: behind an error everything is dropped in silence */
	hdr = iw_ddp_decode(&h, ulpdu, len);
	if (hdr <= 0) {
		err = iw_fail(why, IW_E_DDP_LOCAL, "ddp: segment of %U octets: shorter than its header", (uint64_t)len);
		iw_rdmap_local_fault(r, why, NULL, 0, NULL);
		return err;
	}
	ulpdu += hdr;
	len -= (size_t)hdr;
	err = judge(r, &h, len, now, why);
	if (err == 0 && iw_unlikely(r->rtr_expected))
		err = first_frame(r, &h, len, &swallowed, why);
	if (swallowed)
		return 0;
	if (err == 0 && h.opcode == IW_OP_RRESP)
		err = check_response(r, &h, len, in_order, &o, why);
	if (err == 0 && in_order)
		err = iw_ddp_in_order(r->ddp, &h, len, why);
	if (err == 0)
		err = iw_ddp_place(r->ddp, &h, ulpdu, len, rows[h.opcode].right, now, why);
	if (err == 0) {
		if (o != NULL)
			o->got += len;
		err = iw_ddp_arrive(r->ddp, in_order ? iw_ddp_next_seq(r->ddp) : seq, &h, len, why);
	}
	if (err < 0) {
		iw_rdmap_local_fault(r, why, &h, len + (size_t)hdr, NULL);
		return err;
	}
	return deliver_all(r, now, why);
}

int iw_rdmap_receive(struct iw_rdmap *r, const uint8_t *ulpdu, size_t len, uint64_t now, struct iw_fault *why)
{
	return receive(r, true, 0, ulpdu, len, now, why);
}

int iw_rdmap_receive_seq(struct iw_rdmap *r, uint64_t seq, const uint8_t *ulpdu, size_t len, uint64_t now, struct iw_fault *why)
{
	return receive(r, false, seq, ulpdu, len, now, why);
}
