/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The prober's core: one TCP connection played by hand. Octets go out as they are told, in pieces
 * and with pauses if asked for; what comes back is recorded with its time: octets read by read, the
 * peer's FIN, its reset. Nothing is judged here and no protocol is known, so whatever a connection
 * can be made to do, right or wrong, a caller can try and look at afterwards.
 *
 * Every step has a time limit and ends early when the process was asked to stop. Threads: none.
 */
#ifndef IW_PROBE_PLAY_H
#define IW_PROBE_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "llp/stream.h"

#define IW_PLAY_NOTES  256
#define IW_PLAY_RX_MAX (256 * 1024) /* octets kept of what the peer sends; the rest is counted */

enum iw_play_kind {
	IW_PLAY_CONNECTED,
	IW_PLAY_SENT,     /* off, len: of all that was sent; the system took it */
	IW_PLAY_RECEIVED, /* off, len: of all that came: one read */
	IW_PLAY_SHUT,     /* our FIN */
	IW_PLAY_FIN,      /* the peer's */
	IW_PLAY_RESET,    /* by the peer */
	IW_PLAY_LOST,     /* ended otherwise; os_errno */
};

struct iw_play_note {
	enum iw_play_kind kind;
	uint64_t at_ns; /* since the attempt to connect began */
	size_t off, len;
	int os_errno;
};

/* What TCP tells of the connection; 0: it does not. */
struct iw_play_facts {
	char local[64], peer[64];
	uint32_t mss;    /* octets of a segment that we send */
	uint32_t pmtu;   /* of the path, as known by then */
	uint64_t rtt_ns; /* TCP's own smoothed round trip */
};

struct iw_play_cfg {
	const char *host; /* numeric, so that asking a name service is in no figure */
	uint16_t port;
	const char *bind_addr, *interface; /* or NULL */
	int stop_fd;                       /* readable: the process was asked to stop; -1: none */
	/* A line of JSON for each note, or NULL; number stands in it. */
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
	unsigned number;
};

struct iw_play {
	struct iw_stream *llp; /* owned; NULL: not connected */
	int stop_fd;
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
	unsigned number;
	uint64_t t0;
	uint64_t wall0; /* ns since 1970, at t0 */

	uint8_t *rx; /* owned */
	size_t rx_len, rx_cap;
	uint64_t rx_lost; /* octets beyond IW_PLAY_RX_MAX */
	uint64_t sent;    /* octets that the system took */
	bool shut;        /* we sent our FIN */
	bool fin, reset, lost;
	int os_errno; /* with lost */

	struct iw_play_note notes[IW_PLAY_NOTES];
	size_t nnotes;
	uint64_t notes_lost;
};

/* Nothing more can come. */
static inline bool iw_play_over(const struct iw_play *p)
{
	return p->fin || p->reset || p->lost;
}

/* Connects within limit_ns. *p is set up anew and needs iw_play_end whatever comes of it. 0;
 * IW_E_TIMEOUT: nobody answered; IW_E_OS with why->os_errno, e.g. ECONNREFUSED; IW_E_CANCELED: asked
 * to stop; others of the socket. */
IW_MUST_CHECK int iw_play_connect(struct iw_play *p, const struct iw_play_cfg *cfg,
				  uint64_t limit_ns, struct iw_fault *why);
/* Closes without ado and frees everything; a connection that is reset is not told of any more. */
void iw_play_end(struct iw_play *p);

/* Sends octets (borrowed). piece above 0: so many at a time, each in a segment of its own, gap_ns
 * apart. 0; IW_E_CLOSED: the peer is gone, what it did is recorded; IW_E_TIMEOUT: it does not take
 * them within limit_ns; IW_E_CANCELED. */
IW_MUST_CHECK int iw_play_send(struct iw_play *p, const void *octets, size_t len, size_t piece,
			       uint64_t gap_ns, uint64_t limit_ns);
/* Reads until want octets have come in all, the connection is over, or limit_ns has passed. 1: they
 * are there; 0: time ran out, or it is over; IW_E_CANCELED, IW_E_NOMEM. */
IW_MUST_CHECK int iw_play_wait(struct iw_play *p, size_t want, uint64_t limit_ns);
/* Our FIN. What the peer sends can still be waited for. */
void iw_play_shut(struct iw_play *p);

/* Now, on the clock of the notes. */
uint64_t iw_play_now(const struct iw_play *p);
/* The first note of that kind from index on; NULL: there is none. */
const struct iw_play_note *iw_play_find(const struct iw_play *p, enum iw_play_kind kind,
					size_t from);
/* Costs system calls. */
void iw_play_facts(const struct iw_play *p, struct iw_play_facts *out);

#endif
