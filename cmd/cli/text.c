// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* UTF-8 checks, escapes for terminals, base64. */
#include "cli/text.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static bool continues(const char *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (((uint8_t)s[i] & 0xc0) != 0x80)
			return false;
	return true;
}

static uint32_t codepoint(const char *s, size_t n)
{
	static const uint8_t first_mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (uint8_t)s[0] & first_mask[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((uint8_t)s[i] & 0x3f);
	return c;
}

size_t iw_utf8_len(const char *s, size_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t b;
	size_t n;
	uint32_t c;

	if (len < 1)
		return 0;
	b = (uint8_t)s[0];
	n = b < 0x80 ? 1 : b < 0xc2 ? 0 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : b < 0xf5 ? 4 : 0;
	if (n == 0 || len < n || !continues(s, n))
		return 0;
	c = codepoint(s, n);
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return n;
}

bool iw_utf8_valid(const char *s, size_t len)
{
	while (len > 0) {
		size_t n = iw_utf8_len(s, len);

		if (n == 0)
			return false;
		s += n;
		len -= n;
	}
	return true;
}

size_t iw_utf8_columns(const char *s)
{
	size_t columns = 0;

	for (; *s; s++)
		columns += ((uint8_t)*s & 0xc0) != 0x80;
	return columns;
}

/*
 * True for characters that a terminal executes instead of showing, and for bidirectional controls,
 * with which a name can look like another one.
 */
static bool acts(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

size_t iw_printable(char *dst, size_t cap, const char *src, size_t len, bool controls)
{
	static const char hex[] = "0123456789abcdef";
	size_t need = 0, used = 0;
	bool cut = false;

	while (len > 0) {
		size_t n = iw_utf8_len(src, len);
		bool escape = n == 0 || (controls && acts(codepoint(src, n)));
		size_t step = n ? n : 1;
		size_t width = escape ? 4 * step : step;

		cut = cut || cap < used + width + 1;
		if (!cut && escape) {
			for (size_t i = 0; i < step; i++) {
				uint8_t b = (uint8_t)src[i];

				dst[used++] = '\\';
				dst[used++] = 'x';
				dst[used++] = hex[b >> 4];
				dst[used++] = hex[b & 15];
			}
		} else if (!cut) {
			memcpy(dst + used, src, step);
			used += step;
		}
		need += width;
		src += step;
		len -= step;
	}
	if (cap > 0)
		dst[used] = '\0';
	return need;
}

void iw_base64(char *dst, size_t cap, const void *src, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = src;

	assert(cap >= IW_BASE64_SIZE(len));
	(void)cap;
	for (; len > 0; p += 3) {
		size_t n = len < 3 ? len : 3;
		uint32_t v = (uint32_t)p[0] << 16;

		if (n > 1)
			v |= (uint32_t)p[1] << 8;
		if (n > 2)
			v |= p[2];
		*dst++ = digits[v >> 18];
		*dst++ = digits[v >> 12 & 63];
		*dst++ = n > 1 ? digits[v >> 6 & 63] : '=';
		*dst++ = n > 2 ? digits[v & 63] : '=';
		len -= n;
	}
	*dst = '\0';
}
