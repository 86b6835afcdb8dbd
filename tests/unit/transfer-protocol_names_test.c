// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The names of --delete: names that may be removed, and names that were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"
#include "transfer-protocol_pair.h"
#include "transfer/protocol/internal.h"

#define NAMES 12000
#define CAP   (NAMES * 24 + 2 * 5000)

static struct xpair pair;
static char *listed, *got[2]; /* received by the source, by the sink; each name terminated by NUL */
static size_t listed_len, got_len[2];

static void note(struct xpair *p, bool source, const char *name, size_t len)
{
	size_t *n = &got_len[!source];

	(void)p;
	assert_true(*n + len + 1 <= CAP);
	memcpy(got[!source] + *n, name, len);
	got[!source][*n + len] = '\0';
	*n += len + 1;
}

static void put(const char *name)
{
	size_t len = strlen(name) + 1;

	memcpy(listed + listed_len, name, len);
	listed_len += len;
}

/*
 * The names have unusual octets. The longest one is first: it does not fit into the responder's
 * first receives.
 */
static int setup(void **state)
{
	char name[IW_XFER_NAME_MAX + 2];

	(void)state;
	listed = malloc(CAP);
	got[0] = malloc(CAP);
	got[1] = malloc(CAP);
	listed_len = got_len[0] = got_len[1] = 0;
	memset(name, 'n', sizeof(name));
	name[IW_XFER_NAME_MAX] = '\0';
	put(name);
	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "d/%u\n\t\xff\x80%c", i, (int)(1 + i % 255));
		put(name);
	}
	return listed && got[0] && got[1] ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(listed);
	free(got[0]);
	free(got[1]);
	return 0;
}

static void run(uint32_t opts, uint64_t seed)
{
	const struct xpair_opts o = { .mode = IW_XFER_WRITE,
				      .digest = IW_XFER_XXH3,
				      .seed = seed,
				      .opts = opts,
				      .listed = listed,
				      .listed_len = listed_len };

	xpair_init(&pair, &o);
	pair.on_name = note;
	pair.gone = listed;
	pair.gone_len = listed_len;
	xpair_add(&pair, IW_XFER_FILE, "f", 10);
	xpair_run(&pair);
	if (pair.source.fault.err || pair.sink.fault.err)
		fail_msg("source: %s; sink: %s", pair.source.fault.text, pair.sink.fault.text);
	assert_int_equal(pair.finals, 1);
	xpair_fini(&pair);
}

static void listed_names_arrive_before_the_end(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		got_len[0] = got_len[1] = 0;
		run(IW_XFER_OPT_DELETE | IW_XFER_OPT_LISTED, seed);
		assert_int_equal(got_len[0], 0);
		assert_int_equal(got_len[1], listed_len);
		assert_memory_equal(got[1], listed, listed_len);
	}
}

static void removed_names_reach_the_source(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		got_len[0] = got_len[1] = 0;
		run(IW_XFER_OPT_DELETE | IW_XFER_OPT_NAMES, seed);
		assert_int_equal(got_len[1], 0);
		assert_int_equal(got_len[0], listed_len);
		assert_memory_equal(got[0], listed, listed_len);
	}
}

static void without_the_options_no_names_are_sent(void **state)
{
	(void)state;
	run(IW_XFER_OPT_DELETE, 1);
	assert_int_equal(got_len[0] + got_len[1], 0);
}

static void a_name_too_long_for_the_protocol_is_left_out(void **state)
{
	char name[IW_XFER_NAME_MAX + 2];

	(void)state;
	listed_len = 0;
	memset(name, 'n', sizeof(name));
	name[IW_XFER_NAME_MAX + 1] = '\0';
	put("before");
	put(name);
	put("after");
	put(name);
	run(IW_XFER_OPT_DELETE | IW_XFER_OPT_NAMES, 1);
	assert_int_equal(got_len[0], sizeof("before") + sizeof("after"));
	assert_string_equal(got[0], "before");
	assert_string_equal(got[0] + sizeof("before"), "after");
}

/* --- messages that break the rules --- */

static size_t make(uint8_t *buf, size_t cap, enum iw_xfer_msg_type type, const char *name,
		   size_t len)
{
	struct iw_cbor_out o;
	size_t place;

	iw_cbor_out_init(&o, buf, cap);
	iw_cbor_map(&o, 3);
	iw_cbor_uint(&o, IW_XFER_KEY_TYPE);
	iw_cbor_uint(&o, type);
	iw_cbor_uint(&o, IW_XFER_KEY_CREDIT);
	iw_cbor_uint(&o, 1000);
	iw_cbor_uint(&o, IW_XFER_KEY_LIST);
	place = iw_cbor_array_begin(&o);
	if (name)
		iw_cbor_bytes(&o, name, len);
	iw_cbor_array_end(&o, place, name != NULL);
	assert_false(o.full);
	return o.len;
}

static size_t make_open(uint8_t *buf, size_t cap, uint32_t opts)
{
	const unsigned pairs[][2] = { { IW_XFER_KEY_TYPE, IW_XFER_MSG_OPEN },
				      { IW_XFER_KEY_CREDIT, 1000 },
				      { IW_XFER_KEY_OPTS, opts },
				      { IW_XFER_KEY_CONNS, 1 } };
	struct iw_cbor_out o;

	iw_cbor_out_init(&o, buf, cap);
	iw_cbor_map(&o, 5);
	for (size_t i = 0; i < IW_ARRAY_LEN(pairs); i++) {
		iw_cbor_uint(&o, pairs[i][0]);
		iw_cbor_uint(&o, pairs[i][1]);
	}
	iw_cbor_uint(&o, IW_XFER_KEY_PATH);
	iw_cbor_bytes(&o, "x", 1);
	return o.len;
}

static void assert_refused(uint32_t opts, bool to_source, const char *name, size_t len,
			   const char *why)
{
	const struct xpair_opts o = {
		.mode = IW_XFER_WRITE, .digest = IW_XFER_NONE, .seed = 1, .opts = opts
	};
	uint8_t msg[5000];
	struct xpair_side *victim;

	xpair_init(&pair, &o);
	pair.lone = true;
	pair.more_later = true;
	victim = to_source ? &pair.source : &pair.sink;
	if (!to_source)
		xpair_inject(&pair, victim, msg, make_open(msg, sizeof(msg), opts));
	xpair_act_all(&pair, victim);
	xpair_inject(&pair, victim, msg,
		     make(msg, sizeof(msg), to_source ? IW_XFER_MSG_GONE : IW_XFER_MSG_REMOVE, name,
			  len));
	xpair_act_all(&pair, victim);
	assert_true(victim->ended);
	if (!strstr(victim->fault.text, why))
		fail_msg("%s: expected %s", victim->fault.text, why);
	xpair_fini(&pair);
}

static void invalid_names_end_the_transfer(void **state)
{
	uint32_t opts = IW_XFER_OPT_DELETE | IW_XFER_OPT_LISTED;

	(void)state;
	assert_refused(IW_XFER_OPT_DELETE, false, "a", 1, "REMOVE without the option");
	assert_refused(opts, false, NULL, 0, "REMOVE without names");
	assert_refused(opts, false, "", 0, "a name of 0 octets");
	assert_refused(opts, false, "a\0b", 3, "NUL octet");
	assert_refused(opts | IW_XFER_OPT_NAMES, true, "a", 1, "GONE that was not requested");
}

static void inject_pairs(const unsigned (*pairs)[2], size_t n)
{
	uint8_t msg[64];
	struct iw_cbor_out o;

	iw_cbor_out_init(&o, msg, sizeof(msg));
	iw_cbor_map(&o, n);
	for (size_t i = 0; i < n; i++) {
		iw_cbor_uint(&o, pairs[i][0]);
		iw_cbor_uint(&o, pairs[i][1]);
	}
	xpair_inject(&pair, &pair.source, msg, o.len);
}

/* The driver may pass several messages before it performs an action. */
static void names_after_the_bye_of_the_sink_end_the_transfer(void **state)
{
	static const unsigned nop[][2] = { { IW_XFER_KEY_TYPE, IW_XFER_MSG_NOP },
					   { IW_XFER_KEY_CREDIT, 1000 } };
	static const unsigned bye[][2] = { { IW_XFER_KEY_TYPE, IW_XFER_MSG_BYE },
					   { IW_XFER_KEY_CREDIT, 1000 },
					   { IW_XFER_KEY_FILES, 0 },
					   { IW_XFER_KEY_FAILED, 0 } };
	const struct xpair_opts o = { .mode = IW_XFER_WRITE,
				      .digest = IW_XFER_NONE,
				      .seed = 1,
				      .opts = IW_XFER_OPT_DELETE | IW_XFER_OPT_NAMES };
	uint8_t msg[64];

	(void)state;
	xpair_init(&pair, &o);
	pair.lone = true;
	inject_pairs(nop, IW_ARRAY_LEN(nop));
	xpair_act_all(&pair, &pair.source);
	inject_pairs(bye, IW_ARRAY_LEN(bye));
	xpair_inject(&pair, &pair.source, msg, make(msg, sizeof(msg), IW_XFER_MSG_GONE, "a", 1));
	xpair_act_all(&pair, &pair.source);
	if (!strstr(pair.source.fault.text, "GONE that was not requested"))
		fail_msg("%s", pair.source.fault.text);
	xpair_fini(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(listed_names_arrive_before_the_end, setup,
						teardown),
		cmocka_unit_test_setup_teardown(removed_names_reach_the_source, setup, teardown),
		cmocka_unit_test_setup_teardown(without_the_options_no_names_are_sent, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_name_too_long_for_the_protocol_is_left_out, setup,
						teardown),
		cmocka_unit_test(invalid_names_end_the_transfer),
		cmocka_unit_test(names_after_the_bye_of_the_sink_end_the_transfer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
