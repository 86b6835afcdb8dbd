// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What Initiate and Accept agree on: Private Data, and with the enhanced forms IRD, ORD and RTR (RFC
 * 6581 7 and 9).
 */
#include "sctpmap/session.h"

#include <string.h>

#include "sctpmap/internal.h"
#include "wire/mpa.h"

_Static_assert(IW_DSS_ENHANCED_LEN == IW_MPA_ENHANCED_LEN, "the same 32 bits (RFC 6581 9)");
_Static_assert(IW_DSS_DEPTH_MAX == IW_MPA_IRD_ORD_MAX, "the same depths (RFC 6581 9)");

static int check_depth(const char *name, uint16_t depth, struct iw_fault *why)
{
	if (depth <= IW_DSS_DEPTH_MAX)
		return 0;
	return iw_fail(why, IW_E_INVAL, "sctp: %s %u: expected at most %u (RFC 6581 9)", name,
		       (uint32_t)depth, (uint32_t)IW_DSS_DEPTH_MAX);
}

static int check_pd(size_t len, bool enhanced, struct iw_fault *why)
{
	size_t max = IW_SCTP_PD_MAX - (enhanced ? IW_DSS_ENHANCED_LEN : 0);

	if (len <= max)
		return 0;
	return iw_fail(why, IW_E_INVAL, "sctp: Private Data of %U octets: expected at most %U",
		       (uint64_t)len, (uint64_t)max);
}

/* A Send as RTR needs its LLP to keep order: see session.h. */
static uint8_t rtr_of(const struct iw_dss_offer *o)
{
	return o->rtr & (IW_DSS_RTR_WRITE | IW_DSS_RTR_READ);
}

int iw_dss_check_offer(const struct iw_dss_offer *o, bool active, struct iw_fault *why)
{
	int err = check_depth("IRD", o->ird, why);

	if (err == 0)
		err = check_depth("ORD", o->ord, why);
	if (err == 0)
		err = check_depth("largest IRD", o->ird_max, why);
	if (err < 0 || !active)
		return err;
	if (o->peer_to_peer && (!o->enhanced || rtr_of(o) == 0))
		return iw_fail(
			why, IW_E_INVAL,
			"sctp: peer-to-peer needs an enhanced session and a Write or Read as RTR");
	return check_pd(o->pd_len, o->enhanced, why);
}

static void set_rtr(struct iw_mpa_enhanced *e, uint8_t rtr)
{
	e->rtr_send = rtr & IW_DSS_RTR_SEND;
	e->rtr_write = rtr & IW_DSS_RTR_WRITE;
	e->rtr_read = rtr & IW_DSS_RTR_READ;
}

static uint8_t get_rtr(const struct iw_mpa_enhanced *e)
{
	return (uint8_t)((e->rtr_send ? IW_DSS_RTR_SEND : 0) |
			 (e->rtr_write ? IW_DSS_RTR_WRITE : 0) |
			 (e->rtr_read ? IW_DSS_RTR_READ : 0));
}

/* e may be NULL. The lengths were checked. */
static size_t put_pd(struct iw_dss *s, const struct iw_mpa_enhanced *e, const uint8_t *pd,
		     size_t pd_len)
{
	uint8_t *p = iw_dss_pd_space(s);
	size_t n = 0;

	if (e)
		n = (size_t)iw_wire_mpa_enhanced_encode(p, IW_DSS_ENHANCED_LEN, e);
	if (pd_len)
		memcpy(p + n, pd, pd_len);
	return n + pd_len;
}

void iw_dss_build_initiate(struct iw_dss *s)
{
	const struct iw_dss_offer *o = &s->talk->offer;
	struct iw_mpa_enhanced e = {
		.peer_to_peer = o->peer_to_peer,
		.ird = o->ird,
		.ord = o->ord,
	};

	/* RFC 6581 9.2: with A = 0, B, C and D are 0 as well. */
	if (o->peer_to_peer)
		set_rtr(&e, rtr_of(o));
	s->talk->params.enhanced = o->enhanced;
	s->talk->params.ird = o->ird;
	s->talk->params.ord = o->ord;
	iw_dss_say(s, o->enhanced ? IW_SCTP_FN_ENH_INITIATE : IW_SCTP_FN_INITIATE,
		   put_pd(s, o->enhanced ? &e : NULL, o->pd, o->pd_len));
}

/* The peer's Private Data behind the enhanced data. */
static void take_pd(struct iw_dss *s, const struct iw_sctp_control *c, bool enhanced,
		    struct iw_mpa_enhanced *e)
{
	struct iw_dss_params *p = &s->talk->params;
	size_t skip = 0;

	if (enhanced && iw_wire_mpa_enhanced_decode(e, c->pd, c->pd_len) > 0) {
		skip = IW_DSS_ENHANCED_LEN;
		p->peer_ird = e->ird;
		p->peer_ord = e->ord;
	}
	p->pd_len = c->pd_len - skip;
	if (p->pd_len)
		memcpy(p->pd, c->pd + skip, p->pd_len);
}

void iw_dss_take_initiate(struct iw_dss *s, const struct iw_sctp_control *c)
{
	struct iw_mpa_enhanced e = { 0 };

	s->talk->params.enhanced = c->fn == IW_SCTP_FN_ENH_INITIATE;
	take_pd(s, c, s->talk->params.enhanced, &e);
	s->talk->params.peer_to_peer = e.peer_to_peer;
	s->talk->params.rtr = get_rtr(&e);
}

/* RFC 6581 9.1: what is not to be negotiated is mirrored as such. */
static uint16_t mirrored(uint16_t asked, uint16_t ours)
{
	return asked == IW_DSS_DEPTH_MAX ? IW_DSS_DEPTH_MAX : ours;
}

static uint16_t ord_within(uint16_t ord, uint16_t peer_ird)
{
	return peer_ird == IW_DSS_DEPTH_MAX ? ord : IW_MIN(ord, peer_ird);
}

int iw_dss_build_accept(struct iw_dss *s, const struct iw_dss_offer *o, struct iw_fault *why)
{
	struct iw_dss_params *p = &s->talk->params;
	struct iw_mpa_enhanced e = { .peer_to_peer = p->peer_to_peer };
	int err = check_pd(o->pd_len, p->enhanced, why);

	if (err < 0)
		return err;
	p->ird = o->ird;
	p->ord = o->ord;
	if (p->enhanced) {
		/* RFC 6581 9.2: the forms both support; if there is none, those of this end. */
		if (p->peer_to_peer)
			p->rtr = p->rtr & rtr_of(o) ? p->rtr & rtr_of(o) : rtr_of(o);
		/* 9.1: a Read that says "ready to receive" takes a place. */
		if (p->rtr & IW_DSS_RTR_READ)
			p->ird = IW_MAX(p->ird, (uint16_t)1);
		p->ord = ord_within(p->ord, p->peer_ird);
		e.ird = mirrored(p->peer_ord, p->ird);
		e.ord = mirrored(p->peer_ird, p->ord);
		set_rtr(&e, p->rtr);
	}
	iw_dss_say(s, p->enhanced ? IW_SCTP_FN_ENH_ACCEPT : IW_SCTP_FN_ACCEPT,
		   put_pd(s, p->enhanced ? &e : NULL, o->pd, o->pd_len));
	return 0;
}

/* RFC 6581 9: the enhanced data is in Initiate and Accept alone. */
int iw_dss_build_reject(struct iw_dss *s, const uint8_t *pd, size_t pd_len, struct iw_fault *why)
{
	int err = check_pd(pd_len, false, why);

	if (err < 0)
		return err;
	iw_dss_say(s, s->talk->params.enhanced ? IW_SCTP_FN_ENH_REJECT : IW_SCTP_FN_REJECT,
		   put_pd(s, NULL, pd, pd_len));
	return 0;
}

void iw_dss_take_reject(struct iw_dss *s, const struct iw_sctp_control *c)
{
	take_pd(s, c, false, NULL);
}

/* RFC 6581 9.1, the initiator's part: ORD at most the responder's IRD, IRD at least its ORD. */
static int fit_depths(struct iw_dss *s, const struct iw_mpa_enhanced *e, struct iw_fault *why)
{
	struct iw_dss_params *p = &s->talk->params;

	p->ord = ord_within(p->ord, e->ird);
	if (e->ord == IW_DSS_DEPTH_MAX || e->ord <= p->ird)
		return 0;
	if (e->ord > s->talk->offer.ird_max)
		return iw_fail(
			why, IW_E_MPA_IRD,
			"sctp: the responder's ORD is %u: above the local IRD %u, which can be raised to at most %u",
			(uint32_t)e->ord, (uint32_t)p->ird,
			(uint32_t)IW_MAX(s->talk->offer.ird_max, p->ird));
	p->ird = e->ord;
	return 0;
}

/* RFC 6581 9.2, the initiator's part. */
static int fit_rtr(struct iw_dss *s, const struct iw_mpa_enhanced *e, struct iw_fault *why)
{
	struct iw_dss_params *p = &s->talk->params;

	if (e->peer_to_peer != s->talk->offer.peer_to_peer)
		return iw_fail(why, IW_E_MPA_RTR,
			       "sctp: the Initiate has the %s model, the Accept has %s",
			       s->talk->offer.peer_to_peer ? "peer-to-peer" : "client-server",
			       e->peer_to_peer ? "peer-to-peer" : "client-server");
	p->peer_to_peer = e->peer_to_peer;
	if (!e->peer_to_peer)
		return 0;
	p->rtr = get_rtr(e) & rtr_of(&s->talk->offer);
	/* A Read needs a place at the responder, and one of ours to count it (RFC 6581 9.1). */
	if (e->ird == 0)
		p->rtr &= (uint8_t)~IW_DSS_RTR_READ;
	if (p->rtr & IW_DSS_RTR_READ)
		p->ord = IW_MAX(p->ord, (uint16_t)1);
	if (p->rtr)
		return 0;
	return iw_fail(
		why, IW_E_MPA_RTR,
		"sctp: no common RTR: the Accept has %b, this end %b, the IRD of the Accept is %u (Write 2, Read 4)",
		(uint32_t)get_rtr(e), (uint32_t)rtr_of(&s->talk->offer), (uint32_t)e->ird);
}

int iw_dss_take_accept(struct iw_dss *s, const struct iw_sctp_control *c, struct iw_fault *why)
{
	struct iw_mpa_enhanced e = { 0 };
	int err;

	take_pd(s, c, s->talk->offer.enhanced, &e);
	if (!s->talk->offer.enhanced)
		return 0;
	err = fit_depths(s, &e, why);
	if (err == 0)
		err = fit_rtr(s, &e, why);
	return err;
}
