// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Records which chunks of a file are stored. */
#include "transfer/files/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "transfer/files/temp.h"
#include "util/num.h"

/*
 * magic, digest, length of ident, 6 octets unused, size, time, nanoseconds, 4 octets unused, ident,
 * boot, 16 octets unused, file, checksum
 */
#define HEAD   104
#define MAGIC  "iw-jrnl3"
#define BOOT   36                           /* characters of a boot id; its hash has 16 octets */
#define RECORD (8 + IW_XFER_DIGEST_MAX + 8) /* chunk number, digest, checksum */
#define BATCH  64

static void boot_id(uint8_t out[static 16])
{
	char text[BOOT] = { 0 };
	XXH128_canonical_t c;
	int fd = open(IW_JOURNAL_BOOT_ID, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		ssize_t n = read(fd, text, sizeof(text));

		(void)n; /* without a boot id all boots are treated as one */
		close(fd);
	}
	XXH128_canonicalFromHash(&c, XXH3_128bits(text, sizeof(text)));
	memcpy(out, c.digest, 16);
}

static void make_head(uint8_t head[static HEAD], uint64_t file, const struct iw_xfer_meta *m,
		      enum iw_xfer_digest_kind digest)
{
	memset(head, 0, HEAD);
	memcpy(head, MAGIC, 8);
	head[8] = (uint8_t)digest;
	head[9] = m->ident_len;
	iw_put_be64(head + 16, m->size);
	iw_put_be64(head + 24, (uint64_t)m->mtime_s);
	iw_put_be32(head + 32, m->mtime_ns);
	memcpy(head + 40, m->ident, m->ident_len);
	boot_id(head + 56);
	iw_put_be64(head + 88, file);
	iw_put_be64(head + 96, XXH3_64bits(head, 96));
}

static uint64_t check_of(const struct iw_journal *j, const uint8_t *record)
{
	return XXH3_64bits_withSeed(record, RECORD - 8, j->seed);
}

/* True if the record is complete, and about a chunk of m. */
static bool whole(const struct iw_journal *j, const uint8_t *record, const struct iw_xfer_meta *m)
{
	uint64_t n = iw_get_be64(record);

	return iw_get_be64(record + RECORD - 8) == check_of(j, record) &&
	       n <= (m->size - 1) / IW_XFER_CHUNK;
}

/* Reads up to the first incomplete record, which was never finished. */
static int read_records(struct iw_journal *j, const struct iw_xfer_meta *m, uint8_t digest_len,
			struct iw_chunk_list *chunks)
{
	uint8_t buf[BATCH * RECORD];
	ssize_t n;

	while ((n = pread(j->fd, buf, sizeof(buf), (off_t)j->len)) >= RECORD) {
		for (ssize_t at = 0; at + RECORD <= n; at += RECORD, j->len += RECORD) {
			struct iw_xfer_digest d = { .len = digest_len };

			if (!whole(j, buf + at, m))
				return 0;
			memcpy(d.octets, buf + at + 8, digest_len);
			if (iw_chunk_list_add(chunks, iw_get_be64(buf + at) * IW_XFER_CHUNK, &d) !=
			    0)
				return -1;
		}
	}
	return 0;
}

/* True if the head has the size, time and ident of m. */
static bool is_of(const uint8_t *head, const struct iw_xfer_meta *m)
{
	return iw_get_be64(head + 16) == m->size &&
	       iw_get_be64(head + 24) == (uint64_t)m->mtime_s &&
	       iw_get_be32(head + 32) == m->mtime_ns && head[9] == m->ident_len &&
	       memcmp(head + 40, m->ident, m->ident_len) == 0;
}

bool iw_journal_is_other(int dir, const char *name, const struct iw_xfer_meta *m)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint8_t head[HEAD];
	bool whole;

	if (fd < 0)
		return false;
	whole = pread(fd, head, HEAD, 0) == HEAD && memcmp(head, MAGIC, 8) == 0 &&
		iw_get_be64(head + 96) == XXH3_64bits(head, 96);
	close(fd);
	return whole && !is_of(head, m);
}

int iw_journal_open(struct iw_journal *j, int dir, const char *name, int part,
		    const struct iw_xfer_meta *m, enum iw_xfer_digest_kind digest,
		    struct iw_chunk_list *chunks)
{
	uint8_t want[HEAD], head[HEAD];

	*j = (struct iw_journal){ .fd = iw_temp_open(dir, name) };
	if (j->fd < 0)
		return -1;
	make_head(want, iw_temp_id(part), m, digest);
	j->seed = iw_get_be64(want + 96);
	j->len = HEAD;
	if (pread(j->fd, head, HEAD, 0) == HEAD && memcmp(head, want, HEAD) == 0 &&
	    read_records(j, m, (uint8_t)iw_xfer_digest_len(digest), chunks) == 0)
		return 0;
	iw_chunk_list_free(chunks);
	j->len = HEAD;
	if (ftruncate(j->fd, 0) == 0 && pwrite(j->fd, want, HEAD, 0) == HEAD)
		return 0;
	iw_journal_close(j);
	return -1;
}

void iw_journal_note(struct iw_journal *j, uint64_t off, const struct iw_xfer_digest *d)
{
	uint8_t record[RECORD] = { 0 };

	if (j->fd < 0)
		return;
	iw_put_be64(record, off / IW_XFER_CHUNK);
	memcpy(record + 8, d->octets, d->len);
	iw_put_be64(record + RECORD - 8, check_of(j, record));
	if (pwrite(j->fd, record, RECORD, (off_t)j->len) == RECORD)
		j->len += RECORD;
}

/* Records that are added later follow a gap of zeros, which is not a head. */
void iw_journal_invalidate(struct iw_journal *j)
{
	if (j->fd >= 0)
		(void)!ftruncate(j->fd, 0);
}

void iw_journal_close(struct iw_journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
}
