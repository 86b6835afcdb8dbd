/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Both sets of attributes of a connection, in one value. */
#ifndef TESTS_CONN_PARAM_H
#define TESTS_CONN_PARAM_H

#include <iwarp/verbs.h>

struct conn_param {
	struct iw_endpoint_attr at;
	struct iw_protocol_attr protocol;
};
#define CONN_PARAM_SIZES                                                                           \
	.at.size = sizeof(struct iw_endpoint_attr), .protocol.size = sizeof(struct iw_protocol_attr)

#endif
