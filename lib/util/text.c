// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Text without stdio, in a caller's buffer. */
#include "util/text.h"

#include <string.h>

#include "util/num.h"

static const char hex_digits[] = "0123456789abcdef";

static void put(struct iw_text *t, const char *s, size_t n)
{
	n = IW_MIN(n, t->cap - 1 - t->len);
	memcpy(t->buf + t->len, s, n);
	t->len += n;
	t->buf[t->len] = '\0';
}

void iw_text_init(struct iw_text *t, char *buf, size_t cap)
{
	t->buf = buf;
	t->cap = cap;
	t->len = 0;
	buf[0] = '\0';
}

void iw_text_str(struct iw_text *t, const char *s)
{
	put(t, s, strlen(s));
}

void iw_text_u64(struct iw_text *t, uint64_t v)
{
	char d[20]; /* 2^64 - 1 has 20 digits */
	size_t i = sizeof(d);

	do {
		d[--i] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	put(t, d + i, sizeof(d) - i);
}

void iw_text_hex(struct iw_text *t, uint64_t v, unsigned digits)
{
	char d[16];
	size_t i = sizeof(d);

	digits = IW_MIN(digits, 16u);
	do {
		d[--i] = hex_digits[v & 0xf];
		v >>= 4;
	} while (v || sizeof(d) - i < digits);
	put(t, "0x", 2);
	put(t, d + i, sizeof(d) - i);
}

void iw_text_octets(struct iw_text *t, const void *p, size_t len)
{
	const uint8_t *o = p;

	for (size_t i = 0; i < len && t->len < t->cap - 1; i++) {
		char d[2] = { hex_digits[o[i] >> 4], hex_digits[o[i] & 0xf] };

		put(t, d, 2);
	}
}

static void put_time(struct iw_text *t, uint64_t ns)
{
	uint64_t ms = ns / IW_MSEC(1) + (ns % IW_MSEC(1) >= IW_MSEC(1) / 2);
	uint64_t tenths = (ms + 50) / 100;

	if (ms < 1000) {
		iw_text_u64(t, ms);
		iw_text_str(t, " ms");
		return;
	}
	iw_text_u64(t, tenths / 10);
	if (tenths % 10) {
		iw_text_str(t, ".");
		iw_text_u64(t, tenths % 10);
	}
	iw_text_str(t, " s");
}

void iw_text_vfmt(struct iw_text *t, const char *fmt, va_list ap)
{
	while (*fmt) {
		const char *pct = strchr(fmt, '%');

		if (!pct) {
			iw_text_str(t, fmt);
			return;
		}
		put(t, fmt, (size_t)(pct - fmt));
		switch (pct[1]) {
		case 's': {
			const char *s = va_arg(ap, const char *);

			iw_text_str(t, s ? s : "(null)");
			break;
		}
		case 'u':
			iw_text_u64(t, va_arg(ap, uint32_t));
			break;
		case 'U':
			iw_text_u64(t, va_arg(ap, uint64_t));
			break;
		case 'x':
			iw_text_hex(t, va_arg(ap, uint32_t), 8);
			break;
		case 'X':
			iw_text_hex(t, va_arg(ap, uint64_t), 16);
			break;
		case 'b':
			iw_text_hex(t, va_arg(ap, uint32_t), 2);
			break;
		case 't':
			put_time(t, va_arg(ap, uint64_t));
			break;
		case '%':
			put(t, "%", 1);
			break;
		case '\0':
			put(t, "%", 1);
			return;
		default:
			put(t, pct, 2);
			break;
		}
		fmt = pct + 2;
	}
}

void iw_text_fmt(struct iw_text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	iw_text_vfmt(t, fmt, ap);
	va_end(ap);
}

int iw_fail(struct iw_fault *why, int err, const char *fmt, ...)
{
	struct iw_text t;
	va_list ap;

	if (!why)
		return err;
	*why = (struct iw_fault){ .err = err };
	why->term = iw_err_term(err);
	why->clause = iw_err_clause(err);
	iw_text_init(&t, why->text, sizeof(why->text));
	va_start(ap, fmt);
	iw_text_vfmt(&t, fmt, ap);
	va_end(ap);
	return err;
}
