// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A list with a hash table of the names. */
#include "transfer/files/missing.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "os/os.h"
#include "util/num.h"

#define FIRST 64 /* buckets */

void iw_missing_init(struct iw_missing_list *l)
{
	*l = (struct iw_missing_list){ .n = 0 };
	iw_list_init(&l->all);
}

static struct iw_missing **bucket_of(const struct iw_missing_list *l, const char *name, size_t len)
{
	return &l->bucket[XXH3_64bits_withSeed(name, len, l->seed) & (l->nbuckets - 1)];
}

/* Returns the link to the entry of that name, or the last link of its bucket, which is NULL. */
static struct iw_missing **find(const struct iw_missing_list *l, const char *name, size_t len)
{
	struct iw_missing **at = bucket_of(l, name, len);

	while (*at && ((*at)->meta.name_len != len || memcmp((*at)->meta.name, name, len) != 0))
		at = &(*at)->next;
	return at;
}

/* Without memory the chains become longer; only the first buckets are necessary. */
static bool make_room(struct iw_missing_list *l)
{
	size_t n = l->nbuckets ? l->nbuckets * 2 : FIRST;
	struct iw_missing **bucket;

	if (l->n < l->nbuckets)
		return true;
	bucket = calloc(n, sizeof(struct iw_missing *));
	if (!bucket || (l->nbuckets == 0 && iw_os_random(&l->seed, sizeof(l->seed)) != 0)) {
		free(bucket);
		return l->nbuckets > 0;
	}
	free(l->bucket);
	l->bucket = bucket;
	l->nbuckets = n;
	for (struct iw_list *i = l->all.next; i != &l->all; i = i->next) {
		struct iw_missing *m = iw_container_of(i, struct iw_missing, link);
		struct iw_missing **at = bucket_of(l, m->meta.name, m->meta.name_len);

		m->next = *at;
		*at = m;
	}
	return true;
}

size_t iw_missing_add(struct iw_missing_list *to, const struct iw_xfer_meta *m, const char *why,
		      bool *lost)
{
	size_t bytes = sizeof(struct iw_missing) + m->name_len + 1;
	struct iw_missing *e, **at;
	char *name;

	if (!make_room(to)) {
		*lost = true;
		return 0;
	}
	at = find(to, m->name, m->name_len);
	if (*at)
		return 0;
	e = calloc(1, bytes);
	if (!e) {
		*lost = true;
		return 0;
	}
	name = (char *)(e + 1);
	memcpy(name, m->name, m->name_len);
	e->meta = (struct iw_xfer_meta){ .kind = m->kind,
					 .name = name,
					 .name_len = m->name_len,
					 .top = m->top,
					 .size = m->size,
					 .mtime_s = m->mtime_s,
					 .mtime_ns = m->mtime_ns };
	e->why = why;
	e->bytes = bytes;
	*at = e;
	iw_list_init(&e->link);
	iw_list_add_tail(&to->all, &e->link);
	to->n++;
	return bytes;
}

size_t iw_missing_drop(struct iw_missing_list *from, const char *name, size_t len)
{
	struct iw_missing **at = from->n > 0 ? find(from, name, len) : NULL;
	struct iw_missing *m = at ? *at : NULL;
	size_t bytes;

	if (!m)
		return 0;
	bytes = m->bytes;
	*at = m->next;
	iw_list_del(&m->link);
	free(m);
	from->n--;
	return bytes;
}

void iw_missing_move(struct iw_missing_list *dst, struct iw_missing_list *src)
{
	iw_missing_fini(dst);
	*dst = *src;
	iw_list_init(&dst->all);
	if (!iw_list_empty(&src->all)) {
		dst->all = src->all;
		dst->all.next->prev = dst->all.prev->next = &dst->all;
	}
	iw_missing_init(src);
}

void iw_missing_fini(struct iw_missing_list *l)
{
	struct iw_list *i;

	while ((i = iw_list_first(&l->all)) != NULL) {
		iw_list_del(i);
		free(iw_container_of(i, struct iw_missing, link));
	}
	free(l->bucket);
	iw_missing_init(l);
}
