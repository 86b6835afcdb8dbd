/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who has a program on which interface, and what those of the suite count and sample. */
#ifndef IW_KEEPER_LOOK_H
#define IW_KEEPER_LOOK_H

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/json.h"
#include "loader/attach.h"
#include "loader/observe.h"
#include "loader/steer.h"

/* One interface, as it was when it was read last, and the time before. */
struct iw_look {
	char name[IF_NAMESIZE];
	const char *pins; /* borrowed: the directory of pinned links */
	unsigned ifindex, queues;
	struct iw_xdp_attached a;
	int holder; /* process; 0: none that is known */
	char holder_name[16];
	enum iw_xdp_pinned pinned;
	unsigned dispatchers_left;
	struct iw_steer *steer; /* NULL: not ours, or not to be looked into */
	struct iw_observe *observe;
	struct iw_xdp_counters count, before;
	struct iw_xdp_mpa mpa;
	uint64_t at, at_before; /* 0: it was not read yet */
};

/*
 * The interface of that name, or with NULL all that have a program: *n of them, none if there is none. Errors as
 * iw_attach_query, iw_steer_look and iw_observe_look, and IW_E_NOMEM; iw_looks_free is due in any case. @pins is kept.
 */
IW_MUST_CHECK int iw_looks_find(struct iw_look **out, size_t *n, const char *interface,
				const char *pins, struct iw_fault *why);
void iw_looks_free(struct iw_look *l, size_t n);

/*
 * Reads each and tells it: as a "status" event of @json, or, where that is NULL, for people on standard output.
 * @samples: with the samples in the program's ring, which nobody else sees then. Errors as iw_attach_query; IW_E_OS: counters or
 * samples cannot be read; IW_E_CLOSED: standard output takes nothing more; IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_looks_tell(struct iw_look *l, size_t n, struct iw_json *json, bool samples,
				struct iw_fault *why);

#endif
