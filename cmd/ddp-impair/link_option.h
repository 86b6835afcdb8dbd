/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside ddp-impair: the settings of --link, --link-ab and --link-ba. */
#ifndef IW_DDP_IMPAIR_LINK_OPTION_H
#define IW_DDP_IMPAIR_LINK_OPTION_H

#include "ddp-impair/link/link.h"

/* Sets the limits that apply unless the settings change them. */
void iw_settings_default(struct iw_link_cfg *c);
/*
 * Applies a list such as "loss=1%,delay=10ms,rate=100M" to *c. IW_E_INVAL: *why has the list, the
 * setting and what was expected. IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_settings_parse(struct iw_link_cfg *c, const char *list, struct iw_fault *why);
/* Returns the first setting of *c that a stream cannot have, such as "loss"; NULL: none. */
const char *iw_settings_not_stream(const struct iw_link_cfg *c);

#endif
