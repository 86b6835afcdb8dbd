// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The removals that the user confirmed. */
#include "transfer/files/removals.h"

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

char *iw_removals_join(const struct iw_removals *r, size_t *len)
{
	size_t all = 0;
	char *text, *at;

	for (size_t i = 0; i < r->n; i++)
		all += strlen(r->name[i]) + 1;
	text = at = malloc(all + 1);
	for (size_t i = 0; text && i < r->n; i++)
		at = stpcpy(at, r->name[i]) + 1;
	*len = all;
	return text;
}

void iw_removals_fini(struct iw_removals *r)
{
	while (r->n > 0)
		free(r->name[--r->n]);
	free(r->name);
	*r = (struct iw_removals){ .n = 0 };
}
