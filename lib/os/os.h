/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * os: the border between the library and the system. Clock, randomness and memory are here; os/addr.h has
 * addresses, os/sock.h sockets, os/gso.h segmentation offload, os/cc.h congestion control, os/priv.h
 * the dropping of privileges, os/probe.h what this process may do and the features of this kernel.
 *
 * Neighbours: verbs, loop, llp, pkt, loader and the tools call it; it uses only libc and util.
 * Threads: no state of its own, so every function may be called from any thread.
 * Errors: iw_os_err() turns the errno of a failed system call into a negative enum iw_err.
 * iw_fault.os_errno keeps the number, and the text names the step and the object: "connect to
 * 10.0.0.1 port 7471: connection refused".
 */
#ifndef IW_OS_OS_H
#define IW_OS_OS_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/mem.h"

/*
 * Returns CLOCK_MONOTONIC in nanoseconds, the unit of every `now` and every deadline in the
 * library. Cannot fail.
 */
uint64_t iw_os_now(void);
/*
 * Returns CLOCK_REALTIME in nanoseconds since 1970, for logs and traces that are compared with
 * those of other hosts.
 */
uint64_t iw_os_wall(void);

/*
 * Fills len octets at buf from the kernel's random source. Blocks only until the source is seeded
 * at boot. Returns 0, or IW_E_OS: do not use buf then, because an STag or key made of it could be
 * guessed.
 */
IW_MUST_CHECK int iw_os_random(void *buf, size_t len);

/*
 * Maps len zeroed bytes, at a page's boundary. For 2 MiB and more, the kernel is asked for
 * transparent huge pages, which it gives if they are enabled ("madvise" or "always") and free. The
 * caller frees the memory with iw_os_unmap. NULL: len is 0, or no memory or address space.
 */
IW_MUST_CHECK void *iw_os_map(size_t len);
/* Unmaps p, which is from iw_os_map(len), or NULL. */
void iw_os_unmap(void *p, size_t len);

/*
 * The default allocator, for any thread. Memory from it is zeroed. Less than 2 MiB is from calloc(),
 * the rest from iw_os_map(), except with AddressSanitizer. The size at free selects the way to free,
 * so it must be the allocated one.
 */
extern const struct iw_mem iw_os_heap;

/*
 * Returns the enum iw_err for an errno: IW_E_PERM, IW_E_NOMEM, IW_E_NOTSUP, IW_E_AGAIN,
 * IW_E_TIMEOUT, IW_E_NOENT, IW_E_LIMIT (no free descriptors), else IW_E_OS.
 */
int iw_os_err(int errnum);

/*
 * Writes a phrase for an errno into buf and returns buf: lower case, never translated, such as
 * "connection refused".
 */
const char *iw_os_strerror(char *buf, size_t cap, int errnum);

/*
 * Fills *why (may be NULL) with iw_os_err(errnum), the number, and a text: fmt, ": " and the
 * phrase of errnum. Returns the error, so that a failing line reads `return iw_os_fail(why, errno,
 * "bind to %s", text);`
 */
int iw_os_fail(struct iw_fault *why, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
