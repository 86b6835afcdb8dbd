// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How other implementations answer an MPA Request. */
#include "mpa-probe/personality.h"

#include <string.h>

#include "cli/param.h"
#include "mpa/mpa.h"
#include "util/num.h"

const struct iw_personality iw_personalities[IW_PERSONALITIES] = {
	/* This library, as RFC 5044 and RFC 6581 specify. Source: lib/mpa. */
	{
		.name = "rfc",
		.native = true,
		.request_ns = IW_SEC(5),
	},
	/*
	 * Linux siw. Sources: drivers/infiniband/sw/siw/siw_cm.c, captures of kernels 6.1 and 6.12.
	 */
	{
		.name = "siw",
		.rev_least = 0,
		.rev_most = 2,
		.enhanced = true,
		.echo_flags = true,
		.crc = IW_PERSONALITY_CRC_ECHO,
		.refuses_markers = true,
		.depth = 128,
		.rtr = IW_PERSONALITY_RTR_WRITE,
		.pd_max = 256,
		.extra_is_bad = true,
		.request_ns = IW_SEC(5),
	},
	/*
	 * Chelsio T4 to T6 under Linux. Sources: drivers/infiniband/hw/cxgb4/cm.c with its
	 * defaults, softiwarp issues 20 and 21.
	 */
	{
		.name = "chelsio",
		.rev_least = 0,
		.rev_most = 2,
		.enhanced = true,
		.crc = IW_PERSONALITY_CRC_ALWAYS,
		.depth = 32,
		.rtr = IW_PERSONALITY_RTR_READ,
		.pd_max = 256,
		.extra_is_bad = true,
		.bad_by_reset = true,
		.drops_stag0 = true,
		.request_ns = IW_SEC(20),
	},
	/*
	 * An SMB Direct server over MPA Rev 1. Sources: [MS-SMBD] 6.1, Linux smbdirect, Wireshark
	 * 4.6 iwarp_mpa.legacy.
	 */
	{
		.name = "windows",
		.rev_least = 1,
		.rev_most = 1,
		.crc = IW_PERSONALITY_CRC_ALWAYS,
		.depth = 16,
		.pd_max = IW_MPA_PD_MAX,
		.smbd_header = true,
		.request_ns = IW_SEC(10),
	},
	/* RFC 5044 with Rev 1 only, which requests no CRC and no markers. Source: RFC 5044 7.1. */
	{
		.name = "plain",
		.rev_least = 1,
		.rev_most = 1,
		.crc = IW_PERSONALITY_CRC_NEVER,
		.depth = 1,
		.pd_max = IW_MPA_PD_MAX,
		.request_ns = IW_SEC(10),
	},
};

const char *const iw_personality_names[IW_PERSONALITIES + 1] = { "rfc",     "siw",   "chelsio",
								 "windows", "plain", NULL };

const char *iw_personality_verdict_name(enum iw_personality_verdict v)
{
	static const char *const names[] = { "more", "accept", "reject", "close", "reset" };

	return v < IW_ARRAY_LEN(names) ? names[v] : "?";
}

/* A Request being answered. */
struct asked {
	const struct iw_personality_cfg *cfg;
	const struct iw_personality *p;
	struct iw_mpa_frame f;
	bool enhanced;
	struct iw_mpa_enhanced e;
	struct iw_personality_answer *out;
};

static void bad(struct asked *a, const char *text)
{
	struct iw_text t;

	a->out->verdict = a->p->bad_by_reset ? IW_PERSONALITY_RESET : IW_PERSONALITY_CLOSE;
	iw_text_init(&t, a->out->text, sizeof(a->out->text));
	iw_text_str(&t, text);
}

/* --- the Reply --- */

static uint8_t reply_flags(const struct asked *a)
{
	enum iw_personality_crc crc = a->cfg->set_crc ? a->cfg->crc : a->p->crc;
	uint8_t flags = a->p->echo_flags ? a->f.flags & IW_MPA_RES : 0;

	if (crc == IW_PERSONALITY_CRC_ALWAYS ||
	    (crc == IW_PERSONALITY_CRC_ECHO && a->f.flags & IW_MPA_C))
		flags |= IW_MPA_C;
	/* In Rev 1, S is a reserved bit and echoed like the others. */
	if (a->enhanced || (a->p->echo_flags && a->f.flags & IW_MPA_S))
		flags |= IW_MPA_S;
	if (a->cfg->markers)
		flags |= IW_MPA_M;
	return flags;
}

static void put_reply(struct asked *a, uint8_t flags, const struct iw_mpa_enhanced *e,
		      const uint8_t *pd, size_t pd_len)
{
	struct iw_mpa_frame f = { .kind = IW_MPA_REPLY, .flags = flags, .rev = a->f.rev };
	uint8_t *body = a->out->reply + IW_MPA_FRAME_LEN;
	size_t n = 0;

	if (e)
		n += (size_t)iw_wire_mpa_enhanced_encode(body, IW_MPA_ENHANCED_LEN, e);
	pd_len = IW_MIN(pd_len, IW_MPA_PD_MAX - n);
	if (pd_len)
		memcpy(body + n, pd, pd_len);
	f.pd_len = (uint16_t)(n + pd_len);
	iw_wire_mpa_frame_encode(a->out->reply, IW_MPA_FRAME_LEN, &f);
	a->out->reply_len = IW_MPA_FRAME_LEN + f.pd_len;
}

static void reject(struct asked *a, uint8_t flags, const struct iw_mpa_enhanced *e,
		   const uint8_t *pd, size_t pd_len, const char *text)
{
	struct iw_text t;

	a->out->verdict = IW_PERSONALITY_REJECT;
	iw_text_init(&t, a->out->text, sizeof(a->out->text));
	iw_text_str(&t, text);
	put_reply(a, flags | IW_MPA_R, e, pd, pd_len);
}

/* Returns the forms that the Reply names; none: it stays client-server. */
static uint8_t choose_rtr(const struct asked *a)
{
	uint8_t offered = iw_agree_get_rtr(&a->e);

	if (!a->enhanced || !a->e.peer_to_peer)
		return IW_RTR_NONE;
	if (a->cfg->rtr)
		return offered & a->cfg->rtr ? offered & a->cfg->rtr : a->cfg->rtr;
	switch (a->p->rtr) {
	case IW_PERSONALITY_RTR_NONE:
		break;
	case IW_PERSONALITY_RTR_WRITE:
		return !(offered & IW_RTR_WRITE) && offered & IW_RTR_READ ? IW_RTR_READ
									  : IW_RTR_WRITE;
	case IW_PERSONALITY_RTR_READ:
		return offered & (IW_RTR_WRITE | IW_RTR_READ) ? IW_RTR_READ : IW_RTR_NONE;
	}
	return IW_RTR_NONE;
}

/* Rev 1 has no IRD and no ORD. SMB Direct puts them into the Private Data. */
static void take_header(struct asked *a, struct iw_mpa_enhanced *depth)
{
	uint32_t ird, ord;
	enum iw_smbd is;

	depth->ird = depth->ord = 1;
	if (!a->p->smbd_header)
		return;
	is = iw_smbd_decode(a->f.pd, a->f.pd_len, &ird, &ord);
	a->out->legacy_little = is == IW_SMBD_LITTLE;
	depth->ird = is == IW_SMBD_NONE ? a->p->depth
					: (uint16_t)IW_MIN(ord, (uint32_t)a->p->depth);
	depth->ord = is == IW_SMBD_NONE ? 1 : (uint16_t)IW_MIN(ird, (uint32_t)a->p->depth);
}

static void put_accept(struct asked *a, const struct iw_mpa_enhanced *e)
{
	const struct iw_personality_cfg *cfg = a->cfg;
	uint8_t pd[IW_MPA_PD_MAX];
	size_t n = 0, more;

	if (a->p->smbd_header) {
		iw_smbd_encode(pd, e->ird, e->ord);
		n = IW_SMBD_LEN;
	}
	more = IW_MIN(cfg->pd_len, sizeof(pd) - n);
	if (more)
		memcpy(pd + n, cfg->pd, more);
	put_reply(a, reply_flags(a), a->enhanced ? e : NULL, pd, n + more);
}

/* --- the Request for the engine --- */

/*
 * The Reply of the engine is discarded, so the IRD and ORD in it do not matter. But the engine must
 * accept as many Reads as the Reply to the peer allows, and must not have more in flight than the
 * initiator accepts.
 */
static void put_request(struct asked *a, const struct iw_mpa_enhanced *e, uint8_t rtr)
{
	const struct iw_personality_answer *out = a->out;
	struct iw_ask ask = { .rev = 2,
			      .crc = out->crc,
			      .markers = a->f.flags & IW_MPA_M,
			      .enhanced = true,
			      .peer_to_peer = rtr != IW_RTR_NONE,
			      .rtr = rtr,
			      .ird = e->ord,
			      .ord = e->ird,
			      .pd = a->f.pd,
			      .pd_len = a->f.pd_len };

	if (a->enhanced) {
		ask.pd += IW_MPA_ENHANCED_LEN;
		ask.pd_len -= IW_MPA_ENHANCED_LEN;
	}
	a->out->request_len = iw_ask_encode(a->out->request, &ask);
}

static void accept_it(struct asked *a)
{
	struct iw_mpa_enhanced e = { 0 };
	uint8_t rtr = choose_rtr(a);

	if (a->enhanced) {
		e.ird = IW_MIN(a->e.ord, a->p->depth);
		e.ord = IW_MIN(a->e.ird, a->p->depth);
		if (rtr & IW_RTR_READ)
			e.ird = IW_MAX(e.ird, (uint16_t)1);
		e.peer_to_peer = rtr != IW_RTR_NONE;
		iw_agree_put_rtr(&e, rtr);
	} else {
		take_header(a, &e);
	}
	put_accept(a, &e);
	a->out->verdict = IW_PERSONALITY_ACCEPT;
	a->out->crc = (a->f.flags | reply_flags(a)) & IW_MPA_C;
	put_request(a, &e, rtr);
}

/* --- the Request --- */

static bool usable(struct asked *a, bool extra)
{
	uint8_t most = a->cfg->rev_most ? IW_MIN(a->cfg->rev_most, a->p->rev_most) : a->p->rev_most;

	if (a->f.kind != IW_MPA_REQUEST)
		bad(a, "not an MPA Request");
	else if (a->f.rev < a->p->rev_least || a->f.rev > most)
		bad(a, "it does not support this revision");
	else if (extra && a->p->extra_is_bad)
		bad(a, "octets follow the Request before the Reply");
	else
		return true;
	return false;
}

static void decide(struct asked *a)
{
	static const struct iw_mpa_enhanced zero;
	bool wants = a->f.rev >= 2 && a->f.flags & IW_MPA_S && a->p->enhanced;

	if (wants && a->f.pd_len < IW_MPA_ENHANCED_LEN) {
		/* As siw: echoes the flags, sends no Private Data. */
		reject(a, (uint8_t)(a->f.flags & ~IW_MPA_M), NULL, NULL, 0,
		       "S = 1 with fewer than four octets of Private Data");
		return;
	}
	a->enhanced = wants;
	if (wants)
		iw_wire_mpa_enhanced_decode(&a->e, a->f.pd, a->f.pd_len);
	if (a->f.flags & IW_MPA_M && a->p->refuses_markers)
		reject(a, (uint8_t)(a->f.flags & ~IW_MPA_M), wants ? &zero : NULL, NULL, 0,
		       "M = 1: it does not support markers");
	else if (a->cfg->reject)
		reject(a, reply_flags(a), wants ? &zero : NULL, a->cfg->pd, a->cfg->pd_len,
		       "--reject refuses every Request");
	else
		accept_it(a);
}

void iw_personality_engine(struct iw_cli_param *param, const struct iw_personality_cfg *cfg)
{
	param->protocol.markers = cfg->markers;
	if (cfg->row->native) {
		param->protocol.rev = cfg->rev_most;
		param->protocol.rtr = cfg->rtr;
		if (cfg->set_crc && cfg->crc == IW_PERSONALITY_CRC_NEVER)
			param->protocol.crc = IW_CRC_OFF;
		param->protocol.private_data = cfg->pd;
		param->protocol.private_data_len = cfg->pd_len;
		return;
	}
	/* put_request() asks for the CRC of each connection. */
	param->protocol.crc = IW_CRC_OFF;
	param->protocol.ird = param->protocol.ord = IW_MAX(cfg->row->depth, (uint16_t)1);
}

void iw_personality_answer(struct iw_personality_answer *out, const struct iw_personality_cfg *cfg,
			   const uint8_t *octets, size_t len, bool extra)
{
	struct asked a = { .cfg = cfg, .p = cfg->row, .out = out };
	int ret;

	memset(out, 0, sizeof(*out));
	ret = iw_wire_mpa_frame_decode(&a.f, octets, len);
	if (len < IW_MPA_FRAME_LEN) {
		out->need = IW_MPA_FRAME_LEN;
		return;
	}
	if (a.f.pd_len > a.p->pd_max) {
		bad(&a, "more Private Data than it accepts");
		return;
	}
	if (ret == 0) {
		out->need = IW_MPA_FRAME_LEN + a.f.pd_len;
		return;
	}
	if (usable(&a, extra))
		decide(&a);
}
