/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures -t xdp in two network namespaces (lab.h), and compares it with bare AF_XDP with the same
 * frames, with kernel TCP, udp and raw.
 *
 * P5: goodput of RDMA Writes / a bare sender and receiver of as many octets per frame. P6: segments
 * from a generator, received, checked and placed / the same frames only received by AF_XDP. Short
 * runs of both follow each other, and take turns in beginning; frames have one buffer (MTU 1500) or
 * several (MTU 3000 in frames of 2,048 octets). A third run is also bare, but its receiver
 * calculates the CRC32c of each frame: octets that are not read stay in the cache of the CPU that
 * wrote them, and cost less than a transfer does. It also measures the time of a run of the
 * steering program, as the kernel counts it, and plain sockets over kernel TCP without DDP.
 */
#ifndef IW_DDP_BENCH_XDP_BENCH_H
#define IW_DDP_BENCH_XDP_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "ddp-bench/environment.h"

#define IW_XDP_BENCH_PAIRS     5
#define IW_XDP_BENCH_BASELINES 6
#define IW_XDP_BENCH_BAR       0.85

struct iw_xdp_pair {
	/* Bits of payload per second, and frames with payload. */
	double ours, bare, ours_frames, bare_frames;
	double read;   /* as bare, with a receiver that reads the data */
	uint64_t lost; /* segments not placed, or retransmitted */
};
struct iw_xdp_figure {
	const char *id, *buffers; /* "p5", "single" */
	uint32_t mtu, frame;      /* octets of a full frame on the wire */
	struct iw_xdp_pair pair[IW_XDP_BENCH_PAIRS];
	unsigned pairs;
	/* P6: runs repeated because the generator's own queue had lost a segment. */
	unsigned repeated;
	double ratio, ratio_min, ratio_max;      /* ours / bare; ratio is the median */
	double read_ratio;                       /* median of ours / read */
	struct iw_xdp_pair median;               /* median of each value; lost is the sum */
	struct iw_bench_environment environment; /* P5: of the sender */
};
struct iw_xdp_baseline {
	const char *name;
	double bits; /* a second */
};
struct iw_xdp_bench {
	struct iw_xdp_figure figure[4]; /* P5 single and multi, P6 single and multi */
	struct iw_xdp_baseline baseline[IW_XDP_BENCH_BASELINES];
	double steering_ns; /* per run of the program; 0: not known */
	uint64_t steered;   /* packets in that measurement */
	uint64_t ns;        /* duration of all measurements */
};

struct iw_xdp_bench_cfg {
	uint64_t window_ns; /* of one run; 0: 200 ms */
	unsigned pairs;     /* of each figure; 0: IW_XDP_BENCH_PAIRS, which are the most */
	/* Two interfaces of this machine (ddp-bench/lab.h); NULL: a veth pair. */
	const char *const *between;
	void *ctx;
	/*
	 * Called when the interfaces and namespaces of the first figure are ready; NULL: not
	 * called.
	 */
	void (*on_begin)(void *ctx);
	/* Called as soon as a value is known; NULL: not called. */
	void (*on_pair)(void *ctx, const struct iw_xdp_figure *f, const struct iw_xdp_pair *p);
	void (*on_baseline)(void *ctx, const struct iw_xdp_baseline *b);
};

/*
 * Runs all measurements. Returns 0 and *out, or
 *  - IW_E_PERM, IW_E_NOTSUP: it cannot run here; why has what is missing;
 *  - IW_E_FORMAT: the data placed differ from those sent;
 *  - IW_E_CANCELED: this process was asked to stop;
 *  - IW_E_OS.
 */
IW_MUST_CHECK int iw_bench_xdp(struct iw_xdp_bench *out, const struct iw_xdp_bench_cfg *cfg,
			       struct iw_fault *why);

#endif
