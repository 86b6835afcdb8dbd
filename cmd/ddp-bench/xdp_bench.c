// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compares -t xdp with its baselines: starts the runs, and calculates the figures from their
 * results.
 */
#include "ddp-bench/xdp_bench.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iwarp/verbs.h>

#include "cli/param.h"
#include "cli/signals.h"
#include "ddp-bench/median.h"
#include "ddp-bench/xdp_run.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define RUN_TIME       IW_SEC(20) /* limit of a run */
#define LOSSY_RUNS     5          /* repetitions of a run that lost generated segments, at most */
#define BASELINE_TRIES 4          /* tries of a run in which nothing arrived, at most */

/* --- processes -------------------------------------------------------------------------------- */

/* Waits for a flag of the processes, at most ns. False: it is not set, or a process has failed. */
static bool until(const atomic_int *flag, const struct shared *s, uint64_t ns)
{
	uint64_t end = iw_os_now() + ns;

	while (!atomic_load(flag) && s->why.err == 0 && iw_os_now() < end)
		iw_bench_xdp_run_nap(500000);
	return atomic_load(flag);
}

/*
 * Runs the two processes of a run: the left one first, and the right one when the left one is
 * ready. The results are then in b->s.
 */
static int run_pair(struct bench *b, int (*left)(void *), int (*right)(void *),
		    struct iw_fault *why)
{
	struct shared *s = b->s;
	pid_t child[2];
	int err, status[2];

	s->why.err = 0;
	atomic_store(&s->ready, 0);
	atomic_store(&s->stop, 0);
	atomic_store(&s->frames, 0);
	atomic_store(&s->octets, 0);
	s->ns = s->in_frames = s->in_octets = s->lost = s->program_runs = s->program_ns = 0;
	if (iw_signals_stop())
		return iw_fail(why, IW_E_CANCELED, "stopped by a signal");
	err = iw_lab_start(&b->lab, IW_LAB_LEFT, &child[0], left, b, why);
	if (err)
		return err;
	(void)until(&s->ready, s, RUN_TIME);
	err = iw_lab_start(&b->lab, IW_LAB_RIGHT, &child[1], right, b, why);
	status[1] = err ? 0 : iw_lab_wait(child[1], RUN_TIME);
	atomic_store(&s->stop, 1);
	status[0] = iw_lab_wait(child[0], IW_SEC(5));
	if (err)
		return err;
	if (s->why.err) {
		*why = s->why;
		return why->err;
	}
	if (status[0] != 0 || status[1] != 0 || s->ns == 0)
		return iw_fail(why, IW_E_OS,
			       "a process of the measurement failed: exit statuses %u and %u",
			       (unsigned)status[0], (unsigned)status[1]);
	return 0;
}

/* --- figures ---------------------------------------------------------------------------------- */

static double bits(const struct shared *s)
{
	return s->ns ? (double)s->in_octets * 8e9 / (double)s->ns : 0;
}

static double frames(const struct shared *s, double octets_each)
{
	return s->ns ? (double)s->in_octets / octets_each * 1e9 / (double)s->ns : 0;
}

static int p5_ours(struct bench *b, struct iw_xdp_figure *f, struct iw_xdp_pair *p,
		   struct iw_fault *why)
{
	int err;

	b->transport = "xdp";
	err = run_pair(b, iw_bench_xdp_ddp_server, iw_bench_xdp_ddp_client, why);
	if (err)
		return err;
	f->environment = b->s->environment;
	/* Octets of a full frame. The MULPDU includes the DDP header, but not the DDP-SSN. */
	f->frame = b->frame = HEADER_LEN - 14 + b->s->mulpdu;
	p->ours = bits(b->s);
	p->ours_frames = frames(b->s, b->frame - HEADER_LEN);
	p->lost = b->s->lost;
	return 0;
}

static int p5_read(struct bench *b, struct iw_xdp_figure *f, struct iw_xdp_pair *p,
		   struct iw_fault *why)
{
	int err;

	(void)f;
	b->reads = true;
	err = run_pair(b, iw_bench_xdp_bare_receiver, iw_bench_xdp_bare_sender, why);
	p->read = bits(b->s);
	return err;
}

static int p5_bare(struct bench *b, struct iw_xdp_figure *f, struct iw_xdp_pair *p,
		   struct iw_fault *why)
{
	int err;

	(void)f;
	b->reads = false;
	err = run_pair(b, iw_bench_xdp_bare_receiver, iw_bench_xdp_bare_sender, why);
	p->bare = bits(b->s);
	p->bare_frames = frames(b->s, b->frame - HEADER_LEN);
	return err;
}

/*
 * Runs the generator and a receiver, and repeats a run that lost a segment. The generator
 * retransmits nothing, and its frames pass through a queue of the driver, which drops those that do
 * not fit before the receiver sees them. (The receiver's own ring has room for all frames in
 * flight.) Such a run does not measure the receive path. *repeated counts the repetitions.
 */
static int run_lossless(struct bench *b, int (*left)(void *), unsigned *repeated,
			struct iw_fault *why)
{
	for (int tries = LOSSY_RUNS;; tries--) {
		int err;

		if (!b->bare)
			b->s->model_len = 0;
		err = run_pair(b, left, iw_bench_xdp_generator, why);
		/* IW_E_DSS_ILLEGAL: a missing segment has ended the stream (RFC 5043 6.1). */
		if (tries == 0 || (err && err != IW_E_DSS_ILLEGAL) || (!err && b->s->lost == 0))
			return err;
		++*repeated;
	}
}

static int p6_ours(struct bench *b, struct iw_xdp_figure *f, struct iw_xdp_pair *p,
		   struct iw_fault *why)
{
	int err;

	b->transport = "xdp";
	b->bare = false;
	err = run_lossless(b, iw_bench_xdp_placer, &f->repeated, why);
	if (err)
		return err;
	f->frame = b->frame = (uint32_t)b->s->model_len;
	p->ours = bits(b->s);
	p->ours_frames = frames(b->s, b->frame - HEADER_LEN);
	p->lost += b->s->lost;
	return 0;
}

static int p6_read(struct bench *b, struct iw_xdp_figure *f, struct iw_xdp_pair *p,
		   struct iw_fault *why)
{
	int err;

	b->bare = b->reads = true;
	err = run_lossless(b, iw_bench_xdp_bare_receiver, &f->repeated, why);
	p->read = bits(b->s);
	p->lost += b->s->lost;
	return err;
}

static int p6_bare(struct bench *b, struct iw_xdp_figure *f, struct iw_xdp_pair *p,
		   struct iw_fault *why)
{
	int err;

	b->bare = true;
	b->reads = false;
	err = run_lossless(b, iw_bench_xdp_bare_receiver, &f->repeated, why);
	p->bare = bits(b->s);
	p->bare_frames = frames(b->s, b->frame - HEADER_LEN);
	p->lost += b->s->lost;
	return err;
}

static void conclude(struct iw_xdp_figure *f)
{
	double v[7][IW_XDP_BENCH_PAIRS] = { { 0 } };

	for (unsigned i = 0; i < f->pairs; i++) {
		const struct iw_xdp_pair *p = &f->pair[i];

		v[0][i] = p->bare > 0 ? p->ours / p->bare : 0;
		v[1][i] = p->ours;
		v[2][i] = p->bare;
		v[3][i] = p->ours_frames;
		v[4][i] = p->bare_frames;
		v[5][i] = p->read > 0 ? p->ours / p->read : 0;
		v[6][i] = p->read;
		f->median.lost += p->lost;
	}
	f->ratio = iw_bench_median(v[0], f->pairs);
	f->ratio_min = v[0][0];
	f->ratio_max = v[0][f->pairs - 1];
	f->median.ours = iw_bench_median(v[1], f->pairs);
	f->median.bare = iw_bench_median(v[2], f->pairs);
	f->median.ours_frames = iw_bench_median(v[3], f->pairs);
	f->median.bare_frames = iw_bench_median(v[4], f->pairs);
	f->read_ratio = iw_bench_median(v[5], f->pairs);
	f->median.read = iw_bench_median(v[6], f->pairs);
}

typedef int half(struct bench *, struct iw_xdp_figure *, struct iw_xdp_pair *, struct iw_fault *);

static const struct {
	const char *id, *buffers;
	double bar;
	uint32_t mtu, frame_size;
	half *ours, *bare, *read;
} plan[4] = {
	{ "p5", "single", IW_XDP_BENCH_BAR_P5, 1500, 0, p5_ours, p5_bare, p5_read },
	{ "p5", "multi", IW_XDP_BENCH_BAR_P5, 3000, 2048, p5_ours, p5_bare, p5_read },
	{ "p6", "single", IW_XDP_BENCH_BAR_P6, 1500, 0, p6_ours, p6_bare, p6_read },
	{ "p6", "multi", IW_XDP_BENCH_BAR_P6, 3000, 2048, p6_ours, p6_bare, p6_read },
};

/*
 * Runs a pair, and the third run. The order of the pair alternates, so that other load on the
 * machine favours neither. In the first pair ours is the first, because it determines the size of
 * the frames.
 */
static int run_all(struct bench *b, struct iw_xdp_figure *f, size_t k, struct iw_xdp_pair *p,
		   struct iw_fault *why)
{
	bool ours_first = f->pairs % 2 == 0;
	int err = (ours_first ? plan[k].ours : plan[k].bare)(b, f, p, why);

	if (!err)
		err = (ours_first ? plan[k].bare : plan[k].ours)(b, f, p, why);
	return err ? err : plan[k].read(b, f, p, why);
}

static int figure(struct bench *b, struct iw_xdp_figure *f, size_t k, struct iw_fault *why)
{
	int err = iw_lab_open(&b->lab, b->cfg->between, plan[k].mtu, why);

	if (!err && k == 0 && b->cfg->on_begin)
		b->cfg->on_begin(b->cfg->ctx);
	*f = (struct iw_xdp_figure){
		.id = plan[k].id, .buffers = plan[k].buffers, .bar = plan[k].bar, .mtu = plan[k].mtu
	};
	b->mtu = plan[k].mtu;
	b->frame_size = plan[k].frame_size;
	b->xdp = plan[k].frame_size == 2048 ? IW_XDP_WANT_SMALL_FRAMES : 0;
	while (!err && f->pairs < (b->cfg->pairs ? b->cfg->pairs : IW_XDP_BENCH_PAIRS)) {
		struct iw_xdp_pair *p = &f->pair[f->pairs];

		err = run_all(b, f, k, p, why);
		if (err)
			break;
		f->pairs++;
		if (b->cfg->on_pair)
			b->cfg->on_pair(b->cfg->ctx, f, p);
	}
	if (f->pairs > 0)
		conclude(f);
	iw_lab_close(&b->lab);
	return err;
}

/*
 * Measures the time of the steering program. The kernel's measurement slows the program down, so
 * this needs a run of its own.
 */
static int steering(struct bench *b, struct iw_xdp_bench *out, struct iw_fault *why)
{
	int err, stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	unsigned repeated = 0;

	if (stats < 0)
		return iw_os_fail(why, -stats, "make the kernel measure the time of BPF programs");
	err = iw_lab_open(&b->lab, b->cfg->between, 1500, why);
	b->transport = "xdp";
	b->bare = false;
	b->xdp = 0;
	if (!err)
		err = run_lossless(b, iw_bench_xdp_placer, &repeated, why);
	close(stats);
	iw_lab_close(&b->lab);
	out->steered = b->s->program_runs;
	if (out->steered)
		out->steering_ns = (double)b->s->program_ns / (double)out->steered;
	return err;
}

/*
 * Measures a baseline. On a busy machine a short run may end before the first message arrives; it
 * is then repeated.
 */
static int baseline(struct bench *b, const char *name, struct iw_fault *why)
{
	int err = 0;

	b->s->in_octets = 0;
	for (int tries = 0; tries < BASELINE_TRIES && !err && b->s->in_octets == 0; tries++) {
		if (b->transport)
			err = run_pair(b, iw_bench_xdp_ddp_server, iw_bench_xdp_ddp_client, why);
		else
			err = run_pair(b, iw_bench_xdp_socket_receiver, iw_bench_xdp_socket_sender,
				       why);
	}
	if (!err && b->s->in_octets == 0)
		err = iw_fail(why, IW_E_TIMEOUT,
			      "%s: no octets arrived in --time; give a longer one", name);
	return err;
}

static int baselines(struct bench *b, struct iw_xdp_bench *out, struct iw_fault *why)
{
	/* transport NULL: plain sockets without DDP. */
	static const struct {
		const char *name, *transport;
		bool offloads;
	} what[IW_XDP_BENCH_BASELINES] = {
		{ "kernel_tcp", NULL, true },
		{ "tcp", "tcp", true },
		{ "kernel_tcp_without_offloads", NULL, false },
		{ "tcp_without_offloads", "tcp", false },
		{ "udp", "udp", true },
		{ "raw", "raw", true },
	};
	int err = iw_lab_open(&b->lab, b->cfg->between, 1500, why);

	b->xdp = 0;
	for (size_t i = 0; i < IW_XDP_BENCH_BASELINES && !err; i++) {
		b->transport = what[i].transport;
		err = iw_lab_offloads(&b->lab, what[i].offloads, why);
		if (!err)
			err = baseline(b, what[i].name, why);
		out->baseline[i] = (struct iw_xdp_baseline){ what[i].name, bits(b->s) };
		if (!err && b->cfg->on_baseline)
			b->cfg->on_baseline(b->cfg->ctx, &out->baseline[i]);
	}
	iw_lab_close(&b->lab);
	return err;
}

int iw_bench_xdp(struct iw_xdp_bench *out, const struct iw_xdp_bench_cfg *cfg, struct iw_fault *why)
{
	struct bench b = { .cfg = cfg };
	uint64_t began = iw_os_now();
	int err = 0;

	*out = (struct iw_xdp_bench){ 0 };
	b.s = mmap(NULL, sizeof(*b.s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b.s == MAP_FAILED)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	err = iw_generate_counter_open(&b.counter, why);
	for (size_t k = 0; k < IW_ARRAY_LEN(plan) && !err; k++)
		err = figure(&b, &out->figure[k], k, why);
	if (!err)
		err = steering(&b, out, why);
	if (!err)
		err = baselines(&b, out, why);
	out->ns = iw_os_now() - began;
	iw_generate_counter_close(&b.counter);
	munmap(b.s, sizeof(*b.s));
	return err;
}
