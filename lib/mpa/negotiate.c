// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Negotiation in Request and Reply: revision, CRC, markers (RFC 5044 7.1.1), peers of the RDMA
 * Consortium (RFC 5044 appendix C), and the library's own block for long ULPDUs. lib/agree has the
 * rules for IRD, ORD and RTR (RFC 6581 9).
 */
#include "mpa/mpa.h"

#include <assert.h>
#include <string.h>

#include "mpa/internal.h"

static const uint8_t block_magic[4] = { 'i', 'w', 'L', 0x01 };

static const struct iw_agree_words words = { "mpa", "Request", "Reply" };

static int check_pd(size_t len, bool enhanced, bool block, struct iw_fault *why)
{
	size_t max = IW_MPA_PD_MAX - (enhanced ? IW_MPA_ENHANCED_LEN : 0) -
		     (block ? IW_MPA_BLOCK_LEN : 0);

	if (len <= max)
		return 0;
	return iw_fail(why, IW_E_INVAL,
		       "mpa: Private Data of %U octets: expected at most %U in this frame",
		       (uint64_t)len, (uint64_t)max);
}

int iw_mpa_check_cfg(const struct iw_mpa_cfg *cfg, struct iw_fault *why)
{
	int ret;

	if (!cfg->spill || cfg->spill->size < IW_MPA_SPILL_LEN)
		return iw_fail(why, IW_E_INVAL, "mpa: spill buffers must hold at least %u octets",
			       (uint32_t)IW_MPA_SPILL_LEN);
	if (cfg->rev > 2 || (cfg->rev == 0 && !cfg->rdmac))
		return iw_fail(why, IW_E_INVAL,
			       "mpa: revision %u: expected 1 or 2, or 0 with profile rdmac",
			       (uint32_t)cfg->rev);
	if (cfg->rev == 0 && cfg->crc == IW_CRC_OFF)
		return iw_fail(why, IW_E_INVAL,
			       "mpa: revision 0 always uses CRC: crc off is not possible");
	if (cfg->offer.peer_to_peer && (cfg->rev < 2 || !cfg->initiator))
		return iw_fail(
			why, IW_E_INVAL,
			"mpa: peer-to-peer: only an initiator with revision 2 can request it");
	/* RFC 6581 9.2: both ends support at least one form. */
	if (cfg->offer.rtr == 0 && (cfg->offer.peer_to_peer || (!cfg->initiator && cfg->rev >= 2)))
		return iw_fail(why, IW_E_INVAL,
			       "mpa: no RTR form: expected at least one (RFC 6581 9.2)");
	ret = iw_offer_check(&cfg->offer, "mpa", why);
	if (ret < 0)
		return ret;
	if (cfg->max_ulpdu &&
	    (cfg->max_ulpdu < IW_MPA_ULPDU_MIN_MAX || cfg->max_ulpdu > IW_MPA_ULPDU_MAX))
		return iw_fail(why, IW_E_INVAL, "mpa: largest ULPDU %u: expected 0 or %u..%u",
			       cfg->max_ulpdu, (uint32_t)IW_MPA_ULPDU_MIN_MAX,
			       (uint32_t)IW_MPA_ULPDU_MAX);
	if (!cfg->initiator)
		return 0;
	return check_pd(cfg->offer.pd_len, cfg->offer.enhanced, cfg->max_ulpdu > 0, why);
}

/* --- frames sent ------------------------------------------------------------------------------ */

/*
 * Encodes the start-up frame with the kind, flags and Rev of f, and its Private Data: enhanced data
 * (e NULL: none), the library's block, the ULP's part. The caller has checked the lengths.
 */
static void build(struct iw_mpa *m, struct iw_mpa_frame f, const struct iw_mpa_enhanced *e,
		  bool block, const uint8_t *pd, size_t pd_len)
{
	uint8_t *start = m->out + IW_MPA_FRAME_LEN, *p = start;

	if (e) {
		f.flags |= IW_MPA_S;
		p += iw_wire_mpa_enhanced_encode(p, IW_MPA_ENHANCED_LEN, e);
	}
	if (block) {
		memcpy(p, block_magic, sizeof(block_magic));
		iw_put_be32(p + sizeof(block_magic), m->cfg.max_ulpdu);
		p += IW_MPA_BLOCK_LEN;
	}
	if (pd_len)
		memcpy(p, pd, pd_len);
	p += pd_len;
	f.pd_len = (uint16_t)(p - start);
	iw_wire_mpa_frame_encode(m->out, sizeof(m->out), &f);
	m->out_len = (size_t)(p - m->out);
	m->out_sent = 0;
}

static uint8_t own_flags(const struct iw_mpa_cfg *cfg)
{
	uint8_t flags = 0;

	/* RFC 5044 C.2.4: revision 0 always uses markers and CRC. */
	if (cfg->markers || cfg->rev == 0)
		flags |= IW_MPA_M;
	if (cfg->crc != IW_CRC_OFF)
		flags |= IW_MPA_C;
	return flags;
}

void iw_mpa_build_request(struct iw_mpa *m, const uint8_t *pd, size_t pd_len)
{
	const struct iw_mpa_cfg *cfg = &m->cfg;
	struct iw_mpa_enhanced e = iw_offer_request(&cfg->offer);

	build(m,
	      (struct iw_mpa_frame){
		      .kind = IW_MPA_REQUEST, .flags = own_flags(cfg), .rev = cfg->rev },
	      m->cfg.offer.enhanced ? &e : NULL, cfg->max_ulpdu > 0, pd, pd_len);
}

static void build_reply(struct iw_mpa *m, uint8_t flags, const struct iw_mpa_enhanced *e,
			bool block, const uint8_t *pd, size_t pd_len)
{
	const struct iw_agreed *p = &m->agreed;

	flags |= own_flags(&m->cfg);
	/*
	 * CRC is in use even if only the peer wants it. The Reply then has C = 1, because some
	 * initiators refuse one with C = 0.
	 */
	if (p->crc)
		flags |= IW_MPA_C;
	if (p->dv == 0)
		flags |= IW_MPA_M;
	build(m, (struct iw_mpa_frame){ .kind = IW_MPA_REPLY, .flags = flags, .rev = p->rev },
	      p->enhanced ? e : NULL, block, pd, pd_len);
}

int iw_mpa_build_accept(struct iw_mpa *m, uint16_t ird, uint16_t ord, const uint8_t *pd,
			size_t pd_len, struct iw_fault *why)
{
	struct iw_agreed *p = &m->agreed;
	struct iw_mpa_enhanced e = { 0 };
	bool block = m->saw_block && m->cfg.max_ulpdu > 0;
	int ret;

	ret = iw_offer_check_depth("mpa", "IRD", ird, why);
	if (ret == 0)
		ret = iw_offer_check_depth("mpa", "ORD", ord, why);
	if (ret == 0)
		ret = check_pd(pd_len, p->enhanced, block, why);
	if (ret < 0)
		return ret;
	p->ird = ird;
	p->ord = ord;
	if (p->enhanced)
		e = iw_agreed_accept(p, ird, ord);
	build_reply(m, 0, &e, block, pd, pd_len);
	return 0;
}

int iw_mpa_build_reject(struct iw_mpa *m, const uint8_t *pd, size_t pd_len, struct iw_fault *why)
{
	const struct iw_agreed *p = &m->agreed;
	struct iw_mpa_enhanced e = iw_agreed_reject(p, m->cfg.offer.ird, m->cfg.offer.ord);
	int ret = check_pd(pd_len, p->enhanced, false, why);

	if (ret < 0)
		return ret;
	build_reply(m, IW_MPA_R, &e, false, pd, pd_len);
	return 0;
}

/* --- frames received -------------------------------------------------------------------------- */

static bool is_enhanced(const struct iw_mpa_frame *f)
{
	/* In Rev 1 the bit is reserved and ignored (RFC 5044 7.1.1). */
	return f->rev >= 2 && f->flags & IW_MPA_S;
}

/* RFC 5044 C.2: an RDMAC peer, Rev 0, sets M and C. */
static int check_rdmac(const struct iw_mpa_frame *f, struct iw_fault *why)
{
	if (f->flags & IW_MPA_M && f->flags & IW_MPA_C)
		return 0;
	return iw_fail(why, IW_E_MPA_FRAME, "mpa: Rev 0 with flags %b: an RDMAC peer sets M and C",
		       (uint32_t)f->flags);
}

static int check_request_rev(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_fault *why)
{
	const struct iw_mpa_cfg *cfg = &m->cfg;

	if (f->rev == 0 && cfg->rdmac)
		return check_rdmac(f, why);
	/*
	 * RFC 5044 C.2.2 and C.2.5: a responder with revision 0 answers Rev 1 with Rev 0. The
	 * initiator decides whether to continue.
	 */
	if (f->rev == 1 && cfg->rev == 0)
		return 0;
	if (f->rev == 0) {
		/*
		 * RFC 5044 C.2.1: a responder without support for Rev 0 sends a Reply with Rev 1,
		 * then closes.
		 */
		build(m,
		      (struct iw_mpa_frame){
			      .kind = IW_MPA_REPLY, .flags = own_flags(cfg) | IW_MPA_R, .rev = 1 },
		      NULL, false, NULL, 0);
		return iw_fail(
			why, IW_E_MPA_FRAME,
			"mpa: the Request has Rev 0 (RDMA Consortium): expected Rev 1 or 2; use profile rdmac for this peer");
	}
	if (f->rev <= cfg->rev)
		return 0;
	if (cfg->rev == 0)
		return iw_fail(why, IW_E_MPA_FRAME,
			       "mpa: the Request has Rev %u: expected Rev 0 (profile rdmac)",
			       (uint32_t)f->rev);
	return iw_fail(why, IW_E_MPA_FRAME, "mpa: the Request has Rev %u: expected at most %u",
		       (uint32_t)f->rev, (uint32_t)cfg->rev);
}

static int check_reply_rev(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_fault *why)
{
	const struct iw_mpa_cfg *cfg = &m->cfg;

	if (f->rev > 2)
		return iw_fail(why, IW_E_MPA_FRAME, "mpa: the Reply has Rev %u: expected at most 2",
			       (uint32_t)f->rev);
	if (f->rev > 0 && cfg->rev == 0)
		return iw_fail(
			why, IW_E_MPA_FRAME,
			"mpa: the Reply has Rev %u: expected Rev 0 (profile rdmac); use profile rfc for this peer",
			(uint32_t)f->rev);
	if (f->rev == 0 && !cfg->rdmac)
		return iw_fail(
			why, IW_E_MPA_FRAME,
			"mpa: the Reply has Rev 0 (RDMA Consortium): expected Rev 1 or 2; use profile rdmac for this peer");
	if (f->rev == 0)
		return check_rdmac(f, why);
	return 0;
}

/* RFC 6581 10: the Reply to an enhanced Request is enhanced, that to an unenhanced one is not. */
static int check_reply_format(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_fault *why)
{
	int ret;

	if (is_enhanced(f) == m->cfg.offer.enhanced)
		return 0;
	m->retry_rev1 = m->cfg.offer.enhanced;
	/* A rejecting Reply may have either format. */
	if (m->cfg.offer.enhanced && f->flags & IW_MPA_R)
		return 0;
	ret = iw_fail(why, IW_E_MPA_FRAME, "mpa: the Request was %s, the Reply (Rev %u) is %s",
		      m->cfg.offer.enhanced ? "enhanced" : "not enhanced", (uint32_t)f->rev,
		      m->cfg.offer.enhanced ? "not" : "enhanced");
	if (why)
		why->clause = "RFC 6581 10";
	return ret;
}

int iw_mpa_check_head(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_fault *why)
{
	const char *kind = m->cfg.initiator ? "Reply" : "Request";
	int ret;

	if (f->pd_len > IW_MPA_PD_MAX)
		return iw_fail(why, IW_E_MPA_FRAME,
			       "mpa: PD_Length of the %s is %u: expected at most %u", kind,
			       (uint32_t)f->pd_len, (uint32_t)IW_MPA_PD_MAX);
	ret = m->cfg.initiator ? check_reply_rev(m, f, why) : check_request_rev(m, f, why);
	if (ret == 0 && is_enhanced(f) && f->pd_len < IW_MPA_ENHANCED_LEN)
		ret = iw_fail(
			why, IW_E_MPA_FRAME,
			"mpa: PD_Length of the enhanced %s is %u: expected at least %u, for IRD and ORD",
			kind, (uint32_t)f->pd_len, (uint32_t)IW_MPA_ENHANCED_LEN);
	if (ret == 0 && m->cfg.initiator)
		ret = check_reply_format(m, f, why);
	return ret;
}

/*
 * Evaluates the Private Data after the enhanced data: the library's block, if the frame may have
 * one, and the ULP's part. Returns true if there was a block.
 */
static bool take_pd(struct iw_mpa *m, const struct iw_mpa_frame *f, bool may_have_block)
{
	struct iw_agreed *p = &m->agreed;
	const uint8_t *pd = f->pd;
	size_t len = f->pd_len;
	bool block;

	if (p->enhanced) {
		pd += IW_MPA_ENHANCED_LEN;
		len -= IW_MPA_ENHANCED_LEN;
	}
	block = may_have_block && len >= IW_MPA_BLOCK_LEN &&
		memcmp(pd, block_magic, sizeof(block_magic)) == 0;
	if (block) {
		p->peer_max_ulpdu = iw_get_be32(pd + sizeof(block_magic));
		pd += IW_MPA_BLOCK_LEN;
		len -= IW_MPA_BLOCK_LEN;
	}
	memcpy(p->pd, pd, len);
	p->pd_len = len;
	return block;
}

/*
 * Evaluates the fields that Request and Reply have in common. Returns the enhanced data; all zero
 * if the frame is not enhanced.
 */
static struct iw_mpa_enhanced take_common(struct iw_mpa *m, const struct iw_mpa_frame *f)
{
	struct iw_agreed *p = &m->agreed;
	struct iw_mpa_enhanced e = { 0 };
	uint8_t ours = own_flags(&m->cfg);

	p->peer_rev = f->rev;
	p->rev = IW_MIN(m->cfg.rev, f->rev);
	/*
	 * RFC 5044 7.1.1: C in either frame is enough. M applies to the direction towards its
	 * sender.
	 */
	p->crc = (f->flags | ours) & IW_MPA_C;
	p->tx_markers = f->flags & IW_MPA_M;
	p->rx_markers = ours & IW_MPA_M;
	p->dv = 1;
	if (p->rev == 0) {
		p->dv = 0;
		p->crc = p->tx_markers = p->rx_markers = true;
	}
	p->enhanced = is_enhanced(f);
	if (p->enhanced) {
		iw_wire_mpa_enhanced_decode(&e, f->pd, f->pd_len);
		p->peer_ird = e.ird;
		p->peer_ord = e.ord;
	}
	return e;
}

void iw_mpa_take_request(struct iw_mpa *m, const struct iw_mpa_frame *f)
{
	struct iw_agreed *p = &m->agreed;
	struct iw_mpa_enhanced e = take_common(m, f);

	/* The ULP never sees a block, even if this end does not answer it. */
	m->saw_block = take_pd(m, f, true);
	p->peer_to_peer = e.peer_to_peer;
	if (!e.peer_to_peer)
		return;
	p->rtr = iw_agreed_rtr(iw_agree_get_rtr(&e), m->cfg.offer.rtr);
}

void iw_mpa_take_reject(struct iw_mpa *m, const struct iw_mpa_frame *f)
{
	take_common(m, f);
	take_pd(m, f, false);
}

int iw_mpa_take_reply(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_fault *why)
{
	struct iw_mpa_enhanced e = take_common(m, f);
	int ret;

	take_pd(m, f, m->cfg.max_ulpdu > 0);
	if (m->cfg.crc == IW_CRC_REQUIRED && !(f->flags & IW_MPA_C)) {
		ret = iw_fail(why, IW_E_MPA_LOCAL,
			      "mpa: the Reply has C = 0, but this end requires CRC");
		if (why)
			why->clause = "RFC 5044 4.4";
		return ret;
	}
	if (!m->agreed.enhanced)
		return 0;
	return iw_agreed_take_reply(&m->agreed, &m->cfg.offer, &e, &words, why);
}
