// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counts the memory that peers hold. */
#include "transfer/files/budget.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "util/num.h"

void iw_budget_init(struct iw_budget *a, uint64_t limit)
{
	*a = (struct iw_budget){ .limit = limit };
	for (unsigned i = 0; i < IW_BUDGET_BUCKETS; i++)
		iw_list_init(&a->bucket[i]);
}

/* Copies the address without port and zone; of IPv6 the /64 network. */
static void address_of(char out[static 64], const char *peer)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (peer[0] == '[')
		snprintf(out, 64, "%.*s", (int)strcspn(peer + 1, "]%"), peer + 1);
	else
		snprintf(out, 64, "%.*s", (int)strcspn(peer, ":"), peer);
	if (inet_pton(AF_INET6, out, &v6) != 1 || IN6_IS_ADDR_LOOPBACK(&v6))
		return;
	if (IN6_IS_ADDR_V4MAPPED(&v6)) {
		memcpy(&v4, v6.s6_addr + 12, sizeof(v4));
		inet_ntop(AF_INET, &v4, out, 64);
		return;
	}
	memset(v6.s6_addr + 8, 0, 8);
	inet_ntop(AF_INET6, &v6, out, 64);
}

static bool is_loopback(const char *addr)
{
	return strncmp(addr, "127.", 4) == 0 || strcmp(addr, "::1") == 0;
}

static struct iw_list *bucket_of(struct iw_budget *a, const char *addr)
{
	return &a->bucket[XXH3_64bits(addr, strlen(addr)) % IW_BUDGET_BUCKETS];
}

struct iw_holder *iw_budget_join(struct iw_budget *a, const char *peer)
{
	struct iw_list *bucket;
	struct iw_holder *h;
	char addr[64];

	address_of(addr, peer);
	bucket = bucket_of(a, addr);
	for (struct iw_list *l = bucket->next; l != bucket; l = l->next) {
		h = iw_container_of(l, struct iw_holder, link);
		if (strcmp(h->addr, addr) == 0) {
			h->refs++;
			return h;
		}
	}
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->refs = 1;
	h->local = is_loopback(addr);
	memcpy(h->addr, addr, sizeof(addr));
	iw_list_add_tail(bucket, &h->link);
	return h;
}

void iw_budget_leave(struct iw_holder *h)
{
	if (!h || --h->refs > 0)
		return;
	assert(h->bytes == 0);
	iw_list_del(&h->link);
	free(h);
}

bool iw_budget_may(const struct iw_budget *a, const struct iw_holder *h, uint64_t n)
{
	uint64_t used = a->bytes + a->other;

	if (a->limit == 0)
		return true;
	if (used > a->limit || n > a->limit - used)
		return false;
	return !h || used + n <= a->limit / 2 || h->bytes + n <= a->limit / 4;
}

void iw_budget_charge(struct iw_budget *a, struct iw_holder *h, uint64_t n)
{
	a->bytes += n;
	if (h)
		h->bytes += n;
}

void iw_budget_credit(struct iw_budget *a, struct iw_holder *h, uint64_t n)
{
	assert(a->bytes >= n && (!h || h->bytes >= n));
	a->bytes -= n;
	if (h)
		h->bytes -= n;
}

bool iw_budget_crowds(const struct iw_holder *h, uint64_t most)
{
	return !h->local && most > 0 && h->conns > most - most / 4;
}
