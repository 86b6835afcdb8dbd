/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two network namespaces joined by a veth pair, for measurements that bring their own network.
 *
 * Job: made, used by child processes, gone with this process whatever ends it. Neighbours: xdp_bench.c. Needs
 * root and iproute2. Threads: none; the process has one.
 */
#ifndef IW_BENCH_LAB_H
#define IW_BENCH_LAB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <iwarp/err.h>

enum iw_lab_side { IW_LAB_LEFT, IW_LAB_RIGHT };

/* By side. */
extern const char *const iw_lab_interface[2], *const iw_lab_address[2];
extern const uint8_t iw_lab_mac[2][6];

struct iw_lab {
	pid_t holder[2]; /* a process keeps each namespace */
};

/* IW_E_PERM: not root; IW_E_NOTSUP: no namespaces, no veth, no iproute2; IW_E_OS. */
IW_MUST_CHECK int iw_lab_open(struct iw_lab *lab, uint32_t mtu, struct iw_fault *why);
void iw_lab_close(struct iw_lab *lab);
/* Segmentation and checksum offloads of both ends. */
IW_MUST_CHECK int iw_lab_offloads(const struct iw_lab *lab, bool on, struct iw_fault *why);

/* run(arg) in a child process on that side; it ends with this process at the latest. */
IW_MUST_CHECK int iw_lab_start(const struct iw_lab *lab, enum iw_lab_side side, pid_t *child,
			       int (*run)(void *arg), void *arg, struct iw_fault *why);
/* Waits for it, timeout_ns at most, then kills it. What it returned; -1: it did not return. */
int iw_lab_wait(pid_t child, uint64_t timeout_ns);

#endif
