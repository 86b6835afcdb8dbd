/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packs: small files that travel as one (transfer/protocol/pack.h). At the source they are named when the tree is walked, and read when the sink has said
 * which of them it wants; at the sink they are written when the chunk is there, all together, and put on storage together.
 */
#ifndef IW_FILE_PACK_H
#define IW_FILE_PACK_H

#include <sys/stat.h>

#include <iwarp/err.h>

#include "transfer/files/digest.h"
#include "transfer/files/fault.h"
#include "transfer/files/place.h"
#include "transfer/protocol/pack.h"

#define IW_PACK_FILE_MAX 65536u /* octets of a file that is worth packing */

/* --- source --- */

/* An open directory that several have in common. */
struct iw_dir_ref {
	int fd;
	unsigned refs;
};
void iw_dir_put(struct iw_dir_ref *d); /* NULL does no harm */

struct iw_packer {
	uint8_t *list;
	size_t list_len;
	uint32_t n;
	struct iw_xpack_out out;
	uint64_t octets; /* of the content, if all are wanted */
	uint8_t wanted[IW_XFER_MEMBERS / 8];
	struct iw_pack_member {
		struct iw_dir_ref *root;
		char *path; /* from root; NULL: no file */
		char *name; /* that it travels under */
		enum iw_xfer_kind kind;
		uint64_t size;
		int64_t mtime_s;
		uint32_t mtime_ns;
		uint64_t ino;
		struct iw_file_fault why; /* code: what kept it from being read */
	} member[IW_XFER_MEMBERS];
};

/* NULL: no memory. */
struct iw_packer *iw_packer_new(void);
void iw_packer_free(struct iw_packer *p);
/*
 * One more: m as it travels; root and path (copied): where it is to be opened; st: what it looks like. False: it has no place in here any more
 * (or no memory): the pack is to be sent as it is.
 */
bool iw_packer_add(struct iw_packer *p, const struct iw_xmeta *m, struct iw_dir_ref *root,
		   const char *path, const struct stat *st);
/* As an announcement: m points into the pack. */
void iw_packer_meta(struct iw_packer *p, struct iw_xmeta *m);
/* What the sink wants. False: it is not as many bits as there are members. */
bool iw_packer_want(struct iw_packer *p, const uint8_t *bits, size_t len);
/* Octets of the content that the sink wants. */
uint64_t iw_packer_cost(const struct iw_packer *p);
/* The content into buf, of a chunk's size: its length. */
uint32_t iw_packer_load(struct iw_packer *p, uint8_t *buf);

/* --- sink --- */

struct iw_pack_sink {
	struct iw_place *place; /* borrowed */
	int base; /* the directory of members' names: a duplicate of the place's descriptor */
	uint32_t n;
	struct iw_xmeta member[IW_XFER_MEMBERS]; /* point into the machine's text */
	uint8_t codes[IW_XFER_MEMBERS];
	uint8_t wanted[IW_XFER_MEMBERS / 8];
	uint32_t nwanted; /* files of them */
	/* Members that were charged, and those that are stored. The worker owns the latter while it writes. */
	uint8_t charged[IW_XFER_MEMBERS / 8], there[IW_XFER_MEMBERS / 8];
	bool stored;
	struct iw_chunk_list chunks;
	struct iw_file_fault why; /* of the first member that failed */
	/* Owned: the reasons of members that failed with another text than the first. NULL: the first's. */
	char *text[IW_XFER_MEMBERS];
	bool differ; /* one of them has the first's code, so that the first's text is not true of all with this code */
	/* Directories of the members that are wanted, while they are written. */
	struct iw_dir_ref *parent[IW_XFER_MEMBERS];
};

/* What m's members come to: directories and links are made, codes and wanted filled. -1: *why. */
IW_MUST_CHECK int iw_pack_sink_open(struct iw_pack_sink *p, struct iw_place *place,
				    const struct iw_xmeta *m, struct iw_file_fault *why);
/*
 * Another thread may use the place at the same time: only its options are read here. codes has the failures of single
 * members. -1: *why, all members failed, and codes has the failure of each requested file.
 */
IW_MUST_CHECK int iw_pack_sink_store(struct iw_pack_sink *p, struct iw_hasher *h, uint64_t off,
				     const struct iovec *iov, size_t n,
				     const struct iw_xdigest *digest, struct iw_file_fault *why);
IW_MUST_CHECK int iw_pack_sink_commit(struct iw_pack_sink *p, struct iw_hasher *h, uint64_t size,
				      const struct iw_xdigest *digest, struct iw_file_fault *why);
void iw_pack_sink_close(struct iw_pack_sink *p);

#endif
