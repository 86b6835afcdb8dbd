// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Changes octets of units. */
#include "ddp-impair/rules/edit.h"

#include <string.h>

#include "ddp-impair/rules/framer.h"
#include "util/num.h"
#include "wire/mpa.h"
#include "wire/sctp.h"

bool iw_edit_is(enum iw_action_kind kind)
{
	return kind == IW_ACTION_FLIP_BIT || kind == IW_ACTION_SWAP_WORDS ||
	       kind == IW_ACTION_SET || kind == IW_ACTION_TRUNCATE;
}

void iw_edit_seal(const struct iw_unit *u, uint8_t *octets, size_t len)
{
	if (u->kind == IW_UNIT_PACKET && len >= IW_SCTP_HDR_LEN)
		iw_put_le32(octets + IW_SCTP_CHECKSUM_POS, iw_wire_sctp_checksum(octets, len));
	else if (u->kind == IW_UNIT_FPDU && u->sealed && len >= IW_MPA_CRC_LEN)
		iw_put_le32(octets + len - IW_MPA_CRC_LEN,
			    iw_framer_crc(octets, len, u->markers, u->pos));
}

static void put_field(const struct iw_field *f, uint8_t *hdr, uint64_t v)
{
	unsigned all = f->len * 8u, bits = f->bits ? f->bits : all, shift = all - f->bit - bits;
	uint64_t mask = bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
	uint64_t word = 0;

	for (unsigned i = 0; i < f->len; i++)
		word = word << 8 | hdr[f->off + i];
	word = (word & ~(mask << shift)) | (v & mask) << shift;
	for (unsigned i = 0; i < f->len; i++)
		hdr[f->off + i] = (uint8_t)(word >> (f->len - 1 - i) * 8u);
}

static bool set(const struct iw_action *a, const struct iw_unit *u, uint8_t *octets)
{
	size_t off;
	const struct iw_field *f = iw_unit_field_place(u, &a->field, &off);

	if (!f)
		return false;
	put_field(f, octets + off, a->value);
	return true;
}

static bool swap(uint64_t pick, uint8_t *octets, size_t len)
{
	uint8_t word[2];

	if (len < 4 || pick > len - 4)
		return false;
	memcpy(word, octets + pick, 2);
	memmove(octets + pick, octets + pick + 2, 2);
	memcpy(octets + pick + 2, word, 2);
	return true;
}

/* The longest FPDU of at most n octets with the first octets of the ULPDU. */
static bool shorten_fpdu(uint8_t *octets, size_t *len, size_t n)
{
	size_t old = iw_get_be16(octets), ulpdu;

	if (n < IW_MPA_HEAD_LEN + IW_MPA_CRC_LEN + 2)
		return false;
	ulpdu = IW_MIN(old, n / 4 * 4 - IW_MPA_HEAD_LEN - IW_MPA_CRC_LEN);
	iw_put_be16(octets, (uint16_t)ulpdu);
	*len = iw_mpa_fpdu_len(ulpdu);
	memset(octets + IW_MPA_HEAD_LEN + ulpdu, 0, *len - IW_MPA_HEAD_LEN - ulpdu);
	return true;
}

/* A chunk of at most n octets. Its length field does not cover the padding. */
static bool shorten_chunk(uint8_t *octets, size_t *len, size_t n)
{
	if (n < IW_SCTP_CHUNK_HDR_LEN)
		return false;
	n = IW_MIN(n, IW_MAX(iw_get_be16(octets + 2), IW_SCTP_CHUNK_HDR_LEN));
	iw_put_be16(octets + 2, (uint16_t)n);
	*len = IW_MIN(n + iw_sctp_pad(n), *len);
	memset(octets + n, 0, *len - n);
	return true;
}

static bool shorten(const struct iw_unit *u, uint8_t *octets, size_t *len, size_t n)
{
	switch (u->kind) {
	case IW_UNIT_FPDU:
		return shorten_fpdu(octets, len, n);
	case IW_UNIT_REQUEST:
	case IW_UNIT_REPLY:
		if (n < IW_MPA_FRAME_LEN)
			return false;
		iw_put_be16(octets + IW_MPA_FRAME_LEN - 2, (uint16_t)(n - IW_MPA_FRAME_LEN));
		*len = n;
		return true;
	case IW_UNIT_CHUNK:
		return shorten_chunk(octets, len, n);
	default:
		*len = n;
		return true;
	}
}

static bool truncate(const struct iw_decision *d, const struct iw_unit *u, uint8_t *octets,
		     size_t *len)
{
	if (d->pick >= *len)
		return false;
	if (d->action->fix_length)
		return shorten(u, octets, len, (size_t)d->pick);
	*len = (size_t)d->pick;
	return true;
}

bool iw_edit_apply(const struct iw_decision *d, const struct iw_unit *u, uint8_t *octets,
		   size_t *len)
{
	const struct iw_action *a = d->action;
	bool done = false;

	switch (a->kind) {
	case IW_ACTION_FLIP_BIT:
		done = d->pick / 8 < *len;
		if (done)
			octets[d->pick / 8] ^= (uint8_t)(0x80u >> d->pick % 8);
		break;
	case IW_ACTION_SWAP_WORDS:
		done = swap(d->pick, octets, *len);
		break;
	case IW_ACTION_SET:
		done = set(a, u, octets);
		break;
	case IW_ACTION_TRUNCATE:
		done = truncate(d, u, octets, len);
		break;
	default:
		break;
	}
	if (done && (a->fix_crc || a->fix_length))
		iw_edit_seal(u, octets, *len);
	return done;
}
