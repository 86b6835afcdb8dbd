// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The generating program: makes frames faster than a sender could, to measure receivers. When run
 * on live frames (BPF_F_TEST_XDP_LIVE_FRAMES), it turns each frame into the next tagged segment of
 * a DDP stream and sends it through the interface of the run.
 *
 * TSN, DDP-SSN and TO increase from segment to segment. The checksum comes from tables, because
 * CRC32c is linear: it is that of the packet with zeroes in these fields, XORed with what each of
 * their octets adds.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "xdp/shared.h"

/* Offsets from the SCTP common header. The DATA chunk follows it: chunk header, DDP-SSN, and the
 * DDP header with control octets, STag and TO. */
#define CRC_AT 8
#define TSN_AT 16
#define SSN_AT 28
#define TO_AT  36

const volatile struct iw_xdp_generate cfg;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} counter SEC(".maps");

/* The fields of the next segment, and the segments sent. One CPU at a time runs the program. */
__u64 sent;
__u32 tsn;
__u16 ssn;
__u64 to, slot;

/* Returns what a field adds to the checksum; its first octet has the table cfg.crc[row]. */
static __always_inline __u32 adds(__u32 row, __u64 value, int octets)
{
	__u32 crc = 0;

#pragma unroll
	for (int i = 0; i < octets; i++)
		crc ^= cfg.crc[row + i][value >> (8 * (octets - 1 - i)) & 0xff];
	return crc;
}

SEC("xdp")
int iw_generate(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u8 *sctp = data + IW_XDP_GENERATE_AT;
	__u64 at = to, *arrived;
	__u32 crc, zero = 0;

	/* While the receiver has no room, make no segment, so that none is lost. */
	arrived = bpf_map_lookup_elem(&counter, &zero);
	if (!arrived || sent - *(volatile __u64 *)arrived >= cfg.ahead ||
	    (void *)(sctp + TO_AT + 8) > end)
		return XDP_DROP;
	sent++;
	crc = cfg.base ^ adds(0, tsn, 4) ^ adds(4, ssn, 2) ^ adds(6, at, 8);
	*(__u32 *)(sctp + TSN_AT) = bpf_htonl(tsn);
	*(__u16 *)(sctp + SSN_AT) = bpf_htons(ssn);
	*(__u32 *)(sctp + TO_AT) = bpf_htonl((__u32)(at >> 32));
	*(__u32 *)(sctp + TO_AT + 4) = bpf_htonl((__u32)at);
	sctp[CRC_AT] = (__u8)crc;
	sctp[CRC_AT + 1] = (__u8)(crc >> 8);
	sctp[CRC_AT + 2] = (__u8)(crc >> 16);
	sctp[CRC_AT + 3] = (__u8)(crc >> 24);
	tsn++;
	ssn++;
	if (++slot < cfg.slots) {
		to = at + cfg.payload;
	} else {
		slot = 0;
		to = cfg.to;
	}
	return XDP_TX;
}

char _license[] SEC("license") = "Dual BSD/GPL";
