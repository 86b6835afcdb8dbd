// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The end of set-up: full operation with the agreed parameters, or a rejection. */
#include "conn/conn.h"

#include <string.h>

#include "conn/internal.h"

uint8_t iw_conn_rtr(const struct iw_conn *c)
{
	uint8_t set = iw_conn_agreed(c)->rtr;

	return c->cfg.mpa.initiator ? iw_agreed_rtr_form(set) : set;
}

static uint16_t reads_in_force(const struct iw_conn *c, uint16_t depth)
{
	return depth == IW_MPA_IRD_ORD_MAX ? c->cfg.unnegotiated_reads : depth;
}

static int start_rdmap(struct iw_conn *c, struct iw_fault *why)
{
	const struct iw_agreed *p = iw_conn_agreed(c);
	struct iw_rdmap_params rp = {
		.initiator = c->cfg.mpa.initiator,
		.dv = p->dv,
		.ird = reads_in_force(c, p->ird),
		.ord = reads_in_force(c, p->ord),
		.rtr = iw_conn_rtr(c),
	};

	return iw_rdmap_start(c->rdmap, &rp, why);
}

void iw_conn_established(struct iw_conn *c, uint64_t now)
{
	struct iw_fault why = { 0 }, local = { 0 };

	c->moved_at = c->last_tx = now;
	if (start_rdmap(c, &why) < 0) {
		/* RFC 6581 9.3 has no error code for this cause. */
		iw_fail(&local, IW_E_MPA_LOCAL, "conn: %s", why.text);
		iw_conn_fault(c, &local, now);
		return;
	}
	iw_conn_set_state(c, IW_CONN_OPEN);
	iw_conn_nudge_begin(c);
	iw_conn_event(c, IW_EVENT_ESTABLISHED, NULL, false);
}

/*
 * Starts the rdmap only to send its Terminate (RFC 6581 9.1, 9.2). The ULP gets no
 * IW_EVENT_ESTABLISHED.
 */
void iw_conn_unacceptable(struct iw_conn *c, const struct iw_fault *why, uint64_t now)
{
	struct iw_fault ignored;

	(void)!start_rdmap(c, &ignored);
	iw_conn_fault(c, why, now);
}

/* Shorter texts are probably binary data. */
#define REASON_LEAST 4
/* Leaves room for the peer's address in the text of a fault. */
#define REASON_MOST  100

/* Returns the offset of the text at the end of a rejection's Private Data; pd_len: no text. */
static size_t reason_at(const struct iw_agreed *p)
{
	size_t at = p->pd_len;

	while (at > 0 && p->pd[at - 1] >= ' ' && p->pd[at - 1] <= '~')
		at--;
	/*
	 * Skips the length before a text, as of a CBOR string (RFC 8949 3.1), if it is printable.
	 */
	for (size_t k = at; at > 0 && k < at + 2 && k < p->pd_len; k++)
		if (p->pd[k] == p->pd_len - k - 1) {
			at = k + 1;
			break;
		}
	return p->pd_len - at < REASON_LEAST ? p->pd_len : at;
}

void iw_conn_rejected(struct iw_conn *c)
{
	const struct iw_agreed *p = iw_conn_agreed(c);
	const char *via = c->mpa != NULL ? "mpa" : "sctp";
	size_t at = reason_at(p), len = p->pd_len - at;
	char reason[REASON_MOST + 1];

	if (len == 0) {
		iw_fail(&c->fault, IW_E_REJECTED,
			"%s: the peer rejected the connection (%u octets of Private Data)", via,
			(uint32_t)p->pd_len);
	} else {
		memcpy(reason, p->pd + at, IW_MIN(len, (size_t)REASON_MOST));
		reason[IW_MIN(len, (size_t)REASON_MOST)] = '\0';
		iw_fail(&c->fault, IW_E_REJECTED, "%s: the peer rejected the connection: \"%s%s\"",
			via, reason, len > REASON_MOST ? "..." : "");
	}
	iw_conn_event(c, IW_EVENT_REJECTED, &c->fault, false);
}

bool iw_conn_leaves_stream(const struct iw_conn *c)
{
	return c->cfg.keep_stream && c->mpa != NULL && iw_mpa_state(c->mpa) == IW_MPA_STREAMING;
}

bool iw_conn_is_streaming(const struct iw_conn *c, struct iw_vec *octets)
{
	*octets = (struct iw_vec){ 0 };
	if (!c->cfg.keep_stream || c->mpa == NULL || c->state != IW_CONN_CLOSED || c->peer_fin)
		return false;
	if (iw_conn_leaves_stream(c))
		return iw_mpa_tx_startup(c->mpa).len == 0;
	/* Without a Reply, the initiator of a valid Request is not in streaming mode. */
	if (c->cfg.mpa.initiator || iw_mpa_state(c->mpa) == IW_MPA_DECIDING ||
	    !iw_mpa_is_mute(c->mpa))
		return false;
	*octets = iw_mpa_startup_in(c->mpa);
	return true;
}
