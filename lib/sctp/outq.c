// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages to send, each as one chunk in a ring by seq. The ring is allocated with the first
 * message, doubled when it is full and freed when the association is idle: a busy association
 * allocates nothing, and an idle one holds nothing. The states are kept apart from the chunks
 * because each SACK reads many of them.
 */
#include "sctp/internal.h"

#include <string.h>

#define RING_MIN  16
#define RING_MAX  65536 /* more could not be reported in gap blocks */
/* Unsent chunks are limited to SENDS_MAX sends of a carrier, each of at most SEND_MAX octets. */
#define SENDS_MAX 4
#define SEND_MAX  65000

void iw_sctp_outq_init(struct outq *q, uint32_t tsn)
{
	*q = (struct outq){
		.tsn0 = tsn,
		.rack_at = IW_TIME_NEVER,
		.tlp_at = IW_TIME_NEVER,
		.persist_at = IW_TIME_NEVER,
	};
}

static void free_ring(struct iw_sctp_assoc *a, struct out_chunk *ring, uint8_t *state,
		      uint32_t size)
{
	iw_mem_free(a->s->cfg.mem, ring, size * sizeof(*ring));
	iw_mem_free(a->s->cfg.mem, state, size);
}

void iw_sctp_outq_fini(struct iw_sctp_assoc *a)
{
	struct outq *q = &a->out;

	for (uint64_t seq = q->una; seq < q->end; seq++)
		iw_sctp_release(a, chunk_at(q, seq));
	free_ring(a, q->ring, q->state, q->size);
	q->ring = NULL;
	q->state = NULL;
	q->size = 0;
}

void iw_sctp_outq_slim(struct iw_sctp_assoc *a)
{
	if (a->out.first == a->out.end)
		iw_sctp_outq_fini(a);
}

static bool grow(struct iw_sctp_assoc *a)
{
	struct outq *q = &a->out;
	struct outq bigger = *q;

	if (q->size >= RING_MAX)
		return false;
	bigger.size = q->size ? q->size * 2 : RING_MIN;
	bigger.ring = iw_mem_array(a->s->cfg.mem, bigger.size, sizeof(*bigger.ring));
	bigger.state = iw_mem_alloc(a->s->cfg.mem, bigger.size);
	if (!bigger.ring || !bigger.state) {
		free_ring(a, bigger.ring, bigger.state, bigger.size);
		return false;
	}
	for (uint64_t seq = q->first; seq < q->end; seq++) {
		*chunk_at(&bigger, seq) = *chunk_at(q, seq);
		*state_at(&bigger, seq) = *state_at(q, seq);
	}
	free_ring(a, q->ring, q->state, q->size);
	*q = bigger;
	return true;
}

/* --- the user's side -------------------------------------------------------------------------- */

/* The largest message, if payload() is the payload of a path's packets. */
static uint32_t largest(const struct iw_sctp_assoc *a, uint32_t (*payload)(const struct path *p))
{
	const uint32_t beside = IW_SCTP_DATA_HDR_LEN + IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_SACK_LEN;
	uint32_t least = UINT32_MAX;

	/*
	 * The smallest of all usable paths, so that a chunk can be retransmitted on any of them
	 * (RFC 9260 7.3).
	 */
	for (unsigned i = 0; i < a->npaths; i++)
		if (path_is_usable(&a->paths[i]))
			least = IW_MIN(least, payload(&a->paths[i]));
	if (least == UINT32_MAX)
		least = payload(&a->paths[0]);
	return IW_MAX(least - beside, 518u);
}

size_t iw_sctp_max_message(const struct iw_sctp_assoc *a)
{
	return largest(a, iw_sctp_proven_payload);
}

uint32_t iw_sctp_max_unproven(const struct iw_sctp_assoc *a)
{
	return largest(a, iw_sctp_payload);
}

void iw_sctp_know_max(struct iw_sctp_assoc *a, uint32_t max)
{
	uint32_t chunk = chunk_octets(max), packets;

	packets = SEND_MAX / (IW_SCTP_HDR_LEN + chunk + a->s->cfg.dtls_overhead);
	a->reported_max = max;
	/* A multiple of whole sends: a few more packets would cost the carrier another send. */
	a->out.unsent_max = SENDS_MAX * IW_MAX(packets, 1u) * chunk;
}

void iw_sctp_check_max(struct iw_sctp_assoc *a)
{
	uint32_t max = (uint32_t)iw_sctp_max_message(a);

	if (a->state < IW_SCTP_ESTABLISHED || max == a->reported_max)
		return;
	iw_sctp_know_max(a, max);
	a->most_reported = IW_MAX(a->most_reported, max);
	iw_sctp_raise(a, IW_SCTP_EV_MTU);
}

static bool is_writable(const struct iw_sctp_assoc *a)
{
	const struct outq *q = &a->out;

	return a->state == IW_SCTP_ESTABLISHED && q->unsent_octets < q->unsent_max &&
	       q->end - q->first < RING_MAX;
}

static struct iw_pool *copies_of(const struct iw_sctp_assoc *a, const struct out_chunk *c)
{
	return c->len <= SHORT_LEN ? &a->s->shorts : &a->s->copies;
}

/* Copies the slices, one after the other, into a buffer of the endpoint. */
static bool copy_slices(struct iw_sctp_assoc *a, struct out_chunk *c, const struct iw_vec *vec,
			size_t nvec)
{
	size_t at = 0;

	c->copy = iw_pool_get(copies_of(a, c));
	if (!c->copy)
		return false;
	a->out.copy_octets += copies_of(a, c)->size;
	for (size_t i = 0; i < nvec; i++) {
		if (vec[i].len)
			memcpy(c->copy + at, vec[i].base, vec[i].len);
		at += vec[i].len;
	}
	c->vec[0] = (struct iw_vec){ c->copy, at };
	c->in_place = false;
	return true;
}

void iw_sctp_send_long_hdr(struct iw_sctp_send *m, struct iw_vec *all)
{
	all[0] = (struct iw_vec){ (void *)(uintptr_t)m->hdr, m->hdr_len };
	for (size_t i = 0; i < m->nvec; i++)
		all[i + 1] = m->vec[i];
	m->hdr_len = 0;
	m->vec = all;
	m->nvec++;
}

int iw_sctp_send(struct iw_sctp_assoc *a, const struct iw_sctp_send *m, uint64_t *seq)
{
	struct outq *q = &a->out;
	struct out_chunk *c;
	size_t len = m->hdr_len;

	if (a->state != IW_SCTP_ESTABLISHED)
		return IW_E_STATE;
	for (size_t i = 0; i < m->nvec; i++)
		if (__builtin_add_overflow(len, m->vec[i].len, &len))
			return IW_E_LIMIT;
	if (len == 0 || m->hdr_len > IW_SCTP_SEND_HDR_MAX || m->stream >= a->streams_out)
		return IW_E_INVAL;
	/*
	 * The caller may have cut the message before it learned of a smaller MTU: such a message is
	 * accepted and sent with IP fragmentation.
	 */
	if (len > a->most_reported && len > iw_sctp_max_message(a))
		return IW_E_LIMIT;
	if (!is_writable(a)) {
		q->wanted = true;
		return IW_E_AGAIN;
	}
	if (q->end - q->first == q->size && !grow(a))
		return IW_E_NOMEM;
	c = chunk_at(q, q->end);
	/*
	 * The fields are set one by one: most of the chunk is hdr and vec, whose unused parts need
	 * not be zero.
	 */
	c->cookie = m->cookie;
	c->copy = NULL;
	c->sent_at = 0;
	c->ppid = m->ppid;
	c->stream = m->stream;
	c->len = (uint16_t)len;
	c->hdr_len = (uint8_t)m->hdr_len;
	c->path = 0;
	c->sends = 0;
	c->sack_now = m->sack_now;
	c->in_place = m->in_place;
	if (m->hdr_len)
		memcpy(c->hdr, m->hdr, m->hdr_len);
	if (m->copy || m->nvec > IW_SCTP_SEND_VECS) {
		if (!copy_slices(a, c, m->vec, m->nvec))
			return IW_E_NOMEM;
	} else if (m->nvec) {
		memcpy(c->vec, m->vec, m->nvec * sizeof(*m->vec));
	}
	*state_at(q, q->end) = CHUNK_UNSENT;
	if (seq)
		*seq = q->end;
	q->end++;
	q->unsent_octets += chunk_octets(c->len);
	iw_sctp_touch(a);
	return 0;
}

int iw_sctp_release_memory(struct iw_sctp_assoc *a, uint16_t stream)
{
	struct outq *q = &a->out;

	for (uint64_t seq = q->una; seq < q->end; seq++) {
		struct out_chunk *c = chunk_at(q, seq);
		size_t n = 0, rest = c->len - c->hdr_len;

		if (c->stream != stream || c->copy)
			continue;
		for (; rest > 0; n++)
			rest -= c->vec[n].len;
		if (n > 0 && !copy_slices(a, c, c->vec, n))
			return IW_E_NOMEM;
	}
	return 0;
}

void iw_sctp_report_room(struct iw_sctp_assoc *a)
{
	struct outq *q = &a->out;

	if (!q->wanted || q->unsent_octets > q->unsent_max / 2 || !is_writable(a))
		return;
	q->wanted = false;
	iw_sctp_raise(a, IW_SCTP_EV_ROOM);
}

bool iw_sctp_next_done(struct iw_sctp_assoc *a, struct iw_sctp_done *out)
{
	struct outq *q = &a->out;
	struct out_chunk *c;
	bool acked = q->first < q->una;

	if (q->first == q->end || (!acked && a->state != IW_SCTP_CLOSED))
		return false;
	c = chunk_at(q, q->first);
	*out = (struct iw_sctp_done){
		.seq = q->first,
		.cookie = c->cookie,
		.stream = c->stream,
		.status = acked ? 0 : IW_E_CANCELED,
		.sent = q->first < q->next,
	};
	iw_sctp_release(a, c);
	q->first++;
	iw_sctp_report_room(a); /* a full ring has room now */
	return true;
}

uint32_t iw_sctp_next_acked(struct iw_sctp_assoc *a, uint16_t *stream)
{
	struct outq *q = &a->out;
	uint64_t from = q->first;

	if (from == q->una)
		return 0;
	*stream = chunk_at(q, from)->stream;
	/* take_cum has released their copies. */
	while (q->first < q->una && chunk_at(q, q->first)->stream == *stream)
		q->first++;
	iw_sctp_report_room(a);
	return (uint32_t)(q->first - from);
}

/* --- the engine's side ------------------------------------------------------------------------ */

void iw_sctp_release(struct iw_sctp_assoc *a, struct out_chunk *c)
{
	if (!c->copy)
		return;
	a->out.copy_octets -= copies_of(a, c)->size;
	iw_pool_put(copies_of(a, c), c->copy);
	c->copy = NULL;
}

static void leave_flight(struct iw_sctp_assoc *a, const struct out_chunk *c)
{
	struct path *p = &a->paths[c->path];

	p->flight -= chunk_octets(c->len);
	a->out.flight_data -= c->len;
	if (--p->nflight == 0)
		p->t3_at = IW_TIME_NEVER; /* 6.3.2 R2 */
}

void iw_sctp_mark_lost(struct iw_sctp_assoc *a, uint64_t seq, const char *reason)
{
	struct outq *q = &a->out;
	struct out_chunk *c = chunk_at(q, seq);
	struct path *p = &a->paths[c->path];

	if (iw_sctp_tracing(a) && reason)
		iw_sctp_trace_lost(a, seq, reason);
	if (p->model && reason)
		p->model->lost += chunk_octets(c->len);
	leave_flight(a, c);
	/* RFC 9937: a loss alone permits nothing; the next acknowledgement does. */
	p->prr.window -= IW_MIN(p->prr.window, chunk_octets(c->len));
	c->next_path = c->path;
	*state_at(q, seq) = CHUNK_LOST;
	q->nlost++;
	q->lost_from = IW_MIN(q->lost_from, seq);
}

uint64_t iw_sctp_first_lost(struct outq *q)
{
	while (STATE_OF(*state_at(q, q->lost_from)) != CHUNK_LOST)
		q->lost_from++;
	return q->lost_from;
}

/*
 * In a recovery each SACK causes several passes over the chunks in flight, and most of these are
 * GAPPED. So this reads eight states at a time. The state octet of a GAPPED chunk has no miss
 * indications.
 */
uint64_t iw_sctp_skip_gapped(const struct outq *q, uint64_t from, uint64_t end)
{
	while (from < end) {
		const uint8_t *state = state_at(q, from);
		uint64_t left = IW_MIN(end - from, (uint64_t)(q->state + q->size - state));

		for (; left >= 8; left -= 8, from += 8, state += 8) {
			uint64_t other = iw_get_le64(state) ^ 0x0101010101010101u * CHUNK_GAPPED;

			if (other)
				return from + (unsigned)__builtin_ctzll(other) / 8;
		}
		for (; left > 0; left--, from++, state++)
			if (*state != CHUNK_GAPPED)
				return from;
	}
	return end;
}

bool iw_sctp_is_earliest(const struct path *p, uint64_t seq)
{
	const struct outq *q = &p->a->out;

	for (uint64_t at = q->una; (at = iw_sctp_skip_gapped(q, at, seq)) < seq; at++) {
		const struct out_chunk *c = chunk_at(q, at);
		bool lost = STATE_OF(*state_at(q, at)) == CHUNK_LOST;

		if ((lost ? c->next_path : c->path) == p->index)
			return false;
	}
	return true;
}

void iw_sctp_leave(struct iw_sctp_assoc *a, uint64_t seq)
{
	switch (STATE_OF(*state_at(&a->out, seq))) {
	case CHUNK_FLIGHT:
		leave_flight(a, chunk_at(&a->out, seq));
		return;
	case CHUNK_LOST:
		a->out.nlost--;
		return;
	case CHUNK_UNSENT:
	case CHUNK_GAPPED:
		return;
	}
}
