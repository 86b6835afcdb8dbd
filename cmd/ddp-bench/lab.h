/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lab: two network namespaces with one interface each, either a veth pair or two interfaces of
 * this machine that are connected to each other. Child processes run in them.
 *
 * A veth pair disappears with this process, however it ends. iw_lab_close() returns the machine's
 * own interfaces. If this process is killed before, the kernel returns interfaces with hardware,
 * and removes virtual ones. The lab needs root and iproute2.
 * Threads: none are started; the process must have only one.
 */
#ifndef IW_DDP_BENCH_LAB_H
#define IW_DDP_BENCH_LAB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <iwarp/err.h>

enum iw_lab_side { IW_LAB_LEFT, IW_LAB_RIGHT };

/* The IPv4 addresses, by side. */
extern const char *const iw_lab_address[2];

/* The state of an interface of this machine before it was borrowed. */
struct iw_lab_loan {
	bool moved, up; /* moved: it is in a namespace of the lab now */
	uint32_t mtu;
	int offloads; /* a set of bits; negative: not read */
};

struct iw_lab {
	pid_t holder[2];          /* the processes that keep the namespaces */
	const char *interface[2]; /* borrowed, or static */
	uint8_t mac[2][6];
	struct iw_lab_loan loan[2];
};

/*
 * Opens the lab. given: two interfaces of this machine without addresses, which the lab uses until
 * iw_lab_close(), with their names; NULL: a veth pair. mtu: of both interfaces, octets. Returns 0,
 * or one of these, with the remedy in *why:
 *  - IW_E_PERM: not root;
 *  - IW_E_NOENT: no such interface;
 *  - IW_E_BUSY: an interface has an address;
 *  - IW_E_TIMEOUT: no carrier within 10 s;
 *  - IW_E_NOTSUP: no iproute2, or not an Ethernet interface;
 *  - IW_E_OS: a system call or a command of iproute2 failed; others by errno.
 */
IW_MUST_CHECK int iw_lab_open(struct iw_lab *lab, const char *const given[2], uint32_t mtu,
			      struct iw_fault *why);
/* Returns the interfaces and removes the namespaces. Does nothing for a lab that is not open. */
void iw_lab_close(struct iw_lab *lab);
/* Switches segmentation and checksum offloads of both interfaces. IW_E_NOTSUP: a driver cannot. */
IW_MUST_CHECK int iw_lab_offloads(struct iw_lab *lab, bool on, struct iw_fault *why);

/*
 * Calls run(arg) in a child process on that side. The child ends with this process at the latest.
 * The caller waits for *child with iw_lab_wait. Errors by errno: the process could not be started.
 */
IW_MUST_CHECK int iw_lab_start(const struct iw_lab *lab, enum iw_lab_side side, pid_t *child,
			       int (*run)(void *arg), void *arg, struct iw_fault *why);
/*
 * Waits at most timeout_ns for the child, then kills it. Returns what run() returned, 0 to 255; -1
 * if it did not return; 125 if the child could not enter the namespace.
 */
int iw_lab_wait(pid_t child, uint64_t timeout_ns);

#endif
