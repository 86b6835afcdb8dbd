/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes text from outside (file names, messages of peers) fit for a terminal or for JSON. No state,
 * no allocation.
 */
#ifndef IW_CLI_TEXT_H
#define IW_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns the length, 1 to 4, of the UTF-8 sequence at the start of s. 0: the len octets do not
 * start with a complete sequence of shortest form for a Unicode scalar value (RFC 3629: no
 * surrogates, nothing above U+10FFFF).
 */
size_t iw_utf8_len(const char *s, size_t len);

/* True if all len octets are UTF-8. Empty text is. */
bool iw_utf8_valid(const char *s, size_t len);

/* The columns of UTF-8 text on a terminal: one for each character. */
size_t iw_utf8_columns(const char *s);

/*
 * Writes src to dst as text that cannot move the cursor, change colours or reorder the text around
 * it: each octet of control characters (C0, DEL, C1), of bidirectional overrides and of sequences
 * that are not UTF-8 becomes \xHH. Without controls, only octets that are not UTF-8 are replaced.
 * If cap is above 0, dst ends with NUL; text that does not fit is cut between characters. Returns
 * the length of the whole text, as snprintf does.
 */
size_t iw_printable(char *dst, size_t cap, const char *src, size_t len, bool controls);

/*
 * Writes src to dst in Base64 with padding (RFC 4648 section 4), with a NUL. cap must be at least
 * IW_BASE64_SIZE(len).
 */
#define IW_BASE64_SIZE(len) (((len) + 2) / 3 * 4 + 1)
void iw_base64(char *dst, size_t cap, const void *src, size_t len);

#endif
