/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ddp-xdp: the suite's XDP programs on the interfaces of this machine.
 *
 * attachment.h attaches a program and passes it to a holder; status.h reports attached programs and
 * their counters; detach.h detaches them. Each has a writer of text on standard output and one of
 * JSON. Neighbours: lib/loader has the programs and their maps, cmd/cli the means of the writers.
 * Threads: none.
 */
#ifndef IW_DDP_XDP_ATTACHMENT_H
#define IW_DDP_XDP_ATTACHMENT_H

#include <stdint.h>

#include "cli/json.h"
#include "loader/attach.h"
#include "loader/observe.h"
#include "loader/steer.h"

enum iw_attachment_program { IW_ATTACHMENT_STEER, IW_ATTACHMENT_MPA };
extern const char *const iw_attachment_programs[]; /* "steer", "mpa", NULL */

/* What keeps the program attached. */
enum iw_attachment_holder {
	IW_HELD_BY_PROCESS,    /* a process in the background */
	IW_HELD_BY_FOREGROUND, /* this process, in iw_attachment_wait */
	IW_HELD_BY_PIN,        /* a link pinned on a BPF file system */
	IW_HELD_BY_DISPATCHER, /* libxdp's dispatcher */
};
extern const char *const iw_attachment_holders[]; /* "holder", "foreground", "pin", "dispatcher" */

/* Strings are borrowed until the call returns. */
struct iw_attachment_cfg {
	const char *interface;
	enum iw_xdp_mode mode;
	enum iw_attachment_program program;
	enum iw_attachment_holder holder;
	const char *pins;                     /* the directory of pinned links */
	uint32_t sample, associations, stags; /* as in struct iw_steer_cfg */
};

/* An attached program, and what attaching it changed. */
struct iw_attachment {
	/* Owned; the one of cfg.program is set. */
	struct iw_steer *steer;
	struct iw_observe *observe;
	struct iw_xdp_attached a;
	unsigned ifindex, queues;
	unsigned offloads_before, offloads_after; /* enum iw_xdp_offload */
	int holder_pid;                           /* 0: no process */
	int link;                                 /* owned by steer or observe; -1: none */
};

/*
 * Attaches the program and passes it to its holder. Logs a warning about leftovers of other
 * programs on the interface. Call iw_attachment_free(out) in any case. Errors: those of
 * iw_interface_index, iw_steer_open, iw_observe_open and iw_attach_pin; IW_E_OS: the background
 * process could not be started.
 */
IW_MUST_CHECK int iw_attachment_create(struct iw_attachment *out,
				       const struct iw_attachment_cfg *cfg, struct iw_fault *why);
/*
 * Waits until the process is asked to stop (cli/signals.h), and returns 0. IW_E_NOENT: another
 * process detached the program.
 */
IW_MUST_CHECK int iw_attachment_wait(const struct iw_attachment *k, const char *interface,
				     struct iw_fault *why);
/* Closes this process's references. A program without another holder is detached by this. */
void iw_attachment_free(struct iw_attachment *k);

/* Writes the "attached" event. Errors of iw_json_end. */
IW_MUST_CHECK int iw_attachment_json(struct iw_json *w, const struct iw_attachment_cfg *cfg,
				     const struct iw_attachment *k, struct iw_fault *why);
void iw_attachment_print(const struct iw_attachment_cfg *cfg, const struct iw_attachment *k);

#endif
