/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 9: frames for the student's steering program, and what it must do with them.
 *
 * A recipe describes a frame; xdp_build() writes it. xdp_judge() parses a frame octet by octet, and
 * shares no code with any steering program.
 */
#ifndef LABS_GRADER_XDP_FRAME_H
#define LABS_GRADER_XDP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As in labs/09-xdp/steer.h. */
enum xdp_counter {
	XDP_TAGGED,
	XDP_UNTAGGED,
	XDP_PART,
	XDP_MALFORMED,
	XDP_NOT_IP,
	XDP_VLANS,
	XDP_FRAGMENT,
	XDP_EXTENSIONS,
	XDP_NOT_SCTP,
	XDP_NO_DATA,
	XDP_NOT_SEGMENT,
	XDP_UNKNOWN,
	XDP_NO_SOCKET,
	XDP_COUNTERS,
	XDP_NONE = XDP_COUNTERS, /* no counter, or several */
};
enum { XDP_SLOTS = 16, XDP_QUEUES = 4, XDP_ENTRIES = XDP_SLOTS * XDP_QUEUES };
enum { XDP_UDP_PORT = 9899, XDP_PPID_SEGMENT = 16, XDP_PPID_CONTROL = 17 };

/* The names in steer.h; that of XDP_NONE is "no counter". */
extern const char *const xdp_counter_names[XDP_COUNTERS + 1];

/* --- the maps --- */

struct xdp_stream {
	uint32_t tag;
	uint16_t port, stream;
	uint32_t slot;
};
struct xdp_tables {
	struct xdp_stream streams[64];
	size_t n;
	bool socket[XDP_ENTRIES];
};

/* --- frames --- */

enum { XDP_FRAME_MAX = 3200 };

struct xdp_frame {
	uint8_t at[XDP_FRAME_MAX];
	size_t len;
	/* Offsets: the IP header, its payload (after extension headers), the SCTP header, chunks. */
	size_t ip, payload, sctp, chunks;
};

struct xdp_chunks {
	uint8_t at[2048];
	size_t len;
};
/* Appends a chunk with its padding. value NULL: zeroes. */
void xdp_chunk(struct xdp_chunks *c, uint8_t type, uint8_t flags, const void *value, size_t len);
/* Appends a DATA chunk with this user data. */
void xdp_data(struct xdp_chunks *c, uint8_t flags, uint16_t stream, uint32_t ppid, const void *user,
	      size_t len);
enum { XDP_DATA_E = 1, XDP_DATA_B = 2, XDP_DATA_WHOLE = 3 };

struct xdp_recipe {
	uint16_t number; /* the end of the source address of Ethernet, to recognise the frame */
	unsigned vlans;
	struct {
		uint16_t type, control;
	} vlan[4];
	uint16_t type; /* 0: that of IP */
	bool v6;
	unsigned options;  /* IPv4: words of 4 octets */
	uint16_t fragment; /* IPv4: flags and offset */
	unsigned extensions;
	struct {
		uint8_t next, len; /* kind; in units of 8 octets after the first 8 */
		uint16_t fragment;
	} extension[6];
	uint8_t protocol; /* 0: UDP or SCTP */
	bool udp;
	uint16_t udp_source, udp_port; /* 0: 9899 */
	uint16_t port;
	uint32_t tag;
	const struct xdp_chunks *chunks;
	const uint8_t *noise;   /* octets of options and extension headers, 2048 of them */
	const uint8_t *trailer; /* after the IP packet */
	size_t trailer_len;
};

void xdp_build(struct xdp_frame *f, const struct xdp_recipe *r);
/* Makes the frame end at `end`, and the lengths of IP and UDP agree with that. */
void xdp_cut(struct xdp_frame *f, const struct xdp_recipe *r, size_t end);

struct xdp_verdict {
	enum xdp_counter counter;
	uint32_t entry; /* of a redirection */
};
static inline bool xdp_redirects(enum xdp_counter c)
{
	return c <= XDP_PART;
}
struct xdp_verdict xdp_judge(const struct xdp_tables *t, const uint8_t *frame, size_t len,
			     uint32_t queue);

#endif
