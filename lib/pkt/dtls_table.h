/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside pkt: the DTLS sessions of a carrier, found by the address of the peer, and how long they
 * live. A peer that restarts has two: the established one, and the one in handshake that replaces
 * it when it is established (RFC 6347 4.2.8).
 */
#ifndef IW_PKT_DTLS_TABLE_H
#define IW_PKT_DTLS_TABLE_H

#include "os/addr.h"
#include "tls/tls.h"
#include "util/list.h"

#define IW_PKT_SESSIONS_MAX   16384 /* established ones: each holds about 70 KiB in OpenSSL */
#define IW_PKT_HANDSHAKES_MAX 1024  /* in handshake: the oldest one gives way to a new one */

enum iw_pkt_session_state {
	IW_PKT_SESSION_NEW,  /* in handshake */
	IW_PKT_SESSION_IDLE, /* established, no packet has arrived yet */
	IW_PKT_SESSION_USED,
};
#define IW_PKT_SESSION_STATES 3

struct iw_pkt_session {
	struct iw_list order; /* in the list of its state, the oldest first */
	struct iw_pkt_session *chain;
	uint64_t hash;
	enum iw_pkt_session_state state;
	uint64_t since; /* beginning of NEW and of IDLE; USED: the last packet. ns */
	struct iw_addr peer, local;
	struct iw_dtls *dtls;
	uint8_t hello[IW_DTLS_RANDOM]; /* responder: of the ClientHello */
	/* Initiator: the first packet, until the session is established. */
	uint8_t *kept;
	size_t kept_len;
};

struct iw_pkt_sessions {
	struct iw_pkt_session **bucket;
	size_t mask; /* buckets - 1, a power of two less one */
	uint64_t secret[2];
	struct iw_list list[IW_PKT_SESSION_STATES];
	size_t count[IW_PKT_SESSION_STATES];
	struct iw_pkt_session *last; /* the carrier's: used last; NULL when it is freed */
};

/* IW_E_NOMEM; IW_E_OS: no random numbers. */
IW_MUST_CHECK int iw_pkt_sessions_init(struct iw_pkt_sessions *t);
/* Frees the sessions as well. */
void iw_pkt_sessions_fini(struct iw_pkt_sessions *t);
/* Returns the session with peer that is established, or is not, or NULL. */
struct iw_pkt_session *iw_pkt_session_find(const struct iw_pkt_sessions *t,
					   const struct iw_addr *peer, bool established);
/*
 * Adds a session in handshake at the time now (ns), and takes ownership of dtls. If there are too
 * many, frees the oldest one. NULL: no memory; dtls is freed.
 */
struct iw_pkt_session *iw_pkt_session_new(struct iw_pkt_sessions *t, const struct iw_addr *peer,
					  struct iw_dtls *dtls, uint64_t now);
void iw_pkt_session_free(struct iw_pkt_sessions *t, struct iw_pkt_session *s);
/*
 * Moves s to another state, or to the end of the list of its state. IDLE replaces an established
 * session with the same peer.
 */
void iw_pkt_session_move(struct iw_pkt_sessions *t, struct iw_pkt_session *s,
			 enum iw_pkt_session_state state, uint64_t now);
/*
 * Makes room for one more established session: frees the oldest one that never carried a packet, or
 * else one that was silent for a minute. False: no such session.
 */
bool iw_pkt_sessions_make_room(struct iw_pkt_sessions *t, uint64_t now);
/* Returns when the next session expires, ns; IW_TIME_NEVER: none. */
uint64_t iw_pkt_sessions_deadline(const struct iw_pkt_sessions *t);
/* Frees the sessions that have expired. */
void iw_pkt_sessions_expire(struct iw_pkt_sessions *t, uint64_t now);

#endif
