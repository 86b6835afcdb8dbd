// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Terminate: what ends a stream, told to the peer and understood from it (RFC 5040 4.8, 5.4, 7). */
#include "rdmap/rdmap.h"

#include <string.h>

#include "rdmap/internal.h"

/* RFC 5040 figure 10: which headers travel with which error. */
static void attach_headers(struct iw_terminate *t, const struct iw_ddp *h, size_t seg_len, const struct iw_rreq *rreq)
{
	bool ddp_hdr = t->layer == 1 || (t->layer == 0 && t->etype != 0);
	bool rdma_hdr = t->layer == 0 && t->etype == 1;
	int n;

	if (!ddp_hdr || h == NULL)
		return;
	n = iw_ddp_encode(t->ddp, sizeof(t->ddp), h);
	if (n < 0)
		return;
	t->ddp_hdr_len = (uint8_t)n;
	t->d = t->m = true;
	t->ddp_len = (uint16_t)IW_MIN(seg_len, UINT16_MAX);
	if (rdma_hdr && rreq != NULL) {
		t->r = t->has_rreq = true;
		t->rreq = *rreq;
	}
}

void iw_rdmap_local_fault(struct iw_rdmap *r, const struct iw_fault *why, const struct iw_ddp *h, size_t seg_len, const struct iw_rreq *rreq)
{
	uint32_t term = iw_err_term(why->err);

	if (r->fault.err != 0)
		return; /* the first error is the one reported (RFC 5040 7.1) */
	r->fault = *why;
	r->fault.term = term;
	iw_rdmap_start_flush(r, why->err);
	if (r->state == IW_RDMAP_CLOSED || r->state == IW_RDMAP_TERMINATED)
		return;
	iw_rdmap_set_state(r, IW_RDMAP_TERMINATING);
	if (term == IW_NOTERM || !r->started)
		return;
	r->term.layer = IW_TERM_LAYER(term);
	r->term.etype = IW_TERM_ETYPE(term);
	r->term.code = IW_TERM_CODE(term);
	attach_headers(&r->term, h, seg_len, rreq);
	r->term_out.hdr = (struct iw_ddp){
		.dv = r->params.dv, .rv = r->params.dv, .opcode = IW_OP_TERM, .qn = IW_QN_TERM,
	};
	r->term_pending = true;
}

void iw_rdmap_fail(struct iw_rdmap *r, const struct iw_fault *why)
{
	iw_rdmap_local_fault(r, why, NULL, 0, NULL);
}

bool iw_rdmap_terminate_sent(const struct iw_rdmap *r)
{
	return r->term_sent;
}

bool iw_rdmap_terminate_due(const struct iw_rdmap *r)
{
	return r->term_pending && !r->term_sent;
}

void iw_rdmap_peer_terminate(struct iw_rdmap *r, const struct iw_ddp_msg *m, struct iw_fault *why)
{
	struct iw_terminate t;
	struct iw_text text;
	uint32_t term;

	if (iw_terminate_decode(&t, m->base, m->len) <= 0) {
		iw_fail(why, IW_E_PEER_TERMINATE, "rdmap: the peer sent a Terminate of %U octets: expected at least %u", m->len,
			IW_RDMAP_TERM_MIN);
		why->from_peer = true;
	} else {
		term = IW_TERM(t.layer, t.etype, t.code);
		iw_fail(why, IW_E_PEER_TERMINATE, "%s", "");
		iw_text_init(&text, why->text, sizeof(why->text));
		iw_text_str(&text, "rdmap: the peer sent ");
		iw_terminate_print(&text, &t);
		why->term = term;
		why->from_peer = true;
	}
	if (r->fault.err == 0)
		r->fault = *why;
	iw_rdmap_start_flush(r, IW_E_PEER_TERMINATE);
	r->term_pending = false; /* RFC 5040 5.4: the receiver of a Terminate need not send one */
	r->cur = TX_NONE;
	iw_rdmap_set_state(r, IW_RDMAP_TERMINATED);
}
