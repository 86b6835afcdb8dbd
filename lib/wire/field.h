/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Headers as tables of their fields, laid out as in the figures of the RFCs: for programs that
 * explain a header field by field.
 *
 * These tables are a second description beside the codecs of this room. wire_field_test checks that
 * each table agrees with its codec.
 */
#ifndef IW_WIRE_FIELD_H
#define IW_WIRE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/text.h"

/* One field. The word of a field is the octets in which the RFC draws it. */
struct iw_field {
	const char *name;   /* as the RFC calls it */
	uint8_t off, len;   /* octets: where the word begins in the header, and its length */
	uint8_t bit, bits;  /* in the word, from its most significant bit; bits 0: the whole word */
	const char *clause; /* the clause that defines it */
	/*
	 * The meaning of the value 0, and of all other values. other NULL: zero applies to every
	 * value. Both NULL, and print too: the meaning depends on more than the header.
	 */
	const char *zero, *other;
	/*
	 * Appends the meaning of v, the value of the field in the header at hdr. Reads no octet
	 * after the field. NULL: see zero and other.
	 */
	void (*print)(struct iw_text *t, uint64_t v, const uint8_t *hdr);
};

/* One header: its fields in the order of their bits, without gaps. */
struct iw_layout {
	const struct iw_field *field;
	size_t fields;
	size_t len; /* octets */
};

/* RFC 5044 7.1.1, RFC 6581 6: a Request or Reply, without its Private Data. */
extern const struct iw_layout iw_wire_layout_mpa_frame;
/* RFC 6581 9: enhanced data. */
extern const struct iw_layout iw_wire_layout_mpa_enhanced;
/* RFC 5044 4: the fields before and after a ULPDU, and a marker. */
extern const struct iw_layout iw_wire_layout_mpa_fpdu, iw_wire_layout_mpa_crc,
	iw_wire_layout_mpa_marker;
/* RFC 5041 4.2 and 4.3, RFC 5040 4.1: DDP headers with RDMAP's control octet. */
extern const struct iw_layout iw_wire_layout_ddp_tagged, iw_wire_layout_ddp_untagged;
/* RFC 5040 4.4. */
extern const struct iw_layout iw_wire_layout_rreq;
/* RFC 5040 4.8: the control field; DDP Segment Length, which follows with M or D. */
extern const struct iw_layout iw_wire_layout_terminate, iw_wire_layout_terminate_length;
/* RFC 7306 5.2 and 6.2. */
extern const struct iw_layout iw_wire_layout_atomic_req, iw_wire_layout_atomic_rsp,
	iw_wire_layout_immediate;
/*
 * RFC 9260 3.1, 3.2, 3.3.1, 3.3.2 and 3.3.4: the common header; the header of any chunk; chunk header
 * and value of DATA (without user data), of INIT and INIT ACK (without parameters), and of SACK
 * (without blocks and TSNs).
 */
extern const struct iw_layout iw_wire_layout_sctp, iw_wire_layout_sctp_chunk,
	iw_wire_layout_sctp_data, iw_wire_layout_sctp_init, iw_wire_layout_sctp_sack;
/* RFC 5043 5.2: before a DDP segment; a Session Control message, without its Private Data. */
extern const struct iw_layout iw_wire_layout_ddp_ssn, iw_wire_layout_session;

/* Returns the value of the field in the header at hdr; 0 for a field longer than 8 octets. */
uint64_t iw_wire_field_get(const struct iw_field *f, const uint8_t *hdr);
/*
 * Appends the meaning of the field's value in the header at hdr. Reads no octet after the field.
 * False: the meaning depends on more than the header; nothing was appended.
 */
bool iw_wire_field_print(struct iw_text *t, const struct iw_field *f, const uint8_t *hdr);

#endif
