/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls your functions for the grader. You do not change this file. */
#include <string.h>

#include "harness.h"
#include "stats.h"

/* A series: big-endian numbers of 64 bits in the message. Ends where its memory ends. */
static uint64_t *get_series(struct message *in, size_t *n)
{
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint64_t *v = (uint64_t *)(void *)memory_new(len);

	*n = len / 8;
	for (size_t i = 0; i < *n; i++) {
		v[i] = 0;
		for (size_t j = 0; j < 8; j++)
			v[i] = v[i] << 8 | octets[8 * i + j];
	}
	return v;
}

static void put_series(struct message *out, const uint64_t *v, size_t n)
{
	put_u64(out, n);
	for (size_t i = 0; i < n; i++)
		put_u64(out, v[i]);
}

/* A double is passed as its 64 bits. */
static void put_double(struct message *out, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	put_u64(out, bits);
}

static double *get_doubles(struct message *in, size_t *n)
{
	return (double *)(void *)get_series(in, n);
}

/* After the results of each call: the series, which must be unchanged. */
static void finish(struct message *out, void *v, size_t n)
{
	put_series(out, v, n);
	memory_free(v);
}

static void call_percentile(struct message *in, struct message *out)
{
	unsigned int permille = get_u32(in);
	uint64_t result = 0;
	size_t n;
	uint64_t *v = get_series(in, &n);

	put_u8(out, percentile(v, n, permille, &result));
	put_u64(out, result);
	finish(out, v, n);
}

static void call_median(struct message *in, struct message *out)
{
	double result = 0;
	size_t n;
	uint64_t *v = get_series(in, &n);

	put_u8(out, median(v, n, &result));
	put_double(out, result);
	finish(out, v, n);
}

static void call_spread(struct message *in, struct message *out)
{
	struct spread result = { 0 };
	size_t n;
	uint64_t *v = get_series(in, &n);

	put_u8(out, spread(v, n, &result));
	put_double(out, result.mean);
	put_double(out, result.sd);
	put_double(out, result.cv);
	finish(out, v, n);
}

static void call_interval_rank(struct message *in, struct message *out)
{
	put_u64(out, interval_rank(get_u32(in)));
}

static void call_median_interval(struct message *in, struct message *out)
{
	double low = 0, high = 0;
	size_t n;
	double *v = get_doubles(in, &n);

	put_u8(out, median_interval(v, n, &low, &high));
	put_double(out, low);
	put_double(out, high);
	finish(out, v, n);
}

static void call_bits_per_second(struct message *in, struct message *out)
{
	uint64_t octets = get_u64(in), ns = get_u64(in);

	put_u64(out, bits_per_second(octets, ns));
}

static void call_window_octets(struct message *in, struct message *out)
{
	uint64_t rate = get_u64(in), rtt = get_u64(in);

	put_u64(out, window_octets(rate, rtt));
}

static void call_compare(struct message *in, struct message *out)
{
	enum better better = get_u8(in) ? LOWER : HIGHER;
	struct comparison c = { 0 };
	size_t n, m;
	double *a = get_doubles(in, &n), *b = get_doubles(in, &m);

	put_u8(out, compare(a, b, n < m ? n : m, better, &c));
	put_double(out, c.ratio);
	put_double(out, c.min);
	put_double(out, c.max);
	put_double(out, c.low);
	put_double(out, c.high);
	put_u8(out, (uint8_t)c.verdict);
	finish(out, a, n);
	finish(out, b, m);
}

static void call_warmup(struct message *in, struct message *out)
{
	size_t n;
	uint64_t *v = get_series(in, &n);

	put_u64(out, warmup(v, n));
	finish(out, v, n);
}

/* For ./check --speed. */
static void call_repeat(struct message *in, struct message *out)
{
	uint32_t times = get_u32(in);
	unsigned int permille = get_u32(in);
	uint64_t result = 0;
	size_t n;
	uint64_t *v = get_series(in, &n);

	while (times--)
		percentile(v, n, permille, &result);
	put_u64(out, result);
	memory_free((uint8_t *)v);
}

const struct call calls[] = {
	{ "percentile", call_percentile },
	{ "median", call_median },
	{ "spread", call_spread },
	{ "interval_rank", call_interval_rank },
	{ "median_interval", call_median_interval },
	{ "bits_per_second", call_bits_per_second },
	{ "window_octets", call_window_octets },
	{ "compare", call_compare },
	{ "warmup", call_warmup },
	{ "repeat", call_repeat },
	{ 0 },
};
