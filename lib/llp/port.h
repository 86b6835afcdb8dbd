/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Message transports: SCTP in its three forms, "sctp", "udp" and "raw". A port is what is polled, a
 * socket or several; on it stand associations, each with many streams of messages.
 *
 * Job: messages in and out; no DDP. Neighbours: lib/loop drives it, lib/sctp is the engine of two of
 * them. Messages are unordered and unfragmented (RFC 5043 9, 10), streams come in pairs.
 * Threads: none, no locks; a port with its associations belongs to one thread at a time.
 *
 *   in:   while (input(p, now, why) > 0)
 *                 do {
 *                         while (next_msg(p, &m)) ...      m.data is borrowed until the next call
 *                         while (next_event(p, &ev)) ...
 *                 } while (there was an event: a message may have waited for it);
 *   out:  send(a, &m, now), as often as it takes messages; then output(p, now, why)
 *   time: deadline(p), timeout(p, now); then events and output
 */
#ifndef IW_LLP_PORT_H
#define IW_LLP_PORT_H

#include "llp/llp.h"
#include "util/lend.h"
#include "util/vec.h"

struct iw_port;

struct iw_port_cfg {
	struct iw_llp_cfg llp;
	uint16_t streams;    /* each way */
	uint32_t adaptation; /* indicated */
	/* "xdp": payload protocols of segments and of session control; 0: those of RFC 5043. */
	uint32_t ppid_segment, ppid_control;
};

/* Implementations embed it. */
struct iw_assoc {
	struct iw_port *port;
	void *user; /* of whoever drives it; NULL on a new association of a listener */
	char local[64], peer[64];
	uint8_t peer_ip[16]; /* from UP on: an address of the peer, IPv4 as ::ffff:0:0/96 */
	/* From UP on: what the peer indicated (RFC 5061 4.2.6), and the streams agreed on. */
	bool up, indicated;
	uint32_t adaptation;
	uint16_t in, out;
	size_t max_message;  /* changes with MTU; longer ones would be fragmented */
	struct iw_fault why; /* from DOWN on: err 0 after an orderly end */
};

/* An address of the peer. */
struct iw_assoc_path {
	char addr[64];
	bool active, primary;
	uint32_t mtu;     /* octets of an IP packet that passes; 0: not known */
	uint64_t srtt_ns; /* 0: not measured yet */
};

struct iw_port_msg {
	struct iw_assoc *assoc;
	uint16_t stream;
	uint32_t ppid;       /* host order */
	const uint8_t *data; /* borrowed */
	size_t len;
	bool lendable; /* lend takes it */
};

enum iw_assoc_news {
	IW_ASSOC_UP,
	IW_ASSOC_MTU,
	IW_ASSOC_ROOM,      /* send takes messages again */
	IW_ASSOC_ACKED,     /* n more messages of the stream, cumulatively */
	IW_ASSOC_ALL_ACKED, /* of all streams; where nothing more is known */
	IW_ASSOC_DOWN,      /* the last: then release it */
};
struct iw_assoc_event {
	enum iw_assoc_news what;
	struct iw_assoc *assoc;
	uint16_t stream;
	uint32_t n;
};

/* A message to send. */
struct iw_port_out {
	uint16_t stream;
	uint32_t ppid;
	const uint8_t *hdr; /* its first octets */
	size_t hdr_len;
	const struct iw_vec *vec; /* the others; copied before send returns, or kept */
	size_t nvec;
	bool keep;    /* they may be kept until they are acknowledged: see send */
	bool last;    /* somebody will wait for the acknowledgement then */
	bool at_once; /* not to be delayed for bundling */
	bool ack_now; /* the peer should not delay the acknowledgement (RFC 7053) */
};

#define IW_PORT_KEPT 1

struct iw_port_ops {
	const char *name;
	/* 0 when it can run here; else IW_E_NOTSUP or IW_E_PERM with the reason and what would change it. */
	int (*available)(struct iw_fault *why);
	/* As iw_llp_look. NULL: available changes nothing. */
	int (*look)(struct iw_fault *why);
	/* A listener, or a socket to connect from. IW_E_NOTSUP, IW_E_PERM: not here, and why. */
	int (*open)(struct iw_port **out, const struct iw_port_cfg *cfg, struct iw_fault *why);
	/* Begins the association that cfg was about: UP or DOWN follows. */
	int (*connect)(struct iw_port *p, struct iw_assoc **out, uint64_t now,
		       struct iw_fault *why);
	/*
	 * May be NULL. Fills *why for an association of connect that is not established after
	 * waited ns: whom it should reach, how, and what to check.
	 */
	void (*no_answer)(struct iw_assoc *a, uint64_t waited, struct iw_fault *why);
	/* Reads one batch: 1: something came, perhaps; 0: nothing is left; negative: the port is
	 * broken. */
	int (*input)(struct iw_port *p, uint64_t now, struct iw_fault *why);
	/*
	 * Of a port over rings in memory, else NULL: whether input would find something, told without a system
	 * call. Costs little; to be asked again and again.
	 */
	bool (*peek)(struct iw_port *p, uint64_t now);
	/*
	 * With peek. on, as after open: fd becomes readable for what comes, so that one can sleep on it; peek
	 * once more afterwards. off: fd says nothing about the rings, and what comes wakes nobody.
	 */
	void (*rest)(struct iw_port *p, bool on);
	/*
	 * Only where waits is set: as input, but waits for something to come, some 10 ms (IW_E_AGAIN: nothing
	 * did) or until a signal comes (IW_E_CANCELED). *now is the time afterwards. Where one port is all there
	 * is, this wakes up sooner than polling does.
	 */
	int (*input_wait)(struct iw_port *p, uint64_t *now, struct iw_fault *why);
	bool (*next_msg)(struct iw_port *p, struct iw_port_msg *out);
	/* NULL: none is lendable. data, in the message that came last, stays until the lender has it back. */
	struct iw_lender *(*lend)(struct iw_port *p, const uint8_t *data);
	bool (*next_event)(struct iw_port *p, struct iw_assoc_event *out);
	/* 0: taken and copied; IW_PORT_KEPT: taken, vec's memory is referred to until it is acknowledged;
	 * IW_E_AGAIN: ROOM tells when; IW_E_NOMEM: later; others: DOWN comes. */
	int (*send)(struct iw_assoc *a, const struct iw_port_out *m, uint64_t now);
	/*
	 * Reports how many octets of messages that next_msg returned are still kept. From now on
	 * they are subtracted from the receive window of the association. Initially 0. NULL: the
	 * transport cannot subtract them (kernel SCTP).
	 */
	void (*held)(struct iw_assoc *a, size_t octets);
	/* No memory of messages of that stream is referred to any more. NULL: none ever was. */
	void (*give_back)(struct iw_assoc *a, uint16_t stream, uint64_t now);
	/*
	 * For who looks at segments before we do; both NULL: nobody. An STag is registered for that DDP stream of
	 * that Protection Domain (stream 0: for all of them; RFC 5041 8.2), or is no more (pd 0); it is none from
	 * expires on (monotonic ns; IW_TIME_NEVER), of which nobody is told then.
	 */
	void (*stag)(struct iw_port *p, uint32_t stag, uint32_t pd, uint32_t stream,
		     uint64_t expires);
	/* The session on these SCTP streams of an association that is up is that DDP stream, or ends (pd 0). */
	void (*session)(struct iw_assoc *a, uint16_t number, uint32_t pd, uint32_t stream);
	/* What is to go goes. 0; IW_E_AGAIN: the port must become writable first. */
	int (*output)(struct iw_port *p, uint64_t now);
	uint64_t (*deadline)(struct iw_port *p);
	void (*timeout)(struct iw_port *p, uint64_t now);
	/* Orderly: DOWN follows when all is acknowledged both ways. */
	void (*shutdown)(struct iw_assoc *a, uint64_t now);
	/*
	 * Ends the association at once. Sends an ABORT with the reason (RFC 9260 3.3.10.12; NULL:
	 * without one; kernel SCTP ignores it). DOWN follows, unless the association is released
	 * first.
	 */
	void (*abort)(struct iw_assoc *a, const char *reason, uint64_t now);
	/* Frees it. */
	void (*release)(struct iw_assoc *a);
	void (*facts)(struct iw_assoc *a, struct iw_llp_facts *out);
	/* NULL: there is no choice. IW_E_NOTSUP: no such controller. */
	int (*set_cc)(struct iw_assoc *a, const char *name, struct iw_fault *why);
	/* The peer's addresses, up to cap of them; how many were told, 0 when it is gone. Costs system calls. */
	unsigned (*paths)(struct iw_assoc *a, struct iw_assoc_path *out, unsigned cap);
	/* With all associations. */
	void (*close)(struct iw_port *p);
};

struct iw_port {
	const struct iw_port_ops *ops;
	int fd;         /* to be polled */
	bool waits;     /* input_wait may be called */
	char local[64]; /* listener */
	uint16_t local_port;
	uint16_t local_udp_port; /* 0: not in UDP */
	bool all_acked_only;     /* acknowledgements are reported by IW_ASSOC_ALL_ACKED alone */
	uint32_t window;         /* receive window of each association, octets; 0: not known */
	unsigned loans;          /* messages that can be lent at once; 0: the port does not lend */
	/* Limit of a listener's associations without a session: each needs a descriptor. 0: none */
	uint32_t unused_max;
	uint64_t sends, recvs; /* system calls that moved octets */
};

/* Memory that "xdp" sends from where it lies: as iw_xdp_memory_new of <iwarp/verbs.h>. */
struct iw_xdp_memory;
IW_MUST_CHECK int iw_port_memory_new(struct iw_xdp_memory **out, const struct iw_llp_cfg *cfg,
				     size_t len, struct iw_fault *why);
void *iw_port_memory_addr(struct iw_xdp_memory *m);
void iw_port_memory_free(struct iw_xdp_memory *m);

/* NULL: not the name of a message transport. */
const struct iw_port_ops *iw_port_find(const char *name);

#endif
