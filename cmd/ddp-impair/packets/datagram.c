// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Datagrams: the decisions about an SCTP packet and its chunks, and their edits. All decisions are
 * made before the first edit. Edits that repair the checksum come first, then the checksum, then
 * those that corrupt on purpose.
 */
#include <string.h>

#include "ddp-impair/packets/chunk.h"
#include "ddp-impair/packets/flow.h"
#include "ddp-impair/packets/internal.h"
#include "ddp-impair/rules/edit.h"
#include "wire/sctp.h"

/* All decisions about one packet: of each of its units as many as there can be. */
#define CHOSEN_MAX ((IW_CHUNKS_MAX + 1) * IW_DECISIONS_MAX)

struct chosen {
	size_t unit;
	struct iw_decision d;
};

struct work {
	struct iw_unit unit[IW_CHUNKS_MAX + 1]; /* [0]: the packet or the octets */
	size_t off[IW_CHUNKS_MAX + 1];          /* where they are now */
	size_t units;
	struct chosen chosen[CHOSEN_MAX];
	size_t chosen_len;
	uint8_t *octets;
	size_t len;
	bool changed, seal;
	bool cut; /* a chunk was cut out */
};

static void decide(struct iw_flow *f, struct work *w, uint64_t now)
{
	struct iw_decision d[IW_DECISIONS_MAX];

	for (size_t i = 0; i < w->units; i++) {
		size_t n = iw_flow_decide(f, &w->unit[i], now, d);

		for (size_t k = 0; k < n; k++)
			w->chosen[w->chosen_len++] = (struct chosen){ i, d[k] };
	}
}

/* Unit i has become shorter, from old to len octets: the later ones move up. */
static void close_gap(struct work *w, size_t i, size_t old, size_t len)
{
	size_t end = w->off[i] + old, cut = old - len;

	memmove(w->octets + end - cut, w->octets + end, w->len - end);
	w->len -= cut;
	w->unit[0].len = w->unit[0].have = w->len;
	/* Unit 0 is the packet: its chunks keep their places. */
	if (i == 0)
		return;
	w->unit[i].len = w->unit[i].have = len;
	for (size_t k = i + 1; k < w->units; k++)
		w->off[k] -= cut;
}

/* False: an earlier decision has truncated the packet before the end of unit i. */
static bool remains(const struct work *w, size_t i)
{
	return w->off[i] + w->unit[i].len <= w->len;
}

static void edit(struct work *w, const struct chosen *o)
{
	struct iw_unit *u = &w->unit[o->unit];
	size_t old = u->len, len = old;

	u->octets = w->octets + w->off[o->unit];
	if (old == 0 || !remains(w, o->unit) ||
	    !iw_edit_apply(&o->d, u, w->octets + w->off[o->unit], &len))
		return;
	w->changed = true;
	if (len < old)
		close_gap(w, o->unit, old, len);
}

static bool is_cut(const struct work *w, const struct chosen *o)
{
	return o->d.action->kind == IW_ACTION_DROP && w->unit[o->unit].kind == IW_UNIT_CHUNK;
}

static bool repairs(const struct iw_action *a)
{
	return a->fix_crc || a->fix_length;
}

static void cut(struct work *w, size_t i)
{
	if (!remains(w, i))
		return;
	close_gap(w, i, w->unit[i].len, 0);
	w->changed = w->seal = true;
	w->cut = true;
}

static void carry_out(struct iw_flow *f, struct work *w, unsigned from, uint64_t now,
		      struct iw_fate *out)
{
	for (size_t i = 0; i < w->chosen_len; i++) {
		const struct chosen *o = &w->chosen[i];

		if (is_cut(w, o)) {
			cut(w, o->unit);
		} else if (!iw_edit_is(o->d.action->kind)) {
			iw_flow_act(f, from, &o->d, now, out);
		} else if (repairs(o->d.action)) {
			edit(w, o);
			w->seal = true;
		}
	}
	if (w->seal && w->unit[0].kind == IW_UNIT_PACKET && w->len >= IW_SCTP_HDR_LEN)
		iw_edit_seal(&w->unit[0], w->octets, w->len);
	for (size_t i = 0; i < w->chosen_len; i++) {
		const struct chosen *o = &w->chosen[i];

		if (iw_edit_is(o->d.action->kind) && !repairs(o->d.action))
			edit(w, o);
	}
}

static size_t read_octets(struct iw_unit *u, unsigned from, const uint8_t *octets, size_t len)
{
	memset(u, 0, sizeof(*u));
	u->kind = IW_UNIT_OCTETS;
	u->from = (uint8_t)from;
	u->octets = octets;
	u->have = u->len = len;
	u->wire_len = (uint32_t)len;
	return len > 0;
}

void iw_flow_datagram(struct iw_flow *f, unsigned from, uint8_t *octets, size_t len, uint64_t now,
		      struct iw_fate *out)
{
	struct work w;

	*out = (struct iw_fate){ .len = len };
	w.chosen_len = 0;
	w.octets = octets;
	w.len = len;
	w.changed = w.seal = w.cut = false;
	w.units = iw_chunks_read(w.unit, from, octets, len);
	if (w.units == 0)
		w.units = read_octets(&w.unit[0], from, octets, len);
	decide(f, &w, now);
	if (w.chosen_len > 0) {
		for (size_t i = 0; i < w.units; i++)
			w.off[i] = (size_t)(w.unit[i].octets - octets);
		carry_out(f, &w, from, now, out);
		/* All chunks were cut out. */
		if (w.cut && w.len <= IW_SCTP_HDR_LEN)
			out->dropped = true;
	}
	out->changed = w.changed;
	out->len = w.len;
	iw_flow_hold(f, from, now, out);
}
