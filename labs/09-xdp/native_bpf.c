/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Maps and helpers of native_bpf.h. You do not change this file. */
#include "native_bpf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAPS_MAX = 8 };

static struct store {
	struct native_map shape;
	__u8 *keys, *values;
	bool *used;
} stores[MAPS_MAX];
static __u32 target;

static bool is_array(const struct native_map *m)
{
	return m->type == BPF_MAP_TYPE_ARRAY || m->type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

/* The first access to a map creates it. */
static struct store *store_of(const struct native_map *m)
{
	struct store *s = stores;

	while (s < stores + MAPS_MAX && s->shape.map && s->shape.map != m->map)
		s++;
	if (s == stores + MAPS_MAX)
		abort();
	if (s->shape.map)
		return s;
	s->shape = *m;
	s->keys = calloc(m->entries, m->key);
	s->values = calloc(m->entries, m->value);
	s->used = calloc(m->entries, sizeof(*s->used));
	if (!s->keys || !s->values || !s->used)
		abort();
	for (size_t i = 0; i < m->entries && is_array(m); i++)
		s->used[i] = true;
	return s;
}

/* Returns the entry of a key; m->entries: the key is not in the map. */
static size_t find(const struct store *s, const void *key)
{
	const struct native_map *m = &s->shape;
	__u32 index;
	size_t i = 0;

	if (m->type == BPF_MAP_TYPE_HASH) {
		while (i < m->entries &&
		       !(s->used[i] && !memcmp(s->keys + i * m->key, key, m->key)))
			i++;
		return i;
	}
	memcpy(&index, key, sizeof(index));
	return index < m->entries && s->used[index] ? index : m->entries;
}

void *native_lookup(const struct native_map *m, const void *key)
{
	struct store *s = store_of(m);
	size_t i = find(s, key);

	return i < m->entries ? s->values + i * m->value : NULL;
}

/* Returns the entry for a new key; m->entries: the map is full, or has no such index. */
static size_t new_entry(const struct store *s, const void *key)
{
	const struct native_map *m = &s->shape;
	__u32 index;
	size_t i = 0;

	if (m->type == BPF_MAP_TYPE_HASH) {
		while (i < m->entries && s->used[i])
			i++;
		return i;
	}
	memcpy(&index, key, sizeof(index));
	return index < m->entries ? index : m->entries;
}

int native_update(const struct native_map *m, const void *key, const void *value)
{
	struct store *s = store_of(m);
	size_t i = find(s, key);

	if (i == m->entries)
		i = new_entry(s, key);
	if (i == m->entries)
		return -E2BIG;
	s->used[i] = true;
	memcpy(s->keys + i * m->key, key, m->key);
	memcpy(s->values + i * m->value, value, m->value);
	return 0;
}

int native_delete(const struct native_map *m, const void *key)
{
	struct store *s = store_of(m);
	size_t i = find(s, key);

	if (is_array(m))
		return -EINVAL;
	if (i == m->entries)
		return -ENOENT;
	s->used[i] = false;
	return 0;
}

int native_redirect(const struct native_map *m, __u32 entry, __u64 flags)
{
	if (!native_lookup(m, &entry))
		return (int)(flags & 3);
	target = entry;
	return XDP_REDIRECT;
}

int native_run(int (*program)(struct xdp_md *), void *frame, size_t len, __u32 queue, __u32 *entry)
{
	struct xdp_md ctx = {
		.data = (unsigned long)frame,
		.data_end = (unsigned long)frame + len,
		.data_meta = (unsigned long)frame,
		.ingress_ifindex = 2,
		.rx_queue_index = queue,
	};
	int verdict;

	target = NATIVE_NOWHERE;
	verdict = program(&ctx);
	*entry = target;
	return verdict;
}

void native_reset(void)
{
	for (struct store *s = stores; s < stores + MAPS_MAX && s->shape.map; s++) {
		memset(s->values, 0, s->shape.entries * s->shape.value);
		for (size_t i = 0; i < s->shape.entries; i++)
			s->used[i] = is_array(&s->shape);
	}
}
