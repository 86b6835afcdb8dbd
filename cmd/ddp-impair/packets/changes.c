// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A ring of changes. */
#include "ddp-impair/packets/changes.h"

#include <string.h>

#include "util/num.h"

/* Neighbouring octets share an entry. */
static bool extends(const struct iw_change *last, uint32_t seq)
{
	return last->len > 0 && last->len < IW_CHANGE_LEN && seq == last->seq + last->len;
}

void iw_changes_add(struct iw_changes *c, uint32_t seq, uint8_t mask)
{
	struct iw_change *e = &c->list[(c->added + IW_CHANGES_MAX - 1) % IW_CHANGES_MAX];

	if (!extends(e, seq)) {
		e = &c->list[c->added++ % IW_CHANGES_MAX];
		*e = (struct iw_change){ .seq = seq };
	}
	e->mask[e->len++] = mask;
}

static bool apply(const struct iw_change *e, uint32_t seq, uint8_t *octets, size_t len)
{
	bool changed = false;

	for (uint32_t i = 0; i < e->len; i++) {
		uint32_t at = e->seq + i - seq; /* modulo 2^32: far beyond len if before seq */

		if (at >= len)
			continue;
		octets[at] ^= e->mask[i];
		changed |= e->mask[i] != 0;
	}
	return changed;
}

/* RFC 7323 2.3: no window is larger, so no octet that is farther away is sent again. */
#define WINDOW_MAX (UINT32_C(1) << 30)

bool iw_changes_apply(struct iw_changes *c, uint32_t seq, uint8_t *octets, size_t len)
{
	size_t n = (size_t)IW_MIN(c->added, IW_CHANGES_MAX);
	bool changed = false;

	for (size_t i = 0; i < n; i++) {
		struct iw_change *e = &c->list[i];

		/* After 2^32 octets, others have the same sequence numbers. */
		if (!iw_seq32_before(seq, e->seq + WINDOW_MAX))
			e->len = 0;
		changed |= apply(e, seq, octets, len);
	}
	return changed;
}
