// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "loop/near.h"

#include "util/num.h"

bool iw_near_begin(struct iw_near *n, uint64_t ns)
{
	bool is_near = n->was_short && n->octets <= IW_NEAR_OCTETS;

	n->in_row = is_near ? IW_MIN(n->in_row + 1, (unsigned)IW_NEAR_AFTER) : 0;
	n->was_short = false;
	n->octets = 0;
	if (!n->allowed || n->in_row < IW_NEAR_AFTER || ns <= IW_NEAR_NS)
		return false;
	if (n->skip > 0) {
		n->skip--;
		return false;
	}
	return true;
}

void iw_near_polled(struct iw_near *n, unsigned tries, bool found)
{
	if (found && tries > 1)
		n->skip_next = 0;
	if (found)
		return;
	n->skip_next = IW_MIN(2 * n->skip_next + 1, (unsigned)IW_NEAR_SKIP_MAX);
	n->skip = n->skip_next;
}

void iw_near_end(struct iw_near *n, uint64_t ns, bool found)
{
	n->was_short = found && ns < IW_NEAR_NS;
}
