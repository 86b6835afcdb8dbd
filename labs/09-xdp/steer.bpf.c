/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Your steering program. steer.h has its interface, README.md the steps.
 *
 * Before it reads an octet of the frame, the program must compare its address with ctx->data_end.
 * The kernel's verifier follows all paths of the program, and refuses it if one of them reads
 * without such a comparison.
 */
#include "steer.h"

struct streams_map streams SEC(".maps");
struct xsks_map xsks SEC(".maps");
struct counters_map counters SEC(".maps");

/* Counts the frame and passes it to the kernel. */
static __always_inline int pass(__u32 why)
{
	/* TODO step 1: add 1 to the counter `why` in the map counters. */
	(void)why;
	return XDP_PASS;
}

/* Redirects the frame to the socket of a slot. kind: the counter for it. */
static __always_inline int redirect(struct xdp_md *ctx, __u32 slot, __u32 kind)
{
	/* TODO step 1: bpf_redirect_map() with the entry of the slot; count it.
	 * TODO step 8: the queue of the frame; slots and queues that do not exist. */
	(void)ctx;
	(void)slot;
	return pass(kind);
}

/*
 * TODO step 1: a function for each layer is a good plan, such as
 *   ethernet (step 4: VLAN tags), IPv4 (step 3), IPv6 (step 6), UDP (step 5), SCTP and its chunks
 *   (step 7), the DATA chunk.
 */

SEC("xdp")
int steer(struct xdp_md *ctx)
{
	(void)ctx;
	(void)redirect;
	return XDP_PASS;
}

/* The kernel offers some helpers only to programs with a licence that it knows. */
char _license[] SEC("license") = "Dual BSD/GPL";
