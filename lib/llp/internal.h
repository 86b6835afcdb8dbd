/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to lib/llp: the session transports. */
#ifndef IW_LLP_INTERNAL_H
#define IW_LLP_INTERNAL_H

#include "llp/port.h"

/* The transports of iw_port_find. One that was not built has only available and open. */
extern const struct iw_port_ops iw_port_sctp_ops, iw_port_udp_ops, iw_port_raw_ops, iw_port_xdp_ops;

#endif
