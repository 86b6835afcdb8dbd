/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that is registered: a range of a file, mapped, so that what a peer writes is in the file
 * at once and what others write to the file is what a peer reads; or new memory, all zeros.
 *
 * A mapped file may be truncated under our hands, or its storage may fail or be full: the access is
 * then a SIGBUS. This room handles that signal for its own mappings alone: from the page at fault
 * on, zeros that nobody sees take the place of the file, and the mapping is lost from then on; its
 * owner finds that out by iw_map_lost_any and iw_map_whole, revokes it and ends the connections
 * that use it. The signal's handler and the list of mappings are the process's; mappings are made,
 * used and closed by one thread.
 */
#ifndef IW_MANAGER_MAP_H
#define IW_MANAGER_MAP_H

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
 * len octets of the regular file fd from off on; len 0: to its end. fd is given, also when this
 * fails. IW_E_INVAL: not a regular file, no octet, or beyond its end; IW_E_PERM: fd is not open for
 * that; IW_E_NOMEM, IW_E_OS.
 */
IW_MUST_CHECK int iw_map_file(struct iw_map *m, int fd, uint64_t off, uint64_t len, bool writable,
			      struct iw_fault *why);
/* IW_E_INVAL: len 0 or more than an address can say; IW_E_NOMEM. */
IW_MUST_CHECK int iw_map_memory(struct iw_map *m, uint64_t len, struct iw_fault *why);
/* Nobody may use it any more. */
void iw_map_close(struct iw_map *m);

/* Some mapping was lost since the last call. Cheap: for every turn of a loop. */
bool iw_map_lost_any(void);
/*
 * The range is still all there: no access failed, and the file has not become shorter than it. A
 * system call for files.
 */
bool iw_map_whole(const struct iw_map *m);
/* Some octet of a file is in both. */
bool iw_map_overlaps(const struct iw_map *a, const struct iw_map *b);

#endif
