// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Claims in Private Data: decoding returns what was encoded, and rejects everything else. */
#include "stag-reg/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cbor/cbor.h"
#include "util/num.h"

static const struct iw_claim samples[] = {
	{ .form = IW_CLAIM_REQUEST,
	  .version_max = 1,
	  .version_min = 1,
	  .stag = UINT32_MAX,
	  .key = { .set = true, .octets = "fifteen octets!" } },
	{ .form = IW_CLAIM_REQUEST, .version_max = 1, .version_min = 1, .stag = 1 },
	{ .form = IW_CLAIM_REQUEST, .version_max = 7, .version_min = 2 },
	{ .form = IW_CLAIM_ACCEPT,
	  .version_max = 1,
	  .version_min = 1,
	  .to = UINT64_MAX - 5,
	  .len = 5,
	  .rights = 3 },
	{ .form = IW_CLAIM_REJECT,
	  .version_max = 1,
	  .version_min = 1,
	  .code = IW_XFER_CODE_REFUSED,
	  .text = "no" },
};

static bool is_reply(const struct iw_claim *c)
{
	return c->form != IW_CLAIM_REQUEST;
}

/* APP-01, APP-06 */
static void claim_decodes_to_what_was_encoded(void **state)
{
	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(samples); i++) {
		const struct iw_claim *c = &samples[i];
		uint8_t pd[IW_XFER_PD_MAX];
		struct iw_claim back;
		struct iw_fault why;
		size_t len = iw_claim_encode(pd, c);

		assert_true(iw_claim_is(pd, len));
		if (iw_claim_speaks(c) || is_reply(c)) {
			assert_int_equal(iw_claim_decode(&back, is_reply(c), pd, len, &why), 0);
			assert_memory_equal(&back, c, sizeof(back));
		} else {
			/* Only the versions are decoded. */
			assert_int_equal(iw_claim_decode(&back, false, pd, len, &why), 0);
			assert_int_equal(back.version_min, 2);
			assert_false(iw_claim_speaks(&back));
		}
		for (size_t cut = 0; cut < len; cut++) {
			assert_false(iw_claim_is(pd, cut));
			assert_true(iw_claim_decode(&back, is_reply(c), pd, cut, &why) < 0);
		}
	}
}

/* The Private Data of a transfer, or of another program, is not a claim. */
static void other_private_data_is_not_a_claim(void **state)
{
	struct iw_hello h = { .major_max = 1,
			      .major_min = 1,
			      .role = IW_XFER_SOURCE,
			      .mode = IW_XFER_WRITE,
			      .recvs = 2,
			      .recv_size = 4096,
			      .files = 1,
			      .ranges = 1 };
	uint8_t pd[IW_XFER_PD_MAX];
	struct iw_claim c;
	struct iw_fault why;
	size_t len = iw_hello_encode(pd, &h);

	(void)state;
	assert_false(iw_claim_is(pd, len));
	assert_int_equal(iw_claim_decode(&c, false, pd, len, &why), IW_E_FORMAT);
	assert_false(iw_claim_is(NULL, 0));
	assert_false(iw_claim_is((const uint8_t *)"rping", 5));
	len = iw_claim_encode(pd, &samples[0]);
	assert_int_equal(iw_hello_decode(&h, pd, len, &why), IW_E_FORMAT);
}

/* Each breaks one rule. */
static void claims_against_the_rules_are_refused(void **state)
{
	static const struct {
		struct iw_claim c;
		bool as_reply;
		int err;
	} bad[] = {
		{ { .form = IW_CLAIM_ACCEPT, .version_max = 1, .version_min = 1, .rights = 0 },
		  true,
		  IW_E_FORMAT },
		{ { .form = IW_CLAIM_ACCEPT, .version_max = 1, .version_min = 1, .rights = 4 },
		  true,
		  IW_E_LIMIT },
		{ { .form = IW_CLAIM_ACCEPT,
		    .version_max = 1,
		    .version_min = 1,
		    .to = 2,
		    .len = UINT64_MAX - 1,
		    .rights = 1 },
		  true,
		  IW_E_LIMIT },
		{ { .form = IW_CLAIM_ACCEPT, .version_max = 2, .version_min = 2, .rights = 1 },
		  true,
		  IW_E_FORMAT },
		{ { .form = IW_CLAIM_REQUEST, .version_max = 1, .version_min = 2 },
		  false,
		  IW_E_LIMIT },
		{ { .form = IW_CLAIM_REJECT, .version_max = 1, .version_min = 1, .code = 0 },
		  true,
		  IW_E_FORMAT },
		/* A Request where a Reply is expected, and vice versa. */
		{ { .form = IW_CLAIM_REQUEST, .version_max = 1, .version_min = 1, .stag = 1 },
		  true,
		  IW_E_FORMAT },
		{ { .form = IW_CLAIM_ACCEPT, .version_max = 1, .version_min = 1, .rights = 1 },
		  false,
		  IW_E_FORMAT },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(bad); i++) {
		uint8_t pd[IW_XFER_PD_MAX];
		struct iw_fault why = { 0 };
		struct iw_claim back;
		size_t len = iw_claim_encode(pd, &bad[i].c);

		if (iw_claim_decode(&back, bad[i].as_reply, pd, len, &why) != bad[i].err)
			fail_msg("case %zu: %s: %s", i, iw_err_name(why.err), why.text);
		assert_true(why.text[0]);
	}
}

/* SEC-09 */
static void only_the_key_itself_fits(void **state)
{
	struct iw_claim_key lock = samples[0].key, key = lock, none = { 0 };

	(void)state;
	assert_true(iw_claim_key_fits(&lock, &key));
	for (size_t i = 0; i < IW_CLAIM_KEY_LEN; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			key.octets[i] ^= (uint8_t)(1u << bit);
			assert_false(iw_claim_key_fits(&lock, &key));
			key.octets[i] ^= (uint8_t)(1u << bit);
		}
	key.set = false;
	assert_false(iw_claim_key_fits(&lock, &key));
	assert_true(iw_claim_key_fits(&none, &key));
	assert_true(iw_claim_key_fits(&none, &lock));
}

static void a_long_reason_is_cut_between_characters(void **state)
{
	char text[400];
	struct iw_claim c, back;
	uint8_t pd[IW_XFER_PD_MAX];
	struct iw_fault why;
	size_t len;

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa4", 2); /* a umlaut */
	text[sizeof(text) - 2] = '\0';
	iw_claim_reject(&c, IW_XFER_CODE_REFUSED, text);
	len = iw_claim_encode(pd, &c);
	assert_true(len <= IW_XFER_PD_MAX);
	assert_int_equal(iw_claim_decode(&back, true, pd, len, &why), 0);
	assert_int_equal(strlen(back.text) % 2, 0);
	assert_int_equal((uint8_t)back.text[strlen(back.text) - 1], 0xa4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claim_decodes_to_what_was_encoded),
		cmocka_unit_test(other_private_data_is_not_a_claim),
		cmocka_unit_test(claims_against_the_rules_are_refused),
		cmocka_unit_test(only_the_key_itself_fits),
		cmocka_unit_test(a_long_reason_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
