// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Associations: creation, paths, establishment, facts. */
#include "sctp/internal.h"

static void drop_paths(struct iw_sctp_assoc *a)
{
	iw_sctp_unlist_paths(a);
	for (unsigned i = 0; i < a->npaths; i++)
		iw_sctp_model_free(&a->paths[i]);
	iw_mem_free(a->s->cfg.mem, a->paths, a->npaths * sizeof(struct path));
	a->paths = NULL;
	a->npaths = 0;
}

int iw_sctp_set_paths(struct iw_sctp_assoc *a, const struct iw_sctp_addr *peer, unsigned n)
{
	struct path *paths = iw_mem_array(a->s->cfg.mem, n, sizeof(*paths));

	if (!paths)
		return IW_E_NOMEM;
	drop_paths(a);
	a->paths = paths;
	a->npaths = n;
	for (unsigned i = 0; i < n; i++)
		iw_sctp_path_init(&paths[i], a, &peer[i], i);
	iw_sctp_set_confirmed(&paths[0]);
	a->from = a->verify_turn = 0;
	return 0;
}

/* --- creation and end ------------------------------------------------------------------------- */

int iw_sctp_assoc_new(struct iw_sctp_assoc **out, struct iw_sctp *s, uint32_t my_tag,
		      uint32_t my_tsn, const struct iw_sctp_addr *peer, unsigned npeers,
		      uint16_t peer_port)
{
	struct iw_sctp_assoc *a = iw_mem_alloc(s->cfg.mem, sizeof(*a));

	if (!a)
		return IW_E_NOMEM;
	a->s = s;
	iw_sctp_set_cc(a, s->cfg.cc);
	a->my_tag = my_tag;
	a->my_tsn = my_tsn;
	a->peer_port = peer_port;
	a->setup_at = a->guard_at = a->verify_at = IW_TIME_NEVER;
	a->timer.at = IW_TIME_NEVER;
	iw_list_init(&a->ready);
	iw_list_init(&a->pending);
	iw_sctp_inq_init(&a->in, 0);
	iw_sctp_outq_init(&a->out, my_tsn);
	a->in.advertised = s->cfg.rwnd;
	if (iw_heap_set(&s->timers, &a->timer, IW_TIME_NEVER - 1) < 0) {
		iw_mem_free(s->cfg.mem, a, sizeof(*a));
		return IW_E_NOMEM;
	}
	if (iw_sctp_set_paths(a, peer, npeers) < 0) {
		iw_heap_del(&s->timers, &a->timer);
		iw_mem_free(s->cfg.mem, a, sizeof(*a));
		return IW_E_NOMEM;
	}
	iw_list_add_tail(&s->all, &a->all);
	iw_sctp_link_in(a);
	*out = a;
	return 0;
}

void iw_sctp_assoc_free(struct iw_sctp_assoc *a)
{
	const struct iw_mem *mem = a->s->cfg.mem;

	iw_sctp_link_out(a);
	iw_list_del(&a->pending);
	iw_list_del(&a->all);
	iw_sctp_forget_setup(a);
	iw_sctp_inq_fini(a);
	iw_sctp_outq_fini(a);
	drop_paths(a);
	iw_mem_free(mem, a, sizeof(*a));
}

void iw_sctp_established(struct iw_sctp_assoc *a, uint64_t now)
{
	iw_sctp_set_state(a, IW_SCTP_ESTABLISHED);
	a->setup_at = IW_TIME_NEVER;
	a->tries = 0;
	a->errors = 0;
	a->tx &= ~(unsigned)(TX_INIT | TX_COOKIE_ECHO);
	iw_sctp_forget_setup(a);
	iw_sctp_know_max(a, (uint32_t)iw_sctp_max_message(a));
	a->most_reported = iw_sctp_max_unproven(a);
	for (unsigned i = 0; i < a->npaths; i++) {
		struct path *p = &a->paths[i];

		if (iw_sctp_tracing(a))
			iw_sctp_trace_path(p);
		iw_sctp_hb_start(p, now);
		if (p->confirmed)
			iw_sctp_pmtu_start(p, now);
	}
	iw_sctp_raise(a, IW_SCTP_EV_UP);
	iw_sctp_touch(a);
}

void iw_sctp_slim(struct iw_sctp_assoc *a)
{
	struct inq *q = &a->in;

	iw_sctp_outq_slim(a);
	iw_sctp_fragments_slim(a);
	if (q->map && q->high == q->cum) {
		iw_mem_free(a->s->cfg.mem, q->map, q->map_bits / 8);
		q->map = NULL;
		q->map_bits = 0;
	}
}

/* --- information for the user ----------------------------------------------------------------- */

void *iw_sctp_user(const struct iw_sctp_assoc *a)
{
	return a->user;
}

void iw_sctp_set_user(struct iw_sctp_assoc *a, void *user)
{
	a->user = user;
}

enum iw_sctp_state iw_sctp_assoc_state(const struct iw_sctp_assoc *a)
{
	return a->state;
}

const struct iw_fault *iw_sctp_why(const struct iw_sctp_assoc *a)
{
	return &a->why;
}

static size_t memory_of(const struct iw_sctp_assoc *a)
{
	return sizeof(*a) + a->npaths * sizeof(struct path) + a->cookie_len + a->report_len +
	       a->in.map_bits / 8 + a->in.fragment_octets + a->in.whole_len +
	       a->in.fragment_places * sizeof(struct fragment *) +
	       (size_t)a->out.size * (sizeof(struct out_chunk) + 1) + a->out.copy_octets;
}

void iw_sctp_facts(const struct iw_sctp_assoc *a, struct iw_sctp_facts *out)
{
	uint32_t flight = a->out.flight_data;

	*out = a->count;
	out->cc = a->cc->name;
	out->initiator = a->initiator;
	out->peer_port = a->peer_port;
	out->tag = a->my_tag;
	out->peer_tag = a->peer_tag;
	out->streams_out = a->streams_out;
	out->streams_in = a->streams_in;
	out->peer_has_adaptation = a->peer_has_adaptation;
	out->peer_adaptation = a->peer_adaptation;
	out->peer_rwnd = a->peer_rwnd > flight ? a->peer_rwnd - flight : 0;
	out->paths = a->npaths;
	out->primary = iw_sctp_data_path(a)->index;
	out->acked = a->out.una;
	out->acked_octets = a->out.acked_octets;
	out->memory = memory_of(a);
}

int iw_sctp_path(const struct iw_sctp_assoc *a, unsigned i, struct iw_sctp_path *out)
{
	const struct path *p = &a->paths[i];

	if (i >= a->npaths)
		return IW_E_INVAL;
	*out = (struct iw_sctp_path){
		.addr = p->addr,
		.state = p->state,
		.confirmed = p->confirmed,
		.mtu = p->pmtu,
		.cwnd = p->cc.cwnd,
		.ssthresh = p->cc.ssthresh,
		.flight = p->flight,
		.srtt = p->srtt,
		.rto = p->rto,
		.pacing = p->cc.pacing,
		.burst = iw_sctp_pace_burst(p),
		.errors = p->errors,
	};
	return 0;
}
