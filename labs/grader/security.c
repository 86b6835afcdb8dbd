/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 6: attacks on a careless server, and a table of registrations that resists them.
 *
 * The careless server runs here (the same source as in the student's folder), so an attack can know
 * the secret only from answers to its requests. The student's table is compared with the STag table
 * of the engine, which has the same registrations under other STags.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddp/stag.h"
#include "labs/06-security/scenario.h"
#include "labs/grader/lab.h"
#include "labs/grader/picture.h"
#include "os/os.h"
#include "util/num.h"
#include "wire/ddp.h"

enum {
	VARIANTS = 20, /* servers that each attack must succeed with */
	LOG = 3,       /* requests that a failure describes */
	CROWD = 1024,  /* registrations of the statistics */
	REGIONS_MAX = CROWD,
	BOTH = REMOTE_READ | REMOTE_WRITE,
};

static const char *const verdict_names[] = {
	[ALLOWED] = "ALLOWED",
	[INVALID_STAG] = "INVALID_STAG",
	[NOT_ASSOCIATED] = "NOT_ASSOCIATED",
	[ACCESS_RIGHTS] = "ACCESS_RIGHTS",
	[TO_WRAP] = "TO_WRAP",
	[BASE_OR_BOUNDS] = "BASE_OR_BOUNDS",
	[CANNOT_INVALIDATE] = "CANNOT_INVALIDATE",
};

/* --- attacks ---------------------------------------------------------------------------------- */

static const char *status_name(int status)
{
	switch (status) {
	case STREAM_ENDED:
		return "STREAM_ENDED";
	case NO_BUFFER:
		return "NO_BUFFER";
	case NO_CONNECTION:
		return "NO_CONNECTION";
	case SERVER_CRASHED:
		return "SERVER_CRASHED";
	case BUDGET_SPENT:
		return "BUDGET_SPENT";
	default:
		return verdict_names[status];
	}
}

/* What sees each request and its answer: the trace. */
struct watcher {
	void (*see)(void *ctx, const struct request *q, const struct reply *r);
	void *ctx;
};

/* One attack in progress. */
struct siege {
	struct lab_run *run;
	struct scenario scenario;
	const struct watcher *watcher; /* may be NULL */
	char log[LOG][96];
	unsigned int logged;
	bool returned, found, intact;
	uint8_t secret[SECRET_LEN]; /* that the attack has brought */
};

static void describe(char *dst, size_t cap, const struct request *q)
{
	switch (q->kind) {
	case REQUEST_CONNECT:
		snprintf(dst, cap, "wire_connect()");
		return;
	case REQUEST_READ:
	case REQUEST_WRITE:
		snprintf(dst, cap, "%s(STag 0x%08x, TO 0x%llx, %u octets)",
			 q->kind == REQUEST_READ ? "wire_read" : "wire_write", q->stag,
			 (unsigned long long)q->to, q->len);
		return;
	case REQUEST_REGISTER:
		snprintf(dst, cap, "wire_register(rights %u)", q->rights);
		return;
	case REQUEST_RELEASE:
		snprintf(dst, cap, "wire_release(STag 0x%08x)", q->stag);
		return;
	case REQUEST_WAIT:
		snprintf(dst, cap, "wire_wait()");
		return;
	}
}

static void log_request(struct siege *s, const struct request *q, const struct reply *r)
{
	char *line = s->log[s->logged++ % LOG];
	size_t len;

	describe(line, sizeof(s->log[0]), q);
	len = strlen(line);
	snprintf(line + len, sizeof(s->log[0]) - len, " gave %s", status_name(r->status));
}

/* The last requests, oldest first. */
static const char *last_requests(const struct siege *s, char *dst, size_t cap)
{
	unsigned int n = IW_MIN(s->logged, (unsigned int)LOG);
	size_t len = 0;

	snprintf(dst, cap, "there was no request");
	for (unsigned int i = s->logged - n; i != s->logged && len < cap; i++)
		len += (size_t)snprintf(dst + len, cap - len, "%s%s",
					len ? "; " : "the last requests: ", s->log[i % LOG]);
	return dst;
}

static bool siege_fails(struct siege *s, const char *what)
{
	char requests[LOG * 100 + 32];

	return lab_fail(s->run, "%s (%u of %u requests used; %s)", what, s->scenario.requests,
			s->scenario.budget, last_requests(s, requests, sizeof(requests)));
}

static void put_lease(struct lab_run *run, const struct lease *lease)
{
	lab_put_u32(run, lease->stag);
	lab_put_u32(run, lease->len);
	lab_put_u64(run, lease->to);
	lab_put_u32(run, lease->rights);
}

/* Reads what the process did: a request into *q, or that the attack has returned. */
static bool get_state(struct siege *s, struct request *q)
{
	struct lab_octets octets;

	s->returned = lab_get_u8(s->run) != 0;
	if (s->returned) {
		s->found = lab_get_u8(s->run) != 0;
		s->intact = lab_get_u8(s->run) != 0;
		octets = lab_get_octets(s->run);
		if (octets.len == SECRET_LEN)
			memcpy(s->secret, octets.at, SECRET_LEN);
		return lab_results_end(s->run);
	}
	*q = (struct request){ .kind = (enum request_kind)lab_get_u8(s->run) };
	q->stag = lab_get_u32(s->run);
	q->to = lab_get_u64(s->run);
	q->len = lab_get_u32(s->run);
	q->rights = lab_get_u32(s->run);
	octets = lab_get_octets(s->run);
	q->data = octets.at;
	if (!lab_results_end(s->run))
		return false;
	if (q->kind > REQUEST_WAIT || (q->kind == REQUEST_WRITE && octets.len != q->len))
		return lab_fail(s->run, "the request cannot be read");
	return true;
}

static bool answer(struct siege *s, const struct request *q)
{
	struct reply r;

	scenario_request(&s->scenario, q, &r);
	log_request(s, q, &r);
	if (s->watcher)
		s->watcher->see(s->watcher->ctx, q, &r);
	lab_call(s->run, "attack_answer");
	lab_put_u8(s->run, (uint8_t)r.status);
	put_lease(s->run, &r.lease);
	lab_put_octets(s->run, r.data, r.len);
	return lab_run_call(s->run);
}

/*
 * Runs an attack until it returns. The secret is not shown in a failure: the same seed gives the
 * same secret again.
 */
static bool besiege(struct siege *s, enum attack attack, unsigned int variant)
{
	uint8_t secret[SECRET_LEN];
	struct lease known;
	struct request q;

	lab_fill(s->run, secret, sizeof(secret));
	scenario_start(&s->scenario, attack, variant, lab_random(s->run), secret, &known);
	lab_call(s->run, "attack_begin");
	lab_put_u8(s->run, (uint8_t)attack);
	put_lease(s->run, &known);
	if (!lab_run_call(s->run) || !get_state(s, &q))
		return false;
	while (!s->returned) {
		/* Some more answers after the budget, so that the attack can return. */
		if (s->logged > s->scenario.budget + 8)
			return siege_fails(s, "it sends requests though the budget is spent");
		if (!answer(s, &q) || !get_state(s, &q))
			return false;
	}
	return true;
}

static bool judge(struct siege *s)
{
	if (!s->found)
		return siege_fails(s, "it returned false, without the secret");
	if (!s->intact)
		return lab_fail(s->run, "it changed octets before secret[0]");
	if (memcmp(s->secret, s->scenario.secret, SECRET_LEN) != 0)
		return siege_fails(s,
				   "it returned true, but secret does not have the octets of the "
				   "secret");
	return true;
}

static bool attack_step(struct lab_run *run, enum attack attack, const char *function)
{
	uint64_t blocks;

	if (!lab_allocated(run, &blocks))
		return false;
	for (unsigned int variant = 0; variant < VARIANTS; variant++) {
		struct siege s = { .run = run };

		lab_case(run, "%s against server %u of %u", function, variant + 1, VARIANTS);
		if (!besiege(&s, attack, variant) || !judge(&s))
			return false;
	}
	lab_case(run, "%s, %u times", function, VARIANTS);
	return lab_expect_freed(run, blocks);
}

static bool domain(struct lab_run *run)
{
	return attack_step(run, ATTACK_DOMAIN, "attack_domain");
}

static bool guess(struct lab_run *run)
{
	return attack_step(run, ATTACK_GUESS, "attack_guess");
}

static bool overrun(struct lab_run *run)
{
	return attack_step(run, ATTACK_OVERRUN, "attack_overrun");
}

static bool rights(struct lab_run *run)
{
	return attack_step(run, ATTACK_RIGHTS, "attack_rights");
}

static bool reuse(struct lab_run *run)
{
	return attack_step(run, ATTACK_REUSE, "attack_reuse");
}

static bool late(struct lab_run *run)
{
	return attack_step(run, ATTACK_LATE, "attack_late");
}

/* --- two tables: the student's and the engine's ------------------------------------------------ */

/* The engine's table wants memory for its regions; their positions are relative to this. */
static uint8_t ground[1];

struct entry {
	uint32_t stag;   /* of the student's table */
	uint32_t engine; /* the same registration in the engine's */
	struct region region;
};

/* A table of the student, and what it must contain. */
struct twin {
	struct lab_run *run;
	struct iw_stag_table *engine;
	struct entry live[REGIONS_MAX];
	size_t n;
};

static int engine_random(void *ctx, void *buf, size_t len)
{
	lab_fill(ctx, buf, len);
	return 0;
}

static void put_random(struct lab_run *run, uint64_t state, const uint32_t *words, size_t n)
{
	lab_put_u64(run, state);
	lab_put_u8(run, (uint8_t)n);
	for (size_t i = 0; i < n; i++)
		lab_put_u32(run, words[i]);
}

static void twin_free(struct twin *t)
{
	if (!t)
		return;
	iw_stag_table_free(t->engine);
	free(t);
}

/* The table in the student's process is the one that table_new() made last. */
static struct twin *twin_new(struct lab_run *run, uint32_t capacity)
{
	struct twin *t = calloc(1, sizeof(*t));

	if (!t || iw_stag_table_new(&t->engine, &iw_os_heap, engine_random, run) < 0) {
		lab_fail(run, "the grader has no memory");
		free(t);
		return NULL;
	}
	t->run = run;
	lab_case(run, "a table for %u registrations", capacity);
	lab_call(run, "table_new");
	lab_put_u32(run, capacity);
	put_random(run, lab_random(run), NULL, 0);
	if (lab_run_call(run) &&
	    lab_expect_true(run, lab_get_u8(run) != 0, "table_new() returned NULL") &&
	    lab_results_end(run))
		return t;
	twin_free(t);
	return NULL;
}

static bool close_table(struct lab_run *run)
{
	lab_call(run, "table_free");
	return lab_run_call(run) && lab_results_end(run);
}

static struct entry *find(struct twin *t, uint32_t stag)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->live[i].stag == stag)
			return &t->live[i];
	return NULL;
}

static bool call_register(struct lab_run *run, const struct region *r, uint64_t state,
			  const uint32_t *words, size_t n, uint32_t *stag)
{
	lab_call(run, "table_register");
	lab_put_u32(run, r->pd);
	lab_put_u32(run, r->stream);
	lab_put_u32(run, r->rights);
	lab_put_u32(run, r->len);
	lab_put_u64(run, r->to);
	lab_put_u64(run, r->base);
	put_random(run, state, words, n);
	if (!lab_run_call(run))
		return false;
	*stag = lab_get_u32(run);
	return lab_results_end(run);
}

static bool add_to_engine(struct twin *t, const struct region *r, uint32_t stag)
{
	struct iw_region region = {
		.rights = (uint8_t)r->rights,
		.pd = r->pd,
		.stream = r->stream,
		.base = (uint8_t *)((uintptr_t)ground + r->base),
		.len = r->len,
		.to = r->to,
		.expires = IW_TIME_NEVER,
		.uses = UINT32_MAX,
	};
	struct entry *e = &t->live[t->n];
	struct iw_fault why;

	if (iw_stag_add(t->engine, &region, &e->engine, &why) < 0)
		return lab_fail(t->run, "the grader's table: %s", why.text);
	e->stag = stag;
	e->region = *r;
	t->n++;
	return true;
}

/* Registers a buffer in both. random() returns the n words first. */
static bool add_with(struct twin *t, const struct region *r, const uint32_t *words, size_t n)
{
	uint32_t stag;

	if (!call_register(t->run, r, lab_random(t->run), words, n, &stag))
		return false;
	if (!stag)
		return lab_fail(t->run, "table_register() returned 0 (%zu registrations before)",
				t->n);
	if (find(t, stag))
		return lab_fail(t->run,
				"table_register() returned STag 0x%08x, which another "
				"registration has",
				stag);
	return add_to_engine(t, r, stag);
}

static bool add(struct twin *t, const struct region *r)
{
	return add_with(t, r, NULL, 0);
}

static bool expect_refused(struct twin *t, const struct region *r, const char *why)
{
	uint32_t stag;

	return call_register(t->run, r, lab_random(t->run), NULL, 0, &stag) &&
	       lab_expect_true(t->run, !stag,
			       "table_register() returned STag 0x%08x, not 0, though %s", stag,
			       why);
}

static enum verdict engine_verdict(struct twin *t, const struct access *a, uint64_t *at)
{
	static const enum verdict verdicts[] = {
		[IW_STAG_OK] = ALLOWED,           [IW_STAG_INVALID] = INVALID_STAG,
		[IW_STAG_ASSOC] = NOT_ASSOCIATED, [IW_STAG_RIGHTS] = ACCESS_RIGHTS,
		[IW_STAG_WRAP] = TO_WRAP,         [IW_STAG_BOUNDS] = BASE_OR_BOUNDS,
	};
	const struct entry *e = find(t, a->stag);
	struct iw_stag_use use = {
		.pd = a->pd,
		.stream = a->stream,
		.right = (uint8_t)a->right,
		.to = a->to,
		.len = a->len,
	};
	enum iw_stag_verdict v;
	uint8_t *where = NULL;

	/* Zero-length accesses need no STag: the caller of iw_stag_check() skips it. */
	if (!a->len) {
		*at = 0;
		return ALLOWED;
	}
	if (!e)
		return INVALID_STAG;
	v = iw_stag_check(t->engine, e->engine, &use, &where);
	if (v == IW_STAG_OK)
		*at = (uintptr_t)where - (uintptr_t)ground;
	return verdicts[v];
}

static void put_access(struct lab_run *run, const struct access *a)
{
	lab_put_u32(run, a->pd);
	lab_put_u32(run, a->stream);
	lab_put_u8(run, (uint8_t)a->right);
	lab_put_u32(run, a->stag);
	lab_put_u64(run, a->to);
	lab_put_u32(run, a->len);
}

/* Describes the access, and the registration that it meets. */
static void access_case(struct twin *t, const struct access *a, const char *about)
{
	const struct entry *e = find(t, a->stag);
	char buffer[128] = "not registered";

	if (e)
		snprintf(buffer, sizeof(buffer),
			 "%u octets from TO 0x%llx, pd %u, stream %u, rights %u", e->region.len,
			 (unsigned long long)e->region.to, e->region.pd, e->region.stream,
			 e->region.rights);
	lab_case(t->run, "%s%s of %u octets at TO 0x%llx on stream %u of pd %u; STag 0x%08x: %s",
		 about, a->right == REMOTE_READ ? "a Read" : "a Write", a->len,
		 (unsigned long long)a->to, a->stream, a->pd, a->stag, buffer);
}

/* The rule that an access meets first. */
static const char *clause_of(const struct access *a, enum verdict v)
{
	static const char *const clauses[] = {
		[INVALID_STAG] = "RFC 5041 7.1, item 1; RFC 5040 7.2, item 4a",
		[NOT_ASSOCIATED] = "RFC 5041 8.2; RFC 5040 7.2, item 4b",
		[ACCESS_RIGHTS] = "RFC 5041 8.3.1, item 5; RFC 5042 6.3.5",
		[TO_WRAP] = "RFC 5041 7.1, item 5; RFC 5040 7.2, item 4e",
		[BASE_OR_BOUNDS] = "RFC 5041 7.1, items 3 and 4; RFC 5042 6.2.1: each octet counts",
	};

	if (!a->len)
		return "RFC 5041 7.1, RFC 5040 7.2, item 4: non-zero lengths are checked";
	return v == ALLOWED ? NULL : clauses[v];
}

/* about: what came before, with a separator at its end, or "". */
static bool expect_access(struct twin *t, const struct access *a, const char *about)
{
	uint64_t before = lab_random(t->run), expected_at = before, at;
	enum verdict expected = engine_verdict(t, a, &expected_at);
	const char *what = "*at, the position in the memory,";
	uint8_t seen;
	bool ok;

	access_case(t, a, about);
	lab_call(t->run, "table_access");
	put_access(t->run, a);
	lab_put_u64(t->run, before);
	if (!lab_run_call(t->run))
		return false;
	seen = lab_get_u8(t->run);
	at = lab_get_u64(t->run);
	if (expected != ALLOWED)
		what = "*at, which the function must not change,";
	lab_clause(t->run, clause_of(a, expected));
	ok = lab_results_end(t->run) &&
	     lab_expect_name(t->run, "the verdict", verdict_names,
			     sizeof(verdict_names) / sizeof(verdict_names[0]), expected, seen) &&
	     lab_expect_number(t->run, what, expected_at, at);
	lab_clause(t->run, NULL);
	return ok;
}

/* An access to all of the buffer, with what is needed for it. */
static struct access proper(const struct entry *e)
{
	return (struct access){
		.pd = e->region.pd,
		.stream = e->region.stream ? e->region.stream : 9,
		.right = e->region.rights & REMOTE_READ ? REMOTE_READ : REMOTE_WRITE,
		.stag = e->stag,
		.to = e->region.to,
		.len = e->region.len,
	};
}

static bool expect_usable(struct twin *t, const struct entry *e, const char *about)
{
	struct access a = proper(e);

	return expect_access(t, &a, about);
}

/*
 * An access in the middle: the registration is found. The step before `bounds` does not depend on
 * correct bounds.
 */
static bool expect_found(struct twin *t, const struct entry *e)
{
	struct access a = proper(e);

	a.to += 100;
	a.len = 16;
	return expect_access(t, &a, "");
}

/* --- step stags -------------------------------------------------------------------------------- */

static const struct region plain = {
	.pd = 7, .stream = 5, .rights = BOTH, .len = 256, .to = 0, .base = 512
};

static struct region numbered(size_t i)
{
	struct region r = plain;

	r.base = 256 * i;
	return r;
}

static bool small_table(struct lab_run *run, struct twin *t)
{
	struct region r;

	for (size_t i = 0; i < 8; i++) {
		r = numbered(i);
		if (!add(t, &r))
			return false;
	}
	if (!expect_refused(t, &plain, "the table is full (8 of 8)"))
		return false;
	for (size_t i = 0; i < t->n; i++)
		if (!expect_found(t, &t->live[i]))
			return false;
	return close_table(run);
}

/* Buffers at the end of the range of Tagged Offsets, and random() with numbers that cannot be used. */
static bool odd_registrations(struct lab_run *run, struct twin *t)
{
	struct region r = plain;
	uint32_t words[3];

	r.to = -(uint64_t)r.len;
	lab_case(run, "a buffer of 256 octets from TO 2^64 - 256");
	if (!expect_refused(t, &r, "TO + length is 2^64"))
		return false;
	r.to = UINT64_MAX;
	if (!expect_refused(t, &r, "TO + length is more than 2^64"))
		return false;
	r.to = -(uint64_t)r.len - 1;
	lab_case(run, "a buffer of 256 octets from TO 2^64 - 257");
	if (!add(t, &r))
		return false;
	lab_case(run, "random() returns 0 first");
	words[0] = 0;
	if (!add_with(t, &plain, words, 1))
		return false;
	lab_case(run, "random() returns, twice, the number that it gave for another STag");
	words[0] = words[1] = 0x12345678;
	if (!add_with(t, &plain, words, 1) || !add_with(t, &plain, words, 2))
		return false;
	for (size_t i = 1; i < t->n; i++)
		if (!expect_found(t, &t->live[i]))
			return false;
	return close_table(run);
}

/* How often does the most frequent difference of two neighbours occur in these eight bits? */
static unsigned int most_frequent_step(const struct twin *t, unsigned int shift)
{
	unsigned int counts[256] = { 0 }, most = 0;

	for (size_t i = 1; i < t->n; i++) {
		uint8_t step =
			(uint8_t)((t->live[i].stag >> shift) - (t->live[i - 1].stag >> shift));

		most = IW_MAX(most, ++counts[step]);
	}
	return most;
}

static bool expect_random_bits(struct lab_run *run, const struct twin *t)
{
	for (unsigned int bit = 0; bit < 32; bit++) {
		unsigned int ones = 0;

		for (size_t i = 0; i < t->n; i++)
			ones += t->live[i].stag >> bit & 1;
		/* The standard deviation is 1.6 %. */
		if (ones < t->n * 2 / 5 || ones > t->n * 3 / 5)
			return lab_fail(run,
					"bit %u of the STags is 1 in %u of %zu, so it can be "
					"predicted; about half are expected",
					bit, ones, t->n);
	}
	for (unsigned int shift = 0; shift < 32; shift += 8) {
		unsigned int most = most_frequent_step(t, shift);

		if (most > t->n / 16)
			return lab_fail(
				run,
				"bits %u to %u of %u among %zu STags have the same distance "
				"from those of the STag before, so they can be predicted",
				shift, shift + 7, most, t->n);
	}
	return true;
}

/* The neighbours of valid STags, as attack_guess would try them. */
static bool expect_guesses_fail(struct twin *t)
{
	static const uint32_t near[] = { 1, 37, 255, 256, 256 + 37, 65536 };

	for (size_t i = 0; i < t->n; i += 16) {
		struct access a = proper(&t->live[i]);
		uint32_t stag = a.stag;

		for (size_t j = 0; j < sizeof(near) / sizeof(near[0]); j++) {
			a.stag = stag + near[j];
			if (!expect_access(t, &a, "a guess beside a valid STag: "))
				return false;
		}
		for (unsigned int bit = 0; bit < 32; bit++) {
			a.stag = stag ^ 1u << bit;
			if (!expect_access(t, &a, "a guess, one bit beside a valid STag: "))
				return false;
		}
	}
	return true;
}

static bool crowded_table(struct lab_run *run, struct twin *t)
{
	for (size_t i = 0; i < CROWD; i++) {
		struct region r = numbered(i);

		if (!add(t, &r))
			return false;
	}
	if (!expect_random_bits(run, t) || !expect_guesses_fail(t))
		return false;
	for (size_t i = 0; i < t->n; i += 8)
		if (!expect_found(t, &t->live[i]))
			return false;
	return close_table(run);
}

/* STags of a new process, whose random() returns `first` for the first one, then other numbers. */
static bool fresh_stags(struct lab_run *run, uint64_t first, uint32_t stags[16])
{
	bool ok;

	if (!lab_restart(run))
		return false;
	lab_call(run, "table_new");
	lab_put_u32(run, 16);
	put_random(run, first, NULL, 0);
	ok = lab_run_call(run);
	for (unsigned int i = 0; ok && i < 16; i++)
		ok = call_register(run, &plain, i ? lab_random(run) : first, NULL, 0, &stags[i]);
	return ok && close_table(run);
}

/* Each STag has randomness of its own: neither that of the process nor that of the first STag. */
static bool fresh_randomness(struct lab_run *run)
{
	uint64_t first = lab_random(run);
	uint32_t a[16], b[16];

	lab_case(run, "two processes, in which random() differs");
	if (!fresh_stags(run, first, a) || !fresh_stags(run, lab_random(run), b))
		return false;
	for (unsigned int i = 0; i < 16; i++)
		if (a[i] == b[i])
			return lab_fail(run,
					"registration %u has STag 0x%08x in both, so it does not "
					"come from random()",
					i, a[i]);
	lab_case(run, "two processes, in which random() differs after the first registration");
	if (!fresh_stags(run, first, a) || !fresh_stags(run, first, b))
		return false;
	for (unsigned int i = 1; i < 16; i++)
		if (a[i] == b[i])
			return lab_fail(run,
					"registration %u has STag 0x%08x in both, so it follows "
					"from the first one",
					i, a[i]);
	return true;
}

/* Runs a part of a step with a new table. */
static bool with_table(struct lab_run *run, uint32_t capacity,
		       bool (*part)(struct lab_run *run, struct twin *t))
{
	struct twin *t = twin_new(run, capacity);
	bool ok = t && part(run, t);

	twin_free(t);
	return ok;
}

static bool stags(struct lab_run *run)
{
	return with_table(run, 8, small_table) && with_table(run, 8, odd_registrations) &&
	       with_table(run, CROWD, crowded_table) && fresh_randomness(run);
}

/* --- step bounds ------------------------------------------------------------------------------- */

static bool edges_of(struct twin *t, const struct entry *e)
{
	uint64_t len = e->region.len;
	const uint64_t begins[] = { -(uint64_t)1, 0, 1, len / 2, len - 1, len, len + 1, 4096 };
	const uint64_t lens[] = { 0, 1, 2, len / 2, len - 1, len, len + 1, 4096, UINT32_MAX };
	struct access a = proper(e);

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		for (size_t j = 0; j < sizeof(lens) / sizeof(lens[0]); j++) {
			a.to = e->region.to + begins[i];
			a.len = (uint32_t)lens[j];
			a.right = (i + j) & 1 ? REMOTE_READ : REMOTE_WRITE;
			if (!expect_access(t, &a, ""))
				return false;
		}
	return true;
}

/* As attack_overrun does it. */
static bool wraps_of(struct twin *t, const struct entry *e)
{
	static const uint64_t backs[] = { 1, 2, 16, 255, 256, 257, 4096, UINT32_MAX };
	struct access a = proper(e);

	for (size_t i = 0; i < sizeof(backs) / sizeof(backs[0]); i++)
		for (int more = -1; more <= 1; more++) {
			a.to = -backs[i];
			a.len = (uint32_t)(backs[i] + (uint64_t)(int64_t)more);
			if (!expect_access(t, &a, ""))
				return false;
		}
	return true;
}

static bool fixed_bounds(struct lab_run *run, struct twin *t)
{
	static const struct region regions[] = {
		{ .to = 0, .len = 256, .base = 0 },
		{ .to = 0, .len = 256, .base = 256 },
		{ .to = 0x1000, .len = 1, .base = 77 },
		{ .to = 0x7fff00000000, .len = 4096, .base = 65536 },
		{ .to = 0xfffffff0, .len = 32, .base = 1024 },
		{ .to = (uint64_t)INT64_MAX - 7, .len = 16, .base = 4096 },
		{ .to = UINT64_MAX - 4096, .len = 4096, .base = 8192 },
		{ .to = 300, .len = 0, .base = 300 },
	};
	struct access a = { .right = REMOTE_READ, .stag = 0x01020304, .to = 5 };

	for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++) {
		struct region r = regions[i];

		r.pd = 7;
		r.stream = 5;
		r.rights = BOTH;
		lab_case(run, "a buffer of %u octets from TO 0x%llx", r.len,
			 (unsigned long long)r.to);
		if (!add(t, &r))
			return false;
	}
	for (size_t i = 0; i < t->n; i++)
		if (!edges_of(t, &t->live[i]) || !wraps_of(t, &t->live[i]))
			return false;
	return expect_access(t, &a, "zero octets, with an STag that is not registered: ") &&
	       close_table(run);
}

/* Around the begin or the end of the buffer. */
static void place_at_random(struct lab_run *run, const struct region *r, struct access *a)
{
	uint64_t edge = lab_below(run, 2) ? r->to : r->to + r->len;

	a->to = edge + lab_below(run, 33) - 16;
	a->len = (uint32_t)(lab_below(run, 4) ? lab_below(run, 24) : lab_below(run, r->len + 16u));
	a->right = lab_below(run, 2) ? REMOTE_READ : REMOTE_WRITE;
}

static bool random_bounds(struct lab_run *run, struct twin *t)
{
	for (size_t i = 0; i < 48; i++) {
		struct region r = {
			.pd = 7,
			.stream = 5,
			.rights = BOTH,
			.len = (uint32_t)lab_below(run, 5000),
			.base = lab_below(run, 1 << 20),
		};

		r.to = lab_random(run) >> lab_below(run, 64);
		r.to = IW_MIN(r.to, UINT64_MAX - r.len);
		if (!add(t, &r))
			return false;
	}
	for (size_t i = 0; i < 480; i++) {
		const struct entry *e = &t->live[i % t->n];
		struct access a = proper(e);

		place_at_random(run, &e->region, &a);
		if (!expect_access(t, &a, ""))
			return false;
	}
	return close_table(run);
}

static bool bounds(struct lab_run *run)
{
	return with_table(run, 16, fixed_bounds) && with_table(run, 64, random_bounds);
}

/* --- step scope -------------------------------------------------------------------------------- */

static const uint32_t pds[] = { 1, 2, 257, 0x80000001 };
static const uint32_t streams[] = { 0, 5, 6, 261 };

static bool accesses_of_all(struct twin *t, const struct entry *e)
{
	for (unsigned int i = 0; i < 4 * 4 * 2 * 3; i++) {
		struct access a = {
			.pd = pds[i % 4],
			.stream = streams[i / 4 % 4] ? streams[i / 4 % 4] : 7,
			.right = i / 16 % 2 ? REMOTE_READ : REMOTE_WRITE,
			.stag = e->stag,
			.to = e->region.to,
			.len = e->region.len,
		};

		/* Two faults at a time: the order of the checks. */
		if (i / 32 == 1)
			a.len++;
		else if (i / 32 == 2)
			a.to = UINT64_MAX;
		if (!expect_access(t, &a, ""))
			return false;
	}
	return true;
}

static bool scopes(struct lab_run *run, struct twin *t)
{
	struct access stranger = {
		.pd = 1, .stream = 5, .right = REMOTE_READ, .to = 16, .len = 16
	};

	for (unsigned int i = 0; i < 4 * 4 * 3; i++) {
		struct region r = {
			.pd = pds[i % 4],
			.stream = streams[i / 4 % 4],
			.rights = 1 + i / 16,
			.len = 16 + i,
			.to = 4096 * i,
			.base = 64 * i,
		};

		if (!add(t, &r))
			return false;
	}
	for (size_t i = 0; i < t->n; i++)
		if (!accesses_of_all(t, &t->live[i]))
			return false;
	for (unsigned int i = 0; i < 16; i++) {
		stranger.stag = i ? (uint32_t)lab_random(run) : 0;
		if (!expect_access(t, &stranger, ""))
			return false;
	}
	return close_table(run);
}

static bool scope(struct lab_run *run)
{
	return with_table(run, 64, scopes);
}

/* --- step revoke ------------------------------------------------------------------------------- */

static void forget(struct twin *t, uint32_t stag)
{
	struct entry *e = find(t, stag);

	iw_stag_del(t->engine, e->engine);
	*e = t->live[--t->n];
}

static bool deregister(struct twin *t, uint32_t stag)
{
	bool expected = find(t, stag) != NULL, seen;

	lab_case(t->run, "STag 0x%08x, which is %s", stag,
		 expected ? "registered" : "not registered");
	lab_call(t->run, "table_deregister");
	lab_put_u32(t->run, stag);
	if (!lab_run_call(t->run))
		return false;
	seen = lab_get_u8(t->run) != 0;
	if (!lab_results_end(t->run) ||
	    !lab_expect_true(t->run, seen == expected, "table_deregister() returned %s, not %s",
			     seen ? "true" : "false", expected ? "true" : "false"))
		return false;
	if (expected)
		forget(t, stag);
	return true;
}

static bool invalidate(struct twin *t, uint32_t stag, uint32_t pd, uint32_t stream)
{
	const struct entry *e = find(t, stag);
	enum verdict expected = ALLOWED;
	uint8_t seen;

	if (!e)
		expected = INVALID_STAG;
	else if (e->region.pd != pd || (e->region.stream && e->region.stream != stream))
		expected = NOT_ASSOCIATED;
	else if (!e->region.stream)
		expected = CANNOT_INVALIDATE;
	lab_case(t->run, "stream %u of pd %u invalidates STag 0x%08x: %s, pd %u, stream %u", stream,
		 pd, stag, e ? "registered" : "not registered", e ? e->region.pd : 0,
		 e ? e->region.stream : 0);
	lab_call(t->run, "table_invalidate");
	lab_put_u32(t->run, stag);
	lab_put_u32(t->run, pd);
	lab_put_u32(t->run, stream);
	if (!lab_run_call(t->run))
		return false;
	seen = lab_get_u8(t->run);
	if (!lab_results_end(t->run) ||
	    !lab_expect_name(t->run, "the verdict", verdict_names,
			     sizeof(verdict_names) / sizeof(verdict_names[0]), expected, seen))
		return false;
	if (expected == ALLOWED)
		forget(t, stag);
	return true;
}

static bool revoked_at_once(struct lab_run *run, struct twin *t)
{
	struct access old[2];

	lab_case(run, "two buffers of a table for two");
	if (!add(t, &plain) || !add(t, &plain))
		return false;
	old[0] = proper(&t->live[0]);
	old[1] = proper(&t->live[1]);
	if (!expect_access(t, &old[0], "") || !deregister(t, old[0].stag) ||
	    !expect_access(t, &old[0], "just deregistered; ") ||
	    !expect_access(t, &old[1], "another was just deregistered; ") ||
	    !deregister(t, old[0].stag) || !deregister(t, old[1].stag ^ 0x40000000) ||
	    !deregister(t, 0))
		return false;
	lab_case(run, "a buffer in place of the one that was deregistered");
	if (!add(t, &plain) || !expect_refused(t, &plain, "the table is full again") ||
	    !expect_access(t, &old[0], "deregistered, and another came in its place; ") ||
	    !expect_access(t, &old[1], "its neighbour was replaced; "))
		return false;
	return deregister(t, old[1].stag) && expect_access(t, &old[1], "just deregistered; ") &&
	       expect_usable(t, &t->live[0], "its neighbour was deregistered; ") &&
	       close_table(run);
}

static bool invalidations(struct lab_run *run, struct twin *t)
{
	struct region own = plain, shared = plain;
	struct access a;

	shared.stream = 0;
	lab_case(run, "one buffer of stream 5 alone, and one of all streams");
	if (!add(t, &own) || !add(t, &shared))
		return false;
	a = proper(&t->live[0]);
	if (!invalidate(t, t->live[0].stag ^ 0x40000000, 7, 5) ||
	    !invalidate(t, t->live[0].stag, 8, 5) || !invalidate(t, t->live[0].stag, 7, 6) ||
	    !invalidate(t, t->live[1].stag, 7, 5) || !invalidate(t, t->live[1].stag, 8, 5))
		return false;
	for (size_t i = 0; i < t->n; i++)
		if (!expect_usable(t, &t->live[i], "after refused invalidations: "))
			return false;
	return invalidate(t, a.stag, 7, 5) && expect_access(t, &a, "just invalidated; ") &&
	       invalidate(t, a.stag, 7, 5) &&
	       expect_usable(t, &t->live[0], "another was invalidated; ") && close_table(run);
}

/* The last STag must not be one of the old ones: a peer may still have it. */
static bool expect_new(struct twin *t, const uint32_t *old, size_t n)
{
	uint32_t stag = t->live[t->n - 1].stag;

	for (size_t i = 0; i < n; i++)
		if (old[i] == stag)
			return lab_fail(t->run,
					"table_register() returned STag 0x%08x, which was "
					"deregistered not long ago: whoever has it could use the "
					"new buffer",
					stag);
	return true;
}

/* The attack `reuse`, for a long time: old STags must not become valid again. */
static bool long_life(struct lab_run *run, struct twin *t)
{
	uint32_t old[64] = { 0 };

	for (unsigned int i = 0; i < 600; i++) {
		struct region r = numbered(i);
		uint32_t *place = &old[i % 64];

		lab_case(run, "registration %u, in a table for 4 with at most 3 at a time", i + 1);
		if (!add(t, &r) || !expect_new(t, old, sizeof(old) / sizeof(old[0])))
			return false;
		if (*place) {
			struct access a = proper(&t->live[0]);

			a.stag = *place;
			if (!expect_access(t, &a, "deregistered some time ago; "))
				return false;
		}
		if (t->n < 3)
			continue;
		*place = t->live[lab_below(run, t->n)].stag;
		if (!deregister(t, *place))
			return false;
	}
	return close_table(run);
}

static bool random_step(struct lab_run *run, struct twin *t, uint32_t old[32])
{
	uint32_t *place = &old[lab_below(run, 32)];
	const struct entry *e = t->n ? &t->live[lab_below(run, t->n)] : NULL;
	struct region r = numbered(lab_below(run, 1000));
	struct access a;

	switch (lab_below(run, 8)) {
	case 0:
	case 1:
		r.pd = (uint32_t)lab_below(run, 2);
		r.stream = (uint32_t)lab_below(run, 3);
		r.rights = 1 + (uint32_t)lab_below(run, 3);
		lab_case(run, "a table for 16 with %zu registrations", t->n);
		return t->n == 16 ? expect_refused(t, &r, "the table is full (16 of 16)")
				  : add(t, &r);
	case 2:
		if (e)
			*place = e->stag;
		return deregister(t, *place);
	case 3:
		if (e)
			*place = e->stag;
		return invalidate(t, *place, (uint32_t)lab_below(run, 2),
				  1 + (uint32_t)lab_below(run, 2));
	default:
		if (!e)
			return true;
		a = proper(e);
		place_at_random(run, &e->region, &a);
		a.stag = lab_below(run, 3) ? a.stag : *place;
		a.pd = lab_below(run, 4) ? a.pd : (uint32_t)lab_below(run, 2);
		a.stream = lab_below(run, 4) ? a.stream : 1 + (uint32_t)lab_below(run, 2);
		return expect_access(t, &a, "");
	}
}

static bool random_life(struct lab_run *run, struct twin *t)
{
	uint32_t old[32] = { 0 };

	for (unsigned int i = 0; i < 1200; i++)
		if (!random_step(run, t, old))
			return false;
	return close_table(run);
}

static bool revoke(struct lab_run *run)
{
	uint64_t blocks;

	if (!lab_allocated(run, &blocks) || !with_table(run, 2, revoked_at_once) ||
	    !with_table(run, 8, invalidations) || !with_table(run, 4, long_life) ||
	    !with_table(run, 16, random_life))
		return false;
	lab_case(run, "after table_free() of four tables");
	return lab_expect_freed(run, blocks);
}

/* --- the trace: attack_reuse as RDMAP messages -------------------------------------------------- */

enum {
	SINK_STAG = 0x51, /* of the attacker: where Read Responses go */
	ULPDU_CAP = IW_DDP_UNTAGGED_LEN + MEMORY,
};

struct drawing {
	struct lab_picture *picture;
	uint32_t msn[2][3]; /* next of each side and queue, less 1 */
};

/* An untagged message of one segment. invalidate: the Invalidate STag, or 0. */
static void draw_untagged(struct drawing *d, enum lab_side from, enum iw_opcode opcode,
			  uint32_t invalidate, const void *payload, size_t len)
{
	uint8_t ulpdu[256];
	struct iw_ddp h = {
		.last = true,
		.dv = 1,
		.rv = 1,
		.opcode = (uint8_t)opcode,
		.inval_stag = invalidate,
		.qn = iw_opcode_info((uint8_t)opcode)->qn,
	};
	int head;

	h.msn = ++d->msn[from][h.qn];
	head = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h);
	if (head < 0 || len > sizeof(ulpdu) - (size_t)head)
		return;
	memcpy(ulpdu + head, payload, len);
	lab_picture_ulpdu(d->picture, from, ulpdu, (size_t)head + len);
}

static void draw_tagged(struct drawing *d, enum lab_side from, enum iw_opcode opcode, uint32_t stag,
			uint64_t to, const void *payload, size_t len)
{
	static uint8_t ulpdu[ULPDU_CAP];
	struct iw_ddp h = {
		.tagged = true,
		.last = true,
		.dv = 1,
		.rv = 1,
		.opcode = (uint8_t)opcode,
		.stag = stag,
		.to = to,
	};
	int head = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h);

	if (head < 0 || len > sizeof(ulpdu) - (size_t)head)
		return;
	if (len)
		memcpy(ulpdu + head, payload, len);
	lab_picture_ulpdu(d->picture, from, ulpdu, (size_t)head + len);
}

static void draw_text(struct drawing *d, enum lab_side from, const char *text)
{
	draw_untagged(d, from, IW_OP_SEND, 0, text, strlen(text));
}

/* The Terminate Message for a refused access (RFC 5040 4.8), without the headers of the access. */
static void draw_terminate(struct drawing *d, int status)
{
	static const uint8_t codes[] = {
		[INVALID_STAG] = 0,   [BASE_OR_BOUNDS] = 1, [ACCESS_RIGHTS] = 2,
		[NOT_ASSOCIATED] = 3, [TO_WRAP] = 4,        [CANNOT_INVALIDATE] = 9,
	};
	struct iw_terminate term = { .layer = IW_LAYER_RDMAP, .etype = 1, .len_absent = true };
	uint8_t octets[IW_RDMAP_TERM_MAX];
	int len;

	if (status <= ALLOWED || status > CANNOT_INVALIDATE)
		return;
	term.code = codes[status];
	len = iw_terminate_encode(octets, sizeof(octets), &term);
	if (len > 0)
		draw_untagged(d, LAB_RESPONDER, IW_OP_TERM, 0, octets, (size_t)len);
}

static void draw_read(struct drawing *d, const struct request *q, const struct reply *r)
{
	uint8_t octets[IW_RDMAP_RREQ_LEN];
	struct iw_rreq rreq = {
		.sink_stag = SINK_STAG,
		.size = q->len,
		.src_stag = q->stag,
		.src_to = q->to,
	};

	if (iw_rreq_encode(octets, sizeof(octets), &rreq) < 0)
		return;
	draw_untagged(d, LAB_INITIATOR, IW_OP_RREQ, 0, octets, sizeof(octets));
	if (r->status == ALLOWED)
		draw_tagged(d, LAB_RESPONDER, IW_OP_RRESP, SINK_STAG, 0, r->data, r->len);
	else
		draw_terminate(d, r->status);
}

static void draw_request(void *ctx, const struct request *q, const struct reply *r)
{
	struct drawing *d = ctx;
	char text[64];

	/* The capture has one connection. */
	if (r->status == STREAM_ENDED || r->status == BUDGET_SPENT || r->status == SERVER_CRASHED)
		return;
	switch (q->kind) {
	case REQUEST_CONNECT:
		return;
	case REQUEST_READ:
		draw_read(d, q, r);
		return;
	case REQUEST_WRITE:
		draw_tagged(d, LAB_INITIATOR, IW_OP_WRITE, q->stag, q->to, q->data, q->len);
		draw_terminate(d, r->status);
		return;
	case REQUEST_REGISTER:
		draw_text(d, LAB_INITIATOR, "a buffer, please");
		snprintf(text, sizeof(text), "STag 0x%08x", r->lease.stag);
		draw_text(d, LAB_RESPONDER, r->status == ALLOWED ? text : "no buffer is free");
		return;
	case REQUEST_RELEASE:
		snprintf(text, sizeof(text), "STag 0x%08x is free", q->stag);
		draw_untagged(d, LAB_INITIATOR, IW_OP_SEND_INV, q->stag, text, strlen(text));
		return;
	case REQUEST_WAIT:
		draw_text(d, LAB_INITIATOR, "no hurry");
		draw_text(d, LAB_RESPONDER, "other clients were served");
		return;
	}
}

/* Draws attack_reuse, also if it does not succeed. */
static bool trace(struct lab_run *run, const char *path)
{
	struct drawing d = { .picture = lab_picture_new(run, path, true) };
	const struct watcher watcher = { .see = draw_request, .ctx = &d };
	struct siege s = { .run = run, .watcher = &watcher };
	bool ok;

	if (!d.picture)
		return false;
	lab_case(run, "attack_reuse");
	ok = besiege(&s, ATTACK_REUSE, VARIANTS);
	return lab_picture_close(run, d.picture) && ok;
}

/* --- speed: checks of accesses ------------------------------------------------------------------ */

enum {
	ACCESSES = 1024, /* different ones */
	RUNS = 3,
	RUN_NS = 200000000, /* of one measurement, about */
};

struct work {
	struct twin *twin;
	struct access accesses[ACCESSES];
	uint32_t engine[ACCESSES]; /* STags in the engine's table */
	uint64_t allowed, sum;     /* results of one round of ours */
};

/* A quarter is refused: beyond the end of the buffer. */
static void prepare(struct lab_run *run, struct work *w)
{
	for (size_t i = 0; i < ACCESSES; i++) {
		const struct entry *e = &w->twin->live[lab_below(run, w->twin->n)];

		w->accesses[i] = proper(e);
		w->accesses[i].to += lab_below(run, e->region.len);
		w->accesses[i].len = lab_below(run, 4) ? 1 : e->region.len + 1;
		w->engine[i] = e->engine;
	}
}

static void ours_once(struct work *w)
{
	uint64_t allowed = 0, sum = 0;

	for (size_t i = 0; i < ACCESSES; i++) {
		const struct access *a = &w->accesses[i];
		const struct iw_stag_use use = {
			.pd = a->pd,
			.stream = a->stream,
			.right = (uint8_t)a->right,
			.to = a->to,
			.len = a->len,
		};
		uint8_t *where;

		if (iw_stag_check(w->twin->engine, w->engine[i], &use, &where) != IW_STAG_OK)
			continue;
		allowed++;
		sum += (uintptr_t)where - (uintptr_t)ground;
	}
	w->allowed = allowed;
	w->sum = sum;
}

/* Millions of accesses in a second. */
static double ours(struct work *w, unsigned int rounds)
{
	uint64_t begin = lab_now();

	for (unsigned int i = 0; i < rounds; i++)
		ours_once(w);
	return (double)rounds * ACCESSES * 1e3 / (double)(lab_now() - begin);
}

static bool student_rounds(struct lab_run *run, struct work *w, unsigned int rounds, double *rate)
{
	uint64_t begin, end;

	lab_call(run, "table_repeat");
	lab_put_u32(run, rounds);
	lab_put_u32(run, ACCESSES);
	for (size_t i = 0; i < ACCESSES; i++)
		put_access(run, &w->accesses[i]);
	begin = lab_now();
	if (!lab_run_call_within(run, 20000))
		return false;
	end = lab_now();
	*rate = (double)rounds * ACCESSES * 1e3 / (double)(end - begin);
	return lab_expect_number(run, "accesses allowed", w->allowed * rounds, lab_get_u64(run)) &&
	       lab_expect_number(run, "the sum of all positions", w->sum * rounds,
				 lab_get_u64(run)) &&
	       lab_results_end(run);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* How many rounds take RUN_NS at this rate? */
static unsigned int rounds_for(double rate)
{
	double rounds = rate * RUN_NS / 1e3 / ACCESSES;

	return rounds < 1 ? 1 : rounds > 1e6 ? 1000000 : (unsigned int)rounds;
}

static bool measure(struct lab_run *run, struct work *w, struct lab_speed *result)
{
	double student[RUNS], own[RUNS], rate = 0;
	unsigned int student_n, own_n;

	ours_once(w);
	own_n = rounds_for(ours(w, 64));
	if (!student_rounds(run, w, 16, &rate))
		return false;
	student_n = rounds_for(rate);
	for (size_t i = 0; i < RUNS; i++) {
		if (!student_rounds(run, w, student_n, &student[i]))
			return false;
		own[i] = ours(w, own_n);
	}
	qsort(student, RUNS, sizeof(student[0]), ascending);
	qsort(own, RUNS, sizeof(own[0]), ascending);
	*result = (struct lab_speed){
		.unit = "M/s",
		.student = student[RUNS / 2],
		.ours = own[RUNS / 2],
	};
	return true;
}

static bool measure_table(struct lab_run *run, uint32_t registrations, struct lab_speed *result)
{
	struct work *w = calloc(1, sizeof(*w));
	bool ok = w && (w->twin = twin_new(run, registrations));

	for (uint32_t i = 0; ok && i < registrations; i++) {
		struct region r = numbered(i);

		ok = add(w->twin, &r);
	}
	if (ok) {
		prepare(run, w);
		ok = measure(run, w, result) && close_table(run);
	}
	if (w)
		twin_free(w->twin);
	free(w);
	return ok;
}

static int speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	static const struct {
		uint32_t registrations;
		const char *what;
	} tables[] = {
		{ 16, "accesses checked, 16 registrations" },
		{ CROWD, "accesses checked, 1,024 registrations" },
	};
	size_t n = IW_MIN(cap, sizeof(tables) / sizeof(tables[0]));

	for (size_t i = 0; i < n; i++) {
		if (!measure_table(run, tables[i].registrations, &results[i]))
			return -1;
		results[i].what = tables[i].what;
	}
	return (int)n;
}

static const struct lab_step steps[] = {
	{ .name = "domain",
	  .about = "read a buffer of another client",
	  .points = 5,
	  .clause = "RFC 5042 6.1.1: check the protection domain",
	  .run = domain },
	{ .name = "guess",
	  .about = "predict the STag of another client",
	  .points = 10,
	  .clause = "RFC 5040 8.1.1, item 8: choose STags in a way difficult to predict",
	  .run = guess },
	{ .name = "overrun",
	  .about = "read memory before one's buffer",
	  .points = 10,
	  .clause = "RFC 5042 6.3.1, RFC 5041 7.1: TO + length must not wrap",
	  .run = overrun },
	{ .name = "rights",
	  .about = "read a buffer that is for Writes",
	  .points = 8,
	  .clause = "RFC 5042 6.3.2 and 6.3.5",
	  .run = rights },
	{ .name = "reuse",
	  .about = "use an STag that now belongs to another",
	  .points = 10,
	  .clause = "RFC 5042 6.1.1: reuse STags as slowly as possible",
	  .run = reuse },
	{ .name = "late",
	  .about = "use an STag after its release",
	  .points = 10,
	  .clause = "RFC 5042 6.3.3, RFC 5041 8.3.1, item 6",
	  .run = late },
	{ .name = "stags",
	  .about = "unpredictable STags",
	  .points = 12,
	  .clause = "RFC 5040 8.1.1, item 8",
	  .run = stags },
	{ .name = "bounds",
	  .about = "octet-exact bounds, and no wrap",
	  .points = 12,
	  .clause = "RFC 5041 7.1, RFC 5040 7.2",
	  .run = bounds },
	{ .name = "scope",
	  .about = "protection domain, stream and rights",
	  .points = 11,
	  .clause = "RFC 5041 8.2 and 8.3.1, items 1, 2 and 5",
	  .run = scope },
	{ .name = "revoke",
	  .about = "revoke an STag, at once",
	  .points = 12,
	  .clause = "RFC 5041 8.3.1, items 4 and 6; RFC 5040 7.2 and 8.1.1, item 7",
	  .run = revoke },
	{ 0 },
};

const struct lab lab_security = {
	.number = 6,
	.folder = "06-security",
	.title = "Steal from a careless server, then repair it",
	.steps = steps,
	.trace = trace,
	.speed = speed,
};
