/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text in a caller's buffer, for rooms without stdio. It is always terminated by a NUL, and cut if
 * it does not fit. No function fails.
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

/* Makes an empty text. buf is borrowed as long as t is used; cap is at least 1 and includes the
 * NUL. */
void iw_text_init(struct iw_text *t, char *buf, size_t cap);
/* These append s; a decimal number; 0x and at least digits hex digits; two hex digits for each
 * octet. */
void iw_text_str(struct iw_text *t, const char *s);
void iw_text_u64(struct iw_text *t, uint64_t v);
void iw_text_hex(struct iw_text *t, uint64_t v, unsigned digits);
void iw_text_octets(struct iw_text *t, const void *p, size_t len);
/*
 * Appends a formatted text, in a small subset of printf():
 *
 *     %s  const char *; NULL: "(null)"
 *     %u  uint32_t              %U  uint64_t
 *     %x  uint32_t as 0x and 8 digits; %X  uint64_t as 0x and 16 digits
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
 * iw_text_fmt(). Returns err:
 *
 *     return iw_fail(why, IW_E_DDP_QN, "ddp: QN %u: expected 0..2", qn);
 */
int iw_fail(struct iw_fault *why, int err, const char *fmt, ...);

/* Sets *why to "no failure". It does not clear the whole text, because it is called for each
 * FPDU. */
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
