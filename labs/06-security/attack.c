/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Your attacks on the careless server. Read careless.c first: each attack uses faults of it. */
#include "attack.h"

bool attack_domain(struct wire *w, const struct lease *victim, uint8_t secret[SECRET_LEN])
{
	/* TODO, step 1 (domain): read the buffer of the victim. */
	return false;
}

bool attack_guess(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN])
{
	/* TODO, step 2 (guess): work out the STags of the other slots from your own. */
	return false;
}

bool attack_overrun(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN])
{
	/* TODO, step 3 (overrun): read octets that lie before your buffer. */
	return false;
}

bool attack_rights(struct wire *w, uint8_t secret[SECRET_LEN])
{
	/* TODO, step 4 (rights): read what you may only write. */
	return false;
}

bool attack_reuse(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN])
{
	/* TODO, step 5 (reuse): keep an STag until it belongs to the victim. */
	return false;
}

bool attack_late(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN])
{
	/* TODO, step 6 (late): use an STag that should no longer be valid. */
	return false;
}
