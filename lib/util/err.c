// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The list of errors as a table: name, text, clause and Terminate triplet of each. */
#include <iwarp/err.h>

struct row {
	const char *name;
	uint32_t term;
	const char *clause;
	const char *text;
};

/* Row i describes the error -i. */
/* clang-format off */
static const struct row rows[IW_ERR_COUNT_] = {
	{ "OK", IW_NOTERM, "", "success" },
#define IW_X_(name, term, clause, text) { #name, term, clause, text },
	IW_ERR_LIST(IW_X_)
#undef IW_X_
};
/* clang-format on */

static const struct row unknown = { "UNKNOWN", IW_NOTERM, "", "unknown error" };

static const struct row *row_of(int err)
{
	if (err > 0 || err <= -(int)IW_ERR_COUNT_)
		return &unknown;
	return &rows[-err];
}

const char *iw_err_name(int err)
{
	return row_of(err)->name;
}

const char *iw_err_text(int err)
{
	return row_of(err)->text;
}

const char *iw_err_clause(int err)
{
	return row_of(err)->clause;
}

uint32_t iw_err_term(int err)
{
	return row_of(err)->term;
}

int iw_err_from_term(uint32_t term)
{
	if (term == IW_NOTERM)
		return IW_E_PEER_TERMINATE;
	/* RFC 5040 figure 9: the code of an RDMAP Local Catastrophic Error has no meaning. */
	if (IW_TERM_LAYER(term) == 0 && IW_TERM_ETYPE(term) == 0)
		return IW_E_RDMAP_LOCAL;
	for (int i = 1; i < (int)IW_ERR_COUNT_; i++)
		if (rows[i].term == term)
			return -i;
	return IW_E_PEER_TERMINATE;
}
