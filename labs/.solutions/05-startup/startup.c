/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "startup.h"

#include <stdlib.h>
#include <string.h>

/* --- octets ---------------------------------------------------------------------------------- */

static void put16(uint8_t *dst, unsigned int v)
{
	dst[0] = (uint8_t)(v >> 8);
	dst[1] = (uint8_t)v;
}

static uint16_t get16(const uint8_t *src)
{
	return (uint16_t)(src[0] << 8 | src[1]);
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* --- frames ---------------------------------------------------------------------------------- */

/* Without the NUL on the wire. */
static const char *const keys[] = {
	[FRAME_REQUEST] = "MPA ID Req Frame",
	[FRAME_REPLY] = "MPA ID Rep Frame",
};

size_t frame_build(uint8_t *dst, size_t cap, const struct frame *f)
{
	if (f->pd_len > PD_MAX || HEAD_LEN + f->pd_len > cap)
		return 0;
	memcpy(dst, keys[f->kind], KEY_LEN);
	dst[16] = (f->m ? FLAG_M : 0) | (f->c ? FLAG_C : 0) | (f->r ? FLAG_R : 0) |
		  (f->s ? FLAG_S : 0);
	dst[17] = f->rev;
	put16(dst + 18, (unsigned int)f->pd_len);
	if (f->pd_len)
		memcpy(dst + HEAD_LEN, f->pd, f->pd_len);
	return HEAD_LEN + f->pd_len;
}

enum startup_result frame_parse(struct frame *f, size_t *used, enum frame_kind kind,
				uint8_t max_rev, const uint8_t *src, size_t len)
{
	if (memcmp(src, keys[kind], min(len, KEY_LEN)) != 0)
		return STARTUP_BAD_KEY;
	if (len < HEAD_LEN)
		return STARTUP_MORE;
	f->kind = kind;
	f->rev = src[17];
	f->m = src[16] & FLAG_M;
	f->c = src[16] & FLAG_C;
	f->r = kind == FRAME_REPLY && src[16] & FLAG_R;
	f->s = f->rev >= 2 && src[16] & FLAG_S;
	f->pd_len = get16(src + 18);
	f->pd = src + HEAD_LEN;
	if (f->rev < 1 || f->rev > max_rev)
		return STARTUP_BAD_REV;
	if (f->pd_len > PD_MAX || (f->s && f->pd_len < ENHANCED_LEN))
		return STARTUP_BAD_LENGTH;
	if (len < HEAD_LEN + f->pd_len)
		return STARTUP_MORE;
	*used = HEAD_LEN + f->pd_len;
	return STARTUP_DONE;
}

/* --- enhanced data --------------------------------------------------------------------------- */

enum {
	/* In the word of the IRD. */
	FLAG_A = 0x8000,
	FLAG_B = 0x4000,
	/* In the word of the ORD. */
	FLAG_C_WRITE = 0x8000,
	FLAG_D = 0x4000,
	DEPTH = 0x3fff,
};

void enhanced_put(uint8_t *dst, const struct enhanced *e)
{
	uint8_t rtr = e->peer_to_peer ? e->rtr : 0;

	put16(dst,
	      (e->peer_to_peer ? FLAG_A : 0) | (rtr & RTR_SEND ? FLAG_B : 0) | (e->ird & DEPTH));
	put16(dst + 2, (rtr & RTR_WRITE ? FLAG_C_WRITE : 0) | (rtr & RTR_READ ? FLAG_D : 0) |
			       (e->ord & DEPTH));
}

void enhanced_get(struct enhanced *e, const uint8_t *src)
{
	uint16_t ird = get16(src), ord = get16(src + 2);

	e->peer_to_peer = ird & FLAG_A;
	e->rtr = 0;
	if (e->peer_to_peer)
		e->rtr = (ird & FLAG_B ? RTR_SEND : 0) | (ord & FLAG_C_WRITE ? RTR_WRITE : 0) |
			 (ord & FLAG_D ? RTR_READ : 0);
	e->ird = ird & DEPTH;
	e->ord = ord & DEPTH;
}

/* --- an end ---------------------------------------------------------------------------------- */

struct startup {
	struct config cfg; /* its pd is in out */
	struct agreed agreed;
	enum startup_result result; /* of the peer's frame */
	bool enhanced;              /* initiator: our Request is enhanced */
	bool retry_rev1;
	bool answered, accepted; /* responder */
	bool rtr_sent, fpdu_received;
	size_t in_len;
	uint8_t in[FRAME_MAX]; /* the peer's frame */
	size_t out_len, out_sent;
	uint8_t out[FRAME_MAX]; /* ours */
};

/* Makes the frame pending, with e (if not NULL) before the ULP's Private Data. */
static bool make_pending(struct startup *s, struct frame f, const struct enhanced *e,
			 const uint8_t *pd, size_t pd_len)
{
	uint8_t all[PD_MAX];
	size_t before = e ? ENHANCED_LEN : 0;

	if (pd_len > PD_MAX - before)
		return false;
	if (e)
		enhanced_put(all, e);
	if (pd_len)
		memcpy(all + before, pd, pd_len);
	f.s = e != NULL;
	f.pd = all;
	f.pd_len = before + pd_len;
	s->out_len = frame_build(s->out, sizeof(s->out), &f);
	return true;
}

static bool make_request(struct startup *s, const struct config *cfg)
{
	struct frame f = {
		.kind = FRAME_REQUEST, .m = cfg->markers, .c = cfg->crc, .rev = cfg->rev
	};
	struct enhanced e = { cfg->peer_to_peer, cfg->rtr, cfg->ird, cfg->ord };

	s->enhanced = cfg->rev >= 2 && (cfg->peer_to_peer || cfg->ird != NOT_NEGOTIATED ||
					cfg->ord != NOT_NEGOTIATED);
	s->agreed.ird = cfg->ird;
	s->agreed.ord = cfg->ord;
	return make_pending(s, f, s->enhanced ? &e : NULL, cfg->pd, cfg->pd_len);
}

struct startup *startup_new(const struct config *cfg)
{
	struct startup *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cfg = *cfg;
	s->cfg.pd = NULL;
	s->result = STARTUP_MORE;
	if (cfg->initiator && !make_request(s, cfg)) {
		free(s);
		return NULL;
	}
	return s;
}

void startup_free(struct startup *s)
{
	free(s);
}

size_t startup_output(struct startup *s, uint8_t *dst, size_t cap)
{
	size_t len = min(cap, s->out_len - s->out_sent);

	memcpy(dst, s->out + s->out_sent, len);
	s->out_sent += len;
	return len;
}

/* --- the peer's frame ------------------------------------------------------------------------ */

/* The parameters that Request and Reply have in common. */
static struct enhanced take_frame(struct startup *s, const struct frame *f)
{
	struct agreed *a = &s->agreed;
	struct enhanced e = { 0 };
	size_t before = f->s ? ENHANCED_LEN : 0;

	if (f->s)
		enhanced_get(&e, f->pd);
	a->rev = (uint8_t)min(s->cfg.rev, f->rev);
	a->enhanced = f->s;
	a->crc = f->c || s->cfg.crc;
	a->tx_markers = f->m;
	a->rx_markers = s->cfg.markers;
	a->peer_to_peer = e.peer_to_peer;
	a->peer_ird = e.ird;
	a->peer_ord = e.ord;
	a->pd = f->pd + before;
	a->pd_len = f->pd_len - before;
	return e;
}

static enum startup_result take_request(struct startup *s, const struct frame *f)
{
	struct enhanced e = take_frame(s, f);
	uint8_t common = e.rtr & s->cfg.rtr;

	/* RFC 6581 9.2: without a common form, the initiator sees those of this end. */
	if (e.peer_to_peer)
		s->agreed.rtr = common ? common : s->cfg.rtr;
	return STARTUP_DONE;
}

/* RFC 6581 9.1. Returns false if the responder's ORD is above what this end can take. */
static bool fit_depths(struct startup *s, const struct enhanced *e)
{
	struct agreed *a = &s->agreed;

	if (e->ird != NOT_NEGOTIATED && a->ord > e->ird)
		a->ord = e->ird;
	if (e->ord == NOT_NEGOTIATED || e->ord <= a->ird)
		return true;
	if (e->ord > s->cfg.ird_max)
		return false;
	a->ird = e->ord;
	return true;
}

/* RFC 6581 9.2. Returns false if there is no common form, or the model differs. */
static bool fit_rtr(struct startup *s, const struct enhanced *e)
{
	struct agreed *a = &s->agreed;

	if (e->peer_to_peer != s->cfg.peer_to_peer)
		return false;
	a->rtr = e->rtr & s->cfg.rtr;
	if (e->ird == 0)
		a->rtr &= ~RTR_READ;
	if (a->rtr & RTR_READ && a->ord == 0)
		a->ord = 1;
	return !e->peer_to_peer || a->rtr;
}

static enum startup_result take_reply(struct startup *s, const struct frame *f)
{
	struct enhanced e = take_frame(s, f);

	s->retry_rev1 = s->enhanced && !f->s;
	if (f->r)
		return s->enhanced || !f->s ? STARTUP_REJECTED : STARTUP_BAD_FORMAT;
	if (f->s != s->enhanced)
		return STARTUP_BAD_FORMAT;
	if (!f->s)
		return STARTUP_DONE;
	if (!fit_depths(s, &e))
		return STARTUP_NO_IRD;
	return fit_rtr(s, &e) ? STARTUP_DONE : STARTUP_NO_RTR;
}

static enum startup_result look(struct startup *s)
{
	enum frame_kind kind = s->cfg.initiator ? FRAME_REPLY : FRAME_REQUEST;
	struct frame f;
	size_t used;
	enum startup_result result =
		frame_parse(&f, &used, kind, s->cfg.initiator ? 2 : s->cfg.rev, s->in, s->in_len);

	if (result != STARTUP_DONE)
		return result;
	return s->cfg.initiator ? take_reply(s, &f) : take_request(s, &f);
}

/* Octets of the frame that are still to come, as far as that is known. */
static size_t missing(const struct startup *s)
{
	if (s->in_len < HEAD_LEN)
		return HEAD_LEN - s->in_len;
	return HEAD_LEN + get16(s->in + 18) - s->in_len;
}

enum startup_result startup_receive(struct startup *s, const uint8_t *octets, size_t len,
				    size_t *taken)
{
	*taken = 0;
	while (s->result == STARTUP_MORE && *taken < len) {
		size_t n = min(missing(s), len - *taken);

		memcpy(s->in + s->in_len, octets + *taken, n);
		s->in_len += n;
		*taken += n;
		s->result = look(s);
	}
	return s->result;
}

enum startup_result startup_closed(struct startup *s)
{
	if (s->result != STARTUP_MORE)
		return s->result;
	s->retry_rev1 = s->cfg.initiator && s->cfg.rev >= 2 && s->in_len == 0 &&
			s->out_sent == s->out_len;
	return s->result = STARTUP_LOST;
}

/* --- the responder's answer ------------------------------------------------------------------ */

bool startup_answer(struct startup *s, bool accept, uint16_t ird, uint16_t ord, const uint8_t *pd,
		    size_t pd_len)
{
	struct agreed *a = &s->agreed;
	struct frame f = {
		.kind = FRAME_REPLY, .m = s->cfg.markers, .c = a->crc, .r = !accept, .rev = a->rev
	};
	struct enhanced e;

	if (s->cfg.initiator || s->result != STARTUP_DONE || s->answered)
		return false;
	if (accept && a->rtr & RTR_READ && ird == 0)
		ird = 1;
	if (a->enhanced && a->peer_ird != NOT_NEGOTIATED)
		ord = (uint16_t)min(ord, a->peer_ird);
	e = (struct enhanced){
		.peer_to_peer = a->peer_to_peer,
		.rtr = a->rtr,
		.ird = a->peer_ord == NOT_NEGOTIATED ? NOT_NEGOTIATED : ird,
		.ord = a->peer_ird == NOT_NEGOTIATED ? NOT_NEGOTIATED : ord,
	};
	if (!make_pending(s, f, a->enhanced ? &e : NULL, pd, pd_len))
		return false;
	a->ird = ird;
	a->ord = ord;
	s->answered = true;
	s->accepted = accept;
	return true;
}

const struct agreed *startup_agreed(const struct startup *s)
{
	return &s->agreed;
}

/* --- which end sends first ------------------------------------------------------------------- */

uint8_t startup_rtr(const struct startup *s)
{
	uint8_t forms = s->agreed.rtr;

	if (!s->cfg.initiator || s->result != STARTUP_DONE || s->rtr_sent)
		return 0;
	if (forms & RTR_WRITE)
		return RTR_WRITE;
	return forms & RTR_READ ? RTR_READ : forms;
}

void startup_rtr_sent(struct startup *s)
{
	s->rtr_sent = true;
}

void startup_fpdu_received(struct startup *s)
{
	s->fpdu_received = true;
}

bool startup_may_send(const struct startup *s)
{
	if (s->cfg.initiator)
		return s->result == STARTUP_DONE && !startup_rtr(s);
	return s->accepted && s->out_sent == s->out_len && s->fpdu_received;
}

bool startup_retry_rev1(const struct startup *s)
{
	return s->retry_rev1;
}
