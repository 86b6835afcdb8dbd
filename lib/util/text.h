/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text in a caller's buffer, for rooms without stdio. It always ends with a NUL. Text that does not
 * fit is truncated. No function fails.
 */
#ifndef IW_UTIL_TEXT_H
#define IW_UTIL_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct iw_text {
	char *buf;
	size_t cap, len; /* len without the NUL; len < cap */
};

/*
 * Makes an empty text. cap: bytes of buf with the NUL, at least 1. buf is borrowed as long as t is
 * used.
 */
void iw_text_init(struct iw_text *t, char *buf, size_t cap);
void iw_text_str(struct iw_text *t, const char *s);
/* Appends v in decimal. */
void iw_text_u64(struct iw_text *t, uint64_t v);
/* Appends 0x and v in hex, with leading zeros up to digits (at most 16). */
void iw_text_hex(struct iw_text *t, uint64_t v, unsigned digits);
/* Appends two hex digits for each of the len octets at p. */
void iw_text_octets(struct iw_text *t, const void *p, size_t len);
/*
 * Appends a formatted text. The conversions are a small set of its own, not those of printf():
 *
 *     %s  const char *; NULL: "(null)"
 *     %u  uint32_t              %U  uint64_t
 *     %x  uint32_t as 0x and 8 digits
 *     %X  uint64_t as 0x and 16 digits
 *     %b  uint32_t as 0x and 2 digits
 *     %t  uint64_t, a duration in ns, rounded to 0.1 s or, below 1 s, to 1 ms: "2.5 s", "500 ms"
 *     %%  a percent sign
 *
 * All other text is copied unchanged. The compiler does not check the arguments: cast each to
 * exactly its type.
 */
void iw_text_fmt(struct iw_text *t, const char *fmt, ...);
void iw_text_vfmt(struct iw_text *t, const char *fmt, va_list ap);

/*
 * Fills *why (may be NULL): term and clause from the list of errors, the text from fmt as in
 * iw_text_fmt(). Returns err, so that a function can fail in one statement:
 *
 *     return iw_fail(why, IW_E_DDP_QN, "ddp: QN %u: expected 0..2", qn);
 */
int iw_fail(struct iw_fault *why, int err, const char *fmt, ...);

/*
 * Sets *why to "no failure". It clears only the first byte of the text, because it is called for
 * each FPDU.
 */
static inline void iw_fault_none(struct iw_fault *why)
{
	why->err = why->os_errno = 0;
	why->term = IW_NOTERM;
	why->from_peer = false;
	why->offset = 0;
	why->clause = NULL;
	why->text[0] = '\0';
}

#endif
