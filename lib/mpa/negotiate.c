// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What Request and Reply agree on: revision, CRC, markers (RFC 5044 7.1.1), RDMA Consortium peers
 * (RFC 5044 appendix C), IRD, ORD and RTR (RFC 6581 9), and the library's own block about long
 * ULPDUs.
 */
#include "mpa/mpa.h"

#include <assert.h>
#include <string.h>

#include "mpa/internal.h"

static const uint8_t block_magic[4] = { 'i', 'w', 'L', 0x01 };

#define RTR_ALL (IW_RTR_SEND | IW_RTR_WRITE | IW_RTR_READ)

/* RFC 6581 10: the enhanced format is not used when nothing of it is wanted. */
static bool wants_enhanced(const struct iw_mpa_cfg *cfg)
{
	return cfg->rev >= 2 && (cfg->peer_to_peer || cfg->ird != IW_MPA_IRD_ORD_MAX ||
				 cfg->ord != IW_MPA_IRD_ORD_MAX);
}

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

static int check_depth(const char *name, uint16_t depth, struct iw_fault *why)
{
	if (depth <= IW_MPA_IRD_ORD_MAX)
		return 0;
	return iw_fail(why, IW_E_INVAL, "mpa: %s %u: expected at most %u (RFC 6581 9)", name,
		       (uint32_t)depth, (uint32_t)IW_MPA_IRD_ORD_MAX);
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
	if (cfg->rev == 0 && cfg->crc == IW_MPA_CRC_OFF)
		return iw_fail(why, IW_E_INVAL,
			       "mpa: revision 0 always uses CRC: crc off is not possible");
	if (cfg->rtr & ~RTR_ALL)
		return iw_fail(
			why, IW_E_INVAL,
			"mpa: RTR set %b: expected a sum of Send (1), Write (2) and Read (4)",
			(uint32_t)cfg->rtr);
	if (cfg->peer_to_peer && (cfg->rev < 2 || !cfg->initiator))
		return iw_fail(
			why, IW_E_INVAL,
			"mpa: peer-to-peer: only an initiator with revision 2 can request it");
	/* RFC 6581 9.2: both ends support at least one. */
	if (cfg->rtr == 0 && (cfg->peer_to_peer || (!cfg->initiator && cfg->rev >= 2)))
		return iw_fail(why, IW_E_INVAL,
			       "mpa: no RTR form: expected at least one (RFC 6581 9.2)");
	ret = check_depth("IRD", cfg->ird, why);
	if (ret == 0)
		ret = check_depth("ORD", cfg->ord, why);
	if (ret == 0)
		ret = check_depth("largest IRD", cfg->ird_max, why);
	if (ret < 0)
		return ret;
	if (cfg->max_ulpdu &&
	    (cfg->max_ulpdu < IW_MPA_ULPDU_MIN_MAX || cfg->max_ulpdu > IW_MPA_ULPDU_MAX))
		return iw_fail(why, IW_E_INVAL, "mpa: largest ULPDU %u: expected 0 or %u..%u",
			       cfg->max_ulpdu, (uint32_t)IW_MPA_ULPDU_MIN_MAX,
			       (uint32_t)IW_MPA_ULPDU_MAX);
	if (!cfg->initiator)
		return 0;
	return check_pd(cfg->pd_len, wants_enhanced(cfg), cfg->max_ulpdu > 0, why);
}

/* --- frames going out ------------------------------------------------------------------------- */

/* f's flags, Rev and kind; the enhanced data (e may be NULL), the block, the ULP's Private Data,
 * whose lengths were checked. */
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

	/* RFC 5044 C.2.4: an RDMAC peer has markers and CRC always. */
	if (cfg->markers || cfg->rev == 0)
		flags |= IW_MPA_M;
	if (cfg->crc != IW_MPA_CRC_OFF)
		flags |= IW_MPA_C;
	return flags;
}

static void set_rtr(struct iw_mpa_enhanced *e, uint8_t rtr)
{
	e->rtr_send = rtr & IW_RTR_SEND;
	e->rtr_write = rtr & IW_RTR_WRITE;
	e->rtr_read = rtr & IW_RTR_READ;
}

static uint8_t get_rtr(const struct iw_mpa_enhanced *e)
{
	return (uint8_t)((e->rtr_send ? IW_RTR_SEND : 0) | (e->rtr_write ? IW_RTR_WRITE : 0) |
			 (e->rtr_read ? IW_RTR_READ : 0));
}

void iw_mpa_build_request(struct iw_mpa *m, const uint8_t *pd, size_t pd_len)
{
	const struct iw_mpa_cfg *cfg = &m->cfg;
	struct iw_mpa_enhanced e = { .peer_to_peer = cfg->peer_to_peer,
				     .ird = cfg->ird,
				     .ord = cfg->ord };

	/* RFC 6581 9.2: with A = 0, B, C and D are 0 as well. */
	if (cfg->peer_to_peer)
		set_rtr(&e, cfg->rtr);
	m->offered_enhanced = wants_enhanced(cfg);
	build(m,
	      (struct iw_mpa_frame){
		      .kind = IW_MPA_REQUEST, .flags = own_flags(cfg), .rev = cfg->rev },
	      m->offered_enhanced ? &e : NULL, cfg->max_ulpdu > 0, pd, pd_len);
}

/* RFC 6581 9.1: what is not to be negotiated is mirrored as such. */
static uint16_t mirrored(uint16_t asked, uint16_t ours)
{
	return asked == IW_MPA_IRD_ORD_MAX ? IW_MPA_IRD_ORD_MAX : ours;
}

static uint16_t ord_within(uint16_t ord, uint16_t peer_ird)
{
	return peer_ird == IW_MPA_IRD_ORD_MAX ? ord : IW_MIN(ord, peer_ird);
}

static void build_reply(struct iw_mpa *m, uint8_t flags, const struct iw_mpa_enhanced *e,
			bool block, const uint8_t *pd, size_t pd_len)
{
	const struct iw_mpa_params *p = &m->params;

	flags |= own_flags(&m->cfg);
	/* An end that wants no CRC has it on when the peer wants it, and says so: some initiators
	 * refuse a Reply that does not. */
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
	struct iw_mpa_params *p = &m->params;
	struct iw_mpa_enhanced e = { .peer_to_peer = p->peer_to_peer };
	bool block = m->saw_block && m->cfg.max_ulpdu > 0;
	int ret;

	ret = check_depth("IRD", ird, why);
	if (ret == 0)
		ret = check_depth("ORD", ord, why);
	if (ret == 0)
		ret = check_pd(pd_len, p->enhanced, block, why);
	if (ret < 0)
		return ret;
	p->ird = ird;
	p->ord = ord;
	if (p->enhanced) {
		/* RFC 6581 9.1: a Read that says "ready to receive" takes one place, though the
		 * ULP may want none. */
		if (p->rtr & IW_RTR_READ)
			p->ird = IW_MAX(p->ird, (uint16_t)1);
		p->ord = ord_within(p->ord, p->peer_ird);
		e.ird = mirrored(p->peer_ord, p->ird);
		e.ord = mirrored(p->peer_ird, p->ord);
		set_rtr(&e, p->rtr);
	}
	build_reply(m, 0, &e, block, pd, pd_len);
	return 0;
}

int iw_mpa_build_reject(struct iw_mpa *m, const uint16_t *ord, const uint8_t *pd, size_t pd_len,
			struct iw_fault *why)
{
	const struct iw_mpa_params *p = &m->params;
	struct iw_mpa_enhanced e = {
		.peer_to_peer = p->peer_to_peer,
		.ird = mirrored(p->peer_ord, m->cfg.ird),
		.ord = mirrored(p->peer_ird, ord_within(m->cfg.ord, p->peer_ird)),
	};
	int ret = check_pd(pd_len, p->enhanced, false, why);

	if (ret == 0 && ord) {
		ret = check_depth("ORD", *ord, why);
		e.ord = *ord;
	}
	if (ret < 0)
		return ret;
	set_rtr(&e, p->rtr);
	build_reply(m, IW_MPA_R, &e, false, pd, pd_len);
	return 0;
}

/* --- frames coming in ------------------------------------------------------------------------- */

static bool is_enhanced(const struct iw_mpa_frame *f)
{
	/* In Rev 1 the bit is reserved and not looked at (RFC 5044 7.1.1). */
	return f->rev >= 2 && f->flags & IW_MPA_S;
}

/* RFC 5044 C.2: Rev 0 goes with markers and CRC, or it is no RDMAC peer. */
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
	/* RFC 5044 C.2.2 and C.2.5: an RDMAC responder answers Rev 1 by Rev 0; whether to go on
	 * is the initiator's affair. */
	if (f->rev == 1 && cfg->rev == 0)
		return 0;
	if (f->rev == 0) {
		/* RFC 5044 C.2.1: who does not do Rev 0 answers with its own revision, then
		 * closes. */
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

/* RFC 6581 10: enhanced is answered by enhanced, unenhanced by unenhanced. */
static int check_reply_format(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_fault *why)
{
	int ret;

	if (is_enhanced(f) == m->offered_enhanced)
		return 0;
	m->retry_rev1 = m->offered_enhanced;
	/* To reject, the format does not matter. */
	if (m->offered_enhanced && f->flags & IW_MPA_R)
		return 0;
	ret = iw_fail(why, IW_E_MPA_FRAME, "mpa: the Request was %s, the Reply (Rev %u) is %s",
		      m->offered_enhanced ? "enhanced" : "not enhanced", (uint32_t)f->rev,
		      m->offered_enhanced ? "not" : "enhanced");
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

/* Private Data behind the enhanced data: the library's block, if one may be there, and the ULP's.
 * Returns true for a block. */
static bool take_pd(struct iw_mpa *m, const struct iw_mpa_frame *f, bool may_have_block)
{
	struct iw_mpa_params *p = &m->params;
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

/* What Request and Reply have in common. Returns the enhanced data, zero when there is none. */
static struct iw_mpa_enhanced take_common(struct iw_mpa *m, const struct iw_mpa_frame *f)
{
	struct iw_mpa_params *p = &m->params;
	struct iw_mpa_enhanced e = { 0 };
	uint8_t ours = own_flags(&m->cfg);

	p->peer_rev = f->rev;
	p->rev = IW_MIN(m->cfg.rev, f->rev);
	/* RFC 5044 7.1.1: C in either frame; each M rules the direction towards the one who set
	 * it. */
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
	struct iw_mpa_params *p = &m->params;
	struct iw_mpa_enhanced e = take_common(m, f);

	/* A block is never the ULP's business, answered or not. */
	m->saw_block = take_pd(m, f, true);
	p->peer_to_peer = e.peer_to_peer;
	if (!e.peer_to_peer)
		return;
	/* RFC 6581 9.2: those both support; if there is none, those that this end supports. */
	p->rtr = get_rtr(&e) & m->cfg.rtr;
	if (p->rtr == 0)
		p->rtr = m->cfg.rtr;
}

void iw_mpa_take_reject(struct iw_mpa *m, const struct iw_mpa_frame *f)
{
	take_common(m, f);
	take_pd(m, f, false);
}

/* RFC 6581 9.1, the initiator's part: ORD at most the responder's IRD, IRD at least the
 * responder's ORD. */
static int fit_depths(struct iw_mpa *m, const struct iw_mpa_enhanced *e, struct iw_fault *why)
{
	struct iw_mpa_params *p = &m->params;

	p->ord = ord_within(p->ord, e->ird);
	if (e->ord == IW_MPA_IRD_ORD_MAX || e->ord <= p->ird)
		return 0;
	if (e->ord > m->cfg.ird_max)
		return iw_fail(
			why, IW_E_MPA_IRD,
			"mpa: the responder's ORD is %u: above the local IRD %u, which can be raised to at most %u",
			(uint32_t)e->ord, (uint32_t)p->ird,
			(uint32_t)IW_MAX(m->cfg.ird_max, p->ird));
	p->ird = e->ord;
	return 0;
}

/* RFC 6581 9.2, the initiator's part. */
static int fit_rtr(struct iw_mpa *m, const struct iw_mpa_enhanced *e, struct iw_fault *why)
{
	struct iw_mpa_params *p = &m->params;

	if (e->peer_to_peer != m->cfg.peer_to_peer)
		return iw_fail(why, IW_E_MPA_RTR,
			       "mpa: the Request has the %s model, the Reply has %s",
			       m->cfg.peer_to_peer ? "peer-to-peer" : "client-server",
			       e->peer_to_peer ? "peer-to-peer" : "client-server");
	p->peer_to_peer = e->peer_to_peer;
	if (!e->peer_to_peer)
		return 0;
	p->rtr = get_rtr(e) & m->cfg.rtr;
	/* A Read needs a place at the responder, and one of ours to count it (RFC 6581 9.1). */
	if (e->ird == 0)
		p->rtr &= (uint8_t)~IW_RTR_READ;
	if (p->rtr & IW_RTR_READ)
		p->ord = IW_MAX(p->ord, (uint16_t)1);
	if (p->rtr)
		return 0;
	return iw_fail(
		why, IW_E_MPA_RTR,
		"mpa: no common RTR: the Reply has %b, this end %b, the IRD of the Reply is %u (Send 1, Write 2, Read 4)",
		(uint32_t)get_rtr(e), (uint32_t)m->cfg.rtr, (uint32_t)e->ird);
}

int iw_mpa_take_reply(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_fault *why)
{
	struct iw_mpa_enhanced e = take_common(m, f);
	int ret;

	take_pd(m, f, m->cfg.max_ulpdu > 0);
	if (m->cfg.crc == IW_MPA_CRC_REQUIRED && !(f->flags & IW_MPA_C)) {
		ret = iw_fail(why, IW_E_MPA_LOCAL,
			      "mpa: the Reply has C = 0, but this end requires CRC");
		if (why)
			why->clause = "RFC 5044 4.4";
		return ret;
	}
	if (!m->params.enhanced)
		return 0;
	ret = fit_depths(m, &e, why);
	if (ret == 0)
		ret = fit_rtr(m, &e, why);
	return ret;
}
