/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For this project's own tools, not for users of the library:
 *
 * A layer of theirs between the engine and the transport of each connection. It sees and may change
 * every octet, so a program can say in MPA's start-up what the engine never would (mpa-probe's
 * personalities).
 *
 * A count that separates peers that transfer data from peers that only keep a connection busy.
 */
#ifndef IW_VERBS_WRAP_H
#define IW_VERBS_WRAP_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "llp/stream.h"

/*
 * wrap is called for each connection that the context begins (initiator; it is still connecting
 * then) or accepts, with its transport. It returns one of its own that from then on owns that, or
 * the same one; NULL: it cannot, and has closed it. Its fields are to be kept as the inner one's
 * are. wrap NULL: none.
 */
void iw_ctx_wrap_stream(struct iw_ctx *ctx,
			struct iw_stream *(*wrap)(void *wrap_ctx, struct iw_stream *stream,
						  bool initiator),
			void *wrap_ctx);

/*
 * Octets of payload that the peer's Sends, RDMA Writes and Read Responses brought so far, counted as
 * their segments are placed. Zero-length operations, Read Requests, Terminates, and FPDUs that are
 * not complete add nothing.
 */
uint64_t iw_qp_rx_payload(const struct iw_qp *qp);

#endif
