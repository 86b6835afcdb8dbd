/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every tool that moves data begins with. */
#ifndef IW_CLI_CONTEXT_H
#define IW_CLI_CONTEXT_H

#include <iwarp/verbs.h>

/*
 * A context that wakes when the process is asked to stop (cli/signals.h), with one protection domain
 * and one completion queue; all the caller's, and iw_ctx_free(*ctx) frees them, also after a failure,
 * which may have made *ctx. Errors as of iw_ctx_new.
 */
IW_MUST_CHECK int iw_cli_context(struct iw_ctx **ctx, struct iw_pd **pd, struct iw_cq **cq,
				 const struct iw_ctx_attr *attr, struct iw_fault *why);

#endif
