/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside loader: for each file that loads an XDP program. A build without libxdp has iw_bpf_version alone. */
#ifndef IW_LOADER_BPF_H
#define IW_LOADER_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct bpf_object;
struct bpf_prog_info;

/*
 * Between these two, what libbpf and libxdp would print is kept, and its first complaint goes into the
 * text of iw_bpf_fail. They have one print function for the whole process: it gets back what it had.
 * One thread at a time; others wait. They nest.
 */
void iw_bpf_begin(void);
void iw_bpf_end(void);
/* As iw_os_fail (errnum may be negative), with that complaint, and with what is missing for EPERM. */
int iw_bpf_fail(struct iw_fault *why, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Loads an object that was opened; what names it. To be called between begin and end. */
IW_MUST_CHECK int iw_bpf_load(struct bpf_object *o, const char *what, struct iw_fault *why);
struct iw_bpf_shape {
	const char *name;
	uint32_t key, value; /* octets */
};
/* Maps of a program in the kernel, by name and shape, into fd[n]: -1 each before and where it fails.
 * IW_E_BUSY: it has none of that name and shape, so it is of another version. */
IW_MUST_CHECK int iw_bpf_join(int prog, int *fd, const struct iw_bpf_shape *shape, unsigned n,
			      const char *interface, struct iw_fault *why);
/* Per-CPU values of size octets, a multiple of 8, added up as 64-bit numbers. 0 or negative. */
IW_MUST_CHECK int iw_bpf_sum(void *out, size_t size, int map, const void *key);
/* The kernel's facts about a program, and ids of up to *nmaps maps. 0, or -1 and errno. */
int iw_bpf_prog_info(int fd, struct bpf_prog_info *out, uint32_t *maps, uint32_t *nmaps);
/* The id of a link. 0: the kernel did not give it. */
uint32_t iw_bpf_link_id(int link);
/* The version of libbpf, such as "1.1"; empty in a build without it. */
void iw_bpf_version(char *out, size_t cap);

#endif
