// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rate at which a path delivers DATA, for controllers with a model: after
 * draft-cheng-iccrg-delivery-rate-estimation. The draft stamps each packet when it is sent. Here a
 * mark is made for all chunks sent within a sixteenth of a round trip, in an array of fixed size. A
 * chunk finds its mark by the time at which it was sent.
 */
#include "sctp/internal.h"

#define MARKS_A_TRIP 16
#define APP_LIMITED  8 /* an idle part of a round trip that matters: 1 / 8 */
/*
 * The choice of a controller: above this round-trip time a model pays, and timers are fine enough
 * to pace. Below it cubic is faster, and losses are repaired at once.
 */
#define LONG_TRIP    IW_MSEC(1)
#define TRIP_SAMPLES 3 /* the first may include the start of a process */

void iw_sctp_model_free(struct path *p)
{
	iw_mem_free(p->a->s->cfg.mem, p->model, sizeof(*p->model));
	p->model = NULL;
	p->cc.bbr = NULL;
	p->cc.pacing = 0;
}

static void use(struct iw_sctp_assoc *a, const struct iw_sctp_cc_ops *cc)
{
	for (unsigned i = 0; i < a->npaths && cc != a->cc; i++) {
		iw_sctp_model_free(&a->paths[i]);
		a->paths[i].cc.epoch = 0; /* CUBIC's growth begins now */
	}
	a->cc = cc;
}

struct path_model *iw_sctp_model(struct path *p)
{
	struct iw_sctp_assoc *a = p->a;

	if (p->model)
		return p->model;
	p->model = iw_mem_alloc(a->s->cfg.mem, sizeof(*p->model));
	if (!p->model) {
		use(a, &iw_sctp_cc_cubic);
		a->cc_auto = false;
		return NULL;
	}
	*p->model = (struct path_model){ .spacing = 0 };
	iw_sctp_bbr_init(&p->model->bbr, iw_next_jitter(&a->s->jitter));
	p->cc.bbr = &p->model->bbr;
	return p->model;
}

void iw_sctp_set_cc(struct iw_sctp_assoc *a, const struct iw_sctp_cc_ops *cc)
{
	a->cc_auto = cc == &iw_sctp_cc_auto;
	if (!a->cc_auto)
		use(a, cc);
	else if (!a->cc || !a->cc->models)
		use(a, &iw_sctp_cc_cubic);
}

/*
 * The lowest round-trip time of a path only falls. So a path that proves to be short returns to
 * cubic, once, and only a change of the path leads to bbr again.
 */
void iw_sctp_choose_cc(struct iw_sctp_assoc *a, bool lost)
{
	const struct path *p;

	if (!a->cc_auto)
		return;
	p = iw_sctp_data_path(a);
	if (p->rtt_samples >= (lost ? 1 : TRIP_SAMPLES))
		use(a, p->rtt_min > LONG_TRIP ? &iw_sctp_cc_bbr : &iw_sctp_cc_cubic);
}

static struct rate_mark *mark_at(struct path_model *m, unsigned i)
{
	return &m->mark[(m->first + i) % RATE_MARKS];
}

/* Without room, every second mark is dropped, and the least time between new ones is doubled. */
static void thin_out(struct path_model *m)
{
	for (unsigned i = 0; i < RATE_MARKS / 2; i++)
		*mark_at(m, i) = *mark_at(m, 2 * i);
	m->marks = RATE_MARKS / 2;
	m->spacing = IW_MAX(2 * m->spacing, (uint64_t)1);
}

void iw_sctp_rate_sent(struct path *p, uint32_t octets, uint64_t now)
{
	struct path_model *m = iw_sctp_model(p);
	struct rate_mark *last;

	if (!m)
		return;
	if (p->nflight == 0 || m->first_sent_at == 0)
		m->first_sent_at = m->delivered_at = now;
	if (m->idle_from && (now - m->idle_from) * APP_LIMITED > p->srtt)
		m->limited_until = m->delivered + p->flight + 1;
	m->idle_from = 0;
	last = m->marks > 0 ? mark_at(m, m->marks - 1) : NULL;
	if (last && (now == last->sent_at || now - last->sent_at < m->spacing)) {
		last->flight = p->flight + octets;
		last->limited |= m->limited_until > 0;
		return;
	}
	if (m->marks == RATE_MARKS)
		thin_out(m);
	*mark_at(m, m->marks++) = (struct rate_mark){
		.sent_at = now,
		.delivered = m->delivered,
		.delivered_at = m->delivered_at,
		.lost = m->lost,
		.first_sent_at = m->first_sent_at,
		.flight = p->flight + octets,
		.limited = m->limited_until > 0,
	};
}

/* Returns the last mark made at that time or before it, and drops the marks before. NULL: none. */
static const struct rate_mark *find(struct path_model *m, uint64_t sent_at)
{
	unsigned n = 0;

	if (m->marks == 0 || mark_at(m, 0)->sent_at > sent_at)
		return NULL;
	while (n + 1 < m->marks && mark_at(m, n + 1)->sent_at <= sent_at)
		n++;
	m->first = (m->first + n) % RATE_MARKS;
	m->marks -= n;
	return mark_at(m, 0);
}

bool iw_sctp_rate_sample(struct path *p, bool newer, uint64_t now, struct iw_sctp_cc_sample *out)
{
	struct path_model *m = p->model;
	const struct out_chunk *c;
	const struct rate_mark *k;
	uint64_t took, octets;

	if (!m)
		return false;
	m->delivered += p->newly;
	m->delivered_at = now;
	if (m->limited_until && m->delivered > m->limited_until)
		m->limited_until = 0;
	if (!newer)
		return false;
	m->first_sent_at = p->rack_sent;
	k = find(m, p->rack_sent);
	if (!k)
		return false;
	c = chunk_at(&p->a->out, p->rack_seq);
	octets = m->delivered - k->delivered;
	took = IW_MAX(now - k->delivered_at, p->rack_sent - k->first_sent_at);
	*out = (struct iw_sctp_cc_sample){
		.rtt = c->sends == 1 ? p->rack_rtt : 0,
		.delivered = m->delivered,
		.lost = m->lost,
		.delivered_then = k->delivered,
		.lost_then = k->lost,
		.flight_then = k->flight,
		.app_limited = k->limited,
	};
	/* A shorter time than any round trip shows a burst of acknowledgements, not a rate. */
	if (took > 0 && took >= p->rtt_min && octets < UINT32_MAX)
		out->rate = octets * 1000000000u / took;
	m->spacing = p->rtt_min == UINT64_MAX ? 0 : p->rtt_min / MARKS_A_TRIP;
	return true;
}

void iw_sctp_rate_idle(struct path *p, uint64_t now)
{
	if (p->model && p->model->idle_from == 0 && p->flight < p->cc.cwnd)
		p->model->idle_from = now;
}
