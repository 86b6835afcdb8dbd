// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * MPA start-up in a capture (RFC 5044 7.1, RFC 6581): finds the key anywhere in the stream, decodes
 * Request and Reply, and derives what the two ends agree. The octets after a Request cannot be
 * decoded before the Reply is known, because its M decides about markers. They are queued: a
 * capture may hold them before the Reply.
 */
#include "ddp-dump/internal.h"

#include <string.h>

/* RFC 5044 7.1.1. M occurs only at the start of a key, so a failed comparison can begin again with
 * the octet that differs. */
static const char request_key[] = IW_MPA_REQUEST_KEY;
#define REPLY_LETTER ((uint8_t)IW_MPA_REPLY_KEY[IW_MPA_KEY_DIFFERS])

#define REV_KNOWN_MAX 2 /* RFC 6581 */

static void search(struct dir *s)
{
	s->match = 0;
	s->searched = 0;
	iw_cap_set_phase(s, PHASE_SEARCH);
}

/* Both directions are not MPA. A later TCP segment that begins with a key starts again. */
static void give_up_both(struct flow *f)
{
	f->mpa->request.seen = f->mpa->reply.seen = f->mpa->reply_first = false;
	for (int d = 0; d < 2; d++)
		iw_cap_set_phase(&f->dir[d], PHASE_PLAIN);
}

static int initiator_of(const struct flow *f)
{
	return f->pub.initiator;
}

/* --- agreement --- */

static void start(struct flow *f, unsigned d, bool markers, bool known)
{
	struct fpdus *w = &f->mpa->fpdus[d];
	uint64_t early = w->lost_early;

	iw_cap_fpdu_start(w, markers, known);
	if (early) {
		w->pos = early;
		iw_cap_fpdu_resync(f, d);
		return;
	}
	iw_cap_set_phase(&f->dir[d], PHASE_FIRST);
}

/* Both frames are known (RFC 5044 7.1.1): M requests markers in the octets that its sender
 * receives; C of either end turns on the CRC of both directions. */
static void start_agreed(struct flow *f)
{
	struct mpa *mpa = f->mpa;
	unsigned init = (unsigned)initiator_of(f);
	bool to_responder = mpa->reply.flags & IW_MPA_M;
	bool to_initiator = mpa->request.flags & IW_MPA_M;

	mpa->agreed = true;
	mpa->reply_first = false;
	mpa->crc = (mpa->request.flags | mpa->reply.flags) & IW_MPA_C ? CRC_ON : CRC_OFF;
	/* RFC 5044 appendix C: with an RDMAC responder, both directions carry markers and CRCs,
	 * regardless of the Request. */
	if (mpa->reply.rev == 0 && mpa->reply.flags & IW_MPA_M) {
		to_initiator = true;
		mpa->crc = CRC_ON;
	}
	start(f, init, to_responder, true);
	start(f, 1 - init, to_initiator, true);
}

/* Full operation began at an unknown place before, so the places of markers are unknown. */
static void start_late(struct flow *f, unsigned d, bool markers)
{
	struct fpdus *w = &f->mpa->fpdus[d];

	iw_cap_fpdu_start(w, markers, true);
	w->pos_known = false;
	iw_cap_fpdu_resync(f, d);
}

/* The Reply was not captured. The first octets decide about markers, the first FPDU about the
 * CRC. */
static void start_without_reply(struct flow *f)
{
	struct mpa *mpa = f->mpa;
	unsigned init = (unsigned)initiator_of(f);
	struct dir *back = &f->dir[1 - init];

	mpa->agreed = true;
	mpa->crc = mpa->request.flags & IW_MPA_C ? CRC_ON : CRC_UNKNOWN;
	start(f, init, false, false);
	if (back->phase == PHASE_SEARCH)
		start_late(f, 1 - init, mpa->request.flags & IW_MPA_M);
	else
		iw_cap_set_phase(back, PHASE_PLAIN);
}

/* The Reply was captured, but not the Request. */
static void start_without_request(struct iw_cap *c, struct flow *f)
{
	struct mpa *mpa = f->mpa;
	unsigned init = (unsigned)initiator_of(f);
	struct dir *s = &f->dir[init];
	bool at_end = mpa->request_end_known && s->known && s->next == mpa->request_end;

	iw_cap_report_loss(c, f, init, 0, IW_CAP_WHY_GAP, at_end, iw_cap_phase_text(PHASE_FRAME));
	mpa->agreed = true;
	mpa->reply_first = false;
	mpa->crc = mpa->reply.flags & IW_MPA_C ? CRC_ON : CRC_UNKNOWN;
	start(f, 1 - init, false, false);
	if (s->phase != PHASE_SEARCH) {
		if (s->phase != PHASE_PLAIN)
			iw_cap_set_phase(s, PHASE_PLAIN);
		return;
	}
	if (at_end) {
		start(f, init, mpa->reply.flags & IW_MPA_M, true);
		return;
	}
	start_late(f, init, mpa->reply.flags & IW_MPA_M);
}

void iw_cap_startup_give_up(struct iw_cap *c, struct flow *f)
{
	if (f->mpa->reply_first)
		start_without_request(c, f);
	else
		start_without_reply(f);
}

bool iw_cap_startup_check(struct iw_cap *c, struct flow *f)
{
	struct mpa *mpa = f->mpa;
	struct dir *s = &f->dir[initiator_of(f)];

	if (!mpa->request_end_known || !s->known || iw_seq32_before(s->next, mpa->request_end) ||
	    s->phase == PHASE_FRAME)
		return false;
	start_without_request(c, f);
	return true;
}

/* --- frames --- */

/* The first rule that the frame breaks; NULL: none. */
static const char *fault_of(const struct flow *f, const struct iw_cap_mpa *m, unsigned d,
			    const char **clause)
{
	const struct mpa *mpa = f->mpa;
	bool is_reply = m->frame.kind == IW_MPA_REPLY;
	bool s_bit = m->frame.flags & IW_MPA_S;

	*clause = "RFC 5044 7.1.2";
	if (m->frame.pd_len > IW_MPA_PD_MAX)
		return "PD_Length is above 512";
	if (!is_reply && mpa->request.seen && initiator_of(f) != (int)d)
		return "a Request where a Reply is expected: both sides are initiators";
	if (is_reply && mpa->request.seen && initiator_of(f) == (int)d)
		return "a Reply from the side that sent the Request";
	*clause = "RFC 6581 6";
	if (s_bit && m->frame.rev >= 2 && m->frame.pd_len < IW_MPA_ENHANCED_LEN)
		return "S is 1 but the Private Data is shorter than the enhanced data";
	if (is_reply && mpa->request.seen && mpa->request.rev >= 2 &&
	    !(m->frame.flags & IW_MPA_R) && s_bit != !!(mpa->request.flags & IW_MPA_S))
		return s_bit ? "an enhanced Reply to a Request that is not"
			     : "a Reply that is not enhanced to an enhanced Request";
	return NULL;
}

/* RFC 5044 7.1.2, RFC 6581 6: full operation cannot follow such a frame. */
static bool is_fatal(const struct flow *f, const struct iw_cap_mpa *m, unsigned d)
{
	bool is_reply = m->frame.kind == IW_MPA_REPLY;

	return m->frame.pd_len > IW_MPA_PD_MAX ||
	       (f->mpa->request.seen && is_reply == (initiator_of(f) == (int)d));
}

/* Deviations of a Request or Reply. */
static unsigned deviations_of(const struct mpa *mpa, const struct iw_cap_mpa *m)
{
	bool accepts = !(m->frame.flags & IW_MPA_R);
	unsigned dev = 0;

	/* RFC 6581 6: S is a reserved bit in older revisions. */
	if (m->frame.flags & (IW_MPA_RES | (m->frame.rev < 2 ? IW_MPA_S : 0)))
		dev |= IW_CAP_DEV_FRAME_RES;
	if (m->frame.kind != IW_MPA_REPLY || !mpa->request.seen)
		return dev;
	/* If Private Data follow, the ULP rejected the connection, for reasons of its own. */
	if (!accepts && mpa->request.flags & IW_MPA_M && m->pd_len == 0)
		dev |= IW_CAP_DEV_NO_MARKS;
	if (accepts && m->frame.rev == 0 && !(m->frame.flags & IW_MPA_M))
		dev |= IW_CAP_DEV_REV_0;
	if (accepts && m->enhanced && mpa->request.enhanced && m->enh.ord > mpa->request.ird &&
	    m->enh.ord != IW_MPA_IRD_ORD_MAX)
		dev |= IW_CAP_DEV_ORD;
	return dev;
}

static void on_request(struct flow *f, unsigned d)
{
	struct mpa *mpa = f->mpa;
	struct dir *back = &f->dir[1 - d];

	if (mpa->reply_first) {
		start_agreed(f);
		return;
	}
	/* The search for the Reply restarts, but keeps the part of its key that matched so far. */
	if (back->phase == PHASE_PLAIN)
		search(back);
	back->searched = 0;
}

static void on_reply(struct flow *f, unsigned d, const struct iw_cap_mpa *m)
{
	struct mpa *mpa = f->mpa;
	struct dir *back = &f->dir[1 - d];

	if (m->frame.flags & IW_MPA_R) {
		/* RFC 5044 7.1.2: TCP stays open in streaming mode, and the ULP may try MPA
		 * again. */
		mpa->request.seen = mpa->reply.seen = mpa->reply_first = false;
		search(&f->dir[d]);
		if (back->phase == PHASE_WAIT)
			search(back);
		return;
	}
	if (mpa->request.seen) {
		start_agreed(f);
		return;
	}
	mpa->reply_first = true;
	mpa->request_end_known = back->acked_known;
	mpa->request_end = back->acked;
}

/* Decodes the hello of the transfer protocol in the Private Data. */
static void report_hello(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r,
			 struct iw_cap_mpa *m)
{
	struct iw_fault why = { 0 }, *out;

	if (iw_cap_transfer_hello(c, &f->mpa->transfer, m->frame.kind == IW_MPA_REQUEST, m->pd,
				  m->pd_len, &m->transfer, &why) == 0)
		return;
	out = iw_cap_event_error(c, f, d, r->time_ns, r->frame);
	*out = why;
}

/* w->buf holds the captured octets of the frame; r holds its end. */
static void on_frame(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	struct mpa *mpa = f->mpa;
	struct fpdus *w = &mpa->fpdus[d];
	struct iw_cap_event *ev = iw_cap_event_new(c, IW_CAP_MPA, f, d, r->time_ns, r->frame);
	struct iw_cap_mpa *m = &ev->mpa;
	const char *text, *clause;
	struct offer *offer;
	size_t have = w->buf_len - IW_MPA_FRAME_LEN;
	bool fatal;

	/* It fills the fields, and returns 0 if not all Private Data were captured. */
	(void)iw_wire_mpa_frame_decode(&m->frame, w->buf, w->buf_len);
	/* A copy: FIRST reuses buf. */
	memcpy(c->pd, w->buf + IW_MPA_FRAME_LEN, have);
	m->pd = c->pd;
	m->pd_len = have;
	m->frame.pd = m->pd;
	if (m->frame.flags & IW_MPA_S && m->frame.rev >= 2 && have >= IW_MPA_ENHANCED_LEN) {
		m->enhanced = true;
		(void)iw_wire_mpa_enhanced_decode(&m->enh, m->pd, have);
		m->pd += IW_MPA_ENHANCED_LEN;
		m->pd_len -= IW_MPA_ENHANCED_LEN;
	}
	if (f->pub.initiator < 0)
		c->totals.iwarp_flows++;
	if (!mpa->request.seen && !mpa->reply.seen)
		f->pub.initiator = (int)(m->frame.kind == IW_MPA_REQUEST ? d : 1 - d);
	text = fault_of(f, m, d, &clause);
	fatal = is_fatal(f, m, d);
	if (text) {
		struct iw_fault *why = iw_cap_event_error(c, f, d, r->time_ns, r->frame);

		iw_fail(why, IW_E_MPA_FRAME, "mpa: %s: %s",
			m->frame.kind == IW_MPA_REQUEST ? "Request" : "Reply", text);
		why->clause = clause;
	}
	if (fatal) {
		give_up_both(f);
		return;
	}
	ev->deviations = deviations_of(mpa, m);
	offer = m->frame.kind == IW_MPA_REQUEST ? &mpa->request : &mpa->reply;
	*offer = (struct offer){ true, m->frame.flags, m->frame.rev, m->enhanced, m->enh.ird };
	/* Both on_request() and on_reply() start from WAIT. */
	iw_cap_set_phase(&f->dir[d], PHASE_WAIT);
	if (m->frame.kind == IW_MPA_REQUEST)
		on_request(f, d);
	else
		on_reply(f, d, m);
	report_hello(c, f, d, r, m);
	if (mpa->agreed) {
		unsigned init = (unsigned)initiator_of(f);

		m->agreed = true;
		m->crc_on = mpa->crc == CRC_ON;
		m->markers_to_responder = mpa->fpdus[init].markers;
		m->markers_to_initiator = mpa->fpdus[1 - init].markers;
		if (mpa->request.seen && mpa->reply.seen && mpa->crc == CRC_OFF)
			ev->deviations |= IW_CAP_DEV_NO_CRC;
	}
	c->totals.deviations += (unsigned)__builtin_popcount(ev->deviations);
}

/* --- the key --- */

/* Compares one octet with the key. True: the key is complete. */
static bool match_octet(struct dir *s, uint8_t o)
{
	if (s->match == IW_MPA_KEY_DIFFERS &&
	    (o == (uint8_t)request_key[IW_MPA_KEY_DIFFERS] || o == REPLY_LETTER)) {
		s->match_reply = o == REPLY_LETTER;
		s->match++;
	} else if (o == (uint8_t)request_key[s->match]) {
		s->match++;
	} else {
		s->match = o == (uint8_t)request_key[0];
		s->match_start = false;
	}
	return s->match == IW_MPA_KEY_LEN;
}

/* The key is complete: the rest of the frame follows. */
static void on_key(struct iw_cap *c, struct flow *f, unsigned d)
{
	struct dir *s = &f->dir[d];
	struct fpdus *w;

	if (!f->mpa) {
		f->mpa = iw_mem_alloc(c->mem, sizeof(*f->mpa));
		if (!f->mpa) {
			c->totals.forgotten++;
			iw_cap_set_phase(s, PHASE_PLAIN);
			return;
		}
		iw_cap_flow_name(f);
	}
	w = &f->mpa->fpdus[d];
	*w = (struct fpdus){ .list = w->list };
	memcpy(w->buf, request_key, IW_MPA_KEY_LEN);
	if (s->match_reply)
		w->buf[IW_MPA_KEY_DIFFERS] = REPLY_LETTER;
	w->buf_len = IW_MPA_KEY_LEN;
	w->frame_seen = IW_MPA_KEY_LEN;
	s->match = 0;
	iw_cap_set_phase(s, PHASE_FRAME);
}

static size_t search_run(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	struct dir *s = &f->dir[d];
	size_t len = r->len, used = 0;

	/* After a Reply, its ACK shows where the Request ends and FPDUs begin. */
	if (f->mpa && f->mpa->reply_first && f->mpa->request_end_known)
		len = IW_MIN(len, (size_t)(f->mpa->request_end - s->next));
	while (used < len) {
		if (s->match == 0) {
			const uint8_t *m = memchr(r->p + used, request_key[0], len - used);

			if (!m) {
				used = len;
				break;
			}
			s->match = 1;
			s->match_start = r->off == 0 && m == r->p;
			used = (size_t)(m - r->p) + 1;
			continue;
		}
		if (match_octet(s, r->p[used++])) {
			s->searched += used;
			on_key(c, f, d);
			return used;
		}
		if (s->match == 1)
			s->match_start = r->off == 0 && used == 1;
	}
	s->searched += used;
	if (s->searched > c->limits.search_octets)
		iw_cap_set_phase(s, PHASE_PLAIN);
	return used;
}

/* A key in the middle of a stream may be any text: a valid header must follow. */
static bool is_plausible(const struct flow *f, unsigned d, const struct fpdus *w)
{
	const struct mpa *mpa = f->mpa;
	bool is_reply = w->buf[IW_MPA_KEY_DIFFERS] == REPLY_LETTER;
	bool expected = is_reply && mpa->request.seen && initiator_of(f) != (int)d;

	return f->dir[d].match_start || expected ||
	       (w->buf[17] <= REV_KNOWN_MAX && iw_get_be16(w->buf + 18) <= IW_MPA_PD_MAX);
}

/* Octets of the whole frame; more than sizeof(buf) if PD_Length is above its limit. */
static uint32_t frame_len(const struct fpdus *w)
{
	return w->frame_seen < IW_MPA_FRAME_LEN ? IW_MPA_FRAME_LEN
						: IW_MPA_FRAME_LEN + iw_get_be16(w->buf + 18);
}

/* The header of the frame is complete. True: Private Data follow. */
static bool on_frame_header(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	struct dir *s = &f->dir[d];
	struct fpdus *w = &f->mpa->fpdus[d];

	if (!is_plausible(f, d, w)) {
		uint8_t again[IW_MPA_FRAME_LEN - IW_MPA_KEY_LEN];

		memcpy(again, w->buf + IW_MPA_KEY_LEN, sizeof(again));
		iw_cap_set_phase(s, PHASE_SEARCH);
		s->match = 0;
		s->match_start = false;
		/* Four octets cannot complete a key, so the result is false. */
		for (size_t i = 0; i < sizeof(again); i++)
			(void)match_octet(s, again[i]);
		return false;
	}
	if (iw_get_be16(w->buf + 18) == 0 || iw_get_be16(w->buf + 18) > IW_MPA_PD_MAX) {
		on_frame(c, f, d, r);
		return false;
	}
	return true;
}

static size_t frame_run(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	struct fpdus *w = &f->mpa->fpdus[d];
	size_t used = 0;

	while (used < r->len) {
		bool in_header = w->frame_seen < IW_MPA_FRAME_LEN;
		size_t n = IW_MIN(r->len - used, (size_t)(frame_len(w) - w->frame_seen));

		/* Private Data after a hole are not kept. */
		if (w->buf_len == w->frame_seen) {
			memcpy(w->buf + w->buf_len, r->p + used, n);
			w->buf_len += (uint16_t)n;
		}
		w->frame_seen += (uint32_t)n;
		used += n;
		if (in_header) {
			if (w->frame_seen == IW_MPA_FRAME_LEN && !on_frame_header(c, f, d, r))
				return used;
		} else if (w->frame_seen == frame_len(w)) {
			on_frame(c, f, d, r);
			return used;
		}
	}
	return used;
}

size_t iw_cap_startup_run(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r)
{
	switch (f->dir[d].phase) {
	case PHASE_SEARCH:
		return search_run(c, f, d, r);
	case PHASE_FRAME:
		return frame_run(c, f, d, r);
	case PHASE_WAIT:
	case PHASE_FIRST:
	case PHASE_FPDU:
	case PHASE_RESYNC:
	case PHASE_PLAIN:
	case PHASE_COUNT:
		break;
	}
	return 0;
}

/* Octets are missing within a frame. Missing Private Data do no harm, since the header has their
 * length. */
static void frame_gap(struct iw_cap *c, struct flow *f, unsigned d, uint64_t n, enum iw_cap_why why)
{
	struct fpdus *w = &f->mpa->fpdus[d];
	struct run r = { .time_ns = c->now_ns, .frame = c->frame };
	bool header = w->frame_seen >= IW_MPA_FRAME_LEN;
	uint64_t left = frame_len(w) - w->frame_seen;

	iw_cap_report_loss(c, f, d, n, why, header && n <= left, iw_cap_phase_text(PHASE_FRAME));
	if (!header) {
		iw_cap_set_phase(&f->dir[d], PHASE_PLAIN);
		return;
	}
	w->frame_seen += (uint32_t)IW_MIN(n, left);
	if (w->frame_seen < frame_len(w))
		return;
	w->lost_early = n - IW_MIN(n, left);
	on_frame(c, f, d, &r);
}

void iw_cap_startup_gap(struct iw_cap *c, struct flow *f, unsigned d, uint64_t n,
			enum iw_cap_why why)
{
	struct dir *s = &f->dir[d];
	struct mpa *mpa = f->mpa;

	if (s->phase == PHASE_FRAME) {
		frame_gap(c, f, d, n, why);
		return;
	}
	s->match = 0;
	if (!mpa || mpa->agreed)
		return;
	/* The lost octets include the Reply, because octets of full operation follow. */
	if (mpa->request.seen && initiator_of(f) != (int)d) {
		iw_cap_report_loss(c, f, d, n, why, false, iw_cap_phase_text(PHASE_WAIT));
		start_without_reply(f);
		return;
	}
	/* The lost octets include the Request. */
	if (mpa->reply_first && initiator_of(f) == (int)d && mpa->request_end_known &&
	    iw_seq32_before(mpa->request_end, s->next + (uint32_t)n)) {
		iw_cap_report_loss(c, f, d, n, why, false, iw_cap_phase_text(PHASE_WAIT));
		mpa->request_end_known = false;
		start_without_request(c, f);
	}
}

void iw_cap_startup_drop(struct iw_cap *c, struct flow *f)
{
	if (!f->mpa)
		return;
	for (unsigned d = 0; d < 2; d++)
		iw_cap_fpdu_drop(c, &f->mpa->fpdus[d]);
	iw_cap_transfer_drop(c, &f->mpa->transfer);
	iw_mem_free(c->mem, f->mpa, sizeof(*f->mpa));
	f->mpa = NULL;
}
