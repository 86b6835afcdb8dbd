/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The context, protection domain and completion queue of a tool. */
#ifndef IW_CLI_CONTEXT_H
#define IW_CLI_CONTEXT_H

#include <iwarp/verbs.h>

/*
 * Creates a context with a protection domain and a completion queue. A signal that stops the
 * process (cli/signals.h) ends the context's waits. The caller sets *ctx to NULL before the call,
 * owns all three objects, and frees them with iw_ctx_free(*ctx), also after a failure. Errors of
 * iw_ctx_new and iw_ctx_wake_fd; IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_cli_context(struct iw_ctx **ctx, struct iw_pd **pd, struct iw_cq **cq,
				 const struct iw_ctx_attr *attr, struct iw_fault *why);

#endif
