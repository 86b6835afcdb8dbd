// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The SACK chunk (RFC 9260 3.3.4): received TSNs, gaps, duplicates, and the receive window. */
#include "sctp/internal.h"

#define SACK_CHUNK_LEN (IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_SACK_LEN)

/* Returns the first TSN from tsn to high whose bit in the map equals set; high + 1: not found. */
static uint32_t seek(const struct inq *q, uint32_t tsn, bool set)
{
	while (!iw_seq32_before(q->high, tsn)) {
		uint64_t word = q->map[(tsn & (q->map_bits - 1)) / 64];

		if (!set)
			word = ~word;
		word >>= tsn & 63;
		if (word) {
			tsn += (uint32_t)__builtin_ctzll(word);
			break;
		}
		tsn += 64 - (tsn & 63);
	}
	return iw_seq32_before(q->high, tsn) ? q->high + 1 : tsn;
}

/* Writes at most max gap blocks, as offsets from cum. Returns their number. */
static unsigned put_gaps(const struct inq *q, uint8_t *dst, size_t max)
{
	uint32_t tsn = q->cum + 1;
	unsigned n = 0;

	if (q->high == q->cum)
		return 0;
	while (n < max) {
		uint32_t start = seek(q, tsn, true), end;

		if (iw_seq32_before(q->high, start))
			break;
		end = seek(q, start, false);
		iw_put_be16(dst, (uint16_t)(start - q->cum));
		iw_put_be16(dst + 2, (uint16_t)(end - 1 - q->cum));
		dst += 4;
		n++;
		tsn = end;
	}
	return n;
}

size_t iw_sctp_put_sack(struct iw_sctp_assoc *a, uint8_t *dst, size_t cap)
{
	struct inq *q = &a->in;
	uint8_t *value = dst + IW_SCTP_CHUNK_HDR_LEN;
	struct iw_sctp_sack sack = { .cum = q->cum };
	struct iw_sctp_chunk c = { .type = IW_SCTP_SACK };
	size_t room;
	int n;

	if (cap < SACK_CHUNK_LEN)
		return 0;
	room = (cap - SACK_CHUNK_LEN) / 4;
	sack.a_rwnd = iw_sctp_shown_window(a);
	n = iw_wire_sctp_sack_encode(value, cap - IW_SCTP_CHUNK_HDR_LEN, &sack);
	if (n < 0)
		return 0;
	sack.ngaps = (uint16_t)put_gaps(q, value + n, room);
	room -= sack.ngaps;
	sack.ndups = (uint16_t)IW_MIN((size_t)q->ndups, room);
	for (unsigned i = 0; i < sack.ndups; i++)
		iw_put_be32(value + n + 4 * (sack.ngaps + i), q->dups[i]);
	iw_put_be16(value + 8, sack.ngaps);
	iw_put_be16(value + 10, sack.ndups);
	c.value_len = (size_t)n + 4 * ((size_t)sack.ngaps + sack.ndups);
	n = iw_wire_sctp_chunk_encode(dst, cap, &c);
	if (n < 0)
		return 0;
	q->advertised = sack.a_rwnd;
	q->ndups = 0;
	q->packets = 0;
	q->sack_now = q->urgent = false;
	q->sack_at = IW_TIME_NEVER;
	a->tx &= ~(unsigned)TX_SACK;
	return (size_t)n;
}
