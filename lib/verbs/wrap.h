/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For this project's own tools, not for users of the library:
 *
 * A layer between the engine and the transport of each connection. It sees and may change every
 * octet. So a tool can send, in MPA start-up, frames that the engine never sends (mpa-probe).
 *
 * A counter that distinguishes peers that transfer data from peers that only keep a connection
 * busy.
 */
#ifndef IW_VERBS_WRAP_H
#define IW_VERBS_WRAP_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "llp/stream.h"

/*
 * Sets a function that the context calls for each connection that it begins (initiator; still
 * connecting) or accepts. wrap takes ownership of stream, and returns a stream of its own around
 * it, or stream itself; NULL: it failed, and has closed stream. The outer stream must keep its
 * public fields equal to those of the inner one. wrap NULL: no layer. wrap_ctx is borrowed for the
 * life of the context.
 */
void iw_ctx_wrap_stream(struct iw_ctx *ctx,
			struct iw_stream *(*wrap)(void *wrap_ctx, struct iw_stream *stream,
						  bool initiator),
			void *wrap_ctx);

/*
 * Returns the octets of payload of the peer's Sends, RDMA Writes and Read Responses so far, counted
 * as their segments are placed. Zero-length operations, Read Requests, Terminates, and incomplete
 * FPDUs are not counted.
 */
uint64_t iw_qp_rx_payload(const struct iw_qp *qp);

#endif
