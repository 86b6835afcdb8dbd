// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Placement and the checks of RFC 5041 7.1. */
#include "ddp/ddp.h"

#include "ddp_fixture.h"
#include "trace_log.h"

static const uint8_t data[256] = "DDP places any payload wherever a buffer permits it.";

/* --- placement -------------------------------------------------------------------------------- */

/* DDP-14, DDP-33, DDP-49 */
static void tagged_payload_goes_where_stag_and_to_say(void **state)
{
	struct fixture f;
	uint32_t stag, whole_pd;
	struct iw_region r;

	(void)state;
	fixture_init(&f, 0);
	stag = add(&f, region(&f, 100, 200, 0x123456789a, IW_RIGHT_REMOTE_WRITE));
	r = region(&f, 1000, 50, 0, IW_RIGHT_REMOTE_WRITE);
	r.stream = 0;
	whole_pd = add(&f, r);
	assert_int_equal(place(&f, tagged(stag, 0x123456789a + 17, false), data, 30), 0);
	area_expect(&f.area, 100 + 17, data, 30);
	assert_int_equal(place(&f, tagged(stag, 0x123456789a, true), data + 30, 1), 0);
	area_expect(&f.area, 100, data + 30, 1);
	assert_int_equal(place(&f, tagged(stag, 0x123456789a + 199, true), data + 31, 1), 0);
	area_expect(&f.area, 100 + 199, data + 31, 1);
	assert_int_equal(place(&f, tagged(whole_pd, 0, true), data + 40, 50), 0);
	area_expect(&f.area, 1000, data + 40, 50);
	area_check(&f.area);
	fixture_fini(&f);
}

/* DDP-15, DDP-49 */
static void untagged_payload_goes_into_the_buffer_of_its_msn_at_mo(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 0);
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 100, 1), 0);
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 200), 60, 2), 0);
	assert_int_equal(iw_ddp_post(f.d, 1, area_at(&f.area, 300), 28, 3), 0);
	assert_int_equal(place(&f, untagged(0, 1, 40, true), data, 60), 0);
	area_expect(&f.area, 40, data, 60);
	assert_int_equal(place(&f, untagged(0, 1, 0, false), data + 60, 40), 0);
	area_expect(&f.area, 0, data + 60, 40);
	assert_int_equal(place(&f, untagged(0, 2, 0, true), data, 60), 0);
	area_expect(&f.area, 200, data, 60);
	assert_int_equal(place(&f, untagged(1, 1, 0, true), data, 28), 0);
	area_expect(&f.area, 300, data, 28);
	area_check(&f.area);
	fixture_fini(&f);
}

/* DDP-63, DDP-64 */
static void segments_are_placed_in_any_order_and_more_than_once(void **state)
{
	static const uint8_t order[] = { 3, 1, 1, 0, 3, 2, 0 };
	struct fixture f;
	uint32_t stag;

	(void)state;
	fixture_init(&f, 16);
	stag = add(&f, region(&f, 0, 40, 0, IW_RIGHT_REMOTE_WRITE));
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 100), 40, 1), 0);
	for (size_t i = 0; i < sizeof(order); i++) {
		uint32_t at = order[i] * 10u;

		assert_int_equal(place(&f, tagged(stag, at, at == 30), data + at, 10), 0);
		assert_int_equal(place(&f, untagged(0, 1, at, at == 30), data + at, 10), 0);
	}
	area_expect(&f.area, 0, data, 40);
	area_expect(&f.area, 100, data, 40);
	area_check(&f.area);
	fixture_fini(&f);
}

/* DDP-56, DDP-57 */
static void zero_length_tagged_segment_is_not_checked(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 0);
	assert_int_equal(place(&f, tagged(0, 0, true), NULL, 0), 0);
	assert_int_equal(place(&f, tagged(0xffffffff, UINT64_MAX, true), NULL, 0), 0);
	assert_int_equal(place(&f, tagged(1, 0x1000, false), data, 0), 0);
	area_check(&f.area);
	assert_false(f.d->failed);
	fixture_fini(&f);
}

/* DDP-15, DDP-88: RFC 5040 5.3: a zero-length Send consumes a buffer too. */
static void zero_length_untagged_segment_needs_a_buffer(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 0);
	assert_int_equal(iw_ddp_post(f.d, 0, NULL, 0, 1), 0);
	assert_int_equal(place(&f, untagged(0, 1, 0, true), NULL, 0), 0);
	assert_int_equal(place(&f, untagged(0, 2, 0, true), NULL, 0), IW_E_DDP_NOBUF);
	assert_fault(&f, IW_E_DDP_NOBUF);
	fixture_fini(&f);
}

static void check_returns_the_destination_and_copies_nothing(void **state)
{
	struct fixture f;
	struct iw_ddp h;
	uint8_t *where;
	uint32_t stag;

	(void)state;
	fixture_init(&f, 0);
	stag = add(&f, region(&f, 100, 200, 0x1000, IW_RIGHT_READ_SINK));
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 500), 100, 1), 0);
	h = tagged(stag, 0x1010, true);
	assert_int_equal(iw_ddp_check(f.d, &h, 10, IW_RIGHT_READ_SINK, NOW, &where, &f.why), 0);
	assert_ptr_equal(where, area_at(&f.area, 116));
	assert_int_equal(iw_ddp_check(f.d, &h, 0, IW_RIGHT_READ_SINK, NOW, &where, &f.why), 0);
	assert_null(where);
	h = untagged(0, 1, 99, true);
	assert_int_equal(iw_ddp_check(f.d, &h, 1, 0, NOW, &where, &f.why), 0);
	assert_ptr_equal(where, area_at(&f.area, 599));
	h.mo = 100;
	assert_int_equal(iw_ddp_check(f.d, &h, 1, 0, NOW, &where, &f.why), IW_E_DDP_TOOLONG);
	assert_null(where);
	area_check(&f.area);
	fixture_fini(&f);
}

/* --- refused segments ------------------------------------------------------------------------- */

/* Asserts that the segment is refused with that error and that nothing is placed. */
static void refused(struct fixture *f, struct iw_ddp h, size_t len, int err, uint32_t term)
{
	assert_int_equal(place(f, h, data, len), err);
	assert_fault(f, err);
	assert_int_equal(f->why.term, term);
	area_check(&f->area);
	assert_true(f->d->failed);
}

/* DDP-23, DDP-24, DDP-82 */
static void version_must_be_the_streams(void **state)
{
	(void)state;
	for (uint8_t ours = 0; ours <= 1; ours++) {
		for (uint8_t dv = 0; dv <= 3; dv++) {
			struct fixture f;
			struct iw_ddp t, u;
			uint8_t *where;

			fixture_init(&f, 0);
			iw_ddp_set_version(f.d, ours);
			assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 10, 1), 0);
			/* zero length: the version is checked nevertheless */
			t = tagged(0, 0, true);
			u = untagged(0, 1, 0, true);
			t.dv = u.dv = dv;
			if (dv == ours) {
				assert_int_equal(iw_ddp_check(f.d, &t, 0, 0, NOW, &where, &f.why),
						 0);
				assert_int_equal(iw_ddp_check(f.d, &u, 10, 0, NOW, &where, &f.why),
						 0);
			} else {
				refused(&f, t, 0, IW_E_DDP_VERSION_T, IW_TERM(1, 1, 4));
				fixture_fini(&f);
				fixture_init(&f, 0);
				iw_ddp_set_version(f.d, ours);
				/* The version is checked before everything else. */
				u.qn = 77;
				refused(&f, u, 0, IW_E_DDP_VERSION_U, IW_TERM(1, 2, 6));
			}
			fixture_fini(&f);
		}
	}
}

/* DDP-22 */
static void reserved_bits_are_not_checked(void **state)
{
	struct fixture f;
	struct iw_ddp t, u;

	(void)state;
	fixture_init(&f, 0);
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 500), 100, 1), 0);
	t = tagged(add(&f, region(&f, 0, 10, 0, IW_RIGHT_REMOTE_WRITE)), 0, true);
	u = untagged(0, 1, 0, true);
	t.rsvd_ddp = u.rsvd_ddp = 0xf;
	assert_int_equal(place(&f, t, data, 10), 0);
	assert_int_equal(place(&f, u, data, 10), 0);
	area_expect(&f.area, 0, data, 10);
	area_expect(&f.area, 500, data, 10);
	area_check(&f.area);
	fixture_fini(&f);
}

/* DDP-87, DDP-101, DDP-102, DDP-106 */
static void queue_must_be_one_of_the_streams(void **state)
{
	static const uint32_t qns[] = { 3, 4, 5, 0x100, 0x80000000, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(qns); i++) {
		struct fixture f;

		fixture_init(&f, 0);
		refused(&f, untagged(qns[i], 1, 0, true), i % 2 ? 10 : 0, IW_E_DDP_QN,
			IW_TERM(1, 2, 1));
		assert_non_null(strstr(f.why.text, "this stream has 0, 1, 2"));
		fixture_fini(&f);
	}
}

/* DDP-88, DDP-91, DDP-92, DDP-95, DDP-102, DDP-106 */
static void msn_must_have_a_buffer(void **state)
{
	/* The Send queue has depth 8. Three buffers are posted, for MSNs from first on. */
	static const struct {
		uint32_t first, msn;
		int err;
	} rows[] = {
		{ 1, 1, 0 },
		{ 1, 3, 0 },
		{ 1, 4, IW_E_DDP_NOBUF }, /* the next MSN, without a buffer */
		{ 1, 8, IW_E_DDP_NOBUF }, /* the last MSN that could have one */
		{ 1, 9, IW_E_DDP_MSN },
		{ 1, 0, IW_E_DDP_MSN }, /* delivered before */
		{ 1, UINT32_MAX, IW_E_DDP_MSN },
		{ 1, 0x80000001, IW_E_DDP_MSN },
		{ 1, 0x80000000, IW_E_DDP_MSN },
		/* DDP-42: the window across the wrap */
		{ UINT32_MAX, UINT32_MAX, 0 },
		{ UINT32_MAX, 0, 0 },
		{ UINT32_MAX, 1, 0 },
		{ UINT32_MAX, 2, IW_E_DDP_NOBUF },
		{ UINT32_MAX, 6, IW_E_DDP_NOBUF },
		{ UINT32_MAX, 7, IW_E_DDP_MSN },
		{ UINT32_MAX, UINT32_MAX - 1, IW_E_DDP_MSN },
		{ 0, 0, 0 },
		{ 0, UINT32_MAX, IW_E_DDP_MSN },
		{ 0x7ffffffe, 0x80000000, 0 },
		{ 0x7ffffffe, 0x80000001, IW_E_DDP_NOBUF },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct fixture f;
		struct iw_ddp h = untagged(0, rows[i].msn, 0, true);
		uint32_t slot = (rows[i].msn - rows[i].first) * 100;

		fixture_init(&f, 16);
		set_msn(&f, 0, rows[i].first);
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, k * 100), 50, k), 0);
		if (rows[i].err) {
			refused(&f, h, 10, rows[i].err,
				rows[i].err == IW_E_DDP_NOBUF ? IW_TERM(1, 2, 2)
							      : IW_TERM(1, 2, 3));
		} else {
			assert_int_equal(place(&f, h, data, 10), 0);
			area_expect(&f.area, slot, data, 10);
			area_check(&f.area);
		}
		fixture_fini(&f);
	}
}

/* DDP-88: a Read Request above IRD, and a Send without a posted buffer. */
static void message_without_a_posted_buffer_is_an_error(void **state)
{
	(void)state;
	for (uint32_t qn = 0; qn < 3; qn++) {
		struct fixture f;

		fixture_init(&f, 0);
		refused(&f, untagged(qn, 1, 0, true), 28, IW_E_DDP_NOBUF, IW_TERM(1, 2, 2));
		assert_non_null(strstr(f.why.text, "MSN 1: no buffer: 0 are posted"));
		fixture_fini(&f);
	}
}

/* DDP-89, DDP-90, DDP-101, DDP-106, SEC-30 */
static void mo_and_length_must_lie_in_the_buffer(void **state)
{
	static const struct {
		uint32_t cap, mo;
		size_t len;
		int err;
	} rows[] = {
		{ 100, 0, 100, 0 },
		{ 100, 99, 1, 0 },
		{ 100, 100, 0, 0 },
		{ 100, 0, 101, IW_E_DDP_TOOLONG },
		{ 100, 99, 2, IW_E_DDP_TOOLONG },
		{ 100, 100, 1, IW_E_DDP_TOOLONG }, /* where the message that is too long was cut */
		{ 0, 0, 1, IW_E_DDP_TOOLONG },
		{ 100, 101, 1, IW_E_DDP_MO },
		{ 100, 101, 0, IW_E_DDP_MO },
		{ 100, UINT32_MAX, 1, IW_E_DDP_MO }, /* MO + length is 0 modulo 2^32 */
		{ 100, UINT32_MAX - 9, 20, IW_E_DDP_MO },
		{ 0, 1, 1, IW_E_DDP_MO },
		/* DDP-47: no buffer, and therefore no message, has 2^32 octets */
		{ 100, 0, (size_t)UINT32_MAX, IW_E_DDP_TOOLONG },
		{ 100, 1, (size_t)UINT32_MAX, IW_E_DDP_TOOLONG },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct fixture f;
		struct iw_ddp h = untagged(0, 1, rows[i].mo, true);

		fixture_init(&f, 0);
		assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 64), rows[i].cap, 1), 0);
		if (rows[i].err) {
			refused(&f, h, rows[i].len, rows[i].err,
				rows[i].err == IW_E_DDP_MO ? IW_TERM(1, 2, 4) : IW_TERM(1, 2, 5));
		} else {
			assert_int_equal(place(&f, h, data, rows[i].len), 0);
			area_expect(&f.area, 64 + rows[i].mo, data, rows[i].len);
			area_check(&f.area);
		}
		fixture_fini(&f);
	}
}

/* DDP-29, DDP-96..102, DDP-106, DDP-107, DDP-116, SEC-01, SEC-02, SEC-03, SEC-05 */
static void tagged_segment_must_be_allowed_to_the_octet(void **state)
{
	static const struct {
		const char *what;
		uint32_t pd, stream, flip; /* of the registration; flip: bits of the STag */
		uint8_t rights;
		uint64_t to; /* the registration is 0x1000..0x1040 */
		size_t len;
		int err;
		uint32_t term;
	} rows[] = {
#define WRITE IW_RIGHT_REMOTE_WRITE
		{ "unknown", PD, STREAM, 1, WRITE, 0x1000, 1, IW_E_DDP_STAG, IW_TERM(1, 1, 0) },
		{ "unknown", PD, STREAM, 1u << 31, WRITE, 0x1000, 1, IW_E_DDP_STAG,
		  IW_TERM(1, 1, 0) },
		{ "other domain", PD + 1, 0, 0, WRITE, 0x1000, 1, IW_E_DDP_ASSOC,
		  IW_TERM(1, 1, 2) },
		{ "other domain's stream", PD + 1, STREAM, 0, WRITE, 0x1000, 1, IW_E_DDP_ASSOC,
		  IW_TERM(1, 1, 2) },
		{ "other stream", PD, STREAM + 1, 0, WRITE, 0x1000, 1, IW_E_DDP_ASSOC,
		  IW_TERM(1, 1, 2) },
		{ "read only", PD, STREAM, 0, IW_RIGHT_REMOTE_READ, 0x1000, 1, IW_E_DDP_STAG,
		  IW_TERM(1, 1, 0) },
		{ "sink of local Reads", PD, STREAM, 0, IW_RIGHT_READ_SINK, 0x1000, 1,
		  IW_E_DDP_STAG, IW_TERM(1, 1, 0) },
		{ "before", PD, STREAM, 0, WRITE, 0xfff, 1, IW_E_DDP_BOUNDS, IW_TERM(1, 1, 1) },
		{ "into", PD, STREAM, 0, WRITE, 0xfff, 2, IW_E_DDP_BOUNDS, IW_TERM(1, 1, 1) },
		{ "out of", PD, STREAM, 0, WRITE, 0x103f, 2, IW_E_DDP_BOUNDS, IW_TERM(1, 1, 1) },
		{ "behind", PD, STREAM, 0, WRITE, 0x1040, 1, IW_E_DDP_BOUNDS, IW_TERM(1, 1, 1) },
		{ "all and more", PD, STREAM, 0, WRITE, 0x1000, 0x41, IW_E_DDP_BOUNDS,
		  IW_TERM(1, 1, 1) },
		{ "wrap", PD, STREAM, 0, WRITE, UINT64_MAX, 1, IW_E_DDP_WRAP, IW_TERM(1, 1, 3) },
		{ "wrap", PD, STREAM, 0, WRITE, UINT64_MAX - 9, 20, IW_E_DDP_WRAP,
		  IW_TERM(1, 1, 3) },
		{ "no wrap", PD, STREAM, 0, WRITE, UINT64_MAX - 9, 9, IW_E_DDP_BOUNDS,
		  IW_TERM(1, 1, 1) },
#undef WRITE
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct fixture f;
		struct iw_region r;
		uint32_t stag;

		fixture_init(&f, 0);
		r = region(&f, 512, 0x40, 0x1000, rows[i].rights);
		r.pd = rows[i].pd;
		r.stream = rows[i].stream;
		stag = add(&f, r) ^ rows[i].flip;
		refused(&f, tagged(stag, rows[i].to, true), rows[i].len, rows[i].err, rows[i].term);
		fixture_fini(&f);
	}
}

/*
 * SEC-01, SEC-02, DDP-108, DDP-109, DDP-111: two streams of one table, in one protection domain and
 * in two.
 */
static void each_stream_uses_its_own_stags_and_its_domains(void **state)
{
	(void)state;
	for (int i = 0; i < 16; i++) {
		struct fixture f;
		struct iw_ddp_stream *other;
		struct iw_ddp_cfg cfg;
		struct iw_region r;
		struct iw_ddp h;
		bool same_pd = i & 1, scoped = i & 2, theirs = i & 4, asks_other = i & 8;
		uint32_t pd[2] = { PD, same_pd ? PD : PD + 1 };
		uint32_t number[2] = { STREAM, STREAM + 1 };
		bool may = theirs == asks_other || (same_pd && !scoped);
		int ret;

		fixture_init(&f, 0);
		cfg = fixture_cfg(&f, 0);
		cfg.pd = pd[1];
		cfg.stream = number[1];
		assert_int_equal(iw_ddp_new(&other, &cfg, &f.why), 0);
		r = region(&f, 0, 16, 0, IW_RIGHT_REMOTE_WRITE);
		r.pd = pd[theirs];
		r.stream = scoped ? number[theirs] : 0;
		h = tagged(add(&f, r), 0, true);
		ret = iw_ddp_place(asks_other ? other : f.d, &h, data, 16, IW_RIGHT_REMOTE_WRITE,
				   NOW, &f.why);
		assert_int_equal(ret, may ? 0 : IW_E_DDP_ASSOC);
		if (may)
			area_expect(&f.area, 0, data, 16);
		area_check(&f.area);
		iw_ddp_free(other);
		fixture_fini(&f);
	}
}

/* DDP-113, SEC-06 */
static void revocation_takes_effect_within_a_message(void **state)
{
	struct fixture f;
	uint32_t stag;

	(void)state;
	fixture_init(&f, 0);
	stag = add(&f, region(&f, 0, 100, 0, IW_RIGHT_REMOTE_WRITE));
	assert_int_equal(place(&f, tagged(stag, 0, false), data, 50), 0);
	area_expect(&f.area, 0, data, 50);
	assert_int_equal(iw_stag_del(f.stags, stag), 0);
	refused(&f, tagged(stag, 50, true), 50, IW_E_DDP_STAG, IW_TERM(1, 1, 0));
	fixture_fini(&f);
}

/* DDP-113, SEC-06 */
static void expiry_and_lost_rights_take_effect_within_a_message(void **state)
{
	(void)state;
	for (int how = 0; how < 2; how++) {
		struct fixture f;
		uint32_t stag;

		fixture_init(&f, 0);
		stag = add(&f, region(&f, 0, 100, 0, IW_RIGHT_REMOTE_WRITE));
		assert_int_equal(place(&f, tagged(stag, 0, false), data, 50), 0);
		area_expect(&f.area, 0, data, 50);
		if (how == 0)
			iw_stag_get(f.stags, stag)->expires = NOW;
		else
			iw_stag_get(f.stags, stag)->rights = IW_RIGHT_REMOTE_READ;
		refused(&f, tagged(stag, 50, true), 50, IW_E_DDP_STAG, IW_TERM(1, 1, 0));
		fixture_fini(&f);
	}
}

/* DDP-84, DDP-101, DDP-104, DDP-105 */
static void after_a_fault_input_is_dropped_and_one_message_may_be_sent(void **state)
{
	struct fixture f;
	struct iw_ddp good;
	struct iw_ddp_msg m;
	struct iw_ddp_out out = { .hdr = untagged(IW_QN_TERM, 0, 0, false), .len = 20 };
	uint8_t hdr[IW_DDP_HDR_MAX], *where;
	uint32_t off, len;

	(void)state;
	fixture_init(&f, 16);
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 100, 1), 0);
	good = tagged(add(&f, region(&f, 200, 100, 0, IW_RIGHT_REMOTE_WRITE)), 0, true);
	refused(&f, tagged(1, 0, true), 10, IW_E_DDP_STAG, IW_TERM(1, 1, 0));

	f.why = (struct iw_fault){ 0 };
	assert_int_equal(place(&f, good, data, 10), 0);
	assert_int_equal(place(&f, untagged(0, 1, 0, true), data, 10), 0);
	assert_int_equal(place(&f, untagged(9, 9, 9, true), data, 10), 0);
	assert_int_equal(iw_ddp_check(f.d, &good, 10, IW_RIGHT_REMOTE_WRITE, NOW, &where, &f.why),
			 0);
	assert_null(where);
	assert_int_equal(iw_ddp_in_order(f.d, &good, 10, &f.why), 0);
	assert_int_equal(iw_ddp_arrive(f.d, iw_ddp_next_seq(f.d), &good, 10, &f.why), 0);
	assert_int_equal(iw_ddp_deliver(f.d, &m, &f.why), 0);
	assert_int_equal(f.why.err, 0);
	area_check(&f.area);

	iw_ddp_out_begin(f.d, &out);
	assert_int_equal(iw_ddp_cut(&out, 128, hdr, &off, &len), IW_DDP_UNTAGGED_LEN);
	assert_int_equal(len, 20);
	assert_true(out.ended);
	fixture_fini(&f);
}

/* --- events ----------------------------------------------------------------------------------- */

static void placement_is_traced_with_its_place(void **state)
{
	const struct iw_trace_event *ev;
	static struct trace_log log;
	struct fixture f;
	uint32_t stag;

	(void)state;
	fixture_init(&f, 0);
	stag = add(&f, region(&f, 100, 200, 0x123456789a, IW_RIGHT_REMOTE_WRITE));
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 500), 100, 1), 0);
	trace_log_on(&log);
	f.d->cfg.tracer = &log.tracer;
	assert_int_equal(place(&f, tagged(stag, 0x123456789a + 17, false), data, 30), 0);
	assert_int_equal(place(&f, untagged(0, 1, 40, true), data, 60), 0);
	/* Nothing is placed: no payload, and no right. */
	assert_int_equal(place(&f, tagged(0, 0, true), NULL, 0), 0);
	assert_int_equal(place(&f, tagged(stag, 0, true), data, 1), IW_E_DDP_BOUNDS);
	assert_int_equal(log.n, 2);
	ev = trace_log_get(&log, IW_TRACE_placed, 0);
	assert_int_equal(ev->stream, f.d->cfg.stream);
	assert_true(ev->placed.tagged && ev->placed.stag == stag);
	assert_true(ev->placed.to == 0x123456789a + 17 && ev->placed.octets == 30);
	ev = trace_log_get(&log, IW_TRACE_placed, 1);
	assert_false(ev->placed.tagged);
	assert_true(ev->placed.msn == 1 && ev->placed.mo == 40 && ev->placed.octets == 60);
	/* The listener is gone. */
	f.d->failed = false;
	log.tracer.emit = NULL;
	assert_int_equal(place(&f, untagged(0, 1, 0, true), data, 60), 0);
	assert_int_equal(log.n, 2);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tagged_payload_goes_where_stag_and_to_say),
		cmocka_unit_test(untagged_payload_goes_into_the_buffer_of_its_msn_at_mo),
		cmocka_unit_test(segments_are_placed_in_any_order_and_more_than_once),
		cmocka_unit_test(zero_length_tagged_segment_is_not_checked),
		cmocka_unit_test(zero_length_untagged_segment_needs_a_buffer),
		cmocka_unit_test(check_returns_the_destination_and_copies_nothing),
		cmocka_unit_test(version_must_be_the_streams),
		cmocka_unit_test(reserved_bits_are_not_checked),
		cmocka_unit_test(queue_must_be_one_of_the_streams),
		cmocka_unit_test(msn_must_have_a_buffer),
		cmocka_unit_test(message_without_a_posted_buffer_is_an_error),
		cmocka_unit_test(mo_and_length_must_lie_in_the_buffer),
		cmocka_unit_test(tagged_segment_must_be_allowed_to_the_octet),
		cmocka_unit_test(each_stream_uses_its_own_stags_and_its_domains),
		cmocka_unit_test(revocation_takes_effect_within_a_message),
		cmocka_unit_test(expiry_and_lost_rights_take_effect_within_a_message),
		cmocka_unit_test(placement_is_traced_with_its_place),
		cmocka_unit_test(after_a_fault_input_is_dropped_and_one_message_may_be_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
