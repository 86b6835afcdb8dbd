// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The directories that a source announced. */
#include "transfer/files/dirs.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "os/os.h"

#define FIRST 64

struct iw_dir {
	int64_t mtime_s;
	uint32_t mtime_ns, mode, uid, gid;
	bool owned, is_new;
	size_t len, xattr_len;
	uint8_t *xattr; /* NULL: none */
	char name[];
};

static size_t row_size(const struct iw_dir *dir)
{
	return sizeof(*dir) + dir->len + 1;
}

static uint32_t *place_of(const struct iw_dirs *d, const char *name, size_t len)
{
	size_t i = XXH3_64bits_withSeed(name, len, d->seed) & (d->nindex - 1);

	for (; d->index[i]; i = (i + 1) & (d->nindex - 1)) {
		const struct iw_dir *dir = d->row[d->index[i] - 1];

		if (dir->len == len && memcmp(dir->name, name, len) == 0)
			break;
	}
	return &d->index[i];
}

static bool grow_rows(struct iw_dirs *d)
{
	size_t cap = d->cap ? d->cap * 2 : FIRST;
	struct iw_dir **row = reallocarray(d->row, cap, sizeof(struct iw_dir *));

	if (!row)
		return false;
	d->bytes += (cap - d->cap) * sizeof(struct iw_dir *);
	d->row = row;
	d->cap = cap;
	return true;
}

static bool grow_index(struct iw_dirs *d)
{
	size_t n = d->nindex ? d->nindex * 2 : 2 * FIRST;
	uint32_t *index = calloc(n, sizeof(*index));

	if (!index || (d->nindex == 0 && iw_os_random(&d->seed, sizeof(d->seed)) != 0)) {
		free(index);
		return false;
	}
	free(d->index);
	d->bytes += (n - d->nindex) * sizeof(*index);
	d->index = index;
	d->nindex = n;
	for (size_t i = 0; i < d->n; i++)
		*place_of(d, d->row[i]->name, d->row[i]->len) = (uint32_t)i + 1;
	return true;
}

static bool set_attrs(struct iw_dirs *d, struct iw_dir *dir, const struct iw_xfer_meta *m)
{
	size_t len = m->xattr ? m->xattr_len : 0;
	uint8_t *xattr = m->xattr ? malloc(len + 1) : NULL;

	if (m->xattr && !xattr)
		return false;
	if (len > 0)
		memcpy(xattr, m->xattr, len);
	free(dir->xattr);
	d->bytes = d->bytes - dir->xattr_len + len;
	dir->xattr = xattr;
	dir->xattr_len = len;
	dir->mode = m->mode;
	dir->mtime_s = m->mtime_s;
	dir->mtime_ns = m->mtime_ns;
	dir->owned = m->owned;
	dir->uid = m->uid;
	dir->gid = m->gid;
	return true;
}

bool iw_dirs_keep(struct iw_dirs *d, const char *name, const struct iw_xfer_meta *m)
{
	size_t len = strlen(name);
	uint32_t *at = d->n > 0 ? place_of(d, name, len) : NULL;
	struct iw_dir *dir;

	if (at && *at)
		return set_attrs(d, d->row[*at - 1], m);
	if ((d->n == d->cap && !grow_rows(d)) || (d->n * 2 >= d->nindex && !grow_index(d)))
		return false;
	dir = calloc(1, sizeof(*dir) + len + 1);
	if (!dir)
		return false;
	dir->len = len;
	memcpy(dir->name, name, len);
	if (!set_attrs(d, dir, m)) {
		free(dir);
		return false;
	}
	d->row[d->n++] = dir;
	*place_of(d, name, len) = (uint32_t)d->n;
	d->bytes += row_size(dir);
	return true;
}

static struct iw_dir *find(const struct iw_dirs *d, const char *name, size_t len)
{
	uint32_t at = d->n > 0 ? *place_of(d, name, len) : 0;

	return at ? d->row[at - 1] : NULL;
}

void iw_dirs_set_new(struct iw_dirs *d, const char *name)
{
	struct iw_dir *dir = find(d, name, strlen(name));

	if (dir)
		dir->is_new = true;
}

bool iw_dirs_is_new(const struct iw_dirs *d, const char *name, size_t len)
{
	const struct iw_dir *dir = find(d, name, len);

	return dir && dir->is_new;
}

const char *iw_dirs_name(const struct iw_dirs *d, size_t i)
{
	return d->row[i]->name;
}

struct iw_xfer_meta iw_dirs_meta(const struct iw_dirs *d, size_t i)
{
	const struct iw_dir *dir = d->row[i];

	return (struct iw_xfer_meta){ .kind = IW_XFER_DIR,
				      .mode = dir->mode,
				      .mtime_s = dir->mtime_s,
				      .mtime_ns = dir->mtime_ns,
				      .owned = dir->owned,
				      .uid = dir->uid,
				      .gid = dir->gid,
				      .xattr = dir->xattr,
				      .xattr_len = dir->xattr_len };
}

void iw_dirs_fini(struct iw_dirs *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->row[i]->xattr);
		free(d->row[i]);
	}
	free(d->row);
	free(d->index);
	*d = (struct iw_dirs){ .n = 0 };
}
