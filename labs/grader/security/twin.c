/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/security/twin.h"

#include <stdio.h>
#include <stdlib.h>

#include "labs/grader/security/internal.h"
#include "os/os.h"
#include "util/num.h"

uint8_t twin_ground[1];

static int engine_random(void *ctx, void *buf, size_t len)
{
	lab_fill(ctx, buf, len);
	return 0;
}

void twin_put_random(struct lab_run *run, uint64_t state, const uint32_t *words, size_t n)
{
	lab_put_u64(run, state);
	lab_put_u8(run, (uint8_t)n);
	for (size_t i = 0; i < n; i++)
		lab_put_u32(run, words[i]);
}

void twin_free(struct twin *t)
{
	if (!t)
		return;
	iw_stag_table_free(t->engine);
	free(t);
}

struct twin *twin_new(struct lab_run *run, uint32_t capacity)
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
	twin_put_random(run, lab_random(run), NULL, 0);
	if (lab_run_call(run) &&
	    lab_expect_true(run, lab_get_u8(run) != 0, "table_new() returned NULL") &&
	    lab_results_end(run))
		return t;
	twin_free(t);
	return NULL;
}

bool twin_close(struct lab_run *run)
{
	lab_call(run, "table_free");
	return lab_run_call(run) && lab_results_end(run);
}

struct twin_entry *twin_find(struct twin *t, uint32_t stag)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->live[i].stag == stag)
			return &t->live[i];
	return NULL;
}

bool twin_call_register(struct lab_run *run, const struct region *r, uint64_t state,
			const uint32_t *words, size_t n, uint32_t *stag)
{
	lab_call(run, "table_register");
	lab_put_u32(run, r->pd);
	lab_put_u32(run, r->stream);
	lab_put_u32(run, r->rights);
	lab_put_u32(run, r->len);
	lab_put_u64(run, r->to);
	lab_put_u64(run, r->base);
	twin_put_random(run, state, words, n);
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
		.base = (uint8_t *)((uintptr_t)twin_ground + r->base),
		.len = r->len,
		.to = r->to,
		.expires = IW_TIME_NEVER,
		.uses = UINT32_MAX,
	};
	struct twin_entry *e = &t->live[t->n];
	struct iw_fault why;

	if (iw_stag_add(t->engine, &region, &e->engine, &why) < 0)
		return lab_fail(t->run, "the grader's table: %s", why.text);
	e->stag = stag;
	e->region = *r;
	t->n++;
	return true;
}

bool twin_add_with(struct twin *t, const struct region *r, const uint32_t *words, size_t n)
{
	uint32_t stag;

	if (!twin_call_register(t->run, r, lab_random(t->run), words, n, &stag))
		return false;
	if (!stag)
		return lab_fail(
			t->run,
			"table_register() returned 0, which is never an STag (%zu registrations before)",
			t->n);
	if (twin_find(t, stag))
		return lab_fail(t->run,
				"table_register() returned STag 0x%08x, which another "
				"registration has",
				stag);
	return add_to_engine(t, r, stag);
}

bool twin_add(struct twin *t, const struct region *r)
{
	return twin_add_with(t, r, NULL, 0);
}

bool twin_expect_full(struct twin *t, const struct region *r, const char *why)
{
	uint32_t stag;

	return twin_call_register(t->run, r, lab_random(t->run), NULL, 0, &stag) &&
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
	const struct twin_entry *e = twin_find(t, a->stag);
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
		*at = (uintptr_t)where - (uintptr_t)twin_ground;
	return verdicts[v];
}

void twin_put_access(struct lab_run *run, const struct access *a)
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
	const struct twin_entry *e = twin_find(t, a->stag);
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

bool twin_expect(struct twin *t, const struct access *a, const char *about)
{
	uint64_t before = lab_random(t->run), expected_at = before, at;
	enum verdict expected = engine_verdict(t, a, &expected_at);
	const char *what = "*at, the position in the memory,";
	uint8_t seen;
	bool ok;

	access_case(t, a, about);
	lab_call(t->run, "table_access");
	twin_put_access(t->run, a);
	lab_put_u64(t->run, before);
	if (!lab_run_call(t->run))
		return false;
	seen = lab_get_u8(t->run);
	at = lab_get_u64(t->run);
	if (expected != ALLOWED)
		what = "*at, which the function must not change,";
	lab_clause(t->run, clause_of(a, expected));
	ok = lab_results_end(t->run) &&
	     lab_expect_name(t->run, "the verdict", security_verdicts, SECURITY_VERDICTS, expected,
			     seen) &&
	     lab_expect_number(t->run, what, expected_at, at);
	lab_clause(t->run, NULL);
	return ok;
}

struct access twin_proper(const struct twin_entry *e)
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

bool twin_expect_usable(struct twin *t, const struct twin_entry *e, const char *about)
{
	struct access a = twin_proper(e);

	return twin_expect(t, &a, about);
}

void twin_forget(struct twin *t, uint32_t stag)
{
	struct twin_entry *e = twin_find(t, stag);

	iw_stag_del(t->engine, e->engine);
	*e = t->live[--t->n];
}
