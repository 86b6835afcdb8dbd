/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Does in software what the sender's kernel left to an offload of its interface: completes a
 * checksum, and divides data that is larger than the MTU into the frames that a network card would
 * transmit.
 *
 * Trusts nothing. No state beyond the struct, no system call.
 */
#ifndef IW_DDP_IMPAIR_PACKETS_OFFLOAD_H
#define IW_DDP_IMPAIR_PACKETS_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum iw_offload_kind {
	IW_OFFLOAD_NONE, /* the data is one frame */
	IW_OFFLOAD_TCP,
	IW_OFFLOAD_UDP,
	IW_OFFLOAD_OTHER, /* not known */
};

/* What was left to the interface. */
struct iw_offload_work {
	enum iw_offload_kind kind;
	uint16_t size; /* octets of payload in each frame but the last */
	bool ecn;      /* TCP: CWR is set on the first frame only (RFC 3168 6.1.2) */
	bool checksum; /* of all octets from start; its field is at start + field */
	uint16_t start, field;
};

/* Data that becomes one or more frames. */
struct iw_offload {
	uint8_t *data; /* borrowed */
	size_t len;
	/* Offsets in data. TCP and UDP begin at transport, the payload that is divided at payload. */
	size_t ip, transport, payload;
	size_t size;     /* of the payload of each frame but the last; 0: data is one frame */
	size_t next;     /* offset of the payload of the next frame; len: none is left */
	uint16_t number; /* of the next frame, from 0 */
	bool v6, udp, ecn;
};

/*
 * Begins with len octets at data, of which *w is left to do; data must stay until the last frame.
 * Completes the checksum in place if data is one frame. False: no such frame can exist, or an
 * offload that is not known, for example that of a tunnel.
 */
bool iw_offload_begin(struct iw_offload *o, const struct iw_offload_work *w, uint8_t *data,
		      size_t len);

/*
 * Returns the next frame, *len octets, or NULL after the last one. The frame is in o->data or in
 * room; it is valid until the next call, and may be changed. room has as many octets as o->data.
 */
uint8_t *iw_offload_next(struct iw_offload *o, uint8_t *room, size_t *len);

#endif
