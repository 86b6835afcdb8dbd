// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Options structs: of whatever version the caller was built with, and turned into what the engine
 * and the transport want.
 */
#include "verbs/internal.h"

#include <string.h>

#define READS    16 /* IRD and ORD where nothing is said */
#define STREAMS  1000
#define UDP_PORT 9899 /* sctp-tunneling (RFC 6951 5.1) */
/*
 * The least time for an initiator's sessions to end: a lost Terminate is retransmitted after a
 * second or more (RFC 9260 16).
 */
#define END_NS   IW_SEC(10)

int iw_verbs_take(void *to, size_t cap, const void *from, size_t size, const char *what,
		  struct iw_fault *why)
{
	const uint8_t *octets = from;

	memset(to, 0, cap);
	if (!from)
		return 0;
	if (size < sizeof(size_t))
		return iw_fail(why, IW_E_INVAL, "%s: its size is %U: set it to sizeof", what,
			       (uint64_t)size);
	for (size_t i = cap; i < size; i++)
		if (octets[i])
			return iw_fail(why, IW_E_INVAL,
				       "%s: a field is set that libiwarp %s does not support", what,
				       IW_VERSION);
	memcpy(to, from, IW_MIN(cap, size));
	return 0;
}

static const char *transport_of(const struct iw_conn_param *p)
{
	return p->transport ? p->transport : "tcp";
}

/* RFC 5044 appendix C: Rev 0 with its markers and CRC, and versions 0 of DDP and RDMAP. */
static int take_rdmac(struct iw_conn_param *p, struct iw_fault *why)
{
	if (strcmp(transport_of(p), "tcp") != 0)
		return iw_fail(why, IW_E_INVAL, "profile rdmac: needs transport tcp, not %s",
			       p->transport);
	if (p->rev > 0)
		return iw_fail(why, IW_E_INVAL,
			       "profile rdmac uses MPA Rev 0: leave out rev %u, or use profile rfc",
			       (uint32_t)p->rev);
	if (p->peer_to_peer)
		return iw_fail(
			why, IW_E_INVAL,
			"profile rdmac uses MPA Rev 0: leave out peer-to-peer, or use profile rfc");
	if (p->crc == IW_CRC_OFF)
		return iw_fail(why, IW_E_INVAL,
			       "crc off: with profile rdmac the CRC is always on; leave it out");
	p->rev = -1;
	p->rdmac = true;
	p->profile = NULL;
	return 0;
}

/* An edition before RFC 6581: its sessions are Rev 1. */
static int take_plain(struct iw_conn_param *p, struct iw_fault *why)
{
	if (p->rev > 1)
		return iw_fail(
			why, IW_E_INVAL,
			"profile %s has no enhanced sessions (RFC 6581): leave out rev %u, or use profile rfc",
			p->profile, (uint32_t)p->rev);
	if (p->peer_to_peer)
		return iw_fail(
			why, IW_E_INVAL,
			"profile %s has no enhanced sessions (RFC 6581): leave out peer-to-peer, or use profile rfc",
			p->profile);
	p->rev = 1;
	return 0;
}

static int take_profile(struct iw_conn_param *p, struct iw_fault *why)
{
	const struct iw_sctpmap_profile *known;

	if (!p->profile)
		return 0;
	if (strcmp(p->profile, "rdmac") == 0)
		return take_rdmac(p, why);
	known = iw_sctpmap_profile_find(p->profile);
	if (!known)
		return iw_fail(why, IW_E_INVAL,
			       "profile %s: unknown; use rfc, rdmac or sctp-draft-02", p->profile);
	if (known != &iw_sctpmap_rfc && strcmp(transport_of(p), "tcp") == 0)
		return iw_fail(why, IW_E_INVAL, "profile %s: needs transport sctp, udp, raw or xdp",
			       p->profile);
	/* Copies of param outlive the call; the caller's string does not. */
	p->profile = known->name;
	return known->enhanced ? 0 : take_plain(p, why);
}

int iw_verbs_take_param(struct iw_conn_param *out, const struct iw_conn_param *param,
			const char *what, struct iw_fault *why)
{
	int err = iw_verbs_take(out, sizeof(*out), param, param ? param->size : 0,
				"struct iw_conn_param", why);

	if (err)
		return err;
	if (out->rev < -1 || out->rev > 2)
		return iw_fail(why, IW_E_INVAL, "%s: rev: expected -1, 0, 1 or 2", what);
	if ((unsigned)out->siw_first_fpdu > IW_QUIRK_OFF)
		return iw_fail(why, IW_E_INVAL,
			       "%s: siw_first_fpdu: expected a value of enum iw_quirk", what);
	if (out->private_data_len > IW_MPA_PD_MAX)
		return iw_fail(why, IW_E_INVAL,
			       "%s: Private Data of %U octets: expected at most %u", what,
			       (uint64_t)out->private_data_len, (uint32_t)IW_MPA_PD_MAX);
	if (out->private_data_len && !out->private_data)
		return iw_fail(why, IW_E_INVAL, "%s: private_data is NULL", what);
	return take_profile(out, why);
}

_Static_assert(IW_ORD_NO_NEGOTIATION == IW_MPA_IRD_ORD_MAX, "no negotiation");

static uint16_t reads(const struct iw_conn_param *param, uint16_t said)
{
	if (param->no_reads)
		return 0;
	return said ? said : READS;
}

/* clang-format off */
static const struct iw_conn_nudge nudges[] = {
	/*                 from          how often   whatever comes */
	[IW_QUIRK_AUTO] = { IW_MSEC(500), 3,          false },
	[IW_QUIRK_ON]   = { IW_MSEC(20),  5,          true  },
	[IW_QUIRK_OFF]  = { 0 },
};
/* clang-format on */

void iw_verbs_conn_cfg(struct iw_conn_cfg *out, struct iw_ctx *ctx,
		       const struct iw_conn_param *param, bool initiator, int rev)
{
	*out = (struct iw_conn_cfg){
		.mem = &ctx->mem,
		.txbufs = iw_loop_txbufs(ctx->loop),
		.mpa = {
			.spill = iw_loop_spill(ctx->loop),
			.initiator = initiator,
			.rev = rev < 0 ? 0 : rev ? (uint8_t)rev : 2,
			.rdmac = param->rdmac || rev < 0,
			.crc = param->crc,
			.markers = param->markers,
			.offer = {
				.peer_to_peer = initiator && param->peer_to_peer,
				.rtr = (uint8_t)(param->rtr ? param->rtr : IW_RTR_ALL),
				.ird = reads(param, param->ird),
				.ord = reads(param, param->ord),
				.pd = initiator ? param->private_data : NULL,
				.pd_len = initiator ? param->private_data_len : 0,
			},
			.max_ulpdu = param->mulpdu,
			.timeout_ns = ctx->setup_ns,
		},
		.whole_setup_ns = ctx->setup_ns,
		.decide_ns = ctx->setup_ns,
		.stall_ns = ctx->stall_ns,
		.nudge = nudges[param->siw_first_fpdu],
		.linger_ns = ctx->setup_ns,
	};
}

void iw_verbs_llp_cfg(struct iw_llp_cfg *out, const struct iw_conn_param *param, bool listen)
{
	bool xdp = param->transport && strcmp(param->transport, "xdp") == 0;

	*out = (struct iw_llp_cfg){
		.host = param->host,
		.port = param->port,
		.bind_addr = param->bind_addr,
		.interface = param->interface,
		.cc = param->cc,
		.sndbuf = param->sndbuf,
		.rcvbuf = param->rcvbuf,
		.backlog = param->backlog,
		.listen = listen,
		.listen_fd = listen ? param->listen_fd : 0,
		.streams = param->streams ? param->streams : STREAMS,
		.udp_port = param->udp_port || xdp ? param->udp_port : UDP_PORT,
		.any_udp_port = listen && param->any_udp_port,
		.xdp = param->xdp,
	};
}

static const struct iw_sctpmap_profile *profile_of(const struct iw_conn_param *param)
{
	return param->profile ? iw_sctpmap_profile_find(param->profile) : &iw_sctpmap_rfc;
}

void iw_verbs_port_cfg(struct iw_port_cfg *out, const struct iw_conn_param *param, bool listen)
{
	const struct iw_sctpmap_profile *profile = profile_of(param);

	*out = (struct iw_port_cfg){
		.adaptation = profile->adaptation,
		.ppid_segment = profile->ppid_segment,
		.ppid_control = profile->ppid_control,
	};
	iw_verbs_llp_cfg(&out->llp, param, listen);
}

void iw_verbs_map_cfg(struct iw_sctpmap_cfg *out, struct iw_ctx *ctx,
		      const struct iw_conn_param *param, bool initiator)
{
	*out = (struct iw_sctpmap_cfg){
		.mem = &ctx->mem,
		.profile = profile_of(param),
		.initiator = initiator,
		.streams = param->streams ? param->streams : STREAMS,
		.backlog = param->backlog,
		.plain = !initiator && param->rev == 1,
		.unused_ns = initiator ? IW_MAX(ctx->setup_ns, END_NS) : ctx->setup_ns,
	};
}
