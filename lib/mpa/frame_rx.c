// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The receiving half: octets in, checked ULPDUs out (RFC 5044 5.2 and 6).
 *
 * FPDUs are checked in scratch. An FPDU that a read has split moves to a spill buffer at the end of
 * the read, and the next read puts its rest after it. The spill buffer is reserved before each
 * read, so that octets taken from TCP always have a place.
 */
#include "mpa/mpa.h"

#include <assert.h>
#include <string.h>

#include "mpa/internal.h"

#include "wire/crc32c.h"

/* Octets. Up to this size, moving a split FPDU costs less than shortening the read would. */
#define SMALL_FPDU 4096

static bool full_operation(const struct iw_mpa *m)
{
	return m->state == IW_MPA_FULL || m->state == IW_MPA_FULL_RX;
}

/* Offsets in the FPDU at rx.pos, which begins with a marker if one is due there. */
struct extent {
	size_t head;  /* ULPDU_Length */
	size_t ulpdu; /* the value of ULPDU_Length */
	size_t total; /* octets up to the end of the CRC, including markers */
};

static size_t head_offset(const struct iw_mpa *m)
{
	bool marker = m->agreed.rx_markers && m->rx.pos % IW_MPA_MARKER_SPACING == 0;

	return marker ? IW_MPA_MARKER_LEN : 0;
}

/*
 * Returns false if the have octets at p do not contain ULPDU_Length; x->head is always set. The
 * length of an FPDU is a multiple of four, so no marker splits ULPDU_Length or the CRC.
 */
static bool measure(const struct iw_mpa *m, const uint8_t *p, size_t have, struct extent *x)
{
	x->head = head_offset(m);
	if (have < x->head + IW_MPA_HEAD_LEN)
		return false;
	x->ulpdu = iw_get_be16(p + x->head);
	x->total = m->agreed.rx_markers ? iw_wire_mpa_fpdu_len_marked((uint32_t)m->rx.pos, x->ulpdu)
					: iw_mpa_fpdu_len(x->ulpdu);
	return true;
}

/* --- where received octets go ----------------------------------------------------------------- */

/*
 * Returns the octets that complete the FPDU in the spill buffer or, as long as its ULPDU_Length is
 * incomplete, those that complete ULPDU_Length.
 */
static size_t spill_lacks(const struct iw_mpa *m)
{
	struct extent x;

	if (!measure(m, m->rx.spill, m->rx.spilled, &x))
		return x.head + IW_MPA_HEAD_LEN - m->rx.spilled;
	return x.total - m->rx.spilled;
}

/*
 * Returns cap, rounded down to a multiple of the last FPDU's length if that is long. The read then
 * ends with the end of an FPDU if all have the same length.
 */
static size_t whole_fpdus(const struct mpa_rx *rx, size_t cap)
{
	if (rx->last_fpdu > SMALL_FPDU && rx->last_fpdu <= cap)
		return cap - cap % rx->last_fpdu;
	return cap;
}

int iw_mpa_rx_vec(struct iw_mpa *m, struct iw_vec scratch, struct iw_vec vec[2])
{
	struct mpa_rx *rx = &m->rx;
	int n = 0;

	if (!full_operation(m))
		return iw_mpa_startup_rx_vec(m, vec);
	assert(scratch.len > 0 && rx->cur == rx->end);
	if (!rx->spill)
		rx->spill = iw_pool_get(m->cfg.spill);
	if (!rx->spill)
		return IW_E_NOMEM;
	rx->to_spill = 0;
	if (rx->spilled > 0) {
		rx->to_spill = spill_lacks(m);
		vec[n++] = (struct iw_vec){ .base = rx->spill + rx->spilled, .len = rx->to_spill };
	}
	rx->cur = rx->end = scratch.base;
	scratch.len = whole_fpdus(rx, scratch.len);
	vec[n++] = scratch;
	rx->asked = rx->to_spill + scratch.len;
	return n;
}

void iw_mpa_received(struct iw_mpa *m, size_t bytes)
{
	struct mpa_rx *rx = &m->rx;
	size_t first = IW_MIN(bytes, rx->to_spill);

	assert(bytes <= rx->asked);
	rx->asked -= bytes;
	if (!full_operation(m)) {
		m->in_len += bytes;
		return;
	}
	rx->spilled += first;
	rx->to_spill -= first;
	if (bytes > first)
		rx->end += bytes - first;
}

/*
 * Returns true if the caller stopped too early: for the `left` octets in scratch, iw_mpa_next()
 * would have returned a unit or a fault.
 */
static bool stopped_early(const struct iw_mpa *m, size_t left)
{
	struct extent x;

	if (left == 0)
		return false;
	if (m->rx.spilled > 0)
		return true;
	return measure(m, m->rx.cur, left, &x) && (left >= x.total || x.ulpdu > IW_MPA_ULPDU_MAX);
}

void iw_mpa_rx_end(struct iw_mpa *m)
{
	struct mpa_rx *rx = &m->rx;
	size_t left = (size_t)(rx->end - rx->cur);

	if (iw_unlikely(stopped_early(m, left))) {
		iw_mpa_failed(m, IW_E_CANCELED, NULL);
		left = 0;
	}
	/*
	 * The rest is a part of one FPDU. Its ULPDU_Length is incomplete or valid, so the FPDU fits
	 * the spill buffer.
	 */
	if (left > 0) {
		memcpy(rx->spill, rx->cur, left);
		rx->spilled = left;
	}
	rx->cur = rx->end = NULL;
	if (rx->spill && rx->spilled == 0) {
		iw_pool_put(m->cfg.spill, rx->spill);
		rx->spill = NULL;
	}
}

/* --- one FPDU --------------------------------------------------------------------------------- */

/* RFC 5044 3. Reported as soon as ULPDU_Length is known, since the octets may never arrive. */
static int too_long(const struct extent *x, struct iw_fault *why)
{
	int ret = iw_fail(why, IW_E_MPA_LOCAL, "mpa: ULPDU_Length %u: expected at most %u",
			  (uint32_t)x->ulpdu, (uint32_t)IW_MPA_ULPDU_MAX);

	if (why)
		why->clause = "RFC 5044 3";
	return ret;
}

/*
 * RFC 5041 4. MPA has no error code for this; 2/0/05 is the closest, since the FPDU itself is
 * valid.
 */
static int too_short(const struct extent *x, struct iw_fault *why)
{
	int ret = iw_fail(why, IW_E_MPA_LOCAL,
			  "mpa: ULPDU_Length %u: expected at least %u, a DDP header",
			  (uint32_t)x->ulpdu, (uint32_t)IW_MPA_ULPDU_MIN);

	if (why)
		why->clause = "RFC 5041 4";
	return ret;
}

/* Moves octets from scratch to the spill buffer until it has `want` octets or scratch is empty. */
static void top_up(struct mpa_rx *rx, size_t want)
{
	size_t n = IW_MIN(want - IW_MIN(want, rx->spilled), (size_t)(rx->end - rx->cur));

	if (n == 0)
		return;
	memcpy(rx->spill + rx->spilled, rx->cur, n);
	rx->spilled += n;
	rx->cur += n;
}

/* Sets *at to the next FPDU, contiguous. Returns 1 if it is complete, 0 if not, or a fault. */
static int locate(struct iw_mpa *m, uint8_t **at, struct extent *x, struct iw_fault *why)
{
	struct mpa_rx *rx = &m->rx;
	size_t have = (size_t)(rx->end - rx->cur);

	*at = rx->cur;
	if (iw_unlikely(rx->spilled > 0)) {
		*at = rx->spill;
		top_up(rx, head_offset(m) + IW_MPA_HEAD_LEN);
		have = rx->spilled;
	}
	if (!measure(m, *at, have, x))
		return 0;
	if (iw_unlikely(x->ulpdu > IW_MPA_ULPDU_MAX))
		return too_long(x, why);
	if (rx->spilled > 0) {
		top_up(rx, x->total);
		have = rx->spilled;
	}
	return have >= x->total;
}

/*
 * RFC 5044 4.3 and 8: each marker points to ULPDU_Length. The low two bits of FPDUPTR and the
 * reserved field are ignored.
 */
static int check_markers(const struct iw_mpa *m, const uint8_t *at, const struct extent *x,
			 struct iw_fault *why)
{
	size_t phase = m->rx.pos % IW_MPA_MARKER_SPACING;
	size_t off = phase ? IW_MPA_MARKER_SPACING - phase : 0;

	for (; off < x->total; off += IW_MPA_MARKER_SPACING) {
		size_t expected = off == 0 ? 0 : off - x->head;
		struct iw_mpa_marker mk;

		iw_wire_mpa_marker_decode(&mk, at + off, IW_MPA_MARKER_LEN);
		if ((mk.fpduptr & ~3u) != expected)
			return iw_fail(why, IW_E_MPA_MARKER,
				       "mpa: FPDUPTR of the marker at octet %U is %u, expected %u",
				       m->rx.pos + off, (uint32_t)mk.fpduptr, (uint32_t)expected);
	}
	return 0;
}

/* Closes the gaps that markers leave in the ULPDU, whose first octet is at + off. */
static void strip_markers(const struct iw_mpa *m, uint8_t *at, size_t off, size_t len)
{
	uint8_t *to = at + off;

	while (len) {
		size_t phase = (m->rx.pos + off) % IW_MPA_MARKER_SPACING;
		size_t n = IW_MIN(len, IW_MPA_MARKER_SPACING - phase);

		if (phase == 0) {
			off += IW_MPA_MARKER_LEN;
			n = IW_MIN(len, (size_t)IW_MPA_MARKER_SPACING - IW_MPA_MARKER_LEN);
		}
		if (to != at + off)
			memmove(to, at + off, n);
		to += n;
		off += n;
		len -= n;
	}
}

static int check_fpdu(const struct iw_mpa *m, const uint8_t *at, const struct extent *x,
		      struct iw_fault *why)
{
	if (m->agreed.crc) {
		const uint8_t *field = at + x->total - IW_MPA_CRC_LEN;
		uint32_t crc = iw_crc32c(0, at, x->total - IW_MPA_CRC_LEN);

		if (iw_unlikely(crc != iw_get_le32(field)))
			return iw_fail(
				why, IW_E_MPA_CRC,
				"mpa: FPDU of %u octets of ULPDU: its CRC is %x, expected %x",
				(uint32_t)x->ulpdu, iw_get_le32(field), crc);
	}
	/* After the CRC: error 3 is defined for FPDUs with a valid CRC (RFC 5044 8). */
	if (m->agreed.rx_markers) {
		int ret = check_markers(m, at, x, why);

		if (ret < 0)
			return ret;
	}
	if (iw_unlikely(x->ulpdu < IW_MPA_ULPDU_MIN))
		return too_short(x, why);
	return 0;
}

static int next_fpdu(struct iw_mpa *m, struct iw_mpa_unit *u, struct iw_fault *why)
{
	struct mpa_rx *rx = &m->rx;
	struct extent x;
	uint8_t *at;
	int ret = locate(m, &at, &x, why);

	if (ret == 0)
		return 0;
	if (ret > 0)
		ret = check_fpdu(m, at, &x, why);
	if (iw_unlikely(ret < 0))
		return iw_mpa_failed(m, ret, why);
	if (m->agreed.rx_markers)
		strip_markers(m, at, x.head + IW_MPA_HEAD_LEN, x.ulpdu);
	*u = (struct iw_mpa_unit){
		.kind = IW_MPA_UNIT_ULPDU,
		.data = at + x.head + IW_MPA_HEAD_LEN,
		.len = x.ulpdu,
		.pos = rx->pos,
		.fpdu_len = x.total,
	};
	/* u->data stays valid until the read ends: neither buffer is overwritten before. */
	if (rx->spilled > 0)
		rx->spilled = 0;
	else
		rx->cur += x.total;
	rx->pos += x.total;
	rx->last_fpdu = x.total;
	if (!m->agreed.rx_markers && rx->end - rx->cur > IW_MPA_HEAD_LEN) {
		u->ahead = rx->cur + IW_MPA_HEAD_LEN;
		u->ahead_len = (size_t)(rx->end - rx->cur) - IW_MPA_HEAD_LEN;
	}
	if (iw_unlikely(m->state == IW_MPA_FULL_RX)) {
		m->tx.open = true;
		iw_mpa_set_state(m, IW_MPA_FULL);
	}
	return 1;
}

int iw_mpa_next(struct iw_mpa *m, struct iw_mpa_unit *u, struct iw_fault *why)
{
	if (iw_likely(full_operation(m)))
		return next_fpdu(m, u, why);
	if (m->state == IW_MPA_FAILED)
		return iw_fail(why, m->err, "mpa: nothing more is received after an earlier error");
	return iw_mpa_startup_next(m, u, why);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The peer closed the connection before its Reply was complete. */
static int no_reply(const struct iw_mpa *m, struct iw_fault *why)
{
	if (m->in_len > 0)
		return iw_fail(
			why, IW_E_MPA_LOST,
			"the peer closed the connection after %u octets of its MPA Reply; is it an iWARP listener?",
			(uint32_t)m->in_len);
	return iw_fail(
		why, IW_E_MPA_LOST,
		"the peer closed the connection before it answered the MPA Request%s; is the port (-p) that of an iWARP listener?",
		m->retry_rev1 ? " of revision 2: use --rev 1 if the peer has it" : "");
}

static int lost(struct iw_mpa *m, struct iw_fault *why)
{
	struct mpa_rx *rx = &m->rx;

	switch (m->state) {
	case IW_MPA_FULL_RX:
	case IW_MPA_FULL:
		if (rx->spilled == 0)
			return 0;
		return iw_fail(
			why, IW_E_MPA_LOST,
			"mpa: the connection ended %U octets into an FPDU, at least %U before its end",
			(uint64_t)rx->spilled, (uint64_t)spill_lacks(m));
	case IW_MPA_STREAMING:
		return 0;
	case IW_MPA_WAIT_REPLY:
		/* RFC 6581 10: a peer without Rev 2 sees a malformed Request, and closes. */
		m->retry_rev1 = m->cfg.rev >= 2 && m->in_len == 0 && m->out_sent == m->out_len;
		return no_reply(m, why);
	case IW_MPA_WAIT_REQUEST:
		return iw_fail(
			why, IW_E_MPA_LOST,
			"mpa: the peer closed the connection after %u octets of an MPA Request",
			(uint32_t)m->in_len);
	case IW_MPA_IDLE:
	case IW_MPA_DECIDING:
	case IW_MPA_FAILED:
		break;
	}
	return iw_fail(why, IW_E_MPA_LOST,
		       "mpa: the peer closed the connection before this end answered its Request");
}

int iw_mpa_rx_eof(struct iw_mpa *m, struct iw_fault *why)
{
	int ret;

	if (m->state == IW_MPA_FAILED)
		return iw_fail(why, m->err, "mpa: nothing more is received after an earlier error");
	ret = lost(m, why);
	return ret < 0 ? iw_mpa_failed(m, ret, why) : 0;
}
