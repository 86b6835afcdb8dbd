// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Divides both directions of an MPA connection into units (RFC 5044), and places markers. */
#include "ddp-impair/rules/framer.h"

#include <string.h>

#include "util/num.h"
#include "wire/crc32c.h"
#include "wire/mpa.h"

void iw_framer_init(struct iw_framer *f, uint32_t conn)
{
	*f = (struct iw_framer){ .conn = conn };
}

/* --- markers --- */

/*
 * One run of octets up to the next marker. The walk starts before the first octet of an FPDU, at
 * position pos; done octets of it were passed.
 */
struct walk {
	uint32_t pos, head; /* the next octet; ULPDU_Length */
	size_t done, len;
	bool mark; /* a marker is before the run, with fpduptr */
	uint16_t fpduptr;
};

/* Returns the octets of the next run; 0 without a marker: the end. */
static size_t next_run(struct walk *w)
{
	size_t n;

	w->mark = false;
	if (w->done == w->len)
		return 0;
	if (w->pos % IW_MPA_MARKER_SPACING == 0) {
		w->mark = true;
		w->fpduptr = w->done ? (uint16_t)(w->pos - w->head) : 0;
		w->pos += IW_MPA_MARKER_LEN;
	}
	if (w->done == 0)
		w->head = w->pos;
	n = IW_MIN(w->len - w->done,
		   (size_t)(IW_MPA_MARKER_SPACING - w->pos % IW_MPA_MARKER_SPACING));
	w->done += n;
	w->pos += (uint32_t)n;
	return n;
}

void iw_framer_unmark(const struct iw_unit *u, uint8_t *dst, const uint8_t *p)
{
	struct walk w = { .pos = u->pos, .len = u->len };
	size_t n;

	if (!u->markers) {
		memcpy(dst, p, u->len);
		return;
	}
	while ((n = next_run(&w))) {
		p += w.mark ? IW_MPA_MARKER_LEN : 0;
		memcpy(dst, p, n);
		dst += n;
		p += n;
	}
}

size_t iw_framer_mark(uint8_t *dst, const uint8_t *src, size_t len, uint32_t pos)
{
	struct walk w = { .pos = pos, .len = len };
	struct iw_mpa_marker m = { 0 };
	size_t n, out = 0;

	while ((n = next_run(&w))) {
		if (w.mark && dst) {
			m.fpduptr = w.fpduptr;
			(void)iw_wire_mpa_marker_encode(dst + out, IW_MPA_MARKER_LEN, &m);
		}
		out += w.mark ? IW_MPA_MARKER_LEN : 0;
		if (dst)
			memcpy(dst + out, src, n);
		src += n;
		out += n;
	}
	return out;
}

uint32_t iw_framer_crc(const uint8_t *src, size_t len, bool markers, uint32_t pos)
{
	struct walk w = { .pos = pos, .len = len };
	struct iw_mpa_marker m = { 0 };
	uint8_t mark[IW_MPA_MARKER_LEN];
	uint32_t crc = 0;
	size_t n, left = len < IW_MPA_CRC_LEN ? 0 : len - IW_MPA_CRC_LEN;

	if (!markers)
		return iw_crc32c(0, src, left);
	/* The marker before the CRC field is covered, the field is not. */
	while ((n = next_run(&w))) {
		if (w.mark) {
			m.fpduptr = w.fpduptr;
			(void)iw_wire_mpa_marker_encode(mark, sizeof(mark), &m);
			crc = iw_crc32c(crc, mark, sizeof(mark));
		}
		n = IW_MIN(n, left);
		crc = iw_crc32c(crc, src, n);
		src += n;
		left -= n;
	}
	return crc;
}

/* --- start-up --- */

/* The octets are no unit of MPA. */
static bool is_opaque(struct iw_unit *u, size_t len)
{
	u->kind = IW_UNIT_OCTETS;
	u->ops = 0;
	u->headers = u->header_len = u->trailer_len = 0;
	u->markers = u->sealed = false;
	u->wire_len = (uint32_t)IW_MIN(len, (size_t)IW_FRAMER_OCTETS);
	u->len = u->have = u->wire_len;
	return len > 0;
}

static bool peek_start(const uint8_t *p, size_t len, bool end, struct iw_unit *u)
{
	const char *key = u->from == IW_UNIT_INITIATOR ? IW_MPA_REQUEST_KEY : IW_MPA_REPLY_KEY;

	if (memcmp(p, key, IW_MIN(len, (size_t)IW_MPA_KEY_LEN)) != 0)
		return is_opaque(u, len);
	if (len < IW_MPA_FRAME_LEN)
		return end && is_opaque(u, len);
	iw_unit_read_mpa(u, u->from == IW_UNIT_INITIATOR ? IW_UNIT_REQUEST : IW_UNIT_REPLY);
	u->wire_len = (uint32_t)u->len;
	u->have = IW_MIN(len, u->len);
	return end && len < u->wire_len ? is_opaque(u, len) : true;
}

/* --- FPDUs --- */

/* Copies the head of the FPDU without markers. Returns its octets. */
static size_t read_head(struct iw_framer_dir *d, const uint8_t *p, size_t len)
{
	struct walk w = { .pos = d->pos, .len = IW_UNIT_HEAD };
	size_t n, out = 0, used = 0;

	while ((n = next_run(&w))) {
		used += w.mark ? IW_MPA_MARKER_LEN : 0;
		if (used >= len)
			break;
		n = IW_MIN(n, len - used);
		memcpy(d->head + out, p + used, n);
		out += n;
		used += n;
	}
	return out;
}

static bool peek_fpdu(struct iw_framer_dir *d, const uint8_t *p, size_t len, bool end,
		      struct iw_unit *u)
{
	const uint8_t *octets = u->markers ? d->head : p;
	size_t head = u->markers ? read_head(d, p, len) : len, ulpdu;

	if (head < IW_MPA_HEAD_LEN)
		return end && is_opaque(u, len);
	ulpdu = iw_get_be16(octets);
	u->wire_len = u->markers ? (uint32_t)iw_wire_mpa_fpdu_len_marked(d->pos, ulpdu)
				 : (uint32_t)iw_mpa_fpdu_len(ulpdu);
	if (len < u->wire_len && end)
		return is_opaque(u, len);
	if (len < u->wire_len && head < IW_UNIT_HEAD)
		return false;
	u->pos = d->pos;
	u->octets = octets;
	u->have = IW_MIN(head, iw_mpa_fpdu_len(ulpdu));
	iw_unit_read_fpdu(u);
	return true;
}

bool iw_framer_peek(struct iw_framer *f, unsigned from, const uint8_t *p, size_t len, bool end,
		    uint64_t now_ns, struct iw_unit *u)
{
	struct iw_framer_dir *d = &f->dir[from], *other = &f->dir[!from];

	*u = (struct iw_unit){ .from = (uint8_t)from,
			       .conn = f->conn,
			       .number = d->number + 1,
			       .at_ns = now_ns,
			       .octets = p,
			       .have = len };
	if (len == 0)
		return false;
	switch (d->phase) {
	case IW_FRAMER_START:
		return peek_start(p, len, end, u);
	case IW_FRAMER_FPDU:
		if (!other->begun && other->phase == IW_FRAMER_START)
			return end && is_opaque(u, len);
		if (!other->begun)
			return is_opaque(u, len);
		u->markers = other->m;
		u->sealed = d->c_sent || other->c;
		return peek_fpdu(d, p, len, end, u);
	case IW_FRAMER_OPAQUE:
		return is_opaque(u, len);
	}
	return false;
}

static void take_start(struct iw_framer *f, const struct iw_unit *u, const uint8_t *frame)
{
	struct iw_framer_dir *d = &f->dir[u->from];
	uint8_t sent = u->octets[IW_MPA_KEY_LEN], flags = frame ? frame[IW_MPA_KEY_LEN] : sent;

	d->begun = true;
	d->m = flags & IW_MPA_M;
	d->c = flags & IW_MPA_C;
	d->c_sent = sent & IW_MPA_C;
	d->phase = IW_FRAMER_FPDU;
	/* RFC 5044 7.1.2: no FPDU follows a rejection. */
	if (u->kind == IW_UNIT_REPLY && flags & IW_MPA_R)
		f->dir[0].phase = f->dir[1].phase = IW_FRAMER_OPAQUE;
}

void iw_framer_take(struct iw_framer *f, const struct iw_unit *u, const uint8_t *frame)
{
	struct iw_framer_dir *d = &f->dir[u->from];

	d->number++;
	switch (u->kind) {
	case IW_UNIT_REQUEST:
	case IW_UNIT_REPLY:
		take_start(f, u, frame);
		break;
	case IW_UNIT_FPDU:
		d->pos += u->wire_len;
		break;
	default:
		d->phase = IW_FRAMER_OPAQUE;
		break;
	}
}
