// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Private Data of the transfer protocol: encoding, negotiation, and the reasons of rejections. */
#include "transfer/protocol/hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cbor/cbor.h"
#include "util/num.h"

#define ALL_DIGESTS 7u

static struct iw_hello request(void)
{
	struct iw_hello h = { .major_max = IW_XFER_MAJOR,
			      .major_min = IW_XFER_MAJOR_MIN,
			      .role = IW_XFER_SOURCE,
			      .mode = IW_XFER_WRITE,
			      .digest = IW_XFER_XXH3,
			      .recvs = 16,
			      .recv_size = IW_XFER_MSG_MAX,
			      .files = 64,
			      .ranges = 128,
			      .patience_ms = 5,
			      .conn = 256,
			      .again = true };

	memset(h.id, 0x5a, sizeof(h.id));
	return h;
}

/* APP-01, APP-02, APP-06 */
static void request_and_reply_decode_to_what_was_encoded(void **state)
{
	struct iw_hello h = request(), back;
	uint8_t pd[IW_XFER_PD_MAX];
	struct iw_fault why;
	size_t len;

	(void)state;
	h.recvs = h.files = h.ranges = IW_XFER_FILES_MAX;
	h.recv_size = UINT32_MAX;
	len = iw_hello_encode(pd, &h);
	assert_true(len <= IW_XFER_PD_MAX);
	assert_int_equal(iw_hello_decode(&back, pd, len, &why), 0);
	assert_memory_equal(&back, &h, sizeof(h));
	for (size_t cut = 0; cut < len; cut++)
		assert_true(iw_hello_decode(&back, pd, cut, &why) < 0);
}

static void a_rejection_carries_its_reason_cut_between_characters(void **state)
{
	char text[300];
	struct iw_hello h, back;
	uint8_t pd[IW_XFER_PD_MAX];
	struct iw_fault why;
	size_t len;

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa4", 2); /* an a with umlaut */
	text[sizeof(text) - 2] = '\0';
	for (size_t skip = 0; skip < 2; skip++) {
		iw_hello_reject(&h, IW_XFER_CODE_REFUSED, text + skip * 2);
		h.text[0] = 'x'; /* now the characters start at odd offsets, or at even ones */
		if (skip)
			memmove(h.text, h.text + 1, strlen(h.text));
		len = iw_hello_encode(pd, &h);
		assert_true(len <= IW_XFER_PD_MAX);
		assert_int_equal(iw_hello_decode(&back, pd, len, &why), 0);
		assert_int_equal(back.code, IW_XFER_CODE_REFUSED);
		assert_int_equal((uint8_t)back.text[strlen(back.text) - 1], 0xa4);
		assert_int_equal(iw_hello_check(&back, &h, &why), IW_E_REJECTED);
	}
	iw_hello_reject(&h, IW_XFER_CODE_REFUSED, "");
	len = iw_hello_encode(pd, &h);
	assert_int_equal(iw_hello_decode(&back, pd, len, &why), 0);
	assert_int_equal(iw_hello_check(&back, &h, &why), IW_E_REJECTED);
	assert_string_equal(why.text, "the peer rejected the connection: refused");
}

static void the_answer_repeats_what_was_agreed(void **state)
{
	struct iw_hello h = request(), answer;
	struct iw_fault why;

	(void)state;
	h.major_max = 7; /* a newer peer that also supports this version */
	assert_int_equal(iw_hello_answer(&answer, &h, IW_XFER_SINK, ALL_DIGESTS, &why), 0);
	assert_int_equal(answer.major_max, IW_XFER_MAJOR);
	assert_int_equal(answer.major_min, IW_XFER_MAJOR);
	assert_int_equal(answer.role, IW_XFER_SINK);
	assert_int_equal(iw_hello_check(&answer, &h, &why), 0);
}

static void parameters_that_cannot_be_agreed_are_rejected_with_the_reason(void **state)
{
	struct iw_hello h, answer;
	struct iw_fault why;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		static const char *const texts[] = { "protocol versions 4 to 5", "to fetch files",
						     "transfer mode 9",          "digest sha256",
						     "digest unknown",           "cannot reject" };
		static const uint32_t codes[] = { IW_XFER_CODE_VERSION, IW_XFER_CODE_REFUSED,
						  IW_XFER_CODE_REFUSED, IW_XFER_CODE_REFUSED,
						  IW_XFER_CODE_REFUSED, IW_XFER_CODE_PROTOCOL };
		uint8_t pd[IW_XFER_PD_MAX];

		h = request();
		if (i == 0) {
			h.major_min = IW_XFER_MAJOR + 1;
			h.major_max = IW_XFER_MAJOR + 2;
		}
		if (i == 1)
			h.role = IW_XFER_SINK;
		if (i == 2)
			h.mode = 9;
		if (i == 3)
			h.digest = IW_XFER_SHA256;
		if (i == 4)
			h.digest = 77;
		if (i == 5)
			h.code = IW_XFER_CODE_IO;
		assert_int_equal(iw_hello_answer(&answer, &h, IW_XFER_SINK,
						 1u << IW_XFER_NONE | 1u << IW_XFER_XXH3, &why),
				 IW_E_REJECTED);
		assert_int_equal(answer.code, codes[i]);
		assert_non_null(strstr(answer.text, texts[i]));
		assert_non_null(strstr(why.text, texts[i]));
		assert_true(iw_hello_encode(pd, &answer) <= IW_XFER_PD_MAX);
	}
}

static void a_reply_that_does_not_fit_the_request_is_refused(void **state)
{
	struct iw_hello h = request(), answer;
	struct iw_fault why;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(iw_hello_answer(&answer, &h, IW_XFER_SINK, ALL_DIGESTS, &why), 0);
		if (i == 0)
			answer.role = IW_XFER_SOURCE;
		if (i == 1)
			answer.mode = IW_XFER_READ;
		if (i == 2)
			answer.digest = IW_XFER_NONE;
		if (i == 3)
			answer.id[3] ^= 1;
		if (i == 4)
			answer.major_max = answer.major_min = IW_XFER_MAJOR + 1;
		if (i == 5)
			answer.major_min = 0;
		assert_int_equal(iw_hello_check(&answer, &h, &why), IW_E_FORMAT);
	}
}

static void private_data_of_other_protocols_is_rejected(void **state)
{
	static const char other[] = "\xa1\x00\x6c"
				    "ddp-transfes";
	struct iw_hello h;
	struct iw_fault why;

	(void)state;
	assert_int_equal(iw_hello_decode(&h, (const uint8_t *)"", 0, &why), IW_E_FORMAT);
	assert_int_equal(iw_hello_decode(&h, (const uint8_t *)"rping", 5, &why), IW_E_FORMAT);
	assert_int_equal(iw_hello_decode(&h, (const uint8_t *)other, sizeof(other) - 1, &why),
			 IW_E_FORMAT);
	assert_non_null(strstr(why.text, "another protocol"));
}

/* SEC-30 */
static void numbers_out_of_range_are_refused(void **state)
{
	struct iw_hello h, back;
	struct iw_fault why;
	uint8_t pd[IW_XFER_PD_MAX];

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		h = request();
		if (i == 0)
			h.recvs = 1;
		if (i == 1)
			h.recv_size = 100;
		if (i == 2)
			h.files = 0;
		if (i == 3)
			h.ranges = IW_XFER_FILES_MAX + 1;
		if (i == 4)
			h.role = 0;
		if (i == 5)
			h.major_min = 5;
		assert_true(iw_hello_decode(&back, pd, iw_hello_encode(pd, &h), &why) < 0);
	}
}

/* A peer of another version may send anything after the versions. */
static void another_version_is_read_as_far_as_its_version(void **state)
{
	static const char octets[] = "\xa3\x00\x6c"
				     "ddp-transfer\x01\x05\x02\x04";
	struct iw_hello h, answer;
	struct iw_fault why;

	(void)state;
	assert_int_equal(iw_hello_decode(&h, (const uint8_t *)octets, sizeof(octets) - 1, &why), 0);
	assert_int_equal(h.major_max, 5);
	assert_int_equal(iw_hello_answer(&answer, &h, IW_XFER_SINK, ALL_DIGESTS, &why),
			 IW_E_REJECTED);
	assert_int_equal(answer.code, IW_XFER_CODE_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_and_reply_decode_to_what_was_encoded),
		cmocka_unit_test(a_rejection_carries_its_reason_cut_between_characters),
		cmocka_unit_test(the_answer_repeats_what_was_agreed),
		cmocka_unit_test(parameters_that_cannot_be_agreed_are_rejected_with_the_reason),
		cmocka_unit_test(a_reply_that_does_not_fit_the_request_is_refused),
		cmocka_unit_test(private_data_of_other_protocols_is_rejected),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(another_version_is_read_as_far_as_its_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
