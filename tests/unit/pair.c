// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two engines joined in memory: by a stream, by messages in any order, by SCTP. */
#include "pair.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "unit/sctp_net.h"
#include "util/num.h"
#include "util/txbuf.h"

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

uint8_t pattern_octet(uint32_t id, uint64_t i)
{
	uint64_t x = (i >> 3) * 0x9e3779b97f4a7c15u ^ (uint64_t)id * 0xd1342543de82ef95u;

	x ^= x >> 29;
	return (uint8_t)(x >> (i & 7) * 8);
}

void pattern_fill(void *buf, size_t len, uint32_t id, uint64_t from)
{
	uint8_t *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = pattern_octet(id, from + i);
}

bool pattern_is(const void *buf, size_t len, uint32_t id, uint64_t from)
{
	const uint8_t *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != pattern_octet(id, from + i))
			return false;
	return true;
}

enum { ALIGN = 16 };

static void *counted_alloc(void *ctx, size_t size)
{
	struct test_mem *t = ctx;
	uint8_t *p;

	t->calls++;
	if (t->fail_at != 0 && --t->fail_at == 0)
		return NULL;
	/* The size precedes the block, which is aligned as malloc does. */
	p = calloc(1, ALIGN + size);
	CHECK(p != NULL);
	memcpy(p, &size, sizeof(size));
	t->live++;
	return p + ALIGN;
}

static void counted_free(void *ctx, void *p, size_t size)
{
	struct test_mem *t = ctx;
	size_t allocated;

	if (p == NULL)
		return;
	memcpy(&allocated, (uint8_t *)p - ALIGN, sizeof(allocated));
	CHECK(size == allocated);
	t->live--;
	free((uint8_t *)p - ALIGN);
}

void test_mem_init(struct test_mem *t)
{
	memset(t, 0, sizeof(*t));
	t->mem = (struct iw_mem){ counted_alloc, counted_free, t };
}

static int seeded_random(void *ctx, void *buf, size_t len)
{
	rng_fill(ctx, buf, len);
	return 0;
}

static void end_init(struct pair *p, struct end *e, const char *name, struct wire *out,
		     struct wire *in)
{
	struct iw_fault why = { 0 };

	e->name = name;
	test_mem_init(&e->mem);
	CHECK(iw_stag_table_new(&e->stags, &e->mem.mem, seeded_random, &p->rng) == 0);
	iw_pool_init(&e->spill, &e->mem.mem, IW_MPA_SPILL_LEN, 0, 2);
	iw_pool_init(&e->txbufs, &e->mem.mem, sizeof(struct iw_txbuf), 0, 2);
	e->pair = p;
	e->out = out;
	e->in = in;
	e->scratch_len = sizeof(e->scratch);
	e->rcfg = (struct iw_rdmap_cfg){ .mem = &e->mem.mem,
					 .stags = e->stags,
					 .pd = 1,
					 .stream = 7,
					 .sq_depth = 64,
					 .rq_depth = 64 };
	e->cfg = (struct iw_conn_cfg){
		.mem = &e->mem.mem,
		.txbufs = &e->txbufs,
		.mpa = { .spill = &e->spill,
			 .rev = 2,
			 .offer.ird = 4,
			 .offer.ord = 4,
			 .offer.rtr = IW_RTR_SEND | IW_RTR_WRITE | IW_RTR_READ },
	};
	e->ird = e->ord = 4;
	(void)why;
}

void pair_init(struct pair *p, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->rng.state = seed;
	p->now = IW_SEC(1000);
	p->chunk = SIZE_MAX;
	p->ab.window = p->ba.window = 1 << 20;
	p->ab.cut_at = p->ba.cut_at = UINT64_MAX;
	end_init(p, &p->a, "a", &p->ab, &p->ba);
	end_init(p, &p->b, "b", &p->ba, &p->ab);
	p->a.cfg.mpa.initiator = true;
}

static void end_start(struct pair *p, struct end *e)
{
	struct iw_fault why = { 0 };

	CHECK(iw_rdmap_new(&e->rdmap, &e->rcfg, &why) == 0);
	e->cfg.rdmap = e->cfg.mpa.initiator ? e->rdmap : NULL;
	CHECK(iw_conn_new(&e->conn, &e->cfg, p->now, &why) == 0);
	iw_conn_set_emss(e->conn, 1448);
}

/* --- association --- */

static void assoc_start(struct end *e, size_t chunk)
{
	struct iw_sctpmap_cfg cfg = { .mem = &e->mem.mem,
				      .initiator = e->cfg.mpa.initiator,
				      .streams = 3 };
	struct iw_sctpmap_peer peer = { true, IW_SCTP_ADAPTATION_DDP, 3, 3, 0 };

	CHECK(iw_sctpmap_new(&e->assoc, &cfg, NULL) == 0);
	CHECK(iw_sctpmap_up(e->assoc, &peer, NULL) == 0);
	iw_sctpmap_set_chunk(e->assoc, chunk);
	e->rcfg.early_max = IW_SCTPMAP_WINDOW;
}

static void msg_put(struct wire *w, uint16_t stream, uint32_t ppid, const void *hdr, size_t hdr_len,
		    const struct iw_vec *vec, size_t nvec)
{
	struct wire_msg m = { .stream = stream, .ppid = ppid, .len = hdr_len };
	size_t at = hdr_len;

	for (size_t i = 0; i < nvec; i++)
		m.len += vec[i].len;
	m.data = malloc(m.len);
	CHECK(m.data != NULL);
	memcpy(m.data, hdr, hdr_len);
	for (size_t i = 0; i < nvec; at += vec[i++].len)
		memcpy(m.data + at, vec[i].base, vec[i].len);
	if (w->nmsgs == w->cap_msgs) {
		w->cap_msgs = 2 * w->cap_msgs + 16;
		w->msgs = realloc(w->msgs, w->cap_msgs * sizeof(*w->msgs));
		CHECK(w->msgs != NULL);
	}
	w->msgs[w->nmsgs++] = m;
	w->len += m.len;
	w->sent += m.len;
}

static struct wire_msg msg_take(struct wire *w, size_t i)
{
	struct wire_msg m = w->msgs[i];

	memmove(&w->msgs[i], &w->msgs[i + 1], (--w->nmsgs - i) * sizeof(m));
	w->len -= m.len;
	return m;
}

static bool send_control(struct end *e)
{
	struct iw_sctpmap_msg m;
	bool moved = false;

	while (iw_sctpmap_control(e->assoc, &m)) {
		msg_put(e->out, m.stream, m.ppid, m.data, m.len, NULL, 0);
		iw_sctpmap_control_taken(e->assoc, m.stream);
		moved = true;
	}
	return moved;
}

static struct end *other(struct pair *p, const struct end *e)
{
	return e == &p->a ? &p->b : &p->a;
}

/* Acknowledges all messages that have arrived at e. */
static void acknowledge(struct pair *p, struct end *e)
{
	struct end *from = other(p, e);
	uint32_t n = e->in->arrived;

	e->in->arrived = 0;
	if (n > 0 && iw_sctpmap_acked(from->assoc, 0, n))
		iw_conn_acked(from->conn, p->now);
}

static bool end_send_msgs(struct pair *p, struct end *e)
{
	const struct iw_conn_msg *m;
	bool moved = send_control(e);

	while (!p->cut && e->out->len < e->out->window &&
	       (m = iw_conn_next_msg(e->conn, p->now)) != NULL) {
		CHECK(m->bytes <= IW_SCTP_SSN_LEN + iw_conn_mulpdu(e->conn));
		msg_put(e->out, m->stream, m->ppid, m->hdr, m->hdr_len, m->vec, m->nvec);
		iw_conn_msg_taken(e->conn, false, p->now);
		p->cut = e->out->sent >= e->out->cut_at;
		end_poll(p, e);
		moved = true;
		if (rng_below(&p->rng, 4) == 0)
			break;
	}
	/* The last segment may have allowed the session's Terminate. */
	if (!p->cut)
		moved |= iw_conn_next_msg(e->conn, p->now) != NULL && e->out->len == 0;
	moved |= send_control(e);
	end_poll(p, e);
	return moved;
}

static bool end_receive_msg(struct pair *p, struct end *e)
{
	struct wire *w = e->in;
	struct wire_msg m;
	struct iw_dss_segment seg;
	struct iw_dss *s;

	if (w->nmsgs == 0 || rng_below(&p->rng, 5) == 0)
		acknowledge(p, e);
	if (w->nmsgs == 0 || p->now < w->not_before)
		return false;
	m = msg_take(w, rng_below(&p->rng, IW_MIN(w->nmsgs, p->reorder + 1)));
	if (p->delay_ns != 0)
		w->not_before = p->now + rng_below(&p->rng, p->delay_ns);
	s = iw_sctpmap_receive(e->assoc, m.stream, m.ppid, m.data, m.len, &seg);
	w->arrived++;
	if (s) {
		CHECK(s == iw_conn_session(e->conn));
		iw_conn_arrived(e->conn, &seg, NULL, p->now);
	}
	free(m.data); /* the loan has ended: no pointer into it may be left */
	end_poll(p, e);
	return true;
}

/* The Initiate arrives at once: a responder's connection begins with it. */
static void pair_start_sctp(struct pair *p)
{
	size_t chunk = p->chunk == 0 ? 518 + rng_below(&p->rng, 2000) : 1452;
	struct iw_dss_segment seg;
	struct wire_msg m;

	assoc_start(&p->a, chunk);
	assoc_start(&p->b, chunk);
	p->a.cfg.assoc = p->a.assoc;
	end_start(p, &p->a);
	CHECK(send_control(&p->a));
	m = msg_take(&p->ab, 0);
	p->b.cfg.session = iw_sctpmap_receive(p->b.assoc, m.stream, m.ppid, m.data, m.len, &seg);
	CHECK(p->b.cfg.session != NULL);
	free(m.data);
	p->ab.arrived++;
	end_start(p, &p->b);
	iw_conn_arrived(p->b.conn, &seg, NULL, p->now);
	end_poll(p, &p->b);
}

/* --- association of two engines: does what lib/loop and lib/llp do --- */

static bool give(struct end *e, const struct iw_conn_msg *m, bool keep)
{
	struct iw_sctp_send s = {
		.stream = m->stream,
		.ppid = m->ppid,
		.hdr = m->hdr,
		.hdr_len = m->hdr_len,
		.vec = m->vec,
		.nvec = m->nvec,
		.copy = !keep,
	};
	struct iw_vec all[1 + IW_RDMAP_SGE_MAX];

	if (m->hdr_len > IW_SCTP_SEND_HDR_MAX)
		iw_sctp_send_long_hdr(&s, all);
	if (!e->carrier->a || iw_sctp_send(e->carrier->a, &s, NULL) < 0)
		return false;
	e->given++;
	e->lent |= keep;
	e->stream = m->stream;
	return true;
}

static bool engine_control(struct end *e)
{
	struct iw_sctpmap_msg m;
	bool moved = false;

	while (iw_sctpmap_control(e->assoc, &m)) {
		struct iw_sctp_send s = { .stream = m.stream,
					  .ppid = m.ppid,
					  .vec = &(struct iw_vec){ (void *)(uintptr_t)m.data,
								   m.len },
					  .nvec = 1,
					  .copy = true };

		if (!e->carrier->a || iw_sctp_send(e->carrier->a, &s, NULL) < 0)
			break;
		e->given++;
		iw_sctpmap_control_taken(e->assoc, m.stream);
		moved = true;
	}
	return moved;
}

static bool engine_send(struct pair *p, struct end *e)
{
	const struct iw_conn_msg *m;
	bool moved = engine_control(e);

	while ((m = iw_conn_next_msg(e->conn, p->now)) != NULL) {
		bool keep = m->kept && m->nvec > 0 && m->nvec <= IW_SCTP_SEND_VECS &&
			    rng_below(&p->rng, 4) != 0;

		CHECK(m->bytes <= IW_SCTP_SSN_LEN + iw_conn_mulpdu(e->conn));
		if (!give(e, m, keep))
			break;
		iw_conn_msg_taken(e->conn, keep, p->now);
		end_poll(p, e);
		moved = true;
		if (rng_below(&p->rng, 4) == 0)
			break;
	}
	moved |= engine_control(e);
	end_poll(p, e);
	return moved;
}

static void engine_message(struct net_end *carrier, const struct iw_sctp_recv *m)
{
	struct end *e = carrier->user;
	struct iw_dss_segment seg;
	struct iw_dss *s = iw_sctpmap_receive(e->assoc, m->stream, m->ppid, m->data, m->len, &seg);

	e->pair->now = carrier->net->now;
	if (!s)
		return;
	if (!e->conn) { /* the Initiate: a responder's connection begins with it */
		e->cfg.session = s;
		end_start(e->pair, e);
	}
	CHECK(s == iw_conn_session(e->conn));
	iw_conn_arrived(e->conn, &seg, NULL, e->pair->now);
	end_poll(e->pair, e);
}

static void engine_down(struct end *e, struct iw_sctp_assoc *a)
{
	struct iw_fault why = *iw_sctp_why(a);
	struct iw_sctp_done d;

	while (iw_sctp_next_done(a, &d))
		continue;
	iw_sctp_assoc_free(a);
	e->carrier->a = NULL;
	iw_sctpmap_down(e->assoc);
	if (why.err == 0)
		iw_fail(&why, IW_E_CLOSED, "test: the association was shut down");
	iw_conn_lost(e->conn, &why, e->pair->now);
	end_poll(e->pair, e);
}

static void engine_event(struct net_end *carrier, const struct iw_sctp_event *ev)
{
	struct end *e = carrier->user;
	struct iw_sctp_done d;

	e->pair->now = carrier->net->now;
	if (!e->assoc || !e->conn)
		return;
	if (ev->kind == IW_SCTP_EV_DONE) {
		while (iw_sctp_next_done(ev->assoc, &d))
			if (d.status == 0 && iw_sctpmap_acked(e->assoc, d.stream, 1))
				iw_conn_acked(e->conn, e->pair->now);
		end_poll(e->pair, e);
	}
	if (ev->kind == IW_SCTP_EV_MTU)
		iw_sctpmap_set_chunk(e->assoc, iw_sctp_max_message(ev->assoc));
	if (ev->kind == IW_SCTP_EV_DOWN)
		engine_down(e, ev->assoc);
}

static void carrier_init(struct end *e, struct net_end *carrier)
{
	e->carrier = carrier;
	carrier->cfg.streams = 3;
	carrier->cfg.adaptation = IW_SCTP_ADAPTATION_DDP;
	carrier->on_message = engine_message;
	carrier->on_event = engine_event;
	carrier->user = e;
}

/* The link becomes bad when the Initiate has arrived. */
static void pair_start_engines(struct pair *p)
{
	struct net *n = p->net;
	struct net_link ab = n->ab, ba = n->ba;

	n->ab = n->ba = (struct net_link){ .delay = IW_MSEC(1) };
	carrier_init(&p->a, &n->a);
	carrier_init(&p->b, &n->b);
	net_start(n);
	CHECK(net_up(n));
	assoc_start(&p->a, iw_sctp_max_message(n->a.a));
	assoc_start(&p->b, iw_sctp_max_message(n->b.a));
	p->now = n->now;
	p->a.cfg.assoc = p->a.assoc;
	end_start(p, &p->a);
	CHECK(engine_control(&p->a));
	while (!p->b.conn)
		CHECK(net_step(n));
	n->ab = ab;
	n->ba = ba;
}

static bool all_acked(const struct end *e)
{
	struct iw_sctp_facts f;

	if (!e->carrier->a)
		return true;
	iw_sctp_facts(e->carrier->a, &f);
	return f.acked == e->given;
}

/* Heartbeats never end, so nothing moves any more once everything is acknowledged. */
static bool engines_step(struct pair *p)
{
	bool moved;

	p->net->now = IW_MAX(p->net->now, p->now);
	moved = engine_send(p, &p->a) | engine_send(p, &p->b);
	if (p->net->nfly == 0 && all_acked(&p->a) && all_acked(&p->b))
		return moved;
	moved |= net_step(p->net);
	p->now = p->net->now;
	return moved;
}

/* The connection has ended: its operations complete now, and their memory returns to its owner. */
static void give_back(struct end *e)
{
	e->lent = false;
	if (e->carrier->a)
		CHECK(iw_sctp_release_memory(e->carrier->a, e->stream) == 0);
}

void pair_start(struct pair *p)
{
	if (p->net) {
		pair_start_engines(p);
		return;
	}
	if (p->sctp) {
		pair_start_sctp(p);
		return;
	}
	end_start(p, &p->a);
	end_start(p, &p->b);
}

static void end_free(struct end *e)
{
	iw_conn_free(e->conn);
	iw_sctpmap_free(e->assoc);
	iw_rdmap_free(e->rdmap);
	iw_stag_table_free(e->stags);
	iw_pool_fini(&e->spill);
	iw_pool_fini(&e->txbufs);
	CHECK(e->mem.live == 0); /* nothing is left allocated */
}

static void wire_free(struct wire *w)
{
	while (w->nmsgs > 0)
		free(w->msgs[--w->nmsgs].data);
	free(w->msgs);
	free(w->buf);
}

void pair_free(struct pair *p)
{
	end_free(&p->a);
	end_free(&p->b);
	if (p->net)
		net_free(p->net);
	wire_free(&p->ab);
	wire_free(&p->ba);
}

/* Octets are removed at the front. The rest is moved down only when as many octets have been
 * removed as are left. */
static void wire_put(struct wire *w, const void *octets, size_t len)
{
	if (w->off > w->len) {
		memmove(w->buf, w->buf + w->off, w->len);
		w->off = 0;
	}
	if (w->off + w->len + len > w->cap) {
		w->cap = (w->off + w->len + len) * 2;
		w->buf = realloc(w->buf, w->cap);
		CHECK(w->buf != NULL);
	}
	memcpy(w->buf + w->off + w->len, octets, len);
	w->len += len;
	w->sent += len;
}

static void wire_take(struct wire *w, void *octets, size_t len)
{
	memcpy(octets, w->buf + w->off, len);
	w->off += len;
	w->len -= len;
}

void pair_inject(struct pair *p, struct end *to, const void *octets, size_t len)
{
	(void)p;
	wire_put(to->in, octets, len);
}

/* --- one end's turn --- */

static bool end_send(struct pair *p, struct end *e)
{
	struct iw_tx tx;
	bool moved = false;

	while (!p->cut && iw_conn_send(e->conn, &tx, p->now)) {
		size_t room = e->out->window > e->out->len ? e->out->window - e->out->len : 0,
		       taken = 0, i;

		if (p->chunk == 0 && room > 0)
			room = IW_MIN(room, 1 + rng_below(&p->rng, 1 + rng_below(&p->rng, 70000)));
		room = IW_MIN(room, e->out->cut_at - e->out->sent);
		for (i = 0; i < tx.nvec && taken < room; i++) {
			size_t n = IW_MIN(tx.vec[i].len, room - taken);

			CHECK(!e->shut); /* the FIN follows the last octet */
			wire_put(e->out, tx.vec[i].base, n);
			taken += n;
		}
		p->cut = e->out->sent == e->out->cut_at;
		iw_conn_sent(e->conn, taken, p->now);
		end_poll(p, e);
		if (taken == 0)
			break;
		moved = true;
	}
	if (!p->cut && !e->shut &&
	    (iw_conn_fin_due(e->conn, p->now) || iw_conn_state(e->conn) == IW_CONN_CLOSED)) {
		e->shut = e->out->fin = true;
		moved = true;
	}
	end_poll(p, e);
	return moved;
}

static size_t read_size(struct pair *p, const struct wire *w)
{
	size_t n = p->chunk != 0 ? p->chunk
				 : 1 + rng_below(&p->rng, 1 + rng_below(&p->rng, 100000));

	return IW_MIN(n, w->len);
}

static bool end_receive(struct pair *p, struct end *e)
{
	struct wire *w = e->in;
	struct iw_vec vec[2];
	size_t want, got = 0, n;
	int i, nvec;

	if (p->now < w->not_before || iw_conn_state(e->conn) == IW_CONN_CLOSED)
		return false;
	if (w->len == 0) {
		if (!w->fin || w->fin_seen || !iw_conn_wants_rx(e->conn))
			return false;
		w->fin_seen = true;
		iw_conn_eof(e->conn, p->now);
		end_poll(p, e);
		return true;
	}
	nvec = iw_conn_rx_vec(e->conn, (struct iw_vec){ e->scratch, e->scratch_len }, vec);
	if (nvec <= 0)
		return false;
	want = read_size(p, w);
	for (i = 0; i < nvec && got < want; i++) {
		n = IW_MIN(vec[i].len, want - got);
		wire_take(w, vec[i].base, n);
		got += n;
	}
	CHECK(got > 0);
	if (p->delay_ns != 0)
		w->not_before = p->now + rng_below(&p->rng, p->delay_ns);
	iw_conn_received(e->conn, got, p->now);
	memset(e->scratch, 0xa5,
	       IW_MIN(got, e->scratch_len)); /* it was lent: nothing may be kept in it */
	end_poll(p, e);
	return true;
}

static void answer(struct pair *p, struct end *e)
{
	struct iw_fault why = { 0 };

	if (e->no_answer)
		return;
	if (e->reject)
		iw_conn_reject(e->conn, e->pd, e->pd_len, p->now);
	else
		CHECK(iw_conn_accept(e->conn, e->rdmap, e->ird, e->ord, e->pd, e->pd_len, p->now,
				     &why) == 0);
}

void end_poll(struct pair *p, struct end *e)
{
	struct iw_completion c;
	struct iw_event ev;

	if (e->lent && iw_conn_state(e->conn) == IW_CONN_CLOSED)
		give_back(e);
	while (iw_conn_next_event(e->conn, &ev)) {
		CHECK(e->nevents < IW_ARRAY_LEN(e->events));
		e->events[e->nevents++] = ev;
		if (ev.type == IW_EVENT_REQUEST)
			answer(p, e);
	}
	while (iw_rdmap_next_completion(e->rdmap, &c)) {
		CHECK(e->ndone < LOG_MAX);
		e->done[e->ndone++] = c;
	}
}

static void lose(struct pair *p, struct end *e)
{
	struct iw_fault why = { 0 };

	while (!p->cut_loses && (p->sctp ? end_receive_msg(p, e) : end_receive(p, e)))
		;
	if (p->sctp)
		iw_sctpmap_down(e->assoc);
	iw_fail(&why, IW_E_OS, "test: the connection was cut");
	iw_conn_lost(e->conn, &why, p->now);
	end_poll(p, e);
}

bool pair_step(struct pair *p)
{
	bool moved;

	if (p->cut)
		return false;
	if (p->net)
		return engines_step(p);
	moved = p->sctp ? end_send_msgs(p, &p->a) : end_send(p, &p->a);
	moved |= p->sctp ? end_send_msgs(p, &p->b) : end_send(p, &p->b);
	if (p->cut) {
		lose(p, &p->a);
		lose(p, &p->b);
		return true;
	}
	moved |= p->sctp ? end_receive_msg(p, &p->b) : end_receive(p, &p->b);
	moved |= p->sctp ? end_receive_msg(p, &p->a) : end_receive(p, &p->a);
	return moved;
}

void pair_run(struct pair *p)
{
	for (;;) {
		uint64_t next;

		while (pair_step(p))
			;
		next = UINT64_MAX;
		if ((p->ab.len > 0 || (p->ab.fin && !p->ab.fin_seen)) &&
		    p->ab.not_before > p->now && iw_conn_wants_rx(p->b.conn))
			next = p->ab.not_before;
		if ((p->ba.len > 0 || (p->ba.fin && !p->ba.fin_seen)) &&
		    p->ba.not_before > p->now && iw_conn_wants_rx(p->a.conn))
			next = IW_MIN(next, p->ba.not_before);
		if (p->cut || next == UINT64_MAX)
			return;
		p->now = next;
	}
}

bool pair_tick(struct pair *p)
{
	uint64_t at = IW_MIN(iw_conn_deadline(p->a.conn), iw_conn_deadline(p->b.conn));

	if (at == IW_TIME_NEVER)
		return false;
	p->now = IW_MAX(p->now, at);
	if (iw_conn_deadline(p->a.conn) <= p->now)
		iw_conn_timeout(p->a.conn, p->now);
	if (iw_conn_deadline(p->b.conn) <= p->now)
		iw_conn_timeout(p->b.conn, p->now);
	end_poll(p, &p->a);
	end_poll(p, &p->b);
	return true;
}

bool end_has_event(const struct end *e, enum iw_event_type type)
{
	unsigned i;

	for (i = 0; i < e->nevents; i++)
		if (e->events[i].type == type)
			return true;
	return false;
}

const struct iw_fault *end_closed_fault(const struct end *e)
{
	unsigned i;

	for (i = 0; i < e->nevents; i++)
		if (e->events[i].type == IW_EVENT_CLOSED)
			return &e->events[i].fault;
	return NULL;
}

uint32_t end_register(struct end *e, void *base, size_t len, uint64_t to, uint8_t rights,
		      bool this_stream)
{
	struct iw_region r = { .rights = rights,
			       .pd = e->rcfg.pd,
			       .stream = this_stream ? e->rcfg.stream : 0,
			       .base = base,
			       .len = len,
			       .to = to,
			       .expires = IW_TIME_NEVER,
			       .uses = UINT32_MAX };
	struct iw_fault why = { 0 };
	uint32_t stag;

	CHECK(iw_stag_add(e->stags, &r, &stag, &why) == 0);
	return stag;
}
