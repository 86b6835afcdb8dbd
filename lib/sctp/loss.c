// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Loss detection by T3 (RFC 9260 6.3.3), and before T3 expires by RACK and the tail-loss probe of
 * RFC 8985, applied to chunks instead of segments. RTO.Min is one second and a chunk is fast
 * retransmitted only once, so without RFC 8985 a lost tail, or a chunk lost twice, would cost that
 * second each time. RACK: a chunk is lost if a chunk sent later is acknowledged and more than a
 * round trip and a margin have passed. Tail-loss probe: if nothing is acknowledged for two round
 * trips, the last chunk is sent again, so that a SACK shows which chunks are missing.
 */
#include "sctp/internal.h"

#define REORDER_MIN IW_MSEC(1)   /* least margin of RACK for reordered packets */
#define TLP_MIN     IW_MSEC(10)  /* least wait before a tail-loss probe */
#define MARGIN_KEEP 16           /* recoveries for which RACK's margin remains enlarged */
#define UNDO_TRIPS  2            /* round trips after a recovery in which it may be undone */
#define UNDO_MIN    IW_MSEC(10)  /* least time for that: hosts do not answer faster */
#define PROBES_MAX  6            /* how often the wait for the next probe doubles */
#define PEER_DELAY  IW_MSEC(200) /* by which a peer may delay the SACK for a single packet */

void iw_sctp_begin_recovery(struct iw_sctp_assoc *a, unsigned paths_hit, uint64_t now)
{
	struct outq *q = &a->out;

	if (!q->in_recovery) {
		q->reduced_at = now;
		q->undo_left = 0;
		q->undo_full = false;
		q->undo_until = IW_TIME_NEVER;
		q->undo_wait = 0;
		iw_sctp_choose_cc(a, true);
	}
	for (unsigned i = 0; i < a->npaths && !q->in_recovery; i++) {
		struct path *p = &a->paths[i];

		p->cc.cwnd_before = 0;
		if (!(paths_hit & 1u << i))
			continue;
		if (!a->cc->models)
			iw_sctp_cc_save(&p->cc);
		a->cc->loss(&p->cc);
		iw_sctp_prr_begin(p);
		if (iw_sctp_tracing(a))
			iw_sctp_trace_window(p);
		p->rtx_pass = true; /* 7.2.4, 3: one packet regardless of cwnd */
	}
	if (!q->in_recovery) {
		q->in_recovery = true;
		q->recovery_end = q->next;
	}
}

/* True if c, with number seq, was sent before the acknowledged chunk that was sent last. */
static bool sent_before(const struct out_chunk *c, uint64_t seq, const struct path *p)
{
	return c->sent_at < p->rack_sent || (c->sent_at == p->rack_sent && seq < p->rack_seq);
}

/* RFC 8985 6.2, step 4: quarters of the shortest round trip, at most SRTT. */
static uint64_t reorder_window(const struct path *p)
{
	uint64_t window = p->rtt_min / 4;

	if (p->srtt > 0)
		window = IW_MIN(window * (1u + p->a->out.margin), p->srtt);
	return IW_MAX(window, REORDER_MIN);
}

/* RFC 8985 6.2, step 4: one quarter more, at most once in each round trip. */
static void widen_margin(struct outq *q)
{
	q->reordered = true;
	q->margin_keep = MARGIN_KEEP;
	if (q->una < q->margin_seq || q->margin == UINT8_MAX)
		return;
	q->margin++;
	q->margin_seq = q->next;
}

static void leave_recovery(struct iw_sctp_assoc *a)
{
	a->out.in_recovery = false;
	for (unsigned i = 0; i < a->npaths; i++)
		a->paths[i].prr.full = 0;
}

/* Also leaves the recovery: nothing was lost, and the next loss has to reduce the window. */
static void undo(struct iw_sctp_assoc *a)
{
	leave_recovery(a);
	for (unsigned i = 0; i < a->npaths; i++) {
		struct path *p = &a->paths[i];

		if (p->cc.cwnd_before == 0)
			continue;
		iw_sctp_cc_undo(&p->cc);
		if (iw_sctp_tracing(a))
			iw_sctp_trace_window(p);
	}
}

void iw_sctp_note_resent(struct outq *q, uint64_t seq)
{
	uint32_t tsn = q->tsn0 + (uint32_t)seq;

	if (!q->in_recovery)
		return;
	if (q->undo_left == UNDO_MAX)
		q->undo_full = true;
	else
		q->undo_tsn[q->undo_left++] = tsn;
	if (q->tlp_out && seq == q->tlp_seq) {
		q->undo_probe = tsn;
		q->undo_wait = q->tlp_wait;
	}
}

/* Removes a TSN from the table of retransmissions. False: it is not there. */
static bool take_resent(struct outq *q, uint32_t tsn)
{
	for (uint32_t i = 0; i < q->undo_left; i++) {
		if (q->undo_tsn[i] != tsn)
			continue;
		q->undo_tsn[i] = q->undo_tsn[--q->undo_left];
		return true;
	}
	return false;
}

void iw_sctp_take_dups(struct iw_sctp_assoc *a, const struct iw_sctp_sack *s, uint64_t now)
{
	unsigned n = IW_MIN(s->ndups, UNDO_MAX);
	struct outq *q = &a->out;

	if (now >= q->undo_until)
		q->undo_left = 0;
	for (unsigned i = 0; i < n && q->undo_left > 0; i++) {
		uint32_t tsn = iw_sctp_dup(s, i);

		/* A duplicate that the network made does not show a spurious retransmission. */
		if (!take_resent(q, tsn))
			continue;
		/* A probe that was sent too early does not show that packets overtake each other. */
		if (q->undo_wait == 0 || tsn != q->undo_probe)
			widen_margin(q);
		if (q->undo_left == 0 && !q->undo_full && q->nlost == 0)
			undo(a);
	}
}

void iw_sctp_end_recovery(struct iw_sctp_assoc *a, uint64_t now)
{
	struct outq *q = &a->out;
	uint64_t wait = UNDO_MIN;

	leave_recovery(a);
	for (unsigned i = 0; i < a->npaths; i++)
		wait = IW_MAX(wait, UNDO_TRIPS * a->paths[i].srtt);
	/*
	 * The SACK of a late original may have been taken for that of the probe. The probe was sent
	 * undo_wait after the original, so the duplicate is reported that much later.
	 */
	q->undo_until = now + wait + q->undo_wait;
	if (q->margin_keep > 0 && --q->margin_keep == 0)
		q->margin = 0;
}

void iw_sctp_find_lost(struct iw_sctp_assoc *a, uint64_t now)
{
	struct outq *q = &a->out;
	unsigned hit = 0, again = 0; /* bits of paths */
	uint64_t newest = 0;         /* the largest rack_sent of all paths */

	q->rack_at = IW_TIME_NEVER;
	/*
	 * Without gaps and retransmissions, every chunk in flight was sent after the acknowledged
	 * ones.
	 */
	if (q->gap_end == q->una && q->una >= q->resent_end)
		return;
	for (unsigned i = 0; i < a->npaths; i++)
		newest = IW_MAX(newest, a->paths[i].rack_sent);
	for (uint64_t seq = q->una; (seq = iw_sctp_skip_gapped(q, seq, q->next)) < q->next; seq++) {
		struct out_chunk *c;
		struct path *p;
		uint64_t at;

		if (STATE_OF(*state_at(q, seq)) != CHUNK_FLIGHT)
			continue;
		c = chunk_at(q, seq);
		/* Chunks are sent for the first time in the order of seqs: the rest was sent later. */
		if (c->sends == 1 && c->sent_at > newest)
			break;
		p = &a->paths[c->path];
		if (!sent_before(c, seq, p))
			continue;
		at = c->sent_at + p->rack_rtt + reorder_window(p);
		if (at > now) {
			q->rack_at = IW_MIN(q->rack_at, at);
			continue;
		}
		hit |= 1u << c->path;
		if (c->sends > 1 && c->sent_at >= q->reduced_at)
			again |= 1u << c->path;
		a->count.fast_retransmits++;
		iw_sctp_mark_lost(a, seq, "rack");
		iw_sctp_pmtu_lost(p, c->sends, now);
	}
	/*
	 * RFC 5681 4.3: the loss of a retransmission reduces the window again. Otherwise a window
	 * far above the path would keep losing chunks, and the recovery would never end. The first
	 * losses of the other paths belong to the recovery that has begun.
	 */
	if (q->in_recovery && again) {
		q->in_recovery = false;
		hit = again;
	}
	if (hit)
		iw_sctp_begin_recovery(a, hit, now);
}

static uint64_t tlp_wait(const struct path *p)
{
	uint64_t wait = IW_MAX(2 * p->srtt, TLP_MIN);

	return p->nflight == 1 ? wait + PEER_DELAY : wait;
}

void iw_sctp_arm_tlp(struct iw_sctp_assoc *a, uint64_t now)
{
	struct outq *q = &a->out;
	struct path *p = iw_sctp_data_path(a);
	uint64_t wait;

	q->tlp_at = IW_TIME_NEVER;
	/*
	 * Also in recovery, unlike RFC 8985 7.2: if all retransmissions are lost, no SACK arrives,
	 * RACK finds nothing, and T3 would take at least a second. There may then be no round trip
	 * to measure, which RFC 8985 7.3 requires before another probe. So that a path that has
	 * become slower does not get a probe for each chunk, the wait doubles instead.
	 */
	if (p->nflight == 0 || p->srtt == 0 || q->tlp_out)
		return;
	if (q->probe_window) /* RFC 9260 6.1 A: T3 sets the interval of zero window probes */
		return;
	wait = tlp_wait(p) << q->probes;
	if (iw_time_add(now, wait) < p->t3_at)
		q->tlp_at = now + wait;
}

static void tail_probe(struct iw_sctp_assoc *a, uint64_t now)
{
	const struct path *p = iw_sctp_data_path(a);
	struct outq *q = &a->out;

	if (iw_sctp_tracing(a))
		iw_sctp_trace_timer(a, p->index, "tail_probe", tlp_wait(p) << q->probes);
	q->probes = (uint8_t)IW_MIN(q->probes + 1, PROBES_MAX);
	/*
	 * Chunks that are lost are sent before any other: one of them is the probe. RFC 8985 7.3
	 * permits one until something is acknowledged. Here more follow, at growing intervals.
	 */
	if (q->nlost > 0) {
		a->count.tail_probes++;
		a->paths[chunk_at(q, iw_sctp_first_lost(q))->next_path].rtx_pass = true;
		return;
	}
	for (uint64_t seq = q->next; seq > q->una; seq--) {
		if (STATE_OF(*state_at(q, seq - 1)) != CHUNK_FLIGHT)
			continue;
		q->tlp_seq = seq - 1;
		q->tlp_wait = now - chunk_at(q, seq - 1)->sent_at;
		q->tlp_out = true;
		a->count.tail_probes++;
		iw_sctp_mark_lost(a, seq - 1, NULL);
		a->paths[chunk_at(q, seq - 1)->path].rtx_pass = true;
		return;
	}
}

void iw_sctp_loss_timeouts(struct iw_sctp_assoc *a, uint64_t now)
{
	struct outq *q = &a->out;

	if (q->rack_at <= now) {
		const struct path *p = iw_sctp_data_path(a);

		if (iw_sctp_tracing(a))
			iw_sctp_trace_timer(a, p->index, "rack", reorder_window(p));
		for (unsigned i = 0; i < a->npaths; i++)
			a->paths[i].flight_before = a->paths[i].flight;
		iw_sctp_find_lost(a, now);
	}
	if (q->tlp_at <= now) {
		q->tlp_at = IW_TIME_NEVER;
		tail_probe(a, now);
	}
	if (q->persist_at <= now) {
		const struct path *p = iw_sctp_data_path(a);

		if (iw_sctp_tracing(a))
			iw_sctp_trace_timer(a, p->index, "persist", p->rto);
		q->persist_at = IW_TIME_NEVER;
		q->probe_window = true;
	}
}

void iw_sctp_t3(struct iw_sctp_assoc *a, struct path *p, uint64_t now)
{
	struct outq *q = &a->out;
	bool probing = q->probe_window && q->window_answers;
	struct path *to;
	bool shut;

	p->t3_at = IW_TIME_NEVER;
	if (p->nflight == 0)
		return;
	/*
	 * 6.1 A: while SACKs arrive, a chunk that does not fit the window does not count as a path
	 * error: it is a probe, or it was in flight when the window closed.
	 */
	shut = q->window_answers && a->peer_rwnd < chunk_at(q, q->una)->len;
	a->count.timeouts++;
	if (iw_sctp_tracing(a))
		iw_sctp_trace_timer(a, p->index, "t3", p->rto);
	q->window_answers = false;
	if (!shut && !iw_sctp_path_failed(p, false))
		return;
	iw_sctp_choose_cc(a, true);
	if (!probing)
		a->cc->timeout(&p->cc);                       /* E1 */
	p->rto = IW_MIN(2 * p->rto, a->s->cfg.times.rto_max); /* E2 */
	p->one_packet = !probing;
	if (iw_sctp_tracing(a))
		iw_sctp_trace_window(p);
	to = iw_sctp_rtx_path(a, p);
	for (uint64_t seq = q->una; seq < q->next; seq++) {
		struct out_chunk *c = chunk_at(q, seq);

		if (STATE_OF(*state_at(q, seq)) == CHUNK_FLIGHT && c->path == p->index)
			iw_sctp_mark_lost(a, seq, "t3");
		/* 6.4; also a chunk that was to be retransmitted on p */
		if (STATE_OF(*state_at(q, seq)) == CHUNK_LOST && c->next_path == p->index)
			c->next_path = to->index;
	}
	to->rtx_pass = true; /* E3: one packet at once */
	leave_recovery(a);
	q->undo_left = 0;
	/* RFC 8985 7.1: the answer to what is sent from now on is no answer to a probe. */
	q->tlp_out = false;
	q->tlp_at = q->rack_at = IW_TIME_NEVER;
	iw_sctp_pmtu_timed_out(p, now);
}
