/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text built piece by piece in a caller's buffer, for rooms that print nothing and use no stdio.
 * Always terminated; what does not fit is cut. Nothing here fails.
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

/* An empty text. buf is borrowed for the life of t; cap >= 1 counts the NUL. */
void iw_text_init(struct iw_text *t, char *buf, size_t cap);
/* Each appends: s; a decimal number; 0x and at least that many digits; two hex digits an octet; a
 * duration, rounded to 0.1 s or, below 1 s, to 1 ms: "2.5 s", "500 ms". */
void iw_text_str(struct iw_text *t, const char *s);
void iw_text_u64(struct iw_text *t, uint64_t v);
void iw_text_hex(struct iw_text *t, uint64_t v, unsigned digits);
void iw_text_octets(struct iw_text *t, const void *p, size_t len);
/*
 * Appends by a small subset of printf: %s (const char *), %u (uint32_t), %U (uint64_t), %x
 * (uint32_t as 0x and 8 digits), %X (uint64_t as 0x and 16 digits), %b (uint32_t as 0x and 2
 * digits), %t (uint64_t, ns, as iw_text_time), %%. Anything else is copied as it stands. The compiler checks no argument: cast what is
 * not of just that type.
 */
void iw_text_fmt(struct iw_text *t, const char *fmt, ...);
void iw_text_vfmt(struct iw_text *t, const char *fmt, va_list ap);

/*
 * Fills *why (may be NULL) from err's row in the list of errors and the text made of fmt as
 * iw_text_fmt does. Returns err, so that a failing line reads
 * `return iw_fail(why, IW_E_DDP_QN, "ddp: QN %u: expected 0..2", qn);`
 */
int iw_fail(struct iw_fault *why, int err, const char *fmt, ...);

/* "No failure", as zeroes say it, without clearing the room for its text: for what is done for every
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
