// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Decodes and encodes each field of Atomic Request and Atomic Response. */
#include "wire/atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* RFC 7306 figure 4, with distinct values in all fields. */
static const uint8_t request[IW_RDMAP_ATOMIC_REQ_LEN] = {
	0x12, 0x34, 0x56, 0x72,                         /* Reserved 0x1234567, AOpCode 2 */
	0x0a, 0x0b, 0x0c, 0x0d,                         /* Request Identifier */
	0x11, 0x12, 0x13, 0x14,                         /* Remote STag */
	0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, /* Remote TO */
	0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, /* Add or Swap Data */
	0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, /* Add or Swap Mask */
	0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, /* Compare Data */
	0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, /* Compare Mask */
};

/* RFC 7306 figure 6. */
static const uint8_t response[IW_RDMAP_ATOMIC_RSP_LEN] = {
	0x0a, 0x0b, 0x0c, 0x0d, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78,
};

static void a_request_has_its_fields_where_the_rfc_draws_them(void **state)
{
	uint8_t back[sizeof(request)];
	struct iw_atomic_req r;

	(void)state;
	assert_int_equal(iw_atomic_req_decode(&r, request, sizeof(request)), 52);
	assert_int_equal(r.rsvd, 0x1234567);
	assert_int_equal(r.op, IW_ATOMIC_CMP_SWAP);
	assert_int_equal(r.id, 0x0a0b0c0d);
	assert_int_equal(r.stag, 0x11121314);
	assert_true(r.to == 0x2122232425262728 && r.data == 0x3132333435363738);
	assert_true(r.mask == 0x4142434445464748 && r.compare == 0x5152535455565758);
	assert_true(r.compare_mask == 0x6162636465666768);
	assert_int_equal(iw_atomic_req_encode(back, sizeof(back), &r), 52);
	assert_memory_equal(back, request, sizeof(back));
	assert_int_equal(iw_atomic_req_encode(back, sizeof(back) - 1, &r), IW_E_INVAL);
	assert_int_equal(iw_atomic_req_decode(&r, request, sizeof(request) - 1), 0);
}

static void a_response_has_its_fields_where_the_rfc_draws_them(void **state)
{
	uint8_t back[sizeof(response)];
	struct iw_atomic_rsp r;

	(void)state;
	assert_int_equal(iw_atomic_rsp_decode(&r, response, sizeof(response)), 12);
	assert_int_equal(r.id, 0x0a0b0c0d);
	assert_true(r.value == 0x7172737475767778);
	assert_int_equal(iw_atomic_rsp_encode(back, sizeof(back), &r), 12);
	assert_memory_equal(back, response, sizeof(back));
	assert_int_equal(iw_atomic_rsp_encode(back, sizeof(back) - 1, &r), IW_E_INVAL);
	assert_int_equal(iw_atomic_rsp_decode(&r, response, sizeof(response) - 1), 0);
}

static const char *text_of(const struct iw_atomic_req *r)
{
	static char line[400];
	struct iw_text t;

	iw_text_init(&t, line, sizeof(line));
	iw_atomic_req_print(&t, r);
	return line;
}

static void a_line_names_data_and_mask_as_the_operation_does(void **state)
{
	struct iw_atomic_req r = { .id = 7, .stag = 1, .to = 16, .data = 5, .compare_mask = ~0ull };

	(void)state;
	assert_string_equal(text_of(&r), "FetchAdd Request Identifier 7 Remote STag 0x00000001"
					 " TO 0x10 Add Data 0x5 Add Mask 0x0");
	r.op = IW_ATOMIC_CMP_SWAP;
	r.compare = 9;
	assert_string_equal(text_of(&r),
			    "CmpSwap Request Identifier 7 Remote STag 0x00000001 TO 0x10"
			    " Swap Data 0x5 Swap Mask 0x0 Compare Data 0x9"
			    " Compare Mask 0xffffffffffffffff");
	r = (struct iw_atomic_req){ .op = 1, .rsvd = 3 };
	assert_string_equal(text_of(&r),
			    "unassigned AOpCode 1 Request Identifier 0 Remote STag 0x00000000"
			    " TO 0x0 Add Data 0x0 Add Mask 0x0 Compare Mask 0x0 Reserved 0x3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_has_its_fields_where_the_rfc_draws_them),
		cmocka_unit_test(a_response_has_its_fields_where_the_rfc_draws_them),
		cmocka_unit_test(a_line_names_data_and_mask_as_the_operation_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
