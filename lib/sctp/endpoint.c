// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The endpoint: creation and end, events, timers, and the order in which associations send. */
#include "sctp/internal.h"

#include <string.h>

#define MTU_MAX    65535
#define TURN       64 /* packets that one association sends before the next one may send */
#define COPIES_LEN (4 * 1024 * 1024) /* octets of spare buffers that are kept: about a window */
#define COPIES_MIN 64u               /* but at least this many spare buffers */

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
	return value ? value : otherwise;
}

static void fill_times(struct iw_sctp_times *t)
{
	t->rto_initial = or_default(t->rto_initial, IW_SEC(1));
	t->rto_min = or_default(t->rto_min, IW_SEC(1));
	t->rto_max = or_default(t->rto_max, IW_SEC(60));
	t->cookie_life = or_default(t->cookie_life, IW_SEC(60));
	t->hb_interval = or_default(t->hb_interval, IW_SEC(30));
	t->sack_delay = or_default(t->sack_delay, IW_MSEC(200));
	t->pmtu_raise = or_default(t->pmtu_raise, IW_SEC(600));
	t->assoc_max_retrans = (uint32_t)or_default(t->assoc_max_retrans, 10);
	t->path_max_retrans = (uint32_t)or_default(t->path_max_retrans, 5);
	t->max_init_retransmits = (uint32_t)or_default(t->max_init_retransmits, 8);
}

static int check_cfg(const struct iw_sctp_cfg *c, struct iw_fault *why)
{
	if (c->port == 0)
		return iw_fail(why, IW_E_INVAL, "sctp: port 0: expected 1 to 65535 (RFC 9260 3.1)");
	if (c->streams == 0)
		return iw_fail(why, IW_E_INVAL, "sctp: 0 streams: expected at least 1");
	if (c->rwnd < 1500)
		return iw_fail(why, IW_E_INVAL,
			       "sctp: rwnd %u: expected at least 1500 (RFC 9260 3.3.2)", c->rwnd);
	if (c->mtu < IW_SCTP_MTU_MIN || c->mtu > MTU_MAX)
		return iw_fail(why, IW_E_INVAL, "sctp: mtu %u: expected %u to %u", c->mtu,
			       (uint32_t)IW_SCTP_MTU_MIN, (uint32_t)MTU_MAX);
	if (c->assocs_max == 0)
		return iw_fail(why, IW_E_INVAL, "sctp: assocs_max 0: expected at least 1");
	if (c->times.sack_delay > IW_MSEC(500))
		return iw_fail(why, IW_E_INVAL,
			       "sctp: sack_delay: expected at most 500 ms (RFC 9260 6.2)");
	return 0;
}

int iw_sctp_new(struct iw_sctp **out, const struct iw_sctp_cfg *cfg, struct iw_fault *why)
{
	struct iw_sctp *s;
	int err = check_cfg(cfg, why);

	*out = NULL;
	if (err < 0)
		return err;
	s = iw_mem_alloc(cfg->mem, sizeof(*s));
	if (!s)
		return iw_fail(why, IW_E_NOMEM, "sctp: no memory for an endpoint");
	s->cfg = *cfg;
	fill_times(&s->cfg.times);
	s->cfg.cc = cfg->cc ? cfg->cc : &iw_sctp_cc_rfc9260;
	s->cfg.burst = (uint32_t)or_default(cfg->burst, 4);
	s->cfg.abc_l = (uint32_t)or_default(cfg->abc_l, 1);
	s->cfg.reasm_max = (uint32_t)or_default(cfg->reasm_max, 131072);
	iw_list_init(&s->all);
	iw_list_init(&s->ready);
	iw_list_init(&s->pending);
	iw_heap_init(&s->timers, cfg->mem);
	iw_pool_init(&s->copies, cfg->mem, cfg->mtu, 0, IW_MAX(COPIES_LEN / cfg->mtu, COPIES_MIN));
	iw_pool_init(&s->shorts, cfg->mem, SHORT_LEN, 0, COPIES_LEN / SHORT_LEN);
	s->reply = iw_mem_array(cfg->mem, REPLIES_MAX, sizeof(struct reply));
	s->reply_data = iw_mem_array(cfg->mem, REPLIES_MAX, cfg->mtu);
	err = IW_E_NOMEM;
	if (!s->reply || !s->reply_data || iw_sctp_table_init(&s->tags, cfg->mem) < 0 ||
	    iw_sctp_table_init(&s->addrs, cfg->mem) < 0)
		goto fail;
	err = iw_sctp_cookie_keys_init(s);
	if (err == 0)
		err = cfg->random(cfg->random_ctx, s->hash_key, sizeof(s->hash_key));
	if (err == 0)
		err = cfg->random(cfg->random_ctx, &s->jitter, sizeof(s->jitter));
	if (err < 0)
		goto fail;
	*out = s;
	return 0;
fail:
	iw_sctp_free(s);
	return iw_fail(why, err, "sctp: cannot create an endpoint");
}

void iw_sctp_free(struct iw_sctp *s)
{
	struct iw_list *l;

	if (!s)
		return;
	while ((l = iw_list_first(&s->all)))
		iw_sctp_assoc_free(iw_container_of(l, struct iw_sctp_assoc, all));
	iw_heap_fini(&s->timers);
	iw_pool_fini(&s->copies);
	iw_pool_fini(&s->shorts);
	iw_sctp_table_fini(&s->tags);
	iw_sctp_table_fini(&s->addrs);
	iw_mem_free(s->cfg.mem, s->reply, REPLIES_MAX * sizeof(struct reply));
	iw_mem_free(s->cfg.mem, s->reply_data, REPLIES_MAX * (size_t)s->cfg.mtu);
	iw_mem_free(s->cfg.mem, s, sizeof(*s));
}

/* --- events ----------------------------------------------------------------------------------- */

bool iw_sctp_next_event(struct iw_sctp *s, struct iw_sctp_event *out)
{
	struct iw_list *l = iw_list_first(&s->pending);
	struct iw_sctp_assoc *a;

	if (!l)
		return false;
	a = iw_container_of(l, struct iw_sctp_assoc, pending);
	out->assoc = a;
	out->kind = (enum iw_sctp_event_kind)__builtin_ctz(a->events);
	a->events &= a->events - 1;
	if (a->events == 0)
		iw_list_del(&a->pending);
	/* iw_sctp_down must not free it: functions of the input queue call iw_sctp_down. */
	if (out->kind == IW_SCTP_EV_DOWN)
		iw_sctp_inq_fini(a);
	return true;
}

/* --- time ------------------------------------------------------------------------------------- */

static uint64_t path_deadline(const struct path *p)
{
	uint64_t at = IW_MIN(p->t3_at, p->hb_at);

	at = IW_MIN(at, p->probe_at);
	return IW_MIN(at, p->pace_at);
}

static void reschedule(struct iw_sctp_assoc *a)
{
	uint64_t at = IW_MIN(a->setup_at, a->guard_at);

	if (!a->linked)
		return;
	at = IW_MIN(at, a->verify_at);
	at = IW_MIN(at, a->in.sack_at);
	at = IW_MIN(at, a->out.rack_at);
	at = IW_MIN(at, a->out.tlp_at);
	at = IW_MIN(at, a->out.persist_at);
	for (unsigned i = 0; i < a->npaths; i++)
		at = IW_MIN(at, path_deadline(&a->paths[i]));
	/* Not IW_TIME_NEVER: a linked association stays in the heap, so moving it cannot fail. */
	at = IW_MIN(at, IW_TIME_NEVER - 1);
	if (at != a->timer.at && iw_heap_set(&a->s->timers, &a->timer, at) < 0)
		return;
}

uint64_t iw_sctp_deadline(const struct iw_sctp *s)
{
	const struct iw_timer *t = iw_heap_first(&s->timers);

	return t && t->at < IW_TIME_NEVER - 1 ? t->at : IW_TIME_NEVER;
}

static void path_timeouts(struct path *p, uint64_t now)
{
	struct iw_sctp_assoc *a = p->a;

	if (p->t3_at <= now)
		iw_sctp_t3(a, p, now);
	if (a->linked && p->hb_at <= now) {
		iw_sctp_hb_timeout(p, now);
		if (a->linked)
			iw_sctp_slim(a);
	}
	if (a->linked && p->probe_at <= now)
		iw_sctp_pmtu_timeout(p, now);
	if (p->pace_at <= now)
		p->pace_at = IW_TIME_NEVER;
}

static void assoc_timeout(struct iw_sctp_assoc *a, uint64_t now)
{
	if (a->setup_at <= now) {
		if (a->state == IW_SCTP_COOKIE_WAIT || a->state == IW_SCTP_COOKIE_ECHOED)
			iw_sctp_setup_timeout(a, now);
		else
			iw_sctp_shutdown_timeout(a, now);
	}
	if (a->linked && a->guard_at <= now)
		iw_sctp_guard_timeout(a);
	if (a->linked && a->in.sack_at <= now) {
		if (iw_sctp_tracing(a))
			iw_sctp_trace_timer(a, a->from, "sack", a->s->cfg.times.sack_delay);
		a->in.sack_at = IW_TIME_NEVER;
		a->tx |= TX_SACK;
	}
	for (unsigned i = 0; a->linked && i < a->npaths; i++)
		path_timeouts(&a->paths[i], now);
	if (a->linked && a->verify_at <= now)
		iw_sctp_verify_next(a, now);
	if (a->linked)
		iw_sctp_loss_timeouts(a, now);
	if (a->linked) {
		reschedule(a);
		iw_sctp_touch(a);
	}
}

void iw_sctp_timeout(struct iw_sctp *s, uint64_t now)
{
	struct iw_timer *t;

	while ((t = iw_heap_first(&s->timers)) && t->at <= now)
		assoc_timeout(iw_container_of(t, struct iw_sctp_assoc, timer), now);
}

/* --- output ----------------------------------------------------------------------------------- */

size_t iw_sctp_output(struct iw_sctp *s, uint8_t *buf, size_t cap, struct iw_sctp_packet *out,
		      uint64_t now)
{
	struct iw_list *l;

	*out = (struct iw_sctp_packet){ 0 };
	if (cap < s->cfg.mtu)
		return 0;
	if (s->replies > 0)
		return iw_sctp_take_reply(s, buf, cap, out);
	while ((l = iw_list_first(&s->ready))) {
		struct iw_sctp_assoc *a = iw_container_of(l, struct iw_sctp_assoc, ready);
		size_t n = iw_sctp_assoc_output(a, buf, cap, out, now);

		if (n == 0) {
			iw_list_del(&a->ready);
			reschedule(a);
			s->turn = 0;
			continue;
		}
		if (++s->turn >= TURN) {
			s->turn = 0;
			iw_list_del(&a->ready);
			iw_sctp_touch(a);
		}
		return n;
	}
	return 0;
}

bool iw_sctp_sack_can_wait(const struct iw_sctp *s)
{
	struct iw_list *l = s->ready.next;
	const struct iw_sctp_assoc *a;

	if (l == &s->ready || l->next != &s->ready || s->replies > 0)
		return false;
	a = iw_container_of(l, struct iw_sctp_assoc, ready);
	return a->state == IW_SCTP_ESTABLISHED && a->tx == TX_SACK && !a->in.urgent &&
	       a->in.high == a->in.cum && a->in.ndups == 0 && a->out.una == a->out.end;
}
