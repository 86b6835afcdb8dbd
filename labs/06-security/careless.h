/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A server that lends parts of its memory to its clients. Its authors wanted it to be fast and
 * simple. It has at least seven faults; read careless.c and find them.
 */
#ifndef CARELESS_H
#define CARELESS_H

#include <stdbool.h>
#include <stdint.h>

#include "security.h"

enum {
	SLOTS = 64,  /* registrations at most */
	BLOCKS = 64, /* blocks of the memory */
	BLOCK = 256, /* octets of a block; a registered buffer has one block */
	SWEEP = 8,   /* accesses between two sweeps of the table */
	MEMORY = BLOCKS * BLOCK,
};

struct slot {
	bool used;    /* the STag is in the table */
	bool leaving; /* the buffer was released; the next sweep empties the slot */
	uint32_t stag;
	struct region region;
};

struct careless {
	struct slot slots[SLOTS];
	uint8_t memory[MEMORY];
	/* Stacks: the last slot or block that became free is the first to be used again. */
	uint8_t free_slots[SLOTS], free_blocks[BLOCKS];
	unsigned int n_free_slots, n_free_blocks;
	/* Slots that the next sweep empties, in the order of their releases. */
	uint8_t leaving[SLOTS];
	unsigned int n_leaving;
	unsigned int accesses; /* that were checked since the server was started */
};

/* started: the time of day, in seconds. */
void careless_start(struct careless *s, uint32_t started);

/*
 * Registers a new buffer of BLOCK octets. Its octets are those that the block had before. Returns
 * false if no slot or no block is free.
 */
bool careless_register(struct careless *s, uint32_t pd, uint32_t stream, uint32_t rights,
		       uint32_t *stag);

/* A client needs its buffer no longer. INVALID_STAG: not registered, or released before. */
enum verdict careless_release(struct careless *s, uint32_t stag);

/*
 * May this access be done? ALLOWED: *at is the position of its first octet in s->memory. The caller
 * then reads or writes a->len octets there.
 */
enum verdict careless_access(struct careless *s, const struct access *a, uint64_t *at);

/*
 * Memory that the server itself uses, which is never registered. Returns the number of the block,
 * or -1 if none is free.
 */
int careless_take_block(struct careless *s);
void careless_give_block(struct careless *s, unsigned int block);

#endif
