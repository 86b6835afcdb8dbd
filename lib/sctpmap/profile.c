// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The editions of the mapping: RFC 5043 and draft 02. */
#include "sctpmap/sctpmap.h"

#include <string.h>

#include "sctpmap/internal.h"

const struct iw_sctpmap_profile iw_sctpmap_rfc = {
	.name = "rfc",
	.ppid_segment = IW_SCTP_PPID_SEGMENT,
	.ppid_control = IW_SCTP_PPID_CONTROL,
	.adaptation = IW_SCTP_ADAPTATION_DDP,
	.first_ssn = 0,
	.enhanced = true,
};

/* Adaptation Indication 2 of draft 02 is "DDP and RDMA"; 1 is DDP alone, which excludes RDMAP. */
const struct iw_sctpmap_profile iw_sctpmap_draft_02 = {
	.name = "sctp-draft-02",
	.ppid_segment = 1,
	.ppid_control = 2,
	.adaptation = IW_SCTP_ADAPTATION_DDP_RDMA_02,
	.first_ssn = 1,
	.enhanced = false,
};

const struct iw_sctpmap_profile *iw_sctpmap_profile_find(const char *name)
{
	static const struct iw_sctpmap_profile *const all[] = { &iw_sctpmap_rfc,
								&iw_sctpmap_draft_02 };

	for (size_t i = 0; i < IW_ARRAY_LEN(all); i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
}

bool iw_sctpmap_enhanced(const struct iw_sctpmap *a)
{
	return a->profile->enhanced && !a->cfg.plain;
}
