/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SCTP packets (RFC 9260 section 3): common header, chunks, parameters, error causes.
 *
 * Chunks, parameters and causes have one form: a type; a length, which includes the four octets of
 * type and length; a value; padding to a multiple of four. Decoders do not check types, flags and
 * values: lib/sctp does.
 */
#ifndef IW_WIRE_SCTP_H
#define IW_WIRE_SCTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/num.h"
#include "util/text.h"

#define IW_SCTP_HDR_LEN       12
#define IW_SCTP_CHECKSUM_POS  8 /* in the common header */
#define IW_SCTP_CHUNK_HDR_LEN 4
#define IW_SCTP_DATA_HDR_LEN  16   /* of the chunk, before the user data */
#define IW_SCTP_INIT_LEN      16   /* of the value, before the parameters */
#define IW_SCTP_SACK_LEN      12   /* of the value, before the gap blocks */
#define IW_SCTP_UDP_PORT      9899 /* RFC 6951: sctp-tunneling */

enum iw_sctp_chunk_type {
	IW_SCTP_DATA = 0,
	IW_SCTP_INIT = 1,
	IW_SCTP_INIT_ACK = 2,
	IW_SCTP_SACK = 3,
	IW_SCTP_HEARTBEAT = 4,
	IW_SCTP_HEARTBEAT_ACK = 5,
	IW_SCTP_ABORT = 6,
	IW_SCTP_SHUTDOWN = 7,
	IW_SCTP_SHUTDOWN_ACK = 8,
	IW_SCTP_ERROR = 9,
	IW_SCTP_COOKIE_ECHO = 10,
	IW_SCTP_COOKIE_ACK = 11,
	IW_SCTP_SHUTDOWN_COMPLETE = 14,
	IW_SCTP_PAD = 0x84, /* RFC 4820 */
};
/* Returns "DATA", "INIT ACK", ..., or "chunk" for an unknown type. */
const char *iw_wire_sctp_chunk_name(uint8_t type);

/*
 * The two high bits of an unknown type of chunk or parameter determine whether its receiver skips
 * it and whether it reports it (RFC 9260 3.2, 3.2.1). top: the highest bit of the type, 7 or 15.
 */
#define IW_SCTP_UNKNOWN_SKIPS(type, top)   ((type)&1u << (top))
#define IW_SCTP_UNKNOWN_REPORTS(type, top) ((type)&1u << ((top)-1))

/* Chunk flags. */
#define IW_SCTP_DATA_E 0x01 /* last fragment */
#define IW_SCTP_DATA_B 0x02 /* first fragment */
#define IW_SCTP_DATA_U 0x04 /* unordered */
#define IW_SCTP_DATA_I 0x08 /* acknowledge at once */
#define IW_SCTP_T      0x01 /* ABORT, SHUTDOWN COMPLETE: the Verification Tag is reflected */

enum iw_sctp_param_type {
	IW_SCTP_PARAM_HEARTBEAT_INFO = 1,
	IW_SCTP_PARAM_IPV4 = 5,
	IW_SCTP_PARAM_IPV6 = 6,
	IW_SCTP_PARAM_COOKIE = 7,
	IW_SCTP_PARAM_UNRECOGNIZED = 8,
	IW_SCTP_PARAM_COOKIE_PRESERVATIVE = 9,
	IW_SCTP_PARAM_HOST_NAME = 11,
	IW_SCTP_PARAM_ADDRESS_TYPES = 12,
	IW_SCTP_PARAM_ECN = 0x8000,
	IW_SCTP_PARAM_ZERO_CHECKSUM = 0x8001, /* RFC 9653 5.1 */
	IW_SCTP_PARAM_ADAPTATION = 0xc006,    /* RFC 5061 4.2.6 */
};

enum iw_sctp_cause {
	IW_SCTP_CAUSE_STREAM = 1,
	IW_SCTP_CAUSE_MISSING_PARAM = 2,
	IW_SCTP_CAUSE_STALE_COOKIE = 3,
	IW_SCTP_CAUSE_RESOURCE = 4,
	IW_SCTP_CAUSE_ADDRESS = 5,
	IW_SCTP_CAUSE_CHUNK = 6,
	IW_SCTP_CAUSE_INVALID_PARAM = 7,
	IW_SCTP_CAUSE_PARAMS = 8,
	IW_SCTP_CAUSE_NO_DATA = 9,
	IW_SCTP_CAUSE_SHUTTING_DOWN = 10,
	IW_SCTP_CAUSE_RESTART_ADDRESS = 11,
	IW_SCTP_CAUSE_USER = 12,
	IW_SCTP_CAUSE_PROTOCOL = 13,
};
/* Returns "user-initiated abort", ..., or "error cause" for an unknown one. */
const char *iw_wire_sctp_cause_name(uint16_t cause);

/* --- common header ---------------------------------------------------------------------------- */

struct iw_sctp_hdr {
	uint16_t sport, dport;
	uint32_t vtag;
	uint32_t checksum; /* CRC32c; on the wire the least significant octet is first */
};
/* Returns the length, 12. 0: more octets are needed. */
int iw_wire_sctp_hdr_decode(struct iw_sctp_hdr *out, const uint8_t *src, size_t len);
/* Returns the length, 12. IW_E_INVAL: cap is too small. */
int iw_wire_sctp_hdr_encode(uint8_t *dst, size_t cap, const struct iw_sctp_hdr *in);
/*
 * Returns the checksum of a packet of len octets (at least 12), computed as if its checksum field
 * were 0 (RFC 9260 6.8).
 */
uint32_t iw_wire_sctp_checksum(const uint8_t *packet, size_t len);

/* --- chunks, parameters, causes --------------------------------------------------------------- */

struct iw_sctp_chunk {
	uint8_t type, flags;
	uint16_t len;         /* the length field: 4 and the value */
	const uint8_t *value; /* borrowed from the decoded octets */
	size_t value_len;
};
/*
 * Returns the distance to the next chunk, octets: the length field rounded up to a multiple of
 * four, or len if the padding of the last chunk is missing. 0: the chunk is longer than len, so the
 * packet is truncated (RFC 9260 6.10: a packet has no partial chunk). IW_E_FORMAT: the length field
 * is below 4.
 */
int iw_wire_sctp_chunk_decode(struct iw_sctp_chunk *out, const uint8_t *src, size_t len);
/*
 * Writes the header, with the length value_len + 4 (in->len is ignored), the value and zero
 * padding. value NULL: the caller fills in the value. Returns the octets written, a multiple of
 * four. IW_E_INVAL: cap is too small, or the value is too long for the length field.
 */
int iw_wire_sctp_chunk_encode(uint8_t *dst, size_t cap, const struct iw_sctp_chunk *in);

/* A parameter or an error cause. The codec has the contract of that of chunks. */
struct iw_sctp_param {
	uint16_t type, len;
	const uint8_t *value; /* borrowed from the decoded octets */
	size_t value_len;
};
int iw_wire_sctp_param_decode(struct iw_sctp_param *out, const uint8_t *src, size_t len);
int iw_wire_sctp_param_encode(uint8_t *dst, size_t cap, const struct iw_sctp_param *in);
/* Appends "cause 12 user-initiated abort" to one line, without a newline. */
void iw_wire_sctp_cause_print(struct iw_text *t, const struct iw_sctp_param *p);

/* --- values of chunks ------------------------------------------------------------------------- */

/* DATA (RFC 9260 3.3.1). */
struct iw_sctp_data {
	uint32_t tsn;
	uint16_t stream, ssn;
	uint32_t ppid;
	const uint8_t *data; /* borrowed */
	size_t len;
};
/*
 * Decodes the value of the chunk, and returns len. 0: fewer than 12 octets, or more than a chunk
 * can have.
 */
int iw_wire_sctp_data_decode(struct iw_sctp_data *out, const uint8_t *value, size_t len);
/*
 * Writes the chunk header and the DATA header for in->len octets of user data, which the caller
 * adds. Returns the length, 16. IW_E_INVAL: cap is too small, or in->len is too long for a chunk.
 */
int iw_wire_sctp_data_encode(uint8_t *dst, size_t cap, uint8_t flags,
			     const struct iw_sctp_data *in);

/* INIT and INIT ACK (RFC 9260 3.3.2, 3.3.3). */
struct iw_sctp_init {
	uint32_t tag, a_rwnd;
	uint16_t os, mis;
	uint32_t tsn;
	const uint8_t *params; /* borrowed */
	size_t params_len;
};
/*
 * Decodes the value of the chunk, and returns len. 0: fewer than 16 octets, or more than a chunk
 * can have.
 */
int iw_wire_sctp_init_decode(struct iw_sctp_init *out, const uint8_t *value, size_t len);
/*
 * Writes the value: 16 octets and the parameters (params NULL: no parameters). Returns its length.
 * IW_E_INVAL: cap is too small, or the parameters are too long for a chunk.
 */
int iw_wire_sctp_init_encode(uint8_t *dst, size_t cap, const struct iw_sctp_init *in);

/* SACK (RFC 9260 3.3.4). */
struct iw_sctp_sack {
	uint32_t cum, a_rwnd;
	uint16_t ngaps, ndups;
	const uint8_t *gaps; /* 4 * ngaps octets, borrowed */
	const uint8_t *dups; /* 4 * ndups octets, borrowed */
};
/*
 * Decodes the value of the chunk, and returns its length. 0: fewer octets than ngaps and ndups
 * require.
 */
int iw_wire_sctp_sack_decode(struct iw_sctp_sack *out, const uint8_t *value, size_t len);
/* Writes the value and returns its length. IW_E_INVAL: cap is too small. */
int iw_wire_sctp_sack_encode(uint8_t *dst, size_t cap, const struct iw_sctp_sack *in);
/* Return the first and last TSN of gap block i, as offsets from cum (RFC 9260 3.3.4). */
static inline uint16_t iw_sctp_gap_start(const struct iw_sctp_sack *s, size_t i)
{
	return iw_get_be16(s->gaps + 4 * i);
}
static inline uint16_t iw_sctp_gap_end(const struct iw_sctp_sack *s, size_t i)
{
	return iw_get_be16(s->gaps + 4 * i + 2);
}
/* Returns a TSN that was received more than once; i: below ndups. */
static inline uint32_t iw_sctp_dup(const struct iw_sctp_sack *s, size_t i)
{
	return iw_get_be32(s->dups + 4 * i);
}

/* Returns the octets of padding after len octets: up to a multiple of four. */
static inline size_t iw_sctp_pad(size_t len)
{
	return -len & 3;
}

#endif
