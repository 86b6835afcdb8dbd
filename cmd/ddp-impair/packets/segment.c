// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * TCP segments: puts the octets of a direction in order, divides them into units, and notes what the
 * decisions change. A unit is decided when its head has arrived; its body is not kept.
 */
#include <string.h>

#include "ddp-impair/packets/changes.h"
#include "ddp-impair/packets/early.h"
#include "ddp-impair/packets/flow.h"
#include "ddp-impair/packets/internal.h"
#include "ddp-impair/rules/edit.h"
#include "util/num.h"
#include "wire/mpa.h"

#define WINDOW   2048 /* octets that wait until a unit can be read: the longest start-up frame fits */
/* The largest unit without markers: ULPDU_Length is 16 bits long. */
#define UNIT_MAX (IW_MPA_HEAD_LEN + 65535 + 3 + IW_MPA_CRC_LEN)

/* The unit as it is and as it shall be. Octets that have not arrived are 0. */
struct edit {
	uint8_t before[UNIT_MAX], after[UNIT_MAX];
};

struct iw_flow_dir {
	bool synced; /* next is known */
	bool begun;  /* octets have been read */
	bool lost;   /* the boundaries of units are not known any more */
	uint32_t next;
	uint32_t skip;      /* octets of the present unit that have not arrived */
	uint32_t window_at; /* sequence number of window[0] */
	size_t window_len;
	uint8_t window[WINDOW];
	struct iw_changes changes;
	struct iw_early_list early;
	struct edit *edit; /* owned; NULL: none yet */
};

/* The segment whose octets are read. */
struct reading {
	struct iw_flow *f;
	struct iw_flow_dir *w;
	unsigned from;
	uint64_t now;
	uint32_t left_below; /* octets before this sequence number have left */
	bool left;           /* the whole segment has */
	struct iw_fate *fate;
};

static struct iw_flow_dir *dir_of(struct iw_flow *f, unsigned from)
{
	if (f->dir[from])
		return f->dir[from];
	f->dir[from] = iw_mem_alloc(f->cfg->mem, sizeof(*f->dir[from]));
	if (f->dir[from])
		f->dir[from]->early.total = f->cfg->early;
	return f->dir[from];
}

void iw_flow_dir_free(struct iw_flow *f, unsigned from)
{
	struct iw_flow_dir *w = f->dir[from];

	if (!w)
		return;
	iw_early_clear(&w->early, f->cfg->mem);
	iw_mem_free(f->cfg->mem, w->edit, sizeof(*w->edit));
	iw_mem_free(f->cfg->mem, w, sizeof(*w));
	f->dir[from] = NULL;
}

/* --- edits ------------------------------------------------------------------------------------ */

/* Returns the place on the wire of octet at of the unit: markers before it are counted. */
static uint32_t on_wire(const struct iw_unit *u, size_t at)
{
	/* The octet itself follows a marker that is due before it. */
	return u->markers ? (uint32_t)iw_framer_mark(NULL, u->octets, at + 1, u->pos) - 1
			  : (uint32_t)at;
}

/* Notes the change of an octet. Returns whether the octet has left already. */
static bool note(struct reading *r, const struct iw_unit *u, uint32_t unit_seq, size_t at,
		 uint8_t mask)
{
	uint32_t seq = unit_seq + on_wire(u, at);

	iw_changes_add(&r->w->changes, seq, mask);
	return r->left || iw_seq32_before(seq, r->left_below);
}

/*
 * The CRC is linear: that of the changed unit differs from that of the unit by a value that does not
 * depend on the octets that are equal in both, so also not on those that have not arrived. Returns
 * whether an octet of it has left.
 */
static bool note_crc(struct reading *r, const struct iw_unit *u, uint32_t unit_seq)
{
	size_t at = u->len - IW_MPA_CRC_LEN;
	uint32_t delta = iw_framer_crc(r->w->edit->before, u->len, u->markers, u->pos) ^
			 iw_framer_crc(r->w->edit->after, u->len, u->markers, u->pos);
	uint8_t mask[IW_MPA_CRC_LEN];
	bool left = false;

	iw_put_le32(mask, delta);
	for (size_t i = 0; i < sizeof(mask); i++)
		left |= note(r, u, unit_seq, at + i, mask[i]);
	return left;
}

/* Returns the unit as the other end receives it. */
static const uint8_t *edit(struct reading *r, const struct iw_decision *d, const struct iw_unit *u,
			   uint32_t unit_seq)
{
	struct edit *e = r->w->edit;
	struct iw_unit plain = *u;
	size_t len = u->len;
	bool left = false;

	memcpy(e->after, e->before, u->len);
	plain.sealed = false;
	plain.octets = e->before;
	if (!iw_edit_apply(d, &plain, e->after, &len) || len != u->len) {
		r->f->missed++;
		return e->before;
	}
	for (size_t i = 0; i < u->len; i++)
		if (e->before[i] != e->after[i])
			left |= note(r, u, unit_seq, i, e->before[i] ^ e->after[i]);
	if (u->sealed && u->kind == IW_UNIT_FPDU && d->action->fix_crc && u->len > IW_MPA_CRC_LEN)
		left |= note_crc(r, u, unit_seq);
	r->f->missed += left;
	memcpy(e->before, e->after, u->len);
	return e->before;
}

/* Prepares an edit: the octets of the unit that are known. p: as they came, len octets of them.
 * False: no memory, or the unit is impossible. */
static bool prepare(struct reading *r, const struct iw_unit *u, const uint8_t *p, size_t len)
{
	struct iw_flow_dir *w = r->w;

	if (!w->edit)
		w->edit = iw_mem_alloc(r->f->cfg->mem, sizeof(*w->edit));
	if (!w->edit || u->len > UNIT_MAX)
		return false;
	memset(w->edit->before, 0, u->len);
	if (u->wire_len <= len)
		iw_framer_unmark(u, w->edit->before, p);
	else
		memcpy(w->edit->before, u->octets, IW_MIN(u->have, u->len));
	return true;
}

static const uint8_t *decide(struct reading *r, struct iw_unit *u, const uint8_t *p, size_t len,
			     uint32_t unit_seq)
{
	struct iw_decision d[IW_DECISIONS_MAX];
	size_t n = iw_flow_decide(r->f, u, r->now, d);
	const uint8_t *edited = NULL;

	for (size_t i = 0; i < n; i++) {
		bool edits = iw_edit_is(d[i].action->kind);

		if (edits && (edited || prepare(r, u, p, len)))
			edited = edit(r, &d[i], u, unit_seq);
		else if (edits || r->left)
			r->f->missed++;
		else
			iw_flow_act(r->f, r->from, &d[i], r->now, r->fate);
	}
	return edited;
}

/* --- units ------------------------------------------------------------------------------------ */

/* Reads one unit at p; returns its octets that are there. 0: it needs more. */
static size_t read_unit(struct reading *r, const uint8_t *p, size_t len, uint32_t seq)
{
	struct iw_framer *framer = &r->f->framer;
	const uint8_t *edited;
	struct iw_unit u;

	if (!iw_framer_peek(framer, r->from, p, len, false, r->now - r->f->begun, &u) ||
	    u.wire_len == 0)
		return 0;
	/* The flags of a start-up frame are needed, so all of it is. */
	if ((u.kind == IW_UNIT_REQUEST || u.kind == IW_UNIT_REPLY) && u.wire_len > len &&
	    u.wire_len <= WINDOW)
		return 0;
	edited = decide(r, &u, p, len, seq);
	iw_framer_take(framer, &u, edited);
	r->w->skip = u.wire_len > len ? (uint32_t)(u.wire_len - len) : 0;
	return IW_MIN(u.wire_len, len);
}

static size_t take_skipped(struct iw_flow_dir *w, size_t len)
{
	size_t n = IW_MIN(w->skip, len);

	w->skip -= (uint32_t)n;
	return n;
}

/* Adds octets to the window and reads units from it. Returns how many octets it took. */
static size_t fill_window(struct reading *r, const uint8_t *p, size_t len)
{
	struct iw_flow_dir *w = r->w;
	size_t n = IW_MIN(len, WINDOW - w->window_len), used;

	memcpy(w->window + w->window_len, p, n);
	w->window_len += n;
	while (w->window_len > 0 &&
	       (used = read_unit(r, w->window, w->window_len, w->window_at)) > 0) {
		w->window_len -= used;
		w->window_at += (uint32_t)used;
		memmove(w->window, w->window + used, w->window_len);
	}
	w->lost |= w->window_len == WINDOW;
	return n;
}

/* Octets in order. */
static void read_octets(struct reading *r, const uint8_t *p, size_t len, uint32_t seq)
{
	struct iw_flow_dir *w = r->w;
	size_t n;

	w->begun = true;
	w->next = seq + (uint32_t)len;
	while (len > 0 && !w->lost) {
		if (w->skip > 0) {
			n = take_skipped(w, len);
		} else if (w->window_len > 0) {
			n = fill_window(r, p, len);
		} else {
			n = read_unit(r, p, len, seq);
			if (n == 0) {
				w->window_at = seq;
				n = fill_window(r, p, len);
			}
		}
		p += n;
		len -= n;
		seq += (uint32_t)n;
	}
}

/* --- order ------------------------------------------------------------------------------------ */

/* Keeps an early segment. If that fails, frees those that were kept: later units of this direction
 * are not read. */
static void keep(struct iw_flow *f, struct iw_flow_dir *w, const uint8_t *p, size_t len,
		 uint32_t seq)
{
	if (iw_early_keep(&w->early, f->cfg->mem, seq, p, len))
		return;
	iw_early_clear(&w->early, f->cfg->mem);
	w->lost = true;
	f->unread++;
}

/* Reads the octets from w->next on of a segment that begins there or before. */
static void read_new(struct reading *r, const uint8_t *p, size_t len, uint32_t seq)
{
	size_t old = r->w->next - seq;

	if (old < len)
		read_octets(r, p + old, len - old, r->w->next);
}

static void read_segment(struct reading *r, const uint8_t *p, size_t len, uint32_t seq)
{
	struct iw_flow_dir *w = r->w;
	const struct iw_early *e;

	if (iw_seq32_before(w->next, seq)) {
		keep(r->f, w, p, len, seq);
		return;
	}
	read_new(r, p, len, seq);
	/* A decision about a segment that was sent earlier comes too late. */
	r->left = true;
	while ((e = iw_early_first(&w->early)) && !iw_seq32_before(w->next, e->seq)) {
		read_new(r, e->octets, e->len, e->seq);
		iw_early_drop(&w->early, r->f->cfg->mem);
	}
}

void iw_flow_segment(struct iw_flow *f, unsigned from, uint32_t seq, bool syn, uint8_t *payload,
		     size_t len, uint64_t now, struct iw_fate *out)
{
	struct iw_flow_dir *w = dir_of(f, from);
	/* A SYN has a sequence number of its own, before those of the payload (RFC 9293 3.4). */
	uint32_t at = seq + syn;
	struct reading r = { f, w, from, now, at, false, out };

	*out = (struct iw_fate){ .len = len };
	/* A SYN that is sent again after octets does not begin another stream. */
	if (w && ((syn && !w->begun) || (len > 0 && !w->synced))) {
		w->synced = true;
		w->next = at;
	}
	if (w && len > 0) {
		if (!w->lost)
			read_segment(&r, payload, len, at);
		out->changed = iw_changes_apply(&w->changes, at, payload, len);
	}
	iw_flow_hold(f, from, now, out);
}
