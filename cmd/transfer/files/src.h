/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file or stream that is being sent. It is read with pread into the caller's buffers, never
 * mapped: a file that is truncated meanwhile causes a short read and not a SIGBUS. Changes since it
 * was opened are detected.
 */
#ifndef IW_TRANSFER_FILES_SRC_H
#define IW_TRANSFER_FILES_SRC_H

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
	bool seeks_data; /* it may have holes, and the file system supports SEEK_DATA */
	bool in_memory;  /* on a file system without storage */
	struct stat at_open;
	/* A regular file: the range to send, in whole chunks except at the end of the file. */
	uint64_t begin, end;
	/*
	 * An entry per chunk after begin: its state, and the digest that the sink reported. NULL:
	 * no report.
	 */
	uint8_t *had;
	size_t digest_len;
	bool keeps_zeros; /* the next chunk is sent even if it is all zeros */
	struct iw_chunk_list chunks;
	uint32_t have; /* octets that the buffer of the next iw_src_load has already */
	/* Stream: */
	uint64_t pos; /* octets read so far */
	bool eof;
};

/* Takes ownership of fd, an open regular file, also on failure. -1: *why. */
IW_MUST_CHECK int iw_src_open(struct iw_src *s, int fd, struct iw_file_fault *why);
/* Reads a stream from fd, which is borrowed: standard input. */
void iw_src_open_stream(struct iw_src *s, int fd);
/* Closes the file, unless it is a stream, and frees its state. */
void iw_src_close(struct iw_src *s);

/* Restricts s to a part of the file. */
void iw_src_part(struct iw_src *s, uint64_t off, uint64_t len);
/*
 * The sink has reported n chunks from off on, in the range to send. digests: n digests of
 * digest_len octets (copied); if digest_len is 0, the report is ignored. IW_E_NOMEM: no memory.
 */
IW_MUST_CHECK int iw_src_have(struct iw_src *s, uint64_t off, const uint8_t *digests,
			      size_t digest_len, size_t n);
/*
 * Reads the chunk of len octets at off. *same: it has the digest that the sink reported; then its
 * digest is kept as by iw_src_load. Other threads may use s at the same time, except to load. -1:
 * *why.
 */
IW_MUST_CHECK int iw_src_compare(struct iw_src *s, struct iw_hasher *h, uint64_t off, uint32_t len,
				 bool *same, struct iw_file_fault *why);
/*
 * Records that result: a chunk that is the same is skipped; another one is sent like those that the
 * sink lacks.
 */
void iw_src_compared(struct iw_src *s, uint64_t off, bool same);
/*
 * True if the sink's chunk at off differs. The chunk must then be sent even if it is all zeros:
 * otherwise the sink would keep its own.
 */
bool iw_src_differs(const struct iw_src *s, uint64_t off);
/* Forgets digests and the sink's report: another connection will read the whole range again. */
void iw_src_again(struct iw_src *s);

/* Sets kind, size and mode of *m, and for a file also time and ident. */
void iw_src_meta(const struct iw_src *s, struct iw_xfer_meta *m);

/*
 * Finds the next run of data at or after off, in whole chunks: *at and *len (0: none; a stream
 * always has data); *last: no data follow. 1: the next chunk is one that the sink reported: call
 * iw_src_compare and iw_src_compared, then this function again with the offset of the chunk. -1:
 * *why.
 */
IW_MUST_CHECK int iw_src_next_data(struct iw_src *s, uint64_t off, uint64_t *at, uint64_t *len,
				   bool *last, struct iw_file_fault *why);

/*
 * Reads those of the len octets at off into buf that are in memory. True: all of them, so that
 * iw_src_load does not wait for a device. Call iw_src_load with the same range and buffer next; it
 * reads the rest and reports errors. False for a stream.
 */
bool iw_src_fetch(struct iw_src *s, uint64_t off, uint32_t len, void *buf);

/*
 * Reads len octets at off into buf, hashes them and keeps the digest of the chunk. 0: *out; 1: a
 * stream has no more octets now: wait until its descriptor is readable, and call again with the
 * same arguments; -1: *why.
 */
IW_MUST_CHECK int iw_src_load(struct iw_src *s, struct iw_hasher *h, uint64_t off, uint32_t len,
			      void *buf, struct iw_xfer_chunk *out, struct iw_file_fault *why);

/*
 * Call it when all of size octets are read. Checks that the file has not changed since it was
 * opened, and computes its digest. -1: *why.
 */
IW_MUST_CHECK int iw_src_finish(struct iw_src *s, struct iw_hasher *h, uint64_t size,
				struct iw_xfer_digest *out, struct iw_file_fault *why);

/*
 * Reads the whole file, and returns its digest as iw_src_finish does. s is then as before. Ends
 * early if the process must stop. -1: *why.
 */
IW_MUST_CHECK int iw_src_digest(struct iw_src *s, struct iw_hasher *h, struct iw_xfer_digest *out,
				struct iw_file_fault *why);

#endif
