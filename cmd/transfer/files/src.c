// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads files that others may change meanwhile, and streams. */
#include "transfer/files/src.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#include "cli/signals.h"
#include "transfer/files/space.h"
#include "util/num.h"

/* The length of a range of a stream. The machine limits how many are requested ahead. */
#define STREAM_RUN (4u << 20)

static int changed(struct iw_file_fault *why, const char *what)
{
	char text[IW_XFER_TEXT_MAX];

	snprintf(text, sizeof(text),
		 "it %s while it was being sent; send it again when no program writes to it", what);
	return iw_file_fail(why, IW_XFER_CODE_CHANGED, text);
}

int iw_src_open(struct iw_src *s, int fd, struct iw_file_fault *why)
{
	*s = (struct iw_src){ .fd = fd };
	if (fstat(fd, &s->at_open) < 0) {
		iw_file_errno(why, errno, "get its attributes");
		iw_src_close(s);
		return -1;
	}
	if (!S_ISREG(s->at_open.st_mode)) {
		why->code = IW_XFER_CODE_KIND;
		snprintf(why->text, sizeof(why->text), "%s cannot be sent as a file",
			 iw_file_kind(s->at_open.st_mode));
		iw_src_close(s);
		return -1;
	}
	s->end = (uint64_t)s->at_open.st_size;
	s->seeks_data = iw_space_holes(fd, &s->at_open);
	s->in_memory = iw_space_in_memory(fd);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* only a hint */
	return 0;
}

void iw_src_open_stream(struct iw_src *s, int fd)
{
	*s = (struct iw_src){ .fd = fd, .stream = true };
}

void iw_src_close(struct iw_src *s)
{
	if (!s->stream && s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	iw_src_again(s);
}

void iw_src_again(struct iw_src *s)
{
	iw_chunk_list_free(&s->chunks);
	free(s->had);
	s->had = NULL;
	s->have = 0;
}

void iw_src_part(struct iw_src *s, uint64_t off, uint64_t len)
{
	s->begin = off;
	s->end = off + len;
}

/*
 * The state of a chunk, in the first octet of its entry; the digest that the sink reported follows.
 */
enum { NOT_REPORTED, REPORTED, SAME, DIFFERS };

static uint8_t *row_of(const struct iw_src *s, uint64_t off)
{
	return s->had + (size_t)((off - s->begin) / IW_XFER_CHUNK) * (1 + s->digest_len);
}

static uint8_t state_of(const struct iw_src *s, uint64_t off)
{
	return s->had ? *row_of(s, off) : (uint8_t)NOT_REPORTED;
}

static uint64_t chunk_end(const struct iw_src *s, uint64_t off)
{
	return IW_MIN((off / IW_XFER_CHUNK + 1) * IW_XFER_CHUNK, s->end);
}

/* The end of the run of chunks with that state from off on; at most end. */
static uint64_t run_end(const struct iw_src *s, uint64_t off, uint64_t end, uint8_t state)
{
	if (!s->had)
		return end;
	while (off < end && state_of(s, off) == state)
		off = chunk_end(s, off);
	return IW_MIN(off, end);
}

int iw_src_have(struct iw_src *s, uint64_t off, const uint8_t *digests, size_t digest_len, size_t n)
{
	size_t chunks = (size_t)((s->end - s->begin + IW_XFER_CHUNK - 1) / IW_XFER_CHUNK);

	if (digest_len == 0)
		return 0;
	if (!s->had) {
		s->had = calloc(chunks, 1 + digest_len);
		s->digest_len = digest_len;
	}
	if (!s->had)
		return IW_E_NOMEM;
	for (size_t i = 0; i < n && off < s->end; i++, off += IW_XFER_CHUNK) {
		uint8_t *row = row_of(s, off);

		if (*row != NOT_REPORTED)
			continue;
		*row = REPORTED;
		memcpy(row + 1, digests + i * digest_len, digest_len);
	}
	return 0;
}

void iw_src_compared(struct iw_src *s, uint64_t off, bool same)
{
	if (s->had)
		*row_of(s, off) = same ? SAME : DIFFERS;
}

bool iw_src_differs(const struct iw_src *s, uint64_t off)
{
	return state_of(s, off) == DIFFERS;
}

/* Changes whenever the file is written, replaced by a rename, or created again. */
static void make_ident(const struct stat *st, struct iw_xfer_meta *m)
{
	const uint64_t what[] = { st->st_dev, st->st_ino, (uint64_t)st->st_ctim.tv_sec,
				  (uint64_t)st->st_ctim.tv_nsec };
	XXH128_canonical_t c;

	XXH128_canonicalFromHash(&c, XXH3_128bits(what, sizeof(what)));
	memcpy(m->ident, c.digest, sizeof(c.digest));
	m->ident_len = sizeof(c.digest);
}

void iw_src_meta(const struct iw_src *s, struct iw_xfer_meta *m)
{
	if (s->stream) {
		m->kind = IW_XFER_STREAM;
		m->size = IW_XFER_SIZE_UNKNOWN;
		m->mode = 0666;
		return;
	}
	m->kind = IW_XFER_FILE;
	m->size = (uint64_t)s->at_open.st_size;
	m->mode = s->at_open.st_mode & 07777;
	m->mtime_s = s->at_open.st_mtim.tv_sec;
	m->mtime_ns = (uint32_t)s->at_open.st_mtim.tv_nsec;
	make_ident(&s->at_open, m);
}

/* Finds the next run of data, in whole chunks; *len 0: none. */
static int seek_data(struct iw_src *s, uint64_t off, uint64_t *at, uint64_t *len,
		     struct iw_file_fault *why)
{
	uint64_t begin, end;
	off_t data, hole;

	*len = 0;
	data = s->seeks_data ? lseek(s->fd, (off_t)off, SEEK_DATA) : (off_t)off;
	if (data < 0 && errno == ENXIO)
		return 0; /* only a hole follows; iw_src_finish detects truncation */
	if (data < 0 && (errno == EINVAL || errno == EOPNOTSUPP)) {
		s->seeks_data = false;
		data = (off_t)off;
	}
	if (data < 0)
		return iw_file_errno(why, errno, "search for data");
	hole = s->seeks_data ? lseek(s->fd, data, SEEK_HOLE) : (off_t)s->end;
	if (hole < 0)
		return iw_file_errno(why, errno, "search for holes");
	begin = IW_MAX((uint64_t)data / IW_XFER_CHUNK * IW_XFER_CHUNK, off);
	end = ((uint64_t)hole + IW_XFER_CHUNK - 1) / IW_XFER_CHUNK * IW_XFER_CHUNK;
	end = IW_MIN(end, s->end);
	*at = begin;
	*len = begin < end ? end - begin : 0;
	return 0;
}

int iw_src_next_data(struct iw_src *s, uint64_t off, uint64_t *at, uint64_t *len, bool *last,
		     struct iw_file_fault *why)
{
	uint64_t to;

	*last = false;
	*at = off;
	if (s->stream) {
		*len = STREAM_RUN;
		return 0;
	}
	for (; off < s->end; off = to) {
		switch (state_of(s, off)) {
		case REPORTED:
			*at = off;
			*len = chunk_end(s, off) - off;
			return 1;
		case SAME:
			to = run_end(s, off, s->end, SAME);
			continue;
		case DIFFERS: /* even in a hole */
			to = run_end(s, off, s->end, DIFFERS);
			*at = off;
			break;
		default:
			if (seek_data(s, off, at, len, why) != 0)
				return -1;
			to = run_end(s, off, *len > 0 ? *at + *len : s->end, NOT_REPORTED);
			if (*len == 0 || *at >= to)
				continue;
		}
		*len = to - *at;
		*last = to == s->end;
		return 0;
	}
	*len = 0;
	*last = true;
	return 0;
}

/* tmpfs does not implement RWF_NOWAIT. It waits only for octets that were swapped out. */
bool iw_src_fetch(struct iw_src *s, uint64_t off, uint32_t len, void *buf)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	ssize_t n;

	if (s->stream)
		return false;
	n = preadv2(s->fd, &iov, 1, (off_t)off, s->in_memory ? 0 : RWF_NOWAIT);
	s->have = n > 0 ? (uint32_t)n : 0;
	return s->have == len;
}

/* Reads octets have to len; fails if the file has become shorter. */
static int read_file(const struct iw_src *s, uint64_t off, uint32_t have, uint32_t len,
		     uint8_t *buf, struct iw_file_fault *why)
{
	while (have < len) {
		ssize_t n = pread(s->fd, buf + have, len - have, (off_t)(off + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return iw_file_errno(why, errno, "read it");
		if (n == 0)
			return changed(why, "became shorter");
		have += (uint32_t)n;
	}
	return 0;
}

/* Reads what is available without blocking. 1: more may follow. */
static int read_stream(struct iw_src *s, uint32_t len, uint8_t *buf, struct iw_file_fault *why)
{
	while (s->have < len && !s->eof) {
		struct pollfd p = { .fd = s->fd, .events = POLLIN };
		ssize_t n = poll(&p, 1, 0);

		if (n == 0)
			return 1;
		if (n > 0)
			n = read(s->fd, buf + s->have, len - s->have);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return 1;
		if (n < 0)
			return iw_file_errno(why, errno, "read standard input");
		s->eof = n == 0;
		s->have += (uint32_t)n;
		s->pos += (uint64_t)n;
	}
	return 0;
}

int iw_src_load(struct iw_src *s, struct iw_hasher *h, uint64_t off, uint32_t len, void *buf,
		struct iw_xfer_chunk *out, struct iw_file_fault *why)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	int r;

	r = s->stream ? read_stream(s, len, buf, why) : read_file(s, off, s->have, len, buf, why);
	if (r == 1)
		return 1;
	if (s->stream)
		iov.iov_len = s->have;
	s->have = 0;
	if (r != 0)
		return r;
	*out = (struct iw_xfer_chunk){ .len = (uint32_t)iov.iov_len };
	if (out->len == 0)
		return 0;
	out->zero = !s->keeps_zeros && iw_is_zero(buf, out->len);
	if (out->zero)
		return 0;
	if (iw_hasher_chunk(h, &iov, 1, &out->digest) != 0)
		return iw_file_fail(why, IW_XFER_CODE_IO, "its digest could not be computed");
	if (iw_chunk_list_add(&s->chunks, off, &out->digest) != 0)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for its digests");
	return 0;
}

int iw_src_compare(struct iw_src *s, struct iw_hasher *h, uint64_t off, uint32_t len, bool *same,
		   struct iw_file_fault *why)
{
	uint8_t *buf = malloc(len);
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct iw_xfer_digest own;
	int r;

	*same = false;
	if (!buf)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory to compare it");
	r = read_file(s, off, 0, len, buf, why);
	if (r == 0 && iw_hasher_chunk(h, &iov, 1, &own) != 0)
		r = iw_file_fail(why, IW_XFER_CODE_IO, "its digest could not be computed");
	free(buf);
	if (r != 0)
		return r;
	*same = own.len == s->digest_len && memcmp(own.octets, row_of(s, off) + 1, own.len) == 0;
	if (*same && iw_chunk_list_add(&s->chunks, off, &own) != 0)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for its digests");
	return 0;
}

/* Files of the kernel contain more than the size that they report. */
static bool has_more(const struct iw_src *s)
{
	char c;

	return pread(s->fd, &c, 1, s->at_open.st_size) > 0;
}

int iw_src_finish(struct iw_src *s, struct iw_hasher *h, uint64_t size, struct iw_xfer_digest *out,
		  struct iw_file_fault *why)
{
	struct stat now;

	if (!s->stream) {
		if (fstat(s->fd, &now) < 0)
			return iw_file_errno(why, errno, "get its attributes");
		if (now.st_size != s->at_open.st_size ||
		    now.st_mtim.tv_sec != s->at_open.st_mtim.tv_sec ||
		    now.st_mtim.tv_nsec != s->at_open.st_mtim.tv_nsec)
			return changed(why, now.st_size < s->at_open.st_size   ? "became shorter"
					    : now.st_size > s->at_open.st_size ? "became longer"
									       : "was written to");
	}
	if (!s->stream && has_more(s))
		return iw_file_fail(why, IW_XFER_CODE_CHANGED, "it has more data than its size");
	if (iw_chunk_list_digest(&s->chunks, h, size, out) != 0)
		return iw_file_fail(why, IW_XFER_CODE_IO, "its digest could not be computed");
	return 0;
}

/* Hashes the octets from off to end in chunks. */
static int hash_run(struct iw_src *s, struct iw_hasher *h, uint64_t off, uint64_t end, uint8_t *buf,
		    struct iw_file_fault *why)
{
	struct iw_xfer_chunk loaded;
	uint64_t next;

	for (; off < end; off = next) {
		if (iw_signals_stop())
			return iw_file_fail(why, IW_XFER_CODE_CANCELED, "interrupted");
		next = IW_MIN(chunk_end(s, off), end);
		if (iw_src_load(s, h, off, (uint32_t)(next - off), buf, &loaded, why) != 0)
			return -1;
	}
	return 0;
}

int iw_src_digest(struct iw_src *s, struct iw_hasher *h, struct iw_xfer_digest *out,
		  struct iw_file_fault *why)
{
	uint8_t *buf = malloc(IW_XFER_CHUNK);
	uint64_t off = 0, at, len;
	bool last = false;
	int r = 0;

	if (!buf)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory to compare it");
	while (r == 0 && !last) {
		r = iw_src_next_data(s, off, &at, &len, &last, why);
		off = at + len;
		if (r == 0)
			r = hash_run(s, h, at, off, buf, why);
	}
	free(buf);
	if (r == 0)
		r = iw_src_finish(s, h, s->end, out, why);
	iw_src_again(s);
	return r;
}
