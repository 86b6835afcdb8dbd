// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reassembles one direction of TCP. Octets in order are decoded in place; those that arrive early
 * are kept in blocks, sorted. Of repeated octets the first copy applies. A hole counts as lost some
 * time after the peer has acknowledged it, when memory for later octets runs out, or at the end.
 */
#include "ddp-dump/internal.h"

#include <string.h>

static struct piece *piece_of(struct iw_list *l)
{
	return iw_container_of(l, struct piece, q.link);
}

static struct piece *first_piece(const struct dir *s)
{
	struct iw_list *l = iw_list_first(&s->queue.list);

	return l ? piece_of(l) : NULL;
}

/* In the upper half, sequence numbers compare as they do in 32 bits. */
static uint64_t key_of(uint32_t seq)
{
	return (uint64_t)seq << 32;
}

static void piece_free(struct iw_cap *c, struct dir *s, struct piece *p)
{
	iw_cap_queue_del(&p->q);
	iw_pool_put(&c->pool, p);
	s->blocks--;
}

void iw_cap_stream_drop(struct iw_cap *c, struct dir *s)
{
	struct piece *p;

	while ((p = first_piece(s)))
		piece_free(c, s, p);
}

/* The next n octets are decoded or lost. */
static void advance(struct dir *s, size_t n)
{
	s->next += (uint32_t)n;
	s->hole_watched = false;
	/* lost_to must not stay until the sequence numbers wrap. */
	if (s->lost_known && !iw_seq32_before(s->next, s->lost_to))
		s->lost_known = false;
}

/* n octets from s->next on are lost. */
static void lose(struct iw_cap *c, struct flow *f, unsigned d, uint32_t n, enum iw_cap_why why)
{
	struct dir *s = &f->dir[d];

	switch (s->phase) {
	case PHASE_SEARCH:
	case PHASE_FRAME:
		iw_cap_startup_gap(c, f, d, n, why);
		break;
	case PHASE_FIRST:
	case PHASE_FPDU:
	case PHASE_RESYNC:
		iw_cap_fpdu_gap(c, f, d, n, why);
		break;
	case PHASE_WAIT:
	case PHASE_PLAIN:
	case PHASE_COUNT:
		break;
	}
	advance(s, n);
}

/* Takes octets of the run and returns their number. 0: the other direction's start-up frame is
 * missing. */
static size_t consume(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	struct dir *s = &f->dir[d];
	size_t n = r->len;

	switch (s->phase) {
	case PHASE_SEARCH:
	case PHASE_FRAME:
	case PHASE_WAIT:
		n = iw_cap_startup_run(c, f, d, r);
		break;
	case PHASE_FIRST:
	case PHASE_FPDU:
	case PHASE_RESYNC:
		n = iw_cap_fpdu_run(c, f, d, r);
		break;
	case PHASE_PLAIN:
	case PHASE_COUNT:
		if (f->mpa && f->mpa->agreed)
			c->totals.undecoded_octets += n;
		break;
	}
	if (n)
		advance(s, n);
	return n;
}

/* --- early octets --- */

static struct piece *piece_new(struct iw_cap *c, struct dir *s, struct iw_list *at)
{
	struct piece *p;

	if (s->blocks >= c->dir_blocks)
		return NULL;
	p = iw_pool_get(&c->pool);
	if (!p)
		return NULL;
	s->blocks++;
	p->seq = c->cur_seq;
	iw_cap_queue_add(c, &s->queue, at, &p->q, key_of(p->seq));
	p->len = p->missing = 0;
	p->off = c->cur_run.off;
	p->time_ns = c->cur_run.time_ns;
	p->frame = c->cur_run.frame;
	return p;
}

static void cur_skip(struct iw_cap *c, size_t n)
{
	c->cur_run.p += n;
	c->cur_run.len -= n;
	c->cur_run.off += (uint32_t)n;
	c->cur_seq += (uint32_t)n;
}

/* The next n octets of the current segment were received before. first: their first copy, if it is
 * still kept. */
static void cur_again(struct iw_cap *c, size_t n, const uint8_t *first)
{
	c->totals.repeated_octets += n;
	c->cur_again += (uint32_t)n;
	c->cur_differs |= first && memcmp(first, c->cur_run.p, n) != 0;
	cur_skip(c, n);
}

void iw_cap_report_again(struct iw_cap *c, struct flow *f, unsigned d)
{
	struct iw_cap_tcp *e = &iw_cap_event_new(c, IW_CAP_TCP, f, d, c->now_ns, c->frame)->tcp;

	e->kind = c->cur_again < c->cur_whole ? IW_CAP_TCP_OVERLAP : IW_CAP_TCP_AGAIN;
	e->why = c->cur_differs ? IW_CAP_WHY_DIFFERS : IW_CAP_WHY_NONE;
	e->seq = c->cur_first;
	e->octets = c->cur_again;
	e->where = iw_cap_phase_text(f->dir[d].phase);
}

/*
 * If one segment covers at least this many pieces, they become one. Otherwise a sender that begins
 * with thousands of single octets would cause a visit of each of them for every later segment over
 * them. The frame and offset of the first piece apply to all.
 */
#define COVERED_MOST 16

/* Appends the next n octets of the current segment to p, if they fit. */
static bool append(struct iw_cap *c, struct piece *p, size_t n)
{
	if (p->missing || n > PIECE_MAX - p->len)
		return false;
	memcpy(p->data + p->len, c->cur_run.p, n);
	p->len += (uint32_t)n;
	cur_skip(c, n);
	return true;
}

/* The current segment covers next, or its first octets. True: p has the octets of next, which is
 * freed. */
static bool cover(struct iw_cap *c, struct dir *s, struct piece *p, struct piece *next)
{
	size_t again = IW_MIN(c->cur_run.len, (size_t)next->len);
	bool fits = p && !p->missing && again == next->len && next->len <= PIECE_MAX - p->len;

	c->steps++;
	cur_again(c, again, next->data);
	if (!fits)
		return false;
	memcpy(p->data + p->len, next->data, next->len);
	p->len += next->len;
	p->missing = next->missing;
	piece_free(c, s, next);
	return true;
}

/* Copies the new octets of the current segment to the queue, and removes them from the segment.
 * False: a limit was reached before all were copied. */
static bool hold(struct iw_cap *c, struct dir *s)
{
	struct piece *p = NULL;
	struct iw_list *at = iw_cap_queue_seek(c, &s->queue, key_of(c->cur_seq));
	unsigned covered = 0;

	if (at != &s->queue.list) {
		uint32_t in = c->cur_seq - piece_of(at)->seq;

		if (in < piece_of(at)->len) {
			size_t again = IW_MIN(c->cur_run.len, (size_t)(piece_of(at)->len - in));

			cur_again(c, again, piece_of(at)->data + in);
		}
	}
	if (c->cur_run.len == 0 && c->cur_missing) {
		p = piece_new(c, s, at);
		if (!p)
			return false;
	}
	while (c->cur_run.len) {
		struct piece *next = at->next == &s->queue.list ? NULL : piece_of(at->next);
		struct piece *into = covered >= COVERED_MOST ? piece_of(at) : NULL;
		uint32_t room = next ? next->seq - c->cur_seq : UINT32_MAX;
		size_t n = IW_MIN(c->cur_run.len, (size_t)IW_MIN(room, PIECE_MAX));

		if (room == 0) {
			covered++;
			if (!cover(c, s, into, next))
				at = &next->q.link;
			p = NULL;
			continue;
		}
		if (into && append(c, into, n)) {
			p = into;
			continue;
		}
		p = piece_new(c, s, at);
		if (!p)
			return false;
		at = &p->q.link;
		p->len = (uint32_t)n;
		memcpy(p->data, c->cur_run.p, p->len);
		cur_skip(c, p->len);
	}
	if (p)
		p->missing = c->cur_missing;
	c->cur_missing = 0;
	return true;
}

/* --- steps --- */

/* The direction is not followed, but a TCP segment that begins with an MPA key starts a search. */
static bool step_plain(struct iw_cap *c, struct flow *f, struct dir *s)
{
	struct run *r = &c->cur_run;
	uint32_t end = c->cur_seq + (uint32_t)r->len + c->cur_missing;
	bool agreed = f->mpa && f->mpa->agreed;

	if (!agreed && r->off == 0 && r->len >= IW_MPA_KEY_LEN &&
	    memcmp(r->p, IW_MPA_REQUEST_KEY, IW_MPA_KEY_DIFFERS) == 0 &&
	    !iw_seq32_before(c->cur_seq, s->next)) {
		s->next = c->cur_seq;
		s->searched = 0;
		s->match = 0;
		iw_cap_set_phase(s, PHASE_SEARCH);
		return true;
	}
	if (iw_seq32_before(s->next, end)) {
		if (agreed)
			c->totals.undecoded_octets += r->len;
		s->next = end;
	}
	r->len = 0;
	c->cur_missing = 0;
	return true;
}

/* The octets from next to the first piece, which begins at to, are lost. */
static bool is_lost(struct iw_cap *c, struct flow *f, struct dir *s, uint32_t to,
		    enum iw_cap_why *why)
{
	*why = IW_CAP_WHY_END;
	if (f->flush)
		return true;
	*why = IW_CAP_WHY_GAP;
	if (s->lost_known && !iw_seq32_before(s->lost_to, to))
		return true;
	if (!s->acked_known || !iw_seq32_before(s->next, s->acked))
		return false;
	if (!s->hole_watched) {
		s->hole_watched = true;
		s->hole_acked = s->acked;
		s->hole_packets = f->packets;
		s->hole_time_ns = c->now_ns;
		return false;
	}
	if (f->packets - s->hole_packets < HOLE_PACKETS &&
	    (c->now_ns <= s->hole_time_ns || c->now_ns - s->hole_time_ns < HOLE_NS))
		return false;
	/* All other holes that were acknowledged at that time are lost too. */
	s->lost_known = true;
	s->lost_to = s->hole_acked;
	return true;
}

static bool step_queue(struct iw_cap *c, struct flow *f, unsigned d, struct piece *p)
{
	struct dir *s = &f->dir[d];
	uint32_t in = s->next - p->seq;
	enum iw_cap_why why;

	if (s->phase == PHASE_WAIT)
		return false;
	if (iw_seq32_before(s->next, p->seq)) {
		if (!is_lost(c, f, s, p->seq, &why))
			return false;
		lose(c, f, d, p->seq - s->next, why);
		return true;
	}
	if (in < p->len) {
		struct run r = { p->data + in, p->len - in, p->time_ns, p->frame, p->off + in };

		consume(c, f, d, &r);
		return true;
	}
	if (in - p->len < p->missing) {
		struct iw_list *l = p->q.link.next;
		uint32_t n = p->missing - (in - p->len);

		if (l != &s->queue.list)
			n = IW_MIN(n, piece_of(l)->seq - s->next);
		if (n) {
			lose(c, f, d, n, IW_CAP_WHY_SNAP);
			return true;
		}
	}
	piece_free(c, s, p);
	return true;
}

/* A limit is reached, so the current segment cannot be kept: decodes or loses the oldest octets. */
static void make_room(struct iw_cap *c, struct flow *f, unsigned d)
{
	struct dir *s = &f->dir[d];
	struct piece *head = first_piece(s);
	uint32_t to = c->cur_seq;

	if (s->phase == PHASE_WAIT) {
		iw_cap_startup_give_up(c, f);
		return;
	}
	if (head && !iw_seq32_before(s->next, head->seq)) {
		(void)step_queue(c, f, d, head);
		return;
	}
	if (head && iw_seq32_before(head->seq, to))
		to = head->seq;
	lose(c, f, d, to - s->next, IW_CAP_WHY_LIMIT);
}

/* Does one step on the segment of the current frame. */
static bool step_current(struct iw_cap *c, struct flow *f, unsigned d)
{
	struct dir *s = &f->dir[d];
	struct run *r = &c->cur_run;

	if (s->phase == PHASE_PLAIN)
		return step_plain(c, f, s);
	if (s->fin_reported) {
		r->len = 0;
		c->cur_missing = 0;
		return true;
	}
	if (iw_seq32_before(c->cur_seq, s->next)) {
		uint32_t old = s->next - c->cur_seq;
		size_t n = IW_MIN(r->len, (size_t)old);

		cur_again(c, n, NULL);
		n = IW_MIN(c->cur_missing, old - (uint32_t)n);
		c->cur_missing -= (uint32_t)n;
		c->cur_seq += (uint32_t)n;
		return true;
	}
	if (c->cur_seq != s->next || s->phase == PHASE_WAIT) {
		bool ahead = c->cur_seq != s->next;

		if (!hold(c, s))
			make_room(c, f, d);
		else if (ahead)
			c->totals.out_of_order++;
		return true;
	}
	if (r->len) {
		cur_skip(c, consume(c, f, d, r));
		return true;
	}

	struct piece *head = first_piece(s);
	uint32_t n = c->cur_missing;

	if (head)
		n = IW_MIN(n, head->seq - s->next);
	c->cur_missing = 0;
	if (n)
		lose(c, f, d, n, IW_CAP_WHY_SNAP);
	return true;
}

static void report_fin(struct iw_cap *c, struct flow *f, unsigned d)
{
	struct dir *s = &f->dir[d];
	struct iw_cap_event *ev;

	s->fin_reported = true;
	if (!f->mpa)
		return;

	struct fpdus *w = &f->mpa->fpdus[d];

	if (s->phase == PHASE_FPDU && w->begun && w->tentative == CERTAIN) {
		struct iw_fault *why = iw_cap_event_error(c, f, d, s->fin_time_ns, s->fin_frame);

		iw_fail(why, IW_E_MPA_LOST,
			"mpa: the stream ends inside an FPDU, %U octets into it",
			w->pos - w->start);
		why->clause = "RFC 5044 7.2";
		why->offset = w->start;
		iw_cap_fpdu_end(c, f, d);
	}
	ev = iw_cap_event_new(c, IW_CAP_TCP, f, d, s->fin_time_ns, s->fin_frame);
	ev->tcp.kind = IW_CAP_TCP_FIN;
	ev->tcp.seq = s->fin_seq;
	ev->tcp.where = iw_cap_phase_text(s->phase);
}

bool iw_cap_stream_step(struct iw_cap *c, struct flow *f, unsigned d)
{
	struct dir *s = &f->dir[d];
	struct piece *p;

	if (f->mpa && iw_cap_fpdu_replay(c, f, d))
		return true;
	if (c->cur == f && c->cur_dir == d && (c->cur_run.len || c->cur_missing))
		return step_current(c, f, d);
	p = first_piece(s);
	if (p)
		return step_queue(c, f, d, p);
	if (s->fin_known && !s->fin_reported && !iw_seq32_before(s->next, s->fin_seq)) {
		report_fin(c, f, d);
		return true;
	}
	return false;
}
