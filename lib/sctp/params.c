// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The parameters of INIT and INIT ACK: addresses, adaptation layer, cookie, unrecognized ones. */
#include "sctp/internal.h"

#include <string.h>

static bool is_loopback(const struct iw_sctp_addr *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	return iw_sctp_addr_is_ipv4(a) ? a->ip[12] == 127 : memcmp(a->ip, one, sizeof(one)) == 0;
}

static bool is_link_local(const struct iw_sctp_addr *a)
{
	if (iw_sctp_addr_is_ipv4(a))
		return a->ip[12] == 169 && a->ip[13] == 254;
	return iw_sctp_addr_has_scope(a);
}

/*
 * A loopback or link-local address would reach this host or another host on this link instead of
 * the peer, unless the peer itself sends from such an address.
 */
static bool is_in_scope(const struct iw_sctp_addr *a, const struct iw_sctp_addr *source)
{
	return (!is_loopback(a) || is_loopback(source)) &&
	       (!is_link_local(a) || is_link_local(source));
}

static void add_address(struct init_params *out, const struct iw_sctp_param *p)
{
	struct iw_sctp_addr addr = { .udp_port = out->peer[0].udp_port };

	if (p->type == IW_SCTP_PARAM_IPV4 && p->value_len == 4) {
		addr.ip[10] = addr.ip[11] = 0xff;
		memcpy(addr.ip + 12, p->value, 4);
	} else if (p->type == IW_SCTP_PARAM_IPV6 && p->value_len == 16) {
		memcpy(addr.ip, p->value, 16);
		if (iw_sctp_addr_is_ipv4(&addr)) /* 3.3.2.1.2: never IPv4-mapped */
			return;
	} else {
		out->malformed = true;
		return;
	}
	/* The parameter has no interface: assume that of the packet. */
	if (iw_sctp_addr_has_scope(&addr))
		addr.scope = out->peer[0].scope;
	/* RFC 8261 6.1: over DTLS an association is single-homed. */
	if (out->dtls)
		return;
	if (!iw_sctp_addr_is_unicast(&addr) || !is_in_scope(&addr, &out->peer[0]))
		return;
	/*
	 * We list no addresses, so the peer knows only the one that we send from. For the peer, a
	 * packet from our address of the other family is out of the blue, and Linux answers it with
	 * ABORT.
	 */
	if (iw_sctp_addr_is_ipv4(&addr) != iw_sctp_addr_is_ipv4(&out->peer[0]))
		return;
	for (unsigned i = 0; i < out->npeers; i++)
		if (memcmp(out->peer[i].ip, addr.ip, 16) == 0)
			return;
	if (out->npeers < IW_SCTP_PATHS_MAX)
		out->peer[out->npeers++] = addr;
}

/* RFC 9260 3.2.1. Returns false if the parameters after it are to be ignored. */
static bool unknown(struct init_params *out, const struct iw_sctp_param *p, const uint8_t *octets)
{
	size_t len = (size_t)p->len + iw_sctp_pad(p->len);

	if (IW_SCTP_UNKNOWN_REPORTS(p->type, 15) && sizeof(out->report) - out->report_len >= len) {
		memset(out->report + out->report_len, 0, len);
		memcpy(out->report + out->report_len, octets, p->len);
		out->report_len += len;
	}
	return IW_SCTP_UNKNOWN_SKIPS(p->type, 15);
}

static bool take(struct init_params *out, const struct iw_sctp_param *p, const uint8_t *octets)
{
	switch ((enum iw_sctp_param_type)p->type) {
	case IW_SCTP_PARAM_IPV4:
	case IW_SCTP_PARAM_IPV6:
		add_address(out, p);
		return true;
	case IW_SCTP_PARAM_COOKIE:
		out->cookie = p->value;
		out->cookie_len = p->value_len;
		return true;
	case IW_SCTP_PARAM_HOST_NAME:
		out->host_name = true;
		return false;
	case IW_SCTP_PARAM_ADAPTATION:
		if (p->value_len == 4) {
			out->has_adaptation = true;
			out->adaptation = iw_get_be32(p->value);
		} else {
			out->malformed = true;
		}
		return true;
	case IW_SCTP_PARAM_ZERO_CHECKSUM:
		if (!out->dtls)
			return unknown(out, p, octets);
		out->zero_checksum = p->value_len == 4 && iw_get_be32(p->value) == EDMID_DTLS;
		return true;
	case IW_SCTP_PARAM_HEARTBEAT_INFO:
	case IW_SCTP_PARAM_UNRECOGNIZED: /* a parameter of ours that the peer does not support */
	case IW_SCTP_PARAM_COOKIE_PRESERVATIVE: /* MAY be ignored (3.3.2.1.3) */
	case IW_SCTP_PARAM_ADDRESS_TYPES:
	case IW_SCTP_PARAM_ECN:
		return true;
	}
	return unknown(out, p, octets);
}

void iw_sctp_params_read(struct init_params *out, const struct iw_sctp *s,
			 const struct iw_sctp_init *in)
{
	const uint8_t *at = in->params;
	size_t left = in->params_len;
	struct iw_sctp_param p;
	int n = 0;

	memset(out, 0, sizeof(*out));
	out->peer[0] = s->cur.pkt->peer;
	out->npeers = 1;
	out->dtls = s->cfg.dtls_overhead > 0;
	while (left > 0 && (n = iw_wire_sctp_param_decode(&p, at, left)) > 0) {
		if (!take(out, &p, at))
			return;
		at += n;
		left -= (size_t)n;
	}
	if (left > 0)
		out->malformed = true;
}
