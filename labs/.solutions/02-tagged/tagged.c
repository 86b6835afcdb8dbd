/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 2, the solution. */
#include <stdlib.h>
#include <string.h>

#include "tagged.h"

#define KEY_MASK   ((1u << TAGGED_KEY_BITS) - 1)
#define ALL_RIGHTS (TAGGED_REMOTE_READ | TAGGED_REMOTE_WRITE | TAGGED_READ_SINK)

struct slot {
	struct tagged_region region;
	uint32_t key; /* the last one that the slot had; 0: none yet */
	bool live;
};

struct tagged_table {
	struct slot slots[TAGGED_SLOTS];
	uint32_t next; /* where the search for a free slot begins */
	uint32_t (*random)(void *ctx);
	void *ctx;
};

/* --- step header ------------------------------------------------------------------------------ */

static uint64_t get_be(const uint8_t *at, size_t octets)
{
	uint64_t v = 0;

	for (size_t i = 0; i < octets; i++)
		v = v << 8 | at[i];
	return v;
}

enum tagged_code tagged_parse(struct tagged_header *h, const uint8_t *segment, size_t len)
{
	/* RFC 5041 4.1: T L Rsvd(4) DV(2). RFC 5040 4.1: RV(2) Rsv(2) OpCode(4). */
	if (len < TAGGED_HEADER_LEN || !(segment[0] & 0x80))
		return TAGGED_LOCAL;
	if ((segment[0] & 0x03) != TAGGED_VERSION)
		return TAGGED_DDP_VERSION;
	if (segment[1] >> 6 != TAGGED_VERSION)
		return TAGGED_RDMAP_VERSION;
	h->opcode = segment[1] & 0x0f;
	if (h->opcode != TAGGED_WRITE && h->opcode != TAGGED_READ_RESPONSE)
		return TAGGED_OPCODE;
	h->last = segment[0] & 0x40;
	h->stag = (uint32_t)get_be(segment + 2, 4);
	h->to = get_be(segment + 6, 8);
	h->payload = segment + TAGGED_HEADER_LEN;
	h->payload_len = len - TAGGED_HEADER_LEN;
	return TAGGED_OK;
}

/* --- steps register and revoke ---------------------------------------------------------------- */

struct tagged_table *tagged_new(uint32_t (*random)(void *ctx), void *ctx)
{
	struct tagged_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->random = random;
	t->ctx = ctx;
	return t;
}

void tagged_free(struct tagged_table *t)
{
	free(t);
}

static bool is_valid(const struct tagged_region *region)
{
	if (region->rights == 0 || (region->rights & ~ALL_RIGHTS))
		return false;
	if (!region->memory && region->len > 0)
		return false;
	return region->len <= UINT64_MAX - region->base;
}

/* Returns the number of a free slot; TAGGED_SLOTS: all are in use. */
static uint32_t find_free(const struct tagged_table *t)
{
	for (uint32_t i = 0; i < TAGGED_SLOTS; i++) {
		uint32_t n = (t->next + i) % TAGGED_SLOTS;

		if (!t->slots[n].live)
			return n;
	}
	return TAGGED_SLOTS;
}

bool tagged_register(struct tagged_table *t, const struct tagged_region *region, uint32_t *stag)
{
	uint32_t n = find_free(t), key;
	struct slot *slot;

	if (n == TAGGED_SLOTS || !is_valid(region))
		return false;
	slot = &t->slots[n];
	do
		key = t->random(t->ctx) & KEY_MASK;
	while (key == 0 || key == slot->key);
	slot->region = *region;
	slot->key = key;
	slot->live = true;
	t->next = (n + 1) % TAGGED_SLOTS;
	*stag = n << TAGGED_KEY_BITS | key;
	return true;
}

const struct tagged_region *tagged_lookup(const struct tagged_table *t, uint32_t stag)
{
	const struct slot *slot = &t->slots[stag >> TAGGED_KEY_BITS];

	if (!slot->live || slot->key != (stag & KEY_MASK))
		return NULL;
	return &slot->region;
}

/* The slot keeps its key, so that the next registration gets another one. */
bool tagged_deregister(struct tagged_table *t, uint32_t stag)
{
	if (!tagged_lookup(t, stag))
		return false;
	t->slots[stag >> TAGGED_KEY_BITS].live = false;
	return true;
}

/* --- access ----------------------------------------------------------------------------------- */

/* The checks are the same for both directions; each has codes of its own for their results. */
struct codes {
	enum tagged_code invalid_stag, not_associated, rights, wrap, bounds;
};

static const struct codes place_codes = {
	.invalid_stag = TAGGED_INVALID_STAG,
	.not_associated = TAGGED_NOT_ASSOCIATED,
	.rights = TAGGED_INVALID_STAG, /* DDP has no code for missing rights */
	.wrap = TAGGED_WRAP,
	.bounds = TAGGED_BOUNDS,
};
static const struct codes read_codes = {
	.invalid_stag = TAGGED_READ_INVALID_STAG,
	.not_associated = TAGGED_READ_NOT_ASSOCIATED,
	.rights = TAGGED_READ_RIGHTS,
	.wrap = TAGGED_READ_WRAP,
	.bounds = TAGGED_READ_BOUNDS,
};

/* What a peer asks for. */
struct access {
	uint32_t stag;
	uint64_t to, len;
	uint8_t right;
};

/* Sets *where to the memory of the octet at TO. */
static enum tagged_code check(const struct tagged_table *t, const struct tagged_stream *s,
			      const struct access *a, const struct codes *codes, uint8_t **where)
{
	const struct tagged_region *region = tagged_lookup(t, a->stag);

	if (!region)
		return codes->invalid_stag;
	if (region->pd != s->pd)
		return codes->not_associated;
	if (region->stream != 0 && region->stream != s->id)
		return codes->not_associated;
	if (!(region->rights & a->right))
		return codes->rights;
	/* The sum of the region cannot wrap: tagged_register() has refused such regions. */
	if (a->len > UINT64_MAX - a->to)
		return codes->wrap;
	if (a->to < region->base || a->to + a->len > region->base + region->len)
		return codes->bounds;
	*where = region->memory + (a->to - region->base);
	return TAGGED_OK;
}

static enum tagged_code place(const struct tagged_table *t, const struct tagged_stream *s,
			      const uint8_t *segment, size_t len)
{
	struct tagged_header h;
	struct access a;
	uint8_t *where;
	enum tagged_code code = tagged_parse(&h, segment, len);

	/* RFC 5041 5.2: STag and TO of a zero-length segment MUST NOT be checked. */
	if (code != TAGGED_OK || h.payload_len == 0)
		return code;
	a = (struct access){
		.stag = h.stag,
		.to = h.to,
		.len = h.payload_len,
		.right = h.opcode == TAGGED_WRITE ? TAGGED_REMOTE_WRITE : TAGGED_READ_SINK,
	};
	code = check(t, s, &a, &place_codes, &where);
	if (code == TAGGED_OK)
		memcpy(where, h.payload, h.payload_len);
	return code;
}

enum tagged_code tagged_place(struct tagged_table *t, struct tagged_stream *s,
			      const uint8_t *segment, size_t len)
{
	if (s->error != TAGGED_OK)
		return TAGGED_DROPPED;
	s->error = place(t, s, segment, len);
	return s->error;
}

enum tagged_code tagged_read(const struct tagged_table *t, struct tagged_stream *s, uint32_t stag,
			     uint64_t to, uint32_t len, uint8_t *dst)
{
	struct access a = { .stag = stag, .to = to, .len = len, .right = TAGGED_REMOTE_READ };
	uint8_t *where;

	if (s->error != TAGGED_OK)
		return TAGGED_DROPPED;
	if (len == 0)
		return TAGGED_OK;
	s->error = check(t, s, &a, &read_codes, &where);
	if (s->error == TAGGED_OK)
		memcpy(dst, where, len);
	return s->error;
}
