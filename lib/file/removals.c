// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The removals that the user confirmed. */
#include "file/removals.h"

#include <stdlib.h>
#include <string.h>

bool iw_removals_add(struct iw_removals *r, const char *name)
{
	if (r->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 64;
		char **more = reallocarray(r->name, cap, sizeof(*more));

		if (!more)
			return false;
		r->name = more;
		r->cap = cap;
	}
	r->name[r->n] = strdup(name);
	if (!r->name[r->n])
		return false;
	r->n++;
	return true;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void iw_removals_sort(struct iw_removals *r)
{
	if (r->n > 0)
		qsort(r->name, r->n, sizeof(*r->name), compare);
}

bool iw_removals_has(const struct iw_removals *r, const char *name)
{
	return r->n > 0 && bsearch(&name, r->name, r->n, sizeof(*r->name), compare);
}

void iw_removals_fini(struct iw_removals *r)
{
	while (r->n > 0)
		free(r->name[--r->n]);
	free(r->name);
	*r = (struct iw_removals){ .n = 0 };
}
