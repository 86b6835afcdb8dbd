/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A second description of how the steering program must handle a frame: octet by octet up to the
 * SCTP header, and from there on with the decoders of lib/wire. It also runs the program itself on
 * that frame, without a network, to compare both.
 */
#ifndef TESTS_STEER_REF_H
#define TESTS_STEER_REF_H

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/steer.h"
#include "util/num.h"
#include "wire/ddp.h"
#include "wire/sctp.h"
#include "wire/sctpddp.h"
#include "xdp/shared.h"

/* --- registered endpoints and STags ------------------------------------------------------------ */

#define STEER_PORT     7471
#define STEER_UDP_PORT 9899
#define STEER_HOST     5000 /* the SCTP port of an endpoint with one address */
#define STEER_TAG      0x11223344u
#define STEER_TAG2     0x55667788u /* another association, of another Protection Domain */
/* Valid on every stream of STEER_TAG's domain; the next number is valid on STEER_ONE only. */
#define STEER_STAG     0xabcdef01u
#define STEER_ONE      3
#define STEER_STREAMS  8 /* streams with a session on each of the two associations */
#define STEER_VLANS    4
#define STEER_EXTS     8
#define STEER_CHUNKS   512

static const uint8_t steer_v4[16] = { [10] = 0xff, [11] = 0xff, 10, 77, 0, 1 };
static const uint8_t steer_v6[16] = { 0xfd, 0x77, [15] = 1 };

/* --- the reference ----------------------------------------------------------------------------- */

struct steer_told {
	bool ours;
	struct iw_xdp_meta meta; /* without the endpoint field */
	/* 0: any:STEER_PORT, 1: the same in UDP, 2: IPv4 host, 3: IPv6 host */
	unsigned endpoint;
	struct iw_xdp_counters count; /* the increments for one frame */
};

struct steer_slice {
	const uint8_t *p;
	size_t at, end;
};

static inline bool steer_has(const struct steer_slice *s, size_t n)
{
	return s->end - s->at >= n;
}

static inline int steer_ref_ipv4(struct steer_slice *s, uint8_t dst[16], uint8_t *protocol)
{
	const uint8_t *h = s->p + s->at;
	size_t hdr, total;

	if (!steer_has(s, 20) || h[0] >> 4 != 4)
		return IW_XDP_PASS_IP_BAD;
	hdr = (size_t)(h[0] & 15) * 4;
	total = iw_get_be16(h + 2);
	if (hdr < 20 || total < hdr || !steer_has(s, total))
		return IW_XDP_PASS_IP_BAD;
	if (iw_get_be16(h + 6) & 0x3fff)
		return IW_XDP_PASS_FRAGMENT;
	dst[10] = dst[11] = 0xff;
	memcpy(dst + 12, h + 16, 4);
	*protocol = h[9];
	s->end = s->at + total;
	s->at += hdr;
	return -1;
}

static inline int steer_ref_ipv6(struct steer_slice *s, uint8_t dst[16], uint8_t *protocol)
{
	const uint8_t *h = s->p + s->at;
	uint8_t next;
	size_t payload;

	if (!steer_has(s, 40) || h[0] >> 4 != 6)
		return IW_XDP_PASS_IP_BAD;
	payload = iw_get_be16(h + 4);
	if (payload == 0 || !steer_has(s, 40 + payload))
		return IW_XDP_PASS_IP_BAD;
	next = h[6];
	memcpy(dst, h + 24, 16);
	s->at += 40;
	s->end = s->at + payload;
	for (int i = 0; i <= STEER_EXTS; i++) {
		size_t len;

		/* SCTP may follow the last allowed header, but the program does not look there. */
		if (i == STEER_EXTS)
			return IW_XDP_PASS_IP_EXTENSION;
		if (next == 132 || next == 17 || next == 6)
			break;
		if (next != 0 && next != 43 && next != 44 && next != 60)
			return IW_XDP_PASS_PROTOCOL;
		if (!steer_has(s, 8))
			return IW_XDP_PASS_IP_BAD;
		h = s->p + s->at;
		len = next == 44 ? 8 : ((size_t)h[1] + 1) * 8;
		if (next == 44 && iw_get_be16(h + 2) & 0xfff9)
			return IW_XDP_PASS_FRAGMENT;
		if (next == 43 && h[3] != 0)
			return IW_XDP_PASS_IP_EXTENSION;
		if (!steer_has(s, len))
			return IW_XDP_PASS_IP_BAD;
		s->at += len;
		next = h[0];
	}
	*protocol = next;
	return -1;
}

/* Returns 0 if the STag is known and allowed, otherwise the counter to increment. RFC 5041 8.2. */
static inline int steer_ref_stag(uint32_t tag, uint16_t stream, uint32_t stag)
{
	if (stream >= STEER_STREAMS)
		return IW_XDP_SEEN_NO_SESSION;
	if (tag == STEER_TAG &&
	    (stag == STEER_STAG || (stag == STEER_STAG + 1 && stream == STEER_ONE)))
		return 0;
	return IW_XDP_SEEN_STAG_UNKNOWN;
}

static inline void steer_ref_segment(struct steer_told *t, const struct iw_sctp_data *d,
				     uint8_t flags, bool known)
{
	int seen;
	struct iw_xdp_counters *n = &t->count;
	struct iw_ddp ddp;
	uint16_t ssn;

	n->segments++;
	t->meta.segments++;
	if ((flags & 3) != 3)
		n->seen[IW_XDP_SEEN_DATA_PART]++;
	if (!(flags & IW_SCTP_DATA_B))
		return;
	if (iw_wire_sctp_segment_decode(&ssn, d->data, d->len) != 2 ||
	    iw_wire_ddp_decode(&ddp, d->data + 2, d->len - 2) <= 0) {
		n->seen[IW_XDP_SEEN_DDP_SHORT]++;
		return;
	}
	n->tl[2 * ddp.tagged + ddp.last]++;
	n->opcode[ddp.opcode]++;
	if (ddp.tagged)
		n->tagged_octets += d->len - 2 - iw_ddp_hdr_len(true);
	else
		n->untagged_octets += d->len - 2 - iw_ddp_hdr_len(false);
	seen = ddp.tagged && known ? steer_ref_stag(t->meta.tag, d->stream, ddp.stag) : 0;
	n->seen[seen] += seen != 0;
	t->meta.unknown += seen == IW_XDP_SEEN_STAG_UNKNOWN;
}

static inline void steer_ref_chunks(struct steer_told *t, const struct steer_slice *packet,
				    bool known)
{
	struct iw_xdp_counters *n = &t->count;
	size_t at = packet->at + IW_SCTP_HDR_LEN, had = 0;

	while (at < packet->end && had < STEER_CHUNKS) {
		struct iw_sctp_chunk c;
		struct iw_sctp_data d;
		int took = iw_wire_sctp_chunk_decode(&c, packet->p + at, packet->end - at);

		if (took <= 0) {
			n->seen[IW_XDP_SEEN_CHUNK_BAD]++;
			return;
		}
		had++;
		n->chunks++;
		t->meta.chunks++;
		if (c.type != IW_SCTP_DATA) {
			t->meta.flags |= IW_XDP_META_MIXED;
		} else if (n->data++, iw_wire_sctp_data_decode(&d, c.value, c.value_len) <= 0) {
			n->seen[IW_XDP_SEEN_DATA_SHORT]++;
			t->meta.flags |= IW_XDP_META_MIXED;
		} else if (d.ppid == IW_SCTP_PPID_SEGMENT) {
			if (t->meta.segments == 0)
				t->meta.first = (uint16_t)at;
			steer_ref_segment(t, &d, c.flags, known);
		} else {
			t->meta.flags |= IW_XDP_META_MIXED;
			if (d.ppid == IW_SCTP_PPID_CONTROL)
				n->controls++;
			else
				n->foreign++;
		}
		at += (size_t)took;
	}
	if (at < packet->end)
		n->seen[IW_XDP_SEEN_CHUNK_MORE]++;
	else
		t->meta.flags |= IW_XDP_META_CHUNKS;
}

static inline bool steer_ref_endpoint(const uint8_t dst[16], uint16_t port, bool in_udp,
				      uint16_t udp, unsigned *which)
{
	if (port == STEER_PORT && (!in_udp || udp == STEER_UDP_PORT)) {
		*which = in_udp;
		return true;
	}
	/* UDP port 0 is not a port, but a header can contain it. */
	if (port == STEER_PORT && udp == 0) {
		*which = 0;
		return true;
	}
	*which = memcmp(dst, steer_v4, 16) == 0 ? 2 : 3;
	return port == STEER_HOST && udp == 0 &&
	       (memcmp(dst, steer_v4, 16) == 0 || memcmp(dst, steer_v6, 16) == 0);
}

static inline int steer_ref_below(struct steer_slice *s, struct steer_told *t, uint8_t dst[16],
				  uint16_t *udp, bool *in_udp)
{
	uint8_t protocol = 0;
	bool vlan = false;
	uint16_t type = iw_get_be16(s->p + 12);
	int pass = IW_XDP_PASS_ETHER;

	s->at = 14;
	for (int i = 0; i < STEER_VLANS; i++) {
		if (type != 0x8100 && type != 0x88a8 && type != 0x9100)
			break;
		if (!steer_has(s, 4))
			return pass;
		/* VLAN ID 0 means no VLAN: the tag only carries a priority (IEEE 802.1Q). */
		vlan |= (iw_get_be16(s->p + s->at) & 0xfff) != 0;
		type = iw_get_be16(s->p + s->at + 2);
		s->at += 4;
	}
	t->meta.ip = (uint16_t)s->at;
	if (type == 0x0800)
		pass = steer_ref_ipv4(s, dst, &protocol);
	else if (type == 0x86dd)
		pass = steer_ref_ipv6(s, dst, &protocol);
	if (pass >= 0)
		return pass;
	if (vlan)
		return IW_XDP_PASS_VLAN;
	if (type == 0x86dd)
		t->meta.flags |= IW_XDP_META_IPV6;
	if (protocol == 17) {
		size_t len;

		if (!steer_has(s, 8))
			return IW_XDP_PASS_UDP_BAD;
		len = iw_get_be16(s->p + s->at + 4);
		if (len < 8 || !steer_has(s, len))
			return IW_XDP_PASS_UDP_BAD;
		*udp = iw_get_be16(s->p + s->at + 2);
		*in_udp = true;
		t->meta.flags |= IW_XDP_META_UDP;
		s->end = s->at + len;
		s->at += 8;
	} else if (protocol != 132) {
		return IW_XDP_PASS_PROTOCOL;
	}
	return steer_has(s, IW_SCTP_HDR_LEN) ? -1 : IW_XDP_PASS_SCTP_SHORT;
}

/* @len is at least 14: the kernel rejects shorter frames. @linear: octets in the frame's first
 * buffer. */
static inline void steer_ref(struct steer_told *t, const uint8_t *frame, size_t len, size_t linear)
{
	struct steer_slice s = { frame, 0, len };
	struct iw_sctp_hdr h = { 0 };
	bool in_udp = false, known;
	uint8_t dst[16] = { 0 };
	uint16_t udp = 0;
	int pass;

	memset(t, 0, sizeof(*t));
	pass = steer_ref_below(&s, t, dst, &udp, &in_udp);
	if (pass < 0 && iw_wire_sctp_hdr_decode(&h, frame + s.at, s.end - s.at) != IW_SCTP_HDR_LEN)
		pass = IW_XDP_PASS_SCTP_SHORT;
	if (pass < 0 && !steer_ref_endpoint(dst, h.dport, in_udp, udp, &t->endpoint))
		pass = IW_XDP_PASS_ENDPOINT;
	if (pass >= 0) {
		t->count.passed[pass]++;
		return;
	}
	t->ours = true;
	t->count.packets++;
	t->count.octets += len;
	known = t->endpoint < 2 && (h.vtag == STEER_TAG || h.vtag == STEER_TAG2);
	if (known)
		t->meta.flags |= IW_XDP_META_ASSOC;
	else
		t->count.seen[IW_XDP_SEEN_NO_ASSOC]++;
	if (len > linear)
		t->count.seen[IW_XDP_SEEN_MULTI_BUFFER]++;
	t->meta.magic = IW_XDP_META_MAGIC;
	t->meta.sctp = (uint16_t)s.at;
	t->meta.sctp_len = (uint16_t)(s.end - s.at);
	t->meta.tag = h.vtag;
	steer_ref_chunks(t, &s, known);
}

/* --- the program ------------------------------------------------------------------------------- */

struct steer_rig {
	struct iw_steer *steer;
	int xsk;
	uint32_t worker, endpoint[4];
	struct iw_xdp_counters before;
};

static inline int steer_rig_socket(void)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), size = 64;

	if (fd >= 0 && setsockopt(fd, SOL_XDP, XDP_RX_RING, &size, sizeof(size)) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Registers the two associations of an endpoint, their sessions, and the STags. */
static inline int steer_rig_assocs(struct steer_rig *r, uint32_t endpoint, struct iw_fault *why)
{
	static const struct iw_xdp_home all = { .pd = 1 },
					one = { .pd = 1, .stream = 100 + STEER_ONE };
	int err = iw_steer_assoc_add(r->steer, endpoint, STEER_TAG, r->worker, why);

	if (!err)
		err = iw_steer_assoc_add(r->steer, endpoint, STEER_TAG2, r->worker, why);
	for (uint16_t i = 0; i < STEER_STREAMS && !err; i++) {
		const struct iw_xdp_home a = { .pd = 1, .stream = 100u + i };
		const struct iw_xdp_home b = { .pd = 2, .stream = 200u + i };

		err = iw_steer_session_add(r->steer, endpoint, STEER_TAG, i, &a);
		if (!err)
			err = iw_steer_session_add(r->steer, endpoint, STEER_TAG2, i, &b);
	}
	if (!err)
		err = iw_steer_stag_add(r->steer, endpoint, STEER_STAG, &all);
	return err ? err : iw_steer_stag_add(r->steer, endpoint, STEER_STAG + 1, &one);
}

static inline int steer_rig_endpoints(struct steer_rig *r, struct iw_fault *why)
{
	struct iw_addr none = { .len = 0 };
	struct iw_addr v4 = { .in = { .sin_family = AF_INET }, .len = sizeof(v4.in) };
	struct iw_addr v6 = { .in6 = { .sin6_family = AF_INET6 }, .len = sizeof(v6.in6) };
	const struct {
		const struct iw_addr *addr;
		uint16_t port, udp;
	} e[4] = { { &none, STEER_PORT, 0 },
		   { &none, STEER_PORT, STEER_UDP_PORT },
		   { &v4, STEER_HOST, 0 },
		   { &v6, STEER_HOST, 0 } };
	int err = 0;

	memcpy(&v4.in.sin_addr, steer_v4 + 12, 4);
	memcpy(&v6.in6.sin6_addr, steer_v6, 16);
	for (int i = 0; i < 4 && !err; i++)
		err = iw_steer_endpoint_add(r->steer, &r->endpoint[i], e[i].addr, e[i].port,
					    e[i].udp, r->worker, NULL, why);
	for (int i = 0; i < 2 && !err; i++)
		err = steer_rig_assocs(r, r->endpoint[i], why);
	return err;
}

/* Returns 0, or an error described by @why; then there is nothing to close. */
static inline int steer_rig_open(struct steer_rig *r, struct iw_fault *why)
{
	struct iw_steer_cfg cfg = { .interface = "lo", .load_only = true };
	int err;

	memset(r, 0, sizeof(*r));
	r->xsk = -1;
	err = iw_steer_open(&r->steer, &cfg, why);
	if (err)
		return err;
	r->xsk = steer_rig_socket();
	err = iw_steer_worker_add(r->steer, &r->worker, &r->xsk, 1, why);
	if (!err)
		err = steer_rig_endpoints(r, why);
	if (!err)
		err = iw_steer_counters(r->steer, &r->before);
	return err;
}

static inline void steer_rig_close(struct steer_rig *r)
{
	iw_steer_close(r->steer);
	if (r->xsk >= 0)
		close(r->xsk);
}

/* Runs the program @times times on a frame. Returns 0 or errno. @out: space for the frame and
 * IW_XDP_META_ROOM more. *ns: time of one run. */
static inline int steer_run(int prog, const uint8_t *frame, size_t len, uint8_t *out,
			    size_t *out_len, uint32_t *action, uint32_t times, uint32_t *ns)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.test.prog_fd = (uint32_t)prog;
	a.test.data_in = (uintptr_t)frame;
	a.test.data_size_in = (uint32_t)len;
	a.test.data_out = (uintptr_t)out;
	a.test.data_size_out = (uint32_t)*out_len;
	a.test.repeat = times;
	if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &a, sizeof(a)) < 0)
		return errno;
	*out_len = a.test.data_size_out;
	*action = a.test.retval;
	if (ns)
		*ns = a.test.duration;
	return 0;
}

#define STEER_FRAME_MAX 16000
/* The octets of the first buffer that the kernel passes to a program run like this. */
static inline size_t steer_linear(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = page - 256 - 320;

	return len < room ? len : room;
}

static inline bool steer_complain(const char *what, const uint8_t *frame, size_t len)
{
	fprintf(stderr, "the program and the reference differ: %s\nframe, %zu octets:", what, len);
	for (size_t i = 0; i < len && i < 400; i++)
		fprintf(stderr, "%s%02x", i % 32 ? "" : "\n", frame[i]);
	fprintf(stderr, "\n");
	return false;
}

/* Returns true if program and reference agree: on the destination, the unchanged frame, its
 * metadata, and every counter. */
static inline bool steer_agree(struct steer_rig *r, const uint8_t *frame, size_t len)
{
	static uint8_t out[STEER_FRAME_MAX + sizeof(struct iw_xdp_meta)];
	struct iw_xdp_counters now;
	const uint64_t *a = (const uint64_t *)&r->before, *b = (const uint64_t *)&now;
	size_t out_len = sizeof(out), front = 0;
	struct iw_xdp_meta meta;
	struct steer_told t;
	uint32_t action = 0;
	char what[80];

	if (len < 14 || len > STEER_FRAME_MAX)
		return true;
	steer_ref(&t, frame, len, steer_linear(len));
	if (steer_run(iw_steer_prog_fd(r->steer), frame, len, out, &out_len, &action, 1, NULL) != 0)
		return steer_complain("it could not be run", frame, len);
	if (iw_steer_counters(r->steer, &now) != 0)
		return steer_complain("no counters", frame, len);
	if (action != (t.ours ? XDP_REDIRECT : XDP_PASS))
		return steer_complain("where it goes", frame, len);
	if (t.ours) {
		front = sizeof(meta);
		t.meta.endpoint = r->endpoint[t.endpoint];
		memcpy(&meta, out, sizeof(meta));
		if (memcmp(&meta, &t.meta, sizeof(meta)) != 0)
			return steer_complain("metadata", frame, len);
	}
	if (out_len != front + len || memcmp(out + front, frame, len) != 0)
		return steer_complain("the frame was changed", frame, len);
	for (size_t i = 0; i < sizeof(now) / sizeof(*b); i++)
		if (b[i] - a[i] != ((const uint64_t *)&t.count)[i]) {
			snprintf(what, sizeof(what), "counter %zu: %llu, expected %llu", i,
				 (unsigned long long)(b[i] - a[i]),
				 (unsigned long long)((const uint64_t *)&t.count)[i]);
			return steer_complain(what, frame, len);
		}
	r->before = now;
	return true;
}

/* --- frames ------------------------------------------------------------------------------------ */

struct steer_frame {
	uint8_t p[STEER_FRAME_MAX];
	size_t len, ip, l4, sctp; /* offsets of the headers; l4: the UDP header, if present */
	uint8_t family;           /* 4 or 6 */
};

static inline void steer_put(struct steer_frame *f, const void *p, size_t len)
{
	if (len > sizeof(f->p) - f->len)
		len = sizeof(f->p) - f->len;
	memcpy(f->p + f->len, p, len);
	f->len += len;
}

/* Begins a frame: Ethernet with that many priority tags (VLAN ID 0), and an IP header with IPv4
 * options (in octets, a multiple of 4) or IPv6 destination options (a number of headers).
 * steer_finish() sets the lengths. */
static inline void steer_begin(struct steer_frame *f, uint8_t family, unsigned vlans,
			       unsigned options, bool udp)
{
	static const uint8_t mac[12] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2 };
	static const uint8_t vlan[2][4] = { { 0x81, 0, 0xe0, 0 }, { 0x88, 0xa8, 0x30, 0 } };
	uint8_t protocol = udp ? 17 : 132;
	uint8_t type[2] = { family == 4 ? 0x08 : 0x86, family == 4 ? 0x00 : 0xdd };

	memset(f, 0, sizeof(*f));
	f->family = family;
	steer_put(f, mac, sizeof(mac));
	for (unsigned i = 0; i < vlans; i++)
		steer_put(f, vlan[i + 1 < vlans], 4);
	steer_put(f, type, 2);
	f->ip = f->len;
	if (family == 4) {
		uint8_t h[60] = { [0] = (uint8_t)(0x45 + options / 4), [8] = 64, [9] = protocol };

		memcpy(h + 12, "\x0a\x4d\x00\x02", 4);
		memcpy(h + 16, steer_v4 + 12, 4);
		memset(h + 20, 1, options);
		steer_put(f, h, 20 + options);
	} else {
		uint8_t h[40] = { [0] = 0x60, [6] = options ? 60 : protocol, [7] = 64 };

		memcpy(h + 8, steer_v6, 16);
		h[23] = 2;
		memcpy(h + 24, steer_v6, 16);
		steer_put(f, h, sizeof(h));
		for (unsigned i = 0; i < options; i++) {
			uint8_t o[8] = { i + 1 < options ? 60 : protocol, 0, 1, 4 };

			steer_put(f, o, sizeof(o));
		}
	}
	f->l4 = f->len;
	if (udp) {
		uint8_t h[8] = { 0x26, 0xab };

		iw_put_be16(h + 2, STEER_UDP_PORT);
		steer_put(f, h, sizeof(h));
	}
}

static inline void steer_sctp(struct steer_frame *f, uint16_t dport, uint32_t tag)
{
	uint8_t h[12] = { 0xc0, 1 };

	f->sctp = f->len;
	iw_put_be16(h + 2, dport);
	iw_put_be32(h + 4, tag);
	steer_put(f, h, sizeof(h));
}

/* Adds a DATA chunk with a DDP segment of that payload. */
static inline void steer_segment(struct steer_frame *f, bool tagged, uint32_t stag, uint16_t stream,
				 size_t payload)
{
	static const uint8_t zeroes[16384];
	uint8_t h[16 + 2 + IW_DDP_HDR_MAX];
	struct iw_ddp ddp = { .tagged = tagged,
			      .last = true,
			      .dv = 1,
			      .rv = 1,
			      .stag = stag,
			      .opcode = tagged ? IW_OP_WRITE : IW_OP_SEND,
			      .msn = 1 };
	size_t hdr = iw_ddp_hdr_len(tagged);
	struct iw_sctp_data d = {
		.tsn = 1, .stream = stream, .ppid = IW_SCTP_PPID_SEGMENT, .len = 2 + hdr + payload
	};

	if (iw_wire_sctp_data_encode(h, sizeof(h), 7, &d) != 16 ||
	    iw_wire_sctp_segment_encode(h + 16, 2, 0) != 2 ||
	    iw_wire_ddp_encode(h + 18, sizeof(h) - 18, &ddp) <= 0)
		abort();
	steer_put(f, h, 18 + hdr);
	steer_put(f, zeroes, payload + iw_sctp_pad(d.len));
}

static inline void steer_chunk(struct steer_frame *f, uint8_t type, uint8_t flags,
			       const void *value, size_t len)
{
	static const uint8_t zeroes[4];
	uint8_t h[4] = { type, flags };

	iw_put_be16(h + 2, (uint16_t)(len + 4));
	steer_put(f, h, 4);
	steer_put(f, value, len);
	steer_put(f, zeroes, iw_sctp_pad(len));
}

/* Sets the lengths of IP and UDP. */
static inline void steer_finish(struct steer_frame *f)
{
	size_t hdr = f->family == 4 ? 0 : 40;

	iw_put_be16(f->p + f->ip + (f->family == 4 ? 2 : 4), (uint16_t)(f->len - f->ip - hdr));
	if (f->sctp == f->l4 + 8)
		iw_put_be16(f->p + f->l4 + 4, (uint16_t)(f->len - f->l4));
}

#endif
