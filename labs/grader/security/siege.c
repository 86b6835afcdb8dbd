/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/security/siege.h"

#include <stdio.h>
#include <string.h>

#include "labs/grader/security/internal.h"
#include "util/num.h"

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
		return security_verdicts[status];
	}
}

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
	char *line = s->log[s->logged++ % SIEGE_LOG];
	size_t len;

	describe(line, sizeof(s->log[0]), q);
	len = strlen(line);
	snprintf(line + len, sizeof(s->log[0]) - len, " gave %s", status_name(r->status));
}

/* The last requests, oldest first. */
static const char *last_requests(const struct siege *s, char *dst, size_t cap)
{
	unsigned int n = IW_MIN(s->logged, (unsigned int)SIEGE_LOG);
	size_t len = 0;

	snprintf(dst, cap, "there was no request");
	for (unsigned int i = s->logged - n; i != s->logged && len < cap; i++)
		len += (size_t)snprintf(dst + len, cap - len, "%s%s",
					len ? "; " : "the last requests: ", s->log[i % SIEGE_LOG]);
	return dst;
}

bool siege_fail(struct siege *s, const char *what)
{
	char requests[SIEGE_LOG * 100 + 32];

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

static const char *function_name(enum attack attack)
{
	static const char *const names[] = {
		[ATTACK_DOMAIN] = "attack_domain",   [ATTACK_GUESS] = "attack_guess",
		[ATTACK_OVERRUN] = "attack_overrun", [ATTACK_RIGHTS] = "attack_rights",
		[ATTACK_REUSE] = "attack_reuse",     [ATTACK_LATE] = "attack_late",
	};

	return names[attack];
}

static bool answer(struct siege *s, const struct request *q)
{
	struct reply r;

	scenario_request(&s->scenario, q, &r);
	log_request(s, q, &r);
	if (s->watcher)
		s->watcher->see(s->watcher->ctx, q, &r);
	lab_call(s->run, function_name(s->scenario.attack));
	lab_put_u8(s->run, 1);
	lab_put_u8(s->run, (uint8_t)r.status);
	put_lease(s->run, &r.lease);
	lab_put_octets(s->run, r.data, r.len);
	return lab_run_call(s->run);
}

bool siege_run(struct siege *s, enum attack attack, unsigned int variant)
{
	uint8_t secret[SECRET_LEN];
	struct lease known;
	struct request q;

	lab_fill(s->run, secret, sizeof(secret));
	scenario_start(&s->scenario, attack, variant, lab_random(s->run), secret, &known);
	lab_call(s->run, function_name(attack));
	lab_put_u8(s->run, 0);
	lab_put_u8(s->run, (uint8_t)attack);
	put_lease(s->run, &known);
	if (!lab_run_call(s->run) || !get_state(s, &q))
		return false;
	while (!s->returned) {
		/* Some more answers after the budget, so that the attack can return. */
		if (s->logged > s->scenario.budget + 8)
			return siege_fail(s, "it sends requests though the budget is spent");
		if (!answer(s, &q) || !get_state(s, &q))
			return false;
	}
	return true;
}
