/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packet carriers below the user-space SCTP engine. "udp" encapsulates SCTP packets in UDP (RFC
 * 6951) and uses the kernel's segmentation offload in both directions. "raw" sends them as IP
 * payload. "xdp" builds Ethernet frames and exchanges them with the kernel through AF_XDP rings.
 *
 * Job: receives and sends batches of whole SCTP packets.
 * Neighbours: lib/llp/sctp_engine.c joins a carrier to the engine.
 * Threads: none, no locks; a carrier belongs to one thread at a time.
 */
#ifndef IW_PKT_PKT_H
#define IW_PKT_PKT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct iw_tls;
struct iw_tls_info;

#include "os/addr.h"
#include "util/lend.h"

/* The largest packet of a carrier, in octets, including its IP header. */
#define IW_PKT_MAX   65535
/* One receive returns at most this many runs of packets. */
#define IW_PKT_BATCH 64

struct iw_pkt_cfg {
	/* The local address; its port is ignored. len 0: all addresses of both families. The any
	 * address: also, but with "raw" only those of its family. */
	struct iw_addr bind;
	struct iw_addr peer; /* the peer to connect to, for the path MTU; len 0: any peer */
	bool udp;            /* "xdp" only: SCTP in UDP. "udp" always uses UDP, "raw" never */
	uint16_t udp_port;   /* local; 0: the system chooses */
	uint16_t sctp_port;  /* local; "raw" and "xdp" ignore packets to other ports */
	/* Borrowed until open() returns. NULL: any interface; "xdp" needs one. */
	const char *interface;
	uint32_t sndbuf, rcvbuf; /* of the sockets, octets; 0: 1 MiB and 4 MiB */
	unsigned xdp;            /* "xdp": set of enum iw_xdp_want */
	/* "xdp": the PPIDs of DDP segments and of session control; 0: 16 and 17 (RFC 5043 5.2) */
	uint32_t ppid_segment, ppid_control;
	/* "udp": DTLS below SCTP (RFC 8261); the carrier takes a count of its own. NULL: plain */
	struct iw_tls *tls;
	const char *tls_name; /* initiator: the name that the peer's certificate must have */
};

/* A run of received packets from one peer: len octets in all, seg octets each; the last packet may
 * be shorter. */
struct iw_pkt_rx {
	struct iw_addr peer, local; /* peer with its UDP port; local.len 0: not known */
	const uint8_t *data;        /* borrowed until the next receive */
	size_t len, seg;
	bool lendable; /* lend() accepts data */
};

/* A run of packets to send, divided as in struct iw_pkt_rx. The memory is borrowed until send()
 * returns; that of rest until settle() returns. */
struct iw_pkt_tx {
	struct iw_addr peer, local; /* local.len 0: the system chooses */
	const uint8_t *data;
	size_t len, seg;
	/* The last rest_len of the len octets are at rest instead of in data. Only for memory that
	 * owns() accepts. */
	const uint8_t *rest;
	size_t rest_len;
	bool fragment; /* may exceed the path MTU: send without DF */
};

enum iw_pkt_error_kind {
	IW_PKT_ERROR_OTHER, /* SCTP ignores it (RFC 9260 10, ICMP1 to ICMP4) */
	IW_PKT_TOO_BIG,
	/* The peer's host does not process SCTP; with UDP, its port is closed (RFC 6951 5.5). */
	IW_PKT_NO_PROTOCOL,
	/* A host, a network or (without UDP) a port is unreachable. */
	IW_PKT_UNREACHABLE,
};

/* An ICMP message, or an error of the local stack, about a packet that was sent. */
struct iw_pkt_error {
	struct iw_addr peer;
	enum iw_pkt_error_kind kind;
	bool local;       /* this host's stack rejected the packet and did not send it */
	uint32_t mtu;     /* IW_PKT_TOO_BIG: the largest IP packet that passes; 0: not reported */
	uint8_t head[64]; /* the first octets of the SCTP packet that the error quotes */
	size_t len;       /* octets in head */
};

struct iw_pkt;
struct iw_pkt_ops {
	const char *name;
	/* Returns 0 if the carrier can run here, else an error of open(). */
	int (*available)(struct iw_fault *why);
	/*
	 * Opens a carrier. The caller owns *out and frees it with close(). IW_E_PERM: a capability
	 * is missing; IW_E_NOTSUP: not supported here; IW_E_NOENT: no such interface; IW_E_INVAL:
	 * an address or interface that "xdp" cannot use; IW_E_BUSY, IW_E_LIMIT: as iw_xsk_open;
	 * IW_E_NOMEM; IW_E_OS. *why says what would help.
	 */
	int (*open)(struct iw_pkt **out, const struct iw_pkt_cfg *cfg, struct iw_fault *why);
	/* Both NULL, or as in struct iw_port_ops (llp/port.h). */
	bool (*peek)(struct iw_pkt *c, uint64_t now);
	void (*rest)(struct iw_pkt *c, bool on);
	/* Receives a batch into rx and returns the number of runs; 0: none is pending; IW_E_OS: the
	 * carrier is broken. */
	int (*recv)(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
		    struct iw_fault *why);
	/* Optional. As recv(), but waits about 10 ms for the first packet. IW_E_AGAIN: none
	 * arrived; IW_E_CANCELED: interrupted by a signal. */
	int (*recv_wait)(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
			 struct iw_fault *why);
	/* NULL: the carrier lends nothing. Keeps data, part of a lendable packet of the last
	 * receive, until the caller returns the loan to the returned lender. */
	struct iw_lender *(*lend)(struct iw_pkt *c, const uint8_t *data);
	/*
	 * NULL: the caller provides packet memory, and send() transmits at once. Else returns the
	 * carrier's memory for the next packet (*cap octets, at least the MTU). send() then queues
	 * that one packet, and flush() transmits. Returns NULL if there is no room: retry when fd
	 * is ready.
	 */
	uint8_t *(*room)(struct iw_pkt *c, size_t *cap);
	/* Transmits the queued packets. Set if and only if room is. */
	void (*flush)(struct iw_pkt *c);
	/* With room(): true if the carrier can send this memory without a copy. */
	bool (*owns)(struct iw_pkt *c, const void *p, size_t len);
	/* With owns(): waits until the carrier no longer reads memory that it was given to send. */
	void (*settle)(struct iw_pkt *c);
	/*
	 * Returns 0: sent, or lost as the network may lose it; IW_E_AGAIN: retry the same run when
	 * fd is ready; IW_E_LIMIT: larger than the MTU of the interface, or than the path MTU that
	 * this host knows: *mtu is the largest IP packet in octets (0: not known).
	 */
	int (*send)(struct iw_pkt *c, const struct iw_pkt_tx *tx, uint32_t *mtu);
	/* Returns the next pending error in *out. False: none is pending. */
	bool (*next_error)(struct iw_pkt *c, struct iw_pkt_error *out);
	/* Optional. An association with this local Verification Tag was established (up), or has
	 * ended. */
	void (*assoc)(struct iw_pkt *c, uint32_t tag, bool up);
	/* "xdp" only: as in struct iw_port_ops. tag: the local Verification Tag of the session's
	 * association. */
	void (*stag)(struct iw_pkt *c, uint32_t stag, uint32_t pd, uint32_t stream,
		     uint64_t expires);
	void (*session)(struct iw_pkt *c, uint32_t tag, uint16_t number, uint32_t pd,
			uint32_t stream);
	/* Both NULL, or as in struct iw_port_ops. */
	uint64_t (*deadline)(struct iw_pkt *c);
	void (*timeout)(struct iw_pkt *c, uint64_t now);
	/* NULL: no encryption. Fills *out (without size) for the session with peer. False: none. */
	bool (*tls_info)(struct iw_pkt *c, const struct iw_addr *peer, struct iw_tls_info *out);
	/* Closes and frees the carrier, also one that open() has set up only in part. */
	void (*close)(struct iw_pkt *c);
};

struct iw_pkt {
	const struct iw_pkt_ops *ops;
	/* To be polled for input, and for output while the carrier is full. The descriptor of
	 * "raw" and "xdp" is an epoll descriptor: room to send makes it readable, too. */
	int fd;
	uint16_t udp_port; /* local; 0: no UDP */
	size_t seg_max;    /* packets of one size that one send accepts */
	uint32_t mtu;      /* iw_pkt_mtu(), octets; for "xdp" at most that of the interface */
	uint32_t overhead; /* octets that encryption adds to a packet, at most; 0: none */
	size_t rcvbuf;     /* octets that can wait to be received */
	/*
	 * Set by the carrier of an initiator when it can never again exchange packets with its peer,
	 * in any of its functions; err 0 before.
	 */
	struct iw_fault failed;
	/* The mode of the XDP program and of the sockets, as text; NULL: not "xdp". Static. */
	const char *xdp_mode;
	unsigned loans;        /* packets that can be lent at once */
	unsigned begun;        /* packets already sent of the run that is to be retried */
	unsigned refused;      /* consecutive drops by a queue of this host */
	uint64_t sends, recvs; /* system calls that send; that receive or wait */
	uint64_t in_place;     /* octets of rest that were sent without a copy */
};

/*
 * Allocates @len octets of application memory that "xdp" can send without a copy (pkt/xsk.h). Call
 * it before the first carrier on cfg's interface opens. The caller owns *out and frees it with
 * iw_pkt_memory_free; the memory remains until the last carrier on the interface closes. Errors as
 * open(), and IW_E_BUSY: a carrier is open, or this process has such memory on the interface.
 */
struct iw_xdp_memory;
IW_MUST_CHECK int iw_pkt_memory_new(struct iw_xdp_memory **out, const struct iw_pkt_cfg *cfg,
				    size_t len, struct iw_fault *why);
/* Returns the address of the memory, which m owns. */
void *iw_pkt_memory_addr(struct iw_xdp_memory *m);
void iw_pkt_memory_free(struct iw_xdp_memory *m); /* m may be NULL */

extern const struct iw_pkt_ops iw_pkt_udp_ops, iw_pkt_raw_ops, iw_pkt_xdp_ops;

#endif
