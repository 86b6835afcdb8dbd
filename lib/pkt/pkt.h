/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packet carriers below the user-space SCTP engine. "udp" encapsulates SCTP packets in UDP (RFC
 * 6951) and uses the kernel's segmentation offload in both directions. "raw" sends them as IP
 * payload. "xdp" builds Ethernet frames and exchanges them with the kernel through AF_XDP rings.
 *
 * Job: batches of whole SCTP packets, in and out. Neighbours: lib/llp joins a carrier to the
 * engine.
 * Threads: none, no locks; a carrier belongs to one thread at a time.
 */
#ifndef IW_PKT_PKT_H
#define IW_PKT_PKT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "os/addr.h"
#include "util/lend.h"

/* The largest packet of a carrier including its IP header, and the size of packet buffers. */
#define IW_PKT_MAX   65535
/* One receive returns at most this many runs of packets. */
#define IW_PKT_BATCH 64

struct iw_pkt_cfg {
	struct iw_addr bind;   /* its port is ignored; the any address: all of both families */
	struct iw_addr peer;   /* the peer to be called, for the path MTU; len 0: any peer */
	bool udp;              /* "xdp" only: in UDP. Carrier "udp" always is, "raw" never */
	uint16_t udp_port;     /* local; 0: the system's choice */
	uint16_t sctp_port;    /* local; packets to other ports are dropped */
	const char *interface; /* borrowed; NULL: any */
	uint32_t sndbuf, rcvbuf;
	unsigned xdp; /* "xdp": set of enum iw_xdp_want */
	/* "xdp": the payload protocols of DDP segments and of session control; 0: RFC 5043's */
	uint32_t ppid_segment, ppid_control;
};

/* A run of packets from one peer, seg octets each; the last one may be shorter. */
struct iw_pkt_rx {
	struct iw_addr peer, local; /* with UDP ports; local.len 0: not known */
	const uint8_t *data;        /* borrowed until the next receive */
	size_t len, seg;
	bool lendable; /* lend() accepts data */
};

struct iw_pkt_tx {
	struct iw_addr peer, local; /* local.len 0: the system's choice */
	const uint8_t *data;
	size_t len, seg;
	/* The last rest_len of the len octets are at rest instead of in data. Only for memory that
	 * owns() accepts. */
	const uint8_t *rest;
	size_t rest_len;
	bool fragment; /* larger than the path MTU: send without DF */
};

enum iw_pkt_error_kind {
	IW_PKT_ERROR_OTHER, /* SCTP ignores it (RFC 9260 10, ICMP1 to ICMP4) */
	IW_PKT_TOO_BIG,
	/* The peer does not process the protocol; with UDP, the port is closed (RFC 6951 5.5). */
	IW_PKT_NO_PROTOCOL,
	/* A host, a network or (without UDP) a port is unreachable. */
	IW_PKT_UNREACHABLE,
};

/* An ICMP message, or an error of the local stack, about a packet that was sent. */
struct iw_pkt_error {
	struct iw_addr peer;
	enum iw_pkt_error_kind kind;
	bool local;       /* reported by this host's stack, which did not send the packet */
	uint32_t mtu;     /* too big: the largest IP packet that passes; 0: not reported */
	uint8_t head[64]; /* first octets of the SCTP packet, as far as they were quoted */
	size_t len;
};

struct iw_pkt;
struct iw_pkt_ops {
	const char *name;
	/* Returns 0 if the carrier can run here, else an error of open(). */
	int (*available)(struct iw_fault *why);
	/* Returns 0 and a carrier that close() frees. IW_E_PERM, IW_E_NOTSUP, IW_E_OS, ...: *why
	 * says what would help. */
	int (*open)(struct iw_pkt **out, const struct iw_pkt_cfg *cfg, struct iw_fault *why);
	/* Both NULL, or as in struct iw_port_ops. */
	bool (*peek)(struct iw_pkt *c, uint64_t now);
	void (*rest)(struct iw_pkt *c, bool on);
	/* Receives a batch into rx and returns the number of runs; 0: none is pending; IW_E_OS: the
	 * carrier is broken. */
	int (*recv)(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
		    struct iw_fault *why);
	/* Optional. As recv(), but waits about 10 ms for the first packet. IW_E_AGAIN: none came;
	 * IW_E_CANCELED: interrupted by a signal. */
	int (*recv_wait)(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
			 struct iw_fault *why);
	/* NULL: the carrier lends nothing. Keeps data, of the last receive, until the caller
	 * returns the loan to the lender. */
	struct iw_lender *(*lend)(struct iw_pkt *c, const uint8_t *data);
	/*
	 * NULL: the caller provides packet memory, and send() transmits at once. Else returns the
	 * memory for the next packet (*cap octets, at least the MTU). send() then takes that one
	 * packet, and flush() transmits. Returns NULL if there is no room: wait until fd is
	 * writable.
	 */
	uint8_t *(*room)(struct iw_pkt *c, size_t *cap);
	/* Set if and only if room is. */
	void (*flush)(struct iw_pkt *c);
	/* With room(): true if the carrier can send this memory without a copy. */
	bool (*owns)(struct iw_pkt *c, const void *p, size_t len);
	/* With owns(): waits until the carrier no longer reads memory that it was given to send. */
	void (*settle)(struct iw_pkt *c);
	/*
	 * Returns 0: sent or lost, as packets may be; IW_E_AGAIN: retry the same run when fd is
	 * writable; IW_E_LIMIT: larger than the MTU of the interface, or of the path as far as this
	 * host knows it: *mtu is the largest IP packet (0: not known).
	 */
	int (*send)(struct iw_pkt *c, const struct iw_pkt_tx *tx, uint32_t *mtu);
	/* False: no error is pending. */
	bool (*next_error)(struct iw_pkt *c, struct iw_pkt_error *out);
	/* Optional. An association with this local Verification Tag was established (up), or has
	 * ended. */
	void (*assoc)(struct iw_pkt *c, uint32_t tag, bool up);
	/* "xdp" only: as in struct iw_port_ops, for the association with this local Verification
	 * Tag. */
	void (*stag)(struct iw_pkt *c, uint32_t stag, uint32_t pd, uint32_t stream,
		     uint64_t expires);
	void (*session)(struct iw_pkt *c, uint32_t tag, uint16_t number, uint32_t pd,
			uint32_t stream);
	void (*close)(struct iw_pkt *c);
};

struct iw_pkt {
	const struct iw_pkt_ops *ops;
	int fd;            /* to be polled */
	uint16_t udp_port; /* local; 0: no UDP */
	size_t seg_max;    /* packets of one size that one send accepts */
	uint32_t mtu;      /* of the interface; without one, of the largest that may be used */
	size_t rcvbuf;     /* octets that can wait to be received */
	/* The mode of the XDP program and of the sockets, as text; NULL: not "xdp". Static. */
	const char *xdp_mode;
	unsigned loans;   /* packets that can be lent at once */
	unsigned begun;   /* packets already sent of the run that is to be retried */
	unsigned refused; /* consecutive drops by a queue of this host */
	uint64_t sends, recvs;
	uint64_t in_place; /* octets of rest that were sent without a copy */
};

/*
 * Allocates @len octets of application memory that "xdp" can send without a copy (pkt/xsk.h). Call
 * it before the first carrier on cfg's interface opens. Errors as open(), and IW_E_BUSY: a carrier
 * is open. The caller owns *out and frees it with iw_pkt_memory_free (NULL: does nothing); the
 * memory remains until the last carrier on the interface closes.
 */
struct iw_xdp_memory;
IW_MUST_CHECK int iw_pkt_memory_new(struct iw_xdp_memory **out, const struct iw_pkt_cfg *cfg,
				    size_t len, struct iw_fault *why);
void *iw_pkt_memory_addr(struct iw_xdp_memory *m);
void iw_pkt_memory_free(struct iw_xdp_memory *m);

extern const struct iw_pkt_ops iw_pkt_udp_ops, iw_pkt_raw_ops, iw_pkt_xdp_ops;

#endif
