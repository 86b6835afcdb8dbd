// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A plain list, because it is short, and usually empty. */
#include "transfer/files/missing.h"

#include <stdlib.h>
#include <string.h>

#include "util/num.h"

static struct iw_missing *find(const struct iw_list *in, const char *name, size_t len)
{
	for (struct iw_list *l = in->next; l != in; l = l->next) {
		struct iw_missing *m = iw_container_of(l, struct iw_missing, link);

		if (m->meta.name_len == len && memcmp(m->meta.name, name, len) == 0)
			return m;
	}
	return NULL;
}

size_t iw_missing_add(struct iw_list *to, const struct iw_xfer_meta *m, const char *why, bool *lost)
{
	size_t bytes = sizeof(struct iw_missing) + m->name_len + 1;
	struct iw_missing *e;
	char *name;

	if (find(to, m->name, m->name_len))
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
	iw_list_init(&e->link);
	iw_list_add_tail(to, &e->link);
	return bytes;
}

void iw_missing_free(struct iw_missing *m)
{
	iw_list_del(&m->link);
	free(m);
}

size_t iw_missing_drop(struct iw_list *from, const char *name, size_t len)
{
	struct iw_missing *m = find(from, name, len);
	size_t bytes = m ? m->bytes : 0;

	if (m)
		iw_missing_free(m);
	return bytes;
}

void iw_missing_fini(struct iw_list *l)
{
	struct iw_list *i;

	while ((i = iw_list_first(l)) != NULL)
		iw_missing_free(iw_container_of(i, struct iw_missing, link));
}
