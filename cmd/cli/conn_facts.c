// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Facts of a connection: their keys in JSON and their labels in text. */
#include "cli/conn_facts.h"

#include "cli/human.h"
#include "cli/secure.h"
#include "util/num.h"
#include "util/text.h"
#include "wire/sctpddp.h"

static const struct {
	uint8_t form;
	const char *name;
} rtr_forms[] = {
	{ IW_RTR_SEND, "send" },
	{ IW_RTR_WRITE, "write" },
	{ IW_RTR_READ, "read" },
};

static unsigned npaths(const struct iw_assoc_info *a)
{
	return IW_MIN(a->npaths, (unsigned)IW_ASSOC_PATHS);
}

static const char *const auth_keys[] = {
	[IW_TLS_AUTH_NONE] = "none",
	[IW_TLS_AUTH_PSK] = "psk",
	[IW_TLS_AUTH_PIN] = "pin",
	[IW_TLS_AUTH_CA] = "ca",
};

bool iw_cli_facts_tls(struct iw_tls_info *out, const struct iw_qp *qp)
{
	*out = (struct iw_tls_info){ .size = sizeof(*out) };
	if (iw_qp_tls(qp, out) == 0)
		return true;
	out->version = NULL;
	return false;
}

/* --- JSON --- */

void iw_cli_facts_ends_json(struct iw_json *w, const char *local, const char *peer)
{
	if (local && local[0])
		iw_json_str(w, "local", local);
	if (peer && peer[0])
		iw_json_str(w, "peer", peer);
}

void iw_cli_facts_json(struct iw_json *w, const struct iw_qp_info *i, bool tcp)
{
	iw_json_bool(w, "crc", i->crc);
	if (tcp) {
		iw_json_bool(w, "tx_markers", i->tx_markers);
		iw_json_bool(w, "rx_markers", i->rx_markers);
		iw_json_bool(w, "large_fpdus", i->large_fpdus);
		iw_json_u64(w, "emss_octets", i->emss);
	}
	iw_json_u64(w, "mulpdu_octets", i->mulpdu);
}

void iw_cli_facts_setup_json(struct iw_json *w, const struct iw_qp_info *i, bool tcp)
{
	iw_json_u64(w, "rev", i->rev);
	iw_json_u64(w, "ird", i->ird);
	iw_json_u64(w, "ord", i->ord);
	if (!tcp)
		return;
	iw_json_open_array(w, "rtr");
	for (size_t k = 0; k < IW_ARRAY_LEN(rtr_forms); k++)
		if (i->rtr & rtr_forms[k].form)
			iw_json_str(w, NULL, rtr_forms[k].name);
	iw_json_close(w);
}

void iw_cli_facts_traffic_json(struct iw_json *w, const struct iw_qp_info *i, bool tcp)
{
	iw_json_u64(w, "tx_octets", i->tx_octets);
	iw_json_u64(w, "rx_octets", i->rx_octets);
	iw_json_u64(w, "tx_fpdus", i->tx_fpdus);
	iw_json_u64(w, "rx_fpdus", i->rx_fpdus);
	if (tcp)
		iw_json_u64(w, "nudges", i->nudges);
}

void iw_cli_facts_assoc_json(struct iw_json *w, const struct iw_assoc_info *a)
{
	iw_json_u64(w, "streams_out", a->out);
	iw_json_u64(w, "streams_in", a->in);
	if (a->indicated)
		iw_json_u64(w, "adaptation_indication", a->adaptation);
	iw_json_open_array(w, "addresses");
	for (unsigned k = 0; k < npaths(a); k++) {
		const struct iw_assoc_path_info *p = &a->path[k];

		iw_json_open_object(w, NULL);
		iw_json_str(w, "address", p->addr);
		iw_json_bool(w, "primary", p->primary);
		iw_json_bool(w, "active", p->active);
		iw_json_u64(w, "path_mtu_octets", p->mtu);
		iw_json_u64(w, "srtt_ns", p->srtt_ns);
		iw_json_close(w);
	}
	iw_json_close(w);
}

void iw_cli_facts_tls_json(struct iw_json *w, const struct iw_tls_info *i)
{
	char pin[IW_CLI_PIN_TEXT];

	if (!i->version)
		return;
	iw_json_str(w, "tls_version", i->version);
	iw_json_str(w, "tls_cipher", i->cipher);
	iw_json_str(w, "tls_auth", auth_keys[i->auth]);
	if (!i->has_peer_pin)
		return;
	iw_cli_pin_text(pin, i->peer_pin);
	iw_json_str(w, "tls_peer_key", pin);
}

/* --- text --- */

static const char *markers(const struct iw_qp_info *i)
{
	if (i->tx_markers)
		return i->rx_markers ? "on" : "to the peer";
	return i->rx_markers ? "from the peer" : "off";
}

static void rtr_text(struct iw_text *t, const struct iw_qp_info *i)
{
	const char *before = ", RTR ";

	for (size_t k = 0; k < IW_ARRAY_LEN(rtr_forms); k++)
		if (i->rtr & rtr_forms[k].form) {
			iw_text_fmt(t, "%s%s", before, rtr_forms[k].name);
			before = " or ";
		}
}

void iw_cli_facts_text(struct iw_text *t, const struct iw_qp_info *i, bool tcp)
{
	if (tcp)
		iw_text_fmt(t, "MPA Rev %u, CRC %s, markers %s, EMSS %u, ", (uint32_t)i->rev,
			    i->crc ? "on" : "off", markers(i), i->emss);
	else
		iw_text_fmt(t, "%sCRC %s, ", i->rev >= 2 ? "enhanced (RFC 6581), " : "",
			    i->crc ? "on" : "off");
	iw_text_fmt(t, "MULPDU %u, IRD %u, ORD %u", i->mulpdu, (uint32_t)i->ird, (uint32_t)i->ord);
	if (tcp)
		rtr_text(t, i);
}

void iw_cli_facts_tls_text(struct iw_text *t, const struct iw_tls_info *i)
{
	char pin[IW_CLI_PIN_TEXT];

	iw_text_fmt(t, "%s %s, ", i->version, i->cipher);
	switch (i->auth) {
	case IW_TLS_AUTH_PSK:
		iw_text_str(t, "peer authenticated by PSK");
		return;
	case IW_TLS_AUTH_PIN:
		iw_text_str(t, "peer authenticated by its pinned key");
		return;
	case IW_TLS_AUTH_CA:
		iw_text_str(t, "peer authenticated by its certificate");
		return;
	case IW_TLS_AUTH_NONE:
		break;
	}
	if (!i->has_peer_pin) {
		iw_text_str(t, "peer not authenticated");
		return;
	}
	iw_cli_pin_text(pin, i->peer_pin);
	iw_text_fmt(t, "peer key %s", pin);
}

void iw_cli_facts_assoc_text(struct iw_text *t, const struct iw_assoc_info *a)
{
	iw_text_fmt(t, "%u stream%s out, %u in, ", (uint32_t)a->out, a->out == 1 ? "" : "s",
		    (uint32_t)a->in);
	if (!a->indicated) {
		iw_text_str(t, "no adaptation indication");
		return;
	}
	iw_text_fmt(t, "adaptation indication %x", a->adaptation);
	if (a->adaptation == IW_SCTP_ADAPTATION_DDP)
		iw_text_str(t, " (DDP)");
	else if (a->adaptation == IW_SCTP_ADAPTATION_DDP_RDMA_02)
		iw_text_str(t, " (DDP and RDMA, draft-ietf-rddp-sctp-02)");
}

void iw_cli_facts_path_text(struct iw_text *t, const struct iw_assoc_path_info *p)
{
	char rtt[IW_HUMAN_TEXT];

	iw_text_fmt(t, "address %s%s%s, path MTU %u", p->addr, p->primary ? ", primary" : "",
		    p->active ? "" : ", inactive", p->mtu);
	if (p->srtt_ns)
		iw_text_fmt(t, ", round trip %s", iw_human_latency(rtt, p->srtt_ns));
}
