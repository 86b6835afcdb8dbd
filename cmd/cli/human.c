// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sizes, rates and times as text. */
#include "cli/human.h"

#include <inttypes.h>
#include <stdio.h>

/* Writes v in the largest unit that it reaches when rounded to a tenth; unit n is base^n. */
static const char *scale(char *buf, uint64_t v, uint64_t base, const char *const *units, int count)
{
	uint64_t unit = 1, whole, tenths;
	int n = 0;

	while (n + 1 < count && v / unit >= base) {
		unit *= base;
		n++;
	}
	if (n == 0) {
		snprintf(buf, IW_HUMAN_TEXT, "%" PRIu64 " %s", v, units[0]);
		return buf;
	}
	/* The remainder is below 2^60, so ten times it fits. */
	whole = v / unit;
	tenths = (v % unit * 10 + unit / 2) / unit;
	if (tenths == 10) {
		tenths = 0;
		whole++;
	}
	if (whole == base && n + 1 < count) {
		whole = 1;
		n++;
	}
	snprintf(buf, IW_HUMAN_TEXT, "%" PRIu64 ".%" PRIu64 " %s", whole, tenths, units[n]);
	return buf;
}

const char *iw_human_size(char buf[static IW_HUMAN_TEXT], uint64_t octets)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	return scale(buf, octets, 1024, units, 7);
}

const char *iw_human_rate(char buf[static IW_HUMAN_TEXT], uint64_t bits_per_second)
{
	static const char *const units[] = {
		"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "Pb/s", "Eb/s"
	};

	return scale(buf, bits_per_second, 1000, units, 7);
}

const char *iw_human_latency(char buf[static IW_HUMAN_TEXT], uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };

	return scale(buf, ns, 1000, units, 4);
}

const char *iw_human_time(char buf[static IW_HUMAN_TEXT], uint64_t ns)
{
	uint64_t s = ns / 1000000000u + (ns % 1000000000u != 0);

	if (s < 3600)
		snprintf(buf, IW_HUMAN_TEXT, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
	else
		snprintf(buf, IW_HUMAN_TEXT, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600,
			 s / 60 % 60, s % 60);
	return buf;
}

uint64_t iw_bits_per_second(uint64_t octets, uint64_t ns)
{
	long double rate;

	if (ns == 0)
		return 0;
	rate = (long double)octets * 8e9L / (long double)ns;
	return rate >= 18446744073709551615.0L ? UINT64_MAX : (uint64_t)rate;
}
