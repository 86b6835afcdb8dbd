// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The association: adaptation indication, numbers of streams, sizes of segments, many sessions. */
#include "sctpmap/sctpmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sctpmap_end.h"

static struct map_end act, pas;

static int peer_says(struct map_end *e, bool indicated, uint32_t adaptation, struct iw_fault *why)
{
	return iw_sctpmap_up(e->a, &(struct iw_sctpmap_peer){ indicated, adaptation, 10, 10, 0 },
			     why);
}

/* SCTP-03, SCTP-40, SCTP-64, SCTP-65, SCTP-66: the table of RFC 5043 11.1 */
static void ddp_is_spoken_only_where_the_peer_indicates_it(void **state)
{
	struct iw_dss_segment seg;
	struct iw_fault why;

	(void)state;
	map_end_init(&act, true, 10, 0, NULL);
	assert_int_equal(peer_says(&act, false, 1, &why), IW_E_DSS_NODDP);
	assert_string_equal(why.clause, "RFC 5043 11.1");
	assert_int_equal(peer_says(&act, true, 0, &why), IW_E_DSS_NODDP);
	assert_int_equal(peer_says(&act, true, 2, &why), IW_E_DSS_NODDP);
	assert_int_equal(peer_says(&act, true, 0x01000000, &why), IW_E_DSS_NODDP);
	assert_null(iw_sctpmap_receive(act.a, 0, 17, (const uint8_t *)"\0\0\0\1", 4, &seg));
	map_end_flush(&act);
	assert_int_equal(act.nline, 0);
	assert_int_equal(peer_says(&act, true, 1, &why), 0);
	map_end_fini(&act);
	/* SCTP-39, SCTP-63: the profile determines the adaptation indication. */
	assert_int_equal(iw_sctpmap_rfc.adaptation, 1);
	map_end_init(&act, true, 10, 0, iw_sctpmap_profile_find("sctp-draft-02"));
	assert_int_equal(peer_says(&act, true, 1, &why), IW_E_DSS_NODDP);
	assert_int_equal(peer_says(&act, true, 2, &why), 0);
	map_end_fini(&act);
}

static void profiles_are_found_by_name(void **state)
{
	(void)state;
	assert_ptr_equal(iw_sctpmap_profile_find("rfc"), &iw_sctpmap_rfc);
	assert_ptr_equal(iw_sctpmap_profile_find("sctp-draft-02"), &iw_sctpmap_draft_02);
	assert_null(iw_sctpmap_profile_find("draft"));
}

/* SCTP-47, SCTP-48, SCTP-49: a session uses streams with the same number in both directions, so the
 * smaller number of streams applies */
static void of_unequal_numbers_of_streams_the_smaller_applies(void **state)
{
	struct iw_dss *s[3];
	struct iw_dss_unit u;

	(void)state;
	map_end_init(&act, true, 10, 0, NULL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(iw_dss_initiate(&s[i], act.a, &(struct iw_offer){ 0 }, NULL), 0);
	map_end_flush(&act);
	assert_int_equal(act.nline, 0);
	assert_int_equal(map_end_up(&act, 2, 7), 0);
	assert_int_equal(iw_sctpmap_streams(act.a), 2);
	map_end_flush(&act);
	assert_int_equal(act.nline, 2);
	assert_true(iw_dss_next(s[2], &u));
	assert_int_equal(u.kind, IW_DSS_FAULT);
	assert_int_equal(u.why->err, IW_E_LIMIT);
	iw_dss_release(s[2]);
	assert_int_equal(iw_sctpmap_sessions(act.a), 2);
	assert_int_equal(iw_dss_initiate(&s[2], act.a, &(struct iw_offer){ 0 }, NULL), IW_E_LIMIT);
	map_end_fini(&act);
	map_end_init(&act, true, 4, 0, NULL);
	assert_int_equal(map_end_up(&act, 9, 9), 0);
	assert_int_equal(iw_sctpmap_streams(act.a), 4);
	map_end_fini(&act);
	map_end_init(&act, true, 10, 0, NULL);
	assert_int_equal(map_end_up(&act, 7, 2), 0);
	assert_int_equal(iw_sctpmap_streams(act.a), 2);
	map_end_fini(&act);
}

/* SCTP-50, SCTP-51: the space in a chunk, less the DDP-SSN, and never below 516 */
static void ddp_gets_the_largest_segment_size(void **state)
{
	(void)state;
	map_end_init(&act, true, 1, 0, NULL);
	assert_int_equal(iw_sctpmap_mulpdu(act.a), 516);
	iw_sctpmap_set_chunk(act.a, 1452);
	assert_int_equal(iw_sctpmap_mulpdu(act.a), 1450);
	iw_sctpmap_set_chunk(act.a, 519);
	assert_int_equal(iw_sctpmap_mulpdu(act.a), 517);
	iw_sctpmap_set_chunk(act.a, 200);
	assert_int_equal(iw_sctpmap_mulpdu(act.a), 516);
	iw_sctpmap_set_chunk(act.a, 0);
	assert_int_equal(iw_sctpmap_mulpdu(act.a), 516);
	map_end_fini(&act);
}

/* SCTP-47: sessions on their own streams, side by side; a thousand on one association */
static void a_thousand_sessions_run_at_the_same_time(void **state)
{
	enum { N = 1000 };
	struct iw_dss **a = calloc(N, sizeof(struct iw_dss *));
	struct iw_dss **p = calloc(N, sizeof(struct iw_dss *));

	(void)state;
	assert_non_null(a);
	assert_non_null(p);
	map_end_init(&act, true, N, N, NULL);
	map_end_init(&pas, false, N, N, NULL);
	assert_int_equal(map_end_up(&act, N, N), 0);
	assert_int_equal(map_end_up(&pas, N, N), 0);
	for (int i = 0; i < N; i++) {
		assert_int_equal(iw_dss_initiate(&a[i], act.a, &(struct iw_offer){ 0 }, NULL), 0);
		assert_int_equal(iw_dss_stream(a[i]), i);
		line_all(&act, &pas);
		p[i] = pas.last;
		assert_int_equal(iw_dss_accept(p[i], &(struct iw_offer){ 0 }, NULL), 0);
		line_all(&act, &pas);
		assert_int_equal(iw_dss_state(a[i]), IW_DSS_OPEN);
		act.ntold = pas.ntold = 0;
	}
	for (int i = N - 1; i >= 0; i--) {
		map_end_sends(&act, a[i], (uint8_t)i, 8);
		line_all(&act, &pas);
		assert_ptr_equal(pas.last, p[i]);
		assert_int_equal(pas.told[0].seq, 0);
		pas.ntold = 0;
	}
	for (int i = 0; i < N; i++) {
		iw_dss_release(a[i]);
		iw_dss_release(p[i]);
		line_all(&act, &pas);
	}
	assert_int_equal(iw_sctpmap_sessions(act.a) + iw_sctpmap_sessions(pas.a), 0);
	map_end_fini(&act);
	map_end_fini(&pas);
	free(a);
	free(p);
}

static void impossible_associations_are_refused(void **state)
{
	struct counting_mem mem;
	struct iw_sctpmap_cfg cfg = { .mem = &mem.mem };
	struct iw_sctpmap *a;

	(void)state;
	counting_mem_init(&mem);
	assert_int_equal(iw_sctpmap_new(&a, &cfg, NULL), IW_E_INVAL);
	cfg.streams = 1;
	for (size_t n = 1; n <= 2; n++) {
		mem.fail_from = mem.calls + n;
		assert_int_equal(iw_sctpmap_new(&a, &cfg, NULL), IW_E_NOMEM);
		assert_null(a);
	}
	assert_int_equal(mem.blocks, 0);
	iw_sctpmap_free(NULL);
	iw_dss_release(NULL);
}

static void states_have_names(void **state)
{
	(void)state;
	assert_string_equal(iw_dss_state_name(IW_DSS_INITIATING), "initiating");
	assert_string_equal(iw_dss_state_name(IW_DSS_ENDING), "ending");
	assert_string_equal(iw_dss_state_name((enum iw_dss_state)9), "unknown");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ddp_is_spoken_only_where_the_peer_indicates_it),
		cmocka_unit_test(profiles_are_found_by_name),
		cmocka_unit_test(of_unequal_numbers_of_streams_the_smaller_applies),
		cmocka_unit_test(ddp_gets_the_largest_segment_size),
		cmocka_unit_test(a_thousand_sessions_run_at_the_same_time),
		cmocka_unit_test(impossible_associations_are_refused),
		cmocka_unit_test(states_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
