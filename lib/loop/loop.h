/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loop: one poll loop that drives connections over their transports.
 *
 * Job: when a socket is ready, a deadline has come or work was posted, move octets between the
 * transport (llp) and the engine (conn); remember which connections have news. Neighbours:
 * lib/verbs makes links and gates, asks for their news and decides; lib/conn and lib/llp do the
 * work. It knows no queue pair and no completion.
 * Threads: none, no locks; a loop and everything in it belongs to one thread at a time.
 *
 *     iw_loop_flush()      what was posted goes out as far as the sockets take it
 *     iw_loop_wait()       waits for sockets and deadlines, serves those that are ready, within a
 *                          budget each
 *     iw_loop_next_link()  the connections to be looked at afterwards; the loop frees none, so that
 *                          none disappears meanwhile
 */
#ifndef IW_LOOP_LOOP_H
#define IW_LOOP_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "conn/conn.h"
#include "llp/llp.h"
#include "llp/port.h"
#include "util/mem.h"
#include "util/pool.h"

struct iw_loop;
struct iw_link;  /* a connection in the loop: a conn on its transport */
struct iw_trunk; /* an association in the loop, which carries connections */
struct iw_gate;  /* a listener in the loop */

/*
 * Octets that one read takes at most; the memory is shared by all connections of a loop. More of it
 * does not stay in the second-level cache beside what is read from and copied to: with twice as much
 * a plain receiver is a fifth slower. Less makes more system calls, and reads that split long FPDUs.
 */
#define IW_LOOP_SCRATCH (128 * 1024)

/* mem is borrowed for life. IW_E_NOMEM, IW_E_OS, IW_E_LIMIT. */
IW_MUST_CHECK int iw_loop_new(struct iw_loop **out, const struct iw_mem *mem, struct iw_fault *why);
/*
 * Every link, gate and bell must have been freed before. NULL does nothing. Blocks for at most 3 s in all while peers
 * confirm the shutdown of their associations.
 */
void iw_loop_free(struct iw_loop *l);

/* The pools that its connections borrow batches and spill buffers from. */
struct iw_pool *iw_loop_txbufs(struct iw_loop *l);
struct iw_pool *iw_loop_spill(struct iw_loop *l);

/* Serves the links that were kicked, as far as their sockets and a budget go. */
void iw_loop_flush(struct iw_loop *l);

enum { IW_LOOP_WOKEN = 1 };
/*
 * Waits until a socket is ready, a deadline has come or it is @until (0: does not wait;
 * IW_TIME_NEVER: no limit), not at all while a kicked link waits for its next budget; then serves
 * what is ready. Returns 0, IW_LOOP_WOKEN when the wake descriptor is readable or a signal ended
 * the wait, or IW_E_OS.
 */
IW_MUST_CHECK int iw_loop_wait(struct iw_loop *l, uint64_t until, struct iw_fault *why);

/* System calls of the loop itself: those that waited, and those that told the kernel what for. */
uint64_t iw_loop_waits(const struct iw_loop *l);

/* Takes the next link or gate that has perhaps got news since it was taken last; NULL: no more. */
struct iw_link *iw_loop_next_link(struct iw_loop *l);
struct iw_gate *iw_loop_next_gate(struct iw_loop *l);

/* To every port that wants to know: as stag of struct iw_port_ops. */
void iw_loop_stag(struct iw_loop *l, uint32_t stag, uint32_t pd, uint32_t stream, uint64_t expires);

/* The octets of a loan (struct iw_completion) are their lender's again. IW_E_INVAL: there is no such loan, or not any
 * more. Loans that are out when the loop is freed come back then. */
IW_MUST_CHECK int iw_loop_loan_return(struct iw_loop *l, uint64_t loan, struct iw_fault *why);

/*
 * Another descriptor (borrowed until replaced) that ends the wait when it is readable; -1: none.
 * IW_E_PERM: it cannot be polled (a regular file); IW_E_OS: no descriptor.
 */
IW_MUST_CHECK int iw_loop_wake_fd(struct iw_loop *l, int fd, struct iw_fault *why);

/* ---------------------------------------------------------------- links */

/*
 * Puts a connection into the loop. llp becomes the link's own (on failure too), conn and owner are
 * kept until the link is freed. connecting: the transport is still connecting; the link waits,
 * tries its addresses, and gives up at the conn's deadline. IW_E_NOMEM, IW_E_OS.
 */
IW_MUST_CHECK int iw_link_new(struct iw_link **out, struct iw_loop *l, struct iw_llp *llp,
			      struct iw_conn *conn, void *owner, bool connecting,
			      struct iw_fault *why);
/* Closes the transport, hard when abort; the conn is the caller's again. NULL does nothing. */
void iw_link_free(struct iw_link *k, bool abort);
/* Work was posted, or the conn was told something: the next flush serves it. */
void iw_link_kick(struct iw_link *k);
void *iw_link_owner(const struct iw_link *k);
void iw_link_set_owner(struct iw_link *k, void *owner);
const struct iw_llp *iw_link_llp(const struct iw_link *k);
bool iw_link_connecting(const struct iw_link *k);
/* What the transport tells of itself; costs system calls. */
void iw_link_facts(const struct iw_link *k, struct iw_llp_facts *out);
/* As iw_llp_ops.set_cc; IW_E_NOTSUP where the transport lets nobody choose. */
IW_MUST_CHECK int iw_link_set_cc(struct iw_link *k, const char *name, struct iw_fault *why);

/* ---------------------------------------------------------------- associations */

/*
 * Begins an association from port, which becomes the loop's own (on failure too). It ends when no
 * connection is left on it, and until one was put on it the loop must not run. Errors of the port's
 * connect, IW_E_NOMEM, IW_E_OS.
 */
IW_MUST_CHECK int iw_trunk_connect(struct iw_trunk **out, struct iw_loop *l, struct iw_port *port,
				   const struct iw_sctpmap_cfg *cfg, struct iw_fault *why);
/* For the conn that is to be put on it. */
struct iw_sctpmap *iw_trunk_map(struct iw_trunk *t);
/* Puts a connection on it; conn and owner as with iw_link_new. IW_E_NOMEM, and then conn is the
 * caller's. */
IW_MUST_CHECK int iw_link_on(struct iw_link **out, struct iw_trunk *t, struct iw_conn *conn,
			     void *owner, struct iw_fault *why);
/* Its conn was accepted: for ports that want to know whose a session is, before the answer goes out. */
void iw_link_accepted(struct iw_link *k);
/*
 * Octets that the association holds beside the sessions of its links, if this link is the first
 * accepted one; else 0. All links of an association have the same peer.
 */
size_t iw_link_memory(const struct iw_link *k);
/* The association as its port knows it; NULL: it is gone, or not up yet. */
struct iw_assoc *iw_trunk_assoc(const struct iw_trunk *t);
/* The association of a link; NULL: it has a transport of its own. */
struct iw_trunk *iw_link_trunk(const struct iw_link *k);

/* ---------------------------------------------------------------- gates */

/* Puts a listening port into the loop, which becomes the gate's own (on failure too); cfg is for each
 * association that comes. */
IW_MUST_CHECK int iw_gate_new_port(struct iw_gate **out, struct iw_loop *l, struct iw_port *port,
				   const struct iw_sctpmap_cfg *cfg, void *owner,
				   struct iw_fault *why);
/* The next session that a peer wants, whose IW_DSS_REQUEST was not taken yet; release it or have a
 * conn made of it at once. False: none. */
bool iw_gate_next_session(struct iw_gate *g, struct iw_trunk **trunk, struct iw_dss **session);

/* Puts a listener into the loop; llp becomes the gate's own (on failure too). */
IW_MUST_CHECK int iw_gate_new(struct iw_gate **out, struct iw_loop *l, struct iw_llp *llp,
			      void *owner, struct iw_fault *why);
/* Octets that the associations of its port without an open session hold; over TCP: 0. */
size_t iw_gate_memory(const struct iw_gate *g);
/*
 * Limits these octets, to IW_UNUSED_LEAST_BYTES at least and IW_UNUSED_MAX_BYTES at most. One
 * address of a peer may hold a quarter.
 */
void iw_gate_limit_unused(struct iw_gate *g, size_t octets);
void iw_gate_free(struct iw_gate *g);
/*
 * The next connection (given). IW_E_AGAIN: none; IW_E_LIMIT: no descriptors or memory, the gate now
 * rests for 100 ms; others: this one failed, go on.
 */
IW_MUST_CHECK int iw_gate_accept(struct iw_gate *g, struct iw_llp **out, struct iw_fault *why);
/*
 * The gate is not watched for 100 ms, or until it is told to go on: connections wait in the
 * system's queue.
 */
void iw_gate_rest(struct iw_gate *g);
void iw_gate_go_on(struct iw_gate *g);
void *iw_gate_owner(const struct iw_gate *g);
const struct iw_llp *iw_gate_llp(const struct iw_gate *g);

/* ---------------------------------------------------------------- other people's event loops */

/*
 * A descriptor that is readable while the bell rings or the loop itself has something to do (a
 * socket is ready, a deadline has come, a kicked link waits). It costs system calls only from when
 * the first one is opened.
 */
struct iw_bell {
	struct iw_loop *loop; /* NULL: not open */
	int fd;               /* to be polled */
	int event_fd;
	bool ringing;
};
IW_MUST_CHECK int iw_bell_open(struct iw_bell *b, struct iw_loop *l, struct iw_fault *why);
void iw_bell_close(struct iw_bell *b);
/* Does nothing when the bell is not open or rings as asked already. */
void iw_bell_ring(struct iw_bell *b, bool on);

#endif
