// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Fingerprints of implementations, and the search for the one that fits. */
#include "mpa-probe/identify.h"

#include <string.h>

#include "util/num.h"

static const struct {
	const char *key, *text, *not_text;
} fact_rows[IW_FACTS] = {
#define IW_X_(name, key, text, not_text) [IW_FACT_##name] = { key, text, not_text },
	IW_FACT_LIST(IW_X_)
#undef IW_X_
};

const char *iw_fact_name(enum iw_fact f)
{
	return f < IW_FACTS ? fact_rows[f].key : "?";
}

const char *iw_fact_text(enum iw_fact f, bool is)
{
	if (f >= IW_FACTS)
		return "?";
	return is ? fact_rows[f].text : fact_rows[f].not_text;
}

/* --- implementations --- */

/* Each row cites the sources of what is known about the implementation. */
static const struct {
	const char *name, *text;
} impls[IW_IMPLS] = {
	[IW_IMPL_UNKNOWN] = { "unknown", "no known implementation" },
	/* lib/mpa */
	[IW_IMPL_LIBIWARP] = { "libiwarp", "libiwarp (this library)" },
	/* observed on kernels 6.1 and 6.12; drivers/infiniband/sw/siw/siw_cm.c */
	[IW_IMPL_SIW] = { "siw", "Linux siw (software iWARP)" },
	/* drivers/infiniband/hw/cxgb4/cm.c; softiwarp issue 21 */
	[IW_IMPL_CHELSIO] = { "chelsio", "Chelsio T4 to T6 (Linux cxgb4)" },
	/* drivers/infiniband/hw/irdma/cm.c */
	[IW_IMPL_INTEL] = { "intel", "Intel X722 or E810 (Linux irdma)" },
	/* [MS-SMBD] 6.1; Wireshark 4.6 iwarp_mpa.legacy */
	[IW_IMPL_WINDOWS] = { "windows", "Windows SMB Direct over MPA Rev 1" },
	/* RFC 5044 7.1 */
	[IW_IMPL_PLAIN] = { "plain", "an RFC 5044 endpoint that supports only Rev 1" },
	/* draft-culley-iwarp-mpa-v1.0; RFC 5044 Appendix C.1 */
	[IW_IMPL_RDMAC] = { "rdmac", "an endpoint of the RDMA Consortium (use --profile rdmac)" },
};

const char *iw_impl_name(enum iw_impl i)
{
	return i < IW_IMPLS ? impls[i].name : "?";
}

const char *iw_impl_text(enum iw_impl i)
{
	return i < IW_IMPLS ? impls[i].text : "?";
}

/* --- the table --- */

/*
 * A fact with the value `is` adds its weight to the score of the implementation. The opposite value
 * subtracts the weight, and with `must` rules the implementation out. A fact that many
 * implementations share has a small weight.
 */
struct clue {
	enum iw_impl impl;
	enum iw_fact fact;
	enum iw_known is;
	unsigned weight;
	bool must;
};

/* clang-format off */
static const struct clue clues[] = {
	/*                  fact                     is     weight  rules out otherwise */
	{ IW_IMPL_LIBIWARP, IW_FACT_BLOCK,           IW_YES, 20, false },
	{ IW_IMPL_LIBIWARP, IW_FACT_OWN_TOOL,        IW_YES, 20, false },
	{ IW_IMPL_LIBIWARP, IW_FACT_ECHOES_RESERVED, IW_NO,   0, true  },
	{ IW_IMPL_LIBIWARP, IW_FACT_MARKERS_OBEYED,  IW_YES,  1, true  },
	{ IW_IMPL_LIBIWARP, IW_FACT_SMBD_HEADER,     IW_NO,   0, true  },
	{ IW_IMPL_LIBIWARP, IW_FACT_RTR_ALL,         IW_YES,  2, true  },
	{ IW_IMPL_LIBIWARP, IW_FACT_DEPTH_16,        IW_YES,  1, false },
	{ IW_IMPL_LIBIWARP, IW_FACT_C_ALWAYS,        IW_YES,  1, false },
	{ IW_IMPL_LIBIWARP, IW_FACT_REV0_ANSWERED_1, IW_YES,  1, false },

	{ IW_IMPL_SIW,      IW_FACT_ECHOES_RESERVED, IW_YES,  5, true  },
	{ IW_IMPL_SIW,      IW_FACT_MARKERS_REFUSED, IW_YES,  5, true  },
	{ IW_IMPL_SIW,      IW_FACT_C_FOLLOWS,       IW_YES,  1, true  },
	{ IW_IMPL_SIW,      IW_FACT_DEPTH_128,       IW_YES,  2, false },
	{ IW_IMPL_SIW,      IW_FACT_RTR_WRITE_ALONE, IW_YES,  2, true  },
	{ IW_IMPL_SIW,      IW_FACT_REV0_ACCEPTED,   IW_YES,  1, false },
	{ IW_IMPL_SIW,      IW_FACT_REV3_CLOSED,     IW_YES,  1, false },
	{ IW_IMPL_SIW,      IW_FACT_TERMINATE_ORDER, IW_YES,  2, false },
	{ IW_IMPL_SIW,      IW_FACT_FIRST_FPDU_LOST, IW_YES,  1, false },
	{ IW_IMPL_SIW,      IW_FACT_BLOCK,           IW_NO,   0, true  },

	{ IW_IMPL_CHELSIO,  IW_FACT_ECHOES_RESERVED, IW_NO,   1, true  },
	{ IW_IMPL_CHELSIO,  IW_FACT_C_ALWAYS,        IW_YES,  1, false },
	{ IW_IMPL_CHELSIO,  IW_FACT_MARKERS_OBEYED,  IW_YES,  1, true  },
	{ IW_IMPL_CHELSIO,  IW_FACT_DEPTH_32,        IW_YES,  3, false },
	{ IW_IMPL_CHELSIO,  IW_FACT_RTR_READ_ALONE,  IW_YES,  3, false },
	{ IW_IMPL_CHELSIO,  IW_FACT_RTR_ALL,         IW_NO,   0, true  },
	{ IW_IMPL_CHELSIO,  IW_FACT_NEEDS_P2P,       IW_NO,   0, true  },
	{ IW_IMPL_CHELSIO,  IW_FACT_REV3_RESET,      IW_YES,  2, false },
	{ IW_IMPL_CHELSIO,  IW_FACT_STAG0_FATAL,     IW_YES,  5, false },
	{ IW_IMPL_CHELSIO,  IW_FACT_REV0_ACCEPTED,   IW_YES,  1, false },
	{ IW_IMPL_CHELSIO,  IW_FACT_BLOCK,           IW_NO,   0, true  },

	{ IW_IMPL_INTEL,    IW_FACT_ECHOES_RESERVED, IW_NO,   1, true  },
	{ IW_IMPL_INTEL,    IW_FACT_NEEDS_P2P,       IW_YES,  6, true  },
	{ IW_IMPL_INTEL,    IW_FACT_RTR_READ_ALONE,  IW_YES,  2, true  },
	{ IW_IMPL_INTEL,    IW_FACT_REV3_RESET,      IW_YES,  1, false },
	{ IW_IMPL_INTEL,    IW_FACT_REV0_ACCEPTED,   IW_NO,   1, true  },
	{ IW_IMPL_INTEL,    IW_FACT_C_ALWAYS,        IW_YES,  1, true  },
	{ IW_IMPL_INTEL,    IW_FACT_BLOCK,           IW_NO,   0, true  },

	{ IW_IMPL_WINDOWS,  IW_FACT_SMBD_HEADER,     IW_YES,  8, true  },
	{ IW_IMPL_WINDOWS,  IW_FACT_REV1_ONLY,       IW_YES,  1, false },
	{ IW_IMPL_WINDOWS,  IW_FACT_ECHOES_RESERVED, IW_NO,   1, false },

	{ IW_IMPL_PLAIN,    IW_FACT_REV1_ONLY,       IW_YES,  4, true  },
	{ IW_IMPL_PLAIN,    IW_FACT_ECHOES_RESERVED, IW_NO,   1, true  },
	{ IW_IMPL_PLAIN,    IW_FACT_C_NEVER,         IW_YES,  1, false },
	{ IW_IMPL_PLAIN,    IW_FACT_MARKERS_OBEYED,  IW_YES,  1, false },
	{ IW_IMPL_PLAIN,    IW_FACT_SMBD_HEADER,     IW_NO,   0, true  },
	{ IW_IMPL_PLAIN,    IW_FACT_REPLY_REV0,      IW_NO,   0, true  },

	{ IW_IMPL_RDMAC,    IW_FACT_REPLY_REV0,      IW_YES, 10, true  },
};
/* clang-format on */

/* A lower score may be a coincidence. */
#define SCORE_LEAST 5

static void weigh(struct iw_verdict *v, enum iw_impl impl, const struct iw_facts *facts, bool *out)
{
	int score = 0;

	*v = (struct iw_verdict){ .impl = impl };
	*out = false;
	for (size_t i = 0; i < IW_ARRAY_LEN(clues); i++) {
		const struct clue *c = &clues[i];
		enum iw_known is = facts->is[c->fact];

		if (c->impl != impl || is == IW_NOT_KNOWN)
			continue;
		if (is == c->is) {
			score += (int)c->weight;
			if (c->weight)
				v->pro[v->npro++] = (struct iw_evidence){ c->fact, is == IW_YES };
			continue;
		}
		*out |= c->must;
		/*
		 * The lack of a block or of a tool's Private Data is no evidence: not every Reply
		 * has them.
		 */
		if (c->weight >= 20 || !c->weight)
			continue;
		score -= (int)c->weight;
		v->contra[v->ncontra++] = (struct iw_evidence){ c->fact, is == IW_YES };
	}
	v->score = score > 0 ? (unsigned)score : 0;
}

static void unknown(struct iw_verdict *v, const struct iw_facts *facts)
{
	*v = (struct iw_verdict){ .impl = IW_IMPL_UNKNOWN };
	for (int i = 0; i < IW_FACTS; i++)
		if (facts->is[i] == IW_YES)
			v->pro[v->npro++] = (struct iw_evidence){ (enum iw_fact)i, true };
}

void iw_identify(struct iw_verdict *out, const struct iw_facts *facts)
{
	struct iw_verdict best, v;
	bool tie = false, ruled_out;

	memset(&best, 0, sizeof(best));
	for (int i = IW_IMPL_UNKNOWN + 1; i < IW_IMPLS; i++) {
		weigh(&v, (enum iw_impl)i, facts, &ruled_out);
		if (ruled_out || v.score < SCORE_LEAST || v.score < best.score)
			continue;
		tie = v.score == best.score;
		best = v;
	}
	if (best.impl == IW_IMPL_UNKNOWN || tie)
		unknown(out, facts);
	else
		*out = best;
}
