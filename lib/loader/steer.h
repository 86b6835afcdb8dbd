/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The steering program of one interface: loads it, attaches it, tells it what is ours.
 *
 * Job: packets of our SCTP endpoints go to the AF_XDP socket of the worker that owns their
 * association; everything else goes to the kernel. What the maps hold stands in xdp/shared.h.
 * Neighbours: lib/pkt/xdp.c, the carrier; ddp-xdp. Built without libxdp each function answers
 * IW_E_NOTSUP.
 * Threads: after iw_steer_open, functions of different workers may run at the same time; a change is
 * one system call and holds for the next packet.
 *
 * The order of things: open; sockets made, their fill rings filled; iw_steer_worker_add;
 * iw_steer_endpoint_add, iw_steer_stag_add; iw_steer_assoc_add as associations come up, iw_steer_session_add as DDP streams
 * begin on them. And back: iw_steer_worker_remove
 * takes all of that away, then the sockets are closed, then iw_steer_close.
 */
#ifndef IW_LOADER_STEER_H
#define IW_LOADER_STEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "os/addr.h"
#include "loader/attach.h"
#include "xdp/shared.h"

struct iw_steer_cfg {
	const char *interface; /* borrowed for the call */
	enum iw_xdp_mode mode;
	/* 0: 65,536 associations, 1,048,576 STags, 1,024 endpoints. There is room for twice as many sessions as
	 * associations. Memory is taken as they come. */
	uint32_t assocs_max, stags_max, endpoints_max;
	uint32_t sample; /* one event for so many occurrences; 0: 256 */
	/* An error rather than using a program of ours that is resident on the interface. */
	bool alone;
	/* Through libxdp's dispatcher, beside other programs: then it stays until it is detached. */
	bool dispatcher;
	bool load_only; /* into the kernel, and attached to nothing: for tests, or by other means */
};

struct iw_steer_facts {
	unsigned ifindex;
	unsigned queues; /* that packets may arrive on: sockets for 0..queues-1 */
	bool native;     /* else generic */
	bool resident;   /* somebody else keeps it attached: it stays when we close */
	bool dispatched; /* libxdp's dispatcher calls it */
	uint32_t insns;  /* that the verifier went through; 0: not told */
};

struct iw_steer;

/*
 * Loads the program and attaches it by a link of this process, with which it goes, whatever ends the
 * process; or joins the one that `ddp-xdp attach` keeps there. why says what was refused and what would
 * help: IW_E_NOTSUP (built without libxdp; no BPF, no XDP in this kernel; native wanted and not to be
 * had), IW_E_PERM (CAP_BPF, CAP_NET_ADMIN), IW_E_NOENT (no such interface), IW_E_BUSY (another
 * program is attached: why names it), IW_E_NOMEM (RLIMIT_MEMLOCK of old kernels too), IW_E_LIMIT
 * (the MTU is above what the driver takes with this program), IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_open(struct iw_steer **out, const struct iw_steer_cfg *cfg,
				struct iw_fault *why);
/* Detaches it unless it is resident. s may be NULL. */
void iw_steer_close(struct iw_steer *s);
/* Borrowed, valid as long as s. */
const struct iw_steer_facts *iw_steer_facts(const struct iw_steer *s);
/*
 * Whether the program goes into this kernel: it is loaded and let go, attached to nothing. *insns: what the
 * verifier went through. Errors as iw_steer_open.
 */
IW_MUST_CHECK int iw_steer_try(uint32_t *insns, struct iw_fault *why);

/*
 * A worker with its sockets: xsk[q] is that of queue q, n of them (facts.queues, or the caller misses
 * packets); -1: none on that queue. The descriptors stay the caller's. *worker is its number.
 * IW_E_FULL: IW_XDP_WORKERS are there; IW_E_INVAL: n is 0 or above facts.queues, or none of them is
 * an AF_XDP socket with a receive ring; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_worker_add(struct iw_steer *s, uint32_t *worker, const int *xsk,
				      unsigned n, struct iw_fault *why);
/*
 * The packets that a worker has the program send: a map of arrays' kind that "live" in xdp/shared.h is of. They go with
 * the worker, or before it. IW_E_NOTSUP: a program within a dispatcher cannot be run by itself; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_live_add(struct iw_steer *s, uint32_t worker, int packets);
void iw_steer_live_remove(struct iw_steer *s, uint32_t worker);
/* With its endpoints and associations. What was on its way into a ring may still arrive there. */
void iw_steer_worker_remove(struct iw_steer *s, uint32_t worker);
/* What ddp-xdp status shows of a socket. 0 or IW_E_INVAL, IW_E_OS. */
IW_MUST_CHECK int iw_steer_tell_socket(struct iw_steer *s, uint32_t worker, unsigned queue,
				       const struct iw_xdp_sock *now);

/* The payload protocols of an edition of DDP over SCTP. */
struct iw_steer_ppids {
	uint32_t segment, control;
};
/*
 * Packets to addr (its port does not count; len 0 or the any address: all of both families), SCTP port,
 * and UDP port (0: SCTP straight on IP) are ours; worker gets what belongs to no association. *id is
 * for the functions below. ppids: those that the program looks for; NULL: those of RFC 5043.
 * IW_E_BUSY: such an endpoint exists; IW_E_FULL: endpoints_max is reached; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_endpoint_add(struct iw_steer *s, uint32_t *id,
					const struct iw_addr *addr, uint16_t sctp_port,
					uint16_t udp_port, uint32_t worker,
					const struct iw_steer_ppids *ppids, struct iw_fault *why);
void iw_steer_endpoint_remove(struct iw_steer *s, uint32_t id);

/*
 * Packets to endpoint with this Verification Tag (struct iw_sctp_facts.tag) go to worker. Again: changes it.
 * IW_E_FULL: assocs_max: packets go to the endpoint's worker, and their STags are not looked up; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_assoc_add(struct iw_steer *s, uint32_t endpoint, uint32_t tag,
				     uint32_t worker, struct iw_fault *why);
void iw_steer_assoc_remove(struct iw_steer *s, uint32_t endpoint, uint32_t tag);

/*
 * An STag is registered, for those whose it is: DDP streams on associations of the endpoint, with which it goes
 * at the latest. IW_E_FULL: stags_max: its segments will count as unknown; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_stag_add(struct iw_steer *s, uint32_t endpoint, uint32_t stag,
				    const struct iw_xdp_home *home);
void iw_steer_stag_remove(struct iw_steer *s, uint32_t endpoint, uint32_t stag);

/*
 * The session on SCTP streams number of that association is this DDP stream. It goes with the endpoint at the
 * latest, not with the association. IW_E_FULL: its STags are not looked up, which is counted; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_session_add(struct iw_steer *s, uint32_t endpoint, uint32_t tag,
				       uint16_t number, const struct iw_xdp_home *home);
void iw_steer_session_remove(struct iw_steer *s, uint32_t endpoint, uint32_t tag, uint16_t number);

/* Of all CPUs together since the program was loaded. 0 or IW_E_OS. */
IW_MUST_CHECK int iw_steer_counters(const struct iw_steer *s, struct iw_xdp_counters *out);

/* Of the program, for BPF_PROG_RUN; borrowed. */
int iw_steer_prog_fd(const struct iw_steer *s);

/* --- for those who look: ddp-xdp ---------------------------------------------------------------- */

/* Joins the program of ours that is there. IW_E_NOENT: there is none. */
IW_MUST_CHECK int iw_steer_look(struct iw_steer **out, const char *interface, struct iw_fault *why);
/* A process that receives through the program on that interface; 0: none. */
uint32_t iw_steer_used_by(const char *interface);
/* Of the link that holds our own program; borrowed. -1: somebody else holds it. */
int iw_steer_link_fd(const struct iw_steer *s);

enum iw_steer_what {
	IW_STEER_ENDPOINTS, /* key, value: struct iw_xdp_endpoint_key, struct iw_xdp_endpoint */
	IW_STEER_ASSOCS,
	IW_STEER_SOCKETS, /* uint32_t, as IW_XDP_XSK makes it; struct iw_xdp_sock */
	IW_STEER_STREAMS, /* of all CPUs together */
	IW_STEER_SESSIONS,
	IW_STEER_STAGS,
};
/* Calls each for what is there, in no order, until it does not return 0; returns what it returned. */
int iw_steer_each(const struct iw_steer *s, enum iw_steer_what what,
		  int (*each)(void *ctx, const void *key, const void *value), void *ctx);
/* Takes up to cap events out of the ring: who takes one has it alone. Their number, or an error. */
int iw_steer_events(struct iw_steer *s, struct iw_xdp_event *out, size_t cap);

#endif
