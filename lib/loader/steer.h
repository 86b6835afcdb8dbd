/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The steering program of one interface: loads and attaches it, and registers endpoints,
 * associations, sessions and STags with it.
 *
 * Job: the program passes packets of our SCTP endpoints to the AF_XDP socket of the worker that
 * owns their association, and all others to the kernel. xdp/shared.h describes the maps.
 * Neighbours: lib/pkt/xdp.c, the carrier; ddp-xdp. In a build without libxdp each function that can
 * fail returns IW_E_NOTSUP.
 * Threads: after iw_steer_open, functions of different workers may run at the same time. A change
 * is one system call and applies from the next packet on.
 *
 * Order of calls: iw_steer_open; open the sockets and fill their fill rings; iw_steer_worker_add;
 * iw_steer_endpoint_add and iw_steer_stag_add; iw_steer_assoc_add for each association that comes
 * up; iw_steer_session_add for each DDP stream that begins on it. To end: iw_steer_worker_remove,
 * which removes all of these; close the sockets; iw_steer_close.
 */
#ifndef IW_LOADER_STEER_H
#define IW_LOADER_STEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "loader/attach.h"
#include "os/addr.h"
#include "xdp/shared.h"

struct iw_steer_cfg {
	const char *interface; /* borrowed for the call */
	enum iw_xdp_mode mode;
	/*
	 * 0: IW_XDP_ASSOCS_DEFAULT, IW_XDP_STAGS_DEFAULT, IW_XDP_ENDPOINTS_DEFAULT. Sessions: twice
	 * as many as associations. Entries take memory when they are added.
	 */
	uint32_t assocs_max, stags_max, endpoints_max;
	uint32_t sample; /* one event for this many occurrences; 0: IW_XDP_SAMPLE_DEFAULT */
	/* Fail with IW_E_BUSY if a program of ours is attached, instead of joining it. */
	bool alone;
	/*
	 * Attach through libxdp's dispatcher, beside other programs. It remains until it is
	 * detached.
	 */
	bool dispatcher;
	/* Load the program without attaching it: for tests, or to attach it by other means. */
	bool load_only;
};

struct iw_steer_facts {
	unsigned ifindex;
	unsigned queues; /* receive queues: open sockets for 0 .. queues - 1 */
	bool native;     /* else generic */
	bool resident;   /* another process keeps it attached: closing does not detach it */
	bool dispatched; /* libxdp's dispatcher calls it */
	uint32_t insns;  /* instructions that the verifier processed; 0: not reported */
};

struct iw_steer;

/*
 * Loads the program and attaches it by a link of this process, so that it is detached when the
 * process ends for any reason; or joins the program that `ddp-xdp attach` keeps there. The caller
 * owns *out and frees it with iw_steer_close. *why names the cause and the remedy. IW_E_NOTSUP:
 * built without libxdp, the kernel has no BPF or XDP, or cfg requires native mode and the driver
 * has none; IW_E_PERM: CAP_BPF or CAP_NET_ADMIN is missing; IW_E_NOENT: no such interface;
 * IW_E_BUSY: another program is attached (*why names it); IW_E_NOMEM: no memory, or RLIMIT_MEMLOCK
 * of old kernels; IW_E_LIMIT: the driver does not accept the MTU with this program; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_open(struct iw_steer **out, const struct iw_steer_cfg *cfg,
				struct iw_fault *why);
/* Detaches the program unless it is resident. s may be NULL. */
void iw_steer_close(struct iw_steer *s);
/* Returns what was found when the program was attached or joined. Owned by s. */
const struct iw_steer_facts *iw_steer_facts(const struct iw_steer *s);
/*
 * Checks that this kernel accepts the program: loads it, attaches it to nothing, and unloads it.
 * *insns: instructions that the verifier processed. Errors as iw_steer_open.
 */
IW_MUST_CHECK int iw_steer_try(uint32_t *insns, struct iw_fault *why);

/*
 * Registers a worker with n sockets; xsk[q] is the descriptor of the socket on queue q, -1: none.
 * With n below facts.queues, the caller misses packets. The descriptors remain the caller's.
 * *worker is the worker's number. IW_E_FULL: IW_XDP_WORKERS workers are registered; IW_E_INVAL: n
 * is 0 or above facts.queues, or none of them is an AF_XDP socket with a receive ring; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_worker_add(struct iw_steer *s, uint32_t *worker, const int *xsk,
				      unsigned n, struct iw_fault *why);
/*
 * Registers a map of packets that the worker has the program send; map "live" in xdp/shared.h
 * describes it. Removed together with the worker, or before it. IW_E_NOTSUP: a program inside a
 * dispatcher cannot be run by itself; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_live_add(struct iw_steer *s, uint32_t worker, int packets);
void iw_steer_live_remove(struct iw_steer *s, uint32_t worker);
/*
 * Removes a worker with its endpoints and associations. Packets on the way into its rings may still
 * arrive there.
 */
void iw_steer_worker_remove(struct iw_steer *s, uint32_t worker);
/* Publishes the state of a socket for `ddp-xdp status`. 0, IW_E_INVAL or IW_E_OS. */
IW_MUST_CHECK int iw_steer_publish_socket(struct iw_steer *s, uint32_t worker, unsigned queue,
					  const struct iw_xdp_sock *now);

/* The payload protocols of an edition of DDP over SCTP. */
struct iw_steer_ppids {
	uint32_t segment, control;
};
/*
 * Registers an endpoint: packets to this address, SCTP port and UDP port are ours. worker gets
 * those that belong to no association. The port of addr is ignored; len 0 or the any address: all
 * addresses of both families. udp_port 0: SCTP directly on IP. ppids: the payload protocols that
 * the program looks for; NULL: those of RFC 5043. *id is for the functions below. IW_E_BUSY: such
 * an endpoint exists; IW_E_FULL: endpoints_max is reached; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_endpoint_add(struct iw_steer *s, uint32_t *id,
					const struct iw_addr *addr, uint16_t sctp_port,
					uint16_t udp_port, uint32_t worker,
					const struct iw_steer_ppids *ppids, struct iw_fault *why);
/* Removes an endpoint with its associations, sessions and STags. */
void iw_steer_endpoint_remove(struct iw_steer *s, uint32_t id);

/*
 * Steers packets to endpoint with this Verification Tag (struct iw_sctp_facts.tag) to worker. A
 * second call for the tag changes the worker. IW_E_FULL: assocs_max is reached: packets go to the
 * endpoint's worker, and their STags are not looked up; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_assoc_add(struct iw_steer *s, uint32_t endpoint, uint32_t tag,
				     uint32_t worker, struct iw_fault *why);
void iw_steer_assoc_remove(struct iw_steer *s, uint32_t endpoint, uint32_t tag);

/*
 * Registers an STag for the DDP streams of home on associations of the endpoint. It is removed with
 * the endpoint at the latest. IW_E_FULL: stags_max is reached: its segments count as unknown;
 * IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_stag_add(struct iw_steer *s, uint32_t endpoint, uint32_t stag,
				    const struct iw_xdp_home *home);
void iw_steer_stag_remove(struct iw_steer *s, uint32_t endpoint, uint32_t stag);

/*
 * Registers the session on SCTP streams `number` of that association as this DDP stream. It is
 * removed with the endpoint at the latest, not with the association. IW_E_FULL: its STags are not
 * looked up, and its segments are counted as such; IW_E_OS.
 */
IW_MUST_CHECK int iw_steer_session_add(struct iw_steer *s, uint32_t endpoint, uint32_t tag,
				       uint16_t number, const struct iw_xdp_home *home);
void iw_steer_session_remove(struct iw_steer *s, uint32_t endpoint, uint32_t tag, uint16_t number);

/* Reads the sum over all CPUs since the program was loaded. 0, IW_E_NOMEM or IW_E_OS. */
IW_MUST_CHECK int iw_steer_counters(const struct iw_steer *s, struct iw_xdp_counters *out);

/* Returns the descriptor of the program, for BPF_PROG_RUN (owned by s). */
int iw_steer_prog_fd(const struct iw_steer *s);

/* --- for ddp-xdp --- */

/* Joins our program that is attached to the interface. IW_E_NOENT: no such program is attached. */
IW_MUST_CHECK int iw_steer_look(struct iw_steer **out, const char *interface, struct iw_fault *why);
/* Returns a process that receives through the program on that interface; 0: none. */
uint32_t iw_steer_used_by(const char *interface);
/* Returns the descriptor of our link (owned by s). -1: another process holds the program. */
int iw_steer_link_fd(const struct iw_steer *s);

enum iw_steer_what {
	IW_STEER_ENDPOINTS, /* key, value: struct iw_xdp_endpoint_key, struct iw_xdp_endpoint */
	IW_STEER_ASSOCS,
	IW_STEER_SOCKETS, /* uint32_t, as IW_XDP_XSK makes it; struct iw_xdp_sock */
	IW_STEER_STREAMS, /* the sum over all CPUs */
	IW_STEER_SESSIONS,
	IW_STEER_STAGS,
};
/*
 * Calls each for every entry, in no order, until it returns non-zero; returns what it returned
 * last.
 */
int iw_steer_each(const struct iw_steer *s, enum iw_steer_what what,
		  int (*each)(void *ctx, const void *key, const void *value), void *ctx);
/*
 * Takes up to cap events out of the ring; no other process gets these. Returns their number, or
 * IW_E_OS.
 */
int iw_steer_events(struct iw_steer *s, struct iw_xdp_event *out, size_t cap);

#endif
