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

#include "transfer/files/digest.h"
#include "transfer/files/fault.h"
#include "transfer/protocol/xfer.h"

struct iw_src {
	int fd;
	bool stream;
	bool seeks_data; /* the file system knows SEEK_DATA */
	struct stat at_open;
	/* a regular file: the range to send, in whole chunks except at its end */
	uint64_t begin, end;
	/* a row for each chunk after begin: its state, and the digest that the sink reported. NULL: none */
	uint8_t *had;
	size_t digest_len;
	bool keeps_zeros; /* the chunk that is loaded next is moved even if all of it is zero */
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

/* A part of the file is meant, no more. */
void iw_src_part(struct iw_src *s, uint64_t off, uint64_t len);
/*
 * The sink has reported n chunks from off on (within the range to send, in whole chunks). digests: n digests of digest_len octets; if
 * digest_len is 0, the report is ignored. IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_src_have(struct iw_src *s, uint64_t off, const uint8_t *digests,
			      size_t digest_len, size_t n);
/*
 * Reads the chunk of len octets at off. *same: it has the digest that the sink reported, which is kept as by iw_src_load. Other threads may
 * use s at the same time, except to load. -1: *why.
 */
IW_MUST_CHECK int iw_src_compare(struct iw_src *s, struct iw_hasher *h, uint64_t off, uint32_t len,
				 bool *same, struct iw_file_fault *why);
/* The result of that: the chunk is skipped if same, else sent like those that the sink does not have. */
void iw_src_compared(struct iw_src *s, uint64_t off, bool same);
/* True if the sink's chunk there differs. It must be moved even if all of it is zero: else the sink would keep its own. */
bool iw_src_differs(const struct iw_src *s, uint64_t off);
/* All is to be read once more, by another connection. */
void iw_src_again(struct iw_src *s);

/* Fills kind, size, mode, time and ident of *m. */
void iw_src_meta(const struct iw_src *s, struct iw_xmeta *m);

/*
 * The next run of data at or behind off, in whole chunks: *at and *len (0: none; a stream always has some); *last: none behind it.
 * 1: next is a chunk that the sink reported: call iw_src_compare and iw_src_compared, then this again with its offset. -1: *why.
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

/*
 * Reads all of the file, and returns its digest as iw_src_finish does. Then s is as before. Ends early when the process is to stop. -1: *why.
 */
IW_MUST_CHECK int iw_src_digest(struct iw_src *s, struct iw_hasher *h, struct iw_xdigest *out,
				struct iw_file_fault *why);

#endif
