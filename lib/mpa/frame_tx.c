// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sending half: appends FPDUs with their ULPDUs to a batch (RFC 5044 4); the MULPDU. */
#include "mpa/mpa.h"

#include <assert.h>
#include <string.h>

#include "mpa/internal.h"

#include "wire/crc32c.h"

/*
 * Payload up to this length is copied after its header, because one more run of octets costs the
 * sender more than the copy. CPU time for one FPDU with CRC, batches of 256 KiB through sendmsg and
 * TCP over veth (ns, copied / referred to):
 *
 *     payload          50       114      242      498        754        1010       1428
 *     in cache                                    140 / 192  217 / 242  253 / 290  294 / 312
 *     not in cache     37 / 100 60 / 136 98 / 143 135 / 176  275 / 233  348 / 289  470 / 393
 */
#define REFER_MIN 512

/*
 * Up to this size, a copy followed by one CRC over the whole FPDU is faster than copying and
 * summing in pieces.
 */
#define COPY_FIRST_MAX 4096

bool iw_mpa_may_send(const struct iw_mpa *m)
{
	return m->tx.open && m->out_sent == m->out_len;
}

void iw_mpa_set_emss(struct iw_mpa *m, size_t emss)
{
	m->tx.emss = emss;
}

/* True if both ends have sent a block, so ULPDUs may exceed the MSS. */
static bool large_agreed(const struct iw_mpa *m)
{
	return m->cfg.max_ulpdu > 0 && m->agreed.peer_max_ulpdu > 0;
}

bool iw_mpa_aligned(const struct iw_mpa *m)
{
	return !m->cfg.unaligned && !large_agreed(m);
}

size_t iw_mpa_mulpdu_now(const struct iw_mpa *m)
{
	size_t by_emss = iw_wire_mpa_mulpdu(m->tx.emss, m->agreed.tx_markers);

	if (!large_agreed(m))
		return by_emss;
	/*
	 * iw_mpa_check_cfg() has checked our limit. The peer's may have any value, even one below
	 * 128.
	 */
	return IW_MAX(by_emss, (size_t)IW_MIN(m->cfg.max_ulpdu, m->agreed.peer_max_ulpdu));
}

/* Returns the octets of the next FPDU in the stream, if its ULPDU has that many octets. */
static size_t fpdu_len(const struct iw_mpa *m, size_t ulpdu)
{
	return m->agreed.tx_markers ? iw_wire_mpa_fpdu_len_marked((uint32_t)m->tx.pos, ulpdu)
				    : iw_mpa_fpdu_len(ulpdu);
}

/* --- alignment (RFC 5044 5.1) ----------------------------------------------------------------- */

/*
 * Each FPDU begins a TCP segment. After an FPDU of exactly EMSS octets this happens by itself;
 * after any other, TCP needs MSG_EOR.
 */
static void align(const struct iw_mpa *m, struct iw_txbuf *t, size_t fpdu)
{
	if (iw_mpa_aligned(m))
		t->eor = fpdu != m->tx.emss;
}

size_t iw_mpa_room(const struct iw_mpa *m, const struct iw_txbuf *t)
{
	size_t max = iw_mpa_mulpdu_now(m);

	if (t->bytes >= IW_TXBUF_BATCH || t->eor)
		return 0;
	return iw_txbuf_has_room(t, fpdu_len(m, max), IW_MPA_PAYLOAD_VECS + 2) ? max : 0;
}

/* --- one FPDU --------------------------------------------------------------------------------- */

struct ulpdu {
	const uint8_t *hdr;
	size_t hdr_len;
	const struct iw_vec *payload;
	size_t npayload;
	size_t payload_len, len;
};

static uint8_t *put(uint8_t *p, const void *src, size_t len)
{
	if (len)
		memcpy(p, src, len);
	return p + len;
}

static uint8_t *put_head(uint8_t *p, const struct ulpdu *d)
{
	iw_put_be16(p, (uint16_t)d->len);
	return put(p + IW_MPA_HEAD_LEN, d->hdr, d->hdr_len);
}

/* Appends an FPDU that refers to the payload. Only the rest of it is in the arena. */
static void lay_referring(struct iw_mpa *m, struct iw_txbuf *t, const struct ulpdu *d)
{
	size_t pad = iw_mpa_pad(d->len);
	uint8_t *p = iw_txbuf_grow(t, IW_MPA_HEAD_LEN + d->hdr_len);
	uint32_t crc = 0;

	put_head(p, d);
	if (m->agreed.crc)
		crc = iw_crc32c(0, p, IW_MPA_HEAD_LEN + d->hdr_len);
	for (size_t i = 0; i < d->npayload; i++) {
		if (m->agreed.crc)
			crc = iw_crc32c(crc, d->payload[i].base, d->payload[i].len);
		iw_txbuf_refer(t, d->payload[i].base, d->payload[i].len);
	}
	p = iw_txbuf_grow(t, pad + IW_MPA_CRC_LEN);
	memset(p, 0, pad);
	if (m->agreed.crc && pad)
		crc = iw_crc32c(crc, p, pad);
	iw_put_le32(p + pad, crc);
}

/* Writes the whole FPDU, with a copy of the payload, to start. */
static void lay_copying(struct iw_mpa *m, uint8_t *start, const struct ulpdu *d)
{
	bool copy_first = !m->agreed.crc || d->payload_len <= COPY_FIRST_MAX;
	size_t pad = iw_mpa_pad(d->len);
	uint8_t *p = put_head(start, d), *summed = start;
	uint32_t crc = 0;

	if (copy_first) {
		for (size_t i = 0; i < d->npayload; i++)
			p = put(p, d->payload[i].base, d->payload[i].len);
	} else {
		crc = iw_crc32c(0, start, (size_t)(p - start));
		for (size_t i = 0; i < d->npayload; i++) {
			crc = iw_crc32c_copy(crc, p, d->payload[i].base, d->payload[i].len);
			p += d->payload[i].len;
		}
		summed = p;
	}
	memset(p, 0, pad);
	p += pad;
	if (m->agreed.crc)
		crc = iw_crc32c(crc, summed, (size_t)(p - summed));
	iw_put_le32(p, crc);
}

/*
 * An FPDU with markers that is being written to p. pos: its position in the stream; off: octets
 * written so far; head: offset of ULPDU_Length, 4 after a marker and otherwise 0.
 */
struct marked {
	uint8_t *p;
	uint64_t pos;
	size_t off, head;
};

static size_t phase(const struct marked *k)
{
	return (k->pos + k->off) % IW_MPA_MARKER_SPACING;
}

/* RFC 5044 4.3: FPDUPTR is 0 in a marker before ULPDU_Length, else the distance back to it. */
static void put_marker(struct marked *k)
{
	struct iw_mpa_marker mk = { .fpduptr = (uint16_t)(k->off - k->head) };

	if (k->off == 0) {
		mk.fpduptr = 0;
		k->head = IW_MPA_MARKER_LEN;
	}
	iw_wire_mpa_marker_encode(k->p + k->off, IW_MPA_MARKER_LEN, &mk);
	k->off += IW_MPA_MARKER_LEN;
}

static void put_marked(struct marked *k, const void *src, size_t len)
{
	const uint8_t *from = src;

	while (len) {
		size_t n;

		if (phase(k) == 0)
			put_marker(k);
		n = IW_MIN(len, IW_MPA_MARKER_SPACING - phase(k));
		memcpy(k->p + k->off, from, n);
		k->off += n;
		from += n;
		len -= n;
	}
}

static void lay_marked(struct iw_mpa *m, uint8_t *p, const struct ulpdu *d)
{
	static const uint8_t zeros[4];
	struct marked k = { .p = p, .pos = m->tx.pos };
	uint8_t length[IW_MPA_HEAD_LEN];

	iw_put_be16(length, (uint16_t)d->len);
	put_marked(&k, length, sizeof(length));
	put_marked(&k, d->hdr, d->hdr_len);
	for (size_t i = 0; i < d->npayload; i++)
		put_marked(&k, d->payload[i].base, d->payload[i].len);
	put_marked(&k, zeros, iw_mpa_pad(d->len));
	/*
	 * A marker between PAD and CRC belongs to this FPDU, one after the CRC to the next
	 * (RFC 5044 4.4).
	 */
	if (phase(&k) == 0)
		put_marker(&k);
	iw_put_le32(p + k.off, m->agreed.crc ? iw_crc32c(0, p, k.off) : 0);
}

size_t iw_mpa_wrap(struct iw_mpa *m, struct iw_txbuf *t, const uint8_t *hdr, size_t hdr_len,
		   const struct iw_vec *payload, size_t npayload, bool copy)
{
	struct ulpdu d = {
		.hdr = hdr, .hdr_len = hdr_len, .payload = payload, .npayload = npayload
	};
	size_t fpdu;
	bool refer;

	assert(iw_mpa_may_send(m) && npayload <= IW_MPA_PAYLOAD_VECS);
	for (size_t i = 0; i < npayload; i++)
		d.payload_len += payload[i].len;
	d.len = hdr_len + d.payload_len;
	assert(d.len >= IW_MPA_ULPDU_MIN && d.len <= IW_MPA_ULPDU_MAX);
	fpdu = fpdu_len(m, d.len);
	refer = !copy && !m->agreed.tx_markers && d.payload_len > REFER_MIN;
	if (t->bytes >= IW_TXBUF_BATCH || t->eor ||
	    !iw_txbuf_has_room(t, refer ? fpdu - d.payload_len : fpdu, refer ? npayload + 2 : 1))
		return 0;
	if (refer)
		lay_referring(m, t, &d);
	else if (m->agreed.tx_markers)
		lay_marked(m, iw_txbuf_grow(t, fpdu), &d);
	else
		lay_copying(m, iw_txbuf_grow(t, fpdu), &d);
	m->tx.pos += fpdu;
	align(m, t, fpdu);
	return fpdu;
}
