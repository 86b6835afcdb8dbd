// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sending over a stream: pulls segments from RDMAP, and lets MPA frame them into a batch. */
#include "conn/conn.h"

#include <assert.h>

#include "conn/internal.h"

void iw_conn_drop_batch(struct iw_conn *c)
{
	if (c->tx == NULL)
		return;
	iw_pool_put(c->cfg.txbufs, c->tx);
	c->tx = NULL;
	iw_rdmap_hold(c->rdmap, false);
}

IW_TRACES static void trace_fpdu(const struct iw_conn *c, size_t ulpdu, size_t octets)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_fpdu_sent,
				     .stream = iw_rdmap_stream(c->rdmap) };

	ev.fpdu_sent.offset_octets = c->tx_pos;
	ev.fpdu_sent.octets = octets;
	ev.fpdu_sent.ulpdu_octets = ulpdu;
	ev.fpdu_sent.markers = iw_mpa_agreed(c->mpa)->tx_markers;
	ev.fpdu_sent.crc = iw_mpa_agreed(c->mpa)->crc;
	iw_trace(c->cfg.tracer, &ev);
}

static void fill_batch(struct iw_conn *c, uint64_t now)
{
	const struct iw_fault *why;
	struct iw_segment seg;
	size_t n, room;
	uint64_t before = iw_rdmap_moved(c->rdmap)->tx_payload;

	while ((room = iw_mpa_room(c->mpa, c->tx)) > 0) {
		if (iw_rdmap_pull(c->rdmap, room, &seg, now) <= 0)
			break;
		n = iw_mpa_wrap(c->mpa, c->tx, seg.hdr, seg.hdr_len, seg.payload, seg.npayload,
				seg.copy);
		assert(n > 0); /* iw_mpa_room has checked it */
		if (iw_tracing(c->cfg.tracer))
			trace_fpdu(c, seg.hdr_len + seg.payload_len, n);
		c->tx_pos += n;
		c->counts.tx_fpdus++;
		iw_rdmap_pulled(c->rdmap, c->tx_pos);
	}
	c->tx_moves = iw_conn_moved(c, now);
	c->tx_bytes = c->tx->bytes;
	c->tx_payload = iw_rdmap_moved(c->rdmap)->tx_payload - before;
	/* iw_rdmap_pull detects that the source of a Read Response was revoked. */
	why = iw_rdmap_fault(c->rdmap);
	if (why != NULL)
		iw_conn_fault(c, why, now);
}

/*
 * RFC 5044 7.1.2 rule 4: a responder must not send first. If the initiator closes its side without
 * an FPDU, this side can never send.
 */
static void fail_without_fpdu(struct iw_conn *c)
{
	struct iw_fault why = { 0 };

	iw_fail(&why, IW_E_CLOSED,
		"conn: the initiator closed the connection without an FPDU, and a responder must not send first");
	iw_conn_closed(c, &why, true);
}

/* Fills a new batch. False: there is nothing to send, or no buffer is free. */
static bool next_batch(struct iw_conn *c, uint64_t now)
{
	if (!iw_conn_may_fill(c))
		return false;
	if (!iw_mpa_may_send(c->mpa)) {
		if (c->peer_fin)
			fail_without_fpdu(c);
		return false;
	}
	c->tx = iw_pool_get(c->cfg.txbufs);
	c->starved = c->tx == NULL;
	c->starved_at = now;
	if (c->starved)
		return false;
	iw_txbuf_init(c->tx);
	c->tx_cut_short = false;
	c->last_tx = now;
	fill_batch(c, now);
	if (c->tx->bytes == 0)
		iw_conn_drop_batch(c);
	return c->tx != NULL;
}

bool iw_conn_send(struct iw_conn *c, struct iw_tx *tx, uint64_t now)
{
	if (c->state == IW_CONN_CLOSED)
		return false;
	c->startup_vec = iw_mpa_tx_startup(c->mpa);
	if (c->startup_vec.len > 0) {
		*tx = (struct iw_tx){
			.vec = &c->startup_vec,
			.nvec = 1,
			.bytes = c->startup_vec.len,
			.eor = true,
		};
		return true;
	}
	if (c->tx == NULL && !next_batch(c, now))
		return false;
	*tx = (struct iw_tx){
		.vec = &c->tx->vec[c->tx->first],
		.nvec = c->tx->nvec - c->tx->first,
		.bytes = c->tx->bytes,
		/*
		 * TCP took a part of the batch and may have ended a segment inside an FPDU. MSG_EOR
		 * restores the alignment: the next batch begins a segment.
		 */
		.eor = c->tx->eor || (c->tx_cut_short && iw_mpa_aligned(c->mpa)),
	};
	return true;
}

void iw_conn_drained(struct iw_conn *c, uint64_t now)
{
	c->last_tx = now;
}

void iw_conn_sent(struct iw_conn *c, size_t bytes, uint64_t now)
{
	if (c->state == IW_CONN_CLOSED || bytes == 0)
		return;
	c->counts.tx_octets += bytes;
	c->last_tx = now;
	if (iw_mpa_tx_startup(c->mpa).len > 0) {
		iw_mpa_tx_startup_sent(c->mpa, bytes);
		return;
	}
	if (c->tx_moves)
		c->moved_at = now;
	iw_txbuf_sent(c->tx, bytes);
	c->sent_pos += bytes;
	iw_conn_nudge_sent(c, now);
	if (c->tx->bytes == 0)
		iw_conn_drop_batch(c);
	else
		c->tx_cut_short = true;
	iw_rdmap_sent(c->rdmap, c->sent_pos, c->sent_pos);
}

bool iw_conn_fin_due(struct iw_conn *c, uint64_t now)
{
	if (c->tx != NULL || iw_mpa_tx_startup(c->mpa).len > 0 || !iw_conn_all_out(c))
		return false;
	if (iw_conn_leaves_stream(c)) {
		iw_conn_closed(c, NULL, false);
		return false;
	}
	iw_conn_shut(c, now);
	return true;
}
