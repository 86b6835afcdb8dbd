/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes of what this process may do and what this kernel supports. Transports call them before they
 * open, and --doctor reports all of them. They keep no state and leave nothing open.
 */
#ifndef IW_OS_PROBE_H
#define IW_OS_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

/* True if the effective set of this thread has cap, one of <linux/capability.h>. */
bool iw_os_has_cap(int cap);

/*
 * Each opens a socket of its kind and closes it. 0: possible; IW_E_NOTSUP: this kernel does not
 * support it; IW_E_PERM: it needs a capability, which *why (may be NULL) names; IW_E_LIMIT,
 * IW_E_NOMEM, IW_E_OS.
 */
/* kernel SCTP; may load the module */
IW_MUST_CHECK int iw_os_probe_sctp(struct iw_fault *why);
/* raw IP sockets */
IW_MUST_CHECK int iw_os_probe_raw(struct iw_fault *why);
/* AF_XDP sockets */
IW_MUST_CHECK int iw_os_probe_xdp(struct iw_fault *why);
/* packet sockets, which capture frames */
IW_MUST_CHECK int iw_os_probe_packet(struct iw_fault *why);
/* UDP segmentation offload, in both directions */
IW_MUST_CHECK int iw_os_probe_udp_gso(struct iw_fault *why);

/*
 * Checks for kernel SCTP without loading its module, because the loaded module makes -t raw and -t
 * xdp impossible. 0: present; 1: the module is not loaded, and the first socket loads it unless
 * modprobe.d forbids that (*why says so); else as iw_os_probe_sctp.
 */
IW_MUST_CHECK int iw_os_look_sctp(struct iw_fault *why);

/*
 * Reads RLIMIT_MEMLOCK (octets) and RLIMIT_NOFILE (descriptors); UINT64_MAX: no limit. Either pointer
 * may be NULL.
 */
void iw_os_memlock(uint64_t *soft, uint64_t *hard);
void iw_os_nofile(uint64_t *soft, uint64_t *hard);

/*
 * Reads /proc/sys/name ("net/core/rmem_max") into buf, without the newline, with blanks for tabs,
 * cut at cap. 0, or IW_E_NOENT, IW_E_PERM, IW_E_OS.
 */
IW_MUST_CHECK int iw_os_sysctl(char *buf, size_t cap, const char *name, struct iw_fault *why);

/* Reads the first line of the file at path, else as iw_os_sysctl. */
IW_MUST_CHECK int iw_os_read_line(char *buf, size_t cap, const char *path, struct iw_fault *why);

/*
 * Reads a sysctl that is one number. Errors as iw_os_sysctl; IW_E_FORMAT: it is not a number, or
 * does not fit 64 bits.
 */
IW_MUST_CHECK int iw_os_sysctl_u64(uint64_t *out, const char *name, struct iw_fault *why);

#endif
