/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A generator of valid DDP segments, for measuring what receiving them costs: XDP frames made by BPF_PROG_RUN,
 * with a sequence that goes on (xdp/generate.bpf.c). Neighbours: cmd/ddp-bench.
 * Built without libxdp each function answers IW_E_NOTSUP. Threads: one at a time.
 */
#ifndef IW_LOADER_GENERATE_H
#define IW_LOADER_GENERATE_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

/* By which a receiver in another process keeps the generator from running ahead of it. */
struct iw_generate_gate {
	volatile uint64_t *arrived; /* segments; written by the receiver */
	int map;
};
/* Before the processes part: both have it then. IW_E_NOTSUP, IW_E_PERM, IW_E_OS. */
IW_MUST_CHECK int iw_generate_gate_open(struct iw_generate_gate *g, struct iw_fault *why);
void iw_generate_gate_close(struct iw_generate_gate *g);

struct iw_generate_cfg {
	const struct iw_generate_gate *gate; /* borrowed for life */
	uint64_t sent, ahead; /* segments that count as sent already; and under way at most */
	unsigned ifindex;     /* out of which they go; its peer takes XDP frames */
	const uint8_t *
		frame; /* the model: Ethernet, IPv4, SCTP with one DATA chunk, a tagged segment. Borrowed */
	size_t len;   /* fits a page with what XDP wants around it: up to some 3,500 octets */
	uint32_t tsn; /* of the first one; and so on */
	uint16_t ssn;
	uint64_t to;
	uint64_t slots; /* segments until TO begins anew */
};

struct iw_generate;

/* IW_E_INVAL: the model is no such frame; IW_E_NOTSUP, IW_E_PERM, IW_E_NOMEM, IW_E_OS. */
IW_MUST_CHECK int iw_generate_open(struct iw_generate **out, const struct iw_generate_cfg *cfg,
				   struct iw_fault *why);
/* Tries n times; a try makes a segment unless the gate is closed. How many were made in all: iw_generate_sent.
 * A run begins and ends slowly (some 20 ms), so let it be long. IW_E_NOTSUP: a kernel without live frames (Linux 5.18); IW_E_OS. */
IW_MUST_CHECK int iw_generate_run(struct iw_generate *g, unsigned n, struct iw_fault *why);
uint64_t iw_generate_sent(const struct iw_generate *g);
void iw_generate_close(struct iw_generate *g); /* g may be NULL */

#endif
