// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A set of names as hashes. */
#include "transfer/files/names.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "os/os.h"

static struct iw_names_key key_of(const struct iw_names *s, const char *name, size_t len)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(name, len, s->seed);

	return (struct iw_names_key){ .high = h.high64, .low = h.low64 ? h.low64 : 1 };
}

static struct iw_names_key *place_of(struct iw_names_key *rows, size_t cap, struct iw_names_key k)
{
	size_t i = k.low & (cap - 1);

	while (rows[i].low && (rows[i].low != k.low || rows[i].high != k.high))
		i = (i + 1) & (cap - 1);
	return &rows[i];
}

static bool grow(struct iw_names *s)
{
	size_t cap = s->cap ? s->cap * 2 : 1024;
	struct iw_names_key *rows = calloc(cap, sizeof(*rows));

	if (!rows || (s->cap == 0 && iw_os_random(&s->seed, sizeof(s->seed)) != 0)) {
		free(rows);
		return false;
	}
	for (size_t i = 0; i < s->cap; i++)
		if (s->rows[i].low)
			*place_of(rows, cap, s->rows[i]) = s->rows[i];
	free(s->rows);
	s->rows = rows;
	s->cap = cap;
	return true;
}

bool iw_names_add(struct iw_names *s, const char *name, size_t len)
{
	struct iw_names_key k, *row;

	if (s->n * 2 >= s->cap && !grow(s))
		return false;
	k = key_of(s, name, len);
	row = place_of(s->rows, s->cap, k);
	s->n += row->low == 0;
	*row = k;
	return true;
}

bool iw_names_has(const struct iw_names *s, const char *name, size_t len)
{
	return s->n > 0 && place_of(s->rows, s->cap, key_of(s, name, len))->low != 0;
}

void iw_names_fini(struct iw_names *s)
{
	free(s->rows);
	*s = (struct iw_names){ .n = 0 };
}

/* Not strndup, which may read beyond len if name is not a string. */
char *iw_name_terminated(const char *name, size_t len)
{
	char *s = malloc(len + 1);

	if (!s)
		return NULL;
	memcpy(s, name, len);
	s[len] = '\0';
	return s;
}
