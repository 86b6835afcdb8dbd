/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

enum {
	CHANNEL = 3, /* the socket to the grader */
	NAME_MAX_LEN = 64,
	MESSAGE_MAX = 64 << 20,
	FILL = 0xee,   /* new memory */
	BEFORE = 0xa5, /* the octets before it */
	BEFORE_LEN = 64,
};

/* --- allocations of your module -----------------------------------------------------------------
 * The linker (-Wl,--wrap) calls these functions in place of malloc() and its relatives, so that the
 * grader can see whether the module frees what it allocates. */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *p);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *p);
char *__wrap_strdup(const char *s);

static int64_t allocated; /* blocks */

void *__wrap_malloc(size_t size)
{
	void *p = __real_malloc(size);

	allocated += p != NULL;
	return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
	void *p = __real_calloc(n, size);

	allocated += p != NULL;
	return p;
}

void *__wrap_realloc(void *old, size_t size)
{
	void *p = __real_realloc(old, size);

	/* Size 0 frees the old block. */
	if (!old)
		allocated += p != NULL;
	else if (!size)
		allocated -= p == NULL;
	return p;
}

void __wrap_free(void *p)
{
	allocated -= p != NULL;
	__real_free(p);
}

char *__wrap_strdup(const char *s)
{
	char *p = __real_strdup(s);

	allocated += p != NULL;
	return p;
}

/* --- messages ----------------------------------------------------------------------------------- */

struct message {
	uint8_t *octets;
	size_t len, cap, at;
};

static _Noreturn void stop(const char *why)
{
	fprintf(stderr, "harness: %s\n", why);
	fflush(NULL);
	_exit(90);
}

static void reserve(struct message *m, size_t len)
{
	if (m->cap >= len)
		return;
	m->cap = len < 4096 ? 4096 : len + len / 2;
	m->octets = __real_realloc(m->octets, m->cap);
	if (!m->octets)
		stop("no memory for a message");
}

static const uint8_t *take(struct message *m, size_t len)
{
	const uint8_t *at = m->octets + m->at;

	if (len > m->len - m->at)
		stop("the call has fewer arguments than calls.c reads");
	m->at += len;
	return at;
}

static uint64_t get(struct message *m, size_t octets)
{
	const uint8_t *at = take(m, octets);
	uint64_t v = 0;

	for (size_t i = 0; i < octets; i++)
		v = v << 8 | at[i];
	return v;
}

static void put(struct message *m, uint64_t v, size_t octets)
{
	reserve(m, m->len + octets);
	for (size_t i = 0; i < octets; i++)
		m->octets[m->len + i] = (uint8_t)(v >> 8 * (octets - 1 - i));
	m->len += octets;
}

uint8_t get_u8(struct message *m)
{
	return (uint8_t)get(m, 1);
}

uint16_t get_u16(struct message *m)
{
	return (uint16_t)get(m, 2);
}

uint32_t get_u32(struct message *m)
{
	return (uint32_t)get(m, 4);
}

uint64_t get_u64(struct message *m)
{
	return get(m, 8);
}

const uint8_t *get_octets(struct message *m, size_t *len)
{
	*len = get_u32(m);
	return take(m, *len);
}

void put_u8(struct message *m, uint8_t v)
{
	put(m, v, 1);
}

void put_u16(struct message *m, uint16_t v)
{
	put(m, v, 2);
}

void put_u32(struct message *m, uint32_t v)
{
	put(m, v, 4);
}

void put_u64(struct message *m, uint64_t v)
{
	put(m, v, 8);
}

void put_octets(struct message *m, const void *octets, size_t len)
{
	put_u32(m, (uint32_t)len);
	reserve(m, m->len + len);
	if (len)
		memcpy(m->octets + m->len, octets, len);
	m->len += len;
}

/* --- memory that ends where it says ------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__

/* AddressSanitizer reports any access outside of a block of malloc(). */
uint8_t *memory_new(size_t len)
{
	uint8_t *memory = __real_malloc(len);

	if (!memory)
		stop("no memory");
	memset(memory, FILL, len);
	return memory;
}

void memory_free(uint8_t *memory)
{
	__real_free(memory);
}

bool memory_check(const uint8_t *memory)
{
	(void)memory;
	return true;
}

#else

/* Pages of which the last cannot be accessed. The memory ends where that page begins. The first page
 * begins with the number of octets of the mapping. */
uint8_t *memory_new(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t open = (len + sizeof(size_t) + BEFORE_LEN + page - 1) / page * page;
	uint8_t *base =
		mmap(NULL, open + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *memory;

	if (base == MAP_FAILED || mprotect(base + open, page, PROT_NONE))
		stop("no memory");
	memcpy(base, &(size_t){ open + page }, sizeof(size_t));
	memory = base + open - len;
	memset(memory - BEFORE_LEN, BEFORE, BEFORE_LEN);
	memset(memory, FILL, len);
	return memory;
}

void memory_free(uint8_t *memory)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uint8_t *base;
	size_t size;

	if (!memory)
		return;
	base = memory - BEFORE_LEN - sizeof(size_t);
	base -= (uintptr_t)base % page;
	memcpy(&size, base, sizeof(size));
	munmap(base, size);
}

bool memory_check(const uint8_t *memory)
{
	for (size_t i = 1; i <= BEFORE_LEN; i++)
		if (memory[-(ptrdiff_t)i] != BEFORE)
			return false;
	return true;
}

#endif

uint8_t *memory_copy(const void *octets, size_t len)
{
	uint8_t *memory = memory_new(len);

	if (len)
		memcpy(memory, octets, len);
	return memory;
}

/* --- the conversation with the grader ------------------------------------------------------------
 * A call: its length (32 bits), the length of the function's name (8 bits), the name, the arguments.
 * The answer: its length (32 bits), the results. */

/* The grader closes the socket when it needs no more calls. */
static void read_all(void *dst, size_t len)
{
	uint8_t *at = dst;

	while (len) {
		ssize_t n = read(CHANNEL, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		at += n;
		len -= (size_t)n;
	}
}

static void write_all(const void *src, size_t len)
{
	const uint8_t *at = src;

	while (len) {
		ssize_t n = write(CHANNEL, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		at += n;
		len -= (size_t)n;
	}
}

static void receive(struct message *in, char *name)
{
	uint8_t head[4];
	size_t len;

	read_all(head, sizeof(head));
	in->len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
	in->at = 0;
	if (in->len > MESSAGE_MAX)
		stop("a call is too long");
	reserve(in, in->len);
	read_all(in->octets, in->len);
	len = get_u8(in);
	if (len >= NAME_MAX_LEN)
		stop("the name of a function is too long");
	memcpy(name, take(in, len), len);
	name[len] = '\0';
}

static void answer(struct message *out)
{
	size_t len = out->len - 4;

	for (size_t i = 0; i < 4; i++)
		out->octets[i] = (uint8_t)(len >> 8 * (3 - i));
	write_all(out->octets, out->len);
}

/* Calls that every module has. */
static bool built_in(const char *name, struct message *out)
{
	if (!strcmp(name, "hello"))
		return true;
	if (!strcmp(name, "allocated")) {
		put_u64(out, allocated < 0 ? 0 : (uint64_t)allocated);
		return true;
	}
	return false;
}

static void run(const char *name, struct message *in, struct message *out)
{
	for (const struct call *c = calls; c->name; c++)
		if (!strcmp(c->name, name)) {
			c->run(in, out);
			return;
		}
	if (!built_in(name, out))
		stop("calls.c does not have the function");
}

int main(void)
{
	struct message in = { 0 }, out = { 0 };
	char name[NAME_MAX_LEN];

	for (;;) {
		receive(&in, name);
		out.len = 0;
		put_u32(&out, 0); /* the length, set by answer() */
		run(name, &in, &out);
		fflush(stdout);
		answer(&out);
	}
}
