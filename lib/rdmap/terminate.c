// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Terminate, sent and received (RFC 5040 4.8, 5.4, 7). */
#include "rdmap/rdmap.h"

#include <assert.h>

#include "rdmap/internal.h"

/*
 * RFC 5040 figure 10: the headers that each error includes. All errors of RDMAP and DDP except
 * local catastrophic ones include the DDP header, protection errors also the Read Request.
 */
static void attach_headers(struct iw_terminate *t, const struct iw_ddp *h, size_t seg_len,
			   const struct iw_rreq *rreq)
{
	int n;

	if (h == NULL || t->layer > 1 || t->etype == 0)
		return;
	n = iw_wire_ddp_encode(t->ddp, sizeof(t->ddp), h);
	assert(n > 0);
	t->ddp_hdr_len = (uint8_t)n;
	t->d = t->m = true;
	t->ddp_len = (uint16_t)IW_MIN(seg_len, (size_t)UINT16_MAX);
	if (t->layer == 0 && t->etype == 1 && rreq != NULL) {
		t->r = t->has_rreq = true;
		t->rreq = *rreq;
	}
}

/*
 * The error that the peer gets. For an STag of another protection domain or stream, that is the
 * code of an STag that is not registered: with their own codes (RFC 5041 7.2, RFC 5040 figure 9) a
 * peer could search for the STags of others. The local fault shows the difference (RFC 5041 8.2).
 */
static uint32_t term_for_peer(int err)
{
	switch (err) {
	case IW_E_DDP_ASSOC:
		return iw_err_term(IW_E_DDP_STAG);
	case IW_E_RP_ASSOC:
		return iw_err_term(IW_E_RP_STAG);
	default:
		return iw_err_term(err);
	}
}

void iw_rdmap_local_fault(struct iw_rdmap *r, struct iw_fault *why, const struct iw_ddp *h,
			  size_t seg_len, const struct iw_rreq *rreq)
{
	uint32_t term = term_for_peer(why->err);

	if (r->fault.err != 0 || r->state == IW_RDMAP_CLOSED)
		return; /* only the first error is reported (RFC 5040 7.1) */
	why->term = term;
	r->fault = *why;
	iw_rdmap_start_flush(r, why->err);
	iw_rdmap_set_state(r, IW_RDMAP_TERMINATING);
	if (term == IW_NOTERM || !r->started)
		return;
	r->term.layer = IW_TERM_LAYER(term);
	r->term.etype = IW_TERM_ETYPE(term);
	r->term.code = IW_TERM_CODE(term);
	attach_headers(&r->term, h, seg_len, rreq);
	r->term_out.hdr = (struct iw_ddp){
		.rv = r->params.dv,
		.opcode = IW_OP_TERM,
		.qn = IW_QN_TERM,
	};
	r->term_pending = true;
}

void iw_rdmap_fail(struct iw_rdmap *r, const struct iw_fault *why)
{
	struct iw_fault own = *why;

	iw_rdmap_local_fault(r, &own, NULL, 0, NULL);
}

bool iw_rdmap_terminate_due(const struct iw_rdmap *r)
{
	return r->state == IW_RDMAP_TERMINATING && r->term_pending && !r->term_sent;
}

/* RFC 5040 5.4: a Terminate is not answered, and nothing is sent after it. */
void iw_rdmap_peer_terminate(struct iw_rdmap *r, const struct iw_ddp_msg *m, struct iw_fault *why)
{
	struct iw_terminate t, meant;
	struct iw_text text;
	char said[sizeof(why->text)];
	bool siw;

	if (iw_terminate_decode(&t, m->base, m->len) > 0) {
		siw = iw_terminate_decode_siw(&meant, &t, m->base, m->len);
		t = siw ? meant : t;
		iw_text_init(&text, said, sizeof(said));
		iw_terminate_print(&text, &t);
		iw_fail(why, IW_E_PEER_TERMINATE, "rdmap: the peer%s sent %s",
			siw ? " (siw: layer and type exchanged)" : "", said);
		why->term = IW_TERM(t.layer, t.etype, t.code);
	} else {
		iw_fail(why, IW_E_PEER_TERMINATE,
			"rdmap: the peer sent a Terminate of %U octets: expected at least %u",
			m->len, (uint32_t)IW_RDMAP_TERM_MIN);
	}
	why->from_peer = true;
	r->fault = *why;
	iw_rdmap_start_flush(r, IW_E_PEER_TERMINATE);
	iw_rdmap_set_state(r, IW_RDMAP_TERMINATED);
}
