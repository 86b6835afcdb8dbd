/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Your table of registrations. repair.h says what each function must do. */
#include "repair.h"

#include <stdlib.h>

struct table {
	uint32_t (*random)(void *ctx);
	void *ctx;
	uint32_t capacity;
	/* TODO, step 7 (stags): the registrations. */
};

struct table *table_new(uint32_t capacity, uint32_t (*random)(void *ctx), void *ctx)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->random = random;
	t->ctx = ctx;
	t->capacity = capacity;
	return t;
}

void table_free(struct table *t)
{
	free(t);
}

uint32_t table_register(struct table *t, const struct region *r)
{
	/* TODO, step 7 (stags): choose an STag and remember the buffer. */
	return 0;
}

enum verdict table_access(const struct table *t, const struct access *a, uint64_t *at)
{
	/* TODO, step 7 (stags): find the registration; allow the access and set *at. */
	/* TODO, step 8 (bounds): check the Tagged Offset and the length. */
	/* TODO, step 9 (scope): check domain, stream and rights. */
	return INVALID_STAG;
}

bool table_deregister(struct table *t, uint32_t stag)
{
	/* TODO, step 10 (revoke): forget the registration, at once. */
	return false;
}

enum verdict table_invalidate(struct table *t, uint32_t stag, uint32_t pd, uint32_t stream)
{
	/* TODO, step 10 (revoke): the same, if the peer may ask for it. */
	return INVALID_STAG;
}
