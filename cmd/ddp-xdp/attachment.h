/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ddp-xdp: manages the XDP programs of iwarp-tools on the interfaces of this machine.
 *
 * attachment.h attaches a program and passes it to a holder; status.h reports attached programs and
 * their counters; detach.h detaches them. Each writes its result as text to standard output, or as
 * JSON.
 * Neighbours: lib/loader has the programs and their maps, cmd/cli the JSON writer and the log.
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

/* A function that takes it borrows the strings until it returns. */
struct iw_attachment_cfg {
	const char *interface;
	enum iw_xdp_mode mode;
	enum iw_attachment_program program;
	enum iw_attachment_holder holder;
	const char *pins; /* the directory of pinned links */
	/* As sample, assocs_max and stags_max in struct iw_steer_cfg. */
	uint32_t sample, associations, stags;
};

/* An attached program, and what attaching it changed. */
struct iw_attachment {
	/* Owned. Only the one of cfg.program is set. */
	struct iw_steer *steer;
	struct iw_observe *observe;
	struct iw_xdp_attached a;
	unsigned ifindex, queues;
	unsigned offloads_before, offloads_after; /* sets of enum iw_xdp_offload */
	int holder_pid;                           /* 0: no process */
	int link;                                 /* owned by steer or observe; -1: none */
};

/*
 * Attaches the program and passes it to its holder. Logs warnings: if the interface has leftovers
 * of former programs, and if no tool can use the program there. The caller frees the contents of
 * *out with iw_attachment_free, also after an error. Errors: those of iw_interface_index,
 * iw_steer_open, iw_observe_open, iw_attach_query and iw_attach_pin; IW_E_OS: the background
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
/* Closes this process's references. The kernel then detaches a program without another holder. */
void iw_attachment_free(struct iw_attachment *k);

/* Writes the "attached" event. Errors: those of iw_json_end. */
IW_MUST_CHECK int iw_attachment_json(struct iw_json *w, const struct iw_attachment_cfg *cfg,
				     const struct iw_attachment *k, struct iw_fault *why);
/* Writes the same facts as text. */
void iw_attachment_print(const struct iw_attachment_cfg *cfg, const struct iw_attachment *k);

#endif
