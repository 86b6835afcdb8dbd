/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words that both halves of the lab use: a registered buffer, an access, and the verdict on it. */
#ifndef SECURITY_H
#define SECURITY_H

#include <stdint.h>

/* What a peer may do to a registered buffer. A buffer has a set of these. */
enum right {
	REMOTE_READ = 1,  /* the peer's RDMA Reads may take octets from it */
	REMOTE_WRITE = 2, /* the peer's RDMA Writes may place octets in it */
};

/*
 * A registered buffer. pd and stream limit its scope (RFC 5042 2.2.5). They are numbers of the
 * server: a peer never sees them, and no segment carries them.
 */
struct region {
	uint32_t pd;     /* protection domain: streams of no other domain may use the buffer */
	uint32_t stream; /* the only stream that may use the buffer; 0: all streams of pd */
	uint32_t rights; /* set of enum right */
	uint32_t len;    /* octets */
	uint64_t to;     /* Tagged Offset of the first octet */
	uint64_t base;   /* position of the first octet in the memory of the server */
};

/* One RDMA Write segment or one RDMA Read Request, as the server sees it. */
struct access {
	uint32_t pd, stream; /* of the stream on which it arrived */
	enum right right;    /* REMOTE_WRITE: an RDMA Write; REMOTE_READ: an RDMA Read Request */
	uint32_t stag;
	uint64_t to;  /* Tagged Offset of the first octet */
	uint32_t len; /* octets to place or to read */
};

/*
 * The first number is ours. The others stand for the errors of RFC 5040 4.8 (error type 1, Remote
 * Protection Error), whose codes are in the comments.
 */
enum verdict {
	ALLOWED,
	INVALID_STAG,      /* 0x00: not registered, or no longer */
	NOT_ASSOCIATED,    /* 0x03: the buffer belongs to another protection domain or stream */
	ACCESS_RIGHTS,     /* 0x02: the buffer lacks the right */
	TO_WRAP,           /* 0x04: to + len is 2^64 or more */
	BASE_OR_BOUNDS,    /* 0x01: an octet lies outside of the buffer */
	CANNOT_INVALIDATE, /* 0x09: the buffer is shared by several streams */
};

#endif
