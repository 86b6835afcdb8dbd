/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packs: small files that are sent as one (transfer/protocol/pack.h). The source adds them while it
 * walks the tree, and reads them when the sink has said which ones it wants. The sink writes all of
 * them, and flushes them to storage, when the chunk has arrived.
 */
#ifndef IW_TRANSFER_FILES_PACK_H
#define IW_TRANSFER_FILES_PACK_H

#include <stdatomic.h>
#include <sys/stat.h>

#include <iwarp/err.h>

#include "transfer/files/digest.h"
#include "transfer/files/fault.h"
#include "transfer/files/place.h"
#include "transfer/protocol/pack.h"

#define IW_PACK_FILE_MAX 65536u /* larger files are not packed */

/* --- source --- */

/*
 * An open directory that several members share. Several threads hold references: the worker that
 * reads the tree, and the owner of each pack.
 */
struct iw_dir_ref {
	int fd;
	atomic_uint refs;
	/* At the sink: mode bits that creation in this directory is known to keep; threads set them. */
	atomic_uint grants;
};
/* Returns a directory with one reference, which owns fd. NULL: no memory; fd is closed. */
struct iw_dir_ref *iw_dir_new(int fd);
/* Adds a reference to d, and returns d. */
struct iw_dir_ref *iw_dir_get(struct iw_dir_ref *d);
/* Releases a reference; the last one closes the directory. d may be NULL. */
void iw_dir_put(struct iw_dir_ref *d);

struct iw_packer {
	uint8_t *list;
	size_t list_len;
	uint32_t n;
	struct iw_xfer_pack_out out;
	uint64_t octets; /* of the contents, if all members are wanted */
	uint8_t wanted[IW_XFER_MEMBERS / 8];
	struct iw_pack_member {
		struct iw_dir_ref *root;
		char *path; /* from root; NULL: not a regular file */
		char *name; /* as sent */
		enum iw_xfer_kind kind;
		uint64_t size;
		int64_t mtime_s;
		uint32_t mtime_ns;
		uint64_t ino;
		struct iw_file_fault
			why; /* why it could not be read; code IW_XFER_CODE_OK: it was */
	} member[IW_XFER_MEMBERS];
};

/* Returns an empty pack, owned by the caller. NULL: no memory. */
struct iw_packer *iw_packer_new(void);
void iw_packer_free(struct iw_packer *p);
/*
 * Adds m (copied). A file is opened later, at path (copied) below root, of which the pack takes a
 * reference; st: its current attributes. False: the pack is full, or there is no memory: send the
 * pack as it is.
 */
bool iw_packer_add(struct iw_packer *p, const struct iw_xfer_meta *m, struct iw_dir_ref *root,
		   const char *path, const struct stat *st);
/* Sets *m to the announcement of the pack. It points into the pack (borrowed). */
void iw_packer_meta(struct iw_packer *p, struct iw_xfer_meta *m);
/* Sets the members that the sink wants. False: len does not match the number of members. */
bool iw_packer_want(struct iw_packer *p, const uint8_t *bits, size_t len);
/* Returns the octets of the contents that the sink wants. */
uint64_t iw_packer_cost(const struct iw_packer *p);
/* Reads the contents into buf, which has the size of a chunk. Returns their length. */
uint32_t iw_packer_load(struct iw_packer *p, uint8_t *buf);

/* --- sink --- */

struct iw_pack_sink {
	struct iw_place *place; /* borrowed */
	int base; /* duplicate of the place's descriptor: the names of members start there */
	uint32_t n;
	struct iw_xfer_meta member[IW_XFER_MEMBERS]; /* point into the announcement */
	uint8_t codes[IW_XFER_MEMBERS];
	uint8_t wanted[IW_XFER_MEMBERS / 8];
	uint32_t nwanted; /* wanted members that are files */
	/*
	 * Members that are charged, and members that are stored. The worker owns the latter while
	 * it writes.
	 */
	uint8_t charged[IW_XFER_MEMBERS / 8], there[IW_XFER_MEMBERS / 8];
	bool stored;
	struct iw_chunk_list chunks;
	struct iw_file_fault why; /* of the first member that failed */
	/*
	 * Owned: the reasons of failed members whose text differs from the first. NULL: they have
	 * the first text.
	 */
	char *text[IW_XFER_MEMBERS];
	/* One of these has the code of the first, so failures of that code have several texts. */
	bool differ;
	/* Directories of the wanted members, while these are written. */
	struct iw_dir_ref *parent[IW_XFER_MEMBERS];
};

/* Processes the members of m: creates directories and links, sets codes and wanted. -1: *why. */
IW_MUST_CHECK int iw_pack_sink_open(struct iw_pack_sink *p, struct iw_place *place,
				    const struct iw_xfer_meta *m, struct iw_file_fault *why);
/*
 * Writes the contents. Another thread may use the place at the same time: only its options and
 * the path of its target are read here. codes has the failures of single members. -1: *why; all
 * members failed, and codes has the failure of each wanted file.
 */
IW_MUST_CHECK int iw_pack_sink_store(struct iw_pack_sink *p, struct iw_hasher *h, uint64_t off,
				     const struct iovec *iov, size_t n,
				     const struct iw_xfer_digest *digest,
				     struct iw_file_fault *why);
/*
 * Checks the digest of the pack, and that all its contents were stored. -1: *why, and all members
 * failed.
 */
IW_MUST_CHECK int iw_pack_sink_commit(struct iw_pack_sink *p, struct iw_hasher *h, uint64_t size,
				      const struct iw_xfer_digest *digest,
				      struct iw_file_fault *why);
/* Releases everything in p, and returns the charges of members that are not stored. */
void iw_pack_sink_close(struct iw_pack_sink *p);

#endif
