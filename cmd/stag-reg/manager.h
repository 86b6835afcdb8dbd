/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * manager: the resource manager (RFC 5041 8.3, RFC 5042 3). It registers Tagged Buffers in a
 * running ddp-recv for other processes to use. It admits peers that name a buffer and its key, and
 * reports what they do.
 *
 * The hub of cmd/transfer owns the context, the listener and the loop. It passes to the manager the
 * connection requests that claim a buffer and the events of the manager's queue pairs, and calls
 * iw_manager_turn. stag-reg sends requests on the control socket (stag-reg/control.h). Threads: as
 * for the context.
 *
 * Scopes: every buffer is in a protection domain. A buffer registered without a domain name gets a
 * domain of its own: a peer admitted for it can use no other buffer, whatever STags the peer
 * guesses (RFC 5042 6.1.1). Buffers registered under one name share a domain: a peer with the key
 * of one of them can use all of them. A buffer may also belong to one connection alone; it ends
 * with that connection. Transfers use a domain of their own, in which the manager registers
 * nothing.
 *
 * Admission: a Request names an STag and the key from its Advertisement, 128 random bits. A wrong
 * key and an unknown STag get the same answer. A buffer registered as open has no key. Claims
 * without the right key are limited in number (stag-reg/guess.h).
 *
 * A buffer ends when it is revoked (this takes effect before the answer is sent), its lifetime is
 * over, its uses are spent, its connection has ended or its file is lost (stag-reg/map.h). When the
 * last buffer of a domain has ended, the peers of the domain are disconnected a few seconds later.
 * Until then their next operation is refused with a Terminate that gives the reason.
 */
#ifndef IW_STAG_REG_MANAGER_H
#define IW_STAG_REG_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

struct iw_manager;

#define IW_MANAGER_BUFFERS_MAX 65536u /* registered at once */
#define IW_MANAGER_PEERS_MAX   16384u /* connected at once */
#define IW_MANAGER_ENDED_MAX   32u    /* ended peers remembered for each domain */

struct iw_manager_cfg {
	struct iw_ctx *ctx; /* outlives the manager */
	/* For Advertisements. */
	const char *transport; /* borrowed for life */
	const char *addr;      /* of the listener, such as "127.0.0.1:7471"; copied */
	uint16_t port;
	uint64_t memory; /* limit of registered new memory, octets in all; 0: none */
	uint64_t peers;  /* limit of connected peers; at most IW_MANAGER_PEERS_MAX */
};

/*
 * Creates a manager without a control socket, owned by the caller. IW_E_NOMEM; IW_E_LIMIT: no free
 * descriptors; IW_E_OS: epoll failed.
 */
IW_MUST_CHECK int iw_manager_new(struct iw_manager **out, const struct iw_manager_cfg *cfg,
				 struct iw_fault *why);
/* Revokes all buffers, ends their connections at once and frees the manager. m may be NULL. */
void iw_manager_free(struct iw_manager *m);

/*
 * Answers a connection request that claims a buffer (iw_claim_is on its Private Data) and consumes
 * it. Returns 0: the peer is admitted. IW_E_REJECTED: rejected, with the reason in *why.
 * IW_E_LIMIT: rejected without a check after too many wrong claims (stag-reg/guess.h), which was
 * logged once. Other errors: the request could not be answered.
 */
IW_MUST_CHECK int iw_manager_claim(struct iw_manager *m, struct iw_conn_req *req,
				   struct iw_fault *why);
/* Handles an event of one of the manager's queue pairs. Returns false for any other event. */
bool iw_manager_event(struct iw_manager *m, const struct iw_async_event *ev);

/*
 * Drops buffers whose lifetime is over or whose file is lost, and serves all other timers. Call it
 * in every turn of the loop, at the latest at iw_manager_deadline. It is cheap if nothing is due.
 */
void iw_manager_turn(struct iw_manager *m, uint64_t now);
uint64_t iw_manager_deadline(const struct iw_manager *m);
/* The path of the control socket; "": none. Owned by the manager. */
const char *iw_manager_path(const struct iw_manager *m);
/* Octets of new memory that are registered. */
uint64_t iw_manager_memory(const struct iw_manager *m);
/*
 * Octets by which the memory of the connected peers (iw_qp_memory) has grown since their admission.
 * Visits every peer.
 */
uint64_t iw_manager_peer_memory(const struct iw_manager *m);
/* The number of connected peers. */
unsigned iw_manager_peers(const struct iw_manager *m);
/*
 * A descriptor that is readable while the control socket has something to do: call iw_manager_serve
 * then. Owned by the manager.
 */
int iw_manager_fd(const struct iw_manager *m);
void iw_manager_serve(struct iw_manager *m, uint64_t now);

#endif
