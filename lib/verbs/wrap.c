// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A layer of a tool around the stream transport of each connection. */
#include "verbs/wrap.h"

#include "verbs/internal.h"

void iw_ctx_wrap_stream(struct iw_ctx *ctx,
			struct iw_stream *(*wrap)(void *wrap_ctx, struct iw_stream *stream,
						  bool initiator),
			void *wrap_ctx)
{
	ctx->wrap = wrap;
	ctx->wrap_ctx = wrap_ctx;
}

struct iw_stream *iw_verbs_wrapped(struct iw_ctx *ctx, struct iw_stream *stream, bool initiator)
{
	return ctx->wrap ? ctx->wrap(ctx->wrap_ctx, stream, initiator) : stream;
}
