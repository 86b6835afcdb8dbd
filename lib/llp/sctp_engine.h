/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to lib/llp: a port of the user-space SCTP engine (sctp_engine*.c), and its associations.
 * A listener has one socket for all its associations. Each outgoing association has a port with a
 * socket of its own.
 */
#ifndef IW_LLP_SCTP_ENGINE_H
#define IW_LLP_SCTP_ENGINE_H

#include <net/if.h>

#include "llp/port.h"
#include "os/addr.h"
#include "pkt/pkt.h"
#include "sctp/sctp.h"
#include "util/num.h"

#define ADDR_MAX 8 /* addresses of one host that are tried */
#define OUT_LEN  (2 * IW_PKT_MAX)

struct user_assoc {
	struct iw_assoc assoc;
	struct iw_sctp_assoc *a;
	uint32_t tag;    /* after UP: the local Verification Tag; still needed when a is gone */
	bool connecting; /* of connect: not established yet; another address may be tried */
};

struct user_port {
	struct iw_port port;
	struct iw_pkt *pkt;
	struct iw_sctp *sctp;
	int reserved; /* reserves the SCTP port; -1: the UDP port does */
	int place;    /* reserves the SCTP port of a listener's address; -1: none */
	/* Initiator: */
	struct iw_addr target[ADDR_MAX]; /* the addresses of the host */
	size_t ntargets, next_target;
	uint16_t udp_port;   /* of the listener; 0: not in UDP */
	uint32_t adaptation; /* the Adaptation Layer Indication of this end */
	struct iw_addr bind; /* len 0: any */
	char interface[IF_NAMESIZE];
	/* The received batch. */
	struct iw_pkt_rx rx[IW_PKT_BATCH];
	int nrx, irx;             /* packets in rx; the current one */
	size_t at;                /* octets of rx[irx] that the engine has processed */
	struct iw_sctp_packet in; /* the packet in the engine */
	bool in_packet;           /* the engine may have further messages of it */
	bool lendable;            /* the carrier can lend it */
	unsigned packets;         /* received since the last output */
	/*
	 * more_input(): when it ends its waits before the next output, 0: not set; the batches for
	 * which it does not wait; their number after the next unsuccessful wait.
	 */
	uint64_t more_until;
	unsigned no_wait, no_wait_next;
	/* A message of an association whose UP event the caller has not taken yet. */
	bool stashed;
	struct iw_sctp_recv stash;
	struct user_assoc *done; /* the association whose acknowledgements are being reported */
	struct user_assoc *only; /* of connect: the association, until DOWN or release */
	/* The batch to send: packets of one size to one peer. */
	struct iw_pkt_tx tx;
	size_t npackets;
	struct iw_sctp_packet to; /* the addresses of the batch, in the engine's form */
	bool stuck;               /* the carrier has not accepted the batch */
	/* The packet that follows such a batch, at out + next_at. next_len 0: none. */
	struct iw_sctp_packet next;
	size_t next_at, next_len;
	uint64_t now;
	uint8_t out[OUT_LEN];
};

static inline struct user_port *port_of(struct iw_port *p)
{
	return iw_container_of(p, struct user_port, port);
}

/*
 * Sets the time of the port, and returns it: now, or a later time that more_input() has read since
 * the caller read its clock. The engine's time never goes back.
 */
static inline uint64_t advance(struct user_port *u, uint64_t now)
{
	return u->now = IW_MAX(now, u->now);
}

static inline struct user_assoc *assoc_of(struct iw_assoc *a)
{
	return iw_container_of(a, struct user_assoc, assoc);
}

/*
 * The functions iw_port_user_NAME are the operations NAME of struct iw_port_ops, with the same
 * contracts.
 */

/* sctp_engine_addr.c */
/* Converts an address to the engine's form; with_port: its port becomes the remote UDP port. */
void iw_port_to_engine(struct iw_sctp_addr *out, const struct iw_addr *a, bool with_port);
/* Converts an address of the engine, and adds port. Sets out->len to 0 if *a is all zero. */
void iw_port_from_engine(struct iw_addr *out, const struct iw_sctp_addr *a, uint16_t port);

/* sctp_engine_fault.c */
/*
 * Checks that this host has a route to t. Without a route, the INIT would be lost without an error.
 * Returns 0, or the error of iw_sock_check_route (*why).
 */
IW_MUST_CHECK int iw_port_check_route(const struct user_port *u, const struct iw_addr *t,
				      struct iw_fault *why);
/* After a failed set-up: adds the peer to the fault of x, and what to check there. */
void iw_port_name_peer(const struct user_port *u, struct user_assoc *x);
/* The carrier has failed: sets the fault of x, the only association, with the name of the peer. */
void iw_port_name_carrier(const struct user_port *u, struct user_assoc *x);
void iw_port_user_no_answer(struct iw_assoc *a, uint64_t waited, struct iw_fault *why);

/* sctp_engine_assoc.c */
/* Sets *out to the controller with that name; NULL: *out is NULL. IW_E_NOTSUP: no such one. */
IW_MUST_CHECK int iw_port_pick_cc(const struct iw_sctp_cc_ops **out, const char *name,
				  struct iw_fault *why);
int iw_port_user_connect(struct iw_port *p, struct iw_assoc **out, uint64_t now,
			 struct iw_fault *why);
void iw_port_user_release(struct iw_assoc *a);
void iw_port_user_shutdown(struct iw_assoc *a, uint64_t now);
void iw_port_user_facts(struct iw_assoc *a, struct iw_llp_facts *out);
int iw_port_user_set_cc(struct iw_assoc *a, const char *name, struct iw_fault *why);
unsigned iw_port_user_paths(struct iw_assoc *a, struct iw_assoc_path *out, unsigned cap);
bool iw_port_user_tls(struct iw_assoc *a, struct iw_tls_info *out);
bool iw_port_user_next_event(struct iw_port *p, struct iw_assoc_event *out);

/* sctp_engine_input.c */
/* Passes the errors that the carrier reports to the engine. */
void iw_port_take_errors(struct user_port *u, uint64_t now);
int iw_port_user_input(struct iw_port *p, uint64_t now, struct iw_fault *why);
int iw_port_user_input_wait(struct iw_port *p, uint64_t *now, struct iw_fault *why);
bool iw_port_user_peek(struct iw_port *p, uint64_t now);
void iw_port_user_rest(struct iw_port *p, bool on);
bool iw_port_user_next_msg(struct iw_port *p, struct iw_port_msg *out);
struct iw_lender *iw_port_user_lend(struct iw_port *p, const uint8_t *data);
void iw_port_user_held(struct iw_assoc *a, size_t octets);

/* sctp_engine_output.c */
int iw_port_user_send(struct iw_assoc *a, const struct iw_port_out *m, uint64_t now);
void iw_port_user_release_memory(struct iw_assoc *a, uint16_t stream, uint64_t now);
int iw_port_user_output(struct iw_port *p, uint64_t now);
void iw_port_user_abort(struct iw_assoc *a, const char *reason, uint64_t now);
uint64_t iw_port_user_deadline(struct iw_port *p);
void iw_port_user_timeout(struct iw_port *p, uint64_t now);

#endif
