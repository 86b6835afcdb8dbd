/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A passive reader of an MPA connection: divides both directions into units. It keeps no octets: the
 * caller shows it the unread octets of a direction, and removes a unit when it has taken it.
 *
 *	while (iw_framer_peek(f, d, p, len, end, &u) && u.wire_len <= len) {
 *		...
 *		iw_framer_take(f, &u);
 *		p += u.wire_len, len -= u.wire_len;
 *	}
 *
 * The result does not depend on how the octets are divided, except for units of the kind
 * IW_UNIT_OCTETS. Trusts nothing. Pure; one thread at a time.
 */
#ifndef IW_DDP_IMPAIR_RULES_FRAMER_H
#define IW_DDP_IMPAIR_RULES_FRAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddp-impair/rules/unit.h"

/* Octets that are enough for iw_framer_peek() to describe a unit: its head, with a marker. */
#define IW_FRAMER_HEAD (IW_UNIT_HEAD + 4)

/* Octets of another protocol in one unit, at most. */
#define IW_FRAMER_OCTETS 65536

enum iw_framer_phase { IW_FRAMER_START, IW_FRAMER_FPDU, IW_FRAMER_OPAQUE };

struct iw_framer_dir {
	enum iw_framer_phase phase;
	bool begun;                 /* its Request or Reply was taken */
	bool m, c;                  /* flags of that frame, as the other end receives them */
	bool c_sent;                /* as they were sent */
	uint32_t pos;               /* octets since its first FPDU */
	uint64_t number;            /* units taken */
	uint8_t head[IW_UNIT_HEAD]; /* of the peeked FPDU, without markers */
};

struct iw_framer {
	uint32_t conn;
	struct iw_framer_dir dir[2]; /* enum iw_unit_from */
};

/* Begins a connection. conn: its number, from 1. */
void iw_framer_init(struct iw_framer *f, uint32_t conn);

/*
 * Describes the next unit of direction from, of which the first len octets are at p (borrowed; u
 * refers to them). end: no octets follow, so an incomplete unit is IW_UNIT_OCTETS. now_ns: since the
 * connection began. False: more octets are needed, or the Reply of the other direction (an initiator
 * sends no FPDU before it).
 *
 * Sets everything in *u. If u->wire_len > len, the unit is not complete: u->have octets are.
 */
bool iw_framer_peek(struct iw_framer *f, unsigned from, const uint8_t *p, size_t len, bool end,
		    uint64_t now_ns, struct iw_unit *u);
/*
 * Takes the unit. After a Request or Reply, its flags apply as they are in frame: the octets
 * that the other end receives, in which a rule may have changed them; NULL: as they are in the unit.
 */
void iw_framer_take(struct iw_framer *f, const struct iw_unit *u, const uint8_t *frame);

/*
 * Copies the octets of a complete unit from the wire (p, u->wire_len octets) to dst without markers:
 * u->len octets.
 */
void iw_framer_unmark(const struct iw_unit *u, uint8_t *dst, const uint8_t *p);
/*
 * Copies len octets of an FPDU from src to dst, and inserts the markers that are due from position
 * pos. Returns the octets written: at most len + 4 for each 508 octets, and 4. dst NULL: only counts.
 */
size_t iw_framer_mark(uint8_t *dst, const uint8_t *src, size_t len, uint32_t pos);
/* Returns the CRC of an FPDU of len octets without markers that is sent at pos (RFC 5044 4.4). */
uint32_t iw_framer_crc(const uint8_t *src, size_t len, bool markers, uint32_t pos);

#endif
