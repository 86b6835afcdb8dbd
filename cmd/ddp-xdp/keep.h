/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * keeper: the XDP programs of the suite on the interfaces of this machine, what ddp-xdp is made of.
 *
 * Job: attaches a program and leaves it in somebody's keeping (keep.h), tells what is there and what it counts
 * (look.h), takes it away (detach.h); each with a writer for people, who read standard output, and one of JSON.
 * Neighbours: lib/pkt has the programs and their maps, cli the writers' means. Threads: none.
 */
#ifndef IW_KEEPER_KEEP_H
#define IW_KEEPER_KEEP_H

#include <stdint.h>

#include "cli/json.h"
#include "loader/attach.h"
#include "loader/observe.h"
#include "loader/steer.h"

enum iw_keep_program { IW_KEEP_STEER, IW_KEEP_MPA };
extern const char *const iw_keep_programs[]; /* "steer", "mpa", NULL */

/* Who keeps it there. */
enum iw_keep_by {
	IW_KEEP_HOLDER,     /* a process in the background */
	IW_KEEP_FOREGROUND, /* this one: iw_keep_stay */
	IW_KEEP_PIN,        /* a link pinned on a BPF file system */
	IW_KEEP_DISPATCHER, /* libxdp's dispatcher */
};
extern const char *const iw_keep_bys[]; /* "holder", "foreground", "pin", "dispatcher" */

struct iw_keep_cfg {
	const char *interface;
	enum iw_xdp_mode mode;
	enum iw_keep_program program;
	enum iw_keep_by by;
	const char *pins;                     /* the directory of pinned links */
	uint32_t sample, associations, stags; /* as struct iw_steer_cfg has them */
};

/* What was attached, and what that did. */
struct iw_kept {
	struct iw_steer *steer; /* one of these two */
	struct iw_observe *observe;
	struct iw_xdp_attached a;
	unsigned ifindex, queues;
	unsigned offloads_before, offloads_after; /* enum iw_xdp_offload */
	int holder;                               /* process; 0: none */
	int link;
};

/*
 * Attaches the program and gives it to its keeper; the log warns of what others left behind there. Errors as
 * iw_steer_open, iw_observe_open and iw_attach_pin, and IW_E_OS when no process can be made. iw_keep_free(out) is due
 * in any case.
 */
IW_MUST_CHECK int iw_keep_attach(struct iw_kept *out, const struct iw_keep_cfg *cfg,
				 struct iw_fault *why);
/* Until the process is asked to stop (cli/signals.h): 0. IW_E_NOENT: somebody took the program away. */
IW_MUST_CHECK int iw_keep_stay(const struct iw_kept *k, const char *interface,
			       struct iw_fault *why);
/* Lets go of it: without a keeper the program goes. */
void iw_keep_free(struct iw_kept *k);

/* The "attached" event. IW_E_CLOSED: standard output takes nothing more. */
IW_MUST_CHECK int iw_keep_json(struct iw_json *w, const struct iw_keep_cfg *cfg,
			       const struct iw_kept *k, struct iw_fault *why);
void iw_keep_print(const struct iw_keep_cfg *cfg, const struct iw_kept *k);

#endif
