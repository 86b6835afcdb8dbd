// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Limits of wrong claims, by address and for all addresses together. */
#include "stag-reg/guess.h"

#include <stdlib.h>
#include <string.h>

#include "cli/log.h"
#include "os/addr.h"

/* The address or network whose claims are counted together. */
struct origin {
	bool v6;
	uint64_t net; /* the IPv4 address, or the first half of the IPv6 address */
};

struct guesser {
	struct iw_list all, in_bucket;
	struct origin origin;
	unsigned wrong;
	uint64_t last;  /* time of its last wrong claim */
	uint64_t until; /* its claims are rejected until then */
};

static struct origin origin_of_in6(const struct in6_addr *a)
{
	if (IN6_IS_ADDR_V4MAPPED(a))
		return (struct origin){ .net = iw_get_be32(a->s6_addr + 12) };
	return (struct origin){ .v6 = true, .net = iw_get_be64(a->s6_addr) };
}

/* Texts that are not addresses share one origin. */
static struct origin origin_of(const char *text)
{
	const char *colon = strrchr(text, ':');
	char host[IW_ADDR_TEXT];
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	struct iw_addr a;

	len = IW_MIN(len, sizeof(host) - 1);
	memcpy(host, text, len);
	host[len] = '\0';
	if (iw_addr_parse(&a, host, 0) != 0)
		return (struct origin){ .net = 0 };
	if (a.sa.sa_family == AF_INET6)
		return origin_of_in6(&a.in6.sin6_addr);
	return (struct origin){ .net = ntohl(a.in.sin_addr.s_addr) };
}

static struct iw_list *bucket_of(struct iw_guesses *g, const struct origin *o)
{
	return &g->buckets[(o->net ^ o->net >> 32 ^ o->net >> 16 ^ o->net >> 48) %
			   IW_GUESS_BUCKETS];
}

static struct guesser *find(struct iw_guesses *g, const struct origin *o)
{
	struct iw_list *bucket = bucket_of(g, o);

	for (struct iw_list *l = bucket->next; l != bucket; l = l->next) {
		struct guesser *s = iw_container_of(l, struct guesser, in_bucket);

		if (s->origin.v6 == o->v6 && s->origin.net == o->net)
			return s;
	}
	return NULL;
}

static void forget(struct iw_guesses *g, struct guesser *s)
{
	iw_list_del(&s->all);
	iw_list_del(&s->in_bucket);
	g->count--;
	free(s);
}

static void forget_old(struct iw_guesses *g, uint64_t now)
{
	struct iw_list *l;

	while ((l = iw_list_first(&g->all)) != NULL) {
		struct guesser *s = iw_container_of(l, struct guesser, all);

		if (s->last + IW_GUESS_FORGET > now)
			return;
		forget(g, s);
	}
}

static struct guesser *add(struct iw_guesses *g, const struct origin *o)
{
	struct guesser *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->origin = *o;
	iw_list_init(&s->all);
	iw_list_add_tail(bucket_of(g, o), &s->in_bucket);
	g->count++;
	return s;
}

static void earn_credit(struct iw_guesses *g, uint64_t now)
{
	const uint64_t most = IW_GUESS_BURST * IW_SEC(1);
	uint64_t passed = now > g->credit_at ? now - g->credit_at : 0;

	g->credit_at = IW_MAX(g->credit_at, now);
	if (passed >= most / IW_GUESS_RATE)
		g->credit = most;
	else
		g->credit = IW_MIN(most, g->credit + passed * IW_GUESS_RATE);
	if (g->credit == most)
		g->reported = false;
}

/* The time until all addresses together may make another wrong claim. */
static uint64_t wait_of_all(const struct iw_guesses *g)
{
	if (g->credit >= IW_SEC(1))
		return 0;
	return (IW_SEC(1) - g->credit + IW_GUESS_RATE - 1) / IW_GUESS_RATE;
}

static uint64_t penalty(unsigned wrong)
{
	unsigned over = wrong - IW_GUESS_FREE;

	if (over >= 32)
		return IW_GUESS_WAIT_MAX;
	return IW_MIN(IW_GUESS_WAIT_MIN << over, IW_GUESS_WAIT_MAX);
}

void iw_guesses_init(struct iw_guesses *g, uint64_t now)
{
	memset(g, 0, sizeof(*g));
	iw_list_init(&g->all);
	for (size_t i = 0; i < IW_GUESS_BUCKETS; i++)
		iw_list_init(&g->buckets[i]);
	g->credit = IW_GUESS_BURST * IW_SEC(1);
	g->credit_at = now;
}

void iw_guesses_fini(struct iw_guesses *g)
{
	struct iw_list *l;

	while ((l = iw_list_first(&g->all)) != NULL)
		forget(g, iw_container_of(l, struct guesser, all));
}

uint64_t iw_guess_wait(struct iw_guesses *g, const char *addr, uint64_t now)
{
	const struct origin o = origin_of(addr);
	const struct guesser *s;
	uint64_t own = 0;

	forget_old(g, now);
	earn_credit(g, now);
	s = find(g, &o);
	if (s && s->until > now)
		own = s->until - now;
	return IW_MAX(own, wait_of_all(g));
}

static void spend_credit(struct iw_guesses *g)
{
	g->credit -= IW_MIN(g->credit, IW_SEC(1));
	if (g->credit >= IW_SEC(1) || g->reported)
		return;
	g->reported = true;
	iw_log_warn(
		"wrong claims on buffers from many addresses: at most %u per second are checked",
		IW_GUESS_RATE);
}

void iw_guess_wrong(struct iw_guesses *g, const char *addr, uint64_t now)
{
	const struct origin o = origin_of(addr);
	struct guesser *s;

	earn_credit(g, now);
	spend_credit(g);
	s = find(g, &o);
	if (!s)
		s = add(g, &o);
	if (!s)
		return; /* no memory: the limit of all addresses still applies */
	s->wrong++;
	s->last = now;
	iw_list_del(&s->all);
	iw_list_add_tail(&g->all, &s->all);
	if (s->wrong < IW_GUESS_FREE)
		return;
	s->until = now + penalty(s->wrong);
	if (s->wrong == IW_GUESS_FREE)
		iw_log_warn("%s: %u wrong claims on buffers: further claims from it are delayed",
			    addr, s->wrong);
}
