// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Packs at the sink. */
#include "transfer/files/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/os.h"
#include "transfer/files/beneath.h"
#include "transfer/files/target.h"
#include "transfer/protocol/name.h"
#include "util/num.h"

static void member_failed(struct iw_pack_sink *p, uint32_t i, const struct iw_file_fault *why)
{
	p->codes[i] = (uint8_t)why->code;
	if (iw_xfer_code_is_fine(why->code))
		return;
	if (p->why.code == IW_XFER_CODE_OK) {
		p->why = *why;
	} else if (strcmp(why->text, p->why.text) != 0) {
		free(p->text[i]);
		p->text[i] = strdup(why->text);
		p->differ |= why->code == p->why.code;
	}
}

static void set_bit(uint8_t *bits, uint32_t i)
{
	bits[i / 8] |= (uint8_t)(0x80u >> i % 8);
}

static bool has_bit(const uint8_t *bits, uint32_t i)
{
	return bits[i / 8] & 0x80u >> i % 8;
}

/* Fails the wanted members from index from on that have not failed yet. Returns -1. */
static int all_failed(struct iw_pack_sink *p, uint32_t from, const struct iw_file_fault *why)
{
	for (uint32_t i = from; i < p->n; i++)
		if (has_bit(p->wanted, i) && p->codes[i] == IW_XFER_CODE_OK)
			member_failed(p, i, why);
	return -1;
}

static int charge(struct iw_pack_sink *p, uint32_t i, struct iw_file_fault *why)
{
	if (iw_place_charge(p->place, &p->member[i], why) != 0)
		return -1;
	set_bit(p->charged, i);
	return 0;
}

/* Creates a directory or link, or sets the reason of its failure. */
static int make(struct iw_pack_sink *p, uint32_t i, const char *name, struct iw_file_fault *why)
{
	if (charge(p, i, why) != 0 || iw_place_make(p->place, name, &p->member[i], why) != 0)
		return -1;
	set_bit(p->there, i);
	return 0;
}

/* Decides about a member: wanted, created, or failed. */
static int check_member(struct iw_pack_sink *p, uint32_t i, bool *wanted, struct iw_file_fault *why)
{
	const struct iw_xfer_meta *m = &p->member[i];
	const char *fault = iw_xfer_name_fault(m->name, m->name_len), *leaf;
	char name[PATH_MAX];
	bool there;
	int parent;

	*wanted = false;
	if (!fault && m->kind == IW_XFER_HARDLINK)
		fault = iw_xfer_name_fault(m->target, m->target_len);
	if (fault)
		return iw_file_fail(why, IW_XFER_CODE_NAME, fault);
	if (iw_place_accept(p->place, m, why) != 0)
		return -1;
	if (iw_place_admit(p->place, m, name, sizeof(name), why) != 0)
		return -1;
	p->member[i].name = iw_place_name(p->place, m, &p->member[i].name_len);
	if (m->kind != IW_XFER_FILE)
		return make(p, i, name, why);
	parent = iw_place_parent(p->place, name, &leaf, why);
	/* A file that another process adds to a new directory is detected when it gets its name. */
	if (parent < 0 || (!p->place->parent_is_new &&
			   iw_place_check_old(p->place, parent, leaf, m, &there, why) != 0)) {
		iw_place_would(p->place, m, why);
		return -1;
	}
	if (charge(p, i, why) != 0)
		return -1;
	*wanted = true;
	return 0;
}

int iw_pack_sink_open(struct iw_pack_sink *p, struct iw_place *place, const struct iw_xfer_meta *m,
		      struct iw_file_fault *why)
{
	struct iw_file_fault one;
	struct iw_xfer_entry e;
	struct iw_xfer_entries l;
	struct iw_fault f;
	int r;

	memset(p, 0, sizeof(*p));
	p->place = place;
	p->base = -1;
	if (place->to_stdout)
		return iw_file_fail(why, IW_XFER_CODE_TARGET,
				    place->listens ? iw_file_no_dir_there : iw_file_no_dir);
	r = iw_xfer_pack_open(&l, (const uint8_t *)m->target, m->target_len, &f);
	while (r >= 0 && (r = iw_xfer_entries_next(&l, &e, &f)) > 0) {
		uint32_t i = p->n++;
		bool wanted;

		iw_xfer_pack_meta(&p->member[i], &e);
		if (check_member(p, i, &wanted, &one) != 0) {
			member_failed(p, i, &one);
		} else if (wanted) {
			set_bit(p->wanted, i);
			p->nwanted++;
		}
	}
	if (r < 0)
		return iw_file_fail(why, IW_XFER_CODE_PROTOCOL, f.text);
	if (p->nwanted > 0)
		p->base = fcntl(place->base, F_DUPFD_CLOEXEC, 3);
	return p->nwanted > 0 && p->base < 0
		       ? iw_file_errno(why, errno, "hold the target directory open")
		       : 0;
}

/* --- writing --- */

/* A member that is written, and has no final name yet. */
struct new_member {
	uint32_t i;
	int fd;
	char temp[IW_TEMP_NAME]; /* "": it has no name at all */
};

/*
 * Members that are flushed to storage together, and their directories. Each holds a descriptor
 * until then.
 */
struct batch {
	struct new_member added[IW_XFER_MEMBERS];
	uint32_t n, most;
	/*
	 * The directory of the member of, the last one; the batch has one reference. NULL: no
	 * directory is open.
	 */
	struct iw_dir_ref *last;
	const struct iw_xfer_meta *of;
};

static size_t dir_len(const struct iw_xfer_meta *m)
{
	const char *slash = memrchr(m->name, '/', m->name_len);

	return slash ? (size_t)(slash - m->name) : 0;
}

/*
 * Uses a file without a name if the file system supports that: it disappears if this process is
 * killed.
 */
static int open_new_member(const struct iw_pack_sink *p, struct new_member *b, int parent,
			   struct iw_file_fault *why)
{
	const struct iw_xfer_meta *m = &p->member[b->i];
	uint64_t number;

	b->temp[0] = '\0';
	b->fd = iw_temp_open_unnamed(parent, iw_place_first_mode(p->place, m));
	if (b->fd >= 0)
		return 0;
	if (iw_os_random(&number, sizeof(number)) != 0)
		return iw_file_fail(why, IW_XFER_CODE_IO,
				    "no random number for the temporary file");
	snprintf(b->temp, sizeof(b->temp), ".iw-%016llx.part", (unsigned long long)number);
	b->fd = openat(parent, b->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (b->fd < 0)
		return iw_place_no_temp(p->place, errno, m->name, dir_len(m), why);
	(void)flock(b->fd, LOCK_EX | LOCK_NB); /* as in iw_temp_replace */
	return 0;
}

/* Replaces an older file, if the options permit this. */
static int replace_old(const struct iw_pack_sink *p, struct new_member *b, int parent,
		       const char *leaf, struct iw_file_fault *why)
{
	bool there;
	int err;

	if (iw_place_check_old(p->place, parent, leaf, &p->member[b->i], &there, why) != 0)
		return -1;
	err = b->temp[0] ? renameat(parent, b->temp, parent, leaf)
			 : iw_temp_replace(b->fd, parent, leaf);
	return err == 0 ? 0 : iw_file_errno(why, errno, "give it its name");
}

static int name_new_member(const struct iw_pack_sink *p, struct new_member *b, int parent,
			   const char *leaf, struct iw_file_fault *why)
{
	int err;

	if (!b->temp[0] && iw_temp_name_new(b->fd, parent, leaf) == 0)
		return 0;
	if (!b->temp[0] && errno != EEXIST)
		return iw_file_errno(why, errno, "give it its name");
	err = replace_old(p, b, parent, leaf, why);
	if (err && b->temp[0])
		(void)unlinkat(parent, b->temp, 0);
	return err;
}

static struct iw_dir_ref *open_parent(struct iw_pack_sink *p, const struct iw_xfer_meta *m,
				      struct iw_file_fault *why)
{
	struct iw_dir_ref *d;
	char name[PATH_MAX];
	int fd;

	memcpy(name, m->name, dir_len(m));
	name[dir_len(m)] = '\0';
	/* The directory was created when the pack was opened. */
	fd = iw_beneath_dir(p->base, name);
	if (fd < 0) {
		iw_file_errno(why, errno, "open its directory");
		return NULL;
	}
	d = iw_dir_new(fd);
	if (!d)
		iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for a directory");
	return d;
}

/* Consecutive members of one directory share its descriptor. */
static int find_parent(struct iw_pack_sink *p, struct batch *b, uint32_t i,
		       struct iw_file_fault *why)
{
	const struct iw_xfer_meta *m = &p->member[i];

	if (!b->last || dir_len(m) != dir_len(b->of) ||
	    memcmp(m->name, b->of->name, dir_len(m)) != 0) {
		iw_dir_put(b->last);
		b->last = open_parent(p, m, why);
		b->of = m;
	}
	if (!b->last)
		return -1;
	p->parent[i] = iw_dir_get(b->last);
	return 0;
}

static void let_parents_go(struct iw_pack_sink *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		iw_dir_put(p->parent[i]);
		p->parent[i] = NULL;
	}
}

/* Copies the last component of the member's name. */
static const char *leaf_of(const struct iw_xfer_meta *m, char leaf[static NAME_MAX + 1])
{
	size_t dir = dir_len(m), from = dir > 0 ? dir + 1 : 0, len = m->name_len - from;

	memcpy(leaf, m->name + from, len);
	leaf[len] = '\0';
	return leaf;
}

/*
 * Sets *mode to the mode of the new file. A default ACL of the directory, or a umask, may have
 * removed bits of the requested mode. They affect each bit by itself, so bits that one file got are
 * not checked for the next.
 */
static int get_mode(const struct iw_pack_sink *p, const struct new_member *b, mode_t *mode,
		    struct iw_file_fault *why)
{
	mode_t first = iw_place_first_mode(p->place, &p->member[b->i]);
	struct iw_dir_ref *dir = p->parent[b->i];
	struct stat st;

	*mode = S_IFREG | first;
	if (!b->temp[0] && (first & ~atomic_load(&dir->grants)) == 0)
		return 0;
	if (fstat(b->fd, &st) < 0)
		return iw_file_errno(why, errno, "get its attributes");
	*mode = st.st_mode;
	if (!b->temp[0] && (st.st_mode & 07777) == first)
		atomic_fetch_or(&dir->grants, first);
	return 0;
}

static int write_member(struct iw_pack_sink *p, struct new_member *b, const uint8_t *octets,
			struct iw_file_fault *why)
{
	const struct iw_xfer_meta *m = &p->member[b->i];
	int parent = p->parent[b->i]->fd, err;
	uint64_t high = 0;
	mode_t mode;

	if (open_new_member(p, b, parent, why) != 0)
		return -1;
	err = iw_write_holes(b->fd, octets, (size_t)m->size, 0, &high, why);
	if (!err && high < m->size && ftruncate(b->fd, (off_t)m->size) < 0)
		err = iw_file_errno(why, errno, "set its length");
	if (!err)
		err = get_mode(p, b, &mode, why);
	if (!err)
		err = iw_place_set_attrs_of(p->place, b->fd, mode, m, why);
	if (err) {
		close(b->fd);
		if (b->temp[0])
			(void)unlinkat(parent, b->temp, 0);
	}
	return err;
}

/* True if there are more octets than the list and the codes require. */
static bool has_more(const struct iw_pack_sink *p, const uint8_t *c, size_t len)
{
	for (uint32_t i = 0; i < p->n; i++) {
		size_t need = 1;

		if (!has_bit(p->wanted, i))
			continue;
		if (len > 0 && *c == IW_XFER_CODE_OK)
			need += (size_t)p->member[i].size;
		if (len < need)
			return false;
		c += need;
		len -= need;
	}
	return len > 0;
}

/*
 * Takes the source's reason for not sending a member. Only the sink can decide that a member is not
 * needed.
 */
static void take_code(struct iw_pack_sink *p, uint32_t i, uint8_t code)
{
	struct iw_file_fault why = { .code = IW_XFER_CODE_PROTOCOL };

	if (!iw_xfer_code_is_fine(code)) {
		p->codes[i] = code;
		return;
	}
	snprintf(why.text, sizeof(why.text),
		 "the source reported %s for it, which only a sink can determine",
		 iw_xfer_code_name(code));
	member_failed(p, i, &why);
}

/* Flushes all files to storage, names them, and then flushes the names. */
static void name_all(struct iw_pack_sink *p, struct new_member *added, uint32_t n)
{
	struct iw_file_fault why;
	char leaf[NAME_MAX + 1];

	if (n == 0)
		return;
	if (syncfs(added[0].fd) < 0) {
		iw_file_errno(&why, errno, "write it to storage");
		for (uint32_t k = 0; k < n; k++)
			member_failed(p, added[k].i, &why);
	}
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = added[k].i;
		int parent = p->parent[i]->fd;

		if (p->codes[i] == IW_XFER_CODE_OK &&
		    name_new_member(p, &added[k], parent, leaf_of(&p->member[i], leaf), &why) != 0)
			member_failed(p, i, &why);
		else if (p->codes[i] == IW_XFER_CODE_OK)
			set_bit(p->there, i);
		else if (added[k].temp[0])
			(void)unlinkat(parent, added[k].temp, 0);
		close(added[k].fd);
	}
	/* After the first syncfs only the names are left to flush. */
	(void)syncfs(p->parent[added[n - 1].i]->fd);
}

/* The number of files of a pack that may be open at once if descriptors are scarce. */
static uint32_t most_of_batch(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return IW_XFER_MEMBERS;
	return (uint32_t)IW_MIN(IW_MAX(r.rlim_cur / 16, (rlim_t)2), (rlim_t)IW_XFER_MEMBERS);
}

static void end_batch(struct iw_pack_sink *p, struct batch *b)
{
	name_all(p, b->added, b->n);
	let_parents_go(p);
	iw_dir_put(b->last);
	b->n = 0;
	b->last = NULL;
}

/*
 * Adds a member to the batch. If there are no descriptors, ends the batch, which frees some, and
 * tries again.
 */
static int add_member(struct iw_pack_sink *p, struct batch *b, uint32_t i, const uint8_t *octets,
		      struct iw_file_fault *why)
{
	if (b->n == b->most)
		end_batch(p, b);
	for (;;) {
		b->added[b->n].i = i;
		if (find_parent(p, b, i, why) == 0 &&
		    write_member(p, &b->added[b->n], octets, why) == 0) {
			b->n++;
			return 0;
		}
		iw_dir_put(p->parent[i]);
		p->parent[i] = NULL;
		if (why->code != IW_XFER_CODE_LIMIT || b->n == 0)
			return -1;
		end_batch(p, b);
	}
}

/*
 * Writes the contents: a code for each file, and its octets. If the contents end early, the
 * remaining members fail.
 */
static void write_all(struct iw_pack_sink *p, const uint8_t *c, size_t len)
{
	struct batch b = { .n = 0, .most = most_of_batch() };
	struct iw_file_fault one;

	for (uint32_t i = 0; i < p->n; i++) {
		size_t size = (size_t)p->member[i].size;

		if (!has_bit(p->wanted, i))
			continue;
		if (len == 0 || (*c == IW_XFER_CODE_OK && len - 1 < size)) {
			iw_file_fail(&one, IW_XFER_CODE_PROTOCOL,
				     "the pack ended before this file");
			all_failed(p, i, &one);
			break;
		}
		len--;
		if (*c++ != IW_XFER_CODE_OK) {
			take_code(p, i, c[-1]);
			continue;
		}
		if (add_member(p, &b, i, c, &one) != 0)
			member_failed(p, i, &one);
		c += size;
		len -= size;
	}
	end_batch(p, &b);
}

static int store(struct iw_pack_sink *p, struct iw_hasher *h, uint64_t off, const struct iovec *iov,
		 size_t n, const struct iw_xfer_digest *digest, struct iw_file_fault *why)
{
	struct iw_xfer_digest own;
	uint8_t *copy = NULL;
	const uint8_t *content;
	size_t len = 0;

	if (p->stored || off != 0)
		return iw_file_fail(why, IW_XFER_CODE_PROTOCOL, "a pack of more than a chunk");
	if (iw_hasher_chunk(h, iov, n, &own) != 0)
		return iw_file_fail(why, IW_XFER_CODE_IO, "its digest could not be computed");
	if (!iw_xfer_digest_equal(&own, digest))
		return iw_file_fail(why, IW_XFER_CODE_DIGEST,
				    "the digest of a chunk differs from the source's");
	if (iw_chunk_list_add(&p->chunks, off, &own) != 0)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for its digests");
	p->stored = true;
	for (size_t i = 0; i < n; i++)
		len += iov[i].iov_len;
	if (n > 1) {
		size_t at = 0;

		copy = malloc(len);
		if (!copy)
			return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for a pack");
		for (size_t i = 0; i < n; at += iov[i].iov_len, i++)
			memcpy(copy + at, iov[i].iov_base, iov[i].iov_len);
	}
	content = copy ? copy : iov[0].iov_base;
	if (has_more(p, content, len)) {
		free(copy);
		return iw_file_fail(why, IW_XFER_CODE_PROTOCOL,
				    "the pack continues after its last file");
	}
	write_all(p, content, len);
	free(copy);
	return 0;
}

int iw_pack_sink_store(struct iw_pack_sink *p, struct iw_hasher *h, uint64_t off,
		       const struct iovec *iov, size_t n, const struct iw_xfer_digest *digest,
		       struct iw_file_fault *why)
{
	return store(p, h, off, iov, n, digest, why) == 0 ? 0 : all_failed(p, 0, why);
}

static int commit(struct iw_pack_sink *p, struct iw_hasher *h, uint64_t size,
		  const struct iw_xfer_digest *digest, struct iw_file_fault *why)
{
	struct iw_xfer_digest own;

	if (iw_chunk_list_digest(&p->chunks, h, size, &own) != 0)
		return iw_file_fail(why, IW_XFER_CODE_IO, "its digest could not be computed");
	if (!iw_xfer_digest_equal(&own, digest))
		return iw_file_fail(why, IW_XFER_CODE_DIGEST,
				    "its digest differs from the source's");
	if (p->nwanted > 0 && !p->stored)
		return iw_file_fail(why, IW_XFER_CODE_PROTOCOL, "a pack without content");
	return 0;
}

int iw_pack_sink_commit(struct iw_pack_sink *p, struct iw_hasher *h, uint64_t size,
			const struct iw_xfer_digest *digest, struct iw_file_fault *why)
{
	return commit(p, h, size, digest, why) == 0 ? 0 : all_failed(p, 0, why);
}

void iw_pack_sink_close(struct iw_pack_sink *p)
{
	let_parents_go(p);
	if (p->base >= 0)
		close(p->base);
	for (uint32_t i = 0; i < p->n; i++) {
		if (has_bit(p->charged, i) && !has_bit(p->there, i))
			iw_place_uncharge(p->place, &p->member[i], p->codes[i]);
		free(p->text[i]);
	}
	iw_chunk_list_free(&p->chunks);
}
