/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transports, chosen by name: "tcp", a stream transport (stream.h); "sctp", "udp", "raw" and
 * "xdp", session transports (port.h).
 *
 * Job: moves octets or messages into and out of the operating system, and knows no protocol above
 * the transport. Neighbours: lib/loop drives it, lib/os makes the system calls, lib/conn sees only
 * octets. A transport that was not built or is not permitted is still listed: iw_llp_available
 * returns the reason.
 */
#ifndef IW_LLP_LLP_H
#define IW_LLP_LLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct iw_tls;
struct iw_tls_info;

/* All texts are borrowed during the call. */
struct iw_llp_cfg {
	/* Connect: the target. Listen: NULL for loopback, "*" for all addresses. */
	const char *host;
	uint16_t port; /* of TCP or SCTP; listen: 0: the system chooses */
	/*
	 * The source address of a connection; the address of a listener instead of host; or NULL.
	 */
	const char *bind_addr;
	const char *interface;   /* NULL: any */
	const char *cc;          /* name of the congestion control; NULL: the default */
	uint32_t sndbuf, rcvbuf; /* octets; 0: the default of the transport */
	uint32_t backlog;        /* listen: connections that wait to be accepted */
	bool listen;
	int listen_fd; /* "tcp", listen: a listening socket (borrowed); 0: open one */
	/* Session transports: */
	uint16_t streams;  /* in each direction */
	uint16_t udp_port; /* RFC 6951: the UDP port of the listener; 0: SCTP directly on IP */
	bool any_udp_port; /* listen: in UDP, on a port that the system chooses */
	unsigned xdp;      /* set of enum iw_xdp_want */
	/* "tcp" and "udp": encrypts (a stream or a port takes a count of its own); NULL: plain. */
	struct iw_tls *tls;
	const char *tls_name; /* connect: the name that the peer's certificate must have */
};

/* The state of a connection, as far as its transport knows it. */
struct iw_llp_facts {
	char cc[16];          /* congestion control in use; "": not known */
	uint64_t retransmits; /* retransmitted segments or chunks */
	/*
	 * Octets that the peer's transport has acknowledged, on the connection or on the whole
	 * association; 0: not known.
	 */
	uint64_t acked;
	const char *xdp_mode; /* as in struct iw_pkt; static */
	/* "xdp": octets that the port has sent without a copy from the program's memory. */
	uint64_t in_place;
	size_t memory; /* bytes that an association holds in this process; 0: not known */
};

/* The two ends of a connection, or the local end of a listener. */
struct iw_llp_ends {
	const char *transport;    /* static */
	char local[64], peer[64]; /* "192.0.2.1:7471", "[::1]:7471" */
	uint16_t local_port;
	uint16_t local_udp_port; /* of a listener in UDP; otherwise 0 */
	uint32_t emss;           /* octets: payload of one TCP segment, or MULPDU over SCTP */
	uint64_t sends, recvs;   /* system calls that moved octets */
};

/*
 * Checks whether the transport can run on this machine. For "sctp" this may load the kernel's
 * module. Returns 0 if it can run; otherwise *why (may be NULL) has the reason and a remedy.
 * IW_E_NOTSUP: not built, or not supported by the kernel. IW_E_PERM: a capability is missing.
 * IW_E_INVAL: no transport has this name. IW_E_LIMIT, IW_E_NOMEM, IW_E_OS: the test socket could
 * not be opened.
 */
int iw_llp_available(const char *name, struct iw_fault *why);
/*
 * Like iw_llp_available, but without side effects (loads no module), and *why has no remedy.
 * Returns 1 if the transport can run and its first use changes this machine; *why says how.
 */
int iw_llp_look(const char *name, struct iw_fault *why);
/* Returns the names in the order in which users see them, NULL-terminated. Static. */
const char *const *iw_llp_names(void);

#endif
