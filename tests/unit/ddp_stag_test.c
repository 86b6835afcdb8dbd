// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The STag table: access rights, validity, and how STags are drawn. */
#include "ddp/stag.h"

#include "ddp_fixture.h"

/* --- the table -------------------------------------------------------------------------------- */

static size_t count(const struct fixture *f)
{
	size_t pos = 0, n = 0;

	while (iw_stag_each(f->stags, &pos))
		n++;
	return n;
}

/* DDP-112, DDP-113, SEC-04 */
static void registration_is_found_until_it_is_revoked(void **state)
{
	struct fixture f;
	struct iw_region *r;
	uint32_t stag;

	(void)state;
	fixture_table(&f);
	assert_int_equal(count(&f), 0);
	stag = add(&f, region(&f, 16, 100, 0x1000, IW_RIGHT_REMOTE_READ));
	assert_int_equal(count(&f), 1);
	r = iw_stag_get(f.stags, stag);
	assert_non_null(r);
	assert_int_equal(r->stag, stag);
	assert_int_equal(r->len, 100);
	assert_int_equal(r->to, 0x1000);
	assert_ptr_equal(r->base, area_at(&f.area, 16));
	assert_null(iw_stag_get(f.stags, stag ^ 1));
	assert_null(iw_stag_get(f.stags, stag ^ 0x80000000));
	assert_null(iw_stag_get(f.stags, 0));
	assert_int_equal(iw_stag_del(f.stags, stag), 0);
	assert_null(iw_stag_get(f.stags, stag));
	assert_int_equal(count(&f), 0);
	assert_int_equal(iw_stag_del(f.stags, stag), IW_E_NOENT);
	assert_int_equal(iw_stag_del(f.stags, 0), IW_E_NOENT);
	fixture_fini(&f);
}

struct heard {
	uint32_t stag, pd, stream;
	unsigned known, gone;
};

static void hear(void *ctx, uint32_t stag, const struct iw_region *r)
{
	struct heard *h = ctx;

	h->stag = stag;
	if (!r) {
		h->gone++;
		return;
	}
	h->known++;
	h->pd = r->pd;
	h->stream = r->stream;
}

static void observer_is_notified_of_every_added_and_removed_stag(void **state)
{
	struct heard h = { 0 };
	struct iw_region r;
	struct fixture f;
	uint32_t stag;

	(void)state;
	fixture_table(&f);
	(void)add(&f, region(&f, 0, 100, 0, IW_RIGHT_REMOTE_READ));
	iw_stag_watch(f.stags, hear, &h);
	r = region(&f, 0, 100, 0, IW_RIGHT_REMOTE_READ);
	r.pd = 77;
	r.stream = 78;
	stag = add(&f, r);
	assert_int_equal(h.known, 1);
	assert_int_equal(h.stag, stag);
	/* Its protection domain and stream (RFC 5041 8.2). */
	assert_int_equal(h.pd, 77);
	assert_int_equal(h.stream, 78);
	assert_int_equal(iw_stag_del(f.stags, stag), 0);
	assert_int_equal(h.gone, 1);
	assert_int_equal(h.stag, stag);
	assert_int_equal(iw_stag_del(f.stags, stag), IW_E_NOENT);
	assert_int_equal(h.gone, 1);
	/* Its uses are spent. */
	r = region(&f, 0, 100, 0, IW_RIGHT_REMOTE_WRITE);
	r.uses = 1;
	stag = add(&f, r);
	assert_true(iw_stag_used(f.stags, stag));
	assert_int_equal(h.known, 2);
	assert_int_equal(h.gone, 2);
	assert_int_equal(h.stag, stag);
	fixture_fini(&f);
}

static void table_grows_and_every_registration_is_still_found(void **state)
{
	enum { N = 100000 };
	struct fixture f;
	uint32_t *stag = calloc(N, sizeof(*stag));

	(void)state;
	assert_non_null(stag);
	fixture_table(&f);
	for (size_t i = 0; i < N; i++) {
		struct iw_region r = region(&f, i % AREA, 0, i, IW_RIGHT_REMOTE_WRITE);

		stag[i] = add(&f, r);
	}
	assert_int_equal(count(&f), N);
	for (size_t i = 0; i < N; i++) {
		const struct iw_region *r = iw_stag_get(f.stags, stag[i]);

		assert_non_null(r);
		assert_int_equal(r->to, i);
		if (sizeof(void *) == 8)
			assert_int_equal((uintptr_t)r % 64, 0);
	}
	for (size_t i = 0; i < N; i += 2)
		assert_int_equal(iw_stag_del(f.stags, stag[i]), 0);
	for (size_t i = 0; i < N; i++)
		assert_true((iw_stag_get(f.stags, stag[i]) != NULL) == (i % 2 == 1));
	assert_int_equal(count(&f), N / 2);
	free(stag);
	fixture_fini(&f);
}

static void failed_allocation_leaves_the_stag_table_unchanged(void **state)
{
	struct fixture f;
	struct iw_stag_table *t;
	struct iw_region r;
	uint32_t stag[64], last;
	size_t n = 0;
	int ret;

	(void)state;
	fixture_table(&f);
	for (size_t fail = 1; fail <= 2; fail++) {
		f.mem.calls = 0;
		f.mem.fail_from = fail;
		assert_int_equal(iw_stag_table_new(&t, &f.mem.mem, fixture_random, &f.rng),
				 IW_E_NOMEM);
	}
	r = region(&f, 0, 8, 0, IW_RIGHT_REMOTE_WRITE);
	f.mem.fail_from = 1; /* no growth */
	while ((ret = iw_stag_add(f.stags, &r, &stag[n], &f.why)) == 0) {
		n++;
		assert_true(n < 64);
	}
	assert_int_equal(ret, IW_E_NOMEM);
	assert_fault(&f, IW_E_NOMEM);
	assert_int_equal(count(&f), n);
	for (size_t i = 0; i < n; i++)
		assert_non_null(iw_stag_get(f.stags, stag[i]));
	f.mem.fail_from = 0;
	last = add(&f, r);
	assert_non_null(iw_stag_get(f.stags, last));
	for (size_t i = 0; i < n; i++)
		assert_non_null(iw_stag_get(f.stags, stag[i]));
	fixture_fini(&f);
	iw_stag_table_free(NULL);
}

static void listing_returns_each_registration_once(void **state)
{
	enum { N = 1000 };
	struct fixture f;
	struct iw_region *r;
	uint8_t seen[N] = { 0 };
	size_t pos = 0, n = 0;

	(void)state;
	fixture_table(&f);
	assert_null(iw_stag_each(f.stags, &pos));
	for (size_t i = 0; i < N; i++)
		(void)add(&f, region(&f, 0, 0, i, IW_RIGHT_REMOTE_WRITE));
	pos = 0;
	while ((r = iw_stag_each(f.stags, &pos))) {
		assert_int_equal(seen[r->to]++, 0);
		n++;
		if (r->to % 2)
			assert_int_equal(iw_stag_del(f.stags, r->stag), 0);
	}
	assert_int_equal(n, N);
	for (pos = 0, n = 0; iw_stag_each(f.stags, &pos); n++)
		;
	assert_int_equal(n, N / 2);
	fixture_fini(&f);
}

/* --- drawing STags ---------------------------------------------------------------------------- */

/* A source that returns given values first, then random ones. */
struct script {
	const uint32_t *say;
	size_t n, said;
	size_t calls;
	int err;
	struct rng rng;
};

/* The table uses the values of a batch from its end. */
static int script_random(void *ctx, void *buf, size_t len)
{
	struct script *s = ctx;
	uint32_t *v = buf;

	s->calls++;
	if (s->err)
		return s->err;
	assert_int_equal(len % sizeof(*v), 0);
	for (size_t i = len / sizeof(*v); i-- > 0;)
		v[i] = s->said < s->n ? s->say[s->said++] : (uint32_t)rng_next(&s->rng);
	return 0;
}

static void script_table(struct fixture *f, struct script *s)
{
	fixture_table(f);
	iw_stag_table_free(f->stags);
	assert_int_equal(iw_stag_table_new(&f->stags, &f->mem.mem, script_random, s), 0);
}

/* SEC-09 */
static void stags_come_from_the_random_source(void **state)
{
	static const uint32_t say[] = { 0xdeadbeef, 7, 0x70000001, 0x00000001, 0xffffffff };
	struct script s = { .say = say, .n = IW_ARRAY_LEN(say) };
	struct fixture f;

	(void)state;
	script_table(&f, &s);
	assert_int_equal(s.calls, 0);
	assert_int_equal(add(&f, region(&f, 0, 1, 0, 1)), 0xdeadbeef);
	assert_int_equal(add(&f, region(&f, 0, 1, 0, 1)), 7);
	assert_int_equal(add(&f, region(&f, 0, 1, 0, 1)), 0x70000001);
	/* 1 would have the same slot as 7. */
	assert_int_equal(add(&f, region(&f, 0, 1, 0, 1)), 0xffffffff);
	fixture_fini(&f);
}

/* SEC-09 */
static void stag_is_never_zero_and_never_in_use(void **state)
{
	static const uint32_t say[] = { 0, 0x12345678, 0x12345678, 0, 0x87654321 };
	struct script s = { .say = say, .n = IW_ARRAY_LEN(say) };
	struct fixture f;

	(void)state;
	script_table(&f, &s);
	assert_int_equal(add(&f, region(&f, 0, 1, 0, 1)), 0x12345678);
	assert_int_equal(add(&f, region(&f, 0, 1, 0, 1)), 0x87654321);
	fixture_fini(&f);
}

/* SEC-09 */
static void revoked_stag_is_not_reused_soon(void **state)
{
	static const uint32_t say[] = { 0x12345678, 0x12345678,
					0x12345679, /* the first value is not used twice */
					/*
					 * The table still remembers it after it has grown from 16
					 * slots to 32, with the ninth STag.
					 */
					0x20000000, 0x30000000, 0x40000000, 0x50000000, 0x60000000,
					0x70000000, 0x80000000, 0x90000000, 0x12345679, 0xa0000000,
					/* 0 is never drawn, also after its slot was in use. */
					0x00000007, 0, 0xb0000000 };
	struct script s = { .say = say, .n = IW_ARRAY_LEN(say) };
	struct fixture f;
	uint32_t stag;

	(void)state;
	script_table(&f, &s);
	stag = add(&f, region(&f, 0, 1, 0, 1));
	assert_int_equal(stag, 0x12345678);
	assert_int_equal(iw_stag_del(f.stags, stag), 0);
	stag = add(&f, region(&f, 0, 1, 0, 1));
	assert_int_equal(stag, 0x12345679);
	assert_int_equal(iw_stag_del(f.stags, stag), 0);
	for (uint32_t i = 2; i <= 10; i++)
		assert_int_equal(add(&f, region(&f, 0, 1, 0, 1)), i << 28);
	assert_int_equal(add(&f, region(&f, 0, 1, 0, 1)), 7);
	assert_int_equal(iw_stag_del(f.stags, 7), 0);
	assert_int_equal(add(&f, region(&f, 0, 1, 0, 1)), 0xb0000000);
	assert_int_equal(s.said, s.n);
	fixture_fini(&f);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* SEC-09: distributed over all 32 bits, no duplicates, no consecutive values, no direction. */
static void stags_are_sparse_and_follow_no_order(void **state)
{
	enum { N = 20000 };
	struct fixture f;
	uint32_t *stag = calloc(N, sizeof(*stag));
	size_t high[16] = { 0 }, low[16] = { 0 }, up = 0;

	(void)state;
	assert_non_null(stag);
	fixture_table(&f);
	for (size_t i = 0; i < N; i++) {
		stag[i] = add(&f, region(&f, 0, 0, 0, 1));
		high[stag[i] >> 28]++;
		low[stag[i] & 15]++;
		up += i > 0 && stag[i] > stag[i - 1];
	}
	assert_in_range(up, N * 48 / 100, N * 52 / 100);
	for (size_t i = 0; i < 16; i++) {
		assert_in_range(high[i], N / 16 * 85 / 100, N / 16 * 115 / 100);
		assert_in_range(low[i], N / 16 * 85 / 100, N / 16 * 115 / 100);
	}
	qsort(stag, N, sizeof(*stag), by_value);
	for (size_t i = 1; i < N; i++)
		assert_int_not_equal(stag[i], stag[i - 1]);
	free(stag);
	fixture_fini(&f);
}

static void random_source_is_read_for_many_stags_at_once(void **state)
{
	struct script s = { .rng = { 5 } };
	struct fixture f;

	(void)state;
	script_table(&f, &s);
	for (size_t i = 0; i < 1000; i++)
		(void)add(&f, region(&f, 0, 0, 0, 1));
	/* At least half of the values are usable. */
	assert_in_range(s.calls, 4, 9);
	fixture_fini(&f);
}

/* SEC-09: no STag is better than a predictable one. */
static void random_source_that_fails_or_repeats_gives_no_stag(void **state)
{
	struct script s = { .err = IW_E_OS };
	struct fixture f;
	struct iw_region r;
	uint32_t stag, same[4096];

	(void)state;
	script_table(&f, &s);
	r = region(&f, 0, 1, 0, 1);
	assert_int_equal(iw_stag_add(f.stags, &r, &stag, &f.why), IW_E_OS);
	assert_fault(&f, IW_E_OS);
	assert_int_equal(count(&f), 0);

	s.err = 0;
	for (size_t i = 0; i < IW_ARRAY_LEN(same); i++)
		same[i] = 0x01010101;
	s.say = same;
	s.n = IW_ARRAY_LEN(same);
	assert_int_equal(add(&f, r), 0x01010101);
	assert_int_equal(iw_stag_add(f.stags, &r, &stag, &f.why), IW_E_LIMIT);
	assert_fault(&f, IW_E_LIMIT);
	assert_int_equal(count(&f), 1);
	fixture_fini(&f);
}

/* --- registration ----------------------------------------------------------------------------- */

static void impossible_registrations_are_refused(void **state)
{
	struct fixture f;
	struct iw_region good, r;
	uint32_t stag;

	(void)state;
	fixture_table(&f);
	good = region(&f, 0, 16, 0, IW_RIGHT_REMOTE_WRITE);
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		r = good;                                                                          \
		change;                                                                            \
		assert_int_equal(iw_stag_add(f.stags, &r, &stag, &f.why), IW_E_INVAL);             \
		assert_fault(&f, IW_E_INVAL);                                                      \
		assert_int_equal(iw_stag_add(f.stags, &r, &stag, NULL), IW_E_INVAL);               \
	} while (0)
	REFUSED(r.rights = 0);
	REFUSED(r.rights = 8);
	REFUSED(r.rights = IW_RIGHT_REMOTE_READ | 0x80);
	REFUSED(r.uses = 0);
	REFUSED(r.base = NULL);
	REFUSED(r.len = UINT64_MAX);
	REFUSED(r.len = (uint64_t)UINTPTR_MAX - (uintptr_t)r.base + 1);
	/* DDP-100: the end of an access within a registration never wraps. */
	REFUSED(r.to = UINT64_MAX - 15);
	REFUSED(r.to = UINT64_MAX);
#undef REFUSED
	assert_int_equal(count(&f), 0);
	good.to = UINT64_MAX - 16;
	assert_non_null(iw_stag_get(f.stags, add(&f, good)));
	fixture_fini(&f);
}

/* --- the check -------------------------------------------------------------------------------- */

static enum iw_stag_verdict try(struct fixture *f, uint32_t stag, uint64_t to, uint64_t len)
{
	struct iw_stag_use u = {
		.pd = PD,
		.stream = STREAM,
		.right = IW_RIGHT_REMOTE_WRITE,
		.to = to,
		.len = len,
		.now = NOW,
	};
	const struct iw_region *r = iw_stag_get(f->stags, stag);
	uint8_t *where = NULL;
	enum iw_stag_verdict v = iw_stag_check(f->stags, stag, &u, &where);

	if (v == IW_STAG_OK)
		assert_ptr_equal(where, r->base + (to - r->to));
	else
		assert_null(where);
	return v;
}

/* DDP-96..100, DDP-107, SEC-03, SEC-30 */
static void access_must_lie_in_the_registered_octets(void **state)
{
	static const struct {
		uint64_t base, size; /* the registration */
		uint64_t to, len;
		enum iw_stag_verdict verdict;
	} rows[] = {
		{ 0x1000, 0x800, 0x1000, 0x800, IW_STAG_OK },
		{ 0x1000, 0x800, 0x1000, 1, IW_STAG_OK },
		{ 0x1000, 0x800, 0x17ff, 1, IW_STAG_OK },
		{ 0x1000, 0x800, 0x0fff, 1, IW_STAG_BOUNDS },
		{ 0x1000, 0x800, 0x0fff, 0x801, IW_STAG_BOUNDS },
		{ 0x1000, 0x800, 0x0fff, 0x802, IW_STAG_BOUNDS },
		{ 0x1000, 0x800, 0x1000, 0x801, IW_STAG_BOUNDS },
		{ 0x1000, 0x800, 0x17ff, 2, IW_STAG_BOUNDS },
		{ 0x1000, 0x800, 0x1800, 1, IW_STAG_BOUNDS },
		{ 0x1000, 0x800, 0, 1, IW_STAG_BOUNDS },
		{ 0x1000, 0x800, 0x100001000, 1, IW_STAG_BOUNDS },
		{ 0x1000, 0x800, 0x1000, 0x100000001, IW_STAG_BOUNDS },
		{ 0x1000, 0x800, 0x1000, UINT64_MAX - 0x1000, IW_STAG_BOUNDS },
		/* The wrapped sum of TO and length would be within the registration. */
		{ 0x1000, 0x800, 0x1001, UINT64_MAX, IW_STAG_WRAP },
		{ 0x1000, 0x800, UINT64_MAX, 0x1002, IW_STAG_WRAP },
		{ 0x1000, 0x800, UINT64_MAX, 1, IW_STAG_WRAP },
		{ 0x1000, 0x800, UINT64_MAX - 7, 8, IW_STAG_WRAP },
		{ 0x1000, 0x800, UINT64_MAX - 7, 7, IW_STAG_BOUNDS },
		{ 0, 0x800, 0, 0x800, IW_STAG_OK },
		{ 0, 0x800, UINT64_MAX, 1, IW_STAG_WRAP },
		/* The last octet a registration can have is at TO 2^64 - 2. */
		{ UINT64_MAX - 16, 16, UINT64_MAX - 16, 16, IW_STAG_OK },
		{ UINT64_MAX - 16, 16, UINT64_MAX - 1, 1, IW_STAG_OK },
		{ UINT64_MAX - 16, 16, UINT64_MAX - 17, 1, IW_STAG_BOUNDS },
		{ UINT64_MAX - 16, 16, UINT64_MAX - 1, 2, IW_STAG_WRAP },
		{ UINT64_MAX - 16, 16, UINT64_MAX, 1, IW_STAG_WRAP },
		/* A zero-length registration. */
		{ 0x1000, 0, 0x1000, 1, IW_STAG_BOUNDS },
		{ 0x1000, 0, 0x1000, 0, IW_STAG_OK },
		{ UINT64_MAX, 0, UINT64_MAX, 1, IW_STAG_WRAP },
		/* Zero-length accesses. */
		{ 0x1000, 0x800, 0x1800, 0, IW_STAG_OK },
		{ 0x1000, 0x800, 0x1801, 0, IW_STAG_BOUNDS },
		{ 0x1000, 0x800, UINT64_MAX, 0, IW_STAG_BOUNDS },
	};
	struct fixture f;

	(void)state;
	fixture_table(&f);
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		uint32_t stag = add(&f, region(&f, 8, (size_t)rows[i].size, rows[i].base,
					       IW_RIGHT_REMOTE_WRITE));

		if (try(&f, stag, rows[i].to, rows[i].len) != rows[i].verdict)
			fail_msg("row %zu", i);
		assert_int_equal(iw_stag_del(f.stags, stag), 0);
		assert_int_equal(try(&f, stag, rows[i].to, rows[i].len), IW_STAG_INVALID);
	}
	fixture_fini(&f);
}

static void zero_length_registration_needs_no_memory(void **state)
{
	struct fixture f;
	struct iw_region r;
	uint32_t stag;

	(void)state;
	fixture_table(&f);
	r = region(&f, 0, 0, 0x1000, IW_RIGHT_REMOTE_WRITE);
	r.base = NULL;
	stag = add(&f, r);
	assert_int_equal(try(&f, stag, 0x1000, 1), IW_STAG_BOUNDS);
	fixture_fini(&f);
}

/* SEC-01, SEC-02, DDP-29, DDP-108, DDP-109, DDP-111, DDP-114 */
static void stag_serves_its_protection_domain_or_its_one_stream(void **state)
{
	static const struct {
		uint32_t reg_pd, reg_stream, pd, stream;
		enum iw_stag_verdict verdict;
	} rows[] = {
		{ 1, 0, 1, 10, IW_STAG_OK },     { 1, 0, 1, 11, IW_STAG_OK },
		{ 1, 0, 2, 10, IW_STAG_ASSOC },  { 1, 10, 1, 10, IW_STAG_OK },
		{ 1, 10, 1, 11, IW_STAG_ASSOC }, { 1, 10, 2, 10, IW_STAG_ASSOC },
		{ 1, 10, 2, 11, IW_STAG_ASSOC },
	};
	struct fixture f;

	(void)state;
	fixture_table(&f);
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_region r = region(&f, 0, 64, 0, IW_RIGHT_REMOTE_WRITE);
		struct iw_stag_use u = {
			.pd = rows[i].pd,
			.stream = rows[i].stream,
			.right = IW_RIGHT_REMOTE_WRITE,
			.len = 64,
		};
		uint8_t *where = NULL;

		r.pd = rows[i].reg_pd;
		r.stream = rows[i].reg_stream;
		assert_int_equal(iw_stag_check(f.stags, add(&f, r), &u, &where), rows[i].verdict);
		assert_true((where != NULL) == (rows[i].verdict == IW_STAG_OK));
	}
	fixture_fini(&f);
}

/* SEC-05, SEC-25, DDP-97 */
static void each_right_allows_its_own_access_only(void **state)
{
	struct fixture f;
	struct iw_stag_use u = { .pd = PD, .stream = STREAM, .len = 1, .now = NOW };
	uint8_t *where;

	(void)state;
	fixture_table(&f);
	for (uint8_t given = 1; given < 8; given++) {
		uint32_t stag = add(&f, region(&f, 0, 64, 0, given));

		for (u.right = 1; u.right < 8; u.right = (uint8_t)(u.right * 2))
			assert_int_equal(iw_stag_check(f.stags, stag, &u, &where),
					 given & u.right ? IW_STAG_OK : IW_STAG_RIGHTS);
		/* Rights that are removed or added later take effect. */
		iw_stag_get(f.stags, stag)->rights = 0;
		u.right = IW_RIGHT_REMOTE_READ;
		assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_RIGHTS);
		iw_stag_get(f.stags, stag)->rights = IW_RIGHT_REMOTE_READ;
		assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_OK);
	}
	fixture_fini(&f);
}

/* DDP-96, DDP-100: of several errors, the first in this order is reported. */
static void errors_are_reported_in_a_fixed_order(void **state)
{
	struct fixture f;
	struct iw_region r;
	struct iw_stag_use u = {
		.pd = PD + 1,
		.stream = STREAM + 1,
		.right = IW_RIGHT_REMOTE_WRITE,
		.to = UINT64_MAX,
		.len = 2,
		.now = NOW,
	};
	uint32_t stag;
	uint8_t *where = NULL;

	(void)state;
	fixture_table(&f);
	r = region(&f, 0, 64, 0, IW_RIGHT_REMOTE_READ);
	r.expires = NOW;
	stag = add(&f, r);
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_INVALID);
	iw_stag_get(f.stags, stag)->expires = IW_TIME_NEVER;
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_ASSOC);
	u.pd = PD;
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_ASSOC);
	u.stream = STREAM;
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_RIGHTS);
	u.right = IW_RIGHT_REMOTE_READ;
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_WRAP);
	u.len = 0;
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_BOUNDS);
	assert_null(where);
	u.to = 64;
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_OK);
	fixture_fini(&f);
}

/* --- time and uses ---------------------------------------------------------------------------- */

/* DDP-113: an STag expires at the time that was set. */
static void registration_expires_at_its_time(void **state)
{
	struct fixture f;
	struct iw_region r;
	struct iw_stag_use u = { .pd = PD, .stream = STREAM, .right = 1, .len = 1 };
	uint32_t stag;
	uint8_t *where;

	(void)state;
	fixture_table(&f);
	r = region(&f, 0, 64, 0, 1);
	r.expires = IW_SEC(9);
	stag = add(&f, r);
	u.now = IW_SEC(9) - 1;
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_OK);
	u.now = IW_SEC(9);
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_INVALID);
	u.begun = true;
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_INVALID);
	iw_stag_get(f.stags, stag)->expires = IW_TIME_NEVER;
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_OK);
	fixture_fini(&f);
}

/* SEC-23: octets written twice are counted once; octets after a gap are not counted. */
static void covered_octets_have_no_gap(void **state)
{
	static const struct {
		uint64_t to, len, covered;
	} steps[] = {
		{ 0x1010, 16, 0 },                              /* its first octets are missing */
		{ 0x1000, 8, 8 },           { 0x1000, 8, 8 },   /* the same octets again */
		{ 0x1004, 2, 8 },           { 0x1004, 12, 16 }, /* overlaps */
		{ 0x1018, 8, 16 },          { 0x1010, 16, 32 }, /* after a gap; closes it */
		{ 0xff0, 64, 32 },          { 0x1020, 64, 32 }, /* not within the registration */
		{ 0x1000, UINT64_MAX, 32 }, { 0x1020, 32, 64 },
	};
	struct iw_stag_tally tally = { 0 };
	struct fixture f;
	struct iw_region r;
	uint32_t stag;

	(void)state;
	fixture_table(&f);
	r = region(&f, 0, 64, 0x1000, IW_RIGHT_REMOTE_WRITE);
	r.owner = &tally;
	stag = add(&f, r);
	iw_stag_covered(f.stags, stag, 0x1000, 64); /* not tallied yet */
	assert_int_equal(tally.covered, 0);
	iw_stag_get(f.stags, stag)->tallied = true;
	for (size_t i = 0; i < IW_ARRAY_LEN(steps); i++) {
		iw_stag_covered(f.stags, stag, steps[i].to, steps[i].len);
		assert_int_equal(tally.covered, steps[i].covered);
	}
	iw_stag_del(f.stags, stag);
	iw_stag_covered(f.stags, stag, 0x1000, 64);
	fixture_fini(&f);
}

static void last_use_revokes(void **state)
{
	struct fixture f;
	struct iw_region r;
	uint32_t stag, free_for_all;

	(void)state;
	fixture_table(&f);
	r = region(&f, 0, 64, 0, IW_RIGHT_REMOTE_WRITE);
	free_for_all = add(&f, r);
	r.uses = 2;
	stag = add(&f, r);
	assert_false(iw_stag_used(f.stags, stag));
	assert_int_equal(try(&f, stag, 0, 1), IW_STAG_OK);
	assert_true(iw_stag_used(f.stags, stag));
	assert_int_equal(try(&f, stag, 0, 1), IW_STAG_INVALID);
	assert_int_equal(count(&f), 1);
	assert_false(iw_stag_used(f.stags, stag));
	for (size_t i = 0; i < 10; i++)
		assert_false(iw_stag_used(f.stags, free_for_all));
	assert_int_equal(try(&f, free_for_all, 0, 1), IW_STAG_OK);
	assert_int_equal(iw_stag_get(f.stags, free_for_all)->uses, UINT32_MAX);
	r.uses = 1;
	r.busy = 5; /* fields of the table: ignored */
	assert_true(iw_stag_used(f.stags, add(&f, r)));
	fixture_fini(&f);
}

static void operation_that_has_begun_may_end_when_no_use_is_left(void **state)
{
	struct fixture f;
	struct iw_region r;
	struct iw_stag_use u = { .pd = PD, .stream = STREAM, .right = 1, .len = 1, .begun = true };
	uint32_t stag;
	uint8_t *where;

	(void)state;
	fixture_table(&f);
	r = region(&f, 0, 64, 0, 1);
	r.uses = 2;
	stag = add(&f, r);
	iw_stag_begin(f.stags, stag);
	iw_stag_begin(f.stags, stag);
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_OK);
	u.begun = false;
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_INVALID);
	u.begun = true;
	assert_false(iw_stag_end(f.stags, stag));
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_OK);
	assert_true(iw_stag_end(f.stags, stag));
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_INVALID);
	assert_int_equal(count(&f), 0);
	iw_stag_begin(f.stags, stag);
	assert_false(iw_stag_end(f.stags, stag));

	/* DDP-113, SEC-06: revocation does not wait for an operation in progress. */
	stag = add(&f, r);
	iw_stag_begin(f.stags, stag);
	assert_int_equal(iw_stag_del(f.stags, stag), 0);
	assert_int_equal(iw_stag_check(f.stags, stag, &u, &where), IW_STAG_INVALID);
	assert_false(iw_stag_end(f.stags, stag));
	fixture_fini(&f);
}

/* --- errors ----------------------------------------------------------------------------------- */

/* DDP-106, DDP-116 */
static void each_verdict_has_its_error(void **state)
{
	static const struct {
		enum iw_stag_verdict verdict;
		int ddp, rdmap;
		uint32_t ddp_term, rdmap_term;
	} rows[] = {
		{ IW_STAG_INVALID, IW_E_DDP_STAG, IW_E_RP_STAG, IW_TERM(1, 1, 0),
		  IW_TERM(0, 1, 0) },
		{ IW_STAG_ASSOC, IW_E_DDP_ASSOC, IW_E_RP_ASSOC, IW_TERM(1, 1, 2),
		  IW_TERM(0, 1, 3) },
		{ IW_STAG_RIGHTS, IW_E_DDP_STAG, IW_E_RP_RIGHTS, IW_TERM(1, 1, 0),
		  IW_TERM(0, 1, 2) },
		{ IW_STAG_WRAP, IW_E_DDP_WRAP, IW_E_RP_WRAP, IW_TERM(1, 1, 3), IW_TERM(0, 1, 4) },
		{ IW_STAG_BOUNDS, IW_E_DDP_BOUNDS, IW_E_RP_BOUNDS, IW_TERM(1, 1, 1),
		  IW_TERM(0, 1, 1) },
	};
	struct fixture f;
	struct iw_stag_use u = { .pd = PD, .stream = STREAM, .right = IW_RIGHT_REMOTE_WRITE };
	uint32_t stag;

	(void)state;
	fixture_table(&f);
	stag = add(&f, region(&f, 0, 64, 0, 1));
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		assert_int_equal(iw_stag_ddp_error(f.stags, rows[i].verdict, stag, &u, &f.why),
				 rows[i].ddp);
		assert_fault(&f, rows[i].ddp);
		assert_int_equal(f.why.term, rows[i].ddp_term);
		assert_int_equal(iw_stag_rdmap_error(f.stags, rows[i].verdict, stag, &u, &f.why),
				 rows[i].rdmap);
		assert_fault(&f, rows[i].rdmap);
		assert_int_equal(f.why.term, rows[i].rdmap_term);
		/* Also for an STag that is not registered, and without a fault to fill in. */
		assert_int_equal(iw_stag_ddp_error(f.stags, rows[i].verdict, 0, &u, &f.why),
				 rows[i].ddp);
		assert_int_equal(iw_stag_rdmap_error(f.stags, rows[i].verdict, 0, &u, NULL),
				 rows[i].rdmap);
	}
	fixture_fini(&f);
}

static void says(struct fixture *f, const struct iw_stag_use *u, enum iw_stag_verdict v,
		 uint32_t stag, const char *text)
{
	(void)iw_stag_ddp_error(f->stags, v, stag, u, &f->why);
	assert_string_equal(f->why.text, text);
}

static void texts_name_the_object_what_was_seen_and_what_was_expected(void **state)
{
	static const uint32_t say[] = { 0xbeef };
	struct script s = { .say = say, .n = 1 };
	struct fixture f;
	struct iw_stag_use u = {
		.pd = PD,
		.stream = STREAM,
		.right = IW_RIGHT_REMOTE_WRITE,
		.to = 0x2000,
		.len = 64,
		.now = NOW,
	};
	struct iw_region *r;

	(void)state;
	script_table(&f, &s);
	(void)add(&f, region(&f, 0, 0x1000, 0x1000, IW_RIGHT_REMOTE_READ | IW_RIGHT_READ_SINK));
	r = iw_stag_get(f.stags, 0xbeef);
	assert_non_null(r);
	says(&f, &u, IW_STAG_BOUNDS, 0xbeef,
	     "ddp: STag 0x0000beef TO 0x2000 length 64: outside 0x1000..0x2000");
	says(&f, &u, IW_STAG_INVALID, 0xbeee,
	     "ddp: STag 0x0000beee TO 0x2000 length 64: not registered");
	says(&f, &u, IW_STAG_RIGHTS, 0xbeef,
	     "ddp: STag 0x0000beef TO 0x2000 length 64: asked for remote write, registered for remote read, sink of local Reads");
	r->stream = 8;
	says(&f, &u, IW_STAG_ASSOC, 0xbeef,
	     "ddp: STag 0x0000beef TO 0x2000 length 64: registered for stream 8, this is stream 7");
	r->pd = 4;
	says(&f, &u, IW_STAG_ASSOC, 0xbeef,
	     "ddp: STag 0x0000beef TO 0x2000 length 64: registered in protection domain 4, this stream is in 3");
	r->uses = 0;
	says(&f, &u, IW_STAG_INVALID, 0xbeef, "ddp: STag 0x0000beef TO 0x2000 length 64: used up");
	r->expires = NOW;
	says(&f, &u, IW_STAG_INVALID, 0xbeef, "ddp: STag 0x0000beef TO 0x2000 length 64: expired");
	u.to = UINT64_MAX;
	says(&f, &u, IW_STAG_WRAP, 0xbeef,
	     "ddp: STag 0x0000beef TO 0xffffffffffffffff length 64: TO and length exceed 2^64 - 1");
	(void)iw_stag_rdmap_error(f.stags, IW_STAG_INVALID, 1, &u, &f.why);
	assert_string_equal(
		f.why.text,
		"rdmap: STag 0x00000001 TO 0xffffffffffffffff length 64: not registered");
	fixture_fini(&f);
}

static void prefetch_takes_any_value(void **state)
{
	struct fixture f;

	(void)state;
	fixture_table(&f);
	iw_stag_prefetch(f.stags, 0);
	iw_stag_prefetch(f.stags, UINT32_MAX);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registration_is_found_until_it_is_revoked),
		cmocka_unit_test(observer_is_notified_of_every_added_and_removed_stag),
		cmocka_unit_test(table_grows_and_every_registration_is_still_found),
		cmocka_unit_test(failed_allocation_leaves_the_stag_table_unchanged),
		cmocka_unit_test(listing_returns_each_registration_once),
		cmocka_unit_test(stags_come_from_the_random_source),
		cmocka_unit_test(stag_is_never_zero_and_never_in_use),
		cmocka_unit_test(revoked_stag_is_not_reused_soon),
		cmocka_unit_test(stags_are_sparse_and_follow_no_order),
		cmocka_unit_test(random_source_is_read_for_many_stags_at_once),
		cmocka_unit_test(random_source_that_fails_or_repeats_gives_no_stag),
		cmocka_unit_test(impossible_registrations_are_refused),
		cmocka_unit_test(access_must_lie_in_the_registered_octets),
		cmocka_unit_test(zero_length_registration_needs_no_memory),
		cmocka_unit_test(stag_serves_its_protection_domain_or_its_one_stream),
		cmocka_unit_test(each_right_allows_its_own_access_only),
		cmocka_unit_test(errors_are_reported_in_a_fixed_order),
		cmocka_unit_test(registration_expires_at_its_time),
		cmocka_unit_test(covered_octets_have_no_gap),
		cmocka_unit_test(last_use_revokes),
		cmocka_unit_test(operation_that_has_begun_may_end_when_no_use_is_left),
		cmocka_unit_test(each_verdict_has_its_error),
		cmocka_unit_test(texts_name_the_object_what_was_seen_and_what_was_expected),
		cmocka_unit_test(prefetch_takes_any_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
