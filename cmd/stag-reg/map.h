/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of a buffer: a mapped range of a file, or new memory of zeros. A peer's RDMA Writes to
 * a mapped file are in the file at once, and its RDMA Reads see what other programs write to the
 * file.
 *
 * While a file is mapped, it may be truncated, or its storage may fail or be full. Then an access
 * raises SIGBUS. The handler here applies to these mappings only: it replaces the pages from the
 * faulting one to the end by private zeros and marks the mapping as lost. The owner detects this
 * with iw_map_lost_any and iw_map_whole, revokes the buffer and ends the connections that use it.
 *
 * Threads: the signal handler and the list of mappings are global. One thread makes, uses and
 * closes mappings.
 */
#ifndef IW_STAG_REG_MAP_H
#define IW_STAG_REG_MAP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/list.h"

struct iw_map {
	struct iw_list all;
	uint8_t *addr; /* of the first octet of the range */
	size_t len;
	uint8_t *base; /* of the first page */
	size_t span;   /* octets mapped */
	int fd;        /* owned; -1: new memory */
	uint64_t end;  /* of the range in the file */
	uint64_t dev, ino;
	volatile sig_atomic_t lost;
};

/*
 * Maps len octets of the regular file fd from off; len 0: to its end. fd is given, also after an
 * error. IW_E_INVAL: not a regular file, an empty range, or beyond the end of the file; IW_E_PERM:
 * fd is not open for this access; IW_E_LIMIT: more than this machine can map; IW_E_NOMEM; IW_E_OS:
 * another system call failed.
 */
IW_MUST_CHECK int iw_map_file(struct iw_map *m, int fd, uint64_t off, uint64_t len, bool writable,
			      struct iw_fault *why);
/*
 * Maps len octets of new memory. IW_E_INVAL: len is 0, or too large for the address space;
 * IW_E_NOMEM; IW_E_OS: mmap failed for another reason.
 */
IW_MUST_CHECK int iw_map_memory(struct iw_map *m, uint64_t len, struct iw_fault *why);
/* Unmaps the memory, which must not be used any more, and closes the file. */
void iw_map_close(struct iw_map *m);

/* True if a mapping was lost since the last call. Cheap enough for every turn of a loop. */
bool iw_map_lost_any(void);
/*
 * True if the range is intact: no access failed, and the file still includes the range. Makes a
 * system call for a file.
 */
bool iw_map_whole(const struct iw_map *m);
/* True if both include the same octet of a file. */
bool iw_map_overlaps(const struct iw_map *a, const struct iw_map *b);

#endif
