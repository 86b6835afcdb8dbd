/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs your module for the grader. Each lab's calls.c lists the functions that the grader can call;
 * harness.c reads a call from a socket, runs it, and writes its results. You do not change these
 * files, and nothing that your code prints can change your points.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The arguments or the results of a call. All integers are big-endian in it. */
struct message;

/* Read the next argument. A message that is too short ends the process: the grader reports it. */
uint8_t get_u8(struct message *m);
uint16_t get_u16(struct message *m);
uint32_t get_u32(struct message *m);
uint64_t get_u64(struct message *m);
/* Octets with their number before them (32 bits). Valid until the call returns. */
const uint8_t *get_octets(struct message *m, size_t *len);

/* Append a result. */
void put_u8(struct message *m, uint8_t v);
void put_u16(struct message *m, uint16_t v);
void put_u32(struct message *m, uint32_t v);
void put_u64(struct message *m, uint64_t v);
void put_octets(struct message *m, const void *octets, size_t len);

/*
 * Memory of exactly len octets, filled with 0xee, for your module to write into: an access after its
 * last octet crashes at once, and memory_check() finds a changed octet before its first. Use it for
 * every buffer that is passed to the module. memory_free() of NULL does nothing.
 */
uint8_t *memory_new(size_t len);
void memory_free(uint8_t *memory);
/* True if the octets just before the memory are unchanged. */
bool memory_check(const uint8_t *memory);
/* A copy of octets in such memory, so that a read after the last one crashes too. */
uint8_t *memory_copy(const void *octets, size_t len);

struct call {
	const char *name;
	void (*run)(struct message *in, struct message *out);
};

/* In calls.c: all functions that the grader can call, ended by a name of NULL. */
extern const struct call calls[];

#endif
