/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One TCP connection below any protocol. The caller sends any octets, optionally in pieces with
 * pauses between them. Each octet range received, the peer's FIN and its reset are recorded with
 * their times. This layer knows no protocol and checks nothing, so the caller can send anything,
 * valid or not, and examine the record.
 *
 * Each step has a time limit, and ends early when the process is asked to stop. It starts no
 * thread. A connection belongs to one thread. Times are nanoseconds of the monotonic clock.
 */
#ifndef IW_MPA_PROBE_PLAY_H
#define IW_MPA_PROBE_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "cli/secure.h"
#include "llp/stream.h"

#define IW_PLAY_NOTES  256
#define IW_PLAY_RX_MAX (256 * 1024) /* received octets kept; more are only counted */

enum iw_play_kind {
	IW_PLAY_CONNECTED,
	IW_PLAY_SENT,     /* the kernel took octets; off, len: their range in the stream sent */
	IW_PLAY_RECEIVED, /* one read; off, len: its octets within rx */
	IW_PLAY_SHUT,     /* our FIN */
	IW_PLAY_FIN,      /* the peer's FIN */
	IW_PLAY_RESET,    /* the peer's reset */
	IW_PLAY_LOST,     /* another error, os_errno, ended the connection */
};

struct iw_play_note {
	enum iw_play_kind kind;
	uint64_t at_ns; /* since the attempt to connect began */
	size_t off, len;
	int os_errno;
};

/* What the kernel reports on the connection; 0: not known. */
struct iw_play_facts {
	char local[64], peer[64];
	uint32_t mss;    /* octets of payload in a segment that we send */
	uint32_t pmtu;   /* of the path, as known now */
	uint64_t rtt_ns; /* smoothed, as TCP measures it */
};

struct iw_play_cfg {
	const char *host; /* a numeric address: no measured time includes a look-up */
	uint16_t port;
	const char *bind_addr, *interface; /* NULL: not bound */
	/* Credentials, and what is known about keys; NULL: plain. */
	struct iw_cli_secure *secure;
	const char *name; /* that a certificate of the peer must have; NULL: host */
	int stop_fd;      /* becomes readable when the process is asked to stop; -1: none */
	/* Called with a line of JSON for each note; NULL: no trace. number is in the line. */
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
	uint64_t rx_lost; /* octets received beyond IW_PLAY_RX_MAX */
	uint64_t sent;    /* octets that the kernel took */
	bool shut;        /* our FIN was sent */
	bool fin, reset, lost;
	int os_errno; /* if lost */

	struct iw_play_note notes[IW_PLAY_NOTES];
	size_t nnotes;
	uint64_t notes_lost;
};

/* Returns true if the peer can send nothing more. */
static inline bool iw_play_over(const struct iw_play *p)
{
	return p->fin || p->reset || p->lost;
}

/*
 * Initializes *p and connects within limit_ns. Call iw_play_end() even after a failure. Returns 0,
 * or
 *  - IW_E_TIMEOUT: the peer did not answer;
 *  - IW_E_OS: why->os_errno has the reason, such as ECONNREFUSED;
 *  - IW_E_CANCELED: the process was asked to stop;
 *  - others, if this machine cannot open the socket.
 */
IW_MUST_CHECK int iw_play_connect(struct iw_play *p, const struct iw_play_cfg *cfg,
				  uint64_t limit_ns, struct iw_fault *why);
/* Closes the connection without waiting, and frees what *p owns. */
void iw_play_end(struct iw_play *p);

/*
 * Sends octets (borrowed). With piece above 0 it sends that many at a time, each piece in a segment
 * of its own, and waits gap_ns in between. Returns 0, or
 *  - IW_E_CLOSED: the peer ended the connection; the notes say how;
 *  - IW_E_TIMEOUT: the socket did not take all octets within limit_ns;
 *  - IW_E_CANCELED: the process was asked to stop.
 */
IW_MUST_CHECK int iw_play_send(struct iw_play *p, const void *octets, size_t len, size_t piece,
			       uint64_t gap_ns, uint64_t limit_ns);
/*
 * Reads until rx has `want` octets, the connection is over, or limit_ns has passed. Returns 1 if rx
 * has them, 0 if not, or
 *  - IW_E_CANCELED: the process was asked to stop;
 *  - IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_play_wait(struct iw_play *p, size_t want, uint64_t limit_ns);
/* Sends our FIN. The peer can still send. */
void iw_play_shut(struct iw_play *p);

/* Returns the time since the attempt to connect began, as in the notes. */
uint64_t iw_play_now(const struct iw_play *p);
/* Returns the first note of that kind with an index of at least `from`, or NULL. */
const struct iw_play_note *iw_play_find(const struct iw_play *p, enum iw_play_kind kind,
					size_t from);
/* Fills *out with what the kernel reports. Makes system calls. */
void iw_play_facts(const struct iw_play *p, struct iw_play_facts *out);

#endif
