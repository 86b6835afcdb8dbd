// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Encodes and decodes the messages of ddp-bench. */
#include "ddp-bench/msg.h"

#include <string.h>

#include "util/num.h"
#include "util/text.h"

#define HEADER_LEN 8
#define TAG_LEN    3
static const uint8_t tag[TAG_LEN] = { 'i', 'w', 'B' };

_Static_assert(sizeof(struct iw_bench_report) <= IW_BENCH_NUMBERS * 8, "a REPORT is the longest");
_Static_assert(HEADER_LEN + IW_BENCH_NUMBERS * 8 + IW_BENCH_TEXT <= IW_BENCH_MSG_MAX,
	       "a message fits");

/* clang-format off */
static const struct {
	const char *name;
	size_t numbers;
} types[] = {
	[IW_BENCH_RUN]     = { "RUN",     sizeof(struct iw_bench_run) / 8 },
	[IW_BENCH_GO]      = { "GO",      0 },
	[IW_BENCH_READY]   = { "READY",   sizeof(struct iw_bench_ready) / 8 },
	[IW_BENCH_MARK]    = { "MARK",    sizeof(struct iw_bench_mark) / 8 },
	[IW_BENCH_REPORT]  = { "REPORT",  sizeof(struct iw_bench_report) / 8 },
	[IW_BENCH_CREDIT]  = { "CREDIT",  sizeof(struct iw_bench_credit) / 8 },
	[IW_BENCH_CHECK]   = { "CHECK",   sizeof(struct iw_bench_check) / 8 },
	[IW_BENCH_CHECKED] = { "CHECKED", sizeof(struct iw_bench_checked) / 8 },
	[IW_BENCH_REFUSED] = { "REFUSED", 0 },
};
/* clang-format on */

const char *iw_bench_type_name(enum iw_bench_type type)
{
	return (size_t)type < IW_ARRAY_LEN(types) && types[type].name ? types[type].name : "?";
}

size_t iw_bench_msg_encode(uint8_t buf[static IW_BENCH_MSG_MAX], const struct iw_bench_msg *m)
{
	size_t n = types[m->type].numbers, text = strnlen(m->text, IW_BENCH_TEXT);
	uint8_t *p = buf + HEADER_LEN;

	memcpy(buf, tag, TAG_LEN);
	buf[TAG_LEN] = (uint8_t)m->type;
	iw_put_be16(buf + 4, (uint16_t)n);
	iw_put_be16(buf + 6, (uint16_t)text);
	for (size_t i = 0; i < n; i++, p += 8)
		iw_put_be64(p, m->number[i]);
	memcpy(p, m->text, text);
	return (size_t)(p - buf) + text;
}

int iw_bench_msg_decode(struct iw_bench_msg *m, const uint8_t *buf, size_t len,
			struct iw_fault *why)
{
	size_t n, text;

	memset(m, 0, sizeof(*m));
	if (len < HEADER_LEN)
		return iw_fail(why, IW_E_TRUNC, "message of %U octets: expected at least %u",
			       (uint64_t)len, (uint32_t)HEADER_LEN);
	if (memcmp(buf, tag, TAG_LEN) != 0 || buf[TAG_LEN] >= IW_ARRAY_LEN(types) ||
	    !types[buf[TAG_LEN]].name)
		return iw_fail(why, IW_E_FORMAT, "message begins with %x: not one of ddp-bench",
			       iw_get_be32(buf));
	m->type = (enum iw_bench_type)buf[TAG_LEN];
	n = iw_get_be16(buf + 4);
	text = iw_get_be16(buf + 6);
	buf += HEADER_LEN;
	len -= HEADER_LEN;
	if (len < n * 8 || len - n * 8 < text)
		return iw_fail(why, IW_E_TRUNC, "message %s: %U octets after its head; expected %U",
			       types[m->type].name, (uint64_t)len, (uint64_t)(n * 8 + text));
	for (size_t i = 0; i < IW_MIN(n, (size_t)IW_BENCH_NUMBERS); i++)
		m->number[i] = iw_get_be64(buf + i * 8);
	memcpy(m->text, buf + n * 8, IW_MIN(text, (size_t)IW_BENCH_TEXT));
	return 0;
}
