// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Measures the cost of a tagged segment with few and with many registrations.
 *
 * The measured time is that of a receiver with a batch of FPDUs in its buffer, the scratch. For
 * each FPDU it checks the CRC, prefetches the registration that the header of the next FPDU names,
 * decodes the header, and checks and places the segment. So the CPU loads a registration into the
 * cache while the previous segment is placed and the CRC of its own segment is checked. The STags
 * of a batch are drawn at random before the measured time.
 *
 * Both cases use the same destination memory: DESTS buffers, cfg.dest octets in all. Registration i
 * is for the whole of buffer i mod DESTS, and the TO is drawn at random within it. So only the
 * table differs: 128 KiB for a thousand registrations, 128 MiB for a million. The default of 64 MiB
 * exceeds the caches, as the destination of a real receiver does. With a few MiB the copy would be
 * too fast to hide the time of a look-up.
 */
#include "ddp-bench/stag_bench.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ddp-bench/median.h"
#include "ddp/ddp.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"
#include "wire/crc32c.h"
#include "wire/mpa.h"

#define DESTS     1000
#define BATCH     128 /* FPDUs in the scratch at once */
#define PAIRS_MIN 5
#define PAIRS_MAX 101

static int os_random(void *ctx, void *buf, size_t len)
{
	(void)ctx;
	return iw_os_random(buf, len);
}

/* One side of the comparison: a table, the stream that uses it, and its STags. */
struct side {
	struct iw_stag_table *stags;
	struct iw_ddp_stream *stream;
	uint32_t *stag;
	size_t n;
};

struct bench {
	struct iw_stag_bench_cfg cfg;
	struct side small, large;
	uint8_t *dest;
	size_t dest_len;  /* octets of one destination buffer */
	uint8_t *scratch; /* BATCH FPDUs */
	size_t fpdu_len;
	uint64_t rng;
};

/* xorshift64*. Random numbers, so that the processor cannot predict the next registration. */
static uint64_t next_random(struct bench *b)
{
	b->rng ^= b->rng >> 12;
	b->rng ^= b->rng << 25;
	b->rng ^= b->rng >> 27;
	return b->rng * 0x2545f4914f6cdd1du;
}

static int side_init(struct side *s, size_t n, const struct bench *b, struct iw_fault *why)
{
	struct iw_ddp_cfg cfg = { .mem = &iw_os_heap, .pd = 1, .stream = 1, .dv = 1 };
	int ret = iw_stag_table_new(&s->stags, &iw_os_heap, os_random, NULL);

	if (ret < 0)
		return iw_fail(why, ret, "stag: out of memory for a table");
	cfg.stags = s->stags;
	ret = iw_ddp_new(&s->stream, &cfg, why);
	if (ret < 0)
		return ret;
	s->n = n;
	s->stag = calloc(n, sizeof(*s->stag));
	if (!s->stag)
		return iw_fail(why, IW_E_NOMEM, "stag: out of memory for %U STags", (uint64_t)n);
	for (size_t i = 0; i < n; i++) {
		struct iw_region r = {
			.rights = IW_RIGHT_REMOTE_WRITE,
			.pd = 1,
			.base = b->dest + i % DESTS * b->dest_len,
			.len = b->dest_len,
			.expires = IW_TIME_NEVER,
			.uses = UINT32_MAX,
		};

		ret = iw_stag_add(s->stags, &r, &s->stag[i], why);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void side_fini(struct side *s)
{
	free(s->stag);
	iw_ddp_free(s->stream);
	iw_stag_table_free(s->stags);
}

/* Writes a batch of FPDUs for registrations drawn at random. */
static int fill(struct bench *b, const struct side *s, struct iw_fault *why)
{
	size_t covered = b->fpdu_len - IW_MPA_CRC_LEN;
	struct iw_ddp h = {
		.tagged = true,
		.last = true,
		.dv = 1,
		.rv = 1,
		.opcode = IW_OP_WRITE,
	};

	for (size_t i = 0; i < BATCH; i++) {
		uint8_t *fpdu = b->scratch + i * b->fpdu_len;
		int ret;

		h.stag = s->stag[next_random(b) % s->n];
		h.to = next_random(b) % (b->dest_len - b->cfg.segment + 1);
		iw_put_be16(fpdu, (uint16_t)b->cfg.segment);
		ret = iw_wire_ddp_encode(fpdu + IW_MPA_HEAD_LEN, b->cfg.segment, &h);
		if (ret < 0)
			return iw_fail(why, ret, "stag: cannot encode a segment of %U octets",
				       (uint64_t)b->cfg.segment);
		iw_put_le32(fpdu + covered, iw_crc32c(0, fpdu, covered));
	}
	return 0;
}

/* Receives a batch: what is measured. */
static int receive(struct bench *b, const struct side *s, struct iw_fault *why)
{
	for (size_t i = 0; i < BATCH; i++) {
		const uint8_t *fpdu = b->scratch + i * b->fpdu_len;
		const uint8_t *ulpdu = fpdu + IW_MPA_HEAD_LEN;
		size_t len = iw_get_be16(fpdu);
		size_t covered = IW_MPA_HEAD_LEN + len + iw_mpa_pad(len);
		struct iw_ddp h;
		int ret;

		if (iw_crc32c(0, fpdu, covered) != iw_get_le32(fpdu + covered))
			return iw_fail(why, IW_E_MPA_CRC, "stag: FPDU %U has a wrong CRC",
				       (uint64_t)i);
		if (i + 1 < BATCH)
			iw_stag_prefetch(s->stags, iw_get_be32(ulpdu + b->fpdu_len + 2));
		ret = iw_wire_ddp_decode(&h, ulpdu, len);
		if (ret <= 0)
			return iw_fail(why, IW_E_TRUNC, "stag: FPDU %U has no DDP header",
				       (uint64_t)i);
		ret = iw_ddp_place(s->stream, &h, ulpdu + ret, len - (size_t)ret,
				   IW_RIGHT_REMOTE_WRITE, 0, why);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int measure(struct bench *b, const struct side *s, double *ns, struct iw_fault *why)
{
	uint64_t spent = 0;
	size_t batches = (b->cfg.segments + BATCH - 1) / BATCH;

	for (size_t i = 0; i < batches; i++) {
		int ret = fill(b, s, why);
		uint64_t began;

		if (ret < 0)
			return ret;
		began = iw_os_now();
		ret = receive(b, s, why);
		spent += iw_os_now() - began;
		if (ret < 0)
			return ret;
	}
	*ns = (double)spent / (double)(batches * BATCH);
	return 0;
}

static int run_pairs(struct bench *b, struct iw_stag_bench *out, struct iw_fault *why)
{
	double small[PAIRS_MAX], large[PAIRS_MAX], ratio[PAIRS_MAX];
	size_t pairs = b->cfg.pairs;

	/* Round 0 only warms up pages and branch predictors: round 1 overwrites its results. */
	for (size_t i = 0; i <= pairs; i++) {
		size_t at = i > 0 ? i - 1 : 0;
		int ret = 0;

		/*
		 * The order alternates, so that neither side gains from the state that the other
		 * one left.
		 */
		for (size_t k = 0; k < 2 && ret == 0; k++)
			ret = (i + k) % 2 ? measure(b, &b->small, &small[at], why)
					  : measure(b, &b->large, &large[at], why);
		if (ret < 0)
			return ret;
		ratio[at] = large[at] / small[at];
	}
	out->pairs = pairs;
	out->ns_small = iw_bench_median(small, pairs);
	out->ns_large = iw_bench_median(large, pairs);
	out->ratio = iw_bench_median(ratio, pairs);
	out->ratio_min = ratio[0];
	out->ratio_max = ratio[pairs - 1];
	return 0;
}

static int check_cfg(struct iw_stag_bench_cfg *c, struct iw_fault *why)
{
	c->small = c->small ? c->small : 1000;
	c->large = c->large ? c->large : 1000000;
	c->segment = c->segment ? c->segment : 1448;
	c->segments = c->segments ? c->segments : 262144;
	c->pairs = c->pairs ? c->pairs : 7;
	c->dest = c->dest ? c->dest : (size_t)64 << 20;
	if (c->segment <= IW_DDP_TAGGED_LEN || c->segment > IW_MPA_ULPDU_MAX)
		return iw_fail(why, IW_E_INVAL, "stag: segment of %U octets; expected %u to %u",
			       (uint64_t)c->segment, (uint32_t)IW_DDP_TAGGED_LEN + 1,
			       (uint32_t)IW_MPA_ULPDU_MAX);
	if (c->dest / DESTS < c->segment)
		return iw_fail(why, IW_E_INVAL,
			       "stag: destination of %U octets; expected at least %U",
			       (uint64_t)c->dest, (uint64_t)c->segment * DESTS);
	if (c->pairs < PAIRS_MIN || c->pairs > PAIRS_MAX)
		return iw_fail(why, IW_E_INVAL, "stag: %U pairs; expected %u to %u",
			       (uint64_t)c->pairs, (uint32_t)PAIRS_MIN, (uint32_t)PAIRS_MAX);
	return 0;
}

int iw_bench_stag(struct iw_stag_bench *out, const struct iw_stag_bench_cfg *cfg,
		  struct iw_fault *why)
{
	struct bench b = { .cfg = *cfg };
	int ret = check_cfg(&b.cfg, why);

	if (ret < 0)
		return ret;
	*out = (struct iw_stag_bench){ 0 };
	b.rng = cfg->seed ? cfg->seed : 0x9e3779b97f4a7c15u; /* any value but 0 */
	b.fpdu_len = iw_mpa_fpdu_len(b.cfg.segment);
	b.dest_len = b.cfg.dest / DESTS;
	b.dest = calloc(DESTS, b.dest_len);
	b.scratch = calloc(BATCH, b.fpdu_len);
	if (!b.dest || !b.scratch) {
		ret = iw_fail(why, IW_E_NOMEM, "stag: out of memory for the buffers");
		goto out;
	}
	memset(b.dest, 0xff, DESTS * b.dest_len); /* touches all pages before the measured time */
	for (size_t i = 0; i < BATCH * b.fpdu_len; i++)
		b.scratch[i] = (uint8_t)next_random(&b);
	ret = side_init(&b.small, b.cfg.small, &b, why);
	if (ret == 0)
		ret = side_init(&b.large, b.cfg.large, &b, why);
	if (ret == 0)
		ret = run_pairs(&b, out, why);
out:
	side_fini(&b.small);
	side_fini(&b.large);
	free(b.scratch);
	free(b.dest);
	return ret;
}
