// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Packs at the source. */
#include "transfer/files/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transfer/files/beneath.h"
#include "transfer/files/names.h"
#include "util/num.h"

struct iw_dir_ref *iw_dir_new(int fd)
{
	struct iw_dir_ref *d = malloc(sizeof(*d));

	if (!d) {
		close(fd);
		return NULL;
	}
	d->fd = fd;
	atomic_init(&d->refs, 1);
	atomic_init(&d->grants, 0);
	return d;
}

struct iw_dir_ref *iw_dir_get(struct iw_dir_ref *d)
{
	atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
	return d;
}

void iw_dir_put(struct iw_dir_ref *d)
{
	if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) > 1)
		return;
	close(d->fd);
	free(d);
}

struct iw_packer *iw_packer_new(void)
{
	struct iw_packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->list = malloc(IW_XFER_LIST_MAX);
	if (!p->list) {
		free(p);
		return NULL;
	}
	iw_xfer_pack_begin(&p->out, p->list, IW_XFER_LIST_MAX);
	return p;
}

void iw_packer_free(struct iw_packer *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->n; i++) {
		iw_dir_put(p->member[i].root);
		free(p->member[i].path);
		free(p->member[i].name);
	}
	free(p->list);
	free(p);
}

bool iw_packer_add(struct iw_packer *p, const struct iw_xfer_meta *m, struct iw_dir_ref *root,
		   const char *path, const struct stat *st)
{
	uint64_t cost = m->kind == IW_XFER_FILE ? m->size + 1 : 0;
	struct iw_pack_member one = { .kind = m->kind,
				      .size = m->size,
				      .mtime_s = m->mtime_s,
				      .mtime_ns = m->mtime_ns,
				      .ino = st->st_ino };

	if (p->n == IW_XFER_MEMBERS || p->octets + cost > IW_XFER_CHUNK)
		return false;
	one.name = iw_name_terminated(m->name, m->name_len);
	one.path = m->kind == IW_XFER_FILE ? strdup(path) : NULL;
	if (!one.name || (m->kind == IW_XFER_FILE && !one.path) || !iw_xfer_pack_add(&p->out, m)) {
		free(one.name);
		free(one.path);
		return false;
	}
	if (one.path)
		one.root = iw_dir_get(root);
	p->member[p->n++] = one;
	p->octets += cost;
	return true;
}

void iw_packer_meta(struct iw_packer *p, struct iw_xfer_meta *m)
{
	p->list_len = iw_xfer_pack_end(&p->out);
	*m = (struct iw_xfer_meta){ .kind = IW_XFER_PACK,
				    .name = "",
				    .size = IW_XFER_SIZE_UNKNOWN,
				    .target = (const char *)p->list,
				    .target_len = p->list_len,
				    .members = p->n };
}

bool iw_packer_want(struct iw_packer *p, const uint8_t *bits, size_t len)
{
	if (len != (p->n + 7) / 8)
		return false;
	memcpy(p->wanted, bits, len);
	return true;
}

/* The open directory of consecutive members. */
struct held {
	int fd; /* -1: none */
	const struct iw_pack_member *of;
};

static size_t dir_len(const struct iw_pack_member *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash ? (size_t)(slash - m->path) : 0;
}

/* True if both are files of one directory. */
static bool are_siblings(const struct iw_pack_member *a, const struct iw_pack_member *b)
{
	size_t len;

	if (!a->path || !b->path || a->root != b->root)
		return false;
	len = dir_len(a);
	return len == dir_len(b) && memcmp(a->path, b->path, len) == 0;
}

static void release(struct held *h)
{
	if (h->fd >= 0)
		close(h->fd);
	*h = (struct held){ .fd = -1 };
}

/*
 * Sets *h to the directory of m. next: the member after m, or NULL at the end. The directory of a
 * single member is not opened.
 */
static void hold_dir(struct held *h, const struct iw_pack_member *m,
		     const struct iw_pack_member *next)
{
	char *dir;

	if (h->of && are_siblings(h->of, m))
		return;
	release(h);
	if (!next || !are_siblings(m, next))
		return;
	dir = strndup(m->path, dir_len(m));
	if (!dir)
		return;
	h->fd = iw_beneath_dir(m->root->fd, dir);
	h->of = m;
	free(dir);
}

/* A file below its directory is found and checked in fewer steps than one below the root. */
static int open_member(const struct iw_pack_member *m, const struct held *h)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC;
	size_t len = dir_len(m);

	if (h->fd < 0)
		return iw_beneath_open(m->root->fd, m->path, flags, 0);
	return openat(h->fd, m->path + len + (len > 0), flags);
}

static int read_member(struct iw_pack_member *m, const struct held *h, uint8_t *buf,
		       struct iw_file_fault *why)
{
	int fd = open_member(m, h);
	uint64_t have = 0;
	struct stat st;
	int err = 0;

	if (fd < 0)
		return iw_file_errno(why, errno, "open it");
	while (have < m->size && !err) {
		ssize_t n = pread(fd, buf + have, m->size - have, (off_t)have);

		if (n < 0 && errno != EINTR)
			err = iw_file_errno(why, errno, "read it");
		if (n == 0)
			break;
		have += n > 0 ? (uint64_t)n : 0;
	}
	/* After reading: so changes during the reads are detected. */
	if (!err && fstat(fd, &st) < 0)
		err = iw_file_errno(why, errno, "get its attributes");
	if (!err && (have < m->size || !S_ISREG(st.st_mode) || st.st_ino != m->ino ||
		     (uint64_t)st.st_size != m->size || st.st_mtim.tv_sec != m->mtime_s ||
		     (uint32_t)st.st_mtim.tv_nsec != m->mtime_ns))
		err = iw_file_fail(why, IW_XFER_CODE_CHANGED, "it changed after it was found");
	close(fd);
	return err;
}

uint64_t iw_packer_cost(const struct iw_packer *p)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->member[i].kind == IW_XFER_FILE && p->wanted[i / 8] & 0x80u >> i % 8)
			n += 1 + p->member[i].size;
	return n;
}

uint32_t iw_packer_load(struct iw_packer *p, uint8_t *buf)
{
	struct held dir = { .fd = -1 };
	uint32_t at = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		struct iw_pack_member *m = &p->member[i];

		if (m->kind != IW_XFER_FILE || !(p->wanted[i / 8] & 0x80u >> i % 8))
			continue;
		m->why.code = IW_XFER_CODE_OK;
		buf[at] = IW_XFER_CODE_OK;
		hold_dir(&dir, m, i + 1 < p->n ? m + 1 : NULL);
		if (read_member(m, &dir, buf + at + 1, &m->why) == 0) {
			at += 1 + (uint32_t)m->size;
			continue;
		}
		buf[at++] = (uint8_t)m->why.code;
	}
	release(&dir);
	return at;
}
