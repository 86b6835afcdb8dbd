// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reports to the machine which octets have moved on a connection, those of incomplete messages and
 * windows included.
 */
#include <string.h>

#include "transfer/internal.h"

/* Octets of files that must move between two checks to count as progress inside a chunk. */
#define PAYLOAD_STEP 4096

/* Octets, at least, that the peer wrote into windows, or read from offers, more than once. */
static uint64_t repeated(const struct session *s)
{
	struct iw_tally tally;
	uint64_t placed;

	iw_qp_tally(s->qp, &tally);
	placed = tally.write_octets + tally.read_octets;
	return placed - IW_MIN(placed, s->lent_octets);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a - IW_MIN(a, b);
}

/*
 * Over SCTP the connections of a transfer share an association, which counts the octets of all of
 * them.
 */
static uint64_t acked_of(const struct session *s, const struct iw_qp_info *info)
{
	uint64_t others = 0;

	if (strcmp(s->hub->cli->transport, "tcp") == 0)
		return info->tx_acked;
	for (struct iw_list *l = s->hub->sessions.next; l != &s->hub->sessions; l = l->next) {
		const struct session *other = iw_container_of(l, struct session, all);

		if (other != s && other->group == s->group && other->x)
			others += iw_xfer_own_octets(other->x);
	}
	return less(info->tx_acked, others);
}

void iw_session_sample(struct session *s)
{
	const struct iw_xfer_counts *c = iw_xfer_counts(s->x);
	uint64_t again = repeated(s), payload;
	struct iw_qp_info info;
	struct iw_xfer_traffic line;

	iw_qp_info(s->qp, &info);
	line = (struct iw_xfer_traffic){
		.received = info.rx_octets,
		.arrived = less(info.rx_payload, c->control_received + again) + info.rx_part,
		.acked = acked_of(s, &info)
	};
	iw_xfer_traffic(s->x, &line, s->hub->now);
	payload = less(info.rx_payload + info.tx_payload,
		       c->control_received + c->control_sent + again) +
		  info.rx_part;
	if (payload < s->seen_payload + PAYLOAD_STEP)
		return;
	s->seen_payload = payload;
	s->payload_at = s->group->payload_at = s->hub->now;
	iw_xfer_moved(s->x, s->hub->now);
}

void iw_session_windows(struct session *s)
{
	struct iw_xfer_window windows[IW_XFER_WINDOWS] = { 0 };
	struct work *w = s->work;
	struct iw_tally tally;

	if (!w || s->phase != PH_UP || s->mine.role != IW_XFER_SINK ||
	    s->mine.mode != IW_XFER_WRITE)
		return;
	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++) {
		if (!w->mr[i])
			continue;
		iw_mr_tally(w->mr[i], &tally);
		windows[i].octets = tally.write_octets;
		windows[i].whole = iw_mr_written(w->mr[i]);
	}
	iw_xfer_windows(s->x, windows, s->hub->now);
	iw_session_make_ready(s);
}
