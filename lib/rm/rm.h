/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rm: the resource manager (RFC 5041 8.3, RFC 5042 3). It registers Tagged Buffers in a running
 * ddp-recv for others to use, lets peers in that can name one and its key, and gives an account of
 * what they do.
 *
 * Neighbours: lib/file's hub owns the context, the listener and the loop, and gives it connection
 * requests that claim a buffer, the events of its queue pairs, and turns; stag-reg asks it by the
 * control socket (rm/control.h). Threads: the context's.
 *
 * Scopes: every buffer lies in a protection domain. Without a name the domain is the buffer's own:
 * whoever is let in for the buffer can use that one and nothing else, whatever STags it guesses
 * (RFC 5042 6.1.1). Buffers under one name share a domain, and whoever has the key of one of them
 * can use all of them. A buffer may also be of one connection alone, and ends with it. Transfers
 * are in a domain of their own, in which nothing is ever registered here.
 *
 * Admission: a Request names an STag and the key of its Advertisement, 128 random bits; a wrong key
 * and an STag that is not there get the same answer. A buffer registered as open has no key. Claims
 * without the right key are limited in number (rm/guess.h).
 *
 * End: revoked (takes effect before the answer), life over, uses spent, the connection it belongs
 * to gone, or its file lost (rm/map.h). Who is connected to a domain that has no buffer left is
 * dropped a little later, so that its next operation can be refused with a Terminate that says why.
 */
#ifndef IW_RM_RM_H
#define IW_RM_RM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

struct iw_rm;

#define IW_RM_BUFFERS_MAX 65536u /* registered at once */
#define IW_RM_PEERS_MAX   16384u /* connected at once */
#define IW_RM_ENDED_MAX   32u    /* remembered of each domain's peers that have gone */

struct iw_rm_cfg {
	struct iw_ctx *ctx; /* outlives the manager */
	/* What Advertisements say. */
	const char *transport; /* kept */
	const char *addr;      /* the listener's, "127.0.0.1:7471"; copied */
	uint16_t port;
	uint64_t memory; /* octets of new memory that may be registered, together; 0: no limit */
	uint64_t peers;  /* peers connected at once; at most IW_RM_PEERS_MAX */
};

/* IW_E_NOMEM, IW_E_OS, IW_E_LIMIT. */
IW_MUST_CHECK int iw_rm_new(struct iw_rm **out, const struct iw_rm_cfg *cfg, struct iw_fault *why);
/* Revokes everything and ends its connections at once. NULL does nothing. */
void iw_rm_free(struct iw_rm *rm);

/*
 * Answers to a request whose Private Data iw_claim_is of this kind (req is consumed). 0: let in.
 * IW_E_REJECTED: rejected, for the reason in *why; IW_E_LIMIT: rejected without a check, after too many
 * wrong claims (rm/guess.h), which was logged once; others: it could not be answered.
 */
IW_MUST_CHECK int iw_rm_claim(struct iw_rm *rm, struct iw_conn_req *req, struct iw_fault *why);
/* True: the event is of a queue pair of the manager, which has dealt with it. */
bool iw_rm_event(struct iw_rm *rm, const struct iw_async_event *ev);

/*
 * Lives that are over, files that were lost, and whatever else has its time. Cheap when there is
 * nothing; to be called in every turn of the loop, at the latest at iw_rm_deadline.
 */
void iw_rm_turn(struct iw_rm *rm, uint64_t now);
uint64_t iw_rm_deadline(const struct iw_rm *rm);
/* The path of the control socket; "": none. Owned. */
const char *iw_rm_path(const struct iw_rm *rm);
/* Octets of new memory that are registered. */
uint64_t iw_rm_memory(const struct iw_rm *rm);
/*
 * Octets that the library holds for the connected peers (iw_qp_memory), beyond what it held for
 * each when it was let in. Reads every peer.
 */
uint64_t iw_rm_peer_memory(const struct iw_rm *rm);
/* Peers that are connected. */
unsigned iw_rm_peers(const struct iw_rm *rm);
/* Readable while the control socket has something to do: call iw_rm_serve then. Owned. */
int iw_rm_fd(const struct iw_rm *rm);
void iw_rm_serve(struct iw_rm *rm, uint64_t now);

#endif
