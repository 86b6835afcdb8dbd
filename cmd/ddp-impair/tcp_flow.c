// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One direction of a stream: octets become units, the rules decide about them, and the remaining
 * octets are queued. Octets without a decision are copied in long runs.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ddp-impair/rules/edit.h"
#include "ddp-impair/tcp.h"
#include "util/num.h"

#define UNIT_MAX   (96u << 10) /* more than the longest unit, with markers */
#define COPIES_MAX 16
#define QUEUE_CAP  (8u << 20)
/* What one unit may add at most: its copies, and what is injected. */
#define ROOM       ((COPIES_MAX + 1 + IW_DECISIONS_MAX) * UNIT_MAX)
#define PIPE_SIZE  (1 << 20)
#define LINK_PIECE (16u << 10) /* octets that the link sends at a time */

/* A pipe is faster than a buffer, but optional: it needs descriptors. */
static bool open_pipe(struct iw_tcp_flow *f)
{
	if (pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		f->pipe[0] = f->pipe[1] = -1;
		return false;
	}
	/* Refused above the limits of an ordinary user: then it keeps its size. */
	(void)fcntl(f->pipe[1], F_SETPIPE_SZ, PIPE_SIZE);
	return true;
}

static int flow_init(struct iw_tcp_flow *f, struct iw_tcp *t)
{
	if (t->plain && open_pipe(f))
		return 0;
	f->in = malloc(IW_TCP_IN);
	if (!f->in)
		return IW_E_NOMEM;
	if (t->plain)
		return 0;
	f->flat = malloc(3 * UNIT_MAX);
	if (!f->flat)
		return IW_E_NOMEM;
	f->edited = f->flat + UNIT_MAX;
	f->marked = f->edited + UNIT_MAX;
	if (iw_queue_init(&f->out, QUEUE_CAP) < 0)
		return IW_E_NOMEM;
	return iw_rules_flow_init(&f->rules, t->relay->rules);
}

int iw_relay_tcp_flow_init(struct iw_tcp_flow f[static 2], struct iw_tcp *t)
{
	int err;

	for (unsigned d = 0; d < 2; d++)
		f[d] = (struct iw_tcp_flow){ .pipe = { -1, -1 } };
	err = flow_init(&f[0], t);
	return err ? err : flow_init(&f[1], t);
}

void iw_relay_tcp_flow_fini(struct iw_tcp_flow *f, struct iw_tcp *t)
{
	for (size_t i = 0; i < f->held_count; i++)
		free(f->held[i].octets);
	for (unsigned i = 0; i < 2; i++)
		if (f->pipe[i] >= 0)
			(void)close(f->pipe[i]);
	free(f->held);
	free(f->in);
	free(f->flat);
	iw_queue_fini(&f->out);
	iw_rules_flow_fini(&f->rules, t->relay->rules);
}

/* --- the link ---------------------------------------------------------------------------------- */

static uint64_t jitter(const struct iw_link_cfg *c, uint64_t n)
{
	uint64_t x = iw_mix64((c->seed ^ n) * 0x9e3779b97f4a7c15u);

	return c->jitter_ns ? x % (c->jitter_ns + 1) : 0;
}

/* Returns when len octets arrive that enter the link at this time. */
static uint64_t through_link(struct iw_tcp_flow *f, const struct iw_link_cfg *c, size_t len,
			     uint64_t at_ns)
{
	uint64_t start = IW_MAX(at_ns, f->busy_ns), arrive;

	if (at_ns == IW_TIME_NEVER)
		return at_ns;
	f->busy_ns = start;
	if (c->rate_bits)
		f->busy_ns += (uint64_t)((double)len * 8e9 / (double)c->rate_bits);
	arrive = f->busy_ns + c->delay_ns + jitter(c, f->sent++);
	f->arrive_ns = IW_MAX(f->arrive_ns, arrive);
	return f->arrive_ns;
}

static void put(struct iw_tcp_conn *c, unsigned from, const uint8_t *p, size_t len, uint64_t at_ns,
		uint64_t gap_ns)
{
	struct iw_tcp_flow *f = &c->flow[from];
	const struct iw_relay *r = c->tcp->relay;

	if (f->batch_left)
		at_ns = IW_MAX(at_ns, f->batch_ns);
	if (!r->linked[from]) {
		iw_queue_put(&f->out, p, len, at_ns, gap_ns);
		return;
	}
	for (size_t n; len; p += n, len -= n, gap_ns = 0) {
		n = IW_MIN(len, (size_t)LINK_PIECE);
		iw_queue_put(&f->out, p, n,
			     through_link(f, &r->link[from], n, IW_MAX(at_ns, f->now_ns)), gap_ns);
	}
}

/* --- units with decisions ---------------------------------------------------------------------- */

/* A unit that leaves now: what the decisions add up to. */
struct plan {
	uint64_t at_ns, copies, split, pause_ns;
	const struct iw_action *end; /* the unit ends the direction; NULL: it does not */
	uint64_t end_octets;
	bool drop;
};

/* Puts octets of an FPDU, with markers if it has them. */
static void put_unit(struct iw_tcp_conn *c, const struct iw_unit *u, const uint8_t *octets,
		     size_t len, const struct plan *p)
{
	struct iw_tcp_flow *f = &c->flow[u->from];
	uint64_t gap = 0;
	size_t first;

	if (u->markers) {
		len = iw_framer_mark(f->marked, octets, len, f->out_pos);
		octets = f->marked;
	}
	if (u->kind == IW_UNIT_FPDU)
		f->out_pos += (uint32_t)len;
	if (p->split && p->split < len) {
		first = (size_t)p->split;
		iw_queue_part(&f->out);
		put(c, u->from, octets, first, p->at_ns, 0);
		iw_queue_part(&f->out);
		octets += first;
		len -= first;
		gap = p->pause_ns;
	}
	put(c, u->from, octets, len, p->at_ns, gap);
}

/*
 * Copies the unit, without markers, to f->edited and carries out the edits. A unit with markers may
 * leave at another position than it came from, so its CRC changes; a wrong CRC stays wrong.
 */
static size_t edit(struct iw_tcp_flow *f, struct iw_unit *u, const uint8_t *octets,
		   const struct iw_decision *d, size_t n)
{
	size_t len = u->len;
	bool moved = u->markers && u->sealed && (f->out_pos - u->pos) % 512 != 0;
	bool right = moved &&
		     iw_get_le32(octets + len - 4) == iw_framer_crc(octets, len, true, u->pos);

	memcpy(f->edited, octets, len);
	u->octets = f->edited;
	u->have = len;
	if (u->markers)
		u->pos = f->out_pos;
	if (right)
		iw_edit_seal(u, f->edited, len);
	for (size_t i = 0; i < n; i++)
		if (iw_edit_is(d[i].action->kind))
			(void)iw_edit_apply(&d[i], u, f->edited, &len);
	return len;
}

static void inject(struct iw_tcp_conn *c, const struct iw_unit *u, const struct iw_decision *d,
		   size_t n, bool after, const struct plan *p)
{
	struct plan one = { .at_ns = p->at_ns };

	for (size_t i = 0; i < n; i++) {
		const struct iw_action *a = d[i].action;

		if (a->kind == IW_ACTION_INJECT && a->after == after)
			put_unit(c, u, a->octets, a->octets_len, &one);
	}
}

static void plan_one(struct plan *p, const struct iw_decision *d, struct iw_tcp_flow *f,
		     uint64_t now)
{
	switch (d->action->kind) {
	case IW_ACTION_DROP:
		p->drop = true;
		break;
	case IW_ACTION_DISCARD:
		p->drop = f->discard = true;
		break;
	case IW_ACTION_DELAY:
	case IW_ACTION_STALL:
		p->at_ns = IW_MAX(p->at_ns, iw_time_add(now, d->ns));
		break;
	case IW_ACTION_DUPLICATE:
		p->copies = IW_MIN(p->copies + d->pick, (uint64_t)COPIES_MAX);
		break;
	case IW_ACTION_SPLIT:
		p->split = d->pick;
		p->pause_ns = d->ns;
		break;
	case IW_ACTION_COALESCE:
		if (!f->batch_left) {
			iw_queue_part(&f->out);
			f->batch_left = d->pick;
			f->batch_ns = iw_time_add(now, d->ns);
		}
		break;
	case IW_ACTION_HALF_CLOSE:
	case IW_ACTION_CLOSE:
	case IW_ACTION_RESET:
		p->end = d->action;
		p->end_octets = d->pick;
		break;
	default:
		break;
	}
}

static struct plan make_plan(struct iw_tcp_flow *f, const struct iw_decision *d, size_t n,
			     uint64_t now)
{
	struct plan p = { .at_ns = 0, .copies = 1 };

	for (size_t i = 0; i < n; i++)
		plan_one(&p, &d[i], f, now);
	return p;
}

static void end_flow(struct iw_tcp_conn *c, unsigned from, const struct plan *p)
{
	static const enum iw_queue_end ends[IW_ACTIONS] = {
		[IW_ACTION_HALF_CLOSE] = IW_QUEUE_FIN,
		[IW_ACTION_CLOSE] = IW_QUEUE_CLOSE,
		[IW_ACTION_RESET] = IW_QUEUE_RESET,
	};
	struct iw_tcp_flow *f = &c->flow[from];

	f->ended = f->discard = true;
	iw_queue_end(&f->out, ends[p->end->kind], p->at_ns);
}

/*
 * Queues a unit as its decisions say. octets: without markers, not in the buffers of put_unit() and
 * edit(). Returns the octets that leave (borrowed until the next unit); NULL: none do.
 */
static const uint8_t *leave(struct iw_tcp_conn *c, const struct iw_unit *unit,
			    const uint8_t *octets, const struct iw_decision *d, size_t n,
			    uint64_t now)
{
	struct iw_tcp_flow *f = &c->flow[unit->from];
	struct plan p = make_plan(f, d, n, now);
	const uint8_t *left = NULL;

	inject(c, unit, d, n, false, &p);
	for (uint64_t i = 0; i < p.copies && !p.drop; i++) {
		struct iw_unit u = *unit;
		size_t len = edit(f, &u, octets, d, n);

		if (p.end)
			len = IW_MIN(len, (size_t)p.end_octets);
		put_unit(c, &u, f->edited, len, &p);
		left = f->edited;
	}
	inject(c, unit, d, n, true, &p);
	if (p.end)
		end_flow(c, unit->from, &p);
	return left;
}

/* --- reorder ------------------------------------------------------------------------------------ */

static const struct iw_decision *reorder_of(const struct iw_decision *d, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (d[i].action->kind == IW_ACTION_REORDER)
			return &d[i];
	return NULL;
}

/* Keeps the unit until others have left. False: no memory, or too many are kept. */
static bool hold(struct iw_tcp_flow *f, const struct iw_unit *u, const uint8_t *wire,
		 const struct iw_decision *d, size_t n, uint64_t overtake)
{
	struct iw_tcp_held *h;

	if (!f->held)
		f->held = calloc(IW_TCP_HELD, sizeof(*f->held));
	if (!f->held || f->held_count == IW_TCP_HELD)
		return false;
	h = &f->held[f->held_count];
	*h = (struct iw_tcp_held){ .unit = *u, .octets = malloc(u->len), .left = overtake };
	if (!h->octets)
		return false;
	iw_framer_unmark(u, h->octets, wire);
	for (size_t i = 0; i < n; i++)
		h->decision[h->decisions++] = d[i];
	f->held_count++;
	return true;
}

/* A unit has left: it has overtaken all that are held. */
static void count_overtaken(struct iw_tcp_flow *f)
{
	for (size_t i = 0; i < f->held_count; i++)
		if (f->held[i].left > 0)
			f->held[i].left--;
}

/*
 * Releases the units that enough have overtaken; all: no more units follow. Those for which the
 * queue has no room stay until it is called again.
 */
static void release(struct iw_tcp_conn *c, unsigned from, uint64_t now, bool all)
{
	struct iw_tcp_flow *f = &c->flow[from];

	for (size_t i = 0; i < f->held_count && iw_queue_has_room(&f->out, ROOM);) {
		struct iw_tcp_held h = f->held[i];

		if (!all && h.left > 0) {
			i++;
			continue;
		}
		f->held_count--;
		memmove(f->held + i, f->held + i + 1, (f->held_count - i) * sizeof(h));
		(void)leave(c, &h.unit, h.octets, h.decision, h.decisions, now);
		free(h.octets);
	}
}

/* --- the stream -------------------------------------------------------------------------------- */

/* One more unit of a batch has been queued. */
static void count_batch(struct iw_tcp_conn *c, unsigned from, uint64_t now)
{
	struct iw_tcp_flow *f = &c->flow[from];

	if (!f->batch_left || (now < f->batch_ns && --f->batch_left > 0))
		return;
	f->batch_left = 0;
	if (!c->tcp->relay->linked[from])
		iw_queue_release(&f->out, now);
	iw_queue_part(&f->out);
}

/*
 * A unit with decisions, or one that must not pass as it is. wire: its octets as they arrived.
 * Returns as leave().
 */
static const uint8_t *decided(struct iw_tcp_conn *c, const struct iw_unit *u, const uint8_t *wire,
			      const struct iw_decision *d, size_t n, uint64_t now)
{
	struct iw_tcp_flow *f = &c->flow[u->from];
	const struct iw_decision *late = reorder_of(d, n);
	const uint8_t *left;

	if (late && hold(f, u, wire, d, n, late->pick))
		return NULL;
	left = leave(c, u, u->markers ? f->flat : wire, d, n, now);
	count_batch(c, u->from, now);
	count_overtaken(f);
	release(c, u->from, now, false);
	return left;
}

/* True if the octets of the unit leave as they arrived, where they arrived. */
static bool passes(const struct iw_tcp_flow *f, const struct iw_unit *u, size_t decisions)
{
	return decisions == 0 && !f->held_count && !f->batch_left &&
	       (!u->markers || (f->out_pos - u->pos) % 512 == 0);
}

/* Takes one unit at p. Returns its octets on the wire; 0: it is not complete. *plain: it passes. */
static size_t step(struct iw_tcp_conn *c, unsigned from, const uint8_t *p, size_t len, uint64_t now,
		   bool *plain)
{
	struct iw_tcp_flow *f = &c->flow[from];
	struct iw_decision d[IW_DECISIONS_MAX];
	const uint8_t *left = NULL;
	struct iw_unit u;
	size_t n;

	if (!iw_framer_peek(&c->framer, from, p, len, f->in_ended, now - c->begin_ns, &u) ||
	    u.wire_len > len)
		return 0;
	if (u.markers) {
		iw_framer_unmark(&u, f->flat, p);
		u.octets = f->flat;
		u.have = u.len;
	}
	n = iw_relay_log_decide(c->tcp->relay->log, &f->rules, &u, d);
	f->units++;
	*plain = passes(f, &u, n);
	if (!*plain)
		left = decided(c, &u, p, d, n, now);
	else if (u.kind == IW_UNIT_FPDU)
		f->out_pos += u.wire_len;
	iw_framer_take(&c->framer, &u, left);
	return u.wire_len;
}

static void consume(struct iw_tcp_flow *f, size_t n)
{
	f->in_len -= n;
	memmove(f->in, f->in + n, f->in_len);
}

static void run_units(struct iw_tcp_conn *c, unsigned from, uint64_t now)
{
	struct iw_tcp_flow *f = &c->flow[from];
	size_t at = 0, n;
	bool plain;

	release(c, from, now, false);
	while (at < f->in_len && !f->discard && iw_queue_has_room(&f->out, ROOM)) {
		n = step(c, from, f->in + at, f->in_len - at, now, &plain);
		if (!n)
			break;
		if (plain)
			put(c, from, f->in + at, n, 0, 0);
		at += n;
	}
	consume(f, f->discard ? f->in_len : at);
}

bool iw_relay_tcp_flow_reads(const struct iw_tcp_conn *c, unsigned from)
{
	const struct iw_tcp_flow *f = &c->flow[from];

	if (f->in_ended)
		return false;
	if (c->tcp->plain)
		return f->in_len == 0;
	return f->discard ||
	       (f->in_len < IW_TCP_IN && iw_queue_has_room(&f->out, ROOM + IW_TCP_IN));
}

/* The end has sent all its octets, and all of them were divided into units. */
static void end_in(struct iw_tcp_conn *c, unsigned from, uint64_t now)
{
	struct iw_tcp_flow *f = &c->flow[from];

	if (!f->discard)
		release(c, from, now, true);
	/* A released unit has ended the direction, or held units wait for room. */
	if (f->ended || (f->held_count && !f->discard))
		return;
	iw_queue_end(&f->out, IW_QUEUE_FIN, 0);
	f->ended = true;
}

void iw_relay_tcp_flow_run(struct iw_tcp_conn *c, unsigned from, uint64_t now)
{
	struct iw_tcp_flow *f = &c->flow[from];

	if (c->tcp->plain)
		return;
	f->now_ns = now;
	if (f->discard) {
		f->in_len = 0;
	} else if (c->tcp->relay->need_units) {
		run_units(c, from, now);
	} else if (iw_queue_has_room(&f->out, ROOM + f->in_len)) {
		put(c, from, f->in, f->in_len, 0, 0);
		consume(f, f->in_len);
	}
	if (f->in_ended && f->in_len == 0 && !f->ended)
		end_in(c, from, now);
}
