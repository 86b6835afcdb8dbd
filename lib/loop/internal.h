/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the room: the loop, the objects that it watches, and functions shared by its files. */
#ifndef IW_LOOP_INTERNAL_H
#define IW_LOOP_INTERNAL_H

#include "loop/loop.h"

#include <sys/epoll.h>

#include "llp/port.h"
#include "sctpmap/unused.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/num.h"

enum watch_kind { WATCH_LINK, WATCH_GATE, WATCH_DOCK, WATCH_WAKE, WATCH_KICK, WATCH_TIMER };

/*
 * Part of each watched object: epoll reports its address for the descriptor, and the heap has its
 * timer. The object is found by kind and iw_container_of.
 */
struct watch {
	enum watch_kind kind;
	struct iw_timer timer;
};

/* loan.c. The first slot has number 1. */
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
	uint32_t reserved; /* for open ports */
};

struct iw_loop {
	const struct iw_mem *mem;
	int epoll;
	struct iw_heap timers;
	struct iw_list kicked; /* links to serve at the next flush */
	struct iw_list news, gate_news;
	struct iw_list docks, dirty; /* all ports; those that may have pending output */
	struct iw_pool txbufs, spill;
	uint8_t *scratch;
	struct loans loans;
	unsigned links, gates;
	unsigned sockets; /* links with a socket of their own */
	unsigned knowing; /* ports with a stag operation */
	unsigned ringed;  /* ports over rings in memory, which have a peek operation */
	bool awake;       /* the loop polls these rings, and their input does not wake it */
	uint64_t ring_at; /* when one of them last had input */

	/* The link or port whose input was all that the last wait found; NULL: none. */
	struct watch *hot;
	unsigned unwoken;    /* waits with such a result since the wake descriptor was readable */
	uint64_t polled_at;  /* when epoll_wait last returned */
	uint64_t flushed_at; /* time of the flush before this wait; 0: no link was kicked */
	uint64_t waits;      /* system calls that waited, or that changed what to wait for */

	int wake_fd; /* -1: none */
	struct watch wake, kick, timer;

	int timer_fd;
	uint64_t timer_at; /* when it fires; IW_TIME_NEVER: not armed */
	/*
	 * An eventfd in the epoll set, for the program's own event loop: readable while links are
	 * kicked. -1 before the first iw_bell_open.
	 */
	int kick_fd;
	bool kick_rings; /* kick_fd is readable */
};

/* A port of a message transport in the loop. */
struct iw_dock {
	struct watch watch;
	struct iw_loop *loop;
	struct iw_port *port;
	struct iw_gate *gate; /* the listener on it; NULL: none, or closed */
	struct iw_list all, dirty, trunks;
	struct iw_list touched;  /* associations that changed since the last flush */
	struct iw_unused unused; /* associations without an open session */
	uint64_t charge_at;      /* the next reading of their memory, or IW_TIME_NEVER */
	uint32_t armed;          /* epoll events watched for */
	bool direct;             /* not in the epoll set, because the wait is in the socket */
	bool blocked;            /* the socket is full */
	uint64_t rest_until;     /* out of memory: no retry before; 0: not resting */
};

/* An association on a port. */
struct iw_trunk {
	struct iw_dock *dock;
	struct iw_list all, touched;
	struct iw_assoc *assoc; /* NULL: it has ended */
	struct iw_sctpmap *map;
	struct iw_list links;   /* its connections */
	struct iw_list asked;   /* requested sessions that iw_gate_next_session has not returned */
	struct iw_list waiting; /* links with pending messages that the port did not take */
	struct iw_unused_entry unused;
	uint64_t charge_from; /* while it is in unused: its memory is not charged before */
	uint32_t open;        /* links whose sessions this end has accepted */
	bool served;          /* such a session existed */
	bool active, blocked;
	bool leaving;       /* its shutdown has begun */
	size_t held;        /* octets, as last reported to the port */
	struct iw_llp face; /* the transport as its links show it */
};

/* A session that a peer has requested from a listener. */
struct asked {
	struct iw_list of_trunk, of_gate;
	struct iw_trunk *trunk;
	struct iw_dss *session;
};

struct iw_link {
	struct watch watch;
	struct iw_loop *loop;
	struct iw_llp *llp;
	struct iw_conn *conn;
	void *owner;
	struct iw_trunk *trunk; /* its association, whose face is llp; NULL: over a stream */
	uint16_t stream;        /* of its session on the association */
	struct iw_list on_trunk, waiting;
	bool accepted; /* this end has accepted its session */
	struct iw_list kicked, news;
	uint32_t armed; /* epoll events watched for */
	bool watched;   /* the descriptor is in the epoll set */
	bool direct;    /* not in the epoll set, because the wait is in the socket */
	bool connecting;
	bool blocked; /* the socket is full: wait for EPOLLOUT */
	uint64_t
		unacked; /* then: the octets in it that the peer has not acknowledged, at the last look */
	bool deaf;    /* it hung up while conn wants no input: not watched until conn wants some */
	bool holding; /* the transport holds back segments that are not full */
	bool tx_dead; /* sending failed (send_why); octets that have arrived are still read */
	uint64_t attempt_at; /* connecting: when the attempt at this address is given up */
	uint64_t rest_until; /* out of memory: no reads and no sends before; 0: not resting */
	uint64_t emss_at;    /* when the EMSS was last read */
	struct iw_fault send_why;
};

struct iw_gate {
	struct watch watch;
	struct iw_loop *loop;
	struct iw_llp *llp;   /* on a port: face */
	struct iw_dock *dock; /* its port; NULL: over a stream */
	struct iw_sctpmap_cfg map_cfg;
	struct iw_list asked;
	void *owner;
	struct iw_list news;
	bool watched;
	struct iw_llp face;
};

/* loop.c */
/*
 * "Never", for a timer. A timer stays in the heap for the life of its object, so that moving it
 * cannot fail.
 */
#define FAR_AWAY (IW_TIME_NEVER - 1)
IW_MUST_CHECK int iw_loop_add_timer(struct iw_loop *l, struct watch *w, uint64_t at,
				    struct iw_fault *why);
void iw_loop_set_timer(struct iw_loop *l, struct watch *w, uint64_t at);
/* Ends the waits in one socket (hot): its link or port returns to the epoll set. */
void iw_loop_cool_down(struct iw_loop *l);
/* Arms the timer for the nearest deadline if a bell has been opened. */
void iw_loop_time_bells(struct iw_loop *l);
/* Appends n to the list unless n is in it. */
void iw_loop_note(struct iw_list *head, struct iw_list *n);
void iw_loop_kick_bell(struct iw_loop *l);
/* Adds fd to the epoll set (add), or changes the events that it is watched for. IW_E_OS. */
IW_MUST_CHECK int iw_loop_watch(struct iw_loop *l, int fd, uint32_t events, struct watch *w,
				bool add, struct iw_fault *why);
void iw_loop_unwatch(struct iw_loop *l, int fd);

/* link.c */
/*
 * Waits for octets in the socket, outside the epoll set, and serves k. IW_E_AGAIN: none arrived
 * within some ms; IW_E_CANCELED: a signal ended the wait; else 0.
 */
int iw_link_wait(struct iw_link *k, uint64_t now);
/* Ends such waits: puts the socket back into the epoll set. */
void iw_link_leave(struct iw_link *k);
/* True if k waits only for input, and its transport can wait in the socket. */
bool iw_link_can_wait(const struct iw_link *k);
void iw_link_ready(struct iw_link *k, uint32_t events, uint64_t now);
void iw_link_serve(struct iw_link *k, uint64_t now); /* kicked */
void iw_link_timer(struct iw_link *k, uint64_t now);

/* dock.c */
/* unused_ns: as in struct iw_sctpmap_cfg. */
IW_MUST_CHECK int iw_dock_new(struct iw_dock **out, struct iw_loop *l, struct iw_port *port,
			      uint64_t unused_ns, struct iw_fault *why);
/*
 * Shuts down every association once both ends have sent the last message of each session, and waits
 * up to 3 s in all for the peers to confirm.
 */
void iw_docks_part(struct iw_loop *l);
/* The listener on d is closed: its associations without an open session are shut down. */
void iw_dock_close_gate(struct iw_dock *d);
/* Frees d and its associations, which must have no links. Aborts those that are still up. */
void iw_dock_free(struct iw_dock *d);
/* As iw_gate_memory, iw_gate_limit_unused. */
size_t iw_dock_memory(const struct iw_dock *d);
void iw_dock_limit_unused(struct iw_dock *d, size_t octets);
void iw_dock_ready(struct iw_dock *d, uint64_t now);
/* As iw_link_wait, iw_link_leave, iw_link_can_wait. */
int iw_dock_wait(struct iw_dock *d);
void iw_dock_leave(struct iw_dock *d);
bool iw_dock_can_wait(const struct iw_dock *d);
void iw_dock_timer(struct iw_dock *d, uint64_t now);
/*
 * Sends the pending output of all marked ports, then frees those without a listener and without
 * associations.
 */
void iw_dock_flush_all(struct iw_loop *l, uint64_t now);
/* Marks d for iw_dock_flush_all. */
void iw_dock_mark(struct iw_dock *d);
/* Copies the port's counts of system calls to the face of t. */
void iw_trunk_count(struct iw_trunk *t);
void iw_trunk_free(struct iw_trunk *t);
void iw_trunk_add(struct iw_trunk *t, struct iw_link *k);
/* True: the association was not established within @waited ns, and *why names its peer. */
bool iw_trunk_no_answer(const struct iw_trunk *t, uint64_t waited, struct iw_fault *why);
void iw_trunk_remove(struct iw_link *k);
void iw_trunk_serve(struct iw_link *k, uint64_t now);
void iw_trunk_facts(const struct iw_trunk *t, struct iw_llp_facts *out);
int iw_trunk_set_cc(struct iw_trunk *t, const char *name, struct iw_fault *why);

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
void iw_loop_loans_free(struct iw_loop *l);

/* ring.c */
enum iw_ring_turn {
	IW_RING_DONE,  /* the turn is complete */
	IW_RING_LOOK,  /* served; check the other descriptors too, without waiting */
	IW_RING_AGAIN, /* no input yet; check the other descriptors, then poll the rings again */
	IW_RING_WAIT,  /* no input for some time: wait in epoll */
};
/*
 * Polls the ports over rings and serves their input. Returns when it has served some, when none
 * arrived for some time, or at until.
 */
enum iw_ring_turn iw_loop_turn_rings(struct iw_loop *l, uint64_t until);
/* Call it before a wait: input of the rings wakes the loop again. False: there is input already. */
bool iw_loop_rest(struct iw_loop *l);

/* loop.c */
uint64_t iw_loop_wait_end(const struct iw_loop *l, uint64_t until);
bool iw_loop_look_round_due(const struct iw_loop *l, uint64_t now);
bool iw_loop_fire_timers(struct iw_loop *l, uint64_t now);

/* gate.c */
void iw_gate_ready(struct iw_gate *g);
void iw_gate_timer(struct iw_gate *g);

/* bell.c */
void iw_loop_drain(int fd);

#endif
