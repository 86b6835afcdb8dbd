// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The list of errors: names, texts, clauses and Terminate triplets. */
#include <iwarp/err.h>

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void each_error_has_its_own_name_and_a_text(void **state)
{
	(void)state;
	for (int i = 0; i < (int)IW_ERR_COUNT_; i++) {
		assert_true(strlen(iw_err_name(-i)) > 0);
		assert_true(strlen(iw_err_text(-i)) > 0);
		assert_non_null(iw_err_clause(-i));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(iw_err_name(-i), iw_err_name(-j));
	}
	assert_string_equal(iw_err_name(IW_OK), "OK");
	assert_string_equal(iw_err_name(IW_E_DDP_BOUNDS), "DDP_BOUNDS");
	assert_string_equal(iw_err_text(IW_E_DDP_BOUNDS), "base or bounds violation");
	assert_string_equal(iw_err_clause(IW_E_DDP_BOUNDS), "RFC 5041 7.1");
	assert_string_equal(iw_err_name(IW_E_NOMEM), "NOMEM");
	assert_string_equal(iw_err_clause(IW_E_NOMEM), "");
	assert_string_equal(iw_err_name(-((int)IW_ERR_COUNT_ - 1)), "TLS");
}

static void number_that_is_not_an_error_is_unknown(void **state)
{
	static const int none[] = { 1, 2, INT_MAX, INT_MIN, -(int)IW_ERR_COUNT_, -1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_string_equal(iw_err_name(none[i]), "UNKNOWN");
		assert_string_equal(iw_err_clause(none[i]), "");
		assert_non_null(iw_err_text(none[i]));
		assert_true(iw_err_term(none[i]) == IW_NOTERM);
	}
}

/*
 * DDP-106: the numbers of RFC 5041 7.2; RDMAP-07: those of RFC 5040 figure 9; MPA-50: RFC 5044 8.
 */
static void triplets_are_those_of_the_rfcs(void **state)
{
	static const struct {
		int err;
		unsigned layer, etype, code;
	} rows[] = {
		{ IW_E_MPA_LOST, 2, 0, 0x01 },      { IW_E_MPA_CRC, 2, 0, 0x02 },
		{ IW_E_MPA_MARKER, 2, 0, 0x03 },    { IW_E_MPA_FRAME, 2, 0, 0x04 },
		{ IW_E_MPA_LOCAL, 2, 0, 0x05 },     { IW_E_MPA_IRD, 2, 0, 0x06 },
		{ IW_E_MPA_RTR, 2, 0, 0x07 },       { IW_E_DDP_LOCAL, 1, 0, 0x00 },
		{ IW_E_DDP_STAG, 1, 1, 0x00 },      { IW_E_DDP_BOUNDS, 1, 1, 0x01 },
		{ IW_E_DDP_ASSOC, 1, 1, 0x02 },     { IW_E_DDP_WRAP, 1, 1, 0x03 },
		{ IW_E_DDP_VERSION_T, 1, 1, 0x04 }, { IW_E_DDP_QN, 1, 2, 0x01 },
		{ IW_E_DDP_NOBUF, 1, 2, 0x02 },     { IW_E_DDP_MSN, 1, 2, 0x03 },
		{ IW_E_DDP_MO, 1, 2, 0x04 },        { IW_E_DDP_TOOLONG, 1, 2, 0x05 },
		{ IW_E_DDP_VERSION_U, 1, 2, 0x06 }, { IW_E_RDMAP_LOCAL, 0, 0, 0x00 },
		{ IW_E_RP_STAG, 0, 1, 0x00 },       { IW_E_RP_BOUNDS, 0, 1, 0x01 },
		{ IW_E_RP_RIGHTS, 0, 1, 0x02 },     { IW_E_RP_ASSOC, 0, 1, 0x03 },
		{ IW_E_RP_WRAP, 0, 1, 0x04 },       { IW_E_RP_INVAL, 0, 1, 0x09 },
		{ IW_E_RP_UNSPEC, 0, 1, 0xff },     { IW_E_RO_VERSION, 0, 2, 0x05 },
		{ IW_E_RO_OPCODE, 0, 2, 0x06 },     { IW_E_RO_STREAM, 0, 2, 0x07 },
		{ IW_E_RO_GLOBAL, 0, 2, 0x08 },     { IW_E_RO_INVAL, 0, 2, 0x09 },
		{ IW_E_RO_UNSPEC, 0, 2, 0xff },
	};
	const size_t n = sizeof(rows) / sizeof(rows[0]);
	size_t with_term = 0;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		uint32_t term = iw_err_term(rows[i].err);

		assert_true(term != IW_NOTERM);
		assert_int_equal(IW_TERM_LAYER(term), rows[i].layer);
		assert_int_equal(IW_TERM_ETYPE(term), rows[i].etype);
		assert_int_equal(IW_TERM_CODE(term), rows[i].code);
		assert_int_equal(iw_err_from_term(term), rows[i].err);
	}
	for (int i = 0; i < (int)IW_ERR_COUNT_; i++)
		with_term += iw_err_term(-i) != IW_NOTERM;
	assert_int_equal(with_term, n);
}

static void unknown_triplet_is_a_terminate_of_the_peer(void **state)
{
	(void)state;
	assert_int_equal(iw_err_from_term(IW_NOTERM), IW_E_PEER_TERMINATE);
	assert_int_equal(iw_err_from_term(IW_TERM(1, 1, 0x7f)), IW_E_PEER_TERMINATE);
	assert_int_equal(iw_err_from_term(IW_TERM(15, 15, 0xff)), IW_E_PEER_TERMINATE);
	assert_int_equal(iw_err_from_term(IW_TERM(1, 0, 0x01)), IW_E_PEER_TERMINATE);
}

/* RFC 5040 figure 9: the code of this error is not used; Linux siw sends 0xff. */
static void rdmap_local_error_has_any_code(void **state)
{
	(void)state;
	for (unsigned code = 0; code <= 0xff; code++)
		assert_int_equal(iw_err_from_term(IW_TERM(0u, 0u, code)), IW_E_RDMAP_LOCAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_error_has_its_own_name_and_a_text),
		cmocka_unit_test(number_that_is_not_an_error_is_unknown),
		cmocka_unit_test(triplets_are_those_of_the_rfcs),
		cmocka_unit_test(unknown_triplet_is_a_terminate_of_the_peer),
		cmocka_unit_test(rdmap_local_error_has_any_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
