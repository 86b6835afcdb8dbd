/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fault.h"

#include <stdbool.h>
#include <string.h>

/* What an end has sent so far. Add what your checks need. */
struct side {
	uint32_t msn[3]; /* by QN: the MSN of the next message */
};

struct state {
	enum transport over;
	struct side side[2]; /* by enum end */
};

/* A Request or Reply (TCP), or a session control message (SCTP). */
static enum fault startup(struct state *s, const struct unit *u)
{
	/* TODO (step startup): IRD, ORD and the RTRs are in the Private Data of Rev 2 with S.
	 * TODO (step sessions): note that the session of u->from has begun or ended. */
	return FAULT_NONE;
}

/* A DDP segment of len octets. Over SCTP the DDP-SSN is not part of it. */
static enum fault segment(struct state *s, enum end from, const uint8_t *at, size_t len)
{
	/* TODO (step headers): is the header complete, and do its fields fit the opcode?
	 * TODO (step order): the MSN and the MO of untagged segments.
	 * TODO (step buffers): note advertisements; check RDMA Writes, Read Requests, Invalidates.
	 * TODO (step startup): whose is the first segment, and which one is it?
	 * TODO (step reads): note Read Requests; check Read Responses.
	 * TODO (step sessions): Terminates. */
	return FAULT_NONE;
}

static enum fault unit(struct state *s, const struct unit *u)
{
	/* TODO (step sessions): over SCTP each unit begins with a DDP-SSN of 2 octets. */
	if (u->kind == UNIT_STARTUP)
		return startup(s, u);
	return segment(s, u->from, u->octets, u->len);
}

enum fault fault_find(enum transport over, const struct unit *units, size_t n, size_t *at)
{
	struct state s = { .over = over };

	for (size_t i = 0; i < n; i++) {
		enum fault fault = unit(&s, &units[i]);

		if (fault != FAULT_NONE) {
			*at = i;
			return fault;
		}
	}
	return FAULT_NONE;
}
