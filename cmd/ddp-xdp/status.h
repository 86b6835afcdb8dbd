/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reports the XDP programs on interfaces, and the counters and sampled events of those of
 * iwarp-tools. */
#ifndef IW_DDP_XDP_STATUS_H
#define IW_DDP_XDP_STATUS_H

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/json.h"
#include "loader/attach.h"
#include "loader/observe.h"
#include "loader/steer.h"

/* An interface with the counters of its last two readings. */
struct iw_status {
	char name[IF_NAMESIZE];
	const char *pins; /* borrowed: the directory of pinned links */
	unsigned ifindex, queues;
	struct iw_xdp_attached a;
	int holder_pid; /* of the process that keeps the program attached; 0: not known */
	char holder_name[16];
	enum iw_xdp_pinned pinned;
	unsigned dispatchers_left; /* former dispatchers with leftovers */
	/* Owned. NULL: another program or none is attached, or this user may not look at it. */
	struct iw_steer *steer;
	struct iw_observe *observe;
	/* The counters of the last reading; before: of the reading before it. */
	struct iw_xdp_counters count, before;
	struct iw_xdp_mpa mpa;
	uint64_t at, at_before; /* times of the two readings, ns; 0: not read yet */
};

/*
 * Finds the interface with that name or, with NULL, all interfaces with a program, and sets *n to
 * their number; 0 is not an error. pins is borrowed until iw_status_free. The caller frees *out
 * with iw_status_free, also after an error. Errors: those of iw_attach_query, iw_steer_look and
 * iw_observe_look; IW_E_OS: the interfaces could not be listed; IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_status_find(struct iw_status **out, size_t *n, const char *interface,
				 const char *pins, struct iw_fault *why);
void iw_status_free(struct iw_status *l, size_t n);

/*
 * Reads and reports each interface: as a "status" event to json or, if that is NULL, as text to
 * standard output. With samples, also takes sampled events from the program's ring buffer and
 * reports them; each event reaches one reader only. Errors: those of iw_attach_query; IW_E_NOENT:
 * the interface was removed; IW_E_OS: counters or samples could not be read; IW_E_CLOSED: standard
 * output cannot be written; IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_status_report(struct iw_status *l, size_t n, struct iw_json *json,
				   bool samples, struct iw_fault *why);

#endif
