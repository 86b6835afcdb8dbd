/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface of the steering program: its maps, its counters, and the headers that it reads.
 *
 * The program runs for every frame that an interface receives, before the kernel's network stack
 * (XDP). It recognises SCTP packets that carry DDP segments (RFC 5043) of registered streams, and
 * redirects their frames to an AF_XDP socket, from which a user-space RDMA engine reads them. The
 * kernel gets all other frames, unchanged.
 *
 * The same file steer.bpf.c is compiled twice: by clang for the kernel, and by gcc as an ordinary
 * program with native_bpf.h, which you can debug. Values of maps are in host byte order, fields of
 * headers in network byte order (big-endian): convert with bpf_ntohs() and bpf_ntohl().
 */
#ifndef STEER_H
#define STEER_H

#ifdef __bpf__
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#else
#include "native_bpf.h"
#endif

#define SCTP_UDP_PORT 9899 /* RFC 6951 5.1: the registered UDP port for SCTP */
#define PPID_SEGMENT  16   /* RFC 5043 5.2: the DATA chunk contains a DDP segment */
#define PPID_CONTROL  17   /* RFC 5043 5.2: the DATA chunk contains session control */

/* Limits of the program. The verifier needs a limit for each loop. */
#define VLANS_MAX      2 /* VLAN tags of a frame */
#define EXTENSIONS_MAX 4 /* IPv6 extension headers of a packet */
#define CHUNKS_MAX     8 /* chunks of an SCTP packet that are examined */

/* --- maps: the user-space program and this program share them --------------------------------- */

/* A registered stream. Without padding: the kernel compares keys octet by octet. */
struct stream_key {
	__u32 tag;    /* Verification Tag of packets to this host */
	__u16 port;   /* SCTP destination port */
	__u16 stream; /* SCTP stream identifier */
};

/* Value: the slot of the AF_XDP socket that receives the stream's segments. */
struct streams_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct stream_key);
	__type(value, __u32);
};

/*
 * The AF_XDP sockets. A socket accepts only frames that arrived on its own receive queue of the
 * interface, so a slot has one entry for each queue: entry = queue * SLOTS + slot.
 */
#define SLOTS   16
#define QUEUES  4
#define ENTRIES (SLOTS * QUEUES)
struct xsks_map {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, ENTRIES);
	__type(key, __u32);
	__type(value, __u32);
};

/* What the program did with a frame, and why. */
enum counter {
	/* Redirected. The kind is that of the first DATA chunk: */
	REDIRECTED_TAGGED,   /* a tagged DDP segment */
	REDIRECTED_UNTAGGED, /* an untagged DDP segment */
	REDIRECTED_PART,     /* no DDP header in it: not a first fragment, or too short */
	/* Passed to the kernel: */
	PASSED_MALFORMED,   /* a header ends after the frame, or has a field that cannot be right */
	PASSED_NOT_IP,      /* neither IPv4 nor IPv6 */
	PASSED_VLANS,       /* more than VLANS_MAX VLAN tags */
	PASSED_FRAGMENT,    /* a fragment of an IP datagram */
	PASSED_EXTENSIONS,  /* more than EXTENSIONS_MAX IPv6 extension headers */
	PASSED_NOT_SCTP,    /* neither SCTP nor UDP to SCTP_UDP_PORT */
	PASSED_NO_DATA,     /* no DATA chunk among the first CHUNKS_MAX chunks */
	PASSED_NOT_SEGMENT, /* the first DATA chunk contains no DDP segment */
	PASSED_UNKNOWN,     /* its stream is not registered */
	PASSED_NO_SOCKET,   /* no socket in the slot, for the queue of the frame */
	COUNTERS,
};

/*
 * Entry: enum counter. Value: number of frames. Each frame adds 1 to exactly one entry. Each CPU
 * has its own copy of the values, so that no atomic operation is necessary.
 */
struct counters_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
};

/* --- headers, as on the wire ------------------------------------------------------------------ */

#define TYPE_IPV4    0x0800
#define TYPE_IPV6    0x86dd
#define TYPE_VLAN    0x8100 /* IEEE 802.1Q */
#define TYPE_SERVICE 0x88a8 /* IEEE 802.1ad, the outer of two tags */
struct ethernet_header {
	__u8 destination[6], source[6];
	__be16 type;
};
/* Between the addresses and the type; its own type says what follows. */
struct vlan_tag {
	__be16 control, type;
};

#define PROTOCOL_UDP  17
#define PROTOCOL_SCTP 132
/* RFC 791 3.1 */
struct ipv4_header {
	__u8 version_ihl; /* version: upper 4 bits; IHL, in units of 4 octets: lower 4 bits */
	__u8 tos;
	__be16 total; /* octets of the packet, beginning with this header */
	__be16 id;
	__be16 fragment; /* flags: 0x4000 DF, 0x2000 MF; offset: 0x1fff */
	__u8 ttl, protocol;
	__be16 checksum;
	__u8 source[4], destination[4];
};

/* RFC 8200 3 */
struct ipv6_header {
	__be32 version; /* in its upper 4 bits */
	__be16 payload; /* octets after this header */
	__u8 next, hops;
	__u8 source[16], destination[16];
};

/* RFC 8200 4: values of `next` for the extension headers that the program skips */
#define NEXT_HOP_BY_HOP  0
#define NEXT_FRAGMENT    44
#define NEXT_DESTINATION 60
/* The first octets of an extension header. A fragment header always has 8 octets, whatever its
 * second octet, which is reserved. */
struct extension_header {
	__u8 next;
	__u8 len;        /* in units of 8 octets, without the first 8 */
	__be16 fragment; /* of a fragment header only: offset 0xfff8, M flag 0x0001 */
	__be32 more;
};

struct udp_header {
	__be16 source, destination;
	__be16 len; /* octets, including this header */
	__be16 checksum;
};

/* RFC 9260 3.1 */
struct sctp_header {
	__be16 source, destination;
	__be32 tag, checksum;
};

#define CHUNK_DATA     0
#define DATA_BEGINNING 0x02 /* the B flag: first fragment of a user message, or all of it */
/* RFC 9260 3.2: each chunk is padded to a multiple of 4 octets, and its length excludes the padding. */
struct chunk_header {
	__u8 type, flags;
	__be16 len; /* octets, including this header */
};
/* RFC 9260 3.3.1 */
struct data_chunk {
	struct chunk_header chunk;
	__be32 tsn;
	__be16 stream, ssn;
	__be32 ppid;
};

#define DDP_TAGGED 0x80
/* RFC 5043 5.2: what follows in a DATA chunk with a DDP segment. RFC 5041 4.1: the T flag. */
struct ddp_start {
	__u8 ddp_ssn[2];
	__u8 control; /* DDP_TAGGED: tagged */
};

/* --- the program ------------------------------------------------------------------------------ */

/*
 * Decides about a frame, whose octets are from ctx->data to before ctx->data_end. Adds 1 to one
 * counter. Returns XDP_PASS, or what bpf_redirect_map() returns for a frame to redirect. Changes
 * nothing in the frame.
 */
int steer(struct xdp_md *ctx);

#ifndef __bpf__
extern struct streams_map streams;
extern struct xsks_map xsks;
extern struct counters_map counters;
#endif

#endif
