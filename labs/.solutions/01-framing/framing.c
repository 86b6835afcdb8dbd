/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "framing.h"

/* The polynomial 0x1edc6f41, bits reversed. */
#define POLYNOMIAL 0x82f63b78u

/* Bit by bit: short, and slow. A table of 256 entries is eight times as fast. */
static uint32_t crc_add(uint32_t crc, const uint8_t *octets, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		crc ^= octets[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
	}
	return crc;
}

uint32_t crc32c(const uint8_t *octets, size_t len)
{
	return ~crc_add(0xffffffff, octets, len);
}

/* The CRC begins at a multiple of four octets from the begin of the FPDU. */
static size_t pad_len(size_t ulpdu_len)
{
	return (4 - (FPDU_HEAD_LEN + ulpdu_len) % 4) % 4;
}

size_t fpdu_size(size_t ulpdu_len)
{
	return FPDU_HEAD_LEN + ulpdu_len + pad_len(ulpdu_len) + FPDU_CRC_LEN;
}

static void put_be16(uint8_t *dst, size_t v)
{
	dst[0] = (uint8_t)(v >> 8);
	dst[1] = (uint8_t)v;
}

static void put_le32(uint8_t *dst, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		dst[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t get_le32(const uint8_t *src)
{
	return src[0] | (uint32_t)src[1] << 8 | (uint32_t)src[2] << 16 | (uint32_t)src[3] << 24;
}

size_t fpdu_build(uint8_t *dst, size_t cap, const uint8_t *ulpdu, size_t ulpdu_len)
{
	size_t size = fpdu_size(ulpdu_len), crc_at = size - FPDU_CRC_LEN;

	if (ulpdu_len > FPDU_ULPDU_MAX || size > cap)
		return 0;
	put_be16(dst, ulpdu_len);
	memcpy(dst + FPDU_HEAD_LEN, ulpdu, ulpdu_len);
	memset(dst + FPDU_HEAD_LEN + ulpdu_len, 0, pad_len(ulpdu_len));
	put_le32(dst + crc_at, crc32c(dst, crc_at));
	return size;
}

enum fpdu_status fpdu_parse(const uint8_t *stream, size_t len, struct fpdu *fpdu)
{
	size_t ulpdu_len, size;

	if (len < FPDU_HEAD_LEN)
		return FPDU_MORE;
	ulpdu_len = (size_t)stream[0] << 8 | stream[1];
	if (ulpdu_len > FPDU_ULPDU_MAX)
		return FPDU_BAD_LENGTH;
	size = fpdu_size(ulpdu_len);
	if (len < size)
		return FPDU_MORE;
	if (crc32c(stream, size - FPDU_CRC_LEN) != get_le32(stream + size - FPDU_CRC_LEN))
		return FPDU_BAD_CRC;
	fpdu->ulpdu = stream + FPDU_HEAD_LEN;
	fpdu->ulpdu_len = ulpdu_len;
	fpdu->size = size;
	return FPDU_OK;
}

struct framer {
	uint8_t *octets;
	size_t len, cap;
	size_t used; /* octets of FPDUs that were returned */
	enum fpdu_status error;
};

struct framer *framer_new(void)
{
	return calloc(1, sizeof(struct framer));
}

void framer_free(struct framer *f)
{
	if (!f)
		return;
	free(f->octets);
	free(f);
}

bool framer_put(struct framer *f, const uint8_t *octets, size_t len)
{
	if (f->used) {
		memmove(f->octets, f->octets + f->used, f->len - f->used);
		f->len -= f->used;
		f->used = 0;
	}
	if (f->len + len > f->cap) {
		size_t cap = (f->len + len) * 2;
		uint8_t *more = realloc(f->octets, cap);

		if (!more)
			return false;
		f->octets = more;
		f->cap = cap;
	}
	if (len)
		memcpy(f->octets + f->len, octets, len);
	f->len += len;
	return true;
}

enum fpdu_status framer_next(struct framer *f, const uint8_t **ulpdu, size_t *ulpdu_len)
{
	struct fpdu fpdu;
	enum fpdu_status status;

	if (f->error)
		return f->error;
	if (f->used == f->len)
		return FPDU_MORE;
	status = fpdu_parse(f->octets + f->used, f->len - f->used, &fpdu);
	if (status == FPDU_OK) {
		*ulpdu = fpdu.ulpdu;
		*ulpdu_len = fpdu.ulpdu_len;
		f->used += fpdu.size;
	} else if (status != FPDU_MORE) {
		f->error = status;
	}
	return status;
}

size_t fpdu_build_marked(uint8_t *dst, size_t cap, uint32_t pos, const uint8_t *ulpdu,
			 size_t ulpdu_len)
{
	uint8_t plain[FPDU_HEAD_LEN + FPDU_ULPDU_MAX + 3 + FPDU_CRC_LEN];
	size_t plain_len = fpdu_build(plain, sizeof(plain), ulpdu, ulpdu_len), out = 0, head = 0;

	if (!plain_len)
		return 0;
	for (size_t i = 0; i < plain_len; i++) {
		if ((pos + out) % MARKER_SPACING == 0) {
			if (cap - out < MARKER_LEN)
				return 0;
			put_be16(dst + out, 0);
			put_be16(dst + out + 2, i ? out - head : 0);
			out += MARKER_LEN;
			if (!i)
				head = out;
		}
		/* The CRC includes the markers before it, and no marker interrupts it unseen. */
		if (i == plain_len - FPDU_CRC_LEN)
			put_le32(plain + i, crc32c(dst, out));
		if (out == cap)
			return 0;
		dst[out++] = plain[i];
	}
	return out;
}
