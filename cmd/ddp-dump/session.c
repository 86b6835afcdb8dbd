// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * DDP Stream Sessions (RFC 5043 5.2 and 6). A message is reported when it arrives, but checked in
 * the order of the DDP-SSNs (RFC 5043 6.1). The headers of a message that arrives early are kept
 * until the messages before it have arrived or are lost.
 */
#include "ddp-dump/internal.h"

#include <string.h>

/* --- the table of streams --- */

int iw_cap_streams_init(struct iw_cap *c)
{
	iw_list_init(&c->stream_lru);
	for (c->stream_buckets = 64;
	     c->stream_buckets < c->limits.streams && c->stream_buckets < SIZE_MAX / 2;
	     c->stream_buckets *= 2)
		;
	c->stream_bucket = iw_mem_array(c->mem, c->stream_buckets, sizeof(*c->stream_bucket));
	return c->stream_bucket ? 0 : IW_E_NOMEM;
}

/* The streams were freed with their associations. */
void iw_cap_streams_fini(struct iw_cap *c)
{
	if (c->stream_bucket)
		iw_mem_free(c->mem, c->stream_bucket,
			    c->stream_buckets * sizeof(*c->stream_bucket));
}

/* No seed is needed: a peer cannot choose the id of a flow, and the streams of one flow differ in
 * their sid. */
static size_t bucket_of(const struct iw_cap *c, const struct flow *f, uint16_t sid)
{
	return (f->pub.id * (size_t)40503 + sid) & (c->stream_buckets - 1);
}

/* Frees an early message. A stream without early messages leaves the list of waiting streams. */
static void free_early(struct iw_cap *c, struct stream *st, unsigned d, struct held *h)
{
	iw_cap_held_free(c, &st->f->assoc->dir[d], h);
	if (iw_list_empty(&st->side[0].early.list) && iw_list_empty(&st->side[1].early.list))
		iw_list_del(&st->waiting);
}

static void drop_early(struct iw_cap *c, struct stream *st, unsigned d)
{
	struct iw_list *l;

	while ((l = iw_list_first(&st->side[d].early.list)))
		free_early(c, st, d, held_of(l));
}

/*
 * Drops the early messages of a direction except those that were sent after this Initiate. A
 * message stays for one Initiate at most: otherwise a peer could make each Initiate visit all
 * queued messages.
 */
static void drop_before_initiate(struct iw_cap *c, struct stream *st, unsigned d, uint32_t tsn)
{
	struct iw_list *l = st->side[d].early.list.next;

	while (l != &st->side[d].early.list) {
		struct held *h = held_of(l);

		l = l->next;
		c->steps++;
		if (h->stayed || iw_seq32_before(h->tsn, tsn))
			free_early(c, st, d, h);
		else
			h->stayed = true;
	}
}

static void stream_free(struct iw_cap *c, struct stream *st)
{
	struct stream **p = &c->stream_bucket[st->bucket];

	while (*p != st)
		p = &(*p)->hash_next;
	*p = st->hash_next;
	if (c->drain == st)
		c->drain = NULL;
	for (unsigned d = 0; d < 2; d++)
		drop_early(c, st, d);
	iw_cap_transfer_drop(c, &st->transfer);
	iw_list_del(&st->lru);
	iw_list_del(&st->of_flow);
	iw_mem_free(c->mem, st, sizeof(*st));
	c->streams--;
}

void iw_cap_session_drop(struct iw_cap *c, struct flow *f)
{
	struct iw_list *l;

	while ((l = iw_list_first(&f->assoc->streams)))
		stream_free(c, iw_container_of(l, struct stream, of_flow));
}

static void begin_session(struct stream *st, enum session_state state)
{
	st->state = state;
	for (unsigned d = 0; d < 2; d++) {
		st->side[d].known = true;
		st->side[d].next = st->f->assoc->profile->first_ssn;
		st->side[d].ended = false;
		st->side[d].losses = st->f->assoc->dir[d].losses;
		iw_cap_order_start(&st->side[d].order);
	}
}

static struct stream *stream_new(struct iw_cap *c, struct flow *f, uint16_t sid)
{
	struct stream *st;

	if (c->streams >= c->limits.streams) {
		struct iw_list *l = iw_list_first(&c->stream_lru);

		stream_free(c, iw_container_of(l, struct stream, lru));
	}
	st = iw_mem_alloc(c->mem, sizeof(*st));
	if (!st)
		return NULL;
	c->streams++;
	st->f = f;
	st->sid = sid;
	for (unsigned d = 0; d < 2; d++)
		iw_cap_queue_init(&st->side[d].early);
	iw_list_init(&st->waiting);
	iw_list_init(&st->lru);
	iw_list_init(&st->of_flow);
	iw_list_add_tail(&f->assoc->streams, &st->of_flow);
	st->bucket = bucket_of(c, f, sid);
	st->hash_next = c->stream_bucket[st->bucket];
	c->stream_bucket[st->bucket] = st;
	/* The capture has all chunks of the association, so there was no session before. */
	if (!f->assoc->dir[0].lossy && !f->assoc->dir[1].lossy)
		begin_session(st, SESSION_NONE);
	return st;
}

/* Returns the stream, which may be new. NULL: out of memory. */
static struct stream *stream_of(struct iw_cap *c, struct flow *f, uint16_t sid)
{
	struct stream *st = c->stream_bucket[bucket_of(c, f, sid)];

	while (st && (st->f != f || st->sid != sid))
		st = st->hash_next;
	if (!st)
		st = stream_new(c, f, sid);
	if (st) {
		iw_list_del(&st->lru);
		iw_list_add_tail(&c->stream_lru, &st->lru);
	}
	return st;
}

/* --- legal sequences of messages --- */

/* The next message in the order of its direction. */
struct turn {
	bool control;
	uint16_t fn;                /* of a control message */
	const struct iw_cap_ddp *e; /* a segment; NULL: its header was not captured */
};

static bool initiates(uint16_t fn)
{
	return fn == IW_SCTP_FN_INITIATE || fn == IW_SCTP_FN_ENH_INITIATE;
}

static int illegal(struct iw_fault *why, const char *text, const char *clause)
{
	int err = iw_fail(why, IW_E_FORMAT, "session: %s", text);

	why->clause = clause;
	return err;
}

static int take_control(struct iw_fault *why, struct stream *st, unsigned d, uint16_t fn)
{
	struct side *side = &st->side[d];
	bool asked = st->state == SESSION_ASKED && d != st->active;
	bool known = st->state != SESSION_UNKNOWN;

	switch ((enum iw_sctp_fn)fn) {
	case IW_SCTP_FN_INITIATE:
	case IW_SCTP_FN_ENH_INITIATE:
		return 0; /* on_initiate() has checked it */
	case IW_SCTP_FN_ACCEPT:
	case IW_SCTP_FN_ENH_ACCEPT:
		st->state = SESSION_OPEN;
		return asked || !known ? 0
				       : illegal(why, "Accept without an Initiate", "RFC 5043 6.2");
	case IW_SCTP_FN_REJECT:
	case IW_SCTP_FN_ENH_REJECT:
		st->state = SESSION_CLOSED;
		return asked || !known ? 0
				       : illegal(why, "Reject without an Initiate", "RFC 5043 6.3");
	case IW_SCTP_FN_TERMINATE:
		if (known && (st->state == SESSION_NONE || side->ended))
			return illegal(why, "Terminate without a session", "RFC 5043 6.2");
		side->ended = true;
		/* RFC 5043 6.4: instead of a Reject, if DDP itself refuses the session. */
		if (asked || st->side[1 - d].ended)
			st->state = SESSION_CLOSED;
		return 0;
	}
	return illegal(why, "Function Code is not assigned", "RFC 5043 5.2.3");
}

static int take_segment(struct iw_fault *why, struct stream *st, unsigned d,
			const struct iw_cap_ddp *e)
{
	struct side *side = &st->side[d];
	int err = 0;

	if (side->ended)
		return illegal(why, "a segment after the Terminate of its session", "RFC 5043 6.2");
	switch (st->state) {
	case SESSION_NONE:
	case SESSION_CLOSED:
		return illegal(why, "a segment outside of a session", "RFC 5043 6.1");
	case SESSION_ASKED:
		if (d != st->active)
			return illegal(why, "a segment before the Accept", "RFC 5043 6.2");
		break;
	case SESSION_UNKNOWN:
	case SESSION_OPEN:
		break;
	}
	if (!e) {
		iw_cap_order_forget(&side->order);
		return 0;
	}
	err = iw_cap_order_check(why, &side->order, e);
	iw_cap_order_note(&side->order, e);
	return err;
}

static int take(struct iw_fault *why, struct stream *st, unsigned d, const struct turn *t)
{
	st->side[d].next++;
	st->side[d].losses = st->f->assoc->dir[d].losses;
	return t->control ? take_control(why, st, d, t->fn) : take_segment(why, st, d, t->e);
}

/* --- early messages --- */

static void skip_to(struct stream *st, unsigned d, uint16_t ssn)
{
	struct side *side = &st->side[d];

	side->next = ssn;
	iw_cap_order_forget(&side->order);
	/* The lost messages may have changed the state. */
	if (st->state != SESSION_OPEN)
		st->state = SESSION_UNKNOWN;
}

static bool is_before(uint16_t a, uint16_t b)
{
	return (int16_t)(uint16_t)(a - b) < 0;
}

/* Keeps an early message. False: a limit is reached. */
static bool keep(struct iw_cap *c, struct stream *st, unsigned d, const struct msg *m, uint16_t ssn)
{
	struct sctp_dir *w = &st->f->assoc->dir[d];
	struct queue *early = &st->side[d].early;
	uint64_t key = (uint64_t)ssn << 48; /* compares like a serial number of 16 bits */
	struct held *h = iw_cap_held_new(c, w);

	if (!h)
		return false;
	iw_cap_queue_add(c, early, iw_cap_queue_seek(c, early, key), &h->q, key);
	h->tsn = m->tsn;
	h->ppid = m->ppid;
	h->sid = m->sid;
	h->ssn = ssn;
	h->flags = 0;
	h->stayed = false;
	h->len = (uint32_t)m->len;
	h->time_ns = c->now_ns;
	h->frame = c->frame;
	h->head_len = (uint16_t)IW_MIN(m->have, (size_t)HEAD_MAX);
	memcpy(h->head, m->p, h->head_len);
	if (iw_list_empty(&st->waiting))
		iw_list_add_tail(&st->f->assoc->waiting, &st->waiting);
	if (iw_seq32_before(m->tsn, w->check_at))
		w->check_at = m->tsn;
	return true;
}

static void report_fault(struct iw_cap *c, struct stream *st, unsigned d, uint64_t time_ns,
			 uint64_t frame, const struct iw_fault *why, uint32_t tsn)
{
	struct iw_fault *out = iw_cap_event_error(c, st->f, d, time_ns, frame);

	*out = *why;
	out->offset = tsn;
	iw_container_of(out, struct iw_cap_event, error)->sid = st->sid;
}

static int again(struct iw_fault *why, uint16_t ssn, uint16_t next)
{
	int err = iw_fail(why, IW_E_FORMAT, "session: DDP-SSN %u, expected %u", (uint32_t)ssn,
			  (uint32_t)next);

	why->clause = "RFC 5043 6.1";
	return err;
}

/* Checks the first early message of a direction: it is the next in order, or its DDP-SSN is
 * repeated. */
static void take_early(struct iw_cap *c, struct stream *st, unsigned d)
{
	struct side *side = &st->side[d];
	struct held *h = held_of(iw_list_first(&side->early.list));
	bool control = h->ppid == IW_SCTP_PPID_CONTROL;
	struct iw_cap_event ev = { .kind = IW_CAP_DDP };
	struct iw_fault why = { 0 };
	struct turn t = { .control = control };

	if (control) {
		t.fn = h->head_len >= IW_SCTP_CONTROL_LEN ? iw_get_be16(h->head + 2) : 0;
	} else {
		iw_cap_segment_decode(c, &ev, h->head + IW_SCTP_SSN_LEN,
				      (size_t)h->head_len - IW_SCTP_SSN_LEN,
				      h->len - IW_SCTP_SSN_LEN);
		t.e = ev.ddp.has_header ? &ev.ddp : NULL;
	}
	if ((h->ssn == side->next ? take(&why, st, d, &t) : again(&why, h->ssn, side->next)) < 0)
		report_fault(c, st, d, h->time_ns, h->frame, &why, h->tsn);
	free_early(c, st, d, h);
}

bool iw_cap_session_drain(struct iw_cap *c)
{
	struct stream *st = c->drain;

	for (unsigned d = 0; st && d < 2; d++) {
		struct iw_list *l = iw_list_first(&st->side[d].early.list);

		if (l && !is_before(st->side[d].next, held_of(l)->ssn)) {
			take_early(c, st, d);
			return true;
		}
	}
	c->drain = NULL;
	return false;
}

bool iw_cap_session_give_up(struct iw_cap *c, struct flow *f, unsigned d, bool end)
{
	struct sctp_dir *w = &f->assoc->dir[d];
	uint32_t check_at = w->cum + TSN_WINDOW;

	if (!end && (!w->losses || iw_seq32_before(w->cum, w->check_at)))
		return false;
	for (struct iw_list *l = f->assoc->waiting.next; l != &f->assoc->waiting; l = l->next) {
		struct stream *st = iw_container_of(l, struct stream, waiting);
		struct iw_list *first = iw_list_first(&st->side[d].early.list);
		struct held *h = first ? held_of(first) : NULL;

		if (!h || (!end && st->side[d].losses == w->losses))
			continue;
		if (!end && iw_seq32_before(w->cum, h->tsn)) {
			if (iw_seq32_before(h->tsn, check_at))
				check_at = h->tsn;
			continue;
		}
		if (!w->lossy && f->assoc->shut) {
			struct iw_fault why = { 0 };

			iw_fail(&why, IW_E_FORMAT, "session: DDP-SSN %u was never sent",
				(uint32_t)st->side[d].next);
			why.clause = "RFC 5043 6";
			report_fault(c, st, d, h->time_ns, h->frame, &why, h->tsn);
		}
		skip_to(st, d, h->ssn);
		take_early(c, st, d);
		c->drain = st;
		return true;
	}
	w->check_at = check_at;
	return false;
}

/* --- a message --- */

/*
 * An Initiate begins a session and ends an earlier one on the stream, whatever its DDP-SSN. Early
 * messages with later TSNs belong to the new session, so they stay queued. Only a message whose
 * DDP-SSN was ahead of the earlier session is early; any other was reported when it came.
 */
static int on_initiate(struct iw_cap *c, struct iw_fault *why, struct stream *st, unsigned d,
		       const struct msg *m, uint16_t ssn)
{
	bool lossy = st->f->assoc->dir[0].lossy || st->f->assoc->dir[1].lossy;
	uint16_t first = st->f->assoc->profile->first_ssn;
	bool open = st->state == SESSION_ASKED ||
		    (st->state == SESSION_OPEN && !st->side[0].ended && !st->side[1].ended);

	drop_early(c, st, 1 - d);
	drop_before_initiate(c, st, d, m->tsn);
	begin_session(st, SESSION_ASKED);
	c->drain = st;
	st->active = d;
	st->side[d].next = (uint16_t)(ssn + 1);
	c->totals.sessions++;
	if (ssn != first)
		return illegal(why,
			       first ? "the DDP-SSN of an Initiate is not 1"
				     : "the DDP-SSN of an Initiate is not 0",
			       first ? "draft-ietf-rddp-sctp-02" : "RFC 5043 6.1");
	if (open && !lossy)
		return illegal(why, "an Initiate inside of a session", "RFC 5043 6.2");
	return 0;
}

/* Checks a message if it is the next in order, and keeps it if it is early. */
static int place(struct iw_cap *c, struct iw_fault *why, struct stream *st, unsigned d,
		 const struct msg *m, uint16_t ssn, const struct turn *t)
{
	struct side *side = &st->side[d];

	if (t->control && initiates(t->fn))
		return on_initiate(c, why, st, d, m, ssn);
	if (!side->known) {
		side->known = true;
		side->next = ssn;
	}
	if (ssn == side->next) {
		c->drain = st;
		return take(why, st, d, t);
	}
	if (is_before(ssn, side->next))
		return st->f->assoc->dir[d].lossy ? 0 : again(why, ssn, side->next);
	c->totals.out_of_order++;
	if (!keep(c, st, d, m, ssn)) {
		skip_to(st, d, ssn);
		return take(why, st, d, t);
	}
	return 0;
}

static struct iw_cap_chunk chunk_of(const struct iw_cap *c, const struct msg *m, uint16_t ssn)
{
	return (struct iw_cap_chunk){ .stream = m->sid,
				      .ssn = ssn,
				      .tsn = m->tsn,
				      .fragments = m->fragments,
				      .crc = c->pkt.crc,
				      .head = c->pkt.head,
				      .head_len = IW_SCTP_HDR_LEN + IW_SCTP_DATA_HDR_LEN };
}

static int check_control(struct iw_fault *why, const struct iw_sctpmap_profile *p,
			 const struct iw_cap_session *e)
{
	if (!p->enhanced && e->control.fn > IW_SCTP_FN_TERMINATE)
		return illegal(why, "Function Code is not assigned in this edition",
			       "draft-ietf-rddp-sctp-02 2.2.3");
	if (e->control.fn == IW_SCTP_FN_TERMINATE && e->control.pd_len)
		return illegal(why, "Terminate with Private Data", "RFC 5043 5.2.3");
	if (e->control.pd_len > IW_SCTP_PD_MAX)
		return illegal(why, "Private Data above 512 octets", "RFC 5043 5.2.3");
	if ((e->control.fn == IW_SCTP_FN_ENH_INITIATE || e->control.fn == IW_SCTP_FN_ENH_ACCEPT) &&
	    e->control.pd_len < IW_MPA_ENHANCED_LEN)
		return illegal(why, "Private Data is shorter than the enhanced data", "RFC 6581 7");
	return 0;
}

static void on_control(struct iw_cap *c, struct flow *f, unsigned d, struct stream *st,
		       const struct msg *m)
{
	struct iw_cap_event *ev = iw_cap_event_new(c, IW_CAP_SESSION, f, d, c->now_ns, c->frame);
	struct iw_cap_session *e = &ev->session;
	struct iw_fault why = { 0 };
	struct turn t = { .control = true };
	size_t have = IW_MIN(m->have, sizeof(c->pd));

	/* A copy: fragments are freed before the caller fetches the event. */
	memcpy(c->pd, m->p, have);
	(void)iw_wire_sctp_control_decode(&e->control, c->pd, have);
	e->chunk = chunk_of(c, m, e->control.ssn);
	e->pd = e->control.pd;
	e->pd_len = e->control.pd_len;
	/* The length on the wire, also if less was captured. */
	e->control.pd_len = m->len - IW_SCTP_CONTROL_LEN;
	if ((e->control.fn == IW_SCTP_FN_ENH_INITIATE || e->control.fn == IW_SCTP_FN_ENH_ACCEPT) &&
	    iw_wire_mpa_enhanced_decode(&e->enh, e->pd, e->pd_len) > 0) {
		e->enhanced = true;
		e->pd += IW_MPA_ENHANCED_LEN;
		e->pd_len -= IW_MPA_ENHANCED_LEN;
	}
	ev->deviations = m->deviations;
	c->totals.deviations += (unsigned)__builtin_popcount(ev->deviations);
	t.fn = e->control.fn;
	if (check_control(&why, f->assoc->profile, e) < 0)
		report_fault(c, st, d, c->now_ns, c->frame, &why, m->tsn);
	iw_fault_none(&why);
	if (place(c, &why, st, d, m, e->control.ssn, &t) < 0)
		report_fault(c, st, d, c->now_ns, c->frame, &why, m->tsn);
	if (t.fn != IW_SCTP_FN_TERMINATE &&
	    iw_cap_transfer_hello(c, &st->transfer, initiates(t.fn), e->pd, e->pd_len, &e->transfer,
				  &why) < 0)
		report_fault(c, st, d, c->now_ns, c->frame, &why, m->tsn);
}

static void on_segment(struct iw_cap *c, struct flow *f, unsigned d, struct stream *st,
		       const struct msg *m)
{
	struct iw_cap_event *ev = iw_cap_event_new(c, IW_CAP_DDP, f, d, c->now_ns, c->frame);
	struct iw_cap_ddp *e = &ev->ddp;
	uint16_t ssn = iw_get_be16(m->p);
	struct iw_fault why = { 0 }, second;
	struct turn t = { .control = false };
	const uint8_t *payload;
	size_t kept;
	int err = 0;

	e->head = c->head;
	e->head_len = IW_MIN(m->have, sizeof(c->head));
	memcpy(c->head, m->p, e->head_len);
	iw_cap_segment_decode(c, ev, e->head + IW_SCTP_SSN_LEN, e->head_len - IW_SCTP_SSN_LEN,
			      m->len - IW_SCTP_SSN_LEN);
	e->chunk = chunk_of(c, m, ssn);
	e->crc = c->pkt.crc;
	e->first_frame = m->first_frame;
	/* The payload of fragments is not kept, so it is unknown how much of it was captured. */
	e->missing = m->fragments == 1 ? m->len - m->have : 0;
	ev->deviations |= m->deviations;
	t.e = e->has_header ? e : NULL;
	if (e->has_header || !e->missing)
		err = iw_cap_segment_check(&why, e, false);
	if (err == 0)
		err = place(c, &why, st, d, m, ssn, &t);
	else
		(void)place(c, &second, st, d, m, ssn, &t);
	if (err < 0) {
		e->faulty = true;
		report_fault(c, st, d, c->now_ns, c->frame, &why, m->tsn);
	}
	kept = iw_cap_segment_payload(c, ev, &st->transfer, m->p + IW_SCTP_SSN_LEN,
				      m->have - IW_SCTP_SSN_LEN, &payload);
	if (iw_cap_transfer_segment(c, &st->transfer, d, ev, payload, kept, &why) < 0) {
		e->faulty = true;
		report_fault(c, st, d, c->now_ns, c->frame, &why, m->tsn);
	}
	iw_cap_segment_count(c, ev);
}

void iw_cap_session_message(struct iw_cap *c, struct flow *f, unsigned d, const struct msg *m)
{
	bool control = m->ppid == IW_SCTP_PPID_CONTROL;
	size_t need = control ? IW_SCTP_CONTROL_LEN : IW_SCTP_SSN_LEN;
	struct stream *st = stream_of(c, f, m->sid);

	if (!st) {
		c->totals.undecoded_octets += m->len;
		return;
	}
	if (m->have < need) {
		c->totals.headless++;
		if (m->len < need) {
			struct iw_fault why = { 0 };

			(void)illegal(&why, "a message too short for its header", "RFC 5043 5.2");
			report_fault(c, st, d, c->now_ns, c->frame, &why, m->tsn);
		}
		return;
	}
	if (control)
		on_control(c, f, d, st, m);
	else
		on_segment(c, f, d, st, m);
}
