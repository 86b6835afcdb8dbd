/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file being sent, or a stream. Read with pread into the caller's buffers, never mapped: a file that is truncated meanwhile is
 * then a short read and not a SIGBUS. What changed since it was opened is noticed.
 */
#ifndef IW_FILE_SRC_H
#define IW_FILE_SRC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <iwarp/err.h>

#include "file/digest.h"
#include "file/fault.h"
#include "xfer/xfer.h"

struct iw_src {
	int fd;
	bool stream;
	bool seeks_data; /* the file system knows SEEK_DATA */
	struct stat at_open;
	struct iw_chunk_list chunks;
	/* stream: */
	uint64_t pos;  /* octets read so far */
	uint32_t have; /* of them, in the buffer that is being filled */
	bool eof;
};

/* Takes fd (given, also on failure), an open regular file. -1: *why. */
IW_MUST_CHECK int iw_src_open(struct iw_src *s, int fd, struct iw_file_fault *why);
/* Takes fd (borrowed: standard input). */
void iw_src_open_stream(struct iw_src *s, int fd);
void iw_src_close(struct iw_src *s);

/* Fills kind, size, mode and time of *m. */
void iw_src_meta(const struct iw_src *s, struct iw_xmeta *m);

/*
 * The next run of data at or behind off, in whole chunks: *at and *len (0: none; a stream always has some); *last: none behind it.
 * -1: *why.
 */
IW_MUST_CHECK int iw_src_next_data(struct iw_src *s, uint64_t off, uint64_t *at, uint64_t *len,
				   bool *last, struct iw_file_fault *why);

/*
 * Reads len octets at off into buf, hashes them and keeps the chunk's digest. 0: *out; 1: a stream has no more octets now: watch the
 * descriptor, and call again with the same arguments; -1: *why.
 */
IW_MUST_CHECK int iw_src_load(struct iw_src *s, struct iw_hasher *h, uint64_t off, uint32_t len,
			      void *buf, struct iw_xloaded *out, struct iw_file_fault *why);

/* All is read: is it still what it was when it was opened? The file's digest goes into *out. -1:
 * *why. */
IW_MUST_CHECK int iw_src_finish(struct iw_src *s, struct iw_hasher *h, uint64_t size,
				struct iw_xdigest *out, struct iw_file_fault *why);

#endif
