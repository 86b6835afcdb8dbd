// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Untagged Buffers: the MSN that each one serves, and when the caller owns it again. */
#include "ddp/ddp.h"

#include "ddp_fixture.h"

/* Receives a whole message of len octets for the next MSN. Returns its cookie. */
static uint64_t receive(struct fixture *f, uint32_t qn, size_t len)
{
	struct iw_ddp h = untagged(qn, iw_ddp_next_msn(f->d, qn), 0, true);
	struct iw_ddp_msg m;

	assert_int_equal(iw_ddp_in_order(f->d, &h, len, &f->why), 0);
	assert_int_equal(place(f, h, f->area.model, len), 0);
	assert_int_equal(iw_ddp_arrive(f->d, iw_ddp_next_seq(f->d), &h, len, &f->why), 0);
	assert_int_equal(iw_ddp_deliver(f->d, &m, &f->why), 1);
	assert_int_equal(m.qn, qn);
	assert_int_equal(m.msn, h.msn);
	assert_int_equal(m.len, len);
	return m.cookie;
}

/* DDP-41, DDP-88, DDP-91 */
static void buffers_serve_msns_from_1_on_in_the_order_of_posting(void **state)
{
	struct fixture f;
	uint64_t next = 0;

	(void)state;
	fixture_init(&f, 0);
	for (uint32_t qn = 0; qn < 3; qn++)
		assert_int_equal(iw_ddp_next_msn(f.d, qn), 1);
	/* Post and deliver in turn, so that the ring wraps. */
	for (uint64_t i = 0, posted = 0; i < 50; i++) {
		for (size_t k = rng_below(&f.rng, 5); k > 0; k--) {
			int ret = iw_ddp_post(f.d, 0, area_at(&f.area, posted % 100), 8, posted);

			assert_int_equal(ret, posted - next == 8 ? IW_E_FULL : 0);
			posted += ret == 0;
		}
		assert_int_equal(iw_ddp_posted(f.d, 0), posted - next);
		for (size_t k = rng_below(&f.rng, 5); k > 0 && next < posted; k--) {
			assert_int_equal(receive(&f, 0, k), next);
			next++;
			assert_int_equal(iw_ddp_next_msn(f.d, 0), next + 1);
		}
	}
	assert_true(next > 30);
	assert_int_equal(iw_ddp_next_msn(f.d, 1), 1);
	fixture_fini(&f);
}

static void queue_takes_its_depth_and_no_more(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 0);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 1, i), 0);
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 1, 8), IW_E_FULL);
	assert_int_equal(iw_ddp_post(f.d, 1, NULL, 0, 1), 0);
	assert_int_equal(iw_ddp_post(f.d, 1, NULL, 1, 1), IW_E_INVAL);
	assert_int_equal(iw_ddp_post(f.d, 3, area_at(&f.area, 0), 1, 1), IW_E_INVAL);
	assert_int_equal(iw_ddp_post(f.d, 4, area_at(&f.area, 0), 1, 1), IW_E_INVAL);
	assert_int_equal(iw_ddp_post(f.d, UINT32_MAX, area_at(&f.area, 0), 1, 1), IW_E_INVAL);
	assert_int_equal(iw_ddp_posted(f.d, 0), 8);
	assert_int_equal(iw_ddp_posted(f.d, 1), 1);
	assert_int_equal(iw_ddp_posted(f.d, 3), 0);
	assert_int_equal(iw_ddp_posted(f.d, 4), 0);
	fixture_fini(&f);
}

/* DDP-40, DDP-42 */
static void msn_wraps_from_ffffffff_to_0(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 0);
	set_msn(&f, 0, UINT32_MAX - 2);
	for (uint64_t i = 0; i < 6; i++) {
		assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 8, i), 0);
	}
	for (uint64_t i = 0; i < 6; i++) {
		assert_int_equal(iw_ddp_next_msn(f.d, 0), (uint32_t)(UINT32_MAX - 2 + i));
		assert_int_equal(receive(&f, 0, 8), i);
	}
	assert_int_equal(iw_ddp_next_msn(f.d, 0), 3);
	fixture_fini(&f);
}

static void queue_grows_without_losing_posted_entries(void **state)
{
	struct fixture f;
	uint64_t next = 0, posted = 0;

	(void)state;
	fixture_init(&f, 0);
	/* The ring has wrapped, so growth must restore its order. */
	for (; posted < 5; posted++)
		assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 8, posted), 0);
	for (; next < 5; next++)
		assert_int_equal(receive(&f, 0, 1), next);
	for (; posted < 13; posted++)
		assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 8, posted), 0);
	assert_int_equal(iw_ddp_set_depth(f.d, 0, 3), 0); /* never shrinks */
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 8, posted), IW_E_FULL);
	f.mem.fail_from = f.mem.calls + 1;
	assert_int_equal(iw_ddp_set_depth(f.d, 0, 20), IW_E_NOMEM);
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 8, posted), IW_E_FULL);
	f.mem.fail_from = 0;
	assert_int_equal(iw_ddp_set_depth(f.d, 0, 20), 0);
	for (; posted < 25; posted++)
		assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 8, posted), 0);
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 8, posted), IW_E_FULL);
	assert_int_equal(iw_ddp_set_depth(f.d, 0, 21), 0); /* the ring is large enough */
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 8, posted++), 0);
	for (; next < posted; next++)
		assert_int_equal(receive(&f, 0, 1), next);
	assert_int_equal(iw_ddp_set_depth(f.d, 4, 1), IW_E_INVAL);
	assert_int_equal(iw_ddp_set_depth(f.d, 0, IW_DDP_DEPTH_MAX + 1), IW_E_INVAL);
	fixture_fini(&f);
}

/* DDP-87 */
static void depth_makes_a_queue_valid(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 0);
	assert_int_equal(iw_ddp_post(f.d, 3, area_at(&f.area, 0), 8, 9), IW_E_INVAL);
	assert_int_equal(iw_ddp_set_depth(f.d, 3, 1), 0);
	assert_int_equal(iw_ddp_post(f.d, 3, area_at(&f.area, 0), 8, 9), 0);
	assert_int_equal(receive(&f, 3, 8), 9);
	fixture_fini(&f);
}

static void depth_need_not_be_a_power_of_two(void **state)
{
	struct fixture f;
	uint64_t next = 0, posted = 0;

	(void)state;
	fixture_init(&f, 0);
	assert_int_equal(iw_ddp_set_depth(f.d, 3, 3), 0);
	while (next < 30) {
		for (; posted < next + 3; posted++)
			assert_int_equal(iw_ddp_post(f.d, 3, area_at(&f.area, 0), 8, posted), 0);
		assert_int_equal(iw_ddp_post(f.d, 3, area_at(&f.area, 0), 8, 0), IW_E_FULL);
		for (size_t k = 1 + next % 3; k > 0; k--, next++)
			assert_int_equal(receive(&f, 3, 1), next);
	}
	fixture_fini(&f);
}

static void skipped_msn_leaves_the_buffers_to_later_messages(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 0);
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 8, 1), 0);
	iw_ddp_skip_msn(f.d, 0);
	assert_int_equal(iw_ddp_next_msn(f.d, 0), 2);
	assert_int_equal(iw_ddp_posted(f.d, 0), 1);
	assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 8, 2), 0);
	assert_int_equal(receive(&f, 0, 8), 1);
	assert_int_equal(receive(&f, 0, 8), 2);
	assert_int_equal(place(&f, untagged(0, 1, 0, true), f.area.model, 1), IW_E_DDP_MSN);
	fixture_fini(&f);
}

static void buffers_are_withdrawn_oldest_first_and_then_sends_are_rejected(void **state)
{
	struct fixture f;
	struct iw_ddp h = untagged(0, 2, 0, true);
	struct iw_ddp_msg m;
	uint64_t cookie = 0;

	(void)state;
	fixture_init(&f, 0);
	for (uint64_t i = 1; i <= 4; i++)
		assert_int_equal(iw_ddp_post(f.d, 0, area_at(&f.area, 0), 8, i), 0);
	assert_int_equal(receive(&f, 0, 8), 1);
	/* The message is complete, but the stream is flushed before it is delivered. */
	assert_int_equal(place(&f, h, f.area.model, 8), 0);
	assert_int_equal(iw_ddp_arrive(f.d, iw_ddp_next_seq(f.d), &h, 8, &f.why), 0);
	for (uint64_t i = 2; i <= 4; i++) {
		assert_true(iw_ddp_unpost(f.d, 0, &cookie));
		assert_int_equal(cookie, i);
	}
	assert_false(iw_ddp_unpost(f.d, 0, &cookie));
	assert_false(iw_ddp_unpost(f.d, 3, &cookie));
	assert_false(iw_ddp_unpost(f.d, 99, &cookie));
	assert_true(f.d->failed);
	assert_int_equal(iw_ddp_deliver(f.d, &m, &f.why), 0);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_serve_msns_from_1_on_in_the_order_of_posting),
		cmocka_unit_test(queue_takes_its_depth_and_no_more),
		cmocka_unit_test(msn_wraps_from_ffffffff_to_0),
		cmocka_unit_test(queue_grows_without_losing_posted_entries),
		cmocka_unit_test(depth_makes_a_queue_valid),
		cmocka_unit_test(depth_need_not_be_a_power_of_two),
		cmocka_unit_test(skipped_msn_leaves_the_buffers_to_later_messages),
		cmocka_unit_test(buffers_are_withdrawn_oldest_first_and_then_sends_are_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
