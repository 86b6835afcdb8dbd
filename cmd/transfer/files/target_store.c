// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writes chunks: to a temporary, in which blocks of zeros become holes, or to standard output. */
#include "transfer/files/target.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "transfer/files/out.h"
#include "util/num.h"

#define BLOCK     4096u /* the unit of a hole on common file systems */
/* Writes back in runs of so many bytes while more arrive, so that the fsync at the end is short. */
#define FLUSH_RUN (32u << 20)

int iw_target_clear(int fd, uint64_t off, uint64_t end, struct iw_file_fault *why)
{
	static const uint8_t zeros[16 * BLOCK];

	if (off >= end || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off,
				    (off_t)(end - off)) == 0)
		return 0;
	/* The file system does not support holes. */
	while (off < end) {
		ssize_t n = pwrite(fd, zeros, IW_MIN(end - off, sizeof(zeros)), (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return iw_file_errno(why, n < 0 ? errno : EIO, "write");
		off += (uint64_t)n;
	}
	return 0;
}

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

/* The length of the run of blocks at p that are all zeros, or of those that are not. */
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

int iw_target_unstored(struct iw_part *part, int error, struct iw_file_fault *why)
{
	part->unstored = true;
	pthread_mutex_lock(&part->lock);
	iw_journal_invalidate(&part->journal); /* for the case that the process is killed now */
	pthread_mutex_unlock(&part->lock);
	return iw_file_errno(why, error, "write it to storage");
}

/*
 * Writes the octets from off to end back. An error must not be ignored: a later fsync would not
 * report it again. With the errors named here the system call has done nothing.
 */
static int flush(struct iw_part *t, uint64_t off, uint64_t end, unsigned how,
		 struct iw_file_fault *why)
{
	if (off >= end || sync_file_range(t->fd, (off_t)off, (off_t)(end - off), how) == 0 ||
	    errno == ENOSYS || errno == EINVAL || errno == ESPIPE)
		return 0;
	return iw_target_unstored(t, errno, why);
}

/*
 * Starts writing back the last run, and waits for the one before. So the fsync at the end is short,
 * and a long file does not displace everything else in memory. On file systems without storage this
 * does nothing.
 */
static int flush_behind(struct iw_part *t, struct iw_file_fault *why)
{
	const unsigned start = SYNC_FILE_RANGE_WRITE;
	const unsigned complete = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				  SYNC_FILE_RANGE_WAIT_AFTER;

	if (t->high - t->flushing < FLUSH_RUN)
		return 0;
	if (flush(t, t->flushed, t->flushing, complete, why) != 0 ||
	    flush(t, t->flushing, t->high, start, why) != 0)
		return -1;
	t->flushed = t->flushing;
	t->flushing = t->high;
	return 0;
}

static int check(struct iw_hasher *h, const struct iovec *iov, size_t n,
		 const struct iw_xfer_digest *digest, struct iw_file_fault *why)
{
	struct iw_xfer_digest own;

	if (iw_hasher_chunk(h, iov, n, &own) != 0)
		return iw_file_fail(why, IW_XFER_CODE_IO, "its digest could not be computed");
	if (!iw_xfer_digest_equal(&own, digest))
		return iw_file_fail(why, IW_XFER_CODE_DIGEST,
				    "the digest of a chunk differs from the source's");
	return 0;
}

static int keep(struct iw_target *t, uint64_t off, const struct iw_xfer_digest *digest,
		struct iw_file_fault *why)
{
	if (iw_chunk_list_add(&t->chunks, off, digest) != 0)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for its digests");
	return 0;
}

/* Writes a limited number of zeros per call, so that a long hole does not delay other work. */
int iw_target_fill(struct iw_target *t, uint64_t end, struct iw_file_fault *why)
{
	uint64_t slice = IW_MIN(end, t->pos + FLUSH_RUN);
	int r = 0;

	while (r == 0 && t->pos < slice)
		r = iw_out_zeros(slice - t->pos, &t->pos, why);
	return r == 0 && t->pos < end ? 1 : r;
}

/* Writes zeros up to off, then iov. A further call continues where this one stopped. */
static int store_stdout(struct iw_target *t, uint64_t off, const struct iovec *iov, size_t n,
			struct iw_file_fault *why)
{
	uint64_t skip = t->done;
	int r;

	if (skip == 0 && off < t->pos)
		return iw_file_fail(why, IW_XFER_CODE_PROTOCOL,
				    "standard output needs the octets in order");
	if (t->pos < off) {
		r = iw_target_fill(t, off, why);
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

int iw_target_reach(struct iw_target *t, uint64_t end, struct iw_file_fault *why)
{
	struct iw_place *p = t->place;

	if (t->meta->kind != IW_XFER_STREAM || end <= t->reached)
		return 0;
	if (iw_place_size(p, end, why) != 0 ||
	    iw_account_take(&p->account, end - t->reached, 0, why) != 0)
		return -1;
	if (t->part)
		t->part->charged += end - t->reached;
	t->reached = end;
	return 0;
}

static void note(struct iw_part *part, uint64_t off, const struct iw_xfer_digest *digest)
{
	pthread_mutex_lock(&part->lock);
	if (part->journal.fd >= 0 && iw_chunk_list_add(&part->chunks, off, digest) == 0)
		iw_journal_note(&part->journal, off, digest);
	pthread_mutex_unlock(&part->lock);
}

static bool has_data(int fd, uint64_t off, uint64_t end)
{
	off_t data = lseek(fd, (off_t)off, SEEK_DATA);

	return data < 0 ? errno != ENXIO : (uint64_t)data < end;
}

/*
 * Zeroes the old octets of the chunk before new ones replace them, because blocks of zeros are not
 * written. The journal gets a second digest for the chunk, which makes both invalid.
 */
static int make_way(struct iw_target *t, uint64_t off, uint64_t end,
		    const struct iw_xfer_digest *digest, struct iw_file_fault *why)
{
	const struct iw_xfer_digest none = { .len = digest->len };
	struct iw_part *part = t->part;

	if (!iw_chunk_list_replace(&t->chunks, t->had, off, &none) &&
	    (off >= part->high || !has_data(part->fd, off, end)))
		return 0;
	note(part, off, &none);
	return iw_target_clear(part->fd, off, IW_MIN(end, part->high), why);
}

/* Records the written chunk in the lists and in the journal. */
static int wrote(struct iw_target *t, uint64_t off, const struct iw_xfer_digest *digest,
		 struct iw_file_fault *why)
{
	if (!iw_chunk_list_replace(&t->chunks, t->had, off, digest) &&
	    keep(t, off, digest, why) != 0)
		return -1;
	note(t->part, off, digest);
	return 0;
}

static size_t len_of(const struct iovec *iov, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += iov[i].iov_len;
	return len;
}

int iw_target_write(struct iw_target *t, struct iw_hasher *h, uint64_t off, const struct iovec *iov,
		    size_t n, const struct iw_xfer_digest *digest, struct iw_file_fault *why)
{
	struct iw_part *part = t->part;
	uint64_t at = off;

	if (iw_target_reach(t, off + len_of(iov, n), why) != 0 ||
	    (h && check(h, iov, n, digest, why) != 0) ||
	    make_way(t, off, off + len_of(iov, n), digest, why) != 0)
		return -1;
	for (size_t i = 0; i < n; at += iov[i].iov_len, i++)
		if (iw_write_holes(part->fd, iov[i].iov_base, iov[i].iov_len, at, &part->high,
				   why) != 0)
			return -1;
	return flush_behind(part, why) == 0 ? wrote(t, off, digest, why) : -1;
}

int iw_target_store(struct iw_target *t, struct iw_hasher *h, uint64_t off, const struct iovec *iov,
		    size_t n, const struct iw_xfer_digest *digest, struct iw_file_fault *why)
{
	int r;

	if (!t->to_stdout)
		return iw_target_write(t, h, off, iov, n, digest, why);
	if (iw_target_reach(t, off + len_of(iov, n), why) != 0)
		return -1;
	if (!t->checked && (check(h, iov, n, digest, why) != 0 || keep(t, off, digest, why) != 0))
		return -1;
	t->checked = true;
	r = store_stdout(t, off, iov, n, why);
	t->checked = r == 1;
	return r;
}
