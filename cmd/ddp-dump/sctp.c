// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SCTP in a capture (RFC 9260): packets, checksums and chunks; new, repeated and lost DATA chunks;
 * reassembly of the headers of fragmented messages. An association without DDP needs no memory
 * beyond its flow.
 */
#include "ddp-dump/internal.h"

#include <string.h>

#include "packet/packet.h"

/* Possible ends of a packet that are tried before the octets are taken for a single packet. */
#define END_TRIES 4

#define VTAG_AT 4 /* in the common header */

/* --- which association --- */

/* The chunk is an INIT or INIT ACK, and its fixed part was captured. */
static bool read_init(struct iw_sctp_init *out, uint8_t type, const uint8_t *value, size_t len)
{
	return (type == IW_SCTP_INIT || type == IW_SCTP_INIT_ACK) &&
	       iw_wire_sctp_init_decode(out, value, len) > 0;
}

/* An INIT that does not belong to the present association of these ends. */
static bool is_new_association(const struct flow *f, unsigned d, const struct iw_packet *p)
{
	struct iw_sctp_init in;
	const size_t at = IW_SCTP_HDR_LEN + IW_SCTP_CHUNK_HDR_LEN;

	if (p->len < at || p->data[IW_SCTP_HDR_LEN] != IW_SCTP_INIT ||
	    !read_init(&in, IW_SCTP_INIT, p->data + at, p->len - at))
		return false;
	return f->closed ||
	       (f->assoc && f->assoc->dir[d].init_seen && f->assoc->dir[d].tag != in.tag);
}

struct flow *iw_cap_sctp_flow(struct iw_cap *c, const struct iw_packet *p, unsigned *from)
{
	enum iw_cap_over over = p->end[0].udp_port ? IW_CAP_OVER_UDP : IW_CAP_OVER_SCTP;
	struct flow *f = iw_cap_flow_find(c, over, p->end, from), *other;
	uint32_t tag = iw_get_be32(p->data + VTAG_AT);
	unsigned d;

	if (f && is_new_association(f, *from, p)) {
		iw_cap_flow_close(c, f);
		return NULL;
	}
	/* RFC 9260 6.4: a multihomed end may send from each address that it has listed. */
	if (tag && (!f || !f->assoc || f->assoc->dir[1 - *from].tag != tag)) {
		other = iw_cap_flow_find_tag(c, p->end, tag, &d);
		if (other) {
			*from = d;
			return other;
		}
	}
	return f;
}

static struct assoc *assoc_of(struct iw_cap *c, struct flow *f)
{
	struct assoc *a = f->assoc;

	if (a)
		return a;
	a = iw_mem_alloc(c->mem, sizeof(*a));
	if (!a) {
		c->totals.forgotten++;
		return NULL;
	}
	a->profile = c->profile;
	iw_list_init(&a->streams);
	iw_list_init(&a->waiting);
	for (unsigned d = 0; d < 2; d++) {
		a->dir[d].f = f;
		a->dir[d].d = d;
		a->dir[d].lossy = true;
		iw_cap_queue_init(&a->dir[d].fragments);
	}
	f->assoc = a;
	iw_cap_flow_name(f);
	return a;
}

static void note_ddp(struct iw_cap *c, struct assoc *a)
{
	c->totals.iwarp_flows += !a->ddp_counted;
	a->ddp_counted = true;
}

/* --- events --- */

static struct iw_cap_sctp *report(struct iw_cap *c, struct flow *f, unsigned d,
				  enum iw_cap_sctp_kind kind)
{
	struct iw_cap_sctp *e = &iw_cap_event_new(c, IW_CAP_SCTP, f, d, c->now_ns, c->frame)->sctp;

	e->kind = kind;
	return e;
}

static struct iw_fault *report_error(struct iw_cap *c, struct flow *f, unsigned d)
{
	return iw_cap_event_error(c, f, d, c->now_ns, c->frame);
}

/* --- TSNs --- */

static bool has_tsn(const struct sctp_dir *w, uint32_t tsn)
{
	return w->seen[tsn % TSN_WINDOW / 64] >> tsn % 64 & 1;
}

static void advance(struct sctp_dir *w)
{
	while (has_tsn(w, w->cum + 1)) {
		w->cum++;
		w->seen[w->cum % TSN_WINDOW / 64] &= ~(1ull << w->cum % 64);
		w->hole_watched = false;
	}
}

/* Must be called for each chunk and each loss, so that cum moves by less than 2^32 between
 * calls. */
static void follow_cum(struct sctp_dir *w)
{
	w->cum_wide += (uint32_t)(w->cum - (uint32_t)w->cum_wide);
}

static uint64_t key_of(const struct sctp_dir *w, uint32_t tsn)
{
	return w->cum_wide + (uint64_t)(int32_t)(tsn - (uint32_t)w->cum_wide);
}

/* A run is fragments of one message with consecutive TSNs. True: b follows a in a run. */
static bool follows(const struct held *a, const struct held *b)
{
	return b->q.key == a->q.key + 1 && !(a->flags & IW_SCTP_DATA_E) &&
	       !(b->flags & IW_SCTP_DATA_B);
}

/* A neighbour of the run is lost: all TSNs up to cum are there or lost. */
static bool is_dead(const struct sctp_dir *w, const struct held *first, const struct held *last)
{
	return (!(first->flags & IW_SCTP_DATA_B) && first->q.key <= w->cum_wide + 1) ||
	       (!(last->flags & IW_SCTP_DATA_E) && last->q.key + 1 <= w->cum_wide);
}

/*
 * Drops runs with a lost neighbour. Only runs that begin at cum + 1 or before can have one, and at
 * most two of these stay: one that ends at cum or later, and one that begins at cum + 1.
 */
static void drop_lost_fragments(struct iw_cap *c, struct sctp_dir *w)
{
	struct iw_list *l = w->fragments.list.next;

	while (l != &w->fragments.list && held_of(l)->q.key <= w->cum_wide + 1) {
		struct held *first = held_of(l), *last = first->other;
		struct iw_list *next = last->q.link.next;

		c->steps++;
		for (bool dead = is_dead(w, first, last); dead && l != next;) {
			struct held *h = held_of(l);

			l = l->next;
			c->totals.undecoded_octets += h->len;
			iw_cap_held_free(c, w, h);
			c->steps++;
		}
		l = next;
	}
}

/* The missing TSNs up to this one are lost. */
static void give_up(struct iw_cap *c, struct flow *f, unsigned d, uint32_t to, enum iw_cap_why why)
{
	struct sctp_dir *w = &f->assoc->dir[d];
	uint32_t lost = to - w->cum, tsn = w->cum + 1;
	struct iw_cap_sctp *e;

	if (lost > TSN_WINDOW) {
		for (size_t i = 0; i < IW_ARRAY_LEN(w->seen); i++) {
			lost -= (uint32_t)__builtin_popcountll(w->seen[i]);
			w->seen[i] = 0;
		}
		w->cum = to;
	}
	while (w->cum != to) {
		uint32_t at = w->cum + 1, n = IW_MIN(64 - at % 64, to - w->cum);
		uint64_t mask = ~0ull >> (64 - n) << at % 64;
		uint64_t *word = &w->seen[at % TSN_WINDOW / 64];

		lost -= (uint32_t)__builtin_popcountll(*word & mask);
		*word &= ~mask;
		w->cum += n;
		c->steps++;
	}
	if (iw_seq32_before(w->high, to))
		w->high = to;
	advance(w);
	follow_cum(w);
	w->hole_watched = false;
	w->lossy = true;
	w->losses++;
	w->check_at = w->cum;
	drop_lost_fragments(c, w);
	c->totals.losses++;
	e = report(c, f, d, IW_CAP_SCTP_LOSS);
	e->why = why;
	e->tsn = tsn;
	e->chunks = lost;
}

/* False: the TSN was received before. */
static bool note_tsn(struct iw_cap *c, struct flow *f, unsigned d, uint32_t tsn)
{
	struct sctp_dir *w = &f->assoc->dir[d];

	if (!w->tsn_known) {
		w->tsn_known = true;
		w->cum = w->high = tsn - 1;
	}
	if (!iw_seq32_before(w->cum, tsn))
		return false;
	if (tsn - w->cum > TSN_WINDOW)
		give_up(c, f, d, tsn - TSN_WINDOW, IW_CAP_WHY_LIMIT);
	if (!iw_seq32_before(w->cum, tsn) || has_tsn(w, tsn))
		return false;
	w->seen[tsn % TSN_WINDOW / 64] |= 1ull << tsn % 64;
	if (iw_seq32_before(w->high, tsn))
		w->high = tsn;
	advance(w);
	follow_cum(w);
	return true;
}

/* The TSNs after cum are missing, but the peer has acknowledged them, and HOLE_PACKETS or HOLE_NS
 * have passed. */
static bool hole_is_lost(struct iw_cap *c, struct flow *f, struct sctp_dir *w)
{
	if (!w->tsn_known || w->high == w->cum || !w->acked_known ||
	    !iw_seq32_before(w->cum, w->acked))
		return false;
	if (!w->hole_watched) {
		w->hole_watched = true;
		w->hole_acked = w->acked;
		w->hole_packets = f->packets;
		w->hole_time_ns = c->now_ns;
		return false;
	}
	return f->packets - w->hole_packets >= HOLE_PACKETS ||
	       (c->now_ns > w->hole_time_ns && c->now_ns - w->hole_time_ns >= HOLE_NS);
}

static void note_ack(struct flow *f, unsigned d, uint32_t cum)
{
	struct sctp_dir *w = &f->assoc->dir[1 - d];

	if (w->acked_known && !iw_seq32_before(w->acked, cum))
		return;
	w->acked_known = true;
	w->acked = cum;
}

/* --- chunks --- */

/* Searches the parameters for the adaptation indication (RFC 5061 4.2.6), up to a malformed one. */
static void read_adaptation(struct sctp_dir *w, const uint8_t *p, size_t len)
{
	struct iw_sctp_param param;
	int n;

	while ((n = iw_wire_sctp_param_decode(&param, p, len)) > 0) {
		if (param.type == IW_SCTP_PARAM_ADAPTATION && param.value_len >= 4) {
			w->has_adaptation = true;
			w->adaptation = iw_get_be32(param.value);
		}
		p += n;
		len -= (size_t)n;
	}
}

/* The snap length has cut the packet. */
static bool is_cut(const struct iw_cap *c)
{
	return c->pkt.end == c->pkt.len && c->pkt.missing;
}

static bool streams_differ(const struct assoc *a)
{
	return IW_MIN(a->dir[0].os, a->dir[1].mis) != IW_MIN(a->dir[1].os, a->dir[0].mis);
}

static void on_init(struct iw_cap *c, struct flow *f, unsigned d, uint8_t type,
		    const struct iw_sctp_init *in)
{
	struct sctp_dir probe = { 0 }, *w;
	struct iw_cap_event *ev;
	struct iw_cap_sctp *e;
	struct assoc *a;

	read_adaptation(&probe, in->params, in->params_len);
	if (f->pub.initiator < 0)
		f->pub.initiator = (int)(type == IW_SCTP_INIT ? d : 1 - d);
	if (!f->assoc && probe.adaptation != IW_SCTP_ADAPTATION_DDP &&
	    probe.adaptation != IW_SCTP_ADAPTATION_DDP_RDMA_02)
		return;
	a = assoc_of(c, f);
	if (!a || (a->dir[d].init_seen && a->dir[d].tag == in->tag))
		return;
	w = &a->dir[d];
	w->init_seen = true;
	w->os = in->os;
	w->mis = in->mis;
	w->has_adaptation = probe.has_adaptation;
	w->init_cut = !probe.has_adaptation && is_cut(c);
	w->adaptation = probe.adaptation;
	if (w->has_adaptation)
		a->profile = w->adaptation == IW_SCTP_ADAPTATION_DDP_RDMA_02 ? &iw_sctpmap_draft_02
									     : &iw_sctpmap_rfc;
	iw_cap_flow_set_tag(c, w, in->tag);
	if (!w->tsn_known) {
		w->tsn_known = true;
		w->lossy = false;
		w->cum = w->high = in->tsn - 1;
	}
	if (w->adaptation == IW_SCTP_ADAPTATION_DDP)
		note_ddp(c, a);
	ev = iw_cap_event_new(c, IW_CAP_SCTP, f, d, c->now_ns, c->frame);
	if (a->dir[1 - d].init_seen && streams_differ(a))
		ev->deviations |= IW_CAP_DEV_STREAMS;
	c->totals.deviations += ev->deviations != 0;
	e = &ev->sctp;
	e->kind = type == IW_SCTP_INIT ? IW_CAP_SCTP_INIT : IW_CAP_SCTP_INIT_ACK;
	e->tsn = in->tsn;
	e->os = in->os;
	e->mis = in->mis;
	e->has_adaptation = w->has_adaptation;
	e->cut = w->init_cut;
	e->adaptation = w->adaptation;
	e->head = c->pkt.head;
	e->head_len = sizeof(c->pkt.head);
}

/* Converts a PPID of the association's edition to that of RFC 5043. 0: not a PPID of DDP. */
static uint32_t ppid_of(const struct iw_cap *c, const struct flow *f, uint32_t ppid)
{
	const struct iw_sctpmap_profile *p = f->assoc ? f->assoc->profile : c->profile;

	return ppid == p->ppid_segment   ? IW_SCTP_PPID_SEGMENT
	       : ppid == p->ppid_control ? IW_SCTP_PPID_CONTROL
					 : 0;
}

/* RFC 5043 5.1: an association with the adaptation indication carries only DDP, and DDP is carried
 * only by such associations. */
static void check_ppid(struct iw_cap *c, struct flow *f, unsigned d, uint32_t ppid, bool is_ddp)
{
	struct sctp_dir *w = &f->assoc->dir[d], *back = &f->assoc->dir[1 - d];
	const struct iw_sctpmap_profile *p = f->assoc->profile;
	bool agreed = w->adaptation == p->adaptation && back->adaptation == p->adaptation;
	bool known = w->init_seen && !w->init_cut && back->init_seen && !back->init_cut;
	struct iw_fault *why;

	if (w->foreign_reported || (is_ddp ? !known || agreed : !f->assoc->ddp_counted))
		return;
	w->foreign_reported = true;
	why = report_error(c, f, d);
	if (is_ddp)
		iw_fail(why, IW_E_FORMAT,
			"sctp: DDP without the adaptation indication of both ends");
	else
		iw_fail(why, IW_E_FORMAT,
			"sctp: PPID %u in an association for DDP, expected %u or %u", ppid,
			p->ppid_segment, p->ppid_control);
	why->clause = "RFC 5043 5.1";
}

/* Finds the ends of the run that the new fragment h belongs to. True: the message is complete. */
static bool find_run(struct iw_cap *c, const struct sctp_dir *w, struct held *h,
		     struct held **first, struct held **last)
{
	struct iw_list *prev = h->q.link.prev, *next = h->q.link.next;

	*first = *last = h;
	if (prev != &w->fragments.list && follows(held_of(prev), h))
		*first = held_of(prev)->other;
	if (next != &w->fragments.list && follows(h, held_of(next)))
		*last = held_of(next)->other;
	(*first)->other = *last;
	(*last)->other = *first;
	c->steps++;
	return (*first)->flags & IW_SCTP_DATA_B && (*last)->flags & IW_SCTP_DATA_E;
}

/* Reassembles the first octets of the message in its first fragment: held.head has room for all
 * headers. */
static void join(struct iw_cap *c, struct flow *f, unsigned d, struct held *first,
		 struct held *last)
{
	struct sctp_dir *w = &f->assoc->dir[d];
	struct msg m = { .sid = first->sid,
			 .tsn = last->tsn,
			 .ppid = first->ppid,
			 .len = first->len,
			 .first_frame = first->frame,
			 .fragments = 1,
			 .deviations = IW_CAP_DEV_FRAGMENTS };
	uint32_t from = first->tsn;

	if (!(first->flags & IW_SCTP_DATA_U))
		m.deviations |= IW_CAP_DEV_ORDERED;
	for (struct held *h = first; h != last; m.fragments++) {
		h = held_of(h->q.link.next);
		/* head ends at the first hole. */
		if (first->head_len == m.len) {
			size_t n =
				IW_MIN((size_t)h->head_len, sizeof(first->head) - first->head_len);

			memcpy(first->head + first->head_len, h->head, n);
			first->head_len = (uint16_t)(first->head_len + n);
		}
		m.len += h->len;
	}
	m.p = first->head;
	m.have = first->head_len;
	iw_cap_session_message(c, f, d, &m);
	while (from != m.tsn + 1) {
		struct held *h = first;

		first = held_of(h->q.link.next);
		iw_cap_held_free(c, w, h);
		from++;
	}
}

static void on_fragment(struct iw_cap *c, struct flow *f, unsigned d, uint8_t flags,
			const struct iw_sctp_data *data, uint32_t ppid, size_t len)
{
	struct sctp_dir *w = &f->assoc->dir[d];
	struct held *h = iw_cap_held_new(c, w), *first, *last;
	uint64_t key = key_of(w, data->tsn);

	if (!h) {
		/* Its message will never be complete: the fragments before it need no memory. */
		w->lossy = true;
		w->losses++;
		c->totals.undecoded_octets += len;
		drop_lost_fragments(c, w);
		return;
	}
	iw_cap_queue_add(c, &w->fragments, iw_cap_queue_seek(c, &w->fragments, key), &h->q, key);
	h->tsn = data->tsn;
	h->ppid = ppid;
	h->sid = data->stream;
	h->ssn = 0;
	h->flags = flags;
	h->len = (uint32_t)len;
	h->time_ns = c->now_ns;
	h->frame = c->frame;
	h->head_len = (uint16_t)IW_MIN(data->len, sizeof(h->head));
	memcpy(h->head, data->data, h->head_len);
	if (find_run(c, w, h, &first, &last))
		join(c, f, d, first, last);
}

/* len: octets of user data on the wire; data->len: captured octets. */
static void on_data(struct iw_cap *c, struct flow *f, unsigned d, uint8_t flags,
		    const struct iw_sctp_data *data, size_t len)
{
	const uint8_t whole = IW_SCTP_DATA_B | IW_SCTP_DATA_E;
	uint32_t ppid = ppid_of(c, f, data->ppid);
	bool is_ddp = ppid != 0;
	struct assoc *a = is_ddp ? assoc_of(c, f) : f->assoc;
	struct msg m = { .sid = data->stream,
			 .tsn = data->tsn,
			 .ppid = ppid,
			 .p = data->data,
			 .have = data->len,
			 .len = len,
			 .first_frame = c->frame,
			 .fragments = 1 };

	if (!a)
		return;
	if (is_ddp)
		note_ddp(c, a);
	if (!a->dir[1 - d].tag_known)
		iw_cap_flow_set_tag(c, &a->dir[1 - d], iw_get_be32(c->pkt.head + VTAG_AT));
	if (!note_tsn(c, f, d, data->tsn)) {
		c->totals.repeated_octets += len;
		report(c, f, d, IW_CAP_SCTP_AGAIN)->tsn = data->tsn;
		return;
	}
	check_ppid(c, f, d, data->ppid, is_ddp);
	if (!is_ddp) {
		c->totals.undecoded_octets += len;
		return;
	}
	if ((flags & whole) != whole) {
		on_fragment(c, f, d, flags, data, ppid, len);
		return;
	}
	if (!(flags & IW_SCTP_DATA_U))
		m.deviations |= IW_CAP_DEV_ORDERED;
	iw_cap_session_message(c, f, d, &m);
}

/* A chunk of the set-up or shutdown that has nothing else to show. */
static void on_step(struct iw_cap *c, struct flow *f, unsigned d, enum iw_cap_sctp_kind kind)
{
	if (f->assoc)
		report(c, f, d, kind);
}

/* The blocks and TSNs after the fixed part may not have been captured. */
static void report_sack(struct iw_cap *c, struct flow *f, unsigned d, const uint8_t *value,
			size_t len)
{
	struct iw_sctp_sack sack;
	struct iw_cap_sctp *e;

	(void)iw_wire_sctp_sack_decode(&sack, value, len);
	if (!c->sacks || !f->assoc || len < IW_SCTP_SACK_LEN)
		return;
	e = report(c, f, d, IW_CAP_SCTP_SACK);
	e->tsn = sack.cum;
	e->rwnd = sack.a_rwnd;
	e->gaps = sack.ngaps;
	e->duplicates = sack.ndups;
}

static void on_abort(struct iw_cap *c, struct flow *f, unsigned d, const uint8_t *value, size_t len)
{
	f->closed = true;
	if (f->assoc)
		report(c, f, d, IW_CAP_SCTP_ABORT)->cause = len >= 4 ? iw_get_be16(value) : 0;
}

/* value_len: captured octets of the value; len: octets on the wire. */
static void on_chunk(struct iw_cap *c, struct flow *f, uint8_t type, uint8_t flags,
		     const uint8_t *value, size_t value_len, size_t len)
{
	unsigned d = c->cur_dir;
	struct iw_sctp_data data;
	struct iw_sctp_init in;

	if (read_init(&in, type, value, value_len)) {
		on_init(c, f, d, type, &in);
		return;
	}
	switch (type) {
	case IW_SCTP_DATA:
		if (iw_wire_sctp_data_decode(&data, value, value_len) > 0)
			on_data(c, f, d, flags, &data,
				len - (IW_SCTP_DATA_HDR_LEN - IW_SCTP_CHUNK_HDR_LEN));
		return;
	case IW_SCTP_SACK:
	case IW_SCTP_SHUTDOWN:
		if (f->assoc && value_len >= 4)
			note_ack(f, d, iw_get_be32(value));
		if (type == IW_SCTP_SHUTDOWN)
			on_step(c, f, d, IW_CAP_SCTP_SHUTDOWN);
		else
			report_sack(c, f, d, value, value_len);
		return;
	case IW_SCTP_COOKIE_ECHO:
		on_step(c, f, d, IW_CAP_SCTP_COOKIE_ECHO);
		return;
	case IW_SCTP_COOKIE_ACK:
		on_step(c, f, d, IW_CAP_SCTP_COOKIE_ACK);
		return;
	case IW_SCTP_SHUTDOWN_ACK:
		on_step(c, f, d, IW_CAP_SCTP_SHUTDOWN_ACK);
		return;
	case IW_SCTP_SHUTDOWN_COMPLETE:
		f->closed = true;
		if (!f->assoc)
			return;
		f->assoc->shut = true;
		report(c, f, d, IW_CAP_SCTP_COMPLETE);
		return;
	case IW_SCTP_ABORT:
		on_abort(c, f, d, value, value_len);
		return;
	}
}

/* --- packets --- */

static enum iw_cap_crc verdict(const uint8_t *p, size_t len)
{
	uint32_t field = iw_get_le32(p + IW_SCTP_CHECKSUM_POS);

	if (field == iw_wire_sctp_checksum(p, len))
		return IW_CAP_CRC_GOOD;
	return field ? IW_CAP_CRC_BAD : IW_CAP_CRC_OFF;
}

/*
 * Returns the end of the first packet. With UDP segmentation offload, a capture at the sender has
 * several packets in one datagram. The next packet begins at the end of a chunk, with the same
 * ports and tag, and the octets before it have a good checksum.
 */
static size_t packet_end(const uint8_t *p, size_t len)
{
	size_t pos = IW_SCTP_HDR_LEN;

	for (int tries = 0; len - pos >= IW_SCTP_CHUNK_HDR_LEN && tries < END_TRIES;) {
		size_t n = iw_get_be16(p + pos + 2);

		if (pos > IW_SCTP_HDR_LEN && len - pos > IW_SCTP_HDR_LEN &&
		    memcmp(p, p + pos, IW_SCTP_CHECKSUM_POS) == 0) {
			if (verdict(p, pos) != IW_CAP_CRC_BAD)
				return pos;
			tries++;
		}
		n += iw_sctp_pad(n);
		if (n < IW_SCTP_CHUNK_HDR_LEN || n > len - pos)
			return len;
		pos += n;
	}
	return len;
}

void iw_cap_sctp_begin(struct iw_cap *c, const struct iw_packet *p)
{
	c->pkt.p = p->data;
	c->pkt.len = p->len;
	c->pkt.missing = p->missing;
	c->pkt.pos = 0;
}

static void begin_packet(struct iw_cap *c, struct flow *f)
{
	const uint8_t *p = c->pkt.p;

	c->pkt.end = packet_end(p, c->pkt.len);
	c->pkt.pos = IW_SCTP_HDR_LEN;
	memcpy(c->pkt.head, p, IW_SCTP_HDR_LEN);
	c->pkt.crc = c->pkt.end == c->pkt.len && c->pkt.missing ? IW_CAP_CRC_ABSENT
								: verdict(p, c->pkt.end);
	if (c->pkt.crc != IW_CAP_CRC_BAD)
		return;
	/* RFC 9260 6.8: the receiver drops the packet, and its data is retransmitted. */
	c->pkt.pos = c->pkt.end;
	if (f->assoc) {
		struct iw_fault *why = report_error(c, f, c->cur_dir);

		iw_fail(why, IW_E_FORMAT, "sctp: checksum %x, expected %x",
			iw_get_le32(p + IW_SCTP_CHECKSUM_POS),
			iw_wire_sctp_checksum(p, c->pkt.end));
		why->clause = "RFC 9260 6.8";
	}
}

static void next_chunk(struct iw_cap *c, struct flow *f)
{
	const uint8_t *p = c->pkt.p + c->pkt.pos;
	size_t left = c->pkt.end - c->pkt.pos;
	size_t len = left >= IW_SCTP_CHUNK_HDR_LEN ? iw_get_be16(p + 2) : 0;
	bool cut = is_cut(c);

	c->pkt.pos = c->pkt.end;
	if (len < IW_SCTP_CHUNK_HDR_LEN || (len > left && !cut)) {
		if (f->assoc && !cut) {
			struct iw_fault *why = report_error(c, f, c->cur_dir);

			iw_fail(why, IW_E_FORMAT, "sctp: chunk of %u octets where %U are left",
				(uint32_t)len, (uint64_t)left);
			why->clause = "RFC 9260 3.2";
		}
		return;
	}
	memcpy(c->pkt.head + IW_SCTP_HDR_LEN, p,
	       IW_MIN(left, sizeof(c->pkt.head) - IW_SCTP_HDR_LEN));
	if (len + iw_sctp_pad(len) < left)
		c->pkt.pos -= left - (len + iw_sctp_pad(len));
	on_chunk(c, f, p[0], p[1], p + IW_SCTP_CHUNK_HDR_LEN,
		 IW_MIN(len, left) - IW_SCTP_CHUNK_HDR_LEN, len - IW_SCTP_CHUNK_HDR_LEN);
}

/* --- steps --- */

static bool packet_step(struct iw_cap *c, struct flow *f)
{
	if (c->pkt.len < IW_SCTP_HDR_LEN)
		return false;
	if (c->pkt.pos == 0) {
		begin_packet(c, f);
	} else if (c->pkt.pos < c->pkt.end) {
		next_chunk(c, f);
	} else {
		c->pkt.p += c->pkt.end;
		c->pkt.len -= c->pkt.end;
		c->pkt.pos = 0;
	}
	return true;
}

bool iw_cap_sctp_step(struct iw_cap *c, struct flow *f)
{
	if (packet_step(c, f) || iw_cap_session_drain(c))
		return true;
	if (!f->assoc)
		return false;
	for (unsigned d = 0; d < 2; d++) {
		if (hole_is_lost(c, f, &f->assoc->dir[d])) {
			/* All TSNs that were acknowledged at that time are lost. */
			give_up(c, f, d, f->assoc->dir[d].hole_acked, IW_CAP_WHY_GAP);
			return true;
		}
		if (iw_cap_session_give_up(c, f, d, false))
			return true;
	}
	return false;
}

bool iw_cap_sctp_flush(struct iw_cap *c, struct flow *f)
{
	if (iw_cap_session_drain(c))
		return true;
	for (unsigned d = 0; f->assoc && d < 2; d++) {
		struct sctp_dir *w = &f->assoc->dir[d];

		if (w->tsn_known && w->high != w->cum) {
			give_up(c, f, d, w->high, IW_CAP_WHY_END);
			return true;
		}
		if (w->tsn_known && w->acked_known && iw_seq32_before(w->cum, w->acked)) {
			give_up(c, f, d, w->acked, IW_CAP_WHY_END);
			return true;
		}
		if (iw_cap_session_give_up(c, f, d, true))
			return true;
	}
	return false;
}

void iw_cap_sctp_drop(struct iw_cap *c, struct flow *f)
{
	struct iw_list *l;

	if (!f->assoc)
		return;
	iw_cap_session_drop(c, f);
	for (unsigned d = 0; d < 2; d++) {
		struct sctp_dir *w = &f->assoc->dir[d];

		while ((l = iw_list_first(&w->fragments.list)))
			iw_cap_held_free(c, w, held_of(l));
		iw_cap_flow_drop_tag(c, w);
	}
	iw_mem_free(c->mem, f->assoc, sizeof(*f->assoc));
}
