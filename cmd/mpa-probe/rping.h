/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Both sides of the conversation of rping, the ping program of rdma-core, over one queue pair.
 * Every iWARP host has rping. Its conversation uses Sends, RDMA Reads and RDMA Writes and compares
 * the data, so it shows that two implementations interoperate.
 *
 * A round:   client                                    server
 *            Send(advertisement of its source)  ---->
 *                                               <----  RDMA Read Request
 *            RDMA Read Response                 ---->
 *                                               <----  Send (continue)
 *            Send(advertisement of its sink)    ---->
 *                                               <----  RDMA Write of the data read
 *                                               <----  Send (continue)
 *
 * An advertisement has 16 octets, big-endian: Tagged Offset (8), STag (4), length (4). A `continue`
 * message has the same length and any content. The text of round n is "rdma-ping-n: " followed by
 * the characters A to z, which begin one character later in each round, and a final NUL. The server
 * of rdma-core reads the advertised length into a buffer of the size of its own -S, so both sides
 * need the same size.
 *
 * This object has the buffers and the order of messages. The caller owns the context, the
 * connection and the loop, passes in the completions of the queue pair and the time, and closes the
 * connection at the end of the conversation. No function waits. An object belongs to the thread of
 * its queue pair. Times are nanoseconds of the monotonic clock.
 */
#ifndef IW_MPA_PROBE_RPING_H
#define IW_MPA_PROBE_RPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

/* zero-length pings, which rping itself does not send */
#define IW_RPING_SIZE_NONE UINT32_MAX
#define IW_RPING_SIZE_MAX  65535 /* limit of rping itself */
#define IW_RPING_DEPTH     8     /* least depth of both queues of the queue pair */

struct iw_rping_cfg {
	bool client;
	/*
	 * 1 to IW_RPING_SIZE_MAX, or IW_RPING_SIZE_NONE. Client: octets of a ping; 0: 64. Server:
	 * the longest ping accepted; 0: IW_RPING_SIZE_MAX.
	 */
	uint32_t size;
	uint64_t count; /* client: rounds; 0: until iw_rping_stop() */
	/* Compares data. Client: with the data sent. Server: with rping's text of the round. */
	bool verify;
};

struct iw_rping_result {
	uint32_t size;                   /* octets of the last ping */
	uint64_t rounds;                 /* rounds completed */
	uint64_t verified;               /* rounds compared without a difference */
	uint64_t read, written;          /* octets moved by RDMA Read and by RDMA Write */
	uint64_t min_ns, max_ns, sum_ns; /* client: duration of a round */
	char text[80]; /* beginning of the last ping; unprintable characters are dots */
};

struct iw_rping;

/*
 * Allocates and registers the buffers, for qp alone, and posts the receives. Call it before the
 * connection is requested or accepted, since the peer may send at once. pd and qp are borrowed
 * until iw_rping_free(). Returns 0 and *out, or an error, after which the caller frees the queue
 * pair too, since it may hold a receive:
 *  - IW_E_INVAL: the size is above IW_RPING_SIZE_MAX;
 *  - IW_E_NOMEM;
 *  - others: of iw_mr_reg() and iw_post_recv().
 */
IW_MUST_CHECK int iw_rping_new(struct iw_rping **out, struct iw_pd *pd, struct iw_qp *qp,
			       const struct iw_rping_cfg *cfg, struct iw_fault *why);
/*
 * Call it after IW_EV_CLOSED of the queue pair or iw_qp_free(): until then receives are posted.
 * NULL is allowed.
 */
void iw_rping_free(struct iw_rping *r);

/*
 * Begins the conversation when the connection is up. A server has nothing to do. Errors: see
 * iw_rping_done().
 */
IW_MUST_CHECK int iw_rping_start(struct iw_rping *r, uint64_t now, struct iw_fault *why);
/*
 * Takes a completion of the queue pair. Returns 0, or an error that ends the conversation; then
 * disconnect or abort:
 *  - IW_E_FORMAT: the peer's message is not one of rping, or the data differ;
 *  - IW_E_REJECTED: the client's ping is longer than the server accepts;
 *  - the status of a failed completion; IW_EV_CLOSED then has the reason;
 *  - an error of iw_post_send() or iw_post_recv().
 */
IW_MUST_CHECK int iw_rping_done(struct iw_rping *r, const struct iw_wc *wc, uint64_t now,
				struct iw_fault *why);

/*
 * Returns true if, client: the last round is complete (disconnect now); server: no round is in
 * progress.
 */
bool iw_rping_over(const struct iw_rping *r);
/* Client: ends the conversation after the current round. */
void iw_rping_stop(struct iw_rping *r);
/* Returns the result up to now. Borrowed until iw_rping_free(). */
const struct iw_rping_result *iw_rping_result(const struct iw_rping *r);

/* Writes `size` octets of rping's text of a round to out. */
void iw_rping_text(uint8_t *out, uint32_t size, uint64_t round);

#endif
