/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text that came from outside (file names, peers' messages) made fit for a terminal or for JSON. No
 * state, no allocation.
 */
#ifndef IW_CLI_TEXT_H
#define IW_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The number of octets (1 to 4) of the UTF-8 sequence that starts at @s, or 0 when the @len octets
 * there do not start with a whole, shortest-form sequence for a Unicode scalar value (RFC 3629: no
 * surrogates, nothing above U+10FFFF).
 */
size_t iw_utf8_len(const char *s, size_t len);

/* Whether all @len octets at @s are UTF-8. Zero octets are. */
bool iw_utf8_valid(const char *s, size_t len);

/* The columns that UTF-8 text takes on a terminal, counting one for each character. */
size_t iw_utf8_columns(const char *s);

/*
 * Writes @len octets at @src into @dst (borrowed, @cap octets) as text that cannot move the cursor,
 * change colours or reorder what stands around it: control characters (C0, DEL, C1), bidirectional
 * overrides and octets that are not UTF-8 become \xHH, one for each octet. With @controls false
 * only octets that are not UTF-8 are replaced. Always ends with NUL when @cap > 0; what does not
 * fit is cut between characters. Returns the length that the whole text needs, as snprintf does.
 */
size_t iw_printable(char *dst, size_t cap, const char *src, size_t len, bool controls);

/*
 * Base64 with padding (RFC 4648 section 4) of @len octets at @src into @dst, with a NUL. @cap must
 * be at least IW_BASE64_SIZE(len).
 */
#define IW_BASE64_SIZE(len) (((len) + 2) / 3 * 4 + 1)
void iw_base64(char *dst, size_t cap, const void *src, size_t len);

#endif
