/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside llp: the five transports. */
#ifndef IW_LLP_INTERNAL_H
#define IW_LLP_INTERNAL_H

#include "llp/llp.h"
#include "llp/port.h"

extern const struct iw_llp_ops iw_llp_tcp_ops;
extern const struct iw_port_ops iw_port_sctp_ops, iw_port_udp_ops, iw_port_raw_ops, iw_port_xdp_ops;

#endif
