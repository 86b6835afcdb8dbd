/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of the BPF interface that this lab needs, as ordinary C. With it, gcc compiles your BPF
 * program into a normal process: printf, gdb and AddressSanitizer work.
 *
 * It is not the kernel. There is no verifier, so a program that runs here may be refused there;
 * there is one CPU; and each map is an array that is searched from its beginning. The names, the
 * arguments and the results are those of the kernel.
 */
#ifndef NATIVE_BPF_H
#define NATIVE_BPF_H

/* The kernel's struct xdp_md has 32-bit fields for addresses, and the kernel rewrites each access
 * to them. Here they must be as wide as a pointer. */
#define xdp_md kernel_xdp_md
#include <linux/bpf.h>
#undef xdp_md
#include <stddef.h>
#include <stdio.h>

struct xdp_md {
	unsigned long data;     /* address of the frame's first octet */
	unsigned long data_end; /* address after its last octet */
	unsigned long data_meta;
	__u32 ingress_ifindex;
	__u32 rx_queue_index; /* the receive queue of the interface, from 0 */
};

/* The loader finds programs and maps by their sections. Nothing loads this program. */
#define SEC(name)
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif

/* The fields of a map: pointers whose types have the numbers. The kernel's loader reads the types
 * from the debugging information (BTF); here sizeof does. */
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

struct native_map {
	const void *map;
	size_t type, entries, key, value; /* enum bpf_map_type; number; octets; octets */
};
#define NATIVE_MAP(m)                                                                              \
	(&(struct native_map){ (m), sizeof(*(m)->type) / sizeof(int),                              \
			       sizeof(*(m)->max_entries) / sizeof(int), sizeof(*(m)->key),         \
			       sizeof(*(m)->value) })

/* Returns the value of a key, or NULL. */
#define bpf_map_lookup_elem(map, key)               native_lookup(NATIVE_MAP(map), key)
/* Sets the value of a key. Returns 0, or a negative errno. */
#define bpf_map_update_elem(map, key, value, flags) native_update(NATIVE_MAP(map), key, value)
#define bpf_map_delete_elem(map, key)               native_delete(NATIVE_MAP(map), key)
/* Returns XDP_REDIRECT, or the lowest two bits of flags if the map has no such entry. */
#define bpf_redirect_map(map, entry, flags)         native_redirect(NATIVE_MAP(map), entry, flags)
/* Returns the octets of the frame. */
#define bpf_xdp_get_buff_len(ctx)                   ((__u64)((ctx)->data_end - (ctx)->data))
/* Prints; in the kernel into /sys/kernel/tracing/trace_pipe. */
#define bpf_printk(...)                             fprintf(stderr, __VA_ARGS__)

void *native_lookup(const struct native_map *m, const void *key);
int native_update(const struct native_map *m, const void *key, const void *value);
int native_delete(const struct native_map *m, const void *key);
int native_redirect(const struct native_map *m, __u32 entry, __u64 flags);

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define bpf_htons(x) __builtin_bswap16(x)
#define bpf_htonl(x) __builtin_bswap32(x)
#else
#define bpf_htons(x) ((__u16)(x))
#define bpf_htonl(x) ((__u32)(x))
#endif
#define bpf_ntohs(x) bpf_htons(x)
#define bpf_ntohl(x) bpf_htonl(x)

/* --- for the tests and for the grader --- */

#define NATIVE_NOWHERE 0xffffffffu
/* Runs a program for a frame. Returns its verdict. *entry: that of the last bpf_redirect_map(), or
 * NATIVE_NOWHERE. */
int native_run(int (*program)(struct xdp_md *), void *frame, size_t len, __u32 queue, __u32 *entry);
/* Removes all entries of hashes, all sockets, and sets all counters to 0. */
void native_reset(void);

#endif
