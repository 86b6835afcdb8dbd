/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packet carriers: what the user-space SCTP engine stands on. "udp" puts SCTP packets into UDP (RFC
 * 6951) with the kernel's segmentation offload both ways; "raw" gives them to IP as they are; "xdp" puts them
 * into Ethernet frames and those into the rings of AF_XDP.
 *
 * Job: batches of whole SCTP packets in and out. Neighbours: lib/llp joins them to the engine.
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

/* The largest packet of a carrier, with its IP header; buffers for packets are of that size. */
#define IW_PKT_MAX   65535
/* Runs that one receive brings at most. */
#define IW_PKT_BATCH 64

struct iw_pkt_cfg {
	struct iw_addr bind;   /* the address alone; any: all of both families */
	struct iw_addr peer;   /* whom it will call, for the MTU of the way there; len 0: anybody */
	bool udp;              /* "xdp": in UDP; "udp" is, and "raw" is not */
	uint16_t udp_port;     /* ours; 0: the system's choice */
	uint16_t sctp_port;    /* ours: others' packets are none of ours */
	const char *interface; /* borrowed; NULL: any */
	uint32_t sndbuf, rcvbuf;
	unsigned xdp; /* "xdp": set of enum iw_xdp_want */
	/* "xdp": the payload protocols of DDP segments and of session control; 0: RFC 5043's */
	uint32_t ppid_segment, ppid_control;
};

/* Packets of one peer, seg octets each, the last one perhaps less. */
struct iw_pkt_rx {
	struct iw_addr peer, local; /* with UDP ports; local.len 0: not told */
	const uint8_t *data;        /* borrowed until the next receive */
	size_t len, seg;
	bool lendable; /* lend takes what lies there */
};

struct iw_pkt_tx {
	struct iw_addr peer, local; /* local.len 0: the system's choice */
	const uint8_t *data;
	size_t len, seg;
	/* The last rest_len of those octets lie there, and not in data: only where owns said so. */
	const uint8_t *rest;
	size_t rest_len;
	bool fragment; /* larger than the path takes: without DF */
};

enum iw_pkt_error_kind {
	IW_PKT_ERROR_OTHER, /* nothing that SCTP acts on (RFC 9260 10, ICMP1 to ICMP4) */
	IW_PKT_TOO_BIG,
	/* The peer does not process the protocol; with UDP, nor that port (RFC 6951 5.5). */
	IW_PKT_NO_PROTOCOL,
	/* A host, a network or, straight on IP, a port is unreachable. */
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
	/* 0: it can run here; else as open. */
	int (*available)(struct iw_fault *why);
	/* IW_E_PERM, IW_E_NOTSUP, IW_E_OS, ...: why says what would help. */
	int (*open)(struct iw_pkt **out, const struct iw_pkt_cfg *cfg, struct iw_fault *why);
	/* Both NULL, or as in struct iw_port_ops. */
	bool (*peek)(struct iw_pkt *c, uint64_t now);
	void (*rest)(struct iw_pkt *c, bool on);
	/* So many runs into rx; 0: none now; IW_E_OS: the carrier is broken. */
	int (*recv)(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
		    struct iw_fault *why);
	/* May be NULL: as recv, but waits for the first packet, some 10 ms. IW_E_AGAIN: none came;
	 * IW_E_CANCELED: a signal did. */
	int (*recv_wait)(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
			 struct iw_fault *why);
	/* NULL: none is lendable. The octets at data, of the last receive, stay until the lender has them back. */
	struct iw_lender *(*lend)(struct iw_pkt *c, const uint8_t *data);
	/*
	 * NULL: packets are gathered in the caller's memory, and what send takes is on its way. Else the next
	 * packet is to be written there, up to *cap octets, those of the MTU at least, and to be sent from there,
	 * alone; what was sent goes with flush. NULL: no room now: wait until it is writable.
	 */
	uint8_t *(*room)(struct iw_pkt *c, size_t *cap);
	void (*flush)(struct iw_pkt *c); /* NULL with room */
	/* With room: whether this memory can be sent from where it lies. */
	bool (*owns)(struct iw_pkt *c, const void *p, size_t len);
	/* With owns: returns when nothing that was sent is read any more. */
	void (*settle)(struct iw_pkt *c);
	/*
	 * 0: taken or lost, as packets may be; IW_E_AGAIN: not now, the same run again when it is writable;
	 * IW_E_LIMIT: too big for the interface or the path as this host knows it, *mtu is the
	 * largest IP packet (0: not said).
	 */
	int (*send)(struct iw_pkt *c, const struct iw_pkt_tx *tx, uint32_t *mtu);
	/* False: nothing more. */
	bool (*next_error)(struct iw_pkt *c, struct iw_pkt_error *out);
	/* May be NULL: an association with this Verification Tag of ours has come up, or is gone. */
	void (*assoc)(struct iw_pkt *c, uint32_t tag, bool up);
	/* Of "xdp": as in struct iw_port_ops, of the association with that Verification Tag of ours. */
	void (*stag)(struct iw_pkt *c, uint32_t stag, uint32_t pd, uint32_t stream,
		     uint64_t expires);
	void (*session)(struct iw_pkt *c, uint32_t tag, uint16_t number, uint32_t pd,
			uint32_t stream);
	void (*close)(struct iw_pkt *c);
};

struct iw_pkt {
	const struct iw_pkt_ops *ops;
	int fd;            /* to be polled */
	uint16_t udp_port; /* ours; 0: none */
	size_t seg_max;    /* packets of one size that one send takes */
	uint32_t mtu;      /* of the interface, or of the largest that it may use */
	size_t rcvbuf;     /* octets that wait for us at most */
	/* Where the XDP program runs and how frames get to us, in words; NULL: not "xdp". Static. */
	const char *xdp_mode;
	unsigned loans;   /* packets that can be lent at once */
	unsigned begun;   /* packets taken of the run that is to be sent again */
	unsigned refused; /* times in a row that a queue of this machine dropped what was sent */
	uint64_t sends, recvs;
	uint64_t in_place; /* octets of rest that were described where they lie, and not copied */
};

/*
 * Memory of the program's own that "xdp" sends from where it lies, to be had before the first carrier on cfg's
 * interface: pkt/xsk.h. Errors as of open, and IW_E_BUSY. Given back with free (NULL does nothing); the memory goes with
 * the last carrier on the interface.
 */
struct iw_xdp_memory;
IW_MUST_CHECK int iw_pkt_memory_new(struct iw_xdp_memory **out, const struct iw_pkt_cfg *cfg,
				    size_t len, struct iw_fault *why);
void *iw_pkt_memory_addr(struct iw_xdp_memory *m);
void iw_pkt_memory_free(struct iw_xdp_memory *m);

extern const struct iw_pkt_ops iw_pkt_udp_ops, iw_pkt_raw_ops, iw_pkt_xdp_ops;

#endif
