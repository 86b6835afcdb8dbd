/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the room: the loop, the objects that it watches, and functions shared by its files. */
#ifndef IW_LOOP_INTERNAL_H
#define IW_LOOP_INTERNAL_H

#include "loop/loop.h"

#include <sys/epoll.h>

#include <iwarp/verbs.h>

#include "llp/port.h"
#include "loop/near.h"
#include "sctpmap/unused.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/num.h"

enum watch_kind {
	WATCH_STREAM,
	WATCH_SESSION, /* has a timer only */
	WATCH_LISTENER,
	WATCH_PORT,
	WATCH_WAKE,
	WATCH_KICK,
	WATCH_TIMER,
};

/*
 * Part of each watched object: epoll reports its address for the descriptor, and the heap has its
 * timer. The object is found by kind and iw_container_of.
 */
struct watch {
	enum watch_kind kind;
	struct iw_timer timer;
};

/* loan.c: a loan, and all loans of a loop. The first slot has number 1. */
struct loan {
	struct iw_lender *from; /* NULL: the slot is free */
	const uint8_t *data;
	uint32_t turn; /* number of former loans of the slot */
	uint32_t next; /* the next free slot; 0: none */
};
struct loans {
	struct loan *slot;
	uint32_t cap, free;
	uint32_t out;      /* slots in use */
	uint32_t reserved; /* slots for the messages that open ports can lend */
};

struct iw_loop {
	const struct iw_mem *mem;
	int epoll;
	struct iw_heap timers;
	struct iw_list kicked;                 /* connections that the next flush serves */
	struct iw_list ready, ready_listeners; /* see iw_loop_next_conn, iw_loop_next_listener */
	struct iw_list ports, dirty;           /* all ports; those that may have pending output */
	struct iw_pool txbufs, spill;
	uint8_t *scratch;
	struct loans loans;
	unsigned conns;
	unsigned streams;    /* connections with a socket of their own */
	unsigned stag_ports; /* ports with a stag operation */
	unsigned ring_ports; /* ports over rings in memory, which have a peek operation */
	bool polls_rings;    /* the loop polls these rings, and their input does not wake it */
	uint64_t ring_at;    /* when one of the rings last had input */

	/*
	 * The connection or port whose input was all that the last wait found: the next wait may
	 * block in its socket (can_wait_direct). NULL: none.
	 */
	struct watch *direct;
	bool direct_ends;    /* a connection or port was added: the next wait is in epoll */
	unsigned unwoken;    /* such waits since the wake descriptor was last readable */
	uint64_t polled_at;  /* when epoll_wait last returned */
	uint64_t flushed_at; /* time of the flush before this wait; 0: it served no connection */
	uint64_t waits;      /* system calls that waited, or that changed what to wait for */

	struct iw_near near; /* when to poll before sleeping */

	int wake_fd; /* -1: none */
	struct watch wake, kick, timer;

	int timer_fd;
	uint64_t timer_at; /* when it fires; IW_TIME_NEVER: not armed */
	/*
	 * An eventfd in the epoll set, for the program's own event loop: readable while the next
	 * flush has work. -1 before the first iw_loop_wakeup_open.
	 */
	int kick_fd;
	bool kick_set; /* kick_fd is readable */
};

/* A port of the session transport in the loop. */
struct iw_loop_port {
	struct watch watch;
	struct iw_loop *loop;
	struct iw_port *llp;            /* owned */
	struct port_listener *listener; /* the listener on it; NULL: none, or closed */
	struct iw_list all, dirty, assocs;
	struct iw_list touched;  /* associations that changed since the last flush */
	struct iw_unused unused; /* associations without an open session */
	uint64_t charge_at;      /* when to read the memory of these next, or IW_TIME_NEVER */
	uint32_t armed;          /* epoll events watched for */
	bool direct;             /* not in the epoll set, because the wait is in the socket */
	bool blocked;            /* the socket is full */
	uint64_t rest_until;     /* out of memory: no retry before; 0: not resting */
};

/* An association on a port. */
struct iw_loop_assoc {
	struct iw_loop_port *port;
	struct iw_list all, touched;
	struct iw_assoc *llp; /* NULL: it has ended */
	struct iw_sctpmap *map;
	struct iw_list sessions;  /* its connections */
	struct iw_list requested; /* sessions that iw_loop_listener_next_session has not returned */
	struct iw_list waiting;   /* sessions with pending messages that the port did not take */
	struct iw_unused_entry unused;
	uint64_t charge_from;    /* while it is in unused: its memory counts from this time */
	uint32_t open;           /* sessions that this end has accepted */
	bool served;             /* such a session has existed */
	bool active;             /* this end has begun the association */
	bool blocked;            /* the port takes no message until ROOM */
	bool leaving;            /* its shutdown has begun */
	size_t held;             /* octets, as last reported to the port */
	struct iw_llp_ends ends; /* also after it has ended */
};

/* A session that a peer has requested from a listener. */
struct session_request {
	struct iw_list of_assoc, of_listener;
	struct iw_loop_assoc *assoc;
	struct iw_dss *session;
};

/* The operations of a kind of connection. */
struct conn_ops {
	/* Sends what is pending; called by the flush after a kick. */
	void (*serve)(struct iw_loop_conn *k, uint64_t now);
	/* The timer has fired: serves expired deadlines and sets it anew. */
	void (*timer)(struct iw_loop_conn *k, uint64_t now);
	/* Closes the transport (abort: resets it), and frees k. */
	void (*free)(struct iw_loop_conn *k, bool abort);
	void (*ends)(struct iw_loop_conn *k, struct iw_llp_ends *out);
	void (*facts)(struct iw_loop_conn *k, struct iw_llp_facts *out);
	int (*set_cc)(struct iw_loop_conn *k, const char *name, struct iw_fault *why);
	/* NULL: never encrypted. As iw_loop_conn_tls. */
	bool (*tls)(struct iw_loop_conn *k, struct iw_tls_info *out);
	/* NULL over a stream. As iw_loop_conn_accepted, _memory, _assoc. */
	void (*accepted)(struct iw_loop_conn *k);
	size_t (*memory)(struct iw_loop_conn *k);
	struct iw_loop_assoc *(*assoc)(struct iw_loop_conn *k);
};

/* A connection in the loop: the common part of both kinds (stream.c, session.c). */
struct iw_loop_conn {
	const struct conn_ops *ops;
	struct watch watch; /* its deadline; over a stream the socket too */
	struct iw_loop *loop;
	struct iw_conn *conn; /* borrowed */
	void *owner;
	struct iw_list kicked, ready;
	bool connecting;
};

/* A connection over a session of an association. */
struct session_conn {
	struct iw_loop_conn lc;
	struct iw_loop_assoc *assoc;
	uint16_t stream; /* of its session on the association */
	bool accepted;   /* this end has accepted its session */
	struct iw_list on_assoc, waiting;
};

struct listener_ops;
/* A listener in the loop: the common part of both kinds. */
struct iw_loop_listener {
	const struct listener_ops *ops;
	struct iw_loop *loop;
	void *owner;
	struct iw_list ready;
};

/* A listener on a port. */
struct port_listener {
	struct iw_loop_listener base;
	struct iw_loop_port *port;
	struct iw_sctpmap_cfg map_cfg; /* for each of its associations */
	struct iw_list requested;
};

/* watch.c */
/*
 * "Never", for a timer. A timer stays in the heap for the life of its object, so that moving it
 * cannot fail.
 */
#define NO_DEADLINE (IW_TIME_NEVER - 1)
/* Add the timer of w to the heap; move it. at: when it fires (monotonic ns). IW_E_NOMEM. */
IW_MUST_CHECK int iw_loop_add_timer(struct iw_loop *l, struct watch *w, uint64_t at,
				    struct iw_fault *why);
void iw_loop_set_timer(struct iw_loop *l, struct watch *w, uint64_t at);
/* If a wake-up has been opened, makes the timer descriptor fire at the nearest deadline. */
void iw_loop_arm_timer(struct iw_loop *l);
/* Makes the timer descriptor fire at that time or earlier. */
void iw_loop_arm_timer_at(struct iw_loop *l, uint64_t at);
/* Appends n to the list unless n is in it. */
void iw_loop_note(struct iw_list *head, struct iw_list *n);
/*
 * Adds fd to the epoll set (add), or changes the events for which it is watched; epoll then reports
 * w (borrowed). IW_E_PERM: fd cannot be polled; IW_E_NOMEM; IW_E_OS.
 */
IW_MUST_CHECK int iw_loop_watch(struct iw_loop *l, int fd, uint32_t events, struct watch *w,
				bool add, struct iw_fault *why);
/* Removes fd from the epoll set, if it is in it. */
void iw_loop_unwatch(struct iw_loop *l, int fd);
/* Makes the wake-ups of the program readable until the next flush. */
void iw_loop_kick_wakeup(struct iw_loop *l);
/* Make an eventfd or timerfd unreadable, by reading it; make an eventfd readable. */
void iw_loop_drain(int fd);
void iw_loop_set_eventfd(int fd);

/* conn.c */
/* Sets the common members of k, and counts it as a connection of l. */
void iw_loop_conn_init(struct iw_loop_conn *k, const struct conn_ops *ops, enum watch_kind kind,
		       struct iw_loop *l, struct iw_conn *conn, void *owner);
/* True if conn is closed. */
bool iw_loop_conn_over(const struct iw_loop_conn *k);
/*
 * Add, and set, the timer of k: the deadline of conn, or at if that is earlier, but always after
 * now. IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_loop_conn_add_timer(struct iw_loop_conn *k, uint64_t at, uint64_t now,
					 struct iw_fault *why);
void iw_loop_conn_set_timer(struct iw_loop_conn *k, uint64_t at, uint64_t now);
/*
 * Call it after k was served: moves the timer if the deadline is earlier now, and queues k for
 * iw_loop_next_conn.
 */
void iw_loop_conn_settle(struct iw_loop_conn *k, uint64_t at, uint64_t now);
/* Returns IW_E_NOTSUP with the text that this transport has no choice of congestion control. */
int iw_loop_no_cc(const char *cc, const char *transport, struct iw_fault *why);

/* stream.c */
/* Serves the connection. events: what epoll has reported for its socket. */
void iw_loop_stream_ready(struct iw_loop_conn *lc, uint32_t events, uint64_t now);
/*
 * Waits for octets in the socket, outside the epoll set, and serves the connection. block false:
 * only looks for octets. Sets *now to the time after the wait. Returns 0. IW_E_AGAIN: none arrived
 * within some ms, or none are there; IW_E_CANCELED: a signal ended the wait.
 */
int iw_loop_stream_wait(struct iw_loop_conn *lc, bool block, uint64_t *now);
/* Ends such waits: puts the socket back into the epoll set. */
void iw_loop_stream_leave(struct iw_loop_conn *lc);
/* True if the connection waits only for input, and its transport can wait in the socket. */
bool iw_loop_stream_can_wait(struct iw_loop_conn *lc);

/* session.c */
/*
 * Reports to the port which DDP stream uses the session's SCTP stream, and so which STags are valid
 * there. on false: reports that no DDP stream uses it.
 */
void iw_loop_session_report(const struct session_conn *k, bool on);
/*
 * Passes a message to the connection. A Send in it may stay in the port's memory, as a loan. If it
 * is shorter than LEND_MIN, copying costs less than lending the packet.
 */
void iw_loop_session_arrived(struct session_conn *k, const struct iw_port_msg *m,
			     const struct iw_dss_segment *seg, uint64_t now);

/* assoc.c */
/* Creates an association of d, without an llp. cfg is copied. IW_E_NOMEM; as iw_sctpmap_new. */
IW_MUST_CHECK int iw_loop_assoc_new(struct iw_loop_assoc **out, struct iw_loop_port *d,
				    const struct iw_sctpmap_cfg *cfg, struct iw_fault *why);
/* Frees an association, which must have no connections. Refuses its requested sessions. */
void iw_loop_assoc_free(struct iw_loop_assoc *t);
/*
 * Makes the next flush check whether the association has pending output, or must end. A turn
 * flushes the ports itself; a caller outside of it also calls iw_loop_kick_wakeup.
 */
void iw_loop_assoc_touch(struct iw_loop_assoc *t);
/* The memory of the association, without its accepted sessions. */
size_t iw_loop_assoc_memory(const struct iw_loop_assoc *t);
/* Copies the addresses and the message size of the llp, which may have changed. */
void iw_loop_assoc_note_facts(struct iw_loop_assoc *t);
/*
 * As iw_loop_conn_ends, iw_loop_conn_facts, iw_loop_conn_tls, iw_loop_conn_set_cc, for all its
 * connections.
 */
void iw_loop_assoc_ends(const struct iw_loop_assoc *t, struct iw_llp_ends *out);
void iw_loop_assoc_facts(const struct iw_loop_assoc *t, struct iw_llp_facts *out);
bool iw_loop_assoc_tls(const struct iw_loop_assoc *t, struct iw_tls_info *out);
int iw_loop_assoc_set_cc(struct iw_loop_assoc *t, const char *name, struct iw_fault *why);
/*
 * Ends all connections of the association with the fault why, because the association has ended or
 * must not be used. why->err 0: the peer has shut it down.
 */
void iw_loop_assoc_lost(struct iw_loop_assoc *t, const struct iw_fault *why, uint64_t now);
/* Shuts down the association (RFC 9260 9.2). Ignores sessions that the peer begins later. */
void iw_loop_assoc_shut_down(struct iw_loop_assoc *t, uint64_t now);
/* Call it when the port accepts messages again: kicks the sessions that have some pending. */
void iw_loop_assoc_kick_waiting(struct iw_loop_assoc *t);
/* True unless the SCTP stream of k belongs to another connection by now. */
bool iw_loop_assoc_is_of(const struct iw_loop_assoc *t, const struct session_conn *k);
/* As iw_loop_listener_next_session. */
bool iw_loop_assoc_next_request(struct port_listener *g, struct iw_loop_assoc **assoc,
				struct iw_dss **session);
/* Process a message, and an event, of the port. */
void iw_loop_assoc_take_msg(const struct iw_port_msg *m, uint64_t now);
void iw_loop_assoc_take_event(struct iw_loop_port *d, const struct iw_assoc_event *ev,
			      uint64_t now);
/* Sends pending session control messages, until the port takes no more. */
void iw_loop_assoc_send_control(struct iw_loop_assoc *t, uint64_t now);
/*
 * Reports to the port how many octets of received messages the sessions hold. Call it before
 * output, so that the next SACK advertises the right window.
 */
void iw_loop_assoc_report_held(struct iw_loop_assoc *t);

/* unused.c */
/*
 * Call it when the sessions of t have changed: if none is open, sets a deadline for t, or ends it.
 */
void iw_loop_unused_check(struct iw_loop_assoc *t, uint64_t now);
/* Abort or shut down associations whose deadline has passed; abort those above the memory limit. */
void iw_loop_unused_expire(struct iw_loop_port *d, uint64_t now);
void iw_loop_unused_charge(struct iw_loop_port *d, uint64_t now);
/* As iw_loop_listener_memory, iw_loop_listener_limit_unused. */
size_t iw_loop_port_memory(const struct iw_loop_port *d);
void iw_loop_port_limit_unused(struct iw_loop_port *d, size_t octets);

/* port.c */
/*
 * Adds a port to the loop, which takes ownership of it (on failure too). unused_ns as in struct
 * iw_sctpmap_cfg. IW_E_NOMEM; IW_E_OS: no random number, or the port cannot be watched.
 */
IW_MUST_CHECK int iw_loop_port_new(struct iw_loop_port **out, struct iw_loop *l,
				   struct iw_port *port, uint64_t unused_ns, struct iw_fault *why);
/*
 * Shuts down every association once both ends have sent the last message of each session, and waits
 * at most IW_CTX_FREE_NS_MAX in all for the peers to confirm.
 */
void iw_loop_ports_shut_down(struct iw_loop *l);
/* Removes the listener on d. The next flush shuts down associations without an open session. */
void iw_loop_port_close_listener(struct iw_loop_port *d);
/* Frees d and its associations, which must have no sessions. Aborts those that are still up. */
void iw_loop_port_free(struct iw_loop_port *d);
/* Reads and processes one batch of input. */
void iw_loop_port_ready(struct iw_loop_port *d, uint64_t now);
/* As iw_loop_stream_wait, iw_loop_stream_leave, iw_loop_stream_can_wait. */
int iw_loop_port_wait(struct iw_loop_port *d, bool block, uint64_t *now);
void iw_loop_port_leave(struct iw_loop_port *d);
bool iw_loop_port_can_wait(const struct iw_loop_port *d);
/* The timer has fired: serves expired deadlines and sets it anew. */
void iw_loop_port_timer(struct iw_loop_port *d, uint64_t now);
/*
 * Sends the pending output of all marked ports, then frees those without a listener and without
 * associations.
 */
void iw_loop_port_flush_all(struct iw_loop *l, uint64_t now);
/* The port is out of memory: the loop offers it pending messages again after 10 ms. */
static inline void iw_loop_port_rest(struct iw_loop_port *d, uint64_t now)
{
	d->rest_until = now + IW_MSEC(10);
}
/* Marks d for iw_loop_port_flush_all. */
static inline void iw_loop_port_mark(struct iw_loop_port *d)
{
	iw_loop_note(&d->loop->dirty, &d->dirty);
}

/* loan.c */
/* Reserves n slots for a port while it is open. */
IW_MUST_CHECK int iw_loop_loans_reserve(struct iw_loop *l, unsigned n, struct iw_fault *why);
static inline void iw_loop_loans_unreserve(struct iw_loop *l, unsigned n)
{
	l->loans.reserved -= n;
}
/* The id of the next loan; 0: no slot is free. */
uint64_t iw_loop_next_loan(const struct iw_loop *l);
/* Makes the loan with that id. A slot must be free. */
void iw_loop_lend(struct iw_loop *l, struct iw_lender *from, const uint8_t *data);
/* Returns all loans to their lenders. */
void iw_loop_loans_free(struct iw_loop *l);

/* ring.c */
enum iw_ring_turn {
	IW_RING_DONE,  /* the turn is complete */
	IW_RING_LOOK,  /* input was served; check the other descriptors too, without waiting */
	IW_RING_AGAIN, /* no input yet; check the other descriptors, then poll the rings again */
	IW_RING_WAIT,  /* no input for some time: wait in epoll */
};
/*
 * Polls the ports over rings and serves their input. Returns after serving input, when none has
 * arrived for some time, or at until.
 */
enum iw_ring_turn iw_loop_turn_rings(struct iw_loop *l, uint64_t until);
/*
 * Call it before a wait: from now on input of the rings wakes the loop. Returns false if there is
 * input already.
 */
bool iw_loop_rest(struct iw_loop *l);

/* loop.c */
/* Ends the waits in one socket (direct): its connection or port returns to the epoll set. */
void iw_loop_end_direct(struct iw_loop *l);
/* Returns when a wait must end at the latest. 0: do not wait. */
uint64_t iw_loop_wait_end(const struct iw_loop *l, uint64_t until);
/* True if all descriptors must be checked now, because the last check was too long ago. */
bool iw_loop_poll_all_due(const struct iw_loop *l, uint64_t now);
/* Serves expired timers. Returns true if there were any. */
bool iw_loop_fire_timers(struct iw_loop *l, uint64_t now);

/* listener.c, of a stream listener: queues it for iw_loop_next_listener; ends its rest. */
void iw_loop_listener_ready(struct watch *w);
void iw_loop_listener_timer(struct watch *w);

#endif
