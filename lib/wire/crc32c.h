/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CRC32c (Castagnoli) of MPA (RFC 5044 4.4) and SCTP (RFC 9260 appendix A). crc is 0 for the first
 * octets, and then the result for all octets before: iw_crc32c(iw_crc32c(0, a, n), b, m) is the CRC
 * of a followed by b. On the wire the least significant octet is first: use iw_put_le32().
 */
#ifndef IW_WIRE_CRC32C_H
#define IW_WIRE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the CRC of len octets at data, which may have any length and alignment. Selects the
 * engine that is fastest on this CPU for that length.
 */
uint32_t iw_crc32c(uint32_t crc, const void *data, size_t len);
/*
 * Copies src to dst and computes the CRC of dst, while it is in the cache. If the ULP changes src
 * meanwhile, the CRC is still that of the octets in dst. dst and src must not overlap.
 */
uint32_t iw_crc32c_copy(uint32_t crc, void *dst, const void *src, size_t len);

/* One implementation, for tests and benchmarks. run is NULL if this CPU cannot run it. */
struct iw_crc32c_engine {
	const char *name; /* "table", "sse42", "sse42x3" (three lanes), "armv8", "isal" */
	uint32_t (*run)(uint32_t crc, const void *data, size_t len);
};
/* Sets *out to all engines (static), and returns their number. */
size_t iw_crc32c_engines(const struct iw_crc32c_engine **out);

#endif
