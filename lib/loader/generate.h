/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A generator of valid DDP segments, to measure the cost of receiving them. BPF_PROG_RUN makes XDP
 * frames, and xdp/generate.bpf.c turns each into the next segment of a stream.
 *
 * Neighbours: cmd/ddp-bench. In a build without libxdp each function that can fail returns
 * IW_E_NOTSUP.
 * Threads: one at a time.
 */
#ifndef IW_LOADER_GENERATE_H
#define IW_LOADER_GENERATE_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

/*
 * Flow control: a counter in memory that the receiver, in another process, shares with the
 * generator. The generator is never more than `ahead` segments ahead of it.
 */
struct iw_generate_counter {
	volatile uint64_t *arrived; /* segments; written by the receiver */
	int map;
};
/*
 * Call it before fork(), so that both processes have the counter. IW_E_NOTSUP, IW_E_PERM, IW_E_OS.
 */
IW_MUST_CHECK int iw_generate_counter_open(struct iw_generate_counter *g, struct iw_fault *why);
void iw_generate_counter_close(struct iw_generate_counter *g);

struct iw_generate_cfg {
	const struct iw_generate_counter *counter; /* kept until close */
	uint64_t sent;    /* value of the counter before the first segment */
	uint64_t ahead;   /* segments in flight, at most */
	unsigned ifindex; /* of the interface that sends; its peer accepts XDP frames */
	/* The template: Ethernet, IPv4, SCTP with one DATA chunk, a tagged segment. Borrowed. */
	const uint8_t *frame;
	/* Must fit a page together with XDP's own space: up to about 3,500 octets. */
	size_t len;
	/* The numbers of the first segment; each further segment has the next ones. */
	uint32_t tsn;
	uint16_t ssn;
	uint64_t to;
	uint64_t slots; /* segments until TO returns to its first value */
};

struct iw_generate;

/*
 * Loads a generator. IW_E_INVAL: the template is not such a frame; IW_E_NOTSUP, IW_E_PERM,
 * IW_E_NOMEM, IW_E_OS.
 */
IW_MUST_CHECK int iw_generate_open(struct iw_generate **out, const struct iw_generate_cfg *cfg,
				   struct iw_fault *why);
/*
 * Tries n times to send a segment; a try sends none while the receiver is too far behind.
 * iw_generate_sent returns the total. Starting and ending a run takes about 20 ms, so use a large
 * n. IW_E_NOTSUP: the kernel has no live frames (Linux before 5.18); IW_E_OS.
 */
IW_MUST_CHECK int iw_generate_run(struct iw_generate *g, unsigned n, struct iw_fault *why);
uint64_t iw_generate_sent(const struct iw_generate *g);
void iw_generate_close(struct iw_generate *g); /* g may be NULL */

#endif
