/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FPDUs by RFC 5044 4, built octet by octet with a CRC32c bit by bit: slow and simple. It shares no
 * code with lib/mpa, so that both can be compared.
 */
#ifndef TESTS_MPA_REF_H
#define TESTS_MPA_REF_H

#include <stdbool.h>
#include <stdint.h>

#include "mpa_end.h"

static inline uint32_t ref_crc32c(const uint8_t *p, size_t len)
{
	uint32_t reg = 0xffffffff;

	while (len--) {
		reg ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			reg = reg >> 1 ^ (reg & 1 ? 0x82f63b78 : 0);
	}
	return ~reg;
}

/* Deviations of a sender from ours, valid or not. All zero: as ours. */
struct ref_odd {
	uint8_t pad;         /* value of the PAD octets */
	uint16_t reserved;   /* reserved field of each marker */
	uint16_t low_bits;   /* low bits of each FPDUPTR */
	unsigned bad_marker; /* number of a marker, from 1, with a wrong FPDUPTR */
	uint16_t length;     /* not 0: ULPDU_Length instead of the true one */
	bool zero_length;    /* ULPDU_Length 0 */
};

static inline void ref_marker(struct octets *out, size_t *seen, uint16_t ptr,
			      const struct ref_odd *odd)
{
	uint16_t v = (uint16_t)(++*seen == odd->bad_marker ? ptr + 4 : ptr) | odd->low_bits;
	uint8_t m[4] = { (uint8_t)(odd->reserved >> 8), (uint8_t)odd->reserved, (uint8_t)(v >> 8),
			 (uint8_t)v };

	octets_add(out, m, 4);
}

/* Appends the FPDU at position pos of the stream. */
static inline void ref_fpdu_odd(struct octets *out, uint64_t pos, bool markers, bool crc,
				const void *ulpdu, size_t len, const struct ref_odd *odd)
{
	const uint8_t *u = ulpdu;
	size_t start = out->len, head = 0, seen = 0, pad = (4 - (2 + len) % 4) % 4;
	uint16_t length = odd->zero_length ? 0 : odd->length ? odd->length : (uint16_t)len;
	uint8_t field[4];

	if (markers && pos % 512 == 0) {
		ref_marker(out, &seen, 0, odd);
		head = 4;
	}
	for (size_t i = 0; i < 2 + len + pad; i++) {
		size_t off = out->len - start;
		uint8_t octet = odd->pad;

		if (markers && off != head && (pos + off) % 512 == 0)
			ref_marker(out, &seen, (uint16_t)(off - head), odd);
		if (i < 2)
			octet = (uint8_t)(length >> (i ? 0 : 8));
		else if (i < 2 + len)
			octet = u[i - 2];
		octets_add(out, &octet, 1);
	}
	if (markers && (pos + (out->len - start)) % 512 == 0)
		ref_marker(out, &seen, (uint16_t)(out->len - start - head), odd);

	uint32_t sum = crc ? ref_crc32c(out->p + start, out->len - start) : 0;

	for (int i = 0; i < 4; i++)
		field[i] = (uint8_t)(sum >> 8 * i);
	octets_add(out, field, 4);
}

static inline void ref_fpdu(struct octets *out, uint64_t pos, bool markers, bool crc,
			    const void *ulpdu, size_t len)
{
	ref_fpdu_odd(out, pos, markers, crc, ulpdu, len, &(struct ref_odd){ 0 });
}

/*
 * Makes an end in full operation with the given CRC and markers in both directions, before anything
 * is sent or received. An initiator may send, a responder not yet.
 */
static inline void ref_open_full(struct mpa_end *e, bool initiator, bool crc, bool markers,
				 uint32_t large)
{
	struct iw_mpa_cfg cfg = mpa_cfg(initiator, 1);
	uint8_t flags = (uint8_t)((crc ? 0x40 : 0) | (markers ? 0x80 : 0));
	struct iw_mpa_frame f = { .kind = initiator ? IW_MPA_REPLY : IW_MPA_REQUEST,
				  .flags = flags,
				  .rev = 1 };
	uint8_t frame[64], block[IW_MPA_BLOCK_LEN] = { 'i', 'w', 'L', 1 };
	struct octets sink = { 0 };
	int len;

	if (large) {
		iw_put_be32(block + 4, large);
		f.pd = block;
		f.pd_len = sizeof(block);
	}
	cfg.crc = crc ? IW_CRC_WANTED : IW_CRC_OFF;
	cfg.markers = markers;
	cfg.max_ulpdu = large;
	mpa_end_open(e, cfg);
	len = iw_wire_mpa_frame_encode(frame, sizeof(frame), &f);
	mpa_end_feed(e, frame, (size_t)len, SIZE_MAX);
	mpa_end_drain(e, &sink);
	octets_free(&sink);
	octets_free(&e->log);
	e->units = e->reads = e->split_reads = 0;
}

#endif
