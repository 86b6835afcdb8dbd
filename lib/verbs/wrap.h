/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For this project's own tools, not for users of the library:
 *
 * A layer between the engine and the transport of each connection. It sees and may change every
 * octet. With it mpa-probe sends, in MPA start-up, frames that the engine never sends.
 *
 * A count of received payload. It distinguishes a peer that transfers data from one that only keeps
 * a connection busy.
 */
#ifndef IW_VERBS_WRAP_H
#define IW_VERBS_WRAP_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "llp/stream.h"

/*
 * Sets a function that the context calls for each TCP connection that it begins (initiator true;
 * still connecting) or accepts. wrap NULL: no layer. wrap_ctx is borrowed for the life of the
 * context. The function takes ownership of stream, and returns a stream of its own around it, or
 * stream itself; NULL: it failed, and has closed stream. The outer stream must keep its public
 * fields equal to those of the inner one.
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
