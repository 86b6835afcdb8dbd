// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The observing program: follows ULPDU_Length through the TCP segments of MPA connections (RFC
 * 5044), and counts the segments that begin with an FPDU. An RNIC prefers these, and only the
 * receiver sees how they arrive. Every packet is passed to the kernel.
 *
 * It sees the arriving direction of a connection, beginning with the start-up frame. Markers in
 * this direction were requested in the other one, so the program has to detect them. With markers,
 * four zero octets are in front of the first FPDU (RFC 5044 4.3); the ULPDU_Length of that FPDU is
 * not zero. Only an FPDU without a ULPDU, which may begin a peer-to-peer connection (RFC 6581),
 * also begins with zeroes; its CRC distinguishes it.
 *
 * The program does not accept frames of several buffers, on purpose. Otherwise the sender's
 * segmentation offload would remain on, and the program would not see the TCP segments of the wire.
 */
#include "xdp/parse.h"

#define MPA_FRAME 20 /* key, flags, Rev, PD_Length: RFC 5044 7.1.1 */
#define MPA_HEAD  2
#define MPA_CRC   4
#define ULPDU_MIN 14 /* a DDP tagged header */
#define ULPDU_MAX 64768
#define FPDUS_MAX 1024 /* in one segment */

#define MARKER       4
#define MARKER_EVERY 512    /* octets of the stream, including the marker */
#define EMPTY_CRC    0xc74b /* first octets of the CRC of an FPDU without a ULPDU */

struct tcp {
	uint16_t sport, dport;
	uint32_t seq, ack;
	uint8_t offset, flags;
	uint16_t window, checksum, urgent;
};
#define TCP_SYN 0x02
struct start_up {
	uint32_t key[4];
	uint8_t flags, rev;
	uint16_t pd_len;
};
/* ULPDU_Length, at any alignment. */
struct length {
	uint8_t high, low;
};
struct fpdu {
	struct length len;
	uint8_t ddp, rdmap;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct iw_xdp_flow_key);
	__type(value, struct iw_xdp_flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct iw_xdp_mpa);
} mpa SEC(".maps");

struct segment {
	struct cursor at; /* the payload: at.left octets at at.off */
	uint32_t seq;     /* of the first octet of the payload */
	struct iw_xdp_flow_key key;
};

/* True for a Request or a Reply: their keys differ in the third word only (RFC 5044 7.1.1). */
static __always_inline bool is_start_up(const struct start_up *s)
{
	return s->key[0] == bpf_htonl(0x4d504120) /* "MPA " */ &&
	       (s->key[1] == bpf_htonl(0x49442052)) /* "ID R" */ &&
	       (s->key[2] == bpf_htonl(0x65712046) ||
		s->key[2] == bpf_htonl(0x65702046))   /* "eq F", "ep F" */
	       && s->key[3] == bpf_htonl(0x72616d65); /* "rame" */
}

/* Returns the octets of an FPDU without markers: ULPDU_Length, ULPDU, padding, CRC (RFC 5044 4). */
static __always_inline uint32_t fpdu_len(uint32_t ulpdu)
{
	return ((MPA_HEAD + ulpdu + 3) & ~3u) + MPA_CRC;
}

static __always_inline bool is_marker(const struct iw_xdp_flow *f, uint32_t seq)
{
	return f->markers == IW_XDP_MARKERS && (seq - f->start) % MARKER_EVERY == 0;
}

/* Sets the start of the next FPDU. A marker that is due there precedes its length. */
static __always_inline void begins_at(struct iw_xdp_flow *f, uint32_t seq)
{
	f->next = seq;
	f->length = is_marker(f, seq) ? seq + MARKER : seq;
}

enum taken { FPDU, NOT_YET, NO_LENGTH };

/* Interprets ulpdu, the two octets at f->length. FPDU: they are the length of an FPDU, and f is now
 * at the next one. NOT_YET: they belong to a marker, and f->length is now after it. NO_LENGTH: they
 * cannot be a length. */
static __always_inline enum taken take_length(struct iw_xdp_flow *f, uint32_t ulpdu)
{
	bool first = f->next == f->start, empty = false;
	uint32_t len, to_marker;

	if (first && f->markers == IW_XDP_MARKERS_UNKNOWN) {
		f->markers = ulpdu ? IW_XDP_MARKERS_NONE : IW_XDP_MARKERS;
		if (!ulpdu) {
			f->length += MARKER;
			return NOT_YET;
		}
	} else if (first && f->markers == IW_XDP_MARKERS) {
		empty = ulpdu == 0 || ulpdu == EMPTY_CRC;
		/* The zeroes were no marker but an FPDU without a ULPDU; these octets are its
		 * CRC. */
		if (ulpdu == EMPTY_CRC) {
			f->markers = IW_XDP_MARKERS_NONE;
			f->length -= MARKER;
		}
	}
	if (empty)
		ulpdu = 0;
	else if (ulpdu < ULPDU_MIN || ulpdu > ULPDU_MAX)
		return NO_LENGTH;
	len = fpdu_len(ulpdu);
	to_marker = MARKER_EVERY - (f->length - f->start) % MARKER_EVERY;
	/* Markers within the FPDU. One that is due directly after it belongs to the next FPDU. */
	if (f->markers == IW_XDP_MARKERS && len > to_marker)
		len += MARKER * (1 + (len - to_marker - 1) / (MARKER_EVERY - MARKER));
	begins_at(f, f->length + len);
	return FPDU;
}

struct walk {
	struct xdp_md *ctx;
	struct iw_xdp_flow *f;
	uint32_t off, seq, len; /* payload of the segment: offset, sequence number, octets */
	uint32_t fpdus, bad;
};

/* Reads the length of one FPDU, for bpf_loop. Returns 1 to end the loop. */
static long next_fpdu(uint32_t index, void *ctx)
{
	struct walk *w = ctx;
	uint32_t at = w->f->length - w->seq;
	struct length len = { 0, 0 };
	enum taken taken;

	if (at >= w->len)
		return 1;
	if (at == w->len - 1) {
		w->bad = !LOAD(w->ctx, w->off + at, &len.high);
		w->f->half = 256 + len.high;
		return 1;
	}
	if (!LOAD(w->ctx, w->off + at, &len)) {
		w->bad = 1;
		return 1;
	}
	taken = take_length(w->f, (uint32_t)len.high << 8 | len.low);
	w->bad = taken == NO_LENGTH;
	/* All four octets of the first marker must be zero. */
	if (taken == NOT_YET && at + MARKER <= w->len &&
	    (!LOAD(w->ctx, w->off + at + sizeof(len), &len) || len.high || len.low))
		w->bad = 1;
	w->fpdus += taken == FPDU;
	return w->bad;
}

/* True if the payload may begin with an FPDU, by its length, its DDP and RDMAP versions and its
 * reserved bits. */
static __always_inline bool looks_like_fpdu(const struct segment *s, const struct iw_xdp_flow *f)
{
	uint32_t marker = is_marker(f, s->seq) ? MARKER : 0, ulpdu;
	struct fpdu h;

	if (s->at.left < sizeof(h) + marker || !LOAD(s->at.ctx, s->at.off + marker, &h))
		return false;
	ulpdu = (uint32_t)h.len.high << 8 | h.len.low;
	return ulpdu >= ULPDU_MIN && ulpdu <= ULPDU_MAX && (h.ddp & 0x3f) == 1 &&
	       (h.rdmap & 0xf0) == 0x40;
}

/* From here on, the start of FPDUs in this flow is not known. */
static __always_inline void lose(struct iw_xdp_flow *f, struct iw_xdp_mpa *n)
{
	f->lost = 1;
	n->lost++;
}

/* Counts the FPDUs whose length is in the payload of the segment. */
static __always_inline void walk_fpdus(const struct segment *s, struct iw_xdp_flow *f,
				       struct iw_xdp_mpa *n)
{
	struct walk w = {
		.ctx = s->at.ctx,
		.f = f,
		.off = s->at.off,
		.seq = s->seq,
		.len = s->at.left,
	};

	bpf_loop(FPDUS_MAX, next_fpdu, &w, 0);
	f->fpdus += w.fpdus;
	n->fpdus += w.fpdus;
	if (w.bad || (!f->half && f->length - w.seq < w.len))
		lose(f, n);
}

/* Completes a length whose first octet was the last one of the previous segment. */
static __always_inline void join_halves(const struct segment *s, struct iw_xdp_flow *f,
					struct iw_xdp_mpa *n)
{
	enum taken taken = NO_LENGTH;
	uint8_t low = 0;

	if (LOAD(s->at.ctx, s->at.off, &low))
		taken = take_length(f, (f->half - 256) << 8 | low);
	f->half = 0;
	if (taken == NO_LENGTH)
		lose(f, n);
	f->fpdus += taken == FPDU;
	n->fpdus += taken == FPDU;
}

static __always_inline void follow(const struct segment *s, struct iw_xdp_flow *f,
				   struct iw_xdp_mpa *n)
{
	uint32_t len = s->at.left, end = s->seq + len;

	if ((int32_t)(end - f->end) <= 0) {
		f->resent++;
		n->resent++;
		return;
	}
	f->segments++;
	f->octets += len;
	n->segments++;
	n->octets += len;
	if (s->seq != f->end) {
		f->holes++;
		n->holes++;
		f->half = 0;
		/* After a hole, a segment that begins with an FPDU shows where FPDUs begin. Any
		 * other segment does not. */
		if (!f->lost && !looks_like_fpdu(s, f))
			lose(f, n);
		begins_at(f, s->seq);
	}
	f->end = end;
	if (!f->lost && f->half)
		join_halves(s, f, n);
	if (f->lost)
		return;
	f->followed++;
	n->followed++;
	if (f->next == s->seq) {
		f->aligned++;
		n->aligned++;
	}
	walk_fpdus(s, f, n);
}

/* Begins a flow if the segment begins with a start-up frame. */
static __always_inline void begin_flow(const struct segment *s, struct iw_xdp_mpa *n)
{
	struct iw_xdp_flow new = { .end = s->seq + s->at.left }, *f;
	struct start_up h;
	uint32_t len;

	if (s->at.left < sizeof(h) || !LOAD(s->at.ctx, s->at.off, &h) || !is_start_up(&h))
		return;
	len = sizeof(h) + bpf_ntohs(h.pd_len);
	new.start = s->seq + len;
	begins_at(&new, new.start);
	n->flows++;
	bpf_map_update_elem(&flows, &s->key, &new, BPF_ANY);
	f = bpf_map_lookup_elem(&flows, &s->key);
	/* FPDUs may follow in the same segment. */
	if (f)
		walk_fpdus(s, f, n);
}

static __always_inline bool parse_segment(struct xdp_md *ctx, struct segment *s, struct tcp *h)
{
	struct ip ip = { .protocol = 0 };
	uint32_t hdr;

	s->at = (struct cursor){ ctx, 0, (uint32_t)((long)ctx->data_end - (long)ctx->data) };
	if (parse_ip(&s->at, &ip) != OURS || ip.protocol != PROTO_TCP || s->at.left < sizeof(*h) ||
	    !LOAD(ctx, s->at.off, h))
		return false;
	hdr = (uint32_t)(h->offset >> 4) * 4;
	if (hdr < sizeof(*h) || hdr > s->at.left)
		return false;
	skip(&s->at, hdr);
	s->seq = bpf_ntohl(h->seq);
	__builtin_memcpy(s->key.src, ip.src, sizeof(ip.src));
	__builtin_memcpy(s->key.dst, ip.dst, sizeof(ip.dst));
	s->key.sport = h->sport;
	s->key.dport = h->dport;
	return true;
}

SEC("xdp")
int iw_observe_1(struct xdp_md *ctx)
{
	uint32_t zero = 0;
	struct iw_xdp_mpa *n = bpf_map_lookup_elem(&mpa, &zero);
	struct segment s = { .seq = 0 };
	struct iw_xdp_flow *f;
	struct tcp h;

	if (!n || !parse_segment(ctx, &s, &h))
		return XDP_PASS;
	n->packets++;
	/* A new connection, perhaps with the ports of an earlier one. */
	if (h.flags & TCP_SYN) {
		bpf_map_delete_elem(&flows, &s.key);
		return XDP_PASS;
	}
	if (s.at.left == 0)
		return XDP_PASS;
	f = bpf_map_lookup_elem(&flows, &s.key);
	if (f)
		follow(&s, f, n);
	else
		begin_flow(&s, n);
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
