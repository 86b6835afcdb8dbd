// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The names that a pulling sink requested. */
#include "transfer/files/asked.h"

#include <stdlib.h>
#include <string.h>

#include "transfer/files/walk.h"
#include "util/num.h"

const char *iw_asked_path_fault(const char *path)
{
	size_t len;
	const char *name = iw_walk_name(path, &len);

	if (len == 0 && path[0] == '/')
		return "is the root directory; paths are relative to the served directory, which is \"\"";
	if (len == 2 && memcmp(name, "..", 2) == 0)
		return "ends in \"..\", which is not a name; give the name of the directory";
	return NULL;
}

static int compare_names(const void *a, const void *b)
{
	const struct iw_asked_name *x = a, *y = b;
	int order = memcmp(x->p, y->p, IW_MIN(x->len, y->len));

	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

static void drop_duplicates(struct iw_asked *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		if (n == 0 || compare_names(&a->row[n - 1], &a->row[i]) != 0)
			a->row[n++] = a->row[i];
	a->n = n;
}

int iw_asked_init(struct iw_asked *a, char *const *paths, size_t n)
{
	*a = (struct iw_asked){ .row = calloc(n + 1, sizeof(*a->row)) };
	if (!a->row)
		return IW_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		struct iw_asked_name *row = &a->row[a->n];

		row->p = iw_walk_name(paths[i], &row->len);
		if (iw_walk_is_contents(paths[i]))
			a->contents = true;
		else
			a->n++;
	}
	qsort(a->row, a->n, sizeof(*a->row), compare_names);
	drop_duplicates(a);
	return 0;
}

void iw_asked_fini(struct iw_asked *a)
{
	free(a->row);
	*a = (struct iw_asked){ .n = 0 };
}

static struct iw_asked_name *find(const struct iw_asked *a, const char *name, size_t len)
{
	const struct iw_asked_name key = { .p = name, .len = len };

	return a->n > 0 ? bsearch(&key, a->row, a->n, sizeof(key), compare_names) : NULL;
}

/* True for names below a requested name, or in requested contents. */
static bool lies_below(const struct iw_asked *a, const char *name, size_t len)
{
	const char *slash = memchr(name, '/', len);

	return a->contents || (slash && find(a, name, (size_t)(slash - name)));
}

const char *iw_asked_fault(const struct iw_asked *a, const struct iw_xfer_meta *m)
{
	bool link = m->kind == IW_XFER_SYMLINK || m->kind == IW_XFER_HARDLINK;

	/* The directory whose contents were requested is the target itself. */
	if (m->top && m->name_len == 0 && m->kind == IW_XFER_DIR && a->contents)
		return NULL;
	if (m->top && !find(a, m->name, m->name_len))
		return "it was not requested";
	if (m->top && link)
		return "a link in place of a requested name";
	if (!m->top && !lies_below(a, m->name, m->name_len))
		return "it was not requested";
	if (m->kind == IW_XFER_HARDLINK && !lies_below(a, m->target, m->target_len))
		return "a link to a name that was not requested";
	return NULL;
}

void iw_asked_announced(struct iw_asked *a, const struct iw_xfer_meta *m)
{
	struct iw_asked_name *row = m->top ? find(a, m->name, m->name_len) : NULL;

	if (row)
		row->announced = true;
}
