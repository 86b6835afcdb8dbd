// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Hash tables with chains of links that are embedded in the objects. */
#include "sctp/internal.h"

#define FIRST_SIZE 16

int iw_sctp_table_init(struct table *t, const struct iw_mem *mem)
{
	*t = (struct table){ .mem = mem, .size = FIRST_SIZE };
	t->bucket = iw_mem_array(mem, t->size, sizeof(struct link *));
	return t->bucket ? 0 : IW_E_NOMEM;
}

void iw_sctp_table_fini(struct table *t)
{
	if (t->bucket)
		iw_mem_free(t->mem, t->bucket, t->size * sizeof(struct link *));
	t->bucket = NULL;
}

static struct link **place(const struct table *t, uint64_t hash)
{
	return &t->bucket[hash & (t->size - 1)];
}

static void push(struct table *t, struct link *l)
{
	struct link **head = place(t, l->hash);

	l->next = *head;
	*head = l;
}

static void grow(struct table *t)
{
	struct table bigger = { .mem = t->mem, .size = t->size * 2, .count = t->count };

	bigger.bucket = iw_mem_array(t->mem, bigger.size, sizeof(struct link *));
	if (!bigger.bucket)
		return;
	for (size_t i = 0; i < t->size; i++) {
		struct link *l = t->bucket[i];

		while (l) {
			struct link *next = l->next;

			push(&bigger, l);
			l = next;
		}
	}
	iw_sctp_table_fini(t);
	*t = bigger;
}

void iw_sctp_table_add(struct table *t, struct link *l, uint64_t hash)
{
	if (++t->count > t->size)
		grow(t);
	l->hash = hash;
	push(t, l);
}

void iw_sctp_table_del(struct table *t, struct link *l)
{
	struct link **at = place(t, l->hash);

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	t->count--;
}

struct link *iw_sctp_table_find(const struct table *t, uint64_t hash)
{
	struct link *l = *place(t, hash);

	while (l && l->hash != hash)
		l = l->next;
	return l;
}

struct link *iw_sctp_table_next(const struct link *l)
{
	uint64_t hash = l->hash;
	struct link *next = l->next;

	while (next && next->hash != hash)
		next = next->next;
	return next;
}
