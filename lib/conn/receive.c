// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Receiving over a stream: passes octets to MPA, and MPA's units to the ULP or to RDMAP. */
#include "conn/conn.h"

#include "conn/internal.h"

bool iw_conn_wants_rx(const struct iw_conn *c)
{
	if (c->state == IW_CONN_CLOSED || c->peer_fin)
		return false;
	if (c->mpa == NULL)
		return true;
	if (c->state == IW_CONN_SETUP)
		return iw_mpa_state(c->mpa) != IW_MPA_DECIDING;
	return c->state != IW_CONN_TERMINATING || !iw_conn_leaves_stream(c);
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

/* --- units ------------------------------------------------------------------------------------ */

IW_TRACES static void trace_fpdu(const struct iw_conn *c, const struct iw_mpa_unit *u)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_fpdu_received,
				     .stream = iw_rdmap_stream(c->rdmap) };

	ev.fpdu_received.offset_octets = u->pos;
	ev.fpdu_received.octets = u->fpdu_len;
	ev.fpdu_received.ulpdu_octets = u->len;
	ev.fpdu_received.markers = iw_mpa_agreed(c->mpa)->rx_markers;
	ev.fpdu_received.crc = iw_mpa_agreed(c->mpa)->crc;
	iw_trace(c->cfg.tracer, &ev);
}

static void take_ulpdu(struct iw_conn *c, const struct iw_mpa_unit *u, uint64_t now)
{
	struct iw_fault why;

	iw_fault_none(&why);
	c->counts.rx_fpdus++;
	if (iw_tracing(c->cfg.tracer))
		trace_fpdu(c, u);
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
		iw_conn_rejected(c);
		if (c->cfg.keep_stream)
			iw_conn_closed(c, NULL, false);
		else
			iw_conn_terminating(c, now);
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
	if (bytes > 0)
		iw_conn_nudge_heard(c);
	c->counts.rx_octets += bytes;
	if (c->draining)
		return;
	iw_mpa_received(c->mpa, bytes);
	while (c->fault.err == 0 && (got = iw_mpa_next(c->mpa, &u, &why)) > 0)
		take_unit(c, &u, now);
	if (got < 0) {
		if (c->state == IW_CONN_SETUP && iw_mpa_may_send(c->mpa))
			iw_conn_unacceptable(c, &why, now);
		else
			iw_conn_fault(c, &why, now);
	}
	iw_mpa_rx_end(c->mpa);
	(void)iw_conn_moved(c, now);
}
