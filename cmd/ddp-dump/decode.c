// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The decoder: finds the flow of a frame, and does steps until there is an event. */
#include "ddp-dump/internal.h"

#include "packet/packet.h"

#define DEFAULT_FLOWS     65536
#define DEFAULT_STREAMS   65536
#define DEFAULT_DIRECTION (8u << 20)
#define DEFAULT_TOTAL     (64u << 20)
#define DEFAULT_SEARCH    (256u << 10)
#define DEFAULT_PAYLOAD   (16u << 20)
#define DEFAULT_MESSAGES  128

int iw_cap_new(struct iw_cap **out, const struct iw_cap_cfg *cfg)
{
	struct iw_cap *c = iw_mem_alloc(cfg->mem, sizeof(*c));
	size_t blocks;

	if (!c)
		return IW_E_NOMEM;
	c->mem = cfg->mem;
	c->seed = cfg->seed;
	c->level_rng = cfg->seed | 1;
	c->udp_port = cfg->udp_port;
	c->profile = cfg->profile ? cfg->profile : &iw_sctpmap_rfc;
	c->align = cfg->align;
	c->sacks = cfg->sacks;
	c->payload = cfg->payload;
	c->limits = cfg->limits;
	if (!c->limits.flows)
		c->limits.flows = DEFAULT_FLOWS;
	if (!c->limits.streams)
		c->limits.streams = DEFAULT_STREAMS;
	if (!c->limits.direction_octets)
		c->limits.direction_octets = DEFAULT_DIRECTION;
	if (!c->limits.total_octets)
		c->limits.total_octets = DEFAULT_TOTAL;
	if (!c->limits.search_octets)
		c->limits.search_octets = DEFAULT_SEARCH;
	if (!c->limits.payload_octets)
		c->limits.payload_octets = DEFAULT_PAYLOAD;
	if (!c->limits.messages)
		c->limits.messages = DEFAULT_MESSAGES;
	blocks = IW_MAX(c->limits.direction_octets / BLOCK_LEN, (size_t)1);
	c->dir_blocks = (uint32_t)IW_MIN(blocks, (size_t)UINT32_MAX);
	blocks = IW_MAX(c->limits.total_octets / BLOCK_LEN, (size_t)1);
	iw_pool_init(&c->pool, c->mem, BLOCK_LEN, blocks, blocks);
	if (iw_cap_flows_init(c) < 0 || iw_cap_streams_init(c) < 0) {
		iw_cap_flows_fini(c);
		iw_cap_streams_fini(c);
		iw_mem_free(c->mem, c, sizeof(*c));
		return IW_E_NOMEM;
	}
	*out = c;
	return 0;
}

/* Each file frees its own part of the flow. */
static void flow_free(struct iw_cap *c, struct flow *f)
{
	for (unsigned d = 0; d < 2; d++)
		iw_cap_stream_drop(c, &f->dir[d]);
	iw_cap_startup_drop(c, f);
	iw_cap_sctp_drop(c, f);
	iw_cap_flow_free(c, f);
}

void iw_cap_finish(struct iw_cap *c)
{
	/* In the order of their last frames: the order of appearance would need a sort. */
	for (int i = 0; i < LRU_COUNT; i++) {
		struct iw_list *l;

		while ((l = iw_list_first(&c->lru[i])))
			iw_cap_flow_close(c, iw_container_of(l, struct flow, link));
	}
}

void iw_cap_free(struct iw_cap *c)
{
	struct iw_list *l;

	if (!c)
		return;
	iw_cap_finish(c);
	while ((l = iw_list_first(&c->closing)))
		flow_free(c, iw_container_of(l, struct flow, link));
	iw_cap_flows_fini(c);
	iw_cap_streams_fini(c);
	iw_pool_fini(&c->pool);
	iw_mem_free(c->mem, c->segment, SEGMENT_MAX);
	iw_mem_free(c->mem, c->message, sizeof(*c->message));
	iw_mem_free(c->mem, c, sizeof(*c));
}

const struct iw_cap_totals *iw_cap_totals(const struct iw_cap *c)
{
	return &c->totals;
}

static void count_other(struct iw_cap *c, enum iw_packet_kind kind)
{
	switch (kind) {
	case IW_PACKET_TCP:
		c->totals.tcp_frames++;
		break;
	case IW_PACKET_SCTP:
		c->totals.sctp_frames++;
		break;
	case IW_PACKET_OTHER:
	case IW_PACKET_CUT: /* also counted in cut_frames */
		c->totals.other_frames++;
		break;
	case IW_PACKET_FRAGMENT:
		c->totals.fragments++;
		break;
	case IW_PACKET_MALFORMED:
		c->totals.malformed++;
		break;
	}
}

/* A SYN with another initial sequence number: the ports are used for a new connection. */
static bool is_new_connection(const struct dir *s, const struct iw_packet *p)
{
	if (!(p->flags & IW_TCP_SYN))
		return false;
	return s->isn_known ? s->isn != p->seq : s->known && s->next != p->seq + 1;
}

static void note_headers(struct iw_cap *c, struct flow *f, unsigned d, const struct iw_packet *p)
{
	struct dir *s = &f->dir[d], *back = &f->dir[1 - d];
	uint32_t seq = p->seq;

	if (p->flags & IW_TCP_SYN) {
		seq++;
		s->isn_known = true;
		s->isn = p->seq;
	}
	if (!s->known) {
		s->known = true;
		s->next = seq;
	}
	if (p->flags & IW_TCP_ACK && (!back->acked_known || iw_seq32_before(back->acked, p->ack))) {
		back->acked_known = true;
		back->acked = p->ack;
	}
	if (p->flags & IW_TCP_FIN && !s->fin_known) {
		s->fin_known = true;
		s->fin_seq = seq + p->len + p->missing;
		s->fin_time_ns = c->now_ns;
		s->fin_frame = c->frame;
	}
	if (p->flags & IW_TCP_RST && !f->reset) {
		f->reset = f->flush = true;
		f->reset_from = d;
		f->reset_time_ns = c->now_ns;
		f->reset_frame = c->frame;
	}
	/* The payload of a RST is not part of the stream (RFC 9293 3.5.3). */
	if (p->flags & IW_TCP_RST)
		return;
	c->cur_seq = seq;
	c->cur_first = seq;
	c->cur_missing = p->missing;
	c->cur_whole = p->len + p->missing;
	c->cur_run = (struct run){ p->data, p->len, c->now_ns, c->frame, 0 };
}

/* Returns the connection of a segment, and the index of its sender. NULL: a new connection. */
static struct flow *tcp_flow(struct iw_cap *c, const struct iw_packet *p, unsigned *from)
{
	struct flow *f = iw_cap_flow_find(c, IW_CAP_OVER_TCP, p->end, from);

	if (f && is_new_connection(&f->dir[*from], p)) {
		iw_cap_flow_close(c, f);
		return NULL;
	}
	return f;
}

static enum iw_cap_over over_of(enum iw_packet_kind kind, const struct iw_packet *p)
{
	if (kind == IW_PACKET_TCP)
		return IW_CAP_OVER_TCP;
	return p->end[0].udp_port ? IW_CAP_OVER_UDP : IW_CAP_OVER_SCTP;
}

int iw_cap_push(struct iw_cap *c, const struct iw_cap_frame *fr)
{
	enum iw_packet_kind kind;
	struct flow *f = NULL;
	struct iw_packet p;
	unsigned d = 0;

	if (c->events || c->cur || !iw_list_empty(&c->closing))
		return IW_E_STATE;
	c->event_first = 0;
	c->now_ns = fr->time_ns;
	c->frame = fr->number;
	kind = iw_packet_parse(&p, fr->link, fr->data, fr->len, fr->wire_len, c->udp_port);
	if (kind == IW_PACKET_TCP || kind == IW_PACKET_SCTP) {
		f = kind == IW_PACKET_TCP ? tcp_flow(c, &p, &d) : iw_cap_sctp_flow(c, &p, &d);
		if (!f) {
			d = 0;
			f = iw_cap_flow_add(c, over_of(kind, &p), p.end);
			if (!f)
				return IW_E_NOMEM;
		}
	}
	c->totals.frames++;
	c->totals.octets += fr->len;
	if (fr->wire_len > fr->len)
		c->totals.cut_frames++;
	count_other(c, kind);
	if (!f)
		return 0;
	c->cur = f;
	c->cur_dir = d;
	c->cur_missing = c->cur_whole = c->cur_again = 0;
	c->cur_differs = false;
	c->cur_run.len = 0;
	c->pkt.len = 0;
	f->packets++;
	if (kind == IW_PACKET_TCP)
		note_headers(c, f, d, &p);
	else
		iw_cap_sctp_begin(c, &p);
	return 0;
}

const struct iw_cap_flow *iw_cap_frame_flow(const struct iw_cap *c, unsigned *from)
{
	*from = c->cur_dir;
	return c->cur ? &c->cur->pub : NULL;
}

static void report_align(struct iw_cap *c, struct flow *f, unsigned d)
{
	if (c->align && f->mpa->fpdus[d].align.fpdus)
		iw_cap_event_new(c, IW_CAP_ALIGN, f, d, c->now_ns, c->frame)->align =
			f->mpa->fpdus[d].align;
}

/* The connection has ended: reports the last losses and the histograms. */
static void flow_end(struct iw_cap *c, struct flow *f)
{
	for (unsigned d = 0; d < 2; d++) {
		struct dir *s = &f->dir[d];
		uint32_t hole = s->acked - s->next;

		if (!f->mpa)
			continue;
		/* An ACK of one more octet is for a FIN that was not captured. */
		if (s->known && s->acked_known && iw_seq32_before(s->next, s->acked) && hole > 1 &&
		    !s->fin_reported && s->phase != PHASE_PLAIN) {
			iw_cap_report_loss(c, f, d, hole, IW_CAP_WHY_END, false,
					   iw_cap_phase_text(s->phase));
			s->next = s->acked;
		}
		iw_cap_fpdu_end(c, f, d);
		report_align(c, f, d);
	}
}

/* Octets of one direction are queued until the other direction's start-up frame is known. */
static bool is_stalled(const struct flow *f)
{
	for (int d = 0; d < 2; d++)
		if (f->dir[d].phase == PHASE_WAIT && !iw_list_empty(&f->dir[d].queue.list))
			return true;
	return false;
}

static bool tcp_step(struct iw_cap *c, struct flow *f)
{
	if (f->mpa && f->mpa->reply_first && iw_cap_startup_check(c, f))
		return true;
	for (unsigned d = 0; d < 2; d++)
		if (iw_cap_stream_step(c, f, d))
			return true;
	if (!f->flush)
		return false;
	if (is_stalled(f)) {
		iw_cap_startup_give_up(c, f);
		return true;
	}
	/* After a reset more octets may follow, if the peer did not accept it. */
	if (f->closing)
		flow_end(c, f);
	f->flush = false;
	if (f->reset && !f->reset_reported) {
		f->reset_reported = true;
		if (f->mpa) {
			struct iw_cap_event *ev = iw_cap_event_new(
				c, IW_CAP_TCP, f, f->reset_from, f->reset_time_ns, f->reset_frame);

			ev->tcp.kind = IW_CAP_TCP_RESET;
			ev->tcp.seq = f->dir[f->reset_from].next;
			ev->tcp.where = iw_cap_phase_text(f->dir[f->reset_from].phase);
		}
	}
	return true;
}

static bool flow_step(struct iw_cap *c, struct flow *f)
{
	if (f->pub.over == IW_CAP_OVER_TCP)
		return tcp_step(c, f);
	return (c->cur == f && iw_cap_sctp_step(c, f)) || (f->closing && iw_cap_sctp_flush(c, f));
}

/* Does one step. False: nothing to do. */
static bool step(struct iw_cap *c)
{
	struct iw_list *l = iw_list_first(&c->closing);

	if (l) {
		struct flow *f = iw_container_of(l, struct flow, link);

		if (!flow_step(c, f))
			flow_free(c, f);
		return true;
	}
	if (!c->cur)
		return false;
	if (flow_step(c, c->cur))
		return true;
	if (c->cur_again && c->cur->mpa) {
		iw_cap_report_again(c, c->cur, c->cur_dir);
		c->cur_again = 0;
		return true;
	}
	iw_cap_flow_touch(c, c->cur);
	c->cur = NULL;
	return false;
}

const struct iw_cap_event *iw_cap_next(struct iw_cap *c)
{
	if (c->event_out) {
		c->event_out = false;
		c->event_first++;
		c->events--;
	}
	while (!c->events) {
		c->event_first = 0;
		if (!step(c))
			return NULL;
	}
	c->event_out = true;
	return &c->event[c->event_first];
}
