/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Helpers of the files that load XDP programs: messages of libbpf and libxdp, programs, and maps in
 * the kernel.
 *
 * Private to this room, except iw_bpf_version, which builds without libxdp have too.
 */
#ifndef IW_LOADER_BPF_H
#define IW_LOADER_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct bpf_object;
struct bpf_prog_info;

/*
 * Between these two calls, libbpf and libxdp do not print; iw_bpf_fail quotes their first message.
 * Both libraries have one print function for the whole process, which iw_bpf_end restores. The
 * calls nest. Other threads wait in iw_bpf_begin.
 */
void iw_bpf_begin(void);
void iw_bpf_end(void);
/*
 * As iw_os_fail, followed by that first message; for EPERM names the missing capability instead.
 * Outside of iw_bpf_begin and iw_bpf_end it quotes no message. errnum may be negative.
 */
int iw_bpf_fail(struct iw_fault *why, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Loads an opened object into the kernel; what is its name in error texts. Call it between
 * iw_bpf_begin and iw_bpf_end.
 * IW_E_NOTSUP: the kernel has no BPF, or rejects the program; IW_E_PERM; others as iw_bpf_fail.
 */
IW_MUST_CHECK int iw_bpf_load(struct bpf_object *o, const char *what, struct iw_fault *why);
struct iw_bpf_shape {
	const char *name;
	uint32_t key, value; /* octets */
};
/*
 * Opens the maps of a program in the kernel, by name and shape, into fd[n]. The caller sets each fd
 * to -1 before the call, and owns those that are not -1 afterwards, also after an error. IW_E_BUSY:
 * a map of that name and shape is missing, so the program is of another version; IW_E_PERM,
 * IW_E_OS.
 */
IW_MUST_CHECK int iw_bpf_join(int prog, int *fd, const struct iw_bpf_shape *shape, unsigned n,
			      const char *interface, struct iw_fault *why);
/*
 * Adds up the per-CPU values of a key as 64-bit numbers. size: octets of a value, a multiple of 8.
 * 0, IW_E_NOMEM or IW_E_OS.
 */
IW_MUST_CHECK int iw_bpf_sum(void *out, size_t size, int map, const void *key);
/*
 * Fills in the kernel's information about a program, and the ids of up to *nmaps maps (maps may be
 * NULL). 0, or -1 and errno.
 */
int iw_bpf_prog_info(int fd, struct bpf_prog_info *out, uint32_t *maps, uint32_t *nmaps);
/* Returns the id of a link (borrowed); 0: the kernel did not report it. */
uint32_t iw_bpf_link_id(int link);
/* Writes the version of libbpf into out, such as "1.1"; "" in a build without it. */
void iw_bpf_version(char *out, size_t cap);

#endif
