/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside llp: the five transports. */
#ifndef IW_LLP_INTERNAL_H
#define IW_LLP_INTERNAL_H

#include "llp/llp.h"
#include "llp/port.h"

extern const struct iw_llp_ops iw_llp_tcp_ops;
extern const struct iw_llp_ops iw_llp_sctp_ops, iw_llp_udp_ops, iw_llp_raw_ops, iw_llp_xdp_ops;

extern const struct iw_port_ops iw_port_sctp_ops, iw_port_udp_ops, iw_port_raw_ops, iw_port_xdp_ops;

/*
 * Fills why with the reason why the transport of that name cannot run in this build. Returns
 * IW_E_NOTSUP.
 */
int iw_llp_absent(const char *name, struct iw_fault *why);

#endif
