// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The phases of one direction of a TCP connection, from the search for an MPA key to full
 * operation. */
#include "ddp-dump/internal.h"

#include <assert.h>

const char *iw_cap_phase_text(enum phase p)
{
	static const char *const text[PHASE_COUNT] = {
#define IW_X_(name, what) [PHASE_##name] = what,
		PHASE_LIST(IW_X_)
#undef IW_X_
	};

	return text[p];
}

#define TO(p) (1u << PHASE_##p)

void iw_cap_set_phase(struct dir *s, enum phase to)
{
	static const unsigned allowed[PHASE_COUNT] = {
		[PHASE_SEARCH] = TO(SEARCH) | TO(FRAME) | TO(FIRST) | TO(RESYNC) | TO(PLAIN),
		[PHASE_FRAME] = TO(SEARCH) | TO(WAIT) | TO(PLAIN),
		[PHASE_WAIT] = TO(SEARCH) | TO(FIRST) | TO(RESYNC) | TO(PLAIN),
		[PHASE_FIRST] = TO(FPDU) | TO(RESYNC) | TO(PLAIN),
		[PHASE_FPDU] = TO(RESYNC) | TO(PLAIN),
		[PHASE_RESYNC] = TO(RESYNC) | TO(FPDU) | TO(PLAIN),
		[PHASE_PLAIN] = TO(SEARCH) | TO(PLAIN),
	};

	assert(allowed[s->phase] & 1u << to);
	(void)allowed;
	s->phase = to;
}
