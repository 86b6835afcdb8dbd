// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * FPDUs and markers (RFC 5044 4). An FPDU is not reassembled, unless its payload is wanted: only
 * its first octets are kept, and its CRC is computed as the octets arrive. So an FPDU of any size,
 * in any number of TCP segments, needs little memory.
 *
 * When the boundaries are lost, the next FPDU is searched where a marker points, or at the start of
 * a TCP segment. An FPDU found there is not reported until its CRC proves it.
 */
#include "ddp-dump/internal.h"

#include <string.h>

#include "wire/crc32c.h"

#define MARK_MASK 0xfffcu /* RFC 5044 4.3: the receiver ignores the low two bits of FPDUPTR */

/* Frees the octets of the FPDU. */
static void body_free(struct iw_cap *c, struct fpdus *w)
{
	iw_mem_free(c->mem, w->body_own, w->body_size);
	c->body_octets -= w->body_size;
	w->body = w->body_own = NULL;
	w->body_len = w->body_size = 0;
}

void iw_cap_fpdu_drop(struct iw_cap *c, struct fpdus *w)
{
	body_free(c, w);
	iw_mem_free(c->mem, w->list, IW_CAP_MARKS_MAX * sizeof(*w->list));
	w->list = NULL;
}

void iw_cap_fpdu_start(struct fpdus *w, bool markers, bool markers_known)
{
	struct iw_cap_mark *list = w->list;
	uint8_t *own = w->body_own;
	size_t size = w->body_size;

	*w = (struct fpdus){ .markers = markers,
			     .markers_known = markers_known,
			     .pos_known = true,
			     .list = list,
			     .body_own = own,
			     .body_size = size };
	iw_cap_order_start(&w->order);
}

void iw_cap_fpdu_resync(struct flow *f, unsigned d)
{
	struct fpdus *w = &f->mpa->fpdus[d];

	if (w->begun)
		w->skipped += w->pos - w->start - w->missing;
	w->begun = false;
	w->replay_len = w->replay_at = 0;
	w->buf_len = 0;
	iw_cap_order_forget(&w->order);
	/* The places of markers count from the first octet of full operation, which is unknown. */
	if (w->markers && !w->pos_known) {
		iw_cap_set_phase(&f->dir[d], PHASE_PLAIN);
		return;
	}
	iw_cap_set_phase(&f->dir[d], PHASE_RESYNC);
}

static struct fpdus *fpdus_of(struct flow *f, unsigned d)
{
	return &f->mpa->fpdus[d];
}

static void begin(struct iw_cap *c, struct fpdus *w, const struct run *r, uint32_t off)
{
	body_free(c, w);
	w->body_asked = false;
	w->begun = true;
	w->off = off;
	w->segments = 1;
	w->start = w->pos;
	w->start_frame = w->last_frame = r->frame;
	w->got = w->need = 0;
	w->crc = 0;
	w->pad_not_zero = false;
	w->missing = 0;
	w->mark_missing = false;
	w->marks = w->bad_marks = 0;
	w->head_len = 0;
}

/* --- the end of an FPDU --- */

static enum iw_cap_crc crc_verdict(struct mpa *mpa, const struct fpdus *w)
{
	bool good = iw_get_le32(w->crc_wire) == w->crc;

	if (mpa->crc == CRC_OFF)
		return IW_CAP_CRC_OFF;
	if (w->missing)
		return IW_CAP_CRC_ABSENT;
	/* The captured start-up frame has C = 0; the missing one may have C = 1. A correct CRC
	 * field is no coincidence. */
	if (mpa->crc == CRC_UNKNOWN)
		mpa->crc = good ? CRC_ON : CRC_OFF;
	if (mpa->crc == CRC_OFF)
		return IW_CAP_CRC_OFF;
	return good ? IW_CAP_CRC_GOOD : IW_CAP_CRC_BAD;
}

/* The octets at a place that is not certain are an FPDU. */
static bool is_proved(const struct fpdus *w, enum iw_cap_crc crc, enum shape shape,
		      enum iw_cap_why *why)
{
	bool summed = !w->missing && iw_get_le32(w->crc_wire) == w->crc;

	*why = w->tentative == BY_MARKER ? IW_CAP_WHY_MARKER : IW_CAP_WHY_CRC;
	if (w->tentative == AFTER_INVALID)
		return summed || shape == SHAPE_STRICT;
	if (w->missing || shape == SHAPE_NONE || w->bad_marks)
		return false;
	if (summed || crc != IW_CAP_CRC_OFF)
		return summed;
	if (w->tentative == BY_SEGMENT) {
		*why = IW_CAP_WHY_SHAPE;
		return shape == SHAPE_STRICT && iw_get_be32(w->crc_wire) == 0;
	}
	return shape == SHAPE_STRICT;
}

static void report_resync(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r,
			  enum iw_cap_why why)
{
	struct fpdus *w = fpdus_of(f, d);
	struct iw_cap_event *ev = iw_cap_event_new(c, IW_CAP_TCP, f, d, r->time_ns, r->frame);

	ev->tcp.kind = IW_CAP_TCP_RESYNC;
	ev->tcp.why = why;
	ev->tcp.seq = f->dir[d].next;
	ev->tcp.octets = w->skipped;
	ev->tcp.sync = true;
	ev->tcp.where = iw_cap_phase_text(PHASE_FPDU);
}

static void report_lost(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	struct fpdus *w = fpdus_of(f, d);
	struct iw_fault *why = iw_cap_event_error(c, f, d, r->time_ns, r->frame);

	iw_fail(why, IW_E_FORMAT,
		"mpa: two FPDUs in a row make no sense: where the next one begins is not known");
	why->clause = "RFC 5044 6";
	why->offset = w->start;
}

static void finish(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	struct fpdus *w = fpdus_of(f, d);
	enum iw_cap_crc crc = crc_verdict(f->mpa, w);
	enum shape shape = iw_cap_segment_shape(w->head, w->head_len, w->ulpdu_len);
	enum iw_cap_why why;

	if (w->tentative != CERTAIN) {
		bool lost = w->tentative == AFTER_INVALID;

		if (!is_proved(w, crc, shape, &why)) {
			if (lost)
				report_lost(c, f, d, r);
			w->tentative = CERTAIN;
			iw_cap_fpdu_resync(f, d);
			return;
		}
		if (!lost) {
			report_resync(c, f, d, r, why);
			c->totals.undecoded_octets += w->skipped;
			w->skipped = 0;
		}
	}
	w->tentative = CERTAIN;
	w->begun = false;
	iw_cap_segment_report(c, f, d, r, crc);
	body_free(c, w);
	/* If the CRC is bad, ULPDU_Length must not be trusted (RFC 5044 6). With a valid header it
	 * is trusted nevertheless: a peer that computes its CRC wrongly is what users search
	 * for. */
	if (crc == IW_CAP_CRC_GOOD || shape == SHAPE_STRICT || w->missing)
		return;
	if (crc == IW_CAP_CRC_BAD || shape == SHAPE_NONE || w->bad_marks)
		w->tentative = AFTER_INVALID;
}

/* --- the octets of an FPDU --- */

/* A marker is complete. */
static void check_mark(struct fpdus *w)
{
	struct iw_mpa_marker m;
	uint64_t at = w->pos - IW_MPA_MARKER_LEN;
	uint32_t expected = w->got ? (uint32_t)(at - w->head_pos) : 0;

	w->marks++;
	(void)iw_wire_mpa_marker_decode(&m, w->mark, w->mark_missing ? 0 : sizeof(w->mark));
	if (w->list && w->marks <= IW_CAP_MARKS_MAX)
		w->list[w->marks - 1] = (struct iw_cap_mark){ (uint32_t)(at - w->start), m };
	if (w->mark_missing)
		return;
	if ((m.fpduptr & MARK_MASK) != (expected & MARK_MASK))
		w->bad_marks++;
}

/* Takes octets of a marker and returns their number. p NULL: they are missing. */
static size_t take_mark(struct fpdus *w, const uint8_t *p, size_t len)
{
	size_t in = w->pos % IW_MPA_MARKER_SPACING;
	size_t n = IW_MIN(len, IW_MPA_MARKER_LEN - in);

	if (in == 0)
		w->mark_missing = false;
	if (p) {
		memcpy(w->mark + in, p, n);
		w->crc = iw_crc32c(w->crc, p, n);
	} else {
		w->mark_missing = true;
		w->missing += n;
	}
	w->pos += n;
	if (in + n == IW_MPA_MARKER_LEN)
		check_mark(w);
	return n;
}

static void check_pad(struct fpdus *w, const uint8_t *p, size_t n)
{
	uint32_t pad = IW_MPA_HEAD_LEN + (uint32_t)w->ulpdu_len;

	for (size_t i = w->got < pad ? pad - w->got : 0; i < n; i++) {
		w->pad[w->got + i - pad] = p[i];
		w->pad_not_zero |= p[i] != 0;
	}
}

/*
 * Keeps n octets at p, which follow w->got others, if the payload of the FPDU is wanted and all
 * earlier octets were kept. The first four octets, in w->head, decide whether it is wanted.
 */
static void keep_body(struct iw_cap *c, const struct mpa *mpa, struct fpdus *w, const uint8_t *p,
		      size_t n)
{
	size_t size = IW_MPA_HEAD_LEN + (size_t)w->ulpdu_len;

	if (!w->body_asked && w->head_len >= IW_MPA_HEAD_LEN + 2 && w->need) {
		w->body_asked = true;
		if (!iw_cap_payload_wanted(c, &mpa->transfer, w->head + IW_MPA_HEAD_LEN, 2) ||
		    size > c->limits.payload_octets -
				    IW_MIN(c->body_octets, c->limits.payload_octets))
			return;
		w->body_own = iw_mem_alloc(c->mem, size);
		if (!w->body_own)
			return;
		w->body_size = size;
		c->body_octets += size;
		w->body = w->body_own;
		/* If ULPDU_Length is below 2, w->got includes padding. */
		w->body_len = IW_MIN((size_t)w->got, size);
		memcpy(w->body_own, w->head, w->body_len);
	}
	if (!w->body_own || w->body_len != w->got || w->body_len >= size)
		return;
	n = IW_MIN(n, size - w->body_len);
	memcpy(w->body_own + w->body_len, p, n);
	w->body_len += n;
}

/* Takes octets up to the next marker or field, and returns their number. p NULL: they are
 * missing. */
static size_t take_body(struct iw_cap *c, const struct mpa *mpa, struct fpdus *w, const uint8_t *p,
			size_t len)
{
	uint32_t body = w->need ? w->need - IW_MPA_CRC_LEN : IW_MPA_HEAD_LEN;
	bool in_crc = w->need && w->got >= body;
	size_t n = IW_MIN(len, (size_t)((in_crc ? w->need : body) - w->got));

	if (w->got == 0)
		w->head_pos = w->pos;
	if (w->markers)
		n = IW_MIN(n, IW_MPA_MARKER_SPACING - w->pos % IW_MPA_MARKER_SPACING);
	if (!p) {
		w->missing += n;
	} else if (in_crc) {
		memcpy(w->crc_wire + (w->got - body), p, n);
	} else {
		/* w->head ends at the first hole. */
		if (w->head_len == w->got && w->got < HEAD_MAX) {
			size_t k = IW_MIN(n, (size_t)(HEAD_MAX - w->got));

			memcpy(w->head + w->got, p, k);
			w->head_len += (uint8_t)k;
		}
		w->crc = iw_crc32c(w->crc, p, n);
		if (w->need)
			check_pad(w, p, n);
		keep_body(c, mpa, w, p, n);
	}
	w->got += (uint32_t)n;
	w->pos += n;
	if (!w->need && w->got == IW_MPA_HEAD_LEN) {
		w->ulpdu_len = iw_get_be16(w->head);
		w->need = (uint32_t)iw_mpa_fpdu_len(w->ulpdu_len);
	}
	return n;
}

/* Takes octets, at most to the end of the FPDU, which it then finishes. Returns their number. p
 * NULL: they are missing, and ULPDU_Length is known. */
static size_t take_octets(struct iw_cap *c, struct flow *f, unsigned d, const uint8_t *p,
			  size_t len, const struct run *r, uint32_t off)
{
	struct fpdus *w = fpdus_of(f, d);
	size_t used = 0;

	if (!w->begun)
		begin(c, w, r, off);
	if (w->last_frame != r->frame) {
		w->last_frame = r->frame;
		w->segments++;
	}
	/* Without memory for the list, the markers are only checked. */
	if (w->markers && !w->list)
		w->list = iw_mem_array(c->mem, IW_CAP_MARKS_MAX, sizeof(*w->list));
	while (used < len) {
		const uint8_t *at = p ? p + used : NULL;

		if (w->markers && w->pos % IW_MPA_MARKER_SPACING < IW_MPA_MARKER_LEN)
			used += take_mark(w, at, len - used);
		else
			used += take_body(c, f->mpa, w, at, len - used);
		if (w->need && w->got == w->need) {
			finish(c, f, d, r);
			break;
		}
	}
	return used;
}

/* The fast path: a whole FPDU in one run, without markers. 0: something else. */
static size_t take_whole(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	struct fpdus *w = fpdus_of(f, d);
	size_t len, body;

	if (w->begun || w->markers || r->len < IW_MPA_HEAD_LEN)
		return 0;
	len = iw_mpa_fpdu_len(iw_get_be16(r->p));
	if (r->len < len)
		return 0;
	begin(c, w, r, r->off);
	body = len - IW_MPA_CRC_LEN;
	w->ulpdu_len = iw_get_be16(r->p);
	w->head_pos = w->pos;
	w->got = w->need = (uint32_t)len;
	w->head_len = (uint8_t)IW_MIN(body, (size_t)HEAD_MAX);
	memcpy(w->head, r->p, w->head_len);
	if (f->mpa->crc != CRC_OFF || w->tentative != CERTAIN)
		w->crc = iw_crc32c(0, r->p, body);
	memcpy(w->crc_wire, r->p + body, IW_MPA_CRC_LEN);
	for (size_t i = IW_MPA_HEAD_LEN + w->ulpdu_len, k = 0; i < body; i++) {
		w->pad[k++] = r->p[i];
		w->pad_not_zero |= r->p[i] != 0;
	}
	w->pos += len;
	w->body = r->p;
	w->body_len = IW_MPA_HEAD_LEN + (size_t)w->ulpdu_len;
	finish(c, f, d, r);
	return len;
}

/* --- where full operation begins --- */

/* Keeps octets of w->buf that iw_cap_fpdu_replay() decodes before the next ones. */
static void replay(struct fpdus *w, size_t at, size_t len, const struct run *r)
{
	w->replay_at = (uint16_t)at;
	w->replay_len = (uint16_t)len;
	w->replay_run = *r;
	w->buf_len = 0;
}

/*
 * The first four octets of full operation: a marker is zero there (RFC 5044 4.3), and a
 * ULPDU_Length never is. So they show whether the sender uses markers, which may differ from the
 * agreement.
 */
static void on_first(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	struct fpdus *w = fpdus_of(f, d);
	struct iw_mpa_marker m;
	bool marker;

	(void)iw_wire_mpa_marker_decode(&m, w->buf, IW_MPA_MARKER_LEN);
	marker = w->markers ? (m.fpduptr & MARK_MASK) == 0 && m.reserved < IW_DDP_TAGGED_LEN
			    : iw_get_be32(w->buf) == 0;
	if (w->markers_known && marker != w->markers) {
		struct iw_fault *why = iw_cap_event_error(c, f, d, r->time_ns, r->frame);

		iw_fail(why, IW_E_MPA_MARKER, "mpa: %s",
			marker ? "the stream begins with a marker that was not negotiated"
			       : "the receiver asked for markers, but none is in front");
		why->clause = "RFC 5044 7.1.1";
	}
	w->markers = marker;
	w->markers_known = true;
	iw_cap_set_phase(&f->dir[d], PHASE_FPDU);
	replay(w, 0, IW_MPA_MARKER_LEN, &w->replay_run);
}

static size_t first_run(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	struct fpdus *w = fpdus_of(f, d);
	size_t n = IW_MIN(r->len, (size_t)(IW_MPA_MARKER_LEN - w->buf_len));

	if (w->buf_len == 0)
		w->replay_run = *r;
	memcpy(w->buf + w->buf_len, r->p, n);
	w->buf_len += (uint16_t)n;
	if (w->buf_len == IW_MPA_MARKER_LEN)
		on_first(c, f, d, r);
	return n;
}

/* --- lost boundaries --- */

/*
 * buf holds a marker, the octets after it, and the next marker. FPDUPTR of the second marker is the
 * distance back to the ULPDU_Length of its FPDU. If that is after the first marker, it is the
 * boundary. A marker directly before a ULPDU_Length belongs to the same FPDU: with FPDUPTR 0 the
 * FPDU begins with the second marker, and one right after the first marker begins with that marker.
 */
static void on_marked_block(struct flow *f, unsigned d, const struct run *r)
{
	struct fpdus *w = fpdus_of(f, d);
	uint32_t back = iw_get_be16(w->buf + IW_MPA_MARKER_SPACING + 2) & MARK_MASK;
	size_t at;

	if (back > IW_MPA_MARKER_SPACING - IW_MPA_MARKER_LEN) {
		/* The FPDU began before the first marker: continue with the second one. */
		w->skipped += IW_MPA_MARKER_SPACING;
		memcpy(w->buf, w->buf + IW_MPA_MARKER_SPACING, IW_MPA_MARKER_LEN);
		w->buf_len = IW_MPA_MARKER_LEN;
		return;
	}
	at = IW_MPA_MARKER_SPACING - back;
	if (at == IW_MPA_MARKER_LEN)
		at = 0;
	w->skipped += at;
	w->pos -= BLOCK_MARKED - at;
	w->tentative = BY_MARKER;
	iw_cap_set_phase(&f->dir[d], PHASE_FPDU);
	replay(w, at, BLOCK_MARKED - at, r);
	w->replay_run.off = OFF_UNKNOWN;
}

static size_t resync_marked(struct flow *f, unsigned d, const struct run *r)
{
	struct fpdus *w = fpdus_of(f, d);
	size_t used = 0;

	if (w->buf_len == 0) {
		size_t to_mark = (IW_MPA_MARKER_SPACING - w->pos % IW_MPA_MARKER_SPACING) %
				 IW_MPA_MARKER_SPACING;

		used = IW_MIN(r->len, to_mark);
		w->pos += used;
		w->skipped += used;
		if (used == r->len)
			return used;
	}

	size_t n = IW_MIN(r->len - used, BLOCK_MARKED - (size_t)w->buf_len);

	memcpy(w->buf + w->buf_len, r->p + used, n);
	w->buf_len += (uint16_t)n;
	w->pos += n;
	used += n;
	if (w->buf_len == BLOCK_MARKED)
		on_marked_block(f, d, r);
	return used;
}

static size_t resync_run(struct flow *f, unsigned d, const struct run *r)
{
	struct fpdus *w = fpdus_of(f, d);

	if (w->markers)
		return resync_marked(f, d, r);
	/* RFC 5044 5: a sender should begin each FPDU at the start of a TCP segment. */
	if (r->off == 0 && r->len >= IW_MPA_HEAD_LEN + IW_DDP_TAGGED_LEN) {
		uint8_t head_len = (uint8_t)IW_MIN(r->len, (size_t)HEAD_MAX);

		if (iw_cap_segment_shape(r->p, head_len, iw_get_be16(r->p)) != SHAPE_NONE) {
			w->tentative = BY_SEGMENT;
			iw_cap_set_phase(&f->dir[d], PHASE_FPDU);
			return 0;
		}
	}
	w->pos += r->len;
	w->skipped += r->len;
	return r->len;
}

/* --- octets of the stream --- */

size_t iw_cap_fpdu_run(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	size_t n;

	if (f->dir[d].phase == PHASE_FIRST)
		return first_run(c, f, d, r);
	if (f->dir[d].phase == PHASE_RESYNC) {
		n = resync_run(f, d, r);
		if (n)
			return n;
	}
	n = take_whole(c, f, d, r);
	return n ? n : take_octets(c, f, d, r->p, r->len, r, r->off);
}

bool iw_cap_fpdu_replay(struct iw_cap *c, struct flow *f, unsigned d)
{
	struct fpdus *w = fpdus_of(f, d);
	struct run *r = &w->replay_run;
	uint16_t at = w->replay_at, len = w->replay_len;
	size_t n;

	if (!len)
		return false;
	/* take_octets() may start a search, which resets replay_len. */
	w->replay_len = 0;
	n = take_octets(c, f, d, w->buf + at, len, r, r->off);
	r->off = OFF_UNKNOWN;
	if (f->dir[d].phase == PHASE_FPDU) {
		w->replay_at = (uint16_t)(at + n);
		w->replay_len = (uint16_t)(len - n);
	} else {
		w->pos += len - n;
		w->skipped += len - n;
	}
	return true;
}

/* Octets of the current FPDU in the stream; ULPDU_Length is known. */
static uint64_t fpdu_octets(const struct fpdus *w)
{
	/* The places of markers repeat each 512 octets, so the low bits of the position suffice. */
	return w->markers ? iw_wire_mpa_fpdu_len_marked((uint32_t)w->start, w->ulpdu_len)
			  : iw_mpa_fpdu_len(w->ulpdu_len);
}

void iw_cap_fpdu_gap(struct iw_cap *c, struct flow *f, unsigned d, uint64_t n, enum iw_cap_why why)
{
	struct fpdus *w = fpdus_of(f, d);
	struct dir *s = &f->dir[d];
	struct run r = { .time_ns = c->now_ns, .frame = c->frame };
	uint64_t left = 0;
	bool sync;

	if (s->phase == PHASE_RESYNC) {
		iw_cap_report_loss(c, f, d, n, why, false, iw_cap_phase_text(PHASE_RESYNC));
		w->skipped += w->buf_len;
		w->buf_len = 0;
		w->pos += n;
		return;
	}
	if (s->phase == PHASE_FPDU && w->begun && w->need)
		left = fpdu_octets(w) - (w->pos - w->start);
	sync = n <= left && w->tentative == CERTAIN;
	iw_cap_report_loss(c, f, d, n, why, sync, iw_cap_phase_text(s->phase));
	if (sync) {
		if (w->head_len < IW_MPA_HEAD_LEN + IW_DDP_UNTAGGED_LEN)
			iw_cap_order_forget(&w->order);
		(void)take_octets(c, f, d, NULL, n, &r, OFF_UNKNOWN);
		return;
	}
	w->tentative = CERTAIN;
	if (s->phase == PHASE_FIRST) {
		/* Reported with the resync, or counted at the end. */
		w->skipped += w->buf_len;
		w->pos += w->buf_len;
		w->markers &= w->markers_known;
	}
	iw_cap_fpdu_resync(f, d);
	w->pos += n;
}

void iw_cap_fpdu_end(struct iw_cap *c, struct flow *f, unsigned d)
{
	struct fpdus *w = fpdus_of(f, d);

	if (f->dir[d].phase == PHASE_RESYNC || f->dir[d].phase == PHASE_FIRST)
		w->skipped += w->buf_len;
	if (w->begun)
		w->skipped += w->pos - w->start - w->missing;
	c->totals.undecoded_octets += w->skipped;
	w->skipped = 0;
	w->buf_len = 0;
	w->begun = false;
	body_free(c, w);
}
