/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside loop: the loop, what it watches, and what its files call of each other. */
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
 * What epoll hands back for a descriptor, and the deadline that may belong to it: both lead to
 * whose they are.
 */
struct watch {
	enum watch_kind kind;
	struct iw_timer timer;
};

/* loan.c. Slots are numbered from 1 on. */
struct loan {
	struct iw_lender *from; /* NULL: it is free */
	const uint8_t *data;
	uint32_t turn; /* loans that had the slot before */
	uint32_t next; /* free one; 0: none */
};
struct loans {
	struct loan *slot;
	uint32_t cap, free;
	uint32_t out;
	uint32_t reserved; /* by ports that are open */
};

struct iw_loop {
	const struct iw_mem *mem;
	int epoll;
	struct iw_heap timers;
	struct iw_list kicked; /* links to be served at the next flush */
	struct iw_list news, gate_news;
	struct iw_list docks, dirty; /* ports; those with something to send, perhaps */
	struct iw_pool txbufs, spill;
	uint8_t *scratch;
	struct loans loans;
	unsigned links, gates;
	unsigned sockets; /* links that have one of their own */
	unsigned knowing; /* docks whose ports are told of STags */
	unsigned ringed;  /* docks over rings that can be peeked into */
	bool awake;       /* these rings wake nobody: they are looked at */
	uint64_t ring_at; /* when there was last something in one */

	struct watch *
		hot; /* of the link or port whose octets were all that the last wait found, or NULL */
	unsigned unwoken;    /* waits that found only octets, since the last wake */
	uint64_t polled_at;  /* when everything was last looked at */
	uint64_t flushed_at; /* the flush before this wait found work then; 0: none */
	uint64_t waits;      /* system calls that waited, or told the kernel what for */

	int wake_fd; /* -1: none */
	struct watch wake, kick, timer;

	int timer_fd;
	uint64_t timer_at; /* it is armed for then; IW_TIME_NEVER: not armed */
	/*
	 * For other people's event loops, from the first bell on: links that were kicked make the
	 * epoll descriptor readable.
	 */
	int kick_fd; /* -1: nobody asked */
	bool kick_rings;
};

/* A port of a message transport in the loop. */
struct iw_dock {
	struct watch watch;
	struct iw_loop *loop;
	struct iw_port *port;
	struct iw_gate *gate; /* that listens on it; NULL: none, or no more */
	struct iw_list all, dirty, trunks;
	struct iw_list touched;  /* trunks on which something happened since the last flush */
	struct iw_unused unused; /* trunks without an open session */
	uint64_t
		charge_at; /* next reading of their memory; IW_TIME_NEVER if there are no such trunks */
	uint32_t armed;
	bool direct;         /* not in the epoll set, because the wait is in the socket itself */
	bool blocked;        /* the socket takes no more */
	uint64_t rest_until; /* out of memory; 0: no */
};

/* An association on it. */
struct iw_trunk {
	struct iw_dock *dock;
	struct iw_list all, touched;
	struct iw_assoc *assoc; /* NULL: gone */
	struct iw_sctpmap *map;
	struct iw_list links;   /* its connections */
	struct iw_list asked;   /* sessions that nobody has taken on yet */
	struct iw_list waiting; /* links with messages that it did not take */
	struct iw_unused_entry unused;
	uint64_t charge_from; /* while it is in unused, its memory does not count before */
	uint32_t open;        /* links whose sessions this end has accepted */
	bool served;          /* such a session existed */
	bool active, blocked;
	bool leaving;       /* its shutdown has begun */
	size_t held;        /* octets, as last reported to the port */
	struct iw_llp face; /* what its links show of their transport */
};

/* A session that the peer wants, at the gate. */
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
	struct iw_trunk *trunk; /* over messages; then llp is its face */
	uint16_t stream;        /* that of its session there */
	struct iw_list on_trunk, waiting;
	bool accepted; /* this end has accepted its session */
	struct iw_list kicked, news;
	uint32_t armed; /* epoll events watched for */
	bool watched;   /* the descriptor is in the epoll set */
	bool direct;    /* it is not, because the wait is in the socket itself */
	bool connecting;
	bool blocked; /* the socket takes no more: wait for EPOLLOUT */
	bool deaf;    /* it hung up while nothing is to be read: not watched until something is */
	bool holding; /* the transport holds segments back that are not full */
	bool tx_dead; /* sending has failed, send_why says how: what has arrived is still read */
	uint64_t attempt_at; /* connecting: when this address has had its time */
	uint64_t rest_until; /* out of memory: neither read nor sent until then; 0: no */
	uint64_t emss_at;    /* when the EMSS was read last */
	struct iw_fault send_why;
};

struct iw_gate {
	struct watch watch;
	struct iw_loop *loop;
	struct iw_llp *llp;   /* over messages: a face of the port */
	struct iw_dock *dock; /* NULL: over a stream */
	struct iw_sctpmap_cfg map_cfg;
	struct iw_list asked;
	void *owner;
	struct iw_list news;
	bool watched;
	struct iw_llp face;
};

/* loop.c */
/*
 * Timers stay in the heap as long as their link or gate lives, so that moving one cannot fail:
 * "never" is far away.
 */
#define FAR_AWAY (IW_TIME_NEVER - 1)
IW_MUST_CHECK int iw_loop_add_timer(struct iw_loop *l, struct watch *w, uint64_t at,
				    struct iw_fault *why);
void iw_loop_set_timer(struct iw_loop *l, struct watch *w, uint64_t at);
/* Nothing is waited for in its socket any more. */
void iw_loop_cool_down(struct iw_loop *l);
/* With bells the timer stands for the nearest deadline at any time. */
void iw_loop_time_bells(struct iw_loop *l);
/* Into the list, if it is not there. */
void iw_loop_note(struct iw_list *head, struct iw_list *n);
void iw_loop_kick_bell(struct iw_loop *l);
/* epoll_ctl: adds the descriptor or changes what it is watched for. IW_E_OS. */
IW_MUST_CHECK int iw_loop_watch(struct iw_loop *l, int fd, uint32_t events, struct watch *w,
				bool add, struct iw_fault *why);
void iw_loop_unwatch(struct iw_loop *l, int fd);

/* link.c */
/*
 * Waits for octets in the socket itself. IW_E_AGAIN: none came in some ms; IW_E_CANCELED: a signal
 * did; else 0.
 */
int iw_link_wait(struct iw_link *k, uint64_t now);
/* Back into the epoll set. */
void iw_link_leave(struct iw_link *k);
/* Receiving is all that there is to wait for, and its transport can. */
bool iw_link_can_wait(const struct iw_link *k);
void iw_link_ready(struct iw_link *k, uint32_t events, uint64_t now);
void iw_link_serve(struct iw_link *k, uint64_t now); /* kicked */
void iw_link_timer(struct iw_link *k, uint64_t now);

/* dock.c */
/* unused_ns: as in struct iw_sctpmap_cfg. */
IW_MUST_CHECK int iw_dock_new(struct iw_dock **out, struct iw_loop *l, struct iw_port *port,
			      uint64_t unused_ns, struct iw_fault *why);
/* Shuts down every association without pending output, and waits up to 3 s in all for the peers to confirm. */
void iw_docks_part(struct iw_loop *l);
/* The listener is closed: associations without an open session end in order. */
void iw_dock_close_gate(struct iw_dock *d);
/* With its trunks, which have no links any more; associations that are still up are aborted. */
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
/* What is to go from ports goes; those that nobody needs any more go too. */
void iw_dock_flush_all(struct iw_loop *l, uint64_t now);
void iw_dock_mark(struct iw_dock *d);
/* What its face shows of the port is as new. */
void iw_trunk_count(struct iw_trunk *t);
void iw_trunk_free(struct iw_trunk *t);
void iw_trunk_add(struct iw_trunk *t, struct iw_link *k);
void iw_trunk_remove(struct iw_link *k);
void iw_trunk_serve(struct iw_link *k, uint64_t now);
void iw_trunk_facts(const struct iw_trunk *t, struct iw_llp_facts *out);
int iw_trunk_set_cc(struct iw_trunk *t, const char *name, struct iw_fault *why);

/* loan.c */
/* Slots for a port, as long as it is open. */
IW_MUST_CHECK int iw_loop_loans_reserve(struct iw_loop *l, unsigned n, struct iw_fault *why);
static inline void iw_loop_loans_unreserve(struct iw_loop *l, unsigned n)
{
	l->loans.reserved -= n;
}
/* How the next loan will be called; 0: there can be none now. And it is one. */
uint64_t iw_loop_next_loan(const struct iw_loop *l);
void iw_loop_lend(struct iw_loop *l, struct iw_lender *from, const uint8_t *data);
void iw_loop_loans_free(struct iw_loop *l);

/* ring.c */
enum iw_ring_turn {
	IW_RING_DONE,  /* that was all for this turn */
	IW_RING_LOOK,  /* but for a look at everything else, without waiting */
	IW_RING_AGAIN, /* nothing came, and after such a look the rings are looked at again */
	IW_RING_WAIT,  /* nothing has come for a while */
};
/* Docks over rings: what is in them, or comes soon, until the wait must end. */
enum iw_ring_turn iw_loop_turn_rings(struct iw_loop *l, uint64_t until);
/* Before a wait: they wake us again. False: something has come meanwhile. */
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
