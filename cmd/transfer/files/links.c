// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files with several hard links. */
#include "transfer/files/links.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t place_of(struct iw_linked *const *rows, size_t cap, dev_t dev, ino_t ino)
{
	uint64_t h = ((uint64_t)ino ^ (uint64_t)dev << 40) * 0x9e3779b97f4a7c15u;
	size_t i = (size_t)(h >> 32) & (cap - 1);

	while (rows[i] && (rows[i]->ino != ino || rows[i]->dev != dev))
		i = (i + 1) & (cap - 1);
	return i;
}

static bool grow(struct iw_links *l)
{
	size_t cap = l->cap ? l->cap * 2 : 64;
	struct iw_linked **rows = calloc(cap, sizeof(*rows));

	if (!rows)
		return false;
	for (size_t i = 0; i < l->cap; i++)
		if (l->rows[i])
			rows[place_of(rows, cap, l->rows[i]->dev, l->rows[i]->ino)] = l->rows[i];
	free(l->rows);
	l->rows = rows;
	l->cap = cap;
	return true;
}

struct iw_linked *iw_links_get(struct iw_links *l, const struct stat *st, const char *name,
			       size_t len, bool *first)
{
	struct iw_linked *row;
	size_t i;

	*first = false;
	if (l->n * 2 >= l->cap && !grow(l))
		return NULL;
	i = place_of(l->rows, l->cap, st->st_dev, st->st_ino);
	if (l->rows[i])
		return l->rows[i];
	row = calloc(1, sizeof(*row) + len + 1);
	if (!row)
		return NULL;
	row->dev = st->st_dev;
	row->ino = st->st_ino;
	memcpy(row->name, name, len);
	l->rows[i] = row;
	l->n++;
	*first = true;
	return row;
}

void iw_links_fini(struct iw_links *l)
{
	for (size_t i = 0; i < l->cap; i++)
		free(l->rows[i]);
	free(l->rows);
	*l = (struct iw_links){ .n = 0 };
}
