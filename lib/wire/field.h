/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Headers as tables of their fields, drawn as the RFCs draw them: for programs that explain headers
 * to people.
 *
 * The codecs of this room read and write the same octets. wire_field_test shows that each table and
 * its codec agree.
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
	/* What the value 0 and every other value mean; other NULL: zero applies to every value.
	 * Both NULL: the meaning depends on more than the header, unless print is set. */
	const char *zero, *other;
	/* Appends the meaning of v, the field's value in the header at hdr, of which it reads no
	 * octet after the field. NULL: see zero and other. */
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
/* RFC 5044 4: what surrounds a ULPDU, and a marker. */
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
/* RFC 9260 3.1, 3.3.1 and 3.3.2: the common header; chunk header and value of DATA (without user
 * data) and of INIT and INIT ACK (without parameters). */
extern const struct iw_layout iw_wire_layout_sctp, iw_wire_layout_sctp_data,
	iw_wire_layout_sctp_init;
/* RFC 5043 5.2: before a DDP segment; a Session Control message, without its Private Data. */
extern const struct iw_layout iw_wire_layout_ddp_ssn, iw_wire_layout_session;

/* The value of a field of at most 8 octets in the header at hdr. 0 for a longer one. */
uint64_t iw_wire_field_get(const struct iw_field *f, const uint8_t *hdr);
/* Appends what the value in the header at hdr means. Octets after the field are not read. False,
 * and nothing is written: it depends on more than the header. */
bool iw_wire_field_print(struct iw_text *t, const struct iw_field *f, const uint8_t *hdr);

#endif
