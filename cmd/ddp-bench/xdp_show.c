// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writes the results of `ddp-bench xdp`, as text or as JSON. */
#include "ddp-bench/show.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/num.h"

void iw_bench_show_xdp_head(const struct iw_bench_show *s)
{
	if (s->json || s->quiet)
		return;
	printf("p5      RDMA Writes over -t xdp, compared with a bare AF_XDP sender and receiver of such frames\n"
	       "p6      generated segments received, checked and placed, compared with only receiving the\n"
	       "        same frames by AF_XDP\n"
	       "single  each frame is in one buffer (MTU 1500)\n"
	       "multi   each frame is in several buffers (MTU 3000, buffers of 2,048 octets)\n"
	       "ratio   of DDP to bare AF_XDP; at least %.1f is required in p5, %.1f in p6\n"
	       "Bare AF_XDP does not read the payload. With CRC, its receiver computes the CRC32c of each frame.\n\n",
	       IW_XDP_BENCH_BAR_P5, IW_XDP_BENCH_BAR_P6);
	fflush(stdout);
}

void iw_bench_show_pair(const struct iw_bench_show *s, const struct iw_xdp_figure *f,
			const struct iw_xdp_pair *p)
{
	struct iw_json *w = s->json;

	if (!w) {
		if (!s->quiet)
			printf("%s %-6s  DDP %6.2f Gb/s (%.2f million frames/s), lost %" PRIu64
			       "; bare AF_XDP %6.2f Gb/s, ratio %.2f; with CRC %6.2f Gb/s\n",
			       f->id, f->buffers, p->ours / 1e9, p->ours_frames / 1e6, p->lost,
			       p->bare / 1e9, p->ours / p->bare, p->read / 1e9);
		fflush(stdout);
		return;
	}
	iw_json_begin(w, "pair");
	iw_json_str(w, "figure", f->id);
	iw_json_str(w, "buffers", f->buffers);
	iw_json_u64(w, "mtu_octets", f->mtu);
	iw_json_u64(w, "frame_octets", f->frame);
	iw_json_f64(w, "bits_per_second", p->ours);
	iw_json_f64(w, "frames_per_second", p->ours_frames);
	iw_json_f64(w, "bare_bits_per_second", p->bare);
	iw_json_f64(w, "bare_frames_per_second", p->bare_frames);
	iw_json_f64(w, "read_bits_per_second", p->read);
	iw_json_u64(w, "lost", p->lost);
	/* The JSON writer keeps the error, and the result reports it. */
	(void)!iw_json_end(w);
}

void iw_bench_show_baseline(const struct iw_bench_show *s, const struct iw_xdp_baseline *b)
{
	struct iw_json *w = s->json;

	if (!w) {
		if (!s->quiet)
			printf("%-27s %6.2f Gb/s\n", b->name, b->bits / 1e9);
		fflush(stdout);
		return;
	}
	iw_json_begin(w, "baseline");
	iw_json_str(w, "name", b->name);
	iw_json_f64(w, "bits_per_second", b->bits);
	(void)!iw_json_end(w);
}

static void figure_json(struct iw_json *w, const struct iw_xdp_figure *f)
{
	iw_json_open_object(w, f->buffers);
	iw_json_f64(w, "ratio", f->ratio);
	iw_json_f64(w, "ratio_min", f->ratio_min);
	iw_json_f64(w, "ratio_max", f->ratio_max);
	iw_json_u64(w, "pairs", f->pairs);
	iw_json_f64(w, "bits_per_second", f->median.ours);
	iw_json_f64(w, "frames_per_second", f->median.ours_frames);
	iw_json_f64(w, "bare_bits_per_second", f->median.bare);
	iw_json_f64(w, "bare_frames_per_second", f->median.bare_frames);
	iw_json_f64(w, "read_ratio", f->read_ratio);
	iw_json_f64(w, "read_bits_per_second", f->median.read);
	iw_json_u64(w, "lost", f->median.lost);
	iw_json_u64(w, "repeated", f->repeated);
	iw_json_u64(w, "mtu_octets", f->mtu);
	iw_json_u64(w, "frame_octets", f->frame);
	iw_json_f64(w, "bar", f->bar);
	iw_json_bool(w, "pass", f->ratio >= f->bar);
	iw_json_close(w);
}

/* Writes a figure of P6, which measures only the receive and placement path. */
static void placement_json(struct iw_json *w, const struct iw_xdp_figure *f)
{
	iw_json_open_object(w, f->buffers);
	iw_json_f64(w, "million_segments_per_second", f->median.ours_frames / 1e6);
	iw_json_f64(w, "bits_per_second", f->median.ours);
	iw_json_f64(w, "segment_ns", f->median.ours_frames > 0 ? 1e9 / f->median.ours_frames : 0);
	iw_json_u64(w, "lost", f->median.lost);
	iw_json_close(w);
}

static int result_json(struct iw_json *w, const struct iw_xdp_bench *r)
{
	iw_json_begin(w, "result");
	iw_json_str(w, "mode", "xdp");
	iw_json_open_object(w, "p5");
	figure_json(w, &r->figure[0]);
	figure_json(w, &r->figure[1]);
	iw_json_close(w);
	iw_json_open_object(w, "p6");
	figure_json(w, &r->figure[2]);
	figure_json(w, &r->figure[3]);
	iw_json_close(w);
	iw_json_open_object(w, "placement");
	placement_json(w, &r->figure[2]);
	placement_json(w, &r->figure[3]);
	iw_json_close(w);
	iw_json_open_object(w, "steering");
	iw_json_f64(w, "packet_ns", r->steering_ns);
	iw_json_u64(w, "packets", r->steered);
	iw_json_close(w);
	iw_json_open_object(w, "baselines_bits_per_second");
	for (size_t i = 0; i < IW_ARRAY_LEN(r->baseline); i++)
		iw_json_f64(w, r->baseline[i].name, r->baseline[i].bits);
	iw_json_close(w);
	iw_bench_show_environment(w, &r->figure[0].environment);
	iw_json_u64(w, "duration_ns", r->ns);
	iw_json_str(w, "version", iw_version());
	return iw_json_end(w);
}

int iw_bench_show_xdp(const struct iw_bench_show *s, const struct iw_xdp_bench *r)
{
	if (s->json)
		return result_json(s->json, r);
	for (size_t i = 0; i < IW_ARRAY_LEN(r->figure); i++)
		printf("%s %-6s  ratio %.2f (median; %.2f to %.2f), %s; %.2f of bare AF_XDP with CRC\n",
		       r->figure[i].id, r->figure[i].buffers, r->figure[i].ratio,
		       r->figure[i].ratio_min, r->figure[i].ratio_max,
		       r->figure[i].ratio >= r->figure[i].bar ? "meets the required ratio"
							      : "below the required ratio",
		       r->figure[i].read_ratio);
	for (size_t i = 2; i < 4; i++)
		printf("receive and place, %-6s  %.2f million segments/s, %.2f Gb/s, lost %" PRIu64
		       "\n",
		       r->figure[i].buffers, r->figure[i].median.ours_frames / 1e6,
		       r->figure[i].median.ours / 1e9, r->figure[i].median.lost);
	printf("steering program: %.0f ns per packet (mean of %" PRIu64 " packets)\n",
	       r->steering_ns, r->steered);
	printf("measured in %.1f s\n", (double)r->ns / 1e9);
	return 0;
}
