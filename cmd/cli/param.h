/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The attributes of a connection that a tool passes to the library: its endpoint, its protocols. */
#ifndef IW_CLI_PARAM_H
#define IW_CLI_PARAM_H

#include <iwarp/verbs.h>

struct iw_cli_param {
	struct iw_endpoint_attr at;
	struct iw_protocol_attr protocol;
};
/* The first initializers of a struct iw_cli_param. */
#define IW_CLI_PARAM_SIZES                                                                         \
	.at.size = sizeof(struct iw_endpoint_attr), .protocol.size = sizeof(struct iw_protocol_attr)

#endif
