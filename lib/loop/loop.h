/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loop: one poll loop that drives connections over their transports.
 *
 * Job: when a socket is ready, a deadline has passed or work was posted, moves octets between the
 * transport (llp) and the engine (conn). Queues the connections and listeners that were served, so
 * that lib/verbs checks them for events.
 * Neighbours: lib/verbs creates connections and listeners, takes their events and completions, and
 * answers requests; lib/conn and lib/sctpmap run the protocols; lib/llp has the transports. The
 * loop does not know queue pairs or completions.
 * Threads: none, no locks; a loop and everything in it belong to one thread at a time.
 * Units: octets; times are nanoseconds of CLOCK_MONOTONIC.
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
 * Octets of the receive buffer, which all connections of a loop share: the most octets of one read.
 * A larger buffer does not fit the second-level cache together with the source and the destination
 * of the copy: at twice the size a plain receiver is a fifth slower. A smaller one costs more
 * system calls, and its reads split long FPDUs.
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

/*
 * Return the pools from which the connections of the loop borrow batches (struct iw_txbuf) and
 * spill buffers (IW_MPA_SPILL_LEN octets). Owned by l.
 */
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

/*
 * Returns the number of system calls of the loop itself: those that waited, and those that changed
 * what to wait for.
 */
uint64_t iw_loop_waits(const struct iw_loop *l);

/* Return the next connection or listener that was served since its last return. NULL: none. */
struct iw_loop_conn *iw_loop_next_conn(struct iw_loop *l);
struct iw_loop_listener *iw_loop_next_listener(struct iw_loop *l);

/*
 * Reports an STag to every port whose carrier checks segments: it is registered for this protection
 * domain and stream (0: all streams of the domain) until expires; pd 0: it is no longer registered.
 * RFC 5041 8.2.
 */
void iw_loop_stag(struct iw_loop *l, uint32_t stag, uint32_t pd, uint32_t stream, uint64_t expires);

/*
 * Returns the octets of a loan (struct iw_completion) to the port that has lent them. iw_loop_free
 * returns all loans. IW_E_INVAL: the loan is not of this loop, or was returned before.
 */
IW_MUST_CHECK int iw_loop_loan_return(struct iw_loop *l, uint64_t loan, struct iw_fault *why);

/*
 * Sets the wake descriptor, which ends iw_loop_wait while it is readable; -1 removes it. fd is
 * borrowed until it is replaced or removed. IW_E_PERM: it cannot be polled (a regular file);
 * IW_E_OS: it is not a descriptor; IW_E_NOMEM. After an error the previous one remains set.
 */
IW_MUST_CHECK int iw_loop_wake_fd(struct iw_loop *l, int fd, struct iw_fault *why);

/* ---------------------------------------------------------------- connections */

/*
 * Adds a connection over a stream transport to the loop, which takes ownership of stream (on
 * failure too); conn and owner are borrowed until the connection is freed. connecting: the
 * transport is still connecting, or stream->handshake is set; the loop waits, tries its addresses,
 * and gives up at the deadline of conn. IW_E_NOMEM; IW_E_OS: the socket cannot be watched.
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
 * Frees a connection, and closes its transport (abort: resets it). Over SCTP the association
 * remains. The conn is not freed. NULL does nothing.
 */
void iw_loop_conn_free(struct iw_loop_conn *k, bool abort);
/* Makes the next iw_loop_flush serve k. Call it after posting work or changing conn. */
void iw_loop_conn_kick(struct iw_loop_conn *k);
/* Return, and replace, the owner (borrowed). */
void *iw_loop_conn_owner(const struct iw_loop_conn *k);
void iw_loop_conn_set_owner(struct iw_loop_conn *k, void *owner);
/* Returns true until the TCP connection, its encryption, or the association is up. */
bool iw_loop_conn_connecting(const struct iw_loop_conn *k);
/* Returns the addresses and counts, as they are now. Makes no system call. */
void iw_loop_conn_ends(struct iw_loop_conn *k, struct iw_llp_ends *out);
/* Returns what the transport reports about itself. May make system calls. */
void iw_loop_conn_facts(struct iw_loop_conn *k, struct iw_llp_facts *out);
/* Fills *out except its size. False: the transport is not encrypted, or its handshake runs. */
bool iw_loop_conn_tls(struct iw_loop_conn *k, struct iw_tls_info *out);
/*
 * Selects congestion control, as set_cc of struct iw_stream_ops. IW_E_NOTSUP also: the transport
 * has no choice.
 */
IW_MUST_CHECK int iw_loop_conn_set_cc(struct iw_loop_conn *k, const char *name,
				      struct iw_fault *why);

/* ---------------------------------------------------------------- associations */

/*
 * Begins an association from port. The loop takes ownership of port (on failure too), and owns
 * *out. The association ends when it has no connection: add one to it before the loop runs. Errors
 * as connect of struct iw_port_ops; IW_E_NOMEM; IW_E_OS: the port cannot be watched.
 */
IW_MUST_CHECK int iw_loop_assoc_connect(struct iw_loop_assoc **out, struct iw_loop *l,
					struct iw_port *port, const struct iw_sctpmap_cfg *cfg,
					struct iw_fault *why);
/* Returns the map of the association (owned by t), for creating the conn of a session. */
struct iw_sctpmap *iw_loop_assoc_map(struct iw_loop_assoc *t);
/* Returns the association in its port; NULL: it has ended, or is not up yet. */
struct iw_assoc *iw_loop_assoc_llp(const struct iw_loop_assoc *t);
/* Returns the association of a connection. NULL: the connection is over a stream. */
struct iw_loop_assoc *iw_loop_conn_assoc(struct iw_loop_conn *k);
/*
 * Reports to the port which DDP stream uses the session. Call it after accepting the conn of k,
 * before the answer is sent. Does nothing over a stream.
 */
void iw_loop_conn_accepted(struct iw_loop_conn *k);
/*
 * Returns the octets that the association of k holds in addition to its accepted sessions, if k is
 * the first accepted one; else 0. So the sum over all connections counts an association once.
 */
size_t iw_loop_conn_memory(struct iw_loop_conn *k);

/* ---------------------------------------------------------------- listeners */

/*
 * Adds a listening port to the loop. The listener takes ownership of port (on failure too); owner
 * is borrowed until the listener is freed. cfg is copied and applies to each association that the
 * port accepts. IW_E_NOMEM; IW_E_OS: the port cannot be watched.
 */
IW_MUST_CHECK int iw_loop_listener_new_port(struct iw_loop_listener **out, struct iw_loop *l,
					    struct iw_port *port, const struct iw_sctpmap_cfg *cfg,
					    void *owner, struct iw_fault *why);
/*
 * Takes the next session that a peer has requested; its event IW_DSS_REQUEST is still pending. The
 * caller must release the session or create a conn for it at once. Returns false if none is
 * pending. RFC 5043 6.
 */
bool iw_loop_listener_next_session(struct iw_loop_listener *g, struct iw_loop_assoc **assoc,
				   struct iw_dss **session);

/*
 * Adds a listening stream to the loop. The listener takes ownership of stream (on failure too);
 * owner is borrowed until the listener is freed. IW_E_NOMEM; IW_E_OS: the socket cannot be watched.
 */
IW_MUST_CHECK int iw_loop_listener_new(struct iw_loop_listener **out, struct iw_loop *l,
				       struct iw_stream *stream, void *owner, struct iw_fault *why);
/* Returns the octets held by those associations of its port which have no open session; TCP: 0. */
size_t iw_loop_listener_memory(struct iw_loop_listener *g);
/*
 * Limits these octets, to at least IW_UNUSED_LEAST_BYTES and at most IW_UNUSED_MAX_BYTES. One
 * address of a peer may hold a quarter of the limit. Does nothing over TCP.
 */
void iw_loop_listener_limit_unused(struct iw_loop_listener *g, size_t octets);
/* Frees a listener. Its accepted connections remain. NULL does nothing. */
void iw_loop_listener_free(struct iw_loop_listener *g);
/*
 * Accepts the next TCP connection; *out belongs to the caller. IW_E_AGAIN: none is pending;
 * IW_E_LIMIT: no descriptors or no memory, and the call has done iw_loop_listener_rest; others:
 * this connection failed, call again for the next one.
 */
IW_MUST_CHECK int iw_loop_listener_accept(struct iw_loop_listener *g, struct iw_stream **out,
					  struct iw_fault *why);
/*
 * Stops watching a TCP listener for 100 ms, or until iw_loop_listener_resume. Connections wait in
 * the system's queue. Both do nothing over SCTP.
 */
void iw_loop_listener_rest(struct iw_loop_listener *g);
void iw_loop_listener_resume(struct iw_loop_listener *g);
/* Returns the owner (borrowed). */
void *iw_loop_listener_owner(struct iw_loop_listener *g);
/* Returns the local address and ports. */
void iw_loop_listener_ends(struct iw_loop_listener *g, struct iw_llp_ends *out);

/* ---------------------------------------------------------------- a program's own event loop */

/*
 * A descriptor for the program's own event loop. It is readable while iw_loop_wakeup_set has set
 * it, or while the loop has something to do: a socket is ready, a deadline has passed, a connection
 * is kicked, or an association must be served. The loop makes system calls for wake-ups only after
 * the first one was opened.
 */
struct iw_loop_wakeup {
	struct iw_loop *loop; /* NULL: not open */
	int fd;               /* owned; the program polls it */
	int event_fd;
	bool is_set;
};
/* Opens a wake-up, cleared. IW_E_LIMIT: no free descriptors; IW_E_NOMEM; IW_E_OS. */
IW_MUST_CHECK int iw_loop_wakeup_open(struct iw_loop_wakeup *b, struct iw_loop *l,
				      struct iw_fault *why);
/* Closes it. Does nothing if it is not open. */
void iw_loop_wakeup_close(struct iw_loop_wakeup *b);
/* Sets (on) or clears it. Does nothing if it is not open, or is in that state already. */
void iw_loop_wakeup_set(struct iw_loop_wakeup *b, bool on);

#endif
