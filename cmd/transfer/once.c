// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A listener that serves one transfer (--once, or ddp-recv -). */
#include "transfer/internal.h"

static const char taken_text[] =
	"this listener accepts one transfer (--once, or ddp-recv -), which has begun";

static const char stalled_text[] =
	"no octets of this transfer have moved for --timeout, and another transfer replaced it (--once)";

void iw_group_end_others(struct hub *h, const struct group *g, const struct group *before)
{
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group != g)
			iw_session_stop(s, s->group == before ? stalled_text : taken_text);
	}
}

static bool is_at_work(const struct session *s)
{
	return s->phase == PH_UP && s->x && iw_xfer_busy_here(s->x);
}

bool iw_group_is_stalled(struct group *g)
{
	struct hub *h = g->hub;

	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group != g)
			continue;
		if (s->phase == PH_UP && s->x)
			iw_session_sample(s);
		if (is_at_work(s))
			g->payload_at = h->now;
	}
	if (g->tasks > 0)
		g->payload_at = h->now;
	return h->now - g->payload_at >= h->cli->timeout_ns;
}

bool iw_group_begin(struct session *s)
{
	struct group *g = s->group;
	struct hub *h = g->hub;
	struct group *before = h->taken;
	struct iw_fault why;

	if (!h->cfg->once || g->initiator || h->taken == g)
		return true;
	if (h->over || (h->taken && !iw_group_is_stalled(h->taken))) {
		iw_xfer_fault(&why, IW_E_CANCELED, "%s", taken_text);
		iw_xfer_fail(s->x, &why);
		return false;
	}
	h->taken = g;
	g->payload_at = h->now;
	iw_group_end_others(h, g, before);
	return true;
}

bool iw_group_is_the_one(const struct group *g)
{
	const struct hub *h = g->hub;

	return h->cfg->once && (h->taken == g || (!h->taken && !h->over && g->ended_well));
}
