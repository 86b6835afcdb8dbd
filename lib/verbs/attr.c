// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Attribute structs: copied from the caller's version of them, checked, and converted to the
 * configurations of the engine and the transports.
 */
#include "verbs/internal.h"

#include <string.h>

#include "wire/sctp.h"

/*
 * The sessions of an initiator have at least this time to end, whatever setup_ns is: SCTP
 * retransmits a lost Terminate after at least a second (RFC 9260 16).
 */
#define END_NS    IW_SEC(10)
/* Far above the size of any struct of attributes: a larger size was not initialized. */
#define SIZE_MOST 4096

int iw_verbs_take(void *to, size_t cap, const void *from, size_t size, const char *what,
		  struct iw_fault *why)
{
	const uint8_t *octets = from;

	memset(to, 0, cap);
	if (!from)
		return 0;
	if (size < sizeof(size_t) || size > SIZE_MOST)
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

/* --- the transport ---------------------------------------------------------------------------- */

const char *iw_verbs_transport(const struct iw_endpoint_attr *e)
{
	return e->transport ? e->transport : "tcp";
}

#define XDP_WANT_ALL                                                                               \
	((unsigned)(IW_XDP_WANT_NATIVE | IW_XDP_WANT_GENERIC | IW_XDP_WANT_ZEROCOPY |              \
		    IW_XDP_WANT_COPY | IW_XDP_WANT_BUSY_POLL | IW_XDP_WANT_SMALL_FRAMES))

static int check_xdp(const char *what, unsigned want, struct iw_fault *why)
{
	static const struct {
		unsigned both;
		const char *names;
	} pairs[] = {
		{ IW_XDP_WANT_NATIVE | IW_XDP_WANT_GENERIC, "native and generic" },
		{ IW_XDP_WANT_ZEROCOPY | IW_XDP_WANT_COPY, "zerocopy and copy" },
		{ IW_XDP_WANT_ZEROCOPY | IW_XDP_WANT_GENERIC, "zerocopy and generic" },
	};

	if (want & ~XDP_WANT_ALL)
		return iw_fail(why, IW_E_INVAL, "%s: xdp: flags %x: expected some of %x", what,
			       (uint32_t)want, (uint32_t)XDP_WANT_ALL);
	for (size_t i = 0; i < IW_ARRAY_LEN(pairs); i++)
		if ((want & pairs[i].both) == pairs[i].both)
			return iw_fail(why, IW_E_INVAL, "%s: xdp: %s exclude each other", what,
				       pairs[i].names);
	return 0;
}

int iw_verbs_take_endpoint(struct iw_endpoint_attr *out, const struct iw_endpoint_attr *in,
			   const char *what, struct iw_fault *why)
{
	int err = iw_verbs_take(out, sizeof(*out), in, in ? in->size : 0, "struct iw_endpoint_attr",
				why);

	if (err)
		return err;
	if (out->any_udp_port && out->udp_port)
		return iw_fail(why, IW_E_INVAL, "%s: udp_port %u and any_udp_port: set one of them",
			       what, (uint32_t)out->udp_port);
	if (out->tls && strcmp(iw_verbs_transport(out), "tcp") != 0 &&
	    strcmp(iw_verbs_transport(out), "udp") != 0)
		return iw_fail(why, IW_E_NOTSUP,
			       "%s: transport %s has no encryption; use tcp or udp", what,
			       iw_verbs_transport(out));
	return check_xdp(what, out->xdp, why);
}

/* --- the protocols ---------------------------------------------------------------------------- */

/* RFC 5044 appendix C: Rev 0, with markers and CRC, and version 0 of DDP and RDMAP. */
static int take_rdmac(struct iw_protocol_attr *p, const char *transport, struct iw_fault *why)
{
	if (strcmp(transport, "tcp") != 0)
		return iw_fail(why, IW_E_INVAL, "profile rdmac: needs transport tcp, not %s",
			       transport);
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
static int take_plain(struct iw_protocol_attr *p, struct iw_fault *why)
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

static int take_profile(struct iw_protocol_attr *p, const char *transport, struct iw_fault *why)
{
	const struct iw_sctpmap_profile *known;

	if (!p->profile)
		return 0;
	if (strcmp(p->profile, "rdmac") == 0)
		return take_rdmac(p, transport, why);
	known = iw_sctpmap_profile_find(p->profile);
	if (!known)
		return iw_fail(why, IW_E_INVAL,
			       "profile %s: unknown; use rfc, rdmac or sctp-draft-02", p->profile);
	if (known != &iw_sctpmap_rfc && strcmp(transport, "tcp") == 0)
		return iw_fail(why, IW_E_INVAL, "profile %s: needs transport sctp, udp, raw or xdp",
			       p->profile);
	/* Copies of the struct outlive the call, but the caller's string does not. */
	p->profile = known->name;
	return known->enhanced ? 0 : take_plain(p, why);
}

int iw_verbs_take_protocol(struct iw_protocol_attr *out, const struct iw_protocol_attr *in,
			   const char *transport, const char *what, struct iw_fault *why)
{
	int err = iw_verbs_take(out, sizeof(*out), in, in ? in->size : 0, "struct iw_protocol_attr",
				why);

	if (err)
		return err;
	if (out->rev < -1 || out->rev > 2)
		return iw_fail(why, IW_E_INVAL, "%s: rev: expected -1, 0, 1 or 2", what);
	if (out->rev < 0 && strcmp(transport, "tcp") != 0)
		return iw_fail(
			why, IW_E_INVAL,
			"%s: rev -1: MPA Rev 0 needs transport tcp, not %s; use rev 0, 1 or 2",
			what, transport);
	if (out->no_reads && (out->ird || out->ord))
		return iw_fail(why, IW_E_INVAL, "%s: no_reads and %s %u: set one of them", what,
			       out->ird ? "ird" : "ord",
			       (uint32_t)(out->ird ? out->ird : out->ord));
	if ((unsigned)out->crc > IW_CRC_OFF)
		return iw_fail(why, IW_E_INVAL, "%s: crc: expected a value of enum iw_crc_policy",
			       what);
	if ((unsigned)out->siw_first_fpdu > IW_QUIRK_OFF)
		return iw_fail(why, IW_E_INVAL,
			       "%s: siw_first_fpdu: expected a value of enum iw_quirk", what);
	if (out->private_data_len > IW_MPA_PD_MAX)
		return iw_fail(why, IW_E_INVAL,
			       "%s: Private Data of %U octets: expected at most %u", what,
			       (uint64_t)out->private_data_len, (uint32_t)IW_MPA_PD_MAX);
	if (out->mulpdu && strcmp(transport, "tcp") == 0 &&
	    (out->mulpdu < IW_MULPDU_MIN || out->mulpdu > IW_MULPDU_MAX))
		return iw_fail(why, IW_E_INVAL, "%s: mulpdu %u: expected 0, or %u to %u", what,
			       out->mulpdu, (uint32_t)IW_MULPDU_MIN, (uint32_t)IW_MULPDU_MAX);
	if (out->private_data_len && !out->private_data)
		return iw_fail(why, IW_E_INVAL, "%s: private_data is NULL", what);
	return take_profile(out, transport, why);
}

_Static_assert(IW_ORD_NO_NEGOTIATION == IW_MPA_IRD_ORD_MAX, "no negotiation");
_Static_assert(IW_PRIVATE_DATA_MAX == IW_MPA_PD_MAX && IW_PRIVATE_DATA_MAX == IW_SCTP_PD_MAX,
	       "Private Data");
_Static_assert(IW_PRIVATE_DATA_ENHANCED == IW_MPA_ENHANCED_LEN &&
		       IW_PRIVATE_DATA_MULPDU == IW_MPA_BLOCK_LEN,
	       "Private Data of the library");
_Static_assert(IW_UDP_PORT_DEFAULT == IW_SCTP_UDP_PORT, "RFC 6951");
_Static_assert(IW_MULPDU_MIN >= IW_MPA_ULPDU_MIN_MAX && IW_MULPDU_MAX == IW_MPA_ULPDU_MAX,
	       "MULPDU");

static uint16_t reads(const struct iw_protocol_attr *p, uint16_t depth)
{
	if (p->no_reads)
		return 0;
	return depth ? depth : IW_READS_DEFAULT;
}

/* clang-format off */
static const struct iw_conn_nudge nudges[] = {
	/*                 after         times       also if the peer has sent something */
	[IW_QUIRK_AUTO] = { IW_MSEC(500), 3,          false },
	[IW_QUIRK_ON]   = { IW_MSEC(20),  5,          true  },
	[IW_QUIRK_OFF]  = { 0 },
};
/* clang-format on */

void iw_verbs_conn_cfg(struct iw_conn_cfg *out, struct iw_ctx *ctx,
		       const struct iw_protocol_attr *p, bool initiator, int rev)
{
	*out = (struct iw_conn_cfg){
		.mem = &ctx->mem,
		.txbufs = iw_loop_txbufs(ctx->loop),
		.mpa = {
			.spill = iw_loop_spill(ctx->loop),
			.initiator = initiator,
			.rev = rev < 0 ? 0 : rev ? (uint8_t)rev : 2,
			.rdmac = p->rdmac || rev < 0,
			.crc = p->crc,
			.markers = p->markers,
			.offer = {
				.peer_to_peer = initiator && p->peer_to_peer,
				.rtr = (uint8_t)(p->rtr ? p->rtr : IW_RTR_ALL),
				.ird = reads(p, p->ird),
				.ord = reads(p, p->ord),
				.pd = initiator ? p->private_data : NULL,
				.pd_len = initiator ? p->private_data_len : 0,
			},
			.max_ulpdu = p->mulpdu,
			.timeout_ns = ctx->setup_ns,
		},
		.whole_setup_ns = ctx->setup_ns,
		.decide_ns = ctx->setup_ns,
		.stall_ns = ctx->stall_ns,
		.nudge = nudges[p->siw_first_fpdu],
		.linger_ns = ctx->setup_ns,
		.tracer = &ctx->tracer,
	};
}

void iw_verbs_llp_cfg(struct iw_llp_cfg *out, const struct iw_endpoint_attr *e, bool listen)
{
	bool xdp = strcmp(iw_verbs_transport(e), "xdp") == 0;

	*out = (struct iw_llp_cfg){
		.host = e->host,
		.port = e->port,
		.bind_addr = e->bind_addr,
		.interface = e->interface,
		.cc = e->cc,
		.sndbuf = e->sndbuf,
		.rcvbuf = e->rcvbuf,
		.backlog = e->backlog,
		.listen = listen,
		.listen_fd = listen ? e->listen_fd : 0,
		.streams = e->streams ? e->streams : IW_STREAMS_DEFAULT,
		.udp_port = e->udp_port || xdp ? e->udp_port : IW_SCTP_UDP_PORT,
		.any_udp_port = listen && e->any_udp_port,
		.xdp = e->xdp,
		.tls = e->tls,
		.tls_name = e->tls_name ? e->tls_name : e->host,
	};
}

static const struct iw_sctpmap_profile *profile_of(const struct iw_protocol_attr *p)
{
	return p->profile ? iw_sctpmap_profile_find(p->profile) : &iw_sctpmap_rfc;
}

void iw_verbs_port_cfg(struct iw_port_cfg *out, const struct iw_endpoint_attr *e,
		       const struct iw_protocol_attr *p, bool listen)
{
	const struct iw_sctpmap_profile *profile = profile_of(p);

	*out = (struct iw_port_cfg){
		.adaptation = profile->adaptation,
		.ppid_segment = profile->ppid_segment,
		.ppid_control = profile->ppid_control,
	};
	iw_verbs_llp_cfg(&out->llp, e, listen);
}

void iw_verbs_map_cfg(struct iw_sctpmap_cfg *out, struct iw_ctx *ctx,
		      const struct iw_endpoint_attr *e, const struct iw_protocol_attr *p,
		      bool initiator)
{
	*out = (struct iw_sctpmap_cfg){
		.mem = &ctx->mem,
		.profile = profile_of(p),
		.initiator = initiator,
		.streams = e->streams ? e->streams : IW_STREAMS_DEFAULT,
		.backlog = e->backlog,
		.plain = !initiator && p->rev == 1,
		.unused_ns = initiator ? IW_MAX(ctx->setup_ns, END_NS) : ctx->setup_ns,
	};
}
