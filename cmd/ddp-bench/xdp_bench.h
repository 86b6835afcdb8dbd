/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures -t xdp in two network namespaces (lab.h), and compares it with bare AF_XDP (processes
 * that move the same frames without SCTP and DDP), with kernel TCP, udp and raw.
 *
 * P5: the goodput of RDMA Writes, divided by that of a bare sender and receiver with as many octets
 * per frame. P6: the rate at which segments from a generator are received, checked and placed,
 * divided by that at which AF_XDP only receives the same frames. A pair is a short run of each, one
 * after the other; the order alternates. Frames have one buffer (MTU 1500) or several (MTU 3000 in
 * frames of 2,048 octets).
 *
 * A third run is also bare, but its receiver calculates the CRC32c of each frame. Octets that no
 * receiver reads remain in the cache of the CPU that wrote them, so that moving them costs less
 * than a real transfer. Also measured are the time of a run of the steering program, as the kernel
 * measures it, and plain sockets over kernel TCP without DDP.
 */
#ifndef IW_DDP_BENCH_XDP_BENCH_H
#define IW_DDP_BENCH_XDP_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "ddp-bench/environment.h"

#define IW_XDP_BENCH_PAIRS     5
#define IW_XDP_BENCH_BASELINES 6
/* The ratios that are required at least. */
#define IW_XDP_BENCH_BAR_P5    1.0
#define IW_XDP_BENCH_BAR_P6    0.9

struct iw_xdp_pair {
	/* Bits of payload per second, and frames with payload per second. */
	double ours, bare, ours_frames, bare_frames;
	double read;   /* as bare, of the third run, whose receiver reads the data */
	uint64_t lost; /* segments not placed (P6), or retransmitted (P5) */
};
struct iw_xdp_figure {
	const char *id, *buffers; /* "p5" or "p6"; "single" or "multi" */
	double bar;               /* the ratio that is required */
	uint32_t mtu, frame;      /* octets of a full frame on the wire */
	struct iw_xdp_pair pair[IW_XDP_BENCH_PAIRS];
	unsigned pairs;
	/* P6: runs repeated because a queue of the driver had dropped generated segments. */
	unsigned repeated;
	double ratio, ratio_min, ratio_max;      /* ours / bare; ratio is the median */
	double read_ratio;                       /* median of ours / read */
	struct iw_xdp_pair median;               /* median of each value; lost is the sum */
	struct iw_bench_environment environment; /* P5: of the sender */
};
struct iw_xdp_baseline {
	const char *name;
	double bits; /* of payload per second */
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
	unsigned pairs;     /* of each figure, at most IW_XDP_BENCH_PAIRS; 0: this maximum */
	/* Two interfaces of this machine (ddp-bench/lab.h); NULL: a veth pair. */
	const char *const *between;
	void *ctx;
	/*
	 * Called when the interfaces and namespaces of the first figure are ready; NULL: not
	 * called.
	 */
	void (*on_begin)(void *ctx);
	/* Called when a pair, or a baseline, is measured; NULL: not called. */
	void (*on_pair)(void *ctx, const struct iw_xdp_figure *f, const struct iw_xdp_pair *p);
	void (*on_baseline)(void *ctx, const struct iw_xdp_baseline *b);
};

/*
 * Runs all measurements. Returns 0, or
 *  - IW_E_PERM, IW_E_NOTSUP: it cannot run here; *why names what is missing;
 *  - IW_E_NOENT, IW_E_BUSY: as iw_lab_open;
 *  - IW_E_FORMAT: the placed data differ from the data that was sent;
 *  - IW_E_CANCELED: a signal asked the process to stop;
 *  - IW_E_TIMEOUT: no carrier, no connection, or no octets in a run;
 *  - IW_E_NOMEM; IW_E_OS; others: of the connections of a run.
 */
IW_MUST_CHECK int iw_bench_xdp(struct iw_xdp_bench *out, const struct iw_xdp_bench_cfg *cfg,
			       struct iw_fault *why);

#endif
