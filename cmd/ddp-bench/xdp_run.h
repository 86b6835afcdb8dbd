/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside ddp-bench: the runs of `ddp-bench xdp`. A run has two processes, one for each side. They
 * and their parent exchange values in shared memory.
 *
 * xdp_bench.c, in the parent, starts the processes and calculates the results. The processes:
 * xdp_bare.c without DDP, xdp_ddp.c with RDMA Writes of the library, xdp_generate.c with the
 * generator of segments and the receiver that places them. All of them use xdp_run.c.
 */
#ifndef IW_DDP_BENCH_XDP_RUN_H
#define IW_DDP_BENCH_XDP_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/param.h"
#include "ddp-bench/environment.h"
#include "ddp-bench/lab.h"
#include "ddp-bench/xdp_bench.h"
#include "loader/generate.h"
#include "util/num.h"

#define PORT       7471
#define WINDOW     IW_MSEC(200)
#define WARMUP     IW_MSEC(100)
/* Each receiver, with DDP or bare, polls this long without a packet before it sleeps. */
#define SPIN       IW_MSEC(1)
/*
 * Octets of a frame before the payload of a tagged segment: Ethernet, IPv4, SCTP, DATA, DDP-SSN,
 * DDP.
 */
#define SCTP_AT    34
#define HEADER_LEN (SCTP_AT + 12 + 16 + 2 + 14)
#define MEMORY     ((size_t)1 << 20)
#define FRAME_MOST 4096

/* The memory that the parent and the processes of a run share. */
struct shared {
	/* ready: the left process can receive; stop: the left process must end. */
	atomic_int ready, stop;
	/* Counted by the receiving process; octets of payload. */
	atomic_uint_fast64_t frames, octets;
	/* In the window. ns: its length; 0: it has not ended. */
	uint64_t ns, in_frames, in_octets, lost;
	uint32_t mulpdu;  /* of RDMA Writes, octets */
	atomic_uint read; /* depends on all octets, so that reading them is not optimized away */
	/* Runs of the steering program in the window, and their time; 0: the kernel does not
	 * measure them. */
	uint64_t program_runs, program_ns;
	struct iw_bench_environment environment;
	struct iw_fault why; /* the fault of the process that failed */
	/* The frame that the generator copies, the TSN and DDP-SSN of the first copy, and the STag
	 * of the placer's memory. */
	uint8_t model[FRAME_MOST];
	size_t model_len;
	uint32_t tsn, stag;
	uint16_t ssn;
};

struct bench {
	const struct iw_xdp_bench_cfg *cfg;
	struct iw_lab lab;
	struct shared *s;
	struct iw_generate_counter counter;
	/* Of the current run: */
	const char *transport;
	unsigned xdp;
	uint32_t mtu, frame, frame_size;
	bool bare, reads; /* bare: no DDP (P6); reads: the bare receiver reads the data */
};

/* --- for the processes ------------------------------------------------------------------------ */

/* Sleeps for ns, which must be below 1 s. */
void iw_bench_xdp_run_nap(uint64_t ns);
/* Reports *why to the parent, unless the other side has failed before. Returns 1, the exit status
 * of a process that failed. */
int iw_bench_xdp_run_fail(struct bench *b, const struct iw_fault *why);

/* The measured window. It follows a warm-up, which begins with the first frame. began, from: the
 * times in ns when warm-up and window began. frames, octets: the counts at that moment. */
struct window {
	uint64_t began, from, frames, octets;
	bool closed;
};
/*
 * Call it after s->frames and s->octets have grown. Returns true once, when the window has ended;
 * s->ns, s->in_frames and s->in_octets are set then.
 */
bool iw_bench_xdp_run_window(struct bench *b, struct window *w);

/* Returns the parameters of the library's connections on that side. */
struct iw_cli_param iw_bench_xdp_run_param(const struct bench *b, enum iw_lab_side side);

/* The processes: each takes a struct bench and returns an exit status. */
int iw_bench_xdp_bare_receiver(void *bench);
int iw_bench_xdp_bare_sender(void *bench);
int iw_bench_xdp_socket_receiver(void *bench);
int iw_bench_xdp_socket_sender(void *bench);
int iw_bench_xdp_ddp_server(void *bench);
int iw_bench_xdp_ddp_client(void *bench);
int iw_bench_xdp_placer(void *bench);
int iw_bench_xdp_generator(void *bench);

#endif
