/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 6: attacks on a careless server, and a table of registrations that resists them.
 *
 * The careless server runs here (the same source as in the student's folder), so an attack can know
 * the secret only from answers to its requests. The student's table is compared with the STag table
 * of the engine, which has the same registrations under other STags.
 */
#include <string.h>

#include "labs/grader/security/internal.h"
#include "labs/grader/security/siege.h"

enum {
	VARIANTS = 20, /* servers that each attack must succeed with */
};

const char *const security_verdicts[SECURITY_VERDICTS] = {
	[ALLOWED] = "ALLOWED",
	[INVALID_STAG] = "INVALID_STAG",
	[NOT_ASSOCIATED] = "NOT_ASSOCIATED",
	[ACCESS_RIGHTS] = "ACCESS_RIGHTS",
	[TO_WRAP] = "TO_WRAP",
	[BASE_OR_BOUNDS] = "BASE_OR_BOUNDS",
	[CANNOT_INVALIDATE] = "CANNOT_INVALIDATE",
};

static bool judge(struct siege *s)
{
	if (!s->found)
		return siege_fail(s, "it returned false, without the secret");
	if (!s->intact)
		return lab_fail(s->run, "it changed octets before secret[0]");
	if (memcmp(s->secret, s->scenario.secret, SECRET_LEN) != 0)
		return siege_fail(s, "it returned true, but secret does not have the octets of the "
				     "secret");
	return true;
}

static bool attack_step(struct lab_run *run, enum attack attack)
{
	uint64_t blocks;

	if (!lab_allocated(run, &blocks))
		return false;
	for (unsigned int variant = 0; variant < VARIANTS; variant++) {
		struct siege s = { .run = run };

		lab_case(run, "against server %u of %u", variant + 1, VARIANTS);
		if (!siege_run(&s, attack, variant) || !judge(&s))
			return false;
	}
	lab_case(run, "after the attacks on all %u servers", VARIANTS);
	return lab_expect_freed(run, blocks);
}

static bool domain(struct lab_run *run)
{
	return attack_step(run, ATTACK_DOMAIN);
}

static bool guess(struct lab_run *run)
{
	return attack_step(run, ATTACK_GUESS);
}

static bool overrun(struct lab_run *run)
{
	return attack_step(run, ATTACK_OVERRUN);
}

static bool rights(struct lab_run *run)
{
	return attack_step(run, ATTACK_RIGHTS);
}

static bool reuse(struct lab_run *run)
{
	return attack_step(run, ATTACK_REUSE);
}

static bool late(struct lab_run *run)
{
	return attack_step(run, ATTACK_LATE);
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
	  .run = security_stags },
	{ .name = "bounds",
	  .about = "octet-exact bounds, and no wrap",
	  .points = 12,
	  .clause = "RFC 5041 7.1, RFC 5040 7.2",
	  .run = security_bounds },
	{ .name = "scope",
	  .about = "protection domain, stream and rights",
	  .points = 11,
	  .clause = "RFC 5041 8.2 and 8.3.1, items 1, 2 and 5",
	  .run = security_scope },
	{ .name = "revoke",
	  .about = "revoke an STag, at once",
	  .points = 12,
	  .clause = "RFC 5041 8.3.1, items 4 and 6; RFC 5040 7.2 and 8.1.1, item 7",
	  .run = security_revoke },
	{ 0 },
};

const struct lab lab_security = {
	.number = 6,
	.folder = "06-security",
	.title = "Steal from a careless server, then repair it",
	.steps = steps,
	.trace = security_trace,
	.speed = security_speed,
};
