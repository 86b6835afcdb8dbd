/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * XDP programs on an interface: attaching, finding and detaching them, and the links that hold
 * them.
 *
 * Job: the loaders of this room attach their programs with it; `ddp-xdp` and error texts query what
 * is attached. It loads no program.
 * Neighbours: steer.h and observe.h load the programs, interface.h describes the interfaces. In a
 * build without libxdp each function that can fail returns IW_E_NOTSUP, and nothing is attached.
 * Threads: no state.
 */
#ifndef IW_LOADER_ATTACH_H
#define IW_LOADER_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

enum iw_xdp_mode {
	IW_XDP_ANY,     /* native, or generic if the driver has no native mode */
	IW_XDP_NATIVE,  /* native, else IW_E_NOTSUP */
	IW_XDP_GENERIC, /* in the network stack, for any interface */
};

enum iw_xdp_owner {
	IW_XDP_NONE,
	IW_XDP_STEER,         /* the steering program */
	IW_XDP_OBSERVE,       /* the program that follows MPA */
	IW_XDP_OTHER_VERSION, /* one of these two, of another version of iwarp-tools */
	IW_XDP_DISPATCHER,    /* libxdp's, which calls several programs */
	IW_XDP_FOREIGN,
	IW_XDP_UNKNOWN, /* this user may not look at the program */
};
/* Returns "none", "steer", "dispatcher", ... Static. */
const char *iw_attach_owner_name(enum iw_xdp_owner owner);

struct iw_xdp_attached {
	enum iw_xdp_owner owner;
	uint32_t program; /* id; 0: nothing attached */
	uint32_t inside;  /* of a dispatcher: id of the steering program that it calls; 0: none */
	/* Id of the link that holds the program; 0: it is attached without one until detached. */
	uint32_t link;
	bool native;
	char name[16];
	uint64_t run_ns, runs; /* with kernel.bpf_stats_enabled */
	uint32_t insns;        /* instructions that the verifier processed */
};

/*
 * True if the program is not part of iwarp-tools. A dispatcher that calls none of our programs is
 * foreign, too.
 */
static inline bool iw_xdp_foreign(const struct iw_xdp_attached *a)
{
	return a->owner == IW_XDP_FOREIGN || (a->owner == IW_XDP_DISPATCHER && !a->inside);
}

/*
 * Describes the program that is attached to an interface; out->program 0: none. IW_E_NOENT: no such
 * interface; IW_E_PERM, IW_E_OS: the kernel refused the query.
 */
IW_MUST_CHECK int iw_attach_query(struct iw_xdp_attached *out, unsigned ifindex,
				  struct iw_fault *why);

/*
 * Returns the id of a process that has the link open, and its name; 0: no process that this user
 * may look at has it.
 */
int iw_attach_holder(uint32_t link, char name[static 16]);
/* True while the link (borrowed) holds a program on an interface, until the program is detached. */
bool iw_attach_link_holds(int link);

/*
 * Attaches the program prog (borrowed) by a link. *native: it is in native mode. The caller owns
 * the descriptor *link; closing it detaches the program. remedy ends the texts of IW_E_NOTSUP and
 * IW_E_LIMIT: what else to do. IW_E_NOTSUP: the driver has no native mode; IW_E_LIMIT: the driver
 * rejects the program, perhaps because of the MTU, queues or offloads; others as iw_attach_busy and
 * iw_bpf_fail.
 */
IW_MUST_CHECK int iw_attach_program(int *link, bool *native, int prog, const char *interface,
				    unsigned ifindex, enum iw_xdp_mode mode, const char *remedy,
				    struct iw_fault *why);
/*
 * Explains why attaching prog failed with errnum, EBUSY or EEXIST: *why names the program that is
 * in the way, and the remedy. Returns the error of *why, mostly IW_E_BUSY.
 */
IW_MUST_CHECK int iw_attach_busy(const char *interface, unsigned ifindex, int prog, int errnum,
				 struct iw_fault *why);
/*
 * Detaches the program that `a` describes, through its link if it has one. Does nothing if another
 * program was attached meanwhile. A process that holds the link keeps an empty link. IW_E_NOENT:
 * detached already; IW_E_PERM, IW_E_OS.
 */
IW_MUST_CHECK int iw_attach_detach(const struct iw_xdp_attached *a, unsigned ifindex,
				   struct iw_fault *why);

/* --- links that outlive their process --- */

#define IW_XDP_PINS "/sys/fs/bpf/iwarp" /* the default directory of pinned links */

/*
 * Pins a link as dir/interface, and creates the directory. IW_E_NOTSUP: dir is not on a BPF file
 * system; IW_E_BUSY: the pin exists already; IW_E_NOENT: the directory above dir does not exist;
 * IW_E_PERM, IW_E_OS.
 */
IW_MUST_CHECK int iw_attach_pin(int link, const char *dir, const char *interface,
				struct iw_fault *why);
enum iw_xdp_pinned { IW_XDP_NO_PIN, IW_XDP_PINNED, IW_XDP_STALE };
/* Returns whether dir/interface is a pin; STALE: its link holds no program any more. */
enum iw_xdp_pinned iw_attach_pinned(const char *dir, const char *interface);
/* Removes that pin, whatever it holds, if it exists. IW_E_PERM, IW_E_OS: it remains. */
IW_MUST_CHECK int iw_attach_unpin(const char *dir, const char *interface, struct iw_fault *why);

/* --- the dispatcher of libxdp, which calls several programs --- */

/*
 * Returns 0 if a dispatcher can be used here; IW_E_NOTSUP, IW_E_PERM: *why names what is missing.
 */
IW_MUST_CHECK int iw_attach_check_dispatcher(struct iw_fault *why);
/*
 * Counts the dispatchers that left pins on the BPF file system and are no longer on the interface.
 * program: id of its current dispatcher; 0: none.
 */
unsigned iw_attach_dispatchers_left(unsigned ifindex, uint32_t program);
/*
 * Removes what such dispatchers left. Returns 0 also if there is nothing to remove; IW_E_PERM,
 * IW_E_OS.
 */
IW_MUST_CHECK int iw_attach_clean_dispatchers(unsigned ifindex, struct iw_fault *why);

#endif
