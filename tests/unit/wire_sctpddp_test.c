// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The user data of DATA chunks that carry DDP. */
#include "wire/sctpddp.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "vectors/sctp.h"
#include "wire/ddp.h"

/*
 * The user data of a packet with a single DATA chunk, without its padding (RFC 9260 3.3.1).
 */
static struct vector user_data(const uint8_t *packet)
{
	size_t chunk_len = (size_t)packet[14] << 8 | packet[15];

	return (struct vector){ "", "", packet + SCTP_USER_DATA_POS, chunk_len - 16 };
}

/* SCTP-07: the function codes; ENH-19: those of RFC 6581. */
static void function_codes_have_the_names_of_the_rfcs(void **state)
{
	static const struct {
		uint16_t fn;
		const char *name;
	} rows[] = {
		{ 0, "unassigned" },      { 1, "Initiate" },        { 2, "Accept" },
		{ 3, "Reject" },          { 4, "Terminate" },       { 5, "Enhanced Initiate" },
		{ 6, "Enhanced Accept" }, { 7, "Enhanced Reject" }, { 8, "unassigned" },
		{ 0xffff, "unassigned" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(iw_wire_sctp_fn_name(rows[i].fn), rows[i].name);
}

static void control_message_is_ssn_function_code_and_private_data(void **state)
{
	struct vector u = user_data(sctp_initiate);
	struct iw_sctp_control c;

	(void)state;
	assert_int_equal(iw_wire_sctp_control_decode(&c, u.octets, u.len), 7);
	assert_int_equal(c.ssn, 0);
	assert_int_equal(c.fn, IW_SCTP_FN_INITIATE);
	assert_int_equal(c.pd_len, 3);
	assert_ptr_equal(c.pd, u.octets + 4);
	u = user_data(sctp_terminate);
	assert_int_equal(iw_wire_sctp_control_decode(&c, u.octets, u.len), 4);
	assert_int_equal(c.ssn, 2);
	assert_int_equal(c.fn, IW_SCTP_FN_TERMINATE);
	assert_int_equal(c.pd_len, 0);
	for (size_t len = 0; len < 4; len++)
		assert_int_equal(iw_wire_sctp_control_decode(&c, u.octets, len), 0);
}

static void segment_is_ssn_and_ddp_segment(void **state)
{
	struct vector u = user_data(sctp_segment);
	struct iw_ddp h;
	uint16_t ssn = 7;
	uint8_t out[2];

	(void)state;
	assert_int_equal(iw_wire_sctp_segment_decode(&ssn, u.octets, 0), 0);
	assert_int_equal(iw_wire_sctp_segment_decode(&ssn, u.octets, 1), 0);
	assert_int_equal(iw_wire_sctp_segment_decode(&ssn, u.octets, u.len), 2);
	assert_int_equal(ssn, 1);
	assert_int_equal(iw_wire_ddp_decode(&h, u.octets + 2, u.len - 2), IW_DDP_UNTAGGED_LEN);
	assert_int_equal(h.opcode, IW_OP_SEND);
	assert_int_equal(u.len - 2 - IW_DDP_UNTAGGED_LEN, 5);
	assert_int_equal(iw_wire_sctp_segment_encode(out, 1, 0xfffe), IW_E_INVAL);
	assert_int_equal(iw_wire_sctp_segment_encode(out, 2, 0xfffe), 2);
	assert_int_equal(iw_wire_sctp_segment_decode(&ssn, out, 2), 2);
	assert_int_equal(ssn, 0xfffe);
}

static void control_messages_decode_to_what_was_encoded(void **state)
{
	uint8_t in[600], out[600];
	struct rng r = { 30 };
	struct iw_sctp_control c;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t len = rng_below(&r, sizeof(in) + 1);
		uint8_t *exact = malloc(len ? len : 1);
		int n;

		assert_non_null(exact);
		rng_fill(&r, exact, len);
		n = iw_wire_sctp_control_decode(&c, exact, len);
		if (len < 4) {
			assert_int_equal(n, 0);
			assert_null(c.pd);
		} else {
			assert_int_equal(n, len);
			assert_int_equal(iw_wire_sctp_control_encode(out, sizeof(out), &c), n);
			assert_memory_equal(out, exact, len);
			assert_int_equal(iw_wire_sctp_control_encode(out, len - 1, &c), IW_E_INVAL);
		}
		free(exact);
	}
}

/* A length above INT_MAX is refused before any octet is copied. */
static void control_message_above_int_max_is_refused(void **state)
{
	uint8_t octets[8] = { 0 };
	struct iw_sctp_control c;

	(void)state;
	assert_int_equal(iw_wire_sctp_control_decode(&c, octets, (size_t)INT_MAX + 1), IW_E_INVAL);
	c = (struct iw_sctp_control){ .fn = 1, .pd = octets, .pd_len = (size_t)INT_MAX - 3 };
	assert_int_equal(iw_wire_sctp_control_encode(octets, SIZE_MAX, &c), IW_E_INVAL);
	c.pd_len = SIZE_MAX;
	assert_int_equal(iw_wire_sctp_control_encode(octets, sizeof(octets), &c), IW_E_INVAL);
	assert_int_equal(iw_wire_sctp_control_encode(octets, SIZE_MAX, &c), IW_E_INVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(function_codes_have_the_names_of_the_rfcs),
		cmocka_unit_test(control_message_is_ssn_function_code_and_private_data),
		cmocka_unit_test(segment_is_ssn_and_ddp_segment),
		cmocka_unit_test(control_messages_decode_to_what_was_encoded),
		cmocka_unit_test(control_message_above_int_max_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
