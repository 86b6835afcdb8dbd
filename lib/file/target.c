// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Temporaries, holes, and the moment when a file takes its name. */
#include "file/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "file/out.h"
#include "os/os.h"
#include "util/num.h"

#define BLOCK        4096u /* what a hole is made of on common file systems */
/* Written data go to storage in runs of that many octets while more arrive, so that the fsync at the end is short. */
#define FLUSH_RUN    (32u << 20)
#define VERIFY_RUN   8 /* chunks read again in one go */
#define CREATE_TRIES 8

/* --- temporaries --- */

static void name_part(struct iw_part *t, uint64_t number)
{
	snprintf(t->name, sizeof(t->name), ".iw-%016llx.part", (unsigned long long)number);
	snprintf(t->journal_name, sizeof(t->journal_name), ".iw-%016llx.journal",
		 (unsigned long long)number);
}

/* Nobody else's, and nothing but a file. */
static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	       flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* The temporary that every transfer of this name finds again, unless another one is working with it at this moment. */
static bool open_again(struct iw_part *t, const struct iw_place *p, const struct iw_xmeta *m,
		       enum iw_xfer_digest digest)
{
	struct stat st;

	name_part(t, XXH3_64bits(t->leaf, strlen(t->leaf)));
	t->fd = openat(t->parent, t->name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		       0600);
	if (t->fd < 0)
		return false;
	if (!is_ours(t->fd) && p->let_go)
		p->let_go(p->let_go_ctx, t->name);
	if (!is_ours(t->fd) || fstat(t->fd, &st) < 0) {
		close(t->fd);
		t->fd = -1;
		return false;
	}
	(void)iw_journal_open(&t->journal, t->parent, t->journal_name, m, digest, &t->chunks);
	t->high = (uint64_t)st.st_size;
	if (t->chunks.n > 0 && t->high <= m->size)
		return true;
	/* What is there is of another file, or of nobody knows what. */
	iw_chunk_list_free(&t->chunks);
	t->high = 0;
	if (ftruncate(t->fd, 0) == 0)
		return true;
	close(t->fd);
	t->fd = -1;
	return false;
}

static int open_part(struct iw_part *t, struct iw_file_fault *why)
{
	for (int i = 0; i < CREATE_TRIES; i++) {
		uint64_t number;

		if (iw_os_random(&number, sizeof(number)) != 0)
			return iw_file_fail(why, IW_XC_IO,
					    "no random number for the temporary file");
		name_part(t, number);
		t->fd = openat(t->parent, t->name,
			       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (t->fd >= 0 && flock(t->fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (t->fd >= 0 || errno != EEXIST)
			break;
	}
	return iw_file_errno(why, errno, "create the temporary file");
}

static void remove_part(struct iw_part *t)
{
	/* Nobody is left to be told when it does not work. */
	(void)unlinkat(t->parent, t->name, 0);
	(void)unlinkat(t->parent, t->journal_name, 0);
}

static void end_part(struct iw_part *t)
{
	bool keep = !t->useless && t->journal.fd >= 0 && t->chunks.n > 0;

	iw_list_del(&t->link);
	if (!t->named && !keep && t->name[0])
		remove_part(t);
	iw_journal_close(&t->journal);
	if (t->fd >= 0)
		close(t->fd);
	if (t->parent >= 0)
		close(t->parent);
	iw_chunk_list_free(&t->chunks);
	free(t->done);
	free(t);
}

static void part_put(struct iw_part *t)
{
	if (--t->refs > 0)
		return;
	/* Which parts of the file are done is known here alone; the others will come. */
	if (t->ndone > 0 && !t->named && !t->useless)
		return;
	end_part(t);
}

void iw_target_forget(struct iw_place *p)
{
	struct iw_list *l;

	while ((l = iw_list_first(&p->parts)) != NULL)
		end_part(iw_container_of(l, struct iw_part, link));
}

bool iw_target_holds(struct iw_place *p, const char *temp)
{
	for (struct iw_list *l = p->parts.next; l != &p->parts; l = l->next)
		if (strcmp(iw_container_of(l, struct iw_part, link)->name, temp) == 0)
			return true;
	return false;
}

static struct iw_part *find_part(struct iw_place *p, uint32_t share)
{
	for (struct iw_list *l = p->parts.next; share && l != &p->parts; l = l->next) {
		struct iw_part *t = iw_container_of(l, struct iw_part, link);

		if (t->share == share && !t->useless && !t->named)
			return t;
	}
	return NULL;
}

static struct iw_part *new_part(struct iw_place *p, const char *name, const struct iw_xmeta *m,
				enum iw_xfer_digest digest, struct iw_file_fault *why)
{
	struct iw_part *t;
	const char *leaf;
	int parent = iw_place_parent(p, name, &leaf, why);
	bool there, again = m->kind == IW_XFER_FILE && m->size > IW_XFER_CHUNK;

	if (parent < 0)
		return NULL;
	if (iw_place_look(p, parent, leaf, m, &there, why) != 0)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t) {
		iw_file_fail(why, IW_XC_LIMIT, "no memory for a file");
		return NULL;
	}
	iw_list_init(&t->link);
	t->refs = 1;
	t->share = m->share;
	t->fd = t->journal.fd = -1;
	snprintf(t->leaf, sizeof(t->leaf), "%s", leaf);
	t->parent = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	if (t->parent < 0)
		iw_file_errno(why, errno, "keep its directory");
	if (t->parent < 0 || (!(again && open_again(t, p, m, digest)) && open_part(t, why) != 0)) {
		t->name[0] = '\0';
		part_put(t);
		return NULL;
	}
	if (m->share)
		iw_list_add_tail(&p->parts, &t->link);
	return t;
}

/* Those chunks of the temporary that belong to what t is about. */
static int take_chunks(struct iw_target *t, struct iw_file_fault *why)
{
	const struct iw_xmeta *m = t->meta;
	uint64_t begin = m->share ? m->part_off : 0,
		 end = begin + (m->share ? m->part_len : m->size);
	uint64_t off, last = UINT64_MAX;
	struct iw_xdigest d;

	iw_chunk_list_sort(&t->part->chunks);
	for (size_t i = 0; i < t->part->chunks.n; i++, last = off) {
		iw_chunk_list_row(&t->part->chunks, i, &off, &d);
		if (off >= begin && off < end && off != last &&
		    iw_chunk_list_add(&t->chunks, off, &d) != 0)
			return iw_file_fail(why, IW_XC_LIMIT, "no memory for its digests");
	}
	t->had = t->chunks.n;
	return 0;
}

static void target_close(struct iw_target *t)
{
	if (t->part)
		part_put(t->part);
	t->part = NULL;
	iw_chunk_list_free(&t->chunks);
}

enum iw_created iw_target_create(struct iw_target *t, struct iw_place *p, const struct iw_xmeta *m,
				 enum iw_xfer_digest digest, struct iw_file_fault *why)
{
	char name[PATH_MAX];

	*t = (struct iw_target){ .place = p, .meta = m, .to_stdout = p->to_stdout };
	if (t->to_stdout) {
		if (p->used_up || !iw_xfer_has_data(m->kind) || m->kind == IW_XFER_PACK || m->share)
			iw_file_fail(why, IW_XC_TARGET,
				     p->used_up ? "the target takes one file alone"
						: "standard output takes files and streams alone");
		else
			p->used_up = true;
		return p->used_up ? IW_CREATED : IW_CREATE_FAILED;
	}
	if (m->kind == IW_XFER_STREAM && !p->as) {
		iw_file_fail(why, IW_XC_TARGET,
			     "the target is a directory: a stream needs the name of a file");
		return IW_CREATE_FAILED;
	}
	t->part = find_part(p, m->share);
	if (t->part) {
		t->part->refs++;
	} else {
		if (iw_place_admit(p, m, name, sizeof(name), why) != 0)
			return IW_CREATE_FAILED;
		if (!iw_xfer_has_data(m->kind))
			return iw_place_make(p, name, m, why) == 0 ? IW_MADE : IW_CREATE_FAILED;
		t->part = new_part(p, name, m, digest, why);
		if (!t->part)
			return IW_CREATE_FAILED;
	}
	if (take_chunks(t, why) != 0) {
		target_close(t);
		return IW_CREATE_FAILED;
	}
	return IW_CREATED;
}

/* --- storing --- */

static int write_at(int fd, const uint8_t *p, size_t len, uint64_t off, uint64_t *high,
		    struct iw_file_fault *why)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return iw_file_errno(why, errno, "write");
		if (n == 0)
			return iw_file_errno(why, EIO, "write");
		p += n;
		len -= (size_t)n;
		off += (uint64_t)n;
		*high = IW_MAX(*high, off);
	}
	return 0;
}

/* The run of blocks from p on that are zero, or that are not. */
static size_t run_of(const uint8_t *p, size_t len, bool zero)
{
	size_t at = 0;

	while (at < len) {
		size_t n = IW_MIN(len - at, (size_t)BLOCK);

		if (iw_is_zero(p + at, n) != zero)
			break;
		at += n;
	}
	return at;
}

int iw_write_holes(int fd, const uint8_t *p, size_t len, uint64_t off, uint64_t *high,
		   struct iw_file_fault *why)
{
	while (len > 0) {
		size_t n = run_of(p, len, true);

		if (n == 0) {
			n = run_of(p, len, false);
			if (write_at(fd, p, n, off, high, why) != 0)
				return -1;
		}
		p += n;
		len -= n;
		off += n;
	}
	return 0;
}

/*
 * Storage begins with what is there, and at most two runs wait for it: the fsync at the end is short then, and a long file does not
 * push everything else out of memory. File systems without storage behind them do nothing here.
 */
static void flush_behind(struct iw_part *t)
{
	if (t->high - t->flushing < FLUSH_RUN)
		return;
	if (t->flushing > t->flushed)
		(void)sync_file_range(t->fd, (off_t)t->flushed, (off_t)(t->flushing - t->flushed),
				      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					      SYNC_FILE_RANGE_WAIT_AFTER);
	(void)sync_file_range(t->fd, (off_t)t->flushing, (off_t)(t->high - t->flushing),
			      SYNC_FILE_RANGE_WRITE);
	t->flushed = t->flushing;
	t->flushing = t->high;
}

static int check(struct iw_hasher *h, const struct iovec *iov, size_t n,
		 const struct iw_xdigest *digest, struct iw_file_fault *why)
{
	struct iw_xdigest own;

	if (iw_hasher_chunk(h, iov, n, &own) != 0)
		return iw_file_fail(why, IW_XC_IO, "no digest could be made");
	if (!iw_xdigest_equal(&own, digest))
		return iw_file_fail(why, IW_XC_DIGEST, "a chunk did not arrive as it was sent");
	return 0;
}

static int keep(struct iw_target *t, uint64_t off, const struct iw_xdigest *digest,
		struct iw_file_fault *why)
{
	if (iw_chunk_list_add(&t->chunks, off, digest) != 0)
		return iw_file_fail(why, IW_XC_LIMIT, "no memory for its digests");
	return 0;
}

/* Zeros up to end, a slice of them at a time, so that a long hole does not hold everything else. */
static int fill_stdout(struct iw_target *t, uint64_t end, struct iw_file_fault *why)
{
	uint64_t slice = IW_MIN(end, t->pos + FLUSH_RUN);
	int r = 0;

	while (r == 0 && t->pos < slice)
		r = iw_out_zeros(slice - t->pos, &t->pos, why);
	return r == 0 && t->pos < end ? 1 : r;
}

/* Zeros up to off, then iov. Keeps its place between calls. */
static int store_stdout(struct iw_target *t, uint64_t off, const struct iovec *iov, size_t n,
			struct iw_file_fault *why)
{
	uint64_t skip = t->done;
	int r;

	if (skip == 0 && off < t->pos)
		return iw_file_fail(why, IW_XC_PROTOCOL,
				    "standard output takes octets in order alone");
	if (t->pos < off) {
		r = fill_stdout(t, off, why);
		if (r != 0)
			return r;
	}
	for (size_t i = 0; i < n; i++) {
		while (skip < iov[i].iov_len) {
			size_t wrote = 0;

			r = iw_out_write((const char *)iov[i].iov_base + skip,
					 iov[i].iov_len - skip, &wrote, why);
			t->done += wrote;
			t->pos += wrote;
			skip += wrote;
			if (r != 0)
				return r;
		}
		skip -= iov[i].iov_len;
	}
	t->done = 0;
	return 0;
}

int iw_target_write(struct iw_target *t, struct iw_hasher *h, uint64_t off, const struct iovec *iov,
		    size_t n, const struct iw_xdigest *digest, struct iw_file_fault *why)
{
	struct iw_part *part = t->part;

	if (check(h, iov, n, digest, why) != 0)
		return -1;
	for (size_t i = 0; i < n; off += iov[i].iov_len, i++)
		if (iw_write_holes(part->fd, iov[i].iov_base, iov[i].iov_len, off, &part->high,
				   why) != 0)
			return -1;
	flush_behind(part);
	return 0;
}

int iw_target_wrote(struct iw_target *t, uint64_t off, size_t len, const struct iw_xdigest *digest,
		    struct iw_file_fault *why)
{
	const struct iw_limits *l = t->place->limits;
	struct iw_part *part = t->part;

	if (keep(t, off, digest, why) != 0)
		return -1;
	/* A stream says nothing of its size before it is there. */
	if (t->meta->kind == IW_XFER_STREAM && l) {
		t->place->octets += len;
		if ((l->size && off + len > l->size) || (l->quota && t->place->octets > l->quota))
			return iw_file_fail(why, IW_XC_LIMIT, "more octets than are taken here");
	}
	if (part->journal.fd >= 0 && iw_chunk_list_add(&part->chunks, off, digest) == 0)
		iw_journal_note(&part->journal, off, digest);
	return 0;
}

int iw_target_store(struct iw_target *t, struct iw_hasher *h, uint64_t off, const struct iovec *iov,
		    size_t n, const struct iw_xdigest *digest, struct iw_file_fault *why)
{
	size_t len = 0;
	int r;

	for (size_t i = 0; i < n; i++)
		len += iov[i].iov_len;
	if (!t->to_stdout)
		return iw_target_write(t, h, off, iov, n, digest, why) != 0
			       ? -1
			       : iw_target_wrote(t, off, len, digest, why);
	if (!t->checked && (check(h, iov, n, digest, why) != 0 || keep(t, off, digest, why) != 0))
		return -1;
	t->checked = true;
	r = store_stdout(t, off, iov, n, why);
	t->checked = r == 1;
	return r;
}

/* --- the end --- */

static uint32_t mode_of_new_file(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~(uint32_t)mask;
}

static int give_name(struct iw_target *t, struct iw_file_fault *why)
{
	struct iw_part *part = t->part;
	struct iw_xmeta m = *t->meta;

	/* A stream has no mode of its own: it gets what a new file would. */
	if (m.kind == IW_XFER_STREAM)
		m.mode = mode_of_new_file();
	if (iw_place_dress(t->place, part->fd, &m, why) != 0)
		return -1;
	if (fsync(part->fd) < 0)
		return iw_file_errno(why, errno, "put it on storage");
	if (renameat(part->parent, part->name, part->parent, part->leaf) < 0)
		return iw_file_errno(why, errno, "give it its name");
	part->named = true;
	if (part->journal.fd >= 0)
		(void)unlinkat(part->parent, part->journal_name,
			       0); /* it says nothing that is not so */
	/* From here on it is there; what fails now is the promise that it stays after a power cut. */
	if (fsync(part->parent) < 0 && errno != EINVAL && errno != EROFS)
		return iw_file_errno(why, errno, "put its directory on storage");
	return 0;
}

/* One chunk, as storage gives it back. */
static int verify_chunk(struct iw_target *t, struct iw_hasher *h, uint64_t off, uint8_t *buf,
			const struct iw_xdigest *want, uint64_t size, struct iw_file_fault *why)
{
	size_t len = (size_t)IW_MIN((uint64_t)IW_XFER_CHUNK, size - off), have = 0;
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct iw_xdigest own;

	while (have < len) {
		ssize_t n = pread(t->part->fd, buf + have, len - have, (off_t)(off + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return iw_file_errno(why, n < 0 ? errno : EIO, "read it again");
		have += (size_t)n;
	}
	if (iw_hasher_chunk(h, &iov, 1, &own) != 0)
		return iw_file_fail(why, IW_XC_IO, "no digest could be made");
	if (!iw_xdigest_equal(&own, want))
		return iw_file_fail(why, IW_XC_DIGEST,
				    "storage does not give back what was written");
	return 0;
}

/* Some chunks. 1: there are more. The cache is asked to forget them first, so that storage has to answer. */
static int verify(struct iw_target *t, struct iw_hasher *h, uint64_t size,
		  struct iw_file_fault *why)
{
	uint8_t *buf = malloc(IW_XFER_CHUNK);
	struct iw_xdigest d;
	uint64_t off;
	int r = 0;

	if (!buf)
		return iw_file_fail(why, IW_XC_LIMIT, "no memory to verify it");
	if (t->verify_at == 0) {
		if (fsync(t->part->fd) < 0)
			r = iw_file_errno(why, errno, "put it on storage");
		(void)posix_fadvise(t->part->fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	for (int i = 0; i < VERIFY_RUN && r == 0 && t->verify_at < t->chunks.n; i++) {
		iw_chunk_list_row(&t->chunks, t->verify_at++, &off, &d);
		r = verify_chunk(t, h, off, buf, &d, size, why);
	}
	free(buf);
	return r == 0 && t->verify_at < t->chunks.n ? 1 : r;
}

/* The part that t is about is whole. Are all? */
static int part_done(struct iw_target *t, uint64_t size, bool *all, struct iw_file_fault *why)
{
	struct iw_part *part = t->part;
	uint64_t *done;

	*all = true;
	if (!t->meta->share)
		return 0;
	*all = part->done_octets + t->meta->part_len == size;
	for (size_t i = 0; i < part->ndone; i++)
		if (part->done[i] == t->meta->part_off) {
			*all = false; /* it came twice: its connection was lost */
			return 0;
		}
	if (*all)
		return 0;
	done = reallocarray(part->done, part->ndone + 1, sizeof(*done));
	if (!done)
		return iw_file_fail(why, IW_XC_LIMIT, "no memory for a part");
	part->done = done;
	part->done[part->ndone++] = t->meta->part_off;
	part->done_octets += t->meta->part_len;
	return 0;
}

int iw_target_commit(struct iw_target *t, struct iw_hasher *h, uint64_t size,
		     const struct iw_xdigest *digest, struct iw_file_fault *why)
{
	struct iw_xdigest own;
	bool all;
	int r;

	if (t->verify_at == 0) {
		if (iw_chunk_list_digest(&t->chunks, h, size, &own) != 0)
			return iw_file_fail(why, IW_XC_IO, "no digest could be made");
		if (!iw_xdigest_equal(&own, digest))
			return iw_file_fail(why, IW_XC_DIGEST,
					    "its digest differs from the source's");
	}
	if (t->to_stdout) {
		r = fill_stdout(t, size, why);
		if (r == 0)
			target_close(t);
		return r;
	}
	if (t->place->opts & IW_XOPT_VERIFY) {
		r = verify(t, h, size, why);
		if (r != 0)
			return r;
	}
	if (part_done(t, size, &all, why) != 0)
		return -1;
	if (all) {
		if (t->part->high != size && ftruncate(t->part->fd, (off_t)size) < 0)
			return iw_file_errno(why, errno, "make it as long as it is");
		if (give_name(t, why) != 0)
			return -1;
	}
	target_close(t);
	return 0;
}

/* Going on from here would meet the same obstacle, or octets that are not to be trusted. */
static bool mends(uint32_t code)
{
	return code == IW_XC_CANCELED || code == IW_XC_SPACE || code == IW_XC_IO ||
	       code == IW_XC_TIMEOUT || code == IW_XC_PERM;
}

void iw_target_abandon(struct iw_target *t, uint32_t code)
{
	if (t->part && !mends(code))
		t->part->useless = true;
	target_close(t);
}
