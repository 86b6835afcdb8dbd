/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to lib/llp: the port of kernel SCTP (sctp_kernel*.c), and its associations. A listener
 * and each association have a one-to-one socket (RFC 6458). The port's fd is an epoll descriptor
 * that covers all of them.
 */
#ifndef IW_LLP_SCTP_KERNEL_H
#define IW_LLP_SCTP_KERNEL_H

#include <netinet/in.h>
#include <netinet/sctp.h>

#include "llp/port.h"
#include "os/addr.h"
#include "util/list.h"
#include "util/num.h"

#define ADDR_MAX  8            /* addresses of one host that are tried */
#define BUF_LEN   (128 * 1024) /* longest message: twice the longest DDP segment */
#define NOTE_LEN  sizeof(union sctp_notification)
#define READY_MAX 64 /* sockets, or connections to accept, that one call of input handles */

/* Events of an association, a set of bits. */
enum { EVENT_UP = 1, EVENT_MTU = 2, EVENT_ROOM = 4, EVENT_ALL_ACKED = 8, EVENT_DOWN = 16 };

struct kassoc {
	struct iw_assoc assoc;
	struct iw_list all, ready, events; /* in the lists of the port */
	int fd;                            /* -1: closed */
	/*
	 * The part of an incomplete message or notification that has arrived. The stack delivers a
	 * long message in parts when its memory is short (partial delivery, RFC 6458 6.1.7).
	 * Messages of other associations and notifications can arrive in between.
	 */
	uint8_t *part; /* of a message; owned */
	size_t part_len, part_cap;
	uint8_t note[NOTE_LEN]; /* a notification; truncated if longer */
	size_t note_len;
	bool connecting;  /* of connect: not established yet; another address may be tried */
	bool comm_up;     /* the stack has reported COMM_UP */
	bool reported_up; /* UP is queued, or was taken */
	bool full;        /* the socket has refused a message: ROOM follows */
	unsigned pending; /* set of EVENT_* */
	unsigned budget;  /* messages that may still be read in this turn */
	uint32_t armed;   /* epoll events that are watched for */
	/* When the kernel was last asked for traced events, and its answer about the primary address. */
	uint64_t sampled_at;
	struct sctp_paddrinfo traced;
};

struct kport {
	struct iw_port port;
	struct iw_port_cfg cfg; /* without its texts, which are borrowed */
	int listener;           /* -1: none */
	uint64_t accept_at;     /* the listener is not watched until then; 0: it is */
	struct iw_addr target[ADDR_MAX], bind; /* the addresses of the host; bind.len 0: any */
	size_t ntargets, next_target;
	char interface[32];
	/* Associations: all; those with something to read; those with events. */
	struct iw_list assocs, ready, events;
	struct kassoc *last; /* the association of the last message, and of the stash */
	bool stashed;        /* stash is held until the caller has taken UP */
	struct iw_port_msg stash;
	uint8_t *buf; /* BUF_LEN octets: the last receive */
};

static inline struct kport *port_of(struct iw_port *p)
{
	return iw_container_of(p, struct kport, port);
}

static inline struct kassoc *assoc_of(struct iw_assoc *a)
{
	return iw_container_of(a, struct kassoc, assoc);
}

/*
 * The functions iw_port_kernel_NAME that return or take a struct iw_port or iw_assoc are the
 * operations NAME of struct iw_port_ops, with the same contracts.
 */

/* sctp_kernel_sock.c */
/* Sets a socket option of SCTP, called name in *why. IW_E_OS and others: as iw_os_fail. */
IW_MUST_CHECK int iw_port_kernel_set(int fd, int option, const void *value, socklen_t len,
				     const char *name, struct iw_fault *why);
/* Sets the options of a socket before its association begins: streams, indication, SACK delay. */
IW_MUST_CHECK int iw_port_kernel_prepare(int fd, const struct iw_port_cfg *cfg,
					 struct iw_fault *why);
/*
 * Opens and prepares a socket, bound to the interface of k if there is one. *fd is owned by the
 * caller; -1 after an error. IW_E_NOENT: no such interface; other errors: as iw_os_fail.
 */
IW_MUST_CHECK int iw_port_kernel_new_socket(int *fd, struct kport *k, int family,
					    struct iw_fault *why);
/* Adds fd to the epoll set, or changes its events. owner: its association; NULL: the listener. */
IW_MUST_CHECK int iw_port_kernel_watch(struct kport *k, int fd, void *owner, uint32_t events,
				       bool add);
/* Watches for the events that x waits for. */
void iw_port_kernel_watch_assoc(struct kport *k, struct kassoc *x);

/* sctp_kernel_assoc.c */
/* Queues the events what, a set of EVENT_*. */
void iw_port_kernel_queue_event(struct kport *k, struct kassoc *x, unsigned what);
/* Fills *why for the failed connect to peer, with a hint. Returns its error. */
int iw_port_kernel_fail_connect(const struct kport *k, int errnum, const struct iw_addr *peer,
				struct iw_fault *why);
/*
 * The association has ended: closes its socket and queues DOWN with *why. While x is connecting,
 * tries the next address of the host instead.
 */
void iw_port_kernel_went_down(struct kport *k, struct kassoc *x, const struct iw_fault *why);
/* The peer violated the protocol: the association ends with an ABORT. */
void iw_port_kernel_violated(struct kport *k, struct kassoc *x, const struct iw_fault *why);
/* A system call on the socket of x has failed with errnum: the association ends. step: the call. */
void iw_port_kernel_broken(struct kport *k, struct kassoc *x, const char *step, int errnum);
/*
 * Accepts the pending associations of the listener, at most READY_MAX. Without a free descriptor or
 * memory, it stops watching the listener until accept_at.
 */
void iw_port_kernel_accept_all(struct kport *k, uint64_t now);
/* Reads max_message again from the socket. */
void iw_port_kernel_note_size(struct kassoc *x);
int iw_port_kernel_connect(struct iw_port *p, struct iw_assoc **out, uint64_t now,
			   struct iw_fault *why);
void iw_port_kernel_shutdown(struct iw_assoc *a, uint64_t now);
void iw_port_kernel_abort(struct iw_assoc *a, const char *reason, uint64_t now);
void iw_port_kernel_release(struct iw_assoc *a);
unsigned iw_port_kernel_paths(struct iw_assoc *a, struct iw_assoc_path *out, unsigned cap);

/* sctp_kernel_input.c */
int iw_port_kernel_input(struct iw_port *p, uint64_t now, struct iw_fault *why);
bool iw_port_kernel_next_msg(struct iw_port *p, struct iw_port_msg *out);
bool iw_port_kernel_next_event(struct iw_port *p, struct iw_assoc_event *out);

/* sctp_kernel_trace.c */
/*
 * Traces the path, congestion window and round-trip time of the primary address, at most every 10
 * ms. Call it only while the tracer of k has a listener.
 */
IW_TRACES void iw_port_kernel_sample(const struct kport *k, struct kassoc *x, uint64_t now);

/* sctp_kernel_output.c */
int iw_port_kernel_send(struct iw_assoc *a, const struct iw_port_out *m, uint64_t now);

#endif
