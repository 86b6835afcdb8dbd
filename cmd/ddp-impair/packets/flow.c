// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A flow: its counters, and the decisions that concern a whole packet. */
#include "ddp-impair/packets/flow.h"

#include <string.h>

#include "ddp-impair/packets/internal.h"
#include "util/num.h"

int iw_flow_init(struct iw_flow *f, const struct iw_flow_cfg *cfg, uint32_t conn, uint64_t now)
{
	memset(f, 0, sizeof(*f));
	f->cfg = cfg;
	f->conn = conn;
	f->begun = now;
	iw_framer_init(&f->framer, conn);
	for (unsigned i = 0; i < 2; i++)
		if (iw_rules_flow_init(&f->counts[i], cfg->rules) < 0) {
			iw_flow_fini(f);
			return IW_E_NOMEM;
		}
	return 0;
}

void iw_flow_fini(struct iw_flow *f)
{
	for (unsigned i = 0; i < 2; i++) {
		iw_rules_flow_fini(&f->counts[i], f->cfg->rules);
		iw_flow_dir_free(f, i);
	}
}

size_t iw_flow_decide(struct iw_flow *f, struct iw_unit *u, uint64_t now,
		      struct iw_decision out[static IW_DECISIONS_MAX])
{
	u->conn = f->conn;
	u->number = ++f->number[u->from];
	u->at_ns = now - f->begun;
	return f->cfg->decide(f->cfg->ctx, &f->counts[u->from], u, out);
}

void iw_flow_act(struct iw_flow *f, unsigned from, const struct iw_decision *d, uint64_t now,
		 struct iw_fate *out)
{
	switch (d->action->kind) {
	case IW_ACTION_DROP:
		out->dropped = true;
		return;
	case IW_ACTION_DELAY:
		out->delay_ns = iw_time_add(out->delay_ns, d->ns);
		return;
	case IW_ACTION_REORDER:
		out->overtaken_by = (uint32_t)IW_MIN(d->pick, UINT32_MAX);
		return;
	case IW_ACTION_DUPLICATE:
		out->copies = (uint32_t)IW_MIN(out->copies + d->pick, (uint64_t)IW_FATE_COPIES);
		return;
	case IW_ACTION_STALL:
		f->stalled_until[from] = IW_MAX(f->stalled_until[from], iw_time_add(now, d->ns));
		return;
	case IW_ACTION_DISCARD:
		f->discard[from] = true;
		return;
	case IW_ACTION_INJECT:
		if (out->injects < IW_FATE_INJECTS)
			out->inject[out->injects++] = d->action;
		return;
	case IW_ACTION_REBIND:
		out->rebind = true;
		return;
	case IW_ACTION_FLIP_BIT:
	case IW_ACTION_SWAP_WORDS:
	case IW_ACTION_TRUNCATE:
	case IW_ACTION_SET: /* edits */
	case IW_ACTION_SPLIT:
	case IW_ACTION_COALESCE:
	case IW_ACTION_HALF_CLOSE:
	case IW_ACTION_CLOSE:
	case IW_ACTION_RESET: /* streams only: rule.c refuses them */
	case IW_ACTIONS:
		return;
	}
}

void iw_flow_hold(struct iw_flow *f, unsigned from, uint64_t now, struct iw_fate *out)
{
	uint64_t until = f->stalled_until[from];

	/* A direction that stalls for ever drops its packets: a link keeps none for ever. */
	if (f->discard[from] || until == IW_TIME_NEVER)
		out->dropped = true;
	else if (until > now)
		out->delay_ns = IW_MAX(out->delay_ns, until - now);
}
