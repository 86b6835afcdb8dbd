/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The conversation of rping, the ping program of rdma-core, both sides of it, over one queue pair. Whoever has an iWARP host has
 * rping too, so it is the handiest proof that two implementations understand each other: Sends, RDMA Reads and RDMA Writes,
 * with the data looked at.
 *
 * A round:   client                                    server
 *            Send(advertisement of its source)  ---->
 *                                               <----  RDMA Read Request
 *            RDMA Read Response                 ---->
 *                                               <----  Send (go on)
 *            Send(advertisement of its sink)    ---->
 *                                               <----  RDMA Write of what was read
 *                                               <----  Send (go on)
 *
 * An advertisement is 16 octets, big-endian: Tagged Offset (8), STag (4), length (4). A `go on` has the same length and any content.
 * The text of round n is "rdma-ping-n: " and a run of the characters A to z that begins one further each round, ended by NUL. The server of
 * rdma-core reads as much as it is told, into a buffer of its own -S: give both sides the same size.
 *
 * Here the caller has the context, the connection and the loop; this has the buffers and the order of things. The caller hands
 * in the completions of the queue pair and the time; nothing here waits. What ends a conversation is closed by the caller.
 *
 * Neighbours: the public API below, mpa-probe above. Threads: as for the queue pair. Time in nanoseconds, monotonic.
 */
#ifndef IW_PROBE_RPING_H
#define IW_PROBE_RPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

/* a client's: pings of no octets, which rping itself does not send */
#define IW_RPING_SIZE_NONE UINT32_MAX
#define IW_RPING_SIZE_MAX  65535 /* rping's own limit */
#define IW_RPING_DEPTH     8     /* work requests, and receives, that a queue pair needs */

struct iw_rping_cfg {
	bool client;
	/* client: octets of a ping, 1..IW_RPING_SIZE_MAX; server: the most that it takes. 0: 64,
	 * or IW_RPING_SIZE_MAX */
	uint32_t size;
	uint64_t count; /* client: rounds; 0: until it is stopped */
	/* client: what came back is what went out; server: what was read is rping's text of that
	 * round */
	bool verify;
};

struct iw_rping_result {
	uint32_t size;                   /* octets of the last ping */
	uint64_t rounds;                 /* complete */
	uint64_t verified;               /* of those, compared and the same */
	uint64_t read, written;          /* octets moved by RDMA Read and by RDMA Write */
	uint64_t min_ns, max_ns, sum_ns; /* client: of a round */
	char text[80];                   /* beginning of the last ping, printable */
};

struct iw_rping;

/*
 * Makes the buffers, registers them for qp alone, and posts the receives: before the connection is asked for or accepted, since the
 * peer may send at once. IW_E_INVAL: size; IW_E_NOMEM; or what registering and posting say: then free the queue pair, too, which may
 * hold a receive.
 */
IW_MUST_CHECK int iw_rping_new(struct iw_rping **out, struct iw_pd *pd, struct iw_qp *qp,
			       const struct iw_rping_cfg *cfg, struct iw_fault *why);
/* After the queue pair's IW_EV_CLOSED or iw_qp_free: until then its receives are posted. NULL is
 * fine. */
void iw_rping_free(struct iw_rping *r);

/* The connection is up: a client begins; a server has nothing to do. Errors as of
 * iw_rping_done. */
IW_MUST_CHECK int iw_rping_start(struct iw_rping *r, uint64_t now, struct iw_fault *why);
/*
 * A completion of the queue pair. Negative: the conversation cannot go on, why says how: IW_E_FORMAT the peer says what rping does
 * not say, or the data differ; IW_E_REJECTED it wants more octets than the server takes; the completion's own status (the connection's
 * IW_EV_CLOSED then has the story); what posting says. Disconnect or abort.
 */
IW_MUST_CHECK int iw_rping_done(struct iw_rping *r, const struct iw_wc *wc, uint64_t now,
				struct iw_fault *why);

/* Client: the last round is complete: disconnect. Server: no round is under way, so a client may
 * leave. */
bool iw_rping_over(const struct iw_rping *r);
/* The client's round that goes on ends the conversation. */
void iw_rping_stop(struct iw_rping *r);
/* Borrowed until the object is freed; counts what happened up to now. */
const struct iw_rping_result *iw_rping_result(const struct iw_rping *r);

/* The text of a round, as rping's client writes it: @size octets at @out. */
void iw_rping_text(uint8_t *out, uint32_t size, uint64_t round);

#endif
