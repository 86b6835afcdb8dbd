/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes captures in memory, as raw IP frames, and collects the events of the decoder: TCP with MPA
 * frames and FPDUs, and SCTP. FPDUs are built octet by octet, by other code than the decoder uses.
 */
#ifndef TESTS_CAPTURE_MAKER_H
#define TESTS_CAPTURE_MAKER_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "counting_mem.h"
#include "ddp-dump/capture.h"
#include "util/num.h"
#include "wire/crc32c.h"

enum { FIN = 0x01, SYN = 0x02, RST = 0x04, ACK = 0x10 };

/* An event, with copies of what it borrows. */
struct told {
	struct iw_cap_event ev;
	struct iw_cap_flow flow;
	uint8_t pd[IW_MPA_PD_MAX];
	struct iw_rreq rreq;
	struct iw_atomic_req atomic_req;
	struct iw_atomic_rsp atomic_rsp;
	struct iw_terminate term, term_exchanged;
};

struct maker {
	struct counting_mem mem;
	struct iw_cap *cap;
	bool v6;
	uint16_t port[2];
	uint32_t seq[2]; /* the next sequence number of each end */
	uint64_t now_ns, frame;
	size_t snap; /* the snap length; 0: frames are captured whole */
	/* SCTP */
	uint16_t udp_port[2]; /* 0: on IP */
	uint8_t other_addr;   /* end 0 sends from its second address */
	uint32_t tag[2], tsn[2];
	uint16_t streams_in[2];                      /* of an INIT; 0: as many as out */
	uint32_t checksum_error;                     /* added to the checksum */
	void (*each)(const struct iw_cap_event *ev); /* called for each event; may be NULL */
	struct told *told;
	size_t n, room;
};

/* --- frames --- */

static inline size_t make_ip(const struct maker *m, uint8_t *p, unsigned from, uint8_t flags,
			     uint32_t seq, uint32_t ack, const void *data, size_t len)
{
	size_t ip = m->v6 ? 40 : 20;

	memset(p, 0, ip + 20);
	if (m->v6) {
		p[0] = 0x60;
		iw_put_be16(p + 4, (uint16_t)(20 + len));
		p[6] = 6;
		p[8] = p[24] = 0xfd;
		p[23] = (uint8_t)(1 + from);
		p[39] = (uint8_t)(2 - from);
	} else {
		p[0] = 0x45;
		iw_put_be16(p + 2, (uint16_t)(40 + len));
		p[8] = 64;
		p[9] = 6;
		iw_put_be32(p + 12, 0x0a000001 + from);
		iw_put_be32(p + 16, 0x0a000002 - from);
	}
	p += ip;
	iw_put_be16(p, m->port[from]);
	iw_put_be16(p + 2, m->port[1 - from]);
	iw_put_be32(p + 4, seq);
	iw_put_be32(p + 8, ack);
	p[12] = 5 << 4;
	p[13] = flags;
	if (len)
		memcpy(p + 20, data, len);
	return ip + 20 + len;
}

static inline void maker_collect(struct maker *m)
{
	const struct iw_cap_event *ev;

	while ((ev = iw_cap_next(m->cap))) {
		struct told *t;

		if (m->each)
			m->each(ev);
		if (m->n == m->room) {
			m->room = m->room ? 2 * m->room : 64;
			m->told = realloc(m->told, m->room * sizeof(*m->told));
			assert(m->told);
		}
		t = &m->told[m->n++];
		memset(t, 0, sizeof(*t));
		t->ev = *ev;
		t->flow = *ev->flow;
		if (ev->kind == IW_CAP_MPA)
			memcpy(t->pd, ev->mpa.pd, ev->mpa.pd_len);
		if (ev->kind == IW_CAP_DDP && ev->ddp.rreq)
			t->rreq = *ev->ddp.rreq;
		if (ev->kind == IW_CAP_SESSION)
			memcpy(t->pd, ev->session.pd, ev->session.pd_len);
		if (ev->kind == IW_CAP_DDP && ev->ddp.atomic_req)
			t->atomic_req = *ev->ddp.atomic_req;
		if (ev->kind == IW_CAP_DDP && ev->ddp.atomic_rsp)
			t->atomic_rsp = *ev->ddp.atomic_rsp;
		if (ev->kind == IW_CAP_DDP && ev->ddp.term)
			t->term = *ev->ddp.term;
		if (ev->kind == IW_CAP_DDP && ev->ddp.term_exchanged)
			t->term_exchanged = *ev->ddp.term_exchanged;
	}
}

/* Pushes the frame in an allocation of exactly its length, so that a sanitizer detects a read past
 * its end. */
static inline int maker_push(struct maker *m, enum iw_packet_link link, const void *data,
			     size_t len, size_t wire_len)
{
	struct iw_cap_frame f = { .number = ++m->frame,
				  .time_ns = m->now_ns += 1000,
				  .link = link,
				  .len = len,
				  .wire_len = wire_len };
	uint8_t *exact = malloc(len ? len : 1);
	int ret;

	assert(exact);
	if (len)
		memcpy(exact, data, len);
	f.data = exact;
	ret = iw_cap_push(m->cap, &f);
	maker_collect(m);
	free(exact);
	return ret;
}

/* Sends a TCP segment from end[from]. */
static inline int tcp(struct maker *m, unsigned from, uint8_t flags, uint32_t seq, uint32_t ack,
		      const void *data, size_t len)
{
	uint8_t *p = malloc(60 + len);
	size_t n;
	int ret;

	assert(p);
	n = make_ip(m, p, from, flags, seq, ack, data, len);
	ret = maker_push(m, IW_PACKET_RAW, p, m->snap && m->snap < n ? m->snap : n, n);
	free(p);
	return ret;
}

/* Sends the next octets of that end in one segment. */
static inline void say(struct maker *m, unsigned from, const void *data, size_t len)
{
	(void)tcp(m, from, ACK, m->seq[from], m->seq[1 - from], data, len);
	m->seq[from] += (uint32_t)len;
}

static inline void say_fin(struct maker *m, unsigned from)
{
	(void)tcp(m, from, FIN | ACK, m->seq[from]++, m->seq[1 - from], NULL, 0);
}

static inline void handshake(struct maker *m)
{
	(void)tcp(m, 0, SYN, m->seq[0]++, 0, NULL, 0);
	(void)tcp(m, 1, SYN | ACK, m->seq[1]++, m->seq[0], NULL, 0);
	(void)tcp(m, 0, ACK, m->seq[0], m->seq[1], NULL, 0);
}

/* payload: events have the payload, as with ddp-dump -x. */
/* With all: also payload and SACKs. */
static inline void maker_init_payload(struct maker *m, const struct iw_cap_limits *limits,
				      const struct iw_sctpmap_profile *profile, bool all)
{
	struct iw_cap_cfg cfg = {
		.seed = 1, .align = true, .payload = all, .sacks = all, .profile = profile
	};
	int err;

	memset(m, 0, sizeof(*m));
	counting_mem_init(&m->mem);
	cfg.mem = &m->mem.mem;
	if (limits)
		cfg.limits = *limits;
	err = iw_cap_new(&m->cap, &cfg);
	assert(err == 0);
	(void)err;
	m->port[0] = 40000;
	m->port[1] = 7471;
	m->tag[0] = 0x11111111;
	m->tag[1] = 0x22222222;
	m->tsn[0] = 0xfffffffe;
	m->tsn[1] = 500;
	/* The sequence numbers of both directions wrap soon. */
	m->seq[0] = 0xfffffff0;
	m->seq[1] = 0xffffff00;
	m->now_ns = 1700000000000000000u;
}

static inline void maker_init_of(struct maker *m, const struct iw_cap_limits *limits,
				 const struct iw_sctpmap_profile *profile)
{
	maker_init_payload(m, limits, profile, false);
}

static inline void maker_init(struct maker *m, const struct iw_cap_limits *limits)
{
	maker_init_of(m, limits, NULL);
}

static inline void maker_finish(struct maker *m)
{
	iw_cap_finish(m->cap);
	maker_collect(m);
}

/* True: no memory leaked. */
static inline bool maker_fini(struct maker *m)
{
	iw_cap_free(m->cap);
	free(m->told);
	return m->mem.blocks == 0 && m->mem.wrong_size == 0;
}

/* --- MPA --- */

static inline size_t make_mpa(uint8_t *p, bool reply, uint8_t flags, uint8_t rev, const void *pd,
			      size_t pd_len)
{
	memcpy(p, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	p[16] = flags;
	p[17] = rev;
	iw_put_be16(p + 18, (uint16_t)pd_len);
	if (pd_len)
		memcpy(p + 20, pd, pd_len);
	return 20 + pd_len;
}

static inline void say_mpa(struct maker *m, unsigned from, bool reply, uint8_t flags, uint8_t rev,
			   const void *pd, size_t pd_len)
{
	uint8_t p[20 + 65536];

	say(m, from, p, make_mpa(p, reply, flags, rev, pd, pd_len));
}

/* Handshake, Request and Reply: end 0 is the initiator. */
static inline void set_up(struct maker *m, uint8_t request_flags, uint8_t reply_flags)
{
	handshake(m);
	say_mpa(m, 0, false, request_flags, 1, NULL, 0);
	say_mpa(m, 1, true, reply_flags, 1, NULL, 0);
}

/* RFC 5044 4: makes an FPDU octet by octet. pos: octets since SeqStart. Returns its length, at most
 * 66,200. */
struct fpdu_out {
	uint8_t *p;
	size_t n;
	uint64_t pos;
	bool markers;
	uint64_t head; /* position of ULPDU_Length; 0: not written yet */
	bool has_head;
};

static inline void fpdu_octet(struct fpdu_out *o, uint8_t v)
{
	if (o->markers && o->pos % 512 == 0) {
		uint32_t back = o->has_head ? (uint32_t)(o->pos - o->head) : 0;

		iw_put_be16(o->p + o->n, 0);
		iw_put_be16(o->p + o->n + 2, (uint16_t)back);
		o->n += 4;
		o->pos += 4;
	}
	if (!o->has_head) {
		o->has_head = true;
		o->head = o->pos;
	}
	o->p[o->n++] = v;
	o->pos++;
}

static inline size_t make_fpdu(uint8_t *p, uint64_t pos, bool markers, bool crc,
			       const uint8_t *ulpdu, size_t len)
{
	struct fpdu_out o = { .p = p, .pos = pos, .markers = markers };
	uint32_t sum;

	fpdu_octet(&o, (uint8_t)(len >> 8));
	fpdu_octet(&o, (uint8_t)len);
	for (size_t i = 0; i < len; i++)
		fpdu_octet(&o, ulpdu[i]);
	for (size_t i = (2 + len) % 4; i && i < 4; i++)
		fpdu_octet(&o, 0);
	/* The CRC covers a marker between the pad and the CRC. */
	if (markers && o.pos % 512 == 0) {
		iw_put_be16(p + o.n, 0);
		iw_put_be16(p + o.n + 2, (uint16_t)(o.pos - o.head));
		o.n += 4;
	}
	sum = crc ? iw_crc32c(0, p, o.n) : 0;
	iw_put_le32(p + o.n, sum);
	return o.n + 4;
}

/* --- DDP --- */

static inline size_t make_send(uint8_t *p, uint32_t msn, uint32_t mo, bool last, size_t payload)
{
	struct iw_ddp h = { .last = last,
			    .dv = 1,
			    .rv = 1,
			    .opcode = IW_OP_SEND,
			    .qn = IW_QN_SEND,
			    .msn = msn,
			    .mo = mo };
	int n = iw_wire_ddp_encode(p, IW_DDP_UNTAGGED_LEN, &h);

	assert(n == IW_DDP_UNTAGGED_LEN);
	for (size_t i = 0; i < payload; i++)
		p[n + (int)i] = (uint8_t)(i + msn);
	return (size_t)n + payload;
}

static inline size_t make_write(uint8_t *p, uint32_t stag, uint64_t to, bool last, size_t payload)
{
	struct iw_ddp h = { .tagged = true,
			    .last = last,
			    .dv = 1,
			    .rv = 1,
			    .opcode = IW_OP_WRITE,
			    .stag = stag,
			    .to = to };
	int n = iw_wire_ddp_encode(p, IW_DDP_TAGGED_LEN, &h);

	assert(n == IW_DDP_TAGGED_LEN);
	for (size_t i = 0; i < payload; i++)
		p[n + (int)i] = (uint8_t)(i ^ to);
	return (size_t)n + payload;
}

/* --- SCTP --- */

/* Writes a chunk with its padding. Returns the octets written. */
static inline size_t make_chunk(uint8_t *p, uint8_t type, uint8_t flags, const void *value,
				size_t len)
{
	memset(p, 0, 4 + len + 3);
	p[0] = type;
	p[1] = flags;
	iw_put_be16(p + 2, (uint16_t)(4 + len));
	if (len)
		memcpy(p + 4, value, len);
	return (4 + len + 3) / 4 * 4;
}

static inline size_t make_data(uint8_t *p, uint8_t flags, uint32_t tsn, uint16_t sid, uint32_t ppid,
			       const void *data, size_t len)
{
	uint8_t value[12 + 4096];

	assert(len <= 4096);
	iw_put_be32(value, tsn);
	iw_put_be16(value + 4, sid);
	iw_put_be16(value + 6, 0);
	iw_put_be32(value + 8, ppid);
	memcpy(value + 12, data, len);
	return make_chunk(p, 0, flags, value, 12 + len);
}

/* Writes the common header and the chunks. Returns the octets written. */
static inline size_t make_sctp(const struct maker *m, uint8_t *p, unsigned from, uint32_t tag,
			       const uint8_t *chunks, size_t len)
{
	iw_put_be16(p, m->port[from]);
	iw_put_be16(p + 2, m->port[1 - from]);
	iw_put_be32(p + 4, tag);
	iw_put_be32(p + 8, 0);
	if (len)
		memcpy(p + 12, chunks, len);
	iw_put_le32(p + 8, iw_crc32c(0, p, 12 + len) + m->checksum_error);
	return 12 + len;
}

/* Sends consecutive SCTP packets in one frame. */
static inline void push_sctp(struct maker *m, unsigned from, const uint8_t *packets, size_t len)
{
	size_t udp = m->udp_port[0] ? 8 : 0, n = 20 + udp + len;
	uint8_t *p = calloc(1, n);

	assert(p);
	p[0] = 0x45;
	iw_put_be16(p + 2, (uint16_t)n);
	p[8] = 64;
	p[9] = udp ? 17 : 132;
	iw_put_be32(p + 12, 0x0a000001 + from + (from ? 0u : m->other_addr * 256u));
	iw_put_be32(p + 16, 0x0a000002 - from + (from ? m->other_addr * 256u : 0u));
	if (udp) {
		iw_put_be16(p + 20, m->udp_port[from]);
		iw_put_be16(p + 22, m->udp_port[1 - from]);
		iw_put_be16(p + 24, (uint16_t)(8 + len));
	}
	memcpy(p + 20 + udp, packets, len);
	(void)maker_push(m, IW_PACKET_RAW, p, m->snap && m->snap < n ? m->snap : n, n);
	free(p);
}

/* Sends chunks to the other end in one packet. */
static inline void say_chunks(struct maker *m, unsigned from, const uint8_t *chunks, size_t len)
{
	uint8_t p[16384];

	push_sctp(m, from, p, make_sctp(m, p, from, m->tag[1 - from], chunks, len));
}

static inline void say_chunk(struct maker *m, unsigned from, uint8_t type, uint8_t flags,
			     const void *value, size_t len)
{
	uint8_t chunk[4200];

	say_chunks(m, from, chunk, make_chunk(chunk, type, flags, value, len));
}

/* Sends INIT (1) or INIT ACK (2); adaptation 0: without the indication. */
static inline void say_init(struct maker *m, unsigned from, uint8_t type, uint16_t streams,
			    uint32_t adaptation)
{
	uint8_t v[24], chunk[40], p[64];

	iw_put_be32(v, m->tag[from]);
	iw_put_be32(v + 4, 131072);
	iw_put_be16(v + 8, streams);
	iw_put_be16(v + 10, m->streams_in[from] ? m->streams_in[from] : streams);
	iw_put_be32(v + 12, m->tsn[from]);
	iw_put_be32(v + 16, 0xc0060008);
	iw_put_be32(v + 20, adaptation);
	push_sctp(m, from, p,
		  make_sctp(m, p, from, type == 1 ? 0 : m->tag[1 - from], chunk,
			    make_chunk(chunk, type, 0, v, adaptation ? 24 : 16)));
}

/* End 0 is the initiator; both indicate DDP. */
static inline void sctp_set_up(struct maker *m)
{
	say_init(m, 0, 1, 16, 1);
	say_init(m, 1, 2, 16, 1);
}

/* Sends a whole message in one unordered DATA chunk, with the next TSN. */
static inline void say_data(struct maker *m, unsigned from, uint16_t sid, uint32_t ppid,
			    const void *data, size_t len)
{
	uint8_t chunk[4200];

	say_chunks(m, from, chunk, make_data(chunk, 7, m->tsn[from]++, sid, ppid, data, len));
}

static inline void say_control(struct maker *m, unsigned from, uint16_t sid, uint16_t ssn,
			       uint16_t fn, const void *pd, size_t len)
{
	uint8_t p[1024];

	iw_put_be16(p, ssn);
	iw_put_be16(p + 2, fn);
	if (len)
		memcpy(p + 4, pd, len);
	say_data(m, from, sid, 17, p, 4 + len);
}

/* segment: a DDP segment with its header */
static inline void say_segment(struct maker *m, unsigned from, uint16_t sid, uint16_t ssn,
			       const uint8_t *segment, size_t len)
{
	uint8_t p[4096];

	iw_put_be16(p, ssn);
	memcpy(p + 2, segment, len);
	say_data(m, from, sid, 16, p, 2 + len);
}

/* Acknowledges all TSNs so far. */
static inline void say_sack(struct maker *m, unsigned from)
{
	uint8_t v[12] = { 0 };

	iw_put_be32(v, m->tsn[1 - from] - 1);
	iw_put_be32(v + 4, 131072);
	say_chunk(m, from, 3, 0, v, sizeof(v));
}

/* --- events --- */

static inline size_t count_kind(const struct maker *m, enum iw_cap_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->told[i].ev.kind == kind;
	return n;
}

/* The i-th event of the kind, or NULL. */
static inline const struct told *nth(const struct maker *m, enum iw_cap_kind kind, size_t i)
{
	for (size_t k = 0; k < m->n; k++)
		if (m->told[k].ev.kind == kind && i-- == 0)
			return &m->told[k];
	return NULL;
}

static inline size_t count_tcp(const struct maker *m, enum iw_cap_tcp_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->told[i].ev.kind == IW_CAP_TCP && m->told[i].ev.tcp.kind == kind;
	return n;
}

static inline size_t count_sctp(const struct maker *m, enum iw_cap_sctp_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->told[i].ev.kind == IW_CAP_SCTP && m->told[i].ev.sctp.kind == kind;
	return n;
}

#endif
