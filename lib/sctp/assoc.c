// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Associations: states, look-up, creation and end. */
#include "sctp/internal.h"

#include <assert.h>
#include <string.h>

const char *iw_sctp_state_name(enum iw_sctp_state state)
{
	switch (state) {
	case IW_SCTP_CLOSED:
		return "CLOSED";
	case IW_SCTP_COOKIE_WAIT:
		return "COOKIE-WAIT";
	case IW_SCTP_COOKIE_ECHOED:
		return "COOKIE-ECHOED";
	case IW_SCTP_ESTABLISHED:
		return "ESTABLISHED";
	case IW_SCTP_SHUTDOWN_PENDING:
		return "SHUTDOWN-PENDING";
	case IW_SCTP_SHUTDOWN_SENT:
		return "SHUTDOWN-SENT";
	case IW_SCTP_SHUTDOWN_RECEIVED:
		return "SHUTDOWN-RECEIVED";
	case IW_SCTP_SHUTDOWN_ACK_SENT:
		return "SHUTDOWN-ACK-SENT";
	}
	return "unknown";
}

#define TO(state) (1u << (state))

/* RFC 9260 4. Every state can also change to CLOSED. */
static const unsigned transitions[] = {
	[IW_SCTP_CLOSED] = TO(IW_SCTP_COOKIE_WAIT) | TO(IW_SCTP_ESTABLISHED),
	[IW_SCTP_COOKIE_WAIT] = TO(IW_SCTP_COOKIE_ECHOED) | TO(IW_SCTP_ESTABLISHED),
	[IW_SCTP_COOKIE_ECHOED] = TO(IW_SCTP_ESTABLISHED) | TO(IW_SCTP_COOKIE_WAIT),
	[IW_SCTP_ESTABLISHED] = TO(IW_SCTP_SHUTDOWN_PENDING) | TO(IW_SCTP_SHUTDOWN_RECEIVED),
	[IW_SCTP_SHUTDOWN_PENDING] = TO(IW_SCTP_SHUTDOWN_SENT) | TO(IW_SCTP_SHUTDOWN_RECEIVED),
	[IW_SCTP_SHUTDOWN_SENT] = TO(IW_SCTP_SHUTDOWN_ACK_SENT),
	[IW_SCTP_SHUTDOWN_RECEIVED] = TO(IW_SCTP_SHUTDOWN_ACK_SENT),
	[IW_SCTP_SHUTDOWN_ACK_SENT] = 0,
};

void iw_sctp_set_state(struct iw_sctp_assoc *a, enum iw_sctp_state to)
{
	assert(to == IW_SCTP_CLOSED || transitions[a->state] & TO(to));
	a->state = to;
}

/* --- look-up ---------------------------------------------------------------------------------- */

static uint64_t addr_hash(const struct iw_sctp *s, const struct iw_sctp_addr *addr, uint16_t port)
{
	uint8_t key[20], mac[SIP_MAC_LEN];

	memcpy(key, addr->ip, 16);
	iw_put_be16(key + 16, addr->udp_port);
	iw_put_be16(key + 18, port);
	iw_sctp_siphash(mac, s->hash_key, key, sizeof(key));
	return iw_get_be64(mac);
}

struct iw_sctp_assoc *iw_sctp_by_tag(const struct iw_sctp *s, uint32_t tag)
{
	struct link *l = iw_sctp_table_find(&s->tags, tag);

	return l ? container(l, struct iw_sctp_assoc, by_tag) : NULL;
}

struct path *iw_sctp_by_addr(const struct iw_sctp *s, const struct iw_sctp_addr *addr,
			     uint16_t port)
{
	struct link *l = iw_sctp_table_find(&s->addrs, addr_hash(s, addr, port));

	for (; l; l = iw_sctp_table_next(l)) {
		struct path *p = container(l, struct path, by_addr);

		if (p->a->peer_port == port && p->addr.udp_port == addr->udp_port &&
		    memcmp(p->addr.ip, addr->ip, 16) == 0)
			return p;
	}
	return NULL;
}

struct path *iw_sctp_path_of(const struct iw_sctp_assoc *a, const struct iw_sctp_addr *addr)
{
	for (unsigned i = 0; i < a->npaths; i++)
		if (memcmp(a->paths[i].addr.ip, addr->ip, 16) == 0)
			return &a->paths[i];
	return NULL;
}

/*
 * The address table has confirmed paths only. Otherwise many associations could list the same
 * unverified address, and each look-up of that address would walk a long chain.
 */
static bool is_in_table(const struct path *p)
{
	return p->a->linked && p->confirmed;
}

static void add_to_table(struct path *p)
{
	if (is_in_table(p))
		iw_sctp_table_add(&p->a->s->addrs, &p->by_addr,
				  addr_hash(p->a->s, &p->addr, p->a->peer_port));
}

static void remove_from_table(struct path *p)
{
	if (is_in_table(p))
		iw_sctp_table_del(&p->a->s->addrs, &p->by_addr);
}

void iw_sctp_set_confirmed(struct path *p)
{
	if (p->confirmed)
		return;
	p->confirmed = true;
	add_to_table(p);
}

static void drop_paths(struct iw_sctp_assoc *a)
{
	for (unsigned i = 0; i < a->npaths; i++)
		remove_from_table(&a->paths[i]);
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

void iw_sctp_set_udp_port(struct path *p, uint16_t udp_port)
{
	if (p->addr.udp_port == udp_port)
		return;
	remove_from_table(p);
	p->addr.udp_port = udp_port;
	add_to_table(p);
}

static void link_in(struct iw_sctp_assoc *a)
{
	struct iw_sctp *s = a->s;

	a->linked = true;
	s->count++;
	iw_sctp_table_add(&s->tags, &a->by_tag, a->my_tag);
	for (unsigned i = 0; i < a->npaths; i++)
		add_to_table(&a->paths[i]);
}

static void link_out(struct iw_sctp_assoc *a)
{
	struct iw_sctp *s = a->s;

	if (!a->linked)
		return;
	for (unsigned i = 0; i < a->npaths; i++)
		remove_from_table(&a->paths[i]);
	a->linked = false;
	s->count--;
	iw_sctp_table_del(&s->tags, &a->by_tag);
	iw_heap_del(&s->timers, &a->timer);
	iw_list_del(&a->ready);
	if (s->cur.a == a) {
		s->cur.a = NULL;
		s->cur.open = false;
	}
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
	a->cc = s->cfg.cc;
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
	link_in(a);
	*out = a;
	return 0;
}

static void forget_setup(struct iw_sctp_assoc *a)
{
	iw_mem_free(a->s->cfg.mem, a->cookie, a->cookie_len);
	iw_mem_free(a->s->cfg.mem, a->report, a->report_len);
	a->cookie = a->report = NULL;
	a->cookie_len = a->report_len = 0;
}

void iw_sctp_assoc_free(struct iw_sctp_assoc *a)
{
	const struct iw_mem *mem = a->s->cfg.mem;

	link_out(a);
	iw_list_del(&a->pending);
	iw_list_del(&a->all);
	forget_setup(a);
	iw_sctp_inq_fini(a);
	iw_sctp_outq_fini(a);
	drop_paths(a);
	iw_mem_free(mem, a, sizeof(*a));
}

static void went_down(struct iw_sctp_assoc *a)
{
	if (a->state == IW_SCTP_CLOSED)
		return;
	iw_sctp_set_state(a, IW_SCTP_CLOSED);
	link_out(a);
	forget_setup(a);
	iw_sctp_inq_fini(a);
	if (a->out.first < a->out.end)
		iw_sctp_raise(a, IW_SCTP_EV_DONE);
	iw_sctp_raise(a, IW_SCTP_EV_DOWN);
}

void iw_sctp_down(struct iw_sctp_assoc *a, int err, const char *fmt, ...)
{
	struct iw_text t;
	va_list ap;

	if (a->state == IW_SCTP_CLOSED)
		return;
	va_start(ap, fmt);
	iw_text_init(&t, a->why.text, sizeof(a->why.text));
	iw_text_vfmt(&t, fmt, ap);
	va_end(ap);
	a->why.err = err;
	a->why.clause = "RFC 9260";
	went_down(a);
}

void iw_sctp_kill(struct iw_sctp_assoc *a, uint16_t cause, const void *info, size_t info_len,
		  int err, const char *fmt, ...)
{
	struct iw_sctp_packet to;
	struct iw_text t;
	va_list ap;

	if (a->state == IW_SCTP_CLOSED)
		return;
	if (a->peer_tag) {
		iw_sctp_address(a, &a->paths[a->from], &to);
		iw_sctp_reply_cause(a->s, &to, a->peer_port, a->peer_tag, IW_SCTP_ABORT, 0, cause,
				    info, info_len);
	}
	va_start(ap, fmt);
	iw_text_init(&t, a->why.text, sizeof(a->why.text));
	iw_text_vfmt(&t, fmt, ap);
	va_end(ap);
	a->why.err = err;
	a->why.clause = "RFC 9260";
	went_down(a);
}

void iw_sctp_abort(struct iw_sctp_assoc *a, const char *reason, uint64_t now)
{
	(void)now;
	iw_sctp_kill(a, IW_SCTP_CAUSE_USER, reason, reason ? strlen(reason) : 0, IW_E_CANCELED,
		     "sctp: aborted by this end");
}

void iw_sctp_established(struct iw_sctp_assoc *a, uint64_t now)
{
	iw_sctp_set_state(a, IW_SCTP_ESTABLISHED);
	a->setup_at = IW_TIME_NEVER;
	a->tries = 0;
	a->errors = 0;
	a->tx &= ~(unsigned)(TX_INIT | TX_COOKIE_ECHO);
	forget_setup(a);
	iw_sctp_know_max(a, (uint32_t)iw_sctp_max_message(a));
	a->most_told = iw_sctp_max_unproven(a);
	for (unsigned i = 0; i < a->npaths; i++) {
		struct path *p = &a->paths[i];

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

void iw_sctp_set_cc(struct iw_sctp_assoc *a, const struct iw_sctp_cc_ops *cc)
{
	a->cc = cc;
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
		.errors = p->errors,
	};
	return 0;
}
