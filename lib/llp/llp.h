/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transports, chosen by name: "tcp", a stream transport (stream.h); "sctp", "udp", "raw" and
 * "xdp", session transports (port.h).
 *
 * Job: octets or messages in and out of the operating system; no protocol of ours. Neighbours:
 * lib/loop drives it, lib/os makes the system calls, lib/conn sees only octets. A transport that was
 * not built or is not allowed is still listed, and iw_llp_available() returns the reason.
 */
#ifndef IW_LLP_LLP_H
#define IW_LLP_LLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct iw_llp_cfg {
	const char *host; /* connect: target; listen: NULL loopback, "*" all */
	uint16_t port;
	const char *bind_addr, *interface, *cc;
	uint32_t sndbuf, rcvbuf; /* 0: the system's */
	uint32_t backlog;
	bool listen;
	int listen_fd; /* "tcp", listen: a listening socket (borrowed); 0: make one */
	/* Session transports: */
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

/* The two ends of a connection, or the local one of a listener. */
struct iw_llp_ends {
	const char *transport;    /* static */
	char local[64], peer[64]; /* "192.0.2.1:7471", "[::1]:7471" */
	uint16_t local_port;
	uint16_t local_udp_port; /* listener on a port in UDP; otherwise 0 */
	uint32_t emss;           /* payload of one TCP segment, or MULPDU over SCTP; octets */
	uint64_t sends, recvs;   /* system calls that moved octets */
};

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
