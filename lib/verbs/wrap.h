/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For this project's own tools, not for users of the library: a layer of theirs between the engine
 * and the transport of each connection. It sees and may change every octet, so a program can say in
 * MPA's start-up what the engine never would (mpa-probe's personalities).
 */
#ifndef IW_VERBS_WRAP_H
#define IW_VERBS_WRAP_H

#include <stdbool.h>

#include <iwarp/verbs.h>

#include "llp/llp.h"

/*
 * wrap is called for each connection that the context begins (initiator; it is still connecting
 * then) or accepts, with its transport. It returns one of its own that from then on owns that, or
 * the same one; NULL: it cannot, and has closed it. Its fields are to be kept as the inner one's
 * are. wrap NULL: none.
 */
void iw_ctx_wrap_llp(struct iw_ctx *ctx,
		     struct iw_llp *(*wrap)(void *wrap_ctx, struct iw_llp *llp, bool initiator),
		     void *wrap_ctx);

#endif
