/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Network interfaces: index, queues, offloads, and what the driver can do with XDP.
 *
 * Neighbours: attach.h has the programs on an interface. None of this needs libxdp. Threads: no state.
 */
#ifndef IW_LOADER_INTERFACE_H
#define IW_LOADER_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

enum iw_xdp_offload {
	IW_XDP_TSO = 1,
	IW_XDP_GSO = 2,
	IW_XDP_GRO = 4,
	IW_XDP_LRO = 8,
	IW_XDP_RX_CSUM = 16,
	IW_XDP_TX_CSUM = 32,
};
/* Those that are on, as bits; "tso", ...: the name of one. */
unsigned iw_interface_offloads(const char *interface);
const char *iw_interface_offload_name(enum iw_xdp_offload offload);

/* What an interface's driver can do with XDP, as it says itself. */
struct iw_xdp_driver {
	bool native; /* and redirect */
	bool transmit; /* it sends frames that programs redirect to it; of veth: now, for its far end takes them */
	bool zerocopy, multi_buffer;
};
/* False: Linux before 6.3 does not report it. */
bool iw_interface_driver(struct iw_xdp_driver *out, unsigned ifindex);

/* Index of an interface. IW_E_NOENT: no interface has that name. */
IW_MUST_CHECK int iw_interface_index(unsigned *out, const char *interface, struct iw_fault *why);
/* One end of a pair. */
bool iw_interface_is_veth(const char *interface);
/* Queues that packets may arrive on; at least 1. */
unsigned iw_interface_queues(const char *interface);

#endif
