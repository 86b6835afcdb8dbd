// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The context of a tool. */
#include "cli/context.h"

#include "cli/signals.h"
#include "util/text.h"

int iw_cli_context(struct iw_ctx **ctx, struct iw_pd **pd, struct iw_cq **cq,
		   const struct iw_ctx_attr *attr, struct iw_fault *why)
{
	int err = iw_ctx_new(ctx, attr, why);

	if (err)
		return err;
	err = iw_ctx_wake_fd(*ctx, iw_signals_fd(), why);
	if (err)
		return err;
	err = iw_pd_new(pd, *ctx);
	if (!err)
		err = iw_cq_new(cq, *ctx);
	return err ? iw_fail(why, err, "set up: %s", iw_err_text(err)) : 0;
}
