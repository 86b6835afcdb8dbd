// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Negotiation of IRD, ORD and RTR (RFC 6581 9). */
#include "agree/agree.h"

#include "util/num.h"
#include "util/text.h"

/* --- offers ----------------------------------------------------------------------------------- */

int iw_offer_check_depth(const char *layer, const char *name, uint16_t depth, struct iw_fault *why)
{
	if (depth <= IW_MPA_IRD_ORD_MAX)
		return 0;
	return iw_fail(why, IW_E_INVAL, "%s: %s %u: expected at most %u (RFC 6581 9)", layer, name,
		       (uint32_t)depth, (uint32_t)IW_MPA_IRD_ORD_MAX);
}

int iw_offer_check(const struct iw_offer *o, const char *layer, struct iw_fault *why)
{
	int err = iw_offer_check_depth(layer, "IRD", o->ird, why);

	if (err == 0)
		err = iw_offer_check_depth(layer, "ORD", o->ord, why);
	if (err == 0)
		err = iw_offer_check_depth(layer, "largest IRD", o->ird_max, why);
	if (err < 0)
		return err;
	if (o->rtr & ~IW_RTR_ALL)
		return iw_fail(why, IW_E_INVAL,
			       "%s: RTR set %b: expected a sum of Send (1), Write (2) and Read (4)",
			       layer, (uint32_t)o->rtr);
	return 0;
}

bool iw_offer_is_enhanced(const struct iw_offer *o)
{
	return o->peer_to_peer || o->ird != IW_MPA_IRD_ORD_MAX || o->ord != IW_MPA_IRD_ORD_MAX;
}

struct iw_mpa_enhanced iw_offer_request(const struct iw_offer *o)
{
	struct iw_mpa_enhanced e = {
		.peer_to_peer = o->peer_to_peer,
		.ird = o->ird,
		.ord = o->ord,
	};

	/* RFC 6581 9.2: if flag A is 0, flags B, C and D are 0. */
	if (o->peer_to_peer)
		iw_agree_put_rtr(&e, o->rtr);
	return e;
}

/* --- RTR -------------------------------------------------------------------------------------- */

uint8_t iw_agree_get_rtr(const struct iw_mpa_enhanced *e)
{
	return (uint8_t)((e->rtr_send ? IW_RTR_SEND : 0) | (e->rtr_write ? IW_RTR_WRITE : 0) |
			 (e->rtr_read ? IW_RTR_READ : 0));
}

void iw_agree_put_rtr(struct iw_mpa_enhanced *e, uint8_t rtr)
{
	e->rtr_send = rtr & IW_RTR_SEND;
	e->rtr_write = rtr & IW_RTR_WRITE;
	e->rtr_read = rtr & IW_RTR_READ;
}

uint8_t iw_agreed_rtr_form(uint8_t set)
{
	if (set & IW_RTR_WRITE)
		return IW_RTR_WRITE;
	if (set & IW_RTR_READ)
		return IW_RTR_READ;
	return set;
}

uint8_t iw_agreed_rtr(uint8_t requested, uint8_t ours)
{
	return requested & ours ? requested & ours : ours;
}

/* --- the responder ---------------------------------------------------------------------------- */

/* RFC 6581 9.1: 0x3fff (not negotiated) in the Request is answered with 0x3fff. */
static uint16_t mirrored(uint16_t requested, uint16_t ours)
{
	return requested == IW_MPA_IRD_ORD_MAX ? IW_MPA_IRD_ORD_MAX : ours;
}

static uint16_t ord_within(uint16_t ord, uint16_t peer_ird)
{
	return peer_ird == IW_MPA_IRD_ORD_MAX ? ord : IW_MIN(ord, peer_ird);
}

static struct iw_mpa_enhanced reply_of(const struct iw_agreed *a, uint16_t ird, uint16_t ord)
{
	struct iw_mpa_enhanced e = {
		.peer_to_peer = a->peer_to_peer,
		.ird = mirrored(a->peer_ord, ird),
		.ord = mirrored(a->peer_ird, ord),
	};

	iw_agree_put_rtr(&e, a->rtr);
	return e;
}

struct iw_mpa_enhanced iw_agreed_accept(struct iw_agreed *a, uint16_t ird, uint16_t ord)
{
	/* RFC 6581 9.1: a Read as RTR needs an IRD of 1, even if the ULP accepts no Reads. */
	a->ird = a->rtr & IW_RTR_READ ? IW_MAX(ird, (uint16_t)1) : ird;
	a->ord = ord_within(ord, a->peer_ird);
	return reply_of(a, a->ird, a->ord);
}

struct iw_mpa_enhanced iw_agreed_reject(const struct iw_agreed *a, uint16_t ird, uint16_t ord)
{
	return reply_of(a, ird, ord_within(ord, a->peer_ird));
}

/* --- the initiator ---------------------------------------------------------------------------- */

/* RFC 6581 9.1: ORD at most the responder's IRD, IRD at least the responder's ORD. */
static int fit_depths(struct iw_agreed *a, const struct iw_offer *o,
		      const struct iw_mpa_enhanced *e, const struct iw_agree_words *w,
		      struct iw_fault *why)
{
	a->ord = ord_within(a->ord, e->ird);
	if (e->ord == IW_MPA_IRD_ORD_MAX || e->ord <= a->ird)
		return 0;
	if (e->ord > o->ird_max)
		return iw_fail(
			why, IW_E_MPA_IRD,
			"%s: the responder's ORD is %u: above the local IRD %u, which can be raised to at most %u",
			w->layer, (uint32_t)e->ord, (uint32_t)a->ird,
			(uint32_t)IW_MAX(o->ird_max, a->ird));
	a->ird = e->ord;
	return 0;
}

static const char *model(bool peer_to_peer)
{
	return peer_to_peer ? "peer-to-peer" : "client-server";
}

/* RFC 6581 9.2: the Reply has the requested model, and a form of RTR that this end can send. */
static int fit_rtr(struct iw_agreed *a, const struct iw_offer *o, const struct iw_mpa_enhanced *e,
		   const struct iw_agree_words *w, struct iw_fault *why)
{
	if (e->peer_to_peer != o->peer_to_peer)
		return iw_fail(why, IW_E_MPA_RTR, "%s: the %s has the %s model, the %s has %s",
			       w->layer, w->request, model(o->peer_to_peer), w->reply,
			       model(e->peer_to_peer));
	a->peer_to_peer = e->peer_to_peer;
	if (!e->peer_to_peer)
		return 0;
	a->rtr = iw_agree_get_rtr(e) & o->rtr;
	/*
	 * A Read as RTR needs an IRD of at least 1 at the responder, and an ORD of at least 1 here
	 * (RFC 6581 9.1).
	 */
	if (e->ird == 0)
		a->rtr &= (uint8_t)~IW_RTR_READ;
	if (a->rtr & IW_RTR_READ)
		a->ord = IW_MAX(a->ord, (uint16_t)1);
	if (a->rtr)
		return 0;
	return iw_fail(
		why, IW_E_MPA_RTR,
		"%s: no common RTR: the %s has %b, this end %b, the IRD of the %s is %u (Send 1, Write 2, Read 4)",
		w->layer, w->reply, (uint32_t)iw_agree_get_rtr(e), (uint32_t)o->rtr, w->reply,
		(uint32_t)e->ird);
}

int iw_agreed_take_reply(struct iw_agreed *a, const struct iw_offer *o,
			 const struct iw_mpa_enhanced *e, const struct iw_agree_words *w,
			 struct iw_fault *why)
{
	int err = fit_depths(a, o, e, w, why);

	return err ? err : fit_rtr(a, o, e, w, why);
}
