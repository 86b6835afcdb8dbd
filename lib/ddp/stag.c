// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The STag table: the high bits of an STag are its slot. No two STags have the same slot. */
#include "ddp/stag.h"

#include <assert.h>
#include <string.h>

#include "util/num.h"
#include "util/text.h"

#define STAG_BITS  32
#define FIRST_BITS 4 /* 16 slots, 8 registrations: a small table needs 1 KiB */
#define CACHE_LINE 64
#define BATCH      256  /* STags fetched from the random source at once: 1 KiB, one system call */
#define TRIES      1024 /* each finds a free slot with a probability of at least one half */

/* Peers can force a look-up with any STag, so each costs one cache line: there are no chains. */
_Static_assert(sizeof(void *) != 8 || sizeof(struct iw_region) == CACHE_LINE,
	       "a registration is one cache line");
_Static_assert(IW_STAG_MAX <= 1u << (STAG_BITS - 2), "slots leave an STag some bits of its own");

struct iw_stag_table {
	struct iw_region *slots; /* 2^bits of them, at a cache line's boundary inside raw */
	unsigned shift;          /* STAG_BITS - bits: an STag shifted by it is its slot */
	unsigned bits;
	size_t count;
	void *raw;
	const struct iw_mem *mem;
	int (*random)(void *ctx, void *buf, size_t len);
	void *random_ctx;
	uint32_t drawn[BATCH]; /* random values; the first `left` of them are unused */
	size_t left;
	void (*on_change)(void *ctx, uint32_t stag,
			  const struct iw_region *r); /* NULL: no watcher */
	void *on_change_ctx;
};

static size_t slots_of(unsigned bits)
{
	return (size_t)1 << bits;
}

/* Slots to allocate: two more than needed, for the alignment. */
static size_t raw_count(unsigned bits)
{
	return slots_of(bits) + 2;
}

static struct iw_region *align_slots(void *raw)
{
	uintptr_t at = (uintptr_t)raw;

	return (struct iw_region *)((char *)raw + (-at & (CACHE_LINE - 1)));
}

static struct iw_region *slot_of(const struct iw_stag_table *t, uint32_t stag)
{
	return &t->slots[stag >> t->shift];
}

int iw_stag_table_new(struct iw_stag_table **out, const struct iw_mem *mem,
		      int (*random)(void *ctx, void *buf, size_t len), void *random_ctx)
{
	struct iw_stag_table *t = iw_mem_alloc(mem, sizeof(*t));

	if (!t)
		return IW_E_NOMEM;
	*t = (struct iw_stag_table){
		.shift = STAG_BITS - FIRST_BITS,
		.bits = FIRST_BITS,
		.mem = mem,
		.random = random,
		.random_ctx = random_ctx,
	};
	t->raw = iw_mem_array(mem, raw_count(t->bits), sizeof(*t->slots));
	if (!t->raw) {
		iw_mem_free(mem, t, sizeof(*t));
		return IW_E_NOMEM;
	}
	t->slots = align_slots(t->raw);
	*out = t;
	return 0;
}

void iw_stag_table_free(struct iw_stag_table *t)
{
	if (!t)
		return;
	iw_mem_free(t->mem, t->raw, raw_count(t->bits) * sizeof(*t->slots));
	iw_mem_free(t->mem, t, sizeof(*t));
}

void iw_stag_watch(struct iw_stag_table *t,
		   void (*on_change)(void *ctx, uint32_t stag, const struct iw_region *r),
		   void *ctx)
{
	t->on_change = on_change;
	t->on_change_ctx = ctx;
}

struct iw_region *iw_stag_get(struct iw_stag_table *t, uint32_t stag)
{
	struct iw_region *r = slot_of(t, stag);

	return iw_likely(r->stag == stag && r->live) ? r : NULL;
}

void iw_stag_prefetch(const struct iw_stag_table *t, uint32_t stag)
{
	__builtin_prefetch(slot_of(t, stag));
}

struct iw_region *iw_stag_each(struct iw_stag_table *t, size_t *pos)
{
	while (*pos < slots_of(t->bits)) {
		struct iw_region *r = &t->slots[(*pos)++];

		if (r->live)
			return r;
	}
	return NULL;
}

/* --- registration ----------------------------------------------------------------------------- */

/*
 * Doubles the number of slots. One more bit of the STag selects the slot, so no two STags get the
 * same one. Free slots move too, because they remember the last STag that was revoked there.
 */
static int grow(struct iw_stag_table *t)
{
	unsigned bits = t->bits + 1;
	void *raw = iw_mem_array(t->mem, raw_count(bits), sizeof(*t->slots));

	if (!raw)
		return IW_E_NOMEM;

	struct iw_region *slots = align_slots(raw);

	for (size_t i = 0; i < slots_of(t->bits); i++)
		if (t->slots[i].stag)
			slots[t->slots[i].stag >> (STAG_BITS - bits)] = t->slots[i];
	iw_mem_free(t->mem, t->raw, raw_count(t->bits) * sizeof(*t->slots));
	t->raw = raw;
	t->slots = slots;
	t->bits = bits;
	t->shift = STAG_BITS - bits;
	return 0;
}

static int random_u32(struct iw_stag_table *t, uint32_t *v)
{
	if (t->left == 0) {
		int ret = t->random(t->random_ctx, t->drawn, sizeof(t->drawn));

		if (ret < 0)
			return ret;
		t->left = BATCH;
	}
	t->left--;
	*v = t->drawn[t->left];
	t->drawn[t->left] = 0; /* an STag is stored only in its slot */
	return 0;
}

/*
 * Selects an STag whose slot is free. RFC 5042 6.1.1: STags must be hard to predict, so they are
 * random values; and they must not be reused soon, so the last STag of the slot is not used again.
 */
static int draw(struct iw_stag_table *t, uint32_t *stag, struct iw_fault *why)
{
	for (unsigned i = 0; i < TRIES; i++) {
		uint32_t v;
		int ret = random_u32(t, &v);

		if (ret < 0)
			return iw_fail(why, ret, "stag: the random source failed");
		if (v != 0 && !slot_of(t, v)->live && slot_of(t, v)->stag != v) {
			*stag = v;
			return 0;
		}
	}
	return iw_fail(why, IW_E_LIMIT,
		       "stag: %u random values, none usable: the source repeats itself",
		       (uint32_t)TRIES);
}

static int check_region(const struct iw_region *r, struct iw_fault *why)
{
	const uint8_t all = IW_RIGHT_REMOTE_READ | IW_RIGHT_REMOTE_WRITE | IW_RIGHT_READ_SINK;
	uint64_t end;

	if (r->rights == 0 || (r->rights & ~all))
		return iw_fail(why, IW_E_INVAL, "stag: rights %b: expected some of %b",
			       (uint32_t)r->rights, (uint32_t)all);
	if (r->uses == 0)
		return iw_fail(why, IW_E_INVAL,
			       "stag: a registration with 0 uses: expected at least 1");
	if (r->len > 0 && !r->base)
		return iw_fail(why, IW_E_INVAL, "stag: %U octets at address NULL", r->len);
	if (r->len > UINTPTR_MAX - (uintptr_t)r->base)
		return iw_fail(why, IW_E_INVAL, "stag: %U octets end above the address space",
			       r->len);
	if (iw_add_wraps(r->to, r->len, &end))
		return iw_fail(
			why, IW_E_INVAL,
			"stag: TO %X length %U: the range must end below 2^64 (RFC 5041 7.1)",
			r->to, r->len);
	return 0;
}

int iw_stag_add(struct iw_stag_table *t, const struct iw_region *r, uint32_t *stag,
		struct iw_fault *why)
{
	int ret = check_region(r, why);

	if (ret < 0)
		return ret;
	if (t->count >= IW_STAG_MAX)
		return iw_fail(why, IW_E_LIMIT, "stag: %u are registered, the limit of one table",
			       (uint32_t)IW_STAG_MAX);
	if (t->count >= slots_of(t->bits) / 2) {
		ret = grow(t);
		if (ret < 0)
			return iw_fail(why, ret, "stag: no memory for a table of %U slots",
				       (uint64_t)slots_of(t->bits + 1));
	}
	ret = draw(t, stag, why);
	if (ret < 0)
		return ret;

	struct iw_region *slot = slot_of(t, *stag);

	*slot = *r;
	slot->stag = *stag;
	slot->live = true;
	slot->busy = 0;
	t->count++;
	if (t->on_change)
		t->on_change(t->on_change_ctx, *stag, slot);
	return 0;
}

/* The slot keeps the STag, so that draw() does not select it before another STag used the slot. */
static void revoke(struct iw_stag_table *t, struct iw_region *r)
{
	*r = (struct iw_region){ .stag = r->stag };
	t->count--;
	if (t->on_change)
		t->on_change(t->on_change_ctx, r->stag, NULL);
}

int iw_stag_del(struct iw_stag_table *t, uint32_t stag)
{
	struct iw_region *r = iw_stag_get(t, stag);

	if (!r)
		return IW_E_NOENT;
	revoke(t, r);
	return 0;
}

/* --- use -------------------------------------------------------------------------------------- */

enum iw_stag_verdict iw_stag_check(struct iw_stag_table *t, uint32_t stag,
				   const struct iw_stag_use *u, uint8_t **where)
{
	const struct iw_region *r = iw_stag_get(t, stag);
	uint64_t end;

	if (!r || r->expires <= u->now || (r->uses == 0 && !u->begun))
		return IW_STAG_INVALID;
	if (r->pd != u->pd || (r->stream != 0 && r->stream != u->stream))
		return IW_STAG_ASSOC;
	if (!(r->rights & u->right))
		return IW_STAG_RIGHTS;
	if (iw_add_wraps(u->to, u->len, &end))
		return IW_STAG_WRAP;
	/* iw_stag_add has checked that to + len does not wrap. */
	if (u->to < r->to || end > r->to + r->len)
		return IW_STAG_BOUNDS;
	*where = r->base ? r->base + (size_t)(u->to - r->to) : NULL;
	return IW_STAG_OK;
}

static bool limited(const struct iw_region *r)
{
	return r->uses != UINT32_MAX;
}

static bool revoke_when_spent(struct iw_stag_table *t, struct iw_region *r)
{
	if (r->uses > 0 || r->busy > 0)
		return false;
	revoke(t, r);
	return true;
}

static void take_use(struct iw_region *r)
{
	if (limited(r) && r->uses > 0)
		r->uses--;
}

bool iw_stag_used(struct iw_stag_table *t, uint32_t stag)
{
	struct iw_region *r = iw_stag_get(t, stag);

	if (!r)
		return false;
	take_use(r);
	return revoke_when_spent(t, r);
}

void iw_stag_begin(struct iw_stag_table *t, uint32_t stag)
{
	struct iw_region *r = iw_stag_get(t, stag);

	if (!r)
		return;
	take_use(r);
	r->busy++;
}

bool iw_stag_end(struct iw_stag_table *t, uint32_t stag)
{
	struct iw_region *r = iw_stag_get(t, stag);

	if (!r)
		return false;
	if (r->busy > 0)
		r->busy--;
	return revoke_when_spent(t, r);
}

void iw_stag_tally(struct iw_stag_table *t, uint32_t stag, uint8_t right, uint64_t len)
{
	const struct iw_region *r = iw_stag_get(t, stag);
	struct iw_stag_tally *tally;

	if (!r || iw_likely(!r->tallied))
		return;
	tally = r->owner;
	if (right == IW_RIGHT_REMOTE_WRITE) {
		tally->writes++;
		tally->write_octets += len;
	} else {
		tally->reads++;
		tally->read_octets += len;
	}
}

void iw_stag_covered(struct iw_stag_table *t, uint32_t stag, uint64_t to, uint64_t len)
{
	const struct iw_region *r = iw_stag_get(t, stag);
	struct iw_stag_tally *tally;

	if (!r || iw_likely(!r->tallied))
		return;
	tally = r->owner;
	/* The STag may belong to a new registration by now, in which the Write was not placed. */
	if (to < r->to || len > r->len || to - r->to > r->len - len || to - r->to > tally->covered)
		return;
	tally->covered = IW_MAX(tally->covered, to - r->to + len);
}

/* --- errors ----------------------------------------------------------------------------------- */

static void put_rights(struct iw_text *t, uint8_t rights)
{
	static const struct {
		uint8_t right;
		const char *name;
	} names[] = {
		{ IW_RIGHT_REMOTE_READ, "remote read" },
		{ IW_RIGHT_REMOTE_WRITE, "remote write" },
		{ IW_RIGHT_READ_SINK, "sink of local Reads" },
	};
	const char *sep = "";

	for (size_t i = 0; i < IW_ARRAY_LEN(names); i++) {
		if (!(rights & names[i].right))
			continue;
		iw_text_str(t, sep);
		iw_text_str(t, names[i].name);
		sep = ", ";
	}
}

/* Writes why the use got the verdict. */
static void put_reason(struct iw_text *t, const struct iw_region *r, enum iw_stag_verdict v,
		       const struct iw_stag_use *u)
{
	switch (v) {
	case IW_STAG_OK:
		break;
	case IW_STAG_INVALID:
		if (!r)
			iw_text_str(t, "not registered");
		else if (r->expires <= u->now)
			iw_text_str(t, "expired");
		else
			iw_text_str(t, "used up");
		break;
	case IW_STAG_ASSOC:
		if (r && r->pd == u->pd)
			iw_text_fmt(t, "registered for stream %u, this is stream %u", r->stream,
				    u->stream);
		else if (r)
			iw_text_fmt(t, "registered in protection domain %u, this stream is in %u",
				    r->pd, u->pd);
		break;
	case IW_STAG_RIGHTS:
		iw_text_str(t, "asked for ");
		put_rights(t, u->right);
		if (!r)
			break;
		iw_text_str(t, ", registered for ");
		put_rights(t, r->rights);
		break;
	case IW_STAG_WRAP:
		iw_text_str(t, "TO and length exceed 2^64 - 1");
		break;
	case IW_STAG_BOUNDS:
		iw_text_str(t, "outside ");
		if (!r)
			break;
		iw_text_hex(t, r->to, 1);
		iw_text_str(t, "..");
		iw_text_hex(t, r->to + r->len, 1);
		break;
	}
}

static int stag_error(struct iw_stag_table *t, enum iw_stag_verdict v, uint32_t stag,
		      const struct iw_stag_use *u, const char *layer, int err, struct iw_fault *why)
{
	char to[20], reason[112];
	struct iw_text text;

	iw_text_init(&text, to, sizeof(to));
	iw_text_hex(&text, u->to, 1);
	iw_text_init(&text, reason, sizeof(reason));
	put_reason(&text, iw_stag_get(t, stag), v, u);
	return iw_fail(why, err, "%s: STag %x TO %s length %U: %s", layer, stag, to, u->len,
		       reason);
}

int iw_stag_ddp_error(struct iw_stag_table *t, enum iw_stag_verdict v, uint32_t stag,
		      const struct iw_stag_use *u, struct iw_fault *why)
{
	static const int errs[] = {
		[IW_STAG_INVALID] = IW_E_DDP_STAG,  [IW_STAG_ASSOC] = IW_E_DDP_ASSOC,
		[IW_STAG_RIGHTS] = IW_E_DDP_STAG,   [IW_STAG_WRAP] = IW_E_DDP_WRAP,
		[IW_STAG_BOUNDS] = IW_E_DDP_BOUNDS,
	};

	assert(v > IW_STAG_OK && v <= IW_STAG_BOUNDS);
	return stag_error(t, v, stag, u, "ddp", errs[v], why);
}

int iw_stag_rdmap_error(struct iw_stag_table *t, enum iw_stag_verdict v, uint32_t stag,
			const struct iw_stag_use *u, struct iw_fault *why)
{
	static const int errs[] = {
		[IW_STAG_INVALID] = IW_E_RP_STAG,  [IW_STAG_ASSOC] = IW_E_RP_ASSOC,
		[IW_STAG_RIGHTS] = IW_E_RP_RIGHTS, [IW_STAG_WRAP] = IW_E_RP_WRAP,
		[IW_STAG_BOUNDS] = IW_E_RP_BOUNDS,
	};

	assert(v > IW_STAG_OK && v <= IW_STAG_BOUNDS);
	return stag_error(t, v, stag, u, "rdmap", errs[v], why);
}
