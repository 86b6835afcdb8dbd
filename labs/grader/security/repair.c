/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 6: the steps that attack the student's table of registrations. */
#include <stdlib.h>

#include "labs/grader/security/internal.h"
#include "labs/grader/security/twin.h"
#include "util/num.h"

enum {
	CROWD = 1024, /* registrations of the statistics */
	BOTH = REMOTE_READ | REMOTE_WRITE,
};

/*
 * An access in the middle: the registration is found. The step before `bounds` does not depend on
 * correct bounds.
 */
static bool expect_found(struct twin *t, const struct twin_entry *e)
{
	struct access a = twin_proper(e);

	a.to += 100;
	a.len = 16;
	return twin_expect(t, &a, "");
}

/* --- step stags -------------------------------------------------------------------------------- */

static const struct region plain = {
	.pd = 7, .stream = 5, .rights = BOTH, .len = 256, .to = 0, .base = 512
};

struct region security_numbered(size_t i)
{
	struct region r = plain;

	r.base = 256 * i;
	return r;
}

static bool small_table(struct lab_run *run, struct twin *t)
{
	struct region r;

	for (size_t i = 0; i < 8; i++) {
		r = security_numbered(i);
		if (!twin_add(t, &r))
			return false;
	}
	if (!twin_expect_full(t, &plain, "the table is full (8 of 8)"))
		return false;
	for (size_t i = 0; i < t->n; i++)
		if (!expect_found(t, &t->live[i]))
			return false;
	return twin_close(run);
}

/* Buffers at the end of the range of Tagged Offsets, and random() with numbers that cannot be used. */
static bool odd_registrations(struct lab_run *run, struct twin *t)
{
	struct region r = plain;
	uint32_t words[3];

	r.to = -(uint64_t)r.len;
	lab_case(run, "a buffer of 256 octets from TO 2^64 - 256");
	if (!twin_expect_full(t, &r, "TO + length is 2^64"))
		return false;
	r.to = UINT64_MAX;
	if (!twin_expect_full(t, &r, "TO + length is more than 2^64"))
		return false;
	r.to = -(uint64_t)r.len - 1;
	lab_case(run, "a buffer of 256 octets from TO 2^64 - 257");
	if (!twin_add(t, &r))
		return false;
	lab_case(run, "random() returns 0 first");
	words[0] = 0;
	if (!twin_add_with(t, &plain, words, 1))
		return false;
	lab_case(run, "random() returns, twice, the number that it gave for another STag");
	words[0] = words[1] = 0x12345678;
	if (!twin_add_with(t, &plain, words, 1) || !twin_add_with(t, &plain, words, 2))
		return false;
	for (size_t i = 1; i < t->n; i++)
		if (!expect_found(t, &t->live[i]))
			return false;
	return twin_close(run);
}

/* How often does the most frequent difference of two neighbours occur in these eight bits? */
static unsigned int most_frequent_step(const struct twin *t, unsigned int shift)
{
	unsigned int counts[256] = { 0 }, most = 0;

	for (size_t i = 1; i < t->n; i++) {
		uint8_t step =
			(uint8_t)((t->live[i].stag >> shift) - (t->live[i - 1].stag >> shift));

		counts[step]++;
		most = IW_MAX(most, counts[step]);
	}
	return most;
}

static bool expect_random_bits(struct lab_run *run, const struct twin *t)
{
	for (unsigned int bit = 0; bit < 32; bit++) {
		unsigned int ones = 0;

		for (size_t i = 0; i < t->n; i++)
			ones += t->live[i].stag >> bit & 1;
		/* The standard deviation is 1.6 %. */
		if (ones < t->n * 2 / 5 || ones > t->n * 3 / 5)
			return lab_fail(run,
					"bit %u of the STags is 1 in %u of %zu, so it can be "
					"predicted; about half are expected",
					bit, ones, t->n);
	}
	for (unsigned int shift = 0; shift < 32; shift += 8) {
		unsigned int most = most_frequent_step(t, shift);

		if (most > t->n / 16)
			return lab_fail(
				run,
				"bits %u to %u of an STag can be predicted: their difference from "
				"those of the STag before is the same for %u of %zu STags",
				shift, shift + 7, most, t->n);
	}
	return true;
}

/* The neighbours of valid STags, as attack_guess would try them. */
static bool expect_guesses_fail(struct twin *t)
{
	static const uint32_t near[] = { 1, 37, 255, 256, 256 + 37, 65536 };

	for (size_t i = 0; i < t->n; i += 16) {
		struct access a = twin_proper(&t->live[i]);
		uint32_t stag = a.stag;

		for (size_t j = 0; j < sizeof(near) / sizeof(near[0]); j++) {
			a.stag = stag + near[j];
			if (!twin_expect(t, &a, "a guess beside a valid STag: "))
				return false;
		}
		for (unsigned int bit = 0; bit < 32; bit++) {
			a.stag = stag ^ 1u << bit;
			if (!twin_expect(t, &a, "a guess, one bit beside a valid STag: "))
				return false;
		}
	}
	return true;
}

static bool crowded_table(struct lab_run *run, struct twin *t)
{
	for (size_t i = 0; i < CROWD; i++) {
		struct region r = security_numbered(i);

		if (!twin_add(t, &r))
			return false;
	}
	if (!expect_random_bits(run, t) || !expect_guesses_fail(t))
		return false;
	for (size_t i = 0; i < t->n; i += 8)
		if (!expect_found(t, &t->live[i]))
			return false;
	return twin_close(run);
}

/* STags of a new process, whose random() returns `first` for the first one, then other numbers. */
static bool fresh_stags(struct lab_run *run, uint64_t first, uint32_t stags[16])
{
	bool ok;

	if (!lab_restart(run))
		return false;
	lab_call(run, "table_new");
	lab_put_u32(run, 16);
	twin_put_random(run, first, NULL, 0);
	ok = lab_run_call(run);
	for (unsigned int i = 0; ok && i < 16; i++)
		ok = twin_call_register(run, &plain, i ? lab_random(run) : first, NULL, 0,
					&stags[i]);
	return ok && twin_close(run);
}

/* Each STag has randomness of its own: neither that of the process nor that of the first STag. */
static bool fresh_randomness(struct lab_run *run)
{
	uint64_t first = lab_random(run);
	uint32_t a[16], b[16];

	lab_case(run, "two processes, in which random() differs");
	if (!fresh_stags(run, first, a) || !fresh_stags(run, lab_random(run), b))
		return false;
	for (unsigned int i = 0; i < 16; i++)
		if (a[i] == b[i])
			return lab_fail(run,
					"registration %u has STag 0x%08x in both, so it does not "
					"come from random()",
					i, a[i]);
	lab_case(run, "two processes, in which random() differs after the first registration");
	if (!fresh_stags(run, first, a) || !fresh_stags(run, first, b))
		return false;
	for (unsigned int i = 1; i < 16; i++)
		if (a[i] == b[i])
			return lab_fail(run,
					"registration %u has STag 0x%08x in both, so it follows "
					"from the first one",
					i, a[i]);
	return true;
}

/* Runs a part of a step with a new table. */
static bool with_table(struct lab_run *run, uint32_t capacity,
		       bool (*part)(struct lab_run *run, struct twin *t))
{
	struct twin *t = twin_new(run, capacity);
	bool ok = t && part(run, t);

	twin_free(t);
	return ok;
}

bool security_stags(struct lab_run *run)
{
	return with_table(run, 8, small_table) && with_table(run, 8, odd_registrations) &&
	       with_table(run, CROWD, crowded_table) && fresh_randomness(run);
}

/* --- step bounds ------------------------------------------------------------------------------- */

static bool edges_of(struct twin *t, const struct twin_entry *e)
{
	uint64_t len = e->region.len;
	const uint64_t begins[] = { -(uint64_t)1, 0, 1, len / 2, len - 1, len, len + 1, 4096 };
	const uint64_t lens[] = { 0, 1, 2, len / 2, len - 1, len, len + 1, 4096, UINT32_MAX };
	struct access a = twin_proper(e);

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		for (size_t j = 0; j < sizeof(lens) / sizeof(lens[0]); j++) {
			a.to = e->region.to + begins[i];
			a.len = (uint32_t)lens[j];
			a.right = (i + j) & 1 ? REMOTE_READ : REMOTE_WRITE;
			if (!twin_expect(t, &a, ""))
				return false;
		}
	return true;
}

/* As attack_overrun does it. */
static bool wraps_of(struct twin *t, const struct twin_entry *e)
{
	static const uint64_t backs[] = { 1, 2, 16, 255, 256, 257, 4096, UINT32_MAX };
	struct access a = twin_proper(e);

	for (size_t i = 0; i < sizeof(backs) / sizeof(backs[0]); i++)
		for (int more = -1; more <= 1; more++) {
			a.to = -backs[i];
			a.len = (uint32_t)(backs[i] + (uint64_t)(int64_t)more);
			if (!twin_expect(t, &a, ""))
				return false;
		}
	return true;
}

static bool fixed_bounds(struct lab_run *run, struct twin *t)
{
	static const struct region regions[] = {
		{ .to = 0, .len = 256, .base = 0 },
		{ .to = 0, .len = 256, .base = 256 },
		{ .to = 0x1000, .len = 1, .base = 77 },
		{ .to = 0x7fff00000000, .len = 4096, .base = 65536 },
		{ .to = 0xfffffff0, .len = 32, .base = 1024 },
		{ .to = (uint64_t)INT64_MAX - 7, .len = 16, .base = 4096 },
		{ .to = UINT64_MAX - 4096, .len = 4096, .base = 8192 },
		{ .to = 300, .len = 0, .base = 300 },
	};
	struct access a = { .right = REMOTE_READ, .stag = 0x01020304, .to = 5 };

	for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++) {
		struct region r = regions[i];

		r.pd = 7;
		r.stream = 5;
		r.rights = BOTH;
		lab_case(run, "a buffer of %u octets from TO 0x%llx", r.len,
			 (unsigned long long)r.to);
		if (!twin_add(t, &r))
			return false;
	}
	for (size_t i = 0; i < t->n; i++)
		if (!edges_of(t, &t->live[i]) || !wraps_of(t, &t->live[i]))
			return false;
	return twin_expect(t, &a, "zero octets, with an STag that is not registered: ") &&
	       twin_close(run);
}

/* Around the begin or the end of the buffer. */
static void place_at_random(struct lab_run *run, const struct region *r, struct access *a)
{
	uint64_t edge = lab_below(run, 2) ? r->to : r->to + r->len;

	a->to = edge + lab_below(run, 33) - 16;
	a->len = (uint32_t)(lab_below(run, 4) ? lab_below(run, 24) : lab_below(run, r->len + 16u));
	a->right = lab_below(run, 2) ? REMOTE_READ : REMOTE_WRITE;
}

static bool random_bounds(struct lab_run *run, struct twin *t)
{
	for (size_t i = 0; i < 48; i++) {
		struct region r = {
			.pd = 7,
			.stream = 5,
			.rights = BOTH,
			.len = (uint32_t)lab_below(run, 5000),
			.base = lab_below(run, 1 << 20),
		};

		r.to = lab_random(run) >> lab_below(run, 64);
		r.to = IW_MIN(r.to, UINT64_MAX - r.len);
		if (!twin_add(t, &r))
			return false;
	}
	for (size_t i = 0; i < 480; i++) {
		const struct twin_entry *e = &t->live[i % t->n];
		struct access a = twin_proper(e);

		place_at_random(run, &e->region, &a);
		if (!twin_expect(t, &a, ""))
			return false;
	}
	return twin_close(run);
}

bool security_bounds(struct lab_run *run)
{
	return with_table(run, 16, fixed_bounds) && with_table(run, 64, random_bounds);
}

/* --- step scope -------------------------------------------------------------------------------- */

static const uint32_t pds[] = { 1, 2, 257, 0x80000001 };
static const uint32_t streams[] = { 0, 5, 6, 261 };

static bool accesses_of_all(struct twin *t, const struct twin_entry *e)
{
	for (unsigned int i = 0; i < 4 * 4 * 2 * 3; i++) {
		struct access a = {
			.pd = pds[i % 4],
			.stream = streams[i / 4 % 4] ? streams[i / 4 % 4] : 7,
			.right = i / 16 % 2 ? REMOTE_READ : REMOTE_WRITE,
			.stag = e->stag,
			.to = e->region.to,
			.len = e->region.len,
		};

		/* Two faults at a time: the order of the checks. */
		if (i / 32 == 1)
			a.len++;
		else if (i / 32 == 2)
			a.to = UINT64_MAX;
		if (!twin_expect(t, &a, ""))
			return false;
	}
	return true;
}

static bool scopes(struct lab_run *run, struct twin *t)
{
	struct access stranger = {
		.pd = 1, .stream = 5, .right = REMOTE_READ, .to = 16, .len = 16
	};

	for (unsigned int i = 0; i < 4 * 4 * 3; i++) {
		struct region r = {
			.pd = pds[i % 4],
			.stream = streams[i / 4 % 4],
			.rights = 1 + i / 16,
			.len = 16 + i,
			.to = 4096 * i,
			.base = 64 * i,
		};

		if (!twin_add(t, &r))
			return false;
	}
	for (size_t i = 0; i < t->n; i++)
		if (!accesses_of_all(t, &t->live[i]))
			return false;
	for (unsigned int i = 0; i < 16; i++) {
		stranger.stag = i ? (uint32_t)lab_random(run) : 0;
		if (!twin_expect(t, &stranger, ""))
			return false;
	}
	return twin_close(run);
}

bool security_scope(struct lab_run *run)
{
	return with_table(run, 64, scopes);
}

/* --- step revoke ------------------------------------------------------------------------------- */

static bool deregister(struct twin *t, uint32_t stag)
{
	bool expected = twin_find(t, stag) != NULL, seen;

	lab_case(t->run, "STag 0x%08x, which is %s", stag,
		 expected ? "registered" : "not registered");
	lab_call(t->run, "table_deregister");
	lab_put_u32(t->run, stag);
	if (!lab_run_call(t->run))
		return false;
	seen = lab_get_u8(t->run) != 0;
	if (!lab_results_end(t->run) ||
	    !lab_expect_true(t->run, seen == expected, "table_deregister() returned %s, not %s",
			     seen ? "true" : "false", expected ? "true" : "false"))
		return false;
	if (expected)
		twin_forget(t, stag);
	return true;
}

static bool invalidate(struct twin *t, uint32_t stag, uint32_t pd, uint32_t stream)
{
	const struct twin_entry *e = twin_find(t, stag);
	enum verdict expected = ALLOWED;
	uint8_t seen;

	if (!e)
		expected = INVALID_STAG;
	else if (e->region.pd != pd || (e->region.stream && e->region.stream != stream))
		expected = NOT_ASSOCIATED;
	else if (!e->region.stream)
		expected = CANNOT_INVALIDATE;
	lab_case(t->run, "stream %u of pd %u invalidates STag 0x%08x: %s, pd %u, stream %u", stream,
		 pd, stag, e ? "registered" : "not registered", e ? e->region.pd : 0,
		 e ? e->region.stream : 0);
	lab_call(t->run, "table_invalidate");
	lab_put_u32(t->run, stag);
	lab_put_u32(t->run, pd);
	lab_put_u32(t->run, stream);
	if (!lab_run_call(t->run))
		return false;
	seen = lab_get_u8(t->run);
	if (!lab_results_end(t->run) || !lab_expect_name(t->run, "the verdict", security_verdicts,
							 SECURITY_VERDICTS, expected, seen))
		return false;
	if (expected == ALLOWED)
		twin_forget(t, stag);
	return true;
}

static bool revoked_at_once(struct lab_run *run, struct twin *t)
{
	struct access old[2];

	lab_case(run, "two buffers of a table for two");
	if (!twin_add(t, &plain) || !twin_add(t, &plain))
		return false;
	old[0] = twin_proper(&t->live[0]);
	old[1] = twin_proper(&t->live[1]);
	if (!twin_expect(t, &old[0], "") || !deregister(t, old[0].stag) ||
	    !twin_expect(t, &old[0], "just deregistered; ") ||
	    !twin_expect(t, &old[1], "another was just deregistered; ") ||
	    !deregister(t, old[0].stag) || !deregister(t, old[1].stag ^ 0x40000000) ||
	    !deregister(t, 0))
		return false;
	lab_case(run, "a buffer in place of the one that was deregistered");
	if (!twin_add(t, &plain) || !twin_expect_full(t, &plain, "the table is full again") ||
	    !twin_expect(t, &old[0], "deregistered, and another came in its place; ") ||
	    !twin_expect(t, &old[1], "its neighbour was replaced; "))
		return false;
	return deregister(t, old[1].stag) && twin_expect(t, &old[1], "just deregistered; ") &&
	       twin_expect_usable(t, &t->live[0], "its neighbour was deregistered; ") &&
	       twin_close(run);
}

static bool invalidations(struct lab_run *run, struct twin *t)
{
	struct region own = plain, shared = plain;
	struct access a;

	shared.stream = 0;
	lab_case(run, "one buffer of stream 5 alone, and one of all streams");
	if (!twin_add(t, &own) || !twin_add(t, &shared))
		return false;
	a = twin_proper(&t->live[0]);
	if (!invalidate(t, t->live[0].stag ^ 0x40000000, 7, 5) ||
	    !invalidate(t, t->live[0].stag, 8, 5) || !invalidate(t, t->live[0].stag, 7, 6) ||
	    !invalidate(t, t->live[1].stag, 7, 5) || !invalidate(t, t->live[1].stag, 8, 5))
		return false;
	for (size_t i = 0; i < t->n; i++)
		if (!twin_expect_usable(t, &t->live[i], "after refused invalidations: "))
			return false;
	return invalidate(t, a.stag, 7, 5) && twin_expect(t, &a, "just invalidated; ") &&
	       invalidate(t, a.stag, 7, 5) &&
	       twin_expect_usable(t, &t->live[0], "another was invalidated; ") && twin_close(run);
}

/* The last STag must not be one of the old ones: a peer may still have it. */
static bool expect_new(struct twin *t, const uint32_t *old, size_t n)
{
	uint32_t stag = t->live[t->n - 1].stag;

	for (size_t i = 0; i < n; i++)
		if (old[i] == stag)
			return lab_fail(t->run,
					"table_register() returned STag 0x%08x, which was "
					"deregistered not long ago: whoever has it could use the "
					"new buffer",
					stag);
	return true;
}

/* The attack `reuse`, for a long time: old STags must not become valid again. */
static bool long_life(struct lab_run *run, struct twin *t)
{
	uint32_t old[64] = { 0 };

	for (unsigned int i = 0; i < 600; i++) {
		struct region r = security_numbered(i);
		uint32_t *place = &old[i % 64];

		lab_case(run, "registration %u, in a table for 4 with at most 3 at a time", i + 1);
		if (!twin_add(t, &r) || !expect_new(t, old, sizeof(old) / sizeof(old[0])))
			return false;
		if (*place) {
			struct access a = twin_proper(&t->live[0]);

			a.stag = *place;
			if (!twin_expect(t, &a, "deregistered some time ago; "))
				return false;
		}
		if (t->n < 3)
			continue;
		*place = t->live[lab_below(run, t->n)].stag;
		if (!deregister(t, *place))
			return false;
	}
	return twin_close(run);
}

static bool random_step(struct lab_run *run, struct twin *t, uint32_t old[32])
{
	uint32_t *place = &old[lab_below(run, 32)];
	const struct twin_entry *e = t->n ? &t->live[lab_below(run, t->n)] : NULL;
	struct region r = security_numbered(lab_below(run, 1000));
	struct access a;

	switch (lab_below(run, 8)) {
	case 0:
	case 1:
		r.pd = (uint32_t)lab_below(run, 2);
		r.stream = (uint32_t)lab_below(run, 3);
		r.rights = 1 + (uint32_t)lab_below(run, 3);
		lab_case(run, "a table for 16 with %zu registrations", t->n);
		return t->n == 16 ? twin_expect_full(t, &r, "the table is full (16 of 16)")
				  : twin_add(t, &r);
	case 2:
		if (e)
			*place = e->stag;
		return deregister(t, *place);
	case 3:
		if (e)
			*place = e->stag;
		return invalidate(t, *place, (uint32_t)lab_below(run, 2),
				  1 + (uint32_t)lab_below(run, 2));
	default:
		if (!e)
			return true;
		a = twin_proper(e);
		place_at_random(run, &e->region, &a);
		a.stag = lab_below(run, 3) ? a.stag : *place;
		a.pd = lab_below(run, 4) ? a.pd : (uint32_t)lab_below(run, 2);
		a.stream = lab_below(run, 4) ? a.stream : 1 + (uint32_t)lab_below(run, 2);
		return twin_expect(t, &a, "");
	}
}

static bool random_life(struct lab_run *run, struct twin *t)
{
	uint32_t old[32] = { 0 };

	for (unsigned int i = 0; i < 1200; i++)
		if (!random_step(run, t, old))
			return false;
	return twin_close(run);
}

bool security_revoke(struct lab_run *run)
{
	uint64_t blocks;

	if (!lab_allocated(run, &blocks) || !with_table(run, 2, revoked_at_once) ||
	    !with_table(run, 8, invalidations) || !with_table(run, 4, long_life) ||
	    !with_table(run, 16, random_life))
		return false;
	lab_case(run, "after table_free() of four tables");
	return lab_expect_freed(run, blocks);
}
