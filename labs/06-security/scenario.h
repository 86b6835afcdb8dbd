/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The world of an attack: the careless server, its other clients, the secret, and the budget. The
 * grader runs a copy of it in its own process; tests.c runs it beside your functions.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "careless.h"
#include "wire.h"

enum attack {
	ATTACK_DOMAIN,
	ATTACK_GUESS,
	ATTACK_OVERRUN,
	ATTACK_RIGHTS,
	ATTACK_REUSE,
	ATTACK_LATE,
	ATTACKS
};

struct scenario {
	struct careless server;
	enum attack attack;
	uint64_t random;
	uint8_t secret[SECRET_LEN];
	uint32_t others[SLOTS]; /* STags of the other clients, and of their buffers */
	unsigned int n_others;
	bool open, crashed, victim_came;
	uint32_t stream;          /* of the attacker */
	unsigned int connections; /* new ones that are still possible */
	unsigned int budget, requests;
};

/*
 * Starts a server, and sets *known to what the attack function knows: nothing for ATTACK_RIGHTS.
 * variant 0 and 1: extreme positions of the secret; others: positions from seed.
 */
void scenario_start(struct scenario *s, enum attack attack, unsigned int variant, uint64_t seed,
		    const uint8_t secret[SECRET_LEN], struct lease *known);

/* Answers a request of the attacker. r->data is valid until the next request. */
void scenario_request(struct scenario *s, const struct request *q, struct reply *r);

#endif
