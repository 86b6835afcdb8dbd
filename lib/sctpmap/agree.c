// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Negotiation by Initiate and Accept: Private Data, and in the enhanced forms IRD, ORD and RTR (RFC
 * 6581 7 and 9).
 */
#include "sctpmap/session.h"

#include <assert.h>
#include <string.h>

#include "sctpmap/internal.h"
#include "wire/mpa.h"

_Static_assert(IW_DSS_ENHANCED_LEN == IW_MPA_ENHANCED_LEN, "the same 32 bits (RFC 6581 9)");
_Static_assert(IW_SCTP_PD_MAX <= IW_AGREED_PD_MAX, "Private Data fits");

static const struct iw_agree_words words = { "sctp", "Initiate", "Accept" };

static int check_pd(size_t len, bool enhanced, struct iw_fault *why)
{
	size_t max = IW_SCTP_PD_MAX - (enhanced ? IW_DSS_ENHANCED_LEN : 0);

	if (len <= max)
		return 0;
	return iw_fail(why, IW_E_INVAL, "sctp: Private Data of %U octets: expected at most %U",
		       (uint64_t)len, (uint64_t)max);
}

/* The forms of RTR without Send, which needs an LLP that keeps the order: see iw_dss_initiate. */
static uint8_t rtr_of(const struct iw_offer *o)
{
	return o->rtr & (IW_RTR_WRITE | IW_RTR_READ);
}

int iw_dss_check_offer(const struct iw_offer *o, bool active, struct iw_fault *why)
{
	int err = iw_offer_check(o, words.layer, why);

	if (err < 0 || !active)
		return err;
	if (o->peer_to_peer && (!o->enhanced || rtr_of(o) == 0))
		return iw_fail(
			why, IW_E_INVAL,
			"sctp: peer-to-peer needs an enhanced session and a Write or Read as RTR");
	return check_pd(o->pd_len, o->enhanced, why);
}

size_t iw_dss_encode_head(const struct iw_dss *s, uint8_t *to, size_t size, enum iw_sctp_fn fn)
{
	struct iw_sctp_control c = { .ssn = (uint16_t)(s->a->profile->first_ssn + s->tx_next),
				     .fn = (uint16_t)fn };
	int head = iw_wire_sctp_control_encode(to, size, &c);

	assert(head > 0);
	return (size_t)head;
}

static uint8_t *pd_space(struct iw_dss *s)
{
	return s->setup->out + IW_SCTPMAP_CONTROL_MAX - IW_SCTP_PD_MAX;
}

static void set_out(struct iw_dss *s, enum iw_sctp_fn fn, size_t pd_len)
{
	s->out_len = iw_dss_encode_head(s, s->setup->out, sizeof(s->setup->out), fn) + pd_len;
}

/* A session has no revision: 2 means an enhanced session, 1 one of RFC 5043. */
static void set_rev(struct iw_agreed *a, bool enhanced)
{
	a->enhanced = enhanced;
	a->rev = a->peer_rev = enhanced ? 2 : 1;
	a->crc = true; /* SCTP's CRC32c cannot be switched off */
	a->dv = 1;
}

/*
 * Writes the enhanced data (e may be NULL) and the Private Data. The caller has checked the
 * lengths.
 */
static size_t put_pd(struct iw_dss *s, const struct iw_mpa_enhanced *e, const uint8_t *pd,
		     size_t pd_len)
{
	uint8_t *p = pd_space(s);
	size_t n = 0;

	if (e)
		n = (size_t)iw_wire_mpa_enhanced_encode(p, IW_DSS_ENHANCED_LEN, e);
	if (pd_len)
		memcpy(p + n, pd, pd_len);
	return n + pd_len;
}

void iw_dss_build_initiate(struct iw_dss *s, const struct iw_offer *o)
{
	struct setup *t = s->setup;
	struct iw_mpa_enhanced e;

	t->offer = *o;
	t->offer.pd = NULL;
	t->offer.rtr = rtr_of(o);
	set_rev(&t->agreed, o->enhanced);
	t->agreed.ird = o->ird;
	t->agreed.ord = o->ord;
	e = iw_offer_request(&t->offer);
	set_out(s, o->enhanced ? IW_SCTP_FN_ENH_INITIATE : IW_SCTP_FN_INITIATE,
		put_pd(s, o->enhanced ? &e : NULL, o->pd, o->pd_len));
}

/* Copies the peer's IRD and ORD, and the Private Data after the enhanced data. */
static void take_pd(struct iw_dss *s, const struct iw_sctp_control *c, bool enhanced,
		    struct iw_mpa_enhanced *e)
{
	struct iw_agreed *p = &s->setup->agreed;
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

	set_rev(&s->setup->agreed, c->fn == IW_SCTP_FN_ENH_INITIATE);
	take_pd(s, c, s->setup->agreed.enhanced, &e);
	s->setup->agreed.peer_to_peer = e.peer_to_peer;
	/* RFC 6581 9.2: B, C and D are ignored without A. */
	s->setup->agreed.rtr = e.peer_to_peer ? iw_agree_get_rtr(&e) : 0;
}

int iw_dss_build_accept(struct iw_dss *s, const struct iw_offer *o, struct iw_fault *why)
{
	struct iw_agreed *p = &s->setup->agreed;
	struct iw_mpa_enhanced e;
	int err = check_pd(o->pd_len, p->enhanced, why);

	if (err < 0)
		return err;
	p->ird = o->ird;
	p->ord = o->ord;
	if (p->enhanced) {
		if (p->peer_to_peer)
			p->rtr = iw_agreed_rtr(p->rtr, rtr_of(o));
		e = iw_agreed_accept(p, o->ird, o->ord);
	}
	set_out(s, p->enhanced ? IW_SCTP_FN_ENH_ACCEPT : IW_SCTP_FN_ACCEPT,
		put_pd(s, p->enhanced ? &e : NULL, o->pd, o->pd_len));
	return 0;
}

/* RFC 6581 9: the enhanced data is in Initiate and Accept alone. */
int iw_dss_build_reject(struct iw_dss *s, const uint8_t *pd, size_t pd_len, struct iw_fault *why)
{
	int err = check_pd(pd_len, false, why);

	if (err < 0)
		return err;
	set_out(s, s->setup->agreed.enhanced ? IW_SCTP_FN_ENH_REJECT : IW_SCTP_FN_REJECT,
		put_pd(s, NULL, pd, pd_len));
	return 0;
}

void iw_dss_take_reject(struct iw_dss *s, const struct iw_sctp_control *c)
{
	take_pd(s, c, false, NULL);
}

int iw_dss_take_accept(struct iw_dss *s, const struct iw_sctp_control *c, struct iw_fault *why)
{
	struct iw_agreed *a = &s->setup->agreed;
	struct iw_mpa_enhanced e = { 0 };

	take_pd(s, c, a->enhanced, &e);
	return a->enhanced ? iw_agreed_take_reply(a, &s->setup->offer, &e, &words, why) : 0;
}
