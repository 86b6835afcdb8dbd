/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Visible tests: `make test`. The careless server runs here, beside your attacks, so that you can
 * follow both in a debugger. The grader has more servers and more cases.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "attack.h"
#include "repair.h"
#include "scenario.h"

static unsigned int failures;

static void result(bool good, const char *what)
{
	printf("%s: %s\n", good ? "ok" : "FAIL", what);
	failures += !good;
}

static void expect_number(const char *what, uint64_t expected, uint64_t seen)
{
	result(expected == seen, what);
	if (expected != seen)
		printf("  expected 0x%" PRIx64 "\n  seen     0x%" PRIx64 "\n", expected, seen);
}

static void expect_verdict(const char *what, enum verdict expected, enum verdict seen)
{
	static const char *const names[] = {
		"ALLOWED", "INVALID_STAG",   "NOT_ASSOCIATED",    "ACCESS_RIGHTS",
		"TO_WRAP", "BASE_OR_BOUNDS", "CANNOT_INVALIDATE",
	};

	result(expected == seen, what);
	if (expected != seen)
		printf("  expected %s\n  seen     %s\n", names[expected],
		       seen <= CANNOT_INVALIDATE ? names[seen] : "no verdict");
}

/* --- the attacks, each against two servers ------------------------------------------------------ */

/* A wire inside this process. */
struct local {
	struct wire wire; /* the first member, so a pointer to it is one to struct local */
	struct scenario scenario;
};

static void exchange(struct wire *w, const struct request *q, struct reply *r)
{
	struct local *l = (struct local *)w;

	scenario_request(&l->scenario, q, r);
}

static bool run(struct local *l, const struct lease *known, uint8_t secret[SECRET_LEN])
{
	switch (l->scenario.attack) {
	case ATTACK_DOMAIN:
		return attack_domain(&l->wire, known, secret);
	case ATTACK_GUESS:
		return attack_guess(&l->wire, known, secret);
	case ATTACK_OVERRUN:
		return attack_overrun(&l->wire, known, secret);
	case ATTACK_RIGHTS:
		return attack_rights(&l->wire, secret);
	case ATTACK_REUSE:
		return attack_reuse(&l->wire, known, secret);
	default:
		return attack_late(&l->wire, known, secret);
	}
}

static void test_attack(enum attack attack, unsigned int variant, const char *what)
{
	static const uint8_t hidden[SECRET_LEN] = { 'n', 'o', 't', ' ', 'f', 'o', 'r', ' ',
						    'y', 'o', 'u', 'r', ' ', 'e', 'y', 'e' };
	static struct local l;
	uint8_t secret[SECRET_LEN] = { 0 };
	struct lease known;
	bool found;

	l.wire.exchange = exchange;
	scenario_start(&l.scenario, attack, variant, 42, hidden, &known);
	found = run(&l, &known, secret);
	result(found && !memcmp(secret, hidden, SECRET_LEN), what);
	if (!found)
		printf("  expected true\n  seen     false, after %u of %u requests\n",
		       l.scenario.requests, l.scenario.budget);
	else if (memcmp(secret, hidden, SECRET_LEN) != 0)
		printf("  expected \"%.16s\"\n  seen     \"%.16s\"\n", hidden,
		       (const char *)secret);
}

static void test_attacks(void)
{
	test_attack(ATTACK_DOMAIN, 0, "domain: the secret at the end of the victim's buffer");
	test_attack(ATTACK_DOMAIN, 1, "domain: the secret at its begin");
	test_attack(ATTACK_GUESS, 0, "guess: the victim in slot 63");
	test_attack(ATTACK_GUESS, 1, "guess: the victim in slot 0");
	test_attack(ATTACK_OVERRUN, 0, "overrun: the secret 63 blocks before the buffer");
	test_attack(ATTACK_OVERRUN, 1, "overrun: the secret just before the buffer");
	test_attack(ATTACK_RIGHTS, 0, "rights: an upload some releases ago");
	test_attack(ATTACK_RIGHTS, 1, "rights: an upload just released");
	test_attack(ATTACK_REUSE, 2, "reuse");
	test_attack(ATTACK_LATE, 0, "late: the first try comes too late");
	test_attack(ATTACK_LATE, 1, "late: the first two tries come too late");
}

/* --- the table ---------------------------------------------------------------------------------- */

/* Numbers for the tests. A real source is a generator that a peer cannot predict, as getrandom(2). */
static uint32_t not_so_random(void *ctx)
{
	static const uint32_t words[] = { 0x8a5c13e7, 0x31f0b24d, 0xc69d7702, 0x5e48fa91,
					  0x04b7256c, 0xf1638ed8, 0x9d2ac03f, 0x670e5914 };
	unsigned int *at = ctx;
	unsigned int i = (*at)++;

	return words[i % 8] + i / 8;
}

/* Octets 1000 to 1255 of the memory, as TO 4096 to 4351, for stream 5 of domain 7. */
static const struct region own = {
	.pd = 7, .stream = 5, .rights = REMOTE_READ, .len = 256, .to = 4096, .base = 1000
};

static void expect_access(struct table *t, struct access a, const char *what, enum verdict expected,
			  uint64_t expected_at)
{
	uint64_t at = 77;
	enum verdict seen = table_access(t, &a, &at);

	expect_verdict(what, expected, seen);
	if (expected == ALLOWED && seen == ALLOWED)
		expect_number("  its position in the memory", expected_at, at);
}

static void test_stags(void)
{
	unsigned int at = 0;
	struct table *t = table_new(2, not_so_random, &at);
	struct region last = own;
	uint32_t a, b;

	last.to = -(uint64_t)last.len;
	expect_number("stags: a buffer up to TO 2^64 - 1 is refused", 0, table_register(t, &last));
	a = table_register(t, &own);
	b = table_register(t, &own);
	result(a && b && a != b, "stags: two registrations have different STags");
	expect_number("stags: a third one does not fit in a table for two", 0,
		      table_register(t, &own));
	table_free(t);
}

static void test_bounds(void)
{
	unsigned int at = 0;
	struct table *t = table_new(2, not_so_random, &at);
	struct access a = { .pd = 7, .stream = 5, .right = REMOTE_READ, .to = 4096, .len = 256 };

	a.stag = table_register(t, &own);
	expect_access(t, a, "bounds: all 256 octets", ALLOWED, 1000);
	a.to = 4351;
	a.len = 1;
	expect_access(t, a, "bounds: the last octet", ALLOWED, 1255);
	a.len = 2;
	expect_access(t, a, "bounds: the last octet and one more", BASE_OR_BOUNDS, 0);
	a.to = 4095;
	expect_access(t, a, "bounds: one octet before the first", BASE_OR_BOUNDS, 0);
	a.to = -(uint64_t)256;
	a.len = 256;
	expect_access(t, a, "bounds: 256 octets from TO 2^64 - 256", TO_WRAP, 0);
	a.len = 255;
	expect_access(t, a, "bounds: 255 octets from TO 2^64 - 256", BASE_OR_BOUNDS, 0);
	a.len = 0;
	expect_access(t, a, "bounds: no octet at all, anywhere", ALLOWED, 0);
	table_free(t);
}

static void test_scope(void)
{
	unsigned int at = 0;
	struct table *t = table_new(2, not_so_random, &at);
	struct access a = { .pd = 7, .stream = 5, .right = REMOTE_READ, .to = 4096, .len = 256 };

	a.stag = table_register(t, &own);
	a.stag ^= 0x00000100;
	expect_access(t, a, "scope: an STag that differs in one bit", INVALID_STAG, 0);
	a.stag ^= 0x00000100;
	a.pd = 8;
	expect_access(t, a, "scope: the same stream number in another domain", NOT_ASSOCIATED, 0);
	a.pd = 7;
	a.stream = 6;
	expect_access(t, a, "scope: another stream of the domain", NOT_ASSOCIATED, 0);
	a.stream = 5;
	a.right = REMOTE_WRITE;
	expect_access(t, a, "scope: an RDMA Write to a buffer for Reads", ACCESS_RIGHTS, 0);
	table_free(t);
}

static void test_revoke(void)
{
	unsigned int at = 0;
	struct table *t = table_new(2, not_so_random, &at);
	struct access a = { .pd = 7, .stream = 5, .right = REMOTE_READ, .to = 4096, .len = 256 };
	struct region shared = own;
	uint32_t of_all;

	shared.stream = 0;
	a.stag = table_register(t, &own);
	of_all = table_register(t, &shared);
	expect_verdict("revoke: stream 6 must not invalidate the buffer of stream 5",
		       NOT_ASSOCIATED, table_invalidate(t, a.stag, 7, 6));
	expect_verdict("revoke: no stream must invalidate the buffer of all streams",
		       CANNOT_INVALIDATE, table_invalidate(t, of_all, 7, 5));
	expect_access(t, a, "revoke: after that, the buffer is still usable", ALLOWED, 1000);
	expect_verdict("revoke: stream 5 may", ALLOWED, table_invalidate(t, a.stag, 7, 5));
	expect_access(t, a, "revoke: then the very next access is refused", INVALID_STAG, 0);
	result(table_deregister(t, of_all), "revoke: the server may deregister any buffer");
	result(!table_deregister(t, of_all), "revoke: but only once");
	table_free(t);
}

int main(void)
{
	test_attacks();
	test_stags();
	test_bounds();
	test_scope();
	test_revoke();
	printf("%u tests failed\n", failures);
	return failures != 0;
}
