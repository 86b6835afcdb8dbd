/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The layers of the peer that are not the student's: as short as one conversation allows. */
#include <stdlib.h>
#include <string.h>

#include "labs/grader/peer/peer.h"
#include "util/num.h"
#include "wire/crc32c.h"

void peer_append(struct peer_octets *o, const void *src, size_t len)
{
	if (o->len + len > o->cap) {
		o->cap = (o->len + len) * 2;
		o->at = realloc(o->at, o->cap);
		if (!o->at)
			abort();
	}
	if (src && len)
		memcpy(o->at + o->len, src, len);
	else
		memset(o->at + o->len, 0, len);
	o->len += len;
}

void peer_remove(struct peer_octets *o, size_t len)
{
	memmove(o->at, o->at + len, o->len - len);
	o->len -= len;
}

/* Octets after their length. */
static void push(struct peer_octets *o, const void *src, size_t len)
{
	uint8_t head[4];

	iw_put_be32(head, (uint32_t)len);
	peer_append(o, head, sizeof(head));
	peer_append(o, src, len);
}

static bool pop(struct peer_octets *from, struct peer_octets *to)
{
	size_t len;

	if (from->len < 4)
		return false;
	len = iw_get_be32(from->at);
	to->len = 0;
	peer_append(to, from->at + 4, len);
	peer_remove(from, 4 + len);
	return true;
}

/* --- start-up (RFC 5044 7.1, RFC 6581) ---------------------------------------------------------- */

/* Reads one frame of at most IW_MPA_FRAME_LEN + IW_MPA_PD_MAX octets, and none after it. */
static bool read_frame(struct peer *p, enum iw_mpa_kind kind, struct iw_mpa_frame *f,
		       uint8_t *octets)
{
	size_t len = 0, need = IW_MPA_FRAME_LEN, n;

	while (len < need) {
		if (!peer_read(p, octets + len, need - len, &n))
			return false;
		if (!n)
			return lab_fail(p->run,
					"the other end has closed the connection during start-up");
		len += n;
		if (iw_wire_mpa_frame_decode(f, octets, len) == 0 && len >= IW_MPA_FRAME_LEN)
			need = IW_MPA_FRAME_LEN + f->pd_len;
		if (need > IW_MPA_FRAME_LEN + IW_MPA_PD_MAX)
			return lab_fail(p->run, "the other end has sent PD_Length %u", f->pd_len);
	}
	return f->kind == kind || lab_fail(p->run, "the other end has sent no MPA start-up frame");
}

static bool write_frame(struct peer *p, const struct iw_mpa_frame *f)
{
	uint8_t octets[IW_MPA_FRAME_LEN + IW_MPA_ENHANCED_LEN];
	int len = iw_wire_mpa_frame_encode(octets, sizeof(octets), f);

	return peer_write(p, octets, (size_t)len);
}

static bool own_initiator(struct peer *p)
{
	struct iw_mpa_enhanced e = { .ird = PEER_READS, .ord = PEER_READS };
	uint8_t pd[IW_MPA_ENHANCED_LEN], octets[IW_MPA_FRAME_LEN + IW_MPA_PD_MAX];
	struct iw_mpa_frame f = { .kind = IW_MPA_REQUEST,
				  .flags = IW_MPA_C | IW_MPA_S,
				  .rev = 2,
				  .pd = pd,
				  .pd_len = sizeof(pd) };

	iw_wire_mpa_enhanced_encode(pd, sizeof(pd), &e);
	if (!write_frame(p, &f) || !read_frame(p, IW_MPA_REPLY, &f, octets))
		return false;
	return (!(f.flags & IW_MPA_R) && f.flags & IW_MPA_C && !(f.flags & IW_MPA_M)) ||
	       lab_fail(p->run,
			"the Reply of the other end rejects, or it wants markers or no CRC");
}

static bool own_responder(struct peer *p)
{
	uint8_t pd[IW_MPA_ENHANCED_LEN], octets[IW_MPA_FRAME_LEN + IW_MPA_PD_MAX];
	struct iw_mpa_enhanced e;
	struct iw_mpa_frame f;

	if (!read_frame(p, IW_MPA_REQUEST, &f, octets))
		return false;
	if (f.flags & IW_MPA_M)
		return lab_fail(p->run,
				"the other end wants markers, which this peer does not send");
	f.kind = IW_MPA_REPLY;
	f.rev = IW_MIN(f.rev, 2);
	f.flags = IW_MPA_C | (f.flags & (f.rev == 2 ? IW_MPA_S : 0));
	if (f.flags & IW_MPA_S && iw_wire_mpa_enhanced_decode(&e, f.pd, f.pd_len) > 0) {
		uint16_t their_ird = e.ird;

		e.ird = IW_MAX(IW_MIN(e.ord, PEER_READS), 1);
		e.ord = IW_MIN(their_ird, PEER_READS);
		e.rtr_send = false;
		if (e.rtr_write)
			e.rtr_read = false;
		iw_wire_mpa_enhanced_encode(pd, sizeof(pd), &e);
		f.pd = pd;
		f.pd_len = sizeof(pd);
	} else {
		f.pd_len = 0;
	}
	return write_frame(p, &f);
}

static bool own_start_up(struct peer *p)
{
	return p->initiator ? own_initiator(p) : own_responder(p);
}

/* --- framing (RFC 5044 4) ------------------------------------------------------------------------ */

static bool own_frame(struct peer *p, const uint8_t *ulpdu, size_t len)
{
	uint8_t field[4];
	size_t begin = p->out.len;

	iw_put_be16(field, (uint16_t)len);
	peer_append(&p->out, field, 2);
	peer_append(&p->out, ulpdu, len);
	peer_append(&p->out, NULL, iw_mpa_pad(len));
	iw_put_le32(field, iw_crc32c(0, p->out.at + begin, p->out.len - begin));
	peer_append(&p->out, field, 4);
	return true;
}

static bool own_arrived(struct peer *p, const uint8_t *octets, size_t len)
{
	peer_append(&p->stream, octets, len);
	return true;
}

static bool own_next_ulpdu(struct peer *p, bool *is, struct peer_octets *ulpdu)
{
	size_t len, size;

	*is = false;
	if (p->stream.len < 2)
		return true;
	len = iw_get_be16(p->stream.at);
	size = iw_mpa_fpdu_len(len);
	if (p->stream.len < size)
		return true;
	if (iw_crc32c(0, p->stream.at, size - 4) != iw_get_le32(p->stream.at + size - 4))
		return lab_fail(p->run, "an FPDU of the other end has a wrong CRC");
	*is = true;
	ulpdu->len = 0;
	peer_append(ulpdu, p->stream.at + 2, len);
	peer_remove(&p->stream, size);
	return true;
}

/* --- tagged buffers (RFC 5041 5.2) ---------------------------------------------------------------- */

static bool own_expose(struct peer *p, struct peer_buffer *b)
{
	b->stag = (uint32_t)lab_random(p->run) | 1;
	b->to = lab_random(p->run) >> 16;
	return true;
}

static bool own_fill(struct peer *p, struct peer_buffer *b, size_t len)
{
	(void)p, (void)b, (void)len;
	return true;
}

/* The memory at an STag and TO, if len octets are within it. */
static uint8_t *find(struct peer *p, uint32_t stag, uint64_t to, size_t len)
{
	struct peer_buffer *b = stag == p->source.stag ? &p->source
				: stag == p->sink.stag ? &p->sink
						       : NULL;

	if (!b || to < b->to || to - b->to > sizeof(b->data) ||
	    len > sizeof(b->data) - (to - b->to)) {
		lab_fail(
			p->run,
			"the other end uses STag 0x%08x, TO 0x%llx and %zu octets: not in a buffer",
			stag, (unsigned long long)to, len);
		return NULL;
	}
	return b->data + (to - b->to);
}

static bool own_place(struct peer *p, const uint8_t *segment, size_t len)
{
	struct iw_ddp head;
	size_t at = (size_t)iw_wire_ddp_decode(&head, segment, len);
	uint8_t *to;

	if (at == len)
		return true;
	to = find(p, head.stag, head.to, len - at);
	if (to)
		memcpy(to, segment + at, len - at);
	return to != NULL;
}

static bool own_contents(struct peer *p, struct peer_buffer *b, size_t len)
{
	(void)p, (void)b, (void)len;
	return true;
}

static bool own_source(struct peer *p, const struct iw_rreq *r, uint8_t *dst)
{
	const uint8_t *from = r->size ? find(p, r->src_stag, r->src_to, r->size) : dst;

	if (from && from != dst)
		memcpy(dst, from, r->size);
	return from != NULL;
}

/* --- queue 0 (RFC 5041 5.3) ----------------------------------------------------------------------- */

static bool own_post(struct peer *p)
{
	(void)p;
	return true;
}

static bool own_untagged(struct peer *p, const uint8_t *segment, size_t len)
{
	struct iw_ddp head;
	size_t at = (size_t)iw_wire_ddp_decode(&head, segment, len);

	if (head.mo != p->message.len || p->message.len + len - at > PEER_RECEIVE_LEN)
		return lab_fail(p->run,
				"a Send of the other end has MO %u, or is longer than %d octets",
				head.mo, PEER_RECEIVE_LEN);
	peer_append(&p->message, segment + at, len - at);
	if (!head.last)
		return true;
	push(&p->messages, p->message.at, p->message.len);
	p->message.len = 0;
	return true;
}

static bool own_deliver(struct peer *p, bool *is, struct peer_octets *message)
{
	*is = pop(&p->messages, message);
	return true;
}

/* --- operations ------------------------------------------------------------------------------------ */

/* Cuts a message into segments and queues them. */
static void cut(struct peer *p, struct iw_ddp head, const uint8_t *octets, size_t len)
{
	size_t head_len = iw_ddp_hdr_len(head.tagged), room = p->mulpdu - head_len, at = 0;
	struct peer_octets segment = { 0 };

	do {
		size_t n = IW_MIN(room, len - at);
		uint8_t text[IW_DDP_HDR_MAX];

		head.last = at + n == len;
		iw_wire_ddp_encode(text, sizeof(text), &head);
		segment.len = 0;
		peer_append(&segment, text, head_len);
		peer_append(&segment, octets + at, n);
		push(&p->queue, segment.at, segment.len);
		head.to += n;
		head.mo += (uint32_t)n;
		at += n;
	} while (at < len);
	free(segment.at);
}

static struct iw_ddp untagged(struct peer *p, uint8_t opcode, uint32_t qn)
{
	return (struct iw_ddp){ .dv = 1, .rv = 1, .opcode = opcode, .qn = qn, .msn = ++p->msn[qn] };
}

static struct iw_ddp tagged(uint8_t opcode, uint32_t stag, uint64_t to)
{
	return (struct iw_ddp){
		.tagged = true, .dv = 1, .rv = 1, .opcode = opcode, .stag = stag, .to = to
	};
}

static bool own_send(struct peer *p, const void *octets, size_t len)
{
	cut(p, untagged(p, IW_OP_SEND, IW_QN_SEND), octets, len);
	return true;
}

static bool own_write(struct peer *p, uint32_t stag, uint64_t to, const void *octets, size_t len)
{
	cut(p, tagged(IW_OP_WRITE, stag, to), octets, len);
	return true;
}

static bool own_read(struct peer *p, struct peer_buffer *sink, uint32_t stag, uint64_t to,
		     uint32_t len)
{
	struct iw_rreq r = { .sink_stag = sink->stag,
			     .sink_to = sink->to,
			     .size = len,
			     .src_stag = stag,
			     .src_to = to };
	uint8_t text[IW_RDMAP_RREQ_LEN];

	iw_rreq_encode(text, sizeof(text), &r);
	cut(p, untagged(p, IW_OP_RREQ, IW_QN_RREQ), text, sizeof(text));
	p->reading = true;
	p->read_len = len;
	p->read_got = 0;
	return true;
}

static bool own_request(struct peer *p, const uint8_t *message, size_t len)
{
	static uint8_t octets[PEER_PING_MAX];
	struct iw_rreq r;

	if (iw_rreq_decode(&r, message, len) <= 0 || r.size > sizeof(octets))
		return lab_fail(p->run,
				"a Read Request of the other end has %zu octets, or reads too much",
				len);
	if (!p->layers.source(p, &r, octets))
		return false;
	cut(p, tagged(IW_OP_RRESP, r.sink_stag, r.sink_to), octets, r.size);
	return true;
}

static bool own_response(struct peer *p, const uint8_t *segment, size_t len)
{
	if (!p->reading)
		return lab_fail(p->run, "the other end has sent a Read Response without a Request");
	p->read_got += (uint32_t)(len - IW_DDP_TAGGED_LEN);
	if (segment[0] & 0x40)
		p->reading = false;
	return p->layers.place(p, segment, len);
}

static bool own_read_done(struct peer *p, bool *is)
{
	*is = !p->reading;
	return !*is || lab_expect_number(p->run, "the octets of the Read Response", p->read_len,
					 p->read_got);
}

static bool own_segment(struct peer *p, uint8_t *dst, size_t *len)
{
	struct peer_octets segment = { 0 };

	*len = 0;
	if (pop(&p->queue, &segment)) {
		*len = segment.len;
		memcpy(dst, segment.at, segment.len);
	}
	free(segment.at);
	return true;
}

const struct peer_layers peer_own = {
	.start_up = own_start_up,
	.frame = own_frame,
	.arrived = own_arrived,
	.next_ulpdu = own_next_ulpdu,
	.expose = own_expose,
	.fill = own_fill,
	.place = own_place,
	.contents = own_contents,
	.source = own_source,
	.post = own_post,
	.untagged = own_untagged,
	.deliver = own_deliver,
	.send = own_send,
	.write = own_write,
	.read = own_read,
	.request = own_request,
	.response = own_response,
	.read_done = own_read_done,
	.segment = own_segment,
};
