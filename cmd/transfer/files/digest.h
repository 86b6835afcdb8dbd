/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Digests of chunks and of files (man/ddp-transfer.7). The digest of a file is that of a list: for
 * each chunk that is not all zeros, or that was moved although HAVE had named it, in ascending
 * order, its number (64 bits, big-endian) and its digest; then the size of the file (64 bits,
 * big-endian). So chunks are hashed once, in any order, while they move; holes need no hashing, and
 * a hole equals zeros.
 */
#ifndef IW_TRANSFER_FILES_DIGEST_H
#define IW_TRANSFER_FILES_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <iwarp/err.h>

#include "transfer/protocol/hello.h"

/* The set of digests that this build has, as 1 << enum iw_xfer_digest_kind. */
unsigned iw_digests_built(void);

struct iw_hasher {
	enum iw_xfer_digest_kind kind;
	void *md, *ctx; /* sha256: OpenSSL's objects, created once */
	void *state;    /* xxh3 of several pieces */
};

/*
 * True if hashing takes about as long as a CRC32c, so that a thread with an event loop may do it.
 * False for sha256, which takes many times as long.
 */
bool iw_digest_is_quick(enum iw_xfer_digest_kind kind);

/*
 * Prepares *h for digests of that kind. IW_E_NOTSUP: this build, or OpenSSL, lacks the digest.
 * IW_E_NOMEM: no memory.
 */
IW_MUST_CHECK int iw_hasher_init(struct iw_hasher *h, enum iw_xfer_digest_kind kind,
				 struct iw_fault *why);
void iw_hasher_fini(struct iw_hasher *h);
/*
 * Computes the digest of all n pieces of iov. With kind none it has length 0. IW_E_OS: the library
 * of the digest failed.
 */
IW_MUST_CHECK int iw_hasher_chunk(struct iw_hasher *h, const struct iovec *iov, size_t n,
				  struct iw_xfer_digest *out);

/* The chunks of one file. An empty list is all zero. */
struct iw_chunk_list {
	uint8_t *rows;
	size_t n, cap;
	uint8_t digest_len;
	bool disorder; /* chunks were not added in ascending order */
	uint64_t last;
};

/*
 * Adds the chunk at octet off. A digest of length 0 is ignored. IW_E_NOMEM: no memory. IW_E_INVAL:
 * the first digest had another length.
 */
IW_MUST_CHECK int iw_chunk_list_add(struct iw_chunk_list *l, uint64_t off,
				    const struct iw_xfer_digest *d);
/* Sorts the list, and computes the digest of the file of size octets. Errors as iw_hasher_chunk. */
IW_MUST_CHECK int iw_chunk_list_digest(struct iw_chunk_list *l, struct iw_hasher *h, uint64_t size,
				       struct iw_xfer_digest *out);
/* Sorts the list by offset. */
void iw_chunk_list_sort(struct iw_chunk_list *l);
/* Returns row i. */
void iw_chunk_list_row(const struct iw_chunk_list *l, size_t i, uint64_t *off,
		       struct iw_xfer_digest *d);
/*
 * Sets the digest of the chunk at off if it is in the first n rows, which are sorted. False: it is
 * not.
 */
bool iw_chunk_list_replace(struct iw_chunk_list *l, size_t n, uint64_t off,
			   const struct iw_xfer_digest *d);
void iw_chunk_list_free(struct iw_chunk_list *l);

/* True if length and octets are equal. */
static inline bool iw_xfer_digest_equal(const struct iw_xfer_digest *a,
					const struct iw_xfer_digest *b)
{
	if (a->len != b->len)
		return false;
	for (size_t i = 0; i < a->len; i++)
		if (a->octets[i] != b->octets[i])
			return false;
	return true;
}

#endif
