/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Units: what a rule applies to. A unit is one protocol element of one direction of a connection:
 * an MPA Request or Reply, an FPDU, an SCTP packet, a chunk of one, or octets of another protocol.
 *
 * A unit describes its octets without MPA markers (struct iw_framer removes them). It names the
 * place of each header by the tables of wire/field.h, so conditions and edits know every field that
 * the RFCs define. Pure: no I/O, no memory of its own.
 */
#ifndef IW_DDP_IMPAIR_RULES_UNIT_H
#define IW_DDP_IMPAIR_RULES_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/field.h"

enum iw_unit_kind {
	IW_UNIT_REQUEST, /* mpa-request */
	IW_UNIT_REPLY,   /* mpa-reply */
	IW_UNIT_FPDU,    /* fpdu */
	IW_UNIT_PACKET,  /* packet: of SCTP */
	IW_UNIT_CHUNK,   /* chunk: of an SCTP packet */
	IW_UNIT_OCTETS,  /* octets: of another protocol, divided as they arrive */
	IW_UNIT_KINDS,
};
/* Returns "mpa-request", ... as in a rule (static). */
const char *iw_unit_kind_name(enum iw_unit_kind kind);

/* Bits of the set ops of a unit. The first twelve are enum iw_opcode of wire/ddp.h. */
enum iw_unit_op {
	IW_UNIT_OP_DDP = 0,    /* 0 to 11: RDMAP opcodes */
	IW_UNIT_OP_OTHER = 12, /* an opcode or chunk type that no RFC assigns */
	IW_UNIT_OP_DATA = 13,  /* SCTP chunks */
	IW_UNIT_OP_INIT,
	IW_UNIT_OP_INIT_ACK,
	IW_UNIT_OP_SACK,
	IW_UNIT_OP_HEARTBEAT,
	IW_UNIT_OP_HEARTBEAT_ACK,
	IW_UNIT_OP_ABORT,
	IW_UNIT_OP_SHUTDOWN,
	IW_UNIT_OP_SHUTDOWN_ACK,
	IW_UNIT_OP_ERROR,
	IW_UNIT_OP_COOKIE_ECHO,
	IW_UNIT_OP_COOKIE_ACK,
	IW_UNIT_OP_SHUTDOWN_COMPLETE,
	IW_UNIT_OP_SESSION, /* 4 values: Session Control of RFC 5043, function codes 1 to 4 */
	IW_UNIT_OPS = IW_UNIT_OP_SESSION + 4,
};
/* Returns "write", "read-request", "sack", ... as in a rule (static). */
const char *iw_unit_op_name(unsigned op);

enum iw_unit_from { IW_UNIT_INITIATOR = 0, IW_UNIT_RESPONDER = 1 };
/* Returns "initiator" or "responder" (static). */
const char *iw_unit_from_name(unsigned from);

/* A header in the unit: its table, and the octet where it begins. */
struct iw_unit_header {
	const struct iw_layout *layout;
	uint32_t off;
};

#define IW_UNIT_HEADERS 8
/* Octets of an FPDU or MPA frame that describe it: length, DDP header, the longest RDMAP header. */
#define IW_UNIT_HEAD    72

struct iw_unit {
	enum iw_unit_kind kind;
	uint8_t from;      /* enum iw_unit_from */
	bool sealed;       /* its CRC or checksum is in use */
	bool markers;      /* FPDU: it has markers, as due at pos */
	uint32_t conn;     /* number of the connection, from 1 */
	uint32_t stream;   /* SCTP stream of a chunk; otherwise 0 */
	uint64_t number;   /* among all units of its connection and direction, from 1 */
	uint64_t at_ns;    /* since the connection began */
	uint64_t ops;      /* set of enum iw_unit_op: that of an FPDU, all those of a packet */
	uint32_t pos;      /* FPDU: octets since the first FPDU of the direction, modulo 2^32 */
	uint32_t wire_len; /* octets on the wire, with markers */

	const uint8_t *octets; /* borrowed: the unit without markers */
	size_t have;           /* octets at octets: len, or only the headers of the unit */
	size_t len;            /* of the whole unit, without markers */
	/* The parts header, payload and trailer (padding and CRC) follow one another. */
	size_t header_len, trailer_len;

	struct iw_unit_header header[IW_UNIT_HEADERS];
	size_t headers;
};

/* Appends a header to the list of the unit. One that does not fit is dropped. */
void iw_unit_add(struct iw_unit *u, const struct iw_layout *layout, size_t off);

/*
 * Describes the octets of an FPDU (at least IW_UNIT_HEAD, or all) with ULPDU_Length: sets kind, ops,
 * lengths and headers. The caller has set octets and have.
 */
void iw_unit_read_fpdu(struct iw_unit *u);
/* The same for a Request or Reply. */
void iw_unit_read_mpa(struct iw_unit *u, enum iw_unit_kind kind);
/*
 * Adds the headers of a DDP segment of seg_len octets at octet off of the unit, of which the unit
 * has at least the headers, and its opcode to ops. Returns the octets of these headers.
 */
size_t iw_unit_read_segment(struct iw_unit *u, size_t off, size_t seg_len);

/*
 * A field of a header, as a rule names it: "ddp.stag", "stag", "fpdu.crc". Units of a kind differ in
 * their headers (tagged or untagged), so a field may be in several tables.
 */
#define IW_UNIT_FIELD_PLACES 4
struct iw_unit_field {
	struct {
		const struct iw_layout *layout;
		const struct iw_field *field;
	} place[IW_UNIT_FIELD_PLACES];
	size_t places;
	uint8_t octets; /* of the longest of them */
};
/*
 * Finds a field by its name, for a kind of unit. False: no unit of this kind has such a field; then
 * *near is the most similar name (static), or NULL.
 */
bool iw_unit_field_find(struct iw_unit_field *out, enum iw_unit_kind kind, const char *name,
			size_t len, const char **near);
/* Finds the place of the field in the unit. NULL: this unit does not have it. */
const struct iw_field *iw_unit_field_place(const struct iw_unit *u, const struct iw_unit_field *f,
					   size_t *off);

#endif
