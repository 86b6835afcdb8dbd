/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What -t xdp is worth, measured in two namespaces of its own: beside bare AF_XDP with the same
 * frames, beside kernel TCP, udp and raw.
 *
 * P5: goodput of RDMA Writes / a bare sender and receiver of as many octets a frame. P6: segments
 * from a generator, received, checked and placed / the same frames received by AF_XDP and no more.
 * Short runs of the two follow each other, and begin in turn; frames of one buffer (MTU 1500) and
 * of several (MTU 3000 in frames of 2,048 octets). A third run is bare, too, but its receiver takes
 * the CRC32c of each frame: octets that are not read stay in the cache of the processor that wrote
 * them, and cost less than a transfer does. Beside them what a run of the steering program takes,
 * by the kernel's own count, and what kernel TCP moves without DDP, from plain sockets. Neighbours:
 * lab.h makes the network; cmd/ddp-bench.c writes.
 */
#ifndef IW_BENCH_XDP_BENCH_H
#define IW_BENCH_XDP_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "ddp-bench/environment.h"

#define IW_XDP_BENCH_PAIRS     5
#define IW_XDP_BENCH_BASELINES 6
#define IW_XDP_BENCH_BAR       0.85

struct iw_xdp_pair {
	/* bits of payload a second, and frames that carried it */
	double ours, bare, ours_frames, bare_frames;
	double read;   /* as bare, by a receiver that reads what it gets */
	uint64_t lost; /* segments that were not placed, or had to be sent again */
};
struct iw_xdp_figure {
	const char *id, *buffers; /* "p5", "single" */
	uint32_t mtu, frame;      /* octets of a full frame on the wire */
	struct iw_xdp_pair pair[IW_XDP_BENCH_PAIRS];
	unsigned pairs;
	/* P6: runs made again, because the generator's own queue had lost a segment. */
	unsigned repeated;
	double ratio, ratio_min, ratio_max;      /* of ours and bare; ratio is the median */
	double read_ratio;                       /* the median of ours and read */
	struct iw_xdp_pair median;               /* each of its values by itself; lost is the sum */
	struct iw_bench_environment environment; /* p5: the sender's */
};
struct iw_xdp_baseline {
	const char *name;
	double bits; /* a second */
};
struct iw_xdp_bench {
	struct iw_xdp_figure figure[4]; /* P5 single and multi, P6 single and multi */
	struct iw_xdp_baseline baseline[IW_XDP_BENCH_BASELINES];
	double steering_ns; /* a run of the program; 0: not known */
	uint64_t steered;   /* packets of that */
	uint64_t ns;        /* that all of it took */
};

struct iw_xdp_bench_cfg {
	uint64_t window_ns; /* of one run; 0: 200 ms */
	unsigned pairs;     /* of each figure; 0: IW_XDP_BENCH_PAIRS, which are the most */
	const char *const
		*between; /* two interfaces of this machine (ddp-bench/lab.h); NULL: a veth pair */
	void *ctx;
	/* The interfaces and namespaces of the first figure are ready; may be NULL. */
	void (*on_begin)(void *ctx);
	/* Each as soon as it is known; may be NULL. */
	void (*on_pair)(void *ctx, const struct iw_xdp_figure *f, const struct iw_xdp_pair *p);
	void (*on_baseline)(void *ctx, const struct iw_xdp_baseline *b);
};

/*
 * IW_E_PERM, IW_E_NOTSUP: it cannot run here, why says what is missing; IW_E_FORMAT: what was
 * placed is not what was sent; IW_E_CANCELED: this process was asked to stop; IW_E_OS.
 */
IW_MUST_CHECK int iw_bench_xdp(struct iw_xdp_bench *out, const struct iw_xdp_bench_cfg *cfg,
			       struct iw_fault *why);

#endif
