/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Transports behind one vtable, chosen by name: "tcp", "sctp", "udp", "raw", "xdp".
 *
 * Job: octets or messages in and out of the operating system; no protocol of ours. Neighbours:
 * lib/loop drives it, lib/os does the system calls, lib/conn sees only octets. What was not built
 * or is not allowed is still listed, and iw_llp_available() says why not.
 */
#ifndef IW_LLP_LLP_H
#define IW_LLP_LLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/vec.h"

enum iw_llp_trait {
	IW_LLP_STREAM = 1,  /* octets in order: recv and send use msg[0] alone */
	IW_LLP_MESSAGE = 2, /* whole messages, perhaps out of order */
	/* Refers to memory until it is acknowledged: local operations complete on the ACKED notice,
	 * not when send returns. */
	IW_LLP_ZEROCOPY = 4,
};

struct iw_msg {
	uint16_t stream; /* MESSAGE */
	uint32_t ppid;
	struct iw_vec *vec; /* borrowed */
	size_t nvec;
	bool eor; /* STREAM, send: what follows must begin a new TCP segment */
};

enum iw_notice_kind {
	IW_NOTICE_EMSS,      /* value: payload of one TCP segment (STREAM), or MULPDU (MESSAGE) */
	IW_NOTICE_ACKED,     /* value: octets or messages acknowledged cumulatively (ZEROCOPY) */
	IW_NOTICE_CONNECTED, /* the connect has succeeded */
};
struct iw_notice {
	enum iw_notice_kind kind;
	uint64_t value;
};

struct iw_llp_cfg {
	const char *host; /* connect: target; listen: NULL loopback, "*" all */
	uint16_t port;
	const char *bind_addr, *interface, *cc;
	uint32_t sndbuf, rcvbuf; /* 0: the system's */
	uint32_t backlog;
	bool listen;
	int listen_fd; /* STREAM, listen: a listening socket (borrowed); 0: make one */
	/* Message transports: */
	uint16_t streams, udp_port;
	bool any_udp_port; /* listen: in UDP, on a port that the system chooses */
	unsigned xdp;      /* set of enum iw_xdp_want */
};

/* How a connection is doing, as far as its transport can tell. */
struct iw_llp_facts {
	char cc[16];          /* congestion control in force; "" not known */
	uint64_t retransmits; /* segments or chunks sent again */
	/* octets that the peer's transport has acknowledged: of the connection, or of the association; 0: not known */
	uint64_t acked;
	const char *xdp_mode; /* as in struct iw_pkt */
	/* "xdp": octets that the port has sent from the program's memory, where they lie */
	uint64_t in_place;
	size_t memory; /* octets that an association holds in this process; 0: not known */
};

struct iw_llp;
struct iw_llp_ops {
	const char *name;
	unsigned traits;
	/* Starts a connection or a listener; never blocks but for name resolution. */
	int (*open)(struct iw_llp **out, const struct iw_llp_cfg *cfg, struct iw_fault *why);
	/*
	 * Listener: the next connection. 0, IW_E_AGAIN: none now, IW_E_OS: this one failed (why),
	 * go on accepting; IW_E_LIMIT: out of descriptors, pause accepting.
	 */
	int (*accept)(struct iw_llp *l, struct iw_llp **out, struct iw_fault *why);
	/*
	 * STREAM: octets received into m[0].vec, 0 at the end of the stream. MESSAGE: messages
	 * received. IW_E_AGAIN; IW_E_CLOSED / IW_E_OS with why.
	 */
	int64_t (*recv)(struct iw_llp *l, struct iw_msg *m, size_t n, struct iw_fault *why);
	/*
	 * STREAM, may be NULL: as recv, but waits for the first octet, some 10 ms (IW_E_AGAIN: none
	 * came) or until a signal comes (IW_E_CANCELED). Where one connection is all there is, this
	 * wakes up sooner than polling does.
	 */
	int64_t (*recv_wait)(struct iw_llp *l, struct iw_msg *m, struct iw_fault *why);
	/*
	 * STREAM: octets taken of m[0]; MESSAGE: messages taken. IW_E_AGAIN: none now, wait for
	 * writability.
	 */
	int64_t (*send)(struct iw_llp *l, const struct iw_msg *m, size_t n, struct iw_fault *why);
	/*
	 * STREAM, may be NULL: while on, no TCP segment is sent that is not full, but in front of a
	 * new one that eor asked for; what waits goes out when it is switched off. 0 or IW_E_OS.
	 */
	int (*hold_short)(struct iw_llp *l, bool on, struct iw_fault *why);
	/* STREAM, may be NULL: octets that were sent and that the peer's transport has not acknowledged. */
	uint64_t (*unacked)(struct iw_llp *l);
	/* We send no more (FIN behind what was sent). */
	int (*shutdown)(struct iw_llp *l, struct iw_fault *why);
	bool (*next_notice)(struct iw_llp *l, struct iw_notice *out);
	/*
	 * Re-reads the EMSS (cheap, once per batch in aligned mode) and raises IW_NOTICE_EMSS when
	 * it changed.
	 */
	void (*refresh)(struct iw_llp *l);
	/*
	 * How a connect that was in progress ended, once writable: 0; IW_E_AGAIN: not yet, or the
	 * next address is being tried, then fd is another descriptor, to be watched anew; else
	 * every address has failed and why is about the last one.
	 */
	int (*connected)(struct iw_llp *l, struct iw_fault *why);
	/*
	 * Gives up the attempt under way, which takes too long, for the next address. Results as
	 * connected.
	 */
	int (*try_next)(struct iw_llp *l, struct iw_fault *why);
	/* The attempt under way got no answer within @waited ns: IW_E_TIMEOUT, and what to look at. */
	int (*no_answer)(struct iw_llp *l, uint64_t waited, struct iw_fault *why);
	/*
	 * Congestion control of what this end sends from now on. IW_E_NOTSUP, IW_E_PERM (why lists
	 * those that can be chosen), IW_E_OS: nothing has changed.
	 */
	int (*set_cc)(struct iw_llp *l, const char *name, struct iw_fault *why);
	/* Costs system calls: not for the data path. */
	void (*facts)(struct iw_llp *l, struct iw_llp_facts *out);
	/* abort: no lingering, the connection is reset. Frees l. */
	void (*close)(struct iw_llp *l, bool abort);
};

struct iw_llp {
	const struct iw_llp_ops *ops;
	int fd;                   /* to be polled */
	char local[64], peer[64]; /* "192.0.2.1:7471", "[::1]:7471" */
	uint16_t local_port;
	uint16_t local_udp_port; /* listener on a port in UDP; otherwise 0 */
	uint32_t emss;           /* as read last */
	unsigned untried;      /* while connecting: addresses behind the one that is being tried */
	uint64_t sends, recvs; /* system calls that moved octets */
};

/*
 * An established TCP connection, over a duplicate of fd (borrowed). Before iw_llp_tcp_keep, closing it
 * leaves the connection as it was. IW_E_INVAL: not a connected TCP socket; IW_E_NOMEM, IW_E_OS.
 */
IW_MUST_CHECK int iw_llp_tcp_adopt(struct iw_llp **out, int fd, struct iw_fault *why);
void iw_llp_tcp_keep(struct iw_llp *l);

/*
 * Never NULL for the five names; NULL for others. A message transport's has its name and traits
 * alone: what it does, a port does (llp/port.h).
 */
const struct iw_llp_ops *iw_llp_find(const char *name);
/*
 * 0 when the transport can run here; else IW_E_NOTSUP or IW_E_PERM with the reason and what would
 * change it. IW_E_INVAL: no such name.
 */
int iw_llp_available(const char *name, struct iw_fault *why);
/*
 * The same, and nothing changes by being asked, as a module that would be loaded. 1: it can run here, and its first use changes
 * this machine: why says how.
 */
int iw_llp_look(const char *name, struct iw_fault *why);
/* The names in the order users see them; NULL-terminated. */
const char *const *iw_llp_names(void);

#endif
