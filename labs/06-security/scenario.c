/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The world of an attack. You need not change this file. */
#include "scenario.h"

#include <string.h>

enum {
	ATTACKER_PD = 1, /* every client has a protection domain of its own */
	OTHER_PD = 2,    /* and those after it */
	BOTH = REMOTE_READ | REMOTE_WRITE,
	PLACES = BLOCK - MARK_LEN - SECRET_LEN + 1, /* of the secret in a block */
};

/* Requests, and new connections, of each attack. */
static const struct {
	unsigned int budget, connections;
} limits[ATTACKS] = {
	[ATTACK_DOMAIN] = { 4, 0 },  [ATTACK_GUESS] = { 128, 64 }, [ATTACK_OVERRUN] = { 64, 0 },
	[ATTACK_RIGHTS] = { 24, 0 }, [ATTACK_REUSE] = { 24, 0 },   [ATTACK_LATE] = { 40, 6 },
};

/* splitmix64 */
static uint64_t next(struct scenario *s)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned int below(struct scenario *s, unsigned int n)
{
	return (unsigned int)(next(s) % n);
}

/* For put_secret(): extreme in the variants 0 and 1, otherwise any. */
static unsigned int place_in(unsigned int variant, unsigned int in_0, unsigned int in_1)
{
	if (variant == 0)
		return in_0;
	return variant == 1 ? in_1 : PLACES;
}

/* The secret at an octet of the block; above the last place: at any. */
static void put_secret(struct scenario *s, uint64_t base, unsigned int place)
{
	uint8_t *at = s->server.memory + base + (place < PLACES ? place : below(s, PLACES));

	memcpy(at, MARK, MARK_LEN);
	memcpy(at + MARK_LEN, s->secret, SECRET_LEN);
}

static uint64_t base_of(const struct scenario *s, uint32_t stag)
{
	return s->server.slots[(stag >> 8) % SLOTS].region.base;
}

static uint32_t register_other(struct scenario *s)
{
	uint32_t stag = 0;

	if (careless_register(&s->server, OTHER_PD + s->n_others, 100 + s->n_others, BOTH, &stag))
		s->others[s->n_others++ % SLOTS] = stag;
	return stag;
}

static void register_others(struct scenario *s, unsigned int n)
{
	while (n--)
		register_other(s);
}

static void lease_of(const struct scenario *s, uint32_t stag, struct lease *lease)
{
	const struct region *r = &s->server.slots[(stag >> 8) % SLOTS].region;

	*lease = (struct lease){ .stag = stag, .len = r->len, .to = r->to, .rights = r->rights };
}

static void register_attacker(struct scenario *s, uint32_t rights, struct lease *lease)
{
	uint32_t stag = 0;

	careless_register(&s->server, ATTACKER_PD, s->stream, rights, &stag);
	lease_of(s, stag, lease);
}

/* Other clients read from the first of their buffers. */
static void accesses_of_others(struct scenario *s, unsigned int n)
{
	struct access a = { .pd = OTHER_PD, .stream = 100, .right = REMOTE_READ, .len = 1 };
	uint64_t at;

	a.stag = s->others[0];
	while (n--)
		careless_access(&s->server, &a, &at);
}

/* --- the beginning of each attack ------------------------------------------------------------ */

static void start_domain(struct scenario *s, unsigned int variant, struct lease *known)
{
	uint32_t victim;

	register_others(s, 1 + below(s, 20));
	victim = register_other(s);
	put_secret(s, base_of(s, victim), place_in(variant, PLACES - 1, 0));
	lease_of(s, victim, known);
}

/* All slots are taken, and then some are released. The secret is in none of these. */
static void start_guess(struct scenario *s, unsigned int variant, struct lease *known)
{
	unsigned int victim = variant == 0 ? SLOTS - 1 : variant == 1 ? 0 : below(s, SLOTS);
	unsigned int attacker = (victim + 1 + below(s, SLOTS - 1)) % SLOTS;

	for (unsigned int i = 0; i < SLOTS; i++) {
		uint32_t stag;

		if (i == attacker) {
			register_attacker(s, BOTH, known);
			continue;
		}
		stag = register_other(s);
		if (i == victim)
			put_secret(s, base_of(s, stag), PLACES);
	}
	for (unsigned int i = 0; i < SLOTS; i++)
		if (i != victim && i != attacker && below(s, 3) == 0)
			careless_release(&s->server, s->server.slots[i].stag);
	accesses_of_others(s, SWEEP);
}

static void start_overrun(struct scenario *s, unsigned int variant, struct lease *known)
{
	unsigned int before = variant < 2 ? 0 : below(s, 30);
	unsigned int between = variant == 0 ? BLOCKS - 2 : variant == 1 ? 0 : below(s, 32);
	int block;

	register_others(s, before);
	block = careless_take_block(&s->server);
	put_secret(s, (uint64_t)block * BLOCK, place_in(variant, 0, PLACES - 1));
	register_others(s, between);
	register_attacker(s, BOTH, known);
}

/* The upload was some releases ago. */
static void start_rights(struct scenario *s, unsigned int variant)
{
	unsigned int since = variant == 0 ? 7 : variant == 1 ? 0 : below(s, 8);
	uint32_t upload, stags[8];

	register_others(s, 1 + below(s, 10));
	upload = register_other(s);
	put_secret(s, base_of(s, upload), PLACES);
	for (unsigned int i = 0; i < since; i++)
		stags[i] = register_other(s);
	careless_release(&s->server, upload);
	for (unsigned int i = 0; i < since; i++)
		careless_release(&s->server, stags[i]);
	accesses_of_others(s, SWEEP);
}

/* Others came and went, so the slot on the top of the stack cannot be predicted. */
static void churn(struct scenario *s)
{
	uint32_t stags[12];

	register_others(s, 1 + below(s, 8));
	for (unsigned int i = 0; i < 12; i++)
		stags[i] = register_other(s);
	for (unsigned int i = 0; i < 12; i++) {
		unsigned int j = i + below(s, 12 - i);
		uint32_t t = stags[j];

		stags[j] = stags[i];
		stags[i] = t;
		if (i < 8)
			careless_release(&s->server, t);
	}
}

static void start_reuse(struct scenario *s, struct lease *known)
{
	churn(s);
	accesses_of_others(s, SWEEP + below(s, SWEEP));
	register_attacker(s, BOTH, known);
}

static void start_late(struct scenario *s, unsigned int variant, struct lease *known)
{
	/* Variant 0: the first try comes too late. Variant 1: the first and the second. */
	unsigned int phase = variant == 0 ? 3 : variant == 1 ? 6 : below(s, SWEEP);

	churn(s);
	accesses_of_others(s, SWEEP + phase);
	register_attacker(s, BOTH, known);
}

void scenario_start(struct scenario *s, enum attack attack, unsigned int variant, uint64_t seed,
		    const uint8_t secret[SECRET_LEN], struct lease *known)
{
	memset(s, 0, sizeof(*s));
	memset(known, 0, sizeof(*known));
	s->attack = attack;
	s->random = seed;
	memcpy(s->secret, secret, SECRET_LEN);
	s->open = true;
	s->stream = 1;
	s->budget = limits[attack].budget;
	s->connections = limits[attack].connections;
	careless_start(&s->server, (uint32_t)next(s));
	for (unsigned int i = 0; i < MEMORY; i++)
		s->server.memory[i] = (uint8_t)next(s);
	switch (attack) {
	case ATTACK_DOMAIN:
		start_domain(s, variant, known);
		break;
	case ATTACK_GUESS:
		start_guess(s, variant, known);
		break;
	case ATTACK_OVERRUN:
		start_overrun(s, variant, known);
		break;
	case ATTACK_RIGHTS:
		start_rights(s, variant);
		break;
	case ATTACK_REUSE:
		start_reuse(s, known);
		break;
	default:
		start_late(s, variant, known);
		break;
	}
}

/* --- requests of the attacker ---------------------------------------------------------------- */

static int do_connect(struct scenario *s)
{
	if (!s->connections)
		return NO_CONNECTION;
	s->connections--;
	s->stream++;
	s->open = true;
	return ALLOWED;
}

static int do_access(struct scenario *s, const struct request *q, struct reply *r)
{
	struct access a = {
		.pd = ATTACKER_PD,
		.stream = s->stream,
		.right = q->kind == REQUEST_READ ? REMOTE_READ : REMOTE_WRITE,
		.stag = q->stag,
		.to = q->to,
		.len = q->len,
	};
	uint64_t at = 0;
	enum verdict verdict = careless_access(&s->server, &a, &at);

	if (verdict != ALLOWED) {
		s->open = false;
		return (int)verdict;
	}
	/* What a real server would do here depends on what lies beside its memory. */
	if (at > MEMORY || q->len > MEMORY - at) {
		s->open = false;
		s->crashed = true;
		return SERVER_CRASHED;
	}
	if (q->kind == REQUEST_WRITE) {
		memcpy(s->server.memory + at, q->data, q->len);
		return ALLOWED;
	}
	r->data = s->server.memory + at;
	r->len = q->len;
	return ALLOWED;
}

static int do_register(struct scenario *s, const struct request *q, struct reply *r)
{
	uint32_t rights = s->attack == ATTACK_RIGHTS ? REMOTE_WRITE : q->rights & BOTH;

	if (!s->server.n_free_slots || !s->server.n_free_blocks)
		return NO_BUFFER;
	register_attacker(s, rights, &r->lease);
	return ALLOWED;
}

static int do_wait(struct scenario *s)
{
	int block;

	accesses_of_others(s, 4);
	if (s->attack == ATTACK_REUSE && !s->victim_came) {
		s->victim_came = true;
		put_secret(s, base_of(s, register_other(s)), PLACES);
	}
	if (s->attack == ATTACK_LATE) {
		block = careless_take_block(&s->server);
		if (block >= 0)
			put_secret(s, (uint64_t)block * BLOCK, PLACES);
	}
	return ALLOWED;
}

static int answer(struct scenario *s, const struct request *q, struct reply *r)
{
	if (s->requests == s->budget)
		return BUDGET_SPENT;
	s->requests++;
	if (s->crashed)
		return SERVER_CRASHED;
	if (q->kind == REQUEST_CONNECT)
		return do_connect(s);
	if (!s->open)
		return STREAM_ENDED;
	switch (q->kind) {
	case REQUEST_READ:
	case REQUEST_WRITE:
		return do_access(s, q, r);
	case REQUEST_REGISTER:
		return do_register(s, q, r);
	case REQUEST_RELEASE:
		return (int)careless_release(&s->server, q->stag);
	default:
		return do_wait(s);
	}
}

void scenario_request(struct scenario *s, const struct request *q, struct reply *r)
{
	memset(r, 0, sizeof(*r));
	r->status = answer(s, q, r);
}
