/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two network namespaces with an interface each: a veth pair of their own, or two interfaces of this machine that are
 * connected to each other.
 *
 * Child processes use them. A veth pair is gone with this process, whatever ends it. The machine's own interfaces are
 * given back by iw_lab_close(); when this process is killed before, the kernel gives back those with hardware, and
 * removes virtual ones. Neighbours: xdp_bench.c. Needs root and iproute2. Threads: none; the process has one.
 */
#ifndef IW_BENCH_LAB_H
#define IW_BENCH_LAB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <iwarp/err.h>

enum iw_lab_side { IW_LAB_LEFT, IW_LAB_RIGHT };

/* By side. */
extern const char *const iw_lab_address[2];

/* An interface of this machine, as it was before. */
struct iw_lab_loan {
	bool moved, up;
	uint32_t mtu;
	int offloads; /* a set of bits; negative: not read */
};

struct iw_lab {
	pid_t holder[2]; /* a process keeps each namespace */
	const char *interface[2];
	uint8_t mac[2][6];
	struct iw_lab_loan loan[2];
};

/*
 * @given: two interfaces of this machine, borrowed until the close; NULL: a veth pair. They must have no addresses.
 *
 * IW_E_PERM: not root; IW_E_NOENT: no such interface; IW_E_BUSY: it has an address; IW_E_TIMEOUT: no carrier within
 * 10 s; IW_E_NOTSUP: no namespaces, no veth, no iproute2; IW_E_OS. The text names what to do.
 */
IW_MUST_CHECK int iw_lab_open(struct iw_lab *lab, const char *const given[2], uint32_t mtu,
			      struct iw_fault *why);
void iw_lab_close(struct iw_lab *lab);
/* Segmentation and checksum offloads of both ends. */
IW_MUST_CHECK int iw_lab_offloads(struct iw_lab *lab, bool on, struct iw_fault *why);

/* run(arg) in a child process on that side; it ends with this process at the latest. */
IW_MUST_CHECK int iw_lab_start(const struct iw_lab *lab, enum iw_lab_side side, pid_t *child,
			       int (*run)(void *arg), void *arg, struct iw_fault *why);
/* Waits for it, timeout_ns at most, then kills it. What it returned; -1: it did not return. */
int iw_lab_wait(pid_t child, uint64_t timeout_ns);

#endif
