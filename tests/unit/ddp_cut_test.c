// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cutting messages into segments: payload and header of each segment. */
#include "ddp/ddp.h"

#include "ddp_fixture.h"

/* DDP-25, DDP-34, DDP-46, DDP-50, DDP-53, DDP-61 */
static void example_of_the_rfc_untagged(void **state)
{
	static const uint8_t first[] = {
		0x01, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0
	};
	static const uint8_t second[] = { 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0,
					  0,    0,    0, 0, 1, 0, 0, 5, 0xca };
	struct fixture f;
	struct iw_ddp_out o = { .hdr = untagged(0, 0, 0, false), .len = 2048 };
	uint8_t hdr[IW_DDP_HDR_MAX];
	uint32_t off, len;

	(void)state;
	fixture_init(&f, 0);
	iw_ddp_out_begin(f.d, &o);
	assert_int_equal(iw_ddp_cut(&o, 1500, hdr, &off, &len), 18);
	assert_memory_equal(hdr, first, 18);
	assert_int_equal(off, 0);
	assert_int_equal(len, 1482);
	assert_false(o.ended);
	assert_int_equal(iw_ddp_cut(&o, 1500, hdr, &off, &len), 18);
	assert_memory_equal(hdr, second, 18);
	assert_int_equal(off, 1482);
	assert_int_equal(len, 566);
	assert_true(o.ended);
	fixture_fini(&f);
}

/* DDP-25, DDP-46, DDP-51, DDP-52, DDP-54, DDP-62 */
static void example_of_the_rfc_tagged(void **state)
{
	static const uint8_t first[] = { 0x81, 0x40, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0x40, 0 };
	static const uint8_t second[] = { 0xc1, 0x40, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0x45, 0xce };
	struct fixture f;
	struct iw_ddp_out o = { .hdr = tagged(0x01020304, 16384, false), .len = 2048 };
	uint8_t hdr[IW_DDP_HDR_MAX];
	uint32_t off, len;

	(void)state;
	fixture_init(&f, 0);
	iw_ddp_out_begin(f.d, &o);
	assert_int_equal(iw_ddp_cut(&o, 1500, hdr, &off, &len), 14);
	assert_memory_equal(hdr, first, 14);
	assert_int_equal(off, 0);
	assert_int_equal(len, 1486);
	assert_int_equal(iw_ddp_cut(&o, 1500, hdr, &off, &len), 14);
	assert_memory_equal(hdr, second, 14);
	assert_int_equal(off, 1486);
	assert_int_equal(len, 562);
	assert_true(o.ended);
	fixture_fini(&f);
}

/*
 * DDP-16..19, DDP-21, DDP-26, DDP-28, DDP-30, DDP-32, DDP-35, DDP-37, DDP-39, DDP-43..46, DDP-48,
 * DDP-50, DDP-52, DDP-61, DDP-62
 */
static void segments_cover_the_message_once_in_order_and_agree(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 0);
	for (size_t run = 0; run < 300; run++) {
		bool is_tagged = run % 2;
		uint64_t to = rng_next(&f.rng) >> 1;
		struct iw_ddp_out o = {
			.hdr = is_tagged ? tagged((uint32_t)rng_next(&f.rng), to, run % 3 == 0)
					 : untagged(run % 3, 0, 77, run % 5 == 0),
			.len = (uint32_t)rng_below(&f.rng, 100000),
		};
		uint64_t next = 0;
		uint32_t msn;

		o.hdr.opcode = run % 16;
		o.hdr.rsvd_ddp = 5; /* ignored in the template */
		o.hdr.inval_stag = is_tagged ? 0 : (uint32_t)rng_next(&f.rng);
		iw_ddp_out_begin(f.d, &o);
		msn = o.hdr.msn;
		do {
			/* DDP-02: MULPDU may change before each segment. */
			size_t mulpdu = 128 + rng_below(&f.rng, 3000);
			uint8_t octets[IW_DDP_HDR_MAX];
			struct iw_ddp h;
			uint32_t off, len;
			size_t n = iw_ddp_cut(&o, mulpdu, octets, &off, &len);

			assert_int_equal(n, is_tagged ? 14 : 18);
			assert_int_equal(iw_wire_ddp_decode(&h, octets, n), n);
			assert_true(n + len <= mulpdu);
			assert_true(h.last || n + len == mulpdu);
			assert_int_equal(off, next);
			next += len;
			assert_true(h.last == (next == o.len));
			assert_true(h.last == o.ended);
			assert_true(h.tagged == is_tagged);
			assert_int_equal(h.dv, 1);
			assert_int_equal(h.rsvd_ddp, 0);
			assert_int_equal(h.rv, 1);
			assert_int_equal(h.opcode, o.hdr.opcode);
			assert_int_equal(h.stag, is_tagged ? o.hdr.stag : 0);
			assert_true(h.to == (is_tagged ? to + off : 0));
			assert_int_equal(h.inval_stag, o.hdr.inval_stag);
			assert_int_equal(h.qn, is_tagged ? 0 : run % 3);
			assert_int_equal(h.msn, is_tagged ? 0 : msn);
			assert_int_equal(h.mo, is_tagged ? 0 : off);
		} while (!o.ended);
		assert_int_equal(next, o.len);
	}
	fixture_fini(&f);
}

/* DDP-16, DDP-55 */
static void zero_length_message_is_one_segment(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 0);
	for (int i = 0; i < 2; i++) {
		struct iw_ddp_out o = { .hdr = i ? tagged(5, 9, false) : untagged(0, 0, 0, false) };
		uint8_t octets[IW_DDP_HDR_MAX];
		struct iw_ddp h;
		uint32_t off, len;
		size_t n;

		iw_ddp_out_begin(f.d, &o);
		assert_false(o.ended);
		n = iw_ddp_cut(&o, 128, octets, &off, &len);
		assert_int_equal(iw_wire_ddp_decode(&h, octets, n), n);
		assert_int_equal(off, 0);
		assert_int_equal(len, 0);
		assert_true(h.last);
		assert_true(o.ended);
	}
	fixture_fini(&f);
}

/* DDP-55: a full last segment is not followed by an empty one. */
static void message_that_fills_its_segments_ends_with_the_last_full_one(void **state)
{
	struct fixture f;
	struct iw_ddp_out o = { .hdr = untagged(0, 0, 0, false), .len = 2 * (500 - 18) };
	uint8_t hdr[IW_DDP_HDR_MAX];
	uint32_t off, len;

	(void)state;
	fixture_init(&f, 0);
	iw_ddp_out_begin(f.d, &o);
	(void)iw_ddp_cut(&o, 500, hdr, &off, &len);
	assert_false(o.ended);
	(void)iw_ddp_cut(&o, 500, hdr, &off, &len);
	assert_true(o.ended);
	assert_int_equal(len, 482);
	fixture_fini(&f);
}

/* DDP-47, DDP-52 */
static void longest_message_is_cut_to_its_end(void **state)
{
	struct fixture f;
	struct iw_ddp_out o = { .hdr = tagged(5, UINT64_MAX - UINT32_MAX, false),
				.len = UINT32_MAX };
	uint8_t octets[IW_DDP_HDR_MAX];
	struct iw_ddp h;
	uint64_t sum = 0;
	uint32_t off, len;

	(void)state;
	fixture_init(&f, 0);
	iw_ddp_out_begin(f.d, &o);
	while (!o.ended) {
		(void)iw_ddp_cut(&o, 64768, octets, &off, &len);
		assert_int_equal(off, sum);
		sum += len;
	}
	assert_int_equal(sum, UINT32_MAX);
	assert_int_equal(iw_wire_ddp_decode(&h, octets, 14), 14);
	assert_true(h.to == UINT64_MAX - len);
	fixture_fini(&f);
}

static uint32_t sent_msn(struct fixture *f, uint32_t qn)
{
	struct iw_ddp_out o = { .hdr = untagged(qn, 99, 0, false) };

	iw_ddp_out_begin(f->d, &o);
	return o.hdr.msn;
}

/* DDP-40..42 */
static void msn_counts_messages_of_its_queue_from_1_and_wraps_to_0(void **state)
{
	struct fixture f;
	struct iw_ddp_out o = { .hdr = tagged(5, 0, false) };

	(void)state;
	fixture_init(&f, 0);
	for (uint32_t i = 1; i <= 5; i++) {
		assert_int_equal(sent_msn(&f, 0), i);
		iw_ddp_out_begin(f.d, &o); /* tagged messages have no MSN */
	}
	assert_int_equal(sent_msn(&f, 2), 1);
	assert_int_equal(sent_msn(&f, 1), 1);
	assert_int_equal(sent_msn(&f, 3), 1); /* the queue need not be valid at this end */
	assert_int_equal(sent_msn(&f, 1), 2);
	assert_int_equal(sent_msn(&f, 0), 6);
	set_msn(&f, 0, UINT32_MAX - 1);
	assert_int_equal(sent_msn(&f, 0), UINT32_MAX - 1);
	assert_int_equal(sent_msn(&f, 0), UINT32_MAX);
	assert_int_equal(sent_msn(&f, 0), 0);
	assert_int_equal(sent_msn(&f, 0), 1);
	assert_int_equal(sent_msn(&f, 1), 3);
	fixture_fini(&f);
}

/* DDP-23, DDP-24 */
static void version_is_the_streams(void **state)
{
	struct fixture f;
	struct iw_ddp_out o = { .hdr = tagged(5, 0, false) };
	uint8_t hdr[IW_DDP_HDR_MAX];
	uint32_t off, len;

	(void)state;
	fixture_init(&f, 0);
	for (uint8_t dv = 0; dv <= 1; dv++) {
		iw_ddp_set_version(f.d, dv);
		o.hdr.dv = 3;
		iw_ddp_out_begin(f.d, &o);
		(void)iw_ddp_cut(&o, 128, hdr, &off, &len);
		assert_int_equal(hdr[0], 0xc0 | dv);
	}
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example_of_the_rfc_untagged),
		cmocka_unit_test(example_of_the_rfc_tagged),
		cmocka_unit_test(segments_cover_the_message_once_in_order_and_agree),
		cmocka_unit_test(zero_length_message_is_one_segment),
		cmocka_unit_test(message_that_fills_its_segments_ends_with_the_last_full_one),
		cmocka_unit_test(longest_message_is_cut_to_its_end),
		cmocka_unit_test(msn_counts_messages_of_its_queue_from_1_and_wraps_to_0),
		cmocka_unit_test(version_is_the_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
