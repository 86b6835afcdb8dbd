/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Edits: the decisions that change the octets of a unit (flip-bit, swap-words, set, truncate). Pure.
 */
#ifndef IW_DDP_IMPAIR_RULES_EDIT_H
#define IW_DDP_IMPAIR_RULES_EDIT_H

#include "ddp-impair/rules/decision.h"

/* True for flip-bit, swap-words, set and truncate. */
bool iw_edit_is(enum iw_action_kind kind);

/*
 * Changes the unit, whose octets (all, without markers) are at octets, as the decision says; *len is
 * the number of octets before and after, which only truncate changes. u describes the unit before
 * the edit. With fix-crc or fix-length the CRC of an FPDU is computed for the position u->pos (if its
 * CRC is in use), or the checksum of a packet. A chunk has none: the caller calls iw_edit_seal() for
 * its packet.
 *
 * False: the edit does not fit this unit (a field that it lacks, a truncation to its length or
 * more); nothing changed.
 */
bool iw_edit_apply(const struct iw_decision *d, const struct iw_unit *u, uint8_t *octets,
		   size_t *len);

/* Computes the CRC of an FPDU, or the checksum of a packet, for these octets, and writes it. */
void iw_edit_seal(const struct iw_unit *u, uint8_t *octets, size_t len);

#endif
