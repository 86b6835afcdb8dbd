// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The histogram of where FPDUs begin in TCP segments. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"

/* Sends of 10 octets: FPDUs of 36. */
static size_t build(uint8_t *p, uint32_t n)
{
	uint8_t ulpdu[64];
	size_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		len += make_fpdu(p + len, 0, false, false, ulpdu,
				 make_send(ulpdu, i + 1, 0, true, 10));
	return len;
}

static const struct iw_cap_align *histogram(struct maker *m)
{
	maker_finish(m);
	assert_int_equal(count_kind(m, IW_CAP_ALIGN), 1);
	return &nth(m, IW_CAP_ALIGN, 0)->ev.align;
}

static void fpdus_are_counted_by_offset_and_by_segments(void **state)
{
	const struct iw_cap_align *a;
	uint8_t p[400];
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	set_up(&m, 0, 0);
	assert_int_equal(build(p, 10), 360);
	say(&m, 0, p, 36);      /* 1: at 0 */
	say(&m, 0, p + 36, 72); /* 2: at 0, 3: at 36 */
	say(&m, 0, p + 108, 1); /* 4: at 0, in three segments */
	say(&m, 0, p + 109, 1);
	say(&m, 0, p + 110, 35);  /* and 5: at 34, in two */
	say(&m, 0, p + 145, 215); /* 6: at 35, 71, 107, 143, 179 */
	a = histogram(&m);
	assert_int_equal(a->fpdus, 10);
	assert_int_equal(a->offset[0], 3);
	assert_int_equal(a->offset[6], 3); /* 32 to 63 */
	assert_int_equal(a->offset[7], 2);
	assert_int_equal(a->offset[8], 2);
	assert_int_equal(a->segments[0], 8);
	assert_int_equal(a->segments[1], 1);
	assert_int_equal(a->segments[2], 1);
	assert_true(maker_fini(&m));
}

static void alignment_is_reported_only_on_request(void **state)
{
	struct iw_cap_cfg cfg = { .seed = 1 };
	uint8_t p[400];
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	iw_cap_free(m.cap);
	cfg.mem = &m.mem.mem;
	assert_int_equal(iw_cap_new(&m.cap, &cfg), 0);
	set_up(&m, 0, 0);
	say(&m, 0, p, build(p, 1));
	maker_finish(&m);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	assert_int_equal(count_kind(&m, IW_CAP_ALIGN), 0);
	assert_true(maker_fini(&m));
}

/* The offset counts from the start of the segment, not from its first new octet. */
static void an_overlap_does_not_move_the_start(void **state)
{
	const struct iw_cap_align *a;
	uint8_t p[400];
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	set_up(&m, 0, 0);
	(void)build(p, 2);
	(void)tcp(&m, 0, ACK, m.seq[0], m.seq[1], p, 36);
	(void)tcp(&m, 0, ACK, m.seq[0], m.seq[1], p, 72);
	a = histogram(&m);
	assert_int_equal(a->offset[0], 1);
	assert_int_equal(a->offset[6], 1);
	assert_true(maker_fini(&m));
}

static void histogram_omits_empty_rows(void **state)
{
	static const char *const want[] = {
		"         offset       FPDUs",
		"              0          30    75.0 %  ##############################",
		"        512-1023          10    25.0 %  ##########",
		"       segments       FPDUs",
		"              1          39    97.5 %  #######################################",
		"             8+           1     2.5 %  #",
	};
	struct iw_cap_align a = { .fpdus = 40 };
	unsigned at = 0;
	char line[200];
	struct iw_text t;

	(void)state;
	a.offset[0] = 30;
	a.offset[10] = 10;
	a.segments[0] = 39;
	a.segments[7] = 1;
	for (size_t i = 0; i <= IW_ARRAY_LEN(want); i++) {
		iw_text_init(&t, line, sizeof(line));
		if (!iw_cap_align_line(&a, &at, &t)) {
			assert_int_equal(i, IW_ARRAY_LEN(want));
			return;
		}
		/* numbers are aligned right */
		assert_string_equal(line + strspn(line, " "), want[i] + strspn(want[i], " "));
	}
	fail_msg("too many lines");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fpdus_are_counted_by_offset_and_by_segments),
		cmocka_unit_test(alignment_is_reported_only_on_request),
		cmocka_unit_test(an_overlap_does_not_move_the_start),
		cmocka_unit_test(histogram_omits_empty_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
