/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loop: one poll loop that drives connections over their transports.
 *
 * Job: when a socket is ready, a deadline has passed or work was posted, moves octets between the
 * transport (llp) and the engine (conn). Queues the connections and listeners that were served, so
 * that their owner checks them for events. Neighbours: lib/verbs creates connections and listeners,
 * takes their events and completions, and decides; lib/conn and lib/llp do the work. The loop does
 * not know queue pairs or completions.
 * Threads: none, no locks; a loop and everything in it belong to one thread at a time.
 *
 *     iw_loop_flush()      sends posted work, until the sockets are full
 *     iw_loop_wait()       waits for sockets and deadlines, then serves each one that is ready,
 *                          within its budget
 *     iw_loop_next_conn()  returns the connections that were served; the owner frees them
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
#include "llp/stream.h"
#include "util/mem.h"
#include "util/pool.h"

struct iw_loop;
struct iw_loop_conn;     /* a connection: a conn and its transport */
struct iw_loop_assoc;    /* an association, which carries connections */
struct iw_loop_listener; /* a listening socket or port */

/*
 * The most octets of one read. All connections of a loop share this memory. A larger buffer does
 * not fit the second-level cache together with the source and the destination of the copy: at twice
 * the size a plain receiver is a fifth slower. A smaller one costs more system calls, and its reads
 * split long FPDUs.
 */
#define IW_LOOP_SCRATCH (128 * 1024)

/*
 * Creates a loop. mem is borrowed for the life of the loop. IW_E_NOMEM; IW_E_LIMIT: no free
 * descriptors; IW_E_OS.
 */
IW_MUST_CHECK int iw_loop_new(struct iw_loop **out, const struct iw_mem *mem, struct iw_fault *why);
/*
 * Frees a loop. Free every connection and listener, and close every iw_loop_wakeup, before this
 * call. It blocks for at most IW_CTX_FREE_NS_MAX in all while peers confirm the shutdown of their
 * associations (RFC 9260 9.2). NULL does nothing.
 */
void iw_loop_free(struct iw_loop *l);

/* The pools from which the connections of the loop borrow batches and spill buffers. */
struct iw_pool *iw_loop_txbufs(struct iw_loop *l);
struct iw_pool *iw_loop_spill(struct iw_loop *l);

/*
 * Serves each kicked connection (iw_loop_conn_kick) until its socket is full or its budget is used
 * up.
 */
void iw_loop_flush(struct iw_loop *l);

enum { IW_LOOP_WOKEN = 1 };
/*
 * Waits until a socket is ready, a deadline has passed, or the time is until (0: does not wait;
 * IW_TIME_NEVER: no limit). Does not wait while a kicked connection needs another budget. Then
 * serves the ready sockets. Returns 0, or IW_LOOP_WOKEN if the wake descriptor is readable or a
 * signal ended the wait. IW_E_OS: the system call that waits failed.
 */
IW_MUST_CHECK int iw_loop_wait(struct iw_loop *l, uint64_t until, struct iw_fault *why);

/* System calls of the loop itself: those that waited, and those that changed what to wait for. */
uint64_t iw_loop_waits(const struct iw_loop *l);

/* Takes the next connection or listener that was served since it was taken last. NULL: none. */
struct iw_loop_conn *iw_loop_next_conn(struct iw_loop *l);
struct iw_loop_listener *iw_loop_next_listener(struct iw_loop *l);

/* Calls stag of struct iw_port_ops for every port that has it. */
void iw_loop_stag(struct iw_loop *l, uint32_t stag, uint32_t pd, uint32_t stream, uint64_t expires);

/*
 * Returns the octets of a loan (struct iw_completion) to their lender. iw_loop_free returns all
 * loans. IW_E_INVAL: the loan does not exist, or was returned before.
 */
IW_MUST_CHECK int iw_loop_loan_return(struct iw_loop *l, uint64_t loan, struct iw_fault *why);

/*
 * Sets the wake descriptor, which ends the wait when it is readable; -1: none. Borrowed until it is
 * replaced. IW_E_PERM: it cannot be polled (a regular file); IW_E_OS: it is not a descriptor;
 * IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_loop_wake_fd(struct iw_loop *l, int fd, struct iw_fault *why);

/* ---------------------------------------------------------------- connections */

/*
 * Adds a connection over a stream transport to the loop, which takes ownership of stream (on
 * failure too); conn and owner are borrowed until the connection is freed. connecting: the
 * transport is still connecting; the loop waits, tries its addresses, and gives up at the deadline
 * of conn. IW_E_NOMEM; IW_E_OS: the socket cannot be watched.
 */
IW_MUST_CHECK int iw_loop_stream_new(struct iw_loop_conn **out, struct iw_loop *l,
				     struct iw_stream *stream, struct iw_conn *conn, void *owner,
				     bool connecting, struct iw_fault *why);
/*
 * Adds a connection over the DDP stream session of conn, on its association t; conn and owner as in
 * iw_loop_stream_new. IW_E_NOMEM. RFC 5043 6.
 */
IW_MUST_CHECK int iw_loop_session_new(struct iw_loop_conn **out, struct iw_loop_assoc *t,
				      struct iw_conn *conn, void *owner, struct iw_fault *why);
/*
 * Frees a connection. Closes its transport; abort: resets it. conn is not freed. NULL does nothing.
 */
void iw_loop_conn_free(struct iw_loop_conn *k, bool abort);
/* Makes the next iw_loop_flush serve k. Call it after posting work or changing conn. */
void iw_loop_conn_kick(struct iw_loop_conn *k);
void *iw_loop_conn_owner(const struct iw_loop_conn *k);
void iw_loop_conn_set_owner(struct iw_loop_conn *k, void *owner);
bool iw_loop_conn_connecting(const struct iw_loop_conn *k);
/* Addresses and counts, as they are now. Makes no system call. */
void iw_loop_conn_ends(struct iw_loop_conn *k, struct iw_llp_ends *out);
/* The facts that the transport reports. Makes system calls. */
void iw_loop_conn_facts(struct iw_loop_conn *k, struct iw_llp_facts *out);
/*
 * Selects congestion control, as set_cc of struct iw_stream_ops. IW_E_NOTSUP also if the transport
 * has no choice.
 */
IW_MUST_CHECK int iw_loop_conn_set_cc(struct iw_loop_conn *k, const char *name,
				      struct iw_fault *why);

/* ---------------------------------------------------------------- associations */

/*
 * Begins an association from port. The loop takes ownership of port (on failure too). The
 * association ends when it has no connection: add one to it before the loop runs. Errors of the
 * port's connect; IW_E_NOMEM; IW_E_OS: the port cannot be watched.
 */
IW_MUST_CHECK int iw_loop_assoc_connect(struct iw_loop_assoc **out, struct iw_loop *l,
					struct iw_port *port, const struct iw_sctpmap_cfg *cfg,
					struct iw_fault *why);
/* For creating the conn of a session on the association. */
struct iw_sctpmap *iw_loop_assoc_map(struct iw_loop_assoc *t);
/* The association in its port; NULL: it has ended, or is not up yet. */
struct iw_assoc *iw_loop_assoc_llp(const struct iw_loop_assoc *t);
/* The association of a connection. NULL: the connection is over a stream. */
struct iw_loop_assoc *iw_loop_conn_assoc(struct iw_loop_conn *k);
/*
 * Call it after accepting the conn of k, before the answer is sent: some ports must know the DDP
 * stream of the session by then. Does nothing over a stream.
 */
void iw_loop_conn_accepted(struct iw_loop_conn *k);
/*
 * Octets that the association holds in addition to its accepted sessions, if k is the first
 * accepted one; else 0. All sessions of an association have the same peer.
 */
size_t iw_loop_conn_memory(struct iw_loop_conn *k);

/* ---------------------------------------------------------------- listeners */

/*
 * Adds a listening port to the loop. The listener takes ownership of port (on failure too); owner
 * is borrowed until the listener is freed. cfg is copied and applies to each association of the
 * listener. IW_E_NOMEM; IW_E_OS: the port cannot be watched.
 */
IW_MUST_CHECK int iw_loop_listener_new_port(struct iw_loop_listener **out, struct iw_loop *l,
					    struct iw_port *port, const struct iw_sctpmap_cfg *cfg,
					    void *owner, struct iw_fault *why);
/*
 * Takes the next session that a peer has requested; its IW_DSS_REQUEST was not taken yet. The
 * caller must release it or create a conn for it at once. Returns false if none is pending.
 */
bool iw_loop_listener_next_session(struct iw_loop_listener *g, struct iw_loop_assoc **assoc,
				   struct iw_dss **session);

/*
 * Adds a listening stream to the loop. The listener takes ownership of stream (on failure too);
 * owner is borrowed until the listener is freed. IW_E_NOMEM; IW_E_OS: the socket cannot be watched.
 */
IW_MUST_CHECK int iw_loop_listener_new(struct iw_loop_listener **out, struct iw_loop *l,
				       struct iw_stream *stream, void *owner, struct iw_fault *why);
/* Octets held by the associations of its port on which no session is open; over TCP: 0. */
size_t iw_loop_listener_memory(struct iw_loop_listener *g);
/*
 * Limits these octets; the limit is at least IW_UNUSED_LEAST_BYTES and at most IW_UNUSED_MAX_BYTES.
 * One address of a peer may hold a quarter of it.
 */
void iw_loop_listener_limit_unused(struct iw_loop_listener *g, size_t octets);
void iw_loop_listener_free(struct iw_loop_listener *g);
/*
 * Accepts the next connection; *out belongs to the caller. IW_E_AGAIN: none is pending; IW_E_LIMIT:
 * no descriptors or no memory, and iw_loop_listener_rest has been called; others: this connection
 * failed, call again for the next one.
 */
IW_MUST_CHECK int iw_loop_listener_accept(struct iw_loop_listener *g, struct iw_stream **out,
					  struct iw_fault *why);
/*
 * Does not watch the listener for 100 ms, or until iw_loop_listener_resume: connections wait in the
 * system's queue.
 */
void iw_loop_listener_rest(struct iw_loop_listener *g);
void iw_loop_listener_resume(struct iw_loop_listener *g);
void *iw_loop_listener_owner(struct iw_loop_listener *g);
void iw_loop_listener_ends(struct iw_loop_listener *g, struct iw_llp_ends *out);

/* ---------------------------------------------------------------- a program's own event loop */

/*
 * A descriptor for the program's own event loop. It is readable while iw_loop_wakeup_set has set
 * it, or while the loop has something to do: a socket is ready, a deadline has passed, or a
 * connection is kicked. The loop makes system calls for wake-ups only after the first one was
 * opened.
 */
struct iw_loop_wakeup {
	struct iw_loop *loop; /* NULL: not open */
	int fd;               /* owned; the program polls it */
	int event_fd;
	bool is_set;
};
/* Opens a wake-up. IW_E_LIMIT: no free descriptors; IW_E_NOMEM; IW_E_OS. */
IW_MUST_CHECK int iw_loop_wakeup_open(struct iw_loop_wakeup *b, struct iw_loop *l,
				      struct iw_fault *why);
void iw_loop_wakeup_close(struct iw_loop_wakeup *b);
/* Sets (on) or clears it. Does nothing if it is not open, or is in that state already. */
void iw_loop_wakeup_set(struct iw_loop_wakeup *b, bool on);

#endif
