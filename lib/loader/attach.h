/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The XDP program on an interface: which it is, what holds it, how to detach it.
 *
 * Job: what `ddp-xdp` and error texts report about an interface. Neighbours: steer.h has the program itself.
 * Built without libxdp each function answers IW_E_NOTSUP. Threads: no state.
 */
#ifndef IW_LOADER_ATTACH_H
#define IW_LOADER_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

enum iw_xdp_mode {
	IW_XDP_ANY,     /* native, and generic where the driver has none */
	IW_XDP_NATIVE,  /* or an error: IW_E_NOTSUP */
	IW_XDP_GENERIC, /* in the network stack, for any interface */
};

enum iw_xdp_owner {
	IW_XDP_NOBODY,
	IW_XDP_STEER,      /* the steering program */
	IW_XDP_OBSERVE,    /* the one that follows MPA */
	IW_XDP_STRANGE,    /* ours, of a version that this library does not know */
	IW_XDP_DISPATCHER, /* libxdp's, which calls several */
	IW_XDP_FOREIGN,
	IW_XDP_UNKNOWN, /* this user may not look at the program */
};
/* "none", "iw_steer", "dispatcher", ... */
const char *iw_attach_owner_name(enum iw_xdp_owner owner);

struct iw_xdp_attached {
	enum iw_xdp_owner owner;
	uint32_t program; /* id; 0: nothing attached */
	uint32_t inside;  /* of a dispatcher: the steering program that it calls; 0: none */
	uint32_t
		link; /* id of the link that holds it; 0: attached without one: it stays until detached */
	bool native;
	char name[16];
	uint64_t run_ns, runs; /* with kernel.bpf_stats_enabled */
	uint32_t insns;        /* that the verifier went through */
};

/* The program is not part of iwarp-tools. A dispatcher that calls none of our programs is foreign, too. */
static inline bool iw_xdp_foreign(const struct iw_xdp_attached *a)
{
	return a->owner == IW_XDP_FOREIGN || (a->owner == IW_XDP_DISPATCHER && !a->inside);
}

/* 0, with program 0 if no program is attached; IW_E_NOENT: no such interface; IW_E_PERM, IW_E_OS. */
IW_MUST_CHECK int iw_attach_query(struct iw_xdp_attached *out, unsigned ifindex,
				  struct iw_fault *why);

/* A process that has the link open; 0: no process that this user may look at. name: of that process. */
int iw_attach_holder(uint32_t link, char name[static 16]);
/* Whether a link still holds a program on an interface: false after the program was detached. */
bool iw_attach_link_holds(int link);

/* Attaches by a link: *link is a descriptor with which the program goes. remedy: for the text of the
 * error that the driver has no native mode. */
IW_MUST_CHECK int iw_attach_program(int *link, bool *native, int prog, const char *interface,
				    unsigned ifindex, enum iw_xdp_mode mode, const char *remedy,
				    struct iw_fault *why);
/* Why attaching prog gave errnum, EBUSY or EEXIST: *why names the program that is in the way, and what to
 * do about it. Returns the error of *why, mostly IW_E_BUSY. */
IW_MUST_CHECK int iw_attach_busy(const char *interface, unsigned ifindex, int prog, int errnum,
				 struct iw_fault *why);
/*
 * Detaches the program that `a` describes: through its link if it has one. Does nothing if another program
 * is attached by then. A process that holds the link keeps a link to nothing.
 * IW_E_PERM, IW_E_NOENT (gone already), IW_E_OS.
 */
IW_MUST_CHECK int iw_attach_detach(const struct iw_xdp_attached *a, unsigned ifindex,
				   struct iw_fault *why);

/* --- links that outlive their process ----------------------------------------------------------- */

#define IW_XDP_PINS "/sys/fs/bpf/iwarp" /* the default directory of pinned links */

/* Pins a link as dir/interface; the directory is made. IW_E_NOTSUP: dir is on no BPF file system;
 * IW_E_BUSY: there is one of that name; IW_E_PERM, IW_E_OS. */
IW_MUST_CHECK int iw_attach_pin(int link, const char *dir, const char *interface,
				struct iw_fault *why);
enum iw_xdp_pinned { IW_XDP_NO_PIN, IW_XDP_PINNED, IW_XDP_STALE }; /* stale: of a link to nothing */
enum iw_xdp_pinned iw_attach_pinned(const char *dir, const char *interface);
/* Removes the pin of that name, whatever it holds. 0: no such pin is left; IW_E_PERM, IW_E_OS. */
IW_MUST_CHECK int iw_attach_unpin(const char *dir, const char *interface, struct iw_fault *why);
/* --- the dispatcher of libxdp, which calls several programs ------------------------------------- */

/* 0: programs can go through it here; IW_E_NOTSUP, IW_E_PERM: why says what is missing. */
IW_MUST_CHECK int iw_attach_check_dispatcher(struct iw_fault *why);
/* How many dispatchers of libxdp have left something on the BPF file system for an interface that has them no more; @program: the
 * one that it has, 0: none. */
unsigned iw_attach_dispatchers_left(unsigned ifindex, uint32_t program);
/* What libxdp's dispatchers left on the BPF file system for an interface that has them no more. 0, or
 * an error when there is something and it cannot be removed. */
IW_MUST_CHECK int iw_attach_clean_dispatchers(unsigned ifindex, struct iw_fault *why);

#endif
