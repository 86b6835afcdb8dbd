// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Requests with any bit set, octet for octet; recognizes known contents of Private Data. */
#include "mpa-probe/ask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mpa/mpa.h"

static void encodes_to(const struct iw_ask *a, const void *octets, size_t len)
{
	uint8_t out[IW_ASK_MAX];

	assert_int_equal(iw_ask_encode(out, a), len);
	assert_memory_equal(out, octets, len);
}

static void request_of_rev_1_is_20_octets(void **state)
{
	(void)state;
	encodes_to(&(struct iw_ask){ .rev = 1, .crc = true }, "MPA ID Req Frame\x40\x01\x00\x00",
		   20);
}

static void request_of_rev_2_has_its_flags_ird_ord_and_forms(void **state)
{
	(void)state;
	/* IRD 32 ORD 1, A and D */
	encodes_to(&(struct iw_ask){ .rev = 2,
				     .crc = true,
				     .enhanced = true,
				     .peer_to_peer = true,
				     .rtr = IW_RTR_READ,
				     .ird = 32,
				     .ord = 1 },
		   "MPA ID Req Frame\x50\x02\x00\x04\x80\x20\x40\x01", 24);
	/* M, reserved bits, B and C; the largest ORD */
	encodes_to(&(struct iw_ask){ .rev = 2,
				     .markers = true,
				     .reserved = 0x07,
				     .enhanced = true,
				     .peer_to_peer = true,
				     .rtr = IW_RTR_SEND | IW_RTR_WRITE,
				     .ird = 1,
				     .ord = 0x3fff },
		   "MPA ID Req Frame\x97\x02\x00\x04\xc0\x01\xbf\xff", 24);
}

static void requests_that_no_engine_sends_are_encoded(void **state)
{
	(void)state;
	/* An undefined revision; S in revision 0. */
	encodes_to(&(struct iw_ask){ .rev = 255 }, "MPA ID Req Frame\x00\xff\x00\x00", 20);
	encodes_to(&(struct iw_ask){ .rev = 0, .enhanced = true, .reserved = 0x0f },
		   "MPA ID Req Frame\x1f\x00\x00\x04\x00\x00\x00\x00", 24);
}

static void reserved_sets_only_reserved_bits(void **state)
{
	(void)state;
	encodes_to(&(struct iw_ask){ .rev = 1, .reserved = 0xff },
		   "MPA ID Req Frame\x0f\x01\x00\x00", 20);
}

static void block_is_between_enhanced_data_and_private_data(void **state)
{
	const uint8_t pd[] = { 'x', 'y' };
	uint8_t out[IW_ASK_MAX];
	uint32_t ulpdu = 0;
	struct iw_ask a = { .rev = 2, .enhanced = true, .block = 64768, .pd = pd, .pd_len = 2 };

	(void)state;
	assert_int_equal(iw_ask_encode(out, &a), 20 + 4 + 8 + 2);
	assert_memory_equal(out + 18, "\x00\x0e", 2);
	assert_memory_equal(out + 24, "iwL\x01\x00\x00\xfd\x00xy", 10);
	assert_true(iw_ask_is_block(out + 24, 10, &ulpdu));
	assert_int_equal(ulpdu, 64768);
	assert_false(iw_ask_is_block(out + 24, 7, &ulpdu));
	assert_false(iw_ask_is_block((const uint8_t *)"iwL\x02\x00\x00\xfd\x00", 8, &ulpdu));
}

static void private_data_that_does_not_fit_is_cut(void **state)
{
	uint8_t pd[600], out[IW_ASK_MAX];
	struct iw_ask a = {
		.rev = 2, .enhanced = true, .block = 1, .pd = pd, .pd_len = sizeof(pd)
	};

	(void)state;
	memset(pd, 0xee, sizeof(pd));
	assert_int_equal(iw_ask_encode(out, &a), IW_ASK_MAX);
	assert_memory_equal(out + 18, "\x02\x00", 2);
}

static void header_of_smb_direct_is_reported_in_both_orders(void **state)
{
	uint8_t pd[IW_SMBD_LEN];
	uint32_t ird = 0, ord = 0;

	(void)state;
	iw_smbd_encode(pd, 16, 1);
	assert_memory_equal(pd, "\x00\x00\x00\x10\x00\x00\x00\x01", 8);
	assert_int_equal(iw_smbd_decode(pd, 8, &ird, &ord), IW_SMBD_BIG);
	assert_int_equal(ird, 16);
	assert_int_equal(ord, 1);
	assert_int_equal(iw_smbd_decode((const uint8_t *)"\x20\x00\x00\x00\x02\x00\x00\x00", 8,
					&ird, &ord),
			 IW_SMBD_LITTLE);
	assert_int_equal(ird, 32);
	assert_int_equal(ord, 2);
}

static void other_private_data_is_not_this_header(void **state)
{
	uint32_t ird, ord;

	(void)state;
	assert_int_equal(iw_smbd_decode((const uint8_t *)"\x00\x00\x00\x10\x00\x00\x00\x01", 7,
					&ird, &ord),
			 IW_SMBD_NONE);
	assert_int_equal(iw_smbd_decode((const uint8_t *)"\x00\x00\x00\x10\x00\x00\x00\x00", 8,
					&ird, &ord),
			 IW_SMBD_NONE);
	assert_int_equal(iw_smbd_decode((const uint8_t *)"ddp-transfer", 12, &ird, &ord),
			 IW_SMBD_NONE);
}

static void line_names_the_request(void **state)
{
	char line[200];
	struct iw_text t;

	(void)state;
	iw_text_init(&t, line, sizeof(line));
	iw_ask_print(&t, &(struct iw_ask){ .rev = 2,
					   .crc = true,
					   .enhanced = true,
					   .peer_to_peer = true,
					   .rtr = IW_RTR_ALL,
					   .ird = 16,
					   .ord = 8 });
	assert_string_equal(line, "Rev 2 C=1 M=0 peer-to-peer RTR Send Write Read IRD 16 ORD 8");
	iw_text_init(&t, line, sizeof(line));
	iw_ask_print(&t, &(struct iw_ask){ .rev = 2, .markers = true, .reserved = 7, .pd_len = 3 });
	assert_string_equal(line, "Rev 2 C=0 M=1 reserved 0x07 not enhanced Private Data 3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_of_rev_1_is_20_octets),
		cmocka_unit_test(request_of_rev_2_has_its_flags_ird_ord_and_forms),
		cmocka_unit_test(requests_that_no_engine_sends_are_encoded),
		cmocka_unit_test(reserved_sets_only_reserved_bits),
		cmocka_unit_test(block_is_between_enhanced_data_and_private_data),
		cmocka_unit_test(private_data_that_does_not_fit_is_cut),
		cmocka_unit_test(header_of_smb_direct_is_reported_in_both_orders),
		cmocka_unit_test(other_private_data_is_not_this_header),
		cmocka_unit_test(line_names_the_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
