// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rules over hostile frames and datagrams. The first octet selects the rules. Each item after it is a
 * frame: any octets; a TCP segment, with a start-up frame, an FPDU or any octets at any place of the
 * stream; or an SCTP packet with any chunks. With the highest bit of the first octet, all items are
 * SCTP packets in datagrams. What is unchanged is the same as before; what is changed is not longer.
 */
#include <stdlib.h>

#include "ddp-impair/packets/table.h"
#include "fuzz/input.h"
#include "fuzz/property.h"
#include "impair_maker.h"
#include "packet/packet.h"

/* Copies n octets of the input, or the rest of it, and returns their number. */
static size_t copy(struct input *in, uint8_t *dst, size_t n)
{
	const uint8_t *p = take(in, &n);

	if (n > 0)
		memcpy(dst, p, n);
	return n;
}

static const char *const rules[] = {
	"fpdu: flip-bit any\nchunk: flip-bit any\npacket: flip-bit header\noctets: flip-bit any",
	"fpdu every=2: flip-bit payload fix-crc\nchunk every=2: flip-bit payload fix-crc",
	"fpdu: set stag=7 fix-crc\nchunk: set tsn=5 fix-crc\nmpa-reply: set m=1\nmpa-request: set c=1",
	"fpdu: swap-words fix-crc\nchunk: swap-words\nfpdu every=3: drop\nchunk every=3: drop",
	"fpdu prob=50%: reorder 1\npacket prob=50%: reorder 2\nfpdu prob=50%: duplicate\nchunk: delay 1ms",
	"packet nth=9: stall 1ms\nfpdu nth=9: discard\nchunk opcode=write len=20..60: drop",
	"fpdu stag=0x1234: flip-bit trailer fix-crc\nchunk stream=3: drop\nmpa-request: flip-bit any",
};

static const char *const datagram_rules[] = {
	"packet: truncate 0..200\nchunk: truncate 0..80 fix-length\nchunk every=2: drop",
	"packet: truncate 10..60 fix-length\nchunk: set chunk.length=3 fix-crc\nchunk: truncate 3..9",
	"chunk: set length=7 fix-crc\nchunk: truncate 0..99 fix-length\nchunk: flip-bit any\npacket: swap-words",
	"chunk: truncate 0..40\nchunk: set tsn=5\nchunk: set a-rwnd=0 fix-crc\npacket: inject 00 after",
	"packet prob=50%: duplicate 9\noctets: truncate 3\nchunk opcode=data: drop\nchunk: swap-words fix-crc",
};

static struct impair_maker m;
static struct iw_flows *flows;

/* A buffer of exactly that size, so that a sanitizer detects accesses beyond it. */
static void pass(const uint8_t *frame, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);
	struct iw_fate fate;

	must(exact);
	memcpy(exact, frame, len);
	(void)iw_flows_frame(flows, exact, len, 0, &fate);
	must(fate.len <= len);
	must(fate.changed || (fate.len == len && memcmp(exact, frame, len) == 0));
	free(exact);
}

static size_t stream_octets(struct input *in, uint8_t *p, unsigned from, uint8_t what)
{
	switch (what & 3) {
	case 0:
		return impair_mpa_frame(p, from, u8(in));
	case 1:
		return impair_fpdu(p, u8(in), u8(in) * 4u);
	default:
		return copy(in, p, u8(in));
	}
}

static void pass_segment(struct input *in, uint32_t seq[2])
{
	static uint8_t payload[2000], frame[2200];
	uint8_t what = u8(in);
	unsigned from = what >> 7;
	size_t n = stream_octets(in, payload, from, what);
	uint32_t at = seq[from];

	/* Before or after its place. */
	if (what & 0x10)
		at += (uint32_t)(int8_t)u8(in);
	/* Only a part of it. */
	if (what & 0x20)
		n = IW_MIN(n, u8(in));
	pass(frame, impair_frame(frame, what & 4, from, 6, 7471, at,
				 what & 8 ? IW_TCP_SYN : IW_TCP_ACK, payload, n));
	if (!(what & 0x10))
		seq[from] += (uint32_t)n;
}

static size_t make_packet(struct input *in, uint8_t *packet, uint8_t what)
{
	size_t n = IW_SCTP_HDR_LEN;

	memset(packet, 0, n);
	if (what & 1)
		n = impair_packet(packet, u8(in));
	n += copy(in, packet + n, u8(in));
	impair_seal(packet, n);
	return n;
}

static void pass_packet(struct input *in)
{
	static uint8_t packet[600], frame[800];
	uint8_t what = u8(in);
	size_t n = make_packet(in, packet, what);

	pass(frame,
	     impair_frame(frame, what & 4, what >> 7, what & 2 ? 132 : 17, 9899, 0, 0, packet, n));
}

static void pass_datagram(struct input *in, struct iw_flow *flow)
{
	static uint8_t packet[600];
	uint8_t what = u8(in);
	size_t n = what & 2 ? copy(in, packet, u8(in)) : make_packet(in, packet, what);
	uint8_t *exact = malloc(n ? n : 1);
	struct iw_fate fate;

	must(exact);
	memcpy(exact, packet, n);
	iw_flow_datagram(flow, what >> 7, exact, n, 0, &fate);
	must(fate.len <= n);
	must(fate.changed || (fate.len == n && memcmp(exact, packet, n) == 0));
	free(exact);
}

static void run_frames(struct input *in)
{
	static uint8_t frame[300];
	uint32_t seq[2] = { 0xffffff00u, 5 };

	must(iw_flows_new(&flows, &m.cfg) == 0);
	while (in->len > 0) {
		switch (u8(in) % 3) {
		case 0:
			pass(frame, copy(in, frame, u8(in)));
			break;
		case 1:
			pass_segment(in, seq);
			break;
		default:
			pass_packet(in);
			break;
		}
	}
	iw_flows_free(flows);
}

static void run_datagrams(struct input *in)
{
	struct iw_flow flow;

	must(iw_flow_init(&flow, &m.cfg, 1, 0) == 0);
	while (in->len > 0)
		pass_datagram(in, &flow);
	iw_flow_fini(&flow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { data, len };
	uint8_t how = u8(&in);

	if (how & 0x80) {
		impair_init(&m, IW_RULE_UDP, 1, datagram_rules[how % IW_ARRAY_LEN(datagram_rules)]);
		run_datagrams(&in);
	} else {
		impair_init(&m, IW_RULE_FRAMES, 1, rules[how % IW_ARRAY_LEN(rules)]);
		run_frames(&in);
	}
	impair_fini(&m);
	return 0;
}
