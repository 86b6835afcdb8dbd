// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Processes that run RDMA Writes with the library over any transport, and verify the data. */
#include "ddp-bench/xdp_run.h"

#include "ddp-bench/bench.h"
#include "util/num.h"
#include "util/text.h"

int iw_bench_xdp_ddp_server(void *arg)
{
	struct bench *b = arg;
	struct iw_bench_server_cfg cfg = {
		.conn = iw_bench_xdp_run_param(b, IW_LAB_LEFT),
		.once = true,
		.setup_ns = IW_SEC(5),
		.timeout_ns = IW_SEC(5),
		.spin_ns = SPIN,
	};
	struct iw_bench_news news = { .kind = IW_BENCH_CAME };
	struct iw_bench_server *s;
	struct iw_fault why;
	int err = iw_bench_server_new(&s, &cfg, &why);

	if (err)
		return iw_bench_xdp_run_fail(b, &why);
	atomic_store(&b->s->ready, 1);
	while (err == 0 && news.kind != IW_BENCH_STOPPED)
		err = iw_bench_server_next(s, &news, &why);
	iw_bench_server_free(s);
	return err ? iw_bench_xdp_run_fail(b, &why) : 0;
}

int iw_bench_xdp_ddp_client(void *arg)
{
	struct bench *b = arg;
	struct iw_bench_cfg cfg = {
		.mode = IW_BENCH_WRITE,
		.conn = iw_bench_xdp_run_param(b, IW_LAB_RIGHT),
		.size = MEMORY,
		.depth = 2,
		.time_ns = b->cfg->window_ns ? b->cfg->window_ns : WINDOW,
		.warmup_ns = WARMUP,
		.verify = true,
		.setup_ns = IW_SEC(5),
		.timeout_ns = IW_SEC(5),
		.spin_ns = SPIN,
	};
	struct iw_bench_interval iv;
	const struct iw_bench_result *r;
	struct iw_bench_client *c;
	struct iw_fault why;
	int err = iw_bench_client_new(&c, &cfg, &why);

	if (err)
		return iw_bench_xdp_run_fail(b, &why);
	do
		err = iw_bench_client_next(c, &iv, &why);
	while (err == IW_BENCH_INTERVAL);
	r = err ? NULL : iw_bench_client_result(c);
	if (r && r->verdict != IW_BENCH_GOOD)
		err = iw_fail(&why, IW_E_FORMAT,
			      "-t %s: the received data is not the data that was sent: %s",
			      b->transport, r->mismatch);
	if (!err) {
		b->s->in_octets = r->octets;
		b->s->mulpdu = r->info.mulpdu;
		b->s->lost = r->info.retransmits;
		b->s->environment = r->environment;
		b->s->ns = r->duration_ns;
	}
	iw_bench_client_free(c);
	return err ? iw_bench_xdp_run_fail(b, &why) : 0;
}
