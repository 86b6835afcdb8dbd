// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The creation of a stream succeeds completely or leaves nothing behind. */
#include "ddp/ddp.h"

#include "ddp_fixture.h"

static void impossible_settings_are_refused(void **state)
{
	struct fixture f;
	struct iw_ddp_stream *d = NULL;
	struct iw_ddp_cfg good, cfg;

	(void)state;
	fixture_table(&f);
	good = fixture_cfg(&f, 0);
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		cfg = good;                                                                        \
		change;                                                                            \
		assert_int_equal(iw_ddp_new(&d, &cfg, &f.why), IW_E_INVAL);                        \
		assert_fault(&f, IW_E_INVAL);                                                      \
	} while (0)
	REFUSED(cfg.dv = 2);
	REFUSED(cfg.stream = 0);
	REFUSED(cfg.early_max = IW_DDP_DEPTH_MAX + 1);
	REFUSED(cfg.queue_depth[3] = IW_DDP_DEPTH_MAX + 1);
#undef REFUSED
	assert_null(d);
	fixture_fini(&f);
}

static void stream_cannot_be_created_without_memory(void **state)
{
	struct fixture f;
	struct iw_ddp_stream *d = NULL;
	struct iw_ddp_cfg cfg;
	size_t before, n;

	(void)state;
	fixture_table(&f);
	cfg = fixture_cfg(&f, 100);
	before = f.mem.blocks;
	/* The allocations: the stream, and a ring for each of three queues. */
	for (n = 1; n <= 4; n++) {
		f.mem.fail_from = f.mem.calls + n;
		assert_int_equal(iw_ddp_new(&d, &cfg, &f.why), IW_E_NOMEM);
		assert_fault(&f, IW_E_NOMEM);
		assert_int_equal(f.mem.blocks, before);
	}
	f.mem.fail_from = f.mem.calls + n;
	assert_int_equal(iw_ddp_new(&d, &cfg, &f.why), 0);
	iw_ddp_free(d);
	iw_ddp_free(NULL);
	fixture_fini(&f);
}

static void idle_stream_uses_little_memory(void **state)
{
	struct fixture f;
	size_t before;

	(void)state;
	fixture_table(&f);
	before = f.mem.bytes;
	{
		struct iw_ddp_cfg cfg = fixture_cfg(&f, 4096);

		assert_int_equal(iw_ddp_new(&f.d, &cfg, &f.why), 0);
	}
	assert_true(f.mem.bytes - before < 1024);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impossible_settings_are_refused),
		cmocka_unit_test(stream_cannot_be_created_without_memory),
		cmocka_unit_test(idle_stream_uses_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
