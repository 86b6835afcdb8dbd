/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Network interfaces: index, queues, offloads, and what the driver can do with XDP.
 *
 * Neighbours: attach.h has the programs on an interface. None of this needs libxdp.
 * Threads: no state.
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
/* Returns the offloads that are on, as a set of bits. */
unsigned iw_interface_offloads(const char *interface);
/* Returns the name of one of them: "tso", ... Static. */
const char *iw_interface_offload_name(enum iw_xdp_offload offload);

/* The XDP features that a driver reports. */
struct iw_xdp_driver {
	bool native; /* native mode and redirect */
	/*
	 * It sends frames that programs redirect to it. A veth reports this only while its far end
	 * accepts such frames.
	 */
	bool transmit;
	bool zerocopy, multi_buffer;
};
/* Reads these features. Returns false if the kernel does not report them (Linux before 6.3). */
bool iw_interface_driver(struct iw_xdp_driver *out, unsigned ifindex);

/* Looks up the index of an interface. IW_E_NOENT: no interface has that name. */
IW_MUST_CHECK int iw_interface_index(unsigned *out, const char *interface, struct iw_fault *why);
/* True for one end of a veth pair. */
bool iw_interface_is_veth(const char *interface);
/* Returns the number of queues on which packets may arrive; at least 1. */
unsigned iw_interface_queues(const char *interface);

#endif
