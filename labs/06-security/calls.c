/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of your modules that the grader calls. You do not change this file.
 *
 * An attack function sends requests and waits for the answers, but the server is in the process of
 * the grader, which asks and does not answer. So each attack has a stack of its own. A request
 * switches to the stack of the harness, which hands it to the grader as the result of the call; the
 * next call brings the answer, and switches back.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "attack.h"
#include "harness.h"
#include "repair.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* --- two stacks ------------------------------------------------------------------------------ */

enum { STACK = 1 << 20, GUARD = 1 << 16 };

enum { SENDS, RETURNS }; /* what an attack did last */

static ucontext_t harness, attacker;
static uint8_t *stack;

/* As swapcontext(), about which AddressSanitizer would print a warning. */
static void swap(ucontext_t *from, ucontext_t *to)
{
	volatile bool resumed = false;

	getcontext(from);
	if (resumed)
		return;
	resumed = true;
	setcontext(to);
}

#ifdef __SANITIZE_ADDRESS__
/* AddressSanitizer must know which stack is in use, and that a new one has no variables. */
static const void *harness_stack;
static size_t harness_stack_len;

static void to_attacker(void)
{
	void *fake = NULL;

	__sanitizer_start_switch_fiber(&fake, stack, STACK);
	swap(&harness, &attacker);
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
}

static void to_harness(void)
{
	void *fake = NULL;

	__sanitizer_start_switch_fiber(&fake, harness_stack, harness_stack_len);
	swap(&attacker, &harness);
	__sanitizer_finish_switch_fiber(fake, &harness_stack, &harness_stack_len);
}

static void attacker_begins(void)
{
	__sanitizer_finish_switch_fiber(NULL, &harness_stack, &harness_stack_len);
}

static void stack_is_new(void)
{
	__asan_unpoison_memory_region(stack, STACK);
}
#else
static void to_attacker(void)
{
	swap(&harness, &attacker);
}

static void to_harness(void)
{
	swap(&attacker, &harness);
}

static void attacker_begins(void)
{
}

static void stack_is_new(void)
{
}
#endif

/* --- attacks --------------------------------------------------------------------------------- */

static struct {
	unsigned int which; /* as in the order of README.md */
	int state;          /* SENDS or RETURNS */
	bool running, found;
	struct lease *known;
	uint8_t *secret;
	struct request request;
	struct reply reply;
	uint8_t *data; /* of the last reply */
} attack;

/* Runs on the attacker's stack. */
static void exchange(struct wire *w, const struct request *q, struct reply *r)
{
	attack.request = *q;
	attack.state = SENDS;
	to_harness();
	*r = attack.reply;
}

static bool run_attack(struct wire *w)
{
	switch (attack.which) {
	case 0:
		return attack_domain(w, attack.known, attack.secret);
	case 1:
		return attack_guess(w, attack.known, attack.secret);
	case 2:
		return attack_overrun(w, attack.known, attack.secret);
	case 3:
		return attack_rights(w, attack.secret);
	case 4:
		return attack_reuse(w, attack.known, attack.secret);
	default:
		return attack_late(w, attack.known, attack.secret);
	}
}

static void attacker_main(void)
{
	struct wire wire = { .exchange = exchange };

	attacker_begins();
	attack.found = run_attack(&wire);
	attack.state = RETURNS;
	attack.running = false;
	for (;;)
		to_harness();
}

static void put_state(struct message *out)
{
	const struct request *q = &attack.request;

	put_u8(out, (uint8_t)attack.state);
	if (attack.state == RETURNS) {
		put_u8(out, attack.found);
		put_u8(out, memory_check(attack.secret));
		put_octets(out, attack.secret, SECRET_LEN);
		return;
	}
	put_u8(out, (uint8_t)q->kind);
	put_u32(out, q->stag);
	put_u64(out, q->to);
	put_u32(out, q->len);
	put_u32(out, q->rights);
	put_octets(out, q->data, q->data && q->kind == REQUEST_WRITE ? q->len : 0);
}

static void get_lease(struct message *in, struct lease *lease)
{
	lease->stag = get_u32(in);
	lease->len = get_u32(in);
	lease->to = get_u64(in);
	lease->rights = get_u32(in);
}

/* Below it is memory that cannot be accessed, so that endless recursion crashes. */
static uint8_t *new_stack(void)
{
	uint8_t *base = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED || mprotect(base, GUARD, PROT_NONE))
		abort();
	return base + GUARD;
}

/* Which attack, and what it knows. Result: the first request, or that the function has returned. */
static void attack_begin(struct message *in, struct message *out)
{
	struct lease known;

	attack.which = get_u8(in);
	get_lease(in, &known);
	memory_free((uint8_t *)attack.known);
	memory_free(attack.secret);
	if (!stack)
		stack = new_stack();
	stack_is_new();
	attack.known = (struct lease *)memory_copy(&known, sizeof(known));
	attack.secret = memory_new(SECRET_LEN);
	attack.running = true;
	getcontext(&attacker);
	attacker.uc_stack.ss_sp = stack;
	attacker.uc_stack.ss_size = STACK;
	attacker.uc_link = NULL;
	makecontext(&attacker, attacker_main, 0);
	to_attacker();
	put_state(out);
}

/* The answer to the request. Results: as those of attack_begin(). */
static void attack_answer(struct message *in, struct message *out)
{
	const uint8_t *data;
	size_t len;

	attack.reply.status = get_u8(in);
	get_lease(in, &attack.reply.lease);
	data = get_octets(in, &len);
	memory_free(attack.data);
	attack.data = memory_copy(data, len);
	attack.reply.data = attack.data;
	attack.reply.len = (uint32_t)len;
	if (attack.running)
		to_attacker();
	put_state(out);
}

/* Begins an attack, or continues it with an answer. */
static void call_attack(struct message *in, struct message *out)
{
	if (get_u8(in))
		attack_answer(in, out);
	else
		attack_begin(in, out);
}

/* --- the table ------------------------------------------------------------------------------- */

static struct table *table;

/* Random numbers: first those that the grader gives, then others. */
static struct {
	uint32_t given[64];
	size_t n, at;
	uint64_t state;
} source;

static uint32_t random_word(void *ctx)
{
	uint64_t z;

	if (source.at < source.n)
		return source.given[source.at++];
	z = source.state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)(z ^ z >> 31);
}

static void get_random(struct message *in)
{
	source.state = get_u64(in);
	source.n = get_u8(in) % 64;
	source.at = 0;
	for (size_t i = 0; i < source.n; i++)
		source.given[i] = get_u32(in);
}

static void call_new(struct message *in, struct message *out)
{
	uint32_t capacity = get_u32(in);

	get_random(in);
	table = table_new(capacity, random_word, NULL);
	put_u8(out, table != NULL);
}

static void call_free(struct message *in, struct message *out)
{
	table_free(table);
	table_free(NULL);
	table = NULL;
}

static void call_register(struct message *in, struct message *out)
{
	struct region r, *copy;

	r.pd = get_u32(in);
	r.stream = get_u32(in);
	r.rights = get_u32(in);
	r.len = get_u32(in);
	r.to = get_u64(in);
	r.base = get_u64(in);
	get_random(in);
	/* The table must copy it. */
	copy = (struct region *)memory_copy(&r, sizeof(r));
	put_u32(out, table_register(table, copy));
	memory_free((uint8_t *)copy);
}

static void get_access(struct message *in, struct access *a)
{
	a->pd = get_u32(in);
	a->stream = get_u32(in);
	a->right = get_u8(in);
	a->stag = get_u32(in);
	a->to = get_u64(in);
	a->len = get_u32(in);
}

static void call_access(struct message *in, struct message *out)
{
	struct access a;
	uint64_t at;

	get_access(in, &a);
	at = get_u64(in);
	put_u8(out, (uint8_t)table_access(table, &a, &at));
	put_u64(out, at);
}

/* Many accesses, `times` over. Results: those of the last one, and the sum of all positions. */
static void call_repeat(struct message *in, struct message *out)
{
	static struct access accesses[4096];
	uint32_t times = get_u32(in), n = get_u32(in);
	uint64_t sum = 0, allowed = 0;

	n = n < 4096 ? n : 4096;
	for (uint32_t i = 0; i < n; i++)
		get_access(in, &accesses[i]);
	while (times--)
		for (uint32_t i = 0; i < n; i++) {
			uint64_t at = 0;

			allowed += table_access(table, &accesses[i], &at) == ALLOWED;
			sum += at;
		}
	put_u64(out, allowed);
	put_u64(out, sum);
}

static void call_deregister(struct message *in, struct message *out)
{
	put_u8(out, table_deregister(table, get_u32(in)));
}

static void call_invalidate(struct message *in, struct message *out)
{
	uint32_t stag = get_u32(in), pd = get_u32(in), stream = get_u32(in);

	put_u8(out, (uint8_t)table_invalidate(table, stag, pd, stream));
}

const struct call calls[] = {
	{ "attack_domain", call_attack },
	{ "attack_guess", call_attack },
	{ "attack_overrun", call_attack },
	{ "attack_rights", call_attack },
	{ "attack_reuse", call_attack },
	{ "attack_late", call_attack },
	{ "table_new", call_new },
	{ "table_free", call_free },
	{ "table_register", call_register },
	{ "table_access", call_access },
	{ "table_repeat", call_repeat },
	{ "table_deregister", call_deregister },
	{ "table_invalidate", call_invalidate },
	{ NULL, NULL },
};
