/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 9: runs the student's program in the kernel.
 *
 * The program is untrusted, and BPF needs root. So a process of its own does it, in a new network
 * namespace, with a time limit, as an unprivileged user with four capabilities. It accepts an object
 * with the lab's one program and three maps only, which it never pins. The verifier guarantees that
 * the program ends, and that it accesses nothing but the frame, its stack and its maps. After
 * loading, and before the first run, the process also refuses all helpers but the few of this lab.
 * So the program cannot read the kernel's memory, redirect frames elsewhere, or call bpf_loop(),
 * which ends but may take hours.
 */
#ifndef LABS_GRADER_XDP_KERNEL_H
#define LABS_GRADER_XDP_KERNEL_H

#include "labs/grader/xdp/frame.h"

enum { XDP_SET_MAX = 4000 };

/* Frames with what became of them. */
struct xdp_set {
	size_t n;
	struct xdp_case {
		const uint8_t *frame; /* owned */
		size_t len;
		char text[120];
	} cases[XDP_SET_MAX];
};

/* Where a frame arrived that crossed the veth pair. */
enum xdp_where {
	XDP_NOWHERE,
	XDP_SOCKET_A,
	XDP_SOCKET_B,
	XDP_KERNEL,
	XDP_TWICE,   /* at several places, or several times */
	XDP_CHANGED, /* with other octets */
};

/* One of two sockets of the veth step receives the streams of each slot: B those of odd slots. */
static inline enum xdp_where xdp_socket_of(uint32_t slot)
{
	return slot % 2 ? XDP_SOCKET_B : XDP_SOCKET_A;
}

struct xdp_kernel_result {
	bool ok; /* all of the work was done */
	char text
		[480]; /* else why not; ends with the last lines of the verifier's log, if it refused */
	uint32_t instructions, verified;
	struct {
		uint32_t action; /* XDP_PASS .. */
		uint8_t counter; /* enum xdp_counter: the one that had 1 added */
		uint8_t where;   /* enum xdp_where */
	} of[XDP_SET_MAX];
	double student_ns, ours_ns; /* of a frame */
};

enum xdp_kernel_work { XDP_TEST_RUN, XDP_VETH, XDP_SPEED };

/*
 * Loads the object file and runs the frames of the set. The memory of the result is owned by this
 * function, and valid until the next call. NULL: no memory, or no process.
 */
const struct xdp_kernel_result *xdp_kernel_run(const char *object, enum xdp_kernel_work work,
					       const struct xdp_tables *t,
					       const struct xdp_set *set);

#endif
