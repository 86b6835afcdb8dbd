/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Control messages: a CBOR map in an RDMAP Send (man/ddp-transfer.7). One table lists the messages
 * and the mandatory fields of their entries. The other lists the fields, their types and limits;
 * encoder and decoder both use it.
 */
#ifndef IW_TRANSFER_PROTOCOL_MSG_H
#define IW_TRANSFER_PROTOCOL_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "cbor/cbor.h"
#include "transfer/protocol/hello.h"

/* Unknown numbers below 128 are a protocol error; from 128 on they are ignored. */
enum iw_xfer_msg_type {
	IW_XFER_MSG_NOP = 0,     /* credit, a sign of life, and how much has arrived */
	IW_XFER_MSG_OPEN = 1,    /* the initiator's first message: what it requests */
	IW_XFER_MSG_GET = 2,     /* sink: requested paths (pull) */
	IW_XFER_MSG_FILES = 3,   /* source: announces files */
	IW_XFER_MSG_GO = 4,      /* sink: the files that it wants */
	IW_XFER_MSG_WANT = 5,    /* source, mode write: requests windows for these ranges */
	IW_XFER_MSG_GRANT = 6,   /* sink, mode write: windows */
	IW_XFER_MSG_DONE = 7,    /* source: complete chunks; files that have ended */
	IW_XFER_MSG_OFFER = 8,   /* source, mode read: chunks that can be read */
	IW_XFER_MSG_RELEASE = 9, /* sink, mode read: offers that it no longer needs */
	IW_XFER_MSG_RESULT = 10, /* sink: the results of files */
	IW_XFER_MSG_BYE = 11,    /* source: no more files; sink: confirms */
	IW_XFER_MSG_ABORT = 12,  /* either side ends the transfer early */
	IW_XFER_MSG_HAVE = 13,   /* sink, before GO: chunks that it has from an earlier transfer */
	/* source: extended attributes of the file announced next, if they are too long for FILES */
	IW_XFER_MSG_ATTRS = 14,
	IW_XFER_MSG_GONE = 15,   /* sink, before BYE: names that were or would be removed */
	IW_XFER_MSG_REMOVE = 16, /* source, before BYE: the names that may be removed */
	IW_XFER_MSG_COUNT
};
#define IW_XFER_MSG_OPTIONAL 128u
/* The name in capitals, for messages; "unknown" for other numbers. */
const char *iw_xfer_msg_name(uint32_t type);

/* Keys of every message. */
#define IW_XFER_KEY_TYPE    0
#define IW_XFER_KEY_CREDIT  1 /* messages that the peer may have sent in total */
/* Octets of the receives for message number FROM (counted from 1) and all later ones. */
#define IW_XFER_KEY_SIZE    2
#define IW_XFER_KEY_FROM    3
/* From a sink: octets of files that have arrived on this connection. */
#define IW_XFER_KEY_ARRIVED 7
/* From a sink: octets stored on this connection that no later one need move again. */
#define IW_XFER_KEY_KEPT    8
/* With TLS or DTLS, in the first message of each side: the channel binding (RFC 9266). */
#define IW_XFER_KEY_BINDING 11
#define IW_XFER_KEY_BUSY    4 /* NOP: the peer waits for work of the sender */
#define IW_XFER_KEY_ANSWER  5 /* NOP: the peer must send a message at once */
#define IW_XFER_KEY_TOTAL   6 /* NOP of a source: octets of the files under the first PATHS paths */
#define IW_XFER_KEY_PATHS   9 /* NOP of a source: number of paths of GET that TOTAL covers */
#define IW_XFER_KEY_LIST    4 /* most messages: the entries */
#define IW_XFER_KEY_ENDS    5 /* DONE: entries of ended files */
#define IW_XFER_KEY_PATH    4 /* OPEN */
#define IW_XFER_KEY_OPTS    5 /* OPEN: set of enum iw_xfer_opt */
#define IW_XFER_KEY_CONNS   6 /* OPEN: connections of the transfer */
#define IW_XFER_KEY_LAST    5 /* GET: no more paths follow */
#define IW_XFER_KEY_FILES   4 /* BYE: files with a result */
#define IW_XFER_KEY_FAILED  5 /* BYE: of these, failed ones */
#define IW_XFER_KEY_GONE    6 /* BYE of a sink: names that were or would be removed */
#define IW_XFER_KEY_MADE    10 /* BYE of a sink: directories that did not exist before */
#define IW_XFER_KEY_STAYED  9  /* BYE of a sink: names kept because REMOVE did not list them */
#define IW_XFER_KEY_CODE    4  /* ABORT */
#define IW_XFER_KEY_TEXT    5  /* ABORT */

/* Keys of an entry. A key has the same meaning in all messages. */
enum iw_xfer_field {
	IW_XFER_FIELD_ID = 0,  /* the file's number: 1, 2, 3 ... in the order of announcement */
	IW_XFER_FIELD_OFF = 1, /* offset in the file, in octets */
	IW_XFER_FIELD_LEN = 2,
	IW_XFER_FIELD_STAG = 3, /* the Tagged Offset is the offset in the file */
	IW_XFER_FIELD_DIGEST = 4,
	IW_XFER_FIELD_ZERO = 5, /* all octets are zero and were not moved */
	IW_XFER_FIELD_SIZE = 6,
	IW_XFER_FIELD_CODE = 7, /* enum iw_xfer_code */
	IW_XFER_FIELD_TEXT = 8,
	IW_XFER_FIELD_NAME = 9,
	IW_XFER_FIELD_KIND = 10,
	IW_XFER_FIELD_MODE = 11,
	IW_XFER_FIELD_MTIME = 12, /* seconds */
	IW_XFER_FIELD_MTIME_NS = 13,
	IW_XFER_FIELD_TOP = 14,
	IW_XFER_FIELD_TARGET = 15, /* of a link */
	IW_XFER_FIELD_UID = 16,
	IW_XFER_FIELD_GID = 17,
	IW_XFER_FIELD_XATTR = 18,
	IW_XFER_FIELD_IDENT = 19,  /* changes with the source file's contents and metadata */
	IW_XFER_FIELD_LIST = 20,   /* list of a pack */
	IW_XFER_FIELD_WANTED = 21, /* members of a pack: bit 7 of octet 0 is for the first */
	IW_XFER_FIELD_CODES = 22,  /* members of a pack: one octet each */
	IW_XFER_FIELD_SHARE = 23,  /* common to the parts of a file on several connections */
	IW_XFER_FIELD_CHUNKS = 24, /* digests of consecutive chunks */
	IW_XFER_FIELD_DATA = 25,   /* at least so many octets of a file are outside holes */
	IW_XFER_FIELD_COUNT
};
#define IW_XFER_HAS(field) (1u << IW_XFER_FIELD_##field)

/* A decoded entry. Pointers are slices of the message (borrowed). */
struct iw_xfer_entry {
	unsigned has; /* set of IW_XFER_HAS(field) */
	uint32_t id;
	uint64_t off, len;
	uint32_t stag;
	struct iw_xfer_digest digest;
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

/* Appends a map of the fields that e->has names. If it does not fit, o->full is set. */
void iw_xfer_entry_put(struct iw_cbor_out *o, const struct iw_xfer_entry *e);

/* The keys that every message has; rec holds the others. */
struct iw_xfer_msg {
	uint32_t type;
	uint64_t credit;
	bool resized; /* size and from are present */
	uint32_t size;
	uint64_t from;
	uint64_t arrived, kept; /* from a sink; 0 if absent */
	/* IW_XFER_BINDING_LEN octets, a slice of the message; NULL: absent */
	const uint8_t *binding;
	bool busy, answer;     /* NOP */
	uint64_t total, paths; /* NOP of a source: see IW_XFER_KEY_TOTAL; paths 0: absent */
	struct iw_cbor_rec rec;
};

/*
 * Decodes len octets without their digest. *out points into msg, which is borrowed. IW_E_FORMAT:
 * not one CBOR map, octets after it, or a key that is missing, occurs twice or is of another kind.
 * IW_E_TRUNC: the message ends within the map. IW_E_LIMIT: a number above its limit.
 */
IW_MUST_CHECK int iw_xfer_msg_decode(struct iw_xfer_msg *out, const uint8_t *msg, size_t len,
				     struct iw_fault *why);

/* The entries under key (LIST or ENDS), read one by one. */
struct iw_xfer_entries {
	struct iw_cbor_in in;
	size_t left;
	uint32_t type;
	bool ends;
};
/*
 * Opens the list under key; an absent list is treated as empty. *l points into the message.
 * IW_E_FORMAT: not an array.
 */
IW_MUST_CHECK int iw_xfer_entries_open(struct iw_xfer_entries *l, const struct iw_xfer_msg *m,
				       unsigned key, struct iw_fault *why);
/*
 * Decodes the next entry. Returns 1 with *out, which has the mandatory fields of the message; 0: no
 * more entries. Unknown fields are ignored. IW_E_FORMAT: not a map, or a field that is missing or
 * of another kind. IW_E_TRUNC: the list ends early. IW_E_LIMIT: a number or string above its limit.
 */
IW_MUST_CHECK int iw_xfer_entries_next(struct iw_xfer_entries *l, struct iw_xfer_entry *out,
				       struct iw_fault *why);

/*
 * Encodes the header of a data Send (mode send): four zero octets, the file's number, the offset in
 * octets. No CBOR map begins with a zero octet.
 */
void iw_xfer_data_encode(uint8_t hdr[static IW_XFER_DATA_HDR], uint32_t id, uint64_t off);
/*
 * True if msg is a data Send; the file's octets follow the header. *err: 0, or IW_E_FORMAT if the
 * header is malformed or no octets follow it.
 */
bool iw_xfer_data_decode(const uint8_t *msg, size_t len, uint32_t *id, uint64_t *off, int *err);

#endif
