/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CRC32c (Castagnoli), as MPA (RFC 5044 4.4) and SCTP (RFC 9260 appendix A) use it. Running values
 * are the finished ones: start with 0, pass the last result on; iw_crc32c(iw_crc32c(0, a, n), b, m)
 * is the CRC of a followed by b. On the wire the result is stored least significant octet first:
 * iw_put_le32.
 */
#ifndef IW_WIRE_CRC32C_H
#define IW_WIRE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The fastest engine of this machine for that length. Any length, any alignment. */
uint32_t iw_crc32c(uint32_t crc, const void *data, size_t len);
/*
 * Copies and takes the CRC of what arrived in dst, in one pass through the cache: for memory that
 * may change under us the octets sent and the octets summed are the same ones. dst and src must not
 * overlap.
 */
uint32_t iw_crc32c_copy(uint32_t crc, void *dst, const void *src, size_t len);

/*
 * The engines, for cross-checking. An engine that was built in but that this CPU cannot run has run
 * == NULL.
 */
struct iw_crc32c_engine {
	const char *name; /* "table", "sse42", "sse42x3" (three lanes), "armv8", "isal" */
	uint32_t (*run)(uint32_t crc, const void *data, size_t len);
};
/* Their number; *out points to static data. */
size_t iw_crc32c_engines(const struct iw_crc32c_engine **out);

#endif
