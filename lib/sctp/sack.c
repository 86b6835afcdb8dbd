// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Processes SACKs (RFC 9260 6.2.1, 7.2.4): which chunks have arrived, which are missing, and the
 * peer's window. Each SACK causes a few passes over the states, from the oldest chunk to the highest
 * gap block. A SACK for a chunk that was never sent ends the association.
 */
#include "sctp/internal.h"

/* What the SACK being processed has reported so far. */
struct acked {
	uint64_t now;
	uint64_t htna_end; /* one above the highest seq newly acknowledged */
	uint64_t gap_end;  /* outq.gap_end before the SACK */
	/*
	 * The cumulative TSN has advanced; any chunk, one that was sent once, or the tail-loss
	 * probe that was sent, is newly acknowledged.
	 */
	bool cum_moved, any, once, probe;
};

/*
 * Sets *end to one above the highest seq that cum acknowledges. Returns false if cum is old, or if
 * that chunk was never sent, which ends the association.
 */
static bool cum_end(struct iw_sctp_assoc *a, uint32_t cum, uint64_t *end)
{
	struct outq *q = &a->out;
	int32_t ahead = (int32_t)(cum - (q->tsn0 + (uint32_t)q->una - 1));

	if (ahead < 0)
		return false;
	*end = q->una + (uint32_t)ahead;
	if (*end <= q->next)
		return true;
	iw_sctp_kill(a, IW_SCTP_CAUSE_PROTOCOL, NULL, 0, IW_E_FORMAT,
		     "sctp: the peer acknowledges TSN %u, which was not sent", cum);
	return false;
}

/* A chunk is newly acknowledged. Its round trip is measured only if it was sent once (Karn). */
static void newly(struct iw_sctp_assoc *a, uint64_t seq, struct acked *t)
{
	struct out_chunk *c = chunk_at(&a->out, seq);
	struct path *p = &a->paths[c->path];
	uint64_t took = t->now - c->sent_at;

	iw_sctp_leave(a, seq);
	if (p->newly == 0)
		p->newly_from = seq;
	p->newly += chunk_octets(c->len);
	t->any = true;
	t->htna_end = IW_MAX(t->htna_end, seq + 1);
	t->once |= c->sends == 1;
	/*
	 * If the probe is still LOST, it was not sent yet. If the answer is faster than any before,
	 * it is for the original chunk (RFC 8985 6.2).
	 */
	t->probe |= a->out.tlp_out && seq == a->out.tlp_seq &&
		    STATE_OF(*state_at(&a->out, seq)) == CHUNK_FLIGHT && took >= p->rtt_min;
	/* RFC 8985 6.2, step 3: a later chunk was acknowledged first. */
	a->out.reordered |= c->sends == 1 && seq + 1 < t->gap_end;
	if (c->sends == 1 && seq >= p->rtt_seq)
		p->sample = IW_MAX(took, (uint64_t)1);
	/* An answer faster than any before is for the earlier transmission (RFC 8985 6.2). */
	if (c->sends > 1 && took < p->rtt_min)
		return;
	if (c->sent_at > p->rack_sent || (c->sent_at == p->rack_sent && seq > p->rack_seq)) {
		p->rack_sent = c->sent_at;
		p->rack_seq = seq;
		p->rack_rtt = took;
	}
}

static void take_cum(struct iw_sctp_assoc *a, uint64_t end, struct acked *t)
{
	struct outq *q = &a->out;

	t->cum_moved = end > q->una;
	if (t->cum_moved && end == q->next)
		q->probe_window = false; /* 6.1 A: the next zero window probe has to wait again */
	for (; q->una < end; q->una++) {
		if (STATE_OF(*state_at(q, q->una)) != CHUNK_GAPPED)
			newly(a, q->una, t);
		q->acked_octets += chunk_at(q, q->una)->len;
		iw_sctp_release(a, chunk_at(q, q->una));
	}
	q->lost_from = IW_MAX(q->lost_from, q->una);
	q->gap_end = IW_MAX(q->gap_end, q->una);
}

/*
 * 6.2.1 D iii: the peer has reneged on chunks that a gap block acknowledged earlier and none
 * acknowledges now. They are in flight again.
 */
static void taken_back(struct iw_sctp_assoc *a, uint64_t from, uint64_t to)
{
	struct outq *q = &a->out;

	for (uint64_t seq = from; seq < to; seq++) {
		struct out_chunk *c = chunk_at(q, seq);
		struct path *p = &a->paths[c->path];

		if (STATE_OF(*state_at(q, seq)) != CHUNK_GAPPED)
			continue;
		*state_at(q, seq) = CHUNK_FLIGHT;
		p->flight += chunk_octets(c->len);
		p->nflight++;
		q->flight_data += c->len;
		/* find_lost has to check it: a later one may have been acknowledged. */
		q->resent_end = IW_MAX(q->resent_end, seq + 1);
	}
}

/*
 * Ignores blocks that are empty, out of order or overlap. Returns false if a block acknowledges a
 * chunk that was never sent: the association has ended.
 */
static bool take_gaps(struct iw_sctp_assoc *a, const struct iw_sctp_sack *s, struct acked *t)
{
	struct outq *q = &a->out;
	uint64_t done = q->una;

	for (unsigned i = 0; i < s->ngaps; i++) {
		uint64_t from = q->una + iw_sctp_gap_start(s, i) - 1;
		uint64_t to = q->una + iw_sctp_gap_end(s, i);

		if (iw_sctp_gap_start(s, i) == 0 || from < done || to <= from)
			continue;
		if (to > q->next) {
			iw_sctp_kill(a, IW_SCTP_CAUSE_PROTOCOL, NULL, 0, IW_E_FORMAT,
				     "sctp: gap block %u acknowledges TSNs that were not sent", i);
			return false;
		}
		taken_back(a, done, from);
		while ((from = iw_sctp_skip_gapped(q, from, to)) < to) {
			newly(a, from, t);
			*state_at(q, from++) = CHUNK_GAPPED;
		}
		done = to;
	}
	taken_back(a, done, q->gap_end);
	q->gap_end = done;
	return true;
}

/* 7.2.4: counts miss indications by the HTNA rule. Returns the set of paths that lost a chunk. */
static unsigned count_misses(struct iw_sctp_assoc *a, const struct acked *t)
{
	struct outq *q = &a->out;
	uint64_t end = q->in_recovery && t->cum_moved ? q->gap_end
						      : IW_MIN(t->htna_end, q->gap_end);
	unsigned hit = 0;

	/* RFC 8985 6.2, step 4: where packets overtake each other, only the time shows a loss. */
	if (q->reordered)
		return 0;
	for (uint64_t seq = q->una; (seq = iw_sctp_skip_gapped(q, seq, end)) < end; seq++) {
		uint8_t *state = state_at(q, seq);
		struct out_chunk *c;

		if (STATE_OF(*state) != CHUNK_FLIGHT || MISSES_OF(*state) >= MISSES_MAX)
			continue;
		*state += 1 << 2;
		c = chunk_at(q, seq);
		/* 7.2.4: only one fast retransmission. RACK or T3 detects a second loss. */
		if (MISSES_OF(*state) < MISSES_MAX || c->sends > 1)
			continue;
		hit |= 1u << c->path;
		a->count.fast_retransmits++;
		iw_sctp_mark_lost(a, seq, "gap");
	}
	return hit;
}

static void begin_ack(struct iw_sctp_assoc *a)
{
	for (unsigned i = 0; i < a->npaths; i++) {
		struct path *p = &a->paths[i];

		p->newly = 0;
		p->flight_before = p->flight;
		p->sample = 0;
		p->rack_sent_before = p->rack_sent;
		p->rack_seq_before = p->rack_seq;
	}
}

/* The controller takes the acknowledgement of chunks of the path. */
static void take_ack(struct path *p, struct iw_sctp_cc_ack *ack)
{
	struct iw_sctp_assoc *a = p->a;
	bool newer = p->rack_sent != p->rack_sent_before || p->rack_seq != p->rack_seq_before;
	enum iw_sctp_bbr_state state = IW_SCTP_BBR_STARTUP;
	struct iw_sctp_cc_sample sample;

	ack->srtt = p->srtt;
	if (a->cc->models && iw_sctp_rate_sample(p, newer, ack->now, &sample))
		ack->sample = &sample;
	if (p->cc.bbr)
		state = p->cc.bbr->state;
	a->cc->ack(&p->cc, ack);
	ack->sample = NULL;
	if (!iw_sctp_tracing(a))
		return;
	iw_sctp_trace_window(p);
	if (p->cc.bbr && p->cc.bbr->state != state)
		iw_sctp_trace_model(p);
}

/* Updates the round-trip times, windows and T3 of the paths on which chunks were acknowledged. */
static void end_ack(struct iw_sctp_assoc *a, const struct acked *t)
{
	const struct outq *q = &a->out;

	for (unsigned i = 0; i < a->npaths; i++) {
		struct path *p = &a->paths[i];
		struct iw_sctp_cc_ack ack = {
			.octets = p->newly,
			.flight_before = p->flight_before,
			.flight = p->flight,
			.in_recovery = q->in_recovery,
			.all_acked = q->una == q->next,
			.l = a->s->cfg.abc_l,
			.now = t->now,
		};

		if (p->sample) {
			iw_sctp_rtt(p, p->sample);
			p->rtt_seq = q->next;
			iw_sctp_choose_cc(a, false);
		}
		if (p->newly) {
			p->one_packet = false;
			iw_sctp_path_alive(p, t->now);
			take_ack(p, &ack);
		}
		if (p->nflight > 0 && (p->t3_at == IW_TIME_NEVER ||
				       (p->newly && iw_sctp_is_earliest(p, p->newly_from))))
			p->t3_at = iw_time_add(t->now, p->rto); /* 6.3.2 R4, R3 */
	}
}

/*
 * 6.1 A: the peer has dropped the window probe in flight for lack of room, and now has room:
 * repeats the probe. T3 would repeat it up to RTO.Max later. A probe has no effect on cwnd.
 */
static void repeat_probe(struct iw_sctp_assoc *a)
{
	struct outq *q = &a->out;

	if (!q->probe_window || q->una == q->next || a->peer_rwnd < chunk_at(q, q->una)->len)
		return;
	q->probe_window = false;
	if (STATE_OF(*state_at(q, q->una)) != CHUNK_FLIGHT)
		return;
	iw_sctp_mark_lost(a, q->una, NULL);
	a->paths[chunk_at(q, q->una)->path].rtx_pass = true;
	q->probe_repeated = true;
}

/* RFC 9937: what the paths may send next. lost: count.fast_retransmits before this SACK. */
static void reduce_rate(struct iw_sctp_assoc *a, const struct acked *t, uint64_t lost)
{
	for (unsigned i = 0; i < a->npaths && a->out.in_recovery; i++)
		iw_sctp_prr_ack(&a->paths[i], t->cum_moved && a->count.fast_retransmits == lost);
}

static void after_ack(struct iw_sctp_assoc *a, const struct acked *t)
{
	struct outq *q = &a->out;

	if (q->in_recovery && q->una >= q->recovery_end)
		iw_sctp_end_recovery(a, t->now);
	if (t->any)
		q->tlp_out = false;
	if (t->once)
		q->probes = 0;
	iw_sctp_arm_tlp(a, t->now);
	if (t->cum_moved)
		iw_sctp_raise(a, IW_SCTP_EV_DONE);
	iw_sctp_shutdown_progress(a, t->now);
	iw_sctp_touch(a);
}

bool iw_sctp_on_cum(struct iw_sctp_assoc *a, uint32_t tsn, uint64_t now)
{
	struct acked t = { .now = now, .gap_end = a->out.gap_end };
	uint64_t end;

	if (!cum_end(a, tsn, &end))
		return a->linked;
	begin_ack(a);
	take_cum(a, end, &t);
	end_ack(a, &t);
	reduce_rate(a, &t, a->count.fast_retransmits);
	after_ack(a, &t);
	return a->linked;
}

void iw_sctp_on_sack(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c, uint64_t now)
{
	struct acked t = { .now = now, .gap_end = a->out.gap_end };
	struct outq *q = &a->out;
	uint64_t lost = a->count.fast_retransmits, end;
	struct iw_sctp_sack s;
	bool repaired;
	unsigned hit;

	if (iw_wire_sctp_sack_decode(&s, c->value, c->value_len) == 0 || !cum_end(a, s.cum, &end))
		return;
	begin_ack(a);
	take_cum(a, end, &t);
	if (!take_gaps(a, &s, &t))
		return;
	if (iw_sctp_tracing(a))
		iw_sctp_trace_acked(a, &s);
	a->peer_rwnd = s.a_rwnd;
	a->peer_rwnd_max = IW_MAX(a->peer_rwnd_max, s.a_rwnd);
	q->window_answers = true;
	repeat_probe(a);
	end_ack(a, &t);
	iw_sctp_take_dups(a, &s, now);
	hit = count_misses(a, &t);
	/*
	 * The tail-loss probe is acknowledged, and no duplicate is reported: the original was lost
	 * (RFC 8985 7.4.2). If a duplicate follows, the reduction is undone.
	 */
	repaired = t.probe && s.ndups == 0 && !q->in_recovery;
	if (repaired)
		hit |= 1u << chunk_at(q, q->tlp_seq)->path;
	if (hit)
		iw_sctp_begin_recovery(a, hit, now);
	if (repaired)
		iw_sctp_note_resent(q, q->tlp_seq);
	iw_sctp_find_lost(a, now);
	reduce_rate(a, &t, lost);
	after_ack(a, &t);
}
