/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Control messages: one CBOR map each, in one RDMAP Send (man/ddp-transfer.7). Which messages there are, who may send them, and what
 * their entries hold stands in two tables; encoding and decoding both go by them.
 */
#ifndef IW_XFER_MSG_H
#define IW_XFER_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "cbor/cbor.h"
#include "transfer/protocol/hello.h"

/* Numbers below 128 are part of the version: one that is not known is a protocol error. From 128
 * on they may be passed over. */
enum iw_xmsg_type {
	IW_XMSG_NOP = 0,     /* credit, a sign of life, and what has arrived */
	IW_XMSG_OPEN = 1,    /* the initiator's first message: what it wants */
	IW_XMSG_GET = 2,     /* sink: paths to be sent (pull) */
	IW_XMSG_FILES = 3,   /* source: announces files */
	IW_XMSG_GO = 4,      /* sink: these are wanted */
	IW_XMSG_WANT = 5,    /* source, mode write: asks for windows over these ranges */
	IW_XMSG_GRANT = 6,   /* sink, mode write: windows */
	IW_XMSG_DONE = 7,    /* source: chunks that are all there; files that have ended */
	IW_XMSG_OFFER = 8,   /* source, mode read: chunks that can be read */
	IW_XMSG_RELEASE = 9, /* sink, mode read: offers that are not needed any more */
	IW_XMSG_RESULT = 10, /* sink: what became of files */
	IW_XMSG_BYE = 11,    /* source: that was all; sink: agreed */
	IW_XMSG_ABORT = 12,  /* either: the transfer is given up */
	IW_XMSG_HAVE = 13,   /* sink, before GO: chunks that it holds from an earlier transfer */
	IW_XMSG_ATTRS =
		14, /* source: extended attributes of the file that it announces next, when they are many */
	IW_XMSG_GONE = 15,   /* sink, before BYE: names that were removed, or would be */
	IW_XMSG_REMOVE = 16, /* source, before BYE: the names that may be removed */
	IW_XMSG_COUNT
};
#define IW_XMSG_OPTIONAL 128u
const char *iw_xmsg_name(uint32_t type);

/* Keys of every message. */
#define IW_XKEY_TYPE   0
#define IW_XKEY_CREDIT 1 /* messages that the peer may have sent in all, since the beginning */
#define IW_XKEY_SIZE                                                                               \
	2 /* with FROM: from that message on, counted from 1, receives have this many octets */
#define IW_XKEY_FROM    3
/* Of a sink: octets of files that have arrived on this connection. */
#define IW_XKEY_ARRIVED 7
/* Of a sink: octets stored on this connection that a later one need not move again. */
#define IW_XKEY_KEPT    8
#define IW_XKEY_BUSY    4  /* NOP: the speaker has work to do, and the peer waits for it */
#define IW_XKEY_ANSWER  5  /* NOP: the peer is to send a message at once */
#define IW_XKEY_TOTAL   6  /* NOP of a source: octets of all files that GET has requested so far */
#define IW_XKEY_PATHS   9  /* NOP of a source: number of the paths that TOTAL is about */
#define IW_XKEY_LIST    4  /* most messages: the entries */
#define IW_XKEY_ENDS    5  /* DONE: entries of files that have ended */
#define IW_XKEY_PATH    4  /* OPEN */
#define IW_XKEY_OPTS    5  /* OPEN: set of enum iw_xopt */
#define IW_XKEY_CONNS   6  /* OPEN: connections that make the transfer */
#define IW_XKEY_LAST    5  /* GET: no more paths follow */
#define IW_XKEY_FILES   4  /* BYE: files that have had a result */
#define IW_XKEY_FAILED  5  /* BYE: those of them that failed */
#define IW_XKEY_GONE    6  /* BYE of a sink: what was removed, or would be */
#define IW_XKEY_MADE    10 /* BYE of a sink: directories that did not exist before */
#define IW_XKEY_STAYED  9  /* BYE of a sink: names not removed because REMOVE does not have them */
#define IW_XKEY_CODE    4  /* ABORT */
#define IW_XKEY_TEXT    5  /* ABORT */

/* Keys of an entry: the same key means the same everywhere. */
enum iw_xfield {
	IW_XF_ID = 0,  /* the file's number: 1, 2, 3 ... in the order of announcement */
	IW_XF_OFF = 1, /* octet of the file */
	IW_XF_LEN = 2,
	IW_XF_STAG = 3, /* Tagged Offset is the offset in the file */
	IW_XF_DIGEST = 4,
	IW_XF_ZERO = 5, /* all octets are zero and have not been moved */
	IW_XF_SIZE = 6,
	IW_XF_CODE = 7, /* enum iw_xcode */
	IW_XF_TEXT = 8,
	IW_XF_NAME = 9,
	IW_XF_KIND = 10,
	IW_XF_MODE = 11,
	IW_XF_MTIME = 12, /* seconds */
	IW_XF_MTIME_NS = 13,
	IW_XF_TOP = 14,
	IW_XF_TARGET = 15, /* of a link */
	IW_XF_UID = 16,
	IW_XF_GID = 17,
	IW_XF_XATTR = 18,
	IW_XF_IDENT =
		19,      /* two files of the same name with another one of these are not the same */
	IW_XF_LIST = 20, /* of a pack */
	IW_XF_WANTED = 21, /* members of a pack: bit 7 of octet 0 is the first one's */
	IW_XF_CODES = 22,  /* members of a pack: an octet each */
	IW_XF_SHARE =
		23, /* several parts of one file, on several connections, have this in common */
	IW_XF_CHUNKS = 24, /* digests of chunks, one behind the other */
	IW_XF_DATA = 25,   /* octets of a file that are not in holes, at least */
	IW_XF_COUNT
};
#define IW_XBIT(f) (1u << (f))

struct iw_xentry {
	unsigned has; /* set of IW_XBIT(field) */
	uint32_t id;
	uint64_t off, len;
	uint32_t stag;
	struct iw_xdigest digest;
	bool zero;
	uint64_t size;
	uint32_t code;
	const char *text; /* not terminated */
	size_t text_len;
	const char *name; /* not terminated */
	size_t name_len;
	uint32_t kind, mode;
	int64_t mtime_s;
	uint32_t mtime_ns;
	bool top;
	const char *target; /* not terminated */
	size_t target_len;
	uint32_t uid, gid;
	const uint8_t *xattr, *ident, *list, *wanted, *codes, *chunks;
	size_t xattr_len, ident_len, list_len, wanted_len, codes_len, chunks_len;
	uint32_t share;
	uint64_t data;
};

/* Appends the fields in e->has. */
void iw_xentry_put(struct iw_cbor_out *o, const struct iw_xentry *e);

struct iw_xmsg {
	uint32_t type;
	uint64_t credit;
	bool resized; /* size and from are there */
	uint32_t size;
	uint64_t from;
	uint64_t arrived, kept; /* of a sink; 0 if it does not say */
	bool busy, answer;      /* NOP */
	uint64_t total, paths;  /* NOP of a source: see IW_XKEY_TOTAL; paths 0: it does not say */
	struct iw_cbor_rec rec;
};

/* IW_E_FORMAT, IW_E_TRUNC, IW_E_LIMIT: *why tells. Octets behind the map are a fault. The result
 * points into msg. */
IW_MUST_CHECK int iw_xmsg_decode(struct iw_xmsg *out, const uint8_t *msg, size_t len,
				 struct iw_fault *why);

/* The entries under key (LIST or ENDS), one call each. */
struct iw_xlist {
	struct iw_cbor_in in;
	size_t left;
	uint32_t type;
	bool ends;
};
/* An absent list is an empty one. */
IW_MUST_CHECK int iw_xlist_open(struct iw_xlist *l, const struct iw_xmsg *m, unsigned key,
				struct iw_fault *why);
/* 1: *out; 0: that was all; negative: *why. Fields that the message's row in the table demands
 * are there; strangers are passed over. */
IW_MUST_CHECK int iw_xlist_next(struct iw_xlist *l, struct iw_xentry *out, struct iw_fault *why);

/* The header of a data Send (mode send): octet 0 is 0, which no map begins with. */
void iw_xdata_encode(uint8_t hdr[static IW_XFER_DATA_HDR], uint32_t id, uint64_t off);
/* True when msg is one; the file's octets lie behind it. IW_E_FORMAT by *err when it only begins
 * like one. */
bool iw_xdata_decode(const uint8_t *msg, size_t len, uint32_t *id, uint64_t *off, int *err);

#endif
