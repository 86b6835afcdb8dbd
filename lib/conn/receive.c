// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The way in: octets of the stream to MPA, its units to the ULP's decision or to RDMAP. */
#include "conn/conn.h"

#include "conn/internal.h"

bool iw_conn_wants_rx(const struct iw_conn *c)
{
	if (c->state == IW_CONN_CLOSED || c->peer_fin)
		return false;
	return c->state != IW_CONN_SETUP || iw_mpa_state(c->mpa) != IW_MPA_DECIDING;
}

int iw_conn_rx_vec(struct iw_conn *c, struct iw_vec scratch, struct iw_vec vec[2])
{
	if (!iw_conn_wants_rx(c))
		return 0;
	c->draining = c->fault.err != 0;
	if (!c->draining)
		return iw_mpa_rx_vec(c->mpa, scratch, vec);
	vec[0] = scratch;
	return 1;
}

/* --- start-up --------------------------------------------------------------------------------- */

_Static_assert((int)IW_RDMAP_RTR_SEND == IW_RTR_SEND && (int)IW_RDMAP_RTR_WRITE == IW_RTR_WRITE &&
		       (int)IW_RDMAP_RTR_READ == IW_RTR_READ,
	       "forms of RTR");

/* RFC 6581 9.2: one form is sent, of those agreed on; a Write costs neither end anything. */
static uint8_t rtr_form(uint8_t set)
{
	if (set & IW_RTR_WRITE)
		return IW_RTR_WRITE;
	if (set & IW_RTR_READ)
		return IW_RTR_READ;
	return set;
}

uint8_t iw_conn_rtr(const struct iw_conn *c)
{
	uint8_t set = iw_mpa_params(c->mpa)->rtr;

	return c->cfg.mpa.initiator ? rtr_form(set) : set;
}

static uint16_t reads_in_force(const struct iw_conn *c, uint16_t depth)
{
	return depth == IW_MPA_IRD_ORD_MAX ? c->cfg.unnegotiated_reads : depth;
}

static int start_rdmap(struct iw_conn *c, struct iw_fault *why)
{
	const struct iw_mpa_params *p = iw_mpa_params(c->mpa);
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

	c->last_rx = c->last_tx = now;
	if (start_rdmap(c, &why) < 0) {
		/* RFC 6581 9.3: no reason with a number of its own */
		iw_fail(&local, IW_E_MPA_LOCAL, "conn: %s", why.text);
		iw_conn_fault(c, &local, now);
		return;
	}
	iw_conn_set_state(c, IW_CONN_OPEN);
	iw_conn_nudge_begin(c);
	iw_conn_event(c, IW_EVENT_ESTABLISHED, NULL, false);
}

/* A Reply that this end cannot live with: IRD, RTR, CRC. rdmap starts for its Terminate (RFC 6581
 * 9.1, 9.2); the ULP never sees the connection established. */
static void unacceptable_reply(struct iw_conn *c, const struct iw_fault *why, uint64_t now)
{
	struct iw_fault ignored;

	(void)!start_rdmap(c, &ignored);
	iw_conn_fault(c, why, now);
}

static void rejected(struct iw_conn *c, uint64_t now)
{
	iw_fail(&c->fault, IW_E_REJECTED,
		"mpa: the peer rejected the connection (%u octets of Private Data)",
		(uint32_t)iw_mpa_params(c->mpa)->pd_len);
	iw_conn_event(c, IW_EVENT_REJECTED, &c->fault, false);
	iw_conn_terminating(c, now);
}

/* --- units ------------------------------------------------------------------------------------ */

static void take_ulpdu(struct iw_conn *c, const struct iw_mpa_unit *u, uint64_t now)
{
	struct iw_fault why;

	iw_fault_none(&why);
	c->counts.rx_fpdus++;
	if (u->ahead_len > 0)
		iw_rdmap_prefetch(c->rdmap, u->ahead, u->ahead_len);
	if (iw_rdmap_receive(c->rdmap, u->data, u->len, now, &why) < 0) {
		why.offset = u->pos;
		iw_conn_fault(c, &why, now);
	}
}

static void take_unit(struct iw_conn *c, const struct iw_mpa_unit *u, uint64_t now)
{
	switch (u->kind) {
	case IW_MPA_UNIT_REQUEST:
		c->decide_at = iw_time_add(now, c->cfg.decide_ns);
		iw_conn_event(c, IW_EVENT_REQUEST, NULL, false);
		return;
	case IW_MPA_UNIT_REPLY:
		iw_conn_established(c, now);
		return;
	case IW_MPA_UNIT_REJECT:
		rejected(c, now);
		return;
	case IW_MPA_UNIT_ULPDU:
		take_ulpdu(c, u, now);
		return;
	}
}

void iw_conn_received(struct iw_conn *c, size_t bytes, uint64_t now)
{
	struct iw_fault why;
	struct iw_mpa_unit u = { 0 };
	int got = 0;

	if (c->state == IW_CONN_CLOSED)
		return;
	iw_fault_none(&why);
	if (bytes > 0) {
		c->last_rx = now;
		iw_conn_nudge_heard(c);
	}
	c->counts.rx_octets += bytes;
	if (c->draining)
		return;
	iw_mpa_received(c->mpa, bytes);
	while (c->fault.err == 0 && (got = iw_mpa_next(c->mpa, &u, &why)) > 0)
		take_unit(c, &u, now);
	if (got < 0) {
		if (c->state == IW_CONN_SETUP && iw_mpa_may_send(c->mpa))
			unacceptable_reply(c, &why, now);
		else
			iw_conn_fault(c, &why, now);
	}
	iw_mpa_rx_end(c->mpa);
}
