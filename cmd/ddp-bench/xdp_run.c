// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions for all processes of `ddp-bench xdp`: the measured window, the first fault, and the
 * parameters of the library's connections.
 */
#include "ddp-bench/xdp_run.h"

#ifdef IW_HAVE_XDP

#include <string.h>
#include <time.h>

#include "cli/param.h"
#include "os/os.h"

void iw_bench_xdp_run_nap(uint64_t ns)
{
	const struct timespec t = { .tv_nsec = (long)ns };

	(void)nanosleep(&t, NULL);
}

int iw_bench_xdp_run_fail(struct bench *b, const struct iw_fault *why)
{
	if (b->s->why.err == 0)
		b->s->why = *why;
	return 1;
}

bool iw_bench_xdp_run_window(struct bench *b, struct window *w)
{
	uint64_t now, window = b->cfg->window_ns ? b->cfg->window_ns : WINDOW;
	struct shared *s = b->s;

	if (w->closed)
		return false;
	now = iw_os_now();
	if (w->began == 0)
		w->began = now;
	if (w->from == 0 && now - w->began >= WARMUP) {
		w->from = now;
		w->frames = atomic_load(&s->frames);
		w->octets = atomic_load(&s->octets);
	}
	if (w->from == 0 || now - w->from < window)
		return false;
	s->in_frames = atomic_load(&s->frames) - w->frames;
	s->in_octets = atomic_load(&s->octets) - w->octets;
	s->ns = now - w->from;
	w->closed = true;
	return true;
}

struct iw_cli_param iw_bench_xdp_run_param(const struct bench *b, enum iw_lab_side side)
{
	return (struct iw_cli_param){
		IW_CLI_PARAM_SIZES,
		.at.transport = b->transport,
		.at.host = iw_lab_address[IW_LAB_LEFT],
		.at.bind_addr = side == IW_LAB_RIGHT ? iw_lab_address[IW_LAB_RIGHT] : NULL,
		.at.interface = strcmp(b->transport, "xdp") == 0 ? b->lab.interface[side] : NULL,
		.at.port = PORT,
		.at.xdp = b->xdp,
	};
}

#endif
